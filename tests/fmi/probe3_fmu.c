// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU of FMI 3.0 for tests: an oscillator x' = (x2, -k x1 + u1 + u2), y = x + 2 u with arrays,
// one input and one output of every type, an array sized by a structural parameter, and an input
// clock of every kind. n_KIND counts the ticks of a clock, t_KIND is the time of the last. Each
// tick of the clock "constant" starts a countdown of 0.03 s, every second tick of "fixed" raises
// the alarm, an output clock. At ticks of "constant" c_out becomes 2 c_in; n_alarm counts alarms.
// It insists on modes: clocks, discrete inputs (co-simulation) and structural parameters are
// refused outside of theirs, and so are clocked variables while their clock is not active. Faults
// as in probe_fault.h; fmi3DoStep can also return "early" or "end" the simulation half way.
#include <math.h>

#include "fmi3Functions.h"
#include "probe_fault.h"

enum { X = 1, DX, K, U, Y, F32 = 10, I8 = 12, U8 = 14, I16 = 16, U16 = 18, I32 = 20, U32 = 22 };
enum { I64 = 24, U64 = 26, BOOLEAN = 28, STRING = 30, BINARY = 32, ENUM = 34, M = 40, W, W_SUM };
enum { PERIOD = 43, NAMES, CLOCKS = 50, ALARM = 57, COUNTS = 60, TIMES = 70, MOST = 8 };
enum { C_IN = 80, C_OUT, N_ALARM, C_S_IN, C_S_OUT, C_BIN_IN, C_BIN_OUT };
enum { CONSTANT, FIXED, CALCULATED, TUNABLE, CHANGING, COUNTDOWN, TRIGGER, N_CLOCKS };
enum mode { INSTANTIATED, CONFIGURING, INITIALIZING, EVENT, CONTINUOUS, STEPPING };

typedef struct probe {
  double x[2], k, u[2], w[MOST], period, time;
  float f32;
  int64_t integer[16];  // by (reference - I8) / 2
  char text[64], names[2][16];
  uint8_t bytes[64];
  size_t n_bytes;
  uint64_t m;
  int count[N_CLOCKS];
  double last[N_CLOCKS], c_in;
  char c_text[32];
  uint8_t c_bytes[16];
  size_t n_c_bytes;
  int64_t n_alarm;
  bool active[N_CLOCKS], alarm, countdown_wanted, period_changed;
  enum mode mode;
  bool co_simulation, event_mode;
  fmi3InstanceEnvironment environment;
  fmi3LogMessageCallback log;
  fmi3IntermediateUpdateCallback update;
  struct probe* next;
} probe;

// After a crash no one may free an instance, but it is not lost.
static probe* all;

static const char* fault_kind;

static fmi3Status status_of(const probe* p, const char* function) {
  int status = wanted_status(function, &fault_kind);
  if (status > 0 && p != NULL) p->log(p->environment, (fmi3Status)status, "log", "told to fail");
  return (fmi3Status)status;
}

static bool fault_is(const char* kind) {
  return fault_kind != NULL && strcmp(fault_kind, kind) == 0;
}

#define BEGIN                                 \
  probe* p = c;                               \
  fmi3Status status = status_of(p, __func__); \
  (void)p;

static fmi3Status refuse(const probe* p, const char* why) {
  p->log(p->environment, fmi3Error, "mode", why);
  return fmi3Error;
}

//------------------------------------ life cycle ------------------------------------

const char* fmi3GetVersion(void) { return "3.0"; }

static void start(probe* p) {
  p->x[0] = 1;
  p->x[1] = 0;
  p->k = 4;
  p->m = 2;
  p->w[0] = 1;
  p->w[1] = 2;
  p->period = 0.2;
  p->integer[(ENUM - I8) / 2] = 1;
  p->n_bytes = 2;
  p->bytes[1] = 255;
  strcpy(p->text, "nothing");
  strcpy(p->names[0], "a");
  strcpy(p->names[1], "b");
  for (int i = 0; i < N_CLOCKS; i++) p->last[i] = -1;
}

