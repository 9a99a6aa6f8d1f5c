// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 3.0 of a binary for another platform, and its callbacks.
#include "fmi/foreign_stubs.h"

#define STATUS fmi3Status

//------------------------------------ life cycle ------------------------------------

static fmi3Instance stub_fmi3InstantiateModelExchange(fmi3String name, fmi3String token,
                                                      fmi3String resources, fmi3Boolean visible,
                                                      fmi3Boolean logging,
                                                      fmi3InstanceEnvironment environment,
                                                      fmi3LogMessageCallback log) {
  cpli_foreign* f = cpli_foreign_selected();
  (void)environment, (void)log;  // the host has its own, whose messages arrive with the answers
  if (f == NULL) return NULL;
  const int status =
      (int)FORWARD(f, fmi3InstantiateModelExchange, CPLI_TEXT_IN(name), CPLI_TEXT_IN(token),
                   CPLI_TEXT_IN(resources), CPLI_INTEGER(visible), CPLI_INTEGER(logging));
  return status == CPLI_FMU_OK ? f : NULL;
}

static fmi3Instance stub_fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
    const fmi3ValueReference intermediate[], size_t n_intermediate,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3IntermediateUpdateCallback on_update) {
  cpli_foreign* f = cpli_foreign_selected();
  (void)log;
  if (f == NULL) return NULL;
  f->environment = environment;
  f->on_update = on_update;
  const int status =
      (int)FORWARD(f, fmi3InstantiateCoSimulation, CPLI_TEXT_IN(name), CPLI_TEXT_IN(token),
                   CPLI_TEXT_IN(resources), CPLI_INTEGER(visible), CPLI_INTEGER(logging),
                   CPLI_INTEGER(event_mode), CPLI_INTEGER(early_return),
                   CPLI_IN(intermediate, n_intermediate), CPLI_INTEGER(on_update != NULL));
  return status == CPLI_FMU_OK ? f : NULL;
}

static fmi3Instance stub_fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback on_clock_update, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock) {
  cpli_foreign* f = cpli_foreign_selected();
  (void)log, (void)lock, (void)unlock;  // nothing preempts
  if (f == NULL) return NULL;
  f->environment = environment;
  f->on_clock_update = on_clock_update;
  const int status =
      (int)FORWARD(f, fmi3InstantiateScheduledExecution, CPLI_TEXT_IN(name), CPLI_TEXT_IN(token),
                   CPLI_TEXT_IN(resources), CPLI_INTEGER(visible), CPLI_INTEGER(logging));
  return status == CPLI_FMU_OK ? f : NULL;
}

static fmi3Status stub_fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance,
                                                   fmi3Float64 tolerance, fmi3Float64 start,
                                                   fmi3Boolean has_stop, fmi3Float64 stop) {
  return FORWARD(c, fmi3EnterInitializationMode, CPLI_INTEGER(has_tolerance), CPLI_REAL(tolerance),
                 CPLI_REAL(start), CPLI_INTEGER(has_stop), CPLI_REAL(stop));
}

//------------------------------------ callbacks ------------------------------------

void cpli_foreign_fmi3_callback(cpli_foreign* f, uint32_t callback, wire_call* c) {
  if (callback == WIRE_CLOCK_UPDATE && f->on_clock_update != NULL)
    f->on_clock_update(f->environment);
  if (callback != WIRE_UPDATE || f->on_update == NULL) return;
  bool early = false;
  double early_time = c->args[0].value.real;
  f->on_update(f->environment, c->args[0].value.real, c->args[1].value.integer != 0,
               c->args[2].value.integer != 0, c->args[3].value.integer != 0,
               c->args[4].value.integer != 0, &early, &early_time);
  c->args[5].value.integer = early;
  c->args[6].value.real = early_time;
}

//------------------------------------ values ------------------------------------

static fmi3Status stub_fmi3GetString(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                                     fmi3String values[], size_t n_values) {
  const fmi3Status status = FORWARD(c, fmi3GetString, CPLI_IN(refs, n), CPLI_RETURNED(n_values));
  if (status <= fmi3Warning) cpli_foreign_returned(c, 1, values, NULL);
  return status;
}

static fmi3Status stub_fmi3SetString(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                                     const fmi3String values[], size_t n_values) {
  return FORWARD(c, fmi3SetString, CPLI_IN(refs, n), CPLI_TEXTS_IN(values, n_values));
}

static fmi3Status stub_fmi3GetBinary(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                                     size_t sizes[], fmi3Binary values[], size_t n_values) {
  const fmi3Status status = FORWARD(c, fmi3GetBinary, CPLI_IN(refs, n), CPLI_RETURNED(n_values));
  if (status <= fmi3Warning) cpli_foreign_returned(c, 1, (const char**)values, sizes);
  return status;
}

static fmi3Status stub_fmi3SetBinary(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                                     const size_t sizes[], const fmi3Binary values[],
                                     size_t n_values) {
  return FORWARD(c, fmi3SetBinary, CPLI_IN(refs, n), CPLI_BINARIES_IN(values, sizes, n_values));
}

