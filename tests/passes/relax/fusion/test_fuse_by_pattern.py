"""FuseOpsByPattern, MergeCompositeFunctions, RunCodegen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, te, topi
from baton._src.ir.module import IRModule
from baton._src.passes.relax.fusion.fuse_ops_by_pattern import FuseOpsByPattern, FusionPattern
from baton._src.passes.relax.fusion.merge_composite_functions import MergeCompositeFunctions
from baton._src.passes.relax.fusion.run_codegen import RunCodegen
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Function
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.passes import Sequential
from baton._src.values.packed_func import FunctionTable
from baton.relax.dpl import is_const, is_op, wildcard
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, called, check, dim, program, same_values, tensor, weights
from tests.relax.build import module


def matmul_relu() -> Any:
    return is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))


def unary(name: str) -> Any:
    return is_op(f"relax.{name}")(wildcard())


def with_attr(module: IRModule, name: str) -> list[str]:
    """What functions say for an attribute."""
    return [str(f.attrs[name]) for f in module.functions.values() if isinstance(f, Function) and name in f.attrs]


def build(b: Any, x: Any, w: Any) -> Any:
    m = b.emit(R.matmul(x, w))
    r = b.emit(R.nn.relu(m))
    e = b.emit(R.exp(r))
    return R.add(e, r)


@pytest.mark.rule("RELAX-PASS-18")
def test_a_match_becomes_a_composite_function() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], build)
    after = check(FuseOpsByPattern([("test.mm_relu", matmul_relu())]), before, *arrays((2, 3), (3, 4)))
    assert with_attr(after, "Composite") == ["test.mm_relu"]
    assert called(after) == ["fused_relax_matmul_relax_nn_relu", "exp", "add"]


def test_symbolic_shapes_go_with_the_function() -> None:
    n = dim()
    before = program([tensor("x", n, 3), tensor("w", 3, 4)], build)
    check(FuseOpsByPattern([("test.mm_relu", matmul_relu())]), before, *arrays((2, 3), (3, 4)))


def test_values_used_outside_are_results_too() -> None:
    """relu(m) of exp(relu(m)) has another user; a check may refuse that."""
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], build)
    pattern = is_op("relax.exp")(is_op("relax.nn.relu")(wildcard()))
    after = check(FuseOpsByPattern([("test.exp_relu", pattern)]), before, *arrays((2, 3), (3, 4)))
    assert len(after["fused_relax_nn_relu_relax_exp"].ret_struct_info.fields) == 2

    def alone(context: Any) -> bool:
        return all(len(context.var_usages[v]) < 2 for v in context.matched_bindings)

    for refused in (FusionPattern("test.a", pattern, check=alone), ("test.a", pattern, None, alone, lambda parts: {})):
        assert FuseOpsByPattern([refused])(before) is before


def test_earlier_patterns_and_checks_decide() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], build)
    seen: list[Any] = []

    def refuse(context: Any) -> bool:
        seen.append(context)
        return False

    data = wildcard()
    matmul = is_op("relax.matmul")(data, wildcard())
    first = FusionPattern("test.both", is_op("relax.nn.relu")(matmul), {"mm": matmul, "data": data}, refuse)
    after = check(FuseOpsByPattern([first, ("test.mm", matmul.dup())]), before, *arrays((2, 3), (3, 4)))
    assert with_attr(after, "Composite") == ["test.mm"]
    (context,) = seen
    assert context.matched_expr.op.name == "relax.nn.relu"
    assert context.annotated_expr["mm"].op.name == "relax.matmul"
    assert context.annotated_expr["data"].name_hint == "x"
    assert len(context.matched_bindings) == 2


def test_constants_move_in_or_stay() -> None:
    pattern = [("test.mm", is_op("relax.matmul")(wildcard(), is_const()))]
    before = program([tensor("x", 2, 3)], lambda b, x: R.matmul(x, weights(3, 4)))
    for bind in (True, False):
        after = check(FuseOpsByPattern(pattern, bind_constants=bind), before, *arrays((2, 3)))
        (composite,) = [f for f in after.functions.values() if f.attrs.get("Composite")]
        assert len(composite.params) == (1 if bind else 2)


def test_no_group_needs_itself() -> None:
    """add(exp(a), sin(exp(a))) with sin outside of the group {exp, add} would be a circle."""

    def circle(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        s = b.emit(R.sin(e))
        return R.add(e, s)

    before = program([tensor("x", 2)], circle)
    pattern = is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard())
    assert FuseOpsByPattern([("test.add_exp", pattern)])(before) is before


PATTERNS = [("test.relu", unary("nn.relu")), ("test.exp", unary("exp")), ("other.sin", unary("sin"))]


@pytest.mark.rule("RELAX-PASS-18")
def test_neighbours_for_one_compiler_are_merged() -> None:
    def chain(b: Any, x: Any) -> Any:
        r = b.emit(R.nn.relu(x))
        e = b.emit(R.exp(r))
        s = b.emit(R.sin(e))
        return R.add(s, e)

    before = program([tensor("x", 4)], chain)
    composite = check(FuseOpsByPattern(PATTERNS), before, *arrays((4,)))
    merged = check(MergeCompositeFunctions(), composite, *arrays((4,)))
    assert sorted(with_attr(merged, "Codegen")) == ["other", "test"]
    assert len(called(merged)) == 3


@pytest.mark.parametrize("annotated", [False, True])
def test_sizes_that_no_input_shows_go_with_the_function(annotated: bool) -> None:
    """Guards merged functions, in which nothing bound the n of (n * 2,)."""
    n = dim()

    def chain(b: Any, x: Any, y: Any) -> Any:
        return R.exp(b.emit(R.nn.relu(x)))

    before = program([tensor("x", n * 2), tensor("y", n)], chain)
    steps = [FuseOpsByPattern(PATTERNS, annotate_codegen=annotated), MergeCompositeFunctions()]
    after = Sequential(steps[: 1 if annotated else 2])(before)
    assert [d.render() for d in well_formed(after)] == []
    x, y = arrays((6,), (3,))
    same_values(Interpreter(after)["main"](x, y).numpy(), np.exp(np.maximum(x, 0)))


def test_one_function_inside_of_several_has_sizes_of_its_own_in_each() -> None:
    """Guards merged functions that use the same composite function: they shared its shape variables."""

    def apart(b: Any, x: Any) -> Any:
        twice = b.emit(R.exp(b.emit(R.exp(x))))
        return R.add(b.emit(R.exp(b.emit(R.sin(twice)))), twice)

    before = program([tensor("x", dim())], apart)
    composite = FuseOpsByPattern([("test.exp", unary("exp"))])(before)
    merged = check(MergeCompositeFunctions(), composite, *arrays((4,)))
    assert len(with_attr(merged, "Codegen")) == 2


def test_merging_makes_no_circles() -> None:
    """relu -> sin (outside) -> exp, and relu -> exp: the two cannot be one call."""

    def diamond(b: Any, x: Any) -> Any:
        r = b.emit(R.nn.relu(x))
        c = b.emit(R.cos(r))
        e = b.emit(R.exp(c))
        return R.add(b.emit(R.nn.relu(b.emit(R.add(r, e)))), r)

    before = FuseOpsByPattern(PATTERNS)(program([tensor("x", 4)], diamond))
    merged = check(MergeCompositeFunctions(), before, *arrays((4,)))
    assert with_attr(merged, "Codegen") == ["test"] * 2
    assert sum(name.endswith("_test") for name in called(merged)) == 3


def test_annotation_wraps_at_once() -> None:
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], build)
    step = FuseOpsByPattern([("test.mm_relu", matmul_relu())], annotate_codegen=True)
    after = check(step, before, *arrays((2, 3), (3, 4)))
    assert with_attr(after, "Codegen") == ["test"]


def annotated(backend: str = "test") -> IRModule:
    """relu(x @ w) for the backend, the rest outside."""
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], build)
    return FuseOpsByPattern([(f"{backend}.mm_relu", matmul_relu())], annotate_codegen=True)(before)


def assert_runs(module: IRModule, table: FunctionTable, symbol: str) -> None:
    x, w = arrays((2, 3), (3, 4))
    baton.register_func(symbol, table.lookup(symbol).function, override=True)
    found = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())["main"](x, w).numpy()
    before = program([tensor("x", 2, 3), tensor("w", 3, 4)], build)
    np.testing.assert_allclose(found, evaluate(before, "main", x, w), rtol=1e-5)


@pytest.mark.rule("RELAX-PASS-18")
def test_backends_get_functions_and_give_code() -> None:
    """The code gets the arguments and where to write, as what TVM's backends give does."""
    table = FunctionTable()
    given: list[Any] = []

    def kernel(x: Any, w: Any, out: Any) -> None:
        out.copyfrom(np.maximum(x.numpy() @ w.numpy(), 0))

    def backend(functions: Any, options: Any, names: Any) -> Any:
        given.extend([functions, options])
        return [kernel for _ in functions]

    table.register("relax.ext.test", backend)
    after = RunCodegen({"test": {"level": 3}}, table=table)(annotated())
    assert given[1] == {"level": 3}
    assert len(given[0]) == 1
    assert called(after)[0] == "call_dps_packed"
    assert_runs(after, table, given[0][0].attrs["global_symbol"])


