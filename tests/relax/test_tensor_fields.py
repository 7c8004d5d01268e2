"""Fields of tensors as expressions (`x.shape[0]`, `x.dtype.bits`): in scripts, in texts, under a builder, compiled."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import ir, relax, tir
from baton.script import from_source
from baton.script import relax as R

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32"), i: R.Prim("int64")):
        n = x.shape[1]
        k = x.shape[i]
        rank = x.ndim
        code = x.dtype.type_code
        bits = x.dtype.bits
        lanes = x.dtype.lanes
        step = x.strides[0]
        first = x.elem_offset
        before = x.byte_offset
        return (n, k, rank, code, bits, lanes, step, first, before)
"""


def test_they_are_read_from_the_tensor_when_the_program_runs() -> None:
    module = from_source(TEXT)
    ir.assert_structural_equal(from_source(module.script()), module)
    vm = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())
    found = vm["main"](baton.nd.array(np.ones((5, 7), "float32")), 0)
    assert [int(value) for value in found] == [7, 5, 2, 2, 32, 1, 7, 0, 0]


def test_running_python_may_ask_too() -> None:
    @R.function
    def main(x: R.Tensor((4, "n"), "float16")):
        return (x.shape[0], x.dtype.bits)

    assert [field.value.value for field in main.ret_struct_info.fields] == [4, 16]


def test_what_the_struct_info_says_is_no_question() -> None:
    builder = relax.BlockBuilder()
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((2, n), "float16"))
    with builder.function("main", [x]):
        length = builder.emit(x.shape[1])
        builder.emit_func_output(length)
    assert length.struct_info.value is n


def test_only_tensors_have_them() -> None:
    pair = relax.Var("pair", relax.TupleStructInfo([relax.ObjectStructInfo()]))
    with pytest.raises(AttributeError, match="only tensors have a shape, and this is"):
        _ = pair.shape
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    with pytest.raises(TypeError, match="takes an integer in brackets, not"):
        _ = x.shape[x]
    with pytest.raises(TypeError, match="not iterable"):
        list(x.shape)


def test_variables_of_relax_hash_as_before() -> None:
    """The hash looks at the dtype that variables of TIR are declared with, not at a field computed at run time."""

    def twice(name: str) -> relax.Function:
        x = relax.Var(name, relax.TensorStructInfo((2,), "float32"))
        return relax.Function([x], relax.SeqExpr([], x), is_pure=True)

    assert ir.structural_hash(twice("a")) == ir.structural_hash(twice("b"))
