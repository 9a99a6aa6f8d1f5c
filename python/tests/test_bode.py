# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Frequency responses against closed forms."""

import math

import couplet
import numpy as np
import pytest

LEVEL = (0.02 * 0.5 / 0.003) ** 2 / (2 * 9.81)


def plant(omega):
    s = 1j * np.asarray(omega)
    drain = 0.003 * math.sqrt(9.81 / (2 * LEVEL))
    return 0.25 / (s**2 + 0.7 * s + 0.25) * 0.02 / (0.5 * s + drain)


def test_plant(root):
    path = root / "examples" / "tank_level" / "tank_level.yaml"
    f = couplet.bode(path, at="steady", from_="command", to="level")
    np.testing.assert_allclose(f.response, plant(f.omega), rtol=1e-12)
    np.testing.assert_allclose(f.gain, abs(plant(f.omega)), rtol=1e-12)
    np.testing.assert_allclose(f.gain_margin, 1 / abs(plant(f.gain_margin_omega)), rtol=1e-9)
    np.testing.assert_allclose(abs(plant(f.phase_margin_omega)), 1, rtol=1e-12)
    assert f.at_zero == pytest.approx(plant(0).real, rel=1e-12)
    assert f.phase[-1] < -180 and "phase margin" in repr(f)
    g = couplet.bode(path, at="steady", from_="command", to="level", omega=[0.01, 1])
    np.testing.assert_allclose(g.response, plant([0.01, 1]), rtol=1e-12)
    g = couplet.bode(path, at="steady", from_="command", to="level", range=(0.1, 1), points=10)
    assert g.omega[0] == 0.1 and g.omega[-1] == 1 and math.isnan(g.phase_margin)
    with pytest.raises(couplet.InputError, match="is empty"):
        couplet.bode(path, from_="command", to="level", range=(1, 0.1))
    with pytest.raises(couplet.UnknownNameError):
        couplet.bode(path, from_="nothing", to="level")


def test_system(root):
    system = couplet.System("plant").add("tank", root / "examples" / "tank_level" / "tank.c")
    f = system.bode(at="steady", from_="tank.opening", to="tank.level", omega=[0])
    assert f.response[0] == pytest.approx(f.at_zero)
