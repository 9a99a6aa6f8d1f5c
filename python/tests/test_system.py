# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Systems made by calls, and models and steppers that are classes of Python; against analytic solutions."""

import gc
import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import couplet as cp

MASS = """
#include <couplet/model.h>
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1], dx[1] = v->u[0] / v->p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .unit = "m", .output = true}, {"v", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"f", .unit = "N"}, {0}};
static const cpl_declaration parameters[] = {{"m", .start = 1}, {0}};
const cpl_model_def couplet_model = {.name = "mass", .states = states, .inputs = inputs,
                                     .parameters = parameters, .derivatives = derivatives};
"""


@pytest.fixture
def mass(tmp_path):
    path = tmp_path / "mass.c"
    path.write_text(MASS)
    return path


class Spring(cp.Model):
    inputs = ["x"]
    outputs = {"f": cp.Declaration(unit="N")}
    parameters = {"k": 4.0}

    def output_values(self, v):
        return -v["k"] * v["x"]


class Ball(cp.Model):
    states = {"h": cp.Declaration(1.25, unit="m", output=True), "v": 0.0}
    parameters = {"g": 9.81, "e": 0.5}
    discrete = {"bounces": cp.Declaration(0, type="Integer", output=True)}
    n_indicators = 1

    def derivatives(self, v):
        return v["v"], -v["g"]

    def indicators(self, v):
        return v["h"]

    def event(self, v):
        if v.crossed[0] < 0:
            v["h"] = 0
            v["v"] *= -v["e"]
            v["bounces"] += 1


class Integrator(cp.Stepper):
    inputs = ["u"]
    outputs = ["y"]
    discrete = {"sum": 0.0}
    rolls_back = True

    def step(self, v, h):
        v["sum"] += h * v["u"]
        return v["sum"]


#------------------------------------ systems ------------------------------------


def test_files_and_python_in_one_loop(mass):
    s = cp.System("swing").add("body", mass, start={"x": 0.5, "m": 2.25}).add("spring", Spring())
    s.connect("body.f", "spring.f").connect("spring.x", "body.x")
    for rtol in (1e-5, 1e-8):
        r = s.simulate(stop=3, rtol=rtol)
        w = math.sqrt(4 / 2.25)
        assert np.abs(r["body.x"] - 0.5 * np.cos(w * r.time)).max() < 50 * rtol
    assert r.units["body.x"] == "m"


def test_couplings_by_functions(mass):
    calls = []

    def force(t, y):
        calls.append(t)
        return math.sin(t) - y[0] - 0.5 * y[1]

    s = cp.System().add("m", mass).couple(
        "m.f", force, reads=["m.x", "m.v"], gradient=lambda t, y: [-1, -0.5]
    )
    r = s.simulate(stop=4, rtol=1e-9)
    a, w = 0.25, math.sqrt(1 - 0.25**2)  # x'' + 0.5 x' + x = sin t: particular solution -2 cos t
    c1, c2 = 2.0, 2 * a / w
    t = r.time
    exact = -2 * np.cos(t) + np.exp(-a * t) * (c1 * np.cos(w * t) + c2 * np.sin(w * t))
    assert np.abs(r["m.x"] - exact).max() < 1e-6
    assert calls


def test_inputs_parameters_events(mass):
    s = cp.System().add("m", mass).parameter("f0", 3).input("wind", lambda t: 2 * t)
    s.input("table", ([0.0, 1.0, 3.0], [1.0, 1.0, 5.0])).connect("m.f", "f0 + wind - table")
    s.event("stop", at=1.0, set={"m.v": 0}).output("position", "m.x")
    r = s.simulate(stop=1.5, interval=0.5, rtol=1e-10)
    # f = 2 + 2 t until 1, then 3 + 2 t - (1 + 2 (t - 1)) = 4
    assert r["m.x"][-1] == pytest.approx(1 + 1 / 3 + 4 * 0.125, abs=1e-8)
    assert r["position"][-1] == r["m.x"][-1]
    assert list(r.time).count(1.0) == 2  # both sides of the event


def test_nested_systems_and_several_runs(mass):
    inner = cp.System("inner").add("body", mass, start={"x": 1.0}).input("k", start=1)
    inner.connect("body.f", "-k*body.x").output("x", "body.x")
    one = cp.System().add("sub", inner).connect("sub.k", 4)
    two = cp.System().add("sub", inner).connect("sub.k", 9)
    with one.open(rtol=1e-9) as a, two.open(rtol=1e-9) as b, one.open(rtol=1e-9) as c:
        for run in (a, b, c):
            run.advance(1)
        assert a["sub.x"] == pytest.approx(math.cos(2), abs=1e-6)
        assert b["sub.x"] == pytest.approx(math.cos(3), abs=1e-6)
        assert c["sub.x"] == a["sub.x"]


