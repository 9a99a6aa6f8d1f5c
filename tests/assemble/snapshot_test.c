// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Who saves, goes on, restores and goes on again takes the same way as who never left, to the last
// bit: every composer, and composers inside of each other, at random times.
#include "testing.h"

static const char model[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {\"v\"}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 3}, {\"d\", .start = 0.1}, "
    "{0}};\n"
    "static const cpl_declaration discrete[] = {{\"n\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n"
    "  dx[1] = -v->p[0] * sin(v->x[0]) - v->p[1] * v->x[1] + v->u[0];\n  return 0;\n}\n"
    "static int y(const cpl_values* v, double* y) {\n  y[0] = v->x[0] * v->x[1];\n  return 0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n  z[0] = v->x[0];\n  return 0;\n}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] != 0) a->w[0] = v->w[0] + 1;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = states, .inputs = inputs, "
    ".outputs = outputs, .parameters = parameters, .discrete = discrete, .n_indicators = 1, "
    ".derivatives = f, .output_values = y, .indicators = z, .event = event};\n";

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
}

#define HEAD "couplet: 1\nname: s\nexperiment: {stop: 6, rtol: 1e-7}\n"

#define TWO(how)                                                                                 \
  "models: {a: {c: m.c" how "}, b: {c: m.c, start: {x: 0.4, k: 7}" how                           \
  "}, c: {c: "                                                                                   \
  "m.c}}\nconnections: {a.u: 0.3*b.y, b.u: 'if a.x > 0.1 then a.x else -0.2', "                  \
  "c.u: w}\ninputs: {w: {file: t.csv, column: u}}\n"                                             \
  "events: {e: {when: a.x - b.x < -0.2, set: {c.x: 'if c.v > 0 then 0.5*c.x else c.x + 0.1'}}, " \
  "f: {at: [1.1, 2.7], set: {c.v: c.v - a.x}}}\n"

// From one mode to the next, with values of modes left before.
#define ROUND(how, more)                                                                    \
  "modes:\n  start: a\n  a:\n    models: {m: {c: m.c, start: {k: 30}" how "}" more          \
  "}\n"                                                                                     \
  "    leave: [{when: m.x < 0.3, to: b, set: {m.x: m.x, m.v: m.v}}]\n"                      \
  "  b:\n    models: {m: {c: m.c, start: {k: 80}" how "}" more                              \
  "}\n"                                                                                     \
  "    leave: [{when: m.x < -0.4, to: c, set: {m.x: m.x, m.v: 0.9*m.v + 0.01*a.m.v}}]\n"    \
  "  c:\n    models: {m: {c: m.c, start: {k: 50, d: -0.2}" how "}" more                     \
  "}\n"                                                                                     \
  "    leave:\n      - {when: m.x > 0.35, to: a, set: {m.x: m.x + 0.01*b.m.x, m.v: m.v}}\n" \
  "observe: {x: m.x}\n"

static const struct {
  const char* name;
  const char* text;
} systems[] = {
    {"one solver", HEAD TWO("")},
    {"a master", HEAD TWO(", as: cs")},
    {"gauss-seidel",
     HEAD TWO(", as: cs") "master: {algorithm: gauss-seidel, order: 1, step: 0.07}\n"},
    {"iterative", HEAD TWO(", as: cs") "master: {algorithm: iterative, step: 0.05, order: 2}\n"},
    {"error control", HEAD TWO(", as: cs") "master: {tolerance: 0.01, step: 0.2}\n"},
    {"richardson",
     HEAD TWO(", as: cs") "master: {tolerance: 1e-4, step: 0.2, estimate: richardson}\n"},
    {"steps of their own", HEAD TWO(", as: cs") "master: {step: 0.03, steps: {a: 0.12}}\n"},
    {"a master in a master", HEAD "models: {n: {system: inner.yaml}, d: {c: m.c, as: cs}}\n"
                                  "connections: {d.u: n.a.x}\nmaster: {step: 0.1}\n"},
    {"modes", HEAD ROUND("", "")},
    {"modes of masters", HEAD ROUND(", as: cs", ", o: {c: m.c, as: cs, start: {k: 2}}")},
    {"modes in a master", HEAD "models: {n: {system: modes.yaml, as: cs}, d: {c: m.c, as: cs}}\n"
                               "connections: {d.u: n.x}\nmaster: {step: 0.1}\n"},
    {"modes in an aggregate",
     HEAD "models: {n: {system: modes.yaml, as: me}, d: {c: m.c}}\nconnections: {d.u: n.x}\n"},
    {"modes in an aggregate in a master",
     HEAD "models: {n: {system: modes.yaml, as: me}, d: {c: m.c, as: cs}, e: {c: m.c}}\n"
          "connections: {d.u: n.x, e.u: n.x}\nmaster: {step: 0.1}\n"},
};

static int setup(void** state) {
  write_file("m.c", model);
  write_file("t.csv", "time,u\n0,0\n0.8,1\n0.8,-1\n2,0.5\n3.1,0.5\n3.1,0\n6,1\n");
  write_file("inner.yaml", HEAD TWO(", as: cs") "master: {step: 0.04}\n");
  write_file("modes.yaml", HEAD ROUND("", ""));
  return make_context(state);
}

//------------------------------------ runs ------------------------------------

static uint64_t seed;

static double uniform(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return (double)(seed >> 11) * 0x1p-53;
}

enum { POINTS = 40 };
static double times[POINTS];

static void choose_times(void) {
  double t = 0;
  for (int i = 0; i < POINTS; i++) times[i] = t += 0.01 + 0.18 * uniform();
}

typedef struct instance {
  cpl_stepper* s;
  uint32_t* refs;
  size_t n;
} instance;

static instance begin(cpl_source* system) {
  instance in = {0};
  cpl_context* ctx = system->ctx;
  cpl_stepper_def def = cpl_default_stepper_def();
  def.solver.rtol = 1e-7;
  def.solver.restart_each_step = true;
  def.usual_step = 0.1;
  CHECK_OK(ctx, cpl_system_stepper(system, &def, &in.s));
  cpl_component* c = &in.s->base;
  cpl_setup how = {.has_stop_time = true, .stop_time = 20};
  CHECK_OK(ctx, c->ops->setup(c, &how));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  in.refs = calloc((size_t)c->desc->n_vars, sizeof *in.refs);
  for (int32_t i = 0; i < c->desc->n_vars; i++) {
    if (c->desc->vars[i].type == CPL_REAL) in.refs[in.n++] = c->desc->vars[i].ref;
  }
  return in;
}

static void end(instance* in) {
  in->s->base.ops->destroy(&in->s->base);
  free(in->refs);
}

static void go_to(cpl_stepper* s, double t) {
  cpl_step_result r = {0};
  while (r.time < t) {
    CHECK_OK(s->base.ctx, s->ops->step(s, t, t, &r));
    CHECK(r.end != CPL_STEP_TERMINATE && r.end != CPL_STEP_REFUSED);
    if (r.end == CPL_STEP_EVENT) CHECK_OK(s->base.ctx, s->ops->step(s, r.time, r.time, &r));
  }
}

static void look(instance* in, double* values) {
  CHECK_OK(in->s->base.ctx, in->s->base.ops->get_real(&in->s->base, in->refs, in->n, values));
}

static void compare(const char* name, const instance* in, int point, const double* values,
                    const double* expected) {
  for (size_t i = 0; i < in->n; i++) {
    if (memcmp(&values[i], &expected[i], sizeof *values) == 0) continue;
    const cpl_description* d = in->s->base.desc;
    const char* who = "?";
    for (int32_t v = 0; v < d->n_vars; v++)
      if (d->vars[v].type == CPL_REAL && d->vars[v].ref == in->refs[i]) who = d->vars[v].name;
    fail_msg("%s: %s at t=%.12g: %.17g, expected %.17g", name, who, times[point], values[i],
             expected[i]);
  }
}

static void check_system(cpl_context* ctx, const char* name, const char* text) {
  cpl_source* system = NULL;
  write_file("s.yaml", text);
  cpl_system_def* def = NULL;
  CHECK_OK(ctx, cpl_system_def_read(ctx, "s.yaml", &def));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  seed = 88172645463325252;
  choose_times();
  instance plain = begin(system), back = begin(system);
  if (!back.s->base.can.save_restore) fail_msg("%s does not roll back", name);
  double* expected = calloc(plain.n * POINTS, sizeof *expected);
  double* values = calloc(plain.n, sizeof *values);
  for (int i = 0; i < POINTS; i++) {
    go_to(plain.s, times[i]);
    look(&plain, expected + (size_t)i * plain.n);
  }
  cpl_component* c = &back.s->base;
  cpl_snapshot kept[2] = {0};
  for (int i = 0; i < POINTS; i++) {
    cpl_snapshot* k = &kept[uniform() < 0.5];
    if (uniform() < 0.4) {
      CHECK_OK(ctx, c->ops->save(c, k));
      int to = i + (int)(20 * uniform());
      for (int j = i; j < POINTS && j <= to; j++) go_to(back.s, times[j]);
      CHECK_OK(ctx, c->ops->restore(c, k));
    }
    go_to(back.s, times[i]);
    look(&back, values);
    compare(name, &back, i, values, expected + (size_t)i * plain.n);
  }
  for (int i = 0; i < 2; i++) c->ops->forget(c, &kept[i]);
  free(expected);
  free(values);
  end(&plain);
  end(&back);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
}

static void going_back_changes_no_bit(void** state) {
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
    check_system(*state, systems[i].name, systems[i].text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(going_back_changes_no_bit)};
  return cmocka_run_group_tests(tests, setup, drop_context);
}
