// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Delay lines across processes: the same results to the byte, and every fault ends with its
// message, without a process or a file that is left.
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "command.h"

static const char mass[] =
    MODEL("mass",
          "#include <poll.h>\n#include <stdio.h>\n"
          "static const cpl_declaration x[] = {{.name = \"x\", .output = 1}, {.name = \"v\", "
          ".output = 1}, {0}};\n"
          "static const cpl_declaration u[] = {{.name = \"F\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"m\", .start = 1}, {.name = \"slow\"}, "
          "{0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = v->x[1];\n"
          "  dx[1] = v->u[0] / v->p[0];\n"
          "  if (v->p[1] > 0 && v->t > v->p[1]) {\n"  // it stalls, and says so
          "    FILE* f = fopen(\"stalls\", \"w\");\n"
          "    if (f != NULL) fclose(f);\n"
          "    for (volatile int i = 0; i == 0;) poll(NULL, 0, 1);\n"  // as in live_test.c
          "  }\n"
          "  return 0;\n"
          "}",
          ".states = x, .inputs = u, .parameters = p, .derivatives = f, .stop_time = 0.1");

#define SYSTEM(stop)                                                            \
  "couplet: 1\nname: masses\nmodels:\n  left: {c: mass.c, start: {v: 1}}\n"     \
  "  right: {c: mass.c}\ninterfaces:\n"                                         \
  "  left.end: {kind: translational, position: x, speed: v, force: F}\n"        \
  "  right.end: {kind: translational, position: x, speed: v, force: F}\n"       \
  "tlm:\n  - {from: left.end, to: right.end, delay: 1e-3, Zf: 1, alpha: 0.1}\n" \
  "experiment: {stop: " stop ", interval: 0.01, rtol: 1e-8}\n"

static int set_up(void** state) {
  (void)state;
  const char* const old[] = {"left.join", "right.join", "observer.join", "arguments.txt",
                             "different.yaml"};
  for (int i = 0; i < 5; i++) unlink(old[i]);
  write_text("mass.c", mass);
  write_text("masses.yaml", SYSTEM("0.1"));
  write_text("long.yaml", SYSTEM("1e6"));
  return 0;
}

static bool exists(const char* path) { return access(path, F_OK) == 0; }

static void check_nothing_left(void) {
  static const char* const files[] = {"left.join", "right.join", "observer.join"};
  for (int i = 0; i < 3; i++) {
    if (exists(files[i])) fail_msg("%s is left", files[i]);
  }
}

//------------------------------------ commands beside each other
//------------------------------------

typedef struct command {
  pid_t pid;
  char err[64];
} command;

static command begin(const char* name, const char* const* args) {
  command c;
  char out[64];
  snprintf(c.err, sizeof c.err, "%s.err", name);
  snprintf(out, sizeof out, "%s.out", name);
  int o = create(out), e = create(c.err);
  c.pid = start_couplet(args, o, e);
  close(o);
  close(e);
  return c;
}
#define BEGIN(name, ...) begin(name, (const char* const[]){__VA_ARGS__, NULL})

static int finish(const command* c) {
  int code = end_of(c->pid);
  read_text(c->err, complained, sizeof complained);
  return code;
}

static void wait_for_file(const char* path) {
  for (int i = 0; i < 6000 && !exists(path); i++) pause_s(0.01);
  CHECK(exists(path));
}

static void wait_for_rows(const char* path, int n) {
  for (int i = 0; i < 6000 && (!exists(path) || count_rows(path) < n); i++) pause_s(0.01);
  CHECK(count_rows(path) >= n);
}

