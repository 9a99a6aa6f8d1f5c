// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// tlm.config: five lines that the TLM framework writes for a sub-model that it starts. With it a
// sub-model can be run by itself, and a composite model can be compared with it.
#include "system/tlm_config.h"
#include "format/source_loc.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/file.h"
#include "format/number.h"
#include "system/composite.h"

enum { NAME, SERVER, START, STOP, MAX_STEP, LINES };
static const char* const meaning[LINES] = {"the name of the sub-model", "server:port",
                                           "the start time", "the stop time", "the longest step"};

bool cpli_is_tlm_config(const char* path) {
  static const char file[] = "tlm.config";
  size_t n = strlen(path), m = sizeof file - 1;
  return n >= m && strcmp(path + n - m, file) == 0 && (n == m || path[n - m - 1] == '/');
}

//------------------------------------ lines ------------------------------------

static cpl_status take_number(cpl_system_def* def, const cpli_located_text* text, const char* what,
                              double* out) {
  if (cpli_parse_double(text->text, strlen(text->text), out) && isfinite(*out)) return CPL_OK;
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &text->loc, "%s: %s is no number", what, text->text);
}

// Behind the last colon: addresses of IPv6 have some of their own.
static cpl_status check_server(cpl_system_def* def, const cpli_located_text* text) {
  const char* colon = strrchr(text->text, ':');
  char* end = NULL;
  unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;
  if (colon != NULL && colon > text->text && *end == '\0' && port > 0 && port <= 65535)
    return CPL_OK;
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &text->loc, "%s is no server:port", text->text);
}

static cpl_status check(cpl_system_def* def, const cpli_tlm_config* c,
                        const cpli_located_text* lines) {
  if (c->name.text[0] == '\0')
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &c->name.loc, "there is no name");
  if (c->stop <= c->start)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &lines[STOP].loc,
                        "the stop time %s is not after the start time %s", lines[STOP].text,
                        lines[START].text);
  if (!(c->max_step > 0))
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &lines[MAX_STEP].loc,
                        "the longest step is %s; it must be positive%s", lines[MAX_STEP].text,
                        c->max_step == 0 ? " (was a shorter one written with six decimals?)" : "");
  return CPL_OK;
}

// Without blanks around it.
static cpli_located_text trimmed(cpl_system_def* def, char* text, char* end, cpli_source_loc loc) {
  while (end > text && strchr(" \t\r", end[-1]) != NULL) end--;
  *end = '\0';
  return cpli_def_text(def, text + strspn(text, " \t"), loc);
}

static cpl_status split(cpl_system_def* def, char* bytes, size_t size, cpli_source_loc loc,
                        cpli_located_text* lines) {
  int n = 0;
  for (char* text = bytes; text < bytes + size;) {
    char* end = memchr(text, '\n', (size_t)(bytes + size - text));
    if (end == NULL) end = bytes + size;
    loc.line++;
    cpli_located_text one = trimmed(def, text, end, loc);
    text = end + 1;
    if (one.text == NULL) return cpli_nomem(def->ctx);
    if (n < LINES) lines[n++] = one;
    else if (one.text[0] != '\0')
      return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &loc, "there are more than five lines");
  }
  if (n == LINES) return CPL_OK;
  loc.line = n + 1;
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &loc,
                      "line %d is missing: %s (there are five: name, server:port, start, stop, "
                      "longest step)",
                      n + 1, meaning[n]);
}

cpl_status cpli_tlm_config_read(cpl_system_def* def, const char* path, cpli_tlm_config* out) {
  char* bytes = NULL;
  size_t size = 0;
  cpli_located_text lines[LINES] = {0};
  cpl_status st = cpli_file_read(def->ctx, path, 1 << 16, &bytes, &size);
  if (st < 0) return st;
  cpli_source_loc loc = {.file = cpli_def_text(def, path, (cpli_source_loc){0}).text};
  if (memchr(bytes, '\0', size) != NULL)
    st = cpli_fail_file(def->ctx, CPL_ERR_INPUT, path, "there are zero bytes in it");
  if (st >= 0) st = split(def, bytes, size, loc, lines);
  cpli_free(def->ctx, bytes);
  if (st < 0) return st;
  *out =
      (cpli_tlm_config){.name = lines[NAME], .server = lines[SERVER], .loc = lines[MAX_STEP].loc};
  st = check_server(def, &lines[SERVER]);
  if (st >= 0) st = take_number(def, &lines[START], meaning[START], &out->start);
  if (st >= 0) st = take_number(def, &lines[STOP], meaning[STOP], &out->stop);
  if (st >= 0) st = take_number(def, &lines[MAX_STEP], meaning[MAX_STEP], &out->max_step);
  return st < 0 ? st : check(def, out, lines);
}

