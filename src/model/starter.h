// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The start values that a composed component has by its definition. Some of them follow from
// parameters: a starter notes which values are set from outside before the initialisation, and
// computes those that depend on them and were not set themselves; after a reset it sets all start
// values of the definition again. A composer calls the functions below where their comments say.
#pragma once

#include "model/router.h"

typedef struct cpli_starter cpli_starter;

struct cpli_starter {
  /// Notes values that are about to be set.
  cpl_status (*note)(cpli_starter* s, cpl_component* c, const cpli_access* a);
  /// Sets the values that follow from those noted.
  cpl_status (*follow)(cpli_starter* s, cpl_component* c);
  /// Sets the start values of the definition, and forgets what was noted.
  cpl_status (*again)(cpli_starter* s, cpl_component* c);
  bool initializes;  // setup was called: what follows is set at once
  bool closed;       // it is initialised: values that are set are no start values any more
  bool busy;         // it sets values itself
};

static inline cpl_status cpli_starter_do(cpli_starter* s, cpl_component* c,
                                         cpl_status (*what)(cpli_starter*, cpl_component*)) {
  s->busy = true;
  cpl_status st = what(s, c);
  s->busy = false;
  return st;
}

// Nullable everywhere: s

/// Before values are set.
static inline cpl_status cpli_starter_note(cpli_starter* s, cpl_component* c,
                                           const cpli_access* a) {
  return s == NULL || s->closed || s->busy ? CPL_OK : s->note(s, c, a);
}

/// After they were set.
static inline cpl_status cpli_starter_noted(cpli_starter* s, cpl_component* c) {
  const bool now = s != NULL && s->initializes && !s->closed && !s->busy;
  return now ? cpli_starter_do(s, c, s->follow) : CPL_OK;
}

/// At the beginning of setup.
static inline cpl_status cpli_starter_setup(cpli_starter* s, cpl_component* c) {
  if (s == NULL) return CPL_OK;
  s->initializes = true;
  return cpli_starter_do(s, c, s->follow);
}

/// At the beginning of exit_init.
static inline void cpli_starter_close(cpli_starter* s) {
  if (s != NULL) s->closed = true;
}

/// At the end of reset.
static inline cpl_status cpli_starter_reset(cpli_starter* s, cpl_component* c) {
  if (s == NULL) return CPL_OK;
  s->initializes = s->closed = false;
  return cpli_starter_do(s, c, s->again);
}
