// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The system of an FMU of sources as constants of the program. `couplet build --sources` writes
// them (fmu_config.c), with the sources of the models. These sources are for model exchange; they
// need a C11 compiler, the standard FMI headers and nothing else: no files, threads or signals.
#pragma once

#include "couplet/table.h"
#include "model/tangent_type.h"

/// The plan (export/plan.h).
extern const unsigned char cpl_fmu_plan[];
extern const size_t cpl_fmu_plan_size;
/// The models in C, in the order of the plan.
extern const cpl_model_def* const* const cpl_fmu_models;
extern const cpl_model_tangent* const* const cpl_fmu_tangents;  // of each
extern const size_t cpl_fmu_n_models;
/// The tables that inputs follow; their paths are their names in the plan.
extern const cpl_table* const cpl_fmu_tables;
extern const size_t cpl_fmu_n_tables;
