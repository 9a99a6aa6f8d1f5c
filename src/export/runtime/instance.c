// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Instances of an exported FMU, independent of the version of FMI: creation, the states of the life
// cycle and the functions they permit, log categories and messages. In sources for model exchange,
// stubs at the end of the file replace co-simulation.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/runtime/fmu.h"

static const char* const categories[FMU_LOGS] = {
    [FMU_LOG_EVENTS] = "logEvents",
    [FMU_LOG_WARNING] = "logStatusWarning",
    [FMU_LOG_DISCARD] = "logStatusDiscard",
    [FMU_LOG_ERROR] = "logStatusError",
    [FMU_LOG_ALL] = "logAll",
};

//------------------------------------ messages ------------------------------------

void fmu_log(fmu* f, fmu_status status, int category, const char* fmt, ...) {
  char text[2048];
  va_list args;
  // errors are reported even when logging is off
  if (status < FMU_ERROR && !f->log_on[category]) return;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  f->host.send(&f->host, f->name, status, categories[category], text);
}

fmu_status fmu_refuse(fmu* f, const char* function, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  fmu_log(f, FMU_ERROR, FMU_LOG_ERROR, "%s: %s", function, text);
  return FMU_ERROR;
}

static_assert(FMU_ANY == 2 * FMU_INTERMEDIATE - 1, "each state of an instance is one bit");

fmu_status fmu_result(fmu* f, const char* function, cpl_status st) {
  if (st == CPL_RETRY) {
    fmu_log(f, FMU_DISCARD, FMU_LOG_DISCARD, "%s: %s", function, cpl_context_error(f->ctx));
    return FMU_DISCARD;
  }
  if (st >= 0) return FMU_OK;
  fmu_log(f, FMU_ERROR, FMU_LOG_ERROR, "%s: %s", function, cpl_context_error(f->ctx));
  if (st != CPL_ERR_INPUT) f->state = FMU_FAILED;
  return FMU_ERROR;
}

// Passes messages of the content to the importer, with the name of the part that they are of.
static void forward(void* user, cpl_log_level level, const char* who, const char* text) {
  fmu* f = user;
  bool own = who == NULL || who[0] == '\0' || strcmp(who, f->name) == 0;
  const char *part = own ? "" : who, *mark = own ? "" : ": ";
  switch (level) {
    case CPL_LOG_ERROR: fmu_log(f, FMU_ERROR, FMU_LOG_ERROR, "%s%s%s", part, mark, text); break;
    case CPL_LOG_WARNING:
      fmu_log(f, FMU_WARNING, FMU_LOG_WARNING, "%s%s%s", part, mark, text);
      break;
    default: fmu_log(f, FMU_OK, FMU_LOG_ALL, "%s%s%s", part, mark, text); break;
  }
}

static const char* state_name(unsigned state) {
  switch (state) {
    case FMU_INSTANTIATED: return "before initialization";
    case FMU_INITIALIZING: return "in Initialization Mode";
    case FMU_EVENT: return "in Event Mode";
    case FMU_CONTINUOUS: return "in Continuous-Time Mode";
    case FMU_STEPPED: return "after a completed step";
    case FMU_STEP_FAILED: return "after a discarded step";
    case FMU_TERMINATED: return "after termination";
    case FMU_INTERMEDIATE: return "while the importer looks into a step";
    default: return "after an error";
  }
}

fmu* fmu_enter(void* c, const char* function, unsigned states) {
  fmu* f = c;
  if (f == NULL) return NULL;
  if ((f->state & states) != 0) return f;
  fmu_refuse(f, function, "this function must not be called %s", state_name(f->state));
  return NULL;
}

cpl_component* fmu_component(const fmu* f) {
  if (f->stepper != NULL) return &f->stepper->base;
  return f->model != NULL ? &f->model->base : NULL;
}

fmu* fmu_enter_kind(void* c, const char* function, unsigned states, bool stepping) {
  fmu* f = fmu_enter(c, function, states);
  if (f == NULL || f->stepping == stepping) return f;
  fmu_refuse(f, function, "the instance is not for %s",
             stepping ? "co-simulation" : "model exchange");
  return NULL;
}

