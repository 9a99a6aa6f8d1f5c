// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables of a description and of all structs that it points to. The number of dependencies of a
// structure is no member: it follows from the rows.
#include "model/image.h"

#include "model/description.h"

//------------------------------------ units and types ------------------------------------

static const cpli_image_field unit_fields[] = {
    CPLI_NAME(cpl_unit, name),         CPLI_BOOL(cpl_unit, has_base),
    CPLI_ARRAY(cpl_unit, exponents),   CPLI_NUMBER(cpl_unit, factor),
    CPLI_NUMBER(cpl_unit, offset),     CPLI_BOOL(cpl_unit, inverse),
    CPLI_NUMBER(cpl_unit, display_of),
};
CPLI_IMAGE_TYPE(cpli_unit_image, cpl_unit, 48, unit_fields);

static const cpli_image_field enum_item_fields[] = {
    CPLI_NAME(cpl_enum_item, name),
    CPLI_NAME(cpl_enum_item, description),
    CPLI_NUMBER(cpl_enum_item, value),
};
static CPLI_IMAGE_TYPE(enum_item_image, cpl_enum_item, 24, enum_item_fields);

static const cpli_image_field type_def_fields[] = {
    CPLI_NAME(cpl_type_def, name),
    CPLI_NAME(cpl_type_def, quantity),
    CPLI_ENUM(cpl_type_def, type, CPL_CLOCK),
    CPLI_NUMBER(cpl_type_def, n_items),
    CPLI_STRUCT_LIST(cpl_type_def, items, n_items, &enum_item_image),
};
static CPLI_IMAGE_TYPE(type_def_image, cpl_type_def, 40, type_def_fields);

//------------------------------------ variables ------------------------------------

static const cpli_image_field variable_fields[] = {
    CPLI_NAME(cpl_variable, name),
    CPLI_NAME(cpl_variable, description),
    CPLI_NUMBER(cpl_variable, ref),
    CPLI_ENUM(cpl_variable, type, CPL_CLOCK),
    CPLI_ENUM(cpl_variable, causality, CPL_CAUSALITY_INDEPENDENT),
    CPLI_ENUM(cpl_variable, variability, CPL_VARIABILITY_CONTINUOUS),
    CPLI_ENUM(cpl_variable, initial, CPL_INITIAL_CALCULATED),
    CPLI_ENUM(cpl_variable, width, CPL_WIDTH_UINT64),
    CPLI_BOOL(cpl_variable, structural),
    CPLI_BOOL(cpl_variable, has_start),
    CPLI_BOOL(cpl_variable, has_nominal),
    CPLI_BOOL(cpl_variable, can_set_several_times),
    CPLI_BOOL(cpl_variable, inner_output),
    CPLI_BOOL(cpl_variable, reinit),
    CPLI_BOOL(cpl_variable, relative_quantity),
    CPLI_BOOL(cpl_variable, unbounded),
    CPLI_BOOL(cpl_variable, mode_dependent),
    CPLI_NUMBER(cpl_variable, unit),
    CPLI_NUMBER(cpl_variable, display_unit),
    CPLI_NUMBER(cpl_variable, declared_type),
    CPLI_NUMBER(cpl_variable, derivative_of),
    CPLI_NUMBER(cpl_variable, alias_of),
    CPLI_NUMBER(cpl_variable, array),
    CPLI_NUMBER(cpl_variable, line),
    CPLI_NUMBER(cpl_variable, start),
    CPLI_NUMBER(cpl_variable, min),
    CPLI_NUMBER(cpl_variable, max),
    CPLI_NUMBER(cpl_variable, nominal),
    CPLI_TEXT(cpl_variable, start_text),
    CPLI_TEXT(cpl_variable, quantity),
};
static CPLI_IMAGE_TYPE(variable_image, cpl_variable, 112, variable_fields);

static const cpli_image_field array_fields[] = {
    CPLI_NAME(cpl_array, name),
    CPLI_NUMBER(cpl_array, first),
    CPLI_NUMBER(cpl_array, count),
    CPLI_NUMBER(cpl_array, n_sizes),
    CPLI_NUMBER_LIST(cpl_array, sizes, n_sizes),
};
static CPLI_IMAGE_TYPE(array_image, cpl_array, 32, array_fields);

