# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Options and results of simulations, with the keys and methods of PyFMI's."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Union

from ..._result import Result as CoupletResult

#: solvers of Assimulo, and ours
SOLVERS = {
    "CVode": "cvode",
    "Radau5ODE": "radau",
    "Dopri5": "dopri5",
    "RungeKutta34": "dopri5",
    "ExplicitEuler": "euler",
}


class InvalidOptionException(Exception):
    """An option is not known, or has a value that it cannot have."""


class Options(dict[str, Any]):
    """The options of ``simulate``; unknown keys are refused when they are used."""

    def check(self, given: Mapping[str, Any]) -> Options:
        """These options with those that are given."""
        merged = Options({k: dict(v) if isinstance(v, dict) else v for k, v in self.items()})
        for key, value in given.items():
            if key not in merged:
                raise InvalidOptionException(f"The option: {key} is not valid.")
            if isinstance(merged[key], dict):
                for inner in value:
                    if inner not in merged[key]:
                        raise InvalidOptionException(f"The option: {inner} of {key} is not valid.")
                merged[key].update(value)
            else:
                merged[key] = value
        return merged


def model_exchange_options() -> Options:
    """The defaults for model exchange."""
    options = Options(
        solver="CVode", ncp=500, initialize=True, filter=None, result_handling="binary",
        result_file_name="", write_scaled_result=False, logging=False, with_jacobian="Default",
        maxh="Default", rtol="Default", time_limit=None,
    )
    for solver in SOLVERS:
        options[f"{solver}_options"] = {"rtol": "Default", "atol": "Default", "maxh": "Default"}
    options["CVode_options"]["discr"] = "BDF"
    options["ExplicitEuler_options"] = {"h": 0.01}
    return options


def co_simulation_options() -> Options:
    """The defaults for co-simulation."""
    return Options(
        ncp=500, initialize=True, filter=None, result_handling="binary", result_file_name="",
        write_scaled_result=False, logging=False, time_limit=None, stop_time_defined=False,
    )


class SimulationResult(Mapping[str, Any]):
    """Trajectories by name: ``res["h"]``, ``res["time"]``."""

    def __init__(self, result: CoupletResult, model: Any, options: Options) -> None:
        self._result = result
        self.model = model
        self.options = options
        #: statistics of the solver
        self.detailed_timings: dict[str, Any] = {"total_time": result.stats.get("wall_s")}
        self.solver = result.stats

    def __getitem__(self, name: str) -> Any:
        return self._result[name]

    def __iter__(self) -> Iterator[str]:
        yield "time"
        yield from self._result

    def __len__(self) -> int:
        return len(self._result) + 1

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self._result

    def final(self, name: str) -> Any:
        """The last value."""
        return self[name][-1]

    def initial(self, name: str) -> Any:
        """The first value."""
        return self[name][0]

    def is_variable(self, name: str) -> bool:
        """Whether it can change over time."""
        return name == "time" or not self._result.columns[name].constant

    @property
    def result_data(self) -> CoupletResult:
        """The result of couplet."""
        return self._result


def solver_settings(options: Options, rtol: Union[float, None]) -> dict[str, Any]:
    """Solver, tolerances and steps as keywords of ``couplet.simulate``."""
    name = options["solver"]
    if name not in SOLVERS:
        raise InvalidOptionException(
            f"The solver: {name} is not available; there are {', '.join(SOLVERS)}."
        )
    own = options[f"{name}_options"]
    settings: dict[str, Any] = {"solver": SOLVERS[name]}
    if name == "CVode" and own["discr"] == "Adams":
        settings["solver"] = "adams"
    if name == "ExplicitEuler":
        settings["step"] = own["h"]
        return settings
    wanted = own["rtol"] if own["rtol"] != "Default" else options["rtol"]
    settings["rtol"] = float(wanted) if wanted != "Default" else rtol if rtol else 1e-4
    atol = own["atol"]  # one for all states, times their nominal values
    settings["atol"] = 0.01 * settings["rtol"] if atol == "Default" else float(atol)
    longest = own["maxh"] if own["maxh"] != "Default" else options["maxh"]
    if longest != "Default" and longest:
        settings["step"] = float(longest)
    return settings


def record_of(options: Options) -> Any:
    """The recorded variables."""
    chosen = options["filter"]
    return ["*"] if chosen is None else [chosen] if isinstance(chosen, str) else list(chosen)


def input_of(given: Any) -> Any:
    """("u", trajectory or function) or (["a", "b"], trajectory) as ``input`` of couplet."""
    import numpy as np

    if not given:
        return None
    names, what = given
    names = [names] if isinstance(names, str) else list(names)
    if callable(what):
        if len(names) == 1:
            return {names[0]: lambda t: float(np.ravel(what(t))[0])}
        return {name: (lambda t, i=i: float(np.ravel(what(t))[i])) for i, name in enumerate(names)}
    table = np.asarray(what, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(names) + 1:
        raise ValueError(
            f"the input has the shape {table.shape}; {len(names) + 1} columns are needed: time and the inputs"
        )
    return {name: (table[:, 0], table[:, i + 1]) for i, name in enumerate(names)}
