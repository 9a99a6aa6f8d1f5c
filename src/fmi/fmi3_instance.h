// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An instance of an FMI 3.0 FMU: the part that model exchange, co-simulation and scheduled
// execution share. fmi3_values.c has the values: elements of arrays are references of the
// description, an array is one reference of the FMU. fmi3_clocks.c has the clocks and when they
// tick, fmi3_clocked.c the variables that belong to clocks, fmi3_scheduled.c the model partitions.
#pragma once

#include "fmi/calls.h"
#include "fmi/fmi3_functions.h"

// An input clock, which the importer activates at times that the FMU returns, or when it is
// triggered from outside.
typedef struct cpli_ticking {
  const cpli_clock* clock;
  uint32_t value_ref;
  double interval;  // [s]
  double since;     // the tick that the next ones are counted from
  int64_t count;    // of ticks since then
  double next;      // INFINITY: not known
  double last;      // scheduled execution: when it ticked last; -INFINITY: not yet
  bool active;      // in this round of events
} cpli_ticking;

// References of a call, with room for all elements of their arrays.
typedef struct cpli_fmi3_group {
  uint32_t* refs;  // of the FMU
  size_t* at;      // the index of the value of each element among those of the call
  double* values;  // of derivatives
  size_t n_refs, n_values;
  size_t taken;   // elements
  bool straight;  // the values are in the order of the elements, with none between
} cpli_fmi3_group;

// Known future events other than ticks of clocks.
typedef struct cpli_fmi3_events {
  bool pending;      // one is due before the next step
  bool terminated;   // the FMU requested the end in one
  int32_t rounds;    // updates of the event that is not over yet
  double next;       // of the FMU itself
  double tick_time;  // of the output clocks that are noted as active
  // results of the updates of the present event: an FMU may return them in one update only
  bool terminate, nominals_changed, states_changed, timed;
  double time;
} cpli_fmi3_events;

// The access to a variable; variables without clocks are always open.
typedef enum cpli_gate {
  CPLI_OPEN,
  CPLI_CLOSED,   // its clocks are not active
  CPLI_WAITING,  // closed, and it was set: for the next tick
  CPLI_DUE,      // its clock ticks: it is about to be set
} cpli_gate;

// A String or a Binary as it was last.
typedef struct cpli_fmi3_text {
  uint8_t* data;
  size_t size, cap;
} cpli_fmi3_text;

// A continuous input of a co-simulation FMU that can be set during its steps.
typedef struct cpli_fmi3_input {
  uint32_t ref;
  bool intermediate;  // may be set in intermediate updates; else it is constant over a step
  bool given;         // the curve is for the next step
  cpl_curve curve;
} cpli_fmi3_input;

typedef struct cpli_fmi3 {
  cpli_fmu_instance base;
  bool event_mode;    // co-simulation with event mode; scheduled execution
  bool as_residuals;  // model exchange: algebraic variables are set from outside
  cpli_fmi3_events events;
  cpli_ticking* ticking;  // scheduled execution: in the order of priorities
  int32_t n_ticking;
  // callbacks of the FMU, in which values are read and set in the middle of a call
  bool updating;             // one is under way
  cpl_status update_status;  // of the first call in them that failed
  bool* ticked;              // by clock: an output clock that ticked in the present partition
  cpli_fmi3_input* inputs;   // of intermediate updates; NULL: there are none
  int32_t n_inputs;
  uint32_t* intermediate_refs;  // of the FMU: those that are set in intermediate updates
  size_t n_intermediate;
  uint32_t* input_refs;  // scratch of one call
  double* input_values;
  bool asked_for_inputs;  // in the present step

  // conversion buffers; sizes are those of all elements together
  cpli_fmi3_group left, right;
  size_t room;
  void* buffer;           // in the FMU's own types
  const uint8_t** bytes;  // of binaries
  size_t* sizes;          // of binaries
  int32_t* var_of;        // by reference of the description: its first variable
  // by reference of the description: what was set last, since an array is set as a whole
  double* reals;
  int64_t* integers;
  bool* known;
  cpli_fmi3_text* texts;  // of clocked Strings and Binaries; NULL: there are none
  uint8_t* gates;         // cpli_gate
  cpli_clocked* clocked;  // variables that have gates; clock -1: it opens with every clock
  int32_t n_clocked;
  uint32_t* clocked_refs;
  void* clocked_values;
  // of algebraic variables, of their nominals, of residuals and of those before differentiation
  uint32_t *algebraic_refs, *nominal_refs, *residual_refs, *formulation_refs;
} cpli_fmi3;

