// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Prints one row per component with its maximum step, wave segments and events, as text or JSON.
#include "run_lines.h"

#include <inttypes.h>
#include <string.h>

void run_print_lines(FILE* out, const cpl_stepper* s) {
  fprintf(out, "  %-20s %12s %12s %12s\n", "component", "maximum step", "segments", "events");
  for (int32_t i = 0; i < cpl_tlm_count(s); i++) {
    cpl_tlm_part_stats p = cpl_tlm_part_stats_at(s, i);
    fputs("  ", out);
    cli_print_safe(out, p.name);
    fprintf(out, "%*s %12.6g %12" PRId64 " %12" PRId64 "\n",
            strlen(p.name) < 20 ? (int)(20 - strlen(p.name)) : 0, "", p.step, p.pieces, p.events);
  }
}

void run_write_lines(cpli_json* j, const cpl_stepper* s) {
  cpli_json_array(j, "parts");
  for (int32_t i = 0; i < cpl_tlm_count(s); i++) {
    cpl_tlm_part_stats p = cpl_tlm_part_stats_at(s, i);
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", p.name);
    cpli_json_real(j, "longest_step", p.step);
    cpli_json_integer(j, "pieces", p.pieces);
    cpli_json_integer(j, "events", p.events);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}
