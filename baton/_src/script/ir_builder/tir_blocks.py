"""The heads of blocks under a builder: axes, regions, predicates, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from baton._src.ir.expr import Range
from baton._src.script.ir_builder.base import IRBuilder
from baton._src.script.ir_builder.tir_frames import BlockFrame, BlockInitFrame, ForFrame, innermost
from baton._src.support.diagnostics import fail
from baton._src.tir import operators
from baton._src.tir.buffer import BufferRegion
from baton._src.tir.expr import BufferLoad, IterVar, Ramp, Var, literal
from baton._src.tir.text.read_expressions import extent_between
from baton._src.tir.text.scope import BlockFrame as BlockHead

_KINDS = {"S": "spatial", "R": "reduce", "O": "opaque", "C": "scan"}


def block(name: str = "", no_realize: bool = False) -> BlockFrame:
    """The frame of a block."""
    return BlockFrame(name, no_realize)


def init() -> BlockInitFrame:
    """The frame of the block's initialisation of its reductions."""
    return BlockInitFrame()


def where(predicate: Any) -> None:
    """The block's predicate: it runs only where this holds."""
    _head("where").predicate = operators.cast("bool", operators.convert(predicate))


def reads(*buffer_slices: Any) -> None:
    """The regions that the block reads."""
    head = _head("reads")
    head.reads = [*(head.reads or ()), *_regions(buffer_slices)]


def writes(*buffer_slices: Any) -> None:
    """The regions that the block writes."""
    head = _head("writes")
    head.writes = [*(head.writes or ()), *_regions(buffer_slices)]


def block_attr(attrs: Mapping[str, Any]) -> None:
    """Annotations of the block."""
    _head("block_attr").annotations.update(attrs)


class axis:  # noqa: N801
    """`T.axis`: the axes of a block and their bindings."""

    @staticmethod
    def spatial(dom: Any, binding: Any, dtype: object = None) -> Var:
        """An axis whose values are independent."""
        return _bind("spatial", dom, binding, dtype)

    @staticmethod
    def reduce(dom: Any, binding: Any, dtype: object = None) -> Var:
        """An axis that is reduced over."""
        return _bind("reduce", dom, binding, dtype)

    @staticmethod
    def scan(dom: Any, binding: Any, dtype: object = None) -> Var:
        """An axis taken in order."""
        return _bind("scan", dom, binding, dtype)

    @staticmethod
    def opaque(dom: Any, binding: Any, dtype: object = None) -> Var:
        """An axis about which nothing is known."""
        return _bind("opaque", dom, binding, dtype)

    @staticmethod
    def remap(kinds: str, bindings: Any, dtype: object = None) -> Any:
        """An axis for each loop variable, over the loop's whole range."""
        if len(kinds) != len(bindings) or set(kinds) - set(_KINDS):
            raise fail("ir-builder", f"T.axis.remap has kinds {kinds!r} for {len(bindings)} loops")
        found = [_bind(_KINDS[kind], _loop_range(var), var, dtype) for kind, var in zip(kinds, bindings)]
        return found[0] if len(found) == 1 else found

    S = spatial
    R = reduce


def _loop_range(var: Var) -> Range:
    frames = (f for f in reversed(IRBuilder.current().frames) if isinstance(f, ForFrame))
    for loop in (loop for frame in frames for loop in frame.loops):
        if loop.loop_var is var:
            return Range(loop.min, loop.extent)
    raise fail("ir-builder", "T.axis.remap takes loop variables", help="use T.axis.spatial(extent, value)")


def _bind(kind: str, dom: Any, binding: Any, dtype: object) -> Var:
    head = _head(f"axis.{kind}")
    content = operators.convert(binding)
    box = _as_range(dom, content)
    var = Var("v", dtype or box.extent.dtype)
    head.iter_vars.append(IterVar(box, var, kind))
    head.iter_values.append(operators.cast(var.dtype, content) if isinstance(binding, int) else content)
    return var


def _as_range(dom: Any, binding: Any) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, (tuple, list)):
        begin, end = operators.match_types(*dom)
        return Range(begin, extent_between(begin, end))
    extent = literal(dom, binding.dtype if binding.dtype.is_int else None)
    return Range(literal(0, extent.dtype), extent)


def _head(word: str) -> BlockHead:
    found: BlockHead = innermost(BlockFrame, f"T.{word}", "a block: with T.block(name):").head
    return found


def _regions(given: tuple[Any, ...]) -> list[BufferRegion]:
    listed = list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)
    return [as_region(one) for one in listed]


def as_region(given: Any) -> BufferRegion:
    """A region, or the element (or vector of elements) that a load reads, as a region."""
    if isinstance(given, BufferRegion):
        return given
    if not isinstance(given, BufferLoad):
        raise fail("ir-builder", f"a region is written A[i, 0:4], not as a {type(given).__name__}")
    boxes = [
        Range(i.base, literal(i.lanes, i.base.dtype)) if isinstance(i, Ramp) else Range(i, literal(1, i.dtype))
        for i in given.indices
    ]
    return BufferRegion(given.buffer, tuple(boxes))


BLOCK_WORDS: Mapping[str, Any] = MappingProxyType(
    {f.__name__: f for f in (block, init, where, reads, writes, block_attr, axis)}
)
"""The words of blocks' heads."""
