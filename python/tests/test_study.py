# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Studies: the numbers and files of the command, closed forms, failures, interruptions, forks."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import couplet as cp

OVER = {"k": "0.5:2:4", "x": [1, 2.5]}
WORDS = ["--over", "k=0.5:2:4", "--over", "x=list:1,2.5"]
MEASURES = {"end": "final(x)", "area": "integral(x)"}


def words_of(measures):
    return [word for name, text in measures.items() for word in ("-m", f"{name}={text}")]


#------------------------------------ the same as the command ------------------------------------


def test_numbers_and_files_are_those_of_the_command(tank, tmp_path, command):
    pandas = pytest.importorskip("pandas")
    study = cp.sweep(tank, OVER, measures=MEASURES, set={"u": 0.1}, output=tmp_path / "python.csv")
    command("sweep", tank, *WORDS, *words_of(MEASURES), "--set", "u=0.1", "-o", tmp_path / "command.csv")
    assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    frame = study.to_pandas()
    expected = pandas.read_csv(tmp_path / "command.csv", keep_default_na=False, float_precision="round_trip")
    assert list(frame.columns) == ["k", "x", "end", "area", "failure"] == list(expected.columns)
    for name in frame.columns:
        assert (frame[name] == expected[name]).all(), name
    k, x = study["k"], study["x"]
    assert study["end"] == pytest.approx(0.1 / k + (x - 0.1 / k) * np.exp(-4 * k), rel=1e-7)
    assert study.units["x"] == "m3" and study.units["area"] == "m3.s" and study.stats["done"] == 8


def test_a_dataset_is_the_file_of_the_command(tank, tmp_path, command):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    measures = {**MEASURES, "a/b": "max(x)", "1st": "min(x)", "time": "events()"}
    # the inflow u = -1 fails
    over = {"k": [0.5, 1], "u": [0.1, -1, 0.2]}
    study = cp.sweep(tank, over, measures=measures, curves=["x", "k"], interval=0.5)
    words = ["--over", "k=0.5,1", "--over", "u=0.1,-1,0.2", *words_of(measures), "--curve", "x", "--curve", "k"]
    command("sweep", tank, *words, "--interval", 0.5, "-o", tmp_path / "s.nc")
    with xarray.open_dataset(tmp_path / "s.nc") as file:
        ours = study.to_xarray()
        xarray.testing.assert_identical(ours, file.load())
        assert set(ours.coords) == set(file.coords) and ours["x"].dims == ("case", "time")
        for name in ours.variables:
            assert ours[name].dtype == file[name].dtype, name
    assert sorted(study.failures) == [1, 4] and "the inflow is negative" in study.failures[1]
    assert np.isnan(study["end"][1]) and np.isnan(study.curves["x"][4]).all()
    assert study.curves["x"][0] == pytest.approx(0.2 + 1.8 * np.exp(-0.5 * study.time), abs=1e-8)


def test_samples_statistics_and_influence_are_those_of_the_command(tank, command):
    study = cp.sweep(tank, {"k": "normal:1:0.1", "x": "uniform:1:2"}, design="sobol", sample=64, seed=7,
                     measures={"y": "final(x)"})
    words = ["--over", "k=normal:1:0.1", "--over", "x=uniform:1:2", "--sobol", "--sample", 64, "--seed", 7]
    done = command("sweep", tank, *words, "-m", "y=final(x)", "--stats", "--json", "-o", "stats.csv")
    expected = json.loads(done.stdout)["measures"]["y"]
    found = study.statistics()["y"]
    for key in ("n", "mean", "deviation", "least", "greatest"):
        assert found[key] == expected[key]
    for key, value in expected["quantiles"].items():
        assert found[key] == value
    assert found["25 %"] == pytest.approx(np.quantile(study["y"], 0.25))
    influence = study.influence("y")
    assert influence.method == "regression" and influence.r_squared == expected["r_squared"]
    assert influence.factors == expected["influence"]
    os.remove("stats.csv")


