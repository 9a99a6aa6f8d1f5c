// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Descriptions and archives with random damage: always a status and a message, never a crash or a
// leak. The damage is the same in every run; COUPLET_MUTATIONS asks for more of it.
#include "archive.h"
#include "descriptions.h"
#include "fmi/check.h"

static uint64_t seed;

// xorshift64*
static uint32_t random_below(uint32_t n) {
  seed ^= seed >> 12;
  seed ^= seed << 25;
  seed ^= seed >> 27;
  return (uint32_t)(((seed * 2685821657736338717u) >> 32) % n);
}

static int wanted(int usual) {
  const char* text = getenv("COUPLET_MUTATIONS");
  return text != NULL ? atoi(text) : usual;
}

static const char* const words[] = {"\"",
                                    "<",
                                    ">",
                                    "/>",
                                    "&lt;",
                                    "&#0;",
                                    "&x;",
                                    "-1",
                                    "4294967296",
                                    "1e999",
                                    "nan",
                                    "",
                                    "18446744073709551615",
                                    "Real",
                                    "Unknown",
                                    "index",
                                    "declaredType",
                                    "derivative",
                                    "]]>",
                                    "<!--",
                                    "<![CDATA[",
                                    "\xff",
                                    "\xc3\x28",
                                    "<!DOCTYPE x>",
                                    "2147483648",
                                    "index=\"99\"",
                                    "start=\"\"",
                                    "-0"};

// One to eight places are changed; `bytes` has room for `cap`.
static size_t damage(char* bytes, size_t size, size_t cap) {
  int places = 1 + (int)random_below(8);
  for (int i = 0; i < places && size > 0; i++) {
    size_t at = random_below((uint32_t)size);
    size_t n = 1 + random_below(24), from = random_below((uint32_t)size);
    const char* word = words[random_below(sizeof words / sizeof *words)];
    switch (random_below(6)) {
      case 0: bytes[at] = (char)random_below(256); break;
      case 1: bytes[at] ^= (char)(1u << random_below(8)); break;
      case 2:  // cut out
        if (at + n > size) n = size - at;
        memmove(bytes + at, bytes + at + n, size - at - n);
        size -= n;
        break;
      case 3:  // a copy from elsewhere
        if (from + n > size) n = size - from;
        if (at + n > size) n = size - at;
        memmove(bytes + at, bytes + from, n);
        break;
      case 4:  // a word that means something
        n = strlen(word);
        if (size + n > cap) break;
        memmove(bytes + at + n, bytes + at, size - at);
        memcpy(bytes + at, word, n);
        size += n;
        break;
      default:  // cut short, rarely
        if (random_below(8) == 0) size = at;
    }
  }
  return size;
}

// Whatever the file is: a status, a message with its name, and all memory back.
static bool survives(const char* path) {
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  cpl_source* src = NULL;
  cpl_status st = cpl_fmu_open(ctx, &def, &src);
  if (st < 0) {
    CHECK(src == NULL);
    CHECK_CONTAINS(cpl_context_error(ctx), path);
  } else {
    cpli_findings findings;
    cpli_findings_init(&findings, ctx);
    CHECK_OK(ctx, cpli_fmu_check((cpl_fmu*)src, &findings));
    cpli_findings_free(&findings);
    CHECK(cpl_find_variable(src->desc, "no such name") < 0);
    src->ops->destroy(src);
  }
  cpl_context_destroy(ctx);
  CHECK_INT(heap.live, 0);
  return st >= 0;
}

static void damaged_descriptions(void** state) {
  (void)state;
  static char bytes[1 << 16];
  mkdir("unpacked.fmu", 0700);
  int n = wanted(4000), good = 0;
  for (int i = 0; i < n; i++) {
    seed = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
    size_t size = strlen(everything_xml);
    memcpy(bytes, everything_xml, size);
    size = damage(bytes, size, sizeof bytes);
    write_bytes("unpacked.fmu/modelDescription.xml", bytes, size);
    good += survives("unpacked.fmu");
  }
  if (n >= 1000) CHECK(good > n / 100 && good < n);  // it reaches behind the XML parser
}

static void damaged_archives(void** state) {
  (void)state;
  static char bytes[1 << 16];
  make_archive("small.fmu",
               (archive_entry[]){{.name = "modelDescription.xml", .text = everything_xml},
                                 {.name = "binaries/linux64/every_me.so", .text = "x"},
                                 {.name = "resources/a/b.txt", .text = "some text"},
                                 {0}});
  size_t whole;
  char* original = read_bytes("small.fmu", &whole);
  CHECK(whole < sizeof bytes);
  int n = wanted(2000), good = 0;
  for (int i = 0; i < n; i++) {
    seed = 0xd1342543de82ef95u * (uint64_t)(i + 1);
    memcpy(bytes, original, whole);
    size_t size = damage(bytes, whole, sizeof bytes);
    write_bytes("damaged.fmu", bytes, size);
    good += survives("damaged.fmu");
  }
  free(original);
  CHECK(good < n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_descriptions),
      cmocka_unit_test(damaged_archives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
