// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "system/definitions.h"

static const char everything[] =
    "couplet: 1\n"
    "name: coupled pendulums\n"
    "models:\n"
    "  left:  {fmu: pendulum.fmu, start: {x1: 1.0, x2: k/2}}\n"
    "  right: {c: models/pendulum.c}\n"
    "  brake: {fmu: /opt/brake.fmu, as: cs}\n"
    "  door: {fmu: door.fmu, as: me}\n"
    "  inner: {system: sub.yaml}\n"
    "parameters: {k: 1.0, a: -2.0, b: a + 1}\n"
    "inputs:\n"
    "  w: sin(time)\n"
    "  road: {file: road.csv, column: height, interpolation: linear}\n"
    "  gear: {file: gear.csv, interpolation: hold}\n"
    "  u: {start: 0}\n"
    "connections:\n"
    "  left.u1: w\n"
    "  left.u2: k*((left.y1 - a + w) - (right.y1 - b - w))\n"
    "  'right.u[1]': \"2*'left.der(x1)'\"\n"
    "outputs: {y: left.y1}\n"
    "events:\n"
    "  left_wall: {when: left.x1 < 0, set: {left.x3: -left.x3, left.x4: -left.x4}}\n"
    "  kick: {at: [1.0, 5*k], set: {right.x3: right.x3 + 0.1}}\n"
    "  once: {at: 2, set: {right.x3: 0}}\n"
    "record: [left.x1, right.*]\n"
    "experiment: {start: 0, stop: 5, interval: 0.01, step: 0.1, solver: cvode, rtol: 1e-8, atol: "
    "1e-9}\n";

static const char expected[] =
    "name coupled pendulums\n"
    "model left 0 folder/pendulum.fmu as 0 x1=1.0 x2=k/2\n"
    "model right 1 folder/models/pendulum.c as 0\n"
    "model brake 0 /opt/brake.fmu as 2\n"
    "model door 0 folder/door.fmu as 1\n"
    "model inner 2 folder/sub.yaml as 0\n"
    "parameter k=1.0\n"
    "parameter a=-2.0\n"
    "parameter b=a + 1\n"
    "input w 1 sin(time) - w 0 -\n"
    "input road 2 - folder/road.csv height 0 -\n"
    "input gear 2 - folder/gear.csv gear 1 -\n"
    "input u 0 - - u 0 0\n"
    "connect left.u1=w\n"
    "connect left.u2=k*((left.y1 - a + w) - (right.y1 - b - w))\n"
    "connect right.u[1]=2*'left.der(x1)'\n"
    "output y=left.y1\n"
    "event left_wall when left.x1 < 0 at set left.x3=-left.x3 left.x4=-left.x4\n"
    "event kick when - at 1.0 5*k set right.x3=right.x3 + 0.1\n"
    "event once when - at 2 set right.x3=0\n"
    "record left.x1\n"
    "record right.*\n"
    "experiment 0 5 0.01 0.1 1e-08 1e-09 cvode\n";

static void check_place(cpli_source_loc p, const char* file, int line, int column) {
  CHECK_STR(p.file, file);
  CHECK_INT(p.line, line);
  CHECK_INT(p.column, column);
}

static void every_key_is_read(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def* def;
  mkdir("folder", 0700);
  CHECK_OK(ctx, read_as(ctx, "folder/all.yaml", everything, &def));
  dump d = {0};
  dump_definition(def, &d);
  CHECK_STR(d.text, expected);

  const char* file = "folder/all.yaml";
  check_place(def->models[0].name.loc, file, 4, 3);
  check_place(def->models[0].path.loc, file, 4, 16);
  check_place(def->models[0].starts[1].name.loc, file, 4, 47);
  check_place(def->models[0].starts[1].value.loc, file, 4, 51);
  check_place(def->parameters[1].value.loc, file, 9, 25);
  check_place(def->inputs[1].file.loc, file, 12, 16);
  check_place(def->connections[1].target.loc, file, 17, 3);
  check_place(def->connections[1].source.loc, file, 17, 12);
  check_place(def->connections[2].source.loc, file, 18, 18);
  check_place(def->events[1].at[1].loc, file, 22, 20);
  check_place(def->record[1].loc, file, 24, 19);
  check_place(def->experiment.locs[CPLI_ATOL], file, 25, 93);
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
}

