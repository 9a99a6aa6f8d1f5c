// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer by itself, with steppers that are simple to foresee: x rises evenly until it meets
// its limit.
#include "couplet/modes.h"
#include "couplet/component.h"

#include "testing.h"

enum { X, RATE, LIMIT, N, S, N_VARS };

typedef struct fake {
  cpl_stepper base;
  double x, rate, limit, t;
  int64_t n;
  char s[20];
  bool set[N_VARS];
  bool pending, ended;
  int lives;
} fake;

// What all fakes of a test do.
static struct {
  bool late;       // the start value of x is calculated
  bool no_reset;   // a reset fails
  double distort;  // initialisation changes x by so much
  int made, alive;
} habits;

static cpl_variable vars[N_VARS] = {
    [X] = {.name = "x",
           .type = CPL_REAL,
           .causality = CPL_CAUSALITY_OUTPUT,
           .variability = CPL_VARIABILITY_CONTINUOUS},
    [RATE] = {.name = "rate", .type = CPL_REAL, .causality = CPL_CAUSALITY_PARAMETER},
    [LIMIT] = {.name = "limit", .type = CPL_REAL, .causality = CPL_CAUSALITY_PARAMETER},
    [N] = {.name = "n", .type = CPL_INTEGER, .variability = CPL_VARIABILITY_DISCRETE},
    [S] = {.name = "s", .type = CPL_STRING, .causality = CPL_CAUSALITY_PARAMETER},
};
static const int32_t states[] = {X}, derivatives[] = {-1};
static cpl_description description = {.name = "fake",
                                      .kind = "fake",
                                      .vars = vars,
                                      .n_vars = N_VARS,
                                      .states = states,
                                      .derivatives = derivatives,
                                      .n_states = 1};

static fake* of(cpl_component* c) { return (fake*)c; }

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  habits.alive--;
  free(c);
}
static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  of(c)->t = s->start_time;
  return CPL_OK;
}
static cpl_status nothing(cpl_component* c) {
  (void)c;
  return CPL_OK;
}
static cpl_status exit_init(cpl_component* c) {
  of(c)->x += habits.distort;
  of(c)->lives++;
  return CPL_OK;
}
static cpl_status reset(cpl_component* c) {
  if (habits.no_reset) return cpl_fail(c->ctx, CPL_ERR_MODEL, "no way back");
  fake* f = of(c);
  f->x = f->rate = 1, f->limit = 1e9, f->n = 0, f->pending = f->ended = false;
  memset(f->set, 0, sizeof f->set);
  return CPL_OK;
}
static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  for (size_t i = 0; i < n; i++) values[i] = (&of(c)->x)[refs[i]];
  return CPL_OK;
}
static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  for (size_t i = 0; i < n; i++) {
    if (habits.late && refs[i] == X) return cpl_fail(c->ctx, CPL_ERR_MODEL, "x is calculated");
    (&of(c)->x)[refs[i]] = values[i];
    of(c)->set[refs[i]] = true;
  }
  return CPL_OK;
}
static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  (void)type, (void)refs;
  if (n > 0) values[0] = of(c)->n;
  return CPL_OK;
}
static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  (void)type, (void)refs;
  if (n > 0) of(c)->n = values[0];
  return CPL_OK;
}
static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n, const char** v) {
  (void)refs;
  if (n > 0) v[0] = of(c)->s;
  return CPL_OK;
}
static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* v) {
  (void)refs;
  if (n > 0) snprintf(of(c)->s, sizeof of(c)->s, "%s", v[0]);
  return CPL_OK;
}
static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  fake* f = (fake*)s;
  (void)t_limit;
  *r = (cpl_step_result){.time = f->t};
  if (f->pending) f->ended = true, f->pending = false, r->event_handled = true;
  double when = f->t + (f->limit - f->x) / f->rate;
  double to = fmin(t_end, when);
  if (!f->ended && to > f->t) {
    f->x += f->rate * (to - f->t);
    f->t = to;
    f->pending = to == when;
  }
  *r = (cpl_step_result){.end = f->ended     ? CPL_STEP_TERMINATE
                                : f->pending ? CPL_STEP_EVENT
                                             : CPL_STEP_DONE,
                         .time = f->t,
                         .event_handled = r->event_handled,
                         .stop = 1};
  return CPL_OK;
}
static cpl_status set_states(cpl_stepper* s, const int32_t* which, size_t n, const double* values) {
  for (size_t i = 0; i < n; i++) (&((fake*)s)->x)[which[i]] = values[i];
  return CPL_OK;
}

