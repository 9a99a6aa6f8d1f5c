// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What someone needs to join a run: a small file that only its owner can read.
#pragma once

#include "tlm/net.h"

#define CPLI_OBSERVER "observer"  // stands for a part in the file of who watches

typedef struct cpli_join_file {
  char address[CPLI_ENDPOINT_SIZE];  // of the manager
  char server_key[CPLI_KEY_SIZE];
  cpli_keys keys;
  char part[CPLI_USER_SIZE];
  uint64_t session;
  char system[4096];  // "": not said
} cpli_join_file;

typedef struct cpli_written {  // a file that was written, and which one it was
  char path[4096];             // "": none
  uint64_t device, number;
} cpli_written;

/// Nobody else can read it, and it appears whole; one that is there stays, and is an error, unless
/// `overwrite`.
cpl_status cpli_join_file_write(cpl_context* ctx, const char* path, const cpli_join_file* file,
                                bool overwrite, cpli_written* out);
/// Remove it, unless somebody has put another one in its place.
void cpli_join_file_remove(const cpli_written* file);
/// A file of which only the beginning is there is waited for, some seconds, with a warning.
cpl_status cpli_join_file_read(cpl_context* ctx, const char* path, cpli_join_file* out);
