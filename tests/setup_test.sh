#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# setup_test.sh WORK: what scripts/setup says and does on machines where nothing is installed. The commands it finds
# are played; nothing is installed.
# shellcheck disable=SC2016
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$1
rm -rf "$work"
mkdir -p "$work/bin"
cd "$work"
ln -s "$(command -v dirname)" "$(command -v env)" bin/

fail() { printf '%s\n' "$*" >&2; exit 1; }
play() { # NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" > "bin/$1"
  chmod +x "bin/$1"
}
setup() { # EXPECTED_TEXT [ARGUMENT]: it fails and says that
  if PATH=$work/bin COUPLET_DEPS=$work/deps /bin/sh "$here/scripts/setup" "${2-}" >out 2>&1 </dev/null; then
    fail "setup did not fail: $(cat out)"
  fi
  case $(cat out) in *"$1"*) ;; *) fail "setup did not say \"$1\" but: $(cat out)" ;; esac
}

setup "usage: scripts/setup" --nonsense
! grep -q '://' "$here/scripts/setup" || fail "setup names a host: the configuration of apt and npm decides"

play id 'echo 1000'
setup "these Debian packages are missing and there is no apt-get: make gcc"

play apt-get "echo \"\$*\" >> $work/calls; exit 100"
setup "these packages are missing, and you are not root: make gcc"
setup "apt-get install --no-install-recommends make gcc"
! grep -q chromium out || fail "setup wants a browser to build: $(cat out)"
! grep -q numpy out || fail "setup wants numpy to build: $(cat out)"
setup "chromium-headless-shell" --test
play chromium ''
setup "libcmocka-dev" --test
! grep -q chromium out || fail "setup wants a second browser: $(cat out)"
rm bin/chromium
! grep -q openmpi out || fail "setup wants MPI for make test: $(cat out)"
setup "openmpi-bin" --clusters
! sed -n '/^test_packages=/,/^"/p' "$here/scripts/setup" | grep -q 'matplotlib\|scipy' || fail "make test would fetch matplotlib (70 MB)"
setup "clang-format-14" --ci
! grep -q valgrind out || fail "setup wants valgrind for the checks of .ci/run: $(cat out)"
setup "valgrind" --dev
! grep -q lintian out || fail "setup wants what makes packages to develop: $(cat out)"
setup "patchelf" --packages
[ ! -e calls ] || fail "apt-get was called without root"

# sudo that would ask for a password: nobody is there to type it
play sudo 'case $1 in -n) exit 1 ;; esac; exec "$@"'
setup "you are not root"
[ ! -e calls ] || fail "sudo was called without a terminal"

play sudo 'case $1 in -n) exit 0 ;; esac; exec "$@"'
setup "installing with apt-get (through sudo): make gcc"
setup "apt-get could not install these: make gcc"

play id 'echo 0'
rm calls
setup "installing with apt-get: make gcc"
while read -r call; do
  case $call in
    "update -qq" | "install -y -qq --no-install-recommends make gcc "*) ;;
    *) fail "apt-get was called with: $call" ;;
  esac
done < calls

play apt-get 'exit 0'
setup "still missing after the installation: make gcc"
echo "setup says what it should"
