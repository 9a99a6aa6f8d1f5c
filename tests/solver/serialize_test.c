// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States of integrated models as bytes: with every method, in the middle of its steps, with inputs
// that are curves, and with an event that is pending.
#include "serialize.h"

enum { N = 60 };  // states: enough for sparse linear systems

// A chain of masses on springs that become stiffer, driven at its beginning, and a counter of
// events.
static int derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < N; i += 2) {
    double left = i > 0 ? v->x[i - 2] : v->u[0], right = i + 2 < N ? v->x[i + 2] : v->u[1];
    double a = left - v->x[i], b = right - v->x[i];
    dx[i] = v->x[i + 1];
    dx[i + 1] = 40 * (a + b) + 3 * (a * a * a + b * b * b) - 0.3 * v->x[i + 1];
  }
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 0.02;
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] != 0) a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .size = N, .start = 0.01}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {"end"}, {0}};
static const cpl_declaration discrete[] = {{"crossings", .type = CPL_INTEGER}, {0}};
static const cpl_model_def chain = {.name = "chain",
                                    .states = states,
                                    .inputs = inputs,
                                    .discrete = discrete,
                                    .n_indicators = 1,
                                    .derivatives = derivatives,
                                    .indicators = indicators,
                                    .event = event};

typedef struct made {
  cpl_context* ctx;
  cpl_source* source;
  cpl_stepper* s;
  cpl_component* c;
} made;

static made make(cpl_context* ctx, cpl_solver_kind kind, bool restarts) {
  made m = {.ctx = ctx};
  cpl_model* model = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = kind, solver.rtol = 1e-6;
  solver.saves_states = true, solver.restart_each_step = restarts;
  if (kind == CPL_SOLVER_RK4 || kind == CPL_SOLVER_EULER || kind == CPL_SOLVER_HEUN)
    solver.step = 1.0 / 512;
  CHECK_OK(ctx, cpl_c_define(ctx, &chain, &m.source));
  CHECK_OK(ctx, cpl_source_make_model(m.source, "chain", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &m.s));
  m.c = cpl_stepper_component(m.s);
  CHECK(cpl_component_capabilities(m.c).serialize);
  return m;
}

static void drop(made* m) {
  cpl_stepper_destroy(m->s);
  cpl_source_destroy(m->source);
}

static uint32_t ref_of(const made* m, const char* name) {
  const cpl_description* d = cpl_component_description(m->c);
  return d->vars[cpl_find_variable(d, name)].ref;
}

static void begin(made* m) {
  cpl_setup setup = cpl_default_setup();
  setup.has_stop_time = true, setup.stop_time = 2;
  CHECK_OK(m->ctx, cpl_component_setup(m->c, &setup));
  CHECK_OK(m->ctx, cpl_component_enter_init(m->c));
  CHECK_OK(m->ctx, cpl_component_exit_init(m->c));
}

enum { ROWS = 5, COLUMNS = N + 4 };

static void advance(made* m, double to) {
  cpl_step_result r;
  do CHECK_OK(m->ctx, cpl_stepper_step(m->s, to, 2, &r));
  while (r.time < to || r.end == CPL_STEP_EVENT);
}

static void record(made* m, double from, double rows[ROWS][COLUMNS]) {
  const cpl_description* d = cpl_component_description(m->c);
  memset(rows, 0, ROWS * sizeof *rows);
  for (int k = 0; k < ROWS; k++) {
    advance(m, from + 0.117 * (k + 1));
    for (int i = 0; i < N; i++)
      CHECK_OK(m->ctx, cpl_component_get_real(m->c, &d->vars[d->states[i]].ref, 1, &rows[k][i]));
    int64_t n = 0;
    uint32_t crossings = ref_of(m, "crossings"), u = ref_of(m, "u");
    CHECK_OK(m->ctx, cpl_component_get_integer(m->c, CPL_INTEGER, &crossings, 1, &n));
    CHECK_OK(m->ctx, cpl_component_get_real(m->c, &u, 1, &rows[k][N]));
    rows[k][N + 1] = (double)n;
  }
}

static const cpl_curve rising = {.from = 0.1, .order = 2, .coefficient = {0.01, 0.3, -0.1}};

