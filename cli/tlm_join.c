// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet tlm join: runs one sub-model of a system that couplet tlm serve manages.
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/guard.h"
#include "cli.h"
#include "interrupt.h"

typedef struct join_args {
  const char *key_file, *listen, *log_level;
  double start_limit;
  bool quiet;
} join_args;

typedef struct joining {
  const join_args* args;
  cpl_context* ctx;
  const char* path;  // Nullable: as the join file says
  cpl_tlm_join* join;
  cpl_source* source;
  cpl_stepper* stepper;
  cpl_status st;
  bool began;
} joining;

static cpl_status open_system(joining* g) {
  const char* path = g->path != NULL ? g->path : cpl_tlm_join_system(g->join);
  if (path[0] == '\0')
    return cpl_fail(g->ctx, CPL_ERR_INPUT, "%s names no system file: give it as FILE",
                    g->args->key_file);
  cpl_status st = cpl_is_system_path(path)
                      ? cpl_system_open(g->ctx, path, &g->source)
                      : cpl_fail(g->ctx, CPL_ERR_INPUT, "%s: this is no system", path);
  if (st >= 0 && cpl_system_line_count(g->source) == 0)
    st = cpl_fail(g->ctx, CPL_ERR_INPUT, "%s: it has no tlm lines", path);
  return st;
}

static cpl_status build(joining* g) {
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_status st = open_system(g);
  if (st < 0) return st;
  cpl_tlm_join_settings(g->join, &def.solver, &def.step, &def.usual_step);
  def.n_solvers = cpl_tlm_join_solvers(g->join, &def.solvers);
  def.join = g->join;
  def.threads = 1;
  return cpl_system_stepper(g->source, &def, &g->stepper);
}

static void take_part(void* user) {
  joining* g = user;
  cpl_tlm_join_def def = cpl_default_tlm_join_def();
  def.key_file = g->args->key_file;
  def.listen = g->args->listen;
  if (!isnan(g->args->start_limit)) def.start_limit = g->args->start_limit;
  g->st = cpl_tlm_join_open(g->ctx, &def, &g->join);
  if (g->st >= 0) g->st = build(g);
  g->began = g->st >= 0;
  if (g->st >= 0) g->st = cpl_tlm_join_run(g->join, g->stepper);
}

static void leave(void* user) {
  joining* g = user;
  cpl_stepper_destroy(g->stepper);
  cpl_source_destroy(g->source);
}

static int run_join(void* args, int n, char** operands) {
  joining g = {.args = args, .path = n > 0 ? operands[0] : NULL};
  if (g.args->key_file == NULL)
    return cli_usage_error("tlm join: --key-file NAME.join is missing: couplet tlm serve wrote it");
  g.ctx = cli_context(g.args->log_level);
  if (g.ctx == NULL) return cli_usage_error("out of memory");
  FILE* out = cli_keep_output();
  if (out == NULL) {
    cli_end_context(g.ctx);
    return CLI_USAGE;
  }
  cli_keep_after_pipes();
  const char* crash = cpli_guard_program(take_part, &g);
  if (crash != NULL && cli_interrupted) g.st = cpli_interrupted(g.ctx, g.args->key_file, NAN);
  else if (crash != NULL)
    g.st = cpl_fail(g.ctx, CPL_ERR_MODEL, "%s: crashed outside of the model's functions (%s)",
                    g.args->key_file, crash);
  // the manager reports failures of a run
  bool silent = g.began && g.args->quiet && crash == NULL;
  int code = g.st >= 0 ? CLI_OK : silent ? cli_exit_code(g.st) : cli_report(g.ctx, g.st);
  cpli_guard_program(leave, &g);
  cpl_tlm_join_close(g.join);
  cli_end_context(g.ctx);
  return cli_close_output(out, code);
}

#define AT(member) offsetof(join_args, member)
static const cli_option options[] = {
    {"key-file", 0, "FILE", "the join file of the sub-model, written by couplet tlm serve",
     CLI_TEXT, AT(key_file)},
    {"listen", 0, "HOST[:PORT]",
     "the endpoint for neighbours; default: the address of this machine towards the manager, any "
     "free port",
     CLI_TEXT, AT(listen)},
    {"start-limit", 0, "SECONDS", "time limit for the manager's answer; default 600", CLI_NUMBER,
     AT(start_limit)},
    {"quiet", 'q', NULL, "omit messages that the manager prints", CLI_FLAG, AT(quiet)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print", CLI_TEXT,
     AT(log_level)},
    {0},
};

const cli_verb cli_tlm_join = {
    .name = "tlm join",
    .operands = "[FILE]",
    .summary = "run a sub-model of a system that couplet tlm serve manages",
    .text =
        "FILE is the same system file or composite model as the manager's, with the files of its "
        "models; a difference is an error. By default the path of the manager's file is used, "
        "which must exist on this machine. Start values, solvers and tolerances come from the "
        "manager, which also records the results. Waves are exchanged directly with the connected "
        "sub-models.\n\n"
        "  couplet tlm join --key-file left.join drive.yaml",
    .suffixes = "yaml xml",
    .options = options,
    .args_size = sizeof(join_args),
    .run = run_join,
};
