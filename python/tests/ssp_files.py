# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the packages of ssp_random.py."""

import io
import os
import random
import zipfile
from xml.sax.saxutils import quoteattr as q

from ssp_random import FAMILY

NS = "http://ssp-standard.org/SSP1/SystemStructure"



def text(number):
    """A number with its exact decimal digits, if it has finitely many."""
    n = number.denominator
    for p in (2, 5):
        while n % p == 0:
            n //= p
    assert n == 1, number
    digits = 12
    s = f"{int(number * 10**digits):d}"
    sign, s = ("-", s[1:]) if s[0] == "-" else ("", s)
    s = s.rjust(digits + 1, "0")
    return (sign + s[:-digits] + "." + s[-digits:]).rstrip("0").rstrip(".") or "0"


class Writer:
    """Writes a package into a folder; its order of elements and connections is random."""

    def __init__(self, generator, doc, folder, fmus, seed):
        self.g, self.doc, self.folder, self.fmus, self.r = generator, doc, folder, fmus, random.Random(seed)
        self.out = {}

    def shuffled(self, items):
        items = list(items)
        self.r.shuffle(items)
        return items

    def write(self):
        os.makedirs(self.folder)
        for name, data in self.package(self.doc, "SystemStructure.ssd").items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if isinstance(data, bytes):
                with open(path, "wb") as f:
                    f.write(data)
            elif not os.path.exists(path):
                os.symlink(data, path)

    def package(self, doc, main):
        """Names and contents of all files of a document and what it refers to."""
        files = {}
        self.collect(doc, main, files)
        return files

    def collect(self, doc, file, files):
        needs = set()
        files[file] = self.document(doc, needs).encode()
        for need in sorted(needs):
            if need in files:
                continue
            if need.startswith("resources/"):
                files[need] = self.fmus[need[10:-4]]
                continue
            kind, what, *_ = self.g.files[need]
            if kind == "ssd":
                self.collect(what, need, files)
            elif kind in ("ssp", "variant"):
                files[need] = self.zipped(what, kind)
            else:
                files[need] = {"ssv": self.parameter_set, "ssm": self.mapping, "ssb": self.dictionary}[kind](what, True).encode()

    def zipped(self, doc, kind):
        inner = self.package(doc, "SystemStructure.ssd" if kind == "ssp" else "Other.ssd")
        if kind == "variant":
            empty = f'<SystemStructureDescription xmlns="{NS}Description" version="1.0" name="none"><System name="x"/></SystemStructureDescription>'
            inner["SystemStructure.ssd"] = empty.encode()
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as z:
            for name, content in inner.items():
                if not isinstance(content, bytes):
                    with open(content, "rb") as f:
                        content = f.read()
                z.writestr(name, content)
        return data.getvalue()

    def spaces(self):
        return " ".join(f'xmlns:{p}="{NS}{n}"' for p, n in (("c", "Common"), ("v", "ParameterValues"), ("m", "ParameterMapping"), ("b", "SignalDictionary")))

    def document(self, doc, needs):
        body = self.system(doc.root, needs, doc.root.bindings)
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<SystemStructureDescription xmlns="{NS}Description" {self.spaces()} '
            f'version="{doc.version}" name={q(doc.name)}>\n<System name="root of it">{body}</System>\n'
            f"{self.enumerations(doc.enums, '')}{self.units(doc.units, '')}"
            f'<DefaultExperiment startTime="0" stopTime="2"/>\n</SystemStructureDescription>\n'
        )

    def units(self, units, prefix):
        rows = "".join(
            f'<c:Unit name={q(n)}><c:BaseUnit {FAMILY[f]} factor="{text(a)}" offset="{text(b)}"/></c:Unit>\n' for n, (f, a, b) in self.shuffled(units.items())
        )
        return f"<{prefix}Units>{rows}</{prefix}Units>"

    def enumerations(self, enums, prefix):
        rows = "".join(
            f"<c:Enumeration name={q(n)}>" + "".join(f'<c:Item name={q(i)} value="{v}"/>' for i, v in self.shuffled(items.items())) + "</c:Enumeration>"
            for n, items in enums.items()
        )
        return f"<{prefix}Enumerations>{rows}</{prefix}Enumerations>\n"

    def type(self, c):
        if not c.typed:
            return ""
        if c.sig in "LVN":
            return f"<c:Real unit={q(c.unit)}/>" if c.unit is not None else "<c:Real/>"
        if c.sig == "E":
            return f"<c:Enumeration name={q(c.enum)}/>" if c.enum is not None else ""
        return {"B": "<c:Boolean/>", "I": "<c:Integer/>"}[c.sig]

    def connectors(self, conns):
        rows = "".join(f'<Connector name={q(c.name)} kind="{c.kind}">{self.type(c)}</Connector>\n' for c in self.shuffled(conns))
        return f"<Connectors>{rows}</Connectors>" if rows else ""

    def system(self, s, needs, bindings):
        out = self.connectors(s.conns) + self.bindings(bindings, needs)
        elements = "".join(self.element(e, needs) for e in self.shuffled(s.elems))
        links = "".join(self.link(x) for x in self.shuffled(s.links))
        out += f"\n<Elements>{elements}</Elements>\n" if elements else ""
        out += f"<Connections>{links}</Connections>\n" if links else ""
        dicts = ""
        for d in self.shuffled(s.dicts):
            if d.file:
                needs.add(d.file)
            dicts += f"<SignalDictionary name={q(d.name)}" + (f' source="{d.file}"/>' if d.file else f">{self.dictionary(d)}</SignalDictionary>")
        return out + (f"<SignalDictionaries>{dicts}</SignalDictionaries>\n" if dicts else "")

    def element(self, e, needs):
        if e.kind == "sys":
            ident = f' id="{e.system.id}"' if e.system.id else ""
            return f"<System name={q(e.name)}{ident}>{self.system(e.system, needs, e.bindings)}</System>\n"
        inside = self.connectors(e.conns)
        if e.kind == "dict":
            return f"<SignalDictionaryReference name={q(e.name)} dictionary={q(e.dictionary.name)}>{inside}</SignalDictionaryReference>\n"
        if e.kind == "fmu":
            source, kind = f"resources/{e.model}.fmu", self.r.choice(["", ' type="application/x-fmu-sharedlibrary"'])
            needs.add(source)
        elif e.kind == "ref":
            source, kind = "#" + e.system.id, ' type="application/x-ssp-definition"'
        else:
            source = e.uri
            needs.add(source.split("#")[0].replace("%20", " "))
            kind = ' type="application/x-ssp-' + ("definition" if source.endswith(".ssd") and "#" not in source else "package") + '"'
        return f"<Component name={q(e.name)} source={q(source)}{kind}>{inside}{self.bindings(e.bindings, needs)}</Component>\n"

    def link(self, x):
        a, b = x.source, x.sink
        if self.r.random() < 0.5:
            a, b = b, a
        row = "<Connection"
        for end, (e, c) in (("start", a), ("end", b)):
            if e is not None:
                row += f" {end}Element={q(e.name)}"
            row += f" {end}Connector={q(c.name)}"
        if x.suppress:
            row += ' suppressUnitConversion="true"'
        return row + ">" + self.transform(x.transform) + "</Connection>\n"

    def transform(self, t):
        if t is None:
            return ""
        if t[0] == "lin":
            return f'<c:LinearTransformation factor="{text(t[1])}" offset="{text(t[2])}"/>'
        name = {"bool": "Boolean", "int": "Integer", "enum": "Enumeration"}[t[0]] + "MappingTransformation"
        show = (lambda v: str(v).lower()) if t[0] == "bool" else str
        rows = "".join(f"<c:MapEntry source={q(show(k))} target={q(show(v))}/>" for k, v in self.shuffled(t[1].items()))
        return f"<c:{name}>{rows}</c:{name}>"

    def bindings(self, bindings, needs):
        rows = ""
        for b in bindings:
            head = f" prefix={q(b.prefix)}" if b.prefix else ""
            inner = ""
            if b.file:
                needs.add(b.file)
                head += f' source="{b.file}"'
            else:
                inner += f"<ParameterValues>{self.parameter_set(b)}</ParameterValues>"
            if b.mapping_file:
                needs.add(b.mapping_file)
                inner += f'<ParameterMapping source="{b.mapping_file}"/>'
            elif b.mapping is not None:
                inner += f"<ParameterMapping>{self.mapping(b)}</ParameterMapping>"
            rows += f"<ParameterBinding{head}>{inner}</ParameterBinding>\n"
        return f"<ParameterBindings>{rows}</ParameterBindings>" if rows else ""

    def parameter_set(self, b, spaces=False):
        rows = ""
        for name, sig, value, unit, enum in b.values:
            if sig in "LVN":
                inner = f'<v:Real value="{text(value)}"' + (f" unit={q(unit)}" if unit is not None else "") + "/>"
            elif sig == "E":
                inner = f"<v:Enumeration value={q(value)}" + (f" name={q(enum)}" if enum is not None else "") + "/>"
            else:
                inner = f'<v:{"Boolean" if sig == "B" else "Integer"} value="{str(value).lower()}"/>'
            rows += f"<v:Parameter name={q(name)}>{inner}</v:Parameter>\n"
        head = " " + self.spaces() if spaces else ""
        return f'<v:ParameterSet version="1.0" name="set"{head}><v:Parameters>{rows}</v:Parameters>{self.enumerations(b.enums, "v:")}{self.units(b.units, "v:")}</v:ParameterSet>'

    def mapping(self, b, spaces=False):
        rows = ""
        for source, target, t, suppress in self.shuffled(b.mapping):
            rows += f"<m:MappingEntry source={q(source)} target={q(target)}" + (' suppressUnitConversion="true"' if suppress else "")
            rows += f">{self.transform(t)}</m:MappingEntry>\n"
        head = " " + self.spaces() if spaces else ""
        return f'<m:ParameterMapping version="1.0"{head}>{rows}</m:ParameterMapping>'

    def dictionary(self, d, spaces=False):
        rows = "".join(f"<b:DictionaryEntry name={q(c.name)}>{self.type(c)}</b:DictionaryEntry>\n" for c in self.shuffled(d.entries))
        head = " " + self.spaces() if spaces else ""
        return f'<b:SignalDictionary version="1.0"{head}>{rows}{self.enumerations(d.enums, "b:")}{self.units(d.units, "b:")}</b:SignalDictionary>'
