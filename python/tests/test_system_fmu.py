# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Systems as FMUs: x' = -k x in an FMU of a system, and the system given back."""

import math
import pathlib

import couplet
import pytest

MODEL = """
#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 2}, {0}}, parameters[] = {{"k", .start = 0.5}, {0}};
static int slope(const cpl_values* v, double* dx) {
  dx[0] = -v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {
    .name = "decay", .states = states, .parameters = parameters, .derivatives = slope};
"""


@pytest.mark.parametrize("fmi", [2, 3])
def test_system_fmu(tmp_path, fmi):
    (tmp_path / "decay.c").write_text(MODEL)
    (tmp_path / "s.yaml").write_text(
        "couplet: 1\nmodels: {d: {c: decay.c}}\noutputs: {twice: 2*d.x}\nexperiment: {stop: 2, rtol: 1e-9}\n")
    fmu = couplet.build(tmp_path / "s.yaml", tmp_path / "s.fmu", fmi=fmi)
    for kind in ("me", "cs"):
        for k in (0.5, 3):
            result = couplet.simulate(fmu, as_=kind, set={"d.k": k})
            assert result["twice"][-1] == pytest.approx(4 * math.exp(-2 * k), rel=1e-6)
    (tmp_path / "decay.c").unlink()
    file = couplet.unpack(fmu, tmp_path / "back")
    assert pathlib.Path(file).name == "system.yaml"
    assert couplet.simulate(file)["twice"][-1] == pytest.approx(4 * math.exp(-1), rel=1e-6)


def test_interface(tmp_path):
    (tmp_path / "decay.c").write_text(MODEL)
    (tmp_path / "s.yaml").write_text(
        "couplet: 1\nmodels: {d: {c: decay.c}}\nparameters: {a: 2}\noutputs: {twice: a*d.x}\nexperiment: {stop: 2}\n")
    everything = couplet.info(couplet.build(tmp_path / "s.yaml", tmp_path / "s.fmu"))
    little = couplet.info(couplet.build(tmp_path / "s.yaml", tmp_path / "i.fmu", expose="interface"))
    assert "d.k" in everything.variables and "d.k" not in little.variables
    assert {"twice", "a", "d.x"} <= set(little.variables)
    with pytest.raises(ValueError):
        couplet.build(tmp_path / "s.yaml", expose="none")
    with pytest.raises(couplet.InputError, match="is no FMU that couplet made of a system"):
        couplet.unpack(couplet.build(tmp_path / "decay.c", tmp_path / "c.fmu"), tmp_path / "other")
