// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/library.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "fmi/probe.h"

// A folder of our own, empty but for links to files of the probe: name, link, name, link, ... NULL.
static void make_fmu(probe_fmu* p, const char* folder, const char* const* links) {
  char from[4200], to[4200], path[4200];
  const char* below[] = {"", "/sources", "/binaries", "/binaries/linux64"};
  for (size_t i = 0; i < CPLI_COUNT(below); i++) {
    snprintf(path, sizeof path, "%s%s", folder, below[i]);
    mkdir(path, 0700);
  }
  for (; *links != NULL; links += 2) {
    snprintf(from, sizeof from, "%s/%s", p->folder, links[0]);
    snprintf(to, sizeof to, "%s/%s", folder, links[1]);
    unlink(to);
    CHECK_INT(symlink(from, to), 0);
  }
  snprintf(p->folder, sizeof p->folder, "%s", folder);
}

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void expect_failure(probe_fmu* p, cpl_status expected) {
  cpl_model* m = NULL;
  CHECK_INT(cpli_fmi2_make_model(&p->fmu.base, "left", &m), expected);
  CHECK(m == NULL);
}

static void missing_functions_are_named(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe_broken");
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(p.ctx),
            "probe.fmu: binaries/linux64/probe_broken.so does not export what a model "
            "exchange FMU needs: fmi2GetDerivatives");
  cpl_stepper* s = NULL;
  CHECK_INT(cpli_fmi2_make_stepper(&p.fmu.base, "left", &s), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(p.ctx), "what a co-simulation FMU needs: fmi2DoStep");
  probe_close(&p);
}

static void libraries_beside_the_binary_are_found(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe_family");
  cpl_model *a = probe_model(&p), *b = probe_model(&p);
  CHECK_INT(p.fmu.libraries->n_siblings, 2);
  CHECK_INT(p.fmu.libraries->users, 2);
  CHECK(cpli_library_symbol(p.fmu.libraries, "probe_use_sibling") != NULL);
  CHECK(cpli_library_symbol(p.fmu.libraries, "no_such_function") == NULL);
  a->base.ops->destroy(&a->base);
  b->base.ops->destroy(&b->base);
  probe_close(&p);
}

// Exported by this program, as a host linked to a shared SUNDIALS exports it to FMUs with their
// own.
__attribute__((visibility("default"))) int probe_interposed(void);
int probe_interposed(void) { return 2; }

static void the_host_does_not_interpose(void** state) {
  (void)state;
#if defined(CPL_SANITIZED)
  skip();  // the sanitizers need to
#endif
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  void* address = cpli_library_symbol(p.fmu.libraries, "probe_calls_interposed");
  int (*call)(void);
  memcpy(&call, &address, sizeof call);
  CHECK_INT(call(), 1);
  m->base.ops->destroy(&m->base);
  probe_close(&p);
}

static void missing_libraries_are_named(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe_family");
  const char* links[] = {"binaries/linux64/probe_family.so", "binaries/linux64/probe_family.so",
                         "binaries/linux64/probe_sibling.so", "binaries/linux64/probe_sibling.so",
                         NULL};
  make_fmu(&p, "orphan", links);
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(p.ctx),
                 "probe.fmu: cannot load binaries/linux64/probe_family.so: it needs the "
                 "library probe_cousin.so, which is not installed");
  probe_close(&p);
}

static void other_platforms_are_listed(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "absent");
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(p.ctx), "probe.fmu: binaries/linux64/absent.so is missing");
  const char* platforms[] = {"win32", "win64"};
  p.fmu.platforms = platforms;
  p.fmu.n_platforms = 2;
  expect_failure(&p, CPL_ERR_UNSUPPORTED);
  CHECK_STR(cpl_context_error(p.ctx),
            "probe.fmu: no binary for this platform (linux64) and no source code; there are "
            "binaries for: win32, win64");
  probe_close(&p);
}

static void files_that_are_no_library(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "text");
  const char* none[] = {NULL};
  make_fmu(&p, "text_fmu", none);
  write_file("text_fmu/binaries/linux64/text.so",
             "this is no library, but it is long enough "
             "to hold the header of one; or so it seems");
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(p.ctx),
                 "probe.fmu: cannot load binaries/linux64/text.so, "
                 "it is not a library for this machine: ");
  probe_close(&p);
}

static void start_up_code_that_crashes(void** state) {
  (void)state;
  probe_fmu p;
  cpl_guard_crashes();
  probe_open(&p, "probe_badstart");
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(p.ctx),
            "probe.fmu: cannot load binaries/linux64/probe_badstart.so: its start-up code "
            "crashed (SIGABRT: the code gave up)");
  probe_close(&p);
}

