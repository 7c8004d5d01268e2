"""`tvm.meta_schedule`: spaces are searched, records written and read again, the fastest of them is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import meta_schedule as ms
from baton import relax, relay, te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

TARGET = "llvm -num-cores=1"
RUNNER = ms.runner.LocalRunner(timeout_sec=300, evaluator_config=ms.runner.EvaluatorConfig(1, 1, 0))
"""Times do not matter here, and the machine may be slow."""


def product(m: int = 6, n: int = 16, k: int = 10) -> tir.PrimFunc:
    a, b = te.placeholder((m, k), name="a"), te.placeholder((k, n), name="b")
    r = te.reduce_axis((0, k), "r")
    return te.create_prim_func([a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], r), "c")])


def split_columns(sch: tir.Schedule) -> None:
    i, j, r = sch.get_loops(sch.get_block("c"))
    outer, inner = sch.split(j, sch.sample_perfect_tile(j, 2))
    sch.reorder(i, outer, r, inner)
    if sch.sample_categorical([0, 1], [0.5, 0.5]):
        sch.vectorize(inner)


def assert_product(module: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("float32") for shape in ((6, 10), (10, 16)))
    out = tvm.nd.array(np.zeros((6, 16), "float32"))
    module(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("strategy", ["evolutionary", "replay-trace", "replay-func"])
def test_a_scripts_own_space_is_searched(strategy: str, tmp_path: Path) -> None:
    """Guards the whole way: draws of the script's function, measured elsewhere, written, read, the fastest built."""
    database = ms.tune_tir(
        product(),
        TARGET,
        tmp_path,
        4,
        num_trials_per_iter=2,
        space=split_columns,
        strategy=strategy,
        runner=RUNNER,
        seed=1,
    )
    records = database.get_all_tuning_records()
    assert len(database) == len(records) == 4
    assert all(record.is_valid for record in records)
    traces = [str(record.trace) for record in records]
    assert len(set(traces)) == 4
    assert all("sample_perfect_tile" in trace for trace in traces)
    again = ms.database.JSONDatabase(work_dir=tmp_path)
    fastest = min(records, key=lambda record: record.seconds)
    for one in (database, again):
        found = ms.tir_integration.compile_tir(one, product(), TARGET)
        assert str(found.trace) == str(fastest.trace)
        assert found.func.loops_chosen
        assert_product(tvm.build(found.mod, target=TARGET))


def test_the_rules_space_begins_at_the_rules_choice(tmp_path: Path) -> None:
    """Guards PostOrderApply: the first candidate is the rule's, others answer what it leaves open; all are right."""
    database = ms.tune_tir(product(), TARGET, tmp_path, 3, num_trials_per_iter=2, runner=RUNNER, seed=0)
    traces = [record.trace for record in database.get_all_tuning_records()]
    decisions = [trace.get_decision(trace.insts[0]) for trace in traces]
    assert decisions[0] == {}
    assert len(decisions) == 3
    assert all(decisions[1:])
    found = ms.tir_integration.compile_tir(database, product(), TARGET)
    assert found.func.attrs["baton.choices"] in decisions
    assert_product(tvm.build(found.mod, target=TARGET))


def record(database: Any, kernel: tir.PrimFunc, tile: int, seconds: float) -> Any:
    sch = tir.Schedule(kernel)
    sch.split(sch.get_loops(sch.get_block("c"))[1], [None, tile])
    workload = database.commit_workload(tvm.IRModule({"main": kernel}))
    made = ms.database.TuningRecord(sch.trace, workload, [seconds], tvm.target.Target(TARGET))
    database.commit_tuning_record(made)
    return made


