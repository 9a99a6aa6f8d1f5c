// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loads libnetcdf with dlopen(), once per process, and fills the table of its functions.
#include "study/netcdf_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char* const names[] = {
#define X(name, arguments) #name,
    CPLI_NC_FUNCTIONS(X)
#undef X
        "nc_strerror",
};
_Static_assert(sizeof(cpli_nc) == CPLI_COUNT(names) * sizeof(void*), "a table of functions");

// Versions of the binary interface from 4.6 on, newest first; the functions used here are the same.
static const char* const libraries[] = {"libnetcdf.so.22", "libnetcdf.so.19", "libnetcdf.so.18",
                                        "libnetcdf.so.15", "libnetcdf.so.13", "libnetcdf.so"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cpli_nc functions;
static char problem[512];  // empty: loaded

static void load(void) {
  void* library = NULL;
  for (size_t i = 0; library == NULL && i < CPLI_COUNT(libraries); i++)
    library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) snprintf(problem, sizeof problem, "%s", dlerror());
  for (size_t i = 0; library != NULL && i < CPLI_COUNT(names); i++) {
    void* function = dlsym(library, names[i]);
    if (function == NULL) snprintf(problem, sizeof problem, "it has no function %s", names[i]);
    memcpy((char*)&functions + i * sizeof function, &function, sizeof function);
  }
}

cpl_status cpli_nc_load(cpl_context* ctx, const cpli_nc** out) {
  pthread_once(&once, load);
  *out = &functions;
  if (problem[0] == '\0') return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                  "NetCDF files need the library netcdf (Debian: libnetcdf19), which could not be "
                  "loaded: %s",
                  problem);
}
