// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The run backwards of the adjoint method as a model in the time -t. Its states are, for each
// scalar J, lambda = dJ/dx, the integrals of dJ/dk, and J itself:
//   d lambda / d(-t) = f_x' lambda + w y_x,   d q / d(-t) = f_k' lambda + w y_k,   w y,
// with w = 1 for an integral of y and 0 for its final value, which gives lambda at the end. The
// forward model is evaluated on the recorded trajectory. Derivatives by a parameter are differences
// of two instances: of its own model alone where that is enough, whose equations the descriptor
// form knows, else of the whole. Events of the forward run are time events.
#include <math.h>

#include "analysis/adjoint.h"
#include "model/description.h"

// The derivatives of the equations by one parameter.
typedef struct slope {
  double width;
  cpl_model* of[2];                   // with the parameter larger and smaller
  cpl_model* from;                    // the model itself, of which these are alike; NULL: the whole
  const cpli_kept_rows *rows, *more;  // in the descriptor; `more` is nullable
  uint32_t* refs;                     // of the variables of both
  uint32_t* inputs;
  size_t n_states, n_rows, n_inputs;
  double* values;  // by row; of the whole: derivatives and scalars
} slope;

typedef struct back {
  cpl_model base;
  cpli_adjoint* a;
  cpl_description desc;
  cpli_transposed k;
  slope* slopes;
  double* x;               // of the forward model, at `at`
  double *above, *below;   // scratch, the largest number of values of a slope
  double *given, *inputs;  // scratch: states and inputs of one model
  double* lambda;          // of all equations
  double* y;               // the scalars
  double* z;               // the states
  double t, at;            // time of the forward model; that of the derivatives
  size_t n, block;         // states of the forward model; states here per scalar
  size_t segment;
  cpli_arena arena;
} back;

//------------------------------------ derivatives by parameters
//------------------------------------

static cpl_status get_rows(const slope* s, cpl_model* m, double* out) {
  size_t n = s->n_states;
  cpl_status st = n > 0 ? m->ops->get_derivatives(m, out) : CPL_OK;
  if (st != CPL_OK || s->n_rows == n) return st;
  return m->base.ops->get_real(&m->base, s->refs + n, s->n_rows - n, out + n);
}

static cpl_status get_whole(const back* b, cpl_model* m, double* out) {
  cpl_status st = m->ops->set_time(m, b->at);
  if (st == CPL_OK) st = m->ops->set_states(m, b->x);
  if (st == CPL_OK) st = m->ops->get_derivatives(m, out);
  return st == CPL_OK ? cpli_adjoint_scalars(b->a, m, out + b->n) : st;
}

static cpl_status get_local(const back* b, const slope* s, cpl_model* m, double* out) {
  cpl_status st = m->ops->set_time(m, b->at);
  if (st == CPL_OK && s->n_states > 0) st = m->ops->set_states(m, b->given);
  if (st == CPL_OK && s->n_inputs > 0)
    st = m->base.ops->set_real(&m->base, s->inputs, s->n_inputs, b->inputs);
  return st == CPL_OK ? get_rows(s, m, out) : st;
}

static cpl_status differentiate(const back* b, const slope* s) {
  double* sides[] = {b->above, b->below};
  cpl_status st = CPL_OK;
  if (s->from != NULL && s->n_states > 0) st = s->from->ops->get_states(s->from, b->given);
  if (st == CPL_OK && s->from != NULL && s->n_inputs > 0)
    st = s->from->base.ops->get_real(&s->from->base, s->inputs, s->n_inputs, b->inputs);
  for (int i = 0; i < 2 && st == CPL_OK; i++)
    st = s->from != NULL ? get_local(b, s, s->of[i], sides[i]) : get_whole(b, s->of[i], sides[i]);
  for (size_t i = 0; i < s->n_rows; i++) s->values[i] = (b->above[i] - b->below[i]) / s->width;
  return st;
}

static double sum_rows(const cpli_kept_rows* rows, const double* values, const double* lambda) {
  double sum = 0;
  for (int32_t i = 0; i < rows->n; i++) {
    double l = lambda[rows->targets[i]];
    if (rows->twice[i] >= 0) l += lambda[rows->twice[i]];
    sum += values[i] * l;
  }
  return sum;
}

