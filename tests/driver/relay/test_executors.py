"""Relay through the tower: `relay.build` and graph executor, the VM, the four executors."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baton._src.driver.artifacts import load_module
from baton._src.driver.relay import vm as relay_vm
from baton._src.driver.relay.build import GraphExecutorFactory, build
from baton._src.driver.relay.executors import create_executor
from baton._src.driver.tvm_names.relay.words import const
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.nodes import Call, Function, var
from baton._src.relay.text.parser import parse, parse_expr
from baton._src.runtime.graph.graph_debug_executor import GraphModuleDebug
from baton._src.runtime.graph.graph_executor import GraphModule, create
from baton._src.runtime.param_dict import load_param_dict, save_param_dict
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton._src.values.device import CPU
from baton._src.values.tensor import NDArray, empty

DENSE = """
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], %b: Tensor[(4), float32]) {
  let %y = nn.bias_add(nn.dense(%x, %w), %b);
  (nn.relu(%y), %y)
}
"""
LOOP = """
def @main(%n: Tensor[(), int32], %x: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (%n <= 0) { %x } else { @main(%n - 1, %x + 1f) }
}
"""
RNG = np.random.default_rng(0)
X, W, B = (RNG.standard_normal(s).astype("float32") for s in ((2, 3), (4, 3), (4,)))
Y = X @ W.T + B


def module(text: str) -> IRModule:
    wire()
    return parse(text, CATALOGUE)


@pytest.fixture(scope="module")
def dense() -> GraphExecutorFactory:
    with pytest.warns(UserWarning, match="no parameter other"):
        return build(module(DENSE), "llvm", params={"w": W, "b": B, "other": B})


@pytest.mark.rule("RELAY-BUILD-1")
@pytest.mark.rule("RELAY-BUILD-5")
@pytest.mark.rule("RELAY-BUILD-6")
def test_graph_module(dense: GraphExecutorFactory) -> None:
    graph = GraphModule(dense["default"](CPU))
    assert graph.get_num_inputs() == 1
    assert graph.get_num_outputs() == 2
    assert graph.get_input_index("x") == 0
    assert graph.get_input_index("w") == -1
    assert graph.get_input_info() == ({"x": (2, 3)}, {"x": "float32"})
    graph.set_input("x", X)
    graph.set_input(**dense.get_params())
    with pytest.warns(UserWarning, match="no input 'spare': ignored; the inputs are: 0: x"):
        graph.set_input(spare=W)
    graph.run()
    np.testing.assert_allclose(graph.get_output(0).numpy(), np.maximum(Y, 0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(graph.get_output(1, empty((2, 4))).numpy(), Y, rtol=1e-5, atol=1e-6)
    graph.set_input(0, X.astype("float64") * 2)
    graph.run()
    np.testing.assert_allclose(graph.get_output(1).numpy(), X * 2 @ W.T + B, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(graph.get_input("x").numpy(), X * 2)
    assert graph.benchmark(CPU, repeat=2, number=1).mean > 0
    fresh = GraphModule(dense["default"](CPU))
    assert fresh.benchmark(CPU, repeat=1, number=1).mean > 0  # on zeros, which are forgotten
    with pytest.raises(DiagnosticError, match="is not set"):
        fresh.run()


def test_outputs_that_do_not_fit(dense: GraphExecutorFactory) -> None:
    """They are refused when they are given: a run would have written nothing, or into a copy, or failed later."""
    module = GraphModule(dense["default"](CPU))
    for index, target, says in (
        (1, empty((1, 4)), r"is of shape \(2, 4\) and float32, the tensor of \(1, 4\)"),
        (1, empty((2, 4), "int32"), "and int32"),
        (7, empty((2, 4)), "there is no number 7"),
        (1, np.zeros((2, 8), "float32")[:, ::2], "tensor-layout"),
        (1, np.zeros((2, 4), ">f4"), "tensor-layout"),
        (1, np.broadcast_to(np.float32(0), (2, 4)), "tensor-layout"),
        (1, NDArray(np.frombuffer(bytes(32), "float32").reshape(2, 4)), "tensor-read-only"),
    ):
        with pytest.raises(DiagnosticError, match=says):
            module.set_output_zero_copy(index, target)
    with pytest.raises(NotImplementedError, match="debug_executor"):
        module.debug_get_output(0)
    with pytest.raises(DiagnosticError, match="not JSON"):
        create("{", dense.get_lib(), CPU)


def test_copies_have_inputs_of_their_own(dense: GraphExecutorFactory) -> None:
    """Guards programs that copy an instance: an error of ctypes."""
    first = GraphModule(dense["default"](CPU))
    first.set_input("x", X)
    second = copy.deepcopy(first)
    first.set_input("x", 2 * X)
    second.get_input("x").data[0] = 0
    first.run()
    second.run()
    np.testing.assert_allclose(second.get_output(1).numpy()[0], B, rtol=1e-6)
    np.testing.assert_allclose(second.get_output(1).numpy()[1], Y[1], rtol=1e-5)
    np.testing.assert_allclose(first.get_output(1).numpy(), 2 * X @ W.T + B, rtol=1e-5, atol=1e-6)


def test_zero_copy_and_sharing(dense: GraphExecutorFactory) -> None:
    first, second = (GraphModule(dense["default"](CPU)) for _ in range(2))
    held = X.copy()
    first.set_input_zero_copy("x", held)
    held[...] = 0
    with pytest.raises(DiagnosticError, match="has dtype float32, got float64"):
        first.set_input_zero_copy("x", X.astype("float64"))
    with pytest.raises(DiagnosticError, match="tensor-layout"):
        first.set_input_zero_copy("x", np.asfortranarray(X))
    target = empty((2, 4))
    first.set_output_zero_copy(1, target)
    first.run()
    np.testing.assert_allclose(target.numpy(), np.tile(B, (2, 1)), rtol=1e-6)
    second.share_params(first, save_param_dict({"x": held}))
    second.load_params(save_param_dict({"x": X}))
    second.module["set_output_zero_copy"](1, target)  # of the runtime itself: whoever runs it writes there
    second.run()
    np.testing.assert_allclose(second.get_output(1).numpy(), Y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(target.numpy(), Y, rtol=1e-5, atol=1e-6)


def test_an_input_may_be_a_tuple() -> None:
    """Its fields are told and checked as inputs are; set_input took tensors only, so the graph could not be run."""
    text = "def @main(%t: (Tensor[(2), float32], (Tensor[(3), float32],))) { concatenate((%t.0, %t.1.0)) }"
    graph = GraphModule(build(module(text), "llvm")["default"](CPU))
    assert graph.get_input_info() == ({"t": ((2,), ((3,),))}, {"t": ("float32", ("float32",))})
    graph.set_input("t", (np.ones(2), [np.arange(3)]))
    graph.run()
    np.testing.assert_array_equal(graph.get_output(0).numpy(), [1, 1, 0, 1, 2])
    for given, text in (
        ((np.ones(2),), "input 't' is a tuple of 2 values, got 1 values"),
        (np.ones(2), "a tuple of 2 values, got a ndarray"),
        ((np.ones(2), (np.ones(2),)), r"input 't.1.0' has shape \(3\), got \(2,\)"),
    ):
        with pytest.raises(DiagnosticError, match=text):
            graph.set_input("t", given)


@pytest.mark.rule("RELAY-BUILD-6", rejects=True)
def test_wrong_inputs_and_outputs(dense: GraphExecutorFactory) -> None:
    graph = GraphModule(dense["default"](CPU))
    with pytest.raises(DiagnosticError, match="input 'x' is not set"):
        graph.run()
    graph.set_input("x", X)
    graph.run()
    for action, text in (
        (lambda: graph.set_input("nope", X), "no input 'nope'"),
        (lambda: graph.get_output(9), "2 outputs, there is no number 9"),
        (lambda: graph.set_input("x", X[:1]), r"input 'x' has shape \(2, 3\), got \(1, 3\)"),
    ):
        with pytest.raises(DiagnosticError, match=text):
            action()


@pytest.mark.rule("RELAY-BUILD-1", rejects=True)
def test_unknown_targets_and_parameters() -> None:
    with pytest.raises(DiagnosticError, match="no-such-target"):
        build(module(DENSE), "no-such-target")
    with pytest.raises(DiagnosticError, match="w"):
        build(module(DENSE), "llvm", params={"w": W[:, :2]})


def test_libraries_on_disk(dense: GraphExecutorFactory, tmp_path: Path) -> None:
    path = tmp_path / "lib.baton"
    dense.export_library(path)
    graph = GraphModule(load_module(path)["default"](CPU))
    graph.run(x=X)
    np.testing.assert_allclose(graph.get_output(1).numpy(), Y, rtol=1e-5, atol=1e-6)
    json_text, lib, _ = dense
    again = create(json_text, lib, CPU)
    again.run(x=X)
    np.testing.assert_allclose(again.get_output(1).numpy(), Y, rtol=1e-5, atol=1e-6)


def test_debug_executor(dense: GraphExecutorFactory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Node by node, with what each wrote, in memory and in files."""
    graph = GraphModuleDebug(dense["default"](CPU), [CPU], dense.get_graph_json(), tmp_path)
    graph.run(number=1, min_repeat_ms=0, x=X)
    np.testing.assert_allclose(graph.get_output(0).numpy(), np.maximum(Y, 0), rtol=1e-5, atol=1e-6)
    names = graph.get_node_names()
    assert names
    assert graph.debug_get_output(names[-1]).shape == (2, 4)
    assert len(graph.run_individual(number=1)) == len(names)
    assert graph.profile().records
    assert names[-1] in capsys.readouterr().out
    folder = tmp_path / "_tvmdbg_device_CPU_0"
    assert len(json.loads((folder / "_tvmdbg_execution_trace.json").read_text())["traceEvents"]) == 2 * len(names)
    written = load_param_dict((folder / "output_tensors.params").read_bytes())
    np.testing.assert_array_equal(
        written[f"{names[-1]}____topo-index:{len(names) - 1}____output-num:0"].numpy(),
        graph.debug_get_output(names[-1]).numpy(),
    )
    (tmp_path / "mine.txt").write_text("kept")
    graph.exit()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "mine.txt").unlink()
    graph.run(number=1, min_repeat_ms=0, x=X)
    graph.exit()
    assert not tmp_path.exists()


