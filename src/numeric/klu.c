// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loads libklu with dlopen(), once per process, and fills the table of its functions.
#include "numeric/klu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_bool unwanted;

void cpli_klu_use(bool use) { atomic_store(&unwanted, !use); }

#ifdef CPL_KLU

#define TEXT_OF(x)   #x
#define TEXT(x)      TEXT_OF(x)
#define LIBRARY_NAME "libklu.so." TEXT(KLU_MAIN_VERSION)  // the structures are those of the header

static const char* const names[] = {
#define X(name) #name,
    CPLI_KLU_FUNCTIONS(X)
#undef X
};
_Static_assert(sizeof(cpli_klu) == CPLI_COUNT(names) * sizeof(void*), "a table of functions");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cpli_klu functions;
static bool loaded;

static void load(void) {
  void* library = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return;
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    void* function = dlsym(library, names[i]);
    if (function == NULL) return;
    memcpy((char*)&functions + i * sizeof function, &function, sizeof function);
  }
  loaded = true;
}

const cpli_klu* cpli_klu_load(void) {
  if (atomic_load(&unwanted)) return NULL;
  pthread_once(&once, load);
  return loaded ? &functions : NULL;
}

const char* cpli_klu_version(void) {
  pthread_once(&once, load);
  return loaded ? TEXT(KLU_MAIN_VERSION) "." TEXT(KLU_SUB_VERSION) "." TEXT(
                      KLU_SUBSUB_VERSION) " (" LIBRARY_NAME ")"
                : "not there: " LIBRARY_NAME " could not be loaded (Debian: libklu1)";
}

#else

const cpli_klu* cpli_klu_load(void) { return NULL; }
const char* cpli_klu_version(void) { return "not there: built without its header"; }

#endif
