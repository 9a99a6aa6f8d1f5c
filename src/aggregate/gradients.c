// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The derivatives of the constraints of the whole with respect to its states: C_x + C_u L (I - G_u
// L)^-1 G_x. A constraint of a component depends on states of the component and on those that its
// coupled inputs depend on; one of the whole on those of its signal. Where a component has
// derivatives and its constraints depend on no input at the current point, they are used; the
// others come from differences, with colouring.
#include <float.h>
#include <math.h>

#include "aggregate/aggregate.h"
#include "numeric/pattern.h"

struct cpli_gradients {
  cpl_context* ctx;
  int32_t *reach_first, *reach;  // states that the inputs of each component follow; then those that
                                 // each constraint of the whole follows. Both NULL: not known yet
  size_t* counted;          // by component: number of active constraints the data below is made for
  int32_t *first, *column;  // of the active constraints
  cpli_pattern* pattern;    // of the same
  int32_t* position;        // per entry of the pattern: its number in `column`
  int32_t *by_colour, *colours;  // states by colour; first of each colour
  int32_t* where;                // of a state, in the current row; -1
  double *x, *nominal, *h;       // of the states
  double *there, *moved;         // residuals
  double* room;                  // derivatives of a component
  size_t room_size;
  bool looked;   // rows have been computed since constraints were counted
  bool* direct;  // by component: its own derivatives are those of the whole
};

static const cpl_constraint_ops* ops_of(const cpli_part* part) { return part->m->ops->constraints; }

static bool has_derivatives(const cpli_part* part) {
  return ops_of(part)->entries != NULL || ops_of(part)->jacobian != NULL;
}

//------------------------------------ rows ------------------------------------

typedef struct row_list {
  int32_t* items;
  size_t n, cap;
} row_list;

static bool add(struct cpli_gradients* g, row_list* l, int32_t state) {
  if (g->where[state] >= 0) return true;
  if (!cpli_grow(g->ctx, (void**)&l->items, &l->cap, l->n, sizeof *l->items)) return false;
  g->where[state] = (int32_t)l->n;
  l->items[l->n++] = state;
  return true;
}

static bool add_own(struct cpli_gradients* g, row_list* l, const cpli_part* part, size_t constraint,
                    const int32_t* first, const int32_t* column) {
  bool fine = true;
  for (int32_t i = 0; first == NULL && i < part->n_states && fine; i++)
    fine = add(g, l, part->first_state + i);
  for (int32_t e = first != NULL ? first[constraint] : 0;
       first != NULL && e < first[constraint + 1] && fine; e++)
    fine = add(g, l, part->first_state + column[e]);
  return fine;
}

// For the derivatives of a component.
static bool make_room(struct cpli_gradients* g, size_t n) {
  if (n <= g->room_size) return true;
  cpli_free(g->ctx, g->room);
  g->room = cpli_alloc(g->ctx, n, sizeof *g->room);
  g->room_size = g->room != NULL ? n : 0;
  return g->room != NULL;
}

static bool add_reach(struct cpli_gradients* g, row_list* l, int32_t owner) {
  bool fine = true;
  for (int32_t i = g->reach_first[owner]; i < g->reach_first[owner + 1] && fine; i++)
    fine = add(g, l, g->reach[i]);
  return fine;
}

static void end_row(struct cpli_gradients* g, const row_list* l, size_t row) {
  for (size_t i = (size_t)g->first[row]; i < l->n; i++) g->where[l->items[i]] = -1;
  g->first[row + 1] = (int32_t)l->n;
}

static cpl_status make_rows(cpli_aggregate* a) {
  struct cpli_gradients* g = a->gradients;
  row_list l = {0};
  size_t row = 0;
  bool fine = true;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_states; i++) g->where[i] = -1;
  for (int32_t k = 0; k < a->n_parts && fine && st == CPL_OK; k++) {
    const cpli_part* part = &a->parts[k];
    const int32_t *first = NULL, *column = NULL;
    if (part->n_active > 0 && ops_of(part)->pattern != NULL)
      st = ops_of(part)->pattern(part->m, &first, &column);
    if (st == CPL_OK)
      fine = make_room(g, first != NULL
                              ? (size_t)first[part->n_active]
                              : (size_t)part->m->base.desc->n_constraints * (size_t)part->n_states);
    for (size_t i = 0; i < part->n_active && fine && st == CPL_OK; i++) {
      fine = add_own(g, &l, part, i, first, column) && add_reach(g, &l, k);
      end_row(g, &l, row++);
    }
    g->counted[k] = part->n_active;
  }
  for (int32_t i = 0; i < a->n_constraints && fine; i++) {
    fine = add_reach(g, &l, a->n_parts + i);
    end_row(g, &l, row++);
  }
  cpli_free(g->ctx, g->column);
  g->column = l.items;
  if (!fine) return cpli_nomem(g->ctx);
  if (st != CPL_OK) return st;
  return cpli_pattern_of_rows(g->ctx, (int32_t)row, a->n_states, g->first, g->column, NULL,
                              &g->pattern);
}

