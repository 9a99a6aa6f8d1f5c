# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Inputs, start values and rows of a simulation, with the classes of fmpy.simulation."""

from __future__ import annotations

from math import inf, isclose, prod
from typing import Any, Callable, Optional, Sequence

import numpy as np
import numpy.typing as npt

from .model_description import DisplayUnit, ModelDescription, ModelVariable

Table = npt.NDArray[Any]

_DTYPES_2: dict[str, Any] = {"Real": np.float64, "Integer": np.int32, "Boolean": np.bool_}
_DTYPES_3: dict[str, Any] = {
    "Float32": np.float32,
    "Float64": np.float64,
    "Int8": np.int8,
    "UInt8": np.uint8,
    "Int16": np.int16,
    "UInt16": np.uint16,
    "Int32": np.int32,
    "UInt32": np.uint32,
    "Int64": np.int64,
    "UInt64": np.uint64,
    "Boolean": np.bool_,
}
_REALS = ("Real", "Float32", "Float64")


def getter_type(variable: ModelVariable, description: ModelDescription) -> str:
    """The type in the names of the functions that get and set a variable."""
    if variable.type != "Enumeration":
        return str(variable.type)
    return "Integer" if description.fmiVersion in ("1.0", "2.0") else "Int64"


#------------------------------------ results ------------------------------------


class SimulationResult(np.ndarray):  # type: ignore[type-arg]
    """A structured array: the time, then one field per variable."""

    modelDescription: Optional[ModelDescription]

    def __new__(cls, *args: Any, modelDescription: Any = None, **kwargs: Any) -> SimulationResult:
        result = super().__new__(cls, *args, **kwargs)
        result.modelDescription = modelDescription
        return result

    def __array_finalize__(self, other: Any) -> None:
        self.modelDescription = getattr(other, "modelDescription", None)


def default_outputs(description: ModelDescription, most: int = 5) -> list[ModelVariable]:
    """The variables that are recorded by default: outputs, else some states, else some others."""
    variables = description.modelVariables
    outputs = [v for v in variables if v.causality == "output"]
    if outputs:
        return outputs
    states = [unknown.variable.derivative for unknown in description.derivatives]
    return states[:most] or variables[:most]


class Recorder:
    """Records variables of an FMU."""

    def __init__(
        self,
        fmu: Any,
        modelDescription: ModelDescription,
        variableNames: Optional[Sequence[str]] = None,
        interval: Optional[float] = None,
    ) -> None:
        self.fmu, self.modelDescription, self.interval = fmu, modelDescription, interval
        self.rows: list[tuple[Any, ...]] = []
        self.constants: dict[str, Any] = {}
        self.info: dict[str, Any] = {}
        self._is_fmi3 = modelDescription.fmiVersion not in ("1.0", "2.0")
        if variableNames is None:
            names = {v.name for v in default_outputs(modelDescription)}
        else:
            names = set(variableNames)
        for v in modelDescription.modelVariables:
            if v.name == "time" or v.name not in names:
                continue  # "time" is the simulated time
            kind = getter_type(v, modelDescription)
            known = self.info.get(kind, ([], [], [], 0, getattr(fmu, "get" + kind)))
            known[0].append(v.name)
            known[1].append(v.valueReference)
            known[2].append(v.shape)
            n = known[3] + (prod(v.shape) if v.shape else 1)
            self.info[kind] = (*known[:3], n, known[4])
        dtypes = _DTYPES_3 if self._is_fmi3 else _DTYPES_2
        self.types = [kind for kind in dtypes if kind in self.info]
        self.cols: list[Any] = [("time", np.float64)]
        for kind in self.types:
            for name, shape in zip(self.info[kind][0], self.info[kind][2]):
                self.cols.append((name, dtypes[kind], shape) if shape else (name, dtypes[kind]))
        self._has_arrays = any(shape for known in self.info.values() for shape in known[2])

    def sample(self, time: float, force: bool = False) -> None:
        """Record a row."""
        row: list[Any] = [time]
        for kind in self.types:
            _, refs, shapes, n, getter = self.info[kind]
            values = getter(vr=refs, nValues=n) if self._is_fmi3 else getter(vr=refs)
            if not self._has_arrays:
                row += values
                continue
            at = 0
            for shape in shapes:
                size = prod(shape) if shape else 1
                part = values[at : at + size]
                row.append(np.array(part).reshape(shape) if shape else part[0])
                at += size
        self.rows.append(tuple(row))

    def result(self) -> SimulationResult:
        """The rows as a structured array."""
        table = np.array(self.rows, dtype=np.dtype(self.cols)).view(SimulationResult)
        table.modelDescription = self.modelDescription
        return table

    @property
    def lastSampleTime(self) -> float:
        """The time of the last row."""
        if not self.rows:
            raise Exception("No samples available")
        return float(self.rows[-1][0])


