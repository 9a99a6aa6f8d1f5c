// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values that follow from parameters of a system: set before it is opened, by a program before the
// start, during the initialisation, after a reset; in models, masters, modes, nested systems, delay
// lines. References are computed by hand.
#include "examples/running.h"

#include "assemble/assemble.h"

// x' = r x + u: x(t) = x0 exp(r t) without an input.
static const char model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"r\", .min = -1e9, .max = 100}, {\"n\", .type "
    "= "
    "CPL_INTEGER, .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] * v->x[0] + v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .derivatives = f};\n";

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
}

// a, b and c are parameters in a chain; the state begins at c, jumps at time b, grows with a.
#define HEAD  "couplet: 1\nname: s\nexperiment: {stop: 4, interval: 1, rtol: 1e-10}\n"
#define CHAIN "parameters: {c: b + 1, b: 2*a, a: 0.5}\n"
#define EVENT "events: {kick: {at: [b, 100], set: {m.x: 10}}}\n"
static const char plain[] = HEAD CHAIN
    "models: {m: {c: m.c, start: {x: c, r: -a, n: floor(2*a) + 3}}}\ninputs: {u: {start: b}}\n"
    "connections: {m.u: 0*u}\n" EVENT "record: ['*']\n";

static int make_files(void** state) {
  write_file("m.c", model);
  write_file("plain.yaml", plain);
  write_file("inner.yaml", HEAD CHAIN
             "models: {m: {c: m.c, start: {x: c, r: -a, n: floor(2*a) + 3}}}\n"
             "connections: {m.u: 0}\n" EVENT);
  return make_context(state);
}

//------------------------------------ runs ------------------------------------

typedef struct run {
  cpl_experiment* e;
  cpl_simulation* sim;
} run;

static run open_run(cpl_context* ctx, const char* path, const cpl_start* starts, size_t n) {
  run r = {0};
  cpl_experiment_settings s = cpl_default_experiment_settings();
  s.path = path;
  s.starts = starts;
  s.n_starts = n;
  s.saves = true;
  CHECK_OK(ctx, cpl_experiment_create(ctx, &s, &r.e));
  CHECK_OK(ctx, cpl_experiment_prepare(r.e));
  CHECK_OK(ctx,
           cpl_simulation_create(cpl_experiment_stepper(r.e), cpl_experiment_run_def(r.e), &r.sim));
  return r;
}

static void close_run(run r) {
  cpl_simulation_destroy(r.sim);
  cpl_experiment_destroy(r.e);
}

static double value(cpl_context* ctx, run r, const char* name) {
  double v = NAN;
  CHECK_OK(ctx, cpl_simulation_get(r.sim, name, &v));
  return v;
}

// The whole solution, for parameters a, b and c and a state that begins at x0 with the rate r.
static void check_solution(cpl_context* ctx, run r, const char* prefix, double a, double b,
                           double c, double x0, double rate) {
  char name[64];
  const struct {
    const char* name;
    double value;
  } all[] = {{"a", a}, {"b", b}, {"c", c}, {"m.r", rate}};
  CHECK_OK(ctx, cpl_simulation_start(r.sim));
  for (size_t i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s%s", prefix, all[i].name);
    CHECK_NEAR(value(ctx, r, name), all[i].value, 1e-12);
  }
  snprintf(name, sizeof name, "%sm.x", prefix);
  CHECK_NEAR(value(ctx, r, name), x0, 1e-12);
  CHECK_OK(ctx, cpl_simulation_advance(r.sim, b - 0.25));
  CHECK_NEAR(value(ctx, r, name), x0 * exp(rate * (b - 0.25)), 1e-7);
  CHECK_OK(ctx, cpl_simulation_advance(r.sim, b + 0.5));
  CHECK_NEAR(value(ctx, r, name), 10 * exp(rate * 0.5), 1e-6);
  CHECK_OK(ctx, cpl_simulation_finish(r.sim, NULL));
}

static void check_case(cpl_context* ctx, const char* path, const char* prefix, const char* set,
                       const char* number, double a, double b, double c) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", prefix, set);
  const cpl_start start = {name, number};
  run r = open_run(ctx, path, &start, 1);
  check_solution(ctx, r, prefix, a, b, c, c, -a);
  close_run(r);
  r = open_run(ctx, path, NULL, 0);  // by a program
  CHECK_OK(ctx, cpl_simulation_set(r.sim, name, atof(number)));
  check_solution(ctx, r, prefix, a, b, c, c, -a);
  close_run(r);
}