def test_nodes_of_a_graph_are_counted_as_its_json_does() -> None:
    """Guards their numbers, which scripts take from the graph: parameters come first, nodes may have two outputs, and
    heads are what the program gives, in its order."""
    text = 'def @main(%x: Tensor[(3, 5), float32]) { let %t = topk(%x, k=2, ret_type="both"); (%t.1, %x, exp(%t.0)) }'
    lib = build(module(text))
    graph = json.loads(lib.get_graph_json())
    names = [node["name"] for node in graph["nodes"]]
    assert names[:2] == ["x", "topk"]
    assert graph["heads"] == [[1, 1, 0], [0, 0, 0], [2, 0, 0]]
    debug = GraphModuleDebug(lib["default"](CPU), CPU, lib.get_graph_json())
    x = np.arange(15, dtype="float32").reshape(3, 5) / 5
    debug.set_input(x=x)
    np.testing.assert_array_equal(debug.debug_get_output(0).numpy(), x)  # nothing has run yet
    np.testing.assert_allclose(debug.debug_get_output(2).numpy(), np.exp(x[:, :2:-1]), rtol=1e-6)
    debug.set_input(x=-x)
    np.testing.assert_array_equal(debug.debug_get_output("topk").numpy(), -x[:, :2])
    debug.run(number=1, min_repeat_ms=0)
    nodes = debug.debug_datum.get_graph_nodes()
    assert [node["name"] for node in nodes] == names
    assert [node["op"] for node in nodes][:2] == ["param", "topk"]
    assert [node["inputs"] for node in nodes] == [[], ["x"], ["topk"]]
    assert [debug.debug_datum.get_graph_node_output_num(node) for node in nodes] == [1, 2, 1]
    assert "topk____topo-index:1____output-num:1" in debug.debug_datum.get_output_tensors()
    assert debug.run_individual(1, repeat=2)[0] == [0, 0]
    with pytest.raises(AttributeError, match="no node 'tanh'"):
        debug.debug_get_output("tanh")


