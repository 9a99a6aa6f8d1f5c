// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The state of a run as a file: a head with its format, its size and a hash; then texts that tell
// whether it fits, and two lists of members (model/serial.h): the history, which is taken first and
// changes nothing, and the state with the snapshot of the stepper.
//
// Saving a snapshot discards what it does not have. A run goes on as if that had not happened when
// its history is set again; where it is incomplete, the run is restored from its own snapshot, as
// one that resumes will be, at times that do not depend on the clock.
#include "couplet/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "couplet/component.h"
#include "format/file.h"
#include "format/hash.h"
#include "format/source_loc.h"
#include "run/run.h"

enum { BARRIERS = 100 };  // restarts per run, with an incomplete history
static const size_t max_size = (size_t)1 << 40;

typedef struct head {
  char mark[16];
  uint64_t format;  // changes with the lists below
  uint64_t size;    // of the rest
  uint64_t hash[2];
} head;

static const head expected = {.mark = "couplet state\n", .format = 2};

struct cpl_checkpoint {
  cpl_context* ctx;
  char *path, *bytes;
  char *version, *identity, *extra;
  size_t version_size, identity_size, extra_size;
  double t, start;
  bool complete;
  cpl_binary state, history;
};

void cpl_init_checkpoints_def(cpl_checkpoints_def* def, size_t size) {
  const cpl_checkpoints_def all = {.every = 600};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ state ------------------------------------

// What the list of members needs beside the run.
typedef struct listed {
  cpl_simulation* r;
  cpl_snapshot* snapshot;  // of the stepper
  double start;            // of the run that wrote it
  bool whole;              // also the recording and the inputs
} listed;

static void list_value(cpli_serial* s, const cpli_rows* rows, size_t column, cpl_value* value) {
  if (!rows->is_text[column]) {
    cpli_serial_long(s, &value->integer);
    return;
  }
  char* text = (char*)value->string;
  size_t size = text != NULL ? strlen(text) : 0;
  cpli_serial_text(s, &text, &size);
  if (!cpli_serial_reads(s)) return;
  if (s->st >= 0) {
    cpli_free(rows->ctx, (char*)value->string);
    value->string = text;
  } else if (text != value->string) {
    cpli_free(rows->ctx, text);
  }
}

// Rows that wait for values of later times.
static void list_rows(cpli_serial* s, cpli_rows* rows) {
  size_t n = rows->end - rows->first;
  for (size_t c = 0; c < rows->n; c++) {
    cpli_serial_real(s, &rows->last_t[c]);
    list_value(s, rows, c, &rows->last[c]);
  }
  cpli_serial_count(s, &n, sizeof(double));
  if (cpli_serial_reads(s)) rows->first = rows->end = 0;
  for (size_t i = 0; i < n && s->st >= 0; i++) {
    double t = cpli_serial_reads(s) ? 0 : rows->times[(rows->first + i) % rows->cap];
    cpli_serial_real(s, &t);
    if (s->st >= 0 && cpli_serial_reads(s)) s->st = cpli_rows_add(rows, t);
    if (s->st < 0) return;
    cpl_value* values = rows->values + ((rows->first + i) % rows->cap) * rows->n;
    for (size_t c = 0; c < rows->n; c++) list_value(s, rows, c, &values[c]);
  }
  for (size_t c = 0; c < rows->n; c++) {
    size_t open =
        cpli_serial_reads(s) || rows->open[c] < rows->first ? 0 : rows->open[c] - rows->first;
    int64_t known = (int64_t)open;
    cpli_serial_count64(s, &known);
    if (s->st < 0 || !cpli_serial_reads(s)) continue;
    bool fits = (size_t)known <= rows->end && (rows->moves[c] || (size_t)known == rows->end);
    if (!fits) cpli_serial_refuse(s, "rows that wait do not fit");
    else rows->open[c] = (size_t)known;
  }
}

static void list_recorder(cpli_serial* s, cpli_recorder* k) {
  cpli_serial_same(s, k->n);
  cpli_serial_same(s, k->waits);
  cpli_serial_count64(s, &k->points);
  cpli_serial_real(s, &k->next);
  if (k->waits && s->st >= 0) list_rows(s, &k->rows);
  for (size_t i = 0; i < k->n; i++) cpli_serial_bool(s, &k->warned[i]);
  cpli_serial_count32(s, &k->n_warned);
}

static void list_memory(cpli_serial* s, cpli_memory* m) {
  size_t width = m->n_kept + 1, n = m->n_rows;
  cpli_serial_same(s, m->n_kept);
  cpli_serial_count(s, &n, width * sizeof(double));
  for (size_t i = 0; cpli_serial_reads(s) && s->st >= 0 && m->cap < n; i++) {
    if (!cpli_grow(s->c->ctx, (void**)&m->rows, &m->cap, m->cap, width * sizeof *m->rows))
      cpli_serial_nomem(s);
  }
  if (s->st < 0) return;
  m->n_rows = n;
  cpli_serial_reals(s, m->rows, n * width);
}

static void list_inputs(cpli_serial* s, cpli_inputs* in) {
  cpli_serial_same(s, in->n);
  for (size_t i = 0; i < in->n && s->st >= 0; i++) {
    cpli_follower* f = &in->list[i];
    int64_t piece = (int64_t)f->cursor.piece, row = (int64_t)f->cursor.row;
    cpli_serial_same(s, f->from_table);
    cpli_serial_real(s, &f->last);
    cpli_serial_count64(s, &piece);
    cpli_serial_count64(s, &row);
    if (s->st >= 0 && cpli_serial_reads(s) && f->from_table)
      cpli_cursor_place(&f->cursor, (uint64_t)piece, (uint64_t)row);
  }
}

static void list_grid(cpli_serial* s, cpli_grid* g) {
  int64_t next = g->next;
  cpli_serial_count64(s, &next);
  if (s->st >= 0 && cpli_serial_reads(s)) g->next = next < g->last ? next : g->last;
  if (s->st >= 0 && g->next < 1) cpli_serial_refuse(s, "a number is out of range");
}

// Where the run is, and what it has counted.
static void list_run(cpli_serial* s, cpl_simulation* r) {
  bool* flags[] = {&r->recorded, &r->ended, &r->changed, &r->warned_late};
  int64_t* counts[] = {&r->stats.communication_steps, &r->stats.refused_steps,
                       &r->checkpoints.barrier};
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_count64(s, counts[i]);
  cpli_serial_bool(s, &r->checkpoints.restarts);
  list_grid(s, &r->output);
  list_grid(s, &r->exchange);
}

// The stepper comes first: a run that only starts from it does not read the rest.
static void list_state(cpli_serial* s, void* user) {
  const listed* k = user;
  cpl_simulation* r = k->r;
  cpli_serial_real(s, &r->t);
  cpli_serial_part(s, &r->s->base, k->snapshot);
  if (!k->whole) s->left = 0;
  if (!k->whole || s->st < 0) return;
  list_run(s, r);
  list_inputs(s, &r->inputs);
  if (s->st >= 0) list_recorder(s, &r->recorder);
  bool kept = r->recorder.memory != NULL;
  cpli_serial_same(s, kept);
  if (kept && s->st >= 0) list_memory(s, r->recorder.memory);
}

static void list_history(cpli_serial* s, void* user) {
  const cpl_simulation* r = user;
  cpli_serial_history(s, &r->s->base, true);
}

//------------------------------------ file ------------------------------------

// The texts and bytes of a file; a component without variables stands for the file in messages.
static void list_file(cpli_serial* s, void* user) {
  cpl_checkpoint* k = user;
  cpli_serial_text(s, &k->version, &k->version_size);
  if (s->st >= 0 && cpli_serial_reads(s) && strcmp(k->version, CPL_VERSION) != 0) {
    s->st = cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                           "this checkpoint was written by couplet %s; only the version that wrote "
                           "it can read it, and this is %s",
                           k->version, CPL_VERSION);
    return;
  }
  cpli_serial_text(s, &k->identity, &k->identity_size);
  cpli_serial_text(s, &k->extra, &k->extra_size);
  cpli_serial_real(s, &k->t);
  cpli_serial_real(s, &k->start);
  cpli_serial_bool(s, &k->complete);
  cpl_binary* parts[] = {&k->history, &k->state};
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) cpli_serial_blob(s, parts[i]);
}

