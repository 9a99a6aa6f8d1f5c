// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Documents: a file is read into a tree, checked by the rules, and its units and enumerations are
// collected. Files that are referred to more than once are read once.
#include "ssp/reader.h"

enum { MAX_FILE = 64 << 20 };  // bytes; a tree of many small elements is 30 times as large

static const char* const spaces[] = {[CPLI_SSP_DESCRIPTION] = CPLI_SSD,
                                     [CPLI_SSP_VALUES] = CPLI_SSV,
                                     [CPLI_SSP_MAPPING] = CPLI_SSM,
                                     [CPLI_SSP_SIGNALS] = CPLI_SSB};

static cpli_ssp_document* add_document(cpli_ssp_reader* r) {
  cpli_ssp_document* doc = cpli_ssp_array(r, 1, sizeof *doc);
  if (doc == NULL) return NULL;
  doc->warned.ctx = doc->ids.ctx = r->ctx;
  doc->next = r->storage->documents;
  r->storage->documents = doc;
  return doc;
}

void cpli_ssp_document_free(cpl_context* ctx, cpli_ssp_document* doc) {
  if (!doc->is_inline) cpli_xml_tree_free(doc->file.tree);
  cpli_names_free(&doc->warned);
  cpli_names_free(&doc->ids);
  cpli_free(ctx, doc->with_id);
}

cpli_ssp_document* cpli_ssp_document_find(const struct cpli_ssp_storage* storage,
                                          const cpli_ssp_package* package, const char* name) {
  for (cpli_ssp_document* d = storage->documents; d != NULL; d = d->next)
    if (!d->is_inline && d->root != NULL && d->package == package && strcmp(d->name, name) == 0)
      return d;
  return NULL;
}

//------------------------------------ files ------------------------------------

// The document of that key; a new one where there is none yet (*is_new).
static cpl_status find_or_add(cpli_ssp_reader* r, const char* key, cpli_ssp_document** out,
                              bool* is_new) {
  struct cpli_ssp_storage* s = r->storage;
  const int32_t known = cpli_names_find(&s->index, key);
  *is_new = known < 0;
  if (known >= 0) {
    *out = s->by_index[known];
    return CPL_OK;
  }
  if (!cpli_grow(r->ctx, (void**)&s->by_index, &s->cap_index, s->n_index, sizeof *s->by_index))
    return cpli_nomem(r->ctx);
  cpli_ssp_document* doc = add_document(r);
  if (doc == NULL || cpli_names_add(&s->index, key, (int32_t)s->n_index) < 0)
    return cpli_nomem(r->ctx);
  s->by_index[s->n_index++] = doc;
  *out = doc;
  return CPL_OK;
}

// Some tools do not declare the usual prefixes. They are taken for what they stand for, and
// declared in the tree; of all others the content is foreign.
static cpl_status declare(cpli_ssp_reader* r, const cpli_ssp_document* doc, cpli_xml_node* node) {
  static const struct {
    const char *prefix, *uri;
  } usual[] = {{"ssd", CPLI_SSD},
               {"ssc", CPLI_SSC},
               {"ssv", CPLI_SSV},
               {"ssm", CPLI_SSM},
               {"ssb", CPLI_SSB}};
  const cpli_xml_node* up = node->parent;
  while (up != NULL && (up->prefix == NULL || strcmp(up->prefix, node->prefix) != 0))
    up = up->parent;
  for (size_t i = 0; i < CPLI_COUNT(usual); i++)
    if (strcmp(node->prefix, usual[i].prefix) == 0) node->uri = usual[i].uri;
  if (up != NULL) return CPL_OK;  // reported there
  const cpli_source_loc loc = cpli_ssp_loc(doc, node);
  if (node->uri == NULL)
    return cpli_ssp_warn(r, &loc, "the prefix '%s' is not declared", node->prefix);
  cpli_xml_attr* declared = cpli_arena_alloc(&doc->file.tree->arena, 1, sizeof *declared);
  if (declared == NULL) return cpli_nomem(r->ctx);
  *declared = (cpli_xml_attr){.next = node->prefixes, .name = node->prefix, .value = node->uri};
  node->prefixes = declared;
  return cpli_ssp_warn(r, &loc, "the prefix '%s' is not declared; add xmlns:%s=\"%s\"",
                       node->prefix, node->prefix, node->uri);
}