//------------------------------------ structure ------------------------------------

static const cpli_image_field unknown_fields[] = {
    CPLI_NUMBER(cpl_unknown, var),
    CPLI_NUMBER(cpl_unknown, first),
    CPLI_NUMBER(cpl_unknown, count),
};
static CPLI_IMAGE_TYPE(unknown_image, cpl_unknown, 12, unknown_fields);

// How many dependencies the rows refer to. SIZE_MAX: a row is impossible.
static size_t count_row_deps(const cpl_unknown* rows, int32_t n, size_t so_far) {
  for (int32_t i = 0; i < n; i++) {
    if (rows[i].count <= 0) continue;
    if (rows[i].first < 0) return SIZE_MAX;
    const size_t end = (size_t)rows[i].first + (size_t)rows[i].count;
    if (end > so_far) so_far = end;
  }
  return so_far;
}

static size_t count_deps(const void* structure) {
  const cpl_structure* s = structure;
  size_t n = count_row_deps(s->outputs, s->n_outputs, 0);
  n = count_row_deps(s->derivatives, s->n_derivatives, n);
  return count_row_deps(s->initial, s->n_initial, n);
}

static const cpli_image_field structure_fields[] = {
    CPLI_NUMBER(cpl_structure, n_outputs),
    CPLI_NUMBER(cpl_structure, n_derivatives),
    CPLI_NUMBER(cpl_structure, n_initial),
    CPLI_STRUCT_LIST(cpl_structure, outputs, n_outputs, &unknown_image),
    CPLI_STRUCT_LIST(cpl_structure, derivatives, n_derivatives, &unknown_image),
    CPLI_STRUCT_LIST(cpl_structure, initial, n_initial, &unknown_image),
    CPLI_COMPUTED_LIST(cpl_structure, deps, count_deps, true),
    CPLI_COMPUTED_LIST(cpl_structure, kinds, count_deps, false),
    CPLI_ENUM(cpl_structure, origin, CPL_ORIGIN_DETECTED),
};
static CPLI_IMAGE_TYPE(structure_image, cpl_structure, 64, structure_fields);

static const cpli_image_field formulation_fields[] = {
    CPLI_NUMBER(cpl_formulation, residual),
    CPLI_NUMBER(cpl_formulation, index),
};
static CPLI_IMAGE_TYPE(formulation_image, cpl_formulation, 8, formulation_fields);

//------------------------------------ description ------------------------------------

static const cpli_image_field experiment_fields[] = {
    CPLI_BOOL(cpl_default_experiment, has_start),     CPLI_BOOL(cpl_default_experiment, has_stop),
    CPLI_BOOL(cpl_default_experiment, has_tolerance), CPLI_BOOL(cpl_default_experiment, has_step),
    CPLI_NUMBER(cpl_default_experiment, start),       CPLI_NUMBER(cpl_default_experiment, stop),
    CPLI_NUMBER(cpl_default_experiment, tolerance),   CPLI_NUMBER(cpl_default_experiment, step),
};
static CPLI_IMAGE_TYPE(experiment_image, cpl_default_experiment, 40, experiment_fields);

static size_t count_formulations(const void* desc) {
  return (size_t)((const cpl_description*)desc)->n_formulations;
}

