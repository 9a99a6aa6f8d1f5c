// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A worker has one case at a time; the others are handed out in their order. A case whose worker
// dies is repeated in a new one, as in studies, and has failed when that dies, too.
#include "fit/cases.h"

#include <assert.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/guard.h"
#include "format/folder.h"

enum {
  MAX_ATTEMPTS = 2,  // of a case that ends its worker
  MAX_KILLED = 4,    // of one whose worker is killed from outside
  MAX_IDLE_DEATHS = 5,
  LOOK_INTERVAL = 20,  // at workers [ms]
};
static const double stop_patience = 0.2, close_patience = 5;  // for workers that end [s]

// batch invariants: a case below `next` is with one worker, or has ended, or is at or behind
// `limit`.
struct cpli_fit_worker {
  cpli_supervisor supervisor;
  ptrdiff_t current;  // -1: none
};

//------------------------------------ one case ------------------------------------

static void keep_failure(const cpli_fit_cases* b, cpli_fit_case* c, cpl_status st) {
  const cpl_error* error = cpl_context_last_error(b->def.ctx);
  c->st = st;
  c->error = *error;
  cpli_error_pack(error, c->texts, sizeof c->texts);
}

static void execute(cpli_fit_cases* b, size_t i) {
  cpli_fit_case* c = &b->list[i];
  const cpl_status st = b->def.run(b->def.user, c, b->numbers + c->in, b->numbers + c->out);
  if (st < 0) keep_failure(b, c, st);
}

static void end_case(cpli_fit_cases* b, size_t i) {
  cpli_fit_case* c = &b->list[i];
  if (c->st < 0) {
    cpli_error_unpack(&c->error, c->texts, sizeof c->texts);
    if (!b->def.goes_on(b->def.user, c->st) && i + 1 < b->limit) b->limit = i + 1;
    for (size_t k = i + 1; k < b->n && b->list[k].group == c->group; k++)
      b->list[k].needless = true;
  }
  if (b->def.on_end != NULL) b->def.on_end(b->def.user, c);
}

//------------------------------------ in a worker ------------------------------------

static cpl_status open_worker(void* user) {
  const cpli_fit_cases* b = user;
  setenv("TMPDIR", b->folder, 1);
  return CPL_OK;
}

static cpl_status run_case(void* user, int64_t i, double* values, char* failure, size_t size) {
  cpli_fit_cases* b = user;
  const unsigned crashes = cpli_guard_crashes;
  (void)values, (void)failure, (void)size;
  execute(b, (size_t)i);
  return cpli_guard_crashes != crashes ? CPL_TERMINATE : CPL_OK;
}

//------------------------------------ workers ------------------------------------

static cpl_status hand_out(cpli_fit_cases* b, size_t worker, size_t i) {
  cpli_fit_worker* w = &b->workers[worker];
  const cpli_study_message lease = {
      .kind = CPLI_LEASE, .life = w->supervisor.life, .first = (int64_t)i, .count = 1};
  w->current = (ptrdiff_t)i;
  return cpli_supervisor_send(&w->supervisor, &lease);
}

static bool find_next(cpli_fit_cases* b) {
  while (b->next < b->limit && b->list[b->next].needless) b->next++;
  return b->next < b->limit;
}

static cpl_status hand_out_all(cpli_fit_cases* b) {
  cpl_status st = CPL_OK;
  for (size_t k = 0; k < (size_t)b->def.workers && st >= 0; k++)
    if (b->workers[k].current < 0 && find_next(b)) st = hand_out(b, k, b->next++);
  return st;
}

static void blame(cpli_fit_cases* b, size_t i, const char* why) {
  const cpl_status st = cpl_fail(b->def.ctx, CPL_ERR_MODEL, "the run%s",
                                 strncmp(why, "it ", 3) == 0 ? why + 2 : " failed");
  keep_failure(b, &b->list[i], st);
  end_case(b, i);
}

static cpl_status take_death(cpli_fit_cases* b, size_t worker, cpli_study_message* m) {
  cpli_fit_worker* w = &b->workers[worker];
  const char* why = cpli_payload(m);
  const cpli_death death = (cpli_death)m->count;
  const ptrdiff_t i = w->current;
  w->current = -1;
  if (i < 0) return CPL_OK;  // the next lease begins a new process
  cpli_fit_case* c = &b->list[i];
  const bool innocent = death == CPLI_DEATH_RETIRED || death == CPLI_DEATH_FORSAKEN;
  if (m->first != i && !innocent && ++b->idle_deaths >= MAX_IDLE_DEATHS)
    return cpl_fail(b->def.ctx, CPL_ERR_MODEL, "a worker could not begin: %s", why);
  if (m->first == i) c->deaths++;
  if (c->deaths < (death == CPLI_DEATH_KILLED ? MAX_KILLED : MAX_ATTEMPTS))
    return hand_out(b, worker, (size_t)i);
  blame(b, (size_t)i, why);
  return CPL_OK;
}

static cpl_status take_message(cpli_fit_cases* b, size_t worker, cpli_study_message* m) {
  cpli_fit_worker* w = &b->workers[worker];
  const bool ended =
      m->kind == CPLI_RESULTS && w->current >= 0 && m->first == w->current && m->count == 1;
  switch (m->kind) {
    case CPLI_READY: return CPL_OK;
    case CPLI_LOG: cpli_study_message_log(b->def.ctx, m); return CPL_OK;
    case CPLI_FATAL: return cpli_study_message_fail(b->def.ctx, m);
    case CPLI_DIED: return take_death(b, worker, m);
    default: break;
  }
  if (ended) {
    const size_t i = (size_t)w->current;
    w->current = -1;
    b->idle_deaths = 0;
    end_case(b, i);
  } else {
    cpli_supervisor_kill(&w->supervisor, w->supervisor.life);
  }
  return CPL_OK;
}