static const cpl_component_ops component_ops = {.size = sizeof(cpl_component_ops),
                                                .kind = "fake",
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = nothing,
                                                .exit_init = exit_init,
                                                .terminate = nothing,
                                                .reset = reset,
                                                .get_real = get_real,
                                                .set_real = set_real,
                                                .get_integer = get_integer,
                                                .set_integer = set_integer,
                                                .get_string = get_string,
                                                .set_string = set_string};
static const cpl_stepper_ops with_states = {
    .size = sizeof(cpl_stepper_ops), .step = step, .set_states = set_states};
static const cpl_stepper_ops without_states = {.size = sizeof(cpl_stepper_ops), .step = step};

static cpl_stepper* new_fake(cpl_context* ctx, const cpl_stepper_ops* ops) {
  fake* f = calloc(1, sizeof *f);
  f->base = (cpl_stepper){.base = {.ops = &component_ops,
                                   .desc = &description,
                                   .ctx = ctx,
                                   .name = "fake",
                                   .can = {.variable_step = true, .dense_output = true}},
                          .ops = ops};
  f->x = f->rate = 1;
  f->limit = 1e9;
  strcpy(f->s, "?");
  habits.alive++;
  return &f->base;
}

static cpl_status make(void* user, cpl_stepper** out) {
  habits.made++;
  *out = new_fake(user, &with_states);
  return CPL_OK;
}

static int begin(void** state) {
  memset(&habits, 0, sizeof habits);
  for (int i = 0; i < N_VARS; i++) {
    vars[i].ref = i < N ? (uint32_t)i : 0;
    vars[i].description = "";
    vars[i].unit = vars[i].display_unit = vars[i].declared_type = -1;
    vars[i].derivative_of = vars[i].alias_of = -1;
    vars[i].nominal = 1;
    vars[i].initial = CPL_INITIAL_EXACT;
  }
  *state = test_context();
  return 0;
}

static int end(void** state) {
  CHECK_INT(habits.alive, 0);
  cpl_context_destroy(*state);
  return 0;
}

//------------------------------------ definitions ------------------------------------

// From the old x, and from the mode with the number 0 when it was left last.
static cpl_status map(void* user, double t, const double* sources, double* targets) {
  (void)user;
  targets[0] = 10 * sources[0];
  targets[1] = t + sources[1];
  return CPL_OK;
}

// A short way to go.
static cpl_status map_short(void* user, double t, const double* sources, double* targets) {
  (void)user, (void)t, (void)sources;
  targets[0] = 1;
  targets[1] = 1.25;
  return CPL_OK;
}

static const cpl_mode_value sources[] = {{-1, X}, {-1, N}};
static const int32_t targets[] = {X, LIMIT};
static const cpl_mode_copy copies[] = {{N, N, 0, 0}, {S, S, 0, 0}, {RATE, RATE, 2, 1}};

typedef struct setting {
  cpl_transition out[1];
  cpl_mode modes[2];
  cpl_modes_def def;
} setting;

static const cpl_mode_start first[] = {
    {LIMIT, .number = 3}, {N, .integer = 7}, {S, .text = "hello"}};

static void fill(setting* s, cpl_context* ctx, const cpl_stepper_ops* second) {
  s->out[0] = (cpl_transition){.to = 1,
                               .stop = 1,
                               .copies = copies,
                               .n_copies = 3,
                               .sources = sources,
                               .n_sources = 2,
                               .targets = targets,
                               .n_targets = 2,
                               .map = map,
                               .text = "one way"};
  s->modes[0] = (cpl_mode){.name = "a",
                           .stepper = new_fake(ctx, &with_states),
                           .starts = first,
                           .n_starts = 3,
                           .leave = s->out,
                           .n_leave = 1};
  s->modes[1] =
      (cpl_mode){.name = "b", .stepper = new_fake(ctx, second), .make = make, .user = ctx};
  s->def = cpl_default_modes_def();
  s->def.modes = s->modes;
  s->def.n_modes = 2;
}

static cpl_stepper* started(cpl_context* ctx, setting* s) {
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_modes(ctx, &s->def, &m));
  cpl_setup how = {.start_time = 0};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &how));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  return m;
}

