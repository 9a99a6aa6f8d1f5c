// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The section `master:` of a definition. What its words mean is known to the room that couples
// steppers; numbers are looked at here.
#include <math.h>

#include "system/definition.h"

cpli_cosimulation cpli_default_cosimulation(void) {
  return (cpli_cosimulation){.step = NAN,
                             .tolerance = NAN,
                             .min_step = NAN,
                             .loop_tolerance = NAN,
                             .order = -1,
                             .iterations = -1,
                             .fixed_iterations = -1,
                             .threads = -1};
}

cpl_status cpli_def_set_cosimulation(cpl_system_def* def, const cpli_cosimulation* item) {
  const struct {
    const char* name;
    double value;
    bool whole;
  } numbers[] = {{"step", item->step, false},
                 {"tolerance", item->tolerance, false},
                 {"min-step", item->min_step, false},
                 {"loop-tolerance", item->loop_tolerance, false},
                 {"iterations", item->iterations, true},
                 {"fixed-iterations", item->fixed_iterations, true},
                 {"threads", item->threads, true}};
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++) {
    double v = numbers[i].value;
    bool said = numbers[i].whole ? v != -1 : !isnan(v);
    if (!said) continue;
    if (!(v > 0) || (numbers[i].whole && (v != floor(v) || v > 1e6)))
      return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item->loc, "master: %s is %g; it must be %s",
                          numbers[i].name, v, numbers[i].whole ? "a positive integer" : "positive");
  }
  if (item->order != -1 && item->order != 0 && item->order != 1 && item->order != 2)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item->loc,
                        "master: order is %g; it must be 0, 1 or 2", item->order);
  if (def->no_memory) return cpli_nomem(def->ctx);
  def->cosimulation = *item;
  def->cosimulation.given = true;
  return CPL_OK;
}

void cpl_init_cosimulation_def(cpl_cosimulation_def* def, size_t size) {
  const cpl_cosimulation_def all = {.step = NAN,
                                    .tolerance = NAN,
                                    .min_step = NAN,
                                    .loop_tolerance = NAN,
                                    .order = -1,
                                    .iterations = -1,
                                    .fixed_iterations = -1,
                                    .threads = -1};
  cpli_init_def(def, size, &all, sizeof all);
}

static const cpli_setting* keep_list(cpl_system_def* def, const cpl_assignment* from, size_t n) {
  cpli_setting* list = cpli_def_array(def, n, sizeof *list);
  for (size_t i = 0; list != NULL && i < n; i++) {
    list[i] = (cpli_setting){cpli_def_text(def, from[i].name, (cpli_source_loc){0}),
                             cpli_def_text(def, from[i].value, (cpli_source_loc){0})};
  }
  return list;
}

cpl_status cpl_system_def_set_cosimulation(cpl_system_def* def, const cpl_cosimulation_def* given) {
  cpl_cosimulation_def how = cpl_default_cosimulation_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_cosimulation_def", given, &how, sizeof how);
  if (st < 0) return st;
  cpli_source_loc none = {0};
  cpli_cosimulation item = {.algorithm = cpli_def_text(def, how.algorithm, none),
                            .on_loop = cpli_def_text(def, how.on_loop, none),
                            .estimate = cpli_def_text(def, how.estimate, none),
                            .legacy = cpli_def_text(def, how.legacy, none),
                            .step = how.step,
                            .tolerance = how.tolerance,
                            .min_step = how.min_step,
                            .loop_tolerance = how.loop_tolerance,
                            .order = how.order,
                            .iterations = how.iterations,
                            .fixed_iterations = how.fixed_iterations,
                            .threads = how.threads,
                            .steps = keep_list(def, how.steps, how.n_steps),
                            .n_steps = how.n_steps,
                            .bonds = keep_list(def, how.bonds, how.n_bonds),
                            .n_bonds = how.n_bonds,
                            .output_derivatives = how.output_derivatives};
  return cpli_def_set_cosimulation(def, &item);
}
