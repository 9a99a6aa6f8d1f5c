# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""SSP packages: the house of the examples, against the solution that its README derives."""

import math
import pathlib
import shutil

import pytest

import couplet

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ssp_house"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ssp")
    shutil.copytree(EXAMPLE / "house", folder / "house")
    for name in ("room", "heater"):
        couplet.build(EXAMPLE / f"{name}.c", folder / "house" / "resources" / f"{name}.fmu")
    text = (folder / "house" / "SystemStructure.ssd").read_text()
    cold = text.replace('name="house"', 'name="without heating"', 1).replace('source="resources/winter.ssv"', 'source="cold.ssv"')
    (folder / "house" / "Cold.ssd").write_text(cold)
    (folder / "house" / "cold.ssv").write_text(values(gain=0, T_outside=-20))
    return folder


def values(**given):
    rows = "".join(f"<v:Parameter name='{name}'><v:Real value='{value}'/></v:Parameter>" for name, value in given.items())
    uri = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    return f"<v:ParameterSet version='1.0' name='more' xmlns:v='{uri}'><v:Parameters>{rows}</v:Parameters></v:ParameterSet>"


def temperature(t, gain, wanted, outside):
    end = (gain * wanted + 100 * outside) / (gain + 100)
    return end + (10 - end) * math.exp(-t * (gain + 100) / 2e5)


def test_a_package(house):
    r = couplet.simulate(house / "house", rtol=1e-9)
    assert r.time[-1] == 7200
    assert r["T"][100] == pytest.approx(temperature(r.time[100], 300, 21, -10), abs=1e-5)
    assert couplet.info(house / "house").is_system


def test_parameters_and_variants(house):
    extra = house / "extra.ssv"
    extra.write_text(values(gain=0.5))
    r = couplet.simulate(house / "house", rtol=1e-9, parameters=extra, set={"house.heater.wanted": 25})
    assert r["T"][100] == pytest.approx(temperature(r.time[100], 500, 25, -10), abs=1e-5)
    r = couplet.simulate(house / "house", rtol=1e-9, variant="without heating")
    assert r["T"][100] == pytest.approx(temperature(r.time[100], 0, 0, -20), abs=1e-5)
    with pytest.raises(couplet.InputError):
        couplet.simulate(house / "house", variant="none")
    with pytest.raises(couplet.InputError, match="SSP package"):
        couplet.simulate(EXAMPLE / "room.c", parameters=[extra])


def test_linearisation(house):
    linear = couplet.linearize(house / "house", parameters=[house / "extra.ssv"])
    assert linear.A[0, 0] == pytest.approx(-600 / 2e5)


def test_convert(house, tmp_path):
    system = EXAMPLE.parent / "two_masses" / "two_masses.yaml"
    expected = couplet.simulate(system, stop=2)
    package = couplet.convert(system, tmp_path / "masses.ssp", fmi=3)
    assert package == str(tmp_path / "masses.ssp")
    back = couplet.convert(package, tmp_path / "back.yaml")
    for file in (package, back):
        r = couplet.simulate(file, stop=2)
        assert r.names == expected.names
        assert all((r[name] == expected[name]).all() for name in r.names)
    flat = couplet.convert(house / "house", tmp_path / "house.yaml")
    assert couplet.simulate(flat)["T"][-1] == couplet.simulate(house / "house")["T"][-1]
    with pytest.raises(couplet.InputError, match="neither in .ssp nor in .yaml"):
        couplet.convert(system, tmp_path / "x.zip")


def test_a_package_in_a_system(house):
    s = couplet.System("outer").add("house", house / "house", start={"gain": 0.5}).add("room", EXAMPLE / "room.c")
    s.connect("room.T_outside", "house.T", factor=0.5, offset=10)
    r = s.simulate(stop=1000, rtol=1e-9, record=["house.T", "room.T_outside"])
    assert r["house.T"][-1] == pytest.approx(temperature(1000, 500, 21, -10), abs=1e-5)
    assert r["room.T_outside"][-1] == pytest.approx(0.5 * (r["house.T"][-1] + 273.15) + 10, abs=1e-9)
