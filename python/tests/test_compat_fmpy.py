# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""couplet.compat.fmpy: shapes, grids, attribute names and messages as those of FMPy, and results
against analytic solutions. FMPy is not needed."""

import gc
import math
import shutil
import weakref

import numpy as np
import pytest

import couplet
from couplet.compat import fmpy
from couplet.compat.fmpy import fmi2, fmi3, simulation, util
from couplet.compat.fmpy.model_description import ModelDescription, ScalarVariable, ValidationError
from couplet.compat.fmpy.validation import validate_fmu

KINDS = [(v, k) for v in (2, 3) for k in ("ModelExchange", "CoSimulation")]
G, E = 9.81, 0.8


@pytest.fixture(scope="module")
def fmus(root, models, tmp_path_factory):
    """FMUs of both versions, by (name, version)."""
    folder = tmp_path_factory.mktemp("fmus")
    examples = root / "examples"
    sources = {
        "ball": examples / "bouncing_ball" / "bouncing_ball.c",
        "tank": models / "tank.c",
        "types": examples / "types" / "types.c",
    }
    made = {}
    for name, source in sources.items():
        for version in (2, 3):
            path = folder / f"{name}{version}.fmu"
            made[name, version] = str(couplet.build(source, path, fmi=version))
    return made


def height(t):
    """The bouncing ball that falls from 1 m, by its parabolas."""
    begin, v = 0.0, 0.0
    h = 1.0
    while True:
        end = begin + (v + math.sqrt(v * v + 2 * G * h)) / G
        if t <= end:
            return h + v * (t - begin) - G / 2 * (t - begin) ** 2
        v = E * (G * (end - begin) - v)
        begin, h = end, 0.0


#------------------------------------ descriptions ------------------------------------


@pytest.mark.parametrize("version", (2, 3))
def test_description(fmus, version):
    d = fmpy.read_model_description(fmus["ball", version], validate_model_structure=True)
    assert (d.fmiVersion, d.fmiMajorVersion) == (f"{version}.0", version)
    assert d.modelName == "bouncing_ball" and d.guid == d.instantiationToken
    assert d.modelIdentifier == d.coSimulation.modelIdentifier == "bouncing_ball"
    assert d.modelExchange.canGetAndSetFMUstate and d.coSimulation.canSerializeFMUstate
    assert (d.numberOfContinuousStates, d.numberOfEventIndicators) == (2, 1)
    assert float(d.defaultExperiment.stopTime) == 3 and d.defaultExperiment.startTime is not None
    variables = {v.name: v for v in d.modelVariables}
    h, e = variables["h"], variables["e"]
    assert (h.causality, h.variability, h.initial, h.unit) == ("output", "continuous", "exact", "m")
    assert (e.causality, e.variability, e.min, e.max) == ("parameter", "fixed", "0", "1")
    assert h.type == ("Real" if version == 2 else "Float64") and float(h.start) == 1
    assert variables["der(h)"].derivative is h and h.shape == () and h.declaredType is None
    assert [u.variable.name for u in d.derivatives] == ["der(h)", "der(v)"]
    assert [u.name for u in d.derivatives[0].dependencies] == ["v"]
    assert d.derivatives[0].dependenciesKind == ["constant"]
    assert {u.name: u.baseUnit.m for u in d.unitDefinitions}["m"] == 1
    assert repr(h) == f"ModelVariable(name='h', type='{h.type}')"
    assert fmpy.supported_platforms(fmus["ball", version])[-1] == fmpy.platform


def test_lines_are_those_of_the_file(fmus, tmp_path):
    folder = fmpy.extract(fmus["ball", 2], tmp_path / "ball")
    lines = (folder / "modelDescription.xml").read_text().splitlines()
    for v in fmpy.read_model_description(folder).modelVariables:
        assert f'name="{v.name}"' in lines[v.sourceline - 1]


FMI1 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="1.0" modelName="pot" modelIdentifier="pot" guid="{1}"
    numberOfContinuousStates="1" numberOfEventIndicators="2">
  <UnitDefinitions>
    <BaseUnit unit="K"><DisplayUnitDefinition displayUnit="degC" offset="-273.15"/></BaseUnit>
  </UnitDefinitions>
  <TypeDefinitions>
    <Type name="Temperature"><RealType quantity="T" unit="K" relativeQuantity="false"/></Type>
    <Type name="Mode"><EnumerationType min="1" max="2">
      <Item name="off"/><Item name="on" description="heats"/></EnumerationType></Type>
  </TypeDefinitions>
  <DefaultExperiment startTime="0.5" stopTime="2.5" tolerance="1e-6"/>
  <ModelVariables>
    <ScalarVariable name="T" valueReference="7" causality="output">
      <Real declaredType="Temperature" start="290"/></ScalarVariable>
    <ScalarVariable name="C" valueReference="8" variability="parameter" causality="internal">
      <Real start="3"/></ScalarVariable>
    <ScalarVariable name="mode" valueReference="7" variability="discrete" causality="input">
      <Enumeration declaredType="Mode" start="1"/></ScalarVariable>
  </ModelVariables>
</fmiModelDescription>
"""


