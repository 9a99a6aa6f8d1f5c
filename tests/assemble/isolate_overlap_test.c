// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of models in processes of their own overlap, although one thread makes them: each of these
// models returns from a call only when all the others are in the same one.
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "couplet/aggregate.h"
#include "couplet/component.h"
#include "couplet/isolate.h"
#include "couplet/master.h"
#include "couplet/solver.h"
#include "models.h"

enum { N = 5 };

// Shared by all processes: how many calls each has begun.
typedef struct meeting {
  atomic_int on;
  atomic_int begun[N];
  atomic_int missed;
} meeting;
static meeting* place;

// Number k of the model is its parameter.
static void meet(int k) {
  if (!atomic_load(&place->on)) return;
  const int mine = atomic_fetch_add(&place->begun[k], 1) + 1;
  for (int i = 0; i < N; i++) {
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (atomic_load(&place->begun[i]) < mine && !atomic_load(&place->missed)) {
      sched_yield();
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_sec > began.tv_sec + 60) atomic_store(&place->missed, 1);
    }
  }
}

static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {"v"}, END_OF_LIST};
static const cpl_declaration inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration parameters[] = {{"k"}, END_OF_LIST};

static int derivatives(const cpl_values* v, double* dx) {
  meet((int)v->p[0]);
  dx[0] = v->x[1];
  dx[1] = (v->p[0] + 2) * (v->u[0] - v->x[0]) - 0.1 * v->x[1];
  return CPL_MODEL_OK;
}

static const cpl_model_def mass = {.name = "mass",
                                   .states = states,
                                   .inputs = inputs,
                                   .parameters = parameters,
                                   .derivatives = derivatives};

static cpl_source* open_masses(cpl_context* ctx, bool isolated) {
  cpl_source *source = NULL, *apart = NULL;
  cpl_context_use_threads(ctx, 1);
  CHECK_OK(ctx, cpl_c_define(ctx, &mass, &source));
  if (!isolated) return source;
  CHECK_OK(ctx, cpl_isolate(source, NULL, &apart));
  return apart;
}

static cpl_model* make_mass(cpl_source* source, int k) {
  cpl_model* m = NULL;
  char name[8];
  const double number = k;
  snprintf(name, sizeof name, "m%d", k);
  CHECK_OK(source->ctx, cpl_source_make_model(source, name, &m));
  const uint32_t ref = source->desc->vars[cpl_find_variable(source->desc, "k")].ref;
  CHECK_OK(source->ctx, m->base.ops->set_real(&m->base, &ref, 1, &number));
  return m;
}

//------------------------------------ an aggregate ------------------------------------

// A ring: u of each is x of the one before.
static cpl_model* make_ring(cpl_source* source) {
  cpl_model *parts[N], *ring = NULL;
  cpl_coupling couplings[N];
  for (int i = 0; i < N; i++) {
    parts[i] = make_mass(source, i);
    couplings[i] =
        (cpl_coupling){.target = {i, cpl_find_variable(source->desc, "u")},
                       .source = {(i + N - 1) % N, cpl_find_variable(source->desc, "x")}};
  }
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "ring",
                           .parts = parts,
                           .n_parts = N,
                           .couplings = couplings,
                           .n_couplings = N};
  CHECK_OK(source->ctx, cpl_aggregate(source->ctx, &def, &ring));
  return ring;
}

static void start_meeting(void) {
  memset(place, 0, sizeof *place);
  atomic_store(&place->on, 1);
}

static void end_meeting(int calls) {
  CHECK_INT(atomic_load(&place->missed), 0);
  for (int i = 0; i < N; i++) CHECK(atomic_load(&place->begun[i]) >= calls);
  atomic_store(&place->on, 0);
}

