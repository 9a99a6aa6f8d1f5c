// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Internals of an aggregate. Its values are nodes: coupled inputs of components, variables of
// components that couplings read, and signals. A plan visits the nodes in an order in which
// everything is computed before it is needed; blocks of mutually dependent nodes are loops. Each
// file has one concern: describe.c the variables seen from outside, plan.c the order, evaluate.c
// the evaluation (batch.c of couplings that compute the same), loop.c the loops, newton.c (small
// systems: eliminate.c) the linear system of the integrator, events.c the event iteration
// (updates.c its rounds, update_plan.c their order), groups.c independent subsystems, direction.c
// derivatives in a direction, rows.c loops as equations of the integrator, constraints.c
// constraints and gradients.c their derivatives, descriptor.c the sparse descriptor form, linear.c
// the linearisation, report.c the report, variants.c the data per structure, aggregate.c the
// operations of a model.
#pragma once

#include "base/base.h"
#include "base/parallel.h"
#include "couplet/aggregate.h"
#include "couplet/jacobian.h"
#include "graph/blocks.h"
#include "model/router.h"
#include "model/serial.h"
#include "model/shared_desc.h"
#include "model/starter.h"

typedef enum cpli_node_kind { CPLI_NODE_INPUT, CPLI_NODE_OUTPUT, CPLI_NODE_SIGNAL } cpli_node_kind;

typedef struct cpli_node {
  cpli_node_kind kind;
  int32_t part, var;  // component -1: signal `var`
  uint32_t ref;       // of the component's variable
  uint8_t type;       // cpl_type
  bool discrete;      // changes at events only
  bool parameter;  // an input node that is a parameter: all outputs of its component may depend on
                   // it
  bool fixed;      // a parameter that is set only before the run starts
  bool row;        // an unknown of the integrator: cpli_loop_rows
  int32_t coupling;  // the coupling that gives its value; -1: none (an output, or set from outside)
} cpli_node;

// Whether it has derivatives.
static inline bool cpli_is_smooth(const cpli_node* node) {
  return node->type == CPL_REAL && !node->discrete;
}

// A coupling with its sources as nodes.
typedef struct cpli_coupling_edge {
  cpl_coupling def;
  int32_t target;               // node
  int32_t n_sources, *sources;  // nodes
  double* values;               // of the sources, gathered
  double* gradient;             // d target / d sources
  bool known;                   // a constant gradient that has been computed
} cpli_coupling_edge;

typedef struct cpli_outside {  // condition and assignment of an external event
  cpl_external_event def;
  int32_t n_condition, *condition;  // nodes
  int32_t n_assign, *assign;
  double *condition_values, *assign_values, *results;
  bool last_value;  // the condition, at the last event
  bool firing;
  int32_t next;  // of its times
} cpli_outside;

typedef struct cpli_setter {  // the event that sets a variable, while events are compared
  const cpli_outside* event;  // Nullable: none sets it
  double value;
} cpli_setter;

typedef struct cpli_part {
  cpl_model* m;
  int32_t first_var;  // in the aggregate's variables
  int32_t first_state, n_states;
  int32_t first_indicator, n_indicators;
  double next_time;
  size_t n_active;                // constraints
  bool distrusted;                // its dependencies are wrong: every output depends on every input
  int32_t mark;                   // scratch while plans are made; -1: none
  int32_t first_input, n_inputs;  // nodes
  int32_t first_text, n_texts;    // in a->texts
  bool composite;                 // an aggregate or modes itself
  bool due;                       // to be updated in the next round of an event
  bool stale;       // an input that is no node, or no number, changed since its last update
  int64_t touched;  // the number of the change when it was last set or updated in an event
} cpli_part;

// One call of one component, or a sequence of couplings, or a loop.
typedef enum cpli_eval_op_kind {
  CPLI_OP_GET,
  CPLI_OP_SET,
  CPLI_OP_COUPLE,
  CPLI_OP_LOOP
} cpli_eval_op_kind;

typedef struct cpli_eval_op {
  cpli_eval_op_kind kind;
  int32_t part;                    // of get and set
  uint8_t type;                    // cpl_type of get and set
  int32_t first, count;            // in plan->nodes; a loop: its index
  int32_t merged;                  // number of its couplings, the last ones, that sets compute
  int32_t first_batch, n_batches;  // of its couplings, the first ones
  bool last;                       // a set after which nothing else is done with its component
  bool in_row;  // a get or set of Reals whose nodes follow each other: no copies are needed
} cpli_eval_op;

