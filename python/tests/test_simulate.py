# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""simulate(): settings, inputs, results, against analytic solutions."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import couplet


def test_result(tank):
    r = couplet.simulate(tank, interval=0.5, set={"k": 0.25, "x": 3})
    assert r.names == ("high", "x")
    assert r.time.tolist() == [0.5 * i for i in range(9)]
    np.testing.assert_allclose(r["x"], 3 * np.exp(-0.25 * r.time), rtol=1e-7)
    assert r["high"].dtype == np.int64 and not r["high"].any()
    assert r.units == {"high": None, "x": "m3"}
    assert r.columns["high"].type == "Integer"
    assert len(r.events) == 0
    assert r.stats["steps"] > 10 and r.stats["reached"] == 4
    assert "x" in r and "y" not in r and list(r) == ["high", "x"]
    assert "2 columns" in repr(r)
    assert r["time"] is r.time


def test_no_copies(tank):
    r = couplet.simulate(tank)
    assert r["x"].base is not None and r.time.base is not None
    def address(a):
        return a.__array_interface__["data"][0]

    assert address(r["high"]) == address(r.time) + r.time.nbytes
    assert address(r["x"]) == address(r.time) + 2 * r.time.nbytes
    x = r["x"]
    expected = x.copy()
    del r
    assert (x == expected).all()  # the memory lives as long as the array


def test_types(root):
    r = couplet.simulate(root / "examples" / "types" / "types.c", record="*")
    kinds = {c.type for c in r.columns.values()}
    assert {"Real", "Integer", "Boolean", "String"} <= kinds
    for name, column in r.columns.items():
        if column.type == "Boolean":
            assert r[name].dtype == np.bool_
        if column.type == "String":
            assert all(isinstance(text, str) for text in r[name])


def test_record(tank):
    r = couplet.simulate(tank, record=["k", "x*", "label"], stop=0.1)
    assert r.names == ("k", "x", "label")
    assert set(r["label"]) == {"tank"}
    assert r.columns["k"].constant or (r["k"] == 0.5).all()


def rising(t):
    return 0.8 * t


# u = 0.8 t: x = 1.6 t - 3.2 + 5.2 exp(-t / 2) for x(0) = 2
def ramp(t):
    return 1.6 * t - 3.2 + 5.2 * np.exp(-0.5 * t)


@pytest.mark.parametrize("kind", ["file", "arrays", "function", "frame", "index", "structured"])
def test_inputs(kind, tank, tmp_path):
    times, values = [0.0, 1.0, 4.0], [0.0, 0.8, 3.2]
    given = {
        "arrays": {"u": (times, values)},
        "function": {"u": rising},
        "frame": pd.DataFrame({"time": times, "u": values}),
        "index": pd.DataFrame({"u [m3/s]": values}, index=times),
        "structured": np.array(list(zip(times, values)), dtype=[("time", float), ("u", float)]),
        "file": tmp_path / "u.csv",
    }[kind]
    (tmp_path / "u.csv").write_text("time,u\n0,0\n1,0.8\n4,3.2\n")
    r = couplet.simulate(tank, input=given)
    np.testing.assert_allclose(r["x"], ramp(r.time), rtol=1e-7)
    assert r["high"][-1] == 1
    np.testing.assert_allclose(r.events[0], 1.25, atol=1e-8)
    at = np.flatnonzero(r.time == r.events[0])
    assert r["high"][at].tolist() == [0, 1]  # both sides of the event


def test_jump(tank):
    r = couplet.simulate(tank, input={"u": ([0, 1, 1, 4], [0, 0, 3, 3])})
    assert 1.0 in r.events
    after = r.time >= 1
    x1 = 2 * math.exp(-0.5)
    expected = 6 + (x1 - 6) * np.exp(-0.5 * (r.time[after] - 1))
    np.testing.assert_allclose(r["x"][after], expected, rtol=1e-7)


def test_units_of_inputs(tank):
    table = np.array([(0.0, 1000.0), (4.0, 1000.0)], dtype=[("time", float), ("u [l/s]", float)])
    r = couplet.simulate(tank, input=table)  # 1 m3/s
    np.testing.assert_allclose(r["x"], 2, rtol=1e-9)


@pytest.mark.parametrize("solver", couplet.solvers)
def test_solvers(solver, tank):
    r = couplet.simulate(tank, solver=solver, rtol=1e-7, step=1e-3)
    tolerance = 1e-2 if solver == "euler" else 1e-5
    np.testing.assert_allclose(r["x"], 2 * np.exp(-0.5 * r.time), rtol=tolerance)


