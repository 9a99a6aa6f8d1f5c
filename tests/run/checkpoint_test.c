// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checkpoints of a run: steppers without a history, which restart at fixed times; files that are
// cut off or changed; disks that are full; no memory; a run that is cancelled.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "couplet/couplet.h"
#include "format/hash.h"
#include "testing.h"

// A forced van der Pol oscillator, stiff enough for the solver to have a history, with events.
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = 5 * (1 - v->x[0] * v->x[0]) * v->x[1] - v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] != 0) a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1}, {"v"}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration discrete[] = {{"n", .type = CPL_INTEGER, .output = true}, {0}};
static const cpl_model_def swing = {.name = "swing",
                                    .states = states,
                                    .inputs = inputs,
                                    .discrete = discrete,
                                    .n_indicators = 1,
                                    .derivatives = derivatives,
                                    .indicators = indicators,
                                    .event = event};

// The stepper of that model, with its rows in memory.
typedef struct fixture {
  cpl_context* ctx;
  cpl_source* source;
  cpl_stepper* stepper;
  cpl_simulation* sim;
  cpl_run_def run;
  cpl_checkpoints_def where;
  cpl_component_ops without;  // a history
} fixture;

static cpl_status make(cpl_context* ctx, bool has_history, fixture* f) {
  cpl_model* model = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  *f = (fixture){.ctx = ctx, .run = cpl_default_run_def(), .where = cpl_default_checkpoints_def()};
  solver.saves_states = true;
  solver.rtol = 1e-8;
  f->run.stop_time = 10, f->run.interval = 0.1;
  f->where.path = "a.state";
  f->where.every = 0;
  cpl_status st = cpl_c_define(ctx, &swing, &f->source);
  if (st >= 0) st = cpl_source_make_model(f->source, "swing", &model);
  if (st >= 0) st = cpl_integrate(model, &solver, &f->stepper);
  if (st < 0 || has_history) return st;
  f->without = *f->stepper->base.ops;
  f->without.get_history = NULL;
  f->without.set_history = NULL;
  f->stepper->base.ops = &f->without;
  return st;
}

static void release(fixture* f) {
  cpl_simulation_destroy(f->sim);
  cpl_stepper_destroy(f->stepper);
  cpl_source_destroy(f->source);
}

static cpl_status go(fixture* f) {
  cpl_status st = cpl_simulation_create(f->stepper, &f->run, &f->sim);
  if (st >= 0) st = cpl_simulation_start(f->sim);
  if (st >= 0) st = cpl_simulation_advance(f->sim, f->run.stop_time);
  return st;
}

// All rows of a run as they are in memory.
typedef struct rows {
  double* values;
  size_t n;
} rows;

static rows take_rows(fixture* f) {
  const cpl_table* t;
  rows k = {0};
  CHECK_OK(f->ctx, cpl_simulation_table(f->sim, &t));
  k.n = t->n_rows * (t->n_columns + 1);
  k.values = malloc((k.n + 1) * sizeof *k.values);
  CHECK(k.values != NULL);
  memcpy(k.values, t->time, t->n_rows * sizeof(double));
  memcpy(k.values + t->n_rows, t->values, t->n_rows * t->n_columns * sizeof(double));
  return k;
}

static void check_same(rows a, rows b) {
  CHECK_INT((long)a.n, (long)b.n);
  assert_memory_equal(a.values, b.values, a.n * sizeof *a.values);
  free(b.values);
}

static rows plain_rows(cpl_context* ctx, bool has_history, bool checkpoints) {
  fixture f;
  CHECK_OK(ctx, make(ctx, has_history, &f));
  if (checkpoints) f.run.checkpoints = &f.where;
  CHECK_OK(ctx, go(&f));
  rows k = take_rows(&f);
  release(&f);
  return k;
}

