// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The model description of a description with variables of all kinds, as a system may have it: it
// is written, read back and compared.
#include <stdio.h>

#include "couplet/fmi.h"
#include "export/description.h"
#include "format/zip_writer.h"
#include "model/description.h"
#include "testing.h"

//------------------------------------ the description ------------------------------------

enum {
  P,
  PF,
  PC,
  PN,
  U,
  UI,
  UB,
  US,
  UX,
  X,
  DX,
  X2,
  DX2,
  Y,
  Z,
  INNER,
  C,
  E1,
  E2,
  E3,
  S,
  BIN,
  CLOCK,
  TIME,
  I8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F32,
  A,
  /* 2 x 2 */ Q = A + 4,
  DQ = Q + 2,
  N_VARS = DQ + 2
};

static const cpl_unit units[] = {
    {"m", true, {0, 1}, 1, 0, false, -1},
    {"cm", false, {0}, 100, 0, false, 0},
    {"K", true, {0, 0, 0, 0, 1}, 1, 0, false, -1},
    {"degC", false, {0}, 1, -273.15, false, 2},
    {"m", true, {0, 1}, 1, 0, false, -1},  // of another model
    {"mile", true, {0, 1}, 1609.344, 0, false, -1},
    {"mile", true, {0, 1}, 1852, 0, false, -1},  // something else
    {"cm", false, {0}, 100, 0, false, 4},
    {"1/m", false, {0}, 1, 0, true, 4},
};
static const cpl_enum_item gears[] = {{"reverse", "back", -1}, {"idle", "", 0}, {"fast", "", 5}};
static const cpl_enum_item others[] = {{"slow", "", 1}, {"fast", "", 2}};
static const cpl_type_def types[] = {{"Length", "Length", CPL_REAL, NULL, 0},
                                     {"Gear", "", CPL_ENUMERATION, gears, 3},
                                     {"Gear", "", CPL_ENUMERATION, gears, 3},
                                     {"Gear", "Speed", CPL_ENUMERATION, others, 2}};
static const int32_t sizes[] = {2, 2, 2};
static const cpl_array arrays[] = {{"left.a", A, 4, sizes, 2}, {"q", Q, 2, sizes, 1}};

static cpl_variable vars[N_VARS];

static cpl_variable* set(int var, const char* name, cpl_type type, cpl_causality causality,
                         cpl_variability variability, cpl_initial initial) {
  cpl_variable* v = &vars[var];
  *v = cpli_blank_variable;
  v->name = name;
  v->ref = (uint32_t)var;
  v->type = (uint8_t)type;
  v->causality = (uint8_t)causality;
  v->variability = (uint8_t)variability;
  v->initial = (uint8_t)initial;
  return v;
}

static cpl_variable* started(cpl_variable* v, double start) {
  v->has_start = true;
  v->start = start;
  return v;
}

#define PARAMETER CPL_CAUSALITY_PARAMETER
#define INPUT     CPL_CAUSALITY_INPUT
#define OUTPUT    CPL_CAUSALITY_OUTPUT
#define LOCAL     CPL_CAUSALITY_LOCAL
#define FIXED     CPL_VARIABILITY_FIXED
#define DISCRETE  CPL_VARIABILITY_DISCRETE
#define MOVING    CPL_VARIABILITY_CONTINUOUS
#define NONE      CPL_INITIAL_NONE
#define EXACT     CPL_INITIAL_EXACT
#define APPROX    CPL_INITIAL_APPROX
#define FOUND     CPL_INITIAL_CALCULATED

