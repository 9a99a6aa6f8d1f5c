// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The inputs of a run. Each follows a column of a table or a callback; a stepper gets it as a curve
// where it can take one, otherwise as a polynomial or a value at each communication point. Types,
// units and the time range of tables are checked before the run.
#include <math.h>

#include "format/number.h"
#include "model/start.h"
#include "run/run.h"

//------------------------------------ open ------------------------------------

static cpl_status check_target(cpl_component* c, const cpl_variable* v) {
  bool tunable =
      v->causality == CPL_CAUSALITY_PARAMETER && v->variability == CPL_VARIABILITY_TUNABLE;
  if (v->causality != CPL_CAUSALITY_INPUT && !tunable) {
    return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->desc->name, v->name, NAN,
                       "%s is neither an input nor a tunable parameter: it cannot follow a table",
                       v->name);
  }
  if (v->type == CPL_STRING || v->type == CPL_BINARY) {
    return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->desc->name, v->name, NAN,
                       "%s is a %s: it cannot follow a table", v->name,
                       cpl_type_name((cpl_type)v->type));
  }
  return CPL_OK;
}

bool cpli_to_integer(const cpl_variable* v, double value, int64_t* out) {
  if (v->type == CPL_BOOLEAN || v->type == CPL_CLOCK) {
    *out = value != 0;
    return value == 0 || value == 1;
  }
  bool wide =
      v->width == CPL_WIDTH_INT64 || v->width == CPL_WIDTH_UINT64 || v->type == CPL_ENUMERATION;
  double max = wide ? 0x1p63 : v->width == CPL_WIDTH_UINT32 ? 4294967295.0 : 2147483647.0;
  if (value != floor(value)) return false;
  if (v->width == CPL_WIDTH_UINT64 && value >= 0x1p63 && value <= 0x1p64) {
    *out = value == 0x1p64 ? -1 : (int64_t)(uint64_t)value;
    return true;
  }
  if (!(value <= max && value >= -max - 1)) return false;
  *out = wide && value == max ? INT64_MAX : llround(value);
  return true;
}

// Checks that the variable can have every value of the column.
static cpl_status check_column(cpl_component* c, const cpl_variable* v, const cpl_input* input) {
  const cpl_table* t = input->table;
  const double* values = t->values + input->column * t->n_rows;
  const char* type = cpl_type_name((cpl_type)v->type);
  char text[512], number[CPLI_NUMBER_SIZE];
  if (v->type == CPL_REAL) return CPL_OK;
  cpli_column_text(t, input->column, text, sizeof text);
  for (size_t i = 0; i < t->n_rows; i++) {
    int64_t integer;
    if (cpli_to_integer(v, values[i], &integer)) continue;
    cpli_format_double(number, values[i]);
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "%s: row %zu: %s is %s and cannot be %s", text, i + 1,
                    v->name, cpli_type_text(v), number);
  }
  if (t->rounded != NULL && t->rounded[input->column])
    return cpl_fail(c->ctx, CPL_ERR_INPUT,
                    "%s: it has an integer beyond 2^53 that is lost in a table, so the %s %s "
                    "cannot follow it",
                    text, type, v->name);
  return CPL_OK;
}

// A value beyond the limits of the model is used as it is given; limits are in the model's unit.
static void warn_of_limits(cpl_component* c, const cpl_variable* v, const cpl_input* input,
                           const cpli_conversion* how) {
  const cpl_table* t = input->table;
  const double* values = t->values + input->column * t->n_rows;
  char column[512], limit[128], number[CPLI_NUMBER_SIZE];
  if (v->min == -INFINITY && v->max == INFINITY) return;
  for (size_t i = 0; i < t->n_rows; i++) {
    const double value = how != NULL ? cpli_convert(how, values[i]) : values[i];
    const char* why = cpli_beyond_limit(c->desc, v, value, limit, sizeof limit);
    if (why == NULL) continue;
    cpli_column_text(t, input->column, column, sizeof column);
    cpli_format_double(number, value);
    cpl_log(c->ctx, CPL_LOG_WARNING, c->name, "%s: row %zu: %s is %s, beyond its limits: %s",
            column, i + 1, v->name, number, why);
    return;
  }
}

// Conversion from the units of the table. *how is unchanged when none is needed.
static cpl_status convert_column(cpl_component* c, const cpl_variable* v, const cpl_input* input,
                                 cpli_conversion* how, bool* convert) {
  const char* unit = cpli_column_unit(input->table, input->column, v->name);
  return cpli_column_conversion(c->ctx, input->table, input->column, unit, c->desc, v, how,
                                convert);
}