#------------------------------------ inputs ------------------------------------


class Input:
    """Inputs that follow a structured array, whose first field is the time.

    Continuous variables are linear between the rows, others are held. A repeated time is a
    discontinuity.
    """

    def __init__(
        self,
        fmu: Any,
        modelDescription: ModelDescription,
        signals: Optional[Table],
        set_input_derivatives: bool = False,
    ) -> None:
        self.fmu, self.set_input_derivatives = fmu, set_input_derivatives
        self.t: Optional[Table] = None
        #: (variables, references, table, function that sets them)
        self.continuous: list[tuple[list[ModelVariable], list[int], Table, Any]] = []
        self.discrete: list[tuple[list[ModelVariable], list[int], Table, Any]] = []
        self._with_curves = False
        if signals is None:
            return
        fields = signals.dtype.names or ()
        self.t = np.asarray(signals[fields[0]], dtype=float)
        self.t_events = self.findEvents(signals, modelDescription)
        groups: dict[tuple[bool, str], list[ModelVariable]] = {}
        for v in modelDescription.modelVariables:
            if v.causality != "input" and v.variability != "tunable":
                continue
            if v.name not in fields:
                if v.causality == "input":
                    print(f'Warning: missing input for variable "{v.name}"')
                continue
            smooth = v.type in _REALS and v.variability not in ("discrete", "tunable")
            groups.setdefault((smooth, getter_type(v, modelDescription)), []).append(v)
        for (smooth, kind), variables in groups.items():
            refs = [v.valueReference for v in variables]
            dtype = {**_DTYPES_2, **_DTYPES_3}.get(kind)
            table = np.stack([np.asarray(signals[v.name], dtype=dtype) for v in variables])
            entry = (variables, refs, table, getattr(fmu, "set" + kind))
            (self.continuous if smooth else self.discrete).append(entry)

    def apply(
        self,
        time: float,
        continuous: bool = True,
        discrete: bool = True,
        after_event: bool = False,
    ) -> None:
        """Set the inputs to their values at a time, before or after a discontinuity there."""
        if self.t is None:
            return
        for _, refs, table, setter in self.continuous if continuous else ():
            values, slopes = self.interpolate(time, self.t, table, False, after_event)
            setter(refs, [float(v) for v in values.flatten()])
            if self.set_input_derivatives:
                orders = [1] * len(refs)
                self.fmu.setRealInputDerivatives(refs, orders, [float(s) for s in slopes])
        for _, refs, table, setter in self.discrete if discrete else ():
            values, _ = self.interpolate(time, self.t, table, True, after_event)
            setter(refs, values.flatten().tolist())

    def nextEvent(self, time: float) -> float:
        """The time of the next discontinuity."""
        if self.t is None:
            return inf
        for t in self.t_events:
            if t > time and not isclose(t, time):
                return float(t)
        return inf

    def segment(self, time: float) -> tuple[int, int]:
        """The rows from the last discontinuity at or before a time to the next one."""
        assert self.t is not None
        jumps = np.flatnonzero(np.diff(self.t) == 0)
        before = [i for i in jumps if self.t[i] < time or isclose(self.t[i], time)]
        after = [i for i in jumps if self.t[i] > time and not isclose(self.t[i], time)]
        return (before[-1] + 1 if before else 0), (after[0] if after else len(self.t) - 1)

    @staticmethod
    def findEvents(signals: Table, model_description: ModelDescription) -> Table:
        """The times of discontinuities, and infinity."""
        times = {inf}
        fields = signals.dtype.names or ()
        if signals.size > 1:
            t = signals[fields[0]]
            times.update(t[:-1][np.diff(t) == 0])
            for v in model_description.modelVariables:
                if v.name in fields and v.variability in ("discrete", "tunable"):
                    times.update(t[1:][np.diff(signals[v.name]) != 0])
        return np.array(sorted(times))

    @staticmethod
    def interpolate(
        time: float, t: Table, table: Table, discrete: bool = False, after_event: bool = False
    ) -> tuple[Table, Table]:
        """The values at a time, and their slopes; the table has one row per variable."""
        if t.size < 2:
            return table, np.zeros_like(table)
        n = len(t)
        i = int(np.searchsorted(t, time))
        if i == 0 or i == n:
            values = table[:, 0] if i == 0 else table[:, -1]
            return values, np.zeros_like(values)
        if discrete:
            i -= 1
            while after_event and i + 1 < n and (t[i + 1] < time or isclose(time, t[i + 1])):
                i += 1
            return table[:, i], np.zeros_like(table[:, i])
        if isclose(time, t[i]) and i + 1 < n and isclose(t[i], t[i + 1]):
            return _at_jump(t, table, i, after_event)
        weight = (t[i] - time) / (t[i] - t[i - 1])
        left, right = table[:, i - 1], table[:, i]
        return weight * left + (1 - weight) * right, (right - left) / (t[i] - t[i - 1])