static cpl_component file_component(cpl_context* ctx, const char* path) {
  static const cpl_component_ops ops = {.size = sizeof ops, .kind = "checkpoint"};
  static const cpl_description none = {0};
  return (cpl_component){.ops = &ops, .desc = &none, .ctx = ctx, .name = path};
}

// A checkpoint replaces an empty file or another checkpoint, and nothing else.
static cpl_status check_replaced(cpl_context* ctx, const char* path) {
  struct stat there;
  char mark[sizeof expected.mark] = {0};
  if (stat(path, &there) != 0 || (S_ISREG(there.st_mode) && there.st_size == 0)) return CPL_OK;
  if (S_ISREG(there.st_mode)) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, mark, sizeof mark) : -1;
    if (fd >= 0) close(fd);
    if (n == (ssize_t)sizeof mark && memcmp(mark, expected.mark, sizeof mark) == 0) return CPL_OK;
  }
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                        "this is no checkpoint of a run, and is not replaced by one: give another "
                        "name, or remove it");
}

static bool is_file_of(int fd, const char* path) {
  struct stat own, named;
  return fstat(fd, &own) == 0 && stat(path, &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

static void unlock(int* lock) {
  if (*lock < 0) return;
  flock(*lock, LOCK_UN);  // processes that a model has started may have the file open, too
  close(*lock);
  *lock = -1;
}

static cpl_status is_busy(cpl_context* ctx, const char* path) {
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                        "another run is writing its checkpoints there; give this one another file");
}

// Two runs must not write into one file, as for results. Which file has the name changes with every
// checkpoint. Without locks of the file system a second run is not detected.
static cpl_status lock_file(cpl_context* ctx, const char* path, int* lock) {
  cpli_new_file f;
  while (*lock < 0 && (*lock = open(path, O_WRONLY | O_CLOEXEC)) >= 0) {
    bool busy = flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    bool moved = !is_file_of(*lock, path);
    if (busy || moved) unlock(lock);
    if (busy && !moved) return is_busy(ctx, path);
  }
  if (*lock >= 0) return CPL_OK;
  cpl_status st = cpli_new_file_open(ctx, path, 0, &f);  // whether there can be one
  if (st >= 0) cpli_new_file_discard(&f);
  return st;
}

// What gets the name is locked before.
static cpl_status commit(cpli_new_file* f, int* lock) {
  int next = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
  bool same = next >= 0 && flock(next, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  cpl_status st = cpli_new_file_commit(f);
  unlock(same || st < 0 ? &next : lock);
  if (next >= 0) *lock = next;
  return st;
}

// lock: of the path, -1 where there was no such file. Nullable: no run holds it
static cpl_status write_file(cpl_context* ctx, const char* path, const cpl_binary* bytes,
                             int* lock) {
  const bool is_first = lock != NULL && *lock < 0;
  cpli_hash hash = cpli_hash_begin();
  head h = expected;
  cpli_new_file f;
  cpli_hash_add(&hash, bytes->data, bytes->size);
  h.size = bytes->size;
  memcpy(h.hash, hash.part, sizeof h.hash);
  cpl_status st = check_replaced(ctx, path);
  if (st >= 0)
    st = cpli_new_file_open(ctx, path, CPLI_FILE_SYNC | (is_first ? CPLI_FILE_NEW : 0), &f);
  if (st < 0) return is_first && errno == EEXIST ? is_busy(ctx, path) : st;
  if (cpli_file_write(f.fd, &h, sizeof h) == sizeof h &&
      cpli_file_write(f.fd, bytes->data, bytes->size) == bytes->size) {
    st = lock != NULL ? commit(&f, lock) : cpli_new_file_commit(&f);
    return st < 0 && is_first && errno == EEXIST ? is_busy(ctx, path) : st;
  }
  st = cpli_fail_file(ctx, CPL_ERR_IO, path, "cannot be written: %s", strerror(errno));
  cpli_new_file_discard(&f);
  return st;
}

static cpl_status check_head(const cpl_checkpoint* k, size_t size) {
  head h = {0};
  cpli_hash hash = cpli_hash_begin();
  memcpy(&h, k->bytes, size < sizeof h ? size : sizeof h);
  if (size < sizeof h || memcmp(h.mark, expected.mark, sizeof h.mark) != 0)
    return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path, "this is no checkpoint of a run");
  if (h.format != expected.format)
    return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                          "this checkpoint was written by another version of couplet");
  if (h.size != size - sizeof h)
    return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                          "this checkpoint is damaged: it has %zu bytes instead of %llu", size,
                          (unsigned long long)h.size + sizeof h);
  cpli_hash_add(&hash, k->bytes + sizeof h, size - sizeof h);
  if (memcmp(h.hash, hash.part, sizeof h.hash) != 0)
    return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                          "this checkpoint is damaged: its bytes are not those that were written");
  return CPL_OK;
}

