// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The options of `couplet tlm serve`, the processes it starts for sub-models (couplet tlm join, or
// the permitted start commands of a composite model), and the callbacks of the manager. The verb
// itself is in run.c.
#include "tlm_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "interrupt.h"

#define AT(member) offsetof(serve_args, member)
const cli_option serve_options[] = {
    {"address", 0, "HOST[:PORT]",
     "the endpoint to listen on; default: 127.0.0.1 at the ManagerPort of a composite model or any "
     "free port",
     CLI_TEXT, AT(address)},
    {"watch-address", 0, "HOST[:PORT]",
     "the endpoint for observers; default: any free port at the same host", CLI_TEXT,
     AT(watch_address)},
    {"join-folder", 0, "DIR",
     "the folder of join files, created if missing; default: the current folder", CLI_TEXT,
     AT(join_folder)},
    {"force", 0, NULL, "overwrite existing join files", CLI_FLAG, AT(force)},
    {"local", 0, NULL, "start couplet tlm join for every sub-model on this machine", CLI_FLAG,
     AT(local)},
    {"run", 0, "NAME", "start couplet tlm join for this sub-model only; may be repeated", CLI_LIST,
     AT(run)},
    {"allow-command", 0, "NAME",
     "start sub-models of a composite model whose start command is NAME; may be repeated", CLI_LIST,
     AT(allow_command)},
    {"start-limit", 0, "SECONDS", "time limit for all sub-models to join; default 600", CLI_NUMBER,
     AT(start_limit)},
    {"watch-interval", 0, "SECONDS", "minimum time between messages to observers; default 0.1",
     CLI_NUMBER, AT(watch_interval)},
    {0},
};

const char serve_text[] =
    "Manages a system with tlm lines whose sub-models run in other processes. It writes one join "
    "file per sub-model, NAME.join. With that and the files of the system, couplet tlm join "
    "--key-file NAME.join FILE runs the sub-model on this machine or another one. With "
    "observer.join, couplet tlm watch shows the interfaces. When all sub-models have joined they "
    "connect to each other and the run begins; results are those of couplet run FILE, to the byte. "
    "The join files are removed at the end. A sub-model that is silent for --call-timeout "
    "(default 60 s) ends the run.\n\n"
    "  couplet tlm serve drive.yaml --address 192.168.1.7:4711 --join-folder keys\n"
    "  couplet tlm serve drive.yaml --local";

//------------------------------------ programs ------------------------------------

enum { NOT_STARTED = 127 };  // the exit code of shells, too, for a program that is not there

typedef struct child {
  pid_t pid;  // 0: it has ended
  char name[256];
  int status;
} child;

// Started with an argument list, never by a shell.
static cpl_status start(serving* s, const char* name, const char* const* argv,
                        const char* join_file) {
  child* c = &s->children[s->n_children];
  snprintf(c->name, sizeof c->name, "%s", name);
  pid_t parent = getpid();
  char* variable = cpli_printf(s->ctx, "COUPLET_JOIN=%s", join_file);
  if (variable == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  c->pid = fork();
  if (c->pid == 0) {
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, 0);
    putenv(variable);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(NOT_STARTED);
    execvp(argv[0], (char* const*)argv);
    _exit(NOT_STARTED);
  }
  cpli_free(s->ctx, variable);
  if (c->pid < 0)
    return cpl_fail(s->ctx, CPL_ERR_CONNECTION, "%s could not be started: %s", argv[0],
                    strerror(errno));
  s->n_children++;
  return CPL_OK;
}

static bool has_ended(child* c) {
  if (c->pid != 0 && waitpid(c->pid, &c->status, WNOHANG) != 0) c->pid = 0;
  return c->pid == 0;
}

static cpl_status start_join(serving* s, const char* part, const char* file) {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) return cpl_fail(s->ctx, CPL_ERR_CONNECTION, "/proc/self/exe: %s", strerror(errno));
  self[n] = '\0';
  const char* argv[] = {self, "tlm",     "join",        "--key-file", file, "--start-limit",
                        "60", "--quiet", "--log-level", "error",      "--", s->path,
                        NULL};
  return start(s, part, argv, file);
}

