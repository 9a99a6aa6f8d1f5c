# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""FMUs of random nested systems with discrete variables of all types, units and texts.

Clocks count, holds sample, lags follow, logic computes with Integers, Booleans and Strings. Between
ticks the lags are a linear system, whose solution is the exponential of its matrix; what happens at
a tick is computed here by the rules of docs/system-file.md. Ticks are at multiples of 1/16, values
are compared between them.

By hand with more of them: python test_system_fmu_discrete.py FIRST LAST"""

import pathlib
import random
import sys
import tempfile

import couplet
import pytest
from test_system_fmu_random import call, exponential

GRID = 16  # ticks per second
SPAN = 2
UNITS = {"m": (1, 0), "mm": (1e-3, 0), "cm": (1e-2, 0), "K": (1, 0), "degC": (1, 273.15), "": (1, 0)}
GROUPS = [{"m", "mm", "cm"}, {"K", "degC"}, {""}]
WORDS = ["low", "the middle", "<high> & \\\"more\\\""]
SAID = ["low", "the middle", '<high> & "more"']

HEAD = "#include <couplet/model.h>\n#include <math.h>\n"
TICKS = """static int first(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[0];
  return 0;
}
"""


def declaration(items):
    return "{" + "".join("{" + item + "}, " for item in items) + "{0}}"


class Clock:
    """n += 1 and level = gain * (n % 3), odd, word, at first, first + period, ..."""

    def __init__(self, rnd):
        self.first, self.period = rnd.randint(1, 8), rnd.randint(2, 9)
        self.gain, self.unit = round(rnd.uniform(-2, 2), 3), rnd.choice(list(UNITS))
        self.outputs = {"level": "real", "n": "integer", "odd": "boolean", "word": "string"}
        self.inputs, self.states = {}, 0
        self.parameters = {"gain": self.gain}

    def source(self, name):
        return (
            f"{HEAD}static const cpl_declaration p[] = "
            + declaration([f'"first", .start = {self.first / GRID!r}', f'"period", .start = {self.period / GRID!r}',
                           f'"gain", .start = {self.gain!r}, .tunable = true'])
            + ";\nstatic const cpl_declaration w[] = "
            + declaration([f'"level", .unit = "{self.unit}", .output = true', '"n", .type = CPL_INTEGER, .output = true',
                           '"odd", .type = CPL_BOOLEAN, .output = true'])
            + ';\nstatic const cpl_string_declaration s[] = {{"word", "none", CPL_STRING_OUTPUT}, {0}};\n'
            f'static const char* const words[] = {{{", ".join(chr(34) + w + chr(34) for w in WORDS)}}};\n{TICKS}'
            "static int tick(const cpl_values* v, cpl_event_actions* a) {\n  if (!a->time_event) return 0;\n"
            "  a->w[1] += 1;\n  a->w[0] = v->p[2] * fmod(a->w[1], 3);\n  a->w[2] = fmod(a->w[1], 2);\n"
            "  a->s[0] = words[(int)fmod(a->w[1], 3)];\n  a->next_time = v->p[0] + a->w[1] * v->p[1];\n  return 0;\n}\n"
            f'const cpl_model_def couplet_model = {{.name = "{name}", .parameters = p, .discrete = w, .strings = s,\n'
            "    .initialize = first, .event = tick};\n"
        )

    def begin(self, own):
        own.update(level=0.0, n=0, odd=False, word="none")

    def tick(self, own, given, parameters):
        own["n"] += 1
        own.update(level=parameters["gain"] * (own["n"] % 3), odd=own["n"] % 2 == 1, word=SAID[own["n"] % 3])


class Hold:
    """y = gain * u and k += 1 at first, first + period, ..."""

    def __init__(self, rnd):
        self.first, self.period = rnd.randint(1, 8), rnd.randint(2, 9)
        self.gain, self.unit = round(rnd.uniform(-1, 1), 3), rnd.choice(list(UNITS))
        self.outputs = {"y": "real", "k": "integer"}
        self.inputs, self.states = {"u": "real"}, 0
        self.parameters = {"gain": self.gain}

    def source(self, name):
        return (
            f"{HEAD}static const cpl_declaration p[] = "
            + declaration([f'"first", .start = {self.first / GRID!r}', f'"period", .start = {self.period / GRID!r}',
                           f'"gain", .start = {self.gain!r}'])
            + f';\nstatic const cpl_declaration u[] = {{{{"u", .unit = "{self.unit}"}}, {{0}}}};\n'
            "static const cpl_declaration w[] = "
            + declaration([f'"y", .unit = "{self.unit}", .output = true', '"k", .type = CPL_INTEGER, .output = true'])
            + f";\n{TICKS}"
            "static int tick(const cpl_values* v, cpl_event_actions* a) {\n  if (!a->time_event) return 0;\n"
            "  a->w[0] = v->p[2] * v->u[0];\n  a->w[1] += 1;\n  a->next_time = v->p[0] + a->w[1] * v->p[1];\n"
            "  return 0;\n}\n"
            f'const cpl_model_def couplet_model = {{.name = "{name}", .parameters = p, .inputs = u, .discrete = w,\n'
            "    .initialize = first, .event = tick};\n"
        )

    def begin(self, own):
        own.update(y=0.0, k=0)

    def tick(self, own, given, parameters):
        own.update(y=parameters["gain"] * given["u"], k=own["k"] + 1)


class Lag:
    """x' = k (u - x)"""

    first = None

    def __init__(self, rnd):
        self.k, self.start = round(rnd.uniform(0.5, 3), 3), round(rnd.uniform(-2, 2), 3)
        self.unit = rnd.choice(list(UNITS))
        self.outputs, self.inputs, self.states = {"x": "real"}, {"u": "real"}, 1
        self.parameters = {"k": self.k}

    def source(self, name):
        return (
            f'{HEAD}static const cpl_declaration x[] = {{{{"x", .start = {self.start!r}, .unit = "{self.unit}", '
            ".output = true}, {0}};\n"
            f'static const cpl_declaration u[] = {{{{"u", .unit = "{self.unit}"}}, {{0}}}};\n'
            f'static const cpl_declaration p[] = {{{{"k", .start = {self.k!r}}}, {{0}}}};\n'
            "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->p[0] * (v->u[0] - v->x[0]);\n  return 0;\n}\n"
            f'const cpl_model_def couplet_model = {{.name = "{name}", .states = x, .inputs = u, .parameters = p,\n'
            "    .derivatives = f};\n"
        )

    def begin(self, own):
        own["x"] = self.start


