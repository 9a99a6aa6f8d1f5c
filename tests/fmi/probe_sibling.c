// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A library that an FMU brings along, and that needs another one.
int probe_cousin(void);
int probe_sibling(void);
#ifdef PROBE_COUSIN
int probe_cousin(void) { return 1; }
#else
int probe_sibling(void) { return probe_cousin(); }
#endif
