# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""open(): stepping by hand, values one by one and in bulk, saved states."""

import math

import numpy as np
import pytest

import couplet


def test_steps(tank):
    with couplet.open(tank) as run:
        assert run.time == 0 and not run.started and run.stop_time == math.inf
        for i in range(1, 11):
            assert run.step(0.5) == pytest.approx(0.5 * i, abs=1e-12)
        assert run["x"] == pytest.approx(2 * math.exp(-2.5), rel=1e-7)
        assert run.started and not run.finished
        assert run.advance(5.0) == 5.0
        r = run.result
        assert r.time.tolist() == [0.5 * i for i in range(11)]
    assert run.closed and len(run.result.time) == 11 and run.result.stats["rows"] == 11
    assert (run.result["x"] == r["x"]).all()


def test_start_values(tank):
    with couplet.open(tank, set={"k": 4, "x": 7}) as run:
        run["k"] = 0.25  # replaces the one above
        run["label"] = "another"
        assert run["label"] == "another" and run["x"] == 7
        run.advance(2)
        assert run["x"] == pytest.approx(7 * math.exp(-0.5), rel=1e-7)
        with pytest.raises(couplet.InputError, match="cannot be set during a run"):
            run["k"] = 1
        with pytest.raises(couplet.InputError):
            run["label"] = "late"


def test_inputs_between_steps(tank):
    with couplet.open(tank, interval=0.25) as run:
        run.advance(1)
        run["u"] = 3
        assert run["u"] == 3.0 and run["high"] == 1 and isinstance(run["high"], int)
        run.advance(4)
        x = 6 + (2 * math.exp(-0.5) - 6) * math.exp(-1.5)
        assert run["x"] == pytest.approx(x, rel=1e-7)
        assert run.result.events.tolist() == [1.0]


def test_states_are_set(tank):
    with couplet.open(tank) as run:
        run.step(1)
        run["u"] = 0.5
        run["x"] = 5
        assert run["x"] == 5
        run.step(1)
        assert run["x"] == pytest.approx(1 + 4 * math.exp(-0.5), rel=1e-7)


def test_bulk(tank):
    with couplet.open(tank) as run:
        reader, writer = run.reader(["high", "x", "u"]), run.writer(["u", "x"])
        assert reader.names == ("high", "x", "u") and len(writer) == 2
        assert reader.read().tolist() == [0, 2, 0]
        writer.write([2, 3])
        assert reader.read().tolist() == [1, 3, 2]
        run.step(2)
        first = reader.read()
        assert first[1] == pytest.approx(4 - math.exp(-1), rel=1e-7)
        writer.values[:] = 0.5, 1
        writer.update()
        reader.update()
        assert reader.values.tolist() == [1, 1, 0.5] and first[2] == 2
        assert run.get(["x", "u"]).tolist() == [1, 0.5]
        run.set({"u": 0.75, "x": 2})
        assert run.get("x").tolist() == [2]
        for wrong in (1.0, [1], [1, 2, 3], [[1, 2]]):
            with pytest.raises(ValueError):
                writer.write(wrong)
        with pytest.raises(ValueError):
            writer.write(["a", "b"])
        with pytest.raises(KeyError) as caught:
            run.reader(["x", "hihg"])
        assert caught.value.name == "hihg" and "high" in caught.value.nearest
        with pytest.raises(couplet.InputError, match="String"):
            run.reader(["label"])
        assert run.reader([]).read().tolist() == []


def test_snapshots(tank):
    with couplet.open(tank) as run:
        run.advance(1)
        snapshot = run.save()
        assert snapshot.time == 1.0
        ends = []
        for u in (0, 0.9, 0):
            run["u"] = u
            run.advance(3)
            ends.append(run["x"])
            assert ends[-1] == pytest.approx(2 * u + (2 * math.exp(-0.5) - 2 * u) * math.exp(-1), rel=1e-7)
            run.restore(snapshot)
            assert run.time == 1 and run.result.time[-1] == 1
        assert ends[0] == ends[2]
        with couplet.open(tank) as other:
            other.step(1)
            with pytest.raises(couplet.InputError, match="another run"):
                other.restore(snapshot)


def test_stop_time(tank):
    with couplet.open(tank, stop=1) as run:
        assert run.step(0.75) == 0.75
        assert run.step(0.75) == 1.0
        with pytest.raises(couplet.InputError, match="stop time"):
            run.step(0.1)
        run.finish()
        assert run.finished
        with pytest.raises(couplet.InputError, match="finished"):
            run.step(0.1)


@pytest.mark.parametrize("wrong", [0, -1, math.nan])
def test_wrong_steps(wrong, tank):
    with couplet.open(tank) as run:
        with pytest.raises(ValueError):
            run.step(wrong)
        run.step(1)
        with pytest.raises(ValueError):
            run.advance(0.5)
        with pytest.raises(couplet.Error):
            run.step(math.inf)
        assert run.advance(1) == 1
        with pytest.raises(TypeError):
            run.step("1")


def test_terminated(root):
    with couplet.open(root / "examples" / "bouncing_ball" / "bouncing_ball.c") as run:
        names = run.names
        assert "h" in names
        run.advance(1)
        assert not run.terminated


def test_co_simulation(tank_fmu):
    with couplet.open(tank_fmu, as_="cs") as run:
        while run.time < 2 - 1e-9:
            run.step(0.125)
        assert run["x"] == pytest.approx(2 * math.exp(-1), rel=1e-5)
        run["u"] = 1
        run.step(1)
        expected = 2 + (2 * math.exp(-1) - 2) * math.exp(-0.5)
        assert run["x"] == pytest.approx(expected, rel=1e-5)


def test_systems(root):
    folder = root / "examples"
    for name in ("two_masses/two_masses.yaml", "two_mass_cosimulation/two_mass_cosimulation.yaml"):
        path = folder / name
        if not path.exists():
            path = next((folder / name.split("/")[0]).glob("*.yaml"))
        whole = couplet.simulate(path, stop=1)
        with couplet.open(path, stop=1) as run:
            for i in range(1, 5):
                run.advance(0.25 * i)
            for column in whole.names[:4]:
                np.testing.assert_allclose(run[column], whole[column][-1], rtol=1e-4, atol=1e-7)


def test_several_runs(tank):
    runs = [couplet.open(tank, set={"k": 0.1 * i}) for i in range(5)]
    for _ in range(4):
        for run in runs:
            run.step(0.5)
    for i, run in enumerate(runs):
        assert run["x"] == pytest.approx(2 * math.exp(-0.2 * i), rel=1e-7)
        run.close()


def test_linearize_there(tank):
    with couplet.open(tank, one_solver=True, form="ode", set={"u": 0.5}) as run:
        run.step(1)
        m = run.linearize()
        assert m.time == 1.0 and m.A[0, 0] == pytest.approx(-0.5)
        run.step(1)
        assert run["x"] == pytest.approx(1 + math.exp(-1), rel=1e-6)
