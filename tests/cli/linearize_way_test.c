// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The way to the point of a linearisation: every solver, and inputs that follow a table.
#include "command.h"

// x' = u - x^3, y = x^2 u
static const char cubic_model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static int d(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0] - v->x[0] * v->x[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int o(const cpl_values* v, double* y) {\n"
    "  y[0] = v->x[0] * v->x[0] * v->u[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"cubic\", .states = states, .inputs = inputs,\n"
    "    .outputs = outputs, .derivatives = d, .output_values = o};\n";

// The input is 0 at the start, 1.2 from t = 0.5 to 0.9, and 2 at t = 1.3.
static double input_at(double t) { return t < 0.5 ? 2.4 * t : t < 0.9 ? 1.2 : 1.2 + 2 * (t - 0.9); }

// The state at t = 1.3, by Runge and Kutta with 10000 steps that end at the knots.
static double state_there(void) {
  static const double knots[] = {0, 0.5, 0.9, 1.3};
  double x = 1;
  for (int part = 0; part < 3; part++) {
    double h = (knots[part + 1] - knots[part]) / 10000;
    for (int i = 0; i < 10000; i++) {
      double t = knots[part] + i * h, k[4], at = x;
      for (int s = 0; s < 4; s++) {
        double c = s == 0 ? 0 : s == 3 ? 1 : 0.5;
        if (s > 0) at = x + c * h * k[s - 1];
        double u = input_at(fmin(t + c * h, knots[part + 1] - 1e-12));
        k[s] = u - at * at * at;
      }
      x += h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3]);
    }
  }
  return x;
}

static double number_after(const char* text, const char* mark) {
  const char* at = strstr(text, mark);
  assert_non_null(at);
  double value = NAN;
  CHECK_INT(sscanf(at + strlen(mark), " [ %lf", &value), 1);
  return value;
}

static void check(const char* what, double tolerance) {
  double x = state_there();
  double a = number_after(printed, "\"A\": [\n   "), c = number_after(printed, "\"C\": [\n   ");
  double d = number_after(printed, "\"D\": [\n   ");
  if (fabs(a + 3 * x * x) > tolerance || fabs(c - 4 * x) > tolerance || fabs(d - x * x) > tolerance)
    fail_msg("%s: A %.9g, C %.9g, D %.9g, expected %.9g, %.9g, %.9g", what, a, c, d, -3 * x * x,
             4 * x, x * x);
}

static void every_solver_leads_to_the_point(void** state) {
  (void)state;
  static const char* const solvers[] = {"cvode", "adams",   "radau", "dopri5",
                                        "erk8",  "esdirk5", "ida"};
  write_text("cubic.c", cubic_model);
  write_text("u.csv", "time,u\n0,0\n0.5,1.2\n0.9,1.2\n1.7,2.8\n");
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
    CHECK_CODE(0, "linearize", "cubic.c", "--at", "1.3", "--input", "u.csv", "--json", "--solver",
               solvers[i], "--rtol", "1e-8", "--atol", "1e-8");
    check(solvers[i], 2e-4);
  }
  CHECK_CODE(0, "linearize", "cubic.c", "--at", "1.3", "--input", "u.csv", "--json", "--solver",
             "rk4", "--step", "0.01");
  check("rk4", 2e-4);
  CHECK_CODE(0, "linearize", "cubic.c", "--at", "1.3", "--input", "u.csv", "--json", "--linear",
             "gmres", "--step", "0.05", "--projection", "off");
  check("gmres", 2e-4);
}

static void bad_ways_are_told(void** state) {
  (void)state;
  write_text("cubic.c", cubic_model);
  write_text("v.csv", "time,v\n0,0\n1,1\n");
  CHECK_FAILS_WITH(2, "v", "linearize", "cubic.c", "--input", "v.csv");
  CHECK_FAILS_WITH(2, "--linear takes direct|gmres", "linearize", "cubic.c", "--linear", "lu");
  CHECK_FAILS_WITH(2, "--projection takes", "linearize", "cubic.c", "--projection", "now");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_solver_leads_to_the_point),
      cmocka_unit_test(bad_ways_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
