// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A component in another process offers the operations that it offers in this one, and every one of
// them gives the same bytes: a system of two models with an algebraic loop and constraints, and
// a stepper that implements all that a stepper can. The other process is a forked one, and another
// rank: with --rank this program is started by mpirun, which COUPLET_MPIRUN names.
#include "couplet/aggregate.h"
#include "couplet/component.h"
#include "couplet/isolate.h"
#include "couplet/ranks.h"
#include "model/distribution.h"
#include "model/operations.h"
#include "models.h"

//------------------------------------ a system ------------------------------------

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1] + 0.3 * v->u[0];
  dx[1] = -2 * v->x[0] + sin(v->u[0]);
  return CPL_MODEL_OK;
}
static int outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0] + v->u[0] * v->u[0] / 7;
  return CPL_MODEL_OK;
}
static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  if (d_dx != NULL) {
    d_dx[0] = d_x[1] + 0.3 * d_u[0];
    d_dx[1] = -2 * d_x[0] + cos(v->u[0]) * d_u[0];
  }
  if (d_y != NULL) d_y[0] = d_x[0] + 2 * v->u[0] * d_u[0] / 7;
  return CPL_MODEL_OK;
}
static int constraints(const cpl_values* v, double* c) {
  c[0] = 2 * v->x[0] * v->x[0] + v->x[1] * v->x[1] - 1.5;
  return CPL_MODEL_OK;
}
static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 0.1;
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .start = 0.6}, {"w", .start = 0.9}, END_OF_LIST};
static const cpl_declaration inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration out_list[] = {{"y"}, END_OF_LIST};
static const cpl_model_def swing = {.name = "swing",
                                    .states = states,
                                    .inputs = inputs,
                                    .outputs = out_list,
                                    .derivatives = derivatives,
                                    .output_values = outputs,
                                    .directional = directional,
                                    .n_indicators = 1,
                                    .indicators = indicators,
                                    .n_constraints = 1,
                                    .constraints = constraints};

typedef struct factory {
  cpl_source base;
  cpl_source* inner;
  cpl_model* example;  // its description is that of the source
} factory;

static cpl_status make_pair(cpl_source* src, const char* name, cpl_model** out) {
  cpl_source* inner = ((factory*)src)->inner;
  cpl_model* parts[2];
  cpl_coupling couplings[2];
  for (int i = 0; i < 2; i++) {
    cpl_status st = cpl_source_make_model(inner, i == 0 ? "a" : "b", &parts[i]);
    if (st < 0) return st;
    couplings[i] = (cpl_coupling){.target = {i, cpl_find_variable(inner->desc, "u")},
                                  .source = {1 - i, cpl_find_variable(inner->desc, "y")}};
  }
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = name,
                           .parts = parts,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = 2};
  return cpl_aggregate(src->ctx, &def, out);
}

static void destroy_factory(cpl_source* src) {
  factory* f = (factory*)src;
  cpl_model_destroy(f->example);
  cpl_source_destroy(f->inner);
}

static const cpl_source_ops pair_ops = {
    .size = sizeof pair_ops, .kind = "pair", .destroy = destroy_factory, .make_model = make_pair};

//------------------------------------ a stepper ------------------------------------

// x' = u, exactly; one state, one input, one output, one Binary.
typedef struct toy {
  cpl_stepper base;
  double t, x;
  cpl_curve u;
  uint8_t bytes[16];
  size_t n_bytes;
} toy;

