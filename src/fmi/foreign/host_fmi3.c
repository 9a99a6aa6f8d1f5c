// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of FMI 3.0 in the host, and its callbacks, which interrupt them.
#include <stdio.h>
#include <string.h>

#include "fmi/foreign/host_calls.h"

//------------------------------------ callbacks ------------------------------------

static void say(int status, const char* category, const char* format, ...) {
  va_list args;
  va_start(args, format);
  host_message(status, category, format, args);
  va_end(args);
}

// Unlike in earlier versions the message is no format.
static void on_message(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                       fmi3String message) {
  (void)environment;
  if (message != NULL) say((int)status, category, "%s", message);
}

static void on_update(fmi3InstanceEnvironment environment, fmi3Float64 time, fmi3Boolean set,
                      fmi3Boolean get, fmi3Boolean finished, fmi3Boolean can_return,
                      fmi3Boolean* return_early, fmi3Float64* return_time) {
  wire_call* c = host_begin_callback();
  (void)environment;
  c->args[0].value.real = time;
  c->args[1].value.integer = set;
  c->args[2].value.integer = get;
  c->args[3].value.integer = finished;
  c->args[4].value.integer = can_return;
  host_callback(c, WIRE_UPDATE);
  if (return_early != NULL) *return_early = c->args[5].value.integer != 0;
  if (return_time != NULL) *return_time = c->args[6].value.real;
}

static void on_clock_update(fmi3InstanceEnvironment environment) {
  (void)environment;
  host_callback(host_begin_callback(), WIRE_CLOCK_UPDATE);
}

static void on_preemption(void) {}

//------------------------------------ life cycle ------------------------------------

static int made(fmi3Instance instance) {
  the_host.instance = instance;
  return instance != NULL ? fmi3OK : fmi3Error;
}

static int serve_fmi3InstantiateModelExchange(wire_call* c) {
  return made(FN(fmi3InstantiateModelExchange)(host_kept_text(c, 0), host_kept_text(c, 1),
                                               host_kept_text(c, 2), host_integer(c, 3) != 0,
                                               host_integer(c, 4) != 0, &the_host, on_message));
}

static int serve_fmi3InstantiateCoSimulation(wire_call* c) {
  const size_t n = host_count(c, 7);
  return made(FN(fmi3InstantiateCoSimulation)(
      host_kept_text(c, 0), host_kept_text(c, 1), host_kept_text(c, 2), host_integer(c, 3) != 0,
      host_integer(c, 4) != 0, host_integer(c, 5) != 0, host_integer(c, 6) != 0,
      n > 0 ? host_array(c, 7) : NULL, n, &the_host, on_message,
      host_integer(c, 8) != 0 ? on_update : NULL));
}

static int serve_fmi3InstantiateScheduledExecution(wire_call* c) {
  return made(FN(fmi3InstantiateScheduledExecution)(host_kept_text(c, 0), host_kept_text(c, 1),
                                                    host_kept_text(c, 2), host_integer(c, 3) != 0,
                                                    host_integer(c, 4) != 0, &the_host, on_message,
                                                    on_clock_update, on_preemption, on_preemption));
}

static int serve_fmi3EnterInitializationMode(wire_call* c) {
  return CALL(fmi3EnterInitializationMode, host_integer(c, 0) != 0, host_real(c, 1),
              host_real(c, 2), host_integer(c, 3) != 0, host_real(c, 4));
}

//------------------------------------ values ------------------------------------

static int serve_fmi3GetString(wire_call* c) {
  const char** texts = host_blocks(c, 1);
  const int status =
      CALL(fmi3GetString, host_array(c, 0), host_count(c, 0), texts, host_count(c, 1));
  if (status <= fmi3Warning) host_return(c, 1, texts, NULL);
  return status;
}

static int serve_fmi3SetString(wire_call* c) {
  return CALL(fmi3SetString, host_array(c, 0), host_count(c, 0), host_blocks(c, 1),
              host_count(c, 1));
}

static int serve_fmi3GetBinary(wire_call* c) {
  const char** values = host_blocks(c, 1);
  size_t* sizes = host_sizes(c, 1);
  const int status = CALL(fmi3GetBinary, host_array(c, 0), host_count(c, 0), sizes,
                          (fmi3Binary*)values, host_count(c, 1));
  if (status <= fmi3Warning) host_return(c, 1, values, sizes);
  return status;
}

static int serve_fmi3SetBinary(wire_call* c) {
  return CALL(fmi3SetBinary, host_array(c, 0), host_count(c, 0), host_sizes(c, 1),
              (const fmi3Binary*)host_blocks(c, 1), host_count(c, 1));
}

static int serve_fmi3GetDirectionalDerivative(wire_call* c) {
  return CALL(fmi3GetDirectionalDerivative, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_count(c, 1), host_array(c, 2), host_count(c, 2), host_array(c, 3),
              host_count(c, 3));
}

static int serve_fmi3GetAdjointDerivative(wire_call* c) {
  return CALL(fmi3GetAdjointDerivative, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_count(c, 1), host_array(c, 2), host_count(c, 2), host_array(c, 3),
              host_count(c, 3));
}

//------------------------------------ events ------------------------------------

static int serve_fmi3GetIntervalDecimal(wire_call* c) {
  return CALL(fmi3GetIntervalDecimal, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_array(c, 2));
}

static int serve_fmi3GetIntervalFraction(wire_call* c) {
  return CALL(fmi3GetIntervalFraction, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_array(c, 2), host_array(c, 3));
}

static int serve_fmi3GetShiftFraction(wire_call* c) {
  return CALL(fmi3GetShiftFraction, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_array(c, 2));
}

static int serve_fmi3UpdateDiscreteStates(wire_call* c) {
  return CALL(fmi3UpdateDiscreteStates, host_array(c, 0), host_array(c, 1), host_array(c, 2),
              host_array(c, 3), host_array(c, 4), host_array(c, 5));
}

static int serve_fmi3CompletedIntegratorStep(wire_call* c) {
  return CALL(fmi3CompletedIntegratorStep, host_integer(c, 0) != 0, host_array(c, 1),
              host_array(c, 2));
}

//------------------------------------ steps ------------------------------------

static int serve_fmi3DoStep(wire_call* c) {
  return CALL(fmi3DoStep, host_real(c, 0), host_real(c, 1), host_integer(c, 2) != 0,
              host_array(c, 3), host_array(c, 4), host_array(c, 5), host_array(c, 6));
}

static int serve_fmi3ActivateModelPartition(wire_call* c) {
  return CALL(fmi3ActivateModelPartition, (fmi3ValueReference)c->args[0].value.integer,
              host_real(c, 1));
}

static int serve_fmi3GetOutputDerivatives(wire_call* c) {
  return CALL(fmi3GetOutputDerivatives, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_array(c, 2), host_count(c, 2));
}

static int serve_coupletSetInputDerivatives3(wire_call* c) {
  return CALL(coupletSetInputDerivatives3, host_array(c, 0), host_array(c, 1), host_count(c, 0),
              host_array(c, 2), host_array(c, 3));
}

int host_call_fmi3(wire_call* c) {
  switch (c->function) {
    WIRE_FORWARDED3(SERVE)
    default: return fmi3Error;
  }
}
