// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation FMUs of FMI 2.0 and 3.0 as other tools make them, for tests: x' = -x + u, and the
// time `hit` at which u rises through `level` for the first time, -1 before. Runge-Kutta of order 4
// in 8 steps each communication step. FMI 2.0 takes derivatives of inputs (all orders up to 2) and
// handles the event itself. FMI 3.0 asks for u in intermediate updates, unless FOREIGN_SILENT is
// set, and returns early to have the event in event mode; with FOREIGN_REFUSES it takes no list of
// intermediate variables. FOREIGN_FAULT names a function that returns Error when it is called for
// the second time.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "fmi3Functions.h"

enum { TIME, X, U, LEVEL, HIT, W };  // w is not for intermediate updates: x' = -x + u + w

typedef struct foreign {
  double time, x, u, w, level, hit, du[3], base, since;
  bool below, crossed;
  bool event_mode, early, silent, fmi3;
  int n_faults;
  fmi3InstanceEnvironment environment;
  fmi3IntermediateUpdateCallback update;
} foreign;

static bool is_at_fault(foreign* f, const char* function) {
  const char* wanted = getenv("FOREIGN_FAULT");
  return wanted != NULL && strcmp(wanted, function) == 0 && ++f->n_faults == 2;
}

static foreign* make(bool fmi3) {
  foreign* f = calloc(1, sizeof *f);
  f->fmi3 = fmi3;
  f->level = 1e300;
  f->hit = -1;
  f->silent = getenv("FOREIGN_SILENT") != NULL;
  return f;
}

static double* place(foreign* f, unsigned ref) {
  double* all[] = {&f->time, &f->x, &f->u, &f->level, &f->hit, &f->w};
  return ref <= W ? all[ref] : NULL;
}

static double input_at(foreign* f, double t, bool finished) {
  if (!f->fmi3) {
    double dt = t - f->since;
    return f->base + dt * (f->du[1] + dt / 2 * f->du[2]);
  }
  bool stop = false;
  double when = t;
  if (f->update != NULL && !f->silent)
    f->update(f->environment, t, true, false, finished, false, &stop, &when);
  return f->u;
}

static double slope(foreign* f, double t, double x) { return input_at(f, t, false) + f->w - x; }

static void integrate(foreign* f, double h) {
  double t = f->time, x = f->x;
  double a = slope(f, t, x), b = slope(f, t + h / 2, x + h / 2 * a);
  double c = slope(f, t + h / 2, x + h / 2 * b), d = slope(f, t + h, x + h * c);
  f->x = x + h / 6 * (a + 2 * b + 2 * c + d);
  f->time = t + h;
}

// Where u reaches the level between two times, by bisection.
static double crossing(foreign* f, double a, double b) {
  for (int i = 0; i < 60; i++) {
    double m = a + (b - a) / 2;
    if (input_at(f, m, false) >= f->level) b = m;
    else a = m;
  }
  return b;
}

// To t_end, or to the event before it.
static void advance(foreign* f, double t_end, bool stops) {
  double h = (t_end - f->time) / 8, end = t_end;
  f->crossed = false;
  for (int i = 0; f->time < end - 1e-12 * (1 + fabs(end)); i++) {
    double next = fmin(i == 7 ? t_end : f->time + h, end);
    double before = f->time;
    double u = input_at(f, next, false);
    if (f->below && u >= f->level && f->hit < 0) {
      double t = crossing(f, before, next);
      f->below = false;
      f->crossed = true;
      if (!stops) f->hit = t;
      if (stops && t < next) end = next = t;
    } else if (u < f->level) {
      f->below = true;
    }
    integrate(f, next - before);
    if (next == end) f->time = end;
  }
}

//------------------------------------ FMI 2.0 ------------------------------------

