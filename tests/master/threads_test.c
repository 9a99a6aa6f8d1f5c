// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <time.h>

#include "fake.h"
#include "master/master.h"
#include "models.h"

// Steps long enough for threads: parts that fail there are named in their order, not in that of
// time.
static cpl_status slow_step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  struct timespec pause = {.tv_nsec = 200000};
  fake* f = (fake*)s;
  nanosleep(&pause, NULL);
  if (f->bias > 0 && t_end > 0.5)
    return cpl_fail(s->base.ctx, CPL_ERR_MODEL, "%s: is out of order", s->base.name);
  return fake_step(s, t_end, t_limit, r);
}

static void failures_on_threads_are_told_in_order(void** state) {
  (void)state;
  enum { N = 8 };
  for (int32_t threads = 1; threads <= 4; threads += 3) {
    cpl_context* ctx = test_context();
    static fake f[N];
    memset(f, 0, sizeof f);
    cpl_master_part parts[N] = {0};
    for (int i = 0; i < N; i++) {
      char name[8];
      snprintf(name, sizeof name, "p%d", i);
      parts[i].stepper = fake_make(&f[i], ctx, name, 0, i == 3 || i == 6, true, false);
      f[i].step_ops.step = slow_step;
      f[i].u = i;
    }
    cpl_master_def def = cpl_default_master_def();
    def.name = "many", def.parts = parts, def.n_parts = N, def.step = 0.05, def.threads = threads;
    cpl_stepper* m = NULL;
    CHECK_OK(ctx, cpl_master(ctx, &def, &m));
    cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
    CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
    CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
    CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
    cpl_step_result r;
    CHECK_OK(ctx, m->ops->step(m, 0.5, 0.5, &r));
    for (int i = 0; i < N; i++) CHECK_NEAR(f[i].x, 0.5 * i, 1e-12);
    CHECK_INT(m->ops->step(m, 1, 1, &r), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(ctx), "p3: is out of order");
    m->base.ops->destroy(&m->base);
    cpl_context_destroy(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures_on_threads_are_told_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
