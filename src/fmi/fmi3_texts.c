// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Clocked Strings and Binaries of FMI 3.0: what they were last, for the time between the ticks of
// their clocks (fmi3_clocked.c). A String is kept with its final zero.
#include "fmi/fmi3_calls.h"

static bool is_text(const cpl_variable* v) {
  return v->type == CPL_STRING || v->type == CPL_BINARY;
}

// The k-th clocked variable, when it is one of ours and has not come before with another clock.
static const cpl_variable* text_at(const cpli_fmi3* in, int32_t k) {
  const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[k].var];
  bool again = k > 0 && in->clocked[k - 1].var == in->clocked[k].var;
  return is_text(v) && !again ? v : NULL;
}

cpl_status cpli_fmi3_text_keep(cpli_fmi3* in, uint32_t ref, const void* data, size_t size) {
  cpli_fmi3_text* t = &in->texts[ref];
  if (size >= t->cap) {
    uint8_t* room = cpli_realloc(in->base.head.component.ctx, t->data, size + 16, 1);
    if (room == NULL) return cpli_nomem(in->base.head.component.ctx);
    t->data = room;
    t->cap = size + 16;
  }
  if (size > 0) memcpy(t->data, data, size);
  t->data[size] = '\0';  // there is room for it: sizes stay below cap
  t->size = size;
  return CPL_OK;
}

const char* cpli_fmi3_text_string(const cpli_fmi3* in, uint32_t ref) {
  const cpli_fmi3_text* t = &in->texts[ref];
  return t->data != NULL ? (const char*)t->data : "";
}

cpl_binary cpli_fmi3_text_binary(const cpli_fmi3* in, uint32_t ref) {
  return (cpl_binary){in->texts[ref].data, in->texts[ref].size};
}

//------------------------------------ ticks ------------------------------------

cpl_status cpli_fmi3_text_set(cpli_fmi3* in, const cpl_variable* v) {
  cpl_component* c = &in->base.head.component;
  const char* text = cpli_fmi3_text_string(in, v->ref);
  cpl_binary binary = cpli_fmi3_text_binary(in, v->ref);
  return v->type == CPL_STRING ? cpli_fmi3_set_string(c, &v->ref, 1, &text)
                               : cpli_fmi3_set_binary(c, &v->ref, 1, &binary);
}

cpl_status cpli_fmi3_texts_read(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < in->n_clocked && in->texts != NULL && st == CPL_OK; k++) {
    const cpl_variable* v = text_at(in, k);
    if (v == NULL || in->gates[v->ref] != CPLI_OPEN) continue;
    const char* text = "";
    cpl_binary binary = {0};
    st = v->type == CPL_STRING ? cpli_fmi3_read_string(in, &v->ref, 1, &text)
                               : cpli_fmi3_read_binary(in, &v->ref, 1, &binary);
    if (st != CPL_OK) return st;
    st = v->type == CPL_STRING ? cpli_fmi3_text_keep(in, v->ref, text, strlen(text))
                               : cpli_fmi3_text_keep(in, v->ref, binary.data, binary.size);
  }
  return st;
}

//------------------------------------ saved states ------------------------------------

size_t cpli_fmi3_texts_size(const cpli_fmi3* in) {
  size_t size = 0;
  for (int32_t k = 0; k < in->n_clocked && in->texts != NULL; k++) {
    const cpl_variable* v = text_at(in, k);
    if (v != NULL) size += sizeof(size_t) + in->texts[v->ref].size;
  }
  return size;
}

void cpli_fmi3_texts_save(const cpli_fmi3* in, char* to) {
  for (int32_t k = 0; k < in->n_clocked && in->texts != NULL; k++) {
    const cpl_variable* v = text_at(in, k);
    if (v == NULL) continue;
    const cpli_fmi3_text* t = &in->texts[v->ref];
    memcpy(to, &t->size, sizeof t->size);
    if (t->size > 0) memcpy(to + sizeof t->size, t->data, t->size);
    to += sizeof t->size + t->size;
  }
}

cpl_status cpli_fmi3_texts_restore(cpli_fmi3* in, const char* from, size_t size) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < in->n_clocked && in->texts != NULL && st == CPL_OK; k++) {
    const cpl_variable* v = text_at(in, k);
    size_t n = 0;
    if (v == NULL) continue;
    if (size >= sizeof n) memcpy(&n, from, sizeof n);
    if (size < sizeof n || n > size - sizeof n)
      return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_INPUT, in->base.name, NULL,
                         in->base.time, "these bytes are no saved state");
    st = cpli_fmi3_text_keep(in, v->ref, from + sizeof n, n);
    from += sizeof n + n;
    size -= sizeof n + n;
  }
  return st;
}

//------------------------------------ making ------------------------------------

static uint8_t digit(char c) { return (uint8_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10); }

static cpl_status keep_start(cpli_fmi3* in, const cpl_variable* v) {
  const char* text = v->start_text != NULL ? v->start_text : "";
  size_t n = strlen(text);
  if (v->type == CPL_STRING) return cpli_fmi3_text_keep(in, v->ref, text, n);
  cpl_status st = cpli_fmi3_text_keep(in, v->ref, text, n / 2);
  uint8_t* to = in->texts[v->ref].data;
  for (size_t i = 0; i < n / 2 && st == CPL_OK; i++)
    to[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return st;
}

cpl_status cpli_fmi3_texts_reset(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < in->n_clocked && in->texts != NULL && st == CPL_OK; k++) {
    const cpl_variable* v = text_at(in, k);
    if (v != NULL) st = keep_start(in, v);
  }
  return st;
}

cpl_status cpli_fmi3_texts_prepare(cpli_fmi3* in) {
  bool any = false;
  for (int32_t k = 0; k < in->n_clocked; k++) any = any || text_at(in, k) != NULL;
  if (!any) return CPL_OK;
  in->texts = cpli_alloc(in->base.head.component.ctx, in->room, sizeof *in->texts);
  return in->texts != NULL ? cpli_fmi3_texts_reset(in) : cpli_nomem(in->base.head.component.ctx);
}

void cpli_fmi3_texts_release(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  for (size_t i = 0; i < in->room && in->texts != NULL; i++) cpli_free(ctx, in->texts[i].data);
  cpli_free(ctx, in->texts);
}
