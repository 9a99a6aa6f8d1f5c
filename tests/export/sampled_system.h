// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with events at known times: a counter ticks every half second and sets a level, a lag
// follows the level, a watch sees the lag pass a limit. Between events x = u + (x0 - u) exp(-k t),
// so that every event has a time in closed form. Built as several kinds of systems.
#pragma once

#include <math.h>

#include "../cli/command.h"

static const char counter_model[] =
    MODEL("counter",
          "static const cpl_declaration p[] = {{.name = \"period\", .start = 0.5},\n"
          "    {.name = \"gain\", .start = 1, .tunable = true}, {0}};\n"
          "static const cpl_declaration w[] = {\n"
          "    {.name = \"n\", .type = CPL_INTEGER, .output = true},\n"
          "    {.name = \"level\", .output = true}, {0}};\n"
          "static int first(const cpl_values* v, cpl_event_actions* a) {\n"
          "  a->next_time = v->t + v->p[0];\n"
          "  return 0;\n"
          "}\n"
          "static int tick(const cpl_values* v, cpl_event_actions* a) {\n"
          "  if (!a->time_event) return 0;\n"
          "  a->w[0] += 1;\n"
          "  a->w[1] = v->p[1] * fmod(a->w[0], 3);\n"
          "  a->next_time = (a->w[0] + 1) * v->p[0];\n"
          "  return 0;\n"
          "}",
          ".parameters = p, .discrete = w, .initialize = first, .event = tick");

static const char lag_model[] =
    MODEL("lag",
          "static const cpl_declaration x[] = {{.name = \"x\", .output = true}, {0}};\n"
          "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"k\", .start = 2}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = v->p[0] * (v->u[0] - v->x[0]);\n"
          "  return 0;\n"
          "}",
          ".states = x, .inputs = u, .parameters = p, .derivatives = f");

static const char watch_model[] =
    MODEL("watch",
          "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"limit\", .start = 0.8, .tunable = true}, "
          "{0}};\n"
          "static const cpl_declaration w[] = {\n"
          "    {.name = \"high\", .type = CPL_BOOLEAN, .output = true},\n"
          "    {.name = \"crossings\", .type = CPL_INTEGER, .output = true}, {0}};\n"
          "static int z(const cpl_values* v, double* z) {\n"
          "  z[0] = v->u[0] - v->p[0];\n"
          "  return 0;\n"
          "}\n"
          "static int pass(const cpl_values* v, cpl_event_actions* a) {\n"
          "  if (a->crossed[0] == 0) return 0;\n"
          "  a->w[0] = a->crossed[0] > 0;\n"
          "  a->w[1] += 1;\n"
          "  return 0;\n"
          "}",
          ".inputs = u, .parameters = p, .discrete = w, .n_indicators = 1, .indicators = z,\n"
          ".event = pass");

// The kinds of systems. The names of the variables begin with a prefix for each part; the second
// part, if there is one, has a period of its own.
typedef struct sampled_kind {
  const char *name, *prefix[2];
  int n_parts;
  const char* text;  // of system.yaml
  double accuracy;   // of times and values
} sampled_kind;

#define SAMPLED_SYSTEM(source, end, more)                                                      \
  "couplet: 1\nname: sampled\nmodels:\n  counter: {" source "counter" end "}\n  lag: {" source \
  "lag" end "}\n  watch: {" source "watch" end                                                 \
  "}\nconnections: {lag.u: counter.level, watch.u: "                                           \
  "lag.x}\nexperiment: {stop: 10, rtol: 1e-10}\n" more
#define SAMPLED_MASTER SAMPLED_SYSTEM("c: ", ".c, as: cs", "master: {step: 0.01}\n")
#define SAMPLED_PAIR(file)                                                            \
  "couplet: 1\nname: pair\nmodels:\n  one: {system: " file "}\n  two: {system: " file \
  ", start: {counter.period: 0.375, lag.k: 1.5}}\nexperiment: {stop: 10, rtol: 1e-10}\n"

static const sampled_kind sampled_model = {.name = "model",
                                           .prefix = {""},
                                           .n_parts = 1,
                                           .text = SAMPLED_SYSTEM("c: ", ".c", ""),
                                           .accuracy = 1e-7};
static const sampled_kind sampled_nested = {
    .name = "nested",
    .prefix = {"inner."},
    .n_parts = 1,
    .text =
        "couplet: 1\nname: outer\nmodels:\n  inner: {system: sampled.yaml}\n"
        "experiment: {stop: 10, rtol: 1e-10}\n",
    .accuracy = 1e-7};