fmu_status fmu_set_logging(fmu* f, const char* function, bool on, size_t n,
                           const char* const names[]) {
  fmu_status result = FMU_OK;
  for (int k = 0; k < FMU_LOGS; k++) {
    if (n == 0 || !on) f->log_on[k] = on;
  }
  for (size_t i = 0; on && i < n; i++) {
    int k = 0;
    while (k < FMU_LOGS && (names[i] == NULL || strcmp(names[i], categories[k]) != 0)) k++;
    if (k == FMU_LOGS) {
      result = FMU_WARNING;
      fmu_log(f, result, FMU_LOG_WARNING, "%s: there is no category \"%s\"", function,
              names[i] != NULL ? names[i] : "");
    } else if (k == FMU_LOG_ALL) {
      for (int all = 0; all < FMU_LOGS; all++) f->log_on[all] = true;
    } else {
      f->log_on[k] = true;
    }
  }
  return result;
}

//------------------------------------ the component ------------------------------------

static void destroy_part(fmu* f, fmu_part* part) {
  if (part->stepper != NULL) part->stepper->base.ops->destroy(&part->stepper->base);
  if (part->model != NULL) part->model->base.ops->destroy(&part->model->base);
  cpli_free(f->ctx, part);
}

// Parts that are not used and have no saved states go.
static void tidy(fmu* f) {
  for (fmu_part** at = f->part != NULL ? &f->part->next : &f->part; *at != NULL;) {
    fmu_part* part = *at;
    if (part->n_states > 0) {
      at = &part->next;
      continue;
    }
    *at = part->next;
    destroy_part(f, part);
  }
}

void fmu_release(fmu* f, fmu_part* part) {
  part->n_states--;
  tidy(f);
}

void fmu_use(fmu* f, fmu_part* part) {
  for (fmu_part** at = &f->part; *at != NULL; at = &(*at)->next) {
    if (*at != part) continue;
    *at = part->next;
    break;
  }
  part->next = f->part;
  f->part = part;
  f->model = part->model;
  f->stepper = part->stepper;
  tidy(f);
}

static double tolerance_of(const fmu* f) { return f->setup.has_tolerance ? f->setup.tolerance : 0; }

// The model turns to the form with residuals before it is set up.
static cpl_status make_model(fmu* f, fmu_part* part) {
  const cpl_source_ops* ops = f->content.source->ops;
  size_t n;
  cpl_status st = ops->make_model(f->content.source, f->name, &part->model);
  if (st < 0 || !f->dae || part->model->ops->dae == NULL) return st;
  return part->model->ops->dae->use_residuals(part->model, &n);
}

cpl_status fmu_remake(fmu* f) {
  // what may exist only once in a process is gone before the next one is made
  f->model = NULL;
  f->stepper = NULL;
  if (f->part != NULL && f->part->n_states == 0) {
    fmu_part* old = f->part;
    f->part = old->next;
    destroy_part(f, old);
  }
  if (f->nu > 0) {
    memset(f->has_curve, 0, f->nu * sizeof *f->has_curve);
    memset(f->has_slope, 0, f->nu * sizeof *f->has_slope);
  }
  fmu_part* part = cpli_alloc(f->ctx, 1, sizeof *part);
  if (part == NULL) return cpli_nomem(f->ctx);
  part->rtol = tolerance_of(f);
  part->dae = f->dae;
  cpl_status st = f->stepping
                      ? fmu_content_stepper(&f->content, f->name, part->rtol, &part->stepper)
                      : make_model(f, part);
  if (st < 0) {
    destroy_part(f, part);
    return st;
  }
  fmu_use(f, part);
  return fmu_set_start(f);
}

//------------------------------------ tables ------------------------------------

static bool is_continuous_input(const cpl_variable* v) {
  return v->type == CPL_REAL && v->causality == CPL_CAUSALITY_INPUT &&
         v->variability == CPL_VARIABILITY_CONTINUOUS;
}

