"""Functions, branches, loops, open sizes, other ways to write operations, and what is refused."""

# ruff: noqa: E501 (an operation of StableHLO is one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.frontend.stablehlo import from_stablehlo
from tests.frontends.stablehlo.programs import check, function

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def test_loops_that_call_functions() -> None:
    text = """
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32> {jax.arg = "x"}) -> (tensor<3xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<3xf32>
    cond {
      %c_1 = stablehlo.constant dense<4> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @body(%iterArg_0, %arg0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<3xf32>
    }
    return %0#1 : tensor<3xf32>
  }
  func.func private @body(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<3xf32>
    %1 = stablehlo.subtract %0, %arg1 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
"""
    x = np.array([0.5, 1.1, -0.3], "float32")
    wanted = x
    for _ in range(4):
        wanted = wanted * wanted - x
    check(text, [x], wanted)


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 7])
def test_branches(number: int) -> None:
    """A number that no branch has chooses the last one."""
    body = """
    %r = "stablehlo.case"(%b) ({
      %0 = stablehlo.add %a, %a : tensor<4x3xf32>
      stablehlo.return %0 : tensor<4x3xf32>
    }, {
      %0 = stablehlo.negate %a : tensor<4x3xf32>
      stablehlo.return %0 : tensor<4x3xf32>
    }, {
      stablehlo.return %a : tensor<4x3xf32>
    }) : (tensor<i32>) -> tensor<4x3xf32>"""
    which = np.array(number, "int32")
    check(function(body, [X, which], X), [X, which], {0: 2 * X, 1: -X}.get(number, X))


OPEN = """
#loc = loc("x")
module {
  func.func public @main(%arg0: tensor<?x4xf32> loc(#loc), %arg1: tensor<?xf32>) -> tensor<?x2xf32> {
    %n = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32> loc(#loc)
    %m = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %same = stablehlo.compare EQ, %n, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%same, %n) {error_message = "Sizes differ. Using the following"} : (tensor<i1>, tensor<i32>) -> ()
    %two = stablehlo.constant dense<2> : tensor<i32>
    %rows = stablehlo.multiply %n, %two : tensor<i32>
    %1 = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.constant dense<2> : tensor<1xi32>
    %2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_reshape %arg0, %2 : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x2xf32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %4 = stablehlo.dynamic_broadcast_in_dim %one, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x2xf32>
    %5 = stablehlo.add %3, %4 : tensor<?x2xf32> loc(#loc)
    return %5 : tensor<?x2xf32>
  }
}
"""


def test_open_sizes() -> None:
    """They stay open; what the text asserts of them is checked in each run."""
    module = from_stablehlo(OPEN)
    run = baton.compile(module)
    for rows in (1, 3):
        x = np.random.default_rng(rows).random((rows, 4), np.float32)
        np.testing.assert_allclose(run(x, x[:, 0])[0], x.reshape(-1, 2) + 1)
    with pytest.raises(Exception, match="Sizes differ"):
        run(np.zeros((3, 4), "float32"), np.zeros(2, "float32"))


def test_given_inputs() -> None:
    n = tir.Var("n", "int64")
    module = from_stablehlo(OPEN, [((n, 4), "float32"), ((n,), "float32")])
    assert [str(d) for d in module["main"].ret_struct_info.shape.values] == ["n * T.int64(2)", "T.int64(2)"]
    assert all(n in relax.analysis.tir_vars_in_struct_info(p.struct_info) for p in module["main"].params)
    with pytest.raises(DiagnosticError, match="main has 2 parameters, input_info 1"):
        from_stablehlo(OPEN, [((n, 4), "float32")])


def test_the_generic_form() -> None:
    text = """
"builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<3xf32>}> : () -> tensor<3xf32>
    %1 = "stablehlo.dot_general"(%arg0, %0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    "func.return"(%1) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
    check(text, [X[:2]], X[:2].sum(1))


def test_objects_that_have_text() -> None:
    class Lowered:
        def as_text(self) -> str:
            return function("%r = stablehlo.abs %a : tensor<4x3xf32>", [X], X)

    assert "R.abs" in from_stablehlo(Lowered()).script()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("module {}", "no function @main"),
        (function("%r = stablehlo.fft %a : tensor<4x3xf32>", [X], X), "not supported: stablehlo.fft"),
        (function("%r = stablehlo.add %a, %q : tensor<4x3xf32>", [X], X), "%q has no value here"),
        (function("%r = call @f(%a) : (tensor<4x3xf32>) -> tensor<4x3xf32>", [X], X), "no function @f"),
        (function("%r = stablehlo.add %a, ", [X], X)[:90], "the text ends"),
        (function("%r = stablehlo.add %a, %b : tensor<4x3xf32>", [X, X[:2]], X), r"stablehlo\.add in line 3"),
        ("func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<f32> {\n}", "the type tensor<2xcomplex<f32>> is not"),
        (function("%r = stablehlo.custom_call @f(%a) : (tensor<4x3xf32>) -> tensor<4x3xf32>", [X], X), "custom call 'f'"),
        (3, "a StableHLO module is needed, got a int"),
    ],
)  # fmt: skip
def test_what_is_refused(text: Any, told: str) -> None:
    with pytest.raises(DiagnosticError, match=told):
        from_stablehlo(text)
