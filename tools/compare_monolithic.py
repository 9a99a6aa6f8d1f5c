#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the table of docs/aggregated-or-monolithic.md: each example as a system of models in C, as a system of FMUs,
and written as one model.

    compare_monolithic.py COUPLET [--repeat N]
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# folder, models to make FMUs of, tolerance, interval
EXAMPLES = [
    ("simple_coupling", ["a", "b"], "1e-8", "0.02"),
    ("algebraic_loop", ["a", "b"], "1e-8", "0.02"),
    ("pendulums_cartesian", ["pendulum"], "1e-9", "0.05"),
    ("pendulums_polar", ["pendulum"], "1e-8", "0.05"),
    ("pendulums_walls", [], "1e-10", "0.01"),
    ("race_car", ["chassis", "wheel"], "1e-6", "0.02"),
]


def run(couplet, file, tolerance, interval):
    command = [couplet, "run", file, "--rtol", tolerance, "--atol", tolerance, "--interval", interval, "--json",
               "-o", "out.csv"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=file.parent)
    return json.loads(done.stdout)


def measure(couplet, files, tolerance, interval, repeat):
    """Runs the files in turn, so that other load on the machine meets all of them. Such load only ever adds time: the
    shortest run is kept, of the odd and of the even runs apart, to see how well it repeats."""
    runs = [[run(couplet, f, tolerance, interval) for f in files] for _ in range(max(repeat, 2))]
    halves = [[min(r[k]["wall_s"] for r in runs[half::2]) for half in (0, 1)] for k in range(len(files))]
    ratios = [sorted(t / one for t, one in zip(times, halves[0])) for times in halves]
    return runs[0], [min(times) for times in halves], ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("couplet", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=100)
    args = parser.parse_args()
    couplet = args.couplet.resolve()
    print("| example, rtol = atol | made of | steps | right-hand sides | Jacobians | events | time | to monolithic |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for name, models, tolerance, interval in EXAMPLES:
            here = folder / "examples" / name
            for model in models:
                subprocess.run([couplet, "build", f"{model}.c", "-o", f"{model}.fmu"], cwd=here, check=True,
                               stdout=subprocess.DEVNULL)
            fmus = "race_car_fmu.yaml" if name == "race_car" else "fmus.yaml"
            kinds = [("one model", "monolithic.c"), ("models in C", f"{name}.yaml"), ("FMUs", fmus)]
            counts, times, ratios = measure(couplet, [here / file for _, file in kinds], tolerance, interval, args.repeat)
            for k, (kind, _) in enumerate(kinds):
                r, (low, high) = counts[k], ratios[k]
                events = r["state_events"] + r["time_events"] + r["step_events"]
                title = f"{name}, {tolerance}" if k == 0 else ""
                ratio = "1" if k == 0 else f"{low:.2f}, {high:.2f}"
                print(f"| {title} | {kind} | {r['steps']} | {r['rhs_evals']} | {r['jacobians']} | {events} "
                      f"| {times[k] * 1e3:.2f} ms | {ratio} |")


if __name__ == "__main__":
    main()
