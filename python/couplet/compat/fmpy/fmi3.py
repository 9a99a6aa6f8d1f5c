# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Instances of FMUs of FMI 3.0, with the methods of fmpy.fmi3."""

from __future__ import annotations

from ctypes import c_bool, c_char_p, c_double, c_float, c_int8, c_int16, c_int32, c_int64
from ctypes import c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Optional, Sequence

from ..._core import ComponentState
from ..._errors import Error
from ._instance import BOOLEAN, CLOCK, EVENT, INTEGER, REFUSED, TERMINATE, _FMU
from ._instance import FMICallException as FMICallException
from ._instance import printLogMessage as _print_message

fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal = range(5)
fmi3True, fmi3False = True, False
# for arrays that functions of the C interface take
fmi3Instance, fmi3ValueReference, fmi3String, fmi3Boolean = c_void_p, c_uint32, c_char_p, c_bool
fmi3Float32, fmi3Float64 = c_float, c_double
fmi3Int8, fmi3Int16, fmi3Int32, fmi3Int64 = c_int8, c_int16, c_int32, c_int64
fmi3UInt8, fmi3UInt16, fmi3UInt32, fmi3UInt64 = c_uint8, c_uint16, c_uint32, c_uint64


def printLogMessage(
    instanceEnvironment: Any, status: int, category: bytes, message: bytes
) -> None:
    """Print a message of an FMU."""
    _print_message(None, b"", status, category, message)


class _FMU3(_FMU):
    """What all kinds have."""

    _version = 3

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._failed_to_make = "Failed to instantiate FMU"

    def _log(self, status: int, category: bytes, message: bytes) -> None:
        (self._logger or printLogMessage)(None, status, category, message)

    def getVersion(self) -> str:
        """The version of FMI."""
        return "3.0"

    def setDebugLogging(self, loggingOn: bool, categories: Sequence[str]) -> None:
        """Accepted: instances log as they were instantiated."""

    def enterInitializationMode(
        self,
        tolerance: Optional[float] = None,
        startTime: float = 0.0,
        stopTime: Optional[float] = None,
    ) -> None:
        """Times and tolerance; the initialisation begins."""
        self._setup(startTime, stopTime, tolerance)
        self._enter_init()

    def exitInitializationMode(self) -> None:
        """End the initialisation."""
        self._exit_init()

    #------------------------------------ values ------------------------------------

    def _reals(self, vr: Sequence[int], nValues: Optional[int] = None) -> list[float]:
        return self._get_real(vr)

    def _integers(self, vr: Sequence[int], nValues: Optional[int] = None) -> list[int]:
        return self._get_integer(self._kind_of(vr, INTEGER), vr)

    def _set_integers(self, vr: Sequence[int], values: Sequence[int]) -> None:
        self._set_integer(self._kind_of(vr, INTEGER), vr, [int(v) for v in values])

    def _kind_of(self, vr: Sequence[int], default: int) -> int:
        known = self._variables()
        return known[vr[0]][0] if len(vr) > 0 and vr[0] in known else default

    getFloat32 = getFloat64 = _reals
    getInt8 = getUInt8 = getInt16 = getUInt16 = getInt32 = getUInt32 = getInt64 = _integers

    def setFloat64(self, vr: Sequence[int], values: Sequence[float]) -> None:
        """Set Float64 variables."""
        self._set_real(vr, values)

    setFloat32 = setFloat64
    setInt8 = setUInt8 = setInt16 = setUInt16 = setInt32 = setUInt32 = setInt64 = _set_integers

    def getUInt64(self, vr: Sequence[int], nValues: Optional[int] = None) -> list[int]:
        """Values of UInt64 variables."""
        return [v & 0xFFFFFFFFFFFFFFFF for v in self._get_integer(INTEGER, vr)]

    def setUInt64(self, vr: Sequence[int], values: Sequence[int]) -> None:
        """Set UInt64 variables."""
        wrapped = [v - (1 << 64) if v >= 1 << 63 else v for v in map(int, values)]
        self._set_integer(INTEGER, vr, wrapped)

    def getBoolean(self, vr: Sequence[int], nValues: Optional[int] = None) -> list[bool]:
        """Values of Booleans."""
        return [bool(v) for v in self._get_integer(BOOLEAN, vr)]

    def setBoolean(self, vr: Sequence[int], values: Sequence[Any]) -> None:
        """Set Booleans."""
        self._set_integer(BOOLEAN, vr, [int(bool(v)) for v in values])

    def getString(self, vr: Sequence[int], nValues: Optional[int] = None) -> list[str]:
        """Values of Strings."""
        return [text.decode("utf-8") for text in self._get_string(vr)]

    def setString(self, vr: Sequence[int], values: Sequence[Any]) -> None:
        """Set Strings."""
        self._set_string(vr, values)

    def getBinary(self, vr: Sequence[int], nValues: Optional[int] = None) -> list[bytes]:
        """Values of Binaries."""
        try:
            return self._c.get_binary(self._packed(vr))
        except Error as error:
            self._fail(error)

    def setBinary(self, vr: Sequence[int], values: Sequence[bytes]) -> None:
        """Set Binaries."""
        try:
            self._c.set_binary(self._packed(vr), values)
        except Error as error:
            self._fail(error)

    def getClock(self, vr: Sequence[int]) -> list[bool]:
        """Whether clocks are active."""
        return [bool(v) for v in self._get_integer(CLOCK, vr)]

    def setClock(self, vr: Sequence[int], values: Sequence[Any]) -> None:
        """Activate clocks."""
        self._set_integer(CLOCK, vr, [int(bool(v)) for v in values])

    #------------------------------------ states, derivatives ------------------------------------

    def getFMUState(self) -> ComponentState:
        """Save the state."""
        return self._save()

    def setFMUState(self, state: ComponentState) -> None:
        """Go back to a saved state."""
        self._restore(state)

    def freeFMUState(self, state: ComponentState) -> None:
        """Release a saved state."""
        self._forget(state)

    def serializeFMUState(self, state: ComponentState) -> bytes:
        """A saved state as bytes."""
        return self._serialize(state)

    def deserializeFMUState(self, serializedState: bytes, state: Any = None) -> ComponentState:
        """A saved state from bytes."""
        return self._deserialize(serializedState)

    def getDirectionalDerivative(
        self,
        unknowns: Sequence[int],
        knowns: Sequence[int],
        seed: Sequence[float],
        nSensitivity: Optional[int] = None,
    ) -> list[float]:
        """The derivatives of unknowns in a direction of knowns."""
        return self._directional(unknowns, knowns, seed)


    def getAdjointDerivative(
        self,
        unknowns: Sequence[int],
        knowns: Sequence[int],
        seed: Sequence[float],
        nSensitivity: Optional[int] = None,
    ) -> list[float]:
        """The derivatives of a linear combination of unknowns, with factors `seed`, with respect to
        each of the knowns."""
        n = len(self._packed(knowns)) // 4
        columns = [
            self._directional(unknowns, knowns, [float(i == k) for i in range(n)]) for k in range(n)
        ]
        if any(len(column) != len(seed) for column in columns):
            raise FMICallException("fmi3GetAdjointDerivative", fmi3Error)
        return [sum(s * d for s, d in zip(seed, column)) for column in columns]


