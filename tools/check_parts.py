#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Compares THIRD-PARTY.md with what is linked into couplet, what it loads and what its pages are made of.

    check_parts.py BUILD        prints what is wrong; exit 1 when there is something
"""
import json
import pathlib
import re
import subprocess
import sys

import shared_libraries

ROOT = pathlib.Path(__file__).resolve().parent.parent
C_LIBRARY = {"libc", "libm", "libdl", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64", "libgcc_s"}
SYMBOLS = {"SUNDIALS": "CVode", "Duktape": "duk_create_heap"}  # functions that tell that a part is linked
FOREIGN = {"KLU": "klu_", "ZeroMQ": "zmq_", "zlib": "inflateInit", "Expat": "XML_Parse", "libfyaml": "fy_parser"}


def table():
    rows = {}
    for line in (ROOT / "THIRD-PARTY.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 5 and cells[0] not in ("part", "---"):
            rows[cells[0]] = dict(zip(("version", "licence", "how"), cells[1:4]))
    return rows


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def library(soname):
    return re.sub(r"\.so.*", "", soname)


def defined(file):
    return {line.split()[-1] for line in output("nm", "--defined-only", file).splitlines() if len(line.split()) == 3}


def check(build):
    rows, findings = table(), []
    by_library = {match.group(2): (name, match.group(1)) for name, row in rows.items()
                  if (match := re.search(r"(shared|on demand|from the system) \((\w+)\)", row["how"]))}
    binaries = [build / "couplet", build / "libcouplet.so"]

    for file in binaries:
        for soname in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", file)):
            name = library(soname)
            if name not in C_LIBRARY and by_library.get(name, ("", ""))[1] != "shared":
                findings.append(f"{file.name} needs {soname}, which is no shared part of THIRD-PARTY.md")
    needed = output("readelf", "-d", binaries[0])
    for name, (part, how) in by_library.items():
        if how == "shared" and name + ".so" not in needed:
            findings.append(f"{part} is said to be shared, but couplet does not need {name}")

    symbols = defined(binaries[0])
    for part, symbol in SYMBOLS.items():
        if part not in rows or not rows[part]["how"].startswith("linked"):
            findings.append(f"{part} is no linked part of THIRD-PARTY.md")
        if symbol not in symbols:
            findings.append(f"{part} is said to be linked, but {symbol} is not in couplet")
    for part, prefix in FOREIGN.items():
        inside = sorted(s for s in symbols if s.startswith(prefix))
        if inside:
            findings.append(f"{part} must not be linked, but {inside[0]} is in couplet")

    sources = "".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.c")))
    for name in set(re.findall(r'"(lib\w+)\.so\.', sources)):
        if name not in C_LIBRARY and by_library.get(name, ("", ""))[1] not in ("on demand", "from the system"):
            findings.append(f"src loads {name}, which is no part of THIRD-PARTY.md that is loaded on demand")

    bundled = {shared_libraries.plain_name(name) for name in shared_libraries.Libraries([binaries[0]]).paths}
    said = shared_libraries.listed_parts()
    findings += [f"wheel and archive contain {name}, which is not in THIRD-PARTY.md" for name in sorted(bundled - said)]
    findings += [f"THIRD-PARTY.md says that wheel and archive contain {name}; they do not" for name in sorted(said - bundled)]

    packages = json.loads((ROOT / "scripts/npm/package.json").read_text())["dependencies"]
    listed = {name.lower(): row["version"] for name, row in rows.items()
              if row["how"] == "page" or name == "playwright-core"}
    if packages != listed:
        findings.append(f"packages of npm are {packages}, THIRD-PARTY.md says {listed}")
    if f"sundials_version={rows['SUNDIALS']['version']}\n" not in (ROOT / "scripts/setup").read_text():
        findings.append("scripts/setup builds another version of SUNDIALS than THIRD-PARTY.md says")
    return findings


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong = check(pathlib.Path(sys.argv[1]))
    print("\n".join(wrong) if wrong else "THIRD-PARTY.md is what is linked")
    sys.exit(1 if wrong else 0)