class Logic:
    """j = 3 i - 1, c = not b, r = i / 2 + b, said = s"""

    first = None
    unit = ""

    def __init__(self, rnd):
        self.outputs = {"j": "integer", "c": "boolean", "r": "real", "said": "string"}
        self.inputs, self.states, self.parameters = {"i": "integer", "b": "boolean", "s": "string"}, 0, {}

    def source(self, name):
        return (
            f"{HEAD}static const cpl_declaration u[] = "
            + declaration(['"i", .type = CPL_INTEGER', '"b", .type = CPL_BOOLEAN'])
            + ";\nstatic const cpl_declaration y[] = "
            + declaration(['"j", .type = CPL_INTEGER', '"c", .type = CPL_BOOLEAN', '"r"'])
            + ';\nstatic const cpl_string_declaration s[] = {{"s", "", CPL_STRING_INPUT}, '
            '{"said", "", CPL_STRING_OUTPUT}, {0}};\n'
            "static int give(const cpl_values* v, double* y) {\n  y[0] = 3 * v->u[0] - 1;\n  y[1] = v->u[1] == 0;\n"
            "  y[2] = v->u[0] / 2 + v->u[1];\n  return 0;\n}\n"
            "static int event(const cpl_values* v, cpl_event_actions* a) {\n  a->s[1] = v->s[0];\n  return 0;\n}\n"
            f'const cpl_model_def couplet_model = {{.name = "{name}", .inputs = u, .outputs = y, .strings = s,\n'
            "    .output_values = give, .event = event};\n"
        )

    def begin(self, own):
        own.update(j=0, c=False, r=0.0, said="")

    def evaluate(self, own, given):
        i, b = given["i"], given["b"]
        own.update(j=3 * i - 1, c=not b, r=i / 2 + b, said=given["s"])


