# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Frequency responses of models and systems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._settings import Model

__all__ = ["Frequency", "bode"]


class Frequency:
    """A transfer function over the frequency, and its margins in a loop closed by negative feedback."""

    #: frequencies [rad/s]
    omega: NDArray[np.float64]
    #: the transfer function at j omega
    response: NDArray[np.complex128]
    #: its angle [deg], continuous
    phase: NDArray[np.float64]
    #: the gain at rest; nan: there is none
    at_zero: float
    #: the largest gain, and its frequency [rad/s]
    peak: float
    peak_omega: float
    #: where the gain is first 1/sqrt(2) of that at zero [rad/s]; nan
    bandwidth: float
    #: the factor nearest to 1 that leads to instability, and its frequency; nan: there is none
    gain_margin: float
    gain_margin_omega: float
    #: the smallest phase margin [deg], its frequency, and the smallest dead time that uses one up [s]
    phase_margin: float
    phase_margin_omega: float
    delay_margin: float

    @property
    def gain(self) -> NDArray[np.float64]:
        """The absolute values of the response."""
        import numpy as np

        return np.abs(self.response)

    @classmethod
    def _from_core(cls, data: tuple[Any, ...]) -> Frequency:
        import numpy as np

        self = cls()
        self.omega, re, im, self.phase = (np.frombuffer(values, dtype=np.float64).copy() for values in data[:4])
        self.response = re + 1j * im
        self.at_zero, self.peak, self.peak_omega, self.bandwidth = data[4:8]
        self.gain_margin, self.gain_margin_omega = data[8:10]
        self.phase_margin, self.phase_margin_omega, self.delay_margin = data[10:]
        return self

    def __repr__(self) -> str:
        return (
            f"<couplet.Frequency: {len(self.omega)} frequencies, gain margin {self.gain_margin:.4g}, "
            f"phase margin {self.phase_margin:.4g} deg>"
        )


def bode(
    model: Model,
    *,
    from_: str,
    to: str,
    at: Union[float, str, None] = None,
    range: Optional[Tuple[float, float]] = None,  # noqa: A002
    points: int = 40,
    omega: Optional[Sequence[float]] = None,
    **settings: Any,
) -> Frequency:
    """The frequency response from an input to a variable, at a time, or ``at="steady"``.

    ``range``: the lowest and the highest frequency [rad/s], default: a decade beyond the
    eigenvalues; ``points`` per decade, and more where the response bends; ``omega``: exactly these
    frequencies instead. The other keywords are those of :func:`couplet.linearize`.

    >>> import couplet
    >>> f = couplet.bode("examples/tank_level/tank_level.yaml", at="steady", from_="command", to="level")
    >>> round(f.at_zero, 6), round(f.gain_margin, 3), round(f.phase_margin, 3)
    (2.265262, 18.387, 110.425)
    """
    from ._linear import at_point

    low, high = (math.nan, math.nan) if range is None else range
    with at_point(model, at, settings) as run:
        return Frequency._from_core(run._frequency(from_, to, low, high, points, omega))
