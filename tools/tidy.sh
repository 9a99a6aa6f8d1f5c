#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# tidy.sh BUILD [JOBS]: clang-tidy over src, cli and examples as they are compiled in BUILD; .clang-tidy
# lists the checks. Fails on any finding.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build} jobs=${2:-2}
tool=clang-tidy-14
command -v $tool >/dev/null 2>&1 || { echo "tidy: $tool is missing; scripts/setup --dev installs it" >&2; exit 2; }
[ -e "$build/compile_commands.json" ] || { echo "tidy: $build is not configured" >&2; exit 2; }
git ls-files --cached --others --exclude-standard -z -- 'src/*.c' 'cli/*.c' |
  xargs -0 -n 4 -P "$jobs" $tool -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option \
    --warnings-as-errors='*' 2>/dev/null
