"""What every StructInfo has in common: expressions are annotated with it, and its kinds (`struct_info`) hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from baton._src.ir.node import Node, node, note
from baton._src.ir.structural import structural_equal
from baton._src.support.spans import Span


@node
class StructInfo(Node):
    """Any structural information.

    `==` asks whether two say the same; in sets and dictionaries each is itself, as every node, so equal ones do not
    merge there (in TVM, annotations cannot be hashed at all). Tables that traversals keep hold annotations among other
    nodes: with a structural hash, each entry would be compared in depth with all equal ones, 20 microseconds a pair
    and 28 a first hash. Who wants to merge keys by `structural_hash(info)` and compares.
    """

    covers: ClassVar[Callable[[StructInfo, StructInfo], bool]]
    """Whether the first is known to cover the second; bound where the checks are known (`driver.wiring`)."""

    span: Span | None = note(kw_only=True, default=None)

    def is_base_of(self, derived: StructInfo) -> bool:
        """Whether every value of `derived` is known to be one of this."""
        return StructInfo.covers(self, derived)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same (TVM compares annotations so, other than nodes of programs)."""
        return self is other or (isinstance(other, StructInfo) and structural_equal(self, other))

    __hash__ = Node.__hash__
