# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""couplet couples simulation models (FMUs, models in C, whole systems) and simulates the whole.

>>> import couplet
>>> r = couplet.simulate("examples/bouncing_ball/bouncing_ball.c", stop=2)
>>> r.time[:3].tolist(), r["h"][:2].round(4).tolist()
([0.0, 0.004, 0.008], [1.0, 0.9999])
"""

from __future__ import annotations

from ._core import __version__, solvers as _solvers
from ._errors import (
    Cancelled,
    Error,
    FileError,
    InputError,
    ModelError,
    SolverError,
    UnknownNameError,
    UnsupportedError,
    Warning,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._frequency import Frequency, bode
    from ._info import Experiment, Finding, Info, Variable, Variables, build, check, convert, info, unpack
    from ._linear import Linear, linearize
    from ._model import Declaration, Model, Stepper, Values
    from ._result import Column, Result, read
    from ._run import Reader, Run, Snapshot, Writer, open, simulate
    from ._search import Constraint, Fit, FitColumn, Optimum, Varied, fit, optimize
    from ._sensitivity import Gradients, gradients, sensitivity
    from ._steady import Steady, steady
    from ._study import Case, Influence, Study, sweep
    from ._system import System, draw

#: names of the solvers
solvers: tuple[str, ...] = _solvers()

# Modules are imported with the first use of one of their names, so that importing couplet is fast.
_MODULES = {
    "_frequency": ("Frequency", "bode"),
    "_info": ("Experiment", "Finding", "Info", "Variable", "Variables", "build", "check", "convert", "info", "unpack"),
    "_linear": ("Linear", "linearize"),
    "_model": ("Declaration", "Model", "Stepper", "Values"),
    "_result": ("Column", "Result", "read"),
    "_run": ("Reader", "Run", "Snapshot", "Writer", "open", "simulate"),
    "_search": ("Constraint", "Fit", "FitColumn", "Optimum", "Varied", "fit", "optimize"),
    "_sensitivity": ("Gradients", "gradients", "sensitivity"),
    "_steady": ("Steady", "steady"),
    "_study": ("Case", "Influence", "Study", "sweep"),
    "_system": ("System", "draw"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            found = import_module(f"{__name__}.{module}")
            globals().update({n: getattr(found, n) for n in names})
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "__version__",
    "Cancelled",
    "Case",
    "Column",
    "Constraint",
    "Declaration",
    "Error",
    "Experiment",
    "FileError",
    "Finding",
    "Fit",
    "FitColumn",
    "Frequency",
    "Gradients",
    "Influence",
    "Info",
    "InputError",
    "Linear",
    "Model",
    "ModelError",
    "Optimum",
    "Reader",
    "Result",
    "Run",
    "Snapshot",
    "SolverError",
    "Steady",
    "Stepper",
    "Study",
    "System",
    "UnknownNameError",
    "UnsupportedError",
    "Values",
    "Variable",
    "Variables",
    "Varied",
    "Warning",
    "Writer",
    "bode",
    "build",
    "check",
    "convert",
    "draw",
    "fit",
    "gradients",
    "info",
    "linearize",
    "open",
    "optimize",
    "read",
    "sensitivity",
    "simulate",
    "solvers",
    "steady",
    "sweep",
    "unpack",
]
