// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// ModelStructure. A row is an unknown and what it depends on; rows of the elements of an array
// become one in FMI 3.0. Which unknowns there are follows from the variables; the structure of the
// description adds the dependencies that are known.
#include <assert.h>
#include <stdlib.h>

#include "export/description.h"

typedef struct known {
  uint32_t number;
  int32_t var;
  uint8_t kind;
} known;

typedef struct tables {
  const cpli_numbering* n;
  known* list;          // of the present row
  int32_t n_list;       // -1: depends on all
  int32_t* place;       // by variable: in the list, from 1; 0: not in it
  int32_t* row_of;      // by variable: in the present rows, from 1
  bool* is_derivative;  // by variable: of a state
} tables;

static int by_number(const void* a, const void* b) {
  uint32_t x = ((const known*)a)->number, y = ((const known*)b)->number;
  return (x > y) - (x < y);
}

//------------------------------------ one row ------------------------------------

// The weaker of two kinds of dependencies.
static uint8_t weaker(uint8_t a, uint8_t b) {
  if (a == CPL_KIND_DEPENDENT || b == CPL_KIND_DEPENDENT) return CPL_KIND_DEPENDENT;
  return a > b ? a : b;
}

static void add(tables* t, int32_t var, uint8_t kind) {
  int32_t head = cpli_number_head(t->n, var);
  if (!t->n->written[head]) return;  // nobody can change it
  if (t->place[head] > 0) {
    known* k = &t->list[t->place[head] - 1];
    k->kind = weaker(k->kind, kind);
    return;
  }
  t->list[t->n_list++] = (known){cpli_number_of(t->n, head), head, kind};
  t->place[head] = t->n_list;
}

static void clear(tables* t) {
  for (int32_t i = 0; i < t->n_list; i++) t->place[t->list[i].var] = 0;
  t->n_list = 0;
}

// Whether an unknown may depend on it: what is no state of model exchange cannot be set while the
// simulation runs, unless it is an input or a parameter.
static bool is_known(const tables* t, int32_t var, bool initial) {
  const cpli_standing s = cpli_standing_of(&t->n->desc->vars[var]);
  if (initial || t->n->model_exchange) return true;
  return s.causality == CPL_CAUSALITY_INPUT || s.causality == CPL_CAUSALITY_PARAMETER;
}

// All that an unknown, or the array that begins with it, depends on.
static void collect(tables* t, const cpl_unknown* rows, int32_t var, bool initial) {
  const cpl_structure* s = &t->n->desc->structure;
  int32_t count = t->n->extent[var];
  bool all = false;
  for (int32_t e = 0; e < count; e++) {
    const cpl_unknown* u = t->row_of[var + e] > 0 ? &rows[t->row_of[var + e] - 1] : NULL;
    all = all || u == NULL || u->count < 0;
    for (int32_t i = 0; u != NULL && i < u->count; i++) {
      uint8_t kind = s->kinds != NULL ? s->kinds[u->first + i] : CPL_KIND_DEPENDENT;
      if (!is_known(t, s->deps[u->first + i], initial)) continue;
      add(t, s->deps[u->first + i],
          initial && kind != CPL_KIND_CONSTANT ? CPL_KIND_DEPENDENT : kind);
    }
  }
  if (!all) return;
  clear(t);
  t->n_list = -1;
}

