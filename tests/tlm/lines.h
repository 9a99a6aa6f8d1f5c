// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models at the ends of lines, and a way to couple and run them.
#pragma once

#include "testing.h"

#define END_OF_LIST \
  { 0 }

// m v' = F, x' = v
static int mass_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = v->u[0] / v->p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration mass_states[] = {
    {"x", .output = true}, {"v", .output = true}, END_OF_LIST};
static const cpl_declaration mass_inputs[] = {{"F"}, END_OF_LIST};
static const cpl_declaration mass_parameters[] = {{"m", .start = 1}, END_OF_LIST};
static const cpl_model_def mass_model = {.name = "mass",
                                         .states = mass_states,
                                         .inputs = mass_inputs,
                                         .parameters = mass_parameters,
                                         .derivatives = mass_derivatives};

typedef struct bench {
  cpl_context* ctx;
  cpl_source* sources[32];
  int n_sources;
  cpl_tlm_part parts[32];
  cpl_tlm_interface interfaces[64];
  cpl_tlm_line lines[32];
  cpl_tlm_def def;
  cpl_stepper* s;
} bench;

static inline bench bench_make(void) {
  bench b = {.ctx = test_context(), .def = cpl_default_tlm_def()};
  return b;
}

static inline cpl_model* bench_model(bench* b, const cpl_model_def* def, const char* name) {
  cpl_model* m = NULL;
  CHECK_OK(b->ctx, cpl_c_define(b->ctx, def, &b->sources[b->n_sources]));
  cpl_source* src = b->sources[b->n_sources++];
  CHECK_OK(b->ctx, src->ops->make_model(src, name, &m));
  return m;
}

static inline void bench_start(cpl_context* ctx, cpl_component* c, const char* name, double value) {
  int32_t var;
  CHECK_OK(ctx, cpl_require_variable(ctx, c->desc, name, &var));
  CHECK_OK(ctx, c->ops->set_real(c, &c->desc->vars[var].ref, 1, &value));
}

// A part that is a model with a solver, or a stepper that holds what it is told.
static inline int32_t bench_part(bench* b, cpl_model* m, bool stepper) {
  cpl_tlm_part* p = &b->parts[b->def.n_parts];
  *p = (cpl_tlm_part){.solver = cpl_default_solver_def()};
  p->solver.rtol = 1e-10;
  if (stepper) p->solver.kind = CPL_SOLVER_RK4, p->solver.step = 1;
  if (stepper) CHECK_OK(b->ctx, cpl_integrate(m, &p->solver, &p->stepper));
  else p->model = m;
  return b->def.n_parts++;
}

static inline const cpl_description* bench_desc(const bench* b, int32_t part) {
  const cpl_tlm_part* p = &b->parts[part];
  return p->model != NULL ? p->model->base.desc : p->stepper->base.desc;
}

static inline int32_t bench_interface(bench* b, int32_t part, const char* name, cpl_tlm_kind kind,
                                      const char* speed, const char* force) {
  cpl_tlm_interface* i = &b->interfaces[b->def.n_interfaces];
  *i = cpl_default_tlm_interface();
  i->name = name, i->part = part, i->kind = kind;
  const cpl_description* d = bench_desc(b, part);
  if (speed != NULL) i->speed[0] = cpl_find_variable(d, speed);
  if (force != NULL) i->force[0] = cpl_find_variable(d, force);
  return b->def.n_interfaces++;
}

static inline void bench_line(bench* b, int32_t from, int32_t to, double delay, double zf,
                              double alpha) {
  b->lines[b->def.n_lines++] =
      (cpl_tlm_line){.from = from, .to = to, .delay = delay, .zf = zf, .alpha = alpha};
}

static inline void bench_couple(bench* b) {
  b->def.parts = b->parts, b->def.interfaces = b->interfaces, b->def.lines = b->lines;
  CHECK_OK(b->ctx, cpl_tlm(b->ctx, &b->def, &b->s));
}

static inline void bench_begin(bench* b, double stop) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = stop};
  bench_couple(b);
  CHECK_OK(b->ctx, b->s->base.ops->setup(&b->s->base, &setup));
  CHECK_OK(b->ctx, b->s->base.ops->enter_init(&b->s->base));
  CHECK_OK(b->ctx, b->s->base.ops->exit_init(&b->s->base));
}

static inline void bench_step(bench* b, double t) {
  cpl_step_result r;
  CHECK_OK(b->ctx, b->s->ops->step(b->s, t, t, &r));
}

static inline double bench_value(bench* b, const char* name) {
  int32_t var;
  double v;
  CHECK_OK(b->ctx, cpl_require_variable(b->ctx, b->s->base.desc, name, &var));
  CHECK_OK(b->ctx, b->s->base.ops->get_real(&b->s->base, &b->s->base.desc->vars[var].ref, 1, &v));
  return v;
}

static inline void bench_end(bench* b) {
  if (b->s != NULL) b->s->base.ops->destroy(&b->s->base);
  for (int i = 0; i < b->n_sources; i++) b->sources[i]->ops->destroy(b->sources[i]);
  cpl_context_destroy(b->ctx);
}
