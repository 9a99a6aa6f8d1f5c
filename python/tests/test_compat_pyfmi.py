# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""couplet.compat.pyfmi, against analytic solutions, with FMUs of all kinds."""

import math

import numpy as np
import pytest

import couplet
from couplet.compat.pyfmi import (
    CoupledFMUModelME2,
    FMUException,
    InvalidFMUException,
    InvalidOptionException,
    load_fmu,
)
from couplet.compat.pyfmi.master import Master


@pytest.fixture(scope="module", params=[2, 3])
def fmus(request, tmp_path_factory, root):
    folder = tmp_path_factory.mktemp("fmus")
    made = {}
    for name, source in (("ball", "bouncing_ball/bouncing_ball"), ("mass", "two_masses/mass"),
                         ("left", "two_mass_cosimulation/left"), ("right", "two_mass_cosimulation/right")):
        made[name] = couplet.build(root / "examples" / f"{source}.c", folder / f"{name}.fmu", fmi=request.param)
    made["version"] = f"{request.param}.0"
    return made


def test_description(fmus):
    model = load_fmu(fmus["mass"])
    assert model.get_version() == fmus["version"] and model.get_name() == "mass"
    assert list(model.get_states_list()) == ["x", "v"]
    assert list(model.get_input_list()) == ["F"]
    assert model.get_ode_sizes() == (2, 0)
    variables = model.get_model_variables(causality="parameter")
    assert "m" in variables and "x" not in variables
    assert set(model.get_model_variables(filter=["x", "v*"])) == {"x", "v"}
    assert model.get_variable_unit("x") == "m"
    assert model.get_variable_valueref("x") == model.get_model_variables()["x"].value_reference
    with pytest.raises(FMUException, match="The variable q could not be found"):
        model.get("q")


def test_numbers_of_causality_and_variability(fmus):
    from couplet.compat.pyfmi import fmi

    model = load_fmu(fmus["mass"])
    variables = model.get_model_variables()
    two = fmus["version"] == "2.0"
    causality, variability = fmi.FMI3_Causality, fmi.FMI3_Variability
    inputs, parameters = (fmi.FMI2_INPUT, fmi.FMI2_PARAMETER) if two else (causality.INPUT, causality.PARAMETER)
    assert (inputs, parameters) == ((2, 0) if two else (3, 1))
    assert model.get_variable_causality("F") == variables["F"].causality == inputs
    assert model.get_variable_causality("m") == parameters
    assert list(model.get_model_variables(causality=inputs)) == ["F"]
    assert model.get_model_variables(causality=parameters).keys() == model.get_model_variables(causality="parameter").keys()
    fixed, continuous = (fmi.FMI2_FIXED, fmi.FMI2_CONTINUOUS) if two else (variability.FIXED, variability.CONTINUOUS)
    assert model.get_variable_variability("m") == fixed == 1
    assert model.get_variable_variability("x") == continuous == 4
    assert "m" in model.get_model_variables(variability=fixed) and "x" not in model.get_model_variables(variability=fixed)
    real = fmi.FMI2_REAL if two else fmi.FMI3_Type.FLOAT64
    assert model.get_variable_data_type("x") == variables["x"].type == real == (0 if two else 1)
    assert set(model.get_model_variables(type=real)) == set(variables)
    assert not model.get_model_variables(type=fmi.FMI2_STRING if two else fmi.FMI3_Type.STRING)
    assert fmi.FMUModelME2 is not fmi.FMUModelME3 and fmi.load_fmu is load_fmu


@pytest.mark.parametrize("kind", ["ME", "CS"])
def test_simulate(fmus, kind):
    model = load_fmu(fmus["mass"], kind=kind)
    model.set(["x", "m"], [0.5, 2.0])
    t = np.linspace(0, 2, 400)
    options = model.simulate_options()
    options["ncp"] = 40
    if kind == "ME":
        options["CVode_options"]["rtol"] = 1e-8
    res = model.simulate(final_time=2, input=("F", np.transpose([t, np.cos(t)])), options=options)
    assert len(res["time"]) == 41
    exact = 0.5 + (1 - np.cos(res["time"])) / 2
    bound = 1e-4 if kind == "ME" else 3e-2  # the input is held over a step of 0.05
    assert np.abs(res["x"] - exact).max() < bound
    assert res.final("x") == res["x"][-1] and res.initial("x") == 0.5
    assert model.get("x")[0] == res.final("x") and model.time == 2
    assert "time" in res.keys() and not res.is_variable("m")
    with pytest.raises(FMUException, match="reset"):
        model.simulate(final_time=3)
    model.reset()
    assert model.get("m")[0] == 1
    res = model.simulate(final_time=1, input=("F", lambda s: 2.0))
    assert res.final("x") == pytest.approx(1, abs=1e-3)


