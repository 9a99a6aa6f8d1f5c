// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The direction of connections, by the table of the standard: from the kind of a connector and its
// owner, which is the system that the connection stands in or an element of that system.
#include <stdio.h>

#include "system/ssp_flat.h"

typedef cpli_flat flat;
typedef cpli_flat_node node;
typedef cpli_flat_port port;
typedef cpli_flat_edge edge;

//------------------------------------ the table ------------------------------------

#define KIND(k) (1u << CPLI_SSP_##k)

enum { SYSTEM, ELEMENT, OWNERS };

// The kinds of destinations that are allowed for a source.
static const struct rule {
  int owner;
  cpli_ssp_connector_kind kind;
  unsigned to_system, to_element;
} rules[] = {
    {SYSTEM, CPLI_SSP_STRUCTURAL_PARAMETER, KIND(CALCULATED_PARAMETER) | KIND(OUTPUT) | KIND(LOCAL),
     KIND(STRUCTURAL_PARAMETER) | KIND(PARAMETER) | KIND(INPUT) | KIND(INOUT)},
    {SYSTEM, CPLI_SSP_PARAMETER, KIND(CALCULATED_PARAMETER) | KIND(OUTPUT) | KIND(LOCAL),
     KIND(PARAMETER) | KIND(INPUT) | KIND(INOUT)},
    {SYSTEM, CPLI_SSP_INPUT, KIND(OUTPUT) | KIND(LOCAL), KIND(INPUT) | KIND(INOUT)},
    {ELEMENT, CPLI_SSP_CONSTANT,
     KIND(CONSTANT) | KIND(CALCULATED_PARAMETER) | KIND(OUTPUT) | KIND(LOCAL),
     KIND(STRUCTURAL_PARAMETER) | KIND(PARAMETER) | KIND(INPUT) | KIND(INOUT)},
    {ELEMENT, CPLI_SSP_CALCULATED_PARAMETER,
     KIND(CALCULATED_PARAMETER) | KIND(OUTPUT) | KIND(LOCAL),
     KIND(PARAMETER) | KIND(INPUT) | KIND(INOUT)},
    {ELEMENT, CPLI_SSP_OUTPUT, KIND(OUTPUT) | KIND(LOCAL), KIND(INPUT) | KIND(INOUT)},
    {ELEMENT, CPLI_SSP_LOCAL, KIND(OUTPUT) | KIND(LOCAL), KIND(INPUT) | KIND(INOUT)},
    {ELEMENT, CPLI_SSP_INOUT, KIND(OUTPUT) | KIND(LOCAL), KIND(INPUT)},
};

// A connector that gives a value to the inside of the system, or takes one from there.
static bool gives(int owner, cpli_ssp_connector_kind kind) {
  const bool in =
      kind == CPLI_SSP_INPUT || kind == CPLI_SSP_PARAMETER || kind == CPLI_SSP_STRUCTURAL_PARAMETER;
  return kind == CPLI_SSP_INOUT || kind == CPLI_SSP_UNSPECIFIED || (owner == SYSTEM) == in;
}

static bool takes(int owner, cpli_ssp_connector_kind kind) {
  return kind == CPLI_SSP_INOUT || kind == CPLI_SSP_UNSPECIFIED || !gives(owner, kind);
}

static bool matches(cpli_ssp_connector_kind kind, cpli_ssp_connector_kind of_rule) {
  return kind == of_rule || kind == CPLI_SSP_UNSPECIFIED;
}

static bool is_allowed(int from_owner, cpli_ssp_connector_kind from, int to_owner,
                       cpli_ssp_connector_kind to) {
  for (size_t i = 0; i < CPLI_COUNT(rules); i++) {
    const struct rule* r = &rules[i];
    const unsigned kinds = to_owner == SYSTEM ? r->to_system : r->to_element;
    if (r->owner != from_owner || !matches(from, r->kind)) continue;
    if (to == CPLI_SSP_UNSPECIFIED ? kinds != 0 : (kinds & (1u << to)) != 0) return true;
  }
  return false;
}

//------------------------------------ edges ------------------------------------

typedef struct ends {
  port *a, *b;  // start and end
  int owner_a, owner_b;
} ends;

static cpl_status find_end(flat* f, node* system, const cpli_ssp_end* end,
                           const cpli_source_loc* loc, port** out, int* owner) {
  *owner = end->element == NULL ? SYSTEM : ELEMENT;
  *out = NULL;
  node* n = system;
  if (end->element != NULL) {
    const int32_t i = cpli_names_find(&system->child_names, end->element);
    if (i < 0)
      return cpli_flat_report(
          f, true, loc, "the connection names an element %s, which %s%s has not", end->element,
          system->path[0] != '\0' ? "system " : "the system", system->path);
    n = &system->children[i];
  }
  *out =
      *owner == SYSTEM ? cpli_flat_inside(n, end->connector) : cpli_flat_outside(n, end->connector);
  if (*out != NULL) return CPL_OK;
  return cpli_flat_report(f, true, loc, "the connection names a connector %s, which %s%s has not",
                          end->connector, n->path[0] != '\0' ? "" : "the system", n->path);
}

