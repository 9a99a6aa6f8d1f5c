// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU that is opened from its image and its unpacked folder is the one that was opened from its
// files: all members of the description are the same, the same functions are called with the same
// arguments, and results have the same bytes. FMUs named in the command line are compared, too.
#include "fmi/image.h"

#include "archive.h"
#include "couplet/export.h"
#include "fmi/descriptions.h"
#include "fmi/drive.h"
#include "fmi/same_fmu.h"
#include "format/folder.h"
#include "format/zip.h"

static cpl_source* from_image(cpl_context* ctx, const cpl_source* source, const char* folder) {
  cpli_image image;
  cpl_source* again = NULL;
  CHECK_OK(ctx, cpli_fmu_write_image(ctx, (const cpl_fmu*)source, &image));
  unsigned char* copy = malloc(image.size);  // nothing may point into the bytes
  memcpy(copy, image.bytes, image.size);
  cpli_free(ctx, image.bytes);
  CHECK_OK(ctx, cpli_fmu_open_image(ctx, folder, copy, image.size, &again));
  memset(copy, 0x55, image.size);
  free(copy);
  return again;
}

//------------------------------------ runs ------------------------------------

// The bytes of all values of a run.
typedef struct recorded {
  const cpl_column* columns;
  size_t n_columns;
  char* bytes;
  size_t size;
  cpl_status st;
  char message[512];
} recorded;

static void append(recorded* r, const void* bytes, size_t n) {
  r->bytes = realloc(r->bytes, r->size + n);
  memcpy(r->bytes + r->size, bytes, n);
  r->size += n;
}

static cpl_status on_columns(void* user, const cpl_column* columns, size_t n) {
  recorded* r = user;
  r->columns = columns;
  r->n_columns = n;
  for (size_t i = 0; i < n; i++) append(r, columns[i].name, strlen(columns[i].name) + 1);
  return CPL_OK;
}

static cpl_status on_point(void* user, double t, const cpl_value* values) {
  recorded* r = user;
  append(r, &t, sizeof t);
  for (size_t i = 0; i < r->n_columns; i++) {
    if (r->columns[i].type == CPL_STRING || r->columns[i].type == CPL_BINARY)
      append(r, values[i].string, strlen(values[i].string) + 1);
    else append(r, &values[i], sizeof values[i]);
  }
  return CPL_OK;
}

static cpl_status make_stepper(cpl_source* source, bool as_model, cpl_stepper** out) {
  if (!as_model) return source->ops->make_stepper(source, "one", out);
  cpl_model* model = NULL;
  cpl_status st = source->ops->make_model(source, "one", &model);
  cpl_solver_def solver = cpl_default_solver_def();
  return st < 0 ? st : cpl_integrate(model, &solver, out);
}

static recorded run(cpl_context* ctx, cpl_source* source, bool as_model, FILE* calls) {
  recorded r = {0};
  cpl_stepper* stepper = NULL;
  cpl_fmu* fmu = (cpl_fmu*)source;
  const cpl_default_experiment* e = &source->desc->experiment;
  cpl_run_def def = cpl_default_run_def();
  def.start_time = e->has_start ? e->start : 0;
  def.stop_time = def.start_time + (e->has_stop && e->stop - e->start < 5 ? e->stop - e->start : 1);
  def.interval = (def.stop_time - def.start_time) / 20;
  def.on_columns = on_columns;
  def.on_point = on_point;
  def.user = &r;
  fmu->call_log = calls;
  fmu->shares_log = true;
  r.st = make_stepper(source, as_model, &stepper);
  if (r.st >= 0) r.st = cpl_run(stepper, &def, NULL);
  if (r.st < 0) snprintf(r.message, sizeof r.message, "%s", cpl_context_error(ctx));
  if (stepper != NULL) cpl_stepper_destroy(stepper);
  fmu->call_log = NULL;
  return r;
}

// What is a path of the folder is replaced, since an archive is unpacked elsewhere.
static char* without_folder(char* text, const char* folder) {
  for (char* at = strstr(text, folder); at != NULL && folder[0] != '\0'; at = strstr(at, folder)) {
    const size_t n = strlen(folder);
    *at = '@';
    memmove(at + 1, at + n, strlen(at + n) + 1);
  }
  return text;
}

