// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Single variables, aliases, states, the model structure, clocks, types and kinds are checked one
// after the other; then the findings are sorted by line.
#include "fmi/check.h"

#include <math.h>

#include "fmi/platform.h"
#include "format/scan.h"

// One look at an FMU.
typedef struct inspection {
  const cpl_fmu* fmu;
  const cpl_description* desc;
  cpli_findings* out;
  // one entry per variable
  bool* is_state;  // its first alias
  bool* listed;    // in the list of initial unknowns, its first alias
  bool* clocked;   // belongs to a clock or is one
} inspection;

#define WARN(in, line, rule, ...) \
  cpli_findings_add((in)->out, CPLI_WARNING, line, rule, __VA_ARGS__)

//------------------------------------ single variables ------------------------------------

static bool needs_start(const inspection* in, const cpl_variable* v) {
  if (v->type == CPL_CLOCK) return false;
  if (in->fmu->version == 1) return v->variability == CPL_VARIABILITY_CONSTANT;
  if (in->fmu->version == 3 && v->variability == CPL_VARIABILITY_DISCRETE &&
      in->clocked[v - in->desc->vars])
    return v->causality == CPL_CAUSALITY_INPUT || v->initial == CPL_INITIAL_EXACT;
  return v->causality == CPL_CAUSALITY_INPUT || v->causality == CPL_CAUSALITY_PARAMETER ||
         v->variability == CPL_VARIABILITY_CONSTANT || v->initial == CPL_INITIAL_EXACT ||
         v->initial == CPL_INITIAL_APPROX;
}

// All elements of an array have the same faults: reported for the first.
static bool is_repeated(const inspection* in, const cpl_variable* v) {
  return v->array > 0 && in->desc->vars + in->desc->arrays[v->array - 1].first != v;
}

static void check_start(inspection* in, const cpl_variable* v) {
  if (needs_start(in, v)) {
    if (!v->has_start && !is_repeated(in, v))
      WARN(in, v->line, "start", "%.100s needs a start value: add start", v->name);
    return;
  }
  if (!v->has_start || is_repeated(in, v)) return;
  if (v->causality == CPL_CAUSALITY_INDEPENDENT) {
    WARN(in, v->line, "start", "%.100s is the independent variable and must have no start",
         v->name);
  } else if (v->initial == CPL_INITIAL_CALCULATED) {
    WARN(in, v->line, "start",
         "%.100s is calculated and must have no start: remove it, or write initial=\"approx\" or "
         "\"exact\" where that is allowed",
         v->name);
  }
}

static bool is_item(const cpl_type_def* type, double value) {
  for (int32_t i = 0; i < type->n_items; i++)
    if (type->items[i].value == value) return true;
  return false;
}

static void check_range(inspection* in, const cpl_variable* v) {
  if (v->type != CPL_REAL && v->type != CPL_INTEGER && v->type != CPL_ENUMERATION) return;
  char a[CPLI_NUMBER_SIZE], b[CPLI_NUMBER_SIZE];
  if (v->min > v->max) {
    WARN(in, v->line, "range", "%.100s: min %s is above max %s", v->name,
         cpli_print_real(v->min, a), cpli_print_real(v->max, b));
  } else if (v->has_start && v->start < v->min) {
    WARN(in, v->line, "range", "%.100s: start %s is below min %s", v->name,
         cpli_print_real(v->start, a), cpli_print_real(v->min, b));
  } else if (v->has_start && v->start > v->max) {
    WARN(in, v->line, "range", "%.100s: start %s is above max %s", v->name,
         cpli_print_real(v->start, a), cpli_print_real(v->max, b));
  }
  if (v->type != CPL_ENUMERATION || v->declared_type < 0 || !v->has_start) return;
  const cpl_type_def* type = &in->desc->types[v->declared_type];
  if (!is_item(type, v->start)) {
    WARN(in, v->line, "range", "%.100s: start %s is none of the items of %.100s", v->name,
         cpli_print_real(v->start, a), type->name);
  }
}

static void check_variable(inspection* in, const cpl_variable* v) {
  check_start(in, v);
  check_range(in, v);
  if (v->name[0] == '\0' || strpbrk(v->name, "\n\r\t") != NULL)
    WARN(in, v->line, "name", "the name of a variable must be one line and not empty");
  if (v->reinit && (v->type != CPL_REAL || v->variability != CPL_VARIABILITY_CONTINUOUS))
    WARN(in, v->line, "state", "%.100s: reinit is for continuous-time states only", v->name);
}

//------------------------------------ aliases ------------------------------------

static bool is_set_from_outside(const cpl_variable* v) {
  return v->causality == CPL_CAUSALITY_INPUT || v->causality == CPL_CAUSALITY_PARAMETER;
}