INDICES = """
def @main(%x: Tensor[(4096), float32], %i: Tensor[(8), int32]) {
  %0 = cumsum(cumsum(%i, axis=0, exclusive=False), axis=0, exclusive=False);
  gather(%x, reverse(multiply(%0, 3), axis=0), axis=0)
}
"""


def test_nodes_that_write_over_what_they_read_are_measured() -> None:
    """Guards the nodes after them: indices that were multiplied again and again lay outside of what they select."""
    with PassContext(opt_level=0):
        lib = build(module(INDICES))
    graph = GraphModuleDebug(lib["default"](CPU), CPU, lib.get_graph_json())
    x, i = np.arange(4096, dtype="float32"), np.ones(8, "int32")
    graph.run(number=20, min_repeat_ms=0, x=x, i=i)
    np.testing.assert_array_equal(graph.get_output(0).numpy(), x[i.cumsum().cumsum() * 3][::-1])
    graph.run_individual_node(graph.get_node_names().index("multiply"), number=20)


EVERYTHING = """
type List[A] { Cons(A, List[A]), Nil, }
def @ackermann(%m: int32, %n: int32) -> int32 {
  if (%m == 0) { %n + 1 } else if (%n == 0) { @ackermann(%m - 1, 1) }
  else { @ackermann(%m - 1, @ackermann(%m, %n - 1)) }
}
def @fold(%f: fn (int32, int32) -> int32, %at: int32, %l: List[int32]) -> int32 {
  match (%l) { Nil => %at, Cons(%head, %tail) => @fold(%f, %f(%at, %head), %tail), }
}
def @main(%x: Tensor[(?), float32], %k: int32) {
  let %times = fn (%a: int32, %b: int32) -> int32 { %a * %k + %b };
  (@ackermann(2, 3), @fold(%times, 0, Cons(1, Cons(2, Cons(3, Nil)))), concatenate((%x, %x)))
}
"""


