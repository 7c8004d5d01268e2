"""`relay.testing.to_python`: a program written in Python gives what the debug interpreter gives."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from baton import relay
from baton._src.ir.module import IRModule
from baton._src.passes.relay.memory.manifest_alloc import ManifestAlloc
from baton._src.relay.check.infer_type import infer_type
from baton._src.support.diagnostics import DiagnosticError
from baton.relay.testing import run_as_python, synthetic, to_python
from tests.properties.relay.agreement import ARGUMENTS, interpreted
from tests.relay.programs import plain, read, read_module, same
from tests.relay.random_programs import whole_modules

LANGUAGE = """
type List[A] { Cons(A, List[A]), Nil }
def @map(%f, %xs) { match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil, } }
def @class(%k: float32) {
  let %r = ref(%k);
  let %u = ref_write(%r, ref_read(%r) * 2f);
  let %print = fn (%n: int32) -> int32 { if (%n == 0) { 7 } else { %print(%n - 1) } };
  let %pair = match ((%k, Cons(1, Nil))) { (%a, Cons(%b, Nil)) => (%b, %a), _ => (0, 0f), };
  (@map(fn (%x: float32) { %x + ref_read(%r) }, Cons(1f, Cons(2f, Nil))), %print(3), %pair.0,
   split(ones(shape=[2, 2], dtype="float64"), indices_or_sections=2, axis=1), @map(exp, Cons(inff, Nil)))
}
"""


def test_the_language() -> None:
    """Names of Python's and of the program's words are kept apart; the text is a program of its own."""
    module = read_module(LANGUAGE)
    expected = plain(relay.create_executor("debug", module).evaluate(module["class"])(3.0))
    assert same(plain(run_as_python(module["class"], module)(3.0)), expected)
    assert same(plain(run_as_python(module.get_global_var("class"), module)(3.0)), expected)
    text = ast.unparse(to_python(read("@class(3f)", module), module)) + "\nprint(result[1])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1, (True, 2f), ())", (1, (True, 2.0), ())),
        ("let %x = 1; let %x = %x + 1; %x", 2),
        ('nn.relu(negative(full(2f, shape=[2], dtype="float32")))', [0, 0]),
        ("clip(3f, a_min=-inff64, a_max=2f64)", 2.0),
    ],
)
def test_expressions(text: str, expected: Any) -> None:
    assert plain(run_as_python(read(text))) == expected


def test_functions_are_values() -> None:
    """Operators, functions and those given by the caller."""
    apply = run_as_python(read("fn (%f, %x: float32) { %f(%x) }"))
    assert plain(apply(run_as_python(relay.op.get("negative")), 2.0)) == -2.0
    assert (
        plain(run_as_python(read("fn (%x: float32) { fn (%y: float32) { %x - %y } }"))(5.0)(relay.const(2.0).data))
        == 3.0
    )


def test_constants_of_all_sizes() -> None:
    for data in (np.arange(100, dtype="int16"), np.array([np.nan, np.inf], "float32"), np.zeros((0, 3), "float16")):
        found = run_as_python(relay.const(data, str(data.dtype)))
        np.testing.assert_array_equal(found.numpy(), data)
        assert found.numpy().dtype == data.dtype


def test_what_cannot_be_written() -> None:
    with pytest.raises(DiagnosticError, match="has no value"):
        to_python(relay.var("x"))
    with pytest.raises(DiagnosticError, match="missing"):
        to_python(relay.GlobalVar("missing"), IRModule())


def test_no_clause_fits() -> None:
    text = "type T { A, B } def @f(%t: T) { match? (%t) { A => 1 } } def @main() { @f(B) }"
    module = read_module(text)
    with pytest.raises(DiagnosticError, match="no clause"):
        run_as_python(module["main"], module)()


def test_long_programs() -> None:
    """Thousands of lets are thousands of lines; blocks nest as deep as Python's, and no deeper."""
    body: Any = relay.const(0.0)
    for _ in range(3_000):
        body = relay.op.add(body, relay.const(1.0))
    assert plain(run_as_python(body)) == 3_000
    deep: Any = relay.const(0.0)
    for _ in range(200):
        deep = relay.If(relay.const(True), deep, relay.const(1.0))
    with pytest.raises(DiagnosticError, match="Python"):
        to_python(deep)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(whole_modules())
def test_random_programs(module: IRModule) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = run_as_python(module["main"], module)
        assert same([plain(run(*args)) for args in ARGUMENTS], interpreted(module))


def test_memory_is_taken_back_into_values() -> None:
    module = ManifestAlloc()(read_module("def @main(%x: float32) { exp(%x) + 1f }"))
    assert plain(run_as_python(module.get_global_var("main"), module)(0.0)) == 2.0


def test_the_synthetic_network() -> None:
    """Typed, the same each time, and the same in Python as compiled."""
    module, params = synthetic.get_workload()
    assert infer_type(module)["main"].checked_type.ret_type == relay.TensorType((1, 3, 24, 12))
    assert {"dense_weight", "conv2_weight", "bias", "batch_norm_gamma"} <= set(params)
    data = np.linspace(0, 1, 3 * 24 * 12, dtype="float32").reshape(1, 3, 24, 12)
    given = [data if p.name_hint == "data" else params[p.name_hint] for p in module["main"].params]
    found = run_as_python(module["main"], module)(*given)
    compiled = relay.create_executor("graph", module, params=params).evaluate()(data)
    np.testing.assert_allclose(found.numpy(), compiled.numpy(), rtol=1e-4)
