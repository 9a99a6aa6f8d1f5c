// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet build`, which makes an FMU of a model in C.
#include <limits.h>
#include <string.h>

#include "cli.h"
#include "couplet/export.h"

typedef struct build_args {
  const char* output;
  const char* fmi;
  const char* log_level;
  bool quiet, constraint_attributes;
} build_args;

static const cli_option options[] = {
    {"output", 'o', "FILE", "the FMU to write (default: the model's name with .fmu)", CLI_TEXT,
     offsetof(build_args, output)},
    {"fmi", 0, "2|3", "the version of FMI (default: 2)", CLI_TEXT, offsetof(build_args, fmi)},
    {"constraint-attributes", 0, NULL,
     "declare constraints by attributes, not by an annotation; validating importers reject such an "
     "FMU",
     CLI_FLAG, offsetof(build_args, constraint_attributes)},
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, offsetof(build_args, quiet)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print (default: warning)",
     CLI_TEXT, offsetof(build_args, log_level)},
    {0},
};

static int run(void* args, int n_operands, char** operands) {
  const build_args* a = args;
  (void)n_operands;
  cpl_context* ctx = cli_context(a->log_level);
  if (ctx == NULL) return cli_usage_error("out of memory");
  char output[PATH_MAX];
  cpl_build_def def = cpl_default_build_def();
  def.model = operands[0];
  def.output = a->output;
  def.constraint_attributes = a->constraint_attributes;
  if (a->fmi != NULL) def.fmi_version = a->fmi[0] - '0';  // one of the choices above
  cpl_status st = cpl_fmu_build(ctx, &def, output, sizeof output);
  int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  if (st >= 0 && !a->quiet) printf("%s\n", output);
  cli_end_context(ctx);
  return code;
}

const cli_verb cli_build = {
    .name = "build",
    .operands = "MODEL.c",
    .summary = "build an FMU from a model in C",
    .text =
        "The FMU supports FMI 2.0, or 3.0 with --fmi 3, for model exchange and for co-simulation "
        "(with an embedded CVODE). It contains a binary for this platform, sources for model "
        "exchange, and a page of documentation. The same model gives the same FMU, to the byte.",
    .suffixes = "c",
    .options = options,
    .args_size = sizeof(build_args),
    .run = run,
};