static char* read_calls(const char* path, const cpl_source* source) {
  size_t n;
  char* text = read_bytes(path, &n);
  const cpl_fmu* fmu = (const cpl_fmu*)source;
  return without_folder(text, fmu->folder != NULL ? fmu->folder : "");
}

static void same_calls(const cpl_source* a, const cpl_source* b) {
  char *p = read_calls("calls_a.txt", a), *q = read_calls("calls_b.txt", b);
  CHECK(strlen(p) > 0);
  CHECK_STR(q, p);
  free(p);
  free(q);
}

static void same_run(cpl_context* ctx, cpl_source* a, cpl_source* b, bool as_model) {
  FILE *p = fopen("calls_a.txt", "w"), *q = fopen("calls_b.txt", "w");
  recorded r = run(ctx, a, as_model, p), s = run(ctx, b, as_model, q);
  fclose(p);
  fclose(q);
  if (r.st < 0) fail_msg("%s", r.message);
  if (r.st != s.st) fail_msg("%s; from the image: %s", r.message, s.message);
  CHECK(r.size == s.size && (r.size == 0 || memcmp(r.bytes, s.bytes, r.size) == 0));
  same_calls(a, b);
  free(r.bytes);
  free(s.bytes);
}

// Compares one FMU with that of its image.
static void compare(cpl_context* ctx, cpl_source* source, const char* folder) {
  cpl_source* again = from_image(ctx, source, folder);
  same_fmu((const cpl_fmu*)source, (const cpl_fmu*)again);
  CHECK_STR(again->ops->kind, source->ops->kind);
  CHECK(again->once_per_process == source->once_per_process);
  CHECK((again->ops->make_model != NULL) == (source->ops->make_model != NULL));
  CHECK((again->ops->make_stepper != NULL) == (source->ops->make_stepper != NULL));
  if (source->ops->make_model != NULL) same_run(ctx, source, again, true);
  if (source->ops->make_stepper != NULL) same_run(ctx, source, again, false);
  again->ops->destroy(again);
}

static void compare_archive(cpl_context* ctx, const char* path, const char* folder) {
  const char* prefixes[] = {"binaries/", "resources/", "modelDescription.xml"};
  cpli_zip* zip = NULL;
  cpl_source* source = NULL;
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  mkdir(folder, 0700);
  CHECK_OK(ctx, cpli_zip_open(ctx, path, NULL, &zip));
  CHECK_OK(ctx, cpli_zip_extract(zip, prefixes, CPLI_COUNT(prefixes), folder));
  cpli_zip_close(zip);
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &source));
  compare(ctx, source, folder);
  source->ops->destroy(source);
}

//------------------------------------ tests ------------------------------------

// The test FMUs: what stands behind the name of their folder.
static const char* const probes[] = {"", "1_me", "1_cs", "3", "_se", "_sampler"};

static void test_probes(void** state) {
  cpl_context* ctx = *state;
  for (size_t i = 0; i < CPLI_COUNT(probes); i++) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s%s", getenv("COUPLET_PROBE"), probes[i]);
    cpl_fmu_def def = cpl_default_fmu_def();
    cpl_source* source = NULL;
    def.path = folder;
    CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &source));
    compare(ctx, source, folder);
    source->ops->destroy(source);
  }
}

// A program without XML, archives and the compiler calls the same functions.
static void test_without_the_rest_of_the_library(void** state) {
  cpl_context* ctx = *state;
  for (size_t i = 0; i < CPLI_COUNT(probes); i++) {
    char folder[4096], command[9000];
    snprintf(folder, sizeof folder, "%s%s", getenv("COUPLET_PROBE"), probes[i]);
    cpl_fmu_def def = cpl_default_fmu_def();
    cpl_source* source = NULL;
    cpli_image image;
    def.path = folder;
    CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &source));
    CHECK_OK(ctx, cpli_fmu_write_image(ctx, (const cpl_fmu*)source, &image));
    write_bytes("image", (const char*)image.bytes, image.size);
    cpli_free(ctx, image.bytes);
    FILE* calls = fopen("calls_a.txt", "w");
    CHECK_OK(ctx, drive(source, calls));
    fclose(calls);
    snprintf(command, sizeof command, "'%s' '%s' image > calls_b.txt", getenv("COUPLET_ONLY_CALLS"),
             folder);
    CHECK_INT(system(command), 0);
    same_calls(source, source);
    source->ops->destroy(source);
  }
}

