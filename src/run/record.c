// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The recorder of a run: it selects the variables, reads them in one call per type, and passes one
// row per time point to the callbacks. Rows with values that are not known yet wait in rows.c.
#include <assert.h>
#include <math.h>

#include "base/float_modes.h"
#include "run/run.h"

enum { MAX_WARNINGS = 10 };  // number of variables that are not finite

// Columns of one type: read in one call, then scattered into the row.
struct cpli_record_group {
  cpl_type type;
  size_t n;
  uint32_t* refs;
  size_t* place;
  union {
    double* real;
    int64_t* integer;
    const char** string;
    cpl_binary* binary;
  } got;
  char* text;  // binaries as hexadecimal digits
  size_t cap;
};

//------------------------------------ selection ------------------------------------

static void mark_states(const cpl_description* d, bool* state) {
  for (int32_t k = 0; k < d->n_states; k++) {
    int32_t var = d->states[k];
    if (var >= 0) state[var] = !d->vars[var].mode_dependent;
  }
}

// An exact name takes precedence over a pattern: x[1] and a*b may be names of variables.
static cpl_status choose(cpl_component* c, const cpl_run_def* def, bool* chosen, int32_t* order,
                         size_t* n) {
  const cpl_description* d = c->desc;
  for (size_t i = 0; i < def->n_record; i++) {
    const char* pattern = def->record[i];
    int32_t exact = cpl_find_variable(d, pattern);
    bool any = exact >= 0;
    if (exact >= 0 && !chosen[exact]) chosen[exact] = true, order[(*n)++] = exact;
    for (int32_t v = 0; exact < 0 && v < d->n_vars; v++) {
      if (!cpli_glob(pattern, d->vars[v].name)) continue;
      // the name belongs to another variable
      if (cpl_find_variable(d, d->vars[v].name) != v) continue;
      any = true;
      if (!chosen[v]) chosen[v] = true, order[(*n)++] = v;
    }
    if (any) continue;
    if (strpbrk(pattern, "*?") != NULL) {
      return cpl_fail_in(c->ctx, CPL_ERR_INPUT, d->name, NULL, NAN, "no variable matches \"%s\"",
                         pattern);
    }
    return cpl_require_variable(c->ctx, d, pattern, &exact);
  }
  return CPL_OK;
}

static void choose_default(const cpl_component* c, const bool* state, int32_t* order, size_t* n) {
  const cpl_description* d = c->desc;
  for (int32_t v = 0; v < d->n_vars; v++) {
    if (d->vars[v].type == CPL_BINARY && c->ops->get_binary == NULL) continue;
    bool wanted =
        d->vars[v].causality == CPL_CAUSALITY_OUTPUT || d->vars[v].inner_output || state[v];
    if (wanted && (d->names == NULL || cpl_find_variable(d, d->vars[v].name) == v))
      order[(*n)++] = v;  // a name selects one variable
  }
}

//------------------------------------ groups ------------------------------------

static size_t group_of(cpli_recorder* r, cpl_type type) {
  size_t g = 0;
  while (g < r->n_groups && r->groups[g].type != type) g++;
  return g;
}

static cpl_type type_of(const cpli_recorder* r, int32_t var) {
  return (cpl_type)r->c->desc->vars[var].type;
}

#ifdef NDEBUG
#define check_groups(r) ((void)0)
#else
// groups invariant: every column is in the group of its type, once. (Places ascend within a group,
// groups have different types, and together they are as many as the columns.)
static void check_groups(const cpli_recorder* r) {
  size_t n = 0;
  for (size_t g = 0; g < r->n_groups; g++) {
    const struct cpli_record_group* group = &r->groups[g];
    n += group->n;
    for (size_t i = 0; i < group->n; i++) {
      assert(group->place[i] < r->n && (i == 0 || group->place[i - 1] < group->place[i]));
      cpl_type type = r->columns[group->place[i]].type;
      assert(type == group->type || (type == CPL_STRING && group->type == CPL_BINARY));
    }
    for (size_t k = 0; k < g; k++) assert(r->groups[k].type != group->type);
  }
  assert(n == r->n);
}
#endif