def _at_jump(t: Table, table: Table, i: int, after: bool) -> tuple[Table, Table]:
    """Values and slopes on one side of a discontinuity, which begins with row i."""
    first = i - 1
    if after:
        while i + 1 < len(t) and isclose(t[i], t[i + 1]):
            i += 1
        first = i
    slopes = np.zeros(table.shape[0])
    if first + 1 < len(t):
        slopes = (table[:, first + 1] - table[:, first]) / (t[first + 1] - t[first])
    return table[:, i], slopes


#------------------------------------ start values ------------------------------------


Units = dict[Optional[str], dict[Optional[str], DisplayUnit]]


def _convert(variable: ModelVariable, value: Any, units: Units) -> Any:
    """The number of a pair (number, unit)."""
    if len(value) != 2:
        raise Exception(
            f"The start value for variable {variable.name} must be a scalar value or a tuple "
            f'(<value>, {{<unit>|<display_unit>}}) but was "{value}".'
        )
    number, unit = value
    declared = variable.declaredType
    if unit is None or unit == variable.unit or (declared is not None and unit == declared.unit):
        return number
    if variable.unit is None and declared is None:
        raise Exception(
            f'Variable {variable.name} has no unit but the unit "{unit}" was specified for its '
            "start value."
        )
    own = variable.unit if variable.unit is not None or declared is None else declared.unit
    if unit not in units.get(own, {}):
        raise Exception(
            f'The unit "{unit}" of the start value for variable {variable.name} is not defined.'
        )
    shown = units[own][unit]
    relative = variable.relativeQuantity
    if relative is None:
        relative = declared is not None and declared.relativeQuantity
    return (number if relative else number - shown.offset) / shown.factor


def _to_values(variable: ModelVariable, value: Any) -> list[Any]:
    """The values for the function that sets a variable."""
    if variable.type == "Boolean" and isinstance(value, str):
        if value.lower() not in ("true", "false"):
            raise Exception(
                f'The start value "{value}" for variable "{variable.name}" could not be converted '
                "to Boolean"
            )
        value = value.lower() == "true"
    convert: Callable[[Any], Any] = variable._python_type or float
    if not variable.shape:
        return [convert(value)]
    values = [convert(v) for v in (value.split() if isinstance(value, str) else value)]
    size = prod(variable.shape)
    if len(values) != size:
        raise Exception(
            f'The start value for variable "{variable.name}" must have {size} elements but has '
            f"{len(values)}."
        )
    return values


def apply_start_values(
    fmu: Any,
    model_description: ModelDescription,
    start_values: dict[str, Any],
    settable: Optional[Callable[[ModelVariable], bool]] = None,
) -> dict[str, Any]:
    """Set start values: numbers, texts, or pairs of a number and a unit.

    settable: whether a variable can be set now. Returns the values that were not set.
    """
    left = dict(start_values)
    units = {u.name: {d.name: d for d in u.displayUnits} for u in model_description.unitDefinitions}
    for v in model_description.modelVariables:
        if v.name not in left or (settable is not None and not settable(v)):
            continue
        value = left.pop(v.name)
        if isinstance(value, tuple) and not v.shape:
            value = _convert(v, value, units)
        setter = getattr(fmu, "set" + getter_type(v, model_description))
        setter([v.valueReference], _to_values(v, value))
    return left


def has_start_value(variable: ModelVariable) -> bool:
    """Of FMI 1.0: whether a variable can be set before the initialisation."""
    return variable.start is not None


def settable_in_instantiated(variable: ModelVariable) -> bool:
    """Whether a variable can be set before the initialisation."""
    if variable.causality == "input":
        return True
    return variable.variability != "constant" and variable.initial in ("approx", "exact")


def settable_in_initialization_mode(variable: ModelVariable) -> bool:
    """Whether a variable can be set during the initialisation."""
    if variable.causality == "input":
        return True
    if variable.causality != "parameter" and variable.variability == "tunable":
        return True
    return variable.variability != "constant" and variable.initial == "exact"