def test_save_and_read(tank, tmp_path, command):
    r = couplet.simulate(tank, input={"u": ([0, 4], [0, 2])}, record="*")
    r.save(tmp_path / "a.csv")
    r.save(tmp_path / "a.mat")
    r.save(tmp_path / "units.csv", units=True)
    assert "x [m3]" in (tmp_path / "units.csv").read_text().splitlines()[0]
    for name in ("a.csv", "a.mat"):
        back = couplet.read(tmp_path / name)
        assert (back["x"] == r["x"]).all() and (back.time == r.time).all()
        assert back.events.tolist() == r.events.tolist()
    again = couplet.read(tmp_path / "a.mat")
    again.save(tmp_path / "b.csv")
    assert couplet.read(tmp_path / "b.csv")["x"].tolist() == r["x"].tolist()


@pytest.mark.parametrize(
    "given, text",
    [
        ({"u": 1.0}, "u: an input is .times, values. or a function"),
        ({"u": [0.0, 5.0]}, "u: times and values are vectors"),
        ({"u": pd.Series([1.0, 2.0])}, "u: an input is .times, values."),
        ({"u": ([0, 1], [1j, 2])}, "u: times and values are numbers"),
        (pd.DataFrame({"time": pd.to_timedelta([0, 4], unit="s"), "u": [1, 2]}), "time: .* in seconds"),
        (pd.DataFrame({"u": [1, 2]}, index=pd.to_datetime(["2021-03-04", "2021-03-05"])), "time: .* in seconds"),
        (pd.DataFrame({"time": [0, 4], "u": ["a", "b"]}), "u: could not convert"),
        (pd.DataFrame({"time": [0, 4], 7: [1, 2]}), "there is no input .7"),
    ],
)
def test_inputs_that_are_none(tank, given, text):
    with pytest.raises((TypeError, ValueError), match=text):
        couplet.simulate(tank, input=given)


def test_the_unit_of_a_column_time(tank):
    """The column is the time, not the index."""
    frame = pd.DataFrame({"Time [s]": [0.0, 2.0, 4.0], "u": [0.0, 1.0, 1.0]})
    plain = frame.rename(columns={"Time [s]": "time"})
    a, b = (couplet.simulate(tank, input=f, input_ignore_extra=True) for f in (frame, plain))
    assert a["x"].tolist() == b["x"].tolist()


def test_texts_that_are_none(tank):
    with pytest.raises(TypeError, match="k: .*NoneType"):
        couplet.simulate(tank, set={"k": None})
    with pytest.raises(TypeError, match="k: .*NoneType"):
        couplet.System().add("t", tank, start={"k": None})
    with pytest.raises(TypeError, match="set is a dict"):
        couplet.simulate(tank, set=[("k", 1)])
    for name in (3, None):
        with pytest.raises(TypeError, match=f"is a str, not {name}"):
            couplet.simulate(tank, set={name: 1})
        with pytest.raises(TypeError, match=f"is a str, not {name}"):
            couplet.simulate(tank, record=[name])
        with pytest.raises(TypeError, match=f"is a str, not {name}"):
            couplet.System(name)
    for path in (f"{tank}\0.yaml", f"{tank}\0".encode()):
        with pytest.raises(ValueError, match="null"):
            couplet.simulate(path)


