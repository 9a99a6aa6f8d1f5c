# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Sensitivities: derivatives of variables with respect to parameters, along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NamedTuple, Union

from . import _core
from ._errors import log_level
from ._run import run_settings
from ._settings import make_settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._result import Result
    from ._settings import Model

__all__ = ["Gradients", "gradients", "sensitivity"]


class Gradients(NamedTuple):
    """Scalars of a run and their derivatives: the result of :func:`gradients`."""

    #: the scalars, and what they were differentiated by
    of: tuple[str, ...]
    to: tuple[str, ...]
    #: the end of the run
    time: float
    #: the value of each scalar
    values: dict[str, float]
    #: derivatives: a row per scalar, a column per parameter
    matrix: NDArray[np.float64]

    def gradient(self, of: str) -> dict[str, float]:
        """The derivatives of one scalar, by parameter."""
        return dict(zip(self.to, self.matrix[self.of.index(of)].tolist()))


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


def gradients(
    model: Model,
    *,
    of: Union[str, Iterable[str]],
    to: Union[str, Iterable[str]],
    **settings: Any,
) -> Gradients:
    """Derivatives of scalars of a run with respect to many parameters, by the adjoint method.

    One run forwards and one backwards, at a cost that hardly depends on the number of parameters. ``of``:
    Real variables at the end of the run (``"y"`` or ``"final(y)"``), or their integrals over the run
    (``"integral(y)"``); ``to``: parameters, inputs, and states (their start values). The other keywords are
    those of :func:`couplet.simulate`. What the method is not right for raises
    :class:`couplet.UnsupportedError`; :func:`sensitivity` may do it.

    >>> import couplet
    >>> ball = "examples/bouncing_ball/bouncing_ball.c"
    >>> g = couplet.gradients(ball, of=["h", "integral(h)"], to=["e", "h"], stop=2.8, rtol=1e-10)
    >>> round(g.gradient("h")["e"], 6), g.matrix.shape
    (5.907875, (2, 2))
    """
    import numpy as np

    scalars, parameters = _names(of), _names(to)
    given = make_settings(
        model=model,
        **settings,
        sensitivity_of=scalars,
        sensitivity_to=parameters,
        sensitivity_adjoint=True,
        log_level=log_level(),
    )
    derivatives, values, time, _points, _instances = _core.gradients(given)
    matrix = np.frombuffer(derivatives).reshape(len(scalars), len(parameters))
    return Gradients(scalars, parameters, time, dict(zip(scalars, np.frombuffer(values).tolist())), matrix)
