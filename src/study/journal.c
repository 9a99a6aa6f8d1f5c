// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The header is written last, so that a study that is killed before leaves a file that counts as
// empty. Checksums contain the number of the case and a hash of the header: neither a slot at the
// wrong place nor one of an earlier study in the same blocks of a disk is taken for a result. The
// file is read in blocks; holes are skipped with SEEK_DATA.
#include "study/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/source_loc.h"

// The beginning of the file; the identity and its final zero follow.
typedef struct header {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  int64_t n;
  uint64_t n_values;
  uint64_t identity_size;  // with the final zero
  uint64_t slots_at, texts_at;
  uint64_t identity_hash;
  uint64_t checksum;  // of what is before
} header;

static const char magic[8] = "cpljrnl\n";
enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, BLOCK_SIZE = 256 * 1024 };
static const uint64_t max_identity = 1 << 24, max_values = 1 << 25;
static const int64_t max_size = INT64_MAX / 4;  // of the file
static const double lock_patience = 1;          // [s]

static_assert(sizeof(header) == 72, "no padding in the file");
static_assert(sizeof(cpli_journal_slot) == 24 && offsetof(cpli_journal_slot, values) == 24,
              "no padding in the file");
static_assert(sizeof(cpli_text_head) == 8, "no padding in the file");

struct cpli_journal {
  cpl_context* ctx;
  cpli_journal_def about;  // its texts are ours
  int fd;
  bool writes;
  bool failed;  // a write failed
  size_t slot_size;
  int64_t slots_at, texts_at;
  int64_t end;   // where the next text goes
  uint64_t key;  // part of all checksums
  // reading: `held` slots from block_first on are in the block
  int64_t at;
  int64_t block_first, held, capacity;
  char *block, *text;
};

#ifdef NDEBUG
#define check_journal(j) ((void)0)
#else
// journal invariants: 1 texts follow the last slot; 2 slots are aligned; 3 the block is a part of
// the slots; 4 a text is written behind the last one.
static void check_journal(const cpli_journal* j) {
  assert(j->texts_at == j->slots_at + j->about.n * (int64_t)j->slot_size);
  assert(j->slots_at % 8 == 0 && j->slot_size % 8 == 0);
  assert(j->held <= j->capacity && j->block_first + j->held <= j->about.n);
  assert(j->at >= 0 && j->at <= j->about.n && j->end >= j->texts_at);
}
#endif

static int64_t offset_of(const cpli_journal* j, int64_t i) {
  return j->slots_at + i * (int64_t)j->slot_size;
}

//------------------------------------ checksums ------------------------------------

static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 32);
}

// Of a multiple of eight bytes.
static uint64_t mix_words(uint64_t h, const void* data, size_t size) {
  const char* p = data;
  uint64_t word;
  for (size_t k = 0; k < size; k += sizeof word) {
    memcpy(&word, p + k, sizeof word);
    h = mix(h, word);
  }
  return h;
}

static uint64_t slot_checksum(const cpli_journal* j, int64_t i, const cpli_journal_slot* s) {
  const size_t head = sizeof s->checksum;
  return mix_words(mix(j->key, (uint64_t)i), (const char*)s + head, j->slot_size - head);
}

static uint64_t text_checksum(const cpli_journal* j, int64_t i, const char* record, size_t size) {
  const size_t head = sizeof(cpli_text_head);
  return mix_words(mix(~j->key, (uint64_t)i), record + head, size - head);
}

static uint64_t text_hash(const char* text, size_t size) {
  uint64_t h = size;
  for (size_t k = 0; k < size; k++) h = mix(h, (unsigned char)text[k]);
  return h;
}

//------------------------------------ input and output ------------------------------------

static cpl_status read_failed(const cpli_journal* j) {
  return cpli_fail_file(j->ctx, CPL_ERR_IO, j->about.path, "cannot be read: %s", strerror(errno));
}

// The number of bytes read, which is less at the end of the file; negative: as errno.
static int64_t read_at(int fd, void* out, size_t size, int64_t at) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, (char*)out + done, size - done, at + (int64_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += (size_t)n;
  }
  return (int64_t)done;
}

