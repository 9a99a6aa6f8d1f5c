// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Elements are first collected as rows of value references; then these are resolved to variables,
// and every residual is taken in its formulation of index 1. The states must be those of
// modelDescription.xml, in the same order.
#include "fmi/dae_manifest.h"
#include "format/source_loc.h"

#include <stdarg.h>
#include <stdio.h>

#include "fmi/parse.h"
#include "format/scan.h"

enum { DEEPEST = 32, LARGEST_INDEX = 100 };

typedef enum row_list { DERIVATIVE, INDICATOR, RESIDUAL } row_list;

// An element with a value reference; arrays stand for all their elements.
typedef struct row {
  uint8_t list;
  uint32_t ref;
  int32_t line;
  int32_t residual, index;  // of a <Formulation>: in which <Residual>, from 0; 0: no index is given
  int32_t first, count;     // in deps; count -1: not given
} row;

typedef struct algebraic {
  uint32_t ref, nominal;
  bool has_nominal;
  int32_t line;
} algebraic;

typedef struct manifest {
  cpl_fmu* fmu;
  cpl_context* ctx;
  const char* where;
  int depth;
  int32_t n_residuals;  // elements
  bool in_structure, in_residual, seen_structure;
  bool has_enable;
  uint32_t enable;
  int32_t enable_line, structure_line;
  CPLI_LIST(row) rows;
  CPLI_LIST(algebraic) algebraics;
  CPLI_LIST(uint32_t) deps;
  cpli_refs first_of;  // value reference -> its first variable
} manifest;

