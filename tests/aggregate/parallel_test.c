// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models of an aggregate in several threads, and many by one call (cpl_model_ops.evaluate, which
// one thread uses where models are of one kind). The models remember their calls, so that results
// have the same bits only where each gets the same calls, in the same order, for any number of
// threads.
#include <pthread.h>
#include <signal.h>

#include "models.h"

enum { N = 11 };

// y = x + u / 10, x' = ...; counts its calls, asks for another point now and then, and adds the
// number of calls to its derivative.
typedef struct memory {
  double calls, events;
} memory;

static int derivatives(const cpl_values* v, double* dx) {
  memory* m = v->memory;
  m->calls += 1;
  dx[0] = v->p[0] * (v->u[0] - v->x[0]) + 1e-9 * m->calls;
  const int number = (int)m->calls;
  const bool retries =
      v->p[1] > 0 && m->events == 0 && v->t > 0.2 && number % 89 == 17 + (int)v->p[0];
  return retries ? CPL_MODEL_RETRY : CPL_MODEL_OK;
}

static int outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0] + 0.1 * v->u[0];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = sin(3 * v->t + v->p[0]) + v->x[0];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  memory* m = v->memory;
  m->events += 1;
  if (a->crossed[0] != 0) a->x[0] += 1e-3 * m->events;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_declaration inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration output_list[] = {{"y"}, END_OF_LIST};
static const cpl_declaration parameters[] = {{"k", .start = 1}, {"retries"}, END_OF_LIST};
static const cpl_model_def with_memory = {.name = "with memory",
                                          .states = states,
                                          .inputs = inputs,
                                          .outputs = output_list,
                                          .parameters = parameters,
                                          .memory_size = sizeof(memory),
                                          .n_indicators = 1,
                                          .derivatives = derivatives,
                                          .output_values = outputs,
                                          .indicators = indicators,
                                          .event = event};

static int32_t variable(const cpl_model* m, const char* name) {
  const int32_t i = cpl_find_variable(m->base.desc, name);
  CHECK(i >= 0);
  return i;
}

static bool one_by_one;  // models do without cpl_model_ops.evaluate

static void take_evaluate(cpl_model* m) {
  static cpl_model_ops rest;  // all models have the same table
  CHECK(m->ops->evaluate != NULL);
  rest = *m->ops;
  rest.evaluate = NULL;
  m->ops = &rest;
}

// A chain with feed-through, which has as many levels as models; models with one level; and ones
// without couplings, which get solvers of their own. Model 4 is made of `other`.
typedef enum shape { CHAIN, LEVEL, ALONE, SHAPES } shape;

static cpl_model* make(cpl_context* ctx, cpl_source* src, cpl_source* other, shape form,
                       bool retries) {
  cpl_model* parts[N];
  cpl_coupling couplings[N];
  memset(couplings, 0, sizeof couplings);
  for (int i = 0; i < N; i++) {
    char name[8];
    snprintf(name, sizeof name, "m%02d", i);
    CHECK_OK(ctx, cpl_source_make_model(i == 4 && other != NULL ? other : src, name, &parts[i]));
    if (one_by_one) take_evaluate(parts[i]);
    const cpl_variable* vars = parts[i]->base.desc->vars;
    const uint32_t refs[] = {vars[variable(parts[i], "k")].ref,
                             vars[variable(parts[i], "retries")].ref};
    const double values[] = {1 + i % 5, retries};
    CHECK_OK(ctx, cpl_component_set_real(&parts[i]->base, refs, 2, values));
  }
  const int32_t u = variable(parts[0], "u"), x = variable(parts[0], "x");
  const int32_t y = variable(parts[0], "y");
  for (int i = 0; i < N; i++) {
    couplings[i].target = (cpl_port){i, u};
    couplings[i].source =
        form == CHAIN && i > 0 ? (cpl_port){i - 1, y} : (cpl_port){(i + 3) % N, x};
    couplings[i].factor = 0.5;
  }
  cpl_aggregate_def def = cpl_default_aggregate_def();
  def.name = "many", def.parts = parts, def.n_parts = N;
  def.couplings = couplings, def.n_couplings = form == ALONE ? 0 : N;
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &m));
  return m;
}

typedef struct result {
  uint64_t hash;
  int64_t rows, events;
  cpl_status st;
} result;

static cpl_status mix(void* user, double t, const cpl_value* values) {
  result* r = user;
  uint64_t bits[2];
  memcpy(&bits[0], &t, sizeof t);
  memcpy(&bits[1], &values[0].real, sizeof bits[1]);
  for (int i = 0; i < 2; i++) r->hash = (r->hash ^ bits[i]) * UINT64_C(0x9E3779B97F4A7C15);
  r->rows++;
  return CPL_OK;
}

static result run(cpl_context* ctx, cpl_model* m, cpl_solver_kind solver) {
  static const char* const record[] = {"m00.x"};
  cpl_solver_def how = cpl_default_solver_def();
  how.kind = solver;
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, cpl_integrate(m, &how, &s));
  result r = {.hash = 1};
  cpl_run_def def = cpl_default_run_def();
  cpl_run_stats stats;
  def.stop_time = 3, def.interval = 0.1, def.record = record, def.n_record = 1;
  def.on_point = mix, def.user = &r;
  r.st = cpl_run(s, &def, &stats);
  r.events = stats.solver.state_events;
  cpl_stepper_destroy(s);
  return r;
}