// Couplings of one operation that compute the same of different sources, next to each other.
typedef struct cpli_batch {
  int32_t first, count;  // in plan->nodes
  int32_t sources;       // in plan->batch_sources: of each CPL_MAX_POINTS of them, source by source
  bool linear;           // all have the same gradient, which is constant
} cpli_batch;

// The nodes a plan updates, and the dependencies it uses.
typedef enum cpli_eval_plan_kind {
  CPLI_PLAN_INITIAL,     // all, with the dependencies before the run starts
  CPLI_PLAN_EVENT,       // all
  CPLI_PLAN_CONTINUOUS,  // those that are not discrete
} cpli_eval_plan_kind;

// A coupling in compact form for the evaluation.
typedef struct cpli_wire {
  int32_t source;  // node of a plain coupling; -1: a function
  double factor, offset;
} cpli_wire;

// Gets and sets that follow each other and do not need the results of others among them: a task per
// component. Couplings and loops are executed between segments, in the caller's thread.
typedef struct cpli_eval_segment {
  int32_t first, end;           // operations
  int32_t first_task, n_tasks;  // 0: a single operation of another kind
  int32_t first_call, n_calls;  // its tasks in plan->calls
  cpli_parallel* parallel;      // Nullable: one thread. By calls
} cpli_eval_segment;

// A task, or a batch: those of consecutive components of one kind that do the same, by one call
// (cpl_model_ops.evaluate). Each has one operation on Reals, and their nodes follow each other.
typedef struct cpli_eval_call {
  int32_t task, n;   // of the segment
  int32_t operands;  // of a batch: in plan->operands, n + 1
  bool in_row;       // a batch whose nodes follow each other
  bool wired;        // and whose inputs include couplings that the set computes
} cpli_eval_call;

typedef struct cpli_eval_plan {
  cpl_context* ctx;
  cpli_blocks* blocks;
  cpli_eval_op* ops;
  size_t n_ops, cap_ops;
  int32_t* nodes;  // operands of the ops
  uint32_t* refs;  // of those nodes, for get and set
  // scratch for each operand, where calls of components wait for others in the middle. Nullable
  double* apart;
  int64_t* apart_integers;
  cpli_wire* wires;  // of those nodes, for couplings; for sets where they compute them
  size_t n_nodes, cap_nodes, cap_refs, cap_wires;
  cpli_batch* batches;
  int32_t* batch_sources;
  size_t n_batches, cap_batches, n_batch_sources, cap_batch_sources;
  struct cpli_loop** loops;
  size_t n_loops, cap_loops;
  struct cpli_updates* updates;  // of a plan for events; else NULL
  bool* derived;                 // by component: its derivatives can be read after its last set
  cpli_eval_segment* segments;
  int32_t n_segments;
  int32_t* tasks;    // of all segments: where in by_part the operations of each begin
  int32_t* by_part;  // operations of segments, by component
  cpli_eval_call* calls;
  int32_t n_calls;
  int32_t* operands;   // of each batch: where the nodes of each component begin
  cpl_model** called;  // the components in the order of by_part
  bool calls_all;      // of components: each is called outside of loops
  bool derives_all;    // `derived` for each that has states
} cpli_eval_plan;

// Loops as rows of the integrator's system: their torn values are its unknowns, and the residuals
// of their couplings its residuals. They are followed by algebraic variables and residuals of
// components.
typedef struct cpli_loop_rows {
  int32_t n;       // of the loops
  int32_t* nodes;  // torn ones of the loops between events
  double *nominals, *residuals;
  int32_t n_algebraics;  // of the components
  int32_t* algebraics;   // number per component
  double* z;             // values from the integrator
  bool given;  // values came from the integrator since the last event; else loops are solved
} cpli_loop_rows;

// The data per structure of an aggregate whose components change theirs; those of the current
// structure are in the aggregate itself.
typedef struct cpli_variant {
  struct cpli_variant* next;
  const cpl_description** key;  // of the components of variable structure
  cpli_shared_desc* shared_desc;
  cpl_model_ops ops;
  struct cpli_span {
    int32_t first_state, n_states, first_indicator, n_indicators;
  } * spans;  // by component
  int32_t n_states, n_part_indicators;
  bool *is_state, *positive;
  int32_t* state_of;
  double* indicators;
  double *x, *constraint_room;
  struct cpli_gradients* gradients;
  cpli_eval_plan* plans[3];
  struct cpli_newton* newton;
  struct cpli_direction* direction;
  bool verified;
} cpli_variant;

