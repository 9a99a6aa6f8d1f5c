// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Archives, folders and single files; variants; nested files; references that lead nowhere.
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include "packages.h"

#define EMPTY(name) SSD_NAMED(name, "<ssd:System name='" name "'/>")

static cpl_status open_variant(cpl_context* ctx, const char* path, const char* variant,
                               const char* system) {
  cpli_ssp* ssp = NULL;
  cpl_status st = cpli_ssp_open(ctx, path, variant, NULL, &ssp);
  if (st >= 0) CHECK_STR(ssp->system->name, system);
  cpli_ssp_close(ssp);
  return st;
}

//------------------------------------ kinds of packages ------------------------------------

static void folders_and_single_files_are_packages(void** state) {
  cpl_context* ctx = *state;
  make_folder("pack");
  make_folder("pack/resources");
  write_text("pack/SystemStructure.ssd", EMPTY("first"));
  write_text("pack/Other.ssd", EMPTY("second"));
  write_text("pack/resources/Third.ssd", EMPTY("third"));
  CHECK_OK(ctx, open_variant(ctx, "pack", NULL, "first"));
  CHECK_OK(ctx, open_variant(ctx, "pack/", NULL, "first"));
  CHECK_OK(ctx, open_variant(ctx, "pack#second", NULL, "second"));
  CHECK_OK(ctx, open_variant(ctx, "pack#Other.ssd", NULL, "second"));
  CHECK_OK(ctx, open_variant(ctx, "pack", "second", "second"));
  CHECK_OK(ctx, open_variant(ctx, "pack/Other.ssd", NULL, "second"));
  CHECK_OK(ctx, open_variant(ctx, "pack/Other.ssd#second", NULL, "second"));
  CHECK_OK(ctx, open_variant(ctx, "pack/Other.ssd", "Other.ssd", "second"));

  CHECK_INT(open_variant(ctx, "pack#third", NULL, ""), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "pack has no variant 'third'; there are 'first' "
            "(SystemStructure.ssd), 'second' (Other.ssd)");
  CHECK_INT(open_variant(ctx, "pack#resources/Third.ssd", NULL, ""), CPL_ERR_INPUT);
  CHECK_INT(open_variant(ctx, "pack/Other.ssd#first", NULL, ""), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "pack/Other.ssd: has no variant 'first'; its name is 'second'");
  CHECK_INT(open_variant(ctx, "pack#second", "first", ""), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "pack#second: another variant, 'first', is given, too");

  CHECK(cpli_is_ssp("pack") && cpli_is_ssp("pack#x") && cpli_is_ssp("a.ssp#b"));
  CHECK(cpli_is_ssp("not/there.ssd") && cpli_is_ssp("not/there.ssp"));
  CHECK(!cpli_is_ssp("pack/resources") && !cpli_is_ssp("a.fmu") && !cpli_is_ssp("a.yaml#b.ssp"));
}

static void a_name_may_have_a_hash(void** state) {
  cpl_context* ctx = *state;
  make_archive("a#1.ssp", (archive_entry[]){{"SystemStructure.ssd", EMPTY("x")}, {NULL}});
  CHECK_OK(ctx, open_variant(ctx, "a#1.ssp", NULL, "x"));
  CHECK_OK(ctx, open_variant(ctx, "a#1.ssp#x", NULL, "x"));
}

static void variants_have_different_names(void** state) {
  cpl_context* ctx = *state;
  make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd", EMPTY("one")},
                                          {"B.ssd", EMPTY("two")},
                                          {"C.ssd", EMPTY("two")},
                                          {"D.ssd", "<broken"},
                                          {NULL}});
  cpli_ssp* ssp =
      open_found(ctx, "t.ssp",
                 "W t.ssp/D.ssd:1: not well-formed XML: unclosed token\n"
                 "W t.ssp/C.ssd: the variants in B.ssd and C.ssd have the same name 'two'\n");
  CHECK_INT(ssp->n_variants, 4);
  CHECK_STR(ssp->variants[0].file, "SystemStructure.ssd");
  CHECK_STR(ssp->variants[1].file, "B.ssd");
  CHECK_STR(ssp->variants[3].name, "");
  cpli_ssp_close(ssp);
  CHECK_OK(ctx, open_variant(ctx, "t.ssp#C.ssd", NULL, "two"));
  CHECK_INT(open_variant(ctx, "t.ssp#two", NULL, ""), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "t.ssp: B.ssd and C.ssd both have the name 'two'; give the file: #C.ssd");
  CHECK_INT(open_variant(ctx, "t.ssp#D.ssd", NULL, ""), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "t.ssp/D.ssd:1: ");
}

