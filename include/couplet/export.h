// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds an FMU from a model written in C (couplet/model.h) or from a whole system, and an SSP
// package from a system file.
//
//   char path[4096];
//   cpl_build_def def = cpl_default_build_def();
//   def.model = "bouncing_ball.c";  // or "plant.yaml"
//   def.fmi_version = 3;
//   cpl_status st = cpl_fmu_build(ctx, &def, path, sizeof path);
#pragma once

#include "couplet/check.h"
#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The variables of a system that its FMU shows.
typedef enum cpl_expose {
  CPL_EXPOSE_ALL,        ///< also those of its models, as "model.variable"
  CPL_EXPOSE_INTERFACE,  ///< inputs, outputs and parameters of the system; those of its models
                         ///< where it declares no outputs, and states
} cpl_expose;

/// How to make an FMU. Start from cpl_default_build_def(), then change what you need.
typedef struct cpl_build_def {
  size_t size;                 ///< set by cpl_default_build_def()
  const char* model;           ///< path of a model in C, a system file, or a package of SSP
  int fmi_version;             ///< 2 (default) or 3
  bool constraint_attributes;  ///< declare constraints by attributes instead of an annotation;
                               ///< validating importers reject them
  const char* output;  ///< path of the FMU. Nullable: the model's name with .fmu, in this folder.
  cpl_expose expose;   ///< of a system
  /// Of a package (see cpl_ssp_def). Nullable: both
  const char* variant;
  const char* const* parameters;
  size_t n_parameters;
  bool sources;  ///< of a system of models in C: also as C sources for model exchange, for
                 ///< platforms without a binary. FMUs of models in C always have them.
} cpl_build_def;

CPL_DEFAULTS(build_def)  ///< cpl_default_build_def()

/// Build an FMU. The same model or system gives the same bytes. `output` receives the path of the
/// FMU.
///
/// Of a model in C, for model exchange and co-simulation: description, binary for this platform
/// (compiled with $CC or cc), sources for model exchange, a page of documentation.
///
/// Of a system (docs/system-fmu.md): its FMUs as they are, its models in C compiled, its tables,
/// all below resources/; for model exchange where the system is a model, and for co-simulation. No
/// compiler is needed where all models are FMUs.
/// Nullable: output
CPL_API cpl_status cpl_fmu_build(cpl_context* ctx, const cpl_build_def* def, char* output,
                                 size_t size);

/// Give back the system that an FMU was made of: system.yaml and its files, in a folder that is new
/// or empty.
CPL_API cpl_status cpl_fmu_unpack(cpl_context* ctx, const char* fmu, const char* folder);

/// The system file inside of an FMU that was made of a system; *out NULL: it is another FMU.
/// Owned: *out by the caller, who calls free().
CPL_API cpl_status cpl_fmu_system_text(cpl_context* ctx, const char* fmu, char** out);

/// Check the system inside of such an FMU, and the FMUs in it, as cpl_check() does. Findings name
/// files as "pair.fmu/resources/...". Of other FMUs there are none.
CPL_API cpl_status cpl_fmu_check_system(cpl_context* ctx, const cpl_check_def* def);

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
