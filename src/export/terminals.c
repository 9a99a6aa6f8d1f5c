// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes terminalsAndIcons.xml of FMI 3.0: terminals of the FMUs of a system are passed on; other
// inputs and outputs whose names have the same beginning up to the last dot ("motor.speed",
// "motor.torque") are the members of a terminal of that name.
#include "export/description.h"

// The length of the beginning; 0: the name has none.
static size_t group_length(const char* name) {
  const char* dot = strrchr(name, '.');
  return dot != NULL && dot[1] != '\0' ? (size_t)(dot - name) : 0;
}

// The name in the model description; NULL: the variable is not in it, or no input or output.
static const char* signal_name(const cpli_numbering* n, int32_t var) {
  const cpl_variable* v = &n->desc->vars[var];
  const bool is_signal =
      v->causality == CPL_CAUSALITY_INPUT || v->causality == CPL_CAUSALITY_OUTPUT;
  if (!is_signal || !n->written[var] || n->extent[var] == 0) return NULL;
  const cpl_array* array = cpli_array3(n->desc, var, n->extent[var]);
  return array != NULL ? array->name : v->name;
}

// Members of a terminal are a list of variables.
typedef struct terminal {
  const char* name;
  int32_t first, last, count;
} terminal;

typedef struct terminals {
  cpli_arena arena;
  cpli_names names;  // -> index in items
  terminal* items;
  int32_t n;
  int32_t* next;  // by variable; -1: the last one
} terminals;

static cpl_status add_member(terminals* t, const char* name, int32_t var) {
  const size_t length = group_length(name);
  if (length == 0) return CPL_OK;
  const char* group = cpli_arena_strndup(&t->arena, name, length);
  const int32_t i = group != NULL ? cpli_names_add(&t->names, group, t->n) : CPL_ERR_NOMEM;
  if (i < 0) return CPL_ERR_NOMEM;
  if (i == CPLI_PASSED) return CPL_OK;
  if (i == t->n) t->items[t->n++] = (terminal){group, var, var, 0};
  else t->next[t->items[i].last] = var;
  t->items[i].last = var;
  t->items[i].count++;
  return CPL_OK;
}

static cpl_status collect(terminals* t, const cpli_numbering* n) {
  const size_t size = (size_t)n->desc->n_vars;
  cpl_status st = CPL_OK;
  t->items = cpli_arena_alloc(&t->arena, size, sizeof *t->items);
  t->next = cpli_arena_alloc(&t->arena, size, sizeof *t->next);
  if (t->items == NULL || t->next == NULL) st = CPL_ERR_NOMEM;
  for (int32_t i = 0; i < n->desc->n_vars && st >= 0; i++) {
    const char* name = signal_name(n, i);
    t->next[i] = -1;
    if (name != NULL) st = add_member(t, name, i);
  }
  return st >= 0 ? st : cpli_nomem(t->arena.ctx);
}

static void write_terminal(cpli_writer* w, const cpli_numbering* n, const terminals* t,
                           const terminal* one) {
  cpli_write(w, "    <Terminal");
  cpli_write_attribute(w, "name", one->name);
  cpli_write(w, " matchingRule=\"bus\">\n");
  for (int32_t i = one->first; i >= 0; i = t->next[i]) {
    const char* name = signal_name(n, i);
    cpli_write(w, "      <TerminalMemberVariable");
    cpli_write_attribute(w, "variableName", name);
    cpli_write_attribute(w, "memberName", name + strlen(one->name) + 1);
    cpli_write(w, " variableKind=\"signal\"/>\n");
  }
  cpli_write(w, "    </Terminal>\n");
}

static cpl_status write_all(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n,
                            terminals* t) {
  cpl_status st = cpli_names_init(&t->names, w->ctx, 16);
  if (st >= 0) st = cpli_pass_terminals(w, facts, n, &(cpli_passed){&t->arena, &t->names});
  if (st >= 0) st = collect(t, n);
  for (int32_t i = 0; i < t->n && st >= 0; i++)
    if (t->items[i].count > 1) write_terminal(w, n, t, &t->items[i]);  // one is no group
  return st < 0 ? st : cpli_writer_status(w);
}

cpl_status cpli_write_terminals(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_numbering n;
  terminals t = {.n = 0};
  cpli_writer all = {.ctx = w->ctx};
  cpli_arena_init(&t.arena, w->ctx);
  cpl_status st = cpli_numbering_make(w->ctx, facts, &n);
  if (st >= 0) st = write_all(&all, facts, &n, &t);
  if (st >= 0 && all.text != NULL) {
    cpli_write(w,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<fmiTerminalsAndIcons fmiVersion=\"3.0\">\n  <Terminals>\n");
    cpli_write(w, all.text);
    cpli_write(w, "  </Terminals>\n</fmiTerminalsAndIcons>\n");
  }
  cpli_writer_free(&all);
  cpli_numbering_free(&n);
  cpli_names_free(&t.names);
  cpli_arena_free(&t.arena);
  return st < 0 ? st : cpli_writer_status(w);
}
