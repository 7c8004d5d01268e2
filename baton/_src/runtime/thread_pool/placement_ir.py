"""Keep the pool's workers off the CPU of the calling thread, in LLVM IR.

A scheduler that packs threads together (virtual machines do, to leave processors idle) wakes a worker on its caller's
CPU. A call of some 20 µs is over before the balance is restored: two threads then take twice as long as one, in some
processes always. So the caller keeps the workers off its CPU, and tells the system again only when it has moved.

    baton_pool_settle(number, thread)   a worker was started (`thread` is the system's number for it)
    keep_off()                          the caller looks at its CPU: a system call a worker if that has changed
    unsettle()                          there are no workers any more

Workers stay on the CPUs that their creator was allowed to use, and may use all of those again once the caller has
moved. If the caller's CPU is the only one allowed, workers are left alone. Only Linux has this; elsewhere the system
places threads.
"""

from __future__ import annotations

MOST_WORKERS = 256
"""Workers with higher numbers are left to the system's scheduler."""

WORDS = 16
"""Words of 64 CPUs in the C library's own mask. On larger machines the system places the threads."""
CPUS = 64 * WORDS

IMPORTS = ("sched_getcpu", "sched_getaffinity", "sched_setaffinity")

_FREE = """
define void @baton_pool_settle(i64 %number, i64 %thread) {{
  ret void
}}

define internal void @keep_off() {{
  ret void
}}

define internal void @unsettle() {{
  ret void
}}
"""
"""The functions for systems without control over placement."""

_LINUX = """
@avoided = internal global i32 -1, align 128
@settled = internal global [{most} x i32] zeroinitializer
@allowed_cpus = internal global [{words} x i64] zeroinitializer

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define void @baton_pool_settle(i64 %number, i64 %thread) {{
  %known = icmp ult i64 %number, {most}
  br i1 %known, label %note, label %leave
note:
  %r = call i32 @sched_getaffinity(i32 0, i64 {bytes}, ptr @allowed_cpus)
  %place = getelementptr i32, ptr @settled, i64 %number
  %id = trunc i64 %thread to i32
  store atomic i32 %id, ptr %place release, align 4
  store atomic i32 -1, ptr @avoided seq_cst, align 4
  br label %leave
leave:
  ret void
}}

define internal void @keep_off() {{
  %cpu = call i32 @sched_getcpu()
  %before = load atomic i32, ptr @avoided monotonic, align 4
  %same = icmp eq i32 %cpu, %before
  %beyond = icmp uge i32 %cpu, {cpus}
  %skip = or i1 %same, %beyond
  br i1 %skip, label %leave, label %move
move:
  store atomic i32 %cpu, ptr @avoided seq_cst, align 4
  call void @move_off(i32 %cpu)
  br label %leave
leave:
  ret void
}}

define internal void @move_off(i32 %cpu) noinline {{
entry:
  %mask = alloca [{words} x i64]
  call void @llvm.memcpy.p0.p0.i64(ptr %mask, ptr @allowed_cpus, i64 {bytes}, i1 false)
  %word = lshr i32 %cpu, 6
  %bit = and i32 %cpu, 63
  %bit.wide = zext i32 %bit to i64
  %one = shl i64 1, %bit.wide
  %others = xor i64 %one, -1
  %place = getelementptr i64, ptr %mask, i32 %word
  %old = load i64, ptr %place
  %new = and i64 %old, %others
  store i64 %new, ptr %place
  %all = load <{words} x i64>, ptr %mask, align 8
  %any = call i64 @llvm.vector.reduce.or.v{words}i64(<{words} x i64> %all)
  %none = icmp eq i64 %any, 0
  br i1 %none, label %leave, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %more, %after ]
  %worker = getelementptr i32, ptr @settled, i64 %i
  %id = load atomic i32, ptr %worker acquire, align 4
  %unknown = icmp eq i32 %id, 0
  br i1 %unknown, label %after, label %tell
tell:
  %r = call i32 @sched_setaffinity(i32 %id, i64 {bytes}, ptr %mask)
  br label %after
after:
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, {most}
  br i1 %done, label %leave, label %next
leave:
  ret void
}}

define internal void @unsettle() {{
  call void @llvm.memset.p0.i64(ptr @settled, i8 0, i64 {most_bytes}, i1 false)
  store atomic i32 -1, ptr @avoided seq_cst, align 4
  ret void
}}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.vector.reduce.or.v{words}i64(<{words} x i64>)
"""


def placement_ir(linux: bool) -> str:
    """The module's functions, for Linux or for systems that offer no control over placement."""
    sizes = {"most": MOST_WORKERS, "most_bytes": 4 * MOST_WORKERS, "words": WORDS, "bytes": 8 * WORDS}
    return (_LINUX if linux else _FREE).format(**sizes, cpus=CPUS)