static probe* make(fmi3String token, fmi3String resources, void* environment,
                   fmi3LogMessageCallback log, const char* function) {
  calls_so_far = 0;
#ifdef _WIN32
  static const char begin[] = "Z:\\", end = '\\';
#else
  static const char begin[] = "/", end = '/';
#endif
  if (strcmp(token, "{probe3}") != 0 || strncmp(resources, begin, strlen(begin)) != 0) return NULL;
  if (resources[strlen(resources) - 1] != end || status_of(NULL, function) > fmi3Warning) {
    return NULL;
  }
  probe* p = calloc(1, sizeof *p);
  p->environment = environment;
  p->log = log;
  p->next = all;
  all = p;
  start(p);
  return p;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log) {
  (void)name;
  (void)visible;
  (void)logging;
  return make(token, resources, environment, log, __func__);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                         fmi3Boolean visible, fmi3Boolean logging,
                                         fmi3Boolean event_mode, fmi3Boolean early,
                                         const fmi3ValueReference* required, size_t n_required,
                                         fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update) {
  (void)name;
  (void)visible;
  (void)logging;
  (void)early;
  (void)required;
  (void)n_required;
  if (event_mode && getenv("PROBE3_NO_EVENTS") != NULL) {
    log(environment, fmi3Error, "mode", "no event mode here");
    return NULL;
  }
  probe* p = make(token, resources, environment, log, __func__);
  if (p == NULL) return NULL;
  p->co_simulation = true;
  p->event_mode = event_mode;
  p->update = update;
  return p;
}

void fmi3FreeInstance(fmi3Instance c) {
  probe** at = &all;
  while (*at != c) at = &(*at)->next;
  *at = (*at)->next;
  free(c);
}

static fmi3Status go(probe* p, fmi3Status status, bool allowed, enum mode next) {
  if (!allowed) return refuse(p, "this mode cannot be entered from here");
  p->mode = next;
  return status;
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c) {
  BEGIN return go(p, status, p->mode == INSTANTIATED, CONFIGURING);
}
fmi3Status fmi3ExitConfigurationMode(fmi3Instance c) {
  BEGIN return go(p, status, p->mode == CONFIGURING, INSTANTIATED);
}
fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance,
                                       fmi3Float64 tolerance, fmi3Float64 start_time,
                                       fmi3Boolean has_stop, fmi3Float64 stop) {
  BEGIN(void) has_tolerance;
  (void)tolerance;
  (void)has_stop;
  (void)stop;
  p->time = start_time;
  return go(p, status, p->mode == INSTANTIATED, INITIALIZING);
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
  BEGIN return go(p, status, p->mode == INITIALIZING,
                  p->co_simulation && !p->event_mode ? STEPPING : EVENT);
}
fmi3Status fmi3EnterEventMode(fmi3Instance c) {
  BEGIN return go(p, status, p->mode == CONTINUOUS || (p->event_mode && p->mode == STEPPING),
                  EVENT);
}
fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c) {
  BEGIN return go(p, status, p->mode == EVENT && !p->co_simulation, CONTINUOUS);
}
fmi3Status fmi3EnterStepMode(fmi3Instance c) {
  BEGIN return go(p, status, p->mode == EVENT && p->event_mode, STEPPING);
}
fmi3Status fmi3Terminate(fmi3Instance c) { BEGIN return status; }
fmi3Status fmi3Reset(fmi3Instance c) {
  BEGIN
  probe fresh = {.environment = p->environment,
                 .log = p->log,
                 .next = p->next,
                 .co_simulation = p->co_simulation,
                 .event_mode = p->event_mode};
  *p = fresh;
  start(p);
  return status;
}

//------------------------------------ values ------------------------------------

static double w_sum(const probe* p) {
  double sum = 0;
  for (uint64_t i = 0; i < p->m; i++) sum += p->w[i];
  return sum;
}

