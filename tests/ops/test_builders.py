"""The builder functions of both languages: signatures, conversions, errors, and agreement with the catalogue's
samples.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import pytest

from baton._src.driver.wiring import wire
from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.op_def import NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.builders import RELAX, RELAY
from baton._src.ops.call_maker import make_attrs, operands_of
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr
from baton._src.ops.syntax import build_relax, build_relay, call_global
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from tests.ops.prover import PROVER


def _x(*shape: int, dtype: str = "float32") -> relax.Var:
    return relax.Var("x", TensorStructInfo(shape, dtype))


def test_signatures_are_those_of_each_language() -> None:
    """Guards names and order of parameters: inputs, then the attributes the language knows."""
    assert list(inspect.signature(RELAY.add).parameters) == ["lhs", "rhs"]
    assert list(inspect.signature(RELAX.add).parameters) == ["x1", "x2"]
    conv = list(inspect.signature(RELAY.nn.conv2d).parameters)
    assert conv[:8] == ["data", "weight", "strides", "padding", "dilation", "groups", "channels", "kernel_size"]
    assert "channels" not in inspect.signature(RELAX.nn.conv2d).parameters
    assert RELAX.nn.softmax.__name__ == "softmax"
    assert "axis" in (RELAX.nn.softmax.__doc__ or "")


def test_defaults_are_those_of_each_language() -> None:
    """Relax's averages of one and three axes count the border, those of two do not; both resize with Keys' cubic."""

    def default(builder: Any, name: str) -> Any:
        return inspect.signature(builder).parameters[name].default

    nn = RELAX.nn
    counted = [default(pool, "count_include_pad") for pool in (nn.avg_pool1d, nn.avg_pool2d, nn.avg_pool3d)]
    assert counted == [True, False, True]
    assert not default(RELAY.nn.avg_pool3d, "count_include_pad")
    assert default(RELAX.image.resize2d, "cubic_alpha") == default(RELAY.image.resize2d, "cubic_alpha") == -0.5


def test_calls_hold_operands_and_attributes() -> None:
    """Guards the shape of a call: the interned Op, converted operands, normalised attributes."""
    x = relay.var("x", shape=(1, 3, 8, 8))
    call = RELAY.nn.conv2d(data=x, weight=relay.var("w"), channels=4, kernel_size=(3, 3), padding=1, strides=2)
    assert call.op is CATALOGUE.relay("nn.conv2d")
    assert call.attrs.strides == (2, 2)
    assert call.attrs.padding == (1, 1, 1, 1)
    assert RELAX.exp(_x(2)).attrs is None


def test_numbers_take_the_dtype_beside_them() -> None:
    """Guards conversions: Python numbers next to a tensor of known dtype."""
    call = RELAX.add(_x(2, dtype="float16"), 1.5)
    assert call.args[1].data.dtype == "float16"
    assert RELAY.add(relay.var("a", shape=(2,), dtype="int64"), 1).args[1].data.dtype == "int64"
    assert RELAY.add(relay.var("a"), 1).args[1].data.dtype == "int32"
    assert RELAY.add(relay.var("a"), 2.5).args[1].data.dtype == "float32"


def test_numbers_stay_what_they_are() -> None:
    """Guards where(c, 1.5, 2.5), which chose between True and True, and i + 2.5, which added 2."""
    condition, integers = _x(2, dtype="bool"), _x(2, dtype="int32")
    chosen = RELAX.where(condition, 1.5, 2.5)
    assert [(a.data.dtype, a.data.data.item()) for a in chosen.args[1:]] == [("float32", 1.5), ("float32", 2.5)]
    assert RELAX.where(condition, _x(2, dtype="float16"), 2.5).args[2].data.dtype == "float16"
    assert [a.data.dtype for a in RELAX.where(condition, 1, 0).args[1:]] == ["int32", "int32"]
    assert RELAX.equal(condition, True).args[1].data.dtype == "bool"
    assert [RELAX.add(integers, n).args[1].data.dtype for n in (2, 2.0, 2.5)] == ["int32", "int32", "float32"]


def test_relax_shapes_and_scalars_become_expressions() -> None:
    """Guards conversions: lists of dims, bounds, tuples of tensors."""
    assert isinstance(RELAX.reshape(_x(2, 3), (3, 2)).args[1], relax.ShapeExpr)
    assert isinstance(RELAX.clip(_x(2), 0, 1).args[1], relax.PrimValue)
    assert isinstance(RELAX.concat([_x(2), _x(3)], axis=0).args[0], relax.Tuple)
    assert [int(a.value) for a in RELAX.arange(5).args] == [0, 5, 1]


def test_several_results_are_wrapped_in_relay() -> None:
    """Guards seed 003's `batch_norm(...)[0]`, and unpacking."""
    x = relay.var("x", shape=(1, 3, 8, 8))
    wrapped = RELAY.nn.batch_norm(x, *(relay.var(n) for n in "gbmv"), epsilon=1e-4)
    assert isinstance(wrapped, TupleWrapper)
    assert len(wrapped) == 3
    assert wrapped[0].index == 0
    assert wrapped[0].tuple_value is wrapped.astuple()
    a, b = RELAY.split(relay.var("y", shape=(4,)), 2)
    assert (a.index, b.index) == (0, 1)
    assert RELAY.nn.relu(wrapped[0]).args[0].index == 0
    with pytest.raises(IndexError):
        wrapped[3]


