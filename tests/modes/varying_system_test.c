// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems with modes inside of an aggregate, as a user writes them, against integrations of the
// whole by hand: one model for each mode, the classical Runge-Kutta method with a step so small
// that its error is rounding, and bisection for the switches.
#include "examples/running.h"

//------------------------------------ the reference ------------------------------------

enum { MOST = 8 };  // states

typedef struct reference {
  void (*rates)(int mode, const double* x, double* dx);
  double (*guard)(int mode, const double* x);  // the mode is left where it turns positive
  int (*change)(int mode, double* x);          // what it is left for
  double times[100];
  int n_switches;
  double t, x[MOST];
  int mode;
} reference;

static void one_step(const reference* r, const double* x, double h, double* out) {
  double k[4][MOST], at[MOST];
  static const double c[] = {0, 0.5, 0.5, 1};
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < MOST; j++) at[j] = x[j] + (i > 0 ? c[i] * h * k[i - 1][j] : 0);
    memset(k[i], 0, sizeof k[i]);
    r->rates(r->mode, at, k[i]);
  }
  for (int j = 0; j < MOST; j++)
    out[j] = x[j] + h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
}

// To the point where the guard is positive at last.
static void switch_inside(reference* r, double h) {
  double low = 0, high = h, there[MOST];
  while (high - low > 1e-16 && (low + high) / 2 > low && (low + high) / 2 < high) {
    one_step(r, r->x, (low + high) / 2, there);
    if (r->guard(r->mode, there) > 0) high = (low + high) / 2;
    else low = (low + high) / 2;
  }
  one_step(r, r->x, high, r->x);
  r->t += high;
  r->times[r->n_switches++] = r->t;
  r->mode = r->change(r->mode, r->x);
}

// A guard is armed once it has left zero: modes begin where it is zero.
static void integrate(reference* r, double until, double h) {
  double there[MOST];
  bool armed = false;
  while (r->t < until) {
    double step = fmin(h, until - r->t);
    armed = armed || r->guard(r->mode, r->x) < -1e-9;
    one_step(r, r->x, step, there);
    if (armed && r->guard(r->mode, there) > 0) {
      switch_inside(r, step);
      armed = false;
      continue;
    }
    memcpy(r->x, there, sizeof there);
    r->t = until - r->t <= h ? until : r->t + step;
  }
}

//------------------------------------ results ------------------------------------

static double at_end(const cpl_table* t, const char* name) {
  return column(t, name)[t->n_rows - 1];
}

static int switches_of(const cpl_table* t, const char* name, double* times, int most) {
  const double* mode = column(t, name);
  int n = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (mode[i] == mode[i - 1]) continue;
    CHECK(t->time[i] == t->time[i - 1]);  // both sides are there
    if (n < most) times[n] = t->time[i];
    n++;
  }
  return n;
}

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
}

static void must_say(const char* part) {
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, part);
  free(text);
}

//------------------------------------ a pendulum on a cart ------------------------------------

enum { S, V, PHI, DPHI, X = 2, Y, VX, VY };

// The cart's acceleration, with the loop through the rope solved by hand.
static double cart(int mode, const double* x) {
  double own = -40 * x[S] - x[V], s = sin(x[PHI]), c = cos(x[PHI]);
  return mode == 1 ? own / 5 : (own + s * (2 * x[DPHI] * x[DPHI] + 9.81 * c)) / (5 + s * s);
}

static void pendulum_rates(int mode, const double* x, double* dx) {
  double a = cart(mode, x);
  dx[S] = x[V];
  dx[V] = a;
  if (mode == 0) {
    dx[PHI] = x[DPHI];
    dx[DPHI] = -(9.81 * sin(x[PHI]) + a * cos(x[PHI])) / 2;
  } else {
    dx[X] = x[VX];
    dx[Y] = x[VY];
    dx[VX] = 0;
    dx[VY] = -9.81;
  }
}

static double pendulum_guard(int mode, const double* x) {
  if (mode == 1) return (x[X] - x[S]) * (x[X] - x[S]) + x[Y] * x[Y] - 4;
  return -(2 * x[DPHI] * x[DPHI] + 9.81 * cos(x[PHI]) - cart(0, x) * sin(x[PHI]));
}

static int pendulum_change(int mode, double* x) {
  double phi = x[PHI], dphi = x[DPHI];
  if (mode == 0) {
    x[X] = x[S] + 2 * sin(phi);
    x[Y] = -2 * cos(phi);
    x[VX] = x[V] + 2 * cos(phi) * dphi;
    x[VY] = 2 * sin(phi) * dphi;
    return 1;
  }
  phi = atan2(x[X] - x[S], -x[Y]);
  dphi = ((x[VX] - x[V]) * cos(phi) + x[VY] * sin(phi)) / 2;
  x[PHI] = phi;
  x[DPHI] = dphi;
  return 0;
}

