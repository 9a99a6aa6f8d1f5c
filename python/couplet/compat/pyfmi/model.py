# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Models: their variables, simulations, and the functions of FMI."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union

from ..._core import Component
from ..._errors import Error, log_level
from ..._info import Info, Variable, info
from ._numbers import causality_of, is_one, type_of, variability_of
from .result import (
    InvalidOptionException,
    Options,
    SimulationResult,
    co_simulation_options,
    input_of,
    model_exchange_options,
    record_of,
    solver_settings,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..._run import Run

__all__ = ["FMUException", "FMUModel", "InvalidFMUException", "InvalidOptionException", "load_fmu"]

_REAL, _INTEGER, _BOOLEAN, _ENUMERATION, _STRING = range(5)
DEFAULT = "Default"


class FMUException(Exception):
    """A call of an FMU failed, or is not possible now."""


class InvalidFMUException(FMUException):
    """The FMU cannot be loaded."""


class ScalarVariable:
    """What is known of a variable."""

    def __init__(self, variable: Variable, reference: int, version: str) -> None:
        self.name = variable.name
        self.description = variable.description
        self.value_reference = reference
        #: numbers, as in :mod:`couplet.compat.pyfmi.fmi`
        self.type = type_of(version, variable)
        self.causality = causality_of(version, variable)
        self.variability = variability_of(version, variable)
        self._variable = variable

    def __repr__(self) -> str:
        v = self._variable
        return f"<ScalarVariable {self.name}: {v.type}, {v.causality}, {v.variability}>"


class EventInfo:
    """The outcome of an event update."""

    def __init__(self) -> None:
        self.newDiscreteStatesNeeded = False
        self.terminateSimulation = False
        self.nominalsOfContinuousStatesChanged = False
        self.valuesOfContinuousStatesChanged = False
        self.nextEventTimeDefined = False
        self.nextEventTime = 0.0


def _pack(refs: Iterable[int]) -> bytes:
    return array("I", refs).tobytes()


def _refs(valueref: Any) -> list[int]:
    return [int(valueref)] if not hasattr(valueref, "__iter__") else [int(v) for v in valueref]


def _values(values: Any) -> list[Any]:
    return list(values) if hasattr(values, "__iter__") and not isinstance(values, str) else [values]


class FMUModel:
    """An FMU. Start values are set before :meth:`simulate` or :meth:`initialize`."""

    _stepper = False
    _version = "2.0"

    def __init__(self, fmu: Union[str, "os.PathLike[str]"], log_file_name: str = "", **_: Any) -> None:
        self._path = os.fspath(fmu)
        try:
            self._info: Info = info(self._path)
        except Error as error:
            raise InvalidFMUException(str(error)) from error
        self._starts: dict[str, Any] = {}
        self._component: Optional[Component] = None
        self._references: Optional[dict[str, tuple[int, int]]] = None
        self._run: Optional[Run] = None
        self._time: Optional[float] = None
        self._event_info: Any = EventInfo()
        self._simulated = False

    #------------------------------------ description ------------------------------------

    def get_name(self) -> str:
        """The name of the model."""
        return self._info.name

    get_identifier = get_name

    def get_version(self) -> str:
        """The version of FMI."""
        return self._version

    def get_description(self) -> str:
        return self._info.description

    def get_author(self) -> str:
        return self._info.author

    def get_model_version(self) -> str:
        return self._info.version

    def get_copyright(self) -> str:
        return self._info.copyright

    def get_license(self) -> str:
        return self._info.license

    def get_generation_tool(self) -> str:
        return self._info.generation_tool

    def get_generation_date_and_time(self) -> str:
        return self._info.generation_date

    def get_default_experiment_start_time(self) -> float:
        return self._info.experiment.start or 0.0

    def get_default_experiment_stop_time(self) -> float:
        stop = self._info.experiment.stop
        return 1.0 if stop is None else stop

    def get_default_experiment_tolerance(self) -> float:
        return self._info.experiment.rtol or 1e-4

    def get_default_experiment_step(self) -> Optional[float]:
        return self._info.experiment.step

    def get_ode_sizes(self) -> tuple[int, int]:
        """The numbers of continuous states and of event indicators."""
        return len(self._info.states), self._info.n_indicators

    def _known(self, name: str) -> Variable:
        try:
            return self._info.variables[name]
        except KeyError:
            raise FMUException(f"The variable {name} could not be found.") from None

    def get_model_variables(
        self,
        type: Any = None,
        include_alias: bool = True,
        causality: Any = None,
        variability: Any = None,
        only_start: bool = False,
        only_fixed: bool = False,
        filter: Any = None,
    ) -> dict[str, ScalarVariable]:
        """Variables by name, those of a type, a causality or a variability (numbers as FMI2_INPUT, or texts), or whose
        names match patterns with * and ?."""
        import fnmatch

        patterns = None if filter is None else [filter] if isinstance(filter, str) else list(filter)
        seen: set[tuple[str, int]] = set()
        found = {}
        for name, v in self._info.variables.items():
            reference = self._reference(name)[1]
            known = (v.type, reference) in seen
            seen.add((v.type, reference))
            found[name] = known_as = ScalarVariable(v, reference, self._version)
            if (
                not is_one(type, known_as.type, v.type)
                or (not include_alias and known)
                or not is_one(causality, known_as.causality, v.causality)
                or not is_one(variability, known_as.variability, v.variability)
                or (only_start and v.start is None)
                or (only_fixed and v.variability != "fixed")
                or (patterns is not None and not any(fnmatch.fnmatchcase(name, p) for p in patterns))
            ):
                del found[name]
        return found

    def _list(self, names: Iterable[Optional[str]]) -> dict[str, ScalarVariable]:
        return {
            n: ScalarVariable(self._known(n), self._reference(n)[1], self._version) for n in names if n is not None
        }

    def get_states_list(self) -> dict[str, ScalarVariable]:
        return self._list(self._info.states)

    def get_derivatives_list(self) -> dict[str, ScalarVariable]:
        of = {v.derivative_of: v.name for v in self._info.variables.values() if v.derivative_of}
        return self._list(of.get(state or "") for state in self._info.states)

    def get_input_list(self) -> dict[str, ScalarVariable]:
        return self._list(self._info.inputs)

    def get_output_list(self) -> dict[str, ScalarVariable]:
        return self._list(self._info.outputs)

    def get_variable_valueref(self, variable_name: str) -> int:
        self._known(variable_name)
        return self._reference(variable_name)[1]

    def get_variable_description(self, variable_name: str) -> str:
        return self._known(variable_name).description

    def get_variable_unit(self, variable_name: str) -> str:
        return self._known(variable_name).unit or ""

    def get_variable_start(self, variable_name: str) -> Any:
        return self._known(variable_name).start

    def get_variable_min(self, variable_name: str) -> float:
        return self._known(variable_name).min

    def get_variable_max(self, variable_name: str) -> float:
        return self._known(variable_name).max

    def get_variable_nominal(self, variable_name: str) -> float:
        nominal = self._known(variable_name).nominal
        return 1.0 if nominal is None else nominal

    def get_variable_data_type(self, variable_name: str) -> int:
        return type_of(self._version, self._known(variable_name))

    def get_variable_causality(self, variable_name: str) -> int:
        return causality_of(self._version, self._known(variable_name))

    def get_variable_variability(self, variable_name: str) -> int:
        return variability_of(self._version, self._known(variable_name))

    #------------------------------------ values ------------------------------------

    def _instance(self) -> Component:
        if self._component is None:
            name = self.get_name()
            self._component = Component(os.fsencode(self._path), name, self._stepper, log_level())
        return self._component

    def _reference(self, name: str) -> tuple[int, int]:
        """The type and the reference of a variable."""
        if self._references is None:
            self._references = {n: (t, r) for n, t, r in self._instance().variables()[0]}
        return self._references[name]

    def _get_one(self, name: str) -> Any:
        self._known(name)
        if self._run is not None:
            return self._run[name]
        kind, reference = self._reference(name)
        c, refs = self._instance(), _pack([reference])
        if kind == _REAL:
            return c.get_real(refs)[0]
        if kind == _STRING:
            return c.get_string(refs)[0].decode()
        value = c.get_integer(kind, refs)[0]
        return bool(value) if kind == _BOOLEAN else value

    def _set_one(self, name: str, value: Any) -> None:
        self._known(name)
        if self._run is not None:
            self._run[name] = value
            return
        if self._time is None:
            self._starts[name] = value
        kind, reference = self._reference(name)
        c, refs = self._instance(), _pack([reference])
        if kind == _REAL:
            c.set_real(refs, [float(value)])
        elif kind == _STRING:
            c.set_string(refs, [str(value)])
        else:
            c.set_integer(kind, refs, [int(value)])

    def get(self, variable_name: Union[str, Sequence[str]]) -> Any:
        """The value of a variable; of several as a list. (Reals of a single name are arrays of one.)"""
        import numpy as np

        if isinstance(variable_name, str):
            value = self._get_one(variable_name)
            return np.array([value]) if isinstance(value, (float, int, bool)) else [value]
        return [self.get(name) for name in variable_name]

    def set(self, variable_name: Union[str, Sequence[str]], value: Any) -> None:
        """Set a variable, or several from a sequence of values."""
        import numpy as np

        if isinstance(variable_name, str):
            self._set_one(variable_name, np.ravel(value)[0] if hasattr(value, "__len__") and not isinstance(value, str) else value)
            return
        for name, one in zip(variable_name, value):
            self.set(name, one)

    #------------------------------------ simulation ------------------------------------

    def simulate_options(self, algorithm: Any = None) -> Options:
        """The options of :meth:`simulate` with their defaults."""
        return co_simulation_options() if self._stepper else model_exchange_options()

    def simulate(
        self,
        start_time: Any = DEFAULT,
        final_time: Any = DEFAULT,
        input: Any = (),
        algorithm: Any = None,
        options: Mapping[str, Any] = {},
    ) -> SimulationResult:
        """Simulate from ``start_time`` to ``final_time``.

        input: (name or names, trajectory with a column of times, or a function of time).
        """
        from ..._run import open as open_run

        if self._simulated:
            raise FMUException("The model was simulated already: reset() it first.")
        merged = self.simulate_options().check(options)
        start = self.get_default_experiment_start_time() if start_time == DEFAULT else float(start_time)
        stop = self.get_default_experiment_stop_time() if final_time == DEFAULT else float(final_time)
        settings: dict[str, Any] = {"interval": (stop - start) / (merged["ncp"] or 500)}
        if not self._stepper:
            settings.update(solver_settings(merged, self._info.experiment.rtol))
        self._close_instance()
        self._run = open_run(
            self._path,
            start=start,
            stop=stop,
            set=self._starts,
            record=record_of(merged),
            input=input_of(input),
            as_="cs" if self._stepper else "me",
            **settings,
        )
        self._simulated = True
        self._run.advance(stop)
        self._time = self._run.time
        return SimulationResult(self._run.result, self, merged)

    @property
    def time(self) -> float:
        """The time of the model."""
        return self._time if self._time is not None else self.get_default_experiment_start_time()

    @time.setter
    def time(self, t: float) -> None:
        self._instance().set_time(float(t))
        self._time = float(t)

    def _close_instance(self) -> None:
        if self._component is not None:
            self._component.close()
            self._component = None

    def reset(self) -> None:
        """Back to before the initialisation; start values are those of the FMU again."""
        if self._run is not None:
            self._run.close()
        self._close_instance()
        self._run, self._time, self._simulated = None, None, False
        self._starts = {}

    def terminate(self) -> None:
        """End the simulation."""
        if self._component is not None and self._time is not None:
            self._component.terminate()

    def free_instance(self) -> None:
        """Release the FMU."""
        self.reset()

    #------------------------------------ functions of FMI ------------------------------------

    def setup_experiment(
        self,
        tolerance_defined: bool = True,
        tolerance: Any = DEFAULT,
        start_time: Any = DEFAULT,
        stop_time_defined: bool = False,
        stop_time: Any = DEFAULT,
    ) -> None:
        start = self.get_default_experiment_start_time() if start_time == DEFAULT else float(start_time)
        stop = self.get_default_experiment_stop_time() if stop_time == DEFAULT else float(stop_time)
        accuracy = self.get_default_experiment_tolerance() if tolerance == DEFAULT else float(tolerance)
        self._instance().setup(
            start, stop if stop_time_defined else None, accuracy if tolerance_defined else None
        )
        self._time = start

    def enter_initialization_mode(self) -> int:
        self._instance().enter_init()
        return 0

    def exit_initialization_mode(self) -> int:
        self._instance().exit_init()
        return 0

    def initialize(
        self,
        tolerance_defined: bool = True,
        tolerance: Any = DEFAULT,
        start_time: Any = DEFAULT,
        stop_time_defined: bool = False,
        stop_time: Any = DEFAULT,
    ) -> None:
        self.setup_experiment(tolerance_defined, tolerance, start_time, stop_time_defined, stop_time)
        self.enter_initialization_mode()
        self.exit_initialization_mode()

    def get_real(self, valueref: Any) -> NDArray[np.float64]:
        import numpy as np

        return np.array(self._instance().get_real(_pack(_refs(valueref))))

    def set_real(self, valueref: Any, values: Any) -> None:
        self._instance().set_real(_pack(_refs(valueref)), [float(v) for v in _values(values)])

    def get_integer(self, valueref: Any) -> NDArray[np.int64]:
        import numpy as np

        return np.array(self._instance().get_integer(_INTEGER, _pack(_refs(valueref))))

    def set_integer(self, valueref: Any, values: Any) -> None:
        self._instance().set_integer(_INTEGER, _pack(_refs(valueref)), [int(v) for v in _values(values)])

    def get_boolean(self, valueref: Any) -> NDArray[np.bool_]:
        import numpy as np

        return np.array(self._instance().get_integer(_BOOLEAN, _pack(_refs(valueref))), dtype=bool)

    def set_boolean(self, valueref: Any, values: Any) -> None:
        self._instance().set_integer(_BOOLEAN, _pack(_refs(valueref)), [int(v) for v in _values(values)])

    def get_string(self, valueref: Any) -> list[str]:
        return [text.decode() for text in self._instance().get_string(_pack(_refs(valueref)))]

    def set_string(self, valueref: Any, values: Any) -> None:
        self._instance().set_string(_pack(_refs(valueref)), _values(values))

    def get_directional_derivative(self, var_ref: Any, func_ref: Any, v: Any) -> NDArray[np.float64]:
        import numpy as np

        return np.array(
            self._instance().directional(_pack(_refs(func_ref)), _pack(_refs(var_ref)), [float(s) for s in v])
        )

    def get_fmu_state(self, state: Any = None) -> Any:
        if state is not None:
            self._instance().forget(state)
        return self._instance().save()

    def set_fmu_state(self, state: Any) -> None:
        self._instance().restore(state)

    def free_fmu_state(self, state: Any) -> None:
        self._instance().forget(state)


class _ModelExchange(FMUModel):
    """Functions of model exchange."""

    def enter_event_mode(self) -> int:
        self._instance().enter_event()
        return 0

    def enter_continuous_time_mode(self) -> int:
        self._instance().enter_continuous()
        return 0

    def event_update(self, intermediateResult: bool = False) -> None:
        """One event update, or all that are needed at this time."""
        while True:
            again, ends, states, nominals, next_time = self._instance().event_update()
            e = self._event_info
            e.newDiscreteStatesNeeded = again
            e.terminateSimulation = ends
            e.valuesOfContinuousStatesChanged = states
            e.nominalsOfContinuousStatesChanged = nominals
            e.nextEventTimeDefined = next_time < float("inf")
            e.nextEventTime = next_time if e.nextEventTimeDefined else 0.0
            if intermediateResult or not again or ends:
                return

    def get_event_info(self) -> Any:
        """The outcome of the last event update."""
        return self._event_info

    @property
    def continuous_states(self) -> NDArray[np.float64]:
        """The continuous states."""
        import numpy as np

        return np.array(self._instance().get_states())

    @continuous_states.setter
    def continuous_states(self, values: Any) -> None:
        self._instance().set_states([float(v) for v in values])

    @property
    def nominal_continuous_states(self) -> NDArray[np.float64]:
        """The nominal values of the continuous states."""
        import numpy as np

        return np.array(self._instance().get_nominals())

    def get_derivatives(self) -> NDArray[np.float64]:
        import numpy as np

        return np.array(self._instance().get_derivatives())

    def get_event_indicators(self) -> NDArray[np.float64]:
        import numpy as np

        return np.array(self._instance().get_indicators())

    def completed_integrator_step(self, no_set_FMU_state_prior_to_current_point: bool = True) -> tuple[bool, bool]:
        return self._instance().completed_step()


class _CoSimulation(FMUModel):
    """Functions of co-simulation."""

    _stepper = True

    def do_step(self, current_t: float, step_size: float, new_step: bool = True) -> int:
        """Advance by a step. Returns 0, or 2 when the FMU has stopped before its end."""
        end, reached, _, _ = self._instance().step(current_t + step_size)
        self._time = reached
        return 0 if end == 0 else 2


class EventInfo1(EventInfo):
    """The outcome of an event update of FMI 1.0."""

    def __init__(self) -> None:
        super().__init__()
        self.iterationConverged = True
        self.stateValueReferencesChanged = False
        self.stateValuesChanged = False
        self.upcomingTimeEvent = False


class FMUModelME1(_ModelExchange):
    """In FMI 1.0 a model is in continuous time whenever no event update runs."""

    _version = "1.0"

    def __init__(self, fmu: Union[str, "os.PathLike[str]"], log_file_name: str = "", **_: Any) -> None:
        super().__init__(fmu, log_file_name)
        self._event_info = EventInfo1()
        self._initialized = False

    @property
    def time(self) -> float:
        """The time of the model; before the initialisation the start time."""
        return self._time if self._time is not None else self.get_default_experiment_start_time()

    @time.setter
    def time(self, t: float) -> None:
        if self._initialized:
            self._instance().set_time(float(t))
        self._time = float(t)

    def initialize(
        self,
        tolerance_defined: bool = True,
        tolerance: Any = DEFAULT,
        start_time: Any = DEFAULT,
        stop_time_defined: bool = False,
        stop_time: Any = DEFAULT,
    ) -> None:
        start = self.time if start_time == DEFAULT else start_time
        super().initialize(tolerance_defined, tolerance, start, stop_time_defined, stop_time)
        self._initialized = True
        super().event_update()
        self._tell()
        self._instance().enter_continuous()

    def reset(self) -> None:
        super().reset()
        self._initialized = False

    def _tell(self) -> None:
        e = self._event_info
        e.iterationConverged = not e.newDiscreteStatesNeeded
        e.stateValuesChanged = e.valuesOfContinuousStatesChanged
        e.upcomingTimeEvent = e.nextEventTimeDefined

    def event_update(self, intermediateResult: bool = False) -> None:
        if self._event_info.iterationConverged or not self._event_info.newDiscreteStatesNeeded:
            self._instance().enter_event()
        super().event_update(intermediateResult)
        self._tell()
        if self._event_info.iterationConverged:
            self._instance().enter_continuous()

    def completed_integrator_step(self, no_set_FMU_state_prior_to_current_point: bool = True) -> Any:
        return super().completed_integrator_step()[0]


class FMUModelME2(_ModelExchange):
    _version = "2.0"


class FMUModelME3(_ModelExchange):
    _version = "3.0"


class FMUModelCS1(_CoSimulation):
    _version = "1.0"


class FMUModelCS2(_CoSimulation):
    _version = "2.0"


class FMUModelCS3(_CoSimulation):
    _version = "3.0"


_CLASSES = {
    (c._stepper, c._version): c
    for c in (FMUModelME1, FMUModelME2, FMUModelME3, FMUModelCS1, FMUModelCS2, FMUModelCS3)
}


def load_fmu(
    fmu: Union[str, "os.PathLike[str]"],
    log_file_name: str = "",
    kind: str = "auto",
    log_level: Any = None,
    **keywords: Any,
) -> FMUModel:
    """Load an FMU: for model exchange if it has that, unless ``kind`` is "CS"."""
    try:
        about = info(fmu)
    except Error as error:
        raise InvalidFMUException(str(error)) from error
    wanted = kind.lower()
    if wanted not in ("auto", "me", "cs"):
        raise FMUException(f"Input-argument \"kind\" can only be \"ME\", \"CS\" or \"auto\" (default) and not: {kind}")
    if wanted == "auto":
        wanted = about.kinds[0]
    if wanted not in about.kinds:
        raise InvalidFMUException(f"{os.fspath(fmu)}: the FMU is not for {'co-simulation' if wanted == 'cs' else 'model exchange'}")
    version = about.kind.replace("FMI ", "")[:3]
    return _CLASSES[wanted == "cs", version](fmu, log_file_name)
