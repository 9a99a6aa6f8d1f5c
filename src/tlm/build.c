// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds parts and line ends from a definition.
#include "tlm/build.h"

#include <math.h>
#include <stdio.h>

#include "couplet/aggregate.h"
#include "couplet/isolate.h"
#include "solver/sample.h"
#include "solver/solver.h"
#include "tlm/peer.h"
#include "tlm/remote.h"

//------------------------------------ checks ------------------------------------

static bool has(const int32_t* vars, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (vars[i] < 0) return false;
  }
  return true;
}

static bool positive(double v) { return v > 0 && isfinite(v); }

const char* cpl_tlm_line_fault(const cpl_tlm_line* l, const cpl_tlm_interface* interfaces) {
  const cpl_tlm_interface *from = &interfaces[l->from], *to = &interfaces[l->to];
  bool signal = from->kind == CPL_TLM_SIGNAL;
  int32_t n = cpli_kind_width(from->kind);
  const struct {
    bool fine;
    const char* text;
  } checks[] = {
      {from->kind == to->kind, "its ends are of different kinds"},
      {l->from != l->to, "both of its ends are the same interface"},
      {positive(l->delay), "its delay must be positive"},
      {signal || positive(l->zf), "its impedance Zf must be positive"},
      {l->zfr >= 0 && isfinite(l->zfr), "its impedance Zfr must be positive"},
      {l->alpha >= 0 && l->alpha < 1, "its damping alpha must be at least 0 and less than 1"},
      {!signal || has(from->speed, 1), "the interface at its beginning has no output"},
      {!signal || has(to->force, 1), "the interface at its end has no input"},
      {signal || (has(from->speed, n) && has(to->speed, n)), "one of its interfaces has no speed"},
      {signal || (has(from->force, n) && has(to->force, n)), "one of its interfaces has no force"},
  };
  for (size_t i = 0; i < CPLI_COUNT(checks); i++) {
    if (!checks[i].fine) return checks[i].text;
  }
  return NULL;
}

static cpl_status check_line(cpli_tlm* m, const cpl_tlm_def* def, int32_t index, int32_t* used) {
  const cpl_tlm_line* l = &def->lines[index];
  const cpl_tlm_interface *from = &def->interfaces[l->from], *to = &def->interfaces[l->to];
  const char* fault = cpl_tlm_line_fault(l, def->interfaces);
  if (fault != NULL)
    return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                       "the line from %s to %s: %s", from->name, to->name, fault);
  int32_t ends[2] = {l->from, l->to};
  for (int i = 0; i < 2; i++) {
    // a signal may go to several receivers
    if (from->kind == CPL_TLM_SIGNAL && i == 0) continue;
    if (used[ends[i]]++ > 0)
      return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                         "the interface %s has two lines", def->interfaces[ends[i]].name);
  }
  return CPL_OK;
}

static cpl_status check_lines(cpli_tlm* m, const cpl_tlm_def* def) {
  cpl_context* ctx = m->base.base.ctx;
  int32_t* used = cpli_alloc(ctx, (size_t)def->n_interfaces, sizeof *used);
  if (used == NULL) return cpli_nomem(ctx);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < def->n_lines && st >= 0; i++) st = check_line(m, def, i, used);
  cpli_free(ctx, used);
  return st;
}

//------------------------------- line ends as components of models -------------------------------

// Maps the description of a part to that of its aggregate with the ends of its lines.
typedef struct translation {
  const cpl_description* from;  // the model's; variables of interfaces are indices into it
  const char* prefix;           // NULL: unchanged
} translation;

static bool has_force(const cpl_tlm_def* def, int32_t interface, int32_t part) {
  const cpl_tlm_interface* i = &def->interfaces[interface];
  return i->part == part && i->kind != CPL_TLM_SIGNAL && !i->takes_wave;
}

static int32_t count_forces(const cpl_tlm_def* def, int32_t part) {
  int32_t n = 0;
  for (int32_t l = 0; l < def->n_lines; l++) {
    int32_t ends[2] = {def->lines[l].from, def->lines[l].to};
    for (int k = 0; k < 2; k++) {
      if (has_force(def, ends[k], part)) n += cpli_kind_width(def->interfaces[ends[k]].kind);
    }
  }
  return n;
}

static const char* wave_name(cpli_tlm* m, const char* part, const cpl_tlm_interface* i, int32_t k) {
  char text[512];
  if (cpli_kind_width(i->kind) == 1) snprintf(text, sizeof text, "%s.%s.wave", part, i->name);
  else snprintf(text, sizeof text, "%s.%s.wave[%d]", part, i->name, (int)k + 1);
  return cpli_arena_strdup(&m->arena, text);
}

