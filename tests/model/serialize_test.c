// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states of models in C as bytes: all that a model has survives in another instance, and
// bytes that are not of this model are refused.
#include "serialize.h"

#include <math.h>

//------------------------------------ models ------------------------------------

// Counts in its memory, has a discrete variable, a String, an indicator and a time event.
typedef struct memory {
  int32_t counted, spare;
  double sum;
} memory;

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -0.7 * v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 0.25;
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  memory* m = v->memory;
  m->counted++;
  m->sum += v->t;
  a->w[0] = v->w[0] + 2;
  a->s[0] = m->counted > 1 ? "many times" : "once";
  a->next_time = 0.4 * m->counted;
  return CPL_MODEL_OK;
}

static int outputs(const cpl_values* v, double* y) {
  const memory* m = v->memory;
  y[0] = m->counted + 100 * m->sum;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1.5}, {0}};
static const cpl_declaration inputs[] = {{"u", .start = 0.1}, {0}};
static const cpl_declaration discrete[] = {{"w", .start = 3}, {0}};
static const cpl_declaration output_list[] = {{"y"}, {0}};
static const cpl_string_declaration texts[] = {{"text", .start = "never"}, {0}};
static const cpl_model_def counter = {.name = "counter",
                                      .states = states,
                                      .inputs = inputs,
                                      .discrete = discrete,
                                      .outputs = output_list,
                                      .strings = texts,
                                      .n_indicators = 1,
                                      .derivatives = derivatives,
                                      .indicators = indicators,
                                      .event = event,
                                      .output_values = outputs,
                                      .memory_size = sizeof(memory)};

static cpl_component* make(cpl_context* ctx, const cpl_model_def* def, cpl_source** source,
                           cpl_model** model) {
  CHECK_OK(ctx, cpl_c_define(ctx, def, source));
  CHECK_OK(ctx, cpl_source_make_model(*source, "one", model));
  return cpl_model_component(*model);
}

static void drop(cpl_source* source, cpl_model* model) {
  cpl_model_destroy(model);
  cpl_source_destroy(source);
}

static double real(cpl_context* ctx, cpl_component* c, const char* name) {
  double value = NAN;
  const cpl_description* d = cpl_component_description(c);
  uint32_t ref = d->vars[cpl_find_variable(d, name)].ref;
  CHECK_OK(ctx, cpl_component_get_real(c, &ref, 1, &value));
  return value;
}

