// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition that is read back from its image is the same one: written as a system file it gives
// the same text, for all examples, all sections, modes, delay lines, packages and composite models;
// source locations, units and tables of names are there, too. What only a program has is refused.
#include "system/image.h"

#include <glob.h>
#include <limits.h>

#include "system/definitions.h"
#include "system/lines.h"
#include "system/write.h"

static cpl_system_def* through_image(cpl_context* ctx, const cpl_system_def* def) {
  cpli_image image;
  cpl_system_def* back = NULL;
  CHECK_OK(ctx, cpli_def_write_image(ctx, def, false, &image));
  unsigned char* copy = malloc(image.size);  // nothing may point into the bytes
  memcpy(copy, image.bytes, image.size);
  cpli_free(ctx, image.bytes);
  CHECK_OK(ctx, cpli_def_read_image(ctx, copy, image.size, &back));
  memset(copy, 0x55, image.size);
  free(copy);
  return back;
}

//------------------------------------ comparison ------------------------------------

static void same_text(const char* a, const char* b) {
  CHECK((a == NULL) == (b == NULL));
  if (a != NULL) CHECK_STR(b, a);
}

static void same_loc(const cpli_source_loc* a, const cpli_source_loc* b) {
  same_text(a->file, b->file);
  CHECK(a->line == b->line && a->column == b->column);
}

static void same_located(const cpli_located_text* a, const cpli_located_text* b) {
  same_text(a->text, b->text);
  same_loc(&a->loc, &b->loc);
}

static void same_unit(const cpl_unit* a, const cpl_unit* b) {
  CHECK((a == NULL) == (b == NULL));
  if (a == NULL) return;
  CHECK_STR(b->name, a->name);
  CHECK(memcmp(a->exponents, b->exponents, sizeof a->exponents) == 0);
  CHECK(a->has_base == b->has_base && a->factor == b->factor && a->offset == b->offset);
  CHECK(a->inverse == b->inverse && a->display_of == b->display_of);
}

static void same_transform(const cpli_transform* a, const cpli_transform* b) {
  CHECK((a == NULL) == (b == NULL));
  if (a == NULL) return;
  same_unit(a->unit, b->unit);
  CHECK(a->n_steps == b->n_steps);
  for (size_t i = 0; i < a->n_steps; i++) {
    const cpli_transform_step *s = &a->steps[i], *t = &b->steps[i];
    same_unit(s->unit, t->unit);
    CHECK(s->keep_units == t->keep_units && s->factor == t->factor && s->offset == t->offset);
  }
}

static void same_settings(const cpli_setting* a, size_t n, const cpli_setting* b, size_t m) {
  CHECK(n == m);
  for (size_t i = 0; i < n; i++) {
    same_located(&a[i].name, &b[i].name);
    same_located(&a[i].value, &b[i].value);
    same_transform(a[i].transform, b[i].transform);
    same_text(a[i].number, b[i].number);
    CHECK(a[i].optional == b[i].optional);
  }
}

static void same_list(const cpli_located_text* a, size_t n, const cpli_located_text* b, size_t m) {
  CHECK(n == m);
  for (size_t i = 0; i < n; i++) same_located(&a[i], &b[i]);
}

static void same_member(const cpli_member* a, const cpli_member* b) {
  same_located(&a->name, &b->name);
  same_located(&a->path, &b->path);
  same_located(&a->command, &b->command);
  same_text(a->shown, b->shown);
  same_loc(&a->as_place, &b->as_place);
  CHECK(a->kind == b->kind && a->as == b->as && a->exactly_as == b->exactly_as);
  CHECK(a->scheduled == b->scheduled && a->isolate == b->isolate);
  CHECK(a->prefers_steps == b->prefers_steps && b->source == NULL && b->system == NULL);
  CHECK(b->cap_starts >= b->n_starts);
  same_settings(a->starts, a->n_starts, b->starts, b->n_starts);
}

static void same_input(const cpli_input* a, const cpli_input* b) {
  same_located(&a->name, &b->name);
  same_located(&a->expression, &b->expression);
  same_located(&a->file, &b->file);
  same_located(&a->column, &b->column);
  same_located(&a->start, &b->start);
  same_located(&a->unit, &b->unit);
  same_unit(a->meaning, b->meaning);
  CHECK(a->kind == b->kind && a->interpolation == b->interpolation);
  CHECK(b->table == NULL && b->value == NULL);
}