static void a_small_file_leaves_the_rest_open(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def* def;
  CHECK_OK(ctx, read_as(ctx, "s.yaml", "couplet: 1\nmodels: {m: {c: m.c}}\nconnections:\nrecord:\n",
                        &def));
  CHECK_STR(def->models[0].path.text, "m.c");
  CHECK(def->name.text == NULL);
  CHECK_INT(def->n_record, 0);
  cpl_experiment_def e = cpl_system_def_experiment(def);
  CHECK(isnan(e.start) && isnan(e.stop) && isnan(e.atol) && e.solver == NULL);
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
}

//------------------------------------ errors ------------------------------------

#define HEAD "couplet: 1\nmodels: {m: {c: m.c}}\n"

static const struct bad_file {
  const char *text, *message;
} bad_files[] = {
    {"", "s.yaml: the file is empty"},
    {"- a\n", "s.yaml:1:1: a system file needs keys and values, not a list"},
    {"models: {}\n", "s.yaml:1:1: this is no system file: the key `couplet: 1` is missing"},
    {"couplet: 2\n", "s.yaml:1:10: couplet: this version reads files of version 1, not \"2\""},
    {"couplet: [1]\n", "s.yaml:1:10: couplet: this version reads files of version 1, not a list"},
    {"couplet: 1\n", "s.yaml:1:1: the system has no models"},
    {"couplet: 1\nmodels:\n", "s.yaml:2:1: the system has no models"},
    {"couplet: 1\nmodels: [a]\n", "s.yaml:2:9: models needs keys and values, not a list"},
    {HEAD "conections: {}\n", "s.yaml:3:1: unknown key conections (did you mean connections?)"},
    {HEAD "zzzzzz: {}\n",
     "s.yaml:3:1: unknown key zzzzzz (known: couplet, name, models, parameters, inputs, "
     "connections, outputs, events, record, experiment, measures, study, fit, master, modes, "
     "observe, "
     "solver, tlm, "
     "constraints, interfaces)"},
    {HEAD "modes: {}\n", "s.yaml:3:1: modes: there is no mode"},
    {HEAD "master: {step: 0}\n", "s.yaml:3:1: master: step is 0; it must be positive"},
    {HEAD "master: {order: 3}\n", "s.yaml:3:1: master: order is 3; it must be 0, 1 or 2"},
    {HEAD "master: {bonds: [{effort: a.F}]}\n", "a bond needs `effort` and `flow`"},
    {HEAD "tlm: {a: 1}\n", "s.yaml:3:6: tlm"},
    {"couplet: 1\nmodels: {a: {c: a.c, interfaces: {end: {speed: v}}}}\n",
     "s.yaml:2:35: the interface a.end needs a kind"},
    {"couplet: 1\nmodels: {a: {c: a.c, interfaces: 3}}\n", "interfaces needs keys and values"},
    {"couplet: 1\nmodels: {a: {c: a.c, count: 2, interfaces: {}}}\n",
     "s.yaml:2:32: model \"a\" is there several times"},
    {HEAD "constraints: {c: a.x = 1 = 2}\n", "s.yaml:3:18: constraint: it has more than one ="},
    {HEAD "constraints: {c: a.x =}\n", "s.yaml:3:18: constraint: a side of its equation is empty"},
    {HEAD "parameters: {c: 1}\nconstraints: {c: a.x}\n", "s.yaml:4:15: constraint \"c\": a"},
    {HEAD "name: [a]\n", "s.yaml:3:7: name needs a text, not a list"},
    {HEAD "name: a\nname: b\n", "s.yaml:4:1: name stands twice (first in line 3)"},
    // models
    {"couplet: 1\nmodels: {m: m.c}\n", "s.yaml:2:13: m needs keys and values, not \"m.c\""},
    {"couplet: 1\nmodels: {m: {}}\n", "s.yaml:2:10: model \"m\" needs one of fmu, c and system"},
    {"couplet: 1\nmodels: {m: {c: m.c, fmu: m.fmu}}\n",
     "s.yaml:2:14: model \"m\" has more than one of fmu, c and system"},
    {"couplet: 1\nmodels: {m: {c: m.c, strat: {}}}\n",
     "s.yaml:2:22: unknown key strat (did you mean start?)"},
    {"couplet: 1\nmodels: {m: {c: [m.c]}}\n", "s.yaml:2:17: c needs a text, not a list"},
    {"couplet: 1\nmodels: {m: {c: }}\n", "s.yaml:2:14: c needs a text, not nothing"},
    {"couplet: 1\nmodels: {m: {c: ''}}\n", "s.yaml:2:18: c: the path is empty"},
    {"couplet: 1\nmodels: {m: {fmu: a, as: mee}}\n",
     "s.yaml:2:26: unknown as mee (did you mean me?)"},
    {"couplet: 1\nmodels: {m.n: {c: a}, m: {c: a}}\n",
     "s.yaml:2:23: names of variables of \"m\" and of \"m.n\" (s.yaml:2:10: ...) could be the "
     "same"},
    {"couplet: 1\nmodels: {m: {c: a}, m.n.o: {c: a}}\n",
     "s.yaml:2:21: names of variables of \"m.n.o\" and of \"m\""},
    {"couplet: 1\nmodels: {\"it's\": {c: a}}\n",
     "s.yaml:2:11: model \"it's\": a name has no quotes or control characters"},
    {"couplet: 1\nmodels: {' m': {c: a}}\n",
     "s.yaml:2:11: model \" m\": a name begins and ends without blanks"},
    {"couplet: 1\nmodels: {m: {c: a}, m: {c: b}}\n",
     "s.yaml:2:21: m stands twice (first in line 2)"},
    {"couplet: 1\nmodels: {m: {c: a, start: [x]}}\n",
     "s.yaml:2:27: start needs keys and values, not a list"},
    {"couplet: 1\nmodels: {m: {c: a, start: {x: {y: 1}}}}\n",
     "s.yaml:2:31: x needs a text, not a mapping"},
    {"couplet: 1\nmodels: {m: {c: a, start: {x: [1, [2, {y: 1}]]}}}\n",
     "s.yaml:2:39: x[2,2] needs a text, not a mapping"},
    // parameters, inputs
    {HEAD "parameters: {k: }\n", "s.yaml:3:14: k needs a text, not nothing"},
    {HEAD "parameters: {k: ''}\n", "s.yaml:3:14: parameter \"k\": it needs a value"},
    {HEAD "parameters: {time: 1}\n",
     "s.yaml:3:14: parameter \"time\": this word has a meaning in expressions"},
    {HEAD "parameters: {k: 1}\ninputs: {k: 2}\n",
     "s.yaml:4:10: input \"k\" stands twice (first at s.yaml:3:14)"},
    {HEAD "inputs: {pi: 2}\n", "s.yaml:3:10: input \"pi\": this word has a meaning"},
    {HEAD "inputs: {w: }\n", "s.yaml:3:10: w needs a text, not nothing"},
    {HEAD "inputs: {w: ''}\n", "s.yaml:3:14: input \"w\": the expression is empty"},
    {HEAD "inputs: {w: [1]}\n", "s.yaml:3:13: w needs a text, not a list"},
    {HEAD "inputs: {w: {}}\n", "s.yaml:3:13: input \"w\" needs `file` or `start`"},
    {HEAD "inputs: {w: {fiel: a.csv}}\n", "s.yaml:3:14: unknown key fiel (did you mean file?)"},
    {HEAD "inputs: {w: {column: a}}\n", "s.yaml:3:14: column needs `file`"},
    {HEAD "inputs: {w: {start: 0, interpolation: hold}}\n",
     "s.yaml:3:24: interpolation needs `file`"},
    {HEAD "inputs: {w: {file: a.csv, start: 0}}\n",
     "s.yaml:3:27: an input that follows a file has no start value"},
    {HEAD "inputs: {w: {file: a.csv, interpolation: cubic}}\n",
     "s.yaml:3:42: unknown interpolation cubic (known: linear, hold)"},
    // connections, outputs
    {HEAD "connections: [a]\n", "s.yaml:3:14: connections needs keys and values, not a list"},
    {HEAD "connections: {m.u: {a: 1}}\n",
     "s.yaml:3:21: unknown key a (known: from, convert, convert-units, factor, offset)"},
    {HEAD "connections: {m.u: {convert: true}}\n", "s.yaml:3:20: connection \"m.u\" needs `from`"},
    {HEAD "connections: {m.u: {from: m.y, convert: 3}}\n", "convert"},
    {HEAD "connections: {m.u: ''}\n", "s.yaml:3:15: connection of \"m.u\": it needs a source"},
    {HEAD "connections:\n  m.u: 1\n  m.u: 2\n", "s.yaml:5:3: m.u stands twice (first in line 4)"},
    {HEAD "outputs: {y: }\n", "s.yaml:3:11: y needs a text, not nothing"},
    {HEAD "outputs: {y: ''}\n", "s.yaml:3:11: output \"y\": it needs a source"},
    // events
    {HEAD "events: {e: 1}\n", "s.yaml:3:13: e needs keys and values, not \"1\""},
    {HEAD "events: {e: {wehn: a}}\n", "s.yaml:3:14: unknown key wehn (did you mean when?)"},
    {HEAD "events: {e: {set: {m.x: 1}}}\n", "s.yaml:3:10: event \"e\" needs either `when` or `at`"},
    {HEAD "events: {e: {when: a, at: 1, set: {m.x: 1}}}\n",
     "s.yaml:3:23: event \"e\" needs either `when` or `at`"},
    {HEAD "events: {e: {when: a}}\n", "s.yaml:3:10: event \"e\" needs something to `set`"},
    {HEAD "events: {e: {when: a, set: {}}}\n",
     "s.yaml:3:10: event \"e\": it needs something to `set`"},
    {HEAD "events: {e: {when: '', set: {m.x: 1}}}\n", "s.yaml:3:21: when: the condition is empty"},
    {HEAD "events: {e: {at: [], set: {m.x: 1}}}\n", "s.yaml:3:18: at: the list is empty"},
    {HEAD "events: {e: {at: [1, [2]], set: {m.x: 1}}}\n",
     "s.yaml:3:22: at needs a text, not a list"},
    {HEAD "events: {e: {at: 1, set: [m.x]}}\n",
     "s.yaml:3:26: set needs keys and values, not a list"},
    // record, experiment
    {HEAD "record: a\n", "s.yaml:3:9: record needs a list, not \"a\""},
    {HEAD "record: ['']\n", "s.yaml:3:11: record: a name is empty"},
    {HEAD "record: [{a: b}]\n", "s.yaml:3:10: record needs a text, not a mapping"},
    {HEAD "experiment: 5\n", "s.yaml:3:13: experiment needs keys and values, not \"5\""},
    {HEAD "study: {ovre: {k: 1}}\n", "s.yaml:3:9: unknown key ovre (did you mean over?)"},
    {HEAD "measures: [a]\n", "s.yaml:3:11: measures"},
    {HEAD "fit: [a]\n", "s.yaml:3:6: fit needs"},
    {HEAD "fit: {dta: m.csv}\n", "s.yaml:3:7: unknown key dta (did you mean data?)"},
    {HEAD "fit: {data: }\n", "s.yaml:3:7: data needs a text, not nothing"},
    {HEAD "fit: {data: [m.csv, '']}\n", "s.yaml:3:22: data: the path is empty"},
    {HEAD "fit: {data: [[m.csv]]}\n", "s.yaml:3:14: data needs"},
    {HEAD "fit: {data: [{start: {k: 1}}]}\n",
     "s.yaml:3:14: data need `file`: that of the measurements"},
    {HEAD "fit: {data: {file: {a: b}}}\n", "s.yaml:3:20: file needs a text"},
    {HEAD "fit: {data: {file: ''}}\n", "s.yaml:3:21: file: the path is empty"},
    {HEAD "fit: {data: {file: m.csv, wieght: 2}}\n",
     "s.yaml:3:27: unknown key wieght (did you mean weight?)"},
    {HEAD "fit: {data: {file: m.csv, weight: 0}}\n",
     "s.yaml:3:35: weight must be greater than 0, not 0"},
    {HEAD "fit: {data: {file: m.csv, weight: inf}}\n", "s.yaml:3:35: weight needs a number"},
    {HEAD "fit: {data: {file: m.csv, start: k}}\n", "s.yaml:3:34: start needs"},
    {HEAD "fit: {data: {file: m.csv, file: n.csv}}\n", "s.yaml:3:27: "},
    {HEAD "fit: {vary: k}\n", "s.yaml:3:13: vary needs"},
    {HEAD "fit: {vary: [k, [x]]}\n", "s.yaml:3:17: vary needs a text, not a list"},
    {HEAD "fit: {vary: [k, ]}\nrecord: [a, [b]]\n", "s.yaml:4:13: record needs"},
    {HEAD "fit: {vary: {k: {a: 1}}}\n", "s.yaml:3:17: k needs a text"},
    {HEAD "fit: {sigma: 1}\n", "s.yaml:3:14: sigma needs"},
    {HEAD "fit: {loss: [huber]}\n", "s.yaml:3:13: loss needs a text, not a list"},
    {HEAD "fit: {scale: -1}\n", "s.yaml:3:14: scale must be greater than 0, not -1"},
    {HEAD "fit: {confidence: nan}\n", "s.yaml:3:19: confidence needs a number"},
    {HEAD "fit: {confidence: 0}\n", "s.yaml:3:19: confidence must be greater than 0, not 0"},
    {HEAD "fit: {confidence: 1}\n", "s.yaml:3:19: confidence must be less than 1, not 1"},
    {HEAD "experiment: {stpo: 5}\n", "s.yaml:3:14: unknown key stpo (did you mean stop"},
    {HEAD "experiment: {stop: five}\n", "s.yaml:3:20: stop needs a number, not \"five\""},
    {HEAD "experiment: {stop: inf}\n", "s.yaml:3:20: stop needs a number, not \"inf\""},
    {HEAD "experiment: {start: 2, stop: 1}\n", "s.yaml:3:30: stop (1) is before start (2)"},
    {HEAD "experiment: {interval: 0}\n", "s.yaml:3:24: interval must be greater than 0, not 0"},
    {HEAD "experiment: {rtol: -1}\n", "s.yaml:3:20: rtol must be greater than 0, not -1"},
    {HEAD "experiment: {solver: [a]}\n", "s.yaml:3:22: solver needs a text, not a list"},
};

