// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Lines in three dimensions: a rigid body in two pieces against the body in one piece, and the same
// system seen in frames that are moved and turned about all axes.
#include <math.h>

#include "lines.h"
#include "tlm/tlm.h"

//------------------------------------ a rigid body ------------------------------------

// Place and turn (a quaternion) of the centre of mass, its speed, the angular speed in the body.
enum { PLACE, TURN = 3, SPEED = 7, SPIN = 10, N_STATES = 13 };
enum { MASS, INERTIA, ARM = INERTIA + 3, GRAVITY = ARM + 3 };
enum { END_PLACE, END_TURN = 3, END_SPEED = 12, END_SPIN = 15 };

static void cross(const double* a, const double* b, double* out) {
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = a[j] * b[k] - a[k] * b[j];
  }
}

// From the body to the frame of the model, row by row.
static void matrix_of(const double* q, double* a) {
  double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  double w = q[0] / n, x = q[1] / n, y = q[2] / n, z = q[3] / n;
  const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                       2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                       2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(a, m, sizeof m);
}

static void times(const double* a, const double* x, double* out) {
  for (int i = 0; i < 3; i++) out[i] = a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2];
}

static void times_transpose(const double* a, const double* x, double* out) {
  for (int i = 0; i < 3; i++) out[i] = a[i] * x[0] + a[3 + i] * x[1] + a[6 + i] * x[2];
}

// J w' = T - w x J w, all in the body; q' = q (0, w) / 2.
static void turn_rates(const double* inertia, const double* x, const double* torque, double* dx) {
  const double *q = x + TURN, *w = x + SPIN;
  double momentum[3], gyro[3];
  for (int i = 0; i < 3; i++) momentum[i] = inertia[i] * w[i];
  cross(w, momentum, gyro);
  for (int i = 0; i < 3; i++) dx[SPIN + i] = (torque[i] - gyro[i]) / inertia[i];
  dx[TURN] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
  dx[TURN + 1] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
  dx[TURN + 2] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
  dx[TURN + 3] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
}

static int body_derivatives(const cpl_values* v, double* dx) {
  double a[9], arm[3], lever[3], torque[3], own[3];
  matrix_of(v->x + TURN, a);
  times(a, v->p + ARM, arm);
  cross(arm, v->u, lever);
  for (int i = 0; i < 3; i++) {
    dx[PLACE + i] = v->x[SPEED + i];
    dx[SPEED + i] = v->u[i] / v->p[MASS] + v->p[GRAVITY + i];
    torque[i] = v->u[3 + i] + lever[i];
  }
  times_transpose(a, torque, own);
  turn_rates(v->p + INERTIA, v->x, own, dx);
  return CPL_MODEL_OK;
}

static int body_outputs(const cpl_values* v, double* y) {
  double arm[3], around[3];
  matrix_of(v->x + TURN, y + END_TURN);
  times(y + END_TURN, v->p + ARM, arm);
  times(y + END_TURN, v->x + SPIN, y + END_SPIN);
  cross(y + END_SPIN, arm, around);
  for (int i = 0; i < 3; i++) {
    y[END_PLACE + i] = v->x[PLACE + i] + arm[i];
    y[END_SPEED + i] = v->x[SPEED + i] + around[i];
  }
  return CPL_MODEL_OK;
}

static const cpl_declaration body_states[] = {
    {"r", .size = 3}, {"q", .size = 4}, {"v", .size = 3}, {"w", .size = 3}, END_OF_LIST};
static const cpl_declaration body_inputs[] = {{"f", .size = 3}, {"t", .size = 3}, END_OF_LIST};
static const cpl_declaration body_parameters[] = {{"m", .start = 1},
                                                  {"J", .start = 0.02, .size = 3},
                                                  {"d", .size = 3},
                                                  {"g", .size = 3},
                                                  END_OF_LIST};
static const cpl_declaration body_ends[] = {
    {"er", .size = 3}, {"eA", .size = 9}, {"ev", .size = 3}, {"ew", .size = 3}, END_OF_LIST};
static const cpl_model_def body_model = {.name = "body",
                                         .states = body_states,
                                         .inputs = body_inputs,
                                         .parameters = body_parameters,
                                         .outputs = body_ends,
                                         .derivatives = body_derivatives,
                                         .output_values = body_outputs};

//------------------------------------ two pieces ------------------------------------

// Where the frame of a part lies: common = origin + rotation own.
typedef struct frame {
  double origin[3], rotation[9];
} frame;

