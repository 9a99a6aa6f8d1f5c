// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Random systems of bodies on delay lines: trees and rings of lines of every one-dimensional kind,
// with and without damping, and signals that arrive later. The reference integrates all of it as
// one by the method of steps: every delay is a multiple of a unit of time, over which the solution
// is smooth and is found by collocation at Chebyshev points; delayed values are those of the same
// points of an earlier unit.
//
//   PROPERTY_SECONDS, PROPERTY_SEED, PROPERTY_CASES  as in property_test.c
//   PROPERTY_VERBOSE=1  a line for each case
#include <time.h>
#include <unistd.h>

#include "examples/running.h"
#include "random.h"

enum { MAX_BODIES = 5, PORTS = 3, MAX_LINES = 8, POINTS = 16, MAX_UNITS = 160, PAST = 24 };
enum { DEFAULT_CASES = 12, MAX_PICARD = 100 };

static const char body_source[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "// x' = v, m v' = the forces of three ports + g u + a sin(w t) - k x - k3 x^3 - d v\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {\"v\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration inputs[] = {{\"F1\"}, {\"F2\"}, {\"F3\"}, {\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"m\", .start = 1}, {\"g\"}, {\"a\"}, {\"w\"}, "
    "{\"k\"}, {\"k3\"}, {\"d\"}, {\"s1\", .start = 1}, {\"s2\", .start = 1}, "
    "{\"s3\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  const double *p = v->p, *x = v->x, *u = v->u;\n"
    "  dx[0] = x[1];\n"
    "  dx[1] = (p[7] * u[0] + p[8] * u[1] + p[9] * u[2] + p[1] * u[3] + p[2] * sin(p[3] * v->t) - "
    "p[4] * x[0] - p[5] * x[0] * x[0] * x[0] - p[6] * x[1]) / p[0];\n"
    "  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"body\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .derivatives = f};\n";

//------------------------------------ systems ------------------------------------

typedef enum line_kind { TRANSLATIONAL, ROTATIONAL, HYDRAULIC, ELECTRIC, SIGNAL } line_kind;
static const char* const kind_names[] = {"translational", "rotational", "hydraulic", "electric",
                                         "signal"};

typedef struct body {
  double x, v, m, g, a, w, k, k3, d;
  int n_ports;
  double sign[PORTS];  // of the force at each port
  int form;            // 0: C, 2 and 3: FMI
} body;

typedef struct line {
  line_kind kind;
  int from, to, from_port, to_port;
  int delay;  // in units
  double z, alpha;
} line;

typedef struct lines_system {
  int n_bodies, n_lines, n_units, every;  // a row every so many units
  bool one_delay;
  double unit, rtol;
  const char* solver;
  body bodies[MAX_BODIES];
  line lines[MAX_LINES];
} lines_system;

static void add_line(lines_system* s, rng* r, int from, int to) {
  line* l = &s->lines[s->n_lines];
  if (s->bodies[from].n_ports == PORTS || s->bodies[to].n_ports == PORTS) return;
  *l = (line){.kind = (line_kind)rng_int(r, 4), .from = from, .to = to};
  l->from_port = s->bodies[from].n_ports++;
  l->to_port = s->bodies[to].n_ports++;
  double sign = l->kind == HYDRAULIC || l->kind == ELECTRIC ? -1 : 1;
  s->bodies[from].sign[l->from_port] = s->bodies[to].sign[l->to_port] = sign;
  l->delay = s->one_delay ? 4 : 2 * (1 + rng_int(r, 5));
  l->z = rng_short(r, 0.2, 2);
  l->alpha = rng_chance(r, 0.3) ? rng_short(r, 0.05, 0.4) : 0;
  s->n_lines++;
}

