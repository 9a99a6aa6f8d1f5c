# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Simulations: from start to stop, and step by step."""

from __future__ import annotations

import math
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Union, cast

from . import _core
from ._errors import log_level
from ._progress import make_progress
from ._result import Result
from ._settings import content_of, make_settings

StrPath = Union[str, "os.PathLike[str]"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ._linear import Linear
    from ._settings import Input, Model

__all__ = ["Run", "Reader", "Writer", "Snapshot", "simulate", "open"]

Snapshot = _core.Snapshot


def _buffer(selection: _core.Selection) -> memoryview:
    return memoryview(cast(Any, selection))  # numpy uses it without a copy, and keeps no run


class Reader:
    """Variables of a run that are read together; made by :meth:`Run.reader`.

    Integers and Booleans are numbers of type float64 here.
    """

    def __init__(self, run: Run, names: tuple[str, ...]) -> None:
        import numpy as np

        self._core = _core.Selection(run, names)
        #: the values of the last :meth:`update`; always the same array
        self.values: NDArray[np.float64] = np.frombuffer(_buffer(self._core))
        #: reads the present values into ``values``
        self.update: Callable[[], None] = self._core.get

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables; elements of arrays are listed one by one."""
        return self._core.names

    def read(self) -> NDArray[np.float64]:
        """The present values, as a new array."""
        self.update()
        return self.values.copy()

    __call__ = read

    def __len__(self) -> int:
        return len(self.values)


class Writer:
    """Variables of a run that are set together; made by :meth:`Run.writer`."""

    def __init__(self, run: Run, names: tuple[str, ...]) -> None:
        import numpy as np

        self._core = _core.Selection(run, names)
        #: the values that :meth:`update` sets; always the same array
        self.values: NDArray[np.float64] = np.frombuffer(_buffer(self._core))
        #: sets the variables to ``values``
        self.update: Callable[[], None] = self._core.set

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables; elements of arrays are listed one by one."""
        return self._core.names

    def write(self, values: ArrayLike) -> None:
        """Set all variables: one value for each, in the order of ``names``."""
        import numpy as np

        array = np.asarray(values, dtype=np.float64)
        if array.shape != self.values.shape:
            raise ValueError(f"{len(self)} values are needed, not an array of shape {array.shape}")
        self.values[:] = array
        self.update()

    __call__ = write

    def __len__(self) -> int:
        return len(self.values)


class Run(_core.Run):
    """A simulation that is advanced step by step; made by :func:`couplet.open`.

    Values are read and set by name between the steps. A value that is set before the first step or
    reading is a start value. The models are initialised by :meth:`start`, or by the first step or
    reading.

    >>> import couplet
    >>> with couplet.open("examples/bouncing_ball/bouncing_ball.c") as run:
    ...     run["h"] = 2.0
    ...     while run.time < 1:
    ...         _ = run.step(0.25)
    ...     snapshot = run.save()
    ...     _ = run.advance(2)
    ...     run.restore(snapshot)
    ...     run.time, run["h"] > 0
    (1.0, True)

    A run is used by one thread at a time; several runs can be used by several threads at once.
    """

    _model: str = ""
    _settings: dict[str, Any] = {}
    _last_stats: Optional[dict[str, Any]] = None

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"t = {self.time:g} s"
        return f"<couplet.Run of {self._model}: {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a run cannot be pickled; its result can")

    #------------------------------------ values ------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all variables."""
        return self._names()

    def reader(self, names: Iterable[str]) -> Reader:
        """Find variables once, in order to read all of them quickly, many times.

        >>> import couplet
        >>> with couplet.open("examples/bouncing_ball/bouncing_ball.c") as run:
        ...     reader = run.reader(["h", "v"])
        ...     _ = run.step(0.1)
        ...     reader.read().round(3)
        array([ 0.951, -0.981])
        """
        return Reader(self, _names(names))

    def writer(self, names: Iterable[str]) -> Writer:
        """Find variables once, in order to set all of them quickly, many times."""
        return Writer(self, _names(names))

    def get(self, names: Iterable[str]) -> NDArray[np.float64]:
        """The values of several variables."""
        return self.reader(names).read()

    def set(self, values: Mapping[str, Any]) -> None:
        """Set several variables."""
        for name, value in values.items():
            self[name] = value

    def _get_array(self, name: str) -> NDArray[np.float64]:
        return self.reader([name]).read()

    def _set_array(self, name: str, values: Any) -> None:
        import numpy as np

        self.writer([name]).write(np.ravel(values))

    #------------------------------------ states ------------------------------------

    def save(self) -> Snapshot:
        """Save the present state, in order to return to it any number of times."""
        return Snapshot(self)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a saved state. Rows that were recorded later are removed."""
        snapshot.restore(self)

    def checkpoint(self, path: StrPath) -> None:
        """Write the state of the whole run, and its rows so far, to a file.

        ``couplet.open(..., resume=path)`` and ``couplet.simulate(..., resume=path)`` go on from it, also in
        another process, as if the run had never stopped; ``start_from=path`` begins other runs with
        its state.

        >>> import couplet, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "ball.state")
        >>> with couplet.open("examples/bouncing_ball/bouncing_ball.c") as run:
        ...     _ = run.advance(1)
        ...     run.checkpoint(path)
        >>> couplet.open("examples/bouncing_ball/bouncing_ball.c", resume=path).step(0.5)
        1.5
        """
        self._checkpoint(os.fsencode(path), content_of(self._settings))

    #------------------------------------ results ------------------------------------

    @property
    def stats(self) -> dict[str, Any]:
        """Statistics so far."""
        if not self.closed:
            self._last_stats = self._stats()
        return self._last_stats or {}

    @property
    def result(self) -> Result:
        """What was recorded so far, also of a closed run."""
        return Result._from_rows(self._rows(), self.stats, self._model)

    def close(self) -> None:
        """End the run and release the models. The result remains."""
        if not self.closed:
            self.stats  # of a run that is not finished
        super().close()

    def linearize(self, only: Iterable[str] = (), reduce: Optional[int] = None) -> Linear:
        """The matrices of x' = A x + B u, y = C x + D u at the present point.

        ``reduce``: with this number of states. Open the run with ``one_solver=True`` and ``form="ode"``, or use :func:`couplet.linearize`.
        """
        from ._linear import Linear

        if reduce is not None and reduce < 0:
            raise ValueError(f"reduce is a number of states, not {reduce}")
        return Linear._of(self._linearize(_names(only), -1 if reduce is None else reduce), self.time)

    def _failed(self, error: BaseException) -> None:
        """Called by the library: add what was computed to an exception."""
        for _ in range(10):  # a further Ctrl-C must not lose it
            try:
                error.result = None  # type: ignore[attr-defined]
                error.result = self.result  # type: ignore[attr-defined]
                return
            except KeyboardInterrupt:
                continue
            except Exception:
                return


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _make_run(given: dict[str, Any], **more: Any) -> Run:
    """A run from the arguments of :func:`open` or :func:`simulate`."""
    settings = make_settings(**given, **more, log_level=log_level())
    try:
        run = Run(settings)
    except KeyboardInterrupt as interrupt:
        interrupt.result = None  # type: ignore[attr-defined]
        raise
    run._model = os.fsdecode(settings["path"])
    run._settings = settings
    return run


def open(  # noqa: A001 (couplet.open)
    model: Model,
    *,
    start: Optional[float] = None,
    stop: float = math.inf,
    interval: Optional[float] = None,
    step: Optional[float] = None,
    solver: Union[str, Mapping[str, str], None] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    record: Optional[Iterable[str]] = None,
    input: Input = None,
    as_: Optional[str] = None,
    form: Optional[str] = None,
    linear: Optional[str] = None,
    loops: Optional[str] = None,
    projection: Optional[str] = None,
    one_solver: bool = False,
    steady: Optional[bool] = None,
    ad: bool = True,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    call_log: Optional[str] = None,
    variant: Optional[str] = None,
    parameters: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], None] = None,
    threads: Optional[int] = None,
    processes: bool = False,
    input_ignore_extra: bool = False,
    checkpoint: Optional[StrPath] = None,
    every: Union[float, str, None] = None,
    resume: Optional[StrPath] = None,
    start_from: Optional[StrPath] = None,
    at: Optional[float] = None,
    progress: Optional[Callable[[float, float], Any]] = None,
) -> Run:
    """Open a model or system for a simulation step by step.

    ``model`` is an .fmu, a model in C (.c), or a system (.yaml, .xml, .ssp). The keywords are those
    of :func:`simulate`; without ``stop`` the run has no end.

    >>> import couplet
    >>> run = couplet.open("examples/van_der_pol/van_der_pol.c", rtol=1e-8)
    >>> run.step(0.5)
    0.5
    >>> run.close()
    """
    given = dict(locals())
    return _make_run(given, saves=True)


def simulate(
    model: Model,
    *,
    start: Optional[float] = None,
    stop: Optional[float] = None,
    interval: Optional[float] = None,
    step: Optional[float] = None,
    solver: Union[str, Mapping[str, str], None] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    record: Optional[Iterable[str]] = None,
    input: Input = None,
    as_: Optional[str] = None,
    form: Optional[str] = None,
    linear: Optional[str] = None,
    loops: Optional[str] = None,
    projection: Optional[str] = None,
    one_solver: bool = False,
    steady: Optional[bool] = None,
    ad: bool = True,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    call_log: Optional[str] = None,
    variant: Optional[str] = None,
    parameters: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], None] = None,
    threads: Optional[int] = None,
    processes: bool = False,
    input_ignore_extra: bool = False,
    checkpoint: Optional[StrPath] = None,
    every: Union[float, str, None] = None,
    resume: Optional[StrPath] = None,
    start_from: Optional[StrPath] = None,
    at: Optional[float] = None,
    progress: Union[bool, Callable[[float, float], Any], None] = None,
) -> Result:
    """Simulate a model or system from start to stop.

    ``model`` is an .fmu, a model in C (.c), or a system (.yaml, .xml, .ssp). What is not given is taken
    from the file. The keywords are the options of ``couplet run``:

    start, stop       times [s]
    interval          between output points [s]
    step              the step of fixed-step solvers, the maximum of others, and the communication
                      step of co-simulation [s]
    solver            :data:`couplet.solvers` lists them; a dict of model and solver for the models
                      of a system with delay lines
    rtol, atol        tolerances
    set               a dict of parameters and start values; texts may have units: "30 deg"
    record            names, or patterns with * and ?; default: outputs and states
    input             a file (.csv, .mat); a dict of names and (times, values) or functions of time;
                      a DataFrame or structured array with a column ``time``
    as_               "me" or "cs": model exchange or co-simulation, for FMUs with both
    form, linear, loops, projection, one_solver
                      how the equations are solved, see ``couplet run --help``
    steady            begin at the rest point, searched from the start values
    ad                False: models in C get no derivatives made of their source
    isolate           models run in processes of their own: a crash is an exception in any case,
                      but then it cannot damage this process. They end with the thread that opened
                      the run
    call_timeout      end the run when a call of a model takes longer [s]; isolates
    call_log          a file that records every FMI call
    variant, parameters
                      of an SSP package: the variant with this name; a file (.ssv), or several,
                      whose values replace those of the package
    threads           number of threads among which models are divided; 0: as many as pay
    processes         systems with delay lines: one process per component
    checkpoint        a file for the state of the whole run, its rows included, right after the
                      initialisation, at the end, and whenever ``every`` has passed (seconds of
                      computing, or "10min"; by default ten minutes)
    resume            a checkpoint of the same run: goes on from there; the result is that of a run
                      that was never stopped, bit by bit
    start_from, at    a checkpoint of a run of the same model, with whose state this run begins, and
                      the time of its beginning, by default that of the checkpoint; there ``set``
                      sets inputs, tunable parameters and states
    progress          a function of (time, step size), called at most ten times per second; True:
                      a line with the remaining time, by default where it is seen: in a terminal or
                      a notebook, when a run takes longer than a second

    A run that fails raises an :class:`Error` whose ``result`` is what was computed before. Ctrl-C
    raises KeyboardInterrupt, likewise with ``result``.

    >>> import couplet
    >>> r = couplet.simulate("examples/van_der_pol/van_der_pol.c", stop=2, set={"mu": 3})
    >>> float(r.time[-1])
    2.0
    """
    return run_settings(dict(locals()))


def run_settings(given: dict[str, Any], **more: Any) -> Result:
    """A run from start to stop, with the arguments of :func:`simulate`."""
    progress = given.get("progress")
    line = make_progress(progress)
    given["progress"] = line if line is not None else progress or None
    run = _make_run(given, **more)
    with run:
        if line is not None:
            line.start, line.stop = run.start_time, run.stop_time
        try:
            run._run()
        finally:
            if line is not None:
                line.close()
        return run.result