typedef struct world {
  double delay, zf, zfr;
  frame frames[2];
  double gravity[3];
  bool stepper[2];
  bool by_columns[2];  // the orientation is given so
  double turned_too_far;
} world;

static const double start_spin[3] = {2, -1.5, 3}, start_speed[3] = {0.3, 0.1, -0.2};
static const double half_mass = 0.5, half_inertia[3] = {0.004, 0.007, 0.009}, arm[3] = {0.2, 0, 0};

static void set_all(cpl_context* ctx, cpl_component* c, const char* name, const double* v, int n) {
  for (int i = 0; i < n; i++) {
    char text[32];
    snprintf(text, sizeof text, "%s[%d]", name, i + 1);
    bench_start(ctx, c, text, v[i]);
  }
}

// The quaternion of a rotation whose trace is not small, w first.
static void quaternion_of(const double* a, double* q) {
  q[0] = 0.5 * sqrt(1 + a[0] + a[4] + a[8]);
  q[1] = (a[7] - a[5]) / (4 * q[0]);
  q[2] = (a[2] - a[6]) / (4 * q[0]);
  q[3] = (a[3] - a[1]) / (4 * q[0]);
}

// The half of a bar along x: its centre is an arm to the left or right of the cut, all of it turns
// about the cut, which moves with start_speed.
static void place_half(cpl_context* ctx, cpl_component* c, int side, const world* w) {
  const frame* f = &w->frames[side];
  double offset[3], around[3], place[3], speed[3], v[3], q[4], far[9], back[9];
  double s = sin(w->turned_too_far * side), k = cos(w->turned_too_far * side);
  for (int i = 0; i < 3; i++) offset[i] = side == 0 ? -arm[i] : arm[i];
  cross(start_spin, offset, around);
  for (int i = 0; i < 3; i++) {
    v[i] = start_speed[i] + around[i];
    offset[i] -= f->origin[i];
  }
  times_transpose(f->rotation, offset, place);
  times_transpose(f->rotation, v, speed);
  // the body's axes are those of the common frame, or turned about z by mistake
  const double turn[9] = {k, -s, 0, s, k, 0, 0, 0, 1};
  for (int i = 0; i < 9; i++) back[i] = f->rotation[3 * (i % 3) + i / 3];
  for (int i = 0; i < 9; i++)
    far[i] = back[i - i % 3] * turn[i % 3] + back[i - i % 3 + 1] * turn[3 + i % 3] +
             back[i - i % 3 + 2] * turn[6 + i % 3];
  quaternion_of(far, q);
  set_all(ctx, c, "r", place, 3);
  set_all(ctx, c, "v", speed, 3);
  set_all(ctx, c, "q", q, 4);
  set_all(ctx, c, "w", start_spin, 3);
}

static void take_list(const cpl_description* d, const char* name, int n, int32_t* out) {
  for (int i = 0; i < n; i++) {
    char text[32];
    snprintf(text, sizeof text, "%s[%d]", name, i + 1);
    out[i] = cpl_find_variable(d, text);
    CHECK(out[i] >= 0);
  }
}

static bench two_halves(const world* w) {
  bench b = bench_make();
  int32_t ends[2];
  for (int side = 0; side < 2; side++) {
    cpl_model* m = bench_model(&b, &body_model, side == 0 ? "left" : "right");
    cpl_component* c = &m->base;
    double out[3], gravity[3];
    for (int i = 0; i < 3; i++) out[i] = side == 0 ? arm[i] : -arm[i];
    times_transpose(w->frames[side].rotation, w->gravity, gravity);
    bench_start(b.ctx, c, "m", half_mass);
    set_all(b.ctx, c, "J", half_inertia, 3);
    set_all(b.ctx, c, "d", out, 3);
    set_all(b.ctx, c, "g", gravity, 3);
    place_half(b.ctx, c, side, w);
    int32_t part = bench_part(&b, m, w->stepper[side]);
    b.parts[part].solver.kind = CPL_SOLVER_RK4;  // it computes the same in any frame
    ends[side] =
        bench_interface(&b, part, side == 0 ? "left.cut" : "right.cut", CPL_TLM_3D, NULL, NULL);
    cpl_tlm_interface* e = &b.interfaces[ends[side]];
    const cpl_description* d = bench_desc(&b, part);
    take_list(d, "er", 3, e->position);
    take_list(d, "eA", 9, e->orientation);
    take_list(d, "ev", 3, e->speed);
    take_list(d, "ew", 3, e->speed + 3);
    take_list(d, "f", 3, e->force);
    take_list(d, "t", 3, e->force + 3);
    memcpy(e->origin, w->frames[side].origin, sizeof e->origin);
    memcpy(e->rotation, w->frames[side].rotation, sizeof e->rotation);
    for (int i = 0; i < 9 && w->by_columns[side]; i++)
      e->orientation[i] = cpl_find_variable(d, "eA[1]") + 3 * (i % 3) + i / 3;
  }
  bench_line(&b, ends[0], ends[1], w->delay, w->zf, 0);
  b.lines[0].zfr = w->zfr;
  return b;
}

