// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/yaml.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "testing.h"

static cpl_status parse_bytes(cpl_context* ctx, const char* text, size_t len,
                              cpli_yaml_file** out) {
  return cpli_yaml_parse(ctx, "file.yaml", text, len, out);
}

static cpli_yaml_file* parse(cpl_context* ctx, const char* text) {
  cpli_yaml_file* file;
  CHECK_OK(ctx, parse_bytes(ctx, text, strlen(text), &file));
  return file;
}

// The tree in one line: scalars with place, quoted ones with a '.
static size_t show(const cpli_yaml* n, char* out, size_t size) {
  size_t used = 0;
  if (n->key != NULL) used += show(n->key, out, size);
  if (n->key != NULL) used += (size_t)snprintf(out + used, size - used, "=");
  if (n->kind == CPLI_YAML_SCALAR) {
    used += (size_t)snprintf(out + used, size - used, "%s%s@%d:%d", n->quoted ? "'" : "", n->text,
                             n->line, n->column);
    return used;
  }
  bool map = n->kind == CPLI_YAML_MAPPING;
  used += (size_t)snprintf(out + used, size - used, map ? "{" : "[");
  for (const cpli_yaml* c = n->first; c != NULL; c = c->next) {
    used += show(c, out + used, size - used);
    if (c->next != NULL) used += (size_t)snprintf(out + used, size - used, " ");
  }
  used += (size_t)snprintf(out + used, size - used, map ? "}" : "]");
  return used;
}

static void check_tree(const char* text, const char* expected) {
  char got[4096];
  cpl_context* ctx = test_context();
  cpli_yaml_file* file = parse(ctx, text);
  show(file->root, got, sizeof got);
  CHECK_STR(got, expected);
  cpli_yaml_close(file);
  cpl_context_destroy(ctx);
}

static void keeps_texts_and_places(void** state) {
  (void)state;
  check_tree("a: 1\nb: {c: x + y, d: [1, '2']}\n",
             "{a@1:1=1@1:4 b@2:1={c@2:5=x + y@2:8 d@2:15=[1@2:19 '2@2:23]}}");
  check_tree("- a\n-\n  - b\n", "[a@1:3 [b@3:5]]");
  check_tree("\xef\xbb\xbf# comment\n---\na: yes\r\nb: \"\\u00e9\\n\"\r\n...\n",
             "{a@3:1=yes@3:4 b@4:1='\xc3\xa9\n@4:5}");
  check_tree("\xc3\xa4: \xe2\x82\xac, b # c\n", "{\xc3\xa4@1:1=\xe2\x82\xac, b@1:4}");
  check_tree("{a: , b: ''}", "{a@1:2=@1:2 b@1:7='@1:11}");
  check_tree("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{a@1:1='x\ny\n@2:1 b@4:1='x y@5:1}");
}

