// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Texts that are generated from the tables of verbs and options: help, the man page and the
// completion for bash.
#include <ctype.h>
#include <string.h>

#include "cli.h"

static const char synopsis[] = "couples simulation models and simulates the whole";
static const char exits[] =
    "Exit codes: 0 success, 1 the simulation failed (results up to the failure are on disk), 2 bad "
    "usage, bad input, or an output that cannot be written.";

static const char* put_wrapped(FILE* out, const char* text, int at, int indent);

void cli_help(FILE* out) {
  fprintf(out, "couplet %s: %s\n\nusage: couplet VERB [operands] [options]\n\n", cpl_version(),
          synopsis);
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    fprintf(out, "  %-11s %-16s %s\n", cli_verbs[i]->name, cli_verbs[i]->operands,
            cli_verbs[i]->summary);
  }
  fprintf(out,
          "\ncouplet VERB --help describes a verb; couplet --version prints the version, with "
          "--verbose "
          "also those of third-party components.\n");
  put_wrapped(out, exits, 0, 0);
}

static void option_head(char* head, size_t size, const cli_option* o) {
  char letter[8] = "    ";
  if (o->letter != 0) snprintf(letter, sizeof letter, "-%c, ", o->letter);
  snprintf(head, size, "%s--%s%s%s", letter, o->name, o->argument != NULL ? " " : "",
           o->argument != NULL ? o->argument : "");
}

enum { WIDTH = 80, COLUMN = 26 };  // of a terminal, and where the help of options begins

// Prints words up to the end of `text` or a line break, from column `at` on, wrapped at WIDTH with
// `indent`. Returns the end of what was printed.
static const char* put_wrapped(FILE* out, const char* text, int at, int indent) {
  bool first = true;
  while (*text != '\0' && *text != '\n') {
    int n = (int)strcspn(text, " \n");
    if (!first && at + 1 + n > WIDTH) {
      fprintf(out, "\n%*s", indent, "");
      at = indent;
    } else if (!first) {
      fputc(' ', out);
      at++;
    }
    fprintf(out, "%.*s", n, text);
    at += n;
    text += n;
    text += strspn(text, " ");
    first = false;
  }
  fputc('\n', out);
  return text;
}

// Paragraphs are wrapped, lines that begin with a blank are kept.
static void put_text(FILE* out, const char* text) {
  while (*text != '\0') {
    if (*text == ' ') {
      int n = (int)strcspn(text, "\n");
      fprintf(out, "%.*s\n", n, text);
      text += n;
    } else {
      text = put_wrapped(out, text, 0, 0);
    }
    if (*text == '\n') text++;
  }
}

void cli_help_verb(FILE* out, const cli_verb* verb) {
  fprintf(out, "couplet %s %s [options]\n%s\n", verb->name, verb->operands, verb->summary);
  if (verb->text != NULL) {
    fputc('\n', out);
    put_text(out, verb->text);
  }
  fputc('\n', out);
  const cli_option* o;
  for (size_t i = 0; (o = cli_option_at(verb, i)) != NULL; i++) {
    char head[96];
    option_head(head, sizeof head, o);
    int n = fprintf(out, "  %s", head);
    if (n > COLUMN - 2) {
      fputc('\n', out);
      n = 0;
    }
    fprintf(out, "%*s", COLUMN - n, "");
    put_wrapped(out, o->help, COLUMN, COLUMN);
  }
  fprintf(out, "  %-*s%s\n", COLUMN - 2, "-h, --help", "this text");
}

//------------------------------------ man page ------------------------------------

static void man_text(FILE* out, const char* text) {
  bool line_start = true;
  for (; *text != '\0'; text++) {
    if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
    if (*text == '\\' || *text == '-') fputc('\\', out);
    fputc(*text, out);
    line_start = *text == '\n';
  }
}

// Lines that begin with a blank are kept, all others are filled.
static void man_paragraphs(FILE* out, const char* text) {
  bool kept = false;
  fprintf(out, ".PP\n");
  for (const char* end; *text != '\0'; text = *end == '\n' ? end + 1 : end) {
    end = text + strcspn(text, "\n");
    if (kept != (*text == ' ')) fprintf(out, kept ? ".fi\n" : ".nf\n");
    kept = *text == ' ';
    if (end == text) {
      fprintf(out, ".PP\n");
      continue;
    }
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
    man_text(out, line);
    fputc('\n', out);
  }
  if (kept) fprintf(out, ".fi\n");
}

