// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Modes as one model, made by a program. `rise`: x' = 1 until it meets its limit, y = x. `swing`:
// an oscillator x'' = -x + u with y = x + u/2, until t = 5. Beside it stands z' = y - z with the
// output w = y/2 that goes back as u: a loop while it swings, and none while it rises.
#include "couplet/component.h"
#include "couplet/modes.h"

#include "couplet/graph.h"
#include "models.h"

//------------------------------------ models ------------------------------------

static int rise_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = 1;
  return CPL_MODEL_OK;
}
static int rise_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}
static int rise_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - v->p[0];
  return CPL_MODEL_OK;
}
static int rise_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->crossed[0] > 0) a->terminate = true;
  return CPL_MODEL_OK;
}
static const cpl_declaration rise_states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_declaration inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration outputs[] = {{"y"}, END_OF_LIST};
static const cpl_declaration rise_parameters[] = {{"limit", .start = 3}, END_OF_LIST};
static const cpl_model_def rise = {.name = "rise",
                                   .states = rise_states,
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .parameters = rise_parameters,
                                   .n_indicators = 1,
                                   .derivatives = rise_derivatives,
                                   .output_values = rise_outputs,
                                   .indicators = rise_indicators,
                                   .event = rise_event};

static int swing_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}
static int swing_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0] + v->u[0] / 2;
  return CPL_MODEL_OK;
}
static int swing_begin(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 5;
  return CPL_MODEL_OK;
}
static int swing_event(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->t < 5 ? 5 : INFINITY;
  if (a->time_event) a->terminate = true;
  return CPL_MODEL_OK;
}
static const cpl_declaration swing_states[] = {{"x"}, {"v", .start = 1}, END_OF_LIST};
static const cpl_model_def swing = {.name = "swing",
                                    .states = swing_states,
                                    .inputs = inputs,
                                    .outputs = outputs,
                                    .derivatives = swing_derivatives,
                                    .output_values = swing_outputs,
                                    .initialize = swing_begin,
                                    .event = swing_event};

static int other_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  return CPL_MODEL_OK;
}
static int other_outputs(const cpl_values* v, double* y) {
  y[0] = v->u[0] / 2;
  return CPL_MODEL_OK;
}
static const cpl_declaration other_states[] = {{"z", .output = true}, END_OF_LIST};
static const cpl_declaration other_inputs[] = {{"y"}, END_OF_LIST};
static const cpl_declaration other_output_list[] = {{"w"}, END_OF_LIST};
static const cpl_model_def other = {.name = "other",
                                    .states = other_states,
                                    .inputs = other_inputs,
                                    .outputs = other_output_list,
                                    .derivatives = other_derivatives,
                                    .output_values = other_outputs};

//------------------------------------ the whole ------------------------------------

enum { RISE, SWING, OTHER, N_SOURCES };

typedef struct whole {
  cpl_context* ctx;
  cpl_source* sources[N_SOURCES];
  cpl_model* parts[2];       // the modes
  cpl_model *modes, *model;  // the model of variable structure; the aggregate with the other
  cpl_stepper* stepper;
} whole;

static cpl_status again(void* user, cpl_model** out) {
  cpl_source* source = user;
  return source->ops->make_model(source, "again", out);
}

static cpl_status open_sources(whole* w) {
  static const cpl_model_def* const defs[] = {&rise, &swing, &other};
  cpl_status st = CPL_OK;
  for (int i = 0; i < N_SOURCES && st >= 0; i++) st = cpl_c_define(w->ctx, defs[i], &w->sources[i]);
  return st;
}

// From the first mode to the second and back; the position goes along.
static cpl_status make_modes(whole* w) {
  const cpl_description *a = w->sources[RISE]->desc, *b = w->sources[SWING]->desc;
  int32_t x = cpl_find_variable(a, "x"), p = cpl_find_variable(b, "x");
  cpl_mode_copy there[] = {{.from = x, .to = p}}, back[] = {{.from = p, .to = x}};
  cpl_transition out = {.to = 1, .copies = there, .n_copies = 1, .text = "there"};
  cpl_transition home = {.to = 0, .copies = back, .n_copies = 1, .text = "back"};
  cpl_mode modes[] = {
      {.name = "rise", .make_model = again, .user = w->sources[RISE], .leave = &out, .n_leave = 1},
      {.name = "swing",
       .make_model = again,
       .user = w->sources[SWING],
       .leave = &home,
       .n_leave = 1}};
  int32_t u[] = {cpl_find_variable(a, "u"), cpl_find_variable(b, "u")};
  int32_t y[] = {cpl_find_variable(a, "y"), cpl_find_variable(b, "y")};
  cpl_mode_variable in = {"u", u}, seen = {"y", y};
  cpl_modes_def def = cpl_default_modes_def();
  def.name = "m";
  def.modes = modes;
  def.n_modes = 2;
  def.inputs = &in;
  def.n_inputs = 1;
  def.observed = &seen;
  def.n_observed = 1;
  cpl_status st = again(w->sources[RISE], &modes[0].model);
  if (st < 0) return st;
  st = again(w->sources[SWING], &modes[1].model);
  if (st < 0) modes[0].model->base.ops->destroy(&modes[0].model->base);
  w->parts[0] = modes[0].model;
  w->parts[1] = modes[1].model;
  return st < 0 ? st : cpl_modes_model(w->ctx, &def, &w->modes);
}

