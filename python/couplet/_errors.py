# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Failures and messages of the library as exceptions, warnings and log records."""

from __future__ import annotations

import os
import sys
import warnings
TYPE_CHECKING = False  # typing is not needed otherwise
if TYPE_CHECKING:
    from typing import Optional

    from ._result import Result

__all__ = [
    "Error",
    "InputError",
    "UnknownNameError",
    "FileError",
    "UnsupportedError",
    "ModelError",
    "SolverError",
    "Cancelled",
    "Warning",
]


class Error(Exception):
    """A failure of couplet.

    ``str()`` is the whole message. Its parts are attributes; texts are empty and ``time`` is None
    where they are not known.
    """

    #: the message without the source location that it begins with
    message: str = ""
    #: the file whose content, or absence, is the cause
    file: str = ""
    #: in that file, from 1; 0: unknown
    line: int = 0
    column: int = 0
    #: the instance, or the model, that failed
    component: str = ""
    #: the variable of that component
    variable: str = ""
    #: the simulated time [s]
    time: Optional[float] = None
    #: of a run that failed: what was computed before
    result: Optional[Result] = None

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, self.__dict__)


class InputError(Error, ValueError):
    """A file, a name, a value or a call is wrong."""


class UnknownNameError(InputError, KeyError):
    """There is no variable of this name."""

    #: the name
    name: str = ""
    #: names that resemble it, the nearest first
    nearest: tuple[str, ...] = ()


class FileError(Error):
    """A file could not be read or written."""


class UnsupportedError(Error):
    """The input asks for something that couplet cannot do."""


class ModelError(Error):
    """A call of a model failed."""


class SolverError(Error):
    """The solver could not go on."""


class Cancelled(Error):
    """The run was interrupted."""


class Warning(UserWarning):  # noqa: A001 (couplet.Warning)
    """A warning of couplet, or of a model."""


_CLASSES: dict[int, type[Error]] = {
    -2: FileError,
    -3: InputError,
    -4: UnsupportedError,
    -5: ModelError,
    -6: SolverError,
    -7: Cancelled,
}


def make_error(
    status: int,
    text: str,
    message: str,
    file: str,
    line: int,
    column: int,
    component: str,
    variable: str,
    time: float,
    unknown: str,
    similar: str,
) -> Error:
    """The exception of a failure; called by the library."""
    error: Error
    if status == -3 and unknown:
        error = UnknownNameError(text)
        error.name = unknown
        error.nearest = tuple(similar.split("\n")) if similar else ()
    else:
        error = _CLASSES.get(status, Error)(text)
    error.message, error.file, error.line, error.column = message, file, line, column
    error.component, error.variable = component, variable
    error.time = time if time == time else None
    return error


def unknown_name(text: str, name: str, names: list[str], component: str = "") -> UnknownNameError:
    """The exception for a name that is not among ``names``; ``text`` says what it should be the name of."""
    import difflib

    near = tuple(difflib.get_close_matches(name, names, 3))
    hint = f" (is it {' or '.join(near)}?)" if near else ""
    error = UnknownNameError(f'{text} "{name}"{hint}')
    error.message, error.component, error.variable = str(error), component, name
    error.name, error.nearest = name, near
    return error


_FOLDER = os.path.dirname(__file__) + os.sep


def _stack_level() -> int:
    """The number of frames to the first one outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        level, frame = level + 1, frame.f_back
    return level


def deliver(level: int, who: str, text: str) -> None:
    """A message of the log; called by the library."""
    whole = f"{who}: {text}" if who else text
    if level == 1:
        warnings.warn(whole, Warning, stacklevel=_stack_level())
        return
    import logging

    logger = logging.getLogger("couplet")
    logger.log({0: logging.ERROR, 2: logging.INFO}.get(level, logging.DEBUG), "%s", whole)


def log_level() -> int:
    """The level of messages that somebody listens to."""
    if "logging" not in sys.modules:
        return 1
    import logging

    level = logging.getLogger("couplet").getEffectiveLevel()
    return 3 if level <= logging.DEBUG else 2 if level <= logging.INFO else 1