static inline const cpli_fmi3_functions* cpli_fmi3_fn(const cpli_fmi3* in) {
  return in->base.functions;
}

/// Owned: *out by the caller, who calls cpli_instance_destroy().
cpl_status cpli_fmi3_create(cpl_source* src, const char* name, const cpli_fmu_kind* kind,
                            cpli_fmi3** out);

/// The structural parameters that the FMU was opened with, and the form with residuals.
cpl_status cpli_fmi3_configure(cpli_fmi3* in);
/// Put the operations of algebraic variables into the table of a model (fmi3_residuals.c).
cpl_status cpli_fmi3_offer_residuals(cpli_fmi3* in);
void cpli_fmi3_residuals_release(cpli_fmi3* in);

/// Starts an event: clears the results of earlier updates.
void cpli_fmi3_begin_event(cpli_fmi3* in);
/// Between values that are set in different modes: leave configuration mode, and an event that was
/// begun to set discrete inputs of a co-simulation FMU.
cpl_status cpli_fmi3_settle(cpli_fmi3* in);
/// A discrete input of a co-simulation FMU is set in event mode.
cpl_status cpli_fmi3_open_event(cpli_fmi3* in);
/// One update of an event (co-simulation), and back to step mode where the FMU requests no
/// other one; events.rounds is 0 then.
cpl_status cpli_fmi3_event_round(cpli_fmi3* in);
/// All updates of an event.
cpl_status cpli_fmi3_finish_event(cpli_fmi3* in);

//------------------------------------ fmi3_values.c ------------------------------------

cpl_status cpli_fmi3_values_prepare(cpli_fmi3* in);
void cpli_fmi3_values_release(cpli_fmi3* in);
void cpli_fmi3_values_forget(cpli_fmi3* in);  // drop the values that were set last
uint32_t cpli_fmi3_value_ref(const cpli_fmi3* in, uint32_t ref);

cpl_status cpli_fmi3_get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values);
cpl_status cpli_fmi3_set_real(cpl_component* c, const uint32_t* refs, size_t n,
                              const double* values);
/// The same in whatever mode the FMU is now.
cpl_status cpli_fmi3_read_real(cpli_fmi3* in, const uint32_t* refs, size_t n, double* values);
cpl_status cpli_fmi3_read_integer(cpli_fmi3* in, cpl_type type, const uint32_t* refs, size_t n,
                                  int64_t* values);
cpl_status cpli_fmi3_get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                 int64_t* values);
cpl_status cpli_fmi3_set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                 const int64_t* values);
cpl_status cpli_fmi3_read_string(cpli_fmi3* in, const uint32_t* refs, size_t n,
                                 const char** values);
cpl_status cpli_fmi3_read_binary(cpli_fmi3* in, const uint32_t* refs, size_t n, cpl_binary* values);
cpl_status cpli_fmi3_get_string(cpl_component* c, const uint32_t* refs, size_t n,
                                const char** values);
cpl_status cpli_fmi3_set_string(cpl_component* c, const uint32_t* refs, size_t n,
                                const char* const* values);
cpl_status cpli_fmi3_get_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                cpl_binary* values);
cpl_status cpli_fmi3_set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                const cpl_binary* values);
cpl_status cpli_fmi3_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                 const uint32_t* knowns, size_t n_knowns, const double* seed,
                                 double* sensitivity);

//------------------------------------ fmi3_clocks.c ------------------------------------

