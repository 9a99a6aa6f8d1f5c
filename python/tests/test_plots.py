# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Results drawn with matplotlib."""

import pytest

import couplet
from couplet.compat import fmpy


def test_result(tank, matplotlib):
    r = couplet.simulate(tank, input={"u": ([0, 4], [0, 2])})
    axes = r.plot()
    assert len(axes) == 2 and axes[1].get_ylabel() == "[m3]"
    axis = r.plot("x")
    assert r.plot("high", ax=axis) is axis
    with pytest.raises(KeyError):
        r.plot("y")


def test_result_of_the_fmpy_module(root, tmp_path, matplotlib):
    ball = couplet.build(root / "examples" / "bouncing_ball" / "bouncing_ball.c", tmp_path / "ball.fmu")
    result = fmpy.simulate_fmu(str(ball))
    fmpy.plot_result(result, result, events=True, markers=True, filename=tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000
