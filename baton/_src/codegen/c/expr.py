"""Scalar and vector expressions of TIR to C.

`emit` gives an expression of C. What is used several times or would be too long gets a name in a line before; lines
that belong to a branch which may not run (`if_then_else`, the right side of `and`) are written inside that branch.

Vectors have no type in C. A vector expression is written inside a loop over its lanes, as the expression of one lane;
`array` computes all lanes into an array. In such a loop `lane` is the name of the lane, and a vector variable stands
for its element there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from baton._src.codegen.c.arithmetic import binary, cast, compare, fitted
from baton._src.codegen.c.helpers import stored_suffix
from baton._src.codegen.c.intervals import Intervals, is_narrow
from baton._src.codegen.c.text import CFile, Lines
from baton._src.codegen.c.types import c_type, held_type, is_padded, literal
from baton._src.codegen.operands import is_harmless, operands
from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.values.dtype import INT32, INT64, DataType

Handler = Callable[["ExprWriter", tir.Call], str]
LONGEST = 120
"""Most characters of an expression that is not given a name."""
LANE = "@"
"""Stands for the lane in what a vector variable is called."""
SHORT = 4
"""Most choices in one expression."""
_SIGNS = {tir.Add: "+", tir.Sub: "-", tir.Mul: "*"}
_REGROUP = ("tir.vectorlow", "tir.vectorhigh", "tir.vectorcombine")


class ExprWriter:
    """Writes expressions into one function. `env` gives variables their names."""

    def __init__(self, file: CFile, text: Lines, handlers: dict[str, Handler]) -> None:
        self.file = file
        self.t = text
        self.env: dict[tir.Var, str] = {}
        self.kinds: dict[tir.Var, str] = {}
        """The C type that a pointer points to; void where a kernel uses the memory as several types."""
        self.intervals = Intervals()
        self.memo: dict[PrimExpr, str] = {}
        self.lane: str | None = None
        self._uses: dict[PrimExpr, int] = {}
        self._in_order = False
        """Whether the statement has calls with effects, so that each operand is computed where it stands."""
        self._handlers = handlers
        self.leave: Callable[[str, list[str]], None] | None = None
        """Writes how the function ends with a fault; set by the statement writer."""

    # ------------------------------------------------------------------------------------------ driving

    def fresh(self, *exprs: PrimExpr) -> list[str]:
        """The values of expressions at the start of a statement."""
        self.start(*exprs)
        return [self.emit(expr) for expr in exprs]

    def start(self, *exprs: PrimExpr) -> None:
        """Begin a statement with these expressions: nothing computed before is used again, memory may have changed."""
        self.memo, self._uses, self._in_order = {}, {}, False
        for node in dict.fromkeys(node for expr in exprs for node in post_order(expr, below=_all_operands)):
            for operand in _all_operands(node):
                self._uses[operand] = self._uses.get(operand, 0) + 1
            self._in_order = self._in_order or (_has_effect(node))

    def emit(self, expr: PrimExpr) -> str:
        """The value of `expr`; in a loop over lanes that of one lane, if it is a vector."""
        memo = self.memo
        if expr not in memo:
            for item in post_order(expr, below=self._operands):
                if item not in memo:
                    memo[item] = self._named(item, self._write(item))
        return memo[expr]

    def _named(self, node: PrimExpr, text: str) -> str:
        """A name for a value that is long, or used several times; a word is its own name."""
        simple = text.replace("_", "a").replace(".", "0").isalnum() or node.dtype.is_void
        again = self._uses.get(node, 0) > 1 and not isinstance(node, (tir.IntImm, tir.FloatImm, tir.Var))
        in_order = self._in_order and isinstance(node, (tir.BufferLoad, tir.Call))
        if simple or not (again or in_order or len(text) > LONGEST):
            return text
        name = self.held(held_type(node.dtype.element, self.intervals.of(node)), text)
        if in_order and _has_effect(node):
            self.t.line(f"(void){name};")  # so that it stays, whether its value is read or not
        return name

    def held(self, kind: str, text: str) -> str:
        """A new constant of a type and value."""
        name, text = self.t.name("t"), bare(text)
        self.t.line(f"{kind} const {name} = {text};" if kind.endswith("*") else f"const {kind} {name} = {text};")
        return name

    def _operands(self, node: Node) -> Iterable[PrimExpr]:
        """What has to be computed before `node`."""
        if node in self.memo:
            return ()
        match node:
            case tir.LogicalOp(a=a, b=b):
                return (a, b) if is_harmless(b) else (a,)
            case tir.BufferLoad():
                return ()
            case tir.Let(value=value) if value.dtype.lanes == 1 or self.lane is not None:
                return (value,)
            case tir.Let() | tir.Shuffle():
                return ()
            case tir.Call(op=Op(name="tir.if_then_else"), args=args):
                return args[:1]
            case tir.Call(op=Op(name="tir.tvm_access_ptr"), args=args):
                return args[1:3]
            case tir.Call(op=Op(name=name)) if name in ("tir.address_of", "tir.constant_memory", *_REGROUP):
                return ()
            case tir.Call() if _changes_lanes(node):
                return ()
            case _:
                return operands(node)

    def _write(self, node: Node) -> str:
        memo = self.memo
        match node:
            case tir.Var():
                return self._variable(node)
            case tir.IntImm() | tir.FloatImm():
                return literal(node.dtype, node.value)
            case tir.BinaryOp(a=a, b=b):
                known, dividend = self.intervals.of(node), self.intervals.of(a)
                return binary(self.file, node, memo[a], memo[b], known, dividend)
            case tir.CompareOp(a=a, b=b):
                return compare(self.file, node, memo[a], memo[b])
            case tir.BufferLoad():
                return self._load(node)
            case tir.Cast(value=value):
                return cast(self.file, value.dtype, node.dtype, memo[value])
            case tir.LogicalOp(a=a, b=b):
                return self._logical(node, memo[a], b)
            case tir.Not(a=a):
                return f"(!{memo[a]})"
            case tir.Ramp(base=base, stride=stride):
                return fitted(node.dtype.element, f"{memo[base]} + {self.lane} * {memo[stride]}")
            case tir.Broadcast(value=value):
                return memo[value]
            case tir.Select(condition=c, true_value=a, false_value=b):
                return f"({memo[c]} ? {memo[a]} : {memo[b]})"
            case tir.Let(var=var, value=value, body=body):
                self.define(var, value)
                found = self.emit(body)
                return f"((int64_t){found})" if node.dtype.element == INT64 else found
            case tir.Shuffle(vectors=vectors, indices=indices):
                return self._shuffled(node, vectors, indices)
            case tir.Call():
                return self._call(node)
            case _:
                raise InternalError(f"code generation: no rule for {type(node).__name__}")

    def _variable(self, var: tir.Var) -> str:
        found = self.env.get(var)
        if found is None:
            raise fail("codegen-variable", f"the variable {var.name} is not defined here", span=var.span)
        return found.replace(LANE, self.lane or "0")

    def define(self, var: tir.Var, value: PrimExpr) -> None:
        """Name the value of a variable: that of this lane inside a loop over lanes."""
        if var.dtype.lanes > 1 and self.lane is None:
            self.env[var] = f"{self.array(value)}[{LANE}]"
            return
        text, name = bare(self.emit(value)), self.t.name(var.name)
        if var.dtype.kind == "handle":
            kind = self.kinds.get(var, "void")
            self.t.line(f"{kind}* const {name} = ({kind}*)({text});")
        else:
            known = self.intervals.of(value)
            self.t.line(f"const {held_type(var.dtype, known)} {name} = {text};")
            self.intervals.bind(var, known)
        self.env[var] = name

    # ------------------------------------------------------------------------------------------ branches

    def branch(self, expr: PrimExpr) -> tuple[list[str], str]:
        """The lines that compute an expression only where they are put, and its value."""
        outer, self.memo = self.memo, dict(self.memo)
        with self.t.apart(1) as lines:
            value = self.emit(expr)
        self.memo = outer
        return lines, value

    def _logical(self, node: tir.LogicalOp, left: str, right: PrimExpr) -> str:
        sign = "&&" if isinstance(node, tir.And) else "||"
        if right in self.memo:
            return f"({left} {sign} {self.memo[right]})"
        lines, value = self.branch(right)
        if not lines:
            return f"({left} {sign} {value})"
        name = self.t.name("holds")
        self.t.line(f"bool {name} = {left};")
        with self.t.block(f"if ({name if sign == '&&' else f'!{name}'})"):
            self.t.lines += [*lines, "  " * self.t.depth + f"{name} = {value};"]
        return name

    def _choice(self, node: tir.Call) -> str:
        """The value of the branch that is taken; only that is computed. A choice among many is a chain of them."""
        chain, rest = [], node
        while _is_choice(rest) and (rest is node or rest not in self.memo):
            chain.append(rest.args[:2])
            rest = rest.args[2]
        short = self._short_choice(chain, rest)
        if short and node.dtype.element == INT64:  # of numbers that may be written as 32 bits
            return f"((int64_t){short})"
        return short or self._long_choice(node.dtype, chain, rest)

    def _short_choice(self, chain: list[tuple[PrimExpr, PrimExpr]], last: PrimExpr) -> str:
        """The choice as an expression; empty if that would be long or needs lines of its own."""
        if len(chain) > SHORT:
            return ""
        parts: list[str] = []
        for expr in (*(expr for pair in chain for expr in pair), last):
            lines, text = self.branch(expr)
            if lines:
                return ""
            parts.append(text)
        pairs = zip(parts[::2], parts[1::2])
        found = "".join(f"({condition} ? {value} : " for condition, value in pairs) + parts[-1] + ")" * len(chain)
        return found if len(found) <= 2 * LONGEST else ""

    def _long_choice(self, dtype: DataType, chain: list[tuple[PrimExpr, PrimExpr]], last: PrimExpr) -> str:
        name = self.t.name("chosen")
        self.t.line(f"{c_type(dtype)} {name};")
        outer, self.memo = self.memo, dict(self.memo)
        with self.t.block("do"):
            for condition, value in chain:
                with self.t.block(f"if ({bare(self.emit(condition))})"):
                    inner, self.memo = self.memo, dict(self.memo)
                    self.t.line(f"{name} = {bare(self.emit(value))};")
                    self.t.line("break;")
                    self.memo = inner
            self.t.line(f"{name} = {bare(self.emit(last))};")
        self.memo = outer
        self.t.lines[-1] += " while (0);"
        return name

    # ------------------------------------------------------------------------------------------ vectors

    @contextmanager
    def lanes(self, count: int) -> Iterator[str]:
        """A loop over the lanes of vectors: expressions inside are those of one lane."""
        outer = self.memo, self.lane, self._uses
        self.lane = self.t.name("lane")
        self.memo = {node: text for node, text in self.memo.items() if node.dtype.lanes == 1}
        with self.t.block(f"for (int32_t {self.lane} = 0; {self.lane} < {count}; ++{self.lane})"):
            yield self.lane
        self.memo, self.lane, self._uses = outer

    def array(self, expr: PrimExpr, mask: str | None = None) -> str:
        """The name of an array with the lanes of a vector; with a mask, of its lanes only."""
        name, count = self.t.name("lanes"), expr.dtype.lanes
        self.t.line(f"{c_type(expr.dtype)} {name}[{count}];")
        if count == 1:
            self.t.line(f"{name}[0] = {self.emit(expr)};")
            return name
        with self.lanes(count) as lane:
            if mask is None:
                self.t.line(f"{name}[{lane}] = {self.emit(expr)};")
            else:
                with self.t.block(f"if ({mask}[{lane}])"):
                    self.t.line(f"{name}[{lane}] = {self.emit(expr)};")
        return name

    def _shuffled(self, node: PrimExpr, vectors: Iterable[PrimExpr], picks: Sequence[int]) -> str:
        """The chosen lanes of some vectors behind each other."""
        parts = [(self.array(v), v.dtype.lanes) for v in vectors]
        whole = self.t.name("whole")
        self.t.line(f"{c_type(node.dtype)} {whole}[{sum(count for _, count in parts)}];")
        start = 0
        for name, count in parts:
            self.t.line(f"memcpy({whole} + {start}, {name}, sizeof {name});")
            start += count
        if len(picks) == 1:
            return f"{whole}[{picks[0]}]"
        places = self.t.name("places")
        self.t.line(f"const int32_t {places}[] = {{{', '.join(map(str, picks))}}};")
        return f"{whole}[{places}[{self.lane}]]"

    # ------------------------------------------------------------------------------------------ memory

    def element(self, buffer: Buffer, index: str) -> str:
        """An element of a flat buffer as it is in memory: what can be assigned, if its memory has one type."""
        kind, pointer = c_type(buffer.dtype), self.emit(buffer.data)
        return f"{self._typed(buffer, kind, pointer)}[{index}]"

    def address(self, buffer: Buffer, index: PrimExpr) -> str:
        """The address of an element of a flat buffer."""
        kind, pointer = c_type(buffer.dtype), self.emit(buffer.data)
        return f"({self._typed(buffer, kind, pointer)} + {self.place(index)})"

    def _typed(self, buffer: Buffer, kind: str, pointer: str) -> str:
        return pointer if self.kinds.get(buffer.data) == kind else f"(({kind}*){pointer})"

    def place(self, index: PrimExpr) -> str:
        """An index. One that overflows is none of the buffer's, so sums are plain sums."""
        for item in post_order(index, below=self._sums):
            if item not in self.memo:
                text = self._sum(item)
                self.memo[item] = self.emit(item) if text is None else self._named(item, text)
        return bare(self.memo[index])

    def _sums(self, node: Node) -> Iterable[PrimExpr]:
        if node in self.memo:
            return ()
        match node:
            case tir.Ramp(base=base, stride=stride):
                return (base, stride)
            case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b) | tir.Mul(a=a, b=b):
                return (a, b)
            case tir.Cast(value=value) if self._is_widened(node):
                return (value,)
            case _:
                return ()

    def _is_widened(self, cast: tir.Cast) -> bool:
        """Whether an index is the same without this cast: C widens what it is added to."""
        return cast.dtype == INT64 and cast.value.dtype == INT32 and is_narrow(self.intervals.of(cast.value))

    def _sum(self, node: PrimExpr) -> str | None:
        memo = self.memo
        match node:
            case tir.Cast(value=value) if self._is_widened(node):
                return memo[value]
            case tir.Ramp(base=base, stride=stride):
                step = "" if isinstance(stride, tir.IntImm) and stride.value == 1 else f" * {memo[stride]}"
                return f"({memo[base]} + {self.lane}{step})"
            case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b) | tir.Mul(a=a, b=b):
                left, right, sign = memo[a], memo[b], _SIGNS[type(node)]
                known = self.intervals.of(node)
                if node.dtype == INT64 and known is not None and not is_narrow(known):
                    return f"((int64_t){left} {sign} {right})"
                if sign != "*":  # products first, sums from the left
                    left = bare(left) if isinstance(a, (tir.Add, tir.Sub, tir.Mul)) else left
                    right = bare(right) if isinstance(b, tir.Mul) else right
                return f"({left} {sign} {right})"
            case _:
                return None

    def _load(self, node: tir.BufferLoad) -> str:
        (index,) = node.indices
        place = self.place(index)
        if node.dtype.lanes > 1 and index.dtype.lanes == 1:
            place = f"{place} + {self.lane}"
        dtype = node.dtype.element
        if self.kinds.get(node.buffer.data, "void") == "void":
            end = stored_suffix(c_type(dtype))
            found = f"{self.file.helper(f'load_{end}')}({self.emit(node.buffer.data)}, {place})"
        else:
            found = self.element(node.buffer, place)
        return fitted(dtype, found) if is_padded(dtype) else found

    # -------------------------------------------------------------------------------------------- calls

    def _call(self, node: tir.Call) -> str:
        if not isinstance(node.op, Op):
            raise InternalError("code generation: a kernel is called inside an expression")
        if node.op.name == "tir.if_then_else":
            return self._choice(node)
        handler = self._handlers.get(node.op.name)
        if handler is None:
            raise fail("codegen-intrinsic", f"{node.op.name} cannot be written in C", span=node.span)
        return handler(self, node)


def bare(text: str) -> str:
    """An expression without the parentheses around it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


def _all_operands(node: Node) -> Iterable[PrimExpr]:
    return node.indices if isinstance(node, tir.BufferLoad) else operands(node)


def _has_effect(call: Node) -> bool:
    return isinstance(call, tir.Call) and isinstance(call.op, Op) and call.op.name == "tir.call_extern"


def _changes_lanes(call: tir.Call) -> bool:
    return any(isinstance(a, PrimExpr) and a.dtype.lanes not in (1, call.dtype.lanes) for a in call.args)


def _is_choice(expr: PrimExpr) -> bool:
    return isinstance(expr, tir.Call) and isinstance(expr.op, Op) and expr.op.name == "tir.if_then_else"
