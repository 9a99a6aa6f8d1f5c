// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>

#include "run/run.h"

//------------------------------------ open ------------------------------------

static cpl_status check_target(cpl_component* c, const cpl_variable* v) {
  bool tunable = v->causality == CPL_PARAMETER && v->variability == CPL_TUNABLE;
  if (v->causality != CPL_INPUT && !tunable) {
    return cpl_fail(c->ctx, CPL_ERR_INPUT,
                    "%s: %s is neither an input nor a tunable parameter: it cannot follow a table",
                    c->desc->name, v->name);
  }
  if (v->type == CPL_STRING || v->type == CPL_BINARY) {
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "%s: %s is a %s: it cannot follow a table",
                    c->desc->name, v->name, cpl_type_name((cpl_type)v->type));
  }
  return CPL_OK;
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
  bool continuous = f->var->type == CPL_REAL && f->var->variability == CPL_CONTINUOUS;
  f->by_curve = continuous && s->ops->set_curve != NULL;
  f->from_table = input->table != NULL;
  if (!f->from_table) {
    f->curve = (cpl_curve){.value = input->value, .user = input->user, .from = t0};
    return CPL_OK;
  }
  st = cpli_curve_init(&f->pieces, c->ctx, input->table, input->column, !continuous);
  if (st < 0) return st;
  f->cursor = cpli_cursor_at(&f->pieces, t0);
  f->curve = cpli_curve_table(&f->cursor);
  return CPL_OK;
}

// Behind its last row a table holds the values there. A column that is held between its rows may as
// well be held behind them, and one row is a constant.
static void warn_of_early_end(const cpli_inputs* in, const cpl_run_def* def) {
  for (size_t i = 0; i < in->n; i++) {
    const cpl_input* input = &def->inputs[i];
    const cpl_table* t = input->table;
    if (t == NULL || t->n_rows < 2 || in->list[i].pieces.held) continue;
    double end = t->time[t->n_rows - 1];
    if (!(end + 1e-12 * fabs(end) < def->stop_time)) continue;
    cpl_log(in->s->base.ctx, CPL_LOG_WARNING, in->s->base.name,
            "the table of input %s ends at t=%.12g, before the stop time %.12g: its last value is "
            "held from there on",
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
  }
  if (st >= 0) warn_of_early_end(in, def);
  return st;
}

void cpli_inputs_close(cpli_inputs* in) {
  for (size_t i = 0; i < in->n; i++) cpli_curve_free(&in->list[i].pieces);
  if (in->s != NULL) cpli_free(in->s->base.ctx, in->list);
  *in = (cpli_inputs){0};
}

//------------------------------------ follow ------------------------------------

// A table has doubles: the ends of the 64-bit types are rounded there, and come back from it.
static bool to_integer(const cpl_variable* v, double value, int64_t* out) {
  bool wide = v->width == CPL_INT64 || v->width == CPL_UINT64 || v->type == CPL_ENUMERATION;
  double most = wide ? 0x1p63 : v->width == CPL_UINT32 ? 4294967295.0 : 2147483647.0;
  if (v->width == CPL_UINT64 && value >= 0x1p63 && value <= 0x1p64) {
    *out = value == 0x1p64 ? -1 : (int64_t)(uint64_t)value;
    return true;
  }
  if (!(value <= most && value >= -most - 1)) return false;
  *out = wide && value == most ? INT64_MAX : llround(value);
  return true;
}

static cpl_status set_value(cpl_component* c, const cpl_variable* v, double value) {
  if (v->type == CPL_REAL) return c->ops->set_real(c, &v->ref, 1, &value);
  int64_t integer = value != 0;
  if (v->type != CPL_BOOLEAN && v->type != CPL_CLOCK && !to_integer(v, value, &integer)) {
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "%s: the input %s is an integer and cannot be %g",
                    c->desc->name, v->name, value);
  }
  return c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
}

// What a stepper that cannot evaluate functions gets for the step that begins at t.
static cpl_status set_polynomial(cpli_inputs* in, cpli_follower* f, double t) {
  cpl_curve line = {.from = t, .order = 0, .coefficient = {f->curve.value(f->curve.user, t)}};
  if (f->from_table && in->s->base.can.input_derivatives > 0) {
    line.order = 1;
    line.coefficient[1] = cpli_cursor_slope(&f->cursor, t);
  }
  return in->s->ops->set_curve(in->s, f->var->ref, &line);
}

static cpl_status set_follower(cpli_inputs* in, cpli_follower* f, double t) {
  bool evaluates = in->s->base.can.dense_output;  // our own steppers take any function of time
  if (f->from_table) cpli_cursor_pass(&f->cursor, t);
  if (f->by_curve && evaluates) {
    if (!isnan(f->last)) return CPL_OK;  // it has the curve, and the curve moved
    f->last = 0;
    return in->s->ops->set_curve(in->s, f->var->ref, &f->curve);
  }
  if (f->by_curve) return set_polynomial(in, f, t);
  double value = f->curve.value(f->curve.user, t);
  if (value == f->last) return CPL_OK;
  f->last = value;
  return set_value(&in->s->base, f->var, value);
}

// Derivatives of inputs may be given only once the component runs.
cpl_status cpli_inputs_start(cpli_inputs* in, double t) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < in->n && st >= 0; i++) {
    cpli_follower* f = &in->list[i];
    if (f->by_curve && !in->s->base.can.dense_output) {
      st = set_value(&in->s->base, f->var, f->curve.value(f->curve.user, t));
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

double cpli_inputs_next_jump(const cpli_inputs* in) {
  double next = INFINITY;
  for (size_t i = 0; i < in->n; i++) {
    if (in->list[i].from_table) next = fmin(next, cpli_cursor_next_jump(&in->list[i].cursor));
  }
  return next;
}
