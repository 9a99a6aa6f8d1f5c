# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The functions of FMPy over couplet: a script changes its import.

>>> from couplet.compat.fmpy import simulate_fmu  # doctest: +SKIP
>>> result = simulate_fmu("pump.fmu", stop_time=2)  # doctest: +SKIP

Modules have the names of FMPy's: ``model_description``, ``simulation``, ``util``, ``validation``,
``fmi1``, ``fmi2`` and ``fmi3``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from os import PathLike
from pathlib import Path
from platform import machine
from typing import Callable, Optional, Sequence, Union

from ..._core import __version__ as __version__
from .model_description import Source

if sys.platform.startswith("linux"):
    platform, system, sharedLibraryExtension = "linux", "linux", ".so"
elif sys.platform == "darwin":
    platform, system, sharedLibraryExtension = "darwin", "darwin", ".dylib"
else:
    platform, system, sharedLibraryExtension = "win", "windows", ".dll"

_is_64_bit = sys.maxsize > 2**32
architecture = (
    "aarch64"
    if machine().lower() in ("aarch64", "arm64")
    else "x86_64"
    if _is_64_bit
    else "x86"
)
#: the platform as folders of FMI 1.0 and 2.0 are named: "linux64"
platform += "64" if _is_64_bit else "32"
#: the platform as folders of FMI 3.0 are named: "x86_64-linux"
platform_tuple = f"{architecture}-{system}"

# (platform, folders below binaries, ending)
_PLATFORMS = (
    ("darwin64", ("darwin64", "aarch64-darwin", "x86_64-darwin"), ".dylib"),
    ("linux32", ("linux32", "i686-linux"), ".so"),
    ("linux64", ("linux64", "x86_64-linux"), ".so"),
    ("win32", ("win32", "x86-windows"), ".dll"),
    ("win64", ("win64", "x86_64-windows"), ".dll"),
)


def _names_in(filename: Source) -> list[str]:
    if isinstance(filename, (str, PathLike)) and os.path.isdir(filename):
        root = Path(filename)
        return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    with zipfile.ZipFile(filename) as archive:
        return archive.namelist()


def supported_platforms(filename: Source) -> list[str]:
    """The platforms of an FMU, which is not extracted: "c-code", "linux64", ..."""
    names = [os.path.split(name) for name in _names_in(filename)]
    platforms = []
    if any(folder == "sources" and name.endswith(".c") for folder, name in names):
        platforms.append("c-code")
    for platform_name, folders, ending in _PLATFORMS:
        below = {"binaries/" + folder for folder in folders}
        if any(folder in below and name.endswith(ending) for folder, name in names):
            platforms.append(platform_name)
    return platforms


def fmi_info(filename: Source) -> tuple[str, list[str]]:
    """The version of FMI of an FMU, and its types: "ModelExchange", "CoSimulation"."""
    from ._xml import parse, read_bytes

    root = parse(read_bytes(filename, "modelDescription.xml") or b"")
    version = str(root.get("fmiVersion"))
    if version == "1.0":
        kind = "ModelExchange" if root.find("Implementation") is None else "CoSimulation"
        return version, [kind]
    if version != "2.0":
        raise Exception(f"Unsupported FMI version {version}")
    return version, [k for k in ("ModelExchange", "CoSimulation") if root.find(k) is not None]


def extract(
    filename: Union[str, PathLike[str]],
    unzipdir: Union[str, PathLike[str], None] = None,
    include: Optional[Callable[[str], bool]] = None,
) -> Path:
    """Extract an FMU to a folder, or to a new temporary one, and return its path.

    include: a function that selects the files by their names.
    """
    with zipfile.ZipFile(filename) as archive:
        names = archive.namelist()
        for entry in archive.infolist():
            name = entry.orig_filename
            if "\\" in name:
                raise Exception(
                    f"Illegal path {name} found in {filename}. All slashes must be forward "
                    "slashes."
                )
            if ":" in name or name.startswith("/"):
                raise Exception(
                    f"Illegal path {name} found in {filename}. The path must not contain a drive "
                    "or device letter, or a leading slash."
                )
        folder = Path(tempfile.mkdtemp() if unzipdir is None else unzipdir)
        archive.extractall(folder, members=[n for n in names if include is None or include(n)])
    return folder


def dump(filename: Source, causalities: Sequence[str] = ("input", "output")) -> None:
    """Print a summary of an FMU and its variables of these causalities."""
    from .util import fmu_info

    print(fmu_info(filename, causalities))


from .model_description import read_model_description as read_model_description  # noqa: E402
from .simulation import instantiate_fmu as instantiate_fmu  # noqa: E402
from .simulation import simulate_fmu as simulate_fmu  # noqa: E402
from .util import plot_result as plot_result  # noqa: E402
from .util import read_csv as read_csv  # noqa: E402
from .util import write_csv as write_csv  # noqa: E402
