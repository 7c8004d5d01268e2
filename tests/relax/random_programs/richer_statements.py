"""More kinds of random statements: closures as values, several outputs, objects, other shapes and dtypes.

Each takes the generator (`strategies._Statements`): `pick()` gives an (n, 4) tensor in scope, `add(expr)` binds one.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from baton._src.relax.call_builders import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    invoke_pure_closure,
)
from baton._src.relax.literals import const
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    DataflowBlock,
    Expr,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.special_builders import assert_op, print_values, shape_of
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import RELAX


def _function(g: Any, name: str = "local") -> Any:
    """A local function of one (n, 4) tensor that captures some."""
    param = Var("p", g.wide)
    body = RELAX["subtract"](param, g.operator([*g.pool, param]))
    return g.builder.emit(Function([param], body, g.wide, True), name)


def chosen_closure(g: Any) -> None:
    """One of two functions, by the flag."""
    either = g.builder.emit(If(g.params[3], _function(g, "first"), _function(g, "second")))
    g.add(Call(either, [g.pick()]))


def closure_in_tuple(g: Any) -> None:
    """A function kept beside a tensor."""
    pair = g.builder.emit(Tuple([_function(g), g.pick()]))
    kept = g.builder.emit(TupleGetItem(pair, 0))
    g.add(Call(kept, [g.builder.emit(TupleGetItem(pair, 1))]))


def higher_order(g: Any) -> None:
    """A function that takes a function, and applies it twice."""
    inner = Var("inner", FuncStructInfo([g.wide], g.wide, True))
    x = Var("x", g.wide)
    body = Call(inner, [Call(inner, [x])])
    apply = g.builder.emit(Function([inner, x], body, g.wide, True), "apply")
    g.add(Call(apply, [_function(g), g.pick()]))


def maker(g: Any) -> None:
    """A function that returns a function, which captures its parameter."""
    p, q = Var("p", g.wide), Var("q", g.wide)
    made = Function([q], RELAX["maximum"](p, RELAX["negative"](q)), g.wide, True)
    function = Function([p], made, FuncStructInfo([g.wide], g.wide, True), True)
    adder = g.builder.emit(Call(g.builder.emit(function, "maker"), [g.pick()]))
    if g.draw(st.booleans()):
        g.add(invoke_pure_closure(adder, Tuple([g.pick()]), g.wide))
    else:
        g.add(Call(adder, [g.pick()]))


def mutual_recursion(g: Any) -> None:
    """Two global functions that call each other as often as the counter says."""
    g.add(Call(g.kernel("even"), [g.params[4], g.pick()]))


def two_outputs(g: Any) -> None:
    """A kernel with two results of different shapes."""
    row = TensorStructInfo((g.n,), "float32")
    pair = g.builder.emit(call_tir(g.kernel("both"), [g.pick()], [g.wide, row]))
    column = RELAX["expand_dims"](TupleGetItem(pair, 1), axis=1)
    g.add(RELAX["add"](TupleGetItem(pair, 0), column))


def inplace_kernel(g: Any) -> None:
    """A kernel that works in the memory of a fresh tensor, which nobody uses any more."""
    fresh = g.builder.emit(RELAX["add"](g.pick(), const(0.5)))
    g.add(call_tir_inplace(g.kernel("halve"), [fresh], [0], g.wide))


def destination_passing(g: Any) -> None:
    """A packed function that fills its last argument."""
    g.add(call_dps_packed("test.mean", [g.pick(), g.pick()], g.wide))


def pure_packed(g: Any) -> None:
    """A packed function said to be pure."""
    g.add(call_pure_packed("test.half", g.pick(), sinfo_args=g.wide))


def rank_changes(g: Any) -> None:
    """Through a flat shape, a transposed one, or a doubled one."""
    x, kind = g.pick(), g.draw(st.integers(0, 3))
    if kind == 0:
        flat = g.builder.emit(RELAX["reshape"](x, ShapeExpr([g.n * 4])))
        g.add(RELAX["reshape"](RELAX["tanh"](flat), ShapeExpr([g.n, 4])))
    elif kind == 1:
        turned = g.builder.emit(RELAX["permute_dims"](x, axes=None))
        g.add(RELAX["permute_dims"](RELAX.find("nn.relu")(turned), axes=None))
    elif kind == 2:
        doubled = g.builder.emit(RELAX["concat"](Tuple([x, g.pick()]), axis=0))
        g.add(RELAX["tanh"](RELAX["add"](g.pick(), RELAX["sum"](doubled, axis=[0], keepdims=True))))
    else:
        square = RELAX["matmul"](RELAX["permute_dims"](x, axes=None), g.pick())
        g.add(RELAX["tanh"](RELAX["matmul"](g.pick(), square)))


def other_dtypes(g: Any) -> None:
    """Conditions, and a wider float."""
    a, b = g.pick(), g.pick()
    if g.draw(st.booleans()):
        g.add(RELAX["where"](RELAX["greater"](a, b), a, b))
    else:
        wide = g.builder.emit(RELAX["astype"](a, dtype="float64"))
        g.add(RELAX["astype"](RELAX["multiply"](wide, const(0.5, "float64")), dtype="float32"))


def cast_of_tuple(g: Any) -> None:
    """A tuple's parts under a new variable and as an object, then found again."""
    pair = g.builder.emit(Tuple([g.pick(), Tuple([g.pick(), shape_of(g.pick())])]))
    k = TirVar("k", "int64")
    shape = ShapeStructInfo((k, 4))
    target = TupleStructInfo([TensorStructInfo((k, 4), "float32"), TupleStructInfo([ObjectStructInfo(), shape])])
    found = g.builder.match_cast(pair, target)
    hidden = g.builder.emit(TupleGetItem(TupleGetItem(found, 1), 0))
    g.pool.append(g.builder.match_cast(hidden, g.wide))
    g.pool.append(g.builder.match_cast(TupleGetItem(found, 0), g.wide))


