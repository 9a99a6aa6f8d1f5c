# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Random SSP packages against values that follow from the rules of the standard (ssp_random.py).

By hand with more of them: python test_ssp_random.py FIRST LAST"""

import csv
import os
import pathlib
import subprocess
import sys

import pytest
import ssp_files
import ssp_random

COMMAND = os.environ.get("COUPLET", str(pathlib.Path(__file__).parents[2] / "build" / "couplet"))


def build_fmus(folder):
    fmus = {}
    for name, source in ssp_random.SOURCES.items():
        (folder / f"{name}.c").write_text(source)
        fmus[name] = folder / f"{name}.fmu"
        subprocess.run([COMMAND, "build", folder / f"{name}.c", "-q", "-o", fmus[name]], check=True, timeout=120)
    return fmus


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    return build_fmus(tmp_path_factory.mktemp("fmus"))


def call(*args):
    done = subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def simulate(file, result):
    call("run", file, "-q", "--record", "*", "--rtol", "1e-10", "--interval", "1", "-o", result)
    rows = list(csv.reader(result.open()))
    return {name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])}


def compare(columns, expected):
    """The number of columns that are compared: connectors that lead nowhere are not recorded."""
    known = [name for name in expected if name in columns]
    for name in known:
        value = expected[name]
        varies = isinstance(value, ssp_random.Poly) and len(value) > 1
        for t, got in zip(columns["time"], columns[name]):
            right = float(value.at(t)) if isinstance(value, ssp_random.Poly) else float(value)
            assert abs(got - right) <= (1e-6 if varies else 1e-9) * (abs(right) + 100), (name, t, got, right)
    return len(known)


def check_package(seed, folder, fmus, more):
    generated = ssp_random.generate(seed)
    if generated is None:
        return 0
    generator, document, expected = generated
    ssp_files.Writer(generator, document, folder / "a", fmus, 1).write()
    n = compare(simulate(folder / "a", folder / "a.csv"), expected)
    if not more:
        return n
    call("check", folder / "a")
    # the order of the file does not matter
    ssp_files.Writer(generator, document, folder / "b", fmus, 2).write()
    simulate(folder / "b", folder / "b.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    for name in ("flat.yaml", "again.ssp"):
        call("convert", folder / "a", "-q", "-o", folder / name)
        assert compare(simulate(folder / name, folder / f"{name}.csv"), expected) == n
    return n


@pytest.mark.parametrize("seed", range(3, 24))
def test_values(seed, tmp_path, fmus):
    check_package(seed, tmp_path, fmus, more=False)


@pytest.mark.parametrize("seed", range(28, 36))
def test_order_and_conversion(seed, tmp_path, fmus):
    check_package(seed, tmp_path, fmus, more=True)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as top:
        fmus = build_fmus(pathlib.Path(top))
        for seed in range(int(sys.argv[1]), int(sys.argv[2])):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check_package(seed, pathlib.Path(folder), fmus, more=True)
                except AssertionError as e:
                    print(seed, str(e)[:500])
