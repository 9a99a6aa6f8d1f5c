// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables of an opened FMU, and the check of the indices in an image, with which the adapters
// index without further tests.
#include "fmi/image.h"

#include "fmi/fmu.h"
#include "model/image.h"

//------------------------------------ tables ------------------------------------

// Not stored, since they are only for compiling: source_files, definitions, include_dirs.
static const cpli_image_field kind_fields[] = {
    CPLI_BOOL(cpli_fmu_kind, present),
    CPLI_TEXT(cpli_fmu_kind, identifier),
    CPLI_STRUCT(cpli_fmu_kind, can, &cpli_capabilities_image),
    CPLI_BOOL(cpli_fmu_kind, no_memory_functions),
    CPLI_BOOL(cpli_fmu_kind, asynchronous),
    CPLI_NUMBER(cpli_fmu_kind, line),
    CPLI_NUMBER(cpli_fmu_kind, max_constraints),
    CPLI_BOOL(cpli_fmu_kind, projection),
    CPLI_BOOL(cpli_fmu_kind, projection_step),
    CPLI_ENUM(cpli_fmu_kind, constraints, CPLI_WITH_JACOBIAN),
    CPLI_BOOL(cpli_fmu_kind, tool_coupling),
    CPLI_BOOL(cpli_fmu_kind, adjoint),
    CPLI_BOOL(cpli_fmu_kind, per_element),
    CPLI_BOOL(cpli_fmu_kind, evaluate_discrete),
    CPLI_BOOL(cpli_fmu_kind, event_mode),
    CPLI_BOOL(cpli_fmu_kind, early_return),
    CPLI_BOOL(cpli_fmu_kind, early_return_on_request),
    CPLI_BOOL(cpli_fmu_kind, intermediate_update),
    CPLI_NUMBER(cpli_fmu_kind, fixed_step),
    CPLI_NUMBER(cpli_fmu_kind, input_smoothness),
};
static CPLI_IMAGE_TYPE(kind_image, cpli_fmu_kind, 128, kind_fields);

static const cpli_image_field slot_fields[] = {
    CPLI_NUMBER(cpli_slot, value_ref), CPLI_NUMBER(cpli_slot, element),
    CPLI_NUMBER(cpli_slot, count),     CPLI_ENUM(cpli_slot, width, CPL_WIDTH_UINT64),
    CPLI_BOOL(cpli_slot, negated),
};
static CPLI_IMAGE_TYPE(slot_image, cpli_slot, 16, slot_fields);

static const cpli_image_field clock_fields[] = {
    CPLI_NUMBER(cpli_clock, var),
    CPLI_NUMBER(cpli_clock, ref),
    CPLI_ENUM(cpli_clock, interval, CPLI_INTERVAL_TRIGGERED),
    CPLI_BOOL(cpli_clock, can_be_deactivated),
    CPLI_BOOL(cpli_clock, supports_fraction),
    CPLI_BOOL(cpli_clock, has_interval),
    CPLI_NUMBER(cpli_clock, interval_decimal),
    CPLI_NUMBER(cpli_clock, shift_decimal),
    CPLI_BOOL(cpli_clock, has_counter),
    CPLI_NUMBER(cpli_clock, resolution),
    CPLI_NUMBER(cpli_clock, interval_counter),
    CPLI_NUMBER(cpli_clock, shift_counter),
    CPLI_BOOL(cpli_clock, has_priority),
    CPLI_NUMBER(cpli_clock, priority),
};
static CPLI_IMAGE_TYPE(clock_image, cpli_clock, 72, clock_fields);

static const cpli_image_field clocked_fields[] = {
    CPLI_NUMBER(cpli_clocked, var),
    CPLI_NUMBER(cpli_clocked, clock),
};
static CPLI_IMAGE_TYPE(clocked_image, cpli_clocked, 8, clocked_fields);

static const cpli_image_field extra_fields[] = {
    CPLI_NUMBER(cpli_extra, var),
    CPLI_NUMBER(cpli_extra, previous),
    CPLI_BOOL(cpli_extra, intermediate_update),
    CPLI_TEXT(cpli_extra, mime_type),
    CPLI_NUMBER(cpli_extra, max_size),
};
static CPLI_IMAGE_TYPE(extra_image, cpli_extra, 32, extra_fields);

static size_t count_algebraics(const void* fmu) {
  return (size_t)((const cpl_fmu*)fmu)->desc.n_algebraics;
}

