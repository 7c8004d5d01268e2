"""Functions for external compilers are compiled by what a script registered as `relay.ext.<name>`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay, te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton.contrib import graph_executor

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


@pytest.mark.parametrize("kind", ["graph", "vm", "aot"])
def test_python_code_with_tuples(generator: Register, kind: str) -> None:
    """Tensors of tuples are passed one by one, and results are filled in place; every executor calls it."""

    def generate(function: relay.Function) -> Any:
        def run(z: Any, first: Any, second: Any, doubled: Any, total: Any) -> None:
            doubled.copyfrom(z.numpy() * 2)
            total.copyfrom(first.numpy() + second.numpy())

        return run

    generator(generate)
    tensor = relay.TensorType((2, 3))
    z, pair = relay.var("z", tensor), relay.var("pair", relay.TupleType([tensor, tensor]))
    body = relay.Tuple([z * relay.const(2.0), relay.TupleGetItem(pair, 0) + relay.TupleGetItem(pair, 1)])
    symbol = relay.GlobalVar(f"{NAME}_0")
    attrs = {"Primitive": 1, "Compiler": NAME, "global_symbol": symbol.name_hint}
    x = relay.var("x", tensor)
    both = symbol(x, relay.Tuple([x, relay.exp(x)]))
    main = relay.Function([x], relay.TupleGetItem(both, 0) + relay.TupleGetItem(both, 1))
    module = baton.IRModule({symbol: relay.Function([z, pair], body).with_attr(attrs), "main": main})
    given = np.full((2, 3), 0.5, "float32")
    found = relay.create_executor(kind, mod=module, device=baton.cpu(), target="llvm").evaluate()(given)
    np.testing.assert_allclose(found.numpy(), 3 * given + np.exp(given), rtol=1e-6)


def test_what_is_no_code_is_refused(generator: Register) -> None:
    generator(lambda function: 3)
    with pytest.raises(DiagnosticError, match="gave a int, which is not code for tvmgen_default_"):
        relay.build(_partitioned(), "llvm")


def test_without_a_generator_it_is_refused() -> None:
    with pytest.raises(DiagnosticError, match=f"for the compiler '{NAME}', which is not registered"):
        relay.build(_partitioned(), "llvm")