static cpl_status write_at(cpli_journal* j, const void* data, size_t size, int64_t at) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pwrite(j->fd, (const char*)data + done, size - done, at + (int64_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      j->failed = true;
      return cpli_fail_file(j->ctx, CPL_ERR_IO, j->about.path, "cannot be written: %s",
                            strerror(n < 0 ? errno : ENOSPC));
    }
    done += (size_t)n;
  }
  return CPL_OK;
}

//------------------------------------ header ------------------------------------

// The places of all parts. False: there is no such journal, because it would be too large.
static bool lay_out(const cpli_journal_def* def, uint64_t identity_size, header* out) {
  if (def->n < 0 || def->n_values > max_values || identity_size > max_identity) return false;
  const uint64_t slot_size = cpli_slot_size(def->n_values);
  if ((uint64_t)def->n > (uint64_t)max_size / slot_size) return false;
  *out = (header){.version = VERSION,
                  .byte_order = BYTE_ORDER_MARK,
                  .n = def->n,
                  .n_values = def->n_values,
                  .identity_size = identity_size,
                  .slots_at = (sizeof *out + identity_size + 63) & ~UINT64_C(63)};
  memcpy(out->magic, magic, sizeof magic);
  out->texts_at = out->slots_at + (uint64_t)def->n * slot_size;
  return true;
}

static void seal(header* h) { h->checksum = mix_words(1, h, offsetof(header, checksum)); }

static cpl_status use_header(cpli_journal* j, const header* h) {
  j->slot_size = cpli_slot_size(h->n_values);
  j->slots_at = (int64_t)h->slots_at;
  j->texts_at = j->end = (int64_t)h->texts_at;
  j->key = h->checksum;
  j->capacity = BLOCK_SIZE / (int64_t)j->slot_size;
  if (j->capacity < 1) j->capacity = 1;
  j->block = cpli_alloc(j->ctx, (size_t)j->capacity, j->slot_size);
  j->text = cpli_alloc(j->ctx, cpli_text_record_size(CPLI_FAILURE_SIZE), 1);
  return j->block != NULL && j->text != NULL ? CPL_OK : cpli_nomem(j->ctx);
}

static cpl_status no_journal(const cpli_journal* j, const char* why) {
  return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path, "it is no journal of a study: %s",
                        why);
}

static cpl_status check_header(const cpli_journal* j, const header* h) {
  header expected;
  const cpli_journal_def def = {.n = h->n, .n_values = h->n_values};
  if (memcmp(h->magic, magic, sizeof magic) != 0)
    return no_journal(j, "it begins with something else");
  if (h->byte_order != BYTE_ORDER_MARK)
    return no_journal(j, "it was written on a machine with another byte order");
  if (h->version != VERSION)
    return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path,
                          "it is a journal of version %u; this couplet has %d", h->version,
                          VERSION);
  if (h->checksum != mix_words(1, h, offsetof(header, checksum)) || h->identity_size == 0 ||
      !lay_out(&def, h->identity_size, &expected) || expected.slots_at != h->slots_at ||
      expected.texts_at != h->texts_at)
    return no_journal(j, "its header is damaged");
  return CPL_OK;
}

// Reads header and identity.
static cpl_status read_header(cpli_journal* j, int64_t file_size) {
  header h = {0};
  int64_t got = read_at(j->fd, &h, sizeof h, 0);
  if (got < 0) return read_failed(j);
  if (got < (int64_t)sizeof h) return no_journal(j, "it is too short");
  cpl_status st = check_header(j, &h);
  if (st < 0) return st;
  if (file_size < (int64_t)(sizeof h + h.identity_size)) return no_journal(j, "it is too short");
  char* identity = cpli_alloc(j->ctx, h.identity_size, 1);
  if (identity == NULL) return cpli_nomem(j->ctx);
  j->about.identity = identity;
  got = read_at(j->fd, identity, h.identity_size, sizeof h);
  if (got < 0) return read_failed(j);
  if (identity[h.identity_size - 1] != '\0' ||
      text_hash(identity, h.identity_size) != h.identity_hash)
    return no_journal(j, "its header is damaged");
  j->about.n = h.n;
  j->about.n_values = h.n_values;
  st = use_header(j, &h);
  if (file_size > j->end) j->end = (file_size + 7) & ~INT64_C(7);
  return st;
}