static void same_items(const cpl_system_def* a, const cpl_system_def* b) {
  CHECK(a->n_models == b->n_models && a->n_parameters == b->n_parameters);
  for (size_t i = 0; i < a->n_models; i++) same_member(&a->models[i], &b->models[i]);
  for (size_t i = 0; i < a->n_parameters; i++) {
    same_located(&a->parameters[i].name, &b->parameters[i].name);
    same_located(&a->parameters[i].value, &b->parameters[i].value);
    same_unit(a->parameters[i].unit, b->parameters[i].unit);
  }
  CHECK(a->n_inputs == b->n_inputs && a->n_connections == b->n_connections);
  for (size_t i = 0; i < a->n_inputs; i++) same_input(&a->inputs[i], &b->inputs[i]);
  for (size_t i = 0; i < a->n_connections; i++) {
    const cpli_connection *c = &a->connections[i], *d = &b->connections[i];
    same_located(&c->target, &d->target);
    same_located(&c->source, &d->source);
    same_transform(c->transform, d->transform);
    CHECK(c->convert == d->convert && c->warn_of_loss == d->warn_of_loss);
    CHECK(c->keep_units == d->keep_units && d->coupling == NULL);
  }
  CHECK(a->n_outputs == b->n_outputs && a->n_events == b->n_events);
  for (size_t i = 0; i < a->n_outputs; i++) {
    same_located(&a->outputs[i].name, &b->outputs[i].name);
    same_located(&a->outputs[i].source, &b->outputs[i].source);
    same_transform(a->outputs[i].transform, b->outputs[i].transform);
  }
  for (size_t i = 0; i < a->n_events; i++) {
    const cpli_event *e = &a->events[i], *f = &b->events[i];
    same_located(&e->name, &f->name);
    same_located(&e->when, &f->when);
    same_list(e->at, e->n_at, f->at, f->n_at);
    same_settings(e->sets, e->n_sets, f->sets, f->n_sets);
    CHECK(e->stop == f->stop && e->at_start == f->at_start);
  }
  CHECK(a->n_constraints == b->n_constraints);
  for (size_t i = 0; i < a->n_constraints; i++) {
    same_located(&a->constraints[i].name, &b->constraints[i].name);
    same_located(&a->constraints[i].difference, &b->constraints[i].difference);
    CHECK(a->constraints[i].at_start == b->constraints[i].at_start);
  }
  same_list(a->record, a->n_record, b->record, b->n_record);
}

static void same_lines(const cpl_system_def* a, const cpl_system_def* b) {
  CHECK(a->n_interfaces == b->n_interfaces && a->n_lines == b->n_lines);
  for (size_t i = 0; i < a->n_interfaces; i++) {
    const cpli_interface *p = &a->interfaces[i], *q = &b->interfaces[i];
    same_located(&p->name, &q->name);
    same_located(&p->kind, &q->kind);
    same_located(&p->sign, &q->sign);
    same_located(&p->solver, &q->solver);
    same_located(&p->hold, &q->hold);
    same_located(&p->substeps, &q->substeps);
    for (int k = 0; k < CPLI_LISTS; k++)
      same_list(p->lists[k].items, p->lists[k].n, q->lists[k].items, q->lists[k].n);
  }
  for (size_t i = 0; i < a->n_lines; i++) {
    const cpli_line *l = &a->lines[i], *m = &b->lines[i];
    same_loc(&l->loc, &m->loc);
    same_located(&l->from, &m->from);
    same_located(&l->to, &m->to);
    same_located(&l->delay, &m->delay);
    same_located(&l->zf, &m->zf);
    same_located(&l->zfr, &m->zfr);
    same_located(&l->alpha, &m->alpha);
    CHECK(l->compensate == m->compensate && l->apart == m->apart);
  }
}

static void same_number(double a, double b) { CHECK(memcmp(&a, &b, sizeof a) == 0); }