// f_k' lambda + w y_k of a scalar, with lambda of all equations.
static double product(const back* b, const slope* s, size_t scalar, double w,
                      const double* lambda) {
  double sum = 0;
  if (s->from != NULL) {
    sum = sum_rows(s->rows, s->values, lambda);
    return s->more == NULL ? sum : sum + sum_rows(s->more, s->values + s->rows->n, lambda);
  }
  for (size_t i = 0; i < b->n; i++) sum += s->values[i] * lambda[i];
  return sum + w * s->values[b->n + scalar];
}

//------------------------------------ points ------------------------------------

// All derivatives at the present time.
static cpl_status evaluate(back* b) {
  cpli_adjoint* a = b->a;
  cpl_model* m = a->s.m;
  if (b->at == b->t) return CPL_OK;
  b->at = NAN;
  cpli_tape_at(a, b->segment, b->t, b->x);
  cpl_status st = m->ops->set_time(m, b->t);
  if (st == CPL_OK) st = m->ops->set_states(m, b->x);
  if (st == CPL_OK) st = cpli_adjoint_scalars(a, m, b->y);
  if (st == CPL_OK) st = cpli_transposed_refresh(&b->k);
  b->at = b->t;
  for (size_t i = 0; i < a->n_all && st == CPL_OK; i++) st = differentiate(b, &b->slopes[i]);
  if (st != CPL_OK) b->at = NAN;
  return st;
}

// The slopes of one scalar's states.
static void slopes_of(back* b, size_t scalar, double w, const double* z, double* out) {
  memcpy(b->lambda, z, b->n * sizeof *z);
  cpli_transposed_product(&b->k, (int32_t)scalar, w, b->lambda, out);
  for (size_t i = 0; i < b->a->n_all; i++)
    out[b->n + i] = product(b, &b->slopes[i], scalar, w, b->lambda);
  out[b->block - 1] = w * b->y[scalar];
}

static cpl_status set_time(cpl_model* m, double t) {
  ((back*)m)->t = -t;
  return CPL_OK;
}

static cpl_status set_states(cpl_model* m, const double* x) {
  back* b = (back*)m;
  memcpy(b->z, x, b->block * b->a->s.n_of * sizeof *x);
  return CPL_OK;
}

static cpl_status get_states(cpl_model* m, double* x) {
  const back* b = (back*)m;
  memcpy(x, b->z, b->block * b->a->s.n_of * sizeof *x);
  return CPL_OK;
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  back* b = (back*)m;
  cpl_status st = evaluate(b);
  for (size_t i = 0; i < b->a->s.n_of && st == CPL_OK; i++)
    slopes_of(b, i, b->a->scalars[i].integral, b->z + b->block * i, dx + b->block * i);
  return st;
}

static double scale_of(cpli_adjoint* a, size_t scalar) {
  double size = a->s.m->base.desc->vars[a->scalars[scalar].var].nominal;
  return a->scalars[scalar].integral ? size * (a->t_end - a->s.t_start) : size;
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  back* b = (back*)m;
  cpli_adjoint* a = b->a;
  cpl_status st = a->s.m->ops->get_nominals(a->s.m, b->above);
  for (size_t s = 0; s < a->s.n_of; s++) {
    double size = scale_of(a, s), *out = nominals + b->block * s;
    for (size_t i = 0; i < b->n; i++) out[i] = size / b->above[i];
    for (size_t i = 0; i < a->n_all; i++)
      out[b->n + i] = size / cpli_adjoint_parameter(a, i)->scale;
    out[b->block - 1] = size;
  }
  return st;
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  (void)m;
  (void)z;
  return CPL_OK;
}

// Loops with several solutions stay on theirs.
static cpl_status completed_step(cpl_model* m, bool* event, bool* end) {
  back* b = (back*)m;
  cpl_status st = evaluate(b);
  *event = *end = false;
  if (st == CPL_OK) cpli_aggregate_keep_guesses(b->a->s.m);
  for (size_t i = 0; i < b->a->n_all && st == CPL_OK; i++) {
    for (int side = 0; side < 2 && b->slopes[i].from == NULL; side++)
      cpli_aggregate_keep_guesses(b->slopes[i].of[side]);
  }
  return st;
}

