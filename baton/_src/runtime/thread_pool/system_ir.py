"""What the thread pool needs of the operating system, in LLVM IR: wait and wake, yield, thread ids.

    linux     the futex system call                              posix    polls with usleep(100)
    windows   WaitOnAddress, SwitchToThread                               (macOS, the BSDs, unknown processors)

Each defines `wait_for_wake(ticket)`, which returns soon after `wake` differs from `ticket`; `wake_all()`; `give_way()`;
and `relax()`, what a spinning thread does between two looks. Thread-local words are in `thread_locals_ir`, the
placement of workers in `placement_ir`.
"""

from __future__ import annotations

import platform

from baton._src.runtime.thread_pool import placement_ir, stalled_ir, thread_locals_ir, workspace_ir
from baton._src.support.dataclass import dataclass

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

define internal void @give_way() {{
  %r = call i32 @sched_yield()
  ret void
}}
"""

_WINDOWS = """
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressAll(ptr)
declare i32 @SwitchToThread()

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
"""

THREAD_LOCALS = {"limit": "null", "cell": "@free", "stack": workspace_ir.DESTRUCTOR}
"""A thread's own words, and what takes them when it ends: its limit, the cell of its calls' faults, its workspace."""
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
        own: tuple[str, ...]
        match self.name:
            case "linux":
                own = ("syscall", "sched_yield", *thread_locals_ir.IMPORTS, *placement_ir.IMPORTS, *stalled_ir.IMPORTS)
            case "windows":
                own = ("WaitOnAddress", "WakeByAddressAll", "SwitchToThread", *thread_locals_ir.WINDOWS_IMPORTS)
            case _:
                own = ("usleep", "sched_yield", *thread_locals_ir.IMPORTS)
        return (*own, *workspace_ir.IMPORTS)

    @property
    def ir(self) -> str:
        """The functions that the module names; they use its global `wake`."""
        template = {"linux": _FUTEX + _POSIX, "windows": _WINDOWS}.get(self.name, _POLLING + _POSIX)
        linux = self.name == "linux"
        parts = (
            template.format(futex=FUTEX_NUMBERS.get(self.machine)),
            self._relax,
            thread_locals_ir.thread_locals_ir(THREAD_LOCALS, self.name == "windows"),
            placement_ir.placement_ir(linux),
            stalled_ir.stalled_ir(linux),
            workspace_ir.workspace_ir(),
        )
        return "".join(parts)

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
