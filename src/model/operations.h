// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The list of all operations of components, from which proxies are made (timed.c, proxy.c,
// proxy_serve.c). An operation in a table of interface.h without a row here does not compile.
#pragma once

#include "couplet/interface.h"

// Table, name in the table, parameters, arguments. Each returns a status.
#define CPLI_OPERATIONS(X)     \
  CPLI_COMPONENT_OPERATIONS(X) \
  CPLI_MODEL_OPERATIONS(X) CPLI_NEWTON_OPERATIONS(X) CPLI_OTHER_OPERATIONS(X)

#define CPLI_COMPONENT_OPERATIONS(X)                                                               \
  X(component, setup, (cpl_component * self, const cpl_setup* s), (self, s))                       \
  X(component, enter_init, (cpl_component * self), (self))                                         \
  X(component, exit_init, (cpl_component * self), (self))                                          \
  X(component, terminate, (cpl_component * self), (self))                                          \
  X(component, reset, (cpl_component * self), (self))                                              \
  X(component, get_real, (cpl_component * self, const uint32_t* refs, size_t n, double* v),        \
    (self, refs, n, v))                                                                            \
  X(component, set_real, (cpl_component * self, const uint32_t* refs, size_t n, const double* v),  \
    (self, refs, n, v))                                                                            \
  X(component, get_integer,                                                                        \
    (cpl_component * self, cpl_type type, const uint32_t* refs, size_t n, int64_t* v),             \
    (self, type, refs, n, v))                                                                      \
  X(component, set_integer,                                                                        \
    (cpl_component * self, cpl_type type, const uint32_t* refs, size_t n, const int64_t* v),       \
    (self, type, refs, n, v))                                                                      \
  X(component, get_string, (cpl_component * self, const uint32_t* refs, size_t n, const char** v), \
    (self, refs, n, v))                                                                            \
  X(component, set_string,                                                                         \
    (cpl_component * self, const uint32_t* refs, size_t n, const char* const* v),                  \
    (self, refs, n, v))                                                                            \
  X(component, get_binary, (cpl_component * self, const uint32_t* refs, size_t n, cpl_binary* v),  \
    (self, refs, n, v))                                                                            \
  X(component, set_binary,                                                                         \
    (cpl_component * self, const uint32_t* refs, size_t n, const cpl_binary* v),                   \
    (self, refs, n, v))                                                                            \
  X(component, save, (cpl_component * self, cpl_snapshot * s), (self, s))                          \
  X(component, restore, (cpl_component * self, const cpl_snapshot* s), (self, s))                  \
  X(component, serialize, (cpl_component * self, const cpl_snapshot* s, cpl_binary* bytes),        \
    (self, s, bytes))                                                                              \
  X(component, deserialize, (cpl_component * self, const cpl_binary* bytes, cpl_snapshot* s),      \
    (self, bytes, s))                                                                              \
  X(component, get_history, (cpl_component * self, cpl_binary * bytes, bool* complete),            \
    (self, bytes, complete))                                                                       \
  X(component, set_history, (cpl_component * self, const cpl_binary* bytes), (self, bytes))        \
  X(component, directional,                                                                        \
    (cpl_component * self, const uint32_t* unknowns, size_t nu, const uint32_t* knowns, size_t nk, \
     const double* seed, double* out),                                                             \
    (self, unknowns, nu, knowns, nk, seed, out))

#define CPLI_MODEL_OPERATIONS(X)                                                           \
  X(model, enter_event, (cpl_model * self), (self))                                        \
  X(model, event_update, (cpl_model * self, cpl_event_info * info), (self, info))          \
  X(model, enter_continuous, (cpl_model * self), (self))                                   \
  X(model, set_time, (cpl_model * self, double t), (self, t))                              \
  X(model, set_states, (cpl_model * self, const double* x), (self, x))                     \
  X(model, get_states, (cpl_model * self, double* x), (self, x))                           \
  X(model, get_nominals, (cpl_model * self, double* nominals), (self, nominals))           \
  X(model, get_derivatives, (cpl_model * self, double* dx), (self, dx))                    \
  X(model, get_indicators, (cpl_model * self, double* z), (self, z))                       \
  X(model, completed_step, (cpl_model * self, bool* event, bool* end), (self, event, end)) \
  X(model, jacobian_times, (cpl_model * self, const double* v, double* out), (self, v, out))

#define CPLI_NEWTON_OPERATIONS(X)                                                      \
  X(newton, setup, (cpl_model * self, double gamma, bool fresh), (self, gamma, fresh)) \
  X(newton, solve, (cpl_model * self, const double* r, double* dx), (self, r, dx))     \
  X(newton, border, (cpl_model * self, const cpl_border* b), (self, b))

