"""`PatternContext`: patterns joined by edges, to be matched against a whole dataflow block.

with PatternContext() as ctx:
    conv = is_op("relax.nn.conv2d")(wildcard(), wildcard())
    relu = is_op("relax.nn.relu")(wildcard())
    conv >> relu                      # relu uses conv, and nobody else does; `^` leaves others free
ctx.match_dfb(block)                  # {conv: lv, relu: lv1}, or None
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self

from baton._src.relax.nodes import DataflowBlock, Var
from baton._src.relax.patterns.match import extract
from baton._src.relax.patterns.match_block import match_block
from baton._src.relax.patterns.nodes import CallPattern, DFPattern
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


@dataclass(frozen=True, eq=False)
class Edge:
    """`consumer` uses what `producer` matches as argument `index` (-1: any); `only`: it is the only user."""

    producer: DFPattern
    consumer: DFPattern
    only: bool = False
    index: int = -1


class _Open(threading.local):
    """The contexts that this thread has entered."""

    def __init__(self) -> None:
        self.stack: list[PatternContext] = []


_open = _Open()


class PatternContext:
    """Collects the patterns and edges created while it is entered. `incremental`: start with those of the outer
    context.
    """

    def __init__(self, incremental: bool = False) -> None:
        outer = _open.stack[-1] if incremental and _open.stack else None
        self.edges: list[Edge] = [] if outer is None else list(outer.edges)
        self.patterns: list[DFPattern] = [] if outer is None else list(outer.patterns)

    def __enter__(self) -> Self:
        _open.stack.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open.stack.pop()

    @staticmethod
    def current() -> PatternContext | None:
        """The innermost context, if one is open."""
        return _open.stack[-1] if _open.stack else None

    def add(self, pattern: DFPattern) -> None:
        """Add a pattern to those to be matched."""
        if not any(p is pattern for p in self.patterns):
            self.patterns.append(pattern)

    def add_constraint(self, producer: DFPattern, consumer: DFPattern, only: bool = False, index: int = -1) -> None:
        """Add an edge."""
        self.add(producer)
        self.add(consumer)
        self.edges.append(Edge(producer, consumer, only, index))

    def match_dfb(
        self, dfb: DataflowBlock, start_hint: Var | None = None, must_include_hint: bool = False
    ) -> dict[DFPattern, Var] | None:
        """The variable that each pattern matched, or None. With `start_hint` matches that include it come first; with
        `must_include_hint` there are no others."""
        found = match_block(self.patterns, self.edges, dfb)
        if start_hint is None:
            return next(found, None)
        later: dict[DFPattern, Var] | None = None
        for one in found:
            if any(var is start_hint for var in one.values()):
                return one
            later = later or one
        return None if must_include_hint else later


class PatternSeq:
    """A chain of patterns, each of which uses the previous one."""

    def __init__(self, patterns: Any, only_use: bool = False) -> None:
        self.patterns: tuple[DFPattern, ...] = tuple(patterns)
        for one, other in zip(self.patterns, self.patterns[1:]):
            _edge(one, other, only_use, -1)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def used_by(self, other: Any, index: int = -1) -> PatternSeq:
        """The last is used by (the first of) `other`."""
        return _joined(self, other, False, index)

    def only_used_by(self, other: Any, index: int = -1) -> PatternSeq:
        """Like `used_by`, with no other users."""
        return _joined(self, other, True, index)

    def __xor__(self, other: Any) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: Any) -> PatternSeq:
        return self.only_used_by(other)

    def dup(self) -> PatternSeq:
        """A copy of the chain with fresh patterns and the same edges between them."""
        context = PatternContext.current()
        fresh = [p.dup() for p in self.patterns]
        if context is None:
            return _sequence(fresh)
        for number, (one, other) in enumerate(zip(self.patterns, self.patterns[1:])):
            for edge in [e for e in context.edges if e.producer is one and e.consumer is other]:
                context.add_constraint(fresh[number], fresh[number + 1], edge.only, edge.index)
        return _sequence(fresh)


def _sequence(patterns: Any) -> PatternSeq:
    """A chain whose edges are there already."""
    found = PatternSeq(())
    found.patterns = tuple(patterns)
    return found


def _joined(left: PatternSeq, right: Any, only: bool, index: int) -> PatternSeq:
    after = right.patterns if isinstance(right, PatternSeq) else (right,)
    if not all(isinstance(p, DFPattern) for p in after):
        raise fail(
            "api", f"a {type(right).__name__} is not a pattern that could use another", help="name the pattern itself"
        )
    _edge(left.patterns[-1], after[0], only, index)
    return _sequence((*left.patterns, *after))


def _edge(producer: DFPattern, consumer: DFPattern, only: bool, index: int) -> None:
    """Record an edge in the open context; without one it has no effect, as in TVM."""
    context = PatternContext.current()
    if context is not None:
        context.add_constraint(producer, consumer, only, index)


def chain(left: DFPattern, right: Any, only: bool, index: int) -> PatternSeq:
    """Implements `used_by` and `only_used_by` of patterns."""
    return _joined(_sequence((left,)), right, only, index)


def note_call(pattern: CallPattern) -> None:
    """Add a call pattern created while a context is open to that context."""
    if _open.stack:
        _open.stack[-1].add(pattern)


# Patterns are matched and joined by modules above the one that declares them; this one, which sees all, binds them.
DFPattern.extracting = staticmethod(extract)
DFPattern.chaining = staticmethod(chain)
DFPattern.calling = staticmethod(note_call)
