#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark: every line is a ratio or a number measured in one run, with the goal beside it.

  bench/run.py BUILD_FOLDER [--json]

Programs are run in turn, so that what disturbs the machine disturbs both; the least CPU time of each counts.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import zipfile

ROUNDS = 15


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_megabytes(command):
    # a process of its own, because the kernel keeps the largest of all children
    script = ("import resource,subprocess,sys;"
              "subprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL);"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", script] + command, check=True, capture_output=True, text=True)
    return int(out.stdout) / 1024


def least(*commands):
    best = [float("inf")] * len(commands)
    for _ in range(ROUNDS):
        for i, command in enumerate(commands):
            best[i] = min(best[i], cpu_seconds(command))
    return best


class Bench:
    def __init__(self, build, folder):
        self.couplet = os.path.join(build, "couplet")
        self.bare = os.path.join(build, "bench", "bare_me")
        self.models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")
        self.folder = folder
        self.lines = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def fmu(self, name):
        target = self.path(name + ".fmu")
        subprocess.run([self.couplet, "build", os.path.join(self.models, name + ".c"), "-o", target],
                       check=True, stdout=subprocess.DEVNULL)
        with zipfile.ZipFile(target) as archive:
            archive.extractall(self.path(name))
        return target

    def report(self, what, value, unit, goal):
        self.lines.append({"what": what, "value": value, "unit": unit, "goal": goal, "met": value <= goal})

    def against_bare(self, name, states, stop, method, goal):
        fmu = self.fmu(name)
        text = open(os.path.join(self.path(name), "modelDescription.xml"), encoding="utf-8").read()
        guid = re.search(r'guid="([^"]*)"', text).group(1)
        refs = re.findall(r'valueReference="(\d+)"[^>]*causality="output"', text)
        binary = os.path.join(self.path(name), "binaries", "linux64", name + ".so")
        solver = "cvode" if method == "bdf" else "adams"
        ours = [self.couplet, "run", fmu, "--stop-time", str(stop), "--interval", str(stop / 500), "--rtol", "1e-6",
                "--solver", solver, "--quiet", "-o", self.path("ours.csv")]
        floor = [self.bare, binary, guid, str(states), str(stop), "500", "1e-6", method, self.path("bare.csv")] + refs
        a, b = least(ours, floor)
        what = f"{name}, {method}, t = {stop:g}, 500 points: couplet run / bare C program"
        self.report(what, a / b, f"({1e3 * a:.1f} ms / {1e3 * b:.1f} ms)", goal)

    def start_up(self):
        fmu = self.fmu("variables20000")
        open_it = [self.couplet, "run", fmu, "--stop-time", "0", "--record", "x[1]", "-q", "-o", self.path("x.csv")]
        self.report("FMU with 20,000 variables: open, parse, instantiate, initialise", least(open_it)[0], "s", 0.2)
        self.report("FMU with 20,000 variables: memory", peak_megabytes(open_it), "MB", 60)


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build, folder)
        bench.against_bare("chain100", 100, 100, "bdf", 1.15)
        bench.against_bare("chain100", 100, 100, "adams", 1.15)
        bench.against_bare("oscillator2", 2, 5000, "bdf", 1.5)
        bench.against_bare("oscillator2", 2, 20, "bdf", 10)
        bench.start_up()
    if "--json" in sys.argv:
        json.dump(bench.lines, sys.stdout, indent=1)
        return
    for line in bench.lines:
        mark = "ok  " if line["met"] else "MISS"
        print(f"{mark} {line['value']:8.3f} (goal {line['goal']:g}) {line['unit']:22s} {line['what']}")


main()
