#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Counts the instructions of every example with two builds of couplet, by valgrind: they do not depend on the load of the machine.

    count_instructions.py BEFORE/couplet AFTER/couplet [FOLDER ...]    folders with systems and models; default: examples

Prints the ratios, largest first. Exit 1 when an example needs 3 % more instructions than before.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from same_bytes import ROOT, inputs

LIMIT = 1.03


def count(couplet, path, folder):
    """Of the process itself, without the compilers and models in processes of their own that it starts; None: it fails."""
    run = [str(couplet), "run", str(path), "--threads", "1", "-q", "-o", str(pathlib.Path(folder) / "result.csv")]
    if subprocess.run(run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return None  # the first run also fills the cache of compiled models
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={folder}/%p", f"--log-file={folder}/log"]
    subprocess.run(counter + run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    counts = re.findall(r"I\s+refs:\s+([\d,]+)", (pathlib.Path(folder) / "log").read_text(encoding="utf-8"))
    return max((int(c.replace(",", "")) for c in counts), default=None)


def main(before, after, *folders):
    ratios = []
    for path in inputs(folders or [ROOT / "examples"]):
        with tempfile.TemporaryDirectory() as folder:
            counts = [count(pathlib.Path(couplet).resolve(), path.resolve(), folder) for couplet in (before, after)]
        if None not in counts:
            ratios.append((counts[1] / counts[0], counts, path))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for ratio, (first, second), path in sorted(ratios, key=lambda r: -r[0]):
        print(f"{ratio:.3f}  {first / 1e6:10.1f} {second / 1e6:10.1f} millions  {path}")
    return 1 if any(ratio > LIMIT for ratio, _, _ in ratios) else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
