// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "model/cmodel.h"

#include "models.h"

static cpl_context* ctx;

//------------------------------------ description ------------------------------------

static void arrays_and_derivatives_are_named(void** state) {
  (void)state;
  static const cpl_declaration states[] = {
      {"x", .start = 2, .unit = "m", .size = 2}, {"v", .output = true}, END_OF_LIST};
  cpl_model_def def = {.name = "m", .states = states, .derivatives = decay_derivatives};
  cpli_cmodel* cm;
  CHECK_OK(ctx, cpli_cmodel_create(ctx, &def, false, &cm));
  const char* names[] = {"x[1]", "x[2]", "v", "der(x[1])", "der(x[2])", "der(v)"};
  CHECK_INT(cm->desc.n_vars, 6);
  for (int i = 0; i < 6; i++) CHECK_STR(cm->desc.vars[i].name, names[i]);
  CHECK_STR(cm->desc.units[cm->desc.vars[3].unit].name, "m/s");
  CHECK_INT(cm->desc.vars[4].derivative_of, 1);
  CHECK_INT(cm->desc.vars[2].causality, CPL_CAUSALITY_OUTPUT);
  CHECK_INT(cm->desc.structure.n_outputs, 1);
  CHECK_INT(cm->desc.structure.derivatives[0].count, -1);  // not declared, not detected
  cpli_cmodel_destroy(cm);
}

static void bad(const cpl_model_def* def, const char* message) {
  cpli_cmodel* cm;
  CHECK_INT(cpli_cmodel_create(ctx, def, true, &cm), CPL_ERR_INPUT);
  CHECK(cm == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), message);
}

static void bad_definitions_are_refused(void** state) {
  (void)state;
  static const cpl_declaration twice[] = {{.name = "x"}, {.name = "x"}, END_OF_LIST};
  static const cpl_declaration text[] = {{"s", .type = CPL_STRING}, END_OF_LIST};
  static const cpl_declaration whole[] = {{"x", .type = CPL_INTEGER}, END_OF_LIST};
  static const cpl_declaration limits[] = {{"p", .min = 2, .max = 1}, END_OF_LIST};
  static const cpl_declaration choice[] = {{"c", .type = CPL_ENUMERATION}, END_OF_LIST};
  static const cpl_dependency nobody[] = {{"der(x)", "y"}, {0}};
  static const cpl_dependency kind[] = {{"der(x)", "x", "linear"}, {0}};
  bad(&(cpl_model_def){.states = decay_states}, "no name");
  bad(&(cpl_model_def){.name = "m", .states = decay_states},
      "states but no function `derivatives`");
  bad(&(cpl_model_def){.name = "m", .outputs = gain_output_list}, "outputs but no function");
  bad(&(cpl_model_def){.name = "m", .n_indicators = 1}, "indicators but no function");
  bad(&(cpl_model_def){.name = "m", .parameters = twice}, "x: the name is used twice");
  bad(&(cpl_model_def){.name = "m", .parameters = text}, "s: Strings are declared");
  bad(&(cpl_model_def){.name = "m", .states = whole, .derivatives = decay_derivatives},
      "a state is a Real");
  bad(&(cpl_model_def){.name = "m", .parameters = limits}, "min is greater than max");
  bad(&(cpl_model_def){.name = "m", .parameters = choice}, "an Enumeration needs items");
  cpl_model_def def = decay_model;
  def.dependencies = nobody;
  bad(&def, "dependencies of der(x): there is no variable \"y\"");
  def.dependencies = kind;
  bad(&def, "unknown kind \"linear\"");
}

//------------------------------------ dependencies ------------------------------------

static bool depends(const cpl_description* d, const char* of, const char* on) {
  int32_t row = cpl_find_variable(d, of), column = cpl_find_variable(d, on);
  const cpl_structure* s = &d->structure;
  for (int list = 0; list < 2; list++) {
    const cpl_unknown* u = list == 0 ? s->outputs : s->derivatives;
    for (int32_t i = 0; i < (list == 0 ? s->n_outputs : s->n_derivatives); i++) {
      if (u[i].var != row) continue;
      if (u[i].count < 0) return true;
      for (int32_t k = 0; k < u[i].count; k++) {
        if (s->deps[u[i].first + k] == column) return true;
      }
      return false;
    }
  }
  fail_msg("%s is not in the structure", of);
  return false;
}

