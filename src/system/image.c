// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables of a definition and of its items. The reader fills a draft, whose arrays are in the
// arena of the new definition, and adds the items of the draft one by one, which checks them and
// fills the tables of names.
#include "system/image.h"

#include "model/image.h"
#include "system/lines.h"

//------------------------------------ texts ------------------------------------

static const cpli_image_field loc_fields[] = {
    CPLI_PATH(cpli_source_loc, file),
    CPLI_NUMBER(cpli_source_loc, line),
    CPLI_NUMBER(cpli_source_loc, column),
};
static CPLI_IMAGE_TYPE(loc_image, cpli_source_loc, 16, loc_fields);

// A text that may be NULL.
static const cpli_image_field text_fields[] = {
    CPLI_TEXT(cpli_located_text, text),
    CPLI_STRUCT(cpli_located_text, loc, &loc_image),
};
static CPLI_IMAGE_TYPE(text_image, cpli_located_text, 24, text_fields);

// A text that may not.
static const cpli_image_field name_fields[] = {
    CPLI_NAME(cpli_located_text, text),
    CPLI_STRUCT(cpli_located_text, loc, &loc_image),
};
static CPLI_IMAGE_TYPE(name_image, cpli_located_text, 24, name_fields);

// The path of a file. Nullable
static const cpli_image_field path_fields[] = {
    CPLI_PATH(cpli_located_text, text),
    CPLI_STRUCT(cpli_located_text, loc, &loc_image),
};
static CPLI_IMAGE_TYPE(path_image, cpli_located_text, 24, path_fields);

#define TEXT(owner, member)      CPLI_STRUCT(owner, member, &text_image)
#define NAME(owner, member)      CPLI_STRUCT(owner, member, &name_image)
#define FILE_NAME(owner, member) CPLI_STRUCT(owner, member, &path_image)

//------------------------------------ values ------------------------------------

static const cpli_image_field step_fields[] = {
    CPLI_POINTER(cpli_transform_step, unit, &cpli_unit_image),
    CPLI_BOOL(cpli_transform_step, keep_units),
    CPLI_NUMBER(cpli_transform_step, factor),
    CPLI_NUMBER(cpli_transform_step, offset),
};
static CPLI_IMAGE_TYPE(step_image, cpli_transform_step, 32, step_fields);

static const cpli_image_field transform_fields[] = {
    CPLI_POINTER(cpli_transform, unit, &cpli_unit_image),
    CPLI_SIZE(cpli_transform, n_steps),
    CPLI_STRUCT_LIST(cpli_transform, steps, n_steps, &step_image),
};
static CPLI_IMAGE_TYPE(transform_image, cpli_transform, 24, transform_fields);

static const cpli_image_field setting_fields[] = {
    NAME(cpli_setting, name),
    NAME(cpli_setting, value),
    CPLI_POINTER(cpli_setting, transform, &transform_image),
    CPLI_TEXT(cpli_setting, number),
    CPLI_BOOL(cpli_setting, optional),
};
static CPLI_IMAGE_TYPE(setting_image, cpli_setting, 72, setting_fields);

//------------------------------------ items ------------------------------------

// Not stored: source, system, which the reader of the image sets; cap_starts.
static const cpli_image_field member_fields[] = {
    NAME(cpli_member, name),
    CPLI_ENUM(cpli_member, kind, CPL_MEMBER_SYSTEM),
    FILE_NAME(cpli_member, path),
    CPLI_PATH(cpli_member, shown),
    CPLI_ENUM(cpli_member, as, CPL_AS_CO_SIMULATION),
    CPLI_BOOL(cpli_member, exactly_as),
    CPLI_BOOL(cpli_member, scheduled),
    CPLI_STRUCT(cpli_member, as_place, &loc_image),
    CPLI_BOOL(cpli_member, isolate),
    CPLI_BOOL(cpli_member, prefers_steps),
    TEXT(cpli_member, command),
    CPLI_SIZE(cpli_member, n_starts),
    CPLI_STRUCT_LIST(cpli_member, starts, n_starts, &setting_image),
};
static CPLI_IMAGE_TYPE(member_image, cpli_member, 160, member_fields);

static const cpli_image_field parameter_fields[] = {
    NAME(cpli_parameter, name),
    TEXT(cpli_parameter, value),
    CPLI_POINTER(cpli_parameter, unit, &cpli_unit_image),
};
static CPLI_IMAGE_TYPE(parameter_image, cpli_parameter, 56, parameter_fields);

