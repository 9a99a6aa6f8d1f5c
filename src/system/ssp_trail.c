// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Follows connections backwards through systems, components that are systems, and dictionaries.
#include "system/ssp_trail.h"

#include <stdio.h>

#include "format/number.h"
#include "system/transform.h"

typedef cpli_flat flat;
typedef cpli_flat_port port;
typedef cpli_flat_edge edge;
typedef cpli_flat_trail trail;

enum { LONGEST = 10000 };

static bool is_element(const cpli_ssp_end* end) { return end != NULL && end->n_indices > 0; }

static bool same_index(const cpli_ssp_end* end, cpli_flat_index index) {
  return end->n_indices == index.n &&
         memcmp(end->indices, index.at, index.n * sizeof *index.at) == 0;
}

// The edge by which a port, or an element of it, gets its value.
static const edge* edge_to(const port* p, cpli_flat_index index) {
  for (const edge* e = p->in; e != NULL; e = e->next)
    if (!is_element(e->to) || (index.n > 0 && same_index(e->to, index))) return e;
  return NULL;
}

static cpl_status push(flat* f, trail* t, const edge* e, port* sink) {
  const size_t cap = t->cap > 0 ? 2 * t->cap : 8;
  if (t->n == t->cap) {
    const edge** edges = cpli_alloc(f->ctx, cap, sizeof *edges);
    port** sinks = cpli_alloc(f->ctx, cap, sizeof(port*));
    if (edges == NULL || sinks == NULL) {
      cpli_free(f->ctx, edges);
      cpli_free(f->ctx, sinks);
      return cpli_nomem(f->ctx);
    }
    if (t->n > 0) memcpy(edges, t->edges, t->n * sizeof *edges);
    if (t->n > 0) memcpy(sinks, t->sinks, t->n * sizeof(port*));
    cpli_free(f->ctx, t->edges);
    cpli_free(f->ctx, t->sinks);
    t->edges = edges;
    t->sinks = sinks;
    t->cap = cap;
  }
  t->edges[t->n] = e;
  t->sinks[t->n++] = sink;
  return CPL_OK;
}

cpl_status cpli_flat_follow(flat* f, trail* t, port* sink, cpli_flat_index index) {
  static const edge to_entry = {0};
  t->sink = sink;
  t->sink_index = index;
  t->source = NULL;
  t->parts = NULL;
  t->n = 0;
  cpl_status st = CPL_OK;
  for (port* p = sink; st >= 0;) {
    const edge* e = edge_to(p, index);
    if (e == NULL && p->in != NULL && index.n == 0) {
      t->parts = p;
      return CPL_OK;
    }
    if (e == NULL && (p->side != CPLI_FLAT_REFERENCE || p->entry == NULL)) {
      t->source = p;
      t->source_index = index;
      return CPL_OK;
    }
    st = push(f, t, e != NULL ? e : &to_entry, p);
    if (e != NULL && (is_element(e->to) || is_element(e->from)))
      index = e->from != NULL ? (cpli_flat_index){e->from->indices, e->from->n_indices}
                              : (cpli_flat_index){0};
    p = e != NULL ? e->source : p->entry;
    if (st >= 0 && t->n > LONGEST) {
      cpli_source_loc loc = cpli_flat_trail_loc(t);
      return cpli_fail_at(f->ctx, CPL_ERR_INPUT, &loc,
                          "%s gets its value from connectors of systems that are connected in a "
                          "circle",
                          sink->full_name);
    }
  }
  return st;
}

void cpli_flat_trail_free(flat* f, trail* t) {
  cpli_free(f->ctx, t->edges);
  cpli_free(f->ctx, t->sinks);
}

cpli_source_loc cpli_flat_trail_loc(const trail* t) {
  for (size_t i = 0; i < t->n; i++)
    if (t->edges[i]->connection != NULL) return t->edges[i]->connection->loc;
  return t->sink->loc;
}

const char* cpli_flat_name(flat* f, const port* p, cpli_flat_index index) {
  char text[256];
  size_t n = 0;
  if (index.n == 0) return p->full_name;
  for (size_t i = 0; i < index.n && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", i > 0 ? "," : "",
                          (long long)index.at[i]);
  return cpli_flat_text(f, "%s[%s]", p->full_name, text);
}

