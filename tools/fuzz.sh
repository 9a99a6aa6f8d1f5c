#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# fuzz.sh BUILD SECONDS: runs each fuzz target; new cases stay in BUILD/corpus, crashes in
# BUILD/findings. A case worth keeping goes to tests/fuzz/corpus, where a test replays it.
set -e
here=$(cd "$(dirname "$0")/.." && pwd)
for target in xml archive; do
  mkdir -p "$1/corpus/$target" "$1/findings"
  "$1/tests/fuzz/fuzz_$target" -max_total_time="$2" -max_len=8192 -timeout=20 -verbosity=0 \
    -print_final_stats=1 -dict="$here/tests/fuzz/words.dict" -artifact_prefix="$1/findings/" \
    "$1/corpus/$target" "$here/tests/fuzz/corpus/$target"
done
