// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One stepper that may stop early and can neither be rolled back nor predict, in every place of the
// data flow: before, behind and in loops with those that roll back and those that predict.
#include "fake.h"

enum { U, Y, X };
enum { MAX_PARTS = 4 };

typedef struct rig {
  cpl_context* ctx;
  fake f[MAX_PARTS];
  cpl_master_part parts[MAX_PARTS];
  cpl_master_link links[MAX_PARTS];
  cpl_master_def def;
  cpl_stepper* m;
  char log[4096];
} rig;

static void keep_log(void* user, cpl_log_level level, const char* who, const char* text) {
  rig* r = user;
  (void)level, (void)who;
  size_t used = strlen(r->log);
  snprintf(r->log + used, sizeof r->log - used, "%s\n", text);
}

static void rig_begin(rig* r) {
  memset(r, 0, sizeof *r);
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_log, def.user = r;
  r->ctx = cpl_context_create(&def);
  r->def = cpl_default_master_def();
  r->def.name = "rig", r->def.parts = r->parts, r->def.links = r->links;
}

// kind: L legacy, P predicts only, R rolls back.
static fake* add(rig* r, const char* name, char kind, double gain, double bias) {
  int i = r->def.n_parts++;
  r->parts[i].stepper = fake_make(&r->f[i], r->ctx, name, gain, bias, kind == 'R', kind == 'P');
  return &r->f[i];
}

static void join(rig* r, int from, int var, int to) {
  r->links[r->def.n_links++] = (cpl_master_link){from, var, to, U, 0, 0};
}

static cpl_status rig_start(rig* r) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  cpl_status st = cpl_master(r->ctx, &r->def, &r->m);
  if (st < 0) return st;
  cpl_component* c = &r->m->base;
  CHECK_OK(r->ctx, c->ops->setup(c, &setup));
  CHECK_OK(r->ctx, c->ops->enter_init(c));
  return c->ops->exit_init(c);
}

// One step of at most 0.2, through the event it may begin with; all arrive together.
static cpl_status rig_step(rig* r, double* t) {
  cpl_step_result result;
  double to = fmin(1, *t + 0.2);
  cpl_status st = r->m->ops->step(r->m, to, to, &result);
  if (st < 0) return st;
  *t = result.time;
  for (int i = 0; i < r->def.n_parts; i++) CHECK(r->f[i].t == *t);
  return CPL_OK;
}

static void rig_end(rig* r) {
  if (r->m != NULL) r->m->base.ops->destroy(&r->m->base);
  cpl_context_destroy(r->ctx);
}

static size_t delayed(const rig* r) { return cpl_master_facts(r->m, CPL_FACT_DELAYED, NULL, 0); }

// p -> l, where the output of l shows its input: l goes first, with the input of the step before.
static void it_goes_before_the_predicting_one(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *p = add(&r, "a_p", 'P', 0, 0), *l = add(&r, "l", 'L', 2, 5);
  join(&r, 0, X, 1);
  p->u = 1;
  p->stops[p->n_stops++] = 0.33;
  l->stops[l->n_stops++] = 0.13, l->stops[l->n_stops++] = 0.61;
  CHECK_OK(r.ctx, rig_start(&r));
  CHECK_INT(delayed(&r), 1);
  CHECK_CONTAINS(r.log, "a_p.x -> l.u lags one communication step behind");
  CHECK_CONTAINS(r.log, "l can stop early and neither be rolled back nor predict");
  CHECK_CONTAINS(r.log, "(a_p)");
  static const double times[] = {0.13, 0.33, 0.53, 0.61, 0.81, 1};
  double t = 0, before = 0;
  for (int k = 0; k < 6; before = t, k++) {
    CHECK_OK(r.ctx, rig_step(&r, &t));
    CHECK_NEAR(t, times[k], 1e-15);
    CHECK_NEAR(p->x, t, 1e-15);
    CHECK_NEAR(l->y, 2 * before + 5, 1e-12);
  }
  CHECK_INT(p->steps, 6);
  rig_end(&r);
}

// Where no value leads from the predicting one to it, nothing lags: only the order changes. Names
// and levels would put p first.
static void order_alone_costs_nothing(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *p = add(&r, "a_p", 'P', 0, 0), *ramp = add(&r, "b_r", 'R', 0, 0),
       *l = add(&r, "l", 'L', 3, 1);
  join(&r, 1, X, 2);
  p->u = 2, ramp->u = 1;
  l->stops[l->n_stops++] = 0.07;
  CHECK_OK(r.ctx, rig_start(&r));
  CHECK_INT(delayed(&r), 0);
  CHECK_STR(r.log, "");
  double t = 0;
  CHECK_OK(r.ctx, rig_step(&r, &t));
  CHECK(t == 0.07);
  for (int k = 0; t < 1 && k < 10; k++) {
    CHECK_OK(r.ctx, rig_step(&r, &t));
    CHECK_NEAR(l->y, 3 * ramp->x + 1, 1e-12);
    CHECK_NEAR(p->x, 2 * t, 1e-12);
  }
  CHECK(t == 1);
  rig_end(&r);
}

