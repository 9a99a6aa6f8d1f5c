// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Connections: what they lead to, where the bare ones come from, and whether the two fit.
#include <stdio.h>
#include <stdlib.h>

#include "system/resolve.h"
#include "system/transform.h"

//------------------------------------ declarations ------------------------------------

enum { DECLARATION = 400 };

// "left.y1 (Real output in m; pendulum.fmu, line 12)"
static const char* declaration(const cpli_resolver* r, int32_t model, int32_t var, char* out) {
  const cpl_source* source = r->models[model];
  const cpl_description* d = source->desc;
  const cpl_variable* v = &d->vars[var];
  char line[32] = "";
  if (v->line > 0) snprintf(line, sizeof line, ", line %d", v->line);
  const char* type = v->width != CPL_WIDTH_OWN && v->type <= CPL_INTEGER
                         ? cpl_width_name((cpl_width)v->width)
                         : cpl_type_name((cpl_type)v->type);
  snprintf(out, DECLARATION, "%s.%s (%s %s%s%s%s%s%s)", r->def->models[model].name.text, v->name,
           type, cpl_causality_name((cpl_causality)v->causality), v->unit >= 0 ? " in " : "",
           v->unit >= 0 ? d->units[v->unit].name : "", source->path != NULL ? "; " : "",
           source->path != NULL ? source->path : "", line);
  return out;
}

// "...: what: TARGET and SOURCE"
static cpl_status mismatch(const cpli_resolver* r, const cpli_link* link, const char* what,
                           bool convertible) {
  char target[DECLARATION], source[DECLARATION];
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &r->def->connections[link->connection].source.loc,
                      "%s: %s and %s%s", what, declaration(r, link->model, link->var, target),
                      declaration(r, link->source.model, link->source.index, source),
                      convertible ? " ({from: ..., convert: true} takes the number)" : "");
}

//------------------------------------ what fits ------------------------------------

static bool same_items(const cpl_description* a, const cpl_variable* v, const cpl_description* b,
                       const cpl_variable* w) {
  if (v->declared_type < 0 || w->declared_type < 0) return true;
  const cpl_type_def *s = &a->types[v->declared_type], *t = &b->types[w->declared_type];
  if (s->n_items != t->n_items) return false;
  for (int32_t i = 0; i < s->n_items; i++) {
    if (s->items[i].value != t->items[i].value || strcmp(s->items[i].name, t->items[i].name) != 0)
      return false;
  }
  return true;
}

static bool is_number(const cpl_variable* v) { return v->type <= CPL_ENUMERATION; }

// Integers from -2^below to 2^above are represented exactly.
typedef struct exact {
  int below, above;
} exact;

static exact exact_of(const cpl_variable* v) {
  static const exact of[] = {
      [CPL_WIDTH_FLOAT32] = {24, 24}, [CPL_WIDTH_FLOAT64] = {53, 53}, [CPL_WIDTH_INT8] = {7, 7},
      [CPL_WIDTH_UINT8] = {0, 8},     [CPL_WIDTH_INT16] = {15, 15},   [CPL_WIDTH_UINT16] = {0, 16},
      [CPL_WIDTH_INT32] = {31, 31},   [CPL_WIDTH_UINT32] = {0, 32},   [CPL_WIDTH_INT64] = {63, 63},
      [CPL_WIDTH_UINT64] = {0, 64},
  };
  int own = v->type == CPL_REAL ? CPL_WIDTH_FLOAT64 : CPL_WIDTH_INT32;
  return of[v->width == CPL_WIDTH_OWN ? own : v->width];
}

// Whether every value of the source is converted without loss.
static bool fits(const cpl_variable* source, const cpl_variable* target) {
  bool numbers = (source->type == CPL_REAL || source->type == CPL_INTEGER) &&
                 (target->type == CPL_REAL || target->type == CPL_INTEGER);
  if (!numbers) return source->type == target->type;
  if (source->type == CPL_REAL && target->type == CPL_INTEGER) return false;
  exact from = exact_of(source), to = exact_of(target);
  return from.below <= to.below && from.above <= to.above;
}

