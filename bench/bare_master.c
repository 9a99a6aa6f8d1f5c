// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The floor for co-simulation: a ring of FMUs of one kind, coupled by a loop that sets, steps and
// gets, without descriptions and checks. Prints the CPU seconds the loop takes. With a file, all
// outputs are written after each step, by the functions of couplet for numbers: printf would take
// most of the time.
//   bare_master BINARY GUID N STEPS H IN1 IN2 OUT [FILE.csv]
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fmi/headers/fmi2FunctionTypes.h"
#include "format/number.h"

static void ignore(fmi2ComponentEnvironment e, fmi2String i, fmi2Status s, fmi2String c,
                   fmi2String m, ...) {
  (void)e, (void)i, (void)s, (void)c, (void)m;
}

static void write_row(FILE* file, double t, const double* y, int n) {
  char text[CPLI_NUMBER_SIZE];
  fwrite(text, 1, cpli_format_double(text, t), file);
  for (int i = 0; i < n; i++) {
    putc_unlocked(',', file);
    fwrite_unlocked(text, 1, cpli_format_double(text, y[i]), file);
  }
  putc_unlocked('\n', file);
}

static double now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char** argv) {
  static fmi2CallbackFunctions callbacks = {ignore, calloc, free, NULL, NULL};
  if (argc < 9) return 2;
  void* lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  int n = atoi(argv[3]), steps = atoi(argv[4]);
  double h = atof(argv[5]);
  fmi2ValueReference in[] = {(unsigned)atoi(argv[6]), (unsigned)atoi(argv[7])},
                     out = (unsigned)atoi(argv[8]);
  fmi2InstantiateTYPE* instantiate = (fmi2InstantiateTYPE*)dlsym(lib, "fmi2Instantiate");
  fmi2SetupExperimentTYPE* setup = (fmi2SetupExperimentTYPE*)dlsym(lib, "fmi2SetupExperiment");
  fmi2EnterInitializationModeTYPE* enter =
      (fmi2EnterInitializationModeTYPE*)dlsym(lib, "fmi2EnterInitializationMode");
  fmi2ExitInitializationModeTYPE* leave =
      (fmi2ExitInitializationModeTYPE*)dlsym(lib, "fmi2ExitInitializationMode");
  fmi2SetRealTYPE* set = (fmi2SetRealTYPE*)dlsym(lib, "fmi2SetReal");
  fmi2GetRealTYPE* get = (fmi2GetRealTYPE*)dlsym(lib, "fmi2GetReal");
  fmi2DoStepTYPE* step = (fmi2DoStepTYPE*)dlsym(lib, "fmi2DoStep");
  fmi2Component* units = calloc((size_t)n, sizeof *units);
  double* y = calloc((size_t)n, sizeof *y);
  for (int i = 0; i < n; i++) {
    units[i] = instantiate("m", fmi2CoSimulation, argv[2], "file:///", &callbacks, 0, 0);
    setup(units[i], fmi2False, 0, 0, fmi2False, 0);
    enter(units[i]);
    leave(units[i]);
    get(units[i], &out, 1, &y[i]);
  }
  FILE* file = argc > 9 ? fopen(argv[9], "w") : NULL;
  double since = now();
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < n; i++) {
      double u[] = {y[(i + 1) % n], y[i > 0 ? i - 1 : n - 1]};
      set(units[i], in, 2, u);
      if (step(units[i], k * h, h, fmi2True) != fmi2OK) return 1;
    }
    for (int i = 0; i < n; i++) get(units[i], &out, 1, &y[i]);
    if (file != NULL) write_row(file, (k + 1) * h, y, n);
  }
  if (file != NULL) fclose(file);
  printf("%.9g\n", now() - since);
  return 0;
}
