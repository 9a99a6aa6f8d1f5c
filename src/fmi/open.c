// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens an .fmu or a folder with an unpacked one: lists its files, reads modelDescription.xml and
// the companion files. The archive is extracted when the first instance needs its files.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "format/source_loc.h"

#include "fmi/companions.h"
#include "fmi/foreign.h"
#include "fmi/library.h"
#include "fmi/unpacked.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/zip.h"

enum { LARGEST_DESCRIPTION = 1 << 28, LARGEST_COMPANION = 1 << 24, DEEPEST_SOURCES = 8 };

// An FMU of an archive. Those of folders have it, too, and do not use the further members.
typedef struct opened {
  cpl_fmu fmu;
  cpli_zip_id archive;  // the file that was read
  bool can_keep;        // the folder may be kept for the next time (unpacked.h)
} opened;

//------------------------------------ what is inside ------------------------------------

// Names collected while looking through an archive or a folder.
typedef struct name_list {
  const char** items;
  size_t count, cap;
} name_list;

typedef struct contents {
  cpl_fmu* fmu;
  name_list platforms, binaries[2];  // of the two names this platform has
  name_list files, companions, foreign;
} contents;

// The index of a folder among the two names of this platform; -1: it is another one.
static int own_platform(const char* folder, size_t len) {
  const char* names[2] = {cpli_fmu_platform(), cpli_fmu_platform_tuple()};
  for (int k = 0; k < 2; k++)
    if (len == strlen(names[k]) && memcmp(folder, names[k], len) == 0) return k;
  return -1;
}

static bool append_name(cpl_fmu* fmu, name_list* list, const char* name, size_t len) {
  if (!cpli_grow(fmu->arena.ctx, (void**)&list->items, &list->cap, list->count,
                 sizeof *list->items))
    return false;
  list->items[list->count] = cpli_arena_strndup(&fmu->arena, name, len);
  return list->items[list->count++] != NULL;
}

// Names that come often are kept once.
static bool add_name(cpl_fmu* fmu, name_list* list, const char* name, size_t len) {
  for (size_t i = 0; i < list->count; i++)
    if (strncmp(list->items[i], name, len) == 0 && list->items[i][len] == '\0') return true;
  return append_name(fmu, list, name, len);
}

static bool begins_with(const char* text, const char* begin) {
  return strncmp(text, begin, strlen(begin)) == 0;
}

// One file of the FMU, named as in an archive. False: no memory.
static bool note_file(contents* c, const char* name) {
  static const char binaries[] = "binaries/", sources[] = "sources/",
                    icons[] = "terminalsAndIcons/";
  size_t len = strlen(name);
  if (len == 0 || name[len - 1] == '/') return true;
  if (begins_with(name, sources)) c->fmu->has_sources = true;
  if (strcmp(name, "model.png") == 0 || strcmp(name, "terminalsAndIcons/icon.png") == 0)
    c->fmu->has_icon = true;
  if (cpli_is_companion(name) && !append_name(c->fmu, &c->companions, name, len)) return false;
  if (begins_with(name, sources) || begins_with(name, icons))
    return append_name(c->fmu, &c->files, name, len);
  if (!begins_with(name, binaries)) return true;
  const char* platform = name + sizeof binaries - 1;
  size_t n = strcspn(platform, "/");
  if (platform[n] != '/') return true;
  if (!add_name(c->fmu, &c->platforms, platform, n)) return false;
  int k = own_platform(platform, n);
  if (k < 0 && cpli_platform_find(platform, n) != NULL)
    return append_name(c->fmu, &c->foreign, platform, strlen(platform));
  if (k < 0) return true;
  const char* file = platform + n + 1;
  if (strchr(file, '/') != NULL) return true;  // a library is not looked for in deeper folders
  return add_name(c->fmu, &c->binaries[k], file, strlen(file));
}

static const char** keep_names(cpl_fmu* fmu, const name_list* list, int32_t* n) {
  const char** kept = cpli_arena_alloc(&fmu->arena, list->count, sizeof *kept);
  if (kept == NULL) return NULL;
  if (list->count > 0) memcpy(kept, list->items, list->count * sizeof *kept);
  *n = (int32_t)list->count;
  return kept;
}

