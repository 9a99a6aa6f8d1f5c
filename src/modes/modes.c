// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "modes": one of several steppers, or models, is active at a time.
#include <assert.h>
#include <math.h>

#include "model/adopt.h"
#include "model/inspect.h"
#include "modes/modes.h"

static cpli_modes* self_of(cpl_component* c) { return (cpli_modes*)c; }

static cpl_stepper* active_of(cpli_modes* m) {
  assert(m->active >= 0 && m->active < m->n_modes);
  return m->modes[m->active].s;
}

static const char* const entry_names[] = {
    [CPL_ENTRY_FOLLOW] = "follow", [CPL_ENTRY_ERROR] = "error", [CPL_ENTRY_WAIT] = "wait"};
static_assert(CPLI_COUNT(entry_names) == CPL_ENTRY_WAIT + 1, "each kind of entry has a name");

bool cpl_on_entry_by_name(const char* name, cpl_on_entry* out) {
  int32_t i = cpli_find_text(entry_names, CPLI_COUNT(entry_names), name);
  if (i >= 0) *out = (cpl_on_entry)i;
  return i >= 0;
}

const char* cpl_on_entry_name(cpl_on_entry on_entry) { return entry_names[on_entry]; }

//------------------------------------ steps ------------------------------------

// The active mode requests a stop. The caller has seen its final values already when an update at
// the same time led to it; otherwise they are shown first.
static cpl_status process_stop(cpli_modes* m, const cpl_step_result* r, bool shown) {
  cpl_status st = cpli_modes_choose(m, r->stop, &m->pending);
  if (st < 0) return st;
  if (m->pending == NULL) m->ended = true;
  if (m->pending == NULL || !shown) return CPL_OK;
  cpli_transition* transition = m->pending;
  m->pending = NULL;
  return cpli_modes_follow(m, transition);
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  cpli_modes* m = (cpli_modes*)s;
  cpl_step_result r = {.time = m->t};
  cpl_status st = CPL_OK;
  bool handled = false, updates = t_end <= m->t;
  if (m->pending != NULL && !m->ended) {
    cpli_transition* transition = m->pending;
    m->pending = NULL;
    st = cpli_modes_follow(m, transition);
    handled = true;
    updates = false;
  }
  while (st >= 0 && !m->ended && m->pending == NULL && (updates || m->t < t_end)) {
    double begin = m->t;
    st = active_of(m)->ops->step(active_of(m), t_end, t_limit, &r);
    if (st < 0) break;
    m->t = r.time;
    updates = false;
    handled = handled || (r.event_handled && r.time == begin);
    if (r.end != CPL_STEP_TERMINATE) break;
    st = process_stop(m, &r, r.event_handled && r.time == begin);
    r.end = CPL_STEP_DONE;
  }
  *result = (cpl_step_result){.end = m->ended             ? CPL_STEP_TERMINATE
                                     : m->pending != NULL ? CPL_STEP_EVENT
                                                          : r.end,
                              .time = m->t,
                              .event_handled = handled,
                              .again = r.again && !m->ended && m->pending == NULL};
  return st;
}

static cpl_status ahead(cpl_stepper* s, double t_end, double t_limit, double* until) {
  cpli_modes* m = (cpli_modes*)s;
  *until = m->t;
  if (m->ended || m->pending != NULL) return CPL_OK;
  return active_of(m)->ops->ahead(active_of(m), t_end, t_limit, until);
}

static cpl_status max_step(cpl_stepper* s, double* h) {
  cpl_stepper* inner = active_of((cpli_modes*)s);
  *h = NAN;
  return inner->ops->max_step != NULL ? inner->ops->max_step(inner, h) : CPL_OK;
}

static cpl_status wants_update(cpl_stepper* s, bool* wanted, double* margin) {
  cpl_stepper* inner = active_of((cpli_modes*)s);
  *wanted = false;
  *margin = NAN;
  return inner->ops->wants_update != NULL ? inner->ops->wants_update(inner, wanted, margin)
                                          : CPL_OK;
}

