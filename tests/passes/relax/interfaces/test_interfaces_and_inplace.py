"""ExpandTupleArguments, RemoveUnusedParameters, RemoveUnusedOutputs; DataflowUseInplaceCalls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.interfaces.unused_interface import (
    ExpandTupleArguments,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
)
from baton._src.passes.relax.machine.dataflow_use_inplace_calls import DataflowUseInplaceCalls
from baton._src.passes.relax.machine.rewrite_dataflow_reshape import RewriteDataflowReshape
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, arrays, called, check, dim, program, same_values, tensor
from tests.relax.build import module
from tests.relax.machines import everywhere

HELPER = """
@I.ir_module
class Module:
    @R.function(private=%s)
    def f(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), z: R.Tensor((2,), "float32")):
        a = t[0]
        b = R.exp(a)
        c = R.sin(a)
        r = (b, c)
        return r

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        t = (x, y)
        u = Module.f(t, y)
        v = u[1]
        return v
"""


def private() -> IRModule:
    return from_source(HELPER % "True")


def same(step: Any, before: IRModule) -> IRModule:
    after: IRModule = step(before)
    assert not well_formed(after), [d.render() for d in well_formed(after)]
    args = arrays((2,), (2,))
    same_values(Interpreter(after)["main"](*args).numpy(), Interpreter(before)["main"](*args).numpy())
    return after


@pytest.mark.rule("RELAX-PASS-11")
def test_private_functions_take_and_give_what_is_needed() -> None:
    expanded = same(ExpandTupleArguments(), private())
    assert [p.name_hint for p in expanded["f"].params] == ["t_0", "t_1", "z"]
    fewer = same(RemoveUnusedParameters(), same(RemoveUnusedOutputs(), expanded))
    assert "R.exp" not in repr(fewer["f"])
    narrow = same(RemoveUnusedParameters(), private())
    assert [p.name_hint for p in narrow["f"].params] == ["t"]


@pytest.mark.rule("RELAX-PASS-11", rejects=True)
def test_public_functions_stay() -> None:
    public = from_source(HELPER % "False")
    for step in (ExpandTupleArguments(), RemoveUnusedParameters(), RemoveUnusedOutputs()):
        assert step(public) is public


@pytest.mark.rule("RELAX-PASS-22")
def test_a_dead_operand_is_written_over() -> None:
    n = dim()

    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        return R.add(e, e)

    legal = LegalizeOps()(program([tensor("x", n)], build))
    after = DataflowUseInplaceCalls()(legal)
    assert not well_formed(after), [d.render() for d in well_formed(after)]
    assert called(after) == ["exp", "call_tir_inplace"]
    (x,) = arrays((3,))
    same_values(Interpreter(after)["main"](x).numpy(), Interpreter(legal)["main"](x).numpy())
    from_params = LegalizeOps()(program([tensor("x", n)], lambda b, x: R.exp(x)))
    assert DataflowUseInplaceCalls()(from_params) is from_params


@pytest.mark.rule("RELAX-PASS-22", rejects=True)
def test_operands_used_later_or_read_elsewhere_are_not() -> None:
    def later(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        f = b.emit(R.permute_dims(e))
        return R.permute_dims(b.emit(R.add(f, e)))

    before = LegalizeOps()(program([tensor("x", 3, 3)], later))
    after = DataflowUseInplaceCalls()(before)
    assert called(after).count("call_tir_inplace") == 1
    assert called(after)[2] == "call_tir_inplace"
    (x,) = arrays((3, 3))
    same_values(Interpreter(after)["main"](x).numpy(), Interpreter(before)["main"](x).numpy())


def test_compiled_programs_agree() -> None:
    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        f = b.emit(R.sin(e))
        return R.multiply(b.emit(R.cos(f)), f)

    legal = LegalizeOps()(program([tensor("x", 4)], build))
    after = DataflowUseInplaceCalls()(legal)
    assert "call_tir_inplace" in called(after)
    (x,) = arrays((4,))
    for pipeline in (None, "default_build"):
        found = VirtualMachine(relax_build(after, "llvm", pipeline=pipeline))["main"](x)
        same_values(found.numpy(), Interpreter(legal)["main"](x).numpy(), 1e-4)


IN_PLACE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_inplace(a: T.Buffer((T.int64(2), T.int64(3)), "int32"), b: T.Buffer((T.int64(2), T.int64(3)), "int32")):
        T.func_attr({"tir.noalias": True})
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.block("T_add"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + b[vi, vj]

    @R.function
    def main(x: R.Tensor((2, 3), "int32"), y: R.Tensor((2, 3), "int32")) -> R.Tensor((2, 3), "int32"):
        cls = Module
        with R.dataflow():
            z = R.add(x, y)
            a = R.call_tir_inplace(cls.add_inplace, (z, y), inplace_indices=[0], out_sinfo=R.Tensor((2, 3), "int32"))
            b = R.negative(a)
            R.output(b)
        return b
"""