// y1 depends on u1 in one mode only, on x through a saturation, never on u2; y2 on u2 when a switch
// is set.
static int hidden_outputs(const cpl_values* v, double* y) {
  y[0] = (v->w[0] == 3 ? v->u[0] : 0) + fmin(fmax(v->x[0], 5), 6);
  y[1] = v->p[0] != 0 ? v->u[1] : 1;
  return CPL_MODEL_OK;
}
static void detection_finds_what_hides_in_modes(void** state) {
  (void)state;
  static const cpl_declaration inputs[] = {{.name = "u1"}, {.name = "u2"}, END_OF_LIST};
  static const cpl_declaration outputs[] = {{.name = "y1"}, {.name = "y2"}, END_OF_LIST};
  static const cpl_declaration modes[] = {
      {"mode", .start = 1, .type = CPL_INTEGER, .min = 1, .max = 4}, END_OF_LIST};
  static const cpl_declaration switches[] = {{"on", .type = CPL_BOOLEAN}, END_OF_LIST};
  cpl_model_def def = {.name = "hidden",
                       .states = decay_states,
                       .inputs = inputs,
                       .outputs = outputs,
                       .discrete = modes,
                       .parameters = switches,
                       .derivatives = decay_derivatives,
                       .output_values = hidden_outputs};
  cpli_cmodel* cm;
  CHECK_OK(ctx, cpli_cmodel_create(ctx, &def, true, &cm));
  CHECK(depends(&cm->desc, "y1", "u1"));
  CHECK(depends(&cm->desc, "y1", "x"));
  CHECK(!depends(&cm->desc, "y1", "u2"));
  CHECK(depends(&cm->desc, "y2", "u2"));
  CHECK(!depends(&cm->desc, "y2", "x"));
  CHECK(depends(&cm->desc, "der(x)", "x"));
  CHECK(!depends(&cm->desc, "der(x)", "u1"));
  cpli_cmodel_destroy(cm);
}

static void declared_dependencies_are_taken_as_they_are(void** state) {
  (void)state;
  static const cpl_declaration states[] = {{"x", .size = 3}, {.name = "v"}, END_OF_LIST};
  static const cpl_dependency list[] = {{"der(x)", "v", "constant"}, {"der(v)", "x v"}, {0}};
  cpl_model_def def = {
      .name = "m", .states = states, .derivatives = decay_derivatives, .dependencies = list};
  cpli_cmodel* cm;
  CHECK_OK(ctx, cpli_cmodel_create(ctx, &def, true, &cm));
  CHECK(depends(&cm->desc, "der(x[2])", "v"));
  CHECK(!depends(&cm->desc, "der(x[2])", "x[2]"));
  CHECK(depends(&cm->desc, "der(v)", "x[3]"));
  const cpl_unknown* row = &cm->desc.structure.derivatives[1];
  CHECK_INT(cm->desc.structure.kinds[row->first], CPL_KIND_CONSTANT);
  cpli_cmodel_destroy(cm);
}

//------------------------------------ values ------------------------------------

static const char* const colours[] = {"red", "green", "blue", NULL};
static int types_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->p[0] * 10;  // computed from a parameter before time starts
  a->s[1] = v->p[1] != 0 ? "yes" : "no";
  return CPL_MODEL_OK;
}
static int types_outputs(const cpl_values* v, double* y) {
  y[0] = v->t;
  y[1] = floor(v->t * 10);
  return CPL_MODEL_OK;
}
static const cpl_declaration types_parameters[] = {
    {"n", .start = 4, .type = CPL_INTEGER},
    {"flag", .type = CPL_BOOLEAN},
    {"colour", .start = 2, .type = CPL_ENUMERATION, .items = colours},
    END_OF_LIST};
