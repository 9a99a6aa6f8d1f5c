// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model in C as tokens, types and trees. Declarations of the whole preprocessed text are read;
// bodies of functions are kept as tokens and read when a derivative of the function is needed.
// Every function that reads stops at the first problem: the reason is recorded once, and the cursor
// moves to the end, where all loops end.
#pragma once

#include "base/base.h"

//------------------------------------ tokens ------------------------------------

typedef enum tan_token_kind {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_NUMBER,
  TOKEN_TEXT,
  TOKEN_SIGN
} tan_token_kind;

// The characters of an operator as a number, to compare them.
#define SIGN1(a)       ((uint32_t)(a))
#define SIGN2(a, b)    ((uint32_t)(a) | (uint32_t)(b) << 8)
#define SIGN3(a, b, c) (SIGN2(a, b) | (uint32_t)(c) << 16)

typedef struct tan_token {
  const char* text;
  uint32_t size, line;
  int32_t name;   // of a name: its number; -1: another token
  uint32_t sign;  // of an operator
  int32_t file;   // number of its file's name
  tan_token_kind kind;
} tan_token;

// Tokens [first, end).
typedef struct range {
  uint32_t first, end;
} range;

// Names with a meaning, numbered in this order.
#define KEYWORDS(X)                                                                               \
  X(void) X(char) X(short) X(int) X(long) X(float) X(double) X(signed) X(unsigned) X(_Bool)       \
  X(_Complex) X(__signed__) X(__int128) X(_Float128) X(_Float32) X(_Float64) X(_Float32x)         \
  X(_Float64x) X(__builtin_va_list) X(struct) X(union) X(enum) X(const) X(volatile) X(restrict)   \
  X(__restrict) X(__restrict__) X(__const) X(__volatile__) X(_Atomic) X(static) X(extern)         \
  X(inline) X(__inline) X(__inline__) X(register) X(auto) X(typedef) X(_Noreturn)                 \
  X(_Thread_local) X(__thread) X(__extension__) X(__attribute__) X(__attribute) X(__asm__) X(asm) \
  X(__asm) X(_Alignas) X(_Static_assert) X(typeof) X(__typeof__) X(__typeof) X(if) X(else) X(for) \
  X(while) X(do) X(switch) X(case) X(default) X(return) X(break) X(continue) X(goto) X(sizeof)    \
  X(_Alignof) X(_Generic)
typedef enum keyword {
#define X(name) KEY_##name,
  KEYWORDS(X)
#undef X
      N_KEYWORDS
} keyword;

//------------------------------------ types ------------------------------------

typedef enum type_kind {
  TYPE_VOID,
  TYPE_WHOLE,  // integers, Booleans, enumerations
  TYPE_FLOAT,
  TYPE_REAL,      // double
  TYPE_OTHER,     // long double, complex numbers and other kinds of numbers
  TYPE_POINTER,   // of
  TYPE_ARRAY,     // of
  TYPE_RECORD,    // record
  TYPE_FUNCTION,  // of: its result
} type_kind;

typedef struct type type;

typedef struct field {
  int32_t name;  // -1: an unnamed struct or union, whose fields are found through it
  type* type;
  struct field* next;
} field;

typedef struct record {
  field* fields;
  bool known;     // its fields are
  bool values;    // it is cpl_values
  bool pointers;  // it has some
  bool reals;     // it has numbers that may have derivatives, or pointers
  bool others;    // it has anything else but such numbers
  bool mixed;     // a union with both, or with an unnamed one
} record;

struct type {
  type_kind kind;
  bool constant;
  type* of;
  record* record;
  struct symbol* parameters;  // of a function
  bool variadic;
};

//------------------------------------ trees ------------------------------------

typedef enum symbol_kind { SYMBOL_TYPE, SYMBOL_VARIABLE, SYMBOL_CONSTANT } symbol_kind;

// A name of a declaration: a variable, a function, a type, an item of an enumeration.
typedef struct symbol {
  symbol_kind kind;
  int32_t name;
  type* type;
  bool global, is_static;
  bool shadowed;          // a global that needs an array of zeros beside it
  int32_t number;         // of a local variable in its function
  range specifiers;       // `static const double`
  range declarator;       // `*a[3]`
  uint32_t at;            // the token with the name; 0: unnamed
  struct expr* init;      // of a local variable. Nullable
  range init_text;        // of a global one
  bool listed;            // declared in one list with others
  struct function* body;  // of a function that is defined. Nullable
  struct symbol* next;    // in a list of parameters or declared variables
  struct symbol* outer;   // the same name in the scope around
  struct symbol* opened;  // the name that was declared before it, in any scope
  int depth;
} symbol;

typedef enum expr_kind {
  EXPR_NUMBER,
  EXPR_TEXT,
  EXPR_NAME,    // symbol
  EXPR_INDEX,   // a[b]
  EXPR_CALL,    // a(list); symbol: the function
  EXPR_MEMBER,  // a.name or a->name
  EXPR_STEP,    // a++, ++a, a--, --a
  EXPR_UNARY,   // sign a
  EXPR_SIZEOF,
  EXPR_CAST,     // (type)a
  EXPR_BINARY,   // a sign b
  EXPR_CHOICE,   // a ? b : c
  EXPR_ASSIGN,   // a sign b
  EXPR_COMMA,    // a, b
  EXPR_LITERAL,  // (type){list}
  EXPR_LIST,     // {list}
} expr_kind;