static void write_row(cpli_writer* w, tables* t, const char* element, int32_t var) {
  static const char* const kinds[] = {"dependent", "constant", "fixed", "tunable", "discrete"};
  static_assert(CPLI_COUNT(kinds) == CPL_KIND_DISCRETE + 1, "cpl_dependency_kind");
  cpli_writef(w, t->n->fmi == 3 ? "    <%s valueReference=\"%u\"" : "      <%s index=\"%u\"",
              element, (unsigned)cpli_number_of(t->n, var));
  if (t->n_list >= 0) {
    bool special = false;
    cpli_write(w, " dependencies=\"");
    for (int32_t i = 0; i < t->n_list; i++) t->place[t->list[i].var] = 0;
    if (t->n_list > 0) qsort(t->list, (size_t)t->n_list, sizeof *t->list, by_number);
    for (int32_t i = 0; i < t->n_list; i++) {
      cpli_writef(w, i > 0 ? " %u" : "%u", (unsigned)t->list[i].number);
      special = special || t->list[i].kind != CPL_KIND_DEPENDENT;
    }
    if (special) cpli_write(w, "\" dependenciesKind=\"");
    for (int32_t i = 0; special && i < t->n_list; i++) {
      if (i > 0) cpli_write(w, " ");
      cpli_write(w, kinds[t->list[i].kind]);
    }
    cpli_write(w, "\"");
  }
  cpli_write(w, "/>\n");
  t->n_list = 0;
}

//------------------------------------ lists of rows ------------------------------------

static void index_rows(tables* t, const cpl_unknown* rows, int32_t n) {
  memset(t->row_of, 0, (size_t)t->n->desc->n_vars * sizeof *t->row_of);
  for (int32_t i = 0; i < n; i++) t->row_of[rows[i].var] = i + 1;
}

// Knowns of the initialisation other than inputs and start values of states: parameters, and
// discrete variables with a start value.
static bool is_given(const cpl_variable* v) {
  const cpli_standing s = cpli_standing_of(v);
  return s.causality == CPL_CAUSALITY_PARAMETER ||
         (s.variability == CPL_VARIABILITY_DISCRETE && s.initial == CPL_INITIAL_EXACT);
}

static void add_given(tables* t) {
  const cpl_description* d = t->n->desc;
  for (int32_t k = 0; t->n_list >= 0 && k < d->n_vars; k++) {
    if (!is_given(&d->vars[k]) || t->n->extent[k] == 0) continue;
    if (t->place[k] == 0) add(t, k, CPL_KIND_DEPENDENT);
  }
}

// The unknowns of a kind: those with rows, in their order, then all others that have to be there,
// with unknown dependencies.
typedef struct unknowns {
  const char *list, *element;  // around the rows in FMI 2.0, and a row in FMI 3.0
  const cpl_unknown* rows;
  int32_t n;
  bool initial;
  bool (*is_one)(const tables* t, int32_t var);
} unknowns;

static bool is_output(const tables* t, int32_t var) {
  return cpli_standing_of(&t->n->desc->vars[var]).causality == CPL_CAUSALITY_OUTPUT;
}

static void write_unknown(cpli_writer* w, tables* t, const unknowns* u, int32_t var, bool* any) {
  if (t->n->extent[var] == 0 || !t->n->written[var] || !u->is_one(t, var)) return;
  if (!*any && t->n->fmi == 2) cpli_writef(w, "    <%s>\n", u->list);
  *any = true;
  collect(t, u->rows, var, u->initial);
  if (u->initial) add_given(t);
  write_row(w, t, t->n->fmi == 3 ? u->element : "Unknown", var);
}

static void write_outputs(cpli_writer* w, tables* t) {
  const cpl_structure* s = &t->n->desc->structure;
  unknowns u = {"Outputs", "Output", s->outputs, s->n_outputs, false, is_output};
  bool any = false;
  index_rows(t, u.rows, u.n);
  for (int32_t i = 0; i < u.n; i++) write_unknown(w, t, &u, u.rows[i].var, &any);
  for (int32_t i = 0; i < t->n->desc->n_vars; i++)
    if (t->row_of[i] == 0) write_unknown(w, t, &u, i, &any);
  if (any && t->n->fmi == 2) cpli_write(w, "    </Outputs>\n");
}

static bool is_any(const tables* t, int32_t var) {
  (void)t, (void)var;
  return true;
}

