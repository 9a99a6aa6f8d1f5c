// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet graph --html and --svg: writes the diagram to a file, by default named after the system.
#include <string.h>
#include <unistd.h>

#include "graph.h"

// "dir/system.yaml" -> "system.html" in the current folder
static void default_path(char* out, size_t size, const char* path, const char* ending) {
  const char* name = strrchr(path, '/');
  name = name != NULL ? name + 1 : path;
  const char* dot = strrchr(name, '.');
  const int n = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
  snprintf(out, size, "%.*s%s", n, name, ending);
}

// -o may name a file without .svg: the option decides.
cpl_status graph_write_picture(cpl_source* source, const char* path, const char* output, bool svg,
                               FILE* out) {
  char file[4096];
  if (output != NULL) snprintf(file, sizeof file, "%s", output);
  else default_path(file, sizeof file, path, svg ? ".svg" : ".html");
  cpl_status st = cpl_diagram_write(source, file, svg ? CPL_DIAGRAM_SVG : CPL_DIAGRAM_PAGE);
  if (st < 0 || output != NULL) return st;
  cli_print_safe(out, file);
  fputc('\n', out);
  if (!svg && isatty(fileno(out)) && cli_has_desktop()) cli_open_page(file);
  return st;
}
