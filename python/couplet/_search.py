# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Parameters from measurements, and parameters that are best for measures of a run."""

from __future__ import annotations

import operator
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NamedTuple, Optional, Union

from . import _core
from ._errors import InputError, log_level
from ._settings import make_settings, named, text_of
from ._study import _measures, _refuse_python, _write_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._settings import Input, Model, Path

    Floats = NDArray[np.float64]

__all__ = ["Constraint", "Fit", "FitColumn", "Optimum", "Varied", "fit", "optimize"]


class Varied(NamedTuple):
    """A parameter after :func:`fit` or :func:`optimize`, in the unit of the variable."""

    value: float
    unit: str
    guess: float
    least: float
    greatest: float
    #: -1, 1: it is held by its least or greatest value; 0: it is not
    at_bound: int
    #: standard deviation, and the ends of the confidence interval; NaN: unknown
    deviation: float
    low: float
    high: float
    #: the data do not determine it
    undetermined: bool


class FitColumn(NamedTuple):
    """A measured variable of one of the data, and what the fit makes of it."""

    name: str
    unit: str
    #: the number of the data, from 0
    data: int
    time: Floats
    measured: Floats
    fitted: Floats
    #: standard deviations of the measured values, and whether they were estimated
    sigma: Floats
    estimated: bool
    #: root mean square of the residuals
    rms: float


class Fit:
    """The result of a fit: ``fit["left.m"]`` is a value; everything about it is in ``parameters``."""

    #: everything about each parameter, by name
    parameters: dict[str, Varied]
    #: correlations, in the order of the parameters; NaN: unknown
    correlation: Floats
    columns: list[FitColumn]
    #: directions that the data do not, or hardly, determine: (ratio, singular, relative changes by name)
    directions: list[tuple[float, bool, dict[str, float]]]
    #: sum of squared residuals in standard deviations; the same per degree of freedom
    squares: float
    variance: float
    freedom: float
    #: "sensitivities" or "differences"
    derivatives: str
    #: numbers of simulations, and why the first one failed
    runs: int
    failed: int
    failure: Optional[str]

    @classmethod
    def _from_core(cls, data: tuple[Any, ...]) -> Fit:
        import numpy as np

        self = cls()
        varied, correlation, columns, directions = data[:4]
        self.parameters = _varied(varied)
        n = len(self.parameters)
        self.correlation = np.frombuffer(correlation).reshape(n, n)
        self.columns = [
            FitColumn(*c[:3], *(np.frombuffer(block) for block in c[3:7]), *c[7:]) for c in columns
        ]
        self.directions = [
            (ratio, singular, {k: v for k, v in zip(self.parameters, np.frombuffer(parts).tolist()) if v != 0})
            for ratio, singular, parts in directions
        ]
        self.squares, self.variance, self.freedom, self.derivatives, self.runs, self.failed, self.failure = data[4:]
        return self

    def __getitem__(self, name: str) -> float:
        return self.parameters[name].value

    def __repr__(self) -> str:
        values = ", ".join(f"{k} = {v.value:.6g} +- {v.deviation:.2g}" for k, v in self.parameters.items())
        return f"<couplet.Fit: {values}>"


class Constraint(NamedTuple):
    """A constraint at an optimum."""

    text: str
    #: by which it is violated; negative: how far it is from its limit
    excess: float
    #: it is at its limit
    active: bool


class Optimum:
    """The result of an optimization: ``optimum["kp"]`` is a value."""

    #: everything about each parameter, by name
    parameters: dict[str, Varied]
    #: of the objective
    value: float
    constraints: list[Constraint]
    runs: int
    failed: int
    failure: Optional[str]

    @classmethod
    def _from_core(cls, data: tuple[Any, ...]) -> Optimum:
        self = cls()
        self.parameters = _varied(data[0])
        self.value = data[1]
        self.constraints = [Constraint(*c) for c in data[2]]
        self.runs, self.failed, self.failure = data[3:]
        return self

    def __getitem__(self, name: str) -> float:
        return self.parameters[name].value

    def __repr__(self) -> str:
        values = ", ".join(f"{k} = {v.value:.6g}" for k, v in self.parameters.items())
        return f"<couplet.Optimum: {self.value:.6g} at {values}>"


def _varied(items: Iterable[tuple[Any, ...]]) -> dict[str, Varied]:
    return {i[0]: Varied(i[2], i[1], *i[3:]) for i in items}


#: a guess; (guess, least, greatest), each may be None; or the text behind NAME=
Range = Union[None, float, str, tuple[Optional[float], Optional[float], Optional[float]]]


def _range_text(value: Range) -> str:
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return ":".join("" if part is None else text_of(part) for part in parts)


def _vary(given: Union[Mapping[str, Range], Iterable[str], str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Mapping):
        return tuple(given)
    return tuple(name if value is None else f"{name}={named(name, _range_text, value)}" for name, value in given.items())


def _one_data(given: Any, folder: str, number: int) -> tuple[bytes, tuple[tuple[str, str], ...], float]:
    """A file or columns; or a pair of them and a dict with start values, and perhaps ``weight``."""
    settings: dict[str, Any] = {}
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping):
        given, settings = given[0], dict(given[1])
    weight = float(settings.pop("weight", 0))
    if not isinstance(given, (str, bytes, os.PathLike)):
        path = os.path.join(folder, f"data {number}")
        _write_table(given, path)
        given = path
    starts = tuple((name, named(name, text_of, value)) for name, value in settings.items())
    return os.fsencode(given), starts, weight


