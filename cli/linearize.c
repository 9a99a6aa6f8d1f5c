// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet linearize`: it simulates up to the requested time and linearises there, the
// whole and, on request, each of its models.
#include "linearize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "point.h"

enum { MANY_STATES = 2000 };  // of which eigenvalues of a dense matrix take a quarter of a minute

typedef struct linearize_args {
  cli_point_args point;
  const char* output;
  cli_list only;
  double reduce;  // states; NAN: not given
  bool models, json, poles, zeros;
} linearize_args;

typedef struct session {
  const linearize_args* args;
  cli_point point;
  cpl_linear *whole, *dynamics;  // as shown; with all states
  cpl_reduced* reduced;
  cpl_linear** parts;
  const char** names;
  int32_t n_parts;
  cpl_root *poles, *zeros;
  int32_t n_poles, n_zeros;  // -1: not wanted
} session;

//------------------------------------ matrices ------------------------------------

static cpl_status linearize_models(session* s) {
  int32_t n = cpl_aggregate_count(s->point.model);
  s->parts = calloc((size_t)n + 1, sizeof *s->parts);
  s->names = calloc((size_t)n + 1, sizeof *s->names);
  if (s->parts == NULL || s->names == NULL)
    return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st >= 0; i++) {
    cpl_model* part = cpl_aggregate_part(s->point.model, i);
    char* prefix = cpli_printf(s->point.ctx, "%s.", part->base.name);
    if (prefix == NULL) return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
    cpl_linearize_def def = {.size = sizeof def,
                             .only = s->args->only.items,
                             .n_only = s->args->only.n,
                             .lenient = true,
                             .prefix = prefix};
    s->names[i] = part->base.name;
    st = cpl_linearize(part, &def, &s->parts[i]);
    cpli_free(s->point.ctx, prefix);
    s->n_parts = i + 1;
  }
  return st;
}

// The matrices that poles, zeros and a reduction are those of: --only selects inputs and outputs of
// them, but no states.
static cpl_status find_dynamics(session* s) {
  cpl_linearize_def def = cpl_default_linearize_def();
  def.only = s->args->only.items;
  def.n_only = s->args->only.n;
  def.lenient = def.all_states = true;
  cpl_status st = cpl_linearize(s->point.model, &def, &s->dynamics);
  if (st >= 0 && s->dynamics->n_states > MANY_STATES)
    cpl_log(s->point.ctx, CPL_LOG_WARNING, "",
            "dense matrices of %d states take long: couplet steady has the slowest eigenvalues of "
            "large models, couplet bode has responses",
            s->dynamics->n_states);
  if (st < 0 || isnan(s->args->reduce)) return st;
  st = cpl_linear_reduce(s->point.ctx, s->dynamics, (int32_t)s->args->reduce, &s->reduced);
  if (st >= 0 && s->reduced->linear->n_states < (int32_t)s->args->reduce)
    cpl_log(s->point.ctx, CPL_LOG_WARNING, "",
            "%d states are left: the others have no influence on the outputs, or get none from "
            "the inputs",
            s->reduced->linear->n_states);
  return st;
}

static cpl_status find_roots(session* s) {
  cpl_context* ctx = s->point.ctx;
  const cpl_linear* l = s->reduced != NULL ? s->reduced->linear : s->dynamics;
  int32_t rank = 0;
  cpl_status st = CPL_OK;
  if (s->args->poles) st = cpl_linear_poles(ctx, l, &s->poles, &s->n_poles);
  if (!s->args->zeros || st < 0) return st;
  st = cpl_linear_zeros(ctx, l, &s->zeros, &s->n_zeros, &rank);
  if (st >= 0 && rank == 0)
    cpl_log(ctx, CPL_LOG_WARNING, "", "no input has an influence on an output: there are no zeros");
  return st;
}

static cpl_status linearize(session* s) {
  cpl_linearize_def def = cpl_default_linearize_def();
  def.only = s->args->only.items;
  def.n_only = s->args->only.n;
  def.lenient = s->args->models;
  cpl_status st = cli_point_reach(&s->point, "linearise by");
  if (st >= 0) st = cpl_linearize(s->point.model, &def, &s->whole);
  s->n_poles = s->n_zeros = -1;
  bool dynamics = s->args->poles || s->args->zeros || !isnan(s->args->reduce);
  if (st >= 0 && dynamics) st = find_dynamics(s);
  if (st >= 0 && dynamics) st = find_roots(s);
  return st >= 0 && s->args->models ? linearize_models(s) : st;
}

//------------------------------------ output ------------------------------------

typedef struct written {
  linearize_writer* write;
  linearized l;
} written;

