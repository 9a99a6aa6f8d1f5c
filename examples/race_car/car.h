// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The physics of the race car, written once: chassis.c and wheel.c are the two parts of it, and
// monolithic.c is the same car in one piece. README.md has the formulas.
//
// World: x and y in the plane of the track, z upwards. Body: x forwards, y to the left, z upwards.
#pragma once

#include <couplet/model.h>
#include <math.h>
#include <string.h>

//------------------------------------ what is coupled ------------------------------------

// The chassis tells each wheel: name, unit, start.
#define CHASSIS_TO_WHEEL(X, c)                                        \
  X(c, x, "m", 0) /* of the mount */                                  \
  X(c, y, "m", 0)                                                     \
  X(c, z, "m", 0.3)                                                   \
  X(c, vx, "m/s", 12)                                                 \
  X(c, vy, "m/s", 0)                                                  \
  X(c, vz, "m/s", 0)                                                  \
  X(c, r11, "1", 1) /* of the body: columns are its axes */           \
  X(c, r12, "1", 0)                                                   \
  X(c, r13, "1", 0)                                                   \
  X(c, r21, "1", 0)                                                   \
  X(c, r22, "1", 1)                                                   \
  X(c, r23, "1", 0)                                                   \
  X(c, r31, "1", 0)                                                   \
  X(c, r32, "1", 0)                                                   \
  X(c, r33, "1", 1)                                                   \
  X(c, wx, "rad/s", 0) /* of the body, in world axes */               \
  X(c, wy, "rad/s", 0)                                                \
  X(c, wz, "rad/s", 0)                                                \
  X(c, steer, "rad", 0)                                               \
  X(c, steer_rate, "rad/s", 0)                                        \
  X(c, drive, "N.m", 0)                                               \
  X(c, brake, "N.m", 0)                                               \
  X(c, anti_roll, "N", 0) /* force of the bar, upwards on the body */ \
  X(c, air_speed, "m/s", 12)                                          \
  X(c, air_temperature, "degC", 25)

// Each wheel tells the chassis.
#define WHEEL_TO_CHASSIS(X, c)                                            \
  X(c, Fx, "N", 0) /* on the body, in world axes */                       \
  X(c, Fy, "N", 0)                                                        \
  X(c, Fz, "N", 1600)                                                     \
  X(c, Mx, "N.m", 0)                                                      \
  X(c, My, "N.m", 0)                                                      \
  X(c, Mz, "N.m", 0)                                                      \
  X(c, px, "m", 0) /* where the force acts: the hub */                    \
  X(c, py, "m", 0)                                                        \
  X(c, load, "N", 1600)    /* between tyre and road */                    \
  X(c, friction, "1", 1.5) /* coefficient at this temperature */          \
  X(c, slip_power, "W", 0) /* what the tyre turns into heat */            \
  X(c, hub, "m", 0.32)     /* height of the hub: a state, as all below */ \
  X(c, hub_rate, "m/s", 0)                                                \
  X(c, spin, "rad/s", 36)                                                 \
  X(c, slip_x, "1", 0)                                                    \
  X(c, slip_y, "1", 0)                                                    \
  X(c, tyre_temperature, "degC", 70)                                      \
  X(c, brake_temperature, "degC", 300)

// States and switches of a wheel, and of the chassis.
#define WHEEL_STATES(X, c, level)                                    \
  X(c, hub, "m", level, "height of the hub")                         \
  X(c, hub_rate, "m/s", 0, "velocity of the hub, upwards")           \
  X(c, spin, "rad/s", 36.36, "of the wheel")                         \
  X(c, slip_x, "1", 0, "slip along the tyre, after its relaxation")  \
  X(c, slip_y, "1", 0, "slip across the tyre, after its relaxation") \
  X(c, tyre_temperature, "degC", 70, "of the tread")                 \
  X(c, brake_temperature, "degC", 300, "of the disc")

