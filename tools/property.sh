#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# property.sh BUILD SECONDS SEED: random systems (tests/property) from case SEED on, a tenth of the
# time those with delay lines. Each case that fails leaves BUILD/property/failure-NUMBER with its
# system file and what was wrong, or failure-lines-NUMBER.yaml.
set -e
build=$(cd "$1" && pwd)
COUPLET_SOURCE_DIR=$(cd "$(dirname "$0")/.." && pwd)
COUPLET="$build/couplet"
COUPLET_PROBE="$build/tests/probe"
PROPERTY_SEED=$3
export COUPLET COUPLET_PROBE COUPLET_SOURCE_DIR PROPERTY_SEED
mkdir -p "$build/property"
cd "$build/property"
rm -rf failure-*
failed=0
PROPERTY_SECONDS=$(($2 / 10)) nice "$build/tests/test_property_lines" || failed=1
PROPERTY_SECONDS=$(($2 - $2 / 10)) nice "$build/tests/test_property_property" || failed=1
exit $failed
