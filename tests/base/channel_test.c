// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/channel.h"

#include <unistd.h>

#include "testing.h"

enum { MESSAGES = 3000, ROUNDS = 2000 };  // the messages are several times what the log holds

static int arrived;

static void count_message(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user;
  char wanted[200];
  snprintf(wanted, sizeof wanted, "message %0100d", arrived);
  CHECK_STR(text, wanted);
  CHECK_STR(who, "child");
  CHECK_INT(level, CPL_LOG_WARNING);
  arrived++;
}

// Adds one to each request; the number 0 makes it talk, -1 ends it.
static void serve(cpli_channel* ch) {
  long* number = (long*)ch->data;
  for (bool answered = false;; answered = true) {
    cpli_channel_next(ch, answered);
    if (*number == -1) _exit(9);
    for (int i = 0; i < MESSAGES && *number == 0; i++)
      cpl_log(ch->ctx, CPL_LOG_WARNING, "child", "message %0100d", i);
    ++*number;
  }
}

static void requests_messages_and_the_end(void** state) {
  (void)state;
  cpl_context_def def = cpl_default_context_def();
  def.log = count_message;
  cpl_context* ctx = cpl_context_create(&def);
  cpli_channel ch;
  bool in_child = false;
  CHECK_OK(ctx, cpli_channel_open(ctx, 4096, &ch));
  CHECK_OK(ctx, cpli_channel_fork(&ch, -1, &in_child));
  if (in_child) serve(&ch);
  volatile long* number = (long*)ch.data;
  for (long i = 0; i < ROUNDS; i++) {
    *number = i;
    CHECK_INT(cpli_channel_ask(&ch, 0), CPLI_ANSWERED);
    CHECK_INT(*number, i + 1);
  }
  CHECK_INT(arrived, MESSAGES);
  *number = -1;
  CHECK_INT(cpli_channel_ask(&ch, 0), CPLI_DIED);
  CHECK_INT(ch.how >> 8, 9);
  cpli_channel_close(&ch);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(requests_messages_and_the_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
