#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that code shown in documents is code that is compiled.

A document says `<!-- snippet: PATH NAME -->` before a fenced block; PATH has the lines of the block between
`// doc:begin NAME` and `// doc:end`. A C block without that line may show declarations: each of its lines stands in a
file of src/ or include/.

    check_snippets.py            prints what differs; exit 1 when there is something
    check_snippets.py --update   puts the regions into the documents
"""
import functools
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?:<!-- snippet: (\S+) (\S+) -->\n)?```c\n(.*?)```\n", re.S)


@functools.cache
def sources():
    return "\n".join(p.read_text() for folder in ("src", "include") for p in sorted((ROOT / folder).rglob("*.[ch]")))


def region(path, name):
    file = ROOT / path
    if not file.exists():
        return None
    pattern = rf"^[ \t]*// doc:begin {re.escape(name)}\n(.*?)^[ \t]*// doc:end\n"
    match = re.search(pattern, file.read_text(), re.S | re.M)
    return textwrap.dedent(match.group(1)) if match else None


def check(document, update):
    text = document.read_text()
    findings = []

    def judge(match):
        path, name, shown = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        place = f"{document.relative_to(ROOT)}:{line}"
        if path is None:
            strange = [row for row in shown.splitlines() if row.strip() and row.strip() not in sources()]
            findings.extend(f"{place}: neither a snippet nor a declaration in src or include: {row}" for row in strange)
            return match.group()
        wanted = region(path, name)
        if wanted is None:
            findings.append(f"{place}: there is no region {name} in {path}")
            return match.group()
        if wanted != shown and not update:
            findings.append(f"{place}: differs from region {name} of {path}; tools/check_snippets.py --update mends it")
        return f"<!-- snippet: {path} {name} -->\n```c\n{wanted}```\n"

    updated = BLOCK.sub(judge, text)
    if update and updated != text:
        document.write_text(updated)
    return findings, len(BLOCK.findall(text))


def main():
    update = sys.argv[1:] == ["--update"]
    findings, snippets = [], 0
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]:
        found, count = check(document, update)
        findings += found
        snippets += count
    print("\n".join(findings) if findings else f"{snippets} snippets are parts of compiled files")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
