// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A frequency response as a picture (.svg), or as a page with the picture and its figures (.html).
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/file.h"
#include "format/markup.h"
#include "view/view.h"

static const char page_style[] =
    "body{font:14px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;margin:24px;max-width:980px;"
    "background:#fff;color:#1c2330}svg{max-width:100%;height:auto}table{border-collapse:collapse}"
    "td{padding:2px 16px 2px 0}@media(prefers-color-scheme:dark){body{background:#12161d;"
    "color:#e6e9ef}}";

// Columns of the table: gain and phase, over decimal logarithms of the frequency.
static bool fill_table(const cpl_frequency* f, cpl_table* table, double** values) {
  static const char* const names[] = {"gain", "phase"};
  static const char* const units[] = {"dB", "deg"};
  size_t n = 0;
  double* v = *values = calloc(3 * (size_t)f->n + 1, sizeof *v);
  if (v == NULL) return false;
  for (int32_t i = 0; i < f->n; i++) n += f->points[i].omega > 0;
  for (size_t i = 0; i < n; i++) {
    const cpl_frequency_point* p = &f->points[(size_t)f->n - n + i];
    v[i] = log10(p->omega);
    v[n + i] = 20 * log10(hypot(p->re, p->im));
    v[2 * n + i] = p->phase;
  }
  *table = (cpl_table){
      .n_rows = n, .n_columns = 2, .names = names, .units = units, .time = v, .values = v + n};
  return true;
}

CPL_PRINTF(4, 5)
static void put_row(cpli_text* out, const char* name, bool known, const char* format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  cpli_text_put(out, "<tr><td>");
  cpli_text_put(out, name);
  cpli_text_put(out, "</td><td>");
  cpli_text_put(out, known ? text : "none in this range");
  cpli_text_put(out, "</td></tr>\n");
}

static void put_figures(cpli_text* out, const cpl_frequency* f) {
  const cpl_margins* k = &f->margins;
  cpli_text_put(out, "<table>\n");
  put_row(out, "gain at zero", !isnan(f->at_zero), "%.8g", f->at_zero);
  put_row(out, "largest gain", true, "%.8g (%.4g dB) at %.6g rad/s", f->peak, 20 * log10(f->peak),
          f->peak_omega);
  put_row(out, "bandwidth", !isnan(f->bandwidth), "%.6g rad/s", f->bandwidth);
  put_row(out, "gain margin", !isnan(k->gain), "%.6g (%.4g dB) at %.6g rad/s", k->gain,
          20 * log10(k->gain), k->gain_omega);
  put_row(out, "phase margin", !isnan(k->phase), "%.6g deg at %.6g rad/s, a dead time of %.6g s",
          k->phase, k->phase_omega, k->delay);
  cpli_text_put(out, "</table>\n");
}

static void put_page(cpli_text* out, const cpl_frequency* f, const char* title,
                     const cpli_text* picture) {
  cpli_text_put(out,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
  cpli_text_escaped(out, title, 200);
  cpli_text_put(out, "</title>\n<style>");
  cpli_text_put(out, page_style);
  cpli_text_put(out, "</style></head><body>\n");
  cpli_text_bytes(out, picture->data, picture->len);
  put_figures(out, f);
  cpli_text_put(out, "</body></html>\n");
}

cpl_status cpl_frequency_write(cpl_context* ctx, const cpl_frequency* f, const char* path,
                               const char* title) {
  bool page = cpli_is_page(path);
  cpli_text picture = {.ctx = ctx}, whole = {.ctx = ctx};
  cpl_table table;
  double* values = NULL;
  bool fine = fill_table(f, &table, &values);
  if (fine) {
    cpl_view_def def = cpl_default_view_def();
    def.title = title;
    cpli_picture_draw(&table, &def, "angular frequency [rad/s]", &picture);
    if (page) put_page(&whole, f, title, &picture);
  }
  const cpli_text* out = page ? &whole : &picture;
  cpl_status st = fine && !out->failed && !picture.failed
                      ? cpli_file_make(ctx, path, out->data, out->len)
                      : cpli_nomem(ctx);
  cpli_text_free(&picture);
  cpli_text_free(&whole);
  free(values);
  return st;
}
