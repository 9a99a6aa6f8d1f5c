// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The end of a line as a component of a model: motion in, force out, the wave an input.
#include <math.h>

#include "tlm/tlm.h"

double cpli_kind_sigma(cpl_tlm_kind kind) {
  static const double sigmas[] = {
#define X(kind, name, sigma, stiffness, mass) [kind] = sigma,
      CPL_TLM_KIND_LIST(X)
#undef X
  };
  return sigmas[kind];
}

int32_t cpli_kind_width(cpl_tlm_kind kind) { return kind == CPL_TLM_3D ? CPLI_WIDTH : 1; }

static double alpha_factor(double alpha) { return 1 + 1.5 * alpha / (1 - alpha); }

double cpli_line_z(const cpl_tlm_line* line, int32_t component) {
  double z = component >= 3 && line->zfr > 0 ? line->zfr : line->zf;
  return line->compensate ? z * alpha_factor(line->alpha) : z;
}

cpl_tlm_facts cpl_tlm_line_facts(const cpl_tlm_line* line) {
  double factor = alpha_factor(line->alpha);
  double z = cpli_line_z(line, 0), zr = cpli_line_z(line, 3);
  return (cpl_tlm_facts){.factor = factor,
                         .stiffness = z / line->delay / factor,
                         .mass = z * line->delay * factor,
                         .stiffness_r = zr / line->delay / factor,
                         .mass_r = zr * line->delay * factor,
                         .frequency = 0.5 / line->delay};
}

//------------------------------------ the force ------------------------------------

typedef struct force {
  double wave, speed;  // factors
} force;

static cpl_status force_value(void* user, double t, const double* sources, double* out) {
  const force* f = user;
  (void)t;
  *out = f->wave * sources[0] + f->speed * sources[1];
  return CPL_OK;
}

static cpl_status force_gradient(void* user, double t, const double* sources, double* out) {
  const force* f = user;
  (void)t, (void)sources;
  out[0] = f->wave;
  out[1] = f->speed;
  return CPL_OK;
}

cpl_status cpli_force_function(cpli_arena* arena, cpl_port wave, cpl_port speed, double sigma,
                               double z, double sign, cpl_function* out) {
  force* f = cpli_arena_alloc(arena, 1, sizeof *f);
  cpl_port* ports = cpli_arena_alloc(arena, 2, sizeof *ports);
  if (f == NULL || ports == NULL) return cpli_nomem(arena->ctx);
  *f = (force){sign, -sign * sigma * z};
  ports[0] = wave;
  ports[1] = speed;
  *out = (cpl_function){.sources = ports,
                        .n_sources = 2,
                        .value = force_value,
                        .gradient = force_gradient,
                        .linear = true,
                        .user = f,
                        .text = "the end of a tlm line"};
  return CPL_OK;
}

//------------------------------------ names ------------------------------------

static const char* const kinds[] = {
#define X(kind, name, sigma, stiffness, mass) name,
    CPL_TLM_KIND_LIST(X)
#undef X
};
static const char* const holds[] = {"middle", "linear", "start"};

const char* cpl_tlm_kind_name(cpl_tlm_kind kind) { return kinds[kind]; }

const char* cpl_tlm_kind_names(void) {
#define X(kind, name, sigma, stiffness, mass) ", " name
  return &CPL_TLM_KIND_LIST(X)[2];
#undef X
}

const char* cpl_tlm_hold_name(cpl_tlm_hold hold) { return holds[hold]; }

bool cpl_tlm_kind_by_name(const char* name, cpl_tlm_kind* out) {
  int32_t i = cpli_find_text(kinds, CPLI_COUNT(kinds), name);
  if (i >= 0) *out = (cpl_tlm_kind)i;
  return i >= 0;
}

bool cpl_tlm_hold_by_name(const char* name, cpl_tlm_hold* out) {
  int32_t i = cpli_find_text(holds, CPLI_COUNT(holds), name);
  if (i >= 0) *out = (cpl_tlm_hold)i;
  return i >= 0;
}

cpl_tlm_interface cpl_default_tlm_interface(void) {
  cpl_tlm_interface i = {.sign = 1, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  for (int k = 0; k < 3; k++) i.position[k] = -1;
  for (int k = 0; k < 9; k++) i.orientation[k] = -1;
  for (int k = 0; k < CPLI_WIDTH; k++) {
    i.speed[k] = i.force[k] = -1;
    i.start_force[k] = (double)NAN;
  }
  return i;
}

void cpl_init_tlm_def(cpl_tlm_def* def, size_t size) {
  const cpl_tlm_def all = {.name = "tlm"};
  cpli_init_def(def, size, &all, sizeof all);
}