static void generate(lines_system* s, uint64_t seed) {
  static const char* const solvers[] = {"cvode", "dopri5", "radau", "erk8", "adams"};
  static const double tolerances[] = {1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
  rng random = {seed * 0x2545f4914f6cdd1du + 7}, *r = &random;
  *s = (lines_system){.n_bodies = 2 + rng_int(r, MAX_BODIES - 1)};
  s->one_delay = rng_chance(r, 0.4);
  s->unit = rng_short(r, 0.01, 0.06);
  s->every = 4 + rng_int(r, 8);
  s->n_units = s->every * (MAX_UNITS / s->every);
  s->rtol = tolerances[rng_int(r, 5)];
  s->solver = solvers[rng_int(r, 5)];
  bool fmus = rng_chance(r, 0.4);
  for (int i = 0; i < s->n_bodies; i++) {
    s->bodies[i] = (body){.x = rng_short(r, -1, 1),
                          .v = rng_short(r, -1, 1),
                          .m = rng_short(r, 0.5, 2),
                          .a = rng_chance(r, 0.5) ? rng_short(r, 0.2, 2) : 0,
                          .w = rng_short(r, 0.5, 5),
                          .k = rng_short(r, 0, 6),
                          .k3 = rng_chance(r, 0.5) ? rng_short(r, 0.1, 2) : 0,
                          .d = rng_short(r, 0, 0.5),
                          .form = fmus ? (int[]){0, 2, 3}[rng_int(r, 3)] : 0};
    if (i > 0) add_line(s, r, rng_int(r, i), i);
  }
  if (s->n_bodies > 2 && rng_chance(r, 0.4)) add_line(s, r, s->n_bodies - 1, 0);
  for (int i = 0; i < s->n_bodies && s->n_lines < MAX_LINES; i++) {
    if (!rng_chance(r, 0.3)) continue;
    line* l = &s->lines[s->n_lines++];
    *l = (line){.kind = SIGNAL, .from = rng_int(r, s->n_bodies), .to = i};
    l->delay = s->one_delay ? 4 : 2 * (1 + rng_int(r, 5));
    s->bodies[i].g = rng_signed(r, 0.3, 1.5);
  }
}

static void write_model(const lines_system* s, int i, FILE* f) {
  const body* b = &s->bodies[i];
  fprintf(f,
          "  b%d: {%s, start: {x: %.17g, v: %.17g, m: %g, g: %g, a: %g, w: %g, k: %g, k3: %g, "
          "d: %g, s1: %g, s2: %g, s3: %g}}\n",
          i, (const char*[]){"c: body.c", "", "fmu: body2.fmu", "fmu: body3.fmu"}[b->form], b->x,
          b->v, b->m, b->g, b->a, b->w, b->k, b->k3, b->d, b->sign[0], b->sign[1], b->sign[2]);
}

static void write_system(const lines_system* s) {
  FILE* f = fopen("s.yaml", "w");
  assert_non_null(f);
  fprintf(f, "couplet: 1\nmodels:\n");
  for (int i = 0; i < s->n_bodies; i++) write_model(s, i, f);
  fprintf(f, "interfaces:\n");
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    const char* kind = kind_names[l->kind];
    if (l->kind == SIGNAL) {
      fprintf(f, "  b%d.out%d: {kind: signal, value: x}\n", l->from, i);
      fprintf(f, "  b%d.in%d: {kind: signal, value: u}\n", l->to, i);
      continue;
    }
    fprintf(f, "  b%d.p%d: {kind: %s, speed: v, force: F%d}\n", l->from, l->from_port, kind,
            l->from_port + 1);
    fprintf(f, "  b%d.p%d: {kind: %s, speed: v, force: F%d}\n", l->to, l->to_port, kind,
            l->to_port + 1);
  }
  fprintf(f, "tlm:\n");
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    double delay = l->delay * s->unit;
    if (l->kind == SIGNAL)
      fprintf(f, "  - {from: b%d.out%d, to: b%d.in%d, delay: %.17g}\n", l->from, i, l->to, i,
              delay);
    else
      fprintf(f, "  - {from: b%d.p%d, to: b%d.p%d, delay: %.17g, Zf: %g, alpha: %g}\n", l->from,
              l->from_port, l->to, l->to_port, delay, l->z, l->alpha);
  }
  fprintf(f, "record: [");
  for (int i = 0; i < s->n_bodies; i++) fprintf(f, "%sb%d.x, b%d.v", i > 0 ? ", " : "", i, i);
  fprintf(f, "]\nexperiment: {stop: %.17g, interval: %.17g}\n", s->n_units * s->unit,
          s->every * s->unit);
  CHECK_INT(fclose(f), 0);
}

//------------------------------------ the reference ------------------------------------

// Over each unit, PAST of them before the start: states of the bodies, and at both ends of each
// line the wave that arrives and the one that leaves. [0] is the end `from`.
typedef struct unit_of_time {
  double x[MAX_BODIES][POINTS], v[MAX_BODIES][POINTS];
  double arrives[MAX_LINES][2][POINTS], leaves[MAX_LINES][2][POINTS];
} unit_of_time;

static unit_of_time units[PAST + MAX_UNITS];
static double points[POINTS], integral[POINTS][POINTS];  // from 0 to each point; on [0, 1]

