// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The coefficients of erk8: all conditions of order 8, and of order 7 for the embedded weights, one
// for each rooted tree.
#include "solver/rk87.h"

#include "testing.h"

enum { ORDER = 8, MAX_TREES = 400, STAGES = CPLI_RK87_STAGES };

// A tree is a root and trees on it, each of them no later in the list than the one before.
typedef struct tree {
  int nodes, n_children, child[ORDER];
  double density;        // gamma(t)
  double stage[STAGES];  // product of A times those of the children
} tree;

static tree trees[MAX_TREES];
static int n_trees;

static void finish(tree* t) {
  t->density = t->nodes;
  for (int i = 0; i < STAGES; i++) t->stage[i] = 1;
  for (int k = 0; k < t->n_children; k++) {
    const tree* child = &trees[t->child[k]];
    t->density *= child->density;
    for (int i = 0; i < STAGES; i++) {
      double sum = 0;
      for (int j = 0; j < STAGES; j++) sum += cpli_rk87_table.a[i * STAGES + j] * child->stage[j];
      t->stage[i] *= sum;
    }
  }
}

// All trees with `left` more nodes than `t` has, whose further children come no later than `last`.
static void grow(tree t, int left, int last) {
  if (left == 0) {
    assert_true(n_trees < MAX_TREES);
    finish(&t);
    trees[n_trees++] = t;
    return;
  }
  for (int k = 0; k <= last; k++) {
    if (trees[k].nodes > left) continue;
    tree more = t;
    more.child[more.n_children++] = k;
    more.nodes += trees[k].nodes;
    grow(more, left - trees[k].nodes, k);
  }
}

static int list_trees(int order) {
  n_trees = 0;
  for (int nodes = 1; nodes <= order; nodes++) grow((tree){.nodes = 1}, nodes - 1, n_trees - 1);
  return n_trees;
}

static double worst(const double* weights, int nodes) {
  double most = 0;
  for (int k = 0; k < n_trees; k++) {
    if (trees[k].nodes != nodes) continue;
    double sum = 0;
    for (int i = 0; i < STAGES; i++) sum += weights[i] * trees[k].stage[i];
    most = fmax(most, fabs(sum - 1 / trees[k].density));
  }
  return most;
}

static void every_condition_holds(void** state) {
  (void)state;
  CHECK_INT(list_trees(ORDER), 1 + 1 + 2 + 4 + 9 + 20 + 48 + 115);
  for (int nodes = 1; nodes <= 8; nodes++) CHECK(worst(cpli_rk87_table.b, nodes) < 1e-14);
  for (int nodes = 1; nodes <= 7; nodes++) CHECK(worst(cpli_rk87_table.d, nodes) < 1e-14);
  CHECK(worst(cpli_rk87_table.d, 8) > 1e-6);  // the two differ: there is an estimate
}

static void rows_add_up_to_nodes(void** state) {
  (void)state;
  for (int i = 0; i < STAGES; i++) {
    double sum = 0;
    for (int j = 0; j < STAGES; j++) {
      sum += cpli_rk87_table.a[i * STAGES + j];
      if (j >= i) CHECK(cpli_rk87_table.a[i * STAGES + j] == 0);
    }
    CHECK_NEAR(sum, cpli_rk87_table.c[i], 1e-14);
  }
}

// Fehlberg's pair has none for x' = t^7.
static void time_alone_has_an_estimate(void** state) {
  (void)state;
  double sum = 0;
  for (int i = 0; i < STAGES; i++)
    sum += (cpli_rk87_table.b[i] - cpli_rk87_table.d[i]) * pow(cpli_rk87_table.c[i], 7);
  CHECK(fabs(sum) > 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_condition_holds),
      cmocka_unit_test(rows_add_up_to_nodes),
      cmocka_unit_test(time_alone_has_an_estimate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
