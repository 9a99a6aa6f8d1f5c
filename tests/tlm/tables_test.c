// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tables of operations that were compiled with an older header end earlier: cpl_tlm() reads nothing
// beyond their size, and refuses a table without one. Reference: two masses on a spring.
#include <stddef.h>

#include "lines.h"

// Tables that end with their required operations. What follows in memory is not theirs: a call of
// it would crash.
typedef struct old_tables {
  cpl_component_ops component;
  cpl_model_ops model;
  cpl_stepper_ops stepper;
} old_tables;

#define SHORTEN(table, type, first_optional)                      \
  do {                                                            \
    memset((char*)(table) + offsetof(type, first_optional), 0x5a, \
           sizeof(type) - offsetof(type, first_optional));        \
    (table)->size = offsetof(type, first_optional);               \
  } while (0)

static void shorten(old_tables* old, cpl_tlm_part* p) {
  cpl_component* c = p->model != NULL ? &p->model->base : &p->stepper->base;
  old->component = *c->ops;
  SHORTEN(&old->component, cpl_component_ops, get_binary);
  c->ops = &old->component;
  if (p->model != NULL) {
    old->model = *p->model->ops;
    SHORTEN(&old->model, cpl_model_ops, newton);
    p->model->ops = &old->model;
  } else {
    old->stepper = *p->stepper->ops;
    SHORTEN(&old->stepper, cpl_stepper_ops, set_curve);
    p->stepper->ops = &old->stepper;
  }
}

enum { STIFFNESS = 700 };  // N/m

// Masses of 1 kg, the left one with v = 1.
static bench two_masses(bool stepper) {
  const double delay = 5e-4;
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, &mass_model, i == 0 ? "left" : "right");
    if (i == 0) bench_start(b.ctx, &m->base, "v", 1);
    ends[i] =
        bench_interface(&b, bench_part(&b, m, stepper), "end", CPL_TLM_TRANSLATIONAL, "v", "F");
  }
  bench_line(&b, ends[0], ends[1], delay, STIFFNESS * delay, 0);
  return b;
}

static void older_tables_work(void** state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    old_tables old[2];
    bench b = two_masses(kind == 1);
    for (int i = 0; i < 2; i++) {
      b.parts[i].hold = CPL_TLM_HOLD_LINEAR;  // by set_curve, if a stepper has it
      shorten(&old[i], &b.parts[i]);
    }
    bench_begin(&b, 0.4);
    CHECK(!b.s->base.can.save_restore);  // an optional operation, which the old tables do not have
    double w = sqrt(2.0 * STIFFNESS);
    for (int i = 1; i <= 40; i++) {
      double t = 0.01 * i;
      bench_step(&b, t);
      CHECK_NEAR(bench_value(&b, "left.v"), 0.5 + 0.5 * cos(w * t), 2e-3);
      CHECK_NEAR(bench_value(&b, "right.v"), 0.5 - 0.5 * cos(w * t), 2e-3);
    }
    bench_end(&b);
  }
}

static void tables_without_a_size_are_refused(void** state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    old_tables old;
    bench b = two_masses(kind == 1);
    shorten(&old, &b.parts[1]);
    old.model.size = old.stepper.size = 0;
    b.def.parts = b.parts, b.def.interfaces = b.interfaces, b.def.lines = b.lines;
    CHECK_INT(cpl_tlm(b.ctx, &b.def, &b.s), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(b.ctx), "right");
    CHECK_CONTAINS(cpl_context_error(b.ctx),
                   kind == 0 ? "its cpl_model_ops has size 0" : "its cpl_stepper_ops has size 0");
    bench_end(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(older_tables_work),
      cmocka_unit_test(tables_without_a_size_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