// Not stored, since such inputs are refused: table, value, user.
static const cpli_image_field input_fields[] = {
    NAME(cpli_input, name),
    CPLI_ENUM(cpli_input, kind, CPLI_INPUT_FILE),
    TEXT(cpli_input, expression),
    FILE_NAME(cpli_input, file),
    TEXT(cpli_input, column),
    CPLI_ENUM(cpli_input, interpolation, CPL_INTERPOLATE_HOLD),
    TEXT(cpli_input, start),
    TEXT(cpli_input, unit),
    CPLI_POINTER(cpli_input, meaning, &cpli_unit_image),
};
static CPLI_IMAGE_TYPE(input_image, cpli_input, 192, input_fields);

// Not stored, since such connections are refused: coupling.
static const cpli_image_field connection_fields[] = {
    NAME(cpli_connection, target),
    NAME(cpli_connection, source),
    CPLI_BOOL(cpli_connection, convert),
    CPLI_BOOL(cpli_connection, warn_of_loss),
    CPLI_BOOL(cpli_connection, keep_units),
    CPLI_POINTER(cpli_connection, transform, &transform_image),
};
static CPLI_IMAGE_TYPE(connection_image, cpli_connection, 72, connection_fields);

static const cpli_image_field output_fields[] = {
    NAME(cpli_output, name),
    NAME(cpli_output, source),
    CPLI_POINTER(cpli_output, transform, &transform_image),
};
static CPLI_IMAGE_TYPE(output_image, cpli_output, 56, output_fields);

static const cpli_image_field constraint_fields[] = {
    NAME(cpli_constraint, name),
    NAME(cpli_constraint, difference),
    CPLI_BOOL(cpli_constraint, at_start),
};
static CPLI_IMAGE_TYPE(constraint_image, cpli_constraint, 56, constraint_fields);

static const cpli_image_field event_fields[] = {
    NAME(cpli_event, name),        TEXT(cpli_event, when),
    CPLI_SIZE(cpli_event, n_at),   CPLI_STRUCT_LIST(cpli_event, at, n_at, &name_image),
    CPLI_SIZE(cpli_event, n_sets), CPLI_STRUCT_LIST(cpli_event, sets, n_sets, &setting_image),
    CPLI_NUMBER(cpli_event, stop), CPLI_BOOL(cpli_event, at_start),
};
static CPLI_IMAGE_TYPE(event_image, cpli_event, 88, event_fields);

//------------------------------------ modes ------------------------------------

static const cpli_image_field transition_fields[] = {
    CPLI_STRUCT(cpli_transition_def, loc, &loc_image),
    NAME(cpli_transition_def, to),
    TEXT(cpli_transition_def, when),
    CPLI_SIZE(cpli_transition_def, n_at),
    CPLI_STRUCT_LIST(cpli_transition_def, at, n_at, &name_image),
    CPLI_BOOL(cpli_transition_def, terminate),
    TEXT(cpli_transition_def, on_entry),
    CPLI_SIZE(cpli_transition_def, n_sets),
    CPLI_STRUCT_LIST(cpli_transition_def, sets, n_sets, &setting_image),
};
static CPLI_IMAGE_TYPE(transition_image, cpli_transition_def, 128, transition_fields);

static const cpli_image_type def_image;

// Not stored: cap_leaves.
static const cpli_image_field mode_fields[] = {
    NAME(cpli_mode_def, name),
    CPLI_REQUIRED_POINTER(cpli_mode_def, def, &def_image),
    CPLI_SIZE(cpli_mode_def, n_leaves),
    CPLI_STRUCT_LIST(cpli_mode_def, leaves, n_leaves, &transition_image),
};
static CPLI_IMAGE_TYPE(mode_image, cpli_mode_def, 56, mode_fields);

static const cpli_image_field observed_fields[] = {
    NAME(cpli_observed, name),
    TEXT(cpli_observed, all),
    CPLI_SIZE(cpli_observed, n_in),
    CPLI_STRUCT_LIST(cpli_observed, in, n_in, &setting_image),
};
static CPLI_IMAGE_TYPE(observed_image, cpli_observed, 64, observed_fields);

//------------------------------------ lines ------------------------------------

