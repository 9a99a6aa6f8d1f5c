// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "models.h"

static cpl_context* ctx;

//------------------------------------ help ------------------------------------

enum { MAX_PARTS = 40 };

// A system under construction: parts by name, couplings by text "part.var".
typedef struct system_maker {
  cpl_source* sources[MAX_PARTS];
  cpl_model* parts[MAX_PARTS];
  int32_t n_parts;
  cpl_coupling couplings[128];
  cpl_port ports[256];
  int32_t n_couplings, n_ports;
  cpl_signal signals[8];
  int32_t n_signals;
  cpl_external_event events[4];
  int32_t n_events;
} system_maker;

static void add_part(system_maker* s, const char* name, const cpl_model_def* def) {
  CHECK_OK(ctx, cpl_c_define(ctx, def, &s->sources[s->n_parts]));
  CHECK_OK(ctx, s->sources[s->n_parts]->ops->make_model(s->sources[s->n_parts], name,
                                                        &s->parts[s->n_parts]));
  s->n_parts++;
}

static cpl_port port(const system_maker* s, const char* text) {
  const char* dot = strchr(text, '.');
  if (dot == NULL) {
    for (int32_t i = 0; i < s->n_signals; i++) {
      if (strcmp(s->signals[i].name, text) == 0) return (cpl_port){-1, i};
    }
  }
  for (int32_t k = 0; k < s->n_parts && dot != NULL; k++) {
    const char* name = s->parts[k]->base.name;
    if (strlen(name) != (size_t)(dot - text) || strncmp(name, text, strlen(name)) != 0) continue;
    int32_t var = cpl_find_variable(s->parts[k]->base.desc, dot + 1);
    if (var >= 0) return (cpl_port){k, var};
  }
  fail_msg("no port %s", text);
  return (cpl_port){0};
}

static void connect(system_maker* s, const char* target, const char* source) {
  s->couplings[s->n_couplings++] =
      (cpl_coupling){.target = port(s, target), .source = port(s, source)};
}

// A coupling function of up to four sources.
static cpl_coupling* connect_by(system_maker* s, const char* target, const char* const* sources,
                                int32_t n,
                                cpl_status (*value)(void*, double, const double*, double*)) {
  cpl_port* ports = s->ports + s->n_ports;
  for (int32_t i = 0; i < n; i++) ports[i] = port(s, sources[i]);
  s->n_ports += n;
  cpl_coupling* c = &s->couplings[s->n_couplings++];
  *c = (cpl_coupling){.target = port(s, target),
                      .function = {.sources = ports, .n_sources = n, .value = value}};
  return c;
}

static cpl_status aggregate(system_maker* s, const char* name, cpl_model** out) {
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = name,
                           .parts = s->parts,
                           .n_parts = s->n_parts,
                           .signals = s->signals,
                           .n_signals = s->n_signals,
                           .couplings = s->couplings,
                           .n_couplings = s->n_couplings,
                           .events = s->events,
                           .n_events = s->n_events};
  return cpl_aggregate(ctx, &def, out);
}

static void drop_sources(system_maker* s) {
  for (int32_t i = 0; i < s->n_parts; i++) s->sources[i]->ops->destroy(s->sources[i]);
}

//------------------------------------ sections 4.1 and 4.2 ------------------------------------

// x' = a x + b u, y = c x + d u
static int linear_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[0] + v->p[1] * v->u[0];
  return CPL_MODEL_OK;
}
static int linear_outputs(const cpl_values* v, double* y) {
  y[0] = v->p[2] * v->x[0] + v->p[3] * v->u[0];
  return CPL_MODEL_OK;
}
#define LINEAR(id, a, b, c, d, x0)                                                              \
  static const cpl_declaration id##_p[] = {                                                     \
      {"a", .start = a}, {"b", .start = b}, {"c", .start = c}, {"d", .start = d}, END_OF_LIST}; \
  static const cpl_declaration id##_x[] = {{"x", .start = x0}, END_OF_LIST};                    \
  static const cpl_model_def id = {.name = #id,                                                 \
                                   .states = id##_x,                                            \
                                   .inputs = gain_inputs,                                       \
                                   .outputs = gain_output_list,                                 \
                                   .parameters = id##_p,                                        \
                                   .derivatives = linear_derivatives,                           \
                                   .output_values = linear_outputs,                             \
                                   .dependencies = NULL}
