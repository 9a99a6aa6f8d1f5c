// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the variable in the description of a master that stands for a variable of one of its
// steppers.
#include "master/master.h"
#include "master/merged.h"

int32_t cpli_master_find(const cpl_stepper* master, const cpl_stepper* part, uint32_t ref,
                         uint8_t type) {
  const cpli_master* m = (const cpli_master*)master;
  const cpl_description* d = master->base.desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (m->parts[m->merged->routes[i].component].s == part && m->merged->routes[i].ref == ref &&
        d->vars[i].type == type)
      return i;
  }
  return -1;
}
