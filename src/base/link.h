// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Channels (base/channel.h) from rank 0 to the others. Each rank reserves the same range of
// addresses, and the data of a channel are at the same place on both sides, so that pointers in
// them are valid; what has changed is sent. Requests to components of one rank travel in one
// message, as far as they have been collected when something has to wait, and so do their answers.
// A rank has one such message at a time.
#pragma once

#include "base/channel.h"
#include "base/ranks.h"

typedef struct cpli_rank_links cpli_rank_links;

/// Every rank. Owned: *out by the caller; `ranks` is used until cpli_link_close().
cpl_status cpli_link_open(cpl_context* ctx, cpli_ranks* ranks, cpli_rank_links** out);
/// Rank 0: ends the others. Returns: whether all have ended in order. Nullable: l
bool cpli_link_close(cpli_rank_links* l);

//------------------------------------ rank 0 ------------------------------------

/// Until all other ranks serve.
cpl_status cpli_link_await(cpli_rank_links* l);

/// A channel to a component of another rank, for `size` bytes of data. `name`: for messages.
/// Nullable: name: it has no instance
cpl_status cpli_link_open_channel(cpli_rank_links* l, int32_t rank, size_t size, const char* name,
                                  cpli_channel* ch);

// What channel.c calls: cpli_channel_ask() and so on.
cpli_answer cpli_link_ask(cpli_channel* ch);
void cpli_link_close_channel(cpli_channel* ch);
void cpli_link_describe_end(const cpli_channel* ch, char* text, size_t size);

/// After CPL_ERR_CANCELLED: where a rank has ended, or does not answer any more, that is the reason
/// (launchers end all ranks then), and becomes the failure. Returns: its status, or `st`.
cpl_status cpli_link_explain(cpli_rank_links* l, cpl_status st);

//------------------------------------ other ranks ------------------------------------

/// Answers a request: `pieces` get what has changed in the data.
typedef void cpli_link_serve_fn(void* user, char* data, cpli_extent pieces[CPLI_PIECES]);

/// Serve until rank 0 ends it. opened: negative: this rank cannot, which rank 0 reports.
cpl_status cpli_link_serve(cpli_rank_links* l, cpl_status opened, cpli_link_serve_fn* serve,
                           void* user);
