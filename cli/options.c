// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parses the command line by the tables of verbs and options, and calls the verb.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli.h"

static const char* verb_name(const void* user, size_t i) {
  return ((const cli_verb* const*)user)[i]->name;
}

// Options of all verbs that open models.
typedef struct common_args {
  bool no_ad;
} common_args;

static common_args common;

static const cli_option common_options[] = {
    {"no-ad", 0, NULL,
     "derivatives of models in C by differences: none are made of their source by automatic "
     "differentiation",
     CLI_FLAG, offsetof(common_args, no_ad)},
    {0}};

static bool is_common(const cli_option* o) {
  return o >= common_options && o < common_options + CPLI_COUNT(common_options);
}

static const cli_option* common_at(const cli_verb* verb, size_t i) {
  const bool opens = verb->suffixes != NULL && strstr(verb->suffixes, "yaml") != NULL;
  return opens && i + 1 < CPLI_COUNT(common_options) ? &common_options[i] : NULL;
}

bool cli_no_ad(void) { return common.no_ad; }

const cli_option* cli_option_at(const cli_verb* verb, size_t i) {
  size_t n = 0;
  while (verb->options[n].name != NULL) n++;
  if (i < n) return &verb->options[i];
  i -= n;
  for (n = 0; verb->more != NULL && verb->more[n].name != NULL; n++) {
  }
  return i < n ? &verb->more[i] : common_at(verb, i - n);
}

static bool is_spelled(const char* name, const char* text, size_t len) {
  return name != NULL && strlen(name) == len && strncmp(name, text, len) == 0;
}

static const cli_option* find_option(const cli_verb* verb, const char* text, size_t len) {
  const cli_option* o;
  for (size_t i = 0; (o = cli_option_at(verb, i)) != NULL; i++) {
    if (is_spelled(o->name, text, len) || is_spelled(o->also, text, len)) return o;
  }
  return NULL;
}

static const cli_option* find_letter(const cli_verb* verb, char letter) {
  const cli_option* o;
  for (size_t i = 0; (o = cli_option_at(verb, i)) != NULL; i++) {
    if (o->letter != 0 && o->letter == letter) return o;
  }
  return NULL;
}

typedef char dashed_name[40];

static const char* dashed_at(const void* user, size_t i) { return ((const dashed_name*)user)[i]; }

static int unknown_option(const cli_verb* verb, const char* text, size_t len) {
  enum { MOST = 128 };
  dashed_name names[MOST];
  char given[64], near[256];
  size_t n = 0;
  const cli_option* o;
  for (size_t i = 0; n + 1 < MOST && (o = cli_option_at(verb, i)) != NULL; i++) {
    snprintf(names[n++], sizeof names[0], "--%s", o->name);
    if (o->also != NULL) snprintf(names[n++], sizeof names[0], "--%s", o->also);
  }
  snprintf(given, sizeof given, "%.*s", (int)len, text);
  cpli_nearest(given, dashed_at, names, n, near, sizeof near);
  if (near[0] == '\0')
    return cli_usage_error("%s: unknown option %s; see couplet %s --help", verb->name, given,
                           verb->name);
  return cli_usage_error("%s: unknown option %s (is it %s?)", verb->name, given, near);
}

// "a|b|c" is a list of choices; other argument names take anything.
static bool is_choice(const char* choices, const char* value) {
  if (strchr(choices, '|') == NULL) return true;
  size_t len = strlen(value);
  for (const char* c = choices; c != NULL; c = strchr(c, '|')) {
    if (*c == '|') c++;
    if (strncmp(c, value, len) == 0 && (c[len] == '|' || c[len] == '\0')) return true;
  }
  return false;
}

static int store(const cli_verb* verb, const cli_option* o, const char* value, char* args) {
  void* target = (is_common(o) ? (char*)&common : args) + o->offset;
  if (o->kind == CLI_FLAG) {
    *(bool*)target = true;
    return CLI_OK;
  }
  if (o->kind != CLI_LIST && !is_choice(o->argument, value)) {  // verbs check lists themselves
    return cli_usage_error("%s: --%s takes %s, not \"%s\"", verb->name, o->name, o->argument,
                           value);
  }
  if (o->kind == CLI_TEXT) {
    *(const char**)target = value;
  } else if (o->kind == CLI_NUMBER) {
    char* end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(number)) {
      return cli_usage_error("%s: --%s takes a number, not \"%s\"", verb->name, o->name, value);
    }
    *(double*)target = number;
  } else {
    cli_list* list = target;
    const char** items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (items == NULL) return cli_usage_error("out of memory");
    list->items = items;
    items[list->n++] = value;
  }
  return CLI_OK;
}

// One option at argv[*i], with its value behind "=" or in the next argument.
static int parse_option(const cli_verb* verb, int argc, char** argv, int* i, char* args) {
  const char* text = argv[*i];
  const cli_option* o;
  const char* value = NULL;
  if (text[1] == '-') {
    const char* equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
    o = find_option(verb, text + 2, len - 2);
    if (o == NULL) return unknown_option(verb, text, len);
    if (equals != NULL) value = equals + 1;
    if (o->kind == CLI_FLAG && value != NULL) {
      return cli_usage_error("%s: --%s takes no value", verb->name, o->name);
    }
  } else {
    o = find_letter(verb, text[1]);
    if (o == NULL)
      return cli_usage_error("%s: unknown option %s; see couplet %s --help", verb->name, text,
                             verb->name);
    if (text[2] != '\0') value = text + 2;
  }
  if (o->kind != CLI_FLAG && value == NULL) {
    if (*i + 1 >= argc)
      return cli_usage_error("%s: --%s needs a value: %s", verb->name, o->name, o->argument);
    value = argv[++*i];
  }
  return store(verb, o, value, args);
}

