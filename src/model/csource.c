// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes sources of models in C, either of a library that was compiled before, or of a definition in
// the program.
#include "couplet/csource.h"
#include "format/source_loc.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/guard.h"
#include "base/loaded.h"
#include "model/compiled.h"
#include "model/csource.h"
#include "model/description.h"
#include "model/probe.h"
#include "model/static_data.h"

typedef struct csource {
  cpl_source base;
  cpli_cmodel* cm;
  char* path;
  void* library;  // NULL: defined in this program
  cpli_loaded before;
  const cpl_model_tangent* tangent;  // Nullable
  char shared[80];                   // a variable that all instances share
  char first[80];                    // the name of the first instance
} csource;

static void destroy(cpl_source* source) {
  if (source == NULL) return;
  csource* src = (csource*)source;
  cpl_context* ctx = source->ctx;
  cpli_cmodel_destroy(src->cm);
  if (src->library != NULL && !cpli_process_ends && !cpli_threads_remain(&src->before)) {
    cpli_forks_hold();
    dlclose(src->library);
    cpli_forks_release();
  }
  cpli_free(ctx, src->path);
  cpli_free(ctx, src);
}

// Once, where there are two instances in this process.
static void warn_shared(csource* src, const char* name) {
  if (src->shared[0] == '\0') return;
  if (src->first[0] == '\0') {
    snprintf(src->first, sizeof src->first, "%s", name);
  } else if (strncmp(src->first, name, sizeof src->first - 1) != 0) {
    cpl_log(
        src->base.ctx, CPL_LOG_WARNING, src->path,
        "the variable \"%s\" is not constant, and %s, %s and other instances of this file share "
        "it: their results are wrong if it keeps anything from one call to the next, and one "
        "thread calls them all; make it const, or a discrete variable, or a part of v->memory, "
        "or run with --isolate",
        src->shared, src->first, name);
    src->shared[0] = '\0';
  }
}

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  warn_shared((csource*)source, name);
  return cpli_cmodel_instance(((csource*)source)->cm, source->ctx, name, out);
}

static const cpl_source_ops ops = {
    .size = sizeof(cpl_source_ops), .kind = "c", .destroy = destroy, .make_model = make_model};

static cpl_status source_create(cpl_context* ctx, const char* path, csource** out) {
  csource* src = cpli_alloc(ctx, 1, sizeof *src);
  *out = src;
  if (src == NULL) return cpli_nomem(ctx);
  src->base = (cpl_source){.ops = &ops, .ctx = ctx};
  src->base.path = src->path = cpli_strdup(ctx, path);
  return src->path != NULL ? CPL_OK : cpli_nomem(ctx);
}

static cpl_status describe(csource* src, const cpl_model_def* def, cpli_cmodel_host host,
                           bool detect) {
  host.call = cpli_probe_call;
  host.verb = cpli_guard_verb;
  host.modes = cpli_probe_modes;
  host.put_back = cpli_probe_put_back;
  host.tangent = src->tangent;
  cpl_status st = cpli_cmodel_create_hosted(src->base.ctx, def, detect, &host, &src->cm);
  if (st < 0)
    return src->library != NULL ? cpli_fail_file(src->base.ctx, st, src->path, "%s",
                                                 cpl_context_error(src->base.ctx))
                                : st;
  src->base.desc = &src->cm->desc;
  cpli_check_description(src->base.desc);
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

static cpl_status check_version(cpl_context* ctx, const char* path, int version) {
  if (version == CPL_MODEL_VERSION) return CPL_OK;
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                        "it was compiled with a couplet/model.h of version %d, and this couplet "
                        "runs models of version %d: compile it with the model.h of couplet %s",
                        version, CPL_MODEL_VERSION, cpl_version());
}

static cpl_status load(csource* src, const char* library, const cpl_model_def** def) {
  opening op = {.library = library};
  cpli_loaded_note(&src->before);
  cpli_forks_hold();
  const char* crash = cpli_guard_run(open_library, &op);
  cpli_forks_release();
  src->library = op.handle;
  if (crash != NULL)
    return cpli_fail_file(src->base.ctx,
                          cpli_cancelled(src->base.ctx) ? CPL_ERR_CANCELLED : CPL_ERR_MODEL,
                          src->path, "cannot be loaded: its start-up code crashed (%s)", crash);
  if (src->library == NULL) {
    return cpli_fail_file(src->base.ctx, CPL_ERR_INPUT, src->path, "cannot be loaded: %s",
                          dlerror());
  }
  *def = dlsym(src->library, "couplet_model");
  if (*def == NULL) {
    return cpli_fail_file(src->base.ctx, CPL_ERR_INPUT, src->path,
                          "defines no `const cpl_model_def couplet_model`");
  }
  src->tangent = dlsym(src->library, "couplet_model_tangent");
  const int* version = dlsym(src->library, "couplet_model_version");
  return check_version(src->base.ctx, src->path, version != NULL ? *version : 0);
}

static cpl_status finish(csource* src, cpl_status st, cpl_source** out) {
  if (st < 0) destroy(src != NULL ? &src->base : NULL);
  else *out = &src->base;
  return st;
}

const char* cpli_c_derivatives(const cpl_source* source) {
  return source->ops == &ops ? cpli_cmodel_derivatives(((const csource*)source)->cm) : NULL;
}

const cpl_model_tangent* cpli_c_tangent(const cpl_source* source) {
  return source->ops == &ops ? ((const csource*)source)->tangent : NULL;
}

cpl_status cpli_c_open_library(cpl_context* ctx, const cpli_c_library* from, cpl_source** out) {
  const cpl_model_def* def = NULL;
  csource* src = NULL;
  *out = NULL;
  cpl_status st = source_create(ctx, from->path, &src);
  if (st >= 0) st = load(src, from->library, &def);
  cpli_cmodel_host host = from->host;
  if (st >= 0 && cpli_static_data(from->library, src->shared, sizeof src->shared)) {
    host.shares_data = true;
    if (host.in_child != NULL) src->shared[0] = '\0';  // each instance has a process of its own
  }
  if (st >= 0) st = describe(src, def, host, from->known == NULL);
  if (st >= 0 && from->known != NULL) {
    src->cm->desc.structure = from->known->structure;
    src->cm->desc.residual_structure = from->known->residual_structure;
  }
  return finish(src, st, out);
}

cpl_status cpl_c_define_version(cpl_context* ctx, const cpl_model_def* def, int version, void* user,
                                cpl_source** out) {
  csource* src = NULL;
  *out = NULL;
  cpl_status st = check_version(ctx, "cpl_c_define", version);
  if (st >= 0) st = source_create(ctx, def->name != NULL ? def->name : "", &src);
  if (st >= 0) st = describe(src, def, (cpli_cmodel_host){.user = user}, true);
  return finish(src, st, out);
}
