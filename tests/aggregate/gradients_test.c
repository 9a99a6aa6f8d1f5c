// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints between neighbours in a ring of points that turn about a centre, x' = -y, y' = x:
// their distances stay, and every gradient has four entries, also where the ring is a part of a
// system.
#include "base/base.h"
#include "couplet/aggregate.h"
#include "models.h"

enum { POINTS = 40 };

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[1];
  dx[1] = v->x[0];
  return CPL_MODEL_OK;
}
static double square(const cpl_values* v) {
  double a = v->x[0] - v->u[0], b = v->x[1] - v->u[1];
  return a * a + b * b;
}
static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = square(v);
  a->w[1] = v->x[0] * v->x[0] + v->x[1] * v->x[1];
  return CPL_MODEL_OK;
}
static int constraints(const cpl_values* v, double* c) {
  c[0] = square(v) - v->w[0];
  c[1] = v->x[0] * v->x[0] + v->x[1] * v->x[1] - v->w[1];
  return CPL_MODEL_OK;
}
static int active(const cpl_values* v) { return (int)v->p[0]; }
static const cpl_declaration states[] = {{"x", .output = true}, {"y", .output = true}, END_OF_LIST};
static const cpl_declaration inputs[] = {{"px"}, {"py"}, END_OF_LIST};
static const cpl_declaration parameters[] = {{"n", .start = 2, .type = CPL_INTEGER}, END_OF_LIST};
static const cpl_declaration discrete[] = {{"distance"}, {"radius"}, END_OF_LIST};
static const cpl_model_def point_model = {.name = "point",
                                          .states = states,
                                          .inputs = inputs,
                                          .parameters = parameters,
                                          .discrete = discrete,
                                          .derivatives = derivatives,
                                          .initialize = initialize,
                                          .n_constraints = 2,
                                          .active_constraints = active,
                                          .constraints = constraints};

static double start_of(int i, int axis) {
  double angle = 2.4 * i, radius = 1 + 0.03 * i;
  return radius * (axis == 0 ? cos(angle) : sin(angle));
}

// number: constraints of each point.
static cpl_model* make_ring(cpl_context* ctx, cpl_source* source, int number) {
  static char names[POINTS][8];
  cpl_model* parts[POINTS];
  cpl_coupling couplings[2 * POINTS];
  for (int i = 0; i < POINTS; i++) {
    snprintf(names[i], sizeof names[i], "p%02d", i);
    CHECK_OK(ctx, source->ops->make_model(source, names[i], &parts[i]));
    const cpl_description* d = parts[i]->base.desc;
    for (int k = 0; k < 2; k++) {
      int32_t state = cpl_find_variable(d, k == 0 ? "x" : "y");
      double value = start_of(i, k);
      CHECK_OK(ctx, parts[i]->base.ops->set_real(&parts[i]->base, &d->vars[state].ref, 1, &value));
      couplings[2 * i + k] =
          (cpl_coupling){.target = {i, cpl_find_variable(d, k == 0 ? "px" : "py")},
                         .source = {(i + 1) % POINTS, state},
                         .factor = 1};
    }
    int64_t n = number;
    uint32_t ref = d->vars[cpl_find_variable(d, "n")].ref;
    CHECK_OK(ctx, parts[i]->base.ops->set_integer(&parts[i]->base, CPL_INTEGER, &ref, 1, &n));
  }
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "ring",
                           .parts = parts,
                           .n_parts = POINTS,
                           .couplings = couplings,
                           .n_couplings = 2 * POINTS};
  cpl_model* ring = NULL;
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &ring));
  return ring;
}

static cpl_model* make_outer(cpl_context* ctx, cpl_model* ring) {
  cpl_aggregate_def def = {.size = sizeof def, .name = "outer", .parts = &ring, .n_parts = 1};
  cpl_model* outer = NULL;
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &outer));
  return outer;
}

static void start(cpl_context* ctx, cpl_model* m) {
  cpl_setup setup = {.start_time = 0};
  cpl_event_info info = {.again = true};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  while (info.again) {
    info.again = false;
    CHECK_OK(ctx, m->ops->event_update(m, &info));
  }
  CHECK_OK(ctx, m->ops->enter_continuous(m));
}

static void gradients_have_few_entries(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &point_model, &source));
  for (int nested = 0; nested < 2; nested++) {
    cpl_model* m = make_ring(ctx, source, 2);
    if (nested == 1) m = make_outer(ctx, m);
    start(ctx, m);
    size_t n = 0;
    const int32_t *first = NULL, *column = NULL;
    double x[2 * POINTS], entries[8 * POINTS];
    CHECK_OK(ctx, m->ops->constraints->count(m, &n));
    CHECK_INT(n, 2 * POINTS);
    CHECK_OK(ctx, m->ops->constraints->pattern(m, &first, &column));
    CHECK_INT(first[n], 8 * POINTS);
    CHECK_OK(ctx, m->ops->get_states(m, x));
    CHECK_OK(ctx, m->ops->constraints->entries(m, entries));
    for (int i = 0; i < POINTS; i++) {
      int other = (i + 1) % POINTS;
      for (int32_t e = first[2 * i]; e < first[2 * i + 2]; e++) {
        int point = column[e] / 2, axis = column[e] % 2;
        double difference = 2 * (x[2 * i + axis] - x[2 * other + axis]);
        bool radius = e >= first[2 * i + 1];
        double exact = radius       ? 2 * x[2 * i + axis] * (point == i)
                       : point == i ? difference
                                    : -difference;
        CHECK(point == i || point == other);
        CHECK_NEAR(entries[e], exact, 1e-6);
      }
    }
    m->base.ops->destroy(&m->base);
  }
  source->ops->destroy(source);
}

// 2 constraints of each have one too many: all but a rotation is determined.
static void a_ring_keeps_its_shape(void** state) {
  cpl_context* ctx = *state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5,
                                          CPL_SOLVER_IDA};
  static const char* const record[] = {"p00.x", "p00.y", "p01.x", "p01.y", "p39.x", "p39.y"};
  cpl_source* source = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &point_model, &source));
  for (size_t k = 0; k < 2 * CPLI_COUNT(kinds); k++) {
    cpl_solver_def solver = cpl_default_solver_def();
    solver.kind = kinds[k / 2];
    solver.rtol = 1e-6;
    if (solver.kind != CPL_SOLVER_IDA) solver.projection = CPL_PROJECT_EVERY_STEP;
    recording* r = recording_by(ctx, make_ring(ctx, source, 1 + (int)k % 2), 5, &solver, record, 6);
    CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
    for (int j = 0; j < 3; j++) {
      int i = j < 2 ? j : 39;
      double x = start_of(i, 0) * cos(5) - start_of(i, 1) * sin(5);
      CHECK_NEAR(last_of(r)[2 * (j < 2 ? j : 2)], x, 2e-3);
    }
    double a = last_of(r)[0] - last_of(r)[2], b = last_of(r)[1] - last_of(r)[3];
    double c = start_of(0, 0) - start_of(1, 0), d = start_of(0, 1) - start_of(1, 1);
    CHECK_NEAR(a * a + b * b, c * c + d * d, 1e-9);
    drop_run(r);
  }
  source->ops->destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_have_few_entries),
      cmocka_unit_test(a_ring_keeps_its_shape),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
