// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One function per item compares it with the value that was kept and restores it; every restoration
// is logged.
#include "fmi/surroundings.h"

#include <string.h>
#include <unistd.h>

static const int signals[CPLI_KEPT_SIGNALS] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,
                                               SIGINT,  SIGTERM, SIGPIPE, SIGALRM, SIGCHLD};

void cpli_surroundings_keep(cpli_surroundings* s) {
  if (getcwd(s->folder, sizeof s->folder) == NULL) s->folder[0] = '\0';
  const char* locale = setlocale(LC_ALL, NULL);
  s->locale[0] = '\0';
  if (locale != NULL && strlen(locale) < sizeof s->locale) strcpy(s->locale, locale);
  s->thread_locale = uselocale((locale_t)0);
  s->mask = umask(0);
  umask(s->mask);
  s->x87 = cpli_x87_modes();
  for (int i = 0; i < CPLI_KEPT_SIGNALS; i++) sigaction(signals[i], NULL, &s->actions[i]);
}

static bool restore_folder(const cpli_surroundings* s) {
  char now[4096];
  if (s->folder[0] == '\0') return false;
  if (getcwd(now, sizeof now) != NULL && strcmp(now, s->folder) == 0) return false;
  return chdir(s->folder) == 0;
}

static bool restore_locale(const cpli_surroundings* s) {
  bool changed = uselocale((locale_t)0) != s->thread_locale;
  if (changed) uselocale(s->thread_locale);
  const char* now = setlocale(LC_ALL, NULL);
  if (s->locale[0] == '\0' || now == NULL || strcmp(now, s->locale) == 0) return changed;
  setlocale(LC_ALL, s->locale);
  return true;
}

static bool restore_mask(const cpli_surroundings* s) { return umask(s->mask) != s->mask; }

static bool restore_x87(const cpli_surroundings* s) {
  if (cpli_x87_modes() == s->x87) return false;
  cpli_x87_restore(s->x87);
  return true;
}

static bool restore_signals(const cpli_surroundings* s) {
  bool changed = false;
  for (int i = 0; i < CPLI_KEPT_SIGNALS; i++) {
    struct sigaction now;
    const struct sigaction* kept = &s->actions[i];
    if (sigaction(signals[i], NULL, &now) != 0) continue;
    if (now.sa_sigaction == kept->sa_sigaction && now.sa_flags == kept->sa_flags) continue;
    sigaction(signals[i], kept, NULL);
    changed = true;
  }
  return changed;
}

void cpli_surroundings_restore(const cpli_surroundings* s, const cpl_component* c,
                               const char* function) {
  static const struct {
    bool (*restore)(const cpli_surroundings* s);
    const char* what;
  } parts[] = {
      {restore_folder, "the working folder"}, {restore_locale, "the locale"},
      {restore_mask, "the file mode mask"},   {restore_signals, "signal handlers"},
      {restore_x87, "floating-point modes"},
  };
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) {
    if (!parts[i].restore(s)) continue;
    cpl_log(c->ctx, CPL_LOG_INFO, c->name, "%s changed %s of the process; put back", function,
            parts[i].what);
  }
}
