// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The way of a value backwards from a sink to its source, and what happens to the value on it.
#pragma once

#include "system/ssp_flat.h"

// An element of an array; n = 0: the whole, or a scalar.
typedef struct cpli_flat_index {
  const int64_t* at;
  size_t n;
} cpli_flat_index;

typedef struct cpli_flat_trail {
  cpli_flat_port* sink;
  cpli_flat_index sink_index;
  cpli_flat_port* source;  // a variable of a model, or a port without a source
  cpli_flat_index source_index;
  const cpli_flat_edge** edges;  // from the sink to the source
  cpli_flat_port** sinks;        // of the edges
  size_t n, cap;
  const cpli_flat_port* parts;  // the elements of this array have sources of their own. Nullable
} cpli_flat_trail;

/// Follows the edges from `sink`, or of one element of it. Where an array is put together of
/// elements, `parts` is set and there is no source.
/// Owned: by the caller, who calls cpli_flat_trail_free(); a trail can be used again.
cpl_status cpli_flat_follow(cpli_flat* f, cpli_flat_trail* t, cpli_flat_port* sink,
                            cpli_flat_index index);
void cpli_flat_trail_free(cpli_flat* f, cpli_flat_trail* t);

/// Where the connection stands that is nearest to the sink.
cpli_source_loc cpli_flat_trail_loc(const cpli_flat_trail* t);
/// "plant.T[1,2]"
const char* cpli_flat_name(cpli_flat* f, const cpli_flat_port* p, cpli_flat_index index);
/// The type of the value, as far as a connector on the trail has one; `given` false: none has.
cpli_ssp_type cpli_flat_trail_type(const cpli_flat_trail* t);
/// Whether a connection on it changes the value, but for its unit.
bool cpli_flat_changes(const cpli_flat_trail* t);

/// Whether the value of the source cannot be found from that of the sink: there is a map on the
/// trail, or a factor 0.
bool cpli_flat_maps(const cpli_flat_trail* t);

/// The source as a text: its name, or an expression where there is a map; and the transformation of
/// a name, NULL where units of variables decide. `name`: of the source in the definition.
cpl_status cpli_flat_source(cpli_flat* f, const cpli_flat_trail* t, const char* name,
                            const char** text, const cpli_transform** transform);