CPL_PRINTF(3, 4) static cpl_status bad(manifest* k, int32_t line, const char* fmt, ...) {
  char text[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return cpli_fail_at(k->ctx, CPL_ERR_INPUT, &(cpli_source_loc){k->where, line}, "%s", text);
}

//------------------------------------ elements ------------------------------------

// Written with the manifest's prefix or without.
static const char* attribute(cpli_xml* xml, const char* name) {
  const char* value = cpli_xml_attribute(xml, name);
  return value != NULL ? value : cpli_xml_foreign_attribute(xml, name);
}

static cpl_status reference(manifest* k, cpli_xml* xml, const char* element, const char* name,
                            bool required, uint32_t* out) {
  const char* text = attribute(xml, name);
  int64_t value = 0;
  if (text == NULL && !required) return CPL_RETRY;  // not given
  if (text == NULL) return bad(k, cpli_xml_line(xml), "<%s> has no %s", element, name);
  if (!cpli_parse_integer(text, 0, UINT32_MAX, &value)) {
    return bad(k, cpli_xml_line(xml), "%s=\"%.60s\" of <%s> is no value reference", name, text,
               element);
  }
  *out = (uint32_t)value;
  return CPL_OK;
}

static cpl_status begin_enable(manifest* k, cpli_xml* xml) {
  k->has_enable = true;
  k->enable_line = cpli_xml_line(xml);
  return reference(k, xml, "EnableDAE", "valueReference", true, &k->enable);
}

static cpl_status begin_algebraic(manifest* k, cpli_xml* xml) {
  algebraic a = {.line = cpli_xml_line(xml)};
  cpl_status st = reference(k, xml, "AlgebraicVariable", "valueReference", true, &a.ref);
  if (st < 0) return st;
  st = reference(k, xml, "AlgebraicVariable", "nominal", false, &a.nominal);
  if (st < 0) return st;
  a.has_nominal = st == CPL_OK;
  algebraic* kept = CPLI_PUSH(k, k->algebraics);
  if (kept == NULL) return cpli_nomem(k->ctx);
  *kept = a;
  return CPL_OK;
}

static cpl_status read_dependencies(manifest* k, cpli_xml* xml, row* r) {
  const char* text = attribute(xml, "dependencies");
  r->first = (int32_t)k->deps.count;
  r->count = text == NULL ? -1 : 0;
  while (text != NULL && (text += strspn(text, " \t\r\n"), *text != '\0')) {
    int64_t ref = 0;
    const char* end = cpli_scan_integer(text, 0, UINT32_MAX, &ref);
    if (end == NULL || (*end != '\0' && strchr(" \t\r\n", *end) == NULL))
      return bad(k, r->line, "dependencies: \"%.20s\" is no value reference", text);
    uint32_t* dep = CPLI_PUSH(k, k->deps);
    if (dep == NULL) return cpli_nomem(k->ctx);
    *dep = (uint32_t)ref;
    r->count++;
    text = end;
  }
  return CPL_OK;
}

static cpl_status begin_row(manifest* k, cpli_xml* xml, const char* element, row_list list) {
  row r = {.list = (uint8_t)list, .line = cpli_xml_line(xml), .residual = k->n_residuals - 1};
  cpl_status st = reference(k, xml, element, "valueReference", true, &r.ref);
  if (st >= 0) st = read_dependencies(k, xml, &r);
  if (st < 0) return st;
  const char* index = list == RESIDUAL ? attribute(xml, "index") : NULL;
  int64_t value = 0;
  if (index != NULL && !cpli_parse_integer(index, 1, LARGEST_INDEX, &value))
    return bad(k, r.line, "index=\"%.60s\" is no number from 1 to %d", index, LARGEST_INDEX);
  r.index = (int32_t)value;
  row* kept = CPLI_PUSH(k, k->rows);
  if (kept == NULL) return cpli_nomem(k->ctx);
  *kept = r;
  return CPL_OK;
}

static cpl_status on_begin(void* user, cpli_xml* xml, const char* name) {
  manifest* k = user;
  if (k->depth++ == DEEPEST) return bad(k, cpli_xml_line(xml), "elements are nested too deeply");
  if (strcmp(name, "EnableDAE") == 0) return begin_enable(k, xml);
  if (strcmp(name, "AlgebraicVariable") == 0) return begin_algebraic(k, xml);
  if (strcmp(name, "ModelStructure") == 0) {
    k->in_structure = k->seen_structure = true;
    k->structure_line = cpli_xml_line(xml);
  }
  if (!k->in_structure) return CPL_OK;
  if (strcmp(name, "Residual") == 0) k->in_residual = true, k->n_residuals++;
  if (strcmp(name, "ContinuousStateDerivative") == 0) return begin_row(k, xml, name, DERIVATIVE);
  if (strcmp(name, "EventIndicator") == 0) return begin_row(k, xml, name, INDICATOR);
  if (strcmp(name, "Formulation") == 0 && k->in_residual) return begin_row(k, xml, name, RESIDUAL);
  return CPL_OK;
}

static cpl_status on_end(void* user, cpli_xml* xml, const char* name) {
  manifest* k = user;
  (void)xml;
  k->depth--;
  if (strcmp(name, "ModelStructure") == 0) k->in_structure = false;
  if (strcmp(name, "Residual") == 0) k->in_residual = false;
  return CPL_OK;
}

//------------------------------------ variables ------------------------------------

static uint32_t value_ref(const cpl_fmu* fmu, const cpl_variable* v) {
  return fmu->slots != NULL ? fmu->slots[v->ref].value_ref : v->ref;
}

static int32_t n_elements(const cpl_fmu* fmu, int32_t var) {
  return fmu->slots != NULL ? fmu->slots[fmu->desc.vars[var].ref].count : 1;
}

static cpl_status index_variables(manifest* k) {
  const cpl_description* d = &k->fmu->desc;
  cpl_status st = cpli_refs_init(&k->first_of, k->ctx, (size_t)d->n_vars);
  for (int32_t i = 0; st >= 0 && i < d->n_vars; i++)
    cpli_refs_add(&k->first_of, value_ref(k->fmu, &d->vars[i]), i);
  return st;
}

static cpl_status find(manifest* k, uint32_t ref, int32_t line, const char* what, int32_t* out) {
  *out = cpli_refs_find(&k->first_of, ref);
  if (*out >= 0) return CPL_OK;
  return bad(k, line, "%s: there is no variable with value reference %u", what, (unsigned)ref);
}

static cpl_status find_real(manifest* k, uint32_t ref, int32_t line, const char* what,
                            int32_t* out) {
  cpl_status st = find(k, ref, line, what, out);
  if (st < 0) return st;
  const cpl_variable* v = &k->fmu->desc.vars[*out];
  if (v->type == CPL_REAL) return CPL_OK;
  return bad(k, line, "%s %.100s is no Float64 or Float32", what, v->name);
}

static cpl_status resolve_enable(manifest* k) {
  int32_t var = -1;
  k->fmu->dae.enable = -1;
  if (!k->has_enable) return CPL_OK;
  cpl_status st = find(k, k->enable, k->enable_line, "EnableDAE", &var);
  if (st < 0) return st;
  const cpl_variable* v = &k->fmu->desc.vars[var];
  if (v->type != CPL_BOOLEAN || !v->structural) {
    return bad(k, k->enable_line, "EnableDAE: %.100s is no structural parameter of type Boolean",
               v->name);
  }
  k->fmu->dae.enable = var;
  return CPL_OK;
}

//------------------------------------ algebraic variables ------------------------------------

static const char* why_not_algebraic(const cpl_description* d, int32_t var) {
  const cpl_variable* v = &d->vars[var];
  if (v->causality != CPL_CAUSALITY_LOCAL && v->causality != CPL_CAUSALITY_OUTPUT)
    return "is neither local nor an output";
  if (v->variability != CPL_VARIABILITY_CONTINUOUS) return "is not continuous";
  if (v->derivative_of >= 0) return "is a derivative";
  for (int32_t i = 0; i < d->n_states; i++)
    if (d->states[i] == var) return "is a state";
  return NULL;
}

static cpl_status resolve_algebraic(manifest* k, const algebraic* a, int32_t* out,
                                    int32_t* nominals) {
  cpl_description* d = &k->fmu->desc;
  int32_t first = -1, nominal = -1;
  cpl_status st = find_real(k, a->ref, a->line, "AlgebraicVariable", &first);
  if (st >= 0 && a->has_nominal)
    st = find_real(k, a->nominal, a->line, "nominal of an AlgebraicVariable:", &nominal);
  if (st < 0) return st;
  int32_t n = n_elements(k->fmu, first);
  const char* why = why_not_algebraic(d, first);
  if (why != NULL) return bad(k, a->line, "AlgebraicVariable %.100s %s", d->vars[first].name, why);
  for (int32_t i = 0; i < d->n_algebraics; i++) {
    if (out[i] == first)
      return bad(k, a->line, "AlgebraicVariable %.100s is there twice", d->vars[first].name);
  }
  bool each = nominal >= 0 && n_elements(k->fmu, nominal) == n;
  for (int32_t e = 0; e < n; e++) {
    nominals[d->n_algebraics] = nominal < 0 ? -1 : each ? nominal + e : nominal;
    out[d->n_algebraics++] = first + e;
  }
  return CPL_OK;
}

static cpl_status resolve_algebraics(manifest* k) {
  cpl_fmu* fmu = k->fmu;
  size_t room = (size_t)fmu->desc.n_vars;  // each of them once
  int32_t* vars = cpli_arena_alloc(&fmu->arena, room, sizeof *vars);
  int32_t* nominals = cpli_arena_alloc(&fmu->arena, room, sizeof *nominals);
  if (vars == NULL || nominals == NULL) return cpli_nomem(k->ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < k->algebraics.count && st >= 0; i++)
    st = resolve_algebraic(k, &k->algebraics.items[i], vars, nominals);
  fmu->desc.algebraics = vars;
  fmu->dae.nominals = nominals;
  return st;
}

//------------------------------------ residuals ------------------------------------

static int32_t index_of(const row* r) { return r->index > 0 ? r->index : 1; }

// Of the formulations of one residual: the one that was differentiated most, the others behind it.
static cpl_status lowest_of(manifest* k, int32_t residual, const row** out) {
  *out = NULL;
  for (size_t i = 0; i < k->rows.count; i++) {
    const row* r = &k->rows.items[i];
    if (r->list != RESIDUAL || r->residual != residual) continue;
    if (*out != NULL && index_of(*out) == index_of(r)) {
      return bad(k, r->line, "two formulations of one <Residual> have index %d", (int)index_of(r));
    }
    if (*out == NULL || index_of(r) < index_of(*out)) *out = r;
  }
  if (*out == NULL)
    return bad(k, k->structure_line, "<Residual> number %d has no <Formulation>",
               (int)residual + 1);
  if (index_of(*out) == 1) return CPL_OK;
  return bad(k, (*out)->line,
             "the residual is given with index %d only: it has to be differentiated before the "
             "algebraic variables can be solved for, which is the task of the exporting tool",
             (int)index_of(*out));
}

static cpl_status add_residual(manifest* k, const row* r, int32_t* vars) {
  cpl_fmu* fmu = k->fmu;
  int32_t first = -1;
  cpl_status st = find_real(k, r->ref, r->line, "Formulation", &first);
  int32_t n = st < 0 ? 0 : n_elements(fmu, first);
  for (int32_t e = 0; e < n && st >= 0; e++) {
    if (fmu->dae.n_residuals == fmu->desc.n_vars)
      return bad(k, r->line, "there are more residuals than variables");
    vars[fmu->dae.n_residuals++] = first + e;
  }
  return st;
}

static cpl_status add_formulations(manifest* k, int32_t residual, int32_t first_residual,
                                   const row* lowest, cpl_formulation* list, int32_t* vars) {
  cpl_description* d = &k->fmu->desc;
  for (size_t i = 0; i < k->rows.count; i++) {
    const row* r = &k->rows.items[i];
    int32_t first = -1;
    if (r->list != RESIDUAL || r->residual != residual || r == lowest) continue;
    cpl_status st = find_real(k, r->ref, r->line, "Formulation", &first);
    if (st < 0) return st;
    int32_t n = n_elements(k->fmu, first);
    if (first_residual + n != k->fmu->dae.n_residuals)
      return bad(k, r->line, "formulations of one <Residual> have different sizes");
    for (int32_t e = 0; e < n; e++) {
      if (d->n_formulations == d->n_vars)
        return bad(k, r->line, "there are more formulations than variables");
      list[d->n_formulations] =
          (cpl_formulation){.residual = (int)(first_residual + e), .index = (int)r->index};
      vars[d->n_formulations++] = first + e;
    }
  }
  return CPL_OK;
}

static cpl_status resolve_residuals(manifest* k) {
  cpl_fmu* fmu = k->fmu;
  cpl_description* d = &fmu->desc;
  size_t room = (size_t)d->n_vars;
  int32_t* vars = cpli_arena_alloc(&fmu->arena, room, sizeof *vars);
  int32_t* more = cpli_arena_alloc(&fmu->arena, room, sizeof *more);
  cpl_formulation* list = cpli_arena_alloc(&fmu->arena, room, sizeof *list);
  if (vars == NULL || more == NULL || list == NULL) return cpli_nomem(k->ctx);
  cpl_status st = CPL_OK;
  for (int32_t r = 0; r < k->n_residuals && st >= 0; r++) {
    const row* lowest = NULL;
    int32_t first = fmu->dae.n_residuals;
    st = lowest_of(k, r, &lowest);
    if (st >= 0) st = add_residual(k, lowest, vars);
    if (st >= 0) st = add_formulations(k, r, first, lowest, list, more);
  }
  d->residuals = vars;
  d->formulations = list;
  d->formulation_vars = more;
  return st;
}

//------------------------------------ structure ------------------------------------

typedef struct structure_draft {
  cpl_unknown* rows;  // derivatives, then residuals
  int32_t n_rows;
  CPLI_LIST(int32_t) deps;
} structure_draft;

static bool is_derivative(const cpl_description* d, int32_t var) {
  return d->vars[var].derivative_of >= 0;
}

// The elements of an array share what the array depends on. What depends on a derivative depends on
// all that does.
static cpl_status add_row(manifest* k, structure_draft* s, const row* r) {
  cpl_unknown u = {.first = (int32_t)s->deps.count, .count = r->count < 0 ? -1 : 0};
  int32_t first = cpli_refs_find(&k->first_of, r->ref), n = n_elements(k->fmu, first);
  for (int32_t i = 0; i < r->count && u.count >= 0; i++) {
    int32_t var = cpli_refs_find(&k->first_of, k->deps.items[r->first + i]);
    if (is_derivative(&k->fmu->desc, var)) u.count = -1;
    for (int32_t e = 0; e < n_elements(k->fmu, var) && u.count >= 0; e++, u.count++) {
      int32_t* dep = CPLI_PUSH(k, s->deps);
      if (dep == NULL) return cpli_nomem(k->ctx);
      *dep = var + e;
    }
  }
  for (int32_t e = 0; e < n; e++) {
    u.var = first + e;
    s->rows[s->n_rows++] = u;
  }
  return CPL_OK;
}

static cpl_status fill_structure(manifest* k, structure_draft* s) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < k->rows.count && st >= 0; i++) {
    if (k->rows.items[i].list == DERIVATIVE) st = add_row(k, s, &k->rows.items[i]);
  }
  for (int32_t r = 0; r < k->n_residuals && st >= 0; r++) {
    const row* lowest = NULL;
    st = lowest_of(k, r, &lowest);
    if (st >= 0) st = add_row(k, s, lowest);
  }
  return st;
}

