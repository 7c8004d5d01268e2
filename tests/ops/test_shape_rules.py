"""Shape and dtype rules, accepting and rejecting, by the conformance table."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import AnyDim, Var
from baton._src.tir.index_map import IndexMap
from baton._src.values.dtype import VOID, DataType
from tests.ops.inferred import infer, rejects, t
from tests.ops.prover import PROVER

N, M = Var("n", "int64"), Var("m", "int64")
F32, I32, BOOL = DataType("float32"), DataType("int32"), DataType("bool")


UNKNOWN = TensorInfo()


@pytest.mark.rule("RELAX-OPSHAPE-02")
def test_broadcasting_aligns_from_the_right() -> None:
    """Guards: 1 gives way, equal stays."""
    assert infer("add", t(4, 1), t(3)).shape == (4, 3)
    assert infer("add", t(N, 1), t(1, M)).shape == (N, M)
    assert infer("where", t(2, 1, dtype="bool"), t(3), t()).shape == (2, 3)


@pytest.mark.rule("RELAX-OPSHAPE-02", rejects=True)
def test_contradicting_dims_do_not_broadcast() -> None:
    """Guards: two different numbers are an error that shows both shapes."""
    rejects(r"\(4,\) and \(3,\) do not broadcast", "add", t(4), t(3))


@pytest.mark.rule("RELAX-OPSHAPE-03")
def test_undecided_broadcasting_keeps_the_rank() -> None:
    """Guards: n against m is no error; the shape is dropped."""
    found = infer("add", t(N), t(M))
    assert (found.shape, found.ndim) == (None, 1)


@pytest.mark.rule("RELAY-REL-7")
def test_any_yields_to_a_known_dim() -> None:
    """Guards Relay's `?`: only that dim stays open."""
    found = infer("add", t(AnyDim(), 3), t(1, 3))
    assert isinstance(found.shape[0], AnyDim)
    assert found.shape[1] == 3
    assert infer("add", t(AnyDim()), t(7)).shape == (7,)


@pytest.mark.rule("RELAX-OPSHAPE-04")
def test_an_unknown_dtype_makes_the_result_unknown() -> None:
    """Guards: Void among the operands."""
    assert infer("add", t(2), TensorInfo((2,))).dtype == VOID


@pytest.mark.rule("RELAX-OPSHAPE-04", rejects=True)
def test_dtypes_must_agree() -> None:
    """Guards: float32 with int32."""
    rejects("same dtype, got float32 and int32", "add", t(2), t(2, dtype="int32"))


@pytest.mark.rule("RELAY-REL-8")
@pytest.mark.rule("RELAX-OPSHAPE-05")
def test_comparisons_and_checks_give_bool() -> None:
    """Guards: less and isnan."""
    assert infer("less", t(2, 1), t(3)) == TensorInfo((2, 3), BOOL)
    assert infer("isnan", t(2)).dtype == BOOL


@pytest.mark.rule("RELAX-OPSHAPE-06")
def test_host_scalars_are_operands() -> None:
    """Guards: a prim beside a tensor, and two prims."""
    assert infer("add", t(2), PrimInfo(F32, 1.0)) == t(2)
    assert infer("add", PrimInfo(F32), PrimInfo(F32)) == PrimInfo(F32)
    assert infer("less", PrimInfo(I32), PrimInfo(I32)) == PrimInfo(BOOL)


@pytest.mark.rule("RELAX-OPSHAPE-07", rejects=True)
def test_float_functions_refuse_integers() -> None:
    """Guards: exp of int32, softmax of int32, relu of int32 (allowed)."""
    rejects("floating-point elements, got int32", "exp", t(2, dtype="int32"))
    rejects("floating-point elements, got int32", "nn.softmax", t(2, dtype="int32"))
    assert infer("nn.relu", t(2, dtype="int32")).dtype == I32


@pytest.mark.rule("RELAX-OPSHAPE-08")
def test_axes_count_from_both_ends() -> None:
    """Guards: -1, several axes, keepdims, exclude."""
    assert infer("sum", t(2, 3), axis=[-1]).shape == (2,)
    assert infer("sum", t(2, 3), axis=[0, 1], keepdims=True).shape == (1, 1)
    assert infer("sum", t(2, 3, 4), axis=1, exclude=True).shape == (3,)
    assert infer("max", TensorInfo(None, F32, 3), axis=0).ndim == 2


@pytest.mark.rule("RELAX-OPSHAPE-08", rejects=True)
def test_axes_must_be_in_range_and_differ() -> None:
    """Guards: out of range, named twice."""
    rejects("axis 2 is out of range for rank 2", "sum", t(2, 3), axis=[2])
    rejects("names an axis twice", "sum", t(2, 3), axis=[0, -2])


