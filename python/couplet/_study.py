# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Studies: many cases of one experiment, on all processors."""

from __future__ import annotations

import hashlib
import math
import operator
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Union

from . import _core
from ._errors import InputError, log_level, unknown_name
from ._progress import make_study_progress
from ._settings import make_settings, named, text_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._settings import Input, Model, Path

    Floats = NDArray[np.float64]

__all__ = ["Case", "Influence", "Study", "sweep"]


class Case(NamedTuple):
    """A case of a study, as ``on_case`` of :func:`sweep` receives it."""

    #: from 0
    number: int
    #: the values of the factors by name
    factors: Mapping[str, float]
    #: the measures by name; NaN where the case failed
    measures: Mapping[str, float]
    #: the curves by name, at the times of :attr:`times`; empty where the case failed
    curves: Mapping[str, Floats]
    times: Floats
    #: why the case failed; None: it did not
    failure: Optional[str]


class Influence(NamedTuple):
    """How much the factors matter for a measure; made by :meth:`Study.influence`."""

    #: "sobol", "morris" or "regression"
    method: str
    #: for each factor the numbers by name: "first", "first_low", "first_high", "total", ... (Sobol'
    #: indices and their 95 % intervals), "mu*", "mu", "sigma" (Morris), or "regression", "rank correlation"
    factors: Mapping[str, Mapping[str, float]]
    #: of a regression: the share of the variance that it explains
    r_squared: Optional[float]