class FMU3Model(_FMU3):
    """An FMU of FMI 3.0 for model exchange."""

    def instantiate(
        self,
        visible: bool = False,
        loggingOn: bool = False,
        logMessage: Optional[Callable[..., Any]] = None,
    ) -> None:
        """Make the instance. logMessage: a function that receives messages, or None."""
        self._make(logMessage, loggingOn)

    def enterEventMode(self) -> None:
        """Begin an event."""
        self._enter_event()

    def updateDiscreteStates(self) -> tuple[bool, bool, bool, bool, bool, float]:
        """(discreteStatesNeedUpdate, terminateSimulation, nominalsOfContinuousStatesChanged,
        valuesOfContinuousStatesChanged, nextEventTimeDefined, nextEventTime)"""
        return self._event_update()

    def enterContinuousTimeMode(self) -> int:
        """End an event."""
        self._enter_continuous()
        return fmi3OK

    def completedIntegratorStep(
        self, noSetFMUStatePriorToCurrentPoint: bool = True
    ) -> tuple[bool, bool]:
        """(enterEventMode, terminateSimulation)"""
        return self._completed_step()

    def setTime(self, time: float) -> int:
        """Set the time."""
        return self._set_time(time)

    def setContinuousStates(self, continuousStates: Any, nContinuousStates: int) -> int:
        """Set the states from an array."""
        return self._set_states(continuousStates, nContinuousStates)

    def getContinuousStates(self, continuousStates: Any, nContinuousStates: int) -> int:
        """Write the states into an array."""
        return self._get_array("get_states", continuousStates)

    def getContinuousStateDerivatives(self, derivatives: Any, nContinuousStates: int) -> int:
        """Write the derivatives of the states into an array."""
        return self._get_array("get_derivatives", derivatives)

    def getEventIndicators(self, eventIndicators: Any, nEventIndicators: int) -> int:
        """Write the event indicators into an array."""
        return self._get_array("get_indicators", eventIndicators)

    def getNominalsOfContinuousStates(self, nominals: Any, nContinuousStates: int) -> int:
        """Write the nominal values of the states into an array."""
        return self._get_array("get_nominals", nominals)

    def getNumberOfContinuousStates(self) -> int:
        """The number of states."""
        return len(self._c.get_nominals())

    def getNumberOfEventIndicators(self) -> int:
        """The number of event indicators."""
        return len(self._c.get_indicators())