static double real_of(cpl_stepper* m, const char* name) {
  int32_t var = cpl_find_variable(m->base.desc, name);
  CHECK(var >= 0);
  double value = 0;
  CHECK_INT(m->base.ops->get_real(&m->base, &m->base.desc->vars[var].ref, 1, &value), CPL_OK);
  return value;
}

static int64_t mode_of(cpl_stepper* m) {
  int64_t value = 0;
  uint32_t ref = m->base.desc->vars[cpl_find_variable(m->base.desc, "mode")].ref;
  CHECK_INT(m->base.ops->get_integer(&m->base, CPL_ENUMERATION, &ref, 1, &value), CPL_OK);
  return value;
}

static const char* text_of(cpl_stepper* m, const char* name) {
  const char* value = NULL;
  uint32_t ref = m->base.desc->vars[cpl_find_variable(m->base.desc, name)].ref;
  CHECK_INT(m->base.ops->get_string(&m->base, &ref, 1, &value), CPL_OK);
  return value;
}

// x: 1 to 3 at t = 2, then 30, rate 3, limit 9.
static void check_switch(cpl_context* ctx, cpl_stepper* m) {
  cpl_step_result r;
  CHECK_OK(ctx, m->ops->step(m, 5, 5, &r));
  CHECK_INT(r.end, CPL_STEP_EVENT);
  CHECK_NEAR(r.time, 2, 1e-12);
  CHECK_INT(mode_of(m), 1);
  CHECK_NEAR(real_of(m, "a.x"), 3, 1e-12);
  CHECK(isnan(real_of(m, "b.x")));
  CHECK_STR(text_of(m, "b.s"), "");
  CHECK_OK(ctx, m->ops->step(m, r.time, r.time, &r));
  CHECK(r.event_handled && r.end == CPL_STEP_DONE);
  CHECK_INT(mode_of(m), 2);
  CHECK_NEAR(real_of(m, "b.x"), 30 + habits.distort, 1e-12);
  CHECK_NEAR(real_of(m, "b.rate"), 3, 0);
  CHECK_NEAR(real_of(m, "b.limit"), 9, 1e-12);
  CHECK_NEAR(real_of(m, "b.n"), 7, 0);
  CHECK_STR(text_of(m, "b.s"), "hello");
  CHECK(isnan(real_of(m, "a.x")));
}

//------------------------------------ tests ------------------------------------

static void values_of_every_type_go_over(void** state) {
  setting s;
  fill(&s, *state, &with_states);
  cpl_stepper* m = started(*state, &s);
  check_switch(*state, m);
  CHECK_INT(cpl_component_counter(&m->base, "switches"), 1);
  m->base.ops->destroy(&m->base);
}

// 2^53 + 1 is no double.
static void large_integers_are_not_rounded(void** state) {
  static const int64_t large = ((int64_t)1 << 53) + 1;
  cpl_mode_start own = {N, .integer = large};
  setting s;
  fill(&s, *state, &with_states);
  s.modes[0].starts = &own;
  s.modes[0].n_starts = 1;
  cpl_stepper* m = started(*state, &s);
  CHECK(((fake*)s.modes[0].stepper)->n == large);
  m->base.ops->destroy(&m->base);
}

static void a_calculated_state_is_written_after_initialisation(void** state) {
  habits.late = true;
  vars[X].initial = CPL_INITIAL_CALCULATED;
  setting s;
  fill(&s, *state, &with_states);
  cpl_stepper* m = started(*state, &s);
  check_switch(*state, m);
  m->base.ops->destroy(&m->base);
}

static void where_that_is_impossible_it_is_said(void** state) {
  vars[X].initial = CPL_INITIAL_CALCULATED;
  setting s;
  fill(&s, *state, &without_states);
  cpl_stepper* m = NULL;
  CHECK_INT(cpl_modes(*state, &s.def, &m), CPL_ERR_INPUT);
  CHECK(m == NULL);
  CHECK_CONTAINS(cpl_context_error(*state), "mode b: x cannot be set");
}

static void what_cannot_be_reset_is_made_anew(void** state) {
  setting s;
  fill(&s, *state, &with_states);
  s.out[0].map = map_short;
  s.out[0].n_copies = 0;
  cpl_transition back = s.out[0];  // from the second to itself
  s.modes[1].leave = &back;
  s.modes[1].n_leave = 1;
  cpl_stepper* m = started(*state, &s);
  habits.no_reset = true;
  cpl_step_result r;
  for (int i = 0; i < 20; i++) CHECK_OK(*state, m->ops->step(m, 3, 3, &r));
  CHECK_INT(habits.made, 4);  // at 2.25, 2.5, 2.75, 3
  CHECK_INT(mode_of(m), 2);
  CHECK_INT(habits.alive, 2);
  m->base.ops->destroy(&m->base);
}