#define WHEEL_SWITCHES(X, c)                                  \
  X(c, contact, 1, "the tyre touches the road")               \
  X(c, bump, 0, "the bump stop is engaged")                   \
  X(c, rebound, 0, "the rebound stop is engaged")             \
  X(c, fast_in, 0, "the damper's valve is open, compressing") \
  X(c, fast_out, 0, "the damper's valve is open, extending")  \
  X(c, sliding, 0, "past the peak of the grip")               \
  X(c, released, 0, "the brake is released against locking")  \
  X(c, hot, 0, "the tyre is too hot")                         \
  X(c, cold, 1, "the tyre is too cold")                       \
  X(c, duct, 0, "the brake's cooling duct is open")

#define CHASSIS_STATES(X)                                      \
  X(x, "m", 0, "position on the track")                        \
  X(y, "m", 0, "position on the track")                        \
  X(z, "m", 0.3, "height of the centre of mass")               \
  X(vx, "m/s", 9.6, "velocity in world axes")                  \
  X(vy, "m/s", 7.2, "velocity in world axes")                  \
  X(vz, "m/s", 0, "velocity in world axes")                    \
  X(q0, "1", 0.94868329805051377, "orientation: a quaternion") \
  X(q1, "1", 0, "orientation")                                 \
  X(q2, "1", 0, "orientation")                                 \
  X(q3, "1", 0.31622776601683794, "orientation")               \
  X(roll_rate, "rad/s", 0, "about the body's x axis")          \
  X(pitch_rate, "rad/s", 0, "about the body's y axis")         \
  X(yaw_rate, "rad/s", 0, "about the body's z axis")           \
  X(path, "1", 0, "where on the eight the car is")             \
  X(steer, "rad", 0, "angle of the front wheels")              \
  X(steer_rate, "rad/s", 0, "its rate")                        \
  X(speed_integral, "m", 0, "of the driver's speed error")     \
  X(drive, "N.m", 0, "torque of the engine at the wheels")     \
  X(brake, "N.m", 0, "torque of all brakes")

#define CHASSIS_SWITCHES(X)                          \
  X(braking, 0, "the driver brakes")                 \
  X(limited, 0, "engine and tyres give no more")     \
  X(traction, 0, "traction control cuts the torque") \
  X(wing, 1, "the rear wing is open")

#define CHASSIS_PARAMETERS                                                                 \
  {"speed", .start = 15, .unit = "m/s", .description = "the driver wants at the start"}, { \
    "gain", .start = 1.1, .unit = "m/s2", .description = "by which the wanted speed grows" \
  }

#define CAR_ENUM_U(c, name, unit, start) U_##name,
#define CAR_ENUM_Y(c, name, unit, start) Y_##name,
enum { CHASSIS_TO_WHEEL(CAR_ENUM_U, ) N_TO_WHEEL };    // inputs of a wheel: 25
enum { WHEEL_TO_CHASSIS(CAR_ENUM_Y, ) N_TO_CHASSIS };  // outputs of a wheel: 18
enum { FL, FR, RL, RR, N_WHEELS };
enum { N_FLOWS = Y_hub };  // outputs of a wheel that are no states

//------------------------------------ constants ------------------------------------

static const double gravity = 9.81;
static const double track_a = 64, track_b = 48;    // the eight: (a sin s, b sin s cos s)
static const double mass = 640, hub_mass = 15;     // kg: four hubs make it 700
static const double inertia[3] = {140, 620, 700};  // kg m2
static const double axle_x[2] = {1.6, -1.4}, half_track = 0.8;  // m
static const double tyre_radius = 0.33, tyre_damping = 0.15;
#define GRIP           1.9   // coefficient of friction at 3000 N, with the best temperature
#define PEAK_X         0.10  // slip along and across the tyre at the peak of its grip
#define PEAK_Y         0.11
#define TYRE_STIFFNESS 220e3
static const double spin_inertia = 1.1;

static inline double mount_x(int i) { return axle_x[i / 2]; }
static inline double mount_y(int i) { return i % 2 == 0 ? half_track : -half_track; }
static inline double square(double a) { return a * a; }