static bool make_groups(cpli_recorder* r, const int32_t* order) {
  cpl_context* ctx = r->c->ctx;
  r->groups = cpli_alloc(ctx, CPL_CLOCK + 1, sizeof *r->groups);
  if (r->groups == NULL) return false;
  for (size_t i = 0; i < r->n; i++) {
    size_t g = group_of(r, type_of(r, order[i]));
    if (g == r->n_groups) r->groups[r->n_groups++].type = type_of(r, order[i]);
    r->groups[g].n++;
  }
  for (size_t g = 0; g < r->n_groups; g++) {
    struct cpli_record_group* group = &r->groups[g];
    group->refs = cpli_alloc(ctx, group->n, sizeof *group->refs);
    group->place = cpli_alloc(ctx, group->n, sizeof *group->place);
    group->got.binary = cpli_alloc(ctx, group->n, sizeof(cpl_binary));  // the largest
    if (group->refs == NULL || group->place == NULL || group->got.binary == NULL) return false;
    group->n = 0;
  }
  for (size_t i = 0; i < r->n; i++) {
    struct cpli_record_group* group = &r->groups[group_of(r, type_of(r, order[i]))];
    group->refs[group->n] = r->c->desc->vars[order[i]].ref;
    group->place[group->n++] = i;
  }
  check_groups(r);
  return true;
}

static cpl_column column_of(const cpl_description* d, int32_t var) {
  const cpl_variable* v = &d->vars[var];
  bool constant = v->variability <= CPL_VARIABILITY_FIXED;
  return (cpl_column){.name = v->name,
                      .unit = v->unit >= 0 ? d->units[v->unit].name : NULL,
                      .description = v->description,
                      .type = v->type == CPL_BINARY ? CPL_STRING : (cpl_type)v->type,
                      .constant = constant,
                      .is_unsigned = v->type == CPL_INTEGER && v->width == CPL_WIDTH_UINT64};
}

cpl_status cpli_recorder_open(cpli_recorder* r, cpl_stepper* s, const cpl_run_def* def) {
  cpl_component* c = &s->base;
  const cpl_description* d = c->desc;
  cpl_status st = CPL_OK;
  *r = (cpli_recorder){
      .c = c, .s = s, .def = def, .next = INFINITY, .writing = cpli_stopwatch_begin()};
  int32_t* order = cpli_alloc(c->ctx, (size_t)d->n_vars, sizeof *order);
  bool* marked = cpli_alloc(c->ctx, (size_t)d->n_vars, sizeof *marked);
  if (order == NULL || marked == NULL) {
    st = cpli_nomem(c->ctx);
    goto done;
  }
  if (def->n_record > 0) {
    st = choose(c, def, marked, order, &r->n);
    if (st < 0) goto done;
  } else {
    mark_states(d, marked);
    choose_default(c, marked, order, &r->n);
  }
  r->columns = cpli_alloc(c->ctx, r->n, sizeof *r->columns);
  r->row = cpli_alloc(c->ctx, r->n, sizeof *r->row);
  r->warned = cpli_alloc(c->ctx, r->n, sizeof *r->warned);
  if (r->columns == NULL || r->row == NULL || r->warned == NULL) {
    st = cpli_nomem(c->ctx);
    goto done;
  }
  for (size_t i = 0; i < r->n; i++) r->columns[i] = column_of(d, order[i]);
  if (!make_groups(r, order)) st = cpli_nomem(c->ctx);
  if (st >= 0) st = cpli_rows_open(&r->rows, c->ctx, r->n);
  for (size_t i = 0; i < r->n && st >= 0; i++) {
    const cpl_variable* v = &d->vars[order[i]];
    r->rows.moves[i] = v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS;
    r->rows.is_text[i] = r->columns[i].type == CPL_STRING;
    r->warned[i] = v->mode_dependent;  // NaN in modes that do not have it
  }
done:
  cpli_free(c->ctx, order);
  cpli_free(c->ctx, marked);
  return st;
}