static char logged[4000];
static void keep_log(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  if (level == CPL_LOG_WARNING) {
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", text);
  }
}

static void what_a_mode_makes_of_its_values_is_compared(void** state) {
  (void)state;
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_log;
  cpl_context* ctx = cpl_context_create(&def);
  for (int k = 0; k < 2; k++) {
    logged[0] = '\0';
    habits.distort = k == 0 ? 1e-9 : 1e-3;
    setting s;
    fill(&s, ctx, &with_states);
    s.out[0].n_copies = 2;  // x of mode a begins a little off, too: the limit comes earlier
    cpl_stepper* m = started(ctx, &s);
    cpl_step_result r;
    CHECK_OK(ctx, m->ops->step(m, 5, 5, &r));
    CHECK_OK(ctx, m->ops->step(m, r.time, r.time, &r));
    if (k == 0) CHECK_STR(logged, "");
    else
      CHECK_CONTAINS(logged,
                     "one way: at t=1.999 x should start with 30, but mode b changed it to 30.001");
    m->base.ops->destroy(&m->base);
  }
  cpl_context_destroy(ctx);
}

static void a_stop_nobody_follows_ends_it(void** state) {
  setting s;
  fill(&s, *state, &with_states);
  s.out[0].stop = 2;
  cpl_stepper* m = started(*state, &s);
  cpl_step_result r;
  CHECK_OK(*state, m->ops->step(m, 5, 5, &r));
  CHECK_OK(*state, m->ops->step(m, r.time, r.time, &r));
  CHECK_INT(r.end, CPL_STEP_TERMINATE);
  m->base.ops->destroy(&m->base);
}

static void nonsense_is_refused(void** state) {
  setting s;
  cpl_stepper* m = NULL;
  fill(&s, *state, &with_states);
  s.out[0].to = 2;
  CHECK_INT(cpl_modes(*state, &s.def, &m), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(*state), "mode a: transition 1 has no target mode");
  fill(&s, *state, &with_states);
  s.def.start = 5;
  CHECK_INT(cpl_modes(*state, &s.def, &m), CPL_ERR_INPUT);
}

static void memory_may_run_out_at_any_time(void** state) {
  (void)state;
  for (long k = 0;; k++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    setting s;
    cpl_stepper* m = NULL;
    fill(&s, ctx, &with_states);
    heap.fail_at = heap.calls + k;
    cpl_status st = cpl_modes(ctx, &s.def, &m);
    heap.fail_at = -1;
    if (st >= 0) m->base.ops->destroy(&m->base);
    else CHECK_INT(st, CPL_ERR_NOMEM);
    CHECK_INT(habits.alive, 0);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) {
      CHECK(k > 5);
      return;
    }
  }
}

static void a_file_may_run_out_of_memory_at_any_time(void** state) {
  (void)state;
  const char* path = test_path("examples/breaking_pendulum/breaking_pendulum.yaml");
  for (long k = 0;; k += 1 + k / 40) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_source* source = NULL;
    cpl_stepper* m = NULL;
    heap.fail_at = heap.calls + k;
    cpl_stepper_def def = cpl_default_stepper_def();
    cpl_status st = cpl_system_open(ctx, path, &source);
    if (st >= 0) st = cpl_system_stepper(source, &def, &m);
    // a compiled model that could not be read for want of memory is made anew
    const bool failed = heap.calls > heap.fail_at;
    heap.fail_at = -1;
    if (m != NULL) m->base.ops->destroy(&m->base);
    if (source != NULL) source->ops->destroy(source);
    CHECK(st >= 0 || st == CPL_ERR_NOMEM);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0 && !failed) {
      CHECK(k > 100);
      return;
    }
  }
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      T(values_of_every_type_go_over),
      T(large_integers_are_not_rounded),
      T(a_calculated_state_is_written_after_initialisation),
      T(where_that_is_impossible_it_is_said),
      T(what_cannot_be_reset_is_made_anew),
      T(what_a_mode_makes_of_its_values_is_compared),
      T(a_stop_nobody_follows_ends_it),
      T(nonsense_is_refused),
      T(memory_may_run_out_at_any_time),
      T(a_file_may_run_out_of_memory_at_any_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
