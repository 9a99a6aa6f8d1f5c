#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Tyre parameters of the race car from noisy measurements, for many seeds.

  fit_race_car.py COUPLET SOURCE_FOLDER [SEEDS [FIRST [OPTION...]]]

The data are a run with tolerances of 1e-10 plus normal noise; the guesses are 5 to 12 % off. The driver is slower than usual, so that
the results are differentiable. Prints how many of the
95 % intervals contain the true values, and how many runs a fit takes. With further options (--differences) they are
passed to couplet fit.
"""
import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

TRUTH = {"grip": 1.9, "peak_x": 0.10, "peak_y": 0.11, "tyre": 220e3}
GUESS = {"grip": 1.7, "peak_x": 0.11, "peak_y": 0.105, "tyre": 200e3}
NOISE = {"chassis.v": 0.05, "chassis.yaw_rate": 0.01, "fl.spin": 0.2, "rl.spin": 0.2, "fl.hub": 0.001}
STOP = 4
SETTINGS = ["--set", "chassis.speed=14"]


def make_system(source, folder):
    """The system with the tyre parameters of all wheels as parameters of its own."""
    example = os.path.join(source, "examples", "race_car")
    for name in ("car.h", "wheel.c", "chassis.c"):
        shutil.copy(os.path.join(example, name), folder)
    with open(os.path.join(example, "race_car.yaml"), encoding="utf-8") as f:
        text = f.read()
    starts = ", ".join(f"{name}: {name}" for name in TRUTH)
    text = text.replace("{c: wheel.c}", "{c: wheel.c, start: {%s}}" % starts).replace("100e3}}", "100e3, %s}}" % starts)
    values = ", ".join(f"{name}: {value}" for name, value in TRUTH.items())
    text = text.replace("connections:\n", "parameters: {%s}\nconnections:\n" % values, 1)
    path = os.path.join(folder, "car.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def true_rows(couplet, car):
    """The rows of the run at multiples of the interval: events add others."""
    record = [option for name in NOISE for option in ("--record", name)]
    text = subprocess.run([couplet, "run", car, "--stop", str(STOP), *SETTINGS, "--rtol", "1e-10", "--atol", "1e-10", "-q", "-o", "-", *record],
                          check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    return [r for r in rows if abs(float(r["time"]) / 0.02 - round(float(r["time"]) / 0.02)) < 1e-9]


def write_data(rows, seed, path):
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(["time", *NOISE]) + "\n")
        for row in rows:
            values = [float(row[name]) + rng.gauss(0, sigma) for name, sigma in NOISE.items()]
            f.write(",".join([row["time"], *map(repr, values)]) + "\n")


def fit(couplet, car, data, options):
    vary = [option for name, guess in GUESS.items() for option in ("--vary", f"{name}={guess}:{0.5 * guess}:{2 * guess}")]
    done = subprocess.run([couplet, "fit", car, "--data", data, "--stop", str(STOP), *SETTINGS, "--json", *vary, *options],
                          check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, end="")
        return None
    return json.loads(done.stdout)


def main():
    couplet, source = sys.argv[1:3]
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    inside, runs, failures = dict.fromkeys(TRUTH, 0), [], 0
    with tempfile.TemporaryDirectory() as folder:
        car, data = make_system(source, folder), os.path.join(folder, "measured.csv")
        rows = true_rows(couplet, car)
        for seed in range(first, first + seeds):
            write_data(rows, seed, data)
            result = fit(couplet, car, data, sys.argv[5:])
            if result is None:
                failures += 1
                continue
            for name, true in TRUTH.items():
                p = result["parameters"][name]
                inside[name] += p["low"] is not None and p["low"] <= true <= p["high"]
            runs.append(result["runs"])
            if seed == first:
                print("first seed:", {n: (p["value"], p["deviation"]) for n, p in result["parameters"].items()},
                      "derivatives:", result["derivatives"], "runs:", result["runs"])
    print(f"{seeds} seeds, {failures} fits failed; intervals with the true value:", inside)
    if runs:
        print(f"runs of a fit: {min(runs)} to {max(runs)}, mean {sum(runs) / len(runs):.1f}")


main()
