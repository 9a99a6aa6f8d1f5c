#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# coverage.sh BUILD [JOBS]: runs the tests of a build with CPL_COVERAGE and says how much of src and cli they
# reach; BUILD/html has the lines.
set -eu
cd "$(dirname "$0")/.."
build=$1 jobs=${2:-2}
find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" --output-on-failure -j "$jobs"
lcov -q -c -d "$build" -o "$build/all.info" --no-external -b "$PWD" >"$build/lcov.log" 2>&1
lcov -q -e "$build/all.info" "$PWD/src/*" "$PWD/cli/*" -o "$build/couplet.info" >>"$build/lcov.log" 2>&1
genhtml -q "$build/couplet.info" -o "$build/html" >>"$build/lcov.log" 2>&1
lcov --list "$build/couplet.info"
