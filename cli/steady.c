// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet steady`: the rest point of a model or system, its eigenvalues, trimming, and a
// system file with the start values found.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "format/json.h"
#include "format/number.h"
#include "format/text.h"
#include "point.h"

enum { MAX_LINES = 100 };  // of each table on the terminal

typedef struct steady_args {
  cli_point_args point;
  cli_list free, such_that;
  const char* write;
  bool json;
} steady_args;

typedef struct session {
  const steady_args* args;
  cli_point point;
  cpl_target* targets;
  cpl_steady* steady;
  cpl_spectrum* spectrum;  // NULL: not computed
} session;

//------------------------------------ search ------------------------------------

// NAME=VALUE
static cpl_status read_targets(session* s) {
  const cli_list* list = &s->args->such_that;
  s->targets = calloc(list->n + 1, sizeof *s->targets);
  if (s->targets == NULL) return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < list->n; i++) {
    char *equals = strchr(list->items[i], '='), *end = NULL;
    double value = equals != NULL ? strtod(equals + 1, &end) : NAN;
    if (equals == NULL || end == equals + 1 || *end != '\0' || !isfinite(value))
      return cpl_fail(s->point.ctx, CPL_ERR_INPUT, "--such-that %s: expected NAME=NUMBER",
                      list->items[i]);
    *equals = '\0';
    s->targets[i] = (cpl_target){list->items[i], value};
  }
  return CPL_OK;
}

static cpl_status search(session* s) {
  const steady_args* a = s->args;
  s->point.searches_rest = true;
  cpl_status st = read_targets(s);
  if (st >= 0) st = cli_point_reach(&s->point, "search a rest point of");
  if (st < 0) return st;
  cpl_setup setup = cpl_default_setup();
  setup.start_time = s->point.at;
  cpl_steady_def def = cpl_default_steady_def();
  def.free = a->free.items;
  def.n_free = (int32_t)a->free.n;
  def.targets = s->targets;
  def.n_targets = (int32_t)a->such_that.n;
  def.time = s->point.at;
  def.setup = &setup;
  def.starts = s->point.starts;
  def.n_starts = a->point.set.n;
  st = cpl_steady_create(s->point.model, &def, &s->steady);
  if (st < 0) return st;
  cpl_steady_warn(s->steady);
  st = cpl_spectrum_create(s->point.model, NULL, &s->spectrum);
  if (st != CPL_ERR_UNSUPPORTED) return st;
  cpl_log(s->point.ctx, CPL_LOG_WARNING, "", "%s", cpl_context_error(s->point.ctx));
  return CPL_OK;
}

//------------------------------------ start values ------------------------------------

static cpl_status write_starts(const session* s) {
  const cpl_steady* r = s->steady;
  const size_t n_set = s->args->point.set.n;
  const size_t n = n_set + (size_t)(r->n_states + r->n_free);
  cpl_start* starts = calloc(n + 1, sizeof *starts);
  char(*texts)[CPLI_NUMBER_SIZE] = calloc(n + 1, sizeof *texts);
  size_t k = n_set;
  cpl_status st = CPL_OK;
  if (starts == NULL || texts == NULL) st = cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < n_set && st >= 0; i++) starts[i] = s->point.starts[i];
  for (int32_t i = 0; i < r->n_states + r->n_free && st >= 0; i++, k++) {
    const bool state = i < r->n_states;
    cpli_format_double(texts[k], state ? r->x[i] : r->free[i - r->n_states]);
    starts[k] = (cpl_start){state ? r->names[i] : r->free_names[i - r->n_states], texts[k]};
  }
  if (st >= 0) st = cli_write_system(s->point.ctx, s->point.path, starts, n, s->args->write);
  free(starts);
  free(texts);
  return st;
}

//------------------------------------ text ------------------------------------

static const char* unit_of(const session* s, const char* name) {
  const cpl_description* d = s->point.model->base.desc;
  int32_t var = cpl_find_variable(d, name);
  return var >= 0 && d->vars[var].unit >= 0 ? d->units[d->vars[var].unit].name : "";
}

