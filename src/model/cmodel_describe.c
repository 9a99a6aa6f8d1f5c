// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Turns the declarations of a model in C into its description: checks the definition, lays out all
// numbers in one array and adds derivatives, residuals and Strings.
#include <math.h>
#include <stdio.h>

#include "model/cmodel.h"

// The variables that a list of declarations becomes.
typedef struct list_kind {
  cpl_causality causality;
  cpl_variability variability;
  cpl_initial initial;
  bool has_start;
} list_kind;

static const list_kind parameter_kind = {CPL_CAUSALITY_PARAMETER, CPL_VARIABILITY_FIXED,
                                         CPL_INITIAL_EXACT, true};
static const list_kind discrete_kind = {CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_DISCRETE,
                                        CPL_INITIAL_EXACT, true};
static const list_kind input_kind = {CPL_CAUSALITY_INPUT, CPL_VARIABILITY_CONTINUOUS,
                                     CPL_INITIAL_NONE, true};
static const list_kind state_kind = {CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONTINUOUS,
                                     CPL_INITIAL_EXACT, true};
static const list_kind algebraic_kind = {CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONTINUOUS,
                                         CPL_INITIAL_APPROX, true};
static const list_kind residual_kind = {CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONTINUOUS,
                                        CPL_INITIAL_CALCULATED, false};
static const list_kind output_kind = {CPL_CAUSALITY_OUTPUT, CPL_VARIABILITY_CONTINUOUS,
                                      CPL_INITIAL_CALCULATED, false};

static uint32_t count(const cpl_declaration* list) {
  uint32_t n = 0;
  for (; list != NULL && list->name != NULL; list++) n += list->size > 0 ? (uint32_t)list->size : 1;
  return n;
}

static cpl_status bad(cpli_cmodel* cm, const char* name, const char* what) {
  return cpl_fail(cm->ctx, CPL_ERR_INPUT, "model %s: variable %s: %s", cm->def->name, name, what);
}

// Every element of an array is a variable with a name and attributes, so the number is limited.
static cpl_status check_sizes(cpli_cmodel* cm) {
  const cpl_model_def* def = cm->def;
  const cpl_declaration* lists[] = {def->parameters, def->discrete, def->inputs,
                                    def->states,     def->outputs,  def->algebraics};
  const cpl_declaration* largest = NULL;
  int64_t total = (int64_t)def->n_indicators + def->n_constraints;
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) {
    for (const cpl_declaration* d = lists[i]; d != NULL && d->name != NULL; d++) {
      total += d->size > 0 ? d->size : 1;
      if (largest == NULL || d->size > largest->size) largest = d;
    }
  }
  if (total <= CPL_MAX_MODEL_VALUES) return CPL_OK;
  return cpl_fail(
      cm->ctx, CPL_ERR_INPUT,
      "model %s: %lld variables and elements of arrays (%d of them in %s) are too many: "
      "each has a name and attributes, and at most %d are supported; keep large tables "
      "in the data of the model, not in its variables",
      def->name, (long long)total, largest != NULL ? largest->size : 0,
      largest != NULL ? largest->name : "none", CPL_MAX_MODEL_VALUES);
}

// All declarations of a model; each has at most one array, one type and two units.
static size_t count_declarations(const cpl_model_def* def) {
  const cpl_declaration* lists[] = {def->parameters, def->discrete, def->inputs,
                                    def->states,     def->outputs,  def->algebraics};
  size_t n = 0;
  for (size_t i = 0; i < CPLI_COUNT(lists); i++)
    for (const cpl_declaration* d = lists[i]; d != NULL && d->name != NULL; d++) n++;
  return n;
}

//------------------------------------ units and types ------------------------------------

