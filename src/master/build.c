// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds a master from its definition: parts in the order of their names, outs and links in the
// order of the parts, the description of the whole, its capabilities.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread_pool.h"
#include "master/master.h"
#include "model/adopt.h"

void cpl_init_master_def(cpl_master_def* def, size_t size) {
  const cpl_master_def all = {.order = -1};
  cpli_init_def(def, size, &all, sizeof all);
}

typedef struct named {
  const char* name;
  int32_t index;
} named;

static int by_name(const void* x, const void* y) {
  return strcmp(((const named*)x)->name, ((const named*)y)->name);
}

// A part that predicts only some of its events does not count as predicting.
static void classify(cpli_master_part* p) {
  const cpl_component* c = &p->s->base;
  bool surprises = c->can.stops_early && c->desc->n_indicators > 0;
  p->can_restore = c->ops->save != NULL && c->can.save_restore;
  p->kind = p->s->ops->max_step != NULL && !surprises ? CPLI_PREDICTS
            : p->can_restore                          ? CPLI_ROLLS_BACK
                                                      : CPLI_LEGACY;
  const cpli_master* inner = cpli_as_master(p->s);
  p->samples = c->can.samples || (inner != NULL && inner->samples);
  p->follows = c->can.get_after_set;
}

// Takes the parts in the order of their names. *slot: the new index of each part of the definition.
static cpl_status take_parts(cpli_master* m, const cpl_master_def* def, int32_t* slot) {
  for (int32_t i = 0; i < def->n_parts; i++)
    m->parts[i].s = def->parts[i].stepper;  // owned by the master from here on
  named* order = cpli_alloc(m->base.base.ctx, (size_t)def->n_parts, sizeof *order);
  if (order == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < def->n_parts; i++)
    order[i] = (named){def->parts[i].stepper->base.name, i};
  qsort(order, (size_t)def->n_parts, sizeof *order, by_name);
  for (int32_t k = 0; k < def->n_parts; k++) {
    const cpl_master_part* from = &def->parts[order[k].index];
    slot[order[k].index] = k;
    m->parts[k] = (cpli_master_part){
        .s = from->stepper, .plain = from->plain_names, .step = from->step, .margin = NAN};
    m->parts[k].keeps_own = !from->stepper->base.can.variable_step;
    if (m->parts[k].keeps_own && m->parts[k].step == 0) m->parts[k].step = def->step;
    classify(&m->parts[k]);
    // truncating a polynomial to the derivatives a part takes gives a worse one than a lower order
    int32_t max_order = from->stepper->base.can.input_derivatives;
    bool cut = from->stepper->ops->set_curve != NULL && max_order < m->def.order;
    m->parts[k].order = cut ? max_order : m->def.order;
    m->parts[k].max_order = from->stepper->ops->set_curve == NULL || max_order > 3 ? 3 : max_order;
  }
  cpli_free(m->base.base.ctx, order);
  return CPL_OK;
}

typedef struct constant_input {
  int32_t part, link;
  uint32_t ref;
} constant_input;

typedef struct link_def {
  int32_t source, source_var, target, target_var;
  const char *source_name, *target_name;
  double factor, offset;
} link_def;

// Compares by name, because the variables of an aggregate are in the order of a file.
static int compare_ends(int32_t part_a, const char* name_a, int32_t var_a, int32_t part_b,
                        const char* name_b, int32_t var_b) {
  if (part_a != part_b) return part_a < part_b ? -1 : 1;
  int order = strcmp(name_a, name_b);
  return order != 0 ? order : var_a < var_b ? -1 : var_a > var_b;
}

static int by_source(const void* x, const void* y) {
  const link_def *a = x, *b = y;
  return compare_ends(a->source, a->source_name, a->source_var, b->source, b->source_name,
                      b->source_var);
}

static int by_target(const void* x, const void* y) {
  const link_def *a = x, *b = y;
  return compare_ends(a->target, a->target_name, a->target_var, b->target, b->target_name,
                      b->target_var);
}