static void clean_up_code_that_crashes(void** state) {
  (void)state;
  pid_t pid = fork();  // at its exit the destructor would run again
  if (pid == 0) {
    probe_fmu p;
    cpl_guard_crashes();
    probe_open(&p, "probe_badend");
    cpl_model* m = probe_model(&p);
    m->base.ops->destroy(&m->base);
    _exit(strstr(p.logged, "the clean-up code of probe_badend.so crashed (SIGABRT") != NULL ? 0
                                                                                            : 1);
  }
  int status = 0;
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK_INT(status, 0);
}

// Compile the text as the only source of an FMU, named or not, and make a model of it.
static void compile(probe_fmu* p, const char* folder, const char* text, bool listed) {
  char path[4200];
  probe_open(p, "src");
  const char* none[] = {NULL};
  make_fmu(p, folder, none);
  snprintf(path, sizeof path, "%s/binaries/linux64/src.so", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/sources/all.c", folder);
  write_file(path, text);
  snprintf(path, sizeof path, "%s/sources/rubbish.c", folder);
  write_file(path, "not to be compiled");
  static const char* sources[] = {"all.c", "all.h"};
  p->fmu.has_sources = true;
  p->fmu.n_platforms = 0;
  if (!listed) return;
  p->fmu.me.source_files = sources;
  p->fmu.me.n_source_files = 2;
}

static void sources_are_compiled(void** state) {
  (void)state;
  // as they come; with the prefix the standard asks for; with a prefix that cannot be overridden
  static const char* const before[] = {
      "", "#define FMI2_FUNCTION_PREFIX src_\n",
      "#undef FMI2_OVERRIDE_FUNCTION_PREFIX\n#define FMI2_FUNCTION_PREFIX src_\n"};
  for (int i = 0; i < 3; i++) {
    char text[8192];
    snprintf(text, sizeof text, "%s#include \"%s\"\n", before[i],
             test_path("tests/fmi/probe_fmu.c"));
    probe_fmu p;
    compile(&p, "sources_fmu", text, i == 1);
    cpl_model* m = probe_model(&p);
    CHECK_OK(p.ctx, probe_init(&m->base));
    m->base.ops->destroy(&m->base);
    probe_close(&p);
  }
}

// An unpacked FMU is the user's own folder: what we compile does not go there.
static void unpacked_sources_stay_untouched(void** state) {
  (void)state;
  char text[8192];
  snprintf(text, sizeof text, "#include \"%s\"\n", test_path("tests/fmi/probe_fmu.c"));
  probe_fmu p;
  compile(&p, "unpacked_fmu", text, false);
  p.fmu.is_folder = true;
  cpl_model* m = probe_model(&p);
  CHECK(access("unpacked_fmu/binaries/linux64/src.so", F_OK) != 0);
  char made[4096];
  snprintf(made, sizeof made, "%s", p.fmu.libraries->path);
  CHECK(access(made, F_OK) == 0);
  m->base.ops->destroy(&m->base);
  CHECK(access(made, F_OK) != 0);
  probe_close(&p);
}

static void sources_that_do_not_compile(void** state) {
  (void)state;
  probe_fmu p;
  compile(&p, "sources_bad", "int f(void) { return surely_not_known; }\n", true);
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(p.ctx), "probe.fmu: there is no binary for linux64");
  CHECK_CONTAINS(cpl_context_error(p.ctx), "surely_not_known");
  setenv("CC", "no-such-compiler", 1);
  expect_failure(&p, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(p.ctx), "its source code");
  unsetenv("CC");
  probe_close(&p);
}

static void sources_that_are_listed_only(void** state) {
  (void)state;
  probe_fmu p;
  compile(&p, "sources_gone", "", true);
  unlink("sources_gone/sources/all.c");
  expect_failure(&p, CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(p.ctx),
                 "no binary for this platform (linux64), and of the source code sources/all.c is "
                 "listed but not there");
  probe_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_functions_are_named),
      cmocka_unit_test(libraries_beside_the_binary_are_found),
      cmocka_unit_test(the_host_does_not_interpose),
      cmocka_unit_test(missing_libraries_are_named),
      cmocka_unit_test(other_platforms_are_listed),
      cmocka_unit_test(files_that_are_no_library),
      cmocka_unit_test(sources_are_compiled),
      cmocka_unit_test(unpacked_sources_stay_untouched),
      cmocka_unit_test(sources_that_do_not_compile),
      cmocka_unit_test(sources_that_are_listed_only),
      cmocka_unit_test(clean_up_code_that_crashes),
      cmocka_unit_test(start_up_code_that_crashes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
