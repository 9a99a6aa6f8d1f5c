// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// examples/dae as a user runs it: models in C and the FMUs made of them, integrated as they are or
// solved for their algebraic variables.
#include <zip.h>

#include "running.h"

static double last(const cpl_table* t, const char* name) { return column(t, name)[t->n_rows - 1]; }

static double largest(const cpl_table* t, const char* name) {
  const double* v = column(t, name);
  double most = 0;
  for (size_t i = 0; i < t->n_rows; i++) most = fmax(most, fabs(v[i]));
  return most;
}

static double stat(const char* word) {
  size_t n;
  char* text = read_all("out.txt", &n);
  char* at = strstr(text, word);
  double value = at != NULL ? strtod(at + strlen(word), NULL) : 0;
  free(text);
  return value;
}

static int prepare(void** state) {
  static const char* const names[] = {"hello", "robertson", "pendulum"};
  copy_example("dae");
  for (size_t i = 0; i < 3; i++) must_do("build dae/%s.c --fmi 3 -o %s.fmu", names[i], names[i]);
  return make_context(state);
}

static char* read_entry(zip_t* zip, const char* name) {
  zip_stat_t about;
  CHECK_INT(zip_stat(zip, name, 0, &about), 0);
  char* text = calloc(1, about.size + 1);
  zip_file_t* file = zip_fopen(zip, name, 0);
  CHECK_INT(zip_fread(file, text, about.size), about.size);
  zip_fclose(file);
  return text;
}

// Copies an FMU with everything from `begin` to the end of `end` in one of its files replaced.
static void change(const char* from, const char* to, const char* name, const char* begin,
                   const char* end, const char* by) {
  size_t size;
  int code = 0;
  char* bytes = read_all(from, &size);
  FILE* f = fopen(to, "wb");
  CHECK_INT(fwrite(bytes, 1, size, f), size);
  fclose(f);
  free(bytes);
  zip_t* zip = zip_open(to, 0, &code);
  assert_non_null(zip);
  char* text = read_entry(zip, name);
  char *first = strstr(text, begin), *behind = first != NULL ? strstr(first, end) : NULL;
  if (behind == NULL) fail_msg("no %s in %s", begin, name);
  behind += strlen(end);
  size_t room = strlen(text) + strlen(by) + 1;
  char* changed = malloc(room);
  snprintf(changed, room, "%.*s%s%s", (int)(first - text), text, by, behind);
  zip_source_t* source = zip_source_buffer(zip, changed, strlen(changed), 0);
  CHECK(zip_file_add(zip, name, source, ZIP_FL_OVERWRITE) >= 0);
  CHECK_INT(zip_close(zip), 0);
  free(text);
  free(changed);
}

static const char manifest[] = "extra/org.fmi-standard.fmi-ls-dae/fmi-ls-manifest.xml";

//------------------------------------ results ------------------------------------

static void a_linear_system_is_solved(void** state) {
  static const char* const how[] = {"dae/hello.c --solver ida",          "hello.fmu --solver ida",
                                    "hello.fmu --solver ida --form ode", "hello.fmu",
                                    "hello.fmu --solver dopri5",         "hello.fmu --as cs"};
  for (size_t k = 0; k < 6; k++) {
    must_do("run %s --rtol 1e-9 --interval 0.01 --stats -o out.csv", how[k]);
    CHECK_INT(stat("algebraic variables"), k < 2 ? 2 : 0);
    cpl_table* t = read_table(*state, "out.csv");
    const double *x = column(t, "x"), *y = column(t, "y"), *z = column(t, "z");
    for (size_t i = 0; i < t->n_rows; i++) {
      CHECK_NEAR(x[i], exp(1.4 * t->time[i]), 1e-6);
      CHECK_NEAR(y[i], 1.4 * x[i], 1e-6);
      CHECK_NEAR(z[i], -x[i] / 5, 1e-6);
    }
    cpl_table_destroy(t);
  }
}

// Values of the IVP test set (Mazzia, Magherini) at the end, and of Hairer and Wanner at t = 40.
static void robertson_meets_its_reference(void** state) {
  static const char* const how[] = {"dae/robertson.c", "robertson.fmu"};
  for (size_t k = 0; k < 2; k++) {
    must_do("run %s --solver ida --rtol 1e-8 --atol 1e-10 --stats -o out.csv", how[k]);
    CHECK_INT(stat("algebraic variables"), 1);
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_NEAR(last(t, "y1"), 0.7158270687, 1e-7);
    CHECK_NEAR(last(t, "y2"), 9.185534765e-6, 1e-11);
    CHECK_NEAR(last(t, "y3"), 0.2841637457, 1e-7);
    cpl_table_destroy(t);
    must_do("run %s --solver ida --rtol 1e-8 --atol 1e-14 --stop-time 1e11 -o out.csv", how[k]);
    t = read_table(*state, "out.csv");
    CHECK_NEAR(last(t, "y1"), 0.2083340149701255e-7, 1e-13);
    CHECK_NEAR(last(t, "y2"), 0.8333360770334713e-13, 1e-18);
    CHECK_NEAR(last(t, "y3"), 0.9999999791665050, 1e-13);
    cpl_table_destroy(t);
  }
}

