// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Turns the drafts of the parser into the description: names, aliases, units, types, defaults of
// variability and initial, states and dependencies. A value that the standard forbids is corrected,
// with a finding, where its meaning is clear.
#include <math.h>

#include "fmi/parse.h"
#include "format/source_loc.h"
#include "model/description.h"

//------------------------------------ helpers ------------------------------------

CPL_PRINTF(3, 4)
static cpl_status fail_at(cpli_parse* p, int32_t line, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char* text = cpli_vprintf(p->ctx, fmt, args);
  va_end(args);
  if (text == NULL) return cpli_nomem(p->ctx);
  cpl_status st =
      cpli_fail_at(p->ctx, CPL_ERR_INPUT, &(cpli_source_loc){p->where, line}, "%s", text);
  cpli_free(p->ctx, text);
  return st;
}

// A copy in the FMU's arena, NULL when the list is empty; `*failed` when out of memory.
void* cpli_freeze(cpli_parse* p, const void* items, size_t count, size_t size) {
  if (count == 0) return NULL;
  void* copy = cpli_arena_alloc(&p->fmu->arena, count, size);
  if (copy == NULL) {
    p->no_memory = true;
    return NULL;
  }
  memcpy(copy, items, count * size);
  return copy;
}

#define WARN(p, line, rule, ...) \
  cpli_findings_add(&(p)->fmu->findings, CPLI_WARNING, line, rule, __VA_ARGS__)

//------------------------------------ names and aliases ------------------------------------

static cpl_status resolve_names(cpli_parse* p) {
  cpl_status st = cpli_names_init(&p->fmu->names, p->ctx, p->vars.count);
  if (st < 0) return st;
  for (size_t i = 0; i < p->vars.count; i++) {
    const cpl_variable* v = &p->vars.items[i];
    int32_t known = cpli_names_add(&p->fmu->names, v->name, (int32_t)i);
    if (known == CPL_ERR_NOMEM) return cpli_nomem(p->ctx);
    if (known == (int32_t)i) continue;
    if (v->causality == CPL_CAUSALITY_LOCAL) {
      WARN(p, v->line, "name",
           "there are two variables named %.200s; the name is that of the first, in line %d, and "
           "this one cannot be reached by its name",
           v->name, p->vars.items[known].line);
    } else {
      return fail_at(p, v->line, "there are two variables named %.200s; the first is in line %d",
                     v->name, p->vars.items[known].line);
    }
  }
  return CPL_OK;
}

// Integers and Enumerations share one space of references, as they share get and set.
static uint64_t ref_key(const cpl_variable* v) {
  uint64_t space = v->type == CPL_ENUMERATION ? CPL_INTEGER : v->type;
  return space << 32 | v->ref;
}

static cpl_status resolve_aliases(cpli_parse* p) {
  cpli_refs map;
  cpl_status st = cpli_refs_init(&map, p->ctx, p->vars.count);
  for (size_t i = 0; st >= 0 && i < p->vars.count; i++) {
    int32_t known = cpli_refs_add(&map, ref_key(&p->vars.items[i]), (int32_t)i);
    if (known != (int32_t)i) p->vars.items[i].alias_of = known;
  }
  cpli_refs_free(&map);
  return st;
}

//------------------------------------ units and types ------------------------------------

static cpl_status index_units(cpli_parse* p, cpli_names* map) {
  cpl_status st = cpli_names_init(map, p->ctx, p->units.count);
  for (size_t i = 0; st >= 0 && i < p->units.count; i++) {
    if (p->units.items[i].display_of >= 0) continue;
    int32_t known = cpli_names_add(map, p->units.items[i].name, (int32_t)i);
    if (known == CPL_ERR_NOMEM) return cpli_nomem(p->ctx);
    if (known != (int32_t)i)
      WARN(p, 0, "unit", "unit %.60s is defined twice", p->units.items[i].name);
  }
  return st;
}