// Advances to t, writes a checkpoint, and leaves it there.
static void write_at(cpl_context* ctx, bool has_history, double t) {
  fixture f;
  CHECK_OK(ctx, make(ctx, has_history, &f));
  f.run.checkpoints = &f.where;
  CHECK_OK(ctx, cpl_simulation_create(f.stepper, &f.run, &f.sim));
  CHECK_OK(ctx, cpl_simulation_start(f.sim));
  CHECK_OK(ctx, cpl_simulation_advance(f.sim, t));
  CHECK_OK(ctx, cpl_simulation_checkpoint(f.sim, &f.where));
  release(&f);
}

static rows resumed_rows(cpl_context* ctx, bool has_history, bool* exact) {
  fixture f;
  cpl_checkpoint* from = NULL;
  CHECK_OK(ctx, make(ctx, has_history, &f));
  CHECK_OK(ctx, cpl_checkpoint_read(ctx, "a.state", &from));
  f.run.resume = from;
  CHECK_OK(ctx, go(&f));
  if (exact != NULL) *exact = cpl_checkpoint_is_exact(from);
  rows k = take_rows(&f);
  release(&f);
  cpl_checkpoint_destroy(from);
  return k;
}

//------------------------------------ what runs give ------------------------------------

static void rows_in_memory_are_part_of_it(void** state) {
  rows whole = plain_rows(*state, true, false);
  bool exact = false;
  check_same(whole, plain_rows(*state, true, true));
  for (int i = 0; i <= 20; i += 2) {
    write_at(*state, true, 5 * i * 0.1);
    check_same(whole, resumed_rows(*state, true, &exact));
    CHECK(exact);
  }
  free(whole.values);
}

static int n_warnings;
static char warned[1000];

static void note_warning(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  if (level > CPL_LOG_WARNING) return;
  n_warnings++;
  snprintf(warned, sizeof warned, "%s", text);
}

static cpl_context* noted_context(void) {
  cpl_context_def def = cpl_default_context_def();
  def.log = note_warning;
  n_warnings = 0;
  return cpl_context_create(&def);
}

// It is restored from its own snapshots at hundredths of the run, wherever it is interrupted.
static void steppers_without_history_restart(void** state) {
  cpl_context* ctx = noted_context();
  rows plain = plain_rows(*state, false, false), whole = plain_rows(ctx, false, true);
  CHECK_INT(n_warnings, 1);
  CHECK_CONTAINS(warned, "swing (integrate)");
  CHECK_INT((long)whole.n, (long)plain.n);
  size_t n_rows = whole.n / 4;  // time, x, v, n
  for (size_t i = n_rows; i < whole.n; i++) CHECK_NEAR(whole.values[i], plain.values[i], 1e-3);
  CHECK(memcmp(whole.values, plain.values, whole.n * sizeof(double)) != 0);
  for (int i = 0; i < 9; i += 4) {
    bool exact = true;
    fixture f;
    // the last one written during the run, not one more
    CHECK_OK(ctx, make(ctx, false, &f));
    f.run.checkpoints = &f.where;
    f.where.every = 1e-9;
    CHECK_OK(ctx, cpl_simulation_create(f.stepper, &f.run, &f.sim));
    CHECK_OK(ctx, cpl_simulation_start(f.sim));
    CHECK_OK(ctx, cpl_simulation_advance(f.sim, 11 * i * 0.1));
    release(&f);
    check_same(whole, resumed_rows(ctx, false, &exact));
    CHECK(!exact);
  }
  free(whole.values);
  free(plain.values);
  cpl_context_destroy(ctx);
}

//------------------------------------ files ------------------------------------

static unsigned char* read_bytes(const char* path, size_t* n) {
  FILE* f = fopen(path, "rb");
  CHECK(f != NULL);
  unsigned char* bytes = malloc(1 << 20);
  CHECK(bytes != NULL);
  *n = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  return bytes;
}

static void write_bytes(const char* path, const unsigned char* bytes, size_t n) {
  FILE* f = fopen(path, "wb");
  CHECK(f != NULL && fwrite(bytes, 1, n, f) == n);
  fclose(f);
}

static void check_refused(cpl_context* ctx) {
  cpl_checkpoint* from = NULL;
  CHECK_INT(cpl_checkpoint_read(ctx, "bad.state", &from), CPL_ERR_INPUT);
  CHECK(from == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), "bad.state");
}

