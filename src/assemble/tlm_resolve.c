// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Resolves the names in the sections `interfaces:` and `tlm:`.
#include <math.h>
#include <stdlib.h>

#include "assemble/tlm.h"
#include "system/lines.h"

typedef struct finder {
  cpli_built* b;
  cpli_functions* f;
  const cpli_interface* from;
  cpl_tlm_interface* to;
} finder;

static cpl_context* ctx_of(const finder* f) { return f->b->base.ctx; }

static cpl_status constant(const finder* f, const cpli_located_text* text, double* out) {
  return text->text == NULL ? CPL_OK
                            : cpli_constant_of_text(f->f, text, f->b->parameters, f->b->known, out);
}

//------------------------------------ variables ------------------------------------

// "#17": a value reference, as in fmi.config. Among aliases an input is preferred where one is
// needed.
static int32_t by_reference(const cpl_description* d, const char* digits, bool input) {
  char* end;
  unsigned long ref = strtoul(digits, &end, 10);
  int32_t found = -1;
  if (*end != '\0' || end == digits) return -1;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->type != CPL_REAL || v->ref != ref) continue;
    if (found < 0 || (input && v->causality == CPL_CAUSALITY_INPUT)) found = i;
  }
  return found;
}

static cpl_status find_variable(const finder* f, const cpli_located_text* name, bool input,
                                int32_t* out) {
  const cpl_source* source = f->b->sources[f->to->part];
  const cpl_description* d = source->desc;
  bool reference = name->text[0] == '#';
  *out = reference ? by_reference(d, name->text + 1, input) : cpl_find_variable(d, name->text);
  if (*out < 0 && reference)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &name->loc,
                        "%s: no Real of the model has the value reference %s", f->to->name,
                        name->text + 1);
  if (*out < 0) {
    cpl_status st = cpl_require_variable(ctx_of(f), d, name->text, out);
    return cpli_fail_prefix_at(ctx_of(f), st, &name->loc, "%s", f->to->name);
  }
  const cpl_variable* v = &d->vars[*out];
  if (v->type != CPL_REAL)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &name->loc, "%s: %s is not a Real", f->to->name,
                        v->name);
  if (input && v->causality != CPL_CAUSALITY_INPUT)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &name->loc,
                        "%s: %s is not an input of the model, so it cannot take a force",
                        f->to->name, v->name);
  return CPL_OK;
}

// n variables: as many names, or the name of an array.
static cpl_status find_list(const finder* f, int which, int32_t n, bool input, int32_t* out) {
  const cpli_list* l = &f->from->lists[which];
  const cpl_description* d = f->b->sources[f->to->part]->desc;
  cpl_status st = CPL_OK;
  if (l->n == 0) return CPL_OK;
  for (int32_t a = 0; a < d->n_arrays && l->n == 1 && n > 1; a++) {
    const cpl_array* array = &d->arrays[a];
    if (strcmp(array->name, l->items[0].text) != 0 || array->count != n) continue;
    for (int32_t i = 0; i < n; i++) out[i] = array->first + i;
    return CPL_OK;
  }
  if (l->n != (size_t)n)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &l->items[0].loc,
                        "%s: %d variables are needed here, not %zu", f->to->name, (int)n, l->n);
  for (int32_t i = 0; i < n && st >= 0; i++) st = find_variable(f, &l->items[i], input, &out[i]);
  return st;
}

static cpl_status find_forces(const finder* f, bool three) {
  const cpli_list* l = &f->from->lists[CPLI_LIST_FORCE];
  if (!three) return find_list(f, CPLI_LIST_FORCE, 1, true, f->to->force);
  if (l->n == CPL_TLM_WIDTH)
    return find_list(f, CPLI_LIST_FORCE, CPL_TLM_WIDTH, true, f->to->force);
  cpl_status st = find_list(f, CPLI_LIST_FORCE, 3, true, f->to->force);
  return st < 0 ? st : find_list(f, CPLI_LIST_TORQUE, 3, true, f->to->force + 3);
}

