// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From the text of a model to the text of its tangent functions: the functions of couplet_model are
// found by the names in its initializer.
#include "tangent/tangent.h"

#include <stdio.h>

#include "tangent/emit.h"
#include "tangent/result.h"

// The type of the result, and its name, which is visible to those that load the model.
static const char begin_text[] =
    "\n" CPLI_AS_TEXT(CPLI_TANGENT_TYPE) ";\n"
    "extern " CPLI_TANGENT_VISIBLE " const cpl_model_tangent couplet_model_tangent;\n";

// The functions of a model that have tangents: constraints only of a model with residuals, which
// they may be before index reduction.
enum { DERIVATIVES, OUTPUT_VALUES, RESIDUALS, CONSTRAINTS, N_MEMBERS };
static const char* const members[N_MEMBERS] = {"derivatives", "output_values", "residuals",
                                               "constraints"};

// Whether with respect to states and inputs only, or to everything else, too.
static const char* const suffixes[] = {"", "_all"};

//------------------------------------ the model ------------------------------------

// The name behind `.member =`; -1: there is none.
static int32_t find_member(source* s, const symbol* model, const char* member, uint32_t* at) {
  int depth = 0;
  for (uint32_t i = model->init_text.first; i + 4 < model->init_text.end; i++) {
    const tan_token* t = &s->tokens[i];
    depth += t->sign == '{' || t->sign == '(' || t->sign == '[';
    depth -= t->sign == '}' || t->sign == ')' || t->sign == ']';
    if (depth != 1 || t->sign != '.' || t[1].name < 0 || t[2].sign != '=') continue;
    if (strcmp(s->name_text[t[1].name], member) != 0) continue;
    *at = i + 3;
    if (s->tokens[*at].sign == '&') (*at)++;
    const tan_token* value = &s->tokens[*at];
    if (value->sign == '(' || value->kind == TOKEN_NUMBER) return -1;  // NULL
    const bool ends = value[1].sign == ',' || value[1].sign == '}';
    if (value->name < 0 || !ends) {
      cpli_tan_refuse(s, *at, "couplet_model.%s is no name of a function", member);
      return -1;
    }
    return value->name;
  }
  return -1;
}

static const symbol* find_model(source* s) {
  const int32_t name = cpli_tan_name(s, "couplet_model");
  const symbol* model = cpli_tan_find(s, name);
  if (model == NULL || model->init_text.first == model->init_text.end)
    return cpli_tan_refuse(s, 0, "couplet_model has no initializer");
  const tan_token* t = &s->tokens[model->init_text.first];
  if (t[0].sign != '{' || t[1].sign != '.')
    return cpli_tan_refuse(s, model->at, "couplet_model is not initialized by names of members");
  return model;
}

static function* find_function(source* s, const symbol* model, const char* member) {
  uint32_t at = 0;
  const int32_t name = find_member(s, model, member, &at);
  if (name < 0) return NULL;
  const symbol* f = cpli_tan_find(s, name);
  const char* called = s->name_text[name];
  if (f == NULL || f->type->kind != TYPE_FUNCTION || f->body == NULL)
    return cpli_tan_refuse(s, at, "%s() is not defined in the model", called);
  const symbol* p = f->type->parameters;
  if (p == NULL || p->next == NULL || p->next->next != NULL)
    return cpli_tan_refuse(s, at, "the arguments of %s()", called);
  return f->body;
}

//------------------------------------ text ------------------------------------

static void check_names(source* s) {
  static const char* const ours[] = {"cpl_d_", "cpl_dual", "cpl_p_", "cpl_result"};
  for (size_t i = 0; i < s->n_names; i++) {
    for (size_t k = 0; k < CPLI_COUNT(ours); k++)
      if (strncmp(s->name_text[i], ours[k], strlen(ours[k])) == 0)
        cpli_tan_refuse(s, 0, "the name %s is reserved", s->name_text[i]);
  }
}

static void write_functions_in_use(emitter* x) {
  static const char* const parameters[] = {"", "cpl_dual a", "cpl_dual a, cpl_dual b",
                                           "cpl_dual a, cpl_dual b, cpl_dual c"};
  static const char* const arguments[] = {"", "a.v", "a.v, b.v", "a.v, b.v, c.v"};
  for (size_t i = 0; i < CPLI_TAN_MAX_FUNCTIONS; i++) {
    if (!x->in_use[i]) continue;
    const cpli_tan_function* f = cpli_tan_function_at(i);
    cpli_tan_put(x, "static inline cpl_dual cpl_dual_%s(%s) {\n", f->name,
                 parameters[f->arguments]);
    cpli_tan_put(x, "  const double r = %s(%s);\n", f->name, arguments[f->arguments]);
    cpli_tan_put(x, "  return cpl_dual_of(r, %s); }\n", f->code);
  }
}