// Initialised, at t = 0.55 after a second event.
static void run(cpl_context* ctx, cpl_model* m, cpl_component* c) {
  cpl_setup setup = cpl_default_setup();
  cpl_event_info info = {0};
  const double x = 0.125;
  CHECK_OK(ctx, cpl_component_setup(c, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(c));
  CHECK_OK(ctx, cpl_component_exit_init(c));
  CHECK_OK(ctx, cpl_model_event_update(m, &info));
  CHECK_OK(ctx, cpl_model_enter_continuous(m));
  CHECK_OK(ctx, cpl_model_set_time(m, 0.55));
  CHECK_OK(ctx, cpl_model_set_states(m, &x));
  CHECK_OK(ctx, cpl_model_enter_event(m));
  CHECK_OK(ctx, cpl_model_event_update(m, &info));
  CHECK_OK(ctx, cpl_model_enter_continuous(m));
}

//------------------------------------ tests ------------------------------------

static void all_of_a_model_survives(void** state) {
  cpl_context* ctx = *state;
  cpl_source *one = NULL, *two = NULL;
  cpl_model *first = NULL, *second = NULL;
  cpl_snapshot saved = {0}, copy = {0};
  cpl_component* a = make(ctx, &counter, &one, &first);
  CHECK(cpl_component_capabilities(a).serialize);
  run(ctx, first, a);
  CHECK_OK(ctx, cpl_component_save(a, &saved));
  cpl_binary bytes = state_bytes(ctx, a, &saved);
  double y = real(ctx, a, "y"), x = real(ctx, a, "x"), dx = real(ctx, a, "der(x)");
  CHECK_NEAR(x, 0.125, 0);
  CHECK_NEAR(dx, -0.7 * 0.125 + 0.1, 1e-15);
  CHECK_NEAR(y, 2 + 55, 1e-12);
  cpl_component_forget(a, &saved);
  drop(one, first);

  cpl_component* b = make(ctx, &counter, &two, &second);  // which has never been initialised
  CHECK_OK(ctx, cpl_component_deserialize(b, &bytes, &copy));
  CHECK_OK(ctx, cpl_component_restore(b, &copy));
  CHECK(real(ctx, b, "y") == y && real(ctx, b, "x") == x && real(ctx, b, "der(x)") == dx);
  CHECK_NEAR(real(ctx, b, "w"), 7, 0);
  const cpl_description* d = cpl_component_description(b);
  const char* text = NULL;
  CHECK_OK(ctx, cpl_component_get_string(b, &d->vars[cpl_find_variable(d, "text")].ref, 1, &text));
  CHECK_STR(text, "many times");
  cpl_event_info info = {0};  // and goes on as the first one would have
  CHECK_OK(ctx, cpl_model_enter_event(second));
  CHECK_OK(ctx, cpl_model_event_update(second, &info));
  CHECK_NEAR(info.next_time, 1.2, 1e-15);
  CHECK_NEAR(real(ctx, b, "y"), 3 + 110, 1e-12);
  cpl_component_forget(b, &copy);
  check_bad_bytes(ctx, b, &bytes);
  free((void*)bytes.data);
  drop(two, second);
}

static void another_model_refuses_them(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def other = counter;
  static const cpl_declaration renamed[] = {{"v", .start = 1.5}, {0}};
  cpl_source *one = NULL, *two = NULL;
  cpl_model *first = NULL, *second = NULL;
  cpl_snapshot saved = {0}, copy = {0};
  other.states = renamed;
  cpl_component* a = make(ctx, &counter, &one, &first);
  cpl_component* b = make(ctx, &other, &two, &second);
  run(ctx, first, a);
  CHECK_OK(ctx, cpl_component_save(a, &saved));
  cpl_binary bytes = {0};
  CHECK_OK(ctx, cpl_component_serialize(a, &saved, &bytes));
  CHECK_INT(cpl_component_deserialize(b, &bytes, &copy), CPL_ERR_INPUT);
  CHECK(copy.data == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), "no saved state of one: it has other variables");
  cpl_component_forget(a, &saved);
  drop(one, first);
  drop(two, second);
}

// Memory that the model releases has pointers, which mean nothing in another process.
static int allocate(const cpl_values* v, cpl_event_actions* a) {
  (void)a;
  *(void**)v->memory = malloc(8);
  return CPL_MODEL_OK;
}

static void release(const cpl_values* v) { free(*(void**)v->memory); }

static void pointers_do_not_become_bytes(void** state) {
  cpl_context* ctx = *state;
  static const cpl_model_def pointer = {.name = "pointer",
                                        .states = states,
                                        .inputs = inputs,
                                        .derivatives = derivatives,
                                        .initialize = allocate,
                                        .release = release,
                                        .memory_size = sizeof(void*)};
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_component* c = make(ctx, &pointer, &source, &model);
  cpl_snapshot saved = {0};
  cpl_binary bytes = {0};
  CHECK(cpl_component_capabilities(c).save_restore && !cpl_component_capabilities(c).serialize);
  CHECK_OK(ctx, cpl_component_save(c, &saved));
  CHECK_INT(cpl_component_serialize(c, &saved, &bytes), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "one");
  cpl_component_forget(c, &saved);
  drop(source, model);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (int n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_source* source = NULL;
    cpl_model* model = NULL;
    cpl_snapshot saved = {0}, copy = {0};
    cpl_binary bytes = {0};
    cpl_component* c = make(ctx, &counter, &source, &model);
    run(ctx, model, c);
    CHECK_OK(ctx, cpl_component_save(c, &saved));
    heap.fail_at = heap.calls + n;
    cpl_status st = cpl_component_serialize(c, &saved, &bytes);
    if (st >= 0) st = cpl_component_deserialize(c, &bytes, &copy);
    if (st < 0) CHECK_INT(st, CPL_ERR_NOMEM);
    cpl_component_forget(c, &saved);
    cpl_component_forget(c, &copy);
    drop(source, model);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK(n < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_of_a_model_survives),
      cmocka_unit_test(another_model_refuses_them),
      cmocka_unit_test(pointers_do_not_become_bytes),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
