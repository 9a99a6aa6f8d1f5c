// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A linearisation with fewer states, as a linearisation again.
#include "numeric/reduce.h"

#include "couplet/transfer.h"

typedef struct reduced {
  cpl_reduced shown;
  cpl_linear linear;
  cpli_arena arena;
} reduced;

// dx is one more column of B, so that it is transformed as B is; that of D is the change of y.
static cpl_status reduce(cpl_context* ctx, const cpl_linear* l, int32_t order, cpli_balanced* out) {
  size_t n = (size_t)l->n_states, m = (size_t)l->n_inputs, p = (size_t)l->n_outputs;
  double* room = cpli_alloc(ctx, (n + p) * (n + m + 1), sizeof *room);
  if (room == NULL) return cpli_nomem(ctx);
  cpli_state_space s = {.n = l->n_states, .m = l->n_inputs + 1, .p = l->n_outputs, .extra = 1};
  s.a = room, s.b = s.a + n * n, s.c = s.b + n * (m + 1), s.d = s.c + p * n;
  memcpy(s.a, l->a, n * n * sizeof *room);
  memcpy(s.b, l->b, n * m * sizeof *room);
  memcpy(s.b + n * m, l->dx, n * sizeof *room);
  memcpy(s.c, l->c, p * n * sizeof *room);
  memcpy(s.d, l->d, p * m * sizeof *room);
  memset(s.d + p * m, 0, p * sizeof *room);
  cpl_status st = cpli_reduce(ctx, &s, order, out);
  cpli_free(ctx, room);
  return st;
}

static double* keep(reduced* r, const double* from, size_t n) {
  double* to = cpli_arena_alloc(&r->arena, n + 1, sizeof *to);
  if (to != NULL && n > 0) memcpy(to, from, n * sizeof *to);
  return to;
}

static const char* const* keep_names(reduced* r, const char* const* names, int32_t n) {
  const char** to = cpli_arena_alloc(&r->arena, (size_t)n + 1, sizeof *to);
  for (int32_t i = 0; i < n && to != NULL; i++) {
    to[i] = cpli_arena_strdup(&r->arena, names[i]);
    if (to[i] == NULL) return NULL;
  }
  return to;
}

static const char* const* number_states(reduced* r, int32_t n) {
  const char** names = cpli_arena_alloc(&r->arena, (size_t)n + 1, sizeof *names);
  for (int32_t i = 0; i < n && names != NULL; i++) {
    char text[16];
    snprintf(text, sizeof text, "r%d", i + 1);
    names[i] = cpli_arena_strdup(&r->arena, text);
    if (names[i] == NULL) return NULL;
  }
  return names;
}

static bool fill(reduced* r, const cpl_linear* l, const cpli_balanced* from) {
  size_t n = (size_t)from->s.n, m = (size_t)l->n_inputs, p = (size_t)l->n_outputs;
  double* x = cpli_arena_alloc(&r->arena, n + 1, sizeof *x);
  double* y = keep(r, l->y, p);
  if (x == NULL || y == NULL) return false;
  for (size_t i = 0; i < p; i++) y[i] += from->s.d[p * m + i];
  r->linear = (cpl_linear){.n_states = from->s.n,
                           .n_inputs = l->n_inputs,
                           .n_outputs = l->n_outputs,
                           .states = number_states(r, from->s.n),
                           .inputs = keep_names(r, l->inputs, l->n_inputs),
                           .outputs = keep_names(r, l->outputs, l->n_outputs),
                           .x = x,
                           .dx = keep(r, from->s.b + n * m, n),
                           .u = keep(r, l->u, m),
                           .y = y,
                           .a = keep(r, from->s.a, n * n),
                           .b = keep(r, from->s.b, n * m),
                           .c = keep(r, from->s.c, p * n),
                           .d = keep(r, from->s.d, p * m)};
  r->shown = (cpl_reduced){.linear = &r->linear,
                           .n_kept = from->kept,
                           .n_decaying = l->n_states - from->kept,
                           .n_hankel = from->n_hankel,
                           .hankel = keep(r, from->hankel, (size_t)from->n_hankel),
                           .bound = from->bound};
  const cpl_linear* k = &r->linear;
  return k->states != NULL && k->inputs != NULL && k->outputs != NULL && k->dx != NULL &&
         k->u != NULL && k->a != NULL && k->b != NULL && k->c != NULL && k->d != NULL &&
         r->shown.hankel != NULL;
}

cpl_status cpl_linear_reduce(cpl_context* ctx, const cpl_linear* l, int32_t order,
                             cpl_reduced** out) {
  cpli_balanced found = {0};
  *out = NULL;
  if (order < 0 || order >= l->n_states)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "a system of %d state%s cannot be reduced to %d: give a number from 0 to %d",
                    l->n_states, l->n_states == 1 ? "" : "s", order, l->n_states - 1);
  if (l->n_inputs == 0 || l->n_outputs == 0)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "a system without %s cannot be reduced: states matter by what they do between "
                    "inputs and outputs",
                    l->n_inputs == 0 ? "inputs" : "outputs");
  reduced* r = cpli_alloc(ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(ctx);
  cpli_arena_init(&r->arena, ctx);
  cpl_status st = reduce(ctx, l, order, &found);
  if (st >= 0 && !fill(r, l, &found)) st = cpli_nomem(ctx);
  if (st < 0) cpl_reduced_destroy(&r->shown);
  else *out = &r->shown;
  cpli_balanced_free(ctx, &found);
  return st;
}

void cpl_reduced_destroy(cpl_reduced* r) {
  if (r == NULL) return;
  reduced* self = (reduced*)r;
  cpl_context* ctx = self->arena.ctx;
  cpli_arena_free(&self->arena);
  cpli_free(ctx, self);
}
