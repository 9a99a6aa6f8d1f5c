// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The extension for constraints: what an FMU offers and its binary has.
#include "fmi/instance.h"

cpl_status cpli_check_constraints(const cpli_fmu_instance* in, size_t n) {
  size_t most = (size_t)in->fmu->desc.n_constraints;
  if (n <= most) return CPL_OK;
  return cpl_fail(in->head.component.ctx, CPL_ERR_MODEL,
                  "%s: it says that %zu constraints are active, and that there are at most %zu",
                  in->name, n, most);
}

static bool offered(cpli_fmu_instance* in, const char* what, bool said, bool there) {
  if (said && !there)
    cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name,
            "the description offers %s, but the binary has no function for it", what);
  return said && there;
}

void cpli_offer_constraints(cpli_fmu_instance* in, const cpl_model_ops* all,
                            cpli_constraint_functions there) {
  const cpli_fmu_kind* me = &in->fmu->me;
  cpl_model_ops* ops = &in->model_ops;
  if (in->fmu->desc.n_constraints == 0) return;
  bool residuals = offered(in, "constraints", me->constraints != CPLI_NO, there.constraint);
  bool jacobian = residuals && offered(in, "their Jacobian", me->constraints == CPLI_WITH_JACOBIAN,
                                       there.jacobian);
  bool projection = offered(in, "a projection", me->projection, there.projection);
  bool step = offered(in, "projection steps", me->projection_step, there.step);
  if (!residuals && !projection && !step) return;
  ops->count_constraints = all->count_constraints;
  if (residuals) ops->get_constraints = all->get_constraints;
  if (jacobian) ops->constraint_jacobian = all->constraint_jacobian;
  if (projection) ops->projection = all->projection;
  if (step) ops->projection_step = all->projection_step;
}
