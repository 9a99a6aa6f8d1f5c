// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Adjoint gradients against closed forms and against forward sensitivities: a stiff model, state
// and time events, start values and initial equations, integrals; what they cost; what is refused.
#include "couplet/sensitivity.h"

#include "base/base.h"
#include "couplet/experiment.h"
#include "models.h"

static cpl_context* ctx;

//------------------------------------ models ------------------------------------

// x' = a until the time `switch`, x' = b from then on.
static int ramp_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->w[0] > 0 ? v->p[1] : v->p[0];
  return CPL_MODEL_OK;
}
static int ramp_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[2];
  return CPL_MODEL_OK;
}
static int ramp_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->time_event) a->w[0] = 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration one_state[] = {{"x"}, END_OF_LIST};
static const cpl_declaration ramp_discrete[] = {{"late", .type = CPL_BOOLEAN}, END_OF_LIST};
static const cpl_declaration ramp_parameters[] = {
    {"a", .start = 2}, {"b", .start = -3}, {"switch", .start = 0.5}, END_OF_LIST};
static const cpl_model_def ramp = {.name = "ramp",
                                   .states = one_state,
                                   .discrete = ramp_discrete,
                                   .parameters = ramp_parameters,
                                   .derivatives = ramp_derivatives,
                                   .initialize = ramp_initialize,
                                   .event = ramp_event,
                                   .stop_time = 2};

// x(0) = k^2, x' = -k x + u
static int begun_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->p[0] * v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}
static int begun_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->x[0] = v->p[0] * v->p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration begun_inputs[] = {{"u", .start = 1}, END_OF_LIST};
static const cpl_declaration begun_parameters[] = {{"k", .start = 2}, END_OF_LIST};
static const cpl_model_def begun = {.name = "begun",
                                    .states = one_state,
                                    .inputs = begun_inputs,
                                    .parameters = begun_parameters,
                                    .derivatives = begun_derivatives,
                                    .initialize = begun_initialize,
                                    .stop_time = 1};

// x' = k, and from `top` on from zero again; y = x is discontinuous there.
static int fills_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0];
  return CPL_MODEL_OK;
}
static int fills_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - v->p[1];
  return CPL_MODEL_OK;
}
static int fills_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->x[0] = v->p[2] * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration fills_parameters[] = {
    {"k", .start = 2}, {"top", .start = 1}, {"left", .start = 0.25}, END_OF_LIST};
static const cpl_model_def fills = {.name = "fills",
                                    .states = one_state,
                                    .parameters = fills_parameters,
                                    .n_indicators = 1,
                                    .derivatives = fills_derivatives,
                                    .indicators = fills_indicators,
                                    .event = fills_event,
                                    .stop_time = 1};

// Robertson's reactions: rates from 0.04 to 3e7.
static int stiff_derivatives(const cpl_values* v, double* dx) {
  double a = v->p[0] * v->x[0], b = v->p[1] * v->x[1] * v->x[2], c = v->p[2] * v->x[1] * v->x[1];
  dx[0] = -a + b;
  dx[1] = a - b - c;
  dx[2] = c;
  return CPL_MODEL_OK;
}
static const cpl_declaration stiff_states[] = {
    {"A", .start = 1}, {"B", .nominal = 1e-5}, {"C"}, END_OF_LIST};
static const cpl_declaration stiff_parameters[] = {
    {"k1", .start = 0.04}, {"k2", .start = 1e4}, {"k3", .start = 3e7}, END_OF_LIST};
static const cpl_model_def stiff = {.name = "stiff",
                                    .states = stiff_states,
                                    .parameters = stiff_parameters,
                                    .derivatives = stiff_derivatives,
                                    .stop_time = 40};

// x' = -k (x - hold), where hold is gain times x, sampled every 0.3.
static int sampled_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->p[0] * (v->x[0] - v->w[0]);
  return CPL_MODEL_OK;
}
static int sampled_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->p[1] * v->x[0];
  a->next_time = 0.3;
  return CPL_MODEL_OK;
}
static int sampled_event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  a->w[0] = v->p[1] * v->x[0];
  a->next_time = v->t + 0.3;
  return CPL_MODEL_OK;
}
static const cpl_declaration sampled_states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_declaration sampled_discrete[] = {{"hold"}, END_OF_LIST};
static const cpl_declaration sampled_parameters[] = {
    {"k", .start = 2}, {"gain", .start = 0.5}, END_OF_LIST};
