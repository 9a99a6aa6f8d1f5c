# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Failures as exceptions, warnings, log records; interrupts; misuse that must not crash."""

import gc
import logging
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import couplet


def test_unknown_names(tank):
    calls = [
        lambda: couplet.simulate(tank, set={"kk": 1}),
        lambda: couplet.simulate(tank, record=["kk"]),
        lambda: couplet.simulate(tank, input={"kk": ([0, 1], [0, 1])}),
        lambda: couplet.open(tank)["kk"],
        lambda: couplet.open(tank).__setitem__("kk", 1),
        lambda: couplet.open(tank).reader(["x", "kk"]),
    ]
    for call in calls:
        with pytest.raises(KeyError) as caught:
            call()
        error = caught.value
        assert isinstance(error, couplet.Error) and isinstance(error, couplet.InputError)
        assert error.name == "kk" and error.nearest[0] == "k"
        assert "kk" in str(error) and not str(error).startswith(("'", '"'))
    with pytest.raises(KeyError) as caught:
        couplet.simulate(tank, input=np.array([(0.0, 1.0)], dtype=[("time", float), ("w", float)]))
    assert caught.value.name == "w"
    with pytest.raises(KeyError) as caught:
        couplet.simulate(tank)["hihg"]
    assert caught.value.name == "hihg" and caught.value.nearest == ("high",)


def test_places(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("couplet: 1\nmodels:\n  b: { d: b.c }\n")
    with pytest.raises(couplet.InputError) as caught:
        couplet.simulate(path)
    error = caught.value
    assert (error.file, error.line, error.column) == (str(path), 3, 8)
    assert str(error).endswith(error.message) and error.time is None and error.result is None
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error) and str(back) == str(error) and back.line == 3
    with pytest.raises(couplet.Error):
        couplet.simulate(tmp_path / "missing.fmu")
    with pytest.raises(couplet.Error):
        couplet.simulate(tmp_path / "no.ending")


def test_failure_midway(tank):
    with pytest.raises(couplet.ModelError, match="the inflow is negative") as caught:
        couplet.simulate(tank, input={"u": ([0, 2, 4], [1, 0, -1])})
    error = caught.value
    assert error.component == "tank" and 1.9 < error.time < 2.2
    assert 1.5 < error.result.time[-1] <= error.time
    np.testing.assert_allclose(error.result["x"][0], 2)
    with couplet.open(tank) as run:
        run.step(1)
        run["u"] = -1
        with pytest.raises(couplet.ModelError) as caught:
            run.step(1)
        assert caught.value.result.time[-1] == 1
        with pytest.raises(couplet.InputError, match="failed before"):
            run.step(1)
        assert len(run.result.time) >= 2


def test_crash(slow):
    with pytest.raises(couplet.ModelError, match="SIGSEGV") as caught:
        couplet.simulate(slow, set={"crashes": 0.5})
    assert caught.value.result.time[-1] < 1
    with pytest.raises(couplet.ModelError, match="SIGSEGV"):
        couplet.simulate(slow, set={"crashes": 0.5}, isolate=True)
    assert couplet.simulate(slow).time[-1] == 1


def test_timeout(slow):
    began = time.monotonic()
    with pytest.raises(couplet.ModelError):
        couplet.simulate(slow, set={"hangs": 0.5}, call_timeout=0.3)
    assert time.monotonic() - began < 20


def test_functions_that_fail(tank):
    def broken(t):
        if t > 1:
            raise LookupError("no value")
        return 0.5

    with pytest.raises(LookupError, match="no value") as caught:
        couplet.simulate(tank, input={"u": broken})
    assert 0 < caught.value.result.time[-1] < 4
    names = []
    trace = caught.value.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "broken" in names
    with pytest.raises(couplet.Error):
        couplet.simulate(tank, input={"u": lambda t: math.nan if t > 1 else 0.5})
    with pytest.raises(TypeError):
        couplet.simulate(tank, input={"u": lambda t: "text"})
    with pytest.raises(TypeError):
        couplet.simulate(tank, input={"u": lambda: 1})

    def stop(t, h):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        couplet.simulate(tank, stop=1e4, interval=1, progress=stop, step=1e-3)


