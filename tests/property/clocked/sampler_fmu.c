// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The model pool/sampler.c as an FMI 3.0 FMU with a periodic clock in place of time events: a tick
// samples u, `held` is k u of that time, n counts the ticks. The interval of the clock is a
// parameter, and the first tick comes one interval after the start.
#include <stdlib.h>
#include <string.h>

#include "fmi3Functions.h"

enum { TIME, U, PERIOD, K, TICK, HELD, N };

typedef struct sampler {
  double real[HELD + 1];  // by reference
  int32_t n;
  bool active;
} sampler;

const char* fmi3GetVersion(void) { return "3.0"; }

static sampler* make(void) {
  sampler* s = calloc(1, sizeof *s);
  if (s != NULL) s->real[PERIOD] = s->real[K] = 1;
  return s;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment;
  (void)log;
  return make();
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                         fmi3Boolean visible, fmi3Boolean logging,
                                         fmi3Boolean event_mode, fmi3Boolean early,
                                         const fmi3ValueReference* required, size_t n_required,
                                         fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment;
  (void)early, (void)required, (void)n_required, (void)log, (void)update;
  return event_mode ? make() : NULL;
}

void fmi3FreeInstance(fmi3Instance c) { free(c); }

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance,
                                       fmi3Float64 tolerance, fmi3Float64 start,
                                       fmi3Boolean has_stop, fmi3Float64 stop) {
  (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
  ((sampler*)c)->real[TIME] = start;
  return fmi3OK;
}

#define NOTHING(function)               \
  fmi3Status function(fmi3Instance c) { \
    (void)c;                            \
    return fmi3OK;                      \
  }
NOTHING(fmi3ExitInitializationMode)
NOTHING(fmi3EnterEventMode)
NOTHING(fmi3EnterContinuousTimeMode)
NOTHING(fmi3EnterStepMode)
NOTHING(fmi3Terminate)

fmi3Status fmi3Reset(fmi3Instance c) {
  sampler* s = c;
  *s = (sampler){.real = {[PERIOD] = 1, [K] = 1}};
  return fmi3OK;
}

//------------------------------------ values ------------------------------------

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          fmi3Float64* values, size_t n_values) {
  sampler* s = c;
  if (s->active) s->real[HELD] = s->real[K] * s->real[U];
  for (size_t i = 0; i < n; i++) {
    if (refs[i] > HELD || n != n_values) return fmi3Error;
    values[i] = s->real[refs[i]];
  }
  return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          const fmi3Float64* values, size_t n_values) {
  sampler* s = c;
  for (size_t i = 0; i < n; i++) {
    if (refs[i] > HELD || n != n_values) return fmi3Error;
    s->real[refs[i]] = values[i];
  }
  return fmi3OK;
}

fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference* refs, size_t n, fmi3Int32* values,
                        size_t n_values) {
  for (size_t i = 0; i < n; i++) {
    if (refs[i] != N || n != n_values) return fmi3Error;
    values[i] = ((const sampler*)c)->n;
  }
  return fmi3OK;
}

fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                        const fmi3Int32* values, size_t n_values) {
  for (size_t i = 0; i < n; i++) {
    if (refs[i] != N || n != n_values) return fmi3Error;
    ((sampler*)c)->n = values[i];
  }
  return fmi3OK;
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState* state) {
  if (*state == NULL) *state = malloc(sizeof(sampler));
  if (*state == NULL) return fmi3Error;
  memcpy(*state, c, sizeof(sampler));
  return fmi3OK;
}
fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state) {
  memcpy(c, state, sizeof(sampler));
  return fmi3OK;
}
fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState* state) {
  (void)c;
  free(*state);
  *state = NULL;
  return fmi3OK;
}

//------------------------------------ the clock ------------------------------------

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                        fmi3Clock* values) {
  for (size_t i = 0; i < n; i++) values[i] = refs[i] == TICK && ((const sampler*)c)->active;
  return fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                        const fmi3Clock* values) {
  sampler* s = c;
  for (size_t i = 0; i < n; i++) {
    if (refs[i] != TICK) return fmi3Error;
    s->n += values[i] && !s->active;
    s->active = values[i];
  }
  return fmi3OK;
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                                  fmi3Float64* intervals, fmi3IntervalQualifier* qualifiers) {
  (void)refs;
  for (size_t i = 0; i < n; i++)
    intervals[i] = ((const sampler*)c)->real[PERIOD], qualifiers[i] = fmi3IntervalChanged;
  return fmi3OK;
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                               fmi3Float64* shifts) {
  (void)refs;
  for (size_t i = 0; i < n; i++) shifts[i] = ((const sampler*)c)->real[PERIOD];
  return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean* again, fmi3Boolean* terminate,
                                    fmi3Boolean* nominals, fmi3Boolean* states, fmi3Boolean* timed,
                                    fmi3Float64* next) {
  sampler* s = c;
  (void)next;
  *again = *terminate = *nominals = *states = *timed = false;
  if (s->active) s->real[HELD] = s->real[K] * s->real[U];
  s->active = false;
  return fmi3OK;
}

//------------------------------------ time ------------------------------------

// There are neither states nor indicators.
#define NO_VALUES(function, type)                               \
  fmi3Status function(fmi3Instance c, type* values, size_t n) { \
    (void)c, (void)values;                                      \
    return n == 0 ? fmi3OK : fmi3Error;                         \
  }
NO_VALUES(fmi3SetContinuousStates, const fmi3Float64)
NO_VALUES(fmi3GetContinuousStates, fmi3Float64)
NO_VALUES(fmi3GetContinuousStateDerivatives, fmi3Float64)
NO_VALUES(fmi3GetNominalsOfContinuousStates, fmi3Float64)
NO_VALUES(fmi3GetEventIndicators, fmi3Float64)

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time) {
  ((sampler*)c)->real[TIME] = time;
  return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_way_back, fmi3Boolean* event,
                                       fmi3Boolean* terminate) {
  (void)c, (void)no_way_back;
  *event = *terminate = false;
  return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_way_back,
                      fmi3Boolean* event, fmi3Boolean* terminate, fmi3Boolean* early,
                      fmi3Float64* reached) {
  (void)no_way_back;
  *event = *terminate = *early = false;
  ((sampler*)c)->real[TIME] = *reached = t + h;
  return fmi3OK;
}
