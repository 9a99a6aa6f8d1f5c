// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The host program: loads the binary of an FMU of its own platform and executes the calls that
// arrive through shared memory (wire.h). It is compiled for each platform (cmake/foreign.cmake)
// from this folder and src/base/shared.c, and uses nothing else of the library.
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#include "base/shared.h"
#include "fmi/foreign/wire.h"

typedef struct host {
  cpli_shared* shared;
  char* data;  // behind it
  wire_head* head;
  cpli_waits waits;
  int version;    // of FMI
  void* library;  // of the FMU
  void* instance;
  void* functions[WIRE_FUNCTIONS];  // of the binary; NULL: not exported
  // memory that a call needs on this side; kept
  void* room[2];
  size_t room_size[2];
} host;

extern host the_host;

/// Execute the function of a call; returns its status. host_fmiN.c.
int host_call_fmi1(wire_call* c);
int host_call_fmi2(wire_call* c);
int host_call_fmi3(wire_call* c);

//------------------------------------ for the functions ------------------------------------

static inline void* host_array(const wire_call* c, int i) {
  return the_host.data + c->args[i].value.offset;
}
static inline size_t host_count(const wire_call* c, int i) { return (size_t)c->args[i].count; }
static inline int host_integer(const wire_call* c, int i) { return (int)c->args[i].value.integer; }
static inline double host_real(const wire_call* c, int i) { return c->args[i].value.real; }

/// The single text of an argument; NULL: none.
const char* host_text(const wire_call* c, int i);
/// A copy of it that stays: FMUs may keep pointers to the texts that they are made with.
const char* host_kept_text(const wire_call* c, int i);
/// Pointers to the texts, or the blocks of bytes, of an argument; sizes only where they are not
/// NULL. Valid until the next call of this function.
const char** host_blocks(const wire_call* c, int i);
size_t* host_sizes(const wire_call* c, int i);

/// Give back texts, or blocks of bytes, as argument i, behind the call.
void host_return(wire_call* c, int i, const char* const* blocks, const size_t* sizes);

/// Send a message of the FMU to the importer; from any thread.
void host_message(int status, const char* category, const char* format, va_list args);

void* host_allocate(size_t count, size_t size);
void host_release(void* memory);

/// A new call for a callback, behind those in progress; host_callback() sends it and executes
/// requests until it has ended. Only in the thread that executes calls.
wire_call* host_begin_callback(void);
void host_callback(wire_call* c, wire_callback kind);

//------------------------------------ the system ------------------------------------

// host_windows.c, host_linux.c

/// Map the memory; `memory` and `waker` are the names of files (cpli_channel_places()). False: it
/// cannot be done.
bool host_open(const char* memory, const char* waker);
/// Wait for a byte on standard input; ends the program at its end.
void host_sleep(void);
void host_wake_parent(void);
double host_now(void);
/// Let another thread run.
void host_pause(void);
/// Load a library; on failure `text` gets the reason. `temp`: the folder for temporary files.
void* host_load(const char* path, const char* temp, char* text, size_t size);
void host_unload(void* library);
void* host_find(void* library, const char* name);
/// Report crashes by host_crashed(); to be called again after foreign code was executed.
void host_watch_crashes(void);
_Noreturn void host_end(int code);

/// Tell the importer that the binary has crashed. Safe in a signal handler.
void host_crashed(uint32_t code, uint64_t address, const char* module);
