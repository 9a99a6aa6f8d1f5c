// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compares the description with the files: sources, icons, and the functions a
// binary exports, which are read without loading it.
#include <stdio.h>

#include "fmi/check.h"
#include "format/elf.h"
#include "format/file.h"
#include "format/zip.h"

#define WARN(out, line, rule, ...) cpli_findings_add(out, CPLI_WARNING, line, rule, __VA_ARGS__)

enum { LARGEST_BINARY = 1 << 28 };

//------------------------------------ functions ------------------------------------

enum { ME = 1, CS = 2, SE = 4, ALL = ME | CS | SE };
enum { ALWAYS, SAVES, SERIALIZES, DIRECTIONAL, ADJOINT };

// A function, which kinds need it, and under which flag.
typedef struct function {
  const char* name;
  uint8_t kinds, when;
} function;

static const function functions1[] = {
    {"GetVersion", ALL, ALWAYS},
    {"SetDebugLogging", ALL, ALWAYS},
    {"GetReal", ALL, ALWAYS},
    {"SetReal", ALL, ALWAYS},
    {"InstantiateModel", ME, ALWAYS},
    {"FreeModelInstance", ME, ALWAYS},
    {"Initialize", ME, ALWAYS},
    {"SetTime", ME, ALWAYS},
    {"SetContinuousStates", ME, ALWAYS},
    {"CompletedIntegratorStep", ME, ALWAYS},
    {"GetDerivatives", ME, ALWAYS},
    {"GetEventIndicators", ME, ALWAYS},
    {"EventUpdate", ME, ALWAYS},
    {"GetContinuousStates", ME, ALWAYS},
    {"GetNominalContinuousStates", ME, ALWAYS},
    {"Terminate", ME, ALWAYS},
    {"InstantiateSlave", CS, ALWAYS},
    {"InitializeSlave", CS, ALWAYS},
    {"TerminateSlave", CS, ALWAYS},
    {"FreeSlaveInstance", CS, ALWAYS},
    {"DoStep", CS, ALWAYS},
};

static const function functions2[] = {
    {"GetTypesPlatform", ALL, ALWAYS},
    {"GetVersion", ALL, ALWAYS},
    {"SetDebugLogging", ALL, ALWAYS},
    {"Instantiate", ALL, ALWAYS},
    {"FreeInstance", ALL, ALWAYS},
    {"SetupExperiment", ALL, ALWAYS},
    {"EnterInitializationMode", ALL, ALWAYS},
    {"ExitInitializationMode", ALL, ALWAYS},
    {"Terminate", ALL, ALWAYS},
    {"Reset", ALL, ALWAYS},
    {"GetReal", ALL, ALWAYS},
    {"GetInteger", ALL, ALWAYS},
    {"GetBoolean", ALL, ALWAYS},
    {"GetString", ALL, ALWAYS},
    {"SetReal", ALL, ALWAYS},
    {"SetInteger", ALL, ALWAYS},
    {"SetBoolean", ALL, ALWAYS},
    {"SetString", ALL, ALWAYS},
    {"GetFMUstate", ALL, SAVES},
    {"SetFMUstate", ALL, SAVES},
    {"FreeFMUstate", ALL, SAVES},
    {"SerializedFMUstateSize", ALL, SERIALIZES},
    {"SerializeFMUstate", ALL, SERIALIZES},
    {"DeSerializeFMUstate", ALL, SERIALIZES},
    {"GetDirectionalDerivative", ALL, DIRECTIONAL},
    {"EnterEventMode", ME, ALWAYS},
    {"NewDiscreteStates", ME, ALWAYS},
    {"EnterContinuousTimeMode", ME, ALWAYS},
    {"CompletedIntegratorStep", ME, ALWAYS},
    {"SetTime", ME, ALWAYS},
    {"SetContinuousStates", ME, ALWAYS},
    {"GetDerivatives", ME, ALWAYS},
    {"GetEventIndicators", ME, ALWAYS},
    {"GetContinuousStates", ME, ALWAYS},
    {"GetNominalsOfContinuousStates", ME, ALWAYS},
    {"DoStep", CS, ALWAYS},
    {"CancelStep", CS, ALWAYS},
    {"GetStatus", CS, ALWAYS},
    {"SetRealInputDerivatives", CS, ALWAYS},
    {"GetRealOutputDerivatives", CS, ALWAYS},
};

