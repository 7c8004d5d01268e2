"""Small things scripts for TVM v0.19 rely on: orders of arguments, dtypes of literals, types patterns ask for."""

from __future__ import annotations

import inspect
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton.relay.backend.interpreter import ConstructorValue, RefValue
from baton.relay.dataflow_pattern import has_dtype, has_shape, wildcard


def result_type(expr: relay.Expr) -> str:
    return str(relay.transform.InferType()(baton.IRModule.from_expr(expr))["main"].ret_type)


def test_arguments_by_position() -> None:
    x, i = relay.var("x", shape=(2, 3, 4)), relay.var("i", shape=(5,), dtype="int32")
    assert relay.take(x, i, 1).attrs.axis == 1
    assert result_type(relay.take(x, i, 1)) == "Tensor[(2, 5, 4), float32]"
    assert relay.mean_variance(x, 1, True, False, True).astuple().fields[1].attrs.unbiased
    boxes, count, places = relay.var("b", shape=(1, 4, 6)), relay.const([4]), relay.const([[0, 1, 2, 3]])
    kept = relay.vision.non_max_suppression(boxes, count, places, -1, 0.5, True, 2, 2, 1, 0, False)
    assert (kept.attrs.force_suppress, kept.attrs.top_k, kept.attrs.return_indices) == (True, 2, False)


def test_copies_between_devices_name_both() -> None:
    x = relay.var("x", shape=(2,))
    for copy in (relay.device_copy, relay.op.device_copy, relay.op.tensor.device_copy):
        made = copy(x, src_device=baton.cpu(), dst_device=baton.cpu(0))
        assert (made.attrs.src_virtual_device, made.attrs.dst_virtual_device) == (baton.cpu(), baton.cpu(0))
    module = relay.transform.InferType()(baton.IRModule.from_expr(made))
    baton.ir.assert_structural_equal(relay.parse(module.astext()), module)
    run = relay.create_executor("graph").evaluate(relay.Function([x], made))
    np.testing.assert_array_equal(run(np.ones(2, "float32")).numpy(), [1, 1])


def test_arrays_of_64_bits_become_literals_of_32() -> None:
    """As Python's numbers do; `dtype` says otherwise. TVM's own arrays keep theirs."""
    assert relay.const(np.arange(3)).data.dtype == "int32"
    assert relay.const(np.float64(1)).data.dtype == "float32"
    assert relay.const(np.arange(3), "int64").data.dtype == "int64"
    assert relay.const(np.uint8(3)).data.dtype == "uint8"
    assert relay.const(baton.nd.array(np.arange(3))).data.dtype == "int64"


def test_well_formed_asks_for_one_definition_and_lets_variables_be_free() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    assert relay.analysis.well_formed(relay.Function([x], x + y))
    assert not relay.analysis.well_formed(relay.Function([x, x], x))
    assert not relay.analysis.well_formed(relay.Let(x, y, relay.Let(x, y, x)))


@pytest.mark.parametrize("dim", ["n", 2.5])
def test_texts_and_fractions_are_no_dims(dim: Any) -> None:
    """They got as far as a pass, which broke over them."""
    with pytest.raises(TypeError, match="a dim must be an integer, a variable"):
        relay.var("x", shape=(2, dim))
    with pytest.raises(TypeError, match="a dim must be an integer, a variable"):
        relay.TensorType((dim,))


def test_a_mismatch_begins_with_the_words_that_scripts_match() -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        baton.ir.assert_structural_equal(relay.Function([x], x), relay.Function([x], -x))


def test_patterns_infer_the_types_they_ask_for() -> None:
    x = relay.var("x", shape=(2, 3))
    assert has_dtype("float32").match(relay.exp(x))
    assert not has_shape((3, 2)).match(x)
    assert wildcard().has_type(relay.TensorType((3, 2))).match(relay.transpose(x))
    assert not has_dtype("float32").match(relay.Tuple([x]))


