"""The expressions of Relax (seed 001, Grammar). Names and fields follow `tvm.relax` v0.19."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.expr import GlobalVar, GraphExpr, Op, Operators, PrimExpr
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.relax.any_struct_info import StructInfo
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.expr import literal
from baton._src.values.dtype import INT64, DataType
from baton._src.values.filled_tensor import unfinished
from baton._src.values.tensor import NDArray, array

_FLOAT32 = DataType("float32")


def _init(target: GraphExpr, span: Span | None, info: StructInfo | None = None, **fields: Any) -> None:
    for name, content in fields.items():
        init_field(target, name, content)
    init_field(target, "span", span)
    init_field(target, "struct_info_", info)
    init_field(target, "checked_type_", None)


def _annotation(info: Any) -> StructInfo | None:
    if info is None or isinstance(info, StructInfo):
        return info
    message = f"a variable is annotated with a StructInfo, got {info!r}"
    raise fail("relax-api", message, help="e.g. relax.TensorStructInfo((2, 3), 'float32')", kind=TypeError)


def _part(whole: str, name: str, given: Any, span: Span | None) -> Any:
    """What stands in an expression is of a program, too; what kinds may stand where, well-formedness says."""
    if isinstance(given, Node):
        return given
    message = f"{whole}.{name} is an expression, got {type(given).__name__}"
    raise fail("relax-api", message, span=span, help="wrap numbers in relax.const or PrimValue", kind=TypeError)


def as_dim(dim: Any) -> PrimExpr:
    """An int as an int64 immediate, a PrimExpr as itself; anything else, truths too, is an error (`relax-api`)."""
    if isinstance(dim, PrimExpr):
        return dim
    try:
        if not isinstance(dim, (bool, np.bool_)):
            return literal(operator.index(dim), INT64)
    except TypeError:
        pass
    raise fail("relax-api", f"a dimension is an integer or a scalar expression, got {dim!r}")


@node
class Expr(GraphExpr, Operators):
    """Any Relax expression. Normalisation (BlockBuilder) fills in `struct_info_`."""

    deduced_alone: ClassVar[Callable[[Expr], StructInfo | None]]
    """What an expression says of itself before; bound where deduction is known (`driver.wiring`)."""

    def own_info(self) -> Any:
        return type(self).deduced_alone(self)

    def __call__(self, *args: Any, attrs: Any = None) -> Call:
        return Call(self, args, attrs)

    def __getitem__(self, index: int) -> Any:
        """A field. Errors: `IndexError` where the struct info has no such field."""
        fields = getattr(self.struct_info_, "fields", None)
        if fields is None:
            return TupleGetItem(self, index)
        if not -len(fields) <= operator.index(index) < len(fields):
            raise IndexError(f"a tuple of {len(fields)} fields has no field {index}")
        return TupleGetItem(self, index % len(fields))

    def __iter__(self) -> Iterator[Any]:
        """The fields of a tuple, as many as are known. Errors: a `TypeError` where that is unknown."""
        fields = self if hasattr(self, "__len__") else getattr(self.struct_info_, "fields", None)
        if fields is None:
            raise fail("relax-api", f"{self!r} is not known to be a tuple", kind=TypeError)
        return (self[i] for i in range(len(fields)))


@node
class Constant(Expr):
    """A tensor literal."""

    data: NDArray

    def __init__(self, data: Any, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        found = data if isinstance(data, NDArray) else array(data)
        if unfinished(found).dtype.kind in "USOMm":
            raise fail("relax-api", f"a Constant holds numbers, got {data!r}", span=span)
        _init(self, span, struct_info, data=found)


@node
class Var(Expr):
    """A variable; unique by identity, named `name_hint`. Its annotation is its struct info."""

    is_variable: ClassVar[bool] = True

    name_hint: str

    def __init__(self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        _init(self, span, _annotation(struct_info), name_hint=name_hint)

    @property
    def vid(self) -> Var:
        """What makes it this variable and no other: itself. TVM's variables have an object for it."""
        return self


