"""`PrimFunc`: a kernel, the only function of TIR."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import BaseExpr
from baton._src.ir.node import binder, init_field, node, note, part
from baton._src.ir.types import Type
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import HANDLE


@node
class PrimFunc(BaseExpr):
    """Scalars and buffers in; everything out goes through buffers. `buffer_map` gives handle params their buffers.

    Attributes with a meaning: `global_symbol` (public name), `tir.noalias`, `tir.overwrites` (pairs of parameters that
    may be one memory all the same: an operand and the result written over it), `op_pattern` (fusion class).
    """

    params: tuple[Var, ...] = binder()
    buffer_map: dict[Var, Buffer] = part(kw_only=True)
    ret_type: Type | None = part(kw_only=True, default=None)
    body: Stmt = part(kw_only=True)
    attrs: dict[str, Any] = part(kw_only=True)
    struct_info: Any = note(kw_only=True, default=None)

    def __init__(
        self,
        params: Any,
        body: Stmt,
        ret_type: Type | None = None,
        buffer_map: dict[Var, Buffer] | None = None,
        attrs: dict[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        mapping = dict(buffer_map or {})
        found = tuple(Var(p.name, HANDLE) if isinstance(p, Buffer) else p for p in params)
        mapping |= {var: p for var, p in zip(found, params) if isinstance(p, Buffer)}
        for key in mapping:
            if not any(key is p for p in found):
                raise fail("RELAX-GRAMMAR-09", f"buffer_map key {key.name} is not a parameter", span=span)
        fields: dict[str, Any] = {
            "params": found,
            "body": body,
            "ret_type": ret_type,
            "buffer_map": mapping,
            "attrs": dict(attrs or {}),
            "span": span,
            "struct_info": None,
        }
        for name, content in fields.items():
            init_field(self, name, content)

    def with_body(self, new_body: Stmt, span: Span | None = None) -> PrimFunc:
        """A copy with another body."""
        return self.with_fields(body=new_body) if span is None else self.with_fields(body=new_body, span=span)

    def with_attr(self, key: str | dict[str, Any], content: object = None) -> PrimFunc:
        """A copy with attributes added."""
        added = key if isinstance(key, dict) else {key: content}
        return self.with_fields(attrs={**self.attrs, **added})

    def without_attr(self, key: str) -> PrimFunc:
        """A copy without the attribute."""
        return self.with_fields(attrs={k: v for k, v in self.attrs.items() if k != key})
