"""ToMixedPrecision, ConvertLayout, BundleModelParams, UpdateParamStructInfo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.passes.relax.interfaces.param_interfaces import BundleModelParams, UpdateParamStructInfo
from baton._src.passes.relax.layouts.convert_layout import ConvertLayout
from baton._src.passes.relax.operators.to_mixed_precision import ToMixedPrecision
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Call, Tuple, TupleGetItem
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, bindings, called, check, const, program, same_values, tensor
from tests.relax.build import module


def dense(b: Any, x: Any, w: Any) -> Any:
    m = b.emit(R.matmul(x, w))
    r = b.emit(R.nn.relu(m))
    return R.exp(r)


@pytest.mark.rule("RELAX-PASS-21")
def test_products_get_narrow_operands() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], dense)
    after = check(ToMixedPrecision(), before, *arrays((2, 3), (3, 4)), rtol=5e-2)
    (product,) = [b.value for b in bindings(after) if isinstance(b.value, Call) and b.value.op.name == "relax.matmul"]
    assert [str(a.struct_info.dtype) for a in product.args] == ["float16", "float16"]
    assert str(product.struct_info.dtype) == "float32"
    assert after["main"].ret_struct_info.dtype == "float32"


def test_mixed_precision_runs_compiled() -> None:
    """Kernels in half precision and the casts around them, by machine code."""
    before = program([tensor("x", 5, 8), tensor("w", 8, 4)], dense)
    x, w = (a / 4 for a in arrays((5, 8), (8, 4)))
    for step in (ToMixedPrecision(), ToMixedPrecision(out_dtype="float16")):
        machine = relax.VirtualMachine(relax.build(step(before), "llvm"), baton.cpu())
        same_values(machine["main"](x, w).numpy(), np.exp(np.maximum(x @ w, 0)), 1e-2)


@pytest.mark.rule("RELAX-PASS-21")
def test_narrow_results_are_followed() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], dense)
    after = check(ToMixedPrecision("float16"), before, *arrays((2, 3), (3, 4)), rtol=5e-2)
    dtypes = {b.value.op.name: str(b.var.struct_info.dtype) for b in bindings(after)}
    assert dtypes["relax.nn.relu"] == "float16"
    assert dtypes["relax.exp"] == "float16"
    assert after["main"].ret_struct_info.dtype == "float32"
    with pytest.raises(DiagnosticError, match="out_dtype"):
        ToMixedPrecision("int8")


def test_inputs_may_come_in_narrow() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], dense)
    after = check(ToMixedPrecision(fp16_input_names=["w"]), before)
    assert str(after["main"].params[1].struct_info.dtype) == "float16"
    x, w = arrays((2, 3), (3, 4))
    same_values(evaluate(after, "main", x, w.astype("float16")), evaluate(before, "main", x, w), 5e-2)


def test_functions_that_are_called_take_what_their_callers_have() -> None:
    """They took float16, and callers went on giving float32."""
    before = module("""