def test_description_of_fmi_1(tmp_path):
    path = tmp_path / "modelDescription.xml"
    path.write_text(FMI1)
    d = fmpy.read_model_description(str(path))
    assert d.modelExchange.modelIdentifier == "pot" and d.coSimulation is None
    assert (d.numberOfContinuousStates, d.numberOfEventIndicators) == (1, 2)
    T, C, mode = d.modelVariables
    assert (T.causality, T.variability, T.initial, T.unit) == ("output", "continuous", None, None)
    assert (T.declaredType.unit, T.declaredType.type, T.start) == ("K", "Real", "290")
    assert (C.causality, C.variability) == ("parameter", "fixed")
    assert [(i.name, i.value, i.description) for i in mode.declaredType.items] == [
        ("off", "1", None),
        ("on", "2", "heats"),
    ]
    assert d.unitDefinitions[0].displayUnits[0].offset == -273.15
    path.write_text(FMI1.replace('declaredType="Mode"', 'declaredType="Mood"'))
    text = 'Variable "mode" (line 18) has declaredType="Mood" which has not been defined.'
    with pytest.raises(Exception) as caught:
        fmpy.read_model_description(str(path))
    assert str(caught.value) == text
    path.write_text(FMI1.replace('fmiVersion="1.0"', 'fmiVersion="0.9"'))
    with pytest.raises(Exception, match="^Unsupported FMI version: 0.9$"):
        fmpy.read_model_description(str(path))


def changed(fmus, tmp_path, old, new):
    """A folder with the bouncing ball of FMI 2.0, whose description is changed."""
    folder = fmpy.extract(fmus["ball", 2], tmp_path / "changed")
    path = folder / "modelDescription.xml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return folder


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ('unit="m"', 'unit="ell"', 'The unit "ell" of variable "h" (line {}) is not defined.'),
        ('name="v"', 'name="h"', 'The variable name "h" (line {}) is not unique.'),
        ('start="1"', "", 'Variable "h" (line {}) has no start value.'),
    ],
)
def test_validation(fmus, tmp_path, old, new, problem):
    folder = changed(fmus, tmp_path, old, new)
    with pytest.raises(ValidationError) as caught:
        fmpy.read_model_description(folder)
    d = fmpy.read_model_description(folder, validate=False)
    lines = [v.sourceline for v in d.modelVariables]
    expected = [problem.format(line) for line in lines]
    assert any(p in expected for p in caught.value.problems)
    assert str(caught.value).startswith("Failed to validate modelDescription.xml:\n- ")
    assert validate_fmu(str(folder)) and not validate_fmu(fmus["ball", 2])


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ('name="v"', 'nome="v"', "'ScalarVariable': The attribute 'name' is required but missing."),
        ('name="v"', 'nome="v"', "attribute 'nome': The attribute 'nome' is not allowed."),
        (
            'causality="output"',
            'causality="outlet"',
            "attribute 'causality': [facet 'enumeration'] The value 'outlet' is not an element of "
            "the set {'parameter', 'calculatedParameter', 'input', 'output', 'local', "
            "'independent'}.",
        ),
        (
            'start="1"',
            'start="one"',
            "Element 'Real', attribute 'start': 'one' is not a valid value of the atomic type "
            "'xs:double'.",
        ),
        (
            "<ModelStructure>",
            "<ModelStructure><Guesses/>",
            "Element 'Guesses': This element is not expected. Expected is one of ( Outputs, "
            "Derivatives, InitialUnknowns ).",
        ),
    ],
)
def test_schema(fmus, tmp_path, old, new, problem):
    folder = changed(fmus, tmp_path, old, new)
    with pytest.raises(ValidationError) as caught:
        fmpy.read_model_description(folder)
    assert any(p.startswith("ERROR (line ") and p.endswith(problem) for p in caught.value.problems)


