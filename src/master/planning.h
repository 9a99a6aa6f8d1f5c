// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A plan under construction: the graph of its nodes (parts, then outs, then links) and its blocks,
// which are single nodes and loops. Shared by plan.c and update_plan.c.
#pragma once

#include "graph/blocks.h"
#include "master/master.h"

typedef struct cpli_planner {
  cpli_master* m;
  cpli_step_plan_kind kind;
  int32_t legacy;  // the part to be stepped before those that predict; -1: none
  cpli_graph graph;
  bool declared_only;  // without edges that are assumed because a part declares no dependencies
  cpli_blocks* blocks;
  cpli_blocks* declared;  // of the graph without assumed edges
} cpli_planner;

static inline int32_t cpli_out_node(const cpli_master* m, int32_t out) { return m->n_parts + out; }
static inline int32_t cpli_link_node(const cpli_master* m, int32_t link) {
  return m->n_parts + m->n_outs + link;
}

/// Add the edges of values to b->graph.
cpl_status cpli_planner_edges(cpli_planner* b);

//------------------------------------ update_plan.c ------------------------------------

/// When each block of b->blocks has its turn in a round of event updates: level[], from 0. The
/// block of a part is its update.
cpl_status cpli_update_levels(cpli_planner* b, int32_t* level);
