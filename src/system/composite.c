// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An XML handler reads the composite model. The files of a sub-model are searched in the folder
// with its name and then in that of the composite model; a tlm.config that differs from the
// composite model gives a warning.
#include "system/composite.h"
#include "format/source_loc.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "format/file.h"
#include "format/number.h"
#include "format/xml.h"
#include "system/tlm_config.h"

typedef struct config_of {
  const char* model;
  cpli_tlm_config config;
} config_of;

typedef struct reader {
  cpl_system_def* def;
  cpli_member member;    // the sub-model that is open
  cpli_interface whole;  // what its interfaces share
  size_t first_interface;
  bool in_model;
  config_of* configs;  // every tlm.config that was found
  size_t n_configs, cap_configs;
} reader;

bool cpli_is_composite(const char* path) {
  size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".xml") == 0;
}

//------------------------------------ attributes ------------------------------------

static cpli_source_loc here(const reader* r, cpli_xml* xml) {
  return (cpli_source_loc){.file = r->def->file, .line = cpli_xml_line(xml)};
}

// Nullable: there is no such attribute.
static cpli_located_text attribute(reader* r, cpli_xml* xml, const char* name) {
  return cpli_def_text(r->def, cpli_xml_attribute(xml, name), here(r, xml));
}

static cpl_status required(reader* r, cpli_xml* xml, const char* element, const char* name,
                           cpli_located_text* out) {
  *out = attribute(r, xml, name);
  cpli_source_loc loc = here(r, xml);
  if (out->text != NULL && out->text[0] != '\0') return CPL_OK;
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &loc, "%s: the attribute %s is missing", element,
                      name);
}

// Any other decimal number of the file is read as it stands: 1e-6 stays 1e-6.
static cpl_status number(reader* r, cpli_xml* xml, const char* name, double* out) {
  const char* text = cpli_xml_attribute(xml, name);
  cpli_source_loc loc = here(r, xml);
  if (text == NULL || cpli_parse_double(text, strlen(text), out)) return CPL_OK;
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &loc, "%s: %s is no number", name, text);
}

static cpl_status triple(reader* r, cpli_xml* xml, const char* name, cpli_list* out) {
  const char* text = cpli_xml_attribute(xml, name);
  cpli_source_loc loc = here(r, xml);
  if (text == NULL) return CPL_OK;
  cpli_located_text* items = cpli_def_array(r->def, 3, sizeof *items);
  if (items == NULL) return cpli_nomem(r->def->ctx);
  for (int i = 0; i < 3; i++) {
    double v;
    char one[64];
    text += strspn(text, " \t");
    size_t n = strcspn(text, ",");
    size_t used = n;
    while (used > 0 && (text[used - 1] == ' ' || text[used - 1] == '\t')) used--;
    if (used >= sizeof one || !cpli_parse_double(text, used, &v) || (i < 2) != (text[n] == ','))
      return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &loc,
                          "%s has three numbers with commas between them", name);
    snprintf(one, sizeof one, "%.17g", v);
    items[i] = cpli_def_text(r->def, one, loc);
    text += n + (i < 2);
  }
  *out = (cpli_list){items, 3};
  return CPL_OK;
}

//------------------------------------ files ------------------------------------

// `file` in the folder named like the sub-model, or else, unless `own_only`, beside the composite
// model; NULL: it is not there.
static const char* find_file(reader* r, const char* file, bool own_only) {
  const char* slash = strrchr(r->def->file, '/');
  int folder = slash != NULL ? (int)(slash - r->def->file) + 1 : 0;
  char path[4096];
  struct stat info;
  if (file[0] == '/') return stat(file, &info) == 0 ? file : NULL;
  for (int own = 1; own >= (own_only ? 1 : 0); own--) {
    int n = own == 1 ? snprintf(path, sizeof path, "%.*s%s/%s", folder, r->def->file,
                                r->member.name.text, file)
                     : snprintf(path, sizeof path, "%.*s%s", folder, r->def->file, file);
    if (n > 0 && (size_t)n < sizeof path && stat(path, &info) == 0)
      return cpli_def_text(r->def, path, (cpli_source_loc){0}).text;
  }
  return NULL;
}

//------------------------------------ sub-models ------------------------------------

// StartTLMFmiWrapper means couplet itself; others are started where the user allows it.
static bool is_own_command(const cpli_located_text* command) {
  static const char own[] = "StartTLMFmiWrapper";
  return command->text == NULL || command->text[strspn(command->text, " \t")] == '\0' ||
         strncmp(command->text, own, sizeof own - 1) == 0;
}

