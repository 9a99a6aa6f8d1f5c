#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""valgrind.py BUILD [JOBS [NAME...]]: the test programs of BUILD (made with CPL_VALGRIND), and the couplet they start, under
valgrind's memcheck. Fails on any finding that tests/valgrind.supp does not name.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# --vgdb=no: its pipes would be left in the temporary folder, which tests find empty
VALGRIND = ["valgrind", "-q", "--vgdb=no", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect",
            "--show-leak-kinds=definite,indirect", "--error-exitcode=99", "--trace-children=yes",
            "--trace-children-skip=/usr/*,/bin/*",
            f"--suppressions={ROOT / 'tests/valgrind.supp'}"]
# A child that a test lets die leaks what it had, and its exit code is the test's business; these are not.
FINDING = re.compile(r"^==\d+== (Invalid|Conditional|Use of|Mismatched|Syscall|Source and)", re.M)

# They start the command hundreds of times, or let it crash, or leave calls on purpose, which loses memory; crosscheck starts
# the program that /proc/self/exe is, which is valgrind. The sanitizers see the same code.
LEFT_OUT = {"cli/bad_fmu", "cli/c_model", "cli/crosscheck", "cli/ends", "cli/fault", "cli/interrupt"}


def run(test):
    properties = {p["name"]: p["value"] for p in test["properties"]}
    environment = dict(os.environ)
    environment.update(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
    began = time.monotonic()
    try:
        *prefix, program = test["command"]  # tests/in_own_folder.sh before the program
        done = subprocess.run([*prefix, *VALGRIND, program], cwd=properties["WORKING_DIRECTORY"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1500, errors="replace")
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        code, output = "time limit", str(expired.stdout)
    return test["name"], code, output, time.monotonic() - began


def main():
    build, jobs, names = sys.argv[1], int((sys.argv[2:] or ["2"])[0]), sys.argv[3:]
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing; scripts/setup --dev installs it")
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                             stdout=subprocess.PIPE).stdout
    tests = [t for t in json.loads(listing)["tests"]
             if re.fullmatch(r"test_\w+", os.path.basename(t.get("command", [""])[-1]))  # not those in Python
             and (t["name"] in names if names else t["name"] not in LEFT_OUT)]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, code, output, seconds in pool.map(run, tests):
            found = code != 0 or FINDING.search(output) is not None
            print(f"{'FAILED' if found else 'passed'}  {name}  {seconds:.1f} s", flush=True)
            if found:
                bad += 1
                print(output[-8000:])
    print(f"{len(tests) - bad} of {len(tests)} test programs run without a finding")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
