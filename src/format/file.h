// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Whole files in memory.
#pragma once

#include "base/base.h"

/// Read a file, pipes too, of at most `limit` bytes; (*out)[*len] is '\0'.
/// Owned:   *out by the caller, who calls cpli_free().
/// Returns: CPL_ERR_INPUT when there is no such file to read, CPL_ERR_IO when reading fails, with
///          file and cause; *out is then NULL.
cpl_status cpli_file_read(cpl_context* ctx, const char* path, size_t limit, char** out,
                          size_t* len);

/// Whether a name has this ending, and more than it.
bool cpli_ends_with(const char* name, const char* ending);

/// Write all bytes or fail; goes on after signals and short writes. Returns the number of bytes
/// written; less than `len`: errno says why.
size_t cpli_file_write(int fd, const void* bytes, size_t len);

/// Write a file of these bytes, replacing an existing one, as cpli_new_file_open() and
/// cpli_new_file_commit() do: it appears whole or not at all. Returns CPL_ERR_INPUT when it cannot
/// be made there, CPL_ERR_IO when writing fails, with file and cause.
cpl_status cpli_file_make(cpl_context* ctx, const char* path, const void* bytes, size_t len);

//------------------------------------ files in the making ------------------------------------

enum {
  CPLI_FILE_NEW = 1,     // a file that is there already is an error (EEXIST), and stays
  CPLI_FILE_SYNC = 2,    // on the disk before it gets its name
  CPLI_FILE_SECRET = 4,  // only this user may read it; a link of that name is replaced
  CPLI_FILE_NAMED = 8,   // it has its temporary name from the beginning, for who opens it again
};

/// A file in the making. It has no name, or a temporary one, in the same folder until it is whole,
/// so that no incomplete file is visible and a failure does not change an earlier file. A path that
/// is no regular file (a pipe, a device), or is in a folder where no file can be created, is
/// written in place.
typedef struct cpli_new_file {
  cpl_context* ctx;
  char *path, *temporary;  // temporary == NULL: written in place
  char nameless[32];       // the way to a file that has no name yet; "": it has the temporary one
  int fd;                  // write here; -1: closed
  int flags;
} cpli_new_file;

/// Order:   open, write to fd, then commit or discard. After a failed open or commit, discard does
///          nothing.
/// Returns: CPL_ERR_INPUT with file and cause when no file can be made there.
cpl_status cpli_new_file_open(cpl_context* ctx, const char* path, int flags, cpli_new_file* out);
/// Close it and give it its name. Returns CPL_ERR_IO with file and cause, and removes it, when that
/// fails; errno has the cause.
cpl_status cpli_new_file_commit(cpli_new_file* f);
void cpli_new_file_discard(cpli_new_file* f);