//------------------------------------ broken archives ------------------------------------

static void check_fails(cpl_context* ctx, const char* path, const char* message) {
  cpli_ssp* ssp = NULL;
  cpl_status st = cpli_ssp_open(ctx, path, NULL, NULL, &ssp);
  CHECK(st < 0 && st != CPL_ERR_NOMEM && ssp == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), message);
}

static void broken_archives_are_refused(void** state) {
  cpl_context* ctx = *state;
  check_fails(ctx, "missing.ssp", "missing.ssp: no such file");
  check_fails(ctx, "missing.ssd", "missing.ssd: no such file");
  write_text("t.ssp", "PK no archive");
  check_fails(ctx, "t.ssp", "t.ssp: not a zip archive, or only a part of one");
  write_text("t.ssp", "");
  check_fails(ctx, "t.ssp", "t.ssp: ");

  make_archive("t.ssp", (archive_entry[]){{"System.ssd", EMPTY("x")}, {NULL}});
  check_fails(ctx, "t.ssp", "t.ssp has no file SystemStructure.ssd: it is not a package of SSP");
  make_archive("t.ssp",
               (archive_entry[]){{"SystemStructure.ssd", EMPTY("x")}, {"XX/XX/evil", "x"}, {NULL}});
  patch_archive("t.ssp", "XX/XX/evil", "../../evil");
  check_fails(ctx, "t.ssp", "entry 2 (../../evil) leads outside the archive ('..')");
  make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd", EMPTY("x")},
                                          {"link", "/etc/passwd", .unix_mode = 0120777},
                                          {NULL}});
  check_fails(ctx, "t.ssp", "is a link");
  make_archive("t.ssp",
               (archive_entry[]){{"SystemStructure.ssd", EMPTY("x"), .encrypted = true}, {NULL}});
  check_fails(ctx, "t.ssp", "is encrypted");

  // cut off
  make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd", EMPTY("x")}, {NULL}});
  size_t size;
  char* bytes = read_bytes("t.ssp", &size);
  write_bytes("t.ssp", bytes, size - 30);
  check_fails(ctx, "t.ssp", "t.ssp: ");

  // method 12 (bzip2) in the local and in the central header
  for (size_t i = 0; i + 12 < size; i++) {
    if (memcmp(bytes + i, "PK\3\4", 4) == 0) bytes[i + 8] = 12;
    if (memcmp(bytes + i, "PK\1\2", 4) == 0) bytes[i + 10] = 12;
  }
  write_bytes("t.ssp", bytes, size);
  free(bytes);
  check_fails(ctx, "t.ssp",
              "t.ssp: SystemStructure.ssd is compressed by method 12; in packages only 0 (stored) "
              "and 8 (deflated) are allowed");
}

static void hostile_documents_are_refused(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "t.ssp/SystemStructure.ssd:1: the file is empty"},
      {"<!DOCTYPE x [<!ENTITY a 'aaaa'>]><x>&a;</x>", "t.ssp/SystemStructure.ssd:1: a document "},
      {"<!DOCTYPE x SYSTEM 'file:///etc/passwd'><x/>", "document type declaration"},
      {"<x>&undefined;</x>", "t.ssp/SystemStructure.ssd:1: "},
      {"<x>\xff</x>", "t.ssp/SystemStructure.ssd:1: "},
      {"<html/>", "the root element is 'html' instead of 'SystemStructureDescription'"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd", cases[i].text}, {NULL}});
    check_fails(ctx, "t.ssp", cases[i].message);
  }
  // nested deeper than the parser allows
  static char deep[64 * 1024];
  size_t n = 0;
  for (int i = 0; i < 1000; i++) n += (size_t)sprintf(deep + n, "<a>");
  make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd", deep}, {NULL}});
  check_fails(ctx, "t.ssp", "t.ssp/SystemStructure.ssd:1: ");
}

