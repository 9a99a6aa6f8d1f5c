// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU of FMI 3.0 for scheduled execution, for tests. Every activation is written to the file
// that PROBE_SE_LOG names, as "INSTANCE CLOCK TIME". The partition of "fast" adds u to the sum, and
// its sixth activation starts a countdown of 0; those of "slow" and "trigger" compute twice = 2 v;
// every second activation of "slow" raises the alarm, every other one starts a countdown of 0.13.
// The k-th interval of "growing" is 0.07 k. It insists on the rules of the standard: partitions in
// strictly increasing time, nothing read between set and activated, clocked variables of the
// partition only, clocks and countdowns asked in the callback only.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi3Functions.h"

enum { FAST = 1, SLOW, THIRDS, TUNED, GROWING, COUNTDOWN, TRIGGER, ALARM, N_CLOCKS };
enum { N = 20, PERIOD, U, SUM, V, TWICE, ALARMS, TRIGGERS, REPEAT };
enum mode { INSTANTIATED, INITIALIZING, ACTIVATING };

typedef struct data {
  double period, u, sum, v, twice, repeat, countdown, last[N_CLOCKS];
  int n, alarms, triggers, count[N_CLOCKS];
  bool alarm, armed, tuned, set, raised;
  int partition;
} data;

typedef struct probe {
  data d;
  enum mode mode;
  bool in_callback;
  int locks;
  char name[64];
  fmi3InstanceEnvironment environment;
  fmi3LogMessageCallback log;
  fmi3ClockUpdateCallback update;
  fmi3LockPreemptionCallback lock;
  fmi3UnlockPreemptionCallback unlock;
} probe;

static fmi3Status refuse(const probe* p, const char* why) {
  p->log(p->environment, fmi3Error, "mode", why);
  return fmi3Error;
}

//------------------------------------ life cycle ------------------------------------

const char* fmi3GetVersion(void) { return "3.0"; }

static void start(probe* p) {
  p->d = (data){.period = 0.25, .u = 1};
  for (int i = 0; i < N_CLOCKS; i++) p->d.last[i] = -1e300;
  p->mode = INSTANTIATED;
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock) {
  (void)token, (void)resources, (void)visible, (void)logging;
  if (update == NULL || lock == NULL || unlock == NULL) return NULL;
  probe* p = calloc(1, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s", name);
  p->environment = environment;
  p->log = log;
  p->update = update;
  p->lock = lock;
  p->unlock = unlock;
  start(p);
  return p;
}

void fmi3FreeInstance(fmi3Instance c) { free(c); }

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean defined, fmi3Float64 tolerance,
                                       fmi3Float64 start_time, fmi3Boolean stop_defined,
                                       fmi3Float64 stop) {
  (void)defined, (void)tolerance, (void)start_time, (void)stop_defined, (void)stop;
  ((probe*)c)->mode = INITIALIZING;
  return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
  probe* p = c;
  p->mode = ACTIVATING;
  p->d.set = false;
  return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance c) {
  (void)c;
  return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance c) {
  start(c);
  return fmi3OK;
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState* state) {
  if (*state == NULL) *state = malloc(sizeof(data));
  memcpy(*state, &((probe*)c)->d, sizeof(data));
  return fmi3OK;
}
fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state) {
  memcpy(&((probe*)c)->d, state, sizeof(data));
  return fmi3OK;
}
fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState* state) {
  (void)c;
  free(*state);
  *state = NULL;
  return fmi3OK;
}

//------------------------------------ values ------------------------------------

static double* real_of(probe* p, fmi3ValueReference ref) {
  switch (ref) {
    case PERIOD: return &p->d.period;
    case U: return &p->d.u;
    case SUM: return &p->d.sum;
    case V: return &p->d.v;
    case TWICE: return &p->d.twice;
    case REPEAT: return &p->d.repeat;
    default: return NULL;
  }
}

// Which partitions a variable belongs to; 0: all.
static bool belongs(const probe* p, fmi3ValueReference ref, int partition) {
  switch (ref) {
    case SUM: return partition == FAST;
    case V:
    case TWICE: return partition == SLOW || partition == TRIGGER;
    case ALARMS: return p->d.raised;
    case TRIGGERS: return partition == TRIGGER;
    default: return true;
  }
}

