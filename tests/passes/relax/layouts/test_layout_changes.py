"""AlterOpImpl and OptimizeLayoutTransform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.layouts.alter_op_impl import AlterOpImpl
from baton._src.passes.relax.layouts.optimize_layout_transform import OptimizeLayoutTransform
from baton._src.relax.nodes import Call
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.index_map import IndexMap
from tests.passes.relax.programs import R, arrays, called, check, dim, program, tensor
from tests.relax.build import load
from tests.relax.machines import everywhere


def add(shape: str, loops: str, name: str = "relax.add") -> str:
    """The text of a kernel that adds tensors of a shape."""
    indices = ", ".join(f"v{i}" for i in range(shape.count(",")))
    count = shape.count(",")
    axes = "".join(f"                v{i} = T.axis.spatial({d}, i{i})\n" for i, d in enumerate(loops.split(", ")))
    return f"""
    @T.prim_func(private=True)
    def add(a: T.Buffer({shape}, "float32"), b: T.Buffer({shape}, "float32"), c: T.Buffer({shape}, "float32")):
        T.func_attr({{"operator_name": "{name}"}})
        for {", ".join(f"i{i}" for i in range(count))} in T.grid({loops}):
            with T.block("add"):
{axes}                c[{indices}] = a[{indices}] + b[{indices}]
"""


def two_adds(size: int, operand: str = "") -> IRModule:
    whole = f'R.Tensor(({size},), "float32")'
    found: IRModule = load(f"""
@I.ir_module
class Module:
{add(f"(T.int64({size}),)", f"T.int64({size})")}
    @R.function
    def main(x: {operand or whole}, y: {operand or whole}) -> {whole}:
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.add, (x, y), out_sinfo={whole})
            b = R.call_tir(cls.add, (a, y), out_sinfo={whole})
            R.output(b)
        return b
""")
    return found


BLOCKED: Any = load(f"@I.ir_module\nclass Module:\n{add('(T.int64(4), T.int64(4),)', 'T.int64(4), T.int64(4)')}")["add"]


def by_four(i: Any) -> Any:
    return i // 4, i % 4


def altered(transforms: Any = (by_four, by_four, by_four)) -> AlterOpImpl:
    return AlterOpImpl({"relax.add": BLOCKED}, {"relax.add": transforms}, {}, {})


def test_kernels_are_replaced_and_layouts_changed_at_borders() -> None:
    after = check(altered(), two_adds(16), *arrays((16,), (16,)))
    name = "relax_add_replacement"
    assert called(after) == [*["layout_transform"] * 2, name, "layout_transform"] * 2
    assert [v.name_hint for v in after.functions if v.name_hint != "main"] == [name]
    assert altered()(after) is after


def test_transforms_are_maps_functions_or_either_with_separators() -> None:
    plain = altered()(two_adds(16))
    separated = IndexMap.from_func_with_separators(lambda i: (i // 4, IndexMap.AXIS_SEPARATOR, i % 4))
    for form in (separated[0], separated, lambda i: (i // 4, IndexMap.AXIS_SEPARATOR, i % 4)):
        again = AlterOpImpl({"relax.add": BLOCKED}, {"relax.add": [form] * 3}, None, None)(two_adds(16))
        assert called(again) == called(plain)
        check(AlterOpImpl({"relax.add": BLOCKED}, {"relax.add": [form] * 3}), two_adds(16), *arrays((16,), (16,)))


def test_transforms_that_meet_go_away() -> None:
    """Between the two kernels nothing is left; what becomes of operands and the result stays."""
    before = altered()(two_adds(16))
    after = check(OptimizeLayoutTransform(), before, *arrays((16,), (16,)))
    after = check(DeadCodeElimination(), after, *arrays((16,), (16,)))
    kinds = called(after)
    assert kinds.count("relax_add_replacement") == 2
    assert kinds.count("layout_transform") == 4  # x, y twice, the result


def test_padding_is_filled_and_cut_off() -> None:
    after = check(altered(), two_adds(14), *arrays((14,), (14,)))
    assert called(after).count("strided_slice") == 2
    pads = [b.value.attrs.pad_value for b in _transforms(after)]
    assert pads == [0, 0, None, 0, 0, None]
    assert OptimizeLayoutTransform()(after) is after


OPEN = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(a: T.handle, b: T.handle):
        T.func_attr({"operator_name": "twice"})
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(2)), "float32")
        B = T.match_buffer(b, (n, T.int64(2)), "float32")
        for i, j in T.grid(n, T.int64(2)):
            with T.block("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((n, 2), "float32"))
            R.output(y)
        return y
"""
TWICE_IN_BLOCKS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(a: T.handle, b: T.handle):
        T.func_attr({"operator_name": "twice"})
        m = T.int64()
        A = T.match_buffer(a, (m, T.int64(1), T.int64(3), T.int64(4)), "float32")
        B = T.match_buffer(b, (m, T.int64(1), T.int64(3), T.int64(4)), "float32")
        for h, i, j, k in T.grid(m, T.int64(1), T.int64(3), T.int64(4)):
            with T.block("twice"):
                vh, vi, vj, vk = T.axis.remap("SSSS", [h, i, j, k])
                B[vh, vi, vj, vk] = A[vh, vi, vj, vk] + A[vh, vi, vj, vk]
