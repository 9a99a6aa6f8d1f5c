// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Findings: with nobody to report them to, the first error is the failure of the whole, and
// warnings are logged. Otherwise all are reported, and the first error is kept as the failure.
#include "ssp/reader.h"

enum { MAX_LOGGED = 20 };  // warnings; a mistake of a tool is often in every element

static cpl_status stop(cpli_ssp_reader* r) {
  if (r->error_text == NULL) return cpl_fail(r->ctx, CPL_ERR_INPUT, "reading was stopped");
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &r->error_loc, "%s", r->error_text);
}

static cpl_status report(cpli_ssp_reader* r, bool is_error, const cpli_source_loc* loc,
                         const char* text) {
  if (r->findings == NULL) {
    if (is_error) return cpli_fail_at(r->ctx, CPL_ERR_INPUT, loc, "%s", text);
    char where[CPLI_LOC_SIZE];
    if (++r->n_logged > MAX_LOGGED + 1) return CPL_OK;
    if (r->n_logged > MAX_LOGGED) {
      cpl_log(r->ctx, CPL_LOG_WARNING, "", "%s: there are more warnings; couplet check shows all",
              r->ssp->path);
      return CPL_OK;
    }
    cpl_log(r->ctx, CPL_LOG_WARNING, "", "%s%s", cpli_source_loc_text(loc, where), text);
    return CPL_OK;
  }
  if (is_error && !r->has_error) {
    r->has_error = true;
    r->error_loc = *loc;
    r->error_text = cpli_arena_strdup(&r->ssp->arena, text);
    if (r->error_text == NULL) return cpli_nomem(r->ctx);
  }
  return r->findings->report(r->findings->user, is_error, loc, text) ? CPL_OK : stop(r);
}

static cpl_status report_args(cpli_ssp_reader* r, bool is_error, const cpli_source_loc* loc,
                              const char* fmt, va_list args) {
  char* text = cpli_vprintf(r->ctx, fmt, args);
  if (text == NULL) return cpli_nomem(r->ctx);
  cpl_status st = report(r, is_error, loc, text);
  cpli_free(r->ctx, text);
  return st;
}

cpl_status cpli_ssp_error(cpli_ssp_reader* r, const cpli_source_loc* loc, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cpl_status st = report_args(r, true, loc, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpli_ssp_warn(cpli_ssp_reader* r, const cpli_source_loc* loc, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cpl_status st = report_args(r, false, loc, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpli_ssp_caught(cpli_ssp_reader* r, cpl_status st) {
  if (st >= 0 || r->findings == NULL || st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  const cpl_error* e = cpl_context_last_error(r->ctx);
  const char* file = e->file[0] != '\0' ? cpli_arena_strdup(&r->ssp->arena, e->file) : NULL;
  char* text = cpli_strdup(r->ctx, e->message);
  if (text == NULL || (file == NULL && e->file[0] != '\0')) {
    cpli_free(r->ctx, text);
    return cpli_nomem(r->ctx);
  }
  st = report(r, true, &(cpli_source_loc){file, e->line, e->column}, text);
  cpli_free(r->ctx, text);
  return st;
}

cpli_source_loc cpli_ssp_loc(const cpli_ssp_document* doc, const cpli_xml_node* node) {
  return (cpli_source_loc){doc->file.path, node != NULL ? node->line : 0, 0};
}

char* cpli_ssp_text(cpli_ssp_reader* r, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char* text = cpli_vprintf(r->ctx, fmt, args);
  va_end(args);
  char* kept = text != NULL ? cpli_arena_strdup(&r->ssp->arena, text) : NULL;
  cpli_free(r->ctx, text);
  return kept;
}

void* cpli_ssp_array(cpli_ssp_reader* r, size_t n, size_t size) {
  return cpli_arena_alloc(&r->ssp->arena, n > 0 ? n : 1, size);
}

size_t cpli_ssp_count_children(const cpli_xml_node* node, const char* uri, const char* name) {
  size_t n = 0;
  const cpli_xml_node* child = cpli_xml_child(node, uri, name);
  for (; child != NULL; child = cpli_xml_sibling(child)) n++;
  return n;
}

cpl_status cpli_ssp_unique(cpli_ssp_reader* r, cpli_names* names, const char* name,
                           const cpli_source_loc* loc, const char* what) {
  const size_t before = names->count;
  const int32_t line = cpli_names_add(names, name, loc->line);
  if (line < 0) return cpli_nomem(r->ctx);
  if (names->count > before) return CPL_OK;
  return cpli_ssp_error(r, loc, "%s '%s' is there twice, also in line %d", what, name, line);
}
