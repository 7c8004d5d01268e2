"""Axes of threads, as `T.launch_thread` opens them: an attribute around the statement that each thread runs."""

from __future__ import annotations

from baton._src.tir.expr import IterVar
from baton._src.tir.stmt import AttrStmt, For, ForKind, Stmt

_VIRTUAL = ("vthread", "vthread.x", "vthread.y", "vthread.z")


def launch(axis: IterVar, body: Stmt) -> AttrStmt:
    """`body` on each thread of an axis of threads (`T.launch_thread`)."""
    return AttrStmt(axis, _thread_key(axis), axis.extent, body)


def launched_axis(node: AttrStmt) -> IterVar | None:
    """The axis of threads that an attribute launches; None for other attributes."""
    axis = node.node
    is_launched = isinstance(axis, IterVar) and axis.thread_tag and node.attr_key == _thread_key(axis)
    return axis if is_launched else None


def thread_loop(node: AttrStmt) -> For | None:
    """The loop over the threads that an attribute launches: on a CPU they run one after the other."""
    axis = launched_axis(node)
    return None if axis is None else For(axis.var, 0, node.value, ForKind.SERIAL, node.body)


def _thread_key(axis: IterVar) -> str:
    return "virtual_thread" if axis.thread_tag in _VIRTUAL else "thread_extent"
