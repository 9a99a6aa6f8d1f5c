# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Random SSP packages, and what they must compute by the rules of the standard.

A package is generated as a tree of definitions, written as files (ssp_files.py), and evaluated here by recursion
over its instances: exactly, with signals as polynomials of time with rational coefficients."""

import random
from fractions import Fraction as F

# The FMUs: per variable (name, role, signal, start). Signals: L in m, V in m/s, N without a unit,
# B Boolean, I Integer, E Enumeration.
MODELS = {
    "gain": [("in.u", "input", "L", F(1)), ("k", "parameter", "N", F(2)), ("b", "parameter", "L", F(3)), ("y", "output", "L", None)],
    "integ": [("u", "input", "V", F(1, 4)), ("x", "output", "L", F(1, 2))],
    "logic": [
        ("bu", "input", "B", False),
        ("iu", "input", "I", 4),
        ("eu", "input", "E", 2),
        ("bp", "parameter", "B", False),
        ("ip", "parameter", "I", 1),
        ("ep", "parameter", "E", 1),
        ("by", "output", "B", None),
        ("iy", "output", "I", None),
        ("ey", "output", "E", None),
        ("ez", "output", "E", None),
    ],
}
ITEMS = {"low": 1, "mid": 2, "high": 3}
HEADER = "#include <couplet/model.h>\n"
SOURCES = {
    "gain": HEADER
    + r"""
static const cpl_declaration inputs[] = {{"in.u", .start = 1, .unit = "m"}, {0}};
static const cpl_declaration outputs[] = {{"y", .unit = "m"}, {0}};
static const cpl_declaration parameters[] = {
    {"k", .start = 2}, {"b", .start = 3, .unit = "m"}, {0}};