static cpl_status declare_all(cpli_ssp_reader* r, const cpli_ssp_document* doc) {
  cpl_status st = CPL_OK;
  for (cpli_xml_node* n = doc->file.tree->root; st >= 0 && n != NULL;) {
    if (n->prefix != NULL && n->uri == NULL) st = declare(r, doc, n);
    if (n->first != NULL) {
      n = n->first;
      continue;
    }
    while (n != NULL && (n->parent == NULL || n->next == NULL)) n = n->parent;
    if (n != NULL) n = n->next;
  }
  return st;
}

static cpl_status read_tree(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  char* text = NULL;
  size_t size = 0;
  cpl_status st = cpli_ssp_package_read(r->ctx, doc->package, doc->name, MAX_FILE, &text, &size);
  if (st >= 0) st = cpli_xml_tree_read(r->ctx, doc->file.path, text, size, &doc->file.tree);
  cpli_free(r->ctx, text);
  if (st >= 0) doc->root = doc->file.tree->root;
  return st;
}

cpl_status cpli_ssp_document_open(cpli_ssp_reader* r, cpli_ssp_package* package, const char* name,
                                  cpli_ssp_kind kind, cpli_ssp_document** out) {
  *out = NULL;
  const char* path = cpli_ssp_package_shown(r, package, name);
  const char* key = path != NULL ? cpli_ssp_text(r, "%d:%s", (int)kind, path) : NULL;
  if (key == NULL) return cpli_nomem(r->ctx);
  cpli_ssp_document* doc = NULL;
  bool is_new = false;
  cpl_status st = find_or_add(r, key, &doc, &is_new);
  if (st < 0) return st;
  if (is_new) {
    doc->package = package;
    doc->name = cpli_ssp_text(r, "%s", name);
    doc->file.path = path;
    doc->kind = kind;
    if (doc->name == NULL) return cpli_nomem(r->ctx);
    st = read_tree(r, doc);
    if (st < 0) return cpli_ssp_caught(r, st);
  }
  if (doc->root != NULL) *out = doc;
  return CPL_OK;
}

cpl_status cpli_ssp_document_inline(cpli_ssp_reader* r, const cpli_ssp_document* outer,
                                    const cpli_xml_node* root, cpli_ssp_kind kind,
                                    cpli_ssp_document** out) {
  *out = NULL;
  cpli_ssp_document* doc = add_document(r);
  if (doc == NULL) return cpli_nomem(r->ctx);
  doc->is_inline = true;
  doc->file = (cpli_ssp_file){.path = outer->file.path, .tree = outer->file.tree};
  doc->package = outer->package;
  doc->name = outer->name;
  doc->kind = kind;
  doc->root = root;
  *out = doc;
  return CPL_OK;
}

//------------------------------------ contents ------------------------------------

static cpl_status read_content(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  switch (doc->kind) {
    case CPLI_SSP_VALUES: return cpli_ssp_read_set(r, doc);
    case CPLI_SSP_MAPPING: return cpli_ssp_read_mapping(r, doc);
    case CPLI_SSP_SIGNALS: return cpli_ssp_read_entries(r, doc);
    case CPLI_SSP_DESCRIPTION: return cpli_ssp_read_description(r, doc);
  }
  return CPL_OK;
}

cpl_status cpli_ssp_document_read(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  if (doc->is_read) return CPL_OK;
  doc->is_read = true;
  bool fine = true;
  cpl_status st = doc->is_inline ? CPL_OK : declare_all(r, doc);
  if (st >= 0 && !doc->is_inline) st = cpli_ssp_check(r, doc, &fine);
  if (st < 0 || !fine) return st;
  st = cpli_ssp_read_units(r, doc, spaces[doc->kind]);
  return st >= 0 ? read_content(r, doc) : st;
}
