#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# in_own_folder.sh COMMAND...: runs a test in the current folder, after everything there is removed but the cache of compiled models:
# what a failed or killed test left cannot fail the next run. The test has its own temporary folder and cache in it, too.
set -eu
case $PWD in
  */tests/work/?*) ;;
  *) echo "$0: $PWD is not the folder of a test" >&2; exit 2 ;;
esac
find . -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +
mkdir tmp
TMPDIR=$PWD/tmp XDG_CACHE_HOME=$PWD/cache
export TMPDIR XDG_CACHE_HOME
exec "$@"
