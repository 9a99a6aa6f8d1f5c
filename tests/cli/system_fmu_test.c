// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems as FMUs: the FMU of a system gives the results of its system file, in both versions of
// FMI, to the byte as model exchange with a fixed step; it is without findings, it can be part of
// another system and of another FMU, and gives the system back.
#include <math.h>

#include "base/base.h"
#include "command.h"
#include "export/plan.h"
#include "format/zip.h"
#include "format/zip_writer.h"

static const char* example(const char* name) {
  char path[256];
  snprintf(path, sizeof path, "examples/%s", name);
  return test_path(path);
}

static void check_same(const char* a, const char* b) {
  char* first = strdup(text_of(a));
  assert_non_null(first);
  CHECK(strlen(first) > 100);
  CHECK_STR(text_of(b), first);
  free(first);
}

// Runs a file and records the columns of a result, in its order.
static void run_like(const char* result, const char* const* args) {
  static char names[1 << 16];
  const char* argv[96];
  size_t n = 0;
  while (args[n] != NULL) argv[n] = args[n], n++;
  read_text(result, names, sizeof names);
  names[strcspn(names, "\n")] = '\0';
  strtok(names, ",");
  for (char* name = strtok(NULL, ","); name != NULL && n < 90; name = strtok(NULL, ","))
    argv[n++] = "--record", argv[n++] = name;
  argv[n] = NULL;
  if (run_couplet(argv) != 0) fail_msg("%s", complained);
}
#define RUN_LIKE(result, ...) run_like(result, (const char* const[]){__VA_ARGS__, NULL})

//------------------------------------ model exchange ------------------------------------

static void check_exchange(const char* name, const char* version) {
  const char* file = example(name);
  static const char* const run[] = {"--solver", "rk4", "--step", "0.0078125", "--one-solver"};
  CHECK_CODE(0, "build", file, "-q", "--fmi", version, "-o", "one.fmu");
  CHECK_CODE(0, "check", "one.fmu");
  CHECK_STR(printed, "one.fmu: no findings\n");
  CHECK_CODE(0, "run", file, "-q", "-o", "a.csv", "--stop", "2", "--interval", "0.0625", run[0],
             run[1], run[2], run[3], run[4]);
  RUN_LIKE("a.csv", "run", "one.fmu", "-q", "-o", "b.csv", "--stop", "2", "--interval", "0.0625",
           run[0], run[1], run[2], run[3], run[4]);
  check_same("a.csv", "b.csv");
}

// Expressions, events, loops.
static void exchange_is_the_same(void** state) {
  (void)state;
  static const char* const examples[] = {"two_masses/two_masses.yaml",
                                         "algebraic_loop/algebraic_loop.yaml",
                                         "nonlinear_loop/nonlinear_loop.yaml",
                                         "pendulums_walls/pendulums_walls.yaml",
                                         "loops/two_loops.yaml",
                                         "simple_coupling/simple_coupling.yaml"};
  for (size_t i = 0; i < CPLI_COUNT(examples); i++) {
    check_exchange(examples[i], "2");
    check_exchange(examples[i], "3");
  }
}

//------------------------------------ co-simulation ------------------------------------

static void check_steps(const char* name, const char* version, double tolerance) {
  const char* file = example(name);
  CHECK_CODE(0, "build", file, "-q", "--fmi", version, "-o", "one.fmu");
  CHECK_CODE(0, "check", "one.fmu");
  CHECK_STR(printed, "one.fmu: no findings\n");
  CHECK_CODE(0, "run", file, "-q", "-o", "a.csv");
  RUN_LIKE("a.csv", "run", "one.fmu", "--as", "cs", "-q", "-o", "b.csv");
  for (int column = 1; column <= 2; column++)
    CHECK_NEAR(last_value("b.csv", column), last_value("a.csv", column), tolerance);
}