static reference pendulum(double until) {
  reference r = {.rates = pendulum_rates,
                 .guard = pendulum_guard,
                 .change = pendulum_change,
                 .x = {0, 0, M_PI / 2, -3.6}};
  integrate(&r, until, 1e-4);
  return r;
}

// The largest error of the switches and of the cart at the end.
static double pendulum_error(cpl_context* ctx, const reference* r, const char* file, double tol) {
  double times[10] = {0}, worst = 0;
  cpl_table* t = run_with(ctx, file, tol);
  CHECK_INT(switches_of(t, "bob.mode", times, 10), r->n_switches);
  for (int i = 0; i < r->n_switches; i++) worst = fmax(worst, fabs(times[i] - r->times[i]));
  worst = fmax(worst, fabs(at_end(t, "cart.s") - r->x[S]));
  worst = fmax(worst, fabs(at_end(t, "cart.v") - r->x[V]));
  cpl_table_destroy(t);
  return worst;
}

static void a_pendulum_hangs_on_a_cart_without_coupling_error(void** state) {
  copy_example("pendulum_on_cart");
  reference r = pendulum(5);
  CHECK_INT(r.n_switches, 3);
  const char* file = "pendulum_on_cart/pendulum_on_cart.yaml";
  double rough = pendulum_error(*state, &r, file, 1e-6),
         fine = pendulum_error(*state, &r, file, 1e-8),
         finest = pendulum_error(*state, &r, file, 1e-10);
  CHECK(finest < 1e-8);
  CHECK(fine < rough / 10);
  CHECK(finest < fine / 10);
}

static void every_solver_follows_the_structure(void** state) {
  copy_example("pendulum_on_cart");
  reference r = pendulum(5);
  static const char* const solvers[] = {"adams", "radau", "dopri5", "erk8", "esdirk5", "ida"};
  for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
    double times[10] = {0};
    must_do("run pendulum_on_cart/pendulum_on_cart.yaml --solver %s --rtol 1e-9 -o out.csv",
            solvers[i]);
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_INT(switches_of(t, "bob.mode", times, 10), r.n_switches);
    for (int k = 0; k < r.n_switches; k++) CHECK_NEAR(times[k], r.times[k], 1e-6);
    CHECK_NEAR(at_end(t, "cart.s"), r.x[S], 1e-6);
    cpl_table_destroy(t);
  }
}

