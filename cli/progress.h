// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Progress of a run: after one second a bar on a terminal, or lines of JSON for other programs;
// nothing in pipes.
#pragma once

#include "cli.h"

typedef enum progress_kind { PROGRESS_NONE, PROGRESS_BAR, PROGRESS_JSON } progress_kind;

typedef struct progress {
  progress_kind kind;
  double start, stop;
  double began, last;  // [s] on the clock
  double step;         // the length of the last one; 0: not known
  bool shown;
} progress;

// `how`: "auto", "json", "none" or NULL. A bar where standard error is a terminal.
void progress_begin(progress* p, const char* how, bool quiet);
void progress_show(progress* p, double t, int64_t events);
void progress_end(progress* p, double t, int64_t events, bool finished);

// A bar and a text, on one line of the terminal that is overwritten by the next one.
void progress_draw(double part, const char* text);
// "45 s", "3 min 20 s", "2 h 5 min"
void progress_duration(char* out, size_t size, double seconds);

// Seconds that are left, by what was done so far; NAN: not known.
double progress_left(const progress* p, double t, double now);
