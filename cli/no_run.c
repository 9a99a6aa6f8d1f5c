// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A listing includes the definitions of all modes; a check also those of members that are systems.
#include "no_run.h"

#include "base/base.h"
#include "format/json.h"
#include "model/compiled.h"
#include "system/definition.h"

static const char* const kinds[] = {
    [CPL_MEMBER_FMU] = "FMU", [CPL_MEMBER_C] = "C", [CPL_MEMBER_SYSTEM] = "system"};

// Of a file in a package, which is unpacked for a moment only, its path in there.
static const char* shown_path(const cpli_member* m) {
  if (m->shown != NULL) return m->shown;
  return m->path.text != NULL ? m->path.text : "";
}

static cpl_status compile(cpl_context* ctx, const char* path) {
  char* object = NULL;
  cpl_status st = cpli_compiled(ctx, path, &object);
  cpli_free(ctx, object);
  return st;
}

//------------------------------------ printing ------------------------------------

static void print_system(FILE* out, const cpl_system_def* def) {
  if (def->n_models > 0) fputs("\nModels\n", out);
  for (size_t i = 0; i < def->n_models; i++) {
    const cpli_member* m = &def->models[i];
    fputs("  ", out);
    cli_print_safe(out, m->name.text);
    fprintf(out, "  %s  ", kinds[m->kind]);
    cli_print_safe(out, shown_path(m));
    fputc('\n', out);
  }
  if (def->n_connections > 0) fputs("\nConnections\n", out);
  for (size_t i = 0; i < def->n_connections; i++) {
    const cpli_connection* c = &def->connections[i];
    fputs("  ", out);
    cli_print_safe(out, c->target.text);
    fputs(" = ", out);
    cli_print_safe(out, c->source.text != NULL ? c->source.text : "a function");
    fputc('\n', out);
  }
  for (size_t i = 0; i < def->n_modes; i++) {
    fputs("\nMode ", out);
    cli_print_safe(out, def->modes[i].name.text);
    fputc('\n', out);
    print_system(out, def->modes[i].def);
  }
}

static void write_system(cpli_json* json, const cpl_system_def* def) {
  cpli_json_array(json, "models");
  for (size_t i = 0; i < def->n_models; i++) {
    cpli_json_object(json, NULL);
    cpli_json_text(json, "name", def->models[i].name.text);
    cpli_json_text(json, "kind", kinds[def->models[i].kind]);
    cpli_json_text(json, "file", shown_path(&def->models[i]));
    cpli_json_close(json, '}');
  }
  cpli_json_close(json, ']');
  cpli_json_array(json, "connections");
  for (size_t i = 0; i < def->n_connections; i++) {
    cpli_json_object(json, NULL);
    cpli_json_text(json, "to", def->connections[i].target.text);
    cpli_json_text(json, "from", def->connections[i].source.text);
    cpli_json_close(json, '}');
  }
  cpli_json_close(json, ']');
  if (def->n_modes == 0) return;
  cpli_json_array(json, "modes");
  for (size_t i = 0; i < def->n_modes; i++) {
    cpli_json_object(json, NULL);
    cpli_json_text(json, "name", def->modes[i].name.text);
    write_system(json, def->modes[i].def);
    cpli_json_close(json, '}');
  }
  cpli_json_close(json, ']');
}

cpl_status no_run_print(cpl_context* ctx, const char* path, const cli_package* package, bool json,
                        FILE* out) {
  cpl_system_def* def = NULL;
  const bool c = cli_ends_with(path, ".c");
  cpl_status st = c ? compile(ctx, path)
                  : cpl_is_system_path(path)
                      ? cli_read_system(ctx, path, package, &def)
                      : cpl_fail(ctx, CPL_ERR_INPUT,
                                 "%s: --no-run: there is nothing to show of one "
                                 "FMU; couplet info reads its description",
                                 path);
  if (st >= 0 && json) {
    cpli_json j;
    cpli_json_begin(&j, out);
    j.one_line = 3;
    cpli_json_object(&j, NULL);
    cpli_json_text(&j, "file", path);
    cpli_json_text(&j, "format", c ? "C" : "system");
    cpli_json_boolean(&j, "run", false);
    if (def != NULL) write_system(&j, def);
    cpli_json_close(&j, '}');
    cpli_json_end(&j);
  } else if (st >= 0) {
    cli_print_safe(out, path);
    fputs(c ? ": a model in C; it compiles, but its description requires running it\n"
            : ": a system, as its file has it; no model was loaded\n",
          out);
    if (def != NULL) print_system(out, def);
  }
  cpl_system_def_destroy(def);
  return st;
}

//------------------------------------ checking ------------------------------------

static cpl_status check_system(cpl_context* ctx, const cpl_system_def* def,
                               const cpli_chain* outer);

static cpl_status check_member(cpl_context* ctx, const cpli_member* m, const cpli_chain* chain) {
  cpl_status st = CPL_OK;
  if (m->kind == CPL_MEMBER_SYSTEM) {
    const cpl_system_def* inner = NULL;
    cpl_system_def* owned = NULL;
    st = cpli_def_enter(ctx, chain, m, &inner, &owned);
    if (st >= 0) st = check_system(ctx, inner, chain);
    cpl_system_def_destroy(owned);
    return st;
  }
  if (m->kind == CPL_MEMBER_C) {
    st = compile(ctx, m->path.text);
  } else {
    cpl_fmu_def fmu = cpl_default_fmu_def();
    cpl_source* source = NULL;
    fmu.path = m->path.text;
    st = cpl_fmu_open(ctx, &fmu, &source);
    cpl_source_destroy(source);
  }
  char loc[CPLI_LOC_SIZE];
  if (st < 0)
    cpl_fail_prefix(ctx, st, "%smodel %s", cpli_source_loc_text(&m->path.loc, loc), m->name.text);
  return st;
}

static cpl_status check_system(cpl_context* ctx, const cpl_system_def* def,
                               const cpli_chain* outer) {
  const cpli_chain chain = {.outer = outer, .def = def, .path = ""};
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_models && st >= 0; i++)
    st = check_member(ctx, &def->models[i], &chain);
  for (size_t i = 0; i < def->n_modes && st >= 0; i++)
    st = check_system(ctx, def->modes[i].def, &chain);
  return st;
}

cpl_status no_run_check(cpl_context* ctx, const char* path, const cli_package* package) {
  cpl_system_def* def = NULL;
  if (cli_ends_with(path, ".c")) return compile(ctx, path);
  cpl_status st = cli_read_system(ctx, path, package, &def);
  if (st >= 0) st = check_system(ctx, def, NULL);
  cpl_system_def_destroy(def);
  return st;
}
