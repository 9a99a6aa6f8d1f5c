# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The argument of the methods of models in Python: what can be changed, and what cannot."""

import gc
import weakref

import numpy as np
import pytest

import couplet as cp


class Saw(cp.Model):
    """Falls with slope k from 1, and jumps at 0.25."""

    states = {"x": 1.0}
    outputs = ["y"]
    parameters = {"k": 2.0}
    n_indicators = 1

    def derivatives(self, v):
        return -v["k"]

    def output_values(self, v):
        return 2 * v["x"]

    def indicators(self, v):
        return v["x"] - 0.25

    def event(self, v):
        if v.crossed[0]:
            self.jump(v)


def test_an_array_that_is_replaced_is_set():
    class Replaces(Saw):
        def jump(self, v):
            v.x = np.array([1.0])

    r = cp.simulate(Replaces(), stop=1)  # events at 0.375 and 0.75
    assert r.events == pytest.approx([0.375, 0.75], abs=1e-6)
    assert r["x"][-1] == pytest.approx(0.5, abs=1e-5)

    class Wrong(Saw):
        def jump(self, v):
            v.x = [1.0, 2.0]

    with pytest.raises(cp.ModelError, match="broadcast"):
        cp.simulate(Wrong(), stop=1)


@pytest.mark.parametrize("name", ["k", "p"])
def test_parameters_cannot_be_changed(name):
    class Changes(Saw):
        def jump(self, v):
            if name == "k":
                v["k"] = 1.0
            else:
                v.p = [1.0]

    with pytest.raises(cp.ModelError, match="read-only"):
        cp.simulate(Changes(), stop=1)


@pytest.mark.parametrize("method", ["derivatives", "output_values", "indicators"])
@pytest.mark.parametrize("change", [lambda v: v.x.fill(1), lambda v: v.__setitem__("n", 2.0), lambda v: setattr(v, "w", [2])])
def test_functions_of_the_state_cannot_change_it(method, change):
    class Changes(Saw):
        discrete = {"n": 1.0}

        def jump(self, v):
            v.x[0] = 1.0
            v["n"] += 1

    assert cp.simulate(Changes(), stop=1, record=["n"])["n"][-1] == 3  # after the events at 0.375 and 0.75

    def changes(self, v):
        change(v)
        return 1.0

    with pytest.raises(cp.ModelError, match="read-only"):
        cp.simulate(type("Wrong", (Changes,), {method: changes})(), stop=1)


@pytest.mark.parametrize("key", ["start", "stop", "interval", "step", "rtol", "atol", "call_timeout"])
def test_settings_that_are_not_numbers(key, root):
    mass = root / "examples" / "two_masses" / "mass.c"
    with pytest.raises(ValueError, match=f"{key} cannot be nan"):
        cp.simulate(mass, **{key: float("nan")})
    if key != "call_timeout":
        with pytest.raises(ValueError, match=f"{key} cannot be nan"):
            cp.System().add("m", mass).experiment(**{key: float("nan")}).simulate()


def test_names_and_sizes():
    with pytest.raises(cp.InputError, match="it has no name"):
        cp.simulate(type("Nameless", (Saw,), {"inputs": [""]})())
    for size in (-1, 2**31, 10**30):
        with pytest.raises(ValueError, match="x: size cannot be"):
            cp.simulate(type("Large", (Saw,), {"states": {"x": cp.Declaration(size=size)}})())


def test_outputs_of_a_model_cannot_be_read():
    class Reads(Saw):
        def jump(self, v):
            v["y"]

    with pytest.raises(cp.ModelError, match="y is none of x, k"):
        cp.simulate(Reads(), stop=1)


@pytest.mark.parametrize("count", [-1, 2**31, 2**32 + 1])
def test_number_of_indicators(count):
    class Counts(Saw):
        n_indicators = count

    with pytest.raises(ValueError, match="Counts: n_indicators cannot be"):
        cp.simulate(Counts())


@pytest.mark.parametrize("kind", ["reader", "snapshot", "model", "function"])
def test_runs_that_refer_to_themselves_are_collected(kind):
    model = Saw()
    model.jump = lambda v: None
    held = []
    s = cp.System().add("m", model).input("u", lambda t, held=held: 1.0)
    run = s.open()
    run.step(0.1)
    if kind == "reader":
        run.kept = run.reader(["m.x"])
    elif kind == "snapshot":
        run.kept = run.save()
    elif kind == "model":
        model.run = run
    else:
        held.append(run)
    gone = weakref.ref(run)
    del run, model, held, s
    gc.collect()
    assert gone() is None
