// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results as a picture: one SVG with a panel for each unit, without any script.
#include <math.h>
#include <stdio.h>

#include "format/file.h"
#include "format/markup.h"
#include "format/number.h"
#include "view/view.h"

enum {
  WIDTH = 960,
  LEFT = 84,
  RIGHT = 20,
  PLOT_WIDTH = WIDTH - LEFT - RIGHT,
  PLOT_HEIGHT = 200,
  PLANE_HEIGHT = 460,  // of the plot of one column over another
  LEGEND_LINE = 20,
  TOP = 60,  // title
  GAP = 58,  // below a plot: tick labels, the axis' name, air
  MAX_COLUMNS = 64,
  COLOURS = 8,      // and columns in a panel
  NAME_LIMIT = 48,  // characters of a name in a legend
};

// Colours are written out twice: variables are not known to every program that shows SVG.
static const char style[] =
    "text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif}.title{font-size:18px;"
    "font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}.grid,.axis,.curve{fill:none}"
    ".curve{stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}"
    ".bg{fill:#fff}text{fill:#1c2330}.dim{fill:#667085}.grid{stroke:#e6e9ef}.axis{stroke:#98a2b3}"
    ".k0{stroke:#1f66c1}.k1{stroke:#d9660b}.k2{stroke:#16875a}.k3{stroke:#b0378c}"
    ".k4{stroke:#94760a}.k5{stroke:#5d4bc9}.k6{stroke:#c53a3a}.k7{stroke:#2b8a9e}"
    "@media(prefers-color-scheme:dark){"
    ".bg{fill:#12161d}text{fill:#e6e9ef}.dim{fill:#98a2b3}.grid{stroke:#242b36}.axis{stroke:#"
    "4a5565}"
    ".k0{stroke:#6ea8fe}.k1{stroke:#ff9d57}.k2{stroke:#4fd19a}.k3{stroke:#f08acb}"
    ".k4{stroke:#e0c04a}.k5{stroke:#a99dff}.k6{stroke:#ff8080}.k7{stroke:#6fd0e6}"
    "}";

// Columns of one unit, drawn into one plot.
typedef struct panel {
  size_t columns[COLOURS];
  size_t n;
  int legend_lines;
} panel;

typedef struct view {
  const cpl_table* table;
  const cpl_view_def* def;
  panel panels[MAX_COLUMNS];
  size_t n_panels, n_shown, n_left_out;
  ptrdiff_t across, up;  // -1: no such plot
  const char* axis;      // of decimal logarithms. NULL: it is time
  cpli_text out;
} view;

typedef struct range {
  double from, to;
} range;

//------------------------------------ choosing ------------------------------------

static const char* unit_of(const cpl_table* t, size_t column) {
  const char* unit = t->units != NULL ? t->units[column] : NULL;
  return unit != NULL ? unit : "";
}

static bool is_wanted(const view* v, size_t column) {
  if (v->def->n_only == 0) return cpli_view_changes(v->table, column);
  for (size_t i = 0; i < v->def->n_only; i++) {
    if (cpli_glob(v->def->only[i], v->table->names[column])) return true;
  }
  return false;
}

// Room of a legend entry, by a guess at the width of its characters.
static double legend_width(const char* name) {
  const size_t n = strlen(name);
  return 34 + 7.0 * (double)(n < NAME_LIMIT ? n : NAME_LIMIT);
}

static void add_column(view* v, size_t column) {
  const char* unit = unit_of(v->table, column);
  panel* p = NULL;
  for (size_t i = 0; i < v->n_panels && p == NULL; i++) {
    panel* q = &v->panels[i];
    if (q->n < COLOURS && strcmp(unit_of(v->table, q->columns[0]), unit) == 0) p = q;
  }
  if (p == NULL) p = &v->panels[v->n_panels++];
  p->columns[p->n++] = column;
  v->n_shown++;
}

static void choose(view* v, bool constants_too) {
  for (size_t c = 0; c < v->table->n_columns; c++) {
    if (!constants_too && !is_wanted(v, c)) continue;
    if (v->n_shown < MAX_COLUMNS) {
      add_column(v, c);
    } else {
      v->n_left_out++;
    }
  }
  for (size_t i = 0; i < v->n_panels; i++) {
    double x = 0;
    v->panels[i].legend_lines = 1;
    for (size_t k = 0; k < v->panels[i].n; k++) {
      const double w = legend_width(v->table->names[v->panels[i].columns[k]]);
      if (x > 0 && x + w > PLOT_WIDTH) {
        v->panels[i].legend_lines++;
        x = 0;
      }
      x += w;
    }
  }
}

//------------------------------------ drawing ------------------------------------

static void put(view* v, const char* s) { cpli_text_put(&v->out, s); }

