#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Does what a document tells its reader to do.

    check_readme.py COUPLET DOCUMENT...

Blocks of ```sh after `<!-- test -->` are run one after the other by one shell in an empty folder that has
examples/ in it, with COUPLET in the path; each command must succeed. A block of ```text right behind one must equal
what it printed; "..." in it stands for anything.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- test -->\n```sh\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)


def fits(wanted, printed):
    pattern = ".*?".join(re.escape(part) for part in wanted.split("..."))
    return re.fullmatch(pattern, printed, re.S) is not None


def run_blocks(document, couplet, folder):
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "bin").mkdir()
    (folder / "bin/couplet").symlink_to(couplet)
    environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", XDG_CACHE_HOME=f"{folder}/cache")
    findings, blocks = [], BLOCK.findall(document.read_text())
    for commands, wanted in blocks:
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, env=environment, text=True, timeout=100,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            return findings + [f"{document.name}: this failed:\n{commands}{done.stdout}"], len(blocks)
        if wanted and not fits(wanted, done.stdout):
            findings.append(f"{document.name}: this\n{commands}printed\n{done.stdout}instead of\n{wanted}")
    return findings, len(blocks)


def main():
    couplet, documents = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    findings, count = [], 0
    for name in documents:
        document = ROOT / name
        with tempfile.TemporaryDirectory() as folder:
            found, blocks = run_blocks(document, couplet, pathlib.Path(folder))
        findings += found
        count += blocks
    print("\n".join(findings) if findings else f"{count} blocks do what they say")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
