// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Random systems. Each draws its sizes, models, formulas and events; coefficients keep values
// within a few times their scale. In every formula the coefficients of outputs that follow inputs
// at once add up to less than 1, so that algebraic loops are contractions and have one solution.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "system.h"

typedef struct generator {
  random_system* s;
  rng r;
  rng more;  // for nested systems and what stands beside modes
  unsigned features;
  double span;
  bool open[MAX_MODELS];  // inputs are functions of time only
} generator;

static bool wants(generator* g, feature f, double probability) {
  bool chosen = rng_chance(&g->r, probability);  // drawn in any case
  return (g->features & f) != 0 && chosen;
}

static bool wants_more(generator* g, feature f, double probability) {
  bool chosen = rng_chance(&g->more, probability);
  return (g->features & f) != 0 && chosen;
}

//------------------------------------ formulas ------------------------------------

static int add_node(generator* g, node n) {
  if (g->s->n_nodes == MAX_NODES) return 0;
  g->s->nodes[g->s->n_nodes] = n;
  return g->s->n_nodes++;
}

static int constant(generator* g, double value) {
  return add_node(g, (node){.kind = NODE_CONSTANT, .value = value});
}

static int add(generator* g, int a, int b) {
  return add_node(g, (node){.kind = NODE_ADD, .a = a, .b = b});
}

static int times(generator* g, double factor, int a) {
  if (factor == 1) return a;
  return add_node(g, (node){.kind = NODE_MULTIPLY, .a = constant(g, factor), .b = a});
}

static int function(generator* g, node_kind kind, int a) {
  return add_node(g, (node){.kind = kind, .a = a});
}

// c sin(w t + phase), about 1 in size
static int wave(generator* g) {
  double w = rng_short(&g->r, 0.5, 6) / g->s->tau, phase = rng_short(&g->r, -3, 3);
  int angle = add(g, times(g, w, add_node(g, (node){.kind = NODE_TIME})), constant(g, phase));
  return times(g, rng_signed(&g->r, 0.3, 1.2), function(g, NODE_SIN, angle));
}

static int signal_node(generator* g) {
  if (g->s->n_signals == 0) return wave(g);
  int k = rng_int(&g->r, g->s->n_signals);
  return add_node(g, (node){.kind = NODE_SIGNAL, .index = k});
}

typedef struct source {
  int formula;
  double scale;
  bool at_once;  // an output that may follow inputs at once
} source;

// A state of each mode, under one name; divided by their scales.
static int observed_node(generator* g) {
  random_system* s = g->s;
  int of[2] = {-1, -1};
  if (s->n_observed == MAX_OBSERVED) return s->observed[rng_int(&g->more, MAX_OBSERVED)];
  for (int attempt = 0; attempt < 60 && (of[0] < 0 || of[1] < 0); attempt++) {
    int i = rng_int(&g->more, s->n_models);
    const instance* m = &s->models[i];
    if (m->mode == EVERY_MODE || of[m->mode] >= 0 || m->kind->n_states == 0) continue;
    int k = rng_int(&g->more, m->kind->n_states);
    int x = add_node(g, (node){.kind = NODE_STATE, .model = i, .index = k});
    of[m->mode] = times(g, rng_signed(&g->more, 0.3, 1), times(g, 1 / m->scale, x));
  }
  if (of[0] < 0 || of[1] < 0) return -1;
  int n =
      add_node(g, (node){.kind = NODE_OBSERVED, .a = of[0], .b = of[1], .index = s->n_observed});
  s->observed[s->n_observed++] = n;
  return n;
}

static bool pick_across(generator* g, int user, source* out) {
  const random_system* s = g->s;
  if (!s->beside || !rng_chance(&g->more, 0.4)) return false;
  if (s->models[user].mode == EVERY_MODE) {
    *out = (source){observed_node(g), 1, false};
    return out->formula >= 0;
  }
  for (int attempt = 0; attempt < 30; attempt++) {
    int i = rng_int(&g->more, s->n_models);
    const instance* m = &s->models[i];
    if (m->mode != EVERY_MODE) continue;
    bool output = m->kind->n_outputs > 0 && rng_chance(&g->more, 0.5);
    if (!output && m->kind->n_states == 0) continue;
    int k = rng_int(&g->more, output ? m->kind->n_outputs : m->kind->n_states);
    node_kind kind = output ? NODE_OUTPUT : NODE_STATE;
    *out = (source){add_node(g, (node){.kind = kind, .model = i, .index = k}), m->scale, output};
    return true;
  }
  return false;
}