def test_events(fmus):
    for kind in ("ME", "CS"):
        res = load_fmu(fmus["ball"], kind=kind).simulate(final_time=1, options={"filter": "h"})
        assert list(res.keys()) == ["time", "h"]
        t1 = math.sqrt(2 / 9.81)
        v1 = 0.8 * 9.81 * t1 if kind else 0
        at = (res["time"] > t1 + 0.01) & (res["time"] < t1 + 0.5)
        fly = res["time"][at] - t1
        assert np.abs(res["h"][at] - (v1 * fly - 9.81 / 2 * fly**2)).max() < 1e-3


def test_the_interface_of_fmi(fmus):
    """Euler's method over the functions of model exchange."""
    model = load_fmu(fmus["ball"])
    model.set("h", 2.0)
    model.setup_experiment(start_time=0.0)
    model.enter_initialization_mode()
    model.exit_initialization_mode()
    model.event_update()
    model.enter_continuous_time_mode()
    x = model.continuous_states
    assert list(x) == [2, 0] and list(model.nominal_continuous_states) == [1, 1]
    refs = [model.get_variable_valueref(name) for name in ("h", "v")]
    before, bounces, h = model.get_event_indicators(), 0, 1e-3
    for i in range(1000):
        x = x + h * model.get_derivatives()
        model.time = (i + 1) * h
        model.continuous_states = x
        step_event, ends = model.completed_integrator_step()
        after = model.get_event_indicators()
        if np.any((after > 0) != (before > 0)):
            model.enter_event_mode()
            model.event_update()
            assert not model.get_event_info().terminateSimulation
            x = model.continuous_states
            model.enter_continuous_time_mode()
            bounces += after[0] <= 0
        before = model.get_event_indicators()
    assert bounces == 1
    assert list(model.get_real(refs)) == list(x)
    t1 = math.sqrt(2 * 2 / 9.81)
    fly = 1 - t1
    assert x[0] == pytest.approx(0.8 * 9.81 * t1 * fly - 9.81 / 2 * fly**2, abs=0.02)


def test_steps_of_co_simulation(fmus):
    model = load_fmu(fmus["mass"], kind="CS")
    model.set("v", 1.0)
    model.initialize(start_time=0.0)
    model.set("F", -1.0)
    for i in range(10):
        assert model.do_step(0.1 * i, 0.1) == 0
    assert model.get("x")[0] == pytest.approx(0.5, abs=1e-6) and model.time == pytest.approx(1)
    state = model.get_fmu_state()
    model.do_step(1.0, 0.5)
    model.set_fmu_state(state)
    assert model.get("x")[0] == pytest.approx(0.5, abs=1e-6)
    model.free_fmu_state(state)
    model.terminate()


def exact(t):
    return (np.cos(t) + np.cos(3 * t)) / 2


def test_coupled_models(fmus):
    left, right = load_fmu(fmus["left"]), load_fmu(fmus["right"])
    connections = [(right, "F", left, "F"), (left, "x", right, "s")]
    coupled = CoupledFMUModelME2([("First", left), ("Second", right)], connections)
    options = coupled.simulate_options()
    options["CVode_options"]["rtol"] = 1e-8
    res = coupled.simulate(final_time=4, options=options)
    assert np.abs(res["First.x"] - exact(res["time"])).max() < 1e-5
    assert coupled.get("Second.x")[0] == res.final("Second.x")
    coupled.reset()
    coupled.set("First.x", 0.0)
    res = coupled.simulate(final_time=1)
    assert np.abs(res["First.x"]).max() < 1e-12


def test_coupled_steppers(fmus):
    left, right = load_fmu(fmus["left"], kind="CS"), load_fmu(fmus["right"], kind="CS")
    errors = []
    for step in (0.01, 0.005):
        master = Master([left, right], [(right, "F", left, "F"), (left, "x", right, "s")])
        res = master.simulate(final_time=2, options={"step_size": step, "ncp": 50})
        errors.append(np.abs(res["model1.x"] - exact(res["time"])).max())
        master.reset()
    assert 1.7 < errors[0] / errors[1] < 2.3 and errors[1] < 1e-2


def test_misuse(fmus, tmp_path):
    with pytest.raises(InvalidFMUException):
        load_fmu(tmp_path / "missing.fmu")
    with pytest.raises(FMUException, match="kind"):
        load_fmu(fmus["mass"], kind="XX")
    model = load_fmu(fmus["mass"])
    with pytest.raises(InvalidOptionException, match="ncpp"):
        model.simulate(options={"ncpp": 3})
    with pytest.raises(InvalidOptionException, match="Magic"):
        model.simulate(options={"solver": "Magic"})
    with pytest.raises(ValueError, match="columns"):
        model.simulate(input=("F", np.zeros((3, 3))))
    with pytest.raises(FMUException, match="twice"):
        CoupledFMUModelME2([model, model], [])
    with pytest.raises(FMUException, match="co-simulation"):
        Master([model], [])
