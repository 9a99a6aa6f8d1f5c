# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Systems of models, made by calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, Mapping, Optional, Union

from ._errors import InputError
from ._model import Model, Stepper, describe
from ._settings import named, text_of

if TYPE_CHECKING:
    from ._frequency import Frequency
    from ._linear import Linear
    from ._result import Result
    from ._run import Run
    from ._sensitivity import Gradients
    from ._steady import Steady
    from ._study import Study

__all__ = ["System", "draw"]

_FMU, _C, _SYSTEM = range(3)
_AS = {None: 0, "me": 1, "cs": 2}


def _texts(values: Any) -> tuple[str, ...]:
    if values is None:
        return ()
    if isinstance(values, (str, int, float)):
        values = (values,)
    return tuple(text_of(value) for value in values)


def _elements(name: str, value: Any, index: str = "") -> list[tuple[str, str]]:
    """The elements of an array have names such as x[2] and x[1,2]."""
    if not isinstance(value, (list, tuple)):
        return [(f"{name}[{index}]" if index else name, named(name, text_of, value))]
    before = index + "," if index else ""
    return [
        pair
        for i, item in enumerate(value, 1)
        for pair in _elements(name, item, before + str(i))
    ]


def _pairs(values: Optional[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for name, value in (values or {}).items():
        pairs += _elements(name, value.tolist() if hasattr(value, "tolist") else value)
    return tuple(pairs)


def _array(block: Any) -> Any:
    import numpy as np

    return np.frombuffer(block, dtype=np.float64)


class System:
    """Models, and what connects them. Its methods return the system.

    >>> import couplet
    >>> folder = "examples/two_masses/"
    >>> s = couplet.System("pair")
    >>> s.add("left", folder + "mass.c", start={"x": 1.0})
    <couplet.System pair: 1 model>
    >>> s.add("right", folder + "mass.c").connect("left.F", "-(left.x - right.x)")
    <couplet.System pair: 2 models>
    >>> s.connect("right.F", "left.x - right.x").simulate(stop=2).names[:2]
    ('left.x', 'left.v')

    Names and expressions are those of system files (docs/system-file.md). They are checked when the
    system is simulated or opened; one system serves any number of runs. A system can be a model of
    another one.
    """

    def __init__(self, name: str = "system") -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a system is a str, not {name!r}")
        self._steps: list[tuple[Any, ...]] = [("name", name)]
        self.name = name

    def _add(self, *step: Any) -> System:
        self._steps.append(step)
        return self

    #------------------------------------ parts ------------------------------------

    def add(
        self,
        name: str,
        model: Union[str, os.PathLike[str], System, Model, Stepper],
        *,
        start: Optional[Mapping[str, Any]] = None,
        as_: Optional[str] = None,
        isolate: bool = False,
    ) -> System:
        """Add a model: a file (.fmu, .c, .yaml, .ssp), another system, a :class:`couplet.Model` or a
        :class:`couplet.Stepper`.

        start    parameters and start values
        as_      "me" or "cs": model exchange or co-simulation; a model without a solver of its own
                 gets one with "cs"
        isolate  run it in a process of its own
        """
        if as_ not in _AS:
            raise ValueError(f'as_ is "me" or "cs", not {as_!r}')
        path: Optional[str] = None
        content: Union[Model, Stepper, System, None] = None
        kind = _FMU
        if isinstance(model, (Model, Stepper)):
            describe(model)  # fails early
            content, kind = model, _C
        elif isinstance(model, System):
            self._refuse_cycle(name, model)
            content, kind = model, _SYSTEM
        elif isinstance(model, type) and issubclass(model, (Model, Stepper)):
            raise TypeError(f"add an instance of {model.__name__}, {model.__name__}(), not the class")
        else:
            path = os.fspath(model)
            ending = os.path.splitext(path)[1]
            package = os.path.exists(os.path.join(path, "SystemStructure.ssd"))
            fmu = ending == ".fmu" or (os.path.isdir(path) and not package)
            kind = _C if ending == ".c" else _FMU if fmu else _SYSTEM
        if isolate and kind == _C and path is None:
            raise ValueError(f"{name}: a model in Python cannot run in a process of its own")
        return self._add("model", name, kind, path, content, _AS[as_], bool(isolate), _pairs(start))

    def connect(
        self,
        target: str,
        source: Any,
        *,
        convert: bool = False,
        convert_units: bool = True,
        factor: float = 1,
        offset: float = 0,
    ) -> System:
        """Connect an input to a variable, to an expression, or to a number.

        The value of a variable is multiplied by ``factor``, and ``offset`` is added, after the
        conversion of its unit.
        """
        if factor == 0:
            raise ValueError(f"{target}: the factor must not be 0")
        return self._add(
            "connect", target, text_of(source), bool(convert), not convert_units, float(factor), float(offset)
        )

    def couple(
        self,
        target: str,
        function: Callable[[float, Any], float],
        reads: Iterable[str],
        *,
        gradient: Optional[Callable[[float, Any], Any]] = None,
    ) -> System:
        """Connect an input to a function of the time and an array of the values of ``reads``.

        ``gradient`` returns the derivatives of the function with respect to these values; without
        it differences are used. The array is valid during the call only.

        >>> import couplet
        >>> s = couplet.System().add("mass", "examples/two_masses/mass.c", start={"x": 1})
        >>> r = s.couple("mass.F", lambda t, y: -4 * y[0], reads=["mass.x"]).simulate(stop=1)
        >>> abs(float(r["mass.x"][-1]) + 0.4161) < 1e-3  # cos(2)
        True
        """
        names = (reads,) if isinstance(reads, str) else tuple(reads)
        return self._add("couple", target, function, names, gradient, _array)

    def parameter(self, name: str, value: Any) -> System:
        """A constant for expressions."""
        return self._add("parameter", name, text_of(value))

    def input(
        self,
        name: str,
        value: Any = None,
        *,
        file: Union[str, os.PathLike[str], None] = None,
        column: Optional[str] = None,
        hold: bool = False,
        start: Any = None,
        unit: Optional[str] = None,
    ) -> System:
        """An input of the system: an expression, a function of time, (times, values), or a column
        of a CSV file; without any of them it is set from outside.

        hold   of tables: keep each value until the next one, in place of linear interpolation
        start  of an input that is set from outside
        """
        expression = function = table = None
        if callable(value):
            function = value
        elif isinstance(value, tuple):
            table = value
        elif value is not None:
            expression = text_of(value)
        path = os.fspath(file) if file is not None else None
        first = text_of(start) if start is not None else None
        return self._add("input", name, expression, path, column, bool(hold), function, table, first, unit)

    def output(self, name: str, source: Any) -> System:
        """An output of the system, for a system that contains it."""
        return self._add("output", name, text_of(source))

    def event(
        self,
        name: Optional[str] = None,
        *,
        when: Optional[str] = None,
        at: Any = None,
        set: Optional[Mapping[str, Any]] = None,  # noqa: A002
    ) -> System:
        """When a condition becomes true, or at given times, set variables."""
        if (when is None) == (at is None):
            raise ValueError("an event has either a condition, when, or times, at")
        number = 1 + sum(step[0] == "event" for step in self._steps)
        return self._add("event", name or f"event{number}", when, _texts(at), _pairs(set))

    def constraint(self, name: str, equation: str) -> System:
        """An equation that the exact solution satisfies; the states are projected onto it."""
        return self._add("constraint", name, equation)

    def record(self, *names: str) -> System:
        """Record these variables: names, or patterns with * and ?."""
        for name in names:
            self._add("record", name)
        return self

    def master(
        self,
        *,
        steps: Optional[Mapping[str, float]] = None,
        bonds: Optional[Mapping[str, str]] = None,
        **settings: Any,
    ) -> System:
        """How co-simulation models are coupled: algorithm, step, order, tolerance, on_loop,
        estimate, legacy, min_step, loop_tolerance, iterations, fixed_iterations, threads,
        output_derivatives (docs/system-file.md, ``master``).

        steps  of single models
        bonds  power bonds: the input with the effort, and the one with the flow
        """
        known = (
            "algorithm on_loop estimate legacy step tolerance min_step loop_tolerance order iterations "
            "threads fixed_iterations output_derivatives"
        ).split()
        for key in settings:
            if key not in known:
                raise TypeError(f"a master has no {key}; it has {', '.join(known)}")
        return self._add("master", settings, _pairs(steps), tuple((bonds or {}).items()))

    def experiment(
        self,
        *,
        start: Optional[float] = None,
        stop: Optional[float] = None,
        interval: Optional[float] = None,
        step: Optional[float] = None,
        rtol: Optional[float] = None,
        atol: Optional[float] = None,
        solver: Optional[str] = None,
        linear: Optional[str] = None,
        projection: Optional[str] = None,
        loops: Optional[str] = None,
        steady: Optional[bool] = None,
    ) -> System:
        """Defaults of :meth:`simulate` and :meth:`open`."""
        given = dict(
            start=start, stop=stop, interval=interval, step=step, rtol=rtol, atol=atol, solver=solver,
            linear=linear, projection=projection, loops=loops,
            steady=None if steady is None else "true" if steady else "false",
        )
        return self._add("experiment", {k: v for k, v in given.items() if v is not None})

    #------------------------------------ use ------------------------------------

    def _systems(self) -> list[tuple[str, System]]:
        return [(s[1], s[4]) for s in self._steps if s[0] == "model" and isinstance(s[4], System)]

    def _refuse_cycle(self, name: str, model: System) -> None:
        """A system cannot contain itself, directly or inside of its models."""
        found: set[int] = set()
        paths = [(name, model)]
        while paths:
            path, system = paths.pop()
            if system is self:
                raise InputError(f"{path} is the system {self.name} itself: it cannot contain itself")
            if id(system) not in found:
                found.add(id(system))
                paths += [(f"{path}.{inner}", content) for inner, content in system._systems()]

    def _frozen(self, depth: int = 0) -> tuple[tuple[Any, ...], ...]:
        """The steps as the library takes them; models of Python are described anew."""
        if depth > 100:
            raise InputError(f"{self.name}: more than 100 systems inside each other")
        frozen = []
        for step in self._steps:
            if step[0] == "model" and isinstance(step[4], System):
                step = (*step[:4], step[4]._frozen(depth + 1), *step[5:])
            elif step[0] == "model" and step[4] is not None:
                step = (*step[:4], describe(step[4]), *step[5:])
            frozen.append(step)
        return tuple(frozen)

    def _has_python(self) -> bool:
        contents = [step[4] for step in self._steps if step[0] == "model"]
        return any(
            content._has_python() if isinstance(content, System) else content is not None
            for content in contents
        )

    def simulate(self, **settings: Any) -> Result:
        """:func:`couplet.simulate` of this system."""
        from ._run import simulate

        return simulate(self, **settings)

    def open(self, **settings: Any) -> Run:
        """:func:`couplet.open` of this system: a simulation step by step."""
        from ._run import open as open_run

        return open_run(self, **settings)

    def sweep(self, over: Union[Mapping[str, Any], Iterable[str], None] = None, **settings: Any) -> Study:
        """:func:`couplet.sweep` of this system."""
        from ._study import sweep

        return sweep(self, over, **settings)

    def linearize(self, at: Union[float, Literal["steady"], None] = None, **settings: Any) -> Linear:
        """:func:`couplet.linearize` of this system."""
        from ._linear import linearize

        return linearize(self, at=at, **settings)

    def bode(self, **settings: Any) -> Frequency:
        """:func:`couplet.bode` of this system."""
        from ._frequency import bode

        return bode(self, **settings)

    def sensitivity(self, **settings: Any) -> Result:
        """:func:`couplet.sensitivity` of this system."""
        from ._sensitivity import sensitivity

        return sensitivity(self, **settings)

    def gradients(self, **settings: Any) -> Gradients:
        """:func:`couplet.gradients` of this system."""
        from ._sensitivity import gradients

        return gradients(self, **settings)

    def steady(self, **settings: Any) -> Steady:
        """:func:`couplet.steady` of this system."""
        from ._steady import steady

        return steady(self, **settings)

    def draw(self, path: Union[str, os.PathLike[str], None] = None) -> str:
        """Draw the models and what connects them: a picture (.svg) or an interactive page (.html).

        Returns the path, or, without a path, the picture as a text.
        """
        return draw(self, path)

    def _repr_svg_(self) -> str:
        return draw(self)

    def copy(self) -> System:
        """A system that can be changed without changing this one."""
        other = System(self.name)
        other._steps = list(self._steps)
        return other

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(step[1] for step in self._steps if step[0] == "model")

    def __repr__(self) -> str:
        n = len(self.models)
        return f"<couplet.System {self.name}: {n} model{'' if n == 1 else 's'}>"


def draw(model: Any, path: Union[str, os.PathLike[str], None] = None) -> str:
    """Draw a system, or what is inside a model: .svg or .html.

    Returns the path, or, without a path, the picture as a text.

    >>> import couplet
    >>> couplet.draw("examples/two_masses/two_masses.yaml")[:4]
    '<svg'
    """
    import tempfile

    from . import _core
    from ._errors import log_level
    from ._settings import make_settings

    settings = make_settings(model)
    if path is not None:
        _core.diagram(settings, os.fsencode(path), not os.fspath(path).endswith(".html"), log_level())
        return os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="couplet-") as folder:
        file = os.path.join(folder, "system.svg")
        _core.diagram(settings, os.fsencode(file), True, log_level())
        with open(file, encoding="utf-8") as picture:
            return picture.read()