// Whether the value goes from the start to the end of the connection.
static cpl_status find_direction(flat* f, const ends* e, const cpli_source_loc* loc, bool* forward,
                                 bool* found) {
  const cpli_ssp_connector_kind a = e->a->kind, b = e->b->kind;
  const bool ab = is_allowed(e->owner_a, a, e->owner_b, b);
  const bool ba = is_allowed(e->owner_b, b, e->owner_a, a);
  *found = true;
  *forward = ab;
  if (ab != ba) return CPL_OK;
  if (ab)  // connectors of unspecified kinds
    return cpli_flat_report(f, false, loc,
                            "the kinds of %s (%s) and %s (%s) do not say which of them is the "
                            "source: it is the first",
                            e->a->full_name, cpli_ssp_kind_names[a], e->b->full_name,
                            cpli_ssp_kind_names[b]);
  const bool ab_flows = gives(e->owner_a, a) && takes(e->owner_b, b);
  const bool ba_flows = gives(e->owner_b, b) && takes(e->owner_a, a);
  *forward = ab_flows;
  *found = ab_flows != ba_flows;
  char where[CPLI_LOC_SIZE];
  if (*found)
    return cpli_flat_report(
        f, false, loc, "the standard has no connections of the kinds of %s (%s) and %s (%s)",
        e->a->full_name, cpli_ssp_kind_names[a], e->b->full_name, cpli_ssp_kind_names[b]);
  return cpli_flat_report(f, true, loc,
                          "%s (%s) and %s (%s) cannot be connected: %s. The second is declared at "
                          "%s...",
                          e->a->full_name, cpli_ssp_kind_names[a], e->b->full_name,
                          cpli_ssp_kind_names[b],
                          gives(e->owner_a, a) ? "both are sources" : "both need a source",
                          cpli_source_loc_text(&e->b->loc, where));
}

static bool same_element(const cpli_ssp_end* a, const cpli_ssp_end* b) {
  if (a == NULL || b == NULL || a->n_indices == 0 || b->n_indices == 0) return true;
  if (a->n_indices != b->n_indices) return false;
  return memcmp(a->indices, b->indices, a->n_indices * sizeof *a->indices) == 0;
}

static cpl_status driven_twice(flat* f, const port* sink, const edge* first, const edge* again) {
  char where[CPLI_LOC_SIZE];
  const cpli_source_loc* at =
      first->connection != NULL ? &first->connection->loc : &first->source->loc;
  return cpli_flat_report(f, true, &again->connection->loc,
                          "%s has two sources, %s and %s: the first connection is at %s...",
                          sink->full_name, first->source->full_name, again->source->full_name,
                          cpli_source_loc_text(at, where));
}

// An entry of a dictionary gets the value of the one reference that is connected to a source.
static cpl_status drive_entry(flat* f, port* reference, edge* e) {
  port* entry = reference->entry;
  if (entry == NULL) return CPL_OK;
  for (edge* other = entry->in; other != NULL; other = other->next) {
    if (!same_element(other->to, e->to)) continue;
    if (other->source == reference) return CPL_OK;
    edge shown = *other;
    if (other->source->in != NULL) shown = *other->source->in;
    return driven_twice(f, entry, &shown, e);
  }
  edge* in = cpli_def_array(f->def, 1, sizeof *in);
  if (in == NULL) return cpli_nomem(f->ctx);
  *in = (edge){.next = entry->in, .source = reference, .to = NULL};
  entry->in = in;
  return CPL_OK;
}

static cpl_status add_edge(flat* f, port* sink, edge item) {
  for (const edge* other = sink->in; other != NULL; other = other->next) {
    if (same_element(other->to, item.to)) return driven_twice(f, sink, other, &item);
  }
  edge* e = cpli_def_array(f->def, 1, sizeof *e);
  if (e == NULL) return cpli_nomem(f->ctx);
  *e = item;
  e->next = sink->in;
  sink->in = e;
  return sink->side == CPLI_FLAT_REFERENCE ? drive_entry(f, sink, e) : CPL_OK;
}

static cpl_status connect(flat* f, node* system, const cpli_ssp_connection* c) {
  ends e;
  bool forward = true, found = false;
  cpl_status st = find_end(f, system, &c->start, &c->loc, &e.a, &e.owner_a);
  if (st >= 0) st = find_end(f, system, &c->end, &c->loc, &e.b, &e.owner_b);
  if (st >= 0 && e.a != NULL && e.b != NULL) st = find_direction(f, &e, &c->loc, &forward, &found);
  if (st < 0 || !found) return st;
  return add_edge(f, forward ? e.b : e.a,
                  (edge){.source = forward ? e.a : e.b,
                         .connection = c,
                         .from = forward ? &c->start : &c->end,
                         .to = forward ? &c->end : &c->start});
}

static cpl_status connect_all(flat* f, node* n) {
  cpl_status st = CPL_OK;
  if (n->system == NULL) return CPL_OK;
  for (size_t i = 0; i < n->system->n_connections && st >= 0; i++)
    st = connect(f, n, &n->system->connections[i]);
  for (size_t i = 0; i < n->n_children && st >= 0; i++) st = connect_all(f, &n->children[i]);
  return st;
}

// A connector that is connected on neither of its sides, or outside only to what gets its value, is
// that of the inside, with its value.
static void drop_loose_sides(node* n) {
  for (size_t i = 0; i < n->n_outer; i++) {
    port *outside = &n->outer[i], *inside = cpli_flat_inside(n, outside->name);
    if (inside == NULL) continue;
    const bool goes_in = inside->in != NULL && inside->in->source == outside;
    if (goes_in ? outside->in != NULL : inside->in != NULL) continue;
    if (goes_in) inside->in = NULL;
    inside->is_hidden = false;
    outside->is_hidden = true;
  }
  for (size_t i = 0; i < n->n_children; i++) drop_loose_sides(&n->children[i]);
}

cpl_status cpli_flat_edges(flat* f) {
  cpl_status st = connect_all(f, &f->root);
  if (st >= 0) drop_loose_sides(&f->root);
  return st;
}
