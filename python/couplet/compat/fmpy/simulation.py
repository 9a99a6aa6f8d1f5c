# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""simulate_fmu and instantiate_fmu with the arguments, output grids and results of FMPy.

Model exchange FMUs are integrated by couplet's solvers; steps, events and inputs of co-simulation
are those of FMPy.
"""

from __future__ import annotations

import os
from math import ceil, inf, isclose, log10
from time import time as current_time
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._instance import DONE, EVENT, TERMINATE, _FMU
from ._recording import Input as Input
from ._recording import Recorder as Recorder
from ._recording import SimulationResult as SimulationResult
from ._recording import apply_start_values as apply_start_values
from ._recording import has_start_value as has_start_value
from ._recording import settable_in_initialization_mode as settable_in_initialization_mode
from ._recording import settable_in_instantiated as settable_in_instantiated
from .fmi1 import FMICallException as FMICallException
from .fmi1 import FMU1Model as FMU1Model
from .fmi1 import FMU1Slave as FMU1Slave
from .fmi2 import FMU2Model as FMU2Model
from .fmi2 import FMU2Slave as FMU2Slave
from .fmi2 import fmi2Discard, fmi2LastSuccessfulTime, fmi2Terminated
from .fmi3 import FMU3Model as FMU3Model
from .fmi3 import FMU3ScheduledExecution as FMU3ScheduledExecution
from .fmi3 import FMU3Slave as FMU3Slave
from .model_description import ModelDescription, read_model_description
from .util import auto_interval

Number = Union[float, str]
Path = Union[str, "os.PathLike[str]"]

_CLASSES: dict[tuple[int, str], type[Any]] = {
    (1, "CoSimulation"): FMU1Slave,
    (2, "CoSimulation"): FMU2Slave,
    (3, "CoSimulation"): FMU3Slave,
    (1, "ModelExchange"): FMU1Model,
    (2, "ModelExchange"): FMU2Model,
    (3, "ModelExchange"): FMU3Model,
    (3, "ScheduledExecution"): FMU3ScheduledExecution,
}


#------------------------------------ instances ------------------------------------


def instantiate_fmu(
    unzipdir: Path,
    model_description: ModelDescription,
    fmi_type: Optional[str] = None,
    visible: bool = False,
    debug_logging: bool = False,
    logger: Optional[Callable[..., Any]] = None,
    fmi_call_logger: Optional[Callable[[str], Any]] = None,
    library_path: Optional[Path] = None,
    early_return_allowed: bool = False,
    event_mode_used: bool = False,
    intermediate_update: Optional[Callable[..., Any]] = None,
    require_functions: bool = True,
    required_intermediate_variables: Optional[Sequence[int]] = None,
) -> Any:
    """Make an instance of an extracted FMU, or of an FMU; see simulate_fmu() for the arguments."""
    version = model_description.fmiMajorVersion
    kinds = {
        "CoSimulation": model_description.coSimulation,
        "ModelExchange": model_description.modelExchange,
        "ScheduledExecution": model_description.scheduledExecution,
    }
    for name, kind in kinds.items():
        if kind is None or fmi_type not in (None, name) or (version, name) not in _CLASSES:
            continue
        fmu = _CLASSES[version, name](
            guid=model_description.guid,
            modelIdentifier=kind.modelIdentifier,
            unzipDirectory=unzipdir,
            instanceName=None,
            libraryPath=library_path,
            fmiCallLogger=fmi_call_logger,
            requireFunctions=require_functions,
        )
        if version == 1:
            fmu.instantiate(functions=logger, loggingOn=debug_logging)
        elif version == 2:
            fmu.instantiate(visible=visible, callbacks=logger, loggingOn=debug_logging)
        elif name == "CoSimulation":
            fmu.instantiate(
                visible=visible,
                loggingOn=debug_logging,
                eventModeUsed=event_mode_used,
                earlyReturnAllowed=early_return_allowed,
                logMessage=logger,
                intermediateUpdate=intermediate_update,
                requiredIntermediateVariables=required_intermediate_variables,
            )
        else:
            fmu.instantiate(visible=visible, loggingOn=debug_logging, logMessage=logger)
        return fmu
    raise Exception(f'FMI type "{fmi_type}" is not supported by the FMU')


#------------------------------------ arguments ------------------------------------


def _type_of(fmi_type: Optional[str], fmu: Any, description: ModelDescription) -> str:
    if fmi_type is None and fmu is not None:
        fmi_type = "CoSimulation" if getattr(fmu, "_stepper", False) else "ModelExchange"
    elif fmi_type is None:
        fmi_type = "ModelExchange" if description.coSimulation is None else "CoSimulation"
    if fmi_type not in ("ModelExchange", "CoSimulation"):
        raise Exception('fmi_type must be one of "ModelExchange" or "CoSimulation"')
    return fmi_type


def _check_platform(filename: Any, remote_platform: Optional[str]) -> None:
    from . import platform, supported_platforms
    from .util import can_simulate

    platforms = supported_platforms(filename)
    if platform not in platforms and remote_platform is None:
        raise Exception(f"The current platform ({platform}) is not supported by the FMU.")
    if not can_simulate(platforms, remote_platform)[0]:
        raise Exception(f"The FMU cannot be simulated on the current platform ({platform}).")


def _fixed_interval(description: ModelDescription, length: float) -> Optional[float]:
    """The interval that a co-simulation FMU proposes, doubled until there are at most 1000."""
    kind, experiment = description.coSimulation, description.defaultExperiment
    interval: Optional[float] = None
    if kind is not None and kind.fixedInternalStepSize is not None:
        interval = float(kind.fixedInternalStepSize)
    elif experiment is not None and experiment.stepSize is not None:
        interval = float(experiment.stepSize)
    while interval is not None and length / interval > 1000:
        interval *= 2
    return interval


def simulate_fmu(
    filename: Path,
    validate: bool = True,
    start_time: Optional[Number] = None,
    stop_time: Optional[Number] = None,
    solver: Optional[str] = "CVode",
    step_size: Optional[Number] = None,
    relative_tolerance: Optional[Number] = None,
    output_interval: Optional[Number] = None,
    record_events: bool = True,
    fmi_type: Optional[str] = None,
    start_values: dict[str, Any] = {},
    apply_default_start_values: bool = False,
    input: Optional[npt.NDArray[Any]] = None,
    output: Optional[Sequence[str]] = None,
    timeout: Optional[Number] = None,
    debug_logging: bool = False,
    visible: bool = False,
    logger: Optional[Callable[..., Any]] = None,
    fmi_call_logger: Optional[Callable[[str], Any]] = None,
    step_finished: Optional[Callable[[float, Recorder], bool]] = None,
    model_description: Optional[ModelDescription] = None,
    fmu_instance: Optional[_FMU] = None,
    set_input_derivatives: bool = False,
    remote_platform: Optional[str] = "auto",
    early_return_allowed: bool = False,
    use_event_mode: bool = False,
    initialize: bool = True,
    terminate: bool = True,
    fmu_state: Any = None,
    set_stop_time: bool = True,
) -> SimulationResult:
    """Simulate an FMU, or a folder with an extracted one.

    validate: check the model description and that all start values are set.
    start_time, stop_time: default to those of the model, or to 0 and one second after the start.
    solver: "CVode" or "Euler", for model exchange; step_size: of Euler.
    relative_tolerance: of CVode, and of co-simulation FMUs that take one.
    output_interval: between rows; record_events: record both sides of events (model exchange).
    fmi_type: "ModelExchange" or "CoSimulation"; default: the latter, if the FMU has it.
    start_values: by name: numbers, texts, or pairs of a number and a unit.
    input: a structured array (see Input); output: names, by default all outputs.
    timeout: seconds after which the simulation is stopped.
    step_finished: is called with the time and the Recorder after every step; False stops.
    model_description, fmu_instance: from read_model_description() and instantiate_fmu().
    set_input_derivatives: pass slopes of inputs to co-simulation FMUs.
    use_event_mode, early_return_allowed: for co-simulation of FMI 3.0.
    initialize, terminate: whether to call these functions (co-simulation).
    fmu_state: a saved state, or its bytes, from which the simulation continues.
    set_stop_time: tell the FMU the stop time.

    Returns a structured array; its first field is "time".
    """
    if fmu_instance is None:
        _check_platform(filename, remote_platform)
    if model_description is None:
        model_description = read_model_description(filename, validate=validate)
    fmi_type = _type_of(fmi_type, fmu_instance, model_description)
    if initialize is False:
        if fmi_type != "CoSimulation":
            raise Exception("If initialize is False, the interface type must be 'CoSimulation'.")
        if fmu_instance is None and fmu_state is None:
            raise Exception("If initialize is False, fmu_instance or fmu_state must be provided.")

    experiment = model_description.defaultExperiment
    if start_time is None:
        start_time = (experiment.startTime if experiment else None) or 0.0
    start = float(start_time)
    if stop_time is None:
        stop_time = experiment.stopTime if experiment else None
    stop = start + 1.0 if stop_time is None else float(stop_time)
    if relative_tolerance is None and experiment is not None:
        relative_tolerance = experiment.tolerance
    run = _Run(model_description, start, stop)
    run.step_size = None if step_size is None else float(step_size)
    if run.step_size is None and stop > start:
        run.step_size = float(10 ** (np.round(log10(stop - start)) - 3))
    run.tolerance = None if relative_tolerance is None else float(relative_tolerance)
    run.interval = None if output_interval is None else float(output_interval)
    if run.interval is None and fmi_type == "CoSimulation":
        run.interval = _fixed_interval(model_description, stop - start)
    run.timeout = None if timeout is None else float(timeout)
    run.signals, run.output, run.validate = input, output, validate
    run.start_values, run.step_finished = start_values, step_finished
    run.stop_for_fmu = stop if set_stop_time else None

    fmu: Any = fmu_instance
    if fmu is None:
        fmu = instantiate_fmu(
            filename, model_description, fmi_type, visible, debug_logging, logger, fmi_call_logger,
            None, early_return_allowed, use_event_mode,
        )
    try:
        if fmu_state is not None:
            _set_state(fmu, fmu_state, model_description)
            initialize = False
        if fmi_type == "ModelExchange":
            return _simulate_me(run, fmu, solver, record_events)
        return _simulate_cs(
            run, fmu, set_input_derivatives, use_event_mode, early_return_allowed, initialize,
            terminate,
        )
    finally:
        if fmu_instance is None:
            fmu.freeInstance()


def _set_state(fmu: Any, state: Any, description: ModelDescription) -> None:
    if description.fmiVersion == "1.0":
        raise Exception("Setting the FMU state is not supported for FMI version 1.0.")
    if isinstance(state, bytes):
        own = fmu.deserializeFMUState(state)
        fmu.setFMUState(own)
        fmu.freeFMUState(own)
    else:
        fmu.setFMUState(state)


class _Run:
    """What both kinds of simulations need."""

    step_size: Optional[float]
    tolerance: Optional[float]
    interval: Optional[float]
    timeout: Optional[float]
    signals: Optional[npt.NDArray[Any]]
    output: Optional[Sequence[str]]
    start_values: dict[str, Any]
    step_finished: Optional[Callable[[float, Recorder], bool]]
    validate: bool
    stop_for_fmu: Optional[float]

    def __init__(self, description: ModelDescription, start: float, stop: float) -> None:
        self.description, self.start, self.stop = description, start, stop
        self.version = description.fmiMajorVersion
        self.began = current_time()

    def timed_out(self) -> bool:
        return self.timeout is not None and current_time() - self.began > self.timeout

    def check_start_values(self, left: dict[str, Any]) -> None:
        if self.validate and left:
            raise Exception(
                "The start values for the following variables could not be set: "
                + ", ".join(left)
            )

    def initialize(self, fmu: Any, inputs: Input) -> None:
        """Set start values and inputs, and initialise."""
        left, d = self.start_values, self.description
        if self.version == 1:
            left = apply_start_values(fmu, d, left, has_start_value)
            inputs.apply(self.start)
            if isinstance(fmu, FMU1Slave):
                fmu.initialize(tStart=self.start, stopTime=self.stop_for_fmu)
            else:
                fmu.initialize()
        else:
            times = {
                "tolerance": self.tolerance,
                "startTime": self.start,
                "stopTime": self.stop_for_fmu,
            }
            if self.version == 2:
                fmu.setupExperiment(**times)
            left = apply_start_values(fmu, d, left, settable_in_instantiated)
            fmu.enterInitializationMode(**times if self.version == 3 else {})
            left = apply_start_values(fmu, d, left, settable_in_initialization_mode)
            inputs.apply(self.start)
            fmu.exitInitializationMode()
        self.check_start_values(left)


#------------------------------------ model exchange ------------------------------------


def _follow(fmu: _FMU, inputs: Input, time: float) -> None:
    """Continuous inputs as functions of time up to the next discontinuity."""
    if inputs.t is None:
        return
    first, last = inputs.segment(time)
    t = inputs.t[first : last + 1].tobytes()
    for variables, _, table, _ in inputs.continuous:
        for variable, rows in zip(variables, table):
            if rows.ndim == 1:
                rows = rows[:, np.newaxis]
            elements = fmu._resolve((variable.valueReference,))
            columns = np.asarray(rows.reshape(len(rows), -1), dtype=float)
            for element, column in zip(elements, columns.T):
                fmu._c.set_table(element, t, column[first : last + 1].tobytes())


class _Solver:
    """A solver of couplet: it stops at events, which it locates."""

    def __init__(self, fmu: Any, name: str, tolerance: float, step: float) -> None:
        self.fmu = fmu
        fmu.integrate(name, tolerance, step)

    def begin(self, inputs: Input, start: float) -> None:
        """After the initialisation."""
        _follow(self.fmu, inputs, start)

    def step(self, time: float, target: float, limit: float) -> tuple[int, float]:
        """Towards a time; inputs are given up to a limit. Returns how it ended, and the time."""
        end, reached, _, _ = self.fmu._step(target, limit)
        return end, reached

    def handle(self, time: float, inputs: Input, at_jump: bool) -> bool:
        """An event. Returns whether the model ends the simulation."""
        if at_jump:
            inputs.apply(time, continuous=False, after_event=True)
            _follow(self.fmu, inputs, time)
        again = True
        while again:
            end, _, _, again = self.fmu._step(self.fmu._time)
            if end == TERMINATE:
                return True
        return False


class _Euler:
    """Euler's method with steps of at most step_size. As in FMPy, a state event takes effect at the
    next row or time event."""

    def __init__(self, fmu: Any, step_size: float) -> None:
        self.fmu, self.h, self.next_time = fmu, step_size, inf
        self.z: list[float] = []

    def _updates(self) -> bool:
        again = True
        while again:
            again, terminate, _, _, defined, time = self.fmu._event_update()
            self.next_time = time if defined else inf
            if terminate:
                return True
        self.fmu._enter_continuous()
        return False

    def begin(self, inputs: Input, start: float) -> None:
        """After the initialisation."""
        self.inputs = inputs
        if isinstance(self.fmu, FMU1Model):  # it has left the event
            self.fmu._enter_event()
        if self._updates():
            raise Exception("Model requested termination during initial event update.")
        self.z = self.fmu._c.get_indicators()

    def step(self, time: float, target: float, limit: float) -> tuple[int, float]:
        """Towards a time."""
        if target > self.next_time and not isclose(target, self.next_time):
            target = self.next_time
        model, before = self.fmu._c, self.z
        n = max(1, ceil((target - time) / self.h - 1e-9))
        event = terminate = False
        h = (target - time) / n
        for i in range(n):
            x = zip(model.get_states(), model.get_derivatives())
            t = target if i + 1 == n else time + h * (i + 1)
            states = [a + h * da for a, da in x]
            self.fmu._set_time(t)
            model.set_states(states)
            self.inputs.apply(t, discrete=False)
            wanted, terminate = model.completed_step()
            event = event or wanted
            if terminate:
                return TERMINATE, target
        self.z = model.get_indicators()
        crossed = any((a < 0 <= b) or (a > 0 >= b) for a, b in zip(before, self.z))
        due = event or crossed or isclose(target, self.next_time)
        return EVENT if due else DONE, target

    def handle(self, time: float, inputs: Input, at_jump: bool) -> bool:
        """An event. Returns whether the model ends the simulation."""
        self.fmu._enter_event()
        if at_jump:
            inputs.apply(time, after_event=True)
        return self._updates()


def _solver_of(run: _Run, fmu: Any, solver: Optional[str]) -> Union[_Solver, _Euler]:
    """The solver; sets the intervals that are not given."""
    length = run.stop - run.start
    tolerance = 1e-5 if run.tolerance is None else run.tolerance
    run.tolerance = None  # of co-simulation only
    if run.interval is None:
        run.interval = auto_interval(length) if run.step_size is None else run.step_size
        while run.step_size is not None and length / run.interval > 1000:
            run.interval *= 2
    if run.step_size is None:
        run.step_size = run.interval
    if solver is None or solver == "CVode":
        return _Solver(fmu, "cvode", tolerance, length / 50)
    if solver != "Euler":
        raise Exception(f"Unknown solver: {solver}. Must be one of 'Euler' or 'CVode'.")
    ratio = run.interval / run.step_size
    if not np.isclose(round(ratio) * run.step_size, run.interval):
        raise Exception("output_interval must be a multiple of step_size for fixed step solvers")
    return _Euler(fmu, run.step_size)


def _simulate_me(
    run: _Run, fmu: Any, solver_name: Optional[str], record_events: bool
) -> SimulationResult:
    solver = _solver_of(run, fmu, solver_name)
    if run.version == 1:
        fmu.setTime(run.start)
    inputs = Input(fmu, run.description, run.signals)
    run.initialize(fmu, inputs)
    solver.begin(inputs, run.start)
    assert run.interval is not None
    recorder = Recorder(fmu, run.description, run.output, run.interval)
    time = next_regular = run.start
    steps, event = 0, True
    while True:
        sampled = record_events or isclose(time, next_regular)
        if sampled:
            recorder.sample(time)
        if run.timed_out() or time > run.stop or isclose(time, run.stop):
            break
        next_regular = run.start + (steps + 1) * run.interval
        jump = inputs.nextEvent(time)
        target = next_regular
        for limit in (jump, run.stop):
            if target > limit and not isclose(target, limit):
                target = limit
        end, reached = solver.step(time, target, min(jump, run.stop))
        # an event that differs from a regular point by rounding belongs to its row
        moved = event or not (sampled and isclose(reached, time))
        time = reached
        if isclose(time, next_regular):
            steps += 1
        if end == TERMINATE:
            break
        at_jump = isclose(target, jump) and isclose(time, target)
        event = end == EVENT or at_jump
        if event:
            if record_events and moved:
                recorder.sample(time, force=True)
            if solver.handle(time, inputs, at_jump):
                break
        if run.step_finished is not None and not run.step_finished(time, recorder):
            break
    fmu.terminate()
    return recorder.result()


#------------------------------------ co-simulation ------------------------------------


def _settle(fmu: Any) -> bool:
    """The updates of an event of FMI 3.0. Returns whether the model ends the simulation."""
    again, terminate = True, False
    while again and not terminate:
        again, terminate, _, _, _, _ = fmu.updateDiscreteStates()
    return terminate


def _step_2(fmu: Any, time: float, target: float) -> tuple[float, bool]:
    """Returns the time reached, and whether the model ended the simulation."""
    try:
        fmu.doStep(currentCommunicationPoint=time, communicationStepSize=target - time)
    except FMICallException as error:
        if error.status != fmi2Discard:
            raise
        if fmu.getBooleanStatus(fmi2Terminated):
            return fmu.getRealStatus(fmi2LastSuccessfulTime), True
        raise
    return target, False


def _simulate_cs(
    run: _Run,
    fmu: Any,
    set_input_derivatives: bool,
    use_event_mode: bool,
    early_return_allowed: bool,
    initialize: bool,
    terminate: bool,
) -> SimulationResult:
    kind = run.description.coSimulation
    if kind is None:
        raise Exception('FMI type "CoSimulation" is not supported by the FMU')
    if set_input_derivatives and not kind.canInterpolateInputs:
        raise Exception(
            "Parameter set_input_derivatives is True but the FMU cannot interpolate inputs."
        )
    interval = run.interval if run.interval is not None else auto_interval(run.stop - run.start)
    any_step = kind.canHandleVariableCommunicationStepSize
    inputs = Input(fmu, run.description, run.signals, set_input_derivatives)
    derivatives, inputs.set_input_derivatives = inputs.set_input_derivatives, False
    if initialize:
        run.initialize(fmu, inputs)
        if run.version == 3 and use_event_mode:
            if _settle(fmu):
                raise Exception(
                    "The FMU requested to terminate the simulation during initialization."
                )
            fmu.enterStepMode()
    else:
        run.check_start_values(run.start_values)
    inputs.set_input_derivatives = derivatives
    recorder = Recorder(fmu, run.description, run.output, interval)
    time = run.start
    recorder.sample(time, force=True)
    steps = 0
    applied = False  # inputs of this time, in an event
    while not run.timed_out() and time < run.stop and not isclose(time, run.stop):
        next_regular = target = run.start + (steps + 1) * interval
        jump = inputs.nextEvent(time)
        if any_step and target > jump and not isclose(target, jump):
            target = jump
        if target > run.stop and not isclose(target, run.stop):
            if not any_step:
                break
            target = run.stop
        at_jump = isclose(target, jump)
        if run.version < 3:
            inputs.apply(time, after_event=True)
            if run.version == 1:
                fmu.doStep(currentCommunicationPoint=time, communicationStepSize=target - time)
                time, ended = target, False
            else:
                time, ended = _step_2(fmu, time, target)
            recorder.sample(time)
        else:
            if not applied:
                inputs.apply(time, after_event=not use_event_mode)
            event, ended, early, reached = fmu.doStep(
                currentCommunicationPoint=time, communicationStepSize=target - time
            )
            if early and not early_return_allowed and not ended:
                raise Exception("FMU returned early from doStep() but Early Return is not allowed.")
            time = reached if early and reached < target else target
            recorder.sample(time)
            applied = use_event_mode and (at_jump or event) and not ended
            if applied:
                fmu.enterEventMode()
                inputs.apply(time, after_event=True)
                ended = _settle(fmu)
                fmu.enterStepMode()
                recorder.sample(time)
        if ended:
            break
        if isclose(time, next_regular):
            steps += 1
        if run.step_finished is not None and not run.step_finished(time, recorder):
            break
    if terminate:
        fmu.terminate()
    return recorder.result()