typedef struct expr {
  expr_kind kind;
  uint32_t sign;
  type* type;
  struct expr *a, *b, *c;
  struct expr* list;  // arguments or elements
  struct expr* next;  // in such a list
  range designator;   // of an element: `.x =`, `[2] =`
  symbol* symbol;
  int32_t name;  // of a member
  bool arrow, prefix;
  range all;          // tokens
  range type_name;    // of a cast or literal
  int32_t temporary;  // its value was computed before; 0: no
} expr;

typedef enum statement_kind {
  STATEMENT_EXPR,     // a (Nullable)
  STATEMENT_DECLARE,  // variables
  STATEMENT_COPY,     // nothing that has a derivative: tokens
  STATEMENT_IF,       // a, body, other
  STATEMENT_FOR,      // first; a; b; body
  STATEMENT_WHILE,    // a, body
  STATEMENT_DO,       // body, a
  STATEMENT_SWITCH,   // a, body
  STATEMENT_LABEL,    // tokens of the label, body
  STATEMENT_RETURN,   // a (Nullable)
  STATEMENT_BLOCK,    // body...
} statement_kind;

typedef struct statement {
  statement_kind kind;
  expr *a, *b;
  struct statement *first, *body, *other, *next;
  symbol* variables;
  range all;
} statement;

// A function that is defined in the text.
typedef struct function {
  symbol* symbol;
  symbol* parameters;
  range text;  // of its body
  statement* body;
  bool parsed, scanned;
  int32_t n_locals;  // with the parameters
  symbol** locals;
  struct variant* variants;
} function;

//------------------------------------ the source ------------------------------------

typedef struct source {
  cpl_context* ctx;
  cpli_arena arena;
  tan_token* tokens;
  size_t n_tokens, cap_tokens;
  cpli_names names;
  const char** name_text;
  size_t n_names, cap_names;
  const char** files;
  size_t n_files, cap_files;
  uint32_t at;  // the next token
  // what is declared, by names
  symbol** top;
  struct tag** tags;
  symbol* last;  // declared symbol
  int depth;     // of scopes
  int nested;    // depth of the recursion
  function* in;  // the function that is read
  size_t cap_locals;
  // the first problem
  bool bad, no_memory;
  char reason[256];
} source;

/// Splits the preprocessed text into tokens. Borrowed: text
bool cpli_tan_lex(source* s, const char* text, size_t size);
/// Records why no derivative is made, with the place of a token. Returns NULL.
CPL_PRINTF(3, 4) void* cpli_tan_refuse(source* s, uint32_t at, const char* fmt, ...);
void* cpli_tan_nomem(source* s);
void* cpli_tan_alloc(source* s, size_t n, size_t size);
/// The number of a name; -1: it does not occur.
int32_t cpli_tan_name(const source* s, const char* text);
const char* cpli_tan_text(source* s, uint32_t at);  // of a token, for messages

static inline const tan_token* tok(const source* s) { return &s->tokens[s->at]; }
static inline bool is_sign(const source* s, uint32_t sign) { return tok(s)->sign == sign; }
static inline bool is_key(const source* s, keyword key) { return tok(s)->name == (int32_t)key; }
static inline bool take(source* s, uint32_t sign) {
  if (!is_sign(s, sign)) return false;
  s->at++;
  return true;
}
static inline bool take_key(source* s, keyword key) {
  if (!is_key(s, key)) return false;
  s->at++;
  return true;
}
void cpli_tan_expect(source* s, uint32_t sign);
/// Moves behind the bracket that closes the one at the cursor.
void cpli_tan_skip_group(source* s);
/// A level of recursion; false: too deep, which is refused.
bool cpli_tan_enter(source* s);
static inline void cpli_tan_leave(source* s) { s->nested--; }

//------------------------------------ reading ------------------------------------

/// Reads the declarations of the whole text. What is not understood is skipped.
void cpli_tan_declarations(source* s);
/// Reads the body of a function, once.
void cpli_tan_body(source* s, function* f);

symbol* cpli_tan_find(const source* s, int32_t name);
bool cpli_tan_begins_type(const source* s);
/// The type in `(type)` or `sizeof(type)`.
type* cpli_tan_type_name(source* s);
/// A declaration; `variables` gets those it declares, in their order. Returns false for one that
/// declares types only.
bool cpli_tan_declare(source* s, symbol** variables);
void cpli_tan_open_scope(source* s);
void cpli_tan_close_scope(source* s);
type* cpli_tan_make_type(source* s, type_kind kind, type* of);
/// A field by its name, also one of an unnamed struct in it.
const field* cpli_tan_field(const record* r, int32_t name);

statement* cpli_tan_block(source* s);
expr* cpli_tan_expr(source* s);
expr* cpli_tan_assignment(source* s);   // an expression without a comma
expr* cpli_tan_initializer(source* s);  // or a list in braces

/// What evaluating a type as a value gives: arrays become pointers.
static inline bool is_pointer(const type* t) {
  return t->kind == TYPE_POINTER || t->kind == TYPE_ARRAY;
}
static inline bool is_number(const type* t) {
  return t->kind >= TYPE_WHOLE && t->kind <= TYPE_OTHER;
}
