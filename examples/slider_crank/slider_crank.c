// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A slider-crank of three rigid bodies in the plane, each with a position and an angle of its own,
// as a program for multibody systems writes it down: joints are equations, and there are more of
// them than needed. Three shoes guide the slider where two would do, and the length of the rod is
// kept although its joints keep it. Twenty constraints of eighteen states have rank sixteen; with
// l = r, when the slider passes the crank's pivot, it is fourteen.
#include <couplet/model.h>
#include <math.h>

enum { CRANK, ROD, SLIDER, BODIES, GROUND = BODIES };
enum { X, Y, PHI, N = 3 * BODIES };
enum { R, L, B, MASS, G = MASS + BODIES, ANGLE, SPEED };
enum { ROWS = 9, POSITIONS = ROWS + 1 };

// A point on the axis of a body, `part` of a length (a parameter) away from its middle.
typedef struct point {
  int body, length;
  double part;
} point;

// Two points have the same x or y.
typedef struct row {
  int axis;
  point a, b;
} row;

// doc:begin rows
#define ORIGIN \
  { GROUND, R, 0 }
static const row rows[ROWS] = {
    {X, {CRANK, R, -0.5}, ORIGIN},         // pivot of the crank
    {Y, {CRANK, R, -0.5}, ORIGIN},         //
    {X, {CRANK, R, 0.5}, {ROD, L, -0.5}},  // crank pin
    {Y, {CRANK, R, 0.5}, {ROD, L, -0.5}},  //
    {X, {ROD, L, 0.5}, {SLIDER, B, 0}},    // pin of the slider
    {Y, {ROD, L, 0.5}, {SLIDER, B, 0}},    //
    {Y, {SLIDER, B, -0.5}, ORIGIN},        // three shoes
    {Y, {SLIDER, B, 0}, ORIGIN},           //
    {Y, {SLIDER, B, 0.5}, ORIGIN},         //
};
// doc:end

//------------------------------------ joints ------------------------------------

// What a point adds to a row: its place, the gradient of that, and its second derivative at
// constant velocities.
static double place(const cpl_values* v, int axis, point k, double sign, double* gradient,
                    double* bend) {
  if (k.body == GROUND) return 0;
  const double* q = v->x + 3 * k.body;
  double s = k.part * v->p[k.length], turn = v->x[N + 3 * k.body + PHI];
  double along = s * (axis == X ? cos(q[PHI]) : sin(q[PHI]));
  gradient[3 * k.body + axis] += sign;
  gradient[3 * k.body + PHI] += sign * s * (axis == X ? -sin(q[PHI]) : cos(q[PHI]));
  *bend -= sign * along * turn * turn;
  return sign * (q[axis] + along);
}

static double residual(const cpl_values* v, int i, double gradient[N], double* bend) {
  for (int j = 0; j < N; j++) gradient[j] = 0;
  *bend = 0;
  return place(v, rows[i].axis, rows[i].a, 1, gradient, bend) +
         place(v, rows[i].axis, rows[i].b, -1, gradient, bend);
}

static double dot(const double* a, const double* b) {
  double sum = 0;
  for (int j = 0; j < N; j++) sum += a[j] * b[j];
  return sum;
}

// The crank's middle is half way to its pin: from there the slider's pin is one rod away.
static void rod_length(const cpl_values* v, double* length, double* rate) {
  const double *q = v->x, *u = v->x + N;
  double dx = q[3 * SLIDER + X] - 2 * q[3 * CRANK + X], l = v->p[L];
  double dy = q[3 * SLIDER + Y] - 2 * q[3 * CRANK + Y];
  double ux = u[3 * SLIDER + X] - 2 * u[3 * CRANK + X];
  double uy = u[3 * SLIDER + Y] - 2 * u[3 * CRANK + Y];
  *length = (dx * dx + dy * dy - l * l) / (2 * l);
  *rate = (dx * ux + dy * uy) / l;
}

static int constraints(const cpl_values* v, double* c) {
  double gradient[N], bend;
  for (int i = 0; i < ROWS; i++) {
    c[i] = residual(v, i, gradient, &bend);
    c[POSITIONS + i] = dot(gradient, v->x + N);
  }
  rod_length(v, &c[ROWS], &c[POSITIONS + ROWS]);
  return CPL_MODEL_OK;
}

//------------------------------------ accelerations ------------------------------------

static double inertia(const cpl_values* v, int j) {
  int body = j / 3;
  double m = v->p[MASS + body], s = v->p[body == CRANK ? R : body == ROD ? L : B];
  return j % 3 == PHI ? m * s * s / 12 : m;
}

// The shortest w with A w = b, by Gram and Schmidt with the longest row first. Rows that are left
// with nothing say nothing new.
static void shortest(double A[ROWS][N], double b[ROWS], double w[N]) {
  static const double nothing = 1e-8;
  double first = 0;
  for (int j = 0; j < N; j++) w[j] = 0;
  for (int k = 0; k < ROWS; k++) {
    int longest = 0;
    for (int i = 1; i < ROWS; i++)
      if (dot(A[i], A[i]) > dot(A[longest], A[longest])) longest = i;
    double *a = A[longest], size = sqrt(dot(a, a)), value = b[longest] / size;
    if (k == 0) first = size;
    if (!(size > nothing * first)) return;
    for (int j = 0; j < N; j++) a[j] /= size, w[j] += value * a[j];
    for (int i = 0; i < ROWS; i++) {
      double part = dot(A[i], a);
      if (i == longest) continue;
      for (int j = 0; j < N; j++) A[i][j] -= part * a[j];
      b[i] -= part * value;
    }
    for (int j = 0; j < N; j++) a[j] = 0;  // done with
  }
}