static void a_model_and_its_fmu_compute_the_same_bits(void** state) {
  static const char* const how[] = {"", "--form ode", "--isolate"};
  (void)state;
  must_do("run dae/pendulum.c --solver ida --projection off --stop-time 5 --form ode -o ode.csv");
  must_do("run dae/pendulum.c --solver ida --projection off --stop-time 5 -o dae.csv");
  for (size_t k = 0; k < 3; k++) {
    must_do("run pendulum.fmu --solver ida --projection off --stop-time 5 %s -o out.csv", how[k]);
    size_t n, m;
    char *a = read_all("out.csv", &n), *b = read_all(k == 1 ? "ode.csv" : "dae.csv", &m);
    CHECK(n == m && memcmp(a, b, n) == 0);
    free(a);
    free(b);
  }
}

static void the_rod_keeps_its_length(void** state) {
  must_do(
      "run dae/pendulum.c --solver radau --projection every --rtol 1e-11 --stop-time 5 "
      "-o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  double x = last(t, "x"), y = last(t, "y"), force = last(t, "force");
  cpl_table_destroy(t);
  // an FMU whose constraints are known by the standard's manifest only
  change("pendulum.fmu", "plain.fmu", "modelDescription.xml", "<Annotations>", "</Annotations>",
         "");
  static const char* const files[] = {"dae/pendulum.c", "pendulum.fmu", "plain.fmu"};
  for (size_t k = 0; k < 3; k++) {
    must_do("run %s --solver ida --rtol 1e-7 --stop-time 5 --stats -o out.csv", files[k]);
    double kept = stat("right-hand sides");
    t = read_table(*state, "out.csv");
    CHECK(largest(t, "drift") <= 1e-7);
    CHECK_NEAR(last(t, "x"), x, 1e-4);
    CHECK_NEAR(last(t, "y"), y, 1e-4);
    CHECK_NEAR(last(t, "force"), force, 1e-2);
    cpl_table_destroy(t);
    must_do("run %s --solver ida --rtol 1e-7 --stop-time 5 --projection off -o out.csv", files[k]);
    t = read_table(*state, "out.csv");
    CHECK(largest(t, "drift") > 1e-6);
    cpl_table_destroy(t);
    if (k > 0) continue;
    must_do("run %s --solver ida --rtol 1e-7 --stop-time 5 --projection events --stats -o out.csv",
            files[k]);
    CHECK(stat("right-hand sides") > 2 * kept);
  }
}

// The flow q + q^3 = drive, by Newton's method from above.
static double flow(double drive) {
  double q = drive;
  for (int i = 0; i < 60; i++) q -= (q + q * q * q - drive) / (1 + 3 * q * q);
  return q;
}

static void heat(const double* T, double* dT) {
  double in = flow(100 * (1 - T[0]));
  for (int i = 0; i < 200; i++) {
    double out = i < 199 ? flow(100 * (T[i] - T[i + 1])) : 0;
    dT[i] = in - out;
    in = out;
  }
}

// Against RK4 with steps well below where it would become unstable.
static void a_chain_with_an_implicit_law_is_right(void** state) {
  static double T[200], at[200], k[4][200];
  static const double part[] = {0, 0.5, 0.5, 1};
  enum { STEPS = 200 };
  double h = 0.5 / STEPS;
  for (int n = 0; n < STEPS; n++) {
    for (int j = 0; j < 4; j++) {
      for (int i = 0; i < 200; i++) at[i] = T[i] + (j > 0 ? part[j] * h * k[j - 1][i] : 0);
      heat(at, k[j]);
    }
    for (int i = 0; i < 200; i++) T[i] += h * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]) / 6;
  }
  static const char* const how[] = {"ida", "ida --form ode", "cvode"};
  for (size_t i = 0; i < 3; i++) {
    must_do(
        "run dae/chain.c --solver %s --rtol 1e-7 --stop-time 0.5 --record 'T[1]' "
        "--record 'T[5]' --record inflow --stats -o out.csv",
        how[i]);
    CHECK_INT(stat("algebraic variables"), i == 0 ? 200 : 0);
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_NEAR(last(t, "T[1]"), T[0], 1e-5);
    CHECK_NEAR(last(t, "T[5]"), T[4], 1e-5);
    CHECK_NEAR(last(t, "inflow"), flow(100 * (1 - T[0])), 1e-3);
    cpl_table_destroy(t);
  }
}

