# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Failures of steppers in Python: the call, the component and the time that are reported."""

import pytest

import couplet as cp


class Fragile(cp.Stepper):
    """Fails in the step that would pass the time `limit`."""

    outputs = ["y"]
    limit = 0.6

    def step(self, v, h):
        if v.t + h > self.limit:
            raise OverflowError("too late")
        return v.t + h


class NoStart(cp.Stepper):
    outputs = ["y"]

    def initialize(self, v):
        raise OverflowError("too early")

    def step(self, v, h):
        return 0.0


def test_failed_step_is_no_event():
    with pytest.raises(cp.ModelError, match=r"step from t=0\.5 to t=0\.75 failed: OverflowError: too late") as caught:
        cp.simulate(Fragile(), stop=2, step=0.25)
    assert "event" not in str(caught.value)
    assert isinstance(caught.value.__cause__, OverflowError)
    assert caught.value.component == "Fragile" and caught.value.time == 0.5


def test_failed_step_in_a_system():
    system = cp.System()
    system.add("first", Fragile())
    system.add("second", Fragile())
    with pytest.raises(cp.ModelError, match="step from t=.* failed: OverflowError") as caught:
        system.simulate(stop=2, step=0.125)
    assert "event" not in str(caught.value) and caught.value.component in ("first", "second")


def test_failed_initialization_keeps_its_name():
    with pytest.raises(cp.ModelError, match="initialize at t=0 failed: OverflowError: too early"):
        cp.simulate(NoStart(), stop=1, step=0.5)


def test_wrong_result_of_a_step():
    class Wrong(cp.Stepper):
        outputs = ["y"]

        def step(self, v, h):
            return [1.0, 2.0]

    with pytest.raises(cp.ModelError, match="step from t=0 to t=0.5 failed: .*2 values, where 1"):
        cp.simulate(Wrong(), stop=1, step=0.5)
