// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The three formats of a graph, one file each: graph.c as text, graph_dot.c for Graphviz,
// graph_json.c as JSON; graph_master.c has all three for systems with steppers.
#pragma once

#include "cli.h"

const char* graph_signal_name(cpl_signal_kind kind);   // "input", "output", ...
bool graph_is_between(const cpl_graph_connection* c);  // its target is an input of a model

// A system with modes: its state chart.
typedef enum graph_form { GRAPH_TEXT, GRAPH_DOT, GRAPH_JSON } graph_form;
bool graph_has_modes(const cpl_source* source);
void graph_print_modes(FILE* out, const cpl_source* source, graph_form form);
void graph_print_inner_modes(FILE* out, const cpl_source* source);  // of members, as text

void graph_put_escaped(FILE* out, const char* text);  // inside quotes of Graphviz
void graph_print_dot(FILE* out, const cpl_graph* g);
void graph_print_json(FILE* out, const cpl_graph* g, const char* path);

void graph_print_master(FILE* out, const cpl_stepper* s);
void graph_print_master_dot(FILE* out, const cpl_stepper* s);
void graph_print_master_json(FILE* out, const cpl_stepper* s, const char* path);

// The picture as a page or as SVG; Nullable: output: it is then named after the system, in the
// current folder, and its name is printed.
cpl_status graph_write_picture(cpl_source* source, const char* path, const char* output, bool svg,
                               FILE* out);

// A system with delay lines: its models and lines.
bool graph_has_lines(const cpl_source* source);
void graph_print_lines(FILE* out, const cpl_source* source, graph_form form);
