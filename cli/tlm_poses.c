// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Prints the positions and orientations of interfaces at the start, as text or JSON.
#include "tlm_poses.h"

#include <math.h>
#include <stdlib.h>

// Values within rounding of zero are shown as zero.
static double plain(double v) { return fabs(v) < 5e-16 ? 0 : v; }

static void print_numbers(FILE* out, const char* what, const double* v, int n) {
  fprintf(out, ", %s ", what);
  for (int i = 0; i < n; i++) fprintf(out, "%s%.9g", i == 0 ? "" : ",", plain(v[i]));
}

static void write_numbers(cpli_json* j, const char* key, const double* v, int n) {
  cpli_json_array(j, key);
  for (int i = 0; i < n; i++) cpli_json_real(j, NULL, v[i]);
  cpli_json_close(j, ']');
}

static void print_place(FILE* out, const cpl_system_pose* p) {
  cli_print_safe(out, p->name);
  fprintf(out, ": %s", cpl_tlm_kind_name(p->kind));
  if (p->has_position) print_numbers(out, "position", p->position, p->kind == CPL_TLM_3D ? 3 : 1);
  if (p->has_orientation) print_numbers(out, "Angle321", p->angles, 3);
  fputc('\n', out);
}

static void write_place(cpli_json* j, const cpl_system_pose* p) {
  cpli_json_object(j, NULL);
  cpli_json_text(j, "name", p->name);
  cpli_json_text(j, "kind", cpl_tlm_kind_name(p->kind));
  if (p->has_position) write_numbers(j, "position", p->position, p->kind == CPL_TLM_3D ? 3 : 1);
  if (p->has_orientation) write_numbers(j, "orientation", p->orientation, 9);
  if (p->has_orientation) write_numbers(j, "angle321", p->angles, 3);
  cpli_json_close(j, '}');
}

cpl_status tlm_poses(cpl_context* ctx, cpl_source* source, FILE* out, cpli_json* json) {
  int32_t n = cpl_system_interface_count(source);
  cpl_system_pose* places = calloc((size_t)n + 1, sizeof *places);
  if (places == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_status st = cpl_system_poses(source, places);
  if (json != NULL) cpli_json_array(json, "interfaces");
  else fputs("interfaces at the start\n", out);
  for (int32_t i = 0; i < n; i++) {
    if (json != NULL) write_place(json, &places[i]);
    else fputs("  ", out), print_place(out, &places[i]);
  }
  if (json != NULL) cpli_json_close(json, ']');
  free(places);
  return st;
}