// Masters, delay lines, modes, and models of variable structure in a system.
static void steps_are_the_same(void** state) {
  (void)state;
  static const struct {
    const char* name;
    double tolerance;
  } examples[] = {{"two_mass_cosimulation/steppers.yaml", 1e-12},
                  {"tlm_spring/tlm_spring.yaml", 1e-12},
                  {"breaking_pendulum/breaking_pendulum.yaml", 1e-5},
                  {"ball_on_table/ball_on_table.yaml", 1e-5},
                  {"cs_loop/steppers.yaml", 1e-12}};
  for (size_t i = 0; i < CPLI_COUNT(examples); i++) {
    check_steps(examples[i].name, "2", examples[i].tolerance);
    check_steps(examples[i].name, "3", examples[i].tolerance);
  }
}

//------------------------------------ inside of others ------------------------------------

// x' = -x/2 + u, with u the sum of a constant and y of another one.
static const char decay[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}}, outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 0.5}, {0}};\n"
    "static int slope(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0] - v->p[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int give(const cpl_values* v, double* y) {\n"
    "  y[0] = 2 * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states, .inputs = inputs,\n"
    "    .outputs = outputs, .parameters = parameters, .derivatives = slope,\n"
    "    .output_values = give};\n";

// Three FMUs inside each other: y of each is half of that of the one inside. The innermost is
// x = e^-kt.
static void fmus_of_fmus_of_fmus(void** state) {
  (void)state;
  static const char* const versions[] = {"2", "3"};
  use_folders();
  write_text("decay.c", decay);
  write_text("a.yaml",
             "couplet: 1\nmodels: {d: {c: decay.c}}\noutputs: {y: d.y/2}\n"
             "experiment: {stop: 2, rtol: 1e-9}\n");
  write_text("b.yaml",
             "couplet: 1\nmodels: {in: {fmu: a.fmu, start: {d.k: 0.25}}}\noutputs: {y: in.y/2}\n"
             "experiment: {stop: 2, rtol: 1e-9}\n");
  write_text("c.yaml",
             "couplet: 1\nmodels: {in: {fmu: b.fmu, isolate: true}}\noutputs: {y: in.y/2}\n"
             "experiment: {stop: 2, rtol: 1e-9}\n");
  for (size_t i = 0; i < CPLI_COUNT(versions); i++) {
    const char* v = versions[i];
    CHECK_CODE(0, "build", "a.yaml", "-q", "--fmi", v, "-o", "a.fmu");
    CHECK_CODE(0, "build", "b.yaml", "-q", "--fmi", i == 0 ? "3" : "2", "-o", "b.fmu");
    CHECK_CODE(0, "build", "c.yaml", "-q", "--fmi", v, "-o", "c.fmu");
    CHECK_CODE(0, "run", "c.fmu", "--as", "me", "-q", "-o", "c.csv", "--record", "y");
    CHECK_NEAR(last_value("c.csv", 1), exp(-0.25 * 2) / 4, 1e-8);
    CHECK_CODE(0, "run", "c.fmu", "--as", "cs", "-q", "-o", "c.csv", "--record", "y");
    CHECK_NEAR(last_value("c.csv", 1), exp(-0.25 * 2) / 4, 1e-8);
    CHECK_CODE(0, "run", "c.fmu", "-q", "-o", "c.csv", "--isolate", "--record", "y", "--set",
               "in.in.d.k=1");
    CHECK_NEAR(last_value("c.csv", 1), exp(-2.0) / 4, 1e-8);
  }
}

