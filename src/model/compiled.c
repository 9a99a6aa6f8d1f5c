// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The key of an object is a hash of the preprocessed source, the flags and the compiler. Each
// object in the cache ends with its key and a hash of its bytes, so that a damaged one is
// recognised and compiled again.
#include "model/compiled.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/options.h"
#include "base/process.h"
#include "format/cache.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/hash.h"
#include "tangent/tangent.h"

enum { LARGEST = 1 << 30 };  // maximum size of a text or object in bytes

//------------------------------------ objects ------------------------------------

// A trailer behind the bytes of an object, ignored by loaders: its key and a checksum.
typedef struct seal {
  char mark[16];
  cpli_hash key;
  uint64_t size;  // of the object before it
  cpli_hash content;
} seal;
static_assert(sizeof(seal) == 16 + 16 + 8 + 16, "it is compared byte by byte: without padding");

static seal make_seal(const cpli_hash* key, const char* object, size_t size) {
  seal s = {.mark = "couplet object", .key = *key, .size = size, .content = cpli_hash_begin()};
  cpli_hash_add(&s.content, object, size);
  return s;
}

// Whether a valid object of that key exists. A truncated or foreign one is not valid.
static bool is_there(cpl_context* ctx, const char* target, const cpli_hash* key) {
  char* bytes = NULL;
  size_t size = 0;
  if (access(target, R_OK) != 0) return false;
  bool good = cpli_file_read(ctx, target, LARGEST, &bytes, &size) >= 0 && size > sizeof(seal);
  if (good) {
    const size_t n = size - sizeof(seal);
    const seal expected = make_seal(key, bytes, n);
    good = memcmp(bytes + n, &expected, sizeof expected) == 0;
  }
  if (!good) cpl_log(ctx, CPL_LOG_INFO, target, "is damaged and recompiled");
  cpli_free(ctx, bytes);
  return good;
}

static cpl_status put_there(cpl_context* ctx, const char* target, const cpli_hash* key,
                            const char* object) {
  char* bytes = NULL;
  size_t size = 0;
  cpl_status st = cpli_file_read(ctx, object, LARGEST, &bytes, &size);
  if (st < 0) return st;
  const seal end = make_seal(key, bytes, size);
  char* whole = cpli_realloc(ctx, bytes, size + sizeof end, 1);
  if (whole == NULL) {
    cpli_free(ctx, bytes);
    return cpli_nomem(ctx);
  }
  memcpy(whole + size, &end, sizeof end);
  st = cpli_file_make(ctx, target, whole, size + sizeof end);
  cpli_free(ctx, whole);
  return st;
}

//------------------------------------ compiling ------------------------------------

#define MODEL_FLAGS "-std=c17", "-O2", "-fPIC", "-ffp-contract=off", "-fvisibility=hidden"

// The data of one compilation. The folder is private, so that the text compiled is the text of the
// key.
typedef struct job {
  cpl_context* ctx;
  const char* path;  // of the model
  char* argument;    // the same in a form that compilers accept
  char include[PATH_MAX + 16];
  char* folder;  // temporary
  char text[PATH_MAX + 64], object[PATH_MAX + 64];
  cpli_hash key;
  char* source;  // preprocessed
  size_t source_size;
  cpli_tangent_text tangent;  // compiled behind it
} job;

// Line markers and empty lines are not part of the key: a model that is moved, or gets another
// comment, is the same.
static void hash_text(cpli_hash* key, const char* text, size_t size) {
  for (const char *line = text, *end = text + size; line < end;) {
    const char* next = memchr(line, '\n', (size_t)(end - line));
    next = next != NULL ? next + 1 : end;
    const bool marker = line[0] == '#' && line[1] == ' ' && line[2] >= '0' && line[2] <= '9';
    if (!marker && line[0] != '\n') cpli_hash_add(key, line, (size_t)(next - line));
    line = next;
  }
}

// $CC may be a program that is no compiler.
static cpl_status check_written(const job* j, const char* file) {
  if (access(file, R_OK) == 0) return CPL_OK;
  return cpl_fail(j->ctx, CPL_ERR_INPUT,
                  "%s could not be compiled: the compiler (%s) succeeded, but has written nothing",
                  j->path, getenv("CC") != NULL ? getenv("CC") : "cc");
}

// Whether a text has included couplet/model.h.
static bool is_model(const char* text, size_t size) {
  static const char name[] = "cpl_values";
  const size_t n = sizeof name - 1;
  for (const char *at = text, *end = text + size; at < end; at++) {
    at = memchr(at, name[0], (size_t)(end - at));
    if (at == NULL || (size_t)(end - at) < n) return false;
    if (memcmp(at, name, n) == 0) return true;
  }
  return false;
}