static void files_of_any_other_length_are_refused(void** state) {
  size_t n;
  write_at(*state, true, 4);
  unsigned char* bytes = read_bytes("a.state", &n);
  for (size_t i = 0; i < n; i++) {
    write_bytes("bad.state", bytes, i);
    check_refused(*state);
  }
  bytes[n] = 0;
  write_bytes("bad.state", bytes, n + 1);
  check_refused(*state);
  free(bytes);
}

static void files_with_any_other_byte_are_refused(void** state) {
  size_t n;
  write_at(*state, true, 4);
  unsigned char* bytes = read_bytes("a.state", &n);
  for (size_t i = 0; i < n; i++) {
    bytes[i] ^= (unsigned char)(1 << i % 8);
    write_bytes("bad.state", bytes, n);
    check_refused(*state);
    bytes[i] ^= (unsigned char)(1 << i % 8);
  }
  free(bytes);
}

// Also where the hash is that of the bytes: refused, or numbers that the run goes on with.
static void bytes_are_not_trusted(void** state) {
  enum { HEAD = 48 };
  size_t n;
  int n_refused = 0;
  write_at(*state, true, 4);
  unsigned char* bytes = read_bytes("a.state", &n);
  for (size_t i = HEAD; i < n; i += 7) {
    fixture f;
    cpl_checkpoint* from = NULL;
    unsigned char before = bytes[i];
    cpli_hash hash = cpli_hash_begin();
    bytes[i] ^= (unsigned char)(0x80 >> i % 8);
    cpli_hash_add(&hash, bytes + HEAD, n - HEAD);
    memcpy(bytes + HEAD - sizeof hash.part, hash.part, sizeof hash.part);
    write_bytes("bad.state", bytes, n);
    CHECK_OK(*state, make(*state, true, &f));
    cpl_status st = cpl_checkpoint_read(*state, "bad.state", &from);
    f.run.resume = from;
    if (st >= 0) st = cpl_simulation_create(f.stepper, &f.run, &f.sim);
    if (st >= 0) st = cpl_simulation_start(f.sim);
    n_refused += st == CPL_ERR_INPUT;
    CHECK(st >= 0 || strlen(cpl_context_error(*state)) > 0);
    release(&f);
    cpl_checkpoint_destroy(from);
    bytes[i] = before;
  }
  CHECK(n_refused > 0);
  free(bytes);
}

// They would be those of the state that is restored.
static void values_are_set_after_the_start(void** state) {
  write_at(*state, true, 4);
  for (int i = 0; i < 2; i++) {
    fixture f;
    cpl_checkpoint* from = NULL;
    double x = 0;
    CHECK_OK(*state, make(*state, true, &f));
    CHECK_OK(*state, cpl_checkpoint_read(*state, "a.state", &from));
    if (i == 0) f.run.resume = from;
    else f.run.start_from = from, f.run.start_time = 5;
    CHECK_OK(*state, cpl_simulation_create(f.stepper, &f.run, &f.sim));
    CHECK_INT(cpl_simulation_set(f.sim, "x", 1), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(*state), "once it has been started");
    CHECK_OK(*state, cpl_simulation_start(f.sim));
    CHECK_NEAR(cpl_simulation_time(f.sim), i == 0 ? 4 : 5, 1e-12);
    CHECK_OK(*state, cpl_simulation_set(f.sim, "x", 1));
    CHECK_OK(*state, cpl_simulation_get(f.sim, "x", &x));
    CHECK_NEAR(x, 1, 0);
    release(&f);
    cpl_checkpoint_destroy(from);
  }
}

static void other_runs_are_refused(void** state) {
  cpl_checkpoint* from = NULL;
  write_at(*state, true, 4);
  CHECK_OK(*state, cpl_checkpoint_read(*state, "a.state", &from));
  CHECK_NEAR(cpl_checkpoint_time(from), 4, 1e-12);
  CHECK_NEAR(cpl_checkpoint_start(from), 0, 0);
  for (int i = 0; i < 2; i++) {
    fixture f;
    CHECK_OK(*state, make(*state, true, &f));
    f.run.resume = from;
    if (i == 0) f.run.start_time = 1;
    else f.run.stop_time = 3;
    CHECK_INT(go(&f), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(*state), i == 0 ? "starts at t=0, not 1" : "after the stop");
    release(&f);
  }
  cpl_checkpoint_destroy(from);
}