def test_validation_of_names(fmus, tmp_path):
    folder = changed(fmus, tmp_path, 'name="h"', 'name="h h"')
    convention = fmpy.read_model_description(folder).variableNamingConvention
    assert convention == "structured"
    with pytest.raises(ValidationError) as caught:
        fmpy.read_model_description(folder, validate_variable_names=True)
    (problem,) = caught.value.problems
    assert problem.startswith('"h h" (line ')
    assert "is not a legal variable name for naming convention" in problem


def test_illegal_derivative(fmus, tmp_path):
    folder = changed(fmus, tmp_path, 'derivative="', 'derivative="9')
    with pytest.raises(ValidationError, match="references model variable index 9. which does not"):
        fmpy.read_model_description(folder)


def test_info(fmus, capsys):
    text = util.fmu_info(fmus["ball", 2])
    lines = text.splitlines()
    assert lines[:3] == ["", "Model Info", ""]
    assert "  FMI Type           Model Exchange, Co-Simulation" in lines
    assert "  Continuous States  2" in lines and "Variables (input, output)" in lines
    row = "  h                  output     " + 22 * " " + "1  m        height above the ground"
    assert row in lines
    fmpy.dump(fmus["ball", 2])
    assert capsys.readouterr().out == text + "\n"
    assert "  e " in util.fmu_info(fmus["ball", 2], causalities=["parameter"])
    assert fmpy.fmi_info(fmus["ball", 2]) == ("2.0", ["ModelExchange", "CoSimulation"])


#------------------------------------ tables ------------------------------------


def test_tables(tmp_path):
    rows = [(0.0, 1, (1.0, 2.5)), (0.1, 2, (3.0, -4.0))]
    table = np.array(rows, dtype=[("time", float), ("n", float), ("x", float, (2,))])
    util.write_csv(tmp_path / "x.csv", table)
    assert (tmp_path / "x.csv").read_text().splitlines()[:2] == ['"time","n","x"', "0.0,1.0,1 2.5"]
    assert (util.read_csv(tmp_path / "x.csv") == table).all()
    assert util.read_csv(tmp_path / "x.csv", ["n"]).dtype.names == ("time", "n")
    intervals = [util.auto_interval(t) for t in (1, 3, 10, 0.5)]
    assert intervals == pytest.approx([2e-3, 5e-3, 2e-2, 5e-4])


def test_comparison():
    t = np.linspace(0, 1, 50)
    a = np.rec.fromarrays([t, np.sin(t)], names=["time", "y"])
    b = np.rec.fromarrays([t, np.sin(t) + np.where(t > 0.9, 1.0, 0.0)], names=["time", "y"])
    assert util.validate_result(a, a) == 0
    assert 0.05 < util.validate_result(b, a) < 0.15


#------------------------------------ inputs ------------------------------------


def test_interpolation():
    t = np.array([0.0, 2.0, 2.0, 4.0])
    table = np.array([[1.0, 3.0, 7.0, 5.0]])

    def at(time, **keywords):
        (value,), (slope,) = simulation.Input.interpolate(time, t, table, **keywords)
        return value, slope

    assert at(-1) == (1, 0) and at(9) == (5, 0)
    assert at(1) == (2, 1) and at(3) == (6, -1)
    assert at(2) == (3, 1) and at(2, after_event=True) == (7, -1)
    assert at(1, discrete=True) == (1, 0) and at(3, discrete=True) == (7, 0)
    assert at(2, discrete=True) == (1, 0) and at(2, discrete=True, after_event=True) == (7, 0)


def test_events_of_inputs():
    d = ModelDescription()
    x = ScalarVariable("x", 0)
    x.variability = "discrete"
    d.modelVariables.append(x)
    table = np.array(
        [(0, 0), (1, 0), (1, 0), (2, 5), (3, 5)], dtype=[("time", float), ("x", int)]
    )
    assert list(simulation.Input.findEvents(table, d)) == [1, 2, math.inf]
    assert list(simulation.Input.findEvents(table[:1], d)) == [math.inf]


#------------------------------------ simulations ------------------------------------


@pytest.mark.parametrize("version, kind", KINDS)
def test_ball(fmus, version, kind):
    result = fmpy.simulate_fmu(fmus["ball", version], fmi_type=kind, stop_time=1.5)
    assert isinstance(result, np.ndarray) and result.dtype.names == ("time", "h", "v")
    assert all(result.dtype[name] == np.float64 for name in result.dtype.names)
    assert result.modelDescription.modelName == "bouncing_ball"
    expected = [height(t) for t in result["time"]]
    assert result["h"] == pytest.approx(np.array(expected), abs=1e-5)
    assert (result["time"][0], result["time"][-1]) == (0, pytest.approx(1.5))