// The header comes last: what is incomplete has none.
static cpl_status write_header(cpli_journal* j, const cpli_journal_def* def) {
  header h;
  const size_t size = strlen(def->identity) + 1;
  if (!lay_out(def, size, &h))
    return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path,
                          "a journal of %" PRId64 " cases of %zu values is too large", def->n,
                          def->n_values);
  h.identity_hash = text_hash(def->identity, size);
  seal(&h);
  j->about.n = def->n;
  j->about.n_values = def->n_values;
  j->about.identity = cpli_strdup(j->ctx, def->identity);
  if (j->about.identity == NULL) return cpli_nomem(j->ctx);
  if (ftruncate(j->fd, 0) != 0)
    return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path, "cannot be written: %s",
                          strerror(errno));
  cpl_status st = write_at(j, def->identity, size, sizeof h);
  if (st >= 0) st = write_at(j, &h, sizeof h, 0);
  return st < 0 ? st : use_header(j, &h);
}

//------------------------------------ another study ------------------------------------

// The first line in which two texts differ; its length is cut for messages.
static void differing_line(const char** a, int* n_a, const char** b, int* n_b) {
  const char *x = *a, *y = *b;
  for (;;) {
    const size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
    const bool same = n == m && strncmp(x, y, n) == 0;
    *a = x, *b = y;
    *n_a = n < 160 ? (int)n : 160, *n_b = m < 160 ? (int)m : 160;
    if (!same || x[n] == '\0' || y[m] == '\0') {
      if (same) *a += n, *b += m, *n_a = *n_b = 0;  // one text is the beginning of the other
      if (same && **a == '\n') *a += 1, *n_a = (int)strcspn(*a, "\n");
      if (same && **b == '\n') *b += 1, *n_b = (int)strcspn(*b, "\n");
      return;
    }
    x += n + 1, y += m + 1;
  }
}

static cpl_status check_same(const cpli_journal* j, const cpli_journal_def* def) {
  static const char text[] = "it is the journal of another study";
  const cpli_journal_def* have = &j->about;
  if (strcmp(have->identity, def->identity) != 0) {
    const char *there = have->identity, *here = def->identity;
    int n_there, n_here;
    differing_line(&there, &n_there, &here, &n_here);
    return cpli_fail_file(j->ctx, CPL_ERR_INPUT, have->path, "%s: there \"%.*s\", here \"%.*s\"",
                          text, n_there, there, n_here, here);
  }
  if (have->n != def->n)
    return cpli_fail_file(j->ctx, CPL_ERR_INPUT, have->path,
                          "%s: of %" PRId64 " cases, while this one has %" PRId64, text, have->n,
                          def->n);
  if (have->n_values != def->n_values)
    return cpli_fail_file(j->ctx, CPL_ERR_INPUT, have->path,
                          "%s: with %zu values per case, while this one has %zu", text,
                          have->n_values, def->n_values);
  return CPL_OK;
}

//------------------------------------ opening ------------------------------------

static cpl_status cannot_be_made(const cpli_journal* j) {
  return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path, "cannot be written: %s",
                        strerror(errno));
}

// A worker that was forked when its coordinator was killed has the lock until it has closed its
// files: it is given time for that.
static cpl_status lock_file(const cpli_journal* j) {
  const double until = cpli_now() + lock_patience;
  const struct timespec pause = {.tv_nsec = 10000000};
  while (flock(j->fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      cpl_log(j->ctx, CPL_LOG_DEBUG, j->about.path, "cannot be locked: %s", strerror(errno));
      return CPL_OK;  // without locks of the file system a second study is not detected
    }
    if (cpli_now() > until || cpli_cancelled(j->ctx))
      return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path,
                            "another study is writing this journal");
    nanosleep(&pause, NULL);
  }
  return CPL_OK;
}

// Opens and locks the file; between both, the study that had the lock may have removed it.
static cpl_status open_locked(cpli_journal* j, struct stat* info) {
  for (;;) {
    j->fd = open(j->about.path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0 || fstat(j->fd, info) != 0) return cannot_be_made(j);
    if (!S_ISREG(info->st_mode))
      return cpli_fail_file(j->ctx, CPL_ERR_INPUT, j->about.path,
                            "a journal has to be a regular file");
    cpl_status st = lock_file(j);
    if (st < 0) return st;
    if (fstat(j->fd, info) != 0) return cannot_be_made(j);
    if (info->st_nlink > 0) return CPL_OK;
    close(j->fd);
  }
}