"""


@pytest.mark.parametrize("rows", [0, 2, 3, 7])
def test_blocks_of_open_sizes_and_blocks_larger_than_the_axis(rows: int) -> None:
    """Open sizes were said to have no inverse, and the kernel's result to have smaller blocks than its operand."""
    blocks = [lambda i, j: (i // 3, j // 4, i % 3, j % 4)] * 2
    alter = AlterOpImpl({"twice": load(TWICE_IN_BLOCKS)["twice"]}, {"twice": blocks})
    after = check(alter, load(OPEN), *arrays((rows, 2)))
    assert called(after) == ["layout_transform", "twice_replacement", "layout_transform", "strided_slice"]
    (x,) = arrays((rows, 2))
    np.testing.assert_array_equal(everywhere(after, x).numpy(), 2 * x)


def _transforms(module: IRModule) -> list[Any]:
    found = [b for block in module["main"].body.blocks for b in block.bindings]
    return [
        b for b in found if isinstance(b.value, Call) and getattr(b.value.op, "name", "") == "relax.layout_transform"
    ]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="3 tensors, but 2 transforms"):
        altered((by_four, by_four))(two_adds(16))
    with pytest.raises(DiagnosticError, match="the layout of a tensor of unknown shape"):
        altered()(two_adds(16, 'R.Tensor("float32", ndim=1)'))
    plain = program([tensor("x", 16)], lambda b, x: R.exp(x))
    assert altered()(plain) is plain


def test_none_stands_for_no_transform_or_separator_of_any_tensor() -> None:
    """Scripts give it for each operator."""
    none = {"relax.add": None}
    separate = AlterOpImpl({"relax.add": BLOCKED}, {"relax.add": [by_four] * 3}, none, none)
    assert_structural_equal(separate(two_adds(16)), altered()(two_adds(16)))
    assert altered()(two_adds(16))["relax_add_replacement"].attrs["operator_name"] == "relax.add"
    plain = two_adds(16)
    same_layout = AlterOpImpl({"relax.add": plain["add"]}, none)
    assert called(check(same_layout, plain, *arrays((16,), (16,)))) == ["relax_add_replacement"] * 2


def test_two_transforms_are_one() -> None:
    n = dim()

    def build(b: Any, x: Any) -> Any:
        turned = b.emit(R.layout_transform(x, lambda i, j: (j, i)))
        return R.layout_transform(turned, lambda i, j: (j, i // 2, i % 2))

    after = check(OptimizeLayoutTransform(), program([tensor("x", n, 8)], build), *arrays((3, 8)))
    (only,) = _transforms(after)
    np.testing.assert_array_equal(len(only.value.attrs.index_map.final_indices), 3)


def test_separators_of_one_transform_are_those_of_its_ends() -> None:
    """The axes of the value between had separators, those of the operand have none."""

    def build(b: Any, x: Any) -> Any:
        turned = b.emit(R.layout_transform(x, lambda i, j: (j, i), axis_separators=[1]))
        separators = {"axis_separators": [2], "input_axis_separators": [1]}
        return R.layout_transform(turned, lambda i, j: (j, i // 2, i % 2), **separators)

    (only,) = _transforms(check(OptimizeLayoutTransform(), program([tensor("x", 6, 8)], build), *arrays((6, 8))))
    assert [int(s) for s in only.value.attrs.axis_separators] == [2]
    assert not only.value.attrs.input_axis_separators