static cpl_status open_follower(cpl_stepper* s, const cpl_input* input, double t0,
                                cpli_follower* f) {
  cpl_component* c = &s->base;
  int32_t index;
  cpl_status st = cpl_require_variable(c->ctx, c->desc, input->name, &index);
  if (st < 0) return st;
  f->var = &c->desc->vars[index];
  f->last = NAN;
  st = check_target(c, f->var);
  if (st < 0) return st;
  bool continuous = f->var->type == CPL_REAL && f->var->variability == CPL_VARIABILITY_CONTINUOUS;
  f->by_curve = continuous && s->ops->set_curve != NULL;
  f->from_table = input->table != NULL;
  if (!f->from_table) {
    f->curve = (cpl_curve){.value = input->value, .user = input->user, .from = t0};
    return CPL_OK;
  }
  cpli_conversion how;
  bool convert = false;
  st = convert_column(c, f->var, input, &how, &convert);
  if (st >= 0) st = check_column(c, f->var, input);
  if (st < 0) return st;
  warn_of_limits(c, f->var, input, convert ? &how : NULL);
  cpli_between between = f->var->type == CPL_CLOCK ? CPLI_ROWS_TICKS
                         : continuous              ? CPLI_ROWS_LINEAR
                                                   : CPLI_ROWS_HELD;
  st = cpli_curve_init(&f->table_curve, c->ctx, input->table, input->column, between,
                       convert ? &how : NULL);
  if (st < 0) return st;
  f->cursor = cpli_cursor_at(&f->table_curve, t0);
  f->curve = cpli_curve_table(&f->cursor);
  return CPL_OK;
}

// Before its first row a table has constant values.
static void warn_of_late_start(cpl_context* ctx, const cpl_run_def* def, size_t i) {
  const cpl_table* t = def->inputs[i].table;
  bool same = i > 0 && def->inputs[i - 1].table == t;
  if (t == NULL || same || !(t->time[0] > def->start_time)) return;
  char first[CPLI_NUMBER_SIZE], start[CPLI_NUMBER_SIZE];
  cpli_format_double(first, t->time[0]);
  cpli_format_double(start, def->start_time);
  cpl_log(ctx, CPL_LOG_WARNING, t->path != NULL ? t->path : def->inputs[i].name,
          "the table begins at t=%s, after the start of the run at t=%s: its first values are used "
          "until then",
          first, start);
}

// A variable can follow one source only; aliases are the same variable.
static cpl_status check_followed_once(const cpli_inputs* in, const cpl_description* desc,
                                      const cpl_run_def* def) {
  cpl_context* ctx = in->s->base.ctx;
  int32_t* by = cpli_alloc(ctx, (size_t)desc->n_vars, sizeof *by);
  if (by == NULL) return cpli_nomem(ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < in->n && st >= 0; i++) {
    const cpl_variable* v = in->list[i].var;
    ptrdiff_t var = v->alias_of >= 0 ? v->alias_of : v - desc->vars;
    if (by[var] > 0)
      st = cpl_fail_in(ctx, CPL_ERR_INPUT, desc->name, desc->vars[var].name, NAN,
                       "%s is given twice, as %s and as %s", desc->vars[var].name,
                       def->inputs[by[var] - 1].name, def->inputs[i].name);
    by[var] = (int32_t)i + 1;
  }
  cpli_free(ctx, by);
  return st;
}

// After its last row a table has constant values. A column that is constant between its rows needs
// no warning, nor does a single row.
static void warn_of_early_end(const cpli_inputs* in, const cpl_run_def* def) {
  for (size_t i = 0; i < in->n; i++) {
    const cpl_input* input = &def->inputs[i];
    const cpl_table* t = input->table;
    if (t == NULL || t->n_rows < 2 || in->list[i].table_curve.held) continue;
    double end = t->time[t->n_rows - 1];
    if (!(end + 1e-12 * fabs(end) < def->stop_time)) continue;
    cpl_log(in->s->base.ctx, CPL_LOG_WARNING, in->s->base.name,
            "the table of input %s ends at t=%.12g, before the stop time %.12g: its last value is "
            "used from there on",
            input->name, end, def->stop_time);
  }
}

cpl_status cpli_inputs_open(cpli_inputs* in, cpl_stepper* s, const cpl_run_def* def) {
  *in = (cpli_inputs){.s = s};
  in->list = cpli_alloc(s->base.ctx, def->n_inputs, sizeof *in->list);
  if (in->list == NULL) return cpli_nomem(s->base.ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_inputs && st >= 0; i++) {
    in->n++;
    st = open_follower(s, &def->inputs[i], def->start_time, &in->list[i]);
    if (st >= 0) warn_of_late_start(s->base.ctx, def, i);
  }
  if (st >= 0) warn_of_early_end(in, def);
  return st < 0 ? st : check_followed_once(in, s->base.desc, def);
}

