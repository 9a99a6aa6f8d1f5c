// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the model of the forward run, chooses which parameters share perturbed instances, and
// refuses what the adjoint method is not right for.
#include "analysis/adjoint.h"

#include <math.h>

#include "model/inspect.h"

static cpli_adjoint* self_of(cpl_component* c) { return (cpli_adjoint*)c; }

static const char own_kind[] = "adjoint";

cpli_adjoint* cpli_as_adjoint(cpl_model* m) {
  return m->base.ops->kind == own_kind ? (cpli_adjoint*)m : NULL;
}

//------------------------------------ values ------------------------------------

// An input that changes during the run would have to change again on the way back.
static cpl_status check_set(cpli_adjoint* a, const cpli_access* set) {
  cpl_component* c = &a->s.m->base;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < set->n && set->type == CPL_REAL && st == CPL_OK; i++) {
    double now = NAN, wanted = ((const double*)set->values)[i];
    st = c->ops->get_real(c, &set->refs[i], 1, &now);
    if (st != CPL_OK || now == wanted) continue;
    return cpl_fail_in(c->ctx, CPL_ERR_UNSUPPORTED, c->name, NULL, a->s.t,
                       "no adjoint gradients: an input changes from outside at t=%.12g; put its "
                       "table into a system file",
                       a->s.t);
  }
  return st;
}

static cpl_status access_values(cpl_component* c, const cpli_access* access) {
  cpli_adjoint* a = self_of(c);
  if (!access->set) return cpli_access_values(&a->s.m->base, access);
  cpl_status st = a->s.began ? check_set(a, access) : CPL_OK;
  return st == CPL_OK ? cpli_sens_set(&a->s, access) : st;
}

CPLI_DEFINE_VALUE_OPS(access_values)

static cpl_status directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  cpl_component* m = &self_of(c)->s.m->base;
  return m->ops->directional(m, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity);
}

//------------------------------------ life cycle ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* setup) {
  return cpli_sens_setup(&self_of(c)->s, setup);
}

static cpl_status enter_init(cpl_component* c) { return cpli_sens_enter_init(&self_of(c)->s); }

static cpl_status exit_init(cpl_component* c) { return cpli_sens_exit_init(&self_of(c)->s); }

static cpl_status terminate(cpl_component* c) { return cpli_sens_terminate(&self_of(c)->s); }

static cpl_status reset(cpl_component* c) {
  cpli_adjoint_forget(self_of(c));
  return cpli_sens_reset(&self_of(c)->s);
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_adjoint* a = self_of(c);
  cpl_context* ctx = c->ctx;
  if (a->s.m != NULL) cpli_adjoint_forget(a);
  cpli_free(ctx, a->tape.t);
  cpli_free(ctx, a->tape.x);
  cpli_free(ctx, a->tape.pieces);
  cpli_free(ctx, a->jumps);
  cpli_sens_free(&a->s);
  cpli_free(ctx, a);
}

static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const cpli_adjoint* a = (const cpli_adjoint*)c;
  out->n_children = 1;
  if (child == 0) cpli_inspection_child(out, &a->s.m->base);
  return CPL_OK;
}

#define COMPONENT_OPS                                                                       \
  .size = sizeof(cpl_component_ops), .kind = own_kind, .destroy = destroy, .setup = setup,  \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset, \
  CPLI_VALUE_OPS, .inspect = inspect

static const cpl_component_ops component_ops = {COMPONENT_OPS};
static const cpl_component_ops directional_ops = {COMPONENT_OPS, .directional = directional};

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  cpli_sens* s = cpli_sens_of(m);
  s->t = t;
  s->point++;
  return s->m->ops->set_time(s->m, t);
}

static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_sens* s = cpli_sens_of(m);
  memcpy(s->x, x, s->n * sizeof *x);
  s->point++;
  cpl_status st = s->m->ops->set_states(s->m, x);
  if (s->phase == SENS_CONTINUOUS) return st;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    p->shift = 0;
    if (st == CPL_OK) st = cpli_sens_move(s, k, p, 0);
  }
  return st;
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->get_states(s->m, x);
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->get_nominals(s->m, nominals);
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->get_derivatives(s->m, dx);
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  cpli_sens* s = cpli_sens_of(m);
  return s->nz > 0 ? s->m->ops->get_indicators(s->m, z) : CPL_OK;
}

