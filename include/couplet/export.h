// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds an FMU from a model written in C (couplet/model.h), and an SSP package from a system file.
//
//   char path[4096];
//   cpl_build_def def = cpl_default_build_def();
//   def.model = "bouncing_ball.c";
//   def.fmi_version = 3;
//   cpl_status st = cpl_fmu_build(ctx, &def, path, sizeof path);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to make an FMU. Start from cpl_default_build_def(), then change what you need.
typedef struct cpl_build_def {
  size_t size;                 ///< set by cpl_default_build_def()
  const char* model;           ///< path of the model in C
  int fmi_version;             ///< 2 (default) or 3
  bool constraint_attributes;  ///< declare constraints by attributes instead of an annotation;
                               ///< validating importers reject them
  const char* output;  ///< path of the FMU. Nullable: the model's name with .fmu, in this folder.
} cpl_build_def;

CPL_DEFAULTS(build_def)  ///< cpl_default_build_def()

/// Build an FMU for model exchange and co-simulation: description, binary for this platform
/// (compiled with $CC or cc), sources for model exchange, a page of documentation. The same model
/// gives the same bytes. `output` receives the path of the FMU.
/// Nullable: output
CPL_API cpl_status cpl_fmu_build(cpl_context* ctx, const cpl_build_def* def, char* output,
                                 size_t size);

//------------------------------------ systems ------------------------------------

/// How to convert a system. Start from cpl_default_convert_def(), then change what you need.
typedef struct cpl_convert_def {
  size_t size;         ///< set by cpl_default_convert_def()
  const char* input;   ///< a system file (.yaml), or a package or description of SSP (.ssp, .ssd)
  const char* output;  ///< by its ending: a package (.ssp) or a system file (.yaml)
  int fmi_version;     ///< of FMUs that are made of models in C: 2 (default) or 3
  /// Of a package that becomes a system file (see cpl_ssp_def). Nullable: both
  const char* variant;
  const char* const* parameters;
  size_t n_parameters;
} cpl_convert_def;

CPL_DEFAULTS(convert_def)  ///< cpl_default_convert_def()

/// Write a system in another form (docs/ssp.md).
///
/// A package (System Structure and Parameterization 1.0) has everything that the system needs: its
/// FMUs as they are, FMUs made of its models in C, its tables, packages made of nested systems.
/// What the standard cannot express (expressions, events, modes, delay lines, how to simulate) is
/// an annotation, from which couplet reads the same system again.
///
/// A system file refers to the files of the input, relative to its own folder. Those inside of a
/// package are copied to a folder beside the output, "plant_files" for plant.yaml.
CPL_API cpl_status cpl_convert(cpl_context* ctx, const cpl_convert_def* def);

#ifdef __cplusplus
}
#endif