// Place of the centre of a half and the axes of its body, in the common frame.
typedef struct pose {
  double place[3], axes[9];
} pose;

static pose pose_of(bench* b, const world* w, int side) {
  const frame* f = &w->frames[side];
  double r[3], q[4], own[9];
  pose p;
  for (int i = 0; i < 7; i++) {
    char text[32];
    if (i < 3) snprintf(text, sizeof text, "%s.r[%d]", side == 0 ? "left" : "right", i + 1);
    else snprintf(text, sizeof text, "%s.q[%d]", side == 0 ? "left" : "right", i - 2);
    *(i < 3 ? &r[i] : &q[i - 3]) = bench_value(b, text);
  }
  times(f->rotation, r, p.place);
  for (int i = 0; i < 3; i++) p.place[i] += f->origin[i];
  matrix_of(q, own);
  for (int i = 0; i < 9; i++)
    p.axes[i] = f->rotation[i - i % 3] * own[i % 3] + f->rotation[i - i % 3 + 1] * own[3 + i % 3] +
                f->rotation[i - i % 3 + 2] * own[6 + i % 3];
  return p;
}

static double distance(const pose* a, const pose* b) {
  double worst = 0;
  for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(a->place[i] - b->place[i]));
  for (int i = 0; i < 9; i++) worst = fmax(worst, fabs(a->axes[i] - b->axes[i]));
  return worst;
}

static frame frame_at(double x, double y, double z, double about_x, double about_y,
                      double about_z) {
  double a = about_x, b = about_y, c = about_z;
  return (frame){
      {x, y, z},
      {cos(c) * cos(b), cos(c) * sin(b) * sin(a) - sin(c) * cos(a),
       cos(c) * sin(b) * cos(a) + sin(c) * sin(a), sin(c) * cos(b),
       sin(c) * sin(b) * sin(a) + cos(c) * cos(a), sin(c) * sin(b) * cos(a) - cos(c) * sin(a),
       -sin(b), cos(b) * sin(a), cos(b) * cos(a)}};
}

static world plain_world(void) {
  return (world){.delay = 1e-4,
                 .zf = 100,
                 .zfr = 0.1,
                 .frames = {frame_at(0, 0, 0, 0, 0, 0), frame_at(0, 0, 0, 0, 0, 0)},
                 .gravity = {0, 0, -9.81}};
}

static void poses_at(const world* w, double t, pose* out) {
  bench b = two_halves(w);
  bench_begin(&b, t);
  bench_step(&b, t);
  for (int side = 0; side < 2; side++) out[side] = pose_of(&b, w, side);
  bench_end(&b);
}

//------------------------------------ in one piece ------------------------------------

