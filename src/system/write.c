// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition is written section by section, in the order of docs/system-file.md; what has no
// value is left out. Texts are plain where YAML reads them as they are, and in quotes elsewhere.
#include "system/write.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/file.h"
#include "format/number.h"
#include "system/lines.h"

typedef struct writer {
  const cpli_write_def* how;
  FILE* out;
  int indent;  // of the present section
} writer;

//------------------------------------ texts ------------------------------------

// Whether YAML reads the text as it is, also inside of {} and [].
static bool is_plain(const char* text) {
  static const char* const words[] = {"null", "~", "---", "..."};
  size_t n = strlen(text);
  unsigned char first = (unsigned char)text[0];
  for (size_t i = 0; i < CPLI_COUNT(words); i++) {
    if (strcmp(text, words[i]) == 0) return false;
  }
  bool begins = isalnum(first) || first == '(' || first == '_' || first == '.' || first == '/' ||
                (first == '-' && (isalnum((unsigned char)text[1]) || text[1] == '('));
  if (!begins || text[n - 1] == ' ' || text[n - 1] == ':') return false;
  for (const char* c = text; *c != '\0'; c++) {
    if ((unsigned char)*c < ' ' || *c == 0x7f || (unsigned char)*c >= 0x80) return false;
    if (strchr(",[]{}\"#", *c) != NULL || (*c == ':' && c[1] == ' ')) return false;
  }
  return true;
}

static void put_text(writer* w, const char* text) {
  if (is_plain(text)) {
    fputs(text, w->out);
    return;
  }
  fputc('"', w->out);
  for (const char* c = text; *c != '\0'; c++) {
    unsigned char u = (unsigned char)*c;
    if (u == '"' || u == '\\') fprintf(w->out, "\\%c", u);
    else if (u < ' ' || u == 0x7f) fprintf(w->out, "\\x%02x", u);
    else fputc(u, w->out);
  }
  fputc('"', w->out);
}

static void put_number(writer* w, double value) {
  char text[CPLI_NUMBER_SIZE];
  cpli_format_double(text, value);
  fputs(text, w->out);
}

static void begin_section(writer* w, const char* name) {
  fprintf(w->out, "%*s%s:\n", w->indent, "", name);
}

// "  key: " of an item of a section
static void begin_item(writer* w, const char* key) {
  fprintf(w->out, "%*s", w->indent + 2, "");
  put_text(w, key);
  fputs(": ", w->out);
}

// A mapping on one line: begin_flow(), any number of flow_...(), end_flow().
typedef struct flow {
  writer* w;
  bool any;
} flow;

static flow begin_flow(writer* w) {
  fputc('{', w->out);
  return (flow){w, false};
}

static void end_flow(flow* f, const char* after) { fprintf(f->w->out, "}%s", after); }

static void flow_key(flow* f, const char* key) {
  if (f->any) fputs(", ", f->w->out);
  f->any = true;
  put_text(f->w, key);
  fputs(": ", f->w->out);
}

static void flow_text(flow* f, const char* key, const char* text) {  // Nullable: text
  if (text == NULL) return;
  flow_key(f, key);
  put_text(f->w, text);
}

static void flow_number(flow* f, const char* key, double value) {  // NAN: not given
  if (isnan(value)) return;
  flow_key(f, key);
  put_number(f->w, value);
}

static void flow_true(flow* f, const char* key, bool value) {
  if (value) flow_text(f, key, "true");
}

static void flow_list(flow* f, const char* key, const cpli_located_text* items, size_t n) {
  if (n == 0) return;
  flow_key(f, key);
  fputc('[', f->w->out);
  for (size_t i = 0; i < n; i++) {
    if (i > 0) fputs(", ", f->w->out);
    put_text(f->w, items[i].text);
  }
  fputc(']', f->w->out);
}

static void flow_settings(flow* f, const char* key, const cpli_setting* items, size_t n) {
  if (n == 0) return;
  flow_key(f, key);
  flow inner = begin_flow(f->w);
  for (size_t i = 0; i < n; i++) flow_text(&inner, items[i].name.text, items[i].value.text);
  end_flow(&inner, "");
}

