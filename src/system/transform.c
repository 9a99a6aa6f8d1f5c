// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One step after the other: conversion to the unit of the connector, then factor and offset.
#include "system/transform.h"

const cpli_transform* cpli_def_scaling(cpl_system_def* def, double factor, double offset,
                                       bool keep_units) {
  if (factor == 1 && offset == 0) return NULL;
  cpli_transform_step* step = cpli_def_array(def, 1, sizeof *step);
  cpli_transform* t = cpli_def_array(def, 1, sizeof *t);
  if (step == NULL || t == NULL) return NULL;
  *step = (cpli_transform_step){.keep_units = keep_units, .factor = factor, .offset = offset};
  *t = (cpli_transform){.steps = step, .n_steps = 1};
  return t;
}

bool cpli_transform_scales(const cpli_transform* t) {
  for (size_t i = 0; t != NULL && i < t->n_steps; i++) {
    if (t->steps[i].factor != 1 || t->steps[i].offset != 0) return true;
  }
  return false;
}

// Units of two files may have one name and two meanings: what the files define counts.
static cpli_unit_relation relate(const cpl_unit* from, const cpl_unit* to, bool difference,
                                 cpli_conversion* how) {
  cpl_unit renamed = *from;
  const bool comparable = from->has_base && to->has_base &&
                          memcmp(from->exponents, to->exponents, sizeof from->exponents) == 0;
  if (comparable) renamed.name = "";
  return cpli_unit_conversion(&renamed, to, difference, how);
}

// The conversion of a step; *unit is that of the value, and changes. False: there is none.
static bool convert(const cpli_transform* t, size_t i, const cpl_unit* end, bool difference,
                    const cpl_unit** unit, cpli_conversion* how, cpli_unit_clash* clash) {
  const cpli_transform_step* s = &t->steps[i];
  const cpl_unit* from = *unit;
  const cpl_unit* to = s->unit == NULL && i + 1 == t->n_steps ? end : s->unit;
  if (s->keep_units || to != NULL) *unit = to;
  if (s->keep_units || from == NULL || to == NULL) return false;
  const cpli_unit_relation found = relate(from, to, difference, how);
  if (found > CPLI_UNITS_CONVERT && clash->relation != CPLI_UNITS_DIFFER)
    *clash = (cpli_unit_clash){found, from->name, to->name};
  return found == CPLI_UNITS_CONVERT;
}

void cpli_transform_compose(const cpli_transform* t, const cpl_unit* from, const cpl_unit* to,
                            bool difference, double* factor, double* offset,
                            cpli_unit_clash* clash) {
  const cpl_unit* unit = t->unit != NULL ? t->unit : from;
  *factor = 1;
  *offset = 0;
  *clash = (cpli_unit_clash){0};
  for (size_t i = 0; i < t->n_steps; i++) {
    cpli_conversion c;
    if (convert(t, i, to, difference, &unit, &c, clash)) {
      *factor *= c.factor == c.to_factor ? 1 : c.factor / c.to_factor;
      *offset = (c.factor * *offset + c.offset - c.to_offset) / c.to_factor;
    }
    *factor *= t->steps[i].factor;
    *offset = t->steps[i].factor * *offset + t->steps[i].offset;
  }
}

double cpli_transform_value(const cpli_transform* t, const cpl_unit* from, const cpl_unit* to,
                            bool difference, double value, cpli_unit_clash* clash) {
  const cpl_unit* unit = t->unit != NULL ? t->unit : from;
  *clash = (cpli_unit_clash){0};
  for (size_t i = 0; i < t->n_steps; i++) {
    cpli_conversion c;
    if (convert(t, i, to, difference, &unit, &c, clash)) value = cpli_convert(&c, value);
    value = t->steps[i].factor * value + t->steps[i].offset;
  }
  return value;
}
