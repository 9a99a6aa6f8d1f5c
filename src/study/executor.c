// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The coordinator: one loop that hands out leases, waits for messages of workers, and writes
// results to the journal. A worker has two leases where cases are short, so that it does not wait
// for the next one.
#include "study/executor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "study/cluster.h"
#include "study/relay.h"
#include "study/schedule.h"
#include "study/supervisor.h"

enum {
  MAX_LEASES = 2,          // of a worker at a time
  MAX_ATTEMPTS = 2,        // of a case that ends its worker
  MAX_KILLED = 4,          // of one whose worker is killed from outside
  MAX_OPENING_DEATHS = 5,  // of workers, one after the other
  MAX_IDLE_DEATHS = 100,   // of workers that are in no case, without a result in between
};
static const double short_case = 0.05;        // the worker gets a second lease below this [s]
static const double look_interval = 0.02;     // at all workers [s]
static const double progress_interval = 0.1;  // [s]
static const double rate_window = 10;         // [s]
static const double stop_patience = 0.2;      // for workers that are broken off [s]
static const double close_patience = 5;       // for those that close in order [s]
static const double rank_patience = 2;        // for other ranks in addition [s]

typedef struct worker {
  int32_t rank;                        // 0: of this process,
  cpli_supervisor local;               // which has its supervisor
  uint32_t number;                     // on its rank
  bool present;                        // its rank has begun
  cpli_case_range leases[MAX_LEASES];  // the rest of them; results arrive in this order
  int32_t n_leases;
  int64_t last_length;
  int64_t deaths;        // of its processes
  bool started;          // it has a process,
  bool ready;            // which is open
  cpli_suspect suspect;  // the case that it repeats alone; i = CPLI_IDLE: none
} worker;

typedef struct executor {
  cpl_context* ctx;
  const cpli_cases* cases;
  const cpli_execution* how;
  size_t slot_size;
  cpli_journal* journal;
  cpli_schedule schedule;
  worker* workers;
  struct pollfd* polled;
  int32_t n_workers, n_local;  // the local ones are the first
  cpli_progress progress;
  int32_t opening_deaths, idle_deaths;
  double began, looked_at, reported_at;
  double window_began[2];  // of the rate
  int64_t window_done[2];
} executor;

#ifdef NDEBUG
#define check_worker(w) ((void)0)
#else
// worker invariants: 1 leases are not empty; 2 who has a lease has a process; 3 a suspect is alone.
static void check_worker(const worker* w) {
  assert(w->n_leases >= 0 && w->n_leases <= MAX_LEASES);
  for (int32_t k = 0; k < w->n_leases; k++) assert(w->leases[k].first < w->leases[k].end);
  assert(w->n_leases == 0 || w->started);
  assert(w->suspect.i == CPLI_IDLE || w->n_leases == 1);
}
#endif

//------------------------------------ progress ------------------------------------

// Of the last ten to twenty seconds, where enough cases were done in them.
static double recent_rate(executor* e, double now) {
  const int64_t done = e->progress.done;
  if (now - e->window_began[1] > rate_window) {
    e->window_began[0] = e->window_began[1], e->window_done[0] = e->window_done[1];
    e->window_began[1] = now, e->window_done[1] = done;
  }
  const int64_t n = done - e->window_done[0];
  const double seconds = now - e->window_began[0];
  const int64_t all = done - e->progress.resumed;
  const double whole = now - e->began;
  if (n < 10) return whole > 0 ? (double)all / whole : 0;
  return seconds > 0 ? (double)n / seconds : 0;
}

static void report(executor* e, double now, bool always) {
  if (!always && now - e->reported_at < progress_interval) return;
  e->reported_at = now;
  e->progress.seconds = now - e->began;
  e->progress.rate = recent_rate(e, now);
  if (e->how->progress != NULL) e->how->progress(e->how->progress_user, &e->progress);
}

//------------------------------------ leases ------------------------------------

static cpl_status send_to(executor* e, worker* w, cpli_study_message m) {
  m.worker = w->number;
  m.life = w->deaths;
  if (w->rank == 0) return cpli_supervisor_send(&w->local, &m);
  return cpli_cluster_send(e->how->cluster, w->rank, &m);
}

// What it sends is invalid. Its death is reported.
static cpl_status kill_worker(executor* e, worker* w) {
  if (w->rank > 0) return send_to(e, w, (cpli_study_message){.kind = CPLI_KILL});
  cpli_supervisor_kill(&w->local, w->deaths);
  return CPL_OK;
}

