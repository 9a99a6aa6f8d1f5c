#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Interrupts every example at random times, and kills the command at random moments.

resume.py BUILD [POINTS [KILLS]]

First the tests of exact checkpoints (tests/examples) with POINTS (100) points for each system and each way to run it: all bits of the rows
of the run that writes checkpoints, and of those that resume from them, are compared with those of a run without. Then the command, with
each example: it is killed KILLS (10) times with SIGKILL at random moments, resumes after each, and its file is compared with that of an
uninterrupted run, CSV and MAT.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = ("examples_checkpoints", "examples_exact", "examples_exact_ways")
SKIPPED = ("race_car_fmu.yaml",)  # its FMUs are made by a test


def points(build, n, folder):
    table = folder / "table.md"
    environment = dict(os.environ, COUPLET=str(build / "couplet"), COUPLET_SOURCE_DIR=str(ROOT), CHECKPOINT_POINTS=str(n),
                       CHECKPOINT_TABLE=str(table))
    for test in TESTS:
        work = folder / test
        work.mkdir()
        subprocess.run([build / "tests" / f"test_{test}"], cwd=work, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(work)
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in table.read_text().splitlines()]
    wrong = [row for row in rows if row[-1] != "same bytes"]
    for row in wrong:
        print(f"{row[0]}: {row[-1]}")
    print(f"{len(rows)} systems and ways to run them, {sum(int(row[2]) for row in rows)} interruptions: {len(wrong)} differ", flush=True)
    return not wrong


def systems(folder, couplet):
    """Copies of the examples, with the FMUs that they need beside them."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    found = []
    for example in sorted((folder / "examples").iterdir()):
        if any(example.glob("*fmu*.yaml")) or any(example.glob("mixed.yaml")):
            for model in example.glob("*.c"):
                subprocess.run([couplet, "build", "-q", model.name, "-o", model.stem + ".fmu"], cwd=example, check=False)
        found += [path for path in sorted(example.glob("*.yaml")) if path.name not in SKIPPED]
    return found


def killed(couplet, system, ending, kills, chance):
    """Whether the bytes are those of a run that was not interrupted, and how often it was."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=system.parent))
    whole, cut = folder / f"whole.{ending}", folder / f"cut.{ending}"
    begin = time.monotonic()
    plain = subprocess.run([couplet, "run", system, "-q", "-o", whole], capture_output=True, check=False)
    longest = max(time.monotonic() - begin, 0.05)
    if not whole.exists():
        return None, 0
    states, n = [], 0
    for i in range(kills + 1):
        state = folder / f"{i}.state"
        words = [couplet, "run", system, "-q", "-o", cut, "--checkpoint", state, "--every", "0.001"]
        if states:
            words += ["--resume", states[-1]]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if i < kills:
            time.sleep(chance.random() * 1.2 * longest)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                n += 1
        process.wait()
        if state.exists():
            states.append(state)
        if process.returncode != -signal.SIGKILL and i < kills:
            states.clear()  # it was done: begin again
    same = process.returncode == plain.returncode and whole.read_bytes() == cut.read_bytes()
    shutil.rmtree(folder)
    return same, n


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    chance = random.Random(1)
    fine = True
    with tempfile.TemporaryDirectory(prefix="couplet-resume-") as name:
        folder = pathlib.Path(name)
        if n > 0:
            fine = points(build, n, folder)
        total = count = 0
        for system in systems(folder, build / "couplet") if kills > 0 else ():
            for ending in ("csv", "mat"):
                same, done = killed(build / "couplet", system, ending, kills, chance)
                if same is None:
                    continue
                total, count = total + done, count + 1
                if not same:
                    print(f"{system.relative_to(folder)}: {ending}: other bytes after it was killed {done} times")
                    fine = False
        print(f"{count} files of results, {total} runs killed")
    sys.exit(0 if fine else 1)


main()
