"""What each pass makes of a small program, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.forms.defuse_ops import DefuseOps
from baton._src.passes.relay.forms.inlining import Inline
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm, lifted_expressions
from baton._src.passes.relay.forms.to_graph_normal_form import ToGraphNormalForm
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.layouts.alter_op_layout import AlterOpLayout
from baton._src.passes.relay.layouts.convert_layout import ConvertLayout
from baton._src.passes.relay.operators.canonicalize_cast import CanonicalizeCast
from baton._src.passes.relay.operators.canonicalize_ops import CanonicalizeOps
from baton._src.passes.relay.operators.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from baton._src.passes.relay.operators.div_to_mul import DivToMul
from baton._src.passes.relay.operators.dynamic_to_static import DynamicToStatic
from baton._src.passes.relay.operators.fast_math import FastMath
from baton._src.passes.relay.operators.fold_scale_axis import BackwardFoldScaleAxis, FoldScaleAxis, ForwardFoldScaleAxis
from baton._src.passes.relay.operators.legalize import Legalize
from baton._src.passes.relay.operators.simplify_expr import SimplifyExpr
from baton._src.passes.relay.operators.simplify_inference import SimplifyInference
from baton._src.passes.relay.operators.to_mixed_precision import ToMixedPrecision
from baton._src.passes.relay.pipeline import optimize
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function, TempExpr
from baton._src.relay.prelude.load import Prelude
from baton._src.relay.text.parser import parse
from baton._src.relay.text.printer import astext
from baton._src.transform.context import PassContext
from tests.relay.programs import error_of, names, plain, read, read_module

M = "Tensor[(2, 3), float32]"
X = "%x: Tensor[(2, 3), float32], %c: bool"
IMAGE = "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4, 1, 1), float32]"
ROWS = "%x: Tensor[(1, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(2, 8), float32]"


def main(params: str, body: str) -> IRModule:
    return read_module(f"def @main({params}) {{ {body} }}")


def values(module: IRModule) -> Any:
    rng = np.random.default_rng(0)
    args = [rng.standard_normal([d.value for d in p.checked_type.shape]) for p in module["main"].params]
    cast = [a.astype(p.checked_type.dtype) for a, p in zip(args, module["main"].params)]
    found = Interpreter(module).evaluate(module["main"])(*cast)
    return [np.asarray(v.data) for v in (found if isinstance(found, tuple) else (found,))]


def check_same(before: IRModule, after: IRModule, tolerance: float = 1e-4) -> None:
    for one, other in zip(values(before), values(after), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    assert not any(isinstance(n, TempExpr) for n in walk(after["main"]))


CASES = [
    ("RELAY-PASS-20", FoldConstant(), X, "(1f + 2f) * %x", "3f * %x"),
    ("RELAY-PASS-20", FoldConstant(), X, "let %c = 1f + 2f; %c * %x", "3f * %x"),
    ("RELAY-PASS-20", FoldConstant(), X, "broadcast_to(1f, shape=[1000000, 1000000])", None),
    (
        "RELAY-PASS-20",
        FoldConstant(),
        X,
        'if (%c) { take(Constant(1, (3,), float32), 7, axis=0, mode="fast") } else { 1f }',  # fails if it ever runs
        None,
    ),
    ("RELAY-PASS-20", FoldConstant(), X, "let %c = 1f; let %d = %c + 1f; let %e = %d + 1f; %x * %e", "%x * 3f"),
    ("RELAY-PASS-20", FoldConstant(), X, "let %t = (1f, 2f); %x * %t.0", None),
    (
        "RELAY-PASS-20",
        FoldConstant(),
        X,
        "(fn (%p: Tensor[(2, 3), float32], Primitive=1) { %p + (1f + 2f) })(%x)",
        None,
    ),
    (
        "RELAY-PASS-20",
        FoldConstant(),
        X,
        "let %f = fn (%p) { let %c = 1f + 2f; %p + %c }; %f(%x)",
        "let %f = fn (%p) { %p + 3f }; %f(%x)",
    ),
    ("RELAY-CONST-5", FoldConstant(), X, "add(1f, 2f)", "3f"),
    ("RELAY-PASS-20", FoldConstant(), "%s: Tensor[(4, 3), float32]", "1 + ndarray_size(exp(%s))", "13"),
    ("RELAY-PASS-20", FoldConstant(), "%s: Tensor[(?, 3), float32]", "shape_of(%s)", None),
    (
        "RELAY-PASS-22",
        FuseOps(2),
        X,
        "exp(annotation.stop_fusion(%x + 1f))",
        f"(fn (%p: {M}, Primitive=1) -> {M} {{ exp(%p) }})((fn (%p: {M}, Primitive=1) -> {M} {{ %p + 1f }})(%x))",
    ),
    (
        "RELAY-PASS-22",
        FuseOps(0),
        X,
        "%x + 1f",
        f"(fn (%p: {M}, %q: float32, Primitive=1) -> {M} {{ %p + %q }})(%x, 1f)",
    ),
    (
        "RELAY-PASS-22",
        FuseOps(2),
        "%n: uint8",
        "%n + 1u8",
        "(fn (%p: uint8, %q: uint8, Primitive=1) -> uint8 { %p + %q })(%n, 1u8)",
    ),
    (
        "RELAY-PASS-22",
        FuseOps(2),
        X,
        '%x + zeros(shape=[3], dtype="float32")',
        f'(fn (%p: {M}, Primitive=1) -> {M} {{ %p + zeros(shape=[3], dtype="float32") }})(%x)',
    ),
    (
        "RELAY-PASS-22",
        FuseOps(2),
        X,
        "squeeze(expand_dims(%x, axis=0))",
        f"(fn (%p: {M}, Primitive=1, relay.reshape_only=1) -> {M} {{ squeeze(expand_dims(%p, axis=0)) }})(%x)",
    ),
    ("RELAY-PASS-19", DeadCodeElimination(), X, "let %u = %x + 1f; let %w = %u + 1f; %x", "%x"),
    ("RELAY-PASS-19", DeadCodeElimination(), X, "let %r = ref(%x); let %u = ref_write(%r, %x); %x", None),
    ("RELAY-PASS-19", DeadCodeElimination(), X, "let %r = ref(%x); %x", "%x"),
    ("RELAY-PASS-19", DeadCodeElimination(), X, "let %r = ref(%x); let %u = ref_read(%r); %x", None),
    (
        "RELAY-PASS-19",
        DeadCodeElimination(inline_once=True),
        X,
        "let %a = exp(%x); let %b = tanh(%a); let %r = ref(%x); let %u = ref_write(%r, %x); %b + ref_read(%r)",
        "let %r = ref(%x); let %u = ref_write(%r, %x); tanh(exp(%x)) + ref_read(%r)",
    ),
    (
        "RELAY-PASS-19",
        DeadCodeElimination(inline_once=True),
        X,
        "let %a = exp(%x); if (%c) { tanh(%a) } else { %x }",
        "if (%c) { tanh(exp(%x)) } else { %x }",
    ),
    (
        "RELAY-PASS-19",
        DeadCodeElimination(inline_once=True),
        X,
        "let %a = exp(%x); let %f = fn (%y) { let %b = %y * 2f; let %z = %b + 1f; %a + %z }; (%f(1f), %f(2f))",
        "let %a = exp(%x); let %f = fn (%y) { %a + (%y * 2f + 1f) }; (%f(1f), %f(2f))",
    ),
    (
        "RELAY-PASS-19",
        DeadCodeElimination(inline_once=True),
        X,
        "let %f = fn (%y: float32) -> float32 { %y + 1f }; %f(2f)",
        "(fn (%y: float32) -> float32 { %y + 1f })(2f)",
    ),
    (
        "RELAY-PASS-19",
        DeadCodeElimination(inline_once=True),
        X,
        "let %f = fn (%y: float32) -> float32 { if (%c) { %f(%y) } else { %y } }; %f(2f)",
        None,
    ),
    ("RELAY-PASS-12", EliminateCommonSubexpr(), X, "(%x + %x) * (%x + %x)", "%1 = %x + %x; %1 * %1"),
    ("RELAY-PASS-12", EliminateCommonSubexpr(), "%b: int32, %c: int32", "(%b + %c) * (%c + %b)", None),
    ("RELAY-PASS-13", EliminateCommonSubexpr(), X, "(%x + 1f) * (%x + 1f)", "%1 = %x + 1f; %1 * %1"),
    ("RELAY-PASS-13", EliminateCommonSubexpr(), X, "(sum(%x, axis=[0]), sum(%x, axis=[1]))", None),
    (
        "RELAY-PASS-16",
        EliminateCommonSubexpr(),
        X,
        "let %t = (%x, %c); (%t.0, %t.0)",
        "let %t = (%x, %c); %1 = %t.0; (%1, %1)",
    ),
    ("RELAY-PASS-15", EliminateCommonSubexpr(fskip=lambda e: True), X, "(%x + %x) * (%x + %x)", None),
    (
        "RELAY-PASS-08",
        ToBasicBlockNormalForm(),
        X,
        "%1 = log(%x); if (%c) { %1 } else { %1 + exp(%x) }",
        "let %v = log(%x); if (%c) { %v } else { %v + exp(%x) }",
    ),
    ("RELAY-PASS-08", ToBasicBlockNormalForm(), X, "if (%c) { %1 = log(%x); %1 + %1 } else { %x }", None),
    ("RELAY-PASS-17", ToANormalForm(), X, "add(log(%x), %x)", "let %v1 = log(%x); let %v2 = add(%v1, %x); %v2"),
    ("RELAY-PASS-17", ToGraphNormalForm(), X, "let %v1 = log(%x); let %v2 = add(%v1, %x); %v2", "add(log(%x), %x)"),
    ("RELAY-PASS-17", ToGraphNormalForm(), X, "let %f = fn(%y) { %y }; (%f(%x), %f(1))", None),  # a node has one type
    (
        "RELAY-PASS-26",
        SimplifyExpr(),
        X,
        "reshape(reshape(%x, newshape=[6]), newshape=[3, 2])",
        "reshape(%x, newshape=[3, 2])",
    ),
    ("RELAY-PASS-26", SimplifyExpr(), X, "transpose(transpose(%x * 1f + 0f))", "%x"),
    ("RELAY-PASS-26", SimplifyExpr(), X, "%x * 2f", None),
    ("RELAY-PASS-26", DivToMul(), X, "%x / 4f", "%x * 0.25f"),
    ("RELAY-PASS-26", DivToMul(), X, "%x / 1e-39f", None),  # whose reciprocal is infinite
    ("RELAY-PASS-26", DivToMul(), X, "%x / 3e38f", None),  # whose reciprocal has 21 bits left
    ("RELAY-PASS-26", DivToMul(), "%x: Tensor[(2), float16]", "%x / 1e-5f16", None),
    ("RELAY-PASS-26", FastMath(), X, "nn.softmax(%x)", "nn.fast_softmax(%x)"),
    (
        "RELAY-PASS-26",
        CanonicalizeOps(),
        X,
        "nn.bias_add(%x, Constant(1, (3,), float32))",
        "%x + Constant(1, (3,), float32)",
    ),
    (
        "RELAY-PASS-26",
        CanonicalizeCast(),
        "%x: int8",
        '%1 = cast(%x, dtype="int32"); (abs(%1), %1 + 1)',
        '(abs(cast(%x, dtype="int32")), cast(%x, dtype="int32") + 1)',
    ),
    ("RELAY-PASS-30", DynamicToStatic(), X, "dyn.reshape(%x, Constant(6, (1,), int64))", "reshape(%x, newshape=[6])"),
    ("RELAY-PASS-30", DynamicToStatic(), X, "dyn.ones(Constant(2, (1,), int64))", "ones(shape=[2])"),
    (
        "RELAY-PASS-30",
        DynamicToStatic(),
        X,
        "let %s = shape_of(exp(%x)) + shape_of(%x); dyn.broadcast_to(1f + 2f, %s)",
        "let %s = shape_of(exp(%x)) + shape_of(%x); broadcast_to(1f + 2f, shape=[4, 6])",
    ),
    (
        "RELAY-PASS-30",
        DynamicToStatic(),
        X,
        "dyn.reshape(%x, shape_of(exp(dyn.reshape(%x, Constant(6, (1,), int64)))))",
        "reshape(%x, newshape=[6])",
    ),
    ("RELAY-PASS-30", DynamicToStatic(), "%x: float32, %s: Tensor[(1), int64]", "dyn.reshape(%x, %s)", None),
    ("RELAY-MOD-5", Inline(), X, "exp(%x)", None),
    ("RELAY-PASS-27", AlterOpLayout(), X, "exp(%x)", None),
]


@pytest.mark.parametrize(
    ("step", "params", "before", "after"),
    [pytest.param(*case[1:], marks=pytest.mark.rule(case[0])) for case in CASES],
)
def test_before_and_after(step: Any, params: str, before: str, after: str | None) -> None:
    """`after` None: the pass changes nothing."""
    found = step(main(params, before))
    assert_structural_equal(found, main(params, after if after is not None else before))


@pytest.mark.rule("RELAY-PASS-07")
def test_unused_functions_go() -> None:
    text = "def @main() { @f() }\ndef @f() -> int32 { @g() }\n"
    text += "def @g() -> int32 { if (True) { 1 } else { @f() } }\ndef @h() {2}"
    assert [v.name_hint for v in RemoveUnusedFunctions()(read_module(text))] == ["main", "f", "g"]


@pytest.mark.rule("RELAY-PASS-10")
def test_lifted_expressions() -> None:
    function = read("fn(%x: float32, %c: bool) { %1 = log(%x); if (%c) { %1 + 1f } else { %1 + 2f } }")
    assert [n.op.name for n in lifted_expressions(function)] == ["log"]


@pytest.mark.rule("RELAY-MOD-5")
@pytest.mark.rule("RELAY-FRAG-4")
@pytest.mark.rule("RELAY-VAR-7")
def test_inlining() -> None:
    text = (
        "def @f(%x: float32, Inline=1) -> float32 { let %y = %x + %x; %y * %x }\ndef @main(%a: float32) { @f(@f(%a)) }"
    )
    before = read_module(text)
    after = Inline()(before)
    assert not any(getattr(n, "name_hint", "") == "f" for n in walk(after["main"]))
    check_same(before, after)


def test_an_inlined_body_has_the_types_of_its_call() -> None:
    """What is written in it with type parameters, a wildcard, and `Nil`, which is one node in both calls."""
    text = """
