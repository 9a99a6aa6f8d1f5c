// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tests the rollback of a model: a step is taken, the state before it is restored, perhaps after a
// shorter step, and the same step must give the same bits in every variable.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fmi/findings.h"

enum { STEPS = 10 };

// The values of all variables at one moment.
typedef struct values {
  double* reals;
  int64_t* integers;
  char** texts;
  size_t* sizes;
} values;

typedef struct trial {
  cpl_context* ctx;
  cpl_stepper* s;
  cpl_snapshot snapshot;
  values first, again;
  bool* reported;
  bool wrong;  // something has been reported
  cpli_findings* findings;
} trial;

//------------------------------------ values ------------------------------------

static bool make_values(values* v, size_t n) {
  v->reals = calloc(n + 1, sizeof *v->reals);
  v->integers = calloc(n + 1, sizeof *v->integers);
  v->texts = calloc(n + 1, sizeof *v->texts);
  v->sizes = calloc(n + 1, sizeof *v->sizes);
  return v->reals != NULL && v->integers != NULL && v->texts != NULL && v->sizes != NULL;
}

static void free_values(values* v, size_t n) {
  for (size_t i = 0; i < n && v->texts != NULL; i++) free(v->texts[i]);
  free(v->reals);
  free(v->integers);
  free(v->texts);
  free(v->sizes);
}

static cpl_status keep(trial* t, values* v, size_t i, const void* data, size_t size) {
  free(v->texts[i]);
  v->texts[i] = malloc(size + 1);
  v->sizes[i] = size;
  if (v->texts[i] == NULL) return cpl_fail(t->ctx, CPL_ERR_NOMEM, "out of memory");
  if (size > 0) memcpy(v->texts[i], data, size);
  return CPL_OK;
}

static cpl_status read_one(trial* t, values* v, size_t i) {
  cpl_component* c = &t->s->base;
  const cpl_variable* var = &c->desc->vars[i];
  const char* text = NULL;
  cpl_binary binary = {0};
  cpl_status st;
  switch ((cpl_type)var->type) {
    case CPL_REAL: return cpl_component_get_real(c, &var->ref, 1, &v->reals[i]);
    case CPL_STRING:
      st = cpl_component_get_string(c, &var->ref, 1, &text);
      return st != CPL_OK ? st : keep(t, v, i, text != NULL ? text : "", text ? strlen(text) : 0);
    case CPL_BINARY:
      st = cpl_component_get_binary(c, &var->ref, 1, &binary);
      if (st == CPL_ERR_UNSUPPORTED) return CPL_OK;
      return st != CPL_OK ? st : keep(t, v, i, binary.data, binary.size);
    case CPL_CLOCK: return CPL_OK;
    default:
      return cpl_component_get_integer(c, (cpl_type)var->type, &var->ref, 1, &v->integers[i]);
  }
}

static cpl_status read_all(trial* t, values* v) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < t->s->base.desc->n_vars && st == CPL_OK; i++)
    st = read_one(t, v, (size_t)i);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

//------------------------------------ comparison ------------------------------------

static bool same(const trial* t, size_t i) {
  const values *a = &t->first, *b = &t->again;
  if (memcmp(&a->reals[i], &b->reals[i], sizeof(double)) != 0) return false;
  if (a->integers[i] != b->integers[i] || a->sizes[i] != b->sizes[i]) return false;
  return a->sizes[i] == 0 || memcmp(a->texts[i], b->texts[i], a->sizes[i]) == 0;
}

static void report(trial* t, size_t i, double from, double to, const char* how) {
  const cpl_variable* v = &t->s->base.desc->vars[i];
  char what[96] = "";
  if (v->type == CPL_REAL)
    snprintf(what, sizeof what, ": %.17g, then %.17g", t->first.reals[i], t->again.reals[i]);
  else if (v->type != CPL_STRING && v->type != CPL_BINARY)
    snprintf(what, sizeof what, ": %lld, then %lld", (long long)t->first.integers[i],
             (long long)t->again.integers[i]);
  cpli_findings_add(t->findings, CPLI_ERROR, v->line, "rollback",
                    "%s differs when the step from t=%.12g to t=%.12g is repeated %s%s", v->name,
                    from, to, how, what);
  t->reported[i] = t->wrong = true;
}

static void compare(trial* t, double from, double to, const char* how) {
  for (int32_t i = 0; i < t->s->base.desc->n_vars; i++) {
    if (!t->reported[i] && !same(t, (size_t)i)) report(t, (size_t)i, from, to, how);
  }
}

static void compare_ends(trial* t, const cpl_step_result* a, const cpl_step_result* b, double from,
                         double to, const char* how) {
  if ((a->end == b->end && a->time == b->time) || t->wrong) return;
  cpli_findings_add(t->findings, CPLI_ERROR, 0, "rollback",
                    "the step from t=%.12g to t=%.12g ended at t=%.17g; repeated %s it ends at "
                    "t=%.17g",
                    from, to, a->time, how, b->time);
  t->wrong = true;
}

//------------------------------------ steps ------------------------------------

