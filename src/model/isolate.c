// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models and steppers in processes of their own: a proxy here, the real one in a forked child. Both
// use the same memory, at the same address.
#include "couplet/isolate.h"

#include <stdlib.h>

#include "base/base.h"
#include "base/fiber.h"
#include "format/folder.h"
#include "format/source_loc.h"
#include "model/adopt.h"
#include "model/proxy.h"

typedef struct isolated {
  cpl_source base;
  cpl_source* inner;
  cpl_isolate_def def;
  cpl_source_ops ops;
  char* folder;  // for temporary files of the children: removed however they end
} isolated;

//------------------------------------ instances ------------------------------------

static cpl_status start(isolated* iso, cpli_proxy* p, bool is_model) {
  cpli_channel* channel = cpli_proxy_channel(p);
  int kept = -1;
  bool in_child = false;
  cpl_status st = cpli_channel_open(iso->base.ctx, cpli_proxy_memory(iso->base.desc), channel);
  if (st >= 0 && iso->inner->ops->prepare != NULL) st = iso->inner->ops->prepare(iso->inner, &kept);
  if (st >= 0) st = cpli_channel_fork(channel, kept, &in_child);
  if (in_child) {
    if (iso->folder != NULL) setenv("TMPDIR", iso->folder, 1);
    cpli_isolated_serve(channel, iso->inner);
  }
  return st < 0 ? st : cpli_proxy_start(p, &(cpli_making){.is_model = is_model});
}

static cpl_status make(cpl_source* src, const char* name, bool is_model, cpl_component** out) {
  isolated* iso = (isolated*)src;
  cpli_proxy* p = NULL;
  cpl_status st = CPL_OK;
  *out = NULL;
  cpli_bell_make();
  if (iso->folder == NULL) st = cpli_temp_folder_make(src->ctx, &iso->folder);
  if (st >= 0) st = cpli_proxy_create(src->ctx, src->desc, name, iso->def.call_timeout, &p);
  if (st >= 0) st = start(iso, p, is_model);
  if (st >= 0) *out = cpli_proxy_component(p);
  else cpli_proxy_discard(p);
  return st;
}

static cpl_status make_model(cpl_source* src, const char* name, cpl_model** out) {
  cpl_component* c;
  const cpl_status st = make(src, name, true, &c);
  *out = (cpl_model*)c;
  return st;
}

static cpl_status make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  cpl_component* c;
  const cpl_status st = make(src, name, false, &c);
  *out = (cpl_stepper*)c;
  return st;
}

//------------------------------------ the source ------------------------------------

static void destroy_source(cpl_source* src) {
  if (src == NULL) return;
  isolated* iso = (isolated*)src;
  cpl_context* ctx = src->ctx;
  iso->inner->ops->destroy(iso->inner);
  if (iso->folder != NULL && cpli_temp_folder_remove(ctx, iso->folder) < 0)
    cpl_log(ctx, CPL_LOG_WARNING, "", "%s", cpl_context_error(ctx));
  cpli_free(ctx, iso->folder);
  cpli_free(ctx, iso);
}

void cpl_init_isolate_def(cpl_isolate_def* def, size_t size) {
  const cpl_isolate_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_isolate(cpl_source* inner, const cpl_isolate_def* given, cpl_source** out) {
  cpl_context* ctx = inner->ctx;
  *out = NULL;
  cpl_isolate_def def = cpl_default_isolate_def();
  if (given != NULL) {
    cpl_status st = cpli_read_def(ctx, "cpl_isolate_def", given, &def, sizeof def);
    if (st < 0) return st;
  }
  if (!(def.call_timeout >= 0))
    return cpli_fail_file(ctx, CPL_ERR_INPUT, inner->path,
                          "the time limit of calls must not be %g s", def.call_timeout);
  cpl_status st = cpli_adopt_source(inner);
  if (st < 0) return st;
  isolated* iso = cpli_alloc(ctx, 1, sizeof *iso);
  if (iso == NULL) return cpli_nomem(ctx);
  iso->inner = inner;
  iso->def = def;
  iso->ops = (cpl_source_ops){
      .size = sizeof(cpl_source_ops), .kind = inner->ops->kind, .destroy = destroy_source};
  if (inner->ops->make_model != NULL) iso->ops.make_model = make_model;
  if (inner->ops->make_stepper != NULL) iso->ops.make_stepper = make_stepper;
  iso->base = (cpl_source){.ops = &iso->ops, .desc = inner->desc, .ctx = ctx, .path = inner->path};
  *out = &iso->base;
  return CPL_OK;
}

const cpl_source* cpli_isolated_inner(const cpl_source* source, cpl_isolate_def* def) {
  if (source->ops->destroy != destroy_source) return NULL;
  const isolated* iso = (const isolated*)source;
  *def = iso->def;
  return iso->inner;
}