//------------------------------------ start commands ------------------------------------

static bool is_listed(const cli_list* list, const char* text, size_t n) {
  for (size_t i = 0; i < list->n; i++) {
    if (strlen(list->items[i]) == n && strncmp(list->items[i], text, n) == 0) return true;
  }
  return false;
}

// Half of the shortest delay of its lines, as in the TLM framework.
static double longest_step(const serving* s, const char* model) {
  double delay = (double)INFINITY;
  size_t n = strlen(model);
  for (int32_t i = 0; i < cpl_system_line_count(s->source); i++) {
    cpl_system_line l = cpl_system_line_at(s->source, i);
    for (int k = 0; k < 2; k++) {
      if (strncmp(l.ends[k], model, n) == 0 && l.ends[k][n] == '.')
        delay = fmin(delay, l.line.delay);
    }
  }
  return 0.5 * delay;
}

// command words..., name, start, stop, longest step, server:port, model file
static cpl_status start_command(serving* s, const cpl_member_info* member, const char* file) {
  enum { WORDS = 32 };
  char text[1024], numbers[3][32];
  const char* argv[WORDS + 7];
  size_t n = 0;
  int length = snprintf(text, sizeof text, "%s", member->command);
  char *rest = text, *word = strtok_r(rest, " \t", &rest);
  for (; word != NULL && n < WORDS; word = strtok_r(NULL, " \t", &rest)) argv[n++] = word;
  if (word != NULL || (size_t)length >= sizeof text)
    return cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED,
                    "the start command of sub-model %s is too long: at most %d words and %zu bytes",
                    member->name, WORDS, sizeof text - 1);
  snprintf(numbers[0], sizeof numbers[0], "%.17g", s->start);
  snprintf(numbers[1], sizeof numbers[1], "%.17g", s->stop);
  snprintf(numbers[2], sizeof numbers[2], "%.17g", longest_step(s, member->name));
  const char* server = strncmp(s->at, "tcp://", 6) == 0 ? s->at + 6 : s->at;
  const char* arguments[] = {member->name, numbers[0],   numbers[1], numbers[2],
                             server,       member->path, NULL};
  memcpy(&argv[n], arguments, sizeof arguments);
  return start(s, member->name, argv, file);
}

static bool has_command(const serving* s, const char* part, cpl_member_info* out) {
  for (size_t i = 0; cpl_system_def_member(cpl_system_definition(s->source), i, out); i++) {
    if (out->command != NULL && strcmp(out->name, part) == 0) return true;
  }
  return false;
}

static cpl_status check_commands(const serving* s) {
  cpl_member_info m;
  for (size_t i = 0; cpl_system_def_member(cpl_system_definition(s->source), i, &m); i++) {
    if (m.command == NULL) continue;
    const char* program = m.command + strspn(m.command, " \t");
    size_t n = strcspn(program, " \t");
    if (is_listed(&s->args->allow_command, program, n)) continue;
    return cpl_fail(s->ctx, CPL_ERR_UNSUPPORTED,
                    "%s: the start command of sub-model %s is \"%s\": no program is started "
                    "unless you allow it with --allow-command %.*s",
                    s->path, m.name, m.command, (int)n, program);
  }
  return CPL_OK;
}

//------------------------------------ callbacks of the manager ------------------------------------

