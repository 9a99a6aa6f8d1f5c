// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "tlm/zeromq.h"

#include <dlfcn.h>

static const char* const names[] = {
#define X(name) #name,
    CPLI_ZMQ_FUNCTIONS(X)
#undef X
};

const cpli_zmq* cpli_zmq_load(cpl_context* ctx) {
  static cpli_zmq table;  // the same for everyone, whoever fills it in
  void* library = dlopen("libzmq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    cpl_fail(
        ctx, CPL_ERR_UNSUPPORTED,
        "running across machines needs ZeroMQ (Debian: libzmq5), which could not be loaded: %s",
        dlerror());
    return NULL;
  }
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    void* function = dlsym(library, names[i]);
    if (function == NULL) {
      cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "ZeroMQ: the library has no %s", names[i]);
      return NULL;
    }
    memcpy((char*)&table + i * sizeof function, &function, sizeof function);
  }
  if (!table.zmq_has("curve")) {
    cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "ZeroMQ: the library was built without CURVE");
    return NULL;
  }
  return &table;
}