static const cpl_declaration types_discrete[] = {{"tens", .type = CPL_INTEGER}, END_OF_LIST};
static const cpl_declaration types_output_list[] = {
    {.name = "now"}, {"tenths", .type = CPL_INTEGER}, END_OF_LIST};
static const cpl_string_declaration types_strings[] = {
    {"name", "none", CPL_STRING_PARAMETER}, {"answer", NULL, CPL_STRING_OUTPUT}, {0}};
static const cpl_model_def types_model = {.name = "types",
                                          .parameters = types_parameters,
                                          .discrete = types_discrete,
                                          .outputs = types_output_list,
                                          .strings = types_strings,
                                          .initialize = types_initialize,
                                          .output_values = types_outputs};

typedef struct made {
  cpli_cmodel* cm;
  cpl_model* m;
} made;

static made make(const cpl_model_def* def) {
  made f;
  CHECK_OK(ctx, cpli_cmodel_create(ctx, def, true, &f.cm));
  CHECK_OK(ctx, cpli_cmodel_instance(f.cm, ctx, "m", &f.m));
  return f;
}

static void drop(made* f) {
  f->m->base.ops->destroy(&f->m->base);
  cpli_cmodel_destroy(f->cm);
}

static int64_t integer(made* f, const char* name) {
  const cpl_variable* v = &f->cm->desc.vars[cpl_find_variable(&f->cm->desc, name)];
  int64_t value;
  CHECK_OK(ctx, f->m->base.ops->get_integer(&f->m->base, (cpl_type)v->type, &v->ref, 1, &value));
  return value;
}

static const char* text(made* f, const char* name) {
  const char* value;
  CHECK_OK(ctx, f->m->base.ops->get_string(
                    &f->m->base, &f->cm->desc.vars[cpl_find_variable(&f->cm->desc, name)].ref, 1,
                    &value));
  return value;
}

static void all_types_and_initialisation(void** state) {
  (void)state;
  made f = make(&types_model);
  cpl_component* c = &f.m->base;
  const cpl_description* d = &f.cm->desc;
  CHECK_INT(d->types[d->vars[cpl_find_variable(d, "colour")].declared_type].n_items, 3);
  CHECK_OK(ctx, c->ops->setup(c, &(cpl_setup){0}));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_INT(integer(&f, "tens"), 40);
  CHECK_STR(text(&f, "answer"), "no");
  // everything may still change before exit_init, and what depends on it follows
  int64_t n = 7, yes = 1;
  CHECK_OK(ctx,
           c->ops->set_integer(c, CPL_INTEGER, &d->vars[cpl_find_variable(d, "n")].ref, 1, &n));
  CHECK_OK(ctx, c->ops->set_integer(c, CPL_BOOLEAN, &d->vars[cpl_find_variable(d, "flag")].ref, 1,
                                    &yes));
  CHECK_OK(ctx, c->ops->exit_init(c));
  CHECK_INT(integer(&f, "tens"), 70);
  CHECK_INT(integer(&f, "colour"), 2);
  CHECK_STR(text(&f, "answer"), "yes");
  CHECK_STR(text(&f, "name"), "none");
  // a discrete output keeps its value between events, a continuous one does not
  CHECK_OK(ctx, f.m->ops->enter_continuous(f.m));
  CHECK_OK(ctx, f.m->ops->set_time(f.m, 0.55));
  double now;
  CHECK_OK(ctx, c->ops->get_real(c, &d->vars[cpl_find_variable(d, "now")].ref, 1, &now));
  CHECK_NEAR(now, 0.55, 0);
  CHECK_INT(integer(&f, "tenths"), 0);
  cpl_event_info info;
  CHECK_OK(ctx, f.m->ops->enter_event(f.m));
  CHECK_OK(ctx, f.m->ops->event_update(f.m, &info));
  CHECK_INT(integer(&f, "tenths"), 5);
  drop(&f);
}

