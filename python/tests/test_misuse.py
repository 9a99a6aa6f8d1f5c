# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Forks and interrupts inside of models, systems and models that contain or simulate themselves, and
private calls with wrong arguments: never a crash, never an endless run."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import couplet as cp
from couplet import _core


class Decay(cp.Model):
    """x' = -x; calls `at_half` once, when the time has passed 0.5."""

    states = {"x": 3.0}

    def __init__(self, at_half=None):
        self.at_half = at_half

    def derivatives(self, v):
        if self.at_half is not None and v.t > 0.5:
            call, self.at_half = self.at_half, None
            call()
        return -v["x"]


#------------------------------------ forks ------------------------------------

FORKS = """
import os, sys, couplet as cp

def fork():
    pid = os.fork()
    if pid == 0:
        print("child")
        {child}
    else:
        print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)

class Decay(cp.Model):
    states = {{"x": 3.0}}
    left = 1
    def derivatives(self, v):
        if {model} and v.t > 0.5 and self.left:
            self.left = 0
            fork()
        return -v["x"]

calls = [0]
def u(t):
    calls[0] += 1
    if not {model} and calls[0] == 5:
        fork()
    return 1.0

r = cp.System().add("m", Decay()).input("u", u).simulate(stop=1, record=["m.x"])
print("parent", round(float(r["m.x"][-1]), 3))
"""


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize(
    "child, status", [("pass", 0), ("sys.exit(7)", 7), ("os._exit(3)", 3), ("1 / 0", 1), ("sys.exit('no')", 1)]
)
def test_a_process_forked_in_a_callback_ends_with_it(python, model, child, status):
    done = python(FORKS.format(model=model, child=child))
    lines = done.stdout.split("\n")
    assert f"status {status}" in lines and lines.count("parent 1.104") == 1, done.stdout + done.stderr
    assert done.returncode == 0
    if child != "os._exit(3)":  # which does not write what print() has kept
        assert lines.count("child") == 1
    assert ("ZeroDivisionError" in done.stderr) == (child == "1 / 0")


#------------------------------------ interrupts ------------------------------------


def interrupt():
    raise KeyboardInterrupt


def test_an_interrupt_before_the_first_step_has_a_result():
    class Interrupted(Decay):
        def initialize(self, v):
            raise KeyboardInterrupt

    for call in (
        lambda: cp.simulate(Interrupted()),
        lambda: cp.open(Interrupted()).start(),
        lambda: cp.System().add("m", Interrupted()).simulate(),
    ):
        with pytest.raises(KeyboardInterrupt) as caught:
            call()
        assert caught.value.result is None
    with pytest.raises(KeyboardInterrupt) as caught:
        cp.simulate(Decay(interrupt), stop=1)
    assert 0.3 < caught.value.result.time[-1] < 0.6


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="needs signals")
def test_an_interrupt_that_a_model_catches():
    caught = []

    def catch():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
        except KeyboardInterrupt as error:
            caught.append(error)

    with pytest.raises(KeyboardInterrupt) as raised:
        cp.simulate(Decay(catch), stop=1)
    assert caught and raised.value.result.time[-1] < 1
    assert cp.simulate(Decay(), stop=1).time[-1] == 1


#------------------------------------ cycles ------------------------------------


def test_a_system_cannot_contain_itself():
    a, b, c = cp.System("first"), cp.System("second"), cp.System("third")
    with pytest.raises(cp.InputError, match="me is the system first itself"):
        a.add("me", a)
    a.add("b", b)
    b.add("c", c)
    with pytest.raises(cp.InputError, match="a.b.c is the system third itself"):
        c.add("a", a)
    c.add("m", Decay())
    assert cp.System().add("p", a).add("q", a).simulate(stop=0.1).names == ("p.b.c.m.x", "q.b.c.m.x")


def test_many_systems_inside_each_other():
    s = cp.System("inner").add("m", Decay())
    for _ in range(2000):
        s = cp.System("outer").add("s", s)
    with pytest.raises(cp.InputError, match="more than 100 systems inside each other"):
        s.simulate()