// Structural parameters that were given when the FMU was opened determine the sizes of its arrays.
static void test_structural_parameters(void** state) {
  cpl_context* ctx = *state;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s3", getenv("COUPLET_PROBE"));
  const cpl_start starts[] = {{"m", "5"}};
  cpl_fmu_def def = cpl_default_fmu_def();
  cpl_source* source = NULL;
  def.path = folder;
  def.starts = starts;
  def.n_starts = 1;
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &source));
  CHECK_INT(((const cpl_fmu*)source)->n_starts, 1);
  compare(ctx, source, folder);
  source->ops->destroy(source);
}

// Models with constraints, residuals, events, strings and arrays.
static void test_built_models(void** state) {
  static const struct {
    const char* model;
    int version;
  } models[] = {{"examples/dae/pendulum.c", 3},
                {"examples/pendulums_cartesian/pendulum.c", 2},
                {"examples/types/types.c", 3},
                {"examples/bouncing_ball/bouncing_ball.c", 2}};
  cpl_context* ctx = *state;
  for (size_t i = 0; i < CPLI_COUNT(models); i++) {
    cpl_build_def def = cpl_default_build_def();
    char folder[32];
    snprintf(folder, sizeof folder, "built%zu", i);
    def.model = test_path(models[i].model);
    def.fmi_version = models[i].version;
    def.output = "model.fmu";
    CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
    compare_archive(ctx, "model.fmu", folder);
  }
}

// Descriptions that use every element and attribute of their version.
static void test_every_element(void** state) {
  static const char* const files[] = {"tests/fuzz/corpus/xml/fmi1.xml",
                                      "tests/fuzz/corpus/xml/fmi3.xml", NULL};
  cpl_context* ctx = *state;
  for (size_t i = 0; i < CPLI_COUNT(files); i++) {
    size_t size = sizeof everything_xml;
    char* text = files[i] != NULL ? read_bytes(test_path(files[i]), &size) : NULL;
    const char* xml = text != NULL ? text + 1 : everything_xml;
    cpl_fmu* fmu = cpli_fmu_create(ctx, "made", sizeof *fmu);
    fmu->platform = "linux64";
    CHECK_OK(ctx, cpli_fmu_parse(fmu, "made", xml, strlen(xml)));
    cpl_source* again = from_image(ctx, &fmu->base, "nowhere");
    same_fmu(fmu, (const cpl_fmu*)again);
    // there are no files
    cpl_stepper* stepper = NULL;
    if (again->ops->make_stepper != NULL)
      CHECK(again->ops->make_stepper(again, "x", &stepper) < 0 && stepper == NULL);
    again->ops->destroy(again);
    cpli_fmu_destroy(&fmu->base);
    free(text);
  }
}

// Source code is not compiled.
static void test_missing_binary(void** state) {
  cpl_context* ctx = *state;
  const archive_entry entries[] = {{.name = "modelDescription.xml", .text = everything_xml},
                                   {.name = "sources/a.c", .text = "int x;"},
                                   {.name = "binaries/win64/every_me.dll", .text = "MZ"},
                                   {0}};
  make_archive("every.fmu", entries);
  cpl_fmu_def def = cpl_default_fmu_def();
  cpl_source* source = NULL;
  def.path = "every.fmu";
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &source));
  mkdir("empty", 0700);
  cpl_source* again = from_image(ctx, source, "empty");
  cpl_model* model = NULL;
  CHECK_INT(again->ops->make_model(again, "x", &model), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "no source code that could be compiled here");
  CHECK_CONTAINS(cpl_context_error(ctx), "win64");
  again->ops->destroy(again);
  source->ops->destroy(source);
}