static double next_break(cpl_stepper* s, double tolerance) {
  cpl_stepper* inner = active_of((cpli_modes*)s);
  return inner->ops->next_break != NULL ? inner->ops->next_break(inner, tolerance)
                                        : (double)INFINITY;
}

// A transition that waits is an event now; those to come are events of the active mode.
static cpl_status next_event(cpl_stepper* s, double* time, bool* sure) {
  cpli_modes* m = (cpli_modes*)s;
  cpl_stepper* inner = active_of(m);
  *time = m->pending != NULL ? m->t : (double)INFINITY;
  *sure = m->pending != NULL;
  if (m->pending != NULL || inner->ops->next_event == NULL) return CPL_OK;
  return inner->ops->next_event(inner, time, sure);
}

static cpl_status refuse(const cpli_modes* m, uint32_t ref) {
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_INPUT, m->base.base.name, NULL, NAN,
                     "there is no variable %u, or it cannot be used so", (unsigned)ref);
}

static const cpli_seen* seen_of(const cpli_modes* m, uint32_t ref) {
  return ref < (uint32_t)m->shared_desc->base.desc.n_vars ? &m->shared_desc->seen[ref] : NULL;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_modes* m = (cpli_modes*)s;
  const cpli_seen* seen = seen_of(m, ref);
  if (seen == NULL || seen->kind != CPLI_SEEN_INPUT) return refuse(m, ref);
  cpli_modes_shared* in = &m->shared[CPLI_SEEN_INPUT][seen->mode];
  in->curve = *curve;
  in->by_curve = true;
  const cpli_modes_read* at = &in->at[m->active];
  if (at->slot < 0 || !(m->running || m->in_init)) return CPL_OK;
  return active_of(m)->ops->set_curve(active_of(m), at->ref, curve);
}

//------------------------------------ values ------------------------------------

enum { RUN = 64 };

// The variable of the active mode for a reference; false: the mode has none.
static bool locate(const cpli_modes* m, const cpli_seen* seen, cpli_modes_read* out) {
  if (seen->kind == CPLI_SEEN_INNER) {
    *out = (cpli_modes_read){seen->type, seen->ref, 0};
    return seen->mode == m->active;
  }
  *out = m->shared[seen->kind][seen->mode].at[m->active];
  return out->slot >= 0;
}

// An input that the active mode does not have keeps the value it was set to.
static double absent(const cpli_modes* m, const cpli_seen* seen) {
  const cpli_modes_shared* in =
      seen->kind == CPLI_SEEN_INPUT ? &m->shared[CPLI_SEEN_INPUT][seen->mode] : NULL;
  return in != NULL && in->given ? in->value : NAN;
}

// Consecutive references to Reals of the active mode are read in one call.
static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  cpli_modes* m = self_of(c);
  cpl_component* inner = cpli_active(m);
  uint32_t run[RUN];
  cpl_status st = CPL_OK;
  size_t i = 0;
  while (i < n && st == CPL_OK) {
    size_t count = 0;
    cpli_modes_read at = {0};
    bool there = true;
    for (; i + count < n && count < RUN; count++) {
      const cpli_seen* seen = seen_of(m, refs[i + count]);
      if (seen == NULL || seen->kind == CPLI_SEEN_MODE) return refuse(m, refs[i + count]);
      there = locate(m, seen, &at);
      if (!there || at.type != CPL_REAL) break;
      run[count] = at.ref;
    }
    if (count > 0) st = inner->ops->get_real(inner, run, count, values + i);
    i += count;
    if (i == n || count == RUN || st != CPL_OK) continue;
    if (there) st = cpli_get_number(inner, &at, &values[i]);
    else values[i] = absent(m, seen_of(m, refs[i]));
    i++;
  }
  return st;
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  cpli_modes* m = self_of(c);
  (void)type;
  for (size_t i = 0; i < n; i++) {
    const cpli_seen* seen = seen_of(m, refs[i]);
    if (seen == NULL || seen->kind != CPLI_SEEN_MODE) return refuse(m, refs[i]);
    values[i] = m->active + 1;
  }
  return CPL_OK;
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  cpli_modes* m = self_of(c);
  cpl_component* inner = cpli_active(m);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    const cpli_seen* seen = seen_of(m, refs[i]);
    if (seen == NULL || seen->type != CPL_STRING) return refuse(m, refs[i]);
    values[i] = "";
    if (seen->mode == m->active) st = inner->ops->get_string(inner, &seen->ref, 1, &values[i]);
  }
  return st;
}

