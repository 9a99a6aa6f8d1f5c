// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parses measures. The text of a measure is divided: each call of a reduction is parsed on its own,
// with variables of the model as names, and replaced by a placeholder of the same length; the rest
// is an expression over placeholders and other measures.
#include "study/measure.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "couplet/component.h"
#include "format/source_loc.h"

typedef enum unit_rule { SAME_UNIT, TIMES_SECONDS, SECONDS, NO_UNIT } unit_rule;

static const struct {
  const char* name;
  cpli_reduction_kind kind;
  int least, most;  // arguments
  bool condition;   // the first one is a Boolean
  bool segments;    // the course between the rows matters
  unit_rule unit;
  const char* use;
} reductions[] = {
    {"final", CPLI_FINAL, 1, 1, false, false, SAME_UNIT, "final(x)"},
    {"initial", CPLI_INITIAL, 1, 1, false, false, SAME_UNIT, "initial(x)"},
    {"min", CPLI_MIN, 1, 1, false, true, SAME_UNIT, "min(x)"},
    {"max", CPLI_MAX, 1, 1, false, true, SAME_UNIT, "max(x)"},
    {"time_of_min", CPLI_TIME_OF_MIN, 1, 1, false, true, SECONDS, "time_of_min(x)"},
    {"time_of_max", CPLI_TIME_OF_MAX, 1, 1, false, true, SECONDS, "time_of_max(x)"},
    {"integral", CPLI_INTEGRAL, 1, 1, false, true, TIMES_SECONDS, "integral(x)"},
    {"mean", CPLI_MEAN, 1, 1, false, true, SAME_UNIT, "mean(x)"},
    {"rms", CPLI_RMS, 1, 1, false, true, SAME_UNIT, "rms(x)"},
    {"at", CPLI_AT, 2, 2, false, true, SAME_UNIT, "at(x, time)"},
    {"time_when", CPLI_TIME_WHEN, 1, 1, true, true, SECONDS, "time_when(x > 1)"},
    {"count", CPLI_COUNT, 1, 1, true, true, NO_UNIT, "count(x > 1)"},
    {"duration", CPLI_DURATION, 1, 1, true, true, SECONDS, "duration(x > 1)"},
    {"events", CPLI_EVENTS, 0, 0, false, true, NO_UNIT, "events()"},
    {"overshoot", CPLI_OVERSHOOT, 1, 2, false, true, NO_UNIT, "overshoot(x) or overshoot(x, goal)"},
    {"settling_time", CPLI_SETTLING_TIME, 2, 3, false, true, SECONDS,
     "settling_time(x, band) or settling_time(x, band, goal)"},
};

enum { N_REDUCTIONS = CPLI_COUNT(reductions), MAX_ARGS = 3, MAX_VARS = 64 };

//------------------------------------ while parsing ------------------------------------

typedef struct parser {
  cpl_context* ctx;
  cpli_measures* m;
  const cpl_measure_def* defs;
  const cpl_description* desc;
  int32_t* vars;  // of the description: the number among the recorded ones, from 1; 0: none yet
  size_t cap_vars, cap_reductions;
  bool* held;
  const cpl_measure_def* def;  // the present measure
} parser;

static cpli_source_loc loc_at(const parser* p, size_t offset) {
  const cpl_measure_def* d = p->def;
  return (cpli_source_loc){d->file, d->line, (d->column > 0 ? d->column : 1) + (int32_t)offset};
}

CPL_PRINTF(3, 4)
static cpl_status fail_at(const parser* p, size_t offset, const char* fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  const cpli_source_loc loc = loc_at(p, offset);
  if (loc.file != NULL)
    return cpli_fail_at(p->ctx, CPL_ERR_INPUT, &loc, "the measure %s: %s", p->def->name, text);
  return cpl_fail(p->ctx, CPL_ERR_INPUT, "the measure %s (%s), column %d: %s", p->def->name,
                  p->def->text, loc.column, text);
}

//------------------------------------ variables ------------------------------------

static const char* variable_name(const void* user, size_t i) {
  return ((const parser*)user)->desc->vars[i].name;
}

static cpl_status grow(cpl_context* ctx, void** list, size_t n, size_t* cap, size_t size) {
  if (n < *cap) return CPL_OK;
  const size_t wanted = *cap > 0 ? 2 * *cap : 8;
  void* grown = cpli_realloc(ctx, *list, wanted, size);
  if (grown == NULL) return cpli_nomem(ctx);
  *list = grown;
  *cap = wanted;
  return CPL_OK;
}