cpl_status cpli_recorder_wait(cpli_recorder* r) {
  r->since = cpli_alloc(r->c->ctx, r->n, sizeof *r->since);
  r->waits = r->since != NULL;
  return r->waits ? CPL_OK : cpli_nomem(r->c->ctx);
}

void cpli_recorder_rewind(cpli_recorder* r) {
  r->points = 0;
  r->writing = cpli_stopwatch_begin();
  r->next = INFINITY;
  cpli_rows_rewind(&r->rows);
}

cpl_status cpli_recorder_begin(cpli_recorder* r) {
  const cpl_run_def* def = r->def;
  if (r->memory != NULL) cpli_memory_begin(r->memory, r->columns, r->n);
  return def->on_columns != NULL ? def->on_columns(def->user, r->columns, r->n) : CPL_OK;
}

void cpli_recorder_close(cpli_recorder* r) {
  if (r->c == NULL) return;
  cpl_context* ctx = r->c->ctx;
  for (size_t g = 0; g < r->n_groups; g++) {
    cpli_free(ctx, r->groups[g].refs);
    cpli_free(ctx, r->groups[g].place);
    cpli_free(ctx, r->groups[g].got.binary);
    cpli_free(ctx, r->groups[g].text);
  }
  cpli_rows_close(&r->rows);
  cpli_free(ctx, r->since);
  cpli_free(ctx, r->groups);
  cpli_free(ctx, r->columns);
  cpli_free(ctx, r->row);
  cpli_free(ctx, r->warned);
}

//------------------------------------ points ------------------------------------

static cpl_status read_binaries(cpli_recorder* r, struct cpli_record_group* g) {
  static const char digits[] = "0123456789abcdef";
  cpl_component* c = r->c;
  if (c->ops->get_binary == NULL)
    return cpl_fail_in(c->ctx, CPL_ERR_UNSUPPORTED, c->name, NULL, NAN,
                       "values of type Binary cannot be recorded here");
  cpl_status st = c->ops->get_binary(c, g->refs, g->n, g->got.binary);
  if (st != CPL_OK) return st;
  size_t total = 0;
  for (size_t i = 0; i < g->n; i++) total += 2 * g->got.binary[i].size + 1;
  if (total > g->cap) {
    cpli_free(c->ctx, g->text);
    g->text = cpli_alloc(c->ctx, g->cap = 2 * total, 1);
    if (g->text == NULL) return cpli_nomem(c->ctx);
  }
  char* at = g->text;
  for (size_t i = 0; i < g->n; i++) {
    const cpl_binary* b = &g->got.binary[i];
    r->row[g->place[i]].string = at;
    for (size_t k = 0; k < b->size; k++) {
      *at++ = digits[b->data[k] >> 4];
      *at++ = digits[b->data[k] & 15];
    }
    *at++ = '\0';
  }
  return st;
}

// Warns once per variable that is not finite; the rows are unchanged.
static void warn_of(cpli_recorder* r, const struct cpli_record_group* g, double t) {
  for (size_t i = 0; i < g->n; i++) {
    size_t column = g->place[i];
    if (isfinite(g->got.real[i]) || r->warned[column]) continue;
    r->warned[column] = true;
    if (++r->n_warned > MAX_WARNINGS + 1) continue;
    bool last = r->n_warned > MAX_WARNINGS;
    cpl_log(r->c->ctx, CPL_LOG_WARNING, r->c->name,
            last ? "%s is %g from t=%.12g on, and so are others" : "%s is %g from t=%.12g on",
            r->columns[column].name, g->got.real[i], t);
  }
}