static void fill_references(fmu* f) {
  const cpl_description* d = f->desc;
  for (uint32_t i = 0; i < f->refs3.n_numbers; i++) f->number_of_ref[i] = -1;
  for (uint32_t i = 0; i < f->refs3.n_strings; i++) f->string_of_ref[i] = -1;
  for (int32_t i = d->n_vars - 1; i >= 0; i--) {  // the first of variables that share one
    const cpl_variable* v = &d->vars[i];
    (v->type == CPL_STRING ? f->string_of_ref : f->number_of_ref)[v->ref] = i;
    if (v->type != CPL_STRING) f->kind_of_ref[v->ref] = fmu_kind_of(v);
  }
  cpli_extents3(d, f->extent);
}

static void fill_roles(fmu* f) {
  const cpl_description* d = f->desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    f->roles[i] = (fmu_role){.input = -1, .derivative = -1};
    cpli_standing standing = cpli_standing_of(v);
    f->roles[i].start = standing.has_start && standing.variability != CPL_VARIABILITY_CONSTANT;
    f->roles[i].known = v->type == CPL_REAL && v->causality == CPL_CAUSALITY_INPUT;
    if (!is_continuous_input(v)) continue;
    f->roles[i].input = (int32_t)f->nu;
    f->input_refs[f->nu++] = v->ref;
  }
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] < 0) continue;
    f->roles[d->states[k]].derivative = d->derivatives[k];
    f->roles[d->states[k]].known = true;
  }
  for (int32_t k = 0; k < d->n_algebraics; k++)
    if (d->algebraics[k] >= 0) f->roles[d->algebraics[k]].algebraic = true;
  for (int32_t i = 0; i < d->n_vars; i++) {
    int32_t first = d->vars[i].alias_of;
    if (first >= 0 && d->vars[i].type == CPL_REAL)
      f->roles[i].derivative = f->roles[first].derivative;
  }
}

static cpl_status make_tables(fmu* f) {
  size_t n = (size_t)f->desc->n_vars, nu = 0;
  for (size_t i = 0; i < n; i++) nu += is_continuous_input(&f->desc->vars[i]);
  f->refs3 = cpli_refs3_of(f->desc, f->content.source->ops->make_model != NULL);
  f->number_of_ref = cpli_alloc(f->ctx, f->refs3.n_numbers, sizeof *f->number_of_ref);
  f->kind_of_ref = cpli_alloc(f->ctx, f->refs3.n_numbers, sizeof *f->kind_of_ref);
  f->string_of_ref = cpli_alloc(f->ctx, f->refs3.n_strings, sizeof *f->string_of_ref);
  f->extent = cpli_alloc(f->ctx, n, sizeof *f->extent);
  f->roles = cpli_alloc(f->ctx, n, sizeof *f->roles);
  f->input_refs = cpli_alloc(f->ctx, nu, sizeof *f->input_refs);
  f->input_values = cpli_alloc(f->ctx, nu, sizeof *f->input_values);
  f->input_derivatives = cpli_alloc(f->ctx, FMU_ORDERS * nu, sizeof *f->input_derivatives);
  f->has_curve = cpli_alloc(f->ctx, nu, sizeof *f->has_curve);
  f->has_slope = cpli_alloc(f->ctx, nu, sizeof *f->has_slope);
  f->indicators = cpli_alloc(f->ctx, f->refs3.n_indicators, sizeof *f->indicators);
  if (f->number_of_ref == NULL || f->string_of_ref == NULL || f->extent == NULL ||
      f->roles == NULL || f->input_refs == NULL || f->input_values == NULL ||
      f->input_derivatives == NULL || f->has_curve == NULL || f->has_slope == NULL ||
      f->indicators == NULL || f->kind_of_ref == NULL)
    return cpli_nomem(f->ctx);
  fill_references(f);
  fill_roles(f);
  return CPL_OK;
}

//------------------------------------ making ------------------------------------