// Where all is declared, an unknown that no residual depends on cannot be solved for.
static void check_unknowns(manifest* k, const cpl_structure* s) {
  const cpl_description* d = &k->fmu->desc;
  for (int32_t i = 0; i < d->n_algebraics; i++) {
    bool found = false;
    for (int32_t r = 0; r < s->n_outputs && !found; r++) {
      const cpl_unknown* u = &s->outputs[r];
      found = u->count < 0;
      for (int32_t e = 0; e < u->count && !found; e++)
        found = s->deps[u->first + e] == d->algebraics[i];
    }
    if (found) continue;
    cpli_findings_add(&k->fmu->findings, CPLI_WARNING, 0, "dae",
                      "%s: no residual depends on the algebraic variable %.100s: it cannot be "
                      "solved for",
                      k->where, d->vars[d->algebraics[i]].name);
  }
}

static cpl_status resolve_structure(manifest* k) {
  cpl_fmu* fmu = k->fmu;
  cpl_description* d = &fmu->desc;
  structure_draft draft = {0};
  size_t n = (size_t)d->n_states + (size_t)d->n_algebraics;
  draft.rows = cpli_arena_alloc(&fmu->arena, n, sizeof *draft.rows);
  cpl_structure* s = cpli_arena_alloc(&fmu->arena, 1, sizeof *s);
  cpl_status st = draft.rows != NULL && s != NULL ? fill_structure(k, &draft) : cpli_nomem(k->ctx);
  int32_t* deps = st >= 0 ? cpli_arena_alloc(&fmu->arena, draft.deps.count, sizeof *deps) : NULL;
  if (st >= 0 && deps == NULL) st = cpli_nomem(k->ctx);
  if (st >= 0) {
    if (draft.deps.count > 0) memcpy(deps, draft.deps.items, draft.deps.count * sizeof *deps);
    *s = (cpl_structure){.derivatives = draft.rows,
                         .n_derivatives = d->n_states,
                         .outputs = draft.rows + d->n_states,
                         .n_outputs = d->n_algebraics,
                         .deps = deps,
                         .origin = CPL_ORIGIN_DECLARED};
    d->residual_structure = s;
    check_unknowns(k, s);
  }
  cpli_free(k->ctx, draft.deps.items);
  return st;
}