@pytest.mark.parametrize("version", (2, 3))
def test_grid_of_co_simulation(fmus, version):
    path = fmus["ball", version]
    result = fmpy.simulate_fmu(path, fmi_type="CoSimulation", output_interval=0.07, stop_time=1)
    expected = [n * 0.07 for n in range(15)] + [1.0]
    assert result["time"].tolist() == pytest.approx(expected, abs=1e-12)
    # the default interval is that of the model, and there are at most 1000 of them
    assert len(fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=3)) == 301
    result = fmpy.simulate_fmu(path, stop_time=24, start_values={"h": 3000})
    assert result["time"][1] == pytest.approx(0.04)


@pytest.mark.parametrize("version", (2, 3))
def test_grid_of_model_exchange(fmus, version):
    path = fmus["ball", version]
    arguments = dict(fmi_type="ModelExchange", output_interval=0.07, stop_time=1)
    result = fmpy.simulate_fmu(path, **arguments)
    t = result["time"]
    at = np.flatnonzero(np.diff(t) == 0)  # both sides of the bounce, and the ball leaves the ground
    assert t[at] == pytest.approx(math.sqrt(2 / G), abs=1e-6)
    assert result["v"][at[0] + 1] == pytest.approx(-E * result["v"][at[0]])
    grid = t[abs(t - t[at[0]]) > 1e-9]
    assert len(grid) == len(t) - 2 * len(at)
    assert grid.tolist() == pytest.approx([n * 0.07 for n in range(15)] + [1.0], abs=1e-12)
    result = fmpy.simulate_fmu(path, record_events=False, **arguments)
    assert result["time"].tolist() == pytest.approx([n * 0.07 for n in range(15)], abs=1e-12)
    # the default interval is a thousandth of the power of ten that is nearest to the time
    result = fmpy.simulate_fmu(path, fmi_type="ModelExchange", record_events=False, stop_time=0.4)
    assert np.diff(result["time"]) == pytest.approx(1e-3, abs=1e-9)


@pytest.mark.parametrize("version", (2, 3))
def test_against_couplet(fmus, version):
    path = fmus["ball", version]
    ours = fmpy.simulate_fmu(
        path, fmi_type="ModelExchange", relative_tolerance=1e-9, output_interval=0.05, stop_time=1
    )
    other = couplet.simulate(path, as_="me", stop=1, interval=0.05, rtol=1e-9)
    assert ours["time"] == pytest.approx(other.time, abs=1e-7)
    assert ours["h"] == pytest.approx(other["h"], abs=1e-6)


def test_tolerance_and_euler(fmus):
    def error(**keywords):
        result = fmpy.simulate_fmu(
            fmus["tank", 2], fmi_type="ModelExchange", stop_time=2, output_interval=0.1, **keywords
        )
        assert len(result) == 21
        return abs(result["x"] - 2 * np.exp(-0.5 * result["time"])).max()

    assert error(relative_tolerance=1e-9) < 1e-7 < error(relative_tolerance=1e-3) < 1e-1
    coarse, fine = error(solver="Euler", step_size=0.1), error(solver="Euler", step_size="0.05")
    assert coarse / fine == pytest.approx(2, rel=0.05)  # of order one
    for keywords, text in (
        ({"solver": "Heun"}, "Unknown solver: Heun. Must be one of 'Euler' or 'CVode'."),
        (
            {"solver": "Euler", "step_size": 0.03},
            "output_interval must be a multiple of step_size for fixed step solvers",
        ),
    ):
        with pytest.raises(Exception) as caught:
            error(**keywords)
        assert str(caught.value) == text


RAMP = np.array(
    [(0.0, 0.0), (1.0, 0.8), (1.0, 1.6), (3.0, 1.6)], dtype=[("time", float), ("u", float)]
)


def ramp(t):
    """The tank with k = 0.5 under RAMP."""

    def first(t):
        return 1.6 * (t - 2) + (2 + 3.2) * np.exp(-0.5 * t)

    return np.where(t <= 1, first(t), 3.2 + (first(1.0) - 3.2) * np.exp(-0.5 * (t - 1)))