// Nullable: kind, of a model; NULL: a table
static cpl_status flow_path(flow* f, const char* kind, const cpli_located_text* path) {
  char text[PATH_MAX];
  cpl_status st = f->w->how->path(f->w->how->user, &kind, path, text);
  if (st >= 0) flow_text(f, kind != NULL ? kind : "file", text);
  return st;
}

//------------------------------------ models ------------------------------------

static cpl_status of_program(const cpl_system_def* def, const cpli_located_text* name,
                             const char* what) {
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc,
                      "%s cannot be written to a system file: %s", name->text, what);
}

static cpl_status write_model(writer* w, const cpl_system_def* def, const cpli_member* m) {
  static const char* const kinds[] = {
      [CPL_MEMBER_FMU] = "fmu", [CPL_MEMBER_C] = "c", [CPL_MEMBER_SYSTEM] = "system"};
  if (m->path.text == NULL) return of_program(def, &m->name, "it was made by a program");
  if (m->command.text != NULL || m->prefers_steps)
    return of_program(def, &m->name, "it is part of a composite model");
  begin_item(w, m->name.text);
  flow f = begin_flow(w);
  cpl_status st = flow_path(&f, kinds[m->kind], &m->path);
  if (m->as != CPL_AS_DEFAULT) flow_text(&f, "as", m->as == CPL_AS_CO_SIMULATION ? "cs" : "me");
  flow_true(&f, "isolate", m->isolate);
  flow_settings(&f, "start", m->starts, m->n_starts);
  end_flow(&f, "\n");
  return st;
}

// What the description of a package does not say of its components.
static void write_components(writer* w, const cpl_system_def* def) {
  bool any = false;
  for (size_t i = 0; i < def->n_models; i++) {
    if (!def->models[i].isolate) continue;
    if (!any) begin_section(w, "isolate");
    any = true;
    fprintf(w->out, "%*s- ", w->indent + 2, "");
    put_text(w, def->models[i].name.text);
    fputc('\n', w->out);
  }
  any = false;
  for (size_t i = 0; i < def->n_models; i++) {
    const cpli_member* m = &def->models[i];
    flow f = {w, false};
    for (size_t k = 0; k < m->n_starts; k++) {
      if (!w->how->keeps_start(w->how->user, i, &m->starts[k])) continue;
      if (!any) begin_section(w, "start");
      any = true;
      if (!f.any) {
        begin_item(w, m->name.text);
        fputc('{', w->out);
      }
      flow_text(&f, m->starts[k].name.text, m->starts[k].value.text);
    }
    if (f.any) end_flow(&f, "\n");
  }
}

static cpl_status write_models(writer* w, const cpl_system_def* def) {
  cpl_status st = CPL_OK;
  if (w->how->in_package) {
    write_components(w, def);
    return CPL_OK;
  }
  if (def->n_models == 0) return CPL_OK;
  begin_section(w, "models");
  for (size_t i = 0; i < def->n_models && st >= 0; i++) st = write_model(w, def, &def->models[i]);
  return st;
}

//------------------------------------ values ------------------------------------

// How many of n items are written.
static size_t count_kept(const bool* without, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) kept += without == NULL || !without[i];
  return kept;
}

static void write_parameters(writer* w, const cpl_system_def* def) {
  const bool* without = w->how->parameters;
  if (count_kept(without, def->n_parameters) == 0) return;
  begin_section(w, "parameters");
  for (size_t i = 0; i < def->n_parameters; i++) {
    if (without != NULL && without[i]) continue;
    begin_item(w, def->parameters[i].name.text);
    put_text(w, def->parameters[i].value.text);
    fputc('\n', w->out);
  }
}

