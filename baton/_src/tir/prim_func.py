"""`PrimFunc`: a kernel, the only function of TIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.array import Array
from baton._src.ir.expr import BaseExpr
from baton._src.ir.node import binder, init_field, node, note, part
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.ir.types import Type
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var, literal
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import HANDLE

CHOICES = "baton.choices"
UNSCHEDULED = "none"
"""What begins the name of the rule of a kernel whose loops no rule has chosen."""
COUNTS = "tir.counts"
"""The attribute of a kernel that counts elements: the parameter that has at least as many as each number it gives."""


@node
class PrimFunc(BaseExpr):
    """Scalars and buffers in; everything out goes through buffers. `buffer_map` gives handle params their buffers.

    Attributes with a meaning: `global_symbol` (public name), `tir.noalias`, `tir.overwrites` (pairs of parameters that
    may be one memory all the same: an operand and the result written over it), `op_pattern` (fusion class), `CHOICES`
    (answers to what schedule rules leave open, by name).
    """

    params: tuple[Var, ...] = binder()
    buffer_map: dict[Var, Buffer] = part(kw_only=True)
    ret_type: Type | None = part(kw_only=True, default=None)
    body: Stmt = part(kw_only=True)
    attrs: dict[str, Any] = part(kw_only=True)
    struct_info: Any = note(kw_only=True, default=None)
    loops_chosen: bool = note(kw_only=True, default=False)
    """Set by schedules: the loops are meant as they stand. `as_scheduled` says it in the attribute rules ask for."""

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
        found = Array(Var(p.name, HANDLE) if isinstance(p, Buffer) else p for p in params)
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
            "loops_chosen": False,
        }
        for name, content in fields.items():
            init_field(self, name, content)

    def with_body(self, new_body: Stmt, span: Span | None = None) -> PrimFunc:
        """A copy with another body."""
        return self.with_fields(body=new_body) if span is None else self.with_fields(body=new_body, span=span)

    def specialize(self, param_map: Mapping[Var, Any]) -> PrimFunc:
        """This kernel for certain parameters: a scalar's is gone, a buffer's has the shape of the buffer given.

        Error (a `ValueError`) if a key is no parameter, or a buffer does not fit.
        """
        values: dict[Any, Any] = {}
        for param, given in param_map.items():
            if not any(param is p for p in self.params):
                raise fail("tir-specialize", f"{param.name} is not a parameter of this kernel", kind=ValueError)
            if isinstance(given, Buffer):
                values |= self._matched(param, given)
            elif param in self.buffer_map:
                raise fail(
                    "tir-specialize",
                    f"{param.name} is a buffer: give a buffer of the wanted shape",
                    kind=ValueError,
                )
            else:
                values[param] = literal(given, param.dtype)
        body, buffers = substitute((self.body, tuple(self.buffer_map.values())), values)
        return self.with_fields(
            params=tuple(p for p in self.params if p not in values),
            body=body,
            buffer_map=dict(zip(self.buffer_map, buffers)),
        )

    def _matched(self, param: Var, given: Buffer) -> dict[Any, Any]:
        """The values of variables in the shape of a parameter's buffer that make it `given`."""
        own = self.buffer_map.get(param)
        if own is None:
            raise fail("tir-specialize", f"{param.name} is not a buffer", kind=ValueError)
        if own.dtype != given.dtype or len(own.shape) != len(given.shape):
            raise fail(
                "tir-specialize", f"{own.name} differs from {given.name} in dtype or number of axes", kind=ValueError
            )
        pairs = [*zip(own.shape, given.shape), *zip(own.strides, given.strides)]
        values: dict[Any, Any] = {}
        for mine, other in pairs:
            if isinstance(mine, Var):
                known = values.setdefault(mine, other)
                if not structural_equal(known, other):
                    raise fail("tir-specialize", f"{mine.name} would be both {known} and {other}", kind=ValueError)
            elif not structural_equal(mine, other):
                raise fail("tir-specialize", f"{own.name} has {mine} where {given.name} has {other}", kind=ValueError)
        return values

    def with_attr(self, attr_key_or_dict: str | Mapping[str, Any], attr_value: object = None) -> PrimFunc:
        """A copy with an attribute, or those of a mapping, added."""
        return self.with_attrs(
            {attr_key_or_dict: attr_value} if isinstance(attr_key_or_dict, str) else attr_key_or_dict
        )

    def with_attrs(self, attr_map: Mapping[str, Any]) -> PrimFunc:
        """A copy with several attributes added."""
        return self.with_fields(attrs={**self.attrs, **attr_map})

    def without_attr(self, attr_key: str) -> PrimFunc:
        """A copy without the attribute."""
        return self.with_fields(attrs={k: v for k, v in self.attrs.items() if k != attr_key})


def as_scheduled(func: PrimFunc) -> PrimFunc:
    """The kernel as compilation takes it: one whose loops a schedule chose says so in `tir.is_scheduled`."""
    return func.with_attr("tir.is_scheduled", True) if func.loops_chosen else func