def test_databases_answer_with_the_fastest(tmp_path: Path) -> None:
    """Guards what tuning is for: the order of records, those that failed, equal kernels under other names."""
    for database in (ms.database.MemoryDatabase(), ms.Database.create("json", work_dir=tmp_path)):
        kernel = product()
        slow, fast = record(database, kernel, 4, 3.0), record(database, kernel, 8, 1.0)
        record(database, kernel, 2, 1e10)
        workload = database.commit_workload(tvm.IRModule({"main": product()}))
        assert database.get_top_k(workload, 5) == [fast, slow]
        assert database.has_workload(tvm.IRModule({"another": product()}))
        assert not database.has_workload(tvm.IRModule({"main": product(7)}))
        module = tvm.IRModule({"main": kernel})
        assert database.query_tuning_record(module, TARGET, "main") is fast
        assert database.query(module, TARGET, kind="record") is fast
        assert database.query_ir_module(module, TARGET, "main").script() == fast.transform_ir_module().script()
        assert database.query_schedule(tvm.IRModule({"main": product(7)}), TARGET, "main") is None
    pruned = ms.database.MemoryDatabase()
    database.dump_pruned(pruned)
    assert [r.run_secs for r in pruned.get_all_tuning_records()] == [[1.0]]


def test_scripts_ask_for_the_number_of_cpus() -> None:
    assert ms.utils.cpu_count(logical=True) >= 1
    assert ms.utils.cpu_count(logical=False) == tvm.target.Target("llvm").num_cores


def test_unions_of_databases() -> None:
    first, second = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    kernel = product()
    slow, fast = record(first, kernel, 4, 3.0), record(second, kernel, 8, 1.0)
    module = tvm.IRModule({"main": kernel})
    union, ordered = ms.database.UnionDatabase(first, second), ms.database.OrderedUnionDatabase(first, second)
    assert union.query_tuning_record(module, TARGET, "main") is fast
    assert ordered.query_tuning_record(module, TARGET, "main") is slow


def test_databases_append_to_the_same_files(tmp_path: Path) -> None:
    """Each database counted its own workloads: records of one kernel were read as those of another.

    A record appended to a line without an end made the file unreadable.
    """
    first, second = (ms.database.JSONDatabase(work_dir=tmp_path) for _ in range(2))
    small, large = product(), product(8)
    record(first, small, 4, 1.0)
    record(second, large, 4, 2.0)
    records = tmp_path / "database_tuning_record.json"
    records.write_text(records.read_text().rstrip())
    record(first, large, 2, 3.0)
    record(second, small, 2, 4.0)
    again = ms.database.JSONDatabase(work_dir=tmp_path)
    for kernel, seconds in ((small, [1.0, 4.0]), (large, [2.0, 3.0])):
        workload = again.commit_workload(tvm.IRModule({"main": kernel}))
        assert [one.seconds for one in again.get_top_k(workload, 5)] == seconds
    assert len((tmp_path / "database_workload.json").read_text().splitlines()) == 2


_LINES = [
    "nonsense",
    "[1, 2]",
    '[0, [[["get_block", [], {}, []]]]]',
    "[-1, [[[], []], [1], null, null]]",
    "[" * 100_000,
]


@pytest.mark.parametrize("line", [*_LINES, "\udcff"])
def test_files_that_hold_something_else_are_refused(line: str, tmp_path: Path) -> None:
    record(ms.database.JSONDatabase(work_dir=tmp_path), product(), 4, 1.0)
    with (tmp_path / "database_tuning_record.json").open("a", errors="surrogateescape") as stream:
        stream.write(line + "\n")
    with pytest.raises(DiagnosticError, match="tuning-record"):
        ms.database.JSONDatabase(work_dir=tmp_path)


def test_what_is_compiled_in_a_databases_block_asks_it() -> None:
    """Guards `with database:`, also inside another one, and that nothing is asked outside."""
    asked: list[str] = []

    def schedule(sch: tir.Schedule) -> bool:
        asked.append("asked")
        split_columns(sch)
        return True

    database = ms.Database.create(schedule)
    with ms.database.MemoryDatabase() as outer:
        with database:
            assert ms.Database.current() is database
            assert_product(tvm.build(product(), target=TARGET))
        assert ms.Database.current() is outer
    assert ms.Database.current() is None
    assert asked
    asked.clear()
    assert_product(tvm.build(product(), target=TARGET))
    assert not asked