// The process that runs a part: the child of `parent` that has the join file.
static pid_t find_child(pid_t parent, const char* file) {
  char path[300], text[4096];
  DIR* dir = opendir("/proc");
  pid_t found = 0;
  for (struct dirent* e; found == 0 && (e = readdir(dir)) != NULL;) {
    int ppid = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
    FILE* f = fopen(path, "r");
    if (f == NULL) continue;
    if (fscanf(f, "%*d (%*[^)]) %*c %d", &ppid) != 1) ppid = 0;
    fclose(f);
    if (ppid != parent) continue;
    snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
    f = fopen(path, "r");
    if (f == NULL) continue;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    for (size_t i = 0; i < n; i++) text[i] = text[i] == '\0' ? ' ' : text[i];
    if (strstr(text, file) != NULL) found = (pid_t)atoi(e->d_name);
  }
  closedir(dir);
  return found;
}

static bool is_gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

//------------------------------------ results ------------------------------------

static void results_are_the_same(void** state) {
  (void)state;
  char example[4096];
  snprintf(example, sizeof example, "%s/examples/tlm_drive_train/tlm_drive_train.yaml",
           getenv("COUPLET_SOURCE_DIR"));
  const char* const files[] = {"masses.yaml", example};
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(0, "run", files[i], "-o", "threads.csv", "--stop-time", "0.2");
    CHECK_CODE(0, "run", files[i], "-o", "processes.csv", "--stop-time", "0.2", "--processes");
    CHECK_CODE(0, "tlm", "serve", files[i], "--local", "-o", "served.csv", "--stop-time", "0.2");
    CHECK(count_rows("served.csv") > 20);
    check_same_files("threads.csv", "processes.csv");
    check_same_files("threads.csv", "served.csv");
  }
  check_nothing_left();
}

static void settings_come_from_the_manager(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "masses.yaml", "-o", "a.csv", "--solver", "rk4", "--set", "left.m=2",
             "--record", "*");
  CHECK_CODE(0, "tlm", "serve", "masses.yaml", "--local", "-o", "b.csv", "--solver", "rk4", "--set",
             "left.m=2", "--record", "*");
  check_same_files("a.csv", "b.csv");
  CHECK_CODE(0, "run", "masses.yaml", "-o", "a.csv", "--solver", "left=radau");
  CHECK_CODE(0, "tlm", "serve", "masses.yaml", "--local", "-o", "c.csv", "--solver", "left=radau");
  check_same_files("a.csv", "c.csv");
}

static void joined_by_hand_and_watched(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "masses.yaml", "-o", "a.csv");
  command serve = BEGIN("serve", "tlm", "serve", "masses.yaml", "--start-limit", "60", "-o",
                        "b.csv", "--start-limit", "60", "--watch-interval", "0");
  wait_for_file("observer.join");
  struct stat info;
  CHECK(stat("left.join", &info) == 0 && (info.st_mode & 0777) == 0600);
  command watch =
      BEGIN("watch", "tlm", "watch", "--key-file", "observer.join", "--only", "left.*", "-o", "-");
  pause_s(0.3);  // whoever comes late misses the beginning
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join", "masses.yaml");
  command right = BEGIN("right", "tlm", "join", "--key-file", "right.join");
  CHECK_INT(finish(&left), 0);
  CHECK_INT(finish(&right), 0);
  CHECK_INT(finish(&serve), 0);
  CHECK_CONTAINS(complained, "serve: tcp://127.0.0.1:");
  CHECK_CONTAINS(complained, "serve: waiting for left, right");
  check_same_files("a.csv", "b.csv");
  CHECK_INT(finish(&watch), 0);
  CHECK_CONTAINS(text_of("watch.out"), "time,interface,x,y,z,v1");
  CHECK_CONTAINS(text_of("watch.out"), ",left.end,");
  CHECK(strstr(text_of("watch.out"), "right.end") == NULL);
  // what it saw at the end is what was recorded there: time, interface, x
  CHECK(strncmp(last_row("watch.out"), "0.1,left.end,", 13) == 0);
  CHECK_NEAR(last_value("watch.out", 2), last_value("b.csv", 1), 1e-8);
  check_nothing_left();
}

