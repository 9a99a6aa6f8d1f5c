// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From variables of the file to those of the description: an array becomes its elements, and each
// element gets a reference of its own with a slot that describes its meaning in the FMU.
#include <math.h>

#include "fmi/parse.h"
#include "format/scan.h"
#include "format/source_loc.h"

enum {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  MAX_ELEMENTS = 1 << 12,  // big arrays are slow and show nothing new
#else
  MAX_ELEMENTS = 1 << 22,
#endif
  MAX_DEPENDENCIES = 1 << 24,
  MAX_SIZES = 16,
};

#define WARN(p, line, rule, ...) \
  cpli_findings_add(&(p)->fmu->findings, CPLI_WARNING, line, rule, __VA_ARGS__)

//------------------------------------ map of references ------------------------------------

cpl_status cpli_refs_init(cpli_refs* map, cpl_context* ctx, size_t expected) {
  *map = (cpli_refs){.ctx = ctx, .cap = 16};
  while (map->cap < 2 * expected) map->cap *= 2;
  map->keys = cpli_alloc(ctx, map->cap, sizeof *map->keys);
  map->values = cpli_alloc(ctx, map->cap, sizeof *map->values);
  return map->keys != NULL && map->values != NULL ? CPL_OK : cpli_nomem(ctx);
}

void cpli_refs_free(cpli_refs* map) {
  if (map->ctx == NULL) return;
  cpli_free(map->ctx, map->keys);
  cpli_free(map->ctx, map->values);
  *map = (cpli_refs){0};
}

static size_t place_of(const cpli_refs* map, uint64_t key) {
  size_t k = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->cap - 1);
  while (map->keys[k] != 0 && map->keys[k] != key + 1) k = (k + 1) & (map->cap - 1);
  return k;
}

int32_t cpli_refs_add(cpli_refs* map, uint64_t key, int32_t value) {
  size_t k = place_of(map, key);
  if (map->keys[k] != 0) return map->values[k];
  map->keys[k] = key + 1;
  return map->values[k] = value;
}

int32_t cpli_refs_find(const cpli_refs* map, uint64_t key) {
  size_t k = place_of(map, key);
  return map->keys[k] != 0 ? map->values[k] : -1;
}

//------------------------------------ references to indices ------------------------------------

static const cpli_more* more_of(const cpli_parse* p, size_t draft) {
  static const cpli_more nothing = {0};
  int32_t more = p->var_drafts.items[draft].more;
  return more > 0 ? &p->mores.items[more - 1] : &nothing;
}

static cpl_status note_references(cpli_parse* p, cpli_refs* map) {
  cpl_status st = cpli_refs_init(map, p->ctx, p->vars.count);
  for (size_t i = 0; st >= 0 && i < p->vars.count; i++) {
    if (more_of(p, i)->alias_to > 0) continue;
    const cpl_variable* v = &p->vars.items[i];
    int32_t known = cpli_refs_add(map, v->ref, (int32_t)i);
    if (known == (int32_t)i) continue;
    WARN(p, v->line, "reference",
         "%.100s has the valueReference %u of %.100s (line %d): give it another one, or make it an "
         "<Alias> there",
         v->name, v->ref, p->vars.items[known].name, p->vars.items[known].line);
  }
  return st;
}

static void map_derivative(cpli_parse* p, const cpli_refs* map, size_t i) {
  const cpli_more* more = more_of(p, i);
  if (!more->has_derivative) return;
  int32_t state = cpli_refs_find(map, more->derivative);
  const cpl_variable* v = &p->vars.items[i];
  if (state < 0) {
    WARN(p, v->line, "state", "derivative=\"%u\" of %.100s: no variable has that valueReference",
         more->derivative, v->name);
  }
  p->var_drafts.items[i].derivative = state + 1;
}

// Rows of unknown variables leave, and so do dependencies on them.
static void map_row(cpli_parse* p, const cpli_refs* map, cpli_row_draft* r) {
  int32_t var = cpli_refs_find(map, (uint32_t)r->row.var);
  if (var < 0) {
    WARN(p, r->line, "reference",
         "valueReference=\"%u\" in <ModelStructure> belongs to no variable and is ignored",
         (uint32_t)r->row.var);
  }
  r->row.var = var + 1;
  int32_t kept = 0;
  for (int32_t k = 0; k < r->row.count; k++) {
    int32_t at = r->row.first + k;
    int32_t dep = cpli_refs_find(map, (uint32_t)p->deps.items[at]);
    if (dep < 0) {
      WARN(p, r->line, "reference", "dependencies: %u is no valueReference and is ignored",
           (uint32_t)p->deps.items[at]);
      continue;
    }
    p->deps.items[r->row.first + kept] = dep + 1;
    p->kinds.items[r->row.first + kept++] = p->kinds.items[at];
  }
  if (r->row.count > 0) r->row.count = kept;
}

