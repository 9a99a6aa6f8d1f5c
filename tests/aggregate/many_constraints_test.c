// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Many constraints with IDA: points on circles, each as fast as the one before it says. The angles
// are integrated here with RK4.
#include "models.h"

enum { MOST = 400 };
static const double follow = 0.3;

// x' = -w y, y' = w x with w = 1 + follow u
static int point_derivatives(const cpl_values* v, double* dx) {
  double w = 1 + follow * v->u[0];
  dx[0] = -w * v->x[1];
  dx[1] = w * v->x[0];
  return CPL_MODEL_OK;
}
static int point_constraints(const cpl_values* v, double* c) {
  c[0] = v->x[0] * v->x[0] + v->x[1] * v->x[1] - 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration point_states[] = {
    {"x", .start = 1, .output = true}, {"y", .output = true}, END_OF_LIST};
static const cpl_declaration point_inputs[] = {{"u"}, END_OF_LIST};
static const cpl_model_def point_model = {.name = "point",
                                          .states = point_states,
                                          .inputs = point_inputs,
                                          .derivatives = point_derivatives,
                                          .n_constraints = 1,
                                          .constraints = point_constraints};

static void slopes(int n, const double* a, double* da) {
  for (int i = 0; i < n; i++) da[i] = 1 + (i > 0 ? follow * sin(a[i - 1]) : 0);
}

static void exact(int n, double stop, double* a) {
  enum { STEPS = 1000 };
  double h = stop / STEPS, k[4][MOST], at[MOST];
  memset(a, 0, (size_t)n * sizeof *a);
  for (int s = 0; s < STEPS; s++) {
    for (int j = 0; j < 4; j++) {
      for (int i = 0; i < n; i++) at[i] = a[i] + (j == 0 ? 0 : (j == 3 ? h : h / 2) * k[j - 1][i]);
      slopes(n, at, k[j]);
    }
    for (int i = 0; i < n; i++) a[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
}

// A heap that knows how much it gave away.
typedef struct counted {
  size_t now, most;
} counted;

static void* count_realloc(void* user, void* ptr, size_t size) {
  counted* heap = user;
  enum { HEAD = 16 };
  char* old = ptr != NULL ? (char*)ptr - HEAD : NULL;
  size_t before = 0;
  if (old != NULL) memcpy(&before, old, sizeof before);
  if (size == 0) {
    heap->now -= before;
    free(old);
    return NULL;
  }
  char* new = realloc(old, size + HEAD);
  if (new == NULL) return NULL;
  memcpy(new, &size, sizeof size);
  heap->now += size - before;
  if (heap->now > heap->most) heap->most = heap->now;
  return new + HEAD;
}

// Compares the last point's y with its angle. Returns the memory that was needed.
static size_t run(int n, double rtol) {
  counted heap = {0};
  cpl_context_def context = cpl_default_context_def();
  context.realloc = count_realloc;
  context.user = &heap;
  cpl_context* ctx = cpl_context_create(&context);
  cpl_source *point = NULL, *system = NULL;
  cpl_system_def* def = NULL;
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &point_model, &point));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  for (int i = 0; i < n; i++) {
    char name[16], target[16], source[16];
    cpl_member_def member = cpl_default_member_def();
    snprintf(name, sizeof name, "p%d", i);
    member.name = name;
    member.source = point;
    CHECK_OK(ctx, cpl_system_def_add_model(def, &member));
    snprintf(target, sizeof target, "p%d.u", i);
    snprintf(source, sizeof source, "p%d.y", i - 1);
    if (i > 0) CHECK_OK(ctx, cpl_system_def_connect(def, target, source));
  }
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  CHECK_OK(ctx, system->ops->make_model(system, "s", &m));
  char last[16];
  snprintf(last, sizeof last, "p%d.y", n - 1);
  const char* const record[] = {last, "p0.x", "p0.y"};
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = CPL_SOLVER_IDA;
  solver.rtol = solver.atol = rtol;
  solver.projection = CPL_PROJECT_EVERY_STEP;
  recording* r = recording_by(ctx, m, 3, &solver, record, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  double a[MOST];
  exact(n, 3, a);
  CHECK_NEAR(last_of(r)[0], sin(a[n - 1]), 100 * rtol);
  CHECK_NEAR(hypot(last_of(r)[1], last_of(r)[2]), 1, 10 * rtol);
  drop_run(r);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  point->ops->destroy(point);
  cpl_context_destroy(ctx);
  CHECK_INT(heap.now, 0);
  return heap.most;
}

static void errors_follow_the_tolerance(void** state) {
  (void)state;
  for (double rtol = 1e-4; rtol > 1e-9; rtol *= 1e-2) run(20, rtol);
}

static void memory_grows_with_the_number(void** state) {
  (void)state;
  size_t few = run(MOST / 4, 1e-5), many = run(MOST, 1e-5);
  CHECK(many < 5 * few);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_follow_the_tolerance),
                                     cmocka_unit_test(memory_grows_with_the_number)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
