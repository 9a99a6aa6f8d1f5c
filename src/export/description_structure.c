// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// ModelStructure. A row is an unknown and what it depends on; rows of the elements of an array
// become one in FMI 3.0.
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
  known* list;      // of the present row
  int32_t n_list;   // -1: depends on all
  int32_t* place;   // by variable: in the list, from 1; 0: not in it
  int32_t* row_of;  // by variable: in the present rows, from 1
} tables;

static int by_number(const void* a, const void* b) {
  uint32_t x = ((const known*)a)->number, y = ((const known*)b)->number;
  return (x > y) - (x < y);
}

static int by_variable(const void* a, const void* b) {
  int32_t x = ((const cpl_unknown*)a)->var, y = ((const cpl_unknown*)b)->var;
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

// All that an unknown, or the array that begins with it, depends on.
static void collect(tables* t, const cpl_unknown* rows, int32_t var, bool initial) {
  const cpl_structure* s = &t->n->desc->structure;
  int32_t count = t->n->extent[var];
  bool all = false;
  for (int32_t e = 0; e < count; e++) {
    const cpl_unknown* u = t->row_of[var + e] > 0 ? &rows[t->row_of[var + e] - 1] : NULL;
    all = all || u == NULL || u->count < 0;
    for (int32_t i = 0; u != NULL && i < u->count; i++) {
      uint8_t kind = s->kinds[u->first + i];
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

// `list` surrounds the rows in FMI 2.0, `element` is a row in FMI 3.0.
static void write_rows(cpli_writer* w, tables* t, const char* list, const char* element,
                       const cpl_unknown* rows, int32_t n) {
  if (n == 0) return;
  index_rows(t, rows, n);
  if (t->n->fmi == 2) cpli_writef(w, "    <%s>\n", list);
  for (int32_t i = 0; i < n; i++) {
    if (t->n->extent[rows[i].var] == 0) continue;
    collect(t, rows, rows[i].var, false);
    write_row(w, t, t->n->fmi == 3 ? element : "Unknown", rows[i].var);
  }
  if (t->n->fmi == 2) cpli_writef(w, "    </%s>\n", list);
}

// Knowns of the initialisation other than inputs and start values of states: parameters, and
// discrete variables with a start value.
static bool is_given(const cpl_variable* v) {
  return v->causality == CPL_CAUSALITY_PARAMETER ||
         (v->variability == CPL_VARIABILITY_DISCRETE && v->initial == CPL_INITIAL_EXACT);
}

static void add_given(tables* t) {
  const cpl_description* d = t->n->desc;
  for (int32_t k = 0; t->n_list >= 0 && k < d->n_vars; k++) {
    if (!is_given(&d->vars[k]) || t->n->extent[k] == 0) continue;
    if (t->place[k] == 0) add(t, k, CPL_KIND_DEPENDENT);
  }
}

static void write_initial(cpli_writer* w, tables* t, cpl_unknown* rows) {
  const cpl_description* d = t->n->desc;
  const cpl_structure* s = &d->structure;
  if (s->n_initial == 0) return;
  memcpy(rows, s->initial, (size_t)s->n_initial * sizeof *rows);
  qsort(rows, (size_t)s->n_initial, sizeof *rows, by_variable);
  index_rows(t, rows, s->n_initial);
  int32_t n_given = 0;
  for (int32_t i = 0; i < d->n_vars; i++) n_given += is_given(&d->vars[i]);
  // with very many of both, "depends on all" is shorter
  bool brief = (double)n_given * s->n_initial > 1e6;
  if (t->n->fmi == 2) cpli_write(w, "    <InitialUnknowns>\n");
  for (int32_t i = 0; i < s->n_initial; i++) {
    if (t->n->extent[rows[i].var] == 0) continue;
    if (brief) t->n_list = -1;
    else collect(t, rows, rows[i].var, true);
    add_given(t);
    write_row(w, t, t->n->fmi == 3 ? "InitialUnknown" : "Unknown", rows[i].var);
  }
  if (t->n->fmi == 2) cpli_write(w, "    </InitialUnknowns>\n");
}

static void write_all(cpli_writer* w, tables* t, const cpli_fmu_facts* facts, cpl_unknown* rows) {
  const cpl_structure* s = &t->n->desc->structure;
  const cpli_refs3 refs = t->n->refs;
  bool three = t->n->fmi == 3;
  cpli_write(w, "  <ModelStructure>\n");
  write_rows(w, t, "Outputs", "Output", s->outputs, s->n_outputs);
  if (three && facts->time_events)  // it ticks at a time that is known before: no dependencies
    cpli_writef(w, "    <Output valueReference=\"%u\" dependencies=\"\"/>\n", (unsigned)refs.clock);
  write_rows(w, t, "Derivatives", "ContinuousStateDerivative", s->derivatives, s->n_derivatives);
  write_initial(w, t, rows);
  for (int32_t i = 0; three && i < t->n->desc->n_indicators; i++) {
    cpli_writef(w, "    <EventIndicator valueReference=\"%u\"/>\n",
                (unsigned)(refs.indicators + (uint32_t)i));
  }
  cpli_write(w, "  </ModelStructure>\n");
}

cpl_status cpli_write_structure(cpli_writer* w, const cpli_fmu_facts* facts,
                                const cpli_numbering* n) {
  const cpl_structure* s = &facts->desc->structure;
  size_t n_vars = (size_t)facts->desc->n_vars;
  tables t = {.n = n};
  t.list = cpli_alloc(w->ctx, n_vars, sizeof *t.list);
  t.place = cpli_alloc(w->ctx, n_vars, sizeof *t.place);
  t.row_of = cpli_alloc(w->ctx, n_vars, sizeof *t.row_of);
  cpl_unknown* rows = cpli_alloc(w->ctx, (size_t)s->n_initial, sizeof *rows);
  bool good = t.list != NULL && t.place != NULL && t.row_of != NULL && rows != NULL;
  if (good) write_all(w, &t, facts, rows);
  w->failed = w->failed || !good;
  cpli_free(w->ctx, rows);
  cpli_free(w->ctx, t.list);
  cpli_free(w->ctx, t.place);
  cpli_free(w->ctx, t.row_of);
  return cpli_writer_status(w);
}
