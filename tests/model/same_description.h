// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compares all members of two descriptions.
#pragma once

#include "couplet/interface.h"
#include "testing.h"

static inline void same_text(const char* a, const char* b) {
  CHECK((a == NULL) == (b == NULL));
  if (a != NULL) CHECK_STR(b, a);
}

static inline void same_double(double a, double b) { CHECK(memcmp(&a, &b, sizeof a) == 0); }

static inline void same_indices(const int32_t* a, const int32_t* b, int32_t n) {
  for (int32_t i = 0; i < n; i++) CHECK_INT(b[i], a[i]);
}

static inline void same_variable(const cpl_variable* a, const cpl_variable* b) {
  CHECK_STR(b->name, a->name);
  CHECK_STR(b->description, a->description);
  CHECK_INT(b->ref, a->ref);
  CHECK(a->type == b->type && a->causality == b->causality && a->variability == b->variability);
  CHECK(a->initial == b->initial && a->width == b->width && a->structural == b->structural);
  CHECK(a->has_start == b->has_start && a->has_nominal == b->has_nominal);
  CHECK(a->can_set_several_times == b->can_set_several_times);
  CHECK(a->inner_output == b->inner_output && a->reinit == b->reinit);
  CHECK(a->relative_quantity == b->relative_quantity && a->unbounded == b->unbounded);
  CHECK(a->mode_dependent == b->mode_dependent);
  CHECK(a->unit == b->unit && a->display_unit == b->display_unit);
  CHECK(a->declared_type == b->declared_type && a->derivative_of == b->derivative_of);
  CHECK(a->alias_of == b->alias_of && a->array == b->array && a->line == b->line);
  same_double(a->start, b->start);
  same_double(a->min, b->min);
  same_double(a->max, b->max);
  same_double(a->nominal, b->nominal);
  same_text(a->start_text, b->start_text);
  same_text(a->quantity, b->quantity);
}

static inline void same_rows(const cpl_structure* s, const cpl_unknown* a, int32_t n,
                             const cpl_structure* t, const cpl_unknown* b, int32_t m) {
  CHECK_INT(m, n);
  for (int32_t i = 0; i < n; i++) {
    CHECK(a[i].var == b[i].var && a[i].first == b[i].first && a[i].count == b[i].count);
    if (a[i].count <= 0) continue;
    same_indices(s->deps + a[i].first, t->deps + b[i].first, a[i].count);
    CHECK((s->kinds == NULL) == (t->kinds == NULL));
    if (s->kinds != NULL)
      CHECK(memcmp(s->kinds + a[i].first, t->kinds + b[i].first, (size_t)a[i].count) == 0);
  }
}

static inline void same_structure(const cpl_structure* s, const cpl_structure* t) {
  CHECK((s == NULL) == (t == NULL));
  if (s == NULL) return;
  CHECK(s->origin == t->origin);
  same_rows(s, s->outputs, s->n_outputs, t, t->outputs, t->n_outputs);
  same_rows(s, s->derivatives, s->n_derivatives, t, t->derivatives, t->n_derivatives);
  same_rows(s, s->initial, s->n_initial, t, t->initial, t->n_initial);
}

static inline void same_units_and_types(const cpl_description* a, const cpl_description* b) {
  CHECK(a->n_units == b->n_units && a->n_types == b->n_types);
  for (int32_t i = 0; i < a->n_units; i++) {
    const cpl_unit *u = &a->units[i], *v = &b->units[i];
    CHECK_STR(v->name, u->name);
    CHECK(u->has_base == v->has_base && u->inverse == v->inverse && u->display_of == v->display_of);
    CHECK(memcmp(u->exponents, v->exponents, sizeof u->exponents) == 0);
    same_double(u->factor, v->factor);
    same_double(u->offset, v->offset);
  }
  for (int32_t i = 0; i < a->n_types; i++) {
    const cpl_type_def *s = &a->types[i], *t = &b->types[i];
    CHECK_STR(t->name, s->name);
    CHECK_STR(t->quantity, s->quantity);
    CHECK(s->type == t->type && s->n_items == t->n_items);
    for (int32_t k = 0; k < s->n_items; k++) {
      CHECK_STR(t->items[k].name, s->items[k].name);
      CHECK_STR(t->items[k].description, s->items[k].description);
      CHECK(s->items[k].value == t->items[k].value);
    }
  }
}

static inline void same_description(const cpl_description* a, const cpl_description* b) {
  CHECK_STR(b->name, a->name);
  CHECK_STR(b->kind, a->kind);
  CHECK_STR(b->description, a->description);
  CHECK_STR(b->author, a->author);
  CHECK_STR(b->version, a->version);
  CHECK_STR(b->copyright, a->copyright);
  CHECK_STR(b->license, a->license);
  CHECK_STR(b->tool, a->tool);
  CHECK_STR(b->date, a->date);
  const cpl_default_experiment *e = &a->experiment, *f = &b->experiment;
  CHECK(e->has_start == f->has_start && e->has_stop == f->has_stop);
  CHECK(e->has_tolerance == f->has_tolerance && e->has_step == f->has_step);
  same_double(e->start, f->start);
  same_double(e->stop, f->stop);
  same_double(e->tolerance, f->tolerance);
  same_double(e->step, f->step);
  CHECK_INT(b->n_vars, a->n_vars);
  for (int32_t i = 0; i < a->n_vars; i++) {
    same_variable(&a->vars[i], &b->vars[i]);
    CHECK_INT(cpl_find_variable(b, a->vars[i].name), cpl_find_variable(a, a->vars[i].name));
  }
  CHECK_INT(b->n_arrays, a->n_arrays);
  for (int32_t i = 0; i < a->n_arrays; i++) {
    const cpl_array *p = &a->arrays[i], *q = &b->arrays[i];
    CHECK_STR(q->name, p->name);
    CHECK(p->first == q->first && p->count == q->count && p->n_sizes == q->n_sizes);
    same_indices(p->sizes, q->sizes, p->n_sizes);
  }
  CHECK(a->n_states == b->n_states && a->n_indicators == b->n_indicators);
  CHECK(a->n_constraints == b->n_constraints && a->n_algebraics == b->n_algebraics);
  same_indices(a->states, b->states, a->n_states);
  same_indices(a->derivatives, b->derivatives, a->n_states);
  same_indices(a->algebraics, b->algebraics, a->n_algebraics);
  same_indices(a->residuals, b->residuals, a->n_algebraics);
  same_structure(a->residual_structure, b->residual_structure);
  CHECK_INT(b->n_formulations, a->n_formulations);
  for (int32_t i = 0; i < a->n_formulations; i++) {
    CHECK(a->formulations[i].residual == b->formulations[i].residual);
    CHECK(a->formulations[i].index == b->formulations[i].index);
  }
  if (a->formulation_vars != NULL)
    same_indices(a->formulation_vars, b->formulation_vars, a->n_formulations);
  same_text(a->form_error, b->form_error);
  same_structure(&a->structure, &b->structure);
  same_units_and_types(a, b);
}
