// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes an FMU of a system. The system is built once; its models become files below resources/ and
// entries of the plan, its definitions become images in the plan and plain system files for
// readers. The binary is the same for all systems: couplet has it ready, and it reads the plan.
#include "export/system_fmu.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/data.h"
#include "couplet/component.h"
#include "couplet/experiment.h"
#include "export/archive.h"
#include "export/convert.h"
#include "export/plain.h"
#include "export/plan.h"
#include "export/system_facts.h"
#include "export/system_sources.h"
#include "fmi/fmu.h"
#include "fmi/image.h"
#include "fmi/library.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/source_loc.h"
#include "model/compiled.h"
#include "model/image.h"
#include "model/proxy.h"
#include "system/image.h"

typedef cpli_packed_file placed;

typedef struct pack {
  cpl_context* ctx;
  const cpl_build_def* def;
  const char* data;  // couplet's data folder
  char* folder;      // temporary
  cpl_source* system;
  cpli_fmu_archive fmu;
  cpl_description desc;  // of the FMU
  cpli_arena arena;
  placed* files;
  size_t n_files, cap_files;
  cpli_plan plan;
  size_t cap_sources, cap_systems, cap_opened, cap_built;
  const cpl_source** opened;  // of each source of the plan
  const cpli_built** built;   // of each system of the plan
  const char** texts;         // of each system: its name below resources/
  size_t cap_texts;
  const char** source_files;  // that are compiled
  uint32_t depth;             // of FMUs of systems inside of this one
} pack;

//------------------------------------ names ------------------------------------

// By a file, or by a folder with files.
static bool is_taken(const void* user, const char* name) {
  const pack* p = user;
  size_t len = strlen(name);
  for (size_t i = 0; i < p->n_files; i++) {
    const char* other = p->files[i].name;
    if (strncmp(other, name, len) == 0 && (other[len] == '\0' || other[len] == '/')) return true;
  }
  return false;
}

static const char* find_file(const pack* p, const char* path) {
  for (size_t i = 0; i < p->n_files; i++)
    if (strcmp(p->files[i].path, path) == 0) return p->files[i].name;
  return NULL;
}

// The name of a file of the system: "folder/stem.ending", or with a number. `inside`: its name in a
// folder "folder/stem" of its own. Nullable
static cpl_status place(pack* p, const char* path, const char* folder, const char* ending,
                        const char* inside, const char** out) {
  char stem[200], name[PATH_MAX];
  cpli_stem_of(path, stem, sizeof stem);
  cpli_make_portable(stem);
  cpli_free_name(folder, stem, ending, is_taken, p, name);
  if (!cpli_grow(p->ctx, (void**)&p->files, &p->cap_files, p->n_files, sizeof *p->files))
    return cpli_nomem(p->ctx);
  size_t len = strlen(name);
  if (inside != NULL) snprintf(name + len, sizeof name - len, "/%s", inside);
  cpli_make_portable(name + len);
  placed one = {cpli_arena_strdup(&p->arena, path), cpli_arena_strdup(&p->arena, name)};
  if (one.path == NULL || one.name == NULL) return cpli_nomem(p->ctx);
  p->files[p->n_files++] = one;
  *out = one.name;
  return CPL_OK;
}

//------------------------------------ FMUs ------------------------------------

// The depth of an FMU of a system, from its plan; 0: it is another FMU.
static cpl_status depth_of(pack* p, const char* below, uint32_t* out) {
  char plan[PATH_MAX];
  *out = 0;
  snprintf(plan, sizeof plan, "%s/resources/" CPLI_PLAN_FILE, below);
  const cpli_source_files* files = &p->fmu.resources;
  for (size_t i = 0; i < files->n; i++) {
    if (strcmp(files->items[i].name, plan) != 0) continue;
    cpli_plan inner;
    cpli_arena arena;
    cpli_arena_init(&arena, p->ctx);
    cpl_status st = cpli_plan_read(p->ctx, &arena, (const unsigned char*)files->items[i].text,
                                   files->items[i].size, &inner);
    if (st >= 0) *out = inner.depth;
    cpli_arena_free(&arena);
    if (st < 0) *out = 1;  // a file of that name, or of another version
    return CPL_OK;
  }
  return CPL_OK;
}