typedef struct lists {
  cpl_signal* signals;
  cpl_coupling* couplings;
  int32_t n;
} lists;

static cpl_status add_end(cpli_tlm* m, const char* part, const cpl_tlm_interface* i,
                          const cpl_tlm_line* line, lists* l) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < cpli_kind_width(i->kind) && st >= 0; k++, l->n++) {
    const char* name = wave_name(m, part, i, k);
    if (name == NULL) return cpli_nomem(m->base.base.ctx);
    l->signals[l->n] = (cpl_signal){.name = name, .kind = CPL_SIGNAL_INPUT};
    l->couplings[l->n] = (cpl_coupling){.target = {0, i->force[k]}};
    st = cpli_force_function(&m->arena, (cpl_port){-1, l->n}, (cpl_port){0, i->speed[k]},
                             cpli_kind_sigma(i->kind), cpli_line_z(line, k),
                             i->sign != 0 ? i->sign : 1, &l->couplings[l->n].function);
  }
  return st;
}

// Aggregates the model with the ends of its lines.
static cpl_status add_ends(cpli_tlm* m, const cpl_tlm_def* def, int32_t part, cpl_model** model) {
  cpl_context* ctx = m->base.base.ctx;
  size_t n = (size_t)count_forces(def, part);
  const char* name = (*model)->base.name;
  lists l = {cpli_alloc(ctx, n, sizeof *l.signals), cpli_alloc(ctx, n, sizeof *l.couplings), 0};
  cpl_status st = l.signals == NULL || l.couplings == NULL ? cpli_nomem(ctx) : CPL_OK;
  for (int32_t i = 0; i < def->n_lines && st >= 0; i++) {
    int32_t ends[2] = {def->lines[i].from, def->lines[i].to};
    for (int k = 0; k < 2 && st >= 0; k++) {
      if (has_force(def, ends[k], part))
        st = add_end(m, name, &def->interfaces[ends[k]], &def->lines[i], &l);
    }
  }
  cpl_model* inner = *model;
  cpl_aggregate_def a = {.size = sizeof a,
                         .name = name,
                         .parts = &inner,
                         .n_parts = 1,
                         .signals = l.signals,
                         .n_signals = l.n,
                         .couplings = l.couplings,
                         .n_couplings = l.n};
  if (st >= 0) st = cpl_aggregate(ctx, &a, model);
  else inner->base.ops->destroy(&inner->base);
  if (st < 0) *model = NULL;
  cpli_free(ctx, l.signals);
  cpli_free(ctx, l.couplings);
  return st;
}

//------------------------------------ parts ------------------------------------

static double shortest_delay(const cpl_tlm_def* def, int32_t part) {
  double d = (double)INFINITY;
  for (int32_t i = 0; i < def->n_lines; i++) {
    const cpl_tlm_line* l = &def->lines[i];
    if (def->interfaces[l->from].part == part || def->interfaces[l->to].part == part)
      d = fmin(d, l->delay);
  }
  return d;
}

// A fixed-step method without a given step takes an interval in one step.
static void choose_step(cpl_solver_def* solver, double delay) {
  bool fixed = cpl_solver_is_fixed_step(solver->kind);
  if (fixed && solver->step <= 0 && isfinite(delay)) solver->step = 0.5 * delay;
}

static cpl_status take_model(cpli_tlm* m, const cpl_tlm_def* def, int32_t i, translation* t) {
  const cpl_tlm_part* from = &def->parts[i];
  cpl_model* model = from->model;
  cpl_solver_def solver = from->solver;
  cpl_status st = CPL_OK;
  if (def->join != NULL) cpli_join_solver(def->join, m->parts[i].name, &solver);
  m->parts[i].solver = solver;
  solver.one_solver = true;
  m->parts[i].in_pairs = cpli_method_of(solver.kind)->multistep;
  choose_step(&solver, shortest_delay(def, i));
  if (count_forces(def, i) > 0) {
    t->prefix = cpli_arena_strdup(&m->arena, model->base.name);
    if (t->prefix == NULL) st = cpli_nomem(m->base.base.ctx);
    if (st >= 0) st = add_ends(m, def, i, &model);
    else model->base.ops->destroy(&model->base);
  }
  if (st >= 0) st = cpl_integrate(model, &solver, &m->parts[i].s);
  m->parts[i].inner = m->parts[i].s;
  return st;
}

