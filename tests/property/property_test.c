// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Random systems have properties that all systems have: their solution is that of the same
// equations integrated as one, errors follow the tolerance, and what must not matter changes no
// bit.
//
//   PROPERTY_SECONDS=600  runs so long in place of the fixed cases
//   PROPERTY_SEED=1000    number of the first case
//   PROPERTY_CASES=20     how many
//   PROPERTY_FEATURES=63  what systems may have (enum feature), instead of what is known to pass
//   PROPERTY_VERBOSE=1    a line for each case
// A case that fails leaves its folder, failure-NUMBER, with the system and what was wrong.
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "testing.h"

enum { MAX_CLASSES = 60, DEFAULT_CASES = 30 };
enum { CASE_SECONDS = 60, CASE_WAITING = 300 };  // of computing, and in all

// Left out: the same bits in all forms.
static const unsigned passing_features =
    FEATURE_EVENTS | FEATURE_WHEN | FEATURE_LOOPS | FEATURE_UNANNOUNCED | FEATURE_TABLES |
    FEATURE_CONDITIONS | FEATURE_SIZES | FEATURE_START_TIMES | FEATURE_MODES | FEATURE_STEPPERS |
    FEATURE_FMUS | FEATURE_MASTER_TOLERANCE | FEATURE_STEPPER_EVENTS | FEATURE_ERK8 |
    FEATURE_NESTED | FEATURE_MODES_BESIDE | FEATURE_MODE_STEPPERS;

// Shared with the process that runs the cases, which may crash or hang.
typedef struct ledger {
  uint64_t next;
  int cases, compared, failures;
  struct {
    char name[64];
    int n;
    uint64_t first;
  } classes[MAX_CLASSES];
  char command[200];  // that runs
  double worst[16];   // ratio of error and bound, of each solver
  uint64_t worst_case[16];
  uint64_t last_failure;
} ledger;

static ledger* book;
static unsigned features;
static bool verbose;

//------------------------------------ failures ------------------------------------

static void note_failure(const char* class, uint64_t seed) {
  int i = 0;
  while (i < MAX_CLASSES - 1 && book->classes[i].n > 0 && strcmp(book->classes[i].name, class) != 0)
    i++;
  if (book->classes[i].n++ == 0) {
    snprintf(book->classes[i].name, sizeof book->classes[i].name, "%s", class);
    book->classes[i].first = seed;
  }
  book->failures++;
}

static void say_how_to_repeat(uint64_t seed, const char* folder) {
  char here[4096];
  if (getcwd(here, sizeof here) == NULL) here[0] = '\0';
  printf("  its folder: %s/%s\n", here, folder);
  printf("  again: PROPERTY_CASES=1 PROPERTY_FEATURES=%u make property PROPERTY_SEED=%llu\n",
         features, (unsigned long long)seed);
  book->last_failure = seed;
}

static void report(const random_system* s, const variant* v, const char* class, const char* command,
                   const char* text) {
  char folder[64], path[128];
  snprintf(folder, sizeof folder, "failure-%llu", (unsigned long long)s->seed);
  mkdir(folder, 0777);
  system_write(s, v, folder);
  snprintf(path, sizeof path, "%s/message.txt", folder);
  FILE* f = fopen(path, "a");
  if (f != NULL) {
    fprintf(f, "%s\n  couplet run s.yaml %s\n  %s\n", class, command, text);
    fclose(f);
  }
  printf("case %llu: %s: %s: %s\n", (unsigned long long)s->seed, class, command, text);
  if (book->last_failure != s->seed) say_how_to_repeat(s->seed, folder);
  note_failure(class, s->seed);
}

//------------------------------------ the pool ------------------------------------

static bool is_newer(const char* a, const char* b) {
  struct stat sa, sb;
  if (stat(a, &sa) != 0) return false;
  return stat(b, &sb) != 0 || sa.st_mtime >= sb.st_mtime;
}

// The sampler of FMI 3.0 has a clock in place of time events (clocked/).
static void need_clocked(const char* to) {
  char command[9000];
  if (access(to, R_OK) == 0) return;
  snprintf(command, sizeof command, "cp -r '%s_sampler' '%s'", getenv("COUPLET_PROBE"), to);
  if (system(command) != 0) printf("failed: %s\n", command);
}