@pytest.mark.parametrize("version, kind", KINDS)
def test_input(fmus, version, kind):
    def run(interval):
        return fmpy.simulate_fmu(
            fmus["tank", version],
            fmi_type=kind,
            input=RAMP,
            output=["x", "high", "u"],
            stop_time=2,
            output_interval=interval,
            relative_tolerance=1e-8,
        )

    result = run(0.1)
    assert result.dtype["high"] == np.int32
    t, exact = result["time"], kind == "ModelExchange"
    if exact:
        assert result["x"] == pytest.approx(ramp(t), abs=1e-6)
        (at,) = np.flatnonzero(np.diff(t) == 0)
        assert t[at] == 1 and result["u"][at : at + 2].tolist() == [0.8, 1.6]
        assert result["high"][at : at + 2].tolist() == [0, 1]
    else:  # inputs are held over each step
        fine = run(0.05)
        first = abs(result["x"] - ramp(t)).max()
        assert first / abs(fine["x"] - ramp(fine["time"])).max() == pytest.approx(2, rel=0.1)
    assert result["high"][-1] == 1


def test_derivatives_of_inputs(fmus):
    def error(**keywords):
        result = fmpy.simulate_fmu(
            fmus["tank", 2], input=RAMP, stop_time=0.9, output_interval=0.1,
            relative_tolerance=1e-8, **keywords,
        )
        return abs(result["x"] - ramp(result["time"]))

    # as in FMPy the first row of the table has no slope: it costs h^2 / 2 times the slope
    assert error(set_input_derivatives=True).max() == pytest.approx(0.8 * 0.1**2 / 2, rel=0.05)
    assert error().max() > 0.02
    with pytest.raises(Exception, match="^Parameter set_input_derivatives is True but the FMU "):
        fmpy.simulate_fmu(fmus["tank", 3], input=RAMP, set_input_derivatives=True)


def test_kinks_of_inputs_between_rows(fmus):
    t = np.array([0, 0.13, 0.31, 0.77, 2.0])
    u = np.array([0, 0.9, 0.1, 0.9, 0.4])
    table = np.rec.fromarrays([t, u], names=["time", "u"])
    result = fmpy.simulate_fmu(
        fmus["tank", 2], fmi_type="ModelExchange", input=table, stop_time=2, output_interval=1,
        relative_tolerance=1e-9,
    )
    x, h = 2.0, 1e-4  # Heun's method, with steps that end at the kinks
    for left, right in zip(t[:-1], t[1:]):
        n = round((right - left) / h)
        for s in np.linspace(left, right, n, endpoint=False):
            d = (right - left) / n
            k = np.interp(s, t, u) - 0.5 * x
            x += d / 2 * (k + np.interp(s + d, t, u) - 0.5 * (x + d * k))
    assert result["x"][-1] == pytest.approx(x, abs=1e-7)


def test_missing_input(fmus, capsys):
    table = np.array([(0.0, 1.0)], dtype=[("time", float), ("w", float)])
    fmpy.simulate_fmu(fmus["tank", 2], input=table, stop_time=0.1)
    assert 'Warning: missing input for variable "u"' in capsys.readouterr().out


@pytest.mark.parametrize("version, kind", KINDS)
def test_start_values(fmus, version, kind):
    result = fmpy.simulate_fmu(
        fmus["tank", version],
        fmi_type=kind,
        start_values={"x": "3", "k": 2, "label": "pot", "u": (1.0, "m3/s")},
        output=["x", "k"],
        stop_time="1",
        start_time="0.5",
    )
    t = result["time"] - 0.5
    assert result["x"] == pytest.approx(0.5 + 2.5 * np.exp(-2 * t), abs=1e-4)
    assert set(result["k"]) == {2} and result["time"][-1] == 1


@pytest.mark.parametrize(
    "start, text",
    [
        ({"der(x)": 1}, "The start values for the following variables could not be set: der(x)"),
        ({"y": 1}, "The start values for the following variables could not be set: y"),
        (
            {"k": (1, "m")},
            'Variable k has no unit but the unit "m" was specified for its start value.',
        ),
        ({"x": (1, "ell")}, 'The unit "ell" of the start value for variable x is not defined.'),
        (
            {"x": (1,)},
            "The start value for variable x must be a scalar value or a tuple "
            '(<value>, {<unit>|<display_unit>}) but was "(1,)".',
        ),
    ],
)
def test_wrong_start_values(fmus, start, text):
    with pytest.raises(Exception) as caught:
        fmpy.simulate_fmu(fmus["tank", 2], start_values=start)
    assert str(caught.value) == text


