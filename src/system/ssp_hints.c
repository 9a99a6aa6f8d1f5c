// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Times of the default experiment, and steps and tolerances that OMSimulator and the Open
// Simulation Platform write into annotations. None of them is needed.
#include <math.h>
#include <stdlib.h>

#include "format/number.h"
#include "system/ssp_flat.h"

enum { DEEPEST = 300 };

typedef struct hints {
  double step, max_step, min_step, tolerance, rtol;
} hints;

//------------------------------------ annotations ------------------------------------

static bool read_number(const cpli_xml_node* node, const char* attribute, double* out) {
  const char* text = cpli_xml_node_attribute(node, attribute);
  double value;
  if (text == NULL || !cpli_parse_double(text, strlen(text), &value)) return false;
  if (!isfinite(value) || value <= 0) return false;
  *out = value;
  return true;
}

// Hints of a tool, by the name of the element: which attribute is which number.
static const struct hint {
  const char *type, *element, *attribute;
  size_t member;
} known[] = {
    {"org.openmodelica", "FixedStepMaster", "stepSize", offsetof(hints, step)},
    {"org.openmodelica", "FixedStepMaster", "relativeTolerance", offsetof(hints, rtol)},
    {"org.openmodelica", "VariableStepMaster", "maximumStepSize", offsetof(hints, max_step)},
    {"org.openmodelica", "VariableStepMaster", "minimumStepSize", offsetof(hints, min_step)},
    {"org.openmodelica", "VariableStepMaster", "relativeTolerance", offsetof(hints, tolerance)},
    {"org.openmodelica", "VariableStepSolver", "relativeTolerance", offsetof(hints, rtol)},
    {"com.opensimulationplatform", "FixedStepAlgorithm", "baseStepSize", offsetof(hints, step)},
};

// The first value of the file holds: the outermost system comes first.
static void read_element(const char* type, const cpli_xml_node* node, hints* out) {
  for (size_t i = 0; i < CPLI_COUNT(known); i++) {
    double* value = (double*)((char*)out + known[i].member);
    if (strcmp(known[i].type, type) == 0 && strcmp(known[i].element, node->name) == 0 &&
        isnan(*value))
      read_number(node, known[i].attribute, value);
  }
}

static void read_annotation(const char* type, const cpli_xml_node* node, hints* out) {
  for (const cpli_xml_node* c = node->first; c != NULL; c = c->next) {
    if (c->name == NULL) continue;
    read_element(type, c, out);
    read_annotation(type, c, out);
  }
}

static bool is(const cpli_xml_node* node, const char* uri, const char* name) {
  return node->name != NULL && node->uri != NULL && strcmp(node->name, name) == 0 &&
         strcmp(node->uri, uri) == 0;
}

// Annotations below a node, those of the node itself before those of its elements.
static void find_annotations(const cpli_xml_node* node, int depth, hints* out) {
  for (const cpli_xml_node* c = node->first; c != NULL; c = c->next) {
    const char* type = is(c, CPLI_SSC, "Annotation") ? cpli_xml_node_attribute(c, "type") : NULL;
    if (type != NULL) read_annotation(type, c, out);
  }
  for (const cpli_xml_node* c = node->first; c != NULL && depth < DEEPEST; c = c->next)
    if (is(c, CPLI_SSD, "Annotations")) find_annotations(c, depth + 1, out);
  for (const cpli_xml_node* c = node->first; c != NULL && depth < DEEPEST; c = c->next) {
    const bool other = !is(c, CPLI_SSD, "Annotations") && !is(c, CPLI_SSC, "Annotation");
    if (c->name != NULL && other) find_annotations(c, depth + 1, out);
  }
}

//------------------------------------ steps of models ------------------------------------

static bool find_step(const cpli_xml_node* node, double* out) {
  for (const cpli_xml_node* c = node->first; c != NULL; c = c->next) {
    if (c->name == NULL) continue;
    if (strcmp(c->name, "StepSizeHint") == 0 && read_number(c, "value", out)) return true;
    if (find_step(c, out)) return true;
  }
  return false;
}

// A hint of a component, as a multiple of the step of the master.
static cpl_status read_steps(cpli_flat* f, double base, cpli_cosimulation* m) {
  cpli_setting* steps = cpli_def_array(f->def, f->n_models, sizeof *steps);
  m->steps = steps;
  if (steps == NULL) return f->n_models > 0 ? cpli_nomem(f->ctx) : CPL_OK;
  for (size_t i = 0; i < f->n_models; i++) {
    const cpli_flat_node* n = f->models[i];
    double step;
    if (n->element->node == NULL || !find_step(n->element->node, &step)) continue;
    const double multiple = floor(step / base + 0.5);
    if (!(multiple > 1)) continue;
    char digits[CPLI_NUMBER_SIZE];
    cpli_format_double(digits, multiple * base);
    steps[m->n_steps++] = (cpli_setting){.name = {n->path, n->element->loc},
                                         .value = cpli_def_text(f->def, digits, n->element->loc)};
  }
  return CPL_OK;
}

cpl_status cpli_flat_hints(cpli_flat* f) {
  hints h = {NAN, NAN, NAN, NAN, NAN};
  if (f->ssp->root != NULL) find_annotations(f->ssp->root, 0, &h);
  cpli_experiment e = {.values = cpl_default_experiment_def()};
  const cpli_source_loc loc = {.file = f->ssp->file->path};
  for (size_t i = 0; i < CPLI_EXPERIMENT_COUNT; i++) e.locs[i] = loc;
  e.values.start = f->ssp->start;
  e.values.stop = f->ssp->stop;
  e.values.rtol = h.rtol;
  cpl_status st = cpli_def_set_experiment(f->def, &e);
  f->def->cosimulation.automatic = isnan(h.step) && isnan(h.tolerance);
  if (st < 0 || f->def->cosimulation.automatic) return st;
  cpli_cosimulation m = cpli_default_cosimulation();
  m.loc = loc;
  m.step = isnan(h.step) ? h.max_step : h.step;
  if (isnan(h.step)) m.tolerance = h.tolerance;
  if (isnan(h.step)) m.min_step = h.min_step;
  if (!isnan(h.step)) st = read_steps(f, h.step, &m);
  return st < 0 ? st : cpli_def_set_cosimulation(f->def, &m);
}