@pytest.mark.parametrize("kind", ["model", "function", "input"])
def test_a_model_that_simulates_itself(kind):
    s = cp.System("mirror")

    def again(*unused):
        s.simulate(stop=1)
        return 0.0

    class Mirror(Decay):
        inputs = ["u"]

        def derivatives(self, v):
            return again() if kind == "model" else -v["x"]

    s.add("m", Mirror())
    if kind == "function":
        s.couple("m.u", again, reads=["m.x"])
    elif kind == "input":
        s.input("u", again).connect("m.u", "u")
    with pytest.raises(cp.InputError, match="nested too deep"):
        s.simulate(stop=1)
    # later failures are reported as ever, and models may simulate others
    with pytest.raises(cp.ModelError, match="ZeroDivisionError"):
        cp.simulate(Decay(lambda: 1 / 0), stop=1)
    inner = []
    cp.simulate(Decay(lambda: inner.append(cp.simulate(Decay(), stop=1))), stop=1)
    assert len(inner) == 1


#------------------------------------ private calls ------------------------------------

MODEL = ("model", "m", 1, "x.c", None, 0, False, ())
SPEC = {"name": "m", "values": lambda blocks, writeable: object()}
ROW = ("x", 0.0, None, None, 0, 0, 0.0, 0.0, 0.0, False, False, False)


@pytest.mark.parametrize(
    "system",
    [
        3,
        "text",
        [],
        (3,),
        ((),),
        (None,),
        ((3,),),
        (("name",),),
        (("name", 3),),
        (("name", "a", "b"),),
        (("none", "a"),),
        (MODEL[:-1],),
        ((*MODEL[:2], "1", *MODEL[3:]),),
        ((*MODEL[:2], 99, *MODEL[3:]),),
        ((*MODEL[:2], 10**30, *MODEL[3:]),),
        ((*MODEL[:5], -1, *MODEL[6:]),),
        ((*MODEL[:4], 3, *MODEL[5:]),),
        ((*MODEL[:4], (3,), *MODEL[5:]),),
        ((*MODEL[:4], {}, *MODEL[5:]),),
        ((*MODEL[:7], 3),),
        ((*MODEL[:7], (3,)),),
        ((*MODEL[:7], (("a",),)),),
        ((*MODEL[:7], (("a", 3),)),),
        (("connect", "a", "b", 1, 2),),
        (("couple", "a", 3, (), None, list),),
        (("couple", "a", len, 3, None, list),),
        (("couple", "a", len, (3,), None, list),),
        (("input", "a", None, None, None, False, 3, None, None, None),),
        (("input", "a", None, None, None, False, None, 3, None, None),),
        (("input", "a", None, None, None, False, None, (1, 2), None, None),),
        (("input", "a", None, None, None, False, None, (1,), None, None),),
        (("event", "a", None, (3,), ()),),
        (("master", (), (), ()),),
        (("master", {"threads": "many"}, (), ()),),
        (("experiment", None),),
        {},
        {"name": 3},
        {**SPEC, "values": 3},
        {**SPEC, "states": 3},
        {**SPEC, "states": (3,)},
        {**SPEC, "states": ((3,),)},
        {**SPEC, "states": (ROW,), "derivatives": 3},
        {**SPEC, "states": (ROW,), "derivatives": lambda v: "x"},
        {**SPEC, "states": ((*ROW[:5], 77, *ROW[6:]),)},
        {**SPEC, "states": ((*ROW[:4], -1, *ROW[5:]),)},
        {**SPEC, "states": ((*ROW[:4], 2**31 - 1, *ROW[5:]),)},
        {**SPEC, "n_indicators": -1},
        {**SPEC, "n_indicators": 2**40},
        {**SPEC, "start_time": "now"},
    ],
)
def test_wrong_systems(system):
    with pytest.raises((TypeError, ValueError, OverflowError, cp.Error, IndexError, AttributeError)):
        _core.Run({"path": b"wrong", "system": system})._run()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"path": 3},
        {"path": b"x.c", "set": 3},
        {"path": b"x.c", "set": (3,)},
        {"path": b"x.c", "set": ((3, 4),)},
        {"path": b"x.c", "record": (3,)},
        {"path": b"x.c", "solvers": (("a", 3),)},
        {"path": b"x.c", "table": (1, 2, 3, 4)},
        {"path": b"x.c", "table": ((), (), 3, ())},
        {"path": b"x.c", "table": (("a",), (), b"", (b"",))},
        {"path": b"x.c", "table": (("a",), ("b",), b"12345678", 3)},
        {"path": b"x.c", "inputs": (3,)},
        {"path": b"x.c", "inputs": (("u", (3, 4)),)},
        {"path": b"x.c", "inputs": ((3, len),)},
        {"path": b"x.c", "threads": 10**30},
        {"path": b"x.c", "stop": "now"},
        {"path": b"x.c", "log_level": "high"},
    ],
)
def test_wrong_settings(settings):
    with pytest.raises((TypeError, ValueError, OverflowError, cp.Error, BufferError)):
        _core.Run(settings)