//------------------------------------ the whole ------------------------------------

static cpl_status check_dependencies(manifest* k) {
  for (size_t i = 0; i < k->rows.count; i++) {
    const row* r = &k->rows.items[i];
    for (int32_t n = 0; n < r->count; n++) {
      int32_t var;
      cpl_status st = find(k, k->deps.items[r->first + n], r->line, "dependencies", &var);
      if (st < 0) return st;
    }
  }
  return CPL_OK;
}

// The states of both forms have to be the same, in the same order.
static cpl_status check_states(manifest* k) {
  const cpl_description* d = &k->fmu->desc;
  int32_t n = 0, indicators = 0;
  for (size_t i = 0; i < k->rows.count; i++) {
    const row* r = &k->rows.items[i];
    int32_t first = -1;
    indicators += r->list == INDICATOR;
    if (r->list != DERIVATIVE) continue;
    cpl_status st = find_real(k, r->ref, r->line, "ContinuousStateDerivative", &first);
    if (st < 0) return st;
    for (int32_t e = 0; e < n_elements(k->fmu, first); e++, n++) {
      if (n < d->n_states && d->derivatives[n] == first + e) continue;
      return bad(
          k, r->line,
          "%.100s is not the derivative that modelDescription.xml has at this position: a form "
          "with other states than there cannot be used",
          d->vars[first + e].name);
    }
  }
  if (n == 0 && d->n_states > 0) {
    return bad(k, k->structure_line,
               "there is no <ContinuousStateDerivative>: equations that are not solved for the "
               "derivatives cannot be used");
  }
  if (n != d->n_states) {
    return bad(k, k->structure_line, "%d derivatives are named, and modelDescription.xml has %d",
               (int)n, (int)d->n_states);
  }
  if (indicators > 0 && indicators != d->n_indicators) {
    return bad(k, k->structure_line,
               "%d event indicators are named, and modelDescription.xml has %d", (int)indicators,
               (int)d->n_indicators);
  }
  return CPL_OK;
}

