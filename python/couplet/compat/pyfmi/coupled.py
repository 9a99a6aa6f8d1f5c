# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Coupled models: one system of equations, with one solver."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from ..._run import Run
from ..._run import open as open_run
from ..._system import System
from .model import DEFAULT, FMUException, FMUModel
from .result import (
    Options,
    SimulationResult,
    co_simulation_options,
    input_of,
    model_exchange_options,
    record_of,
    solver_settings,
)


class _Coupled:
    """Models and connections (source model, output, target model, input)."""

    _kind = "me"

    def __init__(self, models: Sequence[Any], connections: Sequence[Sequence[Any]]) -> None:
        pairs = [m if isinstance(m, (tuple, list)) else (None, m) for m in models]
        self.names: dict[FMUModel, str] = {}
        for i, (name, model) in enumerate(pairs):
            if not isinstance(model, FMUModel) or model._stepper != (self._kind == "cs"):
                need = "co-simulation" if self._kind == "cs" else "model exchange"
                raise FMUException(f"The models have to be FMUs for {need}.")
            name = name or f"model{i + 1}"
            if name in self.names.values():
                raise FMUException(f"The name {name} is used twice.")
            self.names[model] = name
        if len(self.names) != len(pairs):
            raise FMUException("A model is in the list twice: load it once for each.")
        self.models = [model for _, model in pairs]
        self.connections = [tuple(c) for c in connections]
        for source, output, target, input_name in self.connections:
            source._known(output)
            target._known(input_name)
        self._starts: dict[str, Any] = {}
        self._run: Optional[Run] = None

    def _system(self) -> System:
        system = System("coupled")
        for model, name in self.names.items():
            system.add(name, model._path, as_=self._kind, start=model._starts)
        for source, output, target, input_name in self.connections:
            system.connect(
                f"{self.names[target]}.{input_name}", f"{self.names[source]}.{output}", convert_units=False
            )
        return system

    def get(self, variable_name: Union[str, Sequence[str]]) -> Any:
        """The value of "model.variable", or of several."""
        import numpy as np

        if not isinstance(variable_name, str):
            return [self.get(name) for name in variable_name]
        if self._run is not None:
            return np.array([self._run[variable_name]])
        name, _, variable = variable_name.partition(".")
        for model, known in self.names.items():
            if known == name:
                return model.get(variable)
        raise FMUException(f"The variable {variable_name} could not be found.")

    def set(self, variable_name: Union[str, Sequence[str]], value: Any) -> None:
        """Set "model.variable", or several."""
        if not isinstance(variable_name, str):
            for one, number in zip(variable_name, value):
                self.set(one, number)
        elif self._run is not None:
            self._run[variable_name] = value
        else:
            name, _, variable = variable_name.partition(".")
            for model, known in self.names.items():
                if known == name:
                    model.set(variable, value)
                    return
            raise FMUException(f"The variable {variable_name} could not be found.")

    def reset(self) -> None:
        """Back to before the simulation."""
        if self._run is not None:
            self._run.close()
        self._run = None
        for model in self.models:
            model.reset()

    def _times(self, start_time: Any, final_time: Any) -> tuple[float, float]:
        starts = [m.get_default_experiment_start_time() for m in self.models]
        stops = [m.get_default_experiment_stop_time() for m in self.models]
        start = max(starts, default=0.0) if start_time == DEFAULT else float(start_time)
        return start, max(stops, default=1.0) if final_time == DEFAULT else float(final_time)

    def _simulate(self, system: System, start: float, stop: float, given: Any, options: Options, **how: Any) -> SimulationResult:
        if self._run is not None:
            raise FMUException("The models were simulated already: reset() them first.")
        self._run = open_run(
            system,
            start=start,
            stop=stop,
            interval=(stop - start) / (options["ncp"] or 500),
            record=record_of(options),
            input=given,
            **how,
        )
        self._run.advance(stop)
        return SimulationResult(self._run.result, self, options)


class CoupledFMUModelME2(_Coupled):
    """Coupled FMUs for model exchange.

    models: a list of models, or of (name, model); connections: (source model, output, target model, input). Variables are
    named "name.variable".
    """

    def simulate_options(self, algorithm: Any = None) -> Options:
        """The options of :meth:`simulate` with their defaults."""
        return model_exchange_options()

    def simulate(
        self,
        start_time: Any = DEFAULT,
        final_time: Any = DEFAULT,
        input: Any = (),
        algorithm: Any = None,
        options: Mapping[str, Any] = {},
    ) -> SimulationResult:
        """Simulate the models as one system."""
        merged = self.simulate_options().check(options)
        start, stop = self._times(start_time, final_time)
        tolerances = [m._info.experiment.rtol for m in self.models if m._info.experiment.rtol]
        how = solver_settings(merged, min(tolerances, default=0.0))
        return self._simulate(self._system(), start, stop, input_of(input), merged, **how)


class Master(_Coupled):
    """Coupled FMUs for co-simulation.

    The options are ``step_size``, ``extrapolation_order`` (0 to 2), ``error_controlled`` with ``rtol``, ``execution``
    ("serial" or "parallel"), ``ncp``, ``filter``.
    """

    _kind = "cs"

    def simulate_options(self) -> Options:
        """The options of :meth:`simulate` with their defaults."""
        options = co_simulation_options()
        options.update(
            step_size=0.01, extrapolation_order=0, error_controlled=False, rtol=1e-4, execution="serial"
        )
        return options

    def simulate(
        self,
        start_time: Any = DEFAULT,
        final_time: Any = DEFAULT,
        input: Any = (),
        options: Mapping[str, Any] = {},
    ) -> SimulationResult:
        """Simulate with a master that steps all models in parallel (Jacobi)."""
        merged = self.simulate_options().check(options)
        start, stop = self._times(start_time, final_time)
        master: dict[str, Any] = {
            "algorithm": "jacobi",
            "step": float(merged["step_size"]),
            "order": int(merged["extrapolation_order"]),
        }
        if merged["error_controlled"]:
            master["tolerance"] = float(merged["rtol"])
        if merged["execution"] == "parallel":
            master["threads"] = len(self.models)
        return self._simulate(self._system().master(**master), start, stop, input_of(input), merged)
