// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run, interrupted at random points: it writes a checkpoint at each of them, which must not
// change its rows, and another component resumes from each, which must give the rows behind it. All
// bits are compared with those of a run without any checkpoint. CHECKPOINT_POINTS: how many (2);
// CHECKPOINT_ONLY: only systems whose name contains it; CHECKPOINT_TABLE: a file for one line per
// system.
#pragma once

#include <unistd.h>

#include "couplet/checkpoint.h"
#include "examples/running.h"

enum { MOST_POINTS = 1000 };

// All rows of a run, one after the other, and where each begins.
typedef struct rows {
  const cpl_column* columns;
  size_t n_columns;
  char* bytes;
  size_t n, cap;
  size_t *begins, n_rows, cap_rows;
} rows;

static void rows_add(rows* r, const void* data, size_t size) {
  if (size > r->cap - r->n) {
    r->cap = 2 * (r->cap + size) + 1024;
    r->bytes = realloc(r->bytes, r->cap);
    CHECK(r->bytes != NULL);
  }
  if (size > 0) memcpy(r->bytes + r->n, data, size);
  r->n += size;
}

static void rows_free(rows* r) {
  free(r->bytes);
  free(r->begins);
  *r = (rows){0};
}

static cpl_status rows_columns(void* user, const cpl_column* columns, size_t n) {
  rows* r = user;
  r->columns = columns;
  r->n_columns = n;
  return CPL_OK;
}

static cpl_status rows_point(void* user, double t, const cpl_value* values) {
  rows* r = user;
  if (r->n_rows == r->cap_rows) {
    r->cap_rows = 2 * r->cap_rows + 64;
    r->begins = realloc(r->begins, r->cap_rows * sizeof *r->begins);
    CHECK(r->begins != NULL);
  }
  r->begins[r->n_rows++] = r->n;
  rows_add(r, &t, sizeof t);
  for (size_t i = 0; i < r->n_columns; i++) {
    const cpl_column* c = &r->columns[i];
    if (c->type == CPL_STRING) rows_add(r, values[i].string, strlen(values[i].string) + 1);
    else rows_add(r, &values[i], sizeof values[i]);
  }
  return CPL_OK;
}

// Whether rows `first` and following of `whole` are those of `part`; *t: the time of the first one
// that differs.
static bool rows_equal(const rows* whole, size_t first, const rows* part, double* t) {
  *t = NAN;
  for (size_t i = 0; i < part->n_rows; i++) {
    size_t k = first + i, own = i + 1 < part->n_rows ? part->begins[i + 1] : part->n;
    size_t n = own - part->begins[i];
    memcpy(t, part->bytes + part->begins[i], sizeof *t);
    if (k >= whole->n_rows || whole->begins[k] + n > whole->n ||
        memcmp(whole->bytes + whole->begins[k], part->bytes + part->begins[i], n) != 0)
      return false;
  }
  return first + part->n_rows == whole->n_rows;
}

//------------------------------------ one run ------------------------------------

typedef struct interrupted {
  rows whole, written;  // without checkpoints, and with them
  cpl_status st;        // how they end
  cpl_simulation* sim;
  int64_t step, n_steps;  // of the run
  int64_t at[MOST_POINTS];
  size_t row[MOST_POINTS];
  int n, next;
  bool warns;  // of a restart
  cpl_status failed;
  char why[512];
} interrupted;