// Endless files and those that wait for a writer are not read.
static cpl_status check_kind(cpl_context* ctx, const char* path) {
  struct stat st;
  if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) return CPL_OK;
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "this is no checkpoint of a run");
}

cpl_status cpl_checkpoint_read(cpl_context* ctx, const char* path, cpl_checkpoint** out) {
  size_t size = 0;
  *out = NULL;
  cpl_checkpoint* k = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  *k = (cpl_checkpoint){.ctx = ctx, .path = cpli_strdup(ctx, path)};
  cpl_component file = file_component(ctx, path);
  cpl_status st = k->path != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) st = check_kind(ctx, path);
  if (st >= 0) st = cpli_file_read(ctx, path, max_size, &k->bytes, &size);
  if (st >= 0) st = check_head(k, size);
  if (st >= 0) {
    const cpl_binary rest = {(const uint8_t*)k->bytes + sizeof(head), size - sizeof(head)};
    st = cpli_serial_get(&file, &rest, list_file, k);
  }
  if (st < 0) cpl_checkpoint_destroy(k);
  else *out = k;
  return st;
}

void cpl_checkpoint_destroy(cpl_checkpoint* k) {
  if (k == NULL) return;
  char* all[] = {k->path, k->bytes, k->version, k->identity, k->extra};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(k->ctx, all[i]);
  cpli_free(k->ctx, k);
}