static void same_study(const cpl_system_def* a, const cpl_system_def* b) {
  same_settings(a->measures, a->n_measures, b->measures, b->n_measures);
  const cpli_study_texts *s = &a->study, *t = &b->study;
  same_settings(s->over, s->n_over, t->over, t->n_over);
  same_located(&s->design, &t->design);
  same_located(&s->sample, &t->sample);
  same_located(&s->seed, &t->seed);
  same_located(&s->table, &t->table);
  const cpli_fit_texts *f = &a->fit, *g = &b->fit;
  CHECK(f->n_data == g->n_data);
  for (size_t i = 0; i < f->n_data; i++) {
    same_located(&f->data[i].file, &g->data[i].file);
    same_settings(f->data[i].starts, f->data[i].n_starts, g->data[i].starts, g->data[i].n_starts);
    same_number(f->data[i].weight, g->data[i].weight);
  }
  same_settings(f->vary, f->n_vary, g->vary, g->n_vary);
  same_settings(f->sigma, f->n_sigma, g->sigma, g->n_sigma);
  same_located(&f->loss, &g->loss);
  same_number(f->scale, g->scale);
  same_number(f->confidence, g->confidence);
}

static void same_rest(const cpl_system_def* a, const cpl_system_def* b) {
  const cpl_experiment_def *e = &a->experiment.values, *f = &b->experiment.values;
  CHECK(e->size == f->size);
  same_number(e->start, f->start);
  same_number(e->stop, f->stop);
  same_number(e->interval, f->interval);
  same_number(e->step, f->step);
  same_number(e->rtol, f->rtol);
  same_number(e->atol, f->atol);
  same_text(e->solver, f->solver);
  same_text(e->linear, f->linear);
  same_text(e->projection, f->projection);
  same_text(e->loops, f->loops);
  for (int i = 0; i < CPLI_EXPERIMENT_COUNT; i++)
    same_loc(&a->experiment.locs[i], &b->experiment.locs[i]);
  const cpli_cosimulation *c = &a->cosimulation, *d = &b->cosimulation;
  CHECK(c->given == d->given && c->automatic == d->automatic);
  CHECK(c->output_derivatives == d->output_derivatives);
  same_loc(&c->loc, &d->loc);
  same_located(&c->algorithm, &d->algorithm);
  same_located(&c->on_loop, &d->on_loop);
  same_located(&c->estimate, &d->estimate);
  same_located(&c->legacy, &d->legacy);
  same_number(c->step, d->step);
  same_number(c->tolerance, d->tolerance);
  same_number(c->min_step, d->min_step);
  same_number(c->loop_tolerance, d->loop_tolerance);
  same_number(c->order, d->order);
  same_number(c->iterations, d->iterations);
  same_number(c->fixed_iterations, d->fixed_iterations);
  same_number(c->threads, d->threads);
  same_settings(c->steps, c->n_steps, d->steps, d->n_steps);
  same_settings(c->bonds, c->n_bonds, d->bonds, d->n_bonds);
  same_study(a, b);
  same_located(&a->start_mode, &b->start_mode);
  same_located(&a->name, &b->name);
  same_text(a->file, b->file);
  same_text(a->canonical, b->canonical);
  same_text(a->root, b->root);
  CHECK(a->hierarchical == b->hierarchical && a->manager_port == b->manager_port);
  CHECK(a->isolate == b->isolate && a->call_timeout == b->call_timeout);
}

static void same_names(const cpli_names* a, const cpli_names* b) {
  CHECK(a->count == b->count);
  for (size_t i = 0; i < a->cap; i++) {
    if (a->items[i].key != NULL) CHECK(cpli_names_find(b, a->items[i].key) == a->items[i].value);
  }
}

static void same_definition(const cpl_system_def* a, const cpl_system_def* b) {
  same_items(a, b);
  same_lines(a, b);
  same_rest(a, b);
  same_names(&a->model_names, &b->model_names);
  same_names(&a->group_names, &b->group_names);
  same_names(&a->value_names, &b->value_names);
  same_names(&a->output_names, &b->output_names);
  same_names(&a->event_names, &b->event_names);
  CHECK(a->n_modes == b->n_modes && a->n_observed == b->n_observed);
  for (size_t i = 0; i < a->n_modes; i++) {
    const cpli_mode_def *m = &a->modes[i], *n = &b->modes[i];
    same_located(&m->name, &n->name);
    same_definition(m->def, n->def);
    CHECK(m->n_leaves == n->n_leaves);
    for (size_t k = 0; k < m->n_leaves; k++) {
      const cpli_transition_def *l = &m->leaves[k], *o = &n->leaves[k];
      same_loc(&l->loc, &o->loc);
      same_located(&l->to, &o->to);
      same_located(&l->when, &o->when);
      same_located(&l->on_entry, &o->on_entry);
      same_list(l->at, l->n_at, o->at, o->n_at);
      same_settings(l->sets, l->n_sets, o->sets, o->n_sets);
      CHECK(l->terminate == o->terminate);
    }
  }
  same_settings(a->measures, a->n_measures, b->measures, b->n_measures);
  same_settings(a->study.over, a->study.n_over, b->study.over, b->study.n_over);
  same_located(&a->study.design, &b->study.design);
  same_located(&a->study.sample, &b->study.sample);
  same_located(&a->study.seed, &b->study.seed);
  same_located(&a->study.table, &b->study.table);
  for (size_t i = 0; i < a->n_observed; i++) {
    same_located(&a->observed[i].name, &b->observed[i].name);
    same_located(&a->observed[i].all, &b->observed[i].all);
    same_settings(a->observed[i].in, a->observed[i].n_in, b->observed[i].in, b->observed[i].n_in);
  }
}

