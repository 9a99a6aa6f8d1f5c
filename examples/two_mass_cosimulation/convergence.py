#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Errors and orders of convergence of every way to couple the two masses, as the table of the README.

    convergence.py [COUPLET]      COUPLET: the program, "couplet" unless given
"""
import csv
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPS = [0.02, 0.01, 0.005]
WAYS = [
    ("Jacobi", "algorithm: jacobi, order: 0"),
    ("determinate", "algorithm: determinate, order: 0"),
    ("Gauss-Seidel", "algorithm: gauss-seidel, order: 0"),
    ("Jacobi, extrapolated, order 1", "algorithm: jacobi, order: 1"),
    ("determinate, extrapolated, order 1", "algorithm: determinate, order: 1"),
    ("determinate, extrapolated, order 2", "algorithm: determinate, order: 2"),
    ("iterative, order 1", "algorithm: iterative, order: 1"),
    ("iterative, order 2", "algorithm: iterative, order: 2"),
]
TOLERANCES = [1e-3, 1e-4, 1e-5]


def exact(t):
    """x of the left mass: the sum moves with frequency 1, the difference with 3."""
    return 0.5 * math.cos(t) + 0.5 * math.cos(3 * t)


class Runs:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        for name in ("left", "right"):
            self.call("build", HERE / f"{name}.c", "-o", folder / f"{name}.fmu")

    def call(self, *args):
        subprocess.run([self.program, *map(str, args)], check=True, stdout=subprocess.DEVNULL)

    def error(self, file, master=None, *options):
        text = (HERE / file).read_text().replace("c: ", f"c: {HERE}/")
        if master:
            text = text.replace("master: {algorithm: iterative, order: 1, step: 0.01}", f"master: {{{master}}}")
        (self.folder / file).write_text(text)
        out = self.folder / "out.csv"
        self.call("run", self.folder / file, "-q", "-o", out, *options)
        rows = list(csv.reader(out.open()))
        return max(abs(float(row[1]) - exact(float(row[0]))) for row in rows[1:])


def line(cells):
    print("| " + " | ".join(cells) + " |")


def table(runs, file, title):
    print(f"\n{title}\n")
    line(["master", *(f"h = {h:g}" for h in STEPS), "order", "h = 0.001"])
    line(["---"] * (len(STEPS) + 3))
    for name, how in WAYS:
        errors = [runs.error(file, f"{how}, step: {h:.12g}") for h in STEPS]
        best = runs.error(file, f"{how}, step: 0.001")
        order = math.log2(errors[-2] / errors[-1])
        line([name, *(f"{e:.1e}" for e in errors), f"{order:.2f}", f"{best:.1e}"])


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "couplet"
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(program, pathlib.Path(folder))
        table(runs, "steppers.yaml", "Steppers of couplet (`steppers.yaml`)")
        table(runs, "fmus.yaml", "FMI 2.0 FMUs made by `couplet build` (`fmus.yaml`)")
        print("\nVariable communication steps (`steppers.yaml`, determinate, order 1)\n")
        line(["tolerance", *(f"{t:g}" for t in TOLERANCES)])
        line(["---"] * (len(TOLERANCES) + 1))
        for estimate in ("predictor", "richardson"):
            how = f"order: 1, step: 0.1, estimate: {estimate}"
            line([estimate, *(f"{runs.error('steppers.yaml', f'{how}, tolerance: {t:g}'):.1e}" for t in TOLERANCES)])
        print("\nOne solver for both (`aggregate.yaml`)\n")
        line(["rtol", *(f"{t:g}" for t in (1e-6, 1e-8, 1e-10))])
        line(["---"] * 4)
        line(["error", *(f"{runs.error('aggregate.yaml', None, '--rtol', t):.1e}" for t in (1e-6, 1e-8, 1e-10))])


if __name__ == "__main__":
    main()
