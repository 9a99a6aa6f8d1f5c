// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The environment says whether a process is one of several, before MPI is loaded: a process that
// was started alone never loads it. The ranks end together: the coordinator sends CPLI_END, every
// other rank answers with CPLI_BYE as its last message; where one does not, all are ended by force.
#include "study/cluster.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/data.h"
#include "base/error.h"
#include "study/mpi/module.h"

static const double leave_patience = 10;  // for the others [s]
static const double stop_patience = 0.5;  // where the context is cancelled [s]

struct cpli_cluster {
  cpl_context* ctx;
  const cpli_mpi* mpi;
  int rank, size;
  char* buffer;
  size_t limit;
  bool ending;      // the coordinator has sent CPLI_END, a relay has received it
  int32_t n_ended;  // ranks that have ended
  bool failed;      // MPI does not work any more
};

//------------------------------------ joining ------------------------------------

static const char how_to_join[] =
    "start the study with the mpirun of the MPI that couplet was built with, or with srun "
    "--mpi=pmix";

// What launchers put into the environment: the number of processes.
static const char* const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

// The number of processes of this step; 1: it is alone; 0: unknown. *who: the variable.
static int expected_size(const char** who) {
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
    const char* value = getenv(sizes[i]);
    *who = sizes[i];
    if (value != NULL && atoi(value) > 0) return atoi(value);
  }
  *who = "PMIX_RANK";
  return getenv(*who) != NULL ? 0 : 1;
}

static cpl_status load(cpl_context* ctx, const char* who, const cpli_mpi** out) {
  static const char text[] = "this process is one of several of a study";
  char path[PATH_MAX + 16];
  const char* folder = cpli_data_folder(ctx);
  if (folder == NULL) return CPL_ERR_INPUT;
  snprintf(path, sizeof path, "%s/mpi.so", folder);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);  // stays: MPI cannot be unloaded
  if (library == NULL)
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "%s (%s), but MPI cannot be loaded (it has to be there when couplet is built): "
                    "%s",
                    text, who, dlerror());
  *out = dlsym(library, CPLI_MPI_SYMBOL);
  if (*out != NULL && (*out)->version == CPLI_MPI_VERSION) return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "%s (%s), but %s is of another version of couplet",
                  text, who, path);
}

static cpl_status mpi_failed(cpli_cluster* c, const char* what, int error) {
  char text[512];
  c->failed = true;
  c->mpi->error_text(error, text, sizeof text);
  return cpl_fail(c->ctx, CPL_ERR_CONNECTION, "MPI: %s failed: %s", what, text);
}

// Where MPI was built for another launcher, it makes a world of its own for each process.
static cpl_status check_size(const cpli_cluster* c, int expected, const char* who) {
  if (expected == 0 || c->size == expected) return CPL_OK;
  return cpl_fail(c->ctx, CPL_ERR_UNSUPPORTED,
                  "this process is one of %d (%s), but MPI sees %d: %s", expected, who, c->size,
                  how_to_join);
}

// MPI begins only once per process. It ends with the study: a process that ends without that, as
// the command does where threads of a model remain, would be reported as a failure by mpirun.
static cpl_status begin_mpi(cpli_cluster* c, const char* who) {
  static bool used;
  if (used)
    return cpl_fail(c->ctx, CPL_ERR_UNSUPPORTED,
                    "a process of a cluster (%s) can run only one study", who);
  cpl_status st = load(c->ctx, who, &c->mpi);
  if (st < 0) return st;
  used = true;
  const int error = c->mpi->init(&c->rank, &c->size);
  return error == 0 ? CPL_OK : mpi_failed(c, "the beginning", error);
}

cpl_status cpli_cluster_join(cpl_context* ctx, cpli_cluster** out) {
  const char* who;
  const int expected = expected_size(&who);
  *out = NULL;
  if (expected == 1) return CPL_OK;
  if (strncmp(who, "SLURM", 5) == 0 && getenv("PMIX_RANK") == NULL && getenv("PMI_RANK") == NULL)
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "this process is one of %d (%s), but srun has not connected it to the others: "
                    "%s",
                    expected, who, how_to_join);
  cpli_cluster* c = cpli_alloc(ctx, 1, sizeof *c);
  if (c == NULL) return cpli_nomem(ctx);
  c->ctx = ctx;
  cpl_status st = begin_mpi(c, who);
  if (st >= 0) {
    st = check_size(c, expected, who);
    if (st >= 0 && c->size > 1) *out = c;
    else c->mpi->finalize();
  }
  if (*out == NULL) cpli_free(ctx, c);
  return st;
}

int32_t cpli_cluster_rank(const cpli_cluster* c) { return c != NULL ? c->rank : 0; }
int32_t cpli_cluster_size(const cpli_cluster* c) { return c != NULL ? c->size : 1; }

//------------------------------------ messages ------------------------------------

