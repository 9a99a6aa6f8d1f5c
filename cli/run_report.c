// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The result of a run on the terminal: the summary, the statistics of --stats, and the JSON of
// --json.
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "run.h"
#include "run_parts.h"

static void print_files(FILE* out, const session* s) {
  if (strcmp(s->output, "-") != 0 && !s->args->per_model) fprintf(out, " -> %s", s->output);
  const char* before = " -> ";
  for (size_t i = 0; i < s->split.n; i++) {
    if (s->split.files[i].path == NULL) continue;
    fputs(before, out);
    cli_print_safe(out, s->split.files[i].path);
    before = ", ";
  }
}

void run_print_summary(const session* s) {
  FILE* out = run_summary(s);
  const cpl_run_stats* r = &s->stats;
  long long events = (long long)run_events(s->stepper);
  cli_print_safe(out, s->source->desc->name);
  fprintf(out, ": t = %g to %g in %.3g s, %lld point%s", s->run->start_time, r->reached, r->wall_s,
          (long long)r->points, r->points == 1 ? "" : "s");
  if (events > 0) fprintf(out, ", %lld event%s", events, events == 1 ? "" : "s");
  long long switches = (long long)r->switches;
  if (switches > 0) fprintf(out, ", %lld switch%s", switches, switches == 1 ? "" : "es");
  if (r->terminated) fprintf(out, " (the model ended the run)");
  print_files(out, s);
  fputc('\n', out);
  char foreign[256];
  cpl_fmu_platforms_used(s->ctx, foreign, sizeof foreign);
  if (foreign[0] != '\0') fprintf(out, "  %s\n", foreign);
}

// Whether there is a file that this run did not write.
static bool is_there(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
}

static void print_older(FILE* out, const char* path) {
  if (!is_there(path)) return;
  cli_print_safe(out, path);
  fputs(": this file is older than the run that failed, and stays as it was\n", out);
}

void run_print_kept(const session* s) {
  FILE* out = run_summary(s);
  if (strcmp(s->output, "-") == 0 || s->refused) return;
  if (s->kept.rows > 0) {
    cli_print_safe(out, s->source->desc->name);
    fprintf(out, ": kept %lld point%s, up to t = %.12g", (long long)s->kept.rows,
            s->kept.rows == 1 ? "" : "s", s->kept.last_time);
    print_files(out, s);
    fputc('\n', out);
    return;
  }
  if (!s->args->per_model) print_older(out, s->output);
  for (size_t i = 0; i < s->split.n; i++) {
    if (s->split.files[i].path != NULL) print_older(out, s->split.files[i].path);
  }
}

typedef struct count {
  const char* key;
  int64_t value;
} count;

// Of several threads together.
static double time_in_models(const session* s, bool integrated) {
  if (integrated) return s->stats.solver.in_models_s;
  return s->times.n > 0 ? model_times_sum(&s->times) : s->stats.wall_s - s->stats.in_output_s;
}

static void print_threads(FILE* out, const session* s) {
  cpl_thread_stats t;
  cpl_context_thread_stats(s->ctx, &t);
  if (t.threads < 2) return;
  fprintf(out, "  threads              %d\n", t.threads);
  fprintf(out,
          "  time in threads      %.3g s of processors beside the first thread, in %lld jobs\n",
          t.helped_s, (long long)t.together);
}

void run_print_stats(const session* s) {
  FILE* out = run_summary(s);
  const cpl_run_stats* r = &s->stats;
  const cpl_solver_stats* v = &r->solver;
  const cpl_component* c = &s->stepper->base;
  bool has_modes = parts_is(c, "independent") || !isnan(cpl_component_counter(c, "switches"));
  bool integrated = !isnan(cpl_component_counter(c, "rhs_evals"));
  if (integrated) {
    fprintf(out, "  solver               %s, rtol %g\n", cpl_solver_name(s->solver->kind),
            s->solver->rtol);
    if (v->groups > 1 && !has_modes)
      fprintf(out, "  groups               %d, each with a solver of its own\n", v->groups);
    fprintf(out, "  steps                %lld\n", (long long)v->steps);
    fprintf(out, "  rejected steps       %lld\n", (long long)v->rejected);
    fprintf(out, "  right-hand sides     %lld\n", (long long)v->rhs_evals);
    fprintf(out, "  Jacobians            %lld\n", (long long)v->jac_evals);
    fprintf(out, "  Newton iterations    %lld\n", (long long)v->newton_iters);
    if (s->solver->linear == CPL_LINEAR_GMRES) {
      fprintf(out, "  GMRES iterations     %lld\n", (long long)v->linear_iters);
      fprintf(out, "  Jacobian products    %lld\n", (long long)v->products);
    }
    fprintf(out, "  events               %lld state, %lld time, %lld step\n",
            (long long)v->state_events, (long long)v->time_events, (long long)v->step_events);
    fprintf(out, "  solver restarts      %lld\n", (long long)v->restarts);
    if (v->algebraics > 0)
      fprintf(out, "  algebraic variables  %d, integrated together with the states\n",
              v->algebraics);
    if (v->switches > 0)
      fprintf(out, "  structure changes    %lld, to %d further structure%s\n",
              (long long)v->switches, v->structures, v->structures == 1 ? "" : "s");
    if (v->projections > 0)
      fprintf(out,
              "  projections          %lld (%s), the largest %.3g times the tolerance\n"
              "  largest residual     %.3g, before a projection\n",
              (long long)v->projections, cpl_projection_name(cpl_projection_of(s->solver)),
              v->largest_projection, v->largest_residual);
    if (has_modes) {
      fprintf(out, "  switches             %lld\n", (long long)r->switches);
      fprintf(out, "  time in switches     %.3g s\n", r->in_switches_s);
      fprintf(out, "  time in mapping      %.3g s\n", r->in_mapping_s);
    }
    parts_print(out, s->stepper);
  } else if (parts_is(c, "tlm") || parts_master(c) != NULL) {
    parts_print(out, s->stepper);
  } else {
    fprintf(out, "  communication steps  %lld\n", (long long)r->communication_steps);
    fprintf(out, "  refused steps        %lld\n", (long long)r->refused_steps);
  }
  print_threads(out, s);
  double in_models = time_in_models(s, integrated);
  bool master = !integrated && parts_master(c) != NULL;  // includes its steppers' solvers
  fprintf(out, "  time in models       %.3g s\n", in_models);
  fprintf(out, "  time in %s       %.3g s\n", master ? "master" : "solver",
          fmax(0, r->wall_s - r->in_output_s - in_models));
  fprintf(out, "  time in output       %.3g s\n", r->in_output_s);
  if (s->pace.factor > 0)
    fprintf(out, "  overruns             %lld of %lld steps, the worst %.3g s late\n",
            (long long)s->pace.overruns, (long long)s->pace.steps, s->pace.latest);
}