static void make_parameters(void) {
  cpl_variable* v = started(set(P, "p", CPL_REAL, PARAMETER, CPL_VARIABILITY_TUNABLE, EXACT), 2.5);
  v->unit = 0, v->display_unit = 1, v->declared_type = 0, v->quantity = "Length";
  v->min = 0, v->max = 10, v->nominal = 3, v->has_nominal = true;
  v->description = "a <length> & more";
  started(set(PF, "left.pf", CPL_INTEGER, PARAMETER, FIXED, EXACT), -7);
  set(PC, "left.pc", CPL_REAL, CPL_CAUSALITY_CALCULATED_PARAMETER, FIXED, FOUND)->unit = 6;
  set(PN, "left.n", CPL_INTEGER, PARAMETER, FIXED, EXACT)->structural = true;
  started(&vars[PN], 4);
  started(set(C, "c", CPL_REAL, LOCAL, CPL_VARIABILITY_CONSTANT, EXACT), 9.81);
  started(set(E1, "e1", CPL_ENUMERATION, PARAMETER, FIXED, EXACT), -1)->declared_type = 1;
  set(S, "s", CPL_STRING, PARAMETER, FIXED, EXACT)->start_text = "a<b";
  vars[S].has_start = true;
  for (int i = 0; i < 4; i++) {
    static const char* const names[] = {"left.a[1,1]", "left.a[1,2]", "left.a[2,1]", "left.a[2,2]"};
    started(set(A + i, names[i], CPL_REAL, PARAMETER, FIXED, EXACT), i + 0.5)->array = 1;
  }
}

static void make_inputs(void) {
  cpl_variable* v = started(set(U, "u", CPL_REAL, INPUT, MOVING, NONE), 293.15);
  v->unit = 2, v->display_unit = 3, v->relative_quantity = true, v->can_set_several_times = false;
  v = started(set(UI, "ui", CPL_INTEGER, INPUT, DISCRETE, NONE), 200);
  v->width = CPL_WIDTH_UINT8, v->min = 1, v->max = 255;
  set(UB, "ub", CPL_BOOLEAN, INPUT, DISCRETE, NONE);  // a start value is missing
  v = set(US, "us", CPL_STRING, INPUT, DISCRETE, NONE);
  v->start_text = "", v->has_start = true;
  v = set(UX, "bin", CPL_BINARY, INPUT, DISCRETE, NONE);
  v->start_text = "0aff", v->has_start = true;
}

static void make_states(void) {
  cpl_variable* v = started(set(X, "left.x", CPL_REAL, LOCAL, MOVING, EXACT), 1);
  v->nominal = 1e-3, v->has_nominal = v->unbounded = v->reinit = true;
  v->unit = 4, v->display_unit = 7;
  set(DX, "left.der(x)", CPL_REAL, LOCAL, MOVING, FOUND)->derivative_of = X;
  started(set(X2, "x2", CPL_REAL, OUTPUT, MOVING, APPROX), 0.25)->unit = 5;
  set(DX2, "der(x2)", CPL_REAL, LOCAL, MOVING, FOUND)->derivative_of = X2;
  for (int i = 0; i < 2; i++) {
    started(set(Q + i, i == 0 ? "q[1]" : "q[2]", CPL_REAL, LOCAL, MOVING, EXACT), i)->array = 2;
    v = set(DQ + i, i == 0 ? "der(q[1])" : "der(q[2])", CPL_REAL, LOCAL, MOVING, FOUND);
    v->derivative_of = Q + i;
  }
}

static void make_others(void) {
  set(Y, "y", CPL_REAL, OUTPUT, MOVING, FOUND)->alias_of = X;
  set(Z, "z", CPL_BOOLEAN, OUTPUT, MOVING, FOUND);  // continuous: that is no Boolean of FMI
  started(set(INNER, "left.u", CPL_REAL, LOCAL, MOVING, NONE), 5);  // a coupled input
  set(E2, "e2", CPL_ENUMERATION, OUTPUT, DISCRETE, FOUND)->declared_type = 2;
  started(set(E3, "e3", CPL_ENUMERATION, LOCAL, DISCRETE, EXACT), 2)->declared_type = 3;
  vars[E3].quantity = "Speed";
  set(BIN, "left.bin", CPL_BINARY, OUTPUT, DISCRETE, FOUND);
  set(CLOCK, "left.clock", CPL_CLOCK, OUTPUT, DISCRETE, FOUND);
  set(TIME, "left.time", CPL_REAL, CPL_CAUSALITY_INDEPENDENT, MOVING, NONE);
  static const struct {
    const char* name;
    cpl_width width;
  } sized[] = {{"i8", CPL_WIDTH_INT8},   {"i16", CPL_WIDTH_INT16},  {"u16", CPL_WIDTH_UINT16},
               {"i32", CPL_WIDTH_INT32}, {"u32", CPL_WIDTH_UINT32}, {"i64", CPL_WIDTH_INT64},
               {"u64", CPL_WIDTH_UINT64}};
  for (int i = 0; i < 7; i++)
    started(set(I8 + i, sized[i].name, CPL_INTEGER, OUTPUT, DISCRETE, EXACT), i + 1)->width =
        (uint8_t)sized[i].width;
  set(F32, "f32", CPL_REAL, OUTPUT, MOVING, FOUND)->width = CPL_WIDTH_FLOAT32;
}