@pytest.mark.rule("RELAY-EXEC-3")
@pytest.mark.parametrize("size", [0, 3])
def test_what_the_machine_runs_survives_saving(size: int, tmp_path: Path) -> None:
    """Recursion, data, a closure over an argument, and lengths known when it runs."""
    executable = relay_vm.compile(module(EVERYTHING))
    executable.save(tmp_path / "all.baton")
    for one in (executable, relay_vm.Executable.load(tmp_path / "all.baton")):
        machine = relay_vm.VirtualMachine(one, CPU)
        value, digits, twice = machine.invoke("main", np.ones(size, "float32"), np.int32(10))
        assert (value.numpy(), digits.numpy(), twice.shape) == (9, 123, (2 * size,))


@pytest.mark.rule("RELAY-EXEC-3")
def test_virtual_machine(tmp_path: Path) -> None:
    """Control flow and recursion, before and after saving."""
    executable = relay_vm.compile(module(LOOP))
    path = tmp_path / "loop.baton"
    executable.save(path)
    for one in (executable, relay_vm.Executable.load(path)):
        machine = relay_vm.VirtualMachine(one, CPU)
        for found in (
            machine.run(np.int32(5), np.zeros(3, "float32")),
            machine.invoke("main", n=np.int32(5), x=np.zeros(3, "float32")),
        ):
            assert found.numpy().tolist() == [5.0, 5.0, 5.0]
        machine.set_input("main", np.int32(2), np.zeros(3, "float32"))
        machine.invoke_stateful("main")
        assert machine.get_outputs()[0].numpy().tolist() == [2.0, 2.0, 2.0]


