// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Directional derivatives of systems against the chain rule, which is written out here for each
// system with numbers that have a derivative: chains, units, loops, nested systems, their models in
// C and as FMUs, and the FMUs of the systems.
#include "base/options.h"
#include "couplet/component.h"
#include "fmi/fmu.h"
#include "models.h"

static cpl_context* ctx;
static char warnings[4000];  // of the log

static void note(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  size_t n = strlen(warnings);
  if (level == CPL_LOG_WARNING) snprintf(warnings + n, sizeof warnings - n, "%s\n", text);
}

//------------------------------------ the chain rule ------------------------------------

typedef struct dual {  // a value and its change
  double v, d;
} dual;

static dual add(dual a, dual b) { return (dual){a.v + b.v, a.d + b.d}; }
static dual mul(dual a, dual b) { return (dual){a.v * b.v, a.v * b.d + a.d * b.v}; }
static dual times(double k, dual a) { return (dual){k * a.v, k * a.d}; }
static dual sine(dual a) { return (dual){sin(a.v), cos(a.v) * a.d}; }

static const double degree = 3.14159265358979323846 / 180;

// The model: x' = v - x u^2 / 5, v' = -sin(x) + 3 w, y = x u + sin(w) / 4 + 4 x, z = v^2 + x / 2.
static const char curve_c[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 0.3}, {\"v\", .start = 0.2}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\", .unit = \"rad\"}, {\"w\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\", .unit = \"deg\"}, {\"z\"}, {0}};\n"
    "static const cpl_dependency deps[] = {{.of = \"y\", .on = \"x u w\"},\n"
    "  {.of = \"z\", .on = \"x v\"}, {.of = \"der(x)\", .on = \"x v u\"},\n"
    "  {.of = \"der(v)\", .on = \"x w\"}, {0}};\n"
    "static int derivatives(const cpl_values* k, double* dx) {\n"
    "  dx[0] = k->x[1] - k->x[0] * k->u[0] * k->u[0] / 5;\n"
    "  dx[1] = -sin(k->x[0]) + 3 * k->u[1];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int values(const cpl_values* k, double* y) {\n"
    "  y[0] = k->x[0] * k->u[0] + sin(k->u[1]) / 4 + 4 * k->x[0];\n"
    "  y[1] = k->x[1] * k->x[1] + k->x[0] / 2;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int directional(const cpl_values* k, const double* x, const double* u, double* dx,\n"
    "                       double* y) {\n"
    "  if (dx != 0) {\n"
    "    dx[0] = x[1] - k->u[0] * (x[0] * k->u[0] + 2 * k->x[0] * u[0]) / 5;\n"
    "    dx[1] = -cos(k->x[0]) * x[0] + 3 * u[1];\n"
    "  }\n"
    "  if (y != 0) {\n"
    "    y[0] = x[0] * (k->u[0] + 4) + k->x[0] * u[0] + cos(k->u[1]) * u[1] / 4;\n"
    "    y[1] = 2 * k->x[1] * x[1] + x[0] / 2;\n"
    "  }\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"curve\", .states = states,\n"
    "  .inputs = inputs, .outputs = outputs, .derivatives = derivatives,\n"
    "  .output_values = values, .dependencies = deps%s};\n";

typedef struct curve {
  dual x, v, u, w, y, z, dx, dv;
} curve;

static void own(curve* k) { k->z = add(mul(k->v, k->v), times(0.5, k->x)); }
static void with_inputs(curve* k) {
  k->y = add(add(mul(k->x, k->u), times(0.25, sine(k->w))), times(4, k->x));
  k->dx = add(k->v, times(-0.2, mul(k->x, mul(k->u, k->u))));
  k->dv = add(times(-1, sine(k->x)), times(3, k->w));
}

//------------------------------------ systems ------------------------------------

typedef struct named {
  const char* name;
  double value;
} named;

enum { MANY = 40 };

// Values and changes by name: knowns, then unknowns with the change that the chain rule gives.
typedef struct point {
  const char* known[MANY];
  dual at[MANY];
  size_t n;
  const char* name[MANY];
  double change[MANY];
  size_t n_unknowns;
  cpl_component* c;  // which is at this point
} point;

static uint32_t ref_of(const cpl_component* c, const char* name) {
  int32_t var = 0;
  CHECK_OK(ctx, cpl_require_variable(ctx, c->desc, name, &var));
  return c->desc->vars[var].ref;
}

static dual known(const point* p, const char* name) {
  for (size_t i = 0; i < p->n; i++)
    if (strcmp(p->known[i], name) == 0) return p->at[i];
  fail_msg("%s is not known", name);
  return (dual){0, 0};
}

static void expect(point* p, const char* name, dual value) {
  assert_true(p->n_unknowns < MANY);
  p->name[p->n_unknowns] = name;
  p->change[p->n_unknowns++] = value.d;
}

static curve load(const point* p, const char* x, const char* v) {
  curve k = {.x = known(p, x), .v = known(p, v)};
  own(&k);
  return k;
}

static const char chain_yaml[] =
    "couplet: 1\n"
    "models: {a: {%1$s}, b: {%1$s}}\n"
    "inputs: {f: {start: 0.4}}\n"
    "parameters: {k: 1.5}\n"
    "connections:\n"
    "  a.u: f*sin(f)\n"
    "  a.w: k*f + b.z\n"
    "  b.u: a.y\n"
    "outputs: {r: a.y*b.z + f, half: b.z/2}\n";

static void chain(point* p) {
  curve a = load(p, "a.x", "a.v"), b = load(p, "b.x", "b.v");
  dual f = known(p, "f");
  a.u = mul(f, sine(f));
  a.w = add(times(1.5, f), b.z);
  with_inputs(&a);
  b.u = times(degree, a.y);
  b.w = known(p, "b.w");
  with_inputs(&b);
  expect(p, "a.der(x)", a.dx), expect(p, "a.der(v)", a.dv);
  expect(p, "b.der(x)", b.dx), expect(p, "b.der(v)", b.dv);
  expect(p, "r", add(mul(a.y, b.z), f)), expect(p, "half", times(0.5, b.z));
  expect(p, "a.y", a.y), expect(p, "b.y", b.y), expect(p, "b.z", b.z);
}

// A linear loop: both outputs are linear in the inputs u.
static const char ring_yaml[] =
    "couplet: 1\n"
    "models: {a: {%1$s}, b: {%1$s}}\n"
    "connections: {a.u: b.y, b.u: a.y}\n"
    "outputs: {sum: a.y + 2*b.y}\n";

static void ring(point* p) {
  curve a = load(p, "a.x", "a.v"), b = load(p, "b.x", "b.v");
  a.w = known(p, "a.w"), b.w = known(p, "b.w");
  dual ea = add(times(0.25, sine(a.w)), times(4, a.x));
  dual eb = add(times(0.25, sine(b.w)), times(4, b.x));
  // u_a = (k^2 x_b e_a + k e_b) / (1 - k^2 x_a x_b)
  dual above = add(times(degree * degree, mul(b.x, ea)), times(degree, eb));
  dual below = add((dual){1, 0}, times(-degree * degree, mul(a.x, b.x)));
  a.u = (dual){above.v / below.v, (above.d - above.v / below.v * below.d) / below.v};
  with_inputs(&a);
  b.u = times(degree, a.y);
  with_inputs(&b);
  expect(p, "a.der(x)", a.dx), expect(p, "a.der(v)", a.dv);
  expect(p, "b.der(x)", b.dx), expect(p, "b.der(v)", b.dv);
  expect(p, "sum", add(a.y, times(2, b.y)));
  expect(p, "a.y", a.y), expect(p, "b.y", b.y), expect(p, "b.z", b.z);
}

// Two nonlinear loops, one inside of the nested system and one through it.
static const char inner_yaml[] =
    "couplet: 1\n"
    "models: {a: {%1$s}, b: {%1$s}}\n"
    "inputs: {f: {start: 0.4}}\n"
    "connections:\n"
    "  a.u: b.y\n"
    "  a.w: f*f + b.z\n"
    "  b.u: sin(a.y)/10 + f*a.z\n"
    "outputs: {r: a.y*b.z + f}\n";
static const char outer_yaml[] =
    "couplet: 1\n"
    "models: {sub: {%2$s}, c: {%1$s}}\n"
    "inputs: {g: {start: 0.7}}\n"
    "connections:\n"
    "  sub.f: c.y/100 + g\n"
    "  c.u: sub.r/5\n"
    "  c.w: g*c.z\n"
    "outputs: {q: sub.r + c.y*c.y}\n";

typedef struct loops {
  curve a, b, c;
  dual f, r, g;
  const double* found;  // values of f, a.u and a.w. Nullable: as computed
} loops;

// The values that the couplings give for c.u and b.u.
static void around(loops* k, dual cu, dual bu, dual out[2]) {
  k->c.u = cu, k->b.u = bu;
  with_inputs(&k->c);
  with_inputs(&k->b);
  k->f = add(times(0.01, k->c.y), k->g);
  if (k->found != NULL) k->f.v = k->found[0];
  k->a.u = times(degree, k->b.y);
  k->a.w = add(mul(k->f, k->f), k->b.z);
  if (k->found != NULL) k->a.u.v = k->found[1], k->a.w.v = k->found[2];
  with_inputs(&k->a);
  k->r = add(mul(k->a.y, k->b.z), k->f);
  out[0] = times(0.2, k->r);
  out[1] = add(times(0.1, sine(k->a.y)), mul(k->f, k->a.z));
}

// Solves (I - M) s = b, where the columns of M are the changes by each of the two values.
static void solve(const loops* k, double cu, double bu, const double b[2], double s[2]) {
  loops at = *k;
  dual* parts[] = {&at.a.x, &at.a.v, &at.b.x, &at.b.v, &at.b.w, &at.c.x,
                   &at.c.v, &at.c.w, &at.g,   &at.a.z, &at.b.z, &at.c.z};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) parts[i]->d = 0;
  dual one[2], two[2];
  around(&at, (dual){cu, 1}, (dual){bu, 0}, one);
  around(&at, (dual){cu, 0}, (dual){bu, 1}, two);
  double m00 = 1 - one[0].d, m10 = -one[1].d, m01 = -two[0].d, m11 = 1 - two[1].d;
  double det = m00 * m11 - m01 * m10;
  s[0] = (b[0] * m11 - m01 * b[1]) / det;
  s[1] = (m00 * b[1] - m10 * b[0]) / det;
}