class FMU3Slave(_FMU3):
    """An FMU of FMI 3.0 for co-simulation.

    Events inside of a step are handled by couplet, unless the caller uses the event mode.
    """

    _stepper = True

    def __init__(self, instanceName: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(instanceName=instanceName, **kwargs)
        self._event_mode = self._early_return = self._initial_event = False

    def instantiate(
        self,
        visible: bool = False,
        loggingOn: bool = False,
        eventModeUsed: bool = False,
        earlyReturnAllowed: bool = False,
        logMessage: Optional[Callable[..., Any]] = None,
        intermediateUpdate: Optional[Callable[..., Any]] = None,
        requiredIntermediateVariables: Optional[Sequence[int]] = None,
    ) -> None:
        """Make the instance. logMessage: a function that receives messages, or None."""
        if intermediateUpdate is not None:
            raise Exception("Intermediate updates are not supported.")
        self._event_mode, self._early_return = eventModeUsed, earlyReturnAllowed
        self._make(logMessage, loggingOn)

    def _after_making(self) -> None:
        """couplet uses the event mode of an FMU where it can, also when the caller does not."""
        if not self._event_mode:
            self._early = [entry for entry in self._early or () if isinstance(entry, str)]
        elif not self._c.capabilities()["zero_step"]:
            self._deliver_early()
            raise Exception(self._failed_to_make)

    def exitInitializationMode(self) -> None:
        """End the initialisation, and the event that follows it."""
        super().exitInitializationMode()
        self._initial_event = True

    def enterEventMode(self) -> None:
        """Begin an event: the next update handles it."""

    def updateDiscreteStates(self) -> tuple[bool, bool, bool, bool, bool, float]:
        """(discreteStatesNeedUpdate, terminateSimulation, nominalsOfContinuousStatesChanged,
        valuesOfContinuousStatesChanged, nextEventTimeDefined, nextEventTime)"""
        if self._initial_event:
            self._initial_event = False
            return False, False, False, False, False, 0.0
        end, _, _, again = self._step(self._time)
        return again, end == TERMINATE, False, False, False, 0.0

    def enterStepMode(self) -> int:
        """End an event."""
        self._initial_event = False
        return fmi3OK

    def getOutputDerivatives(self, vr: Sequence[int], order: Sequence[int]) -> list[float]:
        """Derivatives of outputs with respect to time."""
        return self._output_derivatives(vr, order, "fmi3GetOutputDerivatives")

    def doStep(
        self,
        currentCommunicationPoint: float,
        communicationStepSize: float,
        noSetFMUStatePriorToCurrentPoint: bool = True,
    ) -> tuple[bool, bool, bool, float]:
        """(eventEncountered, terminateSimulation, earlyReturn, lastSuccessfulTime)"""
        t_end = currentCommunicationPoint + communicationStepSize
        self._initial_event = False
        if not self._event_mode:
            end = self._advance(t_end)
        else:
            end = self._step(t_end)[0]
            while end == EVENT and self._time < t_end and not self._early_return:
                end = self._step(t_end)[0]
        if end == REFUSED:
            raise FMICallException("fmi3DoStep", fmi3Discard)
        return end == EVENT, end == TERMINATE, self._time < t_end, self._time


class FMU3ScheduledExecution(_FMU3):
    """An FMU of FMI 3.0 for scheduled execution: its clocks tick when the caller says so."""

    _stepper = True

    def __init__(self, instanceName: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(instanceName=instanceName, **kwargs)

    def instantiate(
        self,
        visible: bool = False,
        loggingOn: bool = False,
        logMessage: Optional[Callable[..., Any]] = None,
    ) -> None:
        """Make the instance. logMessage: a function that receives messages, or None."""
        self._make(logMessage, loggingOn)

    def activateModelPartition(self, clockReference: int, activationTime: float) -> None:
        """Advance to a time, with the clocks that tick on the way and there."""
        while self._time < activationTime:
            self._step(activationTime)
        self._advance(activationTime)
