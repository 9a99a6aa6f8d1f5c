// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet --version, and with --verbose the third-party components with versions and licences.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "numeric/klu.h"

typedef struct part {
  const char *name, *version, *licence, *how;
} part;

static const part parts[] = {
#define PART(name, version, licence, how) {name, version, licence, how},
#include "parts.h"  // made of THIRD-PARTY.md
#undef PART
};

static const char* zeromq_version(char* text, size_t size) {
  void* library = dlopen("libzmq.so.5", RTLD_NOW | RTLD_LOCAL);
  void (*version)(int*, int*, int*) = NULL;
  int major = 0, minor = 0, patch = 0;
  if (library == NULL) return "missing: libzmq.so.5 could not be loaded (Debian: libzmq5)";
  void* function = dlsym(library, "zmq_version");
  memcpy(&version, &function, sizeof version);
  if (version != NULL) version(&major, &minor, &patch);
  snprintf(text, size, "%d.%d.%d (libzmq.so.5)", major, minor, patch);
  return text;
}

// Versions of libraries that the system has.
static const char* version_of(const part* p, char* text, size_t size) {
  static const struct {
    const char *name, *version;
  } built[] = {{"zlib", BUILT_ZLIB}, {"Expat", BUILT_EXPAT}, {"libfyaml", LIBFYAML_VERSION}};
  for (size_t i = 0; i < CPLI_COUNT(built); i++) {
    if (strcmp(built[i].name, p->name) == 0) return built[i].version;
  }
  if (strcmp(p->name, "KLU") == 0) return cpli_klu_version();
  if (strcmp(p->name, "ZeroMQ") == 0) return zeromq_version(text, size);
  return p->version;
}

int cli_version(bool verbose) {
  char text[64];
  printf("couplet %s\n", cpl_version());
  if (!verbose) {
    if (cpli_klu_load() == NULL)
      printf("without KLU: large systems of equations are slower (--verbose shows details)\n");
    return CLI_OK;
  }
  printf("licence BSD-2-Clause\n\n");
  for (size_t i = 0; i < CPLI_COUNT(parts); i++)
    printf("%-10s %-22s %s, %s\n", parts[i].name, version_of(&parts[i], text, sizeof text),
           parts[i].licence, parts[i].how);
  return CLI_OK;
}