static void warn(const cpli_resolver* r, const cpli_link* link, const char* what) {
  char text[CPLI_LOC_SIZE], a[DECLARATION], b[DECLARATION];
  cpl_log(r->ctx, CPL_LOG_WARNING, "", "%s%s: %s and %s",
          cpli_source_loc_text(&r->def->connections[link->connection].source.loc, text), what,
          declaration(r, link->model, link->var, a),
          declaration(r, link->source.model, link->source.index, b));
}

// An Integer is the number of an item: nothing is lost there.
static void warn_of_loss(const cpli_resolver* r, const cpli_link* link, const cpl_variable* source,
                         const cpl_variable* target) {
  const bool items = (source->type == CPL_INTEGER && target->type == CPL_ENUMERATION) ||
                     (source->type == CPL_ENUMERATION && target->type <= CPL_INTEGER) ||
                     (source->type == CPL_BOOLEAN && target->type <= CPL_INTEGER);
  if (!items) warn(r, link, "the conversion can lose values");
}

static cpl_status check_types(const cpli_resolver* r, const cpli_link* link) {
  const cpl_description* d = r->models[link->model]->desc;
  const cpl_variable* target = &d->vars[link->var];
  const cpl_variable* source = cpli_ref_variable(r, link->source);
  if (source == NULL) {  // inputs and parameters of the system are numbers
    if (target->type != CPL_STRING && target->type != CPL_BINARY) return CPL_OK;
    char text[DECLARATION];
    const cpli_located_text* name = &r->def->connections[link->connection].source;
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &name->loc, "%s is a number, not a text for %s",
                        name->text, declaration(r, link->model, link->var, text));
  }
  bool convert = r->def->connections[link->connection].convert;
  if (!fits(source, target) && !(convert && is_number(source) && is_number(target))) {
    bool lost = target->type == source->type, numbers = is_number(source) && is_number(target);
    return mismatch(r, link, lost ? "the conversion can lose values" : "the types differ", numbers);
  }
  if (!fits(source, target) && r->def->connections[link->connection].warn_of_loss)
    warn_of_loss(r, link, source, target);
  const cpl_description* s = r->models[link->source.model]->desc;
  bool items = target->type == CPL_ENUMERATION && source->type == CPL_ENUMERATION;
  if (!items || same_items(s, source, d, target)) return CPL_OK;
  if (!convert) return mismatch(r, link, "the items of the Enumerations differ", true);
  if (r->def->connections[link->connection].warn_of_loss)
    warn(r, link, "the items of the Enumerations differ, and numbers are passed");
  return CPL_OK;
}

// The unit of what a reference names; NULL: it has none.
static const cpl_unit* unit_of(const cpli_resolver* r, cpli_ref ref) {
  if (ref.kind == CPLI_REF_INPUT && r->input_units != NULL) {
    const cpl_unit* unit = &r->input_units[ref.index];
    return unit->name != NULL ? unit : NULL;
  }
  if (ref.kind == CPLI_REF_PARAMETER) return r->def->parameters[ref.index].unit;
  const cpl_variable* v = cpli_ref_variable(r, ref);
  if (v == NULL || v->type != CPL_REAL || v->unit < 0) return NULL;
  return &r->models[ref.model]->desc->units[v->unit];
}

static bool is_difference(const cpli_resolver* r, cpli_ref ref) {
  const cpl_variable* v = cpli_ref_variable(r, ref);
  return v != NULL && v->relative_quantity;
}

// "the input T_room of the system (in K)", or the declaration of a variable
static const char* described(const cpli_resolver* r, cpli_ref ref, char* out) {
  if (ref.kind == CPLI_REF_VARIABLE) return declaration(r, ref.model, ref.index, out);
  const cpl_unit* unit = unit_of(r, ref);
  const char* name = ref.kind == CPLI_REF_INPUT       ? r->def->inputs[ref.index].name.text
                     : ref.kind == CPLI_REF_PARAMETER ? r->def->parameters[ref.index].name.text
                                                      : "";
  const char* what = ref.kind == CPLI_REF_INPUT       ? "the input "
                     : ref.kind == CPLI_REF_PARAMETER ? "the parameter "
                                                      : "an output";
  snprintf(out, DECLARATION, "%s%s of the system%s%s%s", what, name, unit != NULL ? " (in " : "",
           unit != NULL ? unit->name : "", unit != NULL ? ")" : "");
  return out;
}

