// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A whole .fmu: the archive, what is in it, and its check.
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "couplet/fmi.h"
#include "fmi/check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static int fd = -1;
  if (fd < 0) fd = memfd_create("fuzz", 0);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) return 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  cpl_source* src = NULL;
  if (cpl_fmu_open(ctx, &def, &src) >= 0) {
    cpli_findings found;
    cpli_fmu_check((cpl_fmu*)src, &found);
    cpli_findings_free(&found);
    src->ops->destroy(src);
  }
  cpl_context_destroy(ctx);
  return 0;
}
