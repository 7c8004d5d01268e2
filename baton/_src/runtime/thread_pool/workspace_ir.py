"""Memory for kernels' temporary buffers, in LLVM IR: each thread keeps its memory for the next kernel.

The system maps pages of fresh memory when they are first written, and takes back large blocks that are freed: kernels
that allocate megabytes in every call (Winograd's transformed tiles) would spend a quarter of their time on page faults.

    baton_workspace(bytes)       a block, or null if there is no memory
    baton_workspace_end(block)   gives it back; a thread frees its blocks in reverse order

A thread has one piece of memory, used as a stack. A block that does not fit comes from `malloc`; when the stack is
empty again, the next block makes it as large as would have been needed. Beyond `LARGEST` bytes nothing is kept.
"""

from __future__ import annotations

LARGEST = 1 << 26
"""Bytes that a thread keeps at most, as for results that are recycled."""

IMPORTS = ("malloc", "calloc", "free")
DESTRUCTOR = "@drop_stack"

_IR = """
; The memory, its bytes, how many of them are in use, how many there should be.
%workspace = type {{ ptr, i64, i64, i64 }}

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)

define internal void @drop_stack(ptr %stack) {{
  %memory = load ptr, ptr %stack
  call void @free(ptr %memory)
  call void @free(ptr %stack)
  ret void
}}

define internal ptr @own_stack_made() {{
  %own = call i64 @own_stack()
  %none = icmp eq i64 %own, 0
  br i1 %none, label %make, label %have
have:
  %stack = inttoptr i64 %own to ptr
  ret ptr %stack
make:
  %fresh = call ptr @calloc(i64 4, i64 8)
  %address = ptrtoint ptr %fresh to i64
  call void @set_own_stack(i64 %address)
  ret ptr %fresh
}}

define ptr @baton_workspace(i64 %bytes) {{
entry:
  %large = icmp ugt i64 %bytes, {largest}
  br i1 %large, label %elsewhere, label %look
look:
  %stack = call ptr @own_stack_made()
  %missing = icmp eq ptr %stack, null
  br i1 %missing, label %elsewhere, label %fit
fit:
  %p.size = getelementptr %workspace, ptr %stack, i64 0, i32 1
  %p.used = getelementptr %workspace, ptr %stack, i64 0, i32 2
  %p.wanted = getelementptr %workspace, ptr %stack, i64 0, i32 3
  %some = call i64 @llvm.umax.i64(i64 %bytes, i64 1)
  %more = add i64 %some, 63
  %length = and i64 %more, -64
  %size = load i64, ptr %p.size
  %used = load i64, ptr %p.used
  %end = add i64 %used, %length
  %before = load i64, ptr %p.wanted
  %most = call i64 @llvm.umax.i64(i64 %before, i64 %end)
  %wanted = call i64 @llvm.umin.i64(i64 %most, i64 {largest})
  store i64 %wanted, ptr %p.wanted
  %unused = icmp eq i64 %used, 0
  %short = icmp ult i64 %size, %wanted
  %renew = and i1 %unused, %short
  br i1 %renew, label %anew, label %measure
measure:
  %fits = icmp ule i64 %end, %size
  br i1 %fits, label %take, label %elsewhere
take:
  store i64 %end, ptr %p.used
  %memory = load ptr, ptr %stack
  %block = getelementptr i8, ptr %memory, i64 %used
  ret ptr %block
anew:
  %old = load ptr, ptr %stack
  call void @free(ptr %old)
  %new = call ptr @malloc(i64 %wanted)
  store ptr %new, ptr %stack
  %refused = icmp eq ptr %new, null
  %new.size = select i1 %refused, i64 0, i64 %wanted
  store i64 %new.size, ptr %p.size
  br i1 %refused, label %elsewhere, label %first
first:
  store i64 %length, ptr %p.used
  ret ptr %new
elsewhere:
  %other = call ptr @malloc(i64 %bytes)
  ret ptr %other
}}

define void @baton_workspace_end(ptr %block) {{
entry:
  %own = call i64 @own_stack()
  %none = icmp eq i64 %own, 0
  br i1 %none, label %elsewhere, label %look
look:
  %stack = inttoptr i64 %own to ptr
  %memory = load ptr, ptr %stack
  %p.size = getelementptr %workspace, ptr %stack, i64 0, i32 1
  %p.used = getelementptr %workspace, ptr %stack, i64 0, i32 2
  %size = load i64, ptr %p.size
  %from = ptrtoint ptr %memory to i64
  %at = ptrtoint ptr %block to i64
  %offset = sub i64 %at, %from
  %within = icmp ult i64 %offset, %size
  br i1 %within, label %give, label %elsewhere
give:
  store i64 %offset, ptr %p.used
  ret void
elsewhere:
  call void @free(ptr %block)
  ret void
}}

declare i64 @llvm.umax.i64(i64, i64)
"""


def workspace_ir() -> str:
    """The functions' text; `thread_locals_ir` gives them the variable `stack`."""
    return _IR.format(largest=LARGEST)