static const cpl_model_def sampled = {.name = "sampled",
                                      .states = sampled_states,
                                      .discrete = sampled_discrete,
                                      .parameters = sampled_parameters,
                                      .derivatives = sampled_derivatives,
                                      .initialize = sampled_initialize,
                                      .event = sampled_event,
                                      .stop_time = 1};

//------------------------------------ runs ------------------------------------

enum { MAX_NAMES = 512 };

typedef struct request {
  const cpl_model_def* of;
  cpl_source* source;  // Nullable: of `of`
  const char* y[4];
  const char* k[MAX_NAMES + 1];
  const char* solver;
  double rtol, atol, stop;
  cpl_start start;
} request;

static size_t count(const char* const* names, size_t most) {
  size_t n = 0;
  while (n < most && names[n] != NULL) n++;
  return n;
}

static double last_row[64];
static size_t n_columns;
static cpl_status count_columns(void* user, const cpl_column* columns, size_t n) {
  (void)user;
  (void)columns;
  n_columns = n;
  return CPL_OK;
}
static cpl_status keep_row(void* user, double t, const cpl_value* values) {
  (void)user;
  (void)t;
  for (size_t i = 0; i < n_columns; i++) last_row[i] = values[i].real;
  return CPL_OK;
}

static cpl_status run_as(const request* q, bool adjoint, double* out, double* values,
                         cpl_gradient_stats* stats) {
  cpl_source* source = q->source;
  cpl_experiment* e = NULL;
  cpl_experiment_def times = cpl_default_experiment_def();
  times.rtol = q->rtol > 0 ? q->rtol : 1e-11;
  if (q->atol > 0) times.atol = q->atol;
  if (q->stop > 0) times.stop = q->stop;
  times.solver = q->solver;
  cpl_sensitivity_def def = cpl_default_sensitivity_def();
  def.of = q->y, def.n_of = count(q->y, 4);
  def.to = q->k, def.n_to = count(q->k, MAX_NAMES);
  def.adjoint = adjoint;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  cpl_status st = source == NULL ? cpl_c_define(ctx, q->of, &source) : CPL_OK;
  settings.source = source, settings.experiment = &times, settings.sensitivity = &def;
  settings.starts = &q->start, settings.n_starts = q->start.name != NULL;
  if (st >= 0) st = cpl_experiment_create(ctx, &settings, &e);
  if (st >= 0 && adjoint) st = cpl_experiment_gradients(e, out, values, stats);
  if (st >= 0 && !adjoint) {
    cpl_run_def* run = cpl_experiment_run_def(e);
    run->on_columns = count_columns;
    run->on_point = keep_row;
    st = cpl_experiment_prepare(e);
    if (st >= 0) st = cpl_run(cpl_experiment_stepper(e), run, NULL);
    for (size_t i = 0; i < def.n_of * def.n_to && st >= 0; i++) out[i] = last_row[i];
  }
  cpl_experiment_destroy(e);
  if (q->source == NULL) cpl_source_destroy(source);
  return st;
}

static cpl_status run(const request* q, double* out, double* values) {
  return run_as(q, true, out, values, NULL);
}

static void check_all(const double* values, const double* expected, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++)
    CHECK_NEAR(values[i], expected[i], tolerance * fmax(1, fabs(expected[i])));
}

static void refuses(const request* q, cpl_status st, const char* text) {
  double values[8];
  CHECK_INT(run(q, values, NULL), st);
  CHECK_CONTAINS(cpl_context_error(ctx), text);
}

//------------------------------------ tests ------------------------------------

