// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fuzz targets: each reads bytes nobody vouches for and must come back without a crash or a leak,
// and with a message where it fails. With clang's libFuzzer they search (make fuzz); with any
// compiler they replay their corpus. A target is a file fuzz_NAME.c with a corpus in corpus/NAME:
// there is no other list of them.
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "couplet/base.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#define FUZZ_CHECK(condition)                                                 \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                \
    }                                                                         \
  } while (0)

//------------------------------------ context ------------------------------------

// Messages are written, so that a name in them is read, but go nowhere.
static inline void fuzz_ignore(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)level, (void)who, (void)text;
}

// One for all inputs. What it allocates for one input is a leak when it stays.
static inline cpl_context* fuzz_context(void) {
  static cpl_context* ctx;
  if (ctx != NULL) return ctx;
  cpl_context_def def = cpl_default_context_def();
  def.log = fuzz_ignore;
  def.log_level = CPL_LOG_DEBUG;
  ctx = cpl_context_create(&def);
  FUZZ_CHECK(ctx != NULL);
  return ctx;
}

// Whether it went well; a failure has a message, which FUZZ_SHOW=1 shows.
static inline bool fuzz_fine(cpl_context* ctx, cpl_status st) {
  static int show = -1;
  if (st >= 0) return true;
  if (show < 0) show = getenv("FUZZ_SHOW") != NULL;
  if (show > 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  FUZZ_CHECK(cpl_context_error(ctx)[0] != '\0');
  return false;
}

//------------------------------------ bytes ------------------------------------

// The bytes with a zero behind them, as a file that was read into memory; to be freed.
static inline char* fuzz_text(const uint8_t* data, size_t size) {
  char* text = malloc(size + 1);
  FUZZ_CHECK(text != NULL);
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

static char fuzz_folder[64];  // removed when the process ends

static inline int fuzz_remove(const char* path, const struct stat* info, int kind, struct FTW* at) {
  (void)info, (void)kind, (void)at;
  return remove(path);
}

static inline void fuzz_remove_folder(void) { nftw(fuzz_folder, fuzz_remove, 8, FTW_DEPTH); }

static inline void fuzz_make_folder(void) {
  if (fuzz_folder[0] != '\0') return;
  snprintf(fuzz_folder, sizeof fuzz_folder, "%s/fuzz-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  FUZZ_CHECK(mkdtemp(fuzz_folder) != NULL);
  atexit(fuzz_remove_folder);
}

// The bytes as a file of that name, in a folder of this process; the path is good until the next
// one.
static inline const char* fuzz_file(const char* name, const void* data, size_t size) {
  static char path[128];
  fuzz_make_folder();
  snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  close(fd);
  return path;
}