static void put_pixels(view* v, double x) { cpli_text_number(&v->out, round(x * 10) / 10); }

// A pair of coordinates with what stands before each.
static void put_pair(view* v, const char* before_x, double x, const char* before_y, double y) {
  put(v, before_x);
  put_pixels(v, x);
  put(v, before_y);
  put_pixels(v, y);
}

static void put_text(view* v, const char* class_, double x, double y, const char* s, size_t limit) {
  put(v, "<text class=\"");
  put(v, class_);
  put_pair(v, "\" x=\"", x, "\" y=\"", y);
  put(v, "\">");
  cpli_text_escaped(&v->out, s, limit);
  put(v, "</text>\n");
}

static void put_line(view* v, const char* class_, double x1, double y1, double x2, double y2) {
  put(v, "<path class=\"");
  put(v, class_);
  put_pair(v, "\" d=\"M", x1, " ", y1);
  put_pair(v, "L", x2, " ", y2);
  put(v, "\"/>\n");
}

static range widened(range r) {
  if (!(r.from <= r.to)) return (range){0, 1};  // nothing finite
  const double limit = 8e307;                   // so that the width is finite
  r.from = fmax(r.from, -limit);
  r.to = fmin(r.to, limit);
  const double size = fmax(fabs(r.from), fabs(r.to));
  const double width = r.to - r.from;
  if (width > 1e-12 * size) return r;
  const double half = size > 0 ? 0.5 * size : 1;
  return (range){r.from - half, r.to + half};
}

static range values_of(const view* v, const size_t* columns, size_t n) {
  range r = {(double)INFINITY, (double)-INFINITY};
  for (size_t k = 0; k < n; k++) {
    const double* values = v->table->values + columns[k] * v->table->n_rows;
    for (size_t i = 0; i < v->table->n_rows; i++) {
      if (!isfinite(values[i])) continue;
      if (values[i] < r.from) r.from = values[i];
      if (values[i] > r.to) r.to = values[i];
    }
  }
  r = widened(r);
  const double pad = 0.05 * (r.to - r.from);
  return (range){r.from - pad, r.to + pad};
}

static double scale(range r, double value, double from, double to) {
  const double part = (value - r.from) / (r.to - r.from);
  return from + (to - from) * fmin(fmax(part, 0), 1);
}

// Ticks at multiples of 1, 2 or 5 times a power of ten; each is one rounding away from its decimal,
// so that it prints short.
static size_t find_ticks(range r, double wanted, double ticks[16]) {
  const double raw = (r.to - r.from) / wanted;
  const double exponent = floor(log10(raw));
  const double power = pow(10, fabs(exponent)), unit = exponent < 0 ? 1 / power : power;
  const double part = raw / unit;
  const double factor = part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10;
  size_t n = 0;
  for (double k = ceil(r.from / (factor * unit)); n < 16; k++) {
    const double tick = exponent < 0 ? k * factor / power : k * factor * power;
    if (!(tick <= r.to)) break;
    ticks[n++] = tick == 0 ? 0 : tick;  // no -0
  }
  return n;
}

// Whole decades, of long ranges each second one and so on, and lines at 2 to 9 between them.
static void draw_decades(view* v, range x, double top, double bottom) {
  const double right = LEFT + PLOT_WIDTH, first = floor(x.from);
  const double every = fmax(1, ceil((x.to - x.from) / 12));
  char label[CPLI_NUMBER_SIZE];
  for (double k = first; k <= x.to; k++) {
    for (int digit = 1; digit < 10; digit++) {
      const double value = k + log10(digit);
      if (value < x.from - 1e-9 || value > x.to + 1e-9) continue;
      const double at = scale(x, value, LEFT, right);
      if (digit == 1 || every == 1) put_line(v, "grid", at, top, at, bottom);
      if (digit > 1 || fmod(k - first, every) != 0) continue;
      cpli_format_double(label, pow(10, k));
      put_text(v, "dim mid", at, bottom + 18, label, sizeof label);
    }
  }
}

static void draw_axes(view* v, range x, range y, double top, double bottom) {
  const double right = LEFT + PLOT_WIDTH;
  double ticks[16];
  char label[CPLI_NUMBER_SIZE];
  if (v->axis != NULL) draw_decades(v, x, top, bottom);
  for (size_t i = 0, n = v->axis != NULL ? 0 : find_ticks(x, 9, ticks); i < n; i++) {
    const double at = scale(x, ticks[i], LEFT, right);
    cpli_format_double(label, ticks[i]);
    put_line(v, "grid", at, top, at, bottom);
    put_text(v, "dim mid", at, bottom + 18, label, sizeof label);
  }
  for (size_t i = 0, n = find_ticks(y, (bottom - top) / 40, ticks); i < n; i++) {
    const double at = scale(y, ticks[i], bottom, top);
    cpli_format_double(label, ticks[i]);
    put_line(v, "grid", LEFT, at, right, at);
    put_text(v, "dim end", LEFT - 8, at + 4, label, sizeof label);
  }
  put_line(v, "axis", LEFT, bottom, right, bottom);
}