// A node whose value is that of a state.
typedef struct cpli_state_node {
  int32_t node, state;
} cpli_state_node;

typedef struct cpli_aggregate {
  cpl_model base;
  cpl_model_ops ops;
  cpl_component_ops component_ops;
  cpli_shared_desc* shared_desc;
  cpl_description* desc;  // = &shared_desc->desc
  cpli_arena arena;
  char* name;

  cpli_part* parts;
  int32_t n_parts, n_part_vars, n_states, n_part_indicators;
  cpl_signal* signals;
  int32_t n_signals;
  cpli_node* nodes;
  int32_t n_nodes;
  int32_t* node_of;   // of each variable of the components; -1: none
  bool* is_state;     // of each variable of the components
  int32_t* state_of;  // of each variable of the components: which state it is; -1: none
  cpli_coupling_edge* links;
  int32_t n_links;
  int32_t* settling;  // couplings with comparisons, or others that are iterated at events
  int32_t n_settling;
  int32_t *texts, n_texts;  // couplings of strings and binaries, by target component
  cpli_outside* outside;
  int32_t n_outside;
  cpli_setter* setters;       // of variables of components, then of signals
  int32_t first_signal;       // node of signal 0
  int32_t n_link_indicators;  // behind those of the components

  int32_t *varying, n_varying;       // components of variable structure
  const cpl_description** key;       // scratch: the current descriptions of these
  cpli_variant *variants, *variant;  // all; the current one. NULL: no variable structure
  bool prepared;                     // those that are made before the start

  cpli_eval_plan* plans[3];  // by cpli_eval_plan_kind
  struct cpli_newton* newton;
  struct cpli_direction* direction;  // Nullable: a component has no directional derivatives
  cpli_loop_rows* rows;              // Nullable: loops are solved in every evaluation

  cpl_constraint* constraints;  // of the whole, not those of components
  int32_t n_constraints;
  double* at_start;                  // their values at the start
  double* constraint_room;           // scratch
  struct cpli_gradients* gradients;  // of all constraints. Nullable: none
  bool start_known;

  double t;
  double* x;            // states of all components
  int64_t point;        // number of the point (time and states) in continuous time
  int64_t* points;      // by component: the number of that it has been given
  bool pending;         // some components may not have been given it: cpli_give_point()
  double* derivatives;  // of the whole, while they are evaluated; NULL: only values are
  double* value;        // of the nodes
  double* before;       // scratch: of nodes, before they are recomputed in an event
  double* settled;      // of the nodes, at the last accepted point: initial guess of loops
  double* gathered;     // scratch of get and set: n_nodes for each of `workers`
  double* seen;         // of the nodes that are inputs, at the last update of their component
  int64_t changes;      // number of changes in events: of values, and of components
  int64_t* changed_at;  // of the nodes: number of the last change
  int32_t rounds;       // of the current event
  bool* positive;       // sign of the components' indicators, after the last update of each
  double* indicators;   // scratch: of one component
  int64_t* gathered_integers;
  int32_t workers;  // threads that may call components at the same time
  cpli_parallel *derivatives_of, *indicators_of, *steps_of;  // a task per component. Nullable
  cpli_eval_plan_kind phase;
  int64_t runs, events;  // counters: validity of values cached per run or between events
  int64_t evaluations;   // likewise, of values cached at one point
  int32_t stop;          // the event that requests a stop, from 1; 0: none
  bool any_breaks;       // components may have kinks
  bool ignores_steps;    // nothing is to be done when a step is completed
  bool notifies_none;    // no component must be notified then
  bool states_suffice;   // indicators follow from states, inputs and time: these states
  cpli_state_node* deciding;
  int32_t n_deciding;
  bool uncoupled;          // one component, no input of which is coupled
  bool verified;           // the components' dependencies have been verified
  bool fresh;              // value[] belongs to the current point
  bool begun;              // the run has reached continuous time
  cpli_serial_room bytes;  // of the last saved state that became bytes
  cpli_starter* starter;   // borrowed. Nullable
} cpli_aggregate;

/// Whether a node is constant between events.
static inline bool cpli_is_held_node(const cpli_aggregate* a, const cpli_node* node) {
  return node->discrete || (node->part < 0 && a->signals[node->var].kind == CPL_SIGNAL_PARAMETER);
}

//------------------------------------ report.c ------------------------------------