// A start value of one mode, set from outside: it is used each time the mode is entered.
static cpl_status set_start(cpli_modes* m, const cpli_seen* seen, double value) {
  cpli_other other = {.type = seen->type, .ref = seen->ref, .integer = llround(value)};
  return cpli_starts_add(m->base.base.ctx, &m->modes[seen->mode].starts, other, value);
}

static cpl_status set_shared(cpli_modes* m, const cpli_seen* seen, double value) {
  cpli_modes_shared* shared = &m->shared[seen->kind][seen->mode];
  shared->value = value;
  shared->given = true;
  shared->by_curve = false;
  const cpli_modes_read* at = &shared->at[m->active];
  bool now = seen->kind == CPLI_SEEN_INPUT && (m->running || m->in_init);
  return now && at->slot >= 0 ? cpli_set_number(cpli_active(m), at, value) : CPL_OK;
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpli_modes* m = self_of(c);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    const cpli_seen* seen = seen_of(m, refs[i]);
    bool inner = seen != NULL && seen->kind == CPLI_SEEN_INNER;
    bool shared =
        seen != NULL && (seen->kind == CPLI_SEEN_INPUT || seen->kind == CPLI_SEEN_PARAMETER);
    if (shared) st = set_shared(m, seen, values[i]);
    else if (inner && !m->running) st = set_start(m, seen, values[i]);
    else st = refuse(m, refs[i]);
  }
  return st;
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  (void)type, (void)values;
  return n > 0 ? refuse(self_of(c), refs[0]) : CPL_OK;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpli_modes* m = self_of(c);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    const cpli_seen* seen = seen_of(m, refs[i]);
    if (seen == NULL || seen->type != CPL_STRING || m->running) return refuse(m, refs[i]);
    cpli_other other = {.type = CPL_STRING, .ref = seen->ref};
    other.text = cpli_arena_strdup(&m->arena, values[i]);
    if (other.text == NULL) return cpli_nomem(c->ctx);
    st = cpli_starts_add(c->ctx, &m->modes[seen->mode].starts, other, 0);
  }
  return st;
}

static cpl_status value_time(cpl_stepper* s, uint32_t ref, double* since, double* next) {
  cpli_modes* m = (cpli_modes*)s;
  cpl_stepper* inner = active_of(m);
  const cpli_seen* seen = seen_of(m, ref);
  cpli_modes_read at;
  *since = m->t;
  *next = INFINITY;
  if (seen == NULL) return refuse(m, ref);
  if (inner->ops->value_time == NULL || seen->kind == CPLI_SEEN_MODE || !locate(m, seen, &at))
    return CPL_OK;
  return inner->ops->value_time(inner, at.ref, since, next);
}

//------------------------------------ life cycle ------------------------------------

void cpli_modes_show_structure(cpli_modes* m) {
  if (m->is_model) m->base.base.desc = &m->shared_desc->of_mode[m->active];
}

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_modes* m = self_of(c);
  m->setup = *s;
  m->t = m->entered = s->start_time;
  m->active = m->start;
  cpli_modes_show_structure(m);
  cpli_modes_forget(m);
  return CPL_OK;
}

static cpl_status enter_init(cpl_component* c) {
  self_of(c)->in_init = true;
  return cpli_modes_setup(self_of(c), NULL);
}

static cpl_status exit_init(cpl_component* c) {
  cpli_modes* m = self_of(c);
  cpl_status st = cpli_modes_begin(m, NULL);
  m->in_init = false;
  m->running = st >= 0;
  return st;
}

static cpl_status terminate(cpl_component* c) {
  cpli_modes* m = self_of(c);
  cpl_status st = m->arriving != NULL ? cpli_modes_begin(m, m->arriving) : CPL_OK;
  m->arriving = NULL;
  m->running = false;
  return st < 0 ? st : cpli_active(m)->ops->terminate(cpli_active(m));
}

