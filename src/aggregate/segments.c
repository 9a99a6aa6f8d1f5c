// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which calls of components need not wait for each other. A segment of a plan is a run of gets and
// sets; its operations are sorted by components, so that a thread makes all calls of one component.
// A single thread executes them in the same order, component after component.
#include "aggregate/aggregate.h"

#include <assert.h>
#include <stdlib.h>

static bool is_call(const cpli_eval_op* op) {
  return op->kind == CPLI_OP_GET || op->kind == CPLI_OP_SET;
}

// Which segment, from 1, writes each node.
typedef struct writer {
  int32_t segment, part;
} writer;

// Whether a set needs what another component of the segment writes.
static bool must_wait(const cpli_eval_plan* p, const cpli_eval_op* op, const writer* written,
                      int32_t segment) {
  for (int32_t i = op->first; i < op->first + op->count && op->kind == CPLI_OP_SET; i++) {
    const int32_t source = p->wires[i].source;
    if (source < 0) continue;
    if (written[source].segment == segment && written[source].part != op->part) return true;
  }
  return false;
}

static void note_written(const cpli_eval_plan* p, const cpli_eval_op* op, writer* written,
                         int32_t segment) {
  for (int32_t i = op->first; i < op->first + op->count; i++)
    written[p->nodes[i]] = (writer){segment, op->part};
}

static void divide(cpli_eval_plan* p, writer* written) {
  const int32_t n = (int32_t)p->n_ops;
  for (int32_t i = 0; i < n;) {
    cpli_eval_segment* s = &p->segments[p->n_segments++];
    *s = (cpli_eval_segment){.first = i, .end = i + 1};
    if (!is_call(&p->ops[i++])) continue;
    note_written(p, &p->ops[i - 1], written, p->n_segments);
    while (i < n && is_call(&p->ops[i]) && !must_wait(p, &p->ops[i], written, p->n_segments))
      note_written(p, &p->ops[i++], written, p->n_segments);
    s->end = i;
    s->n_tasks = -1;  // counted later
  }
}

static int by_number(const void* x, const void* y) {
  const int32_t a = *(const int32_t*)x, b = *(const int32_t*)y;
  return a < b ? -1 : a > b;
}

// By components, stable. start has one element per component, zero; room as many.
static void sort_tasks(cpli_eval_plan* p, cpli_eval_segment* s, int32_t* start, int32_t* room,
                       int32_t* n_tasks, int32_t* n_sorted) {
  int32_t n = 0;
  bool sorted = true;
  for (int32_t i = s->first; i < s->end; i++) {
    const int32_t part = p->ops[i].part;
    if (start[part]++ > 0) continue;
    sorted = sorted && (n == 0 || room[n - 1] < part);
    room[n++] = part;
  }
  if (!sorted) qsort(room, (size_t)n, sizeof *room, by_number);
  s->first_task = *n_tasks;
  s->n_tasks = n;
  for (int32_t k = 0; k < n; k++) {
    const int32_t count = start[room[k]];
    p->tasks[(*n_tasks)++] = start[room[k]] = *n_sorted;
    *n_sorted += count;
  }
  p->tasks[(*n_tasks)++] = *n_sorted;
  for (int32_t i = s->first; i < s->end; i++) p->by_part[start[p->ops[i].part]++] = i;
  for (int32_t k = 0; k < n; k++) start[room[k]] = 0;
}

static int32_t part_of(const cpli_eval_plan* p, const cpli_eval_segment* s, int32_t task) {
  return p->ops[p->by_part[p->tasks[s->first_task + task]]].part;
}

//------------------------------------ calls ------------------------------------

static const cpli_eval_op* op_of(const cpli_eval_plan* p, const cpli_eval_segment* s,
                                 int32_t task) {
  const int32_t* tasks = p->tasks + s->first_task;
  return tasks[task + 1] == tasks[task] + 1 ? &p->ops[p->by_part[tasks[task]]] : NULL;
}

