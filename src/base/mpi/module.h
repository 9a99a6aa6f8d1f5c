// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What couplet needs of MPI: a table of functions in a shared library of its own
// (lib/couplet/mpi.so), which is loaded where a process was started as one of several. Nothing else
// links MPI.
#pragma once

#include <stddef.h>

enum { CPLI_MPI_VERSION = 2 };  // of this table

/// Functions return zero, or an error of MPI, which error_text() explains.
typedef struct cpli_mpi {
  int version;
  int (*init)(int* rank, int* size);
  /// Send bytes to a rank; returns when the memory can be used again.
  int (*send)(int to, const void* data, size_t size);
  /// The same without waiting: the memory must not be changed before finish(request).
  int (*post)(int to, const void* data, size_t size, void** request);
  /// *done: the request has ended, and there is none any more.
  int (*finish)(void** request, int* done);
  /// *from: the rank that has sent a message of *size bytes; -1: there is none.
  int (*probe)(int* from, size_t* size);
  int (*receive)(int from, void* data, size_t size);
  int (*finalize)(void);
  /// End all ranks.
  void (*abort)(int code);
  void (*error_text)(int error, char* out, size_t size);
} cpli_mpi;

#define CPLI_MPI_SYMBOL "cpli_mpi_module"