static void one_comes_again(void** state) {
  (void)state;
  command serve = BEGIN("serve", "tlm", "serve", "masses.yaml", "--start-limit", "60", "-o",
                        "b.csv", "--run", "right");
  wait_for_file("observer.join");
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join", "different.yaml");
  finish(&left);  // there is no such file
  left = BEGIN("left", "tlm", "join", "--key-file", "left.join");
  CHECK_INT(finish(&left), 0);
  CHECK_INT(finish(&serve), 0);
  CHECK_CONTAINS(complained, "serve: waiting for left");
  CHECK_CODE(0, "run", "masses.yaml", "-o", "a.csv");
  check_same_files("a.csv", "b.csv");
  CHECK_FAILS_WITH(2, "--run lefft: there is no such sub-model", "tlm", "serve", "masses.yaml",
                   "--run", "lefft");
  check_nothing_left();
}

//------------------------------------ sub-models that fail ------------------------------------

static void one_is_killed(void** state) {
  (void)state;
  unlink("killed.csv");
  command serve = BEGIN("serve", "tlm", "serve", "long.yaml", "--local", "-o", "killed.csv");
  wait_for_rows("killed.csv", 1);
  pid_t right = find_child(serve.pid, "right.join"), left = find_child(serve.pid, "left.join");
  CHECK(right > 0 && left > 0);
  kill(right, SIGKILL);
  CHECK_INT(finish(&serve), 1);
  CHECK(strncmp(complained, "couplet: right: at t=", 21) == 0);
  CHECK_CONTAINS(complained, "its process has ended, or the connection to it was lost\n");
  CHECK(is_gone(left) && is_gone(right));
  CHECK(count_rows("killed.csv") >= 1);
  check_nothing_left();
}

static void one_stalls(void** state) {
  (void)state;
  command serve = BEGIN("serve", "tlm", "serve", "long.yaml", "--local", "-o", "stalled.csv",
                        "--call-timeout", "2", "--set", "right.slow=0.055");
  CHECK_INT(finish(&serve), 1);
  CHECK(strncmp(complained, "couplet: right: at t=0.05", 25) == 0);
  CHECK_CONTAINS(complained, "no message from it for 2 s (--call-timeout)\n");
  CHECK_INT(count_rows("stalled.csv"), 6);
  CHECK_NEAR(last_value("stalled.csv", 0), 0.05, 1e-12);
  check_nothing_left();
}

// Ctrl-C leaves a model that does not return, also where it has joined.
static void one_stalls_and_is_interrupted(void** state) {
  (void)state;
  unlink("stalls");
  command serve = BEGIN("serve", "tlm", "serve", "masses.yaml", "--set", "right.slow=0.045", "-o",
                        "stalled.csv", "--start-limit", "60");
  wait_for_file("observer.join");
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join");
  command right = BEGIN("right", "tlm", "join", "--key-file", "right.join");
  wait_for_file("stalls");
  kill(right.pid, SIGINT);
  CHECK_INT(finish(&right), 1);
  CHECK_INT(finish(&left), 1);
  CHECK_INT(finish(&serve), 1);
  CHECK_CONTAINS(complained, "couplet: right: at t=0.04");
  CHECK_CONTAINS(complained, "interrupted inside derivatives at t=0.04");
  check_nothing_left();
}

