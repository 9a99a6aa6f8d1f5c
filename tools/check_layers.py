#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the rules of src/README.md: who includes whom, where names of the FMI standard may occur,
how long a file may be, how it begins, that the name of a type stands in one file, and that a test left nothing in the root.

    check_layers.py [ROOT]      prints what is wrong as file:line: text; exit 1 when there is something
    check_layers.py --self-test
"""
import pathlib
import re
import sys
import tempfile

MAX_LINES = 800
SPDX = ("SPDX-FileCopyrightText:", "SPDX-License-Identifier: BSD-2-Clause")
FMI_ROOMS = ("fmi", "export")
FOLDERS = ("src", "include", "cli", "tests", "examples", "bench", "tools", "scripts", "cmake", "python", ".ci")
OTHER_FILES = ("CMakeLists.txt", "Makefile")
# the files of the root; what is beside them was left by a test that ran there
ROOT_FILES = {".git", ".clang-format", ".clang-tidy", ".gitignore", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md",
              "LICENSE", "Makefile", "README.md", "THIRD-PARTY.md", "compile_commands.json"}
SOURCES = (".c", ".h", ".py", ".sh", ".cmake", ".js", "")
LANGUAGE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# What the command includes beside public headers. The list becomes shorter, never longer: what the command needs belongs into
# a public header.
CLI_INTERNAL = """
assemble/assemble.h base/base.h base/guard.h base/loaded.h fmi/findings.h fmi/fmu.h fmi/open.h
format/csv.h format/file.h format/folder.h format/json.h format/mat4.h format/number.h format/scan.h format/source_loc.h
format/text.h format/yaml.h model/compiled.h model/timed.h numeric/klu.h system/definition.h
""".split()
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
TYPEDEF = re.compile(r"^typedef\b(?:[^;{]*\{(?:[^{}]|\{[^{}]*\})*\})?[^;]*;", re.M)
FMI_NAME = re.compile(r"\bfmi[23]\w*", re.I)


def read_table(text):
    """The rooms in their order, and the room of every public header."""
    rooms, headers = [], {}
    for name, public in re.findall(r"^\| `(\w+)` \| ([^|]*)\|", text, re.M):
        rooms.append(name)
        headers.update({header: name for header in re.findall(r"[\w.]+\.h", public)})
    return rooms, headers


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_texts(text):
    """Comments and literals become blanks, line breaks stay."""
    return LANGUAGE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def typedef_name(text):
    """The name that a typedef gives."""
    text = re.sub(r"\{.*\}", " ", text, flags=re.S)
    function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", text)
    return function[1] if function else re.findall(r"\w+", re.sub(r"\(.*\)|\[.*?\]", "", text, flags=re.S))[-1]


class Checker:
    def __init__(self, root):
        self.root = root
        self.findings = []
        self.types = {}  # name: the file that has its typedef
        self.cli_internal = set()  # headers of rooms that the command includes
        self.rooms, self.headers = read_table((root / "src/README.md").read_text())
        self.order = {room: i for i, room in enumerate(self.rooms)}

    def report(self, path, line, text):
        self.findings.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def room_of(self, path):
        """The room of a source; None for cli, tests, examples."""
        parts = path.relative_to(self.root).parts
        if parts[0] == "src" and len(parts) > 2:
            return parts[1]
        if parts[:2] == ("include", "couplet"):
            return self.headers.get(parts[2])
        return None

    def target_room(self, path, name):
        """The room of an included file; None for parts of others."""
        first, _, rest = name.partition("/")
        if first == "couplet":
            if rest == "couplet.h":
                return self.rooms[-1]
            if rest not in self.headers:
                return "?"
            return self.headers[rest]
        if first in self.order and rest:
            return first
        if (path.parent / name).exists():
            return self.room_of((path.parent / name).resolve())
        return None

    def check_includes(self, path, text):
        room = self.room_of(path)
        if room is None:
            self.check_outside(path, text)
            return
        if room not in self.order:
            self.report(path, 1, f"room {room} is not in the table of src/README.md")
            return
        for match in INCLUDE.finditer(text):
            line, name = line_of(text, match.start()), match.group(2)
            target = self.target_room(path, name)
            if target == "?":
                self.report(path, line, f"{name} is not in the table of src/README.md")
            elif target is not None and self.order[target] > self.order[room]:
                self.report(path, line, f"{room} may not include {target} ({name})")
            if re.match(r"fmi[23]", name.rpartition("/")[2], re.I) and room not in FMI_ROOMS:
                self.report(path, line, f"{name}: a header of FMI in {room}")

    def check_outside(self, path, text):
        parts = path.relative_to(self.root).parts
        if parts[:2] == ("include", "couplet") and parts[2] != "couplet.h":
            self.report(path, 1, "this header is not in the table of src/README.md")
        if parts[0] == "cli":
            self.check_command(path, text)
        if parts[0] == "python":
            self.check_extension(path, text)
        if parts[0] != "examples":
            return
        for match in INCLUDE.finditer(text):
            name = match.group(2)
            if name.startswith("couplet/") and name != "couplet/model.h":
                self.report(path, line_of(text, match.start()), "a model includes couplet/model.h only")

    def check_command(self, path, text):
        for match in INCLUDE.finditer(text):
            name = match.group(2)
            if match.group(1) == "<" or "/" not in name or name.startswith("couplet/"):
                continue
            self.cli_internal.add(name)
            if name not in CLI_INTERNAL:
                self.report(path, line_of(text, match.start()), f"the command includes public headers, not {name}")

    def check_extension(self, path, text):
        for match in INCLUDE.finditer(text):
            name = match.group(2)
            if match.group(1) == '"' and "/" in name and not name.startswith("couplet/"):
                self.report(path, line_of(text, match.start()), f"the extension includes public headers, not {name}")

    def check_names(self, path, text):
        parts = path.relative_to(self.root).parts
        if parts[0] not in ("src", "include", "cli") or self.room_of(path) in FMI_ROOMS and parts[0] == "src":
            return
        for match in FMI_NAME.finditer(without_texts(text)):
            self.report(path, line_of(text, match.start()), f"{match.group()}: a name of FMI outside fmi and export")

    def check_types(self, path, text):
        """A type that other files can see has one name, in one file; also where it is only announced."""
        if path.relative_to(self.root).parts[0] not in ("src", "include", "cli"):
            return
        for match in TYPEDEF.finditer(without_texts(text)):
            name = typedef_name(match.group())
            if path.suffix == ".c" and not name.startswith("cpl"):
                continue
            first = self.types.setdefault(name, path)
            if first != path:
                self.report(path, line_of(text, match.start()), f"{name} is a type of {first.relative_to(self.root)}, too")

    def check_head(self, path, lines):
        """What a file is for stands directly below the SPDX lines."""
        if path.relative_to(self.root).parts[0] in ("src", "include", "cli", "python"):
            if len(lines) < 4 or lines[2] != "//" or not lines[3].startswith("// "):
                self.report(path, 3, "a comment that says what the file is for belongs below the SPDX lines")

    def check_file(self, path):
        text = path.read_text(errors="replace")
        lines = text.splitlines()
        if not path.suffix and not text.startswith("#!") and path.name not in OTHER_FILES:
            return
        if path.suffix != ".json" and not all(any(tag in line for line in lines[:3]) for tag in SPDX):
            self.report(path, 1, "does not begin with the two SPDX lines")
        if len(lines) > MAX_LINES:
            self.report(path, len(lines), f"{len(lines)} lines are more than {MAX_LINES}")
        if path.suffix in (".c", ".h"):
            self.check_includes(path, text)
            self.check_names(path, text)
            self.check_types(path, text)
            self.check_head(path, lines)

    def check_root(self):
        for path in sorted(p for p in self.root.iterdir() if p.is_file() and p.name not in ROOT_FILES):
            self.report(path, 1, "does not belong into the root: left by a test?")

    def check_tree(self, whole=True):
        self.check_root()
        files = [self.root / name for name in OTHER_FILES if (self.root / name).exists()]
        for folder in FOLDERS:
            files += [p for p in (self.root / folder).rglob("*") if p.is_file() and
                      (p.suffix in SOURCES or p.name == "CMakeLists.txt") and "__pycache__" not in p.parts]
        for path in sorted(files):
            self.check_file(path)
        for name in sorted(set(CLI_INTERNAL) - self.cli_internal if whole else []):
            self.report(self.root / "tools/check_layers.py", 1, f"CLI_INTERNAL: the command no longer includes {name}")
        return len(files)


def self_test(root):
    """Every rule finds a file that breaks it."""
    spdx = "// SPDX-FileCopyrightText: x\n// SPDX-License-Identifier: BSD-2-Clause\n"
    head = spdx + "//\n// For the test.\n"
    cases = {
        "src/graph/up.c": (head + '#include "solver/solver.h"\n', "graph may not include solver"),
        "src/base/up.c": (head + '#include "couplet/model.h"\n', "base may not include model"),
        "src/model/all.c": (head + '#include "couplet/couplet.h"\n', "model may not include export"),
        "src/cellar/a.c": (head, "room cellar is not in the table"),
        "src/run/name.c": (head + "int x = fmi2True;  // fmi2 here is fine\n", "fmi2True: a name of FMI"),
        "src/run/head.c": (head + '#include "fmi/fmi2_calls.h"\n', "a header of FMI in run"),
        "src/run/long.c": (head + "\n" * 800, "804 lines are more than 800"),
        "include/couplet/new.h": (head, "this header is not in the table"),
        "tests/bare.c": ("int x;\n", "does not begin with the two SPDX lines"),
        "src/run/mute.c": (spdx + "int x;\n", "a comment that says what the file is for"),
        "src/graph/a.h": (head + "typedef struct cpli_x {\n  int (*f)(int);\n} cpli_x;\ntypedef struct a a;\n", None),
        "src/run/b.c": (head + "typedef struct cpli_x cpli_x;\n", "cpli_x is a type of src/graph/a.h, too"),
        "src/run/c.c": (head + "typedef struct a a;\n", None),
        "cli/deep.c": (head + '#include "solver/solver.h"\n', "the command includes public headers"),
        "python/src/deep.c": (head + '#include "solver/solver.h"\n', "the extension includes public headers"),
        "examples/a/a.c": (head + "#include <couplet/run.h>\n", "a model includes couplet/model.h only"),
        "left.csv": ("time,x\n", "does not belong into the root"),
        "src/view/good.c": (head + '#include "base/base.h"\n// fmi2Real\nchar* s = "fmi3";\n', None),
    }
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder).resolve()
        for name, (text, _) in cases.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        (tree / "src/README.md").write_text((root / "src/README.md").read_text())
        checker = Checker(tree)
        checker.check_tree(whole=False)
    for name, (_, wanted) in cases.items():
        found = [f for f in checker.findings if f.startswith(name + ":")]
        if len(found) != (wanted is not None) or (wanted and wanted not in found[0]):
            sys.exit(f"{name}: expected {wanted!r}, found {found}")
    print(f"{len(cases)} cases are judged right")


def main():
    args = sys.argv[1:]
    root = pathlib.Path(__file__).resolve().parent.parent
    if args == ["--self-test"]:
        return self_test(root)
    checker = Checker(pathlib.Path(args[0]).resolve() if args else root)
    n_files = checker.check_tree()
    print("\n".join(checker.findings) if checker.findings else f"{n_files} files keep the rules of src/README.md")
    sys.exit(1 if checker.findings else 0)


if __name__ == "__main__":
    main()
