// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The work runs in a forked child (base/channel.h), which returns status, error message and result
// in shared memory.
#include "model/probe.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/float_modes.h"
#include "base/guard.h"

// At the beginning of the shared data; the result follows.
typedef struct outcome {
  cpl_status status;
  cpl_error error;
  char texts[1 << 14];  // of the error
} outcome;

static cpli_shared*
    shared_by_probe;  // in the child: shows the waiting parent that it makes progress

const char* cpli_probe_call(const char* function, void (*run)(void* user), void* user) {
  cpli_guard_noted(function);
  if (shared_by_probe != NULL) atomic_fetch_add(&shared_by_probe->calls, 1);
  volatile int crash = 0;
  const volatile uint32_t modes = cpli_float_before();
  CPLI_GUARDED(run(user), crash = crash_signal);
  if (cpli_float_modes() != modes) cpli_float_put_back(modes);
  return crash != 0 ? cpli_guard_text(crash) : NULL;
}

uint32_t cpli_probe_modes(void) { return cpli_float_modes(); }

void cpli_probe_put_back(uint32_t modes) { cpli_float_put_back(modes); }

static _Noreturn void work_in_child(cpli_channel* ch, cpl_context* ctx, cpli_probe_fn* work,
                                    void* user) {
  outcome* o = (outcome*)ch->data;
  shared_by_probe = ch->shared;
  cpli_channel_next(ch, false);
  o->status = work(user, o + 1);
  o->error = *cpl_context_last_error(ctx);
  cpli_error_pack(&o->error, o->texts, sizeof o->texts);
  fflush(NULL);
  cpli_channel_last(ch);
  _exit(0);
}

static cpl_status lost(cpli_cmodel* cm, const cpli_channel* ch, cpli_answer answer) {
  const char *name = cm->desc.name, *call = ch->shared->note;
  int how = ch->how;
  if (call == NULL) call = "the model";
  if (answer == CPLI_BROKEN_OFF)
    return cpli_interrupted_call(cm->ctx, name, call, NAN,
                                 "the call had not returned; its process was ended");
  if (answer == CPLI_TOO_LATE)
    return cpl_fail_in(cm->ctx, CPL_ERR_MODEL, name, NULL, NAN,
                       "%s did not return within %g s when it was tested before the run; "
                       "its process was ended",
                       call, cm->host.call_timeout);
  if (how != -1 && WIFSIGNALED(how))
    return cpl_fail_in(cm->ctx, CPL_ERR_MODEL, name, NULL, NAN,
                       "%s crashed when it was tested before the run (signal %d: %s)", call,
                       WTERMSIG(how), strsignal(WTERMSIG(how)));
  return cpl_fail_in(cm->ctx, CPL_ERR_MODEL, name, NULL, NAN,
                     "%s ended its process when it was tested before the run", call);
}

cpl_status cpli_probe_isolated(cpli_cmodel* cm, cpli_probe_fn* work, void* user, void* result,
                               size_t size) {
  cpli_channel ch;
  bool in_child = false;
  cpl_status st = cpli_channel_open(cm->ctx, sizeof(outcome) + size, &ch);
  if (st >= 0) st = cpli_channel_fork(&ch, -1, &in_child);
  if (in_child) work_in_child(&ch, cm->ctx, work, user);
  if (st >= 0) {
    ch.limits_calls = true;
    cpli_answer answer = cpli_channel_ask(&ch, cm->host.call_timeout);
    outcome* o = (outcome*)ch.data;
    if (answer == CPLI_ANSWERED) {
      cpl_error error = o->error;
      error.status = st = o->status < 0 ? o->status : CPL_OK;
      cpli_error_unpack(&error, o->texts, sizeof o->texts);
      if (st < 0) cpli_fail_again(cm->ctx, &error);
      memcpy(result, o + 1, size);
    } else {
      st = lost(cm, &ch, answer);
    }
  }
  cpli_channel_close(&ch);
  return st;
}
