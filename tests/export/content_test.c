// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The runtime of FMUs over a content that is no model in C: a stepper that can do nothing but step,
// with variables of all types of FMI 3.0. y grows by p times u; steps longer than 0.5 are refused.
#include "export/runtime/fmu.h"
#include "fmi3Functions.h"
#include "model/description.h"
#include "testing.h"

enum { P, U, Y, F32, I8, U8, I16, U16, I32, U32, I64, U64, ON, GEAR, TEXT, BLOB, N_VARS };

static const cpl_enum_item items[] = {{"back", "", -1}, {"idle", "", 0}, {"fast", "", 5}};
static const cpl_type_def types[] = {{"gears", "", CPL_ENUMERATION, items, 3}};
static cpl_variable vars[N_VARS];
static cpl_description desc;

// What the content was asked for.
static struct {
  int opened, closed, made, alive;
  double rtol;
  char resources[64];
  bool fails;
} seen;

static void declare(int var, const char* name, cpl_type type, cpl_causality causality,
                    cpl_variability variability, cpl_width width, double start) {
  vars[var] = cpli_blank_variable;
  vars[var].name = name;
  vars[var].ref = (uint32_t)var;
  vars[var].type = (uint8_t)type;
  vars[var].causality = (uint8_t)causality;
  vars[var].variability = (uint8_t)variability;
  vars[var].initial = causality == CPL_CAUSALITY_INPUT ? CPL_INITIAL_NONE : CPL_INITIAL_EXACT;
  vars[var].width = (uint8_t)width;
  vars[var].has_start = true;
  vars[var].start = start;
}

static void describe(void) {
  static const struct {
    const char* name;
    cpl_width width;
  } sized[] = {{"i8", CPL_WIDTH_INT8},    {"u8", CPL_WIDTH_UINT8},  {"i16", CPL_WIDTH_INT16},
               {"u16", CPL_WIDTH_UINT16}, {"i32", CPL_WIDTH_INT32}, {"u32", CPL_WIDTH_UINT32},
               {"i64", CPL_WIDTH_INT64},  {"u64", CPL_WIDTH_UINT64}};
  const cpl_causality parameter = CPL_CAUSALITY_PARAMETER, input = CPL_CAUSALITY_INPUT;
  const cpl_variability fixed = CPL_VARIABILITY_FIXED, moving = CPL_VARIABILITY_CONTINUOUS,
                        discrete = CPL_VARIABILITY_DISCRETE;
  declare(P, "p", CPL_REAL, parameter, fixed, CPL_WIDTH_OWN, 1);
  declare(U, "u", CPL_REAL, input, moving, CPL_WIDTH_FLOAT64, 0);
  declare(Y, "y", CPL_REAL, CPL_CAUSALITY_OUTPUT, moving, CPL_WIDTH_OWN, 0);
  vars[Y].has_start = false;
  declare(F32, "f32", CPL_REAL, parameter, fixed, CPL_WIDTH_FLOAT32, 0);
  for (int i = 0; i < 8; i++)
    declare(I8 + i, sized[i].name, CPL_INTEGER, parameter, fixed, sized[i].width, 0);
  declare(ON, "on", CPL_BOOLEAN, input, discrete, CPL_WIDTH_OWN, 0);
  declare(GEAR, "gear", CPL_ENUMERATION, input, discrete, CPL_WIDTH_OWN, 0);
  vars[GEAR].declared_type = 0;
  declare(TEXT, "text", CPL_STRING, input, discrete, CPL_WIDTH_OWN, 0);
  declare(BLOB, "blob", CPL_BINARY, input, discrete, CPL_WIDTH_OWN, 0);
  desc = (cpl_description){
      .name = "odd", .kind = "odd", .vars = vars, .n_vars = N_VARS, .types = types, .n_types = 1};
}

//------------------------------------ the stepper ------------------------------------

typedef struct odd {
  cpl_stepper base;
  double t, real[N_VARS];
  int64_t whole[N_VARS];
  char text[64];
  uint8_t blob[64];
  size_t blob_size;
} odd;

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  seen.alive--;
  free(c);
}

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  ((odd*)c)->t = s->start_time;
  return CPL_OK;
}

static cpl_status nothing(cpl_component* c) {
  (void)c;
  return CPL_OK;
}

