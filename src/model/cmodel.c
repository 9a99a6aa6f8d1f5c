// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Instances of models in C: calls into the model, initialisation (repeated as long as values are
// set) and events. Derivatives, outputs and algebraic
// variables are computed when they are read, and cached until time or a value changes.
#include "model/cmodel_instance.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static cpli_c_instance* self_of(cpl_component* c) { return (cpli_c_instance*)c; }

//------------------------------------ calls ------------------------------------

static void take_report(const cpl_model_host* host, const char* text) {
  cpli_c_instance* in =
      (cpli_c_instance*)((char*)(uintptr_t)host - offsetof(cpli_c_instance, host));
  snprintf(in->message, sizeof in->message, "%s", text);
}

static void run_derivatives(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->derivatives(c->v, c->out);
}
static void run_output_values(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->output_values(c->v, c->out);
}
static void run_indicators(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->indicators(c->v, c->out);
}
static void run_handler(void* user) {
  cpli_c_call* c = user;
  c->result = c->handler(c->v, c->actions);
}
static void run_completed_step(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->completed_step(c->v, c->event);
}
static void run_release(void* user) {
  cpli_c_call* c = user;
  c->def->release(c->v);
}

cpl_status cpli_cmodel_callable(const cpli_c_instance* in, const char* function) {
  cpl_context* ctx = in->base.base.ctx;
  if (cpli_cancelled(ctx)) return cpli_interrupted(ctx, in->base.base.name, in->t);
  if (!in->dead) return CPL_OK;
  return cpl_fail_in(ctx, CPL_ERR_MODEL, in->base.base.name, NULL, in->t,
                     "%s cannot be called any more: the model crashed before", function);
}

cpl_status cpli_cmodel_returned(cpli_c_instance* in, const char* function, const char* crash,
                                int result) {
  cpl_context* ctx = in->base.base.ctx;
  if (crash == NULL && result == CPL_MODEL_OK) return CPL_OK;
  if (crash != NULL) {
    in->dead = true;
    if (cpli_cancelled(ctx))
      return cpli_interrupted_call(ctx, in->base.base.name, function, in->t, crash);
    return cpl_fail_in(ctx, CPL_ERR_MODEL, in->base.base.name, NULL, in->t, "%s at t=%.12g %s (%s)",
                       function, in->t, in->cm->host.verb(crash), crash);
  }
  cpl_status st = result > 0 ? CPL_RETRY : CPL_ERR_MODEL;
  cpl_fail_in(ctx, st, in->base.base.name, NULL, in->t, "%s at t=%.12g failed%s%s", function, in->t,
              in->message[0] != '\0' ? ": " : "", in->message);
  in->message[0] = '\0';
  return st;
}

// Calls a function of the model through `run`. After a crash it is not called again.
cpl_status cpli_cmodel_invoke(cpli_c_instance* in, const char* function, void (*run)(void*),
                              cpli_c_call* c) {
  const char* crash = NULL;
  cpl_status known = run != run_release ? cpli_cmodel_callable(in, function) : CPL_OK;
  if (known == CPL_OK && !c->early) known = cpli_cmodel_need_algebraics(in);
  if (known != CPL_OK) return known;
  c->def = in->cm->def;
  in->values.t = in->t;
  c->v = &in->values;
  c->result = CPL_MODEL_OK;
  if (in->cm->host.call != NULL) crash = in->cm->host.call(function, run, c);
  else run(c);
  return cpli_cmodel_returned(in, function, crash, c->result);
}

//------------------------------------ initialisation ------------------------------------

static void release(cpli_c_instance* in) {
  if (!in->initialized) return;
  in->initialized = false;
  if (in->cm->def->release != NULL && !in->dead)
    cpli_cmodel_invoke(in, "release", run_release, &(cpli_c_call){.early = true});
}

cpl_status cpli_cmodel_set_text(cpli_c_instance* in, uint32_t i, const char* text) {
  char* copy = cpli_strdup(in->base.base.ctx, text != NULL ? text : "");
  if (copy == NULL) return cpli_nomem(in->base.base.ctx);
  cpli_free(in->base.base.ctx, in->text[i]);
  in->text[i] = copy;
  return CPL_OK;
}