static void print_values(const session* s, FILE* out, const char* what, const char* const* names,
                         const double* values, int32_t n) {
  size_t width = strlen(what);
  int32_t shown = n < MAX_LINES ? n : MAX_LINES;
  if (n == 0) return;
  for (int32_t i = 0; i < shown; i++) width = strlen(names[i]) > width ? strlen(names[i]) : width;
  fprintf(out, "\n  %s\n", what);
  for (int32_t i = 0; i < shown; i++) {
    const char* unit = unit_of(s, names[i]);
    fputs("    ", out);
    size_t put = cpli_print_text(out, names[i], 0);
    fprintf(out, "%*s  %14.8g%s", (int)(put < width ? width - put : 0), "", values[i],
            unit[0] != '\0' ? " " : "");
    cpli_print_text(out, unit, 0);
    fputc('\n', out);
  }
  if (shown < n) fprintf(out, "    ... %d more (--json gives all)\n", n - shown);
}

static double damping(const cpl_eigen_mode* m) {
  double size = hypot(m->re, m->im);
  return m->re != 0 ? -m->re / size : 0;
}

static void print_mode(const session* s, FILE* out, const cpl_eigen_mode* m) {
  char im[40] = "";
  if (m->im > 0) snprintf(im, sizeof im, "+- %.6gi", m->im);
  fprintf(out, "    %13.6g %-17s", m->re, im);
  if (m->re == 0) fprintf(out, " %12s", "-");
  else fprintf(out, " %12.5g", -1 / m->re);
  if (m->im > 0) fprintf(out, " %12.5g %9.4f ", m->im / (2 * M_PI), damping(m));
  else fprintf(out, " %12s %9s ", "", "");
  for (int32_t k = 0; k < m->n_states && k < 3; k++) {
    fputs(k > 0 ? ", " : " ", out);
    cpli_print_text(out, s->steady->names[m->states[k].state], 0);
    fprintf(out, " %.0f %%", 100 * m->states[k].share);
  }
  fputc('\n', out);
}

static void print_spectrum(const session* s, FILE* out) {
  const cpl_spectrum* p = s->spectrum;
  if (p == NULL || p->n_modes == 0) return;
  int32_t shown = p->n_modes < MAX_LINES ? p->n_modes : MAX_LINES;
  fprintf(out, "\n  eigenvalues [1/s]%s\n",
          p->complete ? "" : ", the slowest and those furthest to the right");
  fprintf(out, "    %13s %-17s %12s %12s %9s  %s\n", "real", "imaginary", "constant [s]",
          "freq. [Hz]", "damping", "states");
  for (int32_t i = 0; i < shown; i++) print_mode(s, out, &p->modes[i]);
  if (shown < p->n_modes) fprintf(out, "    ... %d more (--json gives all)\n", p->n_modes - shown);
}

static void write_text(FILE* out, const void* data) {
  const session* s = data;
  const cpl_steady* r = s->steady;
  cpli_print_text(out, s->point.source->desc->name, 0);
  fprintf(out, "\n  at rest at t = %g: %d state%s", r->time, r->n_states,
          r->n_states == 1 ? "" : "s");
  if (s->spectrum != NULL && r->n_states > 0)
    fprintf(out, ", %s%s", cpl_stability_name(s->spectrum->stability),
            s->spectrum->complete ? "" : " as far as eigenvalues were computed");
  fputc('\n', out);
  print_values(s, out, "free", r->free_names, r->free, r->n_free);
  print_values(s, out, "states", r->names, r->x, r->n_states);
  print_spectrum(s, out);
}

//------------------------------------ JSON ------------------------------------

static void json_values(cpli_json* j, const char* key, const char* const* names,
                        const double* values, int32_t n) {
  cpli_json_object(j, key);
  for (int32_t i = 0; i < n; i++) cpli_json_real(j, names[i], values[i]);
  cpli_json_close(j, '}');
}

static void json_mode(const session* s, cpli_json* j, const cpl_eigen_mode* m) {
  cpli_json_object(j, NULL);
  cpli_json_real(j, "re", m->re);
  cpli_json_real(j, "im", m->im);
  if (m->re != 0) cpli_json_real(j, "time_constant", -1 / m->re);
  if (m->im > 0) cpli_json_real(j, "frequency", m->im / (2 * M_PI));
  if (m->im > 0) cpli_json_real(j, "damping", damping(m));
  cpli_json_object(j, "states");
  for (int32_t k = 0; k < m->n_states; k++)
    cpli_json_real(j, s->steady->names[m->states[k].state], m->states[k].share);
  cpli_json_close(j, '}');
  cpli_json_close(j, '}');
}