static const sampled_kind sampled_pair = {.name = "pair",
                                          .prefix = {"one.", "two."},
                                          .n_parts = 2,
                                          .text = SAMPLED_PAIR("sampled.yaml"),
                                          .accuracy = 1e-7};
// The watch sees the lag through a parabola over each communication step.
static const sampled_kind sampled_master = {
    .name = "master", .prefix = {""}, .n_parts = 1, .text = SAMPLED_MASTER, .accuracy = 2e-5};
static const sampled_kind sampled_masters = {.name = "masters",
                                             .prefix = {"one.", "two."},
                                             .n_parts = 2,
                                             .text = SAMPLED_PAIR("master.yaml"),
                                             .accuracy = 2e-5};
// The same of FMUs of FMI 3.0, which tell their next events.
static const sampled_kind sampled_fmus = {
    .name = "fmus",
    .prefix = {""},
    .n_parts = 1,
    .text = SAMPLED_SYSTEM("fmu: ", ".fmu, as: cs", "master: {step: 0.01}\n"),
    .accuracy = 2e-5};

static inline void write_sampled(const sampled_kind* kind) {
  use_folders();
  write_text("counter.c", counter_model);
  write_text("lag.c", lag_model);
  write_text("watch.c", watch_model);
  write_text("sampled.yaml", sampled_model.text);
  write_text("master.yaml", SAMPLED_MASTER);
  write_text("system.yaml", kind->text);
  if (strstr(kind->text, ".fmu") == NULL) return;
  static const char* const models[] = {"counter.c", "lag.c", "watch.c"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    CHECK_CODE(0, "build", models[i], "-q", "--fmi", "3");
}

//------------------------------------ exactly ------------------------------------

typedef struct sampled {
  double period, gain, limit, k;
  double t, x, level;
  int n, crossings;
  bool high;
} sampled;

static inline sampled sampled_start(int part) {
  return (sampled){
      .period = part == 0 ? 0.5 : 0.375, .gain = 1, .limit = 0.8, .k = part == 0 ? 2 : 1.5};
}

static inline double sampled_tick(const sampled* s) { return (s->n + 1) * s->period; }

// The time at which x passes the limit if the level stays; INFINITY: never.
static inline double sampled_crossing(const sampled* s) {
  if (s->high == (s->level > s->limit)) return INFINITY;
  return s->t + log((s->level - s->x) / (s->level - s->limit)) / s->k;
}

static inline double sampled_next(const sampled* s) {
  return fmin(sampled_tick(s), sampled_crossing(s));
}

// No further than to the next event.
static inline void sampled_advance(sampled* s, double t) {
  s->x = s->level + (s->x - s->level) * exp(-s->k * (t - s->t));
  s->t = t;
}

static inline bool sampled_ticks(const sampled* s) {
  return sampled_tick(s) <= sampled_crossing(s);
}

// The event at the present time.
static inline void sampled_event(sampled* s, bool tick) {
  if (tick) {
    s->n++;
    s->level = s->gain * fmod(s->n, 3);
  } else {
    s->high = !s->high;
    s->crossings++;
  }
}

// All parts of a system.
typedef struct sampled_parts {
  int n;
  sampled s[2];
} sampled_parts;

static inline sampled_parts sampled_begin(const sampled_kind* kind) {
  return (sampled_parts){kind->n_parts, {sampled_start(0), sampled_start(1)}};
}

// The next event of any part; *tick: the next time event.
static inline double sampled_first(const sampled_parts* p, double* tick) {
  double first = INFINITY;
  *tick = INFINITY;
  for (int i = 0; i < p->n; i++) {
    first = fmin(first, sampled_next(&p->s[i]));
    *tick = fmin(*tick, sampled_tick(&p->s[i]));
  }
  return first;
}

static inline void sampled_move(sampled_parts* p, double t) {
  for (int i = 0; i < p->n; i++) sampled_advance(&p->s[i], t);
}

// The events of all parts that have one at time t, which is the next one.
static inline void sampled_happen(sampled_parts* p, double t) {
  bool due[2];
  for (int i = 0; i < p->n; i++) due[i] = sampled_next(&p->s[i]) <= t;
  for (int i = 0; i < p->n; i++) {
    bool tick = sampled_ticks(&p->s[i]);
    sampled_advance(&p->s[i], t);
    if (due[i]) sampled_event(&p->s[i], tick);
  }
}

// Through all events.
static inline void sampled_go(sampled_parts* p, double t) {
  double tick;
  while (sampled_first(p, &tick) <= t) sampled_happen(p, sampled_first(p, &tick));
  sampled_move(p, t);
}