LINEAR(simple_a, -1, 0, 1, 0, 9);
LINEAR(simple_b, 0, 1, 0, 0, 2);
LINEAR(loop_a, -1, 1, 1, -1, 9);
LINEAR(loop_b, -1, 1, 0, 0.5, 2);

static void the_simple_system_follows_its_solution(void** state) {
  (void)state;
  system_maker s = {0};
  add_part(&s, "B", &simple_b);  // given in the wrong order
  add_part(&s, "A", &simple_a);
  connect(&s, "B.u", "A.y");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "simple", &m));
  const char* record[] = {"A.x", "B.x", "B.u"};
  recording* r = recording_of(ctx, m, 2, 1e-8, record, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  for (size_t i = 0; i < r->n; i++) {
    CHECK_NEAR(r->value[i][0], 9 * exp(-r->t[i]), 1e-6);
    CHECK_NEAR(r->value[i][1], 11 - 9 * exp(-r->t[i]), 1e-6);
    CHECK_NEAR(r->value[i][2], r->value[i][0], 0);
  }
  drop_run(r);
  drop_sources(&s);
}

// x' = -x + a + b, y = x + a: what the derivative needs besides is set with what the output needs.
static double inputs_of_output[2];
static int with_other_inputs, with_the_same;

static int wheel_derivatives(const cpl_values* v, double* dx) {
  const bool same = memcmp(inputs_of_output, v->u, sizeof inputs_of_output) == 0;
  if (v->t > 0) *(same ? &with_the_same : &with_other_inputs) += 1;
  dx[0] = -v->x[0] + v->u[0] + v->u[1];
  return CPL_MODEL_OK;
}
static int wheel_outputs(const cpl_values* v, double* y) {
  memcpy(inputs_of_output, v->u, sizeof inputs_of_output);
  y[0] = v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration wheel_x[] = {{"x"}, END_OF_LIST}, wheel_y[] = {{"y"}, END_OF_LIST};
static const cpl_declaration wheel_u[] = {{"a"}, {"b"}, END_OF_LIST};
static const cpl_dependency wheel_dependencies[] = {{"der(x)", "x a b"}, {"y", "x a"}, {0}};
static const cpl_model_def wheel = {.name = "wheel",
                                    .states = wheel_x,
                                    .inputs = wheel_u,
                                    .outputs = wheel_y,
                                    .derivatives = wheel_derivatives,
                                    .output_values = wheel_outputs,
                                    .dependencies = wheel_dependencies};

// z' = -z + u, p = z, q = 2 z
static int body_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}
static int body_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0], y[1] = 2 * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration body_x[] = {{"z", .start = 1}, END_OF_LIST};
static const cpl_declaration body_u[] = {{"u"}, END_OF_LIST},
                             body_y[] = {{"p"}, {"q"}, END_OF_LIST};
static const cpl_dependency body_dependencies[] = {{"der(z)", "z u"}, {"p", "z"}, {"q", "z"}, {0}};
static const cpl_model_def body = {.name = "body",
                                   .states = body_x,
                                   .inputs = body_u,
                                   .outputs = body_y,
                                   .derivatives = body_derivatives,
                                   .output_values = body_outputs,
                                   .dependencies = body_dependencies};

static void inputs_of_derivatives_are_set_before_outputs_are_read(void** state) {
  (void)state;
  system_maker s = {0};
  add_part(&s, "body", &body);
  add_part(&s, "wheel", &wheel);
  connect(&s, "body.u", "wheel.y");
  connect(&s, "wheel.a", "body.p");
  connect(&s, "wheel.b", "body.q");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "car", &m));
  const char* record[] = {"body.z"};
  recording* r = recording_of(ctx, m, 2, 1e-8, record, 1);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  const double one = (-1 + sqrt(13)) / 2, two = (-1 - sqrt(13)) / 2;  // z'' = -z' + 3 z
  for (size_t i = 0; i < r->n; i++) {
    const double t = r->t[i], z = (two * exp(one * t) - one * exp(two * t)) / (two - one);
    CHECK_NEAR(r->value[i][0], z, 1e-5);
  }

  with_other_inputs = with_the_same = 0;
  double dx[2];
  CHECK_OK(ctx, m->ops->set_time(m, 3));
  CHECK_OK(ctx, m->ops->set_states(m, (const double[]){4, 5}));  // z, x
  CHECK_OK(ctx, m->ops->get_derivatives(m, dx));
  CHECK_NEAR(dx[0], 5, 1e-12);
  CHECK_NEAR(dx[1], 7, 1e-12);
  CHECK_INT(with_other_inputs, 0);
  CHECK_INT(with_the_same, 1);
  drop_run(r);
  drop_sources(&s);
}