//------------------------------------ Newton's method ------------------------------------

static cpl_status newton_setup(cpl_model* m, double gamma, bool fresh) {
  back* b = (back*)m;
  (void)fresh;
  cpl_status st = evaluate(b);
  if (st != CPL_OK || cpli_transposed_factor(&b->k, gamma)) return st;
  return cpl_fail(m->base.ctx, CPL_RETRY, "%s: Newton's matrix is singular", m->base.name);
}

// The integrals follow from lambda.
static cpl_status newton_solve(cpl_model* m, const double* r, double* dx) {
  back* b = (back*)m;
  for (size_t s = 0; s < b->a->s.n_of; s++) {
    const double* from = r + b->block * s;
    double* to = dx + b->block * s;
    cpli_transposed_solve(&b->k, from, b->lambda);
    memcpy(to, b->lambda, b->n * sizeof *to);
    for (size_t i = 0; i < b->a->n_all; i++)
      to[b->n + i] = from[b->n + i] + b->k.gamma * product(b, &b->slopes[i], s, 0, b->lambda);
    to[b->block - 1] = from[b->block - 1];
  }
  return CPL_OK;
}

static const cpl_newton_ops newton_ops = {
    .size = sizeof newton_ops, .setup = newton_setup, .solve = newton_solve};

//------------------------------------ events ------------------------------------

static cpl_status enter(cpl_model* m) {
  (void)m;
  return CPL_OK;
}

// What the gradients get from an event, or from the start: its effect on states and on integrals.
static void add_changes(back* b, const cpli_jump* j, double* z) {
  cpli_adjoint* a = b->a;
  for (size_t s = 0; s < a->s.n_of; s++, z += b->block) {
    double step = a->scalars[s].integral ? j->y_before[s] - j->y_after[s] : 0;
    for (size_t i = 0; i < a->n_all; i++) {
      size_t g = (size_t)a->group[i];
      const double* by = j->by + b->n * g;
      if (a->s.to[g].next != NULL) {  // shared: start values only
        if (cpli_adjoint_parameter(a, i)->is_state) z[b->n + i] += z[a->starts[i]];
        continue;
      }
      double sum = j == a->jumps ? 0 : step * j->later[g];
      for (size_t k = 0; k < b->n; k++) sum += z[k] * by[k];
      z[b->n + i] += sum;
    }
  }
}

static cpl_status pass_jump(back* b) {
  const cpli_jump* j = &b->a->jumps[b->segment];
  add_changes(b, j, b->z);
  cpl_status st = cpli_adjoint_jump(b->a, j, b->z, b->block);
  if (st == CPL_OK) st = cpli_adjoint_restore(b->a, j);
  b->segment--;
  b->at = NAN;
  return st < 0 || st == CPL_OK ? st : CPL_ERR_MODEL;
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  back* b = (back*)m;
  const cpli_jump* jumps = b->a->jumps;
  cpl_status st = CPL_OK;
  while (b->segment > 0 && b->t <= jumps[b->segment].t && st == CPL_OK) st = pass_jump(b);
  *info = (cpl_event_info){.states_changed = true,
                           .next_time = b->segment > 0 ? -jumps[b->segment].t : INFINITY};
  return st;
}

//------------------------------------ life ------------------------------------

// The gradient of final values begins with those of the last instant.
static cpl_status exit_init(cpl_component* c) {
  back* b = (back*)c;
  cpl_status st = evaluate(b);
  memset(b->z, 0, b->block * b->a->s.n_of * sizeof *b->z);
  for (size_t i = 0; i < b->a->s.n_of && st == CPL_OK; i++) {
    double* z = b->z + b->block * i;
    if (!b->a->scalars[i].integral) slopes_of(b, i, 1, z, z);
  }
  return st;
}

static cpl_status setup(cpl_component* c, const cpl_setup* setup) {
  back* b = (back*)c;
  b->t = -setup->start_time;
  b->at = NAN;
  b->segment = b->a->n_jumps - 1;
  return CPL_OK;
}

static cpl_status nothing(cpl_component* c) {
  (void)c;
  return CPL_OK;
}

