// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Definitions made by a program: the same items as from a file, without source locations.
#include <math.h>

#include "format/number.h"
#include "system/definition.h"

static const cpli_source_loc nowhere = {0};

static cpli_located_text keep(cpl_system_def* def, const char* text) {
  return cpli_def_text(def, text, nowhere);
}

static cpli_setting* keep_settings(cpl_system_def* def, const cpl_assignment* given, size_t n) {
  cpli_setting* kept = cpli_def_array(def, n, sizeof *kept);
  for (size_t i = 0; kept != NULL && i < n; i++) {
    kept[i].name = keep(def, given[i].name);
    kept[i].value = keep(def, given[i].value);
  }
  return kept;
}

static cpli_located_text* keep_list(cpl_system_def* def, const char* const* given, size_t n) {
  cpli_located_text* kept = cpli_def_array(def, n, sizeof *kept);
  for (size_t i = 0; kept != NULL && i < n; i++) kept[i] = keep(def, given[i]);
  return kept;
}

// Names and values of a list are there.
static cpl_status check_settings(cpl_system_def* def, const char* of, const cpl_assignment* given,
                                 size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (given[i].name == NULL || given[i].value == NULL)
      return cpl_fail(def->ctx, CPL_ERR_INPUT, "%s: a name or a value is missing", of);
  }
  return CPL_OK;
}

//------------------------------------ defaults ------------------------------------

void cpl_init_member_def(cpl_member_def* def, size_t size) {
  const cpl_member_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}
void cpl_init_connection_def(cpl_connection_def* def, size_t size) {
  const cpl_connection_def all = {.factor = 1};
  cpli_init_def(def, size, &all, sizeof all);
}
void cpl_init_input_def(cpl_input_def* def, size_t size) {
  const cpl_input_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}
void cpl_init_coupling_def(cpl_coupling_def* def, size_t size) {
  const cpl_coupling_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}
