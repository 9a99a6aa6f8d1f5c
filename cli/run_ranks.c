// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run as one of several processes of mpirun or srun: rank 0 runs, the others open the same
// file and serve it.
#include <string.h>

#include "interrupt.h"
#include "run.h"

// What cannot be had together with ranks.
static cpl_status check_options(const session* s) {
  const run_args* a = s->args;
  const char* refused = a->processes          ? "--processes"
                        : a->call_log != NULL ? "--call-log"
                        : a->serve.on         ? "tlm serve"
                                              : NULL;
  if (refused == NULL) return CPL_OK;
  return cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED, "%s: %s does not work with several ranks", s->path,
                  refused);
}

cpl_status run_ranks_join(session* s) {
  const cpl_status st = cpl_ranks_join(s->ctx, NULL, &s->ranks);
  return st < 0 || s->ranks == NULL ? st : check_options(s);
}

// A signal ends calls of models, and not this: rank 0 is needed to write the results, and ends it.
void run_ranks_serve(session* s) {
  if (s->st >= 0) s->st = run_open(s);
  cli_enter(CLI_RELEASES);
  s->st = cpl_ranks_serve(s->ranks, s->st);
}