static void need_model(const char* name, model_form form) {
  char command[9000], from[4200], to[200];
  snprintf(from, sizeof from, "%s", test_path("tests/property/pool"));
  snprintf(to, sizeof to, "pool/%s%s", name,
           form == FORM_C      ? ".c"
           : form == FORM_FMI2 ? "2.fmu"
                               : "3.fmu");
  if (form == FORM_FMI3 && strcmp(name, "sampler") == 0) {
    need_clocked(to);
    return;
  }
  if (form == FORM_C) {
    if (access(to, R_OK) == 0) return;
    snprintf(command, sizeof command, "cp '%s/%s.c' '%s'", from, name, to);
  } else {
    if (is_newer(to, getenv("COUPLET"))) return;
    snprintf(command, sizeof command, "'%s' build -q --fmi %d '%s/%s.c' -o '%s'", getenv("COUPLET"),
             form == FORM_FMI2 ? 2 : 3, from, name, to);
  }
  if (system(command) != 0) printf("failed: %s\n", command);
}

static bool open_variant(const random_system* s, const variant* v, opened* o, outcome* out) {
  for (int i = 0; i < s->n_models; i++)
    need_model(s->models[i].kind->name, v->form < 0 ? s->models[i].form : (model_form)v->form);
  CHECK(system_write(s, v, "case"));
  return drive_open("case/s.yaml", o, out);
}

//------------------------------------ properties ------------------------------------

typedef struct trial {
  const random_system* s;
  const truth* t;
  opened o;
  variant v;
  settings how;
  outcome base, other;
  char command[200];
  rng r;
} trial;

static void describe(trial* c, const settings* how) {
  snprintf(c->command, sizeof c->command, "--solver %s --rtol %.17g --atol %.17g%s%s%s%s",
           cpl_solver_name(how->solver), how->rtol, how->atol, how->gmres ? " --linear gmres" : "",
           how->loops_as_rows ? " --loops as-rows" : "", how->one_solver ? " --one-solver" : "",
           how->longest > 0 ? " --step " : "");
  if (how->longest > 0)
    snprintf(c->command + strlen(c->command), sizeof c->command - strlen(c->command), "%.17g",
             how->longest);
  memcpy(book->command, c->command, sizeof book->command);
}

static void failed(trial* c, const char* class, const char* text) {
  report(c->s, &c->v, class, c->command, text);
}

// Runs and compares with the truth. Returns whether there are rows.
static bool run_and_compare(trial* c, const settings* how, outcome* out, finding* f) {
  char class[80];
  double allowance = c->s->unannounced ? 3000 : 300;
  describe(c, how);
  drive_run(&c->o, c->s, how, out);
  *f = (finding){0};
  if (out->status < 0) {
    snprintf(class, sizeof class, "error: %.50s", out->error);
    failed(c, class, out->error);
    return false;
  }
  if (!c->t->usable) return true;
  check_rows(c->s, c->t, out, how->rtol, how->atol, allowance, c->s->steppers, f);
  if (c->s->steppers) return true;
  if (f->contradiction) {
    snprintf(class, sizeof class, "rows, %s", cpl_solver_name(how->solver));
    failed(c, class, f->text);
  } else if (f->ratio > 1) {
    snprintf(class, sizeof class, "error too large, %s", cpl_solver_name(how->solver));
    failed(c, class, f->text);
  }
  if (f->ratio > book->worst[how->solver])
    book->worst[how->solver] = f->ratio, book->worst_case[how->solver] = c->s->seed;
  return true;
}

static settings random_settings(trial* c) {
  static const cpl_solver_kind solvers[] = {CPL_SOLVER_CVODE,   CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS,
                                            CPL_SOLVER_RADAU,   CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,
                                            CPL_SOLVER_ESDIRK5, CPL_SOLVER_IDA};
  settings how = {.rtol = c->s->rtol, .atol = c->s->atol};
  how.solver = solvers[rng_int(&c->r, 8)];
  if (how.solver == CPL_SOLVER_ERK8 && (features & FEATURE_ERK8) == 0)
    how.solver = CPL_SOLVER_DOPRI5;
  how.gmres = how.solver == CPL_SOLVER_CVODE && rng_chance(&c->r, 0.2);
  how.one_solver = rng_chance(&c->r, 0.3);
  how.loops_as_rows = how.solver == CPL_SOLVER_IDA && c->s->n_tears > 0 && rng_chance(&c->r, 0.4);
  if (c->s->steppers || c->s->n_modes > 1) how.loops_as_rows = false;  // refused there
  if (rng_chance(&c->r, 0.2)) how.longest = (c->s->stop - c->s->start) / (10 + rng_int(&c->r, 200));
  return how;
}

