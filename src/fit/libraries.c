// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loads cminpack and NLopt with dlopen(), each once per process, and fills the tables of their
// functions.
#include "fit/libraries.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// A library: its file names, those of its functions in the order of the table, and that table.
typedef struct library {
  const char *files[3], *const *names;
  size_t n;
  void* table;
  char problem[512];  // empty: loaded
} library;

static void load(library* l) {
  void* handle = NULL;
  for (size_t i = 0; handle == NULL && i < CPLI_COUNT(l->files) && l->files[i] != NULL; i++)
    handle = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) snprintf(l->problem, sizeof l->problem, "%s", dlerror());
  for (size_t i = 0; handle != NULL && i < l->n; i++) {
    void* function = dlsym(handle, l->names[i]);
    if (function == NULL)
      snprintf(l->problem, sizeof l->problem, "it has no function %s", l->names[i]);
    memcpy((char*)l->table + i * sizeof function, &function, sizeof function);
  }
}

//------------------------------------ cminpack ------------------------------------

static const char* const minpack_names[] = {"lmder"};
static_assert(sizeof(cpli_minpack) == CPLI_COUNT(minpack_names) * sizeof(void*), "a table");

static cpli_minpack minpack;
static library minpack_library = {.files = {"libcminpack.so.1", "libcminpack.so"},
                                  .names = minpack_names,
                                  .n = CPLI_COUNT(minpack_names),
                                  .table = &minpack};
static pthread_once_t minpack_once = PTHREAD_ONCE_INIT;

static void load_minpack(void) { load(&minpack_library); }

cpl_status cpli_minpack_load(cpl_context* ctx, const cpli_minpack** out) {
  pthread_once(&minpack_once, load_minpack);
  *out = &minpack;
  if (minpack_library.problem[0] == '\0') return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                  "fits need the library cminpack (Debian: libcminpack1), which could not be "
                  "loaded: %s",
                  minpack_library.problem);
}

//------------------------------------ NLopt ------------------------------------

static const char* const nlopt_names[] = {
    "nlopt_algorithm_from_string",
    "nlopt_create",
    "nlopt_destroy",
    "nlopt_set_min_objective",
    "nlopt_add_inequality_constraint",
    "nlopt_add_equality_constraint",
    "nlopt_set_lower_bounds",
    "nlopt_set_upper_bounds",
    "nlopt_set_initial_step",
    "nlopt_set_xtol_rel",
    "nlopt_set_ftol_rel",
    "nlopt_set_maxeval",
    "nlopt_optimize",
    "nlopt_force_stop",
};
static_assert(sizeof(cpli_nlopt) == CPLI_COUNT(nlopt_names) * sizeof(void*), "a table");

static cpli_nlopt nlopt;
static library nlopt_library = {.files = {"libnlopt.so.0", "libnlopt.so.1", "libnlopt.so"},
                                .names = nlopt_names,
                                .n = CPLI_COUNT(nlopt_names),
                                .table = &nlopt};
static pthread_once_t nlopt_once = PTHREAD_ONCE_INIT;

static void load_nlopt(void) { load(&nlopt_library); }

cpl_status cpli_nlopt_load(cpl_context* ctx, const cpli_nlopt** out) {
  pthread_once(&nlopt_once, load_nlopt);
  *out = &nlopt;
  if (nlopt_library.problem[0] == '\0') return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                  "optimization needs the library NLopt (Debian: libnlopt0), which could not be "
                  "loaded: %s",
                  nlopt_library.problem);
}
