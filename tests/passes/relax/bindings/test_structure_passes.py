"""LambdaLift, BindParams, BindSymbolicVars, ConvertToDataflow, ToNonDataflow, InlinePrivateFunctions, Normalize, ..."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.pipelines import simplify
from baton._src.passes.relax.bindings.attach_global_symbol import AttachGlobalSymbol
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow, ToNonDataflow
from baton._src.passes.relax.bindings.inline_private_functions import InlinePrivateFunctions
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.passes.relax.bindings.normalize import Normalize, NormalizeGlobalVar
from baton._src.passes.relax.bindings.topological_sort import TopologicalSort
from baton._src.passes.relax.interfaces.bind_params import BindParams, BindSymbolicVars
from baton._src.passes.relax.interfaces.lift_transform_params import LiftTransformParams
from baton._src.passes.relax.operators.decompose_ops import DecomposeOpsForInference
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.products.fold_scale_into_weights import FoldScaleIntoWeights
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import (
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.passes import Sequential
from baton.script import from_source
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import (
    R,
    arrays,
    bindings,
    called,
    check,
    const,
    dim,
    printing,
    program,
    same_values,
    tensor,
    weights,
)


def has_inner_functions(module: IRModule) -> bool:
    """Whether a function stands inside another one."""
    functions = set(module.functions.values())
    nodes = [n for f in functions if isinstance(f, Function) for n in post_order(f.body)]
    return any(isinstance(n, Function) for n in nodes)


def inner_function(build: Any, *params: Var) -> Function:
    """A local function of these parameters."""
    result = params[0].struct_info
    return Function(params, SeqExpr([], build(*params)), result)


# --------------------------------------------------------------------------------------------------- LambdaLift


@pytest.mark.rule("RELAX-PASS-09")
def test_closures_are_lifted_with_what_they_capture() -> None:
    """inner captures y, and with it the shape variable n."""
    n = dim()

    def build(b: Any, x: Any, y: Any) -> Any:
        inner = b.emit(inner_function(lambda z: R.add(z, R.exp(y)), tensor("z", n)), "inner")
        return Call(inner, [b.emit(Call(inner, [x]))])

    after = check(LambdaLift(), program([tensor("x", n), tensor("y", n)], build, dataflow=False), *arrays((3,), (3,)))
    assert not has_inner_functions(after)
    assert called(after) == ["make_closure", "invoke_pure_closure", "invoke_pure_closure"]
    assert [p.name_hint for p in after["main_inner"].params] == ["z", "y"]


@pytest.mark.rule("RELAX-PASS-09")
def test_functions_that_capture_nothing_get_a_name() -> None:
    def build(b: Any, x: Any) -> Any:
        inner = b.emit(inner_function(lambda z: R.exp(z), tensor("z", 3)), "inner")
        return Call(inner, [x])

    after = check(LambdaLift(), program([tensor("x", 3)], build, dataflow=False), *arrays((3,)))
    assert called(after) == ["main_inner"]


def test_a_closure_used_as_a_value_keeps_its_type() -> None:
    """Returned from a branch and called through the variable there."""

    def build(b: Any, x: Any, c: Any) -> Any:
        inner = b.emit(inner_function(lambda z: R.add(z, x), tensor("z", 3)), "inner")
        chosen = b.emit(If(c, SeqExpr([], inner), SeqExpr([], inner)))
        return Call(chosen, [x])

    before = program([tensor("x", 3), tensor("c", dtype="bool")], build, dataflow=False)
    after = LambdaLift()(before)
    assert not has_inner_functions(after)
    chosen = next(b.var for b in bindings(after) if isinstance(b.value, If))
    assert isinstance(chosen.struct_info, FuncStructInfo)


IN_A_BRANCH = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Object:
        @R.function
        def outer(p: R.Tensor((), "float32")) -> R.Object:
            if c:
                @R.function
                def inner(a: R.Tensor(("k",), "float32"), b: R.Tensor(("k * 2",), "float32")) -> R.Object:
                    return (b, x)
                j = inner(R.zeros((1,), "float32"), R.ones((2,), "float32"))
            else:
                j = p
            return j
        return outer(R.const(5.0, "float32"))
"""