// Paths as they are: the files need not exist.
static cpl_status same_path(void* user, const char** kind, const cpli_located_text* path,
                            char* out) {
  (void)user, (void)kind;
  snprintf(out, PATH_MAX, "%s", path->text);
  return CPL_OK;
}

// Item by item, and as a system file. Models of composite models cannot be written as a file.
static void check_definition(cpl_context* ctx, const cpl_system_def* def) {
  const cpli_write_def how = {.path = same_path};
  cpl_system_def* back = through_image(ctx, def);
  same_definition(def, back);
  char *a = NULL, *b = NULL;
  size_t n = 0;
  if (def->n_models == 0 || !def->models[0].prefers_steps) {
    CHECK_OK(ctx, cpli_def_to_text(def, &how, &a, &n));
    CHECK_OK(ctx, cpli_def_to_text(back, &how, &b, &n));
    CHECK(n > 20);
    CHECK_STR(b, a);
  }
  free(a);
  free(b);
  cpl_system_def_destroy(back);
}

//------------------------------------ files ------------------------------------

static void check_file(cpl_context* ctx, const char* path) {
  cpl_system_def* def = NULL;
  CHECK_OK(ctx, cpl_system_def_read(ctx, path, &def));
  check_definition(ctx, def);
  cpl_system_def_destroy(def);
}

static bool is_system_file(const char* path) {
  char line[256] = "";
  bool found = false;
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  while (!found && fgets(line, sizeof line, file) != NULL)
    found = strncmp(line, "couplet:", 8) == 0;
  fclose(file);
  return found;
}

static void test_examples(void** state) {
  static const char* const patterns[] = {"examples/*/*.yaml", "examples/*/*/*.yaml"};
  glob_t found = {0};
  int n = 0;
  for (size_t k = 0; k < CPLI_COUNT(patterns); k++)
    glob(test_path(patterns[k]), k > 0 ? GLOB_APPEND : 0, NULL, &found);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    if (!is_system_file(found.gl_pathv[i])) continue;
    check_file(*state, found.gl_pathv[i]);
    n++;
  }
  globfree(&found);
  CHECK(n > 40);
}

static void test_packages_and_composite_models(void** state) {
  // the example files without their FMUs, which are only named
  char command[9000];
  snprintf(command, sizeof command,
           "cp -r %s %s . && mkdir -p house/resources && "
           "touch house/resources/room.fmu house/resources/heater.fmu "
           "tlm_double_pendulum/doublePendulum1.fmu tlm_double_pendulum/doublePendulum2.fmu",
           test_path("examples/ssp_house/house"), test_path("examples/tlm_double_pendulum"));
  CHECK_INT(system(command), 0);
  check_file(*state, "house/SystemStructure.ssd");
  check_file(*state, "tlm_double_pendulum/doublePendulum.xml");
}