def test_masters(mass):
    s = cp.System().add("m", mass, as_="cs", start={"x": 1}).connect("m.f", "-m.x")
    s.master(algorithm="iterative", step=0.01, order=1)
    r = s.simulate(stop=2)
    assert r["m.x"][-1] == pytest.approx(math.cos(2), abs=2e-5)
    with pytest.raises(TypeError, match="a master has no stepp; it has algorithm"):
        s.master(stepp=1)


def test_linearize(mass):
    s = cp.System().add("m", mass, start={"m": 2}).connect("m.f", "-8*m.x - m.v")
    a = s.linearize().A
    assert np.allclose(a, [[0, 1], [-4, -0.5]], atol=1e-9)


def test_wrong_systems(mass):
    s = cp.System().add("m", mass)
    with pytest.raises(cp.InputError, match="did you mean m.f"):
        s.copy().connect("m.ff", 1).simulate()
    with pytest.raises(cp.InputError, match="m.xx"):
        s.copy().connect("m.f", "m.xx").simulate()
    with pytest.raises(cp.InputError):
        s.copy().add("m", mass).simulate()
    with pytest.raises(ValueError, match="as_"):
        s.add("n", mass, as_="ms")
    with pytest.raises(TypeError, match="an instance of Spring"):
        s.add("n", Spring)
    with pytest.raises(TypeError, match="a model is a file, a System"):
        cp.simulate(3)
    assert s.models == ("m",)
    assert s.connect("m.f", "-m.x").simulate(stop=0.1).time[-1] == 0.1  # the failures changed nothing


def test_functions_that_fail(mass):
    """A ModelError with the name, the time and the cause, also where the value is not used."""

    def fails(t, y=None):
        if t > 0.25:
            raise LookupError("no value")
        return 1.0

    unused = cp.System().add("m", mass).input("push", fails)
    used = unused.copy().connect("m.f", "push")
    coupled = cp.System().add("m", mass).couple("m.f", fails, reads=["m.x"])
    for s, name in ((unused, "push"), (used, "push"), (coupled, "m.f")):
        with pytest.raises(cp.ModelError, match=f"{name} failed at t=.*LookupError: no value") as caught:
            s.simulate(stop=1, record=["*"])
        assert isinstance(caught.value.__cause__, LookupError)
        assert caught.value.variable == name and caught.value.time > 0.25
        assert 0 <= caught.value.result.time[-1] < 1


@pytest.mark.parametrize("value", [1j, np.complex128(2), None, "1", b"1", [1.0, 2.0]])
def test_values_that_are_no_numbers(mass, value):
    class Wrong(cp.Model):
        states = {"x": 1.0}

        def derivatives(self, v):
            return value

    class Pair(cp.Model):
        states = {"x": 1.0, "z": 1.0}

        def derivatives(self, v):
            return [1.0, value]

    s = cp.System().add("m", mass)
    for run in (
        lambda: cp.simulate(Wrong(), stop=1),
        lambda: cp.simulate(Pair(), stop=1),
        lambda: s.copy().couple("m.f", lambda t, y: value, reads=["m.x"]).simulate(stop=1),
        lambda: s.copy().input("u", lambda t: value).connect("m.f", "u").simulate(stop=1),
    ):
        with pytest.raises(cp.ModelError):
            run()
    with pytest.raises(TypeError):
        cp.simulate(mass, stop=1, input={"f": lambda t: value})


@pytest.mark.parametrize("value", [Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.array(0.5), [0.5]])
def test_numbers_of_other_types(value):
    class Ramp(cp.Model):
        states = ["x"]

        def derivatives(self, v):
            return value

    assert cp.simulate(Ramp(), stop=1)["x"][-1] == pytest.approx(0.5)


def test_counts_of_a_master(mass):
    s = cp.System().add("m", mass, as_="cs")
    with pytest.raises(ValueError, match="iterations cannot be 4294967297"):
        s.master(step=0.1, iterations=2**32 + 1).simulate(stop=1)


@pytest.mark.parametrize(
    "table, text",
    [
        (([1.0, 0.0], [1.0, 2.0]), "time goes back"),
        (([], []), "no rows"),
        (([0.0, 1.0], [1.0, math.nan]), "not finite"),
    ],
)
def test_tables_that_are_no_inputs(mass, table, text):
    s = cp.System().add("m", mass).input("push", table).connect("m.f", "push")
    with pytest.raises(cp.InputError, match=f"push: .*{text}"):
        s.simulate(stop=1)


def test_systems_can_be_pickled(mass):
    s = cp.System("one").add("m", str(mass), start={"x": 2}).connect("m.f", "-m.x")
    copy = pickle.loads(pickle.dumps(s))
    assert np.array_equal(copy.simulate(stop=1)["m.x"], s.simulate(stop=1)["m.x"])


