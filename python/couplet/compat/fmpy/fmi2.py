# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Instances of FMUs of FMI 2.0, with the methods of fmpy.fmi2."""

from __future__ import annotations

from ctypes import c_char_p, c_double, c_int, c_uint, c_void_p
from typing import Any, Optional, Sequence

from ..._core import ComponentState
from ._instance import BOOLEAN, INTEGER, REFUSED, TERMINATE, _FMU
from ._instance import FMICallException as FMICallException
from ._instance import printLogMessage as printLogMessage
from .fmi1 import set_input_derivatives

fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending = range(6)
fmi2ModelExchange, fmi2CoSimulation = range(2)
fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated = range(4)
fmi2True, fmi2False = 1, 0
# for arrays that functions of the C interface take
fmi2Component, fmi2ValueReference, fmi2String = c_void_p, c_uint, c_char_p
fmi2Real, fmi2Integer, fmi2Boolean = c_double, c_int, c_int


class _FMU2(_FMU):
    """What both kinds have."""

    _version = 2

    def instantiate(
        self, visible: bool = False, callbacks: Any = None, loggingOn: bool = False
    ) -> None:
        """Make the instance. callbacks: a function that receives messages, or None."""
        self._make(callbacks if callable(callbacks) else None, loggingOn)

    def getTypesPlatform(self) -> str:
        """The name of the set of types."""
        return "default"

    def getVersion(self) -> str:
        """The version of FMI."""
        return "2.0"

    def setDebugLogging(self, loggingOn: bool, categories: Sequence[str]) -> None:
        """Accepted: instances log as they were instantiated."""

    def setupExperiment(
        self,
        tolerance: Optional[float] = None,
        startTime: float = 0.0,
        stopTime: Optional[float] = None,
    ) -> int:
        """Times and tolerance."""
        self._setup(startTime, stopTime, tolerance)
        return fmi2OK

    def enterInitializationMode(self) -> int:
        """Begin the initialisation."""
        self._enter_init()
        return fmi2OK

    def exitInitializationMode(self) -> int:
        """End the initialisation."""
        self._exit_init()
        return fmi2OK

    def getReal(self, vr: Sequence[int]) -> list[float]:
        """Values of Reals."""
        return self._get_real(vr)

    def getInteger(self, vr: Sequence[int]) -> list[int]:
        """Values of Integers and Enumerations."""
        return self._get_integer(INTEGER, vr)

    def getBoolean(self, vr: Sequence[int]) -> list[int]:
        """Values of Booleans, as 0 and 1."""
        return self._get_integer(BOOLEAN, vr)

    def getString(self, vr: Sequence[int]) -> list[bytes]:
        """Values of Strings."""
        return self._get_string(vr)

    def setReal(self, vr: Sequence[int], value: Sequence[float]) -> None:
        """Set Reals."""
        self._set_real(vr, value)

    def setInteger(self, vr: Sequence[int], value: Sequence[int]) -> None:
        """Set Integers and Enumerations."""
        self._set_integer(INTEGER, vr, [int(v) for v in value])

    def setBoolean(self, vr: Sequence[int], value: Sequence[Any]) -> None:
        """Set Booleans."""
        self._set_integer(BOOLEAN, vr, [int(bool(v)) for v in value])

    def setString(self, vr: Sequence[int], value: Sequence[Any]) -> None:
        """Set Strings."""
        self._set_string(vr, value)

    def getFMUstate(self) -> ComponentState:
        """Save the state."""
        return self._save()

    def setFMUstate(self, state: ComponentState) -> None:
        """Go back to a saved state."""
        self._restore(state)

    def freeFMUstate(self, state: ComponentState) -> None:
        """Release a saved state."""
        self._forget(state)

    def serializeFMUstate(self, state: ComponentState) -> bytes:
        """A saved state as bytes."""
        return self._serialize(state)

    def deSerializeFMUstate(self, serializedState: bytes, state: Any = None) -> ComponentState:
        """A saved state from bytes."""
        return self._deserialize(serializedState)

    getFMUState = getFMUstate
    setFMUState = setFMUstate
    freeFMUState = freeFMUstate
    serializeFMUState = serializeFMUstate
    deserializeFMUState = deSerializeFMUstate

    def getDirectionalDerivative(
        self, vUnknown_ref: Sequence[int], vKnown_ref: Sequence[int], dvKnown: Sequence[float]
    ) -> list[float]:
        """The derivatives of unknowns in a direction of knowns."""
        return self._directional(vUnknown_ref, vKnown_ref, dvKnown)


