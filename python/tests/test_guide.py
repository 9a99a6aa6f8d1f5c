# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of docs/python.md, in their order."""

import re
import shutil

import couplet
import numpy as np
import pytest


def test_guide(root, tmp_path, monkeypatch):
    shutil.copytree(root / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    text = (root / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 9
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (tmp_path / "masses.csv").exists() and (tmp_path / "ball.fmu").exists()
    assert isinstance(names["r"], couplet.Result)
    assert names["m"].A.shape == (4, 4)
    assert names["y"].shape == (2,)
    assert np.isfinite(names["frame"].to_numpy()).all()
    assert names["study"].curves["right.x"].shape == (12, 301) and len(names["cases"]) == 12
    assert dict(names["grid"].sizes) == {"time": 301, "left.m": 4, "right.m": 3}


PUMP = """
#include <couplet/model.h>
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"h", .start = 1, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 1}, {0}};
const cpl_model_def couplet_model = {.name = "pump", .states = states, .inputs = inputs,
                                     .parameters = parameters, .derivatives = derivatives};
"""


@pytest.mark.parametrize("page, name, level", [("fmpy", "result", 0.0), ("pyfmi", "res", 1 / 3)])
def test_other_packages(root, tmp_path, monkeypatch, page, name, level):
    """The examples of these pages; h' = u - 3 h from 1, without and with u = 1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pump.c").write_text(PUMP)
    couplet.build("pump.c", "pump.fmu")
    text = (root / "docs" / f"{page}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, f"docs/{page}.md", "exec"), names)
    result = names[name]
    assert result["time"][-1] == 2
    assert result["h"][-1] == pytest.approx(level + (1 - level) * np.exp(-6), abs=1e-3)


def test_every_method_of_a_system_is_mentioned(root):
    text = (root / "docs" / "python.md").read_text()
    for name in vars(couplet.System):
        if not name.startswith("_") and name not in ("copy", "models", "simulate", "open", "linearize", "sweep"):
            assert f"`{name}" in text, name
