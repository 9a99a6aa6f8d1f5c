// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <ctype.h>
#include <string.h>

#include "cli.h"

static const char synopsis[] = "couples simulation models and simulates the whole";
static const char exits[] =
    "Exit codes: 0 success, 1 the simulation failed (results up to there are on disk), 2 bad usage "
    "or bad input.";

void cli_help(FILE* out) {
  fprintf(out, "couplet %s: %s\n\nusage: couplet VERB [operands] [options]\n\n", cpl_version(),
          synopsis);
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    fprintf(out, "  %-8s %-12s %s\n", cli_verbs[i]->name, cli_verbs[i]->operands,
            cli_verbs[i]->summary);
  }
  fprintf(out, "\ncouplet VERB --help tells more.  couplet --version prints the version.\n%s\n",
          exits);
}

static void option_head(char* head, size_t size, const cli_option* o) {
  char letter[8] = "    ";
  if (o->letter != 0) snprintf(letter, sizeof letter, "-%c, ", o->letter);
  snprintf(head, size, "%s--%s%s%s", letter, o->name, o->argument != NULL ? " " : "",
           o->argument != NULL ? o->argument : "");
}

void cli_help_verb(FILE* out, const cli_verb* verb) {
  fprintf(out, "couplet %s %s [options]\n%s\n", verb->name, verb->operands, verb->summary);
  if (verb->text != NULL) fprintf(out, "\n%s\n", verb->text);
  fprintf(out, "\n");
  for (const cli_option* o = verb->options; o->name != NULL; o++) {
    char head[96];
    option_head(head, sizeof head, o);
    if (strlen(head) > 30) fprintf(out, "  %s\n  %-30s %s\n", head, "", o->help);
    else fprintf(out, "  %-30s %s\n", head, o->help);
  }
  fprintf(out, "  %-30s %s\n", "-h, --help", "this text");
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
    if (v->text != NULL) {
      fprintf(out, ".PP\n.nf\n");
      man_text(out, v->text);
      fprintf(out, "\n.fi\n");
    }
    for (const cli_option* o = v->options; o->name != NULL; o++) {
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

void cli_completion(FILE* out) {
  fprintf(out, "# bash completion for couplet, made by couplet --completion\n_couplet() {\n");
  fprintf(out,
          "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
          "verb=${COMP_WORDS[1]} words= files=\n");
  fprintf(out,
          "  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"--help --version");
  for (size_t i = 0; cli_verbs[i] != NULL; i++) fprintf(out, " %s", cli_verbs[i]->name);
  fprintf(out, "\"\n  else\n    case $verb,$prev in\n");
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    for (const cli_option* o = cli_verbs[i]->options; o->name != NULL; o++) {
      if (!has_choices(o)) continue;
      fprintf(out, "      %s,--%s) words=\"", cli_verbs[i]->name, o->name);
      for (const char* c = o->argument; *c != '\0'; c++) fputc(*c == '|' ? ' ' : *c, out);
      fprintf(out, "\" ;;\n");
    }
  }
  for (size_t i = 0; cli_verbs[i] != NULL; i++) {
    fprintf(out, "      %s,*) files=\"%s\" words=\"--help", cli_verbs[i]->name,
            cli_verbs[i]->suffixes);
    for (const cli_option* o = cli_verbs[i]->options; o->name != NULL; o++)
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