static double basis(int j, double s) {
  double product = 1;
  for (int k = 0; k < POINTS; k++)
    if (k != j) product *= (s - points[k]) / (points[j] - points[k]);
  return product;
}

// By Gauss's rule of order 16 over parts that are each short.
static void prepare_reference(void) {
  static const double at[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                               0.9602898564975363};
  static const double weight[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                   0.1012285362903763};
  for (int i = 0; i < POINTS; i++) points[i] = 0.5 - 0.5 * cos(M_PI * i / (POINTS - 1));
  for (int j = 0; j < POINTS; j++) {
    double sum = 0;
    integral[0][j] = 0;
    for (int i = 1; i < POINTS; i++) {
      double middle = (points[i] + points[i - 1]) / 2, half = (points[i] - points[i - 1]) / 2;
      for (int k = 0; k < 4; k++)
        sum +=
            half * weight[k] * (basis(j, middle + half * at[k]) + basis(j, middle - half * at[k]));
      integral[i][j] = sum;
    }
  }
}

static double sigma_of(const line* l) {
  return l->kind == HYDRAULIC || l->kind == ELECTRIC ? -1 : 1;
}

// Waves in the line at the start: linear between what leaves now and what arrives now, both
// without force; damped waves were constant before.
static void fill_past(const lines_system* s) {
  for (int u = 0; u < PAST; u++) {
    for (int p = 0; p < POINTS; p++) {
      double t = u - PAST + points[p];
      for (int i = 0; i < s->n_bodies; i++) units[u].x[i][p] = s->bodies[i].x;
      for (int i = 0; i < s->n_lines; i++) {
        const line* l = &s->lines[i];
        double v[2] = {s->bodies[l->from].v, s->bodies[l->to].v};
        for (int e = 0; e < 2; e++) {
          double leaves = l->z * v[e], needed = sigma_of(l) * l->z * v[1 - e];
          units[u].leaves[i][e][p] = leaves + (leaves - needed) * t / l->delay;
          units[u].arrives[i][e][p] = sigma_of(l) * l->z * v[e];
        }
      }
    }
  }
}

static void find_arrivals(const lines_system* s, int n) {
  unit_of_time* now = &units[n];
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    if (l->kind == SIGNAL) continue;
    const unit_of_time *then = &units[n - l->delay], *before = &units[n - 3 * l->delay / 2];
    for (int e = 0; e < 2; e++)
      for (int p = 0; p < POINTS; p++)
        now->arrives[i][e][p] =
            (1 - l->alpha) * then->leaves[i][1 - e][p] + l->alpha * before->arrives[i][e][p];
  }
}

static double force_on(const lines_system* s, int n, int b, double t, int p) {
  const unit_of_time* now = &units[n];
  const body* o = &s->bodies[b];
  double x = now->x[b][p], v = now->v[b][p];
  double sum = o->a * sin(o->w * t) - o->k * x - o->k3 * x * x * x - o->d * v;
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    if (l->kind == SIGNAL) {
      if (l->to == b) sum += o->g * units[n - l->delay].x[l->from][p];
      continue;
    }
    for (int e = 0; e < 2; e++)
      if ((e == 0 ? l->from : l->to) == b)
        sum += sigma_of(l) * (now->arrives[i][e][p] - sigma_of(l) * l->z * v);
  }
  return sum;
}

// One unit by Picard's iteration, which converges fast where it is short.
static void solve_unit(const lines_system* s, int n) {
  unit_of_time* now = &units[n];
  find_arrivals(s, n);
  double x0[MAX_BODIES], v0[MAX_BODIES], change = 1;
  for (int b = 0; b < s->n_bodies; b++) {
    x0[b] = n > PAST ? units[n - 1].x[b][POINTS - 1] : s->bodies[b].x;
    v0[b] = n > PAST ? units[n - 1].v[b][POINTS - 1] : s->bodies[b].v;
    for (int p = 0; p < POINTS; p++) now->x[b][p] = x0[b], now->v[b][p] = v0[b];
  }
  for (int round = 0; round < MAX_PICARD && change > 1e-16; round++) {
    change = 0;
    for (int b = 0; b < s->n_bodies; b++) {
      double dv[POINTS], x[POINTS], v[POINTS];
      for (int p = 0; p < POINTS; p++)
        dv[p] = force_on(s, n, b, (n - PAST + points[p]) * s->unit, p) / s->bodies[b].m;
      for (int p = 0; p < POINTS; p++) {
        double sum_x = 0, sum_v = 0;
        for (int q = 0; q < POINTS; q++)
          sum_x += integral[p][q] * now->v[b][q], sum_v += integral[p][q] * dv[q];
        x[p] = x0[b] + s->unit * sum_x, v[p] = v0[b] + s->unit * sum_v;
        change = fmax(change, fmax(fabs(x[p] - now->x[b][p]), fabs(v[p] - now->v[b][p])));
      }
      memcpy(now->x[b], x, sizeof x);
      memcpy(now->v[b], v, sizeof v);
    }
  }
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    for (int e = 0; e < 2 && l->kind != SIGNAL; e++)
      for (int p = 0; p < POINTS; p++)
        now->leaves[i][e][p] =
            2 * l->z * now->v[e == 0 ? l->from : l->to][p] - sigma_of(l) * now->arrives[i][e][p];
  }
}

