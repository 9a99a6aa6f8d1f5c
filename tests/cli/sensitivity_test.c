// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet sensitivity`: files, JSON, FMUs, loops, constraints, and what is refused.
#include "command.h"

// The last number of the array behind "key": in JSON.
static double last_in(const char* text, const char* key) {
  char quoted[200];
  snprintf(quoted, sizeof quoted, "\"%s\": [", key);
  const char* at = strstr(text, quoted);
  if (at == NULL) fail_msg("there is no %s in %s", key, text);
  const char* end = strchr(at, ']');
  while (end[-1] != ' ' && end[-1] != '[' && end[-1] != ',') end--;
  return strtod(end, NULL);
}

static double last_of(const char* key) { return last_in(printed, key); }

static void copy_files(const char* folder, const char* const* files) {
  for (; *files != NULL; files++) {
    char path[200];
    snprintf(path, sizeof path, "examples/%s/%s", folder, *files);
    write_text(*files, text_of(test_path(path)));
  }
}

static void copy_ball(void) {
  copy_files("bouncing_ball", (const char* const[]){"bouncing_ball.c", NULL});
}

// Of the first impact: h = e g T late - g late^2 / 2 with T = sqrt(2 / g).
static const double fall = 0.45152364098573090;  // sqrt(2 / 9.81)

static void check_impact(double tolerance) {
  double late = 0.6 - fall, slope = fall / 2;
  CHECK_NEAR(last_of("dh/de"), 9.81 * fall * late, tolerance);
  CHECK_NEAR(last_of("dh/dh"),
             0.8 * 9.81 * slope * late - (0.8 * 9.81 * fall - 9.81 * late) * slope, tolerance);
}

static void models_and_fmus_have_sensitivities(void** state) {
  (void)state;
  copy_ball();
  CHECK_CODE(0, "build", "bouncing_ball.c", "-o", "ball2.fmu");
  CHECK_CODE(0, "build", "bouncing_ball.c", "-o", "ball3.fmu", "--fmi", "3");
  static const char* const files[] = {"bouncing_ball.c", "ball2.fmu", "ball3.fmu"};
  for (int i = 0; i < 3; i++) {
    CHECK_CODE(0, "sensitivity", files[i], "--of", "h", "--to", "e,h", "--stop", "0.6", "--rtol",
               "1e-11", "--json");
    CHECK_STR(complained, "");
    CHECK(printed[0] == '{' && strcmp(printed + strlen(printed) - 2, "}\n") == 0);
    check_impact(1e-8);
  }
  CHECK_CODE(0, "sensitivity", "ball2.fmu", "--of", "h", "--to", "e", "--to", "h", "--stop", "0.6",
             "--rtol", "1e-11", "--json", "--isolate", "--solver", "dopri5");
  check_impact(1e-8);
}

static void results_have_a_column_per_pair(void** state) {
  (void)state;
  copy_ball();
  CHECK_CODE(0, "sensitivity", "bouncing_ball.c", "--of", "h,v", "--to", "g,e", "--record", "h",
             "-o", "s.csv", "--interval", "0.5");
  CHECK_CONTAINS(text_of("s.csv"), "time,h,dh/dg,dh/de,dv/dg,dv/de\n0,1,0,0,0,0\n");
  CHECK_CONTAINS(printed, "at t = 3, all rows in s.csv");
  CHECK_CONTAINS(printed, "dh/de");
  CHECK_CODE(0, "sensitivity", "bouncing_ball.c", "--of", "h", "--to", "e", "-o", "-");
  CHECK(strncmp(printed, "time,dh/de\n", 11) == 0);
  CHECK_CODE(0, "sensitivity", "bouncing_ball.c", "--of", "h", "--to", "e", "-o", "s.mat",
             "--quiet");
  CHECK_STR(printed, "");
}