static cpl_status read_group(cpli_recorder* r, struct cpli_record_group* g, double t) {
  cpl_component* c = r->c;
  cpl_status st;
  if (g->type == CPL_REAL) {
    st = c->ops->get_real(c, g->refs, g->n, g->got.real);
    double sum = 0;  // not zero when any is not finite
    for (size_t i = 0; i < g->n; i++) {
      r->row[g->place[i]].real = g->got.real[i];
      sum += g->got.real[i] - g->got.real[i];
    }
    if (st == CPL_OK && sum != 0) warn_of(r, g, t);
  } else if (g->type == CPL_STRING) {
    st = c->ops->get_string(c, g->refs, g->n, g->got.string);
    for (size_t i = 0; i < g->n; i++) r->row[g->place[i]].string = g->got.string[i];
  } else if (g->type == CPL_BINARY) {
    st = read_binaries(r, g);
  } else {
    st = c->ops->get_integer(c, g->type, g->refs, g->n, g->got.integer);
    for (size_t i = 0; i < g->n; i++) r->row[g->place[i]].integer = g->got.integer[i];
  }
  return st;
}

static cpl_status read(cpli_recorder* r, double t) {
  const uint32_t outer = cpli_float_begin();
  cpl_status st = CPL_OK;
  for (size_t g = 0; g < r->n_groups && st == CPL_OK; g++) st = read_group(r, &r->groups[g], t);
  cpli_float_end(outer);
  if (st != CPL_RETRY) return st < 0 ? st : CPL_OK;
  return cpl_fail_prefix(r->c->ctx, CPL_ERR_MODEL, "%s: outputs at t=%.12g", r->c->name, t);
}

static cpl_status write(cpli_recorder* r, double t, const cpl_value* row) {
  r->points++;
  const uint64_t since = r->untimed ? 0 : cpli_ticks();
  cpl_status st = r->memory != NULL ? cpli_memory_add(r->memory, t, row) : CPL_OK;
  if (st >= 0 && r->def->on_point != NULL) st = r->def->on_point(r->def->user, t, row);
  if (!r->untimed) cpli_stopwatch_add(&r->writing, since);
  return st;
}

//------------------------------------ waiting rows ------------------------------------

static cpl_status read_times(cpli_recorder* r, double t) {
  cpl_status st = CPL_OK;
  r->next = INFINITY;
  for (size_t g = 0; g < r->n_groups; g++) {
    const struct cpli_record_group* group = &r->groups[g];
    for (size_t i = 0; i < group->n && st >= 0; i++) {
      double next = INFINITY;
      r->since[group->place[i]] = t;
      if (r->s->ops->value_time != NULL)
        st = r->s->ops->value_time(r->s, group->refs[i], &r->since[group->place[i]], &next);
      r->next = fmin(r->next, next);
    }
  }
  return st;
}

static cpl_status sample(cpli_recorder* r, double t) {
  cpl_status st = read(r, t);
  if (st >= 0) st = read_times(r, t);
  return st < 0 ? st : cpli_rows_sample(&r->rows, r->since, r->row);
}

static cpl_status flush(cpli_recorder* r, bool all) {
  double t;
  const cpl_value* row;
  cpl_status st = CPL_OK;
  while (st >= 0 && cpli_rows_take(&r->rows, all, &t, &row)) st = write(r, t, row);
  return st;
}

cpl_status cpli_recorder_sample(cpli_recorder* r, double t) {
  cpl_status st = sample(r, t);
  return st < 0 ? st : flush(r, false);
}

cpl_status cpli_recorder_await(cpli_recorder* r, double t) { return cpli_rows_add(&r->rows, t); }

cpl_status cpli_recorder_finish(cpli_recorder* r) {
  if (!r->waits) return CPL_OK;
  cpl_status st = flush(r, true);
  if (r->rows.n_incomplete > 0)
    cpl_log(r->c->ctx, CPL_LOG_WARNING, r->c->name,
            "%zu row%s at the end show%s values of t=%.12g: the steps of a model cannot vary, and "
            "its next communication point is beyond the end",
            r->rows.n_incomplete, r->rows.n_incomplete == 1 ? "" : "s",
            r->rows.n_incomplete == 1 ? "s" : "", r->rows.incomplete_t);
  return st;
}

cpl_status cpli_recorder_point(cpli_recorder* r, double t) {
  cpl_status st = r->waits ? sample(r, t) : read(r, t);
  if (st < 0) return st;
  if (!r->waits) return write(r, t, r->row);
  st = cpli_rows_add(&r->rows, t);
  return st < 0 ? st : flush(r, false);
}