@pytest.mark.rule("RELAX-PASS-22")
def test_operators_become_kernels_where_they_can_overwrite() -> None:
    """Guards the pass leaving programs alone that are not legalised; negative stays an operator."""
    before = program(
        [tensor("x", 2, 3, dtype="int32"), tensor("y", 2, 3, dtype="int32")],
        lambda b, x, y: R.negative(b.emit(R.add(b.emit(R.add(x, y)), y))),
    )
    assert_structural_equal(DataflowUseInplaceCalls()(before), from_source(IN_PLACE))


@pytest.mark.rule("RELAX-PASS-22", rejects=True)
def test_an_operand_that_another_one_shares_memory_with_is_not_written_over() -> None:
    """a + transposed(view of a), as one kernel: element (i, j) of a is read again as (j, i) of the view."""
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(
        a: T.Buffer((T.int64(2), T.int64(3)), "float32"),
        v: T.Buffer((T.int64(3), T.int64(2)), "float32"),
        c: T.Buffer((T.int64(2), T.int64(3)), "float32"),
    ):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.block("c"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] + v[vj, vi]

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            v = R.reshape(a, (3, 2))
            c = R.call_tir(cls.k, (a, v), out_sinfo=R.Tensor((2, 3), "float32"))
            R.output(c)
        return c
