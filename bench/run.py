#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark: every line is a ratio or a number measured in one run, with the goal beside it.

  bench/run.py BUILD_FOLDER [--json] [PART...]

Parts are the methods that main() lists; without any, all of them.

Programs are run in turn, so that what disturbs the machine disturbs both; the least CPU time of each counts.
"""
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

from ranks import measure_ranks

ROUNDS = 15


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wall_seconds(command):
    before = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - before


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


def guid_of(folder):
    text = open(os.path.join(folder, "modelDescription.xml"), encoding="utf-8").read()
    return re.search(r'guid="([^"]*)"', text).group(1)


class Bench:
    def __init__(self, build, folder):
        self.build = build
        self.couplet = os.path.join(build, "couplet")
        self.bare = os.path.join(build, "bench", "bare_me")
        self.bare_system = os.path.join(build, "bench", "bare_system")
        self.bare_master = os.path.join(build, "bench", "bare_master")
        self.bare_modes = os.path.join(build, "bench", "bare_modes")
        self.bare_cases = os.path.join(build, "bench", "bare_cases")
        self.bare_calls = os.path.join(build, "bench", "bare_calls")
        self.bare_grid = os.path.join(build, "bench", "bare_grid")
        self.light = os.path.join(build, "bench", "light.so")
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
        guid = guid_of(self.path(name))
        refs = re.findall(r'valueReference="(\d+)"[^>]*causality="output"', text)
        binary = os.path.join(self.path(name), "binaries", "linux64", name + ".so")
        solver = "cvode" if method == "bdf" else "adams"
        ours = [self.couplet, "run", fmu, "--stop-time", str(stop), "--interval", str(stop / 500), "--rtol", "1e-6",
                "--solver", solver, "--quiet", "-o", self.path("ours.csv")]
        floor = [self.bare, binary, guid, str(states), str(stop), "500", "1e-6", method, self.path("bare.csv")] + refs
        a, b = least(ours, floor)
        what = f"{name}, {method}, t = {stop:g}, 500 points: couplet run / bare C program"
        self.report(what, a / b, f"({1e3 * a:.1f} ms / {1e3 * b:.1f} ms)", goal)

    def bare_solvers(self):
        self.against_bare("chain100", 100, 100, "bdf", 1.15)
        self.against_bare("chain100", 100, 100, "adams", 1.15)
        self.against_bare("oscillator2", 2, 5000, "bdf", 1.5)
        self.against_bare("oscillator2", 2, 20, "bdf", math.inf)  # mostly start-up of the two programs

    def start_up(self):
        fmu = self.fmu("variables20000")
        open_it = [self.couplet, "run", fmu, "--stop-time", "0", "--record", "x[1]", "-q", "-o", self.path("x.csv")]
        self.report("FMU with 20,000 variables: open, parse, instantiate, initialise", least(open_it)[0], "s", 0.2)
        self.report("FMU with 20,000 variables: memory", peak_megabytes(open_it), "MB", 60)

    def description(self, n):
        folder = self.path(f"big{n}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "modelDescription.xml"), "w", encoding="utf-8") as out:
            out.write('<fmiModelDescription fmiVersion="3.0" modelName="big" instantiationToken="t">\n'
                      '<ModelExchange modelIdentifier="m"/><ModelVariables>\n')
            out.writelines(f'<Float64 name="part[{i // 10}].variable{i % 10}" valueReference="{i}" causality="output" '
                           f'initial="exact" start="{i}.5" description="variable number {i}"/>\n' for i in range(n))
            out.write("</ModelVariables><ModelStructure>\n")
            out.writelines(f'<Output valueReference="{i}" dependencies="{i}"/>\n' for i in range(n))
            out.write("</ModelStructure></fmiModelDescription>\n")
        return [self.couplet, "info", folder]

    def descriptions(self):
        small, large = least(self.description(100000), self.description(400000))
        self.report("description with 100,000 variables: couplet info", small, "s", 0.5)
        self.report("description with 400,000 variables / 100,000", large / small, "times as long", 5)

    def isolation(self):
        # a call of an isolated model, there and back: what euler's evaluations cost more than in the same process
        fmu = self.fmu("oscillator2")
        log = self.path("calls.txt")

        def run(stop):
            return [self.couplet, "run", fmu, "--as", "me", "--solver", "euler", "--step", "1e-4", "--interval",
                    str(stop), "--stop-time", str(stop), "-q", "-o", self.path("x.csv")]

        short, long = run(0.1) + ["--call-log", log], run(2)
        subprocess.run(short, check=True, stdout=subprocess.DEVNULL)
        calls = len(open(log, encoding="utf-8").read().splitlines()) * 2 / 0.1
        inside, isolated = math.inf, math.inf
        for _ in range(5):
            inside = min(inside, wall_seconds(long))
            isolated = min(isolated, wall_seconds(long + ["--isolate"]))
        self.report("--isolate: a call there and back", 1e6 * (isolated - inside) / calls, "microseconds", 3)

    def ranks(self):
        measure_ranks(self)

    def other_platforms(self):
        """A binary for win64 in its host against the native one with --isolate; both take turns over shared memory."""
        native, there = (os.path.join(self.build, "tests", *place, "probe") for place in ((), ("foreign", "win64")))
        if subprocess.run([self.couplet, "run", there, "-q", "-o", self.path("x.csv")], capture_output=True, check=False).returncode:
            print("no FMU for win64 can be run here", file=sys.stderr)
            return

        def ten(name, fmu):
            models = "".join(f"  m{i}: {{fmu: {fmu}, as: me, start: {{k: {i + 1}}}}}\n" for i in range(10))
            joins = ", ".join(f"m{i}.u: 0.1*m{(i + 1) % 10}.x1" for i in range(10))
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(f"couplet: 1\nmodels:\n{models}connections: {{{joins}}}\n")
            return self.path(name)

        def per_step(command, steps, step, rounds=12):
            # of the time in models, as couplet measures it; in turn, the least of many
            best = {}
            for _ in range(rounds):
                for where, what in (("native", [native, "--isolate"]), ("there", [there])):
                    run = [self.couplet, "run"] + command(*what) + ["--interval", "1", "--stats", "-o", self.path("x.csv"),
                                                                    "--step", str(step), "--stop-time", str(steps * step)]
                    text = subprocess.run(run, check=True, capture_output=True, text=True).stdout
                    seconds = float(re.search(r"time in models +([\d.e+-]+)", text).group(1))
                    best[where] = min(best.get(where, math.inf), 1e6 * seconds / steps)
            return best["native"], best["there"]

        def compare(what, numbers):
            isolated, foreign = numbers
            self.report(f"win64 against --isolate: {what}", foreign / isolated, f"({foreign:.1f} us / {isolated:.1f} us)", 1.5)

        euler = ["--solver", "euler"]
        compare("a step of explicit Euler", per_step(lambda fmu, *more: [fmu, "--as", "me", *euler, *more], 3000, 1e-4))
        compare("a step of co-simulation", per_step(lambda fmu, *more: [fmu, "--as", "cs", *more], 3000, 1e-4))
        compare("a step of explicit Euler, aggregate of ten", per_step(lambda fmu, *more: [ten("ten.yaml", fmu), *euler, *more], 300, 1e-3))

    #------------------------------------ systems ------------------------------------

    def write(self, name, models, connections, experiment, record="[]"):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write("couplet: 1\nmodels:\n")
            out.writelines(f"  {key}: {{{value}}}\n" for key, value in models)
            out.write("connections:\n")
            out.writelines(f"  {key}: {value}\n" for key, value in connections)
            if record != "[]":
                out.write(f"record: {record}\n")
            out.write(f"experiment: {{{experiment}}}\n")
        return self.path(name)

    def simulated(self, file, *options):
        """Seconds from initialisation to the last row, as couplet tells them."""
        command = [self.couplet, "run", file, "--json", "-o", self.path("ours.csv"), *options]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(out)["wall_s"]

    def system_against_bare(self, what, file, floor, goal):
        ours = theirs = float("inf")
        for _ in range(ROUNDS):
            ours = min(ours, self.simulated(file))
            theirs = min(theirs, float(subprocess.run(floor, check=True, capture_output=True, text=True).stdout))
        self.report(f"{what}: couplet / bare C program", ours / theirs, f"({1e3 * ours:.2f} ms / {1e3 * theirs:.2f} ms)", goal)

    def binary(self, name):
        return os.path.join(self.path(name), "binaries", "linux64", name + ".so")

    def small_systems(self):
        a, b, mass = self.fmu("system_a"), self.fmu("system_b"), self.fmu("mass")
        file = self.write("loop.yaml", [("A", f"fmu: {a}"), ("B", f"fmu: {b}")], [("A.u", "B.y"), ("B.u", "A.y")],
                          "start: 0, stop: 2, interval: 0.004, rtol: 1e-8", "[A.x, B.x]")
        floor = [self.bare_system, "loop", self.binary("system_a"), guid_of(self.path("system_a")), self.binary("system_b"),
                 guid_of(self.path("system_b")), "2", "500", "1e-8", self.path("bare.csv")]
        self.system_against_bare("algebraic loop of two FMUs", file, floor, 1.3)
        for n in (10, 50):
            connections = []
            for i in range(n):
                connections += [(f"m{i}.left", f"m{i - 1}.y")] if i > 0 else []
                connections += [(f"m{i}.right", f"m{i + 1}.y")] if i + 1 < n else []
            states = "[" + ", ".join(f"m{i}.x, m{i}.v" for i in range(n)) + "]"
            file = self.write("chain.yaml", [(f"m{i}", f"fmu: {mass}") for i in range(n)], connections,
                              "start: 0, stop: 20, interval: 0.04, rtol: 1e-6", states)
            floor = [self.bare_system, "chain", self.binary("mass"), guid_of(self.path("mass")), str(n), "20", "500", "1e-6",
                     self.path("bare.csv")]
            self.system_against_bare(f"chain of {n} masses as FMUs", file, floor, 1.5)

    def race_car(self):
        car = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "race_car")
        whole, parts = os.path.join(car, "monolithic.c"), os.path.join(car, "race_car.yaml")
        coupled, one = least(*([self.couplet, "run", file, "-q", "-o", self.path("ours.csv")] for file in (parts, whole)))
        self.report("race car: coupled / monolithic, CPU", coupled / one, f"({1e3 * coupled:.0f} ms / {1e3 * one:.0f} ms)", 1.3)
        for version in ("2", "3"):
            self.race_car_fmu(parts, version)

    def race_car_fmu(self, file, version):
        """Right-hand sides of the system as one FMU, by a method with a fixed step."""
        fmu, options = self.path(f"car{version}.fmu"), ("--solver", "rk4", "--step", "5e-4", "--interval", "20", "--one-solver")
        subprocess.run([self.couplet, "build", "-q", file, "--fmi", version, "-o", fmu], check=True)
        one = system = float("inf")
        for _ in range(ROUNDS):
            one, system = min(one, self.simulated(fmu, "--as", "me", *options)), min(system, self.simulated(file, *options))
        self.report(f"race car: one FMU of FMI {version}.0 / system file", one / system,
                    f"({1e3 * one:.0f} ms / {1e3 * system:.0f} ms)", 1.1)

    def ring_of_groups(self, n, source):
        connections = []
        for i in range(n):
            group = i // 10 * 10
            connections += [(f"m{group + (i - group + 1) % 10}.u", f"m{i}.y"), (f"m{i}.s", f"m{(i + 10) % n}.x")]
        return self.write(f"ring{n}.yaml", [(f"m{i}", source) for i in range(n)], connections,
                          "start: 0, stop: 10, interval: 0.1, rtol: 1e-6", "[m0.x, m5.y]")

    def scaling(self, what, source, sizes):
        times, memory = [], []
        for n in sizes:
            file = self.ring_of_groups(n, source)
            times.append(min(self.simulated(file) for _ in range(3 if n > 1000 else ROUNDS)))
            memory.append(peak_megabytes([self.couplet, "run", file, "-q", "-o", self.path("ours.csv")]))
        exponent = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
        shown = ", ".join(f"{n}: {1e3 * t:.1f} ms {m:.0f} MB" for n, t, m in zip(sizes, times, memory))
        self.report(f"{what}: exponent of time over size ({shown})", exponent, "", 1.1)

    def gmres(self):
        file = self.ring_of_groups(1000, "c: " + os.path.join(self.models, "ring_member.c"))
        direct = gmres = float("inf")
        for _ in range(ROUNDS):
            direct, gmres = min(direct, self.simulated(file)), min(gmres, self.simulated(file, "--linear", "gmres"))
        self.report("ring of loops, 1,000 C models: GMRES / factorised", gmres / direct,
                    f"({1e3 * gmres:.1f} ms / {1e3 * direct:.1f} ms)", math.inf)

    def loops_as_rows(self):
        """Equations of loops together with those of the states (IDA) against loops solved in every evaluation."""
        member = os.path.join(self.models, "ring_member.c")
        with open(member, encoding="utf-8") as file:
            bent = "#include <math.h>\n" + file.read().replace("0.5 * v->u[0]", "0.5 * sin(v->u[0])").replace(
                '{"y", "u x", "constant"}', '{"y", "u x"}')
        dear = bent.replace("  y[0] =", "  for (volatile int i = 0; i < 2000; i++) {\n  }\n  y[0] =")
        for name, text in (("bent.c", bent), ("dear.c", dear)):
            with open(self.path(name), "w", encoding="utf-8") as out:
                out.write(text)
        ida = ("--solver", "ida")
        ways = (ida + ("--loops", "as-rows"), ida, ("--solver", "cvode"))
        for what, source, sizes in (("linear loops", member, (1000, 2000)),
                                    ("nonlinear loops", self.path("bent.c"), (1000, 2000)),
                                    ("nonlinear loops of expensive models", self.path("dear.c"), (200, 400))):
            for n in sizes:
                file = self.ring_of_groups(n, "c: " + source)
                best = [math.inf] * len(ways)
                for _ in range(ROUNDS):
                    best = [min(b, self.simulated(file, *way)) for b, way in zip(best, ways)]
                for other, name in ((1, "IDA"), (2, "CVODE")):
                    self.report(f"ring of {n // 10} {what}: as rows / nested under {name}", best[0] / best[other],
                                f"({1e3 * best[0]:.1f} ms / {1e3 * best[other]:.1f} ms)", math.inf)

    def large_systems(self):
        member = "c: " + os.path.join(self.models, "ring_member.c")
        self.scaling("ring of loops, C models", member, (100, 1000, 10000))
        self.scaling("ring of loops, FMUs", "fmu: " + self.fmu("ring_member"), (100, 1000))
        one = self.fmu("ring_one")
        connections = []
        for i in range(1000):
            connections += [(f"m{i}.a", f"m{(i + 1) % 1000}.y"), (f"m{i}.b", f"m{i - 1 if i > 0 else 999}.y")]
        file = self.write("ring.yaml", [(f"m{i}", f"fmu: {one}, start: {{x: {1 + i % 7}}}") for i in range(1000)], connections,
                          "start: 0, stop: 10, interval: 0.01, rtol: 1e-6")
        run = [self.couplet, "run", file, "-q", "-o", self.path("ours.csv")]
        self.report("ring of 1,000 FMUs, 1,000 points, everything: CPU", least(run)[0], "s", 1)
        self.report("ring of 1,000 FMUs: start-up", least(run + ["--stop-time", "0"])[0], "s", 0.2)

    #------------------------------------ grids ------------------------------------

    # What couples two neighbours, of models/plate_cell.c and models/grid_mass.c.
    FLOW = {"plate": "50*(m{}.y - m{}.y)", "masses": "100*(m{0}.y - m{1}.y) + 10*(m{0}.y - m{1}.y)^3"}

    def grid(self, kind, source, width, height, stop, points, rtol, recorded):
        """A grid of equal models as a system file; it begins as bench/bare_grid.c does."""
        n, state = width * height, "T" if kind == "plate" else "x"
        models = [(f"m{i}", f"{source}, start: {{{state}: {300 + i % 17 * 10 if kind == 'plate' else 0.1 * (i % 13)}}}") for i in range(n)]
        connections = []
        for i in range(n):
            x, y = i % width, i // width
            for side, there, other in (("west", x > 0, i - 1), ("east", x + 1 < width, i + 1), ("north", y > 0, i - width),
                                       ("south", y + 1 < height, i + width)):
                connections += [(f"m{i}.{side}", self.FLOW[kind].format(other, i))] if there else []
        record = ", ".join(f"m{i}.{state}" for i in recorded)
        return self.write(f"{kind}{n}.yaml", models, connections,
                          f"start: 0, stop: {stop}, interval: {stop / points}, rtol: {rtol}", f"[{record}]")

    def grid_against_bare(self, kind, source, width, height, stop, rtol, rounds=5):
        """CPU time of whole processes: couplet, the program with KLU, and their ratio."""
        recorded = range(0, width * height, width * height // 10)
        file = self.grid(kind, source, width, height, stop, 100, rtol, recorded)
        ours, bare = math.inf, math.inf
        for _ in range(rounds):
            ours = min(ours, cpu_seconds([self.couplet, "run", file, "-q", "-o", self.path("x.csv")]))
            bare = min(bare, cpu_seconds([self.bare_grid, kind, str(width), str(height), str(stop), "100", str(rtol),
                                          self.path("bare.csv"), *map(str, recorded)]))
        return ours, bare

    def grids(self):
        """Plates and grids of masses against one program for the whole, with KLU and an analytic Jacobian."""
        names = {"plate": ("plate_cell", "plate of 10,000 cells", (100, 100, 50, 1e-8), 1.8, 3.5),
                 "masses": ("grid_mass", "grid of 2,500 masses", (50, 50, 10, 1e-6), 1.5, 2.5)}
        for kind, (model, what, size, goal, goal_fmu) in names.items():
            for source, limit, name in (("c: " + os.path.join(self.models, model + ".c"), goal, "C models"),
                                        ("fmu: " + self.fmu(model), goal_fmu, "FMUs")):
                ours, bare = self.grid_against_bare(kind, source, *size)
                self.report(f"{what}, {name}: couplet run / bare C program with KLU", ours / bare,
                            f"({1e3 * ours:.0f} ms / {1e3 * bare:.0f} ms)", limit)

    def growth(self):
        """From 1,000 to 100,000 models: strips of a plate that grow in length, so that the bare program grows linearly."""
        source, ratios = "c: " + os.path.join(self.models, "plate_cell.c"), []
        for length in (100, 10000):
            ours, bare = self.grid_against_bare("plate", source, 10, length, 50, 1e-8, 3 if length > 1000 else ROUNDS)
            ratios.append(ours / bare)
            shown = f"({1e3 * ours:.0f} ms / {1e3 * bare:.0f} ms)"
        self.report(f"plate of 10 x 100 to 10 x 10,000 cells: growth of the time / that of the bare program {shown}",
                    ratios[1] / ratios[0], "", 1.1)

    def many_instances(self):
        """100,000 instances of one FMU: opened, initialised, ended."""
        fmu = self.fmu("oscillator2")
        with open(self.path("instances.yaml"), "w", encoding="utf-8") as out:
            out.write(f"couplet: 1\nmodels: {{m: {{fmu: {fmu}, as: me, count: 100000}}}}\nrecord: ['m[1].x']\nexperiment: {{stop: 1}}\n")
        run = [self.couplet, "run", self.path("instances.yaml"), "--one-solver", "--stop-time", "0", "-q", "-o", self.path("x.csv")]
        self.report("100,000 instances of one FMU: open and start, CPU", min(cpu_seconds(run) for _ in range(2)), "s", 6)
        self.report("100,000 instances of one FMU: memory", peak_megabytes(run), "MB", 2000)

    def calls_of_fmus(self):
        """What an FMU needs for a right-hand side, without couplet around it: references 0 to 3 are the inputs of plate_cell."""
        self.fmu("plate_cell")
        call = [self.bare_calls, self.binary("plate_cell"), guid_of(self.path("plate_cell"))]
        least_ns, mean_ns = (
            [float(x) for x in subprocess.run([*call, n, "30", "1", "0", "1", "2", "3"], check=True, capture_output=True,
                                              text=True).stdout.split()] for n in ("1", "10000"))
        self.report("right-hand side of one FMU of couplet, again and again", least_ns[0], "ns", 150)
        self.report("right-hand side of 10,000 FMUs of couplet in turn, mean", mean_ns[1], "ns", 400)

    def small_fmu(self):
        """The whole process of a run of a small FMU."""
        fmu = self.fmu("oscillator2")
        run = [self.couplet, "run", fmu, "--stop-time", "1", "-q", "-o", self.path("x.csv")]
        self.report("run of a small FMU: CPU of the process", 1e3 * min(cpu_seconds(run) for _ in range(60)), "ms", 3)

    def balls(self):
        """Balls of different heights bounce at different times: each has a solver of its own."""
        ball = os.path.join(self.models, "..", "..", "examples", "bouncing_ball", "bouncing_ball.c")
        sizes, per_event, total = (10, 100, 1000, 10000), [], 0.0
        for n in sizes:
            models = [(f"b{i}", f"c: {ball}, start: {{h: {1 + 0.1 * i / n}, e: 1}}") for i in range(n)]
            file = self.write(f"balls{n}.yaml", models, [], "start: 0, stop: 9.3, interval: 0.1, rtol: 1e-8", "[b0.h, b1.v]")
            run = [self.couplet, "run", file, "--json", "-o", self.path("ours.csv")]
            events = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)["state_events"]
            rounds = 2 if n > 1000 else ROUNDS
            total = min(cpu_seconds(run) for _ in range(rounds))
            begin = min(cpu_seconds(run + ["--stop-time", "0"]) for _ in range(rounds))
            per_event.append(1e6 * (total - begin) / events)
        shown = ", ".join(f"{n}: {t:.1f} us" for n, t in zip(sizes, per_event))
        self.report(f"10,000 bouncing balls, each with its solver: time of an event ({shown}; all {total:.1f} s)", per_event[-1],
                    "microseconds", 40)

    def projection(self):
        """Constraints: right-hand sides with projection inside the solver against the other ways."""
        drift = os.path.join(self.models, "..", "..", "examples", "drift")

        def counts(file, *options):
            command = [self.couplet, "run", os.path.join(drift, file), "--json", "-o", self.path("ours.csv"), *options]
            return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

        radau = ["--solver", "radau", "--projection"]
        off, lazy = counts("pendulum.c", *radau, "off"), counts("pendulum.c", *radau, "lazy")
        self.report("pendulum, radau: right-hand sides, lazy projection / none", lazy["rhs_evals"] / off["rhs_evals"],
                    f"({lazy['rhs_evals']} / {off['rhs_evals']})", 1.05)
        for file, goal, options in (("pendulum.c", 0.02, ["--rtol", "1e-5", "--step", "0.1", "--stop-time", "300"]),
                                    ("battery.yaml", 0.25, [])):
            inside, events = counts(file, *options), counts(file, *options, "--projection", "events")
            self.report(f"{file}, cvode: right-hand sides, projection / step events", inside["rhs_evals"] / events["rhs_evals"],
                        f"({inside['rhs_evals']} / {events['rhs_evals']})", goal)

    #------------------------------------ masters ------------------------------------

    def ring_of_steppers(self, n, algorithm, step, record="[m0.y]"):
        connections = []
        for i in range(n):
            connections += [(f"m{i}.a", f"m{(i + 1) % n}.y"), (f"m{i}.b", f"m{i - 1 if i > 0 else n - 1}.y")]
        file = self.write(f"steppers{n}.yaml", [(f"m{i}", f"fmu: {self.path('ring_one.fmu')}, as: cs") for i in range(n)],
                          connections, f"start: 0, stop: 1, interval: 1", record)
        with open(file, "a", encoding="utf-8") as out:
            out.write(f"master: {{algorithm: {algorithm}, step: {step}, threads: 1}}\n")
        return file

    def masters(self):
        """What a master costs more than a bare loop, per FMU and step: the difference of a long and a short run."""
        fmu = self.fmu("ring_one")
        text = open(os.path.join(self.path("ring_one"), "modelDescription.xml"), encoding="utf-8").read()
        refs = [re.search(rf'name="{name}" valueReference="(\d+)"', text).group(1) for name in ("a", "b", "y")]
        for algorithm, goal in (("jacobi", 3), ("determinate", 3)):
            for n in (1, 10, 100, 1000):
                steps = 40000 // n if n < 1000 else 100
                h = 1e-4
                floor = [self.bare_master, self.binary("ring_one"), guid_of(self.path("ring_one")), str(n), str(steps), str(h),
                         *refs]
                file = self.ring_of_steppers(n, algorithm, h)
                ours = short = theirs = float("inf")
                for _ in range(ROUNDS):
                    run = [self.couplet, "run", file, "--interval", "10", "-q", "-o", self.path("x.csv"), "--stop-time"]
                    ours = min(ours, cpu_seconds([*run, str(steps * h * 1.25)]))
                    short = min(short, cpu_seconds([*run, str(steps * h * 0.25)]))
                    theirs = min(theirs, float(subprocess.run(floor, check=True, capture_output=True, text=True).stdout))
                per, bare = (ours - short) / (n * steps), theirs / (n * steps)
                self.report(f"{n} coupled FMUs, {algorithm}: a step of one / in a bare loop", per / bare,
                            f"({1e9 * per:.0f} ns / {1e9 * bare:.0f} ns)", goal)
        file = self.ring_of_steppers(1000, "determinate", 1e-4)
        start = least([self.couplet, "run", file, "--stop-time", "0", "-q", "-o", self.path("x.csv")])[0]
        self.report("1,000 co-simulation FMUs, 2,000 connections: start-up", start, "s", 0.2)
        self.light_ring(1000, 1000)
        self.recording()

    def light_ring(self, n, steps):
        """FMUs written by hand whose steps cost a few nanoseconds, with all results written: whole processes."""
        variables = "".join(f'<ScalarVariable name="{name}" valueReference="{i}" causality="{kind}"><Real start="{value}"/>'
                            "</ScalarVariable>" for i, (name, kind, value) in
                            enumerate((("a", "input", 0), ("b", "input", 0), ("y", 'output" initial="exact', 1))))
        with zipfile.ZipFile(self.path("light.fmu"), "w") as out:
            out.writestr("modelDescription.xml", '<fmiModelDescription fmiVersion="2.0" modelName="light" guid="light">'
                         '<CoSimulation modelIdentifier="light" canHandleVariableCommunicationStepSize="true"/>'
                         f'<ModelVariables>{variables}</ModelVariables><ModelStructure><Outputs>'
                         '<Unknown index="3" dependencies=""/></Outputs></ModelStructure></fmiModelDescription>')
            out.write(self.light, "binaries/linux64/light.so")
        connections = []
        for i in range(n):
            connections += [(f"m{i}.a", f"m{(i + 1) % n}.y"), (f"m{i}.b", f"m{i - 1 if i > 0 else n - 1}.y")]
        file = self.write("light.yaml", [(f"m{i}", "fmu: light.fmu") for i in range(n)], connections,
                          f"start: 0, stop: {steps / 1000}, interval: 0.001", "['*.y']")
        with open(file, "a", encoding="utf-8") as out:
            out.write("master: {algorithm: jacobi, step: 0.001}\n")
        ours, bare = least([self.couplet, "run", file, "-q", "-o", self.path("x.csv")],
                           [self.bare_master, self.light, "light", str(n), str(steps), "0.001", "0", "1", "2", self.path("bare.csv")])
        self.report(f"ring of {n:,} light co-simulation FMUs, {steps:,} steps, all results: couplet run / bare C program", ours / bare,
                    f"({1e3 * ours:.0f} ms / {1e3 * bare:.0f} ms)", 4)

    def recording(self):
        """A chain of FMUs whose steps cost next to nothing, with one of their outputs recorded and with all of them."""
        hop = self.fmu("hop")
        models = [(f"m{i}", f"fmu: {hop}, as: cs") for i in range(1000)]
        connections = [(f"m{i}.u", f"m{i - 1}.y") for i in range(1, 1000)]
        files = []
        for name, record in (("one.yaml", "[m0.y]"), ("all.yaml", "['*.y']")):
            files.append(self.write(name, models, connections, "start: 0, stop: 1, interval: 0.002", record))
            with open(files[-1], "a", encoding="utf-8") as out:
                out.write("master: {algorithm: jacobi, step: 0.002, threads: 1}\n")
        one, every = least(*([self.couplet, "run", file, "-q", "-o", self.path("x.csv")] for file in files))
        self.report("1,000 co-simulation FMUs: recording one value as CSV", 1e9 * (every - one) / (999 * 501), "ns", 100)
        self.report("1,000 co-simulation FMUs without states: a step of one", 1e9 * one / (1000 * 500), "ns", 1000)

    def delay_lines(self):
        """Two masses on a line: what a step of one of them costs; two heavy ones on one thread and on two."""
        examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "tlm_spring")
        run = [self.couplet, "run", os.path.join(examples, "tlm_spring.yaml"), "--interval", "1", "-q", "-o", self.path("x.csv")]
        for what, options, clock, seconds, goal in (("in process", ["--threads", "1"], cpu_seconds, 4, 0.4),
                                                    ("in two processes", ["--processes"], wall_seconds, 4, 50)):
            long = min(clock([*run, *options, "--stop-time", str(0.2 + seconds)]) for _ in range(3))
            short = min(clock([*run, *options, "--stop-time", "0.2"]) for _ in range(3))
            self.report(f"delay line {what}: a step of one model", 1e6 * (long - short) / (2 * seconds / 5e-5), "us", goal)
        with open(os.path.join(examples, "mass.c"), encoding="utf-8") as file:
            text = file.read()
        text = text.replace("dx[X] = v->x[V];", "dx[X] = v->x[V];\n  for (volatile int i = 0; i < 200000; i++) {\n  }", 1)
        with open(self.path("heavy.c"), "w", encoding="utf-8") as out:
            out.write(text)
        with open(os.path.join(examples, "tlm_spring.yaml"), encoding="utf-8") as file:
            text = file.read()
        with open(self.path("heavy.yaml"), "w", encoding="utf-8") as out:
            out.write(text.replace("mass.c", "heavy.c").replace("delay: 1e-4", "delay: 1e-3"))
        run = [self.couplet, "run", self.path("heavy.yaml"), "--stop-time", "4", "-q", "-o", self.path("x.csv"), "--threads"]
        one, two = (min(wall_seconds([*run, n]) for _ in range(3)) for n in ("1", "2"))
        self.report("two heavy models on a delay line: two threads / one", two / one, f"({two:.2f} s / {one:.2f} s)", 0.6)
        self.sockets(os.path.join(examples, "tlm_spring.yaml"))

    def sockets(self, file):
        """The same two masses in two processes that send their waves to each other through sockets: the median of five runs."""
        serve = [self.couplet, "tlm", "serve", file, "--local", "--force", "--join-folder", os.path.dirname(self.path("x")), "--json",
                 "--interval", "1", "--stop-time", "0.5", "-o", self.path("x.csv")]
        walls = sorted(json.loads(subprocess.run(serve, check=True, capture_output=True, text=True).stdout)["wall_s"] for _ in range(5))
        self.report("delay line over loopback sockets: a step of one model", 1e6 * walls[2] / (2 * 0.5 / 5e-5), "us", 50)

    #------------------------------------ to look at ------------------------------------

    def pages(self):
        """200 variables with 100,000 points each, in a page: made, opened in the browser, zoomed."""
        model, results, page = os.path.join(self.models, "waves200.c"), self.path("waves.mat"), self.path("waves.html")
        subprocess.run([self.couplet, "run", "-q", model, "--interval", "0.001", "-o", results], check=True)
        self.report("page of 200 x 100,000 points: couplet view", wall_seconds([self.couplet, "view", results, "-o", page]), "s", 3)
        cache = open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8").read()
        deps = re.search(r"^CPL_DEPS:PATH=(.*)$", cache, re.M).group(1) or os.path.join(os.path.dirname(self.models), "..", ".deps")
        script = os.path.join(os.path.dirname(self.models), "page.mjs")
        best = {"load": math.inf, "zoom": math.inf}
        for _ in range(3):
            out = subprocess.run(["node", script, page], check=True, capture_output=True, text=True,
                                 env={**os.environ, "COUPLET_NPM": os.path.join(deps, "npm", "node_modules")}).stdout
            best = {key: min(value, json.loads(out)[key]) for key, value in best.items()}
        self.report("page of 200 x 100,000 points: opened, first plots drawn", best["load"], "s", 3)
        self.report("page of 200 x 100,000 points: a zoom of 48 curves drawn", best["zoom"], "s", 0.1)

    #------------------------------------ modes ------------------------------------

    # What the columns of the tables in document 003 are here: everything, finding the mapping, the solver, starting, what is
    # read and set at switches, and the initialisation of the modes.
    def switching(self, file):
        best = None
        for _ in range(3):
            command = [self.couplet, "run", file, "--json", "--log-level", "info", "-o", self.path("ours.csv")]
            with open(self.path("log.txt"), "w", encoding="utf-8") as log:  # a line a switch: not in what is measured
                subprocess.run(command + ["--stop-time", "0"], check=True, stdout=subprocess.DEVNULL, stderr=log)
            told = json.loads(subprocess.run(command[:4] + command[6:], check=True, capture_output=True, text=True).stdout)
            text = open(self.path("log.txt"), encoding="utf-8").read()
            told["found_s"] = sum(float(t) for t in re.findall(r"transitions set in ([0-9.]+) ms", text)) / 1e3
            if best is None or told["wall_s"] < best["wall_s"]:
                best = told
        run = command[:4] + command[6:]
        best["cpu_s"] = min(cpu_seconds(run) for _ in range(3)) - min(cpu_seconds(run + ["--stop-time", "0"]) for _ in range(3))
        return best

    def table(self, title, rows):
        print(f"{title}\n  {'':>16s} switches   simulation   mapping found   solver   read, set   initialise  [s]")
        for name, r in rows:
            print(f"  {name:>16s} {r['switches']:8d}   {r['wall_s']:10.4f}   {r['found_s']:13.5f}   "
                  f"{r['wall_s'] - r['in_switches_s']:6.3f}   {r['in_mapping_s']:9.4f}   "
                  f"{r['in_switches_s'] - r['in_mapping_s']:10.4f}")

    def modes_file(self, name, source, count, sets, stop):
        models, guard = (f"{{b: {{{source}, count: {count}}}}}", "\"'b[1].h' < 0\"") if count else (f"{{b: {{{source}}}}}", "b.h < 0")
        seen = "'b[1].h'" if count else "b.h"
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(f"couplet: 1\nname: balls\nmodes:\n  start: flying\n  flying:\n    models: {models}\n    leave:\n"
                      f"      - {{when: {guard}, to: flying, set: {{{sets}}}}}\n"
                      f"observe: {{h: {seen}}}\n"
                      f"experiment: {{stop: {stop}, interval: {stop}, solver: adams, rtol: 1e-6}}\n")
        return self.path(name)

    def modes(self):
        ball = os.path.join(self.models, "..", "..", "examples", "elastic_ball", "ball.c")
        fmu = self.path("ball.fmu")
        subprocess.run([self.couplet, "build", ball, "-o", fmu], check=True, stdout=subprocess.DEVNULL)
        half = math.sqrt(2 / 9.81)
        for kind, source in (("C model", f"c: {ball}"), ("FMU", f"fmu: {fmu}")):
            rows = [(f"{n}", self.switching(self.modes_file("s.yaml", source, 0, "b.h: 0, b.v: -b.v", (2 * n - 0.5) * half)))
                    for n in (10, 100, 1000, 10000)]
            self.table(f"a ball that switches n times, {kind}", rows)
            last = rows[-1][1]
            self.report(f"10,000 switches, {kind}: all of it", last["cpu_s"] * 1e4 / last["switches"], "s", 0.5)
            self.report(f"10,000 switches, {kind}: each", 1e6 * last["cpu_s"] / last["switches"], "microseconds", 40)
            stop = (2 * 10000 - 0.5) * half
            ours, bare = least([self.couplet, "run", self.path("s.yaml"), "-q", "-o", self.path("x.csv")],
                               [self.bare_modes, str(stop), "1e-6", self.path("bare.csv")])
            self.report(f"10,000 switches, {kind}: couplet run / bare C program", ours / bare,
                        f"({1e3 * ours:.1f} ms / {1e3 * bare:.1f} ms)", 2)
            rows = [(f"{n}", self.switching(self.modes_file("s.yaml", source, n, "'b[*].h': 'b[*].h', 'b[*].v': \"-'b[*].v'\"",
                                                            20 * half * 0.995))) for n in (10, 100, 1000, 10000)]
            self.table(f"n balls that switch together 10 times, {kind}", rows)
            last = rows[-1][1]
            self.report(f"10,000 balls, 10 switches, {kind}: all of it", last["cpu_s"], "s", 1)
            self.report(f"10,000 balls, {kind}: mapping of 20,000 values found", 1e3 * last["found_s"], "ms", 5)
            self.report(f"10,000 balls, {kind}: 20,000 values read and set", 1e3 * last["in_mapping_s"] / last["switches"], "ms", 5)
        self.modes_file("one.yaml", f"fmu: {fmu}", 0, "b.h: 0, b.v: -b.v", 1)
        with open(self.path("many.yaml"), "w", encoding="utf-8") as out:
            out.write("couplet: 1\nmodels: {ball: {system: one.yaml, count: 10000, start: {flying.b.h: 0.5 + 0.0001*index}}}\n"
                      "record: ['ball[1].h']\nexperiment: {stop: 8.7, interval: 8.7, solver: adams, rtol: 1e-6}\n")
        run = [self.couplet, "run", self.path("many.yaml"), "--json", "-o", self.path("ours.csv")]
        switches = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)["switches"]
        spent = min(cpu_seconds(run) for _ in range(2)) - min(cpu_seconds(run + ["--stop-time", "0"]) for _ in range(2))
        self.report("10,000 balls that switch at different times, FMUs: each switch", 1e6 * spent / switches, "microseconds", 40)
        self.inside_an_aggregate(ball, half)

    # A ball that becomes another one at every bounce, connected to a table: an aggregate with two structures.
    def inside_an_aggregate(self, ball, half):
        with open(self.path("two.yaml"), "w", encoding="utf-8") as out:
            out.write("couplet: 1\nname: two\nmodes:\n  start: a\n" + "".join(
                f"  {one}:\n    models: {{b: {{c: {ball}}}}}\n    leave: [{{when: b.h < 0, to: {other}, set: {{b.h: 0, b.v: -b.v}}}}]\n"
                for one, other in (("a", "b"), ("b", "a"))) + "observe: {h: b.h}\n")
        table = os.path.join(self.models, "..", "..", "examples", "ball_on_table", "table.c")
        stop = 19999.5 * half
        with open(self.path("inside.yaml"), "w", encoding="utf-8") as out:
            out.write(f"couplet: 1\nmodels: {{ball: {{system: two.yaml}}, table: {{c: {table}, start: {{c: 0.1, d: 0.1}}}}}}\n"
                      "connections: {table.load: 2*ball.h}\nrecord: [ball.h]\n"
                      f"experiment: {{stop: {stop}, interval: {stop}, solver: adams, rtol: 1e-6}}\n")
        run = [self.couplet, "run", self.path("inside.yaml"), "--json", "-o", self.path("ours.csv")]
        changes = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)["structure_changes"]
        spent = min(cpu_seconds(run) for _ in range(3)) - min(cpu_seconds(run + ["--stop-time", "0"]) for _ in range(3))
        self.report("switches inside of an aggregate: each, with all steps between", 1e6 * spent / changes, "microseconds", 40)

    # A rod of 1,000 nodes: its own solver begins anew at every communication point.
    def many_states(self):
        text = open(os.path.join(self.models, "chain100.c"), encoding="utf-8").read()
        with open(self.path("chain1000.c"), "w", encoding="utf-8") as out:
            out.write(text.replace("N = 100", "N = 1000").replace("chain100", "chain1000"))
        fmu = self.path("chain1000.fmu")
        subprocess.run([self.couplet, "build", self.path("chain1000.c"), "-o", fmu], check=True, stdout=subprocess.DEVNULL)
        run = [self.couplet, "run", fmu, "--as", "cs", "--record", "T[1]", "-q", "-o", self.path("x.csv")]
        self.report("co-simulation FMU with 1,000 states, 500 steps: CPU", cpu_seconds(run), "s", 1)

    # Ten components per system, ten systems per system; units differ along the way.
    def package(self, n):
        folder = self.path(f"package{n}")
        os.makedirs(os.path.join(folder, "resources"))
        for i in range(3):
            os.symlink(self.path("sum5.fmu"), os.path.join(folder, "resources", f"sum{i}.fmu"))

        def ports(unit):
            return (f'<Connectors><Connector name="in" kind="input"><c:Real unit="{unit}"/></Connector>'
                    f'<Connector name="out" kind="output"><c:Real unit="{unit}"/></Connector></Connectors>')

        def connect(source, sink):
            ends = [f'{end}Element="{x[0]}" {end}Connector="{x[1]}"' if x[0] else f'{end}Connector="{x[1]}"'
                    for end, x in (("start", source), ("end", sink))]
            return f"<Connection {ends[0]} {ends[1]}/>\n"

        def component(i):
            inputs = "".join(f'<Connector name="u[{k}]" kind="input"/>' for k in range(1, 6))
            return (f'<Component name="c{i}" source="resources/sum{i % 3}.fmu"><Connectors>{inputs}'
                    f'<Connector name="y" kind="output"/></Connectors></Component>\n')

        def inner(name):
            rows = "".join(connect((f"c{i - k}", "y") if i >= k else (None, "in"), (f"c{i}", f"u[{k}]"))
                           for i in range(10) for k in range(1, 6)) + connect(("c9", "y"), (None, "out"))
            parts = "".join(component(i) for i in range(10))
            return f'<System name="{name}">{ports("cm")}<Elements>{parts}</Elements><Connections>{rows}</Connections></System>'

        def chain(name, count, part):
            rows = "".join(connect((f"s{i - 1}", "out") if i > 0 else (None, "in"), (f"s{i}", "in")) for i in range(count))
            rows += connect((f"s{count - 1}", "out"), (None, "out"))
            parts = "".join(part(f"s{i}") for i in range(count))
            return f'<System name="{name}">{ports("mm")}<Elements>{parts}</Elements><Connections>{rows}</Connections></System>'

        whole = chain("root", n // 100, lambda name: chain(name, 10, inner))
        uri = "http://ssp-standard.org/SSP1/SystemStructure"
        units = "".join(f'<c:Unit name="{u}"><c:BaseUnit m="1" factor="{f}"/></c:Unit>' for u, f in (("cm", 0.01), ("mm", 0.001)))
        with open(os.path.join(folder, "SystemStructure.ssd"), "w", encoding="utf-8") as out:
            out.write(f'<SystemStructureDescription xmlns="{uri}Description" xmlns:c="{uri}Common" version="1.0" name="many">'
                      f"{whole}<Units>{units}</Units></SystemStructureDescription>\n")
        return [self.couplet, "run", folder, "--stop-time", "0", "-q", "-o", self.path("x.csv")]

    def packages(self):
        self.fmu("sum5")
        small, large = least(self.package(1000), self.package(4000))
        self.report("SSP package with 1,000 components and 5,211 connections: open, initialise", small, "s", 0.3)
        self.report("SSP package with 4,000 components / 1,000", large / small, "times as long", 5)

    def threads(self):
        """Two threads against one: heavy FMUs, and tiny ones, where the number of threads is found."""
        source = "fmu: " + self.fmu("heavy")
        heavy = self.write("heavy.yaml", [(f"m{i}", f"{source}, start: {{k: {3 + i}}}") for i in range(8)],
                           [(f"m{i}.u", f"0.5*m{(i + 1) % 8}.x") for i in range(8)], "stop: 5", "[m0.x]")

        def run(file, threads):
            command = [self.couplet, "run", file, "--json", "-o", self.path("threads.csv")]
            done = subprocess.run(command + (["--threads", str(threads)] if threads else []), check=True, capture_output=True, text=True)
            return json.loads(done.stdout)
        one, two, path = math.inf, math.inf, math.inf
        for _ in range(7):
            alone, both = run(heavy, 1), run(heavy, 2)
            one, two = min(one, alone["wall_s"]), min(two, both["wall_s"])
            path = min(path, max(both["in_first_thread_s"], both["in_threads_s"]))
        cpu, = least([self.couplet, "run", heavy, "--threads", "1", "-q", "-o", self.path("threads.csv")])
        self.report("8 heavy FMUs: 2 threads / 1, wall time (of two free processors)", two / one, f"({two:.3f} s / {one:.3f} s)", 1 / 1.85)
        self.report("8 heavy FMUs: the longer one of 2 threads / 1 thread, CPU time", path / cpu, f"({path:.3f} s / {cpu:.3f} s)", 1 / 1.85)
        for n, stop in ((2, 2000), (100, 100)):
            source = "c: " + os.path.join(self.models, "grid_mass.c")
            tiny = self.write(f"tiny{n}.yaml", [(f"m{i}", f"{source}, start: {{x: {i % 3}}}") for i in range(n)],
                              [(f"m{i}.east", f"10*(m{(i + 1) % n}.y - m{i}.y)") for i in range(n)], f"stop: {stop}", "[m0.y]")
            found, alone = least([self.couplet, "run", tiny, "-q", "-o", self.path("threads.csv")],
                                 [self.couplet, "run", tiny, "-q", "--threads", "1", "-o", self.path("threads.csv")])
            self.report(f"{n} tiny models: threads as many as pay / 1 thread, CPU time", found / alone,
                        f"({1e3 * found:.0f} ms / {1e3 * alone:.0f} ms)", 1 / 0.97)

    def cases(self):
        """The executor of studies, with cases that do nothing, or compute for a given time."""
        def numbers(n, nanoseconds, workers):
            command = [os.path.join(self.build, "bench", "cases"), self.path("cases.journal"), str(n), str(nanoseconds), str(workers)]
            return [float(x) for x in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]
        runs = [numbers(1000000, 0, 2) for _ in range(5)]
        self.report("a million empty cases: CPU time of all processes per case", min(r[2] + r[3] for r in runs), "us", 2)
        few = numbers(1000, 0, 2)
        self.report("a million cases / a thousand: memory of the coordinator", runs[0][1] / few[1], "", 1.1)
        one = min(numbers(20000, 50000, 1)[0] for _ in range(5))
        two = min(numbers(20000, 50000, 2)[0] for _ in range(5))
        self.report("20,000 cases of 50 us: 2 workers / 1 worker", two / one, f"({two:.2f} s / {one:.2f} s)", 1 / 1.9)

    def studies(self):
        """A whole study beside a loop over the calls of the library that set and step one case after the other."""
        file = os.path.join(self.models, "..", "..", "examples", "two_masses", "two_masses.yaml")
        n = 10000
        bare = [self.bare_cases, file, "left.m", "0.5", "2", str(n), "10", "left.x"]

        def sweep(measure, workers):
            return [self.couplet, "sweep", file, "--over", f"left.m=0.5:2:{n}", "-m", measure, "--workers", str(workers), "--restart",
                    "-q", "-o", self.path("study.csv")]
        commands = (bare, sweep("x=final(left.x)", 1), sweep("x=integral(left.x)", 1))
        floor, final, integral = (min(times) for times in zip(*(map(cpu_seconds, commands) for _ in range(3))))
        self.report("10,000 cases of the two masses, final value: CPU time per case beyond bare stepping", 1e6 * (final - floor) / n,
                    f"us ({floor:.2f} s bare)", 30)
        self.report("the same with an integral instead of the final value", 1e6 * (integral - floor) / n, "us", math.inf)
        one, two = (min(wall_seconds(sweep("x=final(left.x)", workers)) for _ in range(3)) for workers in (1, 2))
        self.report("the same study: 2 workers / 1 worker", two / one, f"({two:.2f} s / {one:.2f} s)", 1 / 1.9)

    def sensitivities(self):
        """Runs with sensitivities to n parameters / n + 1 runs without: CPU time of many runs of one stepper."""
        examples = os.path.join(self.models, "..", "..", "examples")
        plate = self.grid("plate", "c: " + os.path.join(self.models, "plate_cell.c"), 30, 30, 50, 100, 1e-8, [0])
        cases = (("van der Pol", "van_der_pol/van_der_pol.c", "2000", "1e-8", "200", ["mu"], "x"),
                 ("quarter car", "quarter_car/quarter_car.yaml", "2", "1e-9", "300", ["car.m", "car.d", "car.k_tyre"], "car.body.z"),
                 ("race car", "race_car/race_car.yaml", "1", "1e-6", "40", ["fl.grip", "fr.grip", "fl.peak_x", "fl.peak_y"], "x"),
                 ("plate of 900 cells, start values", plate, "50", "1e-8", "10", ["m0.T", "m50.T"], "m1.T"))
        program = os.path.join(self.build, "bench", "sensitivities")
        for name, file, stop, rtol, runs, to, of in cases:
            def command(n):
                return [program, os.path.join(examples, file), "cvode", stop, rtol, runs, str(n), *to, of]
            n = len(to)
            plain, exact, differences = (min(cpu_seconds(command(k)) for _ in range(3)) for k in (0, n, -n))
            self.report(f"{name}: sensitivities to {n} / {n + 1} runs without", exact / plain / (n + 1),
                        f"({1e3 * exact:.0f} ms / {n + 1} * {1e3 * plain:.0f} ms; by differences {1e3 * differences:.0f} ms)", 1)


def main():
    build = os.path.abspath(sys.argv[1])
    parts = [word for word in sys.argv[2:] if not word.startswith("-")]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build, folder)
        for part in (bench.bare_solvers, bench.start_up, bench.small_fmu, bench.descriptions, bench.packages, bench.isolation, bench.ranks,
                     bench.other_platforms,
                     bench.small_systems, bench.race_car, bench.gmres, bench.large_systems, bench.grids, bench.growth,
                     bench.many_instances, bench.calls_of_fmus, bench.balls, bench.projection, bench.masters, bench.pages, bench.modes,
                     bench.delay_lines, bench.loops_as_rows, bench.many_states, bench.threads, bench.cases, bench.studies, bench.sensitivities):
            if not parts or part.__name__ in parts:
                part()
    if "--json" in sys.argv:
        json.dump(bench.lines, sys.stdout, indent=1)
        return
    for line in bench.lines:
        mark = "ok  " if line["met"] else "MISS"
        print(f"{mark} {line['value']:8.3f} (goal {line['goal']:g}) {line['unit']:22s} {line['what']}")


main()
