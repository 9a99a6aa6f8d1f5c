#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# format.sh            formats every C file of the repository
# format.sh --check    changes nothing; prints what would change and fails when that is something
# The version is pinned: another one formats differently.
set -eu
cd "$(dirname "$0")/.."
tool=clang-format-14
command -v $tool >/dev/null 2>&1 || { echo "format: $tool is missing; scripts/setup --ci installs it" >&2; exit 2; }
files() { git ls-files --cached --others --exclude-standard -z -- '*.c' '*.h'; }
case ${1-} in
  "") files | xargs -0 $tool -i ;;
  --check) files | xargs -0 $tool --dry-run --Werror ;;
  *) echo "usage: format.sh [--check]" >&2; exit 2 ;;
esac