DEFAULTS = {"real": 0.0, "integer": 0, "boolean": False, "string": ""}


class Link:
    """An input: the sum of factor * source + offset, or a plain source with its unit converted."""

    def __init__(self, rnd, target, sources, kind):
        self.terms, self.offset, self.plain = [], 0.0, True
        if kind == "real" and rnd.random() < 0.4:
            self.plain = False
            self.terms = [(source, round(rnd.uniform(-1, 1), 2)) for source in rnd.sample(sources, min(2, len(sources)))]
            self.offset = round(rnd.uniform(-1, 1), 2)
            return
        fits = [s for s in sources if kind != "real" or self.common(s, target)]
        if not fits:
            return
        self.terms = [(rnd.choice(fits), 1.0)]
        if kind == "real" and rnd.random() < 0.3:
            self.terms, self.offset = [(self.terms[0][0], 0.5)], 0.25
        source = self.terms[0][0]
        self.units = (UNITS[source[0].unit], UNITS[target.unit]) if kind == "real" else None

    @staticmethod
    def common(source, target):
        return any(source[0].unit in group and target.unit in group for group in GROUPS)

    def value(self, values, kind):
        if not self.terms:
            return self.offset if not self.plain else DEFAULTS[kind]
        if not self.plain:
            return sum(factor * values[part.full][name] for (part, name), factor in self.terms) + self.offset
        (part, name), factor = self.terms[0]
        value = values[part.full][name]
        if kind != "real":
            return value
        (f1, o1), (f2, o2) = self.units
        return factor * ((value * f1 + o1 - o2) / f2) + self.offset


class Box:
    """A system: its parts, and what goes in and out."""

    def __init__(self):
        self.lines, self.links, self.inputs, self.outputs = [], [], [], []

    def text(self, span=SPAN):
        def section(title, lines):
            return f"{title}:\n" + "".join(f"  {line}\n" for line in lines) if lines else ""

        return (
            "couplet: 1\n" + section("models", self.lines) + section("inputs", self.inputs)
            + section("connections", self.links) + section("outputs", self.outputs)
            + f"experiment: {{stop: {span}, rtol: 1e-10}}\n"
        )