static void same(trial* c, const char* class, int modulo) {
  char text[300];
  if (c->other.status < 0) failed(c, class, c->other.error);
  else if (!same_rows(&c->base, &c->other, modulo, text, sizeof text)) failed(c, class, text);
}

// Another file of the same system gives the same bits.
static void same_file(trial* c, const char* class, variant v) {
  opened o;
  variant keep = c->v;
  c->v = v;
  if (open_variant(c->s, &v, &o, &c->other)) drive_run(&o, c->s, &c->how, &c->other);
  same(c, class, 0);
  drive_close(&o);
  c->v = keep;
}

static void same_after_going_back(trial* c) {
  settings how = c->how;
  outcome plain = {0};
  char text[300];
  how.gmres = false;
  if (drive_saved(&c->o, c->s, &how, false, &plain)) {
    if (plain.status < 0) {
      failed(c, "error in steps", plain.error);
    } else {
      drive_saved(&c->o, c->s, &how, true, &c->other);
      if (c->other.status < 0) failed(c, "error after going back", c->other.error);
      else if (!same_rows(&plain, &c->other, 0, text, sizeof text))
        failed(c, "going back changes bits", text);
    }
  }
  outcome_release(&plain);
}

// The error with another step of the master. Returns false where there is none.
static bool error_with_step(trial* c, double step, finding* f) {
  opened o;
  variant v = c->v;
  v.step = step;
  // a solver that restarts at every step makes an error of the tolerance in each
  double allowance = 300 + 3 * (c->s->stop - c->s->start) / step;
  bool opens = open_variant(c->s, &v, &o, &c->other);
  if (opens) drive_run(&o, c->s, &c->how, &c->other);
  drive_close(&o);
  if (!opens) return false;
  if (c->other.status < 0) {
    failed(c, "error: shorter steps", c->other.error);
    return false;
  }
  check_rows(c->s, c->t, &c->other, c->how.rtol, c->how.atol, allowance, true, f);
  if (f->contradiction) failed(c, "rows of a master", f->text);
  return !f->contradiction;
}

// Steps of a master that are shorter by 8 make a smaller error. Where the first error is small by
// chance, still shorter ones tell.
static void converges(trial* c) {
  const double step = c->s->step;
  finding coarse, fine, finest;
  char text[700];
  describe(c, &c->how);
  if (!error_with_step(c, step, &coarse) || !error_with_step(c, step / 8, &fine)) return;
  snprintf(text, sizeof text, "error %.3g with step %g, %.3g with step %g; %s", coarse.error, step,
           fine.error, step / 8, fine.text);
  if (fine.ratio <= 1) return;
  if (c->s->tolerance > 0) {
    if (fine.error > 100 * c->s->tolerance) failed(c, "master: tolerance", text);
  } else if (fine.error > 0.5 * coarse.error) {
    if (!error_with_step(c, step / 64, &finest) || finest.ratio <= 1) return;
    snprintf(text, sizeof text, "error %.3g with step %g, %.3g with step/8, %.3g with step/64; %s",
             coarse.error, step, fine.error, finest.error, finest.text);
    if (finest.error > 0.5 * fine.error) failed(c, "master: does not converge", text);
  }
}

// C, FMI 2.0 and FMI 3.0 give the same bits.
static void same_forms(trial* c) {
  opened keep = c->o;
  outcome base = c->base;
  c->base = (outcome){0};
  c->v.form = FORM_C;
  if (open_variant(c->s, &c->v, &c->o, &c->base)) drive_run(&c->o, c->s, &c->how, &c->base);
  drive_close(&c->o);
  variant v = c->v;
  v.form = FORM_FMI2;
  same_file(c, "FMI 2.0 has other bits than C", v);
  v.form = FORM_FMI3;
  same_file(c, "FMI 3.0 has other bits than C", v);
  outcome_release(&c->base);
  c->base = base;
  c->o = keep;
}

// More output points change no row of those that were there.
static void same_with_more_rows(trial* c) {
  settings how = c->how;
  char text[300];
  how.intervals = 2;
  drive_run(&c->o, c->s, &how, &c->other);
  if (c->other.status < 0) failed(c, "error with more rows", c->other.error);
  else if (!rows_within(&c->base, &c->other, text, sizeof text))
    failed(c, "more rows change bits", text);
}