cpli_ssp_type cpli_flat_trail_type(const trail* t) {
  if (t->source->type.given) return t->source->type;
  for (size_t i = t->n; i-- > 0;)
    if (t->sinks[i]->type.given) return t->sinks[i]->type;
  return (cpli_ssp_type){0};
}

static const cpli_ssp_transform* transform_of(const trail* t, size_t i) {
  const cpli_ssp_connection* c = t->edges[i]->connection;
  return c != NULL ? &c->transform : NULL;
}

bool cpli_flat_changes(const trail* t) {
  for (size_t i = 0; i < t->n; i++) {
    const cpli_ssp_transform* x = transform_of(t, i);
    if (x != NULL && x->kind != CPLI_SSP_IDENTITY) return true;
  }
  return false;
}

//------------------------------------ transformations ------------------------------------

static cpli_transform_step step_of(const trail* t, size_t i) {
  const cpli_ssp_transform* x = transform_of(t, i);
  const bool linear = x != NULL && x->kind == CPLI_SSP_LINEAR;
  return (cpli_transform_step){.unit = t->sinks[i]->unit,
                               .keep_units = x != NULL && x->keep_units,
                               .factor = linear ? x->factor : 1,
                               .offset = linear ? x->offset : 0};
}

// Whether units of variables alone decide.
static bool is_plain(const trail* t) {
  bool plain = t->source->unit == NULL;
  for (size_t i = 0; i < t->n && plain; i++) {
    const cpli_transform_step s = step_of(t, i);
    plain = s.unit == NULL && !s.keep_units && s.factor == 1 && s.offset == 0;
  }
  return plain;
}

// The steps from `first` edges before the sink on.
static cpl_status make_steps(flat* f, const trail* t, size_t first, const cpl_unit* unit,
                             const cpli_transform** out) {
  cpli_transform* x = cpli_def_array(f->def, 1, sizeof *x);
  cpli_transform_step* steps = cpli_def_array(f->def, first, sizeof *steps);
  if (x == NULL || steps == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < first; i++) steps[i] = step_of(t, first - 1 - i);
  *x = (cpli_transform){.unit = unit, .steps = steps, .n_steps = first};
  *out = x;
  return CPL_OK;
}

// A name as an operand of a map.
static const char* quoted(flat* f, const trail* t, const char* name, cpli_ssp_transform_kind map) {
  size_t n = 0;
  for (const char* p = name; *p != '\0'; p++) n += *p == '\'';
  char* text = cpli_def_array(f->def, strlen(name) + n + 3, 1);
  if (text == NULL) return NULL;
  char* at = text;
  *at++ = '\'';
  for (const char* p = name; *p != '\0'; p++) {
    *at++ = *p;
    if (*p == '\'') *at++ = '\'';
  }
  strcpy(at, "'");
  if (t->source->side == CPLI_FLAT_VARIABLE) return text;
  // inputs and parameters of a definition are Reals
  return cpli_flat_text(f, map == CPLI_SSP_BOOLEAN_MAP ? "(%s > 0.5)" : "round(%s)", text);
}

// The index of the map that is nearest to the sink, from 1; 0: there is none. A factor 0 forgets
// the source, as a map does.
static size_t last_map(const trail* t) {
  for (size_t i = 0; i < t->n; i++) {
    const cpli_ssp_transform* x = transform_of(t, i);
    if (x == NULL) continue;
    if (x->kind >= CPLI_SSP_BOOLEAN_MAP || (x->kind == CPLI_SSP_LINEAR && x->factor == 0))
      return i + 1;
  }
  return 0;
}

bool cpli_flat_maps(const trail* t) { return last_map(t) > 0; }

