// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Platforms other than this one whose binaries of FMUs can be run here: by a host program of that
// platform (foreign/), those of Windows under Wine.
#pragma once

#include "base/base.h"
#include "couplet/fmi.h"

typedef struct cpli_platform {
  const char *name, *tuple;  // folders below binaries/ of FMI 1.0 and 2.0, and of FMI 3.0
  const char* suffix;        // of libraries
  const char* host;          // the program, in the folder "foreign" of couplet's data
  bool windows;
  int bits;
  const char* needs;     // a file without which the host cannot be started. Nullable
  const char* packages;  // of Debian, that have what it takes
} cpli_platform;

enum { CPLI_PLATFORMS = 3 };
extern const cpli_platform cpli_platforms[CPLI_PLATFORMS];  // preferred ones first

/// By one of its two names; NULL: there is no such platform.
const cpli_platform* cpli_platform_find(const char* name, size_t len);

/// The names that cpl_fmu_use_platform() accepts, for messages.
extern const char cpli_platform_names[];

/// The platform that cpl_fmu_use_platform() has chosen; NULL: none, or this one. `native`: this
/// one.
const cpli_platform* cpli_platform_chosen(bool* native);

/// The program of the host. Fails with CPL_ERR_UNSUPPORTED where it is missing, or Wine, with a
/// message that names what to install.
cpl_status cpli_platform_check(cpl_context* ctx, const cpli_platform* p, char** host);
/// The same without a message.
bool cpli_platform_is_ready(cpl_context* ctx, const cpli_platform* p);

/// How binaries of a platform are run: "through Wine 8.0", which is asked for its version, or "by a
/// host program".
void cpli_platform_way(cpl_context* ctx, const cpli_platform* p, char* out, size_t size);

/// Notes that binaries of this platform are used (cpl_fmu_platforms_used()).
void cpli_platform_use(const cpli_platform* p);

//------------------------------------ Wine ------------------------------------

// Wine as found on this machine; valid until the program ends.
typedef struct cpli_wine {
  const char* loader;   // the program that runs those of Windows
  const char* system;   // the folder with Wine's DLLs of that word size
  const char* version;  // "8.0"; "" where it is unknown
} cpli_wine;

/// Looks for a Wine that runs programs of that word size; nothing is started. NULL: there is none.
const cpli_wine* cpli_wine_find(int bits);

/// The version of a Wine that was found, which is started for that.
const char* cpli_wine_version(cpl_context* ctx, const cpli_wine* wine);

/// The environment for that Wine, ended by NULL. It names a folder in the cache that takes the
/// place of the user's ~/.wine, and is made where it is missing.
/// Of programs that start at the same time, Wine's server may leave some waiting for ever: *lock is
/// a file that is locked, and is closed when the program has started.
/// Owned: *out by the caller, who calls cpli_wine_free_environment(), *lock by the caller.
cpl_status cpli_wine_environment(cpl_context* ctx, const cpli_wine* wine, char*** out, int* lock);
void cpli_wine_free_environment(cpl_context* ctx, char** env);  // Nullable: env