static void name_indicator(const cpl_model* m, size_t indicator, char* out, size_t size) {
  const cpli_sens* s = (const cpli_sens*)m;
  s->m->ops->name_indicator(s->m, indicator, out, size);
}

static cpl_break next_break(cpl_model* m, double t, double tolerance) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->next_break(s->m, t, tolerance);
}

static cpl_status newton_setup(cpl_model* m, double gamma, bool fresh) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->newton->setup(s->m, gamma, fresh);
}

static cpl_status newton_solve(cpl_model* m, const double* r, double* dx) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->newton->solve(s->m, r, dx);
}

static const cpl_newton_ops newton_ops = {
    .size = sizeof newton_ops, .setup = newton_setup, .solve = newton_solve};

static void set_operations(cpli_adjoint* a) {
  cpli_sens* s = &a->s;
  const cpl_model_ops* of = s->m->ops;
  s->ops = (cpl_model_ops){.size = sizeof s->ops,
                           .enter_event = cpli_adjoint_enter_event,
                           .event_update = cpli_adjoint_event_update,
                           .enter_continuous = cpli_adjoint_enter_continuous,
                           .set_time = set_time,
                           .set_states = set_states,
                           .get_states = get_states,
                           .get_nominals = get_nominals,
                           .get_derivatives = get_derivatives,
                           .get_indicators = get_indicators,
                           .completed_step = cpli_adjoint_completed_step,
                           .newton = of->newton != NULL ? &newton_ops : NULL,
                           .name_indicator = of->name_indicator != NULL ? name_indicator : NULL,
                           .next_break = of->next_break != NULL ? next_break : NULL};
  s->base.ops = &s->ops;
  if (s->m->base.can.directional) s->base.base.ops = &directional_ops;
  s->base.base.can = (cpl_capabilities){.completed_step = true,
                                        .directional = s->m->base.can.directional,
                                        .needs_tool = s->m->base.can.needs_tool,
                                        .get_after_set = s->m->base.can.get_after_set};
}

//------------------------------------ what is refused ------------------------------------

// The model of the whole to which something applies; NULL: to none.
static const cpl_model* find(const cpl_model* m, bool (*applies)(const cpl_model*)) {
  const cpl_model* found = NULL;
  int32_t n = cpl_aggregate_count(m);
  for (int32_t i = 0; i < n && found == NULL; i++) found = find(cpl_aggregate_part(m, i), applies);
  return found != NULL ? found : applies(m) ? m : NULL;
}

static bool is_constrained(const cpl_model* m) {
  return m->ops->constraints != NULL && m->base.desc->n_constraints > 0;
}
static bool varies(const cpl_model* m) { return m->ops->structure != NULL; }
static bool hides_states(const cpl_model* m) {
  const cpl_description* d = m->base.desc;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] < 0 || d->derivatives[i] < 0) return true;
  }
  return false;
}

static cpl_status check_model(const cpli_adjoint* a) {
  static const struct {
    bool (*applies)(const cpl_model*);
    const char* why;
  } reasons[] = {
      {varies, "has a variable structure (modes)"},
      {is_constrained, "has constraints, onto which states are projected"},
      {hides_states, "has states that are no variables"},
  };
  const cpl_model* m = a->s.m;
  cpl_context* ctx = m->base.ctx;
  for (size_t i = 0; i < CPLI_COUNT(reasons); i++) {
    const cpl_model* found = find(m, reasons[i].applies);
    if (found == NULL) continue;
    return cpl_fail_in(ctx, CPL_ERR_UNSUPPORTED, a->s.base.base.name, NULL, NAN,
                       "no adjoint gradients: %s %s; sensitivities without --adjoint have them",
                       found->base.name, reasons[i].why);
  }
  if (m->base.desc->n_states > 0) return CPL_OK;
  return cpl_fail_in(ctx, CPL_ERR_UNSUPPORTED, a->s.base.base.name, NULL, NAN,
                     "no adjoint gradients: it has no states; sensitivities without --adjoint are "
                     "as fast");
}

