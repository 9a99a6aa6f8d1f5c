# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Functions of the C interface of FMI on instances: fmu.fmi2GetReal(fmu.component, vr, n, values), with
arrays of ctypes or numpy, or lists, as arguments. They call the methods with Python's types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

if TYPE_CHECKING:
    from ._instance import _FMU

_OK = 0
_TYPES = frozenset(
    "Real Integer Boolean String Float32 Float64 Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64".split()
)
# functions whose arguments, after the instance, are those of the method
_SAME = {
    name: name[0].lower() + name[1:]
    for name in (
        "EnterInitializationMode ExitInitializationMode Terminate Reset FreeInstance EnterEventMode "
        "EnterContinuousTimeMode SetTime SetContinuousStates GetContinuousStates GetDerivatives "
        "GetContinuousStateDerivatives GetEventIndicators GetNominalsOfContinuousStates "
        "GetNominalContinuousStates EnterStepMode"
    ).split()
}
_SAME.update(
    TerminateSlave="terminate", ResetSlave="reset", FreeSlaveInstance="freeInstance", FreeModelInstance="freeInstance"
)


def _store(target: Any, values: Sequence[Any]) -> None:
    for i, value in enumerate(values):
        if isinstance(value, str):
            value = value.encode("utf-8")
        try:
            target[i] = value
        except TypeError:  # Booleans of FMI 1.0 are of type char
            target[i] = bytes((value,))


def _getter(method: Callable[..., Sequence[Any]]) -> Callable[..., int]:
    def get(component: Any, vr: Any, nvr: int, value: Any, nValues: Optional[int] = None) -> int:
        _store(value, method([int(vr[i]) for i in range(nvr)]))
        return _OK

    return get


def _setter(method: Callable[..., Any]) -> Callable[..., int]:
    def set_values(component: Any, vr: Any, nvr: int, value: Any, nValues: Optional[int] = None) -> int:
        count = nvr if nValues is None else nValues
        method([int(vr[i]) for i in range(nvr)], [value[i] for i in range(count)])
        return _OK

    return set_values


def _same(method: Callable[..., Any]) -> Callable[..., int]:
    def call(component: Any, *arguments: Any) -> int:
        method(*(getattr(argument, "value", argument) for argument in arguments))
        return _OK

    return call


def c_function(fmu: _FMU, name: str) -> Optional[Callable[..., int]]:
    """The function of this name, without its prefix; None: it is not offered."""
    own = type(fmu)
    kind, variable_type = name[:3], name[3:]
    if kind in ("Get", "Set") and variable_type in _TYPES and hasattr(own, kind.lower() + variable_type):
        method = getattr(fmu, kind.lower() + variable_type)
        return _getter(method) if kind == "Get" else _setter(method)
    if name == "DoStep" and fmu._version < 3 and hasattr(own, "doStep"):
        return _same(getattr(fmu, "doStep"))
    if name == "SetRealInputDerivatives" and hasattr(own, "setRealInputDerivatives"):
        return _derivatives(getattr(fmu, "setRealInputDerivatives"))
    if name in _SAME and hasattr(own, _SAME[name]):
        return _same(getattr(fmu, _SAME[name]))
    return None


def _derivatives(method: Callable[..., Any]) -> Callable[..., int]:
    def set_derivatives(component: Any, vr: Any, nvr: int, order: Any, value: Any) -> int:
        method(*([array[i] for i in range(nvr)] for array in (vr, order, value)))
        return _OK

    return set_derivatives
