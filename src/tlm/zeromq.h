// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// ZeroMQ, loaded on demand by runs across machines: Debian's libzmq depends on 15 other libraries,
// which would add 2 ms to every start of couplet.
#pragma once

#include <zmq.h>

#include "base/base.h"

#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93  // draft API of ZeroMQ, not in every zmq.h
#endif

#define CPLI_ZMQ_FUNCTIONS(X) \
  X(zmq_errno)                \
  X(zmq_strerror)             \
  X(zmq_has)                  \
  X(zmq_ctx_new)              \
  X(zmq_ctx_shutdown)         \
  X(zmq_ctx_term)             \
  X(zmq_socket)               \
  X(zmq_close)                \
  X(zmq_setsockopt)           \
  X(zmq_getsockopt)           \
  X(zmq_bind)                 \
  X(zmq_connect)              \
  X(zmq_send)                 \
  X(zmq_recv)                 \
  X(zmq_msg_init)             \
  X(zmq_msg_recv)             \
  X(zmq_msg_close)            \
  X(zmq_msg_data)             \
  X(zmq_msg_size)             \
  X(zmq_msg_more)             \
  X(zmq_msg_get)              \
  X(zmq_msg_gets)             \
  X(zmq_poll)                 \
  X(zmq_socket_monitor)       \
  X(zmq_curve_keypair)        \
  X(zmq_z85_encode)

typedef struct cpli_zmq {
#define X(name) __typeof__(&(name)) name;
  CPLI_ZMQ_FUNCTIONS(X)
#undef X
} cpli_zmq;

/// It stays loaded. Returns CPL_ERR_UNSUPPORTED with a message that names what is missing.
cpl_status cpli_zmq_load(cpl_context* ctx, cpli_zmq* out);