static bool is_discrete(const cpl_variable* v) {
  return v->type != CPL_REAL || v->variability != CPL_VARIABILITY_CONTINUOUS;
}

// The variable that the derivative of an output is read from: the output itself where the stepper
// has an operation for it, or one that is declared as its derivative; NULL: there is none.
static const cpl_variable* derivative_of(const cpl_stepper* s, const cpl_variable* v) {
  const cpl_description* d = s->base.desc;
  if (is_discrete(v)) return NULL;
  if (s->ops->get_output_derivatives != NULL)
    return v->causality == CPL_CAUSALITY_OUTPUT ? v : NULL;
  for (int32_t i = 0; i < d->n_vars; i++) {
    int32_t of = d->vars[i].derivative_of;
    if (of >= 0 && d->vars[of].type == v->type && d->vars[of].ref == v->ref) return &d->vars[i];
  }
  return NULL;
}

static void add_outs(cpli_master* m, link_def* link_defs, int32_t n) {
  qsort(link_defs, (size_t)n, sizeof *link_defs, by_source);
  link_def last = {.source = -1, .source_name = ""};
  for (int32_t i = 0; i < n; i++) {
    bool another = by_source(&last, &link_defs[i]) != 0;
    last = link_defs[i];
    if (another) {
      cpli_master_part* p = &m->parts[link_defs[i].source];
      const cpl_variable* v = &p->s->base.desc->vars[link_defs[i].source_var];
      const cpl_variable* derivative = m->def.output_derivatives ? derivative_of(p->s, v) : NULL;
      if (p->n_outs++ == 0) p->first_out = m->n_outs;
      p->slopes = p->slopes || derivative != NULL;
      m->outs[m->n_outs++] = (cpli_out){.part = link_defs[i].source,
                                        .var = link_defs[i].source_var,
                                        .ref = v->ref,
                                        .type = v->type,
                                        .has_slope = derivative != NULL,
                                        .slope_ref = derivative != NULL ? derivative->ref : 0,
                                        .slope = NAN};
    }
    link_defs[i].source_var = m->n_outs - 1;  // from here on the index of the out
  }
}

static cpl_status add_links(cpli_master* m, link_def* link_defs, int32_t n) {
  qsort(link_defs, (size_t)n, sizeof *link_defs, by_target);
  for (int32_t i = 0; i < n; i++) {
    const link_def* w = &link_defs[i];
    cpli_master_part* p = &m->parts[w->target];
    const cpl_variable* v = &p->s->base.desc->vars[w->target_var];
    if (i > 0 && by_target(&link_defs[i - 1], w) == 0) {
      return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                         "%s.%s is connected twice", p->s->base.name, v->name);
    }
    if (v->type == CPL_BINARY && p->s->base.ops->set_binary == NULL)
      return cpl_fail_in(m->base.base.ctx, CPL_ERR_UNSUPPORTED, m->name, NULL, NAN,
                         "%s takes no Binary", p->s->base.name);
    if (p->n_links++ == 0) p->first_link = m->n_links;
    m->links[m->n_links++] =
        (cpli_master_link){.out = w->source_var,
                           .part = w->target,
                           .var = w->target_var,
                           .ref = v->ref,
                           .type = v->type,
                           .discrete = is_discrete(v),
                           .parameter = v->causality == CPL_CAUSALITY_PARAMETER,
                           .fixed = v->causality == CPL_CAUSALITY_PARAMETER &&
                                    v->variability < CPL_VARIABILITY_TUNABLE,
                           .sent = {.fresh = true},
                           .factor = w->factor != 0 ? w->factor : 1,
                           .offset = w->offset,
                           .nominal = v->nominal > 0 ? v->nominal : 1};
  }
  return CPL_OK;
}