// A value of a model that model `user` may read. Outputs of models behind it make loops.
static bool pick_source(generator* g, int user, bool loops, source* out) {
  random_system* s = g->s;
  // The sampler of FMI 3.0 counts within a tick, the others after it: where the number of a tick
  // reaches the sampled input in that tick, they differ.
  const pool_model* sampler = s->models[user].kind;
  const bool samples = strcmp(sampler->name, "sampler") == 0;
  if (pick_across(g, user, out)) return true;
  for (int attempt = 0; attempt < 30; attempt++) {
    int i = rng_int(&g->r, s->n_models), what = rng_int(&g->r, 4);
    const instance* m = &s->models[i];
    if (m->mode != s->models[user].mode) continue;
    if (samples && (what == 3 || (what == 2 && m->kind == sampler))) continue;
    if (what <= 1 && m->kind->n_states > 0) {
      int k = rng_int(&g->r, m->kind->n_states);
      *out = (source){add_node(g, (node){.kind = NODE_STATE, .model = i, .index = k}), m->scale,
                      false};
      return true;
    }
    if (what == 2 && m->kind->n_discrete > 0) {
      int k = rng_int(&g->r, m->kind->n_discrete);
      // switches act through states only: otherwise an event may have no consistent outcome
      const pool_model* reader = s->models[user].kind;
      bool timed = m->kind->def->n_indicators == 0;
      if (!m->kind->shown[k] || (!timed && (reader->has_events || reader->n_outputs > 0))) continue;
      *out = (source){add_node(g, (node){.kind = NODE_DISCRETE, .model = i, .index = k}),
                      m->kind->scaled[k] ? m->scale : 1, false};
      return true;
    }
    if (what == 3 && m->kind->n_outputs > 0) {
      bool behind = s->models[user].kind->n_outputs > 0 && i >= user;
      if (behind && !loops) continue;
      int k = rng_int(&g->r, m->kind->n_outputs);
      *out = (source){add_node(g, (node){.kind = NODE_OUTPUT, .model = i, .index = k}), m->scale,
                      true};
      return true;
    }
  }
  return false;
}

static bool reads_behind(const random_system* s, int formula, int user) {
  const node* n = &s->nodes[formula];
  switch (n->kind) {
    case NODE_OUTPUT: return n->model >= user;
    case NODE_ADD:
    case NODE_IF:
    case NODE_MULTIPLY: return reads_behind(s, n->a, user) || reads_behind(s, n->b, user);
    case NODE_SIN:
    case NODE_ATAN: return reads_behind(s, n->a, user);
    default: return false;
  }
}

static int new_relation(generator* g, int mode, int left, double right) {
  random_system* s = g->s;
  const node* n = &s->nodes[left];
  // a wave must not just touch what it is compared with
  if (n->kind == NODE_MULTIPLY && s->nodes[n->b].kind == NODE_SIN &&
      fabs(fabs(right) - fabs(s->nodes[n->a].value)) < 0.01)
    right *= 0.9;
  s->relations[s->n_relations] = (relation){left, constant(g, right)};
  s->relation_mode[s->n_relations] = mode;
  return s->n_relations++;
}

// A state of some model of the mode, divided by its scale; -1: there is none.
static int any_state(generator* g, int mode, bool open_only, int* model, int* state) {
  random_system* s = g->s;
  for (int attempt = 0; attempt < 30; attempt++) {
    int i = rng_int(&g->r, s->n_models);
    const instance* m = &s->models[i];
    if (m->mode != mode || m->kind->n_states == 0 || (open_only && !g->open[i])) continue;
    int k = rng_int(&g->r, m->kind->n_states);
    if (model != NULL) *model = i;
    if (state != NULL) *state = k;
    return times(g, 1 / m->scale, add_node(g, (node){.kind = NODE_STATE, .model = i, .index = k}));
  }
  return -1;
}

