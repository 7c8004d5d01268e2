"""The base class of StructInfo, below both expressions (annotated with it) and its kinds (`struct_info`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from baton._src.ir.node import Node, node, note
from baton._src.ir.structural import structural_equal
from baton._src.support.spans import Span


@node
class StructInfo(Node):
    """Structural information on a value: its kind, and what is known statically of shape, dtype and contents.

    `==` is structural equality, but hashing is by identity, as for every node, so equal ones do not merge in sets and
    dictionaries (in TVM, annotations cannot be hashed at all). Traversals keep annotations in tables with other nodes:
    with a structural hash, each entry would be compared in depth with all equal ones (20 microseconds per pair, 28 for
    a first hash). To merge equal ones, key a table by `structural_hash(info)` and compare.
    """

    covers: ClassVar[Callable[[StructInfo, StructInfo], bool]]
    """Implements `is_base_of`; the check is in a later module, hence bound by `driver.wiring`."""

    span: Span | None = note(kw_only=True, default=None)

    def is_base_of(self, derived: StructInfo) -> bool:
        """Whether `derived` is provably a subtype of this: each of its values is also described by this StructInfo."""
        return StructInfo.covers(self, derived)

    def __eq__(self, other: object) -> bool:
        """Structural equality, as in TVM, where nodes of programs compare by identity."""
        return self is other or (isinstance(other, StructInfo) and structural_equal(self, other))

    __hash__ = Node.__hash__
