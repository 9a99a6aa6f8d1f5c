// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet tlm serve is couplet run with components in peers: its additional options and callbacks.
#pragma once

#include "cli.h"

typedef struct serve_args {
  const char *address, *watch_address, *join_folder;
  double start_limit, watch_interval;
  cli_list run, allow_command;
  bool force, local, on;
} serve_args;

extern const cli_option serve_options[];
extern const char serve_text[];

typedef struct serving {
  const serve_args* args;
  cpl_context* ctx;
  const char* path;
  cpl_source* source;
  double start, stop;
  bool quiet;
  cpl_tlm_serve_def def;
  struct child* children;
  size_t n_children, n_parts;
  char system[4096], address[64], at[256];
  double said;  // [s] of waiting, when it was last mentioned
} serving;

/// Fills s->def for the source; call_timeout NAN: the usual one.
cpl_status serving_begin(serving* s, double call_timeout);
/// Waits for what was started, and ends what does not end by itself.
void serving_end(serving* s);