static cpl_status reset(cpl_component* c) {
  odd* o = (odd*)c;
  memset(o->real, 0, sizeof o->real);
  memset(o->whole, 0, sizeof o->whole);
  o->text[0] = '\0';
  o->blob_size = 0;
  o->real[P] = 1;
  return CPL_OK;
}

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  for (size_t i = 0; i < n; i++) values[i] = ((odd*)c)->real[refs[i]];
  return CPL_OK;
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  for (size_t i = 0; i < n; i++) ((odd*)c)->real[refs[i]] = values[i];
  return CPL_OK;
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  for (size_t i = 0; i < n; i++) {
    CHECK_INT(vars[refs[i]].type, type);
    values[i] = ((odd*)c)->whole[refs[i]];
  }
  return CPL_OK;
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  for (size_t i = 0; i < n; i++) {
    CHECK_INT(vars[refs[i]].type, type);
    ((odd*)c)->whole[refs[i]] = values[i];
  }
  return CPL_OK;
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  (void)refs;
  for (size_t i = 0; i < n; i++) values[i] = ((odd*)c)->text;
  return CPL_OK;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  (void)refs;
  for (size_t i = 0; i < n; i++) snprintf(((odd*)c)->text, 64, "%s", values[i]);
  return CPL_OK;
}

static cpl_status get_binary(cpl_component* c, const uint32_t* refs, size_t n, cpl_binary* values) {
  (void)refs;
  for (size_t i = 0; i < n; i++) values[i] = (cpl_binary){((odd*)c)->blob, ((odd*)c)->blob_size};
  return CPL_OK;
}

static cpl_status set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                             const cpl_binary* values) {
  (void)refs;
  for (size_t i = 0; i < n; i++) {
    ((odd*)c)->blob_size = values[i].size;
    if (values[i].size > 0) memcpy(((odd*)c)->blob, values[i].data, values[i].size);
  }
  return CPL_OK;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  odd* o = (odd*)s;
  (void)t_limit;
  if (seen.fails) {
    cpl_log(s->base.ctx, CPL_LOG_ERROR, "odd", "an inner part burns");
    return cpl_fail(s->base.ctx, CPL_ERR_MODEL, "the stepper failed");
  }
  double h = fmin(t_end - o->t, 0.5);
  o->real[Y] += o->real[P] * o->real[U] * h;
  bool all = o->t + h >= t_end;
  o->t = all ? t_end : o->t + h;
  *result = (cpl_step_result){.end = all ? CPL_STEP_DONE : CPL_STEP_REFUSED, .time = o->t};
  return CPL_OK;
}

static const cpl_component_ops component_ops = {.size = sizeof component_ops,
                                                .kind = "odd",
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = nothing,
                                                .exit_init = nothing,
                                                .terminate = nothing,
                                                .reset = reset,
                                                .get_real = get_real,
                                                .set_real = set_real,
                                                .get_integer = get_integer,
                                                .set_integer = set_integer,
                                                .get_string = get_string,
                                                .set_string = set_string,
                                                .get_binary = get_binary,
                                                .set_binary = set_binary};
static const cpl_stepper_ops stepper_ops = {.size = sizeof stepper_ops, .step = step};

//------------------------------------ the content ------------------------------------

static const cpl_source_ops source_ops = {.size = sizeof source_ops, .kind = "odd"};

cpl_status fmu_content_open(cpl_context* ctx, const char* resources, fmu_content* out) {
  static cpl_source source;
  describe();
  source = (cpl_source){.ops = &source_ops, .desc = &desc, .ctx = ctx, .path = ""};
  *out = (fmu_content){.source = &source, .guid = "{odd}", .self = ctx};
  snprintf(seen.resources, sizeof seen.resources, "%s", resources != NULL ? resources : "none");
  seen.opened++;
  return CPL_OK;
}

void fmu_content_close(fmu_content* c) {
  seen.closed += c->source != NULL;
  *c = (fmu_content){0};
}

cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  odd* o = calloc(1, sizeof *o);
  seen.made++;
  seen.alive++;
  CHECK_INT(seen.alive, 1);  // there may be only one of it
  seen.rtol = rtol;
  o->base = (cpl_stepper){.base = {.ops = &component_ops,
                                   .desc = &desc,
                                   .ctx = c->self,
                                   .name = name,
                                   .can = {.variable_step = true}},
                          .ops = &stepper_ops};
  reset(&o->base.base);
  *out = &o->base;
  return CPL_OK;
}

//------------------------------------ importing it ------------------------------------

static char heard[4096];

static void logger(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                   fmi3String message) {
  (void)environment, (void)status, (void)category;
  size_t n = strlen(heard);
  snprintf(heard + n, sizeof heard - n, "%s\n", message);
}

