# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of Python as settings of the library: texts, tuples and arrays."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Union

if TYPE_CHECKING:
    from ._model import Model as _PythonModel, Stepper as _PythonStepper
    from ._system import System as _System

    Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
    #: what can be simulated: a file, a system, or a model of Python
    Model = Union[Path, _System, _PythonModel, _PythonStepper]
    #: a file; or names with (times, values) or functions; or a table with a column time
    Input = Union[Path, Mapping[str, Any], Any, None]


def text_of(value: Any) -> str:
    """A value as the text of a start value: exact, and of any type."""
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text_of(item) for item in _flat(value)) + "]"
    return repr(float(value))


def _flat(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            flat.extend(_flat(value))
        else:
            flat.append(value)
    return flat


def _doubles(values: Any) -> Any:
    import numpy as np

    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"times and values are vectors, not arrays of shape {array.shape}")
    if array.dtype.kind in "cmM":  # numbers of nanoseconds, say
        raise TypeError(f"times and values are numbers, times in seconds, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _split_unit(name: str) -> tuple[str, Optional[str]]:
    """ "T [degC]" as in the header of a CSV file."""
    if name.endswith("]") and " [" in name:
        variable, _, unit = name[:-1].rpartition(" [")
        return variable.rstrip(), unit
    return name, None


def _is_time(name: Any) -> bool:
    return str(name).lower() in ("time", "time [s]")


def named(name: Any, convert: Callable[[Any], Any], value: Any) -> Any:
    """Convert a value; a failure names the variable."""
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from None


def _pair(value: Any) -> tuple[Any, Any]:
    rows = isinstance(value, (tuple, list)) or getattr(value, "ndim", 0) == 2 and hasattr(value, "dtype")
    if not rows or len(value) != 2:
        raise TypeError(f"an input is (times, values) or a function of time, not {type(value).__name__}")
    return _doubles(value[0]), (_doubles(value[1]),)


def _table(names: list[Any], column: Callable[[Any], Any]) -> tuple[Any, ...]:
    time = [name for name in names if _is_time(name)]
    if not time:
        raise ValueError("an input table needs a column time")
    others = [name for name in names if name != time[0]]
    pairs = [_split_unit(str(name)) for name in others]
    return (
        tuple(name for name, _ in pairs),
        tuple(unit for _, unit in pairs),
        named(time[0], _doubles, column(time[0])),
        tuple(named(name, _doubles, column(name)) for name in others),
    )


def _add_input(settings: dict[str, Any], given: Any) -> None:
    if isinstance(given, (str, bytes, os.PathLike)):
        settings["input"] = os.fsencode(given)
    elif isinstance(given, Mapping):
        inputs: list[tuple[str, Any]] = []
        for name, value in given.items():
            if callable(value):
                inputs.append((name, value))
            else:
                inputs.append((name, named(name, _pair, value)))
        settings["inputs"] = tuple(inputs)
    elif getattr(getattr(given, "dtype", None), "names", None):  # a structured array
        settings["table"] = _table(list(given.dtype.names), lambda name: given[name])
    elif hasattr(given, "columns") and hasattr(given, "index"):  # a DataFrame
        frame = given
        if not any(map(_is_time, frame.columns)):
            frame = frame.reset_index(names="time")
        settings["table"] = _table(list(frame.columns), lambda name: frame[name])
    else:
        raise TypeError(
            "input is a file, a dict of names and (times, values) or functions, a DataFrame or a "
            f"structured array, not {type(given).__name__}"
        )


def _add_model(settings: dict[str, Any], model: Any) -> None:
    if isinstance(model, (str, bytes, os.PathLike)):
        settings["path"] = os.fsencode(model)
        return
    from ._model import Model as PythonModel, Stepper, describe
    from ._system import System

    if isinstance(model, System):
        settings["path"] = model.name.encode()
        settings["system"] = model._frozen()
        in_python = model._has_python()
    elif isinstance(model, (PythonModel, Stepper)):
        settings["system"] = describe(model)
        settings["path"] = settings["system"]["name"].encode()
        in_python = True
    else:
        raise TypeError(f"a model is a file, a System, a Model or a Stepper, not {type(model).__name__}")
    for key in ("isolate", "call_timeout", "processes"):
        if in_python and settings.get(key):
            raise ValueError(f"{key}: models in Python cannot run in processes of their own")


_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: Union[float, str]) -> float:
    """A time of computing: a number, or a text as the command takes it ("10min")."""
    number, unit = value, ""
    if isinstance(value, str):
        text = value.strip()
        unit = text.lstrip("0123456789.eE+-").strip()
        number = text[: len(text) - len(unit)] if unit else text
    try:
        result = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        raise ValueError(f"every: {value!r} is no time; 600, '10min' and '1h' are") from None
    if not 0 < result < float("inf"):
        raise ValueError(f"every: {value!r} is not positive")
    return result


