// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The floor for switches: a ball that bounces, with CVODE (Adams) and its root finding, which
// begins anew after each bounce. Writes a row before and after each bounce, as couplet run does.
//   bare_modes STOP RTOL OUT.csv
#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static int fall(realtype t, N_Vector x, N_Vector dx, void* user) {
  (void)t, (void)user;
  NV_Ith_S(dx, 0) = NV_Ith_S(x, 1);
  NV_Ith_S(dx, 1) = -9.81;
  return 0;
}

static int height(realtype t, N_Vector x, realtype* root, void* user) {
  (void)t, (void)user;
  root[0] = NV_Ith_S(x, 0);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  double stop = atof(argv[1]), rtol = atof(argv[2]), t = 0;
  FILE* out = fopen(argv[3], "w");
  SUNContext sun;
  SUNContext_Create(NULL, &sun);
  N_Vector x = N_VNew_Serial(2, sun);
  NV_Ith_S(x, 0) = 1, NV_Ith_S(x, 1) = 0;
  void* cvode = CVodeCreate(CV_ADAMS, sun);
  CVodeInit(cvode, fall, 0, x);
  CVodeSStolerances(cvode, rtol, rtol);
  CVodeSetNonlinearSolver(cvode, SUNNonlinSol_FixedPoint(x, 0, sun));
  CVodeRootInit(cvode, 1, height);
  CVodeSetMaxNumSteps(cvode, -1);
  CVodeSetStopTime(cvode, stop);
  fprintf(out, "time,h\n0,1\n");
  for (int status = 0; t < stop && status >= 0;) {
    status = CVode(cvode, stop, x, &t, CV_NORMAL);
    fprintf(out, "%.17g,%.17g\n", t, NV_Ith_S(x, 0));
    if (status != CV_ROOT_RETURN) continue;
    NV_Ith_S(x, 0) = 0;
    NV_Ith_S(x, 1) = -NV_Ith_S(x, 1);
    CVodeReInit(cvode, t, x);
    CVodeSetStopTime(cvode, stop);
    fprintf(out, "%.17g,%.17g\n", t, NV_Ith_S(x, 0));
  }
  fclose(out);
  return 0;
}