class System:
    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        kinds = [Clock, Clock, Hold, Lag, Lag, Logic]
        self.parts = [Clock(rnd), Lag(rnd)] + [rnd.choice(kinds)(rnd) for _ in range(rnd.randint(1, 5))]
        rnd.shuffle(self.parts)
        paths = [()]
        for k in range(rnd.randint(0, 3)):
            paths.append(rnd.choice([p for p in paths if len(p) < 2]) + (f"box{k}",))
        for number, part in enumerate(self.parts):
            part.path, part.name, part.file = rnd.choice(paths), f"{type(part).__name__.lower()}{number}", f"part{number}"
            part.full = ".".join(part.path + (part.name,))
            part.kind = rnd.choice(["c", "2", "3"])
        for part in self.parts:
            part.links = {}
            for name, kind in part.inputs.items():
                part.links[name] = Link(rnd, part, self.sources(part, kind), kind)
        used = [p for p in paths if any(part.path[: len(p)] == p for part in self.parts)]
        self.boxes = {path: Box() for path in [()] + [p for p in used if p]}
        self.forms = {path: rnd.choice(["system", "2", "3"]) for path in self.boxes}

    def sources(self, target, kind):
        """Outputs that can be connected: of logic only what comes before, so that there are no loops.
        Inputs and outputs of systems are Reals; other types are connected inside of one."""
        here = self.parts.index(target)
        return [
            (part, name) for k, part in enumerate(self.parts) for name, of in part.outputs.items()
            if of == kind and (kind == "real" or part.path == target.path)
            and not (isinstance(part, Logic) and isinstance(target, Logic) and k >= here)
        ]

    #------------------------------------ files ------------------------------------

    def bring(self, source, path):
        """The name by which a system knows the output of a part, out of boxes and into others."""
        part, name = source
        at, ref = part.path, f"{part.name}.{name}"
        while path[: len(at)] != at:
            box = self.boxes[at]
            output = f"o{len(box.outputs)}"
            box.outputs.append(f"{output}: {ref}")
            ref, at = f"{at[-1]}.{output}", at[:-1]
        while at != path:
            inner = path[: len(at) + 1]
            name = f"in{len(self.boxes[inner].inputs)}"
            kind = part.outputs[source[1]]
            start = {"real": "0", "integer": "0", "boolean": "false", "string": '""'}[kind]
            self.boxes[inner].inputs.append(f"{name}: {{start: {start}}}")
            self.boxes[at].links.append(f"{inner[-1]}.{name}: {ref}")
            ref, at = name, inner
        return ref

    def write(self, folder):
        for part in self.parts:
            (folder / f"{part.file}.c").write_text(part.source(part.file))
            if part.kind != "c":
                call(folder, "build", f"{part.file}.c", "-q", "--fmi", part.kind, "-o", f"{part.file}.fmu")
            form = f"c: {part.file}.c" if part.kind == "c" else f"fmu: {part.file}.fmu, as: me"
            self.boxes[part.path].lines.append(f"{part.name}: {{{form}}}")
            for name, link in part.links.items():
                refs = [(self.bring(source, part.path), factor) for source, factor in link.terms]
                target = f"{part.name}.{name}"
                if not link.plain:
                    text = " + ".join(f"{factor!r} * {ref}" for ref, factor in refs) + f" + {link.offset!r}"
                    self.boxes[part.path].links.append(f"{target}: {text}")
                elif refs and (refs[0][1] != 1 or link.offset != 0):
                    self.boxes[part.path].links.append(
                        f"{target}: {{from: {refs[0][0]}, factor: {refs[0][1]}, offset: {link.offset}}}")
                elif refs:
                    self.boxes[part.path].links.append(f"{target}: {refs[0][0]}")
        for path in sorted(self.boxes, key=len, reverse=True):
            if not path:
                continue
            file, form = "_".join(path), self.forms[path]
            self.boxes[path[:-1]].lines.append(
                f"{path[-1]}: {{system: {file}.yaml}}" if form == "system" else f"{path[-1]}: {{fmu: {file}.fmu, as: me}}")
            (folder / f"{file}.yaml").write_text(self.boxes[path].text())
            if form != "system":
                call(folder, "build", f"{file}.yaml", "-q", "--fmi", form, "-o", f"{file}.fmu")
        (folder / "whole.yaml").write_text(self.boxes[()].text())

    #------------------------------------ what must come out ------------------------------------

    def settle(self, values):
        """Outputs of logic, in the order of its parts."""
        for part in self.parts:
            if isinstance(part, Logic):
                part.evaluate(values[part.full], self.given(part, values))

    def given(self, part, values):
        return {name: link.value(values, part.inputs[name]) for name, link in part.links.items()}

    def move(self, values, span):
        """The lags over a time without ticks."""
        lags = [part for part in self.parts if isinstance(part, Lag)]
        now = [values[lag.full]["x"] for lag in lags]

        def slopes(x):
            for lag, one in zip(lags, x):
                values[lag.full]["x"] = one
            return [self.parameters[lag.full]["k"] * (self.given(lag, values)["u"] - values[lag.full]["x"]) for lag in lags]

        n = len(lags)
        constant = slopes([0.0] * n)
        columns = [slopes([float(i == j) for i in range(n)]) for j in range(n)]
        whole = [[span * (columns[j][i] - constant[i]) for j in range(n)] + [span * constant[i]] for i in range(n)]
        grown = exponential(whole + [[0.0] * (n + 1)])
        for i, lag in enumerate(lags):
            values[lag.full]["x"] = sum(g * x for g, x in zip(grown[i], now + [1.0]))

    def exact(self, changed=()):
        """Values between ticks: at 1/32, 3/32, ... of all variables by name."""
        self.parameters = {part.full: dict(part.parameters) for part in self.parts}
        for (full, name), value in dict(changed).items():
            self.parameters[full][name] = value
        values = {part.full: {} for part in self.parts}
        for part in self.parts:
            part.begin(values[part.full])
        self.settle(values)
        for step in range(SPAN * GRID):
            self.move(values, 0.5 / GRID)
            rows = {}
            for part in self.parts:
                rows.update({f"{part.full}.{name}": values[part.full][name] for name in part.outputs})
                rows.update({f"{part.full}.{name}": value for name, value in self.given(part, values).items()
                             if part.links[name].terms or not part.links[name].plain})
            yield (step + 0.5) / GRID, rows
            self.move(values, 0.5 / GRID)
            ticking = [part for part in self.parts if part.first is not None and step + 1 >= part.first
                       and (step + 1 - part.first) % part.period == 0]
            given = {part.full: self.given(part, values) for part in ticking}
            for part in ticking:
                part.tick(values[part.full], given[part.full], self.parameters[part.full])
            self.settle(values)