class Study(Mapping[str, "Floats"]):
    """The results of a study: a mapping of names to arrays with one value per case.

    A name is that of a measure, a factor, or a curve, whose array has one row per case. Cases that
    failed have NaN in all measures and curves, and their reason in ``failures``.

    >>> import couplet
    >>> study = couplet.sweep("examples/two_masses/two_masses.yaml", {"left.m": "1:2:3"},
    ...                       measures={"peak": "max(right.x)"}, stop=2)
    >>> study.factors["left.m"].tolist()
    [1.0, 1.5, 2.0]
    >>> len(study["peak"]), study.units["left.m"], study.failures
    (3, 'kg', {})
    """

    def __init__(self, core: Optional[_core.Study], data: _core.StudyData, model: str) -> None:
        import numpy as np

        (factors, measures, curves, times, facts, shape), table, courses, failures, progress = data
        self._core = core
        self._influences: dict[str, Influence] = {}
        self._shape = shape
        self._facts = dict(facts)
        self._texts = {name: text for name, _, text in measures}
        n = int(progress["total"])
        columns = np.frombuffer(table, dtype=np.float64).reshape(-1, n)
        #: values of the factors in each case
        self.factors: dict[str, Floats] = {c[0]: v for c, v in zip(factors, columns)}
        #: the measures of each case
        self.measures: dict[str, Floats] = {c[0]: v for c, v in zip(measures, columns[len(factors) :])}
        #: the times of the curves [s]
        self.time: Floats = np.frombuffer(times, dtype=np.float64)
        rows = np.frombuffer(courses, dtype=np.float64) if courses is not None else None
        #: an array with a row per case and a column per time
        self.curves: dict[str, Floats] = (
            {c[0]: v for c, v in zip(curves, rows.reshape(-1, n, len(self.time)))} if rows is not None else {}
        )
        #: why cases failed, by their numbers
        self.failures: dict[int, str] = failures
        #: units of factors, measures and curves; None: it has none
        self.units: dict[str, Optional[str]] = {
            **{c[0]: c[1] for c in curves},
            **{c[0]: c[1] for c in factors},
            **{c[0]: c[1] for c in measures},
        }
        #: how the study ran: "done", "failed", "resumed", "repeated" cases, "seconds", "workers"
        self.stats: dict[str, Any] = progress
        #: the file that was studied
        self.model: str = model
        #: "grid", "random", "lhs", "sobol", "table", "morris" or "saltelli"
        self.design: str = str(facts["design"])
        self._curve_units = {c[0]: c[1] for c in curves}

    #------------------------------------ mapping ------------------------------------

    def __getitem__(self, name: str) -> Floats:
        for group in (self.measures, self.factors, self.curves):
            if name in group:
                return group[name]
        raise unknown_name("the study has no factor, measure or curve", name, list(self))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.factors, *self.measures, *self.curves]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.measures or name in self.factors or name in self.curves

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return int(self.stats["total"])

    def __repr__(self) -> str:
        n = self.n_cases
        failed = f", {len(self.failures)} failed" if self.failures else ""
        factors = ", ".join(self.factors)
        return f"<couplet.Study of {self.model}: {n} case{'' if n == 1 else 's'} of {factors}{failed}>"

    def __getstate__(self) -> dict[str, Any]:
        for name in self.measures:  # the design stays in this process
            self.influence(name)
        return {**self.__dict__, "_core": None}

    #------------------------------------ statistics ------------------------------------

    def statistics(
        self, probabilities: Iterable[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
    ) -> dict[str, dict[str, float]]:
        """Mean, deviation, quantiles and extremes of each measure, without the cases that failed.

        ``n`` and ``missing`` are numbers of cases; quantiles are named "5 %", "25 %", ...

        >>> import couplet
        >>> study = couplet.sweep("examples/two_masses/two_masses.yaml", {"left.m": "normal:1:0.1"},
        ...                       sample=16, measures={"peak": "max(right.x)"}, stop=2)
        >>> peak = study.statistics()["peak"]
        >>> int(peak["n"]), peak["least"] < peak["50 %"] < peak["greatest"]
        (16, True)
        """
        import numpy as np

        p = np.ascontiguousarray(list(probabilities), dtype=np.float64)
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"probabilities are numbers from 0 to 1, not {p.tolist()}")
        all_of = {}
        for name, values in self.measures.items():
            n, missing, mean, deviation, least, greatest, quantiles = _core.statistics(values, p)
            one = {"n": n, "missing": missing, "mean": mean, "deviation": deviation, "least": least}
            for share, value in zip(p, np.frombuffer(quantiles)):
                one[f"{100 * share:.6g} %"] = float(value)
            all_of[name] = {**one, "greatest": greatest}
        return all_of

    def influence(self, measure: str) -> Influence:
        """How much each factor matters for a measure, by the method that the design was made for.

        Sobol' indices of ``design="saltelli"``, elementary effects of ``"morris"``, otherwise a
        linear regression and rank correlations.

        >>> import couplet
        >>> study = couplet.sweep("examples/two_masses/two_masses.yaml",
        ...                       {"left.m": "1:2", "left.x": "0:0.01"}, design="morris", sample=4,
        ...                       measures={"peak": "max(right.x)"}, stop=2)
        >>> effects = study.influence("peak")
        >>> effects.method, sorted(effects.factors["left.m"])
        ('morris', ['mu', 'mu*', 'sigma'])
        """
        import numpy as np

        if measure not in self.measures:
            raise unknown_name("the study has no measure", measure, list(self.measures))
        if measure not in self._influences and self._core is not None:
            method, columns, values, r_squared = self._core.influence(self.measures[measure])
            rows = np.frombuffer(values).reshape(len(self.factors), -1)
            keys = [
                f"{columns[i // 3 * 3]}_{c}" if c in ("low", "high") else c for i, c in enumerate(columns)
            ]  # ends of an interval follow their value
            factors = {f: dict(zip(keys, row.tolist())) for f, row in zip(self.factors, rows)}
            share = r_squared if r_squared == r_squared else None
            self._influences[measure] = Influence(method, factors, share)
        return self._influences[measure]

    #------------------------------------ elsewhere ------------------------------------

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row per case: factors, measures, and ``failure``, which is empty
        where a case did not fail.

        >>> import couplet
        >>> study = couplet.sweep("examples/two_masses/two_masses.yaml", {"left.m": [1, 2]}, stop=1,
        ...                       measures={"peak": "max(right.x)"})
        >>> list(study.to_pandas().columns)
        ['left.m', 'peak', 'failure']
        """
        import importlib

        pandas: Any = importlib.import_module("pandas")
        index = pandas.RangeIndex(self.n_cases, name="case")
        columns: dict[str, Any] = {**self.factors, **self.measures}
        columns["failure"] = [self.failures.get(i, "") for i in range(self.n_cases)]
        return pandas.DataFrame(columns, index=index)

    def to_xarray(self) -> Any:
        """An xarray Dataset with the content of a NetCDF file of the study: the dimensions ``case``
        and, with curves, ``time``; factors are coordinates.

        >>> import couplet
        >>> study = couplet.sweep("examples/two_masses/two_masses.yaml", {"left.m": [1, 2]}, stop=1,
        ...                       measures={"peak": "max(right.x)"}, curves=["left.x"])
        >>> dict(study.to_xarray().sizes) == {"case": 2, "time": len(study.time)}
        True
        """
        import importlib

        import numpy as np

        xarray: Any = importlib.import_module("xarray")
        taken = {"case", "failure"}
        coordinates: dict[str, Any] = {
            "case": ("case", np.arange(self.n_cases), {"long_name": "number of the case, from 0"})
        }
        if self.curves:
            taken.add("time")
            coordinates["time"] = ("time", self.time, {"long_name": "simulated time", "units": "s"})
        data: dict[str, Any] = {}
        names = []
        for name, values in self.factors.items():
            names.append(_netcdf_name(name, taken))
            coordinates[names[-1]] = ("case", values, self._attributes(name, "factor", self.units[name]))
        for name, values in self.measures.items():
            attributes = self._attributes(name, "measure", self.units[name], self._texts[name])
            data[_netcdf_name(name, taken)] = ("case", values, attributes)
        for name, values in self.curves.items():
            attributes = self._attributes(name, "curve", self._curve_units[name])
            data[_netcdf_name(name, taken)] = (("case", "time"), values, attributes)
        failure = np.array([self.failures.get(i, "") for i in range(self.n_cases)], dtype=object)
        data["failure"] = ("case", failure, {"long_name": "why the case failed; empty: it did not"})
        facts: dict[str, Any] = {"Conventions": "CF-1.8", **self._facts}
        if self._shape is not None:
            facts["grid_axes"], facts["grid_shape"] = names, np.array(self._shape)
        return xarray.Dataset(data, coordinates, facts)

    def _attributes(self, name: str, role: str, unit: Optional[str], text: str = "") -> dict[str, str]:
        found = {"long_name": text, "units": unit or "", "couplet_name": name, "couplet_role": role}
        return {key: value for key, value in found.items() if value}


def _netcdf_name(name: str, taken: set[str]) -> str:
    """The name of a variable in a NetCDF file, as docs/studies.md describes; it is added to ``taken``."""
    first = name[:1]
    text = name if first == "_" or first.isascii() and first.isalnum() or first > "\x7f" else "_" + name
    text = "".join("." if c == "/" else "_" if c < " " or c == "\x7f" else c for c in text)
    text = text.rstrip(" ") + "_" * (len(text) - len(text.rstrip(" ")))
    found, again = text, 1
    while found in taken:
        again += 1
        found = f"{text}_{again}"
    taken.add(found)
    return found


#------------------------------------ arguments ------------------------------------


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'" if "=" in name or name.startswith("'") else name


def _values(values: Any) -> str:
    """Values of a factor, as the option --over of the command has them."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (str, bool, int, float)):
        return text_of(values)
    return f"list:{','.join(text_of(v) for v in values)}"