static void derivatives(const probe* p, double* dx) {
  dx[0] = p->x[1];
  dx[1] = -p->k * p->x[0] + p->u[0] + p->u[1];
}

// Clocked variables are there in initialisation mode and while their clock is active.
static bool is_there(const probe* p, unsigned int ref) {
  if (ref < COUNTS || p->mode == INITIALIZING) return true;
  if (p->mode != EVENT) return false;
  if (ref == N_ALARM) return p->alarm;
  return p->active[ref >= C_IN ? CONSTANT : (ref - COUNTS) % (TIMES - COUNTS)];
}

// The values of a reference, at most MOST; how many.
static size_t reals_of(const probe* p, unsigned int ref, double* out) {
  out[0] = 0;
  switch (ref) {
    case X: memcpy(out, p->x, sizeof p->x); return 2;
    case DX: derivatives(p, out); return 2;
    case U: memcpy(out, p->u, sizeof p->u); return 2;
    case Y:
      for (int i = 0; i < 2; i++) out[i] = p->x[i] + 2 * p->u[i];
      return 2;
    case W: memcpy(out, p->w, p->m * sizeof *out); return p->m;
    case 0: out[0] = p->time; return 1;
    case K: out[0] = p->k; return 1;
    case W_SUM: out[0] = w_sum(p); return 1;
    case PERIOD: out[0] = p->period; return 1;
    case C_IN: out[0] = p->c_in; return 1;
    case C_OUT: out[0] = 2 * p->c_in; return 1;
    default:
      if (ref >= TIMES) out[0] = p->last[ref - TIMES];
      return 1;
  }
}

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          fmi3Float64* values, size_t n_values) {
  BEGIN
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    double some[MOST];
    if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");
    size_t count = reals_of(p, refs[i], some);
    if (at + count > n_values) return refuse(p, "too few values");
    memcpy(values + at, some, count * sizeof *some);
    at += count;
  }
  if (fault_is("nan")) values[0] = (double)NAN;
  return at == n_values ? status : refuse(p, "too many values");
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          const fmi3Float64* values, size_t n_values) {
  BEGIN
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    double* to = refs[i] == X        ? p->x
                 : refs[i] == U      ? p->u
                 : refs[i] == W      ? p->w
                 : refs[i] == K      ? &p->k
                 : refs[i] == PERIOD ? &p->period
                 : refs[i] == C_IN   ? &p->c_in
                                     : NULL;
    size_t count = refs[i] == X || refs[i] == U ? 2 : refs[i] == W ? p->m : 1;
    if (to == NULL || at + count > n_values) return refuse(p, "this cannot be set");
    if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");
    if (refs[i] == PERIOD) p->period_changed = *to != values[at];
    memcpy(to, values + at, count * sizeof *to);
    at += count;
  }
  return at == n_values ? status : refuse(p, "too many values");
}

fmi3Status fmi3GetFloat32(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          fmi3Float32* values, size_t n_values) {
  BEGIN(void) refs;
  if (n != n_values) return fmi3Error;
  for (size_t i = 0; i < n; i++) values[i] = p->f32;
  return status;
}
fmi3Status fmi3SetFloat32(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          const fmi3Float32* values, size_t n_values) {
  BEGIN(void) refs;
  if (n != n_values) return fmi3Error;
  for (size_t i = 0; i < n; i++) p->f32 = values[i];
  return status;
}

static int64_t* integer_of(probe* p, unsigned int ref) {
  static int64_t other;
  if (ref >= COUNTS && ref < TIMES) other = p->count[ref - COUNTS];
  if (ref == N_ALARM) other = p->n_alarm;
  if (ref == M) other = (int64_t)p->m;
  return ref >= M ? &other : &p->integer[(ref - I8) / 2];
}

static bool may_set(const probe* p, unsigned int ref) {
  if (ref == M) return p->mode == CONFIGURING;
  return p->mode != CONFIGURING && (p->mode != STEPPING || !p->event_mode);
}

