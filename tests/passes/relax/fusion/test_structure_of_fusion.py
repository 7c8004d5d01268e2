"""What FuseOps, FuseOpsByPattern, MergeCompositeFunctions and FuseTIR make, as scripts compare it.

Expected modules are written down in full: names, order of bindings and parameters, attributes, memory in kernels.
"""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.fusion.annotate_tir_op_pattern import AnnotateTIROpPattern
from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_ops_by_pattern import FuseOpsByPattern
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.fusion.merge_composite_functions import MergeCompositeFunctions
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton.relax.dpl import is_op, wildcard

PAIR = 'R.Tensor((2, 6), "float32")'
KERNEL = """
    @T.prim_func(private=True)
    def {name}({params}):
        T.func_attr({attrs})
{body}"""
STAGE = """
        for i, j in T.grid(T.int64(2), T.int64(6)):
            with T.block("{block}"):
                vi, vj = T.axis.remap("SS", [i, j])
                {store}
"""


def load(text: str) -> IRModule:
    found = from_source(text)
    assert isinstance(found, IRModule)
    return found


def buffer(name: str, rows: int = 2) -> str:
    return f'{name}: T.Buffer((T.int64({rows}), T.int64(6)), "float32")'


def kernel(name: str, params: list[str], stages: list[tuple[str, str]], *, attrs: str = "", memory: str = "") -> str:
    body = memory + "".join(STAGE.format(block=block, store=store) for block, store in stages)
    return KERNEL.format(name=name, params=", ".join(params), attrs=f'{{"tir.noalias": True{attrs}}}', body=body)


def pattern(number: int) -> str:
    return f', "op_pattern": {number}'


def kernels(*, annotated: bool = True) -> str:
    halves = [("s", "a[vi, vj] = x[vi, vj]"), ("s", "b[vi, vj] = x[vi + T.int64(2), vj]")]
    split = kernel("split", [buffer("x", 4), buffer("a"), buffer("b")], halves, attrs=pattern(2) if annotated else "")
    total = [("s", "z[vi, vj] = x[vi, vj] + y[vi, vj]")]
    add = kernel("add", [buffer("x"), buffer("y"), buffer("z")], total, attrs=pattern(0) if annotated else "")
    return split + add


def module(*functions: str) -> IRModule:
    return load("@I.ir_module\nclass Module:" + "".join(functions))


def function(name: str, params: str, lines: list[str], result: str, *, attrs: str = "", private: bool = False) -> str:
    block = "\n".join(f"            {line}" for line in [*lines, f"R.output({result})"])
    head = "@R.function(private=True)" if private else "@R.function"
    note = f"\n        R.func_attr({attrs})" if attrs else ""
    returned = f"({result})" if "," in result else result
    return f"""
    {head}
    def {name}({params}):{note}
        cls = Module
        with R.dataflow():
{block}
        return {returned}
"""


SPLIT = f"R.call_tir(cls.split, (x,), out_sinfo=[{PAIR}, {PAIR}])"


def add(a: str, b: str) -> str:
    return f"R.call_tir(cls.add, ({a}, {b}), out_sinfo={PAIR})"


@pytest.mark.rule("RELAX-PASS-17")
def test_fields_of_results_are_fused() -> None:
    """Guards FuseOps leaving kernels with several results, and what reads them, alone."""
    steps = [f"s = {SPLIT}", "a = s[0]", "b = s[1]", f"c = {add('a', 'b')}", f"d = {add('c', 'a')}"]
    x = 'x: R.Tensor((4, 6), "float32")'
    before = module(kernels(), function("main", x, steps, "d"))
    fused = function("fused_split_add_add", x, steps, "d", attrs='{"Primitive": 1}', private=True)
    call = function("main", x, ["d = cls.fused_split_add_add(x)"], "d")
    after = FuseOps()(before)
    assert_structural_equal(after, module(kernels(), fused, call))
    memory = "".join(f"        {n} = T.alloc_buffer((T.int64(2), T.int64(6)))\n" for n in "abc")
    stages = [
        ("s", "a[vi, vj] = x[vi, vj]"),
        ("s_1", "b[vi, vj] = x[vi + T.int64(2), vj]"),
        ("s_2", "c[vi, vj] = a[vi, vj] + b[vi, vj]"),
        ("s_3", "d[vi, vj] = c[vi, vj] + a[vi, vj]"),
    ]
    whole = kernel("fused_split_add_add", [buffer("x", 4), buffer("d")], stages, memory=memory)
    called = f"d = R.call_tir(cls.fused_split_add_add, (x,), out_sinfo={PAIR})"
    assert_structural_equal(FuseTIR()(after), module(whole, function("main", x, [called], "d")))
    data = np.arange(24, dtype="float32").reshape(4, 6)
    for made in (before, after, FuseTIR()(after), FuseTIR(inline=True)(after)):
        np.testing.assert_array_equal(Interpreter(made)["main"](data).numpy(), data[:2] * 2 + data[2:])