static cpl_status index_types(cpli_parse* p, cpli_names* map) {
  cpl_status st = cpli_names_init(map, p->ctx, p->types.count);
  for (size_t i = 0; st >= 0 && i < p->types.count; i++) {
    const cpli_type_draft* t = &p->types.items[i];
    if (!(t->range.given & CPLI_HAS_TYPE)) {
      WARN(p, t->line, "type", "type %.100s has no <Real>, <Integer>, ... inside and is ignored",
           t->def.name);
      continue;
    }
    int32_t known = cpli_names_add(map, t->def.name, (int32_t)i);
    if (known == CPL_ERR_NOMEM) return cpli_nomem(p->ctx);
    if (known != (int32_t)i) WARN(p, t->line, "type", "type %.100s is defined twice", t->def.name);
  }
  return st;
}

// Units that are used but not defined get an entry, so that their name is not lost.
static int32_t find_unit(cpli_parse* p, cpli_names* map, const char* name, int32_t line) {
  int32_t unit = cpli_names_find(map, name);
  if (unit >= 0) return unit;
  cpl_unit* added = CPLI_PUSH(p, p->units);
  if (added == NULL || cpli_names_add(map, name, (int32_t)p->units.count - 1) < 0) {
    p->no_memory = true;
    return -1;
  }
  *added = (cpl_unit){.name = name, .factor = 1, .display_of = -1};
  if (p->fmu->version != 1) {  // where only units with display units are defined
    WARN(p, line, "unit", "unit \"%.60s\" is used but not defined: add it to <UnitDefinitions>",
         name);
  }
  return (int32_t)p->units.count - 1;
}

// The display units of a unit follow it.
static int32_t find_display_unit(const cpli_parse* p, int32_t unit, const char* name) {
  for (size_t i = (size_t)unit + 1; i < p->units.count; i++) {
    if (p->units.items[i].display_of != unit) break;
    if (strcmp(p->units.items[i].name, name) == 0) return (int32_t)i;
  }
  return -1;
}

static void inherit(cpl_variable* v, cpli_var_draft* d, const cpli_range* r) {
  if (d->unit == NULL) d->unit = r->unit;
  if (d->display_unit == NULL) d->display_unit = r->display_unit;
  if (v->quantity == NULL) v->quantity = r->quantity;
  uint8_t take = r->given & (uint8_t)~d->given;
  if (take & CPLI_HAS_MIN) v->min = r->min;
  if (take & CPLI_HAS_MAX) v->max = r->max;
  if (take & CPLI_HAS_NOMINAL) v->nominal = r->nominal;
  if (take & CPLI_HAS_RELATIVE) v->relative_quantity = r->relative;
  if (take & CPLI_HAS_UNBOUNDED) v->unbounded = r->unbounded;
  d->given |= take;
}

static void resolve_type(cpli_parse* p, const cpli_names* types, cpl_variable* v,
                         cpli_var_draft* d) {
  if (d->declared_type == NULL) {
    if (v->type == CPL_ENUMERATION) {
      WARN(p, v->line, "type", "Enumeration %.100s has no declaredType with its items", v->name);
    }
    return;
  }
  int32_t t = cpli_names_find(types, d->declared_type);
  if (t < 0) {
    WARN(p, v->line, "type",
         "type \"%.100s\" of %.100s is not defined: add it to <TypeDefinitions>", d->declared_type,
         v->name);
    return;
  }
  const cpli_type_draft* type = &p->types.items[t];
  if (type->def.type != v->type) {
    WARN(p, v->line, "type", "%.100s is %s, but its declared type %.100s is %s; it is ignored",
         v->name, cpl_type_name((cpl_type)v->type), type->def.name, cpl_type_name(type->def.type));
    return;
  }
  v->declared_type = t;
  inherit(v, d, &type->range);
}

static void resolve_unit(cpli_parse* p, cpli_names* units, cpl_variable* v,
                         const cpli_var_draft* d) {
  if (d->unit != NULL && d->unit[0] != '\0') v->unit = find_unit(p, units, d->unit, v->line);
  if (d->display_unit == NULL || d->display_unit[0] == '\0') return;
  if (v->unit < 0) {
    WARN(p, v->line, "unit", "%.100s has displayUnit \"%.60s\" but no unit", v->name,
         d->display_unit);
    return;
  }
  v->display_unit = find_display_unit(p, v->unit, d->display_unit);
  if (v->display_unit < 0 && d->unit != NULL && strcmp(d->display_unit, d->unit) != 0) {
    WARN(p, v->line, "unit", "displayUnit \"%.60s\" of %.100s is not defined below unit \"%.60s\"",
         d->display_unit, v->name, d->unit);
  }
}