double cpl_checkpoint_time(const cpl_checkpoint* k) { return k->t; }
double cpl_checkpoint_start(const cpl_checkpoint* k) { return k->start; }
const char* cpl_checkpoint_identity(const cpl_checkpoint* k) { return k->identity; }

bool cpl_checkpoint_is_exact(const cpl_checkpoint* k) { return k->complete; }

cpl_binary cpl_checkpoint_extra(const cpl_checkpoint* k) {
  return (cpl_binary){(const uint8_t*)k->extra, k->extra_size};
}

//------------------------------------ identity ------------------------------------

// The next line that counts; *n: its length. NULL: there is none.
static const char* next_line(const char** at, bool only_model, size_t* n) {
  static const char* const of_run[] = {
      "start: ",  "stop: ",  "interval: ", "set: ",
      "steady: ", "input: ", "record: ",   "content of the input table: "};
  while (**at != '\0') {
    const char* line = *at;
    *n = strcspn(line, "\n");
    *at = line + *n + (line[*n] == '\n');
    bool counts = true;
    for (size_t i = 0; i < CPLI_COUNT(of_run) && only_model; i++)
      counts = counts && strncmp(line, of_run[i], strlen(of_run[i])) != 0;
    if (counts) return line;
  }
  return NULL;
}

cpl_status cpl_checkpoint_check(const cpl_checkpoint* k, const char* identity, bool only_model) {
  const char *here = identity, *there = k->identity;
  if (*there == '\0' || identity == NULL) return CPL_OK;
  for (;;) {
    size_t n = 0, m = 0;
    const char* own = next_line(&here, only_model, &n);
    const char* other = next_line(&there, only_model, &m);
    if (own == NULL && other == NULL) return CPL_OK;
    if (own != NULL && other != NULL && n == m && memcmp(own, other, n) == 0) continue;
    if (own == NULL)
      return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                            "this checkpoint belongs to another run: it was written with \"%.*s\"",
                            (int)m, other);
    if (other == NULL)
      return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                            "this checkpoint belongs to another run: here it is \"%.*s\"", (int)n,
                            own);
    return cpli_fail_file(k->ctx, CPL_ERR_INPUT, k->path,
                          "this checkpoint belongs to another run: it was written with \"%.*s\", "
                          "and here it is \"%.*s\"",
                          (int)m, other, (int)n, own);
  }
}