static const function functions3[] = {
    {"GetVersion", ALL, ALWAYS},
    {"SetDebugLogging", ALL, ALWAYS},
    {"InstantiateModelExchange", ME, ALWAYS},
    {"InstantiateCoSimulation", CS, ALWAYS},
    {"InstantiateScheduledExecution", SE, ALWAYS},
    {"FreeInstance", ALL, ALWAYS},
    {"EnterInitializationMode", ALL, ALWAYS},
    {"ExitInitializationMode", ALL, ALWAYS},
    {"EnterEventMode", ME, ALWAYS},
    {"Terminate", ALL, ALWAYS},
    {"Reset", ALL, ALWAYS},
    {"GetFloat32", ALL, ALWAYS},
    {"GetFloat64", ALL, ALWAYS},
    {"GetInt32", ALL, ALWAYS},
    {"GetInt64", ALL, ALWAYS},
    {"GetUInt64", ALL, ALWAYS},
    {"GetBoolean", ALL, ALWAYS},
    {"GetString", ALL, ALWAYS},
    {"GetBinary", ALL, ALWAYS},
    {"GetClock", ALL, ALWAYS},
    {"SetFloat64", ALL, ALWAYS},
    {"SetInt32", ALL, ALWAYS},
    {"SetBoolean", ALL, ALWAYS},
    {"SetString", ALL, ALWAYS},
    {"SetBinary", ALL, ALWAYS},
    {"SetClock", ALL, ALWAYS},
    {"GetFMUState", ALL, SAVES},
    {"SetFMUState", ALL, SAVES},
    {"FreeFMUState", ALL, SAVES},
    {"SerializedFMUStateSize", ALL, SERIALIZES},
    {"SerializeFMUState", ALL, SERIALIZES},
    {"DeserializeFMUState", ALL, SERIALIZES},
    {"GetDirectionalDerivative", ALL, DIRECTIONAL},
    {"GetAdjointDerivative", ALL, ADJOINT},
    {"EnterConfigurationMode", ALL, ALWAYS},
    {"ExitConfigurationMode", ALL, ALWAYS},
    {"UpdateDiscreteStates", ALL, ALWAYS},
    {"EnterContinuousTimeMode", ME, ALWAYS},
    {"CompletedIntegratorStep", ME, ALWAYS},
    {"SetTime", ME, ALWAYS},
    {"SetContinuousStates", ME, ALWAYS},
    {"GetContinuousStateDerivatives", ME, ALWAYS},
    {"GetEventIndicators", ME, ALWAYS},
    {"GetContinuousStates", ME, ALWAYS},
    {"GetNominalsOfContinuousStates", ME, ALWAYS},
    {"GetNumberOfEventIndicators", ME, ALWAYS},
    {"GetNumberOfContinuousStates", ME, ALWAYS},
    {"EnterStepMode", CS, ALWAYS},
    {"DoStep", CS, ALWAYS},
    {"ActivateModelPartition", SE, ALWAYS},
};

static const struct api {
  const char* prefix;
  const function* functions;
  size_t n;
} apis[] = {
    [1] = {"fmi", functions1, CPLI_COUNT(functions1)},
    [2] = {"fmi2", functions2, CPLI_COUNT(functions2)},
    [3] = {"fmi3", functions3, CPLI_COUNT(functions3)},
};

static bool is_wanted(const function* f, const cpli_fmu_kind* kind, uint8_t bit) {
  if (!(f->kinds & bit)) return false;
  switch (f->when) {
    case SAVES: return kind->can.save_restore;
    case SERIALIZES: return kind->can.serialize;
    case DIRECTIONAL: return kind->can.directional;
    case ADJOINT: return kind->adjoint;
    default: return true;
  }
}

static const char* flag_text(uint8_t when) {
  static const char* const texts[] = {
      "", ", although the flags say that its states can be saved",
      ", although the flags say that its states can be serialized",
      ", although the flags say that it has directional derivatives",
      ", although the flags say that it has adjoint derivatives"};
  return texts[when];
}

static void check_functions(const cpl_fmu* fmu, const cpli_fmu_kind* kind, uint8_t bit,
                            const cpli_names* exported, cpli_findings* out) {
  const struct api* api = &apis[fmu->version];
  for (size_t i = 0; i < api->n; i++) {
    const function* f = &api->functions[i];
    char plain[128], prefixed[512];
    if (!is_wanted(f, kind, bit)) continue;
    snprintf(plain, sizeof plain, "%s%s", api->prefix, f->name);
    snprintf(prefixed, sizeof prefixed, "%.300s_%s", kind->identifier, plain);
    if (cpli_names_find(exported, plain) >= 0 || cpli_names_find(exported, prefixed) >= 0) continue;
    WARN(out, kind->line, "symbols", "binaries/%s/%.100s%s does not export %s%s", fmu->platform,
         kind->identifier, cpli_fmu_library_suffix(), fmu->version == 1 ? prefixed : plain,
         flag_text(f->when));
  }
}

