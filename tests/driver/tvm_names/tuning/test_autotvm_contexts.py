"""`tvm.autotvm`: which configuration is in force, and measurements that a script makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import baton as tvm
from baton import autotvm, te
from baton._src.support.diagnostics import DiagnosticError
from baton.autotvm.graph_tuner import DPTuner, PBQPTuner
from baton.autotvm.task import DispatchContext

OPTION = autotvm.measure_option(
    builder=autotvm.LocalBuilder(timeout=300), runner=autotvm.LocalRunner(number=1, repeat=2)
)


@autotvm.template("tests/doubled")
def doubled(n: int) -> Any:
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2, "B")
    s = te.create_schedule(b.op)
    cfg = autotvm.get_config()
    cfg.define_split("tile", s[b].op.axis[0], num_outputs=2)
    cfg["tile"].apply(s, b, s[b].op.axis[0])
    cfg.add_flop(n)
    return s, [a, b]


def task() -> Any:
    return autotvm.task.create("tests/doubled", args=(16,), target="llvm")


def test_contexts_ask_those_around_them() -> None:
    """Guards DispatchContext.current, queries that fall through, updates, and contexts of scripts' own."""

    class Mine(DispatchContext):
        def _query_inside(self, target: Any, workload: Any) -> Any:
            return made.config_space.get(3) if workload[1] == 16 else None

    made, target = task(), tvm.target.Target("llvm")
    root = DispatchContext.current
    assert isinstance(root, autotvm.FallbackContext)
    with pytest.warns(UserWarning, match="no configuration is known"):
        assert root.query(target, made.workload).is_fallback
    with autotvm.ApplyConfig(made.config_space.get(1)) as outer, Mine() as inner:
        assert DispatchContext.current is inner
        assert inner.query(target, made.workload).index == 3
        assert inner.query(target, ("tests/doubled", 8)).index == 1
        assert outer.workload == ("tests/doubled", 8)
        assert outer.query(target, made.workload).index == 1
        outer.update(target, made.workload, made.config_space.get(2))
        assert not inner.query(target, ("tests/doubled", 8)).is_fallback
        assert inner.query(target, ("tests/doubled", 8)).index == 2
    assert DispatchContext.current is root
    root.update(target, made.workload, made.config_space.get(4))
    assert root.query(target, made.workload).index == 4
    autotvm.task.clear_fallback_cache(target, made.workload)
    with pytest.warns(UserWarning, match="no configuration is known"):
        assert root.query(target, made.workload).is_fallback


def test_measurements_outside_of_tuners() -> None:
    """Guards create_measure_batch, tuners that go on from its results, and a Monitor of what they measure."""
    made = task()
    measure = autotvm.measure.create_measure_batch(made, OPTION)
    assert made.config_space.range_length == len(made.config_space) == 5
    inputs = [autotvm.MeasureInput(made.target, made, made.config_space.get(n)) for n in (0, 3)]
    results = measure(inputs)
    assert [r.error_no for r in results] == [autotvm.MeasureErrorNo.NO_ERROR] * 2
    assert all(len(r.costs) == 2 for r in results)
    tuner, monitor = autotvm.tuner.GATuner(made), autotvm.callback.Monitor()
    tuner.load_history(zip(inputs, results))
    tuner.tune(3, OPTION, callbacks=[monitor])
    assert max(monitor.trial_scores()) == pytest.approx(tuner.best_flops)
    assert tuner.best_measure_pair is not None
    assert tuner.best_measure_pair[0].config == tuner.best_config
    assert monitor.trial_timestamps() == sorted(monitor.trial_timestamps())
    monitor.reset()
    assert monitor.trial_scores() == []
    with pytest.raises(TypeError, match="is not a task"):
        autotvm.create_measure_batch(doubled, OPTION)
    with pytest.raises(DiagnosticError, match="kept in files"):
        autotvm.callback.log_to_database(None)


def test_graph_tuners_choose_the_fastest_record_of_each_workload(tmp_path: Path) -> None:
    made = task()
    inputs = [autotvm.MeasureInput(made.target, made, made.config_space.get(n)) for n in (0, 3, 1)]
    results = [autotvm.MeasureResult((cost,), error, 1.0, 0.0) for cost, error in ((2.0, 0), (1.0, 0), (0.5, 4))]
    tuner = DPTuner(None, {"data": (16,)}, zip(inputs, results), [tvm.relay.op.get("nn.conv2d")], made.target)
    tuner.benchmark_layout_transform(min_exec_num=10)
    with pytest.raises(DiagnosticError, match="run"):
        tuner.get_optimal_records()
    tuner.run()
    tuner.write_opt_sch2record_file(tmp_path / "graph.log")
    with autotvm.apply_graph_best(str(tmp_path / "graph.log")) as best:
        assert best.query(made.target, made.workload).index == 3
    again = PBQPTuner(None, {}, str(tmp_path / "graph.log"), [], made.target)
    again.run()
    assert [record.config.index for record, _ in again.get_optimal_records()] == [3]


def test_arguments_as_logs_have_them() -> None:
    """Guards workloads of tensors, and arguments made of them again."""
    args = (te.placeholder((2, 3), "int8", "x"), (1, 2), "NCHW", None)
    found = autotvm.task.args_to_workload(args, "tests/some")
    assert found == ("tests/some", ("TENSOR", (2, 3), "int8"), (1, 2), "NCHW", None)
    tensor, *others = autotvm.task.deserialize_args(autotvm.task.serialize_args(args))
    assert tvm.topi.utils.get_const_tuple(tensor.shape) == (2, 3)
    assert str(tensor.dtype) == "int8"
    assert others == [(1, 2), "NCHW", None]
    with pytest.raises(AttributeError, match="kernels are baton's own"):
        _ = autotvm.task.topi_integration
