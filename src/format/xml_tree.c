// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The tree is built by handlers of format/xml.h, in an arena. Adjacent texts become one node, so
// that a tree that was written is read as the same one.
#include "format/xml_tree.h"

#include "format/markup.h"
#include "format/xml.h"

//------------------------------------ read ------------------------------------

typedef struct builder {
  cpli_xml_tree* tree;
  cpli_xml_node* open;  // the element whose children follow; NULL: outside the root
  cpli_xml_node* last;  // the last node outside the root. Nullable
  cpli_text text;       // that was received and belongs to the next text node
  int32_t text_line;
} builder;

static cpli_xml_node* add_node(builder* b, int32_t line) {
  cpli_xml_node* node = cpli_arena_alloc(&b->tree->arena, 1, sizeof *node);
  if (node == NULL) return NULL;
  node->line = line;
  node->parent = b->open;
  cpli_xml_node** last = b->open != NULL ? &b->open->last : &b->last;
  if (*last != NULL) {
    (*last)->next = node;
  } else if (b->open != NULL) {
    b->open->first = node;
  } else {
    b->tree->beginning = node;
  }
  *last = node;
  return node;
}

static cpl_status end_text(builder* b) {
  if (b->text.failed) return cpli_nomem(b->tree->ctx);
  if (b->text.len == 0) return CPL_OK;
  cpli_xml_node* node = add_node(b, b->text_line);
  if (node != NULL) node->text = cpli_arena_strndup(&b->tree->arena, b->text.data, b->text.len);
  b->text.len = 0;
  return node == NULL || node->text == NULL ? cpli_nomem(b->tree->ctx) : CPL_OK;
}

static const char* copy(builder* b, const char* text, bool* fine) {
  if (text == NULL) return NULL;
  char* out = cpli_arena_strdup(&b->tree->arena, text);
  if (out == NULL) *fine = false;
  return out;
}

// Most elements of a document share few name spaces: the texts of the parent are used again.
static void copy_space(builder* b, const cpli_xml_item* item, const cpli_xml_node* like,
                       const char** prefix, const char** uri, bool* fine) {
  const bool same_prefix = like != NULL && like->prefix != NULL && item->prefix != NULL &&
                           strcmp(like->prefix, item->prefix) == 0;
  const bool same_uri =
      like != NULL && like->uri != NULL && item->uri != NULL && strcmp(like->uri, item->uri) == 0;
  *prefix = same_prefix ? like->prefix : copy(b, item->prefix, fine);
  *uri = same_uri ? like->uri : copy(b, item->uri, fine);
}

// Appends to a list, and advances its end.
static bool add_item(builder* b, cpli_xml_attr*** end, const cpli_xml_item* item) {
  bool fine = true;
  cpli_xml_attr* attr = cpli_arena_alloc(&b->tree->arena, 1, sizeof *attr);
  if (attr == NULL) return false;
  copy_space(b, item, NULL, &attr->prefix, &attr->uri, &fine);
  attr->name = copy(b, item->name, &fine);
  attr->value = copy(b, item->value, &fine);
  **end = attr;
  *end = &attr->next;
  return fine;
}

static cpl_status on_begin(void* user, cpli_xml* xml, const char* element) {
  builder* b = user;
  cpl_status st = end_text(b);
  if (st < 0) return st;
  cpli_xml_item item = cpli_xml_element(xml);
  cpli_xml_node* node = add_node(b, cpli_xml_line(xml));
  if (node == NULL) return cpli_nomem(b->tree->ctx);
  if (b->open == NULL) b->tree->root = node;

  bool fine = true;
  copy_space(b, &item, b->open, &node->prefix, &node->uri, &fine);
  node->name = copy(b, element, &fine);
  cpli_xml_attr** end = &node->attributes;
  for (int i = 0; fine && cpli_xml_attribute_at(xml, i, &item); i++)
    fine = add_item(b, &end, &item);
  end = &node->prefixes;
  for (int i = 0; fine && cpli_xml_declaration_at(xml, i, &item); i++)
    fine = add_item(b, &end, &item);
  b->open = node;
  return fine ? CPL_OK : cpli_nomem(b->tree->ctx);
}

