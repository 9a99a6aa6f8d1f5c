# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The examples in docstrings, and the type hints."""

import doctest
import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import couplet

NAMES = ["couplet"] + [
    f"couplet.{m.name}" for m in pkgutil.iter_modules(couplet.__path__) if m.name != "_core"
]


@pytest.mark.parametrize("name", NAMES)
def test_docstrings(name, root, monkeypatch):
    monkeypatch.chdir(root)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_there_are_examples(root, monkeypatch):
    monkeypatch.chdir(root)
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = [len(t.examples) for n in NAMES for t in finder.find(importlib.import_module(n))]
    assert sum(counts) >= 20


def test_public_names_have_docstrings():
    for name in couplet.__all__:
        item = getattr(couplet, name)
        if callable(item):
            assert item.__doc__, name


def test_types(tmp_path):
    pytest.importorskip("mypy")
    package = pathlib.Path(couplet.__file__).parent
    program = tmp_path / "program.py"
    program.write_text(
        """import couplet
r = couplet.simulate("m.c", stop=1, set={"k": 2})
x = r["x"] * 2
with couplet.open("m.c") as run:
    t: float = run.step(0.1)
    values = run.reader(["x"]).read()
m = couplet.linearize("m.c", at=1)
unit = couplet.info("m.c").variables["x"].unit
study = couplet.sweep("m.c", {"k": [1, 2]}, measures={"end": "final(x)"}, output="s.csv")
end = study["end"] * 2
first: float = study.influence("end").factors["k"]["regression"]
"""
    )
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    done = subprocess.run(
        [*words, "--cache-dir", str(tmp_path), str(package)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [*words, "--cache-dir", str(tmp_path), str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(package.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
