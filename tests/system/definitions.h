// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Definitions from texts, and their contents as text, without places.
#pragma once

#include "format/file.h"
#include "system/definition.h"
#include "testing.h"

// Writes the text to `path` and reads it.
static inline cpl_status read_as(cpl_context* ctx, const char* path, const char* text,
                                 cpl_system_def** out) {
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  fwrite(text, 1, strlen(text), file);
  fclose(file);
  return cpl_system_def_read(ctx, path, out);
}

typedef struct dump {
  char text[8192];
  size_t n;
} dump;

CPL_PRINTF(2, 3) static inline void note(dump* d, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  d->n += (size_t)vsnprintf(d->text + d->n, sizeof d->text - d->n, fmt, args);
  va_end(args);
  assert_true(d->n < sizeof d->text);
}

static inline const char* or_none(const char* text) { return text != NULL ? text : "-"; }

static inline void note_settings(dump* d, const cpli_setting* s, size_t n) {
  for (size_t i = 0; i < n; i++) note(d, " %s=%s", s[i].name.text, s[i].value.text);
}

static inline void dump_rest(const cpl_system_def* def, dump* d) {
  for (size_t i = 0; i < def->n_outputs; i++)
    note(d, "output %s=%s\n", def->outputs[i].name.text, def->outputs[i].source.text);
  for (size_t i = 0; i < def->n_events; i++) {
    const cpli_event* e = &def->events[i];
    note(d, "event %s when %s at", e->name.text, or_none(e->when.text));
    for (size_t k = 0; k < e->n_at; k++) note(d, " %s", e->at[k].text);
    note(d, " set");
    note_settings(d, e->sets, e->n_sets);
    note(d, "\n");
  }
  for (size_t i = 0; i < def->n_record; i++) note(d, "record %s\n", def->record[i].text);
  const cpl_experiment_def* e = &def->experiment.values;
  note(d, "experiment %g %g %g %g %g %g %s\n", e->start, e->stop, e->interval, e->step, e->rtol,
       e->atol, or_none(e->solver));
}

static inline void dump_definition(const cpl_system_def* def, dump* d) {
  note(d, "name %s\n", or_none(def->name.text));
  for (size_t i = 0; i < def->n_models; i++) {
    const cpli_member* m = &def->models[i];
    note(d, "model %s %d %s as %d", m->name.text, m->kind, or_none(m->path.text), m->as);
    note_settings(d, m->starts, m->n_starts);
    note(d, "\n");
  }
  for (size_t i = 0; i < def->n_parameters; i++)
    note(d, "parameter %s=%s\n", def->parameters[i].name.text, def->parameters[i].value.text);
  for (size_t i = 0; i < def->n_inputs; i++) {
    const cpli_input* in = &def->inputs[i];
    note(d, "input %s %d %s %s %s %d %s\n", in->name.text, in->kind, or_none(in->expression.text),
         or_none(in->file.text), in->column.text, in->interpolation, or_none(in->start.text));
  }
  for (size_t i = 0; i < def->n_connections; i++)
    note(d, "connect %s=%s\n", def->connections[i].target.text,
         or_none(def->connections[i].source.text));
  dump_rest(def, d);
}