static void check_chain(cpl_context* ctx, const char* path, const char* prefix) {
  run r = open_run(ctx, path, NULL, 0);
  check_solution(ctx, r, prefix, 0.5, 1, 2, 2, -0.5);
  close_run(r);
  check_case(ctx, path, prefix, "a", "0.75", 0.75, 1.5, 2.5);
  check_case(ctx, path, prefix, "b", "2", 0.5, 2, 3);
  check_case(ctx, path, prefix, "c", "5", 0.5, 1, 5);
}

static void parameters_start_values_and_times_follow(void** state) {
  check_chain(*state, "plain.yaml", "");
  run r = open_run(*state, "plain.yaml", &(cpl_start){"a", "1"}, 1);
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_NEAR(value(*state, r, "m.n"), 5, 0);
  CHECK_NEAR(value(*state, r, "u"), 2, 0);
  close_run(r);
}

// What is set itself keeps its value, also one that is equal to the value in the file.
static void explicit_values_win(void** state) {
  const cpl_start starts[] = {{"a", "0.75"}, {"b", "1"}, {"m.x", "7"}};
  run r = open_run(*state, "plain.yaml", starts, 3);
  check_solution(*state, r, "", 0.75, 1, 2, 7, -0.75);
  close_run(r);
  const cpl_start rate[] = {{"m.r", "-0.5"}, {"a", "0.75"}, {"m.x", "2"}};
  r = open_run(*state, "plain.yaml", rate, 3);
  check_solution(*state, r, "", 0.75, 1.5, 2.5, 2, -0.5);
  close_run(r);
}

static void the_command_sets_them(void** state) {
  must_do("run plain.yaml --set a=0.75 --stop 1 -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(column(t, "c")[0], 2.5, 1e-12);
  CHECK_NEAR(column(t, "m.x")[t->n_rows - 1], 2.5 * exp(-0.75), 1e-7);
  cpl_table_destroy(t);
  must_do("linearize plain.yaml --set a=0.75");
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "-0.75");
  free(text);
}

//------------------------------------ composers ------------------------------------

static void in_independent_subsystems(void** state) {
  write_file("two.yaml", HEAD CHAIN
             "models:\n  m: {c: m.c, start: {x: c, r: -a}}\n  other: {c: m.c, start: {x: 2*c}}\n"
             "connections: {m.u: 0, other.u: 0}\n" EVENT);
  check_chain(*state, "two.yaml", "");
}

static void under_a_master(void** state) {
  write_file("master.yaml", HEAD CHAIN
             "models:\n  m: {c: m.c, start: {x: c, r: -a}}\n"
             "  cs: {c: m.c, as: cs, start: {x: 2*c, r: -b}}\n"
             "connections: {m.u: 0*cs.x, cs.u: 0*m.x}\nmaster: {step: 0.125}\n" EVENT);
  check_chain(*state, "master.yaml", "");
  run r = open_run(*state, "master.yaml", &(cpl_start){"a", "0.75"}, 1);
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_OK(*state, cpl_simulation_advance(r.sim, 1));
  CHECK_NEAR(value(*state, r, "cs.x"), 5 * exp(-1.5), 1e-7);
  close_run(r);
}

// Only steppers, without expressions: the parameters are variables of the whole.
static void under_a_master_of_steppers_only(void** state) {
  write_file("cs.yaml", HEAD
             "parameters: {k: 1}\nmodels:\n  p: {c: m.c, as: cs, start: {x: 2*k, r: -1}}\n"
             "  q: {c: m.c, as: cs}\nconnections: {q.u: p.x}\nmaster: {step: 0.01, order: 2}\n");
  run r = open_run(*state, "cs.yaml", &(cpl_start){"k", "3"}, 1);
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_OK(*state, cpl_simulation_advance(r.sim, 1));
  CHECK_NEAR(value(*state, r, "p.x"), 6 * exp(-1), 1e-7);
  close_run(r);
}

static void in_nested_systems(void** state) {
  write_file("outer.yaml", HEAD
             "parameters: {A: 0.25}\nmodels:\n  s: {system: inner.yaml, start: {a: 2*A}}\n"
             "  t: {system: inner.yaml, start: {a: 0.75}}\n");
  check_chain(*state, "outer.yaml", "s.");
  run r = open_run(*state, "outer.yaml", NULL, 0);
  check_solution(*state, r, "t.", 0.75, 1.5, 2.5, 2.5, -0.75);
  close_run(r);
  r = open_run(*state, "outer.yaml", &(cpl_start){"A", "0.375"}, 1);
  check_solution(*state, r, "s.", 0.75, 1.5, 2.5, 2.5, -0.75);
  close_run(r);
  const cpl_start both[] = {{"A", "0.375"}, {"s.b", "2"}};
  r = open_run(*state, "outer.yaml", both, 2);
  check_solution(*state, r, "s.", 0.75, 2, 3, 3, -0.75);
  close_run(r);
}