// The whole bar: the mass of both halves, moments about the cut.
static void whole_bar(double t, pose* out) {
  double inertia[3], x[N_STATES] = {[TURN] = 1}, k[4][N_STATES], at[N_STATES];
  static const double part[] = {0, 0.5, 0.5, 1}, none[3] = {0};
  enum { STEPS = 2000 };
  double h = t / STEPS, square = arm[0] * arm[0];
  for (int i = 0; i < 3; i++) inertia[i] = 2 * (half_inertia[i] + (i > 0 ? half_mass * square : 0));
  memcpy(x + SPIN, start_spin, sizeof start_spin);
  for (int n = 0; n < STEPS; n++) {
    for (int s = 0; s < 4; s++) {
      for (int j = 0; j < N_STATES; j++) at[j] = x[j] + (s > 0 ? part[s] * h * k[s - 1][j] : 0);
      memset(k[s], 0, sizeof k[s]);
      turn_rates(inertia, at, none, k[s]);
    }
    for (int j = 0; j < N_STATES; j++)
      x[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
  }
  for (int side = 0; side < 2; side++) {
    double offset[3], own[3];
    for (int i = 0; i < 3; i++) own[i] = side == 0 ? -arm[i] : arm[i];
    matrix_of(x + TURN, out[side].axes);
    times(out[side].axes, own, offset);
    for (int i = 0; i < 3; i++)
      out[side].place[i] = start_speed[i] * t + offset[i] - (i == 2 ? 0.5 * 9.81 * t * t : 0);
  }
}

static double cut_error(double delay) {
  world w = plain_world();
  pose got[2], exact[2];
  w.delay = delay;
  poses_at(&w, 0.2, got);
  whole_bar(0.2, exact);
  return fmax(distance(&got[0], &exact[0]), distance(&got[1], &exact[1]));
}

// What the line adds goes with its delay, and so does the error.
static void a_cut_body_moves_as_in_one_piece(void** state) {
  (void)state;
  double coarse = cut_error(2e-4), middle = cut_error(1e-4), fine = cut_error(5e-5);
  print_message("errors %.3g %.3g %.3g\n", coarse, middle, fine);
  CHECK(fine < 1e-2);
  CHECK(middle / fine > 1.8 && middle / fine < 2.2);
  CHECK(coarse / middle > 1.6 && coarse / middle < 2.4);
}

//------------------------------------ frames ------------------------------------

static void check_same_motion(const world* w, double allowed) {
  world plain = *w;
  pose expected[2], got[2];
  plain.frames[0] = plain.frames[1] = frame_at(0, 0, 0, 0, 0, 0);
  poses_at(&plain, 0.06, expected);
  poses_at(w, 0.06, got);
  double worst = fmax(distance(&got[0], &expected[0]), distance(&got[1], &expected[1]));
  print_message("frames: %.3g\n", worst);
  CHECK(worst < allowed);
}

static void frames_change_no_motion(void** state) {
  (void)state;
  static const double angles[][3] = {
      {0.7, 0, 0}, {0, -0.9, 0}, {0, 0, 1.3}, {0.4, -0.8, 1.1}, {-0.9, 0.3, -0.5}};
  for (size_t i = 0; i < CPLI_COUNT(angles); i++) {
    const double* a = angles[i];
    for (int stepper = 0; stepper < 2; stepper++) {
      world w = plain_world();
      w.stepper[1] = stepper == 1;
      w.frames[1] = frame_at(5, -3, 2, a[0], a[1], a[2]);
      check_same_motion(&w, 1e-11);
      w.frames[0] = frame_at(-1, 0.5, 4, a[2], -a[0], a[1]);
      check_same_motion(&w, 1e-11);
    }
  }
}

//------------------------------------ alignment ------------------------------------

static const char* refusal(const world* w, char* out, size_t size) {
  bench b = two_halves(w);
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  bench_couple(&b);
  cpl_component* c = &b.s->base;
  CHECK_OK(b.ctx, c->ops->setup(c, &setup));
  CHECK_OK(b.ctx, c->ops->enter_init(c));
  cpl_status st = c->ops->exit_init(c);
  snprintf(out, size, "%s", st < 0 ? cpl_context_error(b.ctx) : "");
  bench_end(&b);
  return out;
}

// In turned frames a matrix by columns fits neither as it is nor by chance.
static void orientations_by_columns_are_told(void** state) {
  (void)state;
  char text[1024];
  for (int side = 0; side < 2; side++) {
    world w = plain_world();
    w.frames[0] = frame_at(1, 2, 3, 0.2, 0.3, 0.4);
    w.frames[1] = frame_at(0, 1, 0, -0.5, 0.1, 0.6);
    CHECK(refusal(&w, text, sizeof text)[0] == '\0');
    w.by_columns[side] = true;
    CHECK_CONTAINS(refusal(&w, text, sizeof text), "rotated relative to each other at the start");
    CHECK_CONTAINS(
        text, side == 0 ? "the transpose of left.cut fits" : "the transpose of right.cut fits");
  }
}

static void ends_that_are_turned_are_told(void** state) {
  (void)state;
  char text[1024];
  world w = plain_world();
  w.turned_too_far = 0.3;
  w.frames[1] = frame_at(0, 1, 0, -0.5, 0.1, 0.6);
  CHECK_CONTAINS(
      refusal(&w, text, sizeof text),
      "left.cut and right.cut are rotated relative to each other at the start by 0.3 rad");
  CHECK(strstr(text, "transpose") == NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_cut_body_moves_as_in_one_piece),
    cmocka_unit_test(frames_change_no_motion),
    cmocka_unit_test(orientations_by_columns_are_told),
    cmocka_unit_test(ends_that_are_turned_are_told),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
