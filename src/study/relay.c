// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// MPI has no descriptor to wait for: messages of the coordinator are looked for at least once per
// millisecond. Workers have a second lease meanwhile where cases are short.
#include "study/relay.h"

#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "format/hash.h"
#include "study/supervisor.h"

static const double look_interval = 0.02;                     // at all workers [s]
static const double stop_patience = 0.2, close_patience = 5;  // as those of the coordinator

typedef struct relay {
  cpl_context* ctx;
  cpli_cluster* cluster;
  cpli_supervisor* workers;
  struct pollfd* polled;
  int32_t n_workers;
  double looked_at;
  bool in_order;   // how it ends
  bool cancelled;  // the coordinator knows
} relay;

cpli_hello cpli_hello_of(const cpli_cases* cases, int32_t workers) {
  cpli_hello h = {.n = cases->n, .n_values = cases->n_values, .workers = (uint64_t)workers};
  cpli_hash hash = cpli_hash_begin();
  cpli_hash_add(&hash, cases->identity, strlen(cases->identity));
  memcpy(h.identity, hash.part, sizeof h.identity);
  if (gethostname(h.host, sizeof h.host) != 0) h.host[0] = '\0';
  h.host[sizeof h.host - 1] = '\0';
  return h;
}

static cpl_status begin(relay* r, const cpli_cases* cases, const cpli_execution* how) {
  const int32_t n = how->workers > 0 ? how->workers : 1;
  r->workers = cpli_alloc(r->ctx, (size_t)n, sizeof *r->workers);
  r->polled = cpli_alloc(r->ctx, (size_t)n, sizeof *r->polled);
  if (r->workers == NULL || r->polled == NULL) return cpli_nomem(r->ctx);
  cpl_status st =
      cpli_cluster_begin(r->cluster, cpli_study_message_limit(cpli_slot_size(cases->n_values)));
  for (; r->n_workers < n && st >= 0; r->n_workers++)
    st = cpli_supervisor_init(&r->workers[r->n_workers], r->ctx, cases, how->case_timeout);
  if (st < 0) return st;
  struct {
    cpli_study_message head;
    cpli_hello hello;
  } m = {{.kind = CPLI_HELLO, .size = sizeof m.hello}, cpli_hello_of(cases, n)};
  return cpli_cluster_send(r->cluster, 0, &m.head);
}

//------------------------------------ messages ------------------------------------

static cpl_status take_message(relay* r, const cpli_study_message* m) {
  if (m->kind == CPLI_END) {
    r->in_order = m->count == 0;
    cpli_cluster_note_end(r->cluster);
    return CPL_OK;
  }
  if (m->worker >= (uint32_t)r->n_workers)
    return cpl_fail(r->ctx, CPL_ERR_INPUT, "there is no worker %" PRIu32, m->worker);
  cpli_supervisor* s = &r->workers[m->worker];
  if (m->kind == CPLI_KILL) cpli_supervisor_kill(s, m->life);
  return m->kind == CPLI_LEASE ? cpli_supervisor_send(s, m) : CPL_OK;
}

static cpl_status take_from_coordinator(relay* r, bool* any) {
  cpli_study_message* m;
  int32_t from;
  for (;;) {
    cpl_status st = cpli_cluster_next(r->cluster, &from, &m);
    if (st < 0 || m == NULL || cpli_cluster_all_ended(r->cluster)) return st;
    st = take_message(r, m);
    if (st < 0) return st;
    *any = true;
  }
}

static cpl_status pass_on(relay* r, int32_t i, bool* any) {
  cpli_study_message* m;
  cpli_supervisor_receive(&r->workers[i]);
  while ((m = cpli_supervisor_next(&r->workers[i])) != NULL) {
    m->worker = (uint32_t)i;
    cpl_status st = cpli_cluster_send(r->cluster, 0, m);
    if (st < 0) return st;
    *any = true;
  }
  return CPL_OK;
}

static cpl_status pass_all(relay* r, int milliseconds, bool* any) {
  for (int32_t i = 0; i < r->n_workers; i++)
    r->polled[i] = (struct pollfd){.fd = r->workers[i].fd, .events = POLLIN};
  const int ready = poll(r->polled, (nfds_t)r->n_workers, milliseconds);
  const double now = cpli_now();
  const bool all = now - r->looked_at >= look_interval;
  if (all) r->looked_at = now;
  for (int32_t i = 0; i < r->n_workers && (all || ready > 0); i++) {
    if (!all && r->polled[i].revents == 0) continue;
    cpl_status st = pass_on(r, i, any);
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ end ------------------------------------

static cpl_status check_cancelled(relay* r) {
  if (r->cancelled || !cpli_cancelled(r->ctx)) return CPL_OK;
  r->cancelled = true;
  cpl_fail(r->ctx, CPL_ERR_CANCELLED, "interrupted");
  return cpli_cluster_send_failure(r->cluster, CPL_ERR_CANCELLED);
}

static bool any_running(const relay* r) {
  for (int32_t i = 0; i < r->n_workers; i++) {
    if (r->workers[i].pid > 0) return true;
  }
  return false;
}

static cpl_status end_workers(relay* r) {
  const cpli_study_message end = {.kind = CPLI_END}, bye = {.kind = CPLI_BYE};
  const double until = cpli_now() + (r->in_order ? close_patience : stop_patience);
  for (int32_t i = 0; i < r->n_workers; i++) {
    if (r->in_order) cpli_supervisor_send(&r->workers[i], &end);
    else cpli_supervisor_stop(&r->workers[i]);
  }
  cpl_status st = CPL_OK;
  bool any;
  while (st >= 0 && any_running(r) && cpli_now() < until) st = pass_all(r, 20, &any);
  for (int32_t i = 0; i < r->n_workers; i++) cpli_supervisor_free(&r->workers[i]);
  return st < 0 ? st : cpli_cluster_send(r->cluster, 0, &bye);
}

static cpl_status serve(relay* r) {
  cpl_status st = CPL_OK;
  bool any = true;
  while (st >= 0 && !cpli_cluster_all_ended(r->cluster)) {
    const int milliseconds = any ? 0 : 1;
    any = false;
    st = take_from_coordinator(r, &any);
    if (st >= 0) st = pass_all(r, milliseconds, &any);
    if (st >= 0) st = check_cancelled(r);
  }
  return st < 0 ? st : end_workers(r);
}

// A failure of this rank is sent to the coordinator by cpli_cluster_leave().
cpl_status cpli_relay_run(cpl_context* ctx, const cpli_cases* cases, const cpli_execution* how) {
  relay r = {.ctx = ctx, .cluster = how->cluster};
  cpl_status st = begin(&r, cases, how);
  if (st >= 0) st = serve(&r);
  for (int32_t i = 0; i < r.n_workers; i++) cpli_supervisor_free(&r.workers[i]);
  cpli_free(ctx, r.workers);
  cpli_free(ctx, r.polled);
  return st;
}
