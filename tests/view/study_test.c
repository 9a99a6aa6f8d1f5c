// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of a study: what the library writes into it, of a study with known numbers, and files
// that are damaged, too large or none of a study.
#include "view/study.h"

#include <math.h>
#include <unistd.h>

#include "format/file.h"
#include "page_text.h"
#include "testing.h"

enum { CASES = 9, TIMES = 4 };
static const double times[TIMES] = {0, 0.5, 1, 2};
static const cpli_study_column factors[] = {{"a", "kg", "a mass"}, {"</script>", NULL, NULL}};
static const cpli_study_column measures[] = {{"y", "m", "final(x)"}, {"count", NULL, NULL}};
static const cpli_study_column curves[] = {{"x", "m", NULL}, {"on", NULL, NULL}};
static const cpl_study_fact notes[] = {{"title", "a study", 0}, {"stop_time", NULL, 2}};

static const cpli_study_facts study = {.cases = CASES,
                                       .factors = factors,
                                       .measures = measures,
                                       .curves = curves,
                                       .n_factors = 2,
                                       .n_measures = 2,
                                       .n_curves = 2,
                                       .times = times,
                                       .n_times = TIMES,
                                       .facts = notes,
                                       .n_facts = 2};

// y = 1 + 2 a - b; case 4 failed
static double a_of(int64_t i) { return 0.1 + (double)(i % 3); }
static double b_of(int64_t i) { return (double)(i / 3); }
static double y_of(int64_t i) { return i == 4 ? (double)NAN : 1 + 2 * a_of(i) - b_of(i); }
static double x_of(int64_t i, int k) { return y_of(i) * times[k] / 2; }

typedef struct one_case {
  double factors[2], measures[2], curves[2 * TIMES];
} one_case;

static cpl_status next_case(void* user, int64_t i, cpli_study_case* out) {
  one_case* c = user;
  c->factors[0] = a_of(i), c->factors[1] = b_of(i);
  c->measures[0] = y_of(i), c->measures[1] = i == 4 ? (double)NAN : (double)(i * 100);
  for (int k = 0; k < TIMES; k++) {
    c->curves[k] = x_of(i, k);
    c->curves[TIMES + k] = i == 4 ? 0 : (double)(k % 2);
  }
  *out = (cpli_study_case){c->factors, c->measures, c->curves,
                           i == 4 ? "<b>x</b> is \"too\" large" : ""};
  return CPL_OK;
}

static void write_study(cpl_context* ctx, const char* path) {
  one_case c;
  CHECK_OK(ctx, cpli_netcdf_write(ctx, path, &study, next_case, &c));
}

static char* page_of(cpl_context* ctx, const char* path) {
  char* text = NULL;
  size_t n;
  CHECK_OK(ctx, cpli_file_read(ctx, path, (size_t)1 << 24, &text, &n));
  return text;
}

static void a_page_has_every_number(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_study(ctx, "s.nc");
  cpl_view_def def = cpl_default_view_def();
  def.path = "s.html";
  def.only = (const char*[]){"y", "o*"}, def.n_only = 2;
  def.across = "a", def.up = "count";
  CHECK_OK(ctx, cpl_view_study(ctx, "s.nc", &def));
  char* page = page_of(ctx, "s.html");
  CHECK_CONTAINS(page, "default-src 'none'; script-src 'sha256-");
  CHECK_CONTAINS(page, "connect-src 'none'");
  CHECK_CONTAINS(page, "<title>s.nc</title>");
  char* json = between(page, "id=\"data\">", "</script>");
  CHECK_CONTAINS(json, "\"title\":\"s.nc\",\"show\":[\"y\",\"on\"],\"xy\":[\"a\",\"count\"]");
  CHECK_CONTAINS(json, "\"cases\":9");
  CHECK_CONTAINS(json,
                 "{\"name\":\"a\",\"unit\":\"kg\",\"text\":\"a mass\",\"kind\":\"f64\","
                 "\"role\":\"factor\"}");
  CHECK_CONTAINS(json, "{\"name\":\"\\u003c/script\\u003e\",\"kind\":\"i8\",\"role\":\"factor\"}");
  CHECK_CONTAINS(json, "[4,\"\\u003cb\\u003ex\\u003c/b\\u003e is \\u0022too\\u0022 large\"]");
  CHECK_CONTAINS(json, "[\"title\",\"a study\"],[\"stop_time\",2]");
  CHECK_CONTAINS(json, "\"curveStep\":1,\"curveCases\":9,\"times\":4");
  CHECK_CONTAINS(json, "{\"name\":\"on\",\"kind\":\"i8\"}");
  CHECK_CONTAINS(json, "{\"name\":\"x\",\"unit\":\"m\",\"kind\":\"f32\"}");
  cpli_free(ctx, page);
  free(json);
  cpl_context_destroy(ctx);
}

