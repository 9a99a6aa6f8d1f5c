#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# check_wheel.sh WHEEL: installs a wheel into a new virtual environment without network (numpy is the one of the system), tries
# the module and the command there, and uninstalls it.
set -eu
wheel=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
unset PYTHONPATH PYTHONHOME COUPLET_DATA LD_LIBRARY_PATH COUPLET_DEPS || true
/usr/bin/python3 -m venv --system-site-packages "$work/venv"
PATH=$work/venv/bin:$PATH
pip install --quiet --no-index --disable-pip-version-check "$wheel"
python3 "$root/packaging/try_package.py" "$root" --bundled "$work/venv"
pip uninstall --quiet --disable-pip-version-check --yes couplet
left=$(find "$work/venv" -iname '*couplet*')
[ -z "$left" ] || { echo "check_wheel.sh: not uninstalled: $left" >&2; exit 1; }
