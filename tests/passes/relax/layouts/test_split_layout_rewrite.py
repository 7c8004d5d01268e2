"""SplitLayoutRewritePreproc: changes of weights' layouts inside kernels become kernels of their own."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.layouts.split_layout_rewrite_preproc import SplitLayoutRewritePreproc
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError

COPY = """
        for i, j in T.grid(4, 4):
            with T.block("pack"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(w[vi, vj])
                T.writes(packed[vj, vi])
                {mark}
                packed[vj, vi] = w[vi, vj]
"""
ADD = """
        for i, j in T.grid(4, 4):
            with T.block("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = x[vi, vj] + packed[vi, vj]
"""
SECOND = COPY.replace("packed[", "second[").replace('"pack"', '"again"')
X, W, PACKED, OUT = (f'{n}: T.Buffer((4, 4), "float32")' for n in ("x", "w", "packed", "out"))
MARK = 'T.block_attr({"meta_schedule.layout_rewrite_preproc": True})'
MEMORY = '        packed = T.alloc_buffer((4, 4), "float32")'
MAIN = """
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        cls = Module
        with R.dataflow():
{lines}
            R.output(gv)
        return gv
"""
CALL = 'R.call_tir(cls.{name}, ({args}), out_sinfo=R.Tensor((4, 4), "float32"))'


def kernel(name: str, params: str, body: str, attrs: str = "{}") -> str:
    return f"\n    @T.prim_func(private=True)\n    def {name}({params}):\n        T.func_attr({attrs})\n{body}"


def load(*functions: str) -> IRModule:
    found = from_source("@I.ir_module\nclass Module:" + "".join(functions))
    assert isinstance(found, IRModule)
    return found


def main(*lines: str) -> str:
    return MAIN.format(lines="\n".join(f"            {line}" for line in lines))


def marked(copy: str = COPY.format(mark=MARK)) -> IRModule:
    body = MEMORY + copy + ADD
    whole = kernel("k", f"{X}, {W}, {OUT}", body, '{"layout_free_buffers": [1], "tir.noalias": True}')
    return load(whole, main("gv = " + CALL.format(name="k", args="x, w")))


def test_the_change_of_layout_is_a_call_of_its_own() -> None:
    """Guards marked kernels being refused."""
    after = SplitLayoutRewritePreproc()(marked())
    prepare = kernel("k_weight_prepack", f"{W}, {PACKED}", COPY.format(mark=""), '{"tir.noalias": True}')
    compute = kernel("k_prepacked", f"{X}, {PACKED}, {OUT}", ADD, '{"tir.noalias": True}')
    calls = (
        "p = " + CALL.format(name="k_weight_prepack", args="w,"),
        "r = " + CALL.format(name="k_prepacked", args="x, p"),
        "gv = r",
    )
    assert_structural_equal(after, load(prepare, compute, main(*calls)))
    assert [d.render() for d in well_formed(after)] == []
    x, w = np.arange(32, dtype="float32").reshape(2, 4, 4)
    np.testing.assert_array_equal(Interpreter(after)["main"](x, w).numpy(), x + w.T)


def test_other_kernels_stay() -> None:
    before = marked(COPY.format(mark=""))
    assert SplitLayoutRewritePreproc()(before) is before


def test_what_is_marked_only_copies_a_parameter() -> None:
    with pytest.raises(DiagnosticError, match="does more than copy a parameter"):
        SplitLayoutRewritePreproc()(
            marked(COPY.format(mark=MARK).replace("T.reads(w[vi, vj])", "T.reads(w[vi, vj], x[vi, vj])"))
        )


@pytest.mark.parametrize(
    ("again", "sum_of"),
    [
        ("", "packed[vi, vj] + w[vi, vj]"),
        (SECOND.replace("w[", "x["), "packed[vi, vj] + second[vi, vj] * T.float32(2)"),
        (SECOND, "packed[vi, vj] + second[vi, vj] + x[vi, vj] * T.float32(3)"),
    ],
)
def test_several_copies_and_weights_that_are_read_as_they_are_too(again: str, sum_of: str) -> None:
    """The rest had no parameter for a weight that it read itself, nor for the first of two copies."""
    memory = MEMORY + "\n" + MEMORY.replace("packed", "second")
    add = ADD.replace("x[vi, vj] + packed[vi, vj]", sum_of)
    body = memory + COPY.format(mark=MARK) + again.format(mark=MARK) + add
    before = load(kernel("k", f"{X}, {W}, {OUT}", body), main("gv = " + CALL.format(name="k", args="x, w")))
    after = SplitLayoutRewritePreproc()(before)
    assert {v.name_hint for v in after.functions} == {"main", "k_weight_prepack", "k_prepacked"}
    assert [d.render() for d in well_formed(after)] == []
    x, w = np.arange(32, dtype="float32").reshape(2, 4, 4)
    results = [Interpreter(m)["main"](x, w).numpy() for m in (before, after)]
    np.testing.assert_array_equal(*results)


def test_copies_into_results_or_of_them_are_refused() -> None:
    """The rest wrote a result that was not its own, or read one before it was written."""
    for copy in (COPY.replace("packed[", "out["), COPY.replace("w[", "out[")):
        with pytest.raises(DiagnosticError, match="into a buffer of the kernel"):
            SplitLayoutRewritePreproc()(marked(copy.format(mark=MARK)))
    once_more = COPY.replace("w[", "x[").replace('"pack"', '"again"').format(mark="")
    with pytest.raises(DiagnosticError, match="k writes to a buffer whose layout it changed"):
        SplitLayoutRewritePreproc()(marked(COPY.format(mark=MARK) + once_more))