def test_relay_targets_that_are_tensors_make_dyn_operators() -> None:
    """Guards the `dyn` dispatch of reshape, broadcast_to, full, zeros and tile."""
    x, s = relay.var("x", shape=(4,)), relay.var("s", shape=(2,), dtype="int64")
    assert RELAY.reshape(x, s).op.name == "dyn.reshape"
    assert RELAY.reshape(x, (2, -1)).attrs.newshape == (2, -1)
    assert RELAY.broadcast_to(x, s).op.name == "dyn.broadcast_to"
    assert RELAY.zeros(s, "float32").op.name == "dyn.zeros"
    assert RELAY.tile(x, s).op.name == "dyn.tile"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RELAX.exp(), "is missing x"),
        (lambda: RELAX.exp(_x(2), 3), "takes 1 positional"),
        (lambda: RELAX.nn.softmax(_x(2), axes=1), "no parameter 'axes'"),
        (lambda: RELAX.exp(_x(2), x=_x(2)), "twice"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: Any, message: str) -> None:
    """Guards the errors of derived builders: they read as Python's own."""
    with pytest.raises(TypeError, match=message):
        call()


def test_unusable_operands_are_refused() -> None:
    """Guards operands that are no expressions."""
    with pytest.raises(DiagnosticError, match="cannot take a object"):
        RELAX.exp(object())


def test_unknown_names_suggest_known_ones() -> None:
    """Guards the catalogue's errors."""
    with pytest.raises(DiagnosticError, match="softmax"):
        CATALOGUE.relax("nn.softmaxx")


@pytest.mark.rule("RELAY-OP-7")
def test_an_operator_is_one_object() -> None:
    """Guards identity: looked up, built and wrapped, an operator is the same Op."""
    assert CATALOGUE.relay("add") is CATALOGUE.relay("add")
    assert RELAY.add(relay.var("a"), relay.var("b")).op is CATALOGUE.relay("add")
    assert CATALOGUE.relax("relax.add") is CATALOGUE.relax("add")


def test_an_overlay_leaves_the_catalogue_alone() -> None:
    """Guards `with_op`: a user's operator exists in the overlay only."""
    base = CATALOGUE.get("exp")
    twice: OpDef[Any] = OpDef(
        "user.twice", infer=base.infer, compute=base.compute, reference=base.reference, fusion=base.fusion
    )
    overlay = CATALOGUE.with_op(twice)
    assert overlay.relay("user.twice").definition is twice
    assert "user.twice" not in CATALOGUE


