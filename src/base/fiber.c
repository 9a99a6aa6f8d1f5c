// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Stacks are mapped in slabs, each with a page below it that must not be touched; memory that is
// never touched costs nothing. A fiber is at the upper end of its own stack, and keeps its function
// for the next item. Stacks are exchanged by jumps, which need no system calls; sanitizers are told
// of every exchange, and ThreadSanitizer understands those of contexts only.
#undef _FORTIFY_SOURCE  // which takes a jump to another stack for an error
#include "base/fiber.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log_queue.h"
#include "base/ranks.h"
#include "base/shared.h"
#include "base/thread_pool.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#elif defined(__SANITIZE_THREAD__)
#define WITH_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#elif __has_feature(thread_sanitizer)
#define WITH_TSAN
#endif
#endif
#if defined(__CET__) && (__CET__ & 2)
#define WITH_SHADOW_STACKS  // jumps stay on one of them
#endif
#if !defined(WITH_TSAN) && !defined(WITH_SHADOW_STACKS)
#define BY_JUMPS
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef CPL_VALGRIND
#include <valgrind/valgrind.h>
#endif

enum {
  STACK = 256 << 10,  // an integrator with its models fits
  MOST = 16384,       // stacks of a context
};
static const double slice = 0.01;          // between checks of those that wait [s]
static const double longest_pause = 1e-4;  // where no bell rings [s]
static const double looks_again = 1e-5;    // at items, while nothing is received [s]
static const double between_looks = 5e-5;  // of a thread with other work [s]

typedef struct cpli_slab {
  struct cpli_slab* next;
  size_t size;
} slab;

struct cpli_fiber {
  cpli_fiber* next;
#ifdef BY_JUMPS
  jmp_buf inside, outside;
  bool begun;
#endif
  ucontext_t self, back;
  cpli_fibers* group;
  int32_t item;
  bool ended;
  bool (*ready)(const void* arg);
  const void* arg;
  double until;
  cpli_fiber* outer;
  bool defers;
  cpl_status (*send)(void* arg);  // deferred calls. Nullable
  void* sent;
  cpli_error* errors;
  cpli_log_queue* messages;
  char* bottom;  // of the stack
  size_t size;
#ifdef WITH_ASAN
  void *fake, *fake_back;
  const void* bottom_back;
  size_t size_back;
#endif
#ifdef WITH_TSAN
  void *state, *state_back;
#endif
};

static _Thread_local cpli_fiber* current;
static _Thread_local cpli_waits waits;

static cpli_stacks* stacks_of(cpl_context* ctx) { return &cpli_context_slot(ctx)->stacks; }

//------------------------------------ stacks ------------------------------------

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // of the stacks of all contexts

static bool add_slab(cpli_stacks* s, int32_t n) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), one = STACK + page;
  const size_t size = page + (size_t)n * one;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, size, MADV_NOHUGEPAGE);
  slab* all = (slab*)(void*)memory;
  *all = (slab){s->slabs, size};
  s->slabs = all;
  for (int32_t i = 0; i < n; i++) {
    char* bottom = memory + page + (size_t)i * one;
    mprotect(bottom, page, PROT_NONE);
    const size_t apart = (size_t)(i % 16) * 256;  // not all in the same lines of caches
    cpli_fiber* f = (cpli_fiber*)(void*)(bottom + one - (sizeof *f + 63) / 64 * 64 - apart);
    f->bottom = bottom + page;
    f->size = (size_t)((char*)f - f->bottom);
    f->next = s->free;
    s->free = f;
#ifdef CPL_VALGRIND
    VALGRIND_STACK_REGISTER(f->bottom, (char*)f);
#endif
  }
  s->n += n;
  return true;
}

cpl_status cpli_stacks_join(cpl_context* ctx, int32_t n) {
  cpli_stacks* s = stacks_of(ctx);
  bool fine = true;
  pthread_mutex_lock(&mutex);
  const int32_t more = (n < MOST ? n : MOST) - s->n;
  if (more > 0) fine = add_slab(s, more);
  if (fine) s->wanted += n;
  pthread_mutex_unlock(&mutex);
  return fine ? CPL_OK : cpli_nomem(ctx);
}

void cpli_stacks_leave(cpl_context* ctx, int32_t n) {
  cpli_stacks* s = stacks_of(ctx);
  pthread_mutex_lock(&mutex);
  s->wanted -= n;
  assert(s->wanted >= 0);
  while (s->wanted == 0 && s->slabs != NULL) {
    slab* last = s->slabs;
    s->slabs = last->next;
    munmap(last, last->size);
  }
  if (s->wanted == 0) s->free = NULL, s->n = 0;
  pthread_mutex_unlock(&mutex);
}

static cpli_fiber* take_stack(cpli_stacks* s) {
  pthread_mutex_lock(&mutex);
  cpli_fiber* f = s->free;
  if (f != NULL) s->free = f->next;
  pthread_mutex_unlock(&mutex);
  return f;
}