def test_the_shape_variables_of_a_closures_type_are_not_captured() -> None:
    """`inner` is only called, in a branch: no cast to its type stays, and nobody has to know its k."""
    after = check(LambdaLift(), from_source(IN_A_BRANCH), *arrays((3,)), np.array(True))
    assert not any(isinstance(n, MatchCast) for f in after.functions.values() for n in post_order(f))
    assert [len(after[f"main_{name}"].params) for name in ("inner", "outer")] == [3, 3]


def test_recursion_goes_through_the_new_name() -> None:
    """A local function that calls itself, captures and all."""
    x, i = tensor("x"), tensor("i", dtype="int64")
    info = FuncStructInfo([i.struct_info], x.struct_info)
    loop = Var("loop", info)
    again = Call(loop, [R.subtract(i, const(1, dtype="int64"))])
    body = If(R.greater(i, const(0, dtype="int64")), SeqExpr([], R.add(again, x)), SeqExpr([], x))

    def build(b: Any, x_: Any) -> Any:
        b.emit_normalized(VarBinding(loop, Function([i], SeqExpr([], body), x.struct_info)))
        return Call(loop, [const(3, dtype="int64")])

    before = program([x], build, dataflow=False)
    after = check(LambdaLift(), before, np.float32(2.0))
    assert evaluate(after, "main", np.float32(2.0)) == 8.0
    lifted = after["main_loop"]
    assert any(isinstance(n, GlobalVar) and n.name_hint == "main_loop" for n in post_order(lifted.body))


# ---------------------------------------------------------------------------------------- BindParams and symbols


@pytest.mark.rule("RELAX-PASS-12")
def test_parameters_become_constants_and_fix_their_shape_variables() -> None:
    n = dim()
    before = program([tensor("x", 2, n), tensor("w", n, 3)], lambda b, x, w: R.matmul(x, w), num_input=1)
    x, w = arrays((2, 4), (4, 3))
    after = BindParams("main", {"w": w})(before)
    function = after["main"]
    assert [p.name_hint for p in function.params] == ["x"]
    assert function.params[0].struct_info.shape.values[1].value == 4
    same_values(evaluate(after, "main", x), x @ w)


@pytest.mark.rule("RELAX-PASS-12", rejects=True)
def test_binding_errors_name_the_parameter() -> None:
    before = program([tensor("x", 2)], lambda b, x: R.exp(x))
    with pytest.raises(DiagnosticError, match="no parameter 'w'"):
        BindParams("main", {"w": np.zeros(2)})(before)
    with pytest.raises(DiagnosticError, match=r"shape \(3,\)"):
        BindParams("main", {"x": np.zeros(3, "float32")})(before)
    with pytest.raises(DiagnosticError, match="no shape variable 'n'"):
        BindSymbolicVars({"n": 3})(before)


def test_shapes_and_scalars_are_bound() -> None:
    """They became constant tensors, in whose places the sizes of shapes were left unbound."""
    n, k = dim(), dim("k")
    shape, scalar = Var("s", ShapeStructInfo([n, k])), Var("p", PrimStructInfo(value=dim("q")))

    def build(b: Any, x: Any, s: Any, p: Any) -> Any:
        return R.multiply(b.emit(R.broadcast_to(x, s)), b.emit(R.broadcast_to(x, ShapeExpr([n, k]))))

    before = program([tensor("x", n, 1), shape, scalar], build)
    after = BindParams("main", {"s": ShapeExpr([2, 3]), "p": PrimValue(5)})(before)
    assert well_formed(after) == []
    assert [int(d.value) for d in after["main"].ret_struct_info.shape.values] == [2, 3]
    (x,) = arrays((2, 1))
    same_values(evaluate(after, "main", x), np.broadcast_to(x * x, (2, 3)))
    for name, value in (("s", [2]), ("p", [2, 3]), ("s", np.array([2, 3])), ("p", 1.5)):
        with pytest.raises(DiagnosticError, match=f"does not fit the parameter {name}"):
            BindParams("main", {name: value})(before)