static const int32_t states[] = {X2, X, Q, Q + 1}, derivatives[] = {DX2, DX, DQ, DQ + 1};
static const int32_t deps[] = {U, X, UI, P, INNER};
static const uint8_t kinds[] = {CPL_KIND_DEPENDENT, CPL_KIND_FIXED, CPL_KIND_DISCRETE,
                                CPL_KIND_DEPENDENT, CPL_KIND_DEPENDENT};
static const cpl_unknown outputs[] = {{Y, 1, 1}, {Z, 0, -1}, {F32, 0, 3}, {E2, 0, 0}};
static const cpl_unknown slopes[] = {{DX2, 0, 2}, {DX, 1, 1}, {DQ, 0, 1}, {DQ + 1, 2, 1}};
static const cpl_unknown initial[] = {{Y, 1, 1}, {INNER, 0, 1}, {PC, 3, 1}};

static cpl_description description(void) {
  make_parameters();
  make_inputs();
  make_states();
  make_others();
  return (cpl_description){.name = "whole",
                           .kind = "system",
                           .description = "",
                           .author = "",
                           .version = "",
                           .copyright = "",
                           .license = "",
                           .tool = "",
                           .date = "",
                           .experiment = {.has_stop = true, .stop = 3},
                           .vars = vars,
                           .n_vars = N_VARS,
                           .arrays = arrays,
                           .n_arrays = 2,
                           .states = states,
                           .derivatives = derivatives,
                           .n_states = 4,
                           .n_indicators = 2,
                           .structure = {outputs, slopes, initial, 4, 4, 3, deps, kinds, 0},
                           .units = units,
                           .n_units = 9,
                           .types = types,
                           .n_types = 4};
}

//------------------------------------ reading back ------------------------------------

typedef struct whole {
  cpl_context* ctx;
  cpl_description desc;
  cpli_fmu_facts facts;
  cpl_source* fmu;
  const cpl_description* read;
  char* xml;
} whole;

static cpli_fmu_facts facts_of(int fmi, const cpl_description* d) {
  return (cpli_fmu_facts){
      .fmi = fmi,
      .desc = d,
      .model_exchange = true,
      .co_simulation = true,
      .can = {.directional = true, .completed_step = true},
      .step_can = {.save_restore = true, .zero_step = true, .stops_early = true},
      .identifier = "whole",
      .guid = "{1}"};
}

static void open_whole(whole* w, const char* path) {
  cpli_writer xml = {.ctx = w->ctx};
  CHECK_OK(w->ctx, cpli_write_description(&xml, &w->facts));
  cpli_zip_entry entry = {"modelDescription.xml", xml.text, xml.len, false};
  CHECK_OK(w->ctx, cpli_zip_write(w->ctx, path, &entry, 1));
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  CHECK_OK(w->ctx, cpl_fmu_open(w->ctx, &def, &w->fmu));
  w->read = w->fmu->desc;
  w->xml = xml.text;
}

static void close_whole(whole* w) {
  w->fmu->ops->destroy(w->fmu);
  cpli_free(w->ctx, w->xml);
  cpl_context_destroy(w->ctx);
}

// An array of derivatives is an array in FMI 3.0.
static const char* name_of(const whole* w, int var) {
  if (w->facts.fmi == 3 && var >= DQ) return var == DQ ? "der(q)[1]" : "der(q)[2]";
  return vars[var].name;
}

static const cpl_variable* read_var(const whole* w, int var) {
  int32_t i = cpl_find_variable(w->read, name_of(w, var));
  if (i < 0) print_error("%s is missing\n", vars[var].name);
  CHECK(i >= 0);
  return &w->read->vars[i];
}

static const char* unit_name(const cpl_description* d, int32_t unit) {
  return unit >= 0 ? d->units[unit].name : "";
}

