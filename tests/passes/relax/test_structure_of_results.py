"""What passes make, as TVMScript: the structure that users of TVM v0.19 compare with, not only the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.fusion.fuse_ops_by_pattern import FuseOpsByPattern, FusionPattern
from baton._src.passes.relax.fusion.merge_composite_functions import MergeCompositeFunctions
from baton._src.passes.relax.fusion.pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns
from baton._src.passes.relax.gradient import Gradient
from baton._src.passes.relax.interfaces.lift_transform_params import LiftTransformParams
from baton._src.passes.relax.interfaces.param_interfaces import BundleModelParams
from baton._src.passes.relax.interfaces.unused_interface import ExpandTupleArguments, RemoveUnusedOutputs
from baton._src.passes.relax.machine.kill_after_last_use import KillAfterLastUse
from baton._src.passes.relax.operators.decompose_ops import DecomposeOpsForInference, DecomposeOpsForTraining
from baton._src.relax.patterns.builders import is_op, wildcard
from baton._src.relax.well_formed import well_formed
from tests.passes.relax.programs import becomes
from tests.relax.build import load, module
from tests.relax.machines import everywhere

VECTORS = 'gamma: R.Tensor((4,), "float32"), beta: R.Tensor((4,), "float32")'
STATISTICS = 'mean: R.Tensor((4,), "float32"), var: R.Tensor((4,), "float32")'
BATCH_NORM = f"""
@R.function
def main(x: R.Tensor((2, 4, 3), "float32"), {VECTORS}, {STATISTICS}):
    bn = R.nn.batch_norm(x, gamma, beta, mean, var, axis=1, epsilon=1e-5, momentum=0.1)
    return bn
"""


@pytest.mark.rule("RELAX-PASS-24")
def test_batch_norm_by_the_statistics_given() -> None:
    after = f"""
@R.function
def main(x: R.Tensor((2, 4, 3), "float32"), {VECTORS}, {STATISTICS}):
    lv = R.expand_dims(mean, axis=[0, 2])
    lv1 = R.subtract(x, lv)
    lv2 = R.expand_dims(var, axis=[0, 2])
    lv3 = R.add(lv2, R.const(1e-5, "float32"))
    lv4 = R.sqrt(lv3)
    lv5 = R.divide(lv1, lv4)
    lv6 = R.expand_dims(gamma, axis=[0, 2])
    lv7 = R.multiply(lv5, lv6)
    lv8 = R.expand_dims(beta, axis=[0, 2])
    lv9 = R.add(lv7, lv8)
    bn = (lv9, mean, var)
    return bn
"""
    becomes(DecomposeOpsForInference(), BATCH_NORM, after)


@pytest.mark.rule("RELAX-PASS-24")
def test_batch_norm_by_the_statistics_of_the_batch() -> None:
    after = f"""
@R.function
def main(x: R.Tensor((2, 4, 3), "float32"), {VECTORS}, {STATISTICS}):
    lv = R.mean(x, axis=[0, 2], keepdims=False)
    lv1 = R.variance(x, axis=[0, 2], keepdims=False)
    a = R.expand_dims(lv, axis=[0, 2])
    b = R.subtract(x, a)
    c = R.expand_dims(lv1, axis=[0, 2])
    d = R.add(c, R.const(1e-5, "float32"))
    e = R.sqrt(d)
    f = R.divide(b, e)
    g = R.expand_dims(gamma, axis=[0, 2])
    h = R.multiply(f, g)
    i = R.expand_dims(beta, axis=[0, 2])
    j = R.add(h, i)
    lv2 = (j, lv, lv1)
    lv3 = lv2[0]
    lv4 = R.multiply(R.const(0.9, "float32"), mean)
    lv5 = R.multiply(R.const(0.1, "float32"), lv)
    lv6 = R.add(lv4, lv5)
    lv7 = R.multiply(R.const(0.9, "float32"), var)
    lv8 = R.multiply(R.const(0.1, "float32"), lv1)
    lv9 = R.add(lv7, lv8)
    bn = (lv3, lv6, lv9)
    return bn
"""
    becomes(DecomposeOpsForTraining("main"), BATCH_NORM, after)


@pytest.mark.rule("RELAX-PASS-24")
def test_layer_norm_is_taken_apart_for_training_only() -> None:
    before = f"""