def test_interpreted_data_know_their_constructors() -> None:
    module = relay.parse("type Shape { Dot, Box(int32) }\ndef @main() { Box(3) }")
    found = relay.create_executor("debug", module).evaluate()()
    assert (found.constructor.name_hint, found.constructor.tag) == ("Box", found.tag)
    assert repr(found).startswith("Box(")


def test_an_expression_is_read_whether_it_has_a_type_or_not() -> None:
    """As in TVM `parse_expr` reads; a module is checked, too."""
    expr = relay.parse_expr("1 * 1 + 1 < 1 == 1")
    assert (expr.op.name, expr.args[0].op.name) == ("equal", "less")
    with pytest.raises(baton.error.DiagnosticError):
        relay.parse("def @main() { 1 < 1 == 1 }")
    with pytest.raises(baton.error.DiagnosticError):
        relay.parse_expr("1 * 1 +")
    assert relay.parse_expr("1.f").data.numpy() == 1.0


@pytest.mark.parametrize("kind", ["debug", "vm", "graph"])
def test_free_variables_are_bound_to_values_or_expressions(kind: str) -> None:
    x, y = relay.var("x", shape=(), dtype="int32"), relay.var("y", shape=(), dtype="int32")
    executor = relay.create_executor(kind)
    assert int(executor.evaluate(x + x, {x: relay.const(1) + relay.const(2)}).numpy()) == 6
    assert int(executor.evaluate(x * y, {x: relay.const(5), y: np.int32(7)}).numpy()) == 35


def test_parameters_come_from_files(tmp_path: Path) -> None:
    path = str(tmp_path / "net.params")
    baton.runtime.save_param_dict_to_file({"w": baton.nd.array(np.float32([1, 2]))}, path)
    assert baton.runtime.load_param_dict_from_file(path)["w"].numpy().tolist() == [1, 2]


def test_a_variable_keeps_its_identity() -> None:
    x = relay.var("x", shape=(2,))
    typed = relay.transform.InferType()(baton.IRModule.from_expr(relay.exp(x)))["main"]
    assert typed.body.args[0].vid.same_as(x.vid)
    assert x.vid.name_hint == "x"


def test_attributes_of_functions_by_name() -> None:
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], x).with_attr("Compiler", "mine")
    assert function.attrs.Compiler == function.attrs["Compiler"] == "mine"
    with pytest.raises(AttributeError, match="no attribute Composite; there are: Compiler"):
        _ = function.attrs.Composite


def test_a_functor_without_a_method_says_that_it_is_not_implemented() -> None:
    with pytest.raises(NotImplementedError, match="has no visit_constant"):
        relay.ExprFunctor().visit(relay.const(1))


def test_an_overridden_visit_sees_every_node_once() -> None:
    """Guards classes that count or print in `visit`: the root came twice."""
    seen: list[str] = []

    class Names(relay.ExprVisitor):
        def visit(self, expr: Any) -> None:
            seen.append(type(expr).__name__)
            super().visit(expr)

    Names().visit(relay.exp(relay.var("x")))
    assert seen == ["Call", "Op", "Var"]


def test_values_of_the_interpreter_have_classes() -> None:
    module = relay.prelude.Prelude(baton.IRModule()).mod
    _, cons, nil = module.get_type("List")
    found = relay.create_executor("debug", module).evaluate(cons(relay.const(1), nil()))
    assert isinstance(found, ConstructorValue)
    assert (found.tag, len(found.fields)) == (cons.tag, 2)
    assert isinstance(relay.create_executor("debug").evaluate(relay.RefCreate(relay.const(1))), RefValue)


def test_instruments_can_be_taken_away() -> None:
    timing = baton.instrument.PassTimingInstrument()
    with baton.transform.PassContext(instruments=[timing]) as context:
        context.override_instruments(None)
        assert list(context.instruments) == []