static cpl_status resolve(manifest* k) {
  cpl_fmu* fmu = k->fmu;
  fmu->desc.n_algebraics = fmu->desc.n_formulations = fmu->dae.n_residuals = 0;
  if (fmu->version != 3 || !fmu->me.present)
    return bad(k, 1, "the FMU is none of FMI 3.0 for model exchange");
  if (!k->seen_structure) return bad(k, 1, "there is no <ModelStructure>");
  cpl_status st = index_variables(k);
  if (st >= 0) st = resolve_enable(k);
  if (st >= 0) st = resolve_algebraics(k);
  if (st >= 0) st = resolve_residuals(k);
  if (st >= 0) st = check_dependencies(k);
  if (st >= 0) st = check_states(k);
  if (st >= 0 && fmu->dae.n_residuals != fmu->desc.n_algebraics) {
    st = bad(k, k->structure_line,
             "%d residuals for %d algebraic variables: there must be as many of both",
             (int)fmu->dae.n_residuals, (int)fmu->desc.n_algebraics);
  }
  return st < 0 ? st : resolve_structure(k);
}

bool cpli_is_dae_layer(const char* name) {
  static const char end[] = "fmi-ls-dae";  // the standard's own FMU has no domain before it
  size_t n = strlen(name), m = sizeof end - 1;
  return n >= m && strcmp(name + n - m, end) == 0 && (n == m || name[n - m - 1] == '.');
}