/// The aggregate of a component; NULL: it is of another kind.
cpli_aggregate* cpli_as_aggregate(const cpl_component* c);
extern const char cpli_aggregate_kind[];
cpl_status cpli_aggregate_inspect(const cpl_component* c, int32_t child, cpl_inspection* out);

//------------------------------------ aggregate.c ------------------------------------

/// The name of a node seen from outside.
const char* cpli_node_name(const cpli_aggregate* a, int32_t node);
/// The component of a variable of the aggregate; -1: a signal.
int32_t cpli_part_of(const cpli_aggregate* a, int32_t var);

/// Update all nodes for a caller who reads values.
cpl_status cpli_aggregate_compute(cpli_aggregate* a);
/// Gradients of linear couplings may have parameters as factors; those known are discarded.
void cpli_aggregate_forget_gradients(cpli_aggregate* a);

/// Plans and everything else that follows from the current structure of the components.
cpl_status cpli_aggregate_plan(cpli_aggregate* a);

//------------------------------------ variants.c ------------------------------------

/// After the aggregate is made: it becomes the first variant where components vary.
cpl_status cpli_variants_begin(cpli_aggregate* a);
/// Before the start: all of them where they are few.
cpl_status cpli_variants_prepare(cpli_aggregate* a);
/// The components may have changed their structure: switch to the corresponding variant.
cpl_status cpli_variants_follow(cpli_aggregate* a);
void cpli_variants_destroy(cpli_aggregate* a);  // except the data in the aggregate itself
const cpl_description* cpli_aggregate_structure_at(cpl_model* m, int32_t i);

//------------------------------------ describe.c ------------------------------------

void cpli_aggregate_lay_out(
    cpli_aggregate* a);  // where each component's variables, states and indicators begin
cpl_status cpli_aggregate_describe(cpli_aggregate* a);

//------------------------------------ structure.c ------------------------------------

cpl_status cpli_aggregate_structure(cpli_aggregate* a);  // of its description
/// The states that coupled inputs of each component with constraints depend on, followed by the
/// states that each constraint of the whole depends on: states[first[i]] to states[first[i + 1] -
/// 1]. Owned: both by the caller, also after a failure.
cpl_status cpli_aggregate_reach(cpli_aggregate* a, int32_t** first, int32_t** states);

//------------------------------------ plan.c ------------------------------------

cpl_status cpli_plan_make(cpli_aggregate* a, cpli_eval_plan_kind kind, cpli_eval_plan** out);
void cpli_plan_destroy(cpli_eval_plan* p);
/// Append the operations that update these nodes, which are independent of each other: gets,
/// couplings, sets. Operations from number `since` on may be extended.
cpl_status cpli_plan_extend(cpli_aggregate* a, cpli_eval_plan* p, size_t since,
                            const int32_t* nodes, size_t n);
/// Let the sets of inputs compute the plain couplings among these.
cpl_status cpli_plan_merge(cpli_aggregate* a, cpli_eval_plan* p);

//------------------------------------ segments.c ------------------------------------

/// Divide the operations of a plan into segments, and these into calls. `batch`: one call may
/// evaluate several components; only in continuous time.
cpl_status cpli_segments_make(cpli_aggregate* a, cpli_eval_plan* p, bool batch);
void cpli_segments_free(cpli_eval_plan* p);
/// For tasks of all components, each with the number of its component.
cpl_status cpli_parts_parallel(cpli_aggregate* a, cpli_parallel** out);
/// Execute a task for each component; as cpli_parallel_run().
cpl_status cpli_each_part(cpli_aggregate* a, cpli_parallel* p, cpli_task* task, void* user);
/// The segment that takes longest, to tell whether threads pay. Nullable: there are no threads
const cpli_parallel* cpli_segments_heaviest(const cpli_eval_plan* p);

//------------------------------------ batch.c ------------------------------------

/// Put couplings of each operation that compute the same next to each other.
cpl_status cpli_plan_batch(cpli_aggregate* a, cpli_eval_plan* p);
cpl_status cpli_batch_evaluate(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_batch* b);

//------------------------------------ verify.c ------------------------------------

/// Whether the components' outputs depend only on the inputs given in their descriptions; marks
/// those that do not.
cpl_status cpli_aggregate_verify(cpli_aggregate* a, bool* distrust);

//------------------------------------ evaluate.c ------------------------------------

