// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The driver of the parser for modelDescription.xml: it reads attributes, with a finding for a
// value that cannot be read, selects the table of the FMI version and dispatches elements by it. A
// file that claims to be UTF-8 and is not is read as Windows-1252.
#include <stdio.h>

#include "fmi/parse.h"
#include "format/encoding.h"
#include "format/scan.h"
#include "format/source_loc.h"

//------------------------------------ attributes ------------------------------------

cpl_status cpli_parse_fail(cpli_parse* p, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return cpli_fail_at(p->ctx, CPL_ERR_INPUT, &(cpli_source_loc){p->where, cpli_xml_line(p->xml)},
                      "%s", text);
}

const char* cpli_element_text(cpli_parse* p, const char* name) {
  const char* value = cpli_xml_attribute(p->xml, name);
  if (value == NULL) return NULL;
  const char* copy = cpli_arena_strdup(&p->fmu->arena, value);
  if (copy == NULL) p->no_memory = true;
  return copy;
}

const char* cpli_text_or_empty(cpli_parse* p, const char* name) {
  const char* value = cpli_xml_attribute(p->xml, name);
  return value == NULL || value[0] == '\0' ? "" : cpli_element_text(p, name);
}

const char* cpli_text_once(cpli_parse* p, const char* name) {
  const char* value = cpli_xml_attribute(p->xml, name);
  if (value == NULL) return NULL;
  int32_t known = cpli_names_find(&p->texts, value);
  // the map stores no pointer to its keys that could be asked for, so the index leads to a list
  if (known >= 0) return p->often.items[known];
  const char* copy = cpli_element_text(p, name);
  const char** slot = copy != NULL ? CPLI_PUSH(p, p->often) : NULL;
  if (slot == NULL || cpli_names_add(&p->texts, copy, (int32_t)p->often.count - 1) < 0) {
    p->no_memory = true;
    return NULL;
  }
  return *slot = copy;
}

static void unreadable(cpli_parse* p, const char* name, const char* value, const char* wanted) {
  cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "value",
                    "%s=\"%.60s\" is not %s and is ignored", name, value, wanted);
}

bool cpli_real(cpli_parse* p, const char* name, double* out) {
  const char* value = cpli_xml_attribute(p->xml, name);
  if (value == NULL) return false;
  double x = 0;
  if (!cpli_parse_real(value, &x) || x != x) {
    unreadable(p, name, value, "a number");
    return false;
  }
  *out = x;
  return true;
}

bool cpli_integer(cpli_parse* p, const char* name, int64_t min, int64_t max, int64_t* out) {
  const char* value = cpli_xml_attribute(p->xml, name);
  if (value == NULL) return false;
  if (cpli_parse_integer(value, min, max, out)) return true;
  // some tools write integers as 1.0 or 1e3
  double x = 0;
  if (cpli_parse_real(value, &x) && x >= (double)min && x <= (double)max &&
      x == (double)(int64_t)x) {
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "value",
                      "%s=\"%.60s\" should be written as an integer: %lld", name, value,
                      (long long)x);
    *out = (int64_t)x;
    return true;
  }
  char wanted[96];
  snprintf(wanted, sizeof wanted, "an integer between %lld and %lld", (long long)min,
           (long long)max);
  unreadable(p, name, value, wanted);
  return false;
}

bool cpli_boolean(cpli_parse* p, const char* name, bool* out) {
  const char* value = cpli_xml_attribute(p->xml, name);
  if (value == NULL) return false;
  if (cpli_parse_boolean(value, out)) return true;
  unreadable(p, name, value, "true or false");
  return false;
}

bool cpli_choice(cpli_parse* p, const char* name, const char* const* names, size_t n,
                 uint8_t* out) {
  const char* value = cpli_xml_attribute(p->xml, name);
  if (value == NULL) return false;
  int32_t i = cpli_find_text(names, n, value);
  if (i >= 0) *out = (uint8_t)i;
  else unreadable(p, name, value, "a known word");
  return i >= 0;
}

