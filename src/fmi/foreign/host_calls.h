// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Execution of calls, one macro per shape (WIRE_FORWARDED in wire.h), each a case of a switch over
// the functions. A file that uses them defines the functions of the shape OWN as serve_NAME().
#pragma once

#include "fmi/foreign/host.h"

#define FN(name)        ((name##TYPE*)the_host.functions[WIRE_##name])
#define STATE(c, i)     ((void*)(uintptr_t)(c)->args[i].value.integer)
#define CASE(name)      case WIRE_##name:
#define CALL(name, ...) ((int)FN(name)(the_host.instance, __VA_ARGS__))

// A call that takes the address of a pointer, which is argument i, as its last argument.
#define CALL_WITH_POINTER(c, i, call)       \
  {                                         \
    uint64_t* there = host_array(c, i);     \
    void* state = (void*)(uintptr_t)*there; \
    int status = call;                      \
    *there = (uintptr_t)state;              \
    return status;                          \
  }

#define SERVE_OWN(name) CASE(name) return serve_##name(c);
#define SERVE_TEXT(name)            \
  CASE(name) {                      \
    const char* text = FN(name)();  \
    host_return(c, 0, &text, NULL); \
    return 0;                       \
  }
#define SERVE_PLAIN(name) CASE(name) return (int)FN(name)(the_host.instance);
#define SERVE_FREE(name)  CASE(name) return FN(name)(the_host.instance), 0;
#define SERVE_GET(name, type) \
  CASE(name) return CALL(name, host_array(c, 0), host_count(c, 0), host_array(c, 1));
#define SERVE_SET(name, type) SERVE_GET(name, type)
#define SERVE_GET_N(name, type) \
  CASE(name)                    \
  return CALL(name, host_array(c, 0), host_count(c, 0), host_array(c, 1), host_count(c, 1));
#define SERVE_SET_N(name, type) SERVE_GET_N(name, type)
#define SERVE_GET_TEXTS(name)                                           \
  CASE(name) {                                                          \
    const char** texts = host_blocks(c, 1);                             \
    int status = CALL(name, host_array(c, 0), host_count(c, 0), texts); \
    if (status <= 1) host_return(c, 1, texts, NULL);                    \
    return status;                                                      \
  }
#define SERVE_SET_TEXTS(name) \
  CASE(name) return CALL(name, host_array(c, 0), host_count(c, 0), host_blocks(c, 1));
#define SERVE_GET_STATE(name)  CASE(name) CALL_WITH_POINTER(c, 0, CALL(name, &state))
#define SERVE_FREE_STATE(name) SERVE_GET_STATE(name)
#define SERVE_SET_STATE(name)  CASE(name) return CALL(name, STATE(c, 0));
#define SERVE_STATE_SIZE(name)                   \
  CASE(name) {                                   \
    size_t size = 0;                             \
    int status = CALL(name, STATE(c, 0), &size); \
    *(uint64_t*)host_array(c, 1) = size;         \
    return status;                               \
  }
#define SERVE_WRITE_STATE(name, type) \
  CASE(name) return CALL(name, STATE(c, 0), host_array(c, 1), host_count(c, 1));
#define SERVE_READ_STATE(name, type) \
  CASE(name) CALL_WITH_POINTER(c, 1, CALL(name, host_array(c, 0), host_count(c, 0), &state))
#define SERVE_REAL_IN(name)    CASE(name) return CALL(name, host_real(c, 0));
#define SERVE_INTEGER_IN(name) CASE(name) return CALL(name, host_integer(c, 0));
#define SERVE_REALS_IN(name)   CASE(name) return CALL(name, host_array(c, 0), host_count(c, 0));
#define SERVE_REALS_OUT(name)  SERVE_REALS_IN(name)
#define SERVE_SIZE_OUT(name)                              \
  CASE(name) {                                            \
    size_t size = (size_t) * (uint64_t*)host_array(c, 0); \
    int status = CALL(name, &size);                       \
    *(uint64_t*)host_array(c, 0) = size;                  \
    return status;                                        \
  }
#define SERVE_OUT_ONE(name, type) CASE(name) return CALL(name, host_array(c, 0));
#define SERVE_OUT_TWO(name, type1, type2) \
  CASE(name) return CALL(name, host_array(c, 0), host_array(c, 1));
#define SERVE_ASK(name, kind_type, type) \
  CASE(name) return CALL(name, (kind_type)host_integer(c, 0), host_array(c, 1));
#define SERVE_DERIVATIVES_IN(name) \
  CASE(name)                       \
  return CALL(name, host_array(c, 0), host_count(c, 0), host_array(c, 1), host_array(c, 2));
#define SERVE_DERIVATIVES_OUT(name) SERVE_DERIVATIVES_IN(name)

#define SERVE(shape, ...) SERVE_##shape(__VA_ARGS__)