static fmi3Instance begin(bool event_mode) {
  memset(&seen, 0, sizeof seen);
  heard[0] = '\0';
  fmi3Instance c = fmi3InstantiateCoSimulation("i", "{odd}", "/a/resources", false, false,
                                               event_mode, false, NULL, 0, NULL, logger, NULL);
  assert_non_null(c);
  return c;
}

static void initialize(fmi3Instance c, double tolerance) {
  CHECK_INT(fmi3EnterInitializationMode(c, tolerance > 0, tolerance, 0, false, 0), fmi3OK);
  CHECK_INT(fmi3ExitInitializationMode(c), fmi3OK);
}

static void end(fmi3Instance c) {
  fmi3FreeInstance(c);
  CHECK(seen.alive == 0 && seen.opened == seen.closed);
}

#define REFUSED(call, text)      \
  do {                           \
    heard[0] = '\0';             \
    CHECK_INT(call, fmi3Error);  \
    CHECK_CONTAINS(heard, text); \
  } while (0)

#define ROUND_TRIP(type, var, value)                       \
  do {                                                     \
    fmi3ValueReference ref = var;                          \
    fmi3##type in = value, out = 0;                        \
    CHECK_INT(fmi3Set##type(c, &ref, 1, &in, 1), fmi3OK);  \
    CHECK_INT(fmi3Get##type(c, &ref, 1, &out, 1), fmi3OK); \
    CHECK(in == out);                                      \
  } while (0);

// Types, variables and values.
#define NUMBERS(X)           \
  X(Float64, P, 2.5)         \
  X(Float64, U, 3)           \
  X(Float32, F32, 0.1f)      \
  X(Int8, I8, -128)          \
  X(UInt8, U8, 255)          \
  X(Int16, I16, -32768)      \
  X(UInt16, U16, 65535)      \
  X(Int32, I32, INT32_MIN)   \
  X(UInt32, U32, UINT32_MAX) \
  X(Int64, I64, INT64_MIN)   \
  X(UInt64, U64, UINT64_MAX) \
  X(Boolean, ON, true)       \
  X(Int64, GEAR, 5)

static void set_everything(fmi3Instance c) {
  NUMBERS(ROUND_TRIP)
  fmi3ValueReference text = TEXT, blob = BLOB;
  fmi3String word = "first";
  CHECK_INT(fmi3SetString(c, &text, 1, &word, 1), fmi3OK);
  word = "second";
  CHECK_INT(fmi3SetString(c, &text, 1, &word, 1), fmi3OK);
  size_t size = 3;
  fmi3Binary bytes = (const fmi3Byte*)"\1\0\2";
  CHECK_INT(fmi3SetBinary(c, &blob, 1, &size, &bytes, 1), fmi3OK);
}

#define IS(type, var, value)                               \
  do {                                                     \
    fmi3ValueReference ref = var;                          \
    fmi3##type out = 0;                                    \
    CHECK_INT(fmi3Get##type(c, &ref, 1, &out, 1), fmi3OK); \
    CHECK(out == (value));                                 \
  } while (0);

static void check_everything(fmi3Instance c) {
  NUMBERS(IS)
  fmi3ValueReference text = TEXT, blob = BLOB;
  fmi3String word = NULL;
  CHECK_INT(fmi3GetString(c, &text, 1, &word, 1), fmi3OK);
  CHECK_STR(word, "second");
  size_t size = 0;
  fmi3Binary bytes = NULL;
  CHECK_INT(fmi3GetBinary(c, &blob, 1, &size, &bytes, 1), fmi3OK);
  CHECK(size == 3 && memcmp(bytes, "\1\0\2", 3) == 0);
}

static void values_survive_another_tolerance(void** state) {
  (void)state;
  fmi3Instance c = begin(false);
  CHECK_STR(seen.resources, "/a/resources");
  CHECK(seen.made == 1 && seen.rtol == 0);
  set_everything(c);
  initialize(c, 1e-7);
  CHECK(seen.made == 2 && seen.rtol == 1e-7);
  check_everything(c);
  // the same tolerance after a reset needs no other stepper, and finds no value of the run before
  CHECK_INT(fmi3Reset(c), fmi3OK);
  IS(Float64, P, 1);
  ROUND_TRIP(Float64, U, 7);
  initialize(c, 1e-7);
  CHECK_INT(seen.made, 2);
  IS(UInt64, U64, 0);
  CHECK_INT(fmi3Reset(c), fmi3OK);
  initialize(c, 1e-3);
  CHECK_INT(seen.made, 3);
  IS(Float64, U, 0);
  end(c);
  c = begin(false);
  set_everything(c);
  initialize(c, 0);
  CHECK_INT(seen.made, 1);
  check_everything(c);
  end(c);
}

static void types_and_ranges_are_checked(void** state) {
  (void)state;
  fmi3Instance c = begin(false);
  fmi3ValueReference ref = I8;
  fmi3Float64 real = 0;
  fmi3Float32 single = 0;
  fmi3Int16 small = 0;
  fmi3Int64 item = 3;
  fmi3String word = NULL;
  REFUSED(fmi3GetInt16(c, &ref, 1, &small, 1), "no Int16 with value reference 4");
  REFUSED(fmi3GetFloat64(c, &ref, 1, &real, 1), "no Float64");
  ref = F32;
  REFUSED(fmi3GetFloat64(c, &ref, 1, &real, 1), "no Float64");
  ref = P;
  REFUSED(fmi3GetFloat32(c, &ref, 1, &single, 1), "no Float32");
  REFUSED(fmi3GetString(c, &ref, 1, &word, 1), "no String");
  ref = GEAR;
  REFUSED(fmi3SetInt64(c, &ref, 1, &item, 1), "gear = 3 is no item of gears");
  item = 6;
  REFUSED(fmi3SetInt64(c, &ref, 1, &item, 1), "not between -1 and 5");
  ref = Y;
  REFUSED(fmi3SetFloat64(c, &ref, 1, &real, 1), "y is computed by the model");
  ref = N_VARS;  // the time
  CHECK_INT(fmi3GetFloat64(c, &ref, 1, &real, 1), fmi3OK);
  ref = N_VARS + 5;
  REFUSED(fmi3GetFloat64(c, &ref, 1, &real, 1), "no Float64");
  end(c);
}

static void long_steps_are_divided(void** state) {
  (void)state;
  fmi3Instance c = begin(false);
  ROUND_TRIP(Float64, P, 2);
  initialize(c, 0);
  double t = 0, y = 0;
  for (int i = 0; i < 5; i++) {
    fmi3Boolean event, terminate, early;
    double reached, h = 0.3 + 0.4 * i;
    ROUND_TRIP(Float64, U, i + 1);  // the stepper has no curves
    CHECK_INT(fmi3DoStep(c, t, h, true, &event, &terminate, &early, &reached), fmi3OK);
    CHECK(!event && !terminate && !early);
    y += 2 * (i + 1) * h;
    t += h;
    CHECK_NEAR(reached, t, 1e-15);
    fmi3ValueReference ref = Y;
    double value;
    CHECK_INT(fmi3GetFloat64(c, &ref, 1, &value, 1), fmi3OK);
    CHECK_NEAR(value, y, 1e-12);
  }
  end(c);
}

static void what_it_cannot_do_is_refused(void** state) {
  (void)state;
  fmi3Instance c = begin(true);
  fmi3FMUState saved = NULL;
  fmi3ValueReference u = U, y = Y;
  double value = 1, seed = 1;
  fmi3Int32 order = 1;
  initialize(c, 0);
  REFUSED(fmi3EnterEventMode(c), "without event mode");
  REFUSED(fmi3GetFMUState(c, &saved), "cannot be saved");
  REFUSED(fmi3GetDirectionalDerivative(c, &y, 1, &u, 1, &seed, 1, &value, 1), "not offered");
  REFUSED(fmi3GetOutputDerivatives(c, &y, 1, &order, &value, 1), "no state");
  REFUSED(fmi3SetFMUState(c, saved), "no state");
  end(c);
  heard[0] = '\0';
  CHECK(fmi3InstantiateModelExchange("i", "{odd}", NULL, false, false, NULL, logger) == NULL);
  CHECK_CONTAINS(heard, "the FMU is for co-simulation only");
  CHECK(seen.opened == seen.closed && seen.alive == 0);
}

static void errors_are_told_always(void** state) {
  (void)state;
  fmi3Instance c = begin(false);
  fmi3Boolean event, terminate, early;
  double reached;
  initialize(c, 0);
  seen.fails = true;
  REFUSED(fmi3DoStep(c, 0, 1, true, &event, &terminate, &early, &reached), "an inner part burns");
  CHECK_CONTAINS(heard, "the stepper failed");
  end(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_survive_another_tolerance),
      cmocka_unit_test(types_and_ranges_are_checked),
      cmocka_unit_test(long_steps_are_divided),
      cmocka_unit_test(what_it_cannot_do_is_refused),
      cmocka_unit_test(errors_are_told_always),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