// An Integer or an item of an Enumeration has the same value for the model and for those who read
// it: a fraction is refused rather than rounded. Booleans are true where they are not zero.
static cpl_status check_whole(const cpli_c_instance* in, uint32_t ref) {
  const cpl_variable* var = &in->cm->desc.vars[ref];  // in the order of the layout
  double value = in->v[ref];
  bool whole = fabs(value) <= 0x1p53 && value == floor(value);
  if (var->type == CPL_REAL || whole || (var->type == CPL_BOOLEAN && !isnan(value))) return CPL_OK;
  return cpl_fail_in(in->base.base.ctx, CPL_ERR_MODEL, in->base.base.name, var->name, in->t,
                     "%s is %s and cannot be %.12g, to which the model sets it at t=%.12g",
                     var->name, var->type == CPL_BOOLEAN ? "a Boolean" : "an Integer", value,
                     in->t);
}

// Runs an event handler. It gets pointers to the Strings in an array of its own; the Strings it
// sets are copied.
static cpl_status call_handler(cpli_c_instance* in, const char* function,
                               int (*handler)(const cpl_values*, cpl_event_actions*),
                               cpl_event_actions* a) {
  const cpli_layout* at = &in->cm->at;
  a->x = in->v + at->x;
  a->w = in->v + at->w;
  a->s = in->lent;
  for (uint32_t i = 0; i < at->ns; i++) in->lent[i] = in->text[i];
  cpli_c_call call = {.handler = handler, .actions = a, .early = in->phase == IN_INIT};
  cpl_status st = cpli_cmodel_invoke(in, function, run_handler, &call);
  for (uint32_t i = 0; i < at->ns && st == CPL_OK; i++) {
    if (in->lent[i] != in->text[i]) st = cpli_cmodel_set_text(in, i, in->lent[i]);
  }
  for (uint32_t i = 0; i < at->nw && st == CPL_OK; i++) st = check_whole(in, at->w + i);
  cpli_cmodel_forget_results(in);
  return st;
}

// Between enter_init and exit_init everything may still change, so this is repeated after every
// change.
cpl_status cpli_cmodel_initialize_now(cpli_c_instance* in) {
  const cpl_model_def* def = in->cm->def;
  const cpli_layout* at = &in->cm->at;
  memcpy(in->v + at->x, in->start, at->nx * sizeof(double));
  memcpy(in->v + at->w, in->start + at->nx, at->nw * sizeof(double));
  memcpy(in->v + at->a, in->start + at->nx + at->nw, at->na * sizeof(double));
  memcpy(in->guess, in->v + at->a, at->na * sizeof(double));
  memset(in->memory, 0, def->memory_size);
  memset(in->crossed, 0, at->nz);
  in->next_time = INFINITY;
  in->initialized = true;
  cpli_cmodel_forget_results(in);
  if (def->initialize == NULL) return CPL_OK;
  cpl_event_actions a = {.crossed = in->crossed, .next_time = INFINITY};
  cpl_status st = call_handler(in, "initialize", def->initialize, &a);
  in->next_time = a.next_time;
  return st;
}

//------------------------------------ evaluation ------------------------------------

static cpl_status need_derivatives(cpli_c_instance* in) {
  const cpli_layout* at = &in->cm->at;
  cpl_status st = cpli_cmodel_initialize(in);
  if (st < 0 || in->dx_known || at->nx == 0) return st;
  st =
      cpli_cmodel_invoke(in, "derivatives", run_derivatives, &(cpli_c_call){.out = in->v + at->dx});
  in->dx_known = st == CPL_OK;
  return st;
}

static cpl_status need_outputs(cpli_c_instance* in) {
  const cpli_layout* at = &in->cm->at;
  cpl_status st = cpli_cmodel_initialize(in);
  if (st < 0 || in->y_known || at->ny == 0) return st;
  bool hold = in->cm->any_discrete_output && in->phase == IN_CONTINUOUS;
  double* y = hold ? in->fresh_y : in->v + at->y;
  st = cpli_cmodel_invoke(in, "output_values", run_output_values, &(cpli_c_call){.out = y});
  if (st != CPL_OK) return st;
  if (hold) cpli_cmodel_hold_discrete(in);
  in->y_known = true;
  return CPL_OK;
}

static cpl_status evaluate_indicators(cpli_c_instance* in, double* z) {
  if (in->cm->at.nz == 0) return CPL_OK;
  return cpli_cmodel_invoke(in, "indicators", run_indicators, &(cpli_c_call){.out = z});
}

//------------------------------------ values ------------------------------------