static cpl_status write_input(writer* w, const cpl_system_def* def, const cpli_input* in) {
  if (in->kind == CPLI_INPUT_TABLE || in->kind == CPLI_INPUT_CALLBACK)
    return of_program(def, &in->name, "its values come from a program");
  cpl_status st = CPL_OK;
  begin_item(w, in->name.text);
  if (in->kind == CPLI_INPUT_EXPRESSION) {
    put_text(w, in->expression.text);
    fputc('\n', w->out);
    return CPL_OK;
  }
  flow f = begin_flow(w);
  if (in->kind == CPLI_INPUT_FILE) {
    st = flow_path(&f, NULL, &in->file);
    if (strcmp(in->column.text, in->name.text) != 0) flow_text(&f, "column", in->column.text);
    if (in->interpolation == CPL_INTERPOLATE_HOLD) flow_text(&f, "interpolation", "hold");
  } else {
    flow_text(&f, "start", in->start.text != NULL ? in->start.text : "0");
  }
  flow_text(&f, "unit", in->unit.text);
  end_flow(&f, "\n");
  return st;
}

static cpl_status write_inputs(writer* w, const cpl_system_def* def) {
  const bool* without = w->how->inputs;
  cpl_status st = CPL_OK;
  if (count_kept(without, def->n_inputs) == 0) return CPL_OK;
  begin_section(w, "inputs");
  for (size_t i = 0; i < def->n_inputs && st >= 0; i++) {
    if (without == NULL || !without[i]) st = write_input(w, def, &def->inputs[i]);
  }
  return st;
}

static cpl_status write_connections(writer* w, const cpl_system_def* def) {
  const bool* without = w->how->connections;
  if (count_kept(without, def->n_connections) == 0) return CPL_OK;
  begin_section(w, "connections");
  for (size_t i = 0; i < def->n_connections; i++) {
    const cpli_connection* c = &def->connections[i];
    if (without != NULL && without[i]) continue;
    if (c->coupling != NULL) return of_program(def, &c->target, "its value is a function in C");
    const cpli_transform* t = c->transform;
    if (t != NULL && (t->unit != NULL || t->n_steps != 1 || t->steps[0].unit != NULL))
      return of_program(def, &c->target, "its connectors have units of their own");
    begin_item(w, c->target.text);
    if (!c->convert && !c->keep_units && t == NULL) {
      put_text(w, c->source.text);
      fputc('\n', w->out);
      continue;
    }
    flow f = begin_flow(w);
    flow_text(&f, "from", c->source.text);
    flow_true(&f, "convert", c->convert);
    if (c->keep_units) flow_text(&f, "convert-units", "false");
    if (t != NULL && t->steps[0].factor != 1) flow_number(&f, "factor", t->steps[0].factor);
    if (t != NULL && t->steps[0].offset != 0) flow_number(&f, "offset", t->steps[0].offset);
    end_flow(&f, "\n");
  }
  return CPL_OK;
}

static void write_outputs(writer* w, const cpl_system_def* def) {
  const bool* without = w->how->outputs;
  if (count_kept(without, def->n_outputs) == 0) return;
  begin_section(w, "outputs");
  for (size_t i = 0; i < def->n_outputs; i++) {
    if (without != NULL && without[i]) continue;
    begin_item(w, def->outputs[i].name.text);
    put_text(w, def->outputs[i].source.text);
    fputc('\n', w->out);
  }
}

static void write_events(writer* w, const cpl_system_def* def) {
  if (def->n_events > 0) begin_section(w, "events");
  for (size_t i = 0; i < def->n_events; i++) {
    const cpli_event* e = &def->events[i];
    begin_item(w, e->name.text);
    flow f = begin_flow(w);
    flow_text(&f, "when", e->when.text);
    flow_list(&f, "at", e->at, e->n_at);
    flow_settings(&f, "set", e->sets, e->n_sets);
    end_flow(&f, "\n");
  }
}

// The length of the text in parentheses at its beginning, with them; 0: there is none.
static size_t enclosed(const char* text) {
  int depth = 0;
  bool quoted = false;
  for (const char* c = text; *c != '\0'; c++) {
    if (*c == '\'') quoted = !quoted;
    if (!quoted) depth += (*c == '(') - (*c == ')');
    if (depth == 0) return c > text ? (size_t)(c - text) + 1 : 0;
  }
  return 0;
}

