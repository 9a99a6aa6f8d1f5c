// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables of a plan, and the order of what it has for a definition.
#include "export/plan.h"

static const cpli_image_field source_fields[] = {
    CPLI_NAME(cpli_plan_source, name),
    CPLI_NAME(cpli_plan_source, path),
    CPLI_ENUM(cpli_plan_source, kind, CPL_MEMBER_C),
    CPLI_BOOL(cpli_plan_source, isolated),
    CPLI_NUMBER(cpli_plan_source, call_timeout),
    CPLI_NUMBER(cpli_plan_source, image_size),
    CPLI_NUMBER_LIST(cpli_plan_source, image, image_size),
};
static CPLI_IMAGE_TYPE(source_type, cpli_plan_source, 48, source_fields);

static const cpli_image_field system_fields[] = {
    CPLI_NUMBER(cpli_plan_system, image_size),
    CPLI_NUMBER_LIST(cpli_plan_system, image, image_size),
    CPLI_NUMBER(cpli_plan_system, n_members),
    CPLI_NUMBER_LIST(cpli_plan_system, members, n_members),
    CPLI_NUMBER(cpli_plan_system, n_tables),
    CPLI_TEXT_LIST(cpli_plan_system, tables, n_tables),
};
static CPLI_IMAGE_TYPE(system_type, cpli_plan_system, 48, system_fields);

static const cpli_image_field plan_fields[] = {
    CPLI_NAME(cpli_plan, guid),
    CPLI_NUMBER(cpli_plan, depth),
    CPLI_NUMBER(cpli_plan, n_sources),
    CPLI_STRUCT_LIST(cpli_plan, sources, n_sources, &source_type),
    CPLI_NUMBER(cpli_plan, n_systems),
    CPLI_STRUCT_LIST(cpli_plan, systems, n_systems, &system_type),
};
static CPLI_IMAGE_TYPE(plan_type, cpli_plan, 48, plan_fields);

cpl_status cpli_plan_write(cpl_context* ctx, const cpli_plan* plan, cpli_image* out) {
  return cpli_image_write(ctx, &plan_type, plan, out);
}

cpl_status cpli_plan_read(cpl_context* ctx, cpli_arena* arena, const unsigned char* bytes,
                          size_t size, cpli_plan* out) {
  return cpli_image_read(ctx, arena, &plan_type, bytes, size, out);
}

void cpli_plan_walk(cpl_system_def* def, const cpli_plan_walker* w) {
  for (size_t k = 0; k < def->n_modes; k++) cpli_plan_walk(def->modes[k].def, w);
  for (size_t i = 0; i < def->n_models; i++) w->member(w->user, &def->models[i]);
  for (size_t i = 0; i < def->n_inputs && w->table != NULL; i++) {
    if (def->inputs[i].kind == CPLI_INPUT_FILE) w->table(w->user, &def->inputs[i]);
  }
}
