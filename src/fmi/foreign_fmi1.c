// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 1.0 of a binary for another platform.
#include "fmi/foreign_stubs.h"

#define STATUS fmiStatus

static fmiComponent stub_fmiInstantiateModel(fmiString name, fmiString guid,
                                             fmiModelCallbackFunctions functions,
                                             fmiBoolean logging) {
  cpli_foreign* f = cpli_foreign_selected();
  (void)functions;
  if (f == NULL) return NULL;
  const int status = (int)FORWARD(f, fmiInstantiateModel, CPLI_TEXT_IN(name), CPLI_TEXT_IN(guid),
                                  CPLI_INTEGER(logging));
  return status == CPLI_FMU_OK ? f : NULL;
}

static fmiComponent stub_fmiInstantiateSlave(fmiString name, fmiString guid, fmiString location,
                                             fmiString mime_type, fmiReal timeout,
                                             fmiBoolean visible, fmiBoolean interactive,
                                             fmiSlaveCallbackFunctions functions,
                                             fmiBoolean logging) {
  cpli_foreign* f = cpli_foreign_selected();
  (void)functions;
  if (f == NULL) return NULL;
  const int status =
      (int)FORWARD(f, fmiInstantiateSlave, CPLI_TEXT_IN(name), CPLI_TEXT_IN(guid),
                   CPLI_TEXT_IN(location), CPLI_TEXT_IN(mime_type), CPLI_REAL(timeout),
                   CPLI_INTEGER(visible), CPLI_INTEGER(interactive), CPLI_INTEGER(logging));
  return status == CPLI_FMU_OK ? f : NULL;
}

static fmiStatus stub_fmiInitializeSlave(fmiComponent c, fmiReal start, fmiBoolean has_stop,
                                         fmiReal stop) {
  return FORWARD(c, fmiInitializeSlave, CPLI_REAL(start), CPLI_INTEGER(has_stop), CPLI_REAL(stop));
}

// The members of the struct, whose padding differs between platforms.
static void flags_of(const fmiEventInfo* info, char flags[5]) {
  flags[0] = info->iterationConverged;
  flags[1] = info->stateValueReferencesChanged;
  flags[2] = info->stateValuesChanged;
  flags[3] = info->terminateSimulation;
  flags[4] = info->upcomingTimeEvent;
}

static void take_flags(fmiEventInfo* info, const char flags[5]) {
  info->iterationConverged = flags[0];
  info->stateValueReferencesChanged = flags[1];
  info->stateValuesChanged = flags[2];
  info->terminateSimulation = flags[3];
  info->upcomingTimeEvent = flags[4];
}

static fmiStatus stub_fmiInitialize(fmiComponent c, fmiBoolean has_tolerance, fmiReal tolerance,
                                    fmiEventInfo* info) {
  char flags[5];
  flags_of(info, flags);
  const fmiStatus status =
      FORWARD(c, fmiInitialize, CPLI_INTEGER(has_tolerance), CPLI_REAL(tolerance),
              CPLI_OUT(flags, CPLI_COUNT(flags)), CPLI_OUT(&info->nextEventTime, 1));
  take_flags(info, flags);
  return status;
}

static fmiStatus stub_fmiEventUpdate(fmiComponent c, fmiBoolean intermediate, fmiEventInfo* info) {
  char flags[5];
  flags_of(info, flags);
  const fmiStatus status =
      FORWARD(c, fmiEventUpdate, CPLI_INTEGER(intermediate), CPLI_OUT(flags, CPLI_COUNT(flags)),
              CPLI_OUT(&info->nextEventTime, 1));
  take_flags(info, flags);
  return status;
}

static fmiStatus stub_fmiDoStep(fmiComponent c, fmiReal t, fmiReal h, fmiBoolean new_step) {
  return FORWARD(c, fmiDoStep, CPLI_REAL(t), CPLI_REAL(h), CPLI_INTEGER(new_step));
}

WIRE_FORWARDED1(STUB)

const cpli_forwarder* cpli_foreign_fmi1(size_t* n) {
  static const cpli_forwarder stubs[] = {WIRE_FORWARDED1(STUB_ROW)};
  *n = CPLI_COUNT(stubs);
  return stubs;
}