def _over(given: Union[Mapping[str, Any], Iterable[str], None]) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Mapping):
        return tuple(f"{_quoted(name)}={named(name, _values, values)}" for name, values in given.items())
    return tuple(given)


def _measures(given: Union[Mapping[str, str], Iterable[str], None]) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple(given.items())
    return tuple((text, text) for text in ((given,) if isinstance(given, str) else given))


def _write_table(table: Any, path: str) -> None:
    """The columns of a DataFrame, a structured array or a dict as a CSV file."""
    import csv

    if getattr(getattr(table, "dtype", None), "names", None):
        names = list(table.dtype.names)
    elif isinstance(table, Mapping) or hasattr(table, "columns"):
        names = list(table.keys())
    else:
        raise TypeError(f"a table is a file, a DataFrame, a structured array or a dict, not {type(table).__name__}")
    columns = [[float(v) for v in table[name]] for name in names]
    for name, column in zip(names, columns):
        for row, value in enumerate(column):
            if not math.isfinite(value):
                raise InputError(f"table: {name} is {value} in row {row}")
        if len(column) != len(columns[0]):
            raise InputError(f"table: {name} has {len(column)} rows, {names[0]} has {len(columns[0])}")
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([repr(v) for v in row] for row in zip(*columns))


def _content(value: Any) -> bytes:
    """What a system consists of, as bytes that differ for different systems."""
    if hasattr(value, "tobytes"):
        return f"{value.dtype}{value.shape}".encode() + bytes(value.tobytes())
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, (tuple, list)):
        parts = [_content(item) for item in value]
        return b"(" + b"".join(b"%d:%b" % (len(part), part) for part in parts) + b")"
    return f"{type(value).__name__} {value!r}".encode()


