#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Tries an installed couplet from outside: the module of this Python, and the command that is found on PATH.

    try_package.py SOURCES [--bundled FOLDER]

Runs the examples of docs/python.md, and compares results of the command with those of the module. With --bundled,
every shared library that couplet loads has to be below FOLDER, apart from those of glibc.
"""
import bz2  # noqa: F401  these load libraries of the system, of which couplet may have copies
import ctypes  # noqa: F401
import lzma  # noqa: F401
import os
import pathlib
import re
import shutil
import ssl  # noqa: F401
import subprocess
import sys
import tempfile

import numpy  # noqa: F401
import pandas  # noqa: F401

GLIBC = re.compile(r"/(ld-linux-[\w-]+|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl|nss_\w+))\.so\.[0-9]+$")


def fail(text):
    sys.exit(f"try_package.py: {text}")


def mapped():
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return {fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6 and ".so" in fields[5]}


def foreign(files, folder):
    """Libraries that are neither below the folder nor part of glibc; modules of Python do not count."""
    return sorted(file for file in files
                  if not file.startswith((f"{folder}/", os.getcwd())) and not GLIBC.search(file)
                  and not re.search(r"/python3[^/]*/", file))


def run(*words, **environment):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    if done.returncode != 0:
        fail(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr}")
    return done


def try_guide(sources):
    text = (sources / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    if len(blocks) < 9 or not os.path.exists("ball.fmu"):
        fail(f"docs/python.md has only {len(blocks)} examples, or they have not built ball.fmu")


def try_command(version):
    if run("couplet", "--version").stdout != f"couplet {version}\n":
        fail(f"the command is not that of couplet {version}")
    parts = run("couplet", "--version", "--verbose").stdout
    if "not there" in parts or "KLU" not in parts or "ZeroMQ" not in parts:
        fail(f"libraries are missing:\n{parts}")
    run("couplet", "build", "-q", "examples/bouncing_ball/bouncing_ball.c", "-o", "command.fmu")
    run("couplet", "check", "command.fmu")
    run("couplet", "view", "masses.csv", "-o", "masses.html")
    run("couplet", "graph", "examples/two_masses/two_masses.yaml", "--svg", "-o", "masses.svg")


def try_same_results():
    import couplet

    for file in ("examples/bouncing_ball/bouncing_ball.c", "command.fmu", "examples/two_masses/two_masses.yaml"):
        run("couplet", "run", "-q", file, "-o", "command.csv")
        couplet.simulate(file).save("module.csv")
        if pathlib.Path("command.csv").read_bytes() != pathlib.Path("module.csv").read_bytes():
            fail(f"{file}: the command and the module have different results")


def main(sources, folder):
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(sources / "examples", pathlib.Path(work) / "examples")
        os.chdir(work)
        os.environ["XDG_CACHE_HOME"] = os.path.join(work, "cache")
        before = mapped()
        import couplet

        try_guide(sources)
        try_command(couplet.__version__)
        try_same_results()
        if folder:
            if wrong := foreign(mapped() - before, folder):
                fail(f"the module loads libraries of the system: {wrong}")
            # without the script of Python before it; the verbose form loads what is otherwise loaded on demand
            command = os.path.join(os.path.dirname(couplet.__file__), "bin", "couplet")
            if not os.path.exists(command):
                command = "couplet"
            loaded = run(command, "--version", "--verbose", LD_DEBUG="libs").stderr
            loaded = {os.path.realpath(file) for file in re.findall(r"calling init: (.*)", loaded)}
            if wrong := foreign(loaded, folder):
                fail(f"the command loads libraries of the system: {wrong}")
            if not any("libklu" in file for file in loaded) or not any("libzmq" in file for file in loaded):
                fail("the command does not load KLU and ZeroMQ")
            # libraries of couplet first, those of the system later
            run(sys.executable, "-c", "import couplet, ssl, lzma, bz2, pandas; couplet.info('ball.fmu')")
        os.chdir("/")
        print(f"couplet {couplet.__version__} of {os.path.dirname(couplet.__file__)}: "
              "docs/python.md, run, build, check, view and graph work" + (f", with libraries of {folder} only" if folder else ""))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4) or (len(sys.argv) == 4 and sys.argv[2] != "--bundled"):
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve(), os.path.realpath(sys.argv[3]) if len(sys.argv) == 4 else None)