static void one_fails_by_itself(void** state) {
  (void)state;
  write_text("bad.c", MODEL("bad",
                            "static const cpl_declaration x[] = {{.name = \"v\", .output = 1}, "
                            "{0}};\n"
                            "static const cpl_declaration u[] = {{.name = \"F\"}, {0}};\n"
                            "static int f(const cpl_values* v, double* dx) {\n"
                            "  dx[0] = v->u[0];\n"
                            "  if (v->t > 0.035) *(volatile int*)0 = 1;\n"
                            "  return 0;\n}",
                            ".states = x, .inputs = u, .derivatives = f"));
  write_text("bad.yaml",
             "couplet: 1\nmodels: {left: {c: mass.c}, right: {c: bad.c}}\ninterfaces:\n"
             "  left.end: {kind: translational, speed: v, force: F}\n"
             "  right.end: {kind: translational, speed: v, force: F}\n"
             "tlm: [{from: left.end, to: right.end, delay: 1e-3, Zf: 1}]\n"
             "experiment: {stop: 1, interval: 0.01}\n");
  CHECK_FAILS_WITH(1, "right", "tlm", "serve", "bad.yaml", "--local", "-o", "bad.csv");
  CHECK_CONTAINS(complained, "right: at t=0.03");
  CHECK_NEAR(last_value("bad.csv", 0), 0.03, 1e-12);
  check_nothing_left();
}

static void a_model_that_ends_the_run(void** state) {
  (void)state;
  write_text("stop.c", MODEL("stop",
                             "static const cpl_declaration x[] = {{.name = \"v\", .output = 1}, "
                             "{0}};\n"
                             "static const cpl_declaration u[] = {{.name = \"F\"}, {0}};\n"
                             "static int f(const cpl_values* v, double* dx) {\n"
                             "  dx[0] = 1 + v->u[0];\n  return 0;\n}\n"
                             "static int z(const cpl_values* v, double* zz) {\n"
                             "  zz[0] = v->x[0] - 0.04;\n  return 0;\n}\n"
                             "static int e(const cpl_values* v, cpl_event_actions* ev) {\n"
                             "  if (v->x[0] >= 0.04) ev->terminate = 1;\n  return 0;\n}",
                             ".states = x, .inputs = u, .derivatives = f, .n_indicators = 1, "
                             ".indicators = z, .event = e"));
  write_text("stop.yaml",
             "couplet: 1\nmodels: {left: {c: mass.c}, right: {c: stop.c}, far: {c: mass.c}}\n"
             "interfaces:\n  left.end: {kind: translational, speed: v, force: F}\n"
             "  right.end: {kind: translational, speed: v, force: F}\n"
             "  far.in: {kind: signal, value: F}\n  left.out: {kind: signal, value: v}\n"
             "tlm: [{from: left.end, to: right.end, delay: 1e-3, Zf: 1},\n"
             "  {from: left.out, to: far.in, delay: 2e-3}]\n"
             "experiment: {stop: 1, interval: 0.01}\n");
  CHECK_CODE(0, "run", "stop.yaml", "-o", "a.csv", "--record", "*");
  CHECK(last_value("a.csv", 0) < 0.2);
  CHECK_CODE(0, "tlm", "serve", "stop.yaml", "--local", "-o", "b.csv", "--record", "*");
  check_same_files("a.csv", "b.csv");
}

//------------------------------------ keys ------------------------------------

static const char* line_of(const char* file, const char* key) {
  static char line[256];
  char text[8192];
  read_text(file, text, sizeof text);
  const char* at = strstr(text, key);
  assert_non_null(at);
  at += strlen(key);
  snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
  return line;
}

// A copy of a join file in which what follows `key` is something else.
static void forge(const char* from, const char* to, const char* key, const char* value) {
  char text[8192], out[8192];
  read_text(from, text, sizeof text);
  char* at = strstr(text, key);
  assert_non_null(at);
  at += strlen(key);
  snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, value, strchr(at, '\n'));
  write_text(to, out);
}

