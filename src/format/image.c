// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An image is a head, all texts with a zero byte behind each, and the data of the object, in the
// order of the tables. A text is its number in the list of texts, from 1; 0 is NULL. Before a
// pointer or a list stands one byte: whether it is not NULL.
#include "format/image.h"

#include "format/hash.h"

static const char mark[8] = "cplimage";

enum {
  VERSION = 1,
  AT_VERSION = 8,
  AT_TEXTS = 12,       // how many
  AT_LAYOUT = 16,      // fingerprint of the tables
  AT_SIZE = 24,        // of all bytes
  AT_TEXTS_SIZE = 32,  // of all texts
  AT_HASH = 40,        // of all bytes but these 8
  HEAD = 48,
  MAX_DEPTH = 64,  // structs inside each other
  BYTES_OF_TEXT = 4,
};

//------------------------------------ numbers ------------------------------------

static uint64_t load(const void* member, size_t size) {
  uint8_t one;
  uint16_t two;
  uint32_t four;
  uint64_t eight;
  switch (size) {
    case 1: return memcpy(&one, member, 1), one;
    case 2: return memcpy(&two, member, 2), two;
    case 4: return memcpy(&four, member, 4), four;
    default: return memcpy(&eight, member, 8), eight;
  }
}

static void store(void* member, size_t size, uint64_t value) {
  const uint8_t one = (uint8_t)value;
  const uint16_t two = (uint16_t)value;
  const uint32_t four = (uint32_t)value;
  switch (size) {
    case 1: memcpy(member, &one, 1); return;
    case 2: memcpy(member, &two, 2); return;
    case 4: memcpy(member, &four, 4); return;
    default: memcpy(member, &value, 8); return;
  }
}