// What has to be computed for a reference: derivatives, outputs, algebraic variables or nothing.
static cpl_status need(cpli_c_instance* in, uint32_t ref) {
  const cpli_layout* at = &in->cm->at;
  if (ref >= at->n) {
    return cpl_fail_in(in->base.base.ctx, CPL_ERR_INPUT, in->base.base.name, NULL, in->t,
                       "there is no value reference %u", (unsigned)ref);
  }
  if (ref >= at->g) return cpli_cmodel_need_residuals(in);
  if (ref >= at->a) return cpli_cmodel_need_algebraics(in);
  if (ref >= at->y) return need_outputs(in);
  if (ref >= at->dx) return need_derivatives(in);
  return cpli_cmodel_initialize(in);
}

// Copies values up to the first one that may not be known, and returns where that is.
static size_t copy_known(const cpli_c_instance* in, const uint32_t* refs, size_t n, size_t i,
                         double* values) {
  const uint32_t dx = in->cm->at.dx, y = in->cm->at.y, a = in->cm->at.a;
  const double* v = in->v;
  for (; i < n; i++) {
    const uint32_t ref = refs[i];
    if (ref >= dx && !(ref < y ? in->dx_known : in->y_known && ref < a)) break;
    values[i] = v[ref];
  }
  return i;
}

// Values of a kind are computed where the first of them is read.
static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  cpli_c_instance* in = self_of(c);
  cpl_status st = cpli_cmodel_initialize(in);
  if (st != CPL_OK) return st;
  for (size_t i = copy_known(in, refs, n, 0, values); i < n;) {
    st = need(in, refs[i]);
    if (st != CPL_OK) return st;
    values[i] = in->v[refs[i]];
    i = copy_known(in, refs, n, i + 1, values);
  }
  return CPL_OK;
}

static void changed(cpli_c_instance* in) {
  cpli_cmodel_forget_results(in);
  if (in->phase == IN_INIT) release(in);
}

static cpl_status set_number(cpli_c_instance* in, uint32_t ref, double value) {
  const cpli_layout* at = &in->cm->at;
  bool algebraic = ref >= at->a && ref < at->g;  // a guess, or the solver's value
  if (ref >= at->dx && !(algebraic && (in->phase <= IN_INIT || in->as_residuals || in->a_given))) {
    return cpl_fail_in(in->base.base.ctx, CPL_ERR_INPUT, in->base.base.name, NULL, in->t,
                       "value reference %u cannot be set", (unsigned)ref);
  }
  in->v[ref] = value;
  if (in->phase <= IN_INIT) {  // start values, before initialize changes them
    if (algebraic) in->start[at->nx + at->nw + ref - at->a] = value;
    else if (ref >= at->x) in->start[ref - at->x] = value;
    else if (ref >= at->w && ref < at->u) in->start[at->nx + ref - at->w] = value;
  }
  return CPL_OK;
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpli_c_instance* in = self_of(c);
  if (in->phase > IN_INIT) {  // the fast path of every evaluation: only values change
    uint32_t end = in->cm->at.dx;
    for (size_t i = 0; i < n; i++) {
      cpl_status st = CPL_OK;
      if (refs[i] >= end) st = set_number(in, refs[i], values[i]);  // reports the error
      else in->v[refs[i]] = values[i];
      if (st < 0) return st;
    }
    cpli_cmodel_forget_results(in);
    return CPL_OK;
  }
  for (size_t i = 0; i < n; i++) {
    cpl_status st = set_number(in, refs[i], values[i]);
    if (st < 0) return st;
  }
  changed(in);
  return CPL_OK;
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  cpli_c_instance* in = self_of(c);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    st = need(in, refs[i]);
    if (st != CPL_OK) break;
    double value = in->v[refs[i]];
    st = check_whole(in, refs[i]);
    if (st == CPL_OK) values[i] = type == CPL_BOOLEAN ? value != 0 : (int64_t)value;
  }
  return st;
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpli_c_instance* in = self_of(c);
  for (size_t i = 0; i < n; i++) {
    double value = type == CPL_BOOLEAN ? (values[i] != 0) : (double)values[i];
    cpl_status st = set_number(in, refs[i], value);
    if (st < 0) return st;
  }
  changed(in);
  return CPL_OK;
}