def test_python_operators_build_calls() -> None:
    """Guards what `a + 1`, `a % b` and calls of global variables build in both languages."""
    a = relay.var("a", shape=(2,))
    assert build_relay("add", a, 1).op.name == "add"
    assert build_relay("floor_mod", a, a).op.name == "mod"
    assert build_relax("negative", _x(2)).op.name == "relax.negative"
    assert isinstance(call_global(relay.GlobalVar("f"), (a,)), relay.Call)
    assert isinstance(call_global(relay.GlobalVar("f"), (_x(2),)), relax.Call)


def _samples(language: str) -> list[Any]:
    found = []
    for definition in CATALOGUE:
        offered = definition.in_relax if language == "relax" else definition.relay_op is not None
        custom = definition.relax_builder if language == "relax" else definition.relay_builder
        if not offered or custom is not None or definition.samples is None:
            continue
        for number, sample in enumerate(definition.samples()):
            fits = len(sample.args) == len(operands_of(definition, language)) and _plain(sample.args)
            if fits and not _of_other_language(sample.attrs, language):
                found.append(pytest.param(definition, sample, id=f"{definition.name}-{number}"))
    return found


def _of_other_language(record: Any, language: str) -> bool:
    """Whether a sample sets an attribute that only the other language has."""
    return any(
        language not in f.metadata.get("languages", (language,)) and getattr(record, f.name) != f.default
        for f in dataclasses.fields(record)
    )


def _plain(args: Any) -> bool:
    return all(isinstance(a, Arr) for a in args)


@pytest.mark.parametrize("language", ["relay", "relax"])
def test_builders_build_every_sampled_call(language: str) -> None:
    """Guards every derived builder: the sample, passed by keyword, gives a call that infers as the sample does."""
    for case in _samples(language):
        definition, sample = case.values
        namespace = RELAY if language == "relay" else RELAX
        name = definition.relay_op.name if language == "relay" else definition.name
        infos = [TensorInfo(_numbers(a.shape, sample.dims), DataType(a.dtype)) for a in sample.args]
        if language == "relay":
            operands = [relay.var(f"a{i}", shape=t.shape, dtype=t.dtype) for i, t in enumerate(infos)]
        else:
            operands = [relax.Var(f"a{i}", TensorStructInfo(t.shape, t.dtype)) for i, t in enumerate(infos)]
        inputs = operands_of(definition, language)
        names = [i.named(language) for i in inputs]
        attributes = {
            key: value
            for key, value in sample.attrs.items()
            if key in inspect.signature(namespace.find(name)).parameters and key not in names
        }
        found = namespace.find(name)(**dict(zip(names, operands)), **attributes)
        call = found.astuple() if isinstance(found, TupleWrapper) else found
        assert call.op.definition is definition
        rebuilt = definition.infer(OpCall(definition, tuple(infos), call.attrs or NO_ATTRS, PROVER))
        assert type(rebuilt) is type(definition.infer(OpCall(definition, tuple(infos), sample.attrs, PROVER)))


def _numbers(shape: Any, dims: Any) -> tuple[int, ...]:
    return tuple(dims[d] if isinstance(d, str) else d for d in shape)


def test_attributes_are_plain_python() -> None:
    """Guards normalisation: NumPy numbers and literals become ints, lists become tuples, unknown names are errors."""
    record = make_attrs(CATALOGUE.get("permute_dims"), {"axes": [np.int64(1), 0]})
    assert record.axes == (1, 0)
    with pytest.raises(TypeError, match="no attribute 'axis'"):
        make_attrs(CATALOGUE.get("permute_dims"), {"axis": 1})


