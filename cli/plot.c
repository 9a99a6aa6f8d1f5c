// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet plot`: it draws columns of a result file in the terminal, one picture per unit,
// with axes, ticks and a legend.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "canvas.h"
#include "cli.h"
#include "format/text.h"
#include "interrupt.h"
#include "plot.h"

typedef struct plot_args {
  const char *xy, *marks, *colour;
  double width, height, from, until;
} plot_args;

enum { MIN_MARGIN = 11, PANELS = 6, CURVES = 8 };

// Columns of one unit, in one picture.
typedef struct panel {
  size_t columns[CURVES];
  int n;
} panel;

typedef struct plot {
  const cpl_table* table;
  canvas_marks marks;
  bool coloured;
  int width, height;   // characters of the whole
  int margin;          // characters left of the axis, the same in all pictures
  double from, until;  // time
  panel panels[PANELS];
  int n_panels;
  size_t n_left_out;
  FILE* out;
} plot;

typedef struct range {
  double low, high;
} range;

//------------------------------------ choosing ------------------------------------

static const char* unit_of(const cpl_table* t, size_t c) {
  return t->units != NULL && t->units[c] != NULL ? t->units[c] : "";
}

static const double* values_of(const cpl_table* t, size_t c) { return t->values + c * t->n_rows; }

static bool changes(const cpl_table* t, size_t c) {
  const double* v = values_of(t, c);
  for (size_t i = 1; i < t->n_rows; i++) {
    if (v[i] != v[0]) return true;
  }
  return false;
}

static void add_column(plot* p, size_t c) {
  panel* fit = NULL;
  for (int i = 0; i < p->n_panels && fit == NULL; i++) {
    panel* q = &p->panels[i];
    if (q->n < CURVES && strcmp(unit_of(p->table, q->columns[0]), unit_of(p->table, c)) == 0)
      fit = q;
  }
  if (fit == NULL && p->n_panels < PANELS) fit = &p->panels[p->n_panels++];
  if (fit == NULL) p->n_left_out++;
  else fit->columns[fit->n++] = c;
}

static const char* name_at(const void* user, size_t i) {
  return ((const cpl_table*)user)->names[i];
}

static cpl_status unknown(cpl_context* ctx, const cpl_table* t, const char* name) {
  char near[256];
  cpli_nearest(name, name_at, t, t->n_columns, near, sizeof near);
  return cpl_fail(ctx, CPL_ERR_INPUT, "no column matches \"%s\"%s%s%s", name,
                  near[0] != '\0' ? " (is it " : "", near, near[0] != '\0' ? "?)" : "");
}

static cpl_status choose(cpl_context* ctx, plot* p, int n, char** patterns) {
  const cpl_table* t = p->table;
  for (size_t c = 0; c < t->n_columns; c++) {
    bool wanted = n == 0 && changes(t, c);
    for (int i = 0; i < n; i++) wanted = wanted || cpli_glob(patterns[i], t->names[c]);
    if (wanted) add_column(p, c);
  }
  for (int i = 0; i < n; i++) {
    bool found = false;
    for (size_t c = 0; c < t->n_columns; c++) found = found || cpli_glob(patterns[i], t->names[c]);
    if (!found) return unknown(ctx, t, patterns[i]);
  }
  for (size_t c = 0; n == 0 && p->n_panels == 0 && c < t->n_columns; c++) add_column(p, c);
  return CPL_OK;
}

//------------------------------------ drawing ------------------------------------

static bool in_view(const plot* p, size_t row) {
  return p->table->time[row] >= p->from && p->table->time[row] <= p->until;
}

static range range_of(const plot* p, const size_t* columns, int n) {
  range r = {(double)INFINITY, (double)-INFINITY};
  for (int k = 0; k < n; k++) {
    const double* v = values_of(p->table, columns[k]);
    for (size_t i = 0; i < p->table->n_rows; i++) {
      if (!isfinite(v[i]) || !in_view(p, i)) continue;
      r.low = fmin(r.low, v[i]);
      r.high = fmax(r.high, v[i]);
    }
  }
  if (!(r.low <= r.high)) return (range){0, 1};
  r.low = fmax(r.low, -8e307);
  r.high = fmin(r.high, 8e307);
  const double size = fmax(fabs(r.low), fabs(r.high));
  if (r.high - r.low > 1e-12 * size) return r;
  const double half = size > 0 ? 0.5 * size : 1;
  return (range){r.low - half, r.high + half};
}

static double place(range r, double v, int dots) {
  return (v - r.low) / (r.high - r.low) * (dots - 1);
}