static cpl_status take_links(cpli_master* m, const cpl_master_def* def, const int32_t* slot) {
  link_def* link_defs = cpli_alloc(m->base.base.ctx, (size_t)def->n_links, sizeof *link_defs);
  if (link_defs == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < def->n_links; i++) {
    const cpl_master_link* l = &def->links[i];
    const cpl_description *from = def->parts[l->source_part].stepper->base.desc,
                          *to = def->parts[l->target_part].stepper->base.desc;
    link_defs[i] = (link_def){.source = slot[l->source_part],
                              .source_var = l->source_var,
                              .target = slot[l->target_part],
                              .target_var = l->target_var,
                              .source_name = from->vars[l->source_var].name,
                              .target_name = to->vars[l->target_var].name,
                              .factor = l->factor,
                              .offset = l->offset};
  }
  add_outs(m, link_defs, def->n_links);
  cpl_status st = add_links(m, link_defs, def->n_links);
  cpli_free(m->base.base.ctx, link_defs);
  return st;
}

static int32_t link_at(const cpli_master* m, int32_t part, int32_t var) {
  const cpli_master_part* p = &m->parts[part];
  for (int32_t l = p->first_link; l < p->first_link + p->n_links; l++) {
    if (m->links[l].var == var) return l;
  }
  return -1;
}

static cpl_status take_bonds(cpli_master* m, const cpl_master_def* def, const int32_t* slot) {
  m->bonds = cpli_arena_alloc(&m->arena, (size_t)def->n_bonds, sizeof *m->bonds);
  if (m->bonds == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < def->n_bonds; i++) {
    const cpl_master_bond* b = &def->bonds[i];
    m->bonds[i].effort = link_at(m, slot[b->effort_part], b->effort_var);
    m->bonds[i].flow = link_at(m, slot[b->flow_part], b->flow_var);
    if (m->bonds[i].effort < 0 || m->bonds[i].flow < 0)
      return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                         "bond %d: both of its inputs must be connected", i + 1);
  }
  m->n_bonds = def->n_bonds;
  if (def->estimate == CPL_ESTIMATE_ENERGY && def->n_bonds == 0)
    return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                       "estimate: energy needs bonds, which name the inputs that carry power");
  return CPL_OK;
}

static cpl_status allocate_work(cpli_master* m) {
  cpli_arena* a = &m->arena;
  size_t longest = 1, nl = (size_t)m->n_links, no = (size_t)m->n_outs, np = (size_t)m->n_parts;
  bool fine = true;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    size_t n = (size_t)(p->n_links > p->n_outs ? p->n_links : p->n_outs);
    if (n > longest) longest = n;
    p->in_refs = cpli_arena_alloc(a, (size_t)p->n_links, sizeof *p->in_refs);
    p->in_values = cpli_arena_alloc(a, (size_t)p->n_links, sizeof *p->in_values);
    fine = fine && p->in_refs != NULL && p->in_values != NULL;
  }
  m->refs = cpli_arena_alloc(a, longest, sizeof *m->refs);
  m->reals = cpli_arena_alloc(a, longest, sizeof *m->reals);
  m->integers = cpli_arena_alloc(a, longest, sizeof *m->integers);
  m->strings = cpli_arena_alloc(a, longest, sizeof *m->strings);
  m->binaries = cpli_arena_alloc(a, longest, sizeof *m->binaries);
  m->work = cpli_arena_alloc(a, (size_t)m->max_torn * 43, sizeof *m->work);
  m->kept_links = cpli_arena_alloc(a, nl, sizeof *m->kept_links);
  m->kept_outs = cpli_arena_alloc(a, no, sizeof *m->kept_outs);
  m->assumed = cpli_arena_alloc(a, nl, sizeof *m->assumed);
  fine = fine && m->refs != NULL && m->reals != NULL && m->integers != NULL && m->strings != NULL &&
         m->binaries != NULL && m->work != NULL && m->kept_links != NULL && m->kept_outs != NULL &&
         m->assumed != NULL;
  cpl_context* ctx = m->base.base.ctx;
  m->threads = cpli_threads_of(ctx, m->def.threads, 0);
  m->threads_always = m->def.threads > 1 || cpli_context_slot(ctx)->threads > 1;
  if (m->threads > m->n_parts) m->threads = m->n_parts;
  for (int32_t i = 0; i < m->n_parts && fine; i++)
    m->n_remote += m->parts[i].s->base.can.remote > 0;
  if (fine && m->n_remote > 0) {
    const cpl_status st = cpli_stacks_join(ctx, m->n_remote);
    if (st < 0) return m->n_remote = 0, st;
  }
  if (fine && m->threads > 1) {
    m->errors = cpli_arena_alloc(a, np, sizeof *m->errors);
    fine = m->errors != NULL;
    if (fine) return cpli_thread_pool_join(ctx, m->threads, &m->pool);
  }
  return fine ? CPL_OK : cpli_nomem(m->base.base.ctx);
}

