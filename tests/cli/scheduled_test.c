// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs for scheduled execution alone and in systems, against recursions computed here.
#include "cli/command.h"

static const char* probe(void) {
  static char path[4200];
  snprintf(path, sizeof path, "%s_se", getenv("COUPLET_PROBE"));
  return path;
}

static void write_system(const char* path, const char* models, const char* rest) {
  static char text[8192];
  snprintf(text, sizeof text, "couplet: 1\nmodels:\n  a: {fmu: %s}\n%s%s", probe(), models, rest);
  write_text(path, text);
}

// Ticks of a triggered clock come from a table: one at each row that says so.
static void alone(void** state) {
  (void)state;
  write_text("in.csv", "time,trigger,v\n0,1,2\n0.4,1,3\n0.7,0,4\n1.1,1,5\n");
  CHECK_CODE(0, "run", probe(), "--stop-time", "1.25", "--input", "in.csv", "--record", "triggers",
             "--record", "twice", "--record", "sum", "--record", "n", "-o", "out.csv");
  CHECK_NEAR(last_value("out.csv", 1), 3, 0);
  CHECK_NEAR(last_value("out.csv", 2), 10, 0);
  CHECK_NEAR(last_value("out.csv", 3), 13, 0);
  // 13 of fast, 5 of slow, 6 of thirds, 5 of tuned, 5 of growing, 3 of countdown, 3 triggers
  CHECK_NEAR(last_value("out.csv", 4), 40, 0);
  CHECK_CODE(0, "info", probe());
  CHECK_CONTAINS(printed, "scheduled execution");
  CHECK_CODE(2, "run", probe(), "--as", "me");
  CHECK_CONTAINS(complained, "scheduled execution");
  CHECK_CODE(2, "linearize", probe());
  CHECK_CONTAINS(complained, "scheduled execution");
}

// A sampled controller u = 2 v at 0, 0.3, 0.6, ... of an integrator x' = -u, which follows the
// state within the step: x is multiplied by 1 - 0.6 from tick to tick.
static void sampled_loop(void** state) {
  (void)state;
  write_text("plant.c",
             MODEL("plant",
                   "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
                   "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
                   "static int f(const cpl_values* v, double* dx) {\n"
                   "  dx[0] = -v->u[0];\n"
                   "  return 0;\n"
                   "}\n",
                   ".states = x, .inputs = u, .derivatives = f"));
  write_system("loop.yaml", "  p: {c: plant.c, as: cs}\n",
               "connections:\n  a.v: p.x\n  p.u: a.twice\n"
               "master: {step: 0.37}\nexperiment: {stop: 3}\n");
  CHECK_CODE(0, "run", "loop.yaml", "--record", "p.x", "--record", "a.twice", "-o", "out.csv");
  CHECK(strstr(complained, "warning") == NULL);
  CHECK_NEAR(last_value("out.csv", 1), pow(0.4, 10), 1e-9);
  CHECK_NEAR(last_value("out.csv", 2), 2 * pow(0.4, 10), 1e-9);
}

// Partitions of one instant in several FMUs run in the order of their connections, whatever their
// names: each stage doubles what the one before has computed at this instant. The last stage is
// triggered by the alarm of the first, at 0.3, 0.9, ...
static void chain(void** state) {
  (void)state;
  static char models[16384];
  snprintf(models, sizeof models,
           "  z: {fmu: %s, start: {v: 3}}\n  m: {fmu: %s}\n  b: {fmu: %s, start: {u: 0}}\n",
           probe(), probe(), probe());
  write_system("chain.yaml", models,
               "connections:\n  m.v: z.twice\n  a.v: m.twice\n  b.v: a.twice\n"
               "  b.trigger: z.alarm\nexperiment: {stop: 0.95}\n");
  unlink("log.txt");
  setenv("PROBE_SE_LOG", "log.txt", 1);
  CHECK_CODE(0, "run", "chain.yaml", "--interval", "0.1", "--record", "a.twice", "--record",
             "b.twice", "--record", "b.triggers", "-o", "out.csv");
  unsetenv("PROBE_SE_LOG");
  CHECK(strstr(complained, "warning") == NULL);
  CHECK_CONTAINS(text_of("out.csv"), "\n0,24,48,0\n");
  CHECK_NEAR(last_value("out.csv", 3), 2, 0);
  CHECK_CONTAINS(text_of("log.txt"), "z 2 0\n");
  CHECK(strstr(text_of("log.txt"), "z 2 0\n") < strstr(text_of("log.txt"), "a 2 0\n"));
}

