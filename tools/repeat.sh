#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# repeat.sh BUILD [RUNS [JOBS [LOAD [CTEST_OPTION...]]]]: runs the tests of BUILD RUNS times (20) with ctest -j JOBS (2), beside
# LOAD busy processes (0). Prints one line per run: how many passed and failed, the seconds it took, the names of the failures.
# BUILD/repeat keeps the output of every run with a failure. Fails when any run did.
set -eu
build=${1:?usage: repeat.sh BUILD [RUNS [JOBS [LOAD [CTEST_OPTION...]]]]} runs=${2:-20} jobs=${3:-2} load=${4:-0}
shift $(($# < 4 ? $# : 4))
logs=$build/repeat
rm -rf "$logs"
mkdir -p "$logs"

busy=
end_load() {
  # shellcheck disable=SC2086
  [ -z "$busy" ] || kill $busy 2>/dev/null || true
  busy=
}
trap end_load EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

i=0
while [ $i -lt "$load" ]; do
  (trap - EXIT; while :; do :; done) &
  busy="$busy $!"
  i=$((i + 1))
done

run=1 bad=0
while [ $run -le "$runs" ]; do
  log=$logs/$run.log
  began=$(date +%s)
  # a run that is interrupted ends the script; a test that fails does not
  ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error "$@" >"$log" 2>&1 </dev/null && code=0 || code=$?
  [ $code -lt 128 ] || exit $code
  seconds=$(($(date +%s) - began))
  # "99% tests passed, 2 tests failed out of 230", then the failures as "	 12 - cli/run (Timeout)"
  awk -v head="run $run of $runs (-j$jobs, load $load):" -v seconds=$seconds '
    / tests failed out of / { failed = $4; all = $NF }
    /^The following tests FAILED:/ { list = 1; next }
    list && /^[[:space:]]+[0-9]+ - / { names = names " " $3 ($4 == "(Failed)" ? "" : " " $4) }
    END {
      if (all == "") print head, "ctest failed"
      else printf "%s %d passed, %d failed, %d s%s%s\n", head, all - failed, failed, seconds, (failed == 0 ? "" : ":"), names
    }' "$log"
  if [ $code -ne 0 ]; then
    bad=$((bad + 1))
  else
    rm "$log"
  fi
  run=$((run + 1))
done
echo "$((runs - bad)) of $runs runs without a failure"
[ $bad -eq 0 ] || { echo "the output of the others is in $logs"; exit 1; }