static const char everything[] =
    "couplet: 1\n"
    "name: plant\n"
    "models:\n"
    "  engine: {fmu: e.fmu, as: me, start: {w: 3 rpm, on: true}}\n"
    "  load: {c: load.c, as: cs, isolate: true}\n"
    "  sub: {system: sub.yaml}\n"
    "parameters: {ratio: 3.5, twice: 2*ratio}\n"
    "inputs:\n"
    "  gas: {file: g.csv, column: pedal, interpolation: hold, unit: m}\n"
    "  slope: sin(time)\n"
    "  temp: {start: 7 degC, unit: K}\n"
    "connections:\n"
    "  load.tau: {from: engine.tau, factor: 4, offset: -1, convert: true, convert-units: false}\n"
    "  engine.w: load.w/ratio\n"
    "outputs: {speed: load.w}\n"
    "events:\n"
    "  late: {at: [3, 2*ratio], set: {load.w: 0}}\n"
    "  fast: {when: load.w > 9, set: {load.w: -load.w, engine.on: false}}\n"
    "constraints: {p: load.w*engine.tau = at start}\n"
    "record: [speed, \"*\"]\n"
    "measures: {peak: max(load.w)}\n"
    "study: {over: {ratio: '1,2'}, design: grid, sample: 4, seed: 7, table: t.csv}\n"
    "fit:\n"
    "  data: [{file: m.csv, start: {ratio: 2}, weight: 3}, n.csv]\n"
    "  vary: {twice: '1:0:3', ratio: }\n"
    "  sigma: {load.w: 0.5}\n"
    "  loss: cauchy\n"
    "  scale: 2\n"
    "  confidence: 0.5\n"
    "experiment: {stop: 7, rtol: 1e-7, solver: radau, projection: every, loops: as-rows}\n"
    "master: {algorithm: gauss-seidel, on-loop: delay, estimate: predictor, legacy: error, step: "
    "0.25, "
    "order: 1, threads: 3, steps: {load: 0.125}, bonds: [{effort: load.tau, flow: load.w}]}\n"
    "interfaces:\n"
    "  load: {solver: radau, hold: exact, substeps: 4, origin: [1, 0, 2]}\n"
    "  load.end: {kind: rotational, position: [load.phi], speed: [load.w], force: [load.T], sign: "
    "-1}\n"
    "tlm:\n"
    "  - {from: load.end, to: engine.end, delay: 1e-3, Zf: 5, Zfr: 6, alpha: 0.1, compensate: "
    "true}\n";

static const char changing[] =
    "couplet: 1\n"
    "parameters: {limit: 3}\n"
    "modes:\n"
    "  start: up\n"
    "  up:\n"
    "    models: {m: {c: m.c}}\n"
    "    leave:\n"
    "      - {when: m.x > limit, to: down, set: {n.x: -m.x}, entry: wait}\n"
    "      - {on: terminate, to: up}\n"
    "  down:\n"
    "    models: {n: {c: n.c}}\n"
    "    leave: [{at: [1, 2*limit], to: up, set: {m.x: n.x}}]\n"
    "observe: {x: {up: m.x, down: n.x}, y: time}\n";

static void test_all_sections(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def* def = NULL;
  CHECK_OK(ctx, read_as(ctx, "plant.yaml", everything, &def));
  CHECK_OK(ctx, cpl_system_def_isolate(def, true, 2.5));
  check_definition(ctx, def);
  cpl_system_def_destroy(def);
  CHECK_OK(ctx, read_as(ctx, "changing.yaml", changing, &def));
  check_definition(ctx, def);
  cpl_system_def_destroy(def);
}

// Members that system files do not set: packages, composite models and modes do.
static void test_other_members(void** state) {
  static const cpl_unit bar = {"bar", true, {1, -1, -2}, 1e5, 0.5, true, 7};
  cpl_context* ctx = *state;
  cpl_system_def* def = NULL;
  CHECK_OK(ctx, read_as(ctx, "plant.yaml", everything, &def));
  def->root = "plant";
  def->manager_port = 11111;
  def->cosimulation.automatic = true;
  def->models[0].shown = "resources/e.fmu";
  def->models[0].exactly_as = def->models[0].scheduled = def->models[0].prefers_steps = true;
  def->models[0].command = cpli_def_text(def, "start", def->models[0].name.loc);
  def->models[0].starts[0].number = "3";
  def->models[0].starts[1].optional = true;
  def->parameters[0].unit = &bar;
  def->inputs[0].meaning = &bar;
  def->connections[0].warn_of_loss = true;
  def->events[0].stop = 3;
  def->events[1].at_start = true;
  def->lines[0].apart = true;
  const cpli_transform_step step = {&bar, true, 2, 3};
  const cpli_transform transform = {&bar, &step, 1};
  def->outputs[0].transform = def->models[0].starts[0].transform = &transform;
  cpl_system_def* back = through_image(ctx, def);
  same_definition(def, back);
  cpl_system_def_destroy(back);
  cpl_system_def_destroy(def);
}

