// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Uses the events of libfyaml: the bytes are checked first, nodes are built in an arena with an
// explicit stack, and a mapping with many keys gets a hash table.
#include "format/yaml.h"
#include "format/source_loc.h"

#include <libfyaml.h>
#include <math.h>
#include <stdio.h>

#include "format/file.h"
#include "format/scan.h"

//------------------------------------ bytes ------------------------------------

// The length of the UTF-8 sequence at p; 0: it is none.
static size_t sequence_length(const unsigned char* p, size_t left) {
  size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] >> 4) == 0xe ? 3 : 4;
  if (n == 1) return 1;
  if ((n == 2 && p[0] < 0xc2) || p[0] > 0xf4 || (p[0] >= 0x80 && p[0] < 0xc2) || n > left) return 0;
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  if (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))) return 0;
  if (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))) return 0;
  return n;
}

// NULL, or the fault of the first bad byte, with its position.
static const char* bad_bytes(const char* text, size_t len, cpli_source_loc* place) {
  const unsigned char* p = (const unsigned char*)text;
  place->line = place->column = 1;
  for (size_t i = 0; i < len;) {
    if (p[i] >= 0x20 && p[i] < 0x7f) {  // almost all
      place->column++;
      i++;
      continue;
    }
    size_t n = sequence_length(p + i, len - i);
    if (n == 0) return "this is not UTF-8";
    if (p[i] == 0) return "a NUL byte";
    if ((p[i] < 0x20 && p[i] != '\t' && p[i] != '\n' && p[i] != '\r') || p[i] == 0x7f)
      return "a control character";
    bool line_end = p[i] == '\n' || (p[i] == '\r' && (i + 1 == len || p[i + 1] != '\n'));
    place->column = line_end ? 1 : place->column + 1;
    if (line_end) place->line++;
    i += n;
  }
  return NULL;
}

//------------------------------------ keys ------------------------------------

enum { FEW = 8 };  // so many keys are searched one by one

static size_t hash(const char* key) {
  uint64_t h = 1469598103934665603u;  // FNV-1a
  for (; *key != '\0'; key++) h = (h ^ (unsigned char)*key) * 1099511628211u;
  return (size_t)(h ^ (h >> 32));
}

static const cpli_yaml** slot_of(const cpli_yaml* mapping, const char* key) {
  size_t i = hash(key) & (mapping->n_slots - 1);
  while (mapping->slots[i] != NULL && strcmp(mapping->slots[i]->key->text, key) != 0)
    i = (i + 1) & (mapping->n_slots - 1);
  return &mapping->slots[i];
}

const cpli_yaml* cpli_yaml_get(const cpli_yaml* mapping, const char* key) {
  if (mapping->n_slots > 0) return *slot_of(mapping, key);
  for (const cpli_yaml* c = mapping->first; c != NULL; c = c->next) {
    if (strcmp(c->key->text, key) == 0) return c;
  }
  return NULL;
}

static cpl_status repeated_key(cpli_yaml_file* f, const cpli_yaml* again, const cpli_yaml* first) {
  cpli_source_loc place = cpli_yaml_loc(f, again->key);
  return cpli_fail_at(f->ctx, CPL_ERR_INPUT, &place, "%s stands twice (first in line %d)",
                      again->key->text, first->key->line);
}

// Called when a mapping ends: finds repeated keys and prepares the look-up.
static cpl_status index_keys(cpli_yaml_file* f, cpli_yaml* mapping) {
  if (mapping->count <= FEW) {
    for (const cpli_yaml* c = mapping->first; c != NULL; c = c->next) {
      const cpli_yaml* same = cpli_yaml_get(mapping, c->key->text);
      if (same != c) return repeated_key(f, c, same);
    }
    return CPL_OK;
  }
  size_t n = 16;
  while (n < 2 * mapping->count) n *= 2;
  mapping->slots = cpli_arena_alloc(&f->arena, n, sizeof *mapping->slots);
  if (mapping->slots == NULL) return cpli_nomem(f->ctx);
  mapping->n_slots = n;
  for (const cpli_yaml* c = mapping->first; c != NULL; c = c->next) {
    const cpli_yaml** slot = slot_of(mapping, c->key->text);
    if (*slot != NULL) return repeated_key(f, c, *slot);
    *slot = c;
  }
  return CPL_OK;
}

//------------------------------------ tree ------------------------------------