void cpl_init_event_def(cpl_event_def* def, size_t size) {
  const cpl_event_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ items ------------------------------------

cpl_status cpl_system_def_set_name(cpl_system_def* def, const char* name) {
  cpli_located_text kept = keep(def, name);
  if (kept.text == NULL && name != NULL) {
    def->no_memory = false;
    return cpli_nomem(def->ctx);
  }
  def->name = kept;
  return CPL_OK;
}

cpl_status cpl_system_def_add_model(cpl_system_def* def, const cpl_member_def* of) {
  cpl_member_def member = cpl_default_member_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_member_def", of, &member, sizeof member);
  if (st >= 0) st = check_settings(def, "start values", member.starts, member.n_starts);
  if (st < 0) return st;
  return cpli_def_add_model(
      def, (cpli_member){.name = keep(def, member.name),
                         .kind = member.kind,
                         .path = keep(def, member.path),
                         .source = member.source,
                         .system = member.system,
                         .as = member.as,
                         .isolate = member.isolate,
                         .starts = keep_settings(def, member.starts, member.n_starts),
                         .n_starts = member.n_starts,
                         .cap_starts = member.n_starts});
}

cpl_status cpl_system_def_isolate(cpl_system_def* def, bool all, double call_timeout) {
  if (!(call_timeout >= 0))
    return cpl_fail(def->ctx, CPL_ERR_INPUT, "the time limit of calls must not be %g s",
                    call_timeout);
  def->isolate = all;
  def->call_timeout = call_timeout;
  return CPL_OK;
}

cpl_status cpl_system_def_call_log(cpl_system_def* def, const char* path) {
  def->call_log = keep(def, path);
  return def->call_log.text != NULL ? CPL_OK : cpli_nomem(def->ctx);
}

cpl_status cpl_system_def_add_parameter(cpl_system_def* def, const char* name, const char* value) {
  return cpli_def_add_parameter(
      def, (cpli_parameter){.name = keep(def, name), .value = keep(def, value)});
}

cpl_status cpl_system_def_add_number(cpl_system_def* def, const char* name, double value) {
  char text[CPLI_NUMBER_SIZE];
  cpli_format_double(text, value);
  return cpl_system_def_add_parameter(def, name, text);
}

cpl_status cpl_system_def_add_input(cpl_system_def* def, const cpl_input_def* of) {
  cpl_input_def input = cpl_default_input_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_input_def", of, &input, sizeof input);
  if (st < 0) return st;
  int given = (input.expression != NULL) + (input.file != NULL) + (input.table != NULL) +
              (input.value != NULL) + (input.start != NULL);
  if (given > 1)
    return cpl_fail(def->ctx, CPL_ERR_INPUT,
                    "input \"%s\": it needs only one of expression, file, table, callback and "
                    "start",
                    input.name != NULL ? input.name : "");
  cpli_input_kind kind = input.expression != NULL ? CPLI_INPUT_EXPRESSION
                         : input.file != NULL     ? CPLI_INPUT_FILE
                         : input.table != NULL    ? CPLI_INPUT_TABLE
                         : input.value != NULL    ? CPLI_INPUT_CALLBACK
                                                  : CPLI_INPUT_FREE;
  return cpli_def_add_input(def, (cpli_input){.name = keep(def, input.name),
                                              .kind = kind,
                                              .expression = keep(def, input.expression),
                                              .file = keep(def, input.file),
                                              .table = input.table,
                                              .column = keep(def, input.column),
                                              .interpolation = input.interpolation,
                                              .value = input.value,
                                              .user = input.user,
                                              .start = keep(def, input.start),
                                              .unit = keep(def, input.unit)});
}

cpl_status cpl_system_def_connect(cpl_system_def* def, const char* target, const char* source) {
  return cpl_system_def_add_connection(
      def, &(cpl_connection_def){sizeof(cpl_connection_def), .target = target, .source = source});
}

cpl_status cpl_system_def_add_connection(cpl_system_def* def, const cpl_connection_def* of) {
  cpl_connection_def connection = cpl_default_connection_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_connection_def", of, &connection, sizeof connection);
  if (st < 0) return st;
  const double factor = connection.factor != 0 ? connection.factor : 1;
  if (!isfinite(factor) || !isfinite(connection.offset))
    return cpl_fail(def->ctx, CPL_ERR_INPUT, "connection of \"%s\": %g*x + %g is not finite",
                    connection.target != NULL ? connection.target : "", factor, connection.offset);
  const cpli_transform* scaling =
      cpli_def_scaling(def, factor, connection.offset, connection.keep_units);
  return cpli_def_add_connection(def, (cpli_connection){.target = keep(def, connection.target),
                                                        .source = keep(def, connection.source),
                                                        .convert = connection.convert,
                                                        .keep_units = connection.keep_units,
                                                        .transform = scaling});
}

cpl_status cpl_system_def_couple(cpl_system_def* def, const char* target,
                                 const cpl_coupling_def* of) {
  cpl_coupling_def coupling = cpl_default_coupling_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_coupling_def", of, &coupling, sizeof coupling);
  if (st < 0) return st;
  bool named = coupling.reads != NULL || coupling.n_reads == 0;
  if (coupling.value == NULL || !named || (coupling.reads_all && coupling.n_reads > 0))
    return cpl_fail(def->ctx, CPL_ERR_INPUT,
                    "connection of \"%s\": a coupling needs a function, and either the names it "
                    "reads or reads_all",
                    target != NULL ? target : "");
  cpli_coupling* kept = cpli_def_array(def, 1, sizeof *kept);
  if (kept != NULL)
    *kept = (cpli_coupling){.reads = keep_list(def, coupling.reads, coupling.n_reads),
                            .n_reads = coupling.n_reads,
                            .reads_all = coupling.reads_all,
                            .constant = coupling.constant,
                            .value = coupling.value,
                            .gradient = coupling.gradient,
                            .user = coupling.user};
  return cpli_def_add_connection(def,
                                 (cpli_connection){.target = keep(def, target), .coupling = kept});
}

cpl_status cpl_system_def_add_output(cpl_system_def* def, const char* name, const char* source) {
  return cpli_def_add_output(def,
                             (cpli_output){.name = keep(def, name), .source = keep(def, source)});
}

cpl_status cpl_system_def_add_constraint(cpl_system_def* def, const char* name,
                                         const char* equation) {
  return cpli_def_add_constraint(def, keep(def, name), keep(def, equation));
}

cpl_status cpl_system_def_add_event(cpl_system_def* def, const cpl_event_def* of) {
  cpl_event_def event = cpl_default_event_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_event_def", of, &event, sizeof event);
  if (st >= 0) st = check_settings(def, "event", event.sets, event.n_sets);
  if (st < 0) return st;
  return cpli_def_add_event(def, (cpli_event){.name = keep(def, event.name),
                                              .when = keep(def, event.when),
                                              .at = keep_list(def, event.at, event.n_at),
                                              .n_at = event.n_at,
                                              .sets = keep_settings(def, event.sets, event.n_sets),
                                              .n_sets = event.n_sets});
}

cpl_status cpl_system_def_add_record(cpl_system_def* def, const char* name) {
  return cpli_def_add_record(def, keep(def, name));
}

cpl_status cpl_system_def_set_experiment(cpl_system_def* def, const cpl_experiment_def* of) {
  cpl_experiment_def experiment = cpl_default_experiment_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_experiment_def", of, &experiment, sizeof experiment);
  if (st < 0) return st;
  cpli_experiment item = {.values = experiment};
  item.values.solver = keep(def, experiment.solver).text;
  item.values.linear = keep(def, experiment.linear).text;
  item.values.projection = keep(def, experiment.projection).text;
  item.values.loops = keep(def, experiment.loops).text;
  item.values.steady = keep(def, experiment.steady).text;
  return cpli_def_set_experiment(def, &item);
}

int32_t cpl_system_def_manager_port(const cpl_system_def* def) { return def->manager_port; }

void cpl_system_def_get_experiment(const cpl_system_def* def, cpl_experiment_def* out) {
  cpli_init_def(out, out->size, &def->experiment.values, sizeof def->experiment.values);
}

//------------------------------------ changes ------------------------------------

static cpl_status set_start(cpl_system_def* def, cpli_member* m, const char* name,
                            const char* value) {
  cpli_located_text kept = keep(def, value);
  for (size_t i = 0; i < m->n_starts; i++) {
    if (strcmp(m->starts[i].name.text, name) != 0) continue;
    if (kept.text != NULL) m->starts[i] = (cpli_setting){.name = m->starts[i].name, .value = kept};
    return CPL_OK;
  }
  if (m->n_starts == m->cap_starts) {
    size_t cap = m->cap_starts > 0 ? 2 * m->cap_starts : 4;
    cpli_setting* bigger = cpli_def_array(def, cap, sizeof *bigger);
    if (bigger == NULL) return CPL_OK;  // the caller tests no_memory
    if (m->n_starts > 0) memcpy(bigger, m->starts, m->n_starts * sizeof *bigger);
    m->starts = bigger;
    m->cap_starts = cap;
  }
  cpli_setting s = {.name = keep(def, name), .value = kept};
  if (!def->no_memory) m->starts[m->n_starts++] = s;
  return CPL_OK;
}

static cpl_status set_input(cpl_system_def* def, cpli_input* input, const char* value) {
  if (input->kind == CPLI_INPUT_FREE) {
    input->start = keep(def, value);
  } else if (input->kind == CPLI_INPUT_EXPRESSION) {
    cpli_located_text kept = keep(def, value);
    if (kept.text != NULL) input->expression = kept;
  } else {
    return cpl_fail(def->ctx, CPL_ERR_INPUT, "input \"%s\" follows a table or a function",
                    input->name.text);
  }
  return CPL_OK;
}

static const char* any_name(const void* user, size_t i) {
  const cpl_system_def* def = user;
  if (i < def->n_parameters) return def->parameters[i].name.text;
  i -= def->n_parameters;
  if (i < def->n_inputs) return def->inputs[i].name.text;
  return def->models[i - def->n_inputs].name.text;
}

static cpl_status unknown_name(const cpl_system_def* def, const char* name) {
  char part[256], near[512];
  const char* dot = def->hierarchical ? strrchr(name, '.') : strchr(name, '.');
  size_t len = dot != NULL ? (size_t)(dot - name) : strlen(name);
  if (len >= sizeof part) len = sizeof part - 1;
  memcpy(part, name, len);
  part[len] = '\0';
  cpli_did_you_mean(part, any_name, def, def->n_parameters + def->n_inputs + def->n_models, near,
                    sizeof near);
  return cpl_fail(def->ctx, CPL_ERR_INPUT, "%s: there is no model, parameter or input %s%s", name,
                  part, near);
}

cpl_status cpl_system_def_set(cpl_system_def* def, const char* name, const char* value) {
  cpl_status st = CPL_OK;
  int32_t found = cpli_names_find(&def->value_names, name);
  if (found >= 0 && found % 2 == 0) {
    cpli_located_text kept = keep(def, value);
    if (kept.text != NULL) def->parameters[found / 2].value = kept;
  } else if (found >= 0) {
    st = set_input(def, &def->inputs[found / 2], value);
  } else {
    const char* variable;
    int32_t model = cpli_split_name(def, name, &variable);
    if (model < 0) return unknown_name(def, name);
    st = set_start(def, &def->models[model], variable, value);
  }
  if (st < 0 || !def->no_memory) return st;
  def->no_memory = false;
  return cpli_nomem(def->ctx);
}

//------------------------------------ questions ------------------------------------

bool cpl_system_def_member(const cpl_system_def* def, size_t i, cpl_member_info* out) {
  if (i >= def->n_models) return false;
  const cpli_member* m = &def->models[i];
  *out = (cpl_member_info){m->name.text, m->path.text, m->command.text};
  return true;
}
