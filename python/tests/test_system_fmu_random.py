# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""FMUs of random systems of linear models, against the exponential of the matrix of the whole.

By hand with more of them: python test_system_fmu_random.py FIRST LAST"""

import csv
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

COMMAND = os.environ.get("COUPLET", str(pathlib.Path(__file__).parents[2] / "build" / "couplet"))
SPAN = 1.5


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def exponential(matrix):
    """By its series, of a fraction of the matrix, and squares."""
    n = len(matrix)
    size = max(sum(abs(x) for x in row) for row in matrix)
    halvings = max(0, int(math.log2(size + 1e-9)) + 6)
    part = [[x / 2**halvings for x in row] for row in matrix]
    total = [[float(i == j) for j in range(n)] for i in range(n)]
    term = total
    for k in range(1, 14):
        term = [[x / k for x in row] for row in product(term, part)]
        total = [[x + y for x, y in zip(*rows)] for rows in zip(total, term)]
    for _ in range(halvings):
        total = product(total, total)
    return total


class Model:
    """x' = A x + g B u, y = C x"""

    def __init__(self, rnd, number, name):
        def value(limit):
            return round(rnd.uniform(-limit, limit), 3)

        self.name, self.file = name, f"part{number}"
        n, self.nu = rnd.randint(1, 2), rnd.randint(1, 2)
        self.a = [[value(1) - (1.5 if i == j else 0) for j in range(n)] for i in range(n)]
        self.b = [[value(1) for _ in range(self.nu)] for _ in range(n)]
        self.c = [value(1) for _ in range(n)]
        self.declared = [value(2) for _ in range(n)]
        self.start = {f"x{i}": value(2) for i in range(n) if rnd.random() < 0.5}
        if rnd.random() < 0.5:
            self.start["g"] = round(rnd.uniform(0.2, 2), 3)
        self.kind = rnd.choice(["c", "2", "3"])
        # of each input: factors of outputs by the number of the model, of lev, free and fixed
        self.inputs = []

    def source(self):
        n = len(self.a)
        states = "".join(f'{{.name = "x{i}", .start = {x!r}}}, ' for i, x in enumerate(self.declared))
        inputs = "".join(f'{{.name = "u{i}"}}, ' for i in range(self.nu))
        slopes = ""
        for i in range(n):
            terms = [f"({x!r}) * v->x[{j}]" for j, x in enumerate(self.a[i])]
            terms += [f"({x!r}) * v->p[0] * v->u[{j}]" for j, x in enumerate(self.b[i])]
            slopes += f"  dx[{i}] = {' + '.join(terms)};\n"
        output = " + ".join(f"({x!r}) * v->x[{j}]" for j, x in enumerate(self.c))
        return (
            "#include <couplet/model.h>\n"
            f"static const cpl_declaration x[] = {{{states}{{0}}}};\n"
            f"static const cpl_declaration u[] = {{{inputs}{{0}}}};\n"
            'static const cpl_declaration y[] = {{.name = "y"}, {0}};\n'
            'static const cpl_declaration p[] = {{.name = "g", .start = 1}, {0}};\n'
            f"static int slope(const cpl_values* v, double* dx) {{\n{slopes}  return 0;\n}}\n"
            f"static int give(const cpl_values* v, double* out) {{\n  out[0] = {output};\n  return 0;\n}}\n"
            f'const cpl_model_def couplet_model = {{.name = "{self.file}", .states = x, .inputs = u, .outputs = y,\n'
            "    .parameters = p, .derivatives = slope, .output_values = give};\n"
        )

    def line(self):
        start = ", ".join(f"{key}: {value!r}" for key, value in self.start.items())
        file = f"c: {self.file}.c" if self.kind == "c" else f"fmu: {self.file}.fmu, as: me"
        return f"  {self.name}: {{{file}, start: {{{start}}}}}\n"


