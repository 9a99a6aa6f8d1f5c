// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A zip archive that nobody vouches for. Opening it looks at the directory only and refuses names
// that could lead outside a folder, links, encryption, duplicates and sizes beyond the limits; so
// everything that is read or extracted afterwards is harmless.
#pragma once

#include <sys/types.h>
#include <time.h>

#include "base/base.h"

typedef struct cpli_zip cpli_zip;

typedef struct cpli_zip_limits {
  uint64_t entries;     ///< number of entries
  uint64_t entry_size;  ///< uncompressed bytes of one
  uint64_t total_size;  ///< uncompressed bytes of all
} cpli_zip_limits;

/// What tells a file from others, and from earlier versions of itself.
typedef struct cpli_zip_id {
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified, changed;
} cpli_zip_id;

/// Owned:    *out by the caller, who calls cpli_zip_close().
/// Nullable: limits
cpl_status cpli_zip_open(cpl_context* ctx, const char* path, const cpli_zip_limits* limits,
                         cpli_zip** out);
void cpli_zip_close(cpli_zip* zip);  // Nullable: zip

const cpli_zip_id* cpli_zip_file_id(const cpli_zip* zip);  // of the open file
bool cpli_zip_same_file(const cpli_zip_id* a, const cpli_zip_id* b);

size_t cpli_zip_count(const cpli_zip* zip);
const char* cpli_zip_name(const cpli_zip* zip, size_t i);  // folders end with '/'
bool cpli_zip_has(const cpli_zip* zip, const char* name);
/// The number of the compression method: 0 stored, 8 deflated.
int cpli_zip_method(const cpli_zip* zip, size_t i);

/// Read one entry; a zero byte follows the last one.
/// Owned:    *out by the caller, who calls cpli_free().
cpl_status cpli_zip_read(cpli_zip* zip, const char* name, size_t max_size, char** out,
                         size_t* size);

/// Extract every entry whose name begins with one of the prefixes. `folder` must be private: what
/// is there already is never overwritten, but links in it would be followed.
cpl_status cpli_zip_extract(cpli_zip* zip, const char* const* prefixes, size_t n_prefixes,
                            const char* folder);
/// Extract one entry, which must not have been extracted there before.
cpl_status cpli_zip_extract_entry(cpli_zip* zip, const char* name, const char* folder);