// y_a = 2/3 x_a, x_a' = -2/3 x_a, x_b' = -x_b + y_a
static void algebraic_loops(void** state) {
  (void)state;
  copy_files("algebraic_loop", (const char* const[]){"a.c", "b.c", "algebraic_loop.yaml", NULL});
  CHECK_CODE(0, "build", "a.c", "-o", "a.fmu");
  CHECK_CODE(0, "build", "b.c", "-o", "b.fmu", "--fmi", "3");
  write_text("fmus.yaml",
             "couplet: 1\nmodels: {a: {fmu: a.fmu}, b: {fmu: b.fmu}}\n"
             "connections: {a.u: b.y, b.u: a.y}\nexperiment: {stop: 2}\n");
  static const char* const files[] = {"algebraic_loop.yaml", "fmus.yaml"};
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(0, "sensitivity", files[i], "--of", "a.y,b.x", "--to", "a.x,b.x", "--rtol", "1e-12",
               "--atol", "1e-13", "--json");
    CHECK_NEAR(last_of("da.y/da.x"), 2. / 3 * exp(-4. / 3), 5e-9);
    CHECK_NEAR(last_of("db.x/da.x"), 2 * (exp(-4. / 3) - exp(-2)), 5e-9);
    CHECK_NEAR(last_of("da.y/db.x"), 0, 1e-12);
    CHECK_NEAR(last_of("db.x/db.x"), exp(-2), 1e-9);
  }
}

// s.y = k r, r = (s.y^3 + 1.8 sin t) / 3; p.y = k q.y + d, q.y = -(p.y + cos t), k = 0.5, d = 1.
// = 1.
static void nonlinear_loops(void** state) {
  (void)state;
  copy_files("loops",
             (const char* const[]){"gain.c", "cubic.c", "integrator.c", "two_loops.yaml", NULL});
  CHECK_CODE(0, "sensitivity", "two_loops.yaml", "--of", "s.y,p.y,sum.x", "--to", "s.k,p.d,p.k",
             "--stop", "1", "--rtol", "1e-11", "--atol", "1e-12", "--record", "s.y", "--json");
  double y = last_of("s.y"), c = cos(1);
  CHECK_NEAR(last_of("ds.y/ds.k"), (y * y * y + 1.8 * sin(1)) / 3 / (1 - y * y), 1e-9);
  CHECK_NEAR(last_of("dp.y/dp.d"), 1 / 1.5, 1e-9);
  CHECK_NEAR(last_of("dp.y/dp.k"), (-c * 1.5 - (1 - 0.5 * c)) / 1.5 / 1.5, 1e-9);
  CHECK_NEAR(last_of("dsum.x/dp.d"), 1 / 1.5, 1e-9);  // of the integral from 0 to 1
}

// A nonlinear plant of coupled FMUs: the level of a tank by the supply and the drain, where the
// other is the scale of time: level(t; c supply, c drain) = level(c t; supply, drain) while the
// valve rests.
static void coupled_fmus(void** state) {
  (void)state;
  copy_files("tank_level", (const char* const[]){"tank.c", "servo.c", NULL});
  CHECK_CODE(0, "build", "tank.c", "-o", "tank.fmu");
  CHECK_CODE(0, "build", "servo.c", "-o", "servo.fmu", "--fmi", "3");
  write_text("plant.yaml",
             "couplet: 1\nmodels: {servo: {fmu: servo.fmu}, tank: {fmu: tank.fmu}}\n"
             "inputs: {command: {start: 0.5}}\n"
             "connections: {servo.command: command, tank.opening: servo.position}\n"
             "outputs: {level: tank.level}\nexperiment: {stop: 100, rtol: 1e-12, atol: 1e-13}\n");
  CHECK_CODE(0, "sensitivity", "plant.yaml", "--of", "level", "--to",
             "tank.supply,tank.drain,tank.area,tank.level,command", "--json", "--record", "level");
  double level = last_of("level"), slope = (0.02 * 0.5 - 0.003 * sqrt(2 * 9.81 * level)) / 0.5;
  // Euler's relations of homogeneous functions
  double supply = last_of("dlevel/dtank.supply"), drain = last_of("dlevel/dtank.drain");
  CHECK_NEAR(0.02 * supply + 0.003 * drain, 100 * slope, 1e-8);
  CHECK_NEAR(0.5 * last_of("dlevel/dtank.area"), -100 * slope, 1e-8);
  // f(level) / f(1) is the derivative of a flow by its start
  double before = 0.02 * 0.5 - 0.003 * sqrt(2 * 9.81);
  CHECK_NEAR(last_of("dlevel/dtank.level"), slope / (before / 0.5), 1e-8);
  CHECK(level > 0.5 && level < 1 && last_of("dlevel/dcommand") > 0);
}