static void gradients_are_those_of_forward_sensitivities(void** state) {
  (void)state;
  static const request cases[] = {
      {.of = &stiff, .y = {"A", "C"}, .k = {"k1", "k2", "k3", "A"}, .atol = 1e-13},
      {.of = &ball_model, .y = {"h", "v"}, .k = {"e", "g", "h", "v"}, .stop = 3.6, .rtol = 1e-12},
      {.of = &ball_model, .y = {"v"}, .k = {"e"}, .stop = 2, .solver = "dopri5"},
      {.of = &stiff, .y = {"B"}, .k = {"k1", "k3"}, .solver = "radau", .atol = 1e-13, .stop = 1},
      {.of = &fills, .y = {"x"}, .k = {"k", "top", "left", "x"}},
      {.of = &ramp, .y = {"x"}, .k = {"a", "b", "switch", "x"}},
      {.of = &begun, .y = {"x"}, .k = {"k", "u"}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    double adjoint[8], forward[8];
    size_t n = count(cases[c].y, 4) * count(cases[c].k, MAX_NAMES);
    CHECK_OK(ctx, run(&cases[c], adjoint, NULL));
    CHECK_OK(ctx, run_as(&cases[c], false, forward, NULL, NULL));
    for (size_t i = 0; i < n; i++)
      CHECK_NEAR(adjoint[i], forward[i], 1e-7 * fmax(fabs(forward[i]), 1e-9));
  }
}

static void time_events_move(void** state) {
  (void)state;
  double values[3], x, t = 2;
  request q = {.of = &ramp, .y = {"x"}, .k = {"a", "b", "switch"}};
  CHECK_OK(ctx, run(&q, values, &x));
  check_all(values, (const double[]){0.5, t - 0.5, 2 - -3}, 3, 1e-9);
  CHECK_NEAR(x, 0.5 * 2 - 1.5 * 3, 1e-9);
  // at the end of the run: the last row is after it
  q.stop = 0.5;
  CHECK_OK(ctx, run(&q, values, NULL));
  check_all(values, (const double[]){0.5, 0, 5}, 3, 1e-9);
}

// x = (k^2 - u / k) exp(-k t) + u / k
static void initial_equations_and_inputs(void** state) {
  (void)state;
  double values[2], k = 3, u = 1, t = 1, decay = exp(-k * t);
  request q = {.of = &begun, .y = {"final(x)"}, .k = {"k", "u"}, .start = {"k", "3"}};
  CHECK_OK(ctx, run(&q, values, NULL));
  double by_k = (2 * k + u / k / k) * decay - t * (k * k - u / k) * decay - u / k / k;
  check_all(values, (const double[]){by_k, (1 - decay) / k}, 2, 1e-9);
  request wrong = {.of = &begun, .y = {"x"}, .k = {"x"}};
  refuses(&wrong, CPL_ERR_INPUT, "after the initialisation");
}

// From 0 to the first reset at top / k, then from left top; the second one is after the end.
static void integrals_contain_the_times_of_events(void** state) {
  (void)state;
  double values[6], integrals[2], k = 2, top = 1, left = 0.25, end = 0.8;
  double one = top / k, two = end - one;
  request q = {.of = &fills, .y = {"integral(x)", "x"}, .k = {"k", "top", "left"}, .stop = end};
  CHECK_OK(ctx, run(&q, values, integrals));
  CHECK_NEAR(integrals[0], top * one / 2 + left * top * two + k * two * two / 2, 1e-9);
  CHECK_NEAR(integrals[1], left * top + k * two, 1e-9);
  double later[3] = {-top / k / k, 1 / k, 0}, start[3] = {0, left, top};
  for (int i = 0; i < 3; i++) {
    // d(top one / 2) = one / 2 dtop + top / 2 done; d two = -done
    double by = (i == 1 ? one / 2 : 0) + top / 2 * later[i] + start[i] * two +
                (i == 0 ? two * two / 2 : 0) - (left * top + k * two) * later[i];
    CHECK_NEAR(values[i], by, 1e-8);
    CHECK_NEAR(values[3 + i], start[i] + (i == 0 ? two : 0) - k * later[i], 1e-8);
  }
}

static void what_cannot_be_right_is_refused(void** state) {
  (void)state;
  request q = {.of = &sampled, .y = {"x"}, .k = {"gain"}};
  refuses(&q, CPL_ERR_UNSUPPORTED, "the discrete variable hold depends on x");
  q = (request){.of = &ball_model, .y = {"h"}, .k = {"e"}, .stop = INFINITY};
  refuses(&q, CPL_ERR_INPUT, "stop time");
  q = (request){.of = &ball_model, .y = {"mean(h)"}, .k = {"e"}};
  refuses(&q, CPL_ERR_INPUT, "mean(h)");
  q = (request){.of = &ball_model, .y = {"h"}, .k = {"e", "e"}};
  refuses(&q, CPL_ERR_INPUT, "given twice");
}

// A source whose models cannot save their states.
typedef struct forgetful {
  cpl_source base;
  cpl_source* of;
} forgetful;
static cpl_status make_forgetful(cpl_source* src, const char* name, cpl_model** out) {
  cpl_status st = cpl_source_make_model(((forgetful*)src)->of, name, out);
  if (st >= 0) (*out)->base.can.save_restore = false;
  return st;
}

static void an_event_without_saved_states_is_refused(void** state) {
  (void)state;
  static const cpl_source_ops ops = {
      .size = sizeof ops, .kind = "forgetful", .make_model = make_forgetful};
  forgetful f = {.base = {.ops = &ops, .ctx = ctx}};
  double values[1];
  CHECK_OK(ctx, cpl_c_define(ctx, &ball_model, &f.of));
  f.base.desc = f.of->desc;
  request q = {.source = &f.base, .y = {"h"}, .k = {"e"}, .stop = 1};
  CHECK_INT(run(&q, values, NULL), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "the state of ball cannot be saved");
  q.stop = 0.4;  // without events none is needed
  CHECK_OK(ctx, run(&q, values, NULL));
  CHECK_NEAR(values[0], 0, 1e-12);
  cpl_source_destroy(f.of);
}

//------------------------------------ cost ------------------------------------

// A plate of 10 x 20 cells, each with two parameters of its own.
enum { WIDTH = 20, HEIGHT = 10, CELLS = WIDTH * HEIGHT };
static long evaluations;
static int cell_derivatives(const cpl_values* v, double* dx) {
  double x = v->x[0];
  evaluations++;
  dx[0] = 50 * (v->u[0] + v->u[1] + v->u[2] + v->u[3] - 4 * x) - v->p[0] * x * x * x * x + v->p[1];
  return CPL_MODEL_OK;
}
static int cell_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration cell_states[] = {{"T", .start = 1}, END_OF_LIST};
static const cpl_declaration cell_inputs[] = {
    {"west"}, {"east"}, {"north"}, {"south"}, END_OF_LIST};
static const cpl_declaration cell_output_list[] = {{"y"}, END_OF_LIST};
static const cpl_declaration cell_parameters[] = {
    {"loss", .start = 0.5}, {"gain", .start = 0.2}, END_OF_LIST};
static const cpl_dependency cell_dependencies[] = {
    {"der(T)", "T west east north south"}, {"y", "T", "constant"}, {0}};
static const cpl_model_def cell = {.name = "cell",
                                   .states = cell_states,
                                   .inputs = cell_inputs,
                                   .outputs = cell_output_list,
                                   .parameters = cell_parameters,
                                   .derivatives = cell_derivatives,
                                   .output_values = cell_outputs,
                                   .dependencies = cell_dependencies};

typedef struct plate {
  cpl_source base;
  cpl_source* cell;
  cpl_model* first;  // has the description
} plate;

static cpl_status make_plate(cpl_source* src, const char* name, cpl_model** out) {
  static const int dr[] = {0, 0, -1, 1}, dc[] = {-1, 1, 0, 0};
  static const char* const sides[] = {"west", "east", "north", "south"};
  cpl_source* of = ((plate*)src)->cell;
  cpl_model* cells[CELLS];
  cpl_coupling couplings[4 * CELLS] = {0};
  int32_t n = 0, y = cpl_find_variable(of->desc, "y");
  cpl_status st = CPL_OK;
  for (int i = 0; i < CELLS; i++) {
    char text[20];
    snprintf(text, sizeof text, "m%d", i);
    st = cpl_source_make_model(of, text, &cells[i]);
    if (st < 0) return st;
    for (int s = 0; s < 4; s++) {
      int row = i / WIDTH + dr[s], column = i % WIDTH + dc[s];
      bool inside = row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH;
      couplings[n++] = (cpl_coupling){.target = {i, cpl_find_variable(of->desc, sides[s])},
                                      .source = {inside ? row * WIDTH + column : i, y}};
    }
  }
  cpl_aggregate_def def = cpl_default_aggregate_def();
  def.name = name, def.parts = cells, def.n_parts = CELLS;
  def.couplings = couplings, def.n_couplings = n;
  return cpl_aggregate(src->ctx, &def, out);
}

static void open_plate(plate* p) {
  static const cpl_source_ops ops = {.size = sizeof ops, .kind = "plate", .make_model = make_plate};
  *p = (plate){.base = {.ops = &ops, .ctx = ctx}};
  CHECK_OK(ctx, cpl_c_define(ctx, &cell, &p->cell));
  CHECK_OK(ctx, make_plate(&p->base, "plate", &p->first));
  p->base.desc = p->first->base.desc;
}

static void close_plate(plate* p) {
  cpl_model_destroy(p->first);
  cpl_source_destroy(p->cell);
}

static char names[2 * CELLS][20];

static void name_parameters(request* q, int n) {
  static const char* const of_cell[] = {"loss", "gain"};
  for (int i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "m%d.%s", i % CELLS, of_cell[i / CELLS]);
    q->k[i] = names[i];
  }
}