def _workers(given: Optional[int], model: Any, inputs: Any) -> int:
    """For the library: -1 is one per processor; models and functions of Python are called in this process."""
    number = -1 if given is None else operator.index(given)
    if number == 1 or (number < 1 and given is not None):
        if number < 1:
            raise ValueError(f"workers is a number from 1 on, not {number}")
        return 1
    try:
        _refuse_python(model, inputs, "a search with several workers: they are other processes")
    except InputError:
        if given is not None:
            raise
        return 1
    return number


def fit(
    model: Model,
    data: Any = None,
    vary: Union[Mapping[str, Range], Iterable[str], str] = (),
    *,
    sigma: Optional[Mapping[str, float]] = None,
    loss: Optional[str] = None,
    scale: Optional[float] = None,
    confidence: Optional[float] = None,
    ignore_extra: bool = False,
    differences: bool = False,
    max_runs: Optional[int] = None,
    workers: Optional[int] = None,
    progress: Optional[Callable[[dict[str, Any]], Any]] = None,
    start: Optional[float] = None,
    stop: Optional[float] = None,
    interval: Optional[float] = None,
    step: Optional[float] = None,
    solver: Optional[str] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    input: Input = None,
    as_: Optional[str] = None,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    variant: Optional[str] = None,
    parameters: Union[Path, Iterable[Path], None] = None,
) -> Fit:
    """Find parameters of a model or system for which its results match measurements (docs/fit.md).

    ``data``: a CSV or MAT file, or columns (a dict of names and arrays, a DataFrame) with the times in
    ``time``; or a pair of that and a dict with start values of this experiment and its ``weight``; or a
    list of these. ``vary``: names with a guess, (guess, least, greatest), or None for the value in
    the file; or texts as the command takes them. ``sigma``: standard deviations of measured variables,
    by name. ``loss``: "squares" (the default), "huber", "soft_l1" or "cauchy", beyond ``scale``
    deviations. ``confidence``: of the intervals, 0.95 by default. What is not given is that of the
    section ``fit`` of a system file, where it has one: ``couplet.fit("plant.yaml")``.
    ``workers``: processes that simulate, one per processor by default; models of Python are
    simulated in this one. ``progress``: a function of a dict (runs, failed, value). The other keywords are those of
    :func:`couplet.simulate`; tolerances are 1e-9 unless given.

    >>> import couplet
    >>> run = couplet.simulate("examples/tank_level/tank.c", stop=300, interval=10, set={"drain": 0.0035})
    >>> fit = couplet.fit("examples/tank_level/tank.c", {"time": run.time, "level": run["level"]},
    ...                   {"drain": (0.003, 0.001, 0.01)}, stop=300)
    >>> round(fit["drain"], 6)
    0.0035
    """
    given = dict(locals())
    for key in "data vary sigma loss scale confidence ignore_extra differences max_runs workers progress".split():
        del given[key]
    settings = make_settings(**given, log_level=log_level())
    several = data if isinstance(data, list) else [data] if data is not None else []
    with tempfile.TemporaryDirectory(prefix="couplet-") as folder:
        result = _core.fit(
            settings,
            _vary(vary),
            tuple(_one_data(one, folder, i + 1) for i, one in enumerate(several)),
            tuple((name, float(value)) for name, value in (sigma or {}).items()),
            loss,
            float(scale) if scale is not None else 0.0,
            float(confidence) if confidence is not None else 0.0,
            ignore_extra,
            differences,
            operator.index(max_runs) if max_runs is not None else 0,
            _workers(workers, model, input),
            progress,
        )
    return Fit._from_core(result)


def optimize(
    model: Model,
    vary: Union[Mapping[str, Range], Iterable[str], str],
    *,
    minimize: Optional[str] = None,
    maximize: Optional[str] = None,
    subject_to: Union[str, Iterable[str]] = (),
    measures: Union[Mapping[str, str], Iterable[str], None] = None,
    method: str = "slsqp",
    tolerance: float = 1e-6,
    constraint_tolerance: float = 1e-6,
    max_runs: Optional[int] = None,
    workers: Optional[int] = None,
    progress: Optional[Callable[[dict[str, Any]], Any]] = None,
    start: Optional[float] = None,
    stop: Optional[float] = None,
    interval: Optional[float] = None,
    step: Optional[float] = None,
    solver: Optional[str] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    input: Input = None,
    as_: Optional[str] = None,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    variant: Optional[str] = None,
    parameters: Union[Path, Iterable[Path], None] = None,
) -> Optimum:
    """Find parameters for which a measure of a run is smallest or largest (docs/fit.md).

    ``minimize`` or ``maximize``: an expression over measures of the file, ``measures`` (texts by name)
    and functions of the run. ``subject_to``: texts such as "max(abs(u)) <= 5". ``vary`` and the
    other keywords are those of :func:`couplet.fit`.

    >>> import couplet
    >>> best = couplet.optimize("examples/tank_level/tank.c", {"drain": (0.003, 0.001, 0.01)},
    ...                         minimize="(final(level) - 0.5)^2", stop=300)
    >>> best.value < 1e-8
    True
    """
    given = dict(locals())
    for key in (
        "vary minimize maximize subject_to measures method tolerance constraint_tolerance max_runs workers progress"
    ).split():
        del given[key]
    if (minimize is None) == (maximize is None):
        raise TypeError("optimize takes minimize or maximize")
    settings = make_settings(**given, log_level=log_level())
    result = _core.optimize(
        settings,
        _vary(vary),
        minimize if minimize is not None else maximize,
        maximize is not None,
        _measures(measures),
        (subject_to,) if isinstance(subject_to, str) else tuple(subject_to),
        method,
        float(tolerance),
        float(constraint_tolerance),
        operator.index(max_runs) if max_runs is not None else 0,
        _workers(workers, model, input),
        progress,
    )
    return Optimum._from_core(result)
