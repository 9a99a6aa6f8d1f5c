// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inputs of a system: their tables, and the units of their values.
#include <stdio.h>

#include "assemble/assemble.h"
#include "model/start.h"

//------------------------------------ tables ------------------------------------

static cpl_status find_column(cpli_built* b, const cpli_input* in, const cpl_table* table,
                              size_t* out) {
  const char* name = in->column.text != NULL ? in->column.text : in->name.text;
  ptrdiff_t column = cpl_table_find(table, name);
  const cpli_located_text* where = in->column.text != NULL ? &in->column : &in->name;
  if (column < 0)
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &where->loc, "the table has no column %s",
                        name);
  *out = (size_t)column;
  return CPL_OK;
}

// The unit of an input takes precedence; a column in another unit is converted to it.
static cpl_status take_unit(cpli_built* b, const cpli_input* in, cpli_input_table* t,
                            cpl_unit* unit) {
  const char* given = t->table->units != NULL ? t->table->units[t->column] : NULL;
  if (given == NULL) return CPL_OK;
  if (unit->name == NULL) {
    unit->name = given;
    return CPL_OK;
  }
  const cpl_unit from = {.name = given};
  switch (cpli_unit_conversion(&from, unit, false, &t->conversion)) {
    case CPLI_UNITS_SAME: return CPL_OK;
    case CPLI_UNITS_CONVERT: t->convert = true; return CPL_OK;
    default: break;
  }
  char text[512];
  return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &in->unit.loc,
                      "input %s: %s cannot be converted to %s", in->name.text,
                      cpli_column_text(t->table, t->column, text, sizeof text), unit->name);
}

static cpl_status open_table(cpli_built* b, size_t i) {
  const cpli_input* in = &b->def->inputs[i];
  cpli_input_table* t = &b->tables[i];
  t->table = in->table;
  if (in->kind == CPLI_INPUT_FILE) {
    cpl_status st = cpl_table_read(b->base.ctx, in->file.text, &t->owned);
    if (st < 0)
      return cpli_fail_prefix_at(b->base.ctx, st, &in->file.loc, "input %s", in->name.text);
    t->table = t->owned;
  }
  cpl_status st = CPL_OK;
  if (t->owned == NULL) st = cpl_table_check(b->base.ctx, t->table, in->name.text);
  if (st >= 0) st = find_column(b, in, t->table, &t->column);
  return st < 0 ? st : take_unit(b, in, t, &b->input_units[i]);
}

const char* cpli_inputs_find_file(const cpl_source* source,
                                  bool (*is)(const char* path, const void* user),
                                  const void* user) {
  if (source == NULL || cpl_system_definition(source) == NULL) return NULL;
  const cpli_built* b = (const cpli_built*)source;
  const cpli_modes_plan* p = b->modes;
  const char* found = NULL;
  for (size_t i = 0; i < b->def->n_inputs; i++) {
    const cpli_input* in = &b->def->inputs[i];
    if (in->kind == CPLI_INPUT_FILE && is(in->file.text, user)) return in->file.text;
  }
  for (int32_t k = 0; p != NULL && k < p->n && found == NULL; k++)
    found = cpli_inputs_find_file(p->modes[k].source, is, user);
  for (size_t i = 0; p == NULL && i < b->def->n_models && found == NULL; i++)
    found = cpli_inputs_find_file(b->sources[i], is, user);
  return found;
}

cpl_status cpli_inputs_prepare(cpli_built* b) {
  cpl_context* ctx = b->base.ctx;
  const size_t n = b->def->n_inputs;
  b->tables = cpli_alloc(ctx, n, sizeof *b->tables);
  b->input_units = cpli_alloc(ctx, n, sizeof *b->input_units);
  b->differences = cpli_alloc(ctx, n, sizeof *b->differences);
  if (b->tables == NULL || b->input_units == NULL || b->differences == NULL) return cpli_nomem(ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    const cpli_input* in = &b->def->inputs[i];
    b->input_units[i] = in->meaning != NULL
                            ? *in->meaning
                            : (cpl_unit){.name = in->unit.text, .factor = 1, .display_of = -1};
    if (in->kind == CPLI_INPUT_FILE || in->kind == CPLI_INPUT_TABLE) st = open_table(b, i);
  }
  return st;
}

void cpli_inputs_release(cpli_built* b) {
  for (size_t i = 0; b->tables != NULL && i < b->def->n_inputs; i++)
    cpl_table_destroy(b->tables[i].owned);
  cpli_free(b->base.ctx, b->tables);
  cpli_free(b->base.ctx, b->input_units);
  cpli_free(b->base.ctx, b->differences);
}

//------------------------------------ units ------------------------------------