static int32_t unit_index(cpli_cmodel* cm, const char* name) {
  if (name == NULL || name[0] == '\0') return -1;
  cpl_unit* units = (cpl_unit*)cm->desc.units;
  for (int32_t i = 0; i < cm->desc.n_units; i++) {
    if (strcmp(units[i].name, name) == 0) return i;
  }
  units[cm->desc.n_units] = (cpl_unit){.name = name, .factor = 1, .display_of = -1};
  return cm->desc.n_units++;
}

static cpl_status enum_index(cpli_cmodel* cm, const cpl_declaration* d, int32_t* out) {
  *out = -1;
  if (d->type != CPL_ENUMERATION) return CPL_OK;
  if (d->items == NULL || d->items[0] == NULL)
    return bad(cm, d->name, "an Enumeration needs items");
  int32_t n = 0;
  while (d->items[n] != NULL) n++;
  cpl_enum_item* items = cpli_arena_alloc(&cm->arena, (size_t)n, sizeof *items);
  size_t len = strlen(d->name) + 6;
  char* name = cpli_arena_alloc(&cm->arena, len, 1);
  if (items == NULL || name == NULL) return cpli_nomem(cm->ctx);
  snprintf(name, len, "%s_type", d->name);
  for (int32_t i = 0; i < n; i++) items[i] = (cpl_enum_item){d->items[i], "", i + 1};
  cpl_type_def* types = (cpl_type_def*)cm->desc.types;
  types[cm->desc.n_types] = (cpl_type_def){
      .name = name, .quantity = "", .type = CPL_ENUMERATION, .items = items, .n_items = n};
  *out = cm->desc.n_types++;
  return CPL_OK;
}

//------------------------------------ variables ------------------------------------

// `element` counts from 1; 0: a scalar.
static cpl_status add_variable(cpli_cmodel* cm, cpl_variable v, const char* name, int element) {
  bool derivative = v.derivative_of >= 0;
  char plain[512];
  if (cpli_cancelled(cm->ctx)) return cpli_interrupted(cm->ctx, cm->def->name, NAN);
  if (element > 0) snprintf(plain, sizeof plain, "%s[%d]", name, element);
  else snprintf(plain, sizeof plain, derivative ? "der(%s)" : "%s", name);
  char* text = cpli_arena_strdup(&cm->arena, plain);
  if (text == NULL) return cpli_nomem(cm->ctx);
  v.name = text;
  int32_t index = cm->desc.n_vars;
  int32_t there = cpli_names_add(&cm->names, text, index);
  if (there == CPL_ERR_NOMEM) return cpli_nomem(cm->ctx);
  if (there != index) return bad(cm, text, "the name is used twice");
  ((cpl_variable*)cm->desc.vars)[cm->desc.n_vars++] = v;
  return CPL_OK;
}

static cpl_variable variable_of(const cpl_declaration* d, const list_kind* kind) {
  cpl_variable v = {.description = d->description != NULL ? d->description : "",
                    .type = (uint8_t)d->type,
                    .causality = (uint8_t)kind->causality,
                    .variability = (uint8_t)kind->variability,
                    .initial = (uint8_t)kind->initial,
                    .has_start = kind->has_start,
                    .has_nominal = d->nominal != 0,
                    .can_set_several_times = true,
                    .display_unit = -1,
                    .derivative_of = -1,
                    .alias_of = -1,
                    .start = d->start,
                    .min = -INFINITY,
                    .max = INFINITY,
                    .nominal = d->nominal != 0 ? d->nominal : 1};
  bool at_zero = signbit(d->min) && d->min == 0;  // a zero that was written: -0.0
  if (d->min != 0 || d->max > 0 || at_zero) v.min = d->min + 0.0;
  if (d->max != 0 || d->min < 0 || at_zero) v.max = d->max;
  if (kind == &parameter_kind && d->tunable) v.variability = CPL_VARIABILITY_TUNABLE;
  if ((kind == &input_kind || kind == &output_kind) && (d->discrete || d->type != CPL_REAL)) {
    v.variability = CPL_VARIABILITY_DISCRETE;
  }
  bool known = kind == &state_kind || kind == &discrete_kind || kind == &algebraic_kind;
  if (known && d->output) v.causality = CPL_CAUSALITY_OUTPUT;
  return v;
}

