# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""What scripts use of PyFMI, over couplet: a script changes its import.

>>> from couplet.compat.pyfmi import load_fmu  # doctest: +SKIP
>>> model = load_fmu("pump.fmu")  # doctest: +SKIP
>>> result = model.simulate(final_time=2)  # doctest: +SKIP

:func:`load_fmu`, the models that it returns (``get``, ``set``, ``simulate``, ``simulate_options``, their variables,
and the functions of FMI), :class:`CoupledFMUModelME2` for coupled models, and ``master.Master`` for co-simulation.
"""

from __future__ import annotations

from .coupled import CoupledFMUModelME2
from .model import (
    FMUException,
    FMUModel,
    FMUModelCS1,
    FMUModelCS2,
    FMUModelCS3,
    FMUModelME1,
    FMUModelME2,
    FMUModelME3,
    InvalidFMUException,
    InvalidOptionException,
    load_fmu,
)

__all__ = [
    "CoupledFMUModelME2",
    "FMUException",
    "FMUModel",
    "FMUModelCS1",
    "FMUModelCS2",
    "FMUModelCS3",
    "FMUModelME1",
    "FMUModelME2",
    "FMUModelME3",
    "InvalidFMUException",
    "InvalidOptionException",
    "load_fmu",
]