// Not stored: names, which is made anew.
static const cpli_image_field description_fields[] = {
    CPLI_NAME(cpl_description, name),
    CPLI_NAME(cpl_description, kind),
    CPLI_NAME(cpl_description, description),
    CPLI_NAME(cpl_description, author),
    CPLI_NAME(cpl_description, version),
    CPLI_NAME(cpl_description, copyright),
    CPLI_NAME(cpl_description, license),
    CPLI_NAME(cpl_description, tool),
    CPLI_NAME(cpl_description, date),
    CPLI_STRUCT(cpl_description, experiment, &experiment_image),
    CPLI_NUMBER(cpl_description, n_vars),
    CPLI_STRUCT_LIST(cpl_description, vars, n_vars, &variable_image),
    CPLI_NUMBER(cpl_description, n_arrays),
    CPLI_STRUCT_LIST(cpl_description, arrays, n_arrays, &array_image),
    CPLI_NUMBER(cpl_description, n_states),
    CPLI_NUMBER_LIST(cpl_description, states, n_states),
    CPLI_NUMBER_LIST(cpl_description, derivatives, n_states),
    CPLI_NUMBER(cpl_description, n_indicators),
    CPLI_NUMBER(cpl_description, n_constraints),
    CPLI_NUMBER(cpl_description, n_algebraics),
    CPLI_NUMBER_LIST(cpl_description, algebraics, n_algebraics),
    CPLI_NUMBER_LIST(cpl_description, residuals, n_algebraics),
    CPLI_POINTER(cpl_description, residual_structure, &structure_image),
    CPLI_NUMBER(cpl_description, n_formulations),
    CPLI_STRUCT_LIST(cpl_description, formulations, n_formulations, &formulation_image),
    CPLI_COMPUTED_LIST(cpl_description, formulation_vars, count_formulations, false),
    CPLI_TEXT(cpl_description, form_error),
    CPLI_STRUCT(cpl_description, structure, &structure_image),
    CPLI_NUMBER(cpl_description, n_units),
    CPLI_STRUCT_LIST(cpl_description, units, n_units, &cpli_unit_image),
    CPLI_NUMBER(cpl_description, n_types),
    CPLI_STRUCT_LIST(cpl_description, types, n_types, &type_def_image),
};
CPLI_IMAGE_TYPE(cpli_description_image, cpl_description, 344, description_fields);

static const cpli_image_field capabilities_fields[] = {
    CPLI_BOOL(cpl_capabilities, directional),
    CPLI_BOOL(cpl_capabilities, save_restore),
    CPLI_BOOL(cpl_capabilities, serialize),
    CPLI_BOOL(cpl_capabilities, once_per_process),
    CPLI_BOOL(cpl_capabilities, needs_tool),
    CPLI_BOOL(cpl_capabilities, completed_step),
    CPLI_BOOL(cpl_capabilities, variable_step),
    CPLI_BOOL(cpl_capabilities, zero_step),
    CPLI_BOOL(cpl_capabilities, stops_early),
    CPLI_BOOL(cpl_capabilities, predicts),
    CPLI_BOOL(cpl_capabilities, get_after_set),
    CPLI_BOOL(cpl_capabilities, dense_output),
    CPLI_BOOL(cpl_capabilities, samples),
    CPLI_BOOL(cpl_capabilities, own_thread),
    CPLI_NUMBER(cpl_capabilities, input_derivatives),
    CPLI_NUMBER(cpl_capabilities, output_derivatives),
};
CPLI_IMAGE_TYPE(cpli_capabilities_image, cpl_capabilities, 24, capabilities_fields);

static const cpli_image_field start_fields[] = {
    CPLI_NAME(cpl_start, name),
    CPLI_NAME(cpl_start, value),
};
CPLI_IMAGE_TYPE(cpli_start_image, cpl_start, 16, start_fields);

//------------------------------------ functions ------------------------------------

cpl_status cpli_description_complete(cpl_context* ctx, cpl_description* desc, cpli_names* names) {
  const char* fault = cpli_description_fault(desc);
  if (fault != NULL)
    return cpl_fail(ctx, CPL_ERR_INPUT, "the stored description of %s is damaged: %s is impossible",
                    desc->name, fault);
  cpl_status st = cpli_names_init(names, ctx, (size_t)desc->n_vars);
  for (int32_t i = 0; i < desc->n_vars && st >= 0; i++) {
    if (cpli_names_add(names, desc->vars[i].name, i) < 0) st = cpli_nomem(ctx);
  }
  desc->names = names;
  return st;
}

cpl_status cpli_description_write_image(cpl_context* ctx, const cpl_description* desc,
                                        cpli_image* out) {
  return cpli_image_write(ctx, &cpli_description_image, desc, out);
}

cpl_status cpli_description_read_image(cpl_context* ctx, const unsigned char* bytes, size_t size,
                                       cpli_arena* arena, cpli_names* names, cpl_description* out) {
  *out = (cpl_description){0};
  *names = (cpli_names){0};
  cpl_status st = cpli_image_read(ctx, arena, &cpli_description_image, bytes, size, out);
  return st < 0 ? st : cpli_description_complete(ctx, out, names);
}