static cpl_status couple(whole* w) {
  cpl_model* parts[] = {w->modes, NULL};
  cpl_status st = w->sources[OTHER]->ops->make_model(w->sources[OTHER], "o", &parts[1]);
  if (st < 0) {
    w->modes->base.ops->destroy(&w->modes->base);
    return st;
  }
  const cpl_description *m = parts[0]->base.desc, *o = parts[1]->base.desc;
  cpl_coupling couplings[] = {
      {.target = {1, cpl_find_variable(o, "y")}, .source = {0, cpl_find_variable(m, "y")}},
      {.target = {0, cpl_find_variable(m, "u")}, .source = {1, cpl_find_variable(o, "w")}}};
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "s",
                           .parts = parts,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = 2};
  return cpl_aggregate(w->ctx, &def, &w->model);
}

static cpl_status start(whole* w, const cpl_solver_def* solver) {
  cpl_model* model = w->model;
  cpl_status st = cpl_integrate(model, solver, &w->stepper);
  if (st < 0) w->model = NULL;
  cpl_component* c = st >= 0 ? &w->stepper->base : NULL;
  if (st >= 0) st = c->ops->setup(c, &(cpl_setup){.start_time = 0});
  if (st >= 0) st = c->ops->enter_init(c);
  return st < 0 ? st : c->ops->exit_init(c);
}

static cpl_solver_def fine(void) {
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = solver.atol = 1e-11;
  solver.one_solver = true;
  return solver;
}

static whole make(cpl_context* ctx) {
  whole w = {.ctx = ctx};
  CHECK_OK(ctx, open_sources(&w));
  CHECK_OK(ctx, make_modes(&w));
  CHECK_OK(ctx, couple(&w));
  return w;
}

static void drop(whole* w) {
  if (w->stepper != NULL) w->stepper->base.ops->destroy(&w->stepper->base);
  for (int i = 0; i < N_SOURCES; i++) {
    if (w->sources[i] != NULL) w->sources[i]->ops->destroy(w->sources[i]);
  }
}

// Through events, up to t.
static cpl_status go_to(whole* w, double t) {
  cpl_step_result r = {0};
  cpl_status st = CPL_OK;
  do st = w->stepper->ops->step(w->stepper, t, t, &r);
  while (st >= 0 && (r.time < t || r.end == CPL_STEP_EVENT) && r.end != CPL_STEP_TERMINATE);
  return st;
}

static double value(whole* w, const char* name) {
  cpl_component* c = &w->stepper->base;
  int32_t var = cpl_find_variable(c->desc, name);
  if (var < 0) fail_msg("no variable %s", name);
  double got = 0;
  CHECK_INT(c->ops->get_real(c, &c->desc->vars[var].ref, 1, &got), CPL_OK);
  return got;
}

static int loops_of(const whole* w) {
  cpl_graph* g = NULL;
  CHECK_OK(w->ctx, cpl_graph_create(&w->model->base, &g));
  int n = g->n_loops;
  cpl_graph_destroy(g);
  return n;
}

static int begin(void** state) {
  *state = test_context();
  return 0;
}

static int end(void** state) {
  cpl_context_destroy(*state);
  return 0;
}

//------------------------------------ tests ------------------------------------

