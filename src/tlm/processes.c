// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts in processes of their own. A part is made here and forked: the copy in the child runs, with
// its solver; the original is only kept to be destroyed. Parts, ends and waves are in memory that
// all share at the same address, so that the children exchange waves directly; a call here only
// sets the target time. It always returns after a limited time: one that takes longer hangs, one
// that waits for another does not.
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/guard.h"
#include "couplet/isolate.h"
#include "tlm/build.h"

// Shared data of all processes besides parts and ends.
struct cpli_common {
  pthread_mutex_t mutex;  // of lines
  atomic_uint news;       // counts published intervals; waiting processes block on it
  atomic_uint asleep;
  atomic_bool failed;
  double t_start, t_stop;
};

static_assert(sizeof(atomic_uint) == 4 && ATOMIC_INT_LOCK_FREE == 2,
              "a futex is a word of 32 bits, and locks would not be shared");
static_assert(_Alignof(struct cpli_common) <= 64 && _Alignof(cpli_tlm_part) <= 64 &&
                  _Alignof(cpli_tlm_end) <= 64,
              "they follow each other at multiples of 64 bytes");

static bool make_common(struct cpli_common* c) {
  pthread_mutexattr_t kind;
  if (pthread_mutexattr_init(&kind) != 0) return false;
  bool fine = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0 &&
              pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) == 0 &&
              pthread_mutex_init(&c->mutex, &kind) == 0;
  pthread_mutexattr_destroy(&kind);
  return fine;
}