def test_wrong_arguments(tank, tmp_path):
    for wrong in (
        {"stop": -1},
        {"interval": 0},
        {"solver": "cvodes"},
        {"as_": "mm"},
        {"form": "dea"},
        {"set": {"k": "many"}},
        {"set": {"k": "1 kg"}},
        {"input": {"u": ([0, 1], [1])}},
        {"input": {"u": ([[0, 1]], [[1, 2]])}},
        {"input": {"u": ([1, 0], [1, 2])}},
        {"input": {"u": ([], [])}},
        {"input": np.array([(0.0,)], dtype=[("u", float)])},
        {"threads": -1},
    ):
        with pytest.raises(ValueError):
            couplet.simulate(tank, **wrong)
    for wrong in ({"stop": "now"}, {"input": 3}, {"record": [1]}, {"set": {1: 2}}, {"solver": 7}):
        with pytest.raises((TypeError, ValueError)):
            couplet.simulate(tank, **wrong)
    with pytest.raises(couplet.InputError, match="cvode"):
        couplet.simulate(tank, solver="cvodes")
    with pytest.raises(ValueError):
        couplet.simulate("a\0b.c")
    with pytest.raises(TypeError):
        couplet.simulate(None)
    with pytest.raises(couplet.Error):
        couplet.build(tmp_path / "missing.c")
    with pytest.raises(TypeError):
        couplet.simulate(tank, no_such_keyword=1)
    with pytest.raises(TypeError):
        couplet.Run()
    with pytest.raises(TypeError):
        couplet.Snapshot(3)
    r = couplet.simulate(tank)
    with pytest.raises(couplet.Error):
        r.save(tmp_path / "missing" / "r.csv")


def test_large_integers(root):
    with couplet.open(root / "examples" / "types" / "types.c") as run:
        integers = [n for n in run.names if isinstance(run[n], int) and not isinstance(run[n], bool)]
        assert integers


def test_warnings(tmp_path):
    (tmp_path / "nan.c").write_text(
        """#include <couplet/model.h>
#include <math.h>
static int outputs(const cpl_values* v, double* y) { y[0] = v->t > 0.5 ? (double)NAN : 1; return CPL_MODEL_OK; }
static const cpl_declaration list[] = {{"y"}, {0}};
const cpl_model_def couplet_model = {.name = "nan", .outputs = list, .output_values = outputs};
"""
    )
    with pytest.warns(couplet.Warning, match="y") as caught:
        couplet.simulate(tmp_path / "nan.c")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", couplet.Warning)
        with pytest.raises(couplet.Warning):
            couplet.simulate(tmp_path / "nan.c")


def test_logging(tank, caplog):
    with caplog.at_level(logging.DEBUG, logger="couplet"):
        couplet.simulate(tank, stop=1, input={"u": ([0, 1], [0, 2])})
    assert any(r.name == "couplet" for r in caplog.records)


#------------------------------------ interrupts ------------------------------------


def interrupt_soon():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()


def interrupt_at_first(seen):
    """A function for progress that interrupts the run, which goes on for long."""

    def progress(t, h):
        if not seen:
            interrupt_soon()
        seen.append(t)

    return progress


def test_interrupt(slow):
    seen = []
    with pytest.raises(KeyboardInterrupt) as caught:
        couplet.simulate(
            slow, stop=1000, step=0.01, set={"pause": 0.001}, progress=interrupt_at_first(seen)
        )
    assert caught.value.result.time[0] == 0 and caught.value.result.time[-1] < 1000
    assert couplet.simulate(slow, stop=1).time[-1] == 1


def test_interrupt_of_a_step(slow):
    with couplet.open(slow, step=0.01, set={"pause": 0.001}) as run:
        run.step(0.1)
        with pytest.raises(KeyboardInterrupt) as caught:
            interrupt_soon()
            run.step(1000)
        assert caught.value.result.time[-1] >= 0.1


def test_handlers_of_the_program(slow):
    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop

    before = signal.signal(signal.SIGINT, handler)
    try:
        with couplet.open(slow, step=0.01, set={"pause": 0.001}) as run:
            with pytest.raises(Stop) as caught:
                interrupt_soon()
                run.advance(1000)
            assert caught.value.result.time[-1] < 1000
    finally:
        signal.signal(signal.SIGINT, before)


HANGS = """
import couplet, signal, sys
run = couplet.open(sys.argv[1], set={"hangs": 0.5})
run.start()
result = None
while result is None:  # the first signal may come before the call
    try:
        print("begins", flush=True)
        run.advance(1)
    except (KeyboardInterrupt, couplet.Error) as error:
        result = getattr(error, "result", None)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("left", result.time[-1] <= 1, flush=True)
"""