// The slot of a variable is its number in the description.
static int32_t resolve_variable(void* user, const char* name, cpl_type* type) {
  const parser* p = user;
  const int32_t i = cpl_find_variable(p->desc, name);
  if (i < 0) return -1;
  const cpl_variable* v = &p->desc->vars[i];
  if (v->type == CPL_STRING || v->type == CPL_BINARY) return -1;
  *type = v->type == CPL_ENUMERATION || v->type == CPL_CLOCK ? CPL_INTEGER : (cpl_type)v->type;
  return i;
}

static cpl_status record(parser* p, int32_t var, int32_t* out) {
  cpli_measures* m = p->m;
  if (p->vars[var] == 0) {
    size_t cap = p->cap_vars;
    cpl_status st = grow(p->ctx, (void**)&m->vars, m->n_vars, &cap, sizeof *m->vars);
    if (st >= 0) st = grow(p->ctx, (void**)&p->held, m->n_vars, &p->cap_vars, sizeof *p->held);
    if (st < 0) return st;
    const cpl_variable* v = &p->desc->vars[var];
    m->vars[m->n_vars] = cpli_arena_strdup(&m->arena, v->name);
    p->held[m->n_vars] = v->type != CPL_REAL || v->variability != CPL_VARIABILITY_CONTINUOUS;
    if (m->vars[m->n_vars] == NULL) return cpli_nomem(p->ctx);
    p->vars[var] = (int32_t)++m->n_vars;
  }
  *out = p->vars[var] - 1;
  return CPL_OK;
}

//------------------------------------ reductions ------------------------------------

// A piece of the text of a measure.
typedef struct piece {
  size_t at, len;
} piece;

static piece trimmed(const char* text, piece in) {
  while (in.len > 0 && isspace((unsigned char)text[in.at])) in.at++, in.len--;
  while (in.len > 0 && isspace((unsigned char)text[in.at + in.len - 1])) in.len--;
  return in;
}

static cpl_status parse_piece(const parser* p, piece what, const cpli_scope* scope,
                              cpli_expr** out) {
  char* text = cpli_printf(p->ctx, "%.*s", (int)what.len, p->def->text + what.at);
  if (text == NULL) return cpli_nomem(p->ctx);
  const cpli_source_loc loc = loc_at(p, what.at);
  cpl_status st = cpli_expr_parse(p->ctx, loc, text, scope, out);
  cpli_free(p->ctx, text);
  return st < 0 ? cpl_fail_prefix(p->ctx, st, "the measure %s", p->def->name) : st;
}

static cpl_status constant_of(const parser* p, piece what, double* out) {
  cpli_expr* expr = NULL;
  cpl_status st = parse_piece(p, what, NULL, &expr);
  if (st >= 0 && !cpli_expr_is_constant(expr))
    st = fail_at(p, what.at, "a constant is expected here");
  if (st >= 0 && cpli_expr_value(expr, p->ctx, 0, NULL, NULL, out) != CPL_OK) st = CPL_ERR_INPUT;
  cpli_expr_destroy(expr);
  return st;
}

// Whether the expression is the name of one Real variable.
static bool is_plain(const parser* p, piece what, const int32_t* slots, size_t n) {
  if (n != 1) return false;
  const char *text = p->def->text + what.at, *name = p->desc->vars[slots[0]].name;
  const size_t len = strlen(name);
  if (what.len == len && strncmp(text, name, len) == 0) return true;
  return what.len == len + 2 && text[0] == '\'' && strncmp(text + 1, name, len) == 0;
}

static cpl_status parse_course(parser* p, piece what, bool condition, cpli_reduction* out) {
  const cpli_scope scope = {.resolve = resolve_variable,
                            .candidate = variable_name,
                            .n_candidates = (size_t)p->desc->n_vars,
                            .user = p};
  cpl_status st = parse_piece(p, what, &scope, &out->expr);
  if (st < 0) return st;
  const bool is_condition = cpli_expr_type(out->expr) == CPL_BOOLEAN;
  if (is_condition && !condition)
    return fail_at(p, what.at, "a number is expected here, not a condition");
  if (!is_condition && condition)
    return fail_at(p, what.at, "a condition is expected here, such as x > 1");
  const int32_t* slots = NULL;
  out->n_slots = cpli_expr_slots(out->expr, &slots);
  if (out->n_slots > MAX_VARS)
    return fail_at(p, what.at, "an expression of a measure may use %d variables", MAX_VARS);
  int32_t* vars = cpli_arena_alloc(&p->m->arena, out->n_slots, sizeof *vars);
  if (vars == NULL) return cpli_nomem(p->ctx);
  for (size_t i = 0; i < out->n_slots && st >= 0; i++) st = record(p, slots[i], &vars[i]);
  out->vars = vars;
  out->plain = !condition && is_plain(p, what, slots, out->n_slots);
  return st;
}

