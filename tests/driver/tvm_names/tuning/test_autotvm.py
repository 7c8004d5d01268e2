"""`tvm.autotvm`: knobs of templates and kernels are set, logs written and read, and the fastest line is in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import autotvm, relay, te
from baton._src.support.diagnostics import DiagnosticError

OPTION = autotvm.measure_option(
    builder=autotvm.LocalBuilder(timeout=300), runner=autotvm.LocalRunner(number=1, repeat=2)
)
"""Times do not matter here, and the machine may be slow."""


@autotvm.template("tests/product")
def product(n: int, k: int) -> Any:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], r), "C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis
    (r,) = s[c].op.reduce_axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_x", x, num_outputs=2)
    cfg.define_reorder("order", [y, r], policy="all")
    cfg.define_annotate("marks", [x], policy="try_vec")
    cfg.define_knob("parallel", [False, True])
    xo, xi = cfg["tile_x"].apply(s, c, x)
    first, second = cfg["order"].apply(s, c, [y, r])
    s[c].reorder(xo, first, second, xi)
    cfg["marks"].apply(s, c, [xi])
    if cfg["parallel"].val:
        s[c].parallel(xo)
    cfg.add_flop(2 * n * n * k)
    return s, [a, b, c]


def task() -> Any:
    return autotvm.task.create("tests/product", args=(8, 6), target="llvm")


def assert_product(module: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((8, 6)).astype("float32"), rng.standard_normal((6, 8)).astype("float32")
    out = tvm.nd.array(np.zeros((8, 8), "float32"))
    module(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4, atol=1e-5)


def test_the_space_is_the_product_of_the_knobs() -> None:
    made = task()
    assert made.config_space.dims == [4, 2, 2, 2]
    assert len(made.config_space) == 32
    assert made.flop == 2 * 8 * 8 * 6
    every = [made.config_space.get(n) for n in range(32)]
    assert len({str(one.values) for one in every}) == 32
    again = autotvm.ConfigEntity.from_json_dict(json.loads(json.dumps(every[13].to_json_dict())))
    assert again == every[13]
    for config in every:
        assert_product(tvm.build(*made.instantiate(config)))


@pytest.mark.parametrize("tuner", ["RandomTuner", "GridSearchTuner", "GATuner", "XGBTuner", "DropletTuner"])
def test_tuners_write_logs_whose_best_is_used(tuner: str, tmp_path: Path) -> None:
    """Guards the whole way: different configurations, a line each, and the fastest of them by the record."""
    log = tmp_path / "product.log"
    made = getattr(autotvm.tuner, tuner)(task())
    made.tune(10, OPTION, callbacks=[autotvm.callback.log_to_file(str(log)), autotvm.callback.progress_bar(10)])
    lines = list(autotvm.record.load_from_file(log))
    assert len(lines) == 10
    assert len({inp.config.index for inp, _ in lines}) == 10
    assert all(result.error_no == 0 and len(result.costs) == 2 for _, result in lines)
    inp, _ = min(lines, key=lambda pair: pair[1].mean)
    assert inp.config == made.best_config
    with autotvm.apply_history_best(str(log)) as context, tvm.target.Target("llvm"):
        assert context.query(None, ("tests/product", 8, 6)) == inp.config
        assert_product(tvm.build(*product(8, 6)))
    best = tmp_path / "best.log"
    autotvm.record.pick_best(log, best)
    assert [one.config for one, _ in autotvm.record.load_from_file(best)] == [inp.config]


def test_the_fastest_line_by_record_is_in_force(tmp_path: Path) -> None:
    """Guards the choice among lines, failures and other workloads."""
    made = task()

    def line(index: int, seconds: float, error: int = 0) -> str:
        inp = autotvm.MeasureInput(made.target, made, made.config_space.get(index))
        return autotvm.record.encode(inp, autotvm.MeasureResult((seconds,), error, 1.0, 0.0)) + "\n"

    log = tmp_path / "made.log"
    log.write_text("# a comment\n" + line(3, 2.0) + line(7, 1.0) + line(9, 0.5, error=4))
    with autotvm.apply_history_best(log) as context:
        assert context.query(None, made.workload).index == 7
        with pytest.warns(UserWarning, match="no configuration is known"):
            assert context.query(None, ("tests/product", 9, 9)).is_fallback
    with pytest.warns(UserWarning, match="no configuration is known"):
        assert_product(tvm.build(*product(8, 6)))
    log.write_text(line(3, 2.0) + "{}\n")
    with pytest.raises(DiagnosticError, match="autotvm-record"):
        autotvm.apply_history_best(log)


@pytest.mark.parametrize(
    "result", [5, [[], 0, 1, 2], [["x"], 0, 1, 2], [[None], 0, 1, 2], [5, 0, 1, 2], [[1], "x", 1, 2]]
)
def test_lines_of_odd_times_are_named(result: Any) -> None:
    """They were tracebacks, of reading or of looking for the fastest."""
    made = task()
    inp = autotvm.MeasureInput(made.target, made, made.config_space.get(1))
    line = autotvm.record.encode(inp, autotvm.MeasureResult((1.0,), 0, 1.0, 0.0))
    with pytest.raises(DiagnosticError, match="autotvm-record"):
        autotvm.record.decode(json.dumps({**json.loads(line), "result": result}))


def test_what_failed_took_long_in_logs() -> None:
    """Results of failures may hold exceptions, which JSON has not; logs have 1e9 s for them, as TVM's."""
    made = task()
    inp = autotvm.MeasureInput(made.target, made, made.config_space.get(1))
    line = autotvm.record.encode(inp, autotvm.MeasureResult((RuntimeError("why"),), 4, 1.0, 0.0))
    assert autotvm.record.decode(line)[1] == ((1e9,), 4, 1.0, 0.0)