def test_wrong_arguments(fmus):
    for keywords, text in (
        ({"fmi_type": "Hybrid"}, 'fmi_type must be one of "ModelExchange" or "CoSimulation"'),
        (
            {"initialize": False},
            "If initialize is False, fmu_instance or fmu_state must be provided.",
        ),
        (
            {"initialize": False, "fmi_type": "ModelExchange"},
            "If initialize is False, the interface type must be 'CoSimulation'.",
        ),
        (
            {"remote_platform": "win64"},
            f"The FMU cannot be simulated on the current platform ({fmpy.platform}).",
        ),
    ):
        with pytest.raises(Exception) as caught:
            fmpy.simulate_fmu(fmus["tank", 2], **keywords)
        assert str(caught.value) == text


@pytest.mark.parametrize("version", (2, 3))
def test_types(fmus, version):
    path = fmus["types", version]
    d = fmpy.read_model_description(path)
    names = [v.name for v in d.modelVariables if v.type != "String"]
    result = fmpy.simulate_fmu(path, output=names, stop_time=0.5)
    for v in d.modelVariables:
        if v.name in (result.dtype.names or ()):
            kind = {"Boolean": "b", "Real": "f", "Float64": "f"}.get(v.type, "i")
            assert result.dtype[v.name].base.kind == kind
    values = util.get_start_values(path)
    assert len(values) >= len(result.dtype.names) - 1
    assert all(isinstance(value, (str, bytes)) for value in values.values())


@pytest.mark.parametrize("version, kind", KINDS)
def test_step_finished(fmus, version, kind):
    seen = []

    def finished(time, recorder):
        assert recorder.lastSampleTime <= time
        ref = [v.valueReference for v in recorder.modelDescription.modelVariables if v.name == "h"]
        get = recorder.fmu.getReal if version == 2 else recorder.fmu.getFloat64
        seen.append((time, get(ref)[0]))
        return time < 0.3

    result = fmpy.simulate_fmu(
        fmus["ball", version], fmi_type=kind, output_interval=0.1, step_finished=finished
    )
    assert [t for t, _ in seen] == pytest.approx([0.1, 0.2, 0.3])
    assert [h for _, h in seen] == pytest.approx([height(t) for t, _ in seen], abs=1e-4)
    assert result["time"].max() == pytest.approx(0.3 if kind == "CoSimulation" else 0.2)


def test_timeout(fmus):
    result = fmpy.simulate_fmu(fmus["ball", 2], timeout=-1)
    assert len(result) == 1


#------------------------------------ instances ------------------------------------


@pytest.fixture(params=(2, 3))
def extracted(fmus, request, tmp_path):
    folder = fmpy.extract(fmus["ball", request.param], tmp_path / "ball")
    return folder, fmpy.read_model_description(folder)


def test_continue(extracted):
    folder, d = extracted
    fmu = fmpy.instantiate_fmu(folder, d)
    common = dict(filename=folder, model_description=d, fmu_instance=fmu, output_interval=0.1)
    one = fmpy.simulate_fmu(stop_time=0.5, set_stop_time=False, terminate=False, **common)
    two = fmpy.simulate_fmu(start_time=0.5, stop_time=1, initialize=False, **common)
    fmu.freeInstance()
    assert one[-1] == two[0]
    assert two["h"] == pytest.approx(np.array([height(t) for t in two["time"]]), abs=1e-4)


def test_saved_state(extracted):
    folder, d = extracted
    saved = {}

    def stop(time, recorder):
        if time < 0.55:
            return True
        state = recorder.fmu.getFMUState()
        saved.update(time=time, bytes=recorder.fmu.serializeFMUState(state))
        return False

    one = fmpy.simulate_fmu(folder, stop_time=1, step_finished=stop)
    two = fmpy.simulate_fmu(folder, start_time=saved["time"], stop_time=1, fmu_state=saved["bytes"])
    assert one[-1] == two[0]
    assert two["h"][-1] == pytest.approx(height(1.0), abs=1e-4)


def test_reset_and_simulate_again(extracted):
    folder, d = extracted
    fmu = fmpy.instantiate_fmu(folder, d, "ModelExchange")
    for e in (0.8, 0.5, 0.2):
        fmu.reset()
        result = fmpy.simulate_fmu(
            folder, model_description=d, fmu_instance=fmu, start_values={"e": e}, stop_time=0.6
        )
        at = np.flatnonzero(np.diff(result["time"]) == 0)[0]
        assert result["v"][at + 1] == pytest.approx(-e * result["v"][at])
    fmu.freeInstance()