// Whether the task can be in a batch with the one before.
static bool continues(const cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_segment* s,
                      int32_t task) {
  const cpli_eval_op *x = op_of(p, s, task - 1), *y = op_of(p, s, task);
  if (x == NULL || y == NULL || x->kind != y->kind || x->last != y->last) return false;
  if (x->type != CPL_REAL || y->type != CPL_REAL) return false;
  if (y->part != x->part + 1 || y->first != x->first + x->count) return false;
  const cpl_model *before = a->parts[x->part].m, *m = a->parts[y->part].m;
  return m->ops->evaluate != NULL && m->ops->evaluate == before->ops->evaluate &&
         m->base.desc == before->base.desc;
}

// The largest batch: threads need some calls to share.
static int32_t largest(const cpli_aggregate* a, const cpli_eval_segment* s) {
  enum { LARGEST = 64, CALLS = 8 };
  const int32_t n = a->workers > 1 ? s->n_tasks / (CALLS * a->workers) : LARGEST;
  return n < 1 ? 1 : n < LARGEST ? n : LARGEST;
}

// Of a batch.
static void find_row(const cpli_eval_plan* p, const cpli_eval_segment* s, cpli_eval_call* c) {
  c->in_row = op_of(p, s, c->task)->in_row;
  for (int32_t i = c->task; i < c->task + c->n; i++) {
    const cpli_eval_op *x = i > c->task ? op_of(p, s, i - 1) : NULL, *y = op_of(p, s, i);
    if (x != NULL && p->nodes[y->first] != p->nodes[x->first] + x->count) c->in_row = false;
    c->in_row = c->in_row && y->in_row;
    for (int32_t k = y->first; k < y->first + y->count && y->kind == CPLI_OP_SET; k++)
      c->wired = c->wired || p->wires[k].source >= 0;
  }
}

static void make_calls(const cpli_aggregate* a, cpli_eval_plan* p, cpli_eval_segment* s, bool batch,
                       int32_t* n_operands) {
  const int32_t most = batch ? largest(a, s) : 1;
  s->first_call = p->n_calls;
  for (int32_t i = 0, end; i < s->n_tasks; i = end) {
    for (end = i + 1; end < s->n_tasks && end - i < most && continues(a, p, s, end);) end++;
    cpli_eval_call* c = &p->calls[p->n_calls++];
    *c = (cpli_eval_call){.task = i, .n = end - i, .operands = *n_operands};
    if (c->n > 1) find_row(p, s, c);
    for (int32_t k = i; k < end && end - i > 1; k++)
      p->operands[(*n_operands)++] = op_of(p, s, k)->first - op_of(p, s, i)->first;
    if (end - i == 1) continue;
    const cpli_eval_op* last = op_of(p, s, end - 1);
    p->operands[(*n_operands)++] = last->first + last->count - op_of(p, s, i)->first;
  }
  s->n_calls = p->n_calls - s->first_call;
}

static cpli_task_kind kind_of_part(const void* user, int32_t part) {
  const cpl_capabilities* can = &((const cpli_aggregate*)user)->parts[part].m->base.can;
  if (can->remote > 0) return can->remote > 1 ? CPLI_TASK_REMOTE : CPLI_TASK_WAITS;
  return can->own_thread ? CPLI_TASK_STAYS : CPLI_TASK_ANY;
}

typedef struct calls_of {
  const cpli_aggregate* a;
  const cpli_eval_plan* p;
  const cpli_eval_segment* s;
} calls_of;

static cpli_task_kind kind_of_call(const void* user, int32_t call) {
  const calls_of* c = user;
  const int32_t task = c->p->calls[c->s->first_call + call].task;
  return kind_of_part(c->a, part_of(c->p, c->s, task));
}

static cpl_status make_parallel(cpli_aggregate* a, const cpli_eval_plan* p, cpli_eval_segment* s) {
  const calls_of calls = {a, p, s};
  return cpli_parallel_make(p->ctx, a->workers, s->n_calls, kind_of_call, &calls, &s->parallel);
}

//------------------------------------ make ------------------------------------

static bool calls_all(const cpli_aggregate* a, const cpli_eval_plan* p, int32_t* called) {
  int32_t n = 0;
  for (size_t i = 0; i < p->n_ops; i++) {
    if (is_call(&p->ops[i]) && called[p->ops[i].part]++ == 0) n++;
  }
  memset(called, 0, (size_t)a->n_parts * sizeof *called);
  return n == a->n_parts;
}