def test_several_results_may_be_given_where_an_expression_is_wanted() -> None:
    x, whole = relay.var("x", shape=(4, 2)), relay.var("whole")
    parts = relay.split(x, 2)
    bodies = [
        parts,
        relay.Let(whole, parts, relay.split(x, 2)),
        relay.If(relay.const(True), parts, relay.split(x, 2)),
        relay.Tuple([parts])[0],
    ]
    for body in bodies:
        found = relay.create_executor("vm", baton.IRModule.from_expr(relay.Function([x], body)))
        assert [r.shape for r in found.evaluate()(np.ones((4, 2), "float32"))] == [(2, 2), (2, 2)]
    assert result_type(relay.TupleGetItem(parts, 1)) == "Tensor[(2, 2), float32]"


def test_operators_and_modules_tell_their_attributes() -> None:
    keys = {name: relay.op.get(name).attrs_type_key for name in ("nn.conv2d", "sum", "nn.conv2d_transpose", "add")}
    assert keys == {
        "nn.conv2d": "relay.attrs.Conv2DAttrs",
        "sum": "relay.attrs.ReduceAttrs",
        "nn.conv2d_transpose": "relay.attrs.Conv2DTransposeAttrs",
        "add": "",
    }
    module = baton.IRModule.from_expr(relay.const(1)).with_attr("runtime", "cpp")
    assert dict(module.get_attrs()) == {"runtime": "cpp"}


def test_the_width_of_a_border_may_be_a_constant() -> None:
    x = relay.var("x", shape=(2, 3))
    assert relay.nn.pad(x, relay.const([[0, 1], [2, 0]])).attrs.pad_width == ((0, 1), (2, 0))
    assert relay.nn.pad(x, relay.var("widths", shape=(2, 2), dtype="int64")).op.name == "dyn.nn.pad"


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (2, r"axis 0 of \(5,\) cannot be cut into 2 equal parts(.|\n)*indices_or_sections=\(2,\)"),
        ((3, 2), r"must begin in ascending order, got \(3, 2\)"),
        ((2, 7), r"ends before a part begins: the parts begin at \(2, 7\)"),
    ],
)
def test_split_refuses_parts_that_do_not_fit(places: Any, message: str) -> None:
    """Relax gives uneven and empty parts there; Relay has no such parts."""
    x = relay.var("x", shape=(5,))
    with pytest.raises(baton.error.DiagnosticError, match=message):
        result_type(relay.split(x, places)[0])


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("dims", [(4, 2), (relay.Any(), 2), (relay.Any(), relay.Any())])
def test_parts_of_unknown_dims_are_equal_too(kind: str, dims: tuple[Any, ...]) -> None:
    x = relay.var("x", shape=dims)
    module = baton.IRModule.from_expr(relay.Function([x], relay.split(x, 2).astuple()))
    run = relay.create_executor(kind, module).evaluate()
    assert [part.numpy().tolist() for part in run(np.arange(8.0, dtype="float32").reshape(4, 2))] == [
        [[0, 1], [2, 3]],
        [[4, 5], [6, 7]],
    ]
    with pytest.raises(baton.error.DiagnosticError):
        run(np.zeros((5, 2), "float32"))


def test_a_span_is_the_last_positional_argument_of_expressions() -> None:
    x = relay.Var("x", relay.TensorType((2,)), baton.ir.Span(baton.ir.SourceName("f"), 1, 1, 2, 3))
    spot = x.span
    cell = relay.RefCreate(x, spot)
    made = (
        relay.Constant(baton.nd.array(np.ones(2)), spot),
        relay.TupleGetItem(relay.Tuple([x], spot), 0, spot),
        relay.If(relay.const(True), x, x, spot),
        relay.Match(x, [relay.Clause(relay.PatternWildcard(), x)], True, spot),
        relay.RefRead(cell, spot),
        relay.RefWrite(cell, x, spot),
    )
    assert all(expression.span is spot for expression in (*made, cell))


def test_tuples_are_indexed_by_integers() -> None:
    pair = relay.Tuple([relay.const(1), relay.const(2)])
    assert relay.TupleGetItem(pair, np.int64(1)).index == 1
    with pytest.raises(baton.error.DiagnosticError, match="a tuple is indexed by a constant integer, not by 'a'"):
        relay.TupleGetItem(pair, "a")


