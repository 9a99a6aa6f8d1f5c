// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet convert`: system files and SSP packages.
#include "cli.h"
#include "couplet/export.h"

typedef struct convert_args {
  const char* output;
  const char* fmi;
  cli_package package;
  const char* log_level;
  bool quiet;
} convert_args;

static const cli_option options[] = {
    {"output", 'o', "FILE", "what to write: a name that ends in .ssp or .yaml", CLI_TEXT,
     offsetof(convert_args, output)},
    {"fmi", 0, "2|3", "the version of FMUs that are made of models in C (default: 2)", CLI_TEXT,
     offsetof(convert_args, fmi)},
    CLI_PACKAGE(convert_args),
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, offsetof(convert_args, quiet)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print (default: warning)",
     CLI_TEXT, offsetof(convert_args, log_level)},
    {0},
};

static int run(void* args, int n_operands, char** operands) {
  const convert_args* a = args;
  (void)n_operands;
  if (a->output == NULL) return cli_usage_error("convert: -o FILE says what to write");
  cpl_context* ctx = cli_context(a->log_level);
  if (ctx == NULL) return cli_usage_error("out of memory");
  cpl_convert_def def = cpl_default_convert_def();
  def.input = operands[0];
  def.output = a->output;
  def.variant = a->package.variant;
  def.parameters = a->package.parameters.items;
  def.n_parameters = a->package.parameters.n;
  if (a->fmi != NULL) def.fmi_version = a->fmi[0] - '0';  // one of the choices above
  cpl_status st = cpl_convert(ctx, &def);
  int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  if (st >= 0 && !a->quiet) printf("%s\n", a->output);
  cli_end_context(ctx);
  return code;
}

const cli_verb cli_convert = {
    .name = "convert",
    .operands = "FILE",
    .summary = "write a system as an SSP package or as a system file",
    .text =
        "A package (.ssp) has all files that the system needs: FMUs as they are, FMUs made of "
        "models in "
        "C, tables. What SSP cannot express (expressions, events, modes, delay lines, how to "
        "simulate) "
        "is an annotation, from which couplet reads the same system again.",
    .suffixes = "yaml ssp ssd",
    .options = options,
    .args_size = sizeof(convert_args),
    .run = run,
};