static void the_description_is_that_of_the_active_mode(void** state) {
  whole w = make(*state);
  const cpl_model* m = w.modes;
  const cpl_description *a = m->ops->structure(w.modes, 0), *b = m->ops->structure(w.modes, 1);
  CHECK(m->ops->structure(w.modes, 2) == NULL);
  CHECK(m->base.desc == a);
  CHECK(a->n_states == 1 && a->n_indicators == 1 && b->n_states == 2 && b->n_indicators == 0);
  CHECK_INT(a->n_vars, b->n_vars);
  CHECK_STR(a->vars[a->states[0]].name, "rise.x");
  CHECK_STR(b->vars[b->states[1]].name, "swing.v");
  CHECK_STR(b->vars[b->derivatives[1]].name, "swing.der(v)");
  cpl_solver_def solver = fine();
  CHECK_OK(*state, start(&w, &solver));
  CHECK(w.model->ops->structure(w.model, 0) != NULL && w.model->ops->structure(w.model, 1) != NULL);
  CHECK(w.model->ops->structure(w.model, 2) == NULL);
  CHECK_OK(*state, go_to(&w, 3));
  CHECK(m->base.desc == b);
  CHECK_INT(w.model->base.desc->n_states, 3);
  drop(&w);
}

// While it swings u = y/2 and y = x + u/2: u = 2 x/3, x'' = -x/3.
static void a_loop_comes_and_goes_with_a_mode(void** state) {
  whole w = make(*state);
  cpl_solver_def solver = fine();
  CHECK_OK(*state, start(&w, &solver));
  CHECK_INT(loops_of(&w), 0);
  CHECK_OK(*state, go_to(&w, 1));
  CHECK_NEAR(value(&w, "m.y"), 2, 1e-9);
  CHECK_NEAR(value(&w, "m.u"), 1, 1e-9);
  CHECK(isnan(value(&w, "m.swing.x")));
  CHECK_OK(*state, go_to(&w, 4));
  CHECK_INT(loops_of(&w), 1);
  double q = sqrt(1. / 3), x = 3 * cos(2 * q) + sin(2 * q) / q;
  CHECK_NEAR(value(&w, "m.swing.x"), x, 1e-8);
  CHECK_NEAR(value(&w, "m.y"), 4 * x / 3, 1e-8);
  CHECK(isnan(value(&w, "m.rise.x")));
  CHECK_OK(*state, go_to(&w, 5.5));  // at t = 5 it swings no longer
  CHECK_INT(loops_of(&w), 0);
  x = 3 * cos(3 * q) + sin(3 * q) / q;
  CHECK_NEAR(value(&w, "m.y"), x + 0.5, 1e-8);
  CHECK_INT(cpl_component_counter(&w.stepper->base, "structure_changes"), 2);
  CHECK_INT(cpl_component_counter(&w.stepper->base, "structures"), 1);
  drop(&w);
}

static void a_second_run_is_the_same(void** state) {
  whole w = make(*state);
  cpl_solver_def solver = fine();
  CHECK_OK(*state, start(&w, &solver));
  CHECK_OK(*state, go_to(&w, 4.5));
  double z = value(&w, "o.z"), y = value(&w, "m.y");
  cpl_component* c = &w.stepper->base;
  CHECK_OK(*state, c->ops->terminate(c));
  CHECK_OK(*state, c->ops->reset(c));
  CHECK_INT(w.model->base.desc->n_states, 2);
  CHECK_OK(*state, c->ops->setup(c, &(cpl_setup){.start_time = 0}));
  CHECK_OK(*state, c->ops->enter_init(c));
  CHECK_OK(*state, c->ops->exit_init(c));
  CHECK_OK(*state, go_to(&w, 4.5));
  CHECK(value(&w, "o.z") == z && value(&w, "m.y") == y);
  drop(&w);
}

