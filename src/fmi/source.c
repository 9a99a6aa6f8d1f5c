// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU as a source: the operations that its kinds and its version of FMI allow, the folder of its
// files, and its end. Wherever it comes from, an archive (open.c) or an image (image.c), it is
// completed here.
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "fmi/fmu.h"
#include "fmi/open.h"
#include "format/source_loc.h"

//------------------------------------ platform ------------------------------------

const char* cpli_fmu_platform(void) {
#if defined(__APPLE__)
  return "darwin64";
#elif defined(__x86_64__)
  return "linux64";
#elif defined(__i386__)
  return "linux32";
#elif defined(__aarch64__)
  return "aarch64-linux";
#else
  return "unknown";
#endif
}

const char* cpli_fmu_platform_tuple(void) {
#if defined(__APPLE__) && defined(__aarch64__)
  return "aarch64-darwin";
#elif defined(__APPLE__)
  return "x86_64-darwin";
#elif defined(__x86_64__)
  return "x86_64-linux";
#elif defined(__i386__)
  return "x86-linux";
#elif defined(__aarch64__)
  return "aarch64-linux";
#else
  return "unknown";
#endif
}

const char* cpli_fmu_library_suffix(void) {
#if defined(__APPLE__)
  return ".dylib";
#else
  return ".so";
#endif
}

bool cpli_fmu_has_binary(const cpl_fmu* fmu, const char* identifier) {
  size_t len = strlen(identifier);
  for (int32_t i = 0; i < fmu->n_binaries; i++) {
    const char* file = fmu->binaries[i];
    if (strncmp(file, identifier, len) == 0 && strcmp(file + len, cpli_fmu_library_suffix()) == 0)
      return true;
  }
  return false;
}

bool cpl_fmu_is_foreign(const cpl_source* src) {
  const cpl_fmu* fmu = (const cpl_fmu*)src;
  const cpli_fmu_kind* kinds[] = {&fmu->me, &fmu->cs, &fmu->se};
  bool needs = fmu->foreign_forced;
  for (size_t i = 0; i < CPLI_COUNT(kinds) && !fmu->has_sources; i++)
    needs = needs || (kinds[i]->present && !cpli_fmu_has_binary(fmu, kinds[i]->identifier));
  return fmu->foreign != NULL && needs;
}

const char* cpli_interval_name(cpli_interval interval) {
  static const char* const names[] = {"constant", "fixed",     "calculated", "tunable",
                                      "changing", "countdown", "triggered"};
  return names[interval];
}

//------------------------------------ life ------------------------------------

cpl_fmu* cpli_fmu_create(cpl_context* ctx, const char* path, size_t size) {
  assert(size >= sizeof(cpl_fmu));
  cpl_fmu* fmu = cpli_alloc(ctx, 1, size);
  if (fmu == NULL) return NULL;
  cpli_arena_init(&fmu->arena, ctx);
  cpli_findings_init(&fmu->findings, ctx);
  fmu->base.ctx = ctx;
  fmu->base.desc = &fmu->desc;
  fmu->base.path = cpli_arena_strdup(&fmu->arena, path);
  if (fmu->base.path != NULL) return fmu;
  cpli_fmu_destroy(&fmu->base);
  return NULL;
}

void cpli_fmu_destroy(cpl_source* src) {
  if (src == NULL) return;
  cpl_fmu* fmu = (cpl_fmu*)src;
  cpl_context* ctx = fmu->arena.ctx;
  if (fmu->call_log != NULL && !fmu->shares_log) fclose(fmu->call_log);
  if (fmu->folder != NULL && !fmu->is_folder) fmu->loader->remove(fmu);
  assert(fmu->live_instances == 0);  // after the folder is gone: it must not stay for a mistake
  cpli_free(ctx, fmu->folder);
  cpli_findings_free(&fmu->findings);
  cpli_names_free(&fmu->names);
  cpli_arena_free(&fmu->arena);
  cpli_free(ctx, fmu);
}