cpl_status cpli_cluster_begin(cpli_cluster* c, size_t limit) {
  char* buffer = cpli_alloc(c->ctx, limit, 1);
  if (buffer == NULL) return cpli_nomem(c->ctx);
  cpli_free(c->ctx, c->buffer);
  c->buffer = buffer;
  c->limit = limit;
  return CPL_OK;
}

cpl_status cpli_cluster_send(cpli_cluster* c, int32_t to, const cpli_study_message* m) {
  const int error = c->mpi->send(to, m, sizeof *m + m->size);
  return error == 0 ? CPL_OK : mpi_failed(c, "sending", error);
}

cpl_status cpli_cluster_next(cpli_cluster* c, int32_t* from, cpli_study_message** out) {
  size_t size = 0;
  int rank;
  *out = NULL;
  int error = c->mpi->probe(&rank, &size);
  if (error == 0 && rank < 0) return CPL_OK;
  if (error == 0 && (size < sizeof **out || size > c->limit))
    return cpl_fail(c->ctx, CPL_ERR_INPUT,
                    "rank %d runs another study than rank %d: it sent a message of %zu bytes", rank,
                    c->rank, size);
  if (error == 0) error = c->mpi->receive(rank, c->buffer, size);
  if (error != 0) return mpi_failed(c, "receiving", error);
  cpli_study_message* m = (cpli_study_message*)(void*)c->buffer;
  if (m->size != size - sizeof *m)
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "rank %d sent an invalid message", rank);
  *from = rank;
  *out = m;
  return CPL_OK;
}

void cpli_cluster_note_end(cpli_cluster* c) {
  c->ending = true;
  c->n_ended++;
}

bool cpli_cluster_all_ended(const cpli_cluster* c) {
  return c->n_ended >= (c->rank == 0 ? c->size - 1 : 1);
}

cpl_status cpli_cluster_send_failure(cpli_cluster* c, cpl_status st) {
  struct {
    cpli_study_message head;
    cpl_error error;
    char texts[CPLI_ERROR_TEXTS];
  }* m = cpli_alloc(c->ctx, 1, sizeof *m);
  if (m == NULL) return cpli_nomem(c->ctx);
  m->head = (cpli_study_message){
      .kind = CPLI_FATAL, .size = sizeof m->error + sizeof m->texts, .count = st};
  m->error = *cpl_context_last_error(c->ctx);
  cpli_error_pack(&m->error, m->texts, sizeof m->texts);
  st = cpli_cluster_send(c, 0, &m->head);
  cpli_free(c->ctx, m);
  return st;
}

//------------------------------------ leaving ------------------------------------

cpl_status cpli_cluster_end_others(cpli_cluster* c, bool in_order) {
  const cpli_study_message end = {.kind = CPLI_END, .count = in_order ? 0 : 1};
  cpl_status st = CPL_OK;
  c->ending = true;
  for (int to = 1; to < c->size && st >= 0; to++) st = cpli_cluster_send(c, to, &end);
  return st;
}

// The coordinator ends the others; a relay reports its failure and waits for the end.
static void end_without_execution(cpli_cluster* c) {
  const cpli_study_message bye = {.kind = CPLI_BYE};
  double until = cpli_now() + (c->rank == 0 ? leave_patience : INFINITY);
  const struct timespec pause = {.tv_nsec = 1000000};
  cpl_status st = cpl_context_last_error(c->ctx)->status;
  if (c->buffer == NULL && cpli_cluster_begin(c, cpli_study_message_limit(sizeof(double))) < 0)
    return;
  if (c->rank == 0) st = cpli_cluster_end_others(c, false);
  else st = cpli_cluster_send_failure(c, st < 0 ? st : CPL_ERR_CANCELLED);
  while (st >= 0 && !cpli_cluster_all_ended(c) && cpli_now() < until) {
    cpli_study_message* m;
    int32_t from;
    if (cpli_cancelled(c->ctx)) until = fmin(until, cpli_now() + stop_patience);
    st = cpli_cluster_next(c, &from, &m);
    if (st >= 0 && m == NULL) nanosleep(&pause, NULL);
    if (st < 0 || m == NULL) continue;
    if (m->kind == (c->rank == 0 ? CPLI_BYE : CPLI_END)) cpli_cluster_note_end(c);
  }
  if (c->rank != 0 && st >= 0 && cpli_cluster_all_ended(c)) cpli_cluster_send(c, 0, &bye);
}

void cpli_cluster_leave(cpli_cluster* c) {
  if (c == NULL) return;
  cpl_context* ctx = c->ctx;
  if (!c->failed && !c->ending) end_without_execution(c);
  if (c->failed || !cpli_cluster_all_ended(c)) {
    const cpl_error* error = cpl_context_last_error(ctx);
    if (error->status < 0) cpl_log(ctx, CPL_LOG_ERROR, "", "%s", error->text);  // the last chance
    fflush(NULL);
    c->mpi->abort(1);
  } else {
    c->mpi->finalize();
  }
  cpli_free(ctx, c->buffer);
  cpli_free(ctx, c);
}