//------------------------------------ failures ------------------------------------

static void the_first_one_must_be_written(void** state) {
  fixture f;
  CHECK_OK(*state, make(*state, true, &f));
  f.where.path = "nowhere/a.state";
  f.run.checkpoints = &f.where;
  CHECK_INT(go(&f), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(*state), "nowhere/a.state");
  release(&f);
}

static void other_files_are_not_replaced(void** state) {
  static const char text[] = "time,x\n0,1\n";
  for (int i = 0; i < 3; i++) {  // a table, an empty file, the checkpoint that is there then
    fixture f;
    FILE* file = i < 2 ? fopen("other", "wb") : NULL;
    if (file != NULL) fputs(i == 0 ? text : "", file), fclose(file);
    CHECK_OK(*state, make(*state, true, &f));
    f.where.path = "other";
    f.run.checkpoints = &f.where;
    f.run.stop_time = 1;
    CHECK_INT(go(&f), i == 0 ? CPL_ERR_INPUT : CPL_OK);
    struct stat there;
    CHECK_INT(stat("other", &there), 0);
    if (i == 0) CHECK_CONTAINS(cpl_context_error(*state), "other: this is no checkpoint");
    CHECK_INT(there.st_size == sizeof text - 1, i == 0);
    release(&f);
  }
  cpl_checkpoint* from = NULL;
  CHECK_INT(cpl_checkpoint_read(*state, "/dev/zero", &from), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(*state), "/dev/zero: this is no checkpoint");
}

static cpl_status fail_to_note(void* user, cpl_binary* extra) {
  (void)user, (void)extra;
  return CPL_ERR_IO;
}

// The lock goes from file to file with the name, and ends with the run.
static void two_runs_do_not_share_a_file(void** state) {
  fixture first, second;
  unlink("a.state");
  CHECK_OK(*state, make(*state, true, &first));
  first.run.checkpoints = &first.where;
  CHECK_OK(*state, cpl_simulation_create(first.stepper, &first.run, &first.sim));
  CHECK_OK(*state, cpl_simulation_start(first.sim));
  for (int i = 0; i < 4; i++) {  // after the first checkpoint, two more of the run, and its end
    CHECK_OK(*state, make(*state, true, &second));
    second.run.checkpoints = &second.where;
    CHECK_INT(go(&second), i < 3 ? CPL_ERR_INPUT : CPL_OK);
    if (i < 3) CHECK_CONTAINS(cpl_context_error(*state), "a.state: another run is writing");
    release(&second);
    if (i == 0) CHECK_OK(*state, cpl_simulation_checkpoint(first.sim, &first.where));
    if (i == 1) CHECK_OK(*state, cpl_simulation_advance(first.sim, first.run.stop_time));
    if (i == 2) release(&first);
  }
}

// A file that was made for a run that could not begin does not stay.
static void a_run_that_fails_leaves_no_file(void** state) {
  fixture f;
  CHECK_OK(*state, make(*state, true, &f));
  f.where.path = "none.state";
  f.where.identity = "a";
  f.where.on_checkpoint = fail_to_note;
  f.run.checkpoints = &f.where;
  CHECK_INT(go(&f), CPL_ERR_IO);
  CHECK(access("none.state", F_OK) != 0);
  release(&f);
}

// The disk is full, or the folder is gone, from half of the run on.
static void fill_disk(void* user, double t) {
  struct rlimit small = {16, RLIM_INFINITY};
  (void)user;
  if (t > 5) setrlimit(RLIMIT_FSIZE, &small);
}

static void remove_folder(void* user, double t) {
  (void)user;
  if (t > 5 && access("folder", F_OK) == 0) CHECK(rename("folder", "gone") == 0);
}