//------------------------------------ names ------------------------------------

// "NAME", "final(NAME)" or "integral(NAME)".
static const char* inner_name(cpli_adjoint* a, const char* text, bool* integral) {
  static const char* const kinds[] = {"final(", "integral("};
  size_t n = strlen(text);
  *integral = false;
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    size_t k = strlen(kinds[i]);
    if (n <= k || strncmp(text, kinds[i], k) != 0 || text[n - 1] != ')') continue;
    *integral = i == 1;
    return cpli_arena_strndup(&a->s.arena, text + k, n - k - 1);
  }
  return text;
}

static cpl_status take_names(cpli_adjoint* a, const cpl_sensitivity_def* given) {
  cpli_sens* s = &a->s;
  cpl_sensitivity_def def = *given;
  const char** of = cpli_arena_alloc(&s->arena, def.n_of, sizeof *of);
  a->scalars = cpli_arena_alloc(&s->arena, def.n_of, sizeof *a->scalars);
  a->y = cpli_arena_alloc(&s->arena, def.n_of, sizeof *a->y);
  if (of == NULL || a->scalars == NULL || a->y == NULL) return cpli_nomem(s->base.base.ctx);
  for (size_t i = 0; i < def.n_of; i++) {
    of[i] = inner_name(a, given->of[i], &a->scalars[i].integral);
    if (of[i] == NULL) return cpli_nomem(s->base.base.ctx);
  }
  def.of = of;
  cpl_status st = cpli_sens_take_names(s, &def);
  for (size_t i = 0; i < def.n_of && st >= 0; i++) {
    a->scalars[i].var = s->of_vars[i];
    a->scalars[i].ref = s->of[i];
  }
  return st;
}

static bool is_own_discrete(const cpl_variable* v) {
  return v->type == CPL_REAL && v->variability == CPL_VARIABILITY_DISCRETE && v->alias_of < 0 &&
         (v->causality == CPL_CAUSALITY_OUTPUT || v->causality == CPL_CAUSALITY_LOCAL);
}

static cpl_status list_reals(cpli_adjoint* a) {
  const cpl_description* d = a->s.m->base.desc;
  for (int32_t i = 0; i < d->n_vars; i++) a->n_reals += is_own_discrete(&d->vars[i]);
  a->reals = cpli_arena_alloc(&a->s.arena, a->n_reals, sizeof *a->reals);
  if (a->reals == NULL) return cpli_nomem(a->s.base.base.ctx);
  a->n_reals = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (is_own_discrete(&d->vars[i])) a->reals[a->n_reals++] = d->vars[i].ref;
  }
  return CPL_OK;
}

//------------------------------------ groups ------------------------------------

static int32_t state_of(const cpli_sens* s, int32_t var) {
  const cpl_description* d = s->m->base.desc;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (cpli_root_variable(d, d->states[i]) == var) return i;
  }
  return -1;
}

// Parameter i belongs to the group of as many parameters of its model before it; one of no model,
// or without `grouped`, to a group of its own.
static cpl_status choose_groups(cpli_adjoint* a, bool grouped) {
  cpli_sens* s = &a->s;
  size_t n = a->n_all;
  cpl_model** owners = cpli_arena_alloc(&s->arena, n, sizeof *owners);
  int32_t* number = cpli_arena_alloc(&s->arena, n, sizeof *number);
  int32_t* shared = cpli_arena_alloc(&s->arena, n, sizeof *shared);  // by number: the group
  a->group = cpli_arena_alloc(&s->arena, n, sizeof *a->group);
  a->starts = cpli_arena_alloc(&s->arena, n, sizeof *a->starts);
  a->local = cpli_arena_alloc(&s->arena, n, sizeof *a->local);
  if (owners == NULL || number == NULL || shared == NULL || a->group == NULL || a->starts == NULL ||
      a->local == NULL)
    return cpli_nomem(s->base.base.ctx);
  bool apart = cpl_aggregate_count(s->m) > 1 && a->n_reals == 0;
  s->n_to = 0;
  for (size_t i = 0; i < n; i++) shared[i] = -1;
  for (size_t i = 0; i < n; i++) {
    int32_t local = -1;
    owners[i] = apart ? cpli_aggregate_owner(s->m, a->all[i].var, &local) : NULL;
    a->local[i] = owners[i] != NULL;
    a->starts[i] = state_of(s, a->all[i].var);
    int32_t before = 0;
    for (size_t j = 0; j < i && owners[i] != NULL; j++) before += owners[j] == owners[i];
    bool joins = grouped && owners[i] != NULL && shared[before] >= 0;
    a->group[i] = joins ? shared[before] : (int32_t)s->n_to++;
    if (owners[i] != NULL && !joins) shared[before] = a->group[i];
    a->grouped = a->grouped || joins;
  }
  return CPL_OK;
}