//------------------------------ causality, variability, initial ------------------------------

// The values of `initial` that the standard allows for a causality and a variability.
typedef struct initial_rule {
  bool legal;
  uint8_t normal;   // cpl_initial when not given
  uint8_t allowed;  // bits: 1 << cpl_initial
} initial_rule;

static initial_rule initial_of(cpl_causality causality, cpl_variability variability) {
  enum { E = 1 << CPL_INITIAL_EXACT, A = 1 << CPL_INITIAL_APPROX, C = 1 << CPL_INITIAL_CALCULATED };
  const initial_rule exact = {true, CPL_INITIAL_EXACT, E};
  const initial_rule computed = {true, CPL_INITIAL_CALCULATED, A | C};
  const initial_rule any = {true, CPL_INITIAL_CALCULATED, E | A | C};
  const initial_rule none = {true, CPL_INITIAL_NONE, 0};
  const initial_rule illegal = {false, CPL_INITIAL_NONE, 0};
  bool set_once = variability == CPL_VARIABILITY_FIXED || variability == CPL_VARIABILITY_TUNABLE;
  bool moves = variability == CPL_VARIABILITY_DISCRETE || variability == CPL_VARIABILITY_CONTINUOUS;
  switch (causality) {
    case CPL_CAUSALITY_PARAMETER: return set_once ? exact : illegal;
    case CPL_CAUSALITY_CALCULATED_PARAMETER: return set_once ? computed : illegal;
    case CPL_CAUSALITY_INPUT: return moves ? none : illegal;
    case CPL_CAUSALITY_OUTPUT:
      return variability == CPL_VARIABILITY_CONSTANT ? exact : moves ? any : illegal;
    case CPL_CAUSALITY_LOCAL:
      return variability == CPL_VARIABILITY_CONSTANT ? exact : moves ? any : computed;
    case CPL_CAUSALITY_INDEPENDENT:
      return variability == CPL_VARIABILITY_CONTINUOUS ? none : illegal;
  }
  return illegal;
}

// Missing attributes follow from the others; invalid ones are corrected where their meaning is
// clear and kept otherwise: the FMU may still run.
static void resolve_variability(cpli_parse* p, cpl_variable* v, const cpli_var_draft* d) {
  if (p->fmu->version == 1) return;  // causality was chosen to go with it
  bool given = d->given & CPLI_HAS_VARIABILITY;
  bool is_parameter =
      v->causality == CPL_CAUSALITY_PARAMETER || v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER;
  if (!given) v->variability = CPL_VARIABILITY_CONTINUOUS;
  if (v->variability == CPL_VARIABILITY_CONTINUOUS && v->type != CPL_REAL) {
    // also when not given: the standard's default is continuous for all types
    v->variability = CPL_VARIABILITY_DISCRETE;
    if (given || !is_parameter) {
      WARN(p, v->line, "variability",
           "%.100s is %s and cannot be continuous%s; it is taken as discrete: write "
           "variability=\"discrete\"",
           v->name, cpl_type_name((cpl_type)v->type), given ? "" : " (the default)");
    }
  }
  cpl_causality causality = (cpl_causality)v->causality;
  if (initial_of(causality, (cpl_variability)v->variability).legal) return;
  uint8_t mended = v->variability;
  if (is_parameter && v->variability != CPL_VARIABILITY_CONSTANT)
    mended = given ? CPL_VARIABILITY_TUNABLE : CPL_VARIABILITY_FIXED;
  if (v->causality == CPL_CAUSALITY_INDEPENDENT) mended = CPL_VARIABILITY_CONTINUOUS;
  WARN(p, v->line, "variability", "%.100s: causality %s does not go with variability %s%s%s",
       v->name, cpl_causality_name(causality),
       cpl_variability_name((cpl_variability)v->variability),
       mended != v->variability ? "; it is taken as " : "",
       mended != v->variability ? cpl_variability_name((cpl_variability)mended) : "");
  v->variability = mended;
}