@R.function
def main(x: R.Tensor((2, 4), "float32"), {VECTORS}):
    y = R.nn.layer_norm(x, gamma, beta, axes=[-1], epsilon=1e-5)
    return y
"""
    after = f"""
@R.function
def main(x: R.Tensor((2, 4), "float32"), {VECTORS}):
    a = R.mean(x, axis=[-1], keepdims=True)
    b = R.subtract(x, a)
    c = R.variance(x, axis=[-1], keepdims=True)
    d = R.add(c, R.const(1e-5, "float32"))
    e = R.sqrt(d)
    f = R.divide(b, e)
    g = R.multiply(f, gamma)
    y = R.add(g, beta)
    return y
"""
    becomes(DecomposeOpsForTraining(), before, after)
    becomes(DecomposeOpsForInference(), before, before)


@pytest.mark.rule("RELAX-PASS-24")
def test_sizes_that_are_read_get_names() -> None:
    before = """
@R.function
def main(t: R.Tensor((2,), "int64")) -> R.Shape(ndim=2):
    s = R.tensor_to_shape(t)
    return s
"""
    after = """
@R.function
def main(t: R.Tensor((2,), "int64")) -> R.Shape(ndim=2):
    a, b = T.int64(), T.int64()
    lv = R.call_pure_packed("vm.builtin.tensor_to_shape", t, sinfo_args=(R.Shape(ndim=2),))
    y = R.match_cast(lv, R.Shape([a, b]))
    s: R.Shape(ndim=2) = R.shape([a, b])
    return s
"""
    becomes(DecomposeOpsForInference(), before, after)
    assert everywhere(after, np.array([2, 3], "int64")) == (2, 3)


@pytest.mark.rule("RELAX-PASS-28")
def test_names_end_after_their_last_use() -> None:
    """Tensors of any origin, then storages, then objects; not shapes, what is returned, and what nobody uses."""
    before = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    s = R.memory.alloc_storage(R.shape([8]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    t = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([2]), R.dtype("float32"))
    unused = R.call_packed("f", x, t, sinfo_args=(R.Tuple,))
    p = (t, x)
    size = R.shape([2])
    copied = t
    y = R.call_packed("g", p, copied, size, sinfo_args=(R.Tensor((2,), "float32"),))
    return y
"""
    after = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    s = R.memory.alloc_storage(R.shape([8]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    t = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([2]), R.dtype("float32"))
    _ = R.memory.kill_storage(s)
    unused = R.call_packed("f", x, t, sinfo_args=(R.Tuple,))
    p = (t, x)
    size = R.shape([2])
    y = R.call_packed("g", p, t, size, sinfo_args=(R.Tensor((2,), "float32"),))
    _1 = R.memory.kill_tensor(t)
    _2 = R.vm.kill_object(p)
    return y
"""
    becomes(KillAfterLastUse(), before, after)


TWO = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.nn.relu(lv)
            R.output(lv1)
        return lv1
"""
ARGS = 'x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")'
MM_RELU = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))


@pytest.mark.rule("RELAX-PASS-18")
def test_composite_functions_stand_inside_those_for_a_compiler() -> None:
    after = f"""
@I.ir_module
class Module:
    @R.function
    def fused_relax_matmul_relax_nn_relu_dnnl({ARGS}):
        R.func_attr({{"Codegen": "dnnl"}})
        @R.function
        def local({ARGS}) -> R.Tensor((2, 2), "float32"):
            R.func_attr({{"Composite": "dnnl.mm_relu", "level": "3"}})
            with R.dataflow():
                lv = R.matmul(x, w)
                gv = R.nn.relu(lv)
                R.output(gv)
            return gv
        output = local(x, w)
        return output

    @R.function
    def main({ARGS}):
        cls = Module
        with R.dataflow():
            gv = cls.fused_relax_matmul_relax_nn_relu_dnnl(x, w)
            R.output(gv)
        return gv
"""
    pattern = FusionPattern("dnnl.mm_relu", MM_RELU, attrs_getter=lambda parts: {"level": "3"})
    assert_structural_equal(FuseOpsByPattern([pattern], annotate_codegen=True)(load(TWO)), load(after))