typedef struct frame {
  cpli_yaml* node;
  cpli_yaml* last;  // child
  cpli_yaml* key;   // of the child to come
} frame;

typedef struct builder {
  cpli_yaml_file* file;
  cpli_source_loc here;  // of the present event
  frame stack[CPLI_YAML_DEPTH];
  int depth;
  int documents;
} builder;

CPL_PRINTF(2, 3) static cpl_status refuse(builder* b, const char* fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return cpli_fail_at(b->file->ctx, CPL_ERR_INPUT, &b->here, "%s", text);
}

static cpl_status make_node(builder* b, cpli_yaml_kind kind, cpli_yaml** out) {
  *out = cpli_arena_alloc(&b->file->arena, 1, sizeof **out);
  if (*out == NULL) return cpli_nomem(b->file->ctx);
  **out = (cpli_yaml){.kind = kind, .line = b->here.line, .column = b->here.column, .text = ""};
  return CPL_OK;
}

// Put a node into the innermost open one. Every second node of a mapping is a key.
static cpl_status attach(builder* b, cpli_yaml* node) {
  if (b->depth == 0) {
    b->file->root = node;
    return CPL_OK;
  }
  frame* top = &b->stack[b->depth - 1];
  if (top->node->kind == CPLI_YAML_MAPPING) {
    if (top->key == NULL) {
      if (node->kind != CPLI_YAML_SCALAR) return refuse(b, "a key must be a plain text");
      if (node->text[0] == '\0') return refuse(b, "a key is empty");
      top->key = node;
      return CPL_OK;
    }
    node->key = top->key;
    top->key = NULL;
  }
  if (top->last != NULL) {
    top->last->next = node;
  } else {
    top->node->first = node;
  }
  top->last = node;
  top->node->count++;
  return CPL_OK;
}

static cpl_status add_scalar(builder* b, struct fy_token* token) {
  cpli_yaml* node;
  cpl_status st = make_node(b, CPLI_YAML_SCALAR, &node);
  if (st < 0) return st;
  size_t len = 0;
  const char* text = token != NULL ? fy_token_get_text(token, &len) : "";
  if (text == NULL) return cpli_nomem(b->file->ctx);
  node->quoted = token != NULL && fy_token_scalar_style(token) != FYSS_PLAIN;
  if (node->quoted) {  // escapes can make any byte
    cpli_source_loc inside;
    const char* bad = bad_bytes(text, len, &inside);
    if (bad != NULL) return refuse(b, "%s in this text", bad);
  }
  if (len > 0) {
    node->text = cpli_arena_strndup(&b->file->arena, text, len);
    if (node->text == NULL) return cpli_nomem(b->file->ctx);
  }
  return attach(b, node);
}

static cpl_status open_node(builder* b, cpli_yaml_kind kind) {
  cpli_yaml* node;
  if (b->depth == CPLI_YAML_DEPTH) return refuse(b, "more than %d levels", CPLI_YAML_DEPTH);
  cpl_status st = make_node(b, kind, &node);
  if (st >= 0) st = attach(b, node);
  if (st >= 0) b->stack[b->depth++] = (frame){.node = node};
  return st;
}

static cpl_status close_node(builder* b) {
  cpli_yaml* node = b->stack[--b->depth].node;
  return node->kind == CPLI_YAML_MAPPING ? index_keys(b->file, node) : CPL_OK;
}

static cpl_status plain_only(builder* b, const struct fy_token* anchor,
                             const struct fy_token* tag) {
  if (anchor != NULL) return refuse(b, "anchors (&) are not allowed");
  if (tag != NULL) return refuse(b, "tags (!) are not allowed; put the text into quotes");
  return CPL_OK;
}

static cpl_status take_event(builder* b, struct fy_event* e) {
  cpl_status st = CPL_OK;
  const struct fy_mark* mark = fy_event_start_mark(e);
  if (mark != NULL) b->here.line = mark->line + 1, b->here.column = mark->column + 1;
  switch (e->type) {
    case FYET_DOCUMENT_START:
      return ++b->documents > 1 ? refuse(b, "a second document begins here") : CPL_OK;
    case FYET_ALIAS: return refuse(b, "aliases (*) are not allowed; put the text into quotes");
    case FYET_SCALAR:
      st = plain_only(b, e->scalar.anchor, e->scalar.tag);
      return st < 0 ? st : add_scalar(b, e->scalar.value);
    case FYET_SEQUENCE_START:
      st = plain_only(b, e->sequence_start.anchor, e->sequence_start.tag);
      return st < 0 ? st : open_node(b, CPLI_YAML_SEQUENCE);
    case FYET_MAPPING_START:
      st = plain_only(b, e->mapping_start.anchor, e->mapping_start.tag);
      return st < 0 ? st : open_node(b, CPLI_YAML_MAPPING);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END: return close_node(b);
    default: return CPL_OK;
  }
}