def test_backends_give_modules_with_the_functions_of_these_names() -> None:
    table = FunctionTable()
    x, w = te.placeholder((2, 3), name="x"), te.placeholder((3, 4), name="w")
    k = te.reduce_axis((0, 3), name="k")
    product = te.compute((2, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="product")
    kernel = te.create_prim_func([x, w, topi.nn.relu(product)])
    symbols: list[str] = []

    def backend(functions: Any, options: Any, names: Any) -> Any:
        symbols.extend(str(f.attrs["global_symbol"]) for f in functions)
        return [baton.build(IRModule({name: kernel.with_attr("global_symbol", name) for name in symbols}), "llvm")]

    table.register("relax.ext.test", backend)
    after = RunCodegen(table=table)(annotated())
    assert [m.implements_function(symbols[0]) for m in after.attrs["external_mods"]] == [True]
    assert_runs(after, table, symbols[0])


def test_programs_keep_the_code_they_were_compiled_with() -> None:
    """Functions of two programs had one name: the first program called the second one's code, and said nothing."""
    table = FunctionTable()
    offset = [1.0]

    def backend(functions: Any, options: Any, names: Any) -> Any:
        added = offset[0]
        return [lambda x, w, out: out.copyfrom(x.numpy() @ w.numpy() + added) for _ in functions]

    table.register("relax.ext.test", backend)
    programs = [RunCodegen(table=table)(annotated())]
    offset[0] = 2.0
    programs.append(RunCodegen(table=table)(annotated()))
    x, w = arrays((2, 3), (3, 4))
    for built, added in zip(programs, (1.0, 2.0)):
        machine = relax.VirtualMachine(relax.build(built, "llvm"), baton.cpu(), functions=table)
        z = x @ w + added
        np.testing.assert_allclose(machine["main"](x, w).numpy(), np.exp(z) + z, rtol=1e-5)
    names = [name for name in table.names() if name.startswith("fused_")]
    assert names == [names[0], f"{names[0]}_1"]


@pytest.mark.rule("RELAX-PASS-18")
def test_backends_get_names_for_constants() -> None:
    """The constant stands inside of the composite function; its tensor is found under its name afterwards."""
    table = FunctionTable()
    given: dict[Any, str] = {}

    def backend(functions: Any, options: Any, names: Any) -> Any:
        given.update(names)
        return [lambda x, out: out.copyfrom(x.numpy() @ constant) for _ in functions]

    constant = weights(3, 4)
    before = program([tensor("x", 2, 3)], lambda b, x: R.matmul(x, constant))
    constant = constant.data.numpy()
    pattern = [("test.mm", is_op("relax.matmul")(wildcard(), is_const()))]
    table.register("relax.ext.test", backend)
    after = RunCodegen(table=table)(FuseOpsByPattern(pattern, annotate_codegen=True)(before))
    assert list(given.values()) == ["fused_relax_matmul_test_test_const_0"]
    (found,) = after.attrs["const_name_to_constant"].items()
    assert found[0] == "fused_relax_matmul_test_test_const_0"
    same_values(found[1].numpy(), constant)
    relax.build(after, "llvm")
    named = before.with_attr("const_name_to_constant", {"of_an_earlier_run": found[1]})
    after = RunCodegen(table=table)(FuseOpsByPattern(pattern, annotate_codegen=True)(named))
    assert set(after.attrs["const_name_to_constant"]) == {"of_an_earlier_run", found[0]}


def test_backends_that_fail_are_named() -> None:
    table = FunctionTable()
    table.register("relax.ext.test", lambda functions, options, names: 1 // 0)
    with pytest.raises(DiagnosticError, match=r"backend 'test' failed on fused_relax_matmul_.*: ZeroDivisionError"):
        RunCodegen(table=table)(annotated())
    table.register("relax.ext.test", lambda functions, options, names: 1, True)
    with pytest.raises(DiagnosticError, match="returns a list"):
        RunCodegen(table=table)(annotated())


def test_functions_for_backends_are_no_values() -> None:
    """The function is gone when a backend has compiled it: what used it as a value was left with nothing."""
    table = FunctionTable()
    table.register("relax.ext.test", lambda functions, options, names: [lambda x, out: None])
    whole = module("""
@R.function
def exponent(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    R.func_attr({"Codegen": "test"})
    return R.exp(x)

@R.function
def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    f = cls.exponent
    return f(x)
""")
    with pytest.raises(DiagnosticError, match="main uses exponent as a value"):
        RunCodegen(table=table)(whole)


@pytest.mark.rule("RELAX-PASS-18", rejects=True)
def test_backends_must_be_registered() -> None:
    with pytest.raises(DiagnosticError, match="nobody registered the backend 'nobody'"):
        RunCodegen()(annotated("nobody"))
    for wrong, said in [(("a", 3), "a of the fusion pattern a is no pattern: 3"), ((3, wildcard()), "a text, got 3")]:
        with pytest.raises(DiagnosticError, match=said):
            FuseOpsByPattern([wrong])(annotated("nobody"))
    with pytest.raises(DiagnosticError, match="a fusion pattern is"):
        FuseOpsByPattern(["relu"])(program([tensor("x", 2, 3), tensor("w", 3, 4)], build))
    private = module("""
@R.function(private=True)
def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    R.func_attr({"Codegen": "test"})
    return R.exp(x)
""")
    with pytest.raises(DiagnosticError, match="main is for the backend test, but has no global_symbol"):
        RunCodegen()(private)


def test_regions_know_what_their_later_members_need() -> None:
    """Guards against circles: the sine's group may not take the product, which needs it and a cosine that needs the
    other group, which in turn needs the sine by the sum that joined it later."""

    def build(b: Any, x: Any) -> Any:
        exp, sin = b.emit(R.exp(x)), b.emit(R.sin(x))
        cos = b.emit(R.cos(exp))
        total = b.emit(R.add(exp, sin))
        return b.emit(R.subtract(total, b.emit(R.multiply(cos, sin))))

    one, two = (wildcard(),), (wildcard(), wildcard())
    patterns = [(f"a.{n}", is_op(f"relax.{n}")(*args)) for n, args in (("exp", one), ("add", two))]
    patterns += [(f"d.{n}", is_op(f"relax.{n}")(*args)) for n, args in (("sin", one), ("multiply", two))]
    composites = FuseOpsByPattern(patterns)(program([tensor("x", 4)], build))
    merged = check(MergeCompositeFunctions(), composites, *arrays((4,)))
    assert sorted(n.split("_")[-1] for n in called(merged) if "_" in n) == ["a", "d", "d"]