static double wave(const void* user, double t) { return *(const double*)user * sin(5 * t); }
static const double amplitude = 0.07;
static const cpl_curve function = {.value = wave, .user = &amplitude};

static void compare(cpl_context* ctx, cpl_solver_kind kind, bool restarts) {
  double one[ROWS][COLUMNS], two[ROWS][COLUMNS], three[ROWS][COLUMNS];
  cpl_snapshot saved = {0};
  made a = make(ctx, kind, restarts);
  begin(&a);
  CHECK_OK(ctx, cpl_stepper_set_curve(a.s, ref_of(&a, "u"), &rising));
  CHECK_OK(ctx, cpl_stepper_set_curve(a.s, ref_of(&a, "end"), &function));
  advance(&a, 0.6131);
  CHECK_OK(ctx, cpl_component_save(a.c, &saved));
  cpl_binary bytes = state_bytes(ctx, a.c, &saved);
  record(&a, 0.6131, one);
  CHECK_OK(ctx, cpl_component_restore(a.c, &saved));
  record(&a, 0.6131, two);
  for (int k = 0; k < ROWS; k++) {  // another sequence of steps, but the same solution
    for (int i = 0; i < N + 1; i++)
      CHECK_NEAR(two[k][i], one[k][i], kind == CPL_SOLVER_EULER ? 2e-2 : 1e-3);
  }
  cpl_component_forget(a.c, &saved);
  drop(&a);

  made b = make(ctx, kind, restarts);
  CHECK_OK(ctx, cpl_component_deserialize(b.c, &bytes, &saved));
  CHECK_INT(cpl_component_restore(b.c, &saved), CPL_ERR_INPUT);  // a function is not in the bytes
  CHECK_CONTAINS(cpl_context_error(ctx), "end was a function of time");
  CHECK_OK(ctx, cpl_stepper_set_curve(b.s, ref_of(&b, "end"), &function));
  CHECK_OK(ctx, cpl_component_restore(b.c, &saved));
  record(&b, 0.6131, three);
  CHECK(memcmp(two, three, sizeof two) == 0);
  CHECK_OK(ctx, cpl_component_restore(b.c, &saved));  // again
  record(&b, 0.6131, three);
  CHECK(memcmp(two, three, sizeof two) == 0);
  cpl_component_forget(b.c, &saved);
  free((void*)bytes.data);
  drop(&b);
}

static void every_method_continues(void** state) {
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_IDA,   CPL_SOLVER_RK4,
                                          CPL_SOLVER_EULER,  CPL_SOLVER_HEUN};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) compare(*state, kinds[i], false);
  compare(*state, CPL_SOLVER_CVODE, true);
}

// An input that was set, and whose event has not been handled yet.
static void a_pending_event_survives(void** state) {
  cpl_context* ctx = *state;
  double two[ROWS][COLUMNS], three[ROWS][COLUMNS];
  cpl_snapshot saved = {0};
  const double jump = 0.4;
  made a = make(ctx, CPL_SOLVER_CVODE, false), b = make(ctx, CPL_SOLVER_CVODE, false);
  uint32_t u = ref_of(&a, "u");
  begin(&a);
  advance(&a, 0.3);
  CHECK_OK(ctx, cpl_component_set_real(a.c, &u, 1, &jump));
  CHECK_OK(ctx, cpl_component_save(a.c, &saved));
  cpl_binary bytes = state_bytes(ctx, a.c, &saved);
  CHECK_OK(ctx, cpl_component_restore(a.c, &saved));
  record(&a, 0.3, two);
  cpl_component_forget(a.c, &saved);
  CHECK_OK(ctx, cpl_component_deserialize(b.c, &bytes, &saved));
  CHECK_OK(ctx, cpl_component_restore(b.c, &saved));
  record(&b, 0.3, three);
  CHECK(memcmp(two, three, sizeof two) == 0 && two[0][N] == 0.4);
  cpl_component_forget(b.c, &saved);
  check_bad_bytes(ctx, b.c, &bytes);
  free((void*)bytes.data);
  drop(&a);
  drop(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_continues),
      cmocka_unit_test(a_pending_event_survives),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
