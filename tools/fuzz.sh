#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# fuzz.sh BUILD SECONDS [TARGET...]: runs fuzz targets, all of them unless some are named, one after
# the other; says how many inputs each has tried. New cases stay in BUILD/corpus, crashes in
# BUILD/findings. A case worth keeping goes to tests/fuzz/corpus, where a test replays it.
set -e
tests=$(cd "$(dirname "$0")/../tests/fuzz" && pwd)
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(cd "$tests" && ls fuzz_*.c | sed 's/fuzz_\(.*\)\.c/\1/')
mkdir -p "$build/findings"
for target; do
  mkdir -p "$build/corpus/$target"
  fine=true
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=512 \
    -verbosity=0 -print_final_stats=1 -dict="$tests/words.dict" -artifact_prefix="$build/findings/$target-" \
    "$build/corpus/$target" "$tests/corpus/$target" >"$build/findings/$target.log" 2>&1 || fine=false
  $fine || cat "$build/findings/$target.log"
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/findings/$target.log") inputs"
  $fine
done