// if (state > c) then a else b
static int conditional(generator* g, int user) {
  random_system* s = g->s;
  const int mode = s->models[user].mode;
  int left = rng_chance(&g->r, 0.4) ? wave(g) : any_state(g, mode, false, NULL, NULL);
  if (left < 0) left = wave(g);
  int r = new_relation(g, mode, left, rng_short(&g->r, -0.6, 0.6));
  int a = rng_chance(&g->r, 0.5) ? constant(g, rng_signed(&g->r, 0.2, 1)) : wave(g);
  int b = constant(g, rng_signed(&g->r, 0.2, 1));
  return add_node(g, (node){.kind = NODE_IF, .a = a, .b = b, .relation = r});
}

// What an input of a model is.
static int coupling(generator* g, int user, bool loops) {
  random_system* s = g->s;
  const instance* m = &s->models[user];
  source a, b;
  bool limited = strcmp(m->kind->name, "limiter") == 0;
  if (g->open[user] || !pick_source(g, user, loops, &a)) {
    if (strcmp(m->kind->name, "jump") == 0 && rng_chance(&g->r, 0.5)) {
      int x = any_state(g, m->mode, true, NULL, NULL);
      if (x >= 0) return times(g, m->scale, x);
    }
    return times(g, m->scale, signal_node(g));
  }
  if (!limited && a.scale == m->scale && rng_chance(&g->r, 0.3)) return a.formula;
  int first = times(g, 1 / a.scale, a.formula);
  int sum = times(g, rng_signed(&g->r, 0.2, a.at_once ? 0.4 : 1), first);
  if (rng_chance(&g->r, 0.3))
    sum = times(g, rng_signed(&g->r, 0.2, a.at_once ? 0.4 : 1),
                function(g, rng_chance(&g->r, 0.5) ? NODE_SIN : NODE_ATAN, first));
  if (rng_chance(&g->r, 0.5) && pick_source(g, user, loops, &b))
    sum = add(
        g, sum,
        times(g, rng_signed(&g->r, 0.2, b.at_once ? 0.4 : 0.8), times(g, 1 / b.scale, b.formula)));
  if (wants(g, FEATURE_CONDITIONS, 0.2) && s->n_relations < MAX_RELATIONS - 4)
    sum = add(g, sum, conditional(g, user));
  else if (rng_chance(&g->r, 0.5)) sum = add(g, sum, signal_node(g));
  return times(g, m->scale, sum);
}

//------------------------------------ models ------------------------------------

static double rate(generator* g, double low, double high) {
  return rng_short(&g->r, low, high) / g->s->tau;
}

static void fill_smooth(generator* g, instance* m) {
  rng* r = &g->r;
  const char* name = m->kind->name;
  double s = m->scale, *p = m->p;
  for (int k = 0; k < m->kind->n_states; k++) m->x0[k] = s * rng_short(r, -1, 1);
  if (strcmp(name, "integrator") == 0) {
    p[0] = rate(g, 0.3, 1.5), p[1] = rng_signed(r, 0.3, 1.2);
  } else if (strcmp(name, "lag") == 0) {
    p[0] = rng_chance(r, 0.15) ? rate(g, 40, 80) : rate(g, 0.5, 6), p[1] = rng_signed(r, 0.3, 1.2);
  } else if (strcmp(name, "oscillator") == 0) {
    p[0] = rate(g, 1, 6), p[1] = rng_short(r, 0.02, 0.5), p[2] = rng_signed(r, 0.2, 0.9);
  } else if (strcmp(name, "vanderpol") == 0) {
    p[0] = rate(g, 1, 4), p[1] = rng_short(r, 0.2, 3), p[2] = s, p[3] = rng_signed(r, 0.1, 0.5);
  } else if (strcmp(name, "prey") == 0) {
    p[0] = rate(g, 1, 3), p[1] = s, p[2] = rng_signed(r, 0.05, 0.3);
    m->x0[0] = s * rng_short(r, 0.5, 2), m->x0[1] = s * rng_short(r, 0.5, 2);
  } else if (strcmp(name, "gain") == 0 || strcmp(name, "bend") == 0) {
    p[0] = rng_signed(r, 0.2, 0.9), p[1] = s * rng_short(r, -1, 1), p[2] = s;
  } else if (strcmp(name, "mix") == 0) {
    p[0] = rng_signed(r, 0.2, 0.45), p[1] = rng_signed(r, 0.2, 0.45), p[2] = s;
  } else if (strcmp(name, "follower") == 0) {
    p[0] = rate(g, 0.5, 4);
    p[1] = g->s->start + g->span * rng_real(r, 0.1, 0.4);
    p[2] = g->s->start + g->span * rng_real(r, 0.5, 0.8);
    for (int k = 3; k < 6; k++) p[k] = s * rng_short(r, -1, 1);
  } else if (strcmp(name, "jump") == 0) {
    p[0] = rate(g, 0.5, 3), p[1] = s * rng_short(r, -0.5, 0.5);
    p[2] = s * rng_short(r, 0.3, 1.5), p[3] = -s * rng_short(r, 0.3, 1.5);
  }
}

