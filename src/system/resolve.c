// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parameters and inputs of the system are searched first, then variables of models; names similar
// to one that was not found are collected only for a message. Start values, targets of events and
// unconnected inputs are checked here, too.
#include "system/resolve.h"

#include <stdio.h>

#include "base/error.h"

static const cpl_description* desc_of(const cpli_resolver* r, int32_t model) {
  return r->models[model]->desc;
}

static cpl_status check_values(const cpli_resolver* r, const cpli_located_text* name) {
  const char* variable;
  if (cpli_split_name(r->def, name->text, &variable) < 0) return CPL_OK;
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &name->loc,
                      "\"%s\" begins like a variable of the model \"%.*s\"", name->text,
                      (int)(variable - 1 - name->text), name->text);
}

cpl_status cpli_resolver_init(cpli_resolver* r, cpl_context* ctx, const cpl_system_def* def,
                              const cpl_source* const* models) {
  *r = (cpli_resolver){.ctx = ctx, .def = def, .models = models};
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_parameters && st >= 0; i++)
    st = check_values(r, &def->parameters[i].name);
  for (size_t i = 0; i < def->n_inputs && st >= 0; i++) st = check_values(r, &def->inputs[i].name);
  return st;
}

bool cpli_resolver_find(const cpli_resolver* r, const char* name, cpli_ref* out) {
  *out = (cpli_ref){CPLI_REF_NONE, -1, -1};
  int32_t value = cpli_names_find(&r->def->value_names, name);
  if (value >= 0) {
    out->kind = value % 2 == 0 ? CPLI_REF_PARAMETER : CPLI_REF_INPUT;
    out->index = value / 2;
    return true;
  }
  const char* variable;
  int32_t model = cpli_split_name(r->def, name, &variable);
  int32_t var = model >= 0 ? cpl_find_variable(desc_of(r, model), variable) : -1;
  if (var < 0) return false;
  *out = (cpli_ref){CPLI_REF_VARIABLE, model, var};
  return true;
}

const cpl_variable* cpli_ref_variable(const cpli_resolver* r, cpli_ref ref) {
  return ref.kind == CPLI_REF_VARIABLE ? &desc_of(r, ref.model)->vars[ref.index] : NULL;
}

//------------------------------------ names not found ------------------------------------

static const char* variable_at(const void* user, size_t i) {
  return ((const cpl_description*)user)->vars[i].name;
}

static const char* model_at(const void* user, size_t i) {
  return ((const cpl_system_def*)user)->models[i].name.text;
}

static const char* value_at(const void* user, size_t i) {
  const cpl_system_def* def = user;
  return i < def->n_parameters ? def->parameters[i].name.text
                               : def->inputs[i - def->n_parameters].name.text;
}

static void miss_variable(cpli_resolver* r, int32_t model, const char* variable) {
  const cpl_description* d = desc_of(r, model);
  const char* best[CPLI_NEAREST];
  size_t n = cpli_nearest_few(variable, variable_at, d, (size_t)d->n_vars, best);
  for (size_t i = 0; i < n; i++)
    snprintf(r->near[i], sizeof r->near[i], "%s.%s", r->def->models[model].name.text, best[i]);
}

// Models of a similar name that have the variable, then inputs and parameters.
static void miss_model(cpli_resolver* r, const char* name) {
  const cpl_system_def* def = r->def;
  const char* best[CPLI_NEAREST];
  const char* dot = def->hierarchical ? strrchr(name, '.') : strchr(name, '.');
  size_t k = 0, n = 0;
  char model[1024];
  if (dot != NULL && (size_t)(dot - name) < sizeof model) {
    snprintf(model, sizeof model, "%.*s", (int)(dot - name), name);
    n = cpli_nearest_few(model, model_at, def, def->n_models, best);
  }
  for (size_t i = 0; i < n; i++) {
    int32_t found = cpli_names_find(&def->model_names, best[i]);
    if (cpl_find_variable(desc_of(r, found), dot + 1) < 0) continue;
    snprintf(r->near[k], sizeof r->near[k], "%s.%s", best[i], dot + 1);
    k++;
  }
  n = cpli_nearest_few(name, value_at, def, def->n_parameters + def->n_inputs, best);
  for (size_t i = 0; i < n && k < CPLI_NEAREST; i++, k++)
    snprintf(r->near[k], sizeof r->near[k], "%s", best[i]);
}

