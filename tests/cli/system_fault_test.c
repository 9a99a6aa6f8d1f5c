// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs of systems whose parts fail, crash, end the program or are not there: the importer gets a
// message that names the part, the call and the time. The importer is couplet, or this test, which
// has handlers of its own and unloads the FMU.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include "command.h"
#include "faults.h"
#include "fmi/headers/fmi2FunctionTypes.h"
#include "format/zip.h"

static const char exchange[] =
    "couplet: 1\nmodels:\n  left: {fmu: probe.fmu, as: me, start: {n: 100}}\n"
    "experiment: {stop: 2}\n";
static const char steps[] =
    "couplet: 1\nmodels:\n  left: {fmu: probe.fmu, as: cs}\nexperiment: {stop: 2}\n";
static const char alone[] =
    "couplet: 1\nmodels:\n  left: {fmu: probe.fmu, as: cs, isolate: true}\nexperiment: {stop: 2}\n";
static const char nested[] =
    "couplet: 1\nmodels:\n  box: {fmu: steps.fmu}\nexperiment: {stop: 2}\n";

static void build(const char* name, const char* text, const char* version) {
  char file[64], fmu[64];
  snprintf(file, sizeof file, "%s.yaml", name);
  snprintf(fmu, sizeof fmu, "%s.fmu", name);
  write_text(file, text);
  CHECK_CODE(0, "build", file, "-q", "--fmi", version, "-o", fmu);
}

static int begin(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  make_probes();
  build("exchange", exchange, "2");
  build("exchange3", exchange, "3");
  build("steps", steps, "2");
  build("steps3", steps, "3");
  build("alone", alone, "2");
  build("nested", nested, "3");
  return 0;
}

//------------------------------------ couplet imports ------------------------------------

static const struct {
  const char *kind, *how;
} kinds[] = {{"error", "returned fmi2Error"},
             {"segv", "crashed (SIGSEGV: invalid memory access)"},
             {"overflow", "crashed (SIGSEGV: invalid memory access)"},
             {"exit", "crashed (it called exit() or _exit() to end the whole program)"},
             {"quit", "crashed (it called exit() or _exit() to end the whole program)"}};

static void parts_are_named(void** state) {
  (void)state;
  static const struct {
    const char *file, *as, *function;
  } fmus[] = {{"exchange.fmu", "me", "fmi2GetDerivatives"},
              {"exchange.fmu", "cs", "fmi2SetTime"},
              {"exchange3.fmu", "me", "fmi2SetTime"},
              {"steps.fmu", "cs", "fmi2DoStep"},
              {"steps3.fmu", "cs", "fmi2DoStep"},
              {"alone.fmu", "cs", "fmi2DoStep"},
              {"nested.fmu", "cs", "fmi2DoStep"}};
  char head[64];
  for (size_t i = 0; i < sizeof fmus / sizeof *fmus; i++) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      provoke(fmus[i].function, 33, kinds[k].kind);
      CHECK_CODE(1, "run", fmus[i].file, "--as", fmus[i].as, "-q", "-o", "out.csv");
      snprintf(head, sizeof head, "left: %s at t=0", fmus[i].function);
      CHECK_CONTAINS(complained, head);
      CHECK_CONTAINS(complained, kinds[k].how);
    }
  }
}

// Every call of the right-hand side, so also those by which derivatives are approximated.
static void no_error_hides_another(void** state) {
  (void)state;
  for (int i = 3; i < 8; i++) {
    provoke("fmi2GetDerivatives", i, "error");
    CHECK_CODE(1, "run", "exchange.fmu", "--as", "cs", "-q", "-o", "out.csv");
    CHECK_CONTAINS(complained, "left: fmi2GetDerivatives at t=");
    CHECK_CODE(1, "run", "exchange.yaml", "-q", "-o", "out.csv");
    CHECK_CONTAINS(complained, "left: fmi2GetDerivatives at t=");
  }
}

static void calls_that_do_not_return(void** state) {
  (void)state;
  provoke("fmi2DoStep", 5, "hang");
  static const char part[] = "left: fmi2DoStep at t=0.016 was ended (the call had not returned)";
  CHECK_CODE(1, "run", "steps.fmu", "-q", "-o", "out.csv", "--call-timeout", "2");
  CHECK_CONTAINS(complained, "fmi2DoStep at t=0.016 did not return within 2 s");
  CHECK_CONTAINS(complained, part);
  CHECK_CODE(1, "run", "nested.fmu", "-q", "-o", "out.csv", "--call-timeout", "2");
  CHECK_CONTAINS(complained, part);
  CHECK_CONTAINS(complained, "box: fmi2DoStep at t=");
  CHECK_FAILS_WITH(1, "fmi2DoStep at t=0.016 did not return within 2 s", "run", "alone.fmu", "-q",
                   "-o", "out.csv", "--call-timeout", "2");
}