static cpl_status check_args(const parser* p, size_t at, const cpli_reduction* r) {
  if (r->kind == CPLI_AT && !(r->args[0] >= p->m->start && r->args[0] <= p->m->stop))
    return fail_at(p, at, "the run goes from %g to %g", p->m->start, p->m->stop);
  if (r->kind == CPLI_SETTLING_TIME && !(r->args[0] > 0))
    return fail_at(p, at, "the band must be positive: 0.02 is 2 %% of the change");
  return CPL_OK;
}

static cpl_status add_reduction(parser* p, size_t which, size_t at, const piece* args, size_t n,
                                int32_t* out) {
  cpli_measures* m = p->m;
  cpl_status st = grow(p->ctx, (void**)&m->reductions, m->n_reductions, &p->cap_reductions,
                       sizeof *m->reductions);
  if (st < 0) return st;
  if ((int)n < reductions[which].least || (int)n > reductions[which].most)
    return fail_at(p, at, "%s is used as %s", reductions[which].name, reductions[which].use);
  cpli_reduction* r = &m->reductions[m->n_reductions++];
  *r = (cpli_reduction){.kind = reductions[which].kind, .args = {NAN, NAN}};
  *out = (int32_t)m->n_reductions - 1;
  m->needs_segments = m->needs_segments || reductions[which].segments;
  if (n > 0) st = parse_course(p, args[0], reductions[which].condition, r);
  for (size_t i = 1; i < n && st >= 0; i++) st = constant_of(p, args[i], &r->args[i - 1]);
  return st < 0 ? st : check_args(p, at, r);
}

//------------------------------------ calls in a text ------------------------------------

static size_t skip_quoted(const char* text, size_t i) {
  for (i++; text[i] != '\0' && text[i] != '\''; i++) {
  }
  return text[i] == '\'' ? i + 1 : i;
}

static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

// The arguments of a call whose bracket is at `open`; *end is behind it. false: it is not closed.
static bool split_args(const char* text, size_t open, piece* args, size_t* n, size_t* end) {
  int depth = 0;
  size_t from = open + 1, i = open;
  *n = 0;
  while (text[i] != '\0') {
    if (text[i] == '\'') {
      i = skip_quoted(text, i);
      continue;
    }
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if ((text[i] == ',' && depth == 1) || depth == 0) {
      const piece one = trimmed(text, (piece){from, i - from});
      if (*n < MAX_ARGS && (one.len > 0 || *n > 0 || text[i] == ',')) args[*n] = one;
      if (one.len > 0 || *n > 0 || text[i] == ',') ++*n;
      from = i + 1;
      if (depth == 0) {
        *end = i + 1;
        return true;
      }
    }
    i++;
  }
  return false;
}

static size_t find_reduction(const char* text, size_t len) {
  size_t i = 0;
  while (i < N_REDUCTIONS &&
         !(strlen(reductions[i].name) == len && strncmp(reductions[i].name, text, len) == 0))
    i++;
  return i;
}

// Replaces the calls of reductions in a copy of the text by 'name' of the same length.
static cpl_status replace_calls(parser* p, char* rest) {
  const char* text = p->def->text;
  cpl_status st = CPL_OK;
  for (size_t i = 0; text[i] != '\0' && st >= 0;) {
    if (text[i] == '\'') {
      i = skip_quoted(text, i);
      continue;
    }
    size_t len = 0;
    while (is_name_char(text[i + len])) len++;
    if (len == 0) {
      i++;
      continue;
    }
    size_t open = i + len, which = find_reduction(text + i, len), n = 0, end = 0;
    while (text[open] == ' ') open++;
    piece args[MAX_ARGS];
    if (which == N_REDUCTIONS || text[open] != '(') {
      i += len;
      continue;
    }
    if (!split_args(text, open, args, &n, &end))
      return fail_at(p, open, "this bracket is not closed");
    const bool elementwise =
        (reductions[which].kind == CPLI_MIN || reductions[which].kind == CPLI_MAX) && n > 1;
    if (elementwise) {  // of numbers, which may be reductions
      i = open;
      continue;
    }
    int32_t number = -1;
    if (n > MAX_ARGS) n = MAX_ARGS + 1;
    st = add_reduction(p, which, i, args, n, &number);
    char name[32];
    const int used = snprintf(name, sizeof name, "'#%d'", number);
    if (st >= 0 && (size_t)used > end - i) st = fail_at(p, i, "there are too many reductions");
    if (st < 0) break;
    memset(rest + i, ' ', end - i);
    memcpy(rest + i, name, (size_t)used);
    i = end;
  }
  return st;
}

