# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""``from couplet.compat.pyfmi.master import Master``."""

from .coupled import Master

__all__ = ["Master"]
