"""Match an expression with a pattern, recording what each inner pattern matched.

Alternatives are tried in order, and the assumptions of a failed one are dropped. With a map from variables to their
values a pattern looks through variables (but `is_var` and `wildcard` take the variable as it is). Operands are
taken in the pattern's order first, those of `add` and `multiply` also in reverse, as in TVM. Recursion is as deep as
the pattern, never as the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.structural import structural_equal
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.erase import erase_struct_info, substitute_info
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataflowVar,
    ExternFunc,
    Function,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relax.patterns import nodes as p
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.support.diagnostics import InternalError
from baton._src.tir.arith.analyzer import Analyzer

Found = dict[p.DFPattern, Any]
COMMUTATIVE = ("relax.add", "relax.multiply")
"""Operators whose operands match in reverse order too."""


def extract(pattern: p.DFPattern, expr: Any, var2val: p.Var2Val | None = None) -> Found | None:
    """What each pattern matched, or None. A pattern that matched through a variable has the value, not the variable."""
    matcher = Matcher(var2val or {})
    found = next(matcher.matches(pattern, expr, {}), None)
    return None if found is None else {one: matcher.shown(one, found) for one in found}


class Matcher:
    """Matching within one program, whose variables are bound in `var2val`."""

    def __init__(self, var2val: p.Var2Val) -> None:
        self.var2val = var2val
        self.analyzer = Analyzer()

    def matches(self, pattern: p.DFPattern, expr: Any, found: Found) -> Iterator[Found]:
        """Every way in which `expr` matches, given what is assumed already (`found`, never changed)."""
        known = found.get(pattern)
        if known is not None:
            if self.same(known, expr):
                yield found
            return
        for whole in self._by_class(pattern, expr, found):
            result = {**whole, pattern: expr}
            if self._constraints_hold(pattern, result) and self._sizes_agree(pattern, result):
                yield result

    def value(self, expr: Any) -> Any:
        """The value behind variables."""
        while isinstance(expr, Var) and expr in self.var2val:
            expr = self.var2val[expr]
        return expr

    def same(self, a: Any, b: Any) -> bool:
        """Whether two matched expressions are the same: identical after looking through variables, or equal leaves."""
        if a is b:
            return True
        one, other = self.value(a), self.value(b)
        if one is other:
            return True
        leaf = isinstance(one, (Constant, ShapeExpr)) and type(one) is type(other)
        return leaf and structural_equal(one, other)

    def shown(self, pattern: p.DFPattern, found: Found) -> Any:
        """The match reported to users: the variable if the pattern may match one, otherwise its value.

        Of alternatives, that which matched says so.
        """
        expr = found[pattern]
        while isinstance(
            pattern, (p.AttrPattern, p.StructInfoPattern, p.TypePattern, p.DataTypePattern, p.ShapePattern)
        ):
            pattern = pattern.pattern
        if isinstance(pattern, (p.OrPattern, p.AndPattern)):
            sides = [self.shown(side, found) for side in (pattern.left, pattern.right) if found.get(side) is expr]
            return next((side for side in sides if side is not expr), expr)
        return expr if isinstance(pattern, (p.WildcardPattern, p.VarPattern, p.NotPattern)) else self.value(expr)

    def _by_class(self, pattern: p.DFPattern, expr: Any, found: Found) -> Iterator[Found]:
        match pattern:
            case p.OrPattern():
                yield from self.matches(pattern.left, expr, found)
                yield from self.matches(pattern.right, expr, found)
            case p.AndPattern():
                for left in self.matches(pattern.left, expr, found):
                    yield from self.matches(pattern.right, expr, left)
            case p.NotPattern():
                if next(self.matches(pattern.reject, expr, found), None) is None:
                    yield found
            case p.AttrPattern() | p.StructInfoPattern() | p.TypePattern() | p.DataTypePattern() | p.ShapePattern():
                if self._has(pattern, expr):
                    yield from self.matches(pattern.pattern, expr, found)
            case p.CallPattern() | p.FunctionPattern() | p.TupleGetItemPattern():
                yield from self._compound(pattern, self.value(expr), found)
            case p.TuplePattern() | p.UnorderedTuplePattern():
                yield from self._tuple(pattern, self.value(expr), found)
            case _:
                if self._is_leaf(pattern, expr):
                    yield found

    def _is_leaf(self, pattern: p.DFPattern, expr: Any) -> bool:
        match pattern:
            case p.WildcardPattern():
                return True
            case p.GlobalVarPattern():
                return isinstance(expr, GlobalVar) and pattern.name in expr.name_hint
            case p.DataflowVarPattern():
                return isinstance(expr, DataflowVar) and pattern.name in ("", expr.name_hint)
            case p.VarPattern():
                return isinstance(expr, Var) and pattern.name in ("", expr.name_hint)
            case p.ConstantPattern():
                return isinstance(self.value(expr), Constant)
            case p.ExternFuncPattern():
                value = self.value(expr)
                return isinstance(value, ExternFunc) and pattern.global_symbol in ("", value.global_symbol)
            case p.PrimArrPattern():
                return self._is_shape(pattern, expr)
            case p.ExprPattern():
                return self._is_expr(pattern.expr, expr)
            case _:
                raise InternalError(f"no rule matches a {type(pattern).__name__}")

    def _is_expr(self, wanted: Any, expr: Any) -> bool:
        value = expr if isinstance(wanted, Var) else self.value(expr)
        if isinstance(wanted, Op):
            return isinstance(value, Op) and value.name == wanted.name
        return wanted is value or wanted is expr or (type(wanted) is type(value) and structural_equal(wanted, value))

    def _is_shape(self, pattern: p.PrimArrPattern, expr: Any) -> bool:
        value = self.value(expr)
        dims = value.values if isinstance(value, ShapeExpr) else None
        info = getattr(value, "struct_info_", None)
        if dims is None and isinstance(info, ShapeStructInfo):
            dims = info.values
        return dims is not None and self._same_dims(dims, pattern.fields)

    def _same_dims(self, dims: Sequence[Any], wanted: Sequence[Any]) -> bool:
        return len(dims) == len(wanted) and all(
            a is b or self.analyzer.equal(a, b) is True for a, b in zip(dims, wanted)
        )

    def _compound(self, pattern: Any, value: Any, found: Found) -> Iterator[Found]:
        match pattern, value:
            case p.CallPattern(), Call():
                enough = len(value.args) == len(pattern.args)
                if enough or (pattern.varg_default_wildcard and len(value.args) > len(pattern.args)):
                    for head in self.matches(pattern.op, value.op, found):
                        yield from self.each(pattern.args, value.args, head)
                        if isinstance(value.op, Op) and value.op.name in COMMUTATIVE:
                            yield from self.each(pattern.args, value.args[::-1], head)
            case p.FunctionPattern(), Function():
                if len(pattern.params) == len(value.params):
                    for head in self.each(pattern.params, value.params, found):
                        yield from self.matches(pattern.body, value.body, head)
            case p.TupleGetItemPattern(), TupleGetItem():
                if pattern.index in (None, -1, value.index):
                    yield from self.matches(pattern.tuple, value.tuple_value, found)
            case _:
                return

    def _tuple(self, pattern: Any, value: Any, found: Found) -> Iterator[Found]:
        if not isinstance(value, Tuple) or len(value.fields) != len(pattern.fields):
            return
        if isinstance(pattern, p.TuplePattern):
            yield from self.each(pattern.fields, value.fields, found)
        else:
            yield from self._any_order(pattern.fields, list(value.fields), found)

    def each(self, patterns: Sequence[p.DFPattern], exprs: Sequence[Any], found: Found) -> Iterator[Found]:
        """Every way in which all patterns match, one by one."""
        if not patterns:
            yield found
            return
        for head in self.matches(patterns[0], exprs[0], found):
            yield from self.each(patterns[1:], exprs[1:], head)

    def _any_order(self, patterns: Sequence[p.DFPattern], exprs: list[Any], found: Found) -> Iterator[Found]:
        if not patterns:
            yield found
            return
        for number, expr in enumerate(exprs):
            for head in self.matches(patterns[0], expr, found):
                yield from self._any_order(patterns[1:], exprs[:number] + exprs[number + 1 :], head)

    # --------------------------------------------------------------------------------------------- constraints

    def _has(self, pattern: p.DFPattern, expr: Any) -> bool:
        info = getattr(expr, "struct_info_", None)
        match pattern:
            case p.AttrPattern():
                return _has_attrs(self.value(expr), pattern.attrs)
            case p.StructInfoPattern():
                return info is not None  # `_sizes_agree` compares it
            case p.TypePattern():
                return info is not None and structural_equal(erase_struct_info(info), pattern.type)
            case p.DataTypePattern():
                return isinstance(info, TensorStructInfo) and info.dtype == pattern.dtype
            case p.ShapePattern():
                dims = dims_of(info)
                return dims is not None and self._same_dims(dims, pattern.shape)
            case _:
                raise InternalError(f"no rule checks a {type(pattern).__name__}")

    def _constraints_hold(self, pattern: p.DFPattern, found: Found) -> bool:
        """The constraints of `pattern` whose patterns all have matched by now."""
        for constraint in pattern.constraints:
            exprs = [found[a] for a in constraint.args if a in found]
            if len(exprs) < len(constraint.args):
                continue
            shapes = [dims_of(getattr(e, "struct_info_", None)) for e in exprs]
            first = shapes[0]
            if first is None or any(s is None or not self._same_dims(s, first) for s in shapes[1:]):
                return False
        return True

    def _sizes_agree(self, pattern: p.DFPattern, found: Found) -> bool:
        """Whether the matches have the required StructInfos, with one size for each variable that is a whole dim in
        them.
        """
        if not isinstance(pattern, p.StructInfoPattern):
            return True
        said = [
            (one.struct_info, expr.struct_info_) for one, expr in found.items() if isinstance(one, p.StructInfoPattern)
        ]
        sizes = map_parameters(said)
        wanted = [(substitute_info(info, sizes, self.analyzer), have) for info, have in said]
        return all(struct_info_base_check(w, have, self.analyzer) is BaseCheckResult.PASS for w, have in wanted)


def dims_of(info: Any) -> Sequence[Any] | None:
    """The dims of a tensor, if they are known."""
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    return shape.values if isinstance(shape, ShapeExpr) else None


def _has_attrs(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether the value (a call: its attributes or its operator's; a function) has these attributes."""
    attrs: Any = getattr(value, "attrs", None) or {}
    known = attrs.keys()
    return all(name in known and _same_attribute(attrs[name], content) for name, content in wanted.items())


def _same_attribute(have: Any, wanted: Any) -> bool:
    if isinstance(have, (tuple, list)) and isinstance(wanted, (tuple, list)):
        return len(have) == len(wanted) and all(_same_attribute(a, b) for a, b in zip(have, wanted))
    plain = [getattr(x, "value", x) for x in (have, wanted)]
    return bool(plain[0] == plain[1]) or str(plain[0]) == str(plain[1])
