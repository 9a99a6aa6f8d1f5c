// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Includes all public headers. The usual way through them, for a system file:
//
//   cpl_context* ctx = cpl_context_create(NULL);                       // base.h
//   cpl_source* system = NULL;
//   cpl_stepper* stepper = NULL;
//   cpl_stepper_def def = cpl_default_stepper_def();
//   cpl_run_def run = cpl_default_run_def();
//   run.stop_time = 2;
//   cpl_status st = cpl_system_open(ctx, "pair.yaml", &system);        // assemble.h
//   if (st >= 0) st = cpl_system_stepper(system, &def, &stepper);
//   if (st >= 0) st = cpl_run(stepper, &run, NULL);                    // run.h
//   if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
//   cpl_stepper_destroy(stepper);                                      // component.h
//   cpl_source_destroy(system);
//   cpl_context_destroy(ctx);
#pragma once

#include "couplet/aggregate.h"
#include "couplet/assemble.h"
#include "couplet/base.h"
#include "couplet/check.h"
#include "couplet/checkpoint.h"
#include "couplet/component.h"
#include "couplet/csource.h"
#include "couplet/design.h"
#include "couplet/experiment.h"
#include "couplet/export.h"
#include "couplet/fit.h"
#include "couplet/fmi.h"
#include "couplet/frequency.h"
#include "couplet/graph.h"
#include "couplet/interface.h"
#include "couplet/isolate.h"
#include "couplet/jacobian.h"
#include "couplet/linearize.h"
#include "couplet/master.h"
#include "couplet/match.h"
#include "couplet/model.h"
#include "couplet/modes.h"
#include "couplet/ranks.h"
#include "couplet/results.h"
#include "couplet/run.h"
#include "couplet/sensitivity.h"
#include "couplet/solver.h"
#include "couplet/spectrum.h"
#include "couplet/steady.h"
#include "couplet/study.h"
#include "couplet/system.h"
#include "couplet/table.h"
#include "couplet/tlm.h"
#include "couplet/tlm_net.h"
#include "couplet/transfer.h"
#include "couplet/view.h"