#define CPLI_OTHER_OPERATIONS(X)                                                                 \
  X(constraint, count, (cpl_model * self, size_t * n), (self, n))                                \
  X(constraint, get, (cpl_model * self, double* c), (self, c))                                   \
  X(constraint, jacobian, (cpl_model * self, double* out), (self, out))                          \
  X(constraint, pattern, (cpl_model * self, const int32_t** first, const int32_t** column),      \
    (self, first, column))                                                                       \
  X(constraint, entries, (cpl_model * self, double* out), (self, out))                           \
  X(constraint, projection, (cpl_model * self, double tolerance, size_t most, double* change),   \
    (self, tolerance, most, change))                                                             \
  X(constraint, projection_step, (cpl_model * self, double* change), (self, change))             \
  X(dae, use_residuals, (cpl_model * self, size_t * n), (self, n))                               \
  X(dae, set_algebraics, (cpl_model * self, const double* z), (self, z))                         \
  X(dae, get_algebraics, (cpl_model * self, double* z), (self, z))                               \
  X(dae, get_algebraic_nominals, (cpl_model * self, double* nominals), (self, nominals))         \
  X(dae, get_residuals, (cpl_model * self, double* g), (self, g))                                \
  X(stepper, step, (cpl_stepper * self, double t_end, double t_limit, cpl_step_result* r),       \
    (self, t_end, t_limit, r))                                                                   \
  X(stepper, set_curve, (cpl_stepper * self, uint32_t ref, const cpl_curve* curve),              \
    (self, ref, curve))                                                                          \
  X(stepper, max_step, (cpl_stepper * self, double* h), (self, h))                               \
  X(stepper, ahead, (cpl_stepper * self, double t_end, double t_limit, double* until),           \
    (self, t_end, t_limit, until))                                                               \
  X(stepper, set_states, (cpl_stepper * self, const int32_t* states, size_t n, const double* v), \
    (self, states, n, v))                                                                        \
  X(stepper, wants_update, (cpl_stepper * self, bool* wanted, double* margin),                   \
    (self, wanted, margin))                                                                      \
  X(stepper, value_time, (cpl_stepper * self, uint32_t ref, double* since, double* next),        \
    (self, ref, since, next))                                                                    \
  X(stepper, get_output_derivatives,                                                             \
    (cpl_stepper * self, const uint32_t* refs, size_t n, double* v), (self, refs, n, v))         \
  X(stepper, next_event, (cpl_stepper * self, double* time, bool* sure), (self, time, sure))     \
  X(stepper, get_indicators, (cpl_stepper * self, double* z), (self, z))

// Table and name: operations for reports and messages, which clocks do not measure.
#define CPLI_REPORT_OPERATIONS(X) \
  X(component, forget)            \
  X(component, inspect)           \
  X(model, name_indicator)        \
  X(model, next_break)            \
  X(constraint, name)             \
  X(stepper, next_break)

// Operations with objects of the component's own process: models that a model is split into,
// descriptions of its structures, several models at once. They cannot be called from another
// process.
#define CPLI_LOCAL_OPERATIONS(X) \
  X(model, split)                \
  X(model, structure)            \
  X(model, evaluate)             \
  X(model, directions)

typedef enum cpli_ops_table {
  CPLI_TABLE_component,
  CPLI_TABLE_model,
  CPLI_TABLE_newton,
  CPLI_TABLE_constraint,
  CPLI_TABLE_dae,
  CPLI_TABLE_stepper,
} cpli_ops_table;

// A table has its size, some `others` and nothing but operations in these lists.
#define CPLI_IS_COMPLETE(table_, others)                                            \
  (sizeof(cpl_##table_##_ops) ==                                                    \
   sizeof(size_t) + (others + 0 CPLI_OPERATIONS(CPLI_COUNT_##table_)                \
                                  CPLI_REPORT_OPERATIONS(CPLI_COUNT_##table_)       \
                                      CPLI_LOCAL_OPERATIONS(CPLI_COUNT_##table_)) * \
                        sizeof(void (*)(void)))
#define CPLI_COUNT_component(table, ...)  +(CPLI_TABLE_##table == CPLI_TABLE_component)
#define CPLI_COUNT_model(table, ...)      +(CPLI_TABLE_##table == CPLI_TABLE_model)
#define CPLI_COUNT_newton(table, ...)     +(CPLI_TABLE_##table == CPLI_TABLE_newton)
#define CPLI_COUNT_constraint(table, ...) +(CPLI_TABLE_##table == CPLI_TABLE_constraint)
#define CPLI_COUNT_dae(table, ...)        +(CPLI_TABLE_##table == CPLI_TABLE_dae)
#define CPLI_COUNT_stepper(table, ...)    +(CPLI_TABLE_##table == CPLI_TABLE_stepper)
_Static_assert(CPLI_IS_COMPLETE(component, 2), "kind and destroy");
_Static_assert(CPLI_IS_COMPLETE(model, 3), "three tables");
_Static_assert(CPLI_IS_COMPLETE(newton, 0), "nothing else");
_Static_assert(CPLI_IS_COMPLETE(constraint, 0), "nothing else");
_Static_assert(CPLI_IS_COMPLETE(dae, 0), "nothing else");
_Static_assert(CPLI_IS_COMPLETE(stepper, 0), "nothing else");