@pytest.mark.rule("RELAY-VAR-3", rejects=True)
def test_a_name_has_one_global_variable() -> None:
    """Another one took the place of the function without a word; its name, or its own variable, defines it anew."""
    x = relay.var("x", shape=(2,))
    first, second = (relay.Function([x], body) for body in (relay.exp(x), relay.tanh(x)))
    module, f = baton.IRModule(), relay.GlobalVar("f")
    module[f] = first
    for define in (module.__setitem__, module.update_func):
        with pytest.raises(baton.error.DiagnosticError, match="the module defines @f already"):
            define(relay.GlobalVar("f"), second)
    assert module["f"] is first
    module[f] = second
    module["f"] = first
    assert (list(module.functions), module[f]) == ([f], first)
    module.update(baton.IRModule({"f": second, "g": relay.Function([x], relay.GlobalVar("f")(x))}))
    assert (module.get_global_vars()[0], module[f]) == (f, second)


def test_numbers_are_conditions_of_where() -> None:
    """All but 0 hold, NaN too."""
    c, x = relay.var("c", shape=(4,)), relay.var("x", shape=(4,))
    for kind in ("debug", "graph"):
        run = relay.create_executor(kind).evaluate(relay.Function([c, x], relay.where(c, x, relay.negative(x))))
        found = run(np.array([0, 0.5, -2, np.nan], "float32"), np.ones(4, "float32"))
        assert found.numpy().tolist() == [-1, 1, 1, 1]


FOLDS = ["sum", "mean", "variance", "std", "max", "min", "prod", "argmax", "argmin"]


@pytest.mark.parametrize("name", FOLDS)
def test_an_empty_list_of_axes_is_all_of_them(name: str) -> None:
    """Relax and NumPy fold nothing then."""
    x = relay.var("x", shape=(2, 3))
    empty: list[Any] = [(), []]
    call = relay.transform.InferTypeLocal
    for axis in empty:
        whole, kept = (getattr(relay, name)(x, axis=axis, keepdims=keepdims) for keepdims in (False, True))
        assert (call(whole).concrete_shape, call(kept).concrete_shape) == ((), (1, 1))
    for axis in (*empty, None):
        assert call(getattr(relay, name)(x, axis=axis, exclude=True)).concrete_shape == ()
    text = f"fn(%x: Tensor[(2, 3), float32]) {{ {name}(%x, axis=[]) }}"
    assert relay.parse_expr(text).body.checked_type.concrete_shape == ()


@pytest.mark.parametrize("norm", ["instance_norm", "l2_normalize"])
def test_statistics_over_no_axes_read_back(norm: str) -> None:
    """What SimplifyInference writes means the same when its text is read."""
    x, g = relay.var("x", shape=(2, 3)), relay.var("g", shape=(3,))
    norms = {
        "instance_norm": lambda: relay.nn.instance_norm(x, g, g),
        "l2_normalize": lambda: relay.nn.l2_normalize(x, 1e-5, []),
    }
    before = baton.IRModule.from_expr(norms[norm]())
    after = relay.parse(relay.transform.SimplifyInference()(relay.transform.InferType()(before)).astext())
    inputs = [np.array([[1, -2, 3], [4, 5, -6]], "float32"), np.array([1, 2, 3], "float32")][
        : len(before["main"].params)
    ]
    found = [relay.create_executor("debug", m).evaluate()(*inputs).numpy() for m in (before, after)]
    np.testing.assert_allclose(*found)


_DATA = relay.var("data", shape=(1, 4, 8, 8))
_CHANNELS = [relay.var(name, shape=(4,)) for name in ("gamma", "beta", "mean", "deviation")]


