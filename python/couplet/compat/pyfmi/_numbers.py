# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Types, causalities and variabilities as the numbers that PyFMI has for them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from ..._info import Variable

FMI_REAL, FMI_INTEGER, FMI_BOOLEAN, FMI_STRING, FMI_ENUMERATION = range(5)
FMI_CONSTANT, FMI_PARAMETER, FMI_DISCRETE, FMI_CONTINUOUS = range(4)
FMI_INPUT, FMI_OUTPUT, FMI_INTERNAL, FMI_NONE = range(4)

FMI2_REAL, FMI2_INTEGER, FMI2_BOOLEAN, FMI2_STRING, FMI2_ENUMERATION = range(5)
FMI2_CONSTANT, FMI2_FIXED, FMI2_TUNABLE, FMI2_DISCRETE, FMI2_CONTINUOUS, FMI2_UNKNOWN = range(6)
(FMI2_PARAMETER, FMI2_CALCULATED_PARAMETER, FMI2_INPUT, FMI2_OUTPUT, FMI2_LOCAL, FMI2_INDEPENDENT) = range(6)

FMI_OK, FMI_WARNING, FMI_DISCARD, FMI_ERROR, FMI_FATAL, FMI_PENDING = range(6)
FMI2_TRUE, FMI2_FALSE = 1, 0


class FMI3_Type(IntEnum):
    """Types of FMI 3.0."""

    FLOAT64 = 1
    FLOAT32 = 2
    INT64 = 3
    INT32 = 4
    INT16 = 5
    INT8 = 6
    UINT64 = 7
    UINT32 = 8
    UINT16 = 9
    UINT8 = 10
    BOOL = 11
    BINARY = 12
    CLOCK = 13
    STRING = 14
    ENUM = 15


class FMI3_Variability(IntEnum):
    """Variabilities of FMI 3.0."""

    CONSTANT = 0
    FIXED = 1
    TUNABLE = 2
    DISCRETE = 3
    CONTINUOUS = 4
    UNKNOWN = 5


class FMI3_Causality(IntEnum):
    """Causalities of FMI 3.0."""

    STRUCTURAL_PARAMETER = 0
    PARAMETER = 1
    CALCULATED_PARAMETER = 2
    INPUT = 3
    OUTPUT = 4
    LOCAL = 5
    INDEPENDENT = 6
    UNKNOWN = 7


_TYPES = {"Real": 0, "Integer": 1, "Boolean": 2, "String": 3, "Enumeration": 4}
_TYPES3 = {
    **{name.title().replace("Uint", "UInt"): member for name, member in FMI3_Type.__members__.items()},
    "Real": FMI3_Type.FLOAT64,
    "Integer": FMI3_Type.INT32,
    "Boolean": FMI3_Type.BOOL,
    "Enumeration": FMI3_Type.ENUM,
}
_CAUSALITY1 = {"input": FMI_INPUT, "output": FMI_OUTPUT}
_VARIABILITY1 = {"constant": 0, "fixed": FMI_PARAMETER, "tunable": FMI_PARAMETER, "discrete": 2, "continuous": 3}
_CAUSALITY2 = {
    "parameter": FMI2_PARAMETER,
    "calculatedParameter": FMI2_CALCULATED_PARAMETER,
    "input": FMI2_INPUT,
    "output": FMI2_OUTPUT,
    "local": FMI2_LOCAL,
    "independent": FMI2_INDEPENDENT,
}
_VARIABILITY2 = {"constant": 0, "fixed": 1, "tunable": 2, "discrete": 3, "continuous": 4}


def type_of(version: str, v: Variable) -> int:
    """The number of the type of a variable, in a version of FMI."""
    if version == "3.0":
        return _TYPES3.get(v.width) or _TYPES3[v.type]
    return _TYPES.get(v.type, -1)


def causality_of(version: str, v: Variable) -> int:
    """The number of the causality of a variable, in a version of FMI."""
    if version == "3.0":
        return FMI3_Causality(_CAUSALITY2[v.causality] + 1)
    return _CAUSALITY1.get(v.causality, FMI_INTERNAL) if version == "1.0" else _CAUSALITY2[v.causality]


def variability_of(version: str, v: Variable) -> int:
    """The number of the variability of a variable, in a version of FMI."""
    if version == "3.0":
        return FMI3_Variability(_VARIABILITY2[v.variability])
    numbers: Mapping[str, int] = _VARIABILITY1 if version == "1.0" else _VARIABILITY2
    return numbers[v.variability]


def is_one(wanted: Any, number: int, text: str) -> bool:
    """Whether a filter, a number or a text, is absent or matches."""
    return wanted is None or bool(wanted == text if isinstance(wanted, str) else wanted == number)