// Each mode is reset when it is entered.
static cpl_status reset(cpl_component* c) {
  cpli_modes* m = self_of(c);
  m->running = m->in_init = m->ended = m->wants_stop = false;
  m->pending = m->arriving = NULL;
  m->active = m->start;
  for (int32_t k = 0; k < m->n_modes; k++) {  // values set from outside
    m->modes[k].starts.n = m->modes[k].own_starts;
    m->modes[k].starts.n_others = m->modes[k].own_others;
  }
  for (int kind = 0; kind <= CPLI_SEEN_OBSERVED; kind++)
    for (int32_t i = 0; i < m->n_shared[kind]; i++)
      m->shared[kind][i].given = m->shared[kind][i].by_curve = false;
  cpli_modes_show_structure(m);
  return CPL_OK;
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_modes* m = self_of(c);
  cpl_context* ctx = c->ctx;
  for (int32_t k = 0; k < m->n_modes && m->modes != NULL; k++) {
    cpli_mode* mode = &m->modes[k];
    if (mode->c != NULL) mode->c->ops->destroy(mode->c);
    cpli_free(ctx, mode->starts.refs);
    cpli_free(ctx, mode->starts.values);
    cpli_free(ctx, mode->starts.others);
    cpli_free(ctx, mode->kept);
    for (int32_t i = 0; i < mode->n_transitions; i++) {
      for (int32_t o = 0; o < mode->transitions[i].n_others; o++)
        cpli_free(ctx, mode->transitions[i].others[o].text);
    }
  }
  cpli_serial_free(ctx, &m->bytes);
  cpli_shared_desc_release((cpli_shared_desc*)m->shared_desc);
  cpli_arena_free(&m->arena);
  cpli_free(ctx, m);
}

// The counters of all solvers of all modes together, and of the switches.
static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const cpli_modes* m = (const cpli_modes*)c;
  out->n_children = m->n_modes;
  if (child >= 0) {
    if (child < m->n_modes) cpli_inspection_child(out, m->modes[child].c);
    return CPL_OK;
  }
  cpl_inspection_add(out, (cpl_counter){"switches", "", (double)m->switches, false});
  cpl_inspection_add(
      out, (cpl_counter){"in_switches_s", "s", cpli_stopwatch_seconds(&m->in_switches), false});
  cpl_inspection_add(
      out, (cpl_counter){"in_mapping_s", "s", cpli_stopwatch_seconds(&m->in_mapping), false});
  for (int32_t k = 0; k < m->n_modes; k++) cpli_inspection_sum(out, m->modes[k].c);
  return CPL_OK;
}

//------------------------------------ create ------------------------------------

#define COMMON_OPS                                                                          \
  .size = sizeof(cpl_component_ops), .kind = "modes", .destroy = destroy, .setup = setup,   \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset, \
  .get_real = get_real, .set_real = set_real, .get_integer = get_integer,                   \
  .set_integer = set_integer, .get_string = get_string, .set_string = set_string,           \
  .inspect = inspect
#define ROLLBACK_OPS \
  .save = cpli_modes_save, .restore = cpli_modes_restore, .forget = cpli_modes_forget_saved
static const cpl_component_ops component_ops[3] = {
    {COMMON_OPS},  // rolls back: 1, and states become bytes: 2
    {COMMON_OPS, ROLLBACK_OPS},
    {COMMON_OPS, ROLLBACK_OPS, .serialize = cpli_modes_to_bytes,
     .deserialize = cpli_modes_from_bytes, .get_history = cpli_modes_get_history,
     .set_history = cpli_modes_set_history}};

// Chooses the operations for saved states by what all modes can do.
static void offer_saving(cpli_modes* m) {
  cpl_capabilities* can = &m->base.base.can;
  can->serialize = can->save_restore;
  for (int32_t k = 0; k < m->n_modes; k++)
    can->serialize = can->serialize && cpli_serial_can(m->modes[k].c);
  m->base.base.ops = &component_ops[can->save_restore + can->serialize];
}

