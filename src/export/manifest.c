// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manifest of the layered standard FMI-LS-DAE. Its structure replaces that of the
// model description while the form with residuals is enabled. Outputs, which no Jacobian needs, are
// declared to depend on all variables.
#include "export/description.h"

static void write_reference(cpli_writer* w, const char* element, uint32_t ref) {
  cpli_writef(w, "    <%s valueReference=\"%u\"/>\n", element, (unsigned)ref);
}

static void write_variables(cpli_writer* w, const cpli_numbering* n, const char* element,
                            const int32_t* vars, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (n->extent[vars[i]] > 0) write_reference(w, element, cpli_number_of(n, vars[i]));
  }
}

static void write_unknowns(cpli_writer* w, const cpli_numbering* n, const char* element,
                           const cpl_unknown* rows, int32_t count) {
  for (int32_t i = 0; i < count; i++) write_variables(w, n, element, &rows[i].var, 1);
}

// The dependencies of the elements of one variable, as far as they are known. `seen` is scratch
// with one entry per variable.
static void write_dependencies(cpli_writer* w, const cpli_numbering* n, const cpl_unknown* rows,
                               int32_t count, bool* seen) {
  const cpl_structure* s = n->desc->residual_structure;
  memset(seen, 0, (size_t)n->desc->n_vars * sizeof *seen);
  for (int32_t r = 0; r < count; r++) {
    if (rows[r].count < 0) return;
    for (int32_t k = 0; k < rows[r].count; k++)
      seen[cpli_number_head(n, s->deps[rows[r].first + k])] = true;
  }
  const char* glue = "";
  cpli_write(w, " dependencies=\"");
  for (int32_t i = 0; i < n->desc->n_vars; i++) {
    if (!seen[i]) continue;
    cpli_writef(w, "%s%u", glue, (unsigned)cpli_number_of(n, i));
    glue = " ";
  }
  cpli_write(w, "\"");
}

static void write_derivatives(cpli_writer* w, const cpli_numbering* n, bool* seen) {
  const cpl_description* d = n->desc;
  for (int32_t i = 0; i < d->n_states; i++) {
    int32_t count = n->extent[d->derivatives[i]];
    if (count == 0) continue;
    cpli_writef(w, "    <ContinuousStateDerivative valueReference=\"%u\"",
                (unsigned)cpli_number_of(n, d->derivatives[i]));
    if (d->residual_structure != NULL)
      write_dependencies(w, n, d->residual_structure->derivatives + i, count, seen);
    cpli_write(w, "/>\n");
  }
}

static void write_formulation(cpli_writer* w, const cpli_numbering* n, int index, int32_t var) {
  cpli_writef(w, "      <Formulation index=\"%d\" valueReference=\"%u\"", index,
              (unsigned)cpli_number_of(n, var));
}

// The original form of a residual, then its derivatives.
static void write_residual(cpli_writer* w, const cpli_numbering* n, int32_t residual, bool* seen) {
  const cpl_description* d = n->desc;
  cpli_write(w, "    <Residual>\n");
  for (int32_t k = 0; k < d->n_formulations; k++) {
    if (d->formulations[k].residual != residual) continue;
    write_formulation(w, n, d->formulations[k].index, d->formulation_vars[k]);
    cpli_write(w, "/>\n");
  }
  write_formulation(w, n, 1, d->residuals[residual]);
  if (d->residual_structure != NULL)
    write_dependencies(w, n, d->residual_structure->outputs + residual, 1, seen);
  cpli_write(w, "/>\n    </Residual>\n");
}

cpl_status cpli_write_manifest(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_description* d = facts->desc;
  const cpl_structure* s = &d->structure;
  cpli_numbering n;
  cpl_status st = cpli_numbering_make(w->ctx, facts, &n);
  cpli_refs3 refs = n.refs;
  bool* seen = st >= 0 ? cpli_alloc(w->ctx, (size_t)d->n_vars, sizeof *seen) : NULL;
  if (seen == NULL) {
    cpli_numbering_free(&n);
    return cpli_nomem(w->ctx);
  }
  cpli_write(w,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiLayeredStandardManifest\n"
             "  xmlns:fmi-ls=\"http://fmi-standard.org/fmi-ls-manifest\"\n"
             "  fmi-ls:fmi-ls-name=\"org.fmi-standard.fmi-ls-dae\"\n"
             "  fmi-ls:fmi-ls-version=\"0.0.1\"\n"
             "  fmi-ls:fmi-ls-description=\"Layered standard for DAE support in FMI\">\n");
  cpli_writef(w, "  <EnableDAE valueReference=\"%u\"/>\n  <AlgebraicVariables>\n",
              (unsigned)refs.enable);
  write_variables(w, &n, "AlgebraicVariable", d->algebraics, d->n_algebraics);
  cpli_write(w, "  </AlgebraicVariables>\n  <ModelStructure>\n");
  write_unknowns(w, &n, "Output", s->outputs, s->n_outputs);
  if (facts->time_events) write_reference(w, "Output", refs.clock);
  write_derivatives(w, &n, seen);
  write_unknowns(w, &n, "InitialUnknown", s->initial, s->n_initial);
  for (int32_t i = 0; i < d->n_indicators; i++)
    write_reference(w, "EventIndicator", refs.indicators + (uint32_t)i);
  for (int32_t r = 0; r < d->n_algebraics; r++) write_residual(w, &n, r, seen);
  cpli_write(w, "  </ModelStructure>\n</fmiLayeredStandardManifest>\n");
  cpli_free(w->ctx, seen);
  cpli_numbering_free(&n);
  return cpli_writer_status(w);
}