@pytest.mark.rule("RELAX-PASS-18")
def test_merged_composite_functions_stand_inside() -> None:
    one = 'x: R.Tensor((2, 2), "float32")'
    after = f"""
@I.ir_module
class Module:
    @R.function
    def fused_relax_matmul_relax_nn_relu_dnnl({ARGS}):
        R.func_attr({{"Codegen": "dnnl"}})
        @R.function
        def first({ARGS}) -> R.Tensor((2, 2), "float32"):
            R.func_attr({{"Composite": "dnnl.mm"}})
            with R.dataflow():
                gv = R.matmul(x, w)
                R.output(gv)
            return gv
        lv = first(x, w)
        @R.function
        def second({one}) -> R.Tensor((2, 2), "float32"):
            R.func_attr({{"Composite": "dnnl.relu"}})
            with R.dataflow():
                gv = R.nn.relu(x)
                R.output(gv)
            return gv
        lv1 = second(lv)
        return lv1

    @R.function
    def main({ARGS}):
        cls = Module
        with R.dataflow():
            gv = cls.fused_relax_matmul_relax_nn_relu_dnnl(x, w)
            R.output(gv)
        return gv
"""
    patterns = [
        ("dnnl.mm", is_op("relax.matmul")(wildcard(), wildcard())),
        ("dnnl.relu", is_op("relax.nn.relu")(wildcard())),
    ]
    merged = MergeCompositeFunctions()(FuseOpsByPattern(patterns)(load(TWO)))
    assert_structural_equal(merged, load(after))
    assert [d.render() for d in well_formed(merged)] == []


@pytest.mark.rule("RELAX-PASS-18")
def test_patterns_by_name() -> None:
    """Those registered later go first."""
    register_patterns([("tests.structure.one", MM_RELU), ("tests.structure.two", MM_RELU)])
    assert [p.name for p in get_patterns_with_prefix("tests.structure")] == [
        "tests.structure.two",
        "tests.structure.one",
    ]
    assert get_pattern("tests.structure.one") is get_patterns_with_prefix("tests.structure.one")[0]
    assert get_pattern("tests.structure.three") is None


@pytest.mark.rule("RELAX-PASS-11")
def test_tuples_and_unused_results_leave_nothing_behind() -> None:
    pair = 'R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))'
    before = f"""
@R.function(private=True)
def f(t: R.Tuple(R.Tensor((2,), "float32"), {pair})):
    inner = t[1]
    a = inner[0]
    b = R.exp(a)
    c = R.sin(a)
    r = (b, c)
    return r

@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    cls = Module
    p = (x, y)
    q = (y, p)
    u = cls.f(q)
    v = u[1]
    return v
"""
    expanded = """
@R.function(private=True)
def f(t_0: R.Tensor((2,), "float32"), t_1_0: R.Tensor((2,), "float32"), t_1_1: R.Tensor((2,), "float32")):
    b = R.exp(t_1_0)
    c = R.sin(t_1_0)
    r = (b, c)
    return r

@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    cls = Module
    u = cls.f(y, x, y)
    v = u[1]
    return v
"""
    narrow = """
@R.function(private=True)
def f(t_0: R.Tensor((2,), "float32"), t_1_0: R.Tensor((2,), "float32"), t_1_1: R.Tensor((2,), "float32")):
    c = R.sin(t_1_0)
    return c

@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    cls = Module
    u = cls.f(y, x, y)
    return u
"""
    becomes(ExpandTupleArguments(), before, expanded)
    becomes(RemoveUnusedOutputs(), expanded, narrow)


@pytest.mark.rule("RELAX-PASS-23")
def test_gradients_leave_the_block_one_by_one() -> None:
    """No sum back where shapes agree, and to a shape where it is known; a cast that is returned is an output, too."""
    before = """
@R.function
def main(x: R.Tensor((3, 3), "float32"), y: R.Tensor((3,), "float32"), z: R.Tensor(dtype="float32")):
    with R.dataflow():
        a = R.add(x, y)
        b = R.sum(a, axis=[0, 1], keepdims=True)
        c = R.reshape(b, ())
        d = R.match_cast(z, R.Tensor((2,), "float32"))
        R.output(c, d)
    return (c, d)
"""
    after = f"""
{before.strip()}

@R.function
def main_adjoint(x: R.Tensor((3, 3), "float32"), y: R.Tensor((3,), "float32"), z: R.Tensor(dtype="float32")):
    with R.dataflow():
        a = R.add(x, y)
        b = R.sum(a, axis=[0, 1], keepdims=True)
        c = R.reshape(b, R.shape([]))
        d = R.match_cast(z, R.Tensor((2,), "float32"))
        c_adjoint = R.ones(R.shape([]), dtype="float32")
        b_adjoint = R.reshape(c_adjoint, R.shape([1, 1]))
        a_adjoint = R.broadcast_to(b_adjoint, R.shape([3, 3]))
        y_adjoint = R.collapse_sum_to(a_adjoint, R.shape([3]))
        x_out = a_adjoint
        y_out = y_adjoint
        d_out = d
        R.output(c, x_out, y_out, d_out)
    return ((c, d_out), (x_out, y_out))
"""
    module_before: Any = module(before)
    wanted = list(module_before["main"].params[:2])
    found = Gradient("main", wanted)(module_before)
    assert [d.render() for d in well_formed(found)] == []
    assert_structural_equal(found, module(after), map_free_vars=True)