static cpl_status check_declaration(cpli_cmodel* cm, const cpl_declaration* d,
                                    const list_kind* kind) {
  if (d->name[0] == '\0') return bad(cm, d->name, "it has no name");
  if (strlen(d->name) > 400) return bad(cm, d->name, "the name is too long");
  if (d->type == CPL_STRING) return bad(cm, d->name, "Strings are declared in the list `strings`");
  if (kind == &state_kind && d->type != CPL_REAL) return bad(cm, d->name, "a state is a Real");
  if (kind == &algebraic_kind && d->type != CPL_REAL)
    return bad(cm, d->name, "an algebraic variable is a Real");
  if (d->size < 0) return bad(cm, d->name, "the size is negative");
  if (d->min != 0 && d->max != 0 && d->min > d->max)
    return bad(cm, d->name, "min is greater than max");
  if ((d->type == CPL_INTEGER || d->type == CPL_ENUMERATION) && d->start != floor(d->start))
    return bad(cm, d->name, "the start value is not an integer");
  if (isnan(d->min) || isnan(d->max)) return bad(cm, d->name, "a limit is not a number");
  if (!(d->nominal >= 0) || isinf(d->nominal))
    return bad(cm, d->name, "the nominal is not positive");
  return CPL_OK;
}

// `v` gets the number of the array its elements belong to.
static cpl_status add_array(cpli_cmodel* cm, const cpl_declaration* d, cpl_variable* v) {
  if (d->size == 0) return CPL_OK;
  int32_t* size = cpli_arena_alloc(&cm->arena, 1, sizeof *size);
  if (size == NULL) return cpli_nomem(cm->ctx);
  *size = d->size;
  ((cpl_array*)cm->desc.arrays)[cm->desc.n_arrays++] = (cpl_array){
      .name = d->name, .first = cm->desc.n_vars, .count = d->size, .sizes = size, .n_sizes = 1};
  v->array = cm->desc.n_arrays;
  return CPL_OK;
}

static cpl_status add_list(cpli_cmodel* cm, const cpl_declaration* list, const list_kind* kind,
                           uint32_t first) {
  for (const cpl_declaration* d = list; d != NULL && d->name != NULL; d++) {
    cpl_variable v = variable_of(d, kind);
    cpl_status st = check_declaration(cm, d, kind);
    if (st >= 0) st = enum_index(cm, d, &v.declared_type);
    if (st >= 0) st = add_array(cm, d, &v);
    if (st < 0) return st;
    v.unit = unit_index(cm, d->unit);
    int n = d->size > 0 ? d->size : 1;
    for (int i = 0; i < n; i++) {
      v.ref = first++;
      st = add_variable(cm, v, d->name, d->size > 0 ? i + 1 : 0);
      if (st < 0) return st;
    }
  }
  return CPL_OK;
}

// der(x) for every state x, with the state's unit per second.
static cpl_status add_derivatives(cpli_cmodel* cm, int32_t first_state) {
  for (uint32_t k = 0; k < cm->at.nx; k++) {
    const cpl_variable* x = &cm->desc.vars[first_state + (int32_t)k];
    char unit[128] = "";
    char* kept = NULL;
    if (x->unit >= 0) {
      snprintf(unit, sizeof unit, "%s/s", cm->desc.units[x->unit].name);
      kept = cpli_arena_strdup(&cm->arena, unit);
      if (kept == NULL) return cpli_nomem(cm->ctx);
    }
    cpl_declaration d = {.name = x->name, .unit = kept};
    static const list_kind derivative_kind = {CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONTINUOUS,
                                              CPL_INITIAL_CALCULATED, false};
    cpl_variable v = variable_of(&d, &derivative_kind);
    v.declared_type = -1;
    v.unit = unit_index(cm, kept);
    v.ref = cm->at.dx + k;
    v.derivative_of = first_state + (int32_t)k;
    ((cpl_variable*)x)->reinit = cm->def->event != NULL;
    ((int32_t*)cm->desc.states)[k] = v.derivative_of;
    ((int32_t*)cm->desc.derivatives)[k] = cm->desc.n_vars;
    cpl_status st = add_variable(cm, v, x->name, 0);
    if (st < 0) return st;
  }
  return CPL_OK;
}

