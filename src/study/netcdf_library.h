// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of the C library of NetCDF that couplet uses, loaded when a study is written or
// read. They are declared here, as NetCDF documents them, so that neither its header is needed to
// build couplet nor the library to run it.
#pragma once

#include "base/base.h"

// name, arguments; all return an int, which is 0 for success
#define CPLI_NC_FUNCTIONS(X)                                                                       \
  X(nc_create, (const char* path, int mode, int* file))                                            \
  X(nc_open, (const char* path, int mode, int* file))                                              \
  X(nc_close, (int file))                                                                          \
  X(nc_sync, (int file))                                                                           \
  X(nc_enddef, (int file))                                                                         \
  X(nc_set_fill, (int file, int mode, int* old))                                                   \
  X(nc_def_dim, (int file, const char* name, size_t len, int* dim))                                \
  X(nc_def_var, (int file, const char* name, int type, int n, const int* dims, int* var))          \
  X(nc_put_att_text, (int file, int var, const char* name, size_t n, const char* text))            \
  X(nc_put_att_string, (int file, int var, const char* name, size_t n, const char** text))         \
  X(nc_put_att_double,                                                                             \
    (int file, int var, const char* name, int type, size_t n, const double* values))               \
  X(nc_put_att_longlong,                                                                           \
    (int file, int var, const char* name, int type, size_t n, const long long* values))            \
  X(nc_put_vara_double,                                                                            \
    (int file, int var, const size_t* start, const size_t* n, const double* values))               \
  X(nc_put_vara_longlong,                                                                          \
    (int file, int var, const size_t* start, const size_t* n, const long long* values))            \
  X(nc_put_vara_string,                                                                            \
    (int file, int var, const size_t* start, const size_t* n, const char** values))                \
  X(nc_inq_dimid, (int file, const char* name, int* dim))                                          \
  X(nc_inq_dimlen, (int file, int dim, size_t* len))                                               \
  X(nc_inq_nvars, (int file, int* n))                                                              \
  X(nc_inq_varid, (int file, const char* name, int* var))                                          \
  X(nc_inq_varname, (int file, int var, char* name))                                               \
  X(nc_inq_vartype, (int file, int var, int* type))                                                \
  X(nc_inq_varndims, (int file, int var, int* n))                                                  \
  X(nc_inq_vardimid, (int file, int var, int* dims))                                               \
  X(nc_inq_varnatts, (int file, int var, int* n))                                                  \
  X(nc_inq_attname, (int file, int var, int i, char* name))                                        \
  X(nc_inq_att, (int file, int var, const char* name, int* type, size_t* n))                       \
  X(nc_get_att_text, (int file, int var, const char* name, char* text))                            \
  X(nc_get_att_string, (int file, int var, const char* name, char** text))                         \
  X(nc_get_att_double, (int file, int var, const char* name, double* values))                      \
  X(nc_get_att_longlong, (int file, int var, const char* name, long long* values))                 \
  X(nc_get_vara_double, (int file, int var, const size_t* start, const size_t* n, double* values)) \
  X(nc_get_vara_string, (int file, int var, const size_t* start, const size_t* n, char** values))  \
  X(nc_free_string, (size_t n, char** texts))

typedef struct cpli_nc {
#define X(name, arguments) int(*name) arguments;
  CPLI_NC_FUNCTIONS(X)
#undef X
  const char* (*nc_strerror)(int status);
} cpli_nc;

// Constants of the binary interface of NetCDF.
enum {
  CPLI_NC_NOWRITE = 0,
  CPLI_NC_NETCDF4 = 0x1000,
  CPLI_NC_NOFILL = 0x100,
  CPLI_NC_GLOBAL = -1,
  CPLI_NC_CHAR = 2,
  CPLI_NC_DOUBLE = 6,
  CPLI_NC_INT64 = 10,
  CPLI_NC_STRING = 12,
  CPLI_NC_MAX_NAME = 256,
  CPLI_NC_MAX_DIMS = 1024,
};

/// The functions of the library.
/// Returns: CPL_ERR_UNSUPPORTED, with what to install, when it cannot be loaded.
cpl_status cpli_nc_load(cpl_context* ctx, const cpli_nc** out);