static void check_alias(inspection* in, const cpl_variable* v) {
  if (in->fmu->version != 2) return;  // FMI 1.0 and 3.0 say of each alias that it is one
  const cpl_variable* first = &in->desc->vars[v->alias_of];
  const char* text = NULL;
  if (v->type != first->type) {
    text = "they have different types";
  } else if (is_set_from_outside(v) && is_set_from_outside(first)) {
    text = "only one of them may be an input or a parameter";
  } else if ((v->variability == CPL_VARIABILITY_CONSTANT) !=
             (first->variability == CPL_VARIABILITY_CONSTANT)) {
    text = "a constant can only be an alias of a constant";
  } else if (v->variability != CPL_VARIABILITY_CONSTANT && v->has_start && first->has_start &&
             v->type != CPL_STRING && v->start != first->start) {
    text = "their start values differ";
  } else if (v->unit >= 0 && first->unit >= 0 && v->unit != first->unit) {
    text = "they have different units";
  }
  if (text == NULL) return;
  WARN(in, v->line, "alias",
       "%.100s and %.100s (line %d) share valueReference %u, but %s: give them different ones",
       v->name, first->name, first->line, v->ref, text);
}

//------------------------------------ states and structure ------------------------------------

static int32_t first_alias(const cpl_description* d, int32_t var) {
  return d->vars[var].alias_of >= 0 ? d->vars[var].alias_of : var;
}

static const char* derivatives_list(const inspection* in) {
  return in->fmu->version == 3 ? "<ContinuousStateDerivative>" : "<Derivatives>";
}

static void check_state(inspection* in, int32_t i) {
  const cpl_description* d = in->desc;
  if (d->derivatives[i] < 0) return;  // FMI 1.0 only counts them
  const cpl_variable* dx = &d->vars[d->derivatives[i]];
  if (dx->type != CPL_REAL) {
    WARN(in, dx->line, "state", "%.100s stands in %s but is not Real", dx->name,
         derivatives_list(in));
  }
  if (d->states[i] < 0) {
    WARN(in, dx->line, "state",
         "%.100s stands in %s but does not say which state it belongs to: add the attribute "
         "derivative",
         dx->name, derivatives_list(in));
    return;
  }
  const cpl_variable* x = &d->vars[d->states[i]];
  if (x->type != CPL_REAL || x->variability != CPL_VARIABILITY_CONTINUOUS) {
    WARN(in, x->line, "state", "%.100s is a state and must be Real and continuous", x->name);
  }
  if (x->causality != CPL_CAUSALITY_LOCAL && x->causality != CPL_CAUSALITY_OUTPUT) {
    WARN(in, x->line, "state", "%.100s is a state; its causality must be local or output", x->name);
  }
  int32_t first = first_alias(d, d->states[i]);
  if (in->is_state[first]) {
    WARN(in, dx->line, "state", "%.100s is the second derivative listed for state %.100s", dx->name,
         x->name);
  }
  in->is_state[first] = true;
}

static void check_derivative(inspection* in, int32_t i) {
  const cpl_variable* v = &in->desc->vars[i];
  if (v->derivative_of < 0) return;
  const cpl_variable* x = &in->desc->vars[v->derivative_of];
  if (v->derivative_of == i) {
    WARN(in, v->line, "state", "%.100s is declared as the derivative of itself", v->name);
  } else if (x->type != CPL_REAL) {
    WARN(in, v->line, "state", "%.100s is declared as the derivative of %.100s, which is not Real",
         v->name, x->name);
  }
}

// A value computed at the start must be listed under any of its names; reported once.
static void want_listed(inspection* in, int32_t var, const char* what) {
  const cpl_variable* v = &in->desc->vars[var];
  bool computed = v->initial == CPL_INITIAL_APPROX || v->initial == CPL_INITIAL_CALCULATED;
  int32_t first = first_alias(in->desc, var);
  if (!computed || in->listed[first] || in->clocked[var]) return;
  in->listed[first] = true;
  if (is_repeated(in, v)) return;
  WARN(in, v->line, "structure", "%s %.100s is missing in <%s>", what, v->name,
       in->fmu->version == 3 ? "InitialUnknown" : "InitialUnknowns");
}

static void check_initial_unknowns(inspection* in) {
  const cpl_description* d = in->desc;
  const cpl_structure* s = &d->structure;
  if (in->fmu->version == 1) return;
  for (int32_t i = 0; i < s->n_initial; i++) in->listed[first_alias(d, s->initial[i].var)] = true;
  for (int32_t i = 0; i < d->n_vars; i++) {
    uint8_t causality = d->vars[i].causality;
    if (causality == CPL_CAUSALITY_OUTPUT) want_listed(in, i, "output");
    if (causality == CPL_CAUSALITY_CALCULATED_PARAMETER) want_listed(in, i, "calculated parameter");
  }
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] >= 0) want_listed(in, d->states[i], "state");
    if (d->derivatives[i] >= 0) want_listed(in, d->derivatives[i], "derivative");
  }
}

