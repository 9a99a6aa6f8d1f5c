// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "system/resolve.h"

#include "base/base.h"
#include "system/definitions.h"

//------------------------------------ two models ------------------------------------

enum { M, KM, KELVIN, CELSIUS, FROB, GNARL, RAD_S, PER_S, SECOND };
static const cpl_unit units[] = {
    [M] = {.name = "m", .has_base = true, .exponents = {0, 1}, .factor = 1, .display_of = -1},
    [KM] = {.name = "km", .display_of = -1},  // read by its name
    [KELVIN] = {.name = "K", .display_of = -1},
    [CELSIUS] = {.name = "degC", .display_of = -1},
    [FROB] = {.name = "frob", .display_of = -1},
    [GNARL] = {.name = "gnarl", .display_of = -1},
    [RAD_S] = {.name = "rad/s", .display_of = -1},
    [PER_S] = {.name = "1/s", .display_of = -1},
    [SECOND] = {.name = "s", .display_of = -1},
};

static const cpl_enum_item two[] = {{"on", "", 1}, {"off", "", 2}};
static const cpl_enum_item other[] = {{"on", "", 1}, {"out", "", 2}};
static const cpl_type_def types[] = {
    {.name = "A", .quantity = "", .type = CPL_ENUMERATION, .items = two, .n_items = 2},
    {.name = "B", .quantity = "", .type = CPL_ENUMERATION, .items = other, .n_items = 2},
    {.name = "Level", .quantity = "", .type = CPL_INTEGER},
};

#define VARIABLE(n, t, c, u, ...)                                                                  \
  {                                                                                                \
    .name = n, .description = "", .type = t, .causality = c,                                       \
    .variability = CPL_VARIABILITY_CONTINUOUS, .unit = u, .display_unit = -1, .declared_type = -1, \
    .derivative_of = -1, .alias_of = -1, __VA_ARGS__                                               \
  }

// Inputs first. describe() says the rest: u_alias is an alias of u, Enumerations have items.
static const cpl_variable vars[] = {
    VARIABLE("u", CPL_REAL, CPL_CAUSALITY_INPUT, M, .has_start = true, .line = 12),
    VARIABLE("km", CPL_REAL, CPL_CAUSALITY_INPUT, KM, .has_start = true),
    VARIABLE("T", CPL_REAL, CPL_CAUSALITY_INPUT, CELSIUS, .has_start = true),
    VARIABLE("dT", CPL_REAL, CPL_CAUSALITY_INPUT, CELSIUS, .has_start = true,
             .relative_quantity = true),
    VARIABLE("odd", CPL_REAL, CPL_CAUSALITY_INPUT, FROB, .has_start = true),
    VARIABLE("turn", CPL_REAL, CPL_CAUSALITY_INPUT, PER_S, .has_start = true),
    VARIABLE("plain", CPL_REAL, CPL_CAUSALITY_INPUT, -1),
    VARIABLE("n", CPL_INTEGER, CPL_CAUSALITY_INPUT, -1, .has_start = true),
    VARIABLE("b", CPL_BOOLEAN, CPL_CAUSALITY_INPUT, -1, .has_start = true),
    VARIABLE("e", CPL_ENUMERATION, CPL_CAUSALITY_INPUT, -1, .has_start = true),
    VARIABLE("s", CPL_STRING, CPL_CAUSALITY_INPUT, -1, .has_start = true),
    VARIABLE("bus.a[1].v", CPL_REAL, CPL_CAUSALITY_INPUT, -1, .has_start = true),
    VARIABLE("lost", CPL_REAL, CPL_CAUSALITY_INPUT, -1),
    VARIABLE("given", CPL_REAL, CPL_CAUSALITY_INPUT, -1),
    VARIABLE("u_alias", CPL_REAL, CPL_CAUSALITY_INPUT, M, .has_start = true),
    VARIABLE("y", CPL_REAL, CPL_CAUSALITY_OUTPUT, M, .line = 30),
    VARIABLE("yT", CPL_REAL, CPL_CAUSALITY_OUTPUT, KELVIN),
    VARIABLE("ydT", CPL_REAL, CPL_CAUSALITY_OUTPUT, KELVIN, .relative_quantity = true),
    VARIABLE("yodd", CPL_REAL, CPL_CAUSALITY_OUTPUT, GNARL),
    VARIABLE("yturn", CPL_REAL, CPL_CAUSALITY_OUTPUT, RAD_S),
    VARIABLE("ysecond", CPL_REAL, CPL_CAUSALITY_OUTPUT, SECOND),
    VARIABLE("yn", CPL_INTEGER, CPL_CAUSALITY_OUTPUT, -1),
    VARIABLE("yb", CPL_BOOLEAN, CPL_CAUSALITY_OUTPUT, -1),
    VARIABLE("ye", CPL_ENUMERATION, CPL_CAUSALITY_OUTPUT, -1),
    VARIABLE("yf", CPL_ENUMERATION, CPL_CAUSALITY_OUTPUT, -1),
    VARIABLE("ys", CPL_STRING, CPL_CAUSALITY_OUTPUT, -1),
    VARIABLE("x", CPL_REAL, CPL_CAUSALITY_LOCAL, M),
    VARIABLE("der(x)", CPL_REAL, CPL_CAUSALITY_LOCAL, -1),
    VARIABLE("p", CPL_REAL, CPL_CAUSALITY_PARAMETER, -1),
    VARIABLE("q", CPL_REAL, CPL_CAUSALITY_PARAMETER, -1),
};
enum { ENUM_IN = 9, ALIAS = 14, LEVEL = 21, ENUM_OUT = 23, ENUM_OTHER, STATE = 26, TUNABLE = 29 };

