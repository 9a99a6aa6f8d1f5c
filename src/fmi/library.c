// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens a binary with RTLD_DEEPBIND; a library of the same folder that it needs is opened before it
// by its full path. A library stays open when one of its calls has crashed or one of its threads
// still runs.
#include "fmi/library.h"
#include "format/source_loc.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/loaded.h"
#include "format/folder.h"

#if defined(CPL_SANITIZED)
#define DEEPBIND 0  // the sanitizers must interpose, and refuse to run with it
#else
#define DEEPBIND RTLD_DEEPBIND
#endif

//------------------------------------ opening ------------------------------------

typedef struct opening {
  cpli_library* lib;
  char problem[1024];  // the last dlerror()
} opening;

// Constructors of the library run inside dlopen, so it can crash as any other call into the FMU.
static void* open_one(opening* op, const char* path, int flags) {
  void* volatile handle = NULL;
  volatile int crash = 0;
  cpli_forks_hold();
  CPLI_GUARDED(handle = cpli_load(path, RTLD_NOW | RTLD_LOCAL | flags), crash = crash_signal);
  cpli_forks_release();
  const char* text = handle == NULL && crash == 0 ? dlerror() : NULL;
  if (crash != 0) {
    op->lib->locked = true;
    snprintf(op->problem, sizeof op->problem, "its start-up code crashed (%s)",
             cpli_guard_text(crash));
  } else if (text != NULL) {
    snprintf(op->problem, sizeof op->problem, "%s", text);
  }
  return handle;
}

// The library that the last dlopen missed, from "NAME: cannot open shared object file: ...".
static bool missing_name(const char* problem, char* name, size_t size) {
  const char* end = strstr(problem, ": cannot open shared object file");
  if (end == NULL || (size_t)(end - problem) >= size) return false;
  memcpy(name, problem, (size_t)(end - problem));
  name[end - problem] = '\0';
  return strchr(name, '/') == NULL;
}

// Many FMUs bring libraries without telling the loader where they are (no rpath): open them by full
// path first; the loader then finds them by name among those already there.
static void* open_with_siblings(opening* op, const char* path, int depth) {
  char name[256], last[256] = "";
  for (;;) {
    void* handle = open_one(op, path, DEEPBIND);
    if (handle != NULL || depth > 8 || !missing_name(op->problem, name, sizeof name) ||
        strcmp(name, last) == 0) {
      return handle;
    }
    memcpy(last, name, sizeof last);
    char sibling[4096];
    int folder = (int)(strrchr(path, '/') - path);
    int n = snprintf(sibling, sizeof sibling, "%.*s/%s", folder, path, name);
    if (n < 0 || (size_t)n >= sizeof sibling || access(sibling, R_OK) != 0) return NULL;
    if (op->lib->n_siblings == (int)CPLI_COUNT(op->lib->siblings)) return NULL;
    void* needed = open_with_siblings(op, sibling, depth + 1);
    if (needed == NULL) return NULL;
    op->lib->siblings[op->lib->n_siblings++] = needed;
  }
}

static cpl_status open_failed(cpl_context* ctx, const opening* op) {
  const cpli_library* lib = op->lib;
  char name[256];
  if (missing_name(op->problem, name, sizeof name)) {
    char hint[1024];
    snprintf(hint, sizeof hint, "%s/binaries/%s/%s", lib->fmu->folder, lib->fmu->platform, name);
    bool there = access(hint, R_OK) == 0;
    return cpli_fail_file(
        ctx, CPL_ERR_INPUT, lib->fmu->base.path,
        "cannot load binaries/%s/%s.so: it needs the library %s%s (%s)", lib->fmu->platform,
        lib->identifier, name,
        there ? ", which is in its folder but is not found under that name: add the folder "
                "to LD_LIBRARY_PATH"
              : ", which is not installed: install the package that has it, or name its "
                "folder in LD_LIBRARY_PATH",
        op->problem);
  }
  bool machine = strstr(op->problem, "wrong ELF class") != NULL ||
                 strstr(op->problem, "invalid ELF header") != NULL ||
                 strstr(op->problem, "file too short") != NULL ||
                 strstr(op->problem, "cannot open shared object file: No") != NULL;
  return cpli_fail_file(ctx, CPL_ERR_INPUT, lib->fmu->base.path,
                        "cannot load binaries/%s/%s.so%s: %s", lib->fmu->platform, lib->identifier,
                        machine ? ", it is not a library for this machine" : "", op->problem);
}