static void put_trimmed(FILE* out, const char* text, size_t n) {
  while (n > 0 && *text == ' ') text++, n--;
  while (n > 0 && text[n - 1] == ' ') n--;
  fprintf(out, "%.*s", (int)n, text);
}

// "(left)-(right)", or "(left)", as the reader has made it.
static void put_equation(FILE* out, const cpli_constraint* c) {
  const char* text = c->difference.text;
  size_t all = strlen(text), left = enclosed(text);
  size_t right = left > 0 && strncmp(text + left, "-(", 2) == 0 ? enclosed(text + left + 1) : 0;
  bool two = right > 0 && left + 1 + right == all;
  if (left == all || two) put_trimmed(out, text + 1, left - 2);
  else put_trimmed(out, text, all);
  if (two) fputs(" = ", out);
  if (two) put_trimmed(out, text + left + 2, right - 2);
  if (c->at_start) fputs(" = at start", out);
}

static cpl_status write_constraints(writer* w, const cpl_system_def* def) {
  if (def->n_constraints > 0) begin_section(w, "constraints");
  for (size_t i = 0; i < def->n_constraints; i++) {
    char* equation = NULL;
    size_t size;
    FILE* out = open_memstream(&equation, &size);
    if (out == NULL) return cpli_nomem(def->ctx);
    put_equation(out, &def->constraints[i]);
    if (fclose(out) != 0) {
      free(equation);
      return cpli_nomem(def->ctx);
    }
    begin_item(w, def->constraints[i].name.text);
    put_text(w, equation);
    fputc('\n', w->out);
    free(equation);
  }
  return CPL_OK;
}

//------------------------------------ how to simulate ------------------------------------

static void write_record(writer* w, const cpl_system_def* def) {
  if (def->n_record > 0) begin_section(w, "record");
  for (size_t i = 0; i < def->n_record; i++) {
    fprintf(w->out, "%*s- ", w->indent + 2, "");
    put_text(w, def->record[i].text);
    fputc('\n', w->out);
  }
}

// `experiment`, or `solver` of a mode.
static void write_experiment(writer* w, const cpl_system_def* def, bool of_solver) {
  flow f = {w, false};
  for (int i = 0; i < CPLI_EXPERIMENT_COUNT; i++) {
    const cpli_experiment_key* key = &cpli_experiment_keys[i];
    const void* value = (const char*)&def->experiment.values + key->offset;
    const char* name = of_solver ? key->of_solver : key->name;
    bool is_number = i < CPLI_SOLVER, is_time = i == CPLI_START || i == CPLI_STOP;
    bool given = is_number ? !isnan(*(const double*)value) : *(const char* const*)value != NULL;
    if (!given || name == NULL || (is_time && w->how->in_package)) continue;
    if (!f.any) fprintf(w->out, "%*s%s: {", w->indent, "", of_solver ? "solver" : "experiment");
    if (is_number) flow_number(&f, name, *(const double*)value);
    else flow_text(&f, name, *(const char* const*)value);
  }
  if (f.any) end_flow(&f, "\n");
}

static void write_master(writer* w, const cpl_system_def* def) {
  const cpli_cosimulation* m = &def->cosimulation;
  if (!m->given && !w->how->needs_master) return;
  fprintf(w->out, "%*smaster: ", w->indent, "");
  flow f = begin_flow(w);
  flow_text(&f, "algorithm", m->algorithm.text);
  flow_text(&f, "on-loop", m->on_loop.text);
  flow_text(&f, "estimate", m->estimate.text);
  flow_text(&f, "legacy", m->legacy.text);
  const struct {
    const char* key;
    double value;
  } numbers[] = {{"step", m->step},
                 {"tolerance", m->tolerance},
                 {"min-step", m->min_step},
                 {"loop-tolerance", m->loop_tolerance},
                 {"order", m->order == -1 ? NAN : m->order},
                 {"iterations", m->iterations == -1 ? NAN : m->iterations},
                 {"threads", m->threads == -1 ? NAN : m->threads},
                 {"fixed-iterations", m->fixed_iterations == -1 ? NAN : m->fixed_iterations}};
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++)
    flow_number(&f, numbers[i].key, numbers[i].value);
  flow_settings(&f, "steps", m->steps, m->n_steps);
  if (m->n_bonds > 0) flow_key(&f, "bonds");
  for (size_t i = 0; i < m->n_bonds; i++) {
    fputs(i == 0 ? "[" : ", ", w->out);
    flow bond = begin_flow(w);
    flow_text(&bond, "effort", m->bonds[i].name.text);
    flow_text(&bond, "flow", m->bonds[i].value.text);
    end_flow(&bond, i + 1 == m->n_bonds ? "]" : "");
  }
  flow_true(&f, "output-derivatives", m->output_derivatives);
  end_flow(&f, "\n");
}

