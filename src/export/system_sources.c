// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Every model is a translation unit of its own: a file model_1.c renames its definition and
// includes the source of the model, which is in a folder with its headers. Helper functions with
// external linkage keep their names, so that two models may define the same one; all models are
// compiled once to find such names.
#include "export/system_sources.h"

#include <limits.h>
#include <stdio.h>

#include "base/process.h"
#include "export/convert.h"
#include "format/elf.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/number.h"
#include "model/proxy.h"
#include "system/lines.h"

//------------------------------------ members ------------------------------------

#define ONLY \
  "only systems of models in C, without modes and delay lines, can be exported as sources"

static cpl_status refuse(const cpli_built* b, const cpli_member* m, const char* what) {
  return cpli_fail_at(b->base.ctx, CPL_ERR_UNSUPPORTED, &m->name.loc, "model %s%s %s: " ONLY,
                      b->path, m->name.text, what);
}

static cpl_status check_member(const cpli_built* b, size_t i) {
  const cpli_member* m = &b->def->models[i];
  cpl_isolate_def isolation = cpl_default_isolate_def();
  if (m->kind == CPL_MEMBER_SYSTEM)
    return cpli_system_sources_check((const cpli_built*)b->sources[i]);
  if (m->kind != CPL_MEMBER_C) return refuse(b, m, "is an FMU");
  if (cpli_isolated_inner(b->sources[i], &isolation) != NULL)
    return refuse(b, m, "runs in a process of its own");
  if (b->is_stepper[i]) return refuse(b, m, "is coupled by co-simulation");
  return CPL_OK;
}

cpl_status cpli_system_sources_check(const cpli_built* b) {
  const cpl_system_def* d = b->def;
  cpl_status st = CPL_OK;
  if (d->n_modes > 0)
    return cpli_fail_at(b->base.ctx, CPL_ERR_UNSUPPORTED, &d->modes[0].name.loc,
                        "the system has modes (%s%s): " ONLY, b->path, d->modes[0].name.text);
  if (d->n_lines > 0)
    return cpli_fail_at(b->base.ctx, CPL_ERR_UNSUPPORTED, &d->lines[0].loc,
                        "there is a delay line from %s%s to %s%s: " ONLY, b->path,
                        d->lines[0].from.text, b->path, d->lines[0].to.text);
  for (size_t i = 0; i < d->n_models && st >= 0; i++) st = check_member(b, i);
  return st;
}

//------------------------------------ models ------------------------------------

// "models/heat": the folder of a model's files.
static void folder_of(const cpli_plan_source* s, char* out, size_t size) {
  snprintf(out, size, "%.*s", (int)(strrchr(s->path, '/') - s->path), s->path);
}

// Puts a file into its folder; couplet_model.h is in the outermost.
static cpl_status add_file(const cpli_system_sources* s, const char* folder,
                           const cpli_source_file* file) {
  static const char header[] = "\"couplet_model.h\"";
  cpli_writer text = {.ctx = s->ctx};
  char* name = cpli_printf(s->ctx, "%s/%s", folder, file->name);
  const char* rest = file->text;
  for (const char* at = strstr(rest, header); at != NULL; at = strstr(rest, header)) {
    cpli_writef(&text, "%.*s\"", (int)(at - rest), rest);
    for (const char* c = name; c != NULL && *c != '\0'; c++)
      if (*c == '/') cpli_write(&text, "../");
    rest = at + 1;
    cpli_writef(&text, "%.*s", (int)(sizeof header - 2), rest);
    rest += sizeof header - 2;
  }
  cpli_write(&text, rest);
  cpl_status st = name != NULL ? cpli_writer_status(&text) : cpli_nomem(s->ctx);
  if (st >= 0) st = cpli_collect_text(&s->fmu->sources, name, text.text);
  cpli_free(s->ctx, name);
  cpli_writer_free(&text);
  return st;
}

static cpl_status add_wrapper(const cpli_system_sources* s, size_t i, const char* folder,
                              const char* source) {
  char name[64];
  cpli_writer text = {.ctx = s->ctx};
  if (strpbrk(source, "\"\\\n") != NULL)
    return cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED,
                    "%s: a file of this name cannot be included in sources", source);
  snprintf(name, sizeof name, "model_%zu.c", i + 1);
  cpli_writef(&text, "// Written by couplet build.\n#define couplet_model couplet_model_%zu\n",
              i + 1);
  cpli_writef(&text, "#define couplet_model_tangent couplet_model_tangent_%zu\n", i + 1);
  cpli_writef(&text, "#include \"%s/%s\"\n", folder, source);
  char* tangent = NULL;
  cpl_status st = cpli_model_tangent_text(s->models[i], &tangent);
  if (st >= 0) cpli_write(&text, tangent);
  cpli_free(s->ctx, tangent);
  if (st >= 0) st = cpli_writer_status(&text);
  if (st >= 0) st = cpli_collect_text(&s->fmu->sources, name, text.text);
  cpli_writer_free(&text);
  return st;
}

