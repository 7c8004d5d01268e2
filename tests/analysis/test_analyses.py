"""Variables, bindings, purity, call graphs, liveness, what can be computed ahead of time."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.analysis.bindings import get_var2val, name_to_binding, udchain
from baton._src.analysis.call_graph import call_graph, detect_recursion, reachable
from baton._src.analysis.compile_time import computable_at_compile_time
from baton._src.analysis.liveness import last_uses
from baton._src.analysis.purity import contains_impure_call
from baton._src.analysis.variables import (
    all_global_vars,
    all_vars,
    bound_vars,
    free_symbolic_vars,
    free_vars,
)
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.relax.check.variables import defined_symbolic_vars
from baton._src.relax.nodes import Call, DataflowBlock, Function, MatchCast, SeqExpr, Tuple, TupleGetItem
from baton._src.relax.struct_info import FuncStructInfo
from baton._src.support.graphs import components
from tests.passes.relax.programs import R, bindings, dim, printing, program, tensor


def names(found: Any) -> list[str]:
    return [getattr(v, "name_hint", None) or v.name for v in found]


@pytest.mark.rule("RELAX-ANALYSIS-1")
def test_bound_free_and_all_variables() -> None:
    """A body uses what it does not define."""
    n = dim()
    function = program([tensor("x", n), tensor("y", n)], lambda b, x, y: R.exp(R.add(x, y)))["main"]
    assert free_vars(function) == []
    assert names(free_vars(function.body)) == ["x", "y"]
    assert names(bound_vars(function)) == names(all_vars(function)) == ["x", "y", "lv", "gv"]
    assert all_global_vars(function) == []


@pytest.mark.rule("RELAX-ANALYSIS-1")
def test_shape_variables() -> None:
    """n stands alone in a parameter; k comes from outside."""
    n, k = dim("n"), dim("k")
    function = program([tensor("x", n, n * 2)], lambda b, x: R.exp(x))["main"]
    assert defined_symbolic_vars(function) == [n]
    assert free_symbolic_vars(function) == []
    inner = Function([tensor("z", n)], SeqExpr([], R.broadcast_to(tensor("z", n), (k, n))))
    assert free_symbolic_vars(inner) == [k]


def test_values_and_users_of_variables() -> None:
    module = program([tensor("x", 2)], lambda b, x: R.multiply(b.emit(R.exp(x)), x))
    function = module["main"]
    first, second = bindings(module)
    assert get_var2val(function) == {first.var: first.value, second.var: second.value}
    assert [b.var for b in name_to_binding(function)["lv"]] == [first.var]
    users = udchain(function.body.blocks[0])
    assert users[first.var] == [second.var]
    assert users[function.params[0]] == [first.var, second.var]
    assert users[second.var] == []


def test_casts_without_a_variable_bind_none() -> None:
    """They were an AttributeError, and None among the users of what they check."""
    x = tensor("x", 2)
    casts = DataflowBlock([MatchCast(None, x, x.struct_info)])
    function = Function([x], SeqExpr([casts], x))
    assert name_to_binding(function) == {}
    assert udchain(casts) == {x: []}


def function_calling(*callees: GlobalVar) -> Function:
    """A function that calls each of these."""
    x = tensor("x", 2)
    info = FuncStructInfo([x.struct_info], x.struct_info)
    calls = [Call(c, [x]) for c in callees]
    for callee in callees:
        object.__setattr__(callee, "struct_info_", info)
    return Function([x], SeqExpr([], Tuple(calls)), None)


@pytest.mark.rule("RELAX-ANALYSIS-2")
def test_recursion_is_grouped() -> None:
    """even and odd call each other; main only calls; loop calls itself."""
    even, odd, loop, main = (GlobalVar(n) for n in ("even", "odd", "loop", "main"))
    module = IRModule(
        {
            main: function_calling(even, loop),
            even: function_calling(odd),
            odd: function_calling(even),
            loop: function_calling(loop),
        }
    )
    assert [names(group) for group in detect_recursion(module)] == [["even", "odd"], ["loop"]]
    graph = call_graph(module)
    assert names(graph[main]) == ["even", "loop"]
    assert reachable(graph, [even]) == {even, odd}
    order = [names(c) for c in components(graph)]
    assert order[-1] == ["main"]


def test_long_call_chains_need_no_stack() -> None:
    names_ = [GlobalVar(f"f{i}") for i in range(5000)]
    module = IRModule({v: function_calling(*names_[i + 1 : i + 2]) for i, v in enumerate(names_)})
    assert detect_recursion(module) == []
    assert len(components(call_graph(module))) == 5000


@pytest.mark.rule("RELAX-ANALYSIS-2")
def test_effects_are_found_but_not_in_inner_functions() -> None:
    pure = program([tensor("x", 2)], lambda b, x: R.exp(x))["main"]
    impure = program([tensor("x", 2)], lambda b, x: (b.emit(printing(x)), x)[1], dataflow=False, pure=False)["main"]
    assert not contains_impure_call(pure)
    assert contains_impure_call(impure)
    outer = program([tensor("x", 2)], lambda b, x: (b.emit(impure), x)[1], dataflow=False)["main"]
    assert not contains_impure_call(outer)


def test_a_function_is_pure_to_itself() -> None:
    """A recursive call is not held against the function it is in."""
    var = GlobalVar("f")
    x = tensor("x", 2)
    function = Function([x], SeqExpr([], Call(var, [x])))
    assert contains_impure_call(function)
    assert not contains_impure_call(function, own_name=var)


def test_last_uses_follow_shared_memory() -> None:
    """A tuple keeps its fields; what is returned lasts to the end."""

    def build(b: Any, x: Any) -> Any:
        a = b.emit(R.exp(x), "a")
        t = b.emit(Tuple([a, x]), "t")
        c = b.emit(R.exp(x), "c")
        d = b.emit(TupleGetItem(t, 0), "d")
        return R.add(d, b.emit(R.add(c, c), "e"))

    module = program([tensor("x", 2)], build)
    found = {v.name_hint: n for v, n in last_uses(module["main"].body).items()}
    assert found == {"a": 5, "t": 5, "c": 4, "d": 5, "e": 5, "gv": 6}


def test_weight_only_bindings_are_known_ahead() -> None:
    def build(b: Any, x: Any, w: Any) -> Any:
        turned = b.emit(R.permute_dims(w), "turned")
        scaled = b.emit(R.add(turned, turned), "scaled")
        return R.matmul(x, scaled)

    params = [tensor("x", 2, 3), tensor("w", 4, 3)]
    assert names(computable_at_compile_time(program(params, build, num_input=1)["main"])) == ["w", "turned", "scaled"]
    assert computable_at_compile_time(program(params, build)["main"]) == []