cpl_status cpli_fmu_extract(cpl_fmu* fmu) {
  if (fmu->folder != NULL) return CPL_OK;
  if (!fmu->is_folder) return fmu->loader->unpack(fmu);
  char path[PATH_MAX];
  if (realpath(fmu->base.path, path) == NULL)
    return cpli_fail_file(fmu->base.ctx, CPL_ERR_IO, fmu->base.path, "%s", strerror(errno));
  fmu->folder = cpli_strdup(fmu->base.ctx, path);
  return fmu->folder != NULL ? CPL_OK : cpli_nomem(fmu->base.ctx);
}

//------------------------------------ operations ------------------------------------

static cpl_status fmu_prepare(cpl_source* src, int* keep) {
  cpl_fmu* fmu = (cpl_fmu*)src;
  *keep = fmu->call_log != NULL ? fileno(fmu->call_log) : -1;
  return cpli_fmu_extract(fmu);
}

// The adapters of each version; NULL: there is none yet.
typedef struct adapter {
  const char* kind;
  cpl_status (*make_model)(cpl_source* src, const char* name, cpl_model** out);
  cpl_status (*make_stepper)(cpl_source* src, const char* name, cpl_stepper** out);
} adapter;

static const adapter adapters[] = {
    [1] = {"FMI 1.0", cpli_fmi1_make_model, cpli_fmi1_make_stepper},
    [2] = {"FMI 2.0", cpli_fmi2_make_model, cpli_fmi2_make_stepper},
    [3] = {"FMI 3.0", cpli_fmi3_make_model, cpli_fmi3_make_stepper},
};

// Fails with the reason why an FMU that can be described cannot be run.
static cpl_status refuse(cpl_source* src) {
  const cpl_fmu* fmu = (const cpl_fmu*)src;
  if (fmu->cs.tool_coupling) {
    return cpli_fail_file(
        src->ctx, CPL_ERR_UNSUPPORTED, src->path,
        "co-simulation of this FMU needs its tool (CoSimulation_Tool), which must "
        "be started by a coupling of its own: export it as stand-alone");
  }
  return cpli_fail_file(src->ctx, CPL_ERR_UNSUPPORTED, src->path, "FMUs of %s cannot be run yet",
                        adapters[fmu->version].kind);
}

static cpl_status refuse_model(cpl_source* src, const char* name, cpl_model** out) {
  (void)name;
  *out = NULL;
  return refuse(src);
}

static cpl_status refuse_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  (void)name;
  *out = NULL;
  return refuse(src);
}

// The capabilities of an FMU determine its operations.
static const cpl_source_ops* ops_of(cpl_fmu* fmu) {
  const adapter* a = &adapters[fmu->version];
  cpl_source_ops* ops = cpli_arena_alloc(&fmu->arena, 1, sizeof *ops);
  if (ops == NULL) return NULL;
  *ops = (cpl_source_ops){.size = sizeof(cpl_source_ops),
                          .kind = a->kind,
                          .destroy = cpli_fmu_destroy,
                          .prepare = fmu_prepare};
  if (fmu->me.present) ops->make_model = a->make_model;
  if (fmu->cs.present && !fmu->cs.tool_coupling) ops->make_stepper = a->make_stepper;
  if (!fmu->me.present && !fmu->cs.present) ops->make_stepper = cpli_fmi3_make_scheduled;
  if (ops->make_model == NULL && ops->make_stepper == NULL) {
    if (!fmu->cs.present) ops->make_model = refuse_model;
    if (!fmu->me.present) ops->make_stepper = refuse_stepper;
  }
  return ops;
}

cpl_status cpli_fmu_complete(cpl_fmu* fmu) {
  fmu->base.ops = ops_of(fmu);
  if (fmu->base.ops == NULL) return cpli_nomem(fmu->base.ctx);
  fmu->base.once_per_process =
      fmu->me.can.once_per_process || fmu->cs.can.once_per_process || fmu->se.can.once_per_process;
  return CPL_OK;
}

const char* cpli_source_steps(const cpl_source* src) {
  return src->ops->make_stepper == cpli_fmi3_make_scheduled ? "scheduled execution"
                                                            : "co-simulation";
}
