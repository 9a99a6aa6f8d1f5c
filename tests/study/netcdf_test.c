// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Files of studies: what is written is read back, by couplet and by other programs (ncdump and
// xarray); failures leave neither parts of a file nor change an earlier one.
#include "study/netcdf.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "study_designs.h"

enum { TIMES = 5 };
static const double times[TIMES] = {0, 0.25, 0.5, 0.75, 1};
static const cpli_study_column factors[] = {{"motor.J", "kg.m2", "inertia"}, {"a/b", NULL, NULL}};
static const cpli_study_column measures[] = {
    {"end", "m", "final(e.x)"}, {"time", NULL, NULL}, {"/x", NULL, NULL}};
static const cpli_study_column curves[] = {{"e.x", "m", NULL}, {"motor.J", "kg.m2", NULL}};
static const int64_t shape[] = {3, 4};
static const cpl_study_fact notes[] = {
    {"title", "two masses", 0}, {"seed", NULL, 7}, {"design", "motor.J=1:3:3 \xC3\xA4", 0}};

static const cpli_study_facts study = {
    .cases = 12,
    .factors = factors,
    .measures = measures,
    .curves = curves,
    .n_factors = 2,
    .n_measures = 3,
    .n_curves = 2,
    .times = times,
    .n_times = TIMES,
    .shape = shape,
    .facts = notes,
    .n_facts = 3,
};

// The cases of a grid of 3 x 4, of which two failed.
typedef struct maker {
  double factors[2], measures[3], curves[2 * TIMES];
  char failure[64];
  int64_t last, fail_at;
  size_t n_times;
} maker;

static cpl_status make_case(void* user, int64_t i, cpli_study_case* out) {
  maker* m = user;
  if (i != m->last + 1) return CPL_ERR_INPUT;
  m->last = i;
  if (m->fail_at == i + 1) return CPL_ERR_MODEL;
  const bool failed = i % 7 == 3;
  m->factors[0] = 1 + (double)(i / 4);
  m->factors[1] = (double)(i % 4) / 3;
  for (int k = 0; k < 3; k++) m->measures[k] = failed ? NAN : (double)i + 0.1 * k;
  for (int k = 0; k < 2 * TIMES; k++) m->curves[k] = failed && k > 2 ? NAN : (double)i * 100 + k;
  m->failure[0] = '\0';
  if (failed) snprintf(m->failure, sizeof m->failure, "case %d: the \"solver\" stopped", (int)i);
  *out = (cpli_study_case){m->factors, m->measures, m->curves, m->failure};
  return CPL_OK;
}

static cpl_status write_study(cpl_context* ctx, const char* path, int64_t fail_at) {
  maker m = {.last = -1, .fail_at = fail_at};
  return cpli_netcdf_write(ctx, path, &study, make_case, &m);
}

static void check_same(const char* a, const char* b) {
  CHECK_STR(a != NULL ? a : "", b != NULL ? b : "");
}

static void what_is_written_is_read_back(void** state) {
  cpl_context* ctx = *state;
  CHECK_OK(ctx, write_study(ctx, "study.nc", 0));
  cpli_netcdf* file = NULL;
  CHECK_OK(ctx, cpli_netcdf_open(ctx, "study.nc", &file));
  const cpli_study_facts* f = cpli_netcdf_facts(file);
  CHECK(f->cases == 12 && f->n_factors == 2 && f->n_measures == 3 && f->n_curves == 2);
  CHECK(f->n_times == TIMES && memcmp(f->times, times, sizeof times) == 0);
  CHECK(f->shape != NULL && f->shape[0] == 3 && f->shape[1] == 4);
  for (int i = 0; i < 3; i++) {
    check_same(f->measures[i].name, measures[i].name);
    check_same(f->measures[i].unit, measures[i].unit);
    check_same(f->measures[i].description, measures[i].description);
    check_same(f->facts[i].name, notes[i].name);
    check_same(f->facts[i].text, notes[i].text);
    CHECK(f->facts[i].number == notes[i].number);
  }
  for (int i = 0; i < 2; i++) {
    check_same(f->factors[i].name, factors[i].name);
    check_same(f->factors[i].unit, factors[i].unit);
    check_same(f->curves[i].name, curves[i].name);
    check_same(f->curves[i].unit, curves[i].unit);
  }
  CHECK_INT(f->n_facts, 3);
  maker m = {.last = -1};
  for (int64_t i = 0; i < 12; i++) {
    cpli_study_case wanted, got;
    make_case(&m, i, &wanted);
    CHECK_OK(ctx, cpli_netcdf_case(file, i, &got));
    CHECK(memcmp(got.factors, wanted.factors, sizeof m.factors) == 0);
    CHECK(memcmp(got.measures, wanted.measures, sizeof m.measures) == 0);
    CHECK(memcmp(got.curves, wanted.curves, sizeof m.curves) == 0);
    CHECK_STR(got.failure, wanted.failure);
  }
  cpli_study_case c;
  CHECK_OK(ctx, cpli_netcdf_case(file, 3, &c));
  CHECK_STR(c.failure, "case 3: the \"solver\" stopped");
  CHECK_INT(cpli_netcdf_case(file, 12, &c), CPL_ERR_INPUT);
  CHECK_INT(cpli_netcdf_case(file, -1, &c), CPL_ERR_INPUT);
  cpli_netcdf_close(file);
}