// Whether two variables have the same unit, so that they take the same numbers.
static bool take_the_same(const cpl_unit* a, const cpl_unit* b) {
  double factor, offset;
  return cpli_relate_units(a, b, false, &factor, &offset) == CPLI_UNITS_SAME;
}

// A column that was converted to the unit of its input, with an offset, is not a difference any
// more.
static cpl_status check_difference(const cpli_built* b, const cpli_link* link) {
  const cpli_input_table* t = &b->tables[link->source.index];
  const cpl_variable* v = &b->sources[link->model]->desc->vars[link->var];
  bool moved = t->convert && t->conversion.offset != t->conversion.to_offset;
  if (!moved || !v->relative_quantity) return CPL_OK;
  const cpli_input* in = &b->def->inputs[link->source.index];
  return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &in->unit.loc,
                      "input %s: its table is converted to %s as a value, but %s of model %s is a "
                      "difference, to which offsets of units do not apply: leave out `unit`",
                      in->name.text, in->unit.text, v->name, b->def->models[link->model].name.text);
}

// An input of the whole without a unit has the unit of the variables it is connected to. If these
// differ, it has none, and all of them get the same number.
cpl_status cpli_inputs_infer_units(cpli_built* b) {
  cpl_context* ctx = b->base.ctx;
  bool* in_doubt = cpli_alloc(ctx, b->def->n_inputs, sizeof *in_doubt);
  if (in_doubt == NULL) return cpli_nomem(ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->links.count && st >= 0; i++) {
    const cpli_link* link = &b->links.items[i];
    if (link->source.kind != CPLI_REF_INPUT) continue;
    st = check_difference(b, link);
    const int32_t k = link->source.index;
    const cpli_input* in = &b->def->inputs[k];
    const cpl_description* d = b->sources[link->model]->desc;
    const cpl_variable* v = &d->vars[link->var];
    bool open =
        in->kind == CPLI_INPUT_FREE && in->unit.text == NULL && in->meaning == NULL && !in_doubt[k];
    if (!open || v->type != CPL_REAL || v->unit < 0) continue;
    const cpli_connection* c = &b->def->connections[link->connection];
    if (c->keep_units || (c->transform != NULL && c->transform->unit != NULL)) continue;
    const cpl_unit* unit = &d->units[v->unit];
    cpl_unit* own = &b->input_units[k];
    if (own->name == NULL) {
      *own = *unit;
      b->differences[k] = v->relative_quantity;
    } else if (!take_the_same(own, unit)) {
      char location[CPLI_LOC_SIZE];
      cpl_log(ctx, CPL_LOG_WARNING, "",
              "%sinput %s is connected to variables in %s and in %s, which get the same number: "
              "`unit` sets its unit",
              cpli_source_loc_text(&in->name.loc, location), in->name.text, own->name, unit->name);
      own->name = NULL;
      in_doubt[k] = true;
    }
  }
  cpli_free(ctx, in_doubt);
  return st;
}

void cpli_inputs_mark(const cpli_built* b, size_t i, cpl_signal* s) {
  const cpl_unit* unit = &b->input_units[i];
  if (unit->name == NULL) return;
  s->unit = unit->name;
  if (unit->has_base) s->meaning = unit;
  s->relative_quantity = b->differences[i];
}

cpl_status cpli_constant_in_unit(cpli_built* b, cpli_functions* f, const cpli_located_text* text,
                                 const char* what, const cpl_unit* unit, bool difference,
                                 double* out) {
  const char* given;
  double number;
  bool has_unit = cpli_split_number(text->text, &number, &given) && given[0] != '\0';
  cpl_status st = cpli_constant_of_text(f, text, b->parameters, b->known, out);
  if (st >= 0 || !has_unit) return st;
  cpli_conversion how;
  const cpl_unit from = {.name = given};
  if (unit == NULL || unit->name == NULL)
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &text->loc,
                        "%s has no unit, so its start value cannot be in %s", what, given);
  cpli_unit_relation found = cpli_unit_conversion(&from, unit, difference, &how);
  if (found > CPLI_UNITS_CONVERT)
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &text->loc,
                        "%s is in %s, and there is no conversion from \"%s\"", what, unit->name,
                        given);
  *out = found == CPLI_UNITS_SAME ? number : cpli_convert(&how, number);
  return CPL_OK;
}

cpl_status cpli_input_start(cpli_built* b, cpli_functions* f, size_t i, double* out) {
  const cpli_input* in = &b->def->inputs[i];
  if (in->start.text == NULL) return cpli_start_of_target(b, f, CPLI_REF_INPUT, (int32_t)i, out);
  char what[256];
  snprintf(what, sizeof what, "input %s", in->name.text);
  return cpli_constant_in_unit(b, f, &in->start, what, &b->input_units[i], b->differences[i], out);
}