// More of them than there is room for variables of threads in the loader's fixed block.
static void many_at_once(void** state) {
  (void)state;
  enum { N = 40 };
  static char text[4096];
  size_t size, n = (size_t)snprintf(text, sizeof text, "couplet: 1\nmodels:\n");
  char* fmu = read_bytes("exchange.fmu", &size);
  for (int i = 0; i < N; i++) {
    char name[32];
    snprintf(name, sizeof name, "many%d.fmu", i);
    write_bytes(name, fmu, size);
    n += (size_t)snprintf(text + n, sizeof text - n, "  m%d: {fmu: %s, as: me}\n", i, name);
  }
  free(fmu);
  snprintf(text + n, sizeof text - n, "experiment: {stop: 0.1}\n");
  write_text("many.yaml", text);
  CHECK_CODE(0, "run", "many.yaml", "-q", "-o", "out.csv");
  provoke("fmi2GetDerivatives", 9, "segv");
  CHECK_CODE(1, "run", "many.yaml", "-q", "-o", "out.csv");
  CHECK_CONTAINS(complained, ": left: fmi2GetDerivatives at t=");
  CHECK_CONTAINS(complained, "crashed (SIGSEGV");
}

//------------------------------------ this program imports ------------------------------------

typedef struct importer {
  cpl_context* ctx;
  char folder[4096];
  void* library;
  char guid[64], uri[4200], heard[4096];
  fmi2InstantiateTYPE* instantiate;
  fmi2FreeInstanceTYPE* free_instance;
  fmi2SetupExperimentTYPE* setup;
  fmi2EnterInitializationModeTYPE* enter_init;
  fmi2ExitInitializationModeTYPE* exit_init;
  fmi2DoStepTYPE* do_step;
} importer;

static void hear(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status,
                 fmi2String category, fmi2String message, ...) {
  importer* im = environment;
  size_t n = strlen(im->heard);
  va_list args;
  (void)instance, (void)status, (void)category;
  va_start(args, message);
  n += (size_t)vsnprintf(im->heard + n, sizeof im->heard - n, message, args);
  va_end(args);
  if (n + 1 < sizeof im->heard) strcpy(im->heard + n, "\n");
}

static void import(importer* im, const char* fmu) {
  cpli_zip* zip = NULL;
  const char* prefixes[] = {""};
  char path[4200], here[4000], *xml = NULL;
  size_t size;
  use_folders();
  *im = (importer){.ctx = test_context()};
  assert_non_null(getcwd(here, sizeof here));
  snprintf(im->folder, sizeof im->folder, "%s/unpacked.%s", here, fmu);
  mkdir(im->folder, 0700);
  CHECK_OK(im->ctx, cpli_zip_open(im->ctx, fmu, NULL, &zip));
  CHECK_OK(im->ctx, cpli_zip_extract(zip, prefixes, 1, im->folder));
  CHECK_OK(im->ctx, cpli_zip_read(zip, "modelDescription.xml", 1 << 24, &xml, &size));
  cpli_zip_close(zip);
  const char* guid = strstr(xml, " guid=\"");
  CHECK(guid != NULL && sscanf(guid + 7, "%63[^\"]", im->guid) == 1);
  free(xml);
  snprintf(im->uri, sizeof im->uri, "file://%s/resources", im->folder);
  snprintf(path, sizeof path, "%s/binaries/linux64/system.so", im->folder);
  im->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (im->library == NULL) fail_msg("%s", dlerror());
  *(void**)&im->instantiate = dlsym(im->library, "fmi2Instantiate");
  *(void**)&im->free_instance = dlsym(im->library, "fmi2FreeInstance");
  *(void**)&im->setup = dlsym(im->library, "fmi2SetupExperiment");
  *(void**)&im->enter_init = dlsym(im->library, "fmi2EnterInitializationMode");
  *(void**)&im->exit_init = dlsym(im->library, "fmi2ExitInitializationMode");
  *(void**)&im->do_step = dlsym(im->library, "fmi2DoStep");
}