static void strangers_stay_outside(void** state) {
  (void)state;
  command serve =
      BEGIN("serve", "tlm", "serve", "masses.yaml", "--start-limit", "60", "-o", "b.csv");
  wait_for_file("observer.join");
  // the key of another run
  command other = BEGIN("other", "tlm", "serve", "masses.yaml", "--start-limit", "60",
                        "--join-folder", "other/run", "--force");
  wait_for_file("other/run/observer.join");
  forge("other/run/left.join", "a.join", "address ", line_of("left.join", "address "));
  forge("a.join", "b.join", "server-key ", line_of("left.join", "server-key "));
  forge("b.join", "wrong.join", "session ", line_of("left.join", "session "));
  kill(other.pid, SIGTERM);
  CHECK_INT(finish(&other), 1);
  CHECK_FAILS_WITH(2, "the manager does not know the key", "tlm", "join", "--key-file",
                   "wrong.join");
  // the key of left, as right
  forge("left.join", "wrong.join", "sub-model ", "right");
  CHECK_FAILS_WITH(2, "the key is that of left and does not permit joining as right", "tlm", "join",
                   "--key-file", "wrong.join");
  // an observer cannot join, a sub-model cannot watch
  CHECK_FAILS_WITH(2, "this is the file of an observer", "tlm", "join", "--key-file",
                   "observer.join");
  CHECK_FAILS_WITH(2, "this is the join file of left; an observer needs observer.join", "tlm",
                   "watch", "--key-file", "left.join");
  forge("observer.join", "a.join", "address ", line_of("left.join", "address "));
  forge("a.join", "wrong.join", "sub-model ", "left");
  CHECK_FAILS_WITH(2, "the manager does not know the key", "tlm", "join", "--key-file",
                   "wrong.join");
  forge("left.join", "a.join", "address ", line_of("observer.join", "address "));
  forge("a.join", "wrong.join", "sub-model ", "observer");
  CHECK_FAILS_WITH(2, "the manager does not know the key", "tlm", "watch", "--key-file",
                   "wrong.join");
  // addresses that ZeroMQ would understand, and keys that are none
  forge("left.join", "wrong.join", "address ", "ipc:///tmp/somewhere");
  CHECK_FAILS_WITH(2, "this is not an address of the form tcp://HOST:PORT", "tlm", "join",
                   "--key-file", "wrong.join");
  forge("left.join", "wrong.join", "secret-key ", "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~");
  CHECK_FAILS_WITH(2, "a key is damaged", "tlm", "join", "--key-file", "wrong.join");
  // another system file
  write_text("different.yaml",
             "couplet: 1\nname: masses\nmodels:\n  left: {c: mass.c, start: {v: 2}}\n"
             "  right: {c: mass.c}\ninterfaces:\n"
             "  left.end: {kind: translational, position: x, speed: v, force: F}\n"
             "  right.end: {kind: translational, position: x, speed: v, force: F}\n"
             "tlm:\n  - {from: left.end, to: right.end, delay: 1e-3, Zf: 1, alpha: 0.1}\n");
  CHECK_FAILS_WITH(2, "differs from those of the manager", "tlm", "join", "--key-file", "left.join",
                   "different.yaml");
  // nobody was disturbed by all that
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join");
  command right = BEGIN("right", "tlm", "join", "--key-file", "right.join");
  CHECK_INT(finish(&left), 0);
  CHECK_INT(finish(&right), 0);
  CHECK_INT(finish(&serve), 0);
  CHECK_CONTAINS(complained, "the key does not belong to this run");
  CHECK_CODE(0, "run", "masses.yaml", "-o", "a.csv");
  check_same_files("a.csv", "b.csv");
  check_nothing_left();
}

//------------------------------------ the port ------------------------------------

static int port_of(const char* file) {
  char text[4096];
  read_text(file, text, sizeof text);
  const char* at = strstr(text, "tcp://127.0.0.1:");
  assert_non_null(at);
  return atoi(at + 16);
}

