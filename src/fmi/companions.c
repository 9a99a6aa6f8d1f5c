// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One table per kind of file maps the names of elements to functions, which copy attributes into
// the FMU. Of a file that cannot be parsed to its end, everything before the error is kept.
#include "fmi/companions.h"

#include "fmi/dae_manifest.h"
#include "format/scan.h"
#include "format/xml.h"

enum { DEEPEST = 32 };

// One file that is being read.
typedef struct reading {
  cpl_fmu* fmu;
  cpl_context* ctx;
  int depth;
  int32_t stack[DEEPEST];  // terminals: those that are open
} reading;

static const char* text_of(reading* r, cpli_xml* xml, const char* name, bool* failed) {
  const char* value = cpli_xml_attribute(xml, name);
  if (value == NULL || value[0] == '\0') return "";
  const char* copy = cpli_arena_strdup(&r->fmu->arena, value);
  if (copy == NULL) *failed = true;
  return copy;
}

// Lists grow by doubling inside the arena; they are short.
static void* append(reading* r, const void** items, int32_t n, size_t size) {
  bool full = (n & (n - 1)) == 0;  // 0, 1, 2, 4, ...
  if (full) {
    char* moved = cpli_arena_alloc(&r->fmu->arena, n == 0 ? 1 : 2 * (size_t)n, size);
    if (moved == NULL) return NULL;
    if (n > 0) memcpy(moved, *items, (size_t)n * size);
    *items = moved;
  }
  return (char*)*items + (size_t)n * size;
}

static cpl_status append_text(reading* r, cpli_texts* list, const char* text) {
  const char** item = append(r, (const void**)&list->items, list->n, sizeof *item);
  if (item == NULL) return cpli_nomem(r->ctx);
  *item = text;
  list->n++;
  return CPL_OK;
}

//------------------------------------ terminals ------------------------------------

static cpl_status begin_terminal(reading* r, cpli_xml* xml) {
  cpl_fmu* fmu = r->fmu;
  bool failed = false;
  cpli_terminal* t = append(r, (const void**)&fmu->terminals, fmu->n_terminals, sizeof *t);
  if (t == NULL) return cpli_nomem(r->ctx);
  *t = (cpli_terminal){.name = text_of(r, xml, "name", &failed),
                       .kind = text_of(r, xml, "terminalKind", &failed),
                       .rule = text_of(r, xml, "matchingRule", &failed),
                       .description = text_of(r, xml, "description", &failed),
                       .parent = -1};
  for (int k = r->depth - 2; k >= 0 && t->parent < 0; k--) t->parent = r->stack[k] - 1;
  r->stack[r->depth - 1] = ++fmu->n_terminals;
  return failed ? cpli_nomem(r->ctx) : CPL_OK;
}

static int32_t open_terminal(const reading* r) {
  for (int k = r->depth - 2; k >= 0; k--)
    if (r->stack[k] > 0) return r->stack[k] - 1;
  return -1;
}

static cpl_status add_member(reading* r, const char* variable, const char* member,
                             const char* kind) {
  cpl_fmu* fmu = r->fmu;
  int32_t open = open_terminal(r);
  if (open < 0) return CPL_OK;
  cpli_terminal_member* m =
      append(r, (const void**)&fmu->terminal_members, fmu->n_terminal_members, sizeof *m);
  if (m == NULL) return cpli_nomem(r->ctx);
  *m = (cpli_terminal_member){variable, member, kind, open};
  fmu->n_terminal_members++;
  ((cpli_terminal*)fmu->terminals)[open].count++;
  return CPL_OK;
}

static cpl_status begin_member(reading* r, cpli_xml* xml) {
  bool failed = false;
  const char* variable = text_of(r, xml, "variableName", &failed);
  const char* member = text_of(r, xml, "memberName", &failed);
  const char* kind = text_of(r, xml, "variableKind", &failed);
  return failed ? cpli_nomem(r->ctx) : add_member(r, variable, member, kind);
}

