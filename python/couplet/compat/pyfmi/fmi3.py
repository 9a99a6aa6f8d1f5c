# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The names of pyfmi.fmi3: models of FMI 3.0 and their constants."""

from __future__ import annotations

from ._numbers import FMI3_Causality as FMI3_Causality
from ._numbers import FMI3_Type as FMI3_Type
from ._numbers import FMI3_Variability as FMI3_Variability
from .model import FMUModelCS3 as FMUModelCS3
from .model import FMUModelME3 as FMUModelME3
