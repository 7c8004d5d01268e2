"""What the thread pool needs of the operating system, in LLVM IR: wait and wake, yield, thread ids.

    linux     the futex system call                              posix    polls with usleep(100); pthread keys
    windows   WaitOnAddress, SwitchToThread, thread-local slots           (macOS, the BSDs, unknown processors)

Each defines `wait_for_wake(ticket)`, which returns soon after `wake` differs from `ticket`; `wake_all()`; `give_way()`;
`own_limit()` and `set_own_limit(number)`, a number of the present thread's own, 0 at first; `baton_pool_key()`, called
once, which is 0 if it could set that up; and `relax()`, what a spinning thread does between two looks. Where workers
run is `placement_ir`. `own_cell()` and `set_own_cell(address)` are a second such number: where faults of the
thread's calls are noted.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from baton._src.runtime.thread_pool.placement_ir import IMPORTS as PLACEMENT_IMPORTS
from baton._src.runtime.thread_pool.placement_ir import placement_ir
from baton._src.runtime.thread_pool.stalled_ir import IMPORTS as STALLED_IMPORTS
from baton._src.runtime.thread_pool.stalled_ir import stalled_ir

FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}
"""The system call's number by processor."""

_FUTEX = """
declare i64 @syscall(i64, ...)

define internal void @wake_all() {{
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr @wake, i64 129, i64 2147483647, i64 0, i64 0, i64 0)
  ret void
}}

define internal void @wait_for_wake(i32 %ticket) {{
  %wide = zext i32 %ticket to i64
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr @wake, i64 128, i64 %wide, i64 0, i64 0, i64 0)
  ret void
}}
"""

_POLLING = """
declare i32 @usleep(i32)

define internal void @wake_all() {{
  ret void
}}

define internal void @wait_for_wake(i32 %ticket) {{
  br label %loop
loop:
  %now = load atomic i32, ptr @wake seq_cst, align 4
  %same = icmp eq i32 %now, %ticket
  br i1 %same, label %nap, label %leave
nap:
  %r = call i32 @usleep(i32 100)
  br label %loop
leave:
  ret void
}}
"""

_POSIX = """
declare i32 @sched_yield()
declare i32 @pthread_key_create(ptr, ptr)
declare i64 @pthread_getspecific(i64)
declare i32 @pthread_setspecific(i64, i64)

define internal void @give_way() {{
  %r = call i32 @sched_yield()
  ret void
}}

define internal i64 @own_limit() {{
  %key = load i64, ptr @key
  %own = call i64 @pthread_getspecific(i64 %key)
  ret i64 %own
}}

define internal void @set_own_limit(i64 %number) {{
  %key = load i64, ptr @key
  %r = call i32 @pthread_setspecific(i64 %key, i64 %number)
  ret void
}}

declare void @free(ptr)

define internal i64 @own_cell() {{
  %key = load i64, ptr @cell.key
  %own = call i64 @pthread_getspecific(i64 %key)
  ret i64 %own
}}

define internal void @set_own_cell(i64 %address) {{
  %key = load i64, ptr @cell.key
  %r = call i32 @pthread_setspecific(i64 %key, i64 %address)
  ret void
}}

define i32 @baton_pool_key() {{
  %r = call i32 @pthread_key_create(ptr @key, ptr null)
  %s = call i32 @pthread_key_create(ptr @cell.key, ptr @free)
  %both = or i32 %r, %s
  ret i32 %both
}}
"""