// The first parameter of each group has its instances.
static cpl_status make_groups(cpli_adjoint* a, bool grouped) {
  cpli_sens* s = &a->s;
  a->all = s->to;
  a->n_all = s->n_to;
  cpl_status st = choose_groups(a, grouped);
  if (st < 0) return st;
  s->to = cpli_arena_alloc(&s->arena, s->n_to, sizeof *s->to);
  bool* begun = cpli_arena_alloc(&s->arena, s->n_to, sizeof *begun);
  if (s->to == NULL || begun == NULL) return cpli_nomem(s->base.base.ctx);
  for (size_t i = 0; i < a->n_all; i++) {
    cpli_sens_parameter* lead = &s->to[a->group[i]];
    if (!begun[a->group[i]]) *lead = a->all[i];
    if (begun[a->group[i]]) {
      a->all[i].next = lead->next;
      lead->next = &a->all[i];
    }
    begun[a->group[i]] = true;
  }
  return CPL_OK;
}

//------------------------------------ make ------------------------------------

static cpl_status make(cpli_adjoint* a, const cpl_sensitivity_def* def, bool grouped) {
  cpli_sens* s = &a->s;
  cpl_context* ctx = s->base.base.ctx;
  s->n_of = def->n_of, s->n_to = def->n_to;
  s->to = cpli_arena_alloc(&s->arena, s->n_to, sizeof *s->to);
  s->of = cpli_arena_alloc(&s->arena, s->n_of, sizeof *s->of);
  s->of_vars = cpli_arena_alloc(&s->arena, s->n_of, sizeof *s->of_vars);
  s->base.base.name = cpli_arena_strdup(&s->arena, s->source->desc->name);
  if (s->to == NULL || s->of == NULL || s->of_vars == NULL || s->base.base.name == NULL) {
    s->n_to = 0;
    return cpli_nomem(ctx);
  }
  cpl_status st = cpl_source_make_model(s->source, s->base.base.name, &s->m);
  if (st >= 0) st = check_model(a);
  if (st >= 0) st = take_names(a, def);
  if (st >= 0) st = list_reals(a);
  if (st >= 0) st = make_groups(a, grouped);
  if (st < 0) return st;
  s->base.base.desc = s->m->base.desc;
  s->n = s->n_most = (size_t)s->base.base.desc->n_states;
  s->nz = s->nz_most = (size_t)s->base.base.desc->n_indicators;
  st = cpli_sens_make_instances(s);
  if (st >= 0) st = cpli_sens_make_point(s);
  if (st >= 0) st = cpli_sens_make_events(s);
  if (st < 0) return st;
  set_operations(a);
  cpli_sens_forget_run(s);
  return CPL_OK;
}

cpl_status cpli_adjoint_make(cpl_source* source, const cpl_sensitivity_def* def, bool grouped,
                             cpl_model** out) {
  cpl_context* ctx = source->ctx;
  *out = NULL;
  cpl_status st = cpli_sens_check(ctx, source, def);
  if (st < 0) return st;
  cpli_adjoint* a = cpli_alloc(ctx, 1, sizeof *a);
  if (a == NULL) return cpli_nomem(ctx);
  cpli_arena_init(&a->s.arena, ctx);
  a->s.source = source;
  a->s.base = (cpl_model){.base = {.ops = &component_ops, .desc = source->desc, .ctx = ctx}};
  st = make(a, def, grouped);
  if (st >= 0) *out = &a->s.base;
  else destroy(&a->s.base.base);
  return st;
}
