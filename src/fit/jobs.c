// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A worker has one job at a time; the others are handed out in their order. A job whose worker dies
// is repeated in a new one, as in studies, and has failed when that dies, too.
#include "fit/jobs.h"

#include <assert.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/guard.h"
#include "format/folder.h"

enum {
  MAX_ATTEMPTS = 2,  // of a job that ends its worker
  MAX_KILLED = 4,    // of one whose worker is killed from outside
  MAX_IDLE_DEATHS = 5,
  LOOK_INTERVAL = 20,  // at workers [ms]
};
static const double stop_patience = 0.2, close_patience = 5;  // for workers that end [s]

// jobs invariants: a job below `next` is with one worker, or has ended, or is at or behind
// `limit`.
struct cpli_job_worker {
  cpli_supervisor supervisor;
  ptrdiff_t job;  // -1: none
};

//------------------------------------ one job ------------------------------------

static void keep_failure(const cpli_jobs* b, cpli_job_record* job, cpl_status st) {
  const cpl_error* error = cpl_context_last_error(b->def.ctx);
  job->st = st;
  job->error = *error;
  cpli_error_pack(error, job->texts, sizeof job->texts);
}

static void execute(cpli_jobs* b, size_t i) {
  cpli_job_record* job = &b->jobs[i];
  const cpl_status st = b->def.run(b->def.user, job, b->numbers + job->in, b->numbers + job->out);
  if (st < 0) keep_failure(b, job, st);
}

static void end_job(cpli_jobs* b, size_t i) {
  cpli_job_record* job = &b->jobs[i];
  if (job->st < 0) {
    cpli_error_unpack(&job->error, job->texts, sizeof job->texts);
    if (!b->def.goes_on(b->def.user, job->st) && i + 1 < b->limit) b->limit = i + 1;
    for (size_t k = i + 1; k < b->n && b->jobs[k].group == job->group; k++)
      b->jobs[k].needless = true;
  }
  if (b->def.on_end != NULL) b->def.on_end(b->def.user, job);
}

//------------------------------------ in a worker ------------------------------------

static cpl_status open_worker(void* user) {
  const cpli_jobs* b = user;
  setenv("TMPDIR", b->folder, 1);
  return CPL_OK;
}

static cpl_status run_case(void* user, int64_t i, double* values, char* failure, size_t size) {
  cpli_jobs* b = user;
  const unsigned crashes = cpli_guard_crashes;
  (void)values, (void)failure, (void)size;
  execute(b, (size_t)i);
  return cpli_guard_crashes != crashes ? CPL_TERMINATE : CPL_OK;
}

//------------------------------------ workers ------------------------------------

static cpl_status hand_out(cpli_jobs* b, size_t worker, size_t i) {
  cpli_job_worker* w = &b->workers[worker];
  const cpli_study_message lease = {
      .kind = CPLI_LEASE, .life = w->supervisor.life, .first = (int64_t)i, .count = 1};
  w->job = (ptrdiff_t)i;
  return cpli_supervisor_send(&w->supervisor, &lease);
}

static bool find_next(cpli_jobs* b) {
  while (b->next < b->limit && b->jobs[b->next].needless) b->next++;
  return b->next < b->limit;
}

static cpl_status hand_out_all(cpli_jobs* b) {
  cpl_status st = CPL_OK;
  for (size_t k = 0; k < (size_t)b->def.workers && st >= 0; k++)
    if (b->workers[k].job < 0 && find_next(b)) st = hand_out(b, k, b->next++);
  return st;
}

static void blame(cpli_jobs* b, size_t i, const char* why) {
  const cpl_status st = cpl_fail(b->def.ctx, CPL_ERR_MODEL, "the run%s",
                                 strncmp(why, "it ", 3) == 0 ? why + 2 : " failed");
  keep_failure(b, &b->jobs[i], st);
  end_job(b, i);
}

static cpl_status take_death(cpli_jobs* b, size_t worker, cpli_study_message* m) {
  cpli_job_worker* w = &b->workers[worker];
  const char* why = cpli_payload(m);
  const cpli_death death = (cpli_death)m->count;
  const ptrdiff_t i = w->job;
  w->job = -1;
  if (i < 0) return CPL_OK;  // the next lease begins a new process
  cpli_job_record* job = &b->jobs[i];
  const bool innocent = death == CPLI_DEATH_RETIRED || death == CPLI_DEATH_FORSAKEN;
  if (m->first != i && !innocent && ++b->idle_deaths >= MAX_IDLE_DEATHS)
    return cpl_fail(b->def.ctx, CPL_ERR_MODEL, "a worker could not begin: %s", why);
  if (m->first == i) job->deaths++;
  if (job->deaths < (death == CPLI_DEATH_KILLED ? MAX_KILLED : MAX_ATTEMPTS))
    return hand_out(b, worker, (size_t)i);
  blame(b, (size_t)i, why);
  return CPL_OK;
}