static void same_attributes(const whole* w, int var) {
  const cpl_variable *a = &vars[var], *b = read_var(w, var);
  CHECK_STR(b->description, a->description);
  CHECK_INT(b->type, a->type);
  char text[128];
  snprintf(text, sizeof text, "name=\"%s\" valueReference=\"%u\"", a->name, (unsigned)a->ref);
  if (w->facts.fmi == 2 || var < A) CHECK_CONTAINS(w->xml, text);
  if (isfinite(a->min)) CHECK_NEAR(b->min, a->min, 0);
  if (isfinite(a->max)) CHECK_NEAR(b->max, a->max, 0);
  CHECK(a->type != CPL_REAL || (b->min == a->min && b->max == a->max));
  CHECK(b->has_nominal == a->has_nominal && b->nominal == a->nominal);
  CHECK(b->relative_quantity == a->relative_quantity && b->unbounded == a->unbounded);
  CHECK(b->reinit == a->reinit);
  if (a->unit != 6) CHECK_STR(unit_name(w->read, b->unit), unit_name(&w->desc, a->unit));
  CHECK_STR(unit_name(w->read, b->display_unit), unit_name(&w->desc, a->display_unit));
  CHECK_STR(b->quantity != NULL ? b->quantity : "", a->quantity != NULL ? a->quantity : "");
  if (a->derivative_of >= 0)
    CHECK_STR(w->read->vars[b->derivative_of].name, vars[a->derivative_of].name);
  else CHECK_INT(b->derivative_of, -1);
  const cpli_standing s = cpli_standing_of(a);
  CHECK_INT(b->causality, s.causality);
  CHECK_INT(b->variability, s.variability);
  CHECK_INT(b->has_start, s.has_start);
  if (s.has_start && a->has_start) CHECK_NEAR(b->start, a->start, 0);
  if (s.has_start && a->start_text != NULL) CHECK_STR(b->start_text, a->start_text);
}

static void check_standing(const whole* w, int var, cpl_causality causality,
                           cpl_variability variability, cpl_initial initial_, bool start) {
  const cpl_variable* v = read_var(w, var);
  CHECK_INT(v->causality, causality);
  CHECK_INT(v->variability, variability);
  CHECK_INT(v->initial, initial_);
  CHECK_INT(v->has_start, start);
}

// The combinations that FMI does not have.
static void check_standings(const whole* w) {
  check_standing(w, PN, LOCAL, FIXED, FOUND, false);
  check_standing(w, INNER, LOCAL, MOVING, FOUND, false);
  check_standing(w, TIME, LOCAL, MOVING, FOUND, false);
  check_standing(w, Z, OUTPUT, DISCRETE, FOUND, false);
  check_standing(w, UB, INPUT, DISCRETE, NONE, true);
  check_standing(w, C, LOCAL, CPL_VARIABILITY_CONSTANT, EXACT, true);
  check_standing(w, X2, OUTPUT, MOVING, APPROX, true);
  check_standing(w, P, PARAMETER, CPL_VARIABILITY_TUNABLE, EXACT, true);
}

static void check_types(const whole* w) {
  const cpl_variable *p = read_var(w, P), *u = read_var(w, U), *pc = read_var(w, PC);
  CHECK_STR(w->read->types[p->declared_type].name, "Length");
  CHECK_STR(w->read->types[p->declared_type].quantity, "Length");
  CHECK_NEAR(w->read->units[u->display_unit].offset, -273.15, 0);
  CHECK_STR(unit_name(w->read, pc->unit), "mile_2");
  CHECK_NEAR(w->read->units[pc->unit].factor, 1852, 0);
  CHECK_NEAR(w->read->units[read_var(w, X2)->unit].factor, 1609.344, 0);
  CHECK_INT(read_var(w, X)->unit, p->unit);  // one unit m
  const cpl_type_def* gear = &w->read->types[read_var(w, E1)->declared_type];
  CHECK_INT(read_var(w, E2)->declared_type, read_var(w, E1)->declared_type);
  CHECK_STR(gear->name, "Gear");
  CHECK(gear->n_items == 3 && gear->items[0].value == -1 && gear->items[2].value == 5);
  CHECK_STR(gear->items[0].description, "back");
  const cpl_type_def* other = &w->read->types[read_var(w, E3)->declared_type];
  CHECK_STR(other->name, "Gear_2");
  CHECK(other->n_items == 2 && other->items[1].value == 2);
}