typedef struct world {
  cpl_context* ctx;
  cpl_system_def* def;
  cpl_variable vars[CPLI_COUNT(vars)];
  cpli_names names;
  cpl_description desc;
  cpl_source source;
  const cpl_source* models[8];
  cpli_resolver resolver;
  int warnings;
  char warning[1024];
} world;

static void hear(void* user, cpl_log_level level, const char* who, const char* text) {
  world* w = user;
  (void)who;
  if (level != CPL_LOG_WARNING) return;
  w->warnings++;
  snprintf(w->warning, sizeof w->warning, "%s", text);
}

static void describe(world* w) {
  static const int32_t states[] = {STATE};
  memcpy(w->vars, vars, sizeof vars);
  w->vars[TUNABLE].variability = CPL_VARIABILITY_TUNABLE;
  w->vars[ALIAS].alias_of = 0;
  w->vars[ENUM_IN].declared_type = w->vars[ENUM_OUT].declared_type = 0;
  w->vars[ENUM_OTHER].declared_type = 1;
  w->vars[LEVEL].declared_type = 2;
  CHECK_OK(w->ctx, cpli_names_init(&w->names, w->ctx, CPLI_COUNT(vars)));
  for (size_t i = 0; i < CPLI_COUNT(vars); i++) cpli_names_add(&w->names, vars[i].name, (int32_t)i);
  w->desc = (cpl_description){.name = "thing",
                              .vars = w->vars,
                              .n_vars = CPLI_COUNT(vars),
                              .states = states,
                              .n_states = 1,
                              .units = units,
                              .n_units = CPLI_COUNT(units),
                              .types = types,
                              .n_types = CPLI_COUNT(types),
                              .names = &w->names};
  w->source = (cpl_source){.desc = &w->desc, .ctx = w->ctx, .path = "thing.fmu"};
  for (size_t i = 0; i < CPLI_COUNT(w->models); i++) w->models[i] = &w->source;
}

// Two models of the same kind; `rest` begins in line 6.
static void begin(world* w, const char* rest) {
  char text[4096];
  *w = (world){0};
  cpl_context_def def = cpl_default_context_def();
  def.log = hear;
  def.user = w;
  w->ctx = cpl_context_create(&def);
  snprintf(text, sizeof text,
           "couplet: 1\nmodels:\n  left: {fmu: a.fmu, start: {given: 1}}\n  right: {fmu: a.fmu, "
           "start: {given: 1}}\nparameters: {k: 1, gain: 2}\n%s",
           rest);
  CHECK_OK(w->ctx, read_as(w->ctx, "r.yaml", text, &w->def));
  describe(w);
  CHECK_OK(w->ctx, cpli_resolver_init(&w->resolver, w->ctx, w->def, w->models));
}

static void end(world* w) {
  cpli_names_free(&w->names);
  cpl_system_def_destroy(w->def);
  cpl_context_destroy(w->ctx);
}

//------------------------------------ names ------------------------------------

