// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Common definitions of both sides of an isolated component: the operations that go through the
// channel, and the layout of a request in shared memory.
#pragma once

#include "base/channel.h"
#include "couplet/isolate.h"

enum { CPLI_MAX_ARGUMENTS = 6 };

typedef struct cpli_argument {
  void* data;
  size_t size;
} cpli_argument;

// At the beginning of the shared data; arguments follow.
typedef struct cpli_request {
  int32_t op, n_args;
  cpl_status status;
  cpli_argument args[CPLI_MAX_ARGUMENTS];
  uint64_t offers;  // answer to the creation: the available operations
  cpl_capabilities can;
  char kind[32];
  cpl_error error;  // of a status that is not CPL_OK; its texts:
  char texts[1 << 16];
} cpli_request;

// The answer of wants_update.
typedef struct cpli_wanted_update {
  double margin;
  bool wanted;
} cpli_wanted_update;

// Every operation that goes through the channel: the table it is in, its name there, and how the
// child calls it (isolate_child.c). The rows are numbered in this order.
#define CPLI_OPERATIONS(X)                                                                      \
  X(component, setup, c->ops->setup(c, ARG(0, cpl_setup)))                                      \
  X(component, enter_init, c->ops->enter_init(c))                                               \
  X(component, exit_init, c->ops->exit_init(c))                                                 \
  X(component, terminate, c->ops->terminate(c))                                                 \
  X(component, reset, c->ops->reset(c))                                                         \
  X(component, get_real,                                                                        \
    c->ops->get_real(c, ARG(0, uint32_t), COUNT(0, uint32_t), ARG(1, double)))                  \
  X(component, set_real,                                                                        \
    c->ops->set_real(c, ARG(0, uint32_t), COUNT(0, uint32_t), ARG(1, double)))                  \
  X(component, get_integer,                                                                     \
    c->ops->get_integer(c, *ARG(0, cpl_type), ARG(1, uint32_t), COUNT(1, uint32_t),             \
                        ARG(2, int64_t)))                                                       \
  X(component, set_integer,                                                                     \
    c->ops->set_integer(c, *ARG(0, cpl_type), ARG(1, uint32_t), COUNT(1, uint32_t),             \
                        ARG(2, int64_t)))                                                       \
  X(component, get_string, lend_strings(c, r, end))                                             \
  X(component, set_string,                                                                      \
    c->ops->set_string(c, ARG(0, uint32_t), COUNT(0, uint32_t), ARG(1, const char*)))           \
  X(component, get_binary, lend_binaries(c, r, end))                                            \
  X(component, set_binary,                                                                      \
    c->ops->set_binary(c, ARG(0, uint32_t), COUNT(0, uint32_t), ARG(1, cpl_binary)))            \
  X(component, save, c->ops->save(c, ARG(0, cpl_snapshot)))                                     \
  X(component, restore, c->ops->restore(c, ARG(0, cpl_snapshot)))                               \
  X(component, forget, (c->ops->forget(c, ARG(0, cpl_snapshot)), CPL_OK))                       \
  X(component, directional,                                                                     \
    c->ops->directional(c, ARG(0, uint32_t), COUNT(0, uint32_t), ARG(1, uint32_t),              \
                        COUNT(1, uint32_t), ARG(2, double), ARG(3, double)))                    \
  X(component, inspect, lend_inspection(c, r, end))                                             \
  X(model, enter_event, MODEL->ops->enter_event(MODEL))                                         \
  X(model, event_update, MODEL->ops->event_update(MODEL, ARG(0, cpl_event_info)))               \
  X(model, enter_continuous, MODEL->ops->enter_continuous(MODEL))                               \
  X(model, set_time, MODEL->ops->set_time(MODEL, *ARG(0, double)))                              \
  X(model, set_states, MODEL->ops->set_states(MODEL, ARG(0, double)))                           \
  X(model, get_states, MODEL->ops->get_states(MODEL, ARG(0, double)))                           \
  X(model, get_nominals, MODEL->ops->get_nominals(MODEL, ARG(0, double)))                       \
  X(model, get_derivatives, MODEL->ops->get_derivatives(MODEL, ARG(0, double)))                 \
  X(model, get_indicators, MODEL->ops->get_indicators(MODEL, ARG(0, double)))                   \
  X(model, completed_step, MODEL->ops->completed_step(MODEL, ARG(0, bool), ARG(0, bool) + 1))   \
  X(model, name_indicator,                                                                      \
    (MODEL->ops->name_indicator(MODEL, *ARG(0, size_t), ARG(1, char), COUNT(1, char)), CPL_OK)) \
  X(model, name_constraint,                                                                     \
    (MODEL->ops->name_constraint(MODEL, *ARG(0, size_t), ROOM(1)), CPL_OK))                     \
  X(model, newton_setup, MODEL->ops->newton_setup(MODEL, *ARG(0, double), *ARG(1, bool)))       \
  X(model, newton_solve, MODEL->ops->newton_solve(MODEL, ARG(0, double), ARG(1, double)))       \
  X(model, count_constraints, MODEL->ops->count_constraints(MODEL, ARG(0, size_t)))             \
  X(model, get_constraints, MODEL->ops->get_constraints(MODEL, ARG(0, double)))                 \
  X(model, constraint_jacobian, MODEL->ops->constraint_jacobian(MODEL, ARG(0, double)))         \
  X(model, projection,                                                                          \
    MODEL->ops->projection(MODEL, *ARG(0, double), *ARG(1, size_t), ARG(2, double)))            \
  X(model, projection_step, MODEL->ops->projection_step(MODEL, ARG(0, double)))                 \
  X(model, use_residuals, MODEL->ops->use_residuals(MODEL, ARG(0, size_t)))                     \
  X(model, set_algebraics, MODEL->ops->set_algebraics(MODEL, ARG(0, double)))                   \
  X(model, get_algebraics, MODEL->ops->get_algebraics(MODEL, ARG(0, double)))                   \
  X(model, get_algebraic_nominals, MODEL->ops->get_algebraic_nominals(MODEL, ARG(0, double)))   \
  X(model, get_residuals, MODEL->ops->get_residuals(MODEL, ARG(0, double)))                     \
  X(stepper, step,                                                                              \
    STEPPER->ops->step(STEPPER, ARG(0, double)[0], ARG(0, double)[1], ARG(1, cpl_step_result))) \
  X(stepper, set_curve, STEPPER->ops->set_curve(STEPPER, *ARG(0, uint32_t), ARG(1, cpl_curve))) \
  X(stepper, max_step, STEPPER->ops->max_step(STEPPER, ARG(0, double)))                         \
  X(stepper, get_output_derivatives,                                                            \
    STEPPER->ops->get_output_derivatives(STEPPER, ARG(0, uint32_t), COUNT(0, uint32_t),         \
                                         ARG(1, double)))                                       \
  X(stepper, wants_update,                                                                      \
    STEPPER->ops->wants_update(STEPPER, &ARG(0, cpli_wanted_update)->wanted,                    \
                               &ARG(0, cpli_wanted_update)->margin))

enum {
#define X(table, name, invoke) OP_##name,
  CPLI_OPERATIONS(X)
#undef X
      OP_destroy,
};

typedef struct cpli_operation {
  const char* name;
  enum { CPLI_TABLE_component, CPLI_TABLE_model, CPLI_TABLE_stepper } table;
  size_t slot;  // of the function in its table
  cpl_status (*run)(cpl_component* c, cpli_request* r, char* end);
} cpli_operation;

extern const cpli_operation cpli_operations[OP_destroy];

/// The main loop of a child: make the instance, answer requests until one of them ends it.
_Noreturn void cpli_isolated_serve(cpli_channel* channel, cpl_source* src, const char* name,
                                   bool is_model);