// x grows at the rate a from c up to time b, then falls at 1 from there on.
static void in_modes(void** state) {
  write_file("modes.yaml", HEAD CHAIN
             "modes:\n  start: up\n"
             "  up:\n    models: {m: {c: m.c, start: {x: c, r: a}}}\n    connections: {m.u: 0}\n"
             "    leave: [{at: b, to: down, set: {m.x: m.x}}]\n"
             "  down:\n    models: {m: {c: m.c, start: {r: -c}}}\n    connections: {m.u: 0}\n"
             "observe: {x: m.x}\nrecord: [x, c]\n");
  const struct {
    const char *name, *text;
    double a, b, c;
  } cases[] = {{"a", "0.5", 0.5, 1, 2}, {"a", "0.75", 0.75, 1.5, 2.5}, {"b", "2", 0.5, 2, 3}};
  for (size_t i = 0; i < 3; i++) {
    run r = open_run(*state, "modes.yaml", &(cpl_start){cases[i].name, cases[i].text}, 1);
    for (int k = 0; k < 2; k++) {
      CHECK_OK(*state, cpl_simulation_start(r.sim));
      CHECK_OK(*state, cpl_simulation_advance(r.sim, cases[i].b + 0.5));
      CHECK_NEAR(value(*state, r, "x"),
                 cases[i].c * exp(cases[i].a * cases[i].b - 0.5 * cases[i].c), 1e-6);
      CHECK_OK(*state, cpl_simulation_finish(r.sim, NULL));
      cpl_simulation_destroy(r.sim);
      cpl_stepper* s = cpl_experiment_stepper(r.e);
      CHECK_OK(*state, cpl_component_reset(&s->base));
      CHECK_OK(*state, cpl_simulation_create(s, cpl_experiment_run_def(r.e), &r.sim));
    }
    close_run(r);
  }
}

//--------------------------------- what is fixed when it is built ---------------------------------

#define LINE                                                                                  \
  "parameters: {D: 0.5, T: D/5}\nmodels:\n  p: {c: m.c, start: {x: 0, u: 1}}\n  q: {c: m.c, " \
  "start: "                                                                                   \
  "{x: 0}}\ninterfaces: {p.y: {kind: signal, value: x}, q.u: {kind: signal, value: u}}\n"     \
  "tlm:\n  - {from: p.y, to: q.u, delay: T}\n"

// p.x = t arrives after the delay: q.x = (t - T)^2/2 from then on.
static void check_delay(cpl_context* ctx, run r, const char* prefix, double delay) {
  char name[3][32];
  for (int i = 0; i < 3; i++)
    snprintf(name[i], sizeof name[i], "%s%s", prefix, ((const char*[]){"T", "p.x", "q.x"})[i]);
  const double t = cpl_simulation_time(r.sim);
  CHECK_NEAR(value(ctx, r, name[0]), delay, 1e-15);
  CHECK_NEAR(value(ctx, r, name[1]), t, 1e-9);
  CHECK_NEAR(value(ctx, r, name[2]), (t - delay) * (t - delay) / 2, 1e-9);
}

static void delay_lines_are_built_with_the_values_that_are_set(void** state) {
  write_file("line.yaml", HEAD LINE);
  write_file("lines.yaml", HEAD
             "parameters: {K: 4}\nmodels:\n  one: {system: line.yaml}\n"
             "  other: {system: line.yaml, start: {D: K/4}}\n");
  const char* const delays[] = {"0.5", "1.5", "0.25"};
  for (size_t i = 0; i < 3; i++) {
    run r = open_run(*state, "line.yaml", &(cpl_start){"D", delays[i]}, 1);
    CHECK_OK(*state, cpl_simulation_start(r.sim));
    CHECK_OK(*state, cpl_simulation_advance(r.sim, 1));
    check_delay(*state, r, "", atof(delays[i]) / 5);
    close_run(r);
  }
  run r = open_run(*state, "lines.yaml", NULL, 0);
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_OK(*state, cpl_simulation_advance(r.sim, 1));
  check_delay(*state, r, "one.", 0.1);
  check_delay(*state, r, "other.", 0.2);
  close_run(r);
  const cpl_start inner[] = {{"one.D", "1.5"}, {"K", "8"}};
  r = open_run(*state, "lines.yaml", inner, 2);
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_OK(*state, cpl_simulation_advance(r.sim, 1));
  check_delay(*state, r, "one.", 0.3);
  check_delay(*state, r, "other.", 0.4);
  close_run(r);
}

