// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cache of compiled models: every model gets its own object, whoever else uses the cache and
// whatever is in it, and compilers get names as names.
#include "model/compiled.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

static char here[2048];

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

// A model whose start value tells it from others.
static void write_model(const char* path, int number) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "#include <couplet/model.h>\n"
      "static const cpl_declaration x[] = {{.name = \"x\", .start = %d}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) { dx[0] = %d * v->x[0]; return 0; }\n"
      "const cpl_model_def couplet_model = {.name = \"m%d\", .states = x, .derivatives = f};\n",
      number, -number, number);
  write_text(path, text);
}

// The number of the model that is opened under this name; < 0: a status.
static int number_of(cpl_context* ctx, const char* path) {
  cpl_source* source = NULL;
  cpl_status st = cpl_c_open(ctx, path, &source);
  if (st < 0) return (int)st;
  const int32_t x = cpl_find_variable(source->desc, "x");
  const int number = (int)source->desc->vars[x].start;
  const bool fits =
      strcmp(source->desc->name + 1, "") != 0 && atoi(source->desc->name + 1) == number;
  source->ops->destroy(source);
  return fits ? number : -1000;
}

static int count_in(const char* path) {
  DIR* dir = opendir(path);
  if (dir == NULL) return 0;
  int n = -2;
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n;
}

// An empty cache and an empty temporary folder.
static void use_fresh(const char* name) {
  char path[4096], line[4200];
  snprintf(line, sizeof line, "rm -rf '%s' tmp", name);
  CHECK_INT(system(line), 0);
  snprintf(path, sizeof path, "%s/%s", here, name);
  setenv("XDG_CACHE_HOME", path, 1);
  snprintf(path, sizeof path, "%s/tmp", here);
  mkdir(path, 0700);
  setenv("TMPDIR", path, 1);
}

static int set_up(void** state) {
  (void)state;
  assert_non_null(getcwd(here, sizeof here));
  return 0;
}

// The path of the only object in a cache.
static const char* only_object(const char* cache) {
  static char path[4096];
  DIR* dir = opendir(cache);
  assert_non_null(dir);
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
  }
  closedir(dir);
  CHECK_INT(count_in(cache), 1);
  return path;
}

//------------------------------------ many at a time ------------------------------------

enum { MODELS = 3, PROCESSES = 4, ROUNDS = 3 };

static bool open_some(int first) {
  cpl_context* ctx = test_context();
  bool fine = true;
  for (int i = 0; i < ROUNDS; i++) {
    char path[64];
    const int number = 1 + (first + i) % MODELS;
    snprintf(path, sizeof path, "many%d.c", number);
    const int got = number_of(ctx, path);
    if (got != number) printf("%s: %d: %s\n", path, got, cpl_context_error(ctx));
    fine = fine && got == number;
  }
  cpl_context_destroy(ctx);
  return fine;
}

