// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Descriptions can have wrong dependencies, and an output that depends on an undeclared input would
// be read before that input is set: silently old by one evaluation. So before the run starts every
// coupled input is moved once, and a component whose outputs contradict its description is treated
// as fully dependent.
#include <math.h>

#include "aggregate/aggregate.h"
#include "model/sparsity.h"

static bool is_mine(const cpli_node* node, int32_t part, cpli_node_kind kind) {
  return node->part == part && node->kind == kind && node->type == CPL_REAL && !node->discrete;
}

// Nodes of one component: range in a list sorted by component.
typedef struct share {
  int32_t first, count;
} share;

static bool declared(const cpli_aggregate* a, const cpli_node* output, int32_t input_var) {
  const cpl_description* d = a->parts[output->part].m->base.desc;
  const cpl_structure* s = &d->structure;
  int32_t from = cpli_root_variable(d, input_var), to = cpli_root_variable(d, output->var);
  for (int32_t i = 0; i < s->n_outputs; i++) {
    const cpl_unknown* u = &s->outputs[i];
    if (cpli_root_variable(d, u->var) != to) continue;
    if (u->count < 0) return true;
    for (int32_t k = 0; k < u->count; k++) {
      if (cpli_root_variable(d, s->deps[u->first + k]) == from) return true;
    }
    return false;
  }
  return true;  // not in the structure: counts as depending on everything already
}

static cpl_status read_outputs(cpli_aggregate* a, const int32_t* nodes, share mine, double* out) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < mine.count && st == CPL_OK; i++) {
    const cpli_node* node = &a->nodes[nodes[mine.first + i]];
    cpl_component* c = &a->parts[node->part].m->base;
    if (node->kind == CPLI_NODE_OUTPUT) st = c->ops->get_real(c, &node->ref, 1, &out[i]);
  }
  return st;
}

// Moves one input and compares the outputs. A failed evaluation gives no result.
static cpl_status try_input(cpli_aggregate* a, const int32_t* nodes, share mine,
                            const cpli_node* input, double at, const double* base, double* moved) {
  cpli_part* part = &a->parts[input->part];
  cpl_component* c = &part->m->base;
  const cpl_variable* v = &c->desc->vars[input->var];
  double there = at + 1e-3 * fmax(fabs(at), v->nominal);
  cpl_status st = c->ops->set_real(c, &input->ref, 1, &there);
  if (st == CPL_OK) st = read_outputs(a, nodes, mine, moved);
  for (int32_t i = 0; i < mine.count && st == CPL_OK && !part->distrusted; i++) {
    const cpli_node* output = &a->nodes[nodes[mine.first + i]];
    if (output->kind != CPLI_NODE_OUTPUT || moved[i] == base[i] || declared(a, output, input->var))
      continue;
    part->distrusted = true;
    cpl_log(c->ctx, CPL_LOG_WARNING, c->name,
            "%s follows %s, although the description says it does not: every output of this model "
            "is now taken to "
            "depend on every input",
            c->desc->vars[output->var].name, v->name);
  }
  if (st < 0) return st;
  cpl_status back = c->ops->set_real(c, &input->ref, 1, &at);
  return back < 0 ? back : CPL_OK;
}

static cpl_status verify_part(cpli_aggregate* a, const int32_t* nodes, share mine, double* base,
                              double* moved) {
  cpl_status st = read_outputs(a, nodes, mine, base);
  for (int32_t i = 0; i < mine.count && st == CPL_OK; i++) {
    const cpli_node* node = &a->nodes[nodes[mine.first + i]];
    if (node->kind == CPLI_NODE_INPUT)
      st = try_input(a, nodes, mine, node, a->value[nodes[mine.first + i]], base, moved);
  }
  return st < 0 ? st : CPL_OK;
}

// Nodes sorted by component.
static void sort(const cpli_aggregate* a, int32_t* nodes, share* shares) {
  int32_t n = 0;
  for (int32_t pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < a->n_nodes; i++) {
      const cpli_node* node = &a->nodes[i];
      if (node->part < 0 || !(is_mine(node, node->part, CPLI_NODE_INPUT) ||
                              is_mine(node, node->part, CPLI_NODE_OUTPUT)))
        continue;
      share* s = &shares[node->part];
      if (pass == 0) s->count++;
      else nodes[s->first + s->count++] = i;
    }
    for (int32_t k = 0; k < a->n_parts && pass == 0; k++) {
      shares[k].first = n;
      n += shares[k].count;
      shares[k].count = 0;
    }
  }
}

cpl_status cpli_aggregate_verify(cpli_aggregate* a, bool* distrust) {
  cpl_context* ctx = a->base.base.ctx;
  int32_t* nodes = cpli_alloc(ctx, (size_t)a->n_nodes, sizeof *nodes);
  share* shares = cpli_alloc(ctx, (size_t)a->n_parts, sizeof *shares);
  double* values = cpli_alloc(ctx, 2 * (size_t)a->n_nodes, sizeof *values);
  cpl_status st = nodes != NULL && shares != NULL && values != NULL ? CPL_OK : cpli_nomem(ctx);
  *distrust = false;
  if (st >= 0) sort(a, nodes, shares);
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    if (a->parts[k].m->base.desc->structure.origin != CPL_ORIGIN_DECLARED) continue;
    st = verify_part(a, nodes, shares[k], values, values + a->n_nodes);
    *distrust = *distrust || a->parts[k].distrusted;
  }
  cpli_free(ctx, nodes);
  cpli_free(ctx, shares);
  cpli_free(ctx, values);
  return st;
}