#define VALUES(type, ctype)                                                             \
  fmi3Status fmi3Get##type(fmi3Instance c, const fmi3ValueReference* refs, size_t n,    \
                           ctype* values, size_t n_values) {                            \
    BEGIN                                                                               \
    if (n != n_values) return fmi3Error;                                                \
    for (size_t i = 0; i < n; i++) {                                                    \
      if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");           \
      values[i] = (ctype)*integer_of(p, refs[i]);                                       \
    }                                                                                   \
    return status;                                                                      \
  }                                                                                     \
  fmi3Status fmi3Set##type(fmi3Instance c, const fmi3ValueReference* refs, size_t n,    \
                           const ctype* values, size_t n_values) {                      \
    BEGIN                                                                               \
    if (n != n_values) return fmi3Error;                                                \
    for (size_t i = 0; i < n; i++) {                                                    \
      if (!may_set(p, refs[i])) return refuse(p, "it cannot be set in this mode");      \
      if (refs[i] == M) p->m = (uint64_t)values[i] < MOST ? (uint64_t)values[i] : MOST; \
      *integer_of(p, refs[i]) = (int64_t)values[i];                                     \
    }                                                                                   \
    return status;                                                                      \
  }
VALUES(Int8, int8_t)
VALUES(UInt8, uint8_t)
VALUES(Int16, int16_t)
VALUES(UInt16, uint16_t)
VALUES(Int32, int32_t)
VALUES(UInt32, uint32_t)
VALUES(Int64, int64_t)
VALUES(UInt64, uint64_t)
VALUES(Boolean, bool)

fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                         fmi3String* values, size_t n_values) {
  BEGIN(void) n_values;
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");
    values[at++] = refs[i] == NAMES ? p->names[0] : refs[i] >= C_S_IN ? p->c_text : p->text;
    if (refs[i] == NAMES) values[at++] = p->names[1];
  }
  return status;
}
fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                         const fmi3String* values, size_t n_values) {
  BEGIN(void) n_values;
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (!may_set(p, refs[i])) return refuse(p, "it cannot be set in this mode");
    if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");
    if (refs[i] == C_S_IN) {
      snprintf(p->c_text, sizeof p->c_text, "%s", values[at++]);
      continue;
    }
    if (refs[i] != NAMES) {
      snprintf(p->text, sizeof p->text, "%s", values[at++]);
      continue;
    }
    memset(p->names, '?', sizeof p->names);  // who sets what was got must have kept a copy
    for (int k = 0; k < 2; k++) snprintf(p->names[k], sizeof p->names[k], "%s", values[at++]);
  }
  return status;
}

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference* refs, size_t n, size_t* sizes,
                         fmi3Binary* values, size_t n_values) {
  BEGIN(void) n_values;
  for (size_t i = 0; i < n; i++) {
    if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");
    sizes[i] = refs[i] >= C_BIN_IN ? p->n_c_bytes : p->n_bytes;
    values[i] = refs[i] >= C_BIN_IN ? p->c_bytes : p->bytes;
  }
  return status;
}
fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                         const size_t* sizes, const fmi3Binary* values, size_t n_values) {
  BEGIN(void) n_values;
  for (size_t i = 0; i < n; i++) {
    if (!may_set(p, refs[i]) || sizes[i] > sizeof p->bytes) return refuse(p, "it cannot be set");
    if (!is_there(p, refs[i])) return refuse(p, "its clock is not active");
    if (refs[i] == C_BIN_IN) memcpy(p->c_bytes, values[i], p->n_c_bytes = sizes[i]);
    else memcpy(p->bytes, values[i], p->n_bytes = sizes[i]);
  }
  return status;
}