def nested_branches(g: Any) -> None:
    """Branches in branches, with calls, dataflow blocks and local functions inside."""
    g.add(If(g.params[3], _sequence(g, 2), _sequence(g, 1)))


def _sequence(g: Any, depth: int) -> Expr:
    first, second = Var("t"), Var("u")
    kinds = [g.operator(g.pool), Call(g.kernel("odd"), [g.params[4], g.pick()])]
    binding = VarBinding(first, g.draw(st.sampled_from(kinds)))
    local = [*g.pool, first]
    if depth:
        zero = const(g.draw(st.integers(0, 3)), "int64")
        cond = RELAX["greater"](g.params[4], zero)
        return SeqExpr([BindingBlock([binding])], If(cond, _sequence(g, depth - 1), g.operator(local)))
    block = DataflowBlock([VarBinding(second, g.operator(local))])
    return SeqExpr([BindingBlock([binding]), block], g.operator([*local, second]))


RICHER = [
    chosen_closure,
    closure_in_tuple,
    higher_order,
    maker,
    mutual_recursion,
    two_outputs,
    inplace_kernel,
    destination_passing,
    pure_packed,
    rank_changes,
    other_dtypes,
    cast_of_tuple,
    nested_branches,
]


def effects_in_closure(g: Any) -> None:
    """An impure local function: it changes what it captured, says so, and is called twice."""
    captured, param = g.pick(), Var("p", g.wide)
    bindings = [
        VarBinding(Var("_"), call_packed("test.inc", captured)),
        VarBinding(Var("_"), call_packed("test.note", param)),
    ]
    body = SeqExpr([BindingBlock(bindings)], RELAX["add"](param, captured))
    function = g.builder.emit(Function([param], body, g.wide, False), "impure")
    g.add(Call(function, [g.builder.emit(Call(function, [g.pick()]))]))


def through_object(g: Any) -> None:
    """An alias that a packed function gives back, of unknown kind."""
    found = g.builder.emit(call_packed("test.same", g.pick()))
    g.pool.append(g.builder.match_cast(found, g.wide))


def checked(g: Any) -> None:
    """An assertion that holds."""
    g.builder.emit(assert_op(RELAX["greater"](g.params[4], const(-1, "int64")), format="never"))


def effects_in_branch(g: Any) -> None:
    """Only one branch prints and writes."""
    target = g.pick()
    bindings = [
        VarBinding(Var("_"), print_values(shape_of(target), format="then {}")),
        VarBinding(Var("_"), call_packed("test.inc", target)),
    ]
    g.add(If(g.params[3], SeqExpr([BindingBlock(bindings)], target), SeqExpr([], g.pick())))


RICHER_EFFECTS = [effects_in_closure, through_object, checked, effects_in_branch]