static const cpli_image_field list_fields[] = {
    CPLI_SIZE(cpli_list, n),
    CPLI_STRUCT_LIST(cpli_list, items, n, &name_image),
};
static CPLI_IMAGE_TYPE(list_image, cpli_list, 16, list_fields);

static const cpli_image_field interface_fields[] = {
    NAME(cpli_interface, name),
    TEXT(cpli_interface, kind),
    TEXT(cpli_interface, sign),
    TEXT(cpli_interface, solver),
    TEXT(cpli_interface, hold),
    TEXT(cpli_interface, substeps),
    CPLI_STRUCTS(cpli_interface, lists, &list_image),
};
static CPLI_IMAGE_TYPE(interface_image, cpli_interface, 288, interface_fields);

static const cpli_image_field line_fields[] = {
    CPLI_STRUCT(cpli_line, loc, &loc_image),
    NAME(cpli_line, from),
    NAME(cpli_line, to),
    NAME(cpli_line, delay),
    TEXT(cpli_line, zf),
    TEXT(cpli_line, zfr),
    TEXT(cpli_line, alpha),
    CPLI_BOOL(cpli_line, compensate),
    CPLI_BOOL(cpli_line, apart),
};
static CPLI_IMAGE_TYPE(line_image, cpli_line, 168, line_fields);

//------------------------------------ settings ------------------------------------

#define X(key, member, of_solver, positive) CPLI_NUMBER(cpl_experiment_def, member),
#define Y(key, member, of_solver, positive) CPLI_TEXT(cpl_experiment_def, member),
static const cpli_image_field values_fields[] = {CPLI_EXPERIMENT_NUMBERS(X)
                                                     CPLI_EXPERIMENT_TEXTS(Y)};
#undef X
#undef Y
static CPLI_IMAGE_TYPE(values_image, cpl_experiment_def, 96, values_fields);

static const cpli_image_field experiment_fields[] = {
    CPLI_STRUCT(cpli_experiment, values, &values_image),
    CPLI_STRUCTS(cpli_experiment, locs, &loc_image),
};
static CPLI_IMAGE_TYPE(experiment_image, cpli_experiment, 272, experiment_fields);

static const cpli_image_field cosimulation_fields[] = {
    CPLI_BOOL(cpli_cosimulation, given),
    CPLI_BOOL(cpli_cosimulation, automatic),
    CPLI_STRUCT(cpli_cosimulation, loc, &loc_image),
    TEXT(cpli_cosimulation, algorithm),
    TEXT(cpli_cosimulation, on_loop),
    TEXT(cpli_cosimulation, estimate),
    TEXT(cpli_cosimulation, legacy),
    CPLI_NUMBER(cpli_cosimulation, step),
    CPLI_NUMBER(cpli_cosimulation, tolerance),
    CPLI_NUMBER(cpli_cosimulation, min_step),
    CPLI_NUMBER(cpli_cosimulation, loop_tolerance),
    CPLI_NUMBER(cpli_cosimulation, order),
    CPLI_NUMBER(cpli_cosimulation, iterations),
    CPLI_NUMBER(cpli_cosimulation, fixed_iterations),
    CPLI_NUMBER(cpli_cosimulation, threads),
    CPLI_SIZE(cpli_cosimulation, n_steps),
    CPLI_STRUCT_LIST(cpli_cosimulation, steps, n_steps, &setting_image),
    CPLI_SIZE(cpli_cosimulation, n_bonds),
    CPLI_STRUCT_LIST(cpli_cosimulation, bonds, n_bonds, &setting_image),
    CPLI_BOOL(cpli_cosimulation, output_derivatives),
};
static CPLI_IMAGE_TYPE(cosimulation_image, cpli_cosimulation, 224, cosimulation_fields);

static const cpli_image_field study_fields[] = {
    CPLI_SIZE(cpli_study_texts, n_over),
    CPLI_STRUCT_LIST(cpli_study_texts, over, n_over, &setting_image),
    TEXT(cpli_study_texts, design),
    TEXT(cpli_study_texts, sample),
    TEXT(cpli_study_texts, seed),
    TEXT(cpli_study_texts, table),
};
static CPLI_IMAGE_TYPE(study_image, cpli_study_texts, 112, study_fields);