static const cpl_unknown* find_row(const whole* w, const cpl_unknown* rows, int32_t n, int var) {
  for (int32_t i = 0; i < n; i++)
    if (strcmp(w->read->vars[rows[i].var].name, vars[var].name) == 0) return &rows[i];
  return NULL;
}

static bool has_dep(const whole* w, const cpl_unknown* row, int var, cpl_dependency_kind kind) {
  const cpl_structure* s = &w->read->structure;
  for (int32_t i = 0; i < row->count; i++)
    if (strcmp(w->read->vars[s->deps[row->first + i]].name, vars[var].name) == 0)
      return s->kinds[row->first + i] == kind;
  return false;
}

static void check_structure(const whole* w) {
  const cpl_structure* s = &w->read->structure;
  CHECK_INT(w->read->n_states, 4);
  for (int i = 0; i < 4; i++)
    CHECK_STR(w->read->vars[w->read->states[i]].name, vars[states[i]].name);
  const cpl_unknown* row = find_row(w, s->outputs, s->n_outputs, F32);
  CHECK(row != NULL && row->count == 3 && has_dep(w, row, U, CPL_KIND_DEPENDENT) &&
        has_dep(w, row, X, CPL_KIND_FIXED) && has_dep(w, row, UI, CPL_KIND_DISCRETE));
  row = find_row(w, s->outputs, s->n_outputs, Z);
  CHECK(row != NULL && row->count == -1);
  row = find_row(w, s->outputs, s->n_outputs, E2);
  CHECK(row != NULL && row->count == 0);
  row = find_row(w, s->outputs, s->n_outputs, I64);  // without a row in the description
  CHECK(row != NULL && row->count == -1);
  row = find_row(w, s->derivatives, s->n_derivatives, DX);
  CHECK(row != NULL && row->count == 1 && has_dep(w, row, X, CPL_KIND_FIXED));
  // what is computed at the start: not the coupled input, but the guessed state
  CHECK(find_row(w, s->initial, s->n_initial, INNER) == NULL);
  CHECK(find_row(w, s->initial, s->n_initial, X) == NULL);
  CHECK(find_row(w, s->initial, s->n_initial, X2) != NULL);
  CHECK(find_row(w, s->initial, s->n_initial, I8) == NULL);
  row = find_row(w, s->initial, s->n_initial, PC);
  CHECK(row != NULL && has_dep(w, row, P, CPL_KIND_DEPENDENT));
}

static void check_all(int fmi, const char* path) {
  whole w = {.ctx = test_context(), .desc = description()};
  w.facts = facts_of(fmi, &w.desc);
  open_whole(&w, path);
  for (int i = 0; i < N_VARS; i++) {
    bool left_out = cpli_why_left_out(&w.facts, i) != NULL;
    CHECK_INT(left_out, i == CLOCK || (fmi == 2 && (i == UX || i == BIN)));
    if (left_out) CHECK(cpl_find_variable(w.read, vars[i].name) < 0);
    else same_attributes(&w, i);
  }
  check_standings(&w);
  check_types(&w);
  check_structure(&w);
  CHECK_CONTAINS(w.xml, "variableNamingConvention=\"flat\"");
  CHECK(cpl_source_has_model(w.fmu) && cpl_source_has_stepper(w.fmu));
  close_whole(&w);
}

static void all_kinds_of_variables_in_fmi2(void** state) {
  (void)state;
  check_all(2, "whole2.fmu");
}

static void all_kinds_of_variables_in_fmi3(void** state) {
  (void)state;
  check_all(3, "whole3.fmu");
  whole w = {.ctx = test_context(), .desc = description()};
  w.facts = facts_of(3, &w.desc);
  open_whole(&w, "whole3.fmu");
  for (int i = UI; i < N_VARS; i++)
    if (vars[i].width != CPL_WIDTH_OWN) CHECK_INT(read_var(&w, i)->width, vars[i].width);
  const cpl_variable* a = read_var(&w, A);
  CHECK(a->array > 0 && w.read->arrays[a->array - 1].n_sizes == 2);
  CHECK_STR(w.read->arrays[a->array - 1].name, "left.a");
  CHECK_CONTAINS(w.xml, "<Float64 name=\"der(q)\"");
  CHECK_CONTAINS(w.xml, "start=\"0.5 1.5 2.5 3.5\"");
  CHECK_INT(w.read->n_indicators, 2);
  close_whole(&w);
}