static int connect_to(int port) {
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr*)&to, sizeof to) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static void garbage_and_a_thousand_connects(void** state) {
  (void)state;
  enum { MANY = 1000 };
  static int fds[MANY];
  char garbage[3000];
  int open = 0;
  command serve =
      BEGIN("serve", "tlm", "serve", "masses.yaml", "--start-limit", "60", "-o", "b.csv");
  wait_for_file("observer.join");
  int port = port_of("left.join");
  for (size_t i = 0; i < sizeof garbage; i++) garbage[i] = (char)(i * 7919 >> 3);
  for (int i = 0; i < MANY; i++) {
    fds[i] = connect_to(port);
    open += fds[i] >= 0;
    if (fds[i] >= 0 && i % 3 == 0 &&
        send(fds[i], garbage + i, (size_t)i + 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
      errno = 0;  // it may have hung up already
    if (fds[i] >= 0 && i % 3 == 1) close(fds[i]);
  }
  CHECK(open > MANY / 2);
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join");
  command right = BEGIN("right", "tlm", "join", "--key-file", "right.join");
  CHECK_INT(finish(&left), 0);
  CHECK_INT(finish(&right), 0);
  CHECK_INT(finish(&serve), 0);
  for (int i = 0; i < MANY; i++) {
    if (fds[i] >= 0 && i % 3 != 1) close(fds[i]);
  }
  CHECK_CODE(0, "run", "masses.yaml", "-o", "a.csv");
  check_same_files("a.csv", "b.csv");
  check_nothing_left();
}

// Events of connections that fail must not pile up anywhere: ZeroMQ stands still at some 2000.
static void strangers_at_the_door_of_observers(void** state) {
  (void)state;
  command serve =
      BEGIN("serve", "tlm", "serve", "masses.yaml", "--start-limit", "60", "-o", "b.csv");
  wait_for_file("observer.join");
  int port = port_of("observer.join");
  for (int i = 0; i < 2500; i++) {
    int fd = connect_to(port);
    CHECK(fd >= 0);
    if (send(fd, "who is there", 12, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) errno = 0;
    close(fd);
  }
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join", "--start-limit", "60");
  command right = BEGIN("right", "tlm", "join", "--key-file", "right.join", "--start-limit", "60");
  CHECK_INT(finish(&left), 0);
  CHECK_INT(finish(&right), 0);
  CHECK_INT(finish(&serve), 0);
  check_nothing_left();
}

static void port_in_use(void** state) {
  (void)state;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof at;
  char address[64], expected[128];
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(fd, (struct sockaddr*)&at, sizeof at) == 0 && listen(fd, 1) == 0);
  CHECK(getsockname(fd, (struct sockaddr*)&at, &n) == 0);
  snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(at.sin_port));
  snprintf(expected, sizeof expected, "cannot listen at %s: Address already in use", address);
  CHECK_FAILS_WITH(2, expected, "tlm", "serve", "masses.yaml", "--local", "--address", address);
  close(fd);
  CHECK_FAILS(2, "127.0.0.1:99999: 99999 is not a port", "tlm", "serve", "masses.yaml", "--address",
              "127.0.0.1:99999");
  CHECK_FAILS(2, "::1: an IPv6 address is written in brackets, as in [::1]:4711", "tlm", "serve",
              "masses.yaml", "--address", "::1");
  CHECK_FAILS_WITH(2, "300.1.1.1 is not an address", "tlm", "serve", "masses.yaml", "--address",
                   "300.1.1.1");
  CHECK_CODE(0, "tlm", "serve", "masses.yaml", "--local", "--address", "localhost");
  check_nothing_left();
}

static void nobody_comes(void** state) {
  (void)state;
  CHECK_CODE(1, "tlm", "serve", "masses.yaml", "-q", "--start-limit", "0.2");
  CHECK_STR(complained,
            "couplet: masses: after 0.2 s these sub-models have not joined: left, right\n");
  check_nothing_left();
}

static void join_files_are_not_overwritten(void** state) {
  (void)state;
  write_text("right.join", "something\n");
  CHECK_FAILS_WITH(2, "right.join exists already", "tlm", "serve", "masses.yaml", "--local");
  CHECK(!exists("left.join"));
  CHECK_STR(text_of("right.join"), "something\n");
  CHECK_CODE(0, "tlm", "serve", "masses.yaml", "--local", "--force");
  check_nothing_left();
  CHECK_FAILS_WITH(2, "it has no tlm lines", "tlm", "serve", "mass.c");
  CHECK_FAILS_WITH(2, "--processes: the sub-models run elsewhere", "tlm", "serve", "masses.yaml",
                   "--processes");
  CHECK_FAILS_WITH(2, "is no join file", "tlm", "join", "--key-file", "masses.yaml");
  CHECK_FAILS_WITH(2, "--key-file", "tlm", "join");
}

static void the_manager_is_killed(void** state) {
  (void)state;
  unlink("lost.csv");
  command serve = BEGIN("serve", "tlm", "serve", "long.yaml", "--local", "-o", "lost.csv");
  wait_for_rows("lost.csv", 1);
  pid_t right = find_child(serve.pid, "right.join");
  kill(serve.pid, SIGKILL);
  CHECK_INT(finish(&serve), -SIGKILL);
  for (int i = 0; i < 6000 && !is_gone(right); i++) pause_s(0.01);
  CHECK(is_gone(right));
  unlink("left.join"), unlink("right.join"), unlink("observer.join");
}

static void interrupted(void** state) {
  (void)state;
  unlink("broken.csv");
  command serve = BEGIN("serve", "tlm", "serve", "long.yaml", "--local", "-o", "broken.csv");
  wait_for_rows("broken.csv", 1);
  kill(serve.pid, SIGINT);
  CHECK_INT(finish(&serve), 1);
  CHECK_CONTAINS(complained, "couplet: masses: interrupted at t=");
  check_nothing_left();
}

// One that only sends never waits for anybody, but hears when it is over.
static void one_that_never_waits(void** state) {
  (void)state;
  write_text("ahead.yaml",
             "couplet: 1\nmodels: {left: {c: mass.c}, right: {c: mass.c}}\ninterfaces:\n"
             "  left.out: {kind: signal, value: v}\n  right.in: {kind: signal, value: F}\n"
             "tlm: [{from: left.out, to: right.in, delay: 1e-3}]\n"
             "experiment: {stop: 1e6, interval: 1e6}\n");
  command serve = BEGIN("serve", "tlm", "serve", "ahead.yaml", "-o", "ahead.csv");
  wait_for_file("observer.join");
  command left = BEGIN("left", "tlm", "join", "--key-file", "left.join", "--listen", "0.0.0.0");
  command right = BEGIN("right", "tlm", "join", "--key-file", "right.join");
  wait_for_rows("ahead.csv", 1);
  pause_s(0.3);
  kill(serve.pid, SIGINT);
  CHECK_INT(finish(&serve), 1);
  CHECK_INT(finish(&left), 1);
  CHECK_CONTAINS(complained, "left: the manager ended the run: ");
  CHECK_INT(finish(&right), 1);
  check_nothing_left();
}

//------------------------------------ start commands ------------------------------------

#define COMPOSITE(command)                                                               \
  "<Model Name=\"pair\"><SubModels>\n"                                                   \
  "<SubModel Name=\"left\" StartCommand=\"" command                                      \
  "\" ExactStep=\"0\" "                                                                  \
  "ModelFile=\"mass.c\"><InterfacePoint Name=\"end\"/></SubModel>\n"                     \
  "<SubModel Name=\"right\" StartCommand=\"StartTLMFmiWrapper\" ExactStep=\"0\" "        \
  "ModelFile=\"mass.c\"><InterfacePoint Name=\"end\"/></SubModel>\n</SubModels>\n"       \
  "<Connections><Connection From=\"left.end\" To=\"right.end\" Delay=\"1e-3\" Zf=\"1\" " \
  "Zfr=\"1\" alpha=\"0\"/></Connections>\n"                                              \
  "<SimulationParams ManagerPort=\"%d\" StartTime=\"0\" StopTime=\"0.05\"/></Model>\n"

static int free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(fd, (struct sockaddr*)&at, sizeof at) == 0);
  CHECK(getsockname(fd, (struct sockaddr*)&at, &n) == 0);
  close(fd);
  return ntohs(at.sin_port);
}

