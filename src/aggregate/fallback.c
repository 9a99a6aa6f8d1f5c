// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "aggregate/fallback.h"

#include <kinsol/kinsol.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct problem {
  cpl_status (*residual)(void* user, const double* s, double* r);
  void* user;
  cpl_status failure;
} problem;

static int evaluate(N_Vector s, N_Vector r, void* user) {
  problem* p = user;
  cpl_status st = p->residual(p->user, N_VGetArrayPointer(s), N_VGetArrayPointer(r));
  if (st < 0) p->failure = st;
  return st < 0 ? -1 : st > 0 ? 1 : 0;
}

static void no_message(int code, const char* module, const char* function, char* text, void* user) {
  (void)code, (void)module, (void)function, (void)text, (void)user;
}

static void no_information(const char* module, const char* function, char* text, void* user) {
  (void)module, (void)function, (void)text, (void)user;
}

// All that one solution needs.
typedef struct workshop {
  SUNContext sun;
  void* mem;
  N_Vector s, scale;
  SUNMatrix matrix;
  SUNLinearSolver linear;
} workshop;

static bool open_workshop(workshop* w, int32_t n, problem* p) {
  if (SUNContext_Create(NULL, &w->sun) < 0) return false;
  w->s = N_VNew_Serial(n, w->sun);
  w->scale = N_VNew_Serial(n, w->sun);
  w->matrix = SUNDenseMatrix(n, n, w->sun);
  w->mem = KINCreate(w->sun);
  if (w->s == NULL || w->scale == NULL || w->matrix == NULL || w->mem == NULL) return false;
  w->linear = SUNLinSol_Dense(w->s, w->matrix, w->sun);
  return w->linear != NULL && KINSetUserData(w->mem, p) >= 0 &&
         KINSetErrHandlerFn(w->mem, no_message, NULL) >= 0 &&
         KINSetInfoHandlerFn(w->mem, no_information, NULL) >= 0 &&
         KINInit(w->mem, evaluate, w->s) >= 0 &&
         KINSetLinearSolver(w->mem, w->linear, w->matrix) >= 0 &&
         KINSetNumMaxIters(w->mem, 500) >= 0 && KINSetFuncNormTol(w->mem, 1e-11) >= 0 &&
         KINSetScaledStepTol(w->mem, 1e-13) >= 0;
}

static void close_workshop(workshop* w) {
  if (w->mem != NULL) KINFree(&w->mem);
  if (w->linear != NULL) SUNLinSolFree(w->linear);
  if (w->matrix != NULL) SUNMatDestroy(w->matrix);
  if (w->s != NULL) N_VDestroy(w->s);
  if (w->scale != NULL) N_VDestroy(w->scale);
  if (w->sun != NULL) SUNContext_Free(&w->sun);
}

cpl_status cpli_fallback_solve(cpl_context* ctx, int32_t n, double* s, const double* scale,
                               cpl_status (*residual)(void* user, const double* s, double* r),
                               void* user) {
  workshop w = {0};
  problem p = {.residual = residual, .user = user};
  cpl_status st = CPL_RETRY;
  if (!open_workshop(&w, n, &p)) {
    st = cpli_nomem(ctx);
  } else {
    double *at = N_VGetArrayPointer(w.s), *size = N_VGetArrayPointer(w.scale);
    for (int32_t i = 0; i < n; i++) {
      at[i] = s[i];
      size[i] = 1 / fmax(fabs(s[i]), scale[i]);
    }
    int flag = KINSol(w.mem, w.s, KIN_LINESEARCH, w.scale, w.scale);
    if (flag >= 0 && flag != KIN_STEP_LT_STPTOL) st = CPL_OK;
    if (p.failure < 0) st = p.failure;
    if (st == CPL_OK) memcpy(s, at, (size_t)n * sizeof *s);
  }
  close_workshop(&w);
  return st;
}