// `ok`: nothing failed while the names were noted.
static cpl_status keep_contents(contents* c, bool ok) {
  cpl_fmu* fmu = c->fmu;
  cpl_context* ctx = fmu->arena.ctx;
  if (ok) {
    fmu->platforms = keep_names(fmu, &c->platforms, &fmu->n_platforms);
    int k = c->binaries[1].count > 0 ? 1 : 0;  // each version of FMI has one of them only
    fmu->platform = k == 1 ? cpli_fmu_platform_tuple() : cpli_fmu_platform();
    fmu->binaries = keep_names(fmu, &c->binaries[k], &fmu->n_binaries);
    fmu->files.items = keep_names(fmu, &c->files, &fmu->files.n);
    fmu->foreign_binaries.items = keep_names(fmu, &c->foreign, &fmu->foreign_binaries.n);
    fmu->companions.items = keep_names(fmu, &c->companions, &fmu->companions.n);
    ok = fmu->platforms != NULL && fmu->foreign_binaries.items != NULL && fmu->binaries != NULL &&
         fmu->files.items != NULL && fmu->companions.items != NULL;
  }
  cpli_free(ctx, c->platforms.items);
  cpli_free(ctx, c->files.items);
  cpli_free(ctx, c->foreign.items);
  cpli_free(ctx, c->companions.items);
  for (int k = 0; k < 2; k++) cpli_free(ctx, c->binaries[k].items);
  return ok ? CPL_OK : cpli_nomem(ctx);
}

//------------------------------------ archive ------------------------------------

static const char description_name[] = "modelDescription.xml";

static cpl_status read_archive(cpl_fmu* fmu, cpli_zip* zip, char** xml, size_t* size) {
  contents c = {.fmu = fmu};
  bool ok = true;
  ((opened*)fmu)->archive = *cpli_zip_file_id(zip);
  for (size_t i = 0; ok && i < cpli_zip_count(zip); i++) ok = note_file(&c, cpli_zip_name(zip, i));
  cpl_status st = keep_contents(&c, ok);
  if (st >= 0 && !cpli_zip_has(zip, description_name)) {
    st = cpli_fail_file(fmu->arena.ctx, CPL_ERR_INPUT, fmu->base.path, "not an FMU: no %s inside",
                        description_name);
  }
  if (st >= 0) st = cpli_zip_read(zip, description_name, LARGEST_DESCRIPTION, xml, size);
  return st;
}

//------------------------------------ folder ------------------------------------

static bool note_folder(contents* c, const char* root, const char* below, int depth) {
  cpl_context* ctx = c->fmu->arena.ctx;
  char* path = cpli_printf(ctx, "%s/%s", root, below);
  if (path == NULL) return false;
  DIR* dir = opendir(path);
  cpli_free(ctx, path);
  if (dir == NULL) return true;  // not there: nothing inside
  bool ok = true;
  for (struct dirent* e = readdir(dir); ok && e != NULL; e = readdir(dir)) {
    if (e->d_name[0] == '.') continue;
    char* name = cpli_printf(ctx, "%s/%s", below, e->d_name);
    struct stat info;
    if (name == NULL) {
      ok = false;
    } else if (fstatat(dirfd(dir), e->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode)) {
      if (depth > 0) ok = note_folder(c, root, name, depth - 1);
    } else {
      ok = note_file(c, name);
    }
    cpli_free(ctx, name);
  }
  closedir(dir);
  return ok;
}

static cpl_status read_unpacked(cpl_fmu* fmu, char** xml, size_t* size) {
  cpl_context* ctx = fmu->arena.ctx;
  contents c = {.fmu = fmu};
  bool ok = note_folder(&c, fmu->base.path, "binaries", 1);
  ok = ok && note_folder(&c, fmu->base.path, "sources", DEEPEST_SOURCES);
  ok = ok && note_folder(&c, fmu->base.path, "terminalsAndIcons", 0);
  ok = ok && note_folder(&c, fmu->base.path, "extra", 1);
  cpl_status st = keep_contents(&c, ok);
  if (st < 0) return st;
  char* path = cpli_printf(ctx, "%s/%s", fmu->base.path, description_name);
  if (path == NULL) return cpli_nomem(ctx);
  st = access(path, F_OK) == 0 ? cpli_file_read(ctx, path, LARGEST_DESCRIPTION, xml, size)
                               : cpli_fail_file(ctx, CPL_ERR_INPUT, fmu->base.path,
                                                "not an FMU: no %s inside", description_name);
  cpli_free(ctx, path);
  return st;
}