static void commands_are_started_where_allowed(void** state) {
  (void)state;
  char xml[8192], script[4096];
  int port = free_port();
  snprintf(script, sizeof script,
           "#!/bin/sh\necho \"$@\" > arguments.txt\n"
           "exec '%s' tlm join --key-file \"$COUPLET_JOIN\"\n",
           getenv("COUPLET"));
  write_text("start.sh", script);
  chmod("start.sh", 0700);
  write_text("fmi.config",
             "name, end\ndimensions, 1\ncausality, Bidirectional\n"
             "domain, Mechanical\nposition, 0\nspeed, 1\nforce, 2\n");
  snprintf(xml, sizeof xml, COMPOSITE("./start.sh -v"), port);
  write_text("pair.xml", xml);
  CHECK_FAILS_WITH(2, "couplet tlm serve --allow-command ./start.sh starts it", "run", "pair.xml");
  CHECK_FAILS_WITH(2,
                   "the start command of sub-model left is \"./start.sh -v\": no program is "
                   "started unless you allow it with --allow-command ./start.sh",
                   "tlm", "serve", "pair.xml", "--local");
  CHECK(!exists("arguments.txt"));
  CHECK_CODE(0, "tlm", "serve", "pair.xml", "--local", "--allow-command", "./start.sh", "-o",
             "b.csv");
  char expected[512], got[512];
  snprintf(expected, sizeof expected,
           "-v left 0 0.050000000000000003 0.00050000000000000001 "
           "127.0.0.1:%d mass.c\n",
           port);
  read_text("arguments.txt", got, sizeof got);
  CHECK_STR(got, expected);
  // exactly that program, wherever blanks are, and it must be there
  snprintf(xml, sizeof xml, COMPOSITE(" ./start.shell"), port);
  write_text("pair.xml", xml);
  CHECK_FAILS_WITH(2, "unless you allow it with --allow-command ./start.shell", "tlm", "serve",
                   "pair.xml", "--local", "--allow-command", "./start.sh", "--allow-command", "");
  CHECK_CODE(2, "tlm", "serve", "pair.xml", "--local", "--allow-command", "./start.shell");
  CHECK_CONTAINS(complained, "couplet: left: its start command could not be run\n");
  snprintf(xml, sizeof xml, COMPOSITE("StartTLMFmiWrapper"), port);
  write_text("pair.xml", xml);
  CHECK_CODE(0, "run", "pair.xml", "-o", "a.csv");
  check_same_files("a.csv", "b.csv");
  check_nothing_left();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_the_same),
      cmocka_unit_test(settings_come_from_the_manager),
      cmocka_unit_test(joined_by_hand_and_watched),
      cmocka_unit_test(one_comes_again),
      cmocka_unit_test(one_is_killed),
      cmocka_unit_test(one_stalls),
      cmocka_unit_test(one_stalls_and_is_interrupted),
      cmocka_unit_test(one_fails_by_itself),
      cmocka_unit_test(a_model_that_ends_the_run),
      cmocka_unit_test(strangers_stay_outside),
      cmocka_unit_test(garbage_and_a_thousand_connects),
      cmocka_unit_test(strangers_at_the_door_of_observers),
      cmocka_unit_test(port_in_use),
      cmocka_unit_test(nobody_comes),
      cmocka_unit_test(join_files_are_not_overwritten),
      cmocka_unit_test(the_manager_is_killed),
      cmocka_unit_test(interrupted),
      cmocka_unit_test(one_that_never_waits),
      cmocka_unit_test(commands_are_started_where_allowed),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