static void values_that_cannot_be_set_are_refused(void** state) {
  (void)state;
  made f = make(&types_model);
  cpl_component* c = &f.m->base;
  double value = 1;
  uint32_t output = f.cm->desc.vars[cpl_find_variable(&f.cm->desc, "now")].ref, none = 1000;
  CHECK_INT(c->ops->set_real(c, &output, 1, &value), CPL_ERR_INPUT);
  CHECK_INT(c->ops->set_real(c, &none, 1, &value), CPL_ERR_INPUT);
  CHECK_INT(c->ops->get_real(c, &none, 1, &value), CPL_ERR_INPUT);
  const char* string;
  CHECK_INT(c->ops->get_string(c, &none, 1, &string), CPL_ERR_INPUT);
  drop(&f);
}

static void saved_states_survive_as_bytes(void** state) {
  (void)state;
  made f = make(&types_model);
  cpl_component* c = &f.m->base;
  const cpl_description* d = &f.cm->desc;
  const char* longer = "a longer name than before";
  CHECK_OK(ctx, c->ops->setup(c, &(cpl_setup){0}));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  cpl_snapshot before = {0}, again = {0};
  CHECK_OK(ctx, c->ops->save(c, &before));
  unsigned char bytes[4096];
  cpl_binary own;
  CHECK_OK(ctx, c->ops->serialize(c, &before, &own));
  CHECK(own.size <= sizeof bytes);
  memcpy(bytes, own.data, own.size);
  const cpl_binary all = {bytes, own.size}, most = {bytes, own.size - 1}, few = {bytes, 3};
  CHECK_OK(ctx, c->ops->set_string(c, &d->vars[cpl_find_variable(d, "name")].ref, 1, &longer));
  CHECK_OK(ctx, f.m->ops->set_time(f.m, 3));
  CHECK_OK(ctx, c->ops->deserialize(c, &all, &again));
  CHECK_OK(ctx, c->ops->restore(c, &again));
  CHECK_STR(text(&f, "name"), "none");
  CHECK_INT(c->ops->deserialize(c, &most, &again), CPL_ERR_INPUT);
  CHECK_INT(c->ops->deserialize(c, &few, &again), CPL_ERR_INPUT);
  c->ops->forget(c, &before);
  c->ops->forget(c, &again);
  drop(&f);
}

// what initialize makes is released exactly once for each time it was made
static int live;
static int memory_initialize(const cpl_values* v, cpl_event_actions* a) {
  (void)a;
  *(void**)v->memory = malloc(16);
  live++;
  return CPL_MODEL_OK;
}
static void memory_release(const cpl_values* v) {
  free(*(void**)v->memory);
  live--;
}
static void memory_of_a_model_is_released(void** state) {
  (void)state;
  cpl_model_def def = types_model;
  def.memory_size = sizeof(void*);
  def.initialize = memory_initialize;
  def.release = memory_release;
  made f = make(&def);
  cpl_component* c = &f.m->base;
  CHECK_INT(live, 0);  // detection cleaned up
  CHECK_OK(ctx, c->ops->enter_init(c));
  integer(&f, "tens");
  int64_t n = 7;
  CHECK_OK(ctx, c->ops->set_integer(c, CPL_INTEGER, &f.cm->desc.vars[0].ref, 1, &n));
  CHECK_OK(ctx, c->ops->exit_init(c));
  CHECK_INT(live, 1);
  drop(&f);
  CHECK_INT(live, 0);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* small = test_context_with_heap(&heap);
    cpl_source* source = NULL;
    cpl_model* m = NULL;
    cpl_status st = small != NULL ? cpl_c_define(small, &types_model, &source) : CPL_ERR_NOMEM;
    if (st >= 0) st = source->ops->make_model(source, "m", &m);
    if (m != NULL) m->base.ops->destroy(&m->base);
    if (source != NULL) source->ops->destroy(source);
    cpl_context_destroy(small);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_and_derivatives_are_named),
      cmocka_unit_test(bad_definitions_are_refused),
      cmocka_unit_test(detection_finds_what_hides_in_modes),
      cmocka_unit_test(declared_dependencies_are_taken_as_they_are),
      cmocka_unit_test(all_types_and_initialisation),
      cmocka_unit_test(values_that_cannot_be_set_are_refused),
      cmocka_unit_test(saved_states_survive_as_bytes),
      cmocka_unit_test(memory_of_a_model_is_released),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