//------------------------------------ finding ------------------------------------

static cpl_status no_binary(const cpl_fmu* fmu, const cpli_fmu_kind* kind) {
  char there[512] = "";
  size_t used = 0;
  bool folder = false;
  for (int32_t i = 0; i < fmu->n_platforms && used < sizeof there; i++) {
    folder = folder || strcmp(fmu->platforms[i], fmu->platform) == 0;
    used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", i > 0 ? ", " : "",
                             fmu->platforms[i]);
  }
  if (folder) {
    return cpli_fail_file(fmu->base.ctx, CPL_ERR_INPUT, fmu->base.path,
                          "binaries/%s/%s.so is missing", fmu->platform, kind->identifier);
  }
  const bool sources = fmu->has_sources || kind->n_source_files > 0;
  return cpli_fail_file(fmu->base.ctx, CPL_ERR_UNSUPPORTED, fmu->base.path,
                        "no binary for this platform (%s) and no source code%s; there are binaries "
                        "for: %s",
                        fmu->platform, sources ? " that could be compiled here" : "",
                        there[0] != '\0' ? there : "no platform");
}

// The path of a binary, or of the one that will be compiled.
static cpl_status choose_path(cpli_library* lib, const char* folder, const char* below) {
  cpl_context* ctx = lib->fmu->base.ctx;
  cpli_free(ctx, lib->path);
  lib->path = cpli_printf(ctx, "%s%s/%s.so", folder, below, lib->identifier);
  return lib->path != NULL ? CPL_OK : cpli_nomem(ctx);
}

// The binary for another platform.
static cpl_status choose_foreign(cpli_library* lib) {
  cpl_fmu* fmu = lib->fmu;
  lib->platform = fmu->foreign;
  cpli_free(fmu->base.ctx, lib->path);
  lib->path = cpli_printf(fmu->base.ctx, "%s/binaries/%s/%s%s", fmu->folder, fmu->foreign_folder,
                          lib->identifier, fmu->foreign_suffix);
  return lib->path != NULL ? CPL_OK : cpli_nomem(fmu->base.ctx);
}

static cpl_status compile(cpli_library* lib, const cpli_fmu_kind* kind) {
  cpl_fmu* fmu = lib->fmu;
  cpl_context* ctx = fmu->base.ctx;
  cpl_status st = CPL_OK;
  if (fmu->is_folder) {
    st = cpli_temp_folder_make(ctx, &lib->made_in);
    if (st >= 0) st = choose_path(lib, lib->made_in, "");
    if (st < 0) return st;
  }
  st = fmu->loader->compile(fmu, kind, lib->path);
  if (st >= 0 || fmu->foreign == NULL || st == CPL_ERR_NOMEM || cpli_cancelled(ctx)) return st;
  cpl_log(ctx, CPL_LOG_INFO, fmu->base.path, "the binary for %s is used, since: %s",
          fmu->foreign_folder, cpl_context_error(ctx));
  return choose_foreign(lib);
}

// In this order: the binary for this platform, sources, the binary for another platform.
static cpl_status find_binary(cpli_library* lib, const cpli_fmu_kind* kind) {
  cpl_fmu* fmu = lib->fmu;
  char below[64];
  if (fmu->foreign != NULL && fmu->foreign_forced) return choose_foreign(lib);
  snprintf(below, sizeof below, "/binaries/%s", fmu->platform);
  cpl_status st = choose_path(lib, fmu->folder, below);
  if (st < 0 || access(lib->path, F_OK) == 0) return st;
  const bool sources = fmu->has_sources || kind->n_source_files > 0;
  if (sources && fmu->loader != NULL) return compile(lib, kind);
  return fmu->foreign != NULL ? choose_foreign(lib) : no_binary(fmu, kind);
}