def compare(run, rows, where):
    for name, expected in rows.items():
        got = run[name]
        if isinstance(expected, float):
            assert abs(got - expected) <= 3e-6 * (1 + abs(expected)), (*where, name, got, expected)
        else:
            assert got == expected, (*where, name, got, expected)


def follow(folder, file, system, changed=(), prefix="", **settings):
    """All values at all times; in the middle the run goes back once."""
    names = {f"{prefix}{full}.{name}": value for (full, name), value in dict(changed).items()}
    with couplet.open(folder / file, set=names, **settings) as run:
        saved, passed = None, []
        for t, rows in system.exact(changed):
            run.advance(t)
            rows = {prefix + name: value for name, value in rows.items()}
            compare(run, rows, (file, settings, t))
            passed.append((t, rows))
            if t > SPAN / 2 and saved is None:
                saved, passed = run.save(), []
        run.restore(saved)
        for t, rows in passed:
            run.advance(t)
            compare(run, rows, (file, settings, t, "restored"))


def check_system(folder, seed):
    system = System(seed)
    system.write(folder)
    clock = next(part for part in system.parts if isinstance(part, Clock))
    lag = next(part for part in system.parts if isinstance(part, Lag))
    changed = {(clock.full, "gain"): 1.25, (lag.full, "k"): 0.75}
    follow(folder, "whole.yaml", system)
    for version in "23":
        call(folder, "build", "whole.yaml", "-q", "--fmi", version, "-o", "whole.fmu")
        assert call(folder, "check", "whole.fmu") == "whole.fmu: no findings\n"
        for kind in ("me", "cs"):
            follow(folder, "whole.fmu", system, as_=kind)
            follow(folder, "whole.fmu", system, changed, as_=kind)
            (folder / "outer.yaml").write_text(
                f"couplet: 1\nmodels:\n  outer: {{fmu: whole.fmu, as: {kind}}}\n"
                f"experiment: {{stop: {SPAN}, rtol: 1e-10}}\n")
            follow(folder, "outer.yaml", system, changed, prefix="outer.")


@pytest.mark.parametrize("seed", [1, 5, 7])
def test_a_system(tmp_path, seed):
    check_system(tmp_path, seed)


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as here:
            check_system(pathlib.Path(here), number)
        print(number, "passed", flush=True)