static int out(const cpl_values* v, double* y) {
  y[0] = v->p[0] * v->u[0] + v->p[1];
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {.name = "gain", .inputs = inputs, .outputs = outputs,
                                     .parameters = parameters, .output_values = out};
""",
    "integ": HEADER
    + r"""
static const cpl_declaration states[] = {{"x", .start = 0.5, .unit = "m", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u", .start = 0.25, .unit = "m/s"}, {0}};
static int der(const cpl_values* v, double* dx) {
  dx[0] = v->u[0];
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {
    .name = "integ", .states = states, .inputs = inputs, .derivatives = der};
""",
    "logic": HEADER
    + r"""
static const char* const items[] = {"low", "mid", "high", NULL};
static const cpl_declaration inputs[] = {{"bu", .type = CPL_BOOLEAN},
    {"iu", .type = CPL_INTEGER, .start = 4},
    {"eu", .type = CPL_ENUMERATION, .start = 2, .items = items}, {0}};
static const cpl_declaration parameters[] = {{"bp", .type = CPL_BOOLEAN},
    {"ip", .type = CPL_INTEGER, .start = 1},
    {"ep", .type = CPL_ENUMERATION, .start = 1, .items = items}, {0}};
static const cpl_declaration outputs[] = {{"by", .type = CPL_BOOLEAN}, {"iy", .type = CPL_INTEGER},
    {"ey", .type = CPL_ENUMERATION, .items = items},
    {"ez", .type = CPL_ENUMERATION, .items = items}, {0}};
static int out(const cpl_values* v, double* y) {
  y[0] = (v->u[0] != 0) != (v->p[0] != 0);
  y[1] = v->u[1] + v->p[1];
  y[2] = v->u[2];
  y[3] = v->p[2];
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {.name = "logic", .inputs = inputs, .outputs = outputs,
                                     .parameters = parameters, .output_values = out};
""",
}
FAMILY = {"L": 'm="1"', "V": 'm="1" s="-1"'}
SI = (F(1), F(0))  # factor and offset of m and m/s
UNIT_NAMES = ["m", "cm", "mm", "km", "ft", "degC", "u'1", "°Länge", "a/b^2", "my unit", "s", "rad", "%", "1", "m/s"]
ODD = ["", "", "", "", " x", "[2]", "ä", '"', "&<", "(3)", ".d", "µ.µ", "->", "#1", "=", ",", "*"]


class Cycle(Exception):
    """Values depend on each other in a circle: no such package is wanted."""


class Conn:
    def __init__(self, name, kind, sig, unit=None, typed=True, enum=None):
        self.name, self.kind, self.sig, self.unit, self.typed, self.enum = name, kind, sig, unit, typed, enum


class Elem:
    """An element: kind fmu, sys, ref (#id), ext (another file), dict."""

    def __init__(self, name, kind, conns=(), model=None, system=None, doc=None, dictionary=None, uri=None):
        self.name, self.kind, self.conns, self.model = name, kind, list(conns), model
        self.system, self.doc, self.dictionary, self.uri = system, doc, dictionary, uri
        self.bindings = []

    def conn(self, name):
        return next((c for c in self.conns if c.name == name), None)


class System:
    def __init__(self, doc):
        self.doc, self.id = doc, None
        self.conns, self.elems, self.links, self.dicts, self.bindings = [], [], [], [], []

    def conn(self, name):
        return next((c for c in self.conns if c.name == name), None)


class Link:
    def __init__(self, source, sink, transform=None, suppress=False):
        self.source, self.sink, self.transform, self.suppress = source, sink, transform, suppress


class Dictionary:
    def __init__(self, name, units, enums, entries, file):
        self.name, self.units, self.enums, self.entries, self.file = name, units, enums, entries, file


class Doc:
    """A file .ssd with its units and enumerations."""

    def __init__(self, name, version, units, enums):
        self.name, self.version, self.units, self.enums, self.root = name, version, units, enums, None


class Binding:
    """values: (name, kind, value, unit, enum); mapping: (source, target, transform, suppress)."""

    def __init__(self, values, units, enums, prefix="", mapping=None):
        self.values, self.units, self.enums, self.prefix, self.mapping = values, units, enums, prefix, mapping
        self.file = self.mapping_file = None


# ------------------------------------ generation ------------------------------------


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n_files = 0
        self.files = {}  # file -> (kind, object)
        self.n_fmus = 0
        self.used = set()

    def flip(self, p):
        return self.r.random() < p

    def number(self):
        return F(self.r.randint(-40, 40), self.r.choice([1, 2, 4, 5]))

    def factor(self):
        return self.r.choice([F(2), F(1, 2), F(-1), F(3), F(1, 4), F(-3, 2), F(1)])

    def fresh(self, base, used):
        while True:
            name = base + str(self.r.randint(0, 99)) + self.r.choice(ODD)
            # names of which one continues another after a dot are an error by decision
            if not any(name == u or name.startswith(u + ".") or u.startswith(name + ".") for u in used):
                used.add(name)
                return name

    def units(self):
        names = self.r.sample(UNIT_NAMES, 6)
        out = {}
        for i, name in enumerate(names):
            family = "L" if i < 4 else "V"
            offset = self.r.choice([F(0), F(0), F(10), F(-5, 2)]) if family == "L" else F(0)
            out[name] = (family, self.r.choice([F(1), F(2), F(1, 2), F(1, 4), F(5), F(254, 100)]), offset)
        return out

    def enums(self):
        out = {"first": dict(ITEMS)}
        values = [1, 2, 3]
        self.r.shuffle(values)
        out["second 'e'"] = dict(zip(["low", "on&off", "high"], values))
        return out

    def unit(self, units, sig, p=0.6):
        if sig not in FAMILY or not self.flip(p):
            return None
        return self.r.choice([n for n, u in units.items() if u[0] == sig])

    def doc(self, name, level):
        d = Doc(name, self.r.choice(["1.0", "2.0"]), self.units(), self.enums())
        self.n_files += 1
        d.root = self.system(d, level, [])
        self.bind(d.root, d.root)
        return d

    def connectors(self, doc, count):
        out, used = [], set()
        for _ in range(count):
            sig = self.r.choice("LLLVNBIE")
            kind = self.r.choice(["input", "input", "parameter", "output", "output", "calculatedParameter"])
            out.append(self.connector(doc, self.fresh({"L": "len", "V": "vel"}.get(sig, "c" + sig), used), kind, sig))
        return out

    def connector(self, doc, name, kind, sig, p=0.6):
        unit = self.unit(doc.units, sig, p)
        enum = self.r.choice(list(doc.enums)) if sig == "E" else None
        return Conn(name, kind, sig, unit, unit is not None or sig == "E" or self.flip(0.7), enum)

    def fmu_connectors(self, doc, model):
        out = []
        for name, role, sig, _ in MODELS[model]:
            unit = self.unit(doc.units, sig, 0.3)
            enum = "first" if sig == "E" else None
            typed = unit is not None or self.flip(0.5)
            out.append(Conn(name, role, sig, unit, typed, enum if typed else None))
        return out

    def system(self, doc, level, around):
        s = System(doc)
        s.conns = self.connectors(doc, self.r.randint(0, 6) if level > 0 else self.r.randint(2, 8))
        used = set(c.name for c in s.conns)
        dicts = list(around)
        if self.flip(0.25):
            dicts.append(self.dictionary(s, dicts))
        shared = []
        for _ in range(self.r.randint(1, 4 if level < 2 else 3)):
            choice = self.r.random()
            name = self.fresh(self.r.choice(["a", "b", "comp", "Ω"]), used)
            if level < 3 and choice < 0.35:
                e = Elem(name, "sys", system=self.system(doc, level + 1, dicts))
                e.conns = e.system.conns
                if self.flip(0.4):
                    e.system.id = f"id{self.r.randint(0, 10**9)}"
                    shared.append(e.system)
            elif shared and choice < 0.5:
                system = self.r.choice(shared)
                e = Elem(name, "ref", self.wrapper(doc, system), system=system)
            elif level < 3 and choice < 0.6 and self.n_files < 5:
                e = self.external(name, level, doc)
            elif dicts and choice < 0.75:
                e = self.reference(doc, name, self.r.choice(dicts))
            else:
                model = self.r.choice(["gain", "gain", "integ", "logic"])
                self.n_fmus += 1
                e = Elem(name, "fmu", self.fmu_connectors(doc, model), model=model)
            s.elems.append(e)
            self.bind(e, e)
        self.connect(s)
        return s

    def external(self, name, level, doc):
        inner = self.doc(self.r.choice(["inner", "var ä", "x"]) + str(self.n_files), level + 1)
        kind = self.r.choice(["ssd", "ssp", "variant"])
        stem = f"part {len(self.files)}" if self.flip(0.3) else f"part{len(self.files)}"
        if kind == "ssd":
            file = uri = f"{stem}.ssd"
        else:
            file, uri = f"{stem}.ssp", f"{stem}.ssp" + ("#Other.ssd" if kind == "variant" else "")
        self.files[file] = (kind, inner)
        return Elem(name, "ext", self.wrapper(doc, inner.root), system=inner.root, doc=inner, uri=uri.replace(" ", "%20"))

    def wrapper(self, doc, system):
        """Connectors of a component that is a system; they may have units of their own."""
        out = []
        for c in system.conns:
            unit = self.unit(doc.units, c.sig, 0.4)
            if c.unit is None or system.doc is doc and self.flip(0.7):
                unit = c.unit if system.doc is doc else None
            out.append(Conn(c.name, c.kind, c.sig, unit, unit is not None or self.flip(0.5), c.enum if system.doc is doc else None))
        return out

    def dictionary(self, system, dicts):
        known = {d.name for d in dicts}
        name = self.r.choice(["bus", "bus 2", "büs"])
        doc = system.doc
        file = None
        units, enums = self.units(), self.enums()
        if self.flip(0.5):
            file = f"dict{len(self.files)}.ssb"
        entries = []
        holder = Doc("", "1.0", units, enums)
        for i in range(self.r.randint(1, 4)):
            c = self.connector(holder, f"e{i}" + self.r.choice(ODD), "inout", self.r.choice("LLVNBIE"))
            c.typed = True
            entries.append(c)
        d = Dictionary(name if name not in known or self.flip(0.3) else name + "'", units, enums, entries, file)
        system.dicts.append(d)
        if file:
            self.files[file] = ("ssb", d, doc)
        return d

    def reference(self, doc, name, d):
        # the innermost dictionary of the name is the one that is meant, so entries are looked up again
        conns = [Conn(c.name, "inout", c.sig, self.unit(doc.units, c.sig, 0.4)) for c in d.entries]
        for c in conns:
            c.typed = c.unit is not None or self.flip(0.5) and c.sig != "E"
        return Elem(name, "dict", conns, dictionary=d)

    # -------------------- connections --------------------

    def connect(self, s):
        sources = []  # (position, element or None, connector)
        for c in s.conns:
            if c.kind in ("input", "parameter"):
                sources.append((-1, None, c))
        sinks = []
        for i, e in enumerate(s.elems):
            for c in e.conns:
                if c.kind in ("output", "calculatedParameter"):
                    sources.append((i, e, c))
                if c.kind in ("input", "parameter"):
                    sinks.append((i, e, c))
                if e.kind == "dict":
                    if (id(e.dictionary), c.name) not in self.used and self.flip(0.5):
                        self.used.add((id(e.dictionary), c.name))
                        sinks.append((i, e, c))
                        continue
                    sources.append((-1, e, c))
        for c in s.conns:
            if c.kind in ("output", "calculatedParameter"):
                sinks.append((len(s.elems), None, c))
        for at, e, c in sinks:
            if not self.flip(0.85):
                continue
            possible = [x for x in sources if x[0] < at and self.allowed(x[1], x[2], e, c) and not (x[1] is not None and x[1] is e)]
            if possible:
                _, se, sc = self.r.choice(possible)
                s.links.append(self.link(s, se, sc, e, c))

    @staticmethod
    def allowed(se, sc, e, c):
        if sc.sig != c.sig:
            return False
        a = sc.kind
        if c.kind == "parameter" or c.kind == "calculatedParameter":
            return a in ("parameter", "calculatedParameter")
        if c.kind == "inout":
            return a != "inout"
        return True

    def link(self, s, se, sc, e, c):
        link = Link((se, sc), (e, c))

        def known(x, y):  # its unit does not depend on its neighbours
            return y.unit is not None or (x is not None and x.kind == "fmu") or y.sig not in FAMILY

        if sc.sig in "LVN" and known(se, sc) and known(e, c):
            if self.flip(0.3):
                link.transform = ("lin", self.factor(), self.number())
            link.suppress = self.flip(0.2)
        elif sc.sig == "B" and self.flip(0.4):
            link.transform = ("bool", {k: self.flip(0.5) for k in self.r.sample([True, False], self.r.randint(1, 2))})
        elif sc.sig == "I" and self.flip(0.4):
            keys = self.r.sample(range(-5, 12), self.r.randint(1, 6))
            link.transform = ("int", {k: self.r.randint(-5, 12) for k in keys})
        elif sc.sig == "E" and self.flip(0.5):
            if self.flip(0.5) or sc.enum is None or c.enum is None:
                link.transform = ("int", {k: self.r.randint(1, 3) for k in self.r.sample([1, 2, 3], self.r.randint(1, 3))})
            else:
                a, b = list(self.enum_of(s, se, sc)), list(self.enum_of(s, e, c))
                link.transform = ("enum", {k: self.r.choice(b) for k in self.r.sample(a, self.r.randint(1, 3))})
        return link

    @staticmethod
    def enum_of(s, e, c):
        return s.doc.enums[c.enum]

    # -------------------- parameter sets --------------------

    def targets(self, element):
        """(name, connector or variable, known unit) of all that a binding can reach."""
        if isinstance(element, Elem) and element.kind == "dict":
            return []
        if isinstance(element, Elem) and element.kind == "fmu":
            return [(name, sig) for name, role, sig, start in MODELS[element.model] if start is not None]
        system = element if isinstance(element, System) else element.system
        wrapped = {c.name: c for c in element.conns} if isinstance(element, Elem) and element.kind in ("ref", "ext") else {}
        out = []
        for c in system.conns:
            if c.kind in ("input", "parameter") and (c.unit is not None or c.sig not in FAMILY):
                w = wrapped.get(c.name)
                out.append((c.name, c.sig + ("!" if w is not None and w.unit not in (None, c.unit) else "")))
        for e in system.elems:
            out += [(e.name + "." + name, sig) for name, sig in self.targets(e)]
        return out

    def bind(self, element, holder):
        possible = self.targets(element)
        while possible and self.flip(0.4):
            units, enums = self.units(), self.enums()
            chosen = self.r.sample(possible, min(len(possible), self.r.randint(1, 4)))
            values, mapping, prefix = [], None, ""
            if self.flip(0.4):
                mapping = []
                prefix = self.r.choice(["", "p.", "x y"])
                for i, (name, sig) in enumerate(chosen):
                    source = f"p{i}" + self.r.choice(ODD)
                    v = self.value(source, sig, units, enums)
                    values.append(v)
                    t = None
                    sig = sig[0]
                    if sig in "LVN" and self.flip(0.4):
                        t = ("lin", self.factor(), self.number())
                    elif sig == "B" and self.flip(0.4):
                        t = ("bool", {True: self.flip(0.5)})
                    elif sig == "I" and self.flip(0.4):
                        t = ("int", {k: self.r.randint(-5, 12) for k in range(-6, 7, 2)})
                    mapping.append((prefix + source, name, t, sig in "LVN" and self.flip(0.2)))
                    if self.flip(0.2):
                        other = self.r.choice(possible)
                        if other[1][0] == sig and other[0] not in [n for n, _ in chosen] and other[0] not in [m[1] for m in mapping] and "!" not in other[1]:
                            mapping.append((prefix + source, other[0], None, False))
            else:
                dotted = [n for n, _ in chosen if "." in n]
                if dotted and self.flip(0.5):
                    prefix = dotted[0][: dotted[0].index(".") + 1]
                    chosen = [(n[len(prefix) :], s) for n, s in chosen if n.startswith(prefix)]
                values = [self.value(n, s, units, enums) for n, s in chosen if n]
            b = Binding(values, units, enums, prefix, mapping)
            if self.flip(0.4):
                b.file = f"set{len(self.files)}.ssv"
                self.files[b.file] = ("ssv", b)
            if mapping and self.flip(0.5):
                b.mapping_file = f"map{len(self.files)}.ssm"
                self.files[b.mapping_file] = ("ssm", b)
            holder.bindings.append(b)

    def value(self, name, sig, units, enums):
        must, sig = sig.endswith("!"), sig[0]
        if sig in "LVN":
            return (name, sig, self.number(), self.unit(units, sig, 1 if must else 0.6), None)
        if sig == "B":
            return (name, sig, self.flip(0.5), None, None)
        if sig == "I":
            return (name, sig, self.r.randint(-6, 12), None, None)
        return (name, sig, self.r.choice(["low", "high"]), None, self.r.choice([None, *enums]))


# ------------------------------------ evaluation ------------------------------------


class Poly(tuple):
    """c0 + c1 t + c2 t^2 ..."""

    def linear(self, factor, offset):
        c = [factor * x for x in self]
        c[0] += offset
        return Poly(c)

    def __add__(self, other):
        n = max(len(self), len(other))
        a, b = list(self) + [F(0)] * (n - len(self)), list(other) + [F(0)] * (n - len(other))
        return Poly(x + y for x, y in zip(a, b))

    def integral(self, start):
        return Poly([start] + [c / (i + 1) for i, c in enumerate(self)])

    def at(self, t):
        return sum(c * t**i for i, c in enumerate(self))


class Inst:
    def __init__(self, elem, system, parent, path):
        self.elem, self.system, self.parent, self.path = elem, system, parent, path
        self.children, self.values = {}, {}
        if system is not None:
            for e in system.elems:
                self.children[id(e)] = Inst(e, e.system, self, (path + "." if path else "") + e.name)

    def elements(self):
        return [self.children[id(e)] for e in self.system.elems]


class Reference:
    """What a package computes."""

    def __init__(self, doc):
        self.root = Inst(None, doc.root, None, "")
        self.memo = {}
        self.active = set()
        self.free = []  # inputs and parameters of systems without a source and a value
        self.writers = {}  # (instance, dictionary, entry) -> (instance of the system, link)
        self.note_writers(self.root)
        self.apply(self.root)

    def note_writers(self, inst):
        for link in inst.system.links if inst.system else []:
            e, c = link.sink
            if e is not None and e.kind == "dict":
                owner, d = self.find_dictionary(inst, e.dictionary.name)
                if (id(owner), d.name, c.name) in self.writers or c.name not in [x.name for x in d.entries]:
                    raise Cycle
                self.writers[id(owner), d.name, c.name] = (inst, link)
        for child in inst.children.values():
            if child.elem.kind == "dict":
                owner, d = self.find_dictionary(inst, child.elem.dictionary.name)
                for c in child.elem.conns:
                    entry = next((x for x in d.entries if x.name == c.name), None)
                    if entry is None or entry.sig != c.sig:
                        raise Cycle
            self.note_writers(child)

    @staticmethod
    def find_dictionary(inst, name):
        while inst is not None:
            for d in inst.system.dicts:
                if d.name == name:
                    return inst, d
            inst = inst.parent
        raise Cycle

    # -------------------- parameter sets --------------------

    def apply(self, inst):
        for child in inst.children.values():
            self.apply(child)
        bindings = []
        if inst.system is not None and (inst.elem is None or inst.elem.kind == "ext"):
            bindings += inst.system.bindings
        if inst.elem is not None:
            bindings += self.holder(inst)
        for b in bindings:
            self.bind(inst, b)

    @staticmethod
    def holder(inst):
        e = inst.elem
        if e.kind == "ref":  # those of the definition first
            definition = next((x for x in DEFINERS.get(id(e.system), [])), None)
            return (definition.bindings if definition is not None else []) + e.bindings
        return e.bindings

    def bind(self, inst, b):
        if b.mapping is None:
            for v in b.values:
                self.assign(inst, b.prefix + v[0], v, b, None, False)
            return
        for source, target, t, suppress in b.mapping:
            for v in b.values:
                if b.prefix + v[0] == source:
                    self.assign(inst, target, v, b, t, suppress)

    def assign(self, inst, name, v, b, t, suppress):
        if inst.elem is not None and inst.elem.kind == "dict":
            return
        if inst.elem is not None and inst.elem.kind == "fmu":
            inst.values[name] = (v, b, t, suppress)
            return
        if inst.system.conn(name) is not None:
            inst.values[name] = (v, b, t, suppress)
        for child in inst.children.values():
            if name.startswith(child.elem.name + "."):
                self.assign(child, name[len(child.elem.name) + 1 :], v, b, t, suppress)

    @staticmethod
    def evaluate(assigned, unit, items):
        v, b, t, suppress = assigned
        _, sig, value, value_unit, _ = v
        if sig in "LVN":
            value = Poly([value])
            if value_unit is not None and unit is not None and not suppress:
                value = convert(value, b.units[value_unit][1:], unit)
        elif sig == "E":
            value = items[value]
        return transformed(value, t, None, None)

    # -------------------- signals --------------------

    def inside(self, inst, c):
        """The value of an input or a parameter of a system, seen from inside: (value, unit), or
        None without a source and a value."""
        key = (id(inst), c.name)
        if key in self.memo:
            return self.memo[key]
        if key in self.active:
            raise Cycle
        self.active.add(key)
        own = unit_of(c, inst.system.doc)
        out = None
        if inst.parent is not None:
            outer = inst.elem.conn(c.name)
            driven = next((x for x in inst.parent.system.links if x.sink[0] is inst.elem and x.sink[1].name == c.name), None)
            if driven is not None:
                out = self.sink(inst.parent, driven, unit_of(outer, inst.parent.system.doc))
                if out is not None and own is not None and out[1] is not None:
                    out = (convert(out[0], out[1], own), own)
                elif out is not None and own is not None:
                    out = (out[0], own)
        if out is None:
            out = self.given(inst, c, own)
        self.active.discard(key)
        self.memo[key] = out
        return out

    def given(self, inst, c, own):
        """The value that a parameter set gives to a connector of a system."""
        if c.name not in inst.values:
            self.free.append(((inst.path + "." if inst.path else "") + c.name, c.sig + "!"))
            return None
        v, b, *_ = inst.values[c.name]
        unit = own if own is not None or v[3] is None else b.units[v[3]][1:]
        return (self.evaluate(inst.values[c.name], own, inst.system.doc.enums[c.enum] if c.enum else ITEMS), unit)

    def sink(self, system, link, unit):
        """The value that arrives by a connection, in the unit of the sink or, without one, of the source."""
        out = self.source(system, *link.source)
        if out is None:
            return None
        value, from_unit = out
        if not link.suppress and unit is not None and from_unit is not None:
            value = convert(value, from_unit, unit)
        (se, sc), (e, c) = link.source, link.sink
        doc = system.system.doc
        value = transformed(value, link.transform, doc.enums.get(sc.enum), doc.enums.get(c.enum))
        return (value, unit if unit is not None or link.suppress else from_unit)

    def source(self, system, elem, c):
        if elem is None:
            return self.inside(system, c)
        inst = system.children[id(elem)]
        unit = unit_of(c, system.system.doc)
        if elem.kind == "fmu":
            return (self.variable(inst, c.name), unit if unit is not None else SI if c.sig in FAMILY else None)
        if elem.kind == "dict":
            out = self.entry(system, elem, c)
        else:
            out = self.outside(inst, elem.system.conn(c.name))
        if out is not None and unit is not None and out[1] is not None:
            out = (convert(out[0], out[1], unit), unit)
        return out

    def entry(self, system, elem, c):
        owner, d = self.find_dictionary(system, elem.dictionary.name)
        key = (id(owner), d.name, c.name)
        if key not in self.writers or key in self.active:
            raise Cycle
        self.active.add(key)
        inst, link = self.writers[key]
        out = self.sink(inst, link, unit_of(link.sink[1], inst.system.doc))
        entry = next(x for x in d.entries if x.name == c.name)
        unit = d.units[entry.unit][1:] if entry.unit is not None else None
        if out is not None and unit is not None and out[1] is not None:
            out = (convert(out[0], out[1], unit), unit)
        self.active.discard(key)
        return out

    def outside(self, inst, c):
        """The value of an output of a system in its own unit."""
        key = (id(inst), c.name)
        if key in self.memo:
            return self.memo[key]
        if key in self.active:
            raise Cycle
        self.active.add(key)
        link = next((x for x in inst.system.links if x.sink[0] is None and x.sink[1] is c), None)
        out = self.sink(inst, link, unit_of(c, inst.system.doc)) if link is not None else None
        if link is None:
            out = self.given(inst, c, unit_of(c, inst.system.doc))
        self.active.discard(key)
        self.memo[key] = out
        return out

    def variable(self, inst, name):
        key = (id(inst), name)
        if key in self.memo:
            return self.memo[key]
        if key in self.active:
            raise Cycle
        self.active.add(key)
        _, role, sig, start = next(v for v in MODELS[inst.elem.model] if v[0] == name)
        out = None
        doc = inst.parent.system.doc
        if role in ("input", "parameter"):
            link = next((x for x in inst.parent.system.links if x.sink[0] is inst.elem and x.sink[1].name == name), None)
            if link is not None:
                unit = unit_of(link.sink[1], doc) or (SI if sig in FAMILY else None)
                got = self.sink(inst.parent, link, unit)
                out = got[0] if got is not None else None
            if out is None:
                out = self.start(inst, name, sig, start)
        else:
            out = self.output(inst, name, start)
        self.active.discard(key)
        self.memo[key] = out
        return out

    def start(self, inst, name, sig, start):
        if name in inst.values:
            c = inst.elem.conn(name)
            unit = unit_of(c, inst.parent.system.doc) or (SI if sig in FAMILY else None)
            return self.evaluate(inst.values[name], unit, ITEMS)
        return Poly([start]) if sig in "LVN" else start

    def output(self, inst, name, start):
        get = lambda n: self.variable(inst, n)
        if name == "y":
            return get("in.u").linear(get("k")[0], get("b")[0])
        if name == "x":
            return get("u").integral(self.start(inst, "x", "L", start)[0])
        if name == "by":
            return get("bu") != get("bp")
        if name == "iy":
            return get("iu") + get("ip")
        return get("eu") if name == "ey" else get("ep")

    def columns(self):
        out = {}
        todo = [self.root]
        while todo:
            inst = todo.pop()
            dot = inst.path + "." if inst.path else ""
            if inst.elem is not None and inst.elem.kind == "fmu":
                for name, *_ in MODELS[inst.elem.model]:
                    out[dot + name] = self.variable(inst, name)
            elif inst.system is not None:
                todo += inst.children.values()
                for c in inst.system.conns:
                    value = self.inside(inst, c) if c.kind in ("input", "parameter") else self.outside(inst, c)
                    outer = inst.elem.conn(c.name) if inst.elem is not None else None
                    if value is not None and (outer is None or outer is c or outer.unit is None):
                        out[dot + c.name] = value[0]
        return out


def unit_of(c, doc):
    return doc.units[c.unit][1:] if c is not None and c.unit is not None else None


def convert(value, a, b):
    """SI = factor * value + offset."""
    return value.linear(a[0] / b[0], (a[1] - b[1]) / b[0])


def transformed(value, t, from_items, to_items):
    if t is None:
        return value
    kind = t[0]
    if kind == "lin":
        return value.linear(t[1], t[2])
    if kind == "enum":
        name = next((k for k, v in from_items.items() if v == value), None)
        return to_items[t[1][name]] if name in t[1] else value
    return t[1].get(value, value)


DEFINERS = {}  # id of a system -> the elements that define it


def note_definers(system):
    for e in system.elems:
        if e.kind == "sys":
            DEFINERS[id(e.system)] = [e]
        if e.kind in ("sys", "ext"):
            note_definers(e.system)


def generate(seed):
    """A generator, its document, and the columns that it computes. None: the values of this one
    are not defined."""
    g = Generator(seed)
    doc = g.doc("package ü", 0)
    DEFINERS.clear()
    note_definers(doc.root)
    if g.n_fmus == 0:
        return None
    try:
        ref = Reference(doc)
        ref.columns()
        if ref.free:
            units, enums = g.units(), g.enums()
            values = [g.value(name, sig, units, enums) for name, sig in ref.free]
            doc.root.bindings.insert(0, Binding(values, units, enums))
        return g, doc, Reference(doc).columns()
    except Cycle:
        return None