// A definition that was read from an image can be changed, and its messages have the places of the
// file.
static void test_further_use(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def* def = NULL;
  CHECK_OK(ctx, read_as(ctx, "plant.yaml", everything, &def));
  cpl_system_def* back = through_image(ctx, def);
  cpl_system_def_destroy(def);
  CHECK_OK(ctx, cpl_system_def_set(back, "engine.w", "5"));
  CHECK_OK(ctx, cpl_system_def_set(back, "engine.new", "6"));
  CHECK_OK(ctx, cpl_system_def_set(back, "ratio", "2"));
  CHECK_STR(back->models[0].starts[0].value.text, "5");
  CHECK_STR(back->models[0].starts[2].name.text, "new");
  CHECK_STR(back->parameters[0].value.text, "2");
  CHECK_INT(cpl_system_def_add_output(back, "speed", "load.w"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "first at plant.yaml:15:");
  CHECK_OK(ctx, cpl_system_def_add_output(back, "torque", "load.tau"));
  cpl_system_def_destroy(back);
}

//------------------------------------ programs ------------------------------------

static double at(void* user, double t) {
  (void)user;
  return t;
}

static int couple(void* user, double t, const double* y, double* u) {
  (void)user, (void)t, (void)y;
  *u = 0;
  return 0;
}

static void refused(cpl_context* ctx, cpl_system_def* def, const char* name) {
  cpli_image image;
  CHECK_INT(cpli_def_write_image(ctx, def, false, &image), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), name);
  CHECK(image.bytes == NULL);
  cpl_system_def_destroy(def);
}

static void test_items_of_a_program_are_refused(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def *def = NULL, *mode = NULL;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  cpl_input_def input = cpl_default_input_def();
  input.name = "push";
  input.value = at;
  CHECK_OK(ctx, cpl_system_def_add_input(def, &input));
  refused(ctx, def, "\"push\"");

  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  CHECK_OK(ctx, cpl_system_def_add_mode(def, "only", &mode));
  cpl_coupling_def coupling = cpl_default_coupling_def();
  coupling.value = couple;
  CHECK_OK(ctx, cpl_system_def_couple(mode, "m.force", &coupling));
  refused(ctx, def, "\"m.force\"");

  cpl_table* table = NULL;
  FILE* file = fopen("t.csv", "wb");
  fputs("time,x\n0,1\n1,2\n", file);
  fclose(file);
  CHECK_OK(ctx, cpl_table_read(ctx, "t.csv", &table));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  input = cpl_default_input_def();
  input.name = "road";
  input.table = table;
  CHECK_OK(ctx, cpl_system_def_add_input(def, &input));
  refused(ctx, def, "\"road\"");
  cpl_table_destroy(table);
}

// Sources and definitions of models are not written: who reads the image sets them.
static void test_systems_in_systems(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def *inner = NULL, *outer = NULL;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &inner));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &outer));
  cpl_member_def member = cpl_default_member_def();
  member.name = "part";
  member.kind = CPL_MEMBER_SYSTEM;
  member.system = inner;
  CHECK_OK(ctx, cpl_system_def_add_model(outer, &member));
  cpl_system_def* back = through_image(ctx, outer);
  same_definition(outer, back);
  CHECK_INT(cpli_names_find(&back->model_names, "part"), 0);
  cpl_system_def_destroy(back);
  cpl_system_def_destroy(outer);
  cpl_system_def_destroy(inner);
}

//------------------------------------ failures ------------------------------------

static void test_every_failed_allocation(void** state) {
  cpl_context* plain = *state;
  cpl_system_def* def = NULL;
  cpli_image image;
  CHECK_OK(plain, read_as(plain, "plant.yaml", everything, &def));
  CHECK_OK(plain, cpli_def_write_image(plain, def, false, &image));
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_system_def* back = NULL;
    heap.fail_at = heap.calls + n;
    cpl_status st = cpli_def_read_image(ctx, image.bytes, image.size, &back);
    CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
    CHECK((st == CPL_OK) == (back != NULL));
    cpl_system_def_destroy(back);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
  }
  cpli_free(plain, image.bytes);
  cpl_system_def_destroy(def);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_examples),
      cmocka_unit_test(test_packages_and_composite_models),
      cmocka_unit_test(test_all_sections),
      cmocka_unit_test(test_other_members),
      cmocka_unit_test(test_further_use),
      cmocka_unit_test(test_items_of_a_program_are_refused),
      cmocka_unit_test(test_systems_in_systems),
      cmocka_unit_test(test_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