static cpl_status make_apart(const cpli_aggregate* a, cpli_eval_plan* p) {
  bool any = false;
  for (int32_t k = 0; k < a->n_parts; k++) any = any || a->parts[k].m->base.can.remote == 1;
  if (!any) return CPL_OK;
  p->apart = cpli_alloc(p->ctx, p->n_nodes + 1, sizeof *p->apart);
  p->apart_integers = cpli_alloc(p->ctx, p->n_nodes + 1, sizeof *p->apart_integers);
  return p->apart != NULL && p->apart_integers != NULL ? CPL_OK : cpli_nomem(p->ctx);
}

cpl_status cpli_segments_make(cpli_aggregate* a, cpli_eval_plan* p, bool batch) {
  writer* written = cpli_alloc(p->ctx, (size_t)a->n_nodes, sizeof *written);
  int32_t* start = cpli_alloc(p->ctx, 2 * (size_t)a->n_parts, sizeof *start);
  p->segments = cpli_alloc(p->ctx, p->n_ops, sizeof *p->segments);
  p->tasks = cpli_alloc(p->ctx, 2 * p->n_ops, sizeof *p->tasks);
  p->by_part = cpli_alloc(p->ctx, p->n_ops, sizeof *p->by_part);
  p->calls = cpli_alloc(p->ctx, p->n_ops, sizeof *p->calls);
  p->operands = cpli_alloc(p->ctx, 2 * p->n_ops, sizeof *p->operands);
  p->called = cpli_alloc(p->ctx, p->n_ops, sizeof *p->called);
  cpl_status st = written != NULL && start != NULL && p->segments != NULL && p->tasks != NULL &&
                          p->by_part != NULL && p->calls != NULL && p->operands != NULL &&
                          p->called != NULL
                      ? CPL_OK
                      : cpli_nomem(p->ctx);
  if (st >= 0) st = make_apart(a, p);
  if (st >= 0) divide(p, written);
  if (st >= 0) p->calls_all = calls_all(a, p, start);
  int32_t at = 0, n_sorted = 0, n_operands = 0;
  for (int32_t i = 0; i < p->n_segments && st >= 0; i++) {
    cpli_eval_segment* s = &p->segments[i];
    if (s->n_tasks == 0) continue;
    sort_tasks(p, s, start, start + a->n_parts, &at, &n_sorted);
    assert((size_t)at <= 2 * p->n_ops && (size_t)n_sorted <= p->n_ops);
    make_calls(a, p, s, batch, &n_operands);
    assert((size_t)p->n_calls <= p->n_ops && (size_t)n_operands <= 2 * p->n_ops);
    st = make_parallel(a, p, s);
  }
  for (int32_t i = 0; i < n_sorted; i++) p->called[i] = a->parts[p->ops[p->by_part[i]].part].m;
  cpli_free(p->ctx, written);
  cpli_free(p->ctx, start);
  return st;
}

void cpli_segments_free(cpli_eval_plan* p) {
  for (int32_t i = 0; i < p->n_segments; i++) cpli_parallel_destroy(p->segments[i].parallel);
  cpli_free(p->ctx, p->segments);
  cpli_free(p->ctx, p->tasks);
  cpli_free(p->ctx, p->by_part);
  cpli_free(p->ctx, p->calls);
  cpli_free(p->ctx, p->operands);
  cpli_free(p->ctx, p->called);
  cpli_free(p->ctx, p->apart);
  cpli_free(p->ctx, p->apart_integers);
}

//------------------------------------ all components ------------------------------------

cpl_status cpli_parts_parallel(cpli_aggregate* a, cpli_parallel** out) {
  return cpli_parallel_make(a->base.base.ctx, a->workers, a->n_parts, kind_of_part, a, out);
}

cpl_status cpli_each_part(cpli_aggregate* a, cpli_parallel* p, cpli_task* task, void* user) {
  return cpli_parallel_run(a->base.base.ctx, p, a->n_parts, task, user);
}

// The one in which threads pay, if any.
const cpli_parallel* cpli_segments_heaviest(const cpli_eval_plan* p) {
  for (int32_t i = 0; i < p->n_segments; i++)
    if (cpli_parallel_pays(p->segments[i].parallel)) return p->segments[i].parallel;
  return NULL;
}
