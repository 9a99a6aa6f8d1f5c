// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Components of hybrid co-simulation against the values in superdense time that their README
// derives: the same for steppers at any communication step and for one aggregate.
#include "running.h"

enum { LEFT, RIGHT };  // of an instant: its first and its last row

typedef struct expected {
  double t;
  int side;
  const char* name;
  double value;
} expected;

static double value_at(const cpl_table* t, const expected* e) {
  const double* values = column(t, e->name);
  double found = NAN;
  for (size_t i = 0; i < t->n_rows; i++) {
    if (fabs(t->time[i] - e->t) > 1e-9) continue;
    if (isnan(found) || e->side == RIGHT) found = values[i];
  }
  return found;
}

static void check_values(cpl_context* ctx, const expected* list, size_t n, const char* what) {
  cpl_table* t = read_table(ctx, "out.csv");
  for (size_t i = 0; i < n; i++) {
    double got = value_at(t, &list[i]);
    if (!(fabs(got - list[i].value) < 1e-9))
      fail_msg("%s: %s at t=%g, %s: %.17g, expected %.17g", what, list[i].name, list[i].t,
               list[i].side == LEFT ? "before" : "after", got, list[i].value);
  }
  cpl_table_destroy(t);
}

// `continuous`: a loop goes through a continuous value, which is handed over at communication
// points only; one step for the whole run is too long.
static void check_system(cpl_context* ctx, const char* name, const expected* list, size_t n,
                         bool continuous) {
  static const char* const ways[] = {
      "s/step: 0.2/step: 0.2/",                           // as it is
      "s/step: 0.2/step: 0.037/",                         // meets no event by chance
      "s/step: 0.2/step: 10/",                            // events alone decide
      "s/step: 0.2/step: 0.2, algorithm: gauss-seidel/",  // and other algorithms
      "s/step: 0.2/step: 0.2, threads: 2/",
      "s/, as: cs//; /^master/d",
  };
  copy_example("hybrid_components");
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    char command[512], file[128];
    if (continuous && strstr(ways[i], "step: 10/") != NULL) continue;
    snprintf(file, sizeof file, "hybrid_components/%s.yaml", name);
    snprintf(command, sizeof command, "sed '%s' %s > hybrid_components/way.yaml", ways[i], file);
    CHECK_INT(system(command), 0);
    must_do("run hybrid_components/way.yaml -q -o out.csv");
    snprintf(command, sizeof command, "%s, %s", name, ways[i]);
    check_values(ctx, list, n, command);
  }
}
#define CHECK_SYSTEM(name, list, continuous) \
  check_system(*state, name, list, sizeof(list) / sizeof *(list), continuous)

static void a_ramp_is_sampled_held_and_delayed(void** state) {
  static const expected list[] = {
      {0, RIGHT, "hold.y", -1},       {0.25, LEFT, "hold.y", -1},
      {0.25, RIGHT, "hold.y", 0.25},  {0.5, LEFT, "hold.y", 0.25},
      {0.5, RIGHT, "hold.y", 0.5},    {0.75, RIGHT, "hold.y", 0.75},
      {1, LEFT, "hold.y", 0.75},      {1, RIGHT, "hold.y", 1},
      {0.35, LEFT, "delayed.y", -1},  {0.35, RIGHT, "delayed.y", 0.25},
      {0.6, LEFT, "delayed.y", 0.25}, {0.6, RIGHT, "delayed.y", 0.5},
      {0.85, LEFT, "delayed.y", 0.5}, {0.85, RIGHT, "delayed.y", 0.75},
      {1.1, LEFT, "delayed.y", 0.75}, {1.1, RIGHT, "delayed.y", 1},
      {0.25, RIGHT, "ramp.x", 0.25},  {1.1, RIGHT, "ramp.x", 1.1},
  };
  CHECK_SYSTEM("staircase", list, false);
}

static void a_crossing_resets_the_ramp(void** state) {
  static const expected list[] = {
      {1, LEFT, "ramp.x", 0},       {1, RIGHT, "ramp.x", -1},      {1, RIGHT, "detector.n", 1},
      {2, LEFT, "ramp.x", 0},       {2, RIGHT, "ramp.x", -1},      {2, RIGHT, "detector.n", 2},
      {3, LEFT, "ramp.x", 0},       {3, RIGHT, "ramp.x", -1},      {3, RIGHT, "detector.n", 3},
      {3.5, RIGHT, "ramp.x", -0.5}, {3.5, RIGHT, "detector.n", 3},
  };
  CHECK_SYSTEM("sawtooth", list, true);
}

static void microsteps_count_down_at_one_time(void** state) {
  static const expected list[] = {
      {0.5, LEFT, "merge.n", 0},    {0.5, RIGHT, "source.n", 1}, {0.5, RIGHT, "merge.n", 4},
      {0.5, RIGHT, "step.n", 3},    {0.5, RIGHT, "step.y", 0},   {0.75, LEFT, "merge.n", 4},
      {0.75, RIGHT, "merge.n", 10}, {0.75, RIGHT, "step.n", 8},  {0.75, RIGHT, "merge.y", 0},
      {1, RIGHT, "merge.n", 10},    {1, RIGHT, "step.n", 8},
  };
  CHECK_SYSTEM("countdown", list, false);
}

static void simultaneous_events_stay_so(void** state) {
  static const expected list[] = {
      {0.25, LEFT, "merge.y", 2}, {0.25, RIGHT, "merge.y", 10}, {0.25, RIGHT, "merge.both", 0},
      {0.5, LEFT, "merge.n", 5},  {0.5, LEFT, "merge.y", 4},    {0.5, RIGHT, "clock.n", 5},
      {0.5, RIGHT, "other.n", 3}, {0.5, RIGHT, "merge.y", 30},  {0.55, RIGHT, "clock.n", 5},
      {0.5, RIGHT, "merge.n", 8},  // none is lost, in any way
  };
  CHECK_SYSTEM("simultaneous", list, false);
  cpl_table* t = read_table(*state, "out.csv");
  CHECK(column(t, "merge.both")[t->n_rows - 1] >= 1);
  cpl_table_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ramp_is_sampled_held_and_delayed),
      cmocka_unit_test(a_crossing_resets_the_ramp),
      cmocka_unit_test(microsteps_count_down_at_one_time),
      cmocka_unit_test(simultaneous_events_stay_so),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
