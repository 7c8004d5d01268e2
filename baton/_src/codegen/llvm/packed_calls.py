"""Calls of packed functions: the operands lie on the stack, and the runtime calls the function by its name.

    words[0] = i; words[1] = address of A; words[2] = offset; words[3] = 4
    if (baton_packed_call(library, "[\"my.f\", \"int32\", [\"int32\", [\"float32\", 1, false]], false]", words)) leave
    result = words[0]

`runtime.native.packed_calls` describes the words, and what happens to exceptions.
"""

from __future__ import annotations

from baton._src.codegen.llvm.addressing.memory import MemoryAccess
from baton._src.codegen.llvm.arithmetic import cast
from baton._src.codegen.llvm.fault import leave_with_fault
from baton._src.codegen.llvm.function_writer import FunctionWriter
from baton._src.codegen.llvm.text import FunctionText
from baton._src.codegen.llvm.types import register_type
from baton._src.runtime.native.faults import RAISED
from baton._src.runtime.native.packed_calls import LIBRARY_SYMBOL, PACKED_SYMBOL, word_kind
from baton._src.tir import expr as tir
from baton._src.tir.packed_calls import PackedOperand, TensorOperand, read_packed_call
from baton._src.values.dtype import HANDLE, INT64, DataType

_WORDS = {"q": INT64, "Q": DataType("uint64"), "d": DataType("float64")}


def call_packed(writer: FunctionWriter, call: tir.Call, is_used: bool = True) -> str:
    """Write a call; the operand that holds its result, if that `is_used`."""
    f, read = writer.f, read_packed_call(call)
    site = read.site(is_used)
    words = [(value, dtype) for operand in read.operands for value, dtype in _words(writer.e, operand)]
    stack = f.alloca("i64", max(len(words), 1), 8)
    for place, (value, dtype) in enumerate(words):
        f.line(f"store {register_type(dtype)} {value}, ptr {_word(f, stack, place)}, align 8")
    entry = f.module.import_function(PACKED_SYMBOL, "i64", ["ptr", "ptr", "ptr"])
    library = f.module.import_function(LIBRARY_SYMBOL, "void", [])
    failed = f.value(f"call i64 {entry}(ptr {library}, ptr {f.module.string(site.to_text())}, ptr {stack})")
    with f.aside(f.value(f"icmp ne i64 {failed}, 0"), "raised", "called"):
        leave_with_fault(writer, RAISED, [])
    return "" if site.result is None else _result(writer.e, site.result, stack)


def _words(e: MemoryAccess, operand: PackedOperand) -> list[tuple[str, DataType]]:
    """The values of an operand's words, and their types."""
    match operand:
        case TensorOperand():
            sizes = [(e.index(n), INT64) for n in (operand.offset, *operand.shape, *operand.strides)]
            return [(e.emit(operand.data), HANDLE), *sizes]
        case tir.StringImm():
            return []
        case _:
            word = _WORDS[word_kind(operand.dtype)]
            return [(cast(e.f, operand.dtype, word, e.emit(operand), e.features), word)]


def _result(e: MemoryAccess, dtype: DataType, stack: str) -> str:
    word = _WORDS[word_kind(dtype)]
    found = e.f.value(f"load {register_type(word)}, ptr {stack}, align 8")
    return cast(e.f, word, dtype, found, e.features)


def _word(f: FunctionText, stack: str, place: int) -> str:
    return f.value(f"getelementptr i64, ptr {stack}, i64 {place}")
