#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the module of Python: each number beside its goal.

    bench/python_module.py BUILD [FMU]     with fmpy on PYTHONPATH its times beside ours

Without FMU the bouncing ball of the examples is built as an FMU. Times are the least of several tries.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BUILD / "python"))
try:
    import fmpy
except ImportError:
    fmpy = None

# inputs that are only stored, and outputs that repeat them
ECHO = """
#include <couplet/model.h>
static const cpl_declaration inputs[] = {{"u", .size = 1000}, {0}};
static const cpl_declaration outputs[] = {{"y", .size = 1000}, {0}};
static int output_values(const cpl_values* v, double* y) {
  for (int i = 0; i < 1000; i++) y[i] = v->u[i];
  return CPL_MODEL_OK;
}
static const cpl_dependency dependencies[] = {{"y", "u", NULL}, {0}};
const cpl_model_def couplet_model = {.name = "echo", .inputs = inputs, .outputs = outputs,
    .output_values = output_values, .dependencies = dependencies};
"""
IDLE = """
#include <couplet/model.h>
static const cpl_declaration outputs[] = {{"y"}, {0}};
static int output_values(const cpl_values* v, double* y) {
  y[0] = v->t;
  return CPL_MODEL_OK;
}
static const cpl_dependency dependencies[] = {{"y", "", NULL}, {0}};
const cpl_model_def couplet_model = {.name = "idle", .outputs = outputs, .output_values = output_values,
    .dependencies = dependencies};
"""


def least(function, tries=5):
    best = float("inf")
    for _ in range(tries):
        began = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - began)
    return best


def least_of_each(functions, tries):
    """The least times of several functions, which take turns, so that the load of the machine is the same for all."""
    best = [float("inf")] * len(functions)
    for _ in range(tries):
        for i, function in enumerate(functions):
            best[i] = min(best[i], least(function, 1))
    return best


def show(what, value, unit, goal=""):
    print(f"{what:58} {value:10.3g} {unit:4} {goal}", flush=True)


def measure_import():
    def run(code):
        env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
        subprocess.run([sys.executable, "-c", code], check=True, env=env)

    bare = least(lambda: run("pass"), 10)
    show("import couplet", 1e3 * (least(lambda: run("import couplet"), 10) - bare), "ms", "goal 60")
    show("import couplet, numpy", 1e3 * (least(lambda: run("import couplet, numpy"), 10) - bare), "ms")
    show("import numpy", 1e3 * (least(lambda: run("import numpy"), 10) - bare), "ms")


def measure_steps(cp, folder):
    (folder / "idle.c").write_text(IDLE)
    steps = 1_000_000
    with cp.open(folder / "idle.c", record=[], interval=1e9) as run:
        run.step(1.0)

        def go():
            step = run.step
            for _ in range(steps):
                step(1.0)

        show("run.step(), a million times, each", 1e6 * least(go, 1) / steps, "us", "goal 1 beside the library")


def measure_values(cp, folder):
    import numpy as np

    (folder / "echo.c").write_text(ECHO)
    with cp.open(folder / "echo.c", record=[]) as run:
        reader, writer = run.reader(["y"]), run.writer(["u"])
        run.step(1.0)
        values = np.arange(1000.0)
        show("set 1,000 values, each", 1e9 * least(lambda: writer.write(values), 200) / 1000, "ns", "goal 20")
        show("get 1,000 values, each", 1e9 * least(lambda: reader.read(), 200) / 1000, "ns", "goal 20")
        assert (reader.read() == values).all()


def measure_fmu(cp, fmu):
    for kind, name in (("me", "ModelExchange"), ("cs", "CoSimulation")):
        if kind not in cp.info(fmu).kinds:
            continue
        # Euler's method, since FMPy's CVODE is a binary that its sources do not contain
        same = {"solver": "euler", "step": 1e-3} if kind == "me" else {"step": 2e-3}
        runs = [lambda: cp.simulate(fmu, stop=1, as_=kind, interval=2e-3, **same)]
        how = {"solver": "Euler", "step_size": 1e-3} if kind == "me" else {}
        if fmpy is not None:
            runs.append(lambda: fmpy.simulate_fmu(str(fmu), stop_time=1, output_interval=2e-3, fmi_type=name, **how))
        times = least_of_each(runs, 30)
        show(f"simulate an FMU for 1 s, {name}", 1e3 * times[0], "ms")
        show_beside(times)


