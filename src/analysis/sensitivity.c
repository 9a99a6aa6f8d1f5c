// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes a model with its sensitivities, initialises the model together with its perturbed
// instances, and forwards values: those that are set reach all instances.
#include "analysis/sensitivity.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "model/adopt.h"
#include "model/inspect.h"

void cpl_init_sensitivity_def(cpl_sensitivity_def* def, size_t size) {
  const cpl_sensitivity_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

static cpli_sens* self_of(cpl_component* c) { return (cpli_sens*)c; }

//------------------------------------ values ------------------------------------

enum { MAX_RUN = 128 };  // references of one run of a router

// The place of a sensitivity of a state; -1: the state does not exist in the present structure.
static ptrdiff_t place_of(const cpli_sens* s, uint32_t ref) {
  const cpli_sens_form* f = s->forms;
  while (&f->desc != s->base.base.desc) f++;
  int32_t place = f->place[ref % s->n_named];
  return place < 0 ? -1 : (ptrdiff_t)(s->n * (1 + ref / s->n_named)) + place;
}

static cpl_status get_own(cpli_sens* s, const cpli_access* a) {
  double* out = a->values;
  if (a->component == SENS_PAIR) return cpli_sens_pairs(s, a->refs, a->n, out);
  const double* from = a->component == SENS_SLOPE ? s->dx : s->x;
  cpl_status st = from == s->dx ? cpli_sens_slopes(s, s->dx) : CPL_OK;
  for (size_t i = 0; i < a->n && st == CPL_OK; i++) {
    ptrdiff_t place = place_of(s, a->refs[i]);
    out[i] = place >= 0 ? from[place] : NAN;
  }
  return st;
}

// A value of a perturbed instance: that of its parameter stays larger, or smaller. Before the setup
// instances are alike.
static cpl_status set_perturbed(cpli_sens* s, const cpli_access* a) {
  double room[MAX_RUN];
  assert(a->n <= MAX_RUN);
  cpl_status st = CPL_OK;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    cpli_access one = *a;
    if (st != CPL_OK) return st;
    if (a->type == CPL_REAL && s->phase != SENS_MADE) {
      const double* values = a->values;
      memcpy(room, values, a->n * sizeof *room);
      for (CPLI_EACH_MEMBER(k, member)) {
        for (size_t i = 0; i < a->n; i++)
          if (a->refs[i] == member->ref) room[i] += member->of[p - k->of].value - member->start;
      }
      one.values = room;
    }
    st = cpli_access_values(&p->m->base, &one);
  }
  return st;
}

static void note_starts(cpli_sens* s, const cpli_access* a) {
  for (size_t k = 0; k < s->n_to; k++) {
    for (CPLI_EACH_MEMBER(&s->to[k], member)) {
      for (size_t i = 0; i < a->n; i++)
        if (a->refs[i] == member->ref) member->start = ((const double*)a->values)[i];
    }
  }
}

// Whether inputs change in continuous time.
static cpl_status note_motion(cpli_sens* s, const cpli_access* a) {
  double now[MAX_RUN];
  if (s->phase != SENS_CONTINUOUS || s->moves || a->type != CPL_REAL) return CPL_OK;
  cpl_status st = s->m->base.ops->get_real(&s->m->base, a->refs, a->n, now);
  s->moves = memcmp(now, a->values, a->n * sizeof *now) != 0;
  return st;
}

cpl_status cpli_sens_set(cpli_sens* s, const cpli_access* a) {
  if (a->type == CPL_REAL && s->phase == SENS_MADE) note_starts(s, a);
  cpl_status st = note_motion(s, a);
  if (st == CPL_OK) st = cpli_access_values(&s->m->base, a);
  s->point++;
  return st == CPL_OK ? set_perturbed(s, a) : st;
}

static cpl_status forward(cpl_component* whole, const cpli_access* run) {
  cpli_sens* s = self_of(whole);
  if (run->component != SENS_MODEL && run->set)
    return cpl_fail_in(whole->ctx, CPL_ERR_INPUT, whole->name,
                       whole->desc->vars[run->outer[0]].name, NAN,
                       "%s: sensitivities follow from the model and cannot be set",
                       whole->desc->vars[run->outer[0]].name);
  if (run->component != SENS_MODEL) return get_own(s, run);
  return run->set ? cpli_sens_set(s, run) : cpli_access_values(&s->m->base, run);
}

static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  return cpli_router_access(&self_of(c)->router, c, a);
}

CPLI_DEFINE_VALUE_OPS(access_values)

