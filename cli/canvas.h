// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A picture made of characters: each holds several dots (braille: 2 x 4) and one colour.
#pragma once

#include "cli.h"

typedef enum canvas_marks { CANVAS_BRAILLE, CANVAS_BLOCKS, CANVAS_ASCII } canvas_marks;

typedef struct canvas {
  canvas_marks marks;
  int columns, rows;  // characters
  int width, height;  // dots
  unsigned char *dots, *colours;
} canvas;

bool canvas_make(canvas* c, canvas_marks marks, int columns, int rows);  // false: no memory
void canvas_free(canvas* c);
// Dots are counted from the lower left; what is outside is left out.
void canvas_line(canvas* c, double x0, double y0, double x1, double y1, int colour);
// One row of characters, from above; colours 0 to 7 as terminals have them, or none.
void canvas_print_row(const canvas* c, FILE* out, int row, bool coloured);
void canvas_colour(FILE* out, int colour, bool coloured);  // -1: back to normal