//------------------------------------ other programs ------------------------------------

static char* output_of(const char* command) {
  static char text[1 << 16];
  FILE* p = popen(command, "r");
  CHECK(p != NULL);
  size_t n = fread(text, 1, sizeof text - 1, p);
  text[n] = '\0';
  if (pclose(p) != 0) fail_msg("%s failed: %s", command, text);
  return text;
}

static void ncdump_reads_it(void** state) {
  cpl_context* ctx = *state;
  CHECK_OK(ctx, write_study(ctx, "study.nc", 0));
  const char* text = output_of("ncdump study.nc 2>&1");
  const char* const expected[] = {
      "case = 12 ;",
      "time = 5 ;",
      "double motor.J(case) ;",
      "motor.J:units = \"kg.m2\" ;",
      "motor.J:long_name = \"inertia\" ;",
      "double a.b(case) ;",
      "a.b:couplet_name = \"a/b\" ;",
      "double end(case) ;",
      "end:coordinates = \"motor.J a.b\" ;",
      "double time_2(case) ;",
      "time_2:couplet_name = \"time\" ;",
      "double _.x(case) ;",
      "double e.x(case, time) ;",
      "double motor.J_2(case, time) ;",
      "motor.J_2:couplet_role = \"curve\" ;",
      "string failure(case) ;",
      ":Conventions = \"CF-1.8\" ;",
      ":seed = 7. ;",
      "string :grid_axes = \"motor.J\", \"a.b\" ;",
      ":grid_shape = 3LL, 4LL ;",
      "case = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 ;",
      "motor.J = 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 ;",
      "end = 0, 1, 2, NaN, 4, 5, 6, 7, 8, 9, NaN, 11 ;",
      "1100, 1101, 1102, 1103, 1104 ;",
      "\"case 3: the \\\"solver\\\" stopped\"",
  };
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
    CHECK_CONTAINS(text, expected[i]);
}

// Debian's Python, which has the package.
static void xarray_unstacks_a_grid(void** state) {
  cpl_context* ctx = *state;
  CHECK_OK(ctx, write_study(ctx, "study.nc", 0));
  write_file("look.py",
             "import numpy as np, xarray as xr\n"
             "d = xr.open_dataset('study.nc')\n"
             "assert dict(d.sizes) == {'case': 12, 'time': 5}, d.sizes\n"
             "assert set(d.end.coords) == {'case', 'motor.J', 'a.b'}, d.end.coords\n"
             "assert d.attrs['title'] == 'two masses' and d.attrs['seed'] == 7\n"
             "assert d['failure'].values[3] == 'case 3: the \"solver\" stopped'\n"
             "assert d.end.attrs['units'] == 'm'\n"
             "axes, shape = list(d.attrs['grid_axes']), tuple(d.attrs['grid_shape'])\n"
             "grid = d.end.values.reshape(shape)\n"
             "assert grid.shape == (3, 4) and grid[2, 3] == 11 and np.isnan(grid[0, 3])\n"
             "g = d.set_index(case=axes).unstack('case')\n"
             "assert dict(g.end.sizes) == {'motor.J': 3, 'a.b': 4}, g.end.sizes\n"
             "assert float(g.end.sel({'motor.J': 2}).values[1]) == 5\n"
             "assert g['e.x'].sel({'motor.J': 1}).isel({'a.b': 1, 'time': 2}) == 102\n"
             "print('fine')\n");
  CHECK_CONTAINS(output_of("/usr/bin/python3 look.py 2>&1"), "fine");
}

