// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/elf.h"

#include "archive.h"

static void lists_what_a_library_exports(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char path[4096];
  size_t size;
  snprintf(path, sizeof path, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  char* bytes = read_bytes(path, &size);
  cpli_names names;
  CHECK(cpli_elf_exports(ctx, bytes, size, &names));
  CHECK(cpli_names_find(&names, "fmi2DoStep") >= 0);
  CHECK_INT(cpli_names_find(&names, "fmi3DoStep"), -1);
  CHECK_INT(cpli_names_find(&names, "malloc"), -1);  // used, not exported
  cpli_names_free(&names);
  free(bytes);
  cpl_context_destroy(ctx);
}

static char* compile(const char* text, size_t* size) {
  FILE* f = fopen("object.c", "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  CHECK_INT(system("cc -c -w object.c -o object.o"), 0);
  return read_bytes("object.o", size);
}

static void lists_what_an_object_file_defines(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  size_t size;
  char* bytes = compile(
      "int counter = 3;\nstatic int own(void) { return counter; }\n"
      "__attribute__((visibility(\"hidden\"))) int hidden(void) { return own(); }\n"
      "__attribute__((weak)) int weak(void) { return 2; }\nint used(void);\n"
      "int function(void) { return used() + weak(); }\n",
      &size);
  cpli_names names;
  CHECK(cpli_elf_defines(ctx, bytes, size, &names));
  CHECK(cpli_names_find(&names, "counter") >= 0);
  CHECK(cpli_names_find(&names, "function") >= 0);
  CHECK(cpli_names_find(&names, "hidden") >= 0);
  CHECK_INT(cpli_names_find(&names, "own"), -1);
  CHECK_INT(cpli_names_find(&names, "weak"), -1);  // may be defined again
  CHECK_INT(cpli_names_find(&names, "used"), -1);
  cpli_names_free(&names);
  for (size_t n = 0; n < size; n++) {
    cpli_elf_defines(ctx, bytes, n, &names);
    cpli_names_free(&names);
  }
  free(bytes);
  cpl_context_destroy(ctx);
}

// Cut anywhere, or with any byte of its head changed: nothing is read outside.
static void survives_broken_libraries(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char path[4096];
  size_t size;
  snprintf(path, sizeof path, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  char* bytes = read_bytes(path, &size);
  cpli_names names;
  for (size_t n = 0; n < size; n += n < 128 ? 1 : 997) {
    char* part = malloc(n > 0 ? n : 1);
    memcpy(part, bytes, n);
    bool read = cpli_elf_exports(ctx, part, n, &names);
    CHECK(n > size / 2 || !read);  // its tables are at the end
    cpli_names_free(&names);
    free(part);
  }
  for (size_t i = 0; i < 64; i++) {
    char kept = bytes[i];
    bytes[i] = (char)0xff;
    cpli_elf_exports(ctx, bytes, size, &names);
    cpli_names_free(&names);
    bytes[i] = kept;
  }
  free(bytes);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lists_what_a_library_exports),
                                     cmocka_unit_test(lists_what_an_object_file_defines),
                                     cmocka_unit_test(survives_broken_libraries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