@node
class DataflowVar(Var):
    """A variable visible only within its DataflowBlock."""

    def __init__(self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        _init(self, span, _annotation(struct_info), name_hint=name_hint)


@node
class Tuple(Expr):
    """(a, b, ...)"""

    fields: tuple[Any, ...]

    def __init__(self, fields: Any, span: Span | None = None) -> None:
        _init(self, span, fields=tuple(fields))

    def __getitem__(self, index: int) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


@node
class TupleGetItem(Expr):
    """tuple_value[index]"""

    tuple_value: Any
    index: int

    def __init__(self, tuple_value: Any, index: int, span: Span | None = None) -> None:
        try:
            position = operator.index(index)
        except TypeError:
            raise fail("relax-api", f"the index of a tuple's item is an integer, got {index!r}", span=span) from None
        _init(self, span, tuple_value=tuple_value, index=position)


@node
class ShapeExpr(Expr):
    """A shape: dims are PrimExprs (int64)."""

    values: tuple[PrimExpr, ...]

    def __init__(self, values: Any, span: Span | None = None) -> None:
        _init(self, span, values=tuple(as_dim(v) for v in values))

    def __getitem__(self, index: int) -> PrimExpr:
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)


@node
class PrimValue(Expr):
    """A host scalar given by a PrimExpr; Python numbers become int64, float32 or bool, as in TVM."""

    value: PrimExpr

    def __init__(self, value: Any, span: Span | None = None) -> None:
        if isinstance(value, (bool, np.bool_)):
            value = literal(bool(value))
        elif isinstance(value, (int, np.integer)):
            value = literal(int(value), INT64)
        elif isinstance(value, float):
            value = literal(value, _FLOAT32)
        elif not isinstance(value, PrimExpr):
            raise fail("relax-api", f"a PrimValue holds one scalar, got {value!r}", span=span, kind=TypeError)
        _init(self, span, value=value)


@node
class StringImm(Expr):
    """A string."""

    value: str

    def __init__(self, value: str, span: Span | None = None) -> None:
        _init(self, span, value=str(value))


@node
class DataTypeImm(Expr):
    """A data type as a value."""

    value: DataType

    def __init__(self, value: object, span: Span | None = None) -> None:
        _init(self, span, value=DataType(value))


@node
class Call(Expr):
    """op(args): an operator, a function, a closure or a packed function applied.

    `sinfo_args` are struct infos for operators that need them (call_tir's output, a packed call's result).
    """

    op: Any
    args: tuple[Any, ...]
    attrs: Any = None
    sinfo_args: tuple[Any, ...] = ()

    def __init__(self, op: Any, args: Any, attrs: Any = None, sinfo_args: Any = (), span: Span | None = None) -> None:
        found = tuple(args)
        for position, arg in enumerate(found):
            if not isinstance(arg, GraphExpr) and not _is_prim_func(arg):
                raise fail(
                    "RELAX-GRAMMAR-01",
                    f"argument {position} of a call must be a Relax expression, got {type(arg).__name__}",
                    span=span,
                    help="wrap a scalar in PrimValue, dims in ShapeExpr, an array in relax.const",
                )
        _init(self, span, op=op, args=found, attrs=attrs, sinfo_args=tuple(sinfo_args or ()))


def _is_prim_func(candidate: object) -> bool:
    return type(candidate).__name__ == "PrimFunc"


@node
class If(Expr):
    """if cond: true_branch else: false_branch; cond is a boolean scalar."""

    cond: Any
    true_branch: Any
    false_branch: Any

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any, span: Span | None = None) -> None:
        for name, part_ in (("cond", cond), ("true_branch", true_branch), ("false_branch", false_branch)):
            if part_ is None:
                raise fail("relax-api", f"an If needs its {name}", span=span)
            _part("If", name, part_, span)
        _init(self, span, cond=cond, true_branch=true_branch, false_branch=false_branch)


@node
class Binding(Node):
    """Gives `var` (a Var; None in a cast that only checks) a value."""

    var: Any = binder()
    value: Any = part(kw_only=True)
    span: Span | None = note(kw_only=True, default=None)


@node
class VarBinding(Binding):
    """var = value"""

    value: Any = part(kw_only=True)

    def __init__(self, var: Var, value: Any, span: Span | None = None) -> None:
        if not isinstance(var, Var):
            raise fail("relax-api", f"a binding binds a Var or DataflowVar, not a {type(var).__name__}", span=span)
        init_field(self, "var", var)
        init_field(self, "value", _part("VarBinding", "value", value, span))
        init_field(self, "span", span)


