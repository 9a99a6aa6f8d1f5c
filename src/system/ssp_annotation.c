// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The annotation in which couplet writes what SSP cannot express (system/write.h). A package inside
// of another one that has such an annotation is a system of its own.
#include "system/ssp_flat.h"
#include "system/write.h"

// The element with the text; NULL: the document has none.
static const cpli_xml_node* find_own(const cpli_xml_node* root) {
  const cpli_xml_node* list = cpli_xml_child(root, CPLI_SSD, "Annotations");
  const cpli_xml_node* a = list != NULL ? cpli_xml_child(list, CPLI_SSC, "Annotation") : NULL;
  for (; a != NULL; a = cpli_xml_sibling(a)) {
    const char* type = cpli_xml_node_attribute(a, "type");
    if (type != NULL && strcmp(type, CPLI_SSP_ANNOTATION) == 0)
      return cpli_xml_child(a, CPLI_SSP_NAMESPACE, "system");
  }
  return NULL;
}

bool cpli_flat_has_own(const cpli_ssp_element* system) {
  const cpli_xml_node* root = system->file->tree->root;
  return system->node != NULL && system->node->parent == root && find_own(root) != NULL;
}

static size_t length(const cpli_xml_node* node) {
  size_t n = 0;
  for (const cpli_xml_node* c = node->first; c != NULL; c = c->next)
    if (c->name == NULL && !c->is_comment) n += strlen(c->text);
  return n;
}

cpl_status cpli_flat_annotation(cpli_flat* f) {
  if (!cpli_flat_has_own(f->ssp->system)) return CPL_OK;
  const cpli_xml_node* node = find_own(f->ssp->file->tree->root);
  char* text = cpli_def_array(f->def, length(node) + 1, 1);
  if (text == NULL) return cpli_nomem(f->ctx);
  size_t n = 0;
  for (const cpli_xml_node* c = node->first; c != NULL; c = c->next) {
    if (c->name != NULL || c->is_comment) continue;
    memcpy(text + n, c->text, strlen(c->text));
    n += strlen(c->text);
  }
  text[n] = '\0';
  const char* folder = NULL;
  cpl_status st = cpli_ssp_unpack(f->ssp, f->ssp->file, &folder);
  return st < 0 ? st : cpli_def_read_annotation(f->def, text, node->line, folder);
}