static void write_json(FILE* out, const void* data) {
  const session* s = data;
  const cpl_steady* r = s->steady;
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 2;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", s->point.path);
  cpli_json_text(j, "name", s->point.source->desc->name);
  cpli_json_real(j, "time", r->time);
  json_values(j, "states", r->names, r->x, r->n_states);
  json_values(j, "free", r->free_names, r->free, r->n_free);
  cpli_json_array(j, "undetermined");
  for (int32_t i = 0; i < r->n_undetermined; i++)
    cpli_json_text(j, NULL, r->names[r->undetermined[i]]);
  cpli_json_close(j, ']');
  cpli_json_boolean(j, "time_dependent", r->time_dependent);
  if (isfinite(r->until)) cpli_json_real(j, "next_event", r->until);
  if (s->spectrum != NULL) {
    cpli_json_text(j, "stability", cpl_stability_name(s->spectrum->stability));
    cpli_json_boolean(j, "all_eigenvalues", s->spectrum->complete);
    cpli_json_array(j, "eigenvalues");
    for (int32_t i = 0; i < s->spectrum->n_modes; i++) json_mode(s, j, &s->spectrum->modes[i]);
    cpli_json_close(j, ']');
  }
  cpli_json_close(j, '}');
  cpli_json_end(j);
}

//------------------------------------ verb ------------------------------------

static int run_steady(void* args_, int n, char** operands) {
  const steady_args* args = args_;
  (void)n;
  if (args->write != NULL && !cli_ends_with(args->write, ".yaml"))
    return cli_usage_error("%s: start values are written to a system file (.yaml)", args->write);
  session s = {.args = args};
  int code = cli_point_begin(&s.point, &args->point, operands[0]);
  if (code == CLI_OK) {
    cpl_status st = search(&s);
    if (st >= 0 && args->write != NULL) st = write_starts(&s);
    code = st < 0 ? cli_report(s.point.ctx, st)
                  : cli_point_write(&s.point, NULL, args->json ? write_json : write_text, &s);
  }
  cpl_spectrum_destroy(s.spectrum);
  cpl_steady_destroy(s.steady);
  free(s.targets);
  return cli_point_end(&s.point, code);
}

#define AT(member) offsetof(steady_args, member)
static const cli_option options[] = {
    {"free", 0, "NAME",
     "an input or a parameter whose value is found, too; needs --such-that; may be repeated",
     CLI_LIST, AT(free)},
    {"such-that", 0, "NAME=VALUE", "the value a variable has at rest, by --free; may be repeated",
     CLI_LIST, AT(such_that)},
    {"write", 'w', "FILE", "a system file (.yaml) that starts at the rest point", CLI_TEXT,
     AT(write)},
    {"json", 0, NULL, "JSON on standard output, and nothing else", CLI_FLAG, AT(json)},
    {"at", 0, "TIME", "search from the values at this time, up to which the model is simulated",
     CLI_TEXT, offsetof(cli_point_args, at)},
    CLI_POINT_OPTIONS,
    {0},
};

const cli_verb cli_steady = {
    .name = "steady",
    .operands = "FILE",
    .summary = "the rest point of a model or system, its eigenvalues; trimming",
    .text =
        "Searches from the start values of FILE, an .fmu, a model in C (.c) or a system (.yaml, "
        ".ssp), for states at which all derivatives are zero while time stands still, and iterates "
        "events there. Prints the states, whether the point is stable, and the eigenvalues, "
        "slowest first, with the states that take part in them. With --free and --such-that, "
        "inputs and parameters get the values that lead to given values of other variables.\n\n"
        "  couplet steady tank.c --free inflow --such-that level=2\n\n"
        "Exit code 1: there is no rest point, or none was found; the message names the states "
        "that keep changing. Where there are many, a warning names the states that nothing "
        "determines.",
    .suffixes = "yaml fmu c ssp ssd",
    .options = options,
    .args_size = sizeof(steady_args),
    .run = run_steady,
};