static cpl_status add_model(const cpli_system_sources* s, size_t i) {
  char folder[PATH_MAX], include[PATH_MAX];
  cpli_source_files own = {.ctx = s->ctx};
  const cpli_plan_source* from = &s->plan->sources[i];
  folder_of(from, folder, sizeof folder);
  snprintf(include, sizeof include, "%s/include", s->data);
  cpl_status st = cpli_collect_model(&own, s->models[i]->path, include, s->folder, true);
  for (size_t k = 0; k < own.n && st >= 0; k++) st = add_file(s, folder, &own.items[k]);
  if (st >= 0) st = add_wrapper(s, i, folder, own.items[0].name);
  cpli_source_files_free(&own);
  return st;
}

//------------------------------------ names ------------------------------------

// The object files of all models, in memory.
typedef struct objects {
  char** bytes;
  cpli_names* names;
  size_t n;
} objects;

// The models as in the archive, so that only what is there can be included: its files from `first`
// on.
static cpl_status write_files(const cpli_system_sources* s, size_t first, const char* folder) {
  const cpli_source_files* files = &s->fmu->sources;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < files->n && st >= 0; i++) {
    char path[PATH_MAX];
    const cpli_source_file* f = &files->items[i];
    if (i < first && strcmp(f->name, "couplet_model.h") != 0) continue;
    if (snprintf(path, sizeof path, "%s/%s", folder, f->name) >= (int)sizeof path)
      return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: the name is too long", f->name);
    st = cpli_make_parents(s->ctx, path);
    if (st >= 0) st = cpli_file_make(s->ctx, path, f->text, f->size);
  }
  return st;
}

static cpl_status compile_model(const cpli_system_sources* s, const char* folder, size_t i,
                                objects* all) {
  char source[PATH_MAX + 32], object[PATH_MAX + 32], what[PATH_MAX];
  size_t size = 0;
  snprintf(source, sizeof source, "%s/model_%zu.c", folder, i + 1);
  snprintf(object, sizeof object, "%s/model_%zu.o", folder, i + 1);
  snprintf(what, sizeof what, "%s, as it is in the sources of the FMU,", s->models[i]->path);
  const char* args[] = {"-std=c11", "-w", "-c", "-o", object, source, NULL};
  cpl_status st = cpli_run_compiler(s->ctx, what, args);
  if (st >= 0) st = cpli_file_read(s->ctx, object, CPLI_LARGEST_FILE, &all->bytes[i], &size);
  if (st < 0) return st;
  if (!cpli_elf_defines(s->ctx, all->bytes[i], size, &all->names[i]))
    return cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED, "%s: the names in its object file cannot be read",
                    s->models[i]->path);
  return CPL_OK;
}

static bool is_of_runtime(const char* name) {
  static const char* const begin[] = {"cpl_", "cpli_", "fmu_", "fmi2", "fmi3"};
  for (size_t i = 0; i < CPLI_COUNT(begin); i++) {
    if (strncmp(name, begin[i], strlen(begin[i])) == 0) return true;
  }
  return false;
}

static cpl_status check_names(const cpli_system_sources* s, const objects* all) {
  cpli_names owner;
  cpl_status st = cpli_names_init(&owner, s->ctx, 0);
  for (size_t i = 0; i < all->n && st >= 0; i++) {
    for (size_t k = 0; k < all->names[i].cap && st >= 0; k++) {
      const char* name = all->names[i].items[k].key;
      if (name == NULL) continue;
      if (is_of_runtime(name))
        st = cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED,
                      "%s defines %s; such names are those of the FMU itself: make it static",
                      s->models[i]->path, name);
      int32_t first = st >= 0 ? cpli_names_add(&owner, name, (int32_t)i) : (int32_t)i;
      if (first < 0) st = cpli_nomem(s->ctx);
      else if (first != (int32_t)i)
        st = cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED,
                      "%s and %s both define %s, so they cannot be parts of one program: make it "
                      "static in one of them",
                      s->models[first]->path, s->models[i]->path, name);
    }
  }
  cpli_names_free(&owner);
  return st;
}