static void leave(importer* im) {
  CHECK_INT(dlclose(im->library), 0);
  char remove[4200];
  snprintf(remove, sizeof remove, "rm -rf '%s'", im->folder);
  CHECK_INT(system(remove), 0);
  cpl_context_destroy(im->ctx);
  CHECK(is_empty("tmp"));
}

// *callbacks are kept by the instance's caller, since FMI 2.0 says so.
static fmi2Component make(importer* im, const fmi2CallbackFunctions* callbacks) {
  im->heard[0] = '\0';
  return im->instantiate("whole", fmi2CoSimulation, im->guid, im->uri, callbacks, fmi2False,
                         fmi2True);
}

static void run_to(importer* im, fmi2Component c, int n, fmi2Status last) {
  CHECK_INT(im->setup(c, fmi2False, 0, 0, fmi2False, 0), fmi2OK);
  CHECK_INT(im->enter_init(c), fmi2OK);
  CHECK_INT(im->exit_init(c), fmi2OK);
  for (int i = 0; i < n; i++)
    CHECK_INT(im->do_step(c, 0.004 * i, 0.004, fmi2True), i + 1 < n ? fmi2OK : last);
}

static void crash_reaches_the_logger(void** state) {
  (void)state;
  importer im;
  fmi2CallbackFunctions callbacks = {hear, calloc, free, NULL, &im};
  import(&im, "steps.fmu");
  for (int i = 0; i < 2; i++) {  // another instance works afterwards
    fmi2Component c = make(&im, &callbacks);
    assert_non_null(c);
    setenv("PROBE_FAULT", i == 0 ? "fmi2DoStep:4:segv" : "none:1:none", 1);
    run_to(&im, c, i == 0 ? 4 : 9, i == 0 ? fmi2Error : fmi2OK);
    if (i == 0)
      CHECK_CONTAINS(im.heard,
                     "fmi2DoStep: left: fmi2DoStep at t=0.012 crashed (SIGSEGV: invalid memory "
                     "access)\n");
    im.free_instance(c);
  }
  leave(&im);
}

static void check_refused(importer* im, const char* why) {
  fmi2CallbackFunctions callbacks = {hear, calloc, free, NULL, im};
  assert_null(make(im, &callbacks));
  CHECK_CONTAINS(im->heard, "fmi2Instantiate: ");
  CHECK_CONTAINS(im->heard, why);
  CHECK(strchr(im->heard, '\n')[1] == '\0');
}

static void what_is_not_there(void** state) {
  (void)state;
  importer im;
  char path[4200], hidden[4300], good[4200];
  size_t size;
  import(&im, "steps.fmu");
  strcpy(good, im.uri);
  // the folder
  im.uri[0] = '\0';
  check_refused(&im, "gave no path of the resources");
  strcpy(im.uri, "file:///there/is/none");
  check_refused(&im, "/there/is/none/plan: No such file or directory");
  strcpy(im.uri, good);
  // the plan
  snprintf(path, sizeof path, "%s/resources/plan", im.folder);
  char* plan = read_bytes(path, &size);
  write_bytes(path, plan, size / 2);
  check_refused(&im, "it does not have all of its bytes");
  write_bytes(path, plan, 0);
  check_refused(&im, "these bytes are something else");
  plan[size / 2] ^= 1;
  write_bytes(path, plan, size);
  check_refused(&im, "the check sum does not match");
  plan[size / 2] ^= 1;
  plan[8] ^= 1;
  write_bytes(path, plan, size);
  check_refused(&im, "stored by another version of couplet");
  plan[8] ^= 1;
  importer other;
  import(&other, "alone.fmu");
  char of_other[4200];
  snprintf(of_other, sizeof of_other, "%s/resources/plan", other.folder);
  write_bytes(of_other, plan, size);
  check_refused(&other, "the GUID is not the one of this FMU");
  leave(&other);
  write_bytes(path, plan, size);
  free(plan);
  // the binary of a part
  snprintf(path, sizeof path, "%s/resources/fmus/probe.fmu/binaries/linux64/probe.so", im.folder);
  snprintf(hidden, sizeof hidden, "%s.gone", path);
  CHECK_INT(rename(path, hidden), 0);
  check_refused(&im, "resources/fmus/probe.fmu: binaries/linux64/probe.so is missing");
  CHECK_INT(rename(hidden, path), 0);
  // all is there again, in a folder of another name
  fmi2CallbackFunctions callbacks = {hear, calloc, free, NULL, &im};
  snprintf(path, sizeof path, "%s/resources", im.folder);
  snprintf(hidden, sizeof hidden, "%s/a b%%25\xc3\xbc", im.folder);
  CHECK_INT(rename(path, hidden), 0);
  snprintf(im.uri, sizeof im.uri, "file://localhost%s/a%%20b%%2525%%c3%%BC", im.folder);
  fmi2Component c = make(&im, &callbacks);
  if (c == NULL) fail_msg("%s", im.heard);
  im.free_instance(c);
  leave(&im);
}

