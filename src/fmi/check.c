// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/check.h"

#include <math.h>

#include "format/scan.h"

// One look at an FMU.
typedef struct inspection {
  const cpl_fmu* fmu;
  const cpl_description* desc;
  cpli_findings* out;
} inspection;

#define WARN(in, line, rule, ...) \
  cpli_findings_add((in)->out, CPLI_WARNING, line, rule, __VA_ARGS__)

//------------------------------------ single variables ------------------------------------

static bool needs_start(const cpl_variable* v) {
  return v->causality == CPL_INPUT || v->causality == CPL_PARAMETER ||
         v->variability == CPL_CONSTANT || v->initial == CPL_INITIAL_EXACT ||
         v->initial == CPL_INITIAL_APPROX;
}

static void check_start(inspection* in, const cpl_variable* v) {
  if (needs_start(v)) {
    if (!v->has_start) WARN(in, v->line, "start", "%.100s needs a start value: add start", v->name);
    return;
  }
  if (!v->has_start) return;
  if (v->causality == CPL_INDEPENDENT) {
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
  if (v->type == CPL_STRING || v->type == CPL_BOOLEAN) return;
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
  if (v->reinit && (v->type != CPL_REAL || v->variability != CPL_CONTINUOUS))
    WARN(in, v->line, "state", "%.100s: reinit is for continuous-time states only", v->name);
}

//------------------------------------ aliases ------------------------------------

static bool is_set_from_outside(const cpl_variable* v) {
  return v->causality == CPL_INPUT || v->causality == CPL_PARAMETER;
}

static void check_alias(inspection* in, const cpl_variable* v) {
  const cpl_variable* first = &in->desc->vars[v->alias_of];
  const char* text = NULL;
  if (v->type != first->type) {
    text = "they have different types";
  } else if (is_set_from_outside(v) && is_set_from_outside(first)) {
    text = "only one of them may be an input or a parameter";
  } else if ((v->variability == CPL_CONSTANT) != (first->variability == CPL_CONSTANT)) {
    text = "a constant can only be an alias of a constant";
  } else if (v->variability != CPL_CONSTANT && v->has_start && first->has_start &&
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

static void check_state(inspection* in, int32_t i, bool* is_state) {
  const cpl_description* d = in->desc;
  if (d->derivatives[i] < 0) return;  // FMI 1.0 only counts them
  const cpl_variable* dx = &d->vars[d->derivatives[i]];
  if (dx->type != CPL_REAL) {
    WARN(in, dx->line, "state", "%.100s stands in <Derivatives> but is not Real", dx->name);
  }
  if (d->states[i] < 0) {
    WARN(in, dx->line, "state",
         "%.100s stands in <Derivatives> but does not say which state it belongs to: add the "
         "attribute derivative",
         dx->name);
    return;
  }
  const cpl_variable* x = &d->vars[d->states[i]];
  if (x->type != CPL_REAL || x->variability != CPL_CONTINUOUS) {
    WARN(in, x->line, "state", "%.100s is a state and must be Real and continuous", x->name);
  }
  if (x->causality != CPL_LOCAL && x->causality != CPL_OUTPUT) {
    WARN(in, x->line, "state", "%.100s is a state; its causality must be local or output", x->name);
  }
  int32_t first = first_alias(d, d->states[i]);
  if (is_state[first]) {
    WARN(in, dx->line, "state", "%.100s is the second derivative listed for state %.100s", dx->name,
         x->name);
  }
  is_state[first] = true;
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

// A value computed at the start must stand in the list, under any of its names; told once.
static void want_listed(inspection* in, bool* listed, int32_t var, const char* what) {
  const cpl_variable* v = &in->desc->vars[var];
  bool computed = v->initial == CPL_INITIAL_APPROX || v->initial == CPL_INITIAL_CALCULATED;
  int32_t first = first_alias(in->desc, var);
  if (!computed || listed[first]) return;
  listed[first] = true;
  WARN(in, v->line, "structure", "%s %.100s is missing in <InitialUnknowns>", what, v->name);
}

static void check_initial_unknowns(inspection* in, bool* listed) {
  const cpl_description* d = in->desc;
  const cpl_structure* s = &d->structure;
  for (int32_t i = 0; i < s->n_initial; i++) listed[first_alias(d, s->initial[i].var)] = true;
  for (int32_t i = 0; i < d->n_vars; i++) {
    uint8_t causality = d->vars[i].causality;
    if (causality == CPL_OUTPUT) want_listed(in, listed, i, "output");
    if (causality == CPL_CALCULATED_PARAMETER) want_listed(in, listed, i, "calculated parameter");
  }
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] >= 0) want_listed(in, listed, d->states[i], "state");
    if (d->derivatives[i] >= 0) want_listed(in, listed, d->derivatives[i], "derivative");
  }
}

static void check_structure(inspection* in, bool* is_state, bool* listed) {
  const cpl_description* d = in->desc;
  int32_t clocks = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    check_variable(in, v);
    check_derivative(in, i);
    if (v->alias_of >= 0) check_alias(in, v);
    if (v->causality == CPL_INDEPENDENT && clocks++ > 0)
      WARN(in, v->line, "independent", "%.100s is a second independent variable", v->name);
  }
  for (int32_t i = 0; i < d->n_states; i++) check_state(in, i, is_state);
  check_initial_unknowns(in, listed);
}

//------------------------------------ files ------------------------------------

static void check_kind(inspection* in, const cpli_fmu_kind* kind) {
  const cpl_fmu* fmu = in->fmu;
  if (!kind->present || cpli_fmu_has_binary(fmu, kind->identifier)) return;
  const char *platform = fmu->platform, *suffix = cpli_fmu_library_suffix();
  cpli_severity severity = fmu->has_sources ? CPLI_WARNING : CPLI_ERROR;
  const char* rest = fmu->has_sources ? "; it will be compiled from sources" : "";
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

static void copy_findings(const cpli_findings* from, cpli_findings* to) {
  for (size_t i = 0; i < from->count; i++) {
    const cpli_finding* f = &from->items[i];
    cpli_findings_add(to, f->severity, f->line, f->rule, "%s", f->text);
  }
}

cpl_status cpli_fmu_check(const cpl_fmu* fmu, cpli_findings* out) {
  cpl_context* ctx = fmu->arena.ctx;
  cpli_findings_init(out, ctx);
  inspection in = {.fmu = fmu, .desc = &fmu->desc, .out = out};
  bool* is_state = cpli_alloc(ctx, (size_t)fmu->desc.n_vars, sizeof *is_state);
  bool* listed = cpli_alloc(ctx, (size_t)fmu->desc.n_vars, sizeof *listed);
  if (is_state != NULL && listed != NULL) {
    copy_findings(&fmu->findings, out);
    check_kind(&in, &fmu->me);
    // one library is often used for both kinds: told once
    if (!fmu->me.present || !fmu->cs.present ||
        strcmp(fmu->me.identifier, fmu->cs.identifier) != 0) {
      check_kind(&in, &fmu->cs);
    }
    check_structure(&in, is_state, listed);
    cpli_findings_sort(out);
  } else {
    out->incomplete = true;
  }
  cpli_free(ctx, is_state);
  cpli_free(ctx, listed);
  return out->incomplete ? cpli_nomem(ctx) : CPL_OK;
}