static void models_of_an_aggregate(void** state) {
  (void)state;
  for (int isolated = 0; isolated < 2; isolated++) {
    cpl_context* ctx = cpl_context_create(NULL);
    cpl_source* source = open_masses(ctx, isolated);
    cpl_model* ring = make_ring(source);
    cpl_setup setup = cpl_default_setup();
    bool again = true;
    CHECK_OK(ctx, cpl_component_setup(&ring->base, &setup));
    CHECK_OK(ctx, cpl_component_enter_init(&ring->base));
    CHECK_OK(ctx, cpl_component_exit_init(&ring->base));
    while (again) {
      cpl_event_info info = {0};
      CHECK_OK(ctx, cpl_model_event_update(ring, &info));
      again = info.again;
    }
    CHECK_OK(ctx, cpl_model_enter_continuous(ring));
    if (isolated) start_meeting();
    for (int step = 0; step < 20; step++) {
      double x[2 * N], dx[2 * N];
      for (int i = 0; i < 2 * N; i++) x[i] = sin(i + 0.1 * step);
      CHECK_OK(ctx, cpl_model_set_time(ring, 0.1 * step));
      CHECK_OK(ctx, cpl_model_set_states(ring, x));
      CHECK_OK(ctx, cpl_model_get_derivatives(ring, dx));
      for (int i = 0; i < N; i++) {
        const double u = x[2 * ((i + N - 1) % N)];
        CHECK(dx[2 * i] == x[2 * i + 1]);
        CHECK(dx[2 * i + 1] == (i + 2.) * (u - x[2 * i]) - 0.1 * x[2 * i + 1]);
      }
    }
    if (isolated) end_meeting(20);
    cpl_model_destroy(ring);
    cpl_source_destroy(source);
    cpl_context_destroy(ctx);
  }
}

//------------------------------------ a master ------------------------------------

// Each is integrated by itself, which is a composed stepper; the result of a step, bit for bit.
static void steppers_of_a_master(void** state) {
  (void)state;
  double results[2][N];
  for (int isolated = 0; isolated < 2; isolated++) {
    cpl_context* ctx = cpl_context_create(NULL);
    cpl_source* source = open_masses(ctx, isolated);
    cpl_master_part parts[N];
    cpl_master_link links[N];
    const int32_t u = cpl_find_variable(source->desc, "u"),
                  x = cpl_find_variable(source->desc, "x");
    for (int i = 0; i < N; i++) {
      cpl_solver_def solver = cpl_default_solver_def();
      solver.kind = CPL_SOLVER_RK4;
      solver.step = 0.01;
      parts[i] = (cpl_master_part){0};
      CHECK_OK(ctx, cpl_integrate(make_mass(source, i), &solver, &parts[i].stepper));
      links[i] = (cpl_master_link){
          .source_part = (i + N - 1) % N, .source_var = x, .target_part = i, .target_var = u};
    }
    cpl_master_def def = cpl_default_master_def();
    cpl_stepper* whole = NULL;
    def.name = "ring";
    def.parts = parts, def.n_parts = N;
    def.links = links, def.n_links = N;
    def.step = 0.1;
    CHECK_OK(ctx, cpl_master(ctx, &def, &whole));
    cpl_setup setup = cpl_default_setup();
    cpl_step_result r;
    CHECK_OK(ctx, cpl_component_setup(&whole->base, &setup));
    CHECK_OK(ctx, cpl_component_enter_init(&whole->base));
    CHECK_OK(ctx, cpl_component_exit_init(&whole->base));
    if (isolated) start_meeting();
    for (int step = 1; step <= 5; step++)
      CHECK_OK(ctx, cpl_stepper_step(whole, 0.1 * step, 0.1 * step, &r));
    if (isolated) end_meeting(5 * 10 * 4);
    for (int i = 0; i < N; i++) {
      char name[16];
      snprintf(name, sizeof name, "m%d.x", i);
      const int32_t v = cpl_find_variable(whole->base.desc, name);
      CHECK(v >= 0);
      CHECK_OK(ctx, whole->base.ops->get_real(&whole->base, &whole->base.desc->vars[v].ref, 1,
                                              &results[isolated][i]));
    }
    cpl_stepper_destroy(whole);
    cpl_source_destroy(source);
    cpl_context_destroy(ctx);
  }
  for (int i = 0; i < N; i++) CHECK(results[0][i] == results[1][i]);
}

int main(void) {
  place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(place != MAP_FAILED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_of_an_aggregate),
      cmocka_unit_test(steppers_of_a_master),
  };
  return cmocka_run_group_tests_name("assemble/isolate_overlap", tests, NULL, NULL);
}
