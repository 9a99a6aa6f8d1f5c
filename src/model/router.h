// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values by reference of components that consist of others. An access is a get or a set of values
// of any type as data, so that one function serves all eight operations of a component. A router
// has the route of each reference (a component and a reference in it), divides an access into runs
// of references of one component, and forwards each run.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

/// A get or a set of n values: double, int64_t, const char* or cpl_binary, according to the type.
typedef struct cpli_access {
  cpl_type type;
  bool set;
  int32_t component;      // the number of the component that has them, in a run of a router
  const uint32_t* outer;  // the references before routing
  const uint32_t* refs;
  size_t n;
  void* values;  // only read by a set
} cpli_access;

/// Executes an access. CPL_ERR_UNSUPPORTED: a Binary of a component that has none.
cpl_status cpli_access_values(cpl_component* c, const cpli_access* a);

typedef struct cpli_router {
  /// Reference r has the routes first[r] to first[r + 1] - 1; the first one is read, all are set.
  /// Nullable: it has the route r.
  const int32_t* first;
  const cpl_route* routes;
  uint32_t n;  // references
  /// Executes a run of an access of `whole` in one component.
  cpl_status (*forward)(cpl_component* whole, const cpli_access* run);
} cpli_router;

/// The routes of a reference, n of them.
const cpl_route* cpli_router_find(const cpli_router* r, uint32_t ref, int32_t* n);

/// Forwards an access of `whole` run by run, up to the first status other than CPL_OK.
cpl_status cpli_router_access(const cpli_router* r, cpl_component* whole, const cpli_access* a);

/// Defines the operations of a component for values by one function
/// cpl_status ACCESS(cpl_component* c, const cpli_access* a); CPLI_VALUE_OPS puts them into a
/// table.
#define CPLI_DEFINE_VALUE_OPS(ACCESS)                                                            \
  static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) { \
    return ACCESS(c, &(cpli_access){CPL_REAL, false, 0, refs, refs, n, values});                 \
  }                                                                                              \
  static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n,                   \
                             const double* values) {                                             \
    return ACCESS(c, &(cpli_access){CPL_REAL, true, 0, refs, refs, n, (void*)values});           \
  }                                                                                              \
  static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n, \
                                int64_t* values) {                                               \
    return ACCESS(c, &(cpli_access){type, false, 0, refs, refs, n, values});                     \
  }                                                                                              \
  static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n, \
                                const int64_t* values) {                                         \
    return ACCESS(c, &(cpli_access){type, true, 0, refs, refs, n, (void*)values});               \
  }                                                                                              \
  static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,                 \
                               const char** values) {                                            \
    return ACCESS(c, &(cpli_access){CPL_STRING, false, 0, refs, refs, n, values});               \
  }                                                                                              \
  static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,                 \
                               const char* const* values) {                                      \
    return ACCESS(c, &(cpli_access){CPL_STRING, true, 0, refs, refs, n, (void*)values});         \
  }                                                                                              \
  static cpl_status get_binary(cpl_component* c, const uint32_t* refs, size_t n,                 \
                               cpl_binary* values) {                                             \
    return ACCESS(c, &(cpli_access){CPL_BINARY, false, 0, refs, refs, n, values});               \
  }                                                                                              \
  static cpl_status set_binary(cpl_component* c, const uint32_t* refs, size_t n,                 \
                               const cpl_binary* values) {                                       \
    return ACCESS(c, &(cpli_access){CPL_BINARY, true, 0, refs, refs, n, (void*)values});         \
  }

#define CPLI_VALUE_OPS                                                            \
  .get_real = get_real, .set_real = set_real, .get_integer = get_integer,         \
  .set_integer = set_integer, .get_string = get_string, .set_string = set_string, \
  .get_binary = get_binary, .set_binary = set_binary
