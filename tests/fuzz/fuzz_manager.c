// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manager of a run across machines: messages of two parts, and of others (senders 2 and 3).
// A message READY of a part whose body is nothing says what is true.
#include "fuzz_net.h"
#include "tlm/remote.h"

static cpli_head fuzz_head(int sender, cpli_message_kind kind) {
  uint64_t n = fuzz_net.sequence[sender];
  return (cpli_head){kind, fuzz_net.session, n > 0 ? sender : CPLI_NOBODY, CPLI_MANAGER, n};
}

static int fuzz_socket_of(int sender) {
  (void)sender;
  return ZMQ_ROUTER;
}

static uint64_t fingerprint;

static void fuzz_empty(cpli_packet* w, cpli_message_kind kind) {
  if (kind != CPLI_MSG_READY) return;
  cpli_put_u64(w, fingerprint);
  cpli_put_text(w, "tcp://127.0.0.1:4711");
}

static cpl_stepper* whole;

// Messages carry the number of the run.
static cpl_status on_ready(void* user, const char* const* parts, int32_t n, const char* address) {
  (void)user, (void)parts, (void)n, (void)address;
  fuzz_net.session = cpli_tlm_of(whole)->remote->session;
  return CPL_OK;
}

static void use(cpl_context* ctx, cpl_stepper* s) {
  cpl_component* c = &s->base;
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  cpl_step_result r;
  uint32_t ref = c->desc->vars[0].ref;
  double value;
  bool fine = fuzz_fine(ctx, c->ops->setup(c, &setup)) && fuzz_fine(ctx, c->ops->enter_init(c)) &&
              fuzz_fine(ctx, c->ops->exit_init(c));
  for (int i = 1; i < 4 && fine; i++) {
    fine = fuzz_fine(ctx, c->ops->get_real(c, &ref, 1, &value)) &&
           fuzz_fine(ctx, s->ops->step(s, 0.1 * i, 0.1 * i, &r));
  }
}

// Building the system takes longer than reading the messages, so a number of inputs share one. What
// an input allocates in its arena is freed with it.
static void prepare(void) {
  static int n_uses;
  if (whole != NULL && ++n_uses % 500 != 0) return;
  if (whole != NULL) whole->base.ops->destroy(&whole->base);
  FUZZ_CHECK(fuzz_lines(NULL, &whole) >= 0);
  fingerprint = cpli_tlm_fingerprint(cpli_tlm_of(whole));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  fuzz_make_folder();
  prepare();
  fuzz_net_begin(data, size, 0);
  cpl_tlm_serve_def serve = cpl_default_tlm_serve_def();
  serve.folder = fuzz_folder;
  serve.overwrite = true;
  serve.on_ready = on_ready;
  cpl_tlm_def def = cpl_default_tlm_def();
  def.serve = &serve;
  if (fuzz_fine(ctx, cpli_remote_open(cpli_tlm_of(whole), &def))) use(ctx, whole);
  cpli_remote_close(cpli_tlm_of(whole));
  FUZZ_CHECK(whole->base.ops->reset(&whole->base) >= 0);
  return 0;
}