// The forward sensitivities of three, and all of them.
static void the_number_of_parameters_hardly_matters(void** state) {
  (void)state;
  plate p;
  open_plate(&p);
  static request q;
  static double gradients[2 * CELLS], forward[3];
  cpl_gradient_stats one = {0}, all = {0};
  q = (request){.source = &p.base, .y = {"m105.T"}, .rtol = 1e-9, .atol = 1e-11, .stop = 0.2};
  long cost[3];
  for (int i = 0; i < 3; i++) {
    name_parameters(&q, i == 0 ? 1 : i * CELLS);
    evaluations = 0;
    CHECK_OK(ctx, run_as(&q, true, gradients, NULL, i == 0 ? &one : &all));
    cost[i] = evaluations;
  }
  print_message("evaluations of cells: %ld for 1 parameter, %ld for %d, %ld for %d\n", cost[0],
                cost[1], CELLS, cost[2], 2 * CELLS);
  CHECK(cost[1] < 1.5 * cost[0] && cost[2] < 2 * cost[0]);
  CHECK_INT(one.instances, 3);
  CHECK_INT(all.instances, 5);
  CHECK_INT(all.events, 0);
  CHECK(all.points <= 5 * all.forward.steps + 1);
  static request few;
  few = (request){.source = &p.base, .y = {"m105.T"}, .rtol = 1e-9, .atol = 1e-11, .stop = 0.2};
  few.k[0] = "m105.loss", few.k[1] = "m3.gain", few.k[2] = "m104.gain";
  evaluations = 0;
  CHECK_OK(ctx, run_as(&few, false, forward, NULL, NULL));
  print_message("with sensitivities: %ld for 3\n", evaluations);
  CHECK_NEAR(gradients[105], forward[0], 1e-7 * fabs(forward[0]));
  CHECK_NEAR(gradients[CELLS + 3], forward[1], 1e-7 * fabs(forward[1]));
  CHECK_NEAR(gradients[CELLS + 104], forward[2], 1e-7 * fabs(forward[2]));
  close_plate(&p);
}

