// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Terminals of the FMUs of a system: one is passed on where all its variables are in the whole what
// they are in the FMU. One with a connected input would not be a terminal any more.
#include <stdio.h>
#include <string.h>

#include "export/description.h"
#include "fmi/fmu.h"

// The terminals of one FMU, which are in the order of its file: each before those inside it.
typedef struct passing {
  cpli_writer* w;
  const cpli_numbering* n;
  const cpli_inner_fmu* part;
  const cpl_fmu* fmu;
  int32_t* ends;   // by terminal: the end of its range in `order`
  int32_t* order;  // members, by terminal
  bool* whole;     // by terminal: it and those inside it are as in the FMU
} passing;

const char* cpli_inner_name(cpli_arena* arena, const char* before, const char* name) {
  if (before == NULL) return cpli_arena_strdup(arena, name);
  const size_t length = strlen(before), size = length + strlen(name) + 2;
  char* text = cpli_arena_alloc(arena, size, 1);
  if (text != NULL) snprintf(text, size, "%s.%s", before, name);
  return text;
}

// The variable of that name, or the first element of the array; -1: none.
static int32_t find_named(const cpl_description* d, const char* name) {
  const int32_t var = cpl_find_variable(d, name);
  for (int32_t i = 0; var < 0 && i < d->n_arrays; i++)
    if (strcmp(d->arrays[i].name, name) == 0) return d->arrays[i].first;
  return var;
}

static cpl_status is_kept(const passing* p, cpli_arena* arena, const char* name, bool* out) {
  const char* outside = cpli_inner_name(arena, p->part->name, name);
  if (outside == NULL) return cpli_nomem(p->w->ctx);
  const int32_t inner = find_named(&p->fmu->desc, name), var = find_named(p->n->desc, outside);
  *out = inner >= 0 && var >= 0 && p->n->written[var] && p->n->extent[var] > 0;
  if (!*out) return CPL_OK;
  const cpl_causality was = p->fmu->desc.vars[inner].causality;
  const bool is_signal = was == CPL_CAUSALITY_INPUT || was == CPL_CAUSALITY_OUTPUT;
  *out = !is_signal || p->n->desc->vars[var].causality == was;
  return CPL_OK;
}

// Finds the ranges of members, and which terminals are passed on.
static cpl_status sort_members(passing* p, cpli_arena* arena) {
  const cpl_fmu* f = p->fmu;
  int32_t end = 0;
  for (int32_t i = 0; i < f->n_terminals; i++) {
    p->ends[i] = end;
    p->whole[i] = true;
    end += f->terminals[i].count;
  }
  for (int32_t i = 0; i < f->n_terminal_members; i++) {
    const cpli_terminal_member* m = &f->terminal_members[i];
    bool kept = false;
    cpl_status st = is_kept(p, arena, m->variable, &kept);
    if (st < 0) return st;
    p->whole[m->terminal] = p->whole[m->terminal] && kept;
    p->order[p->ends[m->terminal]++] = i;
  }
  for (int32_t i = f->n_terminals - 1; i >= 0; i--)
    if (!p->whole[i] && f->terminals[i].parent >= 0) p->whole[f->terminals[i].parent] = false;
  return CPL_OK;
}

static void write_outside(const passing* p, const char* attribute, const char* name) {
  cpli_writef(p->w, " %s=\"", attribute);
  cpli_write_escaped(p->w, p->part->name);
  cpli_write(p->w, ".");
  cpli_write_escaped(p->w, name);
  cpli_write(p->w, "\"");
}

static void write_members(const passing* p, int32_t terminal) {
  const cpli_terminal_member* members = p->fmu->terminal_members;
  for (int32_t i = terminal > 0 ? p->ends[terminal - 1] : 0; i < p->ends[terminal]; i++) {
    const cpli_terminal_member* m = &members[p->order[i]];
    if (strcmp(m->kind, "inStream") == 0 && i + 1 < p->ends[terminal]) {
      const cpli_terminal_member* out = &members[p->order[++i]];  // read as a pair
      cpli_write(p->w, "      <TerminalStreamMemberVariable");
      cpli_write_attribute(p->w, "inStreamMemberName", m->member);
      cpli_write_attribute(p->w, "outStreamMemberName", out->member);
      write_outside(p, "inStreamVariableName", m->variable);
      write_outside(p, "outStreamVariableName", out->variable);
    } else {
      cpli_write(p->w, "      <TerminalMemberVariable");
      write_outside(p, "variableName", m->variable);
      cpli_write_attribute(p->w, "memberName", m->member);
      cpli_write_attribute(p->w, "variableKind", m->kind[0] != '\0' ? m->kind : "signal");
    }
    cpli_write(p->w, "/>\n");
  }
}

static void begin_terminal(const passing* p, int32_t i) {
  const cpli_terminal* t = &p->fmu->terminals[i];
  cpli_write(p->w, "    <Terminal");
  if (t->parent < 0) write_outside(p, "name", t->name);
  else cpli_write_attribute(p->w, "name", t->name);
  cpli_write_attribute(p->w, "matchingRule", t->rule[0] != '\0' ? t->rule : "none");
  cpli_write_attribute(p->w, "terminalKind", t->kind);
  cpli_write_attribute(p->w, "description", t->description);
  cpli_write(p->w, ">\n");
  write_members(p, i);
}

static void end_terminals(const passing* p, int32_t open, int32_t until) {
  for (; open != until; open = p->fmu->terminals[open].parent)
    cpli_write(p->w, "    </Terminal>\n");
}

// Writes a terminal that is in no other one, with those inside it, which follow it.
static void write_terminal(const passing* p, int32_t first) {
  const cpl_fmu* f = p->fmu;
  int32_t open = -1;
  for (int32_t i = first; i < f->n_terminals; i++) {
    if (i > first && f->terminals[i].parent < 0) break;
    end_terminals(p, open, f->terminals[i].parent);
    begin_terminal(p, i);
    open = i;
  }
  end_terminals(p, open, -1);
}

static cpl_status pass_on(passing* p, cpli_passed* passed) {
  const cpl_fmu* f = p->fmu;
  p->ends = cpli_arena_alloc(passed->arena, (size_t)f->n_terminals, sizeof *p->ends);
  p->order = cpli_arena_alloc(passed->arena, (size_t)f->n_terminal_members, sizeof *p->order);
  p->whole = cpli_arena_alloc(passed->arena, (size_t)f->n_terminals, sizeof *p->whole);
  if (p->ends == NULL || p->order == NULL || p->whole == NULL) return cpli_nomem(p->w->ctx);
  cpl_status st = sort_members(p, passed->arena);
  for (int32_t i = 0; i < f->n_terminals && st >= 0; i++) {
    if (f->terminals[i].parent >= 0 || !p->whole[i]) continue;
    const char* name = cpli_inner_name(passed->arena, p->part->name, f->terminals[i].name);
    if (name == NULL) return cpli_nomem(p->w->ctx);
    if (cpli_names_find(passed->names, name) >= 0) continue;
    if (cpli_names_add(passed->names, name, CPLI_PASSED) < 0) return cpli_nomem(p->w->ctx);
    write_terminal(p, i);
  }
  return st;
}

cpl_status cpli_pass_terminals(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n,
                               cpli_passed* passed) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < facts->n_inner && st >= 0; i++)
    st = pass_on(&(passing){.w = w, .n = n, .part = &facts->inner[i], .fmu = facts->inner[i].fmu},
                 passed);
  return st;
}