// Switch i is on while its indicator is positive; it turns on at +band and off at -band.
static inline double with_band(double z, double on, double band) {
  return on > 0.5 ? z + band : z - band;
}

//------------------------------------ road ------------------------------------

typedef struct car_road {
  double z, slope_x, slope_y;
} car_road;

// Two slow waves, and a ridge across the right lobe's entry.
static inline car_road road_at(double x, double y) {
  const double ridge = 0.045 * exp(-square((x - 28) / 0.9));
  const double side = 0.5 * (1 + tanh(y / 4));
  return (car_road){
      .z = 0.002 * sin(x / 1.3) + 0.002 * sin(y / 1.1 + 1) + ridge * side,
      .slope_x = 0.002 / 1.3 * cos(x / 1.3) - 2 * (x - 28) / square(0.9) * ridge * side,
      .slope_y = 0.002 / 1.1 * cos(y / 1.1 + 1) + ridge * 0.125 * (1 - square(tanh(y / 4))),
  };
}

//------------------------------------ wheel ------------------------------------

enum { W_HUB, W_HUB_RATE, W_SPIN, W_SLIP_X, W_SLIP_Y, W_TYRE_T, W_BRAKE_T, N_WHEEL_X };
enum { P_PRELOAD, P_LENGTH, P_STIFFNESS, P_GRIP, P_PEAK_X, P_PEAK_Y, P_TYRE, N_WHEEL_P };
enum {
  W_CONTACT,   // the tyre touches the road
  W_BUMP,      // the bump stop is engaged
  W_REBOUND,   // the rebound stop is engaged
  W_FAST_IN,   // the damper's valve is open in compression
  W_FAST_OUT,  // and in extension
  W_SLIDING,   // past the peak of the tyre's grip
  W_RELEASED,  // the brake is released against locking
  W_HOT,       // the tyre is above its best temperatures
  W_COLD,      // or below
  W_DUCT,      // the brake's cooling duct is open
  N_WHEEL_W
};

typedef struct car_wheel {
  double travel, rate;  // of the suspension: compression positive
  double deflection, deflection_rate, load;
  double spring;            // force on the body along its z axis
  double axis[3], side[2];  // of the spin, to the left; across the tyre, in the plane
  double ahead[2];          // along the tyre, in the plane
  double speed, drift;      // of the contact point along and across
  double slip, friction, fx, fy;
  double brake;
} car_wheel;

static const double bump_at = 0.022, rebound_at = -0.012, knee = 0.12;
static const double hot_at = 82, cold_at = 76, duct_at = 325, lock_at = 0.085;

static inline double spring_force(const car_wheel* f, const double* p, const double* w,
                                  double anti_roll) {
  double force = p[P_PRELOAD] + p[P_STIFFNESS] * f->travel + 4500 * f->rate + anti_roll;
  if (w[W_FAST_IN] > 0.5) force -= 2500 * (f->rate - knee);
  if (w[W_FAST_OUT] > 0.5) force -= 2500 * (f->rate + knee);
  if (w[W_BUMP] > 0.5) force += 400e3 * (f->travel - bump_at);
  if (w[W_REBOUND] > 0.5) force += 300e3 * (f->travel - rebound_at);
  return force;
}

static inline double friction_at(double grip, double load, double temperature, const double* w) {
  double mu = grip - 6e-5 * (load - 3000);
  if (w[W_HOT] > 0.5) mu -= 0.006 * (temperature - hot_at);
  if (w[W_COLD] > 0.5) mu -= 0.008 * (cold_at - temperature);
  return mu;
}

// The share of the grip that is used: a magic formula up to its peak, then a falling branch.
static inline double grip_share(double slip, double sliding) {
  if (sliding > 0.5) return 1 - 0.25 * (1 - 1 / (1 + square((slip - 1) / 1.5)));
  return sin(1.5 * atan(1.7320508075688772 * slip));
}