cpl_status cpli_relate_refs(const cpli_resolver* r, const cpli_source_loc* loc, cpli_ref target,
                            cpli_ref source, double* factor, double* offset) {
  const cpl_unit *from = unit_of(r, source), *to = unit_of(r, target);
  *factor = 1;
  *offset = 0;
  if (from == NULL || to == NULL) return CPL_OK;
  bool difference = is_difference(r, source) || is_difference(r, target);
  cpli_unit_relation found = cpli_relate_units(from, to, difference, factor, offset);
  if (found == CPLI_UNITS_SAME || found == CPLI_UNITS_CONVERT) return CPL_OK;
  char text[CPLI_LOC_SIZE], a[DECLARATION], b[DECLARATION];
  described(r, target, a);
  described(r, source, b);
  if (found == CPLI_UNITS_DIFFER)
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, loc, "the units differ: %s and %s", a, b);
  cpl_log(r->ctx, CPL_LOG_WARNING, "", "%s%s, nothing is converted: %s and %s",
          cpli_source_loc_text(loc, text),
          found == CPLI_UNITS_ANGLE ? "the units differ in rad" : "the units cannot be compared", a,
          b);
  return CPL_OK;
}

// Units that a transformation meets on its way: different dimensions are an error.
static cpl_status check_clash(const cpli_resolver* r, const cpli_source_loc* loc, cpli_ref target,
                              cpli_ref source, const cpli_unit_clash* clash) {
  if (clash->relation <= CPLI_UNITS_CONVERT) return CPL_OK;
  char text[CPLI_LOC_SIZE], a[DECLARATION], b[DECLARATION];
  described(r, target, a);
  described(r, source, b);
  if (clash->relation == CPLI_UNITS_DIFFER)
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, loc, "%s cannot be converted to %s: %s and %s",
                        clash->from, clash->to, a, b);
  cpl_log(r->ctx, CPL_LOG_WARNING, "", "%s%s is not converted to %s, because %s: %s and %s",
          cpli_source_loc_text(loc, text), clash->from, clash->to,
          clash->relation == CPLI_UNITS_ANGLE ? "they differ in rad" : "one of them is unknown", a,
          b);
  return CPL_OK;
}

cpl_status cpli_transform_refs(const cpli_resolver* r, const cpli_source_loc* loc,
                               const cpli_transform* t, cpli_ref target, cpli_ref source,
                               double* factor, double* offset) {
  cpli_unit_clash clash;
  const bool difference = is_difference(r, source) || is_difference(r, target);
  const cpl_unit* to = target.kind != CPLI_REF_NONE ? unit_of(r, target) : NULL;
  cpli_transform_compose(t, unit_of(r, source), to, difference, factor, offset, &clash);
  return check_clash(r, loc, target, source, &clash);
}

// A factor and an offset are for Reals.
static cpl_status check_scaling(const cpli_resolver* r, const cpli_link* link) {
  const cpli_connection* c = &r->def->connections[link->connection];
  const cpl_variable* source = cpli_ref_variable(r, link->source);
  const cpl_variable* target = &r->models[link->model]->desc->vars[link->var];
  const bool real = target->type == CPL_REAL && (source == NULL || source->type == CPL_REAL);
  if (real || !cpli_transform_scales(c->transform)) return CPL_OK;
  char text[DECLARATION];
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &c->source.loc,
                      "a factor and an offset need Reals: %s and %s",
                      declaration(r, link->model, link->var, text), c->source.text);
}

static cpl_status check_units(const cpli_resolver* r, cpli_link* link) {
  const cpli_connection* c = &r->def->connections[link->connection];
  cpli_ref target = {CPLI_REF_VARIABLE, link->model, link->var};
  if (c->transform != NULL) {
    cpl_status st = check_scaling(r, link);
    return st < 0 ? st
                  : cpli_transform_refs(r, &c->source.loc, c->transform, target, link->source,
                                        &link->factor, &link->offset);
  }
  if (c->keep_units) return CPL_OK;
  return cpli_relate_refs(r, &c->source.loc, target, link->source, &link->factor, &link->offset);
}