// Constraints and their derivatives hold, and so does that of the energy, by projection only.
static void constraints_keep_the_tangent_space(void** state) {
  (void)state;
  copy_files("drift", (const char* const[]){"pendulum.c", NULL});
  static const char* const solvers[] = {"cvode", "radau", "dopri5"};
  for (int i = 0; i < 3; i++) {
    CHECK_CODE(0, "sensitivity", "pendulum.c", "--of", "drift,along,energy", "--to", "g,vy",
               "--set", "vy=-1", "--stop", "20", "--rtol", "1e-6", "--json", "--solver", solvers[i],
               "--set", "constrained=3", "--projection", "every");
    CHECK_NEAR(last_of("ddrift/dg"), 0, 1e-9);
    CHECK_NEAR(last_of("dalong/dvy"), 0, 1e-9);
    CHECK_NEAR(last_of("denergy/dvy"), -1, 1e-8);
    CHECK_NEAR(last_of("denergy/dg"), 0, 1e-9);
    CHECK_CODE(0, "sensitivity", "pendulum.c", "--of", "energy", "--to", "g", "--set", "vy=-1",
               "--stop", "20", "--rtol", "1e-6", "--json", "--solver", solvers[i], "--projection",
               "off");
    CHECK(fabs(last_of("denergy/dg")) > 1e-5);
  }
}

// A mass on a circle: x = L cos(w t). What "at start" is depends on the parameters.
static void values_at_start_have_sensitivities(void** state) {
  (void)state;
  write_text(
      "mass.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\"}, {\"y\"}, {\"vx\"}, {\"vy\"}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"f\"}, {0}};\n"
      "static int move(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->x[2]; dx[1] = v->x[3];\n"
      "  dx[2] = -v->u[0]*v->x[0]; dx[3] = -v->u[0]*v->x[1];\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"mass\", .states = states,\n"
      "    .inputs = inputs, .derivatives = move};\n");
  write_text("circle.yaml",
             "couplet: 1\n"
             "parameters: {L: 1.3, w: 2.1}\n"
             "models: {m: {c: mass.c, start: {x: L, y: 0, vx: 0, vy: L*w}}}\n"
             "connections: {m.f: (m.vx^2 + m.vy^2)/(m.x^2 + m.y^2)}\n"
             "constraints:\n"
             "  length: m.x^2 + m.y^2 = at start\n"
             "  energy: m.vx^2 + m.vy^2 = at start\n"
             "experiment: {stop: 5, solver: radau, rtol: 1e-9}\n");
  CHECK_CODE(0, "sensitivity", "circle.yaml", "--of", "m.x", "--to", "L,w", "--json");
  CHECK_STR(complained, "");
  CHECK_NEAR(last_of("dm.x/dL"), cos(2.1 * 5), 1e-6);
  CHECK_NEAR(last_of("dm.x/dw"), -1.3 * 5 * sin(2.1 * 5), 1e-6);
}

