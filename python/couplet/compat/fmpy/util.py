# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Files, tables and plots, with the functions of fmpy.util."""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import shutil
import tempfile
import zipfile
from os import PathLike
from typing import IO, Any, Iterable, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from .model_description import ModelVariable, Source

Path = Union[str, "PathLike[str]"]
Table = npt.NDArray[Any]


#------------------------------------ tables ------------------------------------


def read_csv(filename: Path, variable_names: Optional[list[str]] = None) -> Table:
    """Read a CSV file: names in the first line, then numbers; elements of arrays are separated by
    spaces. Returns a structured array."""
    with open(filename) as file:
        lines = [line.rstrip().split(",") for line in file]
    columns: list[tuple[Any, ...]] = []
    for name, first in zip(lines[0], lines[1]):
        size = len(first.split(" "))
        name = name.strip('"')
        columns.append((name, np.float64, (size,)) if size > 1 else (name, np.float64))

    def value(text: str) -> Union[float, tuple[float, ...]]:
        return tuple(map(float, text.split(" "))) if " " in text else float(text)

    rows = [tuple(map(value, line)) for line in lines[1:]]
    table = np.array(rows, dtype=np.dtype(columns))
    return table if variable_names is None else table[["time", *variable_names]]


def write_csv(filename: Path, result: Table, columns: Optional[list[str]] = None) -> None:
    """Write a structured array to a CSV file, with all columns or with the time and these."""
    if columns is not None:
        result = result[["time", *columns]]
    names = result.dtype.names or ()

    def text(value: Any) -> str:
        if isinstance(value, np.ndarray):
            return " ".join(f"{v:.16g}" for v in value.flatten())
        return str(value)

    with open(filename, "w") as file:
        file.write(",".join(f'"{name}"' for name in names) + "\n")
        for row in result:
            file.write(",".join(text(row[name]) for name in names) + "\n")


def read_ref_opt_file(filename: Path) -> dict[str, float]:
    """Read the options of a reference result: StepSize, StartTime, StopTime, RelTol."""
    with open(filename) as file:
        pairs = [line.split(",") for line in file]
    options = {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}
    for name in ("StepSize", "StartTime", "StopTime", "RelTol"):
        if name not in options:
            raise Exception(f"Missing element '{name}'")
    length = options["StopTime"] - options["StartTime"]
    if length <= 0:
        raise Exception("StartTime must be < StopTime")
    if not 0 <= options["StepSize"] <= length:
        raise Exception("StepSize must be >= 0 and <= (StopTime - StartTime)")
    return options


#------------------------------------ comparison ------------------------------------


