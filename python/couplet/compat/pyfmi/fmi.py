# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""The names of pyfmi.fmi: models, exceptions and constants."""

from __future__ import annotations

from ._numbers import *  # noqa: F401, F403
from .model import FMUException as FMUException
from .model import FMUModel as FMUModel
from .model import FMUModelCS1 as FMUModelCS1
from .model import FMUModelCS2 as FMUModelCS2
from .model import FMUModelCS3 as FMUModelCS3
from .model import FMUModelME1 as FMUModelME1
from .model import FMUModelME2 as FMUModelME2
from .model import FMUModelME3 as FMUModelME3
from .model import InvalidFMUException as InvalidFMUException
from .model import ScalarVariable as ScalarVariable
from .model import load_fmu as load_fmu