// As in a container where it is process 1, if the system lets us.
static int in_container(int first) {
  if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
    return open_some(first) ? 0 : 1;
  const pid_t pid = fork();
  if (pid == 0) _exit(open_some(first) ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void* in_thread(void* user) { return open_some((int)(intptr_t)user) ? user : NULL; }

static void nobody_gets_the_model_of_another(void** state) {
  (void)state;
  use_fresh("many");
  for (int k = 1; k <= MODELS; k++) {
    char path[64];
    snprintf(path, sizeof path, "many%d.c", k);
    write_model(path, k);
  }
  pid_t pids[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    fflush(stdout);
    pids[i] = fork();
    if (pids[i] == 0) _exit(in_container(i));
  }
  pthread_t threads[2];
  for (intptr_t i = 0; i < 2; i++)
    CHECK_INT(pthread_create(&threads[i], NULL, in_thread, (void*)(i + 1)), 0);
  for (int i = 0; i < 2; i++) {
    void* fine = NULL;
    pthread_join(threads[i], &fine);
    CHECK(fine != NULL);
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = 0;
    CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
    CHECK_INT(status, 0);
  }
  CHECK(open_some(0));                          // and the cache stays right
  CHECK_INT(count_in("many/couplet"), MODELS);  // one object each, and nothing else
  CHECK_INT(count_in("tmp"), 0);
}

//------------------------------------ what is in the cache ------------------------------------

static void damaged_and_foreign_objects_are_made_anew(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char mine[4096], other[4096], line[9000];
  write_model("a.c", 3);
  write_model("b.c", 4);
  use_fresh("foreign");
  CHECK_INT(number_of(ctx, "b.c"), 4);
  snprintf(other, sizeof other, "%s", only_object("foreign/couplet"));
  use_fresh("damaged");
  CHECK_INT(number_of(ctx, "a.c"), 3);
  snprintf(mine, sizeof mine, "%s", only_object("damaged/couplet"));
  struct stat whole, now;
  CHECK_INT(stat(mine, &whole), 0);
  const off_t cuts[] = {0, whole.st_size / 2, whole.st_size - 1};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    CHECK_INT(truncate(mine, cuts[i]), 0);
    CHECK_INT(number_of(ctx, "a.c"), 3);
    CHECK(stat(mine, &now) == 0 && now.st_size == whole.st_size);
  }
  // a byte that changed
  FILE* f = fopen(mine, "r+b");
  fseek(f, 4000, SEEK_SET);
  const int c = fgetc(f);
  fseek(f, 4000, SEEK_SET);
  fputc(c ^ 1, f);
  fclose(f);
  CHECK_INT(number_of(ctx, "a.c"), 3);
  // the object of another model under this name
  snprintf(line, sizeof line, "cp '%s' '%s'", other, mine);
  CHECK_INT(system(line), 0);
  CHECK_INT(number_of(ctx, "a.c"), 3);
  only_object("damaged/couplet");
  cpl_context_destroy(ctx);
}

static void what_matters_is_part_of_the_key(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  use_fresh("keys");
  write_model("k.c", 5);
  CHECK_INT(number_of(ctx, "k.c"), 5);
  CHECK_INT(number_of(ctx, "k.c"), 5);
  CHECK_INT(count_in("keys/couplet"), 1);
  // a copy elsewhere, and another comment: the same
  mkdir("elsewhere", 0700);
  write_model("elsewhere/k.c", 5);
  FILE* f = fopen("elsewhere/k.c", "a");
  fputs("\n// no change\n", f);
  fclose(f);
  CHECK_INT(number_of(ctx, "elsewhere/k.c"), 5);
  CHECK_INT(count_in("keys/couplet"), 1);
  // another compiler, and one of the same name that was replaced
  write_text("cc.sh", "#!/bin/sh\nexec cc \"$@\"\n");
  CHECK_INT(chmod("cc.sh", 0700), 0);
  setenv("CC", "./cc.sh", 1);
  CHECK_INT(number_of(ctx, "k.c"), 5);
  CHECK_INT(count_in("keys/couplet"), 2);
  write_text("cc.sh", "#!/bin/sh\n# a new version\nexec cc \"$@\"\n");
  CHECK_INT(number_of(ctx, "k.c"), 5);
  CHECK_INT(count_in("keys/couplet"), 3);
  // an option more
  setenv("CC", "./cc.sh -O1", 1);
  CHECK_INT(number_of(ctx, "k.c"), 5);
  CHECK_INT(count_in("keys/couplet"), 4);
  unsetenv("CC");
  cpl_context_destroy(ctx);
}

// A file that changes while it is compiled: what counts is what was read once.
static void the_text_that_was_read_is_compiled(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  use_fresh("changing");
  write_model("first.c", 6);
  write_model("second.c", 7);
  // after it has preprocessed the file, this compiler puts another one in its place
  write_text("swap.sh",
             "#!/bin/sh\ncc \"$@\" || exit 1\n"
             "case \" $* \" in *' -E '*) cp second.c changing.c;; esac\n");
  CHECK_INT(chmod("swap.sh", 0700), 0);
  setenv("CC", "./swap.sh", 1);
  for (int i = 0; i < 2; i++) {
    CHECK_INT(system("cp first.c changing.c"), 0);
    CHECK_INT(number_of(ctx, "changing.c"), 6);
  }
  CHECK_INT(number_of(ctx, "changing.c"), 7);
  unsetenv("CC");
  cpl_context_destroy(ctx);
}

static void a_cache_that_others_can_write_is_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  use_fresh("open");
  write_model("o.c", 8);
  CHECK_INT(number_of(ctx, "o.c"), 8);
  static const mode_t modes[] = {0770, 0707, 0720};
  for (int i = 0; i < 3; i++) {
    CHECK_INT(chmod("open/couplet", modes[i]), 0);
    CHECK_INT(number_of(ctx, "o.c"), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), "open/couplet: others can write to this folder");
  }
  CHECK_INT(chmod("open/couplet", 0755), 0);
  CHECK_INT(number_of(ctx, "o.c"), 8);
  CHECK_INT(chmod("open", 0777), 0);  // there they could rename it
  CHECK_INT(number_of(ctx, "o.c"), CPL_ERR_INPUT);
  CHECK_INT(chmod("open", 01777), 0);
  CHECK_INT(number_of(ctx, "o.c"), 8);
  cpl_context_destroy(ctx);
}