def show_beside(times):
    """FMPy's time and the ratio, where there is one."""
    for theirs in times[1:]:
        show("  FMPy", 1e3 * theirs, "ms")
        show("  ratio", theirs / times[0], "", "goal 20")


def cpu_seconds(function):
    """Of this process and those it started, so that load of the machine and the number of workers have little effect."""
    began = os.times()
    function()
    return sum(os.times()[:4]) - sum(began[:4])


def measure_study(cp, fmu):
    """One parameter is varied around its value, 100 steps a case: 10,000 cases of a study, 100 of a loop over FMPy."""
    info = cp.info(fmu)
    found = [v for v in info.variables.values() if v.causality == "parameter" and v.type == "Real" and v.start]
    if not found or "cs" not in info.kinds:
        return
    name, value, many, few = found[0].name, found[0].start, 10_000, 100
    stop = info.experiment.stop or 10
    factors = {name: f"{0.9 * value}:{1.1 * value}:{many}"}
    ours = min(cpu_seconds(lambda: cp.sweep(fmu, factors, as_="cs", stop=stop, interval=stop / 100)) for _ in range(3)) / many
    show("a study of an FMU, varied " + name + ": processor, a case", 1e6 * ours, "us")
    if fmpy is None:
        return
    values = [(0.9 + 0.2 * i / (few - 1)) * value for i in range(few)]

    def loop():
        for v in values:
            fmpy.simulate_fmu(str(fmu), start_values={name: v}, stop_time=stop, output_interval=stop / 100,
                              fmi_type="CoSimulation")

    theirs = min(cpu_seconds(loop) for _ in range(3)) / few
    show("  a loop over FMPy", 1e6 * theirs, "us")
    show("  ratio", theirs / ours, "", "goal 100")


def measure_process(cp, folder, fmu):
    """A new process: the import and one run; and one run by the command."""
    def run(command):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])}
        subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    kind, name = ("me", "ModelExchange") if "me" in cp.info(fmu).kinds else ("cs", "CoSimulation")
    solver = ', solver="euler", step=1e-3' if kind == "me" else ""
    codes = [f'import couplet; couplet.simulate({str(fmu)!r}, stop=1, as_="{kind}", interval=2e-3{solver})']
    if fmpy is not None:
        solver = ', solver="Euler", step_size=1e-3' if kind == "me" else ""
        codes.append(f'import fmpy; fmpy.simulate_fmu({str(fmu)!r}, stop_time=1, output_interval=2e-3, fmi_type="{name}"{solver})')
    times = least_of_each([lambda code=code: run([sys.executable, "-c", code]) for code in codes], 10)
    show("a process that imports and simulates once", 1e3 * times[0], "ms")
    for theirs in times[1:]:
        show("  FMPy", 1e3 * theirs, "ms")
    before = [os.times()[2] + os.times()[3]]
    for _ in range(50):
        run([str(BUILD / "couplet"), "run", str(fmu), "-q", "-o", str(folder / "out.csv")])
        before.append(os.times()[2] + os.times()[3])
    show("the same by the command, time of the processor, mean", 1e3 * (before[-1] - before[0]) / 50, "ms", "goal 3")


def measure_system(cp):
    path = ROOT / "examples/race_car/race_car.yaml"
    command = str(BUILD / "couplet")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.csv")
        outside = least(lambda: subprocess.run([command, "run", str(path), "-q", "-o", out], check=True), 5)
        ours = least(lambda: cp.simulate(path).save(out), 5)
    show("the race car, with its file, by the command", 1e3 * outside, "ms")
    show("  in Python", 1e3 * ours, "ms")
    show("  ratio", ours / outside, "", "goal 1.05")


def main():
    measure_import()
    import couplet as cp

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measure_steps(cp, folder)
        measure_values(cp, folder)
        fmu = sys.argv[2] if len(sys.argv) > 2 else None
        if fmu is None:
            fmu = cp.build(ROOT / "examples/bouncing_ball/bouncing_ball.c", folder / "ball.fmu", fmi=2)
            time.sleep(2.1)  # files that are newer are not kept unpacked
        measure_fmu(cp, fmu)
        measure_process(cp, folder, fmu)
        measure_study(cp, fmu)
    measure_system(cp)


main()