static cpl_status check_models(const cpli_system_sources* s, size_t first) {
  char folder[PATH_MAX];
  objects all = {.n = (size_t)s->plan->n_sources};
  all.bytes = cpli_alloc(s->ctx, all.n, sizeof *all.bytes);
  all.names = cpli_alloc(s->ctx, all.n, sizeof *all.names);
  cpl_status st = all.bytes != NULL && all.names != NULL ? CPL_OK : cpli_nomem(s->ctx);
  snprintf(folder, sizeof folder, "%s/sources", s->folder);
  if (st >= 0) st = write_files(s, first, folder);
  for (size_t i = 0; i < all.n && st >= 0; i++) st = compile_model(s, folder, i, &all);
  if (st >= 0) st = check_names(s, &all);
  for (size_t i = 0; i < all.n && all.bytes != NULL && all.names != NULL; i++) {
    cpli_names_free(&all.names[i]);
    cpli_free(s->ctx, all.bytes[i]);
  }
  cpli_free(s->ctx, all.bytes);
  cpli_free(s->ctx, all.names);
  return st;
}

//------------------------------------ constants ------------------------------------

static void write_models(cpli_writer* w, size_t n) {
  for (size_t i = 0; i < n; i++)
    cpli_writef(w, "extern const cpl_model_def couplet_model_%zu;\n", i + 1);
  for (size_t i = 0; i < n; i++)
    cpli_writef(w, "extern const cpl_model_tangent couplet_model_tangent_%zu;\n", i + 1);
  if (n > 0) cpli_write(w, "static const cpl_model_tangent* const tangents[] = {\n");
  for (size_t i = 0; i < n; i++) cpli_writef(w, "  &couplet_model_tangent_%zu,\n", i + 1);
  if (n > 0) cpli_write(w, "};\n");
  cpli_writef(w, "const cpl_model_tangent* const* const cpl_fmu_tangents = %s;\n",
              n > 0 ? "tangents" : "NULL");
  if (n > 0) cpli_write(w, "static const cpl_model_def* const models[] = {\n");
  for (size_t i = 0; i < n; i++) cpli_writef(w, "  &couplet_model_%zu,\n", i + 1);
  if (n > 0) cpli_write(w, "};\n");
  cpli_writef(w, "const cpl_model_def* const* const cpl_fmu_models = %s;\n",
              n > 0 ? "models" : "NULL");
  cpli_writef(w, "const size_t cpl_fmu_n_models = %zu;\n\n", n);
}

// All are finite. A whole number gets a point, so that -0 keeps its sign.
static void write_numbers(cpli_writer* w, const char* name, size_t table, const double* x,
                          size_t n) {
  cpli_writef(w, "static const double %s_%zu[] = {", name, table);
  for (size_t i = 0; i < n; i++) {
    char text[CPLI_NUMBER_SIZE];
    cpli_format_double(text, x[i]);
    cpli_write(w, i % 4 == 0 ? "\n  " : " ");
    cpli_write(w, text);
    cpli_write(w, strpbrk(text, ".e") == NULL ? ".0," : ",");
  }
  cpli_write(w, n > 0 ? "\n};\n" : "0};\n");
}

static void write_texts(cpli_writer* w, const char* name, size_t table, const char* const* texts,
                        size_t n) {
  cpli_writef(w, "static const char* const %s_%zu[] = {", name, table);
  for (size_t i = 0; i < n; i++) {
    cpli_write(w, "\n  ");
    if (texts != NULL && texts[i] != NULL) cpli_write_literal(w, texts[i]);
    else cpli_write(w, "NULL");
    cpli_write(w, ",");
  }
  cpli_write(w, n > 0 ? "\n};\n" : "NULL};\n");
}

static void write_table(cpli_writer* w, size_t number, const cpl_table* t) {
  write_texts(w, "names", number, t->names, t->n_columns);
  write_texts(w, "units", number, t->units, t->n_columns);
  write_numbers(w, "time", number, t->time, t->n_rows);
  write_numbers(w, "values", number, t->values, t->n_rows * t->n_columns);
  cpli_write(w, "\n");
}

static bool is_table(const cpli_packed_file* f) { return strncmp(f->name, "tables/", 7) == 0; }