static void exact_names_are_found(void** state) {
  (void)state;
  world w;
  begin(&w, "inputs: {w: 1, a.b: 2}\n");
  cpli_ref ref;
  CHECK(cpli_resolver_find(&w.resolver, "left.y", &ref));
  CHECK(ref.kind == CPLI_REF_VARIABLE && ref.model == 0 && ref.index == 15);
  CHECK(cpli_resolver_find(&w.resolver, "right.bus.a[1].v", &ref));
  CHECK(ref.kind == CPLI_REF_VARIABLE && ref.model == 1 && ref.index == 11);
  CHECK_STR(cpli_ref_variable(&w.resolver, ref)->name, "bus.a[1].v");
  CHECK(cpli_resolver_find(&w.resolver, "right.der(x)", &ref));
  CHECK(cpli_resolver_find(&w.resolver, "w", &ref));
  CHECK(ref.kind == CPLI_REF_INPUT && ref.index == 0 && ref.model == -1);
  CHECK(cpli_ref_variable(&w.resolver, ref) == NULL);
  CHECK(cpli_resolver_find(&w.resolver, "a.b", &ref));
  CHECK(ref.kind == CPLI_REF_INPUT && ref.index == 1);
  CHECK(cpli_resolver_find(&w.resolver, "gain", &ref));
  CHECK(ref.kind == CPLI_REF_PARAMETER && ref.index == 1);
  static const char* const none[] = {"2*k", "left", "left.", ".y", "left.y ", "x.y", "", "time"};
  for (size_t i = 0; i < CPLI_COUNT(none); i++) {
    CHECK(!cpli_resolver_find(&w.resolver, none[i], &ref));
    CHECK(ref.kind == CPLI_REF_NONE);
  }
  end(&w);
}

static void unknown_names_offer_the_nearest(void** state) {
  (void)state;
  static const struct {
    const char *name, *message;
  } cases[] = {
      {"left.yTT", "model \"left\" has no variable yTT (did you mean left.yT"},
      {"lefd.y", "lefd.y: there is no model lefd (did you mean left.y?)"},
      {"lefd.zz", "lefd.zz: there is no model lefd (did you mean left?)"},
      {"gian", "gian: there is no input or parameter gian (did you mean gain?)"},
      {"left", "\"left\" is a model; name one of its variables: left.NAME"},
      {"nothing.at.all", "nothing.at.all: there is no model nothing"},
  };
  world w;
  begin(&w, "");
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_ref ref;
    char message[256];
    cpli_located_text name = {cases[i].name, {"f.yaml", 3, 4}};
    CHECK_INT(cpli_resolver_require(&w.resolver, &name, &ref), CPL_ERR_INPUT);
    snprintf(message, sizeof message, "f.yaml:3:4: %s", cases[i].message);
    CHECK_CONTAINS(cpl_context_error(w.ctx), message);
  }
  cpli_resolver_miss(&w.resolver, "left.yTT");
  CHECK_STR(cpli_resolver_candidate(&w.resolver, 0), "left.yT");
  cpli_resolver_miss(&w.resolver, "nothing");
  CHECK_STR(cpli_resolver_candidate(&w.resolver, 0), "");
  end(&w);
}

static void values_are_not_named_like_variables(void** state) {
  (void)state;
  world w;
  begin(&w, "");
  CHECK_OK(w.ctx, cpl_system_def_add_number(w.def, "left.y", 1));
  CHECK_INT(cpli_resolver_init(&w.resolver, w.ctx, w.def, w.models), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(w.ctx), "\"left.y\" begins like a variable of the model \"left\"");
  end(&w);
}

//------------------------------------ connections ------------------------------------

static void connections_are_resolved(void** state) {
  (void)state;
  world w;
  begin(&w,
        "inputs: {w: 1}\nconnections:\n  right.u: left.y\n  left.u: 2*right.y\n  left.km: w\n"
        "  left.plain: left.yn\n  right.e: left.ye\n  right.s: left.ys\n  right.b: left.yb\n"
        "  right.n: left.yn\n");
  cpli_links links;
  CHECK_OK(w.ctx, cpli_links_init(&links, &w.resolver));
  CHECK_INT(links.count, 8);
  CHECK(links.items[0].model == 1 && links.items[0].var == 0);
  CHECK(links.items[0].source.kind == CPLI_REF_VARIABLE && links.items[0].source.index == 15);
  CHECK(links.items[0].factor == 1 && links.items[0].offset == 0);
  CHECK(links.items[1].source.kind == CPLI_REF_NONE);
  CHECK(links.items[2].source.kind == CPLI_REF_INPUT);
  CHECK_INT(cpli_links_find(&links, &w.resolver, 1, 0), 0);
  CHECK_INT(cpli_links_find(&links, &w.resolver, 1, 14), 0);  // by its alias
  CHECK_INT(cpli_links_find(&links, &w.resolver, 0, 0), 1);
  CHECK_INT(cpli_links_find(&links, &w.resolver, 0, 1), 2);
  CHECK_INT(cpli_links_find(&links, &w.resolver, 1, 1), -1);
  CHECK_INT(w.warnings, 0);
  cpli_links_free(&links);
  end(&w);
}