// An array of zeros beside a constant that pointers with derivatives may point to.
static void write_zeros(emitter* x, const symbol* g) {
  const char* name = x->s->name_text[g->name];
  const tan_token* after = &x->s->tokens[g->at + 1];
  const bool sized = after->sign != '[' || after[1].sign != ']';
  for (uint32_t i = g->specifiers.first; i < g->specifiers.end; i++) {
    const tan_token* t = &x->s->tokens[i];
    if (t->sign == '{') cpli_tan_refuse(x->s, g->at, "the struct of %s has no name", name);
    if (t->name == KEY_static || t->name == KEY_extern) continue;
    if (i == g->specifiers.first) cpli_tan_put(x, "static ");
    cpli_tan_put_tokens(x, (range){i, i + 1});
  }
  if (sized) {
    cpli_tan_put_renamed(x, g->declarator, g->at, "cpl_d_%s", name);
  } else {
    cpli_tan_put_tokens(x, (range){g->declarator.first, g->at});
    cpli_tan_put(x, "cpl_d_%s[sizeof %s / sizeof *%s]", name, name, name);
    cpli_tan_put_tokens(x, (range){g->at + 3, g->declarator.end});
  }
  cpli_tan_put(x, ";\n");
}

static void write_all_zeros(emitter* x) {
  for (size_t i = 0; i < x->s->n_names && !x->s->bad; i++) {
    const symbol* g = x->s->top[i];
    if (g != NULL && g->kind == SYMBOL_VARIABLE && g->shadowed) write_zeros(x, g);
  }
}

// A function that is called at events, and those that it calls, as tokens: whether they have to do
// with v->memory.
static bool mentions_memory(source* s, function* f, int depth) {
  const int32_t memory = cpli_tan_name(s, "memory");
  if (f->scanned || depth > 100) return depth > 100;
  f->scanned = true;
  for (uint32_t i = f->text.first; i < f->text.end; i++) {
    const tan_token* t = &s->tokens[i];
    if (t->name < 0) continue;
    if (t->name == memory) return true;
    const symbol* called = cpli_tan_find(s, t->name);
    if (called != NULL && called->body != NULL && mentions_memory(s, called->body, depth + 1))
      return true;
  }
  return false;
}

// Results that were put into v->memory by other functions are constants; where tangent functions
// write to it themselves, nobody else may.
static bool check_memory(source* s, const symbol* model, variant* const* v, bool* parameters) {
  static const char* const others[] = {"initialize", "event", "completed_step"};
  bool stores = false, reads = false, other = false, mixed = false;
  for (size_t k = 0; k < 2 * N_MEMBERS; k++) {
    stores = stores || (v[k] != NULL && v[k]->stores_memory);
    reads = reads || (v[k] != NULL && v[k]->reads_memory);
    mixed = mixed || (v[k] != NULL && v[k]->memory_active);
  }
  for (size_t k = 0; k < CPLI_COUNT(others) && (stores || reads); k++) {
    uint32_t at = 0;
    const int32_t name = find_member(s, model, others[k], &at);
    const symbol* f = name >= 0 ? cpli_tan_find(s, name) : NULL;
    other = other || (f != NULL && (f->body == NULL || mentions_memory(s, f->body, 0)));
  }
  if (stores && other)
    cpli_tan_refuse(s, model->at, "v->memory is written by derivatives or outputs and by others");
  if (mixed && !stores)
    cpli_tan_refuse(s, model->at, "a pointer that leads to v->memory or to values");
  *parameters = !other;
  return stores;
}

static void write_result(emitter* x, function* const* of, variant* const* v, bool parameters,
                         bool memory) {
  cpli_tan_put(x, "const cpl_model_tangent couplet_model_tangent = {\n");
  for (size_t k = 0; k < N_MEMBERS; k++) {
    if (of[k] == NULL) continue;
    const char* name = x->s->name_text[of[k]->symbol->name];
    cpli_tan_put(x, ".%s_of = %s,\n", members[k], name);
    for (size_t all = 0; all < (parameters ? CPLI_COUNT(suffixes) : 1); all++)
      cpli_tan_put(x, ".%s%s = cpl_f%d_%s,\n", members[k], suffixes[all],
                   (int)v[2 * k + all]->number, name);
  }
  if (memory) cpli_tan_put(x, ".memory = 1,\n");
  cpli_tan_put(x, "};\n");
}

