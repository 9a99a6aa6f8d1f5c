# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Fits and optimizations in Python against closed forms."""

import math

import couplet
import numpy as np
import pytest


class Decay(couplet.Model):
    """x' = -k x"""

    states = {"x": 2.0}
    parameters = {"k": 0.5}

    def derivatives(self, v):
        return [-v.p[0] * v.x[0]]


@pytest.fixture
def tank(root):
    return root / "examples" / "tank_level" / "tank.c"


@pytest.fixture
def measured(tank):
    run = couplet.simulate(tank, stop=300, interval=10, set={"drain": 0.0035}, rtol=1e-10)
    noise = np.random.default_rng(3).normal(0, 0.002, len(run.time))
    return {"time": run.time, "level": run["level"] + noise}


def test_fit(tank, measured):
    calls = []
    f = couplet.fit(tank, measured, {"drain": (0.003, 0.001, 0.01), "level": None}, stop=300, progress=calls.append)
    p = f.parameters["drain"]
    assert p.low < 0.0035 < p.high and 0 < p.deviation < 1e-4 and p.unit == "m2"
    assert f["drain"] == p.value and f.correlation.shape == (2, 2) and not p.undetermined
    assert f.failed == 0 and f.failure is None and f.runs == calls[-1]["runs"]
    column = f.columns[0]
    assert column.name == "level" and column.estimated
    np.testing.assert_array_equal(column.measured, measured["level"])
    assert column.rms == pytest.approx(math.sqrt(np.mean((column.measured - column.fitted) ** 2)))
    assert f"drain = {p.value:.6g} +- " in repr(f)


def test_several_data(tank, measured):
    other = couplet.simulate(tank, stop=100, interval=10, set={"drain": 0.0035, "level": 3})
    f = couplet.fit(
        tank,
        [measured, ({"time": other.time, "level": other["level"]}, {"level": 3, "weight": 2})],
        ["drain=0.003"],
        stop=300,
        sigma={"level": 0.002},
        loss="huber",
    )
    assert f["drain"] == pytest.approx(0.0035, rel=1e-3)
    assert [c.data for c in f.columns] == [0, 1] and not f.columns[0].estimated


def test_the_section_of_a_system(tank, measured, tmp_path):
    rows = "".join(f"{t},{h}\n" for t, h in zip(measured["time"], measured["level"]))
    (tmp_path / "measured.csv").write_text("time,tank.level\n" + rows)
    (tmp_path / "tank.c").write_bytes(tank.read_bytes())
    system = tmp_path / "system.yaml"
    system.write_text(
        "couplet: 1\nmodels: {tank: {c: tank.c}}\nexperiment: {stop: 300}\n"
        "fit: {data: measured.csv, vary: {tank.drain: '0.003:0.001:0.01'}, confidence: 0.5, loss: huber}\n"
    )
    f, g = couplet.fit(system), couplet.fit(system, vary="tank.drain=0.004", loss="squares", confidence=0.99)
    p, q = f.parameters["tank.drain"], g.parameters["tank.drain"]
    assert p.guess == 0.003 and q.guess == 0.004 and q.greatest > 1
    assert p.value == pytest.approx(0.0035, rel=1e-2) and q.value == pytest.approx(0.0035, rel=1e-2)
    assert q.high - q.low > 2 * (p.high - p.low)
    with pytest.raises(couplet.InputError, match="there are no data"):
        couplet.fit(tank, vary="drain")


def test_workers(tank, measured):
    data = [(measured, {"level": level}) for level in (1.0, 1.01)]
    found = [
        couplet.fit(tank, data, {"drain": 0.003}, stop=300, differences=True, workers=workers)
        for workers in (1, 2, 4, None)
    ]
    assert all(f.parameters == found[0].parameters and f.runs == found[0].runs for f in found)
    best = [couplet.optimize(tank, {"drain": 0.003}, minimize="(final(level) - 0.5)^2", stop=300, workers=w) for w in (1, 3)]
    assert best[0]["drain"] == best[1]["drain"] and best[0].runs == best[1].runs
    with pytest.raises(ValueError, match="from 1 on"):
        couplet.fit(tank, measured, "drain", workers=0)
    decay = {"time": [1, 2, 3], "x": [1.1, 0.6, 0.33]}
    assert couplet.fit(Decay(), decay, "k", stop=3)["k"] == pytest.approx(0.6, rel=0.05)
    with pytest.raises(couplet.InputError, match="a search with several workers"):
        couplet.fit(Decay(), decay, "k", stop=3, workers=2)


def test_optimize(tank):
    best = couplet.optimize(
        tank, {"drain": (0.003, 0.001, 0.01)}, maximize="final(level)", subject_to="max(level) <= 1.2", stop=300
    )
    assert best.constraints[0].active and best.value == pytest.approx(1.2, rel=1e-5)
    assert "drain" in repr(best)


def test_mistakes(tank, measured):
    with pytest.raises(couplet.InputError, match="is it drain"):
        couplet.fit(tank, measured, "drian", stop=300)
    with pytest.raises(couplet.InputError, match="outside of the run"):
        couplet.fit(tank, measured, "drain", stop=100)
    with pytest.raises(ValueError, match="loss is squares"):
        couplet.fit(tank, measured, "drain", loss="abs", stop=300)
    with pytest.raises(couplet.InputError, match="row 1"):
        couplet.fit(tank, {"time": [0, 1, 2], "level": [1, math.nan, 2]}, "drain")
    with pytest.raises(TypeError, match="minimize or maximize"):
        couplet.optimize(tank, "drain")
    with pytest.raises(couplet.InputError, match="expected EXPR <= EXPR"):
        couplet.optimize(tank, "drain", minimize="final(level)", subject_to="final(level)")

    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        couplet.fit(tank, measured, "drain", stop=300, progress=stop)
