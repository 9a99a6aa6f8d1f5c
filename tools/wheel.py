#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a wheel of an installed couplet: the package of Python, the command, and the shared libraries they need.

    wheel.py STAGE FOLDER      STAGE is what cmake --install has made; the wheel is FOLDER/couplet-VERSION-...whl

The same input gives the same bytes. One wheel serves CPython 3.11 and later, on systems with the glibc of this machine
or a later one.
"""
import base64
import hashlib
import pathlib
import platform
import re
import shutil
import sys
import tempfile
import zipfile

import shared_libraries as shared

ROOT = shared.ROOT
SCRIPT = """#!python
# Replaces itself by the command that is inside the package; does not import the package, to start faster.
import os
import sys

for folder in sys.path:
    command = os.path.join(folder, "couplet", "bin", "couplet")
    if os.access(command, os.X_OK):
        os.execv(command, ["couplet", *sys.argv[1:]])
sys.exit("couplet: the package couplet is not installed for " + sys.executable)
"""


def tag():
    major, minor = shared.glibc_version()
    return f"cp311-abi3-manylinux_{major}_{minor}_{platform.machine()}"


def metadata(version):
    readme = (ROOT / "README.md").read_text()
    about = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", readme.split("\n\n")[1])
    return f"""Metadata-Version: 2.1
Name: couplet
Version: {version}
Summary: Couples simulation models (FMUs, models in C, whole systems) and simulates the whole
License: BSD-2-Clause
Requires-Python: >=3.11
Requires-Dist: numpy
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering
Description-Content-Type: text/markdown

{about}
"""


def assemble(stage, folder, version):
    """Lays the files of the wheel out in a folder."""
    package = folder / "couplet"
    shutil.copytree(next(stage.glob("lib/python3*/*-packages/couplet")), package, symlinks=False,
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(package / "lib")
    shutil.copytree(stage / "lib" / "couplet", package / "lib" / "couplet")
    for file in [package / "lib/couplet/libcouplet_fmu.a", package / "lib/couplet/fmu_runtime.o"]:
        shared.output("strip", "--strip-debug", "--enable-deterministic-archives", file)
    (package / "bin").mkdir()
    command, core = package / "bin" / "couplet", package / "_core.abi3.so"
    shutil.copyfile(stage / "bin" / "couplet", command)

    libraries = shared.Libraries([core, command])
    libraries.copy(package / "libs")
    for file, rpath in ((core, "$ORIGIN/libs"), (command, "$ORIGIN/../libs")):
        file.chmod(0o755)
        shared.output("strip", "--strip-unneeded", file)
        libraries.relink(file, rpath)
    shared.check([core, command], package / "libs")

    info = folder / f"couplet-{version}.dist-info"
    shutil.copytree(stage / "share/doc/couplet/licenses", info / "licenses")
    shared.copy_licences(libraries, info / "licenses" / "libraries")
    shutil.copyfile(ROOT / "LICENSE", info / "licenses" / "LICENSE")
    shutil.copyfile(ROOT / "THIRD-PARTY.md", info / "licenses" / "THIRD-PARTY.md")
    (info / "METADATA").write_text(metadata(version))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: couplet ({version})\nRoot-Is-Purelib: false\nTag: {tag()}\n")
    scripts = folder / f"couplet-{version}.data" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "couplet").write_text(SCRIPT)
    (scripts / "couplet").chmod(0o755)


def write(folder, wheel, version):
    """Zips the folder, with RECORD as the last file and times that do not change."""
    record_name = f"couplet-{version}.dist-info/RECORD"
    files = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    files.sort(key=lambda file: ".dist-info/" in file[0])
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(name, data, executable):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        for name, path in files:
            data = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record += f"{name},sha256={digest},{len(data)}\n"
            add(name, data, path.stat().st_mode & 0o100)
        add(record_name, record + f"{record_name},,\n", False)


def main(stage, target):
    version = shared.version()
    wheel = target / f"couplet-{version}-{tag()}.whl"
    for old in target.glob("couplet-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        assemble(stage, pathlib.Path(folder), version)
        write(pathlib.Path(folder), wheel, version)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*"))
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, {size / 1e6:.1f} MB installed")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    except shared.PackagingError as error:
        sys.exit(f"wheel.py: {error}")
