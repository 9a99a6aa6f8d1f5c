// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Functions that forward calls, one macro per shape (WIRE_FORWARDED in foreign/wire.h). A file that
// uses them defines STATUS, the type of a status, and begins with functions of the shape OWN.
#pragma once

#include "fmi/calls.h"
#include "fmi/foreign.h"

// A call of function NAME of the host `f` with these arguments.
#define FORWARD(f, name, ...)                                                        \
  ((STATUS)cpli_foreign_call((f), WIRE_##name, (const cpli_transfer[]){__VA_ARGS__}, \
                             sizeof((cpli_transfer[]){__VA_ARGS__}) / sizeof(cpli_transfer)))
#define FORWARD_PLAIN(f, name) ((STATUS)cpli_foreign_call((f), WIRE_##name, NULL, 0))

#define STUB_OWN(name)

#define STUB_TEXT(name)                                       \
  static const char* stub_##name(void) {                      \
    cpli_foreign* f = cpli_foreign_selected();                \
    const char* text = NULL;                                  \
    if (f == NULL) return NULL;                               \
    if (FORWARD(f, name, CPLI_RETURNED(1)) != 0) return NULL; \
    cpli_foreign_returned(f, 0, &text, NULL);                 \
    return text;                                              \
  }

#define STUB_PLAIN(name) \
  static STATUS stub_##name(void* c) { return FORWARD_PLAIN((cpli_foreign*)c, name); }
#define STUB_FREE(name) \
  static void stub_##name(void* c) { (void)FORWARD_PLAIN((cpli_foreign*)c, name); }

#define STUB_GET(name, type)                                                           \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, type values[]) { \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_OUT(values, n));                    \
  }
#define STUB_SET(name, type)                                                                 \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, const type values[]) { \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_IN(values, n));                           \
  }
#define STUB_GET_N(name, type)                                                       \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, type values[], \
                            size_t n_values) {                                       \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_OUT(values, n_values));           \
  }
#define STUB_SET_N(name, type)                                                             \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, const type values[], \
                            size_t n_values) {                                             \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_IN(values, n_values));                  \
  }
#define STUB_GET_TEXTS(name)                                                                  \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, const char* values[]) { \
    STATUS status = FORWARD(c, name, CPLI_IN(refs, n), CPLI_RETURNED(n));                     \
    if ((int)status == CPLI_FMU_OK || (int)status == CPLI_FMU_WARNING)                        \
      cpli_foreign_returned(c, 1, values, NULL);                                              \
    return status;                                                                            \
  }
#define STUB_SET_TEXTS(name)                                             \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n,    \
                            const char* const values[]) {                \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_TEXTS_IN(values, n)); \
  }

// A saved state is the host's pointer as a number.
#define STUB_GET_STATE(name)                               \
  static STATUS stub_##name(void* c, void** state) {       \
    uint64_t there = (uintptr_t)*state;                    \
    STATUS status = FORWARD(c, name, CPLI_OUT(&there, 1)); \
    *state = (void*)(uintptr_t)there;                      \
    return status;                                         \
  }
#define STUB_FREE_STATE(name) STUB_GET_STATE(name)
#define STUB_SET_STATE(name)                                 \
  static STATUS stub_##name(void* c, void* state) {          \
    return FORWARD(c, name, CPLI_INTEGER((uintptr_t)state)); \
  }
#define STUB_STATE_SIZE(name)                                                              \
  static STATUS stub_##name(void* c, void* state, size_t* size) {                          \
    uint64_t there = 0;                                                                    \
    STATUS status = FORWARD(c, name, CPLI_INTEGER((uintptr_t)state), CPLI_OUT(&there, 1)); \
    *size = (size_t)there;                                                                 \
    return status;                                                                         \
  }
#define STUB_WRITE_STATE(name, type)                                                \
  static STATUS stub_##name(void* c, void* state, type bytes[], size_t size) {      \
    return FORWARD(c, name, CPLI_INTEGER((uintptr_t)state), CPLI_OUT(bytes, size)); \
  }
#define STUB_READ_STATE(name, type)                                                   \
  static STATUS stub_##name(void* c, const type bytes[], size_t size, void** state) { \
    uint64_t there = (uintptr_t)*state;                                               \
    STATUS status = FORWARD(c, name, CPLI_BLOCK(bytes, size), CPLI_OUT(&there, 1));   \
    *state = (void*)(uintptr_t)there;                                                 \
    return status;                                                                    \
  }

#define STUB_REAL_IN(name) \
  static STATUS stub_##name(void* c, double value) { return FORWARD(c, name, CPLI_REAL(value)); }
#define STUB_INTEGER_IN(name) \
  static STATUS stub_##name(void* c, int value) { return FORWARD(c, name, CPLI_INTEGER(value)); }
#define STUB_REALS_IN(name)                                             \
  static STATUS stub_##name(void* c, const double values[], size_t n) { \
    return FORWARD(c, name, CPLI_IN(values, n));                        \
  }
#define STUB_REALS_OUT(name)                                      \
  static STATUS stub_##name(void* c, double values[], size_t n) { \
    return FORWARD(c, name, CPLI_OUT(values, n));                 \
  }
#define STUB_SIZE_OUT(name)                                \
  static STATUS stub_##name(void* c, size_t* size) {       \
    uint64_t there = *size;                                \
    STATUS status = FORWARD(c, name, CPLI_OUT(&there, 1)); \
    *size = (size_t)there;                                 \
    return status;                                         \
  }
#define STUB_OUT_ONE(name, type) \
  static STATUS stub_##name(void* c, type* value) { return FORWARD(c, name, CPLI_OUT(value, 1)); }
#define STUB_OUT_TWO(name, type1, type2)                              \
  static STATUS stub_##name(void* c, type1* first, type2* second) {   \
    return FORWARD(c, name, CPLI_OUT(first, 1), CPLI_OUT(second, 1)); \
  }
#define STUB_ASK(name, kind_type, type)                                   \
  static STATUS stub_##name(void* c, const kind_type kind, type* value) { \
    return FORWARD(c, name, CPLI_INTEGER(kind), CPLI_OUT(value, 1));      \
  }
#define STUB_DERIVATIVES_IN(name)                                                         \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, const int orders[], \
                            const double values[]) {                                      \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_IN(orders, n), CPLI_IN(values, n));    \
  }
#define STUB_DERIVATIVES_OUT(name)                                                        \
  static STATUS stub_##name(void* c, const uint32_t refs[], size_t n, const int orders[], \
                            double values[]) {                                            \
    return FORWARD(c, name, CPLI_IN(refs, n), CPLI_IN(orders, n), CPLI_OUT(values, n));   \
  }

#define STUB(shape, ...)     STUB_##shape(__VA_ARGS__)
#define STUB_NAME(name, ...) name
#define STUB_ROW(shape, ...) STUB_ROW_(__VA_ARGS__, )
#define STUB_ROW_(name, ...) {#name, WIRE_##name, (void (*)(void))stub_##name},
