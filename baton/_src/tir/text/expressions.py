"""Scalar expressions as text, in linear time and without recursion: a stack of pieces still to be written.

What the parser would read as another node is written as a constructor: `T.Add(1, 2)`, as `1 + 2` is 3 in Python.
"""

from __future__ import annotations

import math
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import BufferLoad, Call, FloatImm, IntImm, Var
from baton._src.tir.intrinsics import LEADING_DTYPE, TRAILING_DTYPE, definition, result_dtype
from baton._src.tir.text.names import Names
from baton._src.values.dtype import INT32, DataType

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, ATOM = range(8)

INFIX: dict[type, tuple[str, int]] = {
    tir.Or: ("or", OR),
    tir.And: ("and", AND),
    tir.EQ: ("==", COMPARE),
    tir.NE: ("!=", COMPARE),
    tir.LT: ("<", COMPARE),
    tir.LE: ("<=", COMPARE),
    tir.GT: (">", COMPARE),
    tir.GE: (">=", COMPARE),
    tir.Add: ("+", SUM),
    tir.Sub: ("-", SUM),
    tir.Mul: ("*", PRODUCT),
    tir.FloorDiv: ("//", PRODUCT),
    tir.FloorMod: ("%", PRODUCT),
    tir.Div: ("/", PRODUCT),
}
PREFIX: dict[type, str] = {
    **{kind: kind.__name__ for kind in INFIX},
    tir.Mod: "truncmod",
    tir.Min: "min",
    tir.Max: "max",
}

_Item = Any  # text, or (expression, the least level that needs no parentheses)