def _add_to_hash(hasher: Any, item: Any) -> None:
    if isinstance(item, (list, tuple)):
        parts: Iterable[Any] = (len(item), *item)
    elif isinstance(item, Mapping):
        parts = (len(item), *(part for pair in item.items() if pair[0] != "values" for part in pair))
    elif hasattr(item, "tobytes"):  # of numpy
        parts = (str(item.dtype), str(item.shape), item.tobytes())
    elif hasattr(item, "__code__"):
        parts = (item.__code__.co_code, item.__code__.co_names, item.__code__.co_consts)
    elif hasattr(item, "__func__"):
        parts = (item.__func__,)
    elif item is None or isinstance(item, (str, bytes, bool, int, float)):
        hasher.update(f"{type(item).__name__} {item!r}\n".encode())
        return
    else:
        parts = (type(item).__qualname__,)
    for part in parts:
        _add_to_hash(hasher, part)


def content_of(settings: Mapping[str, Any]) -> str:
    """What identifies a run beside its file: systems and functions of Python, and inputs in memory."""
    parts = [settings.get(key) for key in ("system", "inputs", "table")]
    if all(part is None for part in parts):
        return ""
    hasher = hashlib.sha256()
    _add_to_hash(hasher, parts)
    return hasher.hexdigest()


def _add_checkpoints(settings: dict[str, Any]) -> None:
    used = [key for key in ("checkpoint", "resume", "start_from") if key in settings]
    if "every" in settings:
        if "checkpoint" not in settings:
            raise ValueError("every: it goes with checkpoint")
        settings["every"] = seconds(settings["every"])
    if "at" in settings and "start_from" not in settings:
        raise ValueError("at: it goes with start_from")
    if "resume" in settings and "start_from" in settings:
        raise ValueError("resume: a run resumes, or it starts from the state of another one")
    if "start" in settings and "start_from" in settings:
        raise ValueError("start: a run that starts from a state starts at the time of at")
    if used:
        settings["saves"] = True
        settings["content"] = content_of(settings)
    for key in used:
        settings[key] = os.fsencode(settings[key])


def make_settings(model: Model, **given: Any) -> dict[str, Any]:
    """The settings of a run, as the library takes them; what is None is not given."""
    settings = {key: value for key, value in given.items() if value is not None}
    _add_model(settings, model)
    solver = settings.get("solver")
    if isinstance(solver, Mapping):
        del settings["solver"]
        settings["solvers"] = tuple(solver.items())
    if not settings.pop("ad", True):
        settings["no_ad"] = True
    if "steady" in settings:
        settings["steady"] = "true" if settings["steady"] else "false"
    if "set" in settings:
        values = settings["set"]
        if not isinstance(values, Mapping):
            raise TypeError(f"set is a dict of names and values, not {type(values).__name__}")
        settings["set"] = tuple((name, named(name, text_of, v)) for name, v in values.items())
    if "record" in settings:
        record = settings["record"]
        settings["record"] = (record,) if isinstance(record, str) else tuple(record)
    if "parameters" in settings:
        files = settings["parameters"]
        several = not isinstance(files, (str, bytes, os.PathLike))
        settings["parameters"] = tuple(os.fsencode(file) for file in (files if several else (files,)))
    if "call_log" in settings:
        settings["call_log"] = os.fsencode(settings["call_log"])
    if "input" in settings:
        _add_input(settings, settings.pop("input"))
    _add_checkpoints(settings)
    return settings