static void draw_curve(const plot* p, canvas* c, const double* x, const double* y, range rx,
                       range ry, int colour) {
  double last_x = 0, last_y = 0;
  bool down = false;
  for (size_t i = 0; i < p->table->n_rows; i++) {
    if (!in_view(p, i) || !isfinite(x[i]) || !isfinite(y[i])) {
      down = false;
      continue;
    }
    const double at_x = place(rx, x[i], c->width), at_y = place(ry, y[i], c->height);
    canvas_line(c, down ? last_x : at_x, down ? last_y : at_y, at_x, at_y, colour);
    last_x = at_x;
    last_y = at_y;
    down = true;
  }
}

//------------------------------------ around it ------------------------------------

// Ticks are all multiples of a step in a range.
typedef struct ticks {
  double step, first;  // the first tick is first * step
  int n, digits;       // digits: as many as distinguish them
} ticks;

enum { LABEL = 32 };

static ticks ticks_of(range r, double step) {
  const double first = ceil(r.low / step - 1e-9), last = floor(r.high / step + 1e-9);
  const double size = fmax(fabs(r.low), fabs(r.high));
  const int digits = (int)ceil(log10(size / step)) + 1;
  return (ticks){step, first, (int)fmax(0, last - first + 1),
                 digits < 6    ? 6
                 : digits > 16 ? 16
                               : digits};
}

// The step is 1, 2 or 5 times a power of ten; there are about as many ticks as requested and at
// least two.
static ticks choose_ticks(range r, double wanted) {
  static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10};
  const double raw = (r.high - r.low) / wanted, power = pow(10, floor(log10(raw)));
  int i = 3;
  while (i < 6 && steps[i] < raw / power * (1 - 1e-9)) i++;
  ticks t = ticks_of(r, power * steps[i]);
  while (i > 0 && t.n < 2) t = ticks_of(r, power * steps[--i]);
  return t;
}

static double tick_value(const ticks* t, int k) { return t->step * (t->first + k); }

// The position of a tick among n characters.
static int tick_place(const ticks* t, int k, range r, int n) {
  const int at = (int)lround((tick_value(t, k) - r.low) / (r.high - r.low) * (n - 1));
  return at < 0 ? 0 : at >= n ? n - 1 : at;
}

// The tick at a position; -1: there is none.
static int tick_at(const ticks* t, int at, range r, int n) {
  for (int k = 0; k < t->n; k++) {
    if (tick_place(t, k, r, n) == at) return k;
  }
  return -1;
}

static int tick_label(char out[LABEL], const ticks* t, int k) {
  return snprintf(out, LABEL, "%.*g", t->digits, tick_value(t, k));
}

static ticks ticks_up(const plot* p, range y) { return choose_ticks(y, fmax(1, p->height / 3.0)); }

static int label_width(const ticks* t) {
  char label[LABEL];
  int width = 0;
  for (int k = 0; k < t->n; k++) {
    const int n = tick_label(label, t, k);
    if (n > width) width = n;
  }
  return width;
}

// A label begins below its tick, or ends at the right edge where there is no room.
static int label_place(const ticks* t, int k, range x, int columns, char label[LABEL]) {
  const int n = tick_label(label, t, k), at = tick_place(t, k, x, columns);
  return at + n <= columns ? at : columns - n;
}

// As many ticks as have room for their labels, with a space between them.
static ticks ticks_across(range x, int columns) {
  for (double wanted = fmax(1, columns / 13.0);; wanted /= 1.5) {
    const ticks t = choose_ticks(x, wanted);
    bool fit = true;
    int end = 0;
    for (int k = 0; k < t.n && fit; k++) {
      char label[LABEL];
      const int at = label_place(&t, k, x, columns, label);
      fit = k == 0 ? at >= 0 : at > end;
      end = at + (int)strlen(label);
    }
    if (fit || wanted < 1) return t;
  }
}

static void print_legend(const plot* p, const panel* q) {
  int at = p->margin + 1;
  fprintf(p->out, "%*s", at, "");
  for (int k = 0; k < q->n; k++) {
    const char* name = p->table->names[q->columns[k]];
    const int room = (int)cpli_text_width(name) + 5;
    if (k > 0 && at + room > p->width) fprintf(p->out, "\n%*s", at = p->margin + 1, "");
    canvas_colour(p->out, k, p->coloured);
    fputs(p->marks == CANVAS_ASCII ? "-- " : "━━ ", p->out);
    canvas_colour(p->out, -1, p->coloured);
    cpli_print_text(p->out, name, (size_t)(p->width - p->margin > 10 ? p->width - p->margin : 10));
    fputs("  ", p->out);
    at += room;
  }
  if (unit_of(p->table, q->columns[0])[0] != '\0') {
    fputs("[", p->out);
    cpli_print_text(p->out, unit_of(p->table, q->columns[0]), 20);
    fputs("]", p->out);
  }
  fputc('\n', p->out);
}