static void check_binary(const cpl_fmu* fmu, cpli_zip* zip, const cpli_fmu_kind* kind, uint8_t bit,
                         cpli_findings* out) {
  cpl_context* ctx = fmu->arena.ctx;
  if (!kind->present || kind->tool_coupling || !cpli_fmu_has_binary(fmu, kind->identifier)) return;
  char* bytes = NULL;
  size_t size = 0;
  char* name = cpli_printf(ctx, "%s%sbinaries/%s/%s%s", zip == NULL ? fmu->base.path : "",
                           zip == NULL ? "/" : "", fmu->platform, kind->identifier,
                           cpli_fmu_library_suffix());
  cpl_status st = name == NULL  ? CPL_ERR_NOMEM
                  : zip != NULL ? cpli_zip_read(zip, name, LARGEST_BINARY, &bytes, &size)
                                : cpli_file_read(ctx, name, LARGEST_BINARY, &bytes, &size);
  cpli_names exported = {0};
  if (st == CPL_ERR_NOMEM) out->incomplete = true;
  if (st >= 0 && cpli_elf_exports(ctx, bytes, size, &exported))
    check_functions(fmu, kind, bit, &exported, out);
  cpli_names_free(&exported);
  cpli_free(ctx, bytes);
  cpli_free(ctx, name);
}

static void check_binaries(const cpl_fmu* fmu, cpli_findings* out) {
  cpli_zip* zip = NULL;
  if (fmu->n_binaries == 0) return;
  if (!fmu->is_folder && cpli_zip_open(fmu->arena.ctx, fmu->base.path, NULL, &zip) < 0) {
    WARN(out, 0, "symbols", "%.300s", cpl_context_error(fmu->arena.ctx));
    return;
  }
  check_binary(fmu, zip, &fmu->me, ME, out);
  check_binary(fmu, zip, &fmu->cs, CS, out);
  check_binary(fmu, zip, &fmu->se, SE, out);
  cpli_zip_close(zip);
}

//------------------------------------ listed files ------------------------------------

static bool has_file(const cpl_fmu* fmu, const char* folder, const char* name, const char* end) {
  size_t at = strlen(folder), n = strlen(name);
  for (int32_t i = 0; i < fmu->files.n; i++) {
    const char* file = fmu->files.items[i];
    if (strncmp(file, folder, at) == 0 && strncmp(file + at, name, n) == 0 &&
        strcmp(file + at + n, end) == 0)
      return true;
  }
  return false;
}

static void check_sources(const cpl_fmu* fmu, const cpli_fmu_kind* kind, cpli_findings* out) {
  if (!kind->present) return;
  for (int32_t i = 0; i < kind->n_source_files; i++) {
    if (has_file(fmu, "sources/", kind->source_files[i], "")) continue;
    WARN(out, kind->line, "file", "sources/%.200s is listed but not there", kind->source_files[i]);
  }
}

static void check_terminals(const cpl_fmu* fmu, cpli_findings* out) {
  for (int32_t i = 0; i < fmu->n_terminals; i++) {
    const cpli_terminal* t = &fmu->terminals[i];
    if (t->icon == NULL || has_file(fmu, "terminalsAndIcons/", t->icon, ".png")) continue;
    WARN(out, 0, "file", "terminalsAndIcons/%.100s.png of terminal %.100s is not there", t->icon,
         t->name);
  }
  for (int32_t i = 0; i < fmu->n_terminal_members; i++) {
    const cpli_terminal_member* m = &fmu->terminal_members[i];
    if (cpl_find_variable(&fmu->desc, m->variable) >= 0) continue;
    bool array = false;
    for (int32_t k = 0; k < fmu->desc.n_arrays && !array; k++)
      array = strcmp(fmu->desc.arrays[k].name, m->variable) == 0;
    if (array) continue;
    WARN(out, 0, "terminal", "terminal %.100s has a member %.100s, which is no variable",
         fmu->terminals[m->terminal].name, m->variable);
  }
}

void cpli_check_files(const cpl_fmu* fmu, cpli_findings* out) {
  check_sources(fmu, &fmu->me, out);
  bool same = fmu->me.present && fmu->cs.present && fmu->version == 3 &&
              fmu->me.source_files == fmu->cs.source_files;
  if (!same) check_sources(fmu, &fmu->cs, out);
  check_terminals(fmu, out);
  check_binaries(fmu, out);
}
