// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The library lib/couplet/mpi.so: the only source that is compiled with MPI.
#include "base/mpi/module.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1 };

static int init(int* rank, int* size) {
  int given, error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS) error = MPI_Comm_size(MPI_COMM_WORLD, size);
  return error;
}

static int send_bytes(int to, const void* data, size_t size) {
  if (size > INT_MAX) return MPI_ERR_COUNT;
  return MPI_Send(data, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static int post(int to, const void* data, size_t size, void** request) {
  *request = NULL;
  if (size > INT_MAX) return MPI_ERR_COUNT;
  MPI_Request* made = malloc(sizeof *made);
  if (made == NULL) return MPI_ERR_NO_MEM;
  const int error = MPI_Isend(data, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, made);
  if (error == MPI_SUCCESS) *request = made;
  else free(made);
  return error;
}

static int finish(void** request, int* done) {
  const int error = MPI_Test(*request, done, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS || !*done) return error;
  free(*request);
  *request = NULL;
  return MPI_SUCCESS;
}

static int probe(int* from, size_t* size) {
  MPI_Status status;
  int there = 0, count = 0;
  *from = -1;
  int error = MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
  if (error != MPI_SUCCESS || !there) return error;
  error = MPI_Get_count(&status, MPI_BYTE, &count);
  if (error != MPI_SUCCESS) return error;
  *from = status.MPI_SOURCE;
  *size = (size_t)count;
  return MPI_SUCCESS;
}

static int receive(int from, void* data, size_t size) {
  return MPI_Recv(data, (int)size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int finalize(void) { return MPI_Finalize(); }

static void end_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static void error_text(int error, char* out, size_t size) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  snprintf(out, size, "%s", text);
}

extern const cpli_mpi cpli_mpi_module;
__attribute__((visibility("default"))) const cpli_mpi cpli_mpi_module = {
    .version = CPLI_MPI_VERSION,
    .init = init,
    .send = send_bytes,
    .post = post,
    .finish = finish,
    .probe = probe,
    .receive = receive,
    .finalize = finalize,
    .abort = end_all,
    .error_text = error_text,
};