// What lies between the source and the edge i, which is a map.
static cpl_status map_text(flat* f, const trail* t, size_t i, const char* name, const char** out) {
  const cpli_ssp_transform* x = transform_of(t, i);
  if (x->kind == CPLI_SSP_LINEAR) {
    char number[CPLI_NUMBER_SIZE];
    cpli_format_double(number, x->offset);
    *out = cpli_flat_text(f, "(%s)", number);
    return *out != NULL ? CPL_OK : cpli_nomem(f->ctx);
  }
  const char* source = NULL;
  const cpli_ssp_enumeration* from = cpli_flat_enumeration(t->edges[i]->source);
  cpl_status st = CPL_OK;
  for (size_t k = i + 1; k < t->n && source == NULL && st >= 0; k++) {
    const cpli_ssp_transform* before = transform_of(t, k);
    if (before == NULL || before->kind == CPLI_SSP_IDENTITY) continue;
    if (before->kind == CPLI_SSP_LINEAR)
      return cpli_fail_at(f->ctx, CPL_ERR_INPUT, &t->edges[k]->connection->loc,
                          "a linear transformation before a map: %s is no Real",
                          t->sink->full_name);
    st = map_text(f, t, k, name, &source);
  }
  if (st >= 0 && source == NULL) source = quoted(f, t, name, x->kind);
  if (st >= 0 && source == NULL) st = cpli_nomem(f->ctx);
  if (st < 0) return st;
  if (from == NULL) from = cpli_flat_enumeration(t->source);
  return cpli_flat_map_text(f, x, source, from, cpli_flat_enumeration(t->sinks[i]),
                            &t->edges[i]->connection->loc, out);
}

// A constant in the unit of a connector, and a variable whose unit is not known here.
static cpl_status check_constant(flat* f, const trail* t, size_t map) {
  const cpl_unit* unit = NULL;
  for (size_t i = map + 1; i-- > 0;) {
    const cpli_transform_step s = step_of(t, i);
    if (s.keep_units || s.unit != NULL) unit = s.unit;
  }
  if (unit == NULL || t->sink->unit != NULL || t->sink->side != CPLI_FLAT_VARIABLE) return CPL_OK;
  if (transform_of(t, 0) != NULL && transform_of(t, 0)->keep_units) return CPL_OK;
  return cpli_flat_report(f, true, &t->edges[map]->connection->loc,
                          "the value that a factor 0 gives is in %s: the connector %s needs a "
                          "unit, too",
                          unit->name, t->sink->full_name);
}

// An expression: the map, and what the connections after it do.
static cpl_status expression(flat* f, const trail* t, size_t map, const char* name,
                             const char** out) {
  cpl_status st = map_text(f, t, map, name, out);
  if (st >= 0 && transform_of(t, map)->kind == CPLI_SSP_LINEAR) st = check_constant(f, t, map);
  const cpli_transform* rest = NULL;
  double factor = 1, offset = 0;
  if (st >= 0 && map > 0) st = make_steps(f, t, map, t->sinks[map]->unit, &rest);
  if (st < 0 || rest == NULL) return st;
  cpli_unit_clash clash;
  cpli_transform_compose(rest, NULL, NULL, false, &factor, &offset, &clash);
  if (clash.relation > CPLI_UNITS_CONVERT) {
    const cpli_source_loc loc = cpli_flat_trail_loc(t);
    st = cpli_flat_report(f, clash.relation == CPLI_UNITS_DIFFER, &loc,
                          "%s is not converted to %s on the way to %s", clash.from, clash.to,
                          t->sink->full_name);
  }
  if (st < 0) return st;
  if (factor == 1 && offset == 0) return CPL_OK;
  char a[CPLI_NUMBER_SIZE], b[CPLI_NUMBER_SIZE];
  cpli_format_double(a, factor);
  cpli_format_double(b, offset);
  *out = cpli_flat_text(f, "(%s)*%s + (%s)", a, *out, b);
  return *out != NULL ? CPL_OK : cpli_nomem(f->ctx);
}

cpl_status cpli_flat_source(flat* f, const trail* t, const char* name, const char** text,
                            const cpli_transform** transform) {
  const size_t map = last_map(t);
  *text = name;
  *transform = NULL;
  if (map > 0) return expression(f, t, map - 1, name, text);
  if (is_plain(t)) return CPL_OK;
  // inputs and parameters of the definition have units of their own
  const cpl_unit* unit = t->source->side == CPLI_FLAT_VARIABLE ? t->source->unit : NULL;
  return make_steps(f, t, t->n, unit, transform);
}
