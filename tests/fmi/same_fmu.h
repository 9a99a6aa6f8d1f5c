// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compares all members of two opened FMUs that an image has.
#pragma once

#include "fmi/fmu.h"
#include "model/same_description.h"

static inline void same_capabilities(const cpl_capabilities* a, const cpl_capabilities* b) {
  CHECK(a->directional == b->directional && a->save_restore == b->save_restore);
  CHECK(a->serialize == b->serialize && a->once_per_process == b->once_per_process);
  CHECK(a->needs_tool == b->needs_tool && a->completed_step == b->completed_step);
  CHECK(a->variable_step == b->variable_step && a->zero_step == b->zero_step);
  CHECK(a->stops_early == b->stops_early && a->predicts == b->predicts);
  CHECK(a->get_after_set == b->get_after_set && a->dense_output == b->dense_output);
  CHECK(a->samples == b->samples && a->input_derivatives == b->input_derivatives);
  CHECK(a->output_derivatives == b->output_derivatives);
}

static inline void same_kind(const cpli_fmu_kind* a, const cpli_fmu_kind* b) {
  same_text(a->identifier, b->identifier);
  same_capabilities(&a->can, &b->can);
  CHECK(a->present == b->present && a->no_memory_functions == b->no_memory_functions);
  CHECK(a->asynchronous == b->asynchronous && a->line == b->line);
  CHECK(a->max_constraints == b->max_constraints && a->projection == b->projection);
  CHECK(a->projection_step == b->projection_step && a->constraints == b->constraints);
  CHECK(a->tool_coupling == b->tool_coupling && a->adjoint == b->adjoint);
  CHECK(a->per_element == b->per_element && a->evaluate_discrete == b->evaluate_discrete);
  CHECK(a->event_mode == b->event_mode && a->early_return == b->early_return);
  CHECK(a->early_return_on_request == b->early_return_on_request);
  CHECK(a->intermediate_update == b->intermediate_update);
  CHECK(a->input_smoothness == b->input_smoothness);
  same_double(a->fixed_step, b->fixed_step);
}

static inline void same_clocks(const cpl_fmu* a, const cpl_fmu* b) {
  CHECK(a->n_clocks == b->n_clocks && a->n_clocked == b->n_clocked && a->n_extras == b->n_extras);
  for (int32_t i = 0; i < a->n_clocks; i++) {
    const cpli_clock *c = &a->clocks[i], *d = &b->clocks[i];
    CHECK(c->var == d->var && c->ref == d->ref && c->interval == d->interval);
    CHECK(c->can_be_deactivated == d->can_be_deactivated);
    CHECK(c->supports_fraction == d->supports_fraction && c->has_interval == d->has_interval);
    same_double(c->interval_decimal, d->interval_decimal);
    same_double(c->shift_decimal, d->shift_decimal);
    CHECK(c->has_counter == d->has_counter && c->resolution == d->resolution);
    CHECK(c->interval_counter == d->interval_counter && c->shift_counter == d->shift_counter);
    CHECK(c->has_priority == d->has_priority && c->priority == d->priority);
  }
  for (int32_t i = 0; i < a->n_clocked; i++)
    CHECK(a->clocked[i].var == b->clocked[i].var && a->clocked[i].clock == b->clocked[i].clock);
  for (int32_t i = 0; i < a->n_extras; i++) {
    const cpli_extra *e = &a->extras[i], *f = &b->extras[i];
    CHECK(e->var == f->var && e->previous == f->previous && e->max_size == f->max_size);
    CHECK(e->intermediate_update == f->intermediate_update);
    same_text(e->mime_type, f->mime_type);
  }
}

static inline void same_fmu(const cpl_fmu* a, const cpl_fmu* b) {
  same_description(&a->desc, &b->desc);
  CHECK_INT(b->version, a->version);
  CHECK_STR(b->version_text, a->version_text);
  CHECK_STR(b->guid, a->guid);
  same_kind(&a->me, &b->me);
  same_kind(&a->cs, &b->cs);
  same_kind(&a->se, &b->se);
  CHECK((a->slots == NULL) == (b->slots == NULL) && a->n_slots == b->n_slots);
  for (uint32_t i = 0; i < a->n_slots; i++) {
    const cpli_slot *s = &a->slots[i], *t = &b->slots[i];
    CHECK(s->value_ref == t->value_ref && s->element == t->element && s->count == t->count);
    CHECK(s->width == t->width && s->negated == t->negated);
  }
  same_clocks(a, b);
  CHECK(a->n_starts == b->n_starts);
  for (size_t i = 0; i < a->n_starts; i++) {
    CHECK_STR(b->starts[i].name, a->starts[i].name);
    CHECK_STR(b->starts[i].value, a->starts[i].value);
  }
  CHECK(a->dae.present == b->dae.present && a->dae.enable == b->dae.enable);
  CHECK(a->dae.n_residuals == b->dae.n_residuals);
  if (a->dae.present) same_indices(a->dae.nominals, b->dae.nominals, a->desc.n_algebraics);
  CHECK_INT(b->n_log_categories, a->n_log_categories);
  for (int32_t i = 0; i < a->n_log_categories; i++) {
    CHECK_STR(b->log_categories[i], a->log_categories[i]);
    CHECK_STR(b->log_descriptions[i], a->log_descriptions[i]);
  }
  CHECK_STR(b->platform, a->platform);
  CHECK(a->n_platforms == b->n_platforms && a->n_binaries == b->n_binaries);
  for (int32_t i = 0; i < a->n_platforms; i++) CHECK_STR(b->platforms[i], a->platforms[i]);
  for (int32_t i = 0; i < a->n_binaries; i++) CHECK_STR(b->binaries[i], a->binaries[i]);
  CHECK(a->has_sources == b->has_sources && a->logging == b->logging);
}