def expression_text(root: Any, names: Names) -> str:
    """`root` (an expression, or a plain value among the arguments of a call) as text."""
    out: list[str] = []
    stack: list[_Item] = [(root, OR)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack.extend(reversed(_pieces(item[0], item[1], names)))
    return "".join(out)


def _pieces(node: Any, level: int, names: Names) -> list[_Item]:
    if not isinstance(node, PrimExpr):
        return [repr(node)]
    infix = INFIX.get(type(node))
    if infix is not None and not _needs_constructor(node):
        return _infix(node, *infix, level)
    match node:
        case Var():
            return [names.of(node)]
        case IntImm():
            return [f"({node.value})" if node.value < 0 and level > UNARY else integer_text(node)]
        case FloatImm():
            return [float_text(node)]
        case tir.StringImm():
            return [string_text(node.value)]
        case tir.Not():
            inner: list[_Item] = ["not ", (node.a, NOT)]
            return ["(", *inner, ")"] if level > NOT else inner
        case BufferLoad():
            return [names.of(node.buffer), *index_pieces(node.indices)]
        case tir.ProducerLoad():
            return [node.producer.name, *index_pieces(node.indices)]
        case tir.BinaryOp() | tir.CompareOp() | tir.LogicalOp():
            return _call_pieces(PREFIX[type(node)], (node.a, node.b))
        case Call():
            return _intrinsic(node)
        case _:
            return _constructor(node, names)


def _infix(node: Any, sign: str, own: int, level: int) -> list[_Item]:
    left = own + 1 if own == COMPARE else own
    inner: list[_Item] = [(node.a, left), f" {sign} ", (node.b, own + 1)]
    return ["(", *inner, ")"] if level > own else inner


def _needs_constructor(node: Any) -> bool:
    """Whether infix text would be read as something else: of two Python numbers, a truncating integer division, one
    node for what `//` and `%` of floats are spelt out as, or a division by 0, which they refuse."""
    if isinstance(node, (tir.FloorDiv, tir.FloorMod)) and (node.a.dtype.is_float or operators.is_const(node.b, 0)):
        return True
    if isinstance(node, tir.Div) and not node.a.dtype.is_float:
        return True
    return _is_bare(node.a) and _is_bare(node.b)


def _is_bare(node: PrimExpr) -> bool:
    return isinstance(node, IntImm) and node.dtype == INT32


def index_pieces(indices: Any) -> list[_Item]:
    """`[i, j]`; vectors as slices, `[i, j * 8:j * 8 + 8]`."""
    if not indices:
        return ["[()]"]
    found: list[_Item] = []
    for index in indices:
        found += [", "] if found else []
        found += _slice(index) or [(index, OR)]
    return ["[", *found, "]"]


def _slice(index: PrimExpr) -> list[_Item]:
    """`begin:end:step`; nothing where the parser would not find this vector in it."""
    if not isinstance(index, tir.Ramp) or index.base.dtype.lanes > 1 or not isinstance(index.stride, IntImm):
        return []
    stride = index.stride.value
    end = operators.add(index.base, index.lanes * stride)
    if stride < 1 or not operators.is_const(Analyzer().simplify(end - index.base), index.lanes * stride):
        return []
    return [(index.base, OR), ":", (end, OR), *([":", (index.stride, OR)] if stride > 1 else [])]


def _separated(parts: Any) -> list[_Item]:
    found: list[_Item] = []
    for part in parts:
        if found:
            found.append(", ")
        found.append((part, OR))
    return found


def _call_pieces(name: str, args: Any, dtype: DataType | None = None) -> list[_Item]:
    leading = [f'"{dtype}"'] if dtype is not None else []
    rest = _separated(args)
    return [f"T.{name}(", *leading, *([", "] if leading and rest else []), *rest, ")"]


def _intrinsic(node: Call) -> list[_Item]:
    if isinstance(node.op, GlobalVar):
        return [f"cls.{node.op.name_hint}(", *_separated(node.args), _dtype_keyword(node, DataType("void"))]
    row = definition(node.op)
    short = _SHORT.get(node.op.name) or node.op.name.removeprefix("tir.")
    if row is None or row.name in LEADING_DTYPE:
        return _call_pieces(short, node.args, node.dtype)
    if row.name in TRAILING_DTYPE:
        return [f"T.{short}(", *_separated(node.args), f', "{node.dtype}")']
    end = _dtype_keyword(node, result_dtype(row, node.args))
    return [f"T.{short}(", *_separated(node.args), end]


_SHORT = {
    "tir.tvm_call_packed": "call_packed",
    "tir.tvm_call_cpacked": "call_cpacked",
    "tir.tvm_call_packed_lowered": "call_packed_lowered",
    "tir.tvm_call_cpacked_lowered": "call_cpacked_lowered",
}
"""Intrinsics that are written by another name."""


def is_plain_call(node: PrimExpr) -> bool:
    """Whether it is written as a statement by itself: the call of an intrinsic."""
    return isinstance(node, Call) and not isinstance(node.op, GlobalVar)


def returned(node: PrimExpr) -> PrimExpr | None:
    """What a call of `tir.ret` leaves the function with; None for other expressions, and where the dtype is another."""
    if isinstance(node, Call) and getattr(node.op, "name", "") == "tir.ret" and len(node.args) == 1:
        given: PrimExpr = node.args[0]
        return given if given.dtype == node.dtype else None
    return None


def _dtype_keyword(node: Call, expected: DataType | None) -> str:
    if node.dtype == expected:
        return ")"
    return f'{", " if node.args else ""}dtype="{node.dtype}")'


def _constructor(node: Any, names: Names) -> list[_Item]:
    match node:
        case tir.Cast():
            return _call_pieces("Cast", (node.value,), node.dtype)
        case tir.Select():
            return _call_pieces("Select", (node.condition, node.true_value, node.false_value))
        case tir.Ramp():
            return _call_pieces("Ramp", (node.base, node.stride, node.lanes))
        case tir.Broadcast():
            return _call_pieces("Broadcast", (node.value, node.lanes))
        case tir.Shuffle():
            return ["T.Shuffle([", *_separated(node.vectors), "], ", repr([int(i) for i in node.indices]), ")"]
        case tir.Let():
            return ["T.Let(", (node.body, OR), ", where={", names.of(node.var), ": ", (node.value, OR), "})"]
        case tir.AnyDim():
            return ["T.Any()"]
        case tir.Reduce():
            axes = ", ".join(names.of(axis.var) for axis in node.axis)
            return ["T.reduce([", *_separated(node.source), f"], axis=[{axes}])"]
        case _:
            return [f"<{type(node).__name__}>"]


def reducer_text(node: tir.CommReducer, names: Names) -> str:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`"""
    params = ", ".join(names.of(var) for var in (*node.lhs, *node.rhs))
    results = [expression_text(part, names) for part in node.result]
    identity = ", ".join(expression_text(part, names) for part in node.identity_element)
    combined = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"T.comm_reducer(lambda {params}: {combined}, [{identity}])"


def integer_text(node: IntImm) -> str:
    """`3` for int32, `T.int64(3)`, `T.bool(True)`."""
    if node.dtype == INT32:
        return str(node.value)
    return f"T.bool({bool(node.value)})" if node.dtype.is_bool else f"T.{node.dtype}({node.value})"


def number_text(number: Any, dtype: DataType) -> str:
    """A number in a list of them, whose dtype is stated once: as Python has it, where that is exact."""
    if not dtype.is_float:
        return str(int(number))
    return repr(float(number)) if math.isfinite(number) else float_text(FloatImm(dtype, number))


def float_text(node: FloatImm) -> str:
    """`T.float32(0.5)`, `T.float32(1)`, `T.float32("inf")`."""
    value = node.value
    if not math.isfinite(value):
        return f'T.{node.dtype}("{value!r}")'
    whole = value.is_integer() and abs(value) < 1e16 and math.copysign(1, value) * value >= 0
    is_plain = whole and not (value == 0 and math.copysign(1, value) < 0)
    return f"T.{node.dtype}({int(value) if is_plain else repr(value)})"


def string_text(value: str) -> str:
    """A Python string literal in double quotes."""
    quoted = repr(value)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in quoted else quoted
