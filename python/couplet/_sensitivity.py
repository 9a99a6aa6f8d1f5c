# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Sensitivities: derivatives of variables with respect to parameters, along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Union

from ._run import run_settings

if TYPE_CHECKING:
    from ._result import Result
    from ._settings import Model

__all__ = ["sensitivity"]


def _names(given: Union[str, Iterable[str]]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def sensitivity(
    model: Model,
    *,
    of: Union[str, Iterable[str]],
    to: Union[str, Iterable[str]],
    **settings: Any,
) -> Result:
    """Simulate a model together with the derivatives of variables with respect to parameters.

    ``of``: Real variables; ``to``: parameters, inputs, and states (their start values). The result
    has a column ``"dy/dk"`` for each pair. The other keywords are those of :func:`couplet.simulate`;
    ``record`` adds other columns.

    >>> import couplet
    >>> ball = "examples/bouncing_ball/bouncing_ball.c"
    >>> s = couplet.sensitivity(ball, of="h", to=["e", "h"], stop=2.8, rtol=1e-10)
    >>> round(float(s["dh/de"][-1]), 6), s.units["dh/de"]
    (5.907875, 'm')
    """
    pairs: Mapping[str, tuple[str, ...]] = {"sensitivity_of": _names(of), "sensitivity_to": _names(to)}
    run: Callable[..., Result] = run_settings
    return run({"model": model, **settings}, **pairs)