static cpl_status give(executor* e, worker* w, cpli_case_range r) {
  const cpli_study_message m = {.kind = CPLI_LEASE, .first = r.first, .count = r.end - r.first};
  assert(w->n_leases < MAX_LEASES && r.first < r.end);
  cpl_status st = send_to(e, w, m);
  if (st < 0) return st;
  w->started = true;
  w->leases[w->n_leases++] = r;
  w->last_length = r.end - r.first;
  check_worker(w);
  return CPL_OK;
}

static int32_t wanted_leases(const executor* e, const worker* w) {
  if (w->suspect.i != CPLI_IDLE) return 1;
  const double seconds = cpli_schedule_case_seconds(&e->schedule);
  return e->schedule.recent_cases > 0 && seconds < short_case && w->ready ? MAX_LEASES : 1;
}

// A suspect is the first case of a new process, and the only one until it is done.
static cpl_status give_suspect(executor* e, worker* w) {
  if (w->started || !cpli_schedule_next_suspect(&e->schedule, &w->suspect)) return CPL_OK;
  return give(e, w, (cpli_case_range){w->suspect.i, w->suspect.i + 1});
}

static cpl_status give_leases(executor* e) {
  for (int32_t i = 0; i < e->n_workers; i++) {
    worker* w = &e->workers[i];
    cpl_status st = w->present ? give_suspect(e, w) : CPL_OK;
    while (w->present && st >= 0 && w->n_leases < wanted_leases(e, w)) {
      cpli_case_range r;
      st = cpli_schedule_lease(&e->schedule, w->last_length, e->progress.workers, &r);
      if (st < 0 || r.first == r.end) break;
      st = give(e, w, r);
    }
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ results ------------------------------------

// What a worker sends is checked: a model may have damaged its memory.
static bool check_results(const executor* e, const worker* w, cpli_study_message* m) {
  if (w->n_leases == 0 || m->first != w->leases[0].first || m->count < 1 ||
      m->count > w->leases[0].end - m->first || (uint64_t)m->count > cpli_batch_slots(e->slot_size))
    return false;
  const size_t slots = (size_t)m->count * e->slot_size;
  if (m->size < slots || m->size - slots > CPLI_BATCH_TEXTS) return false;
  const size_t texts = m->size - slots;
  const char* text = cpli_payload(m) + slots;
  for (int64_t k = 0; k < m->count; k++) {
    const cpli_journal_slot* s =
        (const cpli_journal_slot*)(const void*)(cpli_payload(m) + (size_t)k * e->slot_size);
    if (s->state == CPLI_SLOT_DONE && s->text_length == 0 && s->text_at == 0) continue;
    if (s->state != CPLI_SLOT_FAILED || s->text_length >= CPLI_FAILURE_SIZE ||
        s->text_at % 8 != 0 || s->text_at > texts ||
        cpli_text_record_size(s->text_length) > texts - s->text_at ||
        text[s->text_at + sizeof(cpli_text_head) + s->text_length] != '\0')
      return false;
  }
  return true;
}

static int64_t count_failed(const executor* e, cpli_study_message* m) {
  int64_t n = 0;
  for (int64_t k = 0; k < m->count; k++) {
    const cpli_journal_slot* s =
        (const cpli_journal_slot*)(const void*)(cpli_payload(m) + (size_t)k * e->slot_size);
    n += s->state == CPLI_SLOT_FAILED;
  }
  return n;
}

static cpl_status take_results(executor* e, worker* w, cpli_study_message* m) {
  if (!check_results(e, w, m)) return kill_worker(e, w);
  const size_t slots = (size_t)m->count * e->slot_size;
  const int64_t failed = count_failed(e, m);
  cpl_status st = cpli_journal_write(e->journal, m->first, m->count, cpli_payload(m),
                                     cpli_payload(m) + slots, m->size - slots);
  if (st < 0) return st;
  e->progress.done += m->count;
  e->progress.failed += failed;
  e->idle_deaths = 0;
  cpli_schedule_measured(&e->schedule, m->count, m->seconds);
  w->suspect.i = CPLI_IDLE;
  w->leases[0].first += m->count;
  if (w->leases[0].first == w->leases[0].end) {
    w->leases[0] = w->leases[1];
    w->n_leases--;
  }
  check_worker(w);
  return CPL_OK;
}

// A case that has no result because of its worker.
static cpl_status fail_case(executor* e, int64_t i, const char* why) {
  const size_t length = strnlen(why, CPLI_FAILURE_SIZE - 1), size = cpli_text_record_size(length);
  cpli_journal_slot* s = cpli_alloc(e->ctx, 1, e->slot_size);
  char* record = cpli_alloc(e->ctx, 1, size);
  cpl_status st = s != NULL && record != NULL ? CPL_OK : cpli_nomem(e->ctx);
  if (st >= 0) {
    memcpy(record + sizeof(cpli_text_head), why, length);
    s->state = CPLI_SLOT_FAILED;
    s->text_length = (uint32_t)length;
    st = cpli_journal_write(e->journal, i, 1, s, record, size);
  }
  if (st >= 0) e->progress.done++, e->progress.failed++;
  cpli_free(e->ctx, s);
  cpli_free(e->ctx, record);
  return st;
}

//------------------------------------ deaths ------------------------------------

static cpl_status blame(executor* e, const worker* w, int64_t i, cpli_death death,
                        const char* why) {
  const int32_t attempts = w->suspect.i == i ? w->suspect.attempts + 1 : 1;
  const int32_t limit = death == CPLI_DEATH_KILLED ? MAX_KILLED : MAX_ATTEMPTS;
  if (death == CPLI_DEATH_TIMEOUT || attempts >= limit) return fail_case(e, i, why);
  cpl_log(e->ctx, CPL_LOG_INFO, "", "case %" PRId64 ": %s; it is repeated in a new one", i, why);
  e->progress.repeated++;
  return cpli_schedule_suspect(&e->schedule, i, attempts);
}

static cpl_status died_outside_cases(executor* e, bool opening, const char* why) {
  if (opening && ++e->opening_deaths >= MAX_OPENING_DEATHS)
    return cpl_fail(e->ctx, CPL_ERR_MODEL, "a worker could not begin: %s", why);
  if (++e->idle_deaths >= MAX_IDLE_DEATHS)
    return cpl_fail(e->ctx, CPL_ERR_MODEL, "workers end again and again: %s", why);
  return CPL_OK;
}

// The cases of its leases go back, apart from the one that it was in.
static cpl_status take_death(executor* e, worker* w, cpli_study_message* m) {
  const char* why = cpli_payload(m);
  const cpli_death death = (cpli_death)m->count;
  const int64_t i = m->first;
  const bool innocent = death == CPLI_DEATH_RETIRED || death == CPLI_DEATH_FORSAKEN;
  cpl_status st = CPL_OK;
  bool blamed = false;
  for (int32_t k = 0; k < w->n_leases && st >= 0; k++) {
    const cpli_case_range r = w->leases[k];
    const bool inside = !innocent && i >= r.first && i < r.end;
    if (inside) st = blame(e, w, i, death, why);
    if (st >= 0)
      st = cpli_schedule_return(&e->schedule, (cpli_case_range){r.first, inside ? i : r.end});
    if (st >= 0 && inside) st = cpli_schedule_return(&e->schedule, (cpli_case_range){i + 1, r.end});
    blamed = blamed || inside;
  }
  if (st >= 0 && !blamed && !innocent) st = died_outside_cases(e, !w->ready, why);
  w->deaths++;
  w->n_leases = 0;
  w->last_length = 1;
  w->started = w->ready = false;
  w->suspect.i = CPLI_IDLE;
  check_worker(w);
  return st;
}

//------------------------------------ messages ------------------------------------

static cpl_status take_message(executor* e, worker* w, cpli_study_message* m) {
  switch (m->kind) {
    case CPLI_READY: w->ready = true, e->opening_deaths = 0; return CPL_OK;
    case CPLI_RESULTS: return take_results(e, w, m);
    case CPLI_LOG: cpli_study_message_log(e->ctx, m); return CPL_OK;
    case CPLI_FATAL: return cpli_study_message_fail(e->ctx, m);
    case CPLI_DIED: return take_death(e, w, m);
    default: return kill_worker(e, w);
  }
}

static cpl_status take_messages(executor* e, worker* w) {
  cpli_study_message* m;
  cpli_supervisor_receive(&w->local);
  while ((m = cpli_supervisor_next(&w->local)) != NULL) {
    cpl_status st = take_message(e, w, m);
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ other ranks ------------------------------------

static cpl_status take_hello(executor* e, int32_t rank, cpli_study_message* m) {
  const int32_t n = e->n_local;
  const cpli_hello mine = cpli_hello_of(e->cases, n);
  cpli_hello hello;
  if (m->size != sizeof hello)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "rank %d is of another version of couplet", rank);
  memcpy(&hello, cpli_payload(m), sizeof hello);
  hello.host[sizeof hello.host - 1] = '\0';
  if (hello.n != mine.n || hello.n_values != mine.n_values || hello.workers != mine.workers ||
      memcmp(hello.identity, mine.identity, sizeof hello.identity) != 0)
    return cpl_fail(e->ctx, CPL_ERR_INPUT,
                    "rank %d on %s runs another study than rank 0 on %s: are the files the same "
                    "there?",
                    rank, hello.host, mine.host);
  for (int32_t i = 0; i < n; i++) e->workers[rank * n + i].present = true;
  e->progress.workers += n;
  return CPL_OK;
}

static cpl_status take_from_rank(executor* e, int32_t rank, cpli_study_message* m) {
  if (m->kind == CPLI_HELLO) return take_hello(e, rank, m);
  if (m->kind == CPLI_BYE) {
    cpli_cluster_note_end(e->how->cluster);
    return CPL_OK;
  }
  if (m->worker >= (uint32_t)e->n_local)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "rank %d is of another version of couplet", rank);
  const cpl_status st = take_message(e, &e->workers[rank * e->n_local + (int32_t)m->worker], m);
  if (m->kind == CPLI_FATAL && st < 0) cpl_fail_prefix(e->ctx, st, "rank %d", rank);
  return st;
}

static cpl_status take_from_ranks(executor* e, bool* any) {
  cpli_study_message* m = NULL;
  int32_t rank;
  *any = false;
  for (;;) {
    cpl_status st = cpli_cluster_next(e->how->cluster, &rank, &m);
    if (st < 0 || m == NULL) return st;
    st = take_from_rank(e, rank, m);
    if (st < 0) return st;
    *any = true;
  }
}

// Waits until there is something to read, or some time has passed. MPI has no descriptor to wait
// for: other ranks are looked after at least once per millisecond.
static cpl_status take_all(executor* e) {
  bool any = false;
  cpl_status from_ranks = e->how->cluster != NULL ? take_from_ranks(e, &any) : CPL_OK;
  if (from_ranks < 0) return from_ranks;
  const int wait = e->how->cluster == NULL ? (int)(1e3 * look_interval) : any ? 0 : 1;
  for (int32_t i = 0; i < e->n_local; i++)
    e->polled[i] = (struct pollfd){.fd = e->workers[i].local.fd, .events = POLLIN};
  const int ready = poll(e->polled, (nfds_t)e->n_local, wait);
  const double now = cpli_now();
  const bool all = now - e->looked_at >= look_interval;
  if (all) e->looked_at = now;
  for (int32_t i = 0; i < e->n_local && (all || ready > 0); i++) {
    if (!all && e->polled[i].revents == 0) continue;
    cpl_status st = take_messages(e, &e->workers[i]);
    if (st < 0) return st;
  }
  report(e, now, false);
  return CPL_OK;
}

//------------------------------------ beginning and end ------------------------------------

// In a cluster every rank has the same number, so that its workers are found by their numbers.
static int64_t local_workers(const executor* e) {
  const int64_t left = e->progress.total - e->progress.done;
  if (e->how->cluster != NULL) return e->how->workers > 0 ? e->how->workers : 1;
  const int64_t n = e->how->workers > 0 ? e->how->workers : cpli_count_processors();
  return n < left ? n : left;
}

static cpl_status make_workers(executor* e) {
  e->n_local = (int32_t)local_workers(e);
  const int32_t n = e->n_local * cpli_cluster_size(e->how->cluster);
  e->workers = cpli_alloc(e->ctx, (size_t)n, sizeof *e->workers);
  e->polled = cpli_alloc(e->ctx, (size_t)e->n_local, sizeof *e->polled);
  if (e->workers == NULL || e->polled == NULL) return cpli_nomem(e->ctx);
  cpl_status st = CPL_OK;
  for (; e->n_workers < n && st >= 0; e->n_workers++) {
    worker* w = &e->workers[e->n_workers];
    w->rank = e->n_workers / e->n_local;
    w->number = (uint32_t)(e->n_workers % e->n_local);
    w->last_length = 1;
    w->suspect.i = CPLI_IDLE;
    w->present = w->rank == 0;
    if (w->present) st = cpli_supervisor_init(&w->local, e->ctx, e->cases, e->how->case_timeout);
  }
  e->progress.workers = e->n_local;
  return st;
}

static cpl_status begin(executor* e) {
  const cpli_journal_def def = {.path = e->how->journal_path,
                                .n = e->cases->n,
                                .n_values = e->cases->n_values,
                                .identity = e->cases->identity};
  cpl_status st = cpli_journal_open_write(e->ctx, &def, e->how->resume, &e->journal);
  if (st >= 0 && e->how->cluster != NULL)
    st = cpli_cluster_begin(e->how->cluster, cpli_study_message_limit(e->slot_size));
  if (st >= 0) st = cpli_journal_count(e->journal, &e->progress.done, &e->progress.failed);
  if (st < 0) return st;
  e->progress.resumed = e->window_done[0] = e->window_done[1] = e->progress.done;
  const int64_t left = e->progress.total - e->progress.done;
  cpli_schedule_init(&e->schedule, e->ctx, e->journal, left);
  return make_workers(e);
}

static bool all_ended(const executor* e) {
  for (int32_t i = 0; i < e->n_local; i++) {
    if (e->workers[i].started) return false;
  }
  return e->how->cluster == NULL || cpli_cluster_all_ended(e->how->cluster);
}

// A failure of the journal, or of the connections between processes: it is not that of one case.
static bool is_lasting(cpl_status st) { return st == CPL_ERR_IO || st == CPL_ERR_CONNECTION; }

// Workers end, and what they still send is kept. After a failure those in a case are broken off.
static void end_workers(executor* e, bool in_order) {
  const cpli_study_message end = {.kind = CPLI_END};
  double until = cpli_now() + (in_order ? close_patience : stop_patience);
  for (int32_t i = 0; i < e->n_local; i++) {
    if (in_order) cpli_supervisor_send(&e->workers[i].local, &end);
    else cpli_supervisor_stop(&e->workers[i].local);
  }
  if (e->how->cluster != NULL) {
    if (cpli_cluster_end_others(e->how->cluster, in_order) < 0) return;
    until += cpli_cancelled(e->ctx) ? stop_patience : rank_patience;
  }
  while (!all_ended(e) && cpli_now() < until && !(in_order && cpli_cancelled(e->ctx))) {
    if (is_lasting(take_all(e))) break;
  }
}

static cpl_status run_all(executor* e) {
  while (e->progress.done < e->progress.total) {
    if (cpli_cancelled(e->ctx)) return CPL_ERR_CANCELLED;
    cpl_status st = give_leases(e);
    if (st >= 0) st = take_all(e);
    if (st < 0) return st;
  }
  return CPL_OK;
}

// The message of a study that ended early says what is kept.
static cpl_status say_what_is_kept(executor* e, cpl_status st, const cpl_error* error) {
  const int64_t done = e->progress.done, total = e->progress.total;
  if (st == CPL_ERR_CANCELLED)
    return cpl_fail(e->ctx, st, "interrupted: %" PRId64 " of %" PRId64 " cases are done", done,
                    total);
  cpli_fail_again(e->ctx, error);
  if (!is_lasting(st)) return st;
  char* text = cpli_strdup(e->ctx, error->text);
  if (text == NULL) return st;
  cpl_fail(e->ctx, st, "%s; finished cases are kept, and the study can be resumed", text);
  cpli_free(e->ctx, text);
  return st;
}

static cpl_status run_and_end(executor* e) {
  cpl_status st = run_all(e);
  if (st >= 0) {
    end_workers(e, true);
    return CPL_OK;
  }
  cpli_error kept = {0};
  cpli_error_clear(&kept, e->ctx);
  cpli_error_set(&kept, e->ctx, cpl_context_last_error(e->ctx));
  end_workers(e, false);
  say_what_is_kept(e, st, &kept.data);
  cpli_error_clear(&kept, e->ctx);
  return st;
}

static void release(executor* e) {
  for (int32_t i = 0; i < e->n_workers && e->workers[i].rank == 0; i++)
    cpli_supervisor_free(&e->workers[i].local);
  cpli_schedule_free(&e->schedule);
  cpli_free(e->ctx, e->workers);
  cpli_free(e->ctx, e->polled);
}

cpl_status cpli_execute(cpl_context* ctx, const cpli_cases* cases, const cpli_execution* how,
                        cpli_progress* progress) {
  const double now = cpli_now();
  if (progress != NULL) *progress = (cpli_progress){.total = cases->n};
  if (cpli_cluster_rank(how->cluster) > 0) return cpli_relay_run(ctx, cases, how);
  executor e = {.ctx = ctx,
                .cases = cases,
                .how = how,
                .slot_size = cpli_slot_size(cases->n_values),
                .progress = {.total = cases->n},
                .began = now,
                .window_began = {now, now}};
  cpl_status st = begin(&e);
  if (st >= 0) st = run_and_end(&e);
  if (e.journal != NULL) report(&e, cpli_now(), true);
  release(&e);
  if (st >= 0) st = cpli_journal_close(e.journal);
  else cpli_journal_close(e.journal);
  if (progress != NULL) *progress = e.progress;
  return st;
}