//------------------------------------ companions ------------------------------------

static cpl_status read_companion(cpl_fmu* fmu, cpli_zip* zip, const char* name) {
  cpl_context* ctx = fmu->arena.ctx;
  char* text = NULL;
  size_t size = 0;
  cpl_status st;
  if (zip != NULL) {
    st = cpli_zip_read(zip, name, LARGEST_COMPANION, &text, &size);
  } else {
    char* path = cpli_printf(ctx, "%s/%s", fmu->base.path, name);
    st =
        path != NULL ? cpli_file_read(ctx, path, LARGEST_COMPANION, &text, &size) : cpli_nomem(ctx);
    cpli_free(ctx, path);
  }
  if (st >= 0) {
    st = cpli_companion_parse(fmu, name, text, size);
  } else if (st != CPL_ERR_NOMEM) {
    cpli_findings_add(&fmu->findings, CPLI_WARNING, 0, "companion", "%.300s: it is ignored",
                      cpl_context_error(ctx));
    st = CPL_OK;
  }
  cpli_free(ctx, text);
  return st;
}

static cpl_status read_companions(cpl_fmu* fmu, cpli_zip* zip) {
  if (fmu->companions.n == 0) return CPL_OK;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; st >= 0 && i < fmu->companions.n; i++)
    st = read_companion(fmu, zip, fmu->companions.items[i]);
  if (st >= 0) cpli_companions_done(fmu);
  return st;
}

//------------------------------------ extract ------------------------------------

static bool all_binaries_here(const cpl_fmu* fmu) {
  return (!fmu->me.present || cpli_fmu_has_binary(fmu, fmu->me.identifier)) &&
         (!fmu->cs.present || cpli_fmu_has_binary(fmu, fmu->cs.identifier)) &&
         (!fmu->se.present || cpli_fmu_has_binary(fmu, fmu->se.identifier));
}

static cpl_status unpack(cpl_fmu* fmu) {
  cpl_context* ctx = fmu->arena.ctx;
  opened* o = (opened*)fmu;
  // a folder that was kept may lack the binary that is forced
  cpl_status st = fmu->foreign_forced ? CPL_OK : cpli_unpacked_take(ctx, &o->archive, &fmu->folder);
  if (fmu->folder != NULL) o->can_keep = true;
  if (st < 0 || fmu->folder != NULL) return st;

  // some FMUs read their own description, so it comes along
  const char* prefixes[5] = {"resources/", description_name};
  size_t n = 2;
  char binaries[64], foreign[64];
  snprintf(binaries, sizeof binaries, "binaries/%s/", fmu->platform);
  prefixes[n++] = binaries;
  if (fmu->foreign != NULL) {
    snprintf(foreign, sizeof foreign, "binaries/%s/", fmu->foreign_folder);
    prefixes[n++] = foreign;
  }
  if (!all_binaries_here(fmu)) prefixes[n++] = "sources/";

  cpli_zip* zip = NULL;
  char* folder = NULL;
  st = cpli_zip_open(ctx, fmu->base.path, NULL, &zip);
  if (st >= 0) st = cpli_temp_folder_make(ctx, &folder);
  if (st >= 0) st = cpli_zip_extract(zip, prefixes, n, folder);
  if (st >= 0) {
    // not when the file was replaced after its description had been read
    o->can_keep = !fmu->foreign_forced && cpli_zip_same_file(&o->archive, cpli_zip_file_id(zip)) &&
                  cpli_unpacked_prepare(&o->archive, folder);
  }
  cpli_zip_close(zip);
  if (st < 0 && folder != NULL) {
    cpli_error ignored = {0};  // removing may fail too, and the first reason is reported
    cpli_error* before = cpli_divert_errors(ctx, &ignored);
    cpli_temp_folder_remove(ctx, folder);
    cpli_end_diversion(before);
    cpli_error_clear(&ignored, ctx);
    cpli_free(ctx, folder);
    return st;
  }
  fmu->folder = folder;
  return st;
}