def test_sobol_indices_and_pickles(tank):
    study = cp.sweep(tank, {"x": "0:2", "k": "0:1e-6"}, design="saltelli", sample=64, measures=["final(x)"])
    indices = study.influence("final(x)").factors
    assert indices["x"]["first"] == pytest.approx(1, abs=0.1) and indices["k"]["total"] == pytest.approx(0, abs=1e-6)
    assert indices["x"]["first_low"] < indices["x"]["first"] < indices["x"]["first_high"]
    copy = pickle.loads(pickle.dumps(study))
    assert copy.influence("final(x)") == study.influence("final(x)")
    assert (copy["final(x)"] == study["final(x)"]).all() and copy.n_cases == 256


#------------------------------------ what can be studied ------------------------------------


def test_a_table_is_a_file_a_frame_or_a_dict(tank, tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"k": [0.5, 1.25], "x": [1, 3]}
    (tmp_path / "cases.csv").write_text("k,x\n0.5,1\n1.25,3\n")
    ends = [
        cp.sweep(tank, table=table, measures=["final(x)"])["final(x)"].tolist()
        for table in (columns, pandas.DataFrame(columns), tmp_path / "cases.csv")
    ]
    assert ends[0] == ends[1] == ends[2] == pytest.approx([np.exp(-2), 3 * np.exp(-5)], rel=1e-7)
    with pytest.raises(cp.InputError, match="table: x is nan in row 1"):
        cp.sweep(tank, table={"k": [1, 2], "x": [1, float("nan")]})
    with pytest.raises(cp.InputError, match="x has 1 rows, k has 2"):
        cp.sweep(tank, table={"k": [1, 2], "x": [1]})
    with pytest.raises(TypeError, match="a table is"):
        cp.sweep(tank, table=[1, 2])


def test_a_system_is_studied(tank, tmp_path):
    system = cp.System("two").add("a", tank).add("b", tank, start={"x": 0}).connect("b.u", "0.1*a.x")
    system.experiment(stop=2, rtol=1e-9)
    study = system.sweep({"a.k": np.array([0.25, 1]), "a.x": 2}, measures={"end": "final(b.x)"})
    k = study["a.k"]
    assert study["end"] == pytest.approx(0.2 * (np.exp(-2 * k) - np.exp(-1)) / (0.5 - k), rel=1e-6)
    # a journal of another system is refused
    def stop(case):
        raise ValueError("enough")

    journal = tmp_path / "j"
    keys = {"over": {"a.k": [1, 2]}, "measures": ["final(b.x)"], "journal": journal}
    with pytest.raises(ValueError, match="enough"):
        system.sweep(**keys, on_case=stop)
    with pytest.raises(cp.InputError, match="resume"):
        system.sweep(**keys)
    with pytest.raises(cp.InputError, match="another study"):
        system.copy().connect("a.u", "0.01").sweep(**keys, resume=True)
    assert system.sweep(**keys, resume=True).stats["resumed"] == 2
    assert not journal.exists()


def test_the_study_of_a_file(tmp_path, tank):
    (tmp_path / "s.yaml").write_text(
        f"couplet: 1\nmodels: {{a: {{c: {tank}}}}}\nmeasures: {{end: final(a.x)}}\n"
        "study: {over: {a.k: '1,2'}}\nexperiment: {stop: 1}\n"
    )
    study = cp.sweep(tmp_path / "s.yaml")
    assert study.design == "grid" and list(study) == ["a.k", "end"] and study.n_cases == 2
    again = cp.sweep(tmp_path / "s.yaml", {"a.x": 3})
    assert again["end"] == pytest.approx(3 * np.exp(-0.5), rel=1e-4)