static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  if (a->n == 0) return CPL_OK;
  return cpl_fail(c->ctx, CPL_ERR_UNSUPPORTED, "%s: adjoint variables have no names", c->name);
}

CPLI_DEFINE_VALUE_OPS(access_values)

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  back* b = (back*)c;
  cpl_context* ctx = c->ctx;
  cpli_transposed_free(&b->k);
  cpli_arena_free(&b->arena);
  cpli_free(ctx, b);
}

static const cpl_component_ops component_ops = {.size = sizeof component_ops,
                                                .kind = "adjoint-back",
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = nothing,
                                                .exit_init = exit_init,
                                                .terminate = nothing,
                                                .reset = nothing,
                                                CPLI_VALUE_OPS};

static const cpl_model_ops model_ops = {.size = sizeof model_ops,
                                        .enter_event = enter,
                                        .event_update = event_update,
                                        .enter_continuous = enter,
                                        .set_time = set_time,
                                        .set_states = set_states,
                                        .get_states = get_states,
                                        .get_nominals = get_nominals,
                                        .get_derivatives = get_derivatives,
                                        .get_indicators = get_indicators,
                                        .completed_step = completed_step,
                                        .newton = &newton_ops};

//------------------------------------ make ------------------------------------

static void find_rows(const back* b, slope* s) {
  static const cpli_kept_rows none = {.n = 0};
  size_t n = 0;
  const cpli_kept_rows* rows = cpli_kept_descriptor_rows(b->k.kept, &n);
  s->rows = &none;
  for (size_t i = 0; i < n; i++) {
    if (rows[i].m != s->from) continue;
    if (s->rows == &none) s->rows = &rows[i];
    else s->more = &rows[i];
  }
}

// References of the rows and inputs of one model.
static cpl_status list_rows(back* b, slope* s) {
  const cpl_variable* vars = s->from->base.desc->vars;
  const cpli_kept_rows* lists[] = {s->rows, s->more};
  s->n_inputs = (size_t)s->rows->n_inputs;
  s->n_rows = (size_t)s->rows->n + (s->more != NULL ? (size_t)s->more->n : 0);
  s->refs = cpli_arena_alloc(&b->arena, s->n_rows, sizeof *s->refs);
  s->inputs = cpli_arena_alloc(&b->arena, s->n_inputs, sizeof *s->inputs);
  if (s->refs == NULL || s->inputs == NULL) return cpli_nomem(b->base.base.ctx);
  size_t n = 0;
  for (size_t l = 0; l < 2 && lists[l] != NULL; l++) {
    for (int32_t i = 0; i < lists[l]->n; i++) s->refs[n++] = vars[lists[l]->vars[i]].ref;
  }
  s->n_states = n > 0 ? (size_t)s->from->base.desc->n_states : 0;
  for (size_t i = 0; i < s->n_inputs; i++) s->inputs[i] = vars[s->rows->inputs[i]].ref;
  return CPL_OK;
}

static cpl_status make_slope(back* b, size_t i) {
  cpli_adjoint* a = b->a;
  slope* s = &b->slopes[i];
  cpli_sens_parameter* lead = &a->s.to[a->group[i]];
  int32_t var = a->all[i].var, local = -1;
  cpl_status st = CPL_OK;
  s->width = cpli_adjoint_parameter(a, i)->width;
  for (int side = 0; side < 2; side++) s->of[side] = lead->of[side].m;
  s->n_rows = b->n + a->s.n_of;
  if (a->local[i]) {
    s->from = cpli_aggregate_owner(a->s.m, var, &local);
    for (int side = 0; side < 2; side++)
      s->of[side] = cpli_aggregate_owner(lead->of[side].m, var, &local);
    find_rows(b, s);
    st = list_rows(b, s);
  }
  s->values = cpli_arena_alloc(&b->arena, s->n_rows, sizeof *s->values);
  return s->values != NULL ? st : cpli_nomem(b->base.base.ctx);
}