static void remove_folder(cpl_fmu* fmu) {
  cpl_context* ctx = fmu->arena.ctx;
  const opened* o = (const opened*)fmu;
  if (o->can_keep && cpli_unpacked_keep(&o->archive, fmu->folder)) return;
  if (cpli_temp_folder_remove(ctx, fmu->folder) < 0)
    cpl_log(ctx, CPL_LOG_WARNING, fmu->base.path, "%s", cpl_context_error(ctx));
}

static const cpli_fmu_loader loader = {.unpack = unpack,
                                       .remove = remove_folder,
                                       .compile = cpli_library_compile,
                                       .open_foreign = cpli_foreign_open};

//------------------------------------ binaries for other platforms ------------------------------

bool cpli_fmu_has_foreign(const cpl_fmu* fmu, const cpli_platform* platform, const char* identifier,
                          const char** folder) {
  const char* const folders[] = {platform->name, platform->tuple};
  char name[512];
  for (size_t k = 0; k < CPLI_COUNT(folders); k++) {
    snprintf(name, sizeof name, "%s/%s%s", folders[k], identifier, platform->suffix);
    if (cpli_find_text(fmu->foreign_binaries.items, (size_t)fmu->foreign_binaries.n, name) < 0)
      continue;
    if (folder != NULL) *folder = folders[k];
    return true;
  }
  return false;
}

// Whether a platform has a binary of any kind.
static bool offers(const cpl_fmu* fmu, const cpli_platform* p, const char** folder) {
  const cpli_fmu_kind* kinds[] = {&fmu->me, &fmu->cs, &fmu->se};
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++)
    if (kinds[i]->present && cpli_fmu_has_foreign(fmu, p, kinds[i]->identifier, folder))
      return true;
  return false;
}

static void use(cpl_fmu* fmu, const cpli_platform* p) {
  fmu->foreign = p;
  fmu->foreign_suffix = p->suffix;
  offers(fmu, p, &fmu->foreign_folder);
}

// The platform of --platform; otherwise, where there is no binary for this one, the first that can
// be run here, or whose absence is the reason why the FMU cannot be run.
static cpl_status choose_foreign(cpl_fmu* fmu) {
  bool native;
  const cpli_platform *chosen = cpli_platform_chosen(&native), *first = NULL, *ready = NULL;
  if (native) return CPL_OK;
  if (chosen != NULL) {
    if (!offers(fmu, chosen, NULL))
      return cpli_fail_file(fmu->base.ctx, CPL_ERR_UNSUPPORTED, fmu->base.path,
                            "there is no binary for the platform that is requested, %s",
                            chosen->name);
    fmu->foreign_forced = true;
    return use(fmu, chosen), CPL_OK;
  }
  if (all_binaries_here(fmu)) return CPL_OK;
  for (int i = CPLI_PLATFORMS - 1; i >= 0; i--) {
    const cpli_platform* p = &cpli_platforms[i];
    if (!offers(fmu, p, NULL)) continue;
    first = p;
    if (cpli_platform_is_ready(fmu->base.ctx, p)) ready = p;
  }
  if (ready != NULL) use(fmu, ready);
  else if (first != NULL) use(fmu, first);
  return CPL_OK;
}

//------------------------------------ open ------------------------------------

// `zip` is NULL for an unpacked FMU.
static cpl_status read_texts(cpl_fmu* fmu, cpli_zip* zip) {
  cpl_context* ctx = fmu->arena.ctx;
  char* xml = NULL;
  size_t size = 0;
  cpl_status st =
      zip == NULL ? read_unpacked(fmu, &xml, &size) : read_archive(fmu, zip, &xml, &size);
  if (st < 0) return st;
  char* where = cpli_printf(ctx, "%s/%s", fmu->base.path, description_name);
  st = where == NULL ? cpli_nomem(ctx) : cpli_fmu_parse(fmu, where, xml, size);
  if (st >= 0) st = read_companions(fmu, zip);
  cpli_free(ctx, where);
  cpli_free(ctx, xml);
  return st;
}