static void fixed_values_cannot_be_set_later(void** state) {
  write_file("line.yaml", HEAD LINE);
  run r = open_run(*state, "line.yaml", NULL, 0);
  cpl_source* source = cpl_experiment_source(r.e);
  CHECK(cpli_system_needs_build(source, "D") && cpli_system_needs_build(source, "T") &&
        !cpli_system_needs_build(source, "p.x"));
  CHECK_INT(cpl_simulation_set(r.sim, "D", 1.5), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(*state), "must be given when it is opened");
  CHECK_OK(*state, cpl_simulation_set(r.sim, "D", 0.5));
  cpl_stepper* s = cpl_experiment_stepper(r.e);
  const int32_t var = cpl_find_variable(s->base.desc, "D");
  const double other = 1.5;
  CHECK_INT(cpl_component_set_real(&s->base, &s->base.desc->vars[var].ref, 1, &other),
            CPL_ERR_INPUT);
  close_run(r);
  write_file("steps.yaml", HEAD
             "parameters: {h: 0.5}\nmodels:\n  p: {c: m.c, as: cs, start: {x: 1, r: -1}}\n"
             "  q: {c: m.c, as: cs, start: {x: 0}}\nconnections: {q.u: p.x}\n"
             "master: {step: 0.25, algorithm: jacobi, steps: {q: h}}\n");
  r = open_run(*state, "steps.yaml", &(cpl_start){"h", "0.25"}, 1);
  CHECK(cpli_system_needs_build(cpl_experiment_source(r.e), "h"));
  // q holds p.x = 1 over its step: q.x = 0.25 at its end, where a step of 0.5 would still show 0
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_OK(*state, cpl_simulation_advance(r.sim, 0.25));
  CHECK_NEAR(value(*state, r, "q.x"), 0.25, 1e-9);
  CHECK_INT(cpl_simulation_set(r.sim, "h", 1), CPL_ERR_INPUT);
  close_run(r);
}

//------------------------------------ one component, many cases -----------------------------------

// After a reset values are set by reference; everything follows, without a new system.
static void many_cases_of_one_component(void** state) {
  cpl_context* ctx = *state;
  run r = open_run(ctx, "plain.yaml", NULL, 0);
  cpl_stepper* s = cpl_experiment_stepper(r.e);
  cpl_component* c = &s->base;
  const cpl_description* d = c->desc;
  const uint32_t a = d->vars[cpl_find_variable(d, "a")].ref,
                 x = d->vars[cpl_find_variable(d, "m.x")].ref;
  cpl_simulation_destroy(r.sim);
  r.sim = NULL;
  for (int i = 0; i < 200; i++) {
    const double given = 0.25 + 0.005 * i, b = 2 * given;
    double end = NAN;
    cpl_setup setup = cpl_default_setup();
    cpl_step_result result = {.time = 0};
    CHECK_OK(ctx, cpl_component_reset(c));
    if (i % 3 != 0) CHECK_OK(ctx, cpl_component_set_real(c, &a, 1, &given));
    CHECK_OK(ctx, cpl_component_setup(c, &setup));
    CHECK_OK(ctx, cpl_component_enter_init(c));
    CHECK_OK(ctx, cpl_component_exit_init(c));
    CHECK_OK(ctx, cpl_component_get_real(c, &x, 1, &end));
    CHECK_NEAR(end, i % 3 != 0 ? b + 1 : 2, 1e-12);
    while (result.time < 3) CHECK_OK(ctx, cpl_stepper_step(s, 3, 3, &result));
    CHECK_OK(ctx, cpl_component_get_real(c, &x, 1, &end));
    CHECK_NEAR(end, i % 3 != 0 ? 10 * exp(-given * (3 - b)) : 10 * exp(-1), 1e-6);
    CHECK_OK(ctx, cpl_component_terminate(c));
  }
  close_run(r);
}

