// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"
#include "format/mat4.h"

static const char two_file[] =
    "couplet: 1\n"
    "name: two\n"
    "models:\n"
    "  a: {c: decay.c}\n"
    "  b: {c: decay.c, start: {a: 2}}\n"
    "inputs: {w: {start: 0}}\n"
    "connections:\n"
    "  a.u: w\n"
    "  b.u: 3*a.y\n"
    "outputs: {z: b.y + w}\n"
    "events: {kick: {at: [0.5], set: {a.x: 7}}}\n";

static void write_files(void) {
  write_text("decay.c", decay_model);
  write_text("two.yaml", two_file);
}

// a.x' = -a.x + w, b.x' = -2 b.x + 6 a.x, z = 2 b.x + w
static void a_system_has_matrices(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "-o", "two.csv");
  CHECK_STR(printed, "");
  double value;
  const char* text = text_of("two.csv");
  CHECK(strncmp(text, "A,a.x,b.x\na.x,-", 15) == 0);
  CHECK_INT(sscanf(strstr(text, "\nb.x,") + 5, "%lf", &value), 1);
  CHECK_NEAR(value, 6, 1e-8);
  CHECK_CONTAINS(text, "\n\nB,w\na.x,");
  CHECK_CONTAINS(text, "\n\nC,a.x,b.x\nz,0,");
  CHECK_CONTAINS(text, "\n\nD,w\nz,1\n");
  CHECK_CODE(0, "linearize", "two.yaml");
  CHECK_CONTAINS(printed, "two\n  t = 0: 2 states, 1 input, 1 output\n");
  CHECK_CONTAINS(printed, "A, derivatives by states\n");
  CHECK_CONTAINS(printed, "D, outputs by inputs\n                  w\n  z               1\n");
}

static void the_point_lies_behind_the_events(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "--at", "0.5", "--json", "--set", "b.x=3");
  CHECK_CONTAINS(printed, "\"time\": 0.5,");
  CHECK_CONTAINS(printed, "\"states\": [\n    \"a.x\",");
  CHECK_CONTAINS(printed, "\"x\": [\n    7,");
  CHECK_CONTAINS(printed, "\"D\": [\n    [1]\n  ]");
}

static void models_and_choices(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "--models", "--only", "b.*");
  CHECK_CONTAINS(printed, "two\n  t = 0: 1 state, 0 inputs, 0 outputs\n");
  CHECK_CONTAINS(printed, "\nb: 1 state, 1 input, 1 output\n");
  CHECK_CONTAINS(printed, "\na: 0 states, 0 inputs, 0 outputs\n");
  CHECK_CODE(0, "linearize", "two.yaml", "--models", "-o", "two.csv");
  CHECK_CONTAINS(text_of("two.csv"), "\n\nb:B,b.u\nb.x,");
  CHECK_FAILS(2, "two: \"c.x\" is none of the states, inputs and outputs of the linearisation",
              "linearize", "two.yaml", "--only", "c.x");
}

static void a_mat_file_has_everything(void** state) {
  (void)state;
  size_t len, at = 0;
  cpl_context* ctx = test_context();
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "--models", "-o", "two.mat");
  char* bytes = read_bytes("two.mat", &len);
  bool has_a = false, has_states = false, has_b_d = false;
  for (;;) {
    cpli_mat m;
    CHECK_OK(ctx, cpli_mat_next(ctx, "two.mat", bytes, len, &at, &m));
    if (m.name == NULL) break;
    if (strcmp(m.name, "A") == 0) {
      has_a = true;
      CHECK_INT(m.rows, 2);
      CHECK_NEAR(cpli_mat_number(&m, 1, 0), 6, 1e-8);
      CHECK_NEAR(cpli_mat_number(&m, 0, 1), 0, 1e-8);
    }
    if (strcmp(m.name, "states") == 0) {
      has_states = true;
      CHECK_INT(m.rows, 2);
      CHECK_INT(m.columns, 3);
      CHECK_INT(cpli_mat_number(&m, 1, 0), 'b');
    }
    has_b_d = has_b_d || strcmp(m.name, "b_D") == 0;
  }
  CHECK(has_a && has_states && has_b_d);
  free(bytes);
  cpl_context_destroy(ctx);
}

static void one_model_has_matrices(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "build", "decay.c", "-o", "decay.fmu");
  CHECK_CODE(0, "linearize", "decay.fmu", "--at", "0.3", "--rtol", "1e-8");
  CHECK_CONTAINS(printed, "decay\n  t = 0.3: 1 state, 1 input, 1 output\n");
  CHECK_CONTAINS(printed, "B, derivatives by inputs\n                  u\n  x               1\n");
}

static void bad_requests_are_told(void** state) {
  (void)state;
  write_files();
  CHECK_FAILS(2, "x.txt: a linearisation is written to a .json, .csv or .mat file", "linearize",
              "two.yaml", "-o", "x.txt");
  CHECK_FAILS(2, "--at -1: lies before the start time 0", "linearize", "two.yaml", "--at", "-1");
  CHECK_FAILS(2, "no/such/x.csv: cannot be written: No such file or directory", "linearize",
              "two.yaml", "-o", "no/such/x.csv");
  CHECK_FAILS_WITH(2, "b.q", "linearize", "two.yaml", "--set", "b.q=3");
}

