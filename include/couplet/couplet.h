// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// All of couplet.
#pragma once

#include "couplet/aggregate.h"
#include "couplet/assemble.h"
#include "couplet/base.h"
#include "couplet/component.h"
#include "couplet/csource.h"
#include "couplet/export.h"
#include "couplet/fmi.h"
#include "couplet/graph.h"
#include "couplet/interface.h"
#include "couplet/isolate.h"
#include "couplet/jacobian.h"
#include "couplet/linearize.h"
#include "couplet/master.h"
#include "couplet/match.h"
#include "couplet/model.h"
#include "couplet/modes.h"
#include "couplet/results.h"
#include "couplet/run.h"
#include "couplet/solver.h"
#include "couplet/system.h"
#include "couplet/table.h"
#include "couplet/tlm.h"
#include "couplet/tlm_net.h"
#include "couplet/view.h"
