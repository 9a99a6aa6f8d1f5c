// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Names of links in messages. A value into or out of an expression passes the stepper of the
// expressions under its own name: the message names the two models at the ends.
#include <stdio.h>

#include "master/master.h"

enum { MAX_TARGETS = 3 };

typedef struct text {
  char* at;
  size_t size, used;
} text;

static void add(text* t, const char* part) {
  if (t->used + 1 >= t->size) return;
  int n = snprintf(t->at + t->used, t->size - t->used, "%s", part);
  if (n > 0) t->used += (size_t)n;
}

static void add_variable(text* t, const cpli_master* m, int32_t part, int32_t var) {
  const cpl_component* c = &m->parts[part].s->base;
  if (!m->parts[part].plain) add(t, c->name), add(t, ".");
  add(t, c->desc->vars[var].name);
}

// Whether one of the two variables is the name of the other in the stepper of the expressions.
static bool is_passage(const cpli_master* m, int32_t plain_part, int32_t plain_var, int32_t part,
                       int32_t var) {
  const cpl_component *p = &m->parts[plain_part].s->base, *c = &m->parts[part].s->base;
  const char *name = p->desc->vars[plain_var].name, *other = c->desc->vars[var].name;
  size_t n = strlen(c->name);
  return m->parts[plain_part].plain && !m->parts[part].plain && strncmp(name, c->name, n) == 0 &&
         name[n] == '.' && strcmp(name + n + 1, other) == 0;
}

static bool depends(const cpl_description* d, int32_t output, int32_t input) {
  const cpl_structure* s = &d->structure;
  for (int32_t i = 0; i < s->n_outputs; i++) {
    if (s->outputs[i].var != output) continue;
    if (s->outputs[i].count < 0) return true;
    for (int32_t k = 0; k < s->outputs[i].count; k++) {
      if (s->deps[s->outputs[i].first + k] == input) return true;
    }
    return false;
  }
  return true;
}

// Names the inputs of models whose expressions contain this value.
static int32_t add_targets(text* t, const cpli_master* m, const cpli_master_link* l) {
  const cpl_description* d = m->parts[l->part].s->base.desc;
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_out* o = &m->outs[m->links[i].out];
    if (o->part != l->part || !depends(d, o->var, l->var)) continue;
    if (n++ >= MAX_TARGETS) continue;
    if (n > 1) add(t, ", ");
    add_variable(t, m, m->links[i].part, m->links[i].var);
  }
  if (n > MAX_TARGETS) add(t, ", ...");
  return n;
}

int cpli_link_print(const cpli_master* m, const cpli_master_link* l, char* out, size_t size) {
  const cpli_out* o = &m->outs[l->out];
  text t = {.at = out, .size = size};
  out[0] = '\0';
  if (is_passage(m, o->part, o->var, l->part, l->var)) {
    add(&t, "the expression of ");
    add_variable(&t, m, l->part, l->var);
    return (int)t.used;
  }
  add_variable(&t, m, o->part, o->var);
  add(&t, " -> ");
  if (!is_passage(m, l->part, l->var, o->part, o->var)) add_variable(&t, m, l->part, l->var);
  else if (add_targets(&t, m, l) == 0) add(&t, "expressions");
  return (int)t.used;
}

// " (0.1 s)", or "" when the step is unknown
const char* cpli_lag_print(const cpli_master* m, char* out, size_t size) {
  if (m->def.step > 0)
    snprintf(out, size, " (%s%g s)", m->def.tolerance > 0 ? "at most " : "", m->def.step);
  else out[0] = '\0';
  return out;
}
