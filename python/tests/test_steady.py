# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Rest points and eigenvalues against known ones."""

import math

import couplet
import numpy as np
import pytest

GRAVITY = 9.81


def test_plant(root):
    path = root / "examples" / "tank_level" / "tank_level.yaml"
    s = couplet.steady(path)
    level = (0.02 * 0.5 / 0.003) ** 2 / (2 * GRAVITY)
    assert s.states["tank.level"] == pytest.approx(level, rel=1e-12)
    assert s.states["servo.position"] == pytest.approx(0.5, rel=1e-12)
    assert s.stability == "stable" and s.all_eigenvalues and s.undetermined == [] and s.free == {}
    assert math.isinf(s.next_event) and not s.time_dependent and s.time == 0
    expected = [-0.003 * math.sqrt(GRAVITY / (2 * level)) / 0.5, complex(-0.35, 0.5 * math.sqrt(1 - 0.49))]
    np.testing.assert_allclose(s.eigenvalues, expected, rtol=1e-9)
    assert s.participation[0] == {"tank.level": pytest.approx(1)}
    assert "3 states, stable" in repr(s)


def test_trim(root):
    path = root / "examples" / "tank_level" / "tank_level.yaml"
    s = couplet.steady(path, free=["command"], such_that={"level": 2})
    assert s.free["command"] == pytest.approx(0.003 / 0.02 * math.sqrt(4 * GRAVITY), abs=1e-11)
    s = couplet.steady(path, free="tank.drain", such_that={"tank.level": 2})
    assert s.free["tank.drain"] == pytest.approx(0.01 / math.sqrt(4 * GRAVITY), abs=1e-12)
    with pytest.raises(couplet.InputError, match="as many are needed"):
        couplet.steady(path, free="command")
    with pytest.raises(couplet.UnknownNameError):
        couplet.steady(path, free="nothing", such_that={"level": 2})
    with pytest.raises(couplet.ModelError, match="no rest point with level=2"):
        couplet.steady(path, free="tank.area", such_that={"level": 2})


def test_runs_begin_at_rest(root):
    path = root / "examples" / "tank_level" / "tank_level.yaml"
    r = couplet.simulate(path, stop=10, steady=True, record=["tank.level"])
    level = (0.02 * 0.5 / 0.003) ** 2 / (2 * GRAVITY)
    np.testing.assert_allclose(r["tank.level"], level, rtol=1e-9)
    m = couplet.linearize(root / "examples" / "tank_level" / "tank.c", at="steady")
    np.testing.assert_allclose(m.x, level, rtol=1e-12)
    with pytest.raises(ValueError, match="steady"):
        couplet.linearize(path, at="rest")


def test_systems(root):
    system = couplet.System("plant")
    system.add("tank", root / "examples" / "tank_level" / "tank.c")
    system.experiment(steady=True)
    assert system.steady().states["tank.level"] > 0
    assert system.simulate(stop=1)["tank.level"][0] == pytest.approx(0.56631555, rel=1e-7)


def test_many(tank):
    with pytest.warns(couplet.Warning, match="nothing determines x"):
        s = couplet.steady(tank, set={"k": 0, "u": 0})
    assert s.undetermined == ["x"] and s.stability == "marginal"
