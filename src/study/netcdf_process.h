// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Work with NetCDF files in a process of its own. HDF5, which reads and writes them, crashes where
// a file could not be written, at the latest when the process ends, and crashes or never returns
// where a file is damaged. The process is forked, so that the work sees all memory of this one;
// what it changes there is lost, and what it writes to open files stays.
#pragma once

#include "base/base.h"

typedef struct cpli_nc_process cpli_nc_process;

typedef struct cpli_nc_work {
  const char* path;   // of the NetCDF file, for messages
  const char* crash;  // what a crash of the library means: "cannot be read: ..."
  double limit;       // the library has to answer within that time [s]; 0: no limit
  /// The work. It ends with the process: nothing need be released.
  cpl_status (*run)(cpli_nc_process* process, void* user);
  void* user;
} cpli_nc_work;

/// Do it. The log messages of the work are logged here, its failure becomes one of this context.
/// Returns: what the work returns; CPL_ERR_IO after a crash (CPL_ERR_INPUT with a limit: the file
/// is
///          damaged), CPL_ERR_CANCELLED.
cpl_status cpli_nc_run(cpl_context* ctx, const cpli_nc_work* work);

/// Called by the work: the library has answered, the time begins anew.
void cpli_nc_answered(cpli_nc_process* process);
/// Called by the work: the library is not called any more, there is no limit from here on.
void cpli_nc_finished(cpli_nc_process* process);