// Parameters that are numbers, too: before time starts, tunable ones also at events. Those that
// give arrays their sizes are needed earlier.
static bool can_be_connected(const cpl_variable* v) {
  if (v->causality == CPL_CAUSALITY_INPUT) return true;
  return v->causality == CPL_CAUSALITY_PARAMETER && v->variability >= CPL_VARIABILITY_FIXED &&
         !v->structural && is_number(v);
}

static cpl_status check_target(cpli_resolver* r, const cpli_located_text* target, cpli_ref* out) {
  char text[DECLARATION];
  cpl_status st = cpli_resolver_require(r, target, out);
  if (st < 0) return st;
  const cpl_variable* v = cpli_ref_variable(r, *out);
  if (v == NULL)
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &target->loc,
                        "%s is no input of a model, so nothing can be connected to it",
                        target->text);
  if (can_be_connected(v)) return CPL_OK;
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &target->loc,
                      "only inputs and parameters can be connected to something, not %s",
                      declaration(r, out->model, out->index, text));
}

// The array of a model that a text names; NULL: none.
static const cpl_array* find_array(const cpli_resolver* r, const char* text, int32_t* model) {
  const char* name;
  *model = cpli_split_name(r->def, text, &name);
  if (*model < 0) return NULL;
  const cpl_description* d = r->models[*model]->desc;
  for (int32_t i = 0; i < d->n_arrays; i++) {
    if (strcmp(d->arrays[i].name, name) == 0) return &d->arrays[i];
  }
  return NULL;
}

// "2 x 3"
static const char* sizes_of(const cpl_array* array, char* out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int32_t i = 0; i < array->n_sizes && used < size; i++) {
    used += (size_t)snprintf(out + used, size - used, "%s%d", i > 0 ? " x " : "", array->sizes[i]);
  }
  return out;
}

static cpl_status check_arrays(const cpli_resolver* r, const cpli_connection* c,
                               const cpl_array* to, const cpl_array* from) {
  bool same = to->n_sizes == from->n_sizes;
  for (int32_t i = 0; i < to->n_sizes && same; i++) same = to->sizes[i] == from->sizes[i];
  if (same) return CPL_OK;
  char a[64], b[64];
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &c->source.loc,
                      "the sizes of the arrays differ: %s has %s and %s has %s", c->target.text,
                      sizes_of(to, a, sizeof a), c->source.text, sizes_of(from, b, sizeof b));
}

static cpl_status finish_link(cpli_resolver* r, cpli_link* link) {
  cpl_status st = check_types(r, link);
  return st < 0 ? st : check_units(r, link);
}

static cpl_status resolve_link(cpli_resolver* r, size_t i, cpli_link* link) {
  const cpli_connection* c = &r->def->connections[i];
  cpli_ref target;
  *link = (cpli_link){.connection = (int32_t)i, .factor = 1, .source = {CPLI_REF_NONE, -1, -1}};
  cpl_status st = check_target(r, &c->target, &target);
  link->model = target.model;
  link->var = target.index;
  if (st < 0 || c->source.text == NULL) return st;
  if (cpli_resolver_find(r, c->source.text, &link->source)) return finish_link(r, link);
  if (c->transform == NULL) return CPL_OK;
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &c->source.loc,
                      "%s is no variable: factor and offset belong into the expression",
                      c->source.text);
}

// The arrays a connection joins as a whole, when both of its texts name arrays.
typedef struct joined {
  const cpl_array *to, *from;
  int32_t to_model, from_model;
} joined;

static bool joins_arrays(const cpli_resolver* r, const cpli_connection* c, joined* j) {
  *j = (joined){NULL, NULL, -1, -1};
  if (c->source.text == NULL) return false;
  j->to = find_array(r, c->target.text, &j->to_model);
  if (j->to != NULL) j->from = find_array(r, c->source.text, &j->from_model);
  return j->from != NULL;
}

// One link per element.
static cpl_status join_arrays(cpli_resolver* r, size_t i, const joined* j, cpli_link* links) {
  const cpli_connection* c = &r->def->connections[i];
  cpl_status st = check_arrays(r, c, j->to, j->from);
  const cpl_variable* vars = r->models[j->to_model]->desc->vars;
  for (int32_t k = 0; k < j->to->count && st >= 0; k++) {
    char text[DECLARATION];
    links[k] = (cpli_link){.connection = (int32_t)i,
                           .model = j->to_model,
                           .var = j->to->first + k,
                           .source = {CPLI_REF_VARIABLE, j->from_model, j->from->first + k},
                           .factor = 1};
    if (!can_be_connected(&vars[links[k].var])) {
      return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &c->target.loc,
                          "only inputs and parameters can be connected to something, not %s",
                          declaration(r, j->to_model, links[k].var, text));
    }
    st = finish_link(r, &links[k]);
  }
  return st;
}

