# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""What the instances of all versions of FMI have in common: their life, their values by reference,
and the failures of their functions as exceptions."""

from __future__ import annotations

import os
import re
from array import array
from typing import Any, Callable, NoReturn, Optional, Sequence, Union

from ..._core import Component, ComponentState
from ..._errors import Error, ModelError, deliver
from ._xml import parse, read_bytes

# kinds of variables in couplet._core.Component
REAL, INTEGER, BOOLEAN, ENUMERATION, STRING, BINARY, CLOCK = range(7)
# ends of a step
DONE, EVENT, REFUSED, TERMINATE = range(4)

LABELS = ("ok", "warning", "discard", "error", "fatal", "pending")

_RETURNED = re.compile(
    r"\b(fmi[123]?)([A-Z]\w*)(?: at t=\S+)? returned fmi[123]?"
    r"(OK|Warning|Discard|Error|Fatal|Pending)"
)
# couplet asks every FMU for these
_OWN_CALLS = re.compile(r"fmi[123]?Get(Version|TypesPlatform|ModelTypesPlatform)\(")
_REFUSED = re.compile(r"\b(fmi[123]?)([A-Z]\w*) cannot be called any more")


class FMICallException(Exception):
    """A function of an FMU has failed."""

    def __init__(self, function: str, status: int) -> None:
        label = LABELS[status] if 0 <= status < 5 else "illegal return code"
        super().__init__(f"{function} failed with status {status} ({label}).")
        #: the name of the function
        self.function = function
        #: the status that it returned
        self.status = status


def printLogMessage(
    component: Any, instanceName: bytes, status: int, category: bytes, message: bytes
) -> None:
    """Print a message of an FMU."""
    print(f"[{LABELS[status].upper()}] {message.decode('utf-8')}")


def pack(refs: Sequence[int]) -> bytes:
    """References as couplet._core.Component takes them."""
    return array("I", refs).tobytes()


def fill(target: Any, values: Sequence[float]) -> None:
    """Write into an array of ctypes or numpy, or through a pointer."""
    for i, value in enumerate(values):
        target[i] = value


class _FMU:
    """The base of all instances.

    guid, modelIdentifier: from the model description. unzipDirectory: the folder of the extracted
    FMU, or the FMU itself, which is then extracted for the time of the instance. fmiCallLogger: is
    called with a text for every call of a function of the FMI.
    """

    _version = 0  # of FMI
    _stepper = False  # for co-simulation

    def __init__(
        self,
        guid: Optional[str] = None,
        modelIdentifier: Optional[str] = None,
        unzipDirectory: Union[str, "os.PathLike[str]"] = "",
        instanceName: Optional[str] = None,
        libraryPath: Union[str, "os.PathLike[str]", None] = None,
        fmiCallLogger: Optional[Callable[[str], Any]] = None,
        requireFunctions: bool = True,
    ) -> None:
        from . import platform, platform_tuple, sharedLibraryExtension

        self.guid = guid
        self.modelIdentifier = str(modelIdentifier)
        self.unzipDirectory = unzipDirectory
        self.instanceName = instanceName if instanceName is not None else self.modelIdentifier
        self.fmiCallLogger = fmiCallLogger
        self.requireFunctions = requireFunctions
        folder = platform_tuple if self._version == 3 else platform
        own = os.path.abspath(
            os.path.join(
                unzipDirectory, "binaries", folder, self.modelIdentifier + sharedLibraryExtension
            )
        )
        if libraryPath is not None and os.path.abspath(libraryPath) != own:
            raise Exception(f"The shared library must be {own}, not {libraryPath}.")
        if not os.path.isfile(own) and not os.path.isfile(unzipDirectory):
            raise Exception(f"Cannot find shared library {own}.")
        #: the instance; None: there is none
        self.component: Optional[Component] = None
        self._failed_to_make = "Failed to instantiate model"
        self._logger: Optional[Callable[..., Any]] = None
        self._refs: dict[tuple[int, ...], bytes] = {}
        self._elements: Optional[dict[int, tuple[int, list[int]]]] = None
        self._time = 0.0
        self._is_set_up = False
        self._integrated: Optional[tuple[str, float, float]] = None

    def __getattr__(self, name: str) -> Any:
        prefix = f"fmi{self._version}"
        if name.startswith(prefix):
            from ._c_functions import c_function

            function = c_function(self, name[len(prefix) :])
            if function is not None:
                return function
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    #------------------------------------ life ------------------------------------

    def _make(self, logger: Optional[Callable[..., Any]], logging_on: bool) -> None:
        if self.component is not None:
            self.component.close()
        self._logger = logger
        self._early: Optional[list[Union[str, tuple[int, bytes, bytes]]]] = []
        level = 2 if logging_on or logger is not None else 1
        try:
            self.component = Component(
                os.fsencode(self.unzipDirectory),
                self.instanceName,
                self._stepper,
                level,
                self._on_call if self.fmiCallLogger is not None else None,
                self._on_message,
                bool(logging_on),
            )
        except ModelError as error:
            self._deliver_early()
            raise Exception(self._failed_to_make) from error
        self._after_making()
        self._deliver_early()
        self._is_set_up = False
        self._integrated = None
        self._refs.clear()

    def _after_making(self) -> None:
        """Called before the messages of the instantiation are delivered."""

    def _deliver_early(self) -> None:
        """Calls and messages of the instantiation, in their order."""
        early, self._early = self._early, None
        for entry in early or ():
            if isinstance(entry, tuple):
                self._log(*entry)
            elif self.fmiCallLogger is not None:
                self.fmiCallLogger(entry)

    def _on_call(self, line: str) -> None:
        """A line of the call log, without its time and instance."""
        text = line.partition(f" {self.instanceName} ")[2] or line
        text = re.sub(r"-> fmi[123]?([A-Z])", r"-> \1", text)
        if self._early is not None:
            if not _OWN_CALLS.match(text):
                self._early.append(text)
        elif self.fmiCallLogger is not None:
            self.fmiCallLogger(text)

    def _on_message(self, level: int, who: str, text: str) -> None:
        if who != self.instanceName:
            deliver(level, who, text)
            return
        match = re.match(r"\[([^\]]*)\] (.*)", text, re.S)
        category, message = match.groups() if match else ("", text)
        arguments = ({0: 3, 1: 1}.get(level, 0), category.encode(), message.encode())
        if self._early is not None:
            self._early.append(arguments)
        else:
            self._log(*arguments)

    def _log(self, status: int, category: bytes, message: bytes) -> None:
        name = self.instanceName.encode()
        (self._logger or printLogMessage)(None, name, status, category, message)

    @property
    def _c(self) -> Component:
        if self.component is None:
            raise Exception("The FMU has not been instantiated.")
        return self.component

    def _fail(self, error: Error) -> NoReturn:
        """The exception of FMPy for a failed call."""
        match = _RETURNED.search(error.message)
        if match:
            status = LABELS.index(match[3].lower())
            raise FMICallException(f"fmi{self._version}{match[2]}", status) from error
        match = _REFUSED.search(error.message)
        if match:
            raise FMICallException(f"fmi{self._version}{match[2]}", 3) from error
        raise error

    def _setup(self, start: float, stop: Optional[float], tolerance: Optional[float]) -> None:
        try:
            self._c.setup(start, stop, tolerance)
        except Error as error:
            self._fail(error)
        self._is_set_up = True
        self._time = start

    def _enter_init(self) -> None:
        if not self._is_set_up:
            self._setup(0.0, None, None)
        try:
            self._c.enter_init()
        except Error as error:
            self._fail(error)

    def _exit_init(self) -> None:
        try:
            self._c.exit_init()
        except Error as error:
            self._fail(error)

    def terminate(self) -> int:
        """End the simulation."""
        try:
            self._c.terminate()
        except Error as error:
            self._fail(error)
        return 0

    def reset(self) -> int:
        """Back to the state after the instantiation."""
        try:
            self._c.reset()
        except Error as error:
            self._fail(error)
        self._is_set_up = False
        self._integrated = None
        return 0

    def freeInstance(self) -> None:
        """Free the instance."""
        self._c.close()

    def freeLibrary(self) -> None:
        """The library is unloaded with its last instance."""

    def integrate(self, solver: str, tolerance: float, step: float) -> None:
        """Give a model exchange FMU a solver of couplet, before its initialisation."""
        try:
            self._c.integrate(solver, tolerance, step)
        except Error as error:
            self._fail(error)
        self._integrated = (solver, tolerance, step)

    #------------------------------------ references ------------------------------------

    def _variables(self) -> dict[int, tuple[int, list[int]]]:
        """Of each value reference: the kind, and the references of its elements in couplet."""
        if self._elements is not None:
            return self._elements
        known, arrays = self._c.variables()
        place = {name: i for i, (name, _, _) in enumerate(known)}
        root = parse(read_bytes(self.unzipDirectory, "modelDescription.xml") or b"")
        self._elements = {}
        for group in root.findall("ModelVariables"):
            for element in group:
                name, ref = element.get("name"), element.get("valueReference")
                if name is None or ref is None or element.get("alias") == "negatedAlias":
                    continue
                first, count = arrays.get(name, (place.get(name, -1), 1))
                if first >= 0:
                    rows = known[first : first + count]
                    kind = rows[0][1] if rows else REAL
                    self._elements.setdefault(int(ref), (kind, [row[2] for row in rows]))
        return self._elements

    def _packed(self, vr: Sequence[int]) -> bytes:
        """Value references of FMI 2.0 are those of couplet."""
        key = tuple(vr)
        packed = self._refs.get(key)
        if packed is None:
            packed = self._refs[key] = pack(self._resolve(key))
        return packed

    def _resolve(self, vr: tuple[int, ...]) -> list[int]:
        if self._version == 2:
            return list(vr)
        known = self._variables()
        for ref in vr:
            if ref not in known:
                raise FMICallException(f"fmi{self._version}Get or Set of value reference {ref}", 3)
        return [element for ref in vr for element in known[ref][1]]

    #------------------------------------ values ------------------------------------

    def _get_real(self, vr: Sequence[int]) -> list[float]:
        try:
            return self._c.get_real(self._packed(vr))
        except Error as error:
            self._fail(error)

    def _set_real(self, vr: Sequence[int], value: Sequence[float]) -> None:
        try:
            self._c.set_real(self._packed(vr), value)
        except Error as error:
            self._fail(error)

    def _get_integer(self, kind: int, vr: Sequence[int]) -> list[int]:
        try:
            return self._c.get_integer(kind, self._packed(vr))
        except Error as error:
            self._fail(error)

    def _set_integer(self, kind: int, vr: Sequence[int], value: Sequence[int]) -> None:
        try:
            self._c.set_integer(kind, self._packed(vr), value)
        except Error as error:
            self._fail(error)

    def _get_string(self, vr: Sequence[int]) -> list[bytes]:
        try:
            return self._c.get_string(self._packed(vr))
        except Error as error:
            self._fail(error)

    def _set_string(self, vr: Sequence[int], value: Sequence[Union[str, bytes, None]]) -> None:
        texts = ["" if text is None else text for text in value]
        try:
            self._c.set_string(self._packed(vr), texts)
        except Error as error:
            self._fail(error)

    #------------------------------------ steps ------------------------------------

    def _step(self, t_end: float, limit: float = 0.0) -> tuple[int, float, bool, bool]:
        try:
            result = self._c.step(t_end, limit)
        except Error as error:
            self._fail(error)
        self._time = result[1]
        return result

    def _advance(self, t_end: float) -> int:
        """Step to a time and handle the events on the way and there."""
        idle = 0
        while True:
            before = self._time
            end, time, _, _ = self._step(t_end)
            if end != EVENT:
                return end
            idle = idle + 1 if time == before else 0
            if idle > 1000:
                raise FMICallException(f"fmi{self._version}DoStep", 2)

    def _output_derivatives(
        self, vr: Sequence[int], order: Sequence[int], function: str
    ) -> list[float]:
        """First derivatives of outputs, of the FMU or of variables that it declares as such."""
        if any(o != 1 for o in order):
            raise FMICallException(function, 3)
        if self._c.capabilities()["output_derivatives"] > 0:
            try:
                return self._c.output_derivatives(self._packed(vr))
            except Error as error:
                self._fail(error)
        derivatives = self._derivatives()
        if any(ref not in derivatives for ref in vr):
            raise FMICallException(function, 3)
        return self._get_real([derivatives[ref] for ref in vr])

    def _derivatives(self) -> dict[int, int]:
        """The value reference of the derivative of each state."""
        from .model_description import read_model_description

        description = read_model_description(os.fspath(self.unzipDirectory), validate=False)
        return {
            v.derivative.valueReference: v.valueReference
            for v in description.modelVariables
            if v.derivative is not None and v.alias is None
        }

    #------------------------------------ models ------------------------------------

    def _enter_event(self) -> None:
        try:
            self._c.enter_event()
        except Error as error:
            self._fail(error)

    def _enter_continuous(self) -> None:
        try:
            self._c.enter_continuous()
        except Error as error:
            self._fail(error)

    def _event_update(self) -> tuple[bool, bool, bool, bool, bool, float]:
        try:
            again, terminate, nominals, states, time = self._c.event_update()
        except Error as error:
            self._fail(error)
        defined = time < float("inf")
        return again, terminate, nominals, states, defined, time if defined else 0.0

    def _completed_step(self) -> tuple[bool, bool]:
        try:
            return self._c.completed_step()
        except Error as error:
            self._fail(error)

    def _set_time(self, time: float) -> int:
        try:
            self._c.set_time(time)
        except Error as error:
            self._fail(error)
        return 0

    def _get_array(self, name: str, target: Any) -> int:
        try:
            fill(target, getattr(self._c, name)())
        except Error as error:
            self._fail(error)
        return 0

    def _set_states(self, x: Any, nx: int) -> int:
        values = [x[i] for i in range(nx)]
        try:
            if self._integrated:
                self._c.write_states(values)
            else:
                self._c.set_states(values)
        except Error as error:
            self._fail(error)
        return 0

    #------------------------------------ saved states ------------------------------------

    def _save(self) -> ComponentState:
        try:
            return self._c.save()
        except Error as error:
            self._fail(error)

    def _restore(self, state: ComponentState) -> None:
        try:
            self._c.restore(state)
        except Error as error:
            self._fail(error)

    def _forget(self, state: ComponentState) -> None:
        self._c.forget(state)

    def _serialize(self, state: ComponentState) -> bytes:
        try:
            return self._c.serialize(state)
        except Error as error:
            self._fail(error)

    def _deserialize(self, data: bytes) -> ComponentState:
        try:
            return self._c.deserialize(bytes(data))
        except Error as error:
            self._fail(error)

    def _directional(
        self, unknowns: Sequence[int], knowns: Sequence[int], seed: Sequence[float]
    ) -> list[float]:
        try:
            return self._c.directional(self._packed(unknowns), self._packed(knowns), seed)
        except Error as error:
            self._fail(error)
