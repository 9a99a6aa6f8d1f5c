// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tangent functions of all example models, at random points: against differences, and where models
// have a function `directional`, against that, to rounding.
#include <dirent.h>

#include "model/cmodel_instance.h"
#include "tangent/compare.h"

enum { POINTS = 6, FEW = 3 };

typedef struct opened {
  cpl_source* source;
  cpl_model* model;
  const cpli_cmodel* cm;
  const cpl_model_tangent* t;
} opened;

static opened open_model(cpl_context* ctx, const char* path) {
  opened o = {0};
  CHECK_OK(ctx, cpl_c_open(ctx, path, &o.source));
  CHECK_OK(ctx, o.source->ops->make_model(o.source, "m", &o.model));
  o.cm = ((cpli_c_instance*)o.model)->cm;
  o.t = cpli_c_tangent(o.source);
  assert_non_null(o.t);
  return o;
}

static void close_model(opened* o) {
  o->model->base.ops->destroy(&o->model->base);
  o->source->ops->destroy(o->source);
}

static compared sizes_of(const opened* o) {
  const cpli_layout* at = &o->cm->at;
  return (compared){.nx = at->nx,
                    .nu = at->nu,
                    .np = at->np,
                    .nw = at->nw,
                    .nz = at->na,
                    .memory_size = o->cm->def->memory_size};
}

// Near the start values, which are sensible ones.
static void fill(const opened* o, uint64_t* random, point_data* at, point_data* d) {
  const cpli_layout* l = &o->cm->at;
  const double* start = ((cpli_c_instance*)o->model)->v;
  const struct {
    uint32_t first, n;
    double *value, *seed;
  } lists[] = {{l->x, l->nx, at->x, d->x},
               {l->u, l->nu, at->u, d->u},
               {l->p, l->np, at->p, d->p},
               {l->a, l->na, at->z, d->z}};
  for (size_t k = 0; k < CPLI_COUNT(lists); k++) {
    for (uint32_t i = 0; i < lists[k].n; i++) {
      const double v = start[lists[k].first + i], size = v != 0 ? fabs(v) : 1;
      const cpl_variable* var = &o->cm->desc.vars[lists[k].first + i];
      const bool real = var->type == CPL_REAL;
      lists[k].value[i] = real ? v + 0.1 * size * next_random(random) : v;
      lists[k].seed[i] = real && k != 2 ? size * next_random(random) : 0;
    }
  }
  for (uint32_t i = 0; i < l->nw; i++) at->w[i] = start[l->w + i];
  at->v.t = 0.3 + 0.1 * next_random(random);
}

// Against differences: all functions, for states and inputs, then for everything else, too.
static int compare_model(const opened* o, const char* path) {
  compared c = sizes_of(o);
  const cpli_layout at_of = o->cm->at;
  uint64_t random = 7;
  int n = 0;
  point_data at = make_point(&c), d = make_point(&c);
  for (int k = 0; k < POINTS; k++) {
    const bool all = k >= POINTS / 2;
    fill(o, &random, &at, &d);
    d.v.t = 0;
    for (size_t i = 0; all && i < c.np; i++)
      if (o->cm->desc.vars[o->cm->at.p + i].type == CPL_REAL)
        d.p[i] = fmax(fabs(at.p[i]), 0.1) * next_random(&random);
    for (size_t i = 0; i < c.nw; i++) {
      const bool real = o->cm->desc.vars[o->cm->at.w + i].type == CPL_REAL;
      d.w[i] = all && real ? next_random(&random) : 0;
      if (d.w[i] != 0) at.w[i] += 0.1 * next_random(&random);  // beside special values
    }
    if (all) d.v.t = 1;
    const cpl_model_tangent* t = o->t;
    const compared all_of[] = {
        {t->derivatives_of, all ? t->derivatives_all : t->derivatives, .n_out = c.nx},
        {t->output_values_of, all ? t->output_values_all : t->output_values, .n_out = at_of.ny},
        {t->residuals_of, all ? t->residuals_all : t->residuals, .n_out = at_of.na},
        {t->constraints_of, all ? t->constraints_all : t->constraints, .n_out = at_of.nc}};
    for (size_t i = 0; i < CPLI_COUNT(all_of); i++) {
      c.f = all_of[i].f, c.tangent = all_of[i].tangent, c.n_out = all_of[i].n_out;
      if (c.f != NULL && c.tangent != NULL) n += compare(&c, &at, &d, 1e-7, path);
    }
  }
  free_point(&at);
  free_point(&d);
  return n;
}

