// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Launchers leave the number of processes in the environment. Where MPI was built for another
// launcher, each process would be alone in a world of its own: that is refused.
#include "base/ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/data.h"
#include "base/error.h"
#include "base/mpi/module.h"

// The end of MPI unloads libraries: what they leak has no names any more then.
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/lsan_interface.h>
#define CHECK_LEAKS() __lsan_do_leak_check()
#else
#define CHECK_LEAKS() ((void)0)
#endif

struct cpli_ranks {
  cpl_context* ctx;
  const cpli_mpi* mpi;
  int rank, size;
  bool failed;  // MPI does not work any more
};

//------------------------------------ joining ------------------------------------

static const char how_to_join[] =
    "start it with the mpirun of the MPI that couplet was built with, or with srun --mpi=pmix";

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

bool cpli_ranks_are_here(void) {
  const char* who;
  return expected_size(&who) != 1;
}

static cpl_status load(cpl_context* ctx, const char* who, const cpli_mpi** out) {
  static const char text[] = "this process is one of several";
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

static cpl_status check(cpli_ranks* r, const char* what, int error) {
  char text[512];
  if (error == 0) return CPL_OK;
  r->failed = true;
  r->mpi->error_text(error, text, sizeof text);
  return cpl_fail(r->ctx, CPL_ERR_CONNECTION, "MPI: %s failed: %s", what, text);
}

static cpl_status check_size(const cpli_ranks* r, int expected, const char* who) {
  if (expected == 0 || r->size == expected) return CPL_OK;
  return cpl_fail(r->ctx, CPL_ERR_UNSUPPORTED,
                  "this process is one of %d (%s), but MPI sees %d: %s", expected, who, r->size,
                  how_to_join);
}

// MPI begins only once per process. It ends with the run: a process that ends without that, as
// the command does where threads of a model remain, would be reported as a failure by mpirun.
static cpl_status begin_mpi(cpli_ranks* r, const char* who) {
  static bool used;
  if (used)
    return cpl_fail(r->ctx, CPL_ERR_UNSUPPORTED,
                    "a process of a cluster (%s) can run only one study, or run", who);
  cpl_status st = load(r->ctx, who, &r->mpi);
  if (st < 0) return st;
  used = true;
  return check(r, "the beginning", r->mpi->init(&r->rank, &r->size));
}

cpl_status cpli_ranks_join(cpl_context* ctx, cpli_ranks** out) {
  const char* who;
  const int expected = expected_size(&who);
  *out = NULL;
  if (expected == 1) return CPL_OK;
  if (strncmp(who, "SLURM", 5) == 0 && getenv("PMIX_RANK") == NULL && getenv("PMI_RANK") == NULL)
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "this process is one of %d (%s), but srun has not connected it to the others: "
                    "%s",
                    expected, who, how_to_join);
  cpli_ranks* r = cpli_alloc(ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(ctx);
  r->ctx = ctx;
  cpl_status st = begin_mpi(r, who);
  if (st >= 0) {
    st = check_size(r, expected, who);
    if (st >= 0 && r->size > 1) *out = r;
    else r->mpi->finalize();
  }
  if (*out == NULL) cpli_free(ctx, r);
  return st;
}

int32_t cpli_ranks_rank(const cpli_ranks* r) { return r != NULL ? r->rank : 0; }
int32_t cpli_ranks_size(const cpli_ranks* r) { return r != NULL ? r->size : 1; }

void cpli_ranks_leave(cpli_ranks* r, bool in_order) {
  if (r == NULL) return;
  cpl_context* ctx = r->ctx;
  if (r->failed || !in_order) {
    const cpl_error* error = cpl_context_last_error(ctx);
    if (error->status < 0) cpl_log(ctx, CPL_LOG_ERROR, "", "%s", error->text);  // the last chance
    fflush(NULL);
    r->mpi->abort(1);
  } else {
    CHECK_LEAKS();
    r->mpi->finalize();
  }
  cpli_free(ctx, r);
}

//------------------------------------ messages ------------------------------------

cpl_status cpli_ranks_send(cpli_ranks* r, int32_t to, const void* data, size_t size) {
  return check(r, "sending", r->mpi->send(to, data, size));
}

cpl_status cpli_ranks_post(cpli_ranks* r, int32_t to, const void* data, size_t size,
                           void** request) {
  return check(r, "sending", r->mpi->post(to, data, size, request));
}

cpl_status cpli_ranks_finish(cpli_ranks* r, void** request) {
  int done = 0;
  return *request == NULL ? CPL_OK : check(r, "sending", r->mpi->finish(request, &done));
}

cpl_status cpli_ranks_probe(cpli_ranks* r, int32_t* from, size_t* size) {
  int rank = -1;
  const cpl_status st = check(r, "receiving", r->mpi->probe(&rank, size));
  *from = rank;
  return st;
}

cpl_status cpli_ranks_receive(cpli_ranks* r, int32_t from, void* data, size_t size) {
  return check(r, "receiving", r->mpi->receive(from, data, size));
}

void cpli_ranks_pause(double waited) {
  static const double spins = 5e-5, yields = 1e-3, naps = 0.1;  // [s]
  if (waited < spins) cpli_relax();
  else if (waited < yields) sched_yield();
  else nanosleep(&(struct timespec){.tv_nsec = waited < naps ? 50000 : 1000000}, NULL);
}
