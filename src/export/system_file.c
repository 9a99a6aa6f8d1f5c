// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system file of any definition. What comes from a package is made plain first: units and
// transformations of connectors become factors and offsets, values get the units of their
// variables, and the files of the package are copied beside the system file.
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "assemble/assemble.h"
#include "couplet/component.h"
#include "export/convert.h"
#include "format/file.h"
#include "format/number.h"
#include "ssp/ssp.h"
#include "system/write.h"

typedef struct plain {
  cpl_context* ctx;
  const cpl_convert_def* def;
  const cpli_built* system;
  cpl_system_def copy;  // its arrays below, all others are those of the system
  cpli_arena arena;
  char folder[PATH_MAX];  // of the output: "" or with a slash at its end
  char files[256];        // folder for copies of files of archives; others stay where they are
  struct copied {
    const char *path, *name;
  } * copied;
  size_t n_copied, cap_copied;
} plain;

//------------------------------------ values ------------------------------------

// A parameter that a connection sets needs no value of a parameter set.
static bool is_replaced(const plain* p, size_t model, const cpli_setting* s) {
  const cpl_description* d = p->system->sources[model]->desc;
  const int32_t var = cpl_find_variable(d, s->name.text);
  if (!s->optional || var < 0 || d->vars[var].causality == CPL_CAUSALITY_INPUT) return false;
  return cpli_links_find(&p->system->links, &p->system->resolver, (int32_t)model, var) >= 0;
}

static cpl_status plain_starts(plain* p, size_t model) {
  cpli_member* m = &p->copy.models[model];
  cpli_setting* starts = cpli_arena_alloc(&p->arena, m->n_starts + 1, sizeof *starts);
  size_t n = 0;
  if (starts == NULL) return cpli_nomem(p->ctx);
  for (size_t i = 0; i < m->n_starts; i++) {
    char* text;
    if (is_replaced(p, model, &m->starts[i])) continue;
    cpl_status st = cpli_start_text(p->system, model, &m->starts[i], &text);
    if (st < 0) return st;
    if (text == NULL) continue;
    starts[n] = (cpli_setting){.name = m->starts[i].name, .value.loc = m->starts[i].value.loc};
    starts[n].value.text = cpli_arena_strdup(&p->arena, text);
    cpli_free(p->ctx, text);
    if (starts[n++].value.text == NULL) return cpli_nomem(p->ctx);
  }
  m->starts = starts;
  m->n_starts = n;
  return CPL_OK;
}

// Factor and offset as one step without units.
static const cpli_transform* scaling(plain* p, double factor, double offset) {
  cpli_transform* t = cpli_arena_alloc(&p->arena, 1, sizeof *t);
  cpli_transform_step* step = cpli_arena_alloc(&p->arena, 1, sizeof *step);
  if (t == NULL || step == NULL) return NULL;
  *step = (cpli_transform_step){.factor = factor, .offset = offset};
  *t = (cpli_transform){.steps = step, .n_steps = 1};
  return t;
}

static bool needs_no_conversion(const plain* p, const cpli_link* link) {
  const cpl_variable* to = &p->system->sources[link->model]->desc->vars[link->var];
  const cpl_variable* from = cpli_ref_variable(&p->system->resolver, link->source);
  return to->type == CPL_REAL && to->width == CPL_WIDTH_OWN &&
         (from == NULL || from->type == CPL_REAL);
}

static cpl_status plain_connections(plain* p) {
  for (size_t k = 0; k < p->system->links.count; k++) {
    const cpli_link* link = &p->system->links.items[k];
    cpli_connection* c = &p->copy.connections[link->connection];
    if (needs_no_conversion(p, link)) c->convert = false;
    if (p->system->def->connections[link->connection].transform == NULL) continue;
    c->keep_units = true;
    c->transform = NULL;
    if (link->factor == 1 && link->offset == 0) continue;
    c->transform = scaling(p, link->factor, link->offset);
    if (c->transform == NULL) return cpli_nomem(p->ctx);
  }
  return CPL_OK;
}