//------------------------------------ order of targets ------------------------------------

typedef struct target_order {
  int32_t model, var, item;
} target_order;

static int compare_targets(const void* a, const void* b) {
  const target_order *x = a, *y = b;
  if (x->model != y->model) return x->model < y->model ? -1 : 1;
  if (x->var != y->var) return x->var < y->var ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static int32_t first_alias(const cpli_resolver* r, int32_t model, int32_t var) {
  const cpl_variable* v = &r->models[model]->desc->vars[var];
  return v->alias_of >= 0 ? v->alias_of : var;
}

static cpl_status connected_twice(const cpli_resolver* r, const cpli_link* first,
                                  const cpli_link* again) {
  const cpli_located_text* a = &r->def->connections[first->connection].target;
  const cpli_located_text* b = &r->def->connections[again->connection].target;
  char loc[CPLI_LOC_SIZE];
  size_t n = strlen(cpli_source_loc_text(&a->loc, loc));
  if (n > 2) loc[n - 2] = '\0';
  bool alias = strcmp(a->text, b->text) != 0;
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &b->loc, "%s is connected twice%s%s%s%s%s", b->text,
                      n > 0 ? ", first at " : "", loc, alias ? " as " : "", alias ? a->text : "",
                      alias ? ", which is the same input" : "");
}

static cpl_status sort_targets(cpli_links* links, const cpli_resolver* r) {
  target_order* order = cpli_alloc(r->ctx, links->count, sizeof *order);
  if (order == NULL) return cpli_nomem(r->ctx);
  for (size_t i = 0; i < links->count; i++) {
    const cpli_link* link = &links->items[i];
    order[i] = (target_order){link->model, first_alias(r, link->model, link->var), (int32_t)i};
  }
  cpli_sort(order, links->count, sizeof *order, compare_targets);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < links->count && st >= 0; i++) {
    links->by_target[i] = order[i].item;
    if (i > 0 && order[i].model == order[i - 1].model && order[i].var == order[i - 1].var)
      st = connected_twice(r, &links->items[order[i - 1].item], &links->items[order[i].item]);
  }
  cpli_free(r->ctx, order);
  return st;
}

cpl_status cpli_links_init(cpli_links* links, cpli_resolver* r) {
  size_t n = r->def->n_connections, total = 0, at = 0;
  joined j;
  for (size_t i = 0; i < n; i++) {
    total += joins_arrays(r, &r->def->connections[i], &j) ? (size_t)j.to->count : 1;
  }
  *links = (cpli_links){.ctx = r->ctx, .count = total};
  links->items = cpli_alloc(r->ctx, total, sizeof *links->items);
  links->by_target = cpli_alloc(r->ctx, total, sizeof *links->by_target);
  if (links->items == NULL || links->by_target == NULL) return cpli_nomem(r->ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    bool arrays = joins_arrays(r, &r->def->connections[i], &j);
    st = arrays ? join_arrays(r, i, &j, &links->items[at]) : resolve_link(r, i, &links->items[at]);
    at += arrays ? (size_t)j.to->count : 1;
  }
  return st < 0 ? st : sort_targets(links, r);
}

void cpli_links_free(cpli_links* links) {
  if (links->ctx == NULL) return;
  cpli_free(links->ctx, links->items);
  cpli_free(links->ctx, links->by_target);
  *links = (cpli_links){0};
}

int32_t cpli_links_find(const cpli_links* links, const cpli_resolver* r, int32_t model,
                        int32_t var) {
  target_order wanted = {model, first_alias(r, model, var), 0};
  size_t low = 0, high = links->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const cpli_link* link = &links->items[links->by_target[middle]];
    target_order here = {link->model, first_alias(r, link->model, link->var), 0};
    int side = compare_targets(&here, &wanted);
    if (side == 0) return links->by_target[middle];
    if (side < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}