/// Update all nodes at the current point.
cpl_status cpli_evaluate(cpli_aggregate* a);
/// And read the derivatives, of each component as soon as its inputs are set.
cpl_status cpli_evaluate_derivatives(cpli_aggregate* a, double* dx);
/// In continuous time a component is given time and states right before its first call at a point,
/// which an evaluation does by itself. Everything else that calls components gives it to all first.
cpl_status cpli_give_point(cpli_aggregate* a);
/// Components have another point now: that of a restored state, or of a reset.
void cpli_forget_point(cpli_aggregate* a);
/// Execute a plan.
cpl_status cpli_walk_segments(cpli_aggregate* a, const cpli_eval_plan* p);
/// Execute some ops of a plan, one after the other.
cpl_status cpli_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops, size_t n);
cpl_status cpli_coupling_value(cpli_aggregate* a, cpli_coupling_edge* l, double* out);
double cpli_node_nominal(const cpli_aggregate* a, int32_t node);  // nominal of its value
cpl_status cpli_coupling_gradient(cpli_aggregate* a, cpli_coupling_edge* l);
/// A component's partial derivatives at the current point; constant ones are evaluated once. `out`
/// belongs to this jacobian and must be unchanged since the last call. Sets *changed when anything
/// was evaluated.
cpl_status cpli_part_jacobian(cpli_aggregate* a, int32_t part, cpl_jacobian* jac, bool entries,
                              double* out, bool* changed);
void cpli_gather(const cpli_aggregate* a, const int32_t* nodes, int32_t n, double* out);

//------------------------------------ loop.c ------------------------------------

cpl_status cpli_loop_make(cpli_aggregate* a, cpli_eval_plan* p, int32_t block,
                          struct cpli_loop** out);
void cpli_loop_destroy(struct cpli_loop* l);
void cpli_loop_forget(struct cpli_loop* l);                // its cached data
void cpli_loop_forget_run(struct cpli_loop* l);            // and earlier derivatives
void cpli_loop_list(cpli_serial* s, struct cpli_loop* l);  // for the history
int32_t cpli_loop_block(const struct cpli_loop* l);        // its block in plan->blocks
/// Whether a variable of a component, by its index in the whole, is in a loop.
bool cpli_aggregate_in_loop(const cpl_model* aggregate, int32_t var);
cpl_status cpli_loop_solve(cpli_aggregate* a, const cpli_eval_plan* p, struct cpli_loop* l);

typedef struct cpli_torn {
  int32_t n;
  const int32_t* nodes;
  const double* nominals;
} cpli_torn;

/// Whether its equations determine its values at the current point, where it has been solved.
cpl_status cpli_loop_check(cpli_aggregate* a, struct cpli_loop* l, bool* fine);

/// None: it is discrete and has no derivatives.
cpli_torn cpli_loop_torn(const struct cpli_loop* l);
/// From here on, while the rows are given, it is not solved: its torn values get residuals.
void cpli_loop_report(struct cpli_loop* l, double* residuals);

/// The change of a loop's nodes, from the changes of all nodes before them.
cpl_status cpli_loop_direction(cpli_aggregate* a, struct cpli_loop* l);

//------------------------------------ direction.c ------------------------------------

/// *out is NULL, with CPL_OK, when a component has no directional derivatives.
cpl_status cpli_direction_make(cpli_aggregate* a, struct cpli_direction** out);
void cpli_direction_destroy(struct cpli_direction* d);
/// Whether the whole has exact derivatives: all components give theirs, and all couplings have
/// gradients. Nullable: d
bool cpli_direction_exact(const struct cpli_direction* d);
/// Whether that includes all derivatives with respect to Reals that are constant between events.
bool cpli_direction_covers_held(const cpli_aggregate* a);
/// The operation of the component. Knowns are states and continuous inputs of the whole, and Reals
/// that are constant between events of components that have derivatives with respect to them;
/// unknowns are all variables whose change is defined by that of the knowns.
cpl_status cpli_aggregate_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                      const uint32_t* knowns, size_t n_knowns, const double* seed,
                                      double* sensitivity);
/// The Jacobian of the whole times a vector.
cpl_status cpli_jacobian_times(cpl_model* m, const double* v, double* out);
/// Changes of the nodes of some ops, from the changes of their sources.
cpl_status cpli_direction_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops,
                               size_t n);
/// The change of a coupling's target.
cpl_status cpli_coupling_direction(cpli_aggregate* a, cpli_coupling_edge* l, double* out);
double* cpli_direction_of(cpli_aggregate* a, int32_t node);

//------------------------------------ newton.c ------------------------------------

