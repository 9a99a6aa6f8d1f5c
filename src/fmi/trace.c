// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The call log: "TIME INSTANCE FUNCTION(arguments) -> STATUS results", one line per call. The first
// half is on disk before the call is made, so that a crash leaves its cause as the last line. A
// call that is made inside of another one, from a callback of the FMU, stands on a line of its own,
// and the outer one is written again with its result. Calls of FMUs that share a log wait for each
// other, in threads and in processes.
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "fmi/calls.h"

enum { MOST = 20 };  // values of an array that are written out

static void put_real(FILE* out, double value) {
  char text[32];
  for (int digits = 15; digits <= 17; digits++) {  // the shortest that reads back the same
    snprintf(text, sizeof text, "%.*g", digits, value);
    double back = 0;
    if (sscanf(text, "%lf", &back) == 1 && (back == value || isnan(value))) break;
  }
  fputs(text, out);
}

static void put_text(FILE* out, const char* text) {
  if (text == NULL) {
    fputs("NULL", out);
    return;
  }
  fputc('"', out);
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    if (*text == '\n') fputs("\\n", out);
    if (*text != '\n') fputc(*text, out);
  }
  fputc('"', out);
}

static void put_array(FILE* out, char type, const void* values, size_t n) {
  fputc('[', out);
  for (size_t i = 0; i < n && i < MOST; i++) {
    if (i > 0) fputs(", ", out);
    switch (type) {
      case 'R': fprintf(out, "%u", ((const uint32_t*)values)[i]); break;
      case 'I': fprintf(out, "%d", ((const int*)values)[i]); break;
      case 'U': fprintf(out, "%u", ((const uint32_t*)values)[i]); break;
      case 'b': fprintf(out, "%d", ((const int8_t*)values)[i]); break;
      case 'B': fprintf(out, "%d", ((const uint8_t*)values)[i]); break;
      case 'h': fprintf(out, "%d", ((const int16_t*)values)[i]); break;
      case 'H': fprintf(out, "%d", ((const uint16_t*)values)[i]); break;
      case 'l': fprintf(out, "%" PRId64, ((const int64_t*)values)[i]); break;
      case 'L': fprintf(out, "%" PRIu64, ((const uint64_t*)values)[i]); break;
      case 'T': fprintf(out, "%d", ((const bool*)values)[i]); break;
      case 'F': put_real(out, (double)((const float*)values)[i]); break;
      case 'X': fprintf(out, "%zu bytes", ((const size_t*)values)[i]); break;
      case 'D': put_real(out, ((const double*)values)[i]); break;
      default: put_text(out, ((const char* const*)values)[i]); break;
    }
  }
  if (n > MOST) fprintf(out, ", ... %zu in all", n);
  fputc(']', out);
}

static void put_values(FILE* out, const char* types, const char* between, va_list args) {
  for (const char* at = types; *at != '\0'; at++) {
    if (at > types) fputs(between, out);
    switch (*at) {
      case 'd': put_real(out, va_arg(args, double)); break;
      case 'i': fprintf(out, "%d", va_arg(args, int)); break;
      case 's': put_text(out, va_arg(args, const char*)); break;
      default: {
        const void* values = va_arg(args, const void*);
        put_array(out, *at, values, va_arg(args, size_t));
      }
    }
  }
}

static void lock(const cpli_fmu_instance* in, short how) {
  FILE* out = in->fmu->call_log;
  struct flock range = {.l_type = how, .l_whence = SEEK_SET, .l_len = 1};
  if (!in->fmu->shares_log || in->depth > 1) return;
  if (how == F_WRLCK) flockfile(out);
  fcntl(fileno(out), F_SETLKW, &range);  // without it, lines of processes may mix
  if (how == F_UNLCK) funlockfile(out);
}

static void put_head(const cpli_fmu_instance* in, const char* function) {
  FILE* out = in->fmu->call_log;
  if (isnan(in->time)) {
    fputc('-', out);
  } else {
    put_real(out, in->time);
  }
  const char* prefix = in->fmu->log_prefix != NULL ? in->fmu->log_prefix : "";
  fprintf(out, " %s%s %s", prefix, in->name, function);
}

void cpli_trace_begin(cpli_fmu_instance* in, const char* function, const char* types, ...) {
  FILE* out = in->fmu->call_log;
  lock(in, F_WRLCK);
  if (in->depth > 1 && !in->interrupted) fputc('\n', out);
  in->interrupted = false;
  put_head(in, function);
  fputc('(', out);
  va_list args;
  va_start(args, types);
  put_values(out, types, ", ", args);
  va_end(args);
  fputc(')', out);
  fflush(out);
}

void cpli_trace_end(cpli_fmu_instance* in, const char* function, int status, const char* types,
                    ...) {
  FILE* out = in->fmu->call_log;
  char name[32];
  if (in->interrupted) put_head(in, function);
  in->interrupted = in->depth > 1;
  fprintf(out, " -> %s", cpli_status_name(in, status, name, sizeof name));
  if (types[0] != '\0') fputc(' ', out);
  va_list args;
  va_start(args, types);
  put_values(out, types, " ", args);
  va_end(args);
  fputc('\n', out);
  fflush(out);
  lock(in, F_UNLCK);
}