//------------------------------------ writing ------------------------------------

static cpl_status cannot(cpl_simulation* r) {
  cpl_snapshot none = {NULL};
  cpl_binary bytes;
  cpl_component* c = &r->s->base;
  if (r->segments != NULL)
    return cpl_fail_in(c->ctx, CPL_ERR_UNSUPPORTED, c->name, NULL, NAN,
                       "a run of a study has no checkpoints");
  if (cpli_serial_can(c)) return CPL_OK;
  return cpl_component_serialize(c, &none, &bytes);  // names the component
}

// The snapshot becomes bytes, and the run goes on as if it had not been made.
static cpl_status take_state(cpl_simulation* r, bool complete, const cpl_binary* history,
                             cpl_binary* state) {
  cpl_component* c = &r->s->base;
  cpl_snapshot snapshot = {NULL};
  bool ignored;
  listed all = {r, &snapshot, r->def.start_time, true};
  cpl_status st = c->ops->save(c, &snapshot);
  if (st >= 0) st = cpli_serial_put(c, &r->checkpoints.state, list_state, &all, state, &ignored);
  if (st >= 0 && complete) st = cpli_serial_get(c, history, list_history, r);
  if (st >= 0 && !complete) st = c->ops->restore(c, &snapshot);
  if (snapshot.data != NULL) c->ops->forget(c, &snapshot);
  return st;
}

static cpl_status write_checkpoint(cpl_simulation* r, const cpl_checkpoints_def* def, bool complete,
                                   const cpl_binary* history, const cpl_binary* state) {
  cpl_context* ctx = r->s->base.ctx;
  cpl_component file = file_component(ctx, def->path);
  cpli_serial_room room = {0};
  cpl_binary extra = {0}, bytes;
  bool ignored;
  cpl_status st = def->on_checkpoint != NULL ? def->on_checkpoint(def->user, &extra) : CPL_OK;
  const char* identity = def->identity != NULL ? def->identity : "";
  const double start = r->def.start_from != NULL ? r->def.start_from->start : r->def.start_time;
  cpl_checkpoint k = {.ctx = ctx,
                      .path = (char*)def->path,
                      .version = CPL_VERSION,
                      .version_size = strlen(CPL_VERSION),
                      .identity = (char*)identity,
                      .identity_size = strlen(identity),
                      .extra = (char*)extra.data,
                      .extra_size = extra.size,
                      .t = r->t,
                      .start = start,
                      .complete = complete,
                      .state = *state,
                      .history = *history};
  if (st >= 0) st = cpli_serial_put(&file, &room, list_file, &k, &bytes, &ignored);
  const char* locked = r->checkpoints.def.path;
  bool own = locked != NULL && strcmp(locked, def->path) == 0;
  if (st >= 0) st = write_file(ctx, def->path, &bytes, own ? &r->checkpoints.lock : NULL);
  cpli_serial_free(ctx, &room);
  return st;
}