cpl_status cpli_map_references(cpli_parse* p) {
  cpli_refs map;
  cpl_status st = note_references(p, &map);
  for (size_t i = 0; st >= 0 && i < p->vars.count; i++) map_derivative(p, &map, i);
  size_t kept = 0;
  for (size_t i = 0; st >= 0 && i < p->rows.count; i++) {
    map_row(p, &map, &p->rows.items[i]);
    if (p->rows.items[i].row.var > 0) p->rows.items[kept++] = p->rows.items[i];
  }
  if (st >= 0) p->rows.count = kept;
  cpli_refs_free(&map);
  return st;
}

//------------------------------------ sizes ------------------------------------

// The expansion: drafts on one side, elements on the other.
typedef struct expansion {
  cpli_parse* p;
  cpli_refs map;         // references to drafts
  cpl_variable* drafts;  // the variables as they stand in the file
  size_t n_drafts;
  int32_t *first, *count;  // elements of each draft
  int32_t* clock;          // of each draft in clocks; -1: none
  size_t n_elements;
} expansion;

static cpl_status fail_at(cpli_parse* p, int32_t line, const char* text, const char* name) {
  return cpli_fail_at(p->ctx, CPL_ERR_INPUT, &(cpli_source_loc){p->where, line}, "%.200s: %s", name,
                      text);
}

// Start values given by the user decide over those of the file.
static cpl_status size_structural(cpli_parse* p) {
  cpl_fmu* fmu = p->fmu;
  cpl_start* kept = cpli_arena_alloc(&fmu->arena, p->n_given, sizeof *kept);
  if (kept == NULL) return cpli_nomem(p->ctx);
  fmu->starts = kept;
  for (size_t k = 0; k < p->n_given; k++) {
    for (size_t i = 0; i < p->vars.count; i++) {
      cpl_variable* v = &p->vars.items[i];
      if (!v->structural || strcmp(v->name, p->given[k].name) != 0) continue;
      double x = 0;
      if (!cpli_parse_real(p->given[k].value, &x) || !cpli_fits(CPL_WIDTH_UINT32, x) ||
          x < v->min || x > v->max) {
        return cpli_fail_at(p->ctx, CPL_ERR_INPUT, &(cpli_source_loc){p->where, v->line},
                            "\"%.60s\" is no value of the structural parameter %.100s",
                            p->given[k].value, v->name);
      }
      v->start = x;
      v->has_start = true;
      kept[fmu->n_starts].name = cpli_arena_strdup(&fmu->arena, v->name);
      kept[fmu->n_starts].value = cpli_arena_strdup(&fmu->arena, p->given[k].value);
      if (kept[fmu->n_starts].name == NULL || kept[fmu->n_starts].value == NULL)
        return cpli_nomem(p->ctx);
      fmu->n_starts++;
    }
  }
  return CPL_OK;
}

static cpl_status size_of(const expansion* x, const cpl_variable* v, const cpli_size* size,
                          uint64_t* out) {
  cpli_parse* p = x->p;
  *out = size->number;
  if (!size->by_ref) return CPL_OK;
  int32_t i = cpli_refs_find(&x->map, size->ref);
  if (i < 0) return fail_at(p, v->line, "its <Dimension> refers to no variable", v->name);
  const cpl_variable* n = &x->drafts[i];
  if (n->type != CPL_INTEGER || (!n->structural && n->variability != CPL_VARIABILITY_CONSTANT)) {
    WARN(p, v->line, "array",
         "the size of %.100s is %.100s, which must be a structural parameter or a constant of type "
         "UInt64",
         v->name, n->name);
  }
  if (n->type == CPL_STRING || n->type == CPL_BINARY || !n->has_start || !(n->start >= 0) ||
      !(n->start < 0x1p63)) {
    return fail_at(p, v->line, "its <Dimension> refers to a variable that has no start value >= 0",
                   v->name);
  }
  *out = (uint64_t)n->start;
  return CPL_OK;
}

