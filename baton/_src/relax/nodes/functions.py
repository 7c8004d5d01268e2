"""Functions of Relax, and packed functions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from baton._src.ir.array import Array
from baton._src.ir.node import binder, node, part
from baton._src.relax.any_struct_info import StructInfo
from baton._src.relax.nodes.expressions import Expr, Var, check_part, init_fields
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span


@node
class Function(Expr):
    """A function or closure. `attrs["global_symbol"]` makes it public; with `"relax.force_pure"` it counts as pure."""

    binding_params: ClassVar[Callable[[Function, Any], Function]]
    binding_symbols: ClassVar[Callable[[Function, Any], Function]]
    inlining: ClassVar[Callable[[Function, Any], Function]]
    """Implement `bind_params`, `bind_symbolic_vars` and `inline_functions`: passes of a later layer, hence bound by
    `driver.wiring`."""

    params: tuple[Var, ...] = binder()
    body: Any = part(kw_only=True)
    ret_struct_info: StructInfo | None = part(kw_only=True, default=None)
    is_pure: bool = part(kw_only=True, default=True)
    attrs: dict[str, Any] = part(kw_only=True)

    def __init__(
        self,
        params: Any,
        body: Any,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool | None = True,
        attrs: Any = None,
        span: Span | None = None,
    ) -> None:
        found = Array(params)
        for param in found:
            if not isinstance(param, Var):
                message = f"a parameter is a Var, got {type(param).__name__}"
                raise fail("relax-api", message, span=span, help="relax.Var(name, struct_info)", kind=TypeError)
        init_fields(
            self,
            span,
            params=found,
            body=None if body is None else check_part("Function", "body", body, span),
            ret_struct_info=ret_struct_info,
            is_pure=True if is_pure is None else bool(is_pure),
            attrs=dict(attrs or {}),
        )

    @staticmethod
    def create_empty(
        params: Any,
        ret_struct_info: StructInfo,
        is_pure: bool | None = True,
        attrs: Any = None,
        span: Span | None = None,
    ) -> Function:
        """A function without a body (None): a signature only."""
        return Function(params, None, ret_struct_info, is_pure, attrs, span)

    def with_attr(self, attr_key_or_dict: str | Mapping[str, Any], attr_value: object = None) -> Function:
        """A copy with an attribute, or those of a mapping, added."""
        return self.with_attrs(
            {attr_key_or_dict: attr_value} if isinstance(attr_key_or_dict, str) else attr_key_or_dict
        )

    def with_attrs(self, attr_map: Mapping[str, Any]) -> Function:
        """A copy with several attributes added."""
        return self.with_fields(attrs={**self.attrs, **attr_map})

    def without_attr(self, attr_key: str) -> Function:
        """A copy without the attribute."""
        return self.with_fields(attrs={k: v for k, v in self.attrs.items() if k != attr_key})

    def without_attrs(self, keys: Sequence[str]) -> Function:
        """A copy without several attributes."""
        return self.with_fields(attrs={k: v for k, v in self.attrs.items() if k not in set(keys)})

    def bind_params(self, binding_map: Any) -> Function:
        """A copy with parameters (by variable or name) bound to constants."""
        return Function.binding_params(self, binding_map)

    def bind_symbolic_vars(self, binding_map: Any) -> Function:
        """A copy with shape variables (by variable or name) replaced by dims."""
        return Function.binding_symbols(self, binding_map)

    def inline_functions(self, function_map: Any) -> Function:
        """A copy with calls of the given functions (by variable or name) inlined."""
        return Function.inlining(self, function_map)


@node
class ExternFunc(Expr):
    """A packed function by its registered name."""

    global_symbol: str

    def __init__(self, global_symbol: str, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        init_fields(self, span, struct_info, global_symbol=global_symbol)