static cpl_status find_value(const finder* f) {
  int32_t var = -1;
  cpl_status st = find_list(f, CPLI_LIST_VALUE, 1, false, &var);
  if (st < 0 || var < 0) return st;
  bool input = f->b->sources[f->to->part]->desc->vars[var].causality == CPL_CAUSALITY_INPUT;
  *(input ? f->to->force : f->to->speed) = var;
  return CPL_OK;
}

// The start value of a force is that of the model, or of the file.
static cpl_status find_start_forces(const finder* f) {
  const cpli_member* m = &f->b->def->models[f->to->part];
  const cpl_description* d = f->b->sources[f->to->part]->desc;
  double sign = f->to->sign != 0 ? f->to->sign : 1;
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < CPL_TLM_WIDTH; k++) {
    if (f->to->force[k] < 0) continue;
    const cpl_variable* v = &d->vars[f->to->force[k]];
    double start = v->has_start ? v->start : 0;
    for (size_t i = 0; i < m->n_starts && st >= 0; i++) {
      if (strcmp(m->starts[i].name.text, v->name) == 0)
        st = cpli_constant_in_unit(f->b, f->f, &m->starts[i].value, v->name,
                                   v->unit >= 0 ? &d->units[v->unit] : NULL, v->relative_quantity,
                                   &start);
    }
    f->to->start_force[k] = start / sign;
  }
  return st;
}

//------------------------------------ frames ------------------------------------

// Rotation about z, then y, then x: common = Rz Ry Rx own.
static void rotation_of(const double* angles, double* r) {
  double s1 = sin(angles[0]), c1 = cos(angles[0]), s2 = sin(angles[1]), c2 = cos(angles[1]),
         s3 = sin(angles[2]), c3 = cos(angles[2]);
  const double m[9] = {c3 * c2,
                       c3 * s2 * s1 - s3 * c1,
                       c3 * s2 * c1 + s3 * s1,
                       s3 * c2,
                       s3 * s2 * s1 + c3 * c1,
                       s3 * s2 * c1 - c3 * s1,
                       -s2,
                       c2 * s1,
                       c2 * c1};
  memcpy(r, m, sizeof m);
}

static cpl_status read_numbers(const finder* f, int which, const char* what, double* out) {
  const cpli_list* l = &f->from->lists[which];
  cpl_status st = CPL_OK;
  if (l->n == 0) return CPL_OK;
  if (l->n != 3)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &l->items[0].loc,
                        "%s: %s has three numbers, not %zu", f->from->name.text, what, l->n);
  for (int i = 0; i < 3 && st >= 0; i++) st = constant(f, &l->items[i], &out[i]);
  return st;
}

//------------------------------------ models ------------------------------------

static cpl_status resolve_model(finder* f, struct cpli_tlm_plan* plan, int32_t model) {
  const cpli_interface* from = f->from;
  cpli_tlm_setting* s = &plan->settings[model];
  double substeps = 2;
  *s = (cpli_tlm_setting){
      .solver = from->solver.text, .solver_place = from->solver.loc, .substeps = 2, .given = true};
  if (from->hold.text != NULL && !cpl_tlm_hold_by_name(from->hold.text, &s->hold))
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &from->hold.loc,
                        "hold: %s is not known (middle, linear, start)", from->hold.text);
  cpl_status st = constant(f, &from->substeps, &substeps);
  if (st >= 0 && (!(substeps >= 1) || substeps > 1e6 || substeps != floor(substeps)))
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &from->substeps.loc,
                        "substeps: %s is not a positive integer", from->substeps.text);
  if (st >= 0) s->substeps = (int32_t)substeps;
  cpl_solver_kind kind;
  if (st >= 0 && s->solver != NULL && !cpl_solver_by_name(s->solver, &kind))
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &from->solver.loc, "solver: %s is not known",
                        s->solver);
  double origin[3] = {0}, angles[3] = {0}, rotation[9];
  if (st >= 0) st = read_numbers(f, CPLI_LIST_ORIGIN, "origin", origin);
  if (st >= 0) st = read_numbers(f, CPLI_LIST_ANGLES, "angles", angles);
  rotation_of(angles, rotation);
  for (int32_t i = 0; i < plan->n_interfaces; i++) {
    if (plan->interfaces[i].part != model) continue;
    memcpy(plan->interfaces[i].origin, origin, sizeof origin);
    if (from->lists[CPLI_LIST_ANGLES].n > 0)
      memcpy(plan->interfaces[i].rotation, rotation, sizeof rotation);
  }
  return st;
}