static cpl_status on_end(void* user, cpli_xml* xml, const char* element) {
  (void)xml, (void)element;
  builder* b = user;
  cpl_status st = end_text(b);
  b->open = b->open->parent;
  return st;
}

static cpl_status on_text(void* user, cpli_xml* xml, const char* text, size_t len) {
  builder* b = user;
  if (b->open == NULL) return CPL_OK;
  if (b->text.len == 0) b->text_line = cpli_xml_line(xml);
  cpli_text_bytes(&b->text, text, len);
  return b->text.failed ? cpli_nomem(b->tree->ctx) : CPL_OK;
}

static cpl_status on_comment(void* user, cpli_xml* xml, const char* text) {
  builder* b = user;
  cpl_status st = end_text(b);
  if (st < 0) return st;
  cpli_xml_node* node = add_node(b, cpli_xml_line(xml));
  if (node != NULL) node->text = cpli_arena_strdup(&b->tree->arena, text);
  if (node == NULL || node->text == NULL) return cpli_nomem(b->tree->ctx);
  node->is_comment = true;
  return CPL_OK;
}

cpl_status cpli_xml_tree_read(cpl_context* ctx, const char* where, const char* text, size_t size,
                              cpli_xml_tree** out) {
  static const cpli_xml_handler handler = {
      .begin = on_begin, .end = on_end, .text = on_text, .comment = on_comment};
  *out = NULL;
  cpli_xml_tree* tree = cpli_alloc(ctx, 1, sizeof *tree);
  if (tree == NULL) return cpli_nomem(ctx);
  tree->ctx = ctx;
  cpli_arena_init(&tree->arena, ctx);
  builder b = {.tree = tree, .text = {.ctx = ctx}};
  cpl_status st = cpli_xml_parse(ctx, where, text, size, &handler, &b);
  cpli_text_free(&b.text);
  if (st < 0) {
    cpli_xml_tree_free(tree);
    return st;
  }
  if (tree->beginning == tree->root) tree->beginning = NULL;
  *out = tree;
  return CPL_OK;
}

void cpli_xml_tree_free(cpli_xml_tree* tree) {
  if (tree == NULL) return;
  cpli_arena_free(&tree->arena);
  cpli_free(tree->ctx, tree);
}

//------------------------------------ look up ------------------------------------