static cpl_status take_part(cpli_tlm* m, const cpl_tlm_def* def, int32_t i, translation* t) {
  const cpl_tlm_part* from = &def->parts[i];
  cpli_tlm_part* p = &m->parts[i];
  const char* name = from->name != NULL    ? from->name
                     : from->model != NULL ? from->model->base.name
                                           : from->stepper->base.name;
  p->is_model = from->model != NULL;
  p->substeps = from->substeps > 0 ? from->substeps : 2;
  p->hold = from->hold;
  p->h = 0.5 * shortest_delay(def, i);
  p->name = cpli_arena_strdup(&m->arena, name);
  t->from = from->model != NULL ? from->model->base.desc : from->stepper->base.desc;
  if (p->name == NULL) {
    if (p->is_model) from->model->base.ops->destroy(&from->model->base);
    else from->stepper->base.ops->destroy(&from->stepper->base);
    return cpli_nomem(m->base.base.ctx);
  }
  if (p->is_model) return take_model(m, def, i, t);
  p->s = p->inner = from->stepper;
  if (p->hold == CPL_TLM_HOLD_LINEAR &&
      (p->s->ops->set_curve == NULL || p->s->base.can.input_derivatives < 1)) {
    cpl_log(m->base.base.ctx, CPL_LOG_WARNING, p->name,
            "it takes no input derivatives: forces are constant over each step, at their value in "
            "its middle");
    p->hold = CPL_TLM_HOLD_MIDDLE;
  }
  return CPL_OK;
}

// Takes over all of them; after a failure those that are left are destroyed.
static cpl_status take_parts(cpli_tlm* m, const cpl_tlm_def* def, translation* t, cpl_status st) {
  for (int32_t i = 0; i < def->n_parts; i++) {
    const cpl_tlm_part* p = &def->parts[i];
    if (st >= 0) {
      st = take_part(m, def, i, &t[i]);
      continue;
    }
    if (p->model != NULL) p->model->base.ops->destroy(&p->model->base);
    if (p->stepper != NULL) p->stepper->base.ops->destroy(&p->stepper->base);
  }
  m->n_parts = def->n_parts;
  return st;
}

//------------------------------------ ends ------------------------------------

// The reference of an interface's variable in the final description of the part.
static cpl_status find_ref(cpli_tlm* m, const cpl_tlm_interface* i, const translation* t,
                           int32_t var, uint32_t* ref) {
  const cpl_description* d = m->parts[i->part].s->base.desc;
  if (t->prefix == NULL) {
    *ref = d->vars[var].ref;
    return CPL_OK;
  }
  char* name = cpli_printf(m->base.base.ctx, "%s.%s", t->prefix, t->from->vars[var].name);
  int32_t found = name != NULL ? cpl_find_variable(d, name) : -1;
  cpli_free(m->base.base.ctx, name);
  if (found < 0) return cpli_nomem(m->base.base.ctx);
  *ref = d->vars[found].ref;
  return CPL_OK;
}

static cpl_status find_inputs(cpli_tlm* m, cpli_tlm_end* e, const cpl_tlm_interface* i,
                              const translation* t) {
  const cpl_description* d = m->parts[i->part].s->base.desc;
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < e->width && e->takes && st >= 0; k++) {
    if (t->prefix == NULL || e->kind == CPL_TLM_SIGNAL || i->takes_wave) {
      st = find_ref(m, i, t, i->force[k], &e->in_refs[k]);
      continue;
    }
    const char* name = wave_name(m, t->prefix, i, k);
    int32_t found = name != NULL ? cpl_find_variable(d, name) : -1;
    if (found < 0) return cpli_nomem(m->base.base.ctx);
    e->in_refs[k] = d->vars[found].ref;
  }
  return st;
}

static cpl_status find_outputs(cpli_tlm* m, cpli_tlm_end* e, const cpl_tlm_interface* i,
                               const translation* t) {
  cpl_status st = CPL_OK;
  uint32_t ref = 0;
  for (int32_t k = 0; k < e->width && e->sends && st >= 0; k++)
    st = find_ref(m, i, t, i->speed[k], &e->out_refs[k]);
  for (int32_t k = 0; k < 3 && st >= 0; k++) {
    if (i->position[k] >= 0) st = find_ref(m, i, t, i->position[k], &ref);
    e->position[k] = i->position[k] >= 0 ? (int64_t)ref : -1;
  }
  for (int32_t k = 0; k < 9 && st >= 0; k++) {
    if (i->orientation[k] >= 0) st = find_ref(m, i, t, i->orientation[k], &ref);
    e->orientation[k] = i->orientation[k] >= 0 ? (int64_t)ref : -1;
  }
  return st;
}