// The sizes of an array; more->n_sizes are written. *count is their product.
static cpl_status sizes_of(expansion* x, size_t draft, int32_t sizes[MAX_SIZES], int32_t* count) {
  cpli_parse* p = x->p;
  const cpli_more* more = more_of(p, draft);
  const cpl_variable* v = &x->drafts[draft];
  uint64_t total = 1;
  if (more->n_sizes > MAX_SIZES) return fail_at(p, v->line, "it has too many <Dimension>", v->name);
  for (int32_t k = 0; k < more->n_sizes; k++) {
    uint64_t n = 0;
    cpl_status st = size_of(x, v, &p->sizes.items[more->first_size + k], &n);
    if (st < 0) return st;
    if (n == 0 && p->fmu->n_starts == 0)
      WARN(p, v->line, "array", "%.100s has a <Dimension> of size 0: it must be positive", v->name);
    if (n > MAX_ELEMENTS) n = total = (uint64_t)MAX_ELEMENTS + 1;
    sizes[k] = (int32_t)n;
    total = total * n > MAX_ELEMENTS ? (uint64_t)MAX_ELEMENTS + 1 : total * n;
  }
  x->n_elements += total;
  if (x->n_elements > MAX_ELEMENTS) {
    return fail_at(p, v->line, "with it there are more elements of arrays than can be handled",
                   v->name);
  }
  *count = (int32_t)total;
  return CPL_OK;
}

//------------------------------------ elements ------------------------------------

// "x[1,2]", the last index running fastest.
static const char* element_name(cpli_parse* p, const char* name, const int32_t* sizes, int32_t n,
                                int32_t e) {
  char text[MAX_SIZES * 12 + 2];
  size_t at = sizeof text - 1;
  text[at] = '\0';
  text[--at] = ']';
  for (int32_t k = n - 1; k >= 0; k--) {
    int32_t index = e % sizes[k] + 1;
    for (e /= sizes[k]; index > 0; index /= 10) text[--at] = (char)('0' + index % 10);
    text[--at] = k > 0 ? ',' : '[';
  }
  size_t len = strlen(name), tail = strlen(text + at);
  char* all = cpli_arena_alloc(&p->fmu->arena, len + tail + 1, 1);
  if (all == NULL) return NULL;
  memcpy(all, name, len);
  memcpy(all + len, text + at, tail);
  return all;
}

static void element_start(const cpli_parse* p, const cpli_more* more, int32_t e, cpl_variable* v) {
  if (more->n_starts == 0) return;
  int32_t k = more->n_starts == 1 ? 0 : e;  // a single value is for all
  v->has_start = k < more->n_starts;
  if (!v->has_start) return;
  bool text = v->type == CPL_STRING || v->type == CPL_BINARY;
  if (text) v->start_text = p->start_texts.items[more->first_start + k];
  if (!text) v->start = p->starts.items[more->first_start + k];
}

// The reference of an element: a new slot, or that of the variable it is an alias of.
static bool element_ref(expansion* x, size_t draft, int32_t e, cpl_variable* v) {
  cpli_parse* p = x->p;
  const cpli_more* more = more_of(p, draft);
  if (more->alias_to > 0) {
    v->ref = p->vars.items[x->first[more->alias_to - 1] + e].ref;
    return true;
  }
  uint64_t space = v->type == CPL_ENUMERATION ? CPL_INTEGER : v->type;
  bool negated = p->var_drafts.items[draft].negated;
  uint32_t value_ref = x->drafts[draft].ref;
  if (p->fmu->version == 1) {  // aliases share their reference
    uint64_t key = (space << 33) | (uint64_t)negated << 32 | value_ref;
    int32_t known = cpli_refs_add(&x->map, key, (int32_t)p->slots.count);
    v->ref = (uint32_t)known;
    if (known < (int32_t)p->slots.count) return true;
  }
  cpli_slot* slot = CPLI_PUSH(p, p->slots);
  if (slot == NULL) return false;
  *slot = (cpli_slot){.value_ref = value_ref,
                      .element = e,
                      .count = x->count[draft],
                      .width = v->width,
                      .negated = negated};
  v->ref = (uint32_t)p->slots.count - 1;
  return true;
}

static bool add_array(cpli_parse* p, const cpl_variable* v, const int32_t* sizes, int32_t n,
                      int32_t count) {
  cpl_array* array = CPLI_PUSH(p, p->arrays);
  if (array == NULL) return false;
  *array = (cpl_array){.name = v->name,
                       .first = (int32_t)p->vars.count,
                       .count = count,
                       .sizes = cpli_freeze(p, sizes, (size_t)n, sizeof *sizes),
                       .n_sizes = n};
  return array->sizes != NULL;
}

static void check_starts(cpli_parse* p, const cpl_variable* v, const cpli_more* more,
                         int32_t count) {
  if (more->n_starts <= 1 || more->n_starts == count || p->fmu->n_starts > 0) return;
  WARN(p, v->line, "start", "%.100s has %d start values for %d elements", v->name, more->n_starts,
       count);
}