static cpl_status sort_entries(cpli_aggregate* a) {
  struct cpli_gradients* g = a->gradients;
  const cpli_pattern* p = g->pattern;
  size_t n = (size_t)a->n_states;
  g->position = cpli_alloc(g->ctx, (size_t)p->n_entries + 2 * n + 2, sizeof(int32_t));
  if (g->position == NULL) return cpli_nomem(g->ctx);
  g->by_colour = g->position + p->n_entries;
  g->colours = g->by_colour + n;
  for (size_t j = 0; j < n; j++) g->where[j] = p->first[j];
  for (int32_t e = 0; e < p->n_entries; e++) g->position[g->where[g->column[e]]++] = e;
  for (size_t j = 0; j < n; j++) g->where[j] = -1;
  // counting sort: begin of colour c at colours[c]
  for (size_t j = 0; j < n; j++) g->colours[p->colour[j] + 1]++;
  for (int32_t c = 0; c < p->n_colours; c++) g->colours[c + 1] += g->colours[c];
  for (size_t j = 0; j < n; j++) g->by_colour[g->colours[p->colour[j]]++] = (int32_t)j;
  for (int32_t c = p->n_colours; c > 0; c--) g->colours[c] = g->colours[c - 1];
  g->colours[0] = 0;
  return CPL_OK;
}

static bool is_current(const cpli_aggregate* a) {
  const struct cpli_gradients* g = a->gradients;
  bool same = g->pattern != NULL && g->position != NULL;
  for (int32_t k = 0; k < a->n_parts && same; k++) {
    const cpli_part* part = &a->parts[k];  // its pattern may have changed at events
    same =
        g->counted[k] == part->n_active && (part->n_active == 0 || ops_of(part)->pattern == NULL);
  }
  return same;
}

cpl_status cpli_gradients_pattern(cpl_model* m, const int32_t** first, const int32_t** column) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  struct cpli_gradients* g = a->gradients;
  cpl_status st = CPL_OK;
  if (g->reach == NULL) st = cpli_aggregate_reach(a, &g->reach_first, &g->reach);
  if (st >= 0 && !g->looked && !is_current(a)) {
    cpli_pattern_destroy(g->pattern);
    cpli_free(g->ctx, g->position);
    g->pattern = NULL, g->position = NULL;
    st = make_rows(a);
    if (st == CPL_OK) st = sort_entries(a);
  }
  g->looked = st == CPL_OK;
  *first = g->first;
  *column = g->column;
  return st;
}

void cpli_gradients_recount(struct cpli_gradients* g) {
  if (g != NULL) g->looked = false;
}

//------------------------------------ entries ------------------------------------

// Whether the component's constraints depend on a coupled input: by a difference.
static cpl_status follows(cpli_aggregate* a, const cpli_part* part, const cpli_node* input,
                          bool* yes) {
  struct cpli_gradients* g = a->gradients;
  cpl_component* c = &part->m->base;
  double value = 0, size = c->desc->vars[input->var].nominal;
  cpl_status st = c->ops->get_real(c, &input->ref, 1, &value);
  if (st == CPL_OK) st = ops_of(part)->get(part->m, g->there);
  double other = value + 1e-3 * fmax(size, fabs(value));
  if (st == CPL_OK) st = c->ops->set_real(c, &input->ref, 1, &other);
  if (st == CPL_OK) st = ops_of(part)->get(part->m, g->moved);
  if (st < 0) return st;
  cpl_status back = c->ops->set_real(c, &input->ref, 1, &value);
  *yes = *yes || memcmp(g->there, g->moved, part->n_active * sizeof(double)) != 0;
  return st != CPL_OK ? st : back;
}

static cpl_status find_direct(cpli_aggregate* a, bool* all) {
  struct cpli_gradients* g = a->gradients;
  cpl_status st = cpli_evaluate(a);
  for (int32_t k = 0; k < a->n_parts; k++)
    g->direct[k] = a->parts[k].n_active > 0 && has_derivatives(&a->parts[k]);
  for (int32_t i = 0; i < a->n_nodes && st == CPL_OK; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->kind != CPLI_NODE_INPUT || node->part < 0 || !cpli_is_smooth(node)) continue;
    bool yes = false;
    if (g->direct[node->part]) st = follows(a, &a->parts[node->part], node, &yes);
    g->direct[node->part] = g->direct[node->part] && !yes;
  }
  *all = a->n_constraints == 0;
  for (int32_t k = 0; k < a->n_parts; k++)
    *all = *all && (g->direct[k] || a->parts[k].n_active == 0);
  return st;
}

