"""Operators whose sizes, rank or dtype are unknown when compiling give, when run, what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Call, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import Var as TirVar
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import array
from tests.ops.sampled_calls import SampledCall
from tests.relax.machines import everywhere, fails_everywhere, table

NAMES = ["grad.nll_loss_backward", "layout_transform", "nn.nll_loss", "unravel_index", "nn.batch_norm", "concat"]


def _parameter(arg: Arr, name: str, said: str) -> Var:
    """A parameter for the sample's tensor, of which only so much is said."""
    rank = len(arg.shape)
    infos = {
        "variables": lambda: TensorStructInfo([TirVar(f"{name}_{i}", "int64") for i in range(rank)], arg.dtype),
        "rank": lambda: TensorStructInfo(None, arg.dtype, ndim=rank),
        "nothing": lambda: TensorStructInfo(None, None),
    }
    return Var(name, infos[said]())


def _samples() -> list[Any]:
    return [
        pytest.param(name, sample, id=f"{name}-{number}")
        for name in NAMES
        for number, sample in enumerate(CATALOGUE.get(name).samples())
        if all(isinstance(a, Arr) and a.dtype != "float16" for a in sample.args)
    ]


@pytest.mark.rule("RELAX-OPSHAPE-16")
@pytest.mark.parametrize("said", ["variables", "rank", "nothing"])
@pytest.mark.parametrize(("name", "sample"), _samples())
def test_what_is_unknown_when_compiling_is_found_when_running(name: str, sample: Sample, said: str) -> None:
    """Guards lowering of operators about which too little is known: a correct program runs."""
    values = SampledCall(CATALOGUE.get(name), sample, symbolic=False).values
    params = [_parameter(arg, f"p{i}", said) for i, arg in enumerate(sample.args)]
    builder = BlockBuilder()
    with builder.function("main", params):
        call = Call(CATALOGUE.relax(name), params, sample.attrs if CATALOGUE.get(name).attrs.names else None)
        builder.emit_func_output(builder.emit(call))
    module = builder.get()
    wanted = Interpreter(module)["main"](*map(array, values))
    found = VirtualMachine(relax_build(module))["main"](*map(array, values))
    for a, b in zip(_parts(found), _parts(wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def _parts(value: Any) -> list[np.ndarray[Any, Any]]:
    return [v.numpy() for v in value] if isinstance(value, tuple) else [value.numpy()]


PUT = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), at: R.Tensor(("p",), "int64"), new: R.Tensor(("a", "b"), "float32")):
    return R.index_put(x, (at,), new, accumulate=True)
"""
PUT_BY_TWO = """
@R.function
def main(
    x: R.Tensor(("n", 3), "float32"), rows: R.Tensor(("p",), "int64"), columns: R.Tensor(("q",), "int64"),
    new: R.Tensor(("a",), "float32"),
):
    return R.index_put(x, (rows, columns), new, accumulate=True)
"""
BIASED = """
@R.function
def main(q: R.Tensor((2, "n", 2, 4), "float32"), bias: R.Tensor(("b", "h", "m", "k"), "float32")):
    return R.nn.attention_bias(q, q, q, bias)
"""


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (1, 1)])
def test_values_to_put_are_repeated_where_they_turn_out_to_be_one(shape: tuple[int, ...]) -> None:
    """Guards NumPy's rule of broadcasting where only the run knows the sizes: they were refused."""
    x, at, new = np.ones((4, 3), "float32"), np.array([2, 0]), np.arange(1, 1 + np.prod(shape), dtype="float32")
    expected = x.copy()
    expected[at] += new.reshape(shape)
    np.testing.assert_array_equal(everywhere(PUT, x, at, new.reshape(shape)).numpy(), expected)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 1, 2), (1, 2, 2), (2, 1, 1), (1, 2, 1), (1, 1, 1), (0, 1, 1)])
def test_indices_are_repeated_where_they_turn_out_to_be_one(sizes: tuple[int, ...]) -> None:
    """Guards the same for tensors of indices beside each other: they had to be of one size."""
    x, new = np.ones((4, 3), "float32"), np.arange(1, 1 + sizes[2], dtype="float32")
    rows, columns = np.array([2, 0])[: sizes[0]], np.array([1, 2])[: sizes[1]]
    expected = x.copy()
    expected[rows, columns] += new
    np.testing.assert_array_equal(everywhere(PUT_BY_TWO, x, rows, columns, new).numpy(), expected)