def test_the_machine_is_measured_on_what_was_set() -> None:
    """As in TVM: `benchmark` without arguments asked for them again, took none by name, and a machine's functions could
    not be measured."""
    machine = relay_vm.VirtualMachine(relay_vm.compile(module(LOOP)), CPU)
    machine.set_input("main", np.int32(3), np.zeros(3, "float32"))
    assert len(machine.benchmark(CPU, repeat=2, number=1).results) == 2
    assert len(machine.benchmark(CPU, x=np.ones(3, "float32"), n=np.int32(2), repeat=3, number=1).results) == 3
    assert machine.run().numpy().tolist() == [3, 3, 3]  # what it was measured on stays set
    for name in ("invoke", "invoke_stateful"):
        assert len(machine.module.time_evaluator(name, CPU, number=1, repeat=4)("main").results) == 4
    with pytest.raises(TypeError, match="unknown memory_cfg 1"):
        relay_vm.VirtualMachine(relay_vm.compile(module(LOOP)), CPU, memory_cfg=1)


def test_kept_arguments_are_those_of_when_they_were_given() -> None:
    """As in TVM: a NumPy array that is filled with something else before the run changed what the run computes."""
    executable = relay_vm.compile(module("def @main(%a: Tensor[(2), float32], %b: Tensor[(2), float32]) { %a - %b }"))
    machine, (a, b) = relay_vm.VirtualMachine(executable, CPU), np.float32([[3, 3], [1, 1]])
    keep = (
        lambda: machine.set_input("main", a, b=b),
        lambda: (machine.set_one_input("main", "a", a), machine.set_one_input("main", 1, b)),
    )
    for step in keep:
        a[:], b[:] = 3, 1
        step()
        a[:], b[:] = 50, 60
        assert machine.invoke("main").numpy().tolist() == [2, 2]


@pytest.mark.rule("RELAY-EXEC-2", rejects=True)
def test_graph_executor_refuses_control_flow() -> None:
    with pytest.raises(DiagnosticError, match="it contains an if"):
        build(module(LOOP), "llvm")


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.rule("RELAY-EXEC-4")
@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_executors_agree(kind: str) -> None:
    text = DENSE if kind == "graph" else LOOP
    run = create_executor(kind, module(text)).evaluate()
    if kind == "graph":
        np.testing.assert_allclose(run(X, W, b=B)[1].numpy(), Y, rtol=1e-5, atol=1e-6)
    else:
        assert run(np.int32(4), x=np.zeros(3, "float32")).numpy().tolist() == [4.0] * 3


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_variables_of_one_name_are_two(kind: str) -> None:
    """Values went to variables by name: both had that of the last one, and `x - x` was 0."""
    first, second = var("x", shape=(2,)), var("x", shape=(2,))
    given = {first: np.float32([1, 2]), second: np.float32([10, 20])}
    assert create_executor(kind, IRModule()).evaluate(first - second, given).numpy().tolist() == [-9, -18]
    run = create_executor(kind, IRModule()).evaluate(Function([first, second], first - second))
    assert run(*given.values()).numpy().tolist() == [-9, -18]
    with pytest.raises(DiagnosticError, match="the function has several arguments 'x'"):
        run(x=given[first])


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_expressions_may_call_main(kind: str) -> None:
    """Guards that what is evaluated does not take the place of the module's own `main`."""
    mod = module("def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { %x + 1f }")
    main = mod.get_global_var("main")
    called = Call(main, [Call(main, [const(np.zeros(2, "float32"))])])
    assert create_executor(kind, mod).evaluate(called).numpy().tolist() == [2.0, 2.0]