void cpli_resolver_miss(cpli_resolver* r, const char* name) {
  const char* variable;
  memset(r->near, 0, sizeof r->near);
  int32_t model = cpli_split_name(r->def, name, &variable);
  if (model >= 0) {
    miss_variable(r, model, variable);
  } else {
    miss_model(r, name);
  }
}

const char* cpli_resolver_candidate(const void* resolver, size_t i) {
  return ((const cpli_resolver*)resolver)->near[i];
}

static size_t count_candidates(const cpli_resolver* r) {
  size_t n = 0;
  while (n < CPLI_NEAREST && r->near[n][0] != '\0') n++;
  return n;
}

// Adds the name and the candidates to the failure.
static cpl_status unknown(const cpli_resolver* r, const char* name) {
  return cpli_fail_unknown(r->ctx, CPL_ERR_INPUT, name, cpli_resolver_candidate, r,
                           count_candidates(r));
}

// " (did you mean a, b or c?)" of what cpli_resolver_miss() found.
static void offer(const cpli_resolver* r, char* out, size_t size) {
  size_t n = count_candidates(r), used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < n && used < size; i++) {
    const char* glue = i == 0 ? " (did you mean " : i + 1 == n ? " or " : ", ";
    used += (size_t)snprintf(out + used, size - used, "%s%s%s", glue, r->near[i],
                             i + 1 == n ? "?)" : "");
  }
}

cpl_status cpli_resolver_require(cpli_resolver* r, const cpli_located_text* name, cpli_ref* out) {
  char near[600];
  const char* variable;
  if (cpli_resolver_find(r, name->text, out)) return CPL_OK;
  if (cpli_names_find(&r->def->model_names, name->text) >= 0)
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &name->loc,
                        "\"%s\" is a model; name one of its variables: %s.NAME", name->text,
                        name->text);
  cpli_resolver_miss(r, name->text);
  offer(r, near, sizeof near);
  int32_t model = cpli_split_name(r->def, name->text, &variable);
  if (model >= 0) {
    cpli_fail_at(r->ctx, CPL_ERR_INPUT, &name->loc, "model \"%s\" has no variable %s%s",
                 r->def->models[model].name.text, variable, near);
    return unknown(r, name->text);
  }
  const char* dot = r->def->hierarchical ? strrchr(name->text, '.') : strchr(name->text, '.');
  size_t n = dot != NULL ? (size_t)(dot - name->text) : strlen(name->text);
  if (name->text[n] != '\0' && near[0] == '\0') {
    char part[256];
    snprintf(part, sizeof part, "%.*s", (int)(n < 255 ? n : 255), name->text);
    cpli_did_you_mean(part, model_at, r->def, r->def->n_models, near, sizeof near);
  }
  cpli_fail_at(r->ctx, CPL_ERR_INPUT, &name->loc, "%s: there is no %s %.*s%s", name->text,
               name->text[n] != '\0' ? "model" : "input or parameter", (int)(n < 255 ? n : 255),
               name->text, near);
  return unknown(r, name->text);
}

//------------------------------------ start values, sets ------------------------------------

static bool has_array(const cpl_description* d, const char* name) {
  for (int32_t i = 0; i < d->n_arrays; i++)
    if (strcmp(d->arrays[i].name, name) == 0) return true;
  return false;
}

// A value of a parameter set that has no effect.
static void note_ignored(const cpli_resolver* r, const cpli_member* m, const cpli_setting* s,
                         const cpl_variable* v) {
  char loc[CPLI_LOC_SIZE];
  cpli_source_loc_text(&s->value.loc, loc);
  if (v == NULL) {
    cpl_log(r->ctx, CPL_LOG_INFO, "",
            "%sthe value of %s is ignored: model \"%s\" has no such variable", loc, s->name.text,
            m->name.text);
  } else if (v->variability == CPL_VARIABILITY_CONSTANT ||
             v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER ||
             (v->initial == CPL_INITIAL_CALCULATED && v->causality != CPL_CAUSALITY_INPUT)) {
    cpl_log(
        r->ctx, CPL_LOG_WARNING, "", "%sthe value %s of %s.%s is ignored: %s", loc, s->value.text,
        m->name.text, s->name.text,
        v->variability == CPL_VARIABILITY_CONSTANT ? "it is a constant" : "the model computes it");
  }
}