cpl_status cpli_fmi3_clocks_prepare(cpli_fmi3* in);
void cpli_fmi3_clocks_release(cpli_fmi3* in);
/// Before initialisation: none is due.
void cpli_fmi3_clocks_reset(cpli_fmi3* in);
/// In initialisation mode: read the times of the first ticks.
cpl_status cpli_fmi3_clocks_start(cpli_fmi3* in);
/// An input clock is triggered from outside; it ticks in the next event.
cpl_status cpli_fmi3_clocks_trigger(cpli_fmi3* in, uint32_t ref);
/// True when a clock ticks now. Times that differ by rounding are the same instant, as are
/// multiples of 0.1 and of 0.3.
bool cpli_fmi3_clock_due(const cpli_fmi3* in, const cpli_ticking* k);
/// In event mode: activate the clocks that are due.
cpl_status cpli_fmi3_clocks_tick(cpli_fmi3* in);
/// The tick that was due is over.
void cpli_fmi3_clock_pass(cpli_ticking* k);
/// After an update: read the time of the next tick. `ticked`: the clock ticked in the update.
cpl_status cpli_fmi3_clock_ask(cpli_fmi3* in, cpli_ticking* k, bool ticked);
/// Output clocks that ticked in the last event count until this is called, or the time is another.
void cpli_fmi3_clocks_forget(cpli_fmi3* in);
/// The next tick of any; INFINITY: none.
double cpli_fmi3_clocks_time(const cpli_fmi3* in);
/// True when any clock ticks now.
bool cpli_fmi3_clocks_due(const cpli_fmi3* in);
/// One round of an event, clocks included.
cpl_status cpli_fmi3_update(cpli_fmi3* in, cpl_event_info* info);

//------------------------------------ fmi3_inputs.c ------------------------------------

/// List the inputs that follow curves through intermediate updates; n_inputs is 0 without any.
cpl_status cpli_fmi3_inputs_prepare(cpli_fmi3* in);
void cpli_fmi3_inputs_release(cpli_fmi3* in);
/// Offer curves of inputs, where the FMU accepts inputs in intermediate updates.
void cpli_fmi3_offer_inputs(cpli_fmi3* in);
/// Called before and after a step: inputs without intermediate updates are set constant.
cpl_status cpli_fmi3_inputs_begin(cpli_fmi3* in, double t_end);
cpl_status cpli_fmi3_inputs_end(cpli_fmi3* in, double t_end);
/// Called when the FMU requests its inputs at t within a step.
void cpli_fmi3_inputs_at(cpli_fmi3* in, double t);

//------------------------------------ fmi3_scheduled.c ------------------------------------

/// Run the model partitions that are due, the most urgent first, until none is left.
cpl_status cpli_fmi3_run_partitions(cpli_fmi3* in);
/// Called when an output clock ticked or a countdown clock has an interval.
void cpli_fmi3_clock_update(cpli_fmi3* in);

//------------------------------------ fmi3_clocked.c ------------------------------------

cpl_status cpli_fmi3_clocked_prepare(cpli_fmi3* in);
void cpli_fmi3_clocked_release(cpli_fmi3* in);
/// Close all clocked variables, as before initialisation.
void cpli_fmi3_clocked_reset(cpli_fmi3* in);
/// In initialisation mode: open all, and set the values that were given before.
cpl_status cpli_fmi3_clocked_open(cpli_fmi3* in);
/// A clock is active: open its variables, and set the values that were given before.
cpl_status cpli_fmi3_clocked_tick(cpli_fmi3* in, uint32_t clock_ref);
/// In event mode: read which of the FMU's own clocks are active.
cpl_status cpli_fmi3_clocked_ask(cpli_fmi3* in);
/// Read the open ones, before they are closed.
cpl_status cpli_fmi3_clocked_read(cpli_fmi3* in);
void cpli_fmi3_clocked_close(cpli_fmi3* in);
/// A closed variable was set: its value is kept for the next tick.
void cpli_fmi3_clocked_wait(cpli_fmi3* in, uint32_t ref);

//------------------------------------ fmi3_texts.c ------------------------------------

cpl_status cpli_fmi3_texts_prepare(cpli_fmi3* in);
void cpli_fmi3_texts_release(cpli_fmi3* in);
/// Reset them to their start values.
cpl_status cpli_fmi3_texts_reset(cpli_fmi3* in);
/// Read the open ones, before they are closed.
cpl_status cpli_fmi3_texts_read(cpli_fmi3* in);
/// Set a value that was kept for a tick.
cpl_status cpli_fmi3_text_set(cpli_fmi3* in, const cpl_variable* v);
cpl_status cpli_fmi3_text_keep(cpli_fmi3* in, uint32_t ref, const void* data, size_t size);
const char* cpli_fmi3_text_string(const cpli_fmi3* in, uint32_t ref);
cpl_binary cpli_fmi3_text_binary(const cpli_fmi3* in, uint32_t ref);
/// All of them as bytes.
size_t cpli_fmi3_texts_size(const cpli_fmi3* in);
void cpli_fmi3_texts_save(const cpli_fmi3* in, char* to);
cpl_status cpli_fmi3_texts_restore(cpli_fmi3* in, const char* from, size_t size);