static cpl_status begin_stream(reading* r, cpli_xml* xml) {
  bool failed = false;
  const char* in = text_of(r, xml, "inStreamVariableName", &failed);
  const char* out = text_of(r, xml, "outStreamVariableName", &failed);
  const char* in_member = text_of(r, xml, "inStreamMemberName", &failed);
  const char* out_member = text_of(r, xml, "outStreamMemberName", &failed);
  if (failed) return cpli_nomem(r->ctx);
  cpl_status st = add_member(r, in, in_member, "inStream");
  return st < 0 ? st : add_member(r, out, out_member, "outStream");
}

static cpl_status begin_picture(reading* r, cpli_xml* xml) {
  bool failed = false;
  int32_t open = open_terminal(r);
  const char* icon = text_of(r, xml, "iconBaseName", &failed);
  if (open >= 0) ((cpli_terminal*)r->fmu->terminals)[open].icon = icon;
  return failed ? cpli_nomem(r->ctx) : CPL_OK;
}

static cpl_status begin_icon(reading* r, cpli_xml* xml) {
  (void)xml;
  r->fmu->has_icon = true;
  return CPL_OK;
}

//------------------------------------ build description ------------------------------------

static cpli_build* last_build(const reading* r) {
  return r->fmu->n_builds > 0 ? (cpli_build*)&r->fmu->builds[r->fmu->n_builds - 1] : NULL;
}

static cpl_status begin_build(reading* r, cpli_xml* xml) {
  cpl_fmu* fmu = r->fmu;
  bool failed = false;
  cpli_build* b = append(r, (const void**)&fmu->builds, fmu->n_builds, sizeof *b);
  if (b == NULL) return cpli_nomem(r->ctx);
  *b = (cpli_build){.identifier = text_of(r, xml, "modelIdentifier", &failed),
                    .platform = text_of(r, xml, "platform", &failed),
                    .description = text_of(r, xml, "description", &failed),
                    .language = "",
                    .compiler = "",
                    .options = ""};
  fmu->n_builds++;
  return failed ? cpli_nomem(r->ctx) : CPL_OK;
}

static cpl_status begin_set(reading* r, cpli_xml* xml) {
  cpli_build* b = last_build(r);
  bool failed = false;
  if (b == NULL) return CPL_OK;
  if (b->language[0] == '\0') b->language = text_of(r, xml, "language", &failed);
  if (b->compiler[0] == '\0') b->compiler = text_of(r, xml, "compiler", &failed);
  if (b->options[0] == '\0') b->options = text_of(r, xml, "compilerOptions", &failed);
  return failed ? cpli_nomem(r->ctx) : CPL_OK;
}

// Names become paths below sources/, so they must stay there.
static bool leads_outside(const char* name) {
  if (name[0] == '/' || name[0] == '\\' || (name[0] != '\0' && name[1] == ':')) return true;
  for (const char* at = name; (at = strstr(at, "..")) != NULL; at += 2) {
    bool begins = at == name || at[-1] == '/' || at[-1] == '\\';
    if (begins && (at[2] == '\0' || at[2] == '/' || at[2] == '\\')) return true;
  }
  return false;
}

static cpl_status add_path(reading* r, cpli_xml* xml, cpli_texts* list) {
  bool failed = false;
  const char* name = text_of(r, xml, "name", &failed);
  if (failed) return cpli_nomem(r->ctx);
  if (name[0] == '\0' || leads_outside(name)) {
    cpli_findings_add(&r->fmu->findings, CPLI_WARNING, 0, "build",
                      "buildDescription.xml:%d: name=\"%.60s\" is no path below sources/ and is "
                      "ignored",
                      cpli_xml_line(xml), name);
    return CPL_OK;
  }
  return append_text(r, list, name);
}

static cpl_status begin_source(reading* r, cpli_xml* xml) {
  cpli_build* b = last_build(r);
  return b != NULL ? add_path(r, xml, &b->files) : CPL_OK;
}

static cpl_status begin_include(reading* r, cpli_xml* xml) {
  cpli_build* b = last_build(r);
  return b != NULL ? add_path(r, xml, &b->include_dirs) : CPL_OK;
}

