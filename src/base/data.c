// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The folder is searched once per process: in COUPLET_DATA, then relative to the library and to the
// program, and finally in the installation folder.
#include "base/data.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "installed_data.h"  // made by CMake

static char found[PATH_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool try_folder(const char* base, const char* below) {
  char path[PATH_MAX + 64], whole[PATH_MAX];
  snprintf(path, sizeof path, "%s%s/include/couplet/model.h", base, below);
  if (access(path, R_OK) != 0) return false;
  snprintf(path, sizeof path, "%s%s", base, below);
  if (realpath(path, whole) == NULL) return false;
  memcpy(found, whole, sizeof found);
  return true;
}

// Relative to a program or library: build/couplet, bin/couplet, lib/libcouplet.so,
// lib/TRIPLET/libcouplet.so.
static bool try_beside(const char* file) {
  static const char* const below[] = {"/lib/couplet", "/../lib/couplet", "/couplet", "/../couplet"};
  char folder[PATH_MAX];
  if (realpath(file, folder) == NULL) return false;
  char* slash = strrchr(folder, '/');
  if (slash == NULL) return false;
  *slash = '\0';
  for (size_t i = 0; i < CPLI_COUNT(below); i++) {
    if (try_folder(folder, below[i])) return true;
  }
  return false;
}

static void search(void) {
  const char* chosen = getenv("COUPLET_DATA");
  if (chosen != NULL && try_folder(chosen, "")) return;
  Dl_info info;
  if (dladdr(found, &info) != 0 && info.dli_fname != NULL && try_beside(info.dli_fname)) return;
  if (try_beside("/proc/self/exe")) return;
  try_folder(CPL_INSTALLED_DATA, "");
}

const char* cpli_data_folder(cpl_context* ctx) {
  pthread_once(&once, search);
  if (found[0] != '\0') return found;
  cpl_fail(ctx, CPL_ERR_INPUT,
           "couplet's own files (lib/couplet) are not found next to the program; set COUPLET_DATA "
           "to that folder");
  return NULL;
}