static void check_loop_solution(cpl_model* m, const char* const* record) {
  recording* r = recording_of(ctx, m, 2, 1e-8, record, 4);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  for (size_t i = 0; i < r->n; i++) {
    double t = r->t[i], a = 9 * exp(-2 * t / 3);
    CHECK_NEAR(r->value[i][0], a, 1e-6);
    CHECK_NEAR(r->value[i][1], 2 * a - 16 * exp(-t), 1e-6);
    CHECK_NEAR(r->value[i][2], 2 * r->value[i][0] / 3, 1e-9);  // the loop itself
    CHECK_NEAR(r->value[i][3], r->value[i][0] / 3, 1e-9);
  }
  drop_run(r);
}

static void the_linear_loop_follows_its_solution(void** state) {
  (void)state;
  system_maker s = {0};
  add_part(&s, "A", &loop_a);
  add_part(&s, "B", &loop_b);
  connect(&s, "A.u", "B.y");
  connect(&s, "B.u", "A.y");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "loop", &m));
  const char* record[] = {"A.x", "B.x", "A.y", "B.y"};
  check_loop_solution(m, record);
  drop_sources(&s);
}

// The same system, with B inside an aggregate of its own.
static void an_aggregate_is_a_model_like_any_other(void** state) {
  (void)state;
  system_maker inner = {0}, outer = {0};
  inner.signals[0] = (cpl_signal){.name = "u", .kind = CPL_SIGNAL_INPUT};
  inner.signals[1] = (cpl_signal){.name = "y", .kind = CPL_SIGNAL_OUTPUT};
  inner.n_signals = 2;
  add_part(&inner, "B", &loop_b);
  connect(&inner, "B.u", "u");
  connect(&inner, "y", "B.y");
  cpl_model *box, *m;
  CHECK_OK(ctx, aggregate(&inner, "box", &box));
  add_part(&outer, "A", &loop_a);
  outer.parts[outer.n_parts++] = box;
  connect(&outer, "A.u", "box.y");
  connect(&outer, "box.u", "A.y");
  CHECK_OK(ctx, aggregate(&outer, "nested", &m));
  const char* record[] = {"A.x", "box.B.x", "A.y", "box.y"};
  check_loop_solution(m, record);
  outer.n_parts--;
  drop_sources(&outer);
  drop_sources(&inner);
}

//------------------------------------ loops ------------------------------------

// a + b + c = 0, 2 a - 3 b + 2 c = 9 with c given, and a^2 + b^2 + c^2 = 5 solved for c.
static int plane_outputs(const cpl_values* v, double* y) {
  double c = v->u[0];
  y[0] = 1.8 - c;  // both equations together: b = -1.8
  y[1] = -y[0] - c;
  return CPL_MODEL_OK;
}
static int sphere_outputs(const cpl_values* v, double* y) {
  double rest = 5 - v->u[0] * v->u[0] - v->u[1] * v->u[1];
  if (rest < 0) return cpl_model_error(v, "no real c"), CPL_MODEL_RETRY;
  y[0] = sqrt(rest);
  return CPL_MODEL_OK;
}
static void the_nonlinear_loop_of_two_models_is_solved(void** state) {
  (void)state;
  static const cpl_declaration c_in[] = {{"c", .start = 0.6}, END_OF_LIST},
                               ab_out[] = {{.name = "a"}, {.name = "b"}, END_OF_LIST};
  static const cpl_declaration ab_in[] = {{"a", .start = 1}, {"b", .start = -1.8}, END_OF_LIST},
                               c_out[] = {{.name = "c"}, END_OF_LIST};
  static const cpl_model_def plane = {
      .name = "plane", .inputs = c_in, .outputs = ab_out, .output_values = plane_outputs};
  static const cpl_model_def sphere = {
      .name = "sphere", .inputs = ab_in, .outputs = c_out, .output_values = sphere_outputs};
  system_maker s = {0};
  add_part(&s, "one", &plane);
  add_part(&s, "two", &sphere);
  connect(&s, "one.c", "two.c");
  connect(&s, "two.a", "one.a");
  connect(&s, "two.b", "one.b");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "geometry", &m));
  const char* record[] = {"one.a", "one.b", "two.c"};
  recording* r = recording_of(ctx, m, 1, 1e-6, record, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK_NEAR(last_of(r)[0], 1.164575131, 1e-9);
  CHECK_NEAR(last_of(r)[1], -1.8, 1e-9);
  CHECK_NEAR(last_of(r)[2], 0.635424869, 1e-9);
  drop_run(r);
  drop_sources(&s);
}