// A tlm.config that is there was written for a run of the framework. It decides nothing here; where
// it cannot be read or says something else than the composite model, a user may want to know.
static cpl_status take_tlm_config(reader* r) {
  const char* path = find_file(r, "tlm.config", true);
  cpli_tlm_config c;
  if (path == NULL) return CPL_OK;
  cpl_status st = cpli_tlm_config_read(r->def, path, &c);
  if (st == CPL_ERR_NOMEM) return st;
  if (st < 0) {
    cpl_log(r->def->ctx, CPL_LOG_WARNING, r->member.name.text, "%s",
            cpl_context_error(r->def->ctx));
    return CPL_OK;
  }
  if (r->n_configs == r->cap_configs &&
      !cpli_grow(r->def->ctx, (void**)&r->configs, &r->cap_configs, r->n_configs,
                 sizeof *r->configs))
    return cpli_nomem(r->def->ctx);
  r->configs[r->n_configs++] = (config_of){r->member.name.text, c};
  return CPL_OK;
}

static cpl_status begin_model(reader* r, cpli_xml* xml) {
  cpli_located_text file = {0};
  r->member = (cpli_member){.kind = CPL_MEMBER_FMU};
  r->whole = (cpli_interface){0};
  r->first_interface = r->def->n_interfaces;
  r->in_model = true;
  cpl_status st = required(r, xml, "SubModel", "Name", &r->member.name);
  if (st >= 0) st = required(r, xml, "SubModel", "ModelFile", &file);
  cpli_located_text command = attribute(r, xml, "StartCommand");
  if (!is_own_command(&command)) r->member.command = command;
  if (st >= 0) st = triple(r, xml, "Position", &r->whole.lists[CPLI_LIST_ORIGIN]);
  if (st >= 0) st = triple(r, xml, "Angle321", &r->whole.lists[CPLI_LIST_ANGLES]);
  if (st < 0) return st;
  r->whole.name = r->member.name;
  size_t n = strlen(file.text);
  if (n > 2 && strcmp(file.text + n - 2, ".c") == 0) r->member.kind = CPL_MEMBER_C;
  r->member.path = (cpli_located_text){find_file(r, file.text, false), file.loc};
  if (r->member.path.text == NULL && !r->def->no_memory)
    return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &file.loc,
                        "sub-model %s: %s is neither in the folder %s nor in that of this file",
                        r->member.name.text, file.text, r->member.name.text);
  const char* config = find_file(r, "fmi.config", false);
  if (config == NULL)
    return cpli_fail_at(
        r->def->ctx, CPL_ERR_INPUT, &file.loc,
        "sub-model %s: there is no fmi.config, neither in the folder %s nor in that of "
        "this file, so that its interfaces are unknown",
        r->member.name.text, r->member.name.text);
  st = cpli_fmi_config_read(r->def, config, r->member.name.text, &r->whole);
  return st < 0 ? st : take_tlm_config(r);
}

static cpl_status add_parameter(reader* r, cpli_xml* xml) {
  cpli_setting s = {0};
  cpli_member* m = &r->member;
  cpl_status st = required(r, xml, "Parameter", "Name", &s.name);
  if (st >= 0) st = required(r, xml, "Parameter", "Value", &s.value);
  if (st < 0) return st;
  // few of them: the list grows by copies
  cpli_setting* starts = cpli_def_array(r->def, m->n_starts + 1, sizeof *starts);
  if (starts == NULL) return cpli_nomem(r->def->ctx);
  if (m->n_starts > 0) memcpy(starts, m->starts, m->n_starts * sizeof *starts);
  starts[m->n_starts++] = s;
  m->starts = starts;
  return CPL_OK;
}

static cpl_status check_point(reader* r, cpli_xml* xml) {
  cpli_located_text name;
  cpl_status st = required(r, xml, "InterfacePoint", "Name", &name);
  cpli_source_loc loc = here(r, xml);
  if (st < 0) return st;
  for (size_t i = r->first_interface; i < r->def->n_interfaces; i++) {
    const char* full = r->def->interfaces[i].name.text;
    if (strcmp(full + strlen(r->member.name.text) + 1, name.text) == 0) return CPL_OK;
  }
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &loc,
                      "sub-model %s: its fmi.config has no interface %s", r->member.name.text,
                      name.text);
}

static cpl_status end_model(reader* r) {
  r->in_model = false;
  r->member.prefers_steps = r->whole.substeps.text != NULL;
  cpl_status st = cpli_def_add_model(r->def, r->member);
  return st < 0 ? st : cpli_def_add_interface(r->def, &r->whole);
}

//------------------------------------ the rest ------------------------------------

static cpl_status add_connection(reader* r, cpli_xml* xml) {
  cpli_line l = {.loc = here(r, xml)};
  cpl_status st = required(r, xml, "Connection", "From", &l.from);
  if (st >= 0) st = required(r, xml, "Connection", "To", &l.to);
  if (st >= 0) st = required(r, xml, "Connection", "Delay", &l.delay);
  l.zf = attribute(r, xml, "Zf");
  l.zfr = attribute(r, xml, "Zfr");
  l.alpha = attribute(r, xml, "alpha");
  return st < 0 ? st : cpli_def_add_line(r->def, &l);
}