//------------------------------------ measures ------------------------------------

// Placeholders are reductions, other names are measures: their slots follow.
static int32_t resolve_source(void* user, const char* name, cpl_type* type) {
  const parser* p = user;
  *type = CPL_REAL;
  int number = -1;
  if (name[0] == '#' && sscanf(name, "#%d", &number) == 1) return number;
  for (size_t i = 0; i < p->m->n; i++)
    if (strcmp(p->defs[i].name, name) == 0) return (int32_t)(1 << 20) + (int32_t)i;
  return -1;
}

static const char* measure_name(const void* user, size_t i) {
  return ((const parser*)user)->defs[i].name;
}

static const char* reduction_name(const void* user, size_t i) {
  (void)user;
  return reductions[i].name;
}

static cpl_status explain(const parser* p, cpl_status st) {
  // a variable outside of a reduction is the likely mistake
  const char* unknown = cpl_context_last_error(p->ctx)->unknown;
  for (int32_t i = 0; i < p->desc->n_vars; i++) {
    const char* name = p->desc->vars[i].name;
    if (strcmp(name, unknown) != 0) continue;
    return cpl_fail_prefix(
        p->ctx, st,
        "the measure %s: a variable is a course, not a number: use a function of "
        "the run, such as final(%s)",
        p->def->name, name);
  }
  return cpl_fail_prefix(p->ctx, st, "the measure %s", p->def->name);
}

static const char* unit_of(parser* p, const cpli_measure* measure, const char* rest) {
  const size_t n = strlen(rest);
  const piece all = trimmed(rest, (piece){0, n});
  const bool single = measure->n_sources == 1 && measure->sources[0] >= 0 && all.len >= 4 &&
                      rest[all.at] == '\'' && rest[all.at + all.len - 1] == '\'';
  if (!single) return "";
  const cpli_reduction* r = &p->m->reductions[measure->sources[0]];
  size_t which = 0;
  while (reductions[which].kind != r->kind) which++;
  if (reductions[which].unit == SECONDS) return "s";
  if (reductions[which].unit == NO_UNIT || !r->plain) return "";
  const int32_t var = cpl_find_variable(p->desc, p->m->vars[r->vars[0]]);
  const int32_t unit = p->desc->vars[var].unit;
  const char* name = unit >= 0 ? p->desc->units[unit].name : "";
  if (reductions[which].unit == SAME_UNIT || name[0] == '\0')
    return cpli_arena_strdup(&p->m->arena, name);
  char* product = cpli_printf(p->ctx, "%s.s", strcmp(name, "1") == 0 ? "" : name);
  const char* kept = product != NULL
                         ? cpli_arena_strdup(&p->m->arena, product + (product[0] == '.' ? 1 : 0))
                         : NULL;
  cpli_free(p->ctx, product);
  return kept;
}