static cpl_status begin_library(reading* r, cpli_xml* xml) {
  cpli_build* b = last_build(r);
  bool failed = false;
  const char* name = text_of(r, xml, "name", &failed);
  if (failed) return cpli_nomem(r->ctx);
  return b != NULL && name[0] != '\0' ? append_text(r, &b->libraries, name) : CPL_OK;
}

// NAME or NAME=VALUE; optional ones are left out.
static cpl_status begin_definition(reading* r, cpli_xml* xml) {
  cpli_build* b = last_build(r);
  bool failed = false, optional = false;
  const char* text = cpli_xml_attribute(xml, "optional");
  if (text != NULL) cpli_parse_boolean(text, &optional);
  const char* name = text_of(r, xml, "name", &failed);
  const char* value = text_of(r, xml, "value", &failed);
  if (failed) return cpli_nomem(r->ctx);
  if (b == NULL || optional || name[0] == '\0') return CPL_OK;
  if (value[0] == '\0') return append_text(r, &b->definitions, name);
  size_t size = strlen(name) + strlen(value) + 2;
  char* both = cpli_arena_alloc(&r->fmu->arena, size, 1);
  if (both == NULL) return cpli_nomem(r->ctx);
  memcpy(both, name, strlen(name));
  both[strlen(name)] = '=';
  memcpy(both + strlen(name) + 1, value, strlen(value));
  return append_text(r, &b->definitions, both);
}

//------------------------------------ layered standards ------------------------------------

static const char* layer_text(reading* r, cpli_xml* xml, const char* name, bool* failed) {
  const char* value = cpli_xml_foreign_attribute(xml, name);
  if (value == NULL) return text_of(r, xml, name, failed);  // written without its prefix
  const char* copy = cpli_arena_strdup(&r->fmu->arena, value);
  if (copy == NULL) *failed = true;
  return copy;
}

static cpl_status begin_layer(reading* r, cpli_xml* xml) {
  cpl_fmu* fmu = r->fmu;
  bool failed = false;
  cpli_layer* layer = append(r, (const void**)&fmu->layers, fmu->n_layers, sizeof *layer);
  if (layer == NULL) return cpli_nomem(r->ctx);
  *layer = (cpli_layer){.name = layer_text(r, xml, "fmi-ls-name", &failed),
                        .version = layer_text(r, xml, "fmi-ls-version", &failed),
                        .description = layer_text(r, xml, "fmi-ls-description", &failed)};
  fmu->n_layers++;
  return failed ? cpli_nomem(r->ctx) : CPL_OK;
}

//------------------------------------ table ------------------------------------

typedef struct element {
  const char* name;  // NULL: the root, whatever its name
  cpl_status (*begin)(reading* r, cpli_xml* xml);
} element;

static const element terminal_elements[] = {{"Terminal", begin_terminal},
                                            {"TerminalMemberVariable", begin_member},
                                            {"TerminalStreamMemberVariable", begin_stream},
                                            {"TerminalGraphicalRepresentation", begin_picture},
                                            {"Icon", begin_icon}};
static const element build_elements[] = {
    {"BuildConfiguration", begin_build}, {"SourceFileSet", begin_set},
    {"SourceFile", begin_source},        {"PreprocessorDefinition", begin_definition},
    {"IncludeDirectory", begin_include}, {"Library", begin_library}};
static const element layer_elements[] = {{NULL, begin_layer}};

// A file: its whole name, or its beginning and its end.
static const struct kind {
  const char *begins, *ends, *root;  // root NULL: any
  const element* elements;
  size_t n;
} kinds[] = {
    {"terminalsAndIcons/terminalsAndIcons.xml", "", "fmiTerminalsAndIcons", terminal_elements,
     CPLI_COUNT(terminal_elements)},
    {"sources/buildDescription.xml", "", "fmiBuildDescription", build_elements,
     CPLI_COUNT(build_elements)},
    {"extra/", "/fmi-ls-manifest.xml", NULL, layer_elements, CPLI_COUNT(layer_elements)},
    {"extra/", "/fmi-ls-dae.xml", NULL, layer_elements, CPLI_COUNT(layer_elements)},
};