// x' = a up to the limit, then y' = -b y from there: y = limit exp(-b (t - (limit - x0) / a)).
static void write_modes(void) {
  write_text("rise.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
             "static const cpl_declaration parameters[] = {{\"a\", .start = 2}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->p[0]; return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"rise\", .states = states,\n"
             "  .parameters = parameters, .derivatives = derivatives};\n");
  write_text("fall.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"y\"}, {\"calm\"}, {0}};\n"
             "static const cpl_declaration parameters[] = {{\"b\", .start = 3}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = -v->p[0] * v->x[0]; dx[1] = -v->x[1]; return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"fall\", .states = states,\n"
             "  .parameters = parameters, .derivatives = derivatives};\n");
  write_text("sum.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"sum\"}, {0}};\n"
             "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->u[0]; return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"sum\", .states = states,\n"
             "  .inputs = inputs, .derivatives = derivatives};\n");
  write_text("switch.yaml",
             "couplet: 1\nparameters: {a: 2, b: 3, limit: 1.5}\n"
             "modes:\n  start: up\n"
             "  up:\n    models: {r: {c: rise.c, start: {a: a}}}\n"
             "    leave: [{when: r.x > limit, to: down, set: {f.y: r.x}}]\n"
             "  down:\n    models: {f: {c: fall.c, start: {b: b}}}\n"
             "observe:\n  out: {up: r.x, down: f.y}\n");
  write_text("outer.yaml",
             "couplet: 1\nmodels: {s: {system: switch.yaml}, g: {c: sum.c}}\n"
             "connections: {g.u: s.out}\noutputs: {out: s.out}\nexperiment: {stop: 1, rtol: 1e-11, "
             "atol: 1e-12}\n");
}

static void modes_switch(void** state) {
  (void)state;
  write_modes();
  double a = 2, b = 3, limit = 1.5, late = 1 - (limit - 1) / a, decay = exp(-b * late);
  static const char* const solvers[] = {"cvode", "dopri5", "radau"};
  for (int i = 0; i < 3; i++) {
    CHECK_CODE(0, "sensitivity", "outer.yaml", "--of", "out,g.sum", "--to", "s.a,s.b,s.limit",
               "--json", "--solver", solvers[i]);
    CHECK_NEAR(last_of("dout/ds.a"), -limit * decay * b * (limit - 1) / a / a, 1e-9);
    CHECK_NEAR(last_of("dout/ds.b"), -limit * decay * late, 1e-9);
    CHECK_NEAR(last_of("dout/ds.limit"), decay + limit * decay * b / a, 1e-9);
    // sum = (limit^2 - 1) / 2 a + limit (1 - decay) / b
    CHECK_NEAR(last_of("dg.sum/ds.limit"), limit / a + (1 - decay) / b - limit * decay / a, 1e-9);
    CHECK_NEAR(last_of("dg.sum/ds.a"),
               -(limit * limit - 1) / 2 / a / a + limit * decay * (limit - 1) / a / a, 1e-9);
  }
}

// At rest sensitivities are those of the rest point: level = (supply command / drain)^2 / 2 g.
static void runs_at_rest(void** state) {
  (void)state;
  copy_files("tank_level", (const char* const[]){"tank.c", "servo.c", NULL});
  write_text("rest.yaml",
             "couplet: 1\nmodels: {servo: {c: servo.c}, tank: {c: tank.c}}\n"
             "inputs: {command: {start: 0.5}}\n"
             "connections: {servo.command: command, tank.opening: servo.position}\n"
             "outputs: {level: tank.level}\nexperiment: {stop: 50, steady: true, rtol: 1e-10}\n");
  CHECK_CODE(0, "sensitivity", "rest.yaml", "--of", "level", "--to", "tank.drain,command",
             "--json");
  double level = pow(0.02 * 0.5 / 0.003, 2) / (2 * 9.81);
  CHECK_NEAR(last_of("dlevel/dtank.drain"), -2 * level / 0.003, 1e-6);
  CHECK_NEAR(last_of("dlevel/dcommand"), 2 * level / 0.5, 1e-8);
}