// a.x' = -a.x + w, b.x' = -2 b.x + 6 a.x: z = w + 12 w / ((s + 1) (s + 2)), zeros of s^2 + 3 s + 14
static void poles_and_zeros(void** state) {
  (void)state;
  double first, second, re, im;
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "--poles", "--zeros", "--json");
  CHECK_INT(
      sscanf(strstr(printed, "\"poles\""), "\"poles\": [ [%lf, 0], [%lf, 0] ]", &first, &second),
      2);
  CHECK_NEAR(first, -1, 1e-9);
  CHECK_NEAR(second, -2, 1e-9);
  CHECK_INT(sscanf(strstr(printed, "\"zeros\""), "\"zeros\": [ [%lf, %lf]", &re, &im), 2);
  CHECK_NEAR(re, -1.5, 1e-7);
  CHECK_NEAR(im, sqrt(14 - 2.25), 1e-7);
  CHECK_CODE(0, "linearize", "two.yaml", "--zeros", "--poles");
  CHECK_CONTAINS(printed, "poles [1/s]\n");
  CHECK_CONTAINS(printed, "zeros [1/s]\n");
  CHECK_CODE(0, "linearize", "two.yaml", "--zeros", "-o", "zeros.csv");
  CHECK_CONTAINS(text_of("zeros.csv"), "\nzeros,re,im\n1,-1.5");
  CHECK(strstr(text_of("zeros.csv"), "poles") == NULL);
  CHECK_CODE(0, "linearize", "two.yaml", "--poles", "-o", "poles.mat");
}

// --only selects no states of what poles and zeros are computed from.
static void poles_have_all_states(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "--poles", "--zeros", "--only", "z");
  CHECK_CONTAINS(printed, "t = 0: 0 states, 0 inputs, 1 output\n");
  CHECK_CONTAINS(printed, "            -1\n              -2\n");
  CHECK_CONTAINS(printed, "+ 3.427827");
}

// z = w + 12 w / ((s + 1) (s + 2)): 7 w at rest
static void many_states_are_warned_of(void** state) {
  (void)state;
  write_text("many.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"x\", .size = 2001}, {0}};\n"
             "static int slope(const cpl_values* v, double* dx) {\n"
             "  for (int i = 0; i < 2001; i++) dx[i] = -v->x[i];\n"
             "  return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"many\", .states = states,\n"
             "    .derivatives = slope};\n");
  CHECK_CODE(0, "linearize", "many.c", "--poles", "-o", "many.mat");
  CHECK_CONTAINS(complained, "dense matrices of 2001 states take long: couplet steady");
}

static void fewer_states(void** state) {
  (void)state;
  double a, b, c, d;
  write_files();
  CHECK_CODE(0, "linearize", "two.yaml", "--reduce", "1", "--json", "--only", "z", "--poles");
  CHECK_INT(sscanf(strstr(printed, "\"A\""), "\"A\": [ [%lf]", &a), 1);
  CHECK_INT(sscanf(strstr(printed, "\"B\""), "\"B\": [ [%lf]", &b), 1);
  CHECK_INT(sscanf(strstr(printed, "\"C\""), "\"C\": [ [%lf]", &c), 1);
  CHECK_INT(sscanf(strstr(printed, "\"D\""), "\"D\": [ [%lf]", &d), 1);
  CHECK_NEAR(d - c * b / a, 7, 1e-9);
  CHECK_CONTAINS(printed, "\"hankel\"");
  CHECK_CODE(0, "linearize", "two.yaml", "--reduce", "1");
  CHECK_CONTAINS(printed, "reduced from 2 states\n");
  CHECK_CODE(0, "linearize", "two.yaml", "--reduce", "1", "-o", "less.csv");
  CHECK_CONTAINS(text_of("less.csv"), "\nhankel,value\n1,");
  CHECK_CODE(0, "linearize", "two.yaml", "--reduce", "1", "-o", "less.mat");
  CHECK_FAILS_WITH(2, "a system of 2 states cannot be reduced to 2", "linearize", "two.yaml",
                   "--reduce", "2");
  CHECK_FAILS_WITH(2, "--reduce 1.5: not a number of states", "linearize", "two.yaml", "--reduce",
                   "1.5");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_system_has_matrices),  cmocka_unit_test(the_point_lies_behind_the_events),
      cmocka_unit_test(models_and_choices),     cmocka_unit_test(a_mat_file_has_everything),
      cmocka_unit_test(one_model_has_matrices), cmocka_unit_test(bad_requests_are_told),
      cmocka_unit_test(poles_and_zeros),        cmocka_unit_test(poles_have_all_states),
      cmocka_unit_test(fewer_states),           cmocka_unit_test(many_states_are_warned_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
