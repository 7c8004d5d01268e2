"""The bases of every expression, and the two expressions all languages share: `GlobalVar` and `Op`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from baton._src.ir.filled_columns import FILLED
from baton._src.ir.node import Node, node, note, part, set_note
from baton._src.ir.operators import Operators
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.values.dtype import DataType


@node
class BaseExpr(Node):
    """Anything that denotes a value; `span` is where it was written."""

    span: Span | None = note(kw_only=True, default=None)


@node
class PrimExpr(BaseExpr, Operators["PrimExpr | float", "PrimExpr"]):
    """A scalar of the kernel language; also what dims of shapes are made of. Subclasses are in `tir.expr`.

    `a == b` builds an `EQ` (folded to a literal for two literals), whose truth value is identity of the operands; so
    `in` tests and comparisons of tuples work, and mean identity for everything but literals. Hashing is by identity.
    """

    dtype: DataType = part(kw_only=True, default=DataType("int32"))

    def __eq__(self, other: object) -> Any:
        return self is other if other is None else type(self).build("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return self is not other if other is None else type(self).build("not_equal", self, other)

    __hash__ = Node.__hash__

    def equal(self, other: PrimExpr | float) -> PrimExpr:
        """The comparison `self == other` as an expression, even for two literals."""
        return type(self).build("equal", self, other)

    def __bool__(self) -> bool:
        raise fail(
            "tir-truth",
            "a scalar expression has no truth value while the program is being built",
            help="use tir.all, tir.any or tir.Not instead of and, or, not; tir.if_then_else instead of if",
            kind=ValueError,
        )

    def astype(self, dtype: object) -> PrimExpr:
        """This value converted to `dtype` (itself if it has that dtype already)."""
        return type(self).build("cast", self, dtype)


@node
class GraphExpr(BaseExpr):
    """An expression of Relay or Relax. What inference found out is a note: Relay's type, Relax's struct info."""

    checked_type_: Any = note(kw_only=True, default=None)
    struct_info_: Any = note(kw_only=True, default=None)

    static_type: ClassVar[Callable[[Any], Any]]
    """The type that says as much of a value's kind as its StructInfo does; bound by `driver.wiring`."""

    @property
    def checked_type(self) -> Any:
        """The inferred Relay type, of a Relax expression that of its StructInfo; an error if neither is known."""
        info = self.struct_info_ if self.struct_info_ is not None else self.own_info()
        if self.checked_type_ is None and info is not None:
            return type(self).static_type(info)
        if self.checked_type_ is None:
            message = "the type of this expression is not known yet"
            raise fail("relay-unchecked", message, help="run InferType first", kind=ValueError)
        return self.checked_type_

    @property
    def _checked_type_(self) -> Any:
        """The inferred type, or None: the field of TVM by which scripts ask whether inference has run."""
        known = self.checked_type_ or self.struct_info_ or self.own_info()
        return None if known is None else self.checked_type

    @property
    def struct_info(self) -> Any:
        """The StructInfo of a Relax expression; an error for one that is not normalised and has none of its own."""
        found = self.struct_info_ if self.struct_info_ is not None else self.own_info()
        if found is None:
            raise fail(
                "relax-unchecked",
                "the struct info of this expression is not known yet",
                help="build it through a BlockBuilder, or run Normalize first",
            )
        return found

    def own_info(self) -> Any:
        """The StructInfo that the expression has without normalisation (literals, for example), or None."""
        return None


def variable_name(given: object) -> str:
    """The name of a new variable: a text, or that of another variable, which stands for TVM's `Id` (`var.vid`)."""
    if isinstance(given, str):
        return given
    if (
        isinstance(given, GraphExpr)
        and given.is_variable
        and isinstance(name := getattr(given, "name_hint", None), str)
    ):
        return name
    raise fail("api", f"a variable is named by a text, not by {given!r}", help='e.g. "x"', kind=TypeError)


@node
class GlobalVar(GraphExpr):
    """The name of a function of the module. Identity matters within a module; equality of names across modules."""

    name_hint: str

    def __call__(self, *args: object) -> Any:
        """A call of this function: the language is that of the first argument (see `ops.syntax`)."""
        return type(self).call(self, args)

    call: ClassVar[Callable[[GlobalVar, tuple[Any, ...]], Any]]


class OpArgument(NamedTuple):
    """An operand of an operator, for people."""

    name: str
    type_info: str
    description: str


ARGUMENT_TYPES = {"tensor": "Tensor", "tensors": "Tuple", "shape": "Shape", "prim": "PrimValue", "prims": "Tuple"}
"""What TVM calls the kinds of operands."""


