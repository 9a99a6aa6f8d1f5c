# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""couplet.compat.fmpy: functions of the C interface with arrays of ctypes and numpy, and what programs
that were written for FMPy's instances read of them. FMPy is not needed."""

import ctypes
import math

import numpy as np
import pytest

import couplet
from couplet.compat import fmpy
from couplet.compat.fmpy import fmi2, fmi3

# y = (a u1 + b u2, u1 u2); x' = u1; all types
SOURCE = r"""
#include <couplet/model.h>
static int derivatives(const cpl_values* v, double* dx) { dx[0] = v->u[0]; return CPL_MODEL_OK; }
static int output_values(const cpl_values* v, double* y) {
  y[0] = v->p[0] * v->u[0] + 3 * v->u[1];
  y[1] = v->u[0] * v->u[1];
  return CPL_MODEL_OK;
}
static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx, double* d_y) {
  (void)d_x;
  if (d_dx != NULL) d_dx[0] = d_u[0];
  if (d_y != NULL) {
    d_y[0] = v->p[0] * d_u[0] + 3 * d_u[1];
    d_y[1] = v->u[1] * d_u[0] + v->u[0] * d_u[1];
  }
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .start = 0.5, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u1", .start = 2}, {"u2", .start = 5}, {"n", .type = CPL_INTEGER},
                                         {"b", .type = CPL_BOOLEAN}, {0}};
static const cpl_declaration outputs[] = {{"y1"}, {"y2"}, {0}};
static const cpl_declaration parameters[] = {{"a", .start = 7}, {0}};
static const cpl_string_declaration strings[] = {{"s", .start = "short"}, {0}};
const cpl_model_def couplet_model = {.name = "mixed", .states = states, .inputs = inputs, .outputs = outputs,
    .parameters = parameters, .strings = strings, .derivatives = derivatives, .output_values = output_values, .directional = directional, .stop_time = 1};
"""


@pytest.fixture(scope="module", params=[2, 3])
def mixed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "mixed.c").write_text(SOURCE)
    return request.param, str(couplet.build(folder / "mixed.c", folder / "mixed.fmu", fmi=request.param))


def make(mixed, kind):
    version, path = mixed
    description = fmpy.read_model_description(path)
    fmu = fmpy.instantiate_fmu(fmpy.extract(path), description, kind)
    refs = {v.name: v.valueReference for v in description.modelVariables}
    return version, fmu, refs


def initialize(version, fmu):
    prefix = f"fmi{version}"
    if version == 2:
        fmu.setupExperiment(startTime=0.0)
        assert getattr(fmu, prefix + "EnterInitializationMode")(fmu.component) == 0
    else:
        fmu.enterInitializationMode()
    assert getattr(fmu, prefix + "ExitInitializationMode")(fmu.component) == 0


@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_values_in_arrays(mixed, kind):
    version, fmu, refs = make(mixed, kind)
    real, integer = ("fmi2%sReal", "fmi2%sInteger") if version == 2 else ("fmi3%sFloat64", "fmi3%sInt32")
    more = (2,) if version == 3 else ()
    one = (1,) if version == 3 else ()
    initialize(version, fmu)
    vr = (ctypes.c_uint32 * 2)(refs["u1"], refs["u2"])
    assert getattr(fmu, real % "Set")(fmu.component, vr, 2, (ctypes.c_double * 2)(1.5, 4.0), *more) == 0
    values = (ctypes.c_double * 2)()
    outputs = (ctypes.c_uint32 * 2)(refs["y1"], refs["y2"])
    assert getattr(fmu, real % "Get")(fmu.component, outputs, 2, values, *more) == 0
    assert list(values) == [7 * 1.5 + 3 * 4, 6]
    array = np.zeros(2)
    getattr(fmu, real % "Get")(fmu.component, np.array([refs["y2"], refs["u2"]]), 2, array, *more)
    assert array.tolist() == [6, 4]
    getattr(fmu, integer % "Set")(fmu.component, [refs["n"]], 1, (ctypes.c_int32 * 1)(-9), *one)
    numbers = (ctypes.c_int32 * 1)()
    getattr(fmu, integer % "Get")(fmu.component, [refs["n"]], 1, numbers, *one)
    assert numbers[0] == -9 == fmu.__getattribute__("getInteger" if version == 2 else "getInt32")([refs["n"]])[0]
    boolean, flag = f"fmi{version}%sBoolean", fmi2.fmi2Boolean if version == 2 else fmi3.fmi3Boolean
    getattr(fmu, boolean % "Set")(fmu.component, [refs["b"]], 1, (flag * 1)(True), *one)
    flags = (flag * 1)()
    getattr(fmu, boolean % "Get")(fmu.component, [refs["b"]], 1, flags, *one)
    assert flags[0]
    texts = (ctypes.c_char_p * 1)()
    getattr(fmu, f"fmi{version}GetString")(fmu.component, [refs["s"]], 1, texts, *one)
    assert texts[0] == b"short"
    for name in ("fmi2GetNothing", "fmi1GetReal", "fmi9GetReal", "nothing", f"fmi{version}GetFMUstate"):
        assert not hasattr(fmu, name)
    fmu.terminate()
    fmu.freeInstance()


def test_steps_and_states(mixed):
    version, fmu, refs = make(mixed, "CoSimulation")
    initialize(version, fmu)
    real = "fmi2GetReal" if version == 2 else "fmi3GetFloat64"
    values = (ctypes.c_double * 1)()
    if version == 2:
        assert fmu.fmi2DoStep(fmu.component, ctypes.c_double(0.0), 0.25, 1) == 0
    else:
        fmu.doStep(0.0, 0.25)
    getattr(fmu, real)(fmu.component, [refs["x"]], 1, values, 1)
    assert values[0] == pytest.approx(0.5 + 2 * 0.25, abs=1e-6)
    fmu.freeInstance()
    version, fmu, refs = make(mixed, "ModelExchange")
    initialize(version, fmu)
    prefix = f"fmi{version}"
    x, dx = (ctypes.c_double * 1)(1.25), (ctypes.c_double * 1)()
    getattr(fmu, prefix + "EnterContinuousTimeMode")(fmu.component)
    getattr(fmu, prefix + "SetTime")(fmu.component, 0.5)
    getattr(fmu, prefix + "SetContinuousStates")(fmu.component, x, 1)
    derivatives = "GetDerivatives" if version == 2 else "GetContinuousStateDerivatives"
    getattr(fmu, prefix + derivatives)(fmu.component, dx, 1)
    x[0] = math.nan
    getattr(fmu, prefix + "GetContinuousStates")(fmu.component, x, 1)
    assert (x[0], dx[0]) == (1.25, 2.0)
    fmu.freeInstance()


def test_adjoint_derivatives(mixed):
    version, fmu, refs = make(mixed, "ModelExchange")
    if version == 2:
        assert not hasattr(fmu, "getAdjointDerivative")
        return
    initialize(version, fmu)
    knowns, unknowns = [refs["u1"], refs["u2"]], [refs["y1"], refs["y2"]]
    assert fmu.getDirectionalDerivative(unknowns, knowns, [1.0, 0.0]) == pytest.approx([7, 5])
    # (dy1/du1, dy1/du2; dy2/du1, dy2/du2) = (7, 3; 5, 2) at u = (2, 5)
    assert fmu.getAdjointDerivative(unknowns, knowns, [1.0, 10.0]) == pytest.approx([57, 23])
    fmu.freeInstance()