// An FMU of source code gets a binary for this platform.
static cpl_status add_binary(pack* p, cpl_fmu* fmu, const cpli_fmu_kind* kind, const char* below) {
  char path[PATH_MAX], name[PATH_MAX], *bytes = NULL;
  size_t size = 0;
  if (!kind->present || cpli_fmu_has_binary(fmu, kind->identifier)) return CPL_OK;
  if (cpl_fmu_is_foreign(&fmu->base))
    return cpli_fail_file(p->ctx, CPL_ERR_UNSUPPORTED, fmu->base.path,
                          "it has no binary for this platform (%s), but one for %s, which the FMU "
                          "of a system cannot run",
                          fmu->platform, fmu->foreign_folder);
  snprintf(name, sizeof name, "%s/binaries/%s/%s%s", below, fmu->platform, kind->identifier,
           cpli_fmu_library_suffix());
  for (size_t i = 0; i < p->fmu.resources.n; i++)  // of the other kind, with the same identifier
    if (strcmp(p->fmu.resources.items[i].name, name) == 0) return CPL_OK;
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  cpl_status st = cpli_fmu_extract(fmu);
  if (st >= 0) st = cpli_library_compile(fmu, kind, path);
  if (st >= 0) st = cpli_file_read(p->ctx, path, CPLI_LARGEST_FILE, &bytes, &size);
  return st < 0 ? st : cpli_collect_bytes(&p->fmu.resources, name, bytes, size);
}

static cpl_status add_fmu_files(pack* p, cpl_fmu* fmu, const char** out) {
  const char* path = fmu->base.path;
  uint32_t depth = 0;
  *out = find_file(p, path);
  if (*out != NULL) return CPL_OK;
  cpl_status st = place(p, path, "fmus", ".fmu", NULL, out);
  if (st >= 0)
    st = fmu->is_folder ? cpli_collect_tree(&p->fmu.resources, path, *out)
                        : cpli_collect_archive(&p->fmu.resources, path, *out);
  if (st >= 0) st = add_binary(p, fmu, &fmu->me, *out);
  if (st >= 0) st = add_binary(p, fmu, &fmu->cs, *out);
  if (st >= 0) st = add_binary(p, fmu, &fmu->se, *out);
  if (st >= 0) st = depth_of(p, *out, &depth);
  if (depth > p->depth) p->depth = depth;
  return st;
}

//------------------------------------ models in C ------------------------------------

// The source with its headers, and the library, in a folder of their own.
static cpl_status add_c_files(pack* p, const char* path, const char** library) {
  char include[PATH_MAX], name[PATH_MAX], *compiled = NULL, *bytes = NULL;
  const char* slash = strrchr(path, '/');
  const char* source = find_file(p, path);
  bool known = source != NULL;
  size_t size = 0;
  cpl_status st = CPL_OK;
  if (!known) st = place(p, path, "models", "", slash != NULL ? slash + 1 : path, &source);
  if (st < 0) return st;
  snprintf(name, sizeof name, "%.*s.so", (int)(strrchr(source, '.') - source), source);
  *library = cpli_arena_strdup(&p->arena, name);
  if (*library == NULL) return cpli_nomem(p->ctx);
  if (known) return CPL_OK;
  snprintf(include, sizeof include, "%s/include", p->data);
  snprintf(name, sizeof name, "%.*s", (int)(strrchr(source, '/') - source), source);
  cpli_source_files own = {.ctx = p->ctx};
  st = cpli_collect_model(&own, path, include, p->folder, false);
  for (size_t i = 0; i < own.n && st >= 0; i++) {
    cpli_source_file* f = &own.items[i];
    char* whole = cpli_printf(p->ctx, "%s/%s", name, f->name);
    st = whole != NULL ? cpli_collect_bytes(&p->fmu.resources, whole, f->text, f->size)
                       : cpli_nomem(p->ctx);
    if (whole != NULL) f->text = NULL;
    cpli_free(p->ctx, whole);
  }
  cpli_source_files_free(&own);
  if (st >= 0) st = cpli_compiled(p->ctx, path, &compiled);
  if (st >= 0) st = cpli_file_read(p->ctx, compiled, CPLI_LARGEST_FILE, &bytes, &size);
  if (st >= 0) st = cpli_collect_bytes(&p->fmu.resources, *library, bytes, size);
  cpli_free(p->ctx, compiled);
  return st;
}