//------------------------------------ the form ------------------------------------

static void the_form_is_chosen_before_initialisation(void** state) {
  size_t n;
  (void)state;
  must_do("run hello.fmu --solver ida --call-log calls.txt -o out.csv");
  char* text = read_all("calls.txt", &n);
  char *made = strstr(text, "fmi3InstantiateModelExchange"),
       *config = strstr(text, "fmi3EnterConfigurationMode() -> fmi3OK"),
       *set = strstr(text, "fmi3SetBoolean("),
       *leave = strstr(text, "fmi3ExitConfigurationMode() -> fmi3OK"),
       *init = strstr(text, "fmi3EnterInitializationMode");
  CHECK(made != NULL && made < config && config < set && set < leave && leave < init);
  free(text);
  must_do("run hello.fmu --call-log calls.txt -o out.csv");
  text = read_all("calls.txt", &n);
  CHECK(strstr(text, "ConfigurationMode") == NULL);
  free(text);
  CHECK_INT(couplet("run hello.fmu --solver radau --form dae"), 2);
  check_message("solver radau cannot integrate algebraic variables together with states");
  CHECK_INT(couplet("run hello.fmu --form index"), 2);
}

static void information_shows_it(void** state) {
  size_t n;
  (void)state;
  must_do("info pendulum.fmu");
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "Algebraic variables (1, set from outside while dae is true)");
  CHECK_CONTAINS(text,
                 "residual residual_1, residual_1_index_3 of index 3, residual_1_index_2 of "
                 "index 2");
  free(text);
  must_do("info pendulum.fmu --json");
  text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "\"enable_dae\": \"dae\"");
  free(text);
  must_do("check pendulum.fmu hello.fmu robertson.fmu");
}

static void a_part_of_a_system_solves_for_itself(void** state) {
  FILE* f = fopen("system.yaml", "w");
  fputs(
      "couplet: 1\nmodels: {a: {fmu: hello.fmu}, b: {c: dae/hello.c}}\n"
      "outputs: {sum: a.y + b.z}\nexperiment: {stop: 1, rtol: 1e-9}\n",
      f);
  fclose(f);
  must_do("run system.yaml --solver ida --stats -o out.csv");
  CHECK_INT(stat("algebraic variables"), 0);
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(last(t, "a.y"), 1.4 * exp(1.4), 1e-6);
  CHECK_NEAR(last(t, "b.z"), -exp(1.4) / 5, 1e-6);
  cpl_table_destroy(t);
}

//------------------------------------ mistakes ------------------------------------

static void a_bad_manifest_is_an_error_for_who_needs_it(void** state) {
  size_t n;
  (void)state;
  change("hello.fmu", "bad.fmu", manifest, "<Residual>", "</Residual>", "");
  CHECK_INT(couplet("run bad.fmu --solver ida"), 2);
  check_message("fmi-ls-manifest.xml:");
  check_message("1 residuals for 2 algebraic variables");
  check_message("(form ode)");
  must_do("run bad.fmu --solver ida --form ode -o out.csv");
  must_do("run bad.fmu -o out.csv");
  check_message("its equations cannot be used as a DAE");
  CHECK(couplet("check bad.fmu") != 0);
  must_do("info bad.fmu");
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "not usable: ");
  free(text);
}

static void an_fmu_may_have_no_other_form(void** state) {
  (void)state;
  change("hello.fmu", "only.fmu", manifest, "<EnableDAE", "/>", "");
  CHECK_INT(couplet("run only.fmu"), 2);
  check_message("only solver ida can run it");
  change("hello.fmu", "blind.fmu", manifest, "<EnableDAE", "/>",
         "<EnableDAE valueReference=\"0\"/>");
  CHECK_INT(couplet("run blind.fmu --solver ida"), 2);
  check_message("is no structural parameter of type Boolean");
  change("hello.fmu", "torn.fmu", manifest, "</ModelStructure>", "Manifest>", "");
  CHECK_INT(couplet("run torn.fmu --solver ida"), 2);
  check_message("fmi-ls-manifest.xml:");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_linear_system_is_solved),
      cmocka_unit_test(robertson_meets_its_reference),
      cmocka_unit_test(a_model_and_its_fmu_compute_the_same_bits),
      cmocka_unit_test(the_rod_keeps_its_length),
      cmocka_unit_test(a_chain_with_an_implicit_law_is_right),
      cmocka_unit_test(the_form_is_chosen_before_initialisation),
      cmocka_unit_test(information_shows_it),
      cmocka_unit_test(a_part_of_a_system_solves_for_itself),
      cmocka_unit_test(a_bad_manifest_is_an_error_for_who_needs_it),
      cmocka_unit_test(an_fmu_may_have_no_other_form),
  };
  return cmocka_run_group_tests(tests, prepare, drop_context);
}