// Whether the file has no header yet; a file of others is never overwritten.
static cpl_status is_empty(const cpli_journal* j, int64_t file_size, bool* empty) {
  static const char none[sizeof magic];
  char begin[sizeof magic] = "";
  *empty = file_size == 0;
  if (*empty) return CPL_OK;
  if (read_at(j->fd, begin, sizeof begin, 0) < 0) return read_failed(j);
  *empty = memcmp(begin, none, sizeof none) == 0;
  if (*empty || memcmp(begin, magic, sizeof magic) == 0) return CPL_OK;
  return no_journal(j, "it begins with something else");
}

static cpl_status begin_writing(cpli_journal* j, const cpli_journal_def* def, bool resume) {
  struct stat info;
  bool empty;
  cpl_status st = open_locked(j, &info);
  if (st >= 0) st = is_empty(j, info.st_size, &empty);
  if (st < 0) return st;
  if (empty || !resume) return write_header(j, def);
  st = read_header(j, info.st_size);
  return st < 0 ? st : check_same(j, def);
}

static cpli_journal* make_journal(cpl_context* ctx, const char* path) {
  cpli_journal* j = cpli_alloc(ctx, 1, sizeof *j);
  if (j == NULL) return NULL;
  j->ctx = ctx;
  j->fd = -1;
  j->about.path = cpli_strdup(ctx, path);
  if (j->about.path != NULL) return j;
  cpli_free(ctx, j);
  return NULL;
}

static cpl_status finish_open(cpli_journal* j, cpl_status st, cpli_journal** out) {
  *out = NULL;
  if (st < 0) {
    cpli_journal_close(j);
    return st;
  }
  check_journal(j);
  *out = j;
  return CPL_OK;
}

cpl_status cpli_journal_open_write(cpl_context* ctx, const cpli_journal_def* def, bool resume,
                                   cpli_journal** out) {
  *out = NULL;
  cpli_journal* j = make_journal(ctx, def->path);
  if (j == NULL) return cpli_nomem(ctx);
  j->writes = true;
  return finish_open(j, begin_writing(j, def, resume), out);
}

cpl_status cpli_journal_open_read(cpl_context* ctx, const char* path, cpli_journal** out) {
  struct stat info;
  *out = NULL;
  cpli_journal* j = make_journal(ctx, path);
  if (j == NULL) return cpli_nomem(ctx);
  cpl_status st;
  j->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (j->fd < 0 || fstat(j->fd, &info) != 0)
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "cannot be read: %s", strerror(errno));
  else if (!S_ISREG(info.st_mode)) st = no_journal(j, "it is no regular file");
  else st = read_header(j, info.st_size);
  return finish_open(j, st, out);
}

const cpli_journal_def* cpli_journal_about(const cpli_journal* j) { return &j->about; }

cpl_status cpli_journal_close(cpli_journal* j) {
  if (j == NULL) return CPL_OK;
  cpl_context* ctx = j->ctx;
  cpl_status st = CPL_OK;
  if (j->fd >= 0) {
    if (j->writes) flock(j->fd, LOCK_UN);  // processes that a model has started may have it open
    // some file systems report a full disk only here
    if (close(j->fd) != 0 && errno != EINTR && j->writes && !j->failed)
      st = cpli_fail_file(ctx, CPL_ERR_IO, j->about.path, "cannot be written: %s", strerror(errno));
  }
  cpli_free(ctx, j->block);
  cpli_free(ctx, j->text);
  cpli_free(ctx, (char*)j->about.identity);
  cpli_free(ctx, (char*)j->about.path);
  cpli_free(ctx, j);
  return st;
}

//------------------------------------ writing ------------------------------------