static void refuses_with_a_place(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "file.yaml: the file is empty"},
      {"# nothing\n", "file.yaml: the file is empty"},
      {"a: 1\nb: 2\na: 3\n", "file.yaml:3:1: a stands twice (first in line 1)"},
      {"x: {k: 1, k: 2}", "file.yaml:1:11: k stands twice (first in line 1)"},
      {"a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\ni: 9\n  \n\"b\": 0",
       "file.yaml:11:2: b stands twice (first in line 2)"},
      {"a: !!str 1", "file.yaml:1:10: tags (!) are not allowed"},
      {"a: &x 1", "file.yaml:1:7: anchors (&) are not allowed"},
      {"a: 1\nb: *a\n", "file.yaml:2:5: aliases (*) are not allowed"},
      {"? [a]\n: 1\n", "file.yaml:1:3: a key must be a plain text"},
      {"? {a: 1}\n: 1\n", "file.yaml:1:3: a key must be a plain text"},
      {"{[a]: 1}", "file.yaml:1:2: a key must be a plain text"},
      {"a: 1\n---\nb: 2\n", "file.yaml:2:1: a second document begins here"},
      {": 1\n", "file.yaml:1:1: a key is empty"},
      {"a: \"\\0\"\n", "file.yaml:1:5: a NUL byte in this text"},
      {"a: [1, 2\nb: 3\n", "bracket (it opens in line 1, column 4)"},
      {"a: }\n", "file.yaml:1:4: "},
      {"a: 'x\n", "file.yaml:"},
      {"a: 1\n b: 2\n", "file.yaml:1:4: invalid multiline plain key"},
      {"a: b: c\n", "file.yaml:1:"},
      {"a: \"\\ud800\"\n", "file.yaml:1:"},
      {"a: \x01\n", "file.yaml:1:4: a control character"},
      {"a: 1\n\xc3\xa4: \xff\n", "file.yaml:2:4: this is not UTF-8"},
      {"\xc0\x80", "file.yaml:1:1: this is not UTF-8"},
      {"\xed\xa0\x80", "file.yaml:1:1: this is not UTF-8"},
      {"\xf4\x90\x80\x80", "file.yaml:1:1: this is not UTF-8"},
      {"a: \xe2\x82", "file.yaml:1:4: this is not UTF-8"},
      {"%YAML 9.9\n---\na: 1\n", "file.yaml:1:"},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_yaml_file* file;
    cpl_status st = parse_bytes(ctx, cases[i].text, strlen(cases[i].text), &file);
    if (st >= 0) fail_msg("case %zu was taken: %s", i, cases[i].text);
    CHECK_INT(st, CPL_ERR_INPUT);
    CHECK(file == NULL);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].message);
  }
  cpli_yaml_file* file;
  CHECK_INT(parse_bytes(ctx, "a: \0b", 5, &file), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:1:4: a NUL byte");
  CHECK_INT(cpli_yaml_read(ctx, "no/such.yaml", &file), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no/such.yaml: ");
  CHECK_INT(cpli_yaml_read(ctx, ".", &file), CPL_ERR_INPUT);
  cpl_context_destroy(ctx);
}

static void depth_is_limited(void** state) {
  (void)state;
  static const char* const openings[] = {"[", "{a: ", "- ", "? "};
  cpl_context* ctx = test_context();
  char* text = malloc(100000);
  for (size_t k = 0; k < CPLI_COUNT(openings); k++) {
    size_t n = strlen(openings[k]), len = 0;
    while (len + n < 100000) memcpy(text + len, openings[k], n), len += n;
    cpli_yaml_file* file;
    CHECK_INT(parse_bytes(ctx, text, len, &file), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), "file.yaml:1:");
  }
  free(text);
  cpl_context_destroy(ctx);
}

