"""Words that each operating system thread has of its own, in LLVM IR.

For a variable `limit` there are `own_limit()`, which is 0 at first, and `set_own_limit(word)`. `baton_pool_key()`,
called once before, returns 0 if the system had room for them all.
"""

from __future__ import annotations

from collections.abc import Mapping

IMPORTS = ("pthread_key_create", "pthread_getspecific", "pthread_setspecific")
WINDOWS_IMPORTS = ("TlsAlloc", "TlsGetValue", "TlsSetValue")

_POSIX = """
@{name}.key = internal global i64 0

define internal i64 @own_{name}() {{
  %key = load i64, ptr @{name}.key
  %own = call i64 @pthread_getspecific(i64 %key)
  ret i64 %own
}}

define internal void @set_own_{name}(i64 %word) {{
  %key = load i64, ptr @{name}.key
  %r = call i32 @pthread_setspecific(i64 %key, i64 %word)
  ret void
}}

define internal i32 @make_{name}() {{
  %r = call i32 @pthread_key_create(ptr @{name}.key, ptr {destructor})
  ret i32 %r
}}
"""

_WINDOWS = """
@{name}.key = internal global i32 0

define internal i64 @own_{name}() {{
  %slot = load i32, ptr @{name}.key
  %own = call i64 @TlsGetValue(i32 %slot)
  ret i64 %own
}}

define internal void @set_own_{name}(i64 %word) {{
  %slot = load i32, ptr @{name}.key
  %r = call i32 @TlsSetValue(i32 %slot, i64 %word)
  ret void
}}

define internal i32 @make_{name}() {{
  %slot = call i32 @TlsAlloc()
  store i32 %slot, ptr @{name}.key
  %none = icmp eq i32 %slot, -1
  %r = zext i1 %none to i32
  ret i32 %r
}}
"""

_DECLARED = {
    False: """
declare i32 @pthread_key_create(ptr, ptr)
declare i64 @pthread_getspecific(i64)
declare i32 @pthread_setspecific(i64, i64)
""",
    True: """
declare i32 @TlsAlloc()
declare i64 @TlsGetValue(i32)
declare i32 @TlsSetValue(i32, i64)
""",
}


def thread_locals_ir(destructors: Mapping[str, str], windows: bool) -> str:
    """The functions for the variables in `destructors`; a variable's destructor gets its word, as a pointer, when the
    thread ends.

    A destructor is a function's name with its `@`, or `null`. Windows calls none: what the last word of a thread refers
    to lives as long as the process.
    """
    template = _WINDOWS if windows else _POSIX
    parts = [template.format(name=name, destructor=function) for name, function in destructors.items()]
    lines = ["  %none = or i32 0, 0"]
    failed = "%none"
    for name in destructors:
        lines += [f"  %{name} = call i32 @make_{name}()", f"  %failed.{name} = or i32 {failed}, %{name}"]
        failed = f"%failed.{name}"
    made = "\n".join(["\ndefine i32 @baton_pool_key() {", *lines, f"  ret i32 {failed}", "}\n"])
    return _DECLARED[windows] + "".join(parts) + made