// An importer of FMUs may set parameters in the initialisation, too.
static void values_set_during_the_initialisation_count(void** state) {
  cpl_context* ctx = *state;
  run r = open_run(ctx, "plain.yaml", NULL, 0);
  cpl_component* c = &cpl_experiment_stepper(r.e)->base;
  const cpl_description* d = c->desc;
  const uint32_t a = d->vars[cpl_find_variable(d, "a")].ref,
                 x = d->vars[cpl_find_variable(d, "m.x")].ref;
  const double given = 0.75;
  double start = NAN;
  cpl_setup setup = cpl_default_setup();
  CHECK_OK(ctx, cpl_component_setup(c, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(c));
  CHECK_OK(ctx, cpl_component_set_real(c, &a, 1, &given));
  CHECK_OK(ctx, cpl_component_get_real(c, &x, 1, &start));
  CHECK_NEAR(start, 2.5, 1e-12);
  CHECK_OK(ctx, cpl_component_exit_init(c));
  CHECK_OK(ctx, cpl_component_get_real(c, &x, 1, &start));
  CHECK_NEAR(start, 2.5, 1e-12);
  close_run(r);
}

// A saved state has the times of its events: it continues after another case was begun.
static void saved_states_keep_their_times(void** state) {
  cpl_context* ctx = *state;
  run r = open_run(ctx, "plain.yaml", &(cpl_start){"a", "1"}, 1);
  cpl_snapshot saved = {NULL};
  cpl_component* c = &cpl_experiment_stepper(r.e)->base;
  CHECK_OK(ctx, cpl_simulation_start(r.sim));
  CHECK_OK(ctx, cpl_simulation_advance(r.sim, 1.5));
  CHECK_OK(ctx, cpl_component_save(c, &saved));
  CHECK_OK(ctx, cpl_component_reset(c));
  cpl_setup setup = cpl_default_setup();
  CHECK_OK(ctx, cpl_component_setup(c, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(c));
  CHECK_OK(ctx, cpl_component_exit_init(c));
  CHECK_OK(ctx, cpl_component_restore(c, &saved));
  CHECK_NEAR(value(ctx, r, "m.x"), 3 * exp(-1.5), 1e-7);
  CHECK_OK(ctx, cpl_simulation_advance(r.sim, 1.9));
  CHECK_NEAR(value(ctx, r, "m.x"), 3 * exp(-1.9), 1e-7);
  CHECK_OK(ctx, cpl_simulation_advance(r.sim, 2.5));
  CHECK_NEAR(value(ctx, r, "m.x"), 10 * exp(-0.5), 1e-6);
  cpl_component_forget(c, &saved);
  close_run(r);
}

//------------------------------------ failures ------------------------------------

static void values_beyond_limits_are_named(void** state) {
  run r = open_run(*state, "plain.yaml", NULL, 0);
  CHECK_OK(*state, cpl_simulation_set(r.sim, "a", -200));
  CHECK(cpl_simulation_start(r.sim) < 0);
  CHECK_CONTAINS(cpl_context_error(*state), "plain.yaml:5:");
  CHECK_CONTAINS(cpl_context_error(*state), "m.r cannot be set to 200 (-a): its maximum is 100");
  close_run(r);
  write_file("integer.yaml", HEAD CHAIN "models: {m: {c: m.c, start: {n: 2*a}}}\n");
  r = open_run(*state, "integer.yaml", NULL, 0);
  CHECK_OK(*state, cpl_simulation_set(r.sim, "a", 0.6));
  CHECK_OK(*state, cpl_simulation_set(r.sim, "m.n", 4));
  CHECK_OK(*state, cpl_simulation_start(r.sim));
  CHECK_NEAR(value(*state, r, "m.n"), 4, 0);
  close_run(r);
  r = open_run(*state, "integer.yaml", NULL, 0);
  CHECK_OK(*state, cpl_simulation_set(r.sim, "a", 0.6));
  CHECK(cpl_simulation_start(r.sim) < 0);
  CHECK_CONTAINS(cpl_context_error(*state), "m.n cannot be set to 1.2 (2*a): it is an integer");
  close_run(r);
}

static void cycles_are_errors(void** state) {
  (void)state;
  write_file("cycle.yaml", HEAD "parameters: {p: q, q: 2*p}\nmodels: {m: {c: m.c}}\n");
  CHECK_INT(couplet("run cycle.yaml --set p=1"), 2);
  check_message("depends on itself");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_start_values_and_times_follow),
      cmocka_unit_test(explicit_values_win),
      cmocka_unit_test(the_command_sets_them),
      cmocka_unit_test(in_independent_subsystems),
      cmocka_unit_test(under_a_master),
      cmocka_unit_test(under_a_master_of_steppers_only),
      cmocka_unit_test(in_nested_systems),
      cmocka_unit_test(in_modes),
      cmocka_unit_test(delay_lines_are_built_with_the_values_that_are_set),
      cmocka_unit_test(fixed_values_cannot_be_set_later),
      cmocka_unit_test(many_cases_of_one_component),
      cmocka_unit_test(values_set_during_the_initialisation_count),
      cmocka_unit_test(saved_states_keep_their_times),
      cmocka_unit_test(values_beyond_limits_are_named),
      cmocka_unit_test(cycles_are_errors),
  };
  return cmocka_run_group_tests_name("assemble/follow", tests, make_files, drop_context);
}