static void values_have_types(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_yaml_file* f =
      parse(ctx, "n: -1.5e3\nb: true\ns: some text\nl: [a, 'b']\nm: {}\ne:\nq: ''\nw: [a, [b]]\n");
  const cpli_yaml* r = f->root;
  double number;
  bool yes;
  const char* text;
  CHECK_OK(ctx, cpli_yaml_number(f, cpli_yaml_get(r, "n"), "n", &number));
  CHECK(number == -1500);
  CHECK_OK(ctx, cpli_yaml_boolean(f, cpli_yaml_get(r, "b"), "b", &yes));
  CHECK(yes);
  CHECK_OK(ctx, cpli_yaml_string(f, cpli_yaml_get(r, "s"), "s", &text));
  CHECK_STR(text, "some text");
  CHECK_OK(ctx, cpli_yaml_strings(f, cpli_yaml_get(r, "l"), "l"));
  CHECK_OK(ctx, cpli_yaml_mapping(f, cpli_yaml_get(r, "m"), "m"));
  CHECK_OK(ctx, cpli_yaml_string(f, cpli_yaml_get(r, "q"), "q", &text));
  CHECK(cpli_yaml_get(r, "x") == NULL);

  CHECK_INT(cpli_yaml_number(f, cpli_yaml_get(r, "s"), "s", &number), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:3:4: s needs a number, not \"some text\"");
  CHECK_INT(cpli_yaml_number(f, cpli_yaml_get(r, "l"), "l", &number), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:4:4: l needs a number, not a list");
  CHECK_INT(cpli_yaml_boolean(f, cpli_yaml_get(r, "n"), "n", &yes), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:1:4: n needs true or false, not \"-1.5e3\"");
  CHECK_INT(cpli_yaml_string(f, cpli_yaml_get(r, "e"), "e", &text), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "e needs a text, not nothing");
  CHECK_INT(cpli_yaml_strings(f, cpli_yaml_get(r, "w"), "w"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:8:8: w needs a text, not a list");
  CHECK_INT(cpli_yaml_strings(f, r, "it"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:1:1: it needs a list, not a mapping");
  CHECK_INT(cpli_yaml_mapping(f, cpli_yaml_get(r, "l"), "l"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "file.yaml:4:4: l needs keys and values, not a list");
  cpli_yaml_close(f);
  cpl_context_destroy(ctx);
}

//------------------------------------ hostile ------------------------------------

static const char sample[] =
    "couplet: 1\nname: \"two \\u00e9\"\nmodels:\n  left:  {fmu: a.fmu, start: {x1: 1.0}} # c\n"
    "list:\n  - a\n  - {b: c}\ntext: |\n  one\n  two\nfold: >\n  three\nlast: 'it''s'\n";

// Any bytes give a tree or a message with the file's name; nothing is printed.
static void survives_mutations(void** state) {
  (void)state;
  static const char bits[] = "{}[]:,#&*!|>'\"%@`?- \n\t\r\\~\xc3\x80\x01";
  cpl_context* ctx = test_context();
  int before = dup(2), file_of_errors = open("stderr.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  dup2(file_of_errors, 2);
  uint32_t random = 1;
  for (int round = 0; round < 6000; round++) {
    char text[2 * sizeof sample];
    size_t len = sizeof sample - 1;
    memcpy(text, sample, len);
    for (int k = 0; k < 1 + round % 4; k++) {
      random = random * 1664525u + 1013904223u;
      size_t at = (random >> 8) % len;
      char put = bits[(random >> 3) % (sizeof bits - 1)];
      if (random >> 31) {
        text[at] = put;
      } else {
        memmove(text + at + 1, text + at, len - at);
        text[at] = put;
        len++;
      }
    }
    if (round % 7 == 0) len = (random >> 5) % len;
    cpli_yaml_file* file;
    cpl_status st = parse_bytes(ctx, text, len, &file);
    if (st < 0) CHECK_CONTAINS(cpl_context_error(ctx), "file.yaml");
    cpli_yaml_close(file);
  }
  off_t printed = lseek(file_of_errors, 0, SEEK_END);
  dup2(before, 2);
  close(before);
  close(file_of_errors);
  CHECK_INT(printed, 0);
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_yaml_file* file = NULL;
    cpl_status st =
        ctx != NULL ? parse_bytes(ctx, sample, sizeof sample - 1, &file) : CPL_ERR_NOMEM;
    cpli_yaml_close(file);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

static void many_keys_are_found(void** state) {
  (void)state;
  enum { N = 10000 };
  cpl_context* ctx = test_context();
  char* text = malloc(N * 64);
  size_t len = 0;
  for (int i = 0; i < N; i++)
    len += (size_t)sprintf(text + len, "model%d: {fmu: a.fmu, start: {x: %d}}\n", i, i);
  double before = cpli_now();
  cpli_yaml_file* file;
  CHECK_OK(ctx, parse_bytes(ctx, text, len, &file));
  double after = cpli_now();
  printf("%d models: %.3f s\n", N, after - before);
  CHECK_INT(file->root->count, N);
  for (int i = 0; i < N; i++) {
    char key[32], value[32];
    sprintf(key, "model%d", i);
    sprintf(value, "%d", i);
    const cpli_yaml* start = cpli_yaml_get(cpli_yaml_get(file->root, key), "start");
    CHECK_STR(cpli_yaml_get(start, "x")->text, value);
  }
  cpli_yaml_close(file);
  free(text);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_texts_and_places), cmocka_unit_test(refuses_with_a_place),
      cmocka_unit_test(depth_is_limited),       cmocka_unit_test(values_have_types),
      cmocka_unit_test(survives_mutations),     cmocka_unit_test(survives_every_failed_allocation),
      cmocka_unit_test(many_keys_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