//------------------------------------ driver ------------------------------------

// Versions that can be read. In FMI 1.0 and 2.0 the attribute is the same for every patch release.
static const struct version {
  const char *major, *text;
  int number;
  const cpli_rules* rules;
} versions[] = {
    {"1.", "1.0", 1, &cpli_fmi1_rules},
    {"2.", "2.0", 2, &cpli_fmi2_rules},
    {"3.", NULL, 3, &cpli_fmi3_rules},
};

static cpl_status choose_version(cpli_parse* p, const char* element) {
  if (strcmp(element, "fmiModelDescription") != 0) {
    return cpli_parse_fail(p, "the root element is <%.60s>, not <fmiModelDescription>", element);
  }
  const char* version = cpli_xml_attribute(p->xml, "fmiVersion");
  if (version == NULL) return cpli_parse_fail(p, "<fmiModelDescription> has no fmiVersion");
  p->fmu->version_text = cpli_element_text(p, "fmiVersion");
  for (size_t i = 0; i < CPLI_COUNT(versions); i++) {
    const struct version* v = &versions[i];
    if (strncmp(version, v->major, 2) != 0) continue;
    p->fmu->version = v->number;
    p->rules = v->rules;
    if (v->text != NULL && strcmp(version, v->text) != 0) {
      cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "version",
                        "fmiVersion=\"%.20s\" must be \"%s\" for every FMI %s.x", version, v->text,
                        v->text);
    }
    return CPL_OK;
  }
  return cpli_parse_fail(
      p, "fmiVersion=\"%.60s\" is no known version of FMI (1.0, 2.0 and 3.0 can be read)", version);
}

static int find_rule(const cpli_parse* p, const char* element) {
  if (p->depth == 0) return 0;
  uint8_t parent = p->stack[p->depth - 1];
  for (size_t i = 1; i < p->rules->n; i++) {
    const cpli_rule* rule = &p->rules->rules[i];
    if (rule->parent == parent && strcmp(rule->element, element) == 0) return (int)i;
  }
  return -1;
}

static void remark_unused(cpli_parse* p, const char* element) {
  for (const char* name; (name = cpli_xml_unused_attribute(p->xml)) != NULL;) {
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "unknown",
                      "<%.60s> has an unknown attribute %.60s, which is ignored", element, name);
  }
}

static cpl_status memory_status(const cpli_parse* p) {
  return p->no_memory || p->fmu->findings.incomplete ? cpli_nomem(p->ctx) : CPL_OK;
}

static cpl_status on_begin(void* user, cpli_xml* xml, const char* element) {
  cpli_parse* p = user;
  p->xml = xml;
  if (p->skipped > 0) {
    p->skipped++;
    return CPL_OK;
  }
  if (p->depth == 0) {
    cpl_status st = choose_version(p, element);
    if (st < 0) return st;
  }
  int k = find_rule(p, element);
  if (k < 0 || p->rules->rules[k].ignored || p->depth == (int)CPLI_COUNT(p->stack)) {
    p->skipped = 1;
    bool foreign = p->depth > 0 && p->rules->rules[p->stack[p->depth - 1]].foreign;
    if (k < 0 && !foreign) {
      cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(xml), "unknown",
                        "<%.60s> is not known here and is ignored", element);
    }
    return memory_status(p);
  }
  const cpli_rule* rule = &p->rules->rules[k];
  p->stack[p->depth++] = rule->as != 0 ? rule->as : (uint8_t)k;
  p->rule = rule;
  cpl_status st = rule->begin != NULL ? rule->begin(p) : CPL_OK;
  if (st >= 0 && !rule->foreign) remark_unused(p, element);
  return st < 0 ? st : memory_status(p);
}

