// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The picture of `couplet graph --svg`: elkjs and page/diagram.js, which draw it in a page, run in
// a small engine inside the library, so that page and file are the same and need nothing installed.
// The engine sees one text, the diagram, and gives one back; it can neither read nor write files.
#include <duktape.h>

#include "base/data.h"
#include "format/file.h"
#include "format/source_loc.h"
#include "view/view.h"

// Memory of the engine comes from the context.
static void* get(void* ctx, duk_size_t size) { return size > 0 ? cpli_alloc(ctx, size, 1) : NULL; }

static void put(void* ctx, void* memory) { cpli_free(ctx, memory); }

static void* resize(void* ctx, void* memory, duk_size_t size) {
  if (size > 0) return cpli_realloc(ctx, memory, size, 1);
  cpli_free(ctx, memory);
  return NULL;
}

typedef struct job {
  const char *script, *json;
  size_t script_size;
} job;

static duk_ret_t draw(duk_context* engine, void* user) {
  const job* j = user;
  duk_push_string(engine, "engine.js");
  duk_compile_lstring_filename(engine, 0, j->script, j->script_size);
  duk_call(engine, 0);
  duk_get_global_string(engine, "drawDiagram");
  duk_push_string(engine, j->json);
  duk_call(engine, 1);
  return 1;
}

// Out of memory once more is caught as well: outside of safe calls the engine would end the
// program.
static duk_ret_t tell(duk_context* engine, void* user) {
  (void)user;
  duk_safe_to_string(engine, -1);
  return 1;
}

static cpl_status run(cpl_context* ctx, const char* path, job* j) {
  duk_context* engine = duk_create_heap(get, resize, put, ctx, NULL);
  if (engine == NULL) return cpli_nomem(ctx);
  cpl_status st;
  duk_size_t size = 0;
  const bool fine = duk_safe_call(engine, draw, j, 0, 1) == DUK_EXEC_SUCCESS;
  const bool told = fine || duk_safe_call(engine, tell, NULL, 1, 1) == DUK_EXEC_SUCCESS;
  const char* text = told ? duk_get_lstring(engine, -1, &size) : NULL;
  if (fine && text != NULL) st = cpli_file_make(ctx, path, text, size);
  else if (text == NULL || strstr(text, "alloc") != NULL) st = cpli_nomem(ctx);
  else st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "could not be drawn: %s", text);
  duk_destroy_heap(engine);
  return st;
}

cpl_status cpli_diagram_svg(cpl_context* ctx, const char* path, const char* json) {
  const char* folder = cpli_data_folder(ctx);
  if (folder == NULL) return CPL_ERR_INPUT;
  char* file = cpli_printf(ctx, "%s/view/engine.js", folder);
  if (file == NULL) return cpli_nomem(ctx);
  char* script = NULL;
  job j = {.json = json};
  cpl_status st = cpli_file_read(ctx, file, (size_t)64 << 20, &script, &j.script_size);
  j.script = script;
  if (st >= 0) st = run(ctx, path, &j);
  cpli_free(ctx, script);
  cpli_free(ctx, file);
  return st;
}