def test_values_of_python_are_bound() -> None:
    """Integers are shapes and scalars, and sequences tuples, where the parameter is one."""
    n, q = dim(), dim("q")
    info = TupleStructInfo([TensorStructInfo([n], "float32"), ShapeStructInfo([n, 2]), PrimStructInfo(value=q)])
    pair, times = Var("t", info), Var("p", PrimStructInfo("float32"))

    def build(b: Any, x: Any, t: Any, p: Any) -> Any:
        return R.broadcast_to(b.emit(R.multiply(R.add(x, TupleGetItem(t, 0)), p)), ShapeExpr([q, n]))

    before = program([tensor("x", n), pair, times], build)
    (x,) = arrays((3,))
    after = BindParams("main", {"t": (x, (3, 2), 4), "p": 0.5})(before)
    assert well_formed(after) == []
    same_values(Interpreter(after).run("main", x).numpy(), np.broadcast_to(x, (4, 3)))
    with pytest.raises(DiagnosticError, match=r"does not fit the parameter t"):
        BindParams("main", {"t": (x, (3, 3), 4)})(before)
    with pytest.raises(DiagnosticError, match=r"parameter t\[0\] is .*no tensor can be made"):
        BindParams("main", {"t": (object(), (3, 2), 4)})(before)


@pytest.mark.rule("RELAX-PASS-12", rejects=True)
def test_nothing_is_bound_twice() -> None:
    """The last one counted, in silence."""
    n = dim()
    before = program([tensor("x", n), tensor("w", n)], lambda b, x, w: R.add(x, w))
    (w,) = arrays((3,))
    with pytest.raises(DiagnosticError, match="the parameter w is bound twice"):
        BindParams("main", {"w": w, before["main"].params[1]: w + 1})(before)
    with pytest.raises(DiagnosticError, match="the shape variable n is bound twice"):
        BindSymbolicVars({"n": 3, n: 4})(before)


def test_sizes_that_others_decide_are_checked_when_running() -> None:
    """Six numbers for `2 * n` were taken for any n."""
    n = dim()
    before = program([tensor("x", n), tensor("w", n * 2)], lambda b, x, w: R.add(x, R.sum(w)))
    x, more, w = arrays((3,), (4,), (6,))
    after = BindParams("main", {"w": w})(before)
    assert well_formed(after) == []
    same_values(Interpreter(after).run("main", x).numpy(), x + w.sum())
    with pytest.raises(DiagnosticError, match="is 6, expected 8"):
        Interpreter(after).run("main", more)


@pytest.mark.rule("RELAX-PASS-12", rejects=True)
def test_constants_fit_computed_sizes() -> None:
    """Eight numbers for `2 * n` were no error, although another constant said that `n` is 3."""
    n = dim()
    before = program([tensor("x", n), tensor("w", n * 2)], lambda b, x, w: R.add(b.emit(R.concat((x, x), 0)), w))
    x, w, wrong = arrays((3,), (6,), (8,))
    assert len(BindParams("main", {"x": x, "w": w})(before)["main"].params) == 0
    with pytest.raises(DiagnosticError, match=r"does not fit the parameter w, .*n = 3"):
        BindParams("main", {"x": x, "w": wrong})(before)


@pytest.mark.rule("RELAX-PASS-12", rejects=True)
def test_sizes_are_bound_to_what_can_be_their_value() -> None:
    """Parameters had negative sizes, and dims of another dtype than the variable's."""
    n = dim()
    before = program([tensor("x", n - 2, n)], lambda b, x: R.exp(x))
    with pytest.raises(DiagnosticError, match=r"no tensor can be the parameter x of size .*-1.* \(n = 1\)"):
        BindSymbolicVars({"n": 1})(before)
    with pytest.raises(DiagnosticError, match="n is int64, k is int32"):
        BindSymbolicVars({"n": TirVar("k", "int32")})(before)
    bound = BindSymbolicVars({"n": IntImm("int32", 4)})(before)["main"].params[0].struct_info.shape.values
    assert [(d.value, str(d.dtype)) for d in bound] == [(2, "int64"), (4, "int64")]