static cpl_status toy_nothing(cpl_component* c) {
  (void)c;
  return CPL_OK;
}
static void toy_destroy(cpl_component* c) { free(c); }
static cpl_status toy_setup(cpl_component* c, const cpl_setup* s) {
  ((toy*)c)->t = s->start_time;
  return CPL_OK;
}
static cpl_status toy_get_real(cpl_component* c, const uint32_t* refs, size_t n, double* v) {
  for (size_t i = 0; i < n; i++) v[i] = ((toy*)c)->x * (refs[i] + 1);
  return CPL_OK;
}
static cpl_status toy_set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* v) {
  if (n > 0 && refs[0] == 0) ((toy*)c)->x = v[0];
  return CPL_OK;
}
static cpl_status toy_get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                  int64_t* v) {
  for (size_t i = 0; i < n; i++) v[i] = (int64_t)(1e6 * ((toy*)c)->x) + refs[i] + (int64_t)type;
  return CPL_OK;
}
static cpl_status toy_set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                  const int64_t* v) {
  (void)refs, (void)type;
  if (n > 0) ((toy*)c)->x = (double)v[0];
  return CPL_OK;
}
static cpl_status toy_get_string(cpl_component* c, const uint32_t* refs, size_t n, const char** v) {
  (void)c, (void)refs;
  for (size_t i = 0; i < n; i++) v[i] = "of a toy";
  return CPL_OK;
}
static cpl_status toy_set_string(cpl_component* c, const uint32_t* refs, size_t n,
                                 const char* const* v) {
  (void)c, (void)refs, (void)n, (void)v;
  return CPL_OK;
}
static cpl_status toy_get_binary(cpl_component* c, const uint32_t* refs, size_t n, cpl_binary* v) {
  (void)refs;
  for (size_t i = 0; i < n; i++) v[i] = (cpl_binary){((toy*)c)->bytes, ((toy*)c)->n_bytes};
  return CPL_OK;
}
static cpl_status toy_set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                 const cpl_binary* v) {
  (void)refs, (void)n;
  memcpy(((toy*)c)->bytes, v[0].data, v[0].size);
  ((toy*)c)->n_bytes = v[0].size;
  return CPL_OK;
}
static cpl_status toy_save(cpl_component* c, cpl_snapshot* s) {
  if (s->data == NULL) s->data = malloc(2 * sizeof(double));
  memcpy(s->data, &((toy*)c)->t, 2 * sizeof(double));
  return CPL_OK;
}
static cpl_status toy_restore(cpl_component* c, const cpl_snapshot* s) {
  memcpy(&((toy*)c)->t, s->data, 2 * sizeof(double));
  return CPL_OK;
}
static void toy_forget(cpl_component* c, cpl_snapshot* s) {
  (void)c;
  free(s->data);
  s->data = NULL;
}
static cpl_status toy_serialize(cpl_component* c, const cpl_snapshot* s, cpl_binary* bytes) {
  (void)c;
  *bytes = (cpl_binary){s->data, 2 * sizeof(double)};
  return CPL_OK;
}
static cpl_status toy_deserialize(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* s) {
  if (bytes->size != 2 * sizeof(double))
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "%s: %zu bytes are no state", c->name, bytes->size);
  if (s->data == NULL) s->data = malloc(bytes->size);
  memcpy(s->data, bytes->data, bytes->size);
  return CPL_OK;
}
static cpl_status toy_directional(cpl_component* c, const uint32_t* unknowns, size_t nu,
                                  const uint32_t* knowns, size_t nk, const double* seed,
                                  double* out) {
  for (size_t i = 0; i < nu; i++) {
    out[i] = ((toy*)c)->x;
    for (size_t k = 0; k < nk; k++) out[i] += seed[k] * (unknowns[i] + 1.5 * knowns[k]);
  }
  return CPL_OK;
}
static cpl_status toy_inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  (void)child;
  cpl_inspection_add(out, (cpl_counter){"place", "m", ((const toy*)c)->x, false});
  return CPL_OK;
}
static const cpl_component_ops toy_ops = {.size = sizeof toy_ops,
                                          .kind = "toy",
                                          .destroy = toy_destroy,
                                          .setup = toy_setup,
                                          .enter_init = toy_nothing,
                                          .exit_init = toy_nothing,
                                          .terminate = toy_nothing,
                                          .reset = toy_nothing,
                                          .get_real = toy_get_real,
                                          .set_real = toy_set_real,
                                          .get_integer = toy_get_integer,
                                          .set_integer = toy_set_integer,
                                          .get_string = toy_get_string,
                                          .set_string = toy_set_string,
                                          .get_binary = toy_get_binary,
                                          .set_binary = toy_set_binary,
                                          .save = toy_save,
                                          .restore = toy_restore,
                                          .forget = toy_forget,
                                          .serialize = toy_serialize,
                                          .deserialize = toy_deserialize,
                                          .directional = toy_directional,
                                          .inspect = toy_inspect};

