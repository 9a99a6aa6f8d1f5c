// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opening: which .ssd of a package is read, and what belongs to the package as a whole.
#include <math.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/scan.h"
#include "ssp/reader.h"

static const char default_file[] = "SystemStructure.ssd";

static bool has_ending(const char* name, size_t n, const char* ending) {
  const size_t m = strlen(ending);
  return n > m && strncasecmp(name + n - m, ending, m) == 0;
}

static bool exists(const char* path) { return access(path, F_OK) == 0; }

// The length of the path before "#variant".
static size_t path_length(const char* path) {
  const char* hash = strrchr(path, '#');
  return hash == NULL || exists(path) ? strlen(path) : (size_t)(hash - path);
}

bool cpli_is_ssp(const char* path) {
  const size_t n = path_length(path);
  char inside[4096];
  if (n + sizeof default_file + 1 >= sizeof inside) return false;
  snprintf(inside, sizeof inside, "%.*s", (int)n, path);
  struct stat info;
  const bool folder = stat(inside, &info) == 0 && S_ISDIR(info.st_mode);
  if (!folder) return has_ending(path, n, ".ssp") || has_ending(path, n, ".ssd");
  snprintf(inside, sizeof inside, "%.*s/%s", (int)n, path, default_file);
  return exists(inside);
}

//------------------------------------ variants ------------------------------------

static const char* name_of(const cpli_ssp_document* doc) {
  const char* name = cpli_xml_node_attribute(doc->root, "name");
  return name != NULL ? name : "";
}

// A broken file beside the one that is read is no reason to fail.
static cpl_status open_beside(cpli_ssp_reader* r, cpli_ssp_package* package, const char* file,
                              cpli_ssp_document** out) {
  const cpli_ssp_findings* findings = r->findings;
  r->findings = NULL;
  cpl_status st = cpli_ssp_document_open(r, package, file, CPLI_SSP_DESCRIPTION, out);
  r->findings = findings;
  if (st >= 0 || st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  const cpl_error* e = cpl_context_last_error(r->ctx);
  const char* path = cpli_ssp_package_shown(r, package, file);
  const char* text = cpli_ssp_text(r, "%s", e->message);
  if (path == NULL || text == NULL) return cpli_nomem(r->ctx);
  return cpli_ssp_warn(r, &(cpli_source_loc){path, e->line, 0}, "%s", text);
}

// The default one is the first.
static cpl_status add_variant(cpli_ssp_reader* r, cpli_ssp_variant* list, size_t* n,
                              const char* file, const char* name) {
  const cpli_ssp_variant v = {cpli_ssp_text(r, "%s", file), name};
  if (v.file == NULL) return cpli_nomem(r->ctx);
  size_t at = *n;
  if (strcmp(file, default_file) == 0) {
    memmove(list + 1, list, *n * sizeof *list);
    at = 0;
  }
  list[at] = v;
  ++*n;
  return CPL_OK;
}

static cpl_status read_variants(cpli_ssp_reader* r, cpli_ssp_package* package, char** files,
                                size_t n_files, cpli_ssp_variant** out, size_t* n) {
  *n = 0;
  *out = cpli_ssp_array(r, n_files, sizeof **out);
  if (*out == NULL) return cpli_nomem(r->ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < n_files; i++) {
    cpli_ssp_document* doc = NULL;
    if (!has_ending(files[i], strlen(files[i]), ".ssd")) continue;
    st = open_beside(r, package, files[i], &doc);
    if (st >= 0) st = add_variant(r, *out, n, files[i], doc != NULL ? name_of(doc) : "");
  }
  return st;
}

// All .ssd at the root of a package.
static cpl_status list_variants(cpli_ssp_reader* r, cpli_ssp_package* package,
                                cpli_ssp_variant** out, size_t* n) {
  char** files = NULL;
  size_t n_files = 0;
  *n = 0;
  cpl_status st = cpli_ssp_package_list(r->ctx, package, true, &files, &n_files);
  if (st >= 0) st = read_variants(r, package, files, n_files, out, n);
  for (size_t i = 0; i < n_files; i++) cpli_free(r->ctx, files[i]);
  cpli_free(r->ctx, files);
  return st;
}

static cpl_status check_names(cpli_ssp_reader* r, const cpli_ssp_package* package,
                              const cpli_ssp_variant* v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) {
      if (v[i].name[0] == '\0' || strcmp(v[i].name, v[k].name) != 0) continue;
      const char* path = cpli_ssp_package_shown(r, package, v[i].file);
      if (path == NULL) return cpli_nomem(r->ctx);
      cpl_status st = cpli_ssp_warn(r, &(cpli_source_loc){path, 0, 0},
                                    "the variants in %s and %s have the same name '%s'", v[k].file,
                                    v[i].file, v[i].name);
      if (st < 0) return st;
      break;
    }
  }
  return CPL_OK;
}

