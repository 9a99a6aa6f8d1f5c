# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""couplet couples simulation models (FMUs, models in C, whole systems) and simulates the whole.

>>> import couplet
>>> r = couplet.simulate("examples/bouncing_ball/bouncing_ball.c", stop=2)
>>> r.time, r["h"]  # doctest: +ELLIPSIS
(array([0. ...]), array([1. ...]))
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
from ._info import Experiment, Info, Variable, Variables, build, info
from ._linear import Linear, linearize
from ._result import Column, Result, read
from ._run import Reader, Run, Snapshot, Writer, open, simulate

#: names of the solvers
solvers: tuple[str, ...] = _solvers()

__all__ = [
    "__version__",
    "Cancelled",
    "Column",
    "Error",
    "Experiment",
    "FileError",
    "Info",
    "InputError",
    "Linear",
    "ModelError",
    "Reader",
    "Result",
    "Run",
    "Snapshot",
    "SolverError",
    "UnknownNameError",
    "UnsupportedError",
    "Variable",
    "Variables",
    "Warning",
    "Writer",
    "build",
    "info",
    "linearize",
    "open",
    "read",
    "simulate",
    "solvers",
]
