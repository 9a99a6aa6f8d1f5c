#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""soak.py BUILD [SECONDS]: runs that do not end, side by side: events, switches of modes, isolated
calls, parts that are joined by sockets with observers and strangers at the door, a live page with
readers. Memory, descriptors and threads of every process have to stay what they were.

The first half fills what is filled once (the rows of the live page, caches); in the second half
nothing may grow. BUILD/soak has what the runs printed and every sample (samples.csv).
"""
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
GROWTH = 256  # [KB] of resident memory that may come late: a page touched for the first time

LINE = """
#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration parameters[] = {{"v", .start = 1, .tunable = true}, {0}};
static int move(const cpl_values* v, double* dx) {
  dx[0] = v->p[0];
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {
    .name = "line", .states = states, .parameters = parameters, .derivatives = move};
"""
EVENTS = """
couplet: 1
models: {a: {c: line.c}, b: {c: line.c, start: {v: 1.5}}}
events:
  a_up: {when: a.x < 0, set: {a.v: 1}}
  a_down: {when: a.x > 1, set: {a.v: -1}}
  b_down: {when: b.x > 1, set: {b.v: -1.5}}
  b_up: {when: b.x < a.x - 1, set: {b.v: 1.5}}
experiment: {stop: 1e8, interval: 0.5}
"""
MODES = """
couplet: 1
modes:
  start: up
  up:
    models: {m: {c: line.c}}
    leave: [{when: m.x > 1, to: down, set: {m.x: m.x}}]
  down:
    models: {m: {c: line.c, start: {v: -1}}}
    leave: [{when: m.x < 0, to: up, set: {m.x: m.x}}]
observe: {x: m.x}
experiment: {stop: 1e8, interval: 0.5}
"""
LINES = """
couplet: 1
models: {left: {c: mass.c, start: {v: 1}}, right: {c: mass.c}}
interfaces:
  left.end: {kind: translational, position: x, speed: v, force: F}
  right.end: {kind: translational, position: x, speed: v, force: F}
tlm: [{from: left.end, to: right.end, delay: 1e-2, Zf: 10}]
experiment: {stop: 1e8, interval: 0.1}
"""
# simulated seconds in one of the clock: some thousand events and messages a second in all
RUNS = {
    "events": ["run", "events.yaml", "--real-time", "400", "-o", "-"],
    "modes": ["run", "modes.yaml", "--real-time", "200", "-o", "-"],
    "isolated": ["run", "events.yaml", "--isolate", "--real-time", "100", "-o", "-"],
    "isolated modes": ["run", "modes.yaml", "--isolate", "--real-time", "50", "-o", "-"],
    "live": ["run", "events.yaml", "--live", "--real-time", "20", "-o", "live.csv"],
    "tlm": ["tlm", "serve", "lines.yaml", "--local", "--join-folder", "keys", "--force", "--real-time", "4", "-o", "-"],
}


class Soak:
    def __init__(self, build, seconds):
        self.couplet, self.seconds = build / "couplet", seconds
        self.folder = build / "soak"
        self.over = threading.Event()
        self.runs, self.samples, self.faults, self.counts = {}, {}, [], {}

    def prepare(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name, text in {"line.c": LINE, "events.yaml": EVENTS, "modes.yaml": MODES, "lines.yaml": LINES}.items():
            (self.folder / name).write_text(text.lstrip())
        shutil.copy(ROOT / "examples/tlm_spring/mass.c", self.folder)

    def log_of(self, name):
        return self.folder / (name.replace(" ", "_") + ".log")

    def start(self):
        for name, arguments in RUNS.items():
            with open(self.log_of(name), "w", encoding="utf-8") as log:
                self.runs[name] = subprocess.Popen([self.couplet, *arguments], cwd=self.folder, stderr=log,
                                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    # ------------------------------------ who comes and goes ------------------------------------

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def repeat(self, function, what, pause):
        while not self.over.wait(pause * random.uniform(0.5, 1.5)):
            try:
                function()
                self.count(what)
            except (OSError, ValueError, IndexError) as error:  # a full house refuses some
                self.count(f"{what} failed: {type(error).__name__}")

    def live_url(self):
        text = self.log_of("live").read_text(encoding="utf-8")
        return text.split("live: ", 1)[1].split()[0]

    def read_page(self):
        url = self.live_url()
        with urllib.request.urlopen(url, timeout=10) as answer:
            answer.read()
        at = 0
        for _ in range(5):
            with urllib.request.urlopen(f"{url}points?epoch=0&from={at}", timeout=10) as answer:
                head = struct.unpack("11d", answer.read()[:88])
                at = int(head[1] + head[2])

    def leave_page_early(self):
        host, port = self.live_url().split("/")[2].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as s:
            s.sendall(random.choice([b"", b"GET /", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(600)]))

    def knock(self):
        text = (self.folder / "keys/left.join").read_text(encoding="utf-8")
        host, port = text.split("tcp://", 1)[1].split()[0].strip('"').rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as s:
            s.sendall(random.choice([b"", os.urandom(500), b"\xff\0\0\0\0\0\0\0\1\x7f\3\1CURVE"]))

    def observe(self):
        with subprocess.Popen([self.couplet, "tlm", "watch", "--key-file", "keys/observer.join"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watch:
            self.over.wait(2)
            watch.send_signal(random.choice([signal.SIGTERM, signal.SIGKILL]))

    # ------------------------------------ what is measured ------------------------------------

    def tree(self, pid):
        yield pid
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as f:
                    for child in f.read().split():
                        yield from self.tree(int(child))
        except OSError:
            return

    def sample(self, t):
        for name, process in self.runs.items():
            if process.poll() is not None and name not in self.faults:
                self.faults.append(name)
                print(f"{name}: it ended after {t:.0f} s with {process.returncode}", flush=True)
            for i, pid in enumerate(self.tree(process.pid) if process.poll() is None else ()):
                try:
                    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8"))
                    row = (t, int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"]))
                except (OSError, KeyError):
                    continue  # it ended just now
                self.samples.setdefault((name, i, pid), []).append(row)

    def check(self):
        """The second half may need no more than the quarter before it."""
        fine = not self.faults
        print(f"{'':24} {'memory [KB]':>20} {'descriptors':>14} {'threads':>10}")
        for (name, i, _), rows in self.samples.items():
            before = [r for r in rows if self.seconds / 4 <= r[0] < self.seconds / 2]
            after = [r for r in rows if r[0] >= self.seconds / 2]
            if not before or not after:
                continue
            most = [(max(r[k] for r in before), max(r[k] for r in after)) for k in (1, 2, 3)]
            # a connection that comes or goes when the sample is taken counts for a moment
            room = [GROWTH, 20 if name in ("live", "tlm") and i == 0 else 0, 0]
            grown = any(late > early + more for (early, late), more in zip(most, room))
            fine = fine and not grown
            cells = [f"{early} -> {late}" for early, late in most]
            print(f"{name + (f', process {i + 1}' if i else ''):24} {cells[0]:>20} {cells[1]:>14} {cells[2]:>10}"
                  + ("   GROWN" if grown else ""))
        if {name for name, *_ in self.samples} != set(RUNS):
            print("not every run was measured")
            fine = False
        return fine

    def end(self):
        fine = True
        for name, process in self.runs.items():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                code = "nothing: SIGTERM did not end it"
            if code != 1 or "interrupted at" not in self.log_of(name).read_text(encoding="utf-8"):
                print(f"{name}: it ended with {code}, not with one word about SIGTERM: {self.log_of(name)}")
                fine = False
        return fine

    def write(self):
        with open(self.folder / "samples.csv", "w", encoding="utf-8") as f:
            f.write("run,process,pid,time,rss_kb,descriptors,threads\n")
            for (name, i, pid), rows in self.samples.items():
                f.writelines(f"{name},{i},{pid},{t:.0f},{a},{b},{c}\n" for t, a, b, c in rows)

    def run(self):
        self.prepare()
        self.start()
        time.sleep(5)
        visitors = [(self.read_page, "pages read", 0.5), (self.read_page, "pages read", 0.5),
                    (self.leave_page_early, "pages left", 0.2), (self.knock, "strangers", 0.2),
                    (self.observe, "observers", 1)]
        threads = [threading.Thread(target=self.repeat, args=v) for v in visitors]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        try:
            while (t := time.monotonic() - began) < self.seconds and not self.faults:
                self.sample(t)
                time.sleep(max(0.2, min(5, self.seconds / 100)))
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
            ended = self.end()
            self.write()
        print(f"{t:.0f} s; " + ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items())))
        fine = self.check()
        return fine and ended


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(0 if Soak(pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2] if len(sys.argv) > 2 else 3600)).run() else 1)