// A variable for a residual or constraint, so that it can be named.
static cpl_status add_residual(cpli_cmodel* cm, const char* name, uint32_t ref, int32_t* index) {
  cpl_declaration d = {.name = name, .description = "zero on the solution"};
  cpl_variable v = variable_of(&d, &residual_kind);
  v.declared_type = v.unit = -1;
  v.ref = ref;
  *index = cm->desc.n_vars;
  return add_variable(cm, v, name, 0);
}

static cpl_status add_residuals(cpli_cmodel* cm, int32_t first) {
  char name[64];
  cpl_status st = CPL_OK;
  for (uint32_t k = 0; k < cm->at.na && st >= 0; k++) {
    ((int32_t*)cm->desc.algebraics)[k] = first + (int32_t)k;
    snprintf(name, sizeof name, "residual_%u", (unsigned)k + 1);
    st = add_residual(cm, name, cm->at.g + k, &((int32_t*)cm->desc.residuals)[k]);
  }
  for (uint32_t k = 0; k < cm->at.nc && st >= 0; k++) {
    const cpl_formulation* f = &cm->def->formulations[k];
    snprintf(name, sizeof name, "residual_%d_index_%d", f->residual + 1, f->index);
    st = add_residual(cm, name, cm->at.c + k, &((int32_t*)cm->desc.formulation_vars)[k]);
  }
  cm->desc.n_algebraics = (int32_t)cm->at.na;
  cm->desc.formulations = cm->def->formulations;
  cm->desc.n_formulations = (int32_t)cm->at.nc;
  return st;
}

