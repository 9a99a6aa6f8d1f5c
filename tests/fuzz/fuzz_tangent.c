// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The preprocessed text of a model in C becomes the text of its tangent functions, or a reason why
// there are none; twice the same.
#include "fuzz.h"
#include "tangent/tangent.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  char* text = fuzz_text(data, size);
  cpli_tangent_text first = {NULL, false}, second = {NULL, false};
  FUZZ_CHECK(cpli_tangent_make(ctx, text, strlen(text), &first) == CPL_OK);
  FUZZ_CHECK(cpli_tangent_make(ctx, text, strlen(text), &second) == CPL_OK);
  FUZZ_CHECK(strcmp(first.text, second.text) == 0 && first.any == second.any);
  FUZZ_CHECK(strstr(first.text, "couplet_model_tangent = {") != NULL);
  FUZZ_CHECK(first.any == (strstr(first.text, ".why = \"") == NULL));
  cpli_free(ctx, first.text);
  cpli_free(ctx, second.text);
  free(text);
  return 0;
}
