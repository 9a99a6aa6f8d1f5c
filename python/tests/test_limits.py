# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Values that a variable cannot have: set by a program, by a model, or in a table."""

import math

import numpy as np
import pytest

import couplet as cp


class Lag(cp.Model):
    """x' = u - p x; at t = 0.75 an event sets what `sets` has."""

    states = {"x": cp.Declaration(1.5, min=0, max=6)}
    inputs = {
        "u": cp.Declaration(0.25, unit="m", min=-2, max=2),
        "k": cp.Declaration(3, type="Integer", min=1, max=8),
        "b": cp.Declaration(0, type="Boolean"),
    }
    parameters = {"p": cp.Declaration(0.5, min=0, max=4, tunable=True)}
    discrete = {"i": cp.Declaration(2, type="Integer", output=True), "w": 0.0}

    def __init__(self, **sets):
        self.sets = sets

    def derivatives(self, v):
        return v["u"] - v["p"] * v["x"]

    def initialize(self, v):
        v.next_time = 0.75

    def event(self, v):
        if v.time_event:
            for name, value in self.sets.items():
                if name == "next":
                    v.next_time = value
                else:
                    v[name] = value


WRONG = [
    ("u", math.nan, "not a finite number"),
    ("u", -math.inf, "not a finite number"),
    ("u", 2.5, "its maximum is 2 m"),
    ("u", -2.5, "its minimum is -2 m"),
    ("x", math.nan, "not a finite number"),
    ("x", 6.5, "its maximum is 6"),
    ("p", 4.5, "its maximum is 4"),
    ("p", math.nan, "not a finite number"),
    ("k", 9, "its maximum is 8"),
    ("k", 2.5, "it is an Integer"),
    ("k", 2.0**40, "it is an Integer"),
    ("k", math.nan, "it is an Integer"),
    ("b", 2, "it is a Boolean"),
    ("b", 0.5, "it is a Boolean"),
]


@pytest.mark.parametrize("name, value, why", WRONG)
@pytest.mark.parametrize("system", [False, True])
def test_a_value_that_a_run_cannot_set(name, value, why, system):
    model = cp.System("s").add("m", Lag()) if system else Lag()
    whole = "m." + name if system else name
    with cp.open(model) as run:
        run.step(0.25)
        before = run[whole]
        for use in (lambda: run.__setitem__(whole, value), lambda: run.writer([whole]).write([value])):
            with pytest.raises(cp.InputError) as caught:
                use()
            error = caught.value
            assert error.variable == whole and error.time == 0.25 and why in str(error)
            assert f"{whole} cannot be set to" in str(error) and "t=0.25" in str(error)
        assert run[whole] == before
        run.step(0.25)  # the run goes on


def test_all_values_are_checked_before_any_is_set():
    with cp.open(Lag()) as run:
        run.step(0.5)
        writer = run.writer(["u", "k", "x"])
        with pytest.raises(cp.InputError, match="x cannot be set to 7"):
            writer.write([1, 5, 7])
        assert (run["u"], run["k"]) == (0.25, 3)
        writer.write([1, 5, 6])  # a limit itself can be set
        assert (run["u"], run["k"], run["x"]) == (1, 5, 6)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("solver", ["cvode", "radau", "dopri5", "euler"])
def test_a_state_that_is_not_finite_after_an_event(value, solver):
    step = 0.05 if solver == "euler" else None
    for model, name in ((Lag(x=value), "x"), (cp.System().add("m", Lag(x=value)), "m.x")):
        with pytest.raises(cp.ModelError, match=f"{name} is {value} after the event at t=0.75") as caught:
            cp.simulate(model, stop=1, solver=solver, step=step)
        assert caught.value.variable == name and caught.value.time == 0.75
        assert caught.value.result.time[-1] == 0.75


C_MODEL = r"""
#include <couplet/model.h>
#include <math.h>
static int derivatives(const cpl_values* v, double* dx) { dx[0] = dx[1] = v->p[0]; return CPL_MODEL_OK; }
static int initialize(const cpl_values* v, cpl_event_actions* a) { (void)v; a->next_time = 0.25; return CPL_MODEL_OK; }
static int output_values(const cpl_values* v, double* y) { y[0] = v->p[2]; return CPL_MODEL_OK; }
static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->time_event) {
    a->x[1] = v->p[0] > 0 ? (double)NAN : 1;
    a->w[0] = v->p[1];
  }
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"a"}, {"b"}, {0}};
static const cpl_declaration parameters[] = {{"breaks"}, {"count"}, {"out"}, {"zero", .min = -0.0, .max = 0}, {0}};
static const cpl_declaration outputs[] = {{"y", .type = CPL_INTEGER}, {0}};
static const cpl_declaration discrete[] = {{"n", .type = CPL_INTEGER}, {0}};
const cpl_model_def couplet_model = {.name = "breaks", .states = states, .parameters = parameters,
    .discrete = discrete, .outputs = outputs, .derivatives = derivatives, .initialize = initialize,
    .output_values = output_values, .event = event, .stop_time = 1};
"""