class System:
    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        names = rnd.sample(["a", "left", "zz", "B1", "m_2", "q"], rnd.randint(2, 4))
        self.models = [Model(rnd, i, name) for i, name in enumerate(names)]
        self.begin = rnd.choice([0, 5])
        self.signals = {name: round(rnd.uniform(-2, 2), 3) for name in ("lev", "free", "fixed")}
        for model in self.models:
            for _ in range(model.nu):
                picks = [rnd.randrange(len(names)) for _ in range(rnd.randint(0, 2))]
                outputs = {k: round(rnd.uniform(-1, 1), 2) for k in picks}
                others = {name: rnd.choice([0, round(rnd.uniform(-1, 1), 2)]) for name in self.signals}
                model.inputs.append((outputs, others))

    def text(self):
        lines = [model.line() for model in self.models]
        links = []
        for model in self.models:
            for j, (outputs, others) in enumerate(model.inputs):
                terms = [f"{factor!r} * {self.models[k].name}.y" for k, factor in outputs.items()]
                terms += [f"{factor!r} * {name}" for name, factor in others.items() if factor != 0]
                if terms:
                    links.append(f"  {model.name}.u{j}: {' + '.join(terms)}\n")
        self.rnd.shuffle(lines)
        self.rnd.shuffle(links)
        s = self.signals
        return (
            f"couplet: 1\nmodels:\n{''.join(lines)}parameters: {{lev: {s['lev']!r}}}\n"
            f"inputs: {{free: {{start: {s['free']!r}}}, fixed: {s['fixed']!r}}}\n"
            + ("connections:\n" + "".join(links) if links else "")
            + f"outputs: {{result: {self.models[0].name}.y + lev}}\n"
            f"experiment: {{start: {self.begin}, stop: {self.begin + SPAN}, rtol: 1e-9}}\n"
        )

    def exact(self, changed=(), ramp=0.0):
        """All states at the end; `free` grows by `ramp` a second."""
        values = {**self.signals, **dict(changed)}
        first, start = [], []
        for model in self.models:
            first.append(len(start))
            own = {**{f"x{i}": x for i, x in enumerate(model.declared)}, **model.start}
            start += [values.get(f"{model.name}.x{i}", own[f"x{i}"]) for i in range(len(model.a))]
        n = len(start)
        whole = [[0.0] * (n + 2) for _ in range(n + 2)]  # the last two: one, and the time
        whole[n + 1][n] = 1.0
        for at, model in zip(first, self.models):
            gain = values.get(f"{model.name}.g", model.start.get("g", 1))
            for i, row in enumerate(model.a):
                for j, x in enumerate(row):
                    whole[at + i][at + j] += x
                for (outputs, others), b in zip(model.inputs, model.b[i]):
                    for k, factor in outputs.items():
                        for j, c in enumerate(self.models[k].c):
                            whole[at + i][first[k] + j] += gain * b * factor * c
                    whole[at + i][n] += gain * b * sum(f * values[name] for name, f in others.items())
                    whole[at + i][n + 1] += gain * b * others["free"] * ramp
        grown = exponential([[SPAN * x for x in row] for row in whole])
        end = [sum(x * y for x, y in zip(row, start + [1.0, 0.0])) for row in grown]
        result = {}
        for at, model in zip(first, self.models):
            result.update({f"{model.name}.x{i}": end[at + i] for i in range(len(model.a))})
        result["result"] = sum(c * x for c, x in zip(self.models[0].c, end)) + values["lev"]
        return result


def call(folder, *args):
    done = subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 0, (args, done.stdout + done.stderr)
    return done.stdout


def compare(folder, expected, tolerance, *args, prefix=""):
    call(folder, "run", *args, "-q", "-o", "out.csv", "--record", "*")
    with (folder / "out.csv").open() as file:
        rows = list(csv.reader(file))
    got = dict(zip(rows[0], rows[-1]))
    names = [name for name in expected if prefix + name in got]
    assert "result" in names
    for name in names:
        off = abs(float(got[prefix + name]) - expected[name])
        assert off <= tolerance * (1 + abs(expected[name])), (args, name, got[prefix + name], expected[name])
    return len(names)


def check_fmu(folder, system, kind):
    model = system.models[-1].name
    changed = {"lev": 1.25, "free": -0.75, f"{model}.g": 0.625, f"{model}.x0": 0.375}
    sets = [word for name, value in changed.items() for word in ("--set", f"{name}={value}")]
    n = compare(folder, system.exact(), 2e-6, "whole.fmu", "--as", kind)
    assert n == len(system.exact())
    compare(folder, system.exact(changed), 2e-6, "whole.fmu", "--as", kind, *sets)
    ramp = {"free": 0.5}
    steps = ("--interval", "0.005", "--input", "ramp.csv")
    compare(folder, system.exact(ramp, 2.0), 2e-6 if kind == "me" else 1e-2, "whole.fmu", "--as", kind, *steps)
    start = ", ".join(f"{name}: {value}" for name, value in changed.items() if name != "free")
    (folder / "outer.yaml").write_text(
        f"couplet: 1\nmodels:\n  box: {{fmu: whole.fmu, as: {kind}, start: {{{start}}}}}\ninputs: {{f: -0.75}}\n"
        f"connections: {{box.free: f}}\n"
        f"experiment: {{start: {system.begin}, stop: {system.begin + SPAN}, rtol: 1e-9}}\n"
    )
    compare(folder, system.exact(changed), 2e-6, "outer.yaml", prefix="box.")
    few = {"lev": 1.25, "free": -0.75}
    compare(folder, system.exact(few), 2e-6, "interface.fmu", "--as", kind, *sets[:4])


def check_system(folder, seed):
    system = System(seed)
    for model in system.models:
        (folder / f"{model.file}.c").write_text(model.source())
        if model.kind != "c":
            call(folder, "build", f"{model.file}.c", "-q", "--fmi", model.kind, "-o", f"{model.file}.fmu")
    (folder / "whole.yaml").write_text(system.text())
    times = (system.begin, 0.5), (system.begin + SPAN, 0.5 + 2 * SPAN)
    (folder / "ramp.csv").write_text("time,free\n" + "".join(f"{t!r},{u!r}\n" for t, u in times))
    compare(folder, system.exact(), 2e-6, "whole.yaml")
    for version in "23":
        call(folder, "build", "whole.yaml", "-q", "--fmi", version, "-o", "whole.fmu")
        call(folder, "build", "whole.yaml", "-q", "--fmi", version, "--expose", "interface", "-o", "interface.fmu")
        for fmu in ("whole.fmu", "interface.fmu"):
            assert call(folder, "check", fmu) == f"{fmu}: no findings\n"
        for kind in ("me", "cs"):
            check_fmu(folder, system, kind)


def test_a_system(tmp_path):
    check_system(tmp_path, 8)


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as here:
            check_system(pathlib.Path(here), number)
        print(number, "passed", flush=True)