//------------------------------------ sources ------------------------------------

// Takes over the bytes of an image into the arena.
static cpl_status keep_image(pack* p, cpli_image image, uint8_t** bytes, uint64_t* size) {
  *bytes = cpli_arena_alloc(&p->arena, image.size, 1);
  *size = image.size;
  if (*bytes != NULL) memcpy(*bytes, image.bytes, image.size);
  cpli_free(p->ctx, image.bytes);
  return *bytes != NULL ? CPL_OK : cpli_nomem(p->ctx);
}

static cpl_status fill_source(pack* p, const cpl_source* source, cpl_member_kind kind,
                              cpli_plan_source* out) {
  cpl_isolate_def isolation = cpl_default_isolate_def();
  const cpl_source* inner = cpli_isolated_inner(source, &isolation);
  *out = (cpli_plan_source){.kind = kind, .isolated = inner != NULL};
  if (inner != NULL) {
    source = inner;
    out->call_timeout = isolation.call_timeout;
  }
  cpli_image image = {NULL};
  const char* slash = strrchr(source->path, '/');
  out->name = cpli_arena_strdup(&p->arena, slash != NULL ? slash + 1 : source->path);
  cpl_status st = out->name != NULL ? CPL_OK : cpli_nomem(p->ctx);
  if (kind == CPL_MEMBER_FMU) {
    if (st >= 0) st = add_fmu_files(p, (cpl_fmu*)source, &out->path);
    if (st >= 0) st = cpli_fmu_write_image(p->ctx, (const cpl_fmu*)source, &image);
  } else {
    if (st >= 0) st = add_c_files(p, source->path, &out->path);
    if (st >= 0) st = cpli_description_write_image(p->ctx, source->desc, &image);
  }
  return st < 0 ? st : keep_image(p, image, &out->image, &out->image_size);
}

static cpl_status add_source(pack* p, const cpl_source* source, cpl_member_kind kind,
                             int32_t* out) {
  size_t i = 0, n = p->plan.n_sources;
  while (i < n && p->opened[i] != source) i++;
  *out = (int32_t)i;
  if (i < n) return CPL_OK;
  if (!cpli_grow(p->ctx, (void**)&p->plan.sources, &p->cap_sources, n, sizeof *p->plan.sources) ||
      !cpli_grow(p->ctx, (void**)&p->opened, &p->cap_opened, n, sizeof *p->opened))
    return cpli_nomem(p->ctx);
  p->opened[n] = source;
  p->plan.n_sources++;
  return fill_source(p, source, kind, &p->plan.sources[n]);
}

//------------------------------------ systems ------------------------------------

static cpl_status add_system(pack* p, const cpli_built* b, const char* path, int32_t* out);

// The items of one definition, collected in the order of cpli_plan_walk().
typedef struct listing {
  pack* p;
  int32_t* members;
  size_t n_members, cap_members;
  const char** tables;
  size_t n_tables, cap_tables;
} listing;

static cpl_status list_member(listing* l, const cpli_built* b, size_t i) {
  const cpli_member* m = &b->def->models[i];
  int32_t number = 0;
  bool is_system = m->kind == CPL_MEMBER_SYSTEM;
  if (m->command.text != NULL)
    return cpli_fail_at(l->p->ctx, CPL_ERR_UNSUPPORTED, &m->name.loc,
                        "%s is started by a command of its own (%s), which cannot be part of an "
                        "FMU",
                        m->name.text, m->command.text);
  cpl_status st = is_system
                      ? add_system(l->p, (const cpli_built*)b->sources[i],
                                   m->path.text != NULL ? m->path.text : m->name.text, &number)
                      : add_source(l->p, b->sources[i], m->kind, &number);
  if (st < 0) return st;
  if (!cpli_grow(l->p->ctx, (void**)&l->members, &l->cap_members, l->n_members, sizeof *l->members))
    return cpli_nomem(l->p->ctx);
  l->members[l->n_members++] = is_system ? -1 - number : number;
  return CPL_OK;
}

