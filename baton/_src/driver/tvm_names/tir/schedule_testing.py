"""Helpers for testing schedules (`tvm.tir.schedule.testing`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.near_structural import assert_structural_equal
from baton._src.support.diagnostics import fail
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace


def assert_structural_equal_ignore_global_symbol(lhs: Any, rhs: Any, *args: Any, **kwargs: Any) -> None:
    """Compare functions or modules without the public names of their functions."""
    assert_structural_equal(_nameless(lhs), _nameless(rhs), *args, **kwargs)


def _nameless(program: Any) -> Any:
    if isinstance(program, IRModule):
        return program.with_functions({v: _nameless(f) for v, f in program.functions.items()})
    return program.without_attr("global_symbol") if "global_symbol" in (program.attrs or {}) else program


def verify_trace_roundtrip(
    sch: Schedule, mod: Any, *, debug_mask: Any = "all", text_format: str | Sequence[str] = ("python", "json")
) -> Schedule:
    """Take the steps of `sch` on `mod` again, from their texts; fails unless the result is the same.

    Gives the schedule of the last text.
    """
    assert sch.trace is not None
    found: Schedule | None = None
    for kind in (text_format,) if isinstance(text_format, str) else tuple(text_format):
        found = Schedule(mod, debug_mask=debug_mask)
        if kind == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), found)
        elif kind == "python":
            names = {"sch": found, "T": _Maps}
            exec("\n".join(sch.trace.as_python()), names)
        else:
            raise fail("api", f"a trace has no text {kind!r}", help='"python" or "json"')
        assert_structural_equal_ignore_global_symbol(found.mod, sch.mod)
    assert found is not None
    return found


class _Maps:
    """`T` in the text of a trace: only maps of indices stand there."""

    @staticmethod
    def index_map(mapping: Any) -> Any:
        return mapping