static void fill_hybrid(generator* g, instance* m) {
  rng* r = &g->r;
  const char* name = m->kind->name;
  double s = m->scale, *p = m->p;
  if (strcmp(name, "limiter") == 0) {
    p[0] = -s * rng_short(r, 0.1, 0.8), p[1] = s * rng_short(r, 0.1, 0.8);
  } else if (strcmp(name, "relay") == 0) {
    p[0] = rate(g, 0.5, 4), p[1] = s * rng_short(r, 0.05, 0.3);
    p[2] = s * rng_short(r, 0.5, 1.5), p[3] = rng_chance(r, 0.5) ? 1 : -1;
  } else if (strcmp(name, "mass") == 0) {
    p[0] = rate(g, 1, 3), p[1] = s * rng_short(r, 0.5, 1.5);
    p[2] = rng_short(r, 0.6, 0.9), p[3] = rng_short(r, 0, 0.2);
    m->x0[0] = s * rng_short(r, 0.3, 1), m->x0[1] = s * rng_short(r, -0.5, 0.5);
  } else if (strcmp(name, "sampler") == 0) {
    p[0] = g->span * rng_real(r, 0.05, 0.3), p[1] = rng_signed(r, 0.3, 1);
  } else if (strcmp(name, "friction") == 0) {
    p[0] = rate(g, 1, 3), p[1] = s * rng_short(r, 0.2, 0.5), p[2] = 1.3 * p[1];
    p[3] = rng_short(r, 0.5, 2), m->x0[1] = s * rng_signed(r, 0.3, 1);
  } else if (strcmp(name, "thermostat") == 0) {
    p[0] = rate(g, 0.5, 3), p[1] = s * rng_short(r, 1.5, 3), p[2] = s * rng_short(r, 0.2, 0.5);
    p[3] = s * rng_short(r, 0.7, 1), p[4] = rng_short(r, 0, 0.2), m->x0[0] = s * rng_short(r, 0, 1);
  } else if (strcmp(name, "counter") == 0) {
    p[0] = rate(g, 0.5, 3), p[1] = s * rng_short(r, 0.2, 0.8), p[2] = s * rng_short(r, -0.5, 0.5);
  } else if (strcmp(name, "pulse") == 0) {
    p[0] = g->span * rng_real(r, 0.1, 0.4), p[1] = g->span * rng_real(r, 0.02, 0.2);
    p[2] = g->span * rng_real(r, 0.25, 0.6), p[3] = s;
  }
}

static const pool_model* pick_kind(generator* g, bool with_events) {
  for (;;) {
    const pool_model* k = &pool[rng_int(&g->r, N_POOL)];
    if (k->unannounced && !(with_events && (g->features & FEATURE_UNANNOUNCED) != 0)) continue;
    if (k->has_events && !(with_events && (g->features & FEATURE_EVENTS) != 0)) continue;
    return k;
  }
}

