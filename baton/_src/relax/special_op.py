"""`SpecialOp`: a Relax operator whose rules use StructInfo, syntax and the module (facts: relax-language §10).

`Op.definition` of a Relax operator is an `OpDef` or a `SpecialOp`; the table of them is in `special_ops`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from baton._src.ir.attrs import Attrs, NoAttrs
from baton._src.ir.expr import Op
from baton._src.ir.op_def import Fusion
from baton._src.relax.nodes import Call
from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass

Infer = Callable[[Call, Any], StructInfo]
"""`infer(call, context)`: the StructInfo of a call whose arguments have theirs; raises what is certainly wrong.
`context` is a `check.deduce.Context`."""
Normalize = Callable[[Call, Any], Call]
"""`normalize(call, lookup)`: the call in its canonical spelling; `lookup(var)` is the value bound to it, or None."""
Validate = Callable[[Call, Any], None]
"""`validate(call, context)`: raises `RELAX-WF-26` for a call that its callee does not support."""


@dataclass(frozen=True)
class SpecialOp:
    """One special operator. `name` is without the `relax.` prefix; `arity` is (least, most) number of arguments."""

    name: str
    infer: Infer = field(kw_only=True)
    pure: bool = field(kw_only=True)
    doc: str = field(kw_only=True, default="")
    attrs: type[Attrs] = field(kw_only=True, default=NoAttrs)
    arity: tuple[int, int | None] = field(kw_only=True, default=(0, None))
    normalize: Normalize | None = field(kw_only=True, default=None)
    validate: Validate | None = field(kw_only=True, default=None)
    allocates: bool = field(kw_only=True, default=False)
    """It returns new memory, so two equal calls are not one (TVM's TAllocator)."""
    fresh_results: bool = field(kw_only=True, default=False)
    """It only reads its arguments, and its result shares no memory with them, as for every `OpDef`."""
    writes_arguments: bool = field(kw_only=True, default=False)
    """It changes arguments in place (the program must not use them again), so equal calls may not be merged."""
    fusion: Fusion = Fusion.OPAQUE
    op: Op = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "op", Op(f"relax.{self.name}", definition=self))