typedef struct variant_list {
  const cpli_ssp_variant* items;
} variant_list;

static const char* variant_at(const void* user, size_t i) {
  return ((const variant_list*)user)->items[i].name;
}

static cpl_status find_variant(cpli_ssp_reader* r, const cpli_ssp_package* package,
                               const cpli_ssp_variant* v, size_t n, const char* name,
                               const char* what, const cpli_source_loc* loc, const char** file) {
  *file = NULL;
  for (size_t i = 0; i < n; i++) {
    if (strcmp(v[i].name, name) != 0) continue;
    if (*file != NULL)
      return cpli_ssp_error(r, loc, "%s%s: %s and %s both have the name '%s'; give the file: #%s",
                            what, package->shown, *file, v[i].file, name, v[i].file);
    *file = v[i].file;
  }
  if (*file != NULL) return CPL_OK;
  char similar[256];
  cpli_did_you_mean(name, variant_at, &(variant_list){v}, n, similar, sizeof similar);
  char names[512] = "";
  for (size_t i = 0, at = 0; i < n && at < sizeof names - 1; i++)
    at += (size_t)snprintf(names + at, sizeof names - at, "%s'%s' (%s)", i > 0 ? ", " : "",
                           v[i].name, v[i].file);
  return cpli_ssp_error(r, loc, "%s%s has no variant '%s'%s; there %s %s", what, package->shown,
                        name, similar, n == 1 ? "is" : "are", names);
}

cpl_status cpli_ssp_choose(cpli_ssp_reader* r, cpli_ssp_package* package, const char* variant,
                           const char* what, const cpli_source_loc* loc, cpli_ssp_document** out) {
  const char* file = variant != NULL ? variant : default_file;
  char before[300] = "";
  *out = NULL;
  if (what != NULL) snprintf(before, sizeof before, "%.290s: ", what);
  if (strchr(file, '/') != NULL || !has_ending(file, strlen(file), ".ssd") ||
      !cpli_ssp_package_has(package, file)) {
    if (variant == NULL)
      return cpli_ssp_error(r, loc, "%s%s has no file %s: it is not a package of SSP", before,
                            package->shown, default_file);
    cpli_ssp_variant* variants = NULL;
    size_t n = 0;
    cpl_status st = list_variants(r, package, &variants, &n);
    if (st >= 0) st = find_variant(r, package, variants, n, variant, before, loc, &file);
    if (st < 0 || file == NULL) return st;
  }
  return cpli_ssp_document_open(r, package, file, CPLI_SSP_DESCRIPTION, out);
}

//------------------------------------ open ------------------------------------

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

// The folder of a file on disk, from which its relative URIs may lead anywhere.
static cpl_status open_folder_of(cpli_ssp_reader* r, const char* path, cpli_ssp_package** out) {
  const int n = (int)(base_name(path) - path);
  const char* folder = n > 0 ? cpli_ssp_text(r, "%.*s", n, path) : "./";
  if (folder == NULL) return cpli_nomem(r->ctx);
  return cpli_ssp_package_open(r, folder, folder, out);
}

