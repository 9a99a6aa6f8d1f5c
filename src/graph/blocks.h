// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A directed graph of values that depend on each other, and the order to compute them in: Tarjan's
// blocks. A block of several nodes, or of one that depends on itself, is a loop; tearing a few of
// its nodes leaves an order for the others.
#pragma once

#include "base/base.h"

// Edges lead from a node to the nodes that depend on it.
typedef struct cpli_graph {
  cpl_context* ctx;
  int32_t n;
  int32_t *from, *to;  // edges in the order of addition
  size_t n_edges, cap_from, cap_to;
} cpli_graph;

void cpli_graph_init(cpli_graph* g, cpl_context* ctx, int32_t n);
void cpli_graph_free(cpli_graph* g);
cpl_status cpli_graph_edge(cpli_graph* g, int32_t from, int32_t to);
/// Mark all nodes that are reachable from marked nodes.
cpl_status cpli_graph_reach(const cpli_graph* g, bool* marked);

// blocks invariants: 1 order[] is a permutation of the nodes; 2 an edge between two blocks leads to
// a later one; 3 a block that is no loop has one node; 4 within a loop the torn nodes come first,
// and an edge between two others leads to a later one.
typedef struct cpli_blocks {
  cpl_context* ctx;
  int32_t n, n_blocks;
  int32_t* order;     // nodes, block after block
  int32_t* first;     // n_blocks + 1: begin of each block in order
  int32_t* block;     // of each node
  int32_t* position;  // of each node in order
  int32_t* n_torn;    // per block; 0: not a loop
  int32_t* level;     // per block: longest path from a block without predecessors
  int32_t* late;      // per block: the last level it may have, so that its dependents come later
} cpli_blocks;

/// Nodes that may be torn are marked (NULL: all). Every loop must have one on every cycle.
cpl_status cpli_blocks_find(const cpli_graph* g, const bool* may_tear, cpli_blocks** out);
/// The caller has made some late levels smaller, at least `level`: those they depend on follow.
cpl_status cpli_blocks_follow_late(const cpli_graph* g, cpli_blocks* b);
void cpli_blocks_destroy(cpli_blocks* b);
