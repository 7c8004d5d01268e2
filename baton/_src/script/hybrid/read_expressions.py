"""Read expressions of hybrid kernels as TIR: arithmetic, elements of buffers, shapes, built-in functions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from baton._src.script.hybrid.words import IN_TIR
from baton._src.script.read_source import ScriptSource
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders import scalar_functions as f
from baton._src.tir.expr import BufferLoad, FloatImm, IntImm, literal
from baton._src.values.dtype import DataType

BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: f.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: ops.negative,
    ast.UAdd: lambda x: x,
    ast.Invert: ops.bitwise_not,
    ast.Not: ops.logical_not,
}
_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}


class Scalar:
    """A number that a kernel reassigns: a buffer of one element."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.value = BufferLoad(buffer, (IntImm("int32", 0),))


class ExpressionReader:
    """Reads expressions; the values of names are buffers, scalars, TIR expressions, or tuples of them."""

    def __init__(self, source: ScriptSource, closure: Mapping[str, Any]) -> None:
        self.source = source
        self.closure = closure
        """Numbers and functions from the kernel's enclosing scopes."""
        self.names: dict[str, Any] = {}

    def wrong(self, node: ast.AST, message: str, help: str | None = None) -> DiagnosticError:
        """The error for a kernel that cannot be read, at a position in its text."""
        return fail("te-hybrid", message, span=self.source.span(node), help=help)

    def read(self, node: ast.expr) -> Any:
        """The value of an expression."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return literal(value)
            case ast.Constant(value=str() as text):
                return text
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.read(part) for part in parts)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return BINARY[type(op)](self.number(left), self.number(right))
            case ast.UnaryOp(op=op, operand=operand):
                return _UNARY[type(op)](self.number(operand))
            case ast.BoolOp(op=op, values=values):
                return (ops.all if isinstance(op, ast.And) else ops.any)(*map(self.number, values))
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp(test=test, body=body, orelse=other):
                return f.if_then_else(*map(self.number, (test, body, other)))
            case ast.Attribute(value=value, attr="shape" | "dtype" as attribute):
                return self._attribute(node, self.read(value), attribute)
            case ast.Subscript(value=value, slice=index):
                return self._element(node, self.read(value), index)
            case ast.Call():
                return self._call(node)
            case _:
                raise self.wrong(node, f"{ast.unparse(node)} is not supported in hybrid kernels")

    def number(self, node: ast.expr) -> Any:
        """An expression that has to be a scalar."""
        found = self.read(node)
        if isinstance(found, Buffer | tuple | str) or callable(found):
            raise self.wrong(node, f"{ast.unparse(node)} is not a number", help="index buffers: a[i, j]")
        return ops.convert(found)

    def constant(self, node: ast.expr) -> Any:
        """An expression, as an int if it is constant."""
        found = self.read(node)
        return found.value if isinstance(found, IntImm) else found

    def indices(self, node: ast.expr, buffer: Buffer, index: ast.expr) -> tuple[Any, ...]:
        """The indices of an element."""
        listed = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(listed) != buffer.ndim:
            raise self.wrong(node, f"{buffer.name} has {buffer.ndim} dims and is given {len(listed)} indices")
        return tuple(map(self.number, listed))

    def _name(self, node: ast.expr, name: str) -> Any:
        found = self.names.get(name, self.closure.get(name))
        if isinstance(found, Scalar):
            return found.value
        if found is None:
            raise self.wrong(node, f"{name} is not defined here", help="a name is known in the loop that assigns it")
        return literal(found) if isinstance(found, bool | int | float) else found

    def _comparison(self, node: ast.Compare) -> Any:
        values = [self.number(one) for one in (node.left, *node.comparators)]
        if any(type(op) not in _COMPARE for op in node.ops):
            raise self.wrong(node, f"{ast.unparse(node)} is not supported in hybrid kernels")
        pairs = zip(node.ops, values, values[1:])
        return ops.all(*(ops.convert(ops.build(_COMPARE[type(op)], a, b)) for op, a, b in pairs))

    def _attribute(self, node: ast.expr, value: Any, attribute: str) -> Any:
        if not isinstance(value, Buffer):
            raise self.wrong(node, f"only buffers have a {attribute}")
        return value.shape if attribute == "shape" else str(value.dtype)

    def _element(self, node: ast.expr, value: Any, index: ast.expr) -> Any:
        if isinstance(value, Buffer):
            return BufferLoad(value, self.indices(node, value, index))
        place = self.constant(index)
        if isinstance(value, tuple | list) and isinstance(place, int) and -len(value) <= place < len(value):
            return value[place]
        raise self.wrong(node, f"{ast.unparse(node)}: shapes and tuples are indexed by numbers that are known")

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name == "len" and len(node.args) == 1:
            value = self.read(node.args[0])
            return literal(len(value) if isinstance(value, tuple) else int(value.shape[0]))
        function = IN_TIR.get(name)
        if function is None or node.keywords:
            raise self.wrong(node, f"{name} is not a function of hybrid kernels", help=f"there are {', '.join(IN_TIR)}")
        given = [self.read(one) for one in node.args]
        return Analyzer().simplify(function(*given)) if name == "ceil_div" else function(*given)


def fitted(value: Any, dtype: DataType) -> Any | None:
    """A value for a buffer of `dtype`: literals are converted, other values must have that dtype (else None), and so
    must fractions for integers.
    """
    if isinstance(value, IntImm) or (isinstance(value, FloatImm) and (dtype.is_float or value.value.is_integer())):
        return ops.cast(dtype, value)
    return value if value.dtype == dtype else None