// "2*'a.y' + 1": units are not converted in expressions.
static cpl_status plain_output(plain* p, cpli_output* o) {
  const cpli_ref none = {CPLI_REF_NONE, -1, -1};
  cpli_ref ref;
  double factor = 1, offset = 0;
  if (o->transform == NULL || !cpli_resolver_find(&p->system->resolver, o->source.text, &ref))
    return CPL_OK;
  cpl_status st = cpli_transform_refs(&p->system->resolver, &o->source.loc, o->transform, none, ref,
                                      &factor, &offset);
  o->transform = NULL;
  if (st < 0 || (factor == 1 && offset == 0)) return st;
  char by[CPLI_NUMBER_SIZE], plus[CPLI_NUMBER_SIZE];
  cpli_format_double(by, factor);
  cpli_format_double(plus, offset);
  size_t size = strlen(o->source.text) + sizeof by + sizeof plus + 8;
  char* text = cpli_arena_alloc(&p->arena, size, 1);
  if (text == NULL) return cpli_nomem(p->ctx);
  snprintf(text, size, "%s*'%s' + %s", by, o->source.text, plus);
  o->source.text = text;
  return CPL_OK;
}

static cpl_status plain_values(plain* p) {
  for (size_t i = 0; i < p->copy.n_parameters; i++) {
    cpli_parameter* one = &p->copy.parameters[i];
    char number[CPLI_NUMBER_SIZE];
    if (one->value.text != NULL) continue;
    cpli_format_double(number, p->system->parameters[i]);
    one->value.text = cpli_arena_strdup(&p->arena, number);
    if (one->value.text == NULL) return cpli_nomem(p->ctx);
  }
  for (size_t i = 0; i < p->copy.n_inputs; i++) {
    cpl_unit unit;
    cpli_input* in = &p->copy.inputs[i];
    if (in->meaning != NULL && in->unit.text != NULL && !cpli_unit_parse(in->unit.text, &unit))
      in->unit.text = NULL;  // only the package knows it, and connections have the factors
  }
  return CPL_OK;
}

// The steps of a package follow from the tolerance (docs/ssp.md); a system file says so.
static void plain_master(plain* p) {
  const cpli_members* made = p->system->draft;
  const cpl_experiment_def* e = &p->copy.experiment.values;
  if (!p->copy.cosimulation.automatic || made == NULL) return;
  for (size_t i = 0; i < p->copy.n_models; i++) {
    const cpl_stepper* s = made->steppers[i];
    if (s != NULL && !(s->base.can.variable_step && s->base.can.save_restore)) return;
  }
  p->copy.cosimulation = cpli_default_cosimulation();
  p->copy.cosimulation.given = true;
  p->copy.cosimulation.tolerance = isnan(e->rtol) ? cpl_default_solver_def().rtol : e->rtol;
}

static cpl_status make_plain(plain* p) {
  const cpl_system_def* def = p->system->def;
  p->copy = *def;
  const struct {
    void* list;
    size_t n, size;
  } lists[] = {{&p->copy.models, def->n_models, sizeof *def->models},
               {&p->copy.connections, def->n_connections, sizeof *def->connections},
               {&p->copy.outputs, def->n_outputs, sizeof *def->outputs},
               {&p->copy.parameters, def->n_parameters, sizeof *def->parameters},
               {&p->copy.inputs, def->n_inputs, sizeof *def->inputs}};
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) {
    void** list = lists[i].list;
    void* own = cpli_arena_alloc(&p->arena, lists[i].n + 1, lists[i].size);
    if (own == NULL) return cpli_nomem(p->ctx);
    if (lists[i].n > 0) memcpy(own, *list, lists[i].n * lists[i].size);
    *list = own;
  }
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_models && st >= 0; i++) st = plain_starts(p, i);
  if (st >= 0) st = plain_connections(p);
  for (size_t i = 0; i < def->n_outputs && st >= 0; i++) st = plain_output(p, &p->copy.outputs[i]);
  if (st >= 0) st = plain_values(p);
  plain_master(p);
  return st;
}

//------------------------------------ files ------------------------------------

static bool has_copy(const void* user, const char* name) {
  const plain* p = user;
  size_t i = 0;
  while (i < p->n_copied && strcmp(p->copied[i].name, name) != 0) i++;
  return i < p->n_copied;
}

// The name of a copy: that of the file, unless another one has it already.
static cpl_status name_copy(plain* p, const char* path, const char** out) {
  char text[PATH_MAX], stem[PATH_MAX];
  const char* ending = strrchr(path, '.');
  for (size_t i = 0; i < p->n_copied; i++) {
    *out = p->copied[i].name;
    if (strcmp(p->copied[i].path, path) == 0) return CPL_OK;
  }
  cpli_stem_of(path, stem, sizeof stem);
  if (ending == NULL || strchr(ending, '/') != NULL) ending = "";
  cpli_free_name(p->files, stem, ending, has_copy, p, text);
  if (!cpli_grow(p->ctx, (void**)&p->copied, &p->cap_copied, p->n_copied, sizeof *p->copied))
    return cpli_nomem(p->ctx);
  struct copied one = {cpli_arena_strdup(&p->arena, path), cpli_arena_strdup(&p->arena, text)};
  if (one.path == NULL || one.name == NULL) return cpli_nomem(p->ctx);
  p->copied[p->n_copied++] = one;
  *out = one.name;
  return CPL_OK;
}