static cpl_status take_back(cpl_fmu* fmu) {
  cpl_description* d = &fmu->desc;
  d->n_algebraics = d->n_formulations = 0;
  fmu->dae.n_residuals = 0;
  const char* why = cpl_context_error(fmu->arena.ctx);
  d->form_error = cpli_arena_strdup(&fmu->arena, why);
  cpli_findings_add(&fmu->findings, CPLI_ERROR, 0, "dae",
                    "%.350s: its equations cannot be used as a DAE", why);
  return d->form_error == NULL || fmu->findings.incomplete ? cpli_nomem(fmu->arena.ctx) : CPL_OK;
}

cpl_status cpli_dae_manifest_parse(cpl_fmu* fmu, const char* name, const char* text, size_t size) {
  static const cpli_xml_handler handler = {.begin = on_begin, .end = on_end};
  manifest k = {.fmu = fmu, .ctx = fmu->arena.ctx, .where = name};
  cpl_status st = cpli_xml_parse(k.ctx, name, text, size, &handler, &k);
  if (st >= 0) st = resolve(&k);
  if (st >= 0) fmu->dae.present = true;
  if (st == CPL_ERR_INPUT) st = take_back(fmu);
  if (st >= 0 && fmu->desc.n_constraints == 0) fmu->desc.n_constraints = fmu->desc.n_formulations;
  cpli_free(k.ctx, k.rows.items);
  cpli_free(k.ctx, k.algebraics.items);
  cpli_free(k.ctx, k.deps.items);
  cpli_refs_free(&k.first_of);
  return st;
}