def test_what_is_in_python_is_refused(tank):
    class Decay(cp.Model):
        states = {"x": 1.0}

        def derivatives(self, v):
            return -v["x"]

    with pytest.raises(cp.InputError, match="Decay is a model in Python"):
        cp.sweep(Decay(), {"x": [1, 2]})
    for system in (
        cp.System("s").add("d", Decay()),
        cp.System("s").add("t", tank).couple("t.u", lambda t, y: 1.0, reads=["t.x"]),
        cp.System("s").add("t", tank).input("u", lambda t: 1.0),
        cp.System("s").add("inner", cp.System("s").add("d", Decay())),
    ):
        with pytest.raises(cp.InputError, match="s: .* in Python, and cannot be part of a study"):
            system.sweep({"x": [1, 2]})
    with pytest.raises(cp.InputError, match="input u is a function"):
        cp.sweep(tank, {"k": [1, 2]}, input={"u": lambda t: 1.0})
    study = cp.sweep(tank, {"k": [1, 2]}, input={"u": ([0, 4], [0.5, 0.5])}, measures=["final(x)"])
    assert study["final(x)"][0] == pytest.approx(0.5 + 1.5 * np.exp(-4), rel=1e-6)


#------------------------------------ errors ------------------------------------


def test_errors_have_fields(tank, tmp_path):
    with pytest.raises(cp.UnknownNameError) as caught:
        cp.sweep(tank, {"kk": [1, 2]})
    assert caught.value.name == "kk" and "k" in caught.value.nearest
    with pytest.raises(cp.InputError, match="k=1:2:0"):
        cp.sweep(tank, {"k": "1:2:0"})
    with pytest.raises(cp.InputError, match="1e\\+12"):
        cp.sweep(tank, {"k": "1:2:1000000", "x": "1:2:1000000"})
    with pytest.raises(cp.InputError, match="there is no design sobel.*sobol"):
        cp.sweep(tank, {"k": "1:2"}, design="sobel", sample=3)
    with pytest.raises(cp.UnknownNameError):
        cp.sweep(tank, {"k": [1]}, measures=["final(y)"])
    with pytest.raises(cp.InputError, match="nothing varies"):
        cp.sweep(tank)
    with pytest.raises(TypeError, match="k: "):
        cp.sweep(tank, {"k": object()})
    with pytest.raises(TypeError):
        cp.sweep(tank, {"k": [1]}, sample=2.5)
    with pytest.raises(cp.InputError):
        cp.sweep(tank, {"k": [1]}, output=tmp_path / "none" / "s.csv")
    study = cp.sweep(tank, {"k": [1]})
    with pytest.raises(cp.UnknownNameError) as caught:
        study["final(xx)"]
    assert caught.value.name == "final(xx)" and caught.value.nearest[0] == "final(x)"
    with pytest.raises(cp.UnknownNameError):
        study.influence("k")
    with pytest.raises(ValueError, match="probabilities"):
        study.statistics([2])
    with pytest.raises(ValueError, match="one result per case"):
        study._core.influence(np.zeros(5))
    with pytest.raises(RuntimeError, match="once"):
        study._core.run(None, None)


def test_crashes_and_long_cases_are_rows(slow):
    study = cp.sweep(slow, {"crashes": [0, 0.5], "hangs": [0, 0.25]}, case_timeout=1, workers=2)
    assert sorted(study.failures) == [1, 2, 3]
    assert "longer than 1 s" in study.failures[1] and "SIGSEGV" in study.failures[2]
    assert study["final(x)"][0] == pytest.approx(1)


def test_warnings_of_workers_are_warnings(tmp_path):
    (tmp_path / "kept.c").write_text(
        "#include <couplet/model.h>\n"
        "static double kept;\n"
        'static const cpl_declaration states[] = {{"x", .output = true}, {0}}, parameters[] = {{"k"}, {0}};\n'
        "static int init(const cpl_values* v, cpl_event_actions* a) { a->x[0] = kept++; (void)v; return 0; }\n"
        "static int f(const cpl_values* v, double* dx) { (void)v; dx[0] = 0; return 0; }\n"
        'const cpl_model_def couplet_model = {.name = "kept", .states = states, .parameters = parameters,\n'
        "  .derivatives = f, .initialize = init, .stop_time = 1};\n"
    )
    with pytest.warns(cp.Warning, match="a process of its own"):
        study = cp.sweep(tmp_path / "kept.c", {"k": "0:1:4"}, workers=1)
    assert len(set(study["final(x)"])) == 1


#------------------------------------ callbacks ------------------------------------