@pytest.mark.rule("RELAY-EXEC-4", rejects=True)
def test_executor_errors() -> None:
    with pytest.raises(DiagnosticError, match="unknown executor 'nope'"):
        create_executor("nope")
    with pytest.raises(DiagnosticError, match="argument 'x' is missing"):
        create_executor("debug", module(LOOP)).evaluate()(np.int32(1))


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_executors_refuse_what_has_no_type(kind: str) -> None:
    """Guards that the interpreter, too, gives the error of type inference, neither a value nor an error of Python."""
    for body, message in (("(%x, %x).2", "index 2 of a tuple of 2"), ("split(%x, indices_or_sections=2)", "2 equal")):
        untyped = IRModule.from_expr(
            parse_expr(f"fn (%x: Tensor[(3), float32]) {{ {body} }}", CATALOGUE, may_be_ill_typed=True)
        )
        with pytest.raises(DiagnosticError, match=message):
            create_executor(kind, untyped).evaluate()(np.zeros(3, "float32"))


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_numbers_take_the_dtype_that_a_parameter_declares(kind: str) -> None:
    mod = module("def @main(%x: float64, %n: int64, %t: float32) { (%x / 3f64, %n + 1i64, %t) }")
    x, n, t = create_executor(kind, mod).evaluate()(1.0, 2**40, np.float64(0.5))
    assert (x.dtype, n.dtype, t.dtype) == ("float64", "int64", "float32")
    assert (float(x.numpy()), int(n.numpy()), float(t.numpy())) == (1 / 3, 2**40 + 1, 0.5)
    with pytest.raises(DiagnosticError, match="n "):
        create_executor(kind, mod).evaluate()(1.0, 2.5, 1.0)


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize(("type_", "number"), [("int8", 300), ("int32", 3_000_000_000), ("Tensor[(1), int32]", 2**40)])
def test_numbers_that_do_not_fit_are_refused(kind: str, type_: str, number: int) -> None:
    """They had been taken modulo 2**8 and 2**32."""
    run = create_executor(kind, module(f"def @main(%x: {type_}) {{ %x }}")).evaluate()
    with pytest.raises(DiagnosticError, match="value-mismatch"):
        run(number)


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_a_value_given_twice_is_two_tensors(kind: str) -> None:
    """Guards that writing into one result changes no other."""
    mod = module("def @main(%x: Tensor[(2), float32]) { let %y = %x + 1f; (%x, %x, (%y, %y)) }")
    first, second, (third, fourth) = create_executor(kind, mod).evaluate()(np.zeros(2, "float32"))
    first.copyfrom(np.full(2, 7, "float32"))
    third.copyfrom(np.full(2, 8, "float32"))
    assert second.numpy().tolist() == [0, 0]
    assert fourth.numpy().tolist() == [1, 1]


def test_the_source_of_what_was_built_is_llvm_ir(tmp_path: Path, dense: GraphExecutorFactory) -> None:
    for built in (dense, dense.get_lib(), relay_vm.compile(module(DENSE), "llvm")):
        assert "define" in built.get_source()
        assert built.get_source("ll") == built.get_source()
    dense.export_library(tmp_path / "dense")
    with pytest.raises(DiagnosticError, match="loaded from a file, which has no source"):
        load_module(tmp_path / "dense").get_source()