static void bad_files_have_a_place(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(bad_files); i++) {
    cpl_system_def* def;
    cpl_status st = read_as(ctx, "s.yaml", bad_files[i].text, &def);
    if (st >= 0) fail_msg("taken: %s", bad_files[i].text);
    bool later = strstr(bad_files[i].message, "not supported yet") != NULL;
    CHECK_CONTAINS(cpl_context_error(ctx), bad_files[i].message);
    CHECK_INT(st, later ? CPL_ERR_UNSUPPORTED : CPL_ERR_INPUT);
    CHECK(def == NULL);
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ nested files ------------------------------------

static void nested_files_and_their_cycles(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def *a, *owned, *owned2, *owned3;
  const cpl_system_def *b, *c, *again;
  mkdir("nest", 0700);
  CHECK_OK(ctx, read_as(ctx, "nest/c.yaml",
                        "couplet: 1\nmodels:\n  up: {system: ../a.yaml}\n  no: {system: no.yaml}\n",
                        &a));
  cpl_system_def_destroy(a);
  CHECK_OK(ctx, read_as(ctx, "nest/b.yaml", "couplet: 1\nmodels: {c: {system: ./c.yaml}}\n", &a));
  cpl_system_def_destroy(a);
  CHECK_OK(ctx, read_as(ctx, "a.yaml", "couplet: 1\nmodels: {b: {system: nest/b.yaml}}\n", &a));

  cpli_chain in_a = {NULL, a};
  CHECK_OK(ctx, cpli_def_enter(ctx, &in_a, &a->models[0], &b, &owned));
  CHECK(b == owned);
  cpli_chain in_b = {&in_a, b};
  CHECK_OK(ctx, cpli_def_enter(ctx, &in_b, &b->models[0], &c, &owned2));
  cpli_chain in_c = {&in_b, c};
  CHECK_INT(cpli_def_enter(ctx, &in_c, &c->models[0], &again, &owned3), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "nest/./c.yaml:3:16: model \"up\" closes a cycle of systems: a.yaml -> nest/b.yaml -> "
            "nest/./c.yaml -> a.yaml");
  CHECK(owned3 == NULL);
  CHECK_INT(cpli_def_enter(ctx, &in_c, &c->models[1], &again, &owned3), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "nest/./c.yaml:4:16: nest/./no.yaml: ");

  cpl_system_def_destroy(owned2);
  cpl_system_def_destroy(owned);
  cpl_system_def_destroy(a);
  cpl_context_destroy(ctx);
}

//------------------------------------ hostile, failing, large ------------------------------------

static void survives_mutations(void** state) {
  (void)state;
  static const char bits[] = "{}[]:,#&*!|>'\"?- \n\t.ax1";
  cpl_context* ctx = test_context();
  uint32_t random = 7;
  for (int round = 0; round < 3000; round++) {
    char text[2 * sizeof everything];
    size_t len = sizeof everything - 1;
    memcpy(text, everything, sizeof everything);
    for (int k = 0; k < 1 + round % 3; k++) {
      random = random * 1664525u + 1013904223u;
      size_t at = (random >> 8) % len;
      if (random >> 30 == 0) {  // cut out some
        size_t n = (random >> 4) % 20;
        if (at + n > len) n = len - at;
        memmove(text + at, text + at + n, len - at - n + 1);
        len -= n;
      } else {
        text[at] = bits[(random >> 3) % (sizeof bits - 1)];
      }
    }
    cpl_system_def* def;
    cpl_status st = read_as(ctx, "mutated.yaml", text, &def);
    if (st < 0) CHECK_CONTAINS(cpl_context_error(ctx), "mutated.yaml");
    cpl_system_def_destroy(def);
  }
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_system_def* def = NULL;
    cpl_status st = ctx != NULL ? read_as(ctx, "fails.yaml", everything, &def) : CPL_ERR_NOMEM;
    cpl_system_def_destroy(def);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

// Allocations of reading n models and 2 n connections.
static long allocations(size_t n) {
  char* text = malloc(n * 160 + 100);
  size_t len = (size_t)sprintf(text, "couplet: 1\nmodels:\n");
  for (size_t i = 0; i < n; i++)
    len += (size_t)sprintf(text + len, "  m%zu: {fmu: a.fmu, start: {x: %zu}}\n", i, i);
  len += (size_t)sprintf(text + len, "connections:\n");
  for (size_t i = 0; i < n; i++)
    len +=
        (size_t)sprintf(text + len, "  m%zu.u: m%zu.y\n  m%zu.v: 2*m%zu.y\n", i, (i + 1) % n, i, i);
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  cpl_system_def* def;
  FILE* file = fopen("large.yaml", "wb");
  fwrite(text, 1, len, file);
  fclose(file);
  double before = cpli_now();
  CHECK_OK(ctx, cpl_system_def_read(ctx, "large.yaml", &def));
  printf("%zu models: %.3f s, %ld allocations\n", n, cpli_now() - before, heap.calls);
  CHECK_INT(def->n_models, n);
  CHECK_INT(def->n_connections, 2 * n);
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
  free(text);
  return heap.calls;
}

static void large_files_are_read_in_linear_time(void** state) {
  (void)state;
  long half = allocations(5000), full = allocations(10000);
  CHECK(full < 2 * half + 10);
  CHECK(full < 1000);  // blocks of an arena, not one a node
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_key_is_read),
      cmocka_unit_test(a_small_file_leaves_the_rest_open),
      cmocka_unit_test(bad_files_have_a_place),
      cmocka_unit_test(nested_files_and_their_cycles),
      cmocka_unit_test(survives_mutations),
      cmocka_unit_test(survives_every_failed_allocation),
      cmocka_unit_test(large_files_are_read_in_linear_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
