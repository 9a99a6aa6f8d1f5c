// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "terminal.h"

static char seen[1 << 18];

// y = t, z = 1 - t, a step, in two units; 201 rows
static int set_up(void** state) {
  (void)state;
  FILE* f = fopen("lines.csv", "wb");
  assert_non_null(f);
  fputs("time,left.y [m],left.z [m],right.on\n", f);
  for (int i = 0; i <= 200; i++) {
    double t = i / 200.0;
    fprintf(f, "%g,%g,%g,%d\n", t, t, 1 - t, t > 0.5);
  }
  fclose(f);
  return 0;
}

static void draws_on_a_terminal(void** state) {
  (void)state;
  unsetenv("NO_COLOR");
  CHECK_INT(watch_terminal((const char* const[]){"plot", "lines.csv", "left.*", NULL}, 60, NULL, 20,
                           seen, sizeof seen),
            0);
  CHECK_CONTAINS(seen, "\033[34m━━ \033[0mleft.y");
  CHECK_CONTAINS(seen, "\033[33m━━ \033[0mleft.z");
  CHECK_CONTAINS(seen, "[m]");
  CHECK_CONTAINS(seen, " 0.5 ┤");
  CHECK_CONTAINS(seen, "time [s]");
  CHECK_CONTAINS(seen, "⠉");  // braille
  CHECK(strstr(seen, "right.on") == NULL);
  int lines = 0;
  for (const char* line = seen; line != NULL && *line != '\0'; lines++) {
    CHECK((int)width_of(line) <= 60);
    line = strchr(line, '\n');
    if (line != NULL) line++;
  }
  CHECK_INT(lines, 18);  // 14 of the picture, the legend, the axis and its name
  setenv("NO_COLOR", "1", 1);
  CHECK_INT(watch_terminal((const char* const[]){"plot", "lines.csv", NULL}, 60, NULL, 20, seen,
                           sizeof seen),
            0);
  CHECK(strchr(seen, '\033') == NULL);
  CHECK_CONTAINS(seen, "right.on");
  unsetenv("NO_COLOR");
}

// In rows of single characters: the mark of y = t stands where t is, upside down.
static void marks_stand_where_values_are(void** state) {
  (void)state;
  CHECK_CODE(0, "plot", "lines.csv", "left.y", "--marks", "ascii", "--width", "52", "--height",
             "11");
  CHECK(strchr(printed, '\033') == NULL);  // no colours in a pipe
  char* line = strchr(printed, '\n') + 1;  // behind the legend
  for (int row = 0; row < 11; row++) {
    char* end = strchr(line, '\n');
    *end = '\0';
    CHECK(line[11] == '|');
    const char *first = strchr(line, '*'), *last = strrchr(line, '*');
    assert_non_null(first);
    // forty columns, eleven rows: this row holds values around 1 - row/10
    const double middle = 0.5 * (double)((first - line) + (last - line)) - 12;
    const double low = fmax(0, 1 - row / 10.0 - 0.05), high = fmin(1, 1 - row / 10.0 + 0.05);
    CHECK_NEAR(middle, 39 * 0.5 * (low + high), 1.01);
    if (row == 5) CHECK_CONTAINS(line, " 0.5 |");
    line = end + 1;
  }
}

// Ticks are equally far apart, to one column, also where one lies in the middle of two columns.
static void no_tick_is_left_out(void** state) {
  (void)state;
  for (int width = 31; width < 130; width++) {
    char text[8];
    snprintf(text, sizeof text, "%d", width);
    CHECK_CODE(0, "plot", "lines.csv", "left.y", "--marks", "ascii", "--width", text, "--height",
               "4");
    char* axis = strrchr(printed, '|');
    axis = strchr(axis, '\n') + 1 + 12;
    *strchr(axis, '\n') = '\0';
    const char *tick = strchr(axis, '+'), *next = strchr(tick + 1, '+');
    assert_non_null(next);
    const double first = (double)(next - tick);
    for (tick = next; (next = strchr(tick + 1, '+')) != NULL; tick = next)
      CHECK_NEAR((double)(next - tick), first, 1);
  }
}

// Every multiple of the step between the smallest and the largest value has a label, on both axes,
// at its place and apart from its neighbours, whatever the range and the size.
static void check_labels(const double* values, int n, double low, double high) {
  CHECK(n >= 2);
  const double step = (values[n - 1] - values[0]) / (n - 1);
  for (int i = 1; i < n; i++) CHECK_NEAR(values[i] - values[i - 1], step, 1e-5 * step);
  CHECK(values[0] >= low - 1e-6 * step && values[0] - step < low);
  CHECK(values[n - 1] <= high + 1e-6 * step && values[n - 1] + step > high);
  CHECK(step > 0);
}