static cpl_status add_strings(cpli_cmodel* cm) {
  static const list_kind kinds[] = {
      [CPL_STRING_PARAMETER] = {CPL_CAUSALITY_PARAMETER, CPL_VARIABILITY_FIXED, CPL_INITIAL_EXACT,
                                true},
      [CPL_STRING_INPUT] = {CPL_CAUSALITY_INPUT, CPL_VARIABILITY_DISCRETE, CPL_INITIAL_NONE, true},
      [CPL_STRING_OUTPUT] = {CPL_CAUSALITY_OUTPUT, CPL_VARIABILITY_DISCRETE, CPL_INITIAL_EXACT,
                             true},
      [CPL_STRING_LOCAL] = {CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_DISCRETE, CPL_INITIAL_EXACT, true},
  };
  uint32_t ref = 0;
  for (const cpl_string_declaration* s = cm->def->strings; s != NULL && s->name != NULL; s++) {
    if ((unsigned)s->role >= CPLI_COUNT(kinds)) return bad(cm, s->name, "unknown role");
    cpl_declaration d = {.name = s->name, .description = s->description, .type = CPL_STRING};
    cpl_variable v = variable_of(&d, &kinds[s->role]);
    v.unit = v.declared_type = -1;
    v.start_text = s->start != NULL ? s->start : "";
    v.ref = ref++;
    cpl_status st = add_variable(cm, v, s->name, 0);
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ the whole ------------------------------------

static void lay_out(cpli_cmodel* cm) {
  const cpl_model_def* def = cm->def;
  cpli_layout* at = &cm->at;
  at->np = count(def->parameters);
  at->nw = count(def->discrete);
  at->nu = count(def->inputs);
  at->nx = count(def->states);
  at->ny = count(def->outputs);
  at->nz = (uint32_t)def->n_indicators;
  for (const cpl_string_declaration* s = def->strings; s != NULL && s->name != NULL; s++) at->ns++;
  at->p = 0;
  at->w = at->p + at->np;
  at->u = at->w + at->nw;
  at->x = at->u + at->nu;
  at->dx = at->x + at->nx;
  at->y = at->dx + at->nx;
  at->na = count(def->algebraics);
  at->nc = def->formulations != NULL && def->n_constraints > 0 ? (uint32_t)def->n_constraints : 0;
  at->a = at->y + at->ny;
  at->g = at->a + at->na;
  at->c = at->g + at->na;
  at->n = at->c + at->nc;
}

static cpl_status check_definition(cpli_cmodel* cm) {
  const cpl_model_def* def = cm->def;
  const char* missing = NULL;
  if (def->name == NULL || def->name[0] == '\0') {
    return cpl_fail(cm->ctx, CPL_ERR_INPUT, "the model has no name (couplet_model.name)");
  }
  if (cm->at.nx > 0 && def->derivatives == NULL) missing = "states but no function `derivatives`";
  if (cm->at.ny > 0 && def->output_values == NULL)
    missing = "outputs but no function `output_values`";
  if (cm->at.nz > 0 && def->indicators == NULL) missing = "indicators but no function `indicators`";
  if (def->n_indicators < 0) missing = "a negative number of indicators";
  if (def->n_constraints < 0) missing = "a negative number of constraints";
  if (def->n_constraints > 0 && def->constraints == NULL) missing = "constraints but no function";
  if (cm->at.na > 0 && def->residuals == NULL)
    missing = "algebraic variables but no function `residuals`";
  if (cm->at.na > 0 && def->directional != NULL)
    missing = "algebraic variables and a function `directional`, which does not cover them";
  for (uint32_t k = 0; k < cm->at.nc; k++) {
    const cpl_formulation* f = &def->formulations[k];
    if (f->residual < 0 || (uint32_t)f->residual >= cm->at.na)
      missing = "a formulation of a residual that does not exist";
    else if (f->index < 2) missing = "a formulation with an index below 2";
  }
  if (missing != NULL)
    return cpl_fail(cm->ctx, CPL_ERR_INPUT, "model %s has %s", def->name, missing);
  return CPL_OK;
}

static const char* or_empty(const char* text) { return text != NULL ? text : ""; }

static cpl_status allocate(cpli_cmodel* cm) {
  cpl_description* d = &cm->desc;
  size_t n = (size_t)cm->at.n + cm->at.ns, declared = count_declarations(cm->def);
  d->vars = cpli_arena_alloc(&cm->arena, n, sizeof *d->vars);
  d->arrays = cpli_arena_alloc(&cm->arena, declared, sizeof *d->arrays);
  d->units = cpli_arena_alloc(&cm->arena, 2 * declared, sizeof *d->units);
  d->types = cpli_arena_alloc(&cm->arena, declared, sizeof *d->types);
  d->states = cpli_arena_alloc(&cm->arena, cm->at.nx, sizeof *d->states);
  d->derivatives = cpli_arena_alloc(&cm->arena, cm->at.nx, sizeof *d->derivatives);
  d->algebraics = cpli_arena_alloc(&cm->arena, cm->at.na, sizeof *d->algebraics);
  d->residuals = cpli_arena_alloc(&cm->arena, cm->at.na, sizeof *d->residuals);
  d->formulation_vars = cpli_arena_alloc(&cm->arena, cm->at.nc, sizeof *d->formulation_vars);
  cm->discrete_output = cpli_arena_alloc(&cm->arena, cm->at.ny, sizeof *cm->discrete_output);
  if (d->vars == NULL || d->arrays == NULL || d->units == NULL || d->types == NULL ||
      d->states == NULL || d->derivatives == NULL || cm->discrete_output == NULL ||
      d->algebraics == NULL || d->residuals == NULL || d->formulation_vars == NULL) {
    return cpli_nomem(cm->ctx);
  }
  return cpli_names_init(&cm->names, cm->ctx, n);
}

static cpl_status describe(cpli_cmodel* cm, bool detect) {
  const cpl_model_def* def = cm->def;
  cpl_status st = check_sizes(cm);
  if (st < 0) return st;
  lay_out(cm);
  st = check_definition(cm);
  if (st >= 0) st = allocate(cm);
  if (st >= 0) st = add_list(cm, def->parameters, &parameter_kind, cm->at.p);
  if (st >= 0) st = add_list(cm, def->discrete, &discrete_kind, cm->at.w);
  if (st >= 0) st = add_list(cm, def->inputs, &input_kind, cm->at.u);
  int32_t first_state = cm->desc.n_vars;
  if (st >= 0) st = add_list(cm, def->states, &state_kind, cm->at.x);
  if (st >= 0) st = add_derivatives(cm, first_state);
  int32_t first_output = cm->desc.n_vars;
  if (st >= 0) st = add_list(cm, def->outputs, &output_kind, cm->at.y);
  int32_t first_algebraic = cm->desc.n_vars;
  if (st >= 0) st = add_list(cm, def->algebraics, &algebraic_kind, cm->at.a);
  if (st >= 0) st = add_residuals(cm, first_algebraic);
  if (st >= 0) st = add_strings(cm);
  if (st < 0) return st;
  cpli_cmodel_find_tangent(cm);
  for (uint32_t i = 0; i < cm->at.ny; i++) {
    cm->discrete_output[i] =
        cm->desc.vars[first_output + (int32_t)i].variability == CPL_VARIABILITY_DISCRETE;
    cm->any_discrete_output = cm->any_discrete_output || cm->discrete_output[i];
  }
  cpl_default_experiment* e = &cm->desc.experiment;
  *e = (cpl_default_experiment){.has_start = def->stop_time > def->start_time,
                                .has_stop = def->stop_time > def->start_time,
                                .has_tolerance = def->tolerance > 0,
                                .has_step = def->step_size > 0,
                                .start = def->start_time,
                                .stop = def->stop_time,
                                .tolerance = def->tolerance,
                                .step = def->step_size};
  cm->desc.n_states = (int32_t)cm->at.nx;
  return cpli_cmodel_structure(cm, detect);
}

cpl_status cpli_cmodel_create(cpl_context* ctx, const cpl_model_def* def, bool detect,
                              cpli_cmodel** out) {
  return cpli_cmodel_create_hosted(ctx, def, detect, NULL, out);
}

cpl_status cpli_cmodel_create_hosted(cpl_context* ctx, const cpl_model_def* def, bool detect,
                                     const cpli_cmodel_host* host, cpli_cmodel** out) {
  *out = NULL;
  cpli_cmodel* cm = cpli_alloc(ctx, 1, sizeof *cm);
  if (cm == NULL) return cpli_nomem(ctx);
  cm->ctx = ctx;
  cm->def = def;
  if (host != NULL) cm->host = *host;
  cpli_arena_init(&cm->arena, ctx);
  cm->desc.name = or_empty(def->name);
  cm->desc.kind = "C";
  cm->desc.description = or_empty(def->description);
  cm->desc.author = or_empty(def->author);
  cm->desc.version = or_empty(def->version);
  cm->desc.license = or_empty(def->license);
  cm->desc.copyright = cm->desc.date = "";
  cm->desc.tool = "couplet " CPL_VERSION;
  cm->desc.n_indicators = def->n_indicators;
  cm->desc.n_constraints = def->n_constraints;
  cm->desc.names = &cm->names;
  cpl_status st = describe(cm, detect);
  if (st < 0) {
    cpli_cmodel_destroy(cm);
    return st;
  }
  *out = cm;
  return CPL_OK;
}

void cpli_cmodel_destroy(cpli_cmodel* cm) {
  if (cm == NULL) return;
  cpli_names_free(&cm->names);
  cpli_arena_free(&cm->arena);
  cpli_free(cm->ctx, cm);
}