def test_a_candidate_that_computes_something_else_fails(tmp_path: Path) -> None:
    """Guards against what is fast and wrong: its record is kept as one that failed, and never answers."""

    def wrong(sch: tir.Schedule) -> None:
        zero = from_source(
            "@T.prim_func\ndef main(a: T.Buffer((6, 10)), b: T.Buffer((10, 16)), c: T.Buffer((6, 16))):\n"
            "    for i, j in T.grid(6, 16):\n        c[i, j] = T.float32(0)\n"
        )
        sch.func = zero.with_fields(loops_chosen=True)

    with pytest.warns(UserWarning, match="no candidate could be run.*tuning-results"):
        database = ms.tune_tir(product(), TARGET, tmp_path, 1, space=wrong, runner=RUNNER)
    assert [r.run_secs for r in database.get_all_tuning_records()] == [[1e10]]
    assert ms.tir_integration.compile_tir(database, product(), TARGET) is None


def test_what_cannot_be_tuned_says_so(tmp_path: Path) -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    kernel = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, "b")])
    with pytest.raises(DiagnosticError, match=r"tuning-kernel.*known shape"):
        ms.tune_tir(kernel, TARGET, tmp_path, 1)
    with pytest.raises(DiagnosticError, match="schedule"):
        ms.tune_tir(product(), TARGET, tmp_path, 1, space=lambda sch: sch.get_block("nowhere"))
    with pytest.raises(DiagnosticError, match="nothing says what the tracker's host is"):
        ms.tune_tir(product(), TARGET, tmp_path, 1, runner="rpc")
    with pytest.raises(DiagnosticError, match="no search strategy 'annealing'"):
        ms.tune_tir(product(), TARGET, tmp_path, 1, strategy="annealing")
    for strategy in ("evolutionary", "replay-trace", "replay-func"):
        with pytest.raises(ValueError, match="no schedule"):
            ms.tune_tir(product(), TARGET, tmp_path, 1, space=lambda sch: [], strategy=strategy)
    for create in (ms.database.Database.create, ms.runner.Runner.create, ms.measure_callback.MeasureCallback.create):
        with pytest.raises(ValueError, match=r"there is no .* \{\}"):
            create({})
    with pytest.raises(AttributeError, match="every candidate is measured"):
        _ = ms.post_optimization


class Heard(ms.measure_callback.MeasureCallback):
    """A script's own callback."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def apply(self, task_scheduler: Any, task_id: int, candidates: Any, builder: Any, results: Any) -> None:
        assert task_scheduler.tasks[task_id].task_name in ("first", "second")
        assert all(result.run_secs for result in results)
        self.batches.append(len(candidates))


@pytest.mark.parametrize("scheduler", ["round-robin", "gradient"])
def test_several_kernels_share_the_trials(scheduler: str, tmp_path: Path) -> None:
    """Guards task schedulers, spaces of single kernels (None: left out), callbacks beside the database."""
    module = tvm.IRModule({"first": product(), "second": product(8), "third": product(9)})
    heard = Heard()
    database = ms.tune_tir(
        module,
        TARGET,
        tmp_path,
        4,
        num_trials_per_iter=1,
        max_trials_per_task=2,
        special_space={"third": None, "second": split_columns},
        task_scheduler=scheduler,
        measure_callbacks=[heard, *ms.MeasureCallback.create("default")],
        runner=RUNNER,
        seed=3,
    )
    assert heard.batches == [1, 1, 1, 1]
    counts = [len(database.get_top_k(database.commit_workload(m), 9)) for m in (product(), product(8), product(9))]
    assert counts == [2, 2, 0]


class Failing(ms.runner.Runner):
    """Runs all but what takes `product()`'s first argument."""

    def run(self, runner_inputs: Any) -> Any:
        fails, runs = ms.runner.RunnerResult(None, "broken"), ms.runner.RunnerResult([1.0])
        found = [fails if one.args_info[0].shape == [6, 10] else runs for one in runner_inputs]
        return [ms.runner.RunnerFuture(None, lambda result=result: result) for result in found]


