"""`tvm.auto_scheduler`: computations and programs are tuned, logs written and read, and the fastest line is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import auto_scheduler, relay, te
from baton._src.support.diagnostics import DiagnosticError

TARGET = "llvm -num-cores=1"
RUNNER = auto_scheduler.LocalRunner(timeout=300, number=1, repeat=2, min_repeat_ms=0)
"""Times do not matter here, and the machine may be slow."""


@auto_scheduler.register_workload
def matmul_add(n: int, k: int, dtype: str) -> list[Any]:
    a, b = te.placeholder((n, k), name="A", dtype=dtype), te.placeholder((k, n), name="B", dtype=dtype)
    c = te.placeholder((n, n), name="C", dtype=dtype)
    r = te.reduce_axis((0, k), "k")
    product = te.compute(
        (n, n), lambda i, j: te.sum(a[i, r] * b[r, j], r), "product", attrs={"layout_free_placeholders": [b]}
    )
    return [a, b, c, te.compute((n, n), lambda i, j: product[i, j] + c[i, j], "out")]


def make() -> Any:
    return auto_scheduler.SearchTask(func=matmul_add, args=(16, 12, "float32"), target=TARGET)


def assert_right(module: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(shape).astype("float32") for shape in ((16, 12), (12, 16), (16, 16)))
    out = tvm.nd.array(np.zeros((16, 16), "float32"))
    module(tvm.nd.array(a), tvm.nd.array(b), tvm.nd.array(c), out)
    np.testing.assert_allclose(out.numpy(), a @ b + c, rtol=1e-4, atol=1e-5)


def options(trials: int, log: Path, **more: Any) -> Any:
    callbacks = [auto_scheduler.RecordToFile(str(log))]
    return auto_scheduler.TuningOptions(trials, runner=RUNNER, measure_callbacks=callbacks, **more)


def test_a_computation_is_tuned(tmp_path: Path) -> None:
    """Guards the whole way: the rule's own choice first, other answers then, the fastest of the log built."""
    log, task = tmp_path / "logs" / "matmul.json", make()
    task.tune(options(4, log, num_measures_per_round=2))
    pairs = list(auto_scheduler.load_records(log))
    assert pairs[0][0].record == {}
    assert len({str(inp.record) for inp, _ in pairs}) == 4
    assert all(len(result.costs) == 2 and not result.error_no for _, result in pairs)
    fastest = min(pairs, key=lambda pair: pair[1].mean)
    assert auto_scheduler.load_best_record(log, task.workload_key) == fastest
    schedule, tensors = make().apply_best(str(log))
    lowered = tvm.lower(schedule, tensors)["main"]
    assert lowered.attrs["baton.choices"] == fastest[0].record
    assert_right(tvm.build(schedule, tensors, TARGET))
    assert task.print_best(log) == f"sch.schedule_by_rule(decision={fastest[0].record!r})"


def test_a_tasks_computation_is_shown() -> None:
    """Guards what tutorials print before they tune."""
    task = make()
    assert str(task.compute_dag).splitlines() == [
        "A = PLACEHOLDER [16, 12]",
        "B = PLACEHOLDER [12, 16]",
        "C = PLACEHOLDER [16, 16]",
        "product(i, j) = reduce(A[i, k] * B[k, j]) over k",
        "out(i, j) = product[i, j] + C[i, j]",
    ]
    assert task.compute_dag.flop_ct == 2 * 16 * 12 * 16 + 16 * 16
    assert str(auto_scheduler.ComputeDAG(task.workload_key)) == str(task.compute_dag)
    assert task.func.attrs["layout_free_buffers"] == [1]
    assert [t.op.name for t in auto_scheduler.workload_key_to_tensors(task.workload_key)] == ["A", "B", "C", "out"]


def test_what_tasks_and_computations_tell() -> None:
    """Guards fields of TVM's tasks, and that its states of a search are refused with a reason."""
    first, second, other = (
        auto_scheduler.SearchTask(func=matmul_add, args=(n, 8, "float32"), target="llvm", hardware_params=n)
        for n in (8, 8, 4)
    )
    assert (first.hardware_params, first.layout_rewrite_option, first.target_host) == (8, None, None)
    assert first.compute_dag.workload_key() == second.compute_dag.workload_key() != other.compute_dag.workload_key()
    with pytest.raises(AttributeError, match="about states of TVM's search"):
        first.compute_dag.get_init_state()
    assert not hasattr(first.compute_dag, "nothing")


