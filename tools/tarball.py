#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a relocatable archive of an installed couplet, with the shared libraries it needs, and tries it.

    tarball.py STAGE FOLDER      STAGE is what cmake --install has made; the archive is FOLDER/couplet-VERSION-linux-...tar.xz
    tarball.py --try ARCHIVE     unpacks an archive and tries it

The same input gives the same bytes.
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

import shared_libraries as shared

ROOT = shared.ROOT
BUNDLED = "lib/bundled"


def assemble(stage, folder):
    """Lays the files of the archive out in a folder."""
    shutil.copytree(stage, folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "python3*"))
    (folder / "python").mkdir()
    package = folder / "python" / "couplet"
    shutil.copytree(next(stage.glob("lib/python3*/*-packages/couplet")), package, symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__"))
    (package / "lib" / "couplet").unlink()
    (package / "lib" / "couplet").symlink_to("../../../lib/couplet")
    for name in ("libcouplet.a", "couplet/libcouplet_fmu.a", "couplet/fmu_runtime.o"):
        shared.output("strip", "--strip-debug", "--enable-deterministic-archives", folder / "lib" / name)

    files = {folder / "bin/couplet": f"$ORIGIN/../{BUNDLED}",
             (folder / "lib/libcouplet.so").resolve(): "$ORIGIN/bundled",
             package / "_core.abi3.so": f"$ORIGIN/../../{BUNDLED}"}
    libraries = shared.Libraries(files)
    libraries.copy(folder / BUNDLED)
    for file, rpath in files.items():
        shared.output("strip", "--strip-unneeded", file)
        libraries.relink(file, rpath)
    shared.check(files, folder / BUNDLED)
    shared.copy_licences(libraries, folder / "share/doc/couplet/licenses/libraries")
    shutil.copyfile(ROOT / "docs" / "installing.md", folder / "share/doc/couplet/installing.md")


def normal(entry):
    """Properties that do not depend on the builder."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def write(folder, archive):
    with tarfile.open(archive, "w:xz", preset=6, format=tarfile.PAX_FORMAT) as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            tar.add(path, path.relative_to(folder.parent).as_posix(), recursive=False, filter=normal)


def try_archive(archive):
    """Unpacks it in a folder that nobody expects, and tries the command and the module."""
    with tempfile.TemporaryDirectory(suffix=" with blanks") as folder:
        shared.output("tar", "-xJf", archive, "-C", folder)
        top = next(pathlib.Path(folder).iterdir())
        environment = {"PATH": f"{top}/bin:{os.environ['PATH']}", "PYTHONPATH": str(top / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(["/usr/bin/python3", str(ROOT / "packaging" / "try_package.py"), str(ROOT), "--bundled", str(top)],
                              env=environment)
        if done.returncode != 0:
            raise shared.PackagingError(f"{archive} does not work")


def main(stage, target):
    name = f"couplet-{shared.version()}-linux-{platform.machine()}"
    archive = target / f"{name}.tar.xz"
    for old in target.glob("couplet-*.tar.xz"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        assemble(stage, pathlib.Path(folder) / name)
        write(pathlib.Path(folder) / name, archive)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if not path.is_symlink())
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {size / 1e6:.1f} MB unpacked")
    try_archive(archive)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        if sys.argv[1] == "--try":
            try_archive(pathlib.Path(sys.argv[2]))
        else:
            main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    except shared.PackagingError as error:
        sys.exit(f"tarball.py: {error}")
