// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Optimization: the objective and the constraints are measures of a run, whose values and
// derivatives NLopt asks for. Parameters and objective are scaled, so that units do not matter.
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "couplet/component.h"
#include "fit/libraries.h"
#include "fit/points.h"
#include "study/measure.h"
#include "system/definition.h"

static const char* const names[] = {
#define X(kind, name, text) name,
    CPL_OPTIMIZER_LIST(X)
#undef X
};
static const char* const algorithms[] = {"LD_SLSQP", "LN_COBYLA"};  // names in NLopt
static_assert(CPLI_COUNT(names) == CPLI_COUNT(algorithms), "one name per algorithm");

static const char objective_name[] = "--minimize", constraint_name[] = "--subject-to";

bool cpl_optimizer_by_name(const char* name, cpl_optimizer* out) {
  const int32_t i = cpli_find_text(names, CPLI_COUNT(names), name);
  if (i >= 0) *out = (cpl_optimizer)i;
  return i >= 0;
}

void cpl_init_optimize_def(cpl_optimize_def* def, size_t size) {
  const cpl_optimize_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

// An inequality is met where its measure is not positive, an equation where it is zero.
typedef struct constraint {
  const char* text;
  char* measure;
  bool equation;
  struct optimization* owner;  // of callbacks
  size_t index;                // of its value
} constraint;

typedef struct optimization {
  cpl_context* ctx;
  cpl_optimize_def def;
  cpli_trials trials;
  cpli_points points;
  cpl_measure_def* texts;  // all measures; the last ones are the objective and the constraints
  cpli_measures* measures;
  cpli_meter* meter;
  double* values;  // of all measures
  constraint* constraints;
  size_t n_measures, first, n, m;  // first: the objective; m: objective and constraints
  double* x;
  double *scale, value_scale;  // of parameters, of the objective
  const cpli_nlopt* library;
  void* opt;
  cpl_status st;
  bool has_best, is_best_met;
  double best, best_excess;  // objective, to be minimized, and the largest violation
  double penalty;            // the largest objective so far
  double* best_x;
  const char* end;
  char* file_names;
} optimization;

/// The result, in one arena.
typedef struct result {
  cpl_optimum optimum;  // must be first
  cpl_context* ctx;
  cpli_arena arena;
} result;

//------------------------------------ expressions ------------------------------------

// The comparison outside of all parentheses and quotes: its length, and where it is.
static size_t find_comparison(const char* text, const char** at) {
  int depth = 0;
  bool quoted = false;
  for (const char* c = text; *c != '\0'; c++) {
    if (*c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (*c == '(' || *c == '[') depth++;
    if (*c == ')' || *c == ']') depth--;
    if (depth != 0 || strchr("<>=", *c) == NULL) continue;
    *at = c;
    return strspn(c, "<>=");
  }
  return 0;
}

static cpl_status read_constraint(optimization* o, const char* text, constraint* out) {
  const char* at = text;
  const size_t n = find_comparison(text, &at);
  const bool less = n > 0 && at[0] == '<', greater = n > 0 && at[0] == '>';
  const bool known =
      (n == 1 && (less || greater)) || (n == 2 && at[1] == '=' && strchr("<>=", at[0]) != NULL);
  out->text = text;
  if (!known || find_comparison(at + n, &at) > 0)
    return cpl_fail(o->ctx, CPL_ERR_INPUT,
                    "%s %s: expected EXPR <= EXPR, EXPR >= EXPR or EXPR == EXPR", constraint_name,
                    text);
  (void)find_comparison(text, &at);
  const int left = (int)(at - text);
  out->equation = !less && !greater;
  if (greater) out->measure = cpli_printf(o->ctx, "(%s) - (%.*s)", at + n, left, text);
  else out->measure = cpli_printf(o->ctx, "(%.*s) - (%s)", left, text, at + n);
  return out->measure != NULL ? CPL_OK : cpli_nomem(o->ctx);
}

// Measures of the file that the definition does not replace.
static bool is_replaced(const optimization* o, const char* name) {
  for (size_t i = 0; i < o->def.n_measures; i++)
    if (strcmp(o->def.measures[i].name, name) == 0) return true;
  return false;
}

static void list_measures(optimization* o) {
  const cpl_system_def* file = cpl_system_definition(o->trials.source);
  for (size_t i = 0; i < o->def.n_measures; i++) o->texts[o->n_measures++] = o->def.measures[i];
  for (size_t i = 0; file != NULL && i < file->n_measures; i++) {
    const cpli_setting* m = &file->measures[i];
    const cpli_source_loc* loc = &m->value.loc;
    if (is_replaced(o, m->name.text)) continue;
    o->texts[o->n_measures++] = (cpl_measure_def){.name = m->name.text,
                                                  .text = m->value.text,
                                                  .file = loc->file,
                                                  .line = loc->line,
                                                  .column = loc->column};
  }
  o->first = o->n_measures;
  o->texts[o->n_measures++] = (cpl_measure_def){.name = objective_name, .text = o->def.minimize};
}

static cpl_status add_constraints(optimization* o) {
  for (size_t i = 0; i < o->def.n_subject_to; i++) {
    constraint* c = &o->constraints[i];
    cpl_status st = read_constraint(o, o->def.subject_to[i], c);
    if (st < 0) return st;
    c->owner = o;
    c->index = i + 1;
    // names of measures differ
    o->texts[o->n_measures++] = (cpl_measure_def){.name = c->text, .text = c->measure};
  }
  return CPL_OK;
}

static cpl_status parse(optimization* o) {
  const cpl_system_def* file = cpl_system_definition(o->trials.source);
  const size_t n_file = file != NULL ? file->n_measures : 0;
  const size_t n = o->def.n_measures + n_file + 1 + o->def.n_subject_to;
  if (o->def.minimize == NULL)
    return cpl_fail(o->ctx, CPL_ERR_INPUT, "there is nothing to optimize (--minimize, --maximize)");
  o->texts = cpli_alloc(o->ctx, n, sizeof *o->texts);
  o->constraints = cpli_alloc(o->ctx, o->def.n_subject_to, sizeof *o->constraints);
  if (o->texts == NULL || o->constraints == NULL) return cpli_nomem(o->ctx);
  list_measures(o);
  cpl_status st = add_constraints(o);
  if (st >= 0)
    st = cpli_measures_parse(o->ctx, o->texts, o->n_measures, cpli_trials_desc(&o->trials),
                             o->trials.start, o->trials.stop, &o->measures);
  if (st >= 0) st = cpli_meter_create(o->measures, &o->meter);
  o->m = 1 + o->def.n_subject_to;
  return st;
}

//------------------------------------ runs ------------------------------------

static cpl_status take_row(void* user, double t, const cpl_value* values) {
  return cpli_meter_row(((optimization*)user)->meter, t, values);
}

static void set_run(void* user, cpl_experiment* e, cpl_run_def* run) {
  optimization* o = user;
  run->record = o->measures->vars;
  run->n_record = o->measures->n_vars;
  run->on_columns = NULL;
  run->on_point = take_row;
  run->user = o;
  if (cpl_experiment_stepper(e)->base.can.dense_output)
    run->interval = fmax(run->stop_time - run->start_time, run->interval);
}

static cpl_status simulate_once(void* user, cpl_experiment* e, cpl_simulation* sim) {
  optimization* o = user;
  cpl_status st = cpli_meter_attach(o->meter, sim);
  if (st >= 0) {
    cpli_meter_set_tolerance(o->meter, cpl_experiment_solver(e)->rtol);
    cpli_meter_start(o->meter);
    st = cpl_simulation_start(sim);
  }
  if (st >= 0) st = cpl_simulation_advance(sim, o->trials.stop);
  if (st >= 0) st = cpl_simulation_finish(sim, NULL);
  if (st >= 0) st = cpli_meter_finish(o->meter, o->values);
  cpli_meter_detach(o->meter);
  return st;
}

static cpl_status run_one(void* user, cpli_case_kind kind, size_t part, const double* x, bool quiet,
                          double* y) {
  (void)part;
  optimization* o = user;
  const cpli_trial_def def = {.user = o, .set_run = set_run, .simulate = simulate_once};
  if (kind == CPLI_CASE_GUESS)
    return cpli_trials_find_guesses(&o->trials, &(const cpli_trial_def){0}, y);
  const cpl_status st = cpli_trial_run(&o->trials, &def, x, quiet);
  for (size_t i = 0; i < o->m && st >= 0; i++) {
    y[i] = o->values[o->first + i];
    if (!isfinite(y[i]))
      return cpl_fail(o->ctx, CPL_ERR_MODEL, "%s is %g",
                      i == 0 ? o->def.minimize : o->constraints[i - 1].measure, y[i]);
  }
  if (o->def.maximize && st >= 0) y[0] = -y[0];
  return st;
}

static void report_run(void* user, int64_t runs, int64_t failed) {
  const optimization* o = user;
  if (o->def.on_progress == NULL) return;
  const double value = o->has_best ? (o->def.maximize ? -o->best : o->best) : (double)NAN;
  const cpl_search_progress p = {runs, failed, value};
  o->def.on_progress(o->def.user, &p);
}

//------------------------------------ callbacks ------------------------------------

static double violation(const optimization* o, const double* y) {
  double largest = 0;
  for (size_t i = 1; i < o->m; i++)
    largest = fmax(largest, o->constraints[i - 1].equation ? fabs(y[i]) : y[i]);
  return largest;
}

// Points that meet the constraints are better than others.
static void compare(optimization* o, const double* x, const double* y) {
  const double excess = violation(o, y);
  const bool met = excess <= o->def.constraint_tolerance;
  bool better = !o->has_best || (met && !o->is_best_met);
  if (o->has_best && met == o->is_best_met) better = met ? y[0] < o->best : excess < o->best_excess;
  o->penalty = o->has_best ? fmax(o->penalty, y[0]) : y[0];
  if (!better) return;
  o->has_best = true, o->is_best_met = met;
  o->best = y[0], o->best_excess = excess;
  memcpy(o->best_x, x, o->n * sizeof *x);
}

// The value with this index at a scaled point, and its gradient. Where a run fails the objective is
// large, so that a shorter step is taken.
static double evaluate(optimization* o, const double* scaled, size_t index, double* gradient) {
  const cpli_fit_point* point = NULL;
  for (size_t j = 0; j < o->n; j++) {
    const cpl_varied* v = &o->trials.list[j];
    o->x[j] = fmin(fmax(scaled[j] * o->scale[j], v->least), v->greatest);
  }
  if (o->st >= 0) o->st = cpli_points_at(&o->points, o->x, &point);
  const bool fine = o->st == CPL_OK;
  if (fine) compare(o, o->x, point->y);
  if (fine && gradient != NULL) o->st = cpli_points_derive(&o->points, o->x, &point);
  if (o->st < 0) {
    o->library->nlopt_force_stop(o->opt);
    return HUGE_VAL;
  }
  const double factor = index == 0 ? o->value_scale : 1;
  for (size_t j = 0; j < o->n && gradient != NULL; j++)
    gradient[j] = fine ? point->derivatives[j * o->m + index] * o->scale[j] / factor : 0;
  o->st = CPL_OK;
  if (fine) return point->y[index] / factor;
  return index == 0 ? (o->penalty + 10 * (fabs(o->penalty) + o->value_scale)) / factor : 0;
}

static double evaluate_objective(unsigned n, const double* x, double* gradient, void* user) {
  (void)n;
  return evaluate(user, x, 0, gradient);
}

static double evaluate_constraint(unsigned n, const double* x, double* gradient, void* user) {
  (void)n;
  const constraint* c = user;
  return evaluate(c->owner, x, c->index, gradient);
}

//------------------------------------ search ------------------------------------

static double scale_of(const cpl_varied* v) {
  if (v->guess != 0) return fabs(v->guess);
  const double range = v->greatest - v->least;
  return isfinite(range) ? range : 1;
}

static bool set_up(optimization* o, cpl_optimizer method, double* least, double* greatest) {
  const cpli_nlopt* l = o->library;
  o->opt = l->nlopt_create(l->nlopt_algorithm_from_string(algorithms[method]), (unsigned)o->n);
  if (o->opt == NULL) return false;
  for (size_t j = 0; j < o->n; j++) {
    least[j] = o->trials.list[j].least / o->scale[j];
    greatest[j] = o->trials.list[j].greatest / o->scale[j];
  }
  bool fine = l->nlopt_set_lower_bounds(o->opt, least) > 0 &&
              l->nlopt_set_upper_bounds(o->opt, greatest) > 0 &&
              l->nlopt_set_min_objective(o->opt, evaluate_objective, o) > 0 &&
              l->nlopt_set_xtol_rel(o->opt, o->def.tolerance) > 0 &&
              l->nlopt_set_ftol_rel(o->opt, 1e-2 * o->def.tolerance * o->def.tolerance) > 0;
  for (size_t i = 0; i + 1 < o->m && fine; i++) {
    constraint* c = &o->constraints[i];
    const double tolerance = 0.5 * o->def.constraint_tolerance;
    fine = (c->equation ? l->nlopt_add_equality_constraint : l->nlopt_add_inequality_constraint)(
               o->opt, evaluate_constraint, c, tolerance) > 0;
  }
  return fine;
}

enum { FTOL_REACHED = 3, XTOL_REACHED = 4 };  // results of NLopt

static const char* reason(int code) {
  switch (code) {
    case FTOL_REACHED: return "the objective changes no more";
    case XTOL_REACHED: return "the parameters change no more";
    default: return code > 0 ? "the search has ended" : "the search has failed";
  }
}

static cpl_status check_result(optimization* o, int code) {
  if (o->st < 0) return o->st;
  o->end = reason(code);
  if (code < 0)
    return cpl_fail(o->ctx, CPL_ERR_SOLVER, "the optimization failed (NLopt: %d)", code);
  if (o->is_best_met) return CPL_OK;
  return cpl_fail(o->ctx, CPL_ERR_SOLVER,
                  "no values that meet all constraints were found: the best ones violate one by %g",
                  o->best_excess);
}

// One search from the best point so far. *code: the result of NLopt. *way: how far it led, the
// largest change of a parameter relative to its size.
static cpl_status search_once(optimization* o, cpl_optimizer method, int* code, double* way) {
  double value = NAN;
  double* z = cpli_alloc(o->ctx, 4 * o->n, sizeof *z);
  if (z == NULL) return cpli_nomem(o->ctx);
  double* from = z + 3 * o->n;
  memcpy(from, o->best_x, o->n * sizeof *from);
  for (size_t j = 0; j < o->n; j++) z[j] = o->best_x[j] / o->scale[j];
  o->value_scale = o->best != 0 ? fabs(o->best) : 1;
  const bool fine = set_up(o, method, z + o->n, z + 2 * o->n);
  if (fine) *code = o->library->nlopt_optimize(o->opt, z, &value);
  if (o->opt != NULL) o->library->nlopt_destroy(o->opt);
  o->opt = NULL;
  *way = 0;
  for (size_t j = 0; j < o->n; j++)
    *way = fmax(*way, fabs(o->best_x[j] - from[j]) / fmax(fabs(from[j]), o->scale[j]));
  cpli_free(o->ctx, z);
  return fine ? CPL_OK : cpli_nomem(o->ctx);
}

// COBYLA also ends where two of its points happen to have one value: it searches again from there.
static cpl_status search_with(optimization* o, cpl_optimizer method, int* code) {
  double way = 0;
  cpl_status st = search_once(o, method, code, &way);
  while (st >= 0 && o->st >= 0 && method == CPL_OPTIMIZER_COBYLA && *code == FTOL_REACHED &&
         o->is_best_met && way > o->def.tolerance)
    st = search_once(o, method, code, &way);
  return st;
}

// Where a search with derivatives finds no better point, or comes to nothing that meets the
// constraints, one without derivatives follows: it may be no optimum.
static cpl_status search(optimization* o) {
  const cpli_fit_point* point = NULL;
  int code = 0;
  cpl_status st = cpli_points_at(&o->points, o->x, &point);
  if (st == CPL_RETRY)
    return cpl_fail(o->ctx, CPL_ERR_MODEL, "the run with the guesses failed: %s",
                    o->trials.failure);
  if (st < 0) return st;
  compare(o, o->x, point->y);
  st = search_with(o, o->def.method, &code);
  const bool doubtful = code < 0 || !o->is_best_met;
  if (st >= 0 && o->st >= 0 && doubtful && o->def.method == CPL_OPTIMIZER_SLSQP)
    st = search_with(o, CPL_OPTIMIZER_COBYLA, &code);
  return st < 0 ? st : check_result(o, code);
}

//------------------------------------ life ------------------------------------

static cpl_status check_def(optimization* o, const cpl_optimize_def* def) {
  cpl_status st = cpli_read_def(o->ctx, "cpl_optimize_def", def, &o->def, sizeof o->def);
  if (st < 0) return st;
  if (o->def.tolerance == 0) o->def.tolerance = 1e-6;
  if (o->def.constraint_tolerance == 0) o->def.constraint_tolerance = 1e-6;
  if (o->def.tolerance > 0 && o->def.constraint_tolerance > 0) return CPL_OK;
  return cpl_fail(o->ctx, CPL_ERR_INPUT, "tolerances must be positive, not %g and %g",
                  o->def.tolerance, o->def.constraint_tolerance);
}

static cpl_status prepare(optimization* o, const cpl_optimize_def* def) {
  cpl_status st = check_def(o, def);
  if (st >= 0) st = cpli_nlopt_load(o->ctx, &o->library);
  if (st >= 0) st = cpli_trials_open(&o->trials, o->ctx, o->def.experiment, o->def.max_runs);
  if (st >= 0) st = cpli_trials_vary(&o->trials, o->def.vary, o->def.n_vary, NULL);
  if (st >= 0) st = parse(o);
  if (st < 0) return st;
  o->n = o->trials.n;
  o->x = cpli_alloc(o->ctx, 3 * o->n, sizeof *o->x);
  o->values = cpli_alloc(o->ctx, o->n_measures, sizeof *o->values);
  if (o->x == NULL || o->values == NULL) return cpli_nomem(o->ctx);
  const cpli_points_def points = {.trials = &o->trials,
                                  .n_parts = 1,
                                  .sizes = &o->m,
                                  .user = o,
                                  .run = run_one,
                                  .on_run = report_run,
                                  .workers = cpli_fit_workers(o->def.workers, &o->trials)};
  st = cpli_points_init(&o->points, &points);
  if (st >= 0) st = cpli_points_guess(&o->points);
  if (st < 0) return st;
  o->scale = o->x + o->n, o->best_x = o->x + 2 * o->n;
  for (size_t j = 0; j < o->n; j++) {
    o->x[j] = o->trials.list[j].guess;
    o->scale[j] = scale_of(&o->trials.list[j]);
  }
  return CPL_OK;
}

static void release(optimization* o) {
  for (size_t i = 0; o->constraints != NULL && i < o->def.n_subject_to; i++)
    cpli_free(o->ctx, o->constraints[i].measure);
  if (o->meter != NULL) cpli_meter_destroy(o->meter);
  cpli_measures_destroy(o->measures);
  cpli_points_free(&o->points);
  cpli_trials_free(&o->trials);
  cpli_free(o->ctx, o->texts);
  cpli_free(o->ctx, o->constraints);
  cpli_free(o->ctx, o->values);
  cpli_free(o->ctx, o->x);
}

// A value that differs from a bound by less than the tolerance of the search is there.
static int32_t bound_of(const optimization* o, size_t j) {
  const cpl_varied* v = &o->trials.list[j];
  const double near = o->def.tolerance * fmax(fabs(o->best_x[j]), o->scale[j]);
  if (o->best_x[j] <= v->least + near) return -1;
  return o->best_x[j] >= v->greatest - near ? 1 : 0;
}

// The constraints at the best point, which is the last one that is simulated.
static cpl_status describe_constraints(optimization* o, result* r) {
  const cpli_fit_point* point = NULL;
  const size_t n = o->def.n_subject_to;
  cpl_optimum_constraint* list = cpli_arena_alloc(&r->arena, n, sizeof *list);
  if (list == NULL) return cpli_nomem(o->ctx);
  cpl_status st = n > 0 ? cpli_points_at(&o->points, o->best_x, &point) : CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    const double value = point->y[i + 1];
    const double excess = o->constraints[i].equation ? fabs(value) : value;
    list[i].text = cpli_arena_strdup(&r->arena, o->constraints[i].text);
    list[i].excess = excess;
    list[i].met = excess <= o->def.constraint_tolerance;
    list[i].active = excess >= -100 * o->def.constraint_tolerance;
    if (list[i].text == NULL) st = cpli_nomem(o->ctx);
  }
  r->optimum.constraints = list;
  r->optimum.n_constraints = st == CPL_OK ? n : 0;
  return st < 0 ? st : CPL_OK;
}

static cpl_status describe(optimization* o, result* r, bool converged) {
  cpl_varied* list = cpli_arena_alloc(&r->arena, o->n, sizeof *list);
  cpl_optimum* out = &r->optimum;
  if (list == NULL) return cpli_nomem(o->ctx);
  for (size_t j = 0; j < o->n; j++) {
    list[j] = o->trials.list[j];
    list[j].name = cpli_arena_strdup(&r->arena, list[j].name);
    list[j].unit = cpli_arena_strdup(&r->arena, list[j].unit);
    list[j].value = o->best_x[j];
    list[j].at_bound = bound_of(o, j);
    if (list[j].name == NULL || list[j].unit == NULL) return cpli_nomem(o->ctx);
  }
  out->converged = converged;
  out->parameters = list;
  out->n_parameters = o->n;
  out->value = o->def.maximize ? -o->best : o->best;
  cpl_status st = converged ? describe_constraints(o, r) : CPL_OK;
  out->runs = o->trials.runs;
  out->failed = o->trials.failed;
  if (o->trials.failure != NULL) {
    out->failure = cpli_arena_strdup(&r->arena, o->trials.failure);
    if (out->failure == NULL) return cpli_nomem(o->ctx);
  }
  out->end = cpli_arena_strdup(&r->arena, converged ? o->end : cpl_context_error(o->ctx));
  return out->end != NULL ? st : cpli_nomem(o->ctx);
}

cpl_status cpl_optimize_run(cpl_context* ctx, const cpl_optimize_def* def, cpl_optimum** out) {
  *out = NULL;
  optimization o = {.ctx = ctx, .def = cpl_default_optimize_def(), .value_scale = 1, .end = ""};
  result* r = cpli_alloc(ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(ctx);
  r->ctx = ctx;
  cpli_arena_init(&r->arena, ctx);
  cpl_status st = prepare(&o, def);
  if (st >= 0) st = search(&o);
  bool keep = o.has_best && (st >= 0 || st == CPL_ERR_CANCELLED || st == CPL_ERR_SOLVER);
  if (keep) {
    const cpl_status described = describe(&o, r, st >= 0);
    if (described < 0) st = described, keep = false;
  }
  if (keep) *out = &r->optimum;
  else cpl_optimum_destroy(&r->optimum);
  release(&o);
  return st;
}

void cpl_optimum_destroy(cpl_optimum* optimum) {
  result* r = (result*)optimum;
  if (r == NULL) return;
  cpl_context* ctx = r->ctx;
  cpli_arena_free(&r->arena);
  cpli_free(ctx, r);
}