static void give_stack(cpli_stacks* s, cpli_fiber* f) {
  pthread_mutex_lock(&mutex);
  f->next = s->free;
  s->free = f;
  pthread_mutex_unlock(&mutex);
}

//------------------------------------ exchanging stacks ------------------------------------

static void before_entering(cpli_fiber* f) {
#ifdef WITH_ASAN
  __sanitizer_start_switch_fiber(&f->fake_back, f->bottom, f->size);
#endif
#ifdef WITH_TSAN
  f->state_back = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(f->state, 0);
#endif
  (void)f;
}

static void after_entering(cpli_fiber* f) {
#ifdef WITH_ASAN
  __sanitizer_finish_switch_fiber(f->fake, &f->bottom_back, &f->size_back);
#endif
  (void)f;
}

static void before_leaving(cpli_fiber* f, bool last) {
#ifdef WITH_ASAN
  __sanitizer_start_switch_fiber(last ? NULL : &f->fake, f->bottom_back, f->size_back);
#endif
#ifdef WITH_TSAN
  __tsan_switch_to_fiber(f->state_back, 0);
#endif
  (void)f, (void)last;
}

static void after_leaving(cpli_fiber* f) {
#ifdef WITH_ASAN
  __sanitizer_finish_switch_fiber(f->fake_back, NULL, NULL);
#endif
  (void)f;
}

// Each has two places where it returns: the first time, and when control comes back.
static void leave(cpli_fiber* f, bool last) {
  before_leaving(f, last);
#ifdef BY_JUMPS
  if (_setjmp(f->inside) == 0) _longjmp(f->outside, 1);
#else
  swapcontext(&f->self, &f->back);
#endif
  after_entering(f);
}

static void exchange(cpli_fiber* f) {
  before_entering(f);
#ifdef BY_JUMPS
  if (_setjmp(f->outside) == 0) {
    if (f->begun) _longjmp(f->inside, 1);
    f->begun = true;
    setcontext(&f->self);
  }
#else
  swapcontext(&f->back, &f->self);
#endif
  after_leaving(f);
}

// Of one item after the other, where stacks are exchanged by jumps.
static void begin(void) {
  cpli_fiber* f = current;
  after_entering(f);
  for (;;) {
    f->group->work(f->group->user, f->item);
    f->ended = true;
    leave(f, true);
  }
}

// Failures and messages go where the fiber wants them while it runs.
static void enter(cpli_fiber* f) {
  f->outer = current;
  cpli_error* errors = cpli_exchange_diversion(f->errors);
  cpli_log_queue* messages = cpli_queue_log(f->messages);
  current = f;
  exchange(f);
  current = f->outer;
  f->messages = cpli_queue_log(messages);
  f->errors = cpli_exchange_diversion(errors);
}

static void make_context(cpli_fiber* f) {
  getcontext(&f->self);
  f->self.uc_stack = (stack_t){.ss_sp = f->bottom, .ss_size = f->size};
  f->self.uc_link = NULL;
  makecontext(&f->self, begin, 0);
}

static void make(cpli_fiber* f, cpli_fibers* group, int32_t item, bool defers) {
  f->defers = defers;
  f->send = NULL;
  f->group = group;
  f->item = item;
  f->ended = false;
  f->next = NULL;
  f->errors = cpli_exchange_diversion(NULL);  // as those of the caller
  cpli_exchange_diversion(f->errors);
  f->messages = cpli_queue_log(NULL);
  cpli_queue_log(f->messages);
#ifdef BY_JUMPS
  if (!f->begun) make_context(f);
#else
  make_context(f);
#endif
#ifdef WITH_ASAN
  f->fake = NULL;
#endif
#ifdef WITH_TSAN
  f->state = __tsan_create_fiber(0);
#endif
}

static void release(cpli_fiber* f) {
#ifdef WITH_TSAN
  __tsan_destroy_fiber(f->state);
#endif
  give_stack(stacks_of(f->group->ctx), f);
}

//------------------------------------ waiting ------------------------------------

typedef struct bell {
  _Atomic uint32_t count;
  _Atomic uint32_t sleepers;
} bell;
static bell* the_bell;  // one for the process and those forked from it
static pthread_once_t bell_once = PTHREAD_ONCE_INIT;

static void make_bell(void) {
  void* memory =
      mmap(NULL, sizeof(bell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) the_bell = memory;
}

void cpli_bell_make(void) { pthread_once(&bell_once, make_bell); }

void cpli_bell_ring(void) {
  bell* b = the_bell;
  if (b == NULL || atomic_load(&b->sleepers) == 0) return;
  atomic_fetch_add(&b->count, 1);
  syscall(SYS_futex, &b->count, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool is_due(const cpli_fiber* f, double now) { return f->ready(f->arg) || now >= f->until; }

static bool any_due(const void* group) {
  const cpli_fibers* g = group;
  const double now = cpli_now();
  for (const cpli_fiber* f = g->first; f != NULL; f = f->next)
    if (is_due(f, now)) return true;
  return false;
}

static void sleep_on_bell(const cpli_fibers* g) {
  bell* b = the_bell;
  const struct timespec pause = {.tv_nsec = (long)(1e9 * slice)};
  const uint32_t count = b != NULL ? atomic_load(&b->count) : 0;
  if (b != NULL) atomic_fetch_add(&b->sleepers, 1);
  if (!any_due(g)) {
    if (b != NULL) syscall(SYS_futex, &b->count, FUTEX_WAIT, count, &pause, NULL, 0);
    else nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * longest_pause)}, NULL);
  }
  if (b != NULL) atomic_fetch_sub(&b->sleepers, 1);
}