static cpl_status step(trial* t, double to, cpl_step_result* r) {
  cpl_status st = cpl_stepper_step(t->s, to, to, r);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

// Serializes the saved state and restores it from the bytes.
static cpl_status restore_from_bytes(trial* t) {
  cpl_component* c = &t->s->base;
  cpl_binary borrowed, bytes;
  cpl_snapshot copy = {0};
  cpl_status st = cpl_component_serialize(c, &t->snapshot, &borrowed);
  if (st != CPL_OK) return st < 0 ? st : CPL_ERR_MODEL;
  uint8_t* kept = malloc(borrowed.size + 1);
  if (kept == NULL) return cpl_fail(t->ctx, CPL_ERR_NOMEM, "out of memory");
  memcpy(kept, borrowed.data, borrowed.size);
  bytes = (cpl_binary){kept, borrowed.size};
  st = cpl_component_deserialize(c, &bytes, &copy);
  if (st == CPL_OK) st = cpl_component_restore(c, &copy);
  if (copy.data != NULL) cpl_component_forget(c, &copy);
  free(kept);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

typedef enum way { DIRECT, DETOUR, BYTES } way;

// Repeats the step from the saved state: at once, after a shorter step that is rolled back as well,
// or from the serialized state.
static cpl_status repeat(trial* t, double from, double to, const cpl_step_result* first, way w) {
  static const char* const hows[] = {"after it was taken back",
                                     "after it and a shorter one were taken back",
                                     "from the serialised state"};
  cpl_component* c = &t->s->base;
  const char* how = hows[w];
  cpl_step_result r;
  cpl_status st = w == BYTES ? restore_from_bytes(t) : cpl_component_restore(c, &t->snapshot);
  if (st >= 0 && w == DETOUR) {
    double half = from + (to - from) / 2;
    st = step(t, c->can.variable_step ? half : to, &r);
    if (st >= 0) st = cpl_component_restore(c, &t->snapshot);
  }
  if (st >= 0) st = step(t, to, &r);
  if (st >= 0) st = read_all(t, &t->again);
  if (st < 0) return st;
  compare(t, from, to, how);
  compare_ends(t, first, &r, from, to, how);
  return CPL_OK;
}

static cpl_status try_step(trial* t, double from, double to, double* reached) {
  cpl_component* c = &t->s->base;
  cpl_step_result r;
  cpl_status st = cpl_component_save(c, &t->snapshot);
  if (st >= 0) st = step(t, to, &r);
  if (st >= 0) st = read_all(t, &t->first);
  if (st >= 0) st = repeat(t, from, to, &r, DIRECT);
  if (st >= 0) st = repeat(t, from, to, &r, DETOUR);
  if (st >= 0 && cpl_component_capabilities(c).serialize) st = repeat(t, from, to, &r, BYTES);
  *reached = r.time > from && r.end != CPL_STEP_TERMINATE ? r.time : INFINITY;
  return st;
}

static cpl_status start(trial* t, double from, double stop) {
  cpl_component* c = &t->s->base;
  cpl_setup setup = cpl_default_setup();
  setup.start_time = from;
  setup.has_stop_time = true;
  setup.stop_time = stop;
  cpl_status st = cpl_component_setup(c, &setup);
  if (st >= 0) st = cpl_component_enter_init(c);
  return st < 0 ? st : cpl_component_exit_init(c);
}

static cpl_status try_all(trial* t) {
  cpl_component* c = &t->s->base;
  const cpl_default_experiment* e = &c->desc->experiment;
  double from = e->has_start ? e->start : 0, stop = e->has_stop ? e->stop : from + 1;
  double h = e->has_step && e->step > 0 ? e->step : (stop - from) / (2 * STEPS);
  if (from + STEPS * h > stop) h = (stop - from) / STEPS;
  if (!(h > 0)) h = 1e-3;
  cpl_status st = start(t, from, stop);
  for (double at = from; st >= 0 && at < from + (STEPS - 0.5) * h;) {
    double reached = INFINITY;
    st = try_step(t, at, at + h, &reached);
    at = reached;
  }
  cpl_status end = cpl_component_terminate(c);
  return st < 0 ? st : end;
}

static cpl_status make_stepper(cpl_source* source, cpl_stepper** out) {
  if (cpl_source_has_stepper(source) && !cpl_source_has_model(source))
    return cpl_source_make_stepper(source, source->desc->name, out);
  if (cpl_source_has_stepper(source) && cpl_system_definition(source) == NULL)
    return cpl_source_make_stepper(source, source->desc->name, out);
  cpl_model* model = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.restart_each_step = def.one_solver = true;
  cpl_status st = cpl_source_make_model(source, source->desc->name, &model);
  return st < 0 ? st : cpl_integrate(model, &def, out);
}

cpl_status check_rollback(cpl_context* ctx, cpl_source* source, cpli_findings* findings) {
  trial t = {.ctx = ctx, .findings = findings};
  cpl_status st = make_stepper(source, &t.s);
  if (st < 0) return st;
  cpl_component* c = &t.s->base;
  size_t n = (size_t)c->desc->n_vars;
  t.reported = calloc(n + 1, sizeof *t.reported);
  if (!make_values(&t.first, n) || !make_values(&t.again, n) || t.reported == NULL) {
    st = cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  } else if (!cpl_component_capabilities(c).save_restore) {
    cpli_findings_add(findings, CPLI_WARNING, 0, "rollback",
                      "it cannot save and restore its state, so there is nothing to try");
  } else {
    st = try_all(&t);
  }
  if (t.snapshot.data != NULL) cpl_component_forget(c, &t.snapshot);
  free_values(&t.first, n);
  free_values(&t.again, n);
  free(t.reported);
  cpl_component_destroy(c);
  return st;
}
