# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Every example gives the same bytes as the command."""

import pathlib
import re
import shutil
import warnings

import pytest

import couplet
from conftest import ROOT


def files():
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix == ".c" and "cpl_model_def" in path.read_text(errors="replace"):
            yield path
        elif path.suffix in (".yaml", ".xml"):
            yield path


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """A copy of the examples, where FMUs are made when they are needed."""
    folder = tmp_path_factory.mktemp("copy") / "examples"
    shutil.copytree(ROOT / "examples", folder)
    return folder


def build_fmus(path):
    for name in set(re.findall(r"([\w/.-]+)\.fmu", path.read_text())):
        fmu = path.parent / f"{name}.fmu"
        model = fmu.with_suffix(".c")
        if model.exists() and not fmu.exists():
            couplet.build(model, fmu)


@pytest.mark.parametrize("path", [str(p.relative_to(ROOT / "examples")) for p in files()])
def test_bytes(path, examples, command, tmp_path):
    file = examples / path
    if file.suffix != ".c":
        build_fmus(file)
    by_command, by_python = tmp_path / "command.csv", tmp_path / "python.csv"
    done = command("run", file, "-o", by_command, "-q", check=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", couplet.Warning)
        try:
            result = couplet.simulate(file)
        except couplet.Error as error:
            assert done.returncode != 0, str(error)
            assert error.message.split(": ")[-1].strip() in done.stderr
            return
    assert done.returncode == 0, done.stderr
    result.save(by_python)
    assert by_python.read_bytes() == by_command.read_bytes()
    # what is read is what was written
    for name, values in couplet.read(by_python).items():
        assert (values == result[name]).all() or (values != values).any()


def test_enough_examples():
    assert len(list(files())) > 60