static inline car_wheel wheel_flow(const double* x, const double* u, const double* w,
                                   const double* p) {
  car_wheel f;
  const double c = cos(u[U_steer]), s = sin(u[U_steer]);

  // suspension and tyre
  const car_road road = road_at(u[U_x], u[U_y]);
  f.travel = p[P_LENGTH] - (u[U_z] - x[W_HUB]) / u[U_r33];
  f.rate = (x[W_HUB_RATE] - u[U_vz]) / u[U_r33];
  f.deflection = tyre_radius - (x[W_HUB] - road.z);
  f.deflection_rate = road.slope_x * u[U_vx] + road.slope_y * u[U_vy] - x[W_HUB_RATE];
  f.load = 0;
  if (w[W_CONTACT] > 0.5) {
    f.load = p[P_TYRE] * f.deflection * (1 + tyre_damping * f.deflection_rate);
  }
  f.spring = spring_force(&f, p, w, u[U_anti_roll]);

  // directions and velocities of the contact point
  f.axis[0] = -s * u[U_r11] + c * u[U_r12];
  f.axis[1] = -s * u[U_r21] + c * u[U_r22];
  f.axis[2] = -s * u[U_r31] + c * u[U_r32];
  const double n = 1 / sqrt(square(f.axis[0]) + square(f.axis[1]) + 1e-12);
  f.side[0] = f.axis[0] * n;
  f.side[1] = f.axis[1] * n;
  f.ahead[0] = f.side[1];
  f.ahead[1] = -f.side[0];
  const double below = road.z - u[U_z];
  const double vx = u[U_vx] + u[U_wy] * below, vy = u[U_vy] - u[U_wx] * below;
  f.speed = f.ahead[0] * vx + f.ahead[1] * vy;
  f.drift = f.side[0] * vx + f.side[1] * vy;

  // forces in the plane
  const double kx = x[W_SLIP_X] / p[P_PEAK_X], ky = x[W_SLIP_Y] / p[P_PEAK_Y];
  f.slip = sqrt(kx * kx + ky * ky + 1e-8);
  f.friction = friction_at(p[P_GRIP], f.load, x[W_TYRE_T], w);
  const double force = f.friction * f.load * grip_share(f.slip, w[W_SLIDING]) / f.slip;
  f.fx = force * kx;
  f.fy = -force * ky;
  f.brake = u[U_brake] * (w[W_RELEASED] > 0.5 ? 0.3 : 1) * tanh(x[W_SPIN]);
  return f;
}

static inline double slip_power(const car_wheel* f, const double* x) {
  const double speed = sqrt(square(f->speed) + 1);
  return (f->fx * x[W_SLIP_X] - f->fy * x[W_SLIP_Y]) * speed;
}

// y: the outputs that are no states (the first N_FLOWS).
static inline void wheel_outputs(const car_wheel* f, const double* x, const double* u, double* y) {
  const double below = f->deflection - tyre_radius;  // the road as seen from the hub
  const double fx = f->fx * f->ahead[0] + f->fy * f->side[0];
  const double fy = f->fx * f->ahead[1] + f->fy * f->side[1];
  y[Y_Fx] = fx + f->spring * u[U_r13];
  y[Y_Fy] = fy + f->spring * u[U_r23];
  y[Y_Fz] = f->spring * u[U_r33];

  // the side force acts on the road; drive and brake turn against the body; gyroscopic moment
  const double reaction = f->brake - u[U_drive], spin = spin_inertia * x[W_SPIN];
  const double wx = u[U_wx] + u[U_r13] * u[U_steer_rate], wy = u[U_wy] + u[U_r23] * u[U_steer_rate],
               wz = u[U_wz] + u[U_r33] * u[U_steer_rate];
  const double* a = f->axis;
  y[Y_Mx] = -below * f->fy * f->side[1] + reaction * a[0] - spin * (wy * a[2] - wz * a[1]);
  y[Y_My] = below * f->fy * f->side[0] + reaction * a[1] - spin * (wz * a[0] - wx * a[2]);
  y[Y_Mz] = -0.02 * f->fy + reaction * a[2] - spin * (wx * a[1] - wy * a[0]);
  y[Y_px] = u[U_x];
  y[Y_py] = u[U_y];
  y[Y_load] = f->load;
  y[Y_friction] = f->friction;
  y[Y_slip_power] = slip_power(f, x);
}