// y = 1 + k u closed with u = y: 1/(1 - k), singular at k = 1.
static cpl_status feedback(void* user, double t, const double* y, double* out) {
  const double* slope = user;
  *out = 1 + slope[0] * y[0] + slope[1] * t * y[0];
  return CPL_OK;
}
static int half_outputs(const cpl_values* v, double* y) {
  y[0] = 0.5 * v->u[0];
  return CPL_MODEL_OK;
}
static cpl_status run_feedback(double k, double rate, double* y, double* reached) {
  static const cpl_declaration u_in[] = {{.name = "u"}, END_OF_LIST};
  double slope[] = {k, rate};
  system_maker s = {0};
  static const cpl_model_def half = {
      .name = "half", .inputs = u_in, .outputs = gain_output_list, .output_values = half_outputs};
  add_part(&s, "m", &half);
  const char* sources[] = {"m.y"};
  connect_by(&s, "m.u", sources, 1, feedback)->function.user = slope;
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "feedback", &m));
  const char* record[] = {"m.y"};
  recording* r = recording_of(ctx, m, 1, 1e-6, record, 1);
  cpl_status st = cpl_run(r->stepper, &r->run, &r->stats);
  if (r->n > 0) *y = last_of(r)[0];
  *reached = r->n > 0 ? r->t[r->n - 1] : -1;
  drop_run(r);
  drop_sources(&s);
  return st;
}
static void direct_loops_have_the_exact_value_at_once(void** state) {
  (void)state;
  double y, reached;
  // m has y = 0.5 u here, so that k counts half
  CHECK_OK(ctx, run_feedback(1, 0, &y, &reached));
  CHECK_NEAR(y, 1, 1e-10);  // y = (1 + y)/2
  CHECK_OK(ctx, run_feedback(-6, 0, &y, &reached));
  CHECK_NEAR(y, 0.5 / 4, 1e-10);  // y = 0.5 - 3 y
}

static void a_loop_that_becomes_singular_is_reported(void** state) {
  (void)state;
  double y, reached;
  cpl_status st = run_feedback(0, 4, &y, &reached);  // singular at t = 0.5
  CHECK_INT(st, CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "the algebraic loop through ");
  CHECK_CONTAINS(cpl_context_error(ctx), "m.u");
  CHECK_CONTAINS(cpl_context_error(ctx), "singular");
  CHECK_CONTAINS(cpl_context_error(ctx), "t=0.5");
  CHECK_NEAR(reached, 0.5, 0.01);
}

// y = u, but the description says that y depends on nothing: read in that order, every part would
// be late.
static int follow_outputs(const cpl_values* v, double* y) {
  y[0] = v->u[0];
  return CPL_MODEL_OK;
}
static void a_description_that_is_wrong_is_found_out(void** state) {
  (void)state;
  static const cpl_dependency wrong[] = {{"y", "", NULL}, {0}};
  static const cpl_model_def follower = {.name = "follower",
                                         .inputs = gain_inputs,
                                         .outputs = gain_output_list,
                                         .output_values = follow_outputs,
                                         .dependencies = wrong};
  system_maker s = {0};
  add_part(&s, "A", &simple_a);
  add_part(&s, "f1", &follower);
  add_part(&s, "f2", &follower);
  add_part(&s, "f3", &follower);
  connect(&s, "f1.u", "A.y");
  connect(&s, "f2.u", "f1.y");
  connect(&s, "f3.u", "f2.y");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "late", &m));
  const char* record[] = {"A.x", "f3.y"};
  recording* r = recording_of(ctx, m, 2, 1e-6, record, 2);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  for (size_t i = 0; i < r->n; i++) CHECK_NEAR(r->value[i][1], r->value[i][0], 0);
  drop_run(r);
  drop_sources(&s);
}