@pytest.mark.rule("RELAX-PASS-12")
def test_shape_variables_become_numbers_everywhere() -> None:
    """Annotations of parameters, bindings and results, and shapes as values."""
    n = dim()
    before = program([tensor("x", n, 4)], lambda b, x: R.reshape(x, (n * 4,)))
    after = BindSymbolicVars({"n": 3})(before)
    assert not any(v is n for v in post_order(after["main"], notes=True))
    assert after["main"].ret_struct_info.shape.values[0].value == 12
    same_values(evaluate(after, "main", *arrays((3, 4))), arrays((3, 4))[0].reshape(-1))


# ----------------------------------------------------------------------------------------------- dataflow blocks


@pytest.mark.rule("RELAX-PASS-03")
def test_runs_of_pure_bindings_become_dataflow_blocks() -> None:
    """add; exp; print; add with min_size 2: the first two only."""

    def build(b: Any, x: Any) -> Any:
        a = b.emit(R.add(x, x))
        e = b.emit(R.exp(a))
        b.emit(printing(e))
        return R.add(e, x)

    before = program([tensor("x", 2)], build, dataflow=False, pure=False)
    after = check(ConvertToDataflow(min_size=2), before, *arrays((2,)))
    first, second = after["main"].body.blocks
    assert isinstance(first, DataflowBlock)
    assert [type(b.var) for b in first.bindings] == [DataflowVar, Var]
    assert not isinstance(second, DataflowBlock)
    assert len(second.bindings) == 2
    assert ConvertToDataflow(min_size=3)(before) is before


@pytest.mark.rule("RELAX-PASS-03", rejects=True)
def test_effects_do_not_enter_a_dataflow_block() -> None:
    before = program([tensor("x", 2)], lambda b, x: (b.emit(printing(x)), x)[1], dataflow=False, pure=False)
    after = ConvertToDataflow(min_size=1)(before)
    blocks = [b for b in after["main"].body.blocks if isinstance(b, DataflowBlock)]
    assert not any(isinstance(b.value, Call) for block in blocks for b in block.bindings)


@pytest.mark.rule("RELAX-PASS-03")
def test_to_non_dataflow_undoes_it() -> None:
    before = program([tensor("x", 2)], lambda b, x: R.exp(R.add(x, x)))
    after = check(ToNonDataflow(), before, *arrays((2,)))
    assert not any(isinstance(n, (DataflowBlock, DataflowVar)) for n in post_order(after["main"]))
    again = check(ConvertToDataflow(), after, expected=before)
    assert isinstance(again["main"].body.blocks[0], DataflowBlock)


# ------------------------------------------------------------------------------------------------ whole functions


@pytest.mark.rule("RELAX-PASS-10")
def test_private_functions_are_inlined_and_removed() -> None:
    """Called twice with different lengths: the shape variable becomes what each call has."""
    n, m = dim("n"), dim("m")
    helper = program([tensor("t", n)], lambda b, t: R.exp(R.add(t, t)))["main"].without_attr("global_symbol")
    bb = BlockBuilder(IRModule({"helper": helper}))
    var = bb.get().get_global_var("helper")
    x, y = tensor("x", m), tensor("y", 3)
    with bb.function("main", [x, y]):
        with bb.dataflow():
            pair = [bb.emit(Call(var, [x])), bb.emit(Call(var, [y]))]
            out = bb.emit_output(Tuple(pair))
        bb.emit_func_output(out)
    after = check(InlinePrivateFunctions(), bb.get(), *arrays((2,), (3,)))
    assert [v.name_hint for v in after.functions] == ["main"]
    assert [c for c in called(after) if c not in ("DataflowVar", "Var")] == ["add", "exp", "add", "exp", "Tuple"]


