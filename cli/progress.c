// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// At most ten updates per second; the remaining time is extrapolated from the share of the run that
// is done, and the line is cut to the width of the terminal.
#include "progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "format/json.h"

void progress_begin(progress* p, const char* how, bool quiet) {
  const bool automatic = how == NULL || strcmp(how, "auto") == 0;
  if (!automatic) p->kind = strcmp(how, "json") == 0 ? PROGRESS_JSON : PROGRESS_NONE;
  else p->kind = isatty(STDERR_FILENO) && !quiet ? PROGRESS_BAR : PROGRESS_NONE;
  p->began = cpli_now();
}

static double part_of(const progress* p, double t) {
  return p->stop > p->start ? fmin(1, fmax(0, (t - p->start) / (p->stop - p->start))) : 1;
}

double progress_left(const progress* p, double t, double now) {
  const double part = part_of(p, t);
  return part > 0 ? (now - p->began) * (1 - part) / part : NAN;
}

void progress_duration(char* out, size_t size, double seconds) {
  const long s = lround(fmin(seconds, 1e9));
  if (s < 60) snprintf(out, size, "%ld s", s);
  else if (s < 3600) snprintf(out, size, "%ld min %ld s", s / 60, s % 60);
  else snprintf(out, size, "%ld h %ld min", s / 3600, s % 3600 / 60);
}

// A bar with a resolution of an eighth of a character.
static void print_bar(double part, int blocks) {
  static const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int done = (int)(8 * blocks * part);
  fputs("▕", stderr);
  for (int i = 0; i < done / 8; i++) fputs("█", stderr);
  fprintf(stderr, "%s%*s▏ ", eighths[done % 8], blocks - done / 8 - (done % 8 > 0), "");
}

// The number of digits at which a few steps are visible.
static int digits_of(double t, double step) {
  const double ratio = step > 0 ? fabs(t) / step : 0;
  return ratio > 1e5 ? (int)fmin(15, ceil(log10(ratio))) : 6;
}

// The bar fills the rest of the line, and the text is cut at the width of the terminal: a wrapped
// line could not be overwritten.
void progress_draw(double part, const char* text) {
  const int columns = (int)cli_terminal_width(stderr), room = columns - (int)strlen(text) - 4;
  fputc('\r', stderr);
  if (room >= 6) print_bar(part, room < 24 ? room : 24);
  fprintf(stderr, "%.*s\033[K", columns - 1, text);
  fflush(stderr);
}

static void show_bar(const progress* p, double t, int64_t events, double now) {
  const double part = part_of(p, t), speed = (t - p->start) / (now - p->began);
  char text[256], left[64], step[32] = "", rate[32];
  progress_duration(left, sizeof left, progress_left(p, t, now));
  if (p->step > 0) snprintf(step, sizeof step, "  step %.2g", p->step);
  if (speed < 0.005) snprintf(rate, sizeof rate, "%.1e", speed);
  else snprintf(rate, sizeof rate, "%.*f", speed < 10 ? 2 : 0, speed);
  const int columns = (int)cli_terminal_width(stderr);
  int room = 0;
  for (int i = 0; i < 2 && room < 6; i++) {  // the step only where there is room for the bar, too
    const int n =
        snprintf(text, sizeof text, "%3.0f %%  t = %.*g%s  %sx real time  %s left  %lld event%s",
                 100 * part, digits_of(t, p->step), t, i == 0 ? step : "", rate, left,
                 (long long)events, events == 1 ? "" : "s");
    room = columns - n - 4;
  }
  progress_draw(part, text);
}

static void show_json(const progress* p, double t, int64_t events, double now, const char* state) {
  cpli_json j;
  cpli_json_begin(&j, stderr);
  j.one_line = 1;
  cpli_json_object(&j, NULL);
  cpli_json_text(&j, "progress", state);
  cpli_json_real(&j, "time", t);
  cpli_json_real(&j, "start", p->start);
  cpli_json_real(&j, "stop", p->stop);
  cpli_json_real(&j, "part", part_of(p, t));
  cpli_json_real(&j, "wall_s", now - p->began);
  if (p->step > 0) cpli_json_real(&j, "step", p->step);
  cpli_json_real(&j, "speed", (t - p->start) / (now - p->began));
  cpli_json_real(&j, "left_s", progress_left(p, t, now));
  cpli_json_integer(&j, "events", events);
  cpli_json_close(&j, '}');
  cpli_json_end(&j);
  fflush(stderr);
}

void progress_show(progress* p, double t, int64_t events) {
  if (p->kind == PROGRESS_NONE) return;
  const double now = cpli_now();
  const double wait = p->kind == PROGRESS_BAR && !p->shown ? 1 : 0.1;
  if (now - (p->shown ? p->last : p->began) < wait) return;
  p->last = now;
  p->shown = true;
  if (p->kind == PROGRESS_BAR) show_bar(p, t, events, now);
  else show_json(p, t, events, now, "running");
}

void progress_end(progress* p, double t, int64_t events, bool finished) {
  if (p->kind == PROGRESS_BAR && p->shown) fputs("\r\033[K", stderr);
  if (p->kind == PROGRESS_JSON) show_json(p, t, events, cpli_now(), finished ? "done" : "failed");
}
