// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU that changes the process around it, in calls of each version.
#include "fmi/surroundings.h"

#include <fenv.h>
#include <unistd.h>

#include "couplet/run.h"
#include "fmi/probes.h"

typedef struct seen {
  char folder[4096];
  locale_t locale;
  mode_t mask;
  void (*handler)(int);
  int rounding;
} seen;

static seen look(void) {
  seen s;
  memset(&s, 0, sizeof s);
  if (getcwd(s.folder, sizeof s.folder) == NULL) s.folder[0] = '\0';
  s.locale = uselocale((locale_t)0);
  s.mask = umask(0);
  umask(s.mask);
  struct sigaction action;
  sigaction(SIGINT, NULL, &action);
  s.handler = action.sa_handler;
  s.rounding = fegetround();
  return s;
}

static const struct {
  const char *kind, *what;
} changes[] = {{"chdir", "the working folder"},
               {"locale", "the locale"},
               {"umask", "the file mode mask"},
               {"signals", "signal handlers"},
               {"rounding", NULL}};

static void model_puts_back(void** state) {
  (void)state;
  static const char* const functions[][2] = {{"3", "fmi3ExitInitializationMode"},
                                             {"3", "fmi3UpdateDiscreteStates"},
                                             {"1_me", "fmiInitialize"},
                                             {"", "fmi2EnterInitializationMode"}};
  for (size_t f = 0; f < CPLI_COUNT(functions); f++) {
    for (size_t i = 0; i < CPLI_COUNT(changes); i++) {
      opened o;
      seen before = look();
      open_probe(&o, functions[f][0]);
      want_fault(functions[f][1], 1, changes[i].kind);
      cpl_model* m = model_in(&o);
      cpl_event_info info;
      CHECK_OK(o.ctx, initialize(&m->base));
      CHECK_OK(o.ctx, m->ops->event_update(m, &info));
      seen after = look();
      CHECK(memcmp(&before, &after, sizeof before) == 0);
      if (changes[i].what != NULL) {
        char text[128];
        snprintf(text, sizeof text, "left %s changed %s of the process; put back", functions[f][1],
                 changes[i].what);
        CHECK_CONTAINS(o.logged, text);
      }
      m->base.ops->destroy(&m->base);
      close_probe(&o);
    }
  }
}

// The modes of arithmetic are looked at after every call.
static void rounding_in_between(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  want_fault("fmi3GetContinuousStateDerivatives", 1, "rounding");
  cpl_model* m = model_in(&o);
  double dx[2];
  CHECK_OK(o.ctx, initialize(&m->base));
  CHECK_OK(o.ctx, m->ops->get_derivatives(m, dx));
  CHECK_INT(fegetround(), FE_TONEAREST);
  m->base.ops->destroy(&m->base);
  close_probe(&o);
}

// In a run they are read once before many calls: those of the program stay, those of the FMU go.
static void rounding_in_a_run(void** state) {
  (void)state;
  static const int modes[] = {FE_TONEAREST, FE_DOWNWARD};
  static const char* const functions[] = {"fmi2DoStep", "fmi2GetReal"};
  for (size_t k = 0; k < CPLI_COUNT(modes) * CPLI_COUNT(functions); k++) {
    opened o;
    open_probe(&o, "");
    want_fault(functions[k / 2], 5, "rounding");
    fesetround(modes[k % 2]);
    cpl_stepper* s = stepper_in(&o);
    cpl_run_def def = cpl_default_run_def();
    def.stop_time = 1;
    def.interval = 0.1;
    cpl_status st = cpl_run(s, &def, NULL);
    int after = fegetround();
    fesetround(FE_TONEAREST);
    CHECK_OK(o.ctx, st);
    CHECK_INT(after, modes[k % 2]);
    CHECK_INT(cpli_float_known, 0);
    s->base.ops->destroy(&s->base);
    close_probe(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(model_puts_back),
      cmocka_unit_test(rounding_in_between),
      cmocka_unit_test(rounding_in_a_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
