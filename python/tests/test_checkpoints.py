# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints: simulate(checkpoint=, resume=, start_from=) and Run.checkpoint()."""

import math
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import couplet


def same(a, b):
    assert list(a) == list(b) and a.time.tolist() == b.time.tolist()
    for name in a:
        assert np.asarray(a[name]).tolist() == np.asarray(b[name]).tolist(), name
    return True


def test_a_run_is_not_changed_and_resumes_anywhere(tank, tmp_path):
    path = tmp_path / "tank.state"
    settings = dict(record=["*"], input={"u": ([0, 1, 1, 4], [0, 2, 0.5, 3])}, set={"label": "blue"})
    whole = couplet.simulate(tank, **settings)
    assert "label" in whole
    assert same(whole, couplet.simulate(tank, checkpoint=path, every=1e-6, **settings))
    assert same(whole, couplet.simulate(tank, resume=path, **settings))  # from the end
    for i in range(0, len(whole.time), 31):
        with couplet.open(tank, stop=4, **settings) as run:
            run.advance(whole.time[i])
            run.checkpoint(path)
            so_far = len(run.result.time)
        resumed = couplet.open(tank, stop=4, resume=str(path), **settings)
        resumed.start()
        assert resumed.time == whole.time[i] and len(resumed.result.time) == so_far
        resumed.advance(4)
        assert same(whole, resumed.result)
        resumed.close()


class Decay(couplet.Model):
    states = {"x": 1.0}
    inputs = ["u"]

    def derivatives(self, v):
        return v["u"] - v["x"]


def test_functions_and_models_of_python(tmp_path):
    path = tmp_path / "a.state"
    settings = dict(stop=3, input={"u": math.sin})
    whole = couplet.simulate(Decay(), **settings)
    assert same(whole, couplet.simulate(Decay(), checkpoint=path, every=1e-6, **settings))
    with couplet.open(Decay(), **settings) as run:
        run.advance(whole.time[77])
        run.checkpoint(path)
    assert same(whole, couplet.simulate(Decay(), resume=path, **settings))
    with pytest.raises(couplet.InputError, match="content in Python"):
        couplet.simulate(Decay(), resume=path, stop=3, input={"u": lambda t: math.sin(2 * t)})


KILLED = """
import sys, time, couplet
couplet.simulate(sys.argv[1], checkpoint=sys.argv[2], every=1e-6, progress=lambda t, h: time.sleep(0.02))
"""


DECAY = """
#include <couplet/model.h>
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .start = 1}, {0}};
const cpl_model_def couplet_model = {.name = "decay", .states = states, .derivatives = derivatives, .stop_time = 2};
"""


@pytest.fixture(scope="module")
def decay(tmp_path_factory):
    path = tmp_path_factory.mktemp("decay") / "decay.c"
    path.write_text(DECAY)
    return path


@pytest.fixture
def van_der_pol(root):
    return root / "examples/van_der_pol/van_der_pol.c"


def test_a_killed_process_resumes(van_der_pol, tmp_path):
    path = tmp_path / "killed.state"
    whole = couplet.simulate(van_der_pol)
    for i in range(3):
        path.unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(van_der_pol), str(path)])
        for _ in range(3000):
            if path.exists() or process.poll() is not None:
                break
            time.sleep(0.01)
        time.sleep(0.02 * i)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert same(whole, couplet.simulate(van_der_pol, resume=path))


def test_other_runs_start_from_a_state(decay, tmp_path):
    path = tmp_path / "warm.state"
    couplet.simulate(decay, stop=1, rtol=1e-10, checkpoint=path)
    a = couplet.simulate(decay, start_from=path, stop=3, rtol=1e-10)
    assert a.time[0] == 1 and a["x"][-1] == pytest.approx(math.exp(-3), rel=1e-8)
    b = couplet.simulate(decay, start_from=path, at=2, stop=3, rtol=1e-10, set={"x": 5})
    assert b.time[0] == 2 and b["x"][-1] == pytest.approx(5 * math.exp(-1), rel=1e-8)
    with couplet.open(decay, start_from=path, rtol=1e-10) as run:
        with pytest.raises(couplet.InputError, match="once it has been started"):
            run["x"] = 7  # before the state is there
        run.start()
        run["x"] = 7
        assert run.time == 1 and run["x"] == 7


def test_what_does_not_fit_is_refused(decay, van_der_pol, tmp_path, command):
    path = tmp_path / "a.state"
    couplet.simulate(decay, checkpoint=path)
    for settings, text in (
        (dict(solver="radau"), "solver"),
        (dict(rtol=1e-3), "rtol"),
        (dict(set={"x": 3}), "set"),
    ):
        with pytest.raises(couplet.InputError, match=text):
            couplet.simulate(decay, resume=path, **settings)
    with pytest.raises(couplet.InputError, match="another run"):
        couplet.simulate(van_der_pol, resume=path)
    data = path.read_bytes()
    bad = tmp_path / "bad.state"
    for damaged in (data[:-1], data[:100], b"", data[:200] + b"x" + data[201:]):
        bad.write_bytes(damaged)
        with pytest.raises(couplet.InputError, match="bad.state"):
            couplet.simulate(decay, resume=bad)
    with pytest.raises((couplet.InputError, OSError), match="nowhere"):
        couplet.simulate(decay, checkpoint=tmp_path / "nowhere" / "a.state")
    with pytest.raises((couplet.InputError, OSError)):
        couplet.simulate(decay, resume=tmp_path / "missing.state")
    # the command keeps its rows in their file, Python in the checkpoint
    command("run", decay, "-q", "-o", tmp_path / "a.csv", "--checkpoint", path)
    with pytest.raises(couplet.InputError, match="in their file"):
        couplet.simulate(decay, resume=path)
    assert couplet.simulate(decay, start_from=path, stop=9).time[-1] == 9


def test_systems_in_memory_are_recognised(decay, tmp_path):
    path = tmp_path / "a.state"

    def system(factor):
        s = couplet.System("two")
        s.add("a", decay)
        s.add("b", decay, start={"x": factor})
        return s

    couplet.simulate(system(2), stop=1, checkpoint=path)
    couplet.simulate(system(2), stop=1, resume=path)
    with pytest.raises(couplet.InputError, match="content in Python"):
        couplet.simulate(system(3), stop=1, resume=path)


@pytest.mark.parametrize(
    "settings, text",
    (
        (dict(every=3), "goes with checkpoint"),
        (dict(at=3), "goes with start_from"),
        (dict(checkpoint="a", every="soon"), "no time"),
        (dict(checkpoint="a", every=-1), "positive"),
        (dict(resume="a", start_from="b"), "or it starts from"),
        (dict(start=1, start_from="b"), "at the time of at"),
    ),
)
def test_keywords_are_checked(decay, settings, text):
    with pytest.raises(ValueError, match=text):
        couplet.simulate(decay, **settings)


def test_times_are_those_of_the_command():
    from couplet._settings import seconds

    assert [seconds(x) for x in (600, "600", "30s", "10min", "10 min", "1h", "1e-3s", "2d")] == [
        600, 600, 30, 600, 600, 3600, 1e-3, 172800]


def test_a_run_that_cannot_be_stored_says_why(tmp_path):
    class Counter(couplet.Stepper):
        outputs = ["n"]

        def step(self, v, h):
            return v["n"] + 1

    with couplet.open(Counter(), stop=3, step=1) as run:
        run.step(1)
        with pytest.raises(couplet.Error, match="a state as bytes is not offered"):
            run.checkpoint(tmp_path / "a.state")
        run.step(1)  # it goes on
