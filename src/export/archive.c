// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Names, GUID and entries of the archive.
#include "export/archive.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include "format/hash.h"
#include "format/zip_writer.h"

// Differences between the versions of FMI in an archive.
#if defined(__aarch64__)
#define TUPLE "aarch64-linux"
#else
#define TUPLE "x86_64-linux"
#endif
static const struct version {
  const char *binaries, *other;  // `other`: in the names of the other version's sources
} versions[] = {[2] = {"binaries/linux64", "fmi3"}, [3] = {"binaries/" TUPLE, "fmi2"}};

const char* cpli_fmu_other_version(int fmi) { return versions[fmi].other; }

void cpli_fmu_archive_init(cpli_fmu_archive* a, cpl_context* ctx) {
  *a = (cpli_fmu_archive){.ctx = ctx};
  a->sources.ctx = a->licenses.ctx = a->resources.ctx = ctx;
}

void cpli_fmu_archive_free(cpli_fmu_archive* a) {
  cpli_source_files_free(&a->sources);
  cpli_source_files_free(&a->licenses);
  cpli_source_files_free(&a->resources);
  cpli_free(a->ctx, a->binary);
}

//------------------------------------ names ------------------------------------

void cpli_fmu_archive_name(cpli_fmu_archive* a, const char* name) {
  size_t n = 0;
  if (isdigit((unsigned char)name[0])) a->identifier[n++] = '_';
  for (; *name != '\0' && n + 1 < sizeof a->identifier; name++) {
    unsigned char c = (unsigned char)*name;
    a->identifier[n++] = (char)(c < 0x80 && isalnum(c) ? c : '_');
  }
  a->identifier[n] = '\0';
  a->facts.identifier = a->identifier;
}

static void hash_files(cpli_hash* hash, const cpli_source_files* files) {
  for (size_t i = 0; i < files->n; i++)
    cpli_hash_add(hash, files->items[i].text, files->items[i].size);
}

// It changes with the model, and with what couplet makes of it.
cpl_status cpli_fmu_archive_identify(cpli_fmu_archive* a) {
  cpli_hash hash = cpli_hash_begin();
  cpli_writer text = {.ctx = a->ctx};
  a->facts.guid = "";
  cpl_status st = cpli_write_description(&text, &a->facts);
  if (st >= 0) cpli_hash_add(&hash, text.text, text.len);
  hash_files(&hash, &a->sources);
  hash_files(&hash, &a->resources);
  snprintf(a->guid, sizeof a->guid, "{%08x-%04x-%04x-%04x-%012llx}", (unsigned)(hash.part[0] >> 32),
           (unsigned)(hash.part[0] >> 16 & 0xffff), (unsigned)(hash.part[0] & 0xffff),
           (unsigned)(hash.part[1] >> 48), (unsigned long long)(hash.part[1] & 0xffffffffffffu));
  a->facts.guid = a->guid;
  cpli_writer_free(&text);
  return st;
}

//------------------------------------ entries ------------------------------------

// Puts files into a folder of the archive. The names are allocated.
static bool add_files(cpl_context* ctx, const cpli_source_files* files, const char* folder,
                      cpli_zip_entry* entries, size_t* n) {
  for (size_t i = 0; i < files->n; i++) {
    const cpli_source_file* f = &files->items[i];
    char* name = cpli_printf(ctx, "%s/%s", folder, f->name);
    if (name == NULL) return false;
    entries[(*n)++] = (cpli_zip_entry){name, f->text, f->size, false};
  }
  return true;
}

typedef struct documents {
  cpli_writer description, manifest, terminals, page;
} documents;

static cpl_status write_documents(const cpli_fmu_archive* a, documents* d) {
  const bool has_manifest = a->facts.fmi == 3 && a->facts.desc->n_algebraics > 0;
  cpl_status st = cpli_write_description(&d->description, &a->facts);
  if (st >= 0 && has_manifest) st = cpli_write_manifest(&d->manifest, &a->facts);
  if (st >= 0 && a->facts.fmi == 3) st = cpli_write_terminals(&d->terminals, &a->facts);
  return st < 0 ? st : cpli_write_page(&d->page, &a->facts);
}

static cpl_status write_entries(cpli_fmu_archive* a, const documents* d, const char* path) {
  enum { OTHERS = 5 };
  char library[256];
  size_t n = 0;
  snprintf(library, sizeof library, "%s/%s.so", versions[a->facts.fmi].binaries, a->identifier);
  cpli_zip_entry* entries =
      cpli_alloc(a->ctx, OTHERS + a->sources.n + a->licenses.n + a->resources.n, sizeof *entries);
  if (entries == NULL) return cpli_nomem(a->ctx);
  entries[n++] =
      (cpli_zip_entry){"modelDescription.xml", d->description.text, d->description.len, false};
  // not compressed, since unpacking it would take a third of the time of a short run
  entries[n++] = (cpli_zip_entry){library, a->binary, a->binary_size, true, .stored = true};
  entries[n++] = (cpli_zip_entry){"documentation/index.html", d->page.text, d->page.len, false};
  if (d->manifest.len > 0) {
    entries[n++] = (cpli_zip_entry){"extra/org.fmi-standard.fmi-ls-dae/fmi-ls-manifest.xml",
                                    d->manifest.text, d->manifest.len, false};
  }
  if (d->terminals.len > 0) {
    entries[n++] = (cpli_zip_entry){"terminalsAndIcons/terminalsAndIcons.xml", d->terminals.text,
                                    d->terminals.len, false};
  }
  size_t others = n;
  bool fine = add_files(a->ctx, &a->licenses, "documentation/licenses", entries, &n) &&
              add_files(a->ctx, &a->sources, "sources", entries, &n) &&
              add_files(a->ctx, &a->resources, "resources", entries, &n);
  cpl_status st = fine ? cpli_zip_write(a->ctx, path, entries, n) : cpli_nomem(a->ctx);
  for (size_t i = others; i < n; i++) cpli_free(a->ctx, (void*)entries[i].name);
  cpli_free(a->ctx, entries);
  return st;
}

cpl_status cpli_fmu_archive_write(cpli_fmu_archive* a, const char* output, char* written,
                                  size_t size) {
  char path[PATH_MAX];
  documents d = {.description.ctx = a->ctx,
                 .manifest.ctx = a->ctx,
                 .terminals.ctx = a->ctx,
                 .page.ctx = a->ctx};
  snprintf(path, sizeof path, "%s%s", output != NULL ? output : a->identifier,
           output != NULL ? "" : ".fmu");
  cpl_status st = write_documents(a, &d);
  if (st >= 0) st = write_entries(a, &d, path);
  if (st >= 0 && written != NULL) snprintf(written, size, "%s", path);
  cpli_writer_free(&d.description);
  cpli_writer_free(&d.manifest);
  cpli_writer_free(&d.terminals);
  cpli_writer_free(&d.page);
  return st;
}