// A table may drive an input; only the time of a state event is not known then.
static void tables_drive_inputs(void** state) {
  (void)state;
  write_text(
      "fills.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\"}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static const cpl_declaration parameters[] = {{\"k\", .start = 2}, {\"top\", .start = 9},\n"
      "                                             {0}};\n"
      "static int derivatives(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->p[0] * v->u[0]; return CPL_MODEL_OK;\n"
      "}\n"
      "static int indicators(const cpl_values* v, double* z) {\n"
      "  z[0] = v->x[0] - v->p[1]; return CPL_MODEL_OK;\n"
      "}\n"
      "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
      "  (void)v; if (a->crossed[0] > 0) a->x[0] = 0; return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"fills\", .states = states,\n"
      "  .inputs = inputs, .parameters = parameters, .derivatives = derivatives,\n"
      "  .n_indicators = 1, .indicators = indicators, .event = event, .stop_time = 2};\n");
  write_text("ramp.csv", "time,u\n0,0\n2,2\n");
  write_text("flat.csv", "time,u\n0,2\n0.5,2\n0.5,4\n2,4\n");
  CHECK_CODE(0, "sensitivity", "fills.c", "--of", "x", "--to", "k,u", "--input", "ramp.csv",
             "--rtol", "1e-11", "--json");  // x = k t^2 / 2
  CHECK_NEAR(last_of("dx/dk"), 2, 1e-9);
  CHECK_NEAR(last_of("dx/du"), 4, 1e-9);
  CHECK_CODE(2, "sensitivity", "fills.c", "--of", "x", "--to", "k", "--input", "ramp.csv", "--set",
             "top=1");
  CHECK_CONTAINS(complained, "put its table into a system file");
  // 2 until t = 0.5, then k 4 (t - 0.5) + 2 up to 9, and from 0 again
  CHECK_CODE(0, "sensitivity", "fills.c", "--of", "x", "--to", "k,top", "--input", "flat.csv",
             "--rtol", "1e-11", "--json");
  CHECK_NEAR(last_of("dx/dk"), 2 * 0.5 + 4 * 1.5, 1e-8);
  CHECK_NEAR(last_of("dx/dtop"), -1, 1e-8);
}

// Compares all values at the end of a run with those of --adjoint.
static void check_adjoint(const char* file, const char* of, const char* to, const char* atol,
                          double tolerance) {
  char name[200];
  CHECK_CODE(0, "sensitivity", file, "--of", of, "--to", to, "--json", "--rtol", "1e-11", "--atol",
             atol);
  char* forward = strdup(printed);
  CHECK_CODE(0, "sensitivity", file, "--of", of, "--to", to, "--json", "--rtol", "1e-11", "--atol",
             atol, "--adjoint");
  CHECK_STR(complained, "");
  int pairs = 0;
  for (const char* at = strstr(printed, "\"values\""); (at = strstr(at, "\"d")) != NULL; at++) {
    if (sscanf(at, "\"%199[^\"]\": [", name) != 1 || strncmp(strchr(at + 1, '"'), "\": [", 4) != 0)
      continue;
    double expected = last_in(forward, name);
    CHECK_NEAR(last_of(name), expected, tolerance * fmax(fabs(expected), 1e-3));
    pairs++;
  }
  CHECK(pairs > 0);
  free(forward);
}