// Each form with its own tools: FMUs as modes, and the whole inside of another system.
static void modes_may_be_fmus_and_the_whole_may_be_nested(void** state) {
  copy_example("pendulum_on_cart");
  must_do("build pendulum_on_cart/swinging.c -o pendulum_on_cart/swinging.fmu");
  must_do("build pendulum_on_cart/falling.c -o pendulum_on_cart/falling.fmu");
  CHECK_INT(
      system("sed -e 's/c: swinging.c/fmu: swinging.fmu/' -e 's/c: falling.c/fmu: falling.fmu/' "
             "-i.old pendulum_on_cart/bob.yaml"),
      0);
  reference r = pendulum(5);
  CHECK(pendulum_error(*state, &r, "pendulum_on_cart/pendulum_on_cart.yaml", 1e-10) < 1e-8);
  CHECK_INT(system("mv pendulum_on_cart/bob.yaml.old pendulum_on_cart/bob.yaml"), 0);
  write_file("outer.yaml",
             "couplet: 1\nname: outer\nmodels:\n"
             "  p: {system: pendulum_on_cart/pendulum_on_cart.yaml}\n"
             "  c: {c: pendulum_on_cart/cart.c}\nconnections: {c.force: 0.1*p.cart.a}\n"
             "experiment: {stop: 5, interval: 0.02, rtol: 1e-10}\n");
  must_do("run outer.yaml -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  double times[10];
  CHECK_INT(switches_of(t, "p.bob.mode", times, 10), r.n_switches);
  for (int i = 0; i < r.n_switches; i++) CHECK_NEAR(times[i], r.times[i], 1e-8);
  CHECK_NEAR(at_end(t, "p.cart.s"), r.x[S], 1e-8);
  cpl_table_destroy(t);
}

static void absent_variables_are_empty(void** state) {
  copy_example("pendulum_on_cart");
  must_do(
      "run pendulum_on_cart/pendulum_on_cart.yaml -o out.csv --record bob.mode --record "
      "'bob.*.phi' --record bob.falling.m.x --record bob.s");
  cpl_table* t = read_table(*state, "out.csv");
  const double *mode = column(t, "bob.mode"), *phi = column(t, "bob.swinging.p.phi"),
               *x = column(t, "bob.falling.m.x"), *s = column(t, "bob.s");
  for (size_t i = 0; i < t->n_rows; i++) {
    CHECK(isnan(phi[i]) == (mode[i] == 2));
    CHECK(isnan(x[i]) == (mode[i] == 1));
    CHECK(!isnan(s[i]));
  }
  cpl_table_destroy(t);
}

static void linearize_and_graph_see_the_present_structure(void** state) {
  (void)state;
  copy_example("pendulum_on_cart");
  must_do("linearize pendulum_on_cart/pendulum_on_cart.yaml");
  must_say("4 states");
  must_do("linearize pendulum_on_cart/pendulum_on_cart.yaml --at 1.4");
  must_say("6 states");
  must_say("bob.falling.m.vx");
  must_do("graph pendulum_on_cart/pendulum_on_cart.yaml");
  must_say("1 loop");
  must_say("Modes of bob, which begins with swinging");
  must_say("falling: 1 model, 4 states");
  must_do("graph pendulum_on_cart/bob.yaml");
  must_say("falling");
  must_do("run pendulum_on_cart/pendulum_on_cart.yaml -o out.csv --stats");
  must_say("structure changes    3, to 1 further structure");
}

static void the_order_of_the_file_changes_no_bit(void** state) {
  (void)state;
  copy_example("pendulum_on_cart");
  must_do("run pendulum_on_cart/pendulum_on_cart.yaml -o a.csv --record bob.x --record cart.s");
  write_file("pendulum_on_cart/other.yaml",
             "couplet: 1\nname: pendulum on a cart\nmodels:\n  bob: {system: bob.yaml}\n"
             "  cart: {c: cart.c}\nconnections:\n  cart.force: bob.force\n  bob.a: cart.a\n"
             "  bob.s: cart.s\n  bob.v: cart.v\n"
             "experiment: {stop: 5, interval: 0.02, solver: cvode, rtol: 1e-10}\n");
  must_do("run pendulum_on_cart/other.yaml -o b.csv --record bob.x --record cart.s");
  CHECK_INT(system("cmp a.csv b.csv"), 0);
}

//------------------------------------ beside a master ------------------------------------

// The aggregate with the modes is one of the steppers: it goes back over switches.
static void it_can_be_rolled_back(void** state) {
  copy_example("pendulum_on_cart");
  reference r = pendulum(5);
  double last = 0;
  for (int k = 0; k < 2; k++) {
    double step = k == 0 ? 0.01 : 0.005, times[10] = {0};
    char text[1000];
    snprintf(text, sizeof text,
             "couplet: 1\nname: s\nmodels:\n  bob: {system: bob.yaml, as: me}\n"
             "  cart: {c: cart.c, as: cs}\nconnections: {bob.s: cart.s, bob.v: cart.v, bob.a: "
             "cart.a, cart.force: bob.force}\nmaster: {algorithm: iterative, step: %g}\n"
             "experiment: {stop: 5, interval: 0.02, rtol: 1e-9}\n",
             step);
    write_file("pendulum_on_cart/master.yaml", text);
    must_do("run pendulum_on_cart/master.yaml -o out.csv");
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_INT(switches_of(t, "bob.mode", times, 10), r.n_switches);
    double error = fabs(times[0] - r.times[0]);
    CHECK(error < 1e-3);
    CHECK(k == 0 || error < last);
    last = error;
    cpl_table_destroy(t);
  }
}

//------------------------------------ a ball on a table ------------------------------------

enum { TABLE_H, TABLE_V, BALL_H, BALL_V };

static double contact_force(const double* x) {
  return -1000 * (x[BALL_H] - x[TABLE_H] - 1) - 6 * (x[BALL_V] - x[TABLE_V]);
}

static void ball_rates(int mode, const double* x, double* dx) {
  double force = mode == 0 ? 0 : contact_force(x);
  dx[TABLE_H] = x[TABLE_V];
  dx[TABLE_V] = -(800 * x[TABLE_H] + 10 * x[TABLE_V] + force) / 4;
  dx[BALL_H] = x[BALL_V];
  dx[BALL_V] = -9.81 + force;
}

static double ball_guard(int mode, const double* x) {
  double gap = x[BALL_H] - x[TABLE_H] - 1;
  return mode == 0 ? -gap : gap;
}

static int ball_change(int mode, double* x) {
  (void)x;
  return 1 - mode;
}

static void a_ball_bounces_on_a_table_that_gives_way(void** state) {
  copy_example("ball_on_table");
  reference r = {
      .rates = ball_rates, .guard = ball_guard, .change = ball_change, .x = {0, 0, 3, 0}};
  integrate(&r, 5, 1e-4);
  double times[100] = {0};
  cpl_table* t = run_with(*state, "ball_on_table/ball_on_table.yaml", 1e-11);
  CHECK_INT(switches_of(t, "ball.mode", times, 100), r.n_switches);
  CHECK(r.n_switches > 8);
  for (int i = 0; i < r.n_switches; i++) CHECK_NEAR(times[i], r.times[i], 1e-8);
  CHECK_NEAR(at_end(t, "ball.h"), r.x[BALL_H], 1e-8);
  CHECK_NEAR(at_end(t, "table.h"), r.x[TABLE_H], 1e-8);
  cpl_table_destroy(t);
}

//------------------------------------ several components ------------------------------------

// x' = b + u, y = x + d u.
static const char integrator[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"b\", .start = 1}, {\"d\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->p[0] + v->u[0];\n  return "
    "0;\n}\n"
    "static int y(const cpl_values* v, double* y) {\n  y[0] = v->x[0] + v->p[1] * v->u[0];\n  "
    "return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = states, .inputs = inputs, "
    ".outputs = outputs, .parameters = parameters, .derivatives = f, .output_values = y};\n";

static const char plain[] =  // x' = b: nothing follows the input
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"b\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->p[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"p\", .states = states, "
    ".parameters = parameters, .derivatives = f};\n";

// A triangle between 1 and 2.
static const char triangle[] =
    "couplet: 1\nname: triangle\ninputs: {u: {start: 0}}\n"
    "modes:\n  start: up\n  up:\n    models: {m: {c: m.c}}\n    connections: {m.u: 0*u}\n"
    "    leave: [{when: m.x > 2, to: down, set: {m.x: m.x}}]\n"
    "  down:\n    models: {m: {c: m.c, start: {b: -1}}}\n    connections: {m.u: 0*u}\n"
    "    leave: [{when: m.x < 1, to: up, set: {m.x: m.x}}]\nobserve: {x: m.x}\n";

static int setup(void** state) {
  write_file("m.c", integrator);
  write_file("p.c", plain);
  write_file("triangle.yaml", triangle);
  return make_context(state);
}

#define HEAD "couplet: 1\nname: s\nexperiment: {stop: 10, interval: 0.5, rtol: 1e-10}\n"

static void components_may_switch_at_one_instant(void** state) {
  write_file("s.yaml", HEAD
             "models:\n  a: {system: triangle.yaml}\n  b: {system: triangle.yaml}\n"
             "  i: {c: m.c, start: {x: 0, b: 0}}\n"
             "connections: {i.u: 0.5*(a.x + b.x), a.u: i.x, b.u: i.x}\n");
  must_do("run s.yaml -o out.csv --stats");
  must_say("structure changes    9, to 1 further structure");  // both at once each time: two of
                                                               // four occur
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(at_end(t, "a.x"), 1, 1e-8);
  CHECK_NEAR(at_end(t, "i.x"), 15, 1e-8);
  const double *a = column(t, "a.x"), *b = column(t, "b.x");
  for (size_t i = 0; i < t->n_rows; i++) CHECK_NEAR(a[i], b[i], 1e-9);
  cpl_table_destroy(t);
}

static void unconnected_groups_have_a_solver_each(void** state) {
  write_file("s.yaml", HEAD
             "models:\n  a: {system: triangle.yaml}\n  b: {system: triangle.yaml, start: {up.m.x: "
             "1.5}}\n  i: {c: m.c, start: {x: 0, b: 0}}\n  k: {c: m.c, start: {x: 0, b: 0}}\n"
             "connections: {i.u: a.x, k.u: b.x}\n");
  must_do("run s.yaml -o out.csv --stats");
  must_say("groups               2");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(at_end(t, "i.x"), 15, 1e-8);
  CHECK_NEAR(at_end(t, "k.x"), 15, 1e-8);
  cpl_table_destroy(t);
}

// Seven components have 128 structures together: they are prepared as they occur.
static void many_structures_are_prepared_when_they_occur(void** state) {
  char text[4000];
  int n = snprintf(text, sizeof text, HEAD "models:\n  i: {c: m.c, start: {x: 0, b: 0}}\n");
  for (int k = 1; k <= 7; k++)
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "  t%d: {system: triangle.yaml, start: {up.m.x: 1 + 0.1*%d}}\n", k, k);
  snprintf(text + n, sizeof text - (size_t)n,
           "connections: {i.u: t1.x + t2.x + t3.x + t4.x + t5.x + t6.x + t7.x}\n");
  write_file("s.yaml", text);
  must_do("run s.yaml -o out.csv --log-level info");
  check_message("there are more than 64 structures");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(at_end(t, "i.x"), 7 * 15, 1e-7);
  for (int k = 1; k <= 7; k++) {
    char name[10];
    snprintf(name, sizeof name, "t%d.x", k);
    CHECK_NEAR(at_end(t, name), 1 + 0.1 * k, 1e-8);
  }
  cpl_table_destroy(t);
}

// In `tight` the output follows the input at once, and so does that of the other model: y = x +
// y/2.
static void a_loop_may_be_there_in_one_structure_only(void** state) {
  write_file(
      "loop.yaml",
      "couplet: 1\nname: loop\ninputs: {u: {start: 0}}\n"
      "modes:\n  start: free\n  free:\n    models: {m: {c: p.c}}\n"
      "    leave: [{at: [2, 6], to: tight, set: {m.x: m.x}}]\n"
      "  tight:\n    models: {m: {c: m.c, start: {d: 0.5, b: 0}}}\n    connections: {m.u: u}\n"
      "    leave: [{at: 4, to: free, set: {m.x: 3}}]\nobserve: {y: {free: m.x, tight: m.y}}\n");
  write_file("s.yaml", HEAD
             "models:\n  l: {system: loop.yaml}\n  g: {c: m.c, start: {x: 0, b: 0, d: 1}}\n"
             "connections: {g.u: l.y, l.u: g.y - g.x}\n");
  must_do("graph s.yaml");
  must_say("no loops");
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  const double *y = column(t, "l.y"), *x = column(t, "g.x");
  for (size_t i = 0; i < t->n_rows; i++) {
    double at = t->time[i];
    // tight: x' = u = y, y = x + y/2, so that x' = 2 x: from 3 at t = 2
    if (at < 2) CHECK_NEAR(y[i], 1 + at, 1e-8);
    if (at > 2 && at < 4) CHECK_NEAR(y[i], 2 * 3 * exp(2 * (at - 2)), 1e-6);
    if (at > 4 && at < 6) CHECK_NEAR(y[i], 3 + (at - 4), 1e-8);
    if (at == 1.5) CHECK_NEAR(x[i], 1.5 + 1.5 * 1.5 / 2, 1e-8);
  }
  cpl_table_destroy(t);
}

static void a_transition_may_lead_back_to_its_mode(void** state) {
  write_file("saw.yaml",
             "couplet: 1\nname: saw\ninputs: {u: {start: 0}}\nmodes:\n  start: a\n  a:\n"
             "    models: {m: {c: m.c, start: {x: 0}}}\n    connections: {m.u: u}\n"
             "    leave: [{when: m.x > 1, to: a, set: {m.x: 0}}]\nobserve: {x: m.x}\n");
  write_file("s.yaml", HEAD
             "models: {s: {system: saw.yaml}, i: {c: m.c, start: {x: 0, b: 0}}}\n"
             "connections: {i.u: s.x, s.u: 0*i.x}\n");
  must_do("run s.yaml -o out.csv --stats");
  must_say("structure changes    9, to 0 further structures");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(at_end(t, "i.x"), 5, 1e-7);
  cpl_table_destroy(t);
}

static void switches_without_end_are_reported(void** state) {
  (void)state;
#define PINGPONG(x)                                                          \
  "couplet: 1\nname: p\ninputs: {u: {start: 0}}\nmodes:\n  start: a\n  a:\n" \
  "    models: {m: {c: m.c}}\n    connections: {m.u: u}\n"                   \
  "    leave: [{when: m.x > 2, to: b, set: {m.x: m.x}}]\n  b:\n"             \
  "    models: {m: {c: m.c}}\n    connections: {m.u: u}\n"                   \
  "    leave: [{when: m.x > " x ", to: a, set: {m.x: m.x + 1}}]\nobserve: {x: m.x}\n"
  write_file("p.yaml", PINGPONG("1"));
  write_file("s.yaml", HEAD
             "models: {s: {system: p.yaml}, i: {c: m.c}}\nconnections: {i.u: s.x, s.u: 0*i.x}\n");
  CHECK_INT(couplet("run s.yaml -o out.csv"), 1);
  check_message("switches at the same time (a -> b -> a)");
}

//------------------------------------ both forms ------------------------------------

// x' = b + u; at its limit it says where to go, and wants to end.
static const char telling[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"b\", .start = 1}, {\"limit\", .start = 1e9}, "
    "{0}};\n"
    "static const cpl_declaration discrete[] = {{\"switch_to\", .type = CPL_INTEGER, .output = "
    "true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->p[0] + v->u[0];\n  return "
    "0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n  z[0] = v->x[0] - v->p[1];\n  return 0;\n}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] > 0) a->w[0] = 2, a->terminate = v->p[1] < 1e8;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"t\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .discrete = discrete, .n_indicators = 1, .derivatives = f, "
    ".indicators = z, .event = event};\n";

static cpl_table* run_as(cpl_context* ctx, const char* form) {
  char text[1000];
  snprintf(text, sizeof text,
           "couplet: 1\nname: s\nexperiment: {stop: 10, interval: 0.37, rtol: 1e-10}\n"
           "models: {s: {system: inner.yaml, as: %s}, i: {c: m.c, start: {x: 0, b: 0}}}\n"
           "connections: {i.u: s.x}\nrecord: [s.mode, s.x, i.x]\n",
           form);
  write_file("s.yaml", text);
  must_do("run s.yaml -o out.csv");
  return read_table(ctx, "out.csv");
}

static double value_at(const cpl_table* t, const char* name, double time) {
  size_t i = 0;
  while (i + 1 < t->n_rows && t->time[i] < time) i++;
  CHECK(t->time[i] == time);
  return column(t, name)[i];
}

// At the output points, none of which is a switch.
static void both_forms_agree(cpl_context* ctx, const char* modes) {
  char text[3000];
  snprintf(text, sizeof text, "couplet: 1\nname: inner\ninputs: {w: {start: 0}}\n%s", modes);
  write_file("t.c", telling);
  write_file("inner.yaml", text);
  cpl_table *a = run_as(ctx, "cs"), *b = run_as(ctx, "me");
  double end = a->time[a->n_rows - 1];
  CHECK_NEAR(b->time[b->n_rows - 1], end, 1e-8);
  for (int k = 1; 0.37 * k < end - 1e-6; k++) {
    CHECK_NEAR(value_at(b, "s.x", 0.37 * k), value_at(a, "s.x", 0.37 * k), 1e-7);
    CHECK(value_at(b, "s.mode", 0.37 * k) == value_at(a, "s.mode", 0.37 * k));
  }
  cpl_table_destroy(a);
  cpl_table_destroy(b);
}

static void a_model_switches_as_a_stepper_does(void** state) {
#define MODES "modes:\n  start: a\n  a:\n    models: {m: {c: t.c}}\n    leave:\n"
#define ENTERED(how)                                                                   \
  MODES                                                                                \
  "      - {when: m.x > 3, to: b, set: {m.x: m.x}}\n  b:\n    models: {m: {c: t.c}}\n" \
  "    leave: [{when: m.x > 2, to: c, set: {m.x: 0}" how                               \
  "}]\n"                                                                               \
  "  c:\n    models: {m: {c: t.c}}\nobserve: {x: m.x}\n"
  static const char* const all[] = {
      ENTERED(""),
      ENTERED(", entry: wait"),
      MODES
      "      - {when: m.x > 30, to: b}\n      - {when: m.x > 3, to: c, set: {m.x: m.x}}\n"
      "      - {when: m.x > 3, to: b, set: {m.x: m.x}}\n  b: {models: {m: {c: t.c}}}\n"
      "  c: {models: {m: {c: t.c, start: {b: 0}}}}\nobserve: {x: m.x}\n",
      MODES
      "      - {when: m.x > 0.5, to: b, set: {m.x: 10*m.x}}\n"  // at the very start
      "  b: {models: {m: {c: t.c}}}\nobserve: {x: m.x}\n",
      MODES "      - {at: [7, 1.3, pi], to: a, set: {m.x: 0}}\nobserve: {x: m.x}\n",
      "modes:\n  start: a\n  a:\n    models: {m: {c: t.c, start: {limit: 4}}}\n    leave:\n"
      "      - {on: terminate, when: m.switch_to == 3, to: c}\n"
      "      - {on: terminate, when: m.switch_to == 2, to: b, set: {m.x: m.x}}\n"
      "  b: {models: {m: {c: t.c, start: {b: 0}}}}\n  c: {models: {m: {c: t.c}}}\n"
      "observe: {x: m.x}\n",
      "modes:\n  start: a\n  a: {models: {m: {c: t.c, start: {limit: 4}}}}\n"  // ends the run
      "observe: {x: m.x}\n",
      MODES
      "      - {at: 2, to: b, set: {m.x: 2*m.x + time + m.b, m.b: '-m.b'}}\n  b:\n"
      "    models: {m: {c: t.c, start: {x: 5}}}\n"
      "    leave: [{at: 3, to: c, set: {m.x: a.m.x + m.x}}]\n"
      "  c:\n    models: {m: {c: t.c, start: {b: 0}}}\nobserve: {x: m.x}\n",
      "modes:\n  start: a\n  a:\n    models: {m: {c: t.c}, n: {c: t.c, start: {b: 0, x: 0}}}\n"
      "    connections: {n.u: 2*m.x}\n    events: {kick: {at: 1, set: {m.x: m.x + 10}}}\n"
      "    leave: [{when: n.x > 30, to: b, set: {n.x: n.x}}]\n"
      "  b: {models: {n: {c: t.c, start: {b: 0}}}}\nobserve: {x: n.x}\n",
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) both_forms_agree(*state, all[i]);
}

static void a_switch_that_fails_says_where(void** state) {
  (void)state;
  write_file("t.c", telling);
  write_file("inner.yaml", "couplet: 1\nname: inner\n" ENTERED(", entry: error"));
  write_file("s.yaml", HEAD
             "models: {s: {system: inner.yaml, as: me}, i: {c: m.c}}\n"
             "connections: {i.u: s.x}\n");
  CHECK_INT(couplet("run s.yaml -o out.csv"), 1);
  check_message("this guard is true already when mode b is entered at t=2");
  write_file("inner.yaml", "couplet: 1\nname: inner\n" MODES
                           "      - {at: 2, to: b, set: {m.x: c.m.x}}\n  b: {models: {m: {c: "
                           "t.c}}}\n  c: {models: {m: {c: t.c}}}\nobserve: {x: m.x}\n");
  CHECK_INT(couplet("run s.yaml -o out.csv"), 1);
  check_message("it needs a value of mode c, which has not been left before t=2");
}

//------------------------------------ beside a master ------------------------------------

#define COUPLED(more)                                                                       \
  "couplet: 1\nname: s\nexperiment: {stop: 3, interval: 0.1, rtol: 1e-10}\nmaster: {step: " \
  "0.1}\nmodels:\n  a: {c: m.c, start: {x: 0.5, b: -0.2}}\n  b: {c: m.c, as: cs}\n" more    \
  "connections: {b.u: 2*a.x}\nrecord: [b.x, 't*']\n"

// An event of a component without connections costs the master nothing: its values are interpolated
// there.
static void who_is_not_connected_keeps_its_own_pace(void** state) {
  write_file("s.yaml", COUPLED("  t0: {c: m.c, as: cs}\n"));
  must_do("run s.yaml -o a.csv");
  write_file("s.yaml", COUPLED("  t1: {system: triangle.yaml}\n"
                               "  t2: {system: triangle.yaml, start: {up.m.x: 1.33}}\n"));
  must_do("run s.yaml -o out.csv --stats");
  must_say("communication steps  30\n");
  must_say("switches             5\n");
  cpl_table *alone = read_table(*state, "a.csv"), *t = read_table(*state, "out.csv");
  double times[10];
  CHECK_INT(switches_of(t, "t1.mode", times, 10), 2);
  CHECK_NEAR(times[0], 1, 1e-9);
  CHECK_INT(switches_of(t, "t2.mode", times, 10), 3);
  CHECK_NEAR(times[0], 0.67, 1e-9);
  const double *b = column(alone, "b.x"), *x = column(t, "b.x"), *wave = column(t, "t2.x");
  for (size_t i = 0, k = 0; i < t->n_rows; i++) {
    while (k + 1 < alone->n_rows && alone->time[k + 1] <= t->time[i]) k++;
    double from = alone->time[k], part = t->time[i] - from;
    if (part == 0) CHECK(x[i] == b[k]);
    else CHECK_NEAR(x[i], b[k] + (b[k + 1] - b[k]) * part / (alone->time[k + 1] - from), 1e-14);
    double p = fmod(t->time[i] + 0.33, 2);
    CHECK_NEAR(wave[i], p < 1 ? 1 + p : 3 - p, 1e-8);
  }
  cpl_table_destroy(alone);
  cpl_table_destroy(t);
}

// Events on both sides: each is recorded where it is, with both sides; a wish to end is heeded.
static void events_of_a_master_and_of_others_come_in_order(void** state) {
  write_file("t.c", telling);
  write_file("s.yaml",
             "couplet: 1\nname: s\nexperiment: {stop: 10, interval: 0.1, rtol: 1e-10}\n"
             "models:\n  w: {system: triangle.yaml, as: cs, start: {up.m.x: 1.15}}\n"
             "  i: {c: m.c, as: cs, start: {x: 0, b: 0}}\n"
             "  e: {c: t.c, as: cs, start: {limit: 6.05}}\n"
             "  t: {system: triangle.yaml, start: {up.m.x: 1.33}}\n"
             "connections: {i.u: w.x, e.u: 0*w.x}\nmaster: {step: 0.1}\n"
             "record: [w.mode, w.x, t.mode, t.x, e.x]\n");
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  double times[20];
  CHECK_INT(switches_of(t, "w.mode", times, 20), 5);
  for (int k = 0; k < 5; k++) CHECK_NEAR(times[k], 0.85 + k, 1e-8);
  CHECK_INT(switches_of(t, "t.mode", times, 20), 5);
  for (int k = 0; k < 5; k++) CHECK_NEAR(times[k], 0.67 + k, 1e-8);
  CHECK_NEAR(t->time[t->n_rows - 1], 5.05, 1e-8);
  for (size_t i = 1; i < t->n_rows; i++) CHECK(t->time[i] >= t->time[i - 1]);
  CHECK_NEAR(at_end(t, "t.x"), 3 - fmod(5.05 + 0.33, 2), 1e-8);
  cpl_table_destroy(t);
}

// A mode of a master and others beside it: whoever has the guard, the way out is found.
static void guards_work_beside_a_master(void** state) {
  write_file("s.yaml", HEAD
             "modes:\n  start: a\n  a:\n    models:\n      x: {c: m.c, as: cs}\n"
             "      y: {c: m.c, as: cs, start: {b: 0}}\n      t: {system: triangle.yaml}\n"
             "    connections: {y.u: 0*x.x}\n    master: {step: 0.25}\n    leave:\n"
             "      - {when: x.x > 9, to: a}\n      - {at: 2.5, to: b, set: {t.up.m.x: t.x}}\n"
             "  b:\n    models:\n      x: {c: m.c, as: cs}\n      y: {c: m.c, as: cs}\n"
             "      t: {system: triangle.yaml}\n    connections: {y.u: 0*x.x}\n"
             "    master: {step: 0.25}\n    leave:\n      - {when: t.x > 30, to: a}\n"
             "      - {when: x.x > 2.125, to: c}\n  c: {models: {t: {system: triangle.yaml}}}\n"
             "observe: {x: t.x}\n");
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  double times[10];
  CHECK_INT(switches_of(t, "mode", times, 10), 2);
  CHECK_NEAR(times[0], 2.5, 1e-9);
  CHECK_NEAR(times[1], 3.625, 1e-8);  // between two communication points
  cpl_table_destroy(t);
}

//------------------------------------ which form it takes ------------------------------------

#define PAIR(how)                               \
  HEAD "models: {s: {system: triangle.yaml" how \
       "}, i: {c: m.c, start: {x: 0, b: 0}}}\n" \
       "connections: {i.u: s.x, s.u: i.x}\n"

static void the_file_says_which_form_it_takes(void** state) {
  (void)state;
  write_file("s.yaml", PAIR(", as: cs"));
  must_do("run s.yaml -o out.csv --stats");
  must_say("communication steps");
  write_file("s.yaml", PAIR(", as: me"));
  must_do("run s.yaml -o out.csv --stats");
  must_say("structure changes");
  write_file("s.yaml", PAIR(""));
  must_do("run s.yaml -o out.csv --stats");
  must_say("structure changes");
}

static void loops_that_come_and_go_are_no_rows(void** state) {
  (void)state;
  copy_example("pendulum_on_cart");
  CHECK_INT(couplet("run pendulum_on_cart/pendulum_on_cart.yaml --solver ida -o out.csv"), 0);
  CHECK_INT(couplet("run pendulum_on_cart/pendulum_on_cart.yaml --solver ida --loops as-rows"), 2);
  check_message("a model of variable structure (modes) cannot be integrated together with");
}

static void what_cannot_be_a_model_says_why(void** state) {
  (void)state;
  char text[sizeof triangle + 200];
  snprintf(text, sizeof text, "%s", triangle);
  char* at = strstr(text, "observe:");
  snprintf(at, 100, "observe: {x: {up: m.x}}\n");
  write_file("triangle.yaml", text);
  write_file("s.yaml", PAIR(", as: me"));
  CHECK_INT(couplet("run s.yaml -o out.csv"), 2);
  check_message("s.yaml:4:");
  check_message(
      "model s: as: me: it cannot be a model of variable structure: x is not observed in "
      "mode down");
  const char* down = strstr(triangle, "  down:\n");
  snprintf(text, sizeof text, "%.*s  down:\n    solver: {rtol: 1e-3}\n%s", (int)(down - triangle),
           triangle, down + strlen("  down:\n"));
  write_file("triangle.yaml", text);
  CHECK_INT(couplet("run s.yaml -o out.csv"), 2);
  check_message("mode down has a solver of its own");
  write_file("s.yaml", PAIR(""));  // so it is a stepper
  must_do("run s.yaml -o out.csv --stats");
  must_say("communication steps");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pendulum_hangs_on_a_cart_without_coupling_error),
      cmocka_unit_test(every_solver_follows_the_structure),
      cmocka_unit_test(modes_may_be_fmus_and_the_whole_may_be_nested),
      cmocka_unit_test(absent_variables_are_empty),
      cmocka_unit_test(linearize_and_graph_see_the_present_structure),
      cmocka_unit_test(the_order_of_the_file_changes_no_bit),
      cmocka_unit_test(it_can_be_rolled_back),
      cmocka_unit_test(a_ball_bounces_on_a_table_that_gives_way),
      cmocka_unit_test(components_may_switch_at_one_instant),
      cmocka_unit_test(unconnected_groups_have_a_solver_each),
      cmocka_unit_test(many_structures_are_prepared_when_they_occur),
      cmocka_unit_test(a_loop_may_be_there_in_one_structure_only),
      cmocka_unit_test(a_transition_may_lead_back_to_its_mode),
      cmocka_unit_test(switches_without_end_are_reported),
      cmocka_unit_test(a_model_switches_as_a_stepper_does),
      cmocka_unit_test(a_switch_that_fails_says_where),
      cmocka_unit_test(who_is_not_connected_keeps_its_own_pace),
      cmocka_unit_test(events_of_a_master_and_of_others_come_in_order),
      cmocka_unit_test(guards_work_beside_a_master),
      cmocka_unit_test(the_file_says_which_form_it_takes),
      cmocka_unit_test(loops_that_come_and_go_are_no_rows),
      cmocka_unit_test(what_cannot_be_a_model_says_why),
  };
  return cmocka_run_group_tests(tests, setup, drop_context);
}