// A single .ssd has no variants but itself.
static cpl_status open_single(cpli_ssp_reader* r, const char* path, const char* variant,
                              cpli_ssp_document** out) {
  const char* file = base_name(path);
  cpli_ssp_package* package = NULL;
  if (!exists(path)) return cpli_fail_file(r->ctx, CPL_ERR_INPUT, path, "no such file");
  cpl_status st = open_folder_of(r, path, &package);
  if (st < 0) return st;
  package->is_open = true;
  r->storage->main = package;
  st = cpli_ssp_document_open(r, package, file, CPLI_SSP_DESCRIPTION, out);
  if (st < 0 || *out == NULL) return st;
  cpli_ssp_variant* v = cpli_ssp_array(r, 1, sizeof *v);
  if (v == NULL) return cpli_nomem(r->ctx);
  *v = (cpli_ssp_variant){file, name_of(*out)};
  r->ssp->variants = v;
  r->ssp->n_variants = 1;
  if (variant == NULL || strcmp(variant, v->name) == 0 || strcmp(variant, file) == 0) return CPL_OK;
  return cpli_ssp_error(r, &(cpli_source_loc){path, 0, 0}, "has no variant '%s'; its name is '%s'",
                        variant, v->name);
}

static cpl_status open_package(cpli_ssp_reader* r, const char* path, const char* variant,
                               cpli_ssp_document** out) {
  cpli_ssp_package* package = NULL;
  cpl_status st = cpli_ssp_package_open(r, path, path, &package);
  if (st < 0) return cpli_ssp_caught(r, st);
  r->storage->main = package;
  st = cpli_ssp_choose(r, package, variant, NULL, &(cpli_source_loc){0}, out);
  if (st < 0 || *out == NULL) return st;
  cpli_ssp_variant* variants = NULL;
  size_t n = 0;
  st = list_variants(r, package, &variants, &n);
  r->ssp->variants = variants;
  r->ssp->n_variants = n;
  return st >= 0 ? check_names(r, package, variants, n) : st;
}

static cpl_status read_experiment(cpli_ssp_reader* r, const cpli_ssp_document* doc) {
  cpli_ssp* ssp = r->ssp;
  ssp->start = ssp->stop = NAN;
  const cpli_xml_node* node = cpli_xml_child(doc->root, CPLI_SSD, "DefaultExperiment");
  if (node == NULL) return CPL_OK;
  const char* start = cpli_xml_node_attribute(node, "startTime");
  const char* stop = cpli_xml_node_attribute(node, "stopTime");
  if (start != NULL) cpli_parse_real(start, &ssp->start);
  if (stop != NULL) cpli_parse_real(stop, &ssp->stop);
  const double first = isnan(ssp->start) ? 0 : ssp->start;
  if (!isinf(ssp->start) && !(ssp->stop < first)) return CPL_OK;
  const cpli_source_loc loc = cpli_ssp_loc(doc, node);
  ssp->start = ssp->stop = NAN;
  return cpli_ssp_warn(r, &loc,
                       "DefaultExperiment: stopTime must be after startTime, which must "
                       "be finite; both are ignored");
}

static cpl_status read_main(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  cpli_ssp* ssp = r->ssp;
  const char* version = cpli_xml_node_attribute(doc->root, "version");
  cpl_status st = cpli_ssp_document_read(r, doc);
  if (st < 0) return st;
  ssp->file = &doc->file;
  ssp->root = doc->root;
  ssp->name = name_of(doc);
  ssp->version = version != NULL ? version : "";
  ssp->system = r->storage->system = doc->system;
  return read_experiment(r, doc);
}