static void seal_text(const cpli_journal* j, int64_t i, const cpli_journal_slot* s, char* texts,
                      size_t texts_size) {
  const size_t size = cpli_text_record_size(s->text_length);
  assert(s->text_length < CPLI_FAILURE_SIZE && s->text_at % 8 == 0);
  assert(s->text_at <= texts_size && size <= texts_size - s->text_at);
  (void)texts_size;
  char* record = texts + s->text_at;
  const cpli_text_head head = {text_checksum(j, i, record, size)};
  memcpy(record, &head, sizeof head);
}

cpl_status cpli_journal_write(cpli_journal* j, int64_t first, int64_t count, void* slots,
                              char* texts, size_t texts_size) {
  assert(j->writes && first >= 0 && count <= j->about.n - first && texts_size % 8 == 0);
  for (int64_t k = 0; k < count; k++) {
    cpli_journal_slot* s = (cpli_journal_slot*)(void*)((char*)slots + (size_t)k * j->slot_size);
    assert(s->state == CPLI_SLOT_DONE || s->state == CPLI_SLOT_FAILED);
    if (s->state == CPLI_SLOT_FAILED) {
      seal_text(j, first + k, s, texts, texts_size);
      s->text_at += (uint64_t)j->end;
    }
    s->checksum = slot_checksum(j, first + k, s);
  }
  cpl_status st = CPL_OK;
  if (texts_size > 0) st = write_at(j, texts, texts_size, j->end);
  if (st < 0) return st;
  j->end += (int64_t)texts_size;
  check_journal(j);
  return write_at(j, slots, (size_t)count * j->slot_size, offset_of(j, first));
}

//------------------------------------ reading ------------------------------------

// *done: the slot has a result. The text of a failure is then in j->text.
static cpl_status check_slot(cpli_journal* j, int64_t i, const cpli_journal_slot* s, bool* done) {
  *done = false;
  if (s->state == 0 || s->checksum != slot_checksum(j, i, s)) return CPL_OK;
  *done = s->state == CPLI_SLOT_DONE;
  if (s->state != CPLI_SLOT_FAILED) return CPL_OK;
  const size_t size = cpli_text_record_size(s->text_length);
  if (s->text_length >= CPLI_FAILURE_SIZE || s->text_at < (uint64_t)j->texts_at ||
      s->text_at > (uint64_t)INT64_MAX - size)
    return CPL_OK;
  const int64_t got = read_at(j->fd, j->text, size, (int64_t)s->text_at);
  if (got < 0) return read_failed(j);
  cpli_text_head head;
  memcpy(&head, j->text, sizeof head);
  *done = got == (int64_t)size && head.checksum == text_checksum(j, i, j->text, size) &&
          j->text[sizeof head + s->text_length] == '\0';
  return CPL_OK;
}

