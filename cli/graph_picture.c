// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet graph --html and --svg: writes the diagram to a file, by default named after the system.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diagram.h"
#include "graph.h"
#include "view/view.h"

// "dir/system.yaml" -> "system.html" in the current folder
static void default_path(char* out, size_t size, const char* path, const char* ending) {
  const char* name = strrchr(path, '/');
  name = name != NULL ? name + 1 : path;
  const char* dot = strrchr(name, '.');
  const int n = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
  snprintf(out, size, "%.*s%s", n, name, ending);
}

cpl_status graph_write_picture(const cpl_source* source, const cpl_component* component,
                               const char* path, const char* output, bool svg, FILE* out) {
  char file[4096];
  cpl_context* ctx = source->ctx;
  const char* title = component != NULL ? component->desc->name : source->desc->name;
  diagram* d = diagram_begin(ctx, title);
  if (d == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_status st = CPL_OK;
  if (component != NULL) st = diagram_of(d, component);
  else if (graph_has_modes(source)) graph_draw_modes(d, source);
  else graph_draw_lines(d, source);
  char* json = diagram_end(d);
  if (st >= 0 && json == NULL) st = cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  if (output != NULL) snprintf(file, sizeof file, "%s", output);
  else default_path(file, sizeof file, path, svg ? ".svg" : ".html");
  if (st >= 0) {
    st = svg ? cpli_diagram_svg(ctx, file, json)
             : cpli_page_write(ctx, "graph.html", file, title, json);
  }
  free(json);
  if (st < 0 || output != NULL) return st;
  cli_print_safe(out, file);
  fputc('\n', out);
  if (!svg && isatty(fileno(out)) && cli_has_desktop()) cli_open_page(file);
  return st;
}
