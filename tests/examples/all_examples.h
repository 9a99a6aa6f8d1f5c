// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// All examples of systems.
#pragma once

#include <dirent.h>

#include "examples/running.h"

static bool ends_with(const char* name, const char* ending) {
  const size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

// Calls `what` for each file of a folder with this ending.
static void for_each(const char* folder, const char* ending,
                     void (*what)(cpl_context* ctx, const char* path), cpl_context* ctx) {
  DIR* d = opendir(folder);
  CHECK(d != NULL);
  for (struct dirent* entry = readdir(d); entry != NULL; entry = readdir(d)) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.' && ends_with(entry->d_name, ending)) what(ctx, path);
  }
  closedir(d);
}

static void build_fmu(cpl_context* ctx, const char* path) {
  char fmu[1024];
  (void)ctx;
  snprintf(fmu, sizeof fmu, "%.*s.fmu", (int)strlen(path) - 2, path);
  must_do("build %s -o %s", path, fmu);
}

static const char* const folders[] = {"algebraic_loop",
                                      "ball_and_counter",
                                      "ball_contact",
                                      "ball_on_table",
                                      "breaking_pendulum",
                                      "cs_loop",
                                      "diesel_engine",
                                      "drift",
                                      "elastic_ball",
                                      "hybrid_components",
                                      "loops",
                                      "nail_pendulum",
                                      "nonlinear_loop",
                                      "output_derivatives",
                                      "pendulum_on_cart",
                                      "pendulums_cartesian",
                                      "pendulums_polar",
                                      "pendulums_walls",
                                      "simple_coupling",
                                      "tlm_drive_train",
                                      "tlm_hydraulic",
                                      "tlm_spring",
                                      "tlm_tree",
                                      "two_mass_cosimulation",
                                      "two_masses",
                                      "two_modes"};

// FMUs are made where system files need them.
static void copy_examples(cpl_context* ctx) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char fmus[256];
    copy_example(folders[i]);
    snprintf(fmus, sizeof fmus, "%s/fmus.yaml", folders[i]);
    FILE* f = fopen(fmus, "r");
    if (f == NULL) continue;
    fclose(f);
    for_each(folders[i], ".c", build_fmu, ctx);
  }
  must_do("build elastic_ball/ball.c -o elastic_ball/ball.fmu");
}

static void for_each_example(cpl_context* ctx, void (*what)(cpl_context* ctx, const char* path)) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    for_each(folders[i], ".yaml", what, ctx);
}
