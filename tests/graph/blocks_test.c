// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "graph/blocks.h"

#include "testing.h"

static cpl_context* ctx;

// The invariants of blocks.h, and that nodes share a block exactly when each leads to the other.
static void validate(const cpli_graph* g, const cpli_blocks* b) {
  bool* seen = calloc((size_t)g->n, sizeof *seen);
  for (int32_t i = 0; i < g->n; i++) {  // 1: a permutation
    CHECK(b->order[i] >= 0 && b->order[i] < g->n && !seen[b->order[i]]);
    seen[b->order[i]] = true;
    CHECK_INT(b->position[b->order[i]], i);
  }
  free(seen);
  CHECK_INT(b->first[0], 0);
  CHECK_INT(b->first[b->n_blocks], g->n);
  for (int32_t k = 0; k < b->n_blocks; k++) {  // 3: what is no loop has one node
    CHECK(b->first[k] < b->first[k + 1]);
    if (b->n_torn[k] == 0) CHECK_INT(b->first[k + 1] - b->first[k], 1);
  }
  for (size_t e = 0; e < g->n_edges; e++) {
    int32_t from = g->from[e], to = g->to[e], k = b->block[from];
    if (k != b->block[to]) {  // 2: between blocks forwards, to a higher level
      CHECK(k < b->block[to]);
      CHECK(b->level[k] < b->level[b->block[to]]);
      CHECK(b->late[k] < b->late[b->block[to]]);
    } else {  // 4: inside a loop forwards, except into a torn node
      bool torn = b->position[to] - b->first[k] < b->n_torn[k];
      CHECK(torn || b->position[from] < b->position[to]);
    }
  }
}

// Who leads where, the slow way.
static void check_blocks_against_reachability(const cpli_graph* g, const cpli_blocks* b) {
  size_t n = (size_t)g->n;
  bool* reach = calloc(n * n, sizeof *reach);
  for (size_t e = 0; e < g->n_edges; e++) reach[(size_t)g->from[e] * n + (size_t)g->to[e]] = true;
  for (size_t k = 0; k < n; k++) {
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; reach[i * n + k] && j < n; j++)
        reach[i * n + j] = reach[i * n + j] || reach[k * n + j];
    }
  }
  for (size_t i = 0; i < n; i++) {
    CHECK_INT(b->n_torn[b->block[i]] > 0, reach[i * n + i]);
    for (size_t j = 0; j < i; j++)
      CHECK_INT(b->block[i] == b->block[j], reach[i * n + j] && reach[j * n + i]);
  }
  free(reach);
}

static void random_graphs_keep_the_invariants(void** state) {
  (void)state;
  uint64_t seed = 1;
  for (int round = 0; round < 400; round++) {
    cpli_graph g;
    cpli_blocks* b;
    int32_t n = 1 + round % 30;
    cpli_graph_init(&g, ctx, n);
    for (int32_t e = 0; e < round % 61; e++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      CHECK_OK(ctx, cpli_graph_edge(&g, (int32_t)((seed >> 33) % (uint64_t)n),
                                    (int32_t)((seed >> 13) % (uint64_t)n)));
    }
    CHECK_OK(ctx, cpli_blocks_find(&g, NULL, &b));
    validate(&g, b);
    check_blocks_against_reachability(&g, b);
    cpli_blocks_destroy(b);
    cpli_graph_free(&g);
  }
}

static void lowered_levels_are_followed(void** state) {
  (void)state;
  uint64_t seed = 7;
  for (int round = 0; round < 200; round++) {
    cpli_graph g;
    cpli_blocks* b;
    int32_t n = 2 + round % 30;
    cpli_graph_init(&g, ctx, n);
    for (int32_t e = 0; e < round % 47; e++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      CHECK_OK(ctx, cpli_graph_edge(&g, (int32_t)((seed >> 33) % (uint64_t)n),
                                    (int32_t)((seed >> 13) % (uint64_t)n)));
    }
    CHECK_OK(ctx, cpli_blocks_find(&g, NULL, &b));
    int32_t wanted[32];
    for (int32_t k = 0; k < b->n_blocks; k++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const int32_t most = b->late[k] - b->level[k];
      if (seed >> 62 == 0)
        b->late[k] = b->level[k] + (int32_t)((seed >> 33) % (uint64_t)(most + 1));
      wanted[k] = b->late[k];
    }
    CHECK_OK(ctx, cpli_blocks_follow_late(&g, b));
    validate(&g, b);
    for (int32_t k = 0; k < b->n_blocks; k++)
      CHECK(b->level[k] <= b->late[k] && b->late[k] <= wanted[k]);
    cpli_blocks_destroy(b);
    cpli_graph_free(&g);
  }
}

// 100,000 nodes: neither the search nor the tearing may recurse or be quadratic.
static void long_chains_and_rings(void** state) {
  (void)state;
  enum { LONG = 100000 };
  for (int ring = 0; ring < 2; ring++) {
    cpli_graph g;
    cpli_blocks* b;
    cpli_graph_init(&g, ctx, LONG);
    for (int32_t i = LONG - 1; i > 0; i--) CHECK_OK(ctx, cpli_graph_edge(&g, i - 1, i));
    if (ring) CHECK_OK(ctx, cpli_graph_edge(&g, LONG - 1, 0));
    CHECK_OK(ctx, cpli_blocks_find(&g, NULL, &b));
    validate(&g, b);
    CHECK_INT(b->n_blocks, ring ? 1 : LONG);
    CHECK_INT(b->n_torn[0], ring);  // one cut opens a ring
    if (!ring) CHECK_INT(b->level[b->block[LONG - 1]], LONG - 1);
    for (int32_t k = 0; k < b->n_blocks; k++) CHECK(b->level[k] <= b->late[k]);
    cpli_blocks_destroy(b);
    cpli_graph_free(&g);
  }
}

static void only_nodes_that_may_be_torn_are(void** state) {
  (void)state;
  cpli_graph g;
  cpli_blocks* b;
  const bool may[] = {false, false, true, false};
  cpli_graph_init(&g, ctx, 4);
  for (int32_t i = 0; i < 4; i++) CHECK_OK(ctx, cpli_graph_edge(&g, i, (i + 1) % 4));
  CHECK_OK(ctx, cpli_blocks_find(&g, may, &b));
  validate(&g, b);
  CHECK_INT(b->n_torn[0], 1);
  CHECK_INT(b->order[0], 2);
  cpli_blocks_destroy(b);
  cpli_graph_free(&g);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_graphs_keep_the_invariants),
      cmocka_unit_test(lowered_levels_are_followed),
      cmocka_unit_test(long_chains_and_rings),
      cmocka_unit_test(only_nodes_that_may_be_torn_are),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
