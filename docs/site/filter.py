#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Prints a public header as Doxygen reads it: every comment is documentation, examples are code, and the comment below the
SPDX lines is that of the file."""
import re
import sys


def escape(text):
    return re.sub(r"([@\\<>#%&])", r"\\\1", text)


def comment(lines):
    """Lines of a comment without their slashes, as the body of a block."""
    out, example = [], False
    for line in lines:
        is_code = line.startswith("  ") or (example and not line.strip())
        if is_code != example:
            out.append("@code{.c}" if is_code else "@endcode")
            example = is_code
        out.append(line if is_code else escape(line.strip()))
    return out + (["@endcode"] if example else [])


def main():
    lines = open(sys.argv[1]).read().split("\n")
    first, block, in_section = True, [], False
    for line in lines + [""]:
        own = re.match(r"\s*//(?!-)/?<? ?(.*)$", line)
        if own and "SPDX-" not in line:
            block.append(own[1])
            continue
        if block:
            head = ["@file"] if first else []
            print("/**", *head, *comment(block), "*/", sep="\n")
            first, block = False, []
        section = re.match(r"//-+ (.*?) -+", line)
        if section:
            print("/** @} */" if in_section else "", f"/** @name {section[1].capitalize()} */", "/** @{ */", sep="\n")
            in_section = True
        elif "SPDX-" not in line and not line.strip() == "//":
            trailing = re.match(r"(.*?\S.*?)\s*//[/!]?<?\s*(.*)$", line)
            print(f"{trailing[1]} /**< {escape(trailing[2])} */" if trailing else line)
    print("/** @} */" if in_section else "")


main()