//------------------------------------ sizes ------------------------------------

typedef struct many {
  double values[2];
} many;

static cpl_status make_many(void* user, int64_t i, cpli_study_case* out) {
  many* m = user;
  m->values[0] = (double)i;
  m->values[1] = (double)i * 0.5;
  *out = (cpli_study_case){&m->values[0], &m->values[1], NULL, i % 1000 == 1 ? "no" : ""};
  return CPL_OK;
}

// More cases than a block has: in the order of the cases and against it.
static void blocks_join(void** state) {
  cpl_context* ctx = *state;
  cpli_study_facts f = {
      .cases = 150001, .factors = factors, .n_factors = 1, .measures = measures, .n_measures = 1};
  CHECK(cpli_study_block(&f) < f.cases);
  many m;
  CHECK_OK(ctx, cpli_netcdf_write(ctx, "many.nc", &f, make_many, &m));
  cpli_netcdf* file = NULL;
  CHECK_OK(ctx, cpli_netcdf_open(ctx, "many.nc", &file));
  CHECK(cpli_netcdf_facts(file)->n_times == 0 && cpli_netcdf_facts(file)->shape == NULL);
  for (int64_t k = 0; k < f.cases; k += 7) {
    const int64_t i = k % 2 == 0 ? k : k - k % 14;
    cpli_study_case c;
    CHECK_OK(ctx, cpli_netcdf_case(file, i, &c));
    CHECK(c.factors[0] == (double)i && c.measures[0] == (double)i * 0.5);
    CHECK_STR(c.failure, i % 1000 == 1 ? "no" : "");
  }
  cpli_study_case c;
  CHECK_OK(ctx, cpli_netcdf_case(file, 150000, &c));
  CHECK_OK(ctx, cpli_netcdf_case(file, 0, &c));
  CHECK_NEAR(c.factors[0], 0, 0);
  cpli_netcdf_close(file);
}

//------------------------------------ failures ------------------------------------

static int count_files(void) {
  DIR* d = opendir(".");
  int n = 0;
  for (struct dirent* e; (e = readdir(d)) != NULL;) n += strstr(e->d_name, ".couplet-") != NULL;
  closedir(d);
  return n;
}

static void failures_leave_the_earlier_file(void** state) {
  cpl_context* ctx = *state;
  write_file("kept.nc", "earlier");
  CHECK_INT(write_study(ctx, "kept.nc", 5), CPL_ERR_MODEL);
  struct stat info;
  CHECK(stat("kept.nc", &info) == 0 && info.st_size == 7);
  CHECK_INT(count_files(), 0);

  cpl_context_cancel(ctx);
  CHECK_INT(write_study(ctx, "kept.nc", 0), CPL_ERR_CANCELLED);
  cpl_context_resume(ctx);
  CHECK(stat("kept.nc", &info) == 0 && info.st_size == 7);

  CHECK_INT(write_study(ctx, "nowhere/study.nc", 0), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "nowhere/study.nc: cannot be written");
  CHECK_INT(write_study(ctx, "/dev/null", 0), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no regular file");
  cpli_study_facts none = study;
  none.cases = 0;
  CHECK_INT(cpli_netcdf_write(ctx, "none.nc", &none, make_case, NULL), CPL_ERR_INPUT);
  CHECK(access("none.nc", F_OK) != 0 && count_files() == 0);
}

// A disk that is full at any moment: the limit of the size of a file in a process of its own, which
// also has to end properly afterwards.
static void a_full_disk_is_reported(void** state) {
  (void)state;
  int fine = 0, full = 0;
  for (rlim_t limit = 0; limit < 60000; limit += 2000) {
    pid_t child = fork();
    if (child == 0) {
      for (int crash = 1; crash < 12; crash++) signal(crash, SIG_DFL);  // not those of cmocka
      signal(SIGXFSZ, SIG_IGN);
      const struct rlimit r = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &r);
      cpl_context* ctx = test_context();
      cpl_status st = write_study(ctx, "full.nc", 0);
      const bool told = strstr(cpl_context_error(ctx), "full.nc: cannot be written") != NULL;
      cpl_context_destroy(ctx);
      exit(st == CPL_OK ? 2 : st == CPL_ERR_IO && told ? 3 : 4);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 2 && WEXITSTATUS(status) != 3))
      fail_msg("limit %d: status %d", (int)limit, status);
    const bool there = access("full.nc", F_OK) == 0;
    if (there != (WEXITSTATUS(status) == 2)) fail_msg("limit %d: %d", (int)limit, there);
    fine += there;
    full += !there;
    CHECK_INT(count_files(), 0);
    unlink("full.nc");
  }
  CHECK(fine > 3 && full > 3);
}