// Not stored: what open_image() sets (base, arena, names, is_folder, loader and the rest from
// `call_log` on), what is there only while a description is read (given), and what only info and
// check show (findings, terminals, terminal_members, layers, builds, has_icon, companions, files),
// and binaries for other platforms (foreign...), which FMUs of systems do not have.
static const cpli_image_field fmu_fields[] = {
    CPLI_STRUCT(cpl_fmu, desc, &cpli_description_image),
    CPLI_NUMBER(cpl_fmu, version),
    CPLI_NAME(cpl_fmu, version_text),
    CPLI_NAME(cpl_fmu, guid),
    CPLI_STRUCT(cpl_fmu, me, &kind_image),
    CPLI_STRUCT(cpl_fmu, cs, &kind_image),
    CPLI_STRUCT(cpl_fmu, se, &kind_image),
    CPLI_NUMBER(cpl_fmu, n_slots),
    CPLI_STRUCT_LIST(cpl_fmu, slots, n_slots, &slot_image),
    CPLI_NUMBER(cpl_fmu, n_clocks),
    CPLI_STRUCT_LIST(cpl_fmu, clocks, n_clocks, &clock_image),
    CPLI_NUMBER(cpl_fmu, n_clocked),
    CPLI_STRUCT_LIST(cpl_fmu, clocked, n_clocked, &clocked_image),
    CPLI_NUMBER(cpl_fmu, n_extras),
    CPLI_STRUCT_LIST(cpl_fmu, extras, n_extras, &extra_image),
    CPLI_SIZE(cpl_fmu, n_starts),
    CPLI_STRUCT_LIST(cpl_fmu, starts, n_starts, &cpli_start_image),
    CPLI_BOOL(cpl_fmu, dae.present),
    CPLI_NUMBER(cpl_fmu, dae.enable),
    CPLI_COMPUTED_LIST(cpl_fmu, dae.nominals, count_algebraics, false),
    CPLI_NUMBER(cpl_fmu, dae.n_residuals),
    CPLI_NUMBER(cpl_fmu, n_log_categories),
    CPLI_TEXT_LIST(cpl_fmu, log_categories, n_log_categories),
    CPLI_TEXT_LIST(cpl_fmu, log_descriptions, n_log_categories),
    CPLI_NUMBER(cpl_fmu, n_platforms),
    CPLI_TEXT_LIST(cpl_fmu, platforms, n_platforms),
    CPLI_NAME(cpl_fmu, platform),
    CPLI_NUMBER(cpl_fmu, n_binaries),
    CPLI_TEXT_LIST(cpl_fmu, binaries, n_binaries),
    CPLI_BOOL(cpl_fmu, has_sources),
    CPLI_BOOL(cpl_fmu, logging),
};
static CPLI_IMAGE_TYPE(fmu_image, cpl_fmu, 1280, fmu_fields);

cpl_status cpli_fmu_write_image(cpl_context* ctx, const cpl_fmu* fmu, cpli_image* out) {
  return cpli_image_write(ctx, &fmu_image, fmu, out);
}

//------------------------------------ checks ------------------------------------

static bool is_variable(const cpl_fmu* fmu, int32_t i) { return i >= 0 && i < fmu->desc.n_vars; }

static bool fits_kind(const cpli_fmu_kind* k) {
  return (!k->present || k->identifier != NULL) && k->max_constraints >= 0;
}

static bool fit_slots(const cpl_fmu* fmu) {
  if (fmu->slots == NULL) return fmu->version != 3 || fmu->desc.n_vars == 0;
  for (uint32_t i = 0; i < fmu->n_slots; i++) {
    const cpli_slot* s = &fmu->slots[i];
    if (s->element < 0 || s->element >= s->count) return false;
  }
  for (int32_t i = 0; i < fmu->desc.n_vars; i++) {
    if (fmu->desc.vars[i].ref >= fmu->n_slots) return false;
  }
  return true;
}

static bool fit_clocks(const cpl_fmu* fmu) {
  for (int32_t i = 0; i < fmu->n_clocks; i++) {
    const cpli_clock* c = &fmu->clocks[i];
    if (!is_variable(fmu, c->var) || (fmu->slots != NULL && c->ref >= fmu->n_slots)) return false;
  }
  for (int32_t i = 0; i < fmu->n_clocked; i++) {
    const cpli_clocked* c = &fmu->clocked[i];
    if (!is_variable(fmu, c->var) || c->clock < 0 || c->clock >= fmu->n_clocks) return false;
  }
  for (int32_t i = 0; i < fmu->n_extras; i++) {
    const cpli_extra* e = &fmu->extras[i];
    if (!is_variable(fmu, e->var) || (e->previous != -1 && !is_variable(fmu, e->previous)))
      return false;
  }
  return true;
}

static bool fits_dae(const cpl_fmu* fmu) {
  const cpli_fmu_dae* d = &fmu->dae;
  if (!d->present) return true;
  if (d->n_residuals < 0 || (d->enable != -1 && !is_variable(fmu, d->enable))) return false;
  if (d->nominals == NULL) return fmu->desc.n_algebraics == 0;
  for (int32_t i = 0; i < fmu->desc.n_algebraics; i++) {
    if (d->nominals[i] != -1 && !is_variable(fmu, d->nominals[i])) return false;
  }
  return true;
}

static cpl_status check(const cpl_fmu* fmu) {
  const char* fault = fmu->version < 1 || fmu->version > 3 ? "the version"
                      : !fits_kind(&fmu->me) || !fits_kind(&fmu->cs) || !fits_kind(&fmu->se)
                          ? "a kind"
                      : !fit_slots(fmu)  ? "a reference"
                      : !fit_clocks(fmu) ? "a clock"
                      : !fits_dae(fmu)   ? "a residual"
                                         : NULL;
  return fault == NULL ? CPL_OK
                       : cpl_fail(fmu->base.ctx, CPL_ERR_INPUT,
                                  "the stored description of %s is damaged: %s is impossible",
                                  fmu->base.path, fault);
}

//------------------------------------ reading ------------------------------------

cpl_status cpli_fmu_open_image(cpl_context* ctx, const char* folder, const unsigned char* bytes,
                               size_t size, cpl_source** out) {
  *out = NULL;
  cpl_fmu* fmu = cpli_fmu_create(ctx, folder, sizeof *fmu);
  if (fmu == NULL) return cpli_nomem(ctx);
  fmu->is_folder = true;
  fmu->log_prefix = "";
  cpl_status st = cpli_image_read(ctx, &fmu->arena, &fmu_image, bytes, size, fmu);
  if (st >= 0) st = cpli_description_complete(ctx, &fmu->desc, &fmu->names);
  if (st >= 0) st = check(fmu);
  if (st >= 0) st = cpli_fmu_complete(fmu);
  if (st >= 0) *out = &fmu->base;
  else cpli_fmu_destroy(&fmu->base);
  return st;
}

const cpli_image_type* cpli_fmu_image_type(void) { return &fmu_image; }