static cpl_status add_elements(expansion* x, size_t i) {
  cpli_parse* p = x->p;
  const cpli_more* more = more_of(p, i);
  // an alias has the sizes and start values of its variable
  size_t own = more->alias_to > 0 ? (size_t)more->alias_to - 1 : i;
  const cpli_more* shape = more_of(p, own);
  int32_t sizes[MAX_SIZES];
  cpl_status st = sizes_of(x, own, sizes, &x->count[i]);
  if (st < 0) return st;
  const cpl_variable* v = &x->drafts[i];
  int32_t n = shape->n_sizes;
  x->first[i] = (int32_t)p->vars.count;
  if (n > 0 && !add_array(p, v, sizes, n, x->count[i])) return cpli_nomem(p->ctx);
  if (own == i) check_starts(p, v, more, x->count[i]);
  for (int32_t e = 0; e < x->count[i]; e++) {
    cpl_variable one = *v;
    if (n > 0) {
      one.array = (int32_t)p->arrays.count;
      one.name = element_name(p, v->name, sizes, n, e);
      if (one.name == NULL) return cpli_nomem(p->ctx);
    }
    if (own == i || v->has_start) element_start(p, shape, e, &one);
    if (!element_ref(x, i, e, &one)) return cpli_nomem(p->ctx);
    cpl_variable* added = CPLI_PUSH(p, p->vars);
    if (added == NULL) return cpli_nomem(p->ctx);
    *added = one;
  }
  return CPL_OK;
}

static void link_derivatives(expansion* x, size_t i) {
  cpli_parse* p = x->p;
  int32_t state = x->drafts[i].derivative_of;
  if (state < 0) return;
  bool same = x->count[state] == x->count[i];
  if (!same) {
    WARN(p, x->drafts[i].line, "state",
         "%.100s is the derivative of %.100s, but has %d elements, not %d", x->drafts[i].name,
         x->drafts[state].name, x->count[i], x->count[state]);
  }
  for (int32_t e = 0; e < x->count[i]; e++)
    p->vars.items[x->first[i] + e].derivative_of = same ? x->first[state] + e : -1;
}

//------------------------------------ clocks and the rest ------------------------------------

static bool add_clocked(expansion* x, size_t i, const cpli_more* more) {
  cpli_parse* p = x->p;
  for (int32_t e = 0; e < x->count[i]; e++) {
    for (int32_t k = 0; k < more->n_clocks; k++) {
      int32_t var = cpli_refs_find(&x->map, p->clock_refs.items[more->first_clock + k]);
      if (var < 0 || x->clock[var] < 0) {
        if (e == 0) {
          WARN(p, x->drafts[i].line, "clock",
               "clocks of %.100s: %u is no valueReference of a Clock", x->drafts[i].name,
               p->clock_refs.items[more->first_clock + k]);
        }
        continue;
      }
      cpli_clocked* c = CPLI_PUSH(p, p->clocked);
      if (c == NULL) return false;
      *c = (cpli_clocked){.var = x->first[i] + e, .clock = x->clock[var]};
    }
  }
  return true;
}

static bool add_extra(expansion* x, size_t i, const cpli_more* more) {
  cpli_parse* p = x->p;
  bool any = more->has_previous || more->intermediate_update || more->mime_type != NULL ||
             more->max_size > 0;
  int32_t previous = more->has_previous ? cpli_refs_find(&x->map, more->previous) : -1;
  if (more->has_previous && (previous < 0 || x->count[previous] != x->count[i])) {
    WARN(p, x->drafts[i].line, "state",
         "previous=\"%u\" of %.100s: no variable of its shape has that valueReference",
         more->previous, x->drafts[i].name);
    previous = -1;
  }
  for (int32_t e = 0; any && e < x->count[i]; e++) {
    cpli_extra* extra = CPLI_PUSH(p, p->extras);
    if (extra == NULL) return false;
    *extra = (cpli_extra){.var = x->first[i] + e,
                          .previous = previous >= 0 ? x->first[previous] + e : -1,
                          .intermediate_update = more->intermediate_update,
                          .mime_type = more->mime_type,
                          .max_size = more->max_size};
  }
  return true;
}