static linearize_writer* writer_of(const linearize_args* args) {
  if (args->output == NULL) return args->json ? linearize_json : linearize_text;
  const char* dot = strrchr(args->output, '.');
  if (dot == NULL) return NULL;
  return strcasecmp(dot, ".json") == 0  ? linearize_json
         : strcasecmp(dot, ".csv") == 0 ? linearize_csv
         : strcasecmp(dot, ".mat") == 0 ? linearize_mat
                                        : NULL;
}

static void write_one(FILE* out, const void* data) {
  const written* w = data;
  w->write(out, &w->l);
}

static int write_result(const session* s, linearize_writer* write) {
  const written w = {.write = write,
                     .l = {.file = s->point.path,
                           .name = s->point.source->desc->name,
                           .time = s->point.at,
                           .whole = s->reduced != NULL ? s->reduced->linear : s->whole,
                           .reduced = s->reduced,
                           .model_names = s->names,
                           .models = (const cpl_linear* const*)s->parts,
                           .n_models = s->n_parts,
                           .poles = s->poles,
                           .zeros = s->zeros,
                           .n_poles = s->n_poles,
                           .n_zeros = s->n_zeros}};
  return cli_point_write(&s->point, s->args->output, write_one, &w);
}

static void release(session* s) {
  cpl_linear_destroy(s->whole);
  cpl_linear_destroy(s->dynamics);
  cpl_reduced_destroy(s->reduced);
  for (int32_t i = 0; i < s->n_parts; i++) cpl_linear_destroy(s->parts[i]);
  free(s->parts);
  free(s->names);
  cpl_roots_free(s->point.ctx, s->poles);
  cpl_roots_free(s->point.ctx, s->zeros);
}

static int run_linearize(void* args_, int n, char** operands) {
  const linearize_args* args = args_;
  linearize_writer* write = writer_of(args);
  (void)n;
  if (write == NULL)
    return cli_usage_error("%s: a linearisation is written to a .json, .csv or .mat file",
                           args->output);
  if (!isnan(args->reduce) &&
      !(args->reduce >= 0 && args->reduce <= INT32_MAX && args->reduce == floor(args->reduce)))
    return cli_usage_error("--reduce %g: not a number of states", args->reduce);
  session s = {.args = args};
  int code = cli_point_begin(&s.point, &args->point, operands[0]);
  if (code == CLI_OK) {
    cpl_status st = linearize(&s);
    code = st < 0 ? cli_report(s.point.ctx, st) : write_result(&s, write);
    release(&s);
  }
  return cli_point_end(&s.point, code);
}

#define AT(member) offsetof(linearize_args, member)
static const cli_option options[] = {
    {"output", 'o', "FILE",
     "the file to write: .json, .csv or .mat; default: tables on the terminal", CLI_TEXT,
     AT(output)},
    {"only", 0, "NAME",
     "only these rows and columns: a name, or a pattern with * and ?; may be repeated", CLI_LIST,
     AT(only)},
    {"models", 0, NULL, "systems: also the matrices of each model", CLI_FLAG, AT(models)},
    {"poles", 0, NULL, "also the eigenvalues of A", CLI_FLAG, AT(poles)},
    {"zeros", 0, NULL,
     "also the transmission zeros from the inputs to the outputs; of poles, zeros and --reduce "
     "--only "
     "selects inputs and outputs",
     CLI_FLAG, AT(zeros)},
    {"reduce", 0, "N",
     "with N states instead: those that matter least between inputs and outputs are taken at rest",
     CLI_NUMBER, AT(reduce)},
    {"json", 0, NULL, "JSON on standard output", CLI_FLAG, AT(json)},
    CLI_POINT,
    {0},
};

const cli_verb cli_linearize = {
    .name = "linearize",
    .operands = "FILE",
    .summary = "linearise a model: the matrices A, B, C, D at a time or at rest",
    .text =
        "Simulates FILE, an .fmu, a model in C (.c) or a system (.yaml, .ssp), until a time, or "
        "brings it to its rest point, and gives "
        "x' = A x + B u, y = C x + D u for small deviations from that point, after the events at "
        "that time. Inputs and outputs are those that the system declares (inputs without a value, "
        "outputs); if it has none, the unconnected inputs and all outputs of its models. A system "
        "is linearised exactly, loops included, as far as its models give exact derivatives; "
        "others use finite differences.\n\n"
        "  couplet linearize pendulums.yaml --at 2.5 --only 'left.*' -o left.json",
    .suffixes = "yaml fmu c ssp ssd",
    .options = options,
    .args_size = sizeof(linearize_args),
    .run = run_linearize,
};