// Forces on the model before the start, in the common frame.
static void take_start_forces(cpli_tlm_end* e, const cpl_tlm_interface* i, const translation* t) {
  double own[CPLI_WIDTH] = {0};
  for (int32_t k = 0; k < e->width && e->takes && e->kind != CPL_TLM_SIGNAL; k++) {
    const cpl_variable* v = &t->from->vars[i->force[k]];
    own[k] = i->start_force[k];
    if (isnan(own[k])) own[k] = v->has_start && !i->takes_wave ? v->start / e->sign : 0;
  }
  for (int32_t k = 0; k < e->width; k++) {
    const double *x = own + k - k % 3, *r = e->rotation + 3 * (k % 3);
    e->start_force[k] = e->rotated ? r[0] * x[0] + r[1] * x[1] + r[2] * x[2] : own[k];
  }
}

static void take_usual_size(cpli_tlm_end* e, const cpl_tlm_interface* i, const translation* t) {
  for (int32_t k = 0; k < e->width && e->kind != CPL_TLM_SIGNAL; k++)
    e->usual[k] = e->z[k] * fabs(t->from->vars[i->speed[k]].nominal);
}

// A line holds as many segments as its sender has intervals in a delay; a damped one half as many
// more. Events add to them.
static cpl_status make_waves(cpli_tlm* m, cpli_tlm_end* e) {
  cpl_context* ctx = m->base.base.ctx;
  cpl_status st = CPL_OK;
  cpli_wave* waves[2] = {&e->sent, &e->filtered};
  double intervals = 1.5 * e->delay / m->parts[e->part].h;
  for (int i = 0; i < 2 && st >= 0; i++)
    st = m->shared > 0 ? cpli_wave_init_shared(waves[i], ctx, 2 * (size_t)intervals + 512)
                       : cpli_wave_init(waves[i], ctx);
  return st;
}

static cpl_status take_end(cpli_tlm* m, const cpl_tlm_def* def, const cpl_tlm_line* l, bool first,
                           const translation* t, cpli_tlm_end* e) {
  const cpl_tlm_interface* i = &def->interfaces[first ? l->from : l->to];
  static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  bool signal = i->kind == CPL_TLM_SIGNAL;
  *e = (cpli_tlm_end){
      .name = cpli_arena_strdup(&m->arena, i->name),
      .part = i->part,
      .kind = i->kind,
      .width = cpli_kind_width(i->kind),
      .sends = !signal || first,
      .takes = !signal || !first,
      .takes_wave = m->parts[i->part].is_model || i->takes_wave,
      .sigma = cpli_kind_sigma(i->kind),
      .delay = l->delay,
      .alpha = signal ? 0 : l->alpha,
      .sign = i->sign != 0 ? i->sign : 1,
      .checked = first && !l->apart,
      .rotated = i->kind == CPL_TLM_3D && memcmp(i->rotation, identity, sizeof identity) != 0};
  memcpy(e->rotation, i->rotation, sizeof e->rotation);
  memcpy(e->origin, i->origin, sizeof e->origin);
  for (int32_t k = 0; k < e->width; k++) e->z[k] = signal ? 0 : cpli_line_z(l, k);
  cpl_status st = e->name != NULL ? CPL_OK : cpli_nomem(m->base.base.ctx);
  if (st >= 0) st = make_waves(m, e);
  if (st >= 0) st = find_inputs(m, e, i, t);
  if (st >= 0) st = find_outputs(m, e, i, t);
  take_start_forces(e, i, t);
  take_usual_size(e, i, t);
  return st;
}

// Ends are in the order of parts; the two ends of a line refer to each other.
static cpl_status take_ends(cpli_tlm* m, const cpl_tlm_def* def, const translation* t) {
  cpl_context* ctx = m->base.base.ctx;
  int32_t* slot = cpli_alloc(ctx, 2 * (size_t)def->n_lines, sizeof *slot);
  cpl_status st = slot != NULL ? CPL_OK : cpli_nomem(ctx);
  for (int32_t part = 0; part < def->n_parts && st >= 0; part++) {
    m->parts[part].first_end = m->n_ends;
    for (int32_t i = 0; i < 2 * def->n_lines && st >= 0; i++) {
      const cpl_tlm_line* l = &def->lines[i / 2];
      if (def->interfaces[i % 2 == 0 ? l->from : l->to].part != part) continue;
      slot[i] = m->n_ends;
      st = take_end(m, def, l, i % 2 == 0, &t[part], &m->ends[m->n_ends++]);
    }
    m->parts[part].n_ends = m->n_ends - m->parts[part].first_end;
  }
  for (int32_t i = 0; i < 2 * def->n_lines && st >= 0; i++) m->ends[slot[i]].peer = slot[i ^ 1];
  cpli_free(ctx, slot);
  return st;
}