cpl_status cpli_tlm_allocate(cpli_tlm* m, const cpl_tlm_def* def) {
  size_t parts = (size_t)def->n_parts * sizeof *m->parts;
  size_t ends = 2 * (size_t)def->n_lines * sizeof *m->ends;
  char* memory;
  parts = (parts + 63) & ~(size_t)63;
  if (def->processes) {
    size_t common = (sizeof *m->common + 63) & ~(size_t)63;
    memory = mmap(NULL, common + parts + ends, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    if (memory == MAP_FAILED) return cpli_nomem(m->base.base.ctx);
    m->shared = common + parts + ends;
    m->common = (struct cpli_common*)(void*)memory;
    if (!make_common(m->common)) return cpli_nomem(m->base.base.ctx);
    memory += common;
  } else {
    memory = cpli_arena_alloc(&m->arena, parts + ends, 1);
    if (memory == NULL) return cpli_nomem(m->base.base.ctx);
  }
  m->parts = (cpli_tlm_part*)(void*)memory;
  m->ends = (cpli_tlm_end*)(void*)(memory + parts);
  return CPL_OK;
}

void cpli_tlm_unshare(cpli_tlm* m) {
  if (m->shared > 0) munmap(m->common, m->shared);
}

//------------------------------------ waiting ------------------------------------

// A process killed while it had the lock leaves lines in an undefined state.
static void lock(struct cpli_common* c) {
  if (pthread_mutex_lock(&c->mutex) != EOWNERDEAD) return;
  pthread_mutex_consistent(&c->mutex);
  atomic_store(&c->failed, true);
}

static void unlock(struct cpli_common* c) { pthread_mutex_unlock(&c->mutex); }

static void publish(struct cpli_common* c) {
  atomic_fetch_add(&c->news, 1);
  if (atomic_load(&c->asleep) > 0)
    syscall(SYS_futex, &c->news, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void stop_all(struct cpli_common* c) {
  atomic_store(&c->failed, true);
  publish(c);
}

// The caller has the lock, which is released while waiting. The wait is usually short.
static void await_news(struct cpli_common* c, double leave) {
  static const double spin_time = 30e-6;
  unsigned seen = atomic_load(&c->news);
  unlock(c);
  double now = cpli_now(), until = now + spin_time;
  do {
    for (int i = 0; i < 32 && atomic_load(&c->news) == seen; i++) cpli_relax();
    now = cpli_now();
  } while (atomic_load(&c->news) == seen && now < until);
  atomic_fetch_add(&c->asleep, 1);
  if (leave > now && atomic_load(&c->news) == seen) {
    struct timespec rest = {.tv_nsec = (long)(1e9 * (leave - now))};
    syscall(SYS_futex, &c->news, FUTEX_WAIT, seen, &rest, NULL, 0);
  }
  atomic_fetch_sub(&c->asleep, 1);
  lock(c);
}

//------------------------------------ in the child ------------------------------------

// Steps as far as waves allow, for less time than a call may take.
static cpl_status follow(cpli_tlm* m, cpli_tlm_part* p, double until) {
  struct cpli_common* c = m->common;
  double limit = m->def.call_timeout, leave = cpli_now() + 0.01;
  if (limit > 0) leave = fmin(leave, cpli_now() + 0.25 * limit);
  cpl_status st = CPL_OK;
  m->t_start = c->t_start, m->t_stop = c->t_stop;  // not known when this process started
  lock(c);
  while (st >= 0 && !atomic_load(&c->failed) && !cpli_part_done(m, p, until) &&
         cpli_now() < leave) {
    if (!cpli_part_ready(m, p, until)) {
      cpli_guard_noted(cpli_channel_waits);
      await_news(c, leave);
      cpli_guard_noted(NULL);
      continue;
    }
    st = cpli_part_begin(m, p, until);
    unlock(c);
    if (st >= 0) st = cpli_part_work(m, p, until);
    lock(c);
    if (st >= 0) st = cpli_part_publish(m, p);
    publish(c);
  }
  unlock(c);
  return st;
}

// The part as a stepper whose step goes as far as waves allow.
typedef struct made {
  cpl_source base;
  cpl_stepper front;

  cpli_tlm* m;
  int32_t part;
  cpl_stepper* s;
} made;

static made* made_of(cpl_component* c) { return (made*)((char*)c - offsetof(made, front)); }

#define INNER (&made_of(c)->s->base)
static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  return INNER->ops->setup(INNER, s);
}
static cpl_status enter_init(cpl_component* c) { return INNER->ops->enter_init(INNER); }
static cpl_status exit_init(cpl_component* c) { return INNER->ops->exit_init(INNER); }
static cpl_status terminate(cpl_component* c) { return INNER->ops->terminate(INNER); }
static cpl_status reset(cpl_component* c) { return INNER->ops->reset(INNER); }
static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  return cpli_access_values(INNER, a);
}
CPLI_DEFINE_VALUE_OPS(access_values)
static void destroy(cpl_component* c) {
  if (c != NULL) INNER->ops->destroy(INNER);
}
static cpl_status save(cpl_component* c, cpl_snapshot* k) { return INNER->ops->save(INNER, k); }
// The waves are functions, which do not go through the channel.
static cpl_status restore(cpl_component* c, const cpl_snapshot* k) {
  const made* one = made_of(c);
  const cpli_tlm_part* p = &one->m->parts[one->part];
  cpl_status st = CPL_OK;
  if (cpli_part_sets_again(p)) st = cpli_part_give_curves(one->m, p, one->s);
  return st < 0 ? st : INNER->ops->restore(INNER, k);
}
static void forget(cpl_component* c, cpl_snapshot* k) { INNER->ops->forget(INNER, k); }
static cpl_status serialize(cpl_component* c, const cpl_snapshot* k, cpl_binary* bytes) {
  return INNER->ops->serialize(INNER, k, bytes);
}
static cpl_status deserialize(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* k) {
  return INNER->ops->deserialize(INNER, bytes, k);
}
static cpl_status get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  return INNER->ops->get_history(INNER, bytes, complete);
}
static cpl_status set_history(cpl_component* c, const cpl_binary* bytes) {
  return INNER->ops->set_history(INNER, bytes);
}
#undef INNER

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  made* one = made_of(&s->base);
  (void)t_limit;
  cpl_status st = follow(one->m, &one->m->parts[one->part], t_end);
  *result = (cpl_step_result){.time = one->m->parts[one->part].t};
  return st;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpl_stepper* inner = made_of(&s->base)->s;
  return inner->ops->set_curve(inner, ref, curve);
}

#define COMMON_OPS                                                                           \
  .size = sizeof(cpl_component_ops), .kind = "tlm part", .destroy = destroy, .setup = setup, \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset,  \
  CPLI_VALUE_OPS
#define BYTES_OPS                                                             \
  .save = save, .restore = restore, .forget = forget, .serialize = serialize, \
  .deserialize = deserialize
static const cpl_component_ops component_ops[3] = {
    // [states become bytes: 1, and it has a history: 2]
    {COMMON_OPS},
    {COMMON_OPS, BYTES_OPS},
    {COMMON_OPS, BYTES_OPS, .get_history = get_history, .set_history = set_history}};
