"""Functions for external compilers are compiled by what a script registered as `relay.ext.<name>`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay, te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton.contrib import graph_executor
from baton.contrib.debugger import debug_executor

NAME = "external_code_test"
Register = Callable[[Callable[[Any], Any]], None]


@pytest.fixture
def generator() -> Iterator[Register]:
    """Registers a code generator for one test."""
    yield lambda function: PROCESS_FUNCTIONS.register(f"relay.ext.{NAME}", function)
    PROCESS_FUNCTIONS.remove(f"relay.ext.{NAME}")


def _partitioned() -> baton.IRModule:
    """exp(relu(x + y)), the relu and the sum for the external compiler."""
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    begin = [relay.annotation.compiler_begin(v, NAME) for v in (x, y)]
    region = relay.annotation.compiler_end(relay.nn.relu(begin[0] + begin[1]), NAME)
    return relay.transform.PartitionGraph()(baton.IRModule.from_expr(relay.Function([x, y], relay.exp(region))))


def _run(lib: Any, **inputs: Any) -> Any:
    module = graph_executor.GraphModule(lib["default"](baton.cpu()))
    module.run(**inputs)
    return module.get_output(0).numpy()


def test_a_kernel_of_tir(generator: Register) -> None:
    """The generator sees the typed function with its symbol; its module's kernel runs."""
    seen: list[relay.Function] = []

    def generate(function: relay.Function) -> Any:
        seen.append(function)
        a, b = te.placeholder((2, 3), name="a"), te.placeholder((2, 3), name="b")
        out = te.compute((2, 3), lambda i, j: (a[i, j] + b[i, j]) * 2.0)
        return baton.build(te.create_prim_func([a, b, out]), target="llvm", name=str(function.attrs["global_symbol"]))

    generator(generate)
    ones = np.ones((2, 3), "float32")
    np.testing.assert_allclose(_run(relay.build(_partitioned(), "llvm"), x=ones, y=ones), np.exp(4 * ones), rtol=1e-5)
    assert [str(f.attrs["Compiler"]) for f in seen] == [NAME]
    assert str(seen[0].attrs["global_symbol"]).startswith("tvmgen_default_")
    assert seen[0].body.checked_type == relay.TensorType((2, 3), "float32")


def _doubles_and_adds(function: relay.Function) -> Any:
    """Code for the function of `_with_tuples`."""

    def run(z: Any, first: Any, second: Any, doubled: Any, total: Any) -> None:
        doubled.copyfrom(z.numpy() * 2)
        total.copyfrom(first.numpy() + second.numpy())

    return run


def _with_tuples() -> baton.IRModule:
    """(2 * x) + (x + exp(x)), both terms by one function of the external compiler."""
    tensor = relay.TensorType((2, 3))
    z, pair = relay.var("z", tensor), relay.var("pair", relay.TupleType([tensor, tensor]))
    body = relay.Tuple([z * relay.const(2.0), relay.TupleGetItem(pair, 0) + relay.TupleGetItem(pair, 1)])
    symbol = relay.GlobalVar(f"{NAME}_0")
    attrs = {"Primitive": 1, "Compiler": NAME, "global_symbol": symbol.name_hint}
    x = relay.var("x", tensor)
    both = symbol(x, relay.Tuple([x, relay.exp(x)]))
    main = relay.Function([x], relay.TupleGetItem(both, 0) + relay.TupleGetItem(both, 1))
    return baton.IRModule({symbol: relay.Function([z, pair], body).with_attr(attrs), "main": main})


@pytest.mark.parametrize("kind", ["graph", "vm", "aot"])
def test_python_code_with_tuples(generator: Register, kind: str) -> None:
    """Tensors of tuples are passed one by one, and results are filled in place; every executor calls it."""
    generator(_doubles_and_adds)
    given = np.full((2, 3), 0.5, "float32")
    executor = relay.create_executor(kind, mod=_with_tuples(), device=baton.cpu(), target="llvm")
    np.testing.assert_allclose(executor.evaluate()(given).numpy(), 3 * given + np.exp(given), rtol=1e-6)