// The capabilities that all modes have; but a switch stops before the end of a step, and is an
// update.
static void make_stepper(cpli_modes* m) {
  cpl_capabilities can = m->modes[0].s->base.can;
  bool look_ahead = true, curves = true, predicts = true, own_points = false;
  for (int32_t k = 0; k < m->n_modes; k++) {
    const cpl_stepper* s = m->modes[k].s;
    const cpl_capabilities* one = &s->base.can;
    cpli_capabilities_of_both(&can, one);
    can.dense_output = can.dense_output && one->dense_output;
    look_ahead = look_ahead && s->ops->ahead != NULL;
    curves = curves && s->ops->set_curve != NULL;
    predicts = predicts && s->ops->max_step != NULL;
    own_points = own_points || s->ops->value_time != NULL;
  }
  can.directional = can.completed_step = can.predicts = false;
  can.zero_step = can.stops_early = true;
  can.output_derivatives = 0;
  m->base.base.can = can;
  offer_saving(m);
  m->stepper_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops),
                                     .step = step,
                                     .ahead = look_ahead ? ahead : NULL,
                                     .set_curve = curves ? set_curve : NULL,
                                     .wants_update = wants_update,
                                     .next_break = next_break,
                                     .next_event = next_event,
                                     .value_time = own_points ? value_time : NULL,
                                     .max_step = predicts ? max_step : NULL};
  m->base.ops = &m->stepper_ops;
}

static cpl_status check(cpl_context* ctx, const cpl_modes_def* def) {
  if (def->n_modes < 1 || def->start < 0 || def->start >= def->n_modes)
    return cpl_fail_in(ctx, CPL_ERR_INPUT, def->name, NULL, NAN,
                       "there are no modes, or none to start with");
  for (int32_t k = 0; k < def->n_modes; k++) {
    for (int32_t i = 0; i < def->modes[k].n_leave; i++) {
      const cpl_transition* t = &def->modes[k].leave[i];
      if (t->to < 0 || t->to >= def->n_modes || t->stop < 0)
        return cpl_fail_in(ctx, CPL_ERR_INPUT, def->name, NULL, NAN,
                           "mode %s: transition %d has no target mode", def->modes[k].name, i + 1);
    }
  }
  return CPL_OK;
}

// A mode with a variable structure of its own would multiply the structures of the whole.
static cpl_status check_models(cpl_context* ctx, const cpl_modes_def* def) {
  for (int32_t k = 0; k < def->n_modes; k++) {
    if (def->modes[k].model->ops->structure != NULL)
      return cpl_fail_in(
          ctx, CPL_ERR_UNSUPPORTED, def->name, NULL, NAN,
          "mode %s has a variable structure itself: such modes make a stepper, not a "
          "model",
          def->modes[k].name);
  }
  return CPL_OK;
}

static cpl_component* component_of(const cpl_mode* mode, bool is_model) {
  return is_model ? &mode->model->base : &mode->stepper->base;
}

static cpl_status take_members(cpli_modes* m, const cpl_modes_def* def) {
  m->modes = cpli_arena_alloc(&m->arena, (size_t)def->n_modes, sizeof *m->modes);
  if (m->modes == NULL) return cpli_nomem(m->base.base.ctx);
  m->n_modes = def->n_modes;
  bool fine = true;
  for (int32_t k = 0; k < def->n_modes; k++) {
    const cpl_mode* from = &def->modes[k];
    m->modes[k] = (cpli_mode){.name = cpli_arena_strdup(&m->arena, from->name),
                              .c = component_of(from, m->is_model),
                              .make = from->make,
                              .make_model = from->make_model,
                              .user = from->user};
    fine = fine && m->modes[k].name != NULL;
  }
  return fine ? CPL_OK : cpli_nomem(m->base.base.ctx);
}