static cpl_status check_string_refs(cpli_c_instance* in, const uint32_t* refs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (refs[i] >= in->cm->at.ns) {
      return cpl_fail_in(in->base.base.ctx, CPL_ERR_INPUT, in->base.base.name, NULL, in->t,
                         "there is no String reference %u", (unsigned)refs[i]);
    }
  }
  return CPL_OK;
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  cpli_c_instance* in = self_of(c);
  cpl_status st = check_string_refs(in, refs, n);
  if (st >= 0) st = cpli_cmodel_initialize(in);
  for (size_t i = 0; i < n && st >= 0; i++) values[i] = in->text[refs[i]];
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpli_c_instance* in = self_of(c);
  cpl_status st = check_string_refs(in, refs, n);
  for (size_t i = 0; i < n && st >= 0; i++) st = cpli_cmodel_set_text(in, refs[i], values[i]);
  changed(in);
  return st;
}

//------------------------------------ life ------------------------------------

static cpl_status reset(cpl_component* c) {
  cpli_c_instance* in = self_of(c);
  const cpl_description* d = c->desc;
  release(in);
  memset(in->v, 0, in->cm->at.n * sizeof(double));
  if (in->d != NULL) memset(in->d, 0, in->cm->at.n * sizeof(double));  // after a crash
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* var = &d->vars[i];
    if (var->type == CPL_STRING) {
      cpl_status st = cpli_cmodel_set_text(in, var->ref, var->start_text);
      if (st < 0) return st;
    } else if (var->has_start) {
      in->v[var->ref] = var->start;
    }
  }
  const cpli_layout* at = &in->cm->at;
  memcpy(in->start, in->v + at->x, at->nx * sizeof(double));
  memcpy(in->start + at->nx, in->v + at->w, at->nw * sizeof(double));
  memcpy(in->start + at->nx + at->nw, in->v + at->a, at->na * sizeof(double));
  in->phase = BEFORE_INIT;
  in->dead = in->algebra.ready = false;
  in->t = 0;
  cpli_cmodel_forget_results(in);
  return CPL_OK;
}

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  self_of(c)->t = s->start_time;
  return CPL_OK;
}

static cpl_status enter_init(cpl_component* c) {
  self_of(c)->phase = IN_INIT;
  return CPL_OK;
}

// After an event there is no preceding step.
static void remember_sides(cpli_c_instance* in) {
  for (uint32_t i = 0; i < in->cm->at.nz; i++) in->positive[i] = in->recent[i] = in->z[i] > 0;
  in->recent_time = in->t;
}

// Signs are compared with those before the last step, not with those after the last event: some
// importers make no event of an indicator that leaves zero right after one.
static void let_sides_pass(cpli_c_instance* in) {
  if (in->t > in->recent_time) memcpy(in->positive, in->recent, in->cm->at.nz * sizeof(bool));
}

static cpl_status exit_init(cpl_component* c) {
  cpli_c_instance* in = self_of(c);
  cpl_status st = cpli_cmodel_initialize(in);
  if (st < 0) return st;
  st = need_outputs(in);  // discrete outputs get their first value
  if (st >= 0) st = cpli_cmodel_need_algebraics(in);
  if (st < 0) return st;
  cpli_cmodel_keep_algebraics(in);
  in->phase = IN_EVENT;
  st = evaluate_indicators(in, in->z);
  remember_sides(in);
  return st;
}

static cpl_status terminate(cpl_component* c) {
  (void)c;
  return CPL_OK;
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_c_instance* in = self_of(c);
  cpl_context* ctx = c->ctx;
  release(in);
  for (uint32_t i = 0; in->text != NULL && i < in->cm->at.ns; i++) cpli_free(ctx, in->text[i]);
  cpli_free(ctx, in->text);
  cpli_free(ctx, in->lent);
  cpli_free(ctx, in->positive);
  cpli_free(ctx, in->crossed);
  cpli_cmodel_residual_free(in);
  cpli_free(ctx, in->memory);
  cpli_serial_free(ctx, &in->bytes);
  cpli_free(ctx, in->name);
  cpli_free(ctx, in);
}

//------------------------------------ model ------------------------------------