static void resolve_initial(cpli_parse* p, cpl_variable* v, const cpli_var_draft* d) {
  if (p->fmu->version == 1) return;  // follows from start and fixed
  static const char* const names[] = {"none", "exact", "approx", "calculated"};
  initial_rule rule = initial_of((cpl_causality)v->causality, (cpl_variability)v->variability);
  if (!rule.legal)
    rule.normal =
        v->causality == CPL_CAUSALITY_PARAMETER || v->variability == CPL_VARIABILITY_CONSTANT
            ? CPL_INITIAL_EXACT
        : v->causality == CPL_CAUSALITY_INPUT ? CPL_INITIAL_NONE
                                              : CPL_INITIAL_CALCULATED;
  if (!(d->given & CPLI_HAS_INITIAL)) {
    v->initial = rule.normal;
    return;
  }
  if (!rule.legal || (rule.allowed & (1 << v->initial))) return;
  if (p->fmu->version == 3 && v->causality == CPL_CAUSALITY_INPUT &&
      v->initial == CPL_INITIAL_EXACT) {
    v->initial = CPL_INITIAL_NONE;  // FMI 3.0 has exact where FMI 2.0 has no value
    return;
  }
  WARN(p, v->line, "initial",
       "%.100s: initial %s is not allowed for causality %s, variability %s: "
       "%s",
       v->name, names[v->initial], cpl_causality_name((cpl_causality)v->causality),
       cpl_variability_name((cpl_variability)v->variability),
       rule.allowed == 0 ? "leave it out" : "the usual one is used");
  v->initial = rule.normal;
}

static cpl_status resolve_variable(cpli_parse* p, cpli_names* units, const cpli_names* types,
                                   size_t i) {
  cpl_variable* v = &p->vars.items[i];
  cpli_var_draft* d = &p->var_drafts.items[i];
  resolve_type(p, types, v, d);
  resolve_unit(p, units, v, d);
  resolve_variability(p, v, d);
  resolve_initial(p, v, d);
  v->has_nominal = d->given & CPLI_HAS_NOMINAL;
  if (v->has_nominal && !(fabs(v->nominal) >= 1e-300 && isfinite(v->nominal))) {
    WARN(p, v->line, "nominal", "nominal of %.100s must be positive and is ignored", v->name);
    v->has_nominal = false;
    v->nominal = 1;
  }
  v->nominal = fabs(v->nominal);
  if (d->derivative > 0) {
    if ((size_t)d->derivative > p->vars.count) {
      return fail_at(p, v->line, "derivative=\"%d\" of %.100s: there are only %zu variables",
                     d->derivative, v->name, p->vars.count);
    }
    v->derivative_of = d->derivative - 1;
  }
  return CPL_OK;
}

// No chain of derivatives leads back to where it began. `seen` has the number of the walk that came
// by, so that each variable is passed once.
static cpl_status check_derivatives(cpli_parse* p) {
  const size_t n = p->vars.count;
  int32_t* seen = cpli_alloc(p->ctx, n, sizeof *seen);
  if (seen == NULL) return cpli_nomem(p->ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < n; i++) {
    int32_t at = (int32_t)i;
    for (; at >= 0 && seen[at] == 0; at = p->vars.items[at].derivative_of)
      seen[at] = (int32_t)i + 1;
    if (at < 0 || seen[at] != (int32_t)i + 1 || p->vars.items[at].derivative_of == at) continue;
    st = fail_at(p, p->vars.items[at].line, "%.100s is a derivative of itself, through %.100s",
                 p->vars.items[at].name, p->vars.items[p->vars.items[at].derivative_of].name);
  }
  cpli_free(p->ctx, seen);
  return st;
}

static cpl_status resolve_variables(cpli_parse* p) {
  cpli_names units = {0}, types = {0};
  cpl_status st = index_units(p, &units);
  if (st >= 0) st = index_types(p, &types);
  for (size_t i = 0; st >= 0 && i < p->vars.count; i++) {
    st = resolve_variable(p, &units, &types, i);
    if (p->no_memory) st = cpli_nomem(p->ctx);
  }
  cpli_names_free(&units);
  cpli_names_free(&types);
  return st;
}

