"""The builder and its stack of open scopes, for any language."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from baton._src.ir.node import set_note
from baton._src.relax.nodes import Var as RelaxVar
from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IterVar, Var

Frame = TypeVar("Frame", bound="IRBuilderFrame")

_OPEN = threading.local()


class IRBuilder:
    """The context for opening frames: `with IRBuilder() as builder: ...`, then `builder.get()`."""

    def __init__(self) -> None:
        self.frames: list[IRBuilderFrame] = []
        self.result: Any = None

    def __enter__(self) -> IRBuilder:
        _builders().append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _builders().pop()

    @staticmethod
    def current() -> IRBuilder:
        """The innermost builder of this thread; an error where there is none."""
        if not _builders():
            raise fail("ir-builder", "no builder is open here", help="write it under `with IRBuilder() as builder:`")
        return _builders()[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Whether this thread has a builder open."""
        return bool(_builders())

    def get(self) -> Any:
        """What was built; an error before the outermost frame is closed."""
        if self.result is None:
            raise fail("ir-builder", "nothing has been built: the outermost frame is not closed yet")
        return self.result

    def innermost(self, kind: type[Frame]) -> Frame | None:
        """The innermost open frame of a class."""
        return next((f for f in reversed(self.frames) if isinstance(f, kind)), None)

    def finish(self, made: Any) -> None:
        """Set the builder's result."""
        if self.result is not None:
            raise fail("ir-builder", "the builder has a result already", help="one builder makes one thing")
        self.result = made

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """`v` under the name `s`: a variable, an axis, or a buffer and its memory."""
        match v:
            case Buffer():
                set_note(v, "name", s)
                set_note(v.data, "name", s)
            case IterVar():
                set_note(v.var, "name", s)
            case Var():
                set_note(v, "name", s)
            case RelaxVar():
                set_note(v, "name_hint", s)
            case tuple() | list():
                for number, one in enumerate(v):
                    IRBuilder.name(f"{s}_{number}", one)
            case _:
                pass
        return v

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Any]) -> list[Any]:
        """Give each of several objects its name."""
        return [IRBuilder.name(one, v) for one, v in zip(s, vs, strict=True)]


class IRBuilderFrame:
    """One scope. It is entered by `with`, or by hand if a callback of the enclosing frame exits it."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def __enter__(self) -> Any:
        self.open(IRBuilder.current())
        IRBuilder.current().frames.append(self)
        return self.entered()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        while self.callbacks:
            self.callbacks.pop()()
        builder = IRBuilder.current()
        if not builder.frames or builder.frames[-1] is not self:
            raise fail("ir-builder", "the frame that is left is not the innermost one")
        builder.frames.pop()
        self.close(builder)

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the frame is exited, in reverse order of registration."""
        self.callbacks.append(callback)

    def open(self, builder: IRBuilder) -> None:
        """Check, before the frame is pushed on the stack, that it may be opened here."""

    def entered(self) -> Any:
        """The value of `with ... as`."""
        return self

    def close(self, builder: IRBuilder) -> None:
        """Called when the frame has left the stack: passes its result to the enclosing frame."""


def _builders() -> list[IRBuilder]:
    if not hasattr(_OPEN, "builders"):
        _OPEN.builders = []
    found: list[IRBuilder] = _OPEN.builders
    return found
