// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of FMI 1.0 in the host.
#include <string.h>

#include "fmi/foreign/host_calls.h"

static void on_message(fmiComponent component, fmiString instance, fmiStatus status,
                       fmiString category, fmiString message, ...) {
  va_list args;
  (void)component;
  (void)instance;
  va_start(args, message);
  host_message((int)status, category, message, args);
  va_end(args);
}

static int serve_fmiInstantiateModel(wire_call* c) {
  static const fmiModelCallbackFunctions functions = {
      .logger = on_message, .allocateMemory = host_allocate, .freeMemory = host_release};
  the_host.instance = FN(fmiInstantiateModel)(host_kept_text(c, 0), host_kept_text(c, 1), functions,
                                              (fmiBoolean)host_integer(c, 2));
  return the_host.instance != NULL ? fmiOK : fmiError;
}

static int serve_fmiInstantiateSlave(wire_call* c) {
  static const fmiSlaveCallbackFunctions functions = {
      .logger = on_message, .allocateMemory = host_allocate, .freeMemory = host_release};
  the_host.instance = FN(fmiInstantiateSlave)(
      host_kept_text(c, 0), host_kept_text(c, 1), host_kept_text(c, 2), host_kept_text(c, 3),
      host_real(c, 4), (fmiBoolean)host_integer(c, 5), (fmiBoolean)host_integer(c, 6), functions,
      (fmiBoolean)host_integer(c, 7));
  return the_host.instance != NULL ? fmiOK : fmiError;
}

static int serve_fmiInitializeSlave(wire_call* c) {
  return CALL(fmiInitializeSlave, host_real(c, 0), (fmiBoolean)host_integer(c, 1), host_real(c, 2));
}

static fmiEventInfo info_of(const wire_call* c, int i) {
  const char* flags = host_array(c, i);
  return (fmiEventInfo){flags[0], flags[1], flags[2],
                        flags[3], flags[4], *(double*)host_array(c, i + 1)};
}

static void give_info(const fmiEventInfo* info, wire_call* c, int i) {
  char* flags = host_array(c, i);
  flags[0] = info->iterationConverged;
  flags[1] = info->stateValueReferencesChanged;
  flags[2] = info->stateValuesChanged;
  flags[3] = info->terminateSimulation;
  flags[4] = info->upcomingTimeEvent;
  *(double*)host_array(c, i + 1) = info->nextEventTime;
}

static int serve_fmiInitialize(wire_call* c) {
  fmiEventInfo info = info_of(c, 2);
  const int status = CALL(fmiInitialize, (fmiBoolean)host_integer(c, 0), host_real(c, 1), &info);
  give_info(&info, c, 2);
  return status;
}

static int serve_fmiEventUpdate(wire_call* c) {
  fmiEventInfo info = info_of(c, 1);
  const int status = CALL(fmiEventUpdate, (fmiBoolean)host_integer(c, 0), &info);
  give_info(&info, c, 1);
  return status;
}

static int serve_fmiDoStep(wire_call* c) {
  return CALL(fmiDoStep, host_real(c, 0), host_real(c, 1), (fmiBoolean)host_integer(c, 2));
}

int host_call_fmi1(wire_call* c) {
  switch (c->function) {
    WIRE_FORWARDED1(SERVE)
    default: return fmiError;
  }
}