def _envelope(y: Table, size: int, upper: bool) -> Table:
    """The largest or smallest value in a window around each sample."""
    padded = np.pad(y, (size // 2, size - size // 2 - 1), mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)
    return np.asarray(windows.max(axis=1) if upper else windows.min(axis=1))


def validate_signal(
    t: Table,
    y: Table,
    t_ref: Table,
    y_ref: Table,
    num: int = 1000,
    dx: int = 20,
    dy: float = 0.1,
) -> tuple[Table, Table, Table, Table]:
    """Compare y(t) with a band around y_ref(t_ref).

    The band has num samples, is dx samples wide, and extends by dy, relative to the range of y_ref.
    Returns its times, its limits, and which values of y are outside.
    """
    t_ref = np.array(t_ref, dtype=float)
    for i in range(1, len(t_ref)):  # an event has two rows
        if t_ref[i] <= t_ref[i - 1]:
            t_ref[i] = t_ref[i - 1] + 1e-13
    t_band = np.linspace(t_ref[0], t_ref[-1], num)
    if y.dtype == np.float64:
        y_band = np.interp(t_band, t_ref, y_ref)
    else:
        y_band = np.asarray(y_ref)[np.searchsorted(t_ref, t_band, side="right") - 1]
    low, high = float(np.min(y_band)), float(np.max(y_band))
    width = (high - low) * dy
    if low == high:
        width = 0.5 if low == 0 else abs(low) * dy
    y_min = _envelope(y_band, dx, False) - width
    y_max = _envelope(y_band, dx, True) + width
    outside = (y < np.interp(t, t_band, y_min)) | (y > np.interp(t, t_band, y_max))
    return t_band, y_min, y_max, outside & (t > t_band[0]) & (t < t_band[-1])


def validate_result(result: Table, reference: Table, stop_time: Optional[float] = None) -> float:
    """Compare all signals of a result with those of a reference.

    Returns the largest share of samples of a signal outside of a band around the reference.
    """
    names = result.dtype.names or ()
    known = reference.dtype.names or ()
    t = result[names[0]]
    if result.size < 2 or (stop_time is not None and t[-1] < stop_time):
        return 1
    worst = 0.0
    for name in names[1:]:
        if name in known:
            out = validate_signal(t, result[name], reference[known[0]], reference[name])[3]
            worst = max(worst, float(np.sum(out)) / len(out))
    return worst


#------------------------------------ plot ------------------------------------


def plot_result(
    result: Table,
    reference: Optional[Table] = None,
    names: Optional[Iterable[str]] = None,
    filename: Optional[Path] = None,
    window_title: Optional[str] = None,
    events: bool = False,
    markers: bool = False,
    height: Optional[int] = None,
) -> None:
    """Plot the columns of a result over time with matplotlib, one below the other.

    filename: save the figure there instead of showing it. height: of the figure, in pixels.
    """
    pyplot: Any = importlib.import_module("matplotlib.pyplot")  # with or without types

    time = result["time"]
    names = list((result.dtype.names or ())[1:20] if names is None else names)
    curves = [(name, index) for name in names for index in np.ndindex(result[name].shape[1:])]
    size = (8.0, height / 100 if height else max(2.5, 1.6 * len(curves)))
    figure, axes = pyplot.subplots(len(curves), sharex=True, squeeze=False, figsize=size)
    units = _units_of(getattr(result, "modelDescription", None))
    for axis, (name, index) in zip(axes[:, 0], curves):
        y = _element(result[name], index)
        style = {} if y.dtype.kind == "f" else {"drawstyle": "steps-post"}
        axis.plot(time, y, marker="." if markers else None, linewidth=1, **style)
        if reference is not None and name in (reference.dtype.names or ()):
            other = _element(reference[name], index)
            axis.plot(reference["time"], other, linestyle="--", linewidth=1)
        for t in time[1:][np.diff(time) == 0] if events else ():
            axis.axvline(t, color="#fbe424", linewidth=1)
        label = name + (f"[{','.join(map(str, index))}]" if index else "")
        axis.set_ylabel(f"{label} [{units[name]}]" if units.get(name) else label)
    axes[-1, 0].set_xlabel("time [s]")
    if window_title and figure.canvas.manager is not None:
        figure.canvas.manager.set_window_title(window_title)
    if filename is None:
        pyplot.show()
    else:
        figure.savefig(filename)
        pyplot.close(figure)


def _element(values: Any, index: tuple[int, ...]) -> Any:
    return values[(slice(None), *index)]


def _units_of(description: Any) -> dict[str, Optional[str]]:
    variables: list[ModelVariable] = description.modelVariables if description is not None else []
    return {v.name: v.unit or (v.declaredType.unit if v.declaredType else None) for v in variables}


#------------------------------------ FMUs ------------------------------------


def fmu_info(filename: Source, causalities: Sequence[str] = ("input", "output")) -> str:
    """A summary of an FMU and its variables of these causalities, as a text of several lines."""
    from . import supported_platforms
    from .model_description import read_model_description

    d = read_model_description(filename, validate=False)
    kinds = [("Model Exchange", d.modelExchange), ("Co-Simulation", d.coSimulation)]
    facts = {
        "FMI Version": d.fmiVersion,
        "FMI Type": ", ".join(name for name, kind in kinds if kind is not None),
        "Model Name": d.modelName,
        "Description": d.description,
        "Platforms": ", ".join(supported_platforms(filename)),
        "Continuous States": d.numberOfContinuousStates,
        "Event Indicators": d.numberOfEventIndicators,
        "Variables": len(d.modelVariables),
        "Generation Tool": d.generationTool,
        "Generation Date": d.generationDateAndTime,
    }
    lines = ["", "Model Info", ""]
    lines += [f"  {name:18} {value}" for name, value in facts.items()]
    lines.append("")
    if d.defaultExperiment is not None:
        e = d.defaultExperiment
        times = {
            "Start Time": e.startTime,
            "Stop Time": e.stopTime,
            "Tolerance": e.tolerance,
            "Step Size": e.stepSize,
        }
        lines += ["Default Experiment", ""]
        lines += [f"  {name:18} {value}" for name, value in times.items() if value]
    lines += ["", f"Variables ({', '.join(causalities)})", ""]
    lines.append("  Name               Causality              Start Value  Unit     Description")
    for v in d.modelVariables:
        if v.causality not in causalities:
            continue
        name = v.name if len(v.name) <= 18 else "..." + v.name[-15:]
        unit = v.declaredType.unit if v.declaredType else v.unit
        cells = ["" if c is None else str(c) for c in (v.start, unit, v.description)]
        lines.append("  {:18} {:10} {:>23}  {:8} {}".format(name, v.causality or "", *cells))
    return "\n".join(lines)


def auto_interval(t: float) -> float:
    """An interval with a round number that divides a time into about 500 to 1000 parts."""
    h = 10 ** (float(np.round(math.log10(t))) - 3)
    n = t / h
    for least, factor in ((2500, 5), (2000, 4), (1000, 2)):
        if n >= least:
            return h * factor
    for most, divisor in ((200, 5), (250, 4), (500, 2)):
        if n <= most:
            return h / divisor
    return h


def get_start_values(filename: Path) -> dict[str, Any]:
    """The values of all variables of an FMU after its initialisation, as texts."""
    from . import extract
    from .model_description import read_model_description
    from .simulation import instantiate_fmu

    description = read_model_description(filename, validate=False)
    folder = extract(filename)
    fmu = instantiate_fmu(folder, description)
    if description.fmiVersion == "1.0":
        fmu.initialize()
    else:
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
    values: dict[str, Any] = {}
    for v in description.modelVariables:
        kind = str(v.type)
        if kind == "Enumeration":
            kind = "Integer" if description.fmiVersion in ("1.0", "2.0") else "Int64"
        if v.shape or kind in ("Binary", "Clock"):
            continue
        try:
            (value,) = getattr(fmu, "get" + kind)([v.valueReference])
        except Exception as error:
            print(error)
            continue
        if kind == "Boolean":
            values[v.name] = "true" if value else "false"
        else:
            values[v.name] = value if kind == "String" else str(value)
    fmu.terminate()
    fmu.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)
    return values


def create_zip_archive(filename: Union[Path, IO[bytes]], source_dir: Path) -> None:
    """Pack a folder, such as an extracted FMU."""
    with zipfile.ZipFile(filename, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, folders, files in os.walk(source_dir):
            for name in sorted(folders) + sorted(files):
                path = os.path.join(folder, name)
                archive.write(path, os.path.relpath(path, source_dir))


def remove_source_code(filename: Path) -> None:
    """Remove the folder sources of an FMU, and what its model description says about it."""
    import re

    from . import extract

    folder = extract(filename)
    shutil.rmtree(os.path.join(folder, "sources"), ignore_errors=True)
    path = os.path.join(folder, "modelDescription.xml")
    with open(path, "rb") as file:
        text = file.read()
    with open(path, "wb") as file:
        file.write(re.sub(rb"\s*<SourceFiles>.*?</SourceFiles>", b"", text, flags=re.S))
    create_zip_archive(filename, folder)
    shutil.rmtree(folder, ignore_errors=True)


def can_simulate(
    platforms: Sequence[str], remote_platform: Optional[str] = "auto"
) -> tuple[bool, Optional[str]]:
    """Whether an FMU with these platforms runs here: there is no remoting."""
    from . import platform

    return platform in platforms and remote_platform in (None, "auto"), None


#------------------------------------ downloads ------------------------------------


def sha256_checksum(filename: Path) -> str:
    """The SHA256 checksum of a file."""
    with open(filename, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def download_file(url: str, checksum: Optional[str] = None) -> str:
    """Download a file to the current folder, unless it is there with this checksum."""
    import urllib.request

    name = os.path.basename(url)
    if checksum is not None and os.path.isfile(name):
        if sha256_checksum(name).startswith(checksum.lower()):
            return name
    print("Downloading " + url)
    with tempfile.NamedTemporaryFile(dir=".", delete=False) as file:
        try:
            with urllib.request.urlopen(url) as response:
                shutil.copyfileobj(response, file)
        except OSError as error:
            os.unlink(file.name)
            code = getattr(error, "code", -1)
            raise Exception(f"Failed to download {url} (status code: {code})") from error
    os.replace(file.name, name)
    if checksum is not None and not sha256_checksum(name).startswith(checksum.lower()):
        raise Exception(
            f"{name} has the wrong SHA256 checksum. Expected {checksum} but was "
            f"{sha256_checksum(name)}."
        )
    return name


def download_test_file(
    fmi_version: str,
    fmi_type: str,
    tool_name: str,
    tool_version: str,
    model_name: str,
    filename: str,
) -> str:
    """Download a file of the FMI cross-check to the current folder."""
    from . import platform

    kind = {"ModelExchange": "me", "CoSimulation": "cs"}.get(fmi_type, fmi_type)
    parts = (fmi_version, kind, platform, tool_name, tool_version, model_name, filename)
    return download_file(
        "https://github.com/modelica/fmi-cross-check/raw/master/fmus/" + "/".join(parts)
    )