static void make_models(generator* g, bool with_events) {
  static const char* const names[] = {"kiwi", "ash", "yew", "oak", "fir", "bay", "elm"};
  random_system* s = g->s;
  rng* r = &g->r;
  s->n_models = s->n_modes > 1 ? 2 + rng_int(r, 3) : 1 + rng_int(r, 5);
  if (s->beside) s->n_models += 1 + rng_int(&g->more, 2);
  int rotate = rng_int(r, MAX_MODELS);
  for (int i = 0; i < s->n_models; i++) {
    instance* m = &s->models[i];
    m->kind = pick_kind(g, with_events);
    m->mode = s->n_modes > 1 && i >= s->n_models / 2 ? 1 : 0;
    if (s->beside) m->mode = i < s->n_models - 2 ? EVERY_MODE : i - (s->n_models - 2);
    if (s->n_modes > 1 && m->mode != EVERY_MODE)  // a mode has a state to watch
      while (m->kind->n_states == 0) m->kind = pick_kind(g, with_events);
  }
  // models whose outputs follow their inputs come first, in the order of their evaluation
  const int sorted = s->beside ? s->n_models - 2 : s->n_modes == 1 ? s->n_models : 0;
  for (int i = 1; i < sorted; i++)
    for (int k = i;
         k > 0 && s->models[k].kind->n_outputs > 0 && s->models[k - 1].kind->n_outputs == 0; k--) {
      instance swap = s->models[k];
      s->models[k] = s->models[k - 1];
      s->models[k - 1] = swap;
    }
  for (int i = 0; i < s->n_models; i++) {
    instance* m = &s->models[i];
    snprintf(m->name, sizeof m->name, "%s", names[(i + rotate) % MAX_MODELS]);
    m->scale = s->scale;
    if (wants(g, FEATURE_SIZES, 0.15)) m->scale *= 100;
    m->form = wants(g, FEATURE_FMUS, 0.6) ? (rng_chance(r, 0.5) ? FORM_FMI2 : FORM_FMI3) : FORM_C;
    g->open[i] =
        m->kind->n_inputs > 0 && (rng_chance(r, 0.3) || strcmp(m->kind->name, "jump") == 0);
    fill_smooth(g, m);
    fill_hybrid(g, m);
    s->unannounced = s->unannounced || m->kind->unannounced;
  }
}

// A loop through a model that rises or falls everywhere, with a gain that may be far from small but
// is negative: it has one solution.
static int strong_loop(generator* g, int i) {
  instance* m = &g->s->models[i];
  int y = add_node(g, (node){.kind = NODE_OUTPUT, .model = i});
  m->p[0] = -rng_short(&g->r, 0.5, 2);
  int sum = times(g, rng_short(&g->r, 0.5, 4), times(g, 1 / m->scale, y));
  return times(g, m->scale, add(g, sum, signal_node(g)));
}

static void make_couplings(generator* g, bool loops_allowed) {
  random_system* s = g->s;
  for (int i = 0; i < s->n_models; i++) {
    const char* kind = s->models[i].kind->name;
    bool monotone = strcmp(kind, "gain") == 0 || strcmp(kind, "bend") == 0;
    for (int k = 0; k < s->models[i].kind->n_inputs; k++) {
      bool here = s->n_modes == 1 || s->models[i].mode == EVERY_MODE;
      bool loops = loops_allowed && here && s->n_tears < MAX_TEARS && wants(g, FEATURE_LOOPS, 0.5);
      bool strong = loops && monotone && s->n_tears == 0 && rng_chance(&g->r, 0.3);
      int formula = strong ? strong_loop(g, i) : coupling(g, i, loops);
      if (strong) loops_allowed = false;  // others would make it a part of theirs
      s->models[i].input[k] = formula;
      if (s->models[i].kind->n_outputs > 0 && reads_behind(s, formula, i)) {
        s->tear_model[s->n_tears] = i;
        s->tear_input[s->n_tears++] = k;
      }
    }
  }
}

//------------------------------------ signals and events ------------------------------------

static void make_signals(generator* g) {
  random_system* s = g->s;
  rng* r = &g->r;
  int n = rng_int(r, MAX_SIGNALS + 1);
  for (int i = 0; i < n; i++) {
    signal_def* d = &s->signals[i];
    d->formula = -1;
    if (!wants(g, FEATURE_TABLES, 0.5)) {
      d->formula = wave(g);
    } else {
      d->hold = rng_chance(r, 0.4);
      d->t[0] = s->start, d->y[0] = rng_short(r, -1, 1), d->n = 1;
      while (d->n < MAX_KNOTS - 2) {
        double t = d->t[d->n - 1] + g->span * rng_real(r, 0.08, 0.4);
        bool last = t > s->stop;
        d->t[d->n] = t, d->y[d->n++] = rng_short(r, -1, 1);
        if (last) break;
        if (!d->hold && rng_chance(r, 0.3)) d->t[d->n] = t, d->y[d->n++] = rng_short(r, -1, 1);
      }
      if (d->t[d->n - 1] < s->stop)
        d->t[d->n] = s->stop + 0.1 * g->span, d->y[d->n++] = rng_short(r, -1, 1);
    }
    s->n_signals++;
  }
}

