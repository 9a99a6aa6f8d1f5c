// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "couplet/couplet.h"

int main(void) {
  printf("couplet %s\n", cpl_version());
  return 0;
}