// Back and forth over both switches, into snapshots of either structure.
static void saved_states_know_their_structure(void** state) {
  whole w = make(*state);
  cpl_solver_def solver = fine();
  solver.restart_each_step = true;
  CHECK_OK(*state, start(&w, &solver));
  cpl_component* c = &w.stepper->base;
  cpl_snapshot early = {0}, late = {0};
  CHECK(c->can.save_restore);
  CHECK_OK(*state, go_to(&w, 1.5));
  CHECK_OK(*state, c->ops->save(c, &early));
  CHECK_OK(*state, go_to(&w, 4.5));
  CHECK_OK(*state, c->ops->save(c, &late));
  double z = value(&w, "o.z"), y = value(&w, "m.y");
  CHECK_OK(*state, go_to(&w, 6));
  double end = value(&w, "o.z");
  for (int round = 0; round < 2; round++) {
    CHECK_OK(*state, c->ops->restore(c, &early));
    CHECK_INT(w.model->base.desc->n_states, 2);
    CHECK_NEAR(value(&w, "m.y"), 2.5, 1e-9);
    CHECK_OK(*state, go_to(&w, 4.5));
    CHECK(value(&w, "o.z") == z && value(&w, "m.y") == y);
    CHECK_OK(*state, c->ops->restore(c, &late));
    CHECK_INT(w.model->base.desc->n_states, 3);
    CHECK(value(&w, "o.z") == z && value(&w, "m.y") == y);
    CHECK_OK(*state, go_to(&w, 6));
    CHECK(value(&w, "o.z") == end);
    CHECK_OK(*state, c->ops->restore(c, &early));
    CHECK_OK(*state, go_to(&w, 4.5));
    CHECK_OK(*state, c->ops->save(c, &early));  // grows
    CHECK_OK(*state, c->ops->restore(c, &early));
    CHECK(value(&w, "o.z") == z);
    c->ops->forget(c, &early);
    CHECK_OK(*state, c->ops->reset(c));
    CHECK_OK(*state, c->ops->setup(c, &(cpl_setup){.start_time = 0}));
    CHECK_OK(*state, c->ops->enter_init(c));
    CHECK_OK(*state, c->ops->exit_init(c));
    CHECK_OK(*state, go_to(&w, 1.5));
    CHECK_OK(*state, c->ops->save(c, &early));
  }
  c->ops->forget(c, &early);
  c->ops->forget(c, &late);
  drop(&w);
}

// A state whose start value is calculated is written in continuous time.
static void calculated_states_are_written_later(void** state) {
  whole w = {.ctx = *state};
  CHECK_OK(w.ctx, open_sources(&w));
  const cpl_description* d = w.sources[SWING]->desc;
  ((cpl_variable*)d->vars)[cpl_find_variable(d, "x")].initial = CPL_INITIAL_CALCULATED;
  CHECK_OK(w.ctx, make_modes(&w));
  CHECK_OK(w.ctx, couple(&w));
  cpl_solver_def solver = fine();
  CHECK_OK(*state, start(&w, &solver));
  CHECK_OK(*state, go_to(&w, 4));
  double q = sqrt(1. / 3);
  CHECK_NEAR(value(&w, "m.swing.x"), 3 * cos(2 * q) + sin(2 * q) / q, 1e-8);
  drop(&w);
}

static cpl_status no_reset(cpl_component* c) {
  return cpl_fail(c->ctx, CPL_ERR_MODEL, "no way back");
}

static void what_cannot_be_reset_is_made_anew(void** state) {
  whole w = make(*state);
  cpl_component_ops stubborn = *w.parts[0]->base.ops;
  stubborn.reset = no_reset;
  w.parts[0]->base.ops = &stubborn;
  cpl_solver_def solver = fine();
  CHECK_OK(*state, start(&w, &solver));
  CHECK_OK(*state, go_to(&w, 5.5));  // it is entered a second time at t = 5
  double q = sqrt(1. / 3);
  CHECK_NEAR(value(&w, "m.rise.x"), 3 * cos(3 * q) + sin(3 * q) / q + 0.5, 1e-8);
  drop(&w);
}

static void modes_of_variable_structure_are_refused(void** state) {
  whole w = {.ctx = *state};
  CHECK_OK(w.ctx, open_sources(&w));
  CHECK_OK(w.ctx, make_modes(&w));
  cpl_mode mode = {.name = "outer", .model = w.modes};
  cpl_modes_def def = cpl_default_modes_def();
  def.modes = &mode;
  def.n_modes = 1;
  cpl_model* m = NULL;
  CHECK_INT(cpl_modes_model(w.ctx, &def, &m), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(w.ctx), "mode outer has a variable structure itself");
  CHECK(m == NULL);
  drop(&w);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* small = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (small != NULL) {
      whole w = {.ctx = small};
      cpl_solver_def solver = cpl_default_solver_def();
      st = open_sources(&w);
      if (st >= 0) st = make_modes(&w);
      if (st >= 0) st = couple(&w);
      if (st >= 0) st = start(&w, &solver);
      if (st >= 0) st = go_to(&w, 5.5);
      drop(&w);
      cpl_context_destroy(small);
    }
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    if (st != CPL_ERR_NOMEM) fail_msg("allocation %ld: %d", n, st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_description_is_that_of_the_active_mode),
      cmocka_unit_test(a_loop_comes_and_goes_with_a_mode),
      cmocka_unit_test(a_second_run_is_the_same),
      cmocka_unit_test(saved_states_know_their_structure),
      cmocka_unit_test(calculated_states_are_written_later),
      cmocka_unit_test(what_cannot_be_reset_is_made_anew),
      cmocka_unit_test(modes_of_variable_structure_are_refused),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
