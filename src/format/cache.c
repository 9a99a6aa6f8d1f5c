// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cache folder is the first of several that can be made and belongs to this user.
#include "format/cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/folder.h"

static bool make_folders(char* path) {
  for (char* p = path + 1;; p++) {
    if (*p != '/' && *p != '\0') continue;
    char kept = *p;
    *p = '\0';
    bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
    *p = kept;
    if (!there) return false;
    if (kept == '\0') return true;
  }
}

// What is in the cache is executed: no other user may be able to write to it. A parent folder that
// is writable by all must at least have the sticky bit.
static cpl_status check_folder(cpl_context* ctx, const char* folder, const struct stat* info) {
  char above[PATH_MAX];
  struct stat parent;
  snprintf(above, sizeof above, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
  const bool open_above = stat(above, &parent) == 0 && (parent.st_mode & S_IWOTH) != 0 &&
                          (parent.st_mode & S_ISVTX) == 0;
  const bool open = (info->st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!open && !open_above) return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_INPUT,
                  "%s: others can write to this folder, and code is run from %s: remove "
                  "that permission (chmod go-w), or set XDG_CACHE_HOME to another folder",
                  open ? folder : above, open ? "it" : folder);
}

cpl_status cpli_cache_folder(cpl_context* ctx, char* out, size_t size) {
  const char* xdg = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  struct stat info;
  for (int choice = 0; choice < 3; choice++) {
    int n = 0;
    if (choice == 0 && xdg != NULL && xdg[0] == '/') n = snprintf(out, size, "%s/couplet", xdg);
    else if (choice == 1 && home != NULL && home[0] == '/')
      n = snprintf(out, size, "%s/.cache/couplet", home);
    else if (choice == 2)
      n = snprintf(out, size, "%s/couplet-cache-%u", cpli_temp_base(), (unsigned)geteuid());
    if (n <= 0 || (size_t)n >= size) continue;
    // a folder of another user must not determine what is loaded
    if (make_folders(out) && lstat(out, &info) == 0 && S_ISDIR(info.st_mode) &&
        info.st_uid == geteuid() && access(out, W_OK | X_OK) == 0)
      return check_folder(ctx, out, &info);
  }
  return cpl_fail(ctx, CPL_ERR_IO,
                  "no cache folder can be made (XDG_CACHE_HOME, HOME and TMPDIR were tried)");
}