@node
class Op(GraphExpr):
    """The name of an operator, interned by its catalogue: one object per name.

    `definition` is the `OpDef` (or TIR intrinsic) it stands for.
    """

    lookup: ClassVar[Callable[[str], Op]]
    """Finds an operator of any language by its full name; bound where the catalogue is known."""

    name: str
    definition: Any = note(kw_only=True, default=None)
    columns: Mapping[str, tuple[Any, int]] | None = note(kw_only=True, default=None)
    """What users registered for it: column -> (value, priority)."""

    standard_column: ClassVar[Callable[[Op, str], Any] | None] = None
    """TVM's attributes of operators (`TOpPattern`, ...), derived from the definition; bound by `driver.wiring`."""

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator of this name, always the same object; `DiagnosticError` (`op-unknown`) if there is none."""
        return Op.lookup(op_name)

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        """Copying and unpickling give the operator itself."""
        return Op.lookup, (self.name,)

    listing: ClassVar[Callable[[], list[str]]]
    """The names of all operators; bound by `driver.wiring`."""

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators of all languages, in order."""
        return Op.listing()

    @property
    def num_inputs(self) -> int:
        """The number of operands; -1 if it is variable or unknown."""
        if getattr(self.definition, "inputs", None) is None:
            return int(getattr(self.definition, "arity", -1))
        return len(self.arguments)

    @property
    def arguments(self) -> list[OpArgument]:
        """Its operands in order, as far as they are known."""
        language = "relax" if self.name.startswith("relax.") else "relay"
        return [
            OpArgument(operand.named(language), ARGUMENT_TYPES.get(operand.kind, "Object"), operand.doc)
            for operand in getattr(self.definition, "inputs", None) or ()
            if language in operand.languages
        ]

    @property
    def description(self) -> str:
        """What it does."""
        return str(getattr(self.definition, "summary", ""))

    def get_attr(self, attr_name: str) -> Any:
        """The value in a column of the registry; None if the operator has none."""
        if self.columns is not None and attr_name in self.columns:
            return self.columns[attr_name][0]
        standard = type(self).standard_column
        return standard(self, attr_name) if standard is not None else None

    def has_attr(self, attr_name: str) -> bool:
        """Whether this operator has a value in a column."""
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: object, plevel: int = 10) -> None:
        """Set a column. A higher `plevel` replaces a lower one, equal ones are an error (`op-column`)."""
        known = (self.columns or {}).get(attr_name)
        if known is not None and known[1] == plevel:
            message = f"{self.name} has {attr_name} at priority {plevel} already"
            raise fail("op-column", message, help="use another plevel, or call reset_attr first")
        if known is None or known[1] < plevel:
            set_note(self, "columns", {**(self.columns or {}), attr_name: (value, plevel)})
            FILLED.add(attr_name)

    def reset_attr(self, attr_name: str) -> None:
        """Forget what was set."""
        set_note(self, "columns", {k: v for k, v in (self.columns or {}).items() if k != attr_name})

    registration: ClassVar[Callable[[Op], Any]]
    """What completes the definition of an operator that a script registered; bound by `driver.wiring`."""

    def set_num_inputs(self, n: int) -> None:
        """How many operands it takes. (This and the methods below: for operators registered by scripts only.)"""
        type(self).registration(self).set_num_inputs(n)

    def add_argument(self, name: str, type_info: str = "Tensor", description: str = "") -> None:
        """Name the next operand."""
        type(self).registration(self).add_argument(name, type_info, description)

    def add_type_rel(self, rel_name: str, type_rel_func: Callable[..., object] | None = None) -> None:
        """Its typing rule: `function(argument types, attrs) -> type`, or the name of a standard relation."""
        type(self).registration(self).add_type_rel(rel_name, type_rel_func)

    def set_attrs_type_key(self, key: str) -> None:
        """Set the key of the attributes' class in TVM. Calls of the operator take any attributes here."""
        type(self).registration(self).set_attrs_type_key(key)

    attributes_key: ClassVar[Callable[[Op], str]]
    """TVM's key of the class of an operator's attributes; bound by `driver.wiring`."""

    @property
    def attrs_type_key(self) -> str:
        """TVM's key of the class of its attributes (`"relay.attrs.Conv2DAttrs"`); empty where it takes none."""
        return type(self).attributes_key(self)

    def set_support_level(self, level: int) -> None:
        """How stable it is: 1 (most) to 11."""
        type(self).registration(self).set_support_level(level)

    @property
    def support_level(self) -> int:
        """How stable it is: 1 (most) to 11."""
        return int(self.get_attr("support_level") or 10)


@node
class Range(Node):
    """The integers from `min` to `min + extent`, exclusive. `==` compares both numbers, as in TVM; in dictionaries a
    range is itself, as every node.
    """

    min: PrimExpr
    extent: PrimExpr = part()
    span: Span | None = note(kw_only=True, default=None)

    alike: ClassVar[Callable[[Range, Range], bool]] = staticmethod(lambda left, right: left is right)
    """Structural equality; bound by `driver.wiring`."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Range) and Range.alike(self, other))

    def __hash__(self) -> int:
        return object.__hash__(self)