def test_helpers_compose_operators() -> None:
    """Guards linear, masked_fill, mean_variance: called like operators, made of them."""
    found = RELAX.linear(_x(2, 3), _x(4, 3), _x(4))
    assert found.op.name == "relax.add"
    assert found.args[0].op.name == "relax.matmul"
    assert list(inspect.signature(RELAX.linear).parameters) == ["data", "weight", "bias", "out_dtype"]
    assert RELAX.masked_fill(_x(2), _x(2, dtype="bool"), 0.0).op.name == "relax.where"
    mean, variance = RELAY.mean_variance(relay.var("x", shape=(2, 3)), axis=1).astuple().fields
    assert (mean.op.name, variance.op.name) == ("mean", "variance")


def test_attributes_of_relax_are_those_of_tvm() -> None:
    """Guards what scripts read and compare: one new axis is a list of one, the searched axis is a number."""
    assert RELAX.expand_dims(_x(2), 0).attrs.axis == RELAX.expand_dims(_x(2), [0]).attrs.axis == (0,)
    assert (RELAX.argmax(_x(2, 3), [1]).attrs.axis, RELAX.argmin(_x(2), axis=None).attrs.axis) == (1, None)


@pytest.mark.parametrize(("axis", "count"), [(1, 2), (-1, 2), (-2, 1), (0, 1), (-3, 3)])
def test_new_axes_of_relay_have_numbers_in_relax(axis: int, count: int) -> None:
    """Guards the translation: Relay's axis counts from the end before any is new, Relax's after all are."""
    x = np.zeros((2, 3))
    definition = CATALOGUE.get("expand_dims")
    record = make_attrs(definition, {"axis": axis, "num_newaxis": count})
    assert definition.relay_to_relax is not None
    _, changed = definition.relay_to_relax((x,), record)
    assert changed.num_newaxis == 1
    assert not isinstance(definition.reference, NotApplicable)
    assert definition.reference((x,), changed).shape == definition.reference((x,), record).shape


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: RELAY.nn.sparse_dense(x, None), "a sparse matrix is data, indices and indptr, got NoneType"),
        (lambda x: RELAY.nn.sparse_add(x, (x, x)), "a sparse matrix is data, indices and indptr, got tuple"),
        (lambda x: RELAY.meshgrid(x), "meshgrid takes a list of vectors, got Var"),
        (lambda x: RELAY.stft(x, x), "stft: n_fft must be a number, got Var"),
        (lambda x: RELAY.matrix_set_diag(x, x, k=[]), "k numbers a diagonal, or the lowest and the highest"),
        (lambda x: RELAY.matrix_set_diag(x, x, align=None), "align is RIGHT_LEFT or the like, got None"),
    ],
)
def test_arguments_of_another_kind_are_named(build: Any, message: str) -> None:
    """Guards raw exceptions of Python: 'NoneType' object is not subscriptable."""
    with pytest.raises(DiagnosticError, match=message):
        build(relay.var("x", shape=(2, 3)))


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([(1, 1)] * 12, {}, "takes 11 attributes after its operands, got 12"),
        ([(1, 1)], {"strides": (2, 2)}, "got strides twice, by position and by name"),
    ],
)
def test_attributes_by_position_are_all_taken(values: Any, options: Any, message: str) -> None:
    """Guards what was dropped without a word."""
    x, weight = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    with pytest.raises(DiagnosticError, match=message):
        RELAY.nn.deformable_conv2d(x, x, weight, *values, **options)


def test_operators_of_python_have_the_line_that_writes_them() -> None:
    """Guards: `x + y` and `x.astype(...)` have a span, as `relay.add(x, y)` has: errors show the line."""
    wire()
    for x in (relay.Var("x"), _x(2)):
        calls = (x + x, 2.0 * x, -x, x.astype("int32"))
        assert all(call.span is not None and "test_builders.py" in str(call.span) for call in calls)


def test_borders_are_numbers_or_sequences_of_them() -> None:
    """Guards: an array of NumPy is several numbers, though it has `__index__` as one number has."""
    for border in ((1, 2), [1, 2], np.array([1, 2])):
        assert RELAY.nn.get_pad_tuple2d(border) == (1, 2, 1, 2)
    assert RELAY.nn.get_pad_tuple1d(np.int64(3)) == (3, 3)