static const cpl_stepper_ops stepper_ops = {
    .size = sizeof(cpl_stepper_ops), .step = step, .set_curve = set_curve};
static const cpl_stepper_ops plain_ops = {.size = sizeof(cpl_stepper_ops), .step = step};

static cpl_status hand_over(cpl_source* src, const char* name, cpl_stepper** out) {
  made* one = (made*)src;
  (void)name;
  one->front = (cpl_stepper){.base = one->s->base,
                             .ops = one->s->ops->set_curve != NULL ? &stepper_ops : &plain_ops};
  bool saves = one->s->base.can.save_restore && cpli_serial_can(&one->s->base);
  one->front.base.ops = &component_ops[saves + (saves && one->s->base.ops->get_history != NULL)];
  one->front.base.can.save_restore = one->front.base.can.serialize = saves;
  *out = &one->front;
  return CPL_OK;
}

//------------------------------------ in the parent ------------------------------------

static void put_away(cpl_source* src) {
  made* one = (made*)src;
  if (one->s != NULL) one->s->base.ops->destroy(&one->s->base);
  cpli_free(src->ctx, src);
}

static const cpl_source_ops ops = {
    .size = sizeof(cpl_source_ops), .kind = "part", .destroy = put_away, .make_stepper = hand_over};

static cpl_status part_from(cpli_tlm* m, int32_t i) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_tlm_part* p = &m->parts[i];
  cpl_isolate_def def = cpl_default_isolate_def();
  def.call_timeout = m->def.call_timeout;
  made* one = cpli_alloc(ctx, 1, sizeof *one);
  if (one == NULL) return cpli_nomem(ctx);
  one->base = (cpl_source){.ops = &ops, .desc = p->s->base.desc, .ctx = ctx, .path = p->name};
  one->m = m;
  one->part = i;
  cpl_status st = cpl_isolate(&one->base, &def, &m->sources[i]);
  if (st < 0) {
    cpli_free(ctx, one);
    return st;
  }
  one->s = p->s;
  p->s = NULL;
  p->out_of_process = true;
  return m->sources[i]->ops->make_stepper(m->sources[i], p->name, &p->s);
}

cpl_status cpli_tlm_start_processes(cpli_tlm* m) {
  cpl_status st = CPL_OK;
  m->sources = cpli_arena_alloc(&m->arena, (size_t)m->n_parts, sizeof *m->sources);
  if (m->sources == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) st = part_from(m, i);
  return st;
}

// Whether a part can still advance; when one has ended, others may wait for ever.
static bool can_advance(cpli_tlm* m, double until) {
  bool any = false;
  lock(m->common);
  for (int32_t i = 0; i < m->n_parts && !any; i++)
    any = !cpli_part_done(m, &m->parts[i], until) && cpli_part_ready(m, &m->parts[i], until);
  unlock(m->common);
  return any;
}

static bool is_done(cpli_tlm* m, const cpli_tlm_part* p, double until) {
  lock(m->common);
  bool done = cpli_part_done(m, p, until);
  unlock(m->common);
  return done;
}

void cpli_processes_start(cpli_tlm* m) {
  if (m->common == NULL) return;
  m->common->t_start = m->t_start, m->common->t_stop = m->t_stop;
  atomic_store(&m->common->failed, false);
}

cpl_status cpli_processes_run(cpli_tlm* m, int32_t worker, int32_t n, double until,
                              int32_t* failed) {
  for (bool left = true; left && !atomic_load(&m->common->failed) && !cpli_tlm_cancelled(m);) {
    left = false;
    for (int32_t i = worker; i < m->n_parts; i += n) {
      cpli_tlm_part* p = &m->parts[i];
      if (is_done(m, p, until)) continue;
      left = can_advance(m, until);
      cpl_status st = left ? cpli_part_step(m, p, until) : CPL_OK;
      if (st >= 0) continue;
      lock(m->common);
      p->st = st;
      unlock(m->common);
      stop_all(m->common);
      *failed = i;
      return st;
    }
  }
  return CPL_OK;
}

void cpli_tlm_join(cpli_tlm* m) {
  for (int32_t i = 0; m->sources != NULL && i < m->n_parts; i++) {
    if (m->sources[i] != NULL) m->sources[i]->ops->destroy(m->sources[i]);
  }
}
