"""Blocks that use buffers by pointer: what they read and write is what they state, or what the pointer is for."""

from __future__ import annotations

import pytest

from baton import tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.prim_func import PrimFunc
from baton.script import from_source
from baton.script import ir_builder as IRB
from baton.script.ir_builder import tir as B

TEMPLATE = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    {name}
        {head}
"""


def block(head: str, name: str = 'with T.block("step"):') -> tir.Block:
    func: PrimFunc = from_source(TEMPLATE.format(name=name, head=head.replace("\n", "\n        ")))
    found = func.body
    return found.block.body.block if found.block.name_hint == "root" and "step" in name else found.block


@pytest.mark.parametrize(
    "head",
    [
        'T.evaluate(T.call_extern("int32", "f", A.data))',
        'T.reads(A[0:8, 0:4])\nT.evaluate(T.call_extern("int32", "f", A.data))',
        'T.evaluate(T.call_extern("int32", "f", A.access_ptr("rw")))',
        'row = T.match_buffer(A[0, 0:4], (4,), "float32", offset_factor=1)\n'
        'T.evaluate(T.call_extern("int32", "f", row.data))',
    ],
)
def test_what_a_pointer_is_for_has_to_be_stated(head: str) -> None:
    """Guards that such accesses are not left out, which would let other blocks pass the block."""
    with pytest.raises(DiagnosticError, match=r"the pointer of \w+ is used: nothing says what the block reads"):
        block(head)


def test_pointers_that_say_what_they_are_for() -> None:
    """Guards that all of the buffer counts."""
    found = block('T.evaluate(T.call_extern("int32", "f", A.access_ptr("r"), C.access_ptr("w")))')
    assert [(r.buffer.name, [str(part.extent) for part in r.region]) for r in found.reads] == [("A", ["8", "4"])]
    assert [(w.buffer.name, [str(part.extent) for part in w.region]) for w in found.writes] == [("C", ["8"])]


def test_what_is_stated_counts() -> None:
    """Guards blocks that state regions, blocks around these, and those that need none: root, memory of its own."""
    stated = 'T.reads(A[0, 0:4])\nT.writes(C[1])\nT.evaluate(T.call_extern("int32", "f", A.data, C.data))'
    found = block(stated)
    assert [str(part.extent) for part in found.reads[0].region] == ["1", "4"]
    around = block('with T.block("inner"):\n    ' + stated.replace("\n", "\n    "))
    assert [(r.buffer.name, [str(part.extent) for part in r.region]) for r in around.reads] == [("A", ["1", "4"])]
    root = block('T.evaluate(T.call_extern("int32", "f", A.data))', name='with T.block("root"):')
    own = block('B = T.alloc_buffer((4,), "float32")\nT.evaluate(T.call_extern("int32", "f", B.data))')
    assert (root.reads, root.writes) == (own.reads, own.writes) == ((), ())


def test_builders_say_the_same() -> None:
    with IRB.IRBuilder() as builder, B.prim_func():
        B.func_name("main")
        a = B.arg("A", B.Buffer((8,), "float32"))
        with B.block("told"):
            B.evaluate(B.call_extern("int32", "f", a.access_ptr("r")))
        untold = B.block("untold")
        untold.__enter__()
        B.evaluate(B.call_extern("int32", "f", a.data))
        with pytest.raises(DiagnosticError, match="the pointer of A is used"):
            untold.__exit__(None, None, None)
    told = builder.get().body.block.body.block
    assert [(r.buffer.name, str(r.region[0].extent)) for r in told.reads] == [("A", "8")]
