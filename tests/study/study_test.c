// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A study from a program: cases arrive in their order, with measures and curves, against the closed
// form of a decay; units of factors are converted.
#include <math.h>
#include <unistd.h>

#include "couplet/couplet.h"
#include "testing.h"

// x' = -k x
static int decay(const cpl_values* v, double* dx) {
  if (v->p[0] == 2) return cpl_model_error(v, "two is too much");
  dx[0] = -v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1, .unit = "m", .output = true}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 1, .unit = "1/s"}, {0}};
static const cpl_model_def model = {
    .name = "decay", .states = states, .parameters = parameters, .derivatives = decay};

typedef struct collected {
  int64_t n, failed;
  double worst;  // error of measures and curves
} collected;

static cpl_status on_case(void* user, const cpl_study_columns* c, const cpl_study_case* one) {
  collected* all = user;
  CHECK_INT(one->i, all->n);
  all->n++;
  CHECK_INT(c->n_factors, 2);
  CHECK_INT(c->n_measures, 1);
  CHECK_INT(c->n_curves, 1);
  CHECK_INT(c->n_times, 5);
  CHECK_STR(c->factors[1], "x");
  CHECK_STR(c->factor_units[1], "mm");
  CHECK_STR(c->measures[0], "area");
  CHECK_STR(c->measure_units[0], "m.s");
  CHECK_STR(c->curve_units[0], "m");
  CHECK_STR(c->measure_texts[0], "integral(x)");
  CHECK_STR(c->facts[0].name, "title");
  CHECK_STR(c->facts[0].text, "decay");
  if (one->failure != NULL) {
    CHECK(one->measures == NULL && one->curves == NULL);
    CHECK_CONTAINS(one->failure, "two is too much");
    CHECK_NEAR(one->factors[0], 2, 0);
    all->failed++;
    return CPL_OK;
  }
  const double k = one->factors[0], x = one->factors[1] / 1000;
  all->worst = fmax(all->worst, fabs(one->measures[0] - x * (1 - exp(-2 * k)) / k));
  for (size_t i = 0; i < c->n_times; i++) {
    CHECK_NEAR(c->times[i], 0.5 * (double)i, 1e-12);
    all->worst = fmax(all->worst, fabs(one->curves[i] - x * exp(-k * c->times[i])));
  }
  return CPL_OK;
}

static cpl_status on_case_fails(void* user, const cpl_study_columns* c, const cpl_study_case* one) {
  (void)user, (void)c, (void)one;
  return CPL_ERR_MODEL;
}

static void a_study(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  cpl_design* design = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &model, &source));
  cpl_design_texts texts = cpl_default_design_texts();
  texts.over = (const char*[]){"k=0.5:2:4", "x=1000 mm:3000 mm:2"}, texts.n_over = 2;
  CHECK_OK(ctx, cpl_study_design(ctx, source, &texts, &design));
  cpl_experiment_def e = cpl_default_experiment_def();
  e.stop = 2, e.interval = 0.5, e.rtol = 1e-9;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = "decay", settings.source = source, settings.experiment = &e;
  const cpl_measure_def measure = {.name = "area", .text = "integral(x)"};
  collected all = {0};
  cpl_study_def def = cpl_default_study_def();
  def.experiment = &settings, def.design = design;
  def.measures = &measure, def.n_measures = 1;
  def.curves = (const char*[]){"x"}, def.n_curves = 1;
  def.journal = "study.journal";
  def.on_case = on_case, def.user = &all;
  for (int32_t workers = 1; workers <= 3; workers++) {
    cpl_study_summary summary;
    all = (collected){0};
    def.workers = workers;
    CHECK_OK(ctx, cpl_study_run(ctx, &def, &summary));
    CHECK_INT(summary.progress.done, 8);
    CHECK_INT(summary.progress.failed, 2);
    CHECK_INT(all.n, 8);
    CHECK_INT(all.failed, 2);
    CHECK(all.worst < 1e-6);
    CHECK(access("study.journal", F_OK) != 0);
  }
  // the journal of a study that ended early belongs to this content of the source
  def.content = "version 1";
  def.on_case = on_case_fails;
  CHECK_INT(cpl_study_run(ctx, &def, NULL), CPL_ERR_MODEL);
  def.on_case = on_case;
  def.resume = true;
  def.content = "version 2";
  CHECK_INT(cpl_study_run(ctx, &def, NULL), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "another study");
  CHECK_CONTAINS(cpl_context_error(ctx), "version 2");
  def.content = "version 1";
  all = (collected){0};
  CHECK_OK(ctx, cpl_study_run(ctx, &def, NULL));
  CHECK_INT(all.n, 8);
  cpl_design_destroy(design);
  cpl_source_destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_study)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
