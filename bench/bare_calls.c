// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Right-hand sides of an FMU for model exchange (FMI 2.0) without anything around them: the time,
// the states and the inputs are set, the derivatives are read, of one instance again and again, or
// of many in turn. Prints the nanoseconds of one: the least of several rounds, and the mean.
//   bare_calls BINARY GUID INSTANCES ROUNDS STATES INPUT...
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fmi/headers/fmi2FunctionTypes.h"

enum { MOST = 64 };

static void ignore(fmi2ComponentEnvironment e, fmi2String i, fmi2Status s, fmi2String c,
                   fmi2String m, ...) {
  (void)e, (void)i, (void)s, (void)c, (void)m;
}

static double now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char** argv) {
  static fmi2CallbackFunctions callbacks = {ignore, calloc, free, NULL, NULL};
  if (argc < 6) return 2;
  void* lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) return 1;
  int n = atoi(argv[3]), rounds = atoi(argv[4]);
  size_t n_states = (size_t)atoi(argv[5]), n_inputs = (size_t)argc - 6;
  fmi2ValueReference refs[MOST];
  double x[MOST] = {0}, u[MOST] = {0}, dx[MOST], least = 1e9, sum = 0, check = 0;
  for (size_t i = 0; i < n_inputs; i++) refs[i] = (unsigned)atoi(argv[6 + i]);
  fmi2InstantiateTYPE* instantiate = (fmi2InstantiateTYPE*)dlsym(lib, "fmi2Instantiate");
  fmi2SetTimeTYPE* set_time = (fmi2SetTimeTYPE*)dlsym(lib, "fmi2SetTime");
  fmi2SetContinuousStatesTYPE* set_states =
      (fmi2SetContinuousStatesTYPE*)dlsym(lib, "fmi2SetContinuousStates");
  fmi2SetRealTYPE* set_real = (fmi2SetRealTYPE*)dlsym(lib, "fmi2SetReal");
  fmi2GetDerivativesTYPE* derivatives = (fmi2GetDerivativesTYPE*)dlsym(lib, "fmi2GetDerivatives");
  fmi2Component* units = calloc((size_t)n, sizeof *units);
  for (int i = 0; i < n; i++) {
    fmi2EventInfo info;
    units[i] = instantiate("m", fmi2ModelExchange, argv[2], "file:///", &callbacks, 0, 0);
    if (units[i] == NULL) return 1;
    ((fmi2SetupExperimentTYPE*)dlsym(lib, "fmi2SetupExperiment"))(units[i], 0, 0, 0, 0, 0);
    ((fmi2EnterInitializationModeTYPE*)dlsym(lib, "fmi2EnterInitializationMode"))(units[i]);
    ((fmi2ExitInitializationModeTYPE*)dlsym(lib, "fmi2ExitInitializationMode"))(units[i]);
    ((fmi2NewDiscreteStatesTYPE*)dlsym(lib, "fmi2NewDiscreteStates"))(units[i], &info);
    ((fmi2EnterContinuousTimeModeTYPE*)dlsym(lib, "fmi2EnterContinuousTimeMode"))(units[i]);
  }
  int each = n == 1 ? 10000 : 1;
  for (int k = 0; k < rounds; k++) {
    double since = now();
    for (int r = 0; r < each; r++) {
      for (int i = 0; i < n; i++) {
        x[0] = 1e-3 * (k + r), u[0] = 1e-3 * i;
        if (set_time(units[i], k + 1e-4 * r) != fmi2OK) return 1;
        if (n_states > 0 && set_states(units[i], x, n_states) != fmi2OK) return 1;
        if (n_inputs > 0 && set_real(units[i], refs, n_inputs, u) != fmi2OK) return 1;
        if (n_states > 0 && derivatives(units[i], dx, n_states) != fmi2OK) return 1;
        check += dx[0];
      }
    }
    double spent = (now() - since) / ((double)n * each);
    least = spent < least ? spent : least;
    sum += spent;
  }
  printf("%.1f %.1f\n", 1e9 * least, 1e9 * sum / rounds);
  return isnan(check);
}