static cpl_status toy_step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  toy* k = (toy*)s;
  double a = k->t - k->u.from, b = t_end - k->u.from;
  for (int i = 0; i <= k->u.order; i++)
    k->x += k->u.coefficient[i] * (pow(b, i + 1) - pow(a, i + 1)) / (i + 1);
  k->t = t_end;
  *r = (cpl_step_result){.end = t_limit > t_end ? CPL_STEP_EVENT : CPL_STEP_DONE,
                         .time = t_end,
                         .event_handled = true,
                         .stop = 3,
                         .again = true};
  return CPL_OK;
}
static cpl_status toy_set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  (void)ref;
  ((toy*)s)->u = *curve;
  return CPL_OK;
}
static cpl_status toy_max_step(cpl_stepper* s, double* h) {
  *h = 0.5 + ((toy*)s)->x;
  return CPL_OK;
}
static cpl_status toy_ahead(cpl_stepper* s, double t_end, double t_limit, double* until) {
  (void)t_end;
  *until = (((toy*)s)->t + t_limit) / 2;
  return CPL_OK;
}
static cpl_status toy_set_states(cpl_stepper* s, const int32_t* list, size_t n, const double* v) {
  for (size_t i = 0; i < n; i++) ((toy*)s)->x = v[i] + list[i];
  return CPL_OK;
}
static cpl_status toy_wants_update(cpl_stepper* s, bool* wanted, double* margin) {
  *wanted = true;
  *margin = ((toy*)s)->x / 3;
  return CPL_OK;
}
static cpl_status toy_value_time(cpl_stepper* s, uint32_t ref, double* since, double* next) {
  *since = ((toy*)s)->t - ref;
  *next = ((toy*)s)->t + ref;
  return CPL_OK;
}
static double toy_next_break(cpl_stepper* s, double tolerance) { return ((toy*)s)->t + tolerance; }
static const cpl_stepper_ops toy_stepper_ops = {.size = sizeof toy_stepper_ops,
                                                .step = toy_step,
                                                .set_curve = toy_set_curve,
                                                .max_step = toy_max_step,
                                                .ahead = toy_ahead,
                                                .set_states = toy_set_states,
                                                .wants_update = toy_wants_update,
                                                .value_time = toy_value_time,
                                                .next_break = toy_next_break};

static const cpl_description toy_desc = {.name = "toy", .kind = "test"};

static cpl_status make_toy(cpl_source* src, const char* name, cpl_stepper** out) {
  toy* k = calloc(1, sizeof *k);
  k->base =
      (cpl_stepper){.base = {.ops = &toy_ops, .desc = &toy_desc, .ctx = src->ctx, .name = name},
                    .ops = &toy_stepper_ops};
  *out = &k->base;
  return CPL_OK;
}
static void leave_source(cpl_source* src) { (void)src; }
static const cpl_source_ops toy_source_ops = {.size = sizeof toy_source_ops,
                                              .kind = "toy",
                                              .destroy = leave_source,
                                              .make_stepper = make_toy};

//------------------------------------ comparison ------------------------------------

// Everything that is read is appended to one list, in the same order for both components.
typedef struct list {
  unsigned char bytes[1 << 14];
  size_t n;
} list;

static void add(list* l, const void* data, size_t size) {
  CHECK(l->n + size <= sizeof l->bytes);
  memcpy(l->bytes + l->n, data, size);
  l->n += size;
}

static void check_same(const list* here, const list* there) {
  CHECK_INT(there->n, here->n);
  for (size_t i = 0; i < here->n; i++) CHECK_INT(there->bytes[i], here->bytes[i]);
}

#define SAME(table, name) CHECK_INT((there->name) != NULL, (here->name) != NULL);

static void check_component(const cpl_component_ops* here, const cpl_component_ops* there) {
#define X(table, name, ...)   CHECK_##table(name)
#define CHECK_component(name) SAME(component, name)
#define CHECK_model(name)
#define CHECK_newton(name)
#define CHECK_constraint(name)
#define CHECK_dae(name)
#define CHECK_stepper(name)
  CPLI_OPERATIONS(X) CPLI_REPORT_OPERATIONS(X)
#undef CHECK_component
#undef CHECK_model
#define CHECK_component(name)
#define CHECK_model(name) SAME(model, name)
}