static bool same(const char* a, const char* b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

const char* cpli_xml_node_attribute(const cpli_xml_node* node, const char* name) {
  for (const cpli_xml_attr* a = node->attributes; a != NULL; a = a->next)
    if (a->prefix == NULL && strcmp(a->name, name) == 0) return a->value;
  return NULL;
}

static const cpli_xml_node* find_from(const cpli_xml_node* node, const char* uri,
                                      const char* name) {
  for (; node != NULL; node = node->next)
    if (node->name != NULL && strcmp(node->name, name) == 0 && same(node->uri, uri)) return node;
  return NULL;
}

const cpli_xml_node* cpli_xml_child(const cpli_xml_node* node, const char* uri, const char* name) {
  return find_from(node->first, uri, name);
}

const cpli_xml_node* cpli_xml_sibling(const cpli_xml_node* node) {
  return find_from(node->next, node->uri, node->name);
}

//------------------------------------ compare ------------------------------------

// A prefix that was not declared stands for a name space of its own.
static bool same_space(const char* prefix_a, const char* uri_a, const char* prefix_b,
                       const char* uri_b) {
  return same(uri_a, uri_b) && (uri_a != NULL || same(prefix_a, prefix_b));
}

static bool same_attributes(const cpli_xml_node* a, const cpli_xml_node* b) {
  size_t n = 0;
  for (const cpli_xml_attr* x = a->attributes; x != NULL; x = x->next, n++) {
    const cpli_xml_attr* y = b->attributes;
    while (y != NULL &&
           (strcmp(x->name, y->name) != 0 || !same_space(x->prefix, x->uri, y->prefix, y->uri)))
      y = y->next;
    if (y == NULL || strcmp(x->value, y->value) != 0) return false;
  }
  for (const cpli_xml_attr* y = b->attributes; y != NULL; y = y->next) n--;
  return n == 0;
}

static bool same_node(const cpli_xml_node* a, const cpli_xml_node* b) {
  return same(a->name, b->name) && same_space(a->prefix, a->uri, b->prefix, b->uri) &&
         same(a->text, b->text) && a->is_comment == b->is_comment && same_attributes(a, b);
}

// NOLINTNEXTLINE(misc-no-recursion): the parser limits the depth
bool cpli_xml_node_equal(const cpli_xml_node* a, const cpli_xml_node* b) {
  if (!same_node(a, b)) return false;
  const cpli_xml_node *x = a->first, *y = b->first;
  for (; x != NULL && y != NULL; x = x->next, y = y->next)
    if (!cpli_xml_node_equal(x, y)) return false;
  return x == y;
}

//------------------------------------ write ------------------------------------

// Blanks of attributes other than ' ' would be read as ' ', and "\r" as "\n", where they are not
// written as references.
static void put_escaped(cpli_text* out, const char* text, bool attribute) {
  const char* begin = text;
  for (const char* c = text;; c++) {
    const char* reference = NULL;
    switch (*c) {
      case '\0': break;
      case '&': reference = "&amp;"; break;
      case '<': reference = "&lt;"; break;
      case '>': reference = "&gt;"; break;
      case '\r': reference = "&#13;"; break;
      case '"': reference = attribute ? "&quot;" : NULL; break;
      case '\n': reference = attribute ? "&#10;" : NULL; break;
      case '\t': reference = attribute ? "&#9;" : NULL; break;
      default: continue;
    }
    if (reference == NULL && *c != '\0') continue;
    cpli_text_bytes(out, begin, (size_t)(c - begin));
    if (*c == '\0') return;
    cpli_text_put(out, reference);
    begin = c + 1;
  }
}

static void put_name(cpli_text* out, const char* prefix, const char* name) {
  if (prefix != NULL) {
    cpli_text_put(out, prefix);
    cpli_text_put(out, ":");
  }
  cpli_text_put(out, name);
}

static void put_attribute(cpli_text* out, const char* prefix, const char* name, const char* value) {
  cpli_text_put(out, " ");
  put_name(out, prefix, name);
  cpli_text_put(out, "=\"");
  put_escaped(out, value, true);
  cpli_text_put(out, "\"");
}

static void put_tag(cpli_text* out, const cpli_xml_node* node) {
  cpli_text_put(out, "<");
  put_name(out, node->prefix, node->name);
  for (const cpli_xml_attr* d = node->prefixes; d != NULL; d = d->next)
    put_attribute(out, d->name != NULL ? "xmlns" : NULL, d->name != NULL ? d->name : "xmlns",
                  d->value);
  for (const cpli_xml_attr* a = node->attributes; a != NULL; a = a->next)
    put_attribute(out, a->prefix, a->name, a->value);
  cpli_text_put(out, node->first != NULL ? ">" : "/>");
}

// NOLINTNEXTLINE(misc-no-recursion): the parser limits the depth
static void put_node(cpli_text* out, const cpli_xml_node* node) {
  if (node->is_comment) {
    cpli_text_put(out, "<!--");
    cpli_text_put(out, node->text);
    cpli_text_put(out, "-->");
  } else if (node->name == NULL) {
    put_escaped(out, node->text, false);
  } else {
    put_tag(out, node);
    for (const cpli_xml_node* child = node->first; child != NULL; child = child->next)
      put_node(out, child);
    if (node->first == NULL) return;
    cpli_text_put(out, "</");
    put_name(out, node->prefix, node->name);
    cpli_text_put(out, ">");
  }
}

cpl_status cpli_xml_tree_write(const cpli_xml_tree* tree, char** out, size_t* size) {
  *out = NULL;
  *size = 0;
  cpli_text text = {.ctx = tree->ctx};
  cpli_text_put(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  const cpli_xml_node* node = tree->beginning != NULL ? tree->beginning : tree->root;
  for (; node != NULL; node = node->next) {
    put_node(&text, node);
    cpli_text_put(&text, "\n");
  }
  cpli_text_bytes(&text, "", 1);
  if (text.failed) {
    cpli_text_free(&text);
    return cpli_nomem(tree->ctx);
  }
  *out = text.data;
  *size = text.len - 1;
  return CPL_OK;
}