static cpl_status enter_event(cpl_model* m) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  in->phase = IN_EVENT;
  cpli_cmodel_forget_results(in);
  return CPL_OK;
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  const cpli_layout* at = &in->cm->at;
  const cpl_model_def* def = in->cm->def;
  double* x_before = in->start;  // unused after initialisation

  // indicators that changed their sign in the preceding step
  cpl_status st = evaluate_indicators(in, in->z);
  if (st != CPL_OK) return st;
  let_sides_pass(in);
  for (uint32_t i = 0; i < at->nz; i++) {
    bool now = in->z[i] > 0;
    in->crossed[i] = (int8_t)(now == in->positive[i] ? 0 : now ? 1 : -1);
  }

  // the handler
  cpl_event_actions a = {.crossed = in->crossed,
                         .time_event = in->t >= in->next_time,
                         .next_time = in->t >= in->next_time ? INFINITY : in->next_time};
  memcpy(x_before, in->v + at->x, at->nx * sizeof(double));
  if (def->event != NULL) st = call_handler(in, "event", def->event, &a);
  if (st != CPL_OK) return st;
  in->next_time = a.next_time;
  if (!(in->next_time > in->t)) {
    return cpl_fail_in(m->base.ctx, CPL_ERR_MODEL, m->base.name, NULL, in->t,
                       "event at t=%.17g asks for a time event at %.17g, which is not later", in->t,
                       in->next_time);
  }

  // the new reference values
  cpli_cmodel_forget_results(in);
  st = need_outputs(in);
  if (st == CPL_OK) st = cpli_cmodel_need_algebraics(in);
  if (st == CPL_OK) st = evaluate_indicators(in, in->z);
  if (st != CPL_OK) return st;
  cpli_cmodel_keep_algebraics(in);
  remember_sides(in);
  *info = (cpl_event_info){
      .again = a.again,
      .terminate = a.terminate,
      .states_changed = memcmp(x_before, in->v + at->x, at->nx * sizeof(double)) != 0,
      .next_time = in->next_time};
  return CPL_OK;
}

static cpl_status enter_continuous(cpl_model* m) {
  ((cpli_c_instance*)m)->phase = IN_CONTINUOUS;
  return CPL_OK;
}

static cpl_status set_time(cpl_model* m, double t) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  if (t != in->t) cpli_cmodel_forget_results(in);
  in->t = t;
  return CPL_OK;
}

static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  const cpli_layout* at = &in->cm->at;
  memcpy(in->v + at->x, x, at->nx * sizeof(double));
  cpli_cmodel_forget_results(in);
  return CPL_OK;
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  const cpli_layout* at = &in->cm->at;
  cpl_status st = cpli_cmodel_initialize(in);
  memcpy(x, in->v + at->x, at->nx * sizeof(double));
  return st;
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  const cpl_description* d = m->base.desc;
  for (int32_t i = 0; i < d->n_states; i++) nominals[i] = d->vars[d->states[i]].nominal;
  return CPL_OK;
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  const cpli_layout* at = &in->cm->at;
  cpl_status st = need_derivatives(in);
  memcpy(dx, in->v + at->dx, at->nx * sizeof(double));
  return st;
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  cpl_status st = cpli_cmodel_initialize((cpli_c_instance*)m);
  return st < 0 ? st : evaluate_indicators((cpli_c_instance*)m, z);
}

static cpl_status completed_step(cpl_model* m, bool* event, bool* end) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  *event = *end = false;
  cpl_status st = cpli_cmodel_need_algebraics(in);
  if (st == CPL_OK) st = evaluate_indicators(in, in->z);
  if (st != CPL_OK) return st;
  cpli_cmodel_keep_algebraics(in);
  let_sides_pass(in);
  for (uint32_t i = 0; i < in->cm->at.nz; i++) in->recent[i] = in->z[i] > 0;
  in->recent_time = in->t;
  if (in->cm->def->completed_step == NULL) return CPL_OK;
  return cpli_cmodel_invoke(in, "completed_step", run_completed_step,
                            &(cpli_c_call){.event = event});
}

double cpli_cmodel_next_time(const cpl_model* m) { return ((const cpli_c_instance*)m)->next_time; }

//------------------------------------ instance ------------------------------------

#define COMMON_OPS                                                                          \
  .size = sizeof(cpl_component_ops), .kind = "c", .destroy = destroy, .setup = setup,       \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset, \
  .get_real = get_real, .set_real = set_real, .get_integer = get_integer,                   \
  .set_integer = set_integer, .get_string = get_string, .set_string = set_string,           \
  .save = cpli_cmodel_save, .restore = cpli_cmodel_restore, .forget = cpli_cmodel_forget

#define BYTES_OPS .serialize = cpli_cmodel_to_bytes, .deserialize = cpli_cmodel_from_bytes

static const cpl_component_ops component_ops[2][2] = {
    // [states can become bytes][has directional derivatives]
    {{COMMON_OPS}, {COMMON_OPS, .directional = cpli_cmodel_directional}},
    {{COMMON_OPS, BYTES_OPS}, {COMMON_OPS, BYTES_OPS, .directional = cpli_cmodel_directional}},
};