//------------------------------------ delay lines ------------------------------------

static void write_interfaces(writer* w, const cpl_system_def* def) {
  static const char* const lists[CPLI_LISTS] = {
      [CPLI_LIST_POSITION] = "position", [CPLI_LIST_ORIENTATION] = "orientation",
      [CPLI_LIST_SPEED] = "speed",       [CPLI_LIST_ANGULAR_SPEED] = "angular-speed",
      [CPLI_LIST_FORCE] = "force",       [CPLI_LIST_TORQUE] = "torque",
      [CPLI_LIST_VALUE] = "value",       [CPLI_LIST_ORIGIN] = "origin",
      [CPLI_LIST_ANGLES] = "angles"};
  if (def->n_interfaces > 0) begin_section(w, "interfaces");
  for (size_t i = 0; i < def->n_interfaces; i++) {
    const cpli_interface* one = &def->interfaces[i];
    begin_item(w, one->name.text);
    flow f = begin_flow(w);
    flow_text(&f, "kind", one->kind.text);
    flow_text(&f, "solver", one->solver.text);
    flow_text(&f, "hold", one->hold.text);
    flow_text(&f, "substeps", one->substeps.text);
    for (int k = 0; k < CPLI_LISTS; k++)
      flow_list(&f, lists[k], one->lists[k].items, one->lists[k].n);
    flow_text(&f, "sign", one->sign.text);
    end_flow(&f, "\n");
  }
}

static void write_lines(writer* w, const cpl_system_def* def) {
  if (def->n_lines > 0) begin_section(w, "tlm");
  for (size_t i = 0; i < def->n_lines; i++) {
    const cpli_line* l = &def->lines[i];
    fprintf(w->out, "%*s- ", w->indent + 2, "");
    flow f = begin_flow(w);
    flow_text(&f, "from", l->from.text);
    flow_text(&f, "to", l->to.text);
    flow_text(&f, "delay", l->delay.text);
    flow_text(&f, "Zf", l->zf.text);
    flow_text(&f, "Zfr", l->zfr.text);
    flow_text(&f, "alpha", l->alpha.text);
    flow_true(&f, "compensate", l->compensate);
    flow_true(&f, "apart", l->apart);
    end_flow(&f, "\n");
  }
}

//------------------------------------ modes ------------------------------------

static cpl_status write_sections(writer* w, const cpl_system_def* def, bool is_mode);

static void write_leaves(writer* w, const cpli_mode_def* mode) {
  if (mode->n_leaves > 0) begin_section(w, "leave");
  for (size_t i = 0; i < mode->n_leaves; i++) {
    const cpli_transition_def* l = &mode->leaves[i];
    fprintf(w->out, "%*s- ", w->indent + 2, "");
    flow f = begin_flow(w);
    flow_text(&f, "when", l->when.text);
    flow_list(&f, "at", l->at, l->n_at);
    if (l->terminate) flow_text(&f, "on", "terminate");
    flow_text(&f, "to", l->to.text);
    flow_settings(&f, "set", l->sets, l->n_sets);
    flow_text(&f, "entry", l->on_entry.text);
    end_flow(&f, "\n");
  }
}