static void check_model(const cpl_model_ops* here, const cpl_model_ops* there) {
  CPLI_OPERATIONS(X)
  CPLI_REPORT_OPERATIONS(X)
  SAME(model, newton)
  SAME(model, constraints)
  SAME(model, dae)
  CHECK(there->split == NULL && there->structure == NULL);  // models of the other process
#undef CHECK_model
#undef CHECK_newton
#define CHECK_model(name)
#define CHECK_newton(name) SAME(newton, name)
}

static void check_newton(const cpl_newton_ops* here, const cpl_newton_ops* there) {
  CPLI_OPERATIONS(X) CPLI_REPORT_OPERATIONS(X)
#undef CHECK_newton
#undef CHECK_constraint
#define CHECK_newton(name)
#define CHECK_constraint(name) SAME(constraint, name)
}

static void check_constraint(const cpl_constraint_ops* here, const cpl_constraint_ops* there) {
  CPLI_OPERATIONS(X) CPLI_REPORT_OPERATIONS(X)
#undef CHECK_constraint
#undef CHECK_stepper
#define CHECK_constraint(name)
#define CHECK_stepper(name) SAME(stepper, name)
}

static void check_stepper(const cpl_stepper_ops* here, const cpl_stepper_ops* there) {
  CPLI_OPERATIONS(X) CPLI_REPORT_OPERATIONS(X)
}

//------------------------------------ models ------------------------------------

enum { N = 4 };  // states

