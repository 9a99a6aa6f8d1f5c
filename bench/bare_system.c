// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The floor for coupled model-exchange FMUs: couplings written into the program, CVODE, no
// descriptions, no checks. Prints the seconds from initialisation to the last row.
//   bare_system chain MASS_BINARY GUID N STOP POINTS RTOL OUT.csv
//   bare_system loop  A_BINARY GUID B_BINARY GUID STOP POINTS RTOL OUT.csv
#include <cvode/cvode.h>
#include <dlfcn.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

#include "fmi/headers/fmi2FunctionTypes.h"

enum { MOST = 1000 };

typedef struct unit {
  void* lib;
  fmi2Component c;
  fmi2SetTimeTYPE* set_time;
  fmi2SetContinuousStatesTYPE* set_states;
  fmi2GetDerivativesTYPE* get_derivatives;
  fmi2GetRealTYPE* get_real;
  fmi2SetRealTYPE* set_real;
  fmi2CompletedIntegratorStepTYPE* completed;
  size_t n_states;
} unit;

static unit units[MOST];
static int n_units;
static int is_chain;

static void ignore(fmi2ComponentEnvironment e, fmi2String i, fmi2Status s, fmi2String c,
                   fmi2String m, ...) {
  (void)e, (void)i, (void)s, (void)c, (void)m;
}

static unit* add(const char* binary, const char* guid, size_t n_states) {
  static fmi2CallbackFunctions callbacks = {ignore, calloc, free, NULL, NULL};
  unit* u = &units[n_units++];
  u->lib = dlopen(binary, RTLD_NOW | RTLD_LOCAL);
  u->set_time = (fmi2SetTimeTYPE*)dlsym(u->lib, "fmi2SetTime");
  u->set_states = (fmi2SetContinuousStatesTYPE*)dlsym(u->lib, "fmi2SetContinuousStates");
  u->get_derivatives = (fmi2GetDerivativesTYPE*)dlsym(u->lib, "fmi2GetDerivatives");
  u->get_real = (fmi2GetRealTYPE*)dlsym(u->lib, "fmi2GetReal");
  u->set_real = (fmi2SetRealTYPE*)dlsym(u->lib, "fmi2SetReal");
  u->completed = (fmi2CompletedIntegratorStepTYPE*)dlsym(u->lib, "fmi2CompletedIntegratorStep");
  u->c = ((fmi2InstantiateTYPE*)dlsym(u->lib, "fmi2Instantiate"))("m", fmi2ModelExchange, guid,
                                                                  "file:///", &callbacks, 0, 0);
  u->n_states = n_states;
  return u;
}

static void start(unit* u, double stop) {
  fmi2EventInfo info;
  ((fmi2SetupExperimentTYPE*)dlsym(u->lib, "fmi2SetupExperiment"))(u->c, 0, 0, 0, 1, stop);
  ((fmi2EnterInitializationModeTYPE*)dlsym(u->lib, "fmi2EnterInitializationMode"))(u->c);
  ((fmi2ExitInitializationModeTYPE*)dlsym(u->lib, "fmi2ExitInitializationMode"))(u->c);
  ((fmi2NewDiscreteStatesTYPE*)dlsym(u->lib, "fmi2NewDiscreteStates"))(u->c, &info);
  ((fmi2EnterContinuousTimeModeTYPE*)dlsym(u->lib, "fmi2EnterContinuousTimeMode"))(u->c);
}

// References of the models in bench/models: inputs come first, then states, derivatives, outputs.
static void couple(void) {
  if (is_chain) {
    static const fmi2ValueReference in[] = {0, 1}, out = 6;
    double y[MOST];
    for (int i = 0; i < n_units; i++) units[i].get_real(units[i].c, &out, 1, &y[i]);
    for (int i = 0; i < n_units; i++) {
      double u[] = {i > 0 ? y[i - 1] : 0, i + 1 < n_units ? y[i + 1] : 0};
      units[i].set_real(units[i].c, in, 2, u);
    }
    return;
  }
  static const fmi2ValueReference in = 0, state = 1;
  double x, u;
  units[0].get_real(units[0].c, &state, 1, &x);
  u = x / 3;  // the loop solved by hand
  units[0].set_real(units[0].c, &in, 1, &u);
  u = 2 * x / 3;
  units[1].set_real(units[1].c, &in, 1, &u);
}

static void place(double t, double* x) {
  for (int i = 0; i < n_units; x += units[i++].n_states) {
    units[i].set_time(units[i].c, t);
    units[i].set_states(units[i].c, x, units[i].n_states);
  }
  couple();
}

static int rhs(realtype t, N_Vector x, N_Vector dx, void* user) {
  (void)user;
  double* out = N_VGetArrayPointer(dx);
  place(t, N_VGetArrayPointer(x));
  for (int i = 0; i < n_units; out += units[i++].n_states)
    units[i].get_derivatives(units[i].c, out, units[i].n_states);
  return 0;
}

static double now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 9) return 2;
  is_chain = strcmp(argv[1], "chain") == 0;
  int at = 4;
  if (is_chain) {
    for (int i = 0; i < atoi(argv[4]); i++) add(argv[2], argv[3], 2);
    at = 5;
  } else {
    add(argv[2], argv[3], 1);
    add(argv[4], argv[5], 1);
    at = 6;
  }
  double stop = atof(argv[at]), rtol = atof(argv[at + 2]), t = 0;
  int points = atoi(argv[at + 1]);
  FILE* out = fopen(argv[at + 3], "w");
  double since = now();
  SUNContext sun;
  SUNContext_Create(NULL, &sun);
  size_t n = 0;
  for (int i = 0; i < n_units; i++) n += units[i].n_states;
  N_Vector x = N_VNew_Serial((sunindextype)n, sun), inside = N_VClone(x);
  double* values = N_VGetArrayPointer(x);
  for (int i = 0; i < n_units; values += units[i++].n_states) {
    start(&units[i], stop);
    ((fmi2GetContinuousStatesTYPE*)dlsym(units[i].lib, "fmi2GetContinuousStates"))(
        units[i].c, values, units[i].n_states);
  }
  void* cvode = CVodeCreate(CV_BDF, sun);
  CVodeInit(cvode, rhs, 0, x);
  CVodeSStolerances(cvode, rtol, rtol);
  CVodeSetMaxNumSteps(cvode, -1);
  CVodeSetStopTime(cvode, stop);
  SUNMatrix matrix = SUNDenseMatrix((sunindextype)n, (sunindextype)n, sun);
  CVodeSetLinearSolver(cvode, SUNLinSol_Dense(x, matrix, sun), matrix);
  fprintf(out, "time");
  for (size_t i = 0; i < n; i++) fprintf(out, ",x%zu", i);
  for (int next = 0; next <= points;) {
    double when = next == points ? stop : stop / points * next;
    if (when > t) {
      fmi2Boolean event, end;
      CVode(cvode, stop, x, &t, CV_ONE_STEP);
      for (int i = 0; i < n_units; i++) units[i].completed(units[i].c, 1, &event, &end);
      continue;
    }
    if (next > 0) CVodeGetDky(cvode, when, 0, inside);
    double* row = N_VGetArrayPointer(next > 0 ? inside : x);
    fprintf(out, "\n%.17g", when);
    for (size_t i = 0; i < n; i++) fprintf(out, ",%.17g", row[i]);
    next++;
  }
  fprintf(out, "\n");
  fclose(out);
  printf("%.9f\n", now() - since);
  return 0;
}