//------------------------------------ life cycle ------------------------------------

// The step of differences whose errors by rounding and by curvature are about equal.
static void choose_step(cpli_sens* s, cpli_sens_parameter* k) {
  const cpl_variable* v = &s->m->base.desc->vars[k->var];
  double size = fmax(fabs(k->start), k->least);
  if (size == 0 || k->is_state || v->has_nominal) size = fmax(size, fabs(v->nominal));
  k->scale = size > 0 ? size : 1;
  double h = cbrt(DBL_EPSILON) * k->scale;
  k->of[0].value = k->start + h;
  k->of[1].value = k->start - h;
  k->width = k->of[0].value - k->of[1].value;
}

static cpl_status each(cpli_sens* s, cpl_status (*call)(cpl_component*)) {
  cpl_status st = call(&s->m->base);
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (st == CPL_OK) st = call(&p->m->base);
  }
  return st;
}

cpl_status cpli_sens_setup(cpli_sens* s, const cpl_setup* setup) {
  cpl_status st = CPL_OK;
  s->t = s->t_start = s->last = setup->start_time;
  for (size_t i = 0; i < s->n_to; i++) {
    for (CPLI_EACH_MEMBER(&s->to[i], member)) choose_step(s, member);
  }
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    cpl_component* c = &p->m->base;
    for (CPLI_EACH_MEMBER(k, member))
      if (st == CPL_OK) st = c->ops->set_real(c, &member->ref, 1, &member->of[p - k->of].value);
    if (st == CPL_OK) st = c->ops->setup(c, setup);
  }
  s->phase = SENS_INIT;
  return st == CPL_OK ? s->m->base.ops->setup(&s->m->base, setup) : st;
}

static cpl_status setup(cpl_component* c, const cpl_setup* setup) {
  cpl_status st = cpli_sens_setup(self_of(c), setup);
  return st == CPL_OK ? cpli_sens_follow(self_of(c)) : st;
}

#define EACH(name) \
  static cpl_status call_##name(cpl_component* c) { return c->ops->name(c); }
EACH(enter_init)
EACH(exit_init)
EACH(terminate)
EACH(reset)
#undef EACH

cpl_status cpli_sens_enter_init(cpli_sens* s) { return each(s, call_enter_init); }

// An input may have got its value meanwhile.
cpl_status cpli_sens_exit_init(cpli_sens* s) {
  cpl_status st = each(s, call_exit_init);
  if (st == CPL_OK) st = cpli_sens_verify(s);
  s->phase = SENS_EVENT;
  return st;
}

cpl_status cpli_sens_terminate(cpli_sens* s) { return each(s, call_terminate); }

cpl_status cpli_sens_reset(cpli_sens* s) {
  cpli_sens_forget_run(s);
  return each(s, call_reset);
}

static cpl_status enter_init(cpl_component* c) { return cpli_sens_enter_init(self_of(c)); }

static cpl_status exit_init(cpl_component* c) { return cpli_sens_exit_init(self_of(c)); }

static cpl_status terminate(cpl_component* c) { return cpli_sens_terminate(self_of(c)); }

void cpli_sens_forget_run(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  s->phase = SENS_MADE;
  s->next = INFINITY;
  s->crossed_at = s->shifted_at = NAN;
  s->step = s->longest = 0;
  s->point++;
  s->moves = s->touches = s->began = s->switched = s->has_slopes = false;
  for (size_t i = 0; i < s->n_to; i++) {
    for (CPLI_EACH_MEMBER(&s->to[i], member)) {
      const cpl_variable* v = &d->vars[member->var];
      member->start = v->has_start ? v->start : 0;
      member->direct = false;
    }
  }
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    p->next = INFINITY;
    p->shift = 0;
    p->again = false;
  }
  for (size_t i = 0; i < s->n_most * (1 + s->n_to); i++) s->x[i] = 0;
}

static cpl_status reset(cpl_component* c) {
  cpl_status st = cpli_sens_reset(self_of(c));
  return st == CPL_OK ? cpli_sens_follow(self_of(c)) : st;
}

void cpli_sens_free(cpli_sens* s) {
  cpli_sens_free_newton(s);
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (p->m != NULL) p->m->base.ops->destroy(&p->m->base);
  }
  if (s->m != NULL) s->m->base.ops->destroy(&s->m->base);
  cpli_shared_desc_release(s->desc);
  cpli_arena_free(&s->arena);
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpl_context* ctx = c->ctx;
  cpli_sens_free(self_of(c));
  cpli_free(ctx, c);
}

