// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Who joins a run: messages of the manager (senders 2 and 3) and of its neighbour (0 and 1).
#include <math.h>

#include "fuzz_net.h"
#include "tlm/message.h"
#include "tlm/peer.h"

enum { SESSION = 0x1234, OWN = 1 };

static cpli_head fuzz_head(int sender, cpli_message_kind kind) {
  return (cpli_head){kind, SESSION, sender < 2 ? 0 : CPLI_MANAGER, OWN, fuzz_net.sequence[sender]};
}

// The connection to the manager is made first.
static int fuzz_socket_of(int sender) { return sender < 2 ? FUZZ_DEALER : ZMQ_DEALER; }

static void fuzz_empty(cpli_packet* w, cpli_message_kind kind) {
  if (kind == CPLI_MSG_MEET) cpli_put_text(w, "tcp://127.0.0.1:4711");
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static char path[128];
  cpl_context* ctx = fuzz_context();
  cpl_tlm_join* join = NULL;
  cpl_stepper* s = NULL;
  if (path[0] == '\0') {
    char text[1024];
    const char* key = "pppppppppppppppppppppppppppppppppppppppp";
    int n =
        snprintf(text, sizeof text,
                 "couplet join file 1: keep it secret\naddress tcp://127.0.0.1:4711\nserver-key "
                 "%s\npublic-key %s\nsecret-key %s\nsession %016x\nsub-model r\nsystem \n",
                 key, key, key, SESSION);
    snprintf(path, sizeof path, "%s", fuzz_file("fuzz.join", text, (size_t)n));
  }
  fuzz_net_begin(data, size, SESSION);
  cpl_tlm_join_def def = cpl_default_tlm_join_def();
  def.key_file = path;
  if (fuzz_fine(ctx, cpl_tlm_join_open(ctx, &def, &join))) {
    FUZZ_CHECK(fuzz_lines(NULL, &s) >= 0);
    join->pace = fmin(join->pace, 1e-4);  // a run to a far end sees soon that it is cancelled
    fuzz_fine(ctx, cpl_tlm_join_run(join, s));
    s->base.ops->destroy(&s->base);
  }
  cpl_tlm_join_close(join);
  return 0;
}
