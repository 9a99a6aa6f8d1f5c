# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Instances of FMUs of FMI 1.0, with the methods of fmpy.fmi1."""

from __future__ import annotations

from ctypes import c_char, c_char_p, c_double, c_int, c_uint, c_void_p
from math import inf
from typing import Any, Optional, Sequence

from ._instance import BOOLEAN, INTEGER, REFUSED, TERMINATE, _FMU
from ._instance import FMICallException as FMICallException
from ._instance import printLogMessage as printLogMessage

fmi1OK, fmi1Warning, fmi1Discard, fmi1Error, fmi1Fatal, fmi1Pending = range(6)
fmi1DoStepStatus, fmi1PendingStatus, fmi1LastSuccessfulTime = range(3)
fmi1True, fmi1False = b"\x01", b"\x00"
# for arrays that functions of the C interface take
fmi1Component, fmi1ValueReference, fmi1String = c_void_p, c_uint, c_char_p
fmi1Real, fmi1Integer, fmi1Boolean = c_double, c_int, c_char


class _FMU1(_FMU):
    """What both kinds have."""

    _version = 1

    def instantiate(
        self,
        instanceName: Optional[str] = None,
        functions: Any = None,
        loggingOn: bool = False,
        **unused: Any,
    ) -> None:
        """Make the instance. functions: a function that receives messages, or None."""
        if isinstance(instanceName, str):
            self.instanceName = instanceName
        self._make(functions if callable(functions) else None, loggingOn)

    def getVersion(self) -> str:
        """The version of FMI."""
        return "1.0"

    def getTypesPlatform(self) -> str:
        """The name of the set of types."""
        return "standard32"

    def setDebugLogging(self, loggingOn: bool) -> None:
        """Accepted: instances log as they were instantiated."""

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
        self._set_integer(BOOLEAN, vr, [int(v not in (0, False, fmi1False)) for v in value])

    def setString(self, vr: Sequence[int], value: Sequence[Any]) -> None:
        """Set Strings."""
        self._set_string(vr, value)


class FMU1Slave(_FMU1):
    """An FMU of FMI 1.0 for co-simulation."""

    _stepper = True

    def initialize(self, tStart: float = 0.0, stopTime: Optional[float] = None) -> int:
        """Initialise at a time."""
        self._setup(tStart, stopTime, None)
        self._enter_init()
        self._exit_init()
        return fmi1OK

    def doStep(
        self,
        currentCommunicationPoint: float,
        communicationStepSize: float,
        newStep: Any = fmi1True,
    ) -> int:
        """Make a step."""
        end = self._advance(currentCommunicationPoint + communicationStepSize)
        if end in (REFUSED, TERMINATE):
            raise FMICallException("fmi1DoStep", fmi1Discard)
        return fmi1OK

    def setRealInputDerivatives(
        self, vr: Sequence[int], order: Sequence[int], value: Sequence[float]
    ) -> None:
        """Derivatives of inputs with respect to time, for the next step."""
        set_input_derivatives(self, vr, order, value, "fmi1SetRealInputDerivatives")

    def getRealOutputDerivatives(self, vr: Sequence[int], order: Sequence[int]) -> list[float]:
        """Derivatives of outputs with respect to time."""
        return self._output_derivatives(vr, order, "fmi1GetRealOutputDerivatives")

    def cancelStep(self) -> None:
        """Steps are complete when doStep() returns: there is none to be cancelled."""
        raise FMICallException("fmi1CancelStep", fmi1Error)

    def getStatus(self, kind: int) -> int:
        """The status of a step that is pending: there is none."""
        return fmi1OK

    def getRealStatus(self, kind: int) -> float:
        """The time that was reached."""
        return self._time


def set_input_derivatives(
    fmu: _FMU, vr: Sequence[int], order: Sequence[int], value: Sequence[float], function: str
) -> None:
    """Derivatives of inputs become polynomials from the present values on."""
    if fmu._c.capabilities()["input_derivatives"] == 0:
        raise FMICallException(function, 3)
    now = fmu._get_real(vr)
    for i, ref in enumerate(vr):
        coefficients = [now[i], 0.0, 0.0, 0.0]
        factorial = 1
        for k in range(1, 4):
            factorial *= k
            given = [v for r, o, v in zip(vr, order, value) if r == ref and o == k]
            coefficients[k] = given[-1] / factorial if given else 0.0
        highest = max(o for r, o in zip(vr, order) if r == ref)
        (own,) = fmu._resolve((ref,))
        # a polynomial that begins in the future has its first value now, whatever the time is
        fmu._c.set_polynomial(own, inf, highest, *coefficients)


class FMU1Model(_FMU1):
    """An FMU of FMI 1.0 for model exchange."""

    _started = False

    def instantiate(
        self,
        instanceName: Optional[str] = None,
        functions: Any = None,
        loggingOn: bool = False,
        **unused: Any,
    ) -> None:
        """Make the instance."""
        super().instantiate(instanceName, functions, loggingOn)
        self._started = False

    def setTime(self, time: float) -> int:
        """Set the time; before the initialisation: the start time."""
        if self._started:
            return self._set_time(time)
        self._setup(time, None, None)
        return fmi1OK

    def _info(self) -> tuple[bool, bool, bool, bool, bool, float]:
        again, terminate, _, states, defined, time = self._event_update()
        if not again:
            self._enter_continuous()
        return not again, False, states, terminate, defined, time

    def initialize(
        self, toleranceControlled: Any = fmi1False, relativeTolerance: float = 0.0
    ) -> tuple[bool, bool, bool, bool, bool, float]:
        """(iterationConverged, stateValueReferencesChanged, stateValuesChanged,
        terminateSimulation, upcomingTimeEvent, nextEventTime)"""
        self._enter_init()
        self._exit_init()
        self._started = True
        if self._integrated:
            return True, False, False, False, False, 0.0
        return self._info()

    def eventUpdate(
        self, intermediateResults: Any = fmi1False
    ) -> tuple[bool, bool, bool, bool, bool, float]:
        """An event: as initialize()."""
        self._enter_event()
        return self._info()

    def reset(self) -> int:
        """Back to the state after the instantiation."""
        self._started = False
        return super().reset()

    def completedIntegratorStep(self) -> bool:
        """Whether an event is due."""
        return self._completed_step()[0]

    def setContinuousStates(self, states: Any, size: int) -> int:
        """Set the states from an array."""
        return self._set_states(states, size)

    def getContinuousStates(self, states: Any, size: int) -> int:
        """Write the states into an array."""
        return self._get_array("get_states", states)

    def getDerivatives(self, derivatives: Any, size: int) -> int:
        """Write the derivatives of the states into an array."""
        return self._get_array("get_derivatives", derivatives)

    def getEventIndicators(self, eventIndicators: Any, size: int) -> int:
        """Write the event indicators into an array."""
        return self._get_array("get_indicators", eventIndicators)

    def getNominalContinuousStates(self, x_nominal: Any, size: int) -> int:
        """Write the nominal values of the states into an array."""
        return self._get_array("get_nominals", x_nominal)