// At 0.6 a source counts from 1 to 5, one update after the other. The partition that ticks there
// runs once and takes the last value, also where the source takes the result, and at the end of a
// chain of two.
static void settled_sources(void** state) {
  (void)state;
  static const char* const links[] = {"a.v: s.y", "a.v: s.y\n  s.u: a.twice",
                                      "z.v: s.y\n  a.v: z.twice",
                                      "z.v: s.y\n  a.v: z.twice\n  s.u: a.twice"};
  static const double expected[] = {10, 10, 20, 20};
  write_text("source.c",
             MODEL("source",
                   "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
                   "static const cpl_declaration w[] = {{.name = \"y\", .start = 1, .output = "
                   "true}, {0}};\n"
                   "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
                   "  (void)v, a->next_time = 0.6;\n"
                   "  return 0;\n"
                   "}\n"
                   "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
                   "  if (v->t < 0.6) a->next_time = 0.6;\n"
                   "  else if (a->w[0] < 5) a->w[0] += 1, a->again = a->w[0] < 5;\n"
                   "  return 0;\n"
                   "}\n",
                   ".inputs = u, .discrete = w, .initialize = begin, .event = event"));
  for (size_t i = 0; i < 4; i++) {
    char models[8192], rest[512];
    snprintf(models, sizeof models, "  z: {fmu: %s}\n  s: {c: source.c, as: cs}\n", probe());
    snprintf(rest, sizeof rest,
             "connections:\n  %s\nmaster: {step: 0.2}\nexperiment: {stop: 0.7}\n", links[i]);
    write_system("settled.yaml", models, rest);
    CHECK_CODE(0, "run", "settled.yaml", "--record", "s.y", "--record", "a.twice", "-o", "out.csv");
    CHECK_NEAR(last_value("out.csv", 1), 5, 0);
    CHECK_NEAR(last_value("out.csv", 2), expected[i], 0);
    CHECK_CONTAINS(text_of("out.csv"), i < 2 ? "\n0,1,2\n" : "\n0,1,4\n");
  }
}

// The same where the FMU is in a nested system: at 0.6 its partition takes the value that the
// source has after its last update.
static void settled_sources_of_nested_systems(void** state) {
  (void)state;
  write_system("inner.yaml", "",
               "inputs: {w: {start: 0}}\nconnections: {a.v: w}\noutputs: {twice: a.twice}\n"
               "master: {step: 0.2}\n");
  write_text("outer.yaml",
             "couplet: 1\nmodels:\n  s: {c: source.c, as: cs}\n  box: {system: inner.yaml}\n"
             "connections: {box.w: s.y, s.u: box.twice}\nmaster: {step: 0.2}\n"
             "experiment: {stop: 0.7}\n");
  CHECK_CODE(0, "run", "outer.yaml", "--record", "s.y", "--record", "box.a.twice", "-o", "out.csv");
  CHECK_NEAR(last_value("out.csv", 1), 5, 0);
  CHECK_NEAR(last_value("out.csv", 2), 10, 0);
  CHECK_CONTAINS(text_of("out.csv"), "\n0,1,2\n");
}

// Ticks of an output clock of a model exchange FMU and of a co-simulation FMU: probe3 raises the
// alarm with every second tick of a clock at 0.1, 0.3, 0.5, ...
static void triggered_by_others(void** state) {
  (void)state;
  static const char* const kinds[] = {"me", "cs"};
  for (size_t i = 0; i < 2; i++) {
    char models[8192];
    snprintf(models, sizeof models, "  p: {fmu: %s3, as: %s}\n", getenv("COUPLET_PROBE"), kinds[i]);
    write_system("t.yaml", models, "connections:\n  a.trigger: p.alarm\nexperiment: {stop: 1}\n");
    CHECK_CODE(0, "run", "t.yaml", "--interval", "0.25", "--record", "p.alarm", "--record",
               "a.triggers", "-o", "out.csv");
    CHECK_NEAR(last_value("out.csv", 2), 2, 0);
    CHECK_CONTAINS(text_of("out.csv"), "\n0.3");
  }
}

// The same as a package of SSP 2.0, whose clocks pass the connectors of a nested system.
static void clocks_of_packages(void** state) {
  (void)state;
  static char text[16384];
  static const char* const kinds[] = {"ModelExchange", "CoSimulation"};
  for (size_t i = 0; i < 2; i++) {
    snprintf(
        text, sizeof text,
        "<SystemStructureDescription version='2.0' name='clocks' "
        "xmlns='http://ssp-standard.org/SSP1/SystemStructureDescription' "
        "xmlns:c='http://ssp-standard.org/SSP1/SystemStructureCommon'>\n"
        "<System name='root'><Elements>\n"
        "<System name='source'><Connectors><Connector name='tick' kind='output'>"
        "<c:Clock intervalVariability='triggered'/></Connector></Connectors><Elements>\n"
        "<Component name='p' source='file://%s3' implementation='%s'><Connectors>"
        "<Connector name='alarm' kind='output'><c:Clock intervalVariability='triggered'/>"
        "</Connector></Connectors></Component></Elements>\n"
        "<Connections><Connection startConnector='tick' endElement='p' endConnector='alarm'/>"
        "</Connections></System>\n"
        "<Component name='a' source='file://%s' implementation='ScheduledExecution'><Connectors>"
        "<Connector name='trigger' kind='input'><c:Clock intervalVariability='triggered'/>"
        "</Connector></Connectors></Component></Elements>\n"
        "<Connections><Connection startElement='a' startConnector='trigger' "
        "endElement='source' endConnector='tick'/></Connections></System>\n"
        "<DefaultExperiment startTime='0' stopTime='1'/></SystemStructureDescription>\n",
        getenv("COUPLET_PROBE"), kinds[i], probe());
    write_text("clocks.ssd", text);
    CHECK_CODE(0, "run", "clocks.ssd", "--interval", "0.25", "--record", "source.p.alarm",
               "--record", "a.triggers", "-o", "out.csv");
    CHECK_NEAR(last_value("out.csv", 2), 2, 0);
    CHECK_CONTAINS(text_of("out.csv"), "\n0.3");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clocks_of_packages),  cmocka_unit_test(alone),
      cmocka_unit_test(sampled_loop),        cmocka_unit_test(chain),
      cmocka_unit_test(settled_sources),     cmocka_unit_test(settled_sources_of_nested_systems),
      cmocka_unit_test(triggered_by_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