//------------------------------------ a sub-model by itself ------------------------------------

static int is_fmu(const struct dirent* entry) {
  size_t n = strlen(entry->d_name);
  return n > 4 && strcmp(entry->d_name + n - 4, ".fmu") == 0;
}

// The only FMU there; NULL: none, or several.
static const char* only_fmu(cpl_system_def* def, const char* folder) {
  struct dirent** found = NULL;
  char path[4096];
  int n = scandir(folder[0] != '\0' ? folder : ".", &found, is_fmu, alphasort);
  const char* out = NULL;
  if (n == 1 && snprintf(path, sizeof path, "%s%s", folder, found[0]->d_name) < (int)sizeof path)
    out = cpli_def_text(def, path, (cpli_source_loc){0}).text;
  for (int i = 0; i < n; i++) free(found[i]);
  free(found);
  return out;
}

static const char* find_model(cpl_system_def* def, const char* folder, const char* name) {
  static const char* const endings[] = {".fmu", ".c"};
  struct stat info;
  char path[4096];
  for (size_t i = 0; i < CPLI_COUNT(endings); i++) {
    int n = snprintf(path, sizeof path, "%s%s%s", folder, name, endings[i]);
    if (n > 0 && (size_t)n < sizeof path && stat(path, &info) == 0)
      return cpli_def_text(def, path, (cpli_source_loc){0}).text;
  }
  return only_fmu(def, folder);
}

// An fmi.config that is there says how many steps of a co-simulation model there are in one.
static cpl_status take_substeps(cpl_system_def* def, const char* folder, cpli_member* member,
                                double* step) {
  char path[4096];
  struct stat info;
  cpli_interface whole = {0};
  double substeps = 1;
  int n = snprintf(path, sizeof path, "%sfmi.config", folder);
  if (n < 0 || (size_t)n >= sizeof path || stat(path, &info) != 0) return CPL_OK;
  cpl_status st = cpli_fmi_config_read(def, path, member->name.text, &whole);
  if (st < 0 || whole.substeps.text == NULL) return st;
  st = take_number(def, &whole.substeps, "substeps", &substeps);
  if (st >= 0 && !(substeps >= 1 && substeps == floor(substeps)))
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &whole.substeps.loc,
                        "substeps: %s is no positive integer", whole.substeps.text);
  member->prefers_steps = true;
  *step /= substeps;
  return st;
}

cpl_status cpli_tlm_config_system(cpl_system_def* def) {
  cpli_tlm_config c;
  cpl_status st = cpli_tlm_config_read(def, def->file, &c);
  if (st < 0) return st;
  char folder[4096];
  const char* slash = strrchr(def->file, '/');
  snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - def->file) + 1 : 0,
           def->file);
  cpli_member member = {.kind = CPL_MEMBER_FMU, .name = c.name};
  member.path = (cpli_located_text){find_model(def, folder, c.name.text), c.name.loc};
  if (member.path.text == NULL)
    return cpli_fail_at(
        def->ctx, CPL_ERR_INPUT, &c.name.loc,
        "the folder of this file has neither %s.fmu nor %s.c nor a single other .fmu", c.name.text,
        c.name.text);
  size_t n = strlen(member.path.text);
  if (strcmp(member.path.text + n - 2, ".c") == 0) member.kind = CPL_MEMBER_C;
  cpli_experiment e = {.values = cpl_default_experiment_def()};
  e.values.start = c.start;
  e.values.stop = c.stop;
  e.values.step = c.max_step;
  for (size_t i = 0; i < CPLI_COUNT(e.locs); i++) e.locs[i] = c.loc;
  st = take_substeps(def, folder, &member, &e.values.step);
  def->name = c.name;
  if (st >= 0) st = cpli_def_add_model(def, member);
  return st < 0 ? st : cpli_def_set_experiment(def, &e);
}