// FMI 2.0: outputs and derivatives depend on inputs, states and the time, in order of the file.
static void check_dependencies(inspection* in, const cpl_unknown* row) {
  const cpl_description* d = in->desc;
  const cpl_variable* v = &d->vars[row->var];
  bool ordered = true;
  for (int32_t k = 0; k < row->count; k++) {
    const int32_t* dep = &d->structure.deps[row->first + k];
    const cpl_variable* u = &d->vars[*dep];
    ordered = ordered && (k == 0 || dep[-1] < dep[0]);
    bool known = u->causality == CPL_CAUSALITY_INPUT || u->causality == CPL_CAUSALITY_INDEPENDENT ||
                 u->causality == CPL_CAUSALITY_PARAMETER || in->is_state[first_alias(d, *dep)];
    if (!known) {
      WARN(in, v->line, "structure",
           "dependencies of %.100s: %.100s is neither an input nor a state nor the time", v->name,
           u->name);
    }
  }
  if (!ordered)
    WARN(in, v->line, "structure", "dependencies of %.100s are not in ascending order", v->name);
}

static void check_structure(inspection* in) {
  const cpl_description* d = in->desc;
  int32_t clocks = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    check_variable(in, v);
    check_derivative(in, i);
    if (v->alias_of >= 0) check_alias(in, v);
    if (v->causality == CPL_CAUSALITY_INDEPENDENT && clocks++ > 0)
      WARN(in, v->line, "independent", "%.100s is a second independent variable", v->name);
  }
  if (clocks == 0 && in->fmu->version == 3)
    WARN(in, 0, "independent", "there is no variable with causality=\"independent\": add the time");
  for (int32_t i = 0; i < d->n_states; i++) check_state(in, i);
  check_initial_unknowns(in);
  const cpl_structure* s = &d->structure;
  if (in->fmu->version != 2) return;
  for (int32_t i = 0; i < s->n_outputs; i++) check_dependencies(in, &s->outputs[i]);
  for (int32_t i = 0; i < s->n_derivatives; i++) check_dependencies(in, &s->derivatives[i]);
}

//------------------------------------ clocks and types ------------------------------------

static void check_clock(inspection* in, const cpli_clock* c) {
  const cpl_variable* v = &in->desc->vars[c->var];
  bool periodic = c->interval == CPLI_INTERVAL_CONSTANT || c->interval == CPLI_INTERVAL_FIXED ||
                  c->interval == CPLI_INTERVAL_TUNABLE;
  const char* interval = cpli_interval_name((cpli_interval)c->interval);
  if (v->causality != CPL_CAUSALITY_INPUT && v->causality != CPL_CAUSALITY_OUTPUT &&
      v->causality != CPL_CAUSALITY_LOCAL)
    WARN(in, v->line, "clock", "Clock %.100s must be an input, an output or local", v->name);
  if (periodic && !c->has_interval && !c->has_counter) {
    WARN(in, v->line, "clock",
         "Clock %.100s with intervalVariability %s needs intervalDecimal, or intervalCounter and "
         "resolution",
         v->name, interval);
  }
  if (!periodic && (c->has_interval || c->has_counter)) {
    WARN(in, v->line, "clock", "Clock %.100s with intervalVariability %s must have no interval",
         v->name, interval);
  }
  if (in->fmu->se.present && v->causality == CPL_CAUSALITY_INPUT && !c->has_priority)
    WARN(in, v->line, "clock",
         "Clock %.100s has no priority, which scheduled execution needs: it comes last", v->name);
  if (in->fmu->se.present && v->causality == CPL_CAUSALITY_LOCAL)
    WARN(in, v->line, "clock", "Clock %.100s is local, which scheduled execution does not allow",
         v->name);
  if (c->has_interval && !(c->interval_decimal > 0))
    WARN(in, v->line, "clock", "intervalDecimal of Clock %.100s must be positive", v->name);
  if (periodic && c->supports_fraction && !c->has_counter) {
    WARN(in, v->line, "clock",
         "Clock %.100s has supportsFraction and needs intervalCounter and resolution", v->name);
  }
}

static void check_items(inspection* in, const cpl_type_def* t) {
  for (int32_t i = 1; i < t->n_items && i < 1000; i++) {
    for (int32_t k = 0; k < i; k++) {
      if (t->items[k].value != t->items[i].value) continue;
      WARN(in, 0, "type", "items %.60s and %.60s of type %.100s have the same value",
           t->items[k].name, t->items[i].name, t->name);
    }
  }
}

//------------------------------------ files ------------------------------------

