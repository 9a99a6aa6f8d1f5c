// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Serialisation of heads and bodies into packets, readers that mark a message as bad at the first
// violated bound, and the assembly of long messages from fragments.
#include "tlm/message.h"

#include <assert.h>
#include <math.h>

// The layout of messages: numbers of fixed sizes, one after the other.
static_assert(CPLI_HEAD_SIZE == 4 + 4 + 8 + 4 + 4 + 8, "magic, kind, session, from, to, sequence");
static_assert(sizeof(double) == 8, "a Real has 8 bytes");
static_assert(CPLI_WIDTH * CPLI_NODES * 8 + 22 == CPLI_MAX_SEGMENT && CPLI_WIDTH <= UINT8_MAX,
              "a segment of the largest width");
static_assert(CPLI_HEAD_SIZE + CPLI_WAVE_HEAD_SIZE + CPLI_MAX_SEGMENT < CPLI_FRAME_MOST &&
                  CPLI_FRAME_MOST <= CPLI_MESSAGE_MOST && CPLI_TEXT_MOST < CPLI_FRAME_MOST,
              "a text or a segment fits into one frame");
static_assert(CPLI_MSG_KINDS == 15 && CPLI_CALLS == 14 && CPLI_PROTOCOL == 2,
              "another kind of message or request is another protocol");

//------------------------------------ writing ------------------------------------

static uint8_t* room_for(cpli_packet* w, size_t n) {
  assert(w->n <= w->cap);
  if (w->cap - w->n < n) {
    size_t cap = 2 * (w->n + n) + 256;
    uint8_t* data = cpli_realloc(w->ctx, w->data, cap, 1);
    w->no_memory = w->no_memory || data == NULL;
    if (data == NULL) return NULL;
    w->data = data;
    w->cap = cap;
  }
  w->n += n;
  return w->data + w->n - n;
}