static cpl_status list_table(listing* l, const cpli_input* in) {
  pack* p = l->p;
  const char *path = in->file.text, *ending = strrchr(path, '.'), *name = find_file(p, path);
  char* bytes = NULL;
  size_t size = 0;
  cpl_status st = CPL_OK;
  if (ending == NULL || strchr(ending, '/') != NULL) ending = "";
  if (name == NULL) {
    st = place(p, path, "tables", ending, NULL, &name);
    if (st >= 0) st = cpli_file_read(p->ctx, path, CPLI_LARGEST_FILE, &bytes, &size);
    if (st >= 0) st = cpli_collect_bytes(&p->fmu.resources, name, bytes, size);
  }
  if (st < 0) return st;
  if (!cpli_grow(p->ctx, (void**)&l->tables, &l->cap_tables, l->n_tables, sizeof *l->tables))
    return cpli_nomem(p->ctx);
  l->tables[l->n_tables++] = name;
  return CPL_OK;
}

static cpl_status list_tables(listing* l, const cpl_system_def* def) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_inputs && st >= 0; i++)
    if (def->inputs[i].kind == CPLI_INPUT_FILE) st = list_table(l, &def->inputs[i]);
  return st;
}

// Modes are systems of their own with the models of the definition.
static cpl_status list(listing* l, const cpli_built* b) {
  cpl_status st = CPL_OK;
  for (size_t k = 0; k < b->def->n_modes && st >= 0; k++) {
    const cpli_built* mode = (const cpli_built*)b->modes->modes[k].source;
    for (size_t i = 0; i < mode->def->n_models && st >= 0; i++) st = list_member(l, mode, i);
    if (st >= 0) st = list_tables(l, b->def->modes[k].def);
  }
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) st = list_member(l, b, i);
  return st < 0 ? st : list_tables(l, b->def);
}

static cpl_status fill_system(pack* p, const cpli_built* b, size_t number) {
  listing l = {.p = p};
  cpli_image image = {NULL};
  cpl_status st = list(&l, b);
  cpli_plan_system* s = &p->plan.systems[number];  // the list may have grown
  s->n_members = l.n_members;
  s->n_tables = l.n_tables;
  s->members = cpli_arena_alloc(&p->arena, l.n_members + 1, sizeof *s->members);
  s->tables = cpli_arena_alloc(&p->arena, l.n_tables + 1, sizeof *s->tables);
  if (st >= 0 && (s->members == NULL || s->tables == NULL)) st = cpli_nomem(p->ctx);
  if (st >= 0 && l.n_members > 0) memcpy(s->members, l.members, l.n_members * sizeof *s->members);
  if (st >= 0 && l.n_tables > 0) memcpy(s->tables, l.tables, l.n_tables * sizeof *s->tables);
  cpli_free(p->ctx, l.members);
  cpli_free(p->ctx, l.tables);
  if (st >= 0) st = cpli_def_write_image(p->ctx, b->def, true, &image);
  return st < 0 ? st : keep_image(p, image, &s->image, &s->image_size);
}