// A composed stepper has the capabilities that all of its parts have.
static void set_capabilities(cpli_master* m) {
  cpl_capabilities can = {.save_restore = true,
                          .serialize = true,
                          .variable_step = true,
                          .zero_step = true,
                          .stops_early = true,
                          .predicts = true,
                          .get_after_set = false,
                          .input_derivatives = 3};
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpl_capabilities* p = &m->parts[i].s->base.can;
    can.save_restore = can.save_restore && m->parts[i].can_restore;
    can.serialize =
        can.serialize && m->parts[i].can_restore && cpli_serial_can(&m->parts[i].s->base);
    can.predicts = can.predicts && m->parts[i].s->ops->max_step != NULL;
    can.once_per_process = can.once_per_process || p->once_per_process;
    can.needs_tool = can.needs_tool || p->needs_tool;
    can.own_thread = can.own_thread || p->own_thread;
    can.remote = can.remote > 0 || p->remote > 0;
    can.variable_step = can.variable_step && !m->parts[i].keeps_own;
    m->saves = m->saves || p->stops_early;
  }
  m->saves = m->saves || m->iterates || m->def.tolerance > 0 ||
             m->def.algorithm == CPL_MASTER_DETERMINATE || m->def.algorithm == CPL_MASTER_ITERATIVE;
  m->base.base.can = can;
  cpli_master_equip(m);
}

// Steppers that can neither be rolled back nor predict.
static cpl_status check_legacies(cpli_master* m) {
  enum { MAX_NAMED = 5 };
  char names[512] = "";
  size_t used = 0;
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (m->parts[i].kind != CPLI_LEGACY) continue;
    if (n < MAX_NAMED && used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", n > 0 ? ", " : "",
                               m->parts[i].s->base.name);
    n++;
  }
  if (n > MAX_NAMED && used < sizeof names) snprintf(names + used, sizeof names - used, ", ...");
  if (n < 2) return CPL_OK;
  if (m->def.strict)
    return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                       "%d steppers can neither be rolled back nor predict their steps; at most "
                       "one is allowed: %s",
                       n, names);
  if (m->saves)
    cpl_log(
        m->base.base.ctx, CPL_LOG_WARNING, m->name,
        "%d of %d steppers can neither be rolled back nor predict their steps, and the run ends "
        "when one of them rejects one (then try a shorter step): %s",
        n, m->n_parts, names);
  return CPL_OK;
}

// Comparing two half steps with one whole step needs rollback.
static cpl_status check_estimate(const cpli_master* m) {
  const char *why = "", *name;
  bool halves = m->def.tolerance > 0 && m->def.estimate == CPL_ESTIMATE_RICHARDSON;
  if (!halves || cpli_master_can_return(m)) return CPL_OK;
  name = cpli_master_without_return(m, &why);
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->name, NULL, NAN,
                     "estimate: richardson repeats steps, but %s %s; use estimate: predictor", name,
                     why);
}