_WINDOWS = """
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressAll(ptr)
declare i32 @SwitchToThread()
declare i32 @TlsAlloc()
declare i64 @TlsGetValue(i32)
declare i32 @TlsSetValue(i32, i64)

define internal void @wake_all() {{
  call void @WakeByAddressAll(ptr @wake)
  ret void
}}

define internal void @wait_for_wake(i32 %ticket) {{
  %seen = alloca i32
  store i32 %ticket, ptr %seen
  %r = call i32 @WaitOnAddress(ptr @wake, ptr %seen, i64 4, i32 -1)
  ret void
}}

define internal void @give_way() {{
  %r = call i32 @SwitchToThread()
  ret void
}}

define internal i64 @own_limit() {{
  %key = load i64, ptr @key
  %slot = trunc i64 %key to i32
  %own = call i64 @TlsGetValue(i32 %slot)
  ret i64 %own
}}

define internal void @set_own_limit(i64 %number) {{
  %key = load i64, ptr @key
  %slot = trunc i64 %key to i32
  %r = call i32 @TlsSetValue(i32 %slot, i64 %number)
  ret void
}}

define internal i64 @own_cell() {{
  %key = load i64, ptr @cell.key
  %slot = trunc i64 %key to i32
  %own = call i64 @TlsGetValue(i32 %slot)
  ret i64 %own
}}

define internal void @set_own_cell(i64 %address) {{
  %key = load i64, ptr @cell.key
  %slot = trunc i64 %key to i32
  %r = call i32 @TlsSetValue(i32 %slot, i64 %address)
  ret void
}}

define i32 @baton_pool_key() {{
  %slot = call i32 @TlsAlloc()
  %wide = zext i32 %slot to i64
  store i64 %wide, ptr @key
  %cell = call i32 @TlsAlloc()
  %cell.wide = zext i32 %cell to i64
  store i64 %cell.wide, ptr @cell.key
  %none = icmp eq i32 %slot, -1
  %none.either = icmp eq i32 %cell, -1
  %bad = or i1 %none, %none.either
  %r = zext i1 %bad to i32
  ret i32 %r
}}
"""

_PTHREADS = ("sched_yield", "pthread_key_create", "pthread_getspecific", "pthread_setspecific", "calloc", "free")
_RELAX = {"x86_64": "llvm.x86.sse2.pause()", "aarch64": "llvm.aarch64.isb(i32 15)"}
"""As an intrinsic (inline assembly would need LLVM's parser for it)."""


@dataclass(frozen=True, slots=True)
class System:
    """An operating system (`linux`, `posix`, `windows`) on a processor (`x86_64`, `aarch64`, ...)."""

    name: str
    machine: str

    @staticmethod
    def here() -> System:
        """This process's. Linux on a processor whose futex has no known number counts as `posix`."""
        found = platform.machine().lower()
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(found, found)
        system = platform.system().lower()
        if system == "windows":
            return System(system, machine)
        return System("linux" if system == "linux" and machine in FUTEX_NUMBERS else "posix", machine)

    @property
    def imports(self) -> tuple[str, ...]:
        """The functions of the system's libraries that the IR calls."""
        match self.name:
            case "linux":
                return ("syscall", *_PTHREADS, *PLACEMENT_IMPORTS, *STALLED_IMPORTS)
            case "windows":
                names = "WaitOnAddress WakeByAddressAll SwitchToThread TlsAlloc TlsGetValue TlsSetValue calloc"
                return tuple(names.split())
            case _:
                return ("usleep", *_PTHREADS)

    @property
    def ir(self) -> str:
        """The functions that the module names; they use its globals `wake`, `key` and `cell.key`."""
        parts = {"linux": _FUTEX + _POSIX, "windows": _WINDOWS}.get(self.name, _POLLING + _POSIX)
        own, linux = parts.format(futex=FUTEX_NUMBERS.get(self.machine)), self.name == "linux"
        return own + self._relax + placement_ir(linux) + stalled_ir(linux)

    @property
    def _relax(self) -> str:
        relax = _RELAX.get(self.machine)
        if relax is None:
            return "define internal void @relax() alwaysinline {\n  ret void\n}\n"
        name, _, operand = relax.partition("(")
        kind = "i32" if operand != ")" else ""
        return (
            f"declare void @{name}({kind})\n"
            f"define internal void @relax() alwaysinline {{\n  call void @{relax}\n  ret void\n}}\n"
        )
