// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet tlm inspect: the properties of delay lines.
#include <math.h>
#include <string.h>

#include "cli.h"
#include "format/json.h"
#include "tlm_poses.h"

typedef struct tlm_args {
  bool json;
} tlm_args;

// The units of each domain.
static const struct words {
  const char *stiffness, *mass;
} words[] = {
#define X(kind, name, sigma, stiffness, mass) {stiffness, mass},
    CPL_TLM_KIND_LIST(X)
#undef X
};

// A parasitic mass above a hundredth of the connected masses is relevant.
static bool is_heavy(double added, const double* felt) {
  return added > 0.01 * felt[0] || added > 0.01 * felt[1];
}

static void print_felt(FILE* out, const char* what, const char* unit, double added,
                       const double* felt) {
  for (int i = 0; i < 2; i++) {
    if (isnan(felt[i])) fprintf(out, "%s not known", i == 0 ? "" : ",");
    else if (isinf(felt[i])) fprintf(out, "%s none", i == 0 ? "" : ",");
    else fprintf(out, "%s %.6g", i == 0 ? "" : ",", felt[i]);
  }
  fprintf(out, " %s\n", unit);
  if (is_heavy(added, felt))
    fprintf(out,
            "  warning: the line adds %s of %.6g %s, which is not small against what it connects; "
            "a smaller delay with the same stiffness (Zf / delay) helps\n",
            what, added, unit);
}

static void print_line(FILE* out, const cpl_system_line* l) {
  cpl_tlm_facts f = cpl_tlm_line_facts(&l->line);
  const struct words* w = &words[l->kind];
  fprintf(out, "%s -> %s: %s, delay %.6g s\n", l->ends[0], l->ends[1], cpl_tlm_kind_name(l->kind),
          l->line.delay);
  if (l->kind == CPL_TLM_SIGNAL) return;
  fprintf(out, "  stiffness k = Zf / delay     %.6g %s\n", f.stiffness, w->stiffness);
  fprintf(out, "  parasitic mass Zf * delay    %.6g %s\n", f.mass, w->mass);
  if (l->kind == CPL_TLM_3D) {
    fprintf(out, "  of rotations                 %.6g N m/rad\n", f.stiffness_r);
    fprintf(out, "  parasitic inertia            %.6g kg m2\n", f.mass_r);
  }
  fprintf(out, "  first standing wave          %.6g Hz\n", f.frequency);
  if (l->line.alpha > 0)
    fprintf(out,
            "  alpha = %.6g: the line is %.6g times softer at low frequency and as much heavier "
            "than without%s\n",
            l->line.alpha, f.factor, l->line.compensate ? "; Zf is scaled to make up for it" : "");
  fputs("  mass felt at its ends       ", out);
  print_felt(out, "a mass", w->mass, f.mass, l->mass);
  if (l->kind != CPL_TLM_3D) return;
  fputs("  inertia felt at its ends    ", out);
  print_felt(out, "an inertia", "kg m2", f.mass_r, l->inertia);
}

static void json_number(cpli_json* j, const char* key, double v) {
  if (isfinite(v)) cpli_json_real(j, key, v);
}

static cpl_status print_json(FILE* out, cpl_context* ctx, cpl_source* source) {
  cpli_json j;
  cpli_json_begin(&j, out);
  cpli_json_object(&j, NULL);
  cpli_json_array(&j, "lines");
  for (int32_t i = 0; i < cpl_system_line_count(source); i++) {
    cpl_system_line l = cpl_system_line_at(source, i);
    cpl_tlm_facts f = cpl_tlm_line_facts(&l.line);
    bool rotates = l.kind == CPL_TLM_3D;
    cpli_json_object(&j, NULL);
    cpli_json_text(&j, "from", l.ends[0]);
    cpli_json_text(&j, "to", l.ends[1]);
    cpli_json_text(&j, "kind", cpl_tlm_kind_name(l.kind));
    json_number(&j, "delay", l.line.delay);
    if (l.kind != CPL_TLM_SIGNAL) {
      json_number(&j, "stiffness", f.stiffness);
      json_number(&j, "mass", f.mass);
      json_number(&j, "frequency", f.frequency);
      json_number(&j, "alphaFactor", f.factor);
      if (rotates) json_number(&j, "rotationalStiffness", f.stiffness_r);
      if (rotates) json_number(&j, "inertia", f.mass_r);
      cpli_json_boolean(&j, "heavy",
                        is_heavy(f.mass, l.mass) || (rotates && is_heavy(f.mass_r, l.inertia)));
    }
    cpli_json_close(&j, '}');
  }
  cpli_json_close(&j, ']');
  cpl_status st = tlm_poses(ctx, source, out, &j);
  cpli_json_close(&j, '}');
  cpli_json_end(&j);
  return st;
}

static int inspect(const char* path, const tlm_args* a) {
  cpl_context* ctx = cli_context(NULL);
  cpl_source* source = NULL;
  cpl_status st = cpl_is_system_path(path)
                      ? cpl_system_open(ctx, path, &source)
                      : cpl_fail(ctx, CPL_ERR_INPUT, "%s: this is no system", path);
  if (st >= 0 && cpl_system_line_count(source) == 0)
    st = cpl_fail(ctx, CPL_ERR_INPUT, "%s: it has no tlm lines", path);
  bool fine = st >= 0;
  if (fine && a->json) st = print_json(stdout, ctx, source);
  for (int32_t i = 0; fine && !a->json && i < cpl_system_line_count(source); i++) {
    cpl_system_line l = cpl_system_line_at(source, i);
    print_line(stdout, &l);
  }
  if (fine && !a->json) st = tlm_poses(ctx, source, stdout, NULL);
  int code = st < 0 ? cli_report(ctx, st) : 0;
  cpl_source_destroy(source);
  cli_end_context(ctx);
  return code;
}

static int run_inspect(void* args, int n_operands, char** operands) {
  (void)n_operands;
  return inspect(operands[0], args);
}

#define AT(member) offsetof(tlm_args, member)
static const cli_option options[] = {
    {"json", 0, NULL, "print JSON", CLI_FLAG, AT(json)},
    {0},
};

const cli_verb cli_tlm_inspect = {
    .name = "tlm inspect",
    .operands = "FILE",
    .summary = "show the properties of delay lines",
    .text =
        "Prints for every line of a system file or a composite model (.xml) the "
        "equivalent stiffness, the parasitic mass, the first standing wave, the effect of damping, "
        "and the effective masses at its ports; it warns where the parasitic mass is not small "
        "against them. Positions and orientations of all interfaces at the start follow.",
    .suffixes = "yaml xml",
    .options = options,
    .args_size = sizeof(tlm_args),
    .run = run_inspect,
};
