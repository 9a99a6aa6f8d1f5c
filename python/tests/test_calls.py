# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Systems by calls and the same systems as files; against analytic solutions."""

import math
import pickle

import numpy as np
import pytest

import couplet


@pytest.fixture
def pair(tank):
    """x' = u - x / 2 twice; what flows out of a flows into b"""
    s = couplet.System("pair").parameter("share", 0.5)
    s.add("a", tank, start={"x": 4, "u": 0}).add("b", tank, start={"x": 0})
    return s.connect("b.u", "share * a.x")


def test_connections(pair):
    r = pair.simulate(stop=3, rtol=1e-9)
    np.testing.assert_allclose(r["a.x"], 4 * np.exp(-r.time / 2), rtol=1e-6)
    np.testing.assert_allclose(r["b.x"], 2 * r.time * np.exp(-r.time / 2), rtol=1e-6, atol=1e-7)
    assert repr(pair) == "<couplet.System pair: 2 models>"


def test_the_same_as_a_file(pair, tank, tmp_path):
    (tmp_path / "pair.yaml").write_text(
        f"""couplet: 1
name: pair
parameters: {{share: 0.5}}
models:
  a: {{c: {tank}, start: {{x: 4, u: 0}}}}
  b: {{c: {tank}, start: {{x: 0}}}}
connections: {{b.u: share * a.x}}
"""
    )
    by_file = couplet.simulate(tmp_path / "pair.yaml", stop=3)
    by_calls = pair.simulate(stop=3)
    by_file.save(tmp_path / "a.csv")
    by_calls.save(tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_several_runs(pair):
    with pair.open() as one, pair.open(set={"a.x": 2}) as two:
        one.step(1)
        two.step(1)
        assert one["a.x"] == pytest.approx(2 * two["a.x"], rel=1e-4)
        two["a.u"] = 1.0
        snapshot = one.save()
        one.step(1)
        one.restore(snapshot)
        assert one.time == 1


def test_events(tank):
    s = couplet.System().add("a", tank)
    s.event(when="a.x < 1", set={"a.x": "2 * a.x + 1"}).event(at=[5.0], set={"a.x": 7})
    r = s.simulate(stop=6, rtol=1e-9)
    first = 2 * math.log(2)  # x = 2 exp(-t / 2)
    assert r.events[0] == pytest.approx(first, abs=1e-6) and 5.0 in r.events
    at = np.flatnonzero(r.time == r.events[0])
    np.testing.assert_allclose(r["a.x"][at], [1, 3], rtol=1e-6)
    assert r["a.x"][-1] == pytest.approx(7 * math.exp(-0.5), rel=1e-6)
    with pytest.raises(ValueError):
        s.event(set={"a.x": 1})


def test_inputs_and_outputs(tank, tmp_path):
    (tmp_path / "u.csv").write_text("time,flow\n0,1\n10,1\n")
    s = couplet.System().add("a", tank).add("b", tank).record("a.x", "sum")
    s.input("one", file=tmp_path / "u.csv", column="flow").input("two", "2 * time")
    s.connect("a.u", "one").connect("b.u", "two").output("sum", "a.x + b.x")
    r = s.simulate(stop=2, rtol=1e-9)
    assert r.names == ("a.x", "sum")
    np.testing.assert_allclose(r["a.x"], 2, rtol=1e-7)
    b = 4 * r.time - 8 + 10 * np.exp(-r.time / 2)
    np.testing.assert_allclose(r["sum"], 2 + b, rtol=1e-6)


def test_isolated(pair):
    plain = pair.simulate(stop=1)
    assert (plain["b.x"] == pair.simulate(stop=1, isolate=True)["b.x"]).all()


def test_linearize(pair):
    m = pair.linearize(only=["a.x", "b.x"])
    np.testing.assert_allclose(m.A, [[-0.5, 0], [0.5, -0.5]], atol=1e-6)


def test_pickle(pair):
    again = pickle.loads(pickle.dumps(pair))
    assert (again.simulate(stop=1)["b.x"] == pair.simulate(stop=1)["b.x"]).all()


def test_errors(tank, tmp_path):
    with pytest.raises(couplet.Error, match="a.y"):
        couplet.System().add("a", tank).connect("a.u", "a.y").simulate()
    with pytest.raises(couplet.Error, match="missing.fmu"):
        couplet.System().add("a", tmp_path / "missing.fmu").simulate()
    with pytest.raises(couplet.Error):
        couplet.System().add("a", tank).add("a", tank).simulate()
    with pytest.raises(couplet.Error):
        couplet.System().add("a", tank, start={"q": 1}).simulate()
    with pytest.raises(ValueError):
        couplet.System().add("a", tank, as_="xx")
    with pytest.raises(TypeError):
        couplet.System().add(1, tank).simulate()
