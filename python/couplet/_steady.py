# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Rest points of models and systems."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._settings import Input, Model

__all__ = ["Steady", "steady"]


class Steady:
    """States at which all derivatives are zero, and the eigenvalues there."""

    #: the values of the states, by name
    states: dict[str, float]
    #: the values found of freed inputs and parameters, by name
    free: dict[str, float]
    #: states that nothing determines: there are many rest points
    undetermined: list[str]
    #: "stable", "unstable" or "marginal"
    stability: str
    #: eigenvalues [1/s], slowest first; of a pair the one with the positive imaginary part
    eigenvalues: NDArray[np.complex128]
    #: of each eigenvalue the states that take part in its motion, with their shares
    participation: list[dict[str, float]]
    #: whether all eigenvalues were computed; of large models only the slowest and those furthest
    #: to the right are
    all_eigenvalues: bool
    #: derivatives change with time alone: the point is at rest at this time only
    time_dependent: bool
    #: the time of the next time event, which may end the rest; infinite: there is none
    next_event: float
    #: the time of the point [s]
    time: float

    @classmethod
    def _from_core(cls, data: tuple[Any, ...], time: float) -> Steady:
        import numpy as np

        self = cls()
        self.states, self.free, self.undetermined, self.time_dependent, self.next_event = data[:5]
        modes, self.stability, self.all_eigenvalues = data[5:]
        self.eigenvalues = np.array([value for value, _ in modes], dtype=np.complex128)
        self.participation = [states for _, states in modes]
        self.time = time
        return self

    def __repr__(self) -> str:
        return f"<couplet.Steady at t = {self.time:g} s: {len(self.states)} states, {self.stability}>"


def steady(
    model: Model,
    *,
    free: Union[str, Iterable[str]] = (),
    such_that: Optional[Mapping[str, float]] = None,
    at: Optional[float] = None,
    start: Optional[float] = None,
    step: Optional[float] = None,
    solver: Optional[str] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    input: Input = None,
    linear: Optional[str] = None,
    projection: Optional[str] = None,
    ad: bool = True,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    variant: Optional[str] = None,
    parameters: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], None] = None,
) -> Steady:
    """Search the rest point of a model or system from its values at the time ``at`` (default: the start).

    ``free``: inputs and parameters whose values are found, too; ``such_that``: as many variables
    and the values they have at rest. The other keywords are those of :func:`couplet.simulate`.

    >>> import couplet
    >>> s = couplet.steady("examples/tank_level/tank_level.yaml", free="command", such_that={"level": 2})
    >>> round(s.free["command"], 6), s.stability
    (0.939628, 'stable')
    """
    from ._linear import at_point

    settings = dict(
        start=start, step=step, solver=solver, rtol=rtol, atol=atol, set=set, input=input, linear=linear,
        projection=projection, ad=ad, isolate=isolate, call_timeout=call_timeout, variant=variant,
        parameters=parameters,
    )
    names = (free,) if isinstance(free, str) else tuple(free)
    targets = tuple((name, float(value)) for name, value in (such_that or {}).items())
    # the file's own `steady` would search twice
    with at_point(model, at, settings, steady=False if at is None else None) as run:
        data = run._steady(names, targets)
        return Steady._from_core(data, run.start_time if at is None else at)
