// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loads libzmq with dlopen(), fills the table of its functions and requires that it supports CURVE.
#include "tlm/zeromq.h"

#include <dlfcn.h>

static const char* const names[] = {
#define X(name) #name,
    CPLI_ZMQ_FUNCTIONS(X)
#undef X
};

cpl_status cpli_zmq_load(cpl_context* ctx, cpli_zmq* out) {
  void* library = dlopen("libzmq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "running across machines needs ZeroMQ (Debian: libzmq5), which could not be "
                    "loaded: %s",
                    dlerror());
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    void* function = dlsym(library, names[i]);
    if (function == NULL)
      return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "ZeroMQ: the library has no %s", names[i]);
    memcpy((char*)out + i * sizeof function, &function, sizeof function);
  }
  if (!out->zmq_has("curve"))
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "ZeroMQ: the library was built without CURVE");
  return CPL_OK;
}