def _refuse_python(model: Any, inputs: Any, of: str = "a study: its cases run in other processes") -> None:
    """Workers do not call Python."""
    from ._system import System

    why = f"in Python, and cannot be part of {of}"
    if isinstance(inputs, Mapping):
        for name, value in inputs.items():
            if callable(value):
                raise InputError(f"the input {name} is a function {why}; give it as (times, values)")
    if isinstance(model, System):
        for step in model._steps:
            inner = step[4] if step[0] == "model" else None
            if isinstance(inner, System):
                _refuse_python(inner, None, of)
            elif inner is not None or any(map(callable, step)):
                raise InputError(f"{model.name}: {step[1]} is {why}; use a file or an expression")
    elif not isinstance(model, (str, bytes, os.PathLike)):
        raise InputError(f"{type(model).__name__} is a model {why}; simulate it in a loop")


#------------------------------------ sweep ------------------------------------


def _pass_cases(on_case: Callable[[Case], Any]) -> Callable[..., None]:
    """What the library calls: ``on_case`` with names and arrays."""
    import numpy as np

    def call(
        columns: _core.StudyColumns,
        number: int,
        factors: bytes,
        measures: Optional[bytes],
        curves: Optional[bytes],
        failure: Optional[str],
    ) -> None:
        n_curves, missing = len(columns[2]), [math.nan] * len(columns[1])
        values = np.frombuffer(measures).tolist() if measures is not None else missing
        rows = list(np.frombuffer(curves).reshape(n_curves, -1)) if curves is not None and n_curves > 0 else []
        on_case(
            Case(
                number,
                {c[0]: v for c, v in zip(columns[0], np.frombuffer(factors).tolist())},
                {c[0]: v for c, v in zip(columns[1], values)},
                {c[0]: v for c, v in zip(columns[2], rows)},
                np.frombuffer(columns[3]),
                failure,
            )
        )

    return call