// Start values share instances, too.
static void start_values_share_instances(void** state) {
  (void)state;
  plate p;
  open_plate(&p);
  static request q;
  double adjoint[3], forward[3];
  cpl_gradient_stats stats;
  q = (request){.source = &p.base, .y = {"m105.T"}, .rtol = 1e-9, .atol = 1e-11, .stop = 0.1};
  q.k[0] = "m105.T", q.k[1] = "m104.T", q.k[2] = "m104.gain";
  CHECK_OK(ctx, run_as(&q, true, adjoint, NULL, &stats));
  CHECK_OK(ctx, run_as(&q, false, forward, NULL, NULL));
  for (int i = 0; i < 3; i++) CHECK_NEAR(adjoint[i], forward[i], 1e-7 * fabs(forward[i]));
  CHECK_INT(stats.instances, 5);
  close_plate(&p);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  cpl_context* kept = ctx;
  for (long n = 0, fine = 0; !fine; n++) {
    test_heap heap = {.fail_at = n};
    double values[8];
    ctx = test_context_with_heap(&heap);
    if (ctx == NULL) continue;
    request q = {.of = &ball_model, .y = {"h"}, .k = {"e"}, .stop = 0.6, .rtol = 1e-5};
    cpl_status st = run(&q, values, NULL);
    CHECK(st == CPL_ERR_NOMEM || st == CPL_OK);
    fine = st == CPL_OK;
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
  }
  ctx = kept;
}

int main(void) {
  ctx = test_context();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_those_of_forward_sensitivities),
      cmocka_unit_test(time_events_move),
      cmocka_unit_test(initial_equations_and_inputs),
      cmocka_unit_test(integrals_contain_the_times_of_events),
      cmocka_unit_test(what_cannot_be_right_is_refused),
      cmocka_unit_test(an_event_without_saved_states_is_refused),
      cmocka_unit_test(the_number_of_parameters_hardly_matters),
      cmocka_unit_test(start_values_share_instances),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
