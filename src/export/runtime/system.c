// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The content of an FMU that is made of a system: built from the plan in its resources. The binary
// is the same for all systems of one version of FMI.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/guard.h"
#include "export/plan.h"
#include "export/runtime/fmu.h"
#include "numeric/klu.h"

static atomic_int n_single;  // instances of contents that can exist once per process
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t n_open;  // contents

/// Not part of FMI: the importer handles crash signals. Before it leaves a call of this library, it
/// calls the function that this returns, which leaves the call inside, if there is one.
__attribute__((visibility("default"))) cpli_guard_leaver* coupletShareGuard(void);
cpli_guard_leaver* coupletShareGuard(void) { return cpli_guard_become_inner(); }

//------------------------------------ crashes ------------------------------------

static void guard(void) {
  pthread_mutex_lock(&mutex);
  n_open++;
  cpl_guard_crashes();
  pthread_mutex_unlock(&mutex);
}

// Without instances there are no handlers of ours. Where other code has put its own on top, which
// call them, this library stays loaded.
static void unguard(void) {
  Dl_info self;
  pthread_mutex_lock(&mutex);
  if (--n_open == 0 && !cpli_guard_withdraw() && dladdr(&n_open, &self) != 0)
    dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  pthread_mutex_unlock(&mutex);
}

//------------------------------------ content ------------------------------------

cpl_status fmu_content_open(cpl_context* ctx, const char* resources, fmu_content* out) {
  *out = (fmu_content){0};
  if (resources == NULL || resources[0] == '\0')
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "the importer gave no path of the resources, which contain the system");
  guard();
  cpli_klu_use(false);  // nothing outside of the FMU is used
  cpli_packed* p = NULL;
  cpl_status st = cpli_packed_open(ctx, resources, &p);
  if (st < 0) {
    unguard();
    return st;
  }
  const char* single = cpli_packed_single(p);
  if (single != NULL && atomic_fetch_add(&n_single, 1) > 0) {
    atomic_fetch_sub(&n_single, 1);
    cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
             "%s can be instantiated only once per process, and so can this FMU, which contains it",
             single);
    cpli_packed_close(p);
    unguard();
    return CPL_ERR_UNSUPPORTED;
  }
  *out = (fmu_content){
      .source = cpli_packed_source(p), .guid = cpli_packed_guid(p), .self = p, .sets_starts = true};
  return CPL_OK;
}

void fmu_content_close(fmu_content* c) {
  if (c->self == NULL) return;
  if (cpli_packed_single(c->self) != NULL) atomic_fetch_sub(&n_single, 1);
  cpli_packed_close(c->self);
  unguard();
  *c = (fmu_content){0};
}

cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  return cpli_packed_stepper(c->source, name, rtol, out);
}