@pytest.mark.rule("RELAX-OPSHAPE-09")
def test_matmul_promotes_and_broadcasts() -> None:
    """Guards: vectors, batches, symbolic inner axes."""
    assert infer("matmul", t(2, 3), t(3)).shape == (2,)
    assert infer("matmul", t(3), t(3)).shape == ()
    assert infer("matmul", t(5, 1, 2, 3), t(4, 3, N)).shape == (5, 4, 2, N)
    assert infer("matmul", t(2, N), t(M, 3)).shape == (2, 3)
    assert infer("matmul", t(2, 3, dtype="int8"), t(3, 4, dtype="int8"), out_dtype="int32").dtype == I32


@pytest.mark.rule("RELAX-OPSHAPE-09", rejects=True)
def test_matmul_refuses_scalars_and_other_lengths() -> None:
    """Guards: rank 0, inner axes that differ."""
    rejects("got a scalar", "matmul", t(), t(2))
    rejects("3 against 4", "matmul", t(2, 3), t(4, 5))


@pytest.mark.rule("RELAX-OPSHAPE-10")
def test_reshape_resolves_its_target() -> None:
    """Guards: -1 in Relax; 0, -2, -3, -4 in Relay; symbolic targets."""
    assert infer("reshape", t(2, 6), ShapeInfo((3, -1))).shape == (3, 4)
    assert infer("reshape", t(N, 6), ShapeInfo((N, 2, 3))).shape == (N, 2, 3)
    assert infer("reshape", t(2, 3, 4), newshape=(0, -1)).shape == (2, 12)
    assert infer("reshape", t(2, 3, 4), newshape=(-4, 1, 2, -2)).shape == (1, 2, 3, 4)
    assert infer("reshape", t(2, 3, 4), newshape=(-3, 0)).shape == (6, 4)
    assert infer("reshape", t(0, 3), newshape=(0, 3), allowzero=True).shape == (0, 3)
    assert infer("reshape", TensorInfo(None, F32, 2), ShapeInfo(None, 3)).ndim == 3


@pytest.mark.rule("RELAX-OPSHAPE-10", rejects=True)
def test_reshape_must_keep_the_elements() -> None:
    """Guards: another number of elements, two -1."""
    rejects("12 elements against 5", "reshape", t(2, 6), ShapeInfo((5,)))
    rejects("at most one dim may be -1", "reshape", t(2, 6), ShapeInfo((-1, -1)))
    rejects("not a multiple of 5", "reshape", t(2, 6), ShapeInfo((5, -1)))
    rejects("at most one dim may be -1", "reshape", t(2, 3, 4), newshape=(-1, -1, -4, 2, 2))
    rejects("-4 must be followed by two dims", "reshape", t(2, 4), newshape=(0, -4, 0, -1))
    rejects("-4 must be followed by two dims", "reshape", t(2, 4), newshape=(0, -4, -2, -2))


@pytest.mark.rule("RELAX-OPSHAPE-11")
def test_concat_sums_along_its_axis() -> None:
    """Guards: the summed dim, the kept ones."""
    assert infer("concat", TupleInfo((t(2, N), t(3, N))), axis=0).shape == (5, N)
    assert infer("stack", TupleInfo((t(2), t(2))), axis=-1).shape == (2, 2)


@pytest.mark.rule("RELAX-OPSHAPE-11", rejects=True)
def test_concat_refuses_other_dims() -> None:
    """Guards: other dims, ranks and dtypes."""
    for parts in ((t(2, 3), t(2, 4)), (t(2, 3), t(2)), (t(2, 3), t(2, 3, dtype="int32"))):
        with pytest.raises(DiagnosticError):
            infer("concat", TupleInfo(parts), axis=0)


@pytest.mark.rule("RELAX-OPSHAPE-12")
def test_split_gives_a_tuple() -> None:
    """Guards: equal parts, parts by indices."""
    assert [f.shape for f in infer("split", t(6), indices_or_sections=3).fields] == [(2,)] * 3
    assert [f.shape for f in infer("split", t(6), indices_or_sections=[1, 4]).fields] == [(1,), (3,), (2,)]
    first, middle, last = infer("split", t(N), indices_or_sections=[1, N - 1]).fields
    assert (first.shape, last.shape) == ((1,), (1,))
    assert PROVER.equal(middle.shape[0], N - 2)


@pytest.mark.rule("RELAX-OPSHAPE-12", rejects=True)
@pytest.mark.parametrize("places", [[4, 1], [-2], [9, 2], [-1, 3]])
@pytest.mark.parametrize("data", [t(6), t(N), TensorInfo()])
def test_parts_of_split_begin_in_order(places: list[int], data: TensorInfo) -> None:
    """Kernels read each from where the one before it ends: they read beyond the tensor."""
    with pytest.raises(DiagnosticError, match="ascending order"):
        infer("split", data, indices_or_sections=places)


