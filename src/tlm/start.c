// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Initial waves. A wave sent before the start is a straight line from the value its receiver needs
// at the start to the value its sender sends then; anything else would be a jump, and cost an order
// of accuracy.
#include <math.h>
#include <stdio.h>

#include "tlm/tlm.h"

// A wave that is searched for: the present try, and the one before with its gap.
typedef struct preset {
  double wave, last, gap;
} preset;

static double start_wave(const cpli_tlm_end* e, int32_t k, double v) {
  return e->kind == CPL_TLM_SIGNAL ? v : e->start_force[k] + e->sigma * e->z[k] * v;
}

// The transpose of the rotation times each triple.
static void to_part(const cpli_tlm_end* e, const double* in, double* out) {
  const double* r = e->rotation;
  for (int32_t k = 0; k < e->width; k++) {
    const double* x = in + k - k % 3;
    out[k] = e->rotated ? r[k % 3] * x[0] + r[3 + k % 3] * x[1] + r[6 + k % 3] * x[2] : in[k];
  }
}

// The next try for a wave, where the present one gives g: at first g, then by the secant, which is
// exact where the speed is linear in the force.
static double next_wave(preset* p, double g) {
  double c = p->wave, gap = g - c, slope = (gap - p->gap) / (c - p->last);
  p->last = c;
  p->gap = gap;
  return isfinite(slope) && fabs(slope) > 1e-6 ? c - gap / slope : g;
}

// Sets the wave of an end. *gap: how far it is from the one that gives its force at the start,
// relative to their sizes. A signal is read once: around a ring with gain it need not settle.
static cpl_status preset_end(cpli_tlm* m, cpli_tlm_end* e, preset* tries, int round, double* gap) {
  cpl_component* c = &m->parts[e->part].s->base;
  double v[CPLI_WIDTH] = {0}, common[CPLI_WIDTH], own[CPLI_WIDTH];
  const bool signal = e->kind == CPL_TLM_SIGNAL;
  if (signal && round > 0) return CPL_OK;
  const cpli_tlm_end* source = signal ? &m->ends[e->peer] : e;
  cpl_status st = cpli_end_speeds(m->parts[source->part].s, source, v);
  for (int32_t k = 0; k < e->width; k++) {
    preset* p = &tries[k];
    double wave = e->takes_wave || signal ? start_wave(e, k, v[k]) : e->sign * e->start_force[k];
    double size = fabs(wave) + fabs(e->start_force[k]);
    if (round > 0 && size > 0) *gap = fmax(*gap, fabs(wave - p->wave) / size);
    if (round == 0) p->last = NAN;
    common[k] = p->wave = round == 0 ? wave : next_wave(p, wave);
  }
  to_part(e, common, own);
  return st < 0 ? st : c->ops->set_real(c, e->in_refs, (size_t)e->width, own);
}

// Where a speed depends directly on the force, the wave that gives the force at the start is found
// by iteration.
cpl_status cpli_tlm_preset(cpli_tlm* m) {
  enum { MAX_ROUNDS = 50 };
  cpl_context* ctx = m->base.base.ctx;
  preset* tries = cpli_alloc(ctx, (size_t)m->n_ends * CPLI_WIDTH, sizeof *tries);
  cpl_status st = tries != NULL ? CPL_OK : cpli_nomem(ctx);
  double gap = 1;
  int32_t worst = 0;
  for (int round = 0; round < MAX_ROUNDS && st >= 0 && gap > 1e-12; round++) {
    double largest = round == 0 ? 1 : 0;
    for (int32_t i = 0; i < m->n_ends && st >= 0; i++) {
      double one = 0;
      if (!m->ends[i].takes) continue;
      st = preset_end(m, &m->ends[i], &tries[(size_t)i * CPLI_WIDTH], round, &one);
      if (one > largest) worst = i;
      largest = fmax(largest, one);
    }
    gap = largest;
  }
  if (st >= 0 && gap > 1e-6)
    cpl_log(ctx, CPL_LOG_WARNING, m->name,
            "%s: the wave that gives its effort at the start is not found (off by %.1g of it): its "
            "flow "
            "depends on the effort too steeply",
            m->ends[worst].name, gap);
  cpli_free(ctx, tries);
  return st;
}

