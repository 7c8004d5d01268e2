"""Emit the bindings of one Relax function lowered from Relay, and map its Relay nodes to their Relax values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.node import Node, set_note
from baton._src.ir.types import Constructor, FuncType, GlobalTypeVar, TypeData, TypeVar
from baton._src.lower.relay_to_relax.types import OBJECT, TypeLowering, says_more
from baton._src.relax import nodes as rx
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import DiagnosticError

Bindings = list[rx.Binding]


_SIMPLE = (rx.Call, rx.Tuple, rx.TupleGetItem, rx.Constant)


class BindingEmitter:
    """Emits bindings with fresh names. `values` maps each lowered Relay node to the Relax leaf that holds its value."""

    def __init__(
        self,
        types: TypeLowering,
        globals_: Mapping[str, GlobalVar],
        schemes: Mapping[str, FuncType],
        pure: bool,
        definitions: Mapping[GlobalTypeVar, TypeData],
    ) -> None:
        self.types = types
        self.globals = globals_
        self.schemes = schemes
        self.pure = pure
        self._definitions = definitions
        self.values: dict[GraphExpr, GraphExpr] = {}
        self.functions: dict[GraphExpr, FuncType] = {}
        """Variables and nodes whose value is a function literal: they are called directly."""
        self._names: dict[str, int] = {}
        self.keeps_infos = False
        """Whether variables get their StructInfo at once, for rules that ask for dims; else normalisation finds it."""

    def type_vars(self, constructor: Constructor) -> tuple[TypeVar, ...]:
        """The type parameters of the ADT a constructor belongs to."""
        return self._definitions[constructor.belong_to].type_vars

    def emit(self, bindings: Bindings, value: GraphExpr, origin: Node, hint: str = "lv") -> rx.Var:
        """Bind `value` to a new variable."""
        span = getattr(origin, "span", None)
        var = rx.Var(self.fresh(hint), span=span)
        if self.keeps_infos and isinstance(value, _SIMPLE):
            set_note(var, "struct_info_", _deduced(value))
        bindings.append(rx.VarBinding(var, value, span))
        return var

    def fresh(self, hint: str) -> str:
        """`lv`, `lv1`, `lv2`, ...: names within the function."""
        count = self._names.get(hint, 0)
        self._names[hint] = count + 1
        return f"{hint}{count}" if count else hint

    def cast(self, bindings: Bindings, value: GraphExpr, have: StructInfo, want: StructInfo, origin: Node) -> GraphExpr:
        """`value`, whose StructInfo is `have`, converted to `want`: by a MatchCast unless `have` implies `want`."""
        return self.match(bindings, value, want, origin) if says_more(have, want) else value

    def match(self, bindings: Bindings, value: GraphExpr, want: StructInfo, origin: Node) -> rx.Var:
        """A MatchCast of `value` to `want`, which may bind shape variables."""
        span = getattr(origin, "span", None)
        var = rx.Var(self.fresh("lv"), want, span)
        bindings.append(rx.MatchCast(var, value, want, span))
        return var

    def builtin(
        self, bindings: Bindings, name: str, args: Sequence[GraphExpr], info: StructInfo | None, origin: Node
    ) -> rx.Var:
        """A call of `vm.builtin.<name>`; pure calls may be moved, calls on references may not."""
        callee = rx.ExternFunc(f"vm.builtin.{name}")
        said = (info if info is not None else OBJECT,)
        if name.startswith("ref_"):
            made = rx.Call(callee, args, None, said, getattr(origin, "span", None))
        else:
            packed = (callee, *args)
            made = rx.Call(special_op("call_pure_packed"), packed, None, said, getattr(origin, "span", None))
        return self.emit(bindings, made, origin)


def _deduced(value: GraphExpr) -> StructInfo | None:
    """The StructInfo of a value, if it tells all dims; None if a part has none yet, or dims are left to find or to tell
    of: normalisation, which knows more, does that.
    """
    try:
        found = deduce(value, Context())
    except DiagnosticError:
        return None
    return found if _has_dims(found) else None


def _has_dims(info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(map(_has_dims, info.fields))
    return not isinstance(info, TensorStructInfo) or info.shape is not None
