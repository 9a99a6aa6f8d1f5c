// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A join file, and the address in it.
#include "fuzz.h"
#include "tlm/joinfile.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  cpli_join_file file;
  char host[CPLI_ENDPOINT_SIZE];
  cpl_context_cancel(ctx);  // nobody goes on writing a file of which only the beginning is there
  if (!fuzz_fine(ctx, cpli_join_file_read(ctx, fuzz_file("fuzz.join", data, size), &file)))
    return 0;
  FUZZ_CHECK(strlen(file.server_key) == CPLI_KEY_SIZE - 1);
  if (cpli_is_endpoint(file.address)) cpli_endpoint_host(file.address, host, sizeof host);
  return 0;
}