//------------------------------------ parser ------------------------------------

static cpl_status syntax_error(builder* b, struct fy_diag* diag) {
  void* at = NULL;
  const struct fy_diag_error* e = fy_diag_errors_iterate(diag, &at);
  if (e == NULL || e->msg == NULL) return refuse(b, "this is not YAML");
  if (e->line > 0) b->here.line = e->line, b->here.column = e->column > 0 ? e->column : 1;
  const cpli_yaml* open = b->depth > 0 ? b->stack[b->depth - 1].node : NULL;
  if (open != NULL && strstr(e->msg, "closing") != NULL)
    return refuse(b, "%s (it opens in line %d, column %d)", e->msg, open->line, open->column);
  if (strstr(e->msg, "nested block mapping") != NULL)
    return refuse(b,
                  "%s: a text with \": \" in it stands in quotes; a condition is written if c "
                  "then a else b",
                  e->msg);
  return refuse(b, "%s", e->msg);
}

static cpl_status parse_events(builder* b, struct fy_parser* parser, struct fy_diag* diag) {
  cpl_status st = CPL_OK;
  for (bool more = true; more && st >= 0;) {
    struct fy_event* e = fy_parser_parse(parser);
    if (e == NULL) return syntax_error(b, diag);
    more = e->type != FYET_STREAM_END;
    st = take_event(b, e);
    fy_parser_event_free(parser, e);
  }
  return st;
}

// libfyaml looks at bytes behind the end of a text that stops inside a block scalar: it gets a copy
// that ends with a line and has some room behind.
static char* padded(cpli_yaml_file* f, const char* text, size_t* len) {
  enum { ROOM = 16 };
  char* copy = cpli_realloc(f->ctx, NULL, *len + ROOM + 1, 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, *len);
  memset(copy + *len, 0, ROOM + 1);
  if (*len > 0 && copy[*len - 1] != '\n') copy[(*len)++] = '\n';
  return copy;
}

static cpl_status parse_text(cpli_yaml_file* f, const char* text, size_t len) {
  builder b = {.file = f, .here = {.file = f->path, .line = 1, .column = 1}};
  struct fy_diag_cfg quiet;
  fy_diag_cfg_default(&quiet);
  quiet.fp = NULL;
  quiet.level = FYET_ERROR;
  struct fy_diag* diag = fy_diag_create(&quiet);
  struct fy_parser* parser = NULL;
  if (diag != NULL) {
    fy_diag_set_collect_errors(diag, true);
    parser = fy_parser_create(
        &(struct fy_parse_cfg){.flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE |
                                        FYPCF_SLOPPY_FLOW_INDENTATION,
                               .diag = diag});
  }
  cpl_status st = CPL_OK;
  if (parser == NULL || fy_parser_set_string(parser, text, len) != 0) {
    st = cpli_nomem(f->ctx);
  } else {
    st = parse_events(&b, parser, diag);
  }
  fy_parser_destroy(parser);
  fy_diag_destroy(diag);
  bool empty = f->root == NULL ||
               (f->root->kind == CPLI_YAML_SCALAR && !f->root->quoted && f->root->text[0] == '\0');
  if (st < 0 || !empty) return st;
  return cpli_fail_file(f->ctx, CPL_ERR_INPUT, f->path, "the file is empty");
}

cpl_status cpli_yaml_parse(cpl_context* ctx, const char* path, const char* text, size_t len,
                           cpli_yaml_file** out) {
  *out = NULL;
  cpli_yaml_file* f = cpli_alloc(ctx, 1, sizeof *f);
  if (f == NULL) return cpli_nomem(ctx);
  f->ctx = ctx;
  cpli_arena_init(&f->arena, ctx);
  f->path = cpli_arena_strdup(&f->arena, path);
  cpl_status st = f->path == NULL ? cpli_nomem(ctx) : CPL_OK;

  if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, len -= 3;
  cpli_source_loc place = {.file = f->path};
  const char* bad = st >= 0 ? bad_bytes(text, len, &place) : NULL;
  if (bad != NULL) st = cpli_fail_at(ctx, CPL_ERR_INPUT, &place, "%s", bad);
  char* copy = NULL;
  if (st >= 0 && (copy = padded(f, text, &len)) == NULL) st = cpli_nomem(ctx);
  if (st >= 0) st = parse_text(f, copy, len);
  cpli_free(ctx, copy);

  if (st < 0) {
    cpli_yaml_close(f);
    return st;
  }
  *out = f;
  return CPL_OK;
}