static cpl_status on_ready(void* user, const char* const* parts, int32_t n, const char* address) {
  serving* s = user;
  cpl_status st = CPL_OK;
  snprintf(s->at, sizeof s->at, "%s", address);
  s->n_parts = (size_t)n;
  s->children = calloc((size_t)n + 1, sizeof *s->children);
  if (s->children == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t k = 0; k < s->args->run.n; k++) {
    const char* name = s->args->run.items[k];
    int32_t i = 0;
    while (i < n && strcmp(parts[i], name) != 0) i++;
    if (i == n)
      return cpl_fail(s->ctx, CPL_ERR_INPUT, "--run %s: there is no such sub-model", name);
  }
  for (int32_t i = 0; i < n && st >= 0; i++) {
    char file[4096];
    cpl_member_info m;
    if (!cpl_tlm_join_file(s->def.folder, parts[i], file, sizeof file)) continue;
    if (has_command(s, parts[i], &m)) st = start_command(s, &m, file);
    else if (s->args->local || is_listed(&s->args->run, parts[i], strlen(parts[i])))
      st = start_join(s, parts[i], file);
  }
  if (st >= 0 && !s->quiet && s->n_children < s->n_parts)
    fprintf(stderr, "serve: %s; join files are in %s\n", address, s->def.folder);
  return st;
}

static cpl_status on_waiting(void* user, const char* missing, double seconds) {
  serving* s = user;
  for (size_t i = 0; i < s->n_children; i++) {
    child* c = &s->children[i];
    if (!has_ended(c)) continue;
    if (WIFSIGNALED(c->status))
      return cpl_fail(s->ctx, CPL_ERR_MODEL,
                      "%s: before the start: its process was ended by signal %d", c->name,
                      WTERMSIG(c->status));
    if (WEXITSTATUS(c->status) == NOT_STARTED)
      return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: its start command could not be run", c->name);
    return cpl_fail(s->ctx, CPL_ERR_MODEL,
                    "%s: before the start: its process ended with exit code %d", c->name,
                    WEXITSTATUS(c->status));
  }
  if (!s->quiet && s->n_children < s->n_parts && (s->said == 0 || seconds - s->said >= 10)) {
    fprintf(stderr, "serve: waiting for ");
    cli_print_safe(stderr, missing);
    fprintf(stderr, " (%.0f s)\n", seconds);
    s->said = fmax(seconds, 1e-3);
  }
  return CPL_OK;
}

//------------------------------------ begin and end ------------------------------------

static void choose_address(serving* s) {
  const char* given = s->args->address;
  int port = cpl_system_def_manager_port(cpl_system_definition(s->source));
  s->def.address = given;
  if (given == NULL && port > 0) snprintf(s->address, sizeof s->address, "127.0.0.1:%d", port);
  else if (given != NULL && given[0] == ':' && strrchr(given, ':') == given)
    snprintf(s->address, sizeof s->address, "127.0.0.1%s", given);
  if (s->address[0] != '\0') s->def.address = s->address;
}

cpl_status serving_begin(serving* s, double call_timeout) {
  const serve_args* a = s->args;
  s->def = cpl_default_tlm_serve_def();
  if (cpl_system_line_count(s->source) == 0)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: it has no tlm lines", s->path);
  cpl_status st = check_commands(s);
  if (st < 0) return st;
  choose_address(s);
  if (realpath(s->path, s->system) != NULL) s->def.system = s->system;
  if (a->join_folder != NULL) s->def.folder = a->join_folder;
  if (!isnan(a->start_limit)) s->def.start_limit = a->start_limit;
  if (!isnan(a->watch_interval)) s->def.watch_interval = a->watch_interval;
  if (!isnan(call_timeout)) s->def.call_timeout = call_timeout;
  s->def.watch_address = a->watch_address;
  s->def.overwrite = a->force;
  s->def.on_ready = on_ready;
  s->def.on_waiting = on_waiting;
  s->def.user = s;
  return CPL_OK;
}

void serving_end(serving* s) {
  const double patience = cli_interrupted ? 0.25 : 1, since = cpli_now();
  for (size_t i = 0; i < s->n_children && cli_interrupted; i++) {
    if (!has_ended(&s->children[i])) kill(s->children[i].pid, SIGTERM);
  }
  for (size_t i = 0; i < s->n_children; i++) {
    child* c = &s->children[i];
    while (!has_ended(c) && cpli_now() - since < patience) usleep(2000);
    if (c->pid == 0) continue;
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR) {
    }
    c->pid = 0;
  }
  free(s->children);
  s->children = NULL;
  s->n_children = 0;
}