static cpl_status make_room(back* b) {
  size_t most = b->n + b->a->s.n_of, inputs = 0;
  cpli_arena* r = &b->arena;
  for (size_t i = 0; i < b->a->n_all; i++) {
    if (b->slopes[i].n_rows > most) most = b->slopes[i].n_rows;
    if (b->slopes[i].n_inputs > inputs) inputs = b->slopes[i].n_inputs;
  }
  b->above = cpli_arena_alloc(r, most, sizeof *b->above);
  b->below = cpli_arena_alloc(r, most, sizeof *b->below);
  b->given = cpli_arena_alloc(r, b->n, sizeof *b->given);
  b->inputs = cpli_arena_alloc(r, inputs, sizeof *b->inputs);
  b->lambda = cpli_arena_alloc(r, (size_t)b->k.d->n, sizeof *b->lambda);
  b->z = cpli_arena_alloc(r, b->block * b->a->s.n_of, sizeof *b->z);
  bool fine = b->above != NULL && b->below != NULL && b->given != NULL && b->inputs != NULL &&
              b->lambda != NULL && b->z != NULL;
  return fine ? CPL_OK : cpli_nomem(b->base.base.ctx);
}

static cpl_status describe(back* b) {
  size_t n = b->block * b->a->s.n_of;
  int32_t* hidden = cpli_arena_alloc(&b->arena, n, sizeof *hidden);
  if (hidden == NULL) return cpli_nomem(b->base.base.ctx);
  for (size_t i = 0; i < n; i++) hidden[i] = -1;
  b->desc = (cpl_description){.name = b->a->s.base.base.name,
                              .kind = "",
                              .description = "",
                              .author = "",
                              .version = "",
                              .copyright = "",
                              .license = "",
                              .tool = "",
                              .date = "",
                              .states = hidden,
                              .derivatives = hidden,
                              .n_states = (int32_t)n};
  return CPL_OK;
}

static cpl_status make(back* b) {
  cpli_adjoint* a = b->a;
  size_t of = a->s.n_of;
  b->n = a->s.n;
  b->block = b->n + a->n_all + 1;
  b->t = a->t_end;
  b->at = NAN;
  b->segment = a->n_jumps - 1;
  b->x = cpli_arena_alloc(&b->arena, b->n, sizeof *b->x);
  b->slopes = cpli_arena_alloc(&b->arena, a->n_all, sizeof *b->slopes);
  b->y = cpli_arena_alloc(&b->arena, of, sizeof *b->y);
  int32_t* outputs = cpli_arena_alloc(&b->arena, of, sizeof *outputs);
  if (b->x == NULL || b->slopes == NULL || b->y == NULL || outputs == NULL)
    return cpli_nomem(b->base.base.ctx);
  for (size_t i = 0; i < of; i++) outputs[i] = a->scalars[i].var;
  cpl_status st = a->s.m->ops->get_states(a->s.m, b->x);
  if (st == CPL_OK) st = cpli_transposed_init(&b->k, a->s.m, b->x, outputs, (int32_t)of);
  for (size_t i = 0; i < a->n_all && st == CPL_OK; i++) st = make_slope(b, i);
  if (st == CPL_OK) st = make_room(b);
  return st == CPL_OK ? describe(b) : st;
}

cpl_status cpli_adjoint_back(cpli_adjoint* a, cpl_model** out) {
  cpl_context* ctx = a->s.base.base.ctx;
  *out = NULL;
  back* b = cpli_alloc(ctx, 1, sizeof *b);
  if (b == NULL) return cpli_nomem(ctx);
  b->base = (cpl_model){.base = {.ops = &component_ops,
                                 .desc = &b->desc,
                                 .ctx = ctx,
                                 .name = a->s.base.base.name,
                                 .can = {.completed_step = true}},
                        .ops = &model_ops};
  b->a = a;
  b->k.ctx = ctx;
  cpli_arena_init(&b->arena, ctx);
  cpl_status st = make(b);
  if (st == CPL_OK) *out = &b->base;
  else destroy(&b->base.base);
  return st;
}

void cpli_adjoint_gradients(cpl_model* m, double* gradients, double* values) {
  back* b = (back*)m;
  size_t n = b->a->n_all;
  add_changes(b, b->a->jumps, b->z);
  for (size_t i = 0; i < b->a->s.n_of; i++) {
    const double* z = b->z + b->block * i;
    memcpy(gradients + n * i, z + b->n, n * sizeof *gradients);
    values[i] = z[b->block - 1];
  }
}