static void every_tick_has_its_label(void** state) {
  (void)state;
  static const double ranges[][2] = {{0, 1},        {0, 2.5},         {0.3, 0.9},    {-1, 1},
                                     {0.09, 0.195}, {1e6, 1000000.5}, {-7e-9, 3e-9}, {99.5, 100.5},
                                     {0, 12345},    {-3e20, 1e21},    {0.95, 2.05}};
  for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
    const double low = ranges[r][0], high = ranges[r][1];
    char text[256];
    snprintf(text, sizeof text, "time,y\n%.17g,%.17g\n%.17g,%.17g\n", low, low, high, high);
    write_text("range.csv", text);
    for (int height = 3; height < 40; height += 4) {
      char tall[8], wide[8];
      snprintf(tall, sizeof tall, "%d", height);
      snprintf(wide, sizeof wide, "%d", 40 + 3 * height);
      CHECK_CODE(0, "plot", "range.csv", "--marks", "ascii", "--width", wide, "--height", tall);
      double values[64];
      int n = 0;
      char *line = strchr(printed, '\n') + 1, *bar = NULL;
      for (int row = 0; row < height; row++, line = strchr(line, '\n') + 1) {
        char* end;
        bar = strchr(line, '|');
        const double v = strtod(line, &end);
        if (end == line || end > bar) continue;
        // the row holds values around its own
        const double here = high - row * (high - low) / (height - 1);
        CHECK_NEAR(v, here, 0.51 * (high - low) / (height - 1));
        values[n++] = -v;
      }
      check_labels(values, n, -high, -low);
      // the axis of time: as many labels as ticks
      const char* axis = strchr(line, '+') + 1;
      char* labels = strchr(line, '\n') + 1;
      *strchr(labels, '\n') = '\0';
      int ticks = 0;
      for (const char* c = axis; *c != '\n'; c++) ticks += *c == '+';
      n = 0;
      char* end = NULL;
      for (char* at = labels; *at != '\0'; at = end) {
        values[n++] = strtod(at, &end);
        CHECK(end > at && (*end == ' ' || *end == '\0'));
      }
      CHECK_INT(n, ticks);
      CHECK((int)strlen(labels) <= 40 + 3 * height);
      check_labels(values, n, low, high);
    }
  }
}

static void other_marks_and_one_over_another(void** state) {
  (void)state;
  CHECK_CODE(0, "plot", "lines.csv", "left.y", "--marks", "blocks", "--color", "always");
  CHECK_CONTAINS(printed, "▞");
  CHECK_CONTAINS(printed, "\033[34m");
  CHECK_CODE(0, "plot", "lines.csv", "--xy", "left.z,left.y", "--height", "5");
  CHECK_CONTAINS(printed, "left.z [m]");
  CHECK_CODE(0, "plot", "lines.csv", "left.y", "--from", "0.2", "--until", "0.3", "--height", "5");
  CHECK_CONTAINS(printed, "0.26");
}

static void text_of_others_moves_no_cursor(void** state) {
  (void)state;
  write_text("hostile.csv", "time,\"a\033]0;title\007b\",c [\033[2J]\n0,1,2\n1,2,3\n");
  CHECK_CODE(0, "plot", "hostile.csv");
  CHECK(strchr(printed, '\033') == NULL);
  CHECK(strchr(printed, '\007') == NULL);
}

static void odd_results(void** state) {
  (void)state;
  write_text("odd.csv", "time,a,b,c\n0,nan,5,-1.7e308\n1,nan,5,1.7e308\n2,inf,5,0\n");
  CHECK_CODE(0, "plot", "odd.csv", "*");
  write_text("one.csv", "time,a\n0,1\n");
  CHECK_CODE(0, "plot", "one.csv");
  write_text("none.csv", "time,a\n");
  CHECK_FAILS(2, "none.csv: there are no rows to draw", "plot", "none.csv");
  CHECK_FAILS(2, "lines.csv: no column matches \"left.w\" (is it left.y or left.z?)", "plot",
              "lines.csv", "left.w");
  CHECK_FAILS_WITH(2, "two columns X,Y are needed", "plot", "lines.csv", "--xy", "left.y");
  CHECK_FAILS_WITH(2, "is later than", "plot", "lines.csv", "--from", "2", "--until", "1");
  CHECK_FAILS_WITH(2, "No such file", "plot", "missing.csv");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_on_a_terminal),
      cmocka_unit_test(marks_stand_where_values_are),
      cmocka_unit_test(no_tick_is_left_out),
      cmocka_unit_test(every_tick_has_its_label),
      cmocka_unit_test(other_marks_and_one_over_another),
      cmocka_unit_test(text_of_others_moves_no_cursor),
      cmocka_unit_test(odd_results),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