static cpl_status add_clocks(expansion* x) {
  cpli_parse* p = x->p;
  for (size_t i = 0; i < x->n_drafts; i++) x->clock[i] = -1;
  for (size_t k = 0; k < p->clocks.count; k++) {
    cpli_clock* c = &p->clocks.items[k];
    if (x->count[c->var] != 1) {
      return fail_at(p, x->drafts[c->var].line, "a Clock cannot be an array",
                     x->drafts[c->var].name);
    }
    x->clock[c->var] = (int32_t)k;
    c->var = x->first[c->var];
    c->ref = p->vars.items[c->var].ref;
  }
  for (size_t i = 0; i < x->n_drafts; i++) {
    const cpli_more* more = more_of(p, i);
    if (!add_clocked(x, i, more) || !add_extra(x, i, more)) return cpli_nomem(p->ctx);
  }
  return CPL_OK;
}

//------------------------------------ structure ------------------------------------

// The dependencies of a row, written behind the others; its elements share them.
static bool expand_dependencies(expansion* x, const cpl_unknown* row, const int32_t* deps,
                                const uint8_t* kinds, cpl_unknown* out) {
  cpli_parse* p = x->p;
  *out = (cpl_unknown){.first = (int32_t)p->deps.count, .count = row->count};
  for (int32_t k = 0; k < row->count; k++) {
    int32_t draft = deps[row->first + k] - 1;
    for (int32_t e = 0; e < x->count[draft]; e++) {
      int32_t* dep = CPLI_PUSH(p, p->deps);
      uint8_t* kind = CPLI_PUSH(p, p->kinds);
      if (dep == NULL || kind == NULL) return false;
      *dep = x->first[draft] + e + 1;
      *kind = kinds[row->first + k];
    }
    if (p->deps.count > MAX_DEPENDENCIES) {  // as useful as "all"
      p->deps.count = p->kinds.count = (size_t)out->first;
      out->count = -1;
      return true;
    }
  }
  if (row->count >= 0) out->count = (int32_t)p->deps.count - out->first;
  return true;
}

static cpl_status expand_rows(expansion* x) {
  cpli_parse* p = x->p;
  cpli_row_draft* rows = p->rows.items;
  int32_t* deps = p->deps.items;
  uint8_t* kinds = p->kinds.items;
  size_t n = p->rows.count;
  memset(&p->rows, 0, sizeof p->rows);
  memset(&p->deps, 0, sizeof p->deps);
  memset(&p->kinds, 0, sizeof p->kinds);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    cpli_row_draft one = rows[i];
    int32_t draft = rows[i].row.var - 1;
    ok = expand_dependencies(x, &rows[i].row, deps, kinds, &one.row);
    for (int32_t e = 0; ok && e < x->count[draft]; e++) {
      cpli_row_draft* added = CPLI_PUSH(p, p->rows);
      ok = added != NULL;
      one.row.var = x->first[draft] + e + 1;
      if (ok) *added = one;
    }
  }
  cpli_free(p->ctx, rows);
  cpli_free(p->ctx, deps);
  cpli_free(p->ctx, kinds);
  return ok ? CPL_OK : cpli_nomem(p->ctx);
}

//------------------------------------ all of it ------------------------------------

static cpl_status begin_expansion(expansion* x) {
  cpli_parse* p = x->p;
  x->drafts = p->vars.items;
  x->n_drafts = p->vars.count;
  memset(&p->vars, 0, sizeof p->vars);
  x->first = cpli_alloc(p->ctx, x->n_drafts, sizeof *x->first);
  x->count = cpli_alloc(p->ctx, x->n_drafts, sizeof *x->count);
  x->clock = cpli_alloc(p->ctx, x->n_drafts, sizeof *x->clock);
  if (x->first == NULL || x->count == NULL || x->clock == NULL) return cpli_nomem(p->ctx);
  cpl_status st = cpli_refs_init(&x->map, p->ctx, x->n_drafts);
  for (size_t i = 0; st >= 0 && p->fmu->version == 3 && i < x->n_drafts; i++)
    if (more_of(p, i)->alias_to == 0) cpli_refs_add(&x->map, x->drafts[i].ref, (int32_t)i);
  return st;
}

cpl_status cpli_expand(cpli_parse* p) {
  expansion x = {.p = p};
  cpl_status st = size_structural(p);
  if (st < 0) return st;
  st = begin_expansion(&x);
  for (size_t i = 0; st >= 0 && i < x.n_drafts; i++) st = add_elements(&x, i);
  for (size_t i = 0; st >= 0 && i < x.n_drafts; i++) link_derivatives(&x, i);
  if (st >= 0) st = add_clocks(&x);
  if (st >= 0 && p->fmu->version == 3) st = expand_rows(&x);
  cpli_free(p->ctx, x.drafts);
  cpli_free(p->ctx, x.first);
  cpli_free(p->ctx, x.count);
  cpli_free(p->ctx, x.clock);
  cpli_refs_free(&x.map);
  return st;
}
