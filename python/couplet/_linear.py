# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Linearisation of models and systems."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Literal, Mapping, Optional, Union

from . import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._run import Run
    from ._settings import Input, Model

__all__ = ["Linear", "linearize"]


class Linear:
    """x' = A x + B u, y = C x + D u for small deviations from a point.

    ``A, B, C, D = linear`` unpacks the matrices, so that ``control.ss(*linear)`` takes them.
    """

    #: names of the states, inputs and outputs
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: the point: states, their derivatives, inputs and outputs
    x: NDArray[np.float64]
    dx: NDArray[np.float64]
    u: NDArray[np.float64]
    y: NDArray[np.float64]
    #: the matrices
    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    D: NDArray[np.float64]
    #: the time of the point [s]
    time: float
    #: with ``reduce``: the Hankel singular values of the states of which the least were left out, the
    #: largest possible change of the transfer function, and the number of poles that were kept since
    #: they do not decay
    hankel: Optional[NDArray[np.float64]] = None
    bound: Optional[float] = None
    kept: Optional[int] = None
    _whole: Optional[Linear] = None  # with all states

    @classmethod
    def _from_core(cls, data: tuple[Any, ...], time: float) -> Linear:
        import numpy as np

        self = cls()
        self.states, self.inputs, self.outputs = data[:3]
        self.time = time
        vectors = [np.frombuffer(values, dtype=np.float64).copy() for values in data[3:]]
        self.x, self.dx, self.u, self.y = vectors[:4]
        n, m, k = len(self.states), len(self.inputs), len(self.outputs)
        shapes = [(n, n), (n, m), (k, n), (k, m)]
        self.A, self.B, self.C, self.D = (
            values.reshape(shape, order="F") for values, shape in zip(vectors[4:], shapes)
        )
        return self

    @classmethod
    def _of(cls, found: tuple[Any, Any, Any], time: float) -> Linear:
        import numpy as np

        shown, whole, reduced = found
        if reduced is not None:
            self = cls._from_core(reduced[0], time)
            self.hankel = np.frombuffer(reduced[1], dtype=np.float64).copy()
            self.kept, self.bound = reduced[2:]
            return self
        self = cls._from_core(shown, time)
        self._whole = cls._from_core(whole, time) if whole is not None else None
        return self

    def _roots(self, zeros: bool) -> NDArray[np.complex128]:
        import numpy as np

        of = self._whole if self._whole is not None else self
        sizes = (len(of.states), len(of.inputs), len(of.outputs))
        return np.array(_core.roots(zeros, *sizes, *(matrix.tobytes(order="F") for matrix in of)), dtype=complex)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """The eigenvalues of A; of all states, where ``only`` leaves some out."""
        return self._roots(False)

    @property
    def zeros(self) -> NDArray[np.complex128]:
        """The transmission zeros from the inputs to the outputs, likewise."""
        return self._roots(True)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self.A, self.B, self.C, self.D))

    def __repr__(self) -> str:
        return (
            f"<couplet.Linear at t = {self.time:g} s: {len(self.states)} states, "
            f"{len(self.inputs)} inputs, {len(self.outputs)} outputs>"
        )


@contextmanager
def at_point(
    model: Model, at: Union[float, str, None], settings: Mapping[str, Any], steady: Optional[bool] = None
) -> Iterator[Run]:
    """A run of the model as one, which has reached a time or, with "steady", begins at rest."""
    from ._run import open as open_run

    until = None if isinstance(at, str) else at
    if isinstance(at, str) and at != "steady":
        raise ValueError(f'at is a time or "steady", not "{at}"')
    with open_run(
        model,
        stop=math.inf if until is None else until,
        as_="me",
        form="ode",
        loops="nested",
        one_solver=True,
        steady=True if at == "steady" else steady,
        **settings,
    ) as run:
        if until is not None and until > run.start_time:
            reached = run.advance(until)
            if reached < until:
                from ._errors import ModelError

                raise ModelError(f"{model!s}: the model ended the run at t={reached:.12g}")
        yield run


def linearize(
    model: Model,
    *,
    at: Union[float, Literal["steady"], None] = None,
    start: Optional[float] = None,
    step: Optional[float] = None,
    solver: Optional[str] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    set: Optional[Mapping[str, Any]] = None,
    input: Input = None,
    only: Iterable[str] = (),
    reduce: Optional[int] = None,
    linear: Optional[str] = None,
    projection: Optional[str] = None,
    ad: bool = True,
    isolate: bool = False,
    call_timeout: Optional[float] = None,
    variant: Optional[str] = None,
    parameters: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], None] = None,
) -> Linear:
    """Simulate up to the time ``at`` (default: the start; "steady": the rest point) and linearise there.

    ``only``: states, inputs and outputs, by names or patterns. ``reduce``: the number of states of a balanced
    reduction between these inputs and outputs. The other keywords are those of
    :func:`couplet.simulate`.

    >>> import couplet
    >>> m = couplet.linearize("examples/van_der_pol/van_der_pol.c", set={"mu": 1})
    >>> m.states
    ('x', 'y')
    >>> A, B, C, D = m
    >>> A.round(6)
    array([[ 0.,  1.],
           [-1., -3.]])
    >>> m.poles.round(6)
    array([-0.381966+0.j, -2.618034+0.j])
    """
    settings = dict(
        start=start, step=step, solver=solver, rtol=rtol, atol=atol, set=set, input=input, linear=linear,
        projection=projection, ad=ad, isolate=isolate, call_timeout=call_timeout, variant=variant,
        parameters=parameters,
    )
    with at_point(model, at, settings) as run:
        return run.linearize(only, reduce)
