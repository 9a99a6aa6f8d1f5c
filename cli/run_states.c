// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A checkpoint of the command has, beside the state of the run, how far its results are in their
// file: they are not copied into it.
#include "run_states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

//------------------------------------ options ------------------------------------

typedef struct unit {
  const char* name;
  double seconds;
} unit;

static const unit units[] = {{"", 1}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};

static cpl_status read_every(session* s) {
  const char* text = s->args->every;
  char* end = NULL;
  if (text == NULL) return CPL_OK;
  const double value = strtod(text, &end);
  end += strspn(end, " ");
  for (size_t i = 0; i < sizeof units / sizeof units[0] && end > text; i++) {
    if (strcmp(end, units[i].name) != 0 || !(value > 0) || !isfinite(value)) continue;
    s->states.def.every = value * units[i].seconds;
    return CPL_OK;
  }
  return cpl_fail(s->ctx, CPL_ERR_INPUT, "--every %s: this is no time; 600, 10min and 1h are",
                  text);
}

static cpl_status refuse(session* s, const char* option, const char* why) {
  return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: %s", option, why);
}

static cpl_status check_options(session* s) {
  const run_args* a = s->args;
  const char* one = a->checkpoint != NULL ? "--checkpoint"
                    : a->resume != NULL   ? "--resume"
                                          : "--start-from";
  const bool standard = a->output != NULL && strcmp(a->output, "-") == 0;
  if (a->every != NULL && a->checkpoint == NULL)
    return refuse(s, "--every", "it goes with --checkpoint");
  if (!isnan(a->at) && a->start_from == NULL) return refuse(s, "--at", "it goes with --start-from");
  if (a->checkpoint == NULL && a->resume == NULL && a->start_from == NULL) return CPL_OK;
  if (a->resume != NULL && a->start_from != NULL)
    return refuse(s, "--resume", "a run resumes, or it starts from the state of another one");
  if (a->start_from != NULL && !isnan(a->start_time))
    return refuse(s, "--start", "a run that starts from a state starts at the time of --at");
  if (a->serve.on)
    return refuse(s, one, "the state of components that other programs run cannot be stored");
  if (a->start_from != NULL && a->checkpoint == NULL) return CPL_OK;
  if (a->checkpoint != NULL && a->output != NULL && strcmp(a->checkpoint, a->output) == 0)
    return refuse(s, "--checkpoint", "this is the file of the results");
  if (a->per_model) return refuse(s, one, "the results must be one file: leave out --per-model");
  if (standard) return refuse(s, one, "the results must be in a file, not on standard output");
  return CPL_OK;
}

//------------------------------------ results ------------------------------------

static cpl_status place_results(void* user, cpl_binary* extra) {
  session* s = user;
  run_states* k = &s->states;
  memset(&k->results, 0, sizeof k->results);
  snprintf(k->results.path, sizeof k->results.path, "%s", s->output);
  *extra = (cpl_binary){(const uint8_t*)&k->results, sizeof k->results};
  return cpl_results_mark_now(s->results, &k->results.mark);
}

// The results are in the file of -o, or where the interrupted run had them.
static cpl_status find_results(session* s) {
  run_states* k = &s->states;
  const cpl_binary extra = cpl_checkpoint_extra(k->from);
  if (extra.size != sizeof k->results)
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: this checkpoint is not one of couplet run --checkpoint", s->args->resume);
  memcpy(&k->results, extra.data, extra.size);
  k->mark = k->results.mark;
  memcpy(k->path, k->results.path, sizeof k->path);
  k->path[sizeof k->path - 1] = '\0';
  if (access(k->path, R_OK) != 0) snprintf(k->path, sizeof k->path, "%s", s->output);
  return CPL_OK;
}

void run_states_results(const session* s, cpl_results_def* def) {
  def->marks = s->args->checkpoint != NULL || s->args->resume != NULL;
  if (s->args->resume == NULL) return;
  def->resume = &s->states.mark;
  def->resume_path = s->states.path;
}

//------------------------------------ the run ------------------------------------

cpl_status run_states_read(session* s) {
  const run_args* a = s->args;
  const char* path = a->resume != NULL ? a->resume : a->start_from;
  s->states.def = cpl_default_checkpoints_def();
  cpl_status st = check_options(s);
  if (st >= 0) st = read_every(s);
  return st < 0 || path == NULL ? st : cpl_checkpoint_read(s->ctx, path, &s->states.from);
}

cpl_status run_states_begin(session* s) {
  const run_args* a = s->args;
  run_states* k = &s->states;
  const char* identity = NULL;
  if (a->checkpoint == NULL && k->from == NULL) return CPL_OK;
  cpl_status st = cpl_experiment_identity(s->experiment, &identity);
  if (st >= 0 && k->from != NULL)
    st = cpl_checkpoint_check(k->from, identity, a->start_from != NULL);
  if (st >= 0 && a->resume != NULL) st = find_results(s);
  if (st < 0) return st;
  if (a->resume != NULL) s->run->resume = k->from;
  if (a->start_from != NULL) s->run->start_from = k->from;
  if (a->checkpoint == NULL) return CPL_OK;
  k->def.path = a->checkpoint;
  k->def.identity = identity;
  k->def.on_checkpoint = place_results;
  k->def.user = s;
  s->run->checkpoints = &k->def;
  return CPL_OK;
}
