#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Runs every example with two builds of couplet and compares the results byte by byte: for changes
that must not change a result.

    same_bytes.py BEFORE/couplet AFTER/couplet [FOLDER ...]    folders with systems and models; default: examples

Exit 1 when a result, an exit code or a message differs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPTIONS = ([], ["--solver", "radau"], ["--solver", "dopri5", "--rtol", "1e-8"], ["--solver", "ida"])


def inputs(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix == ".c" and "cpl_model_def" in path.read_text(errors="replace"):
                yield path
            elif path.suffix in (".yaml", ".yml", ".xml") and path.is_file():
                yield path


def run(couplet, path, options, folder):
    result = pathlib.Path(folder) / "result.csv"
    done = subprocess.run([couplet, "run", path, "-q", "-o", result, *options], capture_output=True, text=True,
                          timeout=600, cwd=folder)
    text = result.read_bytes() if result.exists() else b""
    messages = re.sub(re.escape(str(folder)), "FOLDER", done.stderr)
    messages = re.sub(r"[0-9.]+ (m|u|n)?s\b", "TIME", messages)
    return done.returncode, text, messages


def main(before, after, *folders):
    different = same = 0
    for path in inputs(folders or [ROOT / "examples"]):
        for options in OPTIONS:
            with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
                first = run(pathlib.Path(before).resolve(), path.resolve(), options, a)
                second = run(pathlib.Path(after).resolve(), path.resolve(), options, b)
            if first == second:
                same += 1
                continue
            different += 1
            what = [name for name, x, y in zip(("exit code", "result", "messages"), first, second) if x != y]
            print(f"{path} {' '.join(options)}: {', '.join(what)} differ", flush=True)
    print(f"{same} runs with the same bytes, {different} with others")
    return 1 if different else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
