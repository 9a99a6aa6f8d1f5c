// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The coupled pendulums against their monolithic references, and their impacts on walls.
#include "running.h"

static const char* const positions[] = {"left.x1", "left.x2", "right.x1", "right.x2"};
static const char* const angles[] = {"left.x1", "right.x1"};

static void prepare(const char* name) {
  copy_example(name);
  CHECK_INT(couplet("build %s/pendulum.c -o %s/pendulum.fmu", name, name), 0);
}

static cpl_table* reference_of(cpl_context* ctx, const char* name) {
  CHECK_INT(
      couplet("run %s/monolithic.c --rtol 1e-12 --atol 1e-12 --interval 0.05 -o reference.csv",
              name),
      0);
  return read_table(ctx, "reference.csv");
}

static double last_of(const cpl_table* t, const char* name) {
  return column(t, name)[t->n_rows - 1];
}

// The largest difference at t = 5.
static double error_at_end(const cpl_table* a, const cpl_table* b, const char* const* names,
                           size_t n) {
  double most = 0;
  CHECK_NEAR(a->time[a->n_rows - 1], 5, 0);
  CHECK_NEAR(b->time[b->n_rows - 1], 5, 0);
  for (size_t i = 0; i < n; i++)
    most = fmax(most, fabs(last_of(a, names[i]) - last_of(b, names[i])));
  return most;
}

static double error_of(cpl_context* ctx, const cpl_table* reference, const char* file, double tol,
                       const char* const* names, size_t n) {
  cpl_table* t = run_with(ctx, file, tol);
  double error = error_at_end(t, reference, names, n);
  cpl_table_destroy(t);
  return error;
}

static void check_tolerances(cpl_context* ctx, const cpl_table* reference, const char* file,
                             const char* const* names, size_t n) {
  double last = INFINITY;
  for (double tol = 1e-4; tol > 1e-11; tol /= 100) {
    double error = error_of(ctx, reference, file, tol, names, n);
    CHECK(error < 0.1 * last);
    last = error;
  }
  CHECK(last < 1e-7);
}

//------------------------------------ Cartesian ------------------------------------

static void cartesian_pendulums_meet_the_reference(void** state) {
  prepare("pendulums_cartesian");
  cpl_table* reference = reference_of(*state, "pendulums_cartesian");
  const char* files[] = {"pendulums_cartesian/pendulums_cartesian.yaml",
                         "pendulums_cartesian/fmus.yaml"};
  for (size_t k = 0; k < 2; k++) {
    CHECK_NEAR(error_of(*state, reference, files[k], 1e-9, positions, 4), 0, 1e-6);
    CHECK_NEAR(error_of(*state, reference, files[k], 1e-8, positions, 4), 0, 5e-5);
    check_tolerances(*state, reference, files[k], positions, 4);
  }
  cpl_table_destroy(reference);
}

static void the_reference_is_that_of_the_readme(void** state) {
  copy_example("pendulums_cartesian");
  cpl_table* t = reference_of(*state, "pendulums_cartesian");
  CHECK_NEAR(last_of(t, "left.x1"), -0.141146196, 1e-8);
  CHECK_NEAR(last_of(t, "left.x2"), -0.989988764, 1e-8);
  CHECK_NEAR(last_of(t, "right.x1"), 0.601440161, 1e-8);
  CHECK_NEAR(last_of(t, "right.x2"), -0.798917851, 1e-8);
  cpl_table_destroy(t);
}

//------------------------------------ polar ------------------------------------

static void polar_pendulums_meet_the_reference(void** state) {
  prepare("pendulums_polar");
  cpl_table *reference = reference_of(*state, "pendulums_polar"), *variants[3];
  const char* files[] = {"pendulums_polar/pendulums_polar.yaml", "pendulums_polar/fmus.yaml",
                         "pendulums_polar/mixed.yaml"};
  for (size_t k = 0; k < 3; k++) {
    variants[k] = run_with(*state, files[k], 1e-8);
    CHECK_INT(variants[k]->n_rows, reference->n_rows);
    for (size_t i = 0; i < reference->n_rows; i++) {
      for (size_t j = 0; j < 2; j++) {
        double angle = column(variants[k], angles[j])[i];
        CHECK_NEAR(angle, column(reference, angles[j])[i], 1e-6);
        CHECK_NEAR(angle, column(variants[0], angles[j])[i], 1e-9);
      }
    }
    check_tolerances(*state, reference, files[k], angles, 2);
  }
  for (size_t k = 0; k < 3; k++) cpl_table_destroy(variants[k]);
  cpl_table_destroy(reference);
}

