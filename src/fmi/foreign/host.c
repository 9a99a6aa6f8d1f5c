// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Takes turns with the importer: waits for a request, executes it, answers.
#include "fmi/foreign/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

host the_host;

//------------------------------------ turns ------------------------------------

static void give_turn(void) {
  cpli_shared* s = the_host.shared;
  atomic_store(&s->turn, CPLI_PARENT);
  if (atomic_load(&s->sleeps[CPLI_PARENT])) host_wake_parent();
}

static void await_turn(void) {
  cpli_shared* s = the_host.shared;
  const double began = host_now();
  const double spin = cpli_waits_spin(&the_host.waits);
  bool mine = cpli_shared_look(s, CPLI_CHILD, spin, the_host.head->alone != 0, host_now);
  while (!mine) {
    atomic_store(&s->sleeps[CPLI_CHILD], 1);
    if (atomic_load(&s->turn) != CPLI_CHILD) host_sleep();
    atomic_store(&s->sleeps[CPLI_CHILD], 0);
    mine = atomic_load(&s->turn) == CPLI_CHILD;
  }
  cpli_waits_note(&the_host.waits, spin, host_now() - began);
}

//------------------------------------ messages ------------------------------------

static atomic_flag log_lock = ATOMIC_FLAG_INIT;
static _Thread_local bool is_server;  // the thread that executes calls

static void put_message(int status, const char* category, const char* text) {
  cpli_shared* s = the_host.shared;
  while (atomic_flag_test_and_set(&log_lock)) host_pause();
  bool sent = cpli_shared_put(s, (uint32_t)status, category, text);
  if (!sent && is_server) {
    s->flushes = 1;
    give_turn();
    await_turn();
    sent = cpli_shared_put(s, (uint32_t)status, category, text);
  }
  if (!sent) atomic_fetch_add(&s->log_lost, 1);
  atomic_flag_clear(&log_lock);
}

// A format without arguments in it is not one: FMUs pass plain texts with a per cent sign.
void host_message(int status, const char* category, const char* format, va_list args) {
  char text[CPLI_MESSAGE_TEXT];
  if (format == NULL) return;
  if (strchr(format, '%') == NULL) snprintf(text, sizeof text, "%s", format);
  else if (vsnprintf(text, sizeof text, format, args) < 0) text[0] = '\0';
  put_message(status, category != NULL ? category : "", text);
}

void* host_allocate(size_t count, size_t size) { return calloc(count, size); }

void host_release(void* memory) { free(memory); }

//------------------------------------ arguments ------------------------------------

static void* need_room(int which, size_t size) {
  if (size <= the_host.room_size[which]) return the_host.room[which];
  void* larger = realloc(the_host.room[which], size);
  if (larger == NULL) host_end(4);
  the_host.room[which] = larger;
  the_host.room_size[which] = size;
  return larger;
}

static const wire_bytes* blocks_of(const wire_call* c, int i) { return host_array(c, i); }

const char* host_text(const wire_call* c, int i) {
  const wire_bytes* b = blocks_of(c, i);
  return b->offset != 0 ? the_host.data + b->offset : NULL;
}

const char* host_kept_text(const wire_call* c, int i) {
  const char* text = host_text(c, i);
  char* copy = text != NULL ? malloc(strlen(text) + 1) : NULL;
  return copy != NULL ? strcpy(copy, text) : NULL;
}

const char** host_blocks(const wire_call* c, int i) {
  const size_t n = host_count(c, i);
  const char** out = need_room(0, (n + 1) * sizeof *out);
  for (size_t k = 0; k < n; k++) {
    const wire_bytes* b = &blocks_of(c, i)[k];
    out[k] = b->offset != 0 ? the_host.data + b->offset : NULL;
  }
  return out;
}

size_t* host_sizes(const wire_call* c, int i) {
  const size_t n = host_count(c, i);
  size_t* out = need_room(1, (n + 1) * sizeof *out);
  for (size_t k = 0; k < n; k++) out[k] = (size_t)blocks_of(c, i)[k].size;
  return out;
}