static void begin(cpl_model* m) {
  cpl_context* ctx = m->base.ctx;
  cpl_event_info info;
  cpl_setup setup = cpl_default_setup();
  CHECK_OK(ctx, cpl_component_setup(&m->base, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(&m->base));
  CHECK_OK(ctx, cpl_component_exit_init(&m->base));
  CHECK_OK(ctx, cpl_model_event_update(m, &info));
  CHECK_OK(ctx, cpl_model_enter_continuous(m));
}

static void read_constraints(cpl_model* m, list* l) {
  cpl_context* ctx = m->base.ctx;
  const cpl_constraint_ops* ops = m->ops->constraints;
  const int32_t *first = NULL, *column = NULL;
  size_t n = 0;
  double c[2] = {0}, entries[2 * N] = {0};
  char name[64];
  CHECK_OK(ctx, ops->count(m, &n));
  CHECK_INT(n, 2);
  CHECK_OK(ctx, ops->get(m, c));
  CHECK_OK(ctx, ops->pattern(m, &first, &column));
  CHECK(first[2] >= N && first[2] <= 2 * N);
  CHECK_OK(ctx, ops->entries(m, entries));
  ops->name(m, 1, name, sizeof name);
  add(l, c, sizeof c);
  add(l, first, 3 * sizeof *first);
  add(l, column, (size_t)first[2] * sizeof *column);
  add(l, entries, sizeof entries);
  add(l, name, strlen(name));
}

static void read_newton(cpl_model* m, size_t n, bool bordered, list* l) {
  cpl_context* ctx = m->base.ctx;
  static const int32_t first[] = {0, 2}, column[] = {0, 3};
  static const double rows[] = {1.5, -0.5}, columns[] = {0.25, 2};
  static const bool taken[] = {true};
  const cpl_border b = {.n = 1,
                        .n_shaped = 1,
                        .first = first,
                        .column = column,
                        .rows = rows,
                        .columns = columns,
                        .taken = taken};
  double r[2 * N + 1], dx[2 * N + 1] = {0};
  for (size_t i = 0; i < 2 * N + 1; i++) r[i] = 0.1 + (double)i;
  if (bordered) CHECK_OK(ctx, m->ops->newton->border(m, &b));
  CHECK_OK(ctx, m->ops->newton->setup(m, 0.05, true));
  CHECK_OK(ctx, m->ops->newton->solve(m, r, dx));
  add(l, dx, (n + bordered) * sizeof *dx);
  if (bordered) CHECK_NEAR(1.5 * dx[0] - 0.5 * dx[3], r[n], 1e-9);  // its row
}

static void read_model(cpl_model* m, bool as_dae, list* l) {
  cpl_context* ctx = m->base.ctx;
  const double x[N] = {0.4, -0.7, 1.1, 0.2}, v[N] = {1, -2, 0.5, 3};
  double out[N] = {0}, z[8] = {0.3, 0.1};
  size_t na = 0;
  if (as_dae) CHECK_OK(ctx, m->ops->dae->use_residuals(m, &na));
  CHECK_INT(na > 0, as_dae);
  begin(m);
  CHECK_OK(ctx, cpl_model_set_time(m, 0.5));
  CHECK_OK(ctx, cpl_model_set_states(m, x));
  if (as_dae) {
    CHECK_OK(ctx, m->ops->dae->set_algebraics(m, z));
    CHECK_OK(ctx, m->ops->dae->get_residuals(m, z));
    add(l, z, na * sizeof *z);
    CHECK_OK(ctx, m->ops->dae->get_algebraic_nominals(m, z));
    add(l, z, na * sizeof *z);
  }
  CHECK_OK(ctx, cpl_model_get_derivatives(m, out));
  add(l, out, sizeof out);
  CHECK_OK(ctx, cpl_model_get_indicators(m, out));
  add(l, out, 2 * sizeof *out);
  if (!as_dae) CHECK_OK(ctx, m->ops->jacobian_times(m, v, out));
  add(l, out, sizeof out);
  read_newton(m, N + na, false, l);
  read_constraints(m, l);
  read_newton(m, N + na, true, l);
  read_constraints(m, l);
  cpl_break next = m->ops->next_break(m, 0.5, 1e-6);
  add(l, &next.time, sizeof next.time);
}

static void compare_models(cpl_model* here, cpl_model* there, bool as_dae) {
  check_component(here->base.ops, there->base.ops);
  check_model(here->ops, there->ops);
  check_newton(here->ops->newton, there->ops->newton);
  check_constraint(here->ops->constraints, there->ops->constraints);
  static list a, b;
  a.n = b.n = 0;
  read_model(here, as_dae, &a);
  read_model(there, as_dae, &b);
  check_same(&a, &b);
  cpl_model_destroy(here);
  cpl_model_destroy(there);
}

static void make_factory(cpl_context* ctx, factory* f) {
  *f = (factory){.base = {.ops = &pair_ops, .ctx = ctx, .path = "pair"}};
  CHECK_OK(ctx, cpl_c_define(ctx, &swing, &f->inner));
  CHECK_OK(ctx, make_pair(&f->base, "pair", &f->example));
  f->base.desc = f->example->base.desc;
}

static void models(void** state) {
  (void)state;
  for (int as_dae = 0; as_dae < 2; as_dae++) {
    cpl_context* ctx = cpl_context_create(NULL);
    factory f;
    make_factory(ctx, &f);
    cpl_source* apart = NULL;
    cpl_model *here = NULL, *there = NULL;
    CHECK_OK(ctx, cpl_isolate(&f.base, NULL, &apart));
    CHECK_OK(ctx, make_pair(&f.base, "pair", &here));
    CHECK_OK(ctx, cpl_source_make_model(apart, "pair", &there));
    compare_models(here, there, as_dae);
    cpl_source_destroy(apart);
    cpl_context_destroy(ctx);
  }
}

//------------------------------------ steppers ------------------------------------

static void read_values(cpl_component* c, list* l) {
  cpl_context* ctx = c->ctx;
  const uint32_t refs[] = {0, 7};
  double reals[2] = {0}, seed[] = {0.5, 4};
  int64_t integers[2];
  const char* texts[2];
  cpl_binary bytes = {(const uint8_t*)"four", 4}, got;
  CHECK_OK(ctx, cpl_component_set_binary(c, refs, 1, &bytes));
  CHECK_OK(ctx, cpl_component_get_binary(c, refs, 1, &got));
  add(l, got.data, got.size);
  CHECK_OK(ctx, cpl_component_get_real(c, refs, 2, reals));
  CHECK_OK(ctx, cpl_component_get_integer(c, CPL_INTEGER, refs, 2, integers));
  CHECK_OK(ctx, cpl_component_directional(c, refs, 2, refs, 2, seed, reals));
  CHECK_OK(ctx, cpl_component_get_string(c, refs, 2, texts));
  add(l, texts[1], strlen(texts[1]));
  add(l, reals, sizeof reals);
  add(l, integers, sizeof integers);
}

static void read_saved(cpl_component* c, list* l) {
  cpl_context* ctx = c->ctx;
  cpl_snapshot saved = {0}, copy = {0};
  cpl_binary bytes;
  const uint32_t ref = 0;
  const double other = 99;
  unsigned char kept[64];
  CHECK_OK(ctx, cpl_component_save(c, &saved));
  CHECK_OK(ctx, cpl_component_serialize(c, &saved, &bytes));
  CHECK(bytes.size > 0 && bytes.size <= sizeof kept);
  memcpy(kept, bytes.data, bytes.size);
  add(l, kept, bytes.size);
  CHECK_OK(ctx, cpl_component_set_real(c, &ref, 1, &other));
  bytes.data = kept;
  CHECK_OK(ctx, cpl_component_deserialize(c, &bytes, &copy));
  CHECK_OK(ctx, cpl_component_restore(c, &copy));
  double x = cpl_component_counter(c, "place");
  add(l, &x, sizeof x);
  bytes.size = 3;
  CHECK_INT(cpl_component_deserialize(c, &bytes, &copy), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "toy: 3 bytes are no state");
  cpl_component_forget(c, &saved);
  cpl_component_forget(c, &copy);
}

static void read_stepper(cpl_stepper* s, list* l) {
  cpl_context* ctx = s->base.ctx;
  cpl_setup setup = cpl_default_setup();
  setup.start_time = 0.25;
  cpl_curve u = {.from = 0.25, .order = 2, .coefficient = {1, 2, -3}};
  cpl_step_result r;
  double numbers[7] = {0};
  bool wanted = false;
  const int32_t state = 2;
  CHECK_OK(ctx, cpl_component_setup(&s->base, &setup));
  CHECK_OK(ctx, cpl_stepper_set_curve(s, 1, &u));
  CHECK_OK(ctx, cpl_stepper_step(s, 0.75, 2, &r));
  numbers[0] = r.time + r.stop + r.end + r.again + r.event_handled;
  CHECK_OK(ctx, cpl_stepper_max_step(s, &numbers[1]));
  CHECK_OK(ctx, s->ops->ahead(s, 1, 3, &numbers[2]));
  CHECK_OK(ctx, s->ops->wants_update(s, &wanted, &numbers[3]));
  CHECK_OK(ctx, s->ops->value_time(s, 4, &numbers[4], &numbers[5]));
  numbers[6] = s->ops->next_break(s, 1e-3);
  CHECK_NEAR(numbers[1], 0.5 + 0.5 + 0.25 - 0.125, 1e-12);
  CHECK(wanted);
  add(l, numbers, sizeof numbers);
  read_values(&s->base, l);
  read_saved(&s->base, l);
  CHECK_OK(ctx, cpl_stepper_set_states(s, &state, 1, numbers));
  read_values(&s->base, l);
}

static void compare_steppers(cpl_stepper* here, cpl_stepper* there) {
  check_component(here->base.ops, there->base.ops);
  check_stepper(here->ops, there->ops);
  static list a, b;
  a.n = b.n = 0;
  read_stepper(here, &a);
  read_stepper(there, &b);
  check_same(&a, &b);
  cpl_stepper_destroy(here);
  cpl_stepper_destroy(there);
}

static void steppers(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_source source = {.ops = &toy_source_ops, .desc = &toy_desc, .ctx = ctx, .path = "toy"};
  cpl_source* apart = NULL;
  cpl_stepper *here = NULL, *there = NULL;
  CHECK_OK(ctx, cpl_isolate(&source, NULL, &apart));
  CHECK_OK(ctx, make_toy(&source, "toy", &here));
  CHECK_OK(ctx, cpl_source_make_stepper(apart, "toy", &there));
  compare_steppers(here, there);
  cpl_source_destroy(apart);
  cpl_context_destroy(ctx);
}

//------------------------------------ what is refused ------------------------------------

static const cpl_description* any_structure(cpl_model* m, int32_t i) {
  return i == 0 ? m->base.desc : NULL;
}

static cpl_status make_varying(cpl_source* src, const char* name, cpl_model** out) {
  static cpl_model_ops ops;
  cpl_status st = make_pair(src, name, out);
  if (st < 0) return st;
  ops = *(*out)->ops;
  ops.structure = any_structure;
  (*out)->ops = &ops;
  return st;
}

static void variable_structure_is_refused(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_source_ops ops = pair_ops;
  ops.make_model = make_varying;
  factory f = {.base = {.ops = &ops, .ctx = ctx, .path = "pair"}};
  CHECK_OK(ctx, cpl_c_define(ctx, &swing, &f.inner));
  CHECK_OK(ctx, make_pair(&f.base, "pair", &f.example));
  f.base.desc = f.example->base.desc;
  cpl_source* apart = NULL;
  cpl_model* there = NULL;
  CHECK_OK(ctx, cpl_isolate(&f.base, NULL, &apart));
  CHECK_INT(cpl_source_make_model(apart, "both", &there), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "both: a model of variable structure cannot run");
  CHECK(there == NULL);
  cpl_source_destroy(apart);
  cpl_context_destroy(ctx);
}

//------------------------------------ in another rank ------------------------------------

// The first instance is one of rank 0, the second one is in rank 1.
static void compare_over_ranks(cpl_source* spread, const char* what) {
  cpl_context* ctx = spread->ctx;
  cpl_model *here = NULL, *there = NULL;
  cpl_stepper *s = NULL, *t = NULL;
  if (strcmp(what, "stepper") == 0) {
    CHECK_OK(ctx, cpl_source_make_stepper(spread, "toy", &s));
    CHECK_OK(ctx, cpl_source_make_stepper(spread, "toy", &t));
    CHECK_INT(s->base.can.remote, 0);
    CHECK_INT(t->base.can.remote, 2);
    compare_steppers(s, t);
    return;
  }
  CHECK_OK(ctx, cpl_source_make_model(spread, "pair", &here));
  CHECK_OK(ctx, cpl_source_make_model(spread, "pair", &there));
  CHECK_INT(there->base.can.remote, 2);
  compare_models(here, there, strcmp(what, "dae") == 0);
}

static int be_rank(const char* what) {
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_ranks* ranks = NULL;
  cpl_source toys = {.ops = &toy_source_ops, .desc = &toy_desc, .ctx = ctx, .path = "toy"};
  factory f;
  make_factory(ctx, &f);
  cpl_source* spread = strcmp(what, "stepper") == 0 ? &toys : &f.base;
  CHECK_OK(ctx, cpl_ranks_join(ctx, NULL, &ranks));
  CHECK_INT(cpl_ranks_count(ranks), 2);
  CHECK_OK(ctx, cpli_distribute(&spread));
  if (cpl_ranks_number(ranks) > 0) CHECK_OK(ctx, cpl_ranks_serve(ranks, CPL_OK));
  else compare_over_ranks(spread, what);
  cpl_source_destroy(spread);
  if (spread != &f.base && strcmp(what, "stepper") == 0) destroy_factory(&f.base);
  cpl_ranks_leave(ranks);
  cpl_context_destroy(ctx);
  return 0;
}

static const char* self;

static void in_another_rank(void** state) {
  (void)state;
  static const char* const all[] = {"model", "dae", "stepper"};
  const char* mpirun = getenv("COUPLET_MPIRUN");
  if (mpirun == NULL || mpirun[0] == '\0') {
    if (getenv("COUPLET_NEEDS_MPI") != NULL) fail_msg("this build is one without MPI");
    skip();
  }
  for (int i = 0; i < 3; i++) {
    char command[4096];
    snprintf(command, sizeof command, "%s -n 2 '%s' --rank %s", mpirun, self, all[i]);
    CHECK_INT(system(command), 0);
  }
}

int main(int argc, char** argv) {
  self = argv[0];
  if (argc == 3 && strcmp(argv[1], "--rank") == 0) return be_rank(argv[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(steppers),
                                     cmocka_unit_test(variable_structure_is_refused),
                                     cmocka_unit_test(in_another_rank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