"""
    before = from_source(text)
    assert DataflowUseInplaceCalls()(before) is before


OVERWRITTEN = """
@T.prim_func(private=True)
def twice(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = A[i] * T.float32(2)

@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Object:
    n, m = T.int64(), T.int64()
    with R.dataflow():
        y = R.reshape(x, R.shape([n * m]))
        {between}
        z = R.call_tir_inplace(cls.twice, ({written},), [0], R.Tensor((n * m,), "float32"))
        w = R.add(x, x)
        v = R.add(y, y)
        R.output(z, w, v)
    return (z, w, v, x)
"""


@pytest.mark.parametrize(
    ("between", "written", "doubled"),
    [
        ("", "y", True),
        ("u = R.reshape(R.expand_dims(y, 0), R.shape([n * m]))", "u", False),
        ("u = (y, y); t = u[1]", "t", True),
    ],
)
def test_what_is_written_in_place_is_no_view(between: str, written: str, doubled: bool) -> None:
    """Guards what a reshape was made from, arguments of the caller even: the view's kernel wrote to it."""
    ones = np.ones((2, 3), np.float32)
    z, w, v, x = everywhere(OVERWRITTEN.format(between=between, written=written), ones)
    assert (z.numpy().max(), w.numpy().max(), x.numpy().max()) == (2, 2, 1)
    assert v.numpy().max() == (4 if doubled else 2)


def test_copies_that_were_made_for_writing_in_place_stay() -> None:
    """Guards RewriteDataflowReshape behind DataflowUseInplaceCalls: it made a view of the copy that is overwritten."""
    source = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Object:
    with R.dataflow():
        a = R.repeat(x, 1, axis=0)
        b = R.add(a, x)
        c = R.multiply(b, x)
        R.output(c)
    return (c, x)
"""
    steps = [LegalizeOps(), DataflowUseInplaceCalls(), RewriteDataflowReshape()]
    before = module(source)
    after = Sequential(steps)(before)
    assert "call_tir_inplace" in repr(after["main"])
    ones = np.full((2, 3), 3, np.float32)
    expected, given = everywhere(before, ones)
    found, kept = everywhere(after, ones)
    assert (found.numpy() == expected.numpy()).all()
    assert (kept.numpy() == given.numpy()).all()


TUPLES_OF_BLOCKS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        with R.dataflow():
            s = R.add(t[0], t[1])
            d = R.subtract(t[0], t[1])
            r = (s, d)
            R.output(r)
        z = R.exp(t[0])
        return r

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(x)
            t = (a, b)
            R.output(t)
        c = Module.f(t)
        d = c[1]
        return d
"""


@pytest.mark.parametrize("step", [ExpandTupleArguments(), RemoveUnusedOutputs()], ids=["arguments", "results"])
def test_fields_of_tuples_made_in_a_dataflow_block_stay_there(step: Any) -> None:
    """Only the tuple is an output of the block: calls, and results, named its dataflow variables."""
    before = from_source(TUPLES_OF_BLOCKS)
    assert check(step, before, *arrays((2,))) is not before


SIZES = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f(u: R.Tensor(("k",), "float32"), v: R.Tensor(("m", "k * 2"), "float32"), x: R.Tensor((2,), "float32")):
        m, k = T.int64(), T.int64()
        y = R.full(R.shape([m, k]), R.const(1.0, "float32"))
        return y

    @R.function
    def main(u: %s, v: R.Tensor(("m", 6), "float32"), x: R.Tensor((2,), "float32")):
        e = R.exp(v)
        y = Module.f(u, e, x)
        return y
"""


@pytest.mark.parametrize(
    ("is_known", "params"),
    [(True, ["param_m", "param_k"]), (False, ["u", "param_m"])],
)
def test_sizes_that_only_unused_tensors_show_are_passed(is_known: bool, params: list[str]) -> None:
    """The tensor stayed, and a size in its annotation that nothing showed any more; one stays for a size that a caller
    does not know."""
    u = 'R.Tensor((3,), "float32")' if is_known else 'R.Tensor("float32", ndim=1)'
    before = from_source(SIZES % u)
    after = RemoveUnusedParameters()(before)
    assert [p.name_hint for p in after["f"].params] == params
    assert called(after) == ["f"]
    assert well_formed(after) == []
    assert RemoveUnusedParameters()(after) is after
    args = arrays((3,), (2, 6), (2,))
    same_values(everywhere(after, *args).numpy(), Interpreter(before)["main"](*args).numpy())


def test_results_of_calls_and_branches_are_narrowed() -> None:
    """Only results written as tuples were; a function with effects whose result nobody looks at gives nothing."""
    before = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def pair(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        return (R.exp(x), R.cos(x))

    @R.function(private=True)
    def passes_on(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        return Module.pair(x)

    @R.function(private=True)
    def chooses(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        if R.const(True, "bool"):
            t = (x, x)
        else:
            t = (x, R.sin(x))
        return t

    @R.function(private=True, pure=False)
    def shows(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        R.print(x, format="{}")
        return (R.exp(x), R.cos(x))

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        unseen = Module.shows(x)
        t = Module.passes_on(x)
        u = Module.chooses(y)
        a, b = t[1], u[0]
        return R.add(a, b)
""")
    after = same(RemoveUnusedOutputs(), before)
    assert str(after["passes_on"].ret_struct_info) == str(after["chooses"].ret_struct_info)
    assert after["shows"].ret_struct_info == TupleStructInfo([])