def test_pictures(mass, tmp_path):
    s = cp.System("pair").add("left", mass).add("spring", Spring())
    s.connect("left.f", "spring.f").connect("spring.x", "left.x")
    picture = s.draw()
    assert picture.startswith("<svg") and "spring" in picture and "left" in picture
    assert s._repr_svg_() == picture
    assert s.draw(tmp_path / "s.html") == str(tmp_path / "s.html")
    assert "<html" in (tmp_path / "s.html").read_text()[:500]
    with pytest.raises(cp.InputError):
        s.copy().connect("left.ff", 1).draw()
    page = s.simulate(stop=1)._repr_html_()
    assert page.startswith("<iframe") and "left.x" in page and len(page) < 2_000_000


#------------------------------------ models ------------------------------------


def test_a_model_with_events():
    r = cp.simulate(Ball(), stop=1.5, rtol=1e-9)
    t1 = math.sqrt(2 * 1.25 / 9.81)
    t2 = t1 + 2 * 0.5 * 9.81 * t1 / 9.81
    times = r.time[1:][np.diff(r["bounces"]) > 0]
    assert times[:2] == pytest.approx([t1, t2], abs=1e-7)
    v1 = 9.81 * t1 * 0.5
    at = (r.time > t1) & (r.time < t2)
    fly = r.time[at] - t1
    assert np.abs(r["h"][at] - (v1 * fly - 9.81 / 2 * fly**2)).max() < 1e-7


def test_time_events_and_the_end():
    class Clock(cp.Model):
        discrete = {"n": cp.Declaration(0, type="Integer", output=True)}

        def initialize(self, v):
            v.next_time = 0.25

        def event(self, v):
            if v.time_event:
                v["n"] += 1
                v.next_time = v.t + 0.25
                v.terminate = bool(v["n"] == 5)

    r = cp.simulate(Clock(), stop=10)
    assert r.time[-1] == 1.25
    assert r["n"][-1] == 5


def test_arrays():
    class Chain(cp.Model):
        states = {"x": cp.Declaration(1.0, size=3, output=True), "s": 0.0}
        parameters = {"rate": cp.Declaration(0.5, size=3)}

        def derivatives(self, v):
            assert v["x"].shape == (3,)
            return np.append(-v["rate"] * v["x"], v["x"].sum())

    s = cp.System().add("c", Chain(), start={"rate": np.array([1.0, 2.0, 3.0])})
    r = s.simulate(stop=1, rtol=1e-9)
    for i in range(3):
        assert r[f"c.x[{i + 1}]"][-1] == pytest.approx(math.exp(-(i + 1)), abs=1e-7)


def test_saved_states_of_models():
    with cp.open(Ball(), rtol=1e-8) as run:
        run.advance(0.4)
        snapshot = run.save()
        run.advance(1.2)
        first = run["h"], run["bounces"]
        run.restore(snapshot)
        run.advance(1.2)
        assert run["h"] == pytest.approx(first[0], abs=1e-6)  # the solver begins anew
        assert run["bounces"] == first[1]


@pytest.mark.parametrize(
    "result, cause",
    [
        (lambda: 1 / 0, ZeroDivisionError),
        (lambda: [1.0, 2.0], ValueError),
        (lambda: None, TypeError),
        (lambda: "text", (TypeError, ValueError)),
        (lambda: ["text"], (TypeError, ValueError)),
        (lambda: {}, (TypeError, ValueError)),
    ],
)
def test_exceptions_in_models(result, cause):
    class Model(cp.Model):
        states = {"x": 1.0}

        def derivatives(self, v):
            return result() if v.t > 0.5 else -v.x

    with pytest.raises(cp.ModelError) as caught:
        cp.System().add("bad", Model()).simulate(stop=1)
    error = caught.value
    assert isinstance(error.__cause__, cause)
    if cause is ZeroDivisionError:  # the others are raised by the library
        assert error.__cause__.__traceback__.tb_next.tb_frame.f_code.co_name == "<lambda>"
    assert "derivatives" in str(error) and "bad" in str(error)
    assert error.time > 0.5
    assert 0 < error.result.time[-1] <= 0.6


def test_nan_is_an_error():
    class Model(cp.Model):
        states = {"x": 1.0}

        def derivatives(self, v):
            return math.nan if v.t > 0.3 else 1.0

    with pytest.raises(cp.ModelError, match="nan"):
        cp.simulate(Model(), stop=1)