static void free_args(const cli_verb* verb, char* args) {
  if (args == NULL) return;
  const cli_option* o;
  for (size_t i = 0; (o = cli_option_at(verb, i)) != NULL; i++) {
    if (o->kind == CLI_LIST) free(((cli_list*)(args + o->offset))->items);
  }
  free(args);
}

static int check_operands(const cli_verb* verb, int n, char** operands) {
  bool required = verb->operands[0] != '\0' && verb->operands[0] != '[';
  bool many = strstr(verb->operands, "...") != NULL;
  if (required && n == 0) {
    return cli_usage_error("%s: %s is missing; usage: couplet %s %s [options]", verb->name,
                           many ? "FILE" : verb->operands, verb->name, verb->operands);
  }
  if (n > 1 && !many) {
    return cli_usage_error("%s: takes one %s, not %s and %s", verb->name, verb->operands,
                           operands[0], operands[1]);
  }
  return CLI_OK;
}

static int run_verb(const cli_verb* verb, int argc, char** argv) {
  int code = CLI_OK, n = 0;
  bool only_operands = false;
  char* args = calloc(1, verb->args_size + 1);
  char** operands = calloc((size_t)argc + 1, sizeof *operands);
  if (args == NULL || operands == NULL) {
    code = cli_usage_error("out of memory");
    goto done;
  }
  const cli_option* o;
  for (size_t i = 0; code == CLI_OK && (o = cli_option_at(verb, i)) != NULL; i++) {
    if (o->kind == CLI_NUMBER) *(double*)(args + o->offset) = NAN;
  }
  for (int i = 0; i < argc && code == CLI_OK; i++) {
    if (!only_operands && strcmp(argv[i], "--") == 0) {
      only_operands = true;
    } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
      if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
        cli_help_verb(stdout, verb);
        goto done;
      }
      code = parse_option(verb, argc, argv, &i, args);
    } else {
      operands[n++] = argv[i];
    }
  }
  if (code == CLI_OK) code = check_operands(verb, n, operands);
  if (code == CLI_OK) code = verb->run(args, n, operands);
done:
  free(operands);
  free_args(verb, args);
  return code;
}

static const cli_verb* find_verb(const char* name) {
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    if (strcmp(name, cli_verbs[i]->name) == 0) return cli_verbs[i];
  }
  return NULL;
}

static int unknown_verb(const char* name) {
  char near[128];
  size_t n = 0;
  while (cli_verbs[n] != NULL) n++;
  cpli_nearest(name, verb_name, cli_verbs, n, near, sizeof near);
  if (near[0] != '\0') return cli_usage_error("unknown verb \"%s\" (is it %s?)", name, near);
  return cli_usage_error("unknown verb \"%s\"; see couplet --help", name);
}

// A verb of two words ("tlm serve") or of one. *used: the number of words.
static const cli_verb* find_words(int n, char** words, int* used) {
  char both[64];
  if (n > 1) snprintf(both, sizeof both, "%s %s", words[0], words[1]);
  const cli_verb* verb = n > 1 ? find_verb(both) : NULL;
  *used = verb != NULL ? 2 : 1;
  return verb != NULL ? verb : find_verb(words[0]);
}

// A first word of a verb of two words alone: the message lists the second words.
static int unknown_words(const char* word) {
  char list[128] = "";
  size_t len = strlen(word), n = 0;
  for (size_t i = 0; cli_verbs[i] != NULL && n < sizeof list; i++) {
    const char* name = cli_verbs[i]->name;
    if (strncmp(name, word, len) == 0 && name[len] == ' ')
      n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", name + len + 1);
  }
  return n > 0 ? cli_usage_error("%s: the second word of the verb is missing or unknown (%s)", word,
                                 list)
               : unknown_verb(word);
}

static int help_about(int n, char** words) {
  int used;
  const cli_verb* verb = find_words(n, words, &used);
  if (verb == NULL) return unknown_words(words[0]);
  cli_help_verb(stdout, verb);
  return CLI_OK;
}

int cli_dispatch(int argc, char** argv) {
  if (argc < 2) return cli_help(stderr), CLI_USAGE;
  const char* word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    if (argc > 2) return help_about(argc - 2, argv + 2);
    return cli_help(stdout), CLI_OK;
  }
  if (strcmp(word, "--version") == 0)
    return cli_version(argc > 2 && strcmp(argv[2], "--verbose") == 0);
  if (strcmp(word, "--man") == 0) return cli_man(stdout), CLI_OK;
  if (strcmp(word, "--completion") == 0) return cli_completion(stdout), CLI_OK;
  int used;
  const cli_verb* verb = find_words(argc - 1, argv + 1, &used);
  return verb != NULL ? run_verb(verb, argc - 1 - used, argv + 1 + used) : unknown_words(word);
}