def test_cases_and_progress_are_passed(tank):
    cases, seen = [], []
    study = cp.sweep(tank, {"k": [1, 2], "u": [0.1, -1]}, measures=MEASURES, curves=["x"], interval=1,
                     on_case=cases.append, progress=seen.append)
    assert [c.number for c in cases] == [0, 1, 2, 3] and study.curves == {}
    assert cases[2].factors == {"k": 2, "u": 0.1} and cases[2].measures["end"] == study["end"][2]
    assert cases[2].curves["x"][-1] == pytest.approx(study["end"][2]) and len(cases[2].times) == 5
    assert "negative" in cases[1].failure and np.isnan(cases[1].measures["end"]) and cases[1].curves == {}
    assert seen[-1]["done"] == seen[-1]["total"] == 4 and seen[-1]["failed"] == 2


@pytest.mark.parametrize("callback", ["on_case", "progress"])
def test_exceptions_of_callbacks_are_raised(tank, callback):
    def fails(*_):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        cp.sweep(tank, {"k": "0:1:20"}, **{callback: fails})
    assert cp.sweep(tank, {"k": [1]}).n_cases == 1


#------------------------------------ interruptions, threads, forks ------------------------------------

INTERRUPTED = """
import sys, couplet as cp
try:
    cp.sweep(sys.argv[1], {"pause": "1e-4:2e-4:400"}, solver="euler", step=0.05, output=sys.argv[2], workers=2,
             resume=len(sys.argv) > 3, progress=lambda p: print(p["done"], flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert cp.simulate(sys.argv[1], stop=0.1).time[-1] == 0.1
"""


def test_an_interrupted_study_goes_on(slow, tmp_path, python):
    words = [sys.executable, "-c", INTERRUPTED, str(slow), str(tmp_path / "s.csv")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    while process.stdout.readline() in ("0\n",):
        pass
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and text.endswith("interrupted\n")
    assert not (tmp_path / "s.csv").exists() and (tmp_path / "s.csv.journal").exists()
    done = python(INTERRUPTED, slow, tmp_path / "s.csv", "resume")
    assert done.returncode == 0 and done.stdout.endswith("400\n"), done.stderr
    cp.sweep(slow, {"pause": "1e-4:2e-4:400"}, solver="euler", step=0.05, output=tmp_path / "t.csv")
    assert (tmp_path / "s.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_threads_study_at_the_same_time(tank):
    found = {}

    def study(x):
        found[x] = cp.sweep(tank, {"k": "0.5:1:20"}, set={"x": x}, measures=["final(x)"], workers=2)["final(x)"]

    for _ in range(5):  # a thread loads and unloads the model while others make processes
        threads = [threading.Thread(target=study, args=(x,)) for x in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for x in (1, 2, 3):
        assert found[x] == pytest.approx(x * np.exp(-4 * np.linspace(0.5, 1, 20)), rel=1e-7)


def study_in_a_worker(tank):
    return cp.sweep(tank, {"k": [1, 2]}, measures=["final(x)"])["final(x)"].tolist()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing_can_study(tank, method):
    here = study_in_a_worker(tank)
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map(study_in_a_worker, [tank, tank]) == [here, here]


def test_a_study_of_the_parent_is_refused_in_a_child(tank):
    study = cp.sweep(tank, {"k": [1, 2]}, measures=["final(x)"])
    pid = os.fork()
    if pid == 0:
        try:
            study.influence("final(x)")
        except RuntimeError as error:
            os._exit(0 if "parent process" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_program_that_ignores_its_children(tank, python):
    done = python(
        "import signal, sys, couplet as cp; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "print(cp.sweep(sys.argv[1], {'k': '1:2:3'}, measures=['final(x)'], workers=2)['final(x)'].tolist())",
        tank,
    )
    assert json.loads(done.stdout) == cp.sweep(tank, {"k": "1:2:3"}, measures=["final(x)"])["final(x)"].tolist()


def test_the_line_of_progress():
    from couplet._progress import StudyProgress

    text = StudyProgress().text({"done": 25, "total": 100, "rate": 5.0, "failed": 2})
    assert text.endswith("25 %  25 of 100 cases  5 per s  15 s left  2 failed")