static void make_events(generator* g) {
  random_system* s = g->s;
  rng* r = &g->r;
  if (!wants(g, FEATURE_WHEN, 0.6)) return;
  int n = 1 + rng_int(r, MAX_EVENTS);
  for (int i = 0; i < n; i++) {
    event_def* e = &s->events[s->n_events];
    int model, state, watched;
    e->mode = rng_int(r, s->n_modes);
    if (s->beside && rng_chance(&g->more, 0.5)) e->mode = EVERY_MODE;
    if (any_state(g, e->mode, false, &model, &state) < 0) return;
    if (s->models[model].steps) continue;  // no event reaches into it
    bool at = (s->n_modes == 1 || e->mode == EVERY_MODE) && rng_chance(r, 0.4);
    e->relation = -1, e->n_times = 0;
    if (at) {
      e->n_times = 1 + rng_int(r, MAX_TIMES);
      for (int k = 0; k < e->n_times; k++)
        e->times[k] = s->start + g->span * (k + rng_real(r, 0.1, 0.9)) / e->n_times;
    } else {
      if (s->n_relations >= MAX_RELATIONS - 2) return;
      watched = rng_chance(r, 0.3) ? wave(g) : any_state(g, e->mode, false, NULL, NULL);
      if (e->mode == EVERY_MODE && s->beside && rng_chance(&g->more, 0.4)) {
        int seen = observed_node(g);
        if (seen >= 0) watched = seen;
      }
      if (watched < 0) watched = wave(g);
      e->relation = new_relation(g, e->mode, watched, rng_short(r, -0.7, 0.7));
    }
    double scale = s->models[model].scale;
    bool positive = strcmp(s->models[model].kind->name, "prey") == 0 ||
                    strcmp(s->models[model].kind->name, "mass") == 0;
    int x = add_node(g, (node){.kind = NODE_STATE, .model = model, .index = state});
    e->sets[0] = (assignment){model, state, times(g, rng_signed(r, 0.3, 0.9), x)};
    if (positive) e->sets[0].formula = times(g, rng_short(r, 0.5, 0.9), x);
    else if (rng_chance(r, 0.5))
      e->sets[0].formula = add(g, x, constant(g, scale * rng_signed(r, 0.2, 1)));
    e->n_sets = 1;
    s->n_events++;
  }
}

static void make_transitions(generator* g) {
  random_system* s = g->s;
  rng* r = &g->r;
  for (int mode = 0; mode < 2 && s->n_modes > 1; mode++) {
    transition* way = &s->leave[mode];
    int watched = any_state(g, mode, false, NULL, NULL);
    if (watched < 0) watched = wave(g);
    if (s->beside && rng_chance(&g->more, 0.3)) {
      int outside = any_state(g, EVERY_MODE, false, NULL, NULL);
      if (outside >= 0) watched = outside;
    }
    way->relation = new_relation(g, mode, watched, rng_short(r, -0.2, 0.9));
    way->n_sets = 0;
    for (int i = 0; i < s->n_models; i++) {
      const instance* m = &s->models[i];
      if (m->mode != 1 - mode || way->n_sets == MAX_OF || rng_chance(r, 0.3)) continue;
      int from = any_state(g, mode, false, NULL, NULL), k = rng_int(r, m->kind->n_states);
      if (from < 0 || strcmp(m->kind->name, "prey") == 0 || strcmp(m->kind->name, "mass") == 0)
        continue;
      way->sets[way->n_sets++] =
          (assignment){i, k, times(g, m->scale * rng_signed(r, 0.2, 0.9), from)};
    }
  }
}

//------------------------------------ whole ------------------------------------