static cpl_status open_all(cpli_ssp_reader* r, const char* path, const char* variant) {
  const size_t n = path_length(path);
  const char* fragment = path[n] == '#' ? path + n + 1 : NULL;
  if (fragment != NULL && variant != NULL && strcmp(fragment, variant) != 0)
    return cpl_fail(r->ctx, CPL_ERR_INPUT, "%s: another variant, '%s', is given, too", path,
                    variant);
  const char* file = cpli_ssp_text(r, "%.*s", (int)n, path);
  r->ssp->path = cpli_ssp_text(r, "%s", path);
  if (file == NULL || r->ssp->path == NULL) return cpli_nomem(r->ctx);
  if (variant == NULL) variant = fragment;
  struct stat info;
  const bool folder = stat(file, &info) == 0 && S_ISDIR(info.st_mode);
  const bool single = !folder && has_ending(file, n, ".ssd");
  cpli_ssp_document* doc = NULL;
  cpl_status st =
      single ? open_single(r, file, variant, &doc) : open_package(r, file, variant, &doc);
  return st >= 0 && doc != NULL ? read_main(r, doc) : st;
}

cpl_status cpli_ssp_open(cpl_context* ctx, const char* path, const char* variant,
                         const cpli_ssp_findings* findings, cpli_ssp** out) {
  *out = NULL;
  cpli_ssp* ssp = cpli_alloc(ctx, 1, sizeof *ssp);
  if (ssp == NULL) return cpli_nomem(ctx);
  ssp->ctx = ctx;
  cpli_arena_init(&ssp->arena, ctx);
  ssp->storage = cpli_arena_alloc(&ssp->arena, 1, sizeof *ssp->storage);
  cpl_status st =
      ssp->storage == NULL ? cpli_nomem(ctx) : cpli_names_init(&ssp->storage->index, ctx, 16);
  cpli_ssp_reader r = {.ctx = ctx, .ssp = ssp, .storage = ssp->storage, .findings = findings};
  if (st >= 0) st = open_all(&r, path, variant);
  if (st >= 0 && r.has_error)
    st = cpli_fail_at(ctx, CPL_ERR_INPUT, &r.error_loc, "%s", r.error_text);
  if (st < 0) {
    cpli_ssp_close(ssp);
    return st;
  }
  *out = ssp;
  return CPL_OK;
}

void cpli_ssp_close(cpli_ssp* ssp) {
  if (ssp == NULL) return;
  struct cpli_ssp_storage* s = ssp->storage;
  if (s != NULL) {
    for (cpli_ssp_document* d = s->documents; d != NULL; d = d->next)
      cpli_ssp_document_free(ssp->ctx, d);
    for (cpli_ssp_package* p = s->packages; p != NULL; p = p->next)
      cpli_ssp_package_close(ssp->ctx, p);
    cpli_names_free(&s->index);
    cpli_free(ssp->ctx, s->by_index);
  }
  cpli_arena_free(&ssp->arena);
  cpli_free(ssp->ctx, ssp);
}

//------------------------------------ further parameters ------------------------------------

cpl_status cpli_ssp_add_parameters(cpli_ssp* ssp, const char* path) {
  cpli_ssp_reader r = {.ctx = ssp->ctx, .ssp = ssp, .storage = ssp->storage};
  cpli_ssp_package* package = NULL;
  cpli_ssp_document* doc = NULL;
  if (!exists(path)) return cpli_fail_file(ssp->ctx, CPL_ERR_INPUT, path, "no such file");
  cpl_status st = open_folder_of(&r, path, &package);
  if (st >= 0) st = cpli_ssp_document_open(&r, package, base_name(path), CPLI_SSP_VALUES, &doc);
  if (st >= 0) st = cpli_ssp_document_read(&r, doc);
  if (st < 0) return st;
  cpli_ssp_element* system = ssp->storage->system;
  cpli_ssp_binding* bindings = cpli_ssp_array(&r, system->n_bindings + 1, sizeof *bindings);
  if (bindings == NULL) return cpli_nomem(ssp->ctx);
  if (system->n_bindings > 0)
    memcpy(bindings, system->bindings, system->n_bindings * sizeof *bindings);
  bindings[system->n_bindings++] = (cpli_ssp_binding){
      .prefix = "", .set = doc->set, .loc = {.file = doc->file.path, .line = doc->root->line}};
  system->bindings = bindings;
  return CPL_OK;
}
