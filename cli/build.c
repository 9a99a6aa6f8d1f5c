// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet build`, which makes an FMU of a model in C or of a system, and gives a system
// back.
#include <limits.h>
#include <string.h>

#include "cli.h"
#include "couplet/export.h"

typedef struct build_args {
  const char* output;
  const char* fmi;
  const char* expose;
  cli_package package;
  const char* log_level;
  bool unpack, quiet, constraint_attributes, sources;
} build_args;

static const cli_option options[] = {
    {"output", 'o', "FILE",
     "the FMU to write (default: the model's name with .fmu); with --unpack a folder", CLI_TEXT,
     offsetof(build_args, output)},
    {"fmi", 0, "2|3", "the version of FMI (default: 2)", CLI_TEXT, offsetof(build_args, fmi)},
    {"expose", 0, "all|interface",
     "variables of a system's FMU: also those of its models (all, default), or only inputs, "
     "outputs "
     "and parameters of the system, and states, which FMI requires for model exchange",
     CLI_TEXT, offsetof(build_args, expose)},
    {"sources", 0, NULL,
     "of a system of models in C: add C sources for model exchange, which other platforms can "
     "compile (FMUs of models in C always have them)",
     CLI_FLAG, offsetof(build_args, sources)},
    {"unpack", 0, NULL,
     "the reverse: write the system that an FMU was made of to a folder (default: its name)",
     CLI_FLAG, offsetof(build_args, unpack)},
    CLI_PACKAGE(build_args),
    {"constraint-attributes", 0, NULL,
     "declare constraints by attributes, not by an annotation; validating importers reject such an "
     "FMU",
     CLI_FLAG, offsetof(build_args, constraint_attributes)},
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, offsetof(build_args, quiet)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print (default: warning)",
     CLI_TEXT, offsetof(build_args, log_level)},
    {0},
};

static cpl_status unpack(cpl_context* ctx, const build_args* a, const char* fmu, char* output) {
  const char* slash = strrchr(fmu, '/');
  const char* name = slash != NULL ? slash + 1 : fmu;
  const char* dot = strrchr(name, '.');
  int n = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
  if (a->output != NULL) snprintf(output, PATH_MAX, "%s", a->output);
  else snprintf(output, PATH_MAX, "%.*s", n, name);
  return cpl_fmu_unpack(ctx, fmu, output);
}

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
  def.sources = a->sources;
  if (a->fmi != NULL) def.fmi_version = a->fmi[0] - '0';  // one of the choices above
  def.variant = a->package.variant;
  def.parameters = a->package.parameters.items;
  def.n_parameters = a->package.parameters.n;
  if (a->expose != NULL && strcmp(a->expose, "interface") == 0) def.expose = CPL_EXPOSE_INTERFACE;
  cpl_status st = a->unpack ? unpack(ctx, a, operands[0], output)
                            : cpl_fmu_build(ctx, &def, output, sizeof output);
  int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  if (st >= 0 && !a->quiet) printf("%s\n", output);
  cli_end_context(ctx);
  return code;
}

const cli_verb cli_build = {
    .name = "build",
    .operands = "FILE",
    .summary = "build an FMU from a model in C or from a whole system",
    .text =
        "The FMU supports FMI 2.0, or 3.0 with --fmi 3, for model exchange and for co-simulation "
        "(with embedded solvers). Of a model in C it contains a binary for this platform, sources "
        "for model exchange, and a page of documentation. Of a system (.yaml, .ssp) it contains "
        "all "
        "that the system needs: its FMUs as they are, its models in C compiled, its tables; where "
        "the system has co-simulation models, delay lines or modes, it is for co-simulation only. "
        "The same file gives the same FMU, to the byte. Models are loaded and called for that.",
    .suffixes = "c yaml ssp ssd fmu",
    .options = options,
    .args_size = sizeof(build_args),
    .run = run,
};