//------------------------------------ kinds and choices ------------------------------------

static void a_stepper_is_for_co_simulation_only(void** state) {
  (void)state;
  for (int fmi = 2; fmi <= 3; fmi++) {
    whole w = {.ctx = test_context(), .desc = description()};
    w.facts = facts_of(fmi, &w.desc);
    w.facts.model_exchange = false;
    w.facts.step_can = (cpl_capabilities){.once_per_process = true, .needs_tool = true};
    open_whole(&w, "stepper.fmu");
    CHECK(!cpl_source_has_model(w.fmu) && cpl_source_has_stepper(w.fmu));
    CHECK(strstr(w.xml, "ModelExchange") == NULL && strstr(w.xml, "reinit") == NULL);
    CHECK(strstr(w.xml, "FMUstate") == NULL && strstr(w.xml, "FMUState") == NULL);
    CHECK(strstr(w.xml, "hasEventMode") == NULL && strstr(w.xml, "VariableComm") == NULL);
    CHECK(strstr(w.xml, "vent_indicator") == NULL && strstr(w.xml, "EventIndicators") == NULL);
    CHECK_CONTAINS(w.xml, "canBeInstantiatedOnlyOncePerProcess=\"true\"");
    CHECK_CONTAINS(w.xml, "needsExecutionTool=\"true\"");
    // outputs depend on inputs, and no longer on states
    const cpl_structure* s = &w.read->structure;
    const cpl_unknown* row = find_row(&w, s->outputs, s->n_outputs, F32);
    CHECK(row != NULL && row->count == 2 && has_dep(&w, row, U, CPL_KIND_DEPENDENT));
    CHECK(find_row(&w, s->initial, s->n_initial, DX) == NULL);
    close_whole(&w);
  }
}

static void what_is_not_exposed_is_not_there(void** state) {
  (void)state;
  for (int fmi = 2; fmi <= 3; fmi++) {
    bool exposed[N_VARS] = {[U] = true, [Y] = true, [A + 2] = true, [CLOCK] = true};
    whole w = {.ctx = test_context(), .desc = description()};
    w.facts = facts_of(fmi, &w.desc);
    w.facts.exposed = exposed;
    open_whole(&w, "exposed.fmu");
    static const int there[] = {U, Y, A + 2, X, DX, X2, DX2, Q, Q + 1, DQ, DQ + 1};
    static const int gone[] = {P, PF, PC, UI, Z, INNER, E1, S, F32, CLOCK};
    for (size_t i = 0; i < CPLI_COUNT(there); i++) read_var(&w, there[i]);
    for (size_t i = 0; i < CPLI_COUNT(gone); i++)
      CHECK(cpl_find_variable(w.read, vars[gone[i]].name) < 0);
    CHECK_INT(cpl_find_variable(w.read, "left.a[1,1]") >= 0, fmi == 3);  // an array is one variable
    CHECK(strstr(w.xml, "Gear") == NULL);
    const cpl_structure* s = &w.read->structure;
    const cpl_unknown* row = find_row(&w, s->derivatives, s->n_derivatives, DX2);
    CHECK(row != NULL && row->count == 2 && has_dep(&w, row, X, CPL_KIND_FIXED));
    CHECK(cpli_why_left_out(&w.facts, CLOCK) != NULL && cpli_why_left_out(&w.facts, UX) == NULL);
    close_whole(&w);
  }
}

static void hidden_states_are_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_description d = description();
  static const int32_t hidden[] = {X2, -1, Q, Q + 1};
  d.states = hidden;
  cpli_fmu_facts facts = facts_of(2, &d);
  cpli_writer xml = {.ctx = ctx};
  CHECK_INT(cpli_write_description(&xml, &facts), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "state 2 has none");
  facts.model_exchange = false;
  CHECK_OK(ctx, cpli_write_description(&xml, &facts));
  cpli_writer_free(&xml);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_kinds_of_variables_in_fmi2),
      cmocka_unit_test(all_kinds_of_variables_in_fmi3),
      cmocka_unit_test(a_stepper_is_for_co_simulation_only),
      cmocka_unit_test(what_is_not_exposed_is_not_there),
      cmocka_unit_test(hidden_states_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
