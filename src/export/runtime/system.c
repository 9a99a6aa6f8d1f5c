// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The content of an FMU that is made of a system: built from the plan in its resources. The binary
// is the same for all systems of one version of FMI.
#include <stdatomic.h>

#include "base/guard.h"
#include "export/plan.h"
#include "export/runtime/fmu.h"
#include "numeric/klu.h"

static atomic_int n_single;  // instances of contents that can exist once per process

cpl_status fmu_content_open(cpl_context* ctx, const char* resources, fmu_content* out) {
  *out = (fmu_content){0};
  if (resources == NULL || resources[0] == '\0')
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "the importer gave no path of the resources, which contain the system");
  cpl_guard_crashes();
  cpli_klu_use(false);  // nothing outside of the FMU is used
  cpli_packed* p = NULL;
  cpl_status st = cpli_packed_open(ctx, resources, &p);
  if (st < 0) return st;
  const char* single = cpli_packed_single(p);
  if (single != NULL && atomic_fetch_add(&n_single, 1) > 0) {
    atomic_fetch_sub(&n_single, 1);
    cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
             "%s can be instantiated only once per process, and so can this FMU, which contains it",
             single);
    cpli_packed_close(p);
    return CPL_ERR_UNSUPPORTED;
  }
  *out = (fmu_content){.source = cpli_packed_source(p), .guid = cpli_packed_guid(p), .self = p};
  return CPL_OK;
}

void fmu_content_close(fmu_content* c) {
  if (c->self != NULL && cpli_packed_single(c->self) != NULL) atomic_fetch_sub(&n_single, 1);
  cpli_packed_close(c->self);
  *c = (fmu_content){0};
}

cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  return cpli_packed_stepper(c->source, name, rtol, out);
}