static void make_sizes(generator* g) {
  static const double sizes[] = {1, 1, 1e-6, 1e6, 1e-3, 1e3}, speeds[] = {1, 1, 1, 1e-3, 1e3};
  static const double tolerances[] = {1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};
  random_system* s = g->s;
  rng* r = &g->r;
  double size = sizes[rng_int(r, 6)], tau = speeds[rng_int(r, 5)];
  s->scale = (g->features & FEATURE_SIZES) != 0 ? size : 1;
  s->tau = (g->features & FEATURE_SIZES) != 0 ? tau : 1;
  g->span = s->tau * rng_short(r, 1.5, 5);
  double start = s->tau * (rng_chance(r, 0.6) ? rng_short(r, -5, 5) : rng_short(r, 100, 1000));
  s->start = wants(g, FEATURE_START_TIMES, 0.6) ? start : 0;
  s->n_intervals = 5 + rng_int(r, 25);
  s->stop = s->start + g->span;
  s->rtol = tolerances[rng_int(r, 6)];
  s->atol = s->rtol * s->scale;
}

static void choose_steppers(generator* g) {
  random_system* s = g->s;
  bool any = false;
  for (int i = 0; i < s->n_models; i++) {
    s->models[i].steps = s->steppers && rng_chance(&g->r, 0.7);
    any = any || s->models[i].steps;
  }
  s->steppers = any;
}

// Some models stand in a system of their own, with its own master or not.
static void choose_box(generator* g) {
  random_system* s = g->s;
  int n = 0;
  s->box = s->beside || (s->n_modes == 1 && s->n_models > 1 && wants_more(g, FEATURE_NESTED, 0.35));
  for (int i = 0; i < s->n_models && s->box; i++) {
    instance* m = &s->models[i];
    m->boxed = s->beside ? m->mode != EVERY_MODE : rng_chance(&g->more, 0.5);
    n += m->boxed;
  }
  if (n == 0) s->box = false;
  s->box_steps = s->beside && s->steppers && rng_chance(&g->more, 0.4);
  s->box_master = rng_chance(&g->more, 0.5);
}

static void make_master(generator* g) {
  static const char* const algorithms[] = {"determinate", "jacobi", "gauss-seidel", "iterative"};
  random_system* s = g->s;
  rng* r = &g->r;
  s->algorithm = algorithms[rng_int(r, 4)];
  s->order = rng_int(r, 3);
  s->step = (s->stop - s->start) / s->n_intervals / (1 + 100 / s->n_intervals);
  static const double tolerances[] = {5e-2, 1e-3, 1e-5};  // that orders 0, 1 and 2 can reach
  s->tolerance = wants(g, FEATURE_MASTER_TOLERANCE, 0.4) ? tolerances[s->order] : 0;
}

void system_generate(random_system* s, uint64_t seed, unsigned features) {
  *s = (random_system){.seed = seed, .n_modes = 1};
  generator g = {.s = s,
                 .r = {seed * 0x2545f4914f6cdd1du + 1},
                 .more = {seed * 0x9e6c63d0876a9a47u + 3},
                 .features = features};
  constant(&g, 0);
  make_sizes(&g);
  s->steppers = wants(&g, FEATURE_STEPPERS, 0.35);
  // an FMU for co-simulation knows a relative tolerance only, and takes 1 for the size of states
  if (s->steppers && s->scale < 1) s->scale = 1, s->atol = s->rtol;
  bool rich = !s->steppers || (features & FEATURE_STEPPER_EVENTS) != 0;
  if (!rich)
    g.features &= ~(unsigned)(FEATURE_EVENTS | FEATURE_WHEN | FEATURE_LOOPS | FEATURE_UNANNOUNCED |
                              FEATURE_CONDITIONS | FEATURE_TABLES);
  bool with_modes = !s->steppers || wants_more(&g, FEATURE_MODE_STEPPERS, 1);
  if (with_modes && wants(&g, FEATURE_MODES, 0.2)) s->n_modes = 2;
  s->beside = s->n_modes > 1 && wants_more(&g, FEATURE_MODES_BESIDE, 0.6);
  make_models(&g, rich);
  choose_steppers(&g);
  choose_box(&g);
  make_signals(&g);
  make_couplings(&g, s->n_modes == 1 || s->beside);
  make_transitions(&g);
  make_events(&g);
  make_master(&g);
}