def test_searches_go_on_from_a_log_and_end(tmp_path: Path) -> None:
    """Guards load_log_file (nothing is measured twice) and early_stopping."""
    log, task = tmp_path / "matmul.json", make()
    auto_scheduler.save_records(
        log,
        [auto_scheduler.MeasureInput(task.workload_key, TARGET, {})],
        [auto_scheduler.MeasureResult([0.0])],
    )
    more = tmp_path / "more.json"
    tuner = auto_scheduler.TaskScheduler([task], load_log_file=log)
    tuner.tune(options(9, more, num_measures_per_round=1, early_stopping=2))
    records = [inp.record for inp, _ in auto_scheduler.load_records(more)]
    assert len(records) == 2  # nothing is faster than 0 s
    assert all(records)


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="not a registered workload"):
        auto_scheduler.SearchTask(func=len, args=(), target=TARGET)
    with pytest.raises(DiagnosticError, match="registered already"):
        auto_scheduler.register_workload("matmul_add", list)
    with pytest.raises(NotImplementedError, match="objective_func is not implemented"):
        auto_scheduler.TaskScheduler([], objective_func=max)
    with pytest.raises(TypeError, match="earlystopping"):
        auto_scheduler.TaskScheduler([]).tune(options(1, tmp_path / "none.json"), earlystopping=1)
    log = tmp_path / "empty.json"
    log.write_text("")
    with pytest.raises(DiagnosticError, match="no valid record of matmul_add"):
        make().apply_best(log)
    log.write_text('{"i": [], "r": [], "v": "v0.6"}\n')
    with pytest.raises(DiagnosticError, match="malformed"):
        make().apply_best(log)
    for result in ('[["x"], "", 0]', "[[null], 0, 0]", f'[[1], "", 1{"0" * 400}]'):
        log.write_text(f'{{"i": [["k", "llvm"], {{}}], "r": {result}, "v": "baton-1"}}\n')
        with pytest.raises(DiagnosticError, match="malformed"):
            list(auto_scheduler.load_records(log))
    log.write_bytes(b"\xff\n")
    with pytest.raises(DiagnosticError, match="malformed"):
        list(auto_scheduler.load_records(log))
    for key in ("nope", "5", "[]", "[[1]]"):
        with pytest.raises(DiagnosticError, match="workload"):
            auto_scheduler.SearchTask(workload_key=key, target=TARGET)


def test_a_task_of_which_nothing_runs_leaves_the_trials_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is infinite, and it took all trials."""
    bad, good = (auto_scheduler.SearchTask(func=matmul_add, args=(n, 12, "float32"), target=TARGET) for n in (8, 16))

    def measured(task: Any, record: Any, option: Any, runner: Any) -> Any:
        return auto_scheduler.MeasureResult([1.0]) if task is good else auto_scheduler.MeasureResult([], "broken")

    monkeypatch.setattr("baton._src.driver.tvm_names.tuning.auto_scheduler.scheduler._measured", measured)
    scheduler = auto_scheduler.TaskScheduler([bad, good], [1.0, 0.0])
    with pytest.warns(UserWarning, match="broken"):
        scheduler.tune(auto_scheduler.TuningOptions(4, runner=RUNNER, num_measures_per_round=1))
    assert [len(search.seen) for search in scheduler.searches] == [1, 3]


def test_relay_programs(tmp_path: Path) -> None:
    """Guards extract_tasks, several tasks by weight, and that relay.build asks the log."""
    x, w = relay.var("x", shape=(4, 32)), relay.var("w", shape=(48, 32))
    module = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((48, 32)).astype("float32")}
    tasks, weights = auto_scheduler.extract_tasks(module["main"], params, TARGET)
    assert weights == [1]
    assert str(tasks[0].compute_dag).splitlines()[0].endswith("= PLACEHOLDER [4, 32]")
    assert "max(" in str(tasks[0].compute_dag)
    assert tasks[0].compute_dag.flop_ct == 2 * 4 * 32 * 48 + 4 * 48
    log = tmp_path / "dense.json"
    auto_scheduler.TaskScheduler(tasks, weights).tune(options(2, log))
    inp, result = auto_scheduler.load_best_record(log, include_compatible=True)
    assert not result.error_no
    assert inp.task.workload_key == tasks[0].workload_key
    assert inp.task.target.kind.name == "llvm"
    with pytest.raises(DiagnosticError, match="kernel of a program"):
        tasks[0].apply_best(log)
    with auto_scheduler.ApplyHistoryBest(str(log)) as best:
        assert best.best(tasks[0].func).attrs["baton.choices"] == inp.record
        with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
            library = relay.build(module, TARGET, params=params)
    graph = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))
    data = rng.standard_normal((4, 32)).astype("float32")
    graph.run(x=data)
    np.testing.assert_allclose(graph.get_output(0).numpy(), np.maximum(data @ params["w"].T, 0), rtol=1e-4, atol=1e-4)


def test_a_search_goes_on_from_a_log(tmp_path: Path) -> None:
    """Guards the tutorial's `resume_search`: policies, models and contexts of measuring were missing."""
    task, log = make(), tmp_path / "log.json"
    task.hardware_params = auto_scheduler.HardwareParams(num_cores=1, vector_unit_bytes=32, target=task.target)
    context = auto_scheduler.LocalRPCMeasureContext(timeout=300, number=1, min_repeat_ms=0)
    callbacks = [auto_scheduler.RecordToFile(log)]
    task.tune(auto_scheduler.TuningOptions(1, runner=context.runner, measure_callbacks=callbacks))
    model = auto_scheduler.XGBModel()
    model.update_from_file(log)
    policy = auto_scheduler.SketchPolicy(
        task, model, init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(log)], verbose=0
    )
    task.tune(options(1, log), search_policy=policy)
    records = [repr(measured.record) for measured, _ in auto_scheduler.load_records(log)]
    assert len(records) == len(set(records)) == 2  # the second search did not repeat the first
    with pytest.raises(ValueError, match="the policy is for matmul_add"):
        make().tune(options(1, log), search_policy=policy)
    with pytest.raises(DiagnosticError, match="not from a str"):
        auto_scheduler.SketchPolicy(task, init_search_callbacks=["log.json"])
    with pytest.raises(DiagnosticError, match="models of costs are not read"):
        auto_scheduler.XGBModel(model_file="model.json")