// p -> r -> l, all with feed-through: only what enters l lags.
static void a_path_is_cut_where_it_enters(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *p = add(&r, "a_p", 'P', 0, 0), *mid = add(&r, "b_r", 'R', 2, 0),
       *l = add(&r, "l", 'L', 1, 0);
  join(&r, 0, X, 1), join(&r, 1, Y, 2);
  p->u = 1;
  mid->stops[mid->n_stops++] = 0.29;
  l->stops[l->n_stops++] = 0.47;
  CHECK_OK(r.ctx, rig_start(&r));
  CHECK_INT(delayed(&r), 1);
  CHECK_CONTAINS(r.log, "b_r.y -> l.u lags");
  double t = 0, before = 0;
  for (int k = 0; t < 1 && k < 20; before = t, k++) {
    CHECK_OK(r.ctx, rig_step(&r, &t));
    CHECK_NEAR(mid->y, 2 * t, 1e-12);
    CHECK_NEAR(l->y, 2 * before, 1e-12);
  }
  CHECK(t == 1);
  rig_end(&r);
}

// An algebraic loop of both: it is cut at the same place, so that p still sees the new value.
static void loops_are_cut_there_too(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *p = add(&r, "a_p", 'P', 0.5, 0), *l = add(&r, "l", 'L', 1, 1);
  join(&r, 0, Y, 1), join(&r, 1, Y, 0);
  l->stops[l->n_stops++] = 0.5;
  CHECK_OK(r.ctx, rig_start(&r));
  CHECK_INT(delayed(&r), 1);
  CHECK_CONTAINS(r.log, "a_p.y -> l.u lags");
  double t = 0, y = p->y;
  for (int k = 0; t < 1 && k < 20; y = p->y, k++) {
    CHECK_OK(r.ctx, rig_step(&r, &t));
    CHECK_NEAR(l->y, y + 1, 1e-12);
    CHECK_NEAR(p->y, 0.5 * l->y, 1e-12);
  }
  CHECK(t == 1);
  rig_end(&r);
}

// One that never stops without being asked is not worth a lag.
static void one_that_does_not_stop_stays_in_order(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *p = add(&r, "a_p", 'P', 0, 0), *l = add(&r, "l", 'L', 2, 0);
  join(&r, 0, X, 1);
  p->u = 1;
  l->base.base.can.stops_early = false;
  CHECK_OK(r.ctx, rig_start(&r));
  CHECK_INT(delayed(&r), 0);
  double t = 0;
  for (int k = 0; t < 1 && k < 10; k++) {
    CHECK_OK(r.ctx, rig_step(&r, &t));
    CHECK_NEAR(l->y, 2 * t, 1e-12);
  }
  rig_end(&r);
}

// p -> r: r is tried with the input it has (and accepts), then stops early with the one it gets. p
// cannot come back, so r takes this step with the input it was tried with.
static void what_was_accepted_before_is_taken(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *p = add(&r, "a_p", 'P', 0, 0), *after = add(&r, "r", 'R', 1, 0);
  join(&r, 0, X, 1);
  p->u = 2, p->x = 1;
  after->wall = 0.25;  // 0.2 with an input of 1, but 0.28 with the next one, 1.4
  CHECK_OK(r.ctx, rig_start(&r));
  double t = 0;
  CHECK_OK(r.ctx, rig_step(&r, &t));
  CHECK(t == 0.2);
  CHECK_NEAR(after->x, 0.2, 1e-15);
  CHECK_NEAR(after->y, 1, 1e-15);
  // from here on it is near enough: the trial finds it
  CHECK_OK(r.ctx, rig_step(&r, &t));
  CHECK_NEAR(t, 0.2 + 0.05 / 1.4, 1e-12);
  CHECK_OK(r.ctx, rig_step(&r, &t));
  CHECK_NEAR(after->y, p->x, 1e-12);
  rig_end(&r);
}

// Two of them: no order helps, and the message says who and why.
static void two_are_too_many(void** state) {
  (void)state;
  rig r;
  rig_begin(&r);
  fake *one = add(&r, "one", 'L', 0, 0), *two = add(&r, "two", 'L', 0, 0);
  add(&r, "p", 'P', 0, 0);
  two->stops[two->n_stops++] = 0.05;
  CHECK_OK(r.ctx, rig_start(&r));
  CHECK_CONTAINS(r.log, "one, two");
  double t = 0;
  CHECK(rig_step(&r, &t) == CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(r.ctx), "two stopped at t=0.05");
  (void)one;
  rig_end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_goes_before_the_predicting_one),
      cmocka_unit_test(order_alone_costs_nothing),
      cmocka_unit_test(a_path_is_cut_where_it_enters),
      cmocka_unit_test(loops_are_cut_there_too),
      cmocka_unit_test(one_that_does_not_stop_stays_in_order),
      cmocka_unit_test(what_was_accepted_before_is_taken),
      cmocka_unit_test(two_are_too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