static cpl_status take_simulation(reader* r, cpli_xml* xml) {
  cpli_experiment e = {.values = cpl_default_experiment_def()};
  double port = 0;
  cpl_status st = number(r, xml, "StartTime", &e.values.start);
  if (st >= 0) st = number(r, xml, "StopTime", &e.values.stop);
  if (st >= 0) st = number(r, xml, "WriteTimeStep", &e.values.interval);
  if (st >= 0) st = number(r, xml, "ManagerPort", &port);
  if (st >= 0 && (!(port >= 0) || port > 65535 || port != floor(port))) {
    cpli_source_loc loc = here(r, xml);
    return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &loc, "ManagerPort: %s is no port",
                        cpli_xml_attribute(xml, "ManagerPort"));
  }
  r->def->manager_port = (int32_t)port;
  for (size_t i = 0; i < CPLI_COUNT(e.locs); i++) e.locs[i] = here(r, xml);
  if (st >= 0 && isnan(e.values.interval) && !isnan(e.values.stop))
    e.values.interval = (e.values.stop - (isnan(e.values.start) ? 0 : e.values.start)) / 1000;
  return st < 0 ? st : cpli_def_set_experiment(r->def, &e);
}

// Half of the shortest delay of a sub-model's connections, where it is a plain number.
static double longest_step(const cpl_system_def* def, const char* model) {
  double shortest = (double)INFINITY, delay;
  size_t n = strlen(model);
  for (size_t i = 0; i < def->n_lines; i++) {
    const cpli_line* l = &def->lines[i];
    bool here = (strncmp(l->from.text, model, n) == 0 && l->from.text[n] == '.') ||
                (strncmp(l->to.text, model, n) == 0 && l->to.text[n] == '.');
    if (here && cpli_parse_double(l->delay.text, strlen(l->delay.text), &delay))
      shortest = fmin(shortest, delay);
  }
  return 0.5 * shortest;
}

static void compare_config(const reader* r, const config_of* c) {
  const cpl_experiment_def* e = &r->def->experiment.values;
  double step = longest_step(r->def, c->model);
  const struct {
    bool differs;
    const char* what;
    double there, here;
  } checks[] = {
      {!isnan(e->start) && e->start != c->config.start, "start time", c->config.start, e->start},
      {!isnan(e->stop) && e->stop != c->config.stop, "stop time", c->config.stop, e->stop},
      {isfinite(step) && c->config.max_step > step * (1 + 1e-12), "longest step",
       c->config.max_step, step}};
  const char* file = c->config.loc.file;
  if (strcmp(c->config.name.text, c->model) != 0)
    cpl_log(r->def->ctx, CPL_LOG_WARNING, c->model, "%s: the name is %s; here the sub-model is %s",
            file, c->config.name.text, c->model);
  for (size_t i = 0; i < CPLI_COUNT(checks); i++) {
    if (checks[i].differs)
      cpl_log(r->def->ctx, CPL_LOG_WARNING, c->model,
              "%s: the %s is %g; by the composite model it is %g, which counts", file,
              checks[i].what, checks[i].there, checks[i].here);
  }
}

static cpl_status begin(void* user, cpli_xml* xml, const char* element) {
  reader* r = user;
  if (strcmp(element, "Model") == 0) {
    r->def->name = attribute(r, xml, "Name");
    return CPL_OK;
  }
  if (strcmp(element, "SubModel") == 0) return begin_model(r, xml);
  if (strcmp(element, "InterfacePoint") == 0 && r->in_model) return check_point(r, xml);
  if (strcmp(element, "Parameter") == 0 && r->in_model) return add_parameter(r, xml);
  if (strcmp(element, "Connection") == 0) return add_connection(r, xml);
  if (strcmp(element, "SimulationParams") == 0) return take_simulation(r, xml);
  return CPL_OK;  // what it looks like, for other programs
}

static cpl_status end(void* user, cpli_xml* xml, const char* element) {
  (void)xml;
  return strcmp(element, "SubModel") == 0 ? end_model(user) : CPL_OK;
}

cpl_status cpli_composite_read(cpl_system_def* def) {
  static const cpli_xml_handler handler = {.begin = begin, .end = end};
  char* text = NULL;
  size_t size = 0;
  reader r = {.def = def};
  cpl_status st = cpli_file_read(def->ctx, def->file, 1 << 24, &text, &size);
  if (st >= 0) st = cpli_xml_parse(def->ctx, def->file, text, size, &handler, &r);
  cpli_free(def->ctx, text);
  for (size_t i = 0; st >= 0 && i < r.n_configs; i++) compare_config(&r, &r.configs[i]);
  cpli_free(def->ctx, r.configs);
  if (st >= 0 && def->n_models == 0)
    st = cpli_fail_file(def->ctx, CPL_ERR_INPUT, def->file,
                        "this is no composite model: there is no SubModel in it");
  return st;
}
