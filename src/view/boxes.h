// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system as boxes, ports and lines, as the page of `couplet graph --html` reads it
// (src/view/page/diagram.js). Boxes may be nested; their notes are shown on hover.
#pragma once

#include "couplet/aggregate.h"
#include "couplet/component.h"
#include "couplet/graph.h"
#include "couplet/master.h"

typedef struct cpli_diagram cpli_diagram;

cpli_diagram* cpli_diagram_begin(cpl_context* ctx, const char* title);  // NULL: no memory
// Ends it: the JSON text, of malloc; NULL: no memory.
char* cpli_diagram_end(cpli_diagram* d);

// kind: "model", "system", "function", "signal", "mode". parent -1: not inside another. Returns its
// number.
int cpli_diagram_node(cpli_diagram* d, int parent, const char* kind, const char* name,
                      const char* sub);
// The port of that name on that side, created if missing.
int cpli_diagram_port(cpli_diagram* d, int node, bool input, const char* name);
// A line from a node or a port of it (-1: the node) to another. kind: "", "loop", "delayed",
// "transition", "tlm". Nullable: name, its label.
int cpli_diagram_edge(cpli_diagram* d, int from, int from_port, int to, int to_port,
                      const char* kind, const char* name);

// One more line about a node, a port or a line.
CPL_PRINTF(3, 4) void cpli_diagram_about_node(cpli_diagram* d, int node, const char* fmt, ...);
CPL_PRINTF(3, 4) void cpli_diagram_about_port(cpli_diagram* d, int port, const char* fmt, ...);
CPL_PRINTF(3, 4) void cpli_diagram_about_edge(cpli_diagram* d, int edge, const char* fmt, ...);

// The steppers that a master couples, in a box of their own or inside `parent`.
cpl_status cpli_diagram_of_master(cpli_diagram* d, const cpl_stepper* master, int parent);

// Everything inside a model or stepper.
cpl_status cpli_diagram_of(cpli_diagram* d, const cpl_component* component);
