// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Decodes UTF-8 strictly, without overlong sequences and surrogates, and replaces characters that a
// terminal would take for commands.
#include "format/text.h"

uint32_t cpli_utf8_next(const char** text) {
  const unsigned char* s = (const unsigned char*)*text;
  int more = s[0] < 0x80                   ? 0
             : s[0] >= 0xc2 && s[0] < 0xe0 ? 1
             : s[0] >= 0xe0 && s[0] < 0xf0 ? 2
             : s[0] >= 0xf0 && s[0] < 0xf5 ? 3
                                           : -1;
  static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
  uint32_t c = more <= 0 ? s[0] : s[0] & (0x3fu >> more);
  for (int i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80) more = -1;  // also at the end of the text; leaves the loop
    if (more > 0) c = c << 6 | (s[i] & 0x3f);
  }
  bool good = more >= 0 && c >= smallest[more] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
  *text += good ? more + 1 : 1;
  return good ? c : 0xfffd;
}

bool cpli_is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

size_t cpli_text_width(const char* text) {
  size_t n = 0;
  for (; *text != '\0'; n++) cpli_utf8_next(&text);
  return n;
}

size_t cpli_print_text(FILE* out, const char* text, size_t width) {
  size_t total = cpli_text_width(text), written = 0;
  bool cut = width > 0 && total > width;
  size_t end = cut ? width - 1 : total;
  for (; written < end; written++) {
    const char* begin = text;
    uint32_t c = cpli_utf8_next(&text);
    if (c == '\n' || c == '\r' || c == '\t') {
      fputc(' ', out);
    } else if (cpli_is_control(c)) {
      fputc('?', out);
    } else if (c == 0xfffd) {
      fputs("\xef\xbf\xbd", out);
    } else {
      fwrite(begin, 1, (size_t)(text - begin), out);
    }
  }
  if (cut) fputs("\xe2\x80\xa6", out);
  return written + (cut ? 1 : 0);
}