static void later_ones_may_fail(void** state) {
  rows whole = plain_rows(*state, true, false);
  cpl_context* ctx = noted_context();
  void (*const harm[])(void*, double) = {fill_disk, remove_folder};
  static const char* const left[] = {"folder/a.state", "gone/a.state"};
  struct rlimit before;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  for (size_t i = 0; i < CPLI_COUNT(harm); i++) {
    fixture f;
    cpl_checkpoint* from = NULL;
    CHECK(system("rm -rf folder gone && mkdir folder") == 0);
    CHECK_OK(ctx, make(ctx, true, &f));
    f.where.path = "folder/a.state";
    f.where.every = 1e-9;
    f.run.checkpoints = &f.where;
    f.run.on_progress = harm[i];
    n_warnings = 0;
    cpl_status st = go(&f);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_OK(ctx, st);
    CHECK(n_warnings > 0);
    CHECK_CONTAINS(warned, "could not be written, the one before it stays");
    check_same(whole, take_rows(&f));
    release(&f);
    CHECK_OK(ctx, cpl_checkpoint_read(ctx, left[i], &from));
    CHECK(cpl_checkpoint_time(from) > 4 && cpl_checkpoint_time(from) < 6);
    cpl_checkpoint_destroy(from);
  }
  free(whole.values);
  cpl_context_destroy(ctx);
}

static cpl_status cancel(void* user, cpl_binary* extra) {
  static int n;
  *extra = (cpl_binary){0};
  if (++n % 30 == 0) cpl_context_cancel(user);
  return CPL_OK;
}

// What was being written is whole.
static void a_cancelled_run_leaves_a_checkpoint(void** state) {
  rows whole = plain_rows(*state, true, false);
  cpl_context* ctx = test_context();
  fixture f;
  CHECK_OK(ctx, make(ctx, true, &f));
  f.where.every = 1e-9;
  f.where.on_checkpoint = cancel;
  f.where.user = ctx;
  f.run.checkpoints = &f.where;
  CHECK_INT(go(&f), CPL_ERR_CANCELLED);
  release(&f);
  cpl_context_destroy(ctx);
  check_same(whole, resumed_rows(*state, true, NULL));
  free(whole.values);
}

static cpl_status run_and_resume(cpl_context* ctx) {
  cpl_checkpoint* from = NULL;
  fixture f;
  cpl_status st = make(ctx, true, &f);
  f.run.checkpoints = &f.where;
  f.run.stop_time = 0.5;
  f.run.interval = 0.1;
  if (st >= 0) st = go(&f);
  release(&f);
  if (st >= 0) st = cpl_checkpoint_read(ctx, "a.state", &from);
  if (st >= 0) st = make(ctx, true, &f);
  else f = (fixture){0};
  f.run.resume = from;
  f.run.stop_time = 0.5;
  if (st >= 0) st = go(&f);
  release(&f);
  cpl_checkpoint_destroy(from);
  return st;
}

// A later checkpoint that finds no memory is a warning.
static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n += 1 + n / 20) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    if (ctx == NULL) continue;
    cpl_status st = run_and_resume(ctx);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st != CPL_OK) CHECK_INT(st, CPL_ERR_NOMEM);
    if (heap.calls <= n) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_in_memory_are_part_of_it),
      cmocka_unit_test(steppers_without_history_restart),
      cmocka_unit_test(files_of_any_other_length_are_refused),
      cmocka_unit_test(files_with_any_other_byte_are_refused),
      cmocka_unit_test(bytes_are_not_trusted),
      cmocka_unit_test(values_are_set_after_the_start),
      cmocka_unit_test(other_runs_are_refused),
      cmocka_unit_test(the_first_one_must_be_written),
      cmocka_unit_test(other_files_are_not_replaced),
      cmocka_unit_test(two_runs_do_not_share_a_file),
      cmocka_unit_test(a_run_that_fails_leaves_no_file),
      cmocka_unit_test(later_ones_may_fail),
      cmocka_unit_test(a_cancelled_run_leaves_a_checkpoint),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
