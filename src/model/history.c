// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Factors are not stored: those of the entries for which pivots were chosen, and then those of the
// present entries with these pivots, are computed once more, which gives the same bits.
#include "model/history.h"

void cpli_serial_factors(cpli_serial* s, cpli_sparse* factors, bool complex, double* entries) {
  cpli_sparse_pivots* k = cpli_sparse_history(factors, complex);
  if (k == NULL) cpli_serial_nomem(s);
  if (k == NULL) return;
  cpli_serial_bool(s, &k->has);
  cpli_serial_bool(s, &k->reused);
  cpli_serial_bool(s, k->anew);
  if (s->st < 0 || !k->has) return;
  cpli_serial_reals(s, k->chosen, k->n);
  cpli_serial_reals(s, entries, k->n);
  if (s->st >= 0 && cpli_serial_reads(s) && !cpli_sparse_repeat(factors, complex, entries))
    cpli_serial_refuse(s, "a matrix is singular");
}

void cpli_serial_sparse_lu(cpli_serial* s, cpli_sparse_lu* lu, bool complex) {
  for (int k = 0; k <= complex; k++) {
    size_t n;
    double* entries = cpli_sparse_lu_entries(lu, k != 0, &n);
    cpli_serial_same(s, n);
    if (s->st >= 0) cpli_serial_factors(s, cpli_sparse_lu_factors(lu), k != 0, entries);
  }
}

void cpli_serial_pace(cpli_serial* s, cpli_pace* pace) {
  cpli_serial_int(s, &pace->n, 0, CPLI_PACE);
  cpli_serial_real(s, &pace->passed);
  cpli_serial_real(s, &pace->before);
  cpli_serial_bool(s, &pace->warned);
}
