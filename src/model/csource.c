// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "couplet/csource.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/guard.h"
#include "base/loaded.h"
#include "base/process.h"
#include "model/probe.h"

typedef struct csource {
  cpl_source base;
  cpli_cmodel* cm;
  char* path;
  void* library;  // NULL: defined in this program
  cpli_loaded before;
} csource;

//------------------------------------ cache ------------------------------------

static bool hash_file(const char* path, uint64_t hash[2]) {
  FILE* f = fopen(path, "rb");
  if (f == NULL) return false;
  unsigned char bytes[16384];
  size_t n;
  while ((n = fread(bytes, 1, sizeof bytes, f)) > 0) {
    for (size_t i = 0; i < n; i++) {  // two FNV-1a hashes with different bases
      hash[0] = (hash[0] ^ bytes[i]) * 1099511628211u;
      hash[1] = (hash[1] ^ bytes[i]) * 1099511628211u;
      hash[1] ^= hash[1] >> 29;
    }
  }
  bool fine = ferror(f) == 0;
  fclose(f);
  return fine;
}

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

// $XDG_CACHE_HOME/couplet, ~/.cache/couplet, or a folder of this user in the temporary folder.
static bool cache_folder(char* out, size_t size) {
  const char* xdg = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  const char* tmp = getenv("TMPDIR");
  struct stat info;
  for (int choice = 0; choice < 3; choice++) {
    if (choice == 0 && xdg != NULL && xdg[0] == '/') snprintf(out, size, "%s/couplet", xdg);
    else if (choice == 1 && home != NULL && home[0] == '/')
      snprintf(out, size, "%s/.cache/couplet", home);
    else if (choice == 2)
      snprintf(out, size, "%s/couplet-%u", tmp != NULL ? tmp : "/tmp", (unsigned)getuid());
    else continue;
    // a folder that belongs to somebody else must not decide what we load
    if (make_folders(out) && lstat(out, &info) == 0 && S_ISDIR(info.st_mode) &&
        info.st_uid == getuid() && access(out, W_OK | X_OK) == 0) {
      return true;
    }
  }
  return false;
}

//------------------------------------ compiling ------------------------------------

#define MODEL_FLAGS "-std=c17", "-O2", "-fPIC", "-ffp-contract=off", "-fvisibility=hidden"

// The text after preprocessing is the key: it changes with the model, with what it includes and
// with our header, and with nothing else.
static cpl_status cache_key(cpl_context* ctx, const char* path, const char* include,
                            const char* folder, uint64_t key[2]) {
  char text[PATH_MAX + 64];
  snprintf(text, sizeof text, "%s/preprocess-%d.i", folder, (int)getpid());
  const char* args[] = {MODEL_FLAGS, "-E", "-P", "-I", include, "-o", text, path, NULL};
  cpl_status st = cpli_run_compiler(ctx, path, args);
  key[0] = 14695981039346656037u;
  key[1] = 0x6c62272e07bb0142u;
  if (st >= 0 && !hash_file(text, key)) {
    st = cpl_fail(ctx, CPL_ERR_IO, "%s cannot be read: %s", text, strerror(errno));
  }
  unlink(text);
  return st;
}

static cpl_status compile(cpl_context* ctx, const char* path, const char* include,
                          const char* target) {
  char fresh[PATH_MAX + 96];
  snprintf(fresh, sizeof fresh, "%s.%d", target, (int)getpid());
  const char* args[] = {MODEL_FLAGS, "-shared", "-I", include, "-o", fresh, path, "-lm", NULL};
  cpl_status st = cpli_run_compiler(ctx, path, args);
  if (st >= 0 && rename(fresh, target) != 0) {
    st = cpl_fail(ctx, CPL_ERR_IO, "%s cannot be written: %s", target, strerror(errno));
  }
  unlink(fresh);
  return st;
}

static cpl_status compiled(cpl_context* ctx, const char* path, char* target, size_t size) {
  char folder[PATH_MAX], include[PATH_MAX + 16];
  uint64_t key[2];
  const char* data = cpli_data_folder(ctx);
  if (data == NULL) return CPL_ERR_INPUT;
  if (!cache_folder(folder, sizeof folder)) {
    return cpl_fail(
        ctx, CPL_ERR_IO,
        "no folder for compiled models can be made (XDG_CACHE_HOME, HOME and TMPDIR were tried)");
  }
  snprintf(include, sizeof include, "%s/include", data);
  cpl_status st = cache_key(ctx, path, include, folder, key);
  if (st < 0) return st;
  snprintf(target, size, "%s/%016llx%016llx.so", folder, (unsigned long long)key[0],
           (unsigned long long)key[1]);
  return access(target, R_OK) == 0 ? CPL_OK : compile(ctx, path, include, target);
}