static cpl_status write_copy(const plain* p, const char* path, const char* name) {
  char target[PATH_MAX], *bytes = NULL;
  size_t size;
  if (snprintf(target, sizeof target, "%s%s", p->folder, name) >= (int)sizeof target)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, name, "the path is too long");
  char* end = strrchr(target, '/');
  *end = '\0';
  if (mkdir(target, 0777) != 0 && errno != EEXIST)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, target, "cannot make this folder: %s",
                          strerror(errno));
  *end = '/';
  cpl_status st = cpli_file_read(p->ctx, path, CPLI_LARGEST_FILE, &bytes, &size);
  if (st >= 0) st = cpli_file_make(p->ctx, target, bytes, size);
  cpli_free(p->ctx, bytes);
  return st;
}

// Copies a file of the package: "plant_files/motor.fmu". Behind a '#' is a variant.
static cpl_status copy_file(plain* p, const char* path, char* out) {
  char file[PATH_MAX];
  const char* name = NULL;
  size_t n = strcspn(path, "#"), before = p->n_copied;
  snprintf(file, sizeof file, "%.*s", (int)n, path);
  cpl_status st = name_copy(p, file, &name);
  if (st >= 0 && p->n_copied > before) st = write_copy(p, file, name);
  if (st >= 0) snprintf(out, PATH_MAX, "%s%s", name, path + n);
  return st;
}

static cpl_status path_of(void* user, const char** kind, const cpli_located_text* path, char* out) {
  plain* p = user;
  (void)kind;
  const cpli_ssp* ssp = p->system->def->ssp;
  return ssp != NULL && cpli_ssp_is_unpacked(ssp, path->text)
             ? copy_file(p, path->text, out)
             : cpli_relative_path(p->ctx, p->folder, path->text, out);
}

static cpl_status write(plain* p, const char* output) {
  char stem[200], *text = NULL;
  const char* slash = strrchr(output, '/');
  size_t size = 0;
  cpli_write_def how = {.path = path_of, .user = p};
  if (slash != NULL && (size_t)(slash - output) + 2 > sizeof p->folder)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, output, "the path is too long");
  snprintf(p->folder, sizeof p->folder, "%.*s", slash != NULL ? (int)(slash - output) + 1 : 0,
           output);
  cpli_stem_of(output, stem, sizeof stem);
  snprintf(p->files, sizeof p->files, "%s_files", stem);
  cpl_status st = make_plain(p);
  if (st >= 0) st = cpli_def_to_text(&p->copy, &how, &text, &size);
  if (st >= 0) st = cpli_file_make(p->ctx, output, text, size);
  free(text);
  return st;
}

static cpl_status open_input(cpl_context* ctx, const cpl_convert_def* def, cpl_source** out) {
  cpl_ssp_def package = cpl_default_ssp_def();
  cpl_system_def* system = NULL;
  if (!cpli_is_ssp(def->input)) return cpl_system_open(ctx, def->input, out);
  package.path = def->input;
  package.variant = def->variant;
  package.parameters = def->parameters;
  package.n_parameters = def->n_parameters;
  cpl_status st = cpl_system_def_read_ssp(ctx, &package, &system);
  return st < 0 ? st : cpl_system_build_owned(ctx, system, out);
}

cpl_status cpli_system_file_build(cpl_context* ctx, const cpl_convert_def* def) {
  cpl_source* system = NULL;
  cpl_status st = open_input(ctx, def, &system);
  if (st < 0) return st;
  plain* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p != NULL) {
    *p = (plain){.ctx = ctx, .def = def, .system = (const cpli_built*)system};
    cpli_arena_init(&p->arena, ctx);
    st = write(p, def->output);
    cpli_arena_free(&p->arena);
    cpli_free(ctx, p->copied);
    cpli_free(ctx, p);
  } else {
    st = cpli_nomem(ctx);
  }
  cpl_source_destroy(system);
  return st;
}
