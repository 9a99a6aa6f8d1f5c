# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
set(CPL_DATA "${CMAKE_BINARY_DIR}/share/couplet")