// Inputs of the system are inputs of the FMU, in model exchange and co-simulation, with units.
static void inputs_and_parameters(void** state) {
  (void)state;
  use_folders();
  write_text("decay.c", decay);
  write_text("s.yaml",
             "couplet: 1\nmodels: {d: {c: decay.c, start: {x: 0}}}\nparameters: {gain: 3}\n"
             "inputs: {drive: {start: 0}, ramp: {file: ramp.csv}}\n"
             "connections: {d.u: gain*drive + ramp}\noutputs: {y: d.y}\n"
             "experiment: {stop: 1, rtol: 1e-9}\n");
  write_text("ramp.csv", "time,ramp\n0,0\n2,2\n");
  write_text("drive.csv", "time,drive\n0,1\n1,1\n");
  CHECK_CODE(0, "build", "s.yaml", "-q", "-o", "s.fmu");
  CHECK_INT(system("rm ramp.csv decay.c && mv s.yaml gone.txt"), 0);
  // x' = 3 + t - x/2: x = 2 + 2t - 2e^-t/2 ... as the sum of both particular solutions
  double e = exp(-0.5), x = 3 * 2 * (1 - e) + (2 * 1 - 4 + 4 * e);
  CHECK_CODE(0, "run", "s.fmu", "--as", "me", "-q", "-o", "s.csv", "--input", "drive.csv",
             "--record", "y");
  CHECK_NEAR(last_value("s.csv", 1), 2 * x, 1e-7);
  CHECK_CODE(0, "run", "s.fmu", "--as", "cs", "-q", "-o", "s.csv", "--input", "drive.csv",
             "--record", "y");
  CHECK_NEAR(last_value("s.csv", 1), 2 * x, 1e-7);
  CHECK_CODE(0, "run", "s.fmu", "--as", "me", "-q", "-o", "s.csv", "--input", "drive.csv",
             "--record", "y", "--set", "gain=0");
  CHECK_NEAR(last_value("s.csv", 1), 2 * (2 * 1 - 4 + 4 * e), 1e-7);
  CHECK_CODE(0, "info", "s.fmu");
  CHECK_CONTAINS(printed, "connections:\n    d.u: gain*drive + ramp");
}

// Where all models are FMUs, no compiler is needed; and the binary needs libc and libm only.
static void neither_compiler_nor_libraries(void** state) {
  (void)state;
  use_folders();
  write_text("decay.c", decay);
  write_text("s.yaml", "couplet: 1\nmodels: {d: {fmu: decay.fmu}}\nexperiment: {stop: 2}\n");
  CHECK_CODE(0, "build", "decay.c", "-q", "-o", "decay.fmu");
  setenv("CC", "/there/is/none", 1);
  CHECK_CODE(2, "build", "decay.c", "-q", "-o", "other.fmu");
  CHECK_CODE(0, "build", "s.yaml", "-q", "-o", "s.fmu");
  CHECK_CODE(0, "run", "s.fmu", "-q", "-o", "s.csv", "--record", "d.x");
  unsetenv("CC");
  CHECK_NEAR(last_value("s.csv", 1), exp(-1), 1e-5);
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  char* binary = NULL;
  size_t size = 0;
  CHECK_OK(ctx, cpli_zip_open(ctx, "s.fmu", NULL, &zip));
  CHECK_OK(ctx, cpli_zip_read(zip, "binaries/linux64/system.so", 1 << 30, &binary, &size));
  write_bytes("binary.so", binary, size);
  cpli_free(ctx, binary);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
  CHECK_INT(system("readelf -d binary.so | grep -q 'NEEDED.*libc.so'"), 0);
  CHECK_INT(system("test -z \"$(readelf -d binary.so | grep NEEDED | "
                   "grep -vE 'lib[cm][.]so|ld-linux')\""),
            0);
}

// Inputs and outputs with a common beginning are a terminal of FMI 3.0.
static void signals_are_grouped(void** state) {
  (void)state;
  use_folders();
  write_text("decay.c", decay);
  write_text("s.yaml",
             "couplet: 1\nmodels: {d: {c: decay.c}}\ninputs: {port.drive: {start: 1}}\n"
             "connections: {d.u: port.drive}\n"
             "outputs: {port.x: d.x, port.y: d.y, other.x: d.x, plain: d.x}\n"
             "experiment: {stop: 1}\n");
  CHECK_CODE(0, "build", "s.yaml", "-q", "--fmi", "3", "-o", "s.fmu");
  CHECK_CODE(0, "check", "s.fmu");
  CHECK_STR(printed, "s.fmu: no findings\n");
  CHECK_CODE(0, "info", "s.fmu");
  CHECK_CONTAINS(printed, "Terminals (1)\n  port, bus: port.drive, port.x, port.y\n");
  CHECK_CODE(0, "build", "s.yaml", "-q", "--fmi", "2", "-o", "s.fmu");
  CHECK_CODE(0, "info", "s.fmu");
  CHECK(strstr(printed, "Terminals") == NULL);
}