static fmi3Status stub_fmi3GetDirectionalDerivative(
    fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,
    const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
    fmi3Float64 result[], size_t n_result) {
  return FORWARD(c, fmi3GetDirectionalDerivative, CPLI_IN(unknowns, n_unknowns),
                 CPLI_IN(knowns, n_knowns), CPLI_IN(seed, n_seed), CPLI_OUT(result, n_result));
}

static fmi3Status stub_fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknowns[],
                                                size_t n_unknowns,
                                                const fmi3ValueReference knowns[], size_t n_knowns,
                                                const fmi3Float64 seed[], size_t n_seed,
                                                fmi3Float64 result[], size_t n_result) {
  return FORWARD(c, fmi3GetAdjointDerivative, CPLI_IN(unknowns, n_unknowns),
                 CPLI_IN(knowns, n_knowns), CPLI_IN(seed, n_seed), CPLI_OUT(result, n_result));
}

//------------------------------------ events ------------------------------------

static fmi3Status stub_fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference refs[],
                                              size_t n, fmi3Float64 intervals[],
                                              fmi3IntervalQualifier qualifiers[]) {
  return FORWARD(c, fmi3GetIntervalDecimal, CPLI_IN(refs, n), CPLI_OUT(intervals, n),
                 CPLI_OUT(qualifiers, n));
}

static fmi3Status stub_fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference refs[],
                                               size_t n, fmi3UInt64 counters[],
                                               fmi3UInt64 resolutions[],
                                               fmi3IntervalQualifier qualifiers[]) {
  return FORWARD(c, fmi3GetIntervalFraction, CPLI_IN(refs, n), CPLI_OUT(counters, n),
                 CPLI_OUT(resolutions, n), CPLI_OUT(qualifiers, n));
}

static fmi3Status stub_fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference refs[],
                                            size_t n, fmi3UInt64 counters[],
                                            fmi3UInt64 resolutions[]) {
  return FORWARD(c, fmi3GetShiftFraction, CPLI_IN(refs, n), CPLI_OUT(counters, n),
                 CPLI_OUT(resolutions, n));
}

static fmi3Status stub_fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean* again,
                                                fmi3Boolean* terminate, fmi3Boolean* nominals,
                                                fmi3Boolean* states, fmi3Boolean* timed,
                                                fmi3Float64* time) {
  return FORWARD(c, fmi3UpdateDiscreteStates, CPLI_OUT(again, 1), CPLI_OUT(terminate, 1),
                 CPLI_OUT(nominals, 1), CPLI_OUT(states, 1), CPLI_OUT(timed, 1), CPLI_OUT(time, 1));
}

static fmi3Status stub_fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_way_back,
                                                   fmi3Boolean* event, fmi3Boolean* terminate) {
  return FORWARD(c, fmi3CompletedIntegratorStep, CPLI_INTEGER(no_way_back), CPLI_OUT(event, 1),
                 CPLI_OUT(terminate, 1));
}

//------------------------------------ steps ------------------------------------

static fmi3Status stub_fmi3DoStep(fmi3Instance c, fmi3Float64 t, fmi3Float64 h,
                                  fmi3Boolean no_way_back, fmi3Boolean* event,
                                  fmi3Boolean* terminate, fmi3Boolean* early,
                                  fmi3Float64* reached) {
  return FORWARD(c, fmi3DoStep, CPLI_REAL(t), CPLI_REAL(h), CPLI_INTEGER(no_way_back),
                 CPLI_OUT(event, 1), CPLI_OUT(terminate, 1), CPLI_OUT(early, 1),
                 CPLI_OUT(reached, 1));
}

static fmi3Status stub_fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock,
                                                  fmi3Float64 time) {
  return FORWARD(c, fmi3ActivateModelPartition, CPLI_INTEGER(clock), CPLI_REAL(time));
}

static fmi3Status stub_fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference refs[],
                                                size_t n, const fmi3Int32 orders[],
                                                fmi3Float64 values[], size_t n_values) {
  return FORWARD(c, fmi3GetOutputDerivatives, CPLI_IN(refs, n), CPLI_IN(orders, n),
                 CPLI_OUT(values, n_values));
}

static fmi3Status stub_coupletSetInputDerivatives3(fmi3Instance c, const fmi3ValueReference refs[],
                                                   const fmi3Int32 elements[], size_t n,
                                                   const fmi3Int32 orders[],
                                                   const fmi3Float64 values[]) {
  return FORWARD(c, coupletSetInputDerivatives3, CPLI_IN(refs, n), CPLI_IN(elements, n),
                 CPLI_IN(orders, n), CPLI_IN(values, n));
}

WIRE_FORWARDED3(STUB)

const cpli_forwarder* cpli_foreign_fmi3(size_t* n) {
  static const cpli_forwarder stubs[] = {WIRE_FORWARDED3(STUB_ROW)};
  *n = CPLI_COUNT(stubs);
  return stubs;
}