static void solve(const lines_system* s) {
  fill_past(s);
  for (int n = 0; n < s->n_units; n++) solve_unit(s, PAST + n);
}

//------------------------------------ polynomials ------------------------------------

// Waves are cubic polynomials over half of a body's shortest delay. This is how far they are from
// those of the reference.

static const double* sent(const lines_system* s, int n, int i, int e) {
  const line* l = &s->lines[i];
  return l->kind == SIGNAL ? units[PAST + n].x[l->from] : units[PAST + n].leaves[i][e];
}

// What end e of line i sends at t, in units.
static double sent_at(const lines_system* s, int i, int e, double t) {
  int n = (int)fmin(floor(t), s->n_units - 1);
  double sum = 0;
  for (int p = 0; p < POINTS; p++) sum += sent(s, n, i, e)[p] * basis(p, t - n);
  return sum;
}

static int interval_of(const lines_system* s, int b) {
  int shortest = 1000;
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    if (l->from == b || l->to == b) shortest = l->delay < shortest ? l->delay : shortest;
  }
  return shortest / 2;
}

static double cubic(const double* y, double s) {  // through values at 0, 1/3, 2/3 and 1
  double a = 3 * s, b = 3 * s - 1, c = 3 * s - 2, d = 3 * s - 3;
  return -y[0] * b * c * d / 6 + y[1] * a * c * d / 2 - y[2] * a * b * d / 2 + y[3] * a * b * c / 6;
}

// The largest deviation of cubic polynomials over intervals of h units from what end e of line i
// sent `delay` units before.
static double deviation_of(const lines_system* s, int i, int e, int h, int delay) {
  enum { CHECKS = 8 };
  double worst = 0;
  for (int n = 0; n + h <= s->n_units; n += h) {
    double y[4];
    for (int k = 0; k < 4; k++) y[k] = sent_at(s, i, e, n - delay + h * k / 3.0);
    for (int k = 1; k < CHECKS; k++) {
      double q = (double)k / CHECKS;
      worst = fmax(worst, fabs(cubic(y, q) - sent_at(s, i, e, n - delay + h * q)));
    }
  }
  return worst;
}

// The largest one of all, as an acceleration of the body that receives the wave: of polynomials
// over intervals of the sender, and over those of the receiver, which may contain a kink that was
// sent at the end of an interval.
static double deviation(const lines_system* s) {
  double worst = 0;
  for (int i = 0; i < s->n_lines; i++) {
    const line* l = &s->lines[i];
    for (int e = 0; e < (l->kind == SIGNAL ? 1 : 2); e++) {
      int sender = e == 0 ? l->from : l->to, receiver = e == 0 ? l->to : l->from;
      const body* other = &s->bodies[receiver];
      double weight = (l->kind == SIGNAL ? fabs(other->g) : 1) / other->m;
      worst = fmax(worst, weight * deviation_of(s, i, e, interval_of(s, sender), 0));
      worst = fmax(worst, weight * deviation_of(s, i, e, interval_of(s, receiver), l->delay));
    }
  }
  return worst;
}

//------------------------------------ comparison ------------------------------------