// Everything in its order: what is used first is known last.
static char* assemble(emitter* x, function* const* of, variant* const* v, bool parameters,
                      bool memory) {
  tan_text all = {.ctx = x->s->ctx};
  x->out = &all;
  cpli_tan_put(x, "%s%s", begin_text, cpli_tan_prelude);
  write_functions_in_use(x);
  write_all_zeros(x);
  if (x->heads.text != NULL) cpli_tan_put(x, "%s", x->heads.text);
  if (x->bodies.text != NULL) cpli_tan_put(x, "%s", x->bodies.text);
  write_result(x, of, v, parameters, memory);
  if (all.failed || x->heads.failed || x->bodies.failed) cpli_tan_nomem(x->s);
  if (!x->s->bad) return all.text;
  cpli_free(all.ctx, all.text);
  return NULL;
}

static char* transform(source* s) {
  function* of[N_MEMBERS] = {NULL};
  variant* v[2 * N_MEMBERS] = {NULL};
  analysis a = {.s = s};
  emitter x = {.s = s, .a = &a, .heads = {.ctx = s->ctx}, .bodies = {.ctx = s->ctx}};
  const symbol* model = find_model(s);
  bool any = false;
  for (int k = 0; k < N_MEMBERS && !s->bad; k++) {
    if (k == CONSTRAINTS && of[RESIDUALS] == NULL) break;
    of[k] = find_function(s, model, members[k]);
    any = any || of[k] != NULL;
    for (size_t all = 0; of[k] != NULL && all < CPLI_COUNT(suffixes); all++) {
      v[2 * k + all] = cpli_tan_variant(&a, of[k], all != 0, 3);
    }
  }
  if (!any) cpli_tan_refuse(s, 0, "it has neither derivatives nor outputs");
  bool parameters = false;
  const bool memory = !s->bad && check_memory(s, model, v, &parameters);
  for (size_t k = 0; k < 2 * N_MEMBERS; k++)
    if (v[k] != NULL && (k % 2 == 0 || parameters)) cpli_tan_demand(&x, v[k]);
  cpli_tan_write_demanded(&x);
  char* all = s->bad ? NULL : assemble(&x, of, v, parameters, memory);
  cpli_free(s->ctx, x.heads.text);
  cpli_free(s->ctx, x.bodies.text);
  return all;
}

//------------------------------------ the whole ------------------------------------

cpl_status cpli_tangent_none(cpl_context* ctx, const char* reason, cpli_tangent_text* out) {
  char kept[256];
  size_t n = 0;
  for (const char* c = reason; *c != '\0' && n + 1 < sizeof kept; c++)
    kept[n++] = *c == '"' || *c == '\\' || *c == '?' || (unsigned char)*c < ' ' ? '\'' : *c;
  kept[n] = '\0';
  out->any = false;
  out->text =
      cpli_printf(ctx, "%sconst cpl_model_tangent couplet_model_tangent = {.why = \"%s\"};\n",
                  begin_text, kept);
  return out->text != NULL ? CPL_OK : cpli_nomem(ctx);
}

static cpl_status none_because(cpl_context* ctx, const char* reason, cpli_tangent_text* out) {
  char whole[300];
  snprintf(whole, sizeof whole, "differences: %s", reason);
  return cpli_tangent_none(ctx, whole, out);
}

cpl_status cpli_tangent_make(cpl_context* ctx, const char* preprocessed, size_t size,
                             cpli_tangent_text* out) {
  source s = {.ctx = ctx};
  *out = (cpli_tangent_text){0};
  cpli_arena_init(&s.arena, ctx);
  if (cpli_tan_lex(&s, preprocessed, size)) {
    check_names(&s);
    if (!s.bad) cpli_tan_declarations(&s);
    if (!s.bad) out->text = transform(&s);
  }
  out->any = out->text != NULL;
  cpl_status st = CPL_OK;
  if (s.no_memory) st = cpli_nomem(ctx);
  else if (!out->any) st = none_because(ctx, s.reason, out);
  cpli_names_free(&s.names);
  cpli_free(ctx, s.name_text);
  cpli_free(ctx, s.files);
  cpli_free(ctx, s.tokens);
  cpli_arena_free(&s.arena);
  return st;
}