static void print_canvas(const plot* p, const canvas* c, range y) {
  const ticks t = ticks_up(p, y);
  const char* const bars[] = {"│", "┤"};
  for (int row = 0; row < c->rows; row++) {
    char label[LABEL] = "";
    const int k = tick_at(&t, c->rows - 1 - row, y, c->rows);
    if (k >= 0) tick_label(label, &t, k);
    const char* bar = p->marks == CANVAS_ASCII ? "|" : bars[k >= 0];
    fprintf(p->out, "%*s %s", p->margin - 1, label, bar);
    canvas_print_row(c, p->out, row, p->coloured);
    fputc('\n', p->out);
  }
}

static void print_axis(const plot* p, const canvas* c, range x, const char* name,
                       const char* unit) {
  const char* const lines[] = {"─", "┬", "-", "+"};
  const ticks t = ticks_across(x, c->columns);
  fprintf(p->out, "%*s%s", p->margin, "", p->marks == CANVAS_ASCII ? "+" : "└");
  for (int i = 0; i < c->columns; i++)
    fputs(lines[(p->marks == CANVAS_ASCII ? 2 : 0) + (tick_at(&t, i, x, c->columns) >= 0)], p->out);
  fprintf(p->out, "\n%*s", p->margin + 1, "");
  for (int k = 0, end = 0; k < t.n; k++) {
    char label[LABEL];
    const int at = label_place(&t, k, x, c->columns, label);
    if (at < end + (k > 0)) continue;  // only where not even two labels have room
    fprintf(p->out, "%*s%s", at - end, "", label);
    end = at + (int)strlen(label);
  }
  fprintf(p->out, "\n%*s", p->margin + 1, "");
  cpli_print_text(p->out, name, 60);
  if (unit[0] != '\0') {
    fputs(" [", p->out);
    cpli_print_text(p->out, unit, 20);
    fputs("]", p->out);
  }
  fputs("\n", p->out);
}

// Room for the labels of a picture.
static void widen_margin(plot* p, const panel* q) {
  const ticks t = ticks_up(p, range_of(p, q->columns, q->n));
  const int needed = label_width(&t) + 1;
  if (needed > p->margin && needed <= p->width / 2) p->margin = needed;
}

static cpl_status print_panel(cpl_context* ctx, const plot* p, const panel* q, ptrdiff_t across) {
  canvas c;
  const cpl_table* t = p->table;
  const bool fine = canvas_make(&c, p->marks, p->width - p->margin - 1, p->height);
  if (fine) {
    const size_t column = across >= 0 ? (size_t)across : 0;
    const range x = across >= 0 ? range_of(p, &column, 1) : (range){p->from, p->until};
    const range y = range_of(p, q->columns, q->n);
    const double* over = across >= 0 ? values_of(t, column) : t->time;
    for (int k = q->n - 1; k >= 0; k--)
      draw_curve(p, &c, over, values_of(t, q->columns[k]), x, y, k);
    print_legend(p, q);
    print_canvas(p, &c, y);
    print_axis(p, &c, x, across >= 0 ? t->names[across] : "time",
               across >= 0 ? unit_of(t, column) : "s");
  }
  canvas_free(&c);
  return fine ? CPL_OK : cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
}

//------------------------------------ the verb ------------------------------------

// Half of a terminal's height, so that two pictures can be seen at once.
static void measure(plot* p, const plot_args* a) {
  const size_t columns = cli_terminal_width(p->out);
  const bool terminal = columns > 0;
  const char* no_colour = getenv("NO_COLOR");
  p->width = !isnan(a->width) ? (int)fmin(fmax(a->width, 30), 1000) : terminal ? (int)columns : 80;
  p->height = !isnan(a->height) ? (int)fmin(fmax(a->height, 3), 1000) : 14;
  p->coloured = a->colour == NULL || strcmp(a->colour, "auto") == 0
                    ? terminal && (no_colour == NULL || no_colour[0] == '\0')
                    : strcmp(a->colour, "always") == 0;
  p->marks = a->marks == NULL                   ? CANVAS_BRAILLE
             : strcmp(a->marks, "braille") == 0 ? CANVAS_BRAILLE
             : strcmp(a->marks, "blocks") == 0  ? CANVAS_BLOCKS
                                                : CANVAS_ASCII;
  if (p->width < 30) p->width = 30;
}

