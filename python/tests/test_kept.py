# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Unpacked FMUs that are kept between runs: every run is as the first one, and nothing remains."""

import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import couplet as cp

SETTLED = 2.1  # seconds after which a file is old enough to be kept

# Counts the times that it was started in the data of the library, and in a file beside the library.
MODEL = """
#define _GNU_SOURCE
#include <couplet/model.h>
#include <dlfcn.h>
#include <stdio.h>
static int starts;
static const cpl_declaration discrete[] = {{"in_memory", .output = true}, {"in_file", .output = true},
                                           {0}};
static int initialize(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->w[0] = FACTOR * ++starts;
  a->w[1] = 1;
  if (WRITES) {
    char path[4096];
    Dl_info info;
    dladdr(&starts, &info);
    snprintf(path, sizeof path, "%s.count", info.dli_fname);
    FILE* file = fopen(path, "a");
    fputc('x', file);
    a->w[1] = (double)ftell(file);
    fclose(file);
  }
  return CPL_MODEL_OK;
}
const cpl_model_def couplet_model = {.name = "counter", .discrete = discrete, .initialize = initialize};
"""


def build(folder, name, factor=1, writes=0):
    source = folder / f"{name}.c"
    source.write_text(f"#define FACTOR {factor}\n#define WRITES {writes}\n" + MODEL)
    return pathlib.Path(cp.build(source, folder / f"{name}.fmu", fmi=2))


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmus")
    paths = {"plain": build(folder, "plain"), "writer": build(folder, "writer", writes=1),
             "other": build(folder, "other", factor=7)}
    time.sleep(SETTLED)
    return paths


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where FMUs are unpacked."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def unpacked(folder):
    """The descriptions of the FMUs in it, with their folders."""
    return sorted(folder.glob("couplet-run-*/*/modelDescription.xml"))


def counts(fmu, **more):
    result = cp.simulate(fmu, stop=1, **more)
    return result["in_memory"][-1], result["in_file"][-1]


def test_data_of_the_library_begin_anew(fmus, temporary):
    for kind in ("me", "cs", "me", "me"):
        assert counts(fmus["plain"], as_=kind) == (1, 1)
    kept = unpacked(temporary)
    assert len(kept) == 1
    before = kept[0].stat().st_ctime_ns
    assert counts(fmus["plain"]) == (1, 1)
    assert unpacked(temporary) == kept and kept[0].stat().st_ctime_ns == before  # it was used


def test_changed_files_are_not_used_again(fmus, temporary):
    for _ in range(3):
        assert counts(fmus["writer"]) == (1, 1)


def test_files_that_were_added_are_not_used(fmus, temporary):
    assert counts(fmus["plain"]) == (1, 1)
    folder, = temporary.glob("couplet-run-*/*/binaries/*")
    (folder / "more").write_text("")
    assert counts(fmus["plain"]) == (1, 1)
    assert not list(temporary.rglob("more"))


def test_runs_at_once_have_folders_of_their_own(fmus, temporary):
    runs = [cp.open(fmus["plain"]) for _ in range(3)]
    assert len(unpacked(temporary)) == 3
    for run in runs:
        run.step(1.0)
        assert run["in_memory"] == 1
        run.close()
    found = []
    threads = [threading.Thread(target=lambda: found.append(counts(fmus["plain"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(1, 1)] * 4


def test_a_new_file_is_unpacked(fmus, tmp_path, temporary):
    path = tmp_path / "model.fmu"
    path.write_bytes(fmus["plain"].read_bytes())
    time.sleep(SETTLED)
    assert counts(path) == counts(path) == (1, 1)
    other = fmus["other"].read_bytes()
    path.write_bytes(other)
    assert counts(path) == counts(path) == (7, 1)
    times = path.stat()
    path.write_bytes(fmus["plain"].read_bytes())
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert counts(path) == (1, 1)


def test_removed_folders_are_made_again(fmus, temporary):
    assert counts(fmus["plain"]) == (1, 1)
    for path in unpacked(temporary):
        path.unlink()
    assert counts(fmus["plain"]) == (1, 1)


CODE = """
import glob, os, sys
import couplet as cp
for _ in range(3):
    assert cp.simulate(sys.argv[1], stop=1)["in_memory"][-1] == 1
assert len(glob.glob(os.environ["TMPDIR"] + "/couplet-run-*/*/binaries")) == 1
"""


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise KeyError", "os.kill(os.getpid(), 9)"])
def test_nothing_is_left_at_the_end(fmus, temporary, end):
    command = [sys.executable, "-c", CODE + end, str(fmus["plain"])]
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(cp.__file__))}
    subprocess.run(command, env=environment, stderr=subprocess.DEVNULL)
    if "kill" in end:  # the next run removes it
        assert len(list(temporary.iterdir())) == 1
        subprocess.run(command[:2] + [CODE] + command[3:], env=environment, check=True)
    assert list(temporary.iterdir()) == []


def _count(path):
    return counts(path), counts(path)


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_leave_nothing(fmus, temporary, method):
    assert counts(fmus["plain"]) == (1, 1)
    kept = unpacked(temporary)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_count, [fmus["plain"]] * 4) == [((1, 1), (1, 1))] * 4
        pool.close()
        pool.join()
    assert unpacked(temporary) == kept
    assert counts(fmus["plain"]) == (1, 1)
    assert unpacked(temporary) == kept
