# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Classes of Python as models and as steppers of a system."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Declaration", "Model", "Stepper", "Values"]

_TYPES = {"Real": 0, "Integer": 1, "Boolean": 2}
_MAXIMUM = 10_000_000


class Declaration:
    """A variable of a :class:`Model`, or an array of ``size`` elements.

    >>> import couplet
    >>> couplet.Declaration(20, unit="degC", min=-50, max=100)
    Declaration(20.0, unit='degC', min=-50, max=100)
    """

    def __init__(
        self,
        start: float = 0.0,
        *,
        unit: Optional[str] = None,
        description: Optional[str] = None,
        size: int = 0,
        type: str = "Real",  # noqa: A002
        min: Optional[float] = None,  # noqa: A002
        max: Optional[float] = None,  # noqa: A002
        nominal: float = 0.0,
        output: bool = False,
        tunable: bool = False,
        discrete: bool = False,
    ) -> None:
        if type not in _TYPES:
            raise ValueError(f"a variable is Real, Integer or Boolean, not {type}")
        self.start = float(start)
        self.unit = unit
        self.description = description
        self.size = size
        self.type = type
        self.min = min
        self.max = max
        self.nominal = nominal
        #: of states and discrete variables: also an output
        self.output = output
        #: of parameters: may change at events
        self.tunable = tunable
        #: of inputs and outputs: changes only at events
        self.discrete = discrete

    def __repr__(self) -> str:
        default = Declaration.__init__.__kwdefaults__
        given = [
            f"{key}={getattr(self, key)!r}"
            for key, value in default.items()
            if getattr(self, key) != value
        ]
        return f"Declaration({', '.join([repr(self.start), *given])})"

    def _row(self, name: str) -> tuple[Any, ...]:
        if not 0 <= self.size <= _MAXIMUM:
            raise ValueError(f"{name}: size cannot be {self.size}")
        low = -math.inf if self.min is None else float(self.min)
        high = math.inf if self.max is None else float(self.max)
        if not low <= high:
            raise ValueError(f"{name}: min, {low:g}, is greater than max, {high:g}")
        if low == high == 0:
            low = -0.0  # in C: limits that are given
        return (
            name,
            self.start,
            self.unit,
            self.description,
            self.size,
            _TYPES[self.type],
            low,
            high,
            self.nominal,
            self.output,
            self.tunable,
            self.discrete,
        )


#: names; or names with start values; or names with declarations
Declarations = Union[Iterable[str], Mapping[str, Union[float, Declaration]]]


def _declared(declarations: Any) -> dict[str, Declaration]:
    if isinstance(declarations, str):
        declarations = (declarations,)
    if not isinstance(declarations, Mapping):
        return {name: Declaration() for name in declarations}
    return {
        name: value if isinstance(value, Declaration) else Declaration(value)
        for name, value in declarations.items()
    }