static cpl_status write_modes(writer* w, const cpl_system_def* def) {
  cpl_status st = CPL_OK;
  if (def->n_modes == 0) return CPL_OK;
  begin_section(w, "modes");
  if (def->start_mode.text != NULL) {
    begin_item(w, "start");
    put_text(w, def->start_mode.text);
    fputc('\n', w->out);
  }
  for (size_t i = 0; i < def->n_modes && st >= 0; i++) {
    fprintf(w->out, "%*s", w->indent + 2, "");
    put_text(w, def->modes[i].name.text);
    fputs(":\n", w->out);
    w->indent += 4;
    st = write_sections(w, def->modes[i].def, true);
    write_leaves(w, &def->modes[i]);
    w->indent -= 4;
  }
  if (def->n_observed > 0) begin_section(w, "observe");
  for (size_t i = 0; i < def->n_observed; i++) {
    const cpli_observed* o = &def->observed[i];
    begin_item(w, o->name.text);
    if (o->all.text != NULL) {
      put_text(w, o->all.text);
    } else {
      flow f = begin_flow(w);
      for (size_t k = 0; k < o->n_in; k++) flow_text(&f, o->in[k].name.text, o->in[k].value.text);
      end_flow(&f, "");
    }
    fputc('\n', w->out);
  }
  return st;
}

//------------------------------------ studies ------------------------------------

static void write_measures(writer* w, const cpl_system_def* def) {
  if (def->n_measures > 0) begin_section(w, "measures");
  for (size_t i = 0; i < def->n_measures; i++) {
    begin_item(w, def->measures[i].name.text);
    put_text(w, def->measures[i].value.text);
    fputc('\n', w->out);
  }
}

static void write_study(writer* w, const cpl_system_def* def) {
  const cpli_study_texts* s = &def->study;
  const bool any = s->n_over > 0 || s->design.text != NULL || s->sample.text != NULL ||
                   s->seed.text != NULL || s->table.text != NULL;
  if (!any) return;
  fprintf(w->out, "%*sstudy: ", w->indent, "");
  flow f = begin_flow(w);
  flow_settings(&f, "over", s->over, s->n_over);
  flow_text(&f, "design", s->design.text);
  flow_text(&f, "sample", s->sample.text);
  flow_text(&f, "seed", s->seed.text);
  flow_text(&f, "table", s->table.text);
  end_flow(&f, "\n");
}

static cpl_status write_fit_data(writer* w, flow* f, const cpli_fit_texts* fit) {
  cpl_status st = CPL_OK;
  if (fit->n_data == 0) return CPL_OK;
  flow_key(f, "data");
  fputc('[', w->out);
  for (size_t i = 0; i < fit->n_data && st >= 0; i++) {
    const cpli_fit_set* set = &fit->data[i];
    if (i > 0) fputs(", ", w->out);
    flow one = begin_flow(w);
    st = flow_path(&one, NULL, &set->file);
    flow_settings(&one, "start", set->starts, set->n_starts);
    if (set->weight != 0) flow_number(&one, "weight", set->weight);
    end_flow(&one, "");
  }
  fputc(']', w->out);
  return st;
}

static cpl_status write_fit(writer* w, const cpl_system_def* def) {
  const cpli_fit_texts* fit = &def->fit;
  const bool any = fit->n_data > 0 || fit->n_vary > 0 || fit->n_sigma > 0 ||
                   fit->loss.text != NULL || fit->scale != 0 || fit->confidence != 0;
  if (!any || w->how->without_fit) return CPL_OK;
  fprintf(w->out, "%*sfit: ", w->indent, "");
  flow f = begin_flow(w);
  const cpl_status st = write_fit_data(w, &f, fit);
  flow_settings(&f, "vary", fit->vary, fit->n_vary);
  flow_settings(&f, "sigma", fit->sigma, fit->n_sigma);
  flow_text(&f, "loss", fit->loss.text);
  if (fit->scale != 0) flow_number(&f, "scale", fit->scale);
  if (fit->confidence != 0) flow_number(&f, "confidence", fit->confidence);
  end_flow(&f, "\n");
  return st;
}