static cpl_status parse_measure(parser* p, size_t i) {
  cpli_measures* m = p->m;
  cpli_measure* one = &m->list[i];
  p->def = &p->defs[i];
  char* rest = cpli_strdup(p->ctx, p->def->text);
  one->name = cpli_arena_strdup(&m->arena, p->def->name);
  if (rest == NULL || one->name == NULL) {
    cpli_free(p->ctx, rest);
    return cpli_nomem(p->ctx);
  }
  cpl_status st = replace_calls(p, rest);
  if (st >= 0) {
    const cpli_scope scope = {.resolve = resolve_source,
                              .candidate = measure_name,
                              .n_candidates = m->n,
                              .function = reduction_name,
                              .n_functions = N_REDUCTIONS,
                              .user = p};
    st = cpli_expr_parse(p->ctx, loc_at(p, 0), rest, &scope, &one->expr);
    if (st < 0 && st != CPL_ERR_NOMEM) st = explain(p, st);
  }
  if (st >= 0 && cpli_expr_type(one->expr) == CPL_BOOLEAN)
    st = fail_at(p, 0, "a number is expected, not a condition");
  if (st >= 0 && cpli_expr_uses_time(one->expr))
    st = fail_at(p, 0, "time is a course, not a number: use final(time)");
  const int32_t* slots = NULL;
  if (st >= 0) {
    one->n_sources = cpli_expr_slots(one->expr, &slots);
    int32_t* sources = cpli_arena_alloc(&m->arena, one->n_sources, sizeof *sources);
    if (sources == NULL) st = cpli_nomem(p->ctx);
    for (size_t k = 0; k < one->n_sources && st >= 0; k++)
      sources[k] = slots[k] >= 1 << 20 ? ~(slots[k] - (1 << 20)) : slots[k];
    one->sources = sources;
  }
  if (st >= 0) one->unit = unit_of(p, one, rest);
  if (st >= 0 && one->unit == NULL) st = cpli_nomem(p->ctx);
  cpli_free(p->ctx, rest);
  return st;
}

// Measures after those that they use.
static cpl_status find_order(parser* p) {
  cpli_measures* m = p->m;
  int32_t* order = cpli_arena_alloc(&m->arena, m->n, sizeof *order);
  bool* done = cpli_arena_alloc(&m->arena, m->n, sizeof *done);
  if (order == NULL || done == NULL) return cpli_nomem(p->ctx);
  size_t n = 0;
  for (size_t before = m->n + 1; n < m->n && before != n;) {
    before = n;
    for (size_t i = 0; i < m->n; i++) {
      bool ready = !done[i];
      for (size_t k = 0; k < m->list[i].n_sources && ready; k++)
        ready = m->list[i].sources[k] >= 0 || done[~m->list[i].sources[k]];
      if (!ready) continue;
      done[i] = true;
      order[n++] = (int32_t)i;
    }
  }
  m->order = order;
  for (size_t i = 0; i < m->n; i++) {
    p->def = &p->defs[i];
    if (!done[i]) return fail_at(p, 0, "it depends on itself");
  }
  return CPL_OK;
}

static cpl_status check_names(parser* p) {
  for (size_t i = 0; i < p->m->n; i++) {
    p->def = &p->defs[i];
    if (p->def->name[0] == '\0') return fail_at(p, 0, "it has no name");
    for (size_t k = 0; k < i; k++)
      if (strcmp(p->defs[k].name, p->def->name) == 0)
        return fail_at(p, 0, "this name occurs twice");
  }
  return CPL_OK;
}

cpl_status cpli_measures_parse(cpl_context* ctx, const cpl_measure_def* defs, size_t n,
                               const cpl_description* desc, double start, double stop,
                               cpli_measures** out) {
  *out = NULL;
  cpli_measures* m = cpli_alloc(ctx, 1, sizeof *m);
  if (m == NULL) return cpli_nomem(ctx);
  m->ctx = ctx;
  m->n = n;
  m->start = start;
  m->stop = stop;
  cpli_arena_init(&m->arena, ctx);
  parser p = {.ctx = ctx, .m = m, .defs = defs, .desc = desc};
  m->list = cpli_arena_alloc(&m->arena, n, sizeof *m->list);
  p.vars = cpli_alloc(ctx, (size_t)desc->n_vars, sizeof *p.vars);
  cpl_status st = m->list != NULL && p.vars != NULL ? check_names(&p) : cpli_nomem(ctx);
  for (size_t i = 0; i < n && st >= 0; i++) st = parse_measure(&p, i);
  if (st >= 0) st = find_order(&p);
  m->held = p.held;
  cpli_free(ctx, p.vars);
  if (st >= 0) *out = m;
  else cpli_measures_destroy(m);
  return st;
}

void cpli_measures_destroy(cpli_measures* m) {
  if (m == NULL) return;
  for (size_t i = 0; i < m->n && m->list != NULL; i++) cpli_expr_destroy(m->list[i].expr);
  for (size_t i = 0; i < m->n_reductions; i++) cpli_expr_destroy(m->reductions[i].expr);
  cpli_free(m->ctx, m->reductions);
  cpli_free(m->ctx, m->vars);
  cpli_free(m->ctx, (void*)m->held);
  cpli_arena_free(&m->arena);
  cpli_free(m->ctx, m);
}
