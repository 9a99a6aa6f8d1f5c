#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Every public header begins with what it is for and a short example, and the examples compile.

    check_headers.py [ROOT]     prints what is wrong; exit 1 when there is something

An example is the part of the comment before #pragma once that is indented by three blanks. It becomes the body of a function
after the declarations below; a line "..." stands for other code.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Tables of operations, and models: their own pages and tests have complete programs.
WITHOUT_EXAMPLE = ("interface.h", "model.h")
COMMON = "cpl_context* ctx; cpl_source *source, *fmu; cpl_model* model; cpl_stepper* stepper; cpl_table* table;"
DECLARATIONS = {
    "aggregate.h": "cpl_model *left, *right; enum { left_F, left_x, right_F, right_s };",
    "assemble.h": "cpl_run_def run;",
    "base.h": "cpl_log_fn print_message;",
    "check.h": "cpl_finding_fn print_finding;",
    "jacobian.h": "double x[2], entries[4];",
    "master.h": "cpl_stepper *left, *right; enum { left_F, left_x, right_F, right_s };",
    "match.h": "cpl_table *reference, *results;",
    "modes.h": "cpl_mode_copy copies[2]; cpl_stepper *flight, *contact, *ball;",
    "results.h": "cpl_column* columns; size_t n; cpl_results* res; double t; cpl_value* values;",
    "run.h": "cpl_columns_fn open_file; cpl_point_fn write_row; int file;",
    "study.h": "cpl_experiment_settings settings; cpl_design* design;",
    "tlm.h": "cpl_model* mass; cpl_stepper* spring; cpl_solver_def solver; enum { v, F };",
    "tlm_net.h": "cpl_tlm_join* join; cpl_stepper_def stepper_def;",
}


def introduction(text):
    """The comment before #pragma once, below the SPDX lines, as text and example."""
    lines = [line[2:] for line in text.split("#pragma once")[0].splitlines() if line.startswith("//")][2:]
    return ([line for line in lines if line.strip() and not line.startswith("   ")],
            [line for line in lines if line.startswith("   ") and line.strip() != "..."])


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parent.parent
    findings = []
    program = ["#include <stdio.h>", "#include <couplet/couplet.h>", ""]
    headers = sorted((root / "include/couplet").glob("*.h"))
    for header in headers:
        text, example = introduction(header.read_text())
        if not text:
            findings.append(f"include/couplet/{header.name}:3: it does not begin with what it is for")
        if header.name in WITHOUT_EXAMPLE:
            continue
        if not example:
            findings.append(f"include/couplet/{header.name}:3: it has no example")
        name = re.sub(r"\W", "_", header.name)
        program += [f"void {name}(void);", f"void {name}(void) {{", COMMON, DECLARATIONS.get(header.name, "")]
        program += ["{", f'#line 1 "{header.name}"'] + example + ["}", "}", '#line 1 "examples.c"', ""]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "examples.c"
        source.write_text("\n".join(program))
        compiler = shlex.split(os.environ.get("CC", "cc"))
        done = subprocess.run([*compiler, "-std=c17", "-Wall", "-Werror", "-Wno-unused-variable",
                               "-Wno-unused-but-set-variable", "-fsyntax-only", "-I", root / "include", source],
                              capture_output=True, text=True)
    if done.returncode != 0:
        findings.append(done.stderr)
    print("\n".join(findings) or f"{len(headers)} headers begin with what they are for; their examples compile")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