static void draw_legend(view* v, const panel* p, double y) {
  double x = 0;
  for (size_t k = 0; k < p->n; k++) {
    const char* name = v->table->names[p->columns[k]];
    const double w = legend_width(name);
    if (x > 0 && x + w > PLOT_WIDTH) {
      x = 0;
      y += LEGEND_LINE;
    }
    char class_[] = "curve k0";
    class_[7] = (char)('0' + k);
    put_line(v, class_, LEFT + x, y - 4, LEFT + x + 16, y - 4);
    put_text(v, "", LEFT + x + 22, y, name, NAME_LIMIT);
    x += w;
  }
}

// A curve with at most four points a pixel: the first, smallest, largest and last that fall on it,
// in their order, look the same as all of them.
static void draw_curve(view* v, size_t column, int colour, range x, range y, double top) {
  const cpl_table* t = v->table;
  const double* values = t->values + column * t->n_rows;
  char class_[] = "<path class=\"curve k0\" d=\"";
  class_[20] = (char)('0' + colour);
  put(v, class_);
  bool down = false;
  for (size_t i = 0; i < t->n_rows;) {
    const double pixel = floor(scale(x, t->time[i], 0, PLOT_WIDTH));
    size_t at[4] = {i, i, i, i}, end = i;  // first, smallest, largest, last
    for (; end < t->n_rows && floor(scale(x, t->time[end], 0, PLOT_WIDTH)) == pixel; end++) {
      if (!isfinite(values[end])) break;
      if (values[end] < values[at[1]]) at[1] = end;
      if (values[end] > values[at[2]]) at[2] = end;
      at[3] = end;
    }
    if (end == i) {  // a gap
      down = false;
      i++;
      continue;
    }
    if (at[1] > at[2]) {
      const size_t swap = at[1];
      at[1] = at[2];
      at[2] = swap;
    }
    for (int k = 0; k < 4; k++) {
      if (k > 0 && at[k] == at[k - 1]) continue;
      put_pair(v, down ? "L" : "M", scale(x, t->time[at[k]], LEFT, LEFT + PLOT_WIDTH), " ",
               scale(y, values[at[k]], top + PLOT_HEIGHT, top));
      down = true;
    }
    i = end;
  }
  put(v, "\"><title>");
  cpli_text_escaped(&v->out, t->names[column], SIZE_MAX);
  put(v, "</title></path>\n");
}

static double draw_panel(view* v, const panel* p, range x, double top) {
  const range y = values_of(v, p->columns, p->n);
  const char* unit = unit_of(v->table, p->columns[0]);
  draw_legend(v, p, top + 14);
  top += p->legend_lines * LEGEND_LINE + 8;
  if (unit[0] != '\0') put_text(v, "dim end", LEFT - 8, top - 14, unit, 10);
  draw_axes(v, x, y, top, top + PLOT_HEIGHT);
  for (size_t k = 0; k < p->n; k++) draw_curve(v, p->columns[k], (int)k, x, y, top);
  put_text(v, "dim end", LEFT + PLOT_WIDTH, top + PLOT_HEIGHT + 36,
           v->axis != NULL ? v->axis : "time [s]", NAME_LIMIT);
  return top + PLOT_HEIGHT + GAP;
}

//------------------------------------ one over another ------------------------------------

// Widens one of two ranges so that a unit is as long across as up.
static void same_scale(range* x, range* y) {
  const double wide = (x->to - x->from) / PLOT_WIDTH, high = (y->to - y->from) / PLANE_HEIGHT;
  range* r = wide < high ? x : y;
  const double half = 0.5 * (wide < high ? high * PLOT_WIDTH : wide * PLANE_HEIGHT);
  const double middle = r->from + 0.5 * (r->to - r->from);
  if (isfinite(middle - half) && isfinite(middle + half))
    *r = (range){middle - half, middle + half};
}

static char* axis_name(view* v, size_t column) {
  const char* unit = unit_of(v->table, column);
  return cpli_printf(v->out.ctx, unit[0] != '\0' ? "%s [%s]" : "%s", v->table->names[column], unit);
}