//------------------------------------ structure ------------------------------------

static cpl_status check_rows(cpli_parse* p) {
  for (size_t i = 0; i < p->rows.count; i++) {
    cpli_row_draft* r = &p->rows.items[i];
    if ((size_t)r->row.var > p->vars.count) {
      return fail_at(p, r->line, "index=\"%d\": there are only %zu variables", r->row.var,
                     p->vars.count);
    }
    r->row.var--;
    for (int32_t k = 0; k < r->row.count; k++) {
      int32_t dep = p->deps.items[r->row.first + k];
      if ((size_t)dep > p->vars.count) {
        return fail_at(p, r->line, "dependencies: %d is no variable; there are only %zu", dep,
                       p->vars.count);
      }
    }
  }
  for (size_t k = 0; k < p->deps.count; k++) p->deps.items[k]--;  // rows of an array share them
  return CPL_OK;
}

// The rows of one list in order; `extra` leaves room for rows to be added.
static cpl_unknown* collect(cpli_parse* p, int list, size_t extra, int32_t* n) {
  cpl_unknown* rows = cpli_arena_alloc(&p->fmu->arena, p->rows.count + extra, sizeof(cpl_unknown));
  *n = 0;
  if (rows == NULL) p->no_memory = true;
  for (size_t i = 0; rows != NULL && i < p->rows.count; i++)
    if (p->rows.items[i].list == list) rows[(*n)++] = p->rows.items[i].row;
  return rows;
}

// Every output is listed once: other variables and duplicates are removed, missing outputs added.
static void resolve_outputs(cpli_parse* p, bool* seen) {
  cpl_structure* s = &p->fmu->desc.structure;
  size_t n_outputs = 0;
  for (size_t i = 0; i < p->vars.count; i++)
    n_outputs += p->vars.items[i].causality == CPL_CAUSALITY_OUTPUT;
  int32_t n = 0, kept = 0;
  cpl_unknown* rows = collect(p, CPLI_OUTPUTS, n_outputs, &n);
  if (rows == NULL) return;
  for (int32_t i = 0; i < n; i++) {
    const cpl_variable* v = &p->vars.items[rows[i].var];
    if (v->causality != CPL_CAUSALITY_OUTPUT || seen[rows[i].var]) {
      WARN(p, v->line, "structure", "%.100s stands in <Outputs> %s", v->name,
           v->causality != CPL_CAUSALITY_OUTPUT ? "but its causality is not output" : "twice");
      continue;
    }
    seen[rows[i].var] = true;
    rows[kept++] = rows[i];
  }
  for (size_t i = 0; i < p->vars.count; i++) {
    const cpl_variable* v = &p->vars.items[i];
    if (v->causality != CPL_CAUSALITY_OUTPUT || seen[i]) continue;
    if (p->fmu->version != 1) {
      WARN(p, v->line, "structure", "output %.100s is missing in <%s> of <ModelStructure>", v->name,
           p->fmu->version == 2 ? "Outputs" : "Output");
    }
    rows[kept++] = (cpl_unknown){.var = (int32_t)i, .count = -1};
  }
  s->outputs = rows;
  s->n_outputs = kept;
}

// Without any list the derivative attributes define the states of a model; a derivative of an input
// or of a second name of a state is no state. Where other lists are given, none of derivatives
// means none: Dymola's models with inline integration have derivative attributes but no states.
static cpl_unknown* guess_derivatives(cpli_parse* p, bool* seen, int32_t* n) {
  cpl_unknown* rows = cpli_arena_alloc(&p->fmu->arena, p->vars.count, sizeof *rows);
  *n = 0;
  if (rows == NULL) p->no_memory = true;
  for (size_t i = 0; rows != NULL && i < p->vars.count; i++) {
    const cpl_variable* v = &p->vars.items[i];
    if (v->derivative_of < 0 || v->type != CPL_REAL) continue;
    const cpl_variable* x = &p->vars.items[v->derivative_of];
    int32_t first = x->alias_of >= 0 ? x->alias_of : v->derivative_of;
    if (x->type != CPL_REAL || x->variability != CPL_VARIABILITY_CONTINUOUS || seen[first])
      continue;
    if (x->causality != CPL_CAUSALITY_LOCAL && x->causality != CPL_CAUSALITY_OUTPUT) continue;
    seen[first] = true;
    rows[(*n)++] = (cpl_unknown){.var = (int32_t)i, .count = -1};
  }
  if (*n > 0) {
    WARN(p, p->structure_line, "structure",
         "<Derivatives> is missing in <ModelStructure>; %d states are taken from the derivative "
         "attributes",
         *n);
  }
  return rows;
}

