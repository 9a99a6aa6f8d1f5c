# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Part of bench/run.py: messages to other ranks of mpirun, where couplet was built with MPI.
import json
import os
import re
import shutil
import subprocess


def measure_ranks(bench):
    """What a message to another rank and back costs, and in rank 0 each call in it, on this machine."""
    if shutil.which("mpirun") is None or not os.path.exists(os.path.join(bench.build, "lib", "couplet", "mpi.so")):
        return
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    shutil.copy(os.path.join(bench.models, "oscillator2.c"), bench.folder)

    def seconds(n, stop, ranks):
        with open(bench.path("ranks.yaml"), "w", encoding="utf-8") as out:
            out.write("couplet: 1\nmodels:\n")
            out.writelines(f"  m{i:05d}: {{c: oscillator2.c}}\n" for i in range(n))
        command = [bench.couplet, "run", bench.path("ranks.yaml"), "--solver", "euler", "--step", "1e-3", "--interval", str(stop),
                   "--stop", str(stop), "--threads", "1", "--one-solver", "--log-level", "info", "--json", "-o", bench.path("x.csv")]
        if ranks > 1:
            command = ["mpirun", "--oversubscribe", "-n", str(ranks)] + command
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
        sent = re.search(r"ranks: (\d+) calls of models in other ranks, by (\d+) messages", done.stderr)
        return json.loads(done.stdout)["wall_s"], [int(x) for x in sent.groups()] if sent else [0, 0]

    for n, stop, what in ((2, 5, "a message to a rank and back"), (1000, 0.2, "each of 500 calls in a message")):
        alone = min(seconds(n, stop, 1)[0] for _ in range(3))
        runs = [seconds(n, stop, 2) for _ in range(3)]
        spread = min(r[0] for r in runs)
        calls, messages = runs[0][1]
        bench.report(f"ranks: {what}", 1e6 * (spread - alone) / (messages if n == 2 else calls),
                    f"us ({calls} calls, {messages} messages)", 20 if n == 2 else 2)