static double found(const point* p, const char* name, double expected) {
  uint32_t ref = ref_of(p->c, name);
  double value = NAN;
  CHECK_OK(ctx, p->c->ops->get_real(p->c, &ref, 1, &value));
  CHECK_NEAR(value, expected, 1e-10 * fabs(expected));
  return value;
}

static void outer(point* p) {
  loops k = {.a = load(p, "sub.a.x", "sub.a.v"),
             .b = load(p, "sub.b.x", "sub.b.v"),
             .c = load(p, "c.x", "c.v"),
             .g = known(p, "g")};
  k.b.w = known(p, "sub.b.w");
  k.c.w = mul(k.g, k.c.z);
  double cu = 0, bu = 0, s[2];
  dual out[2];
  for (int i = 0; i < 50; i++) {
    around(&k, (dual){cu, 0}, (dual){bu, 0}, out);
    solve(&k, cu, bu, (double[]){out[0].v - cu, out[1].v - bu}, s);
    cu += s[0], bu += s[1];
  }
  // the derivatives are those at the values that the model has found within its tolerance
  around(&k, (dual){cu, 0}, (dual){bu, 0}, out);
  k.found = (const double[]){found(p, "sub.f", k.f.v), found(p, "sub.a.u", k.a.u.v),
                             found(p, "sub.a.w", k.a.w.v)};
  cu = found(p, "c.u", cu), bu = found(p, "sub.b.u", bu);
  around(&k, (dual){cu, 0}, (dual){bu, 0}, out);
  solve(&k, cu, bu, (double[]){out[0].d, out[1].d}, s);
  around(&k, (dual){cu, s[0]}, (dual){bu, s[1]}, out);
  expect(p, "c.der(x)", k.c.dx), expect(p, "c.der(v)", k.c.dv);
  expect(p, "sub.a.der(x)", k.a.dx), expect(p, "sub.a.der(v)", k.a.dv);
  expect(p, "sub.b.der(x)", k.b.dx), expect(p, "sub.b.der(v)", k.b.dv);
  expect(p, "q", add(k.r, mul(k.c.y, k.c.y)));
  expect(p, "c.y", k.c.y), expect(p, "c.z", k.c.z), expect(p, "sub.r", k.r);
}