static cpl_status take_message(cpli_jobs* b, size_t worker, cpli_study_message* m) {
  cpli_job_worker* w = &b->workers[worker];
  const bool ended = m->kind == CPLI_RESULTS && w->job >= 0 && m->first == w->job && m->count == 1;
  switch (m->kind) {
    case CPLI_READY: return CPL_OK;
    case CPLI_LOG: cpli_study_message_log(b->def.ctx, m); return CPL_OK;
    case CPLI_FATAL: return cpli_study_message_fail(b->def.ctx, m);
    case CPLI_DIED: return take_death(b, worker, m);
    default: break;
  }
  if (ended) {
    const size_t i = (size_t)w->job;
    w->job = -1;
    b->idle_deaths = 0;
    end_job(b, i);
  } else {
    cpli_supervisor_kill(&w->supervisor, w->supervisor.life);
  }
  return CPL_OK;
}

static cpl_status take_messages(cpli_jobs* b, int wait) {
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

static bool is_busy(cpli_jobs* b) {
  for (int32_t k = 0; k < b->def.workers; k++)
    if (b->workers[k].job >= 0 && (size_t)b->workers[k].job < b->limit) return true;
  return find_next(b);
}

static cpl_status run_in_workers(cpli_jobs* b) {
  cpl_status st = CPL_OK;
  while (is_busy(b) && st >= 0) {
    if (cpli_cancelled(b->def.ctx)) return cpli_interrupted(b->def.ctx, "", NAN);
    st = hand_out_all(b);
    if (st >= 0) st = take_messages(b, LOOK_INTERVAL);
  }
  return st;
}

//------------------------------------ batches ------------------------------------

static cpl_status run_here(cpli_jobs* b) {
  for (; find_next(b); b->next++) {
    if (cpli_cancelled(b->def.ctx)) return cpli_interrupted(b->def.ctx, "", NAN);
    execute(b, b->next);
    end_job(b, b->next);
  }
  return CPL_OK;
}

cpl_status cpli_jobs_run(cpli_jobs* b, size_t n) {
  assert(n <= b->def.n_jobs);
  b->n = b->limit = n;
  b->next = 0;
  b->idle_deaths = 0;
  for (size_t i = 0; i < n; i++) {
    b->jobs[i].st = CPL_OK;
    b->jobs[i].deaths = 0;
    b->jobs[i].needless = false;
  }
  return b->workers != NULL ? run_in_workers(b) : run_here(b);
}

//------------------------------------ life ------------------------------------

static cpl_status make_workers(cpli_jobs* b) {
  const size_t n = (size_t)b->def.workers;
  cpl_status st = cpli_temp_folder_make(b->def.ctx, &b->folder);
  if (st >= 0) b->workers = cpli_alloc(b->def.ctx, n, sizeof *b->workers);
  if (st >= 0 && b->workers == NULL) st = cpli_nomem(b->def.ctx);
  b->cases = (cpli_cases){
      .n = (int64_t)b->def.n_jobs, .n_values = 1, .user = b, .open = open_worker, .run = run_case};
  for (size_t k = 0; k < n && st >= 0; k++) {
    b->workers[k].job = -1;
    st = cpli_supervisor_init(&b->workers[k].supervisor, b->def.ctx, &b->cases, 0);
  }
  return st;
}

cpl_status cpli_jobs_open(cpli_jobs* b, const cpli_jobs_def* def) {
  *b = (cpli_jobs){.def = *def};
  if ((size_t)b->def.workers > def->n_jobs) b->def.workers = (int32_t)def->n_jobs;
  const size_t jobs = def->n_jobs * sizeof *b->jobs, size = jobs + def->n_numbers * sizeof(double);
  void* memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return cpli_nomem(def->ctx);
  b->size = size;
  b->jobs = memory;
  b->numbers = (double*)(void*)((char*)memory + jobs);
  return b->def.workers > 1 ? make_workers(b) : CPL_OK;
}

static bool any_process(const cpli_jobs* b) {
  for (int32_t k = 0; k < b->def.workers; k++)
    if (b->workers[k].supervisor.pid != 0) return true;
  return false;
}

// Those in a job are broken off; temporary files are removed by the processes, or else here.
// The last failure stays.
static void end_workers(cpli_jobs* b) {
  const cpli_study_message end = {.kind = CPLI_END};
  cpli_error unused = {0};
  cpli_error* before = cpli_divert_errors(b->def.ctx, &unused);
  bool broken_off = false;
  for (int32_t k = 0; k < b->def.workers; k++) {
    cpli_job_worker* w = &b->workers[k];
    if (w->supervisor.ctx == NULL) continue;
    broken_off = broken_off || w->job >= 0;
    if (w->job >= 0) cpli_supervisor_stop(&w->supervisor);
    else cpli_supervisor_send(&w->supervisor, &end);
    w->job = -1;
  }
  const double until = cpli_now() + (broken_off ? stop_patience : close_patience);
  while (any_process(b) && cpli_now() < until)
    if (take_messages(b, LOOK_INTERVAL) < 0) break;
  for (int32_t k = 0; k < b->def.workers; k++) cpli_supervisor_free(&b->workers[k].supervisor);
  cpli_end_diversion(before);
  cpli_error_clear(&unused, b->def.ctx);
}

void cpli_jobs_close(cpli_jobs* b) {
  if (b->def.ctx == NULL) return;
  if (b->workers != NULL) end_workers(b);
  cpli_free(b->def.ctx, b->workers);
  cpli_temp_folder_remove(b->def.ctx, b->folder);
  cpli_free(b->def.ctx, b->folder);
  if (b->size > 0) munmap(b->jobs, b->size);
  *b = (cpli_jobs){0};
}