//------------------------------------ many parts ------------------------------------

// A ring of parts in groups of five with feed-through inside a group, coupled to the next group
// through a state.
static void run_ring(int n, bool backwards, recording** out) {
  system_maker s = {0};
  char name[MAX_PARTS][8];
  for (int i = 0; i < n; i++) snprintf(name[i], sizeof name[i], "p%02d", backwards ? n - 1 - i : i);
  for (int i = 0; i < n; i++) add_part(&s, name[i], &loop_b);
  for (int i = 0; i < n; i++) {
    char target[16], source[16];
    int next = i % 5 == 4 ? i - 4 : i + 1;
    snprintf(target, sizeof target, "p%02d.u", next);
    snprintf(source, sizeof source, i % 5 == 4 ? "p%02d.x" : "p%02d.y",
             i % 5 == 4 ? (i + 5) % n : i);
    connect(&s, target, source);
  }
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "ring", &m));
  static const char* record[] = {"p00.x", "p07.x", "p19.y"};
  *out = recording_of(ctx, m, 1, 1e-8, record, 3);
  CHECK_OK(ctx, cpl_run((*out)->stepper, &(*out)->run, &(*out)->stats));
  (*out)->stepper->base.ops->destroy(&(*out)->stepper->base);
  (*out)->stepper = NULL;
  drop_sources(&s);
}

static void the_order_of_parts_changes_no_bit(void** state) {
  (void)state;
  recording *a, *b;
  run_ring(20, false, &a);
  run_ring(20, true, &b);
  CHECK_INT(a->n, b->n);
  CHECK(memcmp(a->value, b->value, a->n * sizeof a->value[0]) == 0);
  free(a);
  free(b);
}

// The aggregate's own linear system against differences of its whole right-hand side.
static void the_linear_system_is_that_of_the_whole_right_hand_side(void** state) {
  (void)state;
  system_maker s = {0};
  add_part(&s, "A", &loop_a);
  add_part(&s, "B", &loop_b);
  connect(&s, "A.u", "B.y");
  connect(&s, "B.u", "A.y");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "loop", &m));
  cpl_component* c = &m->base;
  CHECK_OK(ctx, c->ops->setup(c, &(cpl_setup){0}));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  cpl_event_info info;
  CHECK_OK(ctx, m->ops->event_update(m, &info));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
  double x[2] = {3, -1}, plus[2], minus[2], r[2], dx[2];
  const double gamma = 0.3, h = 1e-6;
  double matrix[2][2];
  for (int j = 0; j < 2; j++) {
    double at = x[j];
    x[j] = at + h;
    CHECK_OK(ctx, m->ops->set_states(m, x));
    CHECK_OK(ctx, m->ops->get_derivatives(m, plus));
    x[j] = at - h;
    CHECK_OK(ctx, m->ops->set_states(m, x));
    CHECK_OK(ctx, m->ops->get_derivatives(m, minus));
    x[j] = at;
    for (int i = 0; i < 2; i++) matrix[i][j] = (i == j) - gamma * (plus[i] - minus[i]) / (2 * h);
  }
  CHECK_OK(ctx, m->ops->set_states(m, x));
  CHECK_OK(ctx, m->ops->newton->setup(m, gamma, true));
  for (int k = 0; k < 2; k++) {
    r[0] = k == 0, r[1] = k == 1;
    CHECK_OK(ctx, m->ops->newton->solve(m, r, dx));
    for (int i = 0; i < 2; i++) CHECK_NEAR(matrix[i][0] * dx[0] + matrix[i][1] * dx[1], r[i], 1e-8);
  }
  c->ops->destroy(c);
  drop_sources(&s);
}

//------------------------------------ events ------------------------------------

// A ball of its own model, and a counter in another part that follows its discrete output over a
// coupling.
static int counting_event(const cpl_values* v, cpl_event_actions* a) {
  ball_event(v, a);
  if (a->crossed[0] < 0) a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}