// FMI 1.0 gives the number of states, but not their variables.
static void hide_states(cpli_parse* p) {
  cpl_description* d = &p->fmu->desc;
  int32_t* hidden = cpli_arena_alloc(&p->fmu->arena, (size_t)d->n_states, sizeof *hidden);
  if (hidden == NULL) p->no_memory = true;
  for (int32_t i = 0; hidden != NULL && i < d->n_states; i++) hidden[i] = -1;
  d->states = d->derivatives = hidden;
}

static void resolve_states(cpli_parse* p, bool* seen) {
  cpl_description* d = &p->fmu->desc;
  int32_t n = 0;
  if (p->fmu->version == 1) {
    hide_states(p);
    return;
  }
  bool listed = false;
  for (int k = 0; k < CPLI_N_LISTS; k++) listed = listed || p->has_list[k];
  cpl_unknown* rows = listed || !p->fmu->me.present ? collect(p, CPLI_DERIVATIVES, 0, &n)
                                                    : guess_derivatives(p, seen, &n);
  int32_t* states = cpli_arena_alloc(&p->fmu->arena, (size_t)n, sizeof *states);
  int32_t* derivatives = cpli_arena_alloc(&p->fmu->arena, (size_t)n, sizeof *derivatives);
  if (rows == NULL || states == NULL || derivatives == NULL) {
    p->no_memory = true;
    return;
  }
  for (int32_t i = 0; i < n; i++) {
    derivatives[i] = rows[i].var;
    states[i] = p->vars.items[rows[i].var].derivative_of;
  }
  d->structure.derivatives = rows;
  d->structure.n_derivatives = n;
  d->states = states;
  d->derivatives = derivatives;
  d->n_states = n;
}

// FMI 1.0 names the inputs an output depends on.
static cpl_status name_dependencies(cpli_parse* p) {
  for (size_t i = 0; i < p->rows.count; i++) {
    cpl_unknown* row = &p->rows.items[i].row;
    int32_t kept = 0;
    for (int32_t k = 0; k < row->count; k++) {
      const char* name = p->dep_names.items[row->first + k];
      int32_t var = cpli_names_find(&p->fmu->names, name);
      if (var < 0) {
        WARN(p, p->rows.items[i].line, "structure",
             "<DirectDependency> of %.100s names %.100s, which is no variable; it is ignored",
             p->vars.items[row->var - 1].name, name);
        continue;
      }
      p->deps.items[row->first + kept++] = var + 1;
    }
    row->count = kept;
  }
  return CPL_OK;
}

static cpl_status resolve_structure(cpli_parse* p) {
  cpl_status st = check_rows(p);
  if (st < 0) return st;
  bool* seen = cpli_alloc(p->ctx, p->vars.count, sizeof *seen);
  if (seen == NULL) return cpli_nomem(p->ctx);
  if (p->structure_line == 0 && p->fmu->version != 1)
    WARN(p, 0, "structure", "<ModelStructure> is missing");
  cpl_structure* s = &p->fmu->desc.structure;
  resolve_outputs(p, seen);
  memset(seen, 0, p->vars.count * sizeof *seen);
  resolve_states(p, seen);
  int32_t n_indicators = 0;
  for (size_t i = 0; i < p->rows.count; i++)
    n_indicators += p->rows.items[i].list == CPLI_INDICATORS;
  if (p->fmu->version == 3) p->fmu->desc.n_indicators = n_indicators;
  s->initial = collect(p, CPLI_INITIAL_UNKNOWNS, 0, &s->n_initial);
  s->deps = cpli_freeze(p, p->deps.items, p->deps.count, sizeof *p->deps.items);
  s->kinds = cpli_freeze(p, p->kinds.items, p->kinds.count, sizeof *p->kinds.items);
  for (size_t i = 0; i < p->rows.count; i++) {  // rows without dependencies depend on everything
    if (p->rows.items[i].row.count >= 0) s->origin = CPL_ORIGIN_DECLARED;
  }
  cpli_free(p->ctx, seen);
  return CPL_OK;
}