def @f[A](%x: A, Inline=1) -> List[A] { let %y: A = %x; let %z: _ = Nil; Cons(%y, %z) }
def @main(%a: float32, %b: int32) { (@hd(@f(%a)), @hd(@f(%b))) }"""
    before = parse(text, CATALOGUE, module=Prelude(CATALOGUE).module)
    after = Inline()(before)
    assert not any(getattr(n, "name_hint", "") == "f" for n in walk(after["main"]))
    assert plain(Interpreter(after).evaluate(after["main"])(1.5, 2)) == (1.5, 2)
    square = parse("def @id[A](%x: A) -> A { let %y: A = %x; %y } def @main(%x: float32) { @id(%x) * %x }", CATALOGUE)
    found = gradient(square["main"], square, "first_order")
    assert plain(Interpreter(square).evaluate(found)(3.0)) == (9.0, (6.0,))


STATISTICS = ", ".join(f"%{name}: Tensor[(4), float32]" for name in "gbmv")
NORMALISED = f"%x: Tensor[(2, 4, 3, 5), float32], %t: Tensor[(2, 5, 3, 4), float32], {STATISTICS}"


def wide(vector: str) -> str:
    return f"expand_dims({vector}, axis=1, num_newaxis=2)"


@pytest.mark.rule("RELAY-PASS-21")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "nn.batch_norm(%x, %g, %b, %m, %v).0",
            f"%1 = 1f / sqrt(%v + 1e-05f) * %g; %x * {wide('%1')} + {wide('negative(%m) * %1 + %b')}",
        ),
        (
            "nn.batch_norm(%t, %g, %b, %m, %v, axis=3, center=False, scale=False).0",
            "%1 = 1f / sqrt(%v + 1e-05f); %t * %1 + negative(%m) * %1",
        ),
        (
            "nn.layer_norm(%x, %g, %b, axis=-3)",
            "%1 = mean(%x, axis=[-3], keepdims=True);"
            "%2 = (%x - %1) / sqrt(variance(%x, %1, axis=[-3], keepdims=True) + 1e-05f);"
            f"%2 * {wide('%g')} + {wide('%b')}",
        ),
    ],
)
def test_normalisation_in_the_order_of_tvm(before: str, after: str) -> None:
    assert_structural_equal(SimplifyInference()(main(NORMALISED, before)), main(NORMALISED, after))


@pytest.mark.rule("RELAY-PASS-21")
@pytest.mark.parametrize(
    "body",
    [
        "nn.batch_norm(%x, %g, %b, %m, %v).0",
        "nn.layer_norm(%x, %g, %b, axis=1)",
        "nn.instance_norm(%x, %g, %b)",
        "nn.group_norm(%x, %g, %b, num_groups=2)",
        "nn.l2_normalize(%x, eps=1e-3f, axis=[1])",
        "nn.dropout(%x).0",
    ],
)
def test_normalisation_becomes_arithmetic(body: str) -> None:
    vector = "Tensor[(4), float32]"
    params = f"%x: Tensor[(2, 4, 3, 5), float32], %g: {vector}, %b: {vector}, %m: {vector}, %v0: {vector}"
    before = main(params, f"let %v = %v0 * %v0; {body}")
    after = SimplifyInference()(before)
    assert not any("norm" in n or "dropout" in n for n in names(after))
    check_same(before, after)


@pytest.mark.rule("RELAY-PASS-22")
@pytest.mark.rule("RELAY-PASS-23")
def test_fusion_and_back() -> None:
    before = main(IMAGE, "nn.softmax(nn.relu(nn.conv2d(%x, %w) + %b) * 2f)")
    fused = FuseOps(fuse_opt_level=1)(before)
    made = [n for n in walk(fused["main"].body) if isinstance(n, Function)]
    groups = sorted([m.op.name for m in walk(n.body) if isinstance(m, Call)] for n in made)
    assert groups == [["nn.conv2d", "add", "nn.relu", "multiply"], ["nn.softmax"]]
    check_same(before, fused)
    assert_structural_equal(DefuseOps()(fused), before)


@pytest.mark.rule("RELAY-PASS-24")
@pytest.mark.rule("RELAY-TEMP-2")
@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("nn.conv2d(%x, Constant(1, (4, 3, 3, 3), float32)) * Constant(2, (4, 1, 1), float32)", ["nn.conv2d"]),
        ("nn.relu(nn.conv2d(%x, %w) + %b) * Constant(2, (4, 1, 1), float32)", None),
        (
            "nn.conv2d(nn.relu(%x * Constant(3, (3, 1, 1), float32)), Constant(1, (4, 3, 3, 3), float32))",
            ["nn.relu", "nn.conv2d"],
        ),
        ("nn.conv2d(nn.relu(%x * Constant(-3, (3, 1, 1), float32)), %w)", ["multiply", "nn.relu", "nn.conv2d"]),
        ("%1 = nn.conv2d(%x, %w); (%1 * Constant(2, (4, 1, 1), float32), %1)", ["nn.conv2d", "multiply"]),
    ],
)
def test_scales_go_into_weights(body: str, left: list[str] | None) -> None:
    before = main(IMAGE, body)
    with PassContext(opt_level=3):
        after = FoldScaleAxis()(before)
    assert left is None or names(after) == left
    check_same(before, after)
    check_same(before, BackwardFoldScaleAxis()(before))
    check_same(before, ForwardFoldScaleAxis()(before))


@pytest.mark.rule("RELAY-PASS-25")
def test_siblings_are_combined() -> None:
    before = main(IMAGE, "(nn.conv2d(%x, %w), nn.conv2d(%x, %w), nn.conv2d(%x, %w))")
    after = CombineParallelConv2D()(before)
    assert names(after).count("nn.conv2d") == 1
    check_same(before, after)
    before = main(ROWS, "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %a))")
    after = CombineParallelDense(to_batch=False)(before)
    assert names(after).count("nn.dense") == 1
    check_same(before, after)
    batch = "%x: Tensor[(2, 3, 4), float32], %y: Tensor[(2, 5, 4), float32]"
    one = "nn.batch_matmul(%x, %y, transpose_b=True)"
    before = main(batch, f"({one}, {one}, {one})")
    after = CombineParallelBatchMatmul()(before)
    assert names(after).count("nn.batch_matmul") == 1
    check_same(before, after)


@pytest.mark.rule("RELAY-PASS-25", rejects=True)
def test_two_siblings_stay() -> None:
    before = main(ROWS, "(nn.dense(%x, %a), nn.dense(%x, %b))")
    assert_structural_equal(CombineParallelDense()(before), before)


@pytest.mark.rule("RELAY-PASS-27")
def test_layouts_change_at_the_borders_only() -> None:
    params = IMAGE + ", %v: Tensor[(5, 4, 3, 3), float32]"
    before = main(params, "nn.conv2d(nn.relu(nn.conv2d(%x, %w) + %b) * 2f, %v)")
    after = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(before)
    moved = [n for n in walk(after["main"]) if isinstance(n, Call) and n.op.name == "layout_transform"]
    assert len(moved) == 5  # in, out, two kernels and the bias
    check_same(before, after)


def test_legalize_applies_rules() -> None:
    before = main(X, "exp(%x)")
    assert_structural_equal(Legalize(rules={"exp": lambda attrs, args, types: None})(before), before)
    product = read("1f * 2f").op
    squared = {"square": lambda attrs, args, types: Call(product, (args[0], args[0]))}
    after = Legalize(rules=squared)(main("%x: float32", "square(%x)"))
    assert names(after) == ["multiply"]


@pytest.mark.rule("RELAY-PASS-31")
def test_mixed_precision() -> None:
    before = main(IMAGE, "nn.softmax(nn.relu(nn.conv2d(%x, %w)) * 2f)")
    after = ToMixedPrecision()(before)
    kinds = {n.op.name: str(n.checked_type.dtype) for n in walk(after["main"]) if isinstance(n, Call)}
    assert kinds["nn.conv2d"] == kinds["nn.relu"] == "float16"
    assert kinds["nn.softmax"] == "float32"
    check_same(before, after, 2e-2)


@pytest.mark.rule("RELAY-PASS-29")
@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
def test_gradients(mode: str) -> None:
    made = gradient(read("fn(%x: float32) { %x * %x }"), mode=mode)
    module = InferType()(IRModule({"main": made}))
    assert plain(Interpreter(module).evaluate(module["main"])(3.0)) == (9.0, (6.0,))


@pytest.mark.rule("RELAY-PASS-29")
def test_gradients_against_differences() -> None:
    function = read("fn(%x: Tensor[(3), float32]) { let %y = exp(%x) * %x; sum(tanh(%y) + %x / (%y + 9f)) }")
    module = InferType()(IRModule({"main": gradient(function)}))
    x = np.float32([0.1, -0.4, 0.7])
    value, (slope,) = plain(Interpreter(module).evaluate(module["main"])(x))
    for i in range(3):
        step = np.zeros(3, "float32")
        step[i] = 1e-2
        ends = [plain(Interpreter().evaluate(function)(x + s)) for s in (step, -step)]
        assert (ends[0] - ends[1]) / 2e-2 == pytest.approx(slope[i], abs=5e-3)
    assert value == pytest.approx(plain(Interpreter().evaluate(function)(x)))


def test_gradients_of_many_fields_are_as_many_nodes() -> None:
    """A projection has a gradient for its own field, not zeros for all others, which would be their square."""
    fields = ", ".join(f"%1.{i} * 2f" for i in range(60))
    function = read(f"fn(%x: Tensor[(64), float32]) {{ %1 = split(%x, indices_or_sections=64); ({fields}) }}")
    made = gradient(function, mode="first_order")
    assert len(walk(made)) < 60 * 15
    slope = plain(Interpreter().evaluate(made)(np.ones(64, "float32")))[1][0]
    assert slope == [2.0] * 60 + [0.0] * 4


@pytest.mark.rule("RELAY-PASS-29", rejects=True)
def test_no_gradient() -> None:
    assert error_of(lambda: gradient(read("fn(%x: float32) { floor(%x) }"))).code == "relay-gradient"
    text = "fn(%x: float32, %c: bool) { if (%c) { %x } else { %x + 1f } }"
    assert error_of(lambda: gradient(read(text), mode="first_order")).code == "relay-gradient"


@pytest.mark.rule("RELAY-BUILD-8")
def test_the_pipeline_folds_a_batch_norm_into_its_convolution() -> None:
    vector = "Constant(2, (4,), float32)"
    body = (
        f"nn.relu(nn.batch_norm(nn.conv2d(%x, Constant(1, (4, 3, 3, 3), float32)), {vector}, %b, {vector}, {vector}).0)"
    )
    before = main("%x: Tensor[(1, 3, 8, 8), float32], %b: Tensor[(4), float32]", body)
    with PassContext(opt_level=3):
        after = optimize()(before)
    assert "multiply" not in names(after)
    check_same(before, after)
    assert "batch_norm" not in astext(after)