@pytest.mark.parametrize(
    "result", ["(%x, (%x + 1f, (%x * 2f,)), (), %x - 1f)", "((%x, %x + 1f), %x * 2f, ((%x - 1f,),))"]
)
def test_graphs_have_outputs_and_not_tuples(result: str) -> None:
    """Guards that tensors of nested tuples are outputs of their own, as in TVM's graphs, before and after a run."""
    graph = GraphModule(build(module(f"def @main(%x: Tensor[(2), float32]) {{ {result} }}"), "llvm")["default"](CPU))
    assert graph.get_num_outputs() == 4
    graph.run(x=np.ones(2, "float32"))
    assert [graph.get_output(n).numpy().tolist() for n in range(4)] == [[1, 1], [2, 2], [2, 2], [0, 0]]
    with pytest.raises(DiagnosticError, match="the graph has 4 outputs, there is no number 4"):
        graph.get_output(4)


@pytest.mark.parametrize("make", [build, relay_vm.compile])
def test_hosts_are_cpus(make: Any) -> None:
    """A host was accepted without being read, whatever it said, as an argument and as a part of the target."""
    module = parse(DENSE, CATALOGUE)
    assert make(module, "llvm", "llvm -mcpu=skylake") is not None
    for target, host in (("llvm", "cuda"), (Target("llvm", host="cuda"), None)):
        with pytest.raises(DiagnosticError, match="cannot compile for the host") as caught:
            make(module, target, host)
        assert caught.value.code == "target-kind"


@pytest.mark.parametrize("way", ["build", "vm", "debug", "graph"])
def test_parameters_are_what_they_were_when_they_were_given(way: str) -> None:
    """A script may write the next weights into the same array."""
    program, weight = (
        module("def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { %x * %w }"),
        np.ones(2, "f"),
    )
    if way == "build":
        graph = GraphModule(build(program, "llvm", params={"w": weight})["default"](CPU))

        def run(x: Any) -> Any:
            graph.run(x=x)
            return graph.get_output(0)

    elif way == "vm":
        run = relay_vm.VirtualMachine(relay_vm.compile(program, "llvm", params={"w": weight})).run
    else:
        run = create_executor(way, program, params={"w": weight}).evaluate()
    weight[:] = 7
    assert run(np.ones(2, "f")).numpy().tolist() == [1, 1]


def test_a_name_of_two_parameters_is_not_bound() -> None:
    params = [var("x", shape=(2,)), var("x", shape=(2,))]
    with pytest.raises(DiagnosticError, match="2 parameters are called 'x'"):
        build(Function(params, Call(CATALOGUE.relay("subtract"), params)), "llvm", params={"x": np.ones(2, "f")})


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_a_function_keeps_the_module_it_was_made_of(kind: str) -> None:
    """The interpreter looked at the module when it first called a function."""
    program = module("def @f(%x: float32) { %x + 1f } def @main(%x: float32) { @f(%x) }")
    run = create_executor(kind, program).evaluate()
    program["f"] = module("def @f(%x: float32) { %x * 0f }")["f"]
    assert run(2.0).numpy() == 3
    assert create_executor(kind, program).evaluate()(2.0).numpy() == 0


def test_numbers_are_tensors_to_the_virtual_machine() -> None:
    """As TVM converts them, wherever arguments are given: programs of Relay take no runtime scalars."""
    program = module("def @main(%x: Tensor[(2), float32], %n: int32, %t: (float32, bool)) { (%x * %t.0, %n, %t.1) }")
    machine = relay_vm.VirtualMachine(relay_vm.compile(program, "llvm"))
    x, pair = np.ones(2, "f"), [0.5, True]
    machine.set_input("main", x, 3, t=pair)
    machine.set_one_input("main", 1, 4)
    for found, n in ((machine.run(x, 3, pair), 3), (machine.run(x, n=3, t=pair), 3), (machine.invoke("main"), 4)):
        assert [f.numpy().tolist() for f in found] == [[0.5, 0.5], n, True]
    assert machine.benchmark(CPU, x, 3, pair, repeat=1, number=1).mean > 0
    with pytest.raises(DiagnosticError, match="main has no argument number 3"):
        machine.set_one_input("main", 3, 1)