// `file`: it is written, too. *written: how that went; the result is that of the run.
static cpl_status checkpoint(cpl_simulation* r, const cpl_checkpoints_def* def, bool file,
                             bool* complete, cpl_status* written) {
  cpl_binary history, state;
  *complete = false;
  *written = CPL_OK;
  cpl_status st =
      cpli_serial_put(&r->s->base, &r->checkpoints.history, list_history, r, &history, complete);
  if (st < 0) return st;
  if (!*complete) history.size = 0;
  st = take_state(r, *complete, &history, &state);
  if (st >= 0 && file) *written = write_checkpoint(r, def, *complete, &history, &state);
  return st;
}

//------------------------------------ during a run ------------------------------------

// The time of a barrier: a hundredth of the run.
static double barrier_time(const cpl_simulation* r, int64_t i) {
  double span = r->def.stop_time - r->def.start_time;
  return r->def.start_time + (double)i / BARRIERS * span;
}

static void pass_barriers(cpl_simulation* r) {
  while (r->checkpoints.barrier <= BARRIERS && barrier_time(r, r->checkpoints.barrier) <= r->t)
    r->checkpoints.barrier++;
}

// Whether the run restarts at fixed times, since something has no history, with a warning.
static cpl_status find_restarts(cpl_simulation* r) {
  cpl_component* c = &r->s->base;
  cpl_binary history;
  bool complete = false;
  cpl_status st = cpli_serial_put(c, &r->checkpoints.history, list_history, r, &history, &complete);
  r->checkpoints.restarts = st >= 0 && !complete && isfinite(r->def.stop_time);
  if (!r->checkpoints.restarts) return st;
  cpl_log(c->ctx, CPL_LOG_WARNING, c->name,
          "the history of %.*s cannot be stored: with checkpoints all solvers restart at every "
          "hundredth of the run, so that the results differ from those without checkpoints by "
          "errors of the size of the tolerance",
          (int)history.size, (const char*)history.data);
  return st;
}

cpl_status cpli_checkpoints_begin(cpl_simulation* r) {
  cpli_checkpoints* k = &r->checkpoints;
  k->on = r->def.checkpoints != NULL;
  if (!k->on) return CPL_OK;
  cpl_status st = cpli_read_def(r->s->base.ctx, "cpl_checkpoints_def", r->def.checkpoints, &k->def,
                                sizeof k->def);
  if (st >= 0 && (k->def.path == NULL || !(k->def.every >= 0)))
    st = cpl_fail(r->s->base.ctx, CPL_ERR_INPUT,
                  "checkpoints need a path, and a time between two of them that is not negative");
  if (st >= 0) st = cannot(r);
  if (st >= 0) st = check_replaced(r->s->base.ctx, k->def.path);  // before results are
  if (st >= 0 && k->lock < 0) st = lock_file(r->s->base.ctx, k->def.path, &k->lock);
  if (st >= 0 && r->def.resume == NULL) {
    st = find_restarts(r);
    k->barrier = 1;
  }
  bool complete;
  cpl_status written = CPL_OK;
  if (st >= 0) st = checkpoint(r, &k->def, true, &complete, &written);
  k->due = cpli_now() + (k->def.every > 0 ? k->def.every : INFINITY);
  return st < 0 ? st : written;
}