//------------------------------------ source ------------------------------------

static void destroy(cpl_source* source) {
  if (source == NULL) return;
  csource* src = (csource*)source;
  cpl_context* ctx = source->ctx;
  cpli_cmodel_destroy(src->cm);
  if (src->library != NULL && !cpli_threads_remain(&src->before)) dlclose(src->library);
  cpli_free(ctx, src->path);
  cpli_free(ctx, src);
}

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  return cpli_cmodel_instance(((csource*)source)->cm, source->ctx, name, out);
}

static const cpl_source_ops ops = {.kind = "c", .destroy = destroy, .make_model = make_model};

static cpl_status source_create(cpl_context* ctx, const char* path, csource** out) {
  csource* src = cpli_alloc(ctx, 1, sizeof *src);
  *out = src;
  if (src == NULL) return cpli_nomem(ctx);
  src->base = (cpl_source){.ops = &ops, .ctx = ctx};
  src->base.path = src->path = cpli_strdup(ctx, path);
  return src->path != NULL ? CPL_OK : cpli_nomem(ctx);
}

static cpl_status describe(csource* src, const cpl_model_def* def, cpli_cmodel_host host) {
  host.call = cpli_probe_call;
  cpl_status st = cpli_cmodel_create_hosted(src->base.ctx, def, true, &host, &src->cm);
  if (st < 0)
    return src->library != NULL ? cpl_fail_prefix(src->base.ctx, st, "%s", src->path) : st;
  src->base.desc = &src->cm->desc;
  return st;
}

typedef struct opening {
  const char* library;
  void* handle;
} opening;

static void open_library(void* user) {
  opening* op = user;
  op->handle = cpli_load(op->library, RTLD_NOW | RTLD_LOCAL);
}

static cpl_status load(csource* src, const char* library, const cpl_model_def** def) {
  opening op = {.library = library};
  cpli_loaded_note(&src->before);
  const char* crash = cpli_guard_run(open_library, &op);
  src->library = op.handle;
  if (crash != NULL)
    return cpl_fail(src->base.ctx,
                    cpli_cancelled(src->base.ctx) ? CPL_ERR_CANCELLED : CPL_ERR_MODEL,
                    "%s: cannot be loaded: its start-up code crashed (%s)", src->path, crash);
  if (src->library == NULL) {
    return cpl_fail(src->base.ctx, CPL_ERR_INPUT, "%s: cannot be loaded: %s", src->path, dlerror());
  }
  *def = dlsym(src->library, "couplet_model");
  if (*def == NULL) {
    return cpl_fail(src->base.ctx, CPL_ERR_INPUT,
                    "%s: defines no `const cpl_model_def couplet_model`", src->path);
  }
  return CPL_OK;
}

static cpl_status finish(csource* src, cpl_status st, cpl_source** out) {
  if (st < 0) destroy(src != NULL ? &src->base : NULL);
  else *out = &src->base;
  return st;
}

static cpl_status open_hosted(cpl_context* ctx, const char* path, cpli_cmodel_host host,
                              cpl_source** out) {
  char library[PATH_MAX + 64];
  const cpl_model_def* def = NULL;
  csource* src = NULL;
  *out = NULL;
  if (access(path, R_OK) != 0) return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s", path, strerror(errno));
  cpl_status st = source_create(ctx, path, &src);
  if (st >= 0) st = compiled(ctx, path, library, sizeof library);
  if (st >= 0) st = load(src, library, &def);
  if (st >= 0) st = describe(src, def, host);
  return finish(src, st, out);
}

cpl_status cpl_c_open(cpl_context* ctx, const char* path, cpl_source** out) {
  return open_hosted(ctx, path, (cpli_cmodel_host){0}, out);
}

cpl_status cpli_c_open_apart(cpl_context* ctx, const char* path, double call_timeout,
                             cpl_source** out) {
  return open_hosted(
      ctx, path, (cpli_cmodel_host){.apart = cpli_probe_apart, .call_timeout = call_timeout}, out);
}

cpl_status cpl_c_define(cpl_context* ctx, const cpl_model_def* def, cpl_source** out) {
  csource* src = NULL;
  *out = NULL;
  cpl_status st = source_create(ctx, def->name != NULL ? def->name : "", &src);
  if (st >= 0) st = describe(src, def, (cpli_cmodel_host){0});
  return finish(src, st, out);
}
