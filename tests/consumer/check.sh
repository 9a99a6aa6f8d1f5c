#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# check.sh cmake|pkg-config|symbols|hardened|command STAGE WORK: tries what is installed in STAGE from outside, in
# the folder WORK. The environment gives CC, and EXAMPLES for the command.
set -eu
what=$1 stage=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
libdir=$(dirname "$(find "$stage" -name libcouplet.a)")
unset COUPLET_DATA || true
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() { printf '%s\n' "$*" >&2; exit 1; }
expect() { [ "$1" = "$2" ] || fail "expected: $2
     got: $1"; }
runs() { expect "$("$@")" "couplet $COUPLET_VERSION: x(1) = 0.367879"; }

check_cmake() {
  cmake -S "$here" -B . -DCMAKE_PREFIX_PATH="$stage" -DCMAKE_C_COMPILER="$CC" >log 2>&1 || { cat log; exit 1; }
  cmake --build . >log 2>&1 || { cat log; exit 1; }
  runs ./consumer
  runs ./consumer_static
  ldd ./consumer | grep -q "$libdir/libcouplet.so" || fail "consumer does not use the installed library"
  ! ldd ./consumer_static | grep -q libcouplet || fail "consumer_static uses the shared library"
  XDG_CACHE_HOME=$work/cache expect "$(./library "$EXAMPLES/simple_coupling/simple_coupling.yaml")" "21 rows, a.x ends at 1.218018
a.x(1) = 3.310915"
  expect "$(wc -l < result.csv)" 22
}

check_pkg_config() {
  PKG_CONFIG_PATH=$libdir/pkgconfig
  export PKG_CONFIG_PATH
  expect "$(pkg-config --modversion couplet)" "$COUPLET_VERSION"
  # shellcheck disable=SC2046
  $CC -o consumer "$here/consumer.c" $(pkg-config --cflags --libs couplet) -lm -Wl,-rpath,"$libdir"
  # the archive by name: -lcouplet would take the shared library
  # shellcheck disable=SC2046
  $CC -o consumer_static "$here/consumer.c" $(pkg-config --cflags couplet) \
    $(pkg-config --static --libs couplet | sed 's/-lcouplet/-l:libcouplet.a/')
  runs ./consumer
  runs ./consumer_static
  ldd ./consumer | grep -q "$libdir/libcouplet.so" || fail "consumer does not use the installed library"
}

check_symbols() {
  strange=$(nm -D --defined-only "$libdir/libcouplet.so" | grep -v ' cpl_') &&
    fail "the shared library exports more than cpl_*: $strange"
  strange=$(nm -g --defined-only "$libdir/libcouplet.a" | grep ' [A-Z] ' | grep -v ' cpl_') &&
    fail "the static library exports more than cpl_*: $strange"
  soname=$(readelf -d "$libdir/libcouplet.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  expect "$soname" "libcouplet.so.${COUPLET_VERSION%.*}"
  [ -e "$libdir/$soname" ] || fail "$soname is not installed"
}

# no library call that can be redirected later, no place in memory known before, no folder of the builder
check_hardened() {
  for file in "$stage/bin/couplet" "$libdir/libcouplet.so"; do
    case $(readelf -Wd "$file") in *BIND_NOW*) ;; *) fail "$file: its symbols can be bound late" ;; esac
    case $(readelf -Wl "$file") in *GNU_RELRO*) ;; *) fail "$file: no RELRO" ;; esac
    case $(nm -D "$file") in *__stack_chk_fail*) ;; *) fail "$file: no stack protector" ;; esac
    case $(nm -D "$file") in *printf_chk*) ;; *) fail "$file: no FORTIFY" ;; esac
    ! grep -aqF "$SOURCES" "$file" || fail "$file names the folder of its sources"
  done
  case $(readelf -h "$stage/bin/couplet") in *DYN*) ;; *) fail "couplet is not position-independent" ;; esac
}

# the installed command, far from its sources
check_command() {
  PATH=$stage/bin:$PATH XDG_CACHE_HOME=$work/cache
  export PATH XDG_CACHE_HOME
  expect "$(couplet --version)" "couplet $COUPLET_VERSION"
  cp "$EXAMPLES/bouncing_ball/bouncing_ball.c" .
  couplet run -q bouncing_ball.c -o c.csv
  couplet build -q bouncing_ball.c -o ball.fmu
  couplet run -q ball.fmu -o fmu.csv
  [ "$(wc -l < fmu.csv)" -gt 100 ] || fail "too few points"
  expect "$(wc -l < fmu.csv)" "$(wc -l < c.csv)"
  # notices of the parts of others
  doc=$stage/share/doc/couplet
  grep -q '^| KLU ' "$doc/THIRD-PARTY.md" || fail "THIRD-PARTY.md is not installed"
  for part in couplet SUNDIALS Duktape uplot elkjs; do
    grep -qi 'copyright' "$doc/licenses/$part.txt" || fail "the notice of $part is not installed"
  done
  for part in couplet SUNDIALS; do
    python3 -m zipfile -l ball.fmu | grep -q "documentation/licenses/$part.txt" || fail "the FMU has no notice of $part"
  done
  couplet --version --verbose | grep -q '^SUNDIALS  *[0-9.]* .*BSD-3-Clause' || fail "--version --verbose lists no parts"
  man=$stage/share/man/man1/couplet.1
  for verb in run info check build view; do
    grep -q "^.SS couplet $verb" "$man" || fail "the man page does not know $verb"
  done
  couplet --man | cmp - "$man"
  completion=$stage/share/bash-completion/completions/couplet
  couplet --completion | cmp - "$completion"
  for verb in run info check build view; do couplet $verb --help >/dev/null; done
  expect "$(complete_with couplet bu)" "build"
  expect "$(complete_with couplet run --solv)" "--solver"
  expect "$(complete_with couplet run --solver r)" "rk4 radau"
  expect "$(complete_with couplet run bounc)" "bouncing_ball.c"
}

complete_with() {
  bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _couplet; echo "${COMPREPLY[@]}"' \
    "$completion" "$@"
}

case $what in
  cmake) check_cmake ;;
  pkg-config) check_pkg_config ;;
  symbols) check_symbols ;;
  hardened) check_hardened ;;
  command) check_command ;;
  *) fail "what is $what?" ;;
esac
