// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tokens of preprocessed C. Lines `# 12 "file"` give the place of what follows, for messages.
#include "tangent/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 250, MAX_TOKENS = 20000000 };

void* cpli_tan_nomem(source* s) {
  s->no_memory = s->bad = true;
  s->at = s->n_tokens > 0 ? (uint32_t)s->n_tokens - 1 : 0;
  return NULL;
}

void* cpli_tan_alloc(source* s, size_t n, size_t size) {
  void* p = cpli_arena_alloc(&s->arena, n, size);
  return p != NULL ? p : cpli_tan_nomem(s);
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

void* cpli_tan_refuse(source* s, uint32_t at, const char* fmt, ...) {
  if (s->bad) return NULL;
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(s->reason, sizeof s->reason, fmt, args);
  va_end(args);
  const tan_token* t = &s->tokens[at < s->n_tokens ? at : s->n_tokens - 1];
  if (n >= 0 && (size_t)n < sizeof s->reason && t->line > 0) {
    snprintf(s->reason + n, sizeof s->reason - (size_t)n, " in %s line %u",
             base_name(s->files[t->file]), (unsigned)t->line);
  }
  s->bad = true;
  s->at = (uint32_t)s->n_tokens - 1;
  return NULL;
}

int32_t cpli_tan_name(const source* s, const char* text) {
  return cpli_names_find(&s->names, text);
}

const char* cpli_tan_text(source* s, uint32_t at) {
  const tan_token* t = &s->tokens[at];
  if (t->kind == TOKEN_END) return "the end";
  const char* text = cpli_arena_strndup(&s->arena, t->text, t->size);
  return text != NULL ? text : "";
}

void cpli_tan_expect(source* s, uint32_t sign) {
  if (s->bad || take(s, sign)) return;
  const char text[] = {(char)sign, (char)(sign >> 8), (char)(sign >> 16), '\0'};
  cpli_tan_refuse(s, s->at, "%s instead of %s", cpli_tan_text(s, s->at), text);
}

void cpli_tan_skip_group(source* s) {
  int depth = 0;
  do {
    const uint32_t sign = tok(s)->sign;
    if (tok(s)->kind == TOKEN_END) return;
    depth += sign == '(' || sign == '[' || sign == '{';
    depth -= sign == ')' || sign == ']' || sign == '}';
    s->at++;
  } while (depth > 0);
}

bool cpli_tan_enter(source* s) {
  if (++s->nested <= DEEPEST) return true;
  cpli_tan_refuse(s, s->at, "an expression or statement that is nested too deeply");
  return false;
}

//------------------------------------ tokens ------------------------------------

typedef struct lexer {
  source* s;
  const char *at, *end;
  uint32_t line;
  int32_t file;
  bool fresh;  // at the beginning of a line
} lexer;

static int32_t number_of(source* s, const char* text, size_t size) {
  char known[128];
  if (size < sizeof known) {
    memcpy(known, text, size);
    known[size] = '\0';
    const int32_t found = cpli_names_find(&s->names, known);
    if (found >= 0) return found;
  }
  const char* kept = cpli_arena_strndup(&s->arena, text, size);
  int32_t number =
      kept != NULL ? cpli_names_add(&s->names, kept, (int32_t)s->n_names) : CPL_ERR_NOMEM;
  if (number == (int32_t)s->n_names) {
    if (!cpli_grow(s->ctx, (void**)&s->name_text, &s->cap_names, s->n_names, sizeof(char*)))
      number = CPL_ERR_NOMEM;
    else s->name_text[s->n_names++] = kept;
  }
  if (number < 0) cpli_tan_nomem(s);
  return number;
}

static void add(lexer* l, tan_token_kind kind, size_t size, uint32_t sign) {
  source* s = l->s;
  if (s->n_tokens >= MAX_TOKENS ||
      !cpli_grow(s->ctx, (void**)&s->tokens, &s->cap_tokens, s->n_tokens, sizeof *s->tokens)) {
    cpli_tan_nomem(s);
    l->at = l->end;
    return;
  }
  tan_token* t = &s->tokens[s->n_tokens++];
  *t = (tan_token){.text = l->at,
                   .size = (uint32_t)size,
                   .line = l->line,
                   .name = -1,
                   .sign = sign,
                   .file = l->file,
                   .kind = kind};
  if (kind == TOKEN_NAME) t->name = number_of(s, l->at, size);
  l->at += size;
}

static int32_t file_number(source* s, const char* text, size_t size) {
  for (size_t i = s->n_files; i > 0; i--) {
    if (strlen(s->files[i - 1]) == size && memcmp(s->files[i - 1], text, size) == 0)
      return (int32_t)i - 1;
  }
  const char* kept = cpli_arena_strndup(&s->arena, text, size);
  if (kept == NULL ||
      !cpli_grow(s->ctx, (void**)&s->files, &s->cap_files, s->n_files, sizeof(char*))) {
    cpli_tan_nomem(s);
    return 0;
  }
  s->files[s->n_files] = kept;
  return (int32_t)s->n_files++;
}

// A line that begins with #: a marker, or a pragma, which is ignored.
static void read_directive(lexer* l) {
  const char* next = memchr(l->at, '\n', (size_t)(l->end - l->at));
  const char *end = next != NULL ? next : l->end, *c = l->at + 1;
  while (c < end && *c == ' ') c++;
  if (c < end && isdigit((unsigned char)*c)) {
    const char* quote = memchr(c, '"', (size_t)(end - c));
    const char* close = quote != NULL ? memchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
    l->line = (uint32_t)strtoul(c, NULL, 10);
    if (close != NULL) l->file = file_number(l->s, quote + 1, (size_t)(close - quote - 1));
    if (l->line > 0) l->line--;  // of the next line, which begins after the line end
  }
  l->at = end;
}

static size_t text_size(const lexer* l) {
  const char quote = *l->at, *c = l->at + 1;
  while (c < l->end && *c != quote && *c != '\n') c += *c == '\\' && c + 1 < l->end ? 2 : 1;
  return (size_t)((c < l->end ? c + 1 : l->end) - l->at);
}

static size_t number_size(const lexer* l) {
  const char* c = l->at + 1;
  while (c < l->end) {
    const bool sign = (*c == '+' || *c == '-') && strchr("eEpP", c[-1]) != NULL;
    if (!sign && !isalnum((unsigned char)*c) && *c != '.' && *c != '_') break;
    c++;
  }
  return (size_t)(c - l->at);
}

static size_t sign_size(const lexer* l) {
  static const char* const signs[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>",
                                      "<=",  ">=",  "==",  "!=", "&&", "||", "*=", "/=",
                                      "%=",  "+=",  "-=",  "&=", "^=", "|=", "##"};
  for (size_t i = 0; i < CPLI_COUNT(signs); i++) {
    const size_t n = strlen(signs[i]);
    if ((size_t)(l->end - l->at) >= n && memcmp(l->at, signs[i], n) == 0) return n;
  }
  return 1;
}

static void next_token(lexer* l) {
  const unsigned char c = (unsigned char)*l->at;
  if (c == '\n') {
    l->line++, l->at++;
    l->fresh = true;
    return;
  }
  if (isspace(c)) {
    l->at++;
    return;
  }
  if (c == '#' && l->fresh) {
    read_directive(l);
    return;
  }
  l->fresh = false;
  if (isalpha(c) || c == '_' || c == '$' || c >= 0x80) {
    size_t n = 1;
    while (l->at + n < l->end && (isalnum((unsigned char)l->at[n]) || l->at[n] == '_' ||
                                  l->at[n] == '$' || (unsigned char)l->at[n] >= 0x80))
      n++;
    add(l, TOKEN_NAME, n, 0);
  } else if (isdigit(c) || (c == '.' && l->at + 1 < l->end && isdigit((unsigned char)l->at[1]))) {
    add(l, TOKEN_NUMBER, number_size(l), 0);
  } else if (c == '"' || c == '\'') {
    add(l, TOKEN_TEXT, text_size(l), 0);
  } else {
    const size_t n = sign_size(l);
    uint32_t sign = 0;
    for (size_t i = 0; i < n; i++) sign |= (uint32_t)(unsigned char)l->at[i] << 8 * i;
    add(l, TOKEN_SIGN, n, sign);
  }
}

bool cpli_tan_lex(source* s, const char* text, size_t size) {
  static const char* const keywords[] = {
#define X(name) #name,
      KEYWORDS(X)
#undef X
  };
  lexer l = {.s = s, .at = text, .end = text + size, .line = 1, .fresh = true};
  if (cpli_names_init(&s->names, s->ctx, 1024) < 0) return cpli_tan_nomem(s) != NULL;
  for (size_t i = 0; i < CPLI_COUNT(keywords); i++) number_of(s, keywords[i], strlen(keywords[i]));
  l.file = file_number(s, "", 0);
  while (l.at < l.end && !s->bad) next_token(&l);
  add(&l, TOKEN_END, 0, 0);
  if (s->bad) return false;
  s->top = cpli_tan_alloc(s, s->n_names + 1, sizeof(symbol*));
  s->tags = cpli_tan_alloc(s, s->n_names + 1, sizeof *s->tags);
  s->at = 0;
  return !s->bad;
}