static inline void wheel_derivatives(const car_wheel* f, const double* x, const double* u,
                                     const double* w, double* dx) {
  const double speed = sqrt(square(f->speed) + 1), air = u[U_air_temperature];
  dx[W_HUB] = x[W_HUB_RATE];
  dx[W_HUB_RATE] = (f->load - f->spring * u[U_r33]) / hub_mass - gravity;
  dx[W_SPIN] = (u[U_drive] - f->brake - tyre_radius * (f->fx + 0.012 * f->load)) / spin_inertia;
  dx[W_SLIP_X] = (x[W_SPIN] * tyre_radius - f->speed - speed * x[W_SLIP_X]) / 0.25;
  dx[W_SLIP_Y] = (f->drift - speed * x[W_SLIP_Y]) / 0.35;
  dx[W_TYRE_T] = (slip_power(f, x) - (15 + 1.2 * u[U_air_speed]) * (x[W_TYRE_T] - air)) / 700;
  const double duct = w[W_DUCT] > 0.5 ? 3 : 1;
  dx[W_BRAKE_T] =
      (f->brake * x[W_SPIN] - duct * (5 + 0.5 * u[U_air_speed]) * (x[W_BRAKE_T] - air)) / 900;
}

static inline void wheel_indicators(const car_wheel* f, const double* x, const double* w,
                                    double* z) {
  z[W_CONTACT] = f->deflection;
  z[W_BUMP] = f->travel - bump_at;
  z[W_REBOUND] = rebound_at - f->travel;
  z[W_FAST_IN] = f->rate - knee;
  z[W_FAST_OUT] = -knee - f->rate;
  z[W_SLIDING] = f->slip - 1;
  z[W_RELEASED] = with_band(-lock_at - x[W_SLIP_X], w[W_RELEASED], 0.02);
  z[W_HOT] = x[W_TYRE_T] - hot_at;
  z[W_COLD] = cold_at - x[W_TYRE_T];
  z[W_DUCT] = with_band(x[W_BRAKE_T] - duct_at, w[W_DUCT], 10);
}

//------------------------------------ chassis ------------------------------------

enum {
  C_X,
  C_Y,
  C_Z,
  C_VX,
  C_VY,
  C_VZ,  // of the centre of mass
  C_Q0,
  C_Q1,
  C_Q2,
  C_Q3,  // orientation
  C_WX,
  C_WY,
  C_WZ,    // angular velocity in body axes
  C_PATH,  // where on the eight the car is
  C_STEER,
  C_STEER_RATE,
  C_INTEGRAL,  // of the driver's speed error
  C_DRIVE,
  C_BRAKE,  // torques of engine and brakes at all wheels together
  N_CHASSIS_X
};
enum {
  P_SPEED,
  P_GAIN,
  N_CHASSIS_P
};  // parameters: the driver's speed at the start, and its growth
enum {
  C_BRAKING,   // the driver brakes
  C_LIMITED,   // more torque is wanted than engine and tyres give
  C_TRACTION,  // traction control cuts the torque
  C_WING,      // the rear wing is open
  N_CHASSIS_W
};

typedef struct car_path {
  double x, y, ahead_x, ahead_y, stretch, curvature;  // stretch: metres a unit of the parameter
} car_path;

static inline car_path path_at(double s) {
  const double dx = track_a * cos(s), dy = track_b * cos(2 * s);
  const double ddx = -track_a * sin(s), ddy = -2 * track_b * sin(2 * s);
  const double n = sqrt(dx * dx + dy * dy);
  return (car_path){.x = track_a * sin(s),
                    .y = 0.5 * track_b * sin(2 * s),
                    .ahead_x = dx / n,
                    .ahead_y = dy / n,
                    .stretch = n,
                    .curvature = (dx * ddy - dy * ddx) / (n * n * n)};
}