// Numbers that are the same everywhere (xorshift).
static uint64_t random_next(uint64_t* seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static int ascending(const void* a, const void* b) {
  int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static void count_step(void* user, double t) {
  (void)t;
  ((interrupted*)user)->n_steps++;
}

static cpl_status count_columns(void* user, const cpl_column* columns, size_t n) {
  return rows_columns(&((interrupted*)user)->whole, columns, n);
}

static cpl_status count_point(void* user, double t, const cpl_value* values) {
  return rows_point(&((interrupted*)user)->whole, t, values);
}

static cpl_status write_columns(void* user, const cpl_column* columns, size_t n) {
  return rows_columns(&((interrupted*)user)->written, columns, n);
}

static cpl_status write_point(void* user, double t, const cpl_value* values) {
  return rows_point(&((interrupted*)user)->written, t, values);
}

static void checkpoint_path(char* out, size_t size, int i) { snprintf(out, size, "%d.state", i); }

static void write_step(void* user, double t) {
  interrupted* k = user;
  k->step++;
  (void)t;
  if (k->next >= k->n || k->at[k->next] != k->step || k->failed < 0) return;
  char path[40];
  checkpoint_path(path, sizeof path, k->next);
  cpl_checkpoints_def def = cpl_default_checkpoints_def();
  def.path = path;
  k->row[k->next++] = k->written.n_rows;
  k->failed = cpl_simulation_checkpoint(k->sim, &def);
}

static cpl_status advance_all(cpl_experiment* e, const cpl_run_def* def, interrupted* k) {
  cpl_status st = cpl_simulation_create(cpl_experiment_stepper(e), def, &k->sim);
  if (st >= 0) st = cpl_simulation_start(k->sim);
  if (st >= 0) st = cpl_simulation_advance(k->sim, def->stop_time);
  if (k->sim != NULL) {
    cpl_status ended = cpl_simulation_finish(k->sim, NULL);
    if (st >= 0) st = ended;
  }
  cpl_simulation_destroy(k->sim);
  k->sim = NULL;
  return st;
}

static void keep_why(interrupted* k, cpl_context* ctx, const char* what) {
  if (k->why[0] == '\0') snprintf(k->why, sizeof k->why, "%s: %s", what, cpl_context_error(ctx));
}

// `saves`: its state is to become bytes.
typedef cpl_experiment* open_fn(cpl_context* ctx, void* user, bool saves);

static void resume_each(cpl_context* ctx, open_fn* open, void* user, interrupted* k) {
  cpl_experiment* e = NULL;
  for (int i = 0; i < k->next; i++) {
    char path[40];
    cpl_checkpoint* from = NULL;
    rows part = {0};
    double t;
    checkpoint_path(path, sizeof path, i);
    // few points: all in components of their own
    if (e != NULL && k->n <= 10) cpl_experiment_destroy(e), e = NULL;
    if (e == NULL) e = open(ctx, user, true);
    else CHECK_OK(ctx, cpl_component_reset(&cpl_experiment_stepper(e)->base));
    CHECK_OK(ctx, cpl_checkpoint_read(ctx, path, &from));
    if (!cpl_checkpoint_is_exact(from) && k->why[0] == '\0')
      snprintf(k->why, sizeof k->why, "not exact");
    cpl_run_def def = *cpl_experiment_run_def(e);
    def.on_columns = rows_columns;
    def.on_point = rows_point;
    def.user = &part;
    def.resume = from;
    cpl_status st = cpl_run(cpl_experiment_stepper(e), &def, NULL);
    cpl_checkpoint_destroy(from);
    bool same = rows_equal(&k->whole, k->row[i], &part, &t);
    if ((!same || st != k->st) && k->why[0] == '\0') {
      snprintf(k->why, sizeof k->why,
               "resumed before step %lld of %lld: status %d instead of %d%s, row at t=%.12g%s%s",
               (long long)k->at[i], (long long)k->n_steps, (int)st, (int)k->st,
               same ? "" : ", other bytes", t, st < 0 ? ": " : "",
               st < 0 ? cpl_context_error(ctx) : "");
    }
    rows_free(&part);
    unlink(path);
  }
  cpl_experiment_destroy(e);
}

// Interrupts a run `n` times; *k: how it went; why[0] == '\0': all bytes are the same.
static void interrupt(cpl_context* ctx, open_fn* open, void* user, int n, uint64_t seed,
                      interrupted* k) {
  double t;
  *k = (interrupted){.n = n};
  cpl_experiment* e = open(ctx, user, false);
  cpl_run_def def = *cpl_experiment_run_def(e);
  def.on_columns = count_columns;
  def.on_point = count_point;
  def.on_progress = count_step;
  def.user = k;
  k->st = advance_all(e, &def, k);
  cpl_experiment_destroy(e);
  for (int i = 0; i < n && k->n_steps > 0; i++)
    k->at[i] = 1 + (int64_t)(random_next(&seed) % (uint64_t)k->n_steps);
  qsort(k->at, (size_t)n, sizeof *k->at, ascending);
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (kept == 0 || k->at[i] != k->at[kept - 1]) k->at[kept++] = k->at[i];
  k->n = kept;
  e = open(ctx, user, true);
  def = *cpl_experiment_run_def(e);
  def.on_columns = write_columns;
  def.on_point = write_point;
  def.on_progress = write_step;
  def.user = k;
  cpl_status st = advance_all(e, &def, k);
  if (k->failed < 0) keep_why(k, ctx, "no checkpoint");
  cpl_experiment_destroy(e);
  bool same = rows_equal(&k->whole, 0, &k->written, &t);
  if ((!same || st != k->st) && k->why[0] == '\0')
    snprintf(k->why, sizeof k->why, "changed by checkpoints: status %d instead of %d, t=%.12g",
             (int)st, (int)k->st, t);
  if (k->failed >= 0) resume_each(ctx, open, user, k);
}

static void interrupted_free(interrupted* k) {
  rows_free(&k->whole);
  rows_free(&k->written);
}

//------------------------------------ systems ------------------------------------

typedef struct interrupted_system {
  const char* path;
  const char *solver, *linear, *loops, *projection;  // Nullable, each
  double rtol;                                       // 0: that of the file
  double stop;                                       // 0: that of the file
  cpl_member_as as;
  cpl_form form;
  bool isolate, processes, one_solver;
  const char* table;  // that drives inputs. Nullable
} interrupted_system;

static cpl_experiment* open_system(cpl_context* ctx, void* user, bool saves) {
  static const char* const all[] = {"*"};
  const interrupted_system* x = user;
  cpl_experiment* e = NULL;
  cpl_experiment_def given = cpl_default_experiment_def();
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  cpl_table* table = NULL;
  given.solver = x->solver;
  given.linear = x->linear;
  given.loops = x->loops;
  given.projection = x->projection;
  if (x->rtol > 0) given.rtol = x->rtol;
  if (x->table != NULL) CHECK_OK(ctx, cpl_results_read(ctx, x->table, &table));
  settings.experiment = &given;
  settings.path = x->path;
  settings.record = all;
  settings.n_record = 1;
  settings.saves = saves;
  settings.as = x->as;
  settings.form = x->form;
  settings.isolate = x->isolate;
  settings.processes = x->processes;
  settings.one_solver = x->one_solver;
  settings.table = table;
  if (cpl_experiment_create(ctx, &settings, &e) < 0)
    fail_msg("%s: %s", x->path, cpl_context_error(ctx));
  if (x->stop > 0) cpl_experiment_run_def(e)->stop_time = x->stop;
  CHECK_OK(ctx, cpl_experiment_prepare(e));
  return e;
}

static int n_different;

// `name`: of the system in the table.
static void check_interrupted(cpl_context* ctx, const char* name, const interrupted_system* x) {
  const char* only = getenv("CHECKPOINT_ONLY");
  const char* points = getenv("CHECKPOINT_POINTS");
  const char* table = getenv("CHECKPOINT_TABLE");
  interrupted_system own = *x;
  interrupted k;
  if (only != NULL && strstr(name, only) == NULL) return;
  int n = points != NULL ? atoi(points) : 2;
  interrupt(ctx, open_system, &own, n > MOST_POINTS ? MOST_POINTS : n, 88172645463325252u, &k);
  const char* how = k.why[0] == '\0' ? "same bytes" : k.why;
  FILE* out = table != NULL ? fopen(table, "a") : NULL;
  if (out != NULL)
    fprintf(out, "| %s | %lld | %d | %s |\n", name, (long long)k.n_steps, k.next, how);
  if (out != NULL) fclose(out);
  if (k.why[0] != '\0') print_error("%s: %s\n", name, how);
  n_different += k.why[0] != '\0';
  interrupted_free(&k);
}

static void all_were_same(void) {
  int n = n_different;
  n_different = 0;
  CHECK_INT(n, 0);
}