@pytest.mark.rule("RELAX-OPSHAPE-13")
@pytest.mark.parametrize(
    ("name", "operands", "attributes"),
    [
        ("matmul", 2, {}),
        ("add", 2, {}),
        ("exp", 1, {}),
        ("sum", 1, {"axis": [1]}),
        ("permute_dims", 1, {}),
        ("expand_dims", 1, {"axis": 1}),
        ("squeeze", 1, {}),
        ("nn.softmax", 1, {}),
        ("nn.conv2d", 2, {}),
        ("nn.max_pool2d", 1, {}),
        ("nn.batch_norm", 5, {}),
        ("nn.layer_norm", 3, {"axes": [-1]}),
        ("nn.attention", 3, {}),
        ("nn.pad", 1, {"pad_width": [1, 1]}),
        ("split", 1, {"indices_or_sections": 2}),
        ("tile", 1, {"repeats": [2]}),
        ("astype", 1, {"dtype": "int32"}),
        ("argmax", 1, {}),
        ("where", 3, {}),
        ("image.resize2d", 1, {"size": (2, 2)}),
        ("nn.depth_to_space", 1, {"block_size": 2}),
        ("nn.nll_loss", 2, {}),
        ("quantize", 3, {}),
    ],
)
def test_nothing_known_is_no_error(name: str, operands: int, attributes: dict[str, Any]) -> None:
    """Guards: unknown rank, shape and dtype weaken the result."""
    infer(name, *(UNKNOWN,) * operands, **attributes)


@pytest.mark.rule("RELAX-OPSHAPE-14")
def test_axes_move_appear_and_vanish() -> None:
    """Guards: permute_dims, squeeze, expand_dims."""
    assert infer("permute_dims", t(2, 3)).shape == (3, 2)
    assert infer("permute_dims", t(2, 3, N), axes=[-1, 0, 1]).shape == (N, 2, 3)
    assert infer("squeeze", t(1, 2)).shape == (2,)
    assert infer("squeeze", t(1, N)).ndim == -1
    assert infer("expand_dims", t(2), axis=0).shape == (1, 2)


@pytest.mark.rule("RELAX-OPSHAPE-14", rejects=True)
def test_wrong_axes_are_refused() -> None:
    """Guards: squeezing an axis that is not 1, an order with repetitions, an incomplete order."""
    rejects("only extent 1 can be squeezed", "squeeze", t(2, 3), axis=0)
    rejects("names an axis twice", "permute_dims", t(2, 3), axes=[0, 0])
    rejects("must name all 2 axes", "permute_dims", t(2, 3), axes=[0])


@pytest.mark.rule("RELAX-OPSHAPE-15")
def test_several_results() -> None:
    """Guards: batch_norm, dropout, argmax."""
    vectors = (t(3),) * 4
    assert [f.shape for f in infer("nn.batch_norm", t(2, 3, 4), *vectors).fields] == [(2, 3, 4), (3,), (3,)]
    assert len(infer("nn.dropout", t(2)).fields) == 2
    assert infer("argmax", t(2, 3), axis=1) == TensorInfo((2,), DataType("int64"))


def test_convolution_extents() -> None:
    """Guards the output formula with strides, dilation, padding, groups, layouts and symbolic extents."""
    conv = {"strides": 2, "padding": (1, 1)}
    assert infer("nn.conv2d", t(1, 3, 224, 224), t(32, 3, 3, 3), **conv).shape == (1, 32, 112, 112)
    assert infer("nn.conv2d", t(N, 3, 8, 8), t(4, 3, 3, 3), dilation=2).shape == (N, 4, 4, 4)
    blocked = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o", "padding": 1}
    assert infer("nn.conv2d", t(1, 2, 8, 8, 16), t(4, 2, 3, 3, 16, 16), **blocked).shape == (1, 4, 8, 8, 16)
    assert infer("nn.conv2d_transpose", t(1, 4, 5, 5), t(4, 2, 3, 3), strides=2, output_padding=1).shape == (
        1,
        2,
        12,
        12,
    )
    with pytest.raises(DiagnosticError, match="3 channels, the kernel takes 4"):
        infer("nn.conv2d", t(1, 3, 8, 8), t(4, 4, 3, 3))
    with pytest.raises(DiagnosticError, match="larger than the padded data"):
        infer("nn.conv2d", t(1, 3, 2, 2), t(4, 3, 3, 3))