//------------------------------------ the whole ------------------------------------

static cpl_status write_sections(writer* w, const cpl_system_def* def, bool is_mode) {
  static const cpli_write_def all = {0};
  cpli_write_def how = *w->how;
  if (is_mode) {  // what is left out belongs to the whole
    how = all;
    how.path = w->how->path;
    how.user = w->how->user;
  }
  const cpli_write_def* outer = w->how;
  w->how = &how;
  cpl_status st = write_models(w, def);
  write_parameters(w, def);
  if (st >= 0) st = write_inputs(w, def);
  if (st >= 0) st = write_connections(w, def);
  write_outputs(w, def);
  write_events(w, def);
  if (st >= 0) st = write_constraints(w, def);
  if (st >= 0) st = write_modes(w, def);
  write_interfaces(w, def);
  write_lines(w, def);
  write_record(w, def);
  write_measures(w, def);
  write_study(w, def);
  if (st >= 0) st = write_fit(w, def);
  write_experiment(w, def, is_mode);
  write_master(w, def);
  w->how = outer;
  return st;
}

cpl_status cpli_def_to_text(const cpl_system_def* def, const cpli_write_def* how, char** out,
                            size_t* size) {
  *out = NULL;
  writer w = {.how = how, .out = open_memstream(out, size)};
  if (w.out == NULL) return cpli_nomem(def->ctx);
  fputs("couplet: 1\n", w.out);
  if (def->name.text != NULL && !how->in_package) {
    fputs("name: ", w.out);
    put_text(&w, def->name.text);
    fputc('\n', w.out);
  }
  cpl_status st = write_sections(&w, def, false);
  bool bad = ferror(w.out) != 0;
  if ((fclose(w.out) != 0 || bad) && st >= 0) st = cpli_nomem(def->ctx);
  if (st < 0) {
    free(*out);
    *out = NULL;
  }
  return st;
}

cpl_status cpli_relative_path(cpl_context* ctx, const char* folder, const char* path, char* out) {
  char *from = realpath(folder[0] != '\0' ? folder : ".", NULL), *to = realpath(path, NULL);
  cpl_status st = CPL_OK;
  size_t same = 0, used = 0, n = from != NULL ? strlen(from) : 0;
  if (from == NULL || to == NULL) {
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, from == NULL ? folder : path, "%s", strerror(errno));
    goto done;
  }
  for (size_t i = 0; i <= n && to[i] == (i < n ? from[i] : '/'); i++) {
    if (to[i] == '/') same = i + 1;  // behind the last common folder
  }
  for (size_t i = same; i < n && used + 3 < PATH_MAX; i++) {
    if (i == same || from[i] == '/') used += (size_t)sprintf(out + used, "../");
  }
  if (used + strlen(to + same) < PATH_MAX) strcpy(out + used, to + same);
  else st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "the path is too long");
done:
  free(from);
  free(to);
  return st;
}

//------------------------------------ files ------------------------------------

typedef struct target {
  cpl_context* ctx;
  const char* folder;
} target;

static cpl_status path_from(void* user, const char** kind, const cpli_located_text* path,
                            char* out) {
  const target* t = user;
  (void)kind;
  return cpli_relative_path(t->ctx, t->folder, path->text, out);
}

cpl_status cpl_system_def_write(const cpl_system_def* def, const char* path) {
  const char* slash = strrchr(path, '/');
  char folder[PATH_MAX];
  size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0, size = 0;
  if (n >= sizeof folder)
    return cpli_fail_file(def->ctx, CPL_ERR_INPUT, path, "the path is too long");
  snprintf(folder, sizeof folder, "%.*s", (int)n, path);
  target t = {def->ctx, folder};
  cpli_write_def how = {.path = path_from, .user = &t};
  char* text = NULL;
  cpl_status st = cpli_def_to_text(def, &how, &text, &size);
  if (st >= 0) st = cpli_file_make(def->ctx, path, text, size);
  free(text);
  return st;
}