// A point at the position of the previous one is omitted.
static void draw_trace(view* v, range x, range y, double top) {
  const cpl_table* t = v->table;
  const double* across = t->values + (size_t)v->across * t->n_rows;
  const double* up = t->values + (size_t)v->up * t->n_rows;
  double last_x = -1, last_y = -1;
  bool down = false;
  put(v, "<path class=\"curve k0\" d=\"");
  for (size_t i = 0; i < t->n_rows; i++) {
    if (!isfinite(across[i]) || !isfinite(up[i])) {
      down = false;
      continue;
    }
    const double at_x = round(2 * scale(x, across[i], LEFT, LEFT + PLOT_WIDTH)) / 2;
    const double at_y = round(2 * scale(y, up[i], top + PLANE_HEIGHT, top)) / 2;
    if (down && at_x == last_x && at_y == last_y) continue;
    put_pair(v, down ? "L" : "M", at_x, " ", at_y);
    last_x = at_x;
    last_y = at_y;
    down = true;
  }
  put(v, "\"/>\n");
}

static double draw_plane(view* v, double top) {
  const size_t across = (size_t)v->across, up = (size_t)v->up;
  range x = values_of(v, &across, 1), y = values_of(v, &up, 1);
  if (strcmp(unit_of(v->table, across), unit_of(v->table, up)) == 0) same_scale(&x, &y);
  char *name_x = axis_name(v, across), *name_y = axis_name(v, up);
  if (name_x == NULL || name_y == NULL) v->out.failed = true;
  top += LEGEND_LINE;
  put_text(v, "dim", LEFT, top - 8, name_y != NULL ? name_y : "", NAME_LIMIT);
  draw_axes(v, x, y, top, top + PLANE_HEIGHT);
  draw_trace(v, x, y, top);
  put_text(v, "dim end", LEFT + PLOT_WIDTH, top + PLANE_HEIGHT + 36, name_x != NULL ? name_x : "",
           NAME_LIMIT);
  cpli_free(v->out.ctx, name_x);
  cpli_free(v->out.ctx, name_y);
  return top + PLANE_HEIGHT + GAP;
}

//------------------------------------ the whole ------------------------------------

static double height_of(const view* v) {
  double h = TOP + (v->n_left_out > 0 ? 20 : 0);
  if (v->up >= 0) h += LEGEND_LINE + PLANE_HEIGHT + GAP;
  for (size_t i = 0; i < v->n_panels; i++) {
    h += v->panels[i].legend_lines * LEGEND_LINE + 8 + PLOT_HEIGHT + GAP;
  }
  return h;
}

static void draw(view* v) {
  const cpl_table* t = v->table;
  const char* title = v->def->title != NULL ? v->def->title : "couplet";
  const double height = height_of(v);
  put(v, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
  put_pair(v, " width=\"", WIDTH, "\" height=\"", height);
  put_pair(v, "\" viewBox=\"0 0 ", WIDTH, " ", height);
  put(v, "\">\n<style>");
  put(v, style);
  put(v, "</style>\n");
  put(v, "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
  put_text(v, "title", LEFT, 36, title, 90);

  range x = {0, 1};
  if (t->n_rows > 0) x = widened((range){t->time[0], t->time[t->n_rows - 1]});
  double top = TOP;
  if (v->up >= 0) top = draw_plane(v, top);
  for (size_t i = 0; i < v->n_panels; i++) top = draw_panel(v, &v->panels[i], x, top);
  if (v->n_left_out > 0) {
    char note[96];
    snprintf(note, sizeof note, "%zu more columns are not shown: choose with --only",
             v->n_left_out);
    put_text(v, "dim", LEFT, top, note, sizeof note);
  }
  put(v, "</svg>\n");
}

cpl_status cpli_view_picture(cpl_context* ctx, const cpl_table* table, const cpl_view_def* def) {
  view* v = cpli_alloc(ctx, 1, sizeof *v);
  if (v == NULL) return cpli_nomem(ctx);
  v->table = table;
  v->def = def;
  v->out.ctx = ctx;
  v->across = def->across != NULL && def->up != NULL ? cpl_table_find(table, def->across) : -1;
  v->up = v->across >= 0 ? cpl_table_find(table, def->up) : -1;
  choose(v, false);
  if (v->n_shown == 0) choose(v, true);  // nothing changes
  draw(v);
  cpl_status st =
      v->out.failed ? cpli_nomem(ctx) : cpli_file_make(ctx, def->path, v->out.data, v->out.len);
  cpli_text_free(&v->out);
  cpli_free(ctx, v);
  return st;
}

void cpli_picture_draw(const cpl_table* table, const cpl_view_def* def, const char* axis,
                       cpli_text* out) {
  view* v = cpli_alloc(out->ctx, 1, sizeof *v);
  out->failed = v == NULL;
  if (v == NULL) return;
  *v = (view){.table = table, .def = def, .across = -1, .up = -1, .axis = axis, .out = *out};
  choose(v, true);
  draw(v);
  *out = v->out;
  cpli_free(out->ctx, v);
}
