// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Lines are rasterised dot by dot; all dots of a character have the colour that was drawn last.
#include "canvas.h"

#include <math.h>
#include <stdlib.h>

// dots in a character: across, up
static const struct { int across, up; } sizes[] = {{2, 4}, {2, 2}, {1, 1}};

bool canvas_make(canvas* c, canvas_marks marks, int columns, int rows) {
  *c = (canvas){.marks = marks, .columns = columns, .rows = rows};
  c->width = columns * sizes[marks].across;
  c->height = rows * sizes[marks].up;
  c->dots = calloc((size_t)columns * (size_t)rows, 1);
  c->colours = calloc((size_t)columns * (size_t)rows, 1);
  return c->dots != NULL && c->colours != NULL;
}

void canvas_free(canvas* c) {
  free(c->dots);
  free(c->colours);
  *c = (canvas){0};
}

// Bits of a character, by position from the upper left: the order of Unicode's braille patterns,
// and of the quarters of a block.
static const unsigned char braille[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
static const unsigned char quarters[2][2] = {{1, 2}, {4, 8}};

static void put_dot(canvas* c, int x, int y, int colour) {
  if (x < 0 || x >= c->width || y < 0 || y >= c->height) return;
  const int across = sizes[c->marks].across, up = sizes[c->marks].up;
  const int from_above = c->height - 1 - y;
  const int row = from_above % up, column = x % across;
  const int cell = from_above / up * c->columns + x / across;
  c->dots[cell] |= c->marks == CANVAS_BRAILLE  ? braille[row][column]
                   : c->marks == CANVAS_BLOCKS ? quarters[row][column]
                                               : 1;
  c->colours[cell] = (unsigned char)colour;
}

void canvas_line(canvas* c, double x0, double y0, double x1, double y1, int colour) {
  const double far = 4.0 * (c->width + c->height);  // a line of any length takes bounded time
  if (!(fabs(x0) < far && fabs(x1) < far && fabs(y0) < far && fabs(y1) < far)) return;
  const int n = (int)ceil(fmax(fabs(x1 - x0), fabs(y1 - y0)));
  for (int i = 0; i <= n; i++) {
    const double part = n > 0 ? (double)i / n : 0;
    put_dot(c, (int)lround(x0 + part * (x1 - x0)), (int)lround(y0 + part * (y1 - y0)), colour);
  }
}

void canvas_colour(FILE* out, int colour, bool coloured) {
  static const int codes[] = {34, 33, 32, 35, 36, 31, 94, 92};  // blue, yellow, green, ...
  if (coloured && colour >= 0) fprintf(out, "\033[%dm", codes[colour % 8]);
  else if (coloured) fputs("\033[0m", out);
}

static void print_cell(FILE* out, canvas_marks marks, unsigned char dots) {
  static const char* const blocks[] = {" ", "▘", "▝", "▀", "▖", "▌", "▞", "▛",
                                       "▗", "▚", "▐", "▜", "▄", "▙", "▟", "█"};
  if (dots == 0) fputc(' ', out);
  else if (marks == CANVAS_BRAILLE) fprintf(out, "\xe2%c%c", 0xa0 | dots >> 6, 0x80 | (dots & 63));
  else fputs(marks == CANVAS_BLOCKS ? blocks[dots] : "*", out);
}

void canvas_print_row(const canvas* c, FILE* out, int row, bool coloured) {
  int last = c->columns - 1, now = -1;
  while (last >= 0 && c->dots[row * c->columns + last] == 0) last--;
  for (int i = 0; i <= last; i++) {
    const int cell = row * c->columns + i;
    if (c->dots[cell] != 0 && c->colours[cell] != now)
      canvas_colour(out, now = c->colours[cell], coloured);
    print_cell(out, c->marks, c->dots[cell]);
  }
  if (now >= 0) canvas_colour(out, -1, coloured);
}
