// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The checkpoint of a run. The first byte chooses the solver, the second one where it is written;
// three bytes each change one of its bytes. With the highest bit of the first byte they are its
// bytes instead. The hash is made right, so that the rest is read; what is accepted can go on.
#include "couplet/couplet.h"
#include "format/hash.h"
#include "fuzz_model.h"

enum { HEAD = 48 };  // of the file: its hash is at the end of the head

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_RADAU,  CPL_SOLVER_RK4,
                                        CPL_SOLVER_ADAMS,  CPL_SOLVER_DOPRI5, CPL_SOLVER_IDA,
                                        CPL_SOLVER_ESDIRK5};

static cpl_stepper* make(cpl_context* ctx, cpl_solver_kind kind) {
  cpl_model* model = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = kind;
  def.step = 0.01;
  def.saves_states = true;
  FUZZ_CHECK(fuzz_fine(ctx, cpl_source_make_model(fuzz_source(), "mass", &model)));
  FUZZ_CHECK(fuzz_fine(ctx, cpl_integrate(model, &def, &s)));
  return s;
}

static void write_state(cpl_context* ctx, cpl_solver_kind kind, double t, const char* path) {
  cpl_stepper* s = make(ctx, kind);
  cpl_simulation* sim = NULL;
  cpl_run_def run = cpl_default_run_def();
  cpl_checkpoints_def where = cpl_default_checkpoints_def();
  where.path = path;
  FUZZ_CHECK(fuzz_fine(ctx, cpl_simulation_create(s, &run, &sim)));
  FUZZ_CHECK(fuzz_fine(ctx, cpl_simulation_start(sim)));
  FUZZ_CHECK(fuzz_fine(ctx, cpl_simulation_advance(sim, t)));
  FUZZ_CHECK(fuzz_fine(ctx, cpl_simulation_checkpoint(sim, &where)));
  cpl_simulation_destroy(sim);
  cpl_stepper_destroy(s);
}

static void go_on(cpl_context* ctx, cpl_solver_kind kind, const cpl_checkpoint* from) {
  cpl_stepper* s = make(ctx, kind);
  cpl_simulation* sim = NULL;
  cpl_run_def run = cpl_default_run_def();
  run.resume = from;
  FUZZ_CHECK(fuzz_fine(ctx, cpl_simulation_create(s, &run, &sim)));
  if (fuzz_fine(ctx, cpl_simulation_start(sim))) {
    double t = cpl_simulation_time(sim);
    fuzz_fine(ctx, cpl_simulation_advance(sim, t + 0.01));
  }
  cpl_simulation_destroy(sim);
  cpl_stepper_destroy(s);
}

static void seal(uint8_t* bytes, size_t n) {
  cpli_hash hash = cpli_hash_begin();
  cpli_hash_add(&hash, bytes + HEAD, n - HEAD);
  memcpy(bytes + HEAD - sizeof hash.part, hash.part, sizeof hash.part);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  static uint8_t bytes[1 << 20];
  char path[160];
  if (size < 2) return 0;
  const cpl_solver_kind kind = kinds[(data[0] & 0x7f) % (sizeof kinds / sizeof kinds[0])];
  snprintf(path, sizeof path, "%s", fuzz_file("a.state", "", 0));
  write_state(ctx, kind, data[1] / 256.0, path);
  FILE* f = fopen(path, "rb");
  FUZZ_CHECK(f != NULL);
  size_t n = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  FUZZ_CHECK(n > HEAD && n < sizeof bytes);
  if ((data[0] & 0x80) != 0 && size - 2 <= sizeof bytes - HEAD) {
    const uint64_t rest = n = size - 2;
    memcpy(bytes + HEAD, data + 2, n);
    memcpy(bytes + HEAD - 24, &rest, sizeof rest);
    n += HEAD;
  } else {
    for (size_t i = 2; i + 2 < size; i += 3)
      bytes[HEAD + (data[i] * 256u + data[i + 1]) % (n - HEAD)] = data[i + 2];
  }
  seal(bytes, n);
  cpl_checkpoint* from = NULL;
  if (fuzz_fine(ctx, cpl_checkpoint_read(ctx, fuzz_file("a.state", bytes, n), &from)))
    go_on(ctx, kind, from);
  cpl_checkpoint_destroy(from);
  return 0;
}
