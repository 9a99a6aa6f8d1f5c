// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The binary of an FMU for another platform, in a process of its own: a host program (foreign/) of
// that platform loads it, on Windows platforms under Wine, and executes the calls of its functions,
// which are forwarded through shared memory (foreign/wire.h). Each instance has its own process.
// Functions take the place of those of the binary (cpli_foreign_symbol()), so that everything above
// the functions of the standard is the same as with a binary of this platform.
#pragma once

#include "base/channel.h"
#include "fmi/foreign/wire.h"
#include "fmi/instance.h"
#include "fmi/platform.h"

enum { CPLI_KEPT_BLOCKS = 16, CPLI_POSTED = 64 };

// A call that is sent together with the next one.
typedef struct cpli_posted {
  uint64_t at;
  uint32_t function;
} cpli_posted;

typedef struct cpli_foreign {
  cpli_hosted base;
  cpl_fmu* fmu;
  const cpli_platform* platform;
  cpli_fmu_instance* in;  // the instance that it serves; NULL before it is made
  cpli_channel channel;
  wire_head* head;
  uint64_t top;  // of the memory: free from here on
  cpli_posted posted[CPLI_POSTED];
  size_t n_posted;
  int nested;         // callbacks in progress
  wire_call* answer;  // of the last call
  bool exported[WIRE_FUNCTIONS];
  char* kept[CPLI_KEPT_BLOCKS];  // returned texts and bytes, of one call each
  size_t kept_sizes[CPLI_KEPT_BLOCKS], next_kept;
  // FMI 3.0: the callbacks of the instance
  fmi3IntermediateUpdateCallback on_update;
  fmi3ClockUpdateCallback on_clock_update;
  void* environment;
  double limit;      // for the start [s]
  bool too_late;     // the last call did not return in time
  char reason[256];  // why the process has ended (base.lost)
} cpli_foreign;

/// Start the host of that platform and load the binary `path` of `kind`.
/// Owned: *out by the caller, who calls its close().
cpl_status cpli_foreign_open(cpl_fmu* fmu, const cpli_fmu_kind* kind, const cpli_platform* platform,
                             const char* path, cpli_hosted** out);

/// The process that functions of this thread without an instance are forwarded to; NULL: none.
cpli_foreign* cpli_foreign_selected(void);

//------------------------------------ calls ------------------------------------

typedef enum cpli_transfer_kind {
  CPLI_TRANSFER_INTEGER,
  CPLI_TRANSFER_REAL,
  CPLI_TRANSFER_IN,
  CPLI_TRANSFER_OUT,       // copied in as well: elements that are not written keep their value
  CPLI_TRANSFER_TEXTS,     // count texts
  CPLI_TRANSFER_BINARIES,  // count blocks of bytes, of `sizes`
  CPLI_TRANSFER_RETURNED,  // room for count texts or blocks of bytes: cpli_foreign_returned()
} cpli_transfer_kind;

typedef struct cpli_transfer {
  cpli_transfer_kind kind;
  size_t count, size;  // elements, and the size of one
  const void* in;
  void* out;
  const size_t* sizes;
  int64_t integer;
  double real;
} cpli_transfer;

#define CPLI_INTEGER(value) \
  { .kind = CPLI_TRANSFER_INTEGER, .integer = (int64_t)(value) }
#define CPLI_REAL(value) \
  { .kind = CPLI_TRANSFER_REAL, .real = (value) }
#define CPLI_IN(array, n) \
  { .kind = CPLI_TRANSFER_IN, .count = (n), .size = sizeof *(array), .in = (array) }
#define CPLI_OUT(array, n)                                                           \
  {                                                                                  \
    .kind = CPLI_TRANSFER_OUT, .count = (n), .size = sizeof *(array), .in = (array), \
    .out = (array)                                                                   \
  }
#define CPLI_BLOCK(bytes, n) \
  { .kind = CPLI_TRANSFER_IN, .count = (n), .size = 1, .in = (bytes) }
#define CPLI_TEXT_IN(text)                                                 \
  {                                                                        \
    .kind = CPLI_TRANSFER_TEXTS, .count = 1, .in = &(const char*) { text } \
  }
#define CPLI_TEXTS_IN(texts, n) \
  { .kind = CPLI_TRANSFER_TEXTS, .count = (n), .in = (texts) }
#define CPLI_BINARIES_IN(blocks, sizes_, n) \
  { .kind = CPLI_TRANSFER_BINARIES, .count = (n), .in = (blocks), .sizes = (sizes_) }
#define CPLI_RETURNED(n) \
  { .kind = CPLI_TRANSFER_RETURNED, .count = (n) }

/// Call a function. Returns its status; CPLI_CRASHED: the process has ended.
int cpli_foreign_call(cpli_foreign* f, uint32_t function, const cpli_transfer* args, size_t n);

/// Of the last call: the blocks that it returned as argument `arg`, each with its size; NULL: none.
/// Nullable: sizes, of terminated texts.
/// Valid for the next CPLI_KEPT_BLOCKS - 1 calls that return some: FMUs keep their texts for longer
/// than the standard demands.
void cpli_foreign_returned(cpli_foreign* f, size_t arg, const char** blocks, size_t* sizes);

// Functions of one version, by name; foreign_fmiN.c.
typedef struct cpli_forwarder {
  const char* name;
  uint32_t function;
  void (*call)(void);
} cpli_forwarder;
const cpli_forwarder* cpli_foreign_fmi1(size_t* n);
const cpli_forwarder* cpli_foreign_fmi2(size_t* n);
const cpli_forwarder* cpli_foreign_fmi3(size_t* n);
/// Executes a callback.
void cpli_foreign_fmi3_callback(cpli_foreign* f, uint32_t callback, wire_call* call);