@R.function(private=True)
def product(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((2, 4), "float32"):
    with R.dataflow():
        y = R.matmul(x, w)
        R.output(y)
    return y

@R.function
def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((2, 4), "float32"):
    with R.dataflow():
        y = cls.product(x, w)
        R.output(y)
    return y
""")
    after = check(ToMixedPrecision(fp16_input_names=["w"]), before)
    assert [str(after[name].params[1].struct_info.dtype) for name in ("main", "product")] == ["float16", "float32"]
    with pytest.raises(DiagnosticError, match="no function has a parameter 'weight'"):
        ToMixedPrecision(fp16_input_names=["weight"])(before)


def convolutions(b: Any, x: Any, w: Any) -> Any:
    c = b.emit(R.nn.conv2d(x, w, padding=1))
    r = b.emit(R.nn.relu(c))
    s = b.emit(R.add(r, const(np.arange(3).reshape(3, 1, 1))))
    return R.nn.conv2d(s, w, padding=1)


@pytest.mark.rule("RELAX-PASS-20")
def test_convolutions_change_layout_and_what_is_between_follows() -> None:
    before = program([tensor("x", 1, 3, 5, 4), tensor("w", 3, 3, 3, 3)], convolutions)
    step = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    after = check(step, before, *arrays((1, 3, 5, 4), (3, 3, 3, 3)), rtol=1e-3)
    assert called(after) == [
        *("permute_dims", "permute_dims", "nn.conv2d", "nn.relu"),
        *("expand_dims", "permute_dims", "add", "permute_dims", "nn.conv2d", "permute_dims"),
    ]
    attrs = bindings(after)[2].value.attrs
    assert (attrs.data_layout, attrs.kernel_layout, attrs.out_layout) == ("NHWC", "OHWI", "NHWC")


@pytest.mark.rule("RELAX-PASS-20")
def test_parts_follow_and_go_back_where_they_are_needed() -> None:
    """Both parts of a split stay in the new layout; each use in the old one has its own transpose right before."""

    def parts(b: Any, x: Any, w: Any) -> Any:
        halves = b.emit(R.split(b.emit(R.nn.conv2d(x, w, padding=1)), 2, axis=1))
        first, second = b.emit(halves[0]), b.emit(halves[1])
        flat = b.emit(R.reshape(first, (1, 40)))
        mean = b.emit(R.mean(second, axis=[2, 3]))
        return R.matmul(mean, b.emit(R.reshape(flat, (2, 20))))

    before = program([tensor("x", 1, 3, 5, 4), tensor("w", 4, 3, 3, 3)], parts)
    step = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    after = check(step, before, *arrays((1, 3, 5, 4), (4, 3, 3, 3)), rtol=1e-3)
    assert called(after) == [
        *("permute_dims", "permute_dims", "nn.conv2d", "split", "TupleGetItem", "TupleGetItem"),
        *("permute_dims", "reshape", "mean", "reshape", "matmul"),
    ]


def test_layouts_must_have_the_same_axes() -> None:
    before = program([tensor("x", 1, 3, 5, 4), tensor("w", 3, 3, 3, 3)], convolutions)
    with pytest.raises(DiagnosticError, match="cannot become NWC"):
        ConvertLayout({"relax.nn.conv2d": ["NWC", "OHWI"]})(before)
    with pytest.raises(DiagnosticError, match="no layout"):
        ConvertLayout({"relax.nn.relu": ["NHWC"]})(before)


def test_weights_come_as_a_tuple() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], dense, num_input=1)
    after = check(BundleModelParams(), before)
    assert [p.name_hint for p in after["main"].params] == ["x", "model_params"]
    x, w = arrays((2, 3), (3, 4))
    same_values(evaluate(after, "main", x, (w,)), evaluate(before, "main", x, w))


def test_bundled_weights_in_a_returned_tuple() -> None:
    """Weights in it were left without a binding."""
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], lambda b, x, w: Tuple([x, w]), num_input=1)
    after = BundleModelParams()(before)
    assert well_formed(after) == []
    x, w = arrays((2, 3), (3, 4))
    same_values(evaluate(after, "main", x, (w,)), (x, w))


def test_calls_of_bundled_functions_hand_on_a_tuple() -> None:
    """They went on giving the weights one by one: an ill-formed program."""
    before = module("""
@R.function
def step(x: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
    R.func_attr({"num_input": 1})
    y = R.add(R.matmul(x, w), v)
    return y

@R.function
def main(x: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 2), "float32"), c: R.Tensor((), "bool")):
    R.func_attr({"num_input": 1})
    if c:
        y = cls.step(x, v, v)
    else:
        y = cls.step(cls.step(x, x, v), v, x)
    return y
""")
    after = BundleModelParams()(before)
    assert well_formed(after) == []
    x, v = arrays((2, 2), (2, 2))
    for flag in (np.bool_(True), np.bool_(False)):
        found = Interpreter(after).run("main", x, (v, flag)).numpy()
        same_values(found, Interpreter(before).run("main", x, v, flag).numpy())


def test_bundled_functions_as_values_keep_their_signature() -> None:
    """Stored, passed on or under another name, they were called with the parameters one by one: an error when run."""
    before = module("""
@R.function
def twice(
    f: R.Callable((R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), R.Tensor((2,), "float32")),
    x: R.Tensor((2,), "float32"),
) -> R.Tensor((2,), "float32"):
    return f(f(x, x), x)

