"""Functions of Relay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from baton._src.ir.attrs import DictAttrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.node import binder, node, part
from baton._src.ir.types import FuncType, Type, TypeVar
from baton._src.relay.nodes.expressions import Expr, Var, as_expr, expect_variables, init_fields, nodes_of
from baton._src.support.spans import Span


@node
class Function(Expr):
    """fn [type_params] (params) -> ret_type { body }"""

    compared_as: ClassVar[dict[str, str]] = {"ret_annotation": "ret_type"}

    params: tuple[Var, ...] = binder()
    body: Any = part(kw_only=True)
    ret_annotation: Type | None = part(kw_only=True, default=None)
    """The annotated result type, if any: `ret_type` of the constructor."""
    type_params: tuple[TypeVar, ...] = binder(default=())
    attrs: Any = part(kw_only=True, default=None)
    where: tuple[str, ...] = part(kw_only=True, default=())
    """Type relations, by name, that parameters and result must satisfy (seed 004, `where Broadcast`)."""

    def __init__(
        self,
        params: Any,
        body: GraphExpr,
        ret_type: Type | None = None,
        type_params: Any = None,
        attrs: Any = None,
        span: Span | None = None,
        *,
        where: tuple[str, ...] = (),
    ) -> None:
        init_fields(
            self,
            span,
            params=expect_variables(nodes_of(params, "the parameters of a function")),
            body=as_expr(body),
            ret_annotation=ret_type,
            type_params=tuple(type_params or ()),
            attrs=DictAttrs(attrs or {}),
            where=tuple(where),
        )

    @property
    def ret_type(self) -> Type | None:
        """The result type, annotated or else inferred (None before inference, and if inference generalised the type).

        Passes copy `ret_annotation`: an inferred type is inferred again from the new body.
        """
        if self.ret_annotation is not None or not isinstance(self.checked_type_, FuncType):
            return self.ret_annotation
        inferred = self.checked_type_
        return inferred.ret_type if inferred.type_params == self.type_params else None

    def with_attr(self, attr_key_or_dict: str | Mapping[str, Any], attr_value: object = None) -> Function:
        """A copy with an attribute, or those of a mapping, added."""
        return self.with_attrs(
            {attr_key_or_dict: attr_value} if isinstance(attr_key_or_dict, str) else attr_key_or_dict
        )

    def with_attrs(self, attr_map: Mapping[str, Any]) -> Function:
        """A copy with several attributes added."""
        return self.with_fields(attrs=DictAttrs({**self.attrs, **attr_map}))

    def without_attr(self, attr_key: str) -> Function:
        """A copy without the attribute."""
        return self.with_fields(attrs=DictAttrs({k: v for k, v in self.attrs.items() if k != attr_key}))