//------------------------------------ clocks ------------------------------------

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                        fmi3Clock* values) {
  BEGIN
  if (p->mode != EVENT) return refuse(p, "clocks outside of an event");
  for (size_t i = 0; i < n; i++) {
    values[i] = refs[i] == ALARM ? p->alarm : p->active[refs[i] - CLOCKS];
  }
  return status;
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                        const fmi3Clock* values) {
  BEGIN
  if (p->mode != EVENT) return refuse(p, "clocks outside of an event");
  for (size_t i = 0; i < n; i++) {
    unsigned int k = refs[i] - CLOCKS;
    if (!values[i] || p->active[k]) continue;
    p->active[k] = true;
    p->count[k]++;
    p->last[k] = p->time;
    if (k == CONSTANT) p->countdown_wanted = true;
    if (k != FIXED || p->count[FIXED] % 2 != 0) continue;
    p->alarm = true;
    p->n_alarm++;
  }
  return status;
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                                  fmi3Float64* intervals, fmi3IntervalQualifier* qualifiers) {
  BEGIN
  if (p->mode != EVENT && p->mode != INITIALIZING) return refuse(p, "no intervals here");
  for (size_t i = 0; i < n; i++) {
    unsigned int k = refs[i] - CLOCKS;
    bool first = p->mode == INITIALIZING;
    qualifiers[i] = fmi3IntervalChanged;
    if (k == FIXED) intervals[i] = 0.2;
    if (k == TUNABLE) intervals[i] = p->period;
    if (k == TUNABLE && !first && !p->period_changed) qualifiers[i] = fmi3IntervalUnchanged;
    if (k == TUNABLE) p->period_changed = false;
    if (k == CHANGING) intervals[i] = 0.1 * (p->count[CHANGING] + 1);
    if (k != COUNTDOWN) continue;
    intervals[i] = 0.03;
    if (!p->countdown_wanted) qualifiers[i] = fmi3IntervalNotYetKnown;
    p->countdown_wanted = false;
  }
  return status;
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                                   fmi3UInt64* counters, fmi3UInt64* resolutions,
                                   fmi3IntervalQualifier* qualifiers) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) {
    counters[i] = 1;
    resolutions[i] = 4;
    qualifiers[i] = fmi3IntervalChanged;
  }
  return status;
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                               fmi3Float64* shifts) {
  BEGIN
  for (size_t i = 0; i < n; i++) shifts[i] = refs[i] == CLOCKS + FIXED ? 0.1 : 0;
  return status;
}

fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                                fmi3UInt64* counters, fmi3UInt64* resolutions) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) {
    counters[i] = 0;
    resolutions[i] = 4;
  }
  return status;
}

// A time event of its own at 0.77 s.
fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean* again, fmi3Boolean* terminate,
                                    fmi3Boolean* nominals, fmi3Boolean* states, fmi3Boolean* timed,
                                    fmi3Float64* next) {
  BEGIN
  if (p->mode != EVENT) return refuse(p, "updates outside of an event");
  *again = tells_once();
  if (has_told()) {
    *again = false;
    return status;
  }
  *nominals = *states = false;
  *terminate = fault_is("end");
  *timed = p->time < 0.77;
  *next = 0.77;
  memset(p->active, 0, sizeof p->active);
  p->alarm = false;
  return status;
}

//------------------------------------ model exchange ------------------------------------

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_way_back, fmi3Boolean* event,
                                       fmi3Boolean* terminate) {
  BEGIN(void) no_way_back;
  *event = *terminate = false;
  return status;
}
fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time) {
  BEGIN updates_so_far = 0;
  p->time = time;
  return status;
}
fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64* x, size_t n) {
  BEGIN
  if (n != 2) return fmi3Error;
  memcpy(p->x, x, n * sizeof *x);
  return status;
}
fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64* x, size_t n) {
  BEGIN memcpy(x, p->x, n * sizeof *x);
  return status;
}
fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64* dx, size_t n) {
  BEGIN
  if (n != 2) return fmi3Error;
  derivatives(p, dx);
  if (fault_is("nan")) dx[0] = (double)NAN;
  return status;
}
fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64* z, size_t n) {
  BEGIN(void) z;
  (void)n;
  return status;
}
fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64* nominals, size_t n) {
  BEGIN
  for (size_t i = 0; i < n; i++) nominals[i] = i == 0 ? 10 : 0;
  return status;
}
fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t* n) {
  BEGIN* n = 0;
  return status;
}
fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t* n) {
  BEGIN* n = p->m == 7 ? 3 : 2;  // a description cannot know
  return status;
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState* state) {
  BEGIN
  if (*state == NULL) *state = malloc(sizeof *p);
  memcpy(*state, p, sizeof *p);
  return status;
}
fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state) {
  BEGIN
  probe* next = p->next;
  memcpy(p, state, sizeof *p);
  p->next = next;
  return status;
}
fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState* state) {
  BEGIN free(*state);
  *state = NULL;
  return status;
}