//------------------------------------ references ------------------------------------

#define SOURCE(source) "<ssd:Component name='m' source='" source "'/>"

static void references_stay_inside_a_package(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *source, *findings;
  } cases[] = {
      {SYSTEM(ELEMENTS(SOURCE("m.fmu"))), ""},
      {SYSTEM(ELEMENTS(SOURCE("./x/../m%2Efmu"))), ""},
      {SYSTEM(ELEMENTS(SOURCE("r%C3%A9s/a b%23.fmu"))), ""},
      {SYSTEM(ELEMENTS(SOURCE("r\xc3\xa9s/a%20b%23.fmu"))), ""},
      {SYSTEM(ELEMENTS(SOURCE("r\xc3\xa9s\\a%20b%23.fmu"))),
       "W t.ssp/SystemStructure.ssd:1: component 'm': source 'r\xc3\xa9s\\a%20b%23.fmu': '\\' "
       "should "
       "be '/'\n"},
      {SYSTEM(ELEMENTS(SOURCE("x.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': there is no file t.ssp/x.fmu (did you mean "
       "m.fmu?)\n"},
      {SYSTEM(ELEMENTS(SOURCE("../t.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source '../t.fmu': it leads outside the "
       "package ('..')\n"},
      {SYSTEM(ELEMENTS(SOURCE("a/%2e%2e/%2e%2e/t.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'a/%2e%2e/%2e%2e/t.fmu': it leads "
       "outside the package ('..')\n"},
      {SYSTEM(ELEMENTS(SOURCE("/etc/passwd"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source '/etc/passwd': an absolute path leads "
       "outside the package; use one relative to the .ssd\n"},
      {SYSTEM(ELEMENTS(SOURCE("%2Fetc/passwd"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source '%2Fetc/passwd': an absolute path "
       "leads "
       "outside the package; use one relative to the .ssd\n"},
      {SYSTEM(ELEMENTS(SOURCE("file:///m.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'file:///m.fmu': an absolute path "
       "leads "
       "outside the package; use one relative to the .ssd\n"},
      {SYSTEM(ELEMENTS(SOURCE("http://example.org/m.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'http://example.org/m.fmu': files can "
       "only be read from the package or from disk\n"},
      {SYSTEM(ELEMENTS(SOURCE("//example.org/m.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source '//example.org/m.fmu': files can only "
       "be read from the package or from disk\n"},
      {SYSTEM(ELEMENTS(SOURCE("C:/m.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'C:/m.fmu': a path with a drive "
       "letter "
       "is not portable; use a relative one\n"},
      {SYSTEM(ELEMENTS(SOURCE("m%2.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'm%2.fmu': '%' must be followed by "
       "two "
       "hexadecimal digits (write %25 for itself)\n"},
      {SYSTEM(ELEMENTS(SOURCE("m%00.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'm%00.fmu': has a control "
       "character\n"},
      {SYSTEM(ELEMENTS(SOURCE("m%FF.fmu"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'm%FF.fmu': is not valid UTF-8\n"},
      {SYSTEM(ELEMENTS(SOURCE("m.fmu?x"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'm.fmu?x': a query ('?') is not "
       "possible here (write %3F)\n"},
      {SYSTEM(ELEMENTS(SOURCE(""))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source '': it is empty; leave the attribute "
       "out where there is no source\n"},
      {SYSTEM(ELEMENTS(SOURCE("."))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source '.': it names no file\n"},
      {SYSTEM(ELEMENTS(SOURCE("m.fmu#x"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': source 'm.fmu#x': an FMU has no fragment "
       "('#')\n"},
      {SYSTEM(ELEMENTS(SOURCE("#other"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': t.ssp/SystemStructure.ssd has no system with "
       "id \"other\"\n"},
      {SYSTEM(ELEMENTS("<ssd:System name='s' id='others'/>" SOURCE("#other"))),
       "E t.ssp/SystemStructure.ssd:1: component 'm': t.ssp/SystemStructure.ssd has no system with "
       "id \"other\" (did you mean others?)\n"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    make_ssp(cases[i].source, "r\xc3\xa9s/a b#.fmu", "x");
    cpli_ssp_close(open_found(ctx, "t.ssp", cases[i].findings));
  }
}

// Of a single .ssd any file on disk can be used.
static void references_of_a_single_file_lead_anywhere(void** state) {
  cpl_context* ctx = *state;
  char here[1024], text[4096], expected[1200];
  assert_non_null(getcwd(here, sizeof here));
  make_folder("models");
  make_folder("single");
  write_text("models/m.fmu", "x");
  static const char* const forms[] = {"../models/m.fmu", "%s/models/m.fmu",
                                      "file://%s/models/../models/m.fmu",
                                      "file://localhost%s/models/m.fmu", "file:%s/models/m.fmu"};
  for (size_t i = 0; i < CPLI_COUNT(forms); i++) {
    char source[2048];
    snprintf(source, sizeof source, i == 0 ? "%s" : forms[i], i == 0 ? forms[0] : here);
    snprintf(text, sizeof text, SYSTEM(ELEMENTS("<ssd:Component name='m' source='%s'/>")), source);
    write_text("single/a.ssd", text);
    cpli_ssp* ssp = open_fine(ctx, "single/a.ssd");
    snprintf(expected, sizeof expected, "%s/models/m.fmu", i == 0 ? "single/.." : here);
    CHECK_STR(ssp->system->elements[0].fmu, expected);
    cpli_ssp_close(ssp);
  }
  write_text("single/SystemStructure.ssd",
             SYSTEM(ELEMENTS("<ssd:Component name='m' source='../models/m.fmu'/>")));
  check_fails(ctx, "single", "it leads outside the package ('..')");
}

//------------------------------------ nested files ------------------------------------

#define NESTED_SSD(source) \
  "<ssd:Component name='n' source='" source "' type='application/x-ssp-definition'/>"
#define NESTED_SSP(source) \
  "<ssd:Component name='n' source='" source "' type='application/x-ssp-package'/>"

static void nested_packages_have_their_own_files(void** state) {
  cpl_context* ctx = *state;
  size_t inner_size, outer_size;
  char* inner = archive_bytes(
      (archive_entry[]){{"SystemStructure.ssd", EMPTY("default")},
                        {"B.ssd", SSD_NAMED("variant", "<ssd:System name='B'>" ELEMENTS(
                                                           SOURCE("x.fmu")) "</ssd:System>")},
                        {"x.fmu", "inner"},
                        {"p.ssv", SSV("")},
                        {NULL}},
      &inner_size);
  char* outer = archive_bytes(
      (archive_entry[]){
          {"SystemStructure.ssd", SYSTEM(ELEMENTS(NESTED_SSP("resources/in%20ner.ssp#variant")))},
          {"resources/in ner.ssp", inner, .size = inner_size},
          {NULL}},
      &outer_size);
  make_archive("t.ssp",
               (archive_entry[]){{"SystemStructure.ssd",
                                  SYSTEM(ELEMENTS("<ssd:Component name='n' source='o.ssp'>" BINDING(
                                      "source='resources/a.ssv' sourceBase='component'",
                                      "") "</ssd:Component>"
                                          "<ssd:Component name='again' source='o.ssp' "
                                          "type='application/x-ssp-package'/>"))},
                                 {"x.fmu", "outer"},
                                 {"o.ssp", outer, .size = outer_size},
                                 {NULL}});
  cpli_ssp_close(open_found(ctx, "t.ssp",
                            "W t.ssp/SystemStructure.ssd:1: component 'n': "
                            "type=\"application/x-ssp-package\" is missing\n"
                            "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'n': there is no "
                            "file t.ssp/o.ssp/resources/a.ssv\n"));
  make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd",
                                           SYSTEM(ELEMENTS(NESTED_SSP("o.ssp") SOURCE("x.fmu")))},
                                          {"x.fmu", "outer"},
                                          {"o.ssp", outer, .size = outer_size},
                                          {NULL}});
  cpli_ssp* ssp = open_fine(ctx, "t.ssp");
  const cpli_ssp_element* b = ssp->system->elements[0].inner->elements[0].inner;
  CHECK_STR(b->name, "B");
  CHECK_STR(b->file->path, "t.ssp/o.ssp/resources/in ner.ssp/B.ssd");
  size_t size;
  char* bytes = read_bytes(b->elements[0].fmu, &size);
  CHECK_STR(bytes, "inner");
  free(bytes);
  bytes = read_bytes(ssp->system->elements[1].fmu, &size);
  CHECK_STR(bytes, "outer");
  free(bytes);
  char left[1024];
  snprintf(left, sizeof left, "%s", b->elements[0].fmu);
  cpli_ssp_close(ssp);
  CHECK(access(left, F_OK) != 0);
  free(inner);
  free(outer);

  make_archive("t.ssp",
               (archive_entry[]){{"SystemStructure.ssd", SYSTEM(ELEMENTS(NESTED_SSP("b.ssp")))},
                                 {"b.ssp", "no archive"},
                                 {NULL}});
  cpli_ssp_close(
      open_found(ctx, "t.ssp", "E t.ssp/b.ssp: not a zip archive, or only a part of one\n"));
}

static void a_nested_file_is_resolved_where_it_is(void** state) {
  cpl_context* ctx = *state;
  make_archive(
      "t.ssp",
      (archive_entry[]){
          {"SystemStructure.ssd",
           SYSTEM(ELEMENTS("<ssd:Component name='n' source='resources/sub/a.ssd#part' "
                           "type='application/x-ssp-definition'>" BINDING(
                               "source='p.ssv' sourceBase='component'", "") "</ssd:Component>"))},
          {"resources/sub/a.ssd", SYSTEM(ELEMENTS("<ssd:System name='part' id='part'>" ELEMENTS(
                                      SOURCE("../m.fmu")) "</ssd:System>"))},
          {"resources/sub/p.ssv", SSV("")},
          {"resources/m.fmu", "x"},
          {NULL}});
  cpli_ssp* ssp = open_fine(ctx, "t.ssp");
  CHECK_STR(ssp->system->elements[0].inner->name, "part");
  CHECK_STR(ssp->system->elements[0].bindings[0].set->file->path, "t.ssp/resources/sub/p.ssv");
  cpli_ssp_close(ssp);
}

static void cycles_are_named(void** state) {
  cpl_context* ctx = *state;
  make_archive("t.ssp",
               (archive_entry[]){{"SystemStructure.ssd", SYSTEM(ELEMENTS(NESTED_SSD("a.ssd")))},
                                 {"a.ssd", SYSTEM(ELEMENTS("\n" NESTED_SSD("b.ssd")))},
                                 {"b.ssd", SYSTEM(ELEMENTS("\n\n" NESTED_SSD("./a.ssd")))},
                                 {NULL}});
  cpli_ssp_close(open_found(
      ctx, "t.ssp",
      "W t.ssp/a.ssd: the variants in SystemStructure.ssd and a.ssd have the same name 'test'\n"
      "W t.ssp/b.ssd: the variants in SystemStructure.ssd and b.ssd have the same name 'test'\n"
      "E t.ssp/b.ssd:3: component 'n': the files contain each other: t.ssp/a.ssd -> t.ssp/b.ssd -> "
      "t.ssp/a.ssd\n"));
  make_ssp(SYSTEM(ELEMENTS("<ssd:System name='x' id='x'>" ELEMENTS("<ssd:System name='y'>" ELEMENTS(
               "\n" SOURCE("#x")) "</ssd:System>") "</ssd:System>")),
           NULL, NULL);
  cpli_ssp_close(
      open_found(ctx, "t.ssp",
                 "E t.ssp/SystemStructure.ssd:2: system 'x' contains itself: x -> y -> m -> x\n"));
  make_ssp(SYSTEM(ELEMENTS("<ssd:System name='x' id='x'>" ELEMENTS(SOURCE(
               "#y")) "</ssd:System>"
                      "<ssd:System name='y' id='y'>" ELEMENTS(SOURCE("#x")) "</ssd:System>")),
           NULL, NULL);
  cpli_ssp_close(open_found(
      ctx, "t.ssp",
      "E t.ssp/SystemStructure.ssd:1: system 'x' contains itself: x -> m -> y -> m -> x\n"));
}

// Each system has the next one twice: 2^40 elements in a small file.
static void sizes_are_limited(void** state) {
  cpl_context* ctx = *state;
  static char text[256 * 1024];
  size_t n = (size_t)sprintf(text, "%s",
                             "<ssd:SystemStructureDescription version='2.0' name='n'" SPACES
                             "><ssd:System name='root'><ssd:Elements>");
  for (int i = 0; i < 40; i++)
    n += (size_t)sprintf(text + n,
                         "<ssd:System name='s%d' id='s%d'><ssd:Elements>"
                         "<ssd:Component name='a' source='#s%d'/><ssd:Component name='b' "
                         "source='#s%d'/></ssd:Elements></ssd:System>",
                         i, i, i + 1, i + 1);
  sprintf(text + n,
          "<ssd:System name='s40' id='s40'/></ssd:Elements></ssd:System>"
          "</ssd:SystemStructureDescription>");
  write_text("many.ssd", text);
  check_fails(ctx, "many.ssd", "has more than 1000000 elements, or 256 levels");

  // each system contains the one before: the depth adds up, although each was counted before
  n = (size_t)sprintf(text, "%s",
                      "<ssd:SystemStructureDescription version='2.0' name='n'" SPACES
                      "><ssd:System name='root'><ssd:Elements>"
                      "<ssd:System name='s0' id='s0'/>");
  for (int i = 1; i < 400; i++)
    n += (size_t)sprintf(text + n,
                         "<ssd:System name='s%d' id='s%d'><ssd:Elements><ssd:Component name='a' "
                         "source='#s%d'/></ssd:Elements></ssd:System>",
                         i, i, i - 1);
  sprintf(text + n, "</ssd:Elements></ssd:System></ssd:SystemStructureDescription>");
  write_text("deep.ssd", text);
  check_fails(ctx, "deep.ssd", "or 256 levels");

  for (int i = 0; i < 40; i++) {
    char path[64], next[64];
    snprintf(path, sizeof path, "f%d.ssd", i);
    snprintf(next, sizeof next, "f%d.ssd", i + 1);
    snprintf(text, sizeof text,
             SYSTEM(ELEMENTS("<ssd:Component name='n' type='application/x-ssp-definition' "
                             "source='%s'/>")),
             next);
    write_text(path, text);
  }
  write_text("f40.ssd", EMPTY("last"));
  check_fails(ctx, "f0.ssd", "f31.ssd:1: component 'n': more than 32 files are nested");
}

//------------------------------------ the rest ------------------------------------

static void only_what_is_needed_is_extracted(void** state) {
  cpl_context* ctx = *state;
  char* old = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
  char here[1024];
  assert_non_null(getcwd(here, sizeof here));
  strncat(here, "/tmp", sizeof here - strlen(here) - 1);
  make_folder(here);
  setenv("TMPDIR", here, 1);
  make_ssp(SYSTEM(ELEMENTS(SOURCE("m.fmu"))), "big.bin", "not needed");
  cpli_ssp* ssp = open_fine(ctx, "t.ssp");
  char folder[2048];
  snprintf(folder, sizeof folder, "%s", ssp->system->elements[0].fmu);
  *strrchr(folder, '/') = '\0';
  CHECK(strncmp(folder, here, strlen(here)) == 0);
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  int files = 0;
  for (struct dirent* e; (e = readdir(dir)) != NULL;)
    files += strchr(e->d_name, '.') == NULL || strlen(e->d_name) > 2;
  closedir(dir);
  CHECK_INT(files, 1);
  cpli_ssp_close(ssp);
  CHECK(access(folder, F_OK) != 0);
  if (old != NULL) setenv("TMPDIR", old, 1);
  else unsetenv("TMPDIR");
  free(old);
}

static void further_parameters_are_bound_last(void** state) {
  cpl_context* ctx = *state;
  make_ssp(SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv", SSV(""));
  write_text("more.ssv", SSV("<ssv:Parameter name='x'><ssv:Real value='3'/></ssv:Parameter>"));
  cpli_ssp* ssp = open_fine(ctx, "t.ssp");
  CHECK_OK(ctx, cpli_ssp_add_parameters(ssp, "more.ssv"));
  CHECK_INT(ssp->system->n_bindings, 2);
  CHECK_STR(ssp->system->bindings[0].set->file->path, "t.ssp/a.ssv");
  CHECK_STR(ssp->system->bindings[1].set->parameters[0].values[0], "3");
  CHECK_STR(ssp->system->bindings[1].set->file->path, "more.ssv");
  CHECK_STR(ssp->system->bindings[1].loc.file, "more.ssv");
  CHECK_INT(cpli_ssp_add_parameters(ssp, "none.ssv"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "none.ssv: no such file");
  write_text("bad.ssv", SSV("<ssv:Parameter name='x'><ssv:Real value='3,5'/></ssv:Parameter>"));
  CHECK_INT(cpli_ssp_add_parameters(ssp, "bad.ssv"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "bad.ssv:1: Real: value=\"3,5\": expected a number, or several of them");
  CHECK_INT(ssp->system->n_bindings, 2);
  cpli_ssp_close(ssp);
}

static void reading_stops_on_demand(void** state) {
  cpl_context* ctx = *state;
  make_ssp(SYSTEM("<ssd:A/><ssd:B/><ssd:C/>"), NULL, NULL);
  collected c = {.stop_after = 2};
  cpli_ssp* ssp = NULL;
  CHECK_INT(open_collecting(ctx, "t.ssp", &c, &ssp), CPL_ERR_INPUT);
  CHECK_INT(c.errors, 2);
  CHECK_STR(cpl_context_error(ctx),
            "t.ssp/SystemStructure.ssd:1: System 'root': unknown element 'A'");
}

static void count_warnings(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)who, (void)level;
  char* last = user;
  last[0]++;
  snprintf(last + 1, 200, "%s", text);
}

static void warnings_are_logged_up_to_a_limit(void** state) {
  (void)state;
  static char last[201], text[16384];
  cpl_context_def def = cpl_default_context_def();
  def.log = count_warnings;
  def.user = last;
  cpl_context* ctx = cpl_context_create(&def);
  size_t n = (size_t)snprintf(text, sizeof text, "%s",
                              "<ssd:SystemStructureDescription version='2.0' name='n'" SPACES
                              "><ssd:System name='r'><ssd:Elements>");
  for (int i = 0; i < 50; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "<ssd:System name='s%d'>text</ssd:System>", i);
  snprintf(text + n, sizeof text - n,
           "</ssd:Elements></ssd:System></ssd:SystemStructureDescription>");
  make_ssp(text, NULL, NULL);
  cpli_ssp* ssp = NULL;
  CHECK_OK(ctx, cpli_ssp_open(ctx, "t.ssp", NULL, NULL, &ssp));
  cpli_ssp_close(ssp);
  CHECK_INT(last[0], 21);
  CHECK_STR(last + 1, "t.ssp: there are more warnings; couplet check shows all");
  cpl_context_destroy(ctx);
}

// A tree is many times as large as its file.
static void large_files_are_refused(void** state) {
  make_folder("large");
  write_text("large/SystemStructure.ssd", "<x>");
  CHECK_INT(truncate("large/SystemStructure.ssd", 65 << 20), 0);
  check_fails(*state, "large", "large/SystemStructure.ssd: is larger than 64 MB");
  remove("large/SystemStructure.ssd");
}

static void usual_prefixes_may_be_undeclared(void** state) {
  cpl_context* ctx = *state;
  make_ssp(SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv",
           "<ssv:ParameterSet version='1.0' name='s'>\n<ssv:Parameters><ssv:Parameter name='p'>"
           "<ssv:Real value='2'/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>");
  cpli_ssp* ssp =
      open_found(ctx, "t.ssp",
                 "W t.ssp/a.ssv:1: the prefix 'ssv' is not declared; add "
                 "xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\"\n");
  CHECK_STR(ssp->system->bindings[0].set->parameters[0].values[0], "2");
  CHECK_OK(ctx, cpli_ssp_write(ssp, "copy.ssp"));
  cpli_ssp_close(ssp);
  cpli_ssp_close(open_fine(ctx, "copy.ssp"));
  make_ssp(SYSTEM("<ssd:Annotations><ssc:Annotation type='x'>\n<osp:A/><osp:B/></ssc:Annotation>"
                  "</ssd:Annotations>"),
           NULL, NULL);
  cpli_ssp_close(open_found(ctx, "t.ssp",
                            "W t.ssp/SystemStructure.ssd:2: the prefix 'osp' is not declared\n"
                            "W t.ssp/SystemStructure.ssd:2: the prefix 'osp' is not declared\n"));
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  make_everything("all.ssp");
  long n = 0;
  for (;; n += 1 + n / 25) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_ssp* ssp = NULL;
    heap.fail_at = heap.calls + n;
    cpl_status st = cpli_ssp_open(ctx, "all.ssp", NULL, NULL, &ssp);
    if (st >= 0) st = cpli_ssp_write(ssp, "copy.ssp");
    cpli_ssp_close(ssp);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
  CHECK(n > 100);
}

// A heap whose freed blocks read as the name of a file: one that is compared with such a block
// would count as unpacked.
static struct {
  void* blocks[20000];
  size_t n;
} freed;

static void* realloc_misleading(void* user, void* ptr, size_t size) {
  static const char name[] = "resources/b.txt";
  (void)user;
  if (size > 0) return realloc(ptr, size);
  if (ptr == NULL) return NULL;
  if (malloc_usable_size(ptr) >= sizeof name) memcpy(ptr, name, sizeof name);
  CHECK(freed.n < CPLI_COUNT(freed.blocks));
  freed.blocks[freed.n++] = ptr;
  return NULL;
}

static void all_files_are_unpacked(void** state) {
  (void)state;
  cpl_context_def def = cpl_default_context_def();
  def.realloc = realloc_misleading;
  cpl_context* ctx = cpl_context_create(&def);
  make_archive("t.ssp", (archive_entry[]){{"SystemStructure.ssd", EMPTY("x")},
                                          {"resources/a.txt", "a"},
                                          {"resources/b.txt", "b"},
                                          {"resources/c.txt", "c"},
                                          {NULL}});
  cpli_ssp* ssp = NULL;
  const char* folder = NULL;
  CHECK_OK(ctx, cpli_ssp_open(ctx, "t.ssp", NULL, NULL, &ssp));
  CHECK_OK(ctx, cpli_ssp_unpack(ssp, ssp->file, &folder));
  static const char* const names[] = {"SystemStructure.ssd", "resources/a.txt", "resources/b.txt",
                                      "resources/c.txt"};
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s%s", folder, names[i]);
    if (access(path, R_OK) != 0) fail_msg("%s is not unpacked", names[i]);
  }
  cpli_ssp_close(ssp);
  cpl_context_destroy(ctx);
  while (freed.n > 0) free(freed.blocks[--freed.n]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folders_and_single_files_are_packages),
      cmocka_unit_test(a_name_may_have_a_hash),
      cmocka_unit_test(variants_have_different_names),
      cmocka_unit_test(broken_archives_are_refused),
      cmocka_unit_test(hostile_documents_are_refused),
      cmocka_unit_test(references_stay_inside_a_package),
      cmocka_unit_test(references_of_a_single_file_lead_anywhere),
      cmocka_unit_test(nested_packages_have_their_own_files),
      cmocka_unit_test(a_nested_file_is_resolved_where_it_is),
      cmocka_unit_test(cycles_are_named),
      cmocka_unit_test(sizes_are_limited),
      cmocka_unit_test(only_what_is_needed_is_extracted),
      cmocka_unit_test(all_files_are_unpacked),
      cmocka_unit_test(further_parameters_are_bound_last),
      cmocka_unit_test(reading_stops_on_demand),
      cmocka_unit_test(warnings_are_logged_up_to_a_limit),
      cmocka_unit_test(large_files_are_refused),
      cmocka_unit_test(usual_prefixes_may_be_undeclared),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