//------------------------------------ compilers ------------------------------------

static void names_are_names(void** state) {
  (void)state;
  static const char* const names[] = {"-dash.c", "-o.c", "@file.c",     "a:b.c",
                                      "a b.c",   "$x.c", "quote\"s'.c", "-include.c"};
  cpl_context* ctx = test_context();
  use_fresh("names");
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
    write_model(names[i], 9);
    CHECK_INT(number_of(ctx, names[i]), 9);
    unlink(names[i]);
  }
  only_object("names/couplet");
  cpl_context_destroy(ctx);
}

static void compilers_of_several_words(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  use_fresh("words");
  write_model("w.c", 10);
  mkdir("blank dir", 0700);
  write_text("blank dir/c c", "#!/bin/sh\nexec cc \"$@\"\n");
  CHECK_INT(chmod("blank dir/c c", 0700), 0);
  static const char* const compilers[] = {"env cc", "  env \t cc -O1 ", "./blank dir/c c", "", " "};
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
    setenv("CC", compilers[i], 1);
    CHECK_INT(number_of(ctx, "w.c"), 10);
  }
  setenv("CC", "no-such-compiler at all", 1);
  CHECK_INT(number_of(ctx, "w.c"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no-such-compiler could not be started");
  unsetenv("CC");
  cpl_context_destroy(ctx);
}

static void how_a_compiler_ended_is_told(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  use_fresh("ended");
  write_model("e.c", 11);
  write_text("killed.sh", "#!/bin/sh\necho half a message\nkill -KILL $$\n");
  CHECK_INT(chmod("killed.sh", 0700), 0);
  setenv("CC", "./killed.sh", 1);
  CHECK_INT(number_of(ctx, "e.c"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "./killed.sh was ended by signal 9");
  CHECK_CONTAINS(cpl_context_error(ctx), "half a message");
  setenv("CC", "/bin/false", 1);
  CHECK_INT(number_of(ctx, "e.c"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "e.c could not be compiled: /bin/false ended with exit code 1 and no message");
  setenv("CC", "/bin/true", 1);
  CHECK_INT(number_of(ctx, "e.c"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "e.c could not be compiled: the compiler (/bin/true) succeeded, but has written "
            "nothing");
  unsetenv("CC");
  // programs that ignore the ends of their children
  write_text("wrong.c", "int f( {\n");
  signal(SIGCHLD, SIG_IGN);
  CHECK_INT(number_of(ctx, "wrong.c"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "wrong.c:1:8: error: ");
  CHECK_INT(number_of(ctx, "e.c"), 11);
  CHECK(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
  cpl_context_destroy(ctx);
}

// Without a place for a cache one is made in the temporary folder, never in the root folder.
static void an_empty_TMPDIR_is_no_place(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  use_fresh("places");
  write_model("p.c", 12);
  char* home = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "", 1);
  CHECK_INT(number_of(ctx, "p.c"), 12);
  CHECK_INT(count_in("tmp"), 1);
  setenv("TMPDIR", "", 1);
  CHECK_INT(number_of(ctx, "p.c"), 12);
  char path[64];
  snprintf(path, sizeof path, "/couplet-%u", (unsigned)getuid());
  CHECK(access(path, F_OK) != 0);
  if (home != NULL) setenv("HOME", home, 1);
  free(home);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_gets_the_model_of_another),
      cmocka_unit_test(damaged_and_foreign_objects_are_made_anew),
      cmocka_unit_test(what_matters_is_part_of_the_key),
      cmocka_unit_test(the_text_that_was_read_is_compiled),
      cmocka_unit_test(a_cache_that_others_can_write_is_refused),
      cmocka_unit_test(names_are_names),
      cmocka_unit_test(compilers_of_several_words),
      cmocka_unit_test(how_a_compiler_ended_is_told),
      cmocka_unit_test(an_empty_TMPDIR_is_no_place),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