// Reports inputs whose extrapolation has a lower order than requested.
static void warn_constant(const cpli_master* m, int32_t asked) {
  enum { MAX_NAMED = 5 };
  char names[1024] = "";
  size_t used = 0;
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_links && asked > 0; i++) {
    const cpli_master_link* l = &m->links[i];
    const cpl_component* c = &m->parts[l->part].s->base;
    if (l->discrete || l->parameter || c->can.samples) continue;
    int32_t order = m->parts[l->part].s->ops->set_curve != NULL ? c->can.input_derivatives : 0;
    if (order >= asked || n++ >= MAX_NAMED || used >= sizeof names) continue;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s.%s", n > 1 ? ", " : "",
                             c->name, c->desc->vars[l->var].name);
    if (order > 0 && used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, " (order %d)", (int)order);
  }
  if (n == 0) return;
  cpl_log(
      m->base.base.ctx, CPL_LOG_WARNING, m->name,
      "order: %d: models that take no curves of that order keep their inputs constant over each "
      "communication step: %s%s",
      (int)asked, names, n > MAX_NAMED ? ", ..." : "");
}

static void warn_no_slopes(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++)
    if (m->parts[i].slopes) return;
  cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->name,
          "output-derivatives: no model gives derivatives of outputs that are connected: inputs "
          "are extrapolated from values");
}

static cpl_status check_def(cpl_context* ctx, const cpl_master_def* def) {
  if (!(def->step >= 0) || !(def->tolerance >= 0) || !(def->min_step >= 0))
    return cpl_fail_in(ctx, CPL_ERR_INPUT, def->name, NULL, NAN,
                       "step and tolerance of a master must be positive");
  if (def->fixed_iterations < 0)
    return cpl_fail_in(ctx, CPL_ERR_INPUT, def->name, NULL, NAN,
                       "the fixed number of iterations is %d", def->fixed_iterations);
  if (def->order < -1 || def->order > 2)
    return cpl_fail_in(ctx, CPL_ERR_INPUT, def->name, NULL, NAN,
                       "the order of inputs is %d; it must be 0, 1 or 2", def->order);
  return CPL_OK;
}

static cpl_status describe(cpli_master* m) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_merge_part* parts = cpli_alloc(ctx, (size_t)m->n_parts, sizeof *parts);
  cpl_master_link* links = cpli_alloc(ctx, (size_t)m->n_links, sizeof *links);
  cpl_status st = parts == NULL || links == NULL ? cpli_nomem(ctx) : CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    const cpl_component* c = &m->parts[i].s->base;
    parts[i] = (cpli_merge_part){c->name, c->desc, m->parts[i].plain};
  }
  for (int32_t i = 0; i < m->n_links && st >= 0; i++)
    links[i] = (cpl_master_link){.source_part = m->outs[m->links[i].out].part,
                                 .source_var = m->outs[m->links[i].out].var,
                                 .target_part = m->links[i].part,
                                 .target_var = m->links[i].var};
  if (st >= 0) st = cpli_merge(ctx, m->name, parts, m->n_parts, links, m->n_links, &m->merged);
  cpli_free(ctx, parts);
  cpli_free(ctx, links);
  return st;
}

static int by_input(const void* x, const void* y) {
  const constant_input *a = x, *b = y;
  if (a->part != b->part) return a->part < b->part ? -1 : 1;
  return a->ref < b->ref ? -1 : a->ref > b->ref;
}

// Links into parts that take only values: these get the mean over a step.
static cpl_status find_constant(cpli_master* m) {
  cpl_context* ctx = m->base.base.ctx;
  constant_input* inputs = cpli_alloc(ctx, (size_t)m->n_links, sizeof *inputs);
  m->constant_links = cpli_arena_alloc(&m->arena, (size_t)m->n_links, sizeof *m->constant_links);
  if (inputs == NULL || m->constant_links == NULL) {
    cpli_free(ctx, inputs);
    return cpli_nomem(ctx);
  }
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    if (l->discrete || m->parts[l->part].s->ops->set_curve != NULL) continue;
    inputs[m->n_constant++] = (constant_input){l->part, i, l->ref};
  }
  qsort(inputs, (size_t)m->n_constant, sizeof *inputs, by_input);
  for (int32_t i = m->n_constant - 1; i >= 0; i--) {
    cpli_master_part* p = &m->parts[inputs[i].part];
    m->constant_links[i] = inputs[i].link;
    p->first_constant = i;
    p->n_constant++;
  }
  cpli_free(ctx, inputs);
  return CPL_OK;
}