def test_functions_of_co_simulation(fmus, tmp_path):
    folder = fmpy.extract(fmus["tank", 2], tmp_path / "tank")
    d = fmpy.read_model_description(folder)
    refs = {v.name: v.valueReference for v in d.modelVariables}
    calls = []
    fmu = fmi2.FMU2Slave(
        guid=d.guid,
        modelIdentifier=d.coSimulation.modelIdentifier,
        unzipDirectory=folder,
        instanceName="one",
        fmiCallLogger=calls.append,
    )
    fmu.instantiate()
    assert (fmu.getVersion(), fmu.getTypesPlatform()) == ("2.0", "default")
    fmu.setupExperiment(startTime=0.0, tolerance=1e-9)
    fmu.setString([refs["label"]], ["a tank"])
    fmu.enterInitializationMode()
    fmu.setReal([refs["x"], refs["k"]], [1.0, 0.25])
    fmu.exitInitializationMode()
    assert fmu.getRealOutputDerivatives([refs["x"]], [1]) == pytest.approx([-0.25])
    fmu.doStep(currentCommunicationPoint=0.0, communicationStepSize=1.0)
    assert fmu.getReal([refs["x"]])[0] == pytest.approx(math.exp(-0.25), abs=1e-6)
    fmu.setReal([refs["u"]], [1.5])
    fmu.doStep(1.0, 0.5)
    assert fmu.getInteger([refs["high"]]) == [1]
    assert fmu.getString([refs["label"]]) == [b"a tank"]
    assert fmu.getRealStatus(fmi2.fmi2LastSuccessfulTime) == 1.5
    assert fmu.getStatus(fmi2.fmi2DoStepStatus) == fmi2.fmi2OK
    assert fmu.getBooleanStatus(fmi2.fmi2Terminated) is False
    with pytest.raises(fmi2.FMICallException, match="^fmi2CancelStep failed with status 3"):
        fmu.cancelStep()
    fmu.terminate()
    fmu.freeInstance()
    assert calls[0].startswith("fmi2Instantiate(")
    assert any(c.startswith("fmi2DoStep(") and c.endswith("-> OK") for c in calls)
    with pytest.raises(ValueError, match="freed"):
        fmu.getReal([refs["x"]])


def test_functions_of_model_exchange(extracted):
    folder, d = extracted
    fmu = fmpy.instantiate_fmu(folder, d, "ModelExchange")
    three = isinstance(fmu, fmi3.FMU3Model)
    if not three:
        fmu.setupExperiment(startTime=0.0)
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    update = fmu.updateDiscreteStates if three else fmu.newDiscreteStates
    again = True
    while again:
        again, terminate, *_, defined, _ = update()
        assert not terminate and not defined
    fmu.enterContinuousTimeMode()
    x, dx, z = np.zeros(2), np.zeros(2), np.zeros(1)
    fmu.getContinuousStates(x, 2)
    assert x.tolist() == [1, 0]
    t, h = 0.0, 1e-3
    while t < 0.2:
        (fmu.getContinuousStateDerivatives if three else fmu.getDerivatives)(dx, 2)
        x += h * dx
        t += h
        fmu.setTime(t)
        fmu.setContinuousStates(x, 2)
        assert fmu.completedIntegratorStep() == (False, False)
    fmu.getEventIndicators(z, 1)
    assert z[0] == pytest.approx(x[0]) and dx[1] == -G
    assert x[0] == pytest.approx(height(t), abs=2e-3)
    fmu.getNominalsOfContinuousStates(x, 2)
    assert x.tolist() == [1, 1]
    refs = {v.name: v.valueReference for v in d.modelVariables}
    assert fmu.getDirectionalDerivative([refs["der(h)"]], [refs["v"]], [2.0]) == [2.0]
    fmu.terminate()
    fmu.freeInstance()


@pytest.mark.parametrize("early", (False, True))
def test_event_mode_of_fmi_3(fmus, early):
    result = fmpy.simulate_fmu(
        fmus["ball", 3], stop_time=1, output_interval=0.1, use_event_mode=True,
        early_return_allowed=early,
    )
    t = result["time"]
    assert result["h"] == pytest.approx(np.array([height(s) for s in t]), abs=1e-4)
    jumps = np.flatnonzero(np.diff(t) == 0)
    assert bool(len(jumps)) == early  # both sides of the bounce
    if early:
        assert result["v"][jumps[0] + 1] == pytest.approx(-E * result["v"][jumps[0]])