static inline void rotation(const double* x, double r[3][3]) {
  const double n = 1 / sqrt(square(x[C_Q0]) + square(x[C_Q1]) + square(x[C_Q2]) + square(x[C_Q3]));
  const double a = x[C_Q0] * n, b = x[C_Q1] * n, c = x[C_Q2] * n, d = x[C_Q3] * n;
  r[0][0] = 1 - 2 * (c * c + d * d);
  r[0][1] = 2 * (b * c - a * d);
  r[0][2] = 2 * (b * d + a * c);
  r[1][0] = 2 * (b * c + a * d);
  r[1][1] = 1 - 2 * (b * b + d * d);
  r[1][2] = 2 * (c * d - a * b);
  r[2][0] = 2 * (b * d - a * c);
  r[2][1] = 2 * (c * d + a * b);
  r[2][2] = 1 - 2 * (b * b + c * c);
}

static inline void times(const double r[3][3], const double* a, double* out) {
  for (int i = 0; i < 3; i++) out[i] = r[i][0] * a[0] + r[i][1] * a[1] + r[i][2] * a[2];
}

static inline void times_transposed(const double r[3][3], const double* a, double* out) {
  for (int i = 0; i < 3; i++) out[i] = r[0][i] * a[0] + r[1][i] * a[1] + r[2][i] * a[2];
}