cpl_status cpli_newton_make(cpli_aggregate* a, struct cpli_newton** out);
void cpli_newton_destroy(struct cpli_newton* n);
/// Its next factorisation does not depend on earlier ones. Nullable: n
void cpli_newton_forget(struct cpli_newton* n);
void cpli_newton_forget_run(struct cpli_newton* n);  // and earlier derivatives. Nullable: n
void cpli_newton_list(cpli_serial* s, struct cpli_newton* n);  // for the history
cpl_status cpli_newton_setup(cpl_model* m, double gamma, bool fresh);
cpl_status cpli_newton_border(cpl_model* m, const cpl_border* b);
cpl_status cpli_newton_solve(cpl_model* m, const double* r, double* dx);

//------------------------------------ rows.c ------------------------------------

cpl_status cpli_rows_use(cpl_model* m, size_t* n);
cpl_status cpli_rows_set(cpl_model* m, const double* z);
cpl_status cpli_rows_get(cpl_model* m, double* z);
cpl_status cpli_rows_nominals(cpl_model* m, double* nominals);
cpl_status cpli_rows_residuals(cpl_model* m, double* g);
/// After new plans were made: an error unless the loops are the same.
cpl_status cpli_rows_match(cpli_aggregate* a);

//------------------------------------ groups.c ------------------------------------

// Components without a path between them, numbered from 0 in the order of the first component of
// each. Signals that may be copied, such as parameters and smooth functions of time, connect
// nothing.
typedef struct cpli_groups {
  cpl_context* ctx;
  int32_t n;
  int32_t* of_part;
  int32_t* of_signal;  // -1: a copy in each group that uses it
  int32_t* of_event;   // external ones
} cpli_groups;

cpl_status cpli_groups_find(const cpli_aggregate* a, cpli_groups* out);
void cpli_groups_free(cpli_groups* g);
cpl_status cpli_aggregate_split(cpl_model* m, cpl_subsystems* out);

//------------------------------------ constraints.c ------------------------------------

/// Takes over the constraints of the definition.
cpl_status cpli_constraints_take(cpli_aggregate* a, const cpl_aggregate_def* def);
/// Sets the operations for them and for those of the components in a->ops.
cpl_status cpli_constraints_make(cpli_aggregate* a);

//------------------------------------ gradients.c ------------------------------------

cpl_status cpli_gradients_make(cpli_aggregate* a, struct cpli_gradients** out);
void cpli_gradients_destroy(struct cpli_gradients* g);  // Nullable: g
void cpli_gradients_recount(struct cpli_gradients* g);  // other constraints may be active. Nullable
/// Operations of the model.
cpl_status cpli_gradients_pattern(cpl_model* m, const int32_t** first, const int32_t** column);
cpl_status cpli_gradients_entries(cpl_model* m, double* out);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_aggregate_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_aggregate_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_aggregate_forget(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_aggregate_to_bytes(cpl_component* c, const cpl_snapshot* snapshot,
                                   cpl_binary* bytes);
cpl_status cpli_aggregate_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                     cpl_snapshot* snapshot);
cpl_status cpli_aggregate_get_history(cpl_component* c, cpl_binary* bytes, bool* complete);
cpl_status cpli_aggregate_set_history(cpl_component* c, const cpl_binary* bytes);
void cpli_aggregate_forget_kept(cpli_aggregate* a);  // cached data
void cpli_aggregate_forget_run(cpli_aggregate* a);   // everything that an earlier run has left
/// The same of earlier times at which the current structure was that of the aggregate.
void cpli_aggregate_forget_occurrence(cpli_aggregate* a);

//------------------------------------ indicators.c ------------------------------------

/// Once the plans are made: what is needed for them, and for the end of a step.
cpl_status cpli_indicators_plan(cpli_aggregate* a);
/// The values that comparisons and conditions depend on.
cpl_status cpli_evaluate_conditions(cpli_aggregate* a);
cpl_status cpli_aggregate_indicators(cpl_model* m, double* z);
void cpli_aggregate_name_indicator(const cpl_model* m, size_t indicator, char* out, size_t size);

//------------------------------------ events.c ------------------------------------

cpl_status cpli_aggregate_enter_event(cpl_model* m);
cpl_status cpli_aggregate_event_update(cpl_model* m, cpl_event_info* info);
cpl_break cpli_aggregate_next_break(cpl_model* m, double t, double tolerance);
cpl_status cpli_aggregate_accept(cpli_aggregate* a);  // after an accepted step, at its end
cpl_status cpli_aggregate_settle_start(
    cpli_aggregate* a);  // conditions and comparisons at the start
