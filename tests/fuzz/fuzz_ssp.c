// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The XML files of a package of SSP. The first byte says which: v parameter values, m a mapping, b
// a signal dictionary, anything else the system structure. What was read is written and read again.
#include "fuzz.h"
#include "ssp/ssp.h"

#define SPACES                                                         \
  " xmlns:d='http://ssp-standard.org/SSP1/SystemStructureDescription'" \
  " xmlns:c='http://ssp-standard.org/SSP1/SystemStructureCommon'"

// Refers to one file of each other kind.
static const char structure[] =
    "<d:SystemStructureDescription version='2.0' name='n'" SPACES
    "><d:System name='r'>"
    "<d:ParameterBindings><d:ParameterBinding source='a.ssv'><d:ParameterMapping source='a.ssm'/>"
    "</d:ParameterBinding></d:ParameterBindings><d:SignalDictionaries>"
    "<d:SignalDictionary name='s' source='a.ssb'/></d:SignalDictionaries></d:System>"
    "</d:SystemStructureDescription>";
static const char values[] =
    "<v:ParameterSet version='1.0' name='s' "
    "xmlns:v='http://ssp-standard.org/SSP1/SystemStructureParameterValues'><v:Parameters/>"
    "</v:ParameterSet>";
static const char mapping[] =
    "<m:ParameterMapping version='1.0' "
    "xmlns:m='http://ssp-standard.org/SSP1/SystemStructureParameterMapping'/>";
static const char dictionary[] =
    "<b:SignalDictionary version='1.0' "
    "xmlns:b='http://ssp-standard.org/SSP1/SystemStructureSignalDictionary'/>";

static void check_round_trip(cpl_context* ctx, const cpli_xml_tree* tree) {
  cpli_xml_tree* again = NULL;
  char* text = NULL;
  size_t size = 0;
  FUZZ_CHECK(cpli_xml_tree_write(tree, &text, &size) >= 0);
  FUZZ_CHECK(fuzz_fine(ctx, cpli_xml_tree_read(ctx, "again", text, size, &again)));
  FUZZ_CHECK(cpli_xml_node_equal(tree->root, again->root));
  cpli_xml_tree_free(again);
  cpli_free(ctx, text);
}

static bool ignore(void* user, bool is_error, const cpli_source_loc* loc, const char* text) {
  (void)user, (void)is_error;
  FUZZ_CHECK(text[0] != '\0' && loc != NULL);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  cpl_context* ctx = fuzz_context();
  static const struct {
    const char* name;
    const char* text;
    char first;
  } files[] = {{"a.ssv", values, 'v'},
               {"a.ssm", mapping, 'm'},
               {"a.ssb", dictionary, 'b'},
               {"m.fmu", "", 0},
               {"SystemStructure.ssd", structure, 's'}};
  size_t which = 4;
  for (size_t i = 0; i < 3; i++)
    if ((char)data[0] == files[i].first) which = i;
  static size_t before = SIZE_MAX;  // which file was replaced by the input before; at first none
  for (size_t i = 0; i < 5; i++)
    if (before == SIZE_MAX || i == before)
      fuzz_file(files[i].name, files[i].text, strlen(files[i].text));
  fuzz_file(files[which].name, data + 1, size - 1);
  before = which;
  cpli_ssp* ssp = NULL;
  const cpli_ssp_findings findings = {ignore, NULL};
  fuzz_fine(ctx, cpli_ssp_open(ctx, fuzz_folder, NULL, &findings, &ssp));
  cpli_ssp_close(ssp);

  char* text = fuzz_text(data + 1, size - 1);
  cpli_xml_tree* tree = NULL;
  if (fuzz_fine(ctx, cpli_xml_tree_read(ctx, "fuzz", text, size - 1, &tree)))
    check_round_trip(ctx, tree);
  cpli_xml_tree_free(tree);
  free(text);
  return 0;
}