cpl_status cpli_checkpoints_step(cpl_simulation* r, bool last) {
  cpli_checkpoints* k = &r->checkpoints;
  if (!k->on && !k->restarts) return CPL_OK;
  bool at_barrier = k->restarts && r->t >= barrier_time(r, k->barrier) && !last;
  bool due = k->on && (last || (k->due < INFINITY && cpli_now() >= k->due));
  if (!at_barrier && (!due || (k->restarts && !last))) return CPL_OK;
  bool complete;
  cpl_status written = CPL_OK;
  pass_barriers(r);
  cpl_status st = checkpoint(r, &k->def, due, &complete, &written);
  if (due) k->due = cpli_now() + (k->def.every > 0 ? k->def.every : INFINITY);
  if (st >= 0 && written < 0)
    cpl_log(r->s->base.ctx, CPL_LOG_WARNING, k->def.path,
            "the checkpoint at t=%.12g could not be written, the one before it stays: %s", r->t,
            cpl_context_error(r->s->base.ctx));
  return st;
}

void cpli_checkpoints_close(cpl_simulation* r) {
  unlock(&r->checkpoints.lock);
  cpli_serial_free(r->s->base.ctx, &r->checkpoints.state);
  cpli_serial_free(r->s->base.ctx, &r->checkpoints.history);
}

cpl_status cpl_simulation_checkpoint(cpl_simulation* sim, const cpl_checkpoints_def* given) {
  cpl_context* ctx = sim->s->base.ctx;
  cpl_checkpoints_def def = cpl_default_checkpoints_def();
  cpl_status st = cpli_read_def(ctx, "cpl_checkpoints_def", given, &def, sizeof def);
  if (st >= 0 && def.path == NULL) st = cpl_fail(ctx, CPL_ERR_INPUT, "a checkpoint needs a path");
  if (st >= 0 && (!sim->running || sim->st < 0))
    st = cpl_fail_in(ctx, CPL_ERR_INPUT, sim->s->base.name, NULL, NAN,
                     "the simulation has not been started, or has failed");
  if (st >= 0) st = cannot(sim);
  if (st >= 0) st = cpli_take_effect(sim);
  bool complete;
  cpl_status written = CPL_OK;
  if (st >= 0) st = checkpoint(sim, &def, true, &complete, &written);
  return st < 0 ? st : written;
}

//------------------------------------ going on ------------------------------------

static cpl_status load(cpl_simulation* r, const cpl_checkpoint* from, bool whole) {
  cpl_component* c = &r->s->base;
  cpl_snapshot snapshot = {NULL};
  listed all = {r, &snapshot, from->start, whole};
  cpl_status st = cannot(r);
  if (st >= 0) st = cpli_serial_get(c, &from->state, list_state, &all);
  if (st >= 0) st = c->ops->restore(c, &snapshot);
  if (st >= 0 && from->complete) st = cpli_serial_get(c, &from->history, list_history, r);
  if (snapshot.data != NULL) c->ops->forget(c, &snapshot);
  bool fits = isfinite(r->t) && r->t == from->t && r->t >= from->start;
  if (st < 0 || fits) return st;
  return cpli_fail_file(c->ctx, CPL_ERR_INPUT, from->path, "this checkpoint is damaged");
}

cpl_status cpli_checkpoint_resume(cpl_simulation* r) {
  const cpl_checkpoint* from = r->def.resume;
  if (from->start != r->def.start_time)
    return cpli_fail_file(r->s->base.ctx, CPL_ERR_INPUT, from->path,
                          "this checkpoint belongs to a run that starts at t=%.12g, not %.12g",
                          from->start, r->def.start_time);
  cpl_status st = load(r, from, true);
  if (st < 0 || r->t <= r->def.stop_time) return st;
  return cpli_fail_file(r->s->base.ctx, CPL_ERR_INPUT, from->path,
                        "this checkpoint is at t=%.12g, after the stop time %.12g", r->t,
                        r->def.stop_time);
}

cpl_status cpli_checkpoint_state(cpl_simulation* r) { return load(r, r->def.start_from, false); }
