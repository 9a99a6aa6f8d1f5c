// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Scheduled execution: which partitions are activated when, in which order and with which values.
// The schedule is computed here in whole 210ths of a hundredth of a second, without rounding.
#include <unistd.h>

#include "fmi/probes.h"

enum { FAST = 1, SLOW, THIRDS, TUNED, GROWING, COUNTDOWN, TRIGGER, N_CLOCKS };
enum { MOST = 400, SECOND = 21000 };  // of units

static const int urgency[N_CLOCKS] = {
    [FAST] = 30, [SLOW] = 10, [THIRDS] = 20, [TUNED] = 40, [GROWING] = 50, [COUNTDOWN] = 60};

typedef struct activation {
  long at;
  int clock;
} activation;

// What the FMU's description and its code say, as an event list.
static int schedule(long stop, activation* list) {
  long next[N_CLOCKS] = {[FAST] = 0,
                         [SLOW] = 0,
                         [THIRDS] = 2 * SECOND / 30,
                         [TUNED] = SECOND / 20,
                         [GROWING] = 7 * SECOND / 100,
                         [COUNTDOWN] = -1,
                         [TRIGGER] = -1};
  int count[N_CLOCKS] = {0}, n = 0;
  for (;;) {
    int k = 0;
    for (int i = 1; i < N_CLOCKS; i++) {
      if (next[i] < 0) continue;
      bool sooner = k == 0 || next[i] < next[k];
      if (sooner || (next[i] == next[k] && urgency[i] < urgency[k])) k = i;
    }
    long t = next[k];
    if (t > stop) return n;
    list[n++] = (activation){t, k};
    int times = ++count[k];
    if (k == FAST) next[k] += SECOND / 10;
    if (k == SLOW) next[k] += 3 * SECOND / 10;
    if (k == THIRDS) next[k] += 7 * SECOND / 30;
    if (k == TUNED) next[k] += SECOND / 4;
    if (k == GROWING) next[k] = t + 7 * SECOND / 100 * (times + 1);
    if (k == COUNTDOWN) next[k] = -1;
    if (k == SLOW && times % 2 == 1) next[COUNTDOWN] = t + 13 * SECOND / 100;
    if (k == FAST && times == 6) next[COUNTDOWN] = t;
  }
}

static int activations(activation* list, double* times) {
  FILE* file = fopen("activations.txt", "r");
  int n = 0;
  char name[64];
  assert_non_null(file);
  while (fscanf(file, "%63s %d %lf", name, &list[n].clock, &times[n]) == 3) n++;
  fclose(file);
  return n;
}

static void begin(opened* o) {
  unlink("activations.txt");
  setenv("PROBE_SE_LOG", "activations.txt", 1);
  open_probe(o, "_se");
}

static cpl_status run(cpl_stepper* s, double stop, double step, const cpl_start* starts,
                      size_t n_starts) {
  cpl_run_def def = cpl_default_run_def();
  def.stop_time = stop;
  def.interval = def.step = step;
  def.starts = starts;
  def.n_starts = n_starts;
  return cpl_run(s, &def, NULL);
}

static void check_schedule(double stop, long units) {
  static activation expected[MOST], found[MOST];
  static double times[MOST];
  int n = schedule(units, expected);
  CHECK_INT(activations(found, times), n);
  for (int i = 0; i < n; i++) {
    CHECK_INT(found[i].clock, expected[i].clock);
    CHECK_NEAR(times[i], (double)expected[i].at / SECOND, 1e-14 * stop);
  }
}

// Whatever the communication step.
static void in_time_and_order(void** state) {
  (void)state;
  static const double steps[] = {0.1, 4.2, 0.037};
  for (size_t i = 0; i < CPLI_COUNT(steps); i++) {
    opened o;
    begin(&o);
    cpl_stepper* s = stepper_in(&o);
    CHECK_STR(s->base.ops->kind, "fmi3-se");
    CHECK_OK(o.ctx, run(s, 4.2, steps[i], NULL, 0));
    check_schedule(4.2, 42 * SECOND / 10);
    CHECK_INT(integer_in(&o, &s->base, "triggers"), 0);
    CHECK_INT(integer_in(&o, &s->base, "alarms"), 7);  // at 0.3, 0.9, ..., 3.9
    CHECK_NEAR(real_in(&o, &s->base, "sum"), 43, 0);   // u = 1, though the partition overwrites it
    s->base.ops->destroy(&s->base);
    close_probe(&o);
  }
}