static void units_are_converted(void** state) {
  (void)state;
  world w;
  begin(&w,
        "connections: {left.km: right.y, left.T: right.yT, left.dT: right.yT, right.T: left.ydT, "
        "left.plain: right.yT, left.odd: right.yodd, left.turn: right.yturn}\n");
  cpli_links links;
  CHECK_OK(w.ctx, cpli_links_init(&links, &w.resolver));
  CHECK_NEAR(links.items[0].factor, 1e-3, 1e-18);
  CHECK(links.items[0].offset == 0);
  CHECK_NEAR(300 * links.items[1].factor + links.items[1].offset, 26.85, 1e-12);
  CHECK(links.items[2].factor == 1 && links.items[2].offset == 0);  // a difference
  CHECK(links.items[3].factor == 1 && links.items[3].offset == 0);
  CHECK(links.items[4].factor == 1 && links.items[4].offset == 0);  // no unit
  CHECK_INT(w.warnings, 2);
  CHECK_CONTAINS(w.warning,
                 "r.yaml:6:144: the units differ in rad, nothing is converted: left.turn (Real "
                 "input in 1/s; thing.fmu) and right.yturn (Real output in rad/s; thing.fmu)");
  cpli_links_free(&links);
  end(&w);
}

// An Integer of a declared type has no items that could differ; convert takes the number.
static void numbers_become_items(void** state) {
  (void)state;
  static const char* const sources[] = {"right.yn", "right.yf", "right.ye"};
  for (size_t i = 0; i < CPLI_COUNT(sources); i++) {
    world w;
    char text[128];
    snprintf(text, sizeof text, "connections: {left.e: {from: %s, convert: true}}\n", sources[i]);
    begin(&w, text);
    cpli_links links;
    CHECK_OK(w.ctx, cpli_links_init(&links, &w.resolver));
    cpli_links_free(&links);
    end(&w);
  }
}

static void bad_connections_have_a_place(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"left.uu: right.y", "r.yaml:6:15: model \"left\" has no variable uu (did you mean left.u"},
      {"k: right.y", "r.yaml:6:15: k is no input of a model"},
      {"nil: right.y", "r.yaml:6:15: nil: there is no input or parameter nil"},
      {"left.y: right.y",
       "r.yaml:6:15: only inputs and parameters can be connected to something, not left.y (Real "
       "output in m; "
       "thing.fmu, line 30)"},
      {"left.n: right.y",
       "r.yaml:6:23: the types differ: left.n (Integer input; thing.fmu) and right.y (Real output "
       "in m; thing.fmu, line 30) ({from: ..., convert: true} takes the number)"},
      {"left.u: right.yb", "r.yaml:6:23: the types differ: left.u (Real input in m"},
      {"left.b: right.y", "the types differ"},
      {"left.s: right.y", "the types differ"},
      {"left.e: right.yn", "the types differ"},
      {"left.e: right.yf", "the items of the Enumerations differ"},
      {"left.s: k", "r.yaml:6:23: k is a number, not a text for left.s (String input"},
      {"left.u: right.ysecond",
       "r.yaml:6:23: the units differ: left.u (Real input in m; thing.fmu, line 12) and "
       "right.ysecond (Real output in s; thing.fmu)"},
      {"left.u: 1, left.km: 2, left.u_alias: 3",
       "r.yaml:6:38: left.u_alias is connected twice, first at r.yaml:6:15 as left.u, which is "
       "the same input"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    world w;
    char text[512];
    snprintf(text, sizeof text, "connections: {%s}\n", cases[i].text);
    begin(&w, text);
    cpli_links links;
    CHECK_INT(cpli_links_init(&links, &w.resolver), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(w.ctx), cases[i].message);
    cpli_links_free(&links);
    end(&w);
  }
  world w;
  begin(&w, "connections: {left.u: 1}\n");
  CHECK_OK(w.ctx, cpl_system_def_connect(w.def, "left.u", "2"));
  cpli_links links;
  CHECK_INT(cpli_links_init(&links, &w.resolver), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(w.ctx), "left.u is connected twice, first at r.yaml:6:15");
  cpli_links_free(&links);
  end(&w);
}

//------------------------------------ the rest ------------------------------------

static void start_values_name_variables(void** state) {
  (void)state;
  world w;
  begin(&w, "");
  CHECK_OK(w.ctx, cpli_check_starts(&w.resolver));
  CHECK_OK(w.ctx, cpl_system_def_set(w.def, "right.givn", "1"));
  CHECK_INT(cpli_check_starts(&w.resolver), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(w.ctx), "model \"right\" has no variable givn (did you mean given?)");
  end(&w);
}