// The model whose name is the first part of an interface name.
static cpl_status find_model(const finder* f, int32_t* out) {
  const cpli_located_text* name = &f->from->name;
  const char* interface;
  *out = cpli_names_find(&f->b->def->model_names, name->text);
  if (*out < 0) *out = cpli_split_name(f->b->def, name->text, &interface);
  return *out >= 0 ? CPL_OK
                   : cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &name->loc,
                                  "interfaces: there is no model %.*s",
                                  (int)strcspn(name->text, "."), name->text);
}

static cpl_status resolve_interface(finder* f) {
  cpl_tlm_interface* to = f->to;
  if (!cpl_tlm_kind_by_name(f->from->kind.text, &to->kind))
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &f->from->kind.loc, "kind: %s is not known (%s)",
                        f->from->kind.text, cpl_tlm_kind_names());
  bool three = to->kind == CPL_TLM_3D;
  cpl_status st = constant(f, &f->from->sign, &to->sign);
  if (st >= 0 && to->sign != 1 && to->sign != -1)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &f->from->sign.loc, "sign: it must be 1 or -1");
  if (to->kind == CPL_TLM_SIGNAL) return st < 0 ? st : find_value(f);
  if (st >= 0) st = find_list(f, CPLI_LIST_POSITION, three ? 3 : 1, false, to->position);
  if (st >= 0 && three) st = find_list(f, CPLI_LIST_ORIENTATION, 9, false, to->orientation);
  if (st >= 0) st = find_list(f, CPLI_LIST_SPEED, three ? 3 : 1, false, to->speed);
  if (st >= 0 && three) st = find_list(f, CPLI_LIST_ANGULAR_SPEED, 3, false, to->speed + 3);
  if (st >= 0) st = find_forces(f, three);
  return st < 0 ? st : find_start_forces(f);
}

//------------------------------------ lines ------------------------------------

static const char* interface_at(const void* user, size_t i) {
  return ((const cpl_tlm_interface*)user)[i].name;
}

static cpl_status find_interface(const finder* f, const struct cpli_tlm_plan* plan,
                                 const cpli_located_text* name, int32_t* out) {
  char near[512];
  for (*out = 0; *out < plan->n_interfaces; (*out)++) {
    if (strcmp(plan->interfaces[*out].name, name->text) == 0) return CPL_OK;
  }
  cpli_did_you_mean(name->text, interface_at, plan->interfaces, (size_t)plan->n_interfaces, near,
                    sizeof near);
  return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &name->loc, "there is no interface %s%s",
                      name->text, near);
}

// Waves are not converted: both ends of a line have the same unit.
static cpl_status check_units(const finder* f, const cpli_line* line, const cpl_tlm_interface* a,
                              int32_t var, const cpl_tlm_interface* b, int32_t other) {
  double factor, offset;
  if (var < 0 || other < 0) return CPL_OK;
  cpli_ref from = {CPLI_REF_VARIABLE, a->part, var}, to = {CPLI_REF_VARIABLE, b->part, other};
  cpl_status st = cpli_relate_refs(&f->b->resolver, &line->loc, to, from, &factor, &offset);
  if (st < 0 || (factor == 1 && offset == 0)) return st;
  const cpl_variable *v = cpli_ref_variable(&f->b->resolver, from),
                     *w = cpli_ref_variable(&f->b->resolver, to);
  return cpli_fail_at(
      ctx_of(f), CPL_ERR_INPUT, &line->loc,
      "the line from %s to %s: %s is in %s and %s in %s; both ends of a line must have "
      "the same units",
      a->name, b->name, v->name, f->b->sources[a->part]->desc->units[v->unit].name, w->name,
      f->b->sources[b->part]->desc->units[w->unit].name);
}