def test_exceptions_in_functions(mass):
    s = cp.System().add("m", mass)
    with pytest.raises(cp.ModelError) as caught:
        s.copy().couple("m.f", lambda t, y: y[7], reads=["m.x"]).simulate()
    assert isinstance(caught.value.__cause__, IndexError)
    with pytest.raises(cp.Error) as caught:
        s.copy().input("u", lambda t: [][0]).connect("m.f", "u").simulate()
    assert isinstance(caught.value.__cause__, IndexError)


def test_interrupts_are_raised_as_they_are():
    class Model(cp.Model):
        states = {"x": 1.0}

        def derivatives(self, v):
            if v.t > 0.5:
                raise KeyboardInterrupt
            return 0.0

    with pytest.raises(KeyboardInterrupt) as caught:
        cp.simulate(Model(), stop=1)
    assert caught.value.result.time[-1] > 0


def test_incomplete_models():
    class NoDerivatives(cp.Model):
        states = ["x"]

    class NoOutputs(cp.Model):
        outputs = ["y"]

    class NoStep(cp.Stepper):
        pass

    for model in (NoDerivatives, NoOutputs, NoStep):
        with pytest.raises(TypeError, match="no method"):
            cp.System().add("m", model())
    with pytest.raises(ValueError, match="isolate: models in Python"):
        cp.simulate(Ball(), isolate=True)
    with pytest.raises(ValueError, match="process of its own"):
        cp.System().add("m", Ball(), isolate=True)


#------------------------------------ steppers ------------------------------------


def test_a_stepper_in_a_master(mass):
    s = cp.System().add("i", Integrator()).add("m", mass, as_="cs", start={"v": 1})
    s.connect("i.u", "m.v").connect("m.f", 0).master(step=0.125)
    r = s.simulate(stop=2)
    assert r["i.y"] == pytest.approx(r.time, abs=1e-12)
    assert len(r.time) == 17


def test_steppers_roll_back():
    with cp.System().add("i", Integrator()).input("u", 2).connect("i.u", "u").master(step=0.1).open() as run:
        run.advance(0.5)
        snapshot = run.save()
        run.advance(1)
        assert run["i.y"] == pytest.approx(2)
        run.restore(snapshot)
        assert run["i.y"] == pytest.approx(1)
        run.advance(0.7)
        assert run["i.y"] == pytest.approx(1.4)


def test_a_stepper_that_keeps_values_of_its_own():
    class Counter(cp.Stepper):
        outputs = ["n"]

        def initialize(self, v):
            self.n = 0
            return 0

        def step(self, v, h):
            self.n += 1
            v.y[0] = self.n
            v.terminate = self.n == 7

    r = cp.System().add("c", Counter()).master(step=0.5).simulate(stop=10)
    assert r.time[-1] == 3.5
    assert list(r["c.n"]) == list(range(8))


#------------------------------------ threads, memory ------------------------------------


def test_runs_in_threads():
    results = {}

    def work(k):
        class Decay(cp.Model):
            states = {"x": 1.0}

            def derivatives(self, v):
                return -k * v.x

        results[k] = cp.simulate(Decay(), stop=1, rtol=1e-8)["x"][-1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(1, 5):
        assert results[k] == pytest.approx(math.exp(-k), abs=1e-6)


def test_garbage_in_any_order(mass):
    for order in range(4):
        s = cp.System().add("b", Ball()).add("m", mass)
        s.couple("m.f", lambda t, y: -y[0], reads=["m.x"])
        run = s.open()
        run.advance(0.1)
        keep = [s, run, run.reader(["b.h"]), run.save()]
        del s, run
        gc.collect()
        while keep:
            keep.pop(order % len(keep))
            gc.collect()


def test_cycles_are_collected(mass):
    import weakref

    class Holder(Ball):
        pass

    model = Holder()
    model.run = cp.System().add("b", model).open()
    model.run.advance(0.1)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_interrupts_in_python_code(python):
    """Ctrl-C, several times, while a model is in Python: an exception, and the interpreter goes on."""
    done = python(
        """
import couplet as cp, os, signal, threading, time

sleeps = threading.Event()

class Slow(cp.Model):
    states = {"x": 1.0}

    def derivatives(self, v):
        if v.t > 0.2:
            sleeps.set()
            time.sleep(60)
        return -v.x

def press():
    sleeps.wait()
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.7)

presses = threading.Thread(target=press)
presses.start()
try:
    cp.simulate(Slow(), stop=1)
except KeyboardInterrupt as error:
    kept = error.result.time[-1]
while presses.is_alive():
    try:
        presses.join()
    except KeyboardInterrupt:
        pass
class Fast(cp.Model):
    states = {"x": 1.0}

    def derivatives(self, v):
        return -v.x

print(0 < kept < 1, round(float(cp.simulate(Fast(), stop=1, rtol=1e-8)["x"][-1]), 6))
"""
    )
    assert done.stdout.split() == ["True", "0.367879"], done.stderr
