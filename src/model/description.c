// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The names of types, causalities and other enumerations, and the search for a variable by its
// name.
#include "model/description.h"

#include <assert.h>
#include <math.h>

#include "base/base.h"
#include "base/error.h"

const cpl_variable cpli_blank_variable = {.description = "",
                                          .causality = CPL_CAUSALITY_LOCAL,
                                          .unit = -1,
                                          .display_unit = -1,
                                          .declared_type = -1,
                                          .derivative_of = -1,
                                          .alias_of = -1,
                                          .min = -INFINITY,
                                          .max = INFINITY,
                                          .nominal = 1,
                                          .can_set_several_times = true};

const char* cpl_type_name(cpl_type type) {
  switch (type) {
    case CPL_REAL: return "Real";
    case CPL_INTEGER: return "Integer";
    case CPL_BOOLEAN: return "Boolean";
    case CPL_ENUMERATION: return "Enumeration";
    case CPL_STRING: return "String";
    case CPL_BINARY: return "Binary";
    case CPL_CLOCK: return "Clock";
  }
  return "unknown type";
}

const char* cpl_width_name(cpl_width width) {
  static const char* const names[] = {"",       "Float32", "Float64", "Int8",  "UInt8", "Int16",
                                      "UInt16", "Int32",   "UInt32",  "Int64", "UInt64"};
  static_assert(CPLI_COUNT(names) == CPL_WIDTH_UINT64 + 1, "each width has a name");
  return (size_t)width < CPLI_COUNT(names) ? names[width] : "unknown width";
}

const char* cpli_type_text(const cpl_variable* v) {
  static const char* const types[] = {"a Real",   "an Integer", "a Boolean", "an Enumeration",
                                      "a String", "a Binary",   "a Clock"};
  static const char* const widths[] = {"",         "a Float32", "a Float64", "an Int8",
                                       "a UInt8",  "an Int16",  "a UInt16",  "an Int32",
                                       "a UInt32", "an Int64",  "a UInt64"};
  static_assert(CPLI_COUNT(widths) == CPL_WIDTH_UINT64 + 1, "each width has a text");
  bool has_width = v->type == CPL_REAL || v->type == CPL_INTEGER;
  return has_width && v->width != CPL_WIDTH_OWN ? widths[v->width] : types[v->type];
}

const char* cpl_causality_name(cpl_causality causality) {
  switch (causality) {
    case CPL_CAUSALITY_PARAMETER: return "parameter";
    case CPL_CAUSALITY_CALCULATED_PARAMETER: return "calculatedParameter";
    case CPL_CAUSALITY_INPUT: return "input";
    case CPL_CAUSALITY_OUTPUT: return "output";
    case CPL_CAUSALITY_LOCAL: return "local";
    case CPL_CAUSALITY_INDEPENDENT: return "independent";
  }
  return "unknown causality";
}

const char* cpl_variability_name(cpl_variability variability) {
  switch (variability) {
    case CPL_VARIABILITY_CONSTANT: return "constant";
    case CPL_VARIABILITY_FIXED: return "fixed";
    case CPL_VARIABILITY_TUNABLE: return "tunable";
    case CPL_VARIABILITY_DISCRETE: return "discrete";
    case CPL_VARIABILITY_CONTINUOUS: return "continuous";
  }
  return "unknown variability";
}

const char* cpl_origin_name(cpl_origin origin) {
  switch (origin) {
    case CPL_ORIGIN_ASSUMED: return "assumed";
    case CPL_ORIGIN_DECLARED: return "declared";
    case CPL_ORIGIN_DETECTED: return "detected";
  }
  return "unknown origin";
}

//------------------------------------ invariants ------------------------------------

static bool is_index(int32_t i, int32_t n) { return i >= -1 && i < n; }