//------------------------------------ files ------------------------------------

static void write_file(const char* path, const char* format, const char* one, const char* two) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  fprintf(f, format, one, two);
#pragma GCC diagnostic pop
  fclose(f);
}

static void build(const char* from, const char* to, int version) {
  cpl_build_def def = cpl_default_build_def();
  char path[4096];
  def.model = from;
  def.output = to;
  def.fmi_version = version;
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, path, sizeof path));
}

static cpl_source* open_file(const char* path) {
  cpl_open_def def = cpl_default_open_def();
  cpl_source* source = NULL;
  def.path = path;
  CHECK_OK(ctx, cpl_open_any(ctx, &def, &source));
  return source;
}

static cpl_model* start(cpl_source* source) {
  cpl_model* m = NULL;
  cpl_setup setup = cpl_default_setup();
  cpl_event_info info = {0};
  CHECK_OK(ctx, source->ops->make_model(source, "whole", &m));
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_OK(ctx, m->ops->event_update(m, &info));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
  return m;
}

//------------------------------------ comparison ------------------------------------

static void go_to(cpl_model* m, const point* p) {
  const cpl_description* d = m->base.desc;
  double x[MANY] = {0};
  CHECK_OK(ctx, m->ops->set_time(m, 0));
  for (int32_t i = 0; i < d->n_states; i++) x[i] = known(p, d->vars[d->states[i]].name).v;
  CHECK_OK(ctx, m->ops->set_states(m, x));
  for (size_t i = 0; i < p->n; i++) {
    uint32_t ref = ref_of(&m->base, p->known[i]);
    if (d->vars[cpl_find_variable(d, p->known[i])].causality != CPL_CAUSALITY_INPUT) continue;
    CHECK_OK(ctx, m->base.ops->set_real(&m->base, &ref, 1, &p->at[i].v));
  }
}