static void unconnected_inputs_are_warned_of(void** state) {
  (void)state;
  world w;
  begin(&w, "connections: {left.lost: 1, left.plain: 2, right.plain: 2}\n");
  cpli_links links;
  CHECK_OK(w.ctx, cpli_links_init(&links, &w.resolver));
  cpli_warn_unconnected(&w.resolver, &links);
  CHECK_INT(w.warnings, 1);
  CHECK_STR(w.warning,
            "r.yaml:4:3: input right.lost is not connected and has no start value: it is 0");
  cpli_links_free(&links);
  end(&w);
}

static void events_set_what_can_be_set(void** state) {
  (void)state;
  static const struct {
    const char *name, *message;
  } bad[] = {
      {"left.xx", "model \"left\" has no variable xx"},
      {"k", "k belongs to the system; an event sets variables of models"},
      {"left.u", "left.u is connected (r.yaml:6:15: ...), so an event cannot set it"},
      {"left.y", "left.y is a continuous output; an event sets states, inputs"},
      {"left.p", "left.p is a continuous parameter; an event sets states"},
  };
  world w;
  begin(&w, "connections: {left.u: 1}\n");
  cpli_links links;
  cpli_ref ref;
  CHECK_OK(w.ctx, cpli_links_init(&links, &w.resolver));
  static const char* const good[] = {"left.x", "left.q", "right.u"};
  for (size_t i = 0; i < CPLI_COUNT(good); i++) {
    cpli_located_text name = {good[i], {0}};
    CHECK_OK(w.ctx, cpli_resolve_set(&w.resolver, &links, &name, &ref));
    CHECK(ref.kind == CPLI_REF_VARIABLE);
  }
  for (size_t i = 0; i < CPLI_COUNT(bad); i++) {
    cpli_located_text name = {bad[i].name, {0}};
    CHECK_INT(cpli_resolve_set(&w.resolver, &links, &name, &ref), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(w.ctx), bad[i].message);
  }
  cpli_links_free(&links);
  end(&w);
}

// A ring of many models: the nearest names are looked for only after a failure, and every
// connection is found by its hash.
static void many_connections_are_resolved(void** state) {
  (void)state;
  enum { N = 10000 };
  world w;
  begin(&w, "");
  cpl_member_def member = cpl_default_member_def();
  member.path = "a.fmu";
  char name[32], target[32], source[32];
  for (int i = 0; i < N; i++) {
    sprintf(name, "m%d", i);
    member.name = name;
    CHECK_OK(w.ctx, cpl_system_def_add_model(w.def, &member));
    sprintf(source, "m%d.y", (i + 1) % N);
    for (int k = 0; k < 2; k++) {
      sprintf(target, "m%d.%s", i, k == 0 ? "u" : "plain");
      CHECK_OK(w.ctx, cpl_system_def_connect(w.def, target, source));
    }
  }
  const cpl_source** models = malloc((N + 2) * sizeof *models);
  for (int i = 0; i < N + 2; i++) models[i] = &w.source;
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  cpli_resolver r;
  cpli_links links;
  double before = cpli_now();
  CHECK_OK(ctx, cpli_resolver_init(&r, ctx, w.def, models));
  CHECK_OK(ctx, cpli_links_init(&links, &r));
  cpli_warn_unconnected(&r, &links);
  printf("%d models: %.3f s\n", N, cpli_now() - before);
  CHECK_INT(heap.calls, 4);
  for (int32_t i = 0; i < N; i++) CHECK_INT(cpli_links_find(&links, &r, i + 2, 0), 2 * i);
  cpli_links_free(&links);
  cpl_context_destroy(ctx);
  free(models);
  end(&w);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  world w;
  begin(&w, "connections: {left.u: right.y, right.u: left.y}\n");
  for (long n = 1;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_resolver r;
    cpli_links links;
    cpl_status st = cpli_resolver_init(&r, ctx, w.def, w.models);
    if (st >= 0) st = cpli_links_init(&links, &r);
    cpli_links_free(&links);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
  end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_names_are_found),
      cmocka_unit_test(unknown_names_offer_the_nearest),
      cmocka_unit_test(values_are_not_named_like_variables),
      cmocka_unit_test(connections_are_resolved),
      cmocka_unit_test(units_are_converted),
      cmocka_unit_test(numbers_become_items),
      cmocka_unit_test(bad_connections_have_a_place),
      cmocka_unit_test(start_values_name_variables),
      cmocka_unit_test(unconnected_inputs_are_warned_of),
      cmocka_unit_test(events_set_what_can_be_set),
      cmocka_unit_test(many_connections_are_resolved),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