def test_it_is_a_node_of_the_graph(generator: Register) -> None:
    """Guards graphs of such programs, which had no nodes at all, and what the debug executor says of them."""
    generator(_doubles_and_adds)
    lib = relay.build(_with_tuples(), "llvm")
    graph = json.loads(lib.get_graph_json())
    first, *called = [node["name"] for node in graph["nodes"]]
    assert (first, called[:2], len(called), graph["heads"]) == ("x", ["exp", f"{NAME}_0"], 3, [[3, 0, 0]])
    assert [node["inputs"] for node in graph["nodes"][2:]] == [[[0, 0, 0]] * 2 + [[1, 0, 0]], [[2, 0, 0], [2, 1, 0]]]
    assert graph["nodes"][2]["attrs"]["num_outputs"] == "2"
    assert graph["node_row_ptr"] == [0, 1, 2, 4, 5]
    debug = debug_executor.create(lib.get_graph_json(), lib.get_lib(), baton.cpu())
    x = np.full((2, 3), 0.5, "float32")
    debug.run(number=1, min_repeat_ms=0, x=x)
    seen = debug.debug_datum.get_output_tensors()
    np.testing.assert_array_equal(seen[f"{NAME}_0____topo-index:2____output-num:0"].numpy(), 2 * x)
    np.testing.assert_array_equal(debug.get_output(0).numpy(), debug.debug_get_output(3).numpy())
    assert debug.run_individual_node(2).mean > 0


def _kernel(function: relay.Function) -> Any:
    """2 * (x + y), beside a kernel that nobody asked for."""
    a, b = te.placeholder((2, 3), name="a"), te.placeholder((2, 3), name="b")
    out = te.create_prim_func([a, b, te.compute((2, 3), lambda i, j: (a[i, j] + b[i, j]) * 2.0)])
    return baton.build(baton.IRModule({str(function.attrs["global_symbol"]): out, "other": out}), target="llvm")


def test_kernels_are_part_of_saved_files(generator: Register, tmp_path: Path) -> None:
    """Files of programs with code of `tvm.build` could not be run where they were loaded: nobody had the code."""
    generator(_kernel)
    ones, wanted = np.ones((2, 3), "float32"), np.full((2, 3), np.exp(4), "float32")
    relay.build(_partitioned(), "llvm").export_library(tmp_path / "graph.so")
    found = _run(baton.runtime.load_module(tmp_path / "graph.so"), x=ones, y=ones)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    code, library = relay.vm.compile(_partitioned(), "llvm").save()
    library.export_library(tmp_path / "machine.so")
    loaded = baton.runtime.vm.Executable.load_exec(code, baton.runtime.load_module(tmp_path / "machine.so"))
    machine = baton.runtime.vm.VirtualMachine(loaded, baton.cpu())
    np.testing.assert_allclose(machine.run(ones, ones).numpy(), wanted, rtol=1e-5)


def test_python_code_is_not_part_of_saved_files(generator: Register, tmp_path: Path) -> None:
    generator(lambda function: lambda x, y, out: out.copyfrom(x.numpy() + y.numpy()))
    relay.build(_partitioned(), "llvm").export_library(tmp_path / "graph.so")
    ones = np.ones((2, 3), "float32")
    with pytest.raises(DiagnosticError, match=rf"no packed function 'relay\.ext\.{NAME}\.tvmgen_default_"):
        _run(baton.runtime.load_module(tmp_path / "graph.so"), x=ones, y=ones)


def test_what_is_no_code_is_refused(generator: Register) -> None:
    generator(lambda function: 3)
    with pytest.raises(DiagnosticError, match="gave a int, which is not code for tvmgen_default_"):
        relay.build(_partitioned(), "llvm")


def test_without_a_generator_it_is_refused() -> None:
    with pytest.raises(DiagnosticError, match=f"for the compiler '{NAME}', which is not registered"):
        relay.build(_partitioned(), "llvm")