@pytest.mark.parametrize("kind", ["c", "fmu2", "fmu3"])
def test_models_in_c_and_fmus(tmp_path, kind):
    path = tmp_path / "breaks.c"
    path.write_text(C_MODEL)
    if kind != "c":
        path = cp.build(path, tmp_path / "breaks.fmu", fmi=int(kind[-1]))
    assert cp.simulate(path, as_="me" if kind != "c" else None)["b"][-1] == 1
    with pytest.raises(cp.ModelError, match="b is nan after the event at t=0.25"):
        cp.simulate(path, set={"breaks": 1}, as_="me" if kind != "c" else None)
    with pytest.raises(cp.ModelError, match="cannot be 1.25"):
        cp.simulate(path, set={"count": 1.25})
    with pytest.raises(cp.ModelError, match="y is an Integer and cannot be 1.5" if kind == "c" else "1.5"):
        cp.simulate(path, set={"out": 1.5})
    with pytest.raises(cp.InputError, match="its maximum is 0"):
        cp.simulate(path, set={"zero": 1e-9})
    with pytest.raises(cp.InputError, match="its minimum is 0"):
        cp.simulate(path, set={"zero": -1e-9})


@pytest.mark.parametrize("value", [2.5, math.nan, 1e300])
def test_an_integer_that_an_event_cannot_set(value):
    for model, component in ((Lag(i=value), "Lag"), (cp.System().add("m", Lag(i=value)), "m")):
        with pytest.raises(cp.ModelError, match="i is an Integer and cannot be") as caught:
            cp.simulate(model, stop=1)
        error = caught.value
        assert (error.component, error.variable, error.time) == (component, "i", 0.75)
    assert cp.simulate(Lag(i=7), stop=1)["i"][-1] == 7


def test_outputs_and_steppers():
    class Counts(cp.Model):
        outputs = {"n": cp.Declaration(type="Integer")}

        def output_values(self, v):
            return 4.5

    with pytest.raises(cp.ModelError, match="n is an Integer and cannot be 4.5"):
        cp.simulate(Counts(), stop=1)

    class Steps(cp.Stepper):
        discrete = {"n": cp.Declaration(0, type="Integer", output=True)}

        def step(self, v, h):
            v["n"] += h

    with pytest.raises(cp.ModelError, match="n is an Integer and cannot be 0.5"):
        cp.simulate(Steps(), stop=1, step=0.5)


def test_a_time_event_at_no_time():
    with pytest.raises(cp.ModelError, match="at nan"):
        cp.simulate(Lag(next=math.nan), stop=1)


def test_declarations():
    def with_state(declaration):
        return type("Declares", (Lag,), {"states": {"x": declaration}})()

    for declaration, why in (
        (cp.Declaration(1, min=2, max=1), "x: min, 2, is greater than max, 1"),
        (cp.Declaration(1, min=1, max=0), "x: min, 1, is greater than max, 0"),
        (cp.Declaration(1, min=math.nan), "x: min, nan"),
    ):
        with pytest.raises(ValueError, match=why):
            cp.simulate(with_state(declaration))
    with pytest.raises(cp.ModelError, match="x is inf at the start, t=0"):
        cp.simulate(with_state(cp.Declaration(math.inf)))
    wrong = type("Wrong", (Lag,), {"discrete": {"i": cp.Declaration(2.5, type="Integer"), "w": 0.0}})
    with pytest.raises(cp.InputError, match="i: the start value is not an integer"):
        cp.simulate(wrong())


@pytest.mark.parametrize(
    "low, high, inside, outside",
    [
        (0, 0, [0], [1e-300, -1]),
        (0, None, [0, 1e9], [-1e-9]),
        (None, 0, [0, -1e9], [1e-9]),
        (None, None, [-1e300, 1e300], []),
        (-1, 0, [-1, 0], [0.5, -2]),
        (0, 1, [0, 1], [2, -0.5]),
        (2, None, [2, 3], [1]),
        (None, -2, [-2, -3], [-1]),
    ],
)
def test_limits_of_zero(low, high, inside, outside):
    limits = {"p": cp.Declaration(inside[0], min=low, max=high)}
    model = type("Limited", (Lag,), {"parameters": {**limits}, "derivatives": lambda self, v: 0.0})()
    for value in inside:
        cp.simulate(model, set={"p": value}, stop=0.1)
    for value in outside:
        with pytest.raises(cp.InputError, match="p cannot be set to .*its m"):
            cp.simulate(model, set={"p": value}, stop=0.1)


def test_inputs_beyond_their_limits():
    with pytest.warns(cp.Warning, match="row 3: u is 2.5, beyond its limits: its maximum is 2 m"):
        r = cp.simulate(Lag(), input={"u": ([0, 0.5, 1], [0, 1, 2.5])}, stop=1)
    assert np.all(np.isfinite(r["x"]))
    with pytest.raises(cp.InputError, match="k is an Integer and cannot be 1.5"):
        cp.simulate(Lag(), input={"k": ([0, 1], [1, 1.5])}, stop=1)
    with pytest.raises(cp.InputError, match="k is an Integer and cannot be 1.5 at t=0") as caught:
        cp.simulate(Lag(), input={"k": lambda t: 1.5}, stop=1)
    assert caught.value.variable == "k"
    with pytest.raises(cp.Error, match="the input u is nan at t=0") as caught:
        cp.simulate(Lag(), input={"u": lambda t: math.nan}, stop=1)
    assert caught.value.variable == "u" and caught.value.time == 0
