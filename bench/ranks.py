# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Part of bench/run.py: messages to other ranks of mpirun, where couplet was built with MPI.
# `python3 bench/ranks.py C S R`: the table of docs/clusters.md for these times in microseconds.
import json
import math
import os
import re
import shutil
import subprocess
import sys

# A rank that tells its processor time. Both are on the same processor, so that one gives it away instead of waiting.
RANK = """
import os, resource, subprocess, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
done = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
    print("processor", used.ru_utime + used.ru_stime, file=sys.stderr)
sys.exit(done.returncode)
"""


def measure_ranks(bench):
    """What a message to another rank and back costs, and each call in it in rank 0, on this machine."""
    if shutil.which("mpirun") is None or not os.path.exists(os.path.join(bench.build, "lib", "couplet", "mpi.so")):
        return
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_hwloc_base_binding_policy="none")
    shutil.copy(os.path.join(bench.models, "oscillator2.c"), bench.folder)

    def run(n, stop, start=()):
        with open(bench.path("ranks.yaml"), "w", encoding="utf-8") as out:
            out.write("couplet: 1\nmodels:\n")
            out.writelines(f"  m{i:05d}: {{c: oscillator2.c}}\n" for i in range(n))
        command = [*start, bench.couplet, "run", bench.path("ranks.yaml"), "--solver", "euler", "--step", "1e-3", "--interval", str(stop),
                   "--stop", str(stop), "--threads", "1", "--one-solver", "--log-level", "info", "--json", "-o", bench.path("x.csv")]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)

    def sent(done):
        return [int(x) for x in re.search(r"(\d+) calls of models in other ranks, by (\d+) messages", done.stderr).groups()]

    ranks = ["mpirun", "--oversubscribe", "-n", "2"]
    alone = min(json.loads(run(2, 5).stdout)["wall_s"] for _ in range(3))
    runs = [run(2, 5, ranks) for _ in range(3)]
    spread = min(json.loads(r.stdout)["wall_s"] for r in runs)
    calls, messages = sent(runs[0])
    bench.report("ranks: a message to a rank and back", 1e6 * (spread - alone) / messages, f"us ({messages} messages)", 20)

    # the difference of two lengths: without the start
    rank = ranks + [sys.executable, "-c", RANK]
    ends = []
    for stop in (0.1, 0.5):
        runs = [run(1000, stop, rank) for _ in range(3)]
        ends.append((min(float(re.search(r"processor (\S+)", r.stderr)[1]) for r in runs), sent(runs[0])[0]))
    calls = ends[1][1] - ends[0][1]
    bench.report("ranks: each of 500 calls in a message, processor time of rank 0", 1e6 * (ends[1][0] - ends[0][0]) / calls,
                 f"us ({calls} calls)", 2)


def table(c, s, r):
    """10,000 models of 1 ms; c: a call in rank 0, s: a message there, r: a message to a rank and back [us]."""
    print("| ranks | models | rank 0 | an evaluation | times faster |\n|---|---|---|---|---|")
    for ranks in (100, 400, 1000, 6400):
        models = math.ceil(10000 / ranks)
        rank_0 = (10000 * c + ranks * s) / 1000
        whole = models + rank_0 + r / 1000
        print(f"| {ranks:,} | {models} ms | {rank_0:.0f} ms | {whole:.0f} ms | {10000 / whole:.0f} |")


if __name__ == "__main__":
    table(*(float(x) for x in sys.argv[1:4]))