def test_a_kernel_of_which_nothing_runs_leaves_the_trials_to_others() -> None:
    """Its time is infinite, and it took all trials."""
    module = tvm.IRModule({"first": product(), "second": product(8)})
    with pytest.warns(UserWarning, match="first: no candidate could be run: broken"):
        database = ms.tune_tir(
            module, TARGET, "", 4, num_trials_per_iter=1, runner=Failing(), seed=3, database="memory", cost_model="none"
        )
    records = database.get_all_tuning_records()
    assert sum(not one.is_valid for one in records) == 1
    assert len(records) == 4


RELAX = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((6, 10), "float32"), w: R.Tensor((10, 16), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z
"""


def assert_relu_of_product(executable: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype("float32") for shape in ((6, 10), (10, 16)))
    got = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.nd.array(x), tvm.nd.array(w))
    np.testing.assert_allclose(got.numpy(), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pipeline", [None, "zero"])
def test_relax_programs(pipeline: str | None, tmp_path: Path) -> None:
    """Guards tasks of operators (kernels as compiling makes them) and of kernels that the module has itself."""
    module = from_source(RELAX)
    module = module if pipeline is None else relax.get_pipeline(pipeline)(module)
    tasks = ms.relax_integration.extract_tasks(module, TARGET)
    assert [(task.task_name, task.weight) for task in tasks] == [("fused_matmul_relu", 1)]
    options = {"num_trials_per_iter": 1, "runner": RUNNER, "seed": 0}
    database = ms.relax_integration.tune_relax(module, {}, TARGET, tmp_path, 2, **options)
    assert len(database) == 2
    executable = ms.relax_integration.compile_relax(database, module, TARGET, {})
    assert_relu_of_product(executable)


def test_passes_that_tune(tmp_path: Path) -> None:
    """Guards MetaScheduleTuneTIR, ApplyDatabase by folder or, before it, in force, FewShotTuning and the pipeline."""
    module = relax.get_pipeline("zero")(from_source(RELAX))
    with tvm.target.Target(TARGET):
        assert relax.transform.MetaScheduleTuneTIR(tmp_path, 1)(module) is module
        applied = relax.transform.MetaScheduleApplyDatabase(tmp_path)(module)
        with ms.database.JSONDatabase(work_dir=tmp_path):
            in_force = relax.transform.MetaScheduleApplyDatabase()(module)
            before = relax.transform.MetaScheduleApplyDatabase(tmp_path / "others")(module)
        few = relax.transform.FewShotTuning(valid_count=1)(module)
        tuned = relax.get_pipeline("static_shape_tuning", target=TARGET, total_trials=1, work_dir=tmp_path / "logs")
        whole = tuned(from_source(RELAX))
        for one in (applied, in_force, before, few, whole):
            assert "baton.choices" in one["fused_matmul_relu"].attrs
            assert_relu_of_product(relax.build(one, TARGET))
        with pytest.raises(DiagnosticError, match="no database is active"):
            relax.transform.MetaScheduleApplyDatabase()(module)


def test_relay_programs(tmp_path: Path) -> None:
    """Guards tasks of convolutions whose weights are known, and both ways of running them."""
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    body = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
    module = tvm.IRModule.from_expr(relay.Function([x, w], body))
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((4, 3, 3, 3)).astype("float32")}
    image = rng.standard_normal((1, 3, 8, 8)).astype("float32")
    (task,) = ms.relay_integration.extract_tasks(module, TARGET, params)
    assert task.weight == 1
    database = ms.relay_integration.tune_relay(
        module, params, TARGET, tmp_path, 2, num_trials_per_iter=1, runner=RUNNER
    )
    records = database.get_all_tuning_records()
    assert records
    assert all(record.is_valid for record in records)
    expected = relay.create_executor("debug", mod=module, target="llvm").evaluate()(image, params["w"]).numpy()
    library = ms.relay_integration.compile_relay(database, module, TARGET, params)
    graph = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))
    graph.run(x=image)
    np.testing.assert_allclose(graph.get_output(0).numpy(), expected, rtol=1e-3, atol=1e-4)
    machine = ms.relay_integration.compile_relay(database, module, TARGET, params, backend="vm")
    got = tvm.runtime.vm.VirtualMachine(machine, tvm.cpu()).invoke("main", image)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-3, atol=1e-4)