class _Places(dict[str, tuple[Any, Any]]):
    """The array, and the place in it, of each variable."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"{name} is none of {', '.join(self)}")


def _array_property(name: str) -> Any:
    def assign(self: Values, value: Any) -> None:
        getattr(self, name)[:] = value  # the library knows only this array

    return property(attrgetter(name), assign)


class Values:
    """The argument of the methods of a model: the time, and arrays in the order of the declarations.

    ``v["name"]`` is a variable by its name; it can be set where the array can: states and discrete
    variables in `initialize` and `event`, discrete variables and outputs in `step`.
    """

    #: time [s]
    t: float
    #: continuous states, inputs, parameters, discrete variables, and, of steppers, outputs; inputs
    #: and parameters cannot be changed
    if TYPE_CHECKING:
        x: NDArray[np.float64]
        u: NDArray[np.float64]
        p: NDArray[np.float64]
        w: NDArray[np.float64]
        y: NDArray[np.float64]
    else:
        x, u, p, w, y = (_array_property(name) for name in ("_x", "_u", "_p", "_w", "_y"))
    #: in `event`: +1 or -1 for each indicator that changed its sign, else 0
    crossed: NDArray[np.int8]
    #: in `event`: the time that was requested is reached
    time_event: bool
    #: set it in `event` or `initialize` to request a time event
    next_time: float
    #: set it in `event` to be called once more at this time
    again: bool
    #: set it in `event` or `step` to end the simulation
    terminate: bool

    def __init__(
        self,
        lists: Mapping[str, Mapping[str, Declaration]],
        blocks: Sequence[Any],
        writeable: bool = True,
    ) -> None:
        import numpy as np

        x, u, p, w, y = (np.frombuffer(block, dtype=np.float64) for block in blocks[:5])
        for array in (u, p) if writeable else (x, u, p, w, y):
            array.flags.writeable = False  # a change would be lost
        self._x, self._u, self._p, self._w, self._y = x, u, p, w, y
        self.crossed = np.frombuffer(blocks[5], dtype=np.int8)
        self.t = math.nan
        self.time_event = self.again = self.terminate = False
        self.next_time = math.inf
        self._at = _Places()
        for key, array in (("states", x), ("inputs", u), ("parameters", p), ("discrete", w), ("outputs", y)):
            at = 0
            for name, declaration in lists.get(key, {}).items():
                n = declaration.size
                self._at.setdefault(name, (array, slice(at, at + n) if n else at))
                at += n or 1

    def __getitem__(self, name: str) -> Any:
        array, at = self._at[name]
        return array[at]

    def __setitem__(self, name: str, value: Any) -> None:
        array, at = self._at[name]
        array[at] = value


class Model:
    """A model in Python: x' = f(t, x, u), y = g(t, x, u), and events.

    A class lists its variables and has the methods it needs. Each is called with a :class:`Values`,
    whose arrays are valid during the call. Between calls a model keeps nothing but its variables:
    what changes at events belongs into ``discrete``, since steps are repeated and states saved and
    restored. Parameters and start values are set in :meth:`couplet.System.add`.

    >>> import couplet
    >>> class Controller(couplet.Model):
    ...     inputs = ["r", "y"]
    ...     outputs = ["u"]
    ...     states = {"i": 0.0}
    ...     parameters = {"k": 2.0, "ti": 0.5}
    ...     def derivatives(self, v):
    ...         return v["r"] - v["y"]
    ...     def output_values(self, v):
    ...         return v["k"] * (v["r"] - v["y"] + v["i"] / v["ti"])
    """

    #: of the model; default: the name of the class
    name: str = ""
    description: str = ""
    states: Declarations = ()
    inputs: Declarations = ()
    #: what `output_values` returns; states and discrete variables may be outputs, too
    outputs: Declarations = ()
    parameters: Declarations = ()
    #: values that change only at events
    discrete: Declarations = ()
    #: number of event indicators
    n_indicators: int = 0
    #: default experiment; 0: not given
    start_time: float = 0.0
    stop_time: float = 0.0
    tolerance: float = 0.0
    step_size: float = 0.0

    def derivatives(self, v: Values) -> ArrayLike:
        """The derivatives of the states."""
        raise NotImplementedError

    def output_values(self, v: Values) -> ArrayLike:
        """The values of `outputs`."""
        raise NotImplementedError

    def indicators(self, v: Values) -> ArrayLike:
        """An event happens where one of these changes between positive and not positive."""
        raise NotImplementedError

    def initialize(self, v: Values) -> Any:
        """Called before time starts; may change v.x, v.w and v.next_time."""

    def event(self, v: Values) -> Any:
        """Called at every event; may change v.x, v.w, v.next_time, v.again and v.terminate."""


class Stepper:
    """A model in Python that advances itself, as an FMU for co-simulation does.

    :meth:`step` is called with the inputs at the beginning of the step and returns the outputs at
    its end, or sets them in ``v.y``. A stepper can be rolled back when everything that changes is
    in ``discrete`` and ``outputs``; then set ``rolls_back``.

    >>> import couplet
    >>> class Sampler(couplet.Stepper):
    ...     inputs = ["u"]
    ...     outputs = ["y"]
    ...     discrete = {"sum": 0.0}
    ...     rolls_back = True
    ...     def step(self, v, h):
    ...         v["sum"] += h * v["u"]
    ...         return v["sum"]
    """

    name: str = ""
    description: str = ""
    inputs: Declarations = ()
    outputs: Declarations = ()
    parameters: Declarations = ()
    #: values that are kept from step to step
    discrete: Declarations = ()
    #: everything that changes is in `discrete` and `outputs`
    rolls_back: bool = False
    start_time: float = 0.0
    stop_time: float = 0.0
    tolerance: float = 0.0
    step_size: float = 0.0

    def initialize(self, v: Values) -> Any:
        """Called before time starts; returns the outputs then, or sets them in v.y."""

    def step(self, v: Values, h: float) -> Any:
        """Advance from v.t to v.t + h."""
        raise NotImplementedError


_METHODS = ("derivatives", "output_values", "indicators", "initialize", "event")
_NUMBERS = ("start_time", "stop_time", "tolerance", "step_size")


def describe(model: Union[Model, Stepper]) -> dict[str, Any]:
    """What the library needs of a model: its declarations and methods."""
    base = Model if isinstance(model, Model) else Stepper
    lists = {
        key: _declared(getattr(model, key, ()))
        for key in ("states", "inputs", "outputs", "parameters", "discrete")
    }
    spec: dict[str, Any] = {
        key: tuple(declaration._row(name) for name, declaration in items.items())
        for key, items in lists.items()
    }
    spec["name"] = model.name or type(model).__name__
    spec["description"] = model.description
    for key in _NUMBERS:
        spec[key] = float(getattr(model, key))
    for method in _METHODS:
        if getattr(type(model), method, None) is not getattr(base, method, None):
            spec[method] = getattr(model, method)
    if isinstance(model, Stepper):
        if type(model).step is Stepper.step:
            raise TypeError(f"{type(model).__name__} has no method step")
        spec["step"] = model.step
        if model.rolls_back:
            spec["rolls_back"] = True
    else:
        spec["n_indicators"] = int(model.n_indicators)
        if not 0 <= spec["n_indicators"] <= _MAXIMUM:
            raise ValueError(f"{type(model).__name__}: n_indicators cannot be {model.n_indicators}")
        for key, method in (("states", "derivatives"), ("outputs", "output_values")):
            if lists[key] and method not in spec:
                raise TypeError(f"{type(model).__name__} has {key} and no method {method}")
        if spec["n_indicators"] > 0 and "indicators" not in spec:
            raise TypeError(f"{type(model).__name__} has n_indicators and no method indicators")
    if isinstance(model, Model):
        del lists["outputs"]  # they are what output_values returns
    spec["values"] = lambda blocks, writeable: Values(lists, blocks, writeable)
    return spec
