// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "system/composite.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "format/file.h"
#include "format/number.h"
#include "format/xml.h"

typedef struct reader {
  cpl_system_def* def;
  cpli_member member;    // the sub-model that is open
  cpli_interface whole;  // what its interfaces share
  size_t first_interface;
  bool in_model;
} reader;

bool cpli_is_composite(const char* path) {
  size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".xml") == 0;
}

//------------------------------------ attributes ------------------------------------

static cpli_place here(const reader* r, cpli_xml* xml) {
  return (cpli_place){.file = r->def->file, .line = cpli_xml_line(xml)};
}

// Nullable: there is no such attribute.
static cpli_text attribute(reader* r, cpli_xml* xml, const char* name) {
  return cpli_def_text(r->def, cpli_xml_attribute(xml, name), here(r, xml));
}

static cpl_status required(reader* r, cpli_xml* xml, const char* element, const char* name,
                           cpli_text* out) {
  *out = attribute(r, xml, name);
  cpli_place place = here(r, xml);
  if (out->text != NULL && out->text[0] != '\0') return CPL_OK;
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &place, "%s: the attribute %s is missing",
                      element, name);
}

// Any other decimal number of the file is read as it stands: 1e-6 stays 1e-6.
static cpl_status number(reader* r, cpli_xml* xml, const char* name, double* out) {
  const char* text = cpli_xml_attribute(xml, name);
  cpli_place place = here(r, xml);
  if (text == NULL || cpli_parse_double(text, strlen(text), out)) return CPL_OK;
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &place, "%s: %s is no number", name, text);
}

static cpl_status triple(reader* r, cpli_xml* xml, const char* name, cpli_list* out) {
  const char* text = cpli_xml_attribute(xml, name);
  cpli_place place = here(r, xml);
  if (text == NULL) return CPL_OK;
  cpli_text* items = cpli_def_array(r->def, 3, sizeof *items);
  if (items == NULL) return cpli_nomem(r->def->ctx);
  for (int i = 0; i < 3; i++) {
    double v;
    char one[64];
    text += strspn(text, " \t");
    size_t n = strcspn(text, ",");
    size_t used = n;
    while (used > 0 && (text[used - 1] == ' ' || text[used - 1] == '\t')) used--;
    if (used >= sizeof one || !cpli_parse_double(text, used, &v) || (i < 2) != (text[n] == ','))
      return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &place,
                          "%s has three numbers with commas between them", name);
    snprintf(one, sizeof one, "%.17g", v);
    items[i] = cpli_def_text(r->def, one, place);
    text += n + (i < 2);
  }
  *out = (cpli_list){items, 3};
  return CPL_OK;
}

//------------------------------------ files ------------------------------------

// `file` in the folder named like the sub-model, or beside the composite model; NULL: in neither.
static const char* find_file(reader* r, const char* file) {
  const char* slash = strrchr(r->def->file, '/');
  int folder = slash != NULL ? (int)(slash - r->def->file) + 1 : 0;
  char path[4096];
  struct stat info;
  if (file[0] == '/') return stat(file, &info) == 0 ? file : NULL;
  for (int own = 1; own >= 0; own--) {
    int n = own == 1 ? snprintf(path, sizeof path, "%.*s%s/%s", folder, r->def->file,
                                r->member.name.text, file)
                     : snprintf(path, sizeof path, "%.*s%s", folder, r->def->file, file);
    if (n > 0 && (size_t)n < sizeof path && stat(path, &info) == 0)
      return cpli_def_text(r->def, path, (cpli_place){0}).text;
  }
  return NULL;
}

//------------------------------------ sub-models ------------------------------------

// StartTLMFmiWrapper means couplet itself; others are started where the user allows it.
static bool is_own_command(const cpli_text* command) {
  static const char own[] = "StartTLMFmiWrapper";
  return command->text == NULL || command->text[strspn(command->text, " \t")] == '\0' ||
         strncmp(command->text, own, sizeof own - 1) == 0;
}

static cpl_status begin_model(reader* r, cpli_xml* xml) {
  cpli_text file = {0};
  r->member = (cpli_member){.kind = CPL_MEMBER_FMU};
  r->whole = (cpli_interface){0};
  r->first_interface = r->def->n_interfaces;
  r->in_model = true;
  cpl_status st = required(r, xml, "SubModel", "Name", &r->member.name);
  if (st >= 0) st = required(r, xml, "SubModel", "ModelFile", &file);
  cpli_text command = attribute(r, xml, "StartCommand");
  if (!is_own_command(&command)) r->member.command = command;
  if (st >= 0) st = triple(r, xml, "Position", &r->whole.lists[CPLI_LIST_ORIGIN]);
  if (st >= 0) st = triple(r, xml, "Angle321", &r->whole.lists[CPLI_LIST_ANGLES]);
  if (st < 0) return st;
  r->whole.name = r->member.name;
  size_t n = strlen(file.text);
  if (n > 2 && strcmp(file.text + n - 2, ".c") == 0) r->member.kind = CPL_MEMBER_C;
  r->member.path = (cpli_text){find_file(r, file.text), file.place};
  if (r->member.path.text == NULL && !r->def->no_memory)
    return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &file.place,
                        "sub-model %s: %s is neither in the folder %s nor beside this file",
                        r->member.name.text, file.text, r->member.name.text);
  const char* config = find_file(r, "fmi.config");
  if (config == NULL)
    return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &file.place,
                        "sub-model %s: there is no fmi.config, neither in the folder %s nor beside "
                        "this file, and so nobody knows what its interfaces are",
                        r->member.name.text, r->member.name.text);
  return cpli_fmi_config_read(r->def, config, r->member.name.text, &r->whole);
}

static cpl_status add_parameter(reader* r, cpli_xml* xml) {
  cpli_setting s;
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
  cpli_text name;
  cpl_status st = required(r, xml, "InterfacePoint", "Name", &name);
  cpli_place place = here(r, xml);
  if (st < 0) return st;
  for (size_t i = r->first_interface; i < r->def->n_interfaces; i++) {
    const char* full = r->def->interfaces[i].name.text;
    if (strcmp(full + strlen(r->member.name.text) + 1, name.text) == 0) return CPL_OK;
  }
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &place,
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
  cpli_line l = {.place = here(r, xml)};
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
  if (st >= 0 && !(port >= 0 && port <= 65535 && port == floor(port))) {
    cpli_place place = here(r, xml);
    st = cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &place, "ManagerPort is a number up to 65535");
  }
  if (st >= 0) r->def->manager_port = (int32_t)port;
  for (size_t i = 0; i < CPLI_COUNT(e.places); i++) e.places[i] = here(r, xml);
  if (st >= 0 && isnan(e.values.interval) && !isnan(e.values.stop))
    e.values.interval = (e.values.stop - (isnan(e.values.start) ? 0 : e.values.start)) / 1000;
  return st < 0 ? st : cpli_def_set_experiment(r->def, &e);
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
  if (st >= 0 && def->n_models == 0)
    st = cpl_fail(def->ctx, CPL_ERR_INPUT,
                  "%s: this is no composite model: there is no SubModel in it", def->file);
  return st;
}
