// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Trajectories of Morris' design, by random access: the place of a factor in the order of moves is
// an element of a permutation.
#include "study/design.h"

cpli_trajectory cpli_trajectory_of(const cpl_design* d, int64_t number) {
  return (cpli_trajectory){d, number,
                           cpli_permutation_make(d->def.n_factors, d->def.seed,
                                                 cpli_stream(CPLI_STREAM_ORDER, (uint64_t)number))};
}

cpli_move cpli_trajectory_move(const cpli_trajectory* t, size_t factor) {
  const uint64_t half = (uint64_t)t->design->def.levels / 2;
  const cpli_random r = cpli_random_bits(t->design->def.seed, factor,
                                         cpli_stream(CPLI_STREAM_START, (uint64_t)t->number));
  const int32_t low = (int32_t)(cpli_unit_interval(r.part[0]) * (double)half);
  const int32_t high = low + (int32_t)half;
  const bool up = r.part[1] >> 63;
  return (cpli_move){(int64_t)cpli_permute(&t->order, factor) + 1, up ? low : high,
                     up ? high : low};
}

// Levels are quantiles: from the least to the greatest value where both are finite, otherwise at
// the middles of equal parts.
static double level_value(const cpl_factor* f, int32_t level, int32_t levels) {
  const bool unbounded = f->kind == CPL_FACTOR_NORMAL || f->kind == CPL_FACTOR_LOGNORMAL;
  return cpl_factor_quantile(f, unbounded ? (level + 0.5) / levels : level / (levels - 1.0));
}

double cpli_trajectory_value(const cpli_trajectory* t, int64_t i, size_t factor) {
  const cpli_move m = cpli_trajectory_move(t, factor);
  return level_value(&t->design->factors[factor], i >= m.step ? m.to : m.from,
                     t->design->def.levels);
}