@pytest.mark.rule("RELAX-PASS-17")
def test_only_the_fields_that_are_read_are_passed() -> None:
    """The tuple comes from outside: the function takes its second field."""
    t = f"t: R.Tuple({PAIR}, {PAIR})"
    before = module(kernels(), function("main", t, ["b = t[1]", f"c = {add('b', 'b')}"], "c"))
    fused = function("fused_add", f"b: {PAIR}", [f"c = {add('b', 'b')}"], "c", attrs='{"Primitive": 1}', private=True)
    call = function("main", t, ["b = t[1]", "c = cls.fused_add(b)"], "c")
    assert_structural_equal(FuseOps()(before), module(kernels(), fused, call))


@pytest.mark.rule("RELAX-PASS-17")
def test_classes_of_kernels_are_read_off_their_blocks() -> None:
    """A reduction that the result is computed from element by element takes elementwise operators in behind it."""
    row = 'm: T.Buffer((T.int64(2),), "float32")'
    mean = """
    @T.prim_func(private=True)
    def mean(x: T.Buffer((T.int64(2), T.int64(6)), "float32"), y: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"tir.noalias": True ATTRS})
        t = T.alloc_buffer((T.int64(2),))
        for i, j in T.grid(T.int64(2), T.int64(6)):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    t[vi] = T.float32(0)
                t[vi] = t[vi] + x[vi, vj]
        for i in range(T.int64(2)):
            with T.block("divide"):
                vi = T.axis.spatial(T.int64(2), i)
                y[vi] = t[vi] / T.float32(6)
"""
    params = [buffer("x"), row, buffer("y")]
    shift = [("s", "y[vi, vj] = x[vi, vj] - m[vi]")]
    spread = [("s", "y[vi, vj] = m[vi]")]

    def both(mean_: str, shift_: str, spread_: str) -> IRModule:
        shifted = kernel("shift", params, shift, attrs=shift_)
        spreads = kernel("spread", params[1:], spread, attrs=spread_)
        return module(mean.replace(" ATTRS", mean_), shifted, spreads)

    expected = both(pattern(4), pattern(0), pattern(1))
    assert_structural_equal(AnnotateTIROpPattern()(both("", "", "")), expected)


@pytest.mark.rule("RELAX-PASS-18")
def test_values_from_the_middle_of_a_match_are_results() -> None:
    x = f"x: {PAIR}"
    steps = ["a = R.exp(x)", "b = R.cos(a)", "c = R.nn.relu(a)", "d = R.add(b, c)"]
    before = module(function("main", x, steps, "d"))
    attrs = '{"Composite": "test.exp_relu", "Primitive": 1}'
    inner = ["a = R.exp(x)", "c = R.nn.relu(a)"]
    fused = function("fused_relax_exp_relax_nn_relu", x, inner, "a, c", attrs=attrs, private=True)
    calls = ["t = cls.fused_relax_exp_relax_nn_relu(x)", "a = t[0]", "c = t[1]", "b = R.cos(a)", "d = R.add(b, c)"]
    exp_relu = is_op("relax.nn.relu")(is_op("relax.exp")(wildcard()))
    after = FuseOpsByPattern([("test.exp_relu", exp_relu)])(before)
    assert_structural_equal(after, module(fused, function("main", x, calls, "d")))
    assert [d.render() for d in well_formed(after)] == []


@pytest.mark.rule("RELAX-PASS-18")
def test_composite_functions_are_numbered_in_order_and_merged_with_all_they_use() -> None:
    """exp(x) and exp(y) are of two shapes; their product is computed from both."""
    params = 'x: R.Tensor((2, 6), "float32"), y: R.Tensor((6,), "float32")'
    before = module(function("main", params, ["a = R.exp(x)", "b = R.exp(y)", "c = R.multiply(a, b)"], "c"))
    patterns = [
        ("test.exp", is_op("relax.exp")(wildcard())),
        ("test.mul", is_op("relax.multiply")(wildcard(), wildcard())),
    ]
    composite = FuseOpsByPattern(patterns)(before)
    shapes = [composite[name].params[0].struct_info.ndim for name in ("fused_relax_exp", "fused_relax_exp1")]
    assert shapes == [2, 1]
    merged = MergeCompositeFunctions()(composite)
    names = sorted(var.name_hint for var in merged.functions)
    assert names == ["fused_relax_exp_relax_exp1_relax_multiply_test", "main"]