// d (row of X, DX, U, Y) / d (column of X, U)
static double partial(const probe* p, unsigned int row, int i, unsigned int column, int j) {
  if (row == Y) return i == j ? (column == X ? 1 : 2) : 0;
  if (row != DX) return row == column && i == j;
  if (column == X) return i == 0 ? j == 1 : j == 0 ? -p->k : 0;
  return i == 1;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference* rows,
                                        size_t n_rows, const fmi3ValueReference* columns,
                                        size_t n_columns, const fmi3Float64* seed, size_t n_seed,
                                        fmi3Float64* out, size_t n_out) {
  BEGIN
  if (n_seed != 2 * n_columns || n_out != 2 * n_rows) return refuse(p, "sizes");
  for (size_t i = 0; i < n_out; i++) {
    out[i] = 0;
    for (size_t j = 0; j < n_seed; j++) {
      out[i] += seed[j] * partial(p, rows[i / 2], (int)(i % 2), columns[j / 2], (int)(j % 2));
    }
  }
  return status;
}
fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference* rows, size_t n_rows,
                                    const fmi3ValueReference* columns, size_t n_columns,
                                    const fmi3Float64* seed, size_t n_seed, fmi3Float64* out,
                                    size_t n_out) {
  BEGIN
  if (n_seed != 2 * n_rows || n_out != 2 * n_columns) return refuse(p, "sizes");
  for (size_t j = 0; j < n_out; j++) {
    out[j] = 0;
    for (size_t i = 0; i < n_seed; i++) {
      out[j] += seed[i] * partial(p, rows[i / 2], (int)(i % 2), columns[j / 2], (int)(j % 2));
    }
  }
  return status;
}

//------------------------------------ co-simulation ------------------------------------

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_way_back,
                      fmi3Boolean* event, fmi3Boolean* terminate, fmi3Boolean* early,
                      fmi3Float64* reached) {
  BEGIN(void) no_way_back;
  if (p->mode != STEPPING || fabs(t - p->time) > 1e-12) return refuse(p, "no step here");
  bool bad_time = tells_bad_time(fault_kind);
  *early = fault_is("early") || bad_time;
  *terminate = fault_is("end");
  *event = *early;
  if (*early || *terminate || status == fmi3Discard) h /= 2;
  fmi3Boolean wanted = false;
  fmi3Float64 when = t;
  if (p->update != NULL) {
    p->update(p->environment, t + h / 2, false, false, true, true, &wanted, &when);
  }
  double w = sqrt(p->k), s = sin(w * h), co = cos(w * h), x = p->x[0];
  p->x[0] = x * co + p->x[1] / w * s;  // exact without inputs
  p->x[1] = p->x[1] * co - x * w * s;
  p->time = *reached = t + h;
  if (bad_time) *reached = wanted_time(fault_kind, t, 2 * h, t + h);
  return status;
}

FMI3_Export fmi3Status fmi3GetMaxStepSize(fmi3Instance c, fmi3Float64* size);
fmi3Status fmi3GetMaxStepSize(fmi3Instance c, fmi3Float64* size) {
  BEGIN* size = fault_is("negative") ? -1 : 0.125;
  return status;
}