static const char* fault_of_variable(const cpl_description* d, const cpl_variable* v) {
  if (v->name == NULL || v->description == NULL || v->type > CPL_CLOCK) return "a variable";
  if (!is_index(v->unit, d->n_units) || !is_index(v->display_unit, d->n_units)) return "a unit";
  if (!is_index(v->declared_type, d->n_types)) return "a type";
  if (!is_index(v->derivative_of, d->n_vars)) return "a derivative";
  if (v->array < 0 || v->array > d->n_arrays) return "an array";
  if (!is_index(v->alias_of, d->n_vars)) return "an alias";
  if (v->alias_of < 0) return NULL;
  const cpl_variable* first = &d->vars[v->alias_of];
  return first->alias_of == -1 && first != v ? NULL : "an alias";
}

static bool fit_unknowns(const cpl_description* d, const cpl_structure* s, const cpl_unknown* list,
                         int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (!is_index(list[i].var, d->n_vars) || list[i].count < -1) return false;
    for (int32_t k = 0; k < list[i].count; k++) {
      const int32_t dep = s->deps[list[i].first + k];
      if (dep < 0 || dep >= d->n_vars) return false;
      if (s->kinds != NULL && s->kinds[list[i].first + k] > CPL_KIND_DISCRETE) return false;
    }
  }
  return true;
}

static bool fits_structure(const cpl_description* d, const cpl_structure* s) {
  return fit_unknowns(d, s, s->outputs, s->n_outputs) &&
         fit_unknowns(d, s, s->derivatives, s->n_derivatives) &&
         fit_unknowns(d, s, s->initial, s->n_initial);
}

static bool fit_indices(const int32_t* items, int32_t count, int32_t n) {
  for (int32_t i = 0; i < count; i++) {
    if (!is_index(items[i], n)) return false;
  }
  return true;
}

static bool fits_array(const cpl_description* d, const cpl_array* a) {
  return a->first >= 0 && a->count >= 0 && a->count <= d->n_vars &&
         a->first <= d->n_vars - a->count;
}

const char* cpli_description_fault(const cpl_description* d) {
  if (d->n_vars < 0 || d->n_states < 0 || d->n_indicators < 0 || d->n_constraints < 0)
    return "a number of variables";
  for (int32_t i = 0; i < d->n_vars; i++) {
    const char* fault = fault_of_variable(d, &d->vars[i]);
    if (fault != NULL) return fault;
  }
  for (int32_t i = 0; i < d->n_arrays; i++) {
    if (!fits_array(d, &d->arrays[i])) return "an array";
  }
  for (int32_t i = 0; i < d->n_units; i++) {
    if (!is_index(d->units[i].display_of, d->n_units)) return "a unit";
  }
  if (!fit_indices(d->states, d->n_states, d->n_vars) ||
      !fit_indices(d->derivatives, d->n_states, d->n_vars))
    return "a state";
  if (!fit_indices(d->algebraics, d->n_algebraics, d->n_vars) ||
      !fit_indices(d->residuals, d->n_algebraics, d->n_vars))
    return "an algebraic variable";
  if (!fits_structure(d, &d->structure)) return "a dependency";
  if (d->residual_structure != NULL && !fits_structure(d, d->residual_structure))
    return "a dependency of a residual";
  return NULL;
}

#ifndef NDEBUG
void cpli_check_description(const cpl_description* d) {
  const char* fault = cpli_description_fault(d);
  assert(fault == NULL);
  (void)fault;
}
#endif

//------------------------------------ search ------------------------------------

int32_t cpl_find_variable(const cpl_description* desc, const char* name) {
  return desc->names != NULL ? cpli_names_find(desc->names, name) : -1;
}

static const char* variable_name(const void* user, size_t i) {
  return ((const cpl_description*)user)->vars[i].name;
}

cpl_status cpl_require_variable(cpl_context* ctx, const cpl_description* desc, const char* name,
                                int32_t* out) {
  *out = cpl_find_variable(desc, name);
  if (*out >= 0) return CPL_OK;
  char near[512];
  cpli_nearest(name, variable_name, desc, (size_t)desc->n_vars, near, sizeof near);
  cpl_fail_in(ctx, CPL_ERR_INPUT, desc->name, name, NAN, "there is no variable \"%s\"%s%s%s", name,
              near[0] != '\0' ? " (is it " : "", near, near[0] != '\0' ? "?)" : "");
  return cpli_fail_unknown(ctx, CPL_ERR_INPUT, name, variable_name, desc, (size_t)desc->n_vars);
}