static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const cpli_sens* s = (const cpli_sens*)c;
  out->n_children = 1;
  if (child == 0) cpli_inspection_child(out, &s->m->base);
  return CPL_OK;
}

static const cpl_component_ops component_ops = {.size = sizeof component_ops,
                                                .kind = "sensitivity",
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = enter_init,
                                                .exit_init = exit_init,
                                                .terminate = terminate,
                                                .reset = reset,
                                                CPLI_VALUE_OPS,
                                                .inspect = inspect};

//------------------------------------ make ------------------------------------

cpl_status cpli_sens_check(cpl_context* ctx, const cpl_source* source,
                           const cpl_sensitivity_def* def) {
  const char* name = source->desc->name;
  if (source->ops->make_model == NULL)
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "%s: sensitivities need a model: an FMU for model exchange, a model in C, or a "
                    "system of them; steppers, and systems with steppers or delay lines, have "
                    "states that nobody else can set",
                    name);
  if (source->once_per_process)
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "%s: sensitivities take several instances, and it can have one per process "
                    "only: run models in processes of their own (isolate)",
                    name);
  if (def->n_of == 0)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: sensitivities: of which variables?", name);
  if (def->n_to == 0)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s: sensitivities: to which parameters, inputs or start values?", name);
  return CPL_OK;
}

cpl_status cpli_sens_make_instances(cpli_sens* s) {
  cpl_status st = CPL_OK;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (st < 0) return st;
    const char* name = s->m->base.desc->vars[k->var].name;
    char* full = cpli_printf(s->base.base.ctx, "%s (%s %s)", s->base.base.name, name,
                             p->sign > 0 ? "larger" : "smaller");
    if (full == NULL) return cpli_nomem(s->base.base.ctx);
    st = cpl_source_make_model(s->source, full, &p->m);
    cpli_free(s->base.base.ctx, full);
  }
  return st;
}

static cpl_status make(cpli_sens* s, const char* name, const cpl_sensitivity_def* def) {
  cpl_context* ctx = s->base.base.ctx;
  s->n_of = def->n_of;
  s->to = cpli_arena_alloc(&s->arena, def->n_to, sizeof *s->to);
  s->of = cpli_arena_alloc(&s->arena, s->n_of, sizeof *s->of);
  s->of_vars = cpli_arena_alloc(&s->arena, s->n_of, sizeof *s->of_vars);
  s->base.base.name = cpli_arena_strdup(&s->arena, name);
  if (s->to == NULL || s->of == NULL || s->of_vars == NULL || s->base.base.name == NULL)
    return cpli_nomem(ctx);
  s->n_to = def->n_to;
  s->only_differences = def->differences;
  cpl_status st = cpl_source_make_model(s->source, name, &s->m);
  if (st < 0) return st;
  st = cpli_sens_describe(s, def);
  for (size_t i = 0; i < s->n_to && st >= 0 && def->sizes != NULL; i++)
    s->to[i].least = def->sizes[i];
  if (st >= 0) st = cpli_sens_make_instances(s);
  if (st >= 0) st = cpli_sens_make_point(s);
  if (st >= 0) st = cpli_sens_make_exact(s);
  if (st >= 0) st = cpli_sens_make_newton(s);
  if (st >= 0) st = cpli_sens_make_events(s);
  if (st >= 0) cpli_sens_forget_run(s);
  return st;
}

cpl_status cpl_sensitivity_model(cpl_source* source, const char* name,
                                 const cpl_sensitivity_def* given, cpl_model** out) {
  cpl_context* ctx = source->ctx;
  cpl_sensitivity_def def = cpl_default_sensitivity_def();
  *out = NULL;
  cpl_status st = cpli_read_def(ctx, "cpl_sensitivity_def", given, &def, sizeof def);
  if (st >= 0) st = cpli_sens_check(ctx, source, &def);
  if (st >= 0 && def.adjoint)
    st = cpl_fail(ctx, CPL_ERR_INPUT, "%s: adjoint gradients are those of a whole run: %s",
                  source->desc->name, "cpl_experiment_gradients()");
  if (st < 0) return st;
  cpli_sens* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  cpli_arena_init(&s->arena, ctx);
  s->source = source;
  s->base = (cpl_model){.base = {.ops = &component_ops, .desc = source->desc, .ctx = ctx}};
  s->router.forward = forward;
  st = make(s, name != NULL ? name : source->desc->name, &def);
  if (st >= 0) *out = &s->base;
  else destroy(&s->base.base);
  return st;
}