static inline void cross(const double* a, const double* b, double* out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

// What wheel i is told; u: what all wheels tell (only their states are read).
static inline double drive_of(const double* x, const double* u, int i) {
  if (i < RL) return 0;
  const double own = u[i * N_TO_CHASSIS + Y_spin], other = u[(5 - i) * N_TO_CHASSIS + Y_spin];
  return 0.5 * x[C_DRIVE] + 12 * (other - own);  // a differential that resists
}

static inline double brake_of(const double* x, const double* u, int i) {
  const double front = u[FL * N_TO_CHASSIS + Y_brake_temperature] +
                       u[FR * N_TO_CHASSIS + Y_brake_temperature],
               rear = u[RL * N_TO_CHASSIS + Y_brake_temperature] +
                      u[RR * N_TO_CHASSIS + Y_brake_temperature];
  const double bias = 0.58 + 1e-4 * (rear - front);  // away from the hotter axle
  return 0.5 * x[C_BRAKE] * (i < RL ? bias : 1 - bias);
}

static inline void chassis_outputs(const double* x, const double* u, double* y) {
  double r[3][3], w[3];
  rotation(x, r);
  times(r, &x[C_WX], w);
  const double speed = sqrt(square(x[C_VX]) + square(x[C_VY]) + square(x[C_VZ]) + 1e-6);
  double stretch[N_WHEELS];  // of the suspensions, seen along the vertical
  for (int i = 0; i < N_WHEELS; i++) {
    double* o = &y[i * N_TO_WHEEL];
    const double at[3] = {mount_x(i), mount_y(i), 0};
    double arm[3], v[3];
    times(r, at, arm);
    cross(w, arm, v);
    for (int k = 0; k < 3; k++) {
      o[U_x + k] = x[C_X + k] + arm[k];
      o[U_vx + k] = x[C_VX + k] + v[k];
      o[U_wx + k] = w[k];
      for (int j = 0; j < 3; j++) o[U_r11 + 3 * k + j] = r[k][j];
    }
    o[U_steer] = i < RL ? x[C_STEER] : 0;
    o[U_steer_rate] = i < RL ? x[C_STEER_RATE] : 0;
    o[U_drive] = drive_of(x, u, i);
    o[U_brake] = brake_of(x, u, i);
    o[U_air_speed] = speed;
    o[U_air_temperature] = 25;
    stretch[i] = o[U_z] - u[i * N_TO_CHASSIS + Y_hub];
  }
  for (int i = 0; i < N_WHEELS; i++) {
    const double bar = i < RL ? 45e3 : 20e3;
    y[i * N_TO_WHEEL + U_anti_roll] = bar * (stretch[i ^ 1] - stretch[i]);
  }
}

typedef struct car_driver {
  double path_rate, steer, error, wanted, limit;  // limit: torque of engine and tyres
  double forward;                                 // speed
  double slip;                                    // of the driven wheels
} car_driver;

static inline car_driver driver(double t, const double* x, const double* u, const double* p,
                                const double r[3][3]) {
  car_driver d;
  double v[3];
  times_transposed(r, &x[C_VX], v);
  d.forward = v[0];

  // where on the eight, and how far beside it
  const car_path here = path_at(x[C_PATH]);
  const double ex = x[C_X] - here.x, ey = x[C_Y] - here.y;
  const double along = ex * here.ahead_x + ey * here.ahead_y;
  const double beside = -ex * here.ahead_y + ey * here.ahead_x;
  d.path_rate = (x[C_VX] * here.ahead_x + x[C_VY] * here.ahead_y + 4 * along) / here.stretch;

  // steering: the curve ahead, corrected by what is seen and felt
  const double preview = v[0] / here.stretch;
  const car_path soon = path_at(x[C_PATH] + 0.12 * preview);
  const double turned = here.ahead_x * r[1][0] - here.ahead_y * r[0][0];
  const double yaw_error = x[C_WZ] - v[0] * soon.curvature;
  double rear_slip = 0, front_slip = 0, heat = 0;
  for (int i = 0; i < N_WHEELS; i++) {
    const double slip = 0.5 * u[i * N_TO_CHASSIS + Y_slip_y];
    if (i < RL) front_slip += slip;
    else rear_slip += slip;
    heat += 0.25 * u[i * N_TO_CHASSIS + Y_tyre_temperature];
  }
  double wanted = (3.0 + 0.004 * v[0] * v[0]) * soon.curvature - 0.05 * beside - 0.5 * turned -
                  0.06 * yaw_error + 0.5 * rear_slip + 0.4 * front_slip;
  d.steer = 0.35 * tanh(wanted / 0.35);

  // speed: growing, less in curves and on hot tyres
  const car_path later = path_at(x[C_PATH] + 0.7 * preview);
  const double target = (p[P_SPEED] + p[P_GAIN] * t) * (1 - 0.0005 * (heat - 70)) /
                        sqrt(1 + square(24 * later.curvature));
  d.error = target - v[0];
  d.wanted = 700 * tyre_radius * (2.5 * d.error + 0.6 * x[C_INTEGRAL]);
  const double* left = &u[RL * N_TO_CHASSIS];
  const double* right = &u[RR * N_TO_CHASSIS];
  const double grip = left[Y_friction] * left[Y_load] + right[Y_friction] * right[Y_load];
  d.limit = tyre_radius * 0.75 * grip / sqrt(1 + square(0.75 * grip * v[0] / 480e3));
  d.slip = 0.5 * (left[Y_slip_x] + right[Y_slip_x]);
  return d;
}

static inline void aerodynamics(const double* x, const double* w, const double r[3][3],
                                double* force, double* moment) {
  const double open = w[C_WING] > 0.5 ? 1 : 0;
  const double speed = sqrt(square(x[C_VX]) + square(x[C_VY]) + square(x[C_VZ]) + 1e-6);
  const double pressure = 0.6 * speed;  // times speed again with the velocity below
  const double front = 2.0 * pressure * speed, rear = (2.5 - 0.6 * open) * pressure * speed;
  for (int k = 0; k < 3; k++) {
    force[k] = -(1.1 - 0.2 * open) * pressure * x[C_VX + k] - (front + rear) * r[k][2];
  }
  moment[0] = 0;  // in body axes
  moment[1] = front * axle_x[0] + rear * axle_x[1];
  moment[2] = 0;
}

static inline void chassis_derivatives(double t, const double* x, const double* u, const double* w,
                                       const double* p, double* dx) {
  double r[3][3], force[3], moment[3], outer[3] = {0, 0, 0}, inner[3];
  rotation(x, r);
  aerodynamics(x, w, r, force, moment);
  double heat = 0;
  for (int i = 0; i < N_WHEELS; i++) {
    const double* y = &u[i * N_TO_CHASSIS];
    const double arm[3] = {y[Y_px] - x[C_X], y[Y_py] - x[C_Y], y[Y_hub] - x[C_Z]};
    double m[3];
    cross(arm, &y[Y_Fx], m);
    for (int k = 0; k < 3; k++) {
      force[k] += y[Y_Fx + k];
      outer[k] += y[Y_Mx + k] + m[k];
    }
    heat += y[Y_slip_power];
  }
  times_transposed(r, outer, inner);

  const double total[3] = {mass + 4 * hub_mass, mass + 4 * hub_mass, mass};
  const double omega[3] = {x[C_WX], x[C_WY], x[C_WZ]};
  const double spin[3] = {inertia[0] * omega[0], inertia[1] * omega[1], inertia[2] * omega[2]};
  double turn[3];
  cross(omega, spin, turn);
  for (int k = 0; k < 3; k++) {
    dx[C_X + k] = x[C_VX + k];
    dx[C_VX + k] = force[k] / total[k] - (k == 2 ? gravity : 0);
    dx[C_WX + k] = (inner[k] + moment[k] - turn[k]) / inertia[k];
  }

  const double* q = &x[C_Q0];
  const double keep = 5 * (1 - square(q[0]) - square(q[1]) - square(q[2]) - square(q[3]));
  dx[C_Q0] = 0.5 * (-q[1] * omega[0] - q[2] * omega[1] - q[3] * omega[2]) + keep * q[0];
  dx[C_Q1] = 0.5 * (q[0] * omega[0] + q[2] * omega[2] - q[3] * omega[1]) + keep * q[1];
  dx[C_Q2] = 0.5 * (q[0] * omega[1] + q[3] * omega[0] - q[1] * omega[2]) + keep * q[2];
  dx[C_Q3] = 0.5 * (q[0] * omega[2] + q[1] * omega[1] - q[2] * omega[0]) + keep * q[3];

  const car_driver d = driver(t, x, u, p, r);
  dx[C_PATH] = d.path_rate;
  dx[C_STEER] = x[C_STEER_RATE];
  dx[C_STEER_RATE] = 900 * (d.steer - x[C_STEER]) - 48 * x[C_STEER_RATE];
  dx[C_INTEGRAL] = w[C_LIMITED] > 0.5 || w[C_BRAKING] > 0.5 ? -0.5 * x[C_INTEGRAL] : d.error;
  double drive = w[C_BRAKING] > 0.5 ? 0 : d.wanted;
  if (w[C_LIMITED] > 0.5) drive = d.limit;
  if (w[C_TRACTION] > 0.5) drive *= 0.6;
  drive *= 1 - 2e-7 * heat;  // the driver lifts a little when the tyres smoke
  dx[C_DRIVE] = (drive - x[C_DRIVE]) / 0.06;
  dx[C_BRAKE] = ((w[C_BRAKING] > 0.5 ? -1.3 * d.wanted : 0) - x[C_BRAKE]) / 0.05;
}

static inline void chassis_indicators(double t, const double* x, const double* u, const double* w,
                                      const double* p, double* z) {
  double r[3][3];
  rotation(x, r);
  const car_driver d = driver(t, x, u, p, r);
  z[C_BRAKING] = with_band(-d.wanted, w[C_BRAKING], 20);
  z[C_LIMITED] = with_band(d.wanted - d.limit, w[C_LIMITED], 10);
  z[C_TRACTION] = with_band(d.slip - 0.06, w[C_TRACTION], 0.015);
  z[C_WING] =
      with_band(0.03 - fabs(x[C_STEER]) - 0.5 * fabs(x[C_WZ]) / (d.forward + 1), w[C_WING], 0.008);
}
