// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Gives back the system that an FMU was made of: its system file with the files that belong to it.
// FMUs, which are folders inside of the FMU, become archives again.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "couplet/export.h"
#include "export/convert.h"
#include "export/plan.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/source_loc.h"
#include "format/zip.h"
#include "format/zip_writer.h"

static const char resources[] = "resources/", fmus[] = "resources/fmus/";

typedef struct unpacking {
  cpl_context* ctx;
  const char *path, *folder;
  cpli_zip* zip;
} unpacking;

static bool begins(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

// The length of "resources/fmus/left.fmu/" at the begin of a name; 0: it is no file of an FMU.
static size_t fmu_prefix(const char* name) {
  if (!begins(name, fmus)) return 0;
  const char* slash = strchr(name + sizeof fmus - 1, '/');
  return slash != NULL ? (size_t)(slash - name) + 1 : 0;
}

static cpl_status write_file(unpacking* u, const char* name, const char* bytes, size_t size) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", u->folder, name) >= (int)sizeof path)
    return cpli_fail_file(u->ctx, CPL_ERR_INPUT, name, "the path is too long");
  cpl_status st = cpli_make_parents(u->ctx, path);
  return st < 0 ? st : cpli_file_make(u->ctx, path, bytes, size);
}

static cpl_status write_plain(unpacking* u, const char* name) {
  char* bytes = NULL;
  size_t size = 0;
  cpl_status st = cpli_zip_read(u->zip, name, CPLI_LARGEST_FILE, &bytes, &size);
  if (st >= 0) st = write_file(u, name + sizeof resources - 1, bytes, size);
  cpli_free(u->ctx, bytes);
  return st;
}

// The FMU whose files begin with `prefix`, from entry `first` on.
static cpl_status write_fmu(unpacking* u, const char* prefix, size_t first) {
  size_t n_all = cpli_zip_count(u->zip), n = 0, len = strlen(prefix);
  char path[PATH_MAX];
  cpli_zip_entry* entries = cpli_alloc(u->ctx, n_all - first, sizeof *entries);
  cpl_status st = entries != NULL ? CPL_OK : cpli_nomem(u->ctx);
  for (size_t i = first; i < n_all && st >= 0; i++) {
    const char* name = cpli_zip_name(u->zip, i);
    char* bytes = NULL;
    size_t size = 0;
    if (!begins(name, prefix) || cpli_ends_with(name, "/")) continue;
    st = cpli_zip_read(u->zip, name, CPLI_LARGEST_FILE, &bytes, &size);
    if (st >= 0)
      entries[n++] = (cpli_zip_entry){name + len, bytes, size, cpli_ends_with(name, ".so")};
  }
  if (st >= 0 && snprintf(path, sizeof path, "%s/%.*s", u->folder, (int)(len - sizeof resources),
                          prefix + sizeof resources - 1) >= (int)sizeof path)
    st = cpli_fail_file(u->ctx, CPL_ERR_INPUT, prefix, "the path is too long");
  if (st >= 0) st = cpli_make_parents(u->ctx, path);
  if (st >= 0) st = cpli_zip_write(u->ctx, path, entries, n);
  for (size_t i = 0; i < n; i++) cpli_free(u->ctx, (void*)entries[i].bytes);
  cpli_free(u->ctx, entries);
  return st;
}

static bool is_first_of(const unpacking* u, const char* prefix, size_t entry) {
  size_t i = 0;
  while (i < entry && !begins(cpli_zip_name(u->zip, i), prefix)) i++;
  return i == entry;
}

static cpl_status write_entry(unpacking* u, size_t i) {
  const char* name = cpli_zip_name(u->zip, i);
  char prefix[PATH_MAX];
  size_t n = fmu_prefix(name);
  if (n > 0) {
    snprintf(prefix, sizeof prefix, "%.*s", (int)n, name);
    return is_first_of(u, prefix, i) ? write_fmu(u, prefix, i) : CPL_OK;
  }
  bool made = strcmp(name, "resources/" CPLI_PLAN_FILE) == 0 ||
              (begins(name, "resources/models/") && cpli_ends_with(name, ".so"));
  if (!begins(name, resources) || cpli_ends_with(name, "/") || made) return CPL_OK;
  return write_plain(u, name);
}

// A folder that is new or empty.
static cpl_status make_folder(const unpacking* u) {
  if (mkdir(u->folder, 0777) == 0) return CPL_OK;
  if (errno != EEXIST)
    return cpli_fail_file(u->ctx, CPL_ERR_INPUT, u->folder, "cannot make this folder: %s",
                          strerror(errno));
  DIR* dir = opendir(u->folder);
  if (dir == NULL)
    return cpli_fail_file(u->ctx, CPL_ERR_INPUT, u->folder, "is no folder: %s", strerror(errno));
  int n = 0;
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n <= 2 ? CPL_OK
                : cpli_fail_file(u->ctx, CPL_ERR_INPUT, u->folder,
                                 "is not empty: the system is written to a new folder");
}

cpl_status cpl_fmu_unpack(cpl_context* ctx, const char* path, const char* folder) {
  unpacking u = {.ctx = ctx, .path = path, .folder = folder};
  cpl_status st = cpli_zip_open(ctx, path, NULL, &u.zip);
  if (st >= 0 && !(cpli_zip_has(u.zip, "resources/" CPLI_PLAN_FILE) &&
                   cpli_zip_has(u.zip, "resources/system.yaml")))
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "is no FMU that couplet made of a system");
  if (st >= 0) st = make_folder(&u);
  for (size_t i = 0; st >= 0 && i < cpli_zip_count(u.zip); i++) st = write_entry(&u, i);
  cpli_zip_close(u.zip);
  return st;
}