// Puts the derivatives of a component's constraints into their rows, the first of which is `row`.
static cpl_status take_own(cpli_aggregate* a, const cpli_part* part, size_t row, double* out) {
  struct cpli_gradients* g = a->gradients;
  const int32_t *first = NULL, *column = NULL;
  size_t n = (size_t)part->n_states;
  bool sparse = ops_of(part)->entries != NULL;
  cpl_status st = CPL_OK;
  if (sparse) st = ops_of(part)->pattern(part->m, &first, &column);
  if (st == CPL_OK)
    st =
        sparse ? ops_of(part)->entries(part->m, g->room) : ops_of(part)->jacobian(part->m, g->room);
  for (size_t i = 0; i < part->n_active && st == CPL_OK; i++) {
    int32_t begin = g->first[row + i], end = g->first[row + i + 1];
    // a row begins with the component's own states, in its order
    memset(out + begin, 0, (size_t)(end - begin) * sizeof *out);
    size_t own = sparse ? (size_t)(first[i + 1] - first[i]) : n;
    memcpy(out + begin, g->room + (sparse ? (size_t)first[i] : i * n), own * sizeof *out);
  }
  return st;
}

static cpl_status differences(cpli_aggregate* a, double* out) {
  struct cpli_gradients* g = a->gradients;
  cpl_model* m = &a->base;
  const cpli_pattern* p = g->pattern;
  size_t n = (size_t)a->n_states, rows = (size_t)p->n_rows;
  memcpy(g->x, a->x, n * sizeof *g->x);
  cpl_status st = m->ops->get_nominals(m, g->nominal);
  if (st == CPL_OK) st = m->ops->constraints->get(m, g->there);
  for (int32_t c = 0; c < p->n_colours && st == CPL_OK; c++) {
    for (int32_t i = g->colours[c]; i < g->colours[c + 1]; i++) {
      int32_t j = g->by_colour[i];
      double at = g->x[j];
      g->x[j] += sqrt(DBL_EPSILON) * fmax(g->nominal[j], fabs(at));
      g->h[j] = g->x[j] - at;
    }
    st = m->ops->set_states(m, g->x);
    if (st == CPL_OK) st = m->ops->constraints->get(m, g->moved);
    for (size_t i = 0; i < rows; i++) g->moved[i] -= g->there[i];
    for (int32_t i = g->colours[c]; i < g->colours[c + 1]; i++) {
      int32_t j = g->by_colour[i];
      g->x[j] -= g->h[j];
      for (int32_t e = p->first[j]; e < p->first[j + 1]; e++)
        out[g->position[e]] = g->moved[p->row[e]] / g->h[j];
    }
  }
  if (st < 0) return st;
  cpl_status back = m->ops->set_states(m, g->x);
  return st != CPL_OK ? st : back;
}

cpl_status cpli_gradients_entries(cpl_model* m, double* out) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  const int32_t *first = NULL, *column = NULL;
  bool all = false;
  size_t row = 0;
  cpl_status st = cpli_gradients_pattern(m, &first, &column);
  if (st == CPL_OK) st = find_direct(a, &all);
  if (st == CPL_OK && !all) st = differences(a, out);
  if (st == CPL_OK) st = cpli_evaluate(a);
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    const cpli_part* part = &a->parts[k];
    if (a->gradients->direct[k]) st = take_own(a, part, row, out);
    row += part->n_active;
  }
  return st;
}

//------------------------------------ life ------------------------------------

void cpli_gradients_destroy(struct cpli_gradients* g) {
  if (g == NULL) return;
  cpli_free(g->ctx, g->reach_first);
  cpli_free(g->ctx, g->reach);
  cpli_free(g->ctx, g->column);
  cpli_free(g->ctx, g->position);
  cpli_free(g->ctx, g->room);
  cpli_pattern_destroy(g->pattern);
  cpli_free(g->ctx, g->counted);
  cpli_free(g->ctx, g->first);
  cpli_free(g->ctx, g->x);
  cpli_free(g->ctx, g->direct);
  cpli_free(g->ctx, g);
}

cpl_status cpli_gradients_make(cpli_aggregate* a, struct cpli_gradients** out) {
  cpl_context* ctx = a->base.base.ctx;
  size_t n = (size_t)a->n_states, m = (size_t)a->desc->n_constraints, parts = (size_t)a->n_parts;
  struct cpli_gradients* g = *out = cpli_alloc(ctx, 1, sizeof *g);
  if (g == NULL) return cpli_nomem(ctx);
  g->ctx = ctx;
  g->counted = cpli_alloc(ctx, parts, sizeof *g->counted);
  g->first = cpli_alloc(ctx, m + 1 + n, sizeof *g->first);
  g->direct = cpli_alloc(ctx, parts, sizeof *g->direct);
  g->x = cpli_alloc(ctx, 3 * n + 2 * m, sizeof *g->x);
  if (g->counted == NULL || g->first == NULL || g->direct == NULL || g->x == NULL)
    return cpli_nomem(ctx);
  g->where = g->first + m + 1;
  g->nominal = g->x + n;
  g->h = g->nominal + n;
  g->there = g->h + n;
  g->moved = g->there + m;
  return CPL_OK;
}