class FMU2Model(_FMU2):
    """An FMU of FMI 2.0 for model exchange."""

    def enterEventMode(self) -> int:
        """Begin an event."""
        self._enter_event()
        return fmi2OK

    def newDiscreteStates(self) -> tuple[bool, bool, bool, bool, bool, float]:
        """(newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged,
        valuesOfContinuousStatesChanged, nextEventTimeDefined, nextEventTime)"""
        return self._event_update()

    def enterContinuousTimeMode(self) -> int:
        """End an event."""
        self._enter_continuous()
        return fmi2OK

    def completedIntegratorStep(
        self, noSetFMUStatePriorToCurrentPoint: Any = fmi2True
    ) -> tuple[bool, bool]:
        """(enterEventMode, terminateSimulation)"""
        return self._completed_step()

    def setTime(self, time: float) -> int:
        """Set the time."""
        return self._set_time(time)

    def setContinuousStates(self, x: Any, nx: int) -> int:
        """Set the states from an array."""
        return self._set_states(x, nx)

    def getContinuousStates(self, x: Any, nx: int) -> int:
        """Write the states into an array."""
        return self._get_array("get_states", x)

    def getDerivatives(self, dx: Any, nx: int) -> int:
        """Write the derivatives of the states into an array."""
        return self._get_array("get_derivatives", dx)

    def getEventIndicators(self, z: Any, nz: int) -> int:
        """Write the event indicators into an array."""
        return self._get_array("get_indicators", z)

    def getNominalsOfContinuousStates(self, x_nominal: Any, nx: int) -> int:
        """Write the nominal values of the states into an array."""
        return self._get_array("get_nominals", x_nominal)


class FMU2Slave(_FMU2):
    """An FMU of FMI 2.0 for co-simulation."""

    _stepper = True
    _terminated = False

    def __init__(self, instanceName: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(instanceName=instanceName, **kwargs)

    def doStep(
        self,
        currentCommunicationPoint: float,
        communicationStepSize: float,
        noSetFMUStatePriorToCurrentPoint: Any = fmi2True,
    ) -> None:
        """Make a step."""
        end = self._advance(currentCommunicationPoint + communicationStepSize)
        self._terminated = end == TERMINATE
        if end in (REFUSED, TERMINATE):
            raise FMICallException("fmi2DoStep", fmi2Discard)

    def setRealInputDerivatives(
        self, vr: Sequence[int], order: Sequence[int], value: Sequence[float]
    ) -> None:
        """Derivatives of inputs with respect to time, for the next step."""
        set_input_derivatives(self, vr, order, value, "fmi2SetRealInputDerivatives")

    def getRealOutputDerivatives(self, vr: Sequence[int], order: Sequence[int]) -> list[float]:
        """Derivatives of outputs with respect to time."""
        return self._output_derivatives(vr, order, "fmi2GetRealOutputDerivatives")

    def getRealStatus(self, kind: int) -> float:
        """The time that the last step has reached."""
        if kind != fmi2LastSuccessfulTime:
            raise FMICallException("fmi2GetRealStatus", fmi2Error)
        return self._time

    def cancelStep(self) -> None:
        """Steps are complete when doStep() returns: there is none to be cancelled."""
        raise FMICallException("fmi2CancelStep", fmi2Error)

    def getStatus(self, kind: int) -> int:
        """The status of a step that is pending: there is none."""
        return fmi2OK

    def getBooleanStatus(self, kind: int) -> bool:
        """Whether the last step has ended the simulation."""
        if kind != fmi2Terminated:
            raise FMICallException("fmi2GetBooleanStatus", fmi2Error)
        return self._terminated
