"""FuseTransposeMatmul, AttachAttrLayoutFreeBuffers, AllocateWorkspace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relax.layouts.attach_layout_free_buffers import AttachAttrLayoutFreeBuffers
from baton._src.passes.relax.machine.allocate_workspace import AllocateWorkspace
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.passes.relax.products.fuse_transpose_matmul import FuseTransposeMatmul
from baton._src.relax.nodes import DataflowBlock, Function
from baton._src.relax.well_formed import well_formed
from tests.passes.relax.programs import R, arrays, called, check, dim, program, tensor, weights
from tests.relax.build import load


@pytest.mark.parametrize(
    ("left", "right", "axes", "name"),
    [
        ((3, 4), (5, 4), None, "nn.dense"),
        ((2, 3, 4), (5, 4), (1, 0), "nn.dense"),
        ((2, 3, 4), (2, 5, 4), (0, 2, 1), "nn.batch_matmul"),
    ],
)
def test_transposed_weights_are_read_as_they_lie(left: Any, right: Any, axes: Any, name: str) -> None:
    def build(b: Any, x: Any, w: Any) -> Any:
        return R.matmul(x, b.emit(R.permute_dims(w, axes)))

    before = program([tensor("x", *left), tensor("w", *right)], build)
    after = check(FuseTransposeMatmul(), before, *arrays(left, right))
    assert called(after) == [name]
    assert len(LegalizeOps()(after).functions) == 2


def test_what_else_is_permuted_stays() -> None:
    def build(b: Any, x: Any, w: Any) -> Any:
        return R.matmul(x, b.emit(R.permute_dims(w, (1, 2, 0))))

    before = program([tensor("x", 2, 3, 4), tensor("w", 5, 2, 4)], build)
    assert FuseTransposeMatmul()(before) is before


def test_symbolic_rows_and_a_transpose_that_others_use() -> None:
    def build(b: Any, x: Any, w: Any) -> Any:
        turned = b.emit(R.permute_dims(w))
        return R.add(b.emit(R.matmul(x, turned)), b.emit(R.sum(turned, axis=[0])))

    before = program([tensor("x", dim(), 4), tensor("w", 5, 4)], build)
    after = check(FuseTransposeMatmul(), before, *arrays((3, 4), (5, 4)))
    assert called(after) == ["permute_dims", "nn.dense", "sum", "add"]


def test_weights_are_marked() -> None:
    """A constant and a parameter behind the inputs are weights; equal calls share a kernel, others keep theirs."""
    w = weights(4, 4)

    def build(b: Any, x: Any, p: Any) -> Any:
        one = b.emit(R.matmul(x, w))
        two = b.emit(R.matmul(one, p))
        return R.matmul(two, x)

    before = LegalizeOps()(program([tensor("x", 4, 4), tensor("p", 4, 4)], build, num_input=1))
    after = check(AttachAttrLayoutFreeBuffers(), before, *arrays((4, 4), (4, 4)))
    marked = {
        v.name_hint: f.attrs.get("layout_free_buffers")
        for v, f in after.functions.items()
        if not isinstance(f, Function)
    }
    assert sorted(map(str, marked.values())) == ["None", "[1]"]
    assert called(after)[0] == called(after)[1] != called(after)[2]
    plain = LegalizeOps()(program([tensor("x", 4, 4)], lambda b, x: R.matmul(x, x)))
    assert AttachAttrLayoutFreeBuffers()(plain) is plain


WORKSPACE = """
@I.ir_module
class Module:
    @R.function
    def small(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Codegen": "ext", "WorkspaceSize": 16})
        y = R.exp(x)
        return y

    @R.function
    def large(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Codegen": "ext"})
        @R.function(private=True)
        def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Composite": "ext.exp", "WorkspaceSize": 64})
            u = R.exp(z)
            return u
        y = inner(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            a = cls.small(x)
            b = cls.large(a)
            R.output(b)
        return b
"""


def test_one_workspace_for_all_calls_of_a_function() -> None:
    before = load(WORKSPACE)
    after = check(AllocateWorkspace(), before, np.ones(4, "float32"))
    assert well_formed(after) == []
    assert called(after) == ["builtin.alloc_tensor", "small1", "large1"]
    assert [int(d.value) for d in after["large1"].params[1].struct_info.shape.values] == [64]
    assert after["small1"].attrs["global_symbol"] == "small1"
    inner, call = (b.value for b in after["large1"].body.blocks[0].bindings)
    assert len(inner.params) == 2
    assert call.args[-1] is after["large1"].params[-1]  # the function inside gets the workspace, too
    assert "main" in [v.name_hint for v in after.functions]
    (block,) = after["main"].body.blocks
    assert isinstance(block, DataflowBlock)  # where the calls are, the memory is
    untouched = program([tensor("x", 4)], lambda b, x: R.exp(x))
    assert AllocateWorkspace()(untouched) is untouched
    assert AllocateWorkspace()(after) is after  # the sizes are gone
