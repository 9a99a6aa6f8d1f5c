// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Positions of interfaces at the start, in the common frame.
#include <math.h>
#include <stdio.h>

#include "assemble/tlm.h"

int32_t cpl_system_interface_count(const cpl_source* system) {
  const cpli_built* b = (const cpli_built*)system;
  return cpl_system_definition(system) != NULL && b->tlm != NULL ? b->tlm->n_interfaces : 0;
}

// Reads values of a model in an instance of the system. Returns false when some are missing.
static bool read_values(const cpli_built* b, cpl_stepper* s, const cpl_tlm_interface* i,
                        const int32_t* vars, int32_t n, double* out) {
  cpl_component* c = &s->base;
  for (int32_t k = 0; k < n; k++) {
    char text[1024];
    if (vars[k] < 0) return false;
    snprintf(text, sizeof text, "%s.%s", b->def->models[i->part].name.text,
             b->sources[i->part]->desc->vars[vars[k]].name);
    int32_t var = cpl_find_variable(c->desc, text);
    if (var < 0 || c->ops->get_real(c, &c->desc->vars[var].ref, 1, &out[k]) < 0) return false;
  }
  return true;
}

// Angles of a rotation about z, then y, then x. Where y is a right angle the other two are one.
static void angles_of(const double* a, double* out) {
  out[1] = asin(fmax(-1, fmin(1, -a[6])));
  bool locked = hypot(a[7], a[8]) < 1e-12;
  out[0] = locked ? 0 : atan2(a[7], a[8]);
  out[2] = locked ? atan2(-a[1], a[4]) : atan2(a[3], a[0]);
}

static void take_position(const cpli_built* b, cpl_stepper* s, const cpl_tlm_interface* i,
                          cpl_system_pose* out) {
  double r[3] = {0}, a[9];
  int32_t n = i->kind == CPL_TLM_3D ? 3 : 1;
  const double* f = i->rotation;
  *out = (cpl_system_pose){.name = i->name, .kind = i->kind};
  out->has_position = read_values(b, s, i, i->position, n, r);
  for (int32_t k = 0; k < n; k++)
    out->position[k] = i->kind != CPL_TLM_3D ? r[k]
                                             : i->origin[k] + f[3 * k] * r[0] +
                                                   f[3 * k + 1] * r[1] + f[3 * k + 2] * r[2];
  out->has_orientation = n == 3 && read_values(b, s, i, i->orientation, 9, a);
  for (int32_t k = 0; k < 9 && out->has_orientation; k++) {
    const double* row = f + k - k % 3;
    out->orientation[k] = row[0] * a[k % 3] + row[1] * a[3 + k % 3] + row[2] * a[6 + k % 3];
  }
  if (out->has_orientation) angles_of(out->orientation, out->angles);
}

cpl_status cpl_system_poses(cpl_source* system, cpl_system_pose* out) {
  const cpli_built* b = (const cpli_built*)system;
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_stepper* s = NULL;
  cpl_setup setup = {.size = sizeof(cpl_setup),
                     .start_time = b->desc.experiment.has_start ? b->desc.experiment.start : 0};
  int32_t n = cpl_system_interface_count(system);
  for (int32_t i = 0; i < n; i++)
    out[i] =
        (cpl_system_pose){.name = b->tlm->interfaces[i].name, .kind = b->tlm->interfaces[i].kind};
  cpl_status st = cpl_system_stepper(system, &def, &s);
  if (st < 0) return st;
  cpl_component* c = &s->base;
  st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  bool ready = st >= 0;
  if (ready) st = c->ops->exit_init(c);  // a failure says how they are not aligned
  for (int32_t i = 0; i < n && ready; i++) take_position(b, s, &b->tlm->interfaces[i], &out[i]);
  c->ops->destroy(c);
  return st;
}