static cpl_status read_description(cpl_fmu* fmu) {
  cpli_zip* zip = NULL;
  cpl_status st =
      fmu->is_folder ? CPL_OK : cpli_zip_open(fmu->arena.ctx, fmu->base.path, NULL, &zip);
  if (st >= 0) st = read_texts(fmu, zip);
  cpli_zip_close(zip);
  return st;
}

// Findings in companion files have their own source location.
static void log_finding(const cpl_fmu* fmu, cpl_log_level level, size_t i, const char* more) {
  const cpli_finding* f = &fmu->findings.items[i];
  char place[48] = "";
  if (f->line > 0) snprintf(place, sizeof place, "modelDescription.xml:%d: ", (int)f->line);
  cpl_log(fmu->findings.ctx, level, fmu->base.path, "%s%s%s", place, f->text, more);
}

// Tolerated findings are logged: the first, and their number.
static void log_findings(const cpl_fmu* fmu) {
  const cpli_findings* f = &fmu->findings;
  if (f->count == 0) return;
  char more[64] = "";
  if (f->count > 1) {
    snprintf(more, sizeof more, " (and %zu more: couplet check lists them)", f->count - 1);
  }
  log_finding(fmu, CPL_LOG_WARNING, 0, more);
  for (size_t i = 1; i < f->count; i++) log_finding(fmu, CPL_LOG_DEBUG, i, "");
}

void cpl_init_fmu_def(cpl_fmu_def* def, size_t size) {
  const cpl_fmu_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_fmu_open(cpl_context* ctx, const cpl_fmu_def* given, cpl_source** out) {
  *out = NULL;
  struct stat info;
  cpl_fmu_def def = cpl_default_fmu_def();
  cpl_status st = cpli_read_def(ctx, "cpl_fmu_def", given, &def, sizeof def);
  if (st < 0) return st;
  if (def.path == NULL) return cpl_fail(ctx, CPL_ERR_INPUT, "no FMU is named");
  if (stat(def.path, &info) != 0)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, def.path, "%s", strerror(errno));
  cpl_fmu* fmu = cpli_fmu_create(ctx, def.path, sizeof(opened));
  if (fmu == NULL) return cpli_nomem(ctx);
  fmu->loader = &loader;
  fmu->is_folder = S_ISDIR(info.st_mode);
  fmu->given = def.starts;
  fmu->n_given = def.n_starts;
  fmu->logging = def.debug_logging;

  st = read_description(fmu);
  fmu->log_prefix =
      cpli_arena_strdup(&fmu->arena, def.calls_prefix != NULL ? def.calls_prefix : "");
  if (fmu->log_prefix == NULL) st = cpli_nomem(ctx);
  fmu->call_log = def.calls;
  fmu->shares_log = def.calls != NULL;
  if (st >= 0 && def.call_log != NULL && !fmu->shares_log) {
    fmu->call_log = fopen(def.call_log, "we");
    if (fmu->call_log == NULL)
      st = cpli_fail_file(ctx, CPL_ERR_INPUT, def.call_log, "cannot be written: %s",
                          strerror(errno));
  }
  if (st >= 0) st = cpli_fmu_complete(fmu);
  fmu->call_timeout = def.call_timeout;
  if (st >= 0) st = choose_foreign(fmu);
  if (st >= 0 && cpl_fmu_is_foreign(&fmu->base)) cpli_platform_use(fmu->foreign);
  if (st < 0) {
    cpli_fmu_destroy(&fmu->base);
    return st;
  }
  fmu->given = NULL;  // they were the caller's
  fmu->n_given = 0;
  if (fmu->n_binaries == 0 && fmu->version == 3) fmu->platform = cpli_fmu_platform_tuple();
  log_findings(fmu);
  *out = &fmu->base;
  return CPL_OK;
}