static cpl_status fill(cpli_master* m, const cpl_master_def* def, int32_t* slot) {
  cpl_context* ctx = m->base.base.ctx;
  m->n_parts = def->n_parts;
  cpl_status st = take_parts(m, def, slot);
  if (st >= 0) st = check_def(ctx, def);
  m->outs = cpli_arena_alloc(&m->arena, (size_t)def->n_links, sizeof *m->outs);
  m->links = cpli_arena_alloc(&m->arena, (size_t)def->n_links, sizeof *m->links);
  if (st >= 0 && (m->outs == NULL || m->links == NULL)) st = cpli_nomem(ctx);
  if (st >= 0) st = take_links(m, def, slot);
  if (st >= 0) st = take_bonds(m, def, slot);
  if (st >= 0) st = find_constant(m);
  if (st >= 0 && m->merged == NULL) st = describe(m);
  if (st >= 0) m->base.base.desc = &m->merged->desc;
  if (st >= 0) st = cpli_master_plan(m);
  m->end_slopes = def->output_derivatives && m->def.order == 2 && !m->iterates;
  if (st >= 0) st = allocate_work(m);
  if (st >= 0) st = cpli_master_watch(m);
  if (st >= 0) set_capabilities(m);
  if (st >= 0) st = check_estimate(m);
  if (st >= 0) st = check_legacies(m);
  if (st >= 0) warn_constant(m, def->order);
  if (st >= 0 && def->output_derivatives) warn_no_slopes(m);
  return st;
}

cpl_status cpl_master(cpl_context* ctx, const cpl_master_def* given, cpl_stepper** out) {
  *out = NULL;
  cpl_master_def def = cpl_default_master_def();
  cpl_status st = cpli_read_def(ctx, "cpl_master_def", given, &def, sizeof def);
  return st < 0 ? st : cpli_master_create(ctx, &def, NULL, out);
}

cpl_status cpli_master_create(cpl_context* ctx, const cpl_master_def* def, cpli_shared_desc* merged,
                              cpl_stepper** out) {
  *out = NULL;
  cpl_status st = CPL_OK;
  cpli_master* m = cpli_alloc(ctx, 1, sizeof *m);
  int32_t* slot = cpli_alloc(ctx, (size_t)def->n_parts, sizeof *slot);
  if (m == NULL || slot == NULL) st = cpli_nomem(ctx);
  for (int32_t i = 0; i < def->n_parts && st >= 0; i++)
    st = cpli_adopt_stepper(def->parts[i].stepper);
  if (st >= 0) {
    cpli_arena_init(&m->arena, ctx);
    m->name = cpli_arena_strdup(&m->arena, def->name);
    m->parts = cpli_arena_alloc(&m->arena, (size_t)def->n_parts, sizeof *m->parts);
    if (m->name == NULL || m->parts == NULL) st = cpli_nomem(ctx), cpli_arena_free(&m->arena);
  }
  if (st < 0) {
    for (int32_t i = 0; i < def->n_parts; i++) cpli_discard(&def->parts[i].stepper->base);
    cpli_free(ctx, m);
    cpli_free(ctx, slot);
    return st;
  }
  m->def = *def;
  bool controlled = def->tolerance > 0, iterative = def->algorithm == CPL_MASTER_ITERATIVE;
  if (m->def.order < 0) m->def.order = controlled ? 2 : iterative ? 1 : 0;
  m->base = (cpl_stepper){.base = {.ops = &m->component_ops, .ctx = ctx, .name = m->name},
                          .ops = &m->stepper_ops};
  if (merged != NULL) m->merged = cpli_shared_desc_retain(merged);
  st = fill(m, def, slot);
  cpli_free(ctx, slot);
  if (st < 0) cpli_master_destroy(&m->base.base);
  else *out = &m->base;
  return st;
}