@R.function
def step(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    R.func_attr({"num_input": 1})
    return R.multiply(x, R.exp(w))

@R.function
def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    R.func_attr({"num_input": 1})
    t = (cls.step, cls.twice(cls.step, x))
    g = cls.step
    return R.add(t[0](t[1], w), R.add(g(x, w), cls.step(w, x)))
""")
    after = BundleModelParams()(before)
    assert well_formed(after) == []
    x, w = arrays((2,), (2,))
    same_values(Interpreter(after).run("main", x, (w,)).numpy(), Interpreter(before).run("main", x, w).numpy())


def test_annotations_of_parameters_change() -> None:
    """Copies follow: that of `x` kept the old annotation, an error."""
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], lambda b, x, w: dense(b, b.emit(x), w))

    def wider(param: Any) -> Any:
        return TensorStructInfo([7, 3], "float32") if param.name_hint == "x" else None

    after = check(UpdateParamStructInfo(wider), before)
    assert [int(d.value) for d in after["main"].ret_struct_info.shape.values] == [7, 4]


TUPLES = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((2, 4), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    z = R.concat((x, x), axis=0)
    t = (y, (z, x))
    u = t[1][1]
    if c:
        v = R.add(u, u)
        o = (v, y)
    else:
        o = (u, y)
    return (z, (u, o))
"""


@pytest.mark.parametrize("info", [TensorStructInfo([2, 4], "float32"), TensorStructInfo(None, "float32", ndim=2)])
def test_tuples_of_what_depends_on_a_parameter_change(info: TensorStructInfo) -> None:
    """Operands, nested fields and results said `n` still, which no parameter shows any more: an ill-formed program."""
    before = module(TUPLES)
    after = UpdateParamStructInfo(lambda param: info if param.name_hint == "x" else None)(before)
    assert well_formed(after) == []
    args = (*arrays((2, 4), (2, 4)), np.bool_(True))
    same_values(evaluate(after, "main", *args), evaluate(before, "main", *args))


def test_what_names_axes_or_layouts_follows() -> None:
    """Pooling, concat, softmax, reductions and padding-free attributes stay in the new layout; axes are renumbered."""

    def build(b: Any, x: Any, w: Any) -> Any:
        c = b.emit(R.nn.conv2d(x, w, padding=1))
        p = b.emit(R.nn.max_pool2d(c, (2, 2), strides=(2, 2)))
        r = b.emit(R.nn.leakyrelu(p, 0.1))
        j = b.emit(R.concat((r, p), axis=1))
        s = b.emit(R.nn.softmax(j, axis=-3))
        m = b.emit(R.mean(s, axis=[2, 3], keepdims=True))
        u = b.emit(R.multiply(s, m))
        return R.max(u, axis=[1])

    before = program([tensor("x", 2, 4, 6, 6), tensor("w", 8, 4, 3, 3)], build)
    step = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    after = check(step, before, *arrays((2, 4, 6, 6), (8, 4, 3, 3)), rtol=1e-4)
    kinds = called(after)
    assert kinds.count("permute_dims") == 2  # of x and w alone
    attrs = {b.value.op.name: b.value.attrs for b in bindings(after)}
    assert attrs["relax.nn.max_pool2d"].layout == "NHWC"
    assert attrs["relax.concat"].axis == attrs["relax.nn.softmax"].axis == 3
    assert attrs["relax.mean"].axis == (1, 2)
    assert attrs["relax.max"].axis == (3,)


def test_axes_that_reductions_leave_come_back_in_order() -> None:
    """Folding the batch leaves (H, W, C) of NHWC, which is transposed back to (C, H, W)."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.sum(b.emit(R.nn.conv2d(x, w)), axis=[0])

    before = program([tensor("x", 2, 4, 6, 6), tensor("w", 8, 4, 3, 3)], build)
    step = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    check(step, before, *arrays((2, 4, 6, 6), (8, 4, 3, 3)), rtol=1e-4)


def test_layouts_of_users_of_a_result_are_their_own() -> None:
    """A resize and a total over all axes: values stay, whatever layout they are computed in."""

    def build(b: Any, x: Any, w: Any) -> Any:
        c = b.emit(R.nn.conv2d(x, w))
        s = b.emit(R.image.resize2d(c, (8, 8), layout="NCHW", method="nearest_neighbor"))
        return R.add(b.emit(R.sum(s)), b.emit(R.sum(c, axis=[-1, 1])))

    before = program([tensor("x", 2, 4, 6, 6), tensor("w", 8, 4, 3, 3)], build)
    step = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    check(step, before, *arrays((2, 4, 6, 6), (8, 4, 3, 3)), rtol=1e-4)


def test_what_has_an_unknown_rank_keeps_its_layout() -> None:
    """It got nine axes, and the pass failed."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.nn.relu(b.emit(R.nn.conv2d(x, w)))

    x = relax.Var("x", TensorStructInfo(None, "float32"))
    before = program([x, tensor("w", 3, 2, 3, 3)], build)
    assert ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(before) is before


def test_normalisations_slices_borders_casts_and_transposes_follow() -> None:
    """Each of them had transposes around it; the one at the end is none any more."""

    def build(b: Any, x: Any, w: Any) -> Any:
        ones, twos = const(np.ones(8)), const(np.full(8, 2))
        y = b.emit(R.nn.conv2d(x, w, padding=1))
        y = b.emit(TupleGetItem(b.emit(R.nn.batch_norm(y, ones, twos, ones, twos, axis=1)), 0))
        y = b.emit(R.nn.group_norm(y, ones, twos, num_groups=2, channel_axis=1, axes=[2, 3]))
        y = b.emit(R.nn.instance_norm(y, ones, twos, channel_axis=1, axes=[2, 3]))
        y = b.emit(R.nn.layer_norm(y, const(np.ones((8, 5))), const(np.ones((8, 5))), axes=[1, 2]))
        y = b.emit(R.strided_slice(b.emit(R.nn.pad(y, (0, 0, 0, 0, 1, 2, 0, 1))), [1, 3], [0, 1], [6, 4]))
        y = b.match_cast(b.emit(R.clip(y, -1, 1)), TensorStructInfo([2, 6, 8, 3], "float32"))
        y = b.emit(R.squeeze(b.emit(R.expand_dims(y, [0, 3])), [3, 0]))
        pair = b.emit(Tuple([y, x]))
        return R.permute_dims(b.emit(TupleGetItem(pair, 0)), [0, 2, 3, 1])

    before = program([tensor("x", 2, 4, 5, 5), tensor("w", 8, 4, 3, 3)], build)
    args = arrays((2, 4, 5, 5), (8, 4, 3, 3))
    for wanted, left in ((["NHWC", "OHWI"], 2), (["CHWN", "IHWO", "HWCN"], 4)):  # groups need the batch first
        after = check(ConvertLayout({"relax.nn.conv2d": wanted}), before, *args, rtol=1e-4)
        assert called(after).count("permute_dims") == left