@pytest.mark.rule("RELAX-PASS-10")
def test_inlining_keeps_dataflow_blocks_and_leaves_no_copies() -> None:
    # Outside of a block, the bodies' own blocks were lost, so that nothing was fused; each result was a copy.
    def body(bb: Any, t: Any) -> Any:
        bb.emit(R.log(t))  # unused
        return R.exp(R.add(t, t))

    bb = BlockBuilder(IRModule({"helper": program([tensor("t", 2)], body)["main"].without_attr("global_symbol")}))
    var = bb.get().get_global_var("helper")
    x = tensor("x", 2)
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(Call(var, [bb.emit(Call(var, [x]))])))
    after = check(InlinePrivateFunctions(), bb.get(), *arrays((2,)))
    (block,) = after["main"].body.blocks
    assert isinstance(block, DataflowBlock)
    assert [b.value.op.name for b in block.bindings] == ["relax.add", "relax.exp"] * 2


@pytest.mark.rule("RELAX-PASS-10", rejects=True)
def test_public_and_recursive_functions_stay() -> None:
    public = program([tensor("t", 2)], lambda b, t: R.exp(t))["main"].with_attr("global_symbol", "helper")
    bb = BlockBuilder(IRModule({"helper": public}))
    var = bb.get().get_global_var("helper")
    x = tensor("x", 2)
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(Call(var, [x])))
    assert InlinePrivateFunctions()(bb.get()).functions.keys() == bb.get().functions.keys()
    assert called(InlinePrivateFunctions()(bb.get())) == ["helper"]


@pytest.mark.rule("RELAX-PASS-01")
def test_normalize_names_nested_expressions() -> None:
    x = tensor("x", 2)
    nested = Function([x], SeqExpr([], R.exp(R.add(x, x))), None, True, {"global_symbol": "main"})
    after = check_normal(Normalize()(IRModule({"main": nested})))
    assert called(after) == ["add", "exp"]
    assert Normalize()(after) is after


def check_normal(module: IRModule) -> IRModule:
    same_values(evaluate(module, "main", np.ones(2, "float32")), np.full(2, np.exp(2.0)))
    return module


@pytest.mark.rule("RELAX-PASS-02")
@pytest.mark.rule("RELAX-PASS-15")
def test_names_and_symbols_agree() -> None:
    function = program([tensor("x", 2)], lambda b, x: R.exp(x))["main"]
    module = NormalizeGlobalVar()(IRModule({"f": function}))
    assert [v.name_hint for v in module.functions] == ["main"]
    private = function.without_attr("global_symbol")
    named = AttachGlobalSymbol()(IRModule({"main": private, "f": function.with_attr("global_symbol", "g")}))
    assert (named["main"].attrs["global_symbol"], named["f"].attrs["global_symbol"]) == ("main", "f")


@pytest.mark.rule("RELAX-PASS-13")
def test_weight_only_work_is_lifted() -> None:
    def build(b: Any, x: Any, w: Any, bias: Any) -> Any:
        turned = b.emit(R.permute_dims(w))
        return R.add(R.matmul(x, turned), bias)

    before = program([tensor("x", 2, 4), tensor("w", 3, 4), tensor("bias", 3)], build, num_input=1)
    after = check(LiftTransformParams(), before)
    x, w, bias = arrays((2, 4), (3, 4), (3,))
    prepared = evaluate(after, "main_transform_params", (w, bias))
    same_values(evaluate(after, "main", x, *prepared), x @ w.T + bias)
    assert called(after) == ["matmul", "add"]


# ------------------------------------------------------------------------------------- batch_norm into weights


@pytest.mark.rule("RELAX-PASS-24")
@pytest.mark.parametrize("bias", [False, True])
def test_batch_norm_behind_a_convolution_disappears_into_its_weights(bias: bool) -> None:
    """conv (+ bias) + batch_norm becomes conv + one add."""
    vectors = [weights(4, seed=s) for s in (1, 2, 3)] + [const(np.linspace(0.5, 2, 4))]

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.conv2d(x, weights(4, 2, 3, 3)))
        y = b.emit(R.add(y, weights(1, 4, 1, 1, seed=7))) if bias else y
        return R.nn.relu(b.emit(TupleGetItem(b.emit(R.nn.batch_norm(y, *vectors, axis=1)), 0)))

    before = program([tensor("x", 1, 2, 5, 5)], build)
    after = check(Sequential(simplify()), before, *arrays((1, 2, 5, 5)), rtol=1e-3)
    assert called(after) == ["nn.conv2d", "add", *(["add"] if bias else []), "nn.relu"]