void host_return(wire_call* c, int i, const char* const* blocks, const size_t* sizes) {
  wire_bytes* out = host_array(c, i);
  for (size_t k = 0; k < host_count(c, i); k++) {
    const size_t size = blocks[k] == NULL ? 0 : sizes != NULL ? sizes[k] : strlen(blocks[k]) + 1;
    const uint64_t at = (c->end + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
    const bool fits = size <= the_host.head->size && at <= the_host.head->size - size;
    out[k] = (wire_bytes){0};
    if (blocks[k] == NULL || !fits) continue;
    memcpy(the_host.data + at, blocks[k], size);
    out[k] = (wire_bytes){.offset = at, .size = size};
    c->end = at + size;
  }
}

//------------------------------------ crashes ------------------------------------

void host_crashed(uint32_t code, uint64_t address, const char* module) {
  wire_head* head = the_host.head;
  size_t n = 0;
  if (head == NULL || head->crash != 0) return;
  while (n + 1 < sizeof head->text && module[n] != '\0') head->text[n] = module[n], n++;
  head->text[n] = '\0';
  head->crash_at = address;
  head->crash = code;
  give_turn();
}

//------------------------------------ loading ------------------------------------

// Names of FMI 1.0 begin with the identifier of the model; other versions may do so, too.
static void* find(const char* name, const char* identifier) {
  char prefixed[512];
  void* address = host_find(the_host.library, name);
  const int n = snprintf(prefixed, sizeof prefixed, "%s_%s", identifier, name);
  if (address == NULL && n > 0 && (size_t)n < sizeof prefixed)
    address = host_find(the_host.library, prefixed);
  return address;
}

#define NAMED(name, flags) [WIRE_##name] = #name,
static const char* const names[WIRE_FUNCTIONS] = {
    CPLI_FMI1_FUNCTIONS(NAMED) CPLI_FMI2_FUNCTIONS(NAMED) CPLI_FMI3_FUNCTIONS(NAMED)};

static int load(wire_call* c) {
  const int begins[] = {0, WIRE_FMI1, WIRE_FMI2, WIRE_FMI3, WIRE_FUNCTIONS};
  the_host.version = host_integer(c, 2);
  if (the_host.version < 1 || the_host.version > 3) return 3;
  the_host.library =
      host_load(host_text(c, 0), host_text(c, 3), the_host.head->text, sizeof the_host.head->text);
  if (the_host.library == NULL) return 3;
  bool* exported = host_array(c, 4);
  for (int i = begins[the_host.version] + 1; i < begins[the_host.version + 1]; i++) {
    if (names[i] != NULL) the_host.functions[i] = find(names[i], host_text(c, 1));
    exported[i] = the_host.functions[i] != NULL;
  }
  return 0;
}

//------------------------------------ requests ------------------------------------

static int execute(wire_call* c) {
  if (c->function == WIRE_START) return the_host.head->started = 1, 0;
  if (c->function == WIRE_LOAD) return load(c);
  if (c->function >= WIRE_FUNCTIONS || the_host.functions[c->function] == NULL) return 3;
  switch (the_host.version) {
    case 1: return host_call_fmi1(c);
    case 2: return host_call_fmi2(c);
    default: return host_call_fmi3(c);
  }
}

// A chain of calls. A warning is no failure.
static void execute_all(wire_call* c) {
  for (;;) {
    the_host.head->call = (uint64_t)((char*)c - the_host.data);
    c->status = execute(c);
    if (c->next == 0 || c->status < 0 || c->status > 1) break;
    atomic_fetch_add(&the_host.shared->calls, 1);
    c = (wire_call*)(the_host.data + c->next);
  }
  the_host.head->call = (uint64_t)((char*)c - the_host.data);
}

// Until a callback has ended; the program ends by WIRE_END.
static void serve(void) {
  for (;;) {
    await_turn();
    wire_call* c = (wire_call*)(the_host.data + the_host.head->call);
    if (c->function == WIRE_RETURN) return;
    if (c->function == WIRE_END) {
      if (the_host.library != NULL) host_unload(the_host.library);
      fflush(NULL);  // of a C library that the FMU shares with this program
      give_turn();
      host_end(0);
    }
    host_watch_crashes();
    execute_all(c);
    the_host.head->callback = WIRE_NO_CALLBACK;
    give_turn();
  }
}

static uint64_t in_progress;  // the end of the calls that callbacks interrupt

wire_call* host_begin_callback(void) {
  const wire_call* outer = (wire_call*)(the_host.data + the_host.head->call);
  const uint64_t end = outer->end > in_progress ? outer->end : in_progress;
  const uint64_t at = (end + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
  if (at + sizeof(wire_call) > the_host.head->size) host_end(4);
  wire_call* c = (wire_call*)(the_host.data + at);
  memset(c, 0, sizeof *c);
  c->end = at + sizeof *c;
  return c;
}

void host_callback(wire_call* c, wire_callback kind) {
  const uint64_t outer = the_host.head->call, before = in_progress;
  in_progress = c->end;
  the_host.head->call = (uint64_t)((char*)c - the_host.data);
  the_host.head->callback = kind;
  give_turn();
  serve();
  the_host.head->call = outer;
  in_progress = before;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("this program is started by couplet\n", stderr);
    return 2;
  }
  is_server = true;
  if (!host_open(argv[1], argv[2])) return 3;
  the_host.data = (char*)the_host.shared + sizeof(cpli_shared);
  the_host.head = (wire_head*)the_host.data;
  if (the_host.head->version != WIRE_VERSION) return 5;
  serve();
  return 0;
}
