// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// only_calls FOLDER IMAGE: opens an FMU from its image and writes the call log of its instances. It
// is linked with the sources that call FMUs and with libc and libm: without XML, archives and the
// compiler.
#include "fmi/drive.h"
#include "fmi/image.h"

int main(int argc, char** argv) {
  static unsigned char bytes[1 << 20];
  FILE* file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (file == NULL) return 2;
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_source* source = NULL;
  cpl_status st = cpli_fmu_open_image(ctx, argv[1], bytes, size, &source);
  if (st >= 0) st = drive(source, stdout);
  if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  if (source != NULL) source->ops->destroy(source);
  cpl_context_destroy(ctx);
  return st < 0;
}
