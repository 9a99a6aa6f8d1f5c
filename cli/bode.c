// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet bode`: the frequency response from an input to an output, in the terminal, as
// CSV or JSON, and as a page.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "format/json.h"
#include "format/number.h"
#include "format/text.h"
#include "plot.h"
#include "point.h"

typedef struct bode_args {
  cli_point_args point;
  const char *from, *to, *range, *output;
  cli_list omega;
  double points;
  bool json;
} bode_args;

typedef struct session {
  const bode_args* args;
  cli_point point;
  double* omegas;
  cpl_frequency* response;
} session;

//------------------------------------ settings ------------------------------------

static cpl_status read_range(const session* s, cpl_frequency_def* def) {
  const char* text = s->args->range;
  char* end = NULL;
  if (text == NULL) return CPL_OK;
  def->low = strtod(text, &end);
  bool fine = end != text && *end == ':';
  const char* second = fine ? end + 1 : text;
  if (fine) def->high = strtod(second, &end);
  if (fine && end != second && *end == '\0') return CPL_OK;
  return cpl_fail(s->point.ctx, CPL_ERR_INPUT, "--range %s: expected LOW:HIGH in rad/s", text);
}

static cpl_status read_omegas(session* s, cpl_frequency_def* def) {
  const cli_list* list = &s->args->omega;
  if (list->n == 0) return CPL_OK;
  s->omegas = calloc(list->n, sizeof *s->omegas);
  if (s->omegas == NULL) return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < list->n; i++) {
    char* end = NULL;
    s->omegas[i] = strtod(list->items[i], &end);
    if (end == list->items[i] || *end != '\0')
      return cpl_fail(s->point.ctx, CPL_ERR_INPUT, "--omega %s: expected a number in rad/s",
                      list->items[i]);
  }
  def->omegas = s->omegas;
  def->n_omegas = (int32_t)list->n;
  return CPL_OK;
}

static cpl_status respond(session* s) {
  const bode_args* a = s->args;
  cpl_frequency_def def = cpl_default_frequency_def();
  def.from = a->from;
  def.to = a->to;
  if (!isnan(a->points)) def.per_decade = (int32_t)fmin(fmax(a->points, 1), 1e4);
  cpl_status st = read_range(s, &def);
  if (st >= 0) st = read_omegas(s, &def);
  if (st >= 0) st = cli_point_reach(&s->point, "respond by");
  return st < 0 ? st : cpl_frequency_create(s->point.model, &def, &s->response);
}

//------------------------------------ data ------------------------------------

static double decibels(double gain) { return 20 * log10(gain); }

static double gain_of(const cpl_frequency_point* p) { return hypot(p->re, p->im); }

static void write_csv(FILE* out, const void* data) {
  const session* s = data;
  const cpl_frequency* f = s->response;
  fputs("omega [rad/s],frequency [Hz],re,im,gain,gain_db,phase [deg]\n", out);
  for (int32_t i = 0; i < f->n; i++) {
    const cpl_frequency_point* p = &f->points[i];
    const double values[] = {p->omega,   p->omega / (2 * M_PI), p->re,   p->im,
                             gain_of(p), decibels(gain_of(p)),  p->phase};
    for (size_t k = 0; k < CPLI_COUNT(values); k++) {
      char number[CPLI_NUMBER_SIZE];
      cpli_format_double(number, values[k]);
      fprintf(out, "%s%s", k > 0 ? "," : "", number);
    }
    fputc('\n', out);
  }
}

static void json_column(cpli_json* j, const char* key, const cpl_frequency* f,
                        double (*value)(const cpl_frequency_point* p)) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < f->n; i++) cpli_json_real(j, NULL, value(&f->points[i]));
  cpli_json_close(j, ']');
}

static double omega_of(const cpl_frequency_point* p) { return p->omega; }
static double re_of(const cpl_frequency_point* p) { return p->re; }
static double im_of(const cpl_frequency_point* p) { return p->im; }
static double phase_of(const cpl_frequency_point* p) { return p->phase; }

