// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// docs/system-file.md: its example is a system whose names resolve, its fragments are read.
#include "base/base.h"
#include "system/definitions.h"
#include "system/resolve.h"

static char* manual(cpl_context* ctx) {
  char* text;
  size_t len;
  CHECK_OK(ctx, cpli_file_read(ctx, test_path("docs/system-file.md"), 1 << 20, &text, &len));
  return text;
}

// The next block between ``` lines of that language; *name is from "<!-- file: NAME -->" above.
static const char* next_block(const char* from, const char* language, char* name, size_t* len) {
  char fence[32];
  snprintf(fence, sizeof fence, "\n```%s\n", language);
  const char* at = strstr(from, fence);
  if (at == NULL) return NULL;
  const char* line = at;
  while (line > from && line[-1] != '\n') line--;
  name[0] = '\0';
  sscanf(line, "<!-- file: %63[^ ] -->", name);
  at += strlen(fence);
  const char* end = strstr(at, "\n```");
  assert_non_null(end);
  *len = (size_t)(end - at) + 1;
  return at;
}

// The example of the manual is the one in examples/.
static void check_example(cpl_context* ctx, const char* manual_text, const char* file,
                          const char* path) {
  char name[64] = "", *text;
  size_t len = 0, file_len;
  const char* at = manual_text;
  while (strcmp(name, file) != 0) {
    at = next_block(at + len, "yaml", name, &len);
    assert_non_null(at);
  }
  CHECK_OK(ctx, cpli_file_read(ctx, path, 1 << 20, &text, &file_len));
  CHECK_INT(len, file_len);
  CHECK(memcmp(at, text, len) == 0);
  cpli_free(ctx, text);
}

static void the_example_resolves(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char* text = manual(ctx);
  const char* path = test_path("examples/two_masses/two_masses.yaml");
  check_example(ctx, text, "two_masses.yaml", path);
  check_example(ctx, text, "steppers.yaml",
                test_path("examples/two_mass_cosimulation/steppers.yaml"));
  check_example(ctx, text, "displacements.yaml",
                test_path("examples/output_derivatives/displacements.yaml"));
  check_example(ctx, text, "pendulum_on_cart.yaml",
                test_path("examples/pendulum_on_cart/pendulum_on_cart.yaml"));
  cpl_system_def* def;
  CHECK_OK(ctx, cpl_system_def_read(ctx, path, &def));
  CHECK_INT(def->n_models, 2);
  CHECK_INT(def->n_events, 2);
  cpl_source* models[2];
  for (size_t i = 0; i < 2; i++)
    CHECK_OK(ctx, cpl_c_open(ctx, def->models[i].path.text, &models[i]));
  cpli_resolver r;
  cpli_links links;
  CHECK_OK(ctx, cpli_resolver_init(&r, ctx, def, (const cpl_source* const*)models));
  CHECK_OK(ctx, cpli_check_starts(&r));
  CHECK_OK(ctx, cpli_links_init(&links, &r));
  CHECK_INT(links.count, 2);
  for (size_t i = 0; i < def->n_events; i++) {
    cpli_ref ref;
    CHECK_OK(ctx, cpli_resolve_set(&r, &links, &def->events[i].sets[0].name, &ref));
  }
  for (size_t i = 0; i < def->n_record; i++) {
    cpli_ref ref;
    CHECK_OK(ctx, cpli_resolver_require(&r, &def->record[i], &ref));
  }
  cpli_links_free(&links);
  for (size_t i = 0; i < 2; i++) models[i]->ops->destroy(models[i]);
  cpl_system_def_destroy(def);
  cpli_free(ctx, text);
  cpl_context_destroy(ctx);
}

// The example of modes is the one in examples/, too.
static void the_example_of_modes_is_that_of_the_folder(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char *text = manual(ctx), name[64] = "", *file;
  size_t len, file_len;
  const char* at = text;
  while ((at = next_block(at, "yaml", name, &len)) != NULL) {
    if (strcmp(name, "breaking_pendulum.yaml") == 0) break;
    at += len;
  }
  assert_non_null(at);
  CHECK_OK(ctx, cpli_file_read(ctx, test_path("examples/breaking_pendulum/breaking_pendulum.yaml"),
                               1 << 20, &file, &file_len));
  CHECK_INT(len, file_len);
  CHECK(memcmp(at, file, len) == 0);
  cpli_free(ctx, file);
  cpli_free(ctx, text);
  cpl_context_destroy(ctx);
}

static void the_fragments_are_read(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char *text = manual(ctx), name[64], whole[4096];
  size_t len;
  int found = 0;
  for (const char* at = text; (at = next_block(at, "yaml", name, &len)) != NULL; at += len) {
    bool complete = name[0] != '\0', models = strncmp(at, "models:", 7) == 0;
    snprintf(whole, sizeof whole, "%s%s%.*s", complete ? "" : "couplet: 1\n",
             complete || models ? "" : "models: {left: {c: a.c}}\n", (int)len, at);
    cpl_system_def* def;
    CHECK_OK(ctx, read_as(ctx, "fragment.yaml", whole, &def));
    cpl_system_def_destroy(def);
    found++;
  }
  CHECK_INT(found, 17);
  cpli_free(ctx, text);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_example_resolves),
      cmocka_unit_test(the_example_of_modes_is_that_of_the_folder),
      cmocka_unit_test(the_fragments_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