const char* fmi2GetTypesPlatform(void) { return "default"; }
const char* fmi2GetVersion(void) { return "2.0"; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions* callbacks, fmi2Boolean visible,
                              fmi2Boolean logging) {
  (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible;
  (void)logging;
  return make(false);
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real start,
                               fmi2Boolean d, fmi2Real e) {
  (void)a, (void)b, (void)d, (void)e;
  ((foreign*)c)->time = start;
  return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
  (void)c;
  return fmi2OK;
}
fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  foreign* f = c;
  f->below = f->u < f->level;
  return fmi2OK;
}
fmi2Status fmi2Terminate(fmi2Component c) {
  (void)c;
  return fmi2OK;
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference* refs, size_t n, fmi2Real* out) {
  for (size_t i = 0; i < n; i++) out[i] = *place(c, refs[i]);
  return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                       const fmi2Real* values) {
  foreign* f = c;
  for (size_t i = 0; i < n; i++) *place(f, refs[i]) = values[i];
  memset(f->du, 0, sizeof f->du);
  return fmi2OK;
}
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                                       const fmi2Integer* orders, const fmi2Real* values) {
  foreign* f = c;
  if (is_at_fault(f, __func__)) return fmi2Error;
  for (size_t i = 0; i < n; i++) {
    if (refs[i] == U && orders[i] <= 2) f->du[orders[i]] = values[i];
  }
  return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_way_back) {
  foreign* f = c;
  (void)no_way_back;
  f->since = f->time = t;
  f->base = f->u;
  advance(f, t + h, false);
  f->time = t + h;
  return fmi2OK;
}
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
  if (is_at_fault(c, __func__)) return fmi2Error;
  if (*state == NULL) *state = malloc(sizeof(foreign));
  memcpy(*state, c, sizeof(foreign));
  return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
  int faults = ((foreign*)c)->n_faults;
  memcpy(c, state, sizeof(foreign));
  ((foreign*)c)->n_faults = faults;
  return fmi2OK;
}
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate* state) {
  (void)c;
  free(*state);
  *state = NULL;
  return fmi2OK;
}

//------------------------------------ FMI 3.0 ------------------------------------

const char* fmi3GetVersion(void) { return "3.0"; }

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                         fmi3Boolean visible, fmi3Boolean logging,
                                         fmi3Boolean event_mode, fmi3Boolean early,
                                         const fmi3ValueReference* required, size_t n_required,
                                         fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging;
  // only what was asked for may be set in intermediate updates
  bool wanted = n_required == 1 && required[0] == U;
  if (n_required > 0 && getenv("FOREIGN_REFUSES") != NULL) {
    log(environment, fmi3Error, "log", "no intermediate variables");
    return NULL;
  }
  foreign* f = make(true);
  f->event_mode = event_mode;
  f->early = early;
  f->environment = environment;
  f->update = wanted ? update : NULL;
  return f;
}
void fmi3FreeInstance(fmi3Instance c) { free(c); }
fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean a, fmi3Float64 b,
                                       fmi3Float64 start, fmi3Boolean d, fmi3Float64 e) {
  (void)a, (void)b, (void)d, (void)e;
  ((foreign*)c)->time = start;
  return fmi3OK;
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
  foreign* f = c;
  f->below = f->u < f->level;
  return fmi3OK;
}
static fmi3Status fine(fmi3Instance c) {
  (void)c;
  return fmi3OK;
}
fmi3Status fmi3Terminate(fmi3Instance c) { return fine(c); }
fmi3Status fmi3Reset(fmi3Instance c) { return fine(c); }
fmi3Status fmi3EnterStepMode(fmi3Instance c) { return fine(c); }
fmi3Status fmi3EnterEventMode(fmi3Instance c) { return fine(c); }
fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean* again, fmi3Boolean* terminate,
                                    fmi3Boolean* nominals, fmi3Boolean* values, fmi3Boolean* timed,
                                    fmi3Float64* next) {
  foreign* f = c;
  if (f->crossed) f->hit = f->time;
  f->crossed = *again = *terminate = *nominals = *values = *timed = false;
  *next = 0;
  return fmi3OK;
}
fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference* refs, size_t n, double* out,
                          size_t n_values) {
  (void)n_values;
  for (size_t i = 0; i < n; i++) out[i] = *place(c, refs[i]);
  return fmi3OK;
}
fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference* refs, size_t n,
                          const double* values, size_t n_values) {
  (void)n_values;
  for (size_t i = 0; i < n; i++) *place(c, refs[i]) = values[i];
  return fmi3OK;
}
fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool no_way_back, bool* event,
                      bool* terminate, bool* early, double* reached) {
  foreign* f = c;
  (void)no_way_back;
  f->time = t;
  bool stops = f->event_mode && f->early;
  advance(f, t + h, stops);
  *terminate = false;
  *event = stops && f->crossed;
  *early = f->time < t + h - 1e-12 * (1 + fabs(t));
  if (!*early) f->time = t + h;
  *reached = f->time;
  return fmi3OK;
}