static cpl_status check_line_units(const finder* f, const cpli_line* line,
                                   const cpl_tlm_interface* a, const cpl_tlm_interface* b) {
  if (a->kind == CPL_TLM_SIGNAL) return check_units(f, line, a, a->speed[0], b, b->force[0]);
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < CPL_TLM_WIDTH && st >= 0; k++) {
    st = check_units(f, line, a, a->speed[k], b, b->speed[k]);
    if (st >= 0) st = check_units(f, line, a, a->force[k], b, b->force[k]);
  }
  return st;
}

static cpl_status resolve_line(finder* f, struct cpli_tlm_plan* plan, const cpli_line* from) {
  cpl_tlm_line* l = &plan->lines[plan->n_lines++];
  *l = (cpl_tlm_line){.compensate = from->compensate, .apart = from->apart};
  cpl_status st = find_interface(f, plan, &from->from, &l->from);
  if (st >= 0) st = find_interface(f, plan, &from->to, &l->to);
  if (st >= 0) st = constant(f, &from->delay, &l->delay);
  if (st >= 0) st = constant(f, &from->zf, &l->zf);
  if (st >= 0) st = constant(f, &from->zfr, &l->zfr);
  if (st >= 0) st = constant(f, &from->alpha, &l->alpha);
  if (st < 0) return st;
  const char* fault = cpl_tlm_line_fault(l, plan->interfaces);
  if (fault != NULL)
    return cpli_fail_at(ctx_of(f), CPL_ERR_INPUT, &from->loc, "the line from %s to %s: %s",
                        from->from.text, from->to.text, fault);
  st = check_line_units(f, from, &plan->interfaces[l->from], &plan->interfaces[l->to]);
  if (st < 0) return st;
  int32_t ends[2] = {l->from, l->to};
  for (int i = 0; i < 2; i++) {
    const cpl_tlm_interface* e = &plan->interfaces[ends[i]];
    if (e->kind != CPL_TLM_SIGNAL && !f->b->is_stepper[e->part])
      plan->n_waves += e->kind == CPL_TLM_3D ? CPL_TLM_WIDTH : 1;
  }
  return CPL_OK;
}

cpl_status cpli_tlm_resolve(cpli_built* b, cpli_functions* functions) {
  const cpl_system_def* d = b->def;
  if (d->n_lines == 0) return CPL_OK;
  struct cpli_tlm_plan* plan = b->tlm = cpli_alloc(b->base.ctx, 1, sizeof *plan);
  if (plan == NULL) return cpli_nomem(b->base.ctx);
  cpli_arena_init(&plan->arena, b->base.ctx);
  plan->interfaces = cpli_arena_alloc(&plan->arena, d->n_interfaces, sizeof *plan->interfaces);
  plan->lines = cpli_arena_alloc(&plan->arena, d->n_lines, sizeof *plan->lines);
  plan->settings = cpli_arena_alloc(&plan->arena, d->n_models, sizeof *plan->settings);
  if (plan->interfaces == NULL || plan->lines == NULL || plan->settings == NULL)
    return cpli_nomem(b->base.ctx);
  finder f = {b, functions, NULL, NULL};
  cpl_status st = CPL_OK;
  for (int whole = 0; whole < 2; whole++) {  // models after their interfaces
    for (size_t i = 0; i < d->n_interfaces && st >= 0; i++) {
      int32_t model;
      f.from = &d->interfaces[i];
      if ((strchr(f.from->name.text, '.') == NULL) != (whole == 1)) continue;
      st = find_model(&f, &model);
      if (st >= 0 && whole == 1) st = resolve_model(&f, plan, model);
      if (st < 0 || whole == 1) continue;
      f.to = &plan->interfaces[plan->n_interfaces++];
      *f.to = cpl_default_tlm_interface();
      f.to->name = f.from->name.text;
      f.to->part = model;
      st = resolve_interface(&f);
    }
  }
  for (size_t i = 0; i < d->n_lines && st >= 0; i++) st = resolve_line(&f, plan, &d->lines[i]);
  return st;
}

void cpli_tlm_plan_free(cpli_built* b) {
  if (b->tlm == NULL) return;
  cpli_arena_free(&b->tlm->arena);
  cpli_free(b->base.ctx, b->tlm);
}