// An input that is not set keeps its start value, one that is set counts from the next tick on.
static void values_and_ticks(void** state) {
  (void)state;
  opened o;
  begin(&o);
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r;
  double h = 0;
  CHECK_OK(o.ctx, initialize(c));
  CHECK_NEAR(real_in(&o, c, "sum"), 1, 0);
  CHECK_OK(o.ctx, s->ops->max_step(s, &h));
  CHECK_NEAR(h, 0.05, 1e-16);
  put_real(&o, c, "u", 10);
  put_real(&o, c, "v", 7);
  CHECK_NEAR(real_in(&o, c, "u"), 10, 0);
  CHECK_NEAR(real_in(&o, c, "sum"), 1, 0);
  CHECK_OK(o.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_EVENT && r.time == 0.05);
  while (r.time < 0.3) CHECK_OK(o.ctx, s->ops->step(s, 0.3, 0.3, &r));
  CHECK_NEAR(real_in(&o, c, "sum"), 21, 0);
  CHECK_NEAR(real_in(&o, c, "twice"), 0, 0);
  CHECK_INT(integer_in(&o, c, "alarm"), 0);
  CHECK_OK(o.ctx, s->ops->step(s, 0.3, 0.3, &r));  // size zero: the event
  CHECK(r.event_handled);
  CHECK_NEAR(real_in(&o, c, "sum"), 31, 0);
  CHECK_NEAR(real_in(&o, c, "twice"), 14, 0);
  CHECK_INT(integer_in(&o, c, "alarm"), 1);
  CHECK_INT(integer_in(&o, c, "alarms"), 1);
  put_real(&o, c, "v", 8);
  CHECK_OK(o.ctx, try_integer(&o, c, "trigger", 1));
  CHECK_OK(o.ctx, s->ops->step(s, 0.3, 0.3, &r));
  CHECK_NEAR(real_in(&o, c, "twice"), 16, 0);
  CHECK_INT(integer_in(&o, c, "triggers"), 1);
  CHECK_INT(integer_in(&o, c, "alarm"), 0);

  // a partition only once at a time, and only clocks that are triggered
  CHECK_OK(o.ctx, try_integer(&o, c, "trigger", 1));
  CHECK_INT(s->ops->step(s, 0.3, 0.3, &r), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "left: clock trigger ticks twice at t=0.3");
  CHECK_INT(try_integer(&o, c, "fast", 1), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "clock fast ticks at times of its own (constant)");
  c->ops->destroy(c);
  close_probe(&o);
}

// A period that is tuned takes effect with the next partition and counts from there.
static void tuned(void** state) {
  (void)state;
  opened o;
  begin(&o);
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r = {0};
  CHECK_OK(o.ctx, initialize(c));
  while (r.time < 0.52) CHECK_OK(o.ctx, s->ops->step(s, 0.52, 0.52, &r));
  put_real(&o, c, "period", 0.11);  // the next partition is that of "thirds" at 16 / 30
  while (r.time < 0.9) CHECK_OK(o.ctx, s->ops->step(s, 0.9, 0.9, &r));
  static activation found[MOST];
  static double times[MOST];
  static const double expected[] = {0.05, 0.3, 16.0 / 30 + 0.11, 16.0 / 30 + 0.22,
                                    16.0 / 30 + 0.33};
  int n = activations(found, times), k = 0;
  for (int i = 0; i < n; i++) {
    if (found[i].clock != TUNED) continue;
    CHECK(k < (int)CPLI_COUNT(expected));
    CHECK_NEAR(times[i], expected[k++], 1e-14);
  }
  CHECK_INT(k, CPLI_COUNT(expected));
  c->ops->destroy(c);
  close_probe(&o);
}

static void countdown_that_repeats(void** state) {
  (void)state;
  opened o;
  begin(&o);
  cpl_stepper* s = stepper_in(&o);
  cpl_start again = {"repeat", "1"};
  CHECK_INT(run(s, 1, 0.1, &again, 1), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "clock countdown ticks twice at t=0.13");
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

// Ticks to come are part of a saved state.
static void saved(void** state) {
  (void)state;
  opened o;
  begin(&o);
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r = {0};
  cpl_snapshot snapshot = {0};
  static activation first[MOST], second[MOST];
  static double first_times[MOST], second_times[MOST];
  CHECK_OK(o.ctx, initialize(c));
  while (r.time < 0.65) CHECK_OK(o.ctx, s->ops->step(s, 0.65, 0.65, &r));
  CHECK_OK(o.ctx, c->ops->save(c, &snapshot));
  unlink("activations.txt");
  while (r.time < 2) CHECK_OK(o.ctx, s->ops->step(s, 2, 2, &r));
  double sum = real_in(&o, c, "sum");
  int n = activations(first, first_times);
  CHECK_OK(o.ctx, c->ops->restore(c, &snapshot));
  unlink("activations.txt");
  for (r.time = 0.65; r.time < 2;) CHECK_OK(o.ctx, s->ops->step(s, 2, 2, &r));
  CHECK_INT(activations(second, second_times), n);
  for (int i = 0; i < n; i++) {
    CHECK_INT(second[i].clock, first[i].clock);
    CHECK(second_times[i] == first_times[i]);
  }
  CHECK_NEAR(real_in(&o, c, "sum"), sum, 0);
  c->ops->forget(c, &snapshot);
  c->ops->destroy(c);
  close_probe(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_time_and_order),
      cmocka_unit_test(values_and_ticks),
      cmocka_unit_test(tuned),
      cmocka_unit_test(countdown_that_repeats),
      cmocka_unit_test(saved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
