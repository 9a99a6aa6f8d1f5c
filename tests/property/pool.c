// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "system.h"

// Every file of pool/ is compiled into the test under a name of its own (tests/CMakeLists.txt).
// clang-format off
#define POOL(X)                                                                              \
  X(integrator) X(lag) X(oscillator) X(vanderpol) X(prey) X(gain) X(bend) X(mix) X(limiter)  \
  X(relay) X(jump) X(mass) X(sampler) X(friction) X(follower) X(thermostat) X(counter) X(pulse)
// clang-format on
#define DECLARE(name) extern const cpl_model_def pool_##name;
#define ENTRY(name)   {#name, &pool_##name},
POOL(DECLARE)

pool_model pool[N_POOL] = {POOL(ENTRY)};

static int count(const cpl_declaration* list) {
  int n = 0;
  while (list != NULL && list[n].name != NULL) n++;
  return n;
}

void pool_prepare(void) {
  for (int i = 0; i < N_POOL; i++) {
    pool_model* m = &pool[i];
    m->n_states = count(m->def->states);
    m->n_inputs = count(m->def->inputs);
    m->n_outputs = count(m->def->outputs);
    m->n_parameters = count(m->def->parameters);
    m->n_discrete = count(m->def->discrete);
    m->unannounced = strcmp(m->name, "jump") == 0 || strcmp(m->name, "follower") == 0;
    m->has_events = m->def->event != NULL && !m->unannounced;
    m->counts = strcmp(m->name, "counter") == 0 || strcmp(m->name, "mass") == 0 ||
                strcmp(m->name, "friction") == 0;
    for (int k = 0; k < m->n_discrete; k++) {
      const cpl_declaration* d = &m->def->discrete[k];
      m->shown[k] = d->output;
      m->scaled[k] = strcmp(d->name, "held") == 0 || strcmp(d->name, "level") == 0;
    }
  }
}

const pool_model* pool_find(const char* name) {
  for (int i = 0; i < N_POOL; i++)
    if (strcmp(pool[i].name, name) == 0) return &pool[i];
  return NULL;
}
