# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of docs/python.md, in their order."""

import re
import shutil

import couplet
import numpy as np


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


def test_every_method_of_a_system_is_mentioned(root):
    text = (root / "docs" / "python.md").read_text()
    for name in vars(couplet.System):
        if not name.startswith("_") and name not in ("copy", "models", "simulate", "open", "linearize"):
            assert f"`{name}" in text, name