// Many may wait for the same message: they are looked at when one was received, or after a while.
static void receive(const cpli_fiber_watch* watch, double began) {
  const double until = cpli_now() + looks_again;
  while (!watch->poll(watch->user)) {
    const double now = cpli_now();
    cpli_ranks_pause(now - began);
    if (now >= until) return;
  }
}

// Until one of them can go on. Rare answers must not occupy a processor.
static void wait_for_any(const cpli_fibers* g) {
  const cpli_fiber_watch* watch = &stacks_of(g->ctx)->watch;
  const double began = cpli_now();
  const double spin = cpli_waits_spin(&waits);
  if (watch->flush != NULL) watch->flush(watch->user);
  while (!any_due(g)) {
    if (watch->poll != NULL) receive(watch, began);
    else if (cpli_now() >= began + spin) sleep_on_bell(g);
  }
  cpli_waits_note(&waits, spin, cpli_now() - began);
}

bool cpli_in_fiber(void) { return current != NULL; }

bool cpli_fiber_wait(bool (*ready)(const void* arg), const void* arg, double seconds) {
  cpli_fiber* f = current;
  assert(f != NULL);
  f->ready = ready;
  f->arg = arg;
  f->until = cpli_now() + seconds;
  leave(f, false);
  return ready(arg);
}

//------------------------------------ deferred calls ------------------------------------

bool cpli_fiber_defers(void) { return current != NULL && current->defers; }

void cpli_fiber_defer(cpl_status (*send)(void* arg), void* arg) {
  if (current == NULL) return;
  current->send = send;
  current->sent = arg;
}

cpl_status cpli_fiber_end_deferral(void) {
  if (current == NULL || current->send == NULL) return CPL_OK;
  cpl_status (*send)(void* arg) = current->send;
  current->send = NULL;
  return send(current->sent);
}

//------------------------------------ groups ------------------------------------

void cpli_fibers_start(cpli_fibers* g, int32_t item, bool defers) {
  cpli_fiber* f = take_stack(stacks_of(g->ctx));
  while (f == NULL && g->first != NULL) {
    wait_for_any(g);
    cpli_fibers_go_on(g);
    f = take_stack(stacks_of(g->ctx));
  }
  if (f == NULL) {
    g->work(g->user, item);
    return;
  }
  make(f, g, item, defers);
  enter(f);
  if (f->ended) {
    release(f);
    return;
  }
  if (g->first == NULL) g->first = f;
  else g->last->next = f;
  g->last = f;
}

void cpli_fibers_go_on(cpli_fibers* g) {
  const double now = cpli_now();
  cpli_fiber** at = &g->first;
  g->last = NULL;
  while (*at != NULL) {
    cpli_fiber* f = *at;
    if (is_due(f, now)) enter(f);
    if (f->ended) {
      *at = f->next;
      release(f);
      continue;
    }
    g->last = f;
    at = &f->next;
  }
}

void cpli_fibers_send(const cpli_fibers* g) {
  const cpli_fiber_watch* watch = &stacks_of(g->ctx)->watch;
  if (watch->flush != NULL) watch->flush(watch->user);
}

void cpli_fibers_look(cpli_fibers* g) {
  const cpli_fiber_watch* watch = &stacks_of(g->ctx)->watch;
  if (g->first == NULL || cpli_now() < g->next_look) return;
  if (watch->poll != NULL) watch->poll(watch->user);
  cpli_fibers_go_on(g);
  g->next_look = cpli_now() + between_looks;
}

// Within an item of another group the items of that one go on meanwhile.
void cpli_fibers_wait(const cpli_fibers* g) {
  if (current != NULL) cpli_fiber_wait(any_due, g, slice);
  else wait_for_any(g);
}

void cpli_fibers_finish(cpli_fibers* g) {
  while (g->first != NULL) {
    cpli_fibers_wait(g);
    cpli_fibers_go_on(g);
  }
}

void cpli_fibers_run(cpl_context* ctx, int32_t n, void (*work)(void* user, int32_t item),
                     void* user) {
  cpli_fibers g = {.ctx = ctx, .work = work, .user = user};
  for (int32_t i = 0; i < n; i++) cpli_fibers_start(&g, i, false);
  cpli_fibers_finish(&g);
}

void cpli_fibers_watch(cpl_context* ctx, const cpli_fiber_watch* watch) {
  stacks_of(ctx)->watch = watch != NULL ? *watch : (cpli_fiber_watch){.flush = NULL};
}