// The description of the terminals of an FMU of FMI 3.0.
static void check_terminals(const char* fmu, const char* expected) {
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  char* text = NULL;
  size_t size = 0;
  CHECK_OK(ctx, cpli_zip_open(ctx, fmu, NULL, &zip));
  CHECK_OK(ctx,
           cpli_zip_read(zip, "terminalsAndIcons/terminalsAndIcons.xml", 1 << 20, &text, &size));
  CHECK_STR(text, expected);
  cpli_free(ctx, text);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

static const char inner_terminals[] =
    "<fmiTerminalsAndIcons fmiVersion=\"3.0\"><Terminals>"
    "<Terminal name=\"pin\" matchingRule=\"plug\" terminalKind=\"a.b\" description=\"&lt;1>\">"
    "<TerminalMemberVariable variableName=\"y\" memberName=\"v\" variableKind=\"signal\"/>"
    "<TerminalMemberVariable variableName=\"k\" memberName=\"i\" variableKind=\"inflow\"/>"
    "<Terminal name=\"low\" matchingRule=\"bus\"><TerminalMemberVariable variableName=\"u\" "
    "memberName=\"u\" variableKind=\"signal\"/></Terminal></Terminal>"
    "<Terminal name=\"flow\" matchingRule=\"plug\"><TerminalStreamMemberVariable "
    "inStreamMemberName=\"in\" outStreamMemberName=\"out\" inStreamVariableName=\"x\" "
    "outStreamVariableName=\"y\"/></Terminal>"
    "<Terminal name=\"lost\" matchingRule=\"plug\"><TerminalMemberVariable variableName=\"gone\" "
    "memberName=\"v\" variableKind=\"signal\"/></Terminal></Terminals></fmiTerminalsAndIcons>";

// Terminals of FMUs in the system are passed on as long as their variables are not connected.
static void terminals_are_passed_on(void** state) {
  (void)state;
  static const char head[] =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<fmiTerminalsAndIcons fmiVersion=\"3.0\">\n  <Terminals>\n";
  static const char flow[] =
      "    <Terminal name=\"%s.flow\" matchingRule=\"plug\">\n"
      "      <TerminalStreamMemberVariable inStreamMemberName=\"in\" outStreamMemberName=\"out\" "
      "inStreamVariableName=\"%s.x\" outStreamVariableName=\"%s.y\"/>\n"
      "    </Terminal>\n";
  static const char pin[] =
      "    <Terminal name=\"box.a.pin\" matchingRule=\"plug\" terminalKind=\"a.b\" "
      "description=\"&lt;1&gt;\">\n"
      "      <TerminalMemberVariable variableName=\"box.a.y\" memberName=\"v\" "
      "variableKind=\"signal\"/>\n"
      "      <TerminalMemberVariable variableName=\"box.a.k\" memberName=\"i\" "
      "variableKind=\"inflow\"/>\n"
      "    <Terminal name=\"low\" matchingRule=\"bus\">\n"
      "      <TerminalMemberVariable variableName=\"box.a.u\" memberName=\"u\" "
      "variableKind=\"signal\"/>\n"
      "    </Terminal>\n    </Terminal>\n";
  static const char group[] =
      "    <Terminal name=\"box.a\" matchingRule=\"bus\">\n"
      "      <TerminalMemberVariable variableName=\"box.a.u\" memberName=\"u\" "
      "variableKind=\"signal\"/>\n"
      "      <TerminalMemberVariable variableName=\"box.a.y\" memberName=\"y\" "
      "variableKind=\"signal\"/>\n    </Terminal>\n";
  char expected[4096];
  use_folders();
  write_text("decay.c", decay);
  write_text("box.yaml", "couplet: 1\nmodels: {a: {fmu: in.fmu}}\n");
  write_text("s.yaml",
             "couplet: 1\nmodels: {box: {system: box.yaml}, b: {fmu: in.fmu, isolate: true}}\n"
             "connections: {b.u: box.a.y}\nexperiment: {stop: 1}\n");
  CHECK_CODE(0, "build", "decay.c", "-q", "--fmi", "3", "-o", "in.fmu");
  CHECK_INT(system("rm -rf terminalsAndIcons && mkdir terminalsAndIcons"), 0);
  write_text("terminalsAndIcons/terminalsAndIcons.xml", inner_terminals);
  CHECK_INT(system("python3 -c \"import zipfile; zipfile.ZipFile('in.fmu', 'a').write("
                   "'terminalsAndIcons/terminalsAndIcons.xml')\""),
            0);
  CHECK_CODE(0, "build", "s.yaml", "-q", "--fmi", "3", "-o", "s.fmu");
  CHECK_CODE(0, "check", "s.fmu");
  size_t n = (size_t)snprintf(expected, sizeof expected, "%s%s", head, pin);
  n += (size_t)snprintf(expected + n, sizeof expected - n, flow, "box.a", "box.a", "box.a");
  n += (size_t)snprintf(expected + n, sizeof expected - n, flow, "b", "b", "b");
  snprintf(expected + n, sizeof expected - n, "%s  </Terminals>\n</fmiTerminalsAndIcons>\n", group);
  check_terminals("s.fmu", expected);
}

//------------------------------------ unpacking ------------------------------------

static void systems_come_back(void** state) {
  (void)state;
  use_folders();
  CHECK_INT(system("rm -rf back mix && cp -r \"$COUPLET_SOURCE_DIR\"/examples/simple_coupling mix"),
            0);
  CHECK_CODE(0, "build", "mix/a.c", "-q", "-o", "mix/a.fmu");
  CHECK_CODE(0, "run", "mix/mixed.yaml", "-q", "-o", "a.csv");
  CHECK_CODE(0, "build", "mix/mixed.yaml", "-q", "-o", "mix.fmu");
  CHECK_CODE(0, "build", "mix/mixed.yaml", "-q", "-o", "twice.fmu");
  CHECK_INT(system("cmp mix.fmu twice.fmu"), 0);
  CHECK_CODE(0, "build", "--unpack", "mix.fmu", "-o", "back");
  CHECK_STR(printed, "back\n");
  CHECK_CODE(0, "run", "back/system.yaml", "-q", "-o", "b.csv");
  check_same("a.csv", "b.csv");
  CHECK_INT(
      system("test ! -e back/plan && test -f back/fmus/a.fmu && test ! -e back/models/b/b.so"), 0);
  CHECK_CODE(2, "build", "--unpack", "mix.fmu", "-o", "back");
  CHECK_CONTAINS(complained, "is not empty");
  CHECK_CODE(2, "build", "--unpack", "mix/a.fmu", "-o", "other");
  CHECK_CONTAINS(complained, "is no FMU that couplet made of a system");
}

// Copies an FMU with a plan that ends too early.
static void cut_plan(const char* from, const char* to) {
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  cpli_zip_entry entries[64] = {{0}};
  size_t n = 0;
  CHECK_OK(ctx, cpli_zip_open(ctx, from, NULL, &zip));
  for (; n < cpli_zip_count(zip) && n < CPLI_COUNT(entries); n++) {
    char* bytes = NULL;
    entries[n].name = cpli_zip_name(zip, n);
    CHECK_OK(ctx, cpli_zip_read(zip, entries[n].name, 1 << 30, &bytes, &entries[n].size));
    entries[n].bytes = bytes;
    if (strcmp(entries[n].name, "resources/plan") == 0) entries[n].size /= 2;
  }
  CHECK_OK(ctx, cpli_zip_write(ctx, to, entries, n));
  for (size_t i = 0; i < n; i++) cpli_free(ctx, (void*)entries[i].bytes);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

static void damaged_plans_are_found(void** state) {
  (void)state;
  use_folders();
  write_text("decay.c", decay);
  write_text("s.yaml", "couplet: 1\nmodels: {d: {c: decay.c}}\nexperiment: {stop: 2}\n");
  CHECK_CODE(0, "build", "s.yaml", "-q", "-o", "s.fmu");
  cut_plan("s.fmu", "cut.fmu");
  CHECK_CODE(2, "check", "cut.fmu");
  CHECK_CONTAINS(printed, "cut.fmu/resources/plan: error: a stored plan cannot be read: ");
  CHECK_CODE(2, "run", "cut.fmu", "-q", "-o", "cut.csv");
  CHECK_CONTAINS(complained, "a stored plan cannot be read: ");
}

//------------------------------------ depth ------------------------------------

// An FMU in a folder, of which the plan says that it has so many FMUs inside each other.
static void pretend_depth(const char* folder, uint32_t depth) {
  char path[4200];
  size_t size = 0;
  cpli_plan plan;
  cpli_image image = {NULL};
  cpli_arena arena;
  cpl_context* ctx = test_context();
  cpli_arena_init(&arena, ctx);
  snprintf(path, sizeof path, "%s/resources/plan", folder);
  char* bytes = read_bytes(path, &size);
  CHECK_OK(ctx, cpli_plan_read(ctx, &arena, (unsigned char*)bytes, size, &plan));
  plan.depth = depth;
  CHECK_OK(ctx, cpli_plan_write(ctx, &plan, &image));
  write_bytes(path, (const char*)image.bytes, image.size);
  cpli_free(ctx, image.bytes);
  cpli_arena_free(&arena);
  free(bytes);
  cpl_context_destroy(ctx);
}

static void there_is_a_limit_of_depth(void** state) {
  (void)state;
  cpli_zip* zip = NULL;
  cpl_context* ctx = test_context();
  const char* prefixes[] = {""};
  use_folders();
  CHECK_CODE(0, "build", example("two_masses/two_masses.yaml"), "-q", "-o", "inner.fmu");
  CHECK_INT(system("rm -rf inner"), 0);
  CHECK_INT(mkdir("inner", 0700), 0);
  CHECK_OK(ctx, cpli_zip_open(ctx, "inner.fmu", NULL, &zip));
  CHECK_OK(ctx, cpli_zip_extract(zip, prefixes, 1, "inner"));
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
  write_text("outer.yaml", "couplet: 1\nmodels: {m: {fmu: inner}}\nexperiment: {stop: 1}\n");
  pretend_depth("inner", 15);
  CHECK_CODE(0, "build", "outer.yaml", "-q", "-o", "outer.fmu");
  CHECK_CODE(0, "run", "outer.fmu", "-q", "-o", "deep.csv");
  pretend_depth("inner", 16);
  CHECK_CODE(2, "build", "outer.yaml", "-q", "-o", "outer.fmu");
  CHECK_CONTAINS(complained, "outer.yaml: more than 16 FMUs of systems inside each other");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exchange_is_the_same),    cmocka_unit_test(steps_are_the_same),
      cmocka_unit_test(fmus_of_fmus_of_fmus),    cmocka_unit_test(inputs_and_parameters),
      cmocka_unit_test(systems_come_back),       cmocka_unit_test(signals_are_grouped),
      cmocka_unit_test(terminals_are_passed_on), cmocka_unit_test(neither_compiler_nor_libraries),
      cmocka_unit_test(damaged_plans_are_found), cmocka_unit_test(there_is_a_limit_of_depth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