static void check_kind(inspection* in, const cpli_fmu_kind* kind) {
  const cpl_fmu* fmu = in->fmu;
  if (!kind->present || kind->tool_coupling || cpli_fmu_has_binary(fmu, kind->identifier)) return;
  const char *platform = fmu->platform, *suffix = cpli_fmu_library_suffix();
  const bool foreign = fmu->foreign != NULL &&
                       cpli_platform_is_ready(fmu->arena.ctx, fmu->foreign) &&
                       cpli_fmu_has_foreign(fmu, fmu->foreign, kind->identifier, NULL);
  cpli_severity severity = fmu->has_sources || foreign ? CPLI_WARNING : CPLI_ERROR;
  char rest[128] = "";
  if (fmu->has_sources) snprintf(rest, sizeof rest, "; it will be compiled from sources");
  else if (foreign)
    snprintf(rest, sizeof rest, ": the one for %s will be used", fmu->foreign_folder);
  if (fmu->n_binaries > 0) {
    cpli_findings_add(in->out, severity, kind->line, "binary",
                      "binaries/%s/%.100s%s is missing, although there are other files: "
                      "modelIdentifier and the name of the library must agree%s",
                      platform, kind->identifier, suffix, rest);
  } else {
    cpli_findings_add(in->out, severity, kind->line, "binary",
                      "there is no binaries/%s/%.100s%s for this platform%s%s", platform,
                      kind->identifier, suffix, fmu->has_sources ? "" : " and there are no sources",
                      rest);
  }
}

static bool is_identifier(const char* text) {
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return text[n] == '\0' && !(text[0] >= '0' && text[0] <= '9');
}

static void check_flags(inspection* in, const cpli_fmu_kind* kind) {
  if (!kind->present) return;
  if (!is_identifier(kind->identifier))
    WARN(in, kind->line, "identifier", "modelIdentifier \"%.100s\" is no identifier of C",
         kind->identifier);
  if (kind->can.serialize && !kind->can.save_restore) {
    WARN(in, kind->line, "flags",
         "states that can be serialized must be able to be saved: set canGetAndSetFMU%s",
         in->fmu->version == 3 ? "State" : "state");
  }
  if (kind->early_return_on_request && !kind->intermediate_update) {
    WARN(in, kind->line, "flags",
         "canReturnEarlyAfterIntermediateUpdate needs providesIntermediateUpdate");
  }
}

static void copy_findings(const cpli_findings* from, cpli_findings* to) {
  for (size_t i = 0; i < from->count; i++) {
    const cpli_finding* f = &from->items[i];
    cpli_findings_add(to, f->severity, f->line, f->rule, "%s", f->text);
  }
}

static void check_kinds(inspection* in) {
  const cpli_fmu_kind* kinds[] = {&in->fmu->me, &in->fmu->cs, &in->fmu->se};
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    bool told = false;  // one library is often used for several kinds
    for (size_t k = 0; k < i && kinds[i]->present; k++)
      told = told || (kinds[k]->present && strcmp(kinds[k]->identifier, kinds[i]->identifier) == 0);
    if (!told) check_kind(in, kinds[i]);
    check_flags(in, kinds[i]);
  }
}

static void check_all(inspection* in) {
  const cpl_fmu* fmu = in->fmu;
  for (int32_t i = 0; i < fmu->n_clocked; i++) in->clocked[fmu->clocked[i].var] = true;
  for (int32_t i = 0; i < fmu->n_clocks; i++) in->clocked[fmu->clocks[i].var] = true;
  copy_findings(&fmu->findings, in->out);
  if (fmu->guid[0] == '\0') {
    WARN(in, 0, "required", "%s is empty", fmu->version == 3 ? "instantiationToken" : "guid");
  }
  check_kinds(in);
  check_structure(in);
  for (int32_t i = 0; i < fmu->n_clocks; i++) check_clock(in, &fmu->clocks[i]);
  for (int32_t i = 0; i < fmu->desc.n_types; i++) check_items(in, &fmu->desc.types[i]);
  cpli_check_files(fmu, in->out);
  cpli_findings_sort(in->out);
}

cpl_status cpli_fmu_check(const cpl_fmu* fmu, cpli_findings* out) {
  cpl_context* ctx = fmu->arena.ctx;
  cpli_findings_init(out, ctx);
  size_t n = (size_t)fmu->desc.n_vars;
  bool* marks = cpli_alloc(ctx, 3 * n, sizeof *marks);
  inspection in = {.fmu = fmu, .desc = &fmu->desc, .out = out};
  if (marks != NULL) {
    in.is_state = marks;
    in.listed = marks + n;
    in.clocked = marks + 2 * n;
    check_all(&in);
  } else {
    out->incomplete = true;
  }
  cpli_free(ctx, marks);
  return out->incomplete ? cpli_nomem(ctx) : CPL_OK;
}