def test_pickle(tank, tmp_path):
    r = couplet.simulate(tank, record="*")
    back = pickle.loads(pickle.dumps(r))
    assert back.names == r.names and back.units == r.units and back.stats == r.stats
    for name in r:
        assert (back[name] == r[name]).all() and back[name].dtype == r[name].dtype
    r.save(tmp_path / "a.csv")
    back.save(tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    back.view(tmp_path / "b.svg")


def test_pandas(tank):
    frame = couplet.simulate(tank).to_pandas()
    assert frame.index.name == "time" and list(frame.columns) == ["high", "x"]


def test_view(tank, tmp_path):
    r = couplet.simulate(tank)
    page = r.view(tmp_path / "r.html", "x")
    assert "<html" in open(page).read()[:500].lower()
    r.view(tmp_path / "r.svg")
    assert "<svg" in (tmp_path / "r.svg").read_text()
    with pytest.raises(couplet.InputError):
        r.view(tmp_path / "r.pdf")


def test_fmu(tank, tank_fmu):
    model = couplet.simulate(tank, interval=0.5)
    me = couplet.simulate(tank_fmu, as_="me", interval=0.5)
    cs = couplet.simulate(tank_fmu, as_="cs", interval=0.5)
    np.testing.assert_allclose(me["x"], model["x"], rtol=1e-7)
    np.testing.assert_allclose(cs["x"], model["x"], rtol=1e-5)


def test_isolated(tank):
    plain, isolated = couplet.simulate(tank), couplet.simulate(tank, isolate=True)
    assert (plain["x"] == isolated["x"]).all()


def test_info(tank, tank_fmu, root):
    for path, kinds in ((tank, ("me",)), (tank_fmu, ("me", "cs"))):
        about = couplet.info(path)
        assert about.name == "tank" and about.kinds == kinds and not about.is_system
        assert about.states == ("x",) and about.inputs == ("u",) and "k" in about.parameters
        x = about.variables["x"]
        assert (x.unit, x.type, x.start, x.variability) == ("m3", "Real", 2.0, "continuous")
        assert about.variables["high"].type == "Integer"
        assert about.variables["label"].start == "tank"
        assert about.experiment.stop == 4
        assert "tank" in repr(about)
    with pytest.raises(KeyError) as caught:
        about.variables["hihg"]
    assert caught.value.nearest == ("high",)
    assert couplet.info(root / "examples" / "two_masses" / "two_masses.yaml").is_system


def test_check(tank, tank_fmu, tmp_path, command):
    assert couplet.check(tank) == [] and couplet.check(tank_fmu) == []
    assert [f.severity for f in couplet.check(tank, strict=True)].count("error") == 0
    path = tmp_path / "wrong.yaml"
    path.write_text("couplet: 1\nmodels:\n  b: { d: b.c }\n")
    (finding,) = couplet.check(path)
    assert (finding.severity, finding.line, finding.column, finding.rule) == ("error", 3, 8, "open")
    import json

    done = json.loads(command("check", "--json", path, check=False).stdout)
    assert done["findings"][0]["text"] == finding.text
    assert couplet.check(tmp_path / "missing.fmu")[0].severity == "error"


def test_linearize(tank, root, command, tmp_path):
    m = couplet.linearize(tank, at=1, set={"k": 0.75, "u": 0.75})
    assert (m.states, m.inputs, m.outputs) == (("x",), ("u",), ("x",))
    A, B, C, D = m
    np.testing.assert_allclose(A, [[-0.75]], rtol=1e-8)
    np.testing.assert_allclose(B, [[1]], rtol=1e-8)
    assert C.tolist() == [[1]] and D.tolist() == [[0]]
    np.testing.assert_allclose(m.x, 1 + math.exp(-0.75), rtol=1e-8)
    np.testing.assert_allclose(m.dx, -0.75 * math.exp(-0.75), rtol=1e-7)
    assert m.u.tolist() == [0.75]
    with pytest.raises(couplet.Error):
        couplet.linearize(tank, only=["nothing"])
    import json

    path = root / "examples" / "two_masses" / "two_masses.yaml"
    command("linearize", path, "--at", 1, "-o", tmp_path / "l.json")
    expected = json.loads((tmp_path / "l.json").read_text())
    m = couplet.linearize(path, at=1)
    assert expected["A"] == m.A.tolist()


# (s + 3) / ((s + 1) (s + 2)), and a state that nothing reads
RATIONAL = """#include <math.h>
#include <couplet/model.h>
static const cpl_declaration states[] = {{"a"}, {"b"}, {"rest"}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0] + v->u[0]; dx[1] = -2 * v->x[1] + v->u[0]; dx[2] = 1 - exp(5 * v->x[2]);
  return CPL_MODEL_OK;
}
static int values(const cpl_values* v, double* y) { y[0] = 2 * v->x[0] - v->x[1]; return CPL_MODEL_OK; }
const cpl_model_def couplet_model = {.name = "rational", .states = states, .inputs = inputs,
  .outputs = outputs, .derivatives = derivatives, .output_values = values};
"""


def test_poles_zeros_reduction(tmp_path):
    (tmp_path / "rational.c").write_text(RATIONAL)
    m = couplet.linearize(tmp_path / "rational.c")
    np.testing.assert_allclose(m.poles, [-1, -2, -5], rtol=1e-12)
    np.testing.assert_allclose(sorted(m.zeros.real), [-5, -3], rtol=1e-9)  # also of what nothing reads
    some = couplet.linearize(tmp_path / "rational.c", only=["a", "u", "y"])
    assert some.states == ("a",) and len(some.poles) == 3
    small = couplet.linearize(tmp_path / "rational.c", reduce=1)
    assert small.states == ("r1",) and small.kept == 0 and small.hankel[0] > small.hankel[1] > 0
    assert small.bound == pytest.approx(2 * small.hankel[1:].sum())
    gain = small.D[0, 0] - small.C[0, 0] * small.B[0, 0] / small.A[0, 0]
    assert gain == pytest.approx(1.5, rel=1e-12)  # exact at zero frequency
    for omega in (0.1, 1, 3):
        s = 1j * omega
        there = small.D[0, 0] + small.C[0, 0] * small.B[0, 0] / (s - small.A[0, 0])
        assert abs(there - (s + 3) / ((s + 1) * (s + 2))) <= small.bound
    inexact = couplet.linearize(tmp_path / "rational.c", ad=False)
    assert inexact.A.tolist() != m.A.tolist()  # differences
    np.testing.assert_allclose(inexact.A, m.A, atol=1e-8)
    with pytest.raises(couplet.InputError):
        couplet.linearize(tmp_path / "rational.c", reduce=3)
    with pytest.raises(ValueError, match="number of states"):
        couplet.linearize(tmp_path / "rational.c", reduce=-1)


def test_progress(slow):
    seen = []
    couplet.simulate(slow, set={"pause": 0.01}, step=0.02, progress=lambda t, h: seen.append((t, h)))
    assert seen and all(0 <= t <= 1 and h > 0 for t, h in seen)