static const cpli_image_field fit_set_fields[] = {
    TEXT(cpli_fit_set, file),
    CPLI_SIZE(cpli_fit_set, n_starts),
    CPLI_STRUCT_LIST(cpli_fit_set, starts, n_starts, &setting_image),
    CPLI_NUMBER(cpli_fit_set, weight),
};
static CPLI_IMAGE_TYPE(fit_set_image, cpli_fit_set, 48, fit_set_fields);

static const cpli_image_field fit_fields[] = {
    CPLI_SIZE(cpli_fit_texts, n_data),
    CPLI_STRUCT_LIST(cpli_fit_texts, data, n_data, &fit_set_image),
    CPLI_SIZE(cpli_fit_texts, n_vary),
    CPLI_STRUCT_LIST(cpli_fit_texts, vary, n_vary, &setting_image),
    CPLI_SIZE(cpli_fit_texts, n_sigma),
    CPLI_STRUCT_LIST(cpli_fit_texts, sigma, n_sigma, &setting_image),
    TEXT(cpli_fit_texts, loss),
    CPLI_NUMBER(cpli_fit_texts, scale),
    CPLI_NUMBER(cpli_fit_texts, confidence),
};
static CPLI_IMAGE_TYPE(fit_image, cpli_fit_texts, 88, fit_fields);

//------------------------------------ definition ------------------------------------

#define ITEMS(member, of) \
  CPLI_SIZE(cpl_system_def, n_##member), CPLI_STRUCT_LIST(cpl_system_def, member, n_##member, of)

// Not stored: ctx, arena, no_memory, cap_... and ..._names, which a new definition has; call_log
// and ssp.
static const cpli_image_field def_fields[] = {
    CPLI_BOOL(cpl_system_def, hierarchical),
    CPLI_TEXT(cpl_system_def, root),
    CPLI_PATH(cpl_system_def, file),
    CPLI_PATH(cpl_system_def, canonical),
    TEXT(cpl_system_def, name),
    ITEMS(models, &member_image),
    ITEMS(parameters, &parameter_image),
    ITEMS(inputs, &input_image),
    ITEMS(connections, &connection_image),
    ITEMS(outputs, &output_image),
    ITEMS(events, &event_image),
    ITEMS(constraints, &constraint_image),
    ITEMS(record, &name_image),
    ITEMS(modes, &mode_image),
    ITEMS(observed, &observed_image),
    TEXT(cpl_system_def, start_mode),
    ITEMS(measures, &setting_image),
    CPLI_STRUCT(cpl_system_def, study, &study_image),
    CPLI_STRUCT(cpl_system_def, fit, &fit_image),
    CPLI_STRUCT(cpl_system_def, experiment, &experiment_image),
    CPLI_NUMBER(cpl_system_def, manager_port),
    CPLI_STRUCT(cpl_system_def, cosimulation, &cosimulation_image),
    ITEMS(interfaces, &interface_image),
    ITEMS(lines, &line_image),
    CPLI_BOOL(cpl_system_def, isolate),
    CPLI_NUMBER(cpl_system_def, call_timeout),
};
static CPLI_IMAGE_TYPE(def_image, cpl_system_def, 1328, def_fields);

//------------------------------------ writing ------------------------------------

static cpl_status refuse(cpl_context* ctx, const char* what, const cpli_located_text* name,
                         const char* why) {
  return cpli_fail_at(ctx, CPL_ERR_UNSUPPORTED, &name->loc,
                      "%s \"%s\" cannot be stored: it is %s of the program that made the system",
                      what, name->text, why);
}

static cpl_status check_storable(cpl_context* ctx, const cpl_system_def* def) {
  for (size_t i = 0; i < def->n_inputs; i++) {
    const cpli_input* in = &def->inputs[i];
    if (in->kind == CPLI_INPUT_TABLE) return refuse(ctx, "input", &in->name, "a table");
    if (in->kind == CPLI_INPUT_CALLBACK) return refuse(ctx, "input", &in->name, "a function");
  }
  for (size_t i = 0; i < def->n_connections; i++) {
    const cpli_connection* c = &def->connections[i];
    if (c->coupling != NULL) return refuse(ctx, "connection of", &c->target, "a function");
  }
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_modes && st >= 0; i++) st = check_storable(ctx, def->modes[i].def);
  return st;
}

cpl_status cpli_def_write_image(cpl_context* ctx, const cpl_system_def* def, bool portable,
                                cpli_image* out) {
  *out = (cpli_image){0};
  cpl_status st = check_storable(ctx, def);
  if (st < 0) return st;
  return portable ? cpli_image_write_portable(ctx, &def_image, def, out)
                  : cpli_image_write(ctx, &def_image, def, out);
}