static fmi3Status check_get(const probe* p, fmi3ValueReference ref) {
  if (p->in_callback) return refuse(p, "get in the callback");
  if (p->mode == ACTIVATING && p->d.set) return refuse(p, "get after set");
  if (p->mode == ACTIVATING && !belongs(p, ref, p->d.partition))
    return refuse(p, "get of another partition's variable");
  return fmi3OK;
}

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                          fmi3Float64 values[], size_t n_values) {
  probe* p = c;
  (void)n_values;
  for (size_t i = 0; i < n; i++) {
    if (check_get(p, refs[i]) != fmi3OK || real_of(p, refs[i]) == NULL) return fmi3Error;
    values[i] = *real_of(p, refs[i]);
  }
  return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                          const fmi3Float64 values[], size_t n_values) {
  probe* p = c;
  (void)n_values;
  for (size_t i = 0; i < n; i++) {
    if (p->in_callback) return refuse(p, "set in the callback");
    if (real_of(p, refs[i]) == NULL) return fmi3Error;
    if (refs[i] == PERIOD && values[i] != p->d.period) p->d.tuned = true;
    *real_of(p, refs[i]) = values[i];
  }
  p->d.set = true;
  return fmi3OK;
}

fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                        fmi3Int32 values[], size_t n_values) {
  probe* p = c;
  (void)n_values;
  for (size_t i = 0; i < n; i++) {
    if (check_get(p, refs[i]) != fmi3OK) return fmi3Error;
    values[i] = refs[i] == N ? p->d.n : refs[i] == ALARMS ? p->d.alarms : p->d.triggers;
  }
  return fmi3OK;
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                        fmi3Clock values[]) {
  probe* p = c;
  if (!p->in_callback || n != 1 || refs[0] != ALARM) return refuse(p, "clock not in the callback");
  values[0] = p->d.alarm;
  p->d.alarm = false;
  return fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                        const fmi3Clock values[]) {
  (void)refs, (void)n, (void)values;
  return refuse(c, "fmi3SetClock is not for scheduled execution");
}
fmi3Status fmi3EnterEventMode(fmi3Instance c) { return refuse(c, "there is no event mode"); }
fmi3Status fmi3EnterStepMode(fmi3Instance c) { return refuse(c, "there is no step mode"); }

//------------------------------------ clocks ------------------------------------

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                                  fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[]) {
  probe* p = c;
  fmi3IntervalQualifier changed = fmi3IntervalChanged;
  (void)n;
  bool first = p->mode == INITIALIZING;
  switch (refs[0]) {
    case TUNED:
      intervals[0] = p->d.period;
      qualifiers[0] = first || p->d.tuned ? changed : fmi3IntervalUnchanged;
      p->d.tuned = false;
      return fmi3OK;
    case GROWING:
      if (!first && p->d.partition != GROWING) return refuse(p, "it did not tick");
      intervals[0] = 0.07 * (p->d.count[GROWING] + 1);
      qualifiers[0] = changed;
      return fmi3OK;
    case COUNTDOWN:
      if (!first && !p->in_callback) return refuse(p, "countdown not in the callback");
      intervals[0] = p->d.countdown;
      qualifiers[0] = p->d.armed ? changed : fmi3IntervalNotYetKnown;
      p->d.armed = false;
      return fmi3OK;
    default: return refuse(p, "the interval is in the description");
  }
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference refs[], size_t n,
                               fmi3Float64 shifts[]) {
  (void)n;
  if (refs[0] != TUNED) return refuse(c, "the shift is in the description");
  shifts[0] = 0.05;
  return fmi3OK;
}

static void note(const probe* p, int clock, double time) {
  const char* path = getenv("PROBE_SE_LOG");
  FILE* file = path != NULL ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  fprintf(file, "%s %d %.17g\n", p->name, clock, time);
  fclose(file);
}

static void compute(probe* p, int clock) {
  data* d = &p->d;
  int k = d->count[clock]++;
  p->lock();
  p->locks++;
  d->n++;
  if (clock == FAST) d->sum += d->u, d->u = 0;  // it may do with its inputs what it likes
  if (clock == FAST && k == 5) d->armed = true, d->countdown = 0;
  if (clock == SLOW || clock == TRIGGER) d->twice = 2 * d->v;
  if (clock == TRIGGER) d->triggers++;
  if (clock == COUNTDOWN && d->repeat != 0) d->armed = true, d->countdown = 0;
  if (clock == SLOW && k % 2 == 0) d->armed = true, d->countdown = 0.13;
  if (clock == SLOW && k % 2 == 1) d->alarm = d->raised = true, d->alarms++;
  p->locks--;
  p->unlock();
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time) {
  probe* p = c;
  if (p->mode != ACTIVATING) return refuse(p, "not yet");
  if (clock < FAST || clock > TRIGGER) return refuse(p, "no partition");
  if (!(time > p->d.last[clock])) return refuse(p, "time must increase");
  p->d.last[clock] = time;
  p->d.partition = (int)clock;
  p->d.set = p->d.raised = false;
  note(p, (int)clock, time);
  compute(p, (int)clock);
  if (p->d.armed || p->d.alarm) {
    p->in_callback = true;
    p->update(p->environment);
    p->in_callback = false;
  }
  return fmi3OK;
}
