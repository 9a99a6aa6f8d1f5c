// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The binary of an FMU, opened where neither side can interpose on the other's symbols. When the
// archive has sources but no binary for this machine, they are compiled first. One library is
// shared by all instances of a cpl_fmu and closed with the last of them.
#pragma once

#include "base/loaded.h"
#include "fmi/fmu.h"

struct cpli_fmu_instance;

// A binary for another platform, in a process of its own (foreign.h).
typedef struct cpli_hosted {
  const char* lost;  // why the process has ended; NULL: it runs
  /// Calls that only set values are sent together with the next one. The function that failed in
  /// place of the one that was called; NULL: that one.
  const char* failed;
  /// The function that forwards calls of `name`; NULL: the binary does not export it.
  void* (*symbol)(const struct cpli_hosted* r, const char* name);
  /// Messages are those of this instance. In this thread functions that take no instance are
  /// forwarded to its process, until the next call.
  void (*select)(struct cpli_hosted* r, struct cpli_fmu_instance* in);
  /// A path or URI as the process knows it. NULL: out of memory. Owned: the result by the caller.
  char* (*path)(const struct cpli_hosted* r, cpl_context* ctx, const char* path);
  void (*close)(struct cpli_hosted* r);
} cpli_hosted;

typedef struct cpli_library {
  struct cpli_library* next;  // in fmu->libraries
  cpl_fmu* fmu;
  char* path;
  char* made_in;  // temporary folder of a binary compiled for an unpacked FMU, which stays as it is
  const char* identifier;  // borrowed from the description
  void* handle;
  const struct cpli_platform* platform;  // of a binary for another one; NULL: this one
  cpli_hosted* hosted;                   // with that binary: of one instance only
  void* siblings[16];                    // libraries in the folder of the binary that it needs
  int n_siblings;
  int users;
  cpli_loaded before;         // it was loaded
  bool (*leave)(int signal);  // of the crash guard that the binary has. Nullable
  bool fatal;       // fatal error of an instance: no further call of any instance is allowed
  bool locked;      // its code may still be executed (a crash, a thread): never dlclose
  uint32_t lives;   // calls of the life cycle, of all instances
  void* functions;  // the table of the version (fmiN_functions.h), for all instances. Nullable
  // Operations of the first model: others with equal ones share them, so that they stay in the
  // cache.
  bool shares;
  cpl_component_ops component_ops;
  cpl_model_ops model_ops;
} cpli_library;

/// Load the binary of `kind` or take another reference to it. fmu->folder must exist.
/// Owned: *out by the caller, who calls cpli_library_release().
cpl_status cpli_library_acquire(cpl_fmu* fmu, const cpli_fmu_kind* kind, cpli_library** out);
void cpli_library_release(cpli_library* lib);  // Nullable: lib

/// The address of a function, with or without the prefix "identifier_"; NULL: not exported.
void* cpli_library_symbol(const cpli_library* lib, const char* name);

/// compile.c: make `path` from the sources of `kind` with the system's compiler ($CC or cc).
cpl_status cpli_library_compile(const cpl_fmu* fmu, const cpli_fmu_kind* kind, char* path);
