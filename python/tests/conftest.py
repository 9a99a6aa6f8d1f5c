# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share: the command, the examples, models of their own."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("COUPLET_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
COMMAND = os.environ.get("COUPLET", str(ROOT / "build" / "couplet"))

# x' = u - k x; `high` counts how often u rose above 1
TANK = r"""
#include <couplet/model.h>
static int derivatives(const cpl_values* v, double* dx) {
  if (v->u[0] < 0) return cpl_model_error(v, "the inflow is negative");
  dx[0] = v->u[0] - v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}
static int indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] - 1;
  return CPL_MODEL_OK;
}
static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .start = 2, .unit = "m3", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u", .unit = "m3/s"}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 0.5}, {0}};
static const cpl_declaration discrete[] = {{"high", .type = CPL_INTEGER, .output = true}, {0}};
static const cpl_string_declaration strings[] = {{"label", .start = "tank"}, {0}};
const cpl_model_def couplet_model = {.name = "tank",
                                     .description = "a tank",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .strings = strings,
                                     .n_indicators = 1,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .event = event,
                                     .stop_time = 4,
                                     .tolerance = 1e-10};
"""

# x' = 1 with a call that takes long: forever, or a while in every evaluation
SLOW = r"""
#define _GNU_SOURCE
#include <couplet/model.h>
#include <unistd.h>
static int derivatives(const cpl_values* v, double* dx) {
  if (v->p[0] > 0) usleep((useconds_t)(1e6 * v->p[0]));
  while (v->p[1] != 0 && v->t > v->p[1]) usleep(1000);
  if (v->p[2] != 0 && v->t > v->p[2]) *(volatile int*)0 = 1;
  dx[0] = 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration parameters[] = {{"pause"}, {"hangs"}, {"crashes"}, {0}};
static const cpl_dependency dependencies[] = {{"der(x)", ""}, {0}};  // not to be detected
const cpl_model_def couplet_model = {
    .dependencies = dependencies,
    .name = "slow", .states = states, .parameters = parameters, .derivatives = derivatives,
    .stop_time = 1};
"""


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with models of the tests."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "tank.c").write_text(TANK)
    (folder / "slow.c").write_text(SLOW)
    return folder


@pytest.fixture
def tank(models):
    return models / "tank.c"


@pytest.fixture
def slow(models):
    return models / "slow.c"


@pytest.fixture(scope="session")
def tank_fmu(models):
    import couplet

    return couplet.build(models / "tank.c", models / "tank.fmu", fmi=3)


@pytest.fixture
def matplotlib():
    """matplotlib, which draws without a screen, and scipy. make test-plots installs them; elsewhere they may be missing."""
    for name in ("matplotlib", "scipy"):
        if "COUPLET_NEEDS_MATPLOTLIB" not in os.environ:
            pytest.importorskip(name)
    import matplotlib
    import scipy.optimize  # noqa: F401

    matplotlib.use("Agg")
    return matplotlib


@pytest.fixture(scope="session")
def command():
    """Runs the command; returns the completed process."""

    def run(*arguments, check=True, **keywords):
        words = [COMMAND, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=check, timeout=600, **keywords)

    return run


@pytest.fixture(scope="session")
def python():
    """Runs a program in another process of Python; returns the completed process."""

    def run(text, *arguments, **keywords):
        words = [sys.executable, "-c", text, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=600, **keywords)

    return run
