// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// References between files are URIs (RFC 3986), nearly always relative ones. In a package they
// cannot lead outside of it. A single .ssd on disk may refer to any file on disk.
#include <ctype.h>

#include "format/encoding.h"
#include "ssp/reader.h"

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = tolower((unsigned char)c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Decodes %20 in place. Returns why it cannot; NULL: done.
static const char* decode(char* text) {
  char* to = text;
  for (const char* c = text; *c != '\0'; c++) {
    if (*c != '%') {
      *to++ = *c;
      continue;
    }
    const int high = hex(c[1]), low = high >= 0 ? hex(c[2]) : -1;
    if (low < 0) return "'%' must be followed by two hexadecimal digits (write %25 for itself)";
    const int byte = 16 * high + low;
    if (byte < 0x20 || byte == 0x7f) return "has a control character";
    *to++ = (char)byte;
    c += 2;
  }
  *to = '\0';
  const size_t len = (size_t)(to - text);
  return cpli_utf8_prefix(text, len) == len ? NULL : "is not valid UTF-8";
}

// The length of "http" in "http:..."; 0: there is none.
static size_t scheme_length(const char* uri) {
  size_t n = 0;
  if (!isalpha((unsigned char)uri[0])) return 0;
  while (isalnum((unsigned char)uri[n]) || (uri[n] != '\0' && strchr("+.-", uri[n]) != NULL)) n++;
  return uri[n] == ':' ? n : 0;
}

// Removes "." and "..", in place. Returns false where it leads above its beginning and must not;
// otherwise the ".." that are left are at the beginning.
static bool normalize(char* path, bool may_leave) {
  char* to = path[0] == '/' ? path + 1 : path;
  char* floor = to;  // what is before cannot be removed by ".."
  for (const char* part = to; *part != '\0';) {
    const size_t n = strcspn(part, "/");
    const char* next = part[n] == '/' ? part + n + 1 : part + n;
    const bool last = part[n] == '\0';
    if (n == 2 && part[0] == '.' && part[1] == '.') {
      if (to > floor) {
        for (to--; to > floor && to[-1] != '/';) to--;
      } else if (path[0] != '/') {
        if (!may_leave) return false;
        memcpy(to, last ? ".." : "../", last ? 2 : 3);
        to += last ? 2 : 3;
        floor = to;
      }
    } else if (n > 0 && !(n == 1 && part[0] == '.')) {
      memmove(to, part, n);
      to += n;
      if (!last) *to++ = '/';
    }
    part = next;
  }
  *to = '\0';
  return true;
}

typedef struct reference {
  const char *uri, *what;
  const cpli_source_loc* loc;
} reference;

static cpl_status bad(cpli_ssp_reader* r, const reference* ref, const char* why,
                      cpli_ssp_target* out) {
  out->is_error = true;
  return cpli_ssp_error(r, ref->loc, "%s: source '%s': %s", ref->what, ref->uri, why);
}

// The path of a file on disk in "file:///path"; NULL: it is no such URI.
static const char* file_path(const char* uri) {
  if (strncmp(uri, "file:", 5) != 0) return NULL;
  const char* path = uri + 5;
  if (strncmp(path, "//localhost/", 12) == 0) return path + 11;
  if (strncmp(path, "///", 3) == 0) return path + 2;
  return path[0] == '/' && path[1] != '/' ? path : NULL;
}

// Why a URI cannot be used, or NULL; `*path`: the part that is a path.
static const char* find_path(const cpli_ssp_package* package, char* uri, char** path) {
  const size_t scheme = scheme_length(uri);
  *path = uri;
  if (scheme == 1) return "a path with a drive letter is not portable; use a relative one";
  if (scheme > 1) {
    const char* file = file_path(uri);
    if (file == NULL) return "files can only be read from the package or from disk";
    *path = uri + (file - uri);
  } else if (uri[0] == '/' && uri[1] == '/') {
    return "files can only be read from the package or from disk";
  }
  if (strchr(*path, '?') != NULL) return "a query ('?') is not possible here (write %3F)";
  const char* why = decode(*path);
  if (why != NULL || (*path)[0] != '/' || package->is_open) return why;
  return "an absolute path leads outside the package; use one relative to the .ssd";
}

//------------------------------------ missing files ------------------------------------

static const char* name_at(const void* user, size_t i) {
  const cpli_ssp_package* package = user;
  return cpli_zip_name(package->zip, i);
}

static cpl_status missing(cpli_ssp_reader* r, const reference* ref, const cpli_ssp_target* target) {
  char similar[512] = "";
  const cpli_ssp_package* p = target->package;
  if (p->zip != NULL)
    cpli_did_you_mean(target->name, name_at, p, cpli_zip_count(p->zip), similar, sizeof similar);
  const char* path = cpli_ssp_package_shown(r, p, target->name);
  if (path == NULL) return cpli_nomem(r->ctx);
  return cpli_ssp_error(r, ref->loc, "%s: there is no file %s%s", ref->what, path, similar);
}

//------------------------------------ resolve ------------------------------------

static cpl_status join(cpli_ssp_reader* r, const char* base, const char* path, char** out) {
  const char* slash = strrchr(base, '/');
  const int n = path[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - base);
  *out = cpli_ssp_text(r, "%.*s%s", n, base, path);
  return *out != NULL ? CPL_OK : cpli_nomem(r->ctx);
}

static cpl_status resolve_path(cpli_ssp_reader* r, const char* base, const reference* ref,
                               char* text, cpli_ssp_target* out) {
  if (strchr(text, '\\') != NULL) {
    cpl_status st =
        cpli_ssp_warn(r, ref->loc, "%s: source '%s': '\\' should be '/'", ref->what, ref->uri);
    if (st < 0) return st;
    for (char* c = text; *c != '\0'; c++)
      if (*c == '\\') *c = '/';
  }
  char *path, *name;
  const char* why = find_path(out->package, text, &path);
  if (why != NULL) return bad(r, ref, why, out);
  cpl_status st = join(r, base, path, &name);
  if (st < 0) return st;
  if (!normalize(name, out->package->is_open))
    return bad(r, ref, "it leads outside the package ('..')", out);
  if (name[0] == '\0') return bad(r, ref, "it names no file", out);
  out->name = name;
  if (cpli_ssp_package_has(out->package, name)) return CPL_OK;
  out->is_error = true;
  return missing(r, ref, out);
}

cpl_status cpli_ssp_resolve(cpli_ssp_reader* r, cpli_ssp_package* package, const char* base,
                            const char* uri, const char* what, const cpli_source_loc* loc,
                            cpli_ssp_target* out) {
  *out = (cpli_ssp_target){.package = package};
  const reference ref = {uri, what, loc};
  char* text = cpli_ssp_text(r, "%s", uri);
  if (text == NULL) return cpli_nomem(r->ctx);
  char* hash = strchr(text, '#');
  if (hash != NULL) {
    *hash = '\0';
    out->fragment = hash + 1;
    const char* why = decode(hash + 1);
    if (why != NULL) return bad(r, &ref, why, out);
  }
  if (text[0] != '\0') return resolve_path(r, base, &ref, text, out);
  if (out->fragment != NULL && out->fragment[0] != '\0') return CPL_OK;
  return bad(r, &ref, "it is empty; leave the attribute out where there is no source", out);
}
