// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The names of types, causalities and other enumerations, and the search for a variable by its
// name.
#include "base/base.h"
#include "couplet/interface.h"

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
  return (size_t)width < CPLI_COUNT(names) ? names[width] : "unknown width";
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
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: there is no variable \"%s\"%s%s%s", desc->name, name,
                  near[0] != '\0' ? " (is it " : "", near, near[0] != '\0' ? "?)" : "");
}
