// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The structure of an aggregate: its models and connections, the order in which values are
// computed, and its algebraic loops.
//
//   cpl_graph* graph = NULL;
//   cpl_status st = cpl_graph_create(cpl_model_component(model), &graph);
//   if (st >= 0) printf("%d models, %d algebraic loops\n", graph->n_models, graph->n_loops);
//   cpl_graph_destroy(graph);
#pragma once

#include "couplet/aggregate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpl_graph_model {
  const char* name;
  const char* kind;   ///< "FMI 2.0", "C", "system"
  const char* title;  ///< the name in the model's description, "pendulum"
  int32_t n_states, n_inputs, n_outputs, n_indicators;
  bool directional;         ///< gives directional derivatives; others use finite differences
  bool rolls_back;          ///< can save and restore its state
  cpl_origin feed_through;  ///< origin of the dependencies of outputs on inputs
  int32_t n_assumed;  ///< outputs and other variables read whose dependencies are unknown: they
                      ///< count as depending on every input
  int32_t group;      ///< models of different groups do not influence each other
} cpl_graph_model;

/// A variable of a model, or a signal of the whole.
typedef struct cpl_graph_value {
  const char* name;      ///< "left.x", "push"
  const char* variable;  ///< "x", "push"
  int32_t model;         ///< -1: a signal
  int32_t signal;        ///< -1: a variable of a model
} cpl_graph_value;

typedef struct cpl_graph_signal {
  const char* name;
  cpl_signal_kind kind;
} cpl_graph_signal;

typedef struct cpl_graph_connection {
  cpl_graph_value target;
  const char* text;  ///< the expression of the target: "right.y", "k*(right.x - left.x)".
                     ///< Nullable: a function of the program.
  const cpl_graph_value* sources;
  int32_t n_sources;
  bool linear;   ///< known to have a constant gradient
  int32_t loop;  ///< index of the loop that contains it; -1: none
} cpl_graph_connection;

/// One step of the evaluation in continuous time.
typedef enum cpl_graph_step_kind {
  CPL_GRAPH_GET,     ///< variables of a model are read, in one call
  CPL_GRAPH_SET,     ///< inputs of a model are set, in one call
  CPL_GRAPH_COUPLE,  ///< connections are computed
  CPL_GRAPH_LOOP,    ///< a loop is solved
} cpl_graph_step_kind;

CPL_API const char* cpl_graph_step_name(
    cpl_graph_step_kind kind);  ///< "get", "set", "compute", "solve"

typedef struct cpl_graph_step {
  cpl_graph_step_kind kind;
  int32_t level;  ///< steps of one level are independent, except for the order get, couple, set
  int32_t model;  ///< of get and set; else -1
  int32_t loop;   ///< of a loop; else -1
  const cpl_graph_value* values;
  int32_t n_values;
} cpl_graph_step;

/// An algebraic loop.
typedef struct cpl_graph_loop {
  const cpl_graph_value* values;  ///< tearing variables first, then the others in their order
  int32_t n_values, n_torn;
  bool linear;  ///< known to be linear: solved by one linear system between events
} cpl_graph_loop;

/// An unconnected input.
typedef struct cpl_graph_open {
  cpl_graph_value input;
  double start;    ///< of a number
  bool has_start;  ///< the model gives one
} cpl_graph_open;

typedef struct cpl_graph {
  const char* name;
  const cpl_graph_model* models;
  const cpl_graph_signal* signals;
  const cpl_graph_connection* connections;
  const cpl_graph_step* steps;
  const cpl_graph_loop* loops;
  const cpl_graph_open* unconnected;
  int32_t n_models, n_signals, n_connections, n_steps, n_loops, n_unconnected;
  int32_t n_groups;
  int32_t n_states, n_indicators;  ///< of the aggregate, including its conditions and comparisons
} cpl_graph;

/// A component that is no aggregate gives a graph of one model.
/// Owned:    *out by the caller, who calls cpl_graph_destroy(). It is independent of the component.
CPL_API cpl_status cpl_graph_create(const cpl_component* c, cpl_graph** out);
CPL_API void cpl_graph_destroy(cpl_graph* g);  ///< Nullable: g

#ifdef __cplusplus
}
#endif