static cpl_status add_system(pack* p, const cpli_built* b, const char* path, int32_t* out) {
  size_t i = 0, n = p->plan.n_systems;
  const char* name = "system.yaml";
  cpl_status st = CPL_OK;
  while (i < n && p->built[i] != b) i++;
  *out = (int32_t)i;
  if (i < n) return CPL_OK;
  if (n > 0) name = find_file(p, path);
  if (name == NULL) st = place(p, path, "systems", ".yaml", NULL, &name);
  if (st < 0) return st;
  if (!cpli_grow(p->ctx, (void**)&p->plan.systems, &p->cap_systems, n, sizeof *p->plan.systems) ||
      !cpli_grow(p->ctx, (void**)&p->built, &p->cap_built, n, sizeof *p->built) ||
      !cpli_grow(p->ctx, (void**)&p->texts, &p->cap_texts, n, sizeof *p->texts))
    return cpli_nomem(p->ctx);
  p->built[n] = b;
  p->texts[n] = name;
  p->plan.systems[n] = (cpli_plan_system){NULL};
  p->plan.n_systems++;
  return fill_system(p, b, n);
}

//------------------------------------ system files ------------------------------------

static cpl_status name_in_text(void* user, const char** kind, const cpli_located_text* path,
                               char* out) {
  const pack* p = user;
  (void)kind;
  const char* name = find_file(p, path->text);
  if (name == NULL)
    return cpli_fail_at(p->ctx, CPL_ERR_INPUT, &path->loc, "%s is not part of the FMU", path->text);
  snprintf(out, PATH_MAX, "%s", name);
  return CPL_OK;
}

static cpl_status name_below(void* user, const char** kind, const cpli_located_text* path,
                             char* out) {
  char name[PATH_MAX];
  cpl_status st = name_in_text(user, kind, path, name);
  if (st >= 0 && snprintf(out, PATH_MAX, "../%s", name) >= PATH_MAX) st = CPL_ERR_INPUT;
  return st;
}

// A file that is used twice may be two systems, of which one is isolated.
static bool has_text(const pack* p, size_t system) {
  size_t i = 0;
  while (i < system && strcmp(p->texts[i], p->texts[system]) != 0) i++;
  return i < system;
}

// The systems as files for readers; those inside of the whole are in a folder of their own.
static cpl_status write_texts(pack* p) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < p->plan.n_systems && st >= 0; i++) {
    char* text = NULL;
    if (has_text(p, i)) continue;
    size_t size = 0;
    cpli_write_def how = {
        .path = i == 0 ? name_in_text : name_below, .user = p, .without_fit = true};
    st = cpli_plain_text(p->built[i], &how, &text, &size);
    if (st >= 0) st = cpli_collect_text(&p->fmu.resources, p->texts[i], text);
    free(text);
  }
  return st;
}

//------------------------------------ the FMU ------------------------------------

static cpl_status open_system(pack* p) {
  cpl_open_def open = cpl_default_open_def();
  open.path = p->def->model;
  open.variant = p->def->variant;
  open.parameters = p->def->parameters;
  open.n_parameters = p->def->n_parameters;
  cpl_status st = cpl_open_any(p->ctx, &open, &p->system);
  return st < 0 || !p->def->sources ? st : cpli_system_sources_check((const cpli_built*)p->system);
}

static cpl_status check_depth(pack* p) {
  p->plan.depth = p->depth + 1;
  if (p->plan.depth <= CPLI_PLAN_DEEPEST) return CPL_OK;
  return cpli_fail_file(p->ctx, CPL_ERR_UNSUPPORTED, p->def->model,
                        "more than %d FMUs of systems inside each other", CPLI_PLAN_DEEPEST);
}

static cpl_status read_binary(pack* p) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/system_fmu%d.so", p->data, p->def->fmi_version);
  return cpli_file_read(p->ctx, path, CPLI_LARGEST_FILE, &p->fmu.binary, &p->fmu.binary_size);
}

static cpli_system_sources sources_of(pack* p) {
  return (cpli_system_sources){.ctx = p->ctx,
                               .data = p->data,
                               .folder = p->folder,
                               .fmu = &p->fmu,
                               .plan = &p->plan,
                               .models = p->opened,
                               .files = p->files,
                               .n_files = p->n_files};
}

static cpl_status add_sources(pack* p) {
  if (!p->def->sources) return CPL_OK;
  cpli_system_sources s = sources_of(p);
  cpl_status st = cpli_system_sources_collect(&s);
  return st < 0 ? st : cpli_system_sources_list(&s, &p->source_files);
}

