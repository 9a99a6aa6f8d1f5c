// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The diagram of a file or of a system of Python.
#include <stdlib.h>

#include "model.h"

typedef struct drawing {
  core_session session;
  core_settings* settings;
  const char* path;
  cpl_diagram_form form;
} drawing;

static cpl_status draw(drawing* d) {
  cpl_source* opened = NULL;
  cpl_status st = core_settings_read(d->settings, d->session.ctx);
  const cpl_experiment_settings* s = core_settings_get(d->settings);
  if (st >= 0 && s->source == NULL) {
    cpl_open_def def = cpl_default_open_def();
    def.path = s->path;
    def.isolate = s->isolate;
    def.variant = s->variant;
    def.parameters = s->parameters;
    def.n_parameters = s->n_parameters;
    st = cpl_open_any(d->session.ctx, &def, &opened);
  }
  if (st >= 0) st = cpl_diagram_write(opened != NULL ? opened : s->source, d->path, d->form);
  cpl_source_destroy(opened);
  return st;
}

PyObject* core_diagram(PyObject* self, PyObject* args) {
  PyObject *settings, *path;
  int svg, level;
  (void)self;
  if (!PyArg_ParseTuple(args, "O!Opi", &PyDict_Type, &settings, &path, &svg, &level)) return NULL;
  drawing* d = calloc(1, sizeof *d);
  if (d == NULL) return PyErr_NoMemory();
  d->path = core_text(path);
  d->form = svg ? CPL_DIAGRAM_SVG : CPL_DIAGRAM_PAGE;
  bool fine = d->path != NULL && core_session_open(&d->session, (cpl_log_level)level);
  if (fine) d->settings = core_settings_create(&d->session, settings);
  fine = fine && d->settings != NULL && core_begin(&d->session);
  if (fine) fine = core_end(&d->session, draw(d));
  core_settings_destroy(d->settings);
  core_session_close(&d->session);
  free(d);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}
