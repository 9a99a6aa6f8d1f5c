// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Archives and folders. XML files are read from the archive; what others open by its path (FMUs,
// nested packages) is extracted into a temporary folder when it is needed, and only that.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/file.h"
#include "format/folder.h"
#include "ssp/reader.h"

enum { MAX_FOLDERS = 64 };  // nested in each other

//------------------------------------ open, close ------------------------------------

static bool is_folder(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// The standard allows these two, so that every tool can read a package.
static cpl_status check_methods(cpli_ssp_reader* r, const cpli_ssp_package* p) {
  for (size_t i = 0; i < cpli_zip_count(p->zip); i++) {
    const int method = cpli_zip_method(p->zip, i);
    if (method == 0 || method == 8) continue;
    return cpli_fail_file(r->ctx, CPL_ERR_INPUT, p->shown,
                          "%s is compressed by method %d; in packages only 0 (stored) and 8 "
                          "(deflated) are allowed",
                          cpli_zip_name(p->zip, i), method);
  }
  return CPL_OK;
}

// Messages have the name that users know, not that of an extracted file.
static cpl_status open_archive(cpli_ssp_reader* r, cpli_ssp_package* p) {
  cpl_status st = cpli_zip_open(r->ctx, p->path, NULL, &p->zip);
  if (st >= 0) return check_methods(r, p);
  if (st == CPL_ERR_NOMEM || strcmp(p->path, p->shown) == 0) return st;
  const char* message = cpli_ssp_text(r, "%s", cpl_context_last_error(r->ctx)->message);
  if (message == NULL) return cpli_nomem(r->ctx);
  return cpli_fail_file(r->ctx, st, p->shown, "%s", message);
}

cpl_status cpli_ssp_package_open(cpli_ssp_reader* r, const char* path, const char* shown,
                                 cpli_ssp_package** out) {
  for (*out = r->storage->packages; *out != NULL; *out = (*out)->next)
    if (strcmp((*out)->path, path) == 0) return CPL_OK;
  cpli_ssp_package* p = cpli_ssp_array(r, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(r->ctx);
  p->path = cpli_ssp_text(r, "%s", path);
  p->shown = cpli_ssp_text(r, "%s", shown);
  if (p->path == NULL || p->shown == NULL) return cpli_nomem(r->ctx);
  p->next = r->storage->packages;
  r->storage->packages = p;
  if (is_folder(path)) {
    const bool slash = path[strlen(path) - 1] == '/';
    p->folder = cpli_ssp_text(r, "%s%s", path, slash ? "" : "/");
    if (p->folder == NULL) return cpli_nomem(r->ctx);
  } else {
    cpl_status st = open_archive(r, p);
    if (st < 0) return st;
  }
  *out = p;
  return CPL_OK;
}

void cpli_ssp_package_close(cpl_context* ctx, cpli_ssp_package* package) {
  if (package->zip == NULL) return;
  cpli_zip_close(package->zip);
  // a folder that stays is removed by the next process
  if (package->folder != NULL) cpli_temp_folder_remove(ctx, package->folder);
}

bool cpli_ssp_is_unpacked(const cpli_ssp* ssp, const char* path) {
  for (const cpli_ssp_package* p = ssp->storage->packages; p != NULL; p = p->next) {
    if (p->zip != NULL && p->folder != NULL && strncmp(path, p->folder, strlen(p->folder)) == 0)
      return true;
  }
  return false;
}

//------------------------------------ files ------------------------------------

static char* path_of(cpl_context* ctx, const cpli_ssp_package* p, const char* name) {
  return name[0] == '/' ? cpli_strdup(ctx, name) : cpli_printf(ctx, "%s%s", p->folder, name);
}

const char* cpli_ssp_package_shown(cpli_ssp_reader* r, const cpli_ssp_package* p,
                                   const char* name) {
  if (name[0] == '/') return name;
  if (p->zip != NULL) return cpli_ssp_text(r, "%s/%s", p->shown, name);
  const char* folder = strcmp(p->folder, "./") == 0 ? "" : p->folder;
  return cpli_ssp_text(r, "%s%s", folder, name);
}

bool cpli_ssp_package_has(const cpli_ssp_package* p, const char* name) {
  if (p->zip != NULL) return cpli_zip_has(p->zip, name);
  char path[8192];
  const int n = snprintf(path, sizeof path, "%s%s", name[0] == '/' ? "" : p->folder, name);
  return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

cpl_status cpli_ssp_package_read(cpl_context* ctx, const cpli_ssp_package* p, const char* name,
                                 size_t limit, char** out, size_t* size) {
  if (p->zip != NULL) return cpli_zip_read(p->zip, name, limit, out, size);
  char* path = path_of(ctx, p, name);
  if (path == NULL) return cpli_nomem(ctx);
  cpl_status st = cpli_file_read(ctx, path, limit, out, size);
  cpli_free(ctx, path);
  return st;
}

static cpl_status make_folder(cpli_ssp_reader* r, cpli_ssp_package* p) {
  if (p->folder != NULL) return CPL_OK;
  char* folder = NULL;
  cpl_status st = cpli_temp_folder_make(r->ctx, &folder);
  if (st < 0) return st;
  p->folder = cpli_ssp_text(r, "%s/", folder);
  if (p->folder == NULL) {
    cpli_temp_folder_remove(r->ctx, folder);
    st = cpli_nomem(r->ctx);
  }
  cpli_free(r->ctx, folder);
  return st;
}

static cpl_status extract(cpli_ssp_reader* r, cpli_ssp_package* p, const char* name,
                          const char** out) {
  cpl_status st = make_folder(r, p);
  if (st < 0) return st;
  char* path = path_of(r->ctx, p, name);
  if (path == NULL) return cpli_nomem(r->ctx);
  if (p->zip != NULL) st = cpli_zip_extract_entry(p->zip, name, p->folder);
  if (st >= 0) *out = cpli_ssp_text(r, "%s", path);
  cpli_free(r->ctx, path);
  return st >= 0 && *out == NULL ? cpli_nomem(r->ctx) : st;
}

cpl_status cpli_ssp_package_extract(cpli_ssp_reader* r, cpli_ssp_package* p, const char* name,
                                    const char** out) {
  *out = NULL;
  for (const cpli_ssp_used* u = p->used; u != NULL; u = u->next) {
    if (strcmp(u->name, name) != 0) continue;
    *out = u->path;
    return CPL_OK;
  }
  cpl_status st = extract(r, p, name, out);
  if (st < 0) return st;
  cpli_ssp_used* used = cpli_ssp_array(r, 1, sizeof *used);
  const char* copy = cpli_ssp_text(r, "%s", name);
  if (used == NULL || copy == NULL) return cpli_nomem(r->ctx);
  *used = (cpli_ssp_used){p->used, copy, *out};
  p->used = used;
  return CPL_OK;
}

//------------------------------------ lists ------------------------------------

typedef struct file_list {
  cpl_context* ctx;
  char** names;
  size_t n, cap;
} file_list;

static cpl_status add_name(file_list* list, const char* folder, const char* name) {
  if (!cpli_grow(list->ctx, (void**)&list->names, &list->cap, list->n, sizeof *list->names))
    return cpli_nomem(list->ctx);
  char* copy = cpli_printf(list->ctx, "%s%s", folder, name);
  if (copy == NULL) return cpli_nomem(list->ctx);
  list->names[list->n++] = copy;
  return CPL_OK;
}

static cpl_status list_archive(const cpli_ssp_package* p, bool root_only, file_list* list) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < cpli_zip_count(p->zip); i++) {
    const char* name = cpli_zip_name(p->zip, i);
    const size_t len = strlen(name);
    if (len == 0 || name[len - 1] == '/') continue;
    if (root_only && strchr(name, '/') != NULL) continue;
    st = add_name(list, "", name);
  }
  return st;
}

static cpl_status list_folder(const cpli_ssp_package* p, const char* folder, bool root_only,
                              int depth, file_list* list);

// NOLINTNEXTLINE(misc-no-recursion): the depth is limited
static cpl_status list_entry(const cpli_ssp_package* p, DIR* dir, const char* folder,
                             const char* name, bool root_only, int depth, file_list* list) {
  struct stat info;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return CPL_OK;
  if (fstatat(dirfd(dir), name, &info, 0) != 0) return CPL_OK;
  if (S_ISREG(info.st_mode)) return add_name(list, folder, name);
  if (!S_ISDIR(info.st_mode) || root_only) return CPL_OK;
  if (depth == MAX_FOLDERS)
    return cpli_fail_file(list->ctx, CPL_ERR_INPUT, p->shown, "folders are nested too deeply");
  char* inner = cpli_printf(list->ctx, "%s%s/", folder, name);
  if (inner == NULL) return cpli_nomem(list->ctx);
  cpl_status st = list_folder(p, inner, false, depth + 1, list);
  cpli_free(list->ctx, inner);
  return st;
}

// NOLINTNEXTLINE(misc-no-recursion): the depth is limited
static cpl_status list_folder(const cpli_ssp_package* p, const char* folder, bool root_only,
                              int depth, file_list* list) {
  char* path = cpli_printf(list->ctx, "%s%s", p->folder, folder);
  if (path == NULL) return cpli_nomem(list->ctx);
  DIR* dir = opendir(path);
  const int cause = errno;
  cpli_free(list->ctx, path);
  if (dir == NULL)
    return cpli_fail_file(list->ctx, CPL_ERR_IO, p->shown, "%s: %s", folder, strerror(cause));
  cpl_status st = CPL_OK;
  for (struct dirent* e; st >= 0 && (e = readdir(dir)) != NULL;)
    st = list_entry(p, dir, folder, e->d_name, root_only, depth, list);
  closedir(dir);
  return st;
}

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

cpl_status cpli_ssp_package_list(cpl_context* ctx, const cpli_ssp_package* p, bool root_only,
                                 char*** out, size_t* n) {
  file_list list = {.ctx = ctx};
  cpl_status st =
      p->zip != NULL ? list_archive(p, root_only, &list) : list_folder(p, "", root_only, 0, &list);
  if (list.n > 0) qsort(list.names, list.n, sizeof *list.names, by_name);
  *out = list.names;
  *n = list.n;
  return st;
}