// Destructors of the library run inside dlclose; a crash there comes too late to spoil a run.
static void close_one(cpli_library* lib, void* handle) {
  volatile int crash = 0;
  cpli_forks_hold();
  CPLI_GUARDED(dlclose(handle), crash = crash_signal);
  cpli_forks_release();
  if (crash == 0) return;
  lib->locked = true;
  cpl_log(lib->fmu->base.ctx, CPL_LOG_WARNING, lib->fmu->base.path,
          "the clean-up code of %s.so crashed (%s)", lib->identifier, cpli_guard_text(crash));
}

// A binary of couplet's code that calls models leaves their calls itself when they crash.
static void share_guard(cpli_library* lib) {
  cpli_guard_leaver* (*share)(void);
  *(void**)&share = cpli_guard_on ? dlsym(lib->handle, "coupletShareGuard") : NULL;
  if (share == NULL) return;
  lib->leave = share();
  cpli_guard_add_inner(lib->leave);
}

static void destroy(cpli_library* lib) {
  if (lib == NULL) return;
  if (lib->handle != NULL && (cpli_process_ends || cpli_threads_remain(&lib->before)))
    lib->locked = true;
  if (lib->hosted != NULL) lib->hosted->close(lib->hosted);
  if (!lib->locked && lib->leave != NULL) cpli_guard_remove_inner(lib->leave);
  if (!lib->locked && lib->handle != NULL) close_one(lib, lib->handle);
  while (!lib->locked && lib->n_siblings > 0) close_one(lib, lib->siblings[--lib->n_siblings]);
  cpl_context* ctx = lib->fmu->base.ctx;
  if (lib->made_in != NULL) {
    cpli_temp_folder_remove(ctx, lib->made_in);
    cpli_free(ctx, lib->made_in);
  }
  cpli_free(ctx, lib->functions);
  cpli_free(ctx, lib->path);
  cpli_free(ctx, lib);
}

cpl_status cpli_library_acquire(cpl_fmu* fmu, const cpli_fmu_kind* kind, cpli_library** out) {
  cpl_context* ctx = fmu->base.ctx;
  *out = NULL;
  for (cpli_library* lib = fmu->libraries; lib != NULL; lib = lib->next) {
    if (lib->hosted != NULL || strcmp(lib->identifier, kind->identifier) != 0) continue;
    assert(lib->users > 0);
    lib->users++;
    *out = lib;
    return CPL_OK;
  }

  cpli_library* lib = cpli_alloc(ctx, 1, sizeof *lib);
  if (lib == NULL) return cpli_nomem(ctx);
  lib->fmu = fmu;
  lib->identifier = kind->identifier;
  cpl_status st = find_binary(lib, kind);
  if (st >= 0 && lib->platform != NULL)
    st = fmu->loader->open_foreign(fmu, kind, lib->platform, lib->path, &lib->hosted);
  if (st < 0) goto done;
  if (lib->hosted != NULL) goto opened;

  // some binaries use sin and friends without naming libm: have it where everyone looks
  dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  opening op = {.lib = lib};
  cpli_loaded_note(&lib->before);
  lib->handle = open_with_siblings(&op, lib->path, 0);
  if (lib->handle == NULL) {
    st = open_failed(ctx, &op);
    goto done;
  }
  share_guard(lib);
opened:
  lib->users = 1;
  lib->next = fmu->libraries;
  fmu->libraries = lib;
  *out = lib;
  lib = NULL;
done:
  destroy(lib);
  return st;
}

void cpli_library_release(cpli_library* lib) {
  assert(lib == NULL || lib->users > 0);
  if (lib == NULL || --lib->users > 0) return;
  cpli_library** at = &lib->fmu->libraries;
  while (*at != lib) at = &(*at)->next;
  *at = lib->next;
  destroy(lib);
}

void* cpli_library_symbol(const cpli_library* lib, const char* name) {
  if (lib->hosted != NULL) return lib->hosted->symbol(lib->hosted, name);
  void* address = dlsym(lib->handle, name);
  char prefixed[512];
  int n = snprintf(prefixed, sizeof prefixed, "%s_%s", lib->identifier, name);
  if (address == NULL && n > 0 && (size_t)n < sizeof prefixed) {
    address = dlsym(lib->handle, prefixed);
  }
  return address;
}
