// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The table of platforms, and what it takes to run their binaries here.
#include "fmi/platform.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/data.h"
#include "fmi/fmu.h"

const cpli_platform cpli_platforms[CPLI_PLATFORMS] = {
    {"linux32", "x86-linux", ".so", "host-linux32", false, 32, "/lib/ld-linux.so.2", "libc6-i386"},
    {"win64", "x86_64-windows", ".dll", "host-win64.exe", true, 64, NULL, "wine wine64"},
    {"win32", "x86-windows", ".dll", "host-win32.exe", true, 32, NULL, "wine wine32:i386"},
};

const char cpli_platform_names[] = "win64, win32, linux32, x86_64-windows, x86-windows, x86-linux";

static const cpli_platform* chosen;
static bool chosen_native;

const cpli_platform* cpli_platform_find(const char* name, size_t len) {
  for (int i = 0; i < CPLI_PLATFORMS; i++) {
    const char* const names[] = {cpli_platforms[i].name, cpli_platforms[i].tuple};
    for (int k = 0; k < 2; k++)
      if (names[k] != NULL && strlen(names[k]) == len && memcmp(name, names[k], len) == 0)
        return &cpli_platforms[i];
  }
  return NULL;
}

const cpli_platform* cpli_platform_chosen(bool* native) {
  *native = chosen_native;
  return chosen;
}

cpl_status cpl_fmu_use_platform(cpl_context* ctx, const char* name) {
  chosen = NULL;
  chosen_native = false;
  if (name == NULL) return CPL_OK;
  chosen_native =
      strcmp(name, cpli_fmu_platform()) == 0 || strcmp(name, cpli_fmu_platform_tuple()) == 0;
  if (chosen_native) return CPL_OK;
  chosen = cpli_platform_find(name, strlen(name));
  if (chosen != NULL) return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_INPUT,
                  "there is no platform %s whose binaries can be run here (known: %s, %s)", name,
                  cpli_fmu_platform(), cpli_platform_names);
}

//------------------------------------ hosts ------------------------------------

static void host_path(const char* data, const cpli_platform* p, char* out, size_t size) {
  snprintf(out, size, "%s/foreign/%s", data, p->host);
}

// Why binaries of a platform cannot be run; "": they can.
static void find_obstacle(cpl_context* ctx, const cpli_platform* p, char* out, size_t size) {
  char path[PATH_MAX];
  const char* data = cpli_data_folder(ctx);
  out[0] = '\0';
  if (p->windows && cpli_wine_find(p->bits) == NULL)
    snprintf(out, size, "needs Wine%s, which is not installed: install the packages %s%s",
             p->bits == 32 ? " for programs of 32 bits" : "", p->packages,
             p->bits == 32 ? ", after dpkg --add-architecture i386" : "");
  else if (p->needs != NULL && access(p->needs, F_OK) != 0)
    snprintf(out, size,
             "needs the C library of 32 bits, which is not installed: install the package %s",
             p->packages);
  else if (data == NULL) snprintf(out, size, "needs couplet's data: %s", cpl_context_error(ctx));
  if (out[0] != '\0' || data == NULL) return;
  host_path(data, p, path, sizeof path);
  if (access(path, R_OK) != 0)
    snprintf(out, size,
             "needs the program %s, which this couplet was built without: build it again after "
             "scripts/setup --foreign",
             path);
}

cpl_status cpli_platform_check(cpl_context* ctx, const cpli_platform* p, char** host) {
  char obstacle[PATH_MAX + 256], path[PATH_MAX];
  *host = NULL;
  find_obstacle(ctx, p, obstacle, sizeof obstacle);
  if (obstacle[0] != '\0')
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "its binary for %s %s", p->name, obstacle);
  host_path(cpli_data_folder(ctx), p, path, sizeof path);
  *host = cpli_strdup(ctx, path);
  return *host != NULL ? CPL_OK : cpli_nomem(ctx);
}

bool cpli_platform_is_ready(cpl_context* ctx, const cpli_platform* p) {
  char obstacle[PATH_MAX + 256];
  find_obstacle(ctx, p, obstacle, sizeof obstacle);
  return obstacle[0] == '\0';
}

//------------------------------------ for users ------------------------------------

static atomic_bool used[CPLI_PLATFORMS];

void cpli_platform_use(const cpli_platform* p) { used[p - cpli_platforms] = true; }

void cpli_platform_way(cpl_context* ctx, const cpli_platform* p, char* out, size_t size) {
  const cpli_wine* wine = p->windows ? cpli_wine_find(p->bits) : NULL;
  const char* version = wine != NULL ? cpli_wine_version(ctx, wine) : "";
  if (!p->windows) snprintf(out, size, "by a host program");
  else snprintf(out, size, "through Wine%s%s", version[0] != '\0' ? " " : "", version);
}

void cpl_fmu_platforms_used(cpl_context* ctx, char* out, size_t size) {
  char way[80];
  size_t n = 0;
  if (size > 0) out[0] = '\0';
  for (int i = 0; i < CPLI_PLATFORMS && n < size; i++) {
    if (!used[i]) continue;
    cpli_platform_way(ctx, &cpli_platforms[i], way, sizeof way);
    n += (size_t)snprintf(out + n, size - n, "%s%s binary, %s", n > 0 ? "; " : "",
                          cpli_platforms[i].name, way);
  }
}

void cpl_fmu_platform_text(const cpl_source* source, const char* platform, char* out, size_t size) {
  const cpl_fmu* fmu = (const cpl_fmu*)source;
  cpl_context* ctx = fmu->arena.ctx;
  char way[80];
  if (strcmp(platform, cpli_fmu_platform()) == 0 ||
      strcmp(platform, cpli_fmu_platform_tuple()) == 0) {
    snprintf(out, size, "runs: it is the platform of this machine");
    return;
  }
  const cpli_platform* p = cpli_platform_find(platform, strlen(platform));
  if (p == NULL) {
    snprintf(out, size, "does not run on this machine");
    return;
  }
  char obstacle[PATH_MAX + 256];
  find_obstacle(ctx, p, obstacle, sizeof obstacle);
  if (obstacle[0] == '\0') cpli_platform_way(ctx, p, way, sizeof way);
  if (obstacle[0] == '\0') snprintf(out, size, "runs %s", way);
  else snprintf(out, size, "does not run: it %s", obstacle);
}
