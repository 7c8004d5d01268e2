"""The patterns over Relax expressions, as data. (`match` decides, `builders` makes them, facts passes-vm §3.)

    relu = is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), is_const()))
    relu.match(expr, get_var2val(function))

Patterns are plain objects compared by identity; one that occurs twice must match the same expression both times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from baton._src.ir.expr import PrimExpr
from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import literal
from baton._src.values.dtype import DataType

Var2Val = Mapping[Any, Any]


class DFPattern:
    """Any pattern."""

    extracting: ClassVar[Callable[[DFPattern, Any, Var2Val | None], dict[DFPattern, Any] | None]]
    """What decides (`match.extract`); bound, like the next two, by `context`."""
    chaining: ClassVar[Callable[[DFPattern, Any, bool, int], Any]]
    """What joins patterns by edges (`context.chain`)."""
    calling: ClassVar[Callable[[CallPattern], None]]
    """What notes a call pattern in the PatternContext that is open (`context.note_call`)."""

    def match(self, expr: Any, var2val: Var2Val | None = None) -> bool:
        """Whether `expr` as a whole matches. With `var2val` variables are looked through."""
        return type(self).extracting(self, expr, var2val) is not None

    def extract_matched_expr(self, expr: Any, var2val: Var2Val | None = None) -> dict[DFPattern, Any] | None:
        """What each pattern inside matched, or None if `expr` does not match."""
        return type(self).extracting(self, expr, var2val)

    def __call__(self, *args: Any, varg_default_wildcard: bool = False, add_constraint: bool = True) -> CallPattern:
        """A call of what this matches; with `varg_default_wildcard` there may be more arguments."""
        return CallPattern(self, args, varg_default_wildcard, add_constraint)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This pattern, and its attributes include these."""
        return AttrPattern(self, dict(attrs))

    def has_struct_info(self, struct_info: StructInfo) -> StructInfoPattern:
        """This pattern, and its StructInfo is `struct_info` or more exact.

        Shape variables that stand alone in it are any sizes, the same ones wherever they occur in a pattern.
        """
        return StructInfoPattern(self, struct_info)

    def has_type(self, ttype: Any) -> TypePattern:
        """This pattern, and its static type is `ttype`."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: object) -> DataTypePattern:
        """This pattern, and it is a tensor of `dtype`."""
        return DataTypePattern(self, DataType(dtype))

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """This pattern, and it is a tensor of this shape."""
        return ShapePattern(self, dims("has_shape", shape))

    def same_shape_as(self, *args: DFPattern) -> SameShapeConstraint:
        """A constraint: it has the same shape as each of `args`."""
        return SameShapeConstraint(self, *args)

    @property
    def constraints(self) -> list[SameShapeConstraint]:
        """What must hold beyond this pattern itself."""
        found: list[SameShapeConstraint] = self.__dict__.setdefault("_constraints", [])
        return found

    def dup(self) -> DFPattern:
        """An independent copy: it, and the patterns in it, may match other expressions than the original."""
        copy: DFPattern = _fresh(self, {})
        return copy

    def used_by(self, other: Any, index: int = -1) -> Any:
        """What this matches is used by what `other` matches (as argument `index`; -1: any)."""
        return type(self).chaining(self, other, False, index)

    def only_used_by(self, other: Any, index: int = -1) -> Any:
        """As `used_by`, and nobody else uses it."""
        return type(self).chaining(self, other, True, index)

    def __xor__(self, other: Any) -> Any:
        return self.used_by(other)

    def __rshift__(self, other: Any) -> Any:
        return self.only_used_by(other)

    def fork_to(self, *args: Any) -> None:
        """What this matches is used by each of `args`."""
        for other in args:
            self.used_by(other)


@dataclass(eq=False)
class WildcardPattern(DFPattern):
    """Anything."""


@dataclass(eq=False)
class ExprPattern(DFPattern):
    """This expression: an operator or global by identity, else something structurally equal."""

    expr: Any


@dataclass(eq=False, init=False)
class VarPattern(DFPattern):
    """A variable, named so unless the name is empty."""

    name: str

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint

    @property
    def name_hint(self) -> str:
        return self.name


@dataclass(eq=False, init=False)
class DataflowVarPattern(VarPattern):
    """A DataflowVar."""


@dataclass(eq=False, init=False)
class GlobalVarPattern(VarPattern):
    """A name of the module that contains this one: `matmul` is also for `matmul1`, as in TVM."""


@dataclass(eq=False)
class ConstantPattern(DFPattern):
    """A constant."""


@dataclass(eq=False)
class ExternFuncPattern(DFPattern):
    """The packed function of this name; any, if the name is empty."""

    global_symbol: str = ""


@dataclass(eq=False, init=False)
class PrimArrPattern(DFPattern):
    """A shape of these dims."""

    fields: tuple[PrimExpr, ...]

    def __init__(self, shape: Sequence[Any]) -> None:
        self.fields = dims("is_shape", shape)

    def __getitem__(self, index: int) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


@dataclass(eq=False, init=False)
class CallPattern(DFPattern):
    """A call; with `varg_default_wildcard` there may be more arguments.

    `add_constraint`: it takes part in the PatternContext that is open.
    """

    op: DFPattern
    args: tuple[DFPattern, ...]
    varg_default_wildcard: bool

    def __init__(
        self, op: DFPattern, args: Sequence[DFPattern], varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> None:
        self.op, self.args, self.varg_default_wildcard = op, tuple(args), varg_default_wildcard
        if add_constraint:
            type(self).calling(self)


@dataclass(eq=False)
class FunctionPattern(DFPattern):
    """A function literal with these parameters and body."""

    params: tuple[DFPattern, ...]
    body: DFPattern


@dataclass(eq=False)
class TuplePattern(DFPattern):
    """A tuple of these fields."""

    fields: tuple[DFPattern, ...]

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        if index is None:
            return TupleGetItemPattern(self)
        if not -len(self.fields) <= index < len(self.fields):
            raise IndexError(f"field {index} of a tuple pattern of {len(self.fields)} fields")
        return TupleGetItemPattern(self, index % len(self.fields))

    def __len__(self) -> int:
        return len(self.fields)


@dataclass(eq=False)
class UnorderedTuplePattern(DFPattern):
    """A tuple of these fields in any order."""

    fields: tuple[DFPattern, ...]

    def __len__(self) -> int:
        return len(self.fields)


@dataclass(eq=False, init=False)
class TupleGetItemPattern(DFPattern):
    """A field of a tuple; `index` None or -1: any."""

    tuple: DFPattern
    index: int

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple, self.index = tuple_value, -1 if index is None else index


@dataclass(eq=False)
class OrPattern(DFPattern):
    """One or the other, tried in order."""

    left: DFPattern
    right: DFPattern


@dataclass(eq=False)
class AndPattern(DFPattern):
    """Both at once."""

    left: DFPattern
    right: DFPattern


@dataclass(eq=False, init=False)
class NotPattern(DFPattern):
    """Anything that does not match."""

    reject: DFPattern

    def __init__(self, to_reject: DFPattern) -> None:
        self.reject = to_reject


@dataclass(eq=False)
class AttrPattern(DFPattern):
    """An attribute of a call or a function, or of the operator called."""

    pattern: DFPattern
    attrs: Mapping[str, Any]


@dataclass(eq=False)
class StructInfoPattern(DFPattern):
    """StructInfo at least as exact."""

    pattern: DFPattern
    struct_info: StructInfo


@dataclass(eq=False, init=False)
class TypePattern(DFPattern):
    """A static type."""

    pattern: DFPattern
    type: Any

    def __init__(self, pattern: DFPattern, ttype: Any) -> None:
        self.pattern, self.type = pattern, ttype


@dataclass(eq=False)
class DataTypePattern(DFPattern):
    """A dtype."""

    pattern: DFPattern
    dtype: DataType

    def __post_init__(self) -> None:
        self.dtype = DataType(self.dtype)


@dataclass(eq=False)
class ShapePattern(DFPattern):
    """A shape."""

    pattern: DFPattern
    shape: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        self.shape = dims("ShapePattern", self.shape)


def _fresh(part: Any, made: dict[int, Any]) -> Any:
    """A copy of a pattern and the patterns in it, without constraints; sharing within the pattern is kept."""
    if isinstance(part, tuple):
        return tuple(_fresh(p, made) for p in part)
    if not isinstance(part, DFPattern):
        return part
    if id(part) not in made:
        copy = made[id(part)] = object.__new__(type(part))
        copy.__dict__.update({k: _fresh(v, made) for k, v in part.__dict__.items() if k != "_constraints"})
    return made[id(part)]


class SameShapeConstraint:
    """The patterns match tensors of one shape."""

    def __init__(self, *args: DFPattern) -> None:
        self.args = args
        for pattern in args:
            pattern.constraints.append(self)


def dims(what: str, shape: Any) -> tuple[PrimExpr, ...]:
    """The dims in a list or tuple; `ValueError` for anything else."""
    if not isinstance(shape, (list, tuple)):
        message = f"{what} takes a list or tuple of dims, got {type(shape).__name__}"
        raise fail("api", message, kind=ValueError)
    return tuple(d if isinstance(d, PrimExpr) else literal(d) for d in shape)