cpl_status cpli_check_starts(cpli_resolver* r) {
  for (size_t m = 0; m < r->def->n_models; m++) {
    const cpli_member* member = &r->def->models[m];
    for (size_t i = 0; i < member->n_starts; i++) {
      const cpli_located_text* name = &member->starts[i].name;
      const cpl_description* of = desc_of(r, (int32_t)m);
      const int32_t var = cpl_find_variable(of, name->text);
      const bool optional = member->starts[i].optional;
      if (optional && (var >= 0 || !has_array(of, name->text)))
        note_ignored(r, member, &member->starts[i], var >= 0 ? &of->vars[var] : NULL);
      if (optional || var >= 0) continue;
      char near[512];
      const cpl_description* d = desc_of(r, (int32_t)m);
      cpli_did_you_mean(name->text, variable_at, d, (size_t)d->n_vars, near, sizeof near);
      cpli_fail_at(r->ctx, CPL_ERR_INPUT, &name->loc, "model \"%s\" has no variable %s%s",
                   member->name.text, name->text, near);
      return cpli_fail_unknown(r->ctx, CPL_ERR_INPUT, name->text, variable_at, d,
                               (size_t)d->n_vars);
    }
  }
  return CPL_OK;
}

static int32_t first_alias(const cpl_description* d, int32_t var) {
  return d->vars[var].alias_of >= 0 ? d->vars[var].alias_of : var;
}

static bool is_state(const cpl_description* d, int32_t var) {
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] >= 0 && first_alias(d, d->states[i]) == first_alias(d, var)) return true;
  }
  return false;
}

cpl_status cpli_resolve_set(cpli_resolver* r, const cpli_links* links,
                            const cpli_located_text* target, cpli_ref* out) {
  cpl_status st = cpli_resolver_require(r, target, out);
  if (st < 0) return st;
  if (out->kind != CPLI_REF_VARIABLE)
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &target->loc,
                        "%s belongs to the system; an event sets variables of models",
                        target->text);
  const cpl_description* d = desc_of(r, out->model);
  const cpl_variable* v = &d->vars[out->index];
  int32_t link = cpli_links_find(links, r, out->model, out->index);
  if (link >= 0) {
    char loc[CPLI_LOC_SIZE];
    int32_t c = links->items[link].connection;
    cpli_source_loc_text(&r->def->connections[c].target.loc, loc);
    return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &target->loc,
                        "%s is connected (%s...), so an event cannot set it", target->text, loc);
  }
  bool tunable =
      v->causality == CPL_CAUSALITY_PARAMETER && v->variability == CPL_VARIABILITY_TUNABLE;
  if (v->causality == CPL_CAUSALITY_INPUT || tunable || is_state(d, out->index)) return CPL_OK;
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &target->loc,
                      "%s is a %s %s; an event sets states, inputs without a connection and "
                      "tunable parameters",
                      target->text, cpl_variability_name((cpl_variability)v->variability),
                      cpl_causality_name((cpl_causality)v->causality));
}

//------------------------------------ unconnected inputs ------------------------------------

static bool has_start(const cpli_member* member, const cpl_description* d, int32_t var) {
  if (d->vars[var].has_start) return true;
  for (size_t i = 0; i < member->n_starts; i++) {
    int32_t given = cpl_find_variable(d, member->starts[i].name.text);
    if (given >= 0 && first_alias(d, given) == first_alias(d, var)) return true;
  }
  return false;
}

void cpli_warn_unconnected(const cpli_resolver* r, const cpli_links* links) {
  for (size_t m = 0; m < r->def->n_models; m++) {
    const cpli_member* member = &r->def->models[m];
    const cpl_description* d = desc_of(r, (int32_t)m);
    for (int32_t v = 0; v < d->n_vars; v++) {
      bool clock = d->vars[v].type == CPL_CLOCK;  // it ticks by itself, or not at all
      if (d->vars[v].causality != CPL_CAUSALITY_INPUT || clock || has_start(member, d, v)) continue;
      if (cpli_links_find(links, r, (int32_t)m, v) >= 0) continue;
      char loc[CPLI_LOC_SIZE];
      cpl_log(r->ctx, CPL_LOG_WARNING, "",
              "%sinput %s.%s is not connected and has no start value: it is 0",
              cpli_source_loc_text(&member->name.loc, loc), member->name.text, d->vars[v].name);
    }
  }
}