//------------------------------------ description ------------------------------------

static int32_t var_of_ref(const cpl_description* d, uint32_t ref) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].type == CPL_REAL && d->vars[i].ref == ref) return i;
  }
  return 0;
}

static cpl_status copy_map(cpli_tlm* m, const int32_t* first, const cpl_route* refs) {
  size_t n = (size_t)m->merged->desc.n_vars;
  int32_t* own = cpli_arena_alloc(&m->arena, n + 1, sizeof *own);
  cpl_route* copied = cpli_arena_alloc(&m->arena, (size_t)first[n], sizeof *copied);
  if (own == NULL || copied == NULL) return cpli_nomem(m->base.base.ctx);
  memcpy(own, first, (n + 1) * sizeof *own);
  if (first[n] > 0) memcpy(copied, refs, (size_t)first[n] * sizeof *copied);
  m->router.first = own;
  m->router.routes = copied;
  return CPL_OK;
}

static cpl_status describe(cpli_tlm* m, const cpl_tlm_def* def, const translation* t) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_merge_part* parts = cpli_alloc(ctx, (size_t)m->n_parts, sizeof *parts);
  cpl_master_link* links = cpli_alloc(ctx, (size_t)m->n_ends * CPLI_WIDTH, sizeof *links);
  cpl_status st = parts == NULL || links == NULL ? cpli_nomem(ctx) : CPL_OK;
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    parts[i] = (cpli_merge_part){m->parts[i].name, m->parts[i].s->base.desc,
                                 t[i].prefix != NULL || def->parts[i].plain_names};
  for (int32_t i = 0; i < m->n_ends && st >= 0; i++) {
    const cpli_tlm_end* e = &m->ends[i];
    for (int32_t k = 0; k < e->width && e->takes; k++)
      links[n++] = (cpl_master_link){
          .target_part = e->part,
          .target_var = var_of_ref(m->parts[e->part].s->base.desc, e->in_refs[k])};
  }
  if (st >= 0) st = cpli_merge(ctx, m->name, parts, m->n_parts, links, n, &m->merged);
  cpli_free(ctx, parts);
  cpli_free(ctx, links);
  if (st >= 0) m->router.routes = m->merged->routes;
  return st;
}

// Speeds at points inside of the solver's steps.
static cpl_status make_sampler(cpli_tlm* m, cpli_tlm_part* p) {
  size_t n = 0, most = (size_t)p->n_ends * CPLI_WIDTH;
  if (most == 0) return CPL_OK;
  uint32_t* refs = cpli_arena_alloc(&m->arena, most, sizeof *refs);
  p->sampled = cpli_arena_alloc(&m->arena, CPLI_NODES * most, sizeof *p->sampled);
  if (refs == NULL || p->sampled == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < p->n_ends; i++) {
    const cpli_tlm_end* e = &m->ends[p->first_end + i];
    for (int32_t k = 0; k < e->width && e->sends; k++) refs[n++] = e->out_refs[k];
  }
  p->n_sampled = n;
  return n > 0 ? cpli_sampler_create(p->inner, refs, n, &p->sampler) : CPL_OK;
}

static cpl_status make_samplers(cpli_tlm* m) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    if (m->parts[i].is_model) st = make_sampler(m, &m->parts[i]);
  return st;
}

cpl_status cpli_tlm_build(cpli_tlm* m, const cpl_tlm_def* def, const cpli_tlm_layout* layout) {
  cpl_context* ctx = m->base.base.ctx;
  translation* t = cpli_alloc(ctx, (size_t)def->n_parts, sizeof *t);
  cpl_status st = t == NULL ? cpli_nomem(ctx) : check_lines(m, def);
  st = take_parts(m, def, t, st);
  if (st >= 0) st = take_ends(m, def, t);
  if (st >= 0) st = make_samplers(m);
  if (st >= 0 && layout == NULL) st = describe(m, def, t);
  if (st >= 0 && layout != NULL) {
    m->merged = cpli_shared_desc_retain(layout->merged);
    st = copy_map(m, layout->first, layout->refs);
  }
  cpli_free(ctx, t);
  if (st >= 0) {
    m->base.base.desc = &m->merged->desc;
    m->router.n = (uint32_t)m->merged->desc.n_vars;
    m->router.forward = cpli_tlm_forward;
  }
  if (st >= 0 && def->processes) st = cpli_tlm_start_processes(m);
  if (st >= 0 && def->serve != NULL) st = cpli_remote_open(m, def);
  return st < 0 ? st : cpli_pool_create(m);
}
