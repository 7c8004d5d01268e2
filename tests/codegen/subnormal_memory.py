"""Work memory full of subnormal numbers, and the processor's note whether anything computed with such numbers.

A kernel that computes on lanes nobody wrote gives right results, slowly: hence no result can show it, but the flag does
that x86 raises for a subnormal operand, and moving data does not.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from baton._src.codegen.llvm.jit import Machine, compile_text
from baton._src.ir.target import Target
from baton._src.runtime.linker import link
from baton._src.runtime.thread_pool.threads import thread_pool

x86 = pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="reads the flags of x86")
STACK, WORKSPACE = 1 << 20, 1 << 24
_SUBNORMAL_OPERAND = 2
_TEXT = f"""
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define i32 @flags() {{
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %flags = load i32, ptr %place
  ret i32 %flags
}}

define void @set_flags(i32 %flags) {{
  %place = alloca i32
  store i32 %flags, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}}

define void @fill(ptr %start, i64 %words) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr i32, ptr %start, i64 %i
  store volatile i32 1, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %words
  br i1 %more, label %loop, label %end
end:
  ret void
}}

define void @fill_stack() {{
  %below = alloca [{STACK} x i8], align 64
  call void @fill(ptr %below, i64 {STACK // 4})
  ret void
}}
"""


@cache
def _library() -> Any:
    return link([compile_text(_TEXT, Machine.of(Target("llvm")))], ["flags", "set_flags", "fill", "fill_stack"], {})


def _fill_workspace() -> None:
    """Twice: what a thread asks for first makes its memory as large as that."""
    entries = thread_pool().workspace_entries
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(entries["baton_workspace"])
    give_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entries["baton_workspace_end"])
    fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(_library()["fill"])
    for _ in range(2):
        block = take(WORKSPACE)
        assert block is not None
        fill(block, WORKSPACE // 4)
        give_back(block)


def computes_on_subnormals(call: Callable[[], object]) -> bool:
    """Whether a call, on this thread alone, has a subnormal operand anywhere, its work memory being full of them."""
    flags = ctypes.CFUNCTYPE(ctypes.c_uint32)(_library()["flags"])
    set_flags = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(_library()["set_flags"])
    fill_stack = ctypes.CFUNCTYPE(None)(_library()["fill_stack"])
    with thread_pool().limited(1):
        _fill_workspace()
        set_flags(flags() & ~_SUBNORMAL_OPERAND)
        fill_stack()
        call()
        return bool(flags() & _SUBNORMAL_OPERAND)
