// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The data a peer needs to join a run: a small file that only its owner can read.
#pragma once

#include "tlm/net.h"

#define CPLI_OBSERVER "observer"  // the name of the part in the file of an observer

typedef struct cpli_join_file {
  char address[CPLI_ENDPOINT_SIZE];  // of the manager
  char server_key[CPLI_KEY_SIZE];
  cpli_keys keys;
  char part[CPLI_USER_SIZE];
  uint64_t session;
  char system[4096];  // "": not given
} cpli_join_file;

typedef struct cpli_written {  // identity of a written file
  char path[4096];             // "": none
  uint64_t device, number;
} cpli_written;

/// The file is readable by its owner only and appears complete. An existing one is an error, unless
/// `overwrite`.
cpl_status cpli_join_file_write(cpl_context* ctx, const char* path, const cpli_join_file* file,
                                bool overwrite, cpli_written* out);
/// Removes it, unless another file has replaced it.
void cpli_join_file_remove(const cpli_written* file);
/// Waits some seconds for the rest of an incomplete file, with a warning.
cpl_status cpli_join_file_read(cpl_context* ctx, const char* path, cpli_join_file* out);