// An image of an FMU with another number at `index` is refused.
static void refused(cpl_context* ctx, const cpl_fmu* fmu, const void* index, int32_t value,
                    const char* what) {
  cpli_image image;
  cpl_source* source = NULL;
  int32_t before;
  memcpy(&before, index, sizeof before);
  memcpy((void*)index, &value, sizeof value);
  CHECK_OK(ctx, cpli_fmu_write_image(ctx, fmu, &image));
  memcpy((void*)index, &before, sizeof before);
  CHECK_INT(cpli_fmu_open_image(ctx, "nowhere", image.bytes, image.size, &source), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), what);
  CHECK(source == NULL);
  cpli_free(ctx, image.bytes);
}

static void test_impossible_indices(void** state) {
  cpl_context* ctx = *state;
  size_t size;
  char* text = read_bytes(test_path("tests/fuzz/corpus/xml/fmi3.xml"), &size);
  cpl_fmu* fmu = cpli_fmu_create(ctx, "made", sizeof *fmu);
  fmu->platform = "linux64";
  CHECK_OK(ctx, cpli_fmu_parse(fmu, "made", text + 1, size - 1));
  const int32_t n = fmu->desc.n_vars;
  refused(ctx, fmu, &fmu->version, 4, "the version");
  refused(ctx, fmu, &fmu->me.max_constraints, -1, "a kind");
  refused(ctx, fmu, &fmu->slots[0].element, fmu->slots[0].count, "a reference");
  refused(ctx, fmu, &fmu->slots[0].element, -1, "a reference");
  refused(ctx, fmu, &fmu->desc.vars[n - 1].ref, (int32_t)fmu->n_slots, "a reference");
  CHECK(fmu->n_clocks > 0 && fmu->n_clocked > 0 && fmu->n_extras > 0);
  refused(ctx, fmu, &fmu->clocks[0].var, n, "a clock");
  refused(ctx, fmu, &fmu->clocks[0].ref, (int32_t)fmu->n_slots, "a clock");
  refused(ctx, fmu, &fmu->clocked[0].var, -1, "a clock");
  refused(ctx, fmu, &fmu->clocked[0].clock, fmu->n_clocks, "a clock");
  refused(ctx, fmu, &fmu->extras[0].var, n, "a clock");
  refused(ctx, fmu, &fmu->extras[0].previous, -2, "a clock");
  fmu->dae.present = true;
  refused(ctx, fmu, &fmu->dae.enable, n, "a residual");
  refused(ctx, fmu, &fmu->dae.n_residuals, -1, "a residual");
  cpli_fmu_destroy(&fmu->base);
  free(text);
}

static void test_every_failed_allocation(void** state) {
  cpl_context* plain = *state;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s3", getenv("COUPLET_PROBE"));
  cpl_fmu_def def = cpl_default_fmu_def();
  cpl_source* source = NULL;
  cpli_image image;
  def.path = folder;
  CHECK_OK(plain, cpl_fmu_open(plain, &def, &source));
  CHECK_OK(plain, cpli_fmu_write_image(plain, (const cpl_fmu*)source, &image));
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_source* again = NULL;
    heap.fail_at = heap.calls + n;
    cpl_status st = cpli_fmu_open_image(ctx, folder, image.bytes, image.size, &again);
    CHECK(st == CPL_OK || (st == CPL_ERR_NOMEM && again == NULL));
    if (again != NULL) again->ops->destroy(again);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
  }
  cpli_free(plain, image.bytes);
  source->ops->destroy(source);
}

static char** given;

static void test_given_files(void** state) {
  for (int i = 0; given[i] != NULL; i++) {
    char folder[32];
    snprintf(folder, sizeof folder, "given%d", i);
    print_message("%s\n", given[i]);
    compare_archive(*state, given[i], folder);
  }
}

int main(int argc, char** argv) {
  (void)argc;
  given = argv + 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_probes),
      cmocka_unit_test(test_without_the_rest_of_the_library),
      cmocka_unit_test(test_structural_parameters),
      cmocka_unit_test(test_built_models),
      cmocka_unit_test(test_every_element),
      cmocka_unit_test(test_missing_binary),
      cmocka_unit_test(test_impossible_indices),
      cmocka_unit_test(test_every_failed_allocation),
      cmocka_unit_test(test_given_files),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