static void write_json(FILE* out, const void* data) {
  const session* s = data;
  const cpl_frequency* f = s->response;
  const cpl_margins* k = &f->margins;
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 2;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", s->point.path);
  cpli_json_text(j, "name", s->point.source->desc->name);
  cpli_json_real(j, "time", s->point.at);
  cpli_json_text(j, "from", s->args->from);
  cpli_json_text(j, "to", s->args->to);
  cpli_json_real(j, "gain_at_zero", f->at_zero);
  cpli_json_real(j, "peak", f->peak);
  cpli_json_real(j, "peak_omega", f->peak_omega);
  cpli_json_real(j, "bandwidth", f->bandwidth);
  cpli_json_real(j, "gain_margin", k->gain);
  cpli_json_real(j, "gain_margin_omega", k->gain_omega);
  cpli_json_real(j, "phase_margin", k->phase);
  cpli_json_real(j, "phase_margin_omega", k->phase_omega);
  cpli_json_real(j, "delay_margin", k->delay);
  json_column(j, "omega", f, omega_of);
  json_column(j, "re", f, re_of);
  json_column(j, "im", f, im_of);
  json_column(j, "gain", f, gain_of);
  json_column(j, "phase", f, phase_of);
  cpli_json_close(j, '}');
  cpli_json_end(j);
}

//------------------------------------ pictures ------------------------------------

enum { LOG_OMEGA, GAIN, PHASE, N_COLUMNS };

// Gain and phase over the logarithm of the frequency; released by free().
static double* columns_of(const cpl_frequency* f, cpl_table* table) {
  static const char* const names[] = {"log10(omega)", "gain", "phase"};
  static const char* const units[] = {"rad/s", "dB", "deg"};
  size_t n = 0;
  double* values = calloc(N_COLUMNS * (size_t)f->n + 1, sizeof *values);
  for (int32_t i = 0; i < f->n && values != NULL; i++) n += f->points[i].omega > 0;
  for (size_t i = 0, first = (size_t)f->n - n; i < n && values != NULL; i++) {
    const cpl_frequency_point* p = &f->points[first + i];
    values[LOG_OMEGA * n + i] = log10(p->omega);
    values[GAIN * n + i] = decibels(gain_of(p));
    values[PHASE * n + i] = p->phase;
  }
  *table = (cpl_table){.n_rows = n,
                       .n_columns = N_COLUMNS,
                       .names = names,
                       .units = units,
                       .time = values,
                       .values = values};
  return values;
}

static void print_margins(FILE* out, const cpl_frequency* f) {
  const cpl_margins* k = &f->margins;
  if (!isnan(f->at_zero)) fprintf(out, "  gain at zero   %.8g\n", f->at_zero);
  fprintf(out, "  largest gain   %.8g (%.4g dB) at %.6g rad/s\n", f->peak, decibels(f->peak),
          f->peak_omega);
  if (!isnan(f->bandwidth)) fprintf(out, "  bandwidth      %.6g rad/s\n", f->bandwidth);
  if (isnan(k->gain)) fprintf(out, "  gain margin    none: the phase is nowhere -180 deg\n");
  else
    fprintf(out, "  gain margin    %.6g (%.4g dB) at %.6g rad/s\n", k->gain, decibels(k->gain),
            k->gain_omega);
  if (isnan(k->phase)) fprintf(out, "  phase margin   none: the gain is nowhere 1\n");
  else
    fprintf(out, "  phase margin   %.6g deg at %.6g rad/s, a dead time of %.6g s\n", k->phase,
            k->phase_omega, k->delay);
}

static int print_text(const session* s) {
  const cpl_frequency* f = s->response;
  cpl_table table;
  double* values = columns_of(f, &table);
  FILE* out = s->point.out;
  cpli_print_text(out, s->point.source->desc->name, 0);
  fprintf(out, "\n  t = %g: from ", s->point.at);
  cpli_print_text(out, s->args->from, 0);
  fputs(" to ", out);
  cpli_print_text(out, s->args->to, 0);
  fputs("\n\n", out);
  cpl_status st = values == NULL     ? cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory")
                  : table.n_rows > 1 ? cli_plot_over(s->point.ctx, out, &table, LOG_OMEGA)
                                     : CPL_OK;
  free(values);
  if (st < 0) return cli_report(s->point.ctx, st);
  fputc('\n', out);
  print_margins(out, f);
  return CLI_OK;
}