// The first slot from j->at on that is in no hole; the number of slots where there is none.
static int64_t end_of_hole(const cpli_journal* j) {
  const int64_t at = offset_of(j, j->at);
  const int64_t data = lseek(j->fd, at, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? j->about.n : j->at;  // otherwise holes are unknown
  if (data <= at) return j->at;
  const int64_t i = (data - j->slots_at) / (int64_t)j->slot_size;
  return i < j->about.n ? i : j->about.n;
}

// The slot j->at, or NULL and the end of a hole that it is in.
static cpl_status look(cpli_journal* j, const cpli_journal_slot** slot, int64_t* hole_end) {
  *slot = NULL;
  if (j->at < j->block_first || j->at >= j->block_first + j->held) {
    if (cpli_cancelled(j->ctx))
      return cpli_fail_file(j->ctx, CPL_ERR_CANCELLED, j->about.path, "interrupted");
    *hole_end = end_of_hole(j);
    if (*hole_end > j->at) return CPL_OK;
    const int64_t left = j->about.n - j->at;
    const int64_t n = left < j->capacity ? left : j->capacity;
    const size_t size = (size_t)n * j->slot_size;
    j->held = 0;
    const int64_t got = read_at(j->fd, j->block, size, offset_of(j, j->at));
    if (got < 0) return read_failed(j);
    memset(j->block + got, 0, size - (size_t)got);  // the file ends before
    j->block_first = j->at;
    j->held = n;
    check_journal(j);
  }
  *slot = (const cpli_journal_slot*)(const void*)(j->block +
                                                  (size_t)(j->at - j->block_first) * j->slot_size);
  return CPL_OK;
}

void cpli_journal_rewind(cpli_journal* j) {
  j->at = 0;
  j->held = 0;
}

// Behind the next case that is done, whose slot is then *slot; NULL: there is none.
static cpl_status next_done(cpli_journal* j, const cpli_journal_slot** slot) {
  while (j->at < j->about.n) {
    int64_t hole_end;
    bool done = false;
    cpl_status st = look(j, slot, &hole_end);
    if (st >= 0 && *slot != NULL) st = check_slot(j, j->at, *slot, &done);
    if (st < 0) return st;
    j->at = *slot != NULL ? j->at + 1 : hole_end;
    if (done) return CPL_OK;
  }
  *slot = NULL;
  return CPL_OK;
}

cpl_status cpli_journal_next(cpli_journal* j, cpli_case_result* out) {
  const cpli_journal_slot* s;
  *out = (cpli_case_result){.i = -1};
  cpl_status st = next_done(j, &s);
  if (st < 0 || s == NULL) return st;
  const bool failed = s->state == CPLI_SLOT_FAILED;
  out->i = j->at - 1;
  out->values = failed ? NULL : s->values;
  out->failure = failed ? j->text + sizeof(cpli_text_head) : NULL;
  return CPL_OK;
}

cpl_status cpli_journal_count(cpli_journal* j, int64_t* done, int64_t* failed) {
  *done = *failed = 0;
  cpli_journal_rewind(j);
  for (;;) {
    const cpli_journal_slot* s;
    cpl_status st = next_done(j, &s);
    if (st < 0) return st;
    if (s == NULL) break;
    *done += 1;
    *failed += s->state == CPLI_SLOT_FAILED;
  }
  cpli_journal_rewind(j);
  return CPL_OK;
}

cpl_status cpli_journal_next_gap(cpli_journal* j, int64_t* first, int64_t* end) {
  const cpli_journal_slot* s;
  int64_t hole_end;
  bool in_gap = false;
  for (; j->at < j->about.n; j->at++) {
    // a gap ends with the block, so that it can be handed out before more is read
    if (in_gap && j->at >= j->block_first + j->held) break;
    bool done = false;
    cpl_status st = look(j, &s, &hole_end);
    if (st >= 0 && s != NULL) st = check_slot(j, j->at, s, &done);
    if (st < 0) return st;
    if (s == NULL) {
      *first = j->at;
      *end = j->at = hole_end;
      return CPL_OK;
    }
    if (in_gap && done) break;
    if (!in_gap && !done) *first = j->at;
    in_gap = in_gap || !done;
  }
  if (!in_gap) *first = j->at;
  *end = j->at;
  return CPL_OK;
}

//------------------------------------ tests ------------------------------------

void cpli_journal_seal(void* bytes, size_t size) {
  header h, expected;
  char* p = bytes;
  if (size < sizeof h) return;
  memcpy(&h, p, sizeof h);
  const cpli_journal_def def = {.n = h.n, .n_values = h.n_values};
  if (!lay_out(&def, h.identity_size, &expected)) return;
  h.slots_at = expected.slots_at;
  h.texts_at = expected.texts_at;
  if (h.identity_size <= size - sizeof h)
    h.identity_hash = text_hash(p + sizeof h, h.identity_size);
  seal(&h);
  memcpy(p, &h, sizeof h);
  const cpli_journal j = {.key = h.checksum, .slot_size = cpli_slot_size(h.n_values)};
  for (int64_t i = 0; i < h.n; i++) {
    const uint64_t at = h.slots_at + (uint64_t)i * j.slot_size;
    if (at > size || size - at < j.slot_size) return;
    cpli_journal_slot* s = (cpli_journal_slot*)(void*)(p + at);
    const size_t record = cpli_text_record_size(s->text_length % CPLI_FAILURE_SIZE);
    if (s->state == CPLI_SLOT_FAILED && s->text_at % 8 == 0 && s->text_at >= h.texts_at &&
        s->text_at <= size && record <= size - s->text_at) {
      const cpli_text_head head = {text_checksum(&j, i, p + s->text_at, record)};
      memcpy(p + s->text_at, &head, sizeof head);
    }
    s->checksum = slot_checksum(&j, i, s);
  }
}