def test_a_scale_is_not_folded_where_the_product_is_used_twice() -> None:
    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.conv2d(x, weights(4, 2, 1, 1)))
        return R.add(R.multiply(y, weights(1, 4, 1, 1)), y)

    before = program([tensor("x", 1, 2, 3, 3)], build)
    assert FoldScaleIntoWeights()(before) is before


def test_decomposing_alone_keeps_values() -> None:
    vectors = [weights(2, seed=s) for s in (1, 2, 3)] + [const([0.5, 2.0])]
    before = program([tensor("x", 3, 2)], lambda b, x: TupleGetItem(b.emit(R.nn.batch_norm(x, *vectors, axis=1)), 0))
    after = check(DecomposeOpsForInference(), before, *arrays((3, 2)), rtol=1e-4)
    assert "nn.batch_norm" not in called(after)
    assert isinstance(FoldConstant()(after), IRModule)
    assert isinstance(before["main"].ret_struct_info, TensorStructInfo)


@pytest.mark.parametrize(
    ("order", "direction", "expected"),
    [
        ("depth-first", "from-inputs", "b u a d c e"),
        ("depth-first", "from-outputs", "u a b d c e"),
        ("breadth-first", "from-inputs", "c b u a d e"),
        ("breadth-first", "from-outputs", "b a c d e u"),
    ],
)
def test_walks_start_at_parameters_and_results(order: str, direction: str, expected: str) -> None:
    """The orders of TVM's walk: users of the first parameter, then of the second, unused values before results."""
    before = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(y)
            b = R.cos(x)
            c = R.negative(R.const(2.0, "float32"))
            u = R.sin(x)
            d = R.add(a, b)
            e = R.add(d, c)
            R.output(e)
        return e
""")
    after = check(TopologicalSort(order, direction), before, *arrays((4,), (4,)))
    assert " ".join(b.var.name_hint for b in bindings(after)) == expected


def test_inner_functions_and_branches_are_sorted() -> None:
    """Each inner function is walked by itself; what it captures is there when it starts."""
    before = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        k = R.exp(x)
        @R.function
        def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                p = R.exp(k)
                q = R.cos(z)
                r = R.add(q, p)
                R.output(r)
            return r
        if c:
            with R.dataflow():
                a = R.cos(x)
                b = R.sin(k)
                o = R.add(b, a)
                R.output(o)
            t = o
        else:
            t = inner(k)
        return t
""")
    step = TopologicalSort("depth-first", "from-outputs")
    for chosen in (True, False):
        after = check(step, before, *arrays((4,)), np.array(chosen))
    blocks = [n for n in post_order(after["main"]) if isinstance(n, DataflowBlock)]
    assert [[b.var.name_hint for b in block.bindings] for block in blocks] == [["q", "p", "r"], ["b", "a", "o"]]


NESTED = """
@I.ir_module
class Module:
    @R.function(private=True)
    def main_k(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
        @R.function
        def a(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            @R.function
            def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return R.add(z, x)
            return inner(y)
        @R.function
        def b(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"global_symbol": "%s"})
            @R.function
            def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return R.multiply(z, y)
            return inner(y)
        if c:
            @R.function
            def k(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return R.sin(y)
            r = k(a(x))
        else:
            @R.function
            def k(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return R.cos(y)
            r = k(b(Module.main_k(x)))
        return r
"""


def test_lifted_functions_have_tvms_names() -> None:
    """A symbol of their own, else the outermost name and theirs, else all names on the way, else with a number."""
    before = from_source(NESTED % "public")
    after = LambdaLift()(before)
    lifted = {v.name_hint for v in after.functions} - {"main", "main_k"}
    assert lifted == {"main_a", "main_a_inner", "main_b_inner", "public", "main_k_0", "main_k_1"}
    assert after["public"].attrs["global_symbol"] == "public"
    for chosen in (True, False):
        check(LambdaLift(), before, *arrays((2,)), np.array(chosen))
    with pytest.raises(DiagnosticError, match="has the global_symbol 'main_k'"):
        LambdaLift()(from_source(NESTED % "main_k"))
