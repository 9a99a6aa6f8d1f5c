// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems inside systems, and the cycles they must not form.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ssp/ssp.h"
#include "system/definition.h"

enum { DEEPEST = 100 };

static const char* shown(const cpl_system_def* def) {
  if (def->file != NULL) return def->file;
  return def->name.text != NULL ? def->name.text : "a system";
}

// "a.yaml -> b.yaml -> " from `first` down to the innermost.
static void show_cycle(const cpli_chain* chain, const cpli_chain* first, char* out, size_t size) {
  if (chain != first) show_cycle(chain->outer, first, out, size);
  size_t used = strlen(out);
  snprintf(out + used, size - used, "%s -> ", shown(chain->def));
}

static cpl_status cycle(cpl_context* ctx, const cpli_chain* chain, const cpli_chain* first,
                        const cpli_member* m) {
  char text[900] = "";
  show_cycle(chain, first, text, sizeof text);
  const cpli_source_loc* loc = m->path.text != NULL ? &m->path.loc : &m->name.loc;
  return cpli_fail_at(ctx, CPL_ERR_INPUT, loc, "model \"%s\" closes a cycle of systems: %s%s",
                      m->name.text, text, shown(first->def));
}

// Is this file, or this definition, around the present one already?
static cpl_status check_chain(cpl_context* ctx, const cpli_chain* chain, const cpli_member* m,
                              const char* canonical) {
  int depth = 0;
  for (const cpli_chain* c = chain; c != NULL; c = c->outer) {
    bool same_file =
        canonical != NULL && c->def->canonical != NULL && strcmp(canonical, c->def->canonical) == 0;
    if (same_file || c->def == m->system) return cycle(ctx, chain, c, m);
    if (++depth > DEEPEST)
      return cpli_fail_at(ctx, CPL_ERR_INPUT, &m->name.loc,
                          "model \"%s\": more than %d systems inside each other", m->name.text,
                          DEEPEST);
  }
  return CPL_OK;
}

// Without links; of a package what stands behind the '#' belongs to it.
static char* real_path(const char* path) {
  const char* hash = cpli_is_ssp(path) ? strchr(path, '#') : NULL;
  if (hash == NULL) return realpath(path, NULL);
  char* file = strndup(path, (size_t)(hash - path));
  char* real = file != NULL ? realpath(file, NULL) : NULL;
  char* whole = NULL;
  if (real != NULL && asprintf(&whole, "%s%s", real, hash) < 0) whole = NULL;
  free(file);
  free(real);
  return whole;
}

cpl_status cpli_def_enter(cpl_context* ctx, const cpli_chain* chain, const cpli_member* member,
                          const cpl_system_def** inner, cpl_system_def** owned) {
  *inner = member->system;
  *owned = NULL;
  char* canonical = NULL;
  if (member->system == NULL) {
    canonical = real_path(member->path.text);
    if (canonical == NULL)
      return cpli_fail_at(ctx, CPL_ERR_INPUT, &member->path.loc, "%s: %s", member->path.text,
                          strerror(errno));
  }
  cpl_status st = check_chain(ctx, chain, member, canonical);
  free(canonical);
  if (st < 0 || member->system != NULL) return st;
  st = cpli_def_read(ctx, member->path.text, true, owned);
  *inner = *owned;
  return st;
}