@pytest.mark.rule("RELAX-PASS-23")
def test_the_adjoint_of_a_sum_of_all_elements_is_spread_as_it_is() -> None:
    """Summed axes are put back where some were named; a scalar is broadcast without."""
    before = """
@R.function
def main(x: R.Tensor((3, 4), "float32")):
    with R.dataflow():
        rows = R.sum(x, axis=[1])
        gv = R.sum(rows)
        R.output(gv)
    return gv
"""
    after = """
@R.function
def main_adjoint(x: R.Tensor((3, 4), "float32")):
    with R.dataflow():
        rows = R.sum(x, axis=[1])
        gv = R.sum(rows)
        gv_adjoint = R.ones(R.shape([]), "float32")
        rows_adjoint = R.broadcast_to(gv_adjoint, R.shape([3]))
        column = R.expand_dims(rows_adjoint, axis=[1])
        x_adjoint = R.broadcast_to(column, R.shape([3, 4]))
        x_adjoint_out = x_adjoint
        R.output(gv, x_adjoint_out)
    return (gv, (x_adjoint_out,))
"""
    found = Gradient("main")(module(before))
    assert_structural_equal(found["main_adjoint"], module(after)["main_adjoint"], map_free_vars=True)


WEIGHTS = 'w: R.Tensor((2, 2), "float32"), b: R.Tensor((2,), "float32")'
BUNDLE = 'R.Tuple(R.Tensor((2, 2), "float32"), R.Tensor((2,), "float32"))'


def weighted(params: str, num_input: int, *lines: str, name: str = "main") -> str:
    body = "\n".join(f"        {line}" for line in lines)
    return f"""
@R.function
def {name}({params}):
    R.func_attr({{"num_input": {num_input}}})
    with R.dataflow():
{body}
        R.output(gv)
    return gv
"""


@pytest.mark.rule("RELAX-PASS-13")
def test_weights_are_taken_out_of_their_tuple_where_they_are_used() -> None:
    """Each use by itself, as TVM v0.19 does; they were all taken out at the start."""
    x = 'x: R.Tensor((2, 2), "float32")'
    before = module(weighted(f"{x}, {WEIGHTS}", 1, "a = R.matmul(x, w)", "c = R.add(a, b)", "gv = R.matmul(c, w)"))
    items = ("w = model_params[0]", "a = R.matmul(x, w)", "b = model_params[1]", "c = R.add(a, b)")
    after = weighted(f"{x}, model_params: {BUNDLE}", 1, *items, "w1 = model_params[0]", "gv = R.matmul(c, w1)")
    assert_structural_equal(BundleModelParams()(before), module(after))


@pytest.mark.rule("RELAX-PASS-13")
def test_weights_that_are_results_of_their_preparation_come_last() -> None:
    x = 'x: R.Tensor((2, 2), "float32")'
    lines = ("t = R.multiply(w, w)", "a = R.matmul(x, t)", "c = R.add(a, b)", "gv = R.matmul(c, w)")
    lifted = LiftTransformParams()(module(weighted(f"{x}, {WEIGHTS}", 1, *lines)))
    steps = (
        "u = params[0]",
        "v = params[0]",
        "t = R.multiply(u, v)",
        "w = params[0]",
        "b = params[1]",
        "gv = (w, b, t)",
    )
    expected = module(weighted(f"params: {BUNDLE}", 0, *steps, name="main_transform_params"))
    assert_structural_equal(lifted["main_transform_params"], expected["main_transform_params"])