def test_interrupt_of_a_hanging_model(slow):
    words = [sys.executable, "-c", HANGS, str(slow)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(0.2)
    for patience in (1.5, 20, 20, 20):  # a second after the first, the model is left
        child.send_signal(signal.SIGINT)
        try:
            child.wait(patience)
            break
        except subprocess.TimeoutExpired:
            pass
    child.kill()
    assert child.stdout.read().endswith("left True\n")


#------------------------------------ threads ------------------------------------


def test_threads(tank):
    results, failures = {}, []

    def work(k):
        try:
            for _ in range(5):
                results[k] = couplet.simulate(tank, set={"k": k})
        except Exception as error:  # pragma: no cover
            failures.append(error)

    threads = [threading.Thread(target=work, args=(0.1 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(results) == 8
    for k, r in results.items():
        np.testing.assert_allclose(r["x"], 2 * np.exp(-k * r.time), rtol=1e-6)


def test_lock_is_released(slow):
    ticks = []
    worker = threading.Thread(
        target=couplet.simulate, args=(slow,), kwargs={"set": {"pause": 0.01}, "step": 0.05}
    )
    worker.start()
    while worker.is_alive():
        ticks.append(time.monotonic())
        time.sleep(0.005)
    assert len(ticks) > 2


def test_one_thread_at_a_time(tank):
    entered, leave = threading.Event(), threading.Event()

    def inflow(t):
        entered.set()
        leave.wait()
        return 1.0

    run = couplet.open(tank, input={"u": inflow})
    worker = threading.Thread(target=run.advance, args=(1,))
    worker.start()
    entered.wait()
    for use in (lambda: run.step(1), lambda: run["x"], run.save, run.close, lambda: run.result):
        with pytest.raises(RuntimeError, match="in use"):
            use()
    leave.set()
    worker.join()
    assert run["x"] == pytest.approx(2)
    run.close()


def test_calls_inside_of_a_call(tank):
    runs = []

    def inflow(t):
        with pytest.raises(RuntimeError, match="in use"):
            runs[0].step(1)
        return couplet.simulate(tank, stop=0.1)["x"][0] / 4  # another run is no problem

    runs.append(couplet.open(tank, input={"u": inflow}))
    runs[0].advance(0.01)
    assert runs[0]["x"] == pytest.approx(1 + math.exp(-0.005), rel=1e-6)


#------------------------------------ misuse ------------------------------------


def test_after_close(tank):
    run = couplet.open(tank)
    run.step(1)
    reader, writer, snapshot = run.reader(["x"]), run.writer(["u"]), run.save()
    values = reader.values
    run.close()
    run.close()
    uses = [
        lambda: run.step(1),
        lambda: run.advance(2),
        lambda: run["x"],
        lambda: run.__setitem__("u", 1),
        lambda: run.reader(["x"]),
        lambda: run.time,
        lambda: run.names,
        run.save,
        run.start,
        run.finish,
        reader.read,
        lambda: reader.names,
        lambda: writer.write([1]),
        lambda: run.restore(snapshot),
        run.linearize,
    ]
    for use in uses:
        with pytest.raises(ValueError, match="closed"):
            use()
    assert values.shape == (1,) and snapshot.time == 1 and run.closed and "closed" in repr(run)
    assert len(run.result.time) == 2
    del run, reader, snapshot
    gc.collect()
    assert values[0] == values[0]


def test_any_order_of_garbage(tank):
    import random

    for seed in range(8):
        run = couplet.open(tank)
        run.step(0.5)
        objects = [run, run.reader(["x"]), run.writer(["u"]), run.save(), run.result, run.save()]
        objects.append(objects[1].values)
        objects.append(objects[4]["x"])
        del run
        random.Random(seed).shuffle(objects)
        while objects:
            objects.pop()
            gc.collect()


def test_cycles_are_collected(tank):
    class Holder:
        run = None

        def inflow(self, t):
            return 0.0

    holder = Holder()
    holder.run = couplet.open(tank, input={"u": holder.inflow})
    holder.run.step(1)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_pickling(tank):
    with couplet.open(tank) as run:
        with pytest.raises(TypeError):
            pickle.dumps(run)
        snapshot = run.save()
        with pytest.raises(TypeError):
            pickle.dumps(snapshot)


def in_child(run, reader, snapshot, queue):
    answers = []
    for use in (lambda: run.step(1), lambda: run["x"], reader.read, lambda: run.restore(snapshot), run.close):
        try:
            use()
            answers.append("done")
        except RuntimeError as error:
            answers.append("parent" if "parent" in str(error) else str(error))
    answers.append(float(couplet.simulate(run._model)["x"][-1]))
    queue.put(answers)


def test_fork(tank):
    context = multiprocessing.get_context("fork")
    run = couplet.open(tank)
    run.step(1)
    reader, snapshot = run.reader(["x"]), run.save()
    queue = context.Queue()
    child = context.Process(target=in_child, args=(run, reader, snapshot, queue))
    child.start()
    answers = queue.get(timeout=60)
    child.join()
    assert child.exitcode == 0
    assert answers[:5] == ["parent"] * 5
    assert answers[5] == pytest.approx(2 * math.exp(-2), rel=1e-6)
    run.step(1)  # the parent's run still works
    assert run["x"] == pytest.approx(2 * math.exp(-1), rel=1e-6)


def final_value(arguments):
    path, k = arguments
    return couplet.simulate(path, set={"k": k}, stop=1)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pool(method, tank):
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map(final_value, [(str(tank), 0.1 * i) for i in range(6)])
    for i, r in enumerate(results):
        assert r["x"][-1] == pytest.approx(2 * math.exp(-0.1 * i), rel=1e-6)


def test_import_needs_no_numpy(python):
    done = python("import sys, couplet; print('numpy' in sys.modules, couplet.__version__)")
    assert done.stdout.split() == ["False", couplet.__version__], done.stderr


def test_end_of_the_program(python, tank):
    text = "import couplet, sys; run = couplet.open(sys.argv[1]); run.step(1); r = run.reader(['x']); s = run.save()"
    done = python(text, tank)
    assert done.returncode == 0 and done.stderr == ""