static cpl_status take_messages(cpli_fit_cases* b, int wait) {
  const size_t n = (size_t)b->def.workers;
  struct pollfd* polled = calloc(n, sizeof *polled);
  cpl_status st = polled != NULL ? CPL_OK : cpli_nomem(b->def.ctx);
  for (size_t k = 0; k < n && st >= 0; k++)
    polled[k] = (struct pollfd){.fd = b->workers[k].supervisor.fd, .events = POLLIN};
  if (st >= 0) (void)poll(polled, (nfds_t)n, wait);
  free(polled);
  for (size_t k = 0; k < n && st >= 0; k++) {
    cpli_supervisor* s = &b->workers[k].supervisor;
    cpli_study_message* m = NULL;
    cpli_supervisor_receive(s);
    while (st >= 0 && (m = cpli_supervisor_next(s)) != NULL) st = take_message(b, k, m);
  }
  return st;
}

static bool is_busy(cpli_fit_cases* b) {
  for (int32_t k = 0; k < b->def.workers; k++)
    if (b->workers[k].current >= 0 && (size_t)b->workers[k].current < b->limit) return true;
  return find_next(b);
}

static cpl_status run_in_workers(cpli_fit_cases* b) {
  cpl_status st = CPL_OK;
  while (is_busy(b) && st >= 0) {
    if (cpli_cancelled(b->def.ctx)) return cpli_interrupted(b->def.ctx, "", NAN);
    st = hand_out_all(b);
    if (st >= 0) st = take_messages(b, LOOK_INTERVAL);
  }
  return st;
}

//------------------------------------ batches ------------------------------------

static cpl_status run_here(cpli_fit_cases* b) {
  for (; find_next(b); b->next++) {
    if (cpli_cancelled(b->def.ctx)) return cpli_interrupted(b->def.ctx, "", NAN);
    execute(b, b->next);
    end_case(b, b->next);
  }
  return CPL_OK;
}

cpl_status cpli_fit_cases_run(cpli_fit_cases* b, size_t n) {
  assert(n <= b->def.n_cases);
  b->n = b->limit = n;
  b->next = 0;
  b->idle_deaths = 0;
  for (size_t i = 0; i < n; i++) {
    b->list[i].st = CPL_OK;
    b->list[i].deaths = 0;
    b->list[i].needless = false;
  }
  return b->workers != NULL ? run_in_workers(b) : run_here(b);
}

//------------------------------------ life ------------------------------------

static cpl_status make_workers(cpli_fit_cases* b) {
  const size_t n = (size_t)b->def.workers;
  cpl_status st = cpli_temp_folder_make(b->def.ctx, &b->folder);
  if (st >= 0) b->workers = cpli_alloc(b->def.ctx, n, sizeof *b->workers);
  if (st >= 0 && b->workers == NULL) st = cpli_nomem(b->def.ctx);
  b->cases = (cpli_cases){
      .n = (int64_t)b->def.n_cases, .n_values = 1, .user = b, .open = open_worker, .run = run_case};
  for (size_t k = 0; k < n && st >= 0; k++) {
    b->workers[k].current = -1;
    st = cpli_supervisor_init(&b->workers[k].supervisor, b->def.ctx, &b->cases, 0);
  }
  return st;
}

cpl_status cpli_fit_cases_open(cpli_fit_cases* b, const cpli_fit_cases_def* def) {
  *b = (cpli_fit_cases){.def = *def};
  if ((size_t)b->def.workers > def->n_cases) b->def.workers = (int32_t)def->n_cases;
  const size_t list = def->n_cases * sizeof *b->list, size = list + def->n_numbers * sizeof(double);
  void* memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return cpli_nomem(def->ctx);
  b->size = size;
  b->list = memory;
  b->numbers = (double*)(void*)((char*)memory + list);
  return b->def.workers > 1 ? make_workers(b) : CPL_OK;
}

static bool any_process(const cpli_fit_cases* b) {
  for (int32_t k = 0; k < b->def.workers; k++)
    if (b->workers[k].supervisor.pid != 0) return true;
  return false;
}

// Those in a case are broken off; temporary files are removed by the processes, or else here.
// The last failure stays.
static void end_workers(cpli_fit_cases* b) {
  const cpli_study_message end = {.kind = CPLI_END};
  cpli_error unused = {0};
  cpli_error* before = cpli_divert_errors(b->def.ctx, &unused);
  bool broken_off = false;
  for (int32_t k = 0; k < b->def.workers; k++) {
    cpli_fit_worker* w = &b->workers[k];
    if (w->supervisor.ctx == NULL) continue;
    broken_off = broken_off || w->current >= 0;
    if (w->current >= 0) cpli_supervisor_stop(&w->supervisor);
    else cpli_supervisor_send(&w->supervisor, &end);
    w->current = -1;
  }
  const double until = cpli_now() + (broken_off ? stop_patience : close_patience);
  while (any_process(b) && cpli_now() < until)
    if (take_messages(b, LOOK_INTERVAL) < 0) break;
  for (int32_t k = 0; k < b->def.workers; k++) cpli_supervisor_free(&b->workers[k].supervisor);
  cpli_end_diversion(before);
  cpli_error_clear(&unused, b->def.ctx);
}

void cpli_fit_cases_close(cpli_fit_cases* b) {
  if (b->def.ctx == NULL) return;
  if (b->workers != NULL) end_workers(b);
  cpli_free(b->def.ctx, b->workers);
  cpli_temp_folder_remove(b->def.ctx, b->folder);
  cpli_free(b->def.ctx, b->folder);
  if (b->size > 0) munmap(b->list, b->size);
  *b = (cpli_fit_cases){0};
}
