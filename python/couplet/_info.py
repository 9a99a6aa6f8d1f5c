# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""What model files contain, building FMUs, and converting systems."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Optional

from . import _core
from ._errors import log_level, unknown_name

if TYPE_CHECKING:
    from ._settings import Path

__all__ = ["Info", "Variable", "Variables", "Experiment", "Finding", "info", "check", "build", "convert", "unpack"]


class Variable(NamedTuple):
    """A variable of a model."""

    name: str
    description: str
    #: None: it has none
    unit: Optional[str]
    display_unit: Optional[str]
    quantity: Optional[str]
    #: "Real", "Integer", "Boolean", "Enumeration", "String", "Binary", "Clock"
    type: str
    #: "parameter", "calculatedParameter", "input", "output", "local", "independent"
    causality: str
    #: "constant", "fixed", "tunable", "discrete", "continuous"
    variability: str
    #: None: it has none
    start: Any
    min: float
    max: float
    #: None: it has none
    nominal: Optional[float]
    #: the name of the variable whose derivative it is. None: of none
    derivative_of: Optional[str]
    #: names and values of an Enumeration
    items: Mapping[str, int]
    #: "Float32", "Int64", ... where the model has such a type; otherwise ""
    width: str


class Experiment(NamedTuple):
    """The default experiment of a model; None: not given."""

    start: Optional[float] = None
    stop: Optional[float] = None
    rtol: Optional[float] = None
    step: Optional[float] = None


class Variables(Mapping[str, Variable]):
    """Variables by their names."""

    def __init__(self, variables: list[Variable], model: str) -> None:
        self._all = {v.name: v for v in variables}
        self._model = model

    def __getitem__(self, name: str) -> Variable:
        try:
            return self._all[name]
        except KeyError:
            pass
        what = f"{self._model}: there is no variable"
        raise unknown_name(what, name, list(self._all), self._model) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"<{len(self)} variables of {self._model}>"


class Info:
    """What a model file contains; made by :func:`info`."""

    def __init__(self, data: dict[str, Any], path: str) -> None:
        #: the file
        self.path = path
        #: of the model
        self.name: str = data["name"]
        #: its format: "FMI 2.0", "C"
        self.kind: str = data["kind"]
        self.description: str = data["description"]
        self.author: str = data["author"]
        self.version: str = data["version"]
        self.copyright: str = data["copyright"]
        self.license: str = data["license"]
        self.generation_tool: str = data["generation_tool"]
        self.generation_date: str = data["generation_date"]
        #: what can be simulated: "me" (model exchange), "cs" (co-simulation)
        self.kinds: tuple[str, ...] = tuple(
            kind for kind, has in (("me", "has_model"), ("cs", "has_stepper")) if data[has]
        )
        #: whether it is a system of models
        self.is_system: bool = data["is_system"]
        self.experiment = Experiment(**data["experiment"])
        #: all variables by name
        self.variables = Variables([Variable(*v) for v in data["variables"]], self.name)
        #: names of the continuous states; None: a hidden one
        self.states: tuple[Optional[str], ...] = data["states"]
        #: sizes of arrays by name; their elements are variables
        self.arrays: dict[str, tuple[int, ...]] = data["arrays"]
        #: the number of event indicators
        self.n_indicators: int = data["n_indicators"]
        #: the largest number of constraints that are active at a time
        self.n_constraints: int = data["n_constraints"]

    def _of(self, causality: str) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables.values() if v.causality == causality)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self._of("input")

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._of("output")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self._of("parameter")

    def __repr__(self) -> str:
        kinds = ", ".join(self.kinds)
        return f"<couplet.Info of {self.name}: {self.kind} ({kinds}), {len(self.variables)} variables>"


def info(model: Path, *, isolate: bool = False) -> Info:
    """What a model or system contains.

    >>> import couplet
    >>> about = couplet.info("examples/bouncing_ball/bouncing_ball.c")
    >>> about.variables["h"].unit, about.states, about.kinds
    ('m', ('h', 'v'), ('me',))
    """
    path = os.fsencode(model)
    return Info(_core.info(path, isolate, log_level()), os.fsdecode(path))


class Finding(NamedTuple):
    """A finding of :func:`check`."""

    #: "error": the file cannot be simulated; or "warning"
    severity: str
    #: in modelDescription.xml or the system file; 0: the file as a whole
    line: int
    #: 0: none
    column: int
    #: a short fixed word: "alias", "start", ...
    rule: str
    text: str


def check(
    model: Path,
    *,
    strict: bool = False,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
) -> list[Finding]:
    """Look for errors in an FMU, a model in C or a system; the findings of ``couplet check``.

    ``strict``: also warnings about defaults that are used.

    >>> import couplet
    >>> couplet.check("examples/bouncing_ball/bouncing_ball.c")
    []
    """
    found = _core.check(os.fsencode(model), strict, isolate, call_timeout or 0.0)
    return [Finding(*finding) for finding in found]


def build(model: Path, output: Optional[Path] = None, *, fmi: int = 2, expose: str = "all", sources: bool = False) -> str:
    """Build an FMU of a model written in C or of a whole system; returns its path.

    ``model`` is a ``.c`` file, a system file or an SSP package. Without ``output`` the FMU has the name of the model and is made
    in the current folder. The FMU of a system shows the variables of all its models; with ``expose="interface"`` only inputs,
    outputs and parameters of the system. With ``sources`` the FMU of a system of C models also has C sources for model exchange.
    """
    if expose not in ("all", "interface"):
        raise ValueError(f'expose is "all" or "interface", not {expose!r}')
    where = os.fsencode(output) if output is not None else None
    return _core.build(os.fsencode(model), where, fmi, expose == "interface", sources, log_level())


def unpack(fmu: Path, folder: Path) -> str:
    """Give back the system that an FMU was made of, in a folder that is new or empty; returns the path of its system file."""
    _core.unpack(os.fsencode(fmu), os.fsencode(folder), log_level())
    return os.path.join(os.fsdecode(folder), "system.yaml")


def convert(input: Path, output: Path, *, fmi: int = 2) -> str:
    """Write a system as an SSP package (``.ssp``) or as a system file (``.yaml``); returns the path of the output.

    ``input`` is a system file, or a package or description of SSP. Models in C become FMUs of version ``fmi`` in a package.
    """
    _core.convert(os.fsencode(input), os.fsencode(output), fmi, log_level())
    return os.fsdecode(output)