void fmu_destroy(fmu* f) {
  if (f == NULL) return;
  if (f->ctx != NULL) {
    fmu_orphan_states(f);
    while (f->part != NULL) {
      fmu_part* part = f->part;
      f->part = part->next;
      destroy_part(f, part);
    }
    fmu_content_close(&f->content);
    void* const tables[] = {f->number_of_ref, f->string_of_ref,     f->extent,    f->roles,
                            f->input_refs,    f->input_derivatives, f->has_curve, f->has_slope,
                            f->input_values,  f->indicators,        f->scratch,   f->start,
                            f->slopes,        f->kind_of_ref};
    for (size_t i = 0; i < CPLI_COUNT(tables); i++) cpli_free(f->ctx, tables[i]);
    cpl_context_destroy(f->ctx);
  }
  free(f->name);
  free(f);
}

static cpl_status prepare(fmu* f, const fmu_birth* birth) {
  cpl_status st = fmu_content_open(f->ctx, birth->resources, &f->content);
  if (st < 0) return st;
  f->desc = f->content.source->desc;
  if (birth->guid == NULL || strcmp(birth->guid, f->content.guid) != 0)
    return cpl_fail(f->ctx, CPL_ERR_INPUT,
                    "the GUID is not the one of this FMU: the model description belongs to another "
                    "binary");
  if (!f->stepping && f->content.source->ops->make_model == NULL)
    return cpl_fail(f->ctx, CPL_ERR_UNSUPPORTED, "the FMU is for co-simulation only");
  st = make_tables(f);
  return st < 0 ? st : fmu_remake(f);
}

static const char* why_not(const fmu_birth* birth) {
  if (birth->name == NULL || birth->name[0] == '\0') return "the instance has no name";
#ifndef CPL_FMU_CO_SIMULATION
  if (birth->stepping) return "the sources are for model exchange only";
#endif
  return NULL;
}

static fmu* not_created(const fmu_birth* birth, const fmu_host* host, const char* why) {
  char text[1024];
  snprintf(text, sizeof text, "%s: %s", birth->function, why);
  host->send(host, birth->name != NULL ? birth->name : "", FMU_ERROR, categories[FMU_LOG_ERROR],
             text);
  return NULL;
}

fmu* fmu_create(const fmu_birth* birth, const fmu_host* host) {
  const char* reason = why_not(birth);
  if (reason != NULL) return not_created(birth, host, reason);
  fmu* f = calloc(1, sizeof *f);
  if (f == NULL) return not_created(birth, host, "out of memory");
  f->stepping = birth->stepping;
  f->host = *host;
  f->state = FMU_INSTANTIATED;
  f->next_time = INFINITY;
  f->setup.size = sizeof f->setup;
  for (int k = 0; k < FMU_LOGS; k++) f->log_on[k] = birth->logging;
  f->name = malloc(strlen(birth->name) + 1);
  if (f->name != NULL) strcpy(f->name, birth->name);
  cpl_context_def def = cpl_default_context_def();
  def.log = forward;
  def.user = f;
  f->ctx = f->name != NULL ? cpl_context_create(&def) : NULL;
  cpl_status st = f->ctx != NULL ? prepare(f, birth) : CPL_ERR_NOMEM;
  if (st < 0) {
    not_created(birth, host, f->ctx != NULL ? cpl_context_error(f->ctx) : "out of memory");
    fmu_destroy(f);
    return NULL;
  }
  return f;
}

//------------------------------------ life ------------------------------------

fmu_status fmu_set_up(fmu* f, const char* function, const cpl_setup* s) {
  if (!(s->start_time > -1e300 && s->start_time < 1e300)) {
    return fmu_refuse(f, function, "the start time %g is not a time", s->start_time);
  }
  if (s->has_stop_time && !(s->stop_time >= s->start_time)) {
    return fmu_refuse(f, function, "the stop time %g is before the start time %g", s->stop_time,
                      s->start_time);
  }
  if (s->has_tolerance && !(s->tolerance > 0 && s->tolerance < 1)) {
    return fmu_refuse(f, function, "the tolerance %g is not between 0 and 1", s->tolerance);
  }
  f->setup = *s;
  return FMU_OK;
}

