// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Segments of a run: the steps of a solver with dense output, and points inside of them. The solver
// integrates ahead to the end of its next step; the nodes of that step are then read from its dense
// output, or are output points, so that the steps are those of a run without segments.
#include <assert.h>
#include <math.h>

#include "run/run.h"

typedef struct cpl_simulation run;

// The end of the solver's next step. A stepper that cannot integrate ahead has segments as long as
// the distance of the usual output points.
static cpl_status find_step_end(run* r, double limit, double* end) {
  cpl_stepper* s = r->s;
  if (s->ops->ahead != NULL) return s->ops->ahead(s, limit, limit, end);
  *end = fmin(limit, r->t + (r->def.stop_time - r->def.start_time) / 500);
  return CPL_OK;
}

// Nodes that could not be read are rows of the run.
static cpl_status sample(run* r) {
  cpli_segments* g = r->segments;
  size_t n = 0;
  double last = g->begin;
  for (size_t i = 0; i < g->n; i++) {
    const double t = g->begin + g->nodes[i] * (g->end - g->begin);
    if (t > last && t < g->end) last = g->sampled[n++] = t;
  }
  const cpl_status st = cpli_sampler_read(g->sampler, g->sampled, n, g->samples);
  if (st < 0 || st == CPL_RETRY) return st < 0 ? st : CPL_OK;
  g->n_sampled = n;
  g->next = g->n;
  return CPL_OK;
}

static cpl_status begin_segment(run* r) {
  cpli_segments* g = r->segments;
  const double t = r->t;
  assert(g->remaining > 0 && g->step_end > t);
  g->begin = t;
  g->end = g->remaining == 1 ? g->step_end : t + (g->step_end - t) / g->remaining;
  if (!(g->end > t)) g->end = g->step_end;
  g->remaining--;
  g->next = g->n_sampled = 0;
  return g->sampler != NULL ? sample(r) : CPL_OK;
}

static cpl_status begin_step(run* r, double limit) {
  cpli_segments* g = r->segments;
  double end = r->t;
  cpl_status st = find_step_end(r, limit, &end);
  if (st >= 0 && !(end > r->t)) {  // an event is due, such as that of the initialisation
    st = cpli_run_update(r);
    if (st >= 0 && !r->ended) st = find_step_end(r, limit, &end);
  }
  if (st < 0 || r->ended) return st;
  // an event at once: the step to any later time ends there
  g->step_end = end > r->t ? end : limit;
  g->remaining = end > r->t ? g->parts : 1;
  return begin_segment(r);
}

void cpli_segments_start(run* r) {
  cpli_segments* g = r->segments;
  assert(g->n <= CPLI_MAX_NODES && g->parts >= 1);
  g->kind = CPLI_POINT_BEGIN;
  g->begin = g->end = g->step_end = r->t;
  g->remaining = 0;
  g->n_sampled = 0;
}

static double node(const cpli_segments* g) {
  return g->next < g->n ? g->begin + g->nodes[g->next] * (g->end - g->begin) : g->end;
}

// A segment may be as short as the resolution of time, which has no room for nodes.
static double next_node(run* r) {
  cpli_segments* g = r->segments;
  while (g->next < g->n && !(node(g) > r->t && node(g) < g->end)) g->next++;
  return node(g);
}

cpl_status cpli_segments_target(run* r, double limit, double* target) {
  cpli_segments* g = r->segments;
  cpl_status st = CPL_OK;
  if (r->t >= g->end && g->remaining > 0) st = begin_segment(r);
  else if (r->t >= g->end) st = begin_step(r, limit);
  if (st >= 0 && !r->ended) *target = fmin(*target, next_node(r));
  return st;
}

void cpli_segments_reached(run* r, bool stopped) {
  cpli_segments* g = r->segments;
  g->kind = CPLI_POINT_OUTPUT;
  if (stopped || r->t >= g->end) {
    g->kind = CPLI_POINT_END;
    g->end = r->t;
    if (stopped) g->remaining = 0;
  } else if (g->next < g->n && r->t >= node(g)) {
    g->kind = CPLI_POINT_NODE;
    g->next++;
  }
}