// The largest error of a run, relative to the largest value of each variable.
static double error_of(cpl_context* ctx, const lines_system* s, const char* path) {
  cpl_table* t = read_table(ctx, path);
  double worst = 0;
  CHECK_INT(t->n_rows, s->n_units / s->every + 1);
  for (int b = 0; b < s->n_bodies; b++) {
    char name[2][20];
    snprintf(name[0], sizeof name[0], "b%d.x", b);
    snprintf(name[1], sizeof name[1], "b%d.v", b);
    const double* values[2] = {column(t, name[0]), column(t, name[1])};
    double scale[2] = {1e-3, 1e-3};
    for (int n = PAST; n < PAST + s->n_units; n++) {
      scale[0] = fmax(scale[0], fabs(units[n].x[b][0]));
      scale[1] = fmax(scale[1], fabs(units[n].v[b][0]));
    }
    for (size_t k = 1; k < t->n_rows; k++) {
      const unit_of_time* u = &units[PAST + (int)k * s->every - 1];
      worst = fmax(worst, fabs(values[0][k] - u->x[b][POINTS - 1]) / scale[0]);
      worst = fmax(worst, fabs(values[1][k] - u->v[b][POINTS - 1]) / scale[1]);
    }
  }
  cpl_table_destroy(t);
  return worst;
}

static void need_fmus(const lines_system* s) {
  for (int i = 0; i < s->n_bodies; i++) {
    int form = s->bodies[i].form;
    char name[20];
    snprintf(name, sizeof name, "body%d.fmu", form);
    if (form > 0 && access(name, R_OK) != 0) must_do("build -q --fmi %d body.c -o %s", form, name);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double option(const char* name, double otherwise) {
  const char* text = getenv(name);
  return text != NULL && *text != '\0' ? strtod(text, NULL) : otherwise;
}

static bool same_file(const char* a, const char* b) {
  size_t n[2];
  char* text[2] = {read_all(a, &n[0]), read_all(b, &n[1])};
  bool same = n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0;
  free(text[0]);
  free(text[1]);
  return same;
}

static int report(const lines_system* s, uint64_t seed, const char* what, double error) {
  char command[100];
  printf("lines %llu: %s: --solver %s --rtol %g: error %.3g, of the polynomials %.3g\n",
         (unsigned long long)seed, what, s->solver, s->rtol, error, deviation(s));
  printf("  again: PROPERTY_CASES=1 make property PROPERTY_SEED=%llu\n", (unsigned long long)seed);
  snprintf(command, sizeof command, "cp s.yaml failure-lines-%llu.yaml", (unsigned long long)seed);
  if (system(command) != 0) printf("failed: %s\n", command);
  return 1;
}

// Errors follow the tolerance, and the cubic polynomials of waves where these bend more than that.
// Threads and processes change no bit. Returns the number of failures.
static int check_case(cpl_context* ctx, uint64_t seed) {
  lines_system s;
  generate(&s, seed);
  need_fmus(&s);
  solve(&s);
  write_system(&s);
  char how[200];
  snprintf(how, sizeof how, "run s.yaml --solver %s --rtol %g --atol %g", s.solver, s.rtol, s.rtol);
  if (couplet("%s -o out.csv --threads 1", how) != 0) return report(&s, seed, "fails", 0);
  double error = error_of(ctx, &s, "out.csv"), bound = 300 * s.rtol + 0.3 * deviation(&s);
  if (option("PROPERTY_VERBOSE", 0) > 0)
    printf("lines %llu: %d bodies, %d lines, %s, rtol %g: error %.3g, bound %.3g\n",
           (unsigned long long)seed, s.n_bodies, s.n_lines, s.solver, s.rtol, error, bound);
  int failures = error < bound ? 0 : report(&s, seed, "error too large", error);
  const char* other = seed % 3 == 0 ? "--processes" : "--threads 3";
  if (couplet("%s -o other.csv %s", how, other) != 0)
    failures += report(&s, seed, "threads or processes fail", error);
  else if (!same_file("out.csv", "other.csv"))
    failures += report(&s, seed, "threads or processes change bits", error);
  return failures;
}

static void random_lines_are_right(void** state) {
  uint64_t first = (uint64_t)option("PROPERTY_SEED", 1), done = 0;
  double limit = option("PROPERTY_SECONDS", 0), until = seconds() + (limit > 0 ? limit : 1e9);
  uint64_t n = (uint64_t)option("PROPERTY_CASES", limit > 0 ? 1e9 : DEFAULT_CASES);
  int failures = 0;
  FILE* f = fopen("body.c", "w");
  assert_non_null(f);
  CHECK(fputs(body_source, f) >= 0);
  CHECK_INT(fclose(f), 0);
  remove("body2.fmu");  // of an earlier couplet
  remove("body3.fmu");
  prepare_reference();
  for (; done < n && seconds() < until; done++) failures += check_case(*state, first + done);
  printf("%llu systems with delay lines, %d failures\n", (unsigned long long)done, failures);
  CHECK_INT(failures, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(random_lines_are_right, make_context, drop_context)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
