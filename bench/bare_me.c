// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The floor for one model-exchange FMU: what a programmer would write for just this job. It loads
// the binary, integrates with CVODE and writes the same rows as couplet run, without a description,
// without events, and without looking at any result code.
//   bare_me BINARY GUID STATES STOP POINTS RTOL bdf|adams OUT.csv REF...
#include <cvode/cvode.h>
#include <dlfcn.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include "fmi/headers/fmi2FunctionTypes.h"

static fmi2Component fmu;
static fmi2SetTimeTYPE* set_time;
static fmi2SetContinuousStatesTYPE* set_states;
static fmi2GetDerivativesTYPE* get_derivatives;
static size_t n;

static int rhs(realtype t, N_Vector x, N_Vector dx, void* user) {
  (void)user;
  set_time(fmu, t);
  set_states(fmu, N_VGetArrayPointer(x), n);
  get_derivatives(fmu, N_VGetArrayPointer(dx), n);
  return 0;
}

static void ignore(fmi2ComponentEnvironment e, fmi2String i, fmi2Status s, fmi2String c,
                   fmi2String m, ...) {
  (void)e, (void)i, (void)s, (void)c, (void)m;
}

int main(int argc, char** argv) {
  if (argc < 10) return 2;
  void* lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  n = (size_t)atoi(argv[3]);
  double stop = atof(argv[4]), rtol = atof(argv[6]);
  int points = atoi(argv[5]);
  int adams = strcmp(argv[7], "adams") == 0;
  FILE* out = fopen(argv[8], "w");
  size_t n_refs = (size_t)argc - 9;
  fmi2ValueReference* refs = calloc(n_refs, sizeof *refs);
  double* values = calloc(n_refs, sizeof *values);
  for (size_t i = 0; i < n_refs; i++) refs[i] = (fmi2ValueReference)atoi(argv[9 + i]);

  set_time = (fmi2SetTimeTYPE*)dlsym(lib, "fmi2SetTime");
  set_states = (fmi2SetContinuousStatesTYPE*)dlsym(lib, "fmi2SetContinuousStates");
  get_derivatives = (fmi2GetDerivativesTYPE*)dlsym(lib, "fmi2GetDerivatives");
  fmi2GetRealTYPE* get_real = (fmi2GetRealTYPE*)dlsym(lib, "fmi2GetReal");
  fmi2CompletedIntegratorStepTYPE* completed =
      (fmi2CompletedIntegratorStepTYPE*)dlsym(lib, "fmi2CompletedIntegratorStep");
  fmi2CallbackFunctions callbacks = {ignore, calloc, free, NULL, NULL};
  fmu = ((fmi2InstantiateTYPE*)dlsym(lib, "fmi2Instantiate"))("m", fmi2ModelExchange, argv[2],
                                                              "file:///", &callbacks, 0, 0);
  ((fmi2SetupExperimentTYPE*)dlsym(lib, "fmi2SetupExperiment"))(fmu, 0, 0, 0, 1, stop);
  ((fmi2EnterInitializationModeTYPE*)dlsym(lib, "fmi2EnterInitializationMode"))(fmu);
  ((fmi2ExitInitializationModeTYPE*)dlsym(lib, "fmi2ExitInitializationMode"))(fmu);
  fmi2EventInfo info;
  ((fmi2NewDiscreteStatesTYPE*)dlsym(lib, "fmi2NewDiscreteStates"))(fmu, &info);
  ((fmi2EnterContinuousTimeModeTYPE*)dlsym(lib, "fmi2EnterContinuousTimeMode"))(fmu);

  SUNContext sun;
  SUNContext_Create(NULL, &sun);
  N_Vector x = N_VNew_Serial((sunindextype)n, sun), at = N_VClone(x);
  ((fmi2GetContinuousStatesTYPE*)dlsym(lib, "fmi2GetContinuousStates"))(fmu, N_VGetArrayPointer(x),
                                                                        n);
  void* cvode = CVodeCreate(adams ? CV_ADAMS : CV_BDF, sun);
  CVodeInit(cvode, rhs, 0, x);
  CVodeSStolerances(cvode, rtol, rtol);
  CVodeSetMaxNumSteps(cvode, -1);
  CVodeSetStopTime(cvode, stop);
  if (adams) {
    CVodeSetNonlinearSolver(cvode, SUNNonlinSol_FixedPoint(x, 0, sun));
  } else {
    SUNMatrix matrix = SUNDenseMatrix((sunindextype)n, (sunindextype)n, sun);
    CVodeSetLinearSolver(cvode, SUNLinSol_Dense(x, matrix, sun), matrix);
  }
  fprintf(out, "time");
  for (size_t i = 0; i < n_refs; i++) fprintf(out, ",y%zu", i);
  double t = 0;
  int next = 0;
  while (next <= points) {
    double when = next == points ? stop : stop / points * next;
    if (when <= t) {
      CVodeGetDky(cvode, next == 0 ? 0 : when, 0, at);
      set_time(fmu, when);
      set_states(fmu, N_VGetArrayPointer(next == 0 ? x : at), n);
      get_real(fmu, refs, n_refs, values);
      fprintf(out, "\n%.17g", when);
      for (size_t i = 0; i < n_refs; i++) fprintf(out, ",%.17g", values[i]);
      next++;
      continue;
    }
    fmi2Boolean event, end;
    CVode(cvode, stop, x, &t, CV_ONE_STEP);
    completed(fmu, 1, &event, &end);
  }
  fprintf(out, "\n");
  fclose(out);
  long steps, evals;
  CVodeGetNumSteps(cvode, &steps);
  CVodeGetNumRhsEvals(cvode, &evals);
  fprintf(stderr, "steps %ld rhs %ld\n", steps, evals);
  return 0;
}