static cpl_status preprocess(job* j) {
  const char* args[] = {
      MODEL_FLAGS, "-DCPL_RECORD_MODEL_VERSION", "-E", "-I", j->include, "-o", j->text, j->argument,
      NULL};
  cpl_status st = cpli_run_compiler(j->ctx, j->path, args);
  if (st >= 0) st = check_written(j, j->text);
  if (st >= 0) st = cpli_file_read(j->ctx, j->text, LARGEST, &j->source, &j->source_size);
  if (st < 0) return st;
  if (!is_model(j->source, j->source_size)) {  // the type of the functions is not declared
    j->tangent.text = cpli_strdup(j->ctx, "");
    return j->tangent.text != NULL ? CPL_OK : cpli_nomem(j->ctx);
  }
  return cpli_uses_differences(j->ctx)
             ? cpli_tangent_none(j->ctx, "differences: --no-ad", &j->tangent)
             : cpli_tangent_make(j->ctx, j->source, j->source_size, &j->tangent);
}

// The text after preprocessing with the tangent functions, the flags and the compiler are the key.
static cpl_status make_key(job* j) {
  static const char* const flags[] = {MODEL_FLAGS};
  char* compiler = NULL;
  cpl_status st = preprocess(j);
  if (st >= 0) st = cpli_compiler_identity(j->ctx, &compiler);
  if (st >= 0) {
    j->key = cpli_hash_begin();
    cpli_hash_add(&j->key, compiler, strlen(compiler) + 1);
    for (size_t i = 0; i < CPLI_COUNT(flags); i++)
      cpli_hash_add(&j->key, flags[i], strlen(flags[i]) + 1);
    hash_text(&j->key, j->source, j->source_size);
    cpli_hash_add(&j->key, j->tangent.text, strlen(j->tangent.text));
  }
  cpli_free(j->ctx, compiler);
  return st;
}

// The tangent functions behind the source.
static cpl_status compile_both(const job* j) {
  const char* args[] = {MODEL_FLAGS, "-shared", "-o", j->object, j->text, "-lm", NULL};
  const size_t n = strlen(j->tangent.text);
  char* both = cpli_alloc(j->ctx, j->source_size + n, 1);
  if (both == NULL) return cpli_nomem(j->ctx);
  memcpy(both, j->source, j->source_size);
  memcpy(both + j->source_size, j->tangent.text, n);
  cpl_status st = cpli_file_make(j->ctx, j->text, both, j->source_size + n);
  cpli_free(j->ctx, both);
  return st < 0 ? st : cpli_run_compiler(j->ctx, j->path, args);
}

static cpl_status compile(job* j, const char* target) {
  cpl_status st = compile_both(j);
  if (st == CPL_ERR_INPUT && j->tangent.any && !cpli_cancelled(j->ctx)) {
    cpli_free(j->ctx, j->tangent.text);
    st = cpli_tangent_none(
        j->ctx, "differences: the compiler does not accept the functions made from its source",
        &j->tangent);
    if (st >= 0) st = compile_both(j);
  }
  if (st >= 0) st = check_written(j, j->object);
  return st < 0 ? st : put_there(j->ctx, target, &j->key, j->object);
}

static cpl_status make(job* j, const char* cache, char** out) {
  cpl_status st = make_key(j);
  if (st < 0) return st;
  *out = cpli_printf(j->ctx, "%s/%016llx%016llx.so", cache, (unsigned long long)j->key.part[0],
                     (unsigned long long)j->key.part[1]);
  if (*out == NULL) return cpli_nomem(j->ctx);
  return is_there(j->ctx, *out, &j->key) ? CPL_OK : compile(j, *out);
}

static cpl_status begin(job* j) {
  const char* data = cpli_data_folder(j->ctx);
  if (data == NULL) return CPL_ERR_INPUT;
  snprintf(j->include, sizeof j->include, "%s/include", data);
  j->argument = cpli_file_argument(j->ctx, j->path);
  if (j->argument == NULL) return cpli_nomem(j->ctx);
  cpl_status st = cpli_temp_folder_make(j->ctx, &j->folder);
  if (st < 0) return st;
  snprintf(j->text, sizeof j->text, "%s/model.i", j->folder);
  snprintf(j->object, sizeof j->object, "%s/model.so", j->folder);
  return CPL_OK;
}

static void end(job* j) {
  if (j->folder != NULL) cpli_temp_folder_remove(j->ctx, j->folder);  // the next run tries again
  cpli_free(j->ctx, j->folder);
  cpli_free(j->ctx, j->argument);
  cpli_free(j->ctx, j->source);
  cpli_free(j->ctx, j->tangent.text);
}

cpl_status cpli_compiled(cpl_context* ctx, const char* path, char** out) {
  char cache[PATH_MAX];
  job j = {.ctx = ctx, .path = path};
  *out = NULL;
  cpl_status st = begin(&j);
  if (st >= 0) st = cpli_cache_folder(ctx, cache, sizeof cache);
  if (st >= 0) st = make(&j, cache, out);
  end(&j);
  if (st >= 0) return CPL_OK;
  cpli_free(ctx, *out);
  *out = NULL;
  return st;
}

cpl_status cpli_compiled_tangent(cpl_context* ctx, const char* path, char** out) {
  job j = {.ctx = ctx, .path = path};
  cpl_status st = begin(&j);
  if (st >= 0) st = preprocess(&j);
  *out = j.tangent.text;
  j.tangent.text = NULL;
  end(&j);
  return st;
}