// The same pendulums in other coordinates: x1 = sin(angle), x2 = -cos(angle).
static void both_coordinates_agree(void** state) {
  copy_example("pendulums_cartesian");
  copy_example("pendulums_polar");
  cpl_table *c = reference_of(*state, "pendulums_cartesian"),
            *p = reference_of(*state, "pendulums_polar");
  for (size_t i = 0; i < p->n_rows; i++) {
    CHECK_NEAR(column(c, "left.x1")[i], sin(column(p, "left.x1")[i]), 1e-7);
    CHECK_NEAR(column(c, "right.x2")[i], -cos(column(p, "right.x1")[i]), 1e-7);
  }
  cpl_table_destroy(c);
  cpl_table_destroy(p);
}

// Coupling costs no accuracy: the same tolerance gives the same numbers as the one model.
static void coupled_and_monolithic_give_the_same(void** state) {
  const char* names[] = {"pendulums_cartesian", "pendulums_polar"};
  for (size_t k = 0; k < 2; k++) {
    char path[256];
    copy_example(names[k]);
    snprintf(path, sizeof path, "%s/%s.yaml", names[k], names[k]);
    cpl_table* coupled = run_with(*state, path, 1e-8);
    snprintf(path, sizeof path, "%s/monolithic.c --interval 0.05", names[k]);
    cpl_table* one = run_with(*state, path, 1e-8);
    CHECK_INT(coupled->n_rows, one->n_rows);
    for (size_t i = 0; i < one->n_rows; i++) {
      CHECK_NEAR(column(coupled, "left.x1")[i], column(one, "left.x1")[i], 1e-9);
      CHECK_NEAR(column(coupled, "right.x1")[i], column(one, "right.x1")[i], 1e-9);
    }
    cpl_table_destroy(coupled);
    cpl_table_destroy(one);
  }
}

//------------------------------------ walls ------------------------------------

static void check_impacts(const cpl_table* t, const char* name, const double* times, int n) {
  const double* velocity = column(t, name);
  int k = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    bool impact = t->time[i] == t->time[i - 1] && velocity[i] == -velocity[i - 1];
    if (!impact || velocity[i] == 0) continue;
    CHECK(k < n);
    CHECK_NEAR(t->time[i], times[k++], 1e-6);
  }
  CHECK_INT(k, n);
}

static void pendulums_hit_the_walls_in_time(void** state) {
  const double left[] = {0.659317591, 1.982511897, 3.322012708, 4.684522176},
               right[] = {0.766784348, 2.307343090, 3.877467770};
  prepare("pendulums_cartesian");
  copy_example("pendulums_walls");
  const char* files[] = {"pendulums_walls/pendulums_walls.yaml", "pendulums_walls/fmus.yaml",
                         "pendulums_walls/monolithic.c"};
  for (size_t k = 0; k < 3; k++) {
    CHECK_INT(couplet("run %s --rtol 1e-10 --atol 1e-10 -o walls.csv", files[k]), 0);
    cpl_table* t = read_table(*state, "walls.csv");
    check_impacts(t, "left.x3", left, 4);
    check_impacts(t, "right.x3", right, 3);
    cpl_table_destroy(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cartesian_pendulums_meet_the_reference),
      cmocka_unit_test(the_reference_is_that_of_the_readme),
      cmocka_unit_test(polar_pendulums_meet_the_reference),
      cmocka_unit_test(both_coordinates_agree),
      cmocka_unit_test(coupled_and_monolithic_give_the_same),
      cmocka_unit_test(pendulums_hit_the_walls_in_time),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
