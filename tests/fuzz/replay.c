// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Every file of a corpus through a fuzz target: what was found once is not found again.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int replay(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 0;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  uint8_t* bytes = size > 0 ? malloc((size_t)size) : NULL;
  int done = bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size;
  if (done) LLVMFuzzerTestOneInput(bytes, (size_t)size);
  free(bytes);
  fclose(file);
  return done;
}

int main(int argc, char** argv) {
  int n = 0;
  DIR* dir = argc == 2 ? opendir(argv[1]) : NULL;
  if (dir == NULL) return fprintf(stderr, "usage: %s CORPUS\n", argv[0]), 2;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
    if (e->d_name[0] != '.') n += replay(path);
  }
  closedir(dir);
  printf("%d cases\n", n);
  return n > 0 ? 0 : 1;
}