static void write_number(uint8_t* at, uint64_t v, size_t n) {
  for (size_t i = 0; i < n; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static void put_number(cpli_packet* w, uint64_t v, size_t n) {
  uint8_t* at = room_for(w, n);
  if (at != NULL) write_number(at, v, n);
}

void cpli_packet_free(cpli_packet* w) {
  if (w->data != NULL) cpli_free(w->ctx, w->data);
  *w = (cpli_packet){.ctx = w->ctx};
}

cpl_status cpli_packet_check(const cpli_packet* w, size_t more) {
  if (w->no_memory) return cpli_nomem(w->ctx);
  if (w->n + more <= CPLI_MESSAGE_MOST) return CPL_OK;
  return cpl_fail(w->ctx, CPL_ERR_UNSUPPORTED,
                  "a message of %zu bytes is too long to be sent: record fewer variables", w->n);
}

void cpli_put_u8(cpli_packet* w, uint8_t v) { put_number(w, v, 1); }
void cpli_put_u32(cpli_packet* w, uint32_t v) { put_number(w, v, 4); }
void cpli_put_u64(cpli_packet* w, uint64_t v) { put_number(w, v, 8); }

void cpli_put_real(cpli_packet* w, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_number(w, bits, 8);
}

void cpli_put_reals(cpli_packet* w, const double* v, size_t n) {
  for (size_t i = 0; i < n; i++) cpli_put_real(w, v[i]);
}

void cpli_put_bytes(cpli_packet* w, const void* data, size_t n) {
  uint8_t* at = n > 0 ? room_for(w, n) : NULL;
  if (at != NULL) memcpy(at, data, n);
}

// Texts that are too long for readers are truncated.
void cpli_put_text(cpli_packet* w, const char* text) {
  size_t n = strnlen(text, CPLI_TEXT_MOST - 1);
  cpli_put_u32(w, (uint32_t)n);
  cpli_put_bytes(w, text, n);
}

static const uint8_t magic[4] = {'C', 'P', 'L', CPLI_PROTOCOL};

void cpli_write_head(uint8_t* at, const cpli_head* head) {
  memcpy(at, magic, sizeof magic);
  write_number(at + 4, head->kind, 4);
  write_number(at + 8, head->session, 8);
  write_number(at + 16, (uint32_t)head->from, 4);
  write_number(at + 20, (uint32_t)head->to, 4);
  write_number(at + 24, head->sequence, 8);
}

void cpli_put_head(cpli_packet* w, const cpli_head* head) {
  w->n = 0;
  w->no_memory = false;
  uint8_t* at = room_for(w, CPLI_HEAD_SIZE);
  if (at != NULL) cpli_write_head(at, head);
}

//------------------------------------ reading ------------------------------------

static uint64_t get_number(cpli_bytes* b, size_t n) {
  assert(b->at <= b->n && n <= 8);
  uint64_t v = 0;
  b->bad = b->bad || b->n - b->at < n;
  if (b->bad) return 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)b->data[b->at + i] << (8 * i);
  b->at += n;
  return v;
}

uint8_t cpli_get_u8(cpli_bytes* b) { return (uint8_t)get_number(b, 1); }
uint32_t cpli_get_u32(cpli_bytes* b) { return (uint32_t)get_number(b, 4); }
uint64_t cpli_get_u64(cpli_bytes* b) { return get_number(b, 8); }

double cpli_get_real(cpli_bytes* b) {
  uint64_t bits = get_number(b, 8);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

double cpli_get_finite(cpli_bytes* b) {
  double v = cpli_get_real(b);
  b->bad = b->bad || !isfinite(v);
  return b->bad ? 0 : v;
}

uint32_t cpli_get_count(cpli_bytes* b, size_t size) {
  uint32_t n = cpli_get_u32(b);
  b->bad = b->bad || n > (b->n - b->at) / size;
  return b->bad ? 0 : n;
}

void cpli_get_text(cpli_bytes* b, char* out, size_t size) {
  uint32_t n = cpli_get_count(b, 1);
  b->bad = b->bad || n >= size || memchr(b->data + b->at, '\0', n) != NULL;
  if (b->bad) n = 0;
  if (n > 0) memcpy(out, b->data + b->at, n);
  out[n] = '\0';
  b->at += n;
}

bool cpli_all_read(const cpli_bytes* b) { return !b->bad && b->at == b->n; }

const char* cpli_get_head(cpli_bytes* b, cpli_head* out) {
  if (b->n < CPLI_HEAD_SIZE) return "it is too short";
  if (memcmp(b->data, magic, 3) != 0) return "it is no message of couplet";
  if (b->data[3] != magic[3]) return "it is of another version of couplet";
  b->at = sizeof magic;
  uint32_t kind = cpli_get_u32(b);
  out->session = cpli_get_u64(b);
  out->from = (int32_t)cpli_get_u32(b);
  out->to = (int32_t)cpli_get_u32(b);
  out->sequence = cpli_get_u64(b);
  if (kind == 0 || kind >= CPLI_MSG_KINDS) return "it is of an unknown kind";
  out->kind = (cpli_message_kind)kind;
  return NULL;
}

const char* cpli_expect(cpli_bytes* b, const cpli_head* expected, cpli_head* out) {
  const char* fault = cpli_get_head(b, out);
  if (fault != NULL) return fault;
  if (out->session != expected->session) return "it belongs to another run";
  if (out->from != expected->from) return "it has another sender";
  if (out->to != expected->to) return "it has another receiver";
  if (out->sequence != expected->sequence) return "messages before it are missing or duplicated";
  return NULL;
}

const char* cpli_join_fragments(cpli_packet* fragments, cpli_message_kind kind, cpli_bytes* in,
                                bool* whole) {
  size_t n = in->n - in->at;
  assert(in->at <= in->n && fragments->n <= CPLI_MESSAGE_MOST);
  *whole = kind != CPLI_MSG_PIECE;
  if (*whole && fragments->n == 0) return NULL;
  if (fragments->n + n > CPLI_MESSAGE_MOST) return "it is too long";
  cpli_put_bytes(fragments, in->data + in->at, n);
  if (fragments->no_memory) return "out of memory";
  if (!*whole) return NULL;
  *in = (cpli_bytes){.data = fragments->data, .n = fragments->n};
  fragments->n = 0;
  return NULL;
}

//------------------------------------ bodies ------------------------------------

void cpli_put_solver(cpli_packet* w, const cpl_solver_def* s) {
  cpli_put_text(w, cpl_solver_name(s->kind));
  cpli_put_u32(w, s->linear);
  cpli_put_u32(w, s->projection);
  cpli_put_u32(w, s->form);
  cpli_put_real(w, s->rtol);
  cpli_put_real(w, s->atol);
  cpli_put_real(w, s->step);
  cpli_put_u32(w, (uint32_t)s->max_events);
  cpli_put_u32(w,
               (uint32_t)(s->restart_each_step | s->stop_at_steps_end << 1 | s->one_solver << 2));
}

void cpli_get_solver(cpli_bytes* b, cpl_solver_def* s) {
  char name[32];
  *s = cpl_default_solver_def();
  cpli_get_text(b, name, sizeof name);
  uint32_t linear = cpli_get_u32(b), projection = cpli_get_u32(b), form = cpli_get_u32(b);
  s->rtol = cpli_get_finite(b);
  s->atol = cpli_get_finite(b);
  s->step = cpli_get_finite(b);
  s->max_events = (int32_t)(cpli_get_u32(b) & INT32_MAX);
  uint32_t flags = cpli_get_u32(b);
  b->bad = b->bad || !cpl_solver_by_name(name, &s->kind) || linear > CPL_LINEAR_GMRES ||
           projection > CPL_PROJECT_NEVER || form > CPL_FORM_DAE || flags > 7;
  if (b->bad) return;
  s->linear = (cpl_linear_solver)linear;
  s->projection = (cpl_projection)projection;
  s->form = (cpl_form)form;
  s->restart_each_step = flags & 1;
  s->stop_at_steps_end = flags >> 1 & 1;
  s->one_solver = flags >> 2 & 1;
}

void cpli_put_segment(cpli_packet* w, int32_t end, int32_t width, const cpli_segment* s) {
  cpli_put_u32(w, (uint32_t)end);
  assert(end >= 0 && (width == 1 || width == CPLI_WIDTH) && s->from < s->to);
  cpli_put_u8(w, (uint8_t)width);
  cpli_put_u8(w, s->jump);
  cpli_put_real(w, s->from);
  cpli_put_real(w, s->to);
  for (int32_t k = 0; k < width; k++) cpli_put_reals(w, s->c[k], CPLI_NODES);
}

void cpli_get_wave_head(cpli_bytes* b, cpli_wave_head* out) {
  out->published = cpli_get_finite(b);
  uint8_t stopped = cpli_get_u8(b);
  out->stopped = stopped == 1;
  out->n = cpli_get_count(b, 4 + 1 + 1 + 2 * 8 + CPLI_NODES * 8);
  b->bad = b->bad || stopped > 1;
}

void cpli_get_segment(cpli_bytes* b, int32_t* end, int32_t* width, cpli_segment* s) {
  *s = (cpli_segment){0};
  *end = (int32_t)cpli_get_u32(b);
  *width = cpli_get_u8(b);
  uint8_t jump = cpli_get_u8(b);
  s->jump = jump == 1;
  s->from = cpli_get_finite(b);
  s->to = cpli_get_finite(b);
  b->bad =
      b->bad || jump > 1 || *end < 0 || (*width != 1 && *width != CPLI_WIDTH) || !(s->from < s->to);
  for (int32_t k = 0; k < *width && !b->bad; k++) {
    for (int32_t i = 0; i < CPLI_NODES; i++) s->c[k][i] = cpli_get_finite(b);
  }
}