// Models that ask for other points have no events, apart from model 4.
static void calls_are_those_of_one_thread(void** state) {
  cpl_model_def plain = with_memory;
  int n_complete = 0;
  plain.n_indicators = 0, plain.indicators = NULL, plain.event = NULL;
  static const cpl_solver_kind solvers[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RADAU, CPL_SOLVER_ERK8,
                                            CPL_SOLVER_IDA};
  for (int kind = 0; kind < 2 * SHAPES * 4; kind++) {
    const bool retries = kind % 2 == 1;
    const shape form = (shape)(kind / 2 % SHAPES);
    result first = {0};
    for (int32_t threads = 0; threads <= 8; threads++) {
      cpl_source *src = NULL, *with_events = NULL;
      one_by_one = threads == 0;
      cpl_context_use_threads(*state, threads > 0 ? threads : 1);
      CHECK_OK(*state, cpl_c_define(*state, retries ? &plain : &with_memory, &src));
      CHECK_OK(*state, cpl_c_define(*state, &with_memory, &with_events));
      cpl_source* other = retries && form == ALONE ? with_events : src;
      cpl_model* m = make(*state, src, other, form, retries);
      one_by_one = false;
      const result r = run(*state, m, solvers[kind / (2 * SHAPES)]);
      cpl_source_destroy(src);
      cpl_source_destroy(with_events);
      if (threads == 0) first = r;
      n_complete += r.st == CPL_OK && r.rows > 30 && (retries || r.events > 5);
      CHECK_INT(r.st, first.st);
      CHECK_INT(r.rows, first.rows);
      CHECK_INT(r.events, first.events);
      CHECK(r.hash == first.hash);
    }
  }
  CHECK(n_complete > 9 * 15);  // some give up after too many refused points
}

//------------------------------------ the caller's thread ------------------------------------

static pthread_t caller;
static int strangers, visits;

static int at_home(const cpl_values* v, double* dx) {
  if (v->user == NULL || !pthread_equal(pthread_self(), caller)) strangers++;
  visits++;
  dx[0] = v->u[0] - v->x[0];
  return CPL_MODEL_OK;
}

// Functions of a model that share data of the program.
static void models_with_shared_data_stay(void** state) {
  cpl_model_def def = with_memory;
  def.derivatives = at_home;
  def.n_indicators = 0, def.indicators = NULL, def.event = NULL;
  caller = pthread_self();
  for (int32_t threads = 1; threads <= 4; threads++) {
    cpl_source *src = NULL, *own = NULL;
    strangers = visits = 0;
    cpl_context_use_threads(*state, threads);
    CHECK_OK(*state, cpl_c_define(*state, &with_memory, &src));
    CHECK_OK(*state, cpl_c_define_version(*state, &def, CPL_MODEL_VERSION, &caller, &own));
    cpl_model* m = make(*state, src, own, LEVEL, false);
    CHECK(m->base.can.own_thread);
    run(*state, m, CPL_SOLVER_CVODE);
    cpl_source_destroy(src);
    cpl_source_destroy(own);
    CHECK(visits > 50);
    CHECK_INT(strangers, 0);
  }
}

//------------------------------------ failures ------------------------------------

static int fails(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  const bool late = v->t > 1 && (v->p[0] == 3 || v->p[0] == 5);
  return late ? cpl_model_error(v, "it is worn out") : CPL_MODEL_OK;
}

static int crashes(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  if (v->t > 1 && (v->p[0] == 3 || v->p[0] == 5)) raise(SIGSEGV);
  return CPL_MODEL_OK;
}

static void check_name(void** state, int (*derivatives_of)(const cpl_values*, double*),
                       const char* why) {
  cpl_model_def def = with_memory;
  def.derivatives = derivatives_of;
  for (int32_t threads = 1; threads <= 8; threads++) {
    cpl_source* src = NULL;
    cpl_stepper* s = NULL;
    cpl_context_use_threads(*state, threads);
    CHECK_OK(*state, cpl_c_define(*state, &def, &src));
    cpl_solver_def how = cpl_default_solver_def();
    CHECK_OK(*state, cpl_integrate(make(*state, src, NULL, LEVEL, false), &how, &s));
    cpl_run_def run_def = cpl_default_run_def();
    run_def.stop_time = 3;
    CHECK_INT(cpl_run(s, &run_def, NULL), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(*state), "m02");
    CHECK_CONTAINS(cpl_context_error(*state), "derivatives");
    CHECK_CONTAINS(cpl_context_error(*state), why);
    assert_string_equal(cpl_context_last_error(*state)->component, "m02");
    cpl_stepper_destroy(s);
    cpl_source_destroy(src);
  }
}

static void the_first_model_is_named(void** state) { check_name(state, fails, "it is worn out"); }

static void the_model_that_crashes_is_named(void** state) {
  cpl_guard_crashes();
  check_name(state, crashes, "SIGSEGV");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_are_those_of_one_thread),
      cmocka_unit_test(models_with_shared_data_stay),
      cmocka_unit_test(the_first_model_is_named),
      cmocka_unit_test(the_model_that_crashes_is_named),
  };
  return cmocka_run_group_tests_name("aggregate/parallel", tests, make_context, drop_context);
}