static const struct kind* kind_of(const char* name) {
  size_t len = strlen(name);
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    size_t begin = strlen(kinds[i].begins), end = strlen(kinds[i].ends);
    if (len < begin + end || strncmp(name, kinds[i].begins, begin) != 0) continue;
    if (end == 0 ? len == begin : strcmp(name + len - end, kinds[i].ends) == 0) return &kinds[i];
  }
  return NULL;
}

bool cpli_is_companion(const char* name) { return kind_of(name) != NULL; }

typedef struct walk {
  reading r;
  const struct kind* kind;
} walk;

static cpl_status on_begin(void* user, cpli_xml* xml, const char* name) {
  walk* w = user;
  const struct kind* kind = w->kind;
  if (w->r.depth == 0 && kind->root != NULL && strcmp(name, kind->root) != 0) {
    return cpl_fail(w->r.ctx, CPL_ERR_INPUT, "the root element is <%.60s>, not <%s>", name,
                    kind->root);
  }
  if (w->r.depth == DEEPEST)
    return cpl_fail(w->r.ctx, CPL_ERR_INPUT, "elements are nested too deeply");
  w->r.stack[w->r.depth++] = 0;
  for (size_t i = 0; i < kind->n; i++) {
    const element* e = &kind->elements[i];
    if (e->name == NULL ? w->r.depth == 1 : strcmp(e->name, name) == 0) return e->begin(&w->r, xml);
  }
  return CPL_OK;
}

static cpl_status on_end(void* user, cpli_xml* xml, const char* name) {
  (void)xml, (void)name;
  ((walk*)user)->r.depth--;
  return CPL_OK;
}

cpl_status cpli_companion_parse(cpl_fmu* fmu, const char* name, const char* text, size_t size) {
  static const cpli_xml_handler handler = {.begin = on_begin, .end = on_end};
  cpl_context* ctx = fmu->arena.ctx;
  walk w = {.r = {.fmu = fmu, .ctx = ctx}, .kind = kind_of(name)};
  int32_t n_layers = fmu->n_layers;
  cpl_status st = cpli_xml_parse(ctx, name, text, size, &handler, &w);
  bool dae = fmu->n_layers > n_layers && cpli_is_dae_layer(fmu->layers[n_layers].name);
  if ((st >= 0 || st == CPL_ERR_INPUT) && dae && !fmu->dae.present)
    return cpli_dae_manifest_parse(fmu, name, text, size);
  if (st != CPL_ERR_INPUT) return st;
  cpli_findings_add(&fmu->findings, CPLI_WARNING, 0, "companion", "%.300s; the rest is ignored",
                    cpl_context_error(ctx));
  return fmu->findings.incomplete ? cpli_nomem(ctx) : CPL_OK;
}

//------------------------------------ sources of a kind ------------------------------------

// A configuration for this platform is better than one for any.
static const cpli_build* build_for(const cpl_fmu* fmu, const cpli_fmu_kind* kind) {
  const cpli_build* any = NULL;
  for (int32_t i = 0; i < fmu->n_builds; i++) {
    const cpli_build* b = &fmu->builds[i];
    if (strcmp(b->identifier, kind->identifier) != 0) continue;
    if (strcmp(b->platform, cpli_fmu_platform_tuple()) == 0) return b;
    if (b->platform[0] == '\0' && any == NULL) any = b;
  }
  return any;
}

void cpli_companions_done(cpl_fmu* fmu) {
  cpli_fmu_kind* all[] = {&fmu->me, &fmu->cs, &fmu->se};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) {
    const cpli_build* b = all[i]->present ? build_for(fmu, all[i]) : NULL;
    if (b == NULL) continue;
    all[i]->source_files = b->files.items;
    all[i]->n_source_files = b->files.n;
    all[i]->definitions = b->definitions;
    all[i]->include_dirs = b->include_dirs;
  }
}
