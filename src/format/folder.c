// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

cpl_status cpli_temp_folder_make(cpl_context* ctx, char** out) {
  *out = NULL;
  const char* base = getenv("TMPDIR");
  if (base == NULL || base[0] != '/') base = "/tmp";
  char* path = cpli_printf(ctx, "%s/couplet-XXXXXX", base);
  if (path == NULL) return cpli_nomem(ctx);
  if (mkdtemp(path) == NULL) {
    cpl_status st = cpl_fail(ctx, CPL_ERR_IO, "cannot make a temporary folder in %s: %s", base,
                             strerror(errno));
    cpli_free(ctx, path);
    return st;
  }
  *out = path;
  return CPL_OK;
}

// Works on descriptors, so that a folder replaced by a link meanwhile leads nowhere.
static bool empty_folder(int folder) {
  DIR* dir = fdopendir(folder);
  if (dir == NULL) {
    close(folder);
    return false;
  }
  bool all = true;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(dir), e->d_name, 0) == 0) continue;
    int below = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 || !empty_folder(below) || unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) != 0)
      all = false;
  }
  closedir(dir);
  return all;
}

cpl_status cpli_temp_folder_remove(cpl_context* ctx, const char* path) {
  if (path == NULL) return CPL_OK;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0 && empty_folder(folder) && rmdir(path) == 0) return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_IO, "%s: cannot be removed: %s", path, strerror(errno));
}

cpl_status cpli_make_parents(cpl_context* ctx, char* path) {
  for (char* slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
    cpl_status st =
        failed ? cpl_fail(ctx, CPL_ERR_IO, "%s: cannot make this folder: %s", path, strerror(errno))
               : CPL_OK;
    *slash = '/';
    if (failed) return st;
  }
  return CPL_OK;
}