fmu_status fmu_enter_init(fmu* f, const char* function) {
  // only now the tolerance is known for sure
  bool other = f->stepping && (f->part == NULL || f->part->rtol != tolerance_of(f));
  cpl_status st = other ? fmu_remake(f) : CPL_OK;
  if (st < 0) {
    f->state = FMU_FAILED;
    return fmu_result(f, function, st);
  }
  cpl_component* part = fmu_component(f);
  st = part->ops->setup(part, &f->setup);
  if (st >= 0) st = part->ops->enter_init(part);
  if (st >= 0) {
    f->state = FMU_INITIALIZING;
    f->time = f->setup.start_time;
    f->start_size = 0;  // this component is the one
    f->importer_projects = f->projection_wanted = f->not_projected = f->ahead = false;
    f->n_slopes = 0;
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_exit_init(fmu* f, const char* function) {
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->exit_init(part);
  if (st == CPL_RETRY) st = CPL_ERR_MODEL;  // there is no other point to begin at
  if (st >= 0) {
    f->state = f->stepping && !f->event_mode ? FMU_STEPPED : FMU_EVENT;
    f->time = f->reached = f->setup.start_time;
    f->update_due = false;  // a stepper has made the first one itself
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_terminate(fmu* f, const char* function) {
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->terminate(part);
  f->state = FMU_TERMINATED;
  return fmu_result(f, function, st);
}

fmu_status fmu_reset(fmu* f, const char* function) {
  if (f->nu > 0) {
    memset(f->input_derivatives, 0, FMU_ORDERS * f->nu * sizeof *f->input_derivatives);
    memset(f->has_curve, 0, f->nu * sizeof *f->has_curve);
    memset(f->has_slope, 0, f->nu * sizeof *f->has_slope);
  }
  f->end_wanted = f->update_due = false;
  f->setup = (cpl_setup){.size = sizeof(cpl_setup)};
  f->time = f->reached = 0;
  f->next_time = INFINITY;
  f->start_size = 0;
  cpl_component* part = fmu_component(f);
  // there is no way back from the form with residuals
  bool same = part != NULL && !f->dae && !f->content.sets_starts;
  f->configuring = f->dae = false;
  cpl_status st = same ? part->ops->reset(part) : CPL_ERR_UNSUPPORTED;
  if (st < 0) st = fmu_remake(f);
  f->state = st >= 0 ? FMU_INSTANTIATED : FMU_FAILED;
  return fmu_result(f, function, st);
}

fmu_status fmu_configured(fmu* f, const char* function) {
  cpl_status st = f->part->dae != f->dae ? fmu_remake(f) : CPL_OK;
  if (st < 0) f->state = FMU_FAILED;
  return fmu_result(f, function, st);
}

//------------------------------------ without co-simulation ------------------------------------

#ifndef CPL_FMU_CO_SIMULATION
static fmu_status without(fmu* f, const char* function) {
  return fmu_refuse(f, function, "the sources are for model exchange only");
}

cpl_status fmu_hold_inputs(fmu* f, const double* values) {
  (void)f, (void)values;
  return CPL_OK;
}

cpl_status fmu_set_input(fmu* f, uint32_t input, double value) {
  (void)f, (void)input, (void)value;
  return CPL_ERR_UNSUPPORTED;
}

int32_t fmu_input_order(const fmu* f) {
  (void)f;
  return 0;
}

fmu_status fmu_input_event(fmu* f, const char* function, bool* wanted, double* margin) {
  *wanted = false;
  *margin = NAN;
  return without(f, function);
}

fmu_status fmu_step(fmu* f, const char* function, double from, double h, cpl_step_result* result) {
  (void)from, (void)h;
  *result = (cpl_step_result){.time = f->time};
  return without(f, function);
}

fmu_status fmu_step_update(fmu* f, const char* function, cpl_event_info* info) {
  *info = (cpl_event_info){.terminate = false};
  return without(f, function);
}

fmu_status fmu_max_step(fmu* f, const char* function, double* size) {
  *size = 0;
  return without(f, function);
}

double fmu_next_event(fmu* f) { return f->next_time; }
#endif
