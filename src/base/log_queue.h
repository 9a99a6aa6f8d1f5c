// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Messages that are held back while several threads work, so that they are logged in the order of
// the items that they belong to.
#pragma once

#include "base/base.h"

typedef struct cpli_held_message {
  struct cpli_held_message* next;
  cpl_log_level level;
  int32_t item;
  char texts[];  // who, then the message
} cpli_held_message;

typedef struct cpli_log_queue {
  cpl_context* ctx;
  int32_t item;  // of the messages that come next
  cpli_held_message *first, *last;
} cpli_log_queue;

/// From now on messages of this thread go to `q`. Returns: where they went before, for the call
/// that ends this. Nullable: q: they are logged
cpli_log_queue* cpli_queue_log(cpli_log_queue* q);