//------------------------------------ reading ------------------------------------

static cpl_status add_items(cpl_system_def* def, const cpl_system_def* draft) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < draft->n_models && st >= 0; i++) {
    cpli_member m = draft->models[i];
    m.cap_starts = m.n_starts;
    st = cpli_def_take_model(def, m);
  }
  for (size_t i = 0; i < draft->n_parameters && st >= 0; i++)
    st = cpli_def_add_parameter(def, draft->parameters[i]);
  for (size_t i = 0; i < draft->n_inputs && st >= 0; i++)
    st = cpli_def_add_input(def, draft->inputs[i]);
  for (size_t i = 0; i < draft->n_connections && st >= 0; i++)
    st = cpli_def_add_connection(def, draft->connections[i]);
  for (size_t i = 0; i < draft->n_outputs && st >= 0; i++)
    st = cpli_def_add_output(def, draft->outputs[i]);
  for (size_t i = 0; i < draft->n_events && st >= 0; i++)
    st = cpli_def_add_event(def, draft->events[i]);
  for (size_t i = 0; i < draft->n_constraints && st >= 0; i++)
    st = cpli_def_take_constraint(def, draft->constraints[i]);
  for (size_t i = 0; i < draft->n_record && st >= 0; i++)
    st = cpli_def_add_record(def, draft->record[i]);
  for (size_t i = 0; i < draft->n_interfaces && st >= 0; i++)
    st = cpli_def_add_interface(def, &draft->interfaces[i]);
  for (size_t i = 0; i < draft->n_lines && st >= 0; i++)
    st = cpli_def_add_line(def, &draft->lines[i]);
  return st;
}

static cpl_status set_settings(cpl_system_def* def, const cpl_system_def* draft) {
  def->hierarchical = draft->hierarchical;
  def->root = draft->root;
  def->file = draft->file;
  def->canonical = draft->canonical;
  def->name = draft->name;
  def->start_mode = draft->start_mode;
  def->measures = draft->measures;
  def->n_measures = draft->n_measures;
  def->study = draft->study;
  def->fit = draft->fit;
  def->manager_port = draft->manager_port;
  cpl_status st = cpl_system_def_isolate(def, draft->isolate, draft->call_timeout);
  if (st >= 0) st = cpli_def_set_experiment(def, &draft->experiment);
  if (st >= 0 && draft->cosimulation.given)
    st = cpli_def_set_cosimulation(def, &draft->cosimulation);
  def->cosimulation = draft->cosimulation;
  return st;
}

static cpl_status fill(cpl_system_def* def, const cpl_system_def* draft);

static cpl_status add_modes(cpl_system_def* def, const cpl_system_def* draft) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < draft->n_modes && st >= 0; i++) {
    const cpli_mode_def* m = &draft->modes[i];
    cpl_system_def* inner = NULL;
    st = cpli_def_add_mode(def, m->name, &inner);
    if (st >= 0) st = fill(inner, m->def);
    for (size_t k = 0; k < m->n_leaves && st >= 0; k++)
      st = cpli_def_add_transition(def, &def->modes[i], m->leaves[k]);
  }
  for (size_t i = 0; i < draft->n_observed && st >= 0; i++)
    st = cpli_def_add_observed(def, draft->observed[i]);
  return st;
}

// The reader limits how deep modes are inside each other.
static cpl_status fill(cpl_system_def* def, const cpl_system_def* draft) {
  cpl_status st = set_settings(def, draft);
  if (st >= 0) st = add_items(def, draft);
  return st < 0 ? st : add_modes(def, draft);
}

cpl_status cpli_def_read_image(cpl_context* ctx, const unsigned char* bytes, size_t size,
                               cpl_system_def** out) {
  cpl_system_def *def = NULL, draft = {0};
  *out = NULL;
  cpl_status st = cpl_system_def_create(ctx, &def);
  if (st < 0) return st;
  st = cpli_image_read(ctx, &def->arena, &def_image, bytes, size, &draft);
  if (st >= 0) st = fill(def, &draft);
  if (st >= 0) *out = def;
  else cpl_system_def_destroy(def);
  return st;
}

const cpli_image_type* cpli_def_image_type(void) { return &def_image; }