def test_scripts_hear_of_measurements_and_write_lines_themselves(tmp_path: Path) -> None:
    """Guards callbacks that derive from TVM's class, and lines of logs as texts."""
    lines: list[str] = []

    class Heard(auto_scheduler.PythonBasedMeasureCallback):
        def callback(self, policy: Any, inputs: Any, results: Any) -> None:
            assert policy.task is task
            lines.extend(map(auto_scheduler.measure_record.dump_record_to_string, inputs, results))

    task, log = make(), tmp_path / "log.json"
    callbacks = [Heard(), auto_scheduler.RecordToFile(log)]
    task.tune(auto_scheduler.TuningOptions(1, runner=RUNNER, measure_callbacks=callbacks))
    read = map(auto_scheduler.measure_record.load_record_from_string, lines)
    assert list(read) == list(auto_scheduler.load_records(log)) != []


def test_lines_of_a_log_some_at_a_time(tmp_path: Path) -> None:
    """Guards `RecordReader`, with which scripts read logs: it was missing."""
    log = tmp_path / "log.json"
    inputs = [auto_scheduler.MeasureInput("key", "llvm -keys=cpu", {"tile": n}) for n in range(4)]
    results = [auto_scheduler.MeasureResult([n + 1.0], "", 0.0) for n in range(4)]
    auto_scheduler.save_records(log, inputs, results)
    reader = auto_scheduler.RecordReader(str(log))
    assert list(reader) == list(auto_scheduler.load_records(log)) == list(zip(inputs, results))
    assert reader.read_lines() == (inputs, results)
    assert reader.read_lines(2, skip_lines=1) == (inputs[1:3], results[1:3])
    assert reader.read_lines(max_lines=9, skip_lines=3) == (inputs[3:], results[3:])


def test_callbacks_are_told_of_each_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the callbacks of task schedulers, which were refused: TVM's own two, and one of a script."""

    class Mine(auto_scheduler.TaskSchedulerCallback):
        def __init__(self) -> None:
            self.rounds: list[tuple[int, int]] = []

        def post_tune(self, task_scheduler: Any, task_id: int) -> None:
            self.rounds.append((task_id, task_scheduler.ct))

    tasks = [auto_scheduler.SearchTask(matmul_add, (n, n, "float32"), target=TARGET) for n in (4, 8)]
    mine, log = Mine(), tmp_path / "latency.tsv"
    callbacks = [auto_scheduler.PrintTableInfo(), auto_scheduler.LogEstimatedLatency(log), mine]
    scheduler = auto_scheduler.TaskScheduler(tasks, [1, 2], callbacks=callbacks)
    scheduler.tune(options(2, tmp_path / "log.json"))
    assert sorted(mine.rounds, key=lambda pair: pair[1]) == mine.rounds
    assert (mine.rounds[-1][1], scheduler.task_cts) == (2, [1, 1])
    assert scheduler.cur_score == scheduler.best_costs[0] + 2 * scheduler.best_costs[1]
    assert "Next task: 0" in capsys.readouterr().out
    assert log.read_text("utf-8").splitlines()[-1].endswith("Trials\t2")