static void check_direction(const point* p) {
  uint32_t knowns[MANY], unknowns[MANY];
  double seed[MANY], got[MANY], largest = 0;
  for (size_t i = 0; i < p->n; i++) knowns[i] = ref_of(p->c, p->known[i]), seed[i] = p->at[i].d;
  for (size_t i = 0; i < p->n_unknowns; i++) {
    unknowns[i] = ref_of(p->c, p->name[i]);
    largest = fmax(largest, fabs(p->change[i]));
  }
  CHECK_OK(ctx, cpl_component_directional(p->c, unknowns, p->n_unknowns, knowns, p->n, seed, got));
  for (size_t i = 0; i < p->n_unknowns; i++) {
    if (fabs(got[i] - p->change[i]) <= 1e-12 * fmax(fabs(p->change[i]), 1e-3 * largest)) continue;
    fail_msg("%s changes by %.17g, not by %.17g", p->name[i], got[i], p->change[i]);
  }
}

typedef struct example {
  const char* known[MANY];
  void (*rule)(point* p);
} example;

static const example chain_example = {{"a.x", "a.v", "b.x", "b.v", "f", "b.w", NULL}, chain};
static const example ring_example = {{"a.x", "a.v", "b.x", "b.v", "a.w", "b.w", NULL}, ring};
static const example outer_example = {
    {"sub.a.x", "sub.a.v", "sub.b.x", "sub.b.v", "c.x", "c.v", "g", "sub.b.w", NULL}, outer};

