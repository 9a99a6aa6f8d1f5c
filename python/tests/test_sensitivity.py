# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Sensitivities against closed forms and the numbers of the command."""

import json
import math

import couplet
import numpy as np
import pytest


@pytest.fixture
def ball(root):
    return root / "examples" / "bouncing_ball" / "bouncing_ball.c"


def test_an_impact_depends_on_height_and_restitution(ball):
    s = couplet.sensitivity(ball, of=["h", "v"], to=["h", "e"], stop=0.6, rtol=1e-11, record=["h"])
    assert s.names == ("h", "dh/dh", "dh/de", "dv/dh", "dv/de")
    g, e, hit = 9.81, 0.8, math.sqrt(2 / 9.81)
    late, slope = 0.6 - hit, hit / 2  # the slope of the time of the impact by h
    by_h = e * g * slope * late - (e * g * hit - g * late) * slope  # of e g hit late - g late^2 / 2
    assert s["dh/dh"][-1] == pytest.approx(by_h, rel=1e-9)
    assert s["dh/de"][-1] == pytest.approx(g * hit * late, rel=1e-9)
    np.testing.assert_allclose(s["dh/dh"][s.time < hit - 1e-9], 1, rtol=1e-9)
    assert s.units["dv/dh"] == "m/s/m"


def test_numbers_are_those_of_the_command(ball, command, tmp_path):
    out = tmp_path / "s.csv"
    command("sensitivity", ball, "--of", "h", "--to", "g", "-o", out, "-q")
    there = couplet.read(out)
    here = couplet.sensitivity(ball, of="h", to="g")
    np.testing.assert_array_equal(there["dh/dg"], here["dh/dg"])
    np.testing.assert_array_equal(there.time, here.time)


def test_system(root):
    system = couplet.System("plant").add("tank", root / "examples" / "tank_level" / "tank.c")
    s = system.sensitivity(of="tank.level", to="tank.level", stop=1)
    assert s["dtank.level/dtank.level"][0] == pytest.approx(1, rel=1e-12)


def test_wrong_names(ball):
    with pytest.raises(couplet.UnknownNameError, match="is it h"):
        couplet.sensitivity(ball, of="hh", to="e")
    with pytest.raises(couplet.InputError, match="to which"):
        couplet.sensitivity(ball, of="h", to=[])


def test_gradients_are_those_of_the_command_and_of_sensitivities(ball, command):
    settings = {"stop": 0.6, "rtol": 1e-11}
    g = couplet.gradients(ball, of=["h", "integral(v)"], to=["h", "e", "g"], **settings)
    s = couplet.sensitivity(ball, of="h", to=["h", "e", "g"], **settings)
    for k in ("h", "e", "g"):
        assert g.gradient("h")[k] == pytest.approx(s[f"dh/d{k}"][-1], rel=1e-8)
    assert g.values["integral(v)"] == pytest.approx(g.values["h"] - 1, rel=1e-9)  # from 1 m
    assert g.gradient("integral(v)")["e"] == pytest.approx(g.gradient("h")["e"], rel=1e-8)
    assert (g.time, g.matrix.shape) == (0.6, (2, 3))
    out = command("sensitivity", ball, "--of", "h", "--to", "e", "--stop", "0.6", "--adjoint", "--json")
    there = json.loads(out.stdout)
    here = couplet.gradients(ball, of="h", to="e", stop=0.6)
    assert there["values"]["dh/de"] == [here.gradient("h")["e"]]


def test_gradients_that_cannot_be_right_are_refused(ball, root):
    with pytest.raises(couplet.UnknownNameError, match="is it h"):
        couplet.gradients(ball, of="hh", to="e")
    with pytest.raises(couplet.InputError):
        couplet.gradients(ball, of="h", to=[])
    with pytest.raises(couplet.UnsupportedError):
        couplet.gradients(root / "examples" / "drift" / "pendulum.c", of="x", to="g")
    system = couplet.System("plant").add("tank", root / "examples" / "tank_level" / "tank.c")
    assert system.gradients(of="tank.level", to="tank.level", stop=1e-9).matrix[0][0] == pytest.approx(1)