static int write_picture(const session* s) {
  char* title = cpli_printf(s->point.ctx, "%s: from %s to %s", s->point.source->desc->name,
                            s->args->from, s->args->to);
  cpl_status st = title != NULL
                      ? cpl_frequency_write(s->point.ctx, s->response, s->args->output, title)
                      : cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  cpli_free(s->point.ctx, title);
  return st < 0 ? cli_report(s->point.ctx, st) : CLI_OK;
}

//------------------------------------ verb ------------------------------------

static int write_result(const session* s) {
  const char* path = s->args->output;
  if (path == NULL && !s->args->json) return print_text(s);
  if (path == NULL || cli_ends_with(path, ".json"))
    return cli_point_write(&s->point, path, write_json, s);
  return cli_ends_with(path, ".csv") ? cli_point_write(&s->point, path, write_csv, s)
                                     : write_picture(s);
}

static int run_bode(void* args_, int n, char** operands) {
  const bode_args* args = args_;
  const char* path = args->output;
  bool known = path == NULL || cli_ends_with(path, ".csv") || cli_ends_with(path, ".json") ||
               cli_ends_with(path, ".svg") || cli_ends_with(path, ".html");
  (void)n;
  if (!known)
    return cli_usage_error(
        "%s: a frequency response is written to a .csv, .json, .svg or .html file", path);
  if (args->from == NULL || args->to == NULL)
    return cli_usage_error("bode: --from INPUT and --to OUTPUT are needed");
  session s = {.args = args};
  int code = cli_point_begin(&s.point, &args->point, operands[0]);
  if (code == CLI_OK) {
    cpl_status st = respond(&s);
    code = st < 0 ? cli_report(s.point.ctx, st) : write_result(&s);
  }
  cpl_frequency_destroy(s.response);
  free(s.omegas);
  return cli_point_end(&s.point, code);
}

#define AT(member) offsetof(bode_args, member)
static const cli_option options[] = {
    {"from", 0, "INPUT", "a Real input that nothing is connected to", CLI_TEXT, AT(from)},
    {"to", 0, "OUTPUT", "a continuous Real variable", CLI_TEXT, AT(to)},
    {"range", 0, "LOW:HIGH", "frequencies [rad/s]; default: a decade beyond the eigenvalues",
     CLI_TEXT, AT(range)},
    {"points", 0, "N", "frequencies per decade, and more where the response bends; default: 40",
     CLI_NUMBER, AT(points)},
    {"omega", 0, "W", "exactly this frequency [rad/s]; may be repeated, ascending", CLI_LIST,
     AT(omega)},
    {"output", 'o', "FILE", "the file to write: .csv, .json, .svg or .html; default: a plot",
     CLI_TEXT, AT(output)},
    {"json", 0, NULL, "JSON on standard output", CLI_FLAG, AT(json)},
    CLI_POINT,
    {0},
};

const cli_verb cli_bode = {
    .name = "bode",
    .operands = "FILE",
    .summary = "the frequency response from an input to an output, with margins",
    .text =
        "Linearises FILE, an .fmu, a model in C (.c) or a system (.yaml, .ssp), at a point, as "
        "`couplet linearize` does (--at steady: at its rest point), and gives the transfer "
        "function "
        "from an input to an output over the frequency: gain and phase, and the gain and phase "
        "margins of a loop that is closed by negative feedback. The system stays sparse, "
        "so it may have many states.\n\n"
        "  couplet bode plant.yaml --at steady --from command --to level -o plant.html",
    .suffixes = "yaml fmu c ssp ssd",
    .options = options,
    .args_size = sizeof(bode_args),
    .run = run_bode,
};