static void other_files_are_refused(void** state) {
  cpl_context* ctx = *state;
  cpli_netcdf* file = NULL;
  CHECK_INT(cpli_netcdf_open(ctx, "none.nc", &file), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "none.nc: No such file");
  write_file("text.nc", "time,x\n0,1\n");
  CHECK_INT(cpli_netcdf_open(ctx, "text.nc", &file), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "text.nc: cannot be read as NetCDF");
  CHECK_INT(cpli_netcdf_open(ctx, "http://example.com/x.nc", &file), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "No such file");
  const struct {
    const char *cdl, *message;
  } wrong[] = {
      {"netcdf x { dimensions: time = 2; variables: double v(time); data: v = 1, 2; }",
       "there is no dimension \"case\""},
      {"netcdf x { dimensions: case = 2; variables: double v(case); data: v = 1, 2; }",
       "no variable has an attribute couplet_role"},
      {"netcdf x { dimensions: case = 2; n = 3; variables: double v(n); v:couplet_role = "
       "\"factor\"; }",
       "v does not have the dimensions of a factor"},
      {"netcdf x { dimensions: case = 2; variables: double v(case); v:couplet_role = "
       "\"factor\"; }",
       "there is no text \"failure\""},
      {"netcdf x { dimensions: case = 2; variables: double v(case); v:couplet_role = "
       "\"factor\"; double failure(case); }",
       "there is no text \"failure\""},
      {"netcdf x { dimensions: case = 2; variables: double v(case); v:couplet_role = "
       "\"factor\"; string failure(case); int64 :grid_shape = 3; }",
       "grid_shape is not that of 2 cases"},
      {"netcdf x { dimensions: case = 2; variables: double v(case); v:couplet_role = "
       "\"factor\"; string failure(case); int64 :grid_shape = 1, 2; }",
       "grid_shape does not have a number for each factor"},
      {"netcdf x { dimensions: case = 2; time = 3; variables: double v(case, time); v:couplet_role "
       "= \"curve\"; string failure(case); }",
       "there is no variable time(time)"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    write_file("x.cdl", wrong[i].cdl);
    output_of("ncgen -k nc4 -o x.nc x.cdl 2>&1");
    CHECK_INT(cpli_netcdf_open(ctx, "x.nc", &file), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), wrong[i].message);
    CHECK(file == NULL);
  }
}

static void memory_may_fail_at_any_time(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    heap.fail_at = heap.calls + n;
    cpl_status st = write_study(ctx, "study.nc", 0);
    cpli_netcdf* file = NULL;
    if (st >= 0) st = cpli_netcdf_open(ctx, "study.nc", &file);
    cpli_study_case c;
    if (st >= 0) st = cpli_netcdf_case(file, 5, &c);
    CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
    cpli_netcdf_close(file);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    CHECK_INT(count_files(), 0);
    if (st >= 0) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read_back),
      cmocka_unit_test(ncdump_reads_it),
      cmocka_unit_test(xarray_unstacks_a_grid),
      cmocka_unit_test(blocks_join),
      cmocka_unit_test(failures_leave_the_earlier_file),
      cmocka_unit_test(a_full_disk_is_reported),
      cmocka_unit_test(other_files_are_refused),
      cmocka_unit_test(memory_may_fail_at_any_time),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