#define MODEL_OPS                                                                             \
  .size = sizeof(cpl_model_ops), .enter_event = enter_event, .event_update = event_update,    \
  .enter_continuous = enter_continuous, .set_time = set_time, .set_states = set_states,       \
  .get_states = get_states, .get_nominals = get_nominals, .get_derivatives = get_derivatives, \
  .get_indicators = get_indicators, .completed_step = completed_step,                         \
  .evaluate = cpli_cmodel_evaluate

static const cpl_model_ops model_ops[2] = {  // [has directional derivatives]
    {MODEL_OPS},
    {MODEL_OPS, .directions = cpli_cmodel_directions}};

static size_t n_numbers(const cpli_cmodel* cm) {
  const cpli_layout* at = &cm->at;
  return (size_t)at->n + cpli_cmodel_n_start(at) + 2 * (size_t)at->na + at->ny + at->nz +
         cpli_cmodel_n_directional(cm);
}

static bool allocate(cpli_c_instance* in, cpl_context* ctx) {
  const cpli_layout* at = &in->cm->at;
  in->positive = cpli_alloc(ctx, 2 * (size_t)at->nz, sizeof(bool));
  in->crossed = cpli_alloc(ctx, at->nz, 1);
  in->text = cpli_alloc(ctx, at->ns, sizeof *in->text);
  in->lent = cpli_alloc(ctx, at->ns, sizeof *in->lent);
  in->memory = cpli_alloc(ctx, cpli_cmodel_memory_size(in->cm), 1);
  if (in->positive == NULL || in->crossed == NULL || in->text == NULL || in->lent == NULL ||
      in->memory == NULL)
    return false;
  in->recent = in->positive + at->nz;
  in->start = in->v + at->n;
  in->guess = in->start + cpli_cmodel_n_start(at);
  in->sought = in->guess + at->na;
  in->fresh_y = in->sought + at->na;
  in->z = in->fresh_y + at->ny;
  cpli_cmodel_place_directional(in, in->z + at->nz);
  in->values = (cpl_values){.x = in->v + at->x,
                            .u = in->v + at->u,
                            .p = in->v + at->p,
                            .w = in->v + at->w,
                            .s = (const char* const*)in->text,
                            .memory = in->memory,
                            .host = &in->host,
                            .z = in->v + at->a,
                            .user = in->cm->host.user};
  return true;
}

cpl_status cpli_cmodel_instance(const cpli_cmodel* cm, cpl_context* ctx, const char* name,
                                cpl_model** out) {
  *out = NULL;
  cpli_c_instance* in = cpli_alloc(ctx, 1, sizeof *in + n_numbers(cm) * sizeof *in->numbers);
  if (in == NULL) return cpli_nomem(ctx);
  in->v = in->numbers;
  bool has_directional = cm->has_directional;
  bool to_bytes = cm->def->release == NULL;  // otherwise its memory has pointers
  bool wants_steps =
      cm->def->completed_step != NULL || cm->at.na > 0 || (cm->at.nz > 0 && cm->def->event != NULL);
  in->cm = cm;
  in->host.report = take_report;
  in->name = cpli_strdup(ctx, name);
  in->base =
      (cpl_model){.base = {.ops = &component_ops[to_bytes][has_directional],
                           .desc = &cm->desc,
                           .ctx = ctx,
                           .name = in->name,
                           .can = {.directional = has_directional,
                                   .parameter_directions = cm->covers_all ? 2 : 0,
                                   .save_restore = true,
                                   .serialize = to_bytes,
                                   .completed_step = wants_steps,
                                   // all instances share what the program has given
                                   .own_thread = cm->host.user != NULL || cm->host.shares_data}},
                  .ops = &in->ops};
  in->ops = model_ops[has_directional];
  if (cm->at.na > 0) in->ops.evaluate = NULL, in->ops.directions = NULL;
  cpli_cmodel_constraint_ops(cm->def, &in->ops);
  cpl_status st = CPL_OK;
  // one table for all of them stays in the cache
  if (cm->def->n_constraints == 0 && cm->at.na == 0) in->base.ops = &model_ops[has_directional];
  if (in->name == NULL || !allocate(in, ctx)) st = cpli_nomem(ctx);
  if (st >= 0) st = cpli_cmodel_residual_ops(in, ctx);
  if (st >= 0) st = reset(&in->base.base);
  if (st < 0) {
    destroy(&in->base.base);
    return st;
  }
  *out = &in->base;
  return CPL_OK;
}