// A bad file is bad input also in a run: exit code 2.
static void a_damaged_plan_is_bad_input(void** state) {
  (void)state;
  importer im;
  char path[4200];
  size_t size;
  import(&im, "alone.fmu");
  snprintf(path, sizeof path, "%s/resources/plan", im.folder);
  char* plan = read_bytes(path, &size);
  CHECK_CODE(0, "run", im.folder, "-q", "-o", "out.csv", "--stop", "0.1");
  plan[size / 2] ^= 1;
  write_bytes(path, plan, size);
  CHECK_CODE(2, "run", im.folder, "-q", "-o", "out.csv", "--stop", "0.1");
  CHECK_CONTAINS(complained, "the check sum does not match");
  free(plan);
  leave(&im);
}

//------------------------------------ nothing stays ------------------------------------

static int entries_of(const char* folder) {
  DIR* dir = opendir(folder);
  int n = 0;
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n;
}

// Made and freed, never initialised, and with all of a run. Threads of the instances get no arenas
// of their own, whose number depends on when they allocate; what the C library keeps for reuse
// varies, so the least memory of many instances is compared, without the first ones, after which
// memory that is allocated once is still missing.
static void instances_leave_nothing(void** state) {
  (void)state;
  importer im;
  fmi2CallbackFunctions callbacks = {hear, calloc, free, NULL, &im};
  size_t used[2] = {SIZE_MAX, SIZE_MAX};
  int files = 0, threads = 0, maps = 0;
  mallopt(M_ARENA_MAX, 1);
  import(&im, "steps.fmu");
  for (int i = 0; i < 200; i++) {
    fmi2Component c = make(&im, &callbacks);
    assert_non_null(c);
    if (i % 2 == 1) run_to(&im, c, 3, fmi2OK);
    im.free_instance(c);
    size_t now = mallinfo2().uordblks;
    if (i >= 10 && now < used[i / 100]) used[i / 100] = now;
    if (i == 9) {
      files = entries_of("/proc/self/fd");
      threads = entries_of("/proc/self/task");
      maps = entries_of("/proc/self/map_files");
    }
  }
  CHECK(used[1] <= used[0] + 512);  // 100 instances: not even 8 bytes each
  CHECK_INT(entries_of("/proc/self/fd"), files);
  CHECK_INT(entries_of("/proc/self/task"), threads);
  CHECK(entries_of("/proc/self/map_files") <= maps + 4);
  leave(&im);
}

static sigjmp_buf back;
static void* volatile where;
static volatile int handled;

static void own_handler(int signal, siginfo_t* info, void* machine) {
  (void)signal, (void)machine;
  where = info->si_addr;
  handled++;
  siglongjmp(back, 1);
}

// A program that lives with its crashes, as those do that run code of other languages.
static void crash_here(int times) {
  handled = 0;
  for (volatile int i = 0; i < times; i++) {
    if (sigsetjmp(back, 1) == 0) *(volatile int*)(uintptr_t)(64 + 8 * i) = 1;
    CHECK(where == (void*)(uintptr_t)(64 + 8 * i));
  }
  CHECK_INT(handled, times);
}

static void* thread_that_steps(void* user) {
  importer* im = user;
  fmi2CallbackFunctions callbacks = {hear, calloc, free, NULL, im};
  fmi2Component c = make(im, &callbacks);
  run_to(im, c, 3, fmi2OK);
  im->free_instance(c);
  return NULL;
}