static cpl_status show_plane(cpl_context* ctx, plot* p, const char* xy) {
  const char* comma = xy;
  while ((comma = strchr(comma, ',')) != NULL) {
    char name[1024];
    snprintf(name, sizeof name, "%.*s", (int)(comma - xy), xy);
    const ptrdiff_t x = cpl_table_find(p->table, name), y = cpl_table_find(p->table, comma + 1);
    comma++;
    if (x < 0 || y < 0) continue;
    const panel q = {.columns = {(size_t)y}, .n = 1};
    widen_margin(p, &q);
    return print_panel(ctx, p, &q, x);
  }
  return cpl_fail(ctx, CPL_ERR_INPUT, "--xy %s: two columns X,Y are needed", xy);
}

static cpl_status show(cpl_context* ctx, plot* p, const plot_args* a, int n, char** patterns) {
  const cpl_table* t = p->table;
  if (t->n_rows == 0) return cpl_fail(ctx, CPL_ERR_INPUT, "there are no rows to draw");
  p->from = isnan(a->from) ? t->time[0] : a->from;
  p->until = isnan(a->until) ? t->time[t->n_rows - 1] : a->until;
  if (!(p->from <= p->until))
    return cpl_fail(ctx, CPL_ERR_INPUT, "--from %g is later than --until %g", p->from, p->until);
  if (p->from == p->until) p->until = p->from + 1;
  if (a->xy != NULL) {
    cpl_status st = show_plane(ctx, p, a->xy);
    if (st < 0 || n == 0) return st;
  }
  cpl_status st = choose(ctx, p, n, patterns);
  for (int i = 0; i < p->n_panels; i++) widen_margin(p, &p->panels[i]);
  for (int i = 0; i < p->n_panels && st >= 0; i++) st = print_panel(ctx, p, &p->panels[i], -1);
  if (p->n_left_out > 0 && st >= 0)
    fprintf(p->out, "%zu more columns; select columns by name, as in couplet plot FILE 'left.*'\n",
            p->n_left_out);
  return st;
}

cpl_status cli_plot_over(cpl_context* ctx, FILE* out, const cpl_table* table, size_t across) {
  const plot_args a = {.width = NAN, .height = NAN, .from = NAN, .until = NAN};
  cpl_status st = CPL_OK;
  plot* p = calloc(1, sizeof *p);
  if (p == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  *p = (plot){.table = table,
              .out = out,
              .margin = MIN_MARGIN,
              .from = table->time[0],
              .until = table->time[table->n_rows - 1]};
  measure(p, &a);
  for (size_t c = 0; c < table->n_columns && st >= 0; c++) {
    const panel q = {.columns = {c}, .n = 1};
    if (c != across) st = print_panel(ctx, p, &q, (ptrdiff_t)across);
  }
  free(p);
  return st;
}

static int run_plot(void* args, int n, char** operands) {
  cpl_context* ctx = cli_context(NULL);
  cli_enter(CLI_READS);
  if (ctx == NULL) return cli_usage_error("out of memory");
  cpl_table* table = NULL;
  plot* p = calloc(1, sizeof *p);
  cpl_status st = p != NULL ? cpl_results_read(ctx, operands[0], &table)
                            : cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  if (st >= 0) {
    p->table = table;
    p->out = stdout;
    p->margin = MIN_MARGIN;
    measure(p, args);
    st = show(ctx, p, args, n - 1, operands + 1);
    if (st < 0) st = cpl_fail_prefix(ctx, st, "%s", operands[0]);
  }
  int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  cpl_table_destroy(table);
  free(p);
  cli_end_context(ctx);
  return code;
}

#define AT(member) offsetof(plot_args, member)
static const cli_option options[] = {
    {"xy", 0, "X,Y", "draw column Y over column X", CLI_TEXT, AT(xy)},
    {"from", 0, "TIME", "begin here", CLI_NUMBER, AT(from)},
    {"until", 0, "TIME", "end here", CLI_NUMBER, AT(until)},
    {"width", 0, "N", "characters in a line; default: the terminal's, or 80", CLI_NUMBER,
     AT(width)},
    {"height", 0, "N", "lines of a picture; default: 14", CLI_NUMBER, AT(height)},
    {"marks", 0, "braille|blocks|ascii", "the characters of curves", CLI_TEXT, AT(marks)},
    {"color", 0, "auto|always|never", "auto: on a terminal, unless NO_COLOR is set", CLI_TEXT,
     AT(colour)},
    {0},
};

const cli_verb cli_plot = {
    .name = "plot",
    .operands = "RESULT [NAME...]",
    .summary = "draw results in the terminal",
    .text =
        "Draws columns of a .csv or .mat file over time, one plot per unit. NAME is a column, or a "
        "pattern with * and ?; by default all columns that change are drawn.\n\n"
        "  couplet plot out.csv 'left.*'",
    .suffixes = "csv mat",
    .options = options,
    .args_size = sizeof(plot_args),
    .run = run_plot,
};