static cpl_status write_tables(const cpli_system_sources* s, cpli_writer* w) {
  cpli_writer list = {.ctx = s->ctx};
  cpl_status st = CPL_OK;
  size_t n = 0;
  for (size_t i = 0; i < s->n_files && st >= 0; i++) {
    cpl_table* t = NULL;
    if (!is_table(&s->files[i])) continue;
    st = cpl_table_read(s->ctx, s->files[i].path, &t);
    if (st < 0) break;
    n++;
    write_table(w, n, t);
    cpli_writef(&list, "  {%zu, %zu, names_%zu, units_%zu, time_%zu, values_%zu, ", t->n_rows,
                t->n_columns, n, n, n, n);
    cpli_write_literal(&list, s->files[i].name);
    cpli_write(&list, ", NULL},\n");
    cpl_table_destroy(t);
  }
  if (n > 0) cpli_write(w, "static const cpl_table tables[] = {\n");
  if (n > 0 && list.text != NULL) cpli_write(w, list.text);
  if (n > 0) cpli_write(w, "};\n");
  cpli_writef(w, "const cpl_table* const cpl_fmu_tables = %s;\n", n > 0 ? "tables" : "NULL");
  cpli_writef(w, "const size_t cpl_fmu_n_tables = %zu;\n\n", n);
  if (st >= 0) st = cpli_writer_status(&list);
  cpli_writer_free(&list);
  return st;
}

static void write_plan(cpli_writer* w, const cpli_image* plan) {
  enum { PER_LINE = 24 };
  cpli_write(w, "const unsigned char cpl_fmu_plan[] = {");
  for (size_t i = 0; i < plan->size; i++) {
    char text[16];
    snprintf(text, sizeof text, "%s%u,", i % PER_LINE == 0 ? "\n" : "", plan->bytes[i]);
    cpli_write(w, text);
  }
  cpli_write(w, "\n};\nconst size_t cpl_fmu_plan_size = sizeof cpl_fmu_plan;\n");
}

//------------------------------------ steps ------------------------------------

cpl_status cpli_system_sources_collect(const cpli_system_sources* s) {
  char flat[PATH_MAX], headers[PATH_MAX];
  const int fmi = s->fmu->facts.fmi;
  cpli_source_files* sources = &s->fmu->sources;
  snprintf(flat, sizeof flat, "%s/system_sources", s->data);
  snprintf(headers, sizeof headers, "%s/include/fmi", s->data);
  cpl_status st = cpli_collect_folder(sources, flat, NULL, cpli_fmu_other_version(fmi));
  if (st >= 0 && fmi == 3) st = cpli_collect_folder(sources, headers, "fmi3", NULL);
  size_t first = sources->n;
  for (size_t i = 0; i < s->plan->n_sources && st >= 0; i++) st = add_model(s, i);
  return st < 0 ? st : check_models(s, first);
}

cpl_status cpli_system_sources_list(const cpli_system_sources* s, const char*** list) {
  cpli_fmu_archive* fmu = s->fmu;
  size_t n = 0;
  *list = cpli_alloc(s->ctx, fmu->sources.n + 1, sizeof **list);
  if (*list == NULL) return cpli_nomem(s->ctx);
  for (size_t i = 0; i < fmu->sources.n; i++) {
    const char* name = fmu->sources.items[i].name;
    size_t len = strlen(name);
    bool included = strchr(name, '/') != NULL;  // by its model_1.c
    if (!included && len > 2 && strcmp(name + len - 2, ".c") == 0) (*list)[n++] = name;
  }
  (*list)[n++] = "fmu_config.c";
  fmu->facts.source_files = *list;
  fmu->facts.n_source_files = n;
  return CPL_OK;
}

cpl_status cpli_system_sources_finish(const cpli_system_sources* s, const cpli_image* plan) {
  cpli_writer config = {.ctx = s->ctx}, build = {.ctx = s->ctx};
  cpli_source_files* sources = &s->fmu->sources;
  cpli_write(&config, "// Written by couplet build.\n#include \"export_runtime_portable.h\"\n\n");
  write_models(&config, (size_t)s->plan->n_sources);
  cpl_status st = write_tables(s, &config);
  write_plan(&config, plan);
  if (st >= 0) st = cpli_writer_status(&config);
  if (st >= 0) st = cpli_collect_text(sources, "fmu_config.c", config.text);
  if (st >= 0 && s->fmu->facts.fmi == 3) {
    st = cpli_write_build_description(&build, &s->fmu->facts);
    if (st >= 0) st = cpli_collect_text(sources, "buildDescription.xml", build.text);
  }
  cpli_writer_free(&config);
  cpli_writer_free(&build);
  return st;
}