static void encode(unsigned char* bytes, size_t size, uint64_t value) {
  for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t decode4(const unsigned char* b) {
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint64_t decode(const unsigned char* bytes, size_t size) {
  uint64_t value = 0;
  if (size == 1) return bytes[0];
  if (size == 4) return decode4(bytes);
  if (size == 8) return decode4(bytes) | (uint64_t)decode4(bytes + 4) << 32;
  for (size_t i = 0; i < size; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

//------------------------------------ tables ------------------------------------

// The size of a number in the struct, and in the image.
static size_t width_in_struct(const cpli_image_field* f) {
  return f->kind == CPLI_IMAGE_SIZE   ? sizeof(size_t)
         : f->kind == CPLI_IMAGE_BOOL ? sizeof(bool)
                                      : f->size;
}

static size_t width_in_image(const cpli_image_field* f) {
  return f->kind == CPLI_IMAGE_SIZE ? 8 : f->kind == CPLI_IMAGE_BOOL ? 1 : f->size;
}

// The size of one element in the struct or behind its pointer.
static size_t element_size(const cpli_image_field* f) {
  switch (f->kind) {
    case CPLI_IMAGE_STRUCT:
    case CPLI_IMAGE_POINTER:
    case CPLI_IMAGE_LIST: return f->type->size;
    case CPLI_IMAGE_TEXT:
    case CPLI_IMAGE_TEXTS: return sizeof(const char*);
    default: return width_in_struct(f);
  }
}

static size_t smallest_struct(const cpli_image_type* type);

// The least number of bytes that one element of a list has.
static size_t smallest_element(const cpli_image_field* f) {
  return f->kind == CPLI_IMAGE_LIST    ? smallest_struct(f->type)
         : f->kind == CPLI_IMAGE_TEXTS ? BYTES_OF_TEXT
                                       : f->size;
}

static size_t smallest_field(const cpli_image_field* f) {
  switch (f->kind) {
    case CPLI_IMAGE_STRUCT: return f->n * smallest_struct(f->type);
    case CPLI_IMAGE_TEXT: return BYTES_OF_TEXT;
    case CPLI_IMAGE_POINTER:
    case CPLI_IMAGE_LIST:
    case CPLI_IMAGE_NUMBERS:
    case CPLI_IMAGE_TEXTS: return 1;
    default: return f->n * width_in_image(f);
  }
}

static size_t smallest_struct(const cpli_image_type* type) {
  size_t bytes = 0;
  for (size_t i = 0; i < type->n_fields; i++) bytes += smallest_field(&type->fields[i]);
  assert(bytes > 0);
  return bytes > 0 ? bytes : 1;
}

static uint64_t count_of(const cpli_image_field* f, const char* owner) {
  if (f->count_of != NULL) return f->count_of(owner);
  return load(owner + f->count, f->count_size);
}

// What is hashed of a type that contains itself is how far outside it is.
typedef struct nesting {
  const struct nesting* outer;
  const cpli_image_type* type;
} nesting;

static void hash_number(cpli_hash* hash, uint64_t value) {
  unsigned char bytes[8];
  encode(bytes, sizeof bytes, value);
  cpli_hash_add(hash, bytes, sizeof bytes);
}

static void hash_type(cpli_hash* hash, const cpli_image_type* type, const nesting* outer) {
  uint64_t up = 1;
  for (const nesting* n = outer; n != NULL; n = n->outer, up++) {
    if (n->type == type) {
      hash_number(hash, up);
      return;
    }
  }
  const nesting here = {outer, type};
  cpli_hash_add(hash, type->name, strlen(type->name) + 1);
  for (size_t i = 0; i < type->n_fields; i++) {
    const cpli_image_field* f = &type->fields[i];
    cpli_hash_add(hash, f->name, strlen(f->name) + 1);
    hash_number(hash, (uint64_t)f->kind << 40 | (uint64_t)width_in_image(f) << 32 | f->n);
    hash_number(hash, (uint64_t)f->required << 32 | f->limit);
    if (f->type != NULL) hash_type(hash, f->type, &here);
  }
}

static uint64_t layout_of(const cpli_image_type* type) {
  cpli_hash hash = cpli_hash_begin();
  hash_type(&hash, type, NULL);
  return hash.part[0];
}

// The hash of an image, of eight bytes at a time. Every step is one-to-one, so that a change of up
// to eight of them is always noticed.
static uint64_t mix(uint64_t hash, const unsigned char* bytes, size_t n) {
  for (; n > 0; bytes += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
    hash = (hash ^ decode(bytes, n < 8 ? n : 8)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

static uint64_t hash_of(const unsigned char* bytes, size_t size) {
  return mix(mix(0, bytes, AT_HASH), bytes + HEAD, size - HEAD);
}

void cpli_image_seal(const cpli_image_type* type, unsigned char* bytes, size_t size) {
  if (size < HEAD) return;
  memcpy(bytes, mark, sizeof mark);
  encode(bytes + AT_VERSION, 4, VERSION);
  encode(bytes + AT_LAYOUT, 8, layout_of(type));
  encode(bytes + AT_SIZE, 8, size);
  encode(bytes + AT_HASH, 8, hash_of(bytes, size));
}

//------------------------------------ writing ------------------------------------

typedef struct buffer {
  unsigned char* bytes;
  size_t size, cap;
} buffer;

typedef struct writer {
  cpl_context* ctx;
  buffer texts, data;
  cpli_names known;  // text -> its number
  int32_t n_texts;
  int depth;
  bool portable;  // without the folders of paths
} writer;

// Room for n more bytes. NULL: out of memory.
static unsigned char* more(writer* w, buffer* b, size_t n) {
  if (n > b->cap - b->size) {
    size_t cap = 2 * b->cap + n + 256;
    unsigned char* larger = cpli_realloc(w->ctx, b->bytes, cap, 1);
    if (larger == NULL) return NULL;
    b->bytes = larger;
    b->cap = cap;
  }
  b->size += n;
  return b->bytes + b->size - n;
}

static cpl_status put(writer* w, size_t size, uint64_t value) {
  unsigned char* at = more(w, &w->data, size);
  if (at == NULL) return cpli_nomem(w->ctx);
  encode(at, size, value);
  return CPL_OK;
}

static cpl_status put_text(writer* w, const char* text) {
  if (text == NULL) return put(w, BYTES_OF_TEXT, 0);
  const int32_t number = cpli_names_add(&w->known, text, w->n_texts);
  if (number < 0) return cpli_nomem(w->ctx);
  if (number == w->n_texts) {
    const size_t n = strlen(text) + 1;
    unsigned char* at = more(w, &w->texts, n);
    if (at == NULL) return cpli_nomem(w->ctx);
    memcpy(at, text, n);
    w->n_texts++;
  }
  return put(w, BYTES_OF_TEXT, (uint64_t)number + 1);
}

static cpl_status cannot_write(const writer* w, const cpli_image_type* type,
                               const cpli_image_field* f, const char* why) {
  return cpl_fail(w->ctx, CPL_ERR_UNSUPPORTED, "%s.%s cannot be stored: %s", type->name, f->name,
                  why);
}

static const char* file_name(const char* path) {  // Nullable
  const char* slash = path != NULL ? strrchr(path, '/') : NULL;
  return slash != NULL ? slash + 1 : path;
}

static cpl_status write_struct(writer* w, const cpli_image_type* type, const char* object);

static cpl_status write_element(writer* w, const cpli_image_type* type, const cpli_image_field* f,
                                const char* at) {
  const char* text;
  switch (f->kind) {
    case CPLI_IMAGE_STRUCT:
    case CPLI_IMAGE_POINTER:
    case CPLI_IMAGE_LIST: return write_struct(w, f->type, at);
    case CPLI_IMAGE_TEXT:
    case CPLI_IMAGE_TEXTS:
      memcpy(&text, at, sizeof text);
      if (text == NULL && f->required) return cannot_write(w, type, f, "the text is missing");
      return put_text(w, f->path && w->portable ? file_name(text) : text);
    default: break;
  }
  const uint64_t value = load(at, width_in_struct(f));
  if (f->limit > 0 && value > f->limit) return cannot_write(w, type, f, "the value is unknown");
  return put(w, width_in_image(f), value);
}

// What a pointer leads to.
static cpl_status write_behind(writer* w, const cpli_image_type* type, const cpli_image_field* f,
                               const char* owner) {
  const bool one = f->kind == CPLI_IMAGE_POINTER;
  const uint64_t n = one ? 1 : count_of(f, owner);
  const size_t size = element_size(f);
  const char* items;
  memcpy(&items, owner + f->offset, sizeof items);
  if (n > INT32_MAX) return cannot_write(w, type, f, "there are too many");
  if (items == NULL && f->required && n > 0) return cannot_write(w, type, f, "it is missing");
  cpl_status st = put(w, 1, items != NULL);
  if (f->kind == CPLI_IMAGE_NUMBERS && f->size == 1 && items != NULL && st >= 0) {
    unsigned char* at = more(w, &w->data, n);
    if (at == NULL) return cpli_nomem(w->ctx);
    if (n > 0) memcpy(at, items, n);
    return CPL_OK;
  }
  for (uint64_t i = 0; i < n && items != NULL && st >= 0; i++)
    st = write_element(w, type, f, items + i * size);
  return st;
}

static cpl_status write_field(writer* w, const cpli_image_type* type, const cpli_image_field* f,
                              const char* object) {
  if (f->kind >= CPLI_IMAGE_POINTER) return write_behind(w, type, f, object);
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < f->n && st >= 0; i++)
    st = write_element(w, type, f, object + f->offset + i * element_size(f));
  return st;
}

static cpl_status write_struct(writer* w, const cpli_image_type* type, const char* object) {
  if (w->depth == MAX_DEPTH)
    return cpl_fail(w->ctx, CPL_ERR_UNSUPPORTED, "more than %d structs inside each other (%s)",
                    MAX_DEPTH, type->name);
  w->depth++;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < type->n_fields && st >= 0; i++)
    st = write_field(w, type, &type->fields[i], object);
  w->depth--;
  return st;
}

static cpl_status write_whole(cpl_context* ctx, const cpli_image_type* type, const void* object,
                              bool portable, cpli_image* out) {
  writer w = {.ctx = ctx, .portable = portable};
  *out = (cpli_image){0};
  cpl_status st = cpli_names_init(&w.known, ctx, 64);
  if (st >= 0) st = write_struct(&w, type, object);
  const size_t size = HEAD + w.texts.size + w.data.size;
  unsigned char* bytes = st >= 0 ? cpli_alloc(ctx, size, 1) : NULL;
  if (st >= 0 && bytes == NULL) st = cpli_nomem(ctx);
  if (st >= 0) {
    encode(bytes + AT_TEXTS, 4, (uint64_t)w.n_texts);
    encode(bytes + AT_TEXTS_SIZE, 8, w.texts.size);
    if (w.texts.size > 0) memcpy(bytes + HEAD, w.texts.bytes, w.texts.size);
    if (w.data.size > 0) memcpy(bytes + HEAD + w.texts.size, w.data.bytes, w.data.size);
    cpli_image_seal(type, bytes, size);
    *out = (cpli_image){bytes, size};
  }
  cpli_names_free(&w.known);
  cpli_free(ctx, w.texts.bytes);
  cpli_free(ctx, w.data.bytes);
  return st;
}

cpl_status cpli_image_write(cpl_context* ctx, const cpli_image_type* type, const void* object,
                            cpli_image* out) {
  return write_whole(ctx, type, object, false, out);
}

cpl_status cpli_image_write_portable(cpl_context* ctx, const cpli_image_type* type,
                                     const void* object, cpli_image* out) {
  return write_whole(ctx, type, object, true, out);
}

//------------------------------------ reading ------------------------------------

typedef struct reader {
  cpl_context* ctx;
  cpli_arena* arena;
  const char* what;  // the type of the whole
  const unsigned char *begin, *at, *end;
  const char** texts;
  uint64_t n_texts;
  int depth;
} reader;

static cpl_status damaged(const reader* r, const cpli_image_type* type, const cpli_image_field* f,
                          const char* why) {
  return cpl_fail(r->ctx, CPL_ERR_INPUT, "a stored %s is damaged at byte %zu (%s.%s): %s", r->what,
                  (size_t)(r->at - r->begin), type->name, f != NULL ? f->name : "", why);
}

static const char* shown_name(const cpli_image_type* type) {
  const char* end = strchr(type->name, '_');  // of the prefix
  return end != NULL ? end + 1 : type->name;
}

static cpl_status no_image(cpl_context* ctx, const cpli_image_type* type, const char* why) {
  return cpl_fail(ctx, CPL_ERR_INPUT, "a stored %s cannot be read: %s", shown_name(type), why);
}

static bool take(reader* r, size_t size, uint64_t* value) {
  if ((size_t)(r->end - r->at) < size) return false;
  *value = decode(r->at, size);
  r->at += size;
  return true;
}

static cpl_status read_struct(reader* r, const cpli_image_type* type, char* object);

static cpl_status read_text(reader* r, const cpli_image_type* type, const cpli_image_field* f,
                            char* to) {
  uint64_t number = 0;
  if (!take(r, BYTES_OF_TEXT, &number)) return damaged(r, type, f, "the end is missing");
  if (number > r->n_texts) return damaged(r, type, f, "there is no such text");
  if (number == 0 && f->required) return damaged(r, type, f, "the text is missing");
  const char* text = number > 0 ? r->texts[number - 1] : NULL;
  memcpy(to, &text, sizeof text);
  return CPL_OK;
}

static cpl_status read_element(reader* r, const cpli_image_type* type, const cpli_image_field* f,
                               char* to) {
  uint64_t value = 0;
  switch (f->kind) {
    case CPLI_IMAGE_STRUCT:
    case CPLI_IMAGE_POINTER:
    case CPLI_IMAGE_LIST: return read_struct(r, f->type, to);
    case CPLI_IMAGE_TEXT:
    case CPLI_IMAGE_TEXTS: return read_text(r, type, f, to);
    default: break;
  }
  if (!take(r, width_in_image(f), &value)) return damaged(r, type, f, "the end is missing");
  if (f->limit > 0 && value > f->limit) return damaged(r, type, f, "the value is unknown");
  if (f->kind == CPLI_IMAGE_BOOL && value > 1) return damaged(r, type, f, "neither true nor false");
  if (f->kind == CPLI_IMAGE_SIZE && value > SIZE_MAX) return damaged(r, type, f, "too large");
  store(to, width_in_struct(f), value);
  return CPL_OK;
}

// What a pointer leads to. Memory is allocated when the bytes for it are known to be there.
static cpl_status read_behind(reader* r, const cpli_image_type* type, const cpli_image_field* f,
                              char* owner) {
  const bool one = f->kind == CPLI_IMAGE_POINTER;
  const uint64_t n = one ? 1 : count_of(f, owner);
  const size_t size = element_size(f);
  uint64_t there = 0;
  if (!take(r, 1, &there)) return damaged(r, type, f, "the end is missing");
  if (there > 1) return damaged(r, type, f, "neither true nor false");
  if (there == 0 && f->required && n > 0) return damaged(r, type, f, "it is missing");
  char* items = NULL;
  if (there == 1) {
    const size_t least = one ? smallest_struct(f->type) : smallest_element(f);
    if (n > (uint64_t)(r->end - r->at) / least) return damaged(r, type, f, "the end is missing");
    items = cpli_arena_alloc(r->arena, (size_t)n, size);
    if (items == NULL) return cpli_nomem(r->ctx);
  }
  memcpy(owner + f->offset, &items, sizeof items);
  if (items == NULL) return CPL_OK;
  if (f->kind == CPLI_IMAGE_NUMBERS && f->size == 1) {
    if (n > 0) memcpy(items, r->at, (size_t)n);
    r->at += n;
    return CPL_OK;
  }
  cpl_status st = CPL_OK;
  for (uint64_t i = 0; i < n && st >= 0; i++) st = read_element(r, type, f, items + i * size);
  return st;
}

static cpl_status read_field(reader* r, const cpli_image_type* type, const cpli_image_field* f,
                             char* object) {
  if (f->kind >= CPLI_IMAGE_POINTER) return read_behind(r, type, f, object);
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < f->n && st >= 0; i++)
    st = read_element(r, type, f, object + f->offset + i * element_size(f));
  return st;
}

static cpl_status read_struct(reader* r, const cpli_image_type* type, char* object) {
  if (r->depth == MAX_DEPTH) return damaged(r, type, NULL, "too many structs inside each other");
  r->depth++;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < type->n_fields && st >= 0; i++)
    st = read_field(r, type, &type->fields[i], object);
  r->depth--;
  return st;
}

bool cpli_image_is_whole(const unsigned char* bytes, size_t size) {
  return size >= HEAD && memcmp(bytes, mark, sizeof mark) == 0 &&
         decode(bytes + AT_SIZE, 8) == size && decode(bytes + AT_HASH, 8) == hash_of(bytes, size);
}

static cpl_status check_head(cpl_context* ctx, const cpli_image_type* type,
                             const unsigned char* bytes, size_t size) {
  if (size < HEAD || memcmp(bytes, mark, sizeof mark) != 0)
    return no_image(ctx, type, "these bytes are something else");
  if (decode(bytes + AT_VERSION, 4) != VERSION || decode(bytes + AT_LAYOUT, 8) != layout_of(type))
    return no_image(ctx, type,
                    "it was stored by another version of couplet, or is not of this kind");
  if (decode(bytes + AT_SIZE, 8) != size)
    return no_image(ctx, type, "it does not have all of its bytes");
  if (decode(bytes + AT_HASH, 8) != hash_of(bytes, size))
    return no_image(ctx, type, "it is damaged: the check sum does not match");
  return CPL_OK;
}

// Copies the texts into the arena and finds where each begins.
static cpl_status read_texts(reader* r, const cpli_image_type* type) {
  const uint64_t size = decode(r->begin + AT_TEXTS_SIZE, 8);
  r->n_texts = decode(r->begin + AT_TEXTS, 4);
  if (size > (uint64_t)(r->end - r->at) || r->n_texts > size)
    return no_image(r->ctx, type, "it is damaged: texts are missing");
  char* copy = cpli_arena_alloc(r->arena, (size_t)size, 1);
  r->texts = cpli_alloc(r->ctx, (size_t)r->n_texts, sizeof *r->texts);
  if (copy == NULL || r->texts == NULL) return cpli_nomem(r->ctx);
  if (size > 0) memcpy(copy, r->at, (size_t)size);
  r->at += size;
  uint64_t found = 0;
  for (size_t i = 0, begin = 0; i < size; i++) {
    if (copy[i] != '\0') continue;
    if (found < r->n_texts) r->texts[found] = copy + begin;
    found++;
    begin = i + 1;
  }
  const bool ended = size == 0 || copy[size - 1] == '\0';
  return found == r->n_texts && ended
             ? CPL_OK
             : no_image(r->ctx, type, "it is damaged: texts are not separated");
}

cpl_status cpli_image_read(cpl_context* ctx, cpli_arena* arena, const cpli_image_type* type,
                           const unsigned char* bytes, size_t size, void* object) {
  cpl_status st = check_head(ctx, type, bytes, size);
  if (st < 0) return st;
  reader r = {.ctx = ctx,
              .arena = arena,
              .what = type->name,
              .begin = bytes,
              .at = bytes + HEAD,
              .end = bytes + size};
  st = read_texts(&r, type);
  if (st >= 0) st = read_struct(&r, type, object);
  if (st >= 0 && r.at != r.end) st = damaged(&r, type, NULL, "there are bytes behind its end");
  cpli_free(ctx, (void*)r.texts);
  return st;
}