static cpl_status on_end(void* user, cpli_xml* xml, const char* element) {
  (void)element;
  cpli_parse* p = user;
  p->xml = xml;
  if (p->skipped > 0) {
    p->skipped--;
    return CPL_OK;
  }
  const cpli_rule* rule = &p->rules->rules[p->stack[--p->depth]];
  cpl_status st = rule->end != NULL ? rule->end(p) : CPL_OK;
  return st < 0 ? st : memory_status(p);
}

static cpl_status on_text(void* user, cpli_xml* xml, const char* text, size_t len) {
  cpli_parse* p = user;
  p->xml = xml;
  if (p->skipped > 0 || p->rules == NULL || p->rules->text == NULL) return CPL_OK;
  return p->rules->text(p, text, len);
}

static void free_drafts(cpli_parse* p) {
  cpli_names_free(&p->texts);
  void* lists[] = {p->often.items,
                   p->vars.items,
                   p->var_drafts.items,
                   p->units.items,
                   p->types.items,
                   p->items.items,
                   p->rows.items,
                   p->deps.items,
                   p->kinds.items,
                   p->categories.items,
                   p->category_texts.items,
                   p->files[0].items,
                   p->files[1].items,
                   p->mores.items,
                   p->sizes.items,
                   p->starts.items,
                   p->start_texts.items,
                   p->clock_refs.items,
                   p->clocks.items,
                   p->arrays.items,
                   p->slots.items,
                   p->clocked.items,
                   p->extras.items,
                   p->dep_names.items,
                   p->text};
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) cpli_free(p->ctx, lists[i]);
}

// Some tools say UTF-8, or nothing, and write the encoding of their system. Returns the text to
// read; `*made` is to be freed.
static const char* mend_encoding(cpl_fmu* fmu, const char* xml, size_t* size, char** made) {
  *made = NULL;
  size_t head = strcspn(xml, ">");
  if (head > 200) head = 200;
  char first[201];
  memcpy(first, xml, head);
  first[head] = '\0';
  const char* encoding = strstr(first, "encoding");
  bool utf8 =
      (unsigned char)xml[0] < 0x80 &&
      (encoding == NULL || strstr(encoding, "UTF-8") != NULL || strstr(encoding, "utf-8") != NULL);
  size_t good = utf8 ? cpli_utf8_prefix(xml, *size) : *size;
  if (good == *size || memchr(xml, '\0', *size) != NULL) return xml;
  int32_t line = 1;
  for (size_t i = 0; i < good; i++) line += xml[i] == '\n';
  cpli_findings_add(&fmu->findings, CPLI_WARNING, line, "encoding",
                    "the byte 0x%02X is not UTF-8, which the file says it is; it is read as "
                    "Windows-1252: convert it, or write encoding=\"windows-1252\"",
                    (unsigned char)xml[good]);
  *made = cpli_from_windows_1252(fmu->arena.ctx, xml, *size, size);
  return *made;
}

cpl_status cpli_fmu_parse(cpl_fmu* fmu, const char* where, const char* text, size_t size) {
  cpl_context* ctx = fmu->arena.ctx;
  cpli_parse* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  p->fmu = fmu;
  p->where = where;
  p->given = fmu->given;
  p->n_given = fmu->n_given;
  if (fmu->findings.ctx == NULL) cpli_findings_init(&fmu->findings, ctx);

  static const cpli_xml_handler handler = {.begin = on_begin, .end = on_end, .text = on_text};
  char* made = NULL;
  const char* xml = mend_encoding(fmu, text, &size, &made);
  cpl_status st = xml != NULL ? cpli_names_init(&p->texts, ctx, 64) : cpli_nomem(ctx);
  if (st >= 0) st = cpli_xml_parse(ctx, where, xml, size, &handler, p);
  if (st >= 0) st = cpli_resolve(p);
  if (st >= 0) st = memory_status(p);
  if (fmu->me.present) fmu->desc.n_constraints = fmu->me.max_constraints;
  free_drafts(p);
  cpli_free(ctx, made);
  cpli_free(ctx, p);
  return st;
}