static double pseudo_random(unsigned* state) {  // in -1 to 1
  *state = *state * 1664525u + 1013904223u;
  return *state / 2147483648.0 - 1;
}

// At some points: in each coordinate direction, and in a direction with all of them.
static void check_model(cpl_model* m, const example* e) {
  unsigned state = 7;
  CHECK(m->base.can.directional);
  for (int at = 0; at < 3; at++) {
    point p = {.c = &m->base};
    for (; e->known[p.n] != NULL; p.n++) p.known[p.n] = e->known[p.n];
    for (size_t i = 0; i < p.n; i++) p.at[i].v = 0.8 * pseudo_random(&state);
    go_to(m, &p);
    for (size_t along = 0; along <= p.n; along++) {
      for (size_t i = 0; i < p.n; i++)
        p.at[i].d = along == p.n ? pseudo_random(&state) : i == along ? 1 : 0;
      p.n_unknowns = 0;
      e->rule(&p);
      check_direction(&p);
    }
  }
}

static void check_source(cpl_source* source, const example* e) {
  cpl_model* m = start(source);
  check_model(m, e);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

static void check_file(const char* path, const example* e) { check_source(open_file(path), e); }

//------------------------------------ tests ------------------------------------

static void of_models_in_c_and_fmus(void** state) {
  (void)state;
  static const char* const members[] = {"c: curve.c", "fmu: curve2.fmu", "fmu: curve3.fmu"};
  for (int i = 0; i < 3; i++) {
    write_file("chain.yaml", chain_yaml, members[i], "");
    write_file("ring.yaml", ring_yaml, members[i], "");
    write_file("inner.yaml", inner_yaml, members[i], "");
    write_file("outer.yaml", outer_yaml, members[(i + 1) % 3], "system: inner.yaml");
    check_file("chain.yaml", &chain_example);
    check_file("ring.yaml", &ring_example);
    check_file("outer.yaml", &outer_example);
  }
}

// The FMU of a system inside a system, which becomes an FMU of the other version.
static void of_fmus_of_systems(void** state) {
  (void)state;
  write_file("inner.yaml", inner_yaml, "fmu: curve3.fmu", "");
  for (int version = 2; version <= 3; version++) {
    build("inner.yaml", "inner.fmu", version);
    write_file("outer.yaml", outer_yaml, "fmu: curve2.fmu", "fmu: inner.fmu");
    check_file("outer.yaml", &outer_example);
    build("outer.yaml", "outer.fmu", 5 - version);
    check_file("outer.fmu", &outer_example);
  }
}

static void by_seeds_and_by_the_adjoint(void** state) {
  (void)state;
  write_file("inner.yaml", inner_yaml, "c: curve.c", "");
  write_file("outer.yaml", outer_yaml, "c: curve.c", "system: inner.yaml");
  build("outer.yaml", "both.fmu", 3);
  for (int adjoint = 0; adjoint < 2; adjoint++) {
    cpl_source* source = open_file("both.fmu");
    cpl_fmu* fmu = (cpl_fmu*)source;
    CHECK(fmu->me.adjoint && fmu->me.can.directional);
    if (adjoint) fmu->me.can.directional = false;  // so that the other function is used
    check_source(source, &outer_example);
  }
}

// Of the embedded solver, at the end of a step.
static void of_co_simulation(void** state) {
  (void)state;
  write_file("chain.yaml", chain_yaml, "c: curve.c", "");
  for (int version = 2; version <= 3; version++) {
    build("chain.yaml", "chain.fmu", version);
    cpl_source* source = open_file("chain.fmu");
    cpl_stepper* s = NULL;
    cpl_setup setup = cpl_default_setup();
    cpl_step_result result;
    CHECK_OK(ctx, source->ops->make_stepper(source, "whole", &s));
    CHECK(s->base.can.directional);
    CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
    CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
    CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
    CHECK_OK(ctx, s->ops->step(s, 0.1, 0.1, &result));
    point p = {.c = &s->base};
    for (; chain_example.known[p.n] != NULL; p.n++) {
      uint32_t ref = ref_of(&s->base, p.known[p.n] = chain_example.known[p.n]);
      CHECK_OK(ctx, s->base.ops->get_real(&s->base, &ref, 1, &p.at[p.n].v));
      p.at[p.n].d = 1.0 / (double)(p.n + 1);
    }
    CHECK(p.at[0].v != 0.3);
    chain(&p);
    check_direction(&p);
    s->base.ops->destroy(&s->base);
    source->ops->destroy(source);
  }
}

static void in_a_process_of_its_own(void** state) {
  (void)state;
  write_file("inner.yaml", inner_yaml, "c: curve.c, isolate: true", "");
  write_file("outer.yaml", outer_yaml, "c: curve.c", "system: inner.yaml, isolate: true");
  check_file("outer.yaml", &outer_example);
}

static void a_part_without_derivatives(void** state) {
  (void)state;
  write_file("bare.c", curve_c, "", "");
  write_file("inner.yaml", inner_yaml, "c: bare.c", "");
  write_file("outer.yaml", outer_yaml, "c: curve.c", "system: inner.yaml");
  cpl_context_use_differences(ctx, true);
  cpl_source* source = open_file("outer.yaml");
  cpl_model* m = start(source);
  cpl_context_use_differences(ctx, false);
  CHECK(!m->base.can.directional && m->base.ops->directional == NULL);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

static cpl_status ask_for(cpl_model* m, const char* unknown, const char* by, double* out) {
  uint32_t u = ref_of(&m->base, unknown), k = ref_of(&m->base, by);
  double one = 1;
  return cpl_component_directional(&m->base, &u, 1, &k, 1, &one, out);
}

// What is constant between events has no derivative, and what depends on no state or input of the
// whole is refused as a known.
static void constants_and_refusals(void** state) {
  (void)state;
  write_file("step.yaml",
             "couplet: 1\n"
             "models: {a: {c: curve.c}, b: {c: curve.c}}\n"
             "inputs: {f: {start: 0.4}}\n"
             "parameters: {k: 2}\n"
             "connections: {a.u: if a.x > 0 then k*a.x else 5, a.w: k*f, b.u: sqrt(f - 0.4)}\n"
             "outputs: {side: if a.v > 0 then 3*f else f, at: time*a.v}\n",
             "", "");
  cpl_source* source = open_file("step.yaml");
  cpl_model* m = start(source);
  double got = NAN;
  CHECK(m->base.can.directional);
  CHECK_OK(ctx, ask_for(m, "a.u", "a.x", &got));
  CHECK_NEAR(got, 2, 0);
  CHECK_OK(ctx, ask_for(m, "side", "f", &got));
  CHECK_NEAR(got, 3, 0);
  CHECK_OK(ctx, ask_for(m, "side", "a.v", &got));
  CHECK_NEAR(got, 0, 0);
  CHECK_OK(ctx, ask_for(m, "a.x", "a.x", &got));
  CHECK_NEAR(got, 1, 0);
  CHECK_OK(ctx, ask_for(m, "k", "a.x", &got));
  CHECK_NEAR(got, 0, 0);
  CHECK_OK(ctx, ask_for(m, "b.u", "a.x", &got));  // its gradient is infinite here
  CHECK_NEAR(got, 0, 0);
  CHECK_OK(ctx, m->ops->set_time(m, 2));
  CHECK_OK(ctx, ask_for(m, "at", "a.v", &got));
  CHECK_NEAR(got, 2, 0);
  CHECK_OK(ctx, ask_for(m, "a.w", "k", &got));
  CHECK_NEAR(got, 0.4, 0);
  CHECK(ask_for(m, "a.w", "a.y", &got) < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "a.y is neither a state nor a continuous input");
  CHECK(ask_for(m, "a.y", "a.u", &got) < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "a.u is neither");
  CHECK_OK(ctx, m->ops->enter_event(m));
  CHECK_OK(ctx, ask_for(m, "side", "f", &got));
  CHECK_NEAR(got, 3, 0);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

// A local variable of an FMU has no derivatives: a system that uses it has none, and one that only
// shows it has differences for it, with a warning.
static void of_a_local_variable_of_an_fmu(void** state) {
  (void)state;
  double got = NAN, exact = NAN;
  write_file("chain.yaml", chain_yaml, "c: curve.c", "");
  build("chain.yaml", "chain.fmu", 2);
  write_file("uses.yaml",
             "couplet: 1\n"
             "models: {s: {fmu: chain.fmu}}\n"
             "connections: {s.f: s.b.z}\n",
             "", "");
  write_file("shows.yaml",
             "couplet: 1\n"
             "models: {s: {fmu: chain.fmu}}\n"
             "record: [s.b.y]\n",
             "", "");
  cpl_source* source = open_file("uses.yaml");
  cpl_model* m = start(source);
  CHECK(!m->base.can.directional);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);

  build("shows.yaml", "shows.fmu", 3);
  source = open_file("shows.fmu");
  ((cpl_fmu*)source)->logging = true;  // FMUs report warnings only then
  m = start(source);
  CHECK(m->base.can.directional);
  CHECK_INT(m->base.desc->vars[cpl_find_variable(m->base.desc, "s.b.y")].causality,
            CPL_CAUSALITY_OUTPUT);
  warnings[0] = '\0';
  CHECK_OK(ctx, ask_for(m, "s.b.der(v)", "s.b.x", &exact));
  CHECK_NEAR(exact, -cos(0.3), 1e-15);
  CHECK_STR(warnings, "");
  CHECK_OK(ctx, ask_for(m, "s.b.y", "s.b.w", &got));
  CHECK_NEAR(got, 0.25, 1e-9);
  CHECK_CONTAINS(warnings, "s.b.y is neither a state");
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

//------------------------------------ cost ------------------------------------

static int asked;  // calls of directional

static int counted(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                   double* d_y) {
  (void)v;
  asked++;
  if (d_dx != NULL) d_dx[0] = d_u[0];
  if (d_y != NULL) d_y[0] = 2 * d_u[0] + d_x[0];
  return CPL_MODEL_OK;
}

// A chain of two models, the first of which is such a chain again.
static cpl_model* nested_chain(cpl_context* c, cpl_source* source, int depth) {
  cpl_model *parts[2] = {NULL}, *m = NULL;
  CHECK_OK(c, source->ops->make_model(source, "b", &parts[1]));
  if (depth > 0) parts[0] = nested_chain(c, source, depth - 1);
  else CHECK_OK(c, source->ops->make_model(source, "a", &parts[0]));
  const cpl_description* d = parts[0]->base.desc;
  int32_t y = cpl_find_variable(d, "y"), u = cpl_find_variable(d, "u");
  const cpl_signal signals[] = {{.name = "u", .kind = CPL_SIGNAL_INPUT},
                                {.name = "y", .kind = CPL_SIGNAL_OUTPUT}};
  const cpl_coupling couplings[] = {
      {.target = {0, u}, .source = {-1, 0}, .factor = 0.5},
      {.target = {1, cpl_find_variable(source->desc, "u")}, .source = {0, y}},
      {.target = {-1, 1}, .source = {1, cpl_find_variable(source->desc, "y")}}};
  cpl_aggregate_def def = cpl_default_aggregate_def();
  def.name = "a";
  def.parts = parts;
  def.n_parts = 2;
  def.signals = signals;
  def.n_signals = 2;
  def.couplings = couplings;
  def.n_couplings = 3;
  CHECK_OK(c, cpl_aggregate(c, &def, &m));
  return m;
}

// y = 2 y_inner + x, y_inner of u / 2: outputs and derivatives of all levels cost two calls per
// model, and no memory after the first time.
static void nesting_costs_as_much_as_its_models(void** state) {
  (void)state;
  enum { DEPTH = 10 };
  static cpl_model_def gain;
  gain = gain_model;
  gain.directional = counted;
  test_heap heap = {.fail_at = -1};
  cpl_context* own_ctx = test_context_with_heap(&heap);
  cpl_source* source = NULL;
  CHECK_OK(own_ctx, cpl_c_define(own_ctx, &gain, &source));
  cpl_model* m = nested_chain(own_ctx, source, DEPTH);
  cpl_setup setup = cpl_default_setup();
  cpl_event_info info = {0};
  CHECK_OK(own_ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(own_ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(own_ctx, m->base.ops->exit_init(&m->base));
  CHECK_OK(own_ctx, m->ops->event_update(m, &info));
  CHECK_OK(own_ctx, m->ops->enter_continuous(m));

  const cpl_description* d = m->base.desc;
  uint32_t unknowns[DEPTH + 3], u = ref_of(&m->base, "u");
  double got[DEPTH + 3], seed = 0;
  CHECK_INT(d->n_states, DEPTH + 2);
  for (int i = 0; i < DEPTH + 2; i++) unknowns[i] = d->vars[d->derivatives[i]].ref;
  unknowns[DEPTH + 2] = ref_of(&m->base, "y");
  long calls = 0;
  for (int round = 0; round < 4; round++) {
    seed = 1 + round, asked = 0;
    CHECK_OK(own_ctx, cpl_component_directional(&m->base, unknowns, DEPTH + 3, &u, 1, &seed, got));
    CHECK_NEAR(got[DEPTH + 2], 2 * seed, 0);  // DEPTH + 2 gains of 2, halved DEPTH + 1 times
    CHECK(asked <= 2 * (DEPTH + 2));
    if (round > 0) CHECK_INT(heap.calls, calls);
    calls = heap.calls;
  }
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
  cpl_context_destroy(own_ctx);
  CHECK_INT(heap.live, 0);
}

// A function without a gradient is differenced: the whole is not exact.
static cpl_status square(void* user, double t, const double* sources, double* out) {
  (void)user, (void)t;
  *out = sources[0] * sources[0];
  return CPL_OK;
}
static void a_function_without_a_gradient(void** state) {
  (void)state;
  static cpl_model_def gain;
  gain = gain_model;
  gain.directional = counted;
  cpl_source* source = NULL;
  cpl_model *part = NULL, *m = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &gain, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "a", &part));
  const cpl_port from = {0, cpl_find_variable(source->desc, "x")};
  const cpl_coupling coupling = {.target = {0, cpl_find_variable(source->desc, "u")},
                                 .function = {.sources = &from, .n_sources = 1, .value = square}};
  cpl_aggregate_def def = cpl_default_aggregate_def();
  def.parts = &part;
  def.n_parts = 1;
  def.couplings = &coupling;
  def.n_couplings = 1;
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &m));
  CHECK(!m->base.can.directional && m->base.ops->directional == NULL);
  CHECK(m->ops->jacobian_times != NULL);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

int main(void) {
  cpl_context_def def = cpl_default_context_def();
  def.log = note;
  ctx = cpl_context_create(&def);
  write_file("curve.c", curve_c, ", .directional = directional", "");
  build("curve.c", "curve2.fmu", 2);
  build("curve.c", "curve3.fmu", 3);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_models_in_c_and_fmus),
      cmocka_unit_test(of_fmus_of_systems),
      cmocka_unit_test(by_seeds_and_by_the_adjoint),
      cmocka_unit_test(of_co_simulation),
      cmocka_unit_test(in_a_process_of_its_own),
      cmocka_unit_test(a_part_without_derivatives),
      cmocka_unit_test(constants_and_refusals),
      cmocka_unit_test(of_a_local_variable_of_an_fmu),
      cmocka_unit_test(nesting_costs_as_much_as_its_models),
      cmocka_unit_test(a_function_without_a_gradient),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