static cpl_status add_plan(pack* p) {
  cpli_image image = {NULL};
  cpl_status st = cpli_plan_write(p->ctx, &p->plan, &image);
  if (st < 0) return st;
  st = cpli_collect_bytes(&p->fmu.resources, CPLI_PLAN_FILE, (char*)image.bytes, image.size);
  if (st < 0 || !p->def->sources) return st;
  cpli_system_sources s = sources_of(p);
  return cpli_system_sources_finish(&s, &image);
}

// What one FMU needs, the whole needs.
static void add_needs(const pack* p, cpl_capabilities* can) {
  for (size_t i = 0; i < p->plan.n_sources; i++) {
    if (p->plan.sources[i].kind != CPL_MEMBER_FMU) continue;
    cpl_isolate_def unused;
    const cpl_source* inner = cpli_isolated_inner(p->opened[i], &unused);
    const cpl_fmu* fmu = (const cpl_fmu*)(inner != NULL ? inner : p->opened[i]);
    can->once_per_process = can->once_per_process || (inner == NULL && fmu->base.once_per_process);
    can->needs_tool = can->needs_tool || fmu->me.can.needs_tool || fmu->cs.can.needs_tool;
  }
}

static cpl_status describe(pack* p) {
  cpli_fmu_facts* facts = &p->fmu.facts;
  cpl_status st = cpli_system_facts(p->system, p->def, &p->arena, &p->desc, facts);
  if (st < 0) return st;
  add_needs(p, &facts->can);
  add_needs(p, &facts->step_can);
  for (int32_t i = 0; i < p->desc.n_vars; i++) {
    const char* why = cpli_why_left_out(facts, i);
    if (why != NULL)
      cpl_log(p->ctx, CPL_LOG_WARNING, p->def->model, "%s %s, which the FMU does not show",
              p->desc.vars[i].name, why);
  }
  cpli_fmu_archive_name(&p->fmu, p->desc.name);
  return CPL_OK;
}

static cpl_status collect(pack* p) {
  char licenses[PATH_MAX + 32];
  int32_t whole = 0;
  snprintf(licenses, sizeof licenses, "%s/fmu_licenses", p->data);
  cpl_status st = add_system(p, (const cpli_built*)p->system, p->def->model, &whole);
  if (st >= 0) st = check_depth(p);
  if (st >= 0) st = write_texts(p);
  if (st >= 0) st = cpli_collect_folder(&p->fmu.licenses, licenses, NULL, NULL);
  return st < 0 ? st : read_binary(p);
}

cpl_status cpli_system_fmu_build(cpl_context* ctx, const cpl_build_def* def, char* output,
                                 size_t size) {
  pack p = {.ctx = ctx, .def = def, .data = cpli_data_folder(ctx)};
  if (p.data == NULL) return CPL_ERR_INPUT;
  cpli_arena_init(&p.arena, ctx);
  cpli_fmu_archive_init(&p.fmu, ctx);
  cpl_status st = open_system(&p);
  if (st >= 0) st = cpli_temp_folder_make(ctx, &p.folder);
  if (st >= 0) st = collect(&p);
  if (st >= 0) st = describe(&p);
  if (st >= 0) st = add_sources(&p);
  if (st >= 0) st = cpli_fmu_archive_identify(&p.fmu);
  p.plan.guid = p.fmu.guid;
  if (st >= 0) st = add_plan(&p);
  if (st >= 0) st = cpli_fmu_archive_write(&p.fmu, def->output, output, size);

  cpl_source_destroy(p.system);
  if (p.folder != NULL) cpli_temp_folder_remove(ctx, p.folder);
  cpli_free(ctx, p.folder);
  cpli_free(ctx, p.files);
  cpli_free(ctx, p.plan.sources);
  cpli_free(ctx, p.plan.systems);
  cpli_free(ctx, p.opened);
  cpli_free(ctx, p.built);
  cpli_free(ctx, p.texts);
  cpli_free(ctx, p.source_files);
  cpli_fmu_archive_free(&p.fmu);
  cpli_arena_free(&p.arena);
  return st;
}