//----------------------------------- positions and orientations -----------------------------------

static cpl_status read_all(cpli_tlm* m, const cpli_tlm_end* e, const int64_t* refs, int32_t n,
                           double* out, bool* there) {
  cpl_component* c = &m->parts[e->part].s->base;
  *there = true;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st >= 0; i++) {
    if (refs[i] < 0) return *there = false, CPL_OK;
    uint32_t ref = (uint32_t)refs[i];
    st = c->ops->get_real(c, &ref, 1, &out[i]);
  }
  return st;
}

// Largest deviation of a times the transpose of b from the identity.
static double off_identity(const double* a, const double* b) {
  double off = 0;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      double sum = i == j ? -1 : 0;
      for (int k = 0; k < 3; k++) sum += a[3 * i + k] * b[3 * j + k];
      off = fmax(off, fabs(sum));
    }
  }
  return off;
}

static double determinant(const double* a) {
  return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
         a[2] * (a[3] * a[7] - a[4] * a[6]);
}

static void multiply(const double* a, const double* b, double* out) {
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
  }
}

static cpl_status check_orthogonal(cpli_tlm* m, const cpli_tlm_end* e, const double* a) {
  double off = off_identity(a, a);
  if (off <= 1e-6 && determinant(a) > 0) return CPL_OK;
  return cpl_fail_in(
      m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
      "the orientation of %s is not a rotation at the start: %s%.3g; its rows are "
      "(%g %g %g) (%g %g %g) (%g %g %g)",
      e->name, off > 1e-6 ? "A times its transpose is off the identity by " : "its determinant is ",
      off > 1e-6 ? off : determinant(a), a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

// The angle between two rotations.
static double angle_between(const double* a, const double* b) {
  double trace = 0;
  for (int k = 0; k < 9; k++) trace += a[k] * b[k];
  return acos(fmax(-1, fmin(1, 0.5 * (trace - 1))));
}

// Whether a matrix that was given by columns explains the difference, and whose.
static void explain_turn(const cpli_tlm_end* const* ends, double own[2][9], double a[2][9],
                         char* out, size_t size) {
  bool fits[2];
  for (int i = 0; i < 2; i++) {
    double turned[9], common[9];
    for (int k = 0; k < 9; k++) turned[k] = own[i][3 * (k % 3) + k / 3];
    multiply(ends[i]->rotation, turned, common);
    fits[i] = off_identity(common, a[1 - i]) <= 1e-4;
  }
  *out = '\0';
  if (fits[0] || fits[1])
    snprintf(out, size, "; the transpose of %s fits: its references go by columns",
             fits[0] && fits[1] ? "one of them" : ends[fits[0] ? 0 : 1]->name);
}

// Compares the orientations of both ends of a line in the common frame.
static cpl_status check_turns(cpli_tlm* m, const cpli_tlm_end* e, const cpli_tlm_end* other) {
  double own[2][9], a[2][9];
  const cpli_tlm_end* ends[2] = {e, other};
  bool known = true;
  for (int i = 0; i < 2; i++) {
    bool there;
    cpl_status st = read_all(m, ends[i], ends[i]->orientation, 9, own[i], &there);
    if (st >= 0 && there) st = check_orthogonal(m, ends[i], own[i]);
    if (st < 0) return st;
    known = known && there;
    if (there) multiply(ends[i]->rotation, own[i], a[i]);
  }
  if (!known || off_identity(a[0], a[1]) <= 1e-4) return CPL_OK;
  char hint[256];
  explain_turn(ends, own, a, hint, sizeof hint);
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                     "%s and %s are rotated relative to each other at the start by %.3g rad%s",
                     e->name, other->name, angle_between(a[0], a[1]), hint);
}

static cpl_status check_positions(cpli_tlm* m, const cpli_tlm_end* e, const cpli_tlm_end* other) {
  double r[2][3], own[3];
  const cpli_tlm_end* ends[2] = {e, other};
  for (int i = 0; i < 2; i++) {
    bool there;
    cpl_status st = read_all(m, ends[i], ends[i]->position, 3, own, &there);
    if (st < 0 || !there) return st;
    const double* a = ends[i]->rotation;
    for (int k = 0; k < 3; k++)
      r[i][k] =
          ends[i]->origin[k] + a[3 * k] * own[0] + a[3 * k + 1] * own[1] + a[3 * k + 2] * own[2];
  }
  double d = hypot(hypot(r[0][0] - r[1][0], r[0][1] - r[1][1]), r[0][2] - r[1][2]);
  // Near the origin 1 m is taken as the size; this is only a warning.
  double size = 1 + hypot(hypot(r[0][0], r[0][1]), r[0][2]);
  if (d > 1e-6 * size)
    cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->name,
            "%s and %s are %.4g m apart at the start: (%g %g %g) and (%g %g %g)", e->name,
            other->name, d, r[0][0], r[0][1], r[0][2], r[1][0], r[1][1], r[1][2]);
  return CPL_OK;
}