@pytest.mark.parametrize(
    ("build", "operands"),
    [
        (relay.nn.batch_norm, (_DATA, *_CHANNELS)),
        (relay.nn.group_norm, (_DATA, *_CHANNELS[:2])),
        (relay.nn.instance_norm, (_DATA, *_CHANNELS[:2])),
        (relay.nn.layer_norm, (_DATA, *_CHANNELS[:2])),
        (relay.nn.pad, (_DATA,)),
        (relay.strided_slice, (_DATA,)),
        (relay.tile, (_DATA,)),
        (relay.topk, (_DATA,)),
        (relay.argsort, (_DATA,)),
        (relay.sort, (_DATA,)),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_calls_are_copied_by_their_attributes(build: Any, operands: tuple[Any, ...]) -> None:
    """`build(*args, **dict(call.attrs))`, as mutators do: records have no attribute that is Relax's only."""
    given = {"num_groups": 2, "pad_width": ((0, 0),) * 4, "begin": [0], "end": [1], "reps": (2,)}
    wanted = inspect.signature(build).parameters
    made = build(*operands, **{name: content for name, content in given.items() if name in wanted})
    call = made.tuple_value if isinstance(made, relay.expr.TupleWrapper) else made
    again = build(*operands, **dict(call.attrs))
    copied = again.tuple_value if isinstance(again, relay.expr.TupleWrapper) else again
    assert copied.attrs == call.attrs == deepcopy(call.attrs)
    assert dict(call.attrs.items()) == dict(call.attrs)


TEXT_DEFAULTS = {
    "nn.batch_matmul(%x, %y)": ("transpose_b", False, lambda x, y: relay.nn.batch_matmul(x, y, transpose_b=False)),
    "nn.leaky_relu(%x)": ("alpha", 0.25, lambda x, y: relay.nn.leaky_relu(x, 0.25)),
    "nn.lrn(%x)": ("alpha", 1e-4, lambda x, y: relay.nn.lrn(x, alpha=1e-4)),
    "nn.fifo_buffer(%x, %y)": ("axis", 0, lambda x, y: relay.nn.fifo_buffer(x, y, 0)),
    "nn.depth_to_space(%z)": ("block_size", 1, lambda x, y: relay.nn.depth_to_space(x, 1)),
    "vision.yolo_reorg(%z)": ("stride", 1, lambda x, y: relay.vision.yolo_reorg(x, 1)),
    "image.resize2d(%z, size=[3, 3])": (
        "rounding_method",
        "round",
        lambda x, y: relay.image.resize2d(x, (3, 3), rounding_method="round"),
    ),
    "image.resize1d(%x, size=[3])": (
        "rounding_method",
        "round",
        lambda x, y: relay.image.resize1d(x, (3,), rounding_method="round"),
    ),
}


@pytest.mark.parametrize("text", TEXT_DEFAULTS)
def test_what_text_leaves_out_is_not_what_builders_do(text: str) -> None:
    """Guards texts that TVM printed: a product by what is not transposed was read as one by what is."""
    name, meant, build = TEXT_DEFAULTS[text]
    params = "%x: Tensor[(2, 3, 3), float32], %y: Tensor[(2, 3, 3), float32], %z: Tensor[(1, 4, 2, 2), float32]"
    call = relay.parse_expr(f"fn({params}) {{ {text} }}").body
    assert getattr(call.attrs, name) == meant
    x, y = (relay.var(n, shape=(1, 4, 2, 2) if "%z" in text else (2, 3, 3)) for n in "xy")
    shown = relay.Function(relay.analysis.free_vars(build(x, y)), build(x, y)).astext()
    assert name not in shown
    assert relay.nn.batch_matmul(x, y).attrs.transpose_b
    assert relay.nn.lrn(x).attrs.alpha == 1e-5
    assert relay.image.resize1d(x, (3,)).attrs.rounding_method == ""


def test_a_scope_builder_binds_what_text_would() -> None:
    """The type of a scalar by its dtype, and operators of several results as they come."""
    scope = relay.ScopeBuilder()
    one = scope.let(("one", "int32"), relay.const(1))
    halves = scope.let("halves", relay.split(relay.var("x", shape=(4,)), 2))
    scope.ret(relay.Tuple([one, relay.TupleGetItem(halves, 0)]))
    assert str(one.type_annotation) == "int32"
    assert result_type(scope.get()) == "(int32, Tensor[(2), float32])"