// Half the step makes a sixteenth of the error; events make it an eighth, or less.
static void rk4_converges(trial* c) {
  settings how = {.solver = CPL_SOLVER_RK4, .rtol = c->s->rtol, .atol = c->s->atol};
  finding coarse, fine;
  char text[700];
  how.longest = (c->s->stop - c->s->start) / 400;
  describe(c, &how);
  drive_run(&c->o, c->s, &how, &c->other);
  if (c->other.status >= 0) {
    check_rows(c->s, c->t, &c->other, 1e-6, 1e-6 * c->s->scale, 300, true, &coarse);
    how.longest *= 0.25;
    drive_run(&c->o, c->s, &how, &c->other);
  }
  if (c->other.status < 0) {
    failed(c, "error: rk4", c->other.error);
    return;
  }
  check_rows(c->s, c->t, &c->other, 1e-6, 1e-6 * c->s->scale, 300, true, &fine);
  snprintf(text, sizeof text, "error %.3g, with a quarter of the step %.3g; %s", coarse.error,
           fine.error, fine.text);
  if (fine.contradiction || (fine.ratio > 1e-4 && fine.error > 0.1 * coarse.error))
    failed(c, "rk4 does not converge", text);
}

static void read_last_row(const char* path, char* row, size_t size) {
  FILE* f = fopen(path, "r");
  row[0] = '\0';
  while (f != NULL && fgets(row, (int)size, f) != NULL) {
  }
  if (f != NULL) fclose(f);
}

// The command gives the same numbers, in its file.
static void same_by_command(trial* c) {
  char command[9000], row[4000], text[200];
  if (c->s->steppers && c->how.longest > 0) return;  // --step has another meaning there
  system_write(c->s, &c->v, "case");
  describe(c, &c->how);
  snprintf(command, sizeof command, "'%s' run case/s.yaml %s -q -o case/out.csv 2>case/err.txt",
           getenv("COUPLET"), c->command);
  int code = system(command);
  if (code != 0) {
    snprintf(text, sizeof text, "status %d", code);
    failed(c, "the command fails", text);
    return;
  }
  read_last_row("case/out.csv", row, sizeof row);
  char* at = row;
  double t = strtod(at, &at);
  const double* last = c->base.v + (size_t)((c->base.n_rows - 1) * c->base.n_columns);
  if (t != c->base.t[c->base.n_rows - 1]) failed(c, "the command has another last row", row);
  for (int i = 0; i < c->base.n_columns; i++) {
    double value = *at == ',' ? strtod(at + 1, &at) : NAN;
    if (value == last[i] || (isnan(value) && isnan(last[i]))) continue;
    snprintf(text, sizeof text, "column %d: %.17g and %.17g", i, last[i], value);
    failed(c, "the command gives other numbers", text);
    return;
  }
}

static void check_system(trial* c) {
  finding loose, tight;
  settings how = c->how;
  if (!run_and_compare(c, &how, &c->base, &loose)) return;
  book->compared += c->t->usable;
  if (c->s->steppers) {
    if (c->t->usable) converges(c);
  } else {
    how.rtol *= 0.01, how.atol *= 0.01;
    if (how.rtol < 1e-10) how.rtol = 1e-10, how.atol = 1e-10 * c->s->scale;
    run_and_compare(c, &how, &c->other, &tight);
    for (int k = 0; k < 2; k++) {
      how = random_settings(c);
      run_and_compare(c, &how, &c->other, &tight);
    }
  }
  how = c->how;
  describe(c, &how);
  how.record_modulo = 2;
  drive_run(&c->o, c->s, &how, &c->other);
  same(c, "what is recorded changes bits", 2);
  // a search for the solution of a loop begins where the last one ended, at a row for instance;
  // conditions are looked at in rows, too; and erk8 steps to output points
  bool free_of_rows = c->s->n_tears == 0 && c->t->found && c->t->exact.n_events == 0;
  if (!c->s->steppers && free_of_rows && c->how.solver != CPL_SOLVER_ERK8) same_with_more_rows(c);
  if (!c->s->steppers && c->t->usable && !c->s->unannounced && rng_chance(&c->r, 0.3))
    rk4_converges(c);
  describe(c, &c->how);
  same_after_going_back(c);
  if (rng_chance(&c->r, 0.1)) same_by_command(c);
  variant v = c->v;
  v.permutation = c->s->seed + 11;
  same_file(c, "the order of the file changes bits", v);
  v = c->v;
  if (c->s->steppers) {
    v.threads = 1 + rng_int(&c->r, 3);
    same_file(c, "threads change bits", v);
    v.threads = 0;
  }
  if (rng_chance(&c->r, 0.15)) {
    v.isolate = true;
    same_file(c, "isolation changes bits", v);
    v.isolate = false;
  }
  if ((features & FEATURE_FMUS) != 0) {
    opened o = c->o, other;
    v.form = rng_int(&c->r, 3);
    c->v = v;
    if (open_variant(c->s, &v, &other, &c->other)) {
      c->o = other;
      run_and_compare(c, &c->how, &c->other, &tight);
      c->o = o;
    } else {
      failed(c, "another form does not open", c->other.error);
    }
    drive_close(&other);
  }
  if ((features & FEATURE_SAME_FORMS) != 0) same_forms(c);
}