void cpli_inputs_close(cpli_inputs* in) {
  for (size_t i = 0; i < in->n; i++) cpli_curve_free(&in->list[i].table_curve);
  if (in->s != NULL) cpli_free(in->s->base.ctx, in->list);
  *in = (cpli_inputs){0};
}

void cpli_inputs_rewind(cpli_inputs* in, double t) {
  for (size_t i = 0; i < in->n; i++) {
    cpli_follower* f = &in->list[i];
    f->last = NAN;
    if (f->from_table) f->cursor = cpli_cursor_at(&f->table_curve, t);
  }
}

//------------------------------------ follow ------------------------------------

static cpl_status check_value(cpl_component* c, const cpl_variable* v, double t, double value,
                              int64_t* integer) {
  char number[CPLI_NUMBER_SIZE];
  if (v->type == CPL_REAL ? isfinite(value) : cpli_to_integer(v, value, integer)) return CPL_OK;
  cpli_format_double(number, value);
  return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->desc->name, v->name, t,
                     "the input %s is %s and cannot be %s at t=%.12g", v->name, cpli_type_text(v),
                     number, t);
}

static cpl_status set_value(cpl_component* c, const cpl_variable* v, double t, double value) {
  int64_t integer = 0;
  cpl_status st = check_value(c, v, t, value, &integer);
  if (st < 0) return st;
  if (v->type == CPL_REAL) return c->ops->set_real(c, &v->ref, 1, &value);
  return c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
}

// The polynomial for the step that begins at t, for a stepper that cannot evaluate functions.
static cpl_status set_polynomial(cpli_inputs* in, cpli_follower* f, double t) {
  const double value = f->curve.value(f->curve.user, t);
  cpl_status st = check_value(&in->s->base, f->var, t, value, &(int64_t){0});
  if (st < 0) return st;
  cpl_curve line = {.from = t, .order = 0, .coefficient = {value}};
  if (f->from_table && in->s->base.can.input_derivatives > 0) {
    line.order = 1;
    line.coefficient[1] = cpli_cursor_slope(&f->cursor, t);
  }
  return in->s->ops->set_curve(in->s, f->var->ref, &line);
}

// A Clock ticks at rows that say so, and at no other time.
static cpl_status set_tick(cpli_inputs* in, cpli_follower* f, double t) {
  bool moved = cpli_cursor_pass(&f->cursor, t);
  bool at_first = isnan(f->last) && f->table_curve.time[f->cursor.row] == t;
  f->last = 0;
  if (!(moved || at_first) || cpli_cursor_value(&f->cursor, t) == 0) return CPL_OK;
  return set_value(&in->s->base, f->var, t, 1);
}

static cpl_status set_follower(cpli_inputs* in, cpli_follower* f, double t) {
  bool evaluates = in->s->base.can.dense_output;  // our own steppers take any function of time
  if (f->from_table && f->table_curve.ticks) return set_tick(in, f, t);
  if (f->from_table) cpli_cursor_pass(&f->cursor, t);
  if (f->by_curve && evaluates) {
    if (!isnan(f->last)) return CPL_OK;  // it has the curve already
    f->last = 0;
    return in->s->ops->set_curve(in->s, f->var->ref, &f->curve);
  }
  if (f->by_curve) return set_polynomial(in, f, t);
  double value = f->curve.value(f->curve.user, t);
  if (value == f->last) return CPL_OK;
  f->last = value;
  return set_value(&in->s->base, f->var, t, value);
}

// Derivatives of inputs may be set only after initialisation.
cpl_status cpli_inputs_start(cpli_inputs* in, double t) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < in->n && st >= 0; i++) {
    cpli_follower* f = &in->list[i];
    if (f->by_curve && !in->s->base.can.dense_output) {
      st = set_value(&in->s->base, f->var, t, f->curve.value(f->curve.user, t));
    } else {
      st = set_follower(in, f, t);
    }
  }
  return st;
}

cpl_status cpli_inputs_set(cpli_inputs* in, double t) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < in->n && st >= 0; i++) st = set_follower(in, &in->list[i], t);
  return st;
}

double cpli_inputs_next_kink(cpli_inputs* in, double t, double tolerance) {
  double next = INFINITY, after = t + 1e-13 * fabs(t);
  for (size_t i = 0; i < in->n; i++) {
    cpli_follower* f = &in->list[i];
    if (!f->from_table || !f->by_curve) continue;
    next = fmin(next, cpli_cursor_next_kink(&f->cursor, after, tolerance).time);
  }
  return next;
}

double cpli_inputs_next_jump(const cpli_inputs* in) {
  double next = INFINITY;
  for (size_t i = 0; i < in->n; i++) {
    if (in->list[i].from_table) next = fmin(next, cpli_cursor_next_jump(&in->list[i].cursor));
  }
  return next;
}