def test_searches_end(tmp_path: Path) -> None:
    """Guards spaces smaller than the trials, and early_stopping."""
    whole = autotvm.tuner.RandomTuner(task())
    assert len(whole.next_batch(100)) == 32
    assert not whole.has_next()
    whole.reset()
    assert len(whole.next_batch(5)) == 5
    heard: list[int] = []
    stopped = autotvm.tuner.GridSearchTuner(task())
    stopped.best_seconds = 0.0  # nothing is faster than that
    with pytest.warns(UserWarning, match="no configuration could be run"):
        stopped.tune(32, OPTION, early_stopping=1, callbacks=[lambda tuner, i, results: heard.append(len(results))])
    assert heard == [8]


def test_mistakes_are_named() -> None:
    with pytest.raises(DiagnosticError, match="no template 'nowhere'"):
        autotvm.task.create("nowhere", (), "llvm")
    with pytest.raises(DiagnosticError, match="no template is active"):
        autotvm.get_config()
    for number in (-1, 32):
        with pytest.raises(IndexError, match="no configuration"):  # as TVM's
            task().config_space.get(number)
    space = autotvm.ConfigSpace()
    with pytest.raises(DiagnosticError, match="no policy 'sideways'"):
        space.define_split("tile", 8, policy="sideways")
    with pytest.raises(DiagnosticError, match="has no value"):
        space.define_split("tile", 8, filter=lambda entity: False)
    with pytest.raises(DiagnosticError, match="no knob 'tile'"):
        _ = space["tile"]
    with pytest.raises(TypeError, match="max_factors"):
        space.define_split("tile", 8, max_factors=4)
    with pytest.raises(NotImplementedError, match="range_idx is not implemented"):
        autotvm.tuner.RandomTuner(task(), range_idx=(0, 4))
    with pytest.raises(NotImplementedError, match="start_position is not implemented"):
        autotvm.tuner.DropletTuner(task(), start_position=[1, 0, 0, 0])


def test_policies_of_splits() -> None:
    """Guards their values, and TVM's order, by which scripts' numbers of configurations mean the same."""
    space = autotvm.ConfigSpace()
    space.define_split("ordered", 4, num_outputs=3)
    assert [one.size[1:] for one in space.space_map["ordered"]] == [[1, 1], [2, 1], [4, 1], [1, 2], [2, 2], [1, 4]]
    space.define_split("factors", 12, num_outputs=3, max_factor=3)
    space.define_split("power2", 12, policy="power2")
    space.define_split("mine", 12, policy="candidate", candidate=[[-1, 5]])
    assert [one.size for one in space.space_map["power2"]] == [[-1, 1], [-1, 2], [-1, 4], [-1, 8]]
    assert [-1, 2, 3] in [one.size for one in space.space_map["factors"]]
    assert all(12 % (a * b) == 0 for _, a, b in (one.size for one in space.space_map["factors"]))
    assert space["mine"].size == [-1, 5]


def test_kernels_of_relay_programs(tmp_path: Path) -> None:
    """Guards extract_from_program, tuning what a rule leaves open, and that relay.build asks the log for it."""
    x, w = relay.var("x", shape=(4, 32)), relay.var("w", shape=(48, 32))
    module = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((48, 32)).astype("float32")}
    (found,) = autotvm.task.extract_from_program(module["main"], params, "llvm -num-cores=1")
    assert not autotvm.task.extract_from_program(module, params, "llvm", ops=[relay.op.get("nn.conv2d")])
    log = tmp_path / "dense.log"
    autotvm.tuner.XGBTuner(found).tune(2, OPTION, callbacks=[autotvm.callback.log_to_file(log)])
    assert all(result.error_no == 0 for _, result in autotvm.record.load_from_file(log))
    inp, _ = min(autotvm.record.load_from_file(log), key=lambda pair: pair[1].mean)
    with autotvm.apply_history_best(log) as context:
        assert context.best(found.func).attrs["baton.choices"] == {n: v.value for n, v in inp.config.values.items()}
        library = relay.build(module, "llvm -num-cores=1", params=params)
    assert all(rule.endswith("tuned") for rule in library.get_lib().facts["schedules"].values())
    graph = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))
    data = rng.standard_normal((4, 32)).astype("float32")
    graph.run(x=data)
    np.testing.assert_allclose(graph.get_output(0).numpy(), np.maximum(data @ params["w"].T, 0), rtol=1e-4, atol=1e-4)