// So that a run that is ended from outside can be continued.
static void note_case(uint64_t seed) {
  FILE* f = fopen("case/number", "w");
  if (f == NULL) return;
  fprintf(f, "%llu\n", (unsigned long long)seed);
  fclose(f);
}

static void run_case(uint64_t seed) {
  static random_system s;
  static truth t;
  trial c = {.s = &s, .t = &t, .v = {.form = -1}, .r = {seed ^ 0xabcdef}};
  clock_t begin = clock();
  system_generate(&s, seed, features);
  truth_find(&s, &t);
  c.how = random_settings(&c);
  book->cases++;
  note_case(seed);
  if (t.found) {
    if (open_variant(&s, &c.v, &c.o, &c.base)) check_system(&c);
    else failed(&c, "does not open", c.base.error);
    drive_close(&c.o);
  }
  if (verbose)
    printf("case %llu: %d models, %d events, %s%s, %.2f s\n", (unsigned long long)seed, s.n_models,
           t.exact.n_events, t.found ? cpl_solver_name(c.how.solver) : "", t.usable ? "" : t.why,
           (double)(clock() - begin) / CLOCKS_PER_SEC);
  outcome_release(&c.base);
  outcome_release(&c.other);
}

//------------------------------------ all cases ------------------------------------

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double option(const char* name, double otherwise) {
  const char* text = getenv(name);
  return text != NULL && *text != '\0' ? strtod(text, NULL) : otherwise;
}

// A signal ends the process after so many seconds of computing, or so many in all. 0: no more.
static void limit_time(int computing, int in_all) {
  struct itimerval limit = {.it_value.tv_sec = computing};
  setitimer(ITIMER_PROF, &limit, NULL);
  alarm((unsigned)in_all);
}

static void work(uint64_t end, double until) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (book->next < end && seconds() < until) {
    limit_time(CASE_SECONDS, CASE_WAITING);
    run_case(book->next);
    limit_time(0, 0);
    book->next++;
  }
}

// Runs cases in a process of its own, and goes on behind one that crashes or hangs.
static void random_systems_are_right(void** state) {
  (void)state;
  uint64_t first = (uint64_t)option("PROPERTY_SEED", 1);
  double limit = option("PROPERTY_SECONDS", 0);
  uint64_t n = (uint64_t)option("PROPERTY_CASES", limit > 0 ? 1e9 : DEFAULT_CASES);
  double begin = seconds(), until = begin + (limit > 0 ? limit : 1e9);
  features = (unsigned)option("PROPERTY_FEATURES", passing_features);
  verbose = option("PROPERTY_VERBOSE", 0) > 0;
  mkdir("case", 0777);
  mkdir("pool", 0777);
  book->next = first;
  while (book->next < first + n && seconds() < until) {
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      work(first + n, until);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFSIGNALED(status)) continue;
    static random_system s;
    bool hangs = WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF;
    system_generate(&s, book->next++, features);
    report(&s, &(variant){.form = -1}, hangs ? "hangs" : "crashes", book->command,
           strsignal(WTERMSIG(status)));
  }
  printf("%d cases, %d compared with the reference, %.1f s\n", book->cases, book->compared,
         seconds() - begin);
  for (int i = 0; i < MAX_CLASSES && book->classes[i].n > 0; i++)
    printf("%6d  %s (first: case %llu)\n", book->classes[i].n, book->classes[i].name,
           (unsigned long long)book->classes[i].first);
  for (int i = 0; i < 9 && option("PROPERTY_VERBOSE", 0) > 0; i++)
    printf("%8s: largest error %.3g of its bound (case %llu)\n",
           cpl_solver_name((cpl_solver_kind)i), book->worst[i],
           (unsigned long long)book->worst_case[i]);
  CHECK_INT(book->failures, 0);
}

int main(void) {
  char here[4096], cache[4200];
  book = mmap(NULL, sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (book == MAP_FAILED || getcwd(here, sizeof here) == NULL) return 1;
  snprintf(cache, sizeof cache, "%s/cache", here);
  setenv("XDG_CACHE_HOME", cache, 1);
  pool_prepare();
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_systems_are_right)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