void cli_man(FILE* out) {
  fprintf(out, ".TH COUPLET 1 \"\" \"couplet %s\" \"User Commands\"\n.SH NAME\ncouplet \\- ",
          cpl_version());
  man_text(out, synopsis);
  fprintf(out,
          "\n.SH SYNOPSIS\n.B couplet\n.I VERB\n[\\fIoperands\\fR] [\\fIoptions\\fR]\n.SH VERBS\n");
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    const cli_verb* v = cli_verbs[i];
    fprintf(out, ".SS couplet %s ", v->name);
    man_text(out, v->operands);
    fprintf(out, "\n");
    man_text(out, v->summary);
    fprintf(out, ".\n");
    if (v->text != NULL) man_paragraphs(out, v->text);
    const cli_option* o;
    for (size_t k = 0; (o = cli_option_at(v, k)) != NULL; k++) {
      char head[96];
      option_head(head, sizeof head, o);
      fprintf(out, ".TP\n.B ");
      man_text(out, head + strspn(head, " "));
      fprintf(out, "\n");
      man_text(out, o->help);
      fprintf(out, "\n");
    }
  }
  fprintf(out, ".SH EXIT STATUS\n");
  man_text(out, exits);
  fprintf(out, "\n");
}

//------------------------------------ completion ------------------------------------

static bool has_choices(const cli_option* o) {
  return o->argument != NULL && strchr(o->argument, '|') != NULL;
}

// The first words of all verbs, or the second words that may follow a given first word.
static void put_verbs(FILE* out, const char* first) {
  size_t n = first != NULL ? strlen(first) : 0;
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    const char* name = cli_verbs[i]->name;
    size_t len = strcspn(name, " ");
    bool again = i > 0 && strncmp(cli_verbs[i - 1]->name, name, len + 1) == 0;
    if (n > 0 && strncmp(name, first, n) == 0) fprintf(out, " %s", name + n);
    if (n == 0 && !again) fprintf(out, " %.*s", (int)len, name);
  }
}

void cli_completion(FILE* out) {
  fprintf(out, "# bash completion for couplet, made by couplet --completion\n_couplet() {\n");
  fprintf(out,
          "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
          "verb=${COMP_WORDS[1]} words= files=\n");
  fprintf(out,
          "  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"--help --version");
  put_verbs(out, NULL);
  fprintf(out, "\"\n  elif [ \"$COMP_CWORD,$verb\" = 2,tlm ]; then\n    words=\"");
  put_verbs(out, "tlm ");
  fprintf(out, "\"\n  else\n    case $verb in tlm) verb=\"tlm ${COMP_WORDS[2]}\" ;; esac\n");
  fprintf(out, "    case $verb,$prev in\n");
  const cli_option* o;
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    for (size_t k = 0; (o = cli_option_at(cli_verbs[i], k)) != NULL; k++) {
      if (!has_choices(o)) continue;
      fprintf(out, "      \"%s\",--%s) words=\"", cli_verbs[i]->name, o->name);
      for (const char* c = o->argument; *c != '\0'; c++) fputc(*c == '|' ? ' ' : *c, out);
      fprintf(out, "\" ;;\n");
    }
  }
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    fprintf(out, "      \"%s\",*) files=\"%s\" words=\"--help", cli_verbs[i]->name,
            cli_verbs[i]->suffixes);
    for (size_t k = 0; (o = cli_option_at(cli_verbs[i], k)) != NULL; k++)
      fprintf(out, " --%s", o->name);
    fprintf(out, "\" ;;\n");
  }
  fprintf(out,
          "    esac\n  fi\n"
          "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "  case $cur in -*) return ;; esac\n"
          "  local f\n"
          "  for f in $files; do COMPREPLY+=($(compgen -f -X \"!*.$f\" -- \"$cur\")); done\n"
          "  [ -n \"$files\" ] && COMPREPLY+=($(compgen -d -- \"$cur\"))\n}\n"
          "complete -o filenames -F _couplet couplet\n");
}