def test_weights_are_inferred_from_the_data() -> None:
    """Guards seed 003: variables without types as weights of conv2d, dense, batch_norm and bias_add."""

    def weights(name: str, count: int, *shape: int, **attributes: Any) -> Any:
        definition = CATALOGUE.get(name)
        assert definition.infer_inputs is not None
        args = (t(*shape), *(UNKNOWN,) * (count - 1))
        record = make_attrs(definition, attributes) or definition.attrs()
        found = definition.infer_inputs(OpCall(definition, args, record, PROVER))
        return [None if f is None else f.shape for f in found]

    conv = {"channels": 32, "kernel_size": (3, 3)}
    assert weights("nn.conv2d", 2, 1, 3, 224, 224, **conv) == [None, (32, 3, 3, 3)]
    assert weights("nn.conv2d", 2, 1, 8, 5, 5, channels=8, kernel_size=3, groups=8)[1] == (8, 1, 3, 3)
    assert weights("nn.dense", 2, 4, 10, units=7) == [None, (7, 10)]
    assert weights("nn.batch_norm", 5, 1, 32, 8, 8) == [None, *[(32,)] * 4]
    assert weights("nn.bias_add", 2, 1, 32, 8, 8) == [None, (32,)]


def test_pooling_extents() -> None:
    """Guards ceil_mode, padding and the rule that no window starts in the end padding."""
    assert infer("nn.max_pool2d", t(1, 3, 7, 7), pool_size=2, strides=2).shape == (1, 3, 3, 3)
    assert infer("nn.max_pool2d", t(1, 3, 7, 7), pool_size=2, strides=2, ceil_mode=True).shape == (1, 3, 4, 4)
    assert infer("nn.avg_pool2d", t(1, 3, 4, 4), pool_size=1, strides=2, ceil_mode=True, padding=1).shape == (
        1,
        3,
        3,
        3,
    )
    assert infer("nn.adaptive_avg_pool2d", t(N, 3, 7, 7), output_size=1).shape == (N, 3, 1, 1)


def test_errors_name_operator_and_operand() -> None:
    """Guards the texts of errors."""
    rejects("nn.batch_norm: gamma has 4 elements, but axis 1 of the data has 3", "nn.batch_norm", t(1, 3), *[t(4)] * 4)
    rejects("nn.attention: head size differs: 8 against 4", "nn.attention", t(1, 2, 3, 8), t(1, 2, 3, 4), t(1, 2, 3, 4))
    rejects("takes a tuple of", "concat", t(2))
    rejects("pad_mode 'round' is not one of", "nn.pad", t(2), pad_width=[1, 1], pad_mode="round")


def test_layouts_by_maps_keep_a_rank_that_is_known() -> None:
    """Guards operands of which only the rank is known: that of the result was dropped, and a wrong one accepted."""
    blocked = IndexMap.from_func(lambda i, j: (j, i // 2, i % 2))
    found = infer("layout_transform", TensorInfo(None, F32, 2), index_map=blocked)
    assert (found.shape, found.ndim) == (None, 3)
    assert infer("layout_transform", TensorInfo(None, F32), index_map=blocked).ndim == 3
    turned = {"index_map": lambda *axes: (*axes[1:], axes[0])}
    assert infer("layout_transform", TensorInfo(None, F32, 4), **turned).ndim == 4
    assert infer("layout_transform", TensorInfo(None, F32), **turned).ndim == -1
    rejects("takes 2 indices, got 3", "layout_transform", TensorInfo(None, F32, 3), index_map=blocked)


def test_a_shape_holds_no_fractions() -> None:
    """Guards: a tuple of host scalars as a target, one of them a float."""
    target = TupleInfo((PrimInfo(DataType("int64"), 2), PrimInfo(F32, 2.5)))
    rejects("argument 1 must be a shape", "broadcast_to", t(1), target)


def test_the_options_of_unique_are_known_when_compiling() -> None:
    """Guards: an axis that is a size of the program, of which no number can be made."""
    options = [PrimInfo(BOOL, flag) for flag in (True, False, False, False)]
    rejects("axis must be a number that is known when compiling", "unique", t(4, 4), *options, PrimInfo(N.dtype, N))


def test_bounds_of_slices_are_whole() -> None:
    """Guards: fractions in bounds, which were cut off, and in those of slice_scatter, which failed in the compiler."""
    one = TupleInfo((PrimInfo(DataType("int64"), 1),))
    rejects("end must be integers", "strided_slice", t(4), one, one, TupleInfo((PrimInfo(F32, 2.5),)))
    start, step = PrimInfo(F32, 0.5), PrimInfo(DataType("int64"), 1)
    rejects("start is an integer, got 0.5", "slice_scatter", t(4), t(2), start, PrimInfo(DataType("int64"), 2), step)