//------------------------------------ lines ------------------------------------

// From t_start - delay to t_start; the receiver needs `arrives`, the sender sends `leaves`.
static cpl_status fill(cpli_tlm* m, cpli_tlm_end* e, const double* arrives, const double* leaves) {
  cpli_segment s = {.from = m->t_start - e->delay, .to = m->t_start};
  for (int32_t k = 0; k < e->width; k++) {
    s.c[k][0] = arrives[k];
    s.c[k][1] = (leaves[k] - arrives[k]) / e->delay;
    e->last[k] = leaves[k];
    e->scale = fmax(fabs(arrives[k]), fabs(leaves[k]));
  }
  cpli_wave_clear(&e->sent);
  return cpli_wave_add(&e->sent, &s);
}

// Damped waves were constant before.
static cpl_status fill_filtered(cpli_tlm* m, cpli_tlm_end* e, const double* arrives) {
  cpli_segment s = {.from = m->t_start - 1.5 * e->delay, .to = m->t_start};
  for (int32_t k = 0; k < e->width; k++) s.c[k][0] = arrives[k];
  cpli_wave_clear(&e->filtered);
  e->now = s;
  return cpli_wave_add(&e->filtered, &s);
}

static cpl_status start_end(cpli_tlm* m, cpli_tlm_end* e) {
  cpli_tlm_end* peer = &m->ends[e->peer];
  double v[CPLI_WIDTH], other[CPLI_WIDTH], arrives[CPLI_WIDTH], leaves[CPLI_WIDTH];
  e->n_samples = e->fresh = 0;
  e->now = (cpli_segment){0};
  for (int32_t k = 0; k < CPLI_WIDTH; k++) e->growth[k] = 1;
  cpl_status st = CPL_OK;
  if (e->sends) {
    st = cpli_end_speeds(m->parts[e->part].s, e, v);
    if (st >= 0 && peer->sends) st = cpli_end_speeds(m->parts[peer->part].s, peer, other);
    for (int32_t k = 0; k < e->width; k++) {
      bool signal = e->kind == CPL_TLM_SIGNAL;
      leaves[k] = signal ? v[k] : -e->sigma * e->start_force[k] + e->z[k] * v[k];
      arrives[k] = signal ? v[k] : start_wave(peer, k, other[k]);
    }
    if (st >= 0) st = fill(m, e, arrives, leaves);
    if (st >= 0) cpli_watch_start(e, m->t_start);
  }
  if (st >= 0 && e->takes && e->alpha > 0) {
    st = cpli_end_speeds(m->parts[e->part].s, e, v);
    for (int32_t k = 0; k < e->width; k++) arrives[k] = start_wave(e, k, v[k]);
    if (st >= 0) st = fill_filtered(m, e, arrives);
  }
  return st;
}

cpl_status cpli_tlm_start(cpli_tlm* m) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_ends && st >= 0; i++) {
    const cpli_tlm_end *e = &m->ends[i], *other = &m->ends[e->peer];
    if (e->kind == CPL_TLM_3D && e->checked) {
      st = check_turns(m, e, other);
      if (st >= 0) st = check_positions(m, e, other);
    }
    if (st >= 0) st = start_end(m, &m->ends[i]);
  }
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_tlm_part* p = &m->parts[i];
    p->t = p->published = m->t_start;
    p->grid = 0;
    p->open = p->dirty = p->ended = p->busy = false;
    p->restarted = true;
    p->st = CPL_OK;
    p->n_pieces = p->n_events = 0;
  }
  cpli_processes_start(m);
  return st;
}