static int double_event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = 2 * v->u[0];
  return CPL_MODEL_OK;
}
static void discrete_values_are_carried_over_in_events(void** state) {
  (void)state;
  static const cpl_declaration hits[] = {{"hits", .type = CPL_INTEGER, .output = true},
                                         END_OF_LIST};
  static const cpl_declaration in[] = {{"n", .type = CPL_INTEGER}, END_OF_LIST},
                               twice[] = {{"twice", .type = CPL_INTEGER, .output = true},
                                          END_OF_LIST};
  cpl_model_def ball = ball_model;
  ball.discrete = hits;
  ball.event = counting_event;
  static const cpl_model_def doubler = {
      .name = "doubler", .inputs = in, .discrete = twice, .event = double_event};
  system_maker s = {0};
  add_part(&s, "again", &doubler);
  add_part(&s, "ball", &ball);
  add_part(&s, "twice", &doubler);
  connect(&s, "twice.n", "ball.hits");
  connect(&s, "again.n", "twice.twice");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "count", &m));
  const char* record[] = {"ball.hits", "again.twice", "ball.h"};
  recording* r = recording_of(ctx, m, 3, 1e-8, record, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  for (size_t i = 0; i < r->n; i++) CHECK_INT(r->value[i][1], 4 * r->value[i][0]);
  CHECK_INT(last_of(r)[0], 6);
  drop_run(r);
  drop_sources(&s);
}

// A mass that knows no wall: x' = v, v' = 0. Walls at 0 and 1 are added from outside.
static int mass_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = 0;
  return CPL_MODEL_OK;
}
typedef struct wall {
  double at, side;
  bool beyond;
} wall;
static cpl_status wall_indicators(void* user, double t, const double* x, double* z) {
  (void)t;
  z[0] = ((wall*)user)->side * (x[0] - ((wall*)user)->at);
  return CPL_OK;
}
static cpl_status wall_settle(void* user, double t, const double* x, bool* changed) {
  double z;
  wall* w = user;
  wall_indicators(user, t, x, &z);
  *changed = w->beyond != (z > 0);
  w->beyond = z > 0;
  return CPL_OK;
}
static cpl_status wall_beyond(void* user, double t, const double* x, double* out) {
  (void)t, (void)x;
  *out = ((wall*)user)->beyond;
  return CPL_OK;
}
static cpl_status reverse(void* user, double t, const double* v, double* out) {
  (void)user, (void)t;
  out[0] = -v[0];
  return CPL_OK;
}
static void walls_can_be_added_from_outside(void** state) {
  (void)state;
  static const cpl_declaration states[] = {{"x", .start = 0.25}, {"v", .start = 1}, END_OF_LIST};
  static const cpl_model_def mass = {
      .name = "mass", .states = states, .derivatives = mass_derivatives};
  system_maker s = {0};
  add_part(&s, "m", &mass);
  wall walls[] = {{0, -1, false}, {1, 1, false}};
  cpl_port x = port(&s, "m.x"), v = port(&s, "m.v");
  for (int i = 0; i < 2; i++) {
    s.events[i] = (cpl_external_event){.name = i == 0 ? "left" : "right",
                                       .condition = {.sources = &x,
                                                     .n_sources = 1,
                                                     .value = wall_beyond,
                                                     .n_indicators = 1,
                                                     .indicators = wall_indicators,
                                                     .settle = wall_settle,
                                                     .user = &walls[i]},
                                       .targets = &v,
                                       .n_targets = 1,
                                       .assign = {.sources = &v, .n_sources = 1, .value = reverse}};
  }
  static const double kick_at[] = {3.0};
  s.events[2] = (cpl_external_event){.name = "kick",
                                     .times = kick_at,
                                     .n_times = 1,
                                     .targets = &v,
                                     .n_targets = 1,
                                     .assign = {.sources = &v, .n_sources = 1, .value = reverse}};
  s.n_events = 3;
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "walls", &m));
  const char* record[] = {"m.x", "m.v"};
  recording* r = recording_of(ctx, m, 4, 1e-8, record, 2);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  for (size_t i = 0; i < r->n; i++) {  // a triangle wave, turned round at t = 3
    double t = r->t[i] <= 3 ? r->t[i] : 6 - r->t[i];
    double phase = fmod(t + 0.25, 2);
    CHECK_NEAR(r->value[i][0], phase <= 1 ? phase : 2 - phase, 1e-7);
  }
  drop_run(r);
  drop_sources(&s);
}