static void check_same(const char* path, const double* a, const double* b, size_t n) {
  double size = 0;
  for (size_t i = 0; i < n; i++) size = fmax(size, fabs(a[i]));
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(a[i] - b[i]) <= 1e-14 * size))
      fail_msg("%s: derivative %zu is %.17g, by its own function %.17g", path, i, b[i], a[i]);
  }
}

// Against the model's own function, to rounding.
static void compare_own(const opened* o, const char* path) {
  compared c = sizes_of(o);
  uint64_t random = 9;
  point_data at = make_point(&c), d = make_point(&c);
  double* buffer = calloc(3 * (c.nx + o->cm->at.ny) + 1, sizeof(double));
  double *own_dx = buffer, *own_y = own_dx + c.nx, *value = own_y + o->cm->at.ny,
         *dx = value + c.nx + o->cm->at.ny, *dy = dx + c.nx;
  for (int k = 0; k < POINTS; k++) {
    fill(o, &random, &at, &d);
    assert_int_equal(o->cm->def->directional(&at.v, d.x, d.u, own_dx, own_y), 0);
    if (c.nx > 0) assert_int_equal(o->t->derivatives(&at.v, &d.v, value, dx), 0);
    if (o->cm->at.ny > 0) assert_int_equal(o->t->output_values(&at.v, &d.v, value, dy), 0);
    check_same(path, own_dx, dx, c.nx);
    check_same(path, own_y, dy, o->cm->at.ny);
  }
  free(buffer);
  free_point(&at);
  free_point(&d);
}

typedef struct tally {
  int models, own, none;
} tally;

static void check_file(cpl_context* ctx, const char* path, tally* sum) {
  opened o = open_model(ctx, path);
  const bool any = o.cm->at.nx + o.cm->at.ny > 0;
  if (o.cm->at.na > 0 && (o.cm->tangent == NULL || o.t->residuals == NULL))
    fail_msg("%s: no exact derivatives of its residuals", path);
  if (any && o.t->why != NULL) fail_msg("%s has no tangent functions: %s", path, o.t->why);
  if (!any) sum->none++;
  if (any && compare_model(&o, path) < 1) fail_msg("%s: nothing was compared", path);
  if (any && o.cm->def->directional != NULL) {
    compare_own(&o, path);
    sum->own++;
  }
  sum->models++;
  close_model(&o);
}

static void check_folder(cpl_context* ctx, const char* folder, int depth, tally* sum) {
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    char path[4096];
    const size_t n = strlen(e->d_name);
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (e->d_name[0] == '.') continue;
    if (n > 2 && strcmp(e->d_name + n - 2, ".c") == 0) check_file(ctx, path, sum);
    else if (depth > 0 && strchr(e->d_name, '.') == NULL && e->d_type == DT_DIR)
      check_folder(ctx, path, depth - 1, sum);
  }
  closedir(dir);
}

static void all_examples_have_exact_derivatives(void** state) {
  cpl_context* ctx = test_context();
  tally sum = {0};
  (void)state;
  check_folder(ctx, test_path("examples"), 1, &sum);
  check_folder(ctx, test_path("tests/property/pool"), 0, &sum);
  assert_true(sum.models > 90 && sum.own > 8 && sum.none < 12);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_examples_have_exact_derivatives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