// In the order of the states, which is that of the state vector.
static void write_derivatives(cpli_writer* w, tables* t) {
  const cpl_description* d = t->n->desc;
  const cpl_structure* s = &d->structure;
  unknowns u = {"Derivatives", "ContinuousStateDerivative", s->derivatives, s->n_derivatives, false,
                is_any};
  bool any = false;
  index_rows(t, u.rows, u.n);
  for (int32_t i = 0; i < d->n_states; i++) write_unknown(w, t, &u, d->derivatives[i], &any);
  if (any && t->n->fmi == 2) cpli_write(w, "    </Derivatives>\n");
}

// Outputs, calculated parameters, and states and derivatives of model exchange that are computed in
// the initialisation.
static bool is_initial(const tables* t, int32_t var) {
  const cpl_variable* v = &t->n->desc->vars[var];
  const cpli_standing s = cpli_standing_of(v);
  if (s.initial != CPL_INITIAL_APPROX && s.initial != CPL_INITIAL_CALCULATED) return false;
  if (s.causality == CPL_CAUSALITY_OUTPUT || s.causality == CPL_CAUSALITY_CALCULATED_PARAMETER)
    return true;
  return t->n->model_exchange && (t->n->is_state[var] || t->is_derivative[var]);
}

static void write_initial(cpli_writer* w, tables* t) {
  const cpl_description* d = t->n->desc;
  const cpl_structure* s = &d->structure;
  unknowns u = {"InitialUnknowns", "InitialUnknown", s->initial, s->n_initial, true, is_initial};
  double n_given = 0, n_initial = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    n_given += is_given(&d->vars[i]);
    n_initial += is_initial(t, i);
  }
  // with very many of both, "depends on all" is shorter
  bool any = false, brief = n_given * n_initial > 1e6;
  index_rows(t, u.rows, brief ? 0 : u.n);
  for (int32_t i = 0; i < d->n_vars; i++) write_unknown(w, t, &u, i, &any);
  if (any && t->n->fmi == 2) cpli_write(w, "    </InitialUnknowns>\n");
}

static void write_all(cpli_writer* w, tables* t, const cpli_fmu_facts* facts) {
  const cpli_refs3* refs = &t->n->refs;
  bool three = t->n->fmi == 3;
  cpli_write(w, "  <ModelStructure>\n");
  write_outputs(w, t);
  if (three && facts->time_events)  // it ticks at a time that is known before: no dependencies
    cpli_writef(w, "    <Output valueReference=\"%u\" dependencies=\"\"/>\n",
                (unsigned)refs->clock);
  if (facts->model_exchange) write_derivatives(w, t);
  write_initial(w, t);
  for (uint32_t i = 0; three && i < refs->n_indicators; i++) {
    cpli_writef(w, "    <EventIndicator valueReference=\"%u\"/>\n",
                (unsigned)(refs->indicators + i));
  }
  cpli_write(w, "  </ModelStructure>\n");
}

cpl_status cpli_write_structure(cpli_writer* w, const cpli_fmu_facts* facts,
                                const cpli_numbering* n) {
  const cpl_description* d = facts->desc;
  size_t n_vars = (size_t)d->n_vars;
  tables t = {.n = n};
  t.list = cpli_alloc(w->ctx, n_vars, sizeof *t.list);
  t.place = cpli_alloc(w->ctx, n_vars, sizeof *t.place);
  t.row_of = cpli_alloc(w->ctx, n_vars, sizeof *t.row_of);
  t.is_derivative = cpli_alloc(w->ctx, n_vars, sizeof *t.is_derivative);
  bool good = t.list != NULL && t.place != NULL && t.row_of != NULL && t.is_derivative != NULL;
  for (int32_t i = 0; good && i < d->n_states; i++)
    if (d->derivatives[i] >= 0) t.is_derivative[d->derivatives[i]] = true;
  if (good) write_all(w, &t, facts);
  w->failed = w->failed || !good;
  cpli_free(w->ctx, t.list);
  cpli_free(w->ctx, t.place);
  cpli_free(w->ctx, t.row_of);
  cpli_free(w->ctx, t.is_derivative);
  return cpli_writer_status(w);
}