def test_indices_that_do_not_go_together_are_refused() -> None:
    given = (np.ones((4, 3), "float32"), np.array([0, 1, 2]), np.array([0, 1]), np.ones(1, "float32"))
    fails_everywhere(PUT_BY_TWO, *given, says="index_put")


@pytest.mark.parametrize("shape", [(2, 2, 5, 5), (1, 2, 1, 5), (2, 1, 5, 1)])
def test_biases_of_attention_are_repeated_where_they_turn_out_to_be_one(shape: tuple[int, ...]) -> None:
    """Guards the same for attention."""
    rng = np.random.default_rng(0)
    q, bias = (rng.standard_normal(s).astype("float32") for s in ((2, 5, 2, 4), shape))
    whole = np.broadcast_to(bias, (2, 2, 5, 5)).copy()
    np.testing.assert_allclose(everywhere(BIASED, q, bias).numpy(), everywhere(BIASED, q, whole).numpy(), rtol=1e-5)


@pytest.mark.parametrize("places", ["1", '"p"'])
def test_more_values_than_places_are_refused(places: str) -> None:
    """Guards index_put, whose rule let the places be repeated as well: all values but the first were lost."""
    body = PUT.replace('"p"', places).replace('"a", "b"', "2, 3")
    with pytest.raises(DiagnosticError, match=r"do not fit the places|is 2, expected 1|is 1, expected 2"):
        everywhere(body, np.ones((4, 3), "float32"), np.array([2]), np.ones((2, 3), "float32"))


def test_rows_of_one_hot_have_the_dtype_of_the_two_values() -> None:
    """Guards the interpreter, which took a number's float64 for float32."""
    program = '@R.function\ndef main(x: R.Tensor(("n",), "int64")):\n    return R.one_hot(x, {0}(1), {0}(0), depth=2)'
    for value, dtype in (("R.prim_value", "int64"), ("T.float32", "float32"), ("T.float64", "float64")):
        assert everywhere(program.format(value), np.array([1, 0])).dtype == dtype


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_no_element_is_the_largest_of_none(name: str) -> None:
    """Guards kernels, which told of an element number 2**63 - 1."""
    program = f'@R.function\ndef main(x: R.Tensor((2, "n"), "float32")):\n    return R.{name}(x, axis=1)'
    assert everywhere(program, np.zeros((2, 1), "float32")).numpy().tolist() == [0, 0]
    fails_everywhere(program, np.zeros((2, 0), "float32"), says=name)


@pytest.mark.parametrize("call", ["argmax(x, axis=1)", "grad.max_pool1d_backward(x, x, pool_size=1)"])
def test_nothing_is_looked_for_in_batches_of_none(call: str) -> None:
    """Guards the interpreter, where NumPy could not tell the sizes of what is empty."""
    program = f'@R.function\ndef main(x: R.Tensor(("n", 2, 4), "float32")):\n    return R.{call}'
    assert everywhere(program, np.zeros((0, 2, 4), "float32")).shape[0] == 0


@pytest.mark.parametrize(("name", "floats", "integers"), [("max", -np.inf, -(2**31)), ("min", np.inf, 2**31 - 1)])
def test_extrema_of_nothing_are_the_ends_of_the_dtype(name: str, floats: float, integers: int) -> None:
    """Guards the interpreter, which refused what kernels compute."""
    for dtype, expected in (("float32", floats), ("int32", integers)):
        program = f'@R.function\ndef main(x: R.Tensor((2, "n"), "{dtype}")):\n    return R.{name}(x, axis=1)'
        assert everywhere(program, np.zeros((2, 0), dtype)).numpy().tolist() == [expected] * 2


def test_outputs_of_negative_size_are_refused_as_values() -> None:
    """Guards the interpreter, where NumPy's own error came out, and bytecode, which told of memory."""
    program = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    return R.call_dps_packed("test.fill", (x,), out_sinfo=R.Tensor((n - 3,), "float32"))
"""
    known = table(fill=lambda x, out: None)
    fails_everywhere(program, np.zeros(2, "float32"), functions=known, code="value-mismatch", says="(-1,)")


@pytest.mark.parametrize("times", [0, 1, 3])
def test_tiles_are_repeated_as_often_as_a_size_says(times: int) -> None:
    """Guards the interpreter, which took the variable of an attribute for a number."""
    program = """
@R.function
def main(x: R.Tensor((2, 3), "float32"), s: R.Shape(["k"])):
    k = T.int64()
    return R.tile(x, (k, 1))
"""
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(everywhere(program, x, ShapeTuple([times])).numpy(), np.tile(x, (times, 1)))