static cpl_status take_description(cpli_modes* m, const cpl_modes_def* def,
                                   cpli_modes_desc* shared_desc) {
  if (shared_desc != NULL) {
    m->shared_desc = (cpli_modes_desc*)cpli_shared_desc_retain(&shared_desc->base);
    return CPL_OK;
  }
  const cpl_description** descs =
      cpli_arena_alloc(&m->arena, (size_t)def->n_modes, sizeof(cpl_description*));
  if (descs == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t k = 0; k < def->n_modes; k++) descs[k] = m->modes[k].c->desc;
  return cpli_modes_describe(m->base.base.ctx, def, descs, &m->shared_desc);
}

static void destroy_members(const cpl_modes_def* def, bool is_model) {
  for (int32_t k = 0; k < def->n_modes; k++) cpli_discard(component_of(&def->modes[k], is_model));
}

static cpl_status create(cpl_context* ctx, const cpl_modes_def* def, cpli_modes_desc* shared_desc,
                         bool is_model, cpli_modes** out) {
  *out = NULL;
  cpl_status st = check(ctx, def);
  for (int32_t k = 0; k < def->n_modes && st >= 0; k++)
    st = is_model ? cpli_adopt_model(def->modes[k].model)
                  : cpli_adopt_stepper(def->modes[k].stepper);
  if (st >= 0 && is_model) st = check_models(ctx, def);
  cpli_modes* m = st >= 0 ? cpli_alloc(ctx, 1, sizeof *m) : NULL;
  if (m == NULL) {
    destroy_members(def, is_model);
    return st < 0 ? st : cpli_nomem(ctx);
  }
  cpli_arena_init(&m->arena, ctx);
  m->is_model = is_model;
  m->in_switches = m->in_mapping = cpli_stopwatch_begin();
  m->start = m->active = def->start;
  m->tolerance = def->tolerance;
  m->base.base = (cpl_component){.ops = &component_ops[0], .ctx = ctx};
  m->base.base.name = cpli_arena_strdup(&m->arena, def->name);
  st = m->base.base.name == NULL ? cpli_nomem(ctx) : take_members(m, def);
  if (st < 0 && m->modes == NULL) destroy_members(def, is_model);
  if (st >= 0) st = take_description(m, def, shared_desc);
  if (st >= 0) st = cpli_modes_prepare(m, def);
  if (st >= 0) *out = m;
  else destroy(&m->base.base);
  return st;
}

cpl_status cpli_modes_create(cpl_context* ctx, const cpl_modes_def* def,
                             cpli_modes_desc* shared_desc, cpl_stepper** out) {
  cpli_modes* m = NULL;
  cpl_status st = create(ctx, def, shared_desc, false, &m);
  *out = NULL;
  if (st < 0) return st;
  m->base.base.desc = &m->shared_desc->base.desc;
  make_stepper(m);
  *out = &m->base;
  return CPL_OK;
}

cpl_status cpli_modes_create_model(cpl_context* ctx, const cpl_modes_def* def,
                                   cpli_modes_desc* shared_desc, cpl_model** out) {
  cpli_modes* m = NULL;
  cpl_status st = create(ctx, def, shared_desc, true, &m);
  *out = NULL;
  if (st < 0) return st;
  cpli_modes_show_structure(m);
  cpli_modes_make_model(m);
  offer_saving(m);
  *out = &m->model;
  return CPL_OK;
}

void cpl_init_modes_def(cpl_modes_def* def, size_t size) {
  const cpl_modes_def all = {.name = "modes", .tolerance = 1e-6};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_modes(cpl_context* ctx, const cpl_modes_def* given, cpl_stepper** out) {
  *out = NULL;
  cpl_modes_def def = cpl_default_modes_def();
  cpl_status st = cpli_read_def(ctx, "cpl_modes_def", given, &def, sizeof def);
  return st < 0 ? st : cpli_modes_create(ctx, &def, NULL, out);
}

cpl_status cpl_modes_model(cpl_context* ctx, const cpl_modes_def* given, cpl_model** out) {
  *out = NULL;
  cpl_modes_def def = cpl_default_modes_def();
  cpl_status st = cpli_read_def(ctx, "cpl_modes_def", given, &def, sizeof def);
  return st < 0 ? st : cpli_modes_create_model(ctx, &def, NULL, out);
}