// M a + J' lambda = M g, J a = -bend, without lambda: forces of joints change the free fall in the
// shortest way, measured with M.
static int derivatives(const cpl_values* v, double* dx) {
  double A[ROWS][N], b[ROWS], w[N], fall[N];
  for (int j = 0; j < N; j++) fall[j] = j % 3 == Y ? -v->p[G] : 0;
  for (int i = 0; i < ROWS; i++) {
    double bend;
    residual(v, i, A[i], &bend);
    b[i] = -bend - dot(A[i], fall);
    for (int j = 0; j < N; j++) A[i][j] /= sqrt(inertia(v, j));
  }
  shortest(A, b, w);
  for (int j = 0; j < N; j++) {
    dx[j] = v->x[N + j];
    dx[N + j] = fall[j] + w[j] / sqrt(inertia(v, j));
  }
  return CPL_MODEL_OK;
}

//------------------------------------ start and outputs ------------------------------------

// The crank's angle and speed place everything else.
static int initialize(const cpl_values* v, cpl_event_actions* a) {
  double r = v->p[R], l = v->p[L], phi = v->p[ANGLE], turn = v->p[SPEED];
  if (r > l) return cpl_model_error(v, "the rod (l = %g m) is shorter than the crank (%g m)", l, r);
  double psi = asin(-r / l * sin(phi));
  double roll = cos(phi) == 0 ? 0 : -r * cos(phi) / (l * cos(psi)) * turn;
  double q[N] = {r / 2 * cos(phi),
                 r / 2 * sin(phi),
                 phi,
                 r * cos(phi) + l / 2 * cos(psi),
                 r / 2 * sin(phi),
                 psi,
                 r * cos(phi) + l * cos(psi)};
  double u[N] = {-q[Y] * turn,
                 q[X] * turn,
                 turn,
                 -r * sin(phi) * turn - l / 2 * sin(psi) * roll,
                 r / 2 * cos(phi) * turn,
                 roll,
                 -r * sin(phi) * turn - l * sin(psi) * roll};
  for (int j = 0; j < N; j++) a->x[j] = q[j], a->x[N + j] = u[j];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  double c[2 * POSITIONS];
  constraints(v, c);
  y[0] = y[1] = y[2] = 0;
  for (int i = 0; i < POSITIONS; i++) {
    y[0] = fmax(y[0], fabs(c[i]));
    y[1] = fmax(y[1], fabs(c[POSITIONS + i]));
  }
  for (int j = 0; j < N; j++) {
    y[2] += inertia(v, j) * v->x[N + j] * v->x[N + j] / 2;
    if (j % 3 == Y) y[2] += inertia(v, j) * v->p[G] * v->x[j];
  }
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"crank_x", .unit = "m"},
                                         {"crank_y", .unit = "m"},
                                         {"crank_phi", .unit = "rad", .output = true},
                                         {"rod_x", .unit = "m"},
                                         {"rod_y", .unit = "m"},
                                         {"rod_phi", .unit = "rad", .output = true},
                                         {"slider_x", .unit = "m", .output = true},
                                         {"slider_y", .unit = "m"},
                                         {"slider_phi", .unit = "rad"},
                                         {"crank_vx", .unit = "m/s"},
                                         {"crank_vy", .unit = "m/s"},
                                         {"crank_w", .unit = "rad/s", .output = true},
                                         {"rod_vx", .unit = "m/s"},
                                         {"rod_vy", .unit = "m/s"},
                                         {"rod_w", .unit = "rad/s"},
                                         {"slider_vx", .unit = "m/s", .output = true},
                                         {"slider_vy", .unit = "m/s"},
                                         {"slider_w", .unit = "rad/s"},
                                         {0}};
static const cpl_declaration outputs[] = {
    {"gap", .unit = "m", .description = "largest residual of a position"},
    {"slip", .unit = "m/s", .description = "largest residual of a velocity"},
    {"energy", .unit = "J"},
    {0}};
static const cpl_declaration parameters[] = {
    {"r", .start = 1, .unit = "m", .description = "length of the crank"},
    {"l", .start = 2, .unit = "m", .description = "length of the rod"},
    {"b", .start = 0.4, .unit = "m", .description = "length of the slider"},
    {"m_crank", .start = 1, .unit = "kg"},
    {"m_rod", .start = 1, .unit = "kg"},
    {"m_slider", .start = 1, .unit = "kg"},
    {"g", .start = 9.81, .unit = "m/s2"},
    {"angle", .unit = "rad", .description = "of the crank, at the start; less than pi/2"},
    {"speed", .start = 8, .unit = "rad/s", .description = "of the crank, at the start"},
    {0}};

const cpl_model_def couplet_model = {.name = "slider_crank",
                                     .description = "slider-crank with too many constraints",
                                     .states = states,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .initialize = initialize,
                                     .n_constraints = 2 * POSITIONS,
                                     .constraints = constraints,
                                     .stop_time = 20,
                                     .tolerance = 1e-6};