// Two FMUs, freed in the order in which they were made: their handlers are on top of each other.
static void live_and_let_live(void) {
  importer im[2];
  fmi2CallbackFunctions callbacks[2];
  fmi2Component c[2];
  pthread_t thread;
  struct sigaction own = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO}, now;
  sigaction(SIGSEGV, &own, NULL);
  for (int i = 0; i < 2; i++) {
    import(&im[i], i == 0 ? "steps.fmu" : "exchange.fmu");
    callbacks[i] = (fmi2CallbackFunctions){hear, calloc, free, NULL, &im[i]};
    c[i] = make(&im[i], &callbacks[i]);
    assert_non_null(c[i]);
    crash_here(3);
  }
  setenv("PROBE_FAULT", "fmi2DoStep:3:segv", 1);  // of the one whose handler is below
  run_to(&im[0], c[0], 3, fmi2Error);
  CHECK_CONTAINS(im[0].heard, "left: fmi2DoStep at t=0.008 crashed");
  run_to(&im[1], c[1], 3, fmi2OK);
  crash_here(2);
  unsetenv("PROBE_FAULT");
  CHECK_INT(pthread_create(&thread, NULL, thread_that_steps, &im[1]), 0);
  pthread_join(thread, NULL);
  for (int i = 0; i < 2; i++) {
    im[i].free_instance(c[i]);
    crash_here(1);
    leave(&im[i]);
    crash_here(2);
  }
  pid_t pid = fork();
  if (pid == 0) exit(0);  // runs what was registered for the end of the program and for forks
  CHECK_INT(end_of(pid), 0);
  sigaction(SIGSEGV, NULL, &now);
  crash_here(2);
}

// A single one is gone without a trace.
static void one_alone(void) {
  importer im;
  struct sigaction own = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO}, now;
  sigaction(SIGSEGV, &own, NULL);
  import(&im, "steps.fmu");
  thread_that_steps(&im);
  sigaction(SIGSEGV, NULL, &now);
  CHECK(now.sa_sigaction == own_handler);
  char path[4200];
  snprintf(path, sizeof path, "%s/binaries/linux64/system.so", im.folder);
  leave(&im);
  CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
  crash_here(1);
}

static void unloaded(void** state) {
  (void)state;
  void (*const programs[])(void) = {live_and_let_live, one_alone};
  for (int i = 0; i < 2; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      programs[i]();
      exit(0);
    }
    CHECK_INT(end_of(pid), 0);
  }
}

//------------------------------------ only once ------------------------------------

static void only_once(void** state) {
  (void)state;
  char file[4096], changed[1 << 16];
  size_t size;
  snprintf(file, sizeof file, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* xml = read_bytes(file, &size);
  char* at = strstr(xml, "<CoSimulation ");
  assert_non_null(at);
  at += strlen("<CoSimulation ");
  snprintf(changed, sizeof changed, "%.*scanBeInstantiatedOnlyOncePerProcess=\"true\" %s",
           (int)(at - xml), xml, at);
  free(xml);
  make_probe("once.fmu", "probe", changed);
  build("single", "couplet: 1\nmodels:\n  left: {fmu: once.fmu, as: cs}\nexperiment: {stop: 1}\n",
        "2");
  write_text("twice.yaml",
             "couplet: 1\nmodels:\n  a: {fmu: single.fmu}\n  b: {fmu: single.fmu}\n"
             "  c: {fmu: steps.fmu}\n  d: {fmu: steps.fmu}\nexperiment: {stop: 1}\n");
  CHECK_CODE(0, "run", "twice.yaml", "-q", "-o", "out.csv");
  CHECK_CODE(0, "build", "twice.yaml", "-q", "-o", "twice.fmu");
  CHECK_CODE(0, "run", "twice.fmu", "-q", "-o", "out.csv");
  // an importer that does not know
  importer im;
  fmi2CallbackFunctions callbacks = {hear, calloc, free, NULL, &im};
  import(&im, "single.fmu");
  fmi2Component first = make(&im, &callbacks);
  assert_non_null(first);
  check_refused(&im, "once.fmu can be instantiated only once per process, and so can this FMU");
  im.free_instance(first);
  first = make(&im, &callbacks);
  assert_non_null(first);
  im.free_instance(first);
  leave(&im);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(parts_are_named, tear_down),
      cmocka_unit_test_teardown(no_error_hides_another, tear_down),
      cmocka_unit_test_teardown(calls_that_do_not_return, tear_down),
      cmocka_unit_test_teardown(many_at_once, tear_down),
      cmocka_unit_test_teardown(crash_reaches_the_logger, tear_down),
      cmocka_unit_test_teardown(what_is_not_there, tear_down),
      cmocka_unit_test_teardown(a_damaged_plan_is_bad_input, tear_down),
      cmocka_unit_test_teardown(instances_leave_nothing, tear_down),
      cmocka_unit_test_teardown(unloaded, tear_down),
      cmocka_unit_test_teardown(only_once, tear_down),
  };
  return cmocka_run_group_tests(tests, begin, NULL);
}