def sweep(
    model: Model,
    over: Union[Mapping[str, Any], Iterable[str], None] = None,
    *,
    measures: Union[Mapping[str, str], Iterable[str], None] = None,
    curves: Iterable[str] = (),
    design: Optional[str] = None,
    sample: Optional[int] = None,
    seed: Optional[int] = None,
    table: Any = None,
    output: Union[Path, Iterable[Path]] = (),
    journal: Optional[Path] = None,
    resume: bool = False,
    restart: bool = False,
    workers: Optional[int] = None,
    case_timeout: Optional[float] = None,
    on_case: Optional[Callable[[Case], Any]] = None,
    progress: Union[bool, Callable[[Mapping[str, Any]], Any], None] = None,
    start: Optional[float] = None,
    stop: Optional[float] = None,
    interval: Optional[float] = None,
    step: Optional[float] = None,
    solver: Union[str, Mapping[str, str], None] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    input: Input = None,
    as_: Optional[str] = None,
    form: Optional[str] = None,
    linear: Optional[str] = None,
    loops: Optional[str] = None,
    projection: Optional[str] = None,
    one_solver: bool = False,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    variant: Optional[str] = None,
    parameters: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], None] = None,
    input_ignore_extra: bool = False,
) -> Study:
    """Simulate many cases of a model or system with varied parameters, on all processors.

    ``model`` is a file, or a :class:`couplet.System` of files. What is not given is taken from the
    sections ``study`` and ``measures`` of a system file. docs/studies.md describes studies:

    over              a dict of parameters or start values and how they vary: a text such as
                      "1:10:4" (first, last, how many), "log:1:100:20", "normal:10:1"; or the values
    measures          a dict of names and expressions over a run, {"peak": "max(abs(left.x))"}; or
                      expressions; default: those of the file, or final values of its outputs
    curves            names of variables that are recorded over time, at the output points
    design            "grid", "random", "lhs", "sobol", "table", "morris", "saltelli"; default: a
                      grid, or random with ``sample``
    sample            how many samples, trajectories (Morris) or base points (Saltelli)
    seed              of random numbers; default: 1
    table             the cases: a CSV file, a DataFrame or a dict of columns
    output            files for the results, .csv or .nc, as the command ``couplet sweep`` writes them
    journal           where finished cases are kept until the study is complete; default: the first
                      output with ".journal" behind its name; without output a temporary file
    resume, restart   go on with an interrupted study, whose journal exists; begin anew
    workers           processes; default: one per processor
    case_timeout      a case that takes longer fails [s]
    on_case           is called with each :class:`Case` in their order, when all are done; curves are
                      then not kept in the study
    progress          a function of a dict (done, total, failed, rate, seconds, ...), called at most
                      ten times per second; True: a line, by default in a terminal or a notebook

    The other keywords are those of :func:`couplet.simulate`. A case that fails is a row with its
    reason. Ctrl-C raises KeyboardInterrupt; with ``output`` or ``journal`` the finished cases are
    kept, and ``resume=True`` goes on. Models and functions in Python cannot be studied, as cases run
    in other processes. In a cluster (mpirun) rank 0 returns the study; the others raise SystemExit
    when it is done.

    >>> import couplet
    >>> study = couplet.sweep("examples/two_masses/two_masses.yaml",
    ...                       {"left.m": "0.5:2:4", "right.m": [1, 2, 4]},
    ...                       measures={"peak": "max(abs(right.x))"}, stop=2)
    >>> study.n_cases, study["peak"].argmax() == study["right.m"].argmin()
    (12, True)
    """
    given = dict(locals())
    for key in _OF_STUDY:
        del given[key]
    _refuse_python(model, input)
    settings = make_settings(**given, log_level=log_level())
    files = (output,) if isinstance(output, (str, bytes, os.PathLike)) else tuple(output)
    content = hashlib.sha256(_content(settings["system"])).hexdigest() if "system" in settings else None
    line = make_study_progress(progress)
    with tempfile.TemporaryDirectory(prefix="couplet-") as folder:
        kept = journal if journal is not None or files else os.path.join(folder, "journal")
        if table is not None and not isinstance(table, (str, bytes, os.PathLike)):
            _write_table(table, os.path.join(folder, "table"))
            table = os.path.join(folder, "table")
        core = _core.Study(
            settings,
            (
                _over(over),
                _measures(measures),
                (curves,) if isinstance(curves, str) else tuple(curves),
                tuple(os.fsencode(file) for file in files),
                design,
                str(operator.index(sample)) if sample is not None else None,
                str(operator.index(seed)) if seed is not None else None,
                os.fsencode(table) if table is not None else None,
                os.fsencode(kept) if kept is not None else None,
                content,
                resume,
                restart,
                operator.index(workers) if workers is not None else 0,
                case_timeout if case_timeout is not None else 0.0,
            ),
        )
        try:
            shown = line if line is not None else progress if callable(progress) else None
            data = core.run(shown, _pass_cases(on_case) if on_case is not None else None)
        finally:
            if line is not None:
                line.close()
    if data is None:
        raise SystemExit(0)
    return Study(core, data, os.fsdecode(settings["path"]))


#: arguments that are not settings of a run
_OF_STUDY = (
    "over measures curves design sample seed table output journal resume restart workers case_timeout on_case progress"
).split()
