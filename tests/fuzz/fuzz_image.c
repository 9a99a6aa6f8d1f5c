// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The image of a definition, of an FMU or of a description; the first byte says which. Mark, layout
// and hash are made right, so that the rest is read.
#include <limits.h>

#include "fmi/image.h"
#include "fuzz.h"
#include "model/description.h"
#include "model/image.h"
#include "system/image.h"
#include "system/write.h"

static cpl_status same_path(void* user, const char** kind, const cpli_located_text* path,
                            char* out) {
  (void)user, (void)kind;
  snprintf(out, PATH_MAX, "%s", path->text);
  return CPL_OK;
}

// What was read can be written, as an image and as a file.
static void use_definition(cpl_context* ctx, const cpl_system_def* def) {
  const cpli_write_def how = {.path = same_path};
  char* text = NULL;
  size_t n;
  if (fuzz_fine(ctx, cpli_def_to_text(def, &how, &text, &n))) free(text);
  cpli_image image;
  FUZZ_CHECK(fuzz_fine(ctx, cpli_image_write(ctx, cpli_def_image_type(), def, &image)));
  cpl_system_def* again = NULL;
  FUZZ_CHECK(fuzz_fine(ctx, cpli_def_read_image(ctx, image.bytes, image.size, &again)));
  cpl_system_def_destroy(again);
  cpli_free(ctx, image.bytes);
}

static void use_description(const cpl_description* d) {
  FUZZ_CHECK(cpli_description_fault(d) == NULL);
  for (int32_t i = 0; i < d->n_vars; i++) FUZZ_CHECK(cpl_find_variable(d, d->vars[i].name) <= i);
}

static void read_description(cpl_context* ctx, const unsigned char* bytes, size_t size) {
  cpli_arena arena;
  cpli_names names = {0};
  cpl_description desc;
  cpli_arena_init(&arena, ctx);
  if (fuzz_fine(ctx, cpli_description_read_image(ctx, bytes, size, &arena, &names, &desc)))
    use_description(&desc);
  cpli_names_free(&names);
  cpli_arena_free(&arena);
}

static void read_fmu(cpl_context* ctx, const unsigned char* bytes, size_t size) {
  cpl_source* source = NULL;
  if (!fuzz_fine(ctx, cpli_fmu_open_image(ctx, "/nonexistent", bytes, size, &source))) return;
  use_description(source->desc);
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  if (source->ops->make_model != NULL)
    FUZZ_CHECK(!fuzz_fine(ctx, source->ops->make_model(source, "x", &model)));
  if (source->ops->make_stepper != NULL)
    FUZZ_CHECK(!fuzz_fine(ctx, source->ops->make_stepper(source, "x", &stepper)));
  source->ops->destroy(source);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  if (size < 1) return 0;
  const int which = data[0] % 3;
  const cpli_image_type* type = which == 0   ? cpli_def_image_type()
                                : which == 1 ? cpli_fmu_image_type()
                                             : &cpli_description_image;
  unsigned char* bytes = (unsigned char*)fuzz_text(data + 1, --size);
  cpli_image_seal(type, bytes, size);
  if (which == 0) {
    cpl_system_def* def = NULL;
    if (fuzz_fine(ctx, cpli_def_read_image(ctx, bytes, size, &def))) use_definition(ctx, def);
    cpl_system_def_destroy(def);
  } else if (which == 1) {
    read_fmu(ctx, bytes, size);
  } else {
    read_description(ctx, bytes, size);
  }
  free(bytes);
  return 0;
}