def test_failed_call(fmus, tmp_path):
    messages = []
    folder = fmpy.extract(fmus["tank", 2], tmp_path / "tank")
    d = fmpy.read_model_description(folder)
    ref = [v.valueReference for v in d.modelVariables if v.name == "u"]
    fmu = fmpy.instantiate_fmu(
        folder, d, "CoSimulation", logger=lambda *arguments: messages.append(arguments)
    )
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    fmu.setReal(ref, [-1.0])
    with pytest.raises(fmi2.FMICallException) as caught:
        fmu.doStep(0.0, 0.1)
    error = caught.value
    assert (error.function, error.status) == ("fmi2DoStep", 3)
    assert str(error) == "fmi2DoStep failed with status 3 (error)."
    assert any(m[1:3] == (b"tank", 3) and b"the inflow is negative" in m[4] for m in messages)
    fmu.freeInstance()


def test_debug_logging(fmus, capsys):
    fmpy.simulate_fmu(fmus["ball", 2], stop_time=0.6)
    assert capsys.readouterr().out == ""
    calls = []
    keywords = dict(debug_logging=True, fmi_call_logger=calls.append)
    fmpy.simulate_fmu(fmus["ball", 2], stop_time=0.1, **keywords)
    (made,) = [c for c in calls if c.startswith("fmi2Instantiate(")]
    assert made.endswith(", 1) -> OK")


def test_missing_library(fmus, tmp_path):
    folder = fmpy.extract(fmus["ball", 2], tmp_path / "ball")
    d = fmpy.read_model_description(folder)
    shutil.rmtree(folder / "binaries")
    with pytest.raises(Exception, match=r"^Cannot find shared library .*bouncing_ball\.so\.$"):
        fmpy.instantiate_fmu(folder, d)
    with pytest.raises(Exception, match="cannot be simulated on the current platform"):
        fmpy.simulate_fmu(folder)
    text = '^FMI type "ScheduledExecution" is not supported by the FMU$'
    with pytest.raises(Exception, match=text):
        fmpy.instantiate_fmu(folder, d, "ScheduledExecution")


def test_misuse(extracted):
    folder, d = extracted
    fmu, other = (fmpy.instantiate_fmu(folder, d, "CoSimulation") for _ in range(2))
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    state = fmu.getFMUState()
    with pytest.raises(ValueError, match="another instance"):
        other.setFMUState(state)
    fmu.freeFMUState(state)
    with pytest.raises(ValueError, match="was freed"):
        fmu.setFMUState(state)
    kept = fmu.getFMUState()
    set_real = fmu.setReal if d.fmiVersion == "2.0" else fmu.setFloat64
    with pytest.raises(ValueError, match="2 values for 1 variables"):
        set_real([1], [1.0, 2.0])
    with pytest.raises(Exception):
        fmu.deserializeFMUState(b"no state")
    fmu.freeInstance()
    fmu.freeInstance()
    with pytest.raises(ValueError, match="freed"):
        fmu.doStep(0.0, 0.1)
    del kept, fmu
    gc.collect()
    other.freeInstance()


def test_garbage(extracted):
    folder, d = extracted

    class Logger:
        def __call__(self, text):
            self.text = text

    logger = Logger()
    logger.fmu = fmpy.instantiate_fmu(folder, d, fmi_call_logger=logger)
    logger.state = None
    gone = weakref.ref(logger)
    del logger
    gc.collect()
    assert gone() is None


def test_illegal_paths(tmp_path):
    import zipfile

    for name, text in (
        ("a\\b.txt", "All slashes must be forward slashes."),
        ("/a.txt", "The path must not contain a drive or device letter, or a leading slash."),
    ):
        with zipfile.ZipFile(tmp_path / "x.fmu", "w") as archive:
            archive.writestr(zipfile.ZipInfo(name), "x")
        with pytest.raises(Exception) as caught:
            fmpy.extract(tmp_path / "x.fmu")
        assert str(caught.value) == f"Illegal path {name} found in {tmp_path / 'x.fmu'}. {text}"


def test_archives(fmus, tmp_path):
    folder = fmpy.extract(fmus["ball", 2], include=lambda name: name.endswith(".xml"))
    assert [path.name for path in folder.iterdir()] == ["modelDescription.xml"]
    shutil.rmtree(folder)
    folder = fmpy.extract(fmus["ball", 2], tmp_path / "ball")
    (folder / "sources").mkdir(exist_ok=True)
    (folder / "sources" / "all.c").write_text("")
    util.create_zip_archive(tmp_path / "ball.fmu", folder)
    assert fmpy.supported_platforms(tmp_path / "ball.fmu")[0] == "c-code"
    util.remove_source_code(tmp_path / "ball.fmu")
    assert fmpy.supported_platforms(tmp_path / "ball.fmu") == [fmpy.platform]
    assert len(fmpy.simulate_fmu(tmp_path / "ball.fmu", stop_time=0.1)) == 11