//------------------------------------ freeze ------------------------------------

static void freeze_types(cpli_parse* p) {
  cpl_description* d = &p->fmu->desc;
  const cpl_enum_item* items = cpli_freeze(p, p->items.items, p->items.count, sizeof *items);
  cpl_type_def* types = cpli_arena_alloc(&p->fmu->arena, p->types.count, sizeof *types);
  if (types == NULL) p->no_memory = true;
  if (p->no_memory) return;
  for (size_t i = 0; i < p->types.count; i++) {
    types[i] = p->types.items[i].def;
    if (types[i].n_items > 0) types[i].items = items + p->types.items[i].first_item;
  }
  d->types = types;
  d->n_types = (int32_t)p->types.count;
}

static void freeze_lists(cpli_parse* p) {
  cpl_fmu* fmu = p->fmu;
  cpl_description* d = &fmu->desc;
  d->vars = cpli_freeze(p, p->vars.items, p->vars.count, sizeof *p->vars.items);
  d->n_vars = (int32_t)p->vars.count;
  d->units = cpli_freeze(p, p->units.items, p->units.count, sizeof *p->units.items);
  d->n_units = (int32_t)p->units.count;
  fmu->log_categories =
      cpli_freeze(p, p->categories.items, p->categories.count, sizeof *p->categories.items);
  fmu->log_descriptions =
      cpli_freeze(p, p->category_texts.items, p->category_texts.count, sizeof(const char*));
  fmu->n_log_categories = (int32_t)p->categories.count;
  cpli_fmu_kind* kinds[] = {&fmu->me, &fmu->cs};
  for (int k = 0; k < 2; k++) {
    kinds[k]->source_files =
        cpli_freeze(p, p->files[k].items, p->files[k].count, sizeof(const char*));
    kinds[k]->n_source_files = (int32_t)p->files[k].count;
  }
  d->names = &fmu->names;
  d->arrays = cpli_freeze(p, p->arrays.items, p->arrays.count, sizeof *p->arrays.items);
  d->n_arrays = (int32_t)p->arrays.count;
  fmu->slots = cpli_freeze(p, p->slots.items, p->slots.count, sizeof *p->slots.items);
  fmu->n_slots = (uint32_t)p->slots.count;
  fmu->clocks = cpli_freeze(p, p->clocks.items, p->clocks.count, sizeof *p->clocks.items);
  fmu->n_clocks = (int32_t)p->clocks.count;
  fmu->clocked = cpli_freeze(p, p->clocked.items, p->clocked.count, sizeof *p->clocked.items);
  fmu->n_clocked = (int32_t)p->clocked.count;
  fmu->extras = cpli_freeze(p, p->extras.items, p->extras.count, sizeof *p->extras.items);
  fmu->n_extras = (int32_t)p->extras.count;
}

cpl_status cpli_resolve(cpli_parse* p) {
  cpl_status st = p->rules->prepare != NULL ? p->rules->prepare(p) : CPL_OK;
  if (st >= 0) st = resolve_variables(p);
  if (st >= 0) st = check_derivatives(p);
  if (st >= 0 && (p->fmu->version == 3 || p->has_negated)) st = cpli_expand(p);
  if (st >= 0) st = resolve_names(p);
  if (st >= 0) st = resolve_aliases(p);
  if (st >= 0 && p->fmu->version == 1) st = name_dependencies(p);
  if (st >= 0) st = resolve_structure(p);
  if (st < 0) return st;
  freeze_types(p);
  freeze_lists(p);
  if (!p->no_memory) cpli_check_description(&p->fmu->desc);
  return p->no_memory ? cpli_nomem(p->ctx) : CPL_OK;
}