cpl_status cpli_yaml_read(cpl_context* ctx, const char* path, cpli_yaml_file** out) {
  char* text;
  size_t len;
  *out = NULL;
  cpl_status st = cpli_file_read(ctx, path, (size_t)CPLI_YAML_MEGABYTES << 20, &text, &len);
  if (st < 0) return st;
  st = cpli_yaml_parse(ctx, path, text, len, out);
  cpli_free(ctx, text);
  return st;
}

void cpli_yaml_close(cpli_yaml_file* file) {
  if (file == NULL) return;
  cpli_arena_free(&file->arena);
  cpli_free(file->ctx, file);
}

//------------------------------------ values ------------------------------------

cpli_source_loc cpli_yaml_loc(const cpli_yaml_file* file, const cpli_yaml* node) {
  return (cpli_source_loc){.file = file->path, .line = node->line, .column = node->column};
}

const char* cpli_yaml_what(const cpli_yaml* node, char out[64]) {
  bool nothing = node->kind == CPLI_YAML_SCALAR && node->text[0] == '\0' && !node->quoted;
  const char* fixed = node->kind == CPLI_YAML_MAPPING    ? "a mapping"
                      : node->kind == CPLI_YAML_SEQUENCE ? "a list"
                      : nothing                          ? "nothing"
                                                         : NULL;
  if (fixed != NULL) {
    snprintf(out, 64, "%s", fixed);
  } else {
    size_t len = strlen(node->text), cut = len;
    if (len > 40) {
      cut = 40;
      while (cut > 0 && ((unsigned char)node->text[cut] & 0xc0) == 0x80) cut--;
    }
    snprintf(out, 64, "\"%.*s%s\"", (int)cut, node->text, cut < len ? "..." : "");
  }
  return out;
}

static cpl_status wrong_kind(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                             const char* wanted) {
  char got[64];
  cpli_source_loc place = cpli_yaml_loc(file, node);
  return cpli_fail_at(file->ctx, CPL_ERR_INPUT, &place, "%s needs %s, not %s", what, wanted,
                      cpli_yaml_what(node, got));
}

cpl_status cpli_yaml_string(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                            const char** out) {
  if (node->kind != CPLI_YAML_SCALAR || (node->text[0] == '\0' && !node->quoted))
    return wrong_kind(file, node, what, "a text");
  *out = node->text;
  return CPL_OK;
}

cpl_status cpli_yaml_number(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                            double* out) {
  double value;
  if (node->kind != CPLI_YAML_SCALAR || !cpli_parse_real(node->text, &value) || !isfinite(value))
    return wrong_kind(file, node, what, "a number");
  *out = value;
  return CPL_OK;
}

cpl_status cpli_yaml_boolean(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                             bool* out) {
  bool yes = node->kind == CPLI_YAML_SCALAR && strcmp(node->text, "true") == 0;
  if (!yes && (node->kind != CPLI_YAML_SCALAR || strcmp(node->text, "false") != 0))
    return wrong_kind(file, node, what, "true or false");
  *out = yes;
  return CPL_OK;
}

cpl_status cpli_yaml_mapping(const cpli_yaml_file* file, const cpli_yaml* node, const char* what) {
  return node->kind == CPLI_YAML_MAPPING ? CPL_OK : wrong_kind(file, node, what, "keys and values");
}

cpl_status cpli_yaml_sequence(const cpli_yaml_file* file, const cpli_yaml* node, const char* what) {
  return node->kind == CPLI_YAML_SEQUENCE ? CPL_OK : wrong_kind(file, node, what, "a list");
}

cpl_status cpli_yaml_strings(const cpli_yaml_file* file, const cpli_yaml* node, const char* what) {
  cpl_status st = cpli_yaml_sequence(file, node, what);
  const char* text;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next)
    st = cpli_yaml_string(file, c, what, &text);
  return st;
}
