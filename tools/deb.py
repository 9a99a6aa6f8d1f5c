#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the Debian packages in a copy of the source tree, with the files of packaging/debian, and checks them with lintian.

    deb.py FOLDER      the packages become FOLDER/*.deb

DEBFULLNAME and DEBEMAIL name the maintainer; whoever publishes the packages sets them. The packages use the
SUNDIALS, Duktape and pages of scripts/setup.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import shared_libraries as shared

ROOT = shared.ROOT
DEPS = pathlib.Path(os.environ.get("COUPLET_DEPS", ROOT / ".deps"))


def maintainer():
    return f"{os.environ.get('DEBFULLNAME', 'the couplet developers')} <{os.environ.get('DEBEMAIL', 'couplet@example.org')}>"


def date(form):
    """The date of the last commit."""
    return shared.output("git", "-C", ROOT, "log", "-1", f"--format={form}").strip()


def changelog(version):
    """The entries of CHANGELOG.md for the version, in Debian's form."""
    text = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(), re.M | re.S)[1]
    lines = []
    for title, items in re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", text, re.M | re.S):
        lines += ["", f"  [ {title} ]"]
        for item in re.findall(r"^- (.*?)(?=^- |\Z)", items, re.M | re.S):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(item.split()))
            lines += textwrap.wrap(plain, 78, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False)
    return f"couplet ({version}) unstable; urgency=medium\n" + "\n".join(lines) + f"\n\n -- {maintainer()}  {date('%aD')}\n"


def field(path):
    """The text of a licence as a field of debian/copyright."""
    file = DEPS / path.removeprefix(".deps/") if path.startswith(".deps/") else ROOT / path
    return "\n".join(" " + line.rstrip() if line.strip() else " ." for line in file.read_text().strip().splitlines())


def copy_tree(target, version):
    """The tracked files, with packaging/debian as debian and its texts filled in."""
    for name in shared.output("git", "-C", ROOT, "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    debian = target / "debian"
    shutil.copytree(ROOT / "packaging" / "debian", debian)
    control = (debian / "control").read_text()
    (debian / "control").write_text(control.replace("@MAINTAINER@", maintainer()))
    notices = (debian / "copyright").read_text()
    (debian / "copyright").write_text(re.sub(r"^@TEXT (.*)@$", lambda match: field(match[1]), notices, flags=re.M))
    (debian / "changelog").write_text(changelog(version))


def build(tree):
    environment = {**os.environ, "COUPLET_DEPS": str(DEPS.resolve()), "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": date("%at")}
    with open(tree.parent / "build.log", "w") as log:
        # -d: scripts/setup has installed what is needed, not always as a package
        done = subprocess.run(["dpkg-buildpackage", "-b", "-uc", "-us", "-d", f"-j{os.cpu_count()}"], cwd=tree,
                              stdout=log, stderr=subprocess.STDOUT, env=environment)
    if done.returncode != 0:
        last = (tree.parent / "build.log").read_text().splitlines()[-30:]
        raise shared.PackagingError("\n".join(last) + f"\ndpkg-buildpackage failed; the log is {tree.parent}/build.log")


def main(folder):
    version = shared.version()
    work = folder / "deb"
    shutil.rmtree(work, ignore_errors=True)
    for old in folder.glob("*.deb"):
        old.unlink()
    tree = work / f"couplet-{version}"
    copy_tree(tree, version)
    build(tree)
    changes = next(work.glob("*.changes"))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", str(changes)])
    if done.returncode != 0:
        raise shared.PackagingError("lintian has findings")
    print("lintian: neither errors nor warnings")
    for package in sorted(work.glob("*.deb")):
        print(f"{shutil.copy2(package, folder)}: {package.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]).resolve())
    except shared.PackagingError as error:
        sys.exit(f"deb.py: {error}")