@node
class MatchCast(Binding):
    """var = match_cast(value, struct_info): checked at run time, binds the shape variables that are new."""

    value: Any = part(kw_only=True)
    struct_info: StructInfo = part(kw_only=True)

    def __init__(self, var: Var | None, value: Any, struct_info: StructInfo, span: Span | None = None) -> None:
        if struct_info is None:
            raise fail("relax-api", "a MatchCast needs the struct_info to cast to", span=span)
        if var is not None and not isinstance(var, Var):
            raise fail("relax-api", f"a MatchCast binds a Var or DataflowVar, not a {type(var).__name__}", span=span)
        init_field(self, "var", var)
        init_field(self, "value", value)
        init_field(self, "struct_info", struct_info)
        init_field(self, "span", span)

    @property
    def place(self) -> str:
        """What messages call the cast."""
        cast = "match_cast" if self.var is None else f"match_cast to {self.var.name_hint}"
        return f"{self.span}: {cast}" if self.span else cast


def _checked_bindings(bindings: Any, span: Span | None) -> tuple[Binding, ...]:
    found = tuple(bindings)
    for item in found:
        if not isinstance(item, Binding):
            raise fail("relax-api", f"a block consists of bindings, got a {type(item).__name__}", span=span)
    return found


@node
class BindingBlock(Node):
    """Bindings in order; may have effects."""

    bindings: tuple[Binding, ...]
    span: Span | None = note(kw_only=True, default=None)

    def __init__(self, bindings: Any, span: Span | None = None) -> None:
        init_field(self, "bindings", _checked_bindings(bindings, span))
        init_field(self, "span", span)


@node
class DataflowBlock(BindingBlock):
    """Bindings without effects and control flow; its DataflowVars end with it."""

    def __init__(self, bindings: Any, span: Span | None = None) -> None:
        init_field(self, "bindings", _checked_bindings(bindings, span))
        init_field(self, "span", span)


@node
class SeqExpr(Expr):
    """blocks, then body; the value is the body's."""

    blocks: tuple[BindingBlock, ...]
    body: Any

    def __init__(self, blocks: Any, body: Any, span: Span | None = None) -> None:
        found = tuple(blocks)
        for block in found:
            if not isinstance(block, BindingBlock):
                raise fail(
                    "relax-api",
                    f"a SeqExpr consists of binding blocks, got a {type(block).__name__}",
                    span=span,
                    help="put bindings into a BindingBlock or DataflowBlock",
                )
        _init(self, span, blocks=found, body=_part("SeqExpr", "body", body, span))


@node
class Function(Expr):
    """A function or closure. `attrs["global_symbol"]` makes it public, `"relax.force_pure"` vouches for purity."""

    binding_params: ClassVar[Callable[[Function, Any], Function]]
    binding_symbols: ClassVar[Callable[[Function, Any], Function]]
    """What `bind_params` and `bind_symbolic_vars` do; bound where the passes are known (`driver.wiring`)."""

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
        found = tuple(params)
        for param in found:
            if not isinstance(param, Var):
                message = f"a parameter is a Var, got {type(param).__name__}"
                raise fail("relax-api", message, span=span, help="relax.Var(name, struct_info)", kind=TypeError)
        _init(
            self,
            span,
            params=found,
            body=None if body is None else _part("Function", "body", body, span),
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
        """A function of which only the signature is known: its body is None."""
        return Function(params, None, ret_struct_info, is_pure, attrs, span)

    def with_attr(self, key: Any, content: object = None) -> Function:
        """A copy with attributes added."""
        added = key if isinstance(key, dict) else {key: content}
        return self.with_fields(attrs={**self.attrs, **added})

    def without_attr(self, key: str) -> Function:
        """A copy without the attribute."""
        return self.with_fields(attrs={k: v for k, v in self.attrs.items() if k != key})

    def with_attrs(self, attr_map: Any) -> Function:
        """A copy with several attributes added."""
        return self.with_attr(dict(attr_map))

    def without_attrs(self, keys: Sequence[str]) -> Function:
        """A copy without several attributes."""
        return self.with_fields(attrs={k: v for k, v in self.attrs.items() if k not in set(keys)})

    def bind_params(self, binding_map: Any) -> Function:
        """A copy with parameters (by variable or name) bound to constants."""
        return Function.binding_params(self, binding_map)

    def bind_symbolic_vars(self, binding_map: Any) -> Function:
        """A copy with shape variables (by variable or name) replaced by dims."""
        return Function.binding_symbols(self, binding_map)


@node
class ExternFunc(Expr):
    """A packed function by its registered name."""

    global_symbol: str

    def __init__(self, global_symbol: str, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        _init(self, span, struct_info, global_symbol=global_symbol)


__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "Op",
    "PrimValue",
    "SeqExpr",
    "ShapeExpr",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "Var",
    "VarBinding",
]
