// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sources of an FMU that is made of a system of models in C have no files, no steppers, modes,
// delay lines and processes, and no integrator. These functions replace those of the library, at
// the few places where the code of systems and aggregates refers to them. `couplet build --sources`
// refuses systems that need more.
#include "assemble/assemble.h"
#include "couplet/isolate.h"
#include "fmi/open.h"
#include "model/distribution.h"
#include "system/lines.h"

static cpl_status missing(cpl_context* ctx, const char* what) {
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "the sources of this FMU contain no %s", what);
}

//------------------------------------ files and processes ------------------------------------

cpl_status cpli_def_enter(cpl_context* ctx, const cpli_chain* chain, const cpli_member* member,
                          const cpl_system_def** inner, cpl_system_def** owned) {
  (void)chain;
  *inner = member->system;
  *owned = NULL;
  return *inner != NULL ? CPL_OK : missing(ctx, "reader of system files");
}

cpl_status cpl_table_read(cpl_context* ctx, const char* path, cpl_table** out) {
  (void)path;
  *out = NULL;
  return missing(ctx, "reader of tables");
}

cpl_status cpli_calls_open(cpli_built* b, cpli_chain* chain) {
  (void)b, (void)chain;
  return CPL_OK;
}

void cpli_calls_join(const cpli_built* b, const cpli_chain* chain, cpl_open_def* fmu) {
  (void)b, (void)chain, (void)fmu;
}

cpl_status cpli_calls_check(const cpli_built* b) {
  (void)b;
  return CPL_OK;
}

cpl_status cpl_isolate(cpl_source* inner, const cpl_isolate_def* def, cpl_source** out) {
  (void)def;
  *out = NULL;
  return missing(inner->ctx, "processes");
}

cpl_status cpli_distribute(cpl_source** source) {
  (void)source;
  return CPL_OK;
}

cpl_status cpli_distribution_plan(cpl_context* ctx, const cpli_next_instance* wanted, size_t n,
                                  bool outermost) {
  (void)ctx, (void)wanted, (void)n, (void)outermost;
  return CPL_OK;
}

bool cpli_distribution_serves(cpl_context* ctx) {
  (void)ctx;
  return false;
}

//------------------------------------ steppers ------------------------------------

const char* cpli_source_steps(const cpl_source* src) {
  (void)src;
  return "co-simulation";
}

void cpl_init_stepper_def(cpl_stepper_def* def, size_t size) {
  const cpl_stepper_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_system_stepper(cpl_source* system, const cpl_stepper_def* def, cpl_stepper** out) {
  (void)def;
  *out = NULL;
  return missing(system->ctx, "co-simulation");
}

cpl_status cpli_group_make(cpli_built* b, const char* name, cpli_members** out) {
  (void)name;
  *out = NULL;
  return missing(b->base.ctx, "co-simulation");
}

cpl_status cpli_members_describe(cpli_built* b, cpli_members* draft) {
  (void)draft;
  return missing(b->base.ctx, "co-simulation");
}

//------------------------------------ modes ------------------------------------

cpl_status cpli_def_add_mode(cpl_system_def* def, cpli_located_text name, cpl_system_def** out) {
  (void)name;
  *out = NULL;
  return missing(def->ctx, "modes");
}

cpl_status cpli_def_add_transition(cpl_system_def* def, cpli_mode_def* mode,
                                   cpli_transition_def item) {
  (void)mode, (void)item;
  return missing(def->ctx, "modes");
}

cpl_status cpli_def_add_observed(cpl_system_def* def, cpli_observed item) {
  (void)item;
  return missing(def->ctx, "modes");
}

void cpli_def_free_modes(cpl_system_def* def) { (void)def; }

cpl_status cpli_modes_plan_make(cpli_built* b, const cpli_chain* chain, cpli_modes_plan** out) {
  (void)chain;
  *out = NULL;
  return missing(b->base.ctx, "modes");
}

void cpli_modes_plan_free(cpli_modes_plan* p) { (void)p; }

cpl_status cpli_varying_choose(cpli_built* b) {
  (void)b;
  return CPL_OK;
}

bool cpli_varying_is(const cpl_source* source) {
  (void)source;
  return false;
}

cpl_status cpli_varying_make(cpl_source* source, const char* name, cpl_model** out) {
  (void)name;
  *out = NULL;
  return missing(source->ctx, "modes");
}

//------------------------------------ delay lines ------------------------------------

cpl_status cpli_def_add_interface(cpl_system_def* def, const cpli_interface* item) {
  (void)def, (void)item;
  return CPL_OK;  // of no use without lines
}

cpl_status cpli_def_add_line(cpl_system_def* def, const cpli_line* item) {
  (void)item;
  return missing(def->ctx, "delay lines");
}

cpl_status cpli_tlm_resolve(cpli_built* b, cpli_functions* functions) {
  (void)b, (void)functions;
  return CPL_OK;
}

void cpli_tlm_plan_free(cpli_built* b) { (void)b; }

int32_t cpli_tlm_waves(const cpli_built* b) {
  (void)b;
  return 0;
}

cpl_status cpli_tlm_add_waves(cpli_built* b, cpli_functions* f, cpl_signal* signals,
                              int32_t* n_signals, cpl_coupling* couplings, int32_t* n_couplings) {
  (void)b, (void)f, (void)signals, (void)n_signals, (void)couplings, (void)n_couplings;
  return CPL_OK;
}

void cpli_tlm_hide(cpli_built* b) { (void)b; }

//------------------------------------ integrators ------------------------------------

// Their linear system; the importer has the integrator.
cpl_status cpli_newton_make(cpli_aggregate* a, struct cpli_newton** out) {
  (void)a;
  *out = NULL;
  return CPL_OK;
}

void cpli_newton_destroy(struct cpli_newton* n) { (void)n; }
void cpli_newton_forget(struct cpli_newton* n) { (void)n; }
void cpli_newton_forget_run(struct cpli_newton* n) { (void)n; }

cpl_status cpli_newton_setup(cpl_model* m, double gamma, bool fresh) {
  (void)gamma, (void)fresh;
  return missing(m->base.ctx, "integrators");
}

cpl_status cpli_newton_border(cpl_model* m, const cpl_border* b) {
  (void)b;
  return missing(m->base.ctx, "integrators");
}

void cpli_newton_list(cpli_serial* s, struct cpli_newton* n) { (void)s, (void)n; }

cpl_status cpli_newton_solve(cpl_model* m, const double* r, double* dx) {
  (void)r, (void)dx;
  return missing(m->base.ctx, "integrators");
}
