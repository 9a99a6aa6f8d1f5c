// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Changes of everything in an aggregate in one direction: direction.c carries them along the plan,
// directional.c has the direction and the results as variables of the aggregate.
#pragma once

#include "aggregate/aggregate.h"

typedef struct share {  // of a component
  int32_t first;        // its states, coupled inputs, free inputs and held Reals, in known and seed
  int32_t n_known;      // states and coupled inputs
  int32_t n_all;        // with free inputs, which are set from outside
  int32_t n_held;       // with Reals that are constant between events
  bool moves;           // anything of these changes
  bool free_moves;      // a free input changes
  bool held_moves;      // a Real that is constant between events changes
  int32_t requested;    // the first unknown it is asked for; -1: none
  bool whole;           // seeds of all states and inputs, as cpl_directions has them
  int32_t kind;         // the first component that can be asked by the same call
} share;

// Where a known goes: a place in seed, of a component; component -1: a node.
typedef struct known_place {
  int32_t place, part;
  bool free, held;
} known_place;

// Where an unknown is found: a place in seed, or a node.
typedef struct unknown_place {
  enum { IS_CONSTANT, IN_SEED, AT_NODE, REQUESTED } kind;
  int32_t place;
} unknown_place;

// The unknowns that components are asked for, component after component.
typedef struct requests {
  uint32_t* refs;
  int32_t* of;             // number of each in the list of unknowns
  int32_t *parts, *first;  // the components, and where their references begin; one more
  int32_t* at;  // where the derivatives of all states are in the list, in their order; or
                // -1
  int32_t n_parts;
} requests;

typedef struct held_node {
  int32_t node, place;
} held_node;

// Where the change of a variable of a component is found, if not in the seed.
enum { HIDDEN = -3, CONSTANT = -2, ASKED = -1 };

typedef struct cpli_direction {
  cpl_context* ctx;
  share* shares;
  int32_t* place;        // variable of a component: its position in seed, or as above
  uint32_t* known;       // references
  double* seed;          // change of each of them
  uint32_t* derivative;  // references, in the order of all states
  size_t n_seeds;
  bool compact;       // few seeds are those of Reals that are constant between events
  int32_t* position;  // node: its position in seed (an input, or a state that is read), or as
                      // above
  double* change;     // of the nodes
  held_node* held;    // nodes that are constant between events, with a place in seed
  int32_t n_held;
  bool exact;  // all components and couplings have derivatives
  bool fails;  // a component failed once: differences are used
  double *x, *base, *moved;
  // scratch of requests, with room for all nodes and for the largest request so far
  uint32_t* asked;
  double* got;
  int32_t* of;
  size_t room;
  // the direction that the changes belong to
  uint32_t* last_known;
  double* last_seed;
  known_place* last_place;
  size_t n_last, room_last;
  int64_t walked;  // a->evaluations then; -1: they belong to none
  // the last list of unknowns
  uint32_t* read;
  unknown_place* read_place;
  requests requests;
  size_t n_read, room_read;
} direction;

/// Whether it is among the inputs of cpl_directions.
static inline bool cpli_is_direction_input(const cpl_variable* v) {
  return v->causality == CPL_CAUSALITY_INPUT && v->type <= CPL_ENUMERATION;
}

/// Nothing changes; then seeds are set, and cpli_direction_follow() finds the rest.
void cpli_direction_begin(cpli_aggregate* a);
cpl_status cpli_direction_follow(cpli_aggregate* a);
/// Unknowns of several components: those of parts[i] are refs[first[i]] to refs[first[i + 1] - 1].
/// refs NULL: the derivatives of their states, which begin at first[i] in the result.
cpl_status cpli_direction_ask(cpli_aggregate* a, const int32_t* parts, int32_t n,
                              const uint32_t* refs, const int32_t* first, double* out);
/// Room for n unknowns.
bool cpli_direction_reserve(direction* d, size_t n);
