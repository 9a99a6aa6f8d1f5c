# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Interfaces of other packages over couplet, for scripts that were written for them."""
