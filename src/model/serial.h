// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states as bytes. One function per kind of component lists the members of its snapshot; the
// same list writes and reads them, so that both always agree. The bytes begin with a mark and a
// fingerprint of the component, contain no pointers and no padding, and the bytes of components
// inside follow with their lengths. Bytes that are read are not trusted: whatever does not fit
// makes the reading fail, and nothing is changed.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

// The memory of the bytes that a component lends; released with the component.
typedef struct cpli_serial_room {
  unsigned char* data;
  size_t n, cap;
} cpli_serial_room;

// One conversion. Once it has failed, nothing is written or read any more.
typedef struct cpli_serial {
  cpl_component* c;
  cpli_serial_room* room;  // NULL: bytes are read
  const unsigned char* at;
  size_t left;
  cpl_status st;
  bool incomplete;  // a history: something has none,
  char lacks[200];  // and what it is
} cpli_serial;

/// The list of the members of a snapshot: calls the functions below for all of them, in order. When
/// bytes are read, the snapshot is empty and is made first; forget() accepts one that is not
/// complete. When they are written, it is not changed.
typedef void cpli_serial_fn(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot);

static inline bool cpli_serial_reads(const cpli_serial* s) { return s->room == NULL; }

/// The operation `serialize`: the bytes of a snapshot, borrowed from `room`.
cpl_status cpli_serial_write(cpl_component* c, cpli_serial_room* room, cpli_serial_fn* list,
                             const cpl_snapshot* snapshot, cpl_binary* bytes);
/// The operation `deserialize`: a new snapshot takes the place of the former one, which is
/// forgotten. On failure *snapshot is unchanged.
cpl_status cpli_serial_read(cpl_component* c, const cpl_binary* bytes, cpli_serial_fn* list,
                            cpl_snapshot* snapshot);
void cpli_serial_free(cpl_context* ctx, cpli_serial_room* room);

//------------------------------------ without a snapshot ------------------------------------

/// The same for anything else: the list has what `user` points to, and sets it when bytes are read.
typedef void cpli_serial_list(cpli_serial* s, void* user);

/// Bytes of a list, borrowed from `room`; of the component, for messages and the fingerprint. A
/// history that is not complete: a text that names what has none.
cpl_status cpli_serial_put(cpl_component* c, cpli_serial_room* room, cpli_serial_list* list,
                           void* user, cpl_binary* bytes, bool* complete);
/// After a failure some of it may have been set.
cpl_status cpli_serial_get(cpl_component* c, const cpl_binary* bytes, cpli_serial_list* list,
                           void* user);

/// A part of a component has no history: the whole has none.
void cpli_serial_lacks(cpli_serial* s, const cpl_component* c, const char* part);

/// The history of a component inside (cpl_component_ops.get_history).
void cpli_serial_history(cpli_serial* s, cpl_component* part, bool is_stepper);

/// Whether a component can be part of a snapshot that becomes bytes.
bool cpli_serial_can(const cpl_component* c);

//------------------------------------ members ------------------------------------

void cpli_serial_bytes(cpli_serial* s, void* data, size_t n);
void cpli_serial_reals(cpli_serial* s, double* values, size_t n);
void cpli_serial_real(cpli_serial* s, double* value);
void cpli_serial_bool(cpli_serial* s, bool* value);
void cpli_serial_long(cpli_serial* s, int64_t* value);
/// A number between `min` and `max`, e.g. an index.
void cpli_serial_int(cpli_serial* s, int32_t* value, int32_t min, int32_t max);
/// A counter: not negative, and with room for further counting.
void cpli_serial_count32(cpli_serial* s, int32_t* value);
void cpli_serial_count64(cpli_serial* s, int64_t* value);
/// Pivots of n rows.
void cpli_serial_pivots(cpli_serial* s, int32_t* pivot, size_t n);
/// A number that is the same in both components, such as that of their parts.
void cpli_serial_same(cpli_serial* s, size_t n);
/// The number of items that follow, each of at least `size` bytes: at most as many as bytes are
/// left.
void cpli_serial_count(cpli_serial* s, size_t* n, size_t size);
/// A polynomial. A function of time cannot be written: it is read as a curve of order
/// CPLI_SET_AGAIN, which whoever set it has to set again.
void cpli_serial_curve(cpli_serial* s, cpl_curve* curve);
enum { CPLI_SET_AGAIN = -1 };
/// Fails because a saved curve was a function of time, and none is set now.
cpl_status cpli_curve_missing(const cpl_component* c, const char* input, double t);
/// A text with its length, at most SIZE_MAX / 2. Owned: when it is read, *text by the caller, from
/// the context of the component.
void cpli_serial_text(cpli_serial* s, char** text, size_t* size);
/// Bytes with their length. Borrowed: when they are read, from the bytes of the conversion.
void cpli_serial_blob(cpli_serial* s, cpl_binary* bytes);
/// Whether a component has a variable of that type and reference.
bool cpli_serial_has(const cpl_component* c, uint8_t type, uint32_t ref);
/// The snapshot of a component inside.
void cpli_serial_part(cpli_serial* s, cpl_component* part, cpl_snapshot* snapshot);
/// Fails: these bytes do not fit, and why.
void cpli_serial_refuse(cpli_serial* s, const char* why);
/// Fails: out of memory.
void cpli_serial_nomem(cpli_serial* s);
/// Whether a snapshot could be made; otherwise the conversion has failed.
static inline bool cpli_serial_made(cpli_serial* s, const cpl_snapshot* snapshot) {
  if (snapshot->data == NULL) cpli_serial_nomem(s);
  return snapshot->data != NULL;
}
