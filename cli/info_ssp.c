// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet info` of an SSP package: its variants, its hierarchy, and the values of its parameter
// sets with the places they come from.
#include <string.h>

#include "couplet/couplet.h"
#include "format/text.h"
#include "info.h"

enum { SHOWN = 20 };  // values, and connectors of one element

typedef struct printer {
  FILE* out;
  bool all;
  bool begun;  // `last` is set
  cpl_ssp_item_kind last;
  size_t in_a_row;
} printer;

static void print_text(FILE* out, const char* before, const char* text, const char* after) {
  fputs(before, out);
  cpli_print_text(out, text, 0);
  fputs(after, out);
}

static void print_value(FILE* out, const cpl_ssp_item* item) {
  print_text(out, "  ", item->name, " = ");
  cpli_print_text(out, item->text, 0);
  if (item->unit != NULL) print_text(out, " ", item->unit, "");
  if (item->file != NULL) print_text(out, "   (", item->file, "");
  if (item->file != NULL) fprintf(out, ":%d)", item->line);
  fputc('\n', out);
}

static void print_element(FILE* out, const cpl_ssp_item* item) {
  fprintf(out, "  %*s", 2 * item->depth, "");
  cpli_print_text(out, item->name, 0);
  if (item->kind == CPL_SSP_COMPONENT)
    print_text(out, ": ", item->text[0] != '\0' ? item->text : "no source", "");
  if (item->kind == CPL_SSP_DICTIONARY) print_text(out, ": signal dictionary ", item->text, "");
  if (item->kind == CPL_SSP_CONNECTOR) print_text(out, " (", item->text, "");
  if (item->kind == CPL_SSP_CONNECTOR && item->unit != NULL) print_text(out, ", ", item->unit, "");
  fputs(item->kind == CPL_SSP_CONNECTOR ? ")\n" : "\n", out);
}

static void print_item(void* user, const cpl_ssp_item* item) {
  printer* p = user;
  const bool element = item->kind != CPL_SSP_VARIANT && item->kind != CPL_SSP_VALUE;
  const bool was_element = p->begun && p->last != CPL_SSP_VARIANT && p->last != CPL_SSP_VALUE;
  p->in_a_row = p->begun && item->kind == p->last ? p->in_a_row + 1 : 0;
  if (item->kind == CPL_SSP_VARIANT && p->in_a_row == 0) fputs("\nVariants\n", p->out);
  if (element && !was_element) fputs("\nHierarchy\n", p->out);
  if (item->kind == CPL_SSP_VALUE && p->in_a_row == 0) fputs("\nValues\n", p->out);
  p->last = item->kind;
  p->begun = true;
  if (p->in_a_row == SHOWN && !p->all) fputs("  ... (--all shows them all)\n", p->out);
  if (p->in_a_row >= SHOWN && !p->all) return;
  if (item->kind == CPL_SSP_VALUE) print_value(p->out, item);
  else if (element) print_element(p->out, item);
  else {
    print_text(p->out, "  ", item->name, "");
    print_text(p->out, ": ", item->text, "\n");
  }
}

void info_print_ssp(FILE* out, const cpl_source* src, bool all) {
  const cpl_system_def* def = cpl_system_definition(src);
  printer p = {.out = out, .all = all};
  if (def != NULL) cpl_system_def_list_ssp(def, print_item, &p);
}

//------------------------------------ JSON ------------------------------------

typedef struct writer {
  cpli_json* json;
  bool any;
} writer;

static void write_item(void* user, const cpl_ssp_item* item) {
  static const char* const kinds[] = {"variant",    "system",    "component",
                                      "dictionary", "connector", "value"};
  writer* w = user;
  if (!w->any) cpli_json_array(w->json, "package");
  w->any = true;
  cpli_json_object(w->json, NULL);
  cpli_json_text(w->json, "kind", kinds[item->kind]);
  cpli_json_text(w->json, "name", item->name);
  cpli_json_text(w->json, "text", item->text);
  cpli_json_integer(w->json, "depth", item->depth);
  if (item->unit != NULL) cpli_json_text(w->json, "unit", item->unit);
  if (item->file != NULL) cpli_json_text(w->json, "file", item->file);
  if (item->file != NULL) cpli_json_integer(w->json, "line", item->line);
  cpli_json_close(w->json, '}');
}

void info_write_ssp(cpli_json* j, const cpl_source* src) {
  const cpl_system_def* def = cpl_system_definition(src);
  writer w = {j, false};
  if (def != NULL) cpl_system_def_list_ssp(def, write_item, &w);
  if (w.any) cpli_json_close(j, ']');
}