static void print_counts(cpli_json* json, const session* s) {
  const cpl_run_stats* r = &s->stats;
  const cpl_solver_stats* v = &r->solver;
  cpl_thread_stats threads;
  cpl_context_thread_stats(s->ctx, &threads);
  const count counts[] = {
      {"steps", v->steps},
      {"rejected_steps", v->rejected},
      {"rhs_evals", v->rhs_evals},
      {"indicator_evals", v->indicator_evals},
      {"jacobians", v->jac_evals},
      {"newton_iterations", v->newton_iters},
      {"gmres_iterations", v->linear_iters},
      {"jacobian_products", v->products},
      {"state_events", v->state_events},
      {"time_events", v->time_events},
      {"step_events", v->step_events},
      {"restarts", v->restarts},
      {"projections", v->projections},
      {"algebraic_variables", v->algebraics},
      {"groups", v->groups},
      {"communication_steps", r->communication_steps},
      {"refused_steps", r->refused_steps},
      {"switches", r->switches},
      {"structure_changes", v->switches},
      {"structures", v->structures},
      {"points", r->points},
      {"threads", threads.threads},
      {"shared_jobs", threads.together},
  };
  if (s->args->per_model) {
    cpli_json_array(json, "results");
    for (size_t i = 0; i < s->split.n; i++) {
      if (s->split.files[i].path != NULL) cpli_json_text(json, NULL, s->split.files[i].path);
    }
    cpli_json_close(json, ']');
  } else {
    cpli_json_text(json, "result", s->output);
  }
  cpli_json_real(json, "start_time", s->run->start_time);
  cpli_json_real(json, "reached", r->reached);
  cpli_json_integer(json, "kept_points", s->kept.rows);
  if (s->kept.rows > 0) cpli_json_real(json, "kept_until", s->kept.last_time);
  cpli_json_real(json, "wall_s", r->wall_s);
  bool integrated = s->times.n == 0 || parts_is(&s->stepper->base, "integrate");
  cpli_json_real(json, "in_models_s", time_in_models(s, integrated));
  cpli_json_real(json, "in_output_s", r->in_output_s);
  if (threads.threads > 1) {
    struct timespec own;  // processor time of the first thread
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    cpli_json_real(json, "in_first_thread_s", (double)own.tv_sec + 1e-9 * (double)own.tv_nsec);
    cpli_json_real(json, "in_threads_s", threads.helped_s);
  }
  if (r->switches > 0) {
    cpli_json_real(json, "in_switches_s", r->in_switches_s);
    cpli_json_real(json, "in_mapping_s", r->in_mapping_s);
  }
  for (size_t i = 0; i < CPLI_COUNT(counts); i++)
    cpli_json_integer(json, counts[i].key, counts[i].value);
  if (s->pace.factor > 0) {
    cpli_json_integer(json, "overruns", s->pace.overruns);
    cpli_json_real(json, "worst_overrun_s", s->pace.latest);
  }
  parts_write(json, s->stepper);
}

// Where and when the run failed; what is unknown is left out.
static void print_failure(cpli_json* json, const cpl_error* e) {
  cpli_json_object(json, "error");
  cpli_json_text(json, "text", e->text);
  if (e->file[0] != '\0') cpli_json_text(json, "file", e->file);
  if (e->line > 0) cpli_json_integer(json, "line", e->line);
  if (e->column > 0) cpli_json_integer(json, "column", e->column);
  if (e->component[0] != '\0') cpli_json_text(json, "component", e->component);
  if (e->variable[0] != '\0') cpli_json_text(json, "variable", e->variable);
  if (!isnan(e->time)) cpli_json_real(json, "time", e->time);
  cpli_json_close(json, '}');
}

void run_print_json(const session* s) {
  cpli_json json;
  cpli_json_begin(&json, run_summary(s));
  json.one_line = 2;
  cpli_json_object(&json, NULL);
  cpli_json_text(&json, "file", s->path);
  cpli_json_text(&json, "status", s->st < 0 ? cpl_context_error(s->ctx) : "ok");
  cpli_json_integer(&json, "exit_code", cli_exit_code(s->st));
  if (s->st < 0) print_failure(&json, cpl_context_last_error(s->ctx));
  if (s->prepared) print_counts(&json, s);
  char foreign[256];
  cpl_fmu_platforms_used(s->ctx, foreign, sizeof foreign);
  if (foreign[0] != '\0') cpli_json_text(&json, "foreign", foreign);
  cpli_json_close(&json, '}');
  cpli_json_end(&json);
}
