# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of modelDescription.xml that a schema makes."""

from __future__ import annotations

from ._xml import Element


def check_schema(root: Element, version: int) -> list[str]:
    """Problems with elements and attributes."""
    return []