static void numbers_are_packed_without_loss(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_study(ctx, "s.nc");
  cpl_view_def def = cpl_default_view_def();
  def.path = "s.html";
  CHECK_OK(ctx, cpl_view_study(ctx, "s.nc", &def));
  char* page = page_of(ctx, "s.html");
  double a[CASES];
  int8_t b[CASES], on[CASES * TIMES];
  float x[CASES * TIMES], count[CASES];
  char* text = between(page, "id=\"c0\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)a), sizeof a);
  free(text);
  text = between(page, "id=\"c1\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)b), sizeof b);
  free(text);
  text = between(page, "id=\"c3\">", "</script>");  // integers and a NaN
  CHECK_INT(decoded(text, (unsigned char*)count), sizeof count);
  free(text);
  text = between(page, "id=\"y0\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)x), sizeof x);
  free(text);
  text = between(page, "id=\"y1\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)on), sizeof on);
  free(text);
  for (int64_t i = 0; i < CASES; i++) {
    CHECK(a[i] == a_of(i));
    CHECK(b[i] == b_of(i));
    CHECK(i == 4 ? isnan(count[i]) : count[i] == (float)(100 * i));
    for (int k = 0; k < TIMES; k++) {
      const float wanted = (float)x_of(i, k);
      CHECK(i == 4 ? isnan(x[i * TIMES + k]) : x[i * TIMES + k] == wanted);
      CHECK(on[i * TIMES + k] == (i == 4 ? 0 : k % 2));
    }
  }
  cpli_free(ctx, page);
  cpl_context_destroy(ctx);
}

// y is linear in the factors: its regression explains all, coefficients are 2 s(a)/s(y),
// -s(b)/s(y).
static void statistics_are_those_of_the_numbers(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_study(ctx, "s.nc");
  cpli_shown_study s;
  CHECK_OK(ctx, cpli_shown_study_read(ctx, "s.nc", CPLI_SHOWN_CURVES, NULL, &s));
  double n = 0, sum[3] = {0}, squares[3] = {0};
  for (int64_t i = 0; i < CASES; i++) {
    const double v[] = {a_of(i), b_of(i), y_of(i)};
    for (int k = 0; k < 3 && i != 4; k++) sum[k] += v[k], squares[k] += v[k] * v[k];
    n += i != 4;
  }
  double deviation[3];
  for (int k = 0; k < 3; k++) deviation[k] = sqrt((squares[k] - sum[k] * sum[k] / n) / (n - 1));
  const cpli_shown_measure* y = &s.measures[0];
  CHECK_INT(y->moments.n, 8);
  CHECK_NEAR(y->moments.mean, sum[2] / n, 1e-14);
  CHECK_NEAR(cpl_moments_deviation(&y->moments), deviation[2], 1e-14);
  CHECK_NEAR(y->moments.least, -0.8, 1e-15);
  CHECK_NEAR(y->quantiles[2], 2.2, 1e-14);  // -0.8 0.2 1.2 | 1.2 3.2 | 3.2 4.2 5.2
  CHECK_STR(y->influence.method, "regression");
  CHECK_NEAR(y->influence.r_squared, 1, 1e-13);
  CHECK_NEAR(y->influence.values[0], 2 * deviation[0] / deviation[2], 1e-13);
  CHECK_NEAR(y->influence.values[2], -deviation[1] / deviation[2], 1e-13);
  CHECK_INT(s.n_failures, 1);
  CHECK_INT(s.failures[0].i, 4);
  cpli_shown_study_free(&s);
  cpl_context_destroy(ctx);
}

// A page has room for the curves of four cases here: every third one has them.
static void large_studies_have_some_curves(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_study(ctx, "s.nc");
  cpli_shown_study s;
  CHECK_OK(ctx, cpli_shown_study_read(ctx, "s.nc", 4 * (size_t)(2 * TIMES), NULL, &s));
  CHECK_INT(s.curve_step, 3);
  CHECK_INT(s.curve_cases, 3);
  for (int64_t row = 0; row < 3; row++) {
    for (int k = 0; k < TIMES; k++) {
      CHECK_NEAR(s.curves[row * TIMES + k], x_of(3 * row, k), 0);
      CHECK_NEAR(s.curves[(3 + row) * TIMES + k], k % 2, 0);
    }
  }
  cpli_shown_study_free(&s);
  CHECK_INT(cpli_shown_study_read(ctx, "s.nc", 2 * TIMES - 1, NULL, &s), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "s.nc: is too large for a page: 2 curves at 4 times");
  cpli_shown_study_free(&s);
  cpl_context_destroy(ctx);
}

static void says_what_is_wrong(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_study(ctx, "s.nc");
  cpl_view_def def = cpl_default_view_def();
  def.path = "wrong.html";
  def.only = (const char*[]){"yy"}, def.n_only = 1;
  CHECK_INT(cpl_view_study(ctx, "s.nc", &def), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "no factor, measure or curve matches \"yy\" (did you mean y?)");
  def.n_only = 0;
  def.across = "a", def.up = "x";
  CHECK_INT(cpl_view_study(ctx, "s.nc", &def), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no factor or measure matches \"x\"");
  def.across = def.up = NULL;
  CHECK_INT(cpl_view_study(ctx, "none.nc", &def), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "none.nc: No such file or directory");
  def.path = "s.svg";
  CHECK_INT(cpl_view_study(ctx, "s.nc", &def), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "end in .html");
  def.path = "no/folder.html";
  CHECK_INT(cpl_view_study(ctx, "s.nc", &def), CPL_ERR_INPUT);
  unlink("full.html");
  assert_int_equal(symlink("/dev/full", "full.html"), 0);
  def.path = "full.html";
  CHECK_INT(cpl_view_study(ctx, "s.nc", &def), CPL_ERR_IO);
  CHECK_CONTAINS(cpl_context_error(ctx), "No space left on device");
  CHECK(access("wrong.html", F_OK) != 0);
  cpl_context_destroy(ctx);
}

//------------------------------------ damage ------------------------------------

typedef struct reading {
  cpl_context* ctx;
  const char* path;
} reading;

static cpl_status read_only(cpli_nc_process* process, void* user) {
  const reading* r = user;
  cpli_shown_study s;
  return cpli_shown_study_read(r->ctx, r->path, CPLI_SHOWN_CURVES, process, &s);
}

static uint64_t random_state = 88172645463325252u;
static size_t below(size_t n) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (size_t)(random_state % n);
}

// Bytes are lost, changed, or copied to another place.
static void damage(char* bytes, size_t* n) {
  const size_t at = below(*n), from = below(*n), most = *n - (at > from ? at : from);
  switch (below(4)) {
    case 0: *n = at; break;
    case 1:
      for (int i = 0; i < 20; i++) bytes[below(*n)] = (char)below(256);
      break;
    case 2: memset(bytes + at, below(2) ? 0xff : 0, *n - at < 8 ? *n - at : 8); break;
    default: memmove(bytes + at, bytes + from, most < 300 ? most : 300);
  }
}

// HDF5 crashes or hangs for some of these: they are read in a process of their own.
static void damaged_files_are_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_study(ctx, "whole.nc");
  char* whole = NULL;
  size_t size;
  CHECK_OK(ctx, cpli_file_read(ctx, "whole.nc", (size_t)1 << 24, &whole, &size));
  int refused = 0;
  for (int i = 0; i < 80; i++) {
    size_t n = size;
    char* bytes = malloc(size);
    memcpy(bytes, whole, size);
    damage(bytes, &n);
    CHECK_OK(ctx, cpli_file_make(ctx, "damaged.nc", bytes, n));
    free(bytes);
    reading r = {ctx, "damaged.nc"};
    const cpl_status st =
        cpli_nc_run(ctx, &(cpli_nc_work){"damaged.nc", "cannot be read", 2, read_only, &r});
    if (st < 0 && st != CPL_ERR_INPUT && st != CPL_ERR_NOMEM)
      fail_msg("%d: %s", i, cpl_context_error(ctx));
    refused += st < 0;
  }
  CHECK(refused > 20);
  cpli_free(ctx, whole);
  cpl_context_destroy(ctx);
}

static void survives_failed_allocations(void** state) {
  (void)state;
  cpl_context* plain = test_context();
  write_study(plain, "s.nc");
  cpl_context_destroy(plain);
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (ctx != NULL) {
      cpli_shown_study s;
      st = cpli_shown_study_read(ctx, "s.nc", CPLI_SHOWN_CURVES, NULL, &s);
      cpli_shown_study_free(&s);
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_page_has_every_number),
      cmocka_unit_test(numbers_are_packed_without_loss),
      cmocka_unit_test(statistics_are_those_of_the_numbers),
      cmocka_unit_test(large_studies_have_some_curves),
      cmocka_unit_test(says_what_is_wrong),
      cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