static void adjoint_gradients_are_the_same(void** state) {
  (void)state;
  copy_files("algebraic_loop", (const char* const[]){"a.c", "b.c", "algebraic_loop.yaml", NULL});
  copy_files("loops",
             (const char* const[]){"gain.c", "cubic.c", "integrator.c", "two_loops.yaml", NULL});
  copy_files("tank_level", (const char* const[]){"tank.c", "servo.c", NULL});
  copy_ball();
  CHECK_CODE(0, "build", "bouncing_ball.c", "-o", "ball.fmu", "--fmi", "3");
  CHECK_CODE(0, "build", "tank.c", "-o", "tank.fmu");
  CHECK_CODE(0, "build", "servo.c", "-o", "servo.fmu", "--fmi", "3");
  write_text("plant.yaml",
             "couplet: 1\nmodels: {servo: {fmu: servo.fmu}, tank: {fmu: tank.fmu}}\n"
             "inputs: {command: {start: 0.5}}\n"
             "connections: {servo.command: command, tank.opening: servo.position}\n"
             "outputs: {level: tank.level}\nexperiment: {stop: 100}\n");
  write_text("balls.yaml",
             "couplet: 1\nparameters: {gravity: 9.81}\nmodels:\n"
             "  a: {fmu: ball.fmu, start: {g: gravity}}\n"
             "  b: {c: bouncing_ball.c, start: {h: 0.7, g: gravity}}\n"
             "outputs: {gap: a.h - b.h}\nexperiment: {stop: 1.5}\n");
  check_adjoint("algebraic_loop.yaml", "a.y,b.x", "a.x,b.x", "1e-12", 1e-7);
  check_adjoint("two_loops.yaml", "s.y,p.y,sum.x", "s.k,p.d,p.k", "1e-12", 1e-7);
  check_adjoint("plant.yaml", "level", "tank.supply,tank.drain,tank.area,tank.level,command",
                "1e-12", 1e-7);
  check_adjoint("balls.yaml", "gap", "a.e,b.e,gravity,a.h,b.h", "1e-12", 1e-7);
}

static void adjoint_gradients_have_units_and_files(void** state) {
  (void)state;
  copy_ball();
  CHECK_CODE(0, "sensitivity", "bouncing_ball.c", "--of", "h,integral(h)", "--to", "g,e",
             "--adjoint", "-o", "g.csv", "--stop", "0.4");
  CHECK_CONTAINS(text_of("g.csv"), "time,dh/dg,dh/de,dintegral(h)/dg,dintegral(h)/de\n0.4,-0.08");
  CHECK_CONTAINS(printed, "m/(m/s2)");
  CHECK_CONTAINS(printed, "m.s/(m/s2)");
  CHECK_CODE(0, "sensitivity", "bouncing_ball.c", "--of", "h", "--to", "g", "--adjoint", "--json",
             "--stop", "0.4", "--rtol", "1e-10");
  CHECK_CONTAINS(printed, "\"of\": {\"h\": 0.215");
  CHECK_CODE(2, "sensitivity", "bouncing_ball.c", "--of", "h", "--to", "g", "--adjoint", "--record",
             "v");
}

static void adjoint_gradients_that_cannot_be_right(void** state) {
  (void)state;
  copy_files("drift", (const char* const[]){"pendulum.c", NULL});
  copy_files("tank_level", (const char* const[]){"tank.c", "servo.c", "tank_level.yaml", NULL});
  copy_ball();
  CHECK_CODE(2, "sensitivity", "pendulum.c", "--of", "drift", "--to", "g", "--adjoint");
  CHECK_CONTAINS(complained, "pendulum has constraints");
  write_text("rest.yaml",
             "couplet: 1\nmodels: {servo: {c: servo.c}, tank: {c: tank.c}}\n"
             "connections: {tank.opening: servo.position}\n"
             "outputs: {level: tank.level}\nexperiment: {stop: 50, steady: true}\n");
  CHECK_CODE(2, "sensitivity", "rest.yaml", "--of", "level", "--to", "tank.drain", "--adjoint");
  CHECK_CONTAINS(complained, "begins at rest");
  write_text("ramp.csv", "time,command\n0,0.4\n100,0.6\n");
  CHECK_CODE(2, "sensitivity", "tank_level.yaml", "--of", "level", "--to", "tank.drain",
             "--adjoint", "--input", "ramp.csv");
  CHECK_CONTAINS(complained, "put the table into a system file");
  write_modes();
  CHECK_CODE(2, "sensitivity", "outer.yaml", "--of", "out", "--to", "s.a", "--adjoint");
  CHECK_CONTAINS(complained, "s has a variable structure (modes)");
  write_text(
      "steps.yaml",
      "couplet: 1\nmodels: {a: {c: bouncing_ball.c, as: cs}, b: {c: bouncing_ball.c, as: cs}}\n"
      "experiment: {stop: 1}\nmaster: {step: 0.1}\n");
  CHECK_CODE(2, "sensitivity", "steps.yaml", "--of", "a.h", "--to", "a.e", "--adjoint");
  CHECK_CONTAINS(complained, "sensitivities are those of models");
}