//------------------------------------ trouble ------------------------------------

static void couplings_that_make_no_sense_are_refused(void** state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    system_maker s = {0};
    add_part(&s, k == 2 ? "B" : "A", &loop_a);
    add_part(&s, "B", &loop_b);
    if (k == 0) connect(&s, "A.u", "B.y"), connect(&s, "A.u", "A.x");
    if (k == 1) connect(&s, "A.y", "B.y");
    cpl_model* m;
    CHECK_INT(aggregate(&s, "bad", &m), CPL_ERR_INPUT);
    const char* messages[] = {"coupled twice", "no input", "two models are called B"};
    CHECK_CONTAINS(cpl_context_error(ctx), messages[k]);
    drop_sources(&s);
  }
}

static void a_failing_part_is_named(void** state) {
  (void)state;
  system_maker s = {0};
  add_part(&s, "fine", &simple_a);
  add_part(&s, "broken", &simple_b);
  connect(&s, "broken.u", "fine.y");
  cpl_model* m;
  CHECK_OK(ctx, aggregate(&s, "two", &m));
  const char* record[] = {"nobody.x"};
  recording* r = recording_of(ctx, m, 1, 1e-6, record, 1);
  CHECK_INT(cpl_run(r->stepper, &r->run, &r->stats), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "nobody.x");
  drop_run(r);
  drop_sources(&s);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  cpl_context* kept = ctx;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* small = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (small != NULL) {
      cpl_source* sources[2] = {0};
      cpl_model *parts[2] = {0}, *m = NULL;
      st = cpl_c_define(small, &loop_a, &sources[0]);
      if (st >= 0) st = cpl_c_define(small, &loop_b, &sources[1]);
      if (st >= 0) st = sources[0]->ops->make_model(sources[0], "A", &parts[0]);
      if (st >= 0) st = sources[1]->ops->make_model(sources[1], "B", &parts[1]);
      if (st >= 0) {
        int32_t u = cpl_find_variable(sources[0]->desc, "u"),
                y = cpl_find_variable(sources[0]->desc, "y");
        cpl_coupling couplings[] = {{.target = {0, u}, .source = {1, y}},
                                    {.target = {1, u}, .source = {0, y}}};
        cpl_aggregate_def def = {.size = sizeof def,
                                 .name = "loop",
                                 .parts = parts,
                                 .n_parts = 2,
                                 .couplings = couplings,
                                 .n_couplings = 2};
        st = cpl_aggregate(small, &def, &m);
      } else {
        for (int i = 0; i < 2; i++) {
          if (parts[i] != NULL) parts[i]->base.ops->destroy(&parts[i]->base);
        }
      }
      if (m != NULL) m->base.ops->destroy(&m->base);
      for (int i = 0; i < 2; i++) {
        if (sources[i] != NULL) sources[i]->ops->destroy(sources[i]);
      }
      cpl_context_destroy(small);
    }
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
  ctx = kept;
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_simple_system_follows_its_solution),
      cmocka_unit_test(inputs_of_derivatives_are_set_before_outputs_are_read),
      cmocka_unit_test(the_linear_loop_follows_its_solution),
      cmocka_unit_test(an_aggregate_is_a_model_like_any_other),
      cmocka_unit_test(the_nonlinear_loop_of_two_models_is_solved),
      cmocka_unit_test(direct_loops_have_the_exact_value_at_once),
      cmocka_unit_test(a_loop_that_becomes_singular_is_reported),
      cmocka_unit_test(a_description_that_is_wrong_is_found_out),
      cmocka_unit_test(the_order_of_parts_changes_no_bit),
      cmocka_unit_test(the_linear_system_is_that_of_the_whole_right_hand_side),
      cmocka_unit_test(discrete_values_are_carried_over_in_events),
      cmocka_unit_test(walls_can_be_added_from_outside),
      cmocka_unit_test(couplings_that_make_no_sense_are_refused),
      cmocka_unit_test(a_failing_part_is_named),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