static void wrong_requests_are_refused(void** state) {
  (void)state;
  copy_ball();
  CHECK_CODE(2, "sensitivity", "bouncing_ball.c", "--of", "h");
  CHECK_CONTAINS(complained, "--of VARIABLE and --to PARAMETER are needed");
  CHECK_CODE(2, "sensitivity", "bouncing_ball.c", "--of", "hight", "--to", "e");
  CHECK_CONTAINS(complained, "there is no variable \"hight\"");
  CHECK_CODE(2, "sensitivity", "bouncing_ball.c", "--of", "h", "--to", "der(v)");
  CHECK_CONTAINS(complained, "sensitivities to der(v) are not possible");
  CHECK_CODE(2, "sensitivity", "bouncing_ball.c", "--of", "h", "--to", "e", "--set", "x=1");
  CHECK_CODE(2, "sensitivity", "nothing.c", "--of", "h", "--to", "e");
  write_text(
      "steps.yaml",
      "couplet: 1\nmodels: {a: {c: bouncing_ball.c, as: cs}, b: {c: bouncing_ball.c, as: cs}}\n"
      "experiment: {stop: 1}\nmaster: {step: 0.1}\n");
  CHECK_CODE(2, "sensitivity", "steps.yaml", "--of", "a.h", "--to", "a.e");
  CHECK_CONTAINS(complained, "sensitivities are those of models");
  write_text("modes.yaml",
             "couplet: 1\nmodes:\n  start: a\n  a:\n    models: {m: {c: bouncing_ball.c}}\n"
             "observe: {h: {a: m.h}}\n");
  CHECK_CODE(2, "sensitivity", "modes.yaml", "--of", "h", "--to", "a.m.e");
  CHECK_CONTAINS(complained, "as a model of another system file");
}

// A failure in the middle: results until there are kept.
static void a_failure_keeps_results(void** state) {
  (void)state;
  write_text("bad.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
             "static const cpl_declaration parameters[] = {{\"k\", .start = 2}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  if (v->t > 0.5) return cpl_model_error(v, \"too late\");\n"
             "  dx[0] = -v->p[0] * v->x[0];\n"
             "  return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"bad\", .states = states,\n"
             "  .parameters = parameters, .derivatives = derivatives};\n");
  CHECK_CODE(1, "sensitivity", "bad.c", "--of", "x", "--to", "k", "-o", "bad.csv", "--stop", "1");
  CHECK_CONTAINS(complained, "too late");
  CHECK_CONTAINS(text_of("bad.csv"), "time,dx/dk\n0,0\n");
}

int main(void) {
  use_folders();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_and_fmus_have_sensitivities),
      cmocka_unit_test(results_have_a_column_per_pair),
      cmocka_unit_test(algebraic_loops),
      cmocka_unit_test(nonlinear_loops),
      cmocka_unit_test(coupled_fmus),
      cmocka_unit_test(constraints_keep_the_tangent_space),
      cmocka_unit_test(values_at_start_have_sensitivities),
      cmocka_unit_test(modes_switch),
      cmocka_unit_test(runs_at_rest),
      cmocka_unit_test(tables_drive_inputs),
      cmocka_unit_test(adjoint_gradients_are_the_same),
      cmocka_unit_test(adjoint_gradients_have_units_and_files),
      cmocka_unit_test(adjoint_gradients_that_cannot_be_right),
      cmocka_unit_test(wrong_requests_are_refused),
      cmocka_unit_test(a_failure_keeps_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
