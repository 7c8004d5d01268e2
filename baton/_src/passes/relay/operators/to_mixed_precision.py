"""ToMixedPrecision: expensive operators compute in reduced precision, sensitive ones in float32; the rest follow their
operands.

    conv2d(%x, %w)      becomes      conv2d(cast(%x, "float16"), cast(%w, "float16"))

ALWAYS operators get narrow operands; NEVER operators get float32; FOLLOW operators are narrow where every floating
operand is narrow, or a variable or constant, whose cast costs nothing. `mixed_precision_rules` has the categories, and
users may register others: a rule registered by `register_mixed_precision_conversion` returns `[category, dtype of sums,
of results]`. Branches, called functions, and references keep their types; so do results, with the option
`keep_orig_output_dtype`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.types import TensorType, TupleType, Type
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.operators.mixed_precision_rules import ALWAYS, FOLLOW, NEVER, category_of
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import global_vars, parts, walk, with_parts
from baton._src.relay.nodes import Call, Constant, Function, Let, Tuple, TupleGetItem, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.values.dtype import DataType

WIDE = DataType("float32")


@dataclass(frozen=True)
class ToMixedPrecision(RelayFunctionPass):
    """`missing_op_mode` is what happens for an operator without a category: 0 an error, 1 a warning, 2 nothing. Such
    operators compute in float32.
    """

    opt_level: ClassVar[int] = 0
    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def rewriter(self, module: IRModule, ctx: PassContext) -> Callable[[Any], Any]:
        narrow = DataType(self.mixed_precision_type)
        if not narrow.is_float or narrow.bits >= 32:
            raise fail("api", f"mixed precision with {narrow}", help='give "float16" or "bfloat16"')
        if self.missing_op_mode not in (0, 1, 2):
            raise fail("api", f"missing_op_mode is {self.missing_op_mode!r}", help="0 error, 1 warning, 2 neither")
        keep_all = bool(ctx.setting("relay.ToMixedPrecision.keep_orig_output_dtype"))
        bodies = [f for f in module.functions.values() if isinstance(f, Function)]
        called = {module.functions.get(var) for function in bodies for var in global_vars(function)}

        def rewrite(function: Function) -> Any:
            narrowing = _Narrowing(narrow)
            made = narrowing.run(function, keep=keep_all or function in called)
            self._tell(narrowing.missing)
            return made

        return rewrite

    def _tell(self, missing: Counter[str]) -> None:
        """Report operators without a category, and how often each is called."""
        if not missing or self.missing_op_mode == 2:
            return
        named = ", ".join(f"{name} ({count} times)" for name, count in sorted(missing.items()))
        message = f"no rule says in which precision to compute {named}"
        if self.missing_op_mode == 0:
            help = "relay.op.register_mixed_precision_conversion gives them one; missing_op_mode=2 computes in float32"
            raise fail("mixed-precision", message, help=help)
        warnings.warn(f"{message}: float32", stacklevel=2)


class _Narrowing:
    """One function. What became of a node says by its own type how far it is narrow."""

    def __init__(self, narrow: DataType) -> None:
        self.missing: Counter[str] = Counter()
        self._narrow = narrow
        self._build = Build()
        self._done: dict[Any, Any] = {}
        self._bound: dict[Var, Any] = {}
        self._casts: dict[tuple[Any, str], Any] = {}

    def run(self, function: Function, keep: bool) -> Function:
        order = walk(function.body)
        self._bound = {n.var: n.value for n in order if isinstance(n, Let)}
        for node in order:
            made = self._variable(node) if isinstance(node, Var) else self._rewritten(node)
            if made is not node:
                self._done[node] = made
        body = self._as_was(function.body) if keep else self._made(function.body)
        kept = function.ret_annotation if keep or body is function.body else None
        return function.with_fields(body=body, ret_annotation=kept)

    def _made(self, node: Any) -> Any:
        return self._done.get(node, node)

    def _rewritten(self, node: Any) -> Any:
        match node:
            case Call(Op()):
                return self._call(node)
            case Tuple():
                return self._build.tuple(*map(self._made, node.fields)) if self._changed(node) else node
            case TupleGetItem():
                return self._build.item(self._made(node.tuple_value), node.index) if self._changed(node) else node
            case Let():
                return self._let(node)
            case _:
                return with_parts(node, {p: self._as_was(p) for p in parts(node)})

    def _changed(self, node: Any) -> bool:
        return any(p in self._done for p in parts(node))

    def _variable(self, var: Var) -> Any:
        """Give the variable of a let the current type of its value."""
        value = self._bound.get(var, var)
        value, had = self._made(value), value.checked_type_
        if value.checked_type_ is had:
            return var
        made = Var(var.name_hint, span=var.span)
        set_note(made, "checked_type_", value.checked_type_)
        return made

    def _let(self, node: Let) -> Any:
        var = self._done.get(node.var) or self._variable(node.var)  # one that nothing reads was not seen
        made = with_parts(node, self._done).with_fields(var=var)
        set_note(made, "checked_type_", made.body.checked_type_)
        return made

    def _call(self, node: Call) -> Any:
        category, sums, result = self._conversion(node)
        floats = [a for a in node.args if _has_floats(a.checked_type, WIDE)]
        narrow = bool(floats) and (category == ALWAYS or (category == FOLLOW and all(map(self._may_follow, floats))))
        narrow = narrow and all(_is_decided(a.checked_type) for a in node.args)
        target = self._narrow if narrow else WIDE
        args = tuple(self._converted(self._made(a), a.checked_type, target) for a in node.args)
        if all(x is y for x, y in zip(args, node.args)):
            return node
        made = node.with_fields(args=args)
        if not narrow:
            return self._build.call(made)
        if "out_dtype" in getattr(made.attrs, "names", ()):
            made = made.with_fields(attrs=replace(made.attrs, out_dtype=sums))
        made = self._build.call(made)
        return made if sums == result else self._converted(made, node.checked_type, result)

    def _may_follow(self, arg: Any) -> bool:
        return isinstance(arg, (Var, Constant)) or not _has_floats(self._made(arg).checked_type, WIDE)

    def _conversion(self, node: Call) -> tuple[int, DataType, DataType]:
        """The category of an operator, the dtype it accumulates in, and that of its result if it is reduced."""
        rule = node.op.get_attr("FTVMMixedPrecisionConversionType")
        if rule is not None:
            category, sums, result = rule(node, str(self._narrow))
            if category not in (ALWAYS, FOLLOW, NEVER):
                help = "it is 0 (always), 1 (follow) or 2 (never)"
                raise fail("api", f"{node.op.name}: mixed precision category {category!r}", help=help)
            return category, DataType(sums or self._narrow), DataType(result or self._narrow)
        known = category_of(node.op)
        if known is None:
            self.missing[node.op.name] += 1
        return NEVER if known is None else known, self._narrow, self._narrow

    def _as_was(self, node: Any) -> Any:
        """The translation of `node`, cast back to its original type."""
        type_ = getattr(node, "checked_type_", None)
        return self._made(node) if type_ is None else self._converted(self._made(node), type_, WIDE)

    def _converted(self, made: Any, had: Any, dtype: DataType) -> Any:
        """`made`, with every tensor that was float32 in the type `had` as `dtype`: cast at most once."""
        type_ = made.checked_type
        if isinstance(type_, TupleType):
            if not any(_has_floats(t, self._narrow if dtype == WIDE else WIDE) for t in type_.fields):
                return made
            fields = [self._build.item(made, i) for i in range(len(type_.fields))]
            return self._build.tuple(*(self._converted(f, t, dtype) for f, t in zip(fields, had.fields)))
        if not _has_floats(had, WIDE) or not isinstance(type_, TensorType) or type_.dtype == dtype:
            return made
        key = (made, str(dtype))
        if key not in self._casts:
            self._casts[key] = self._build.op("cast", made, dtype=dtype)
        return self._casts[key]


def _is_decided(type_: Type) -> bool:
    """Whether a type consists of tensors, and not of a generalised function's type variable, which may be anything."""
    if isinstance(type_, TupleType):
        return all(map(_is_decided, type_.fields))
    return isinstance(type_, TensorType) and isinstance(type_.dtype, DataType)


def _has_floats(type_: Type, dtype: DataType) -> bool:
    """Whether a tensor of this type, or one in a tuple of it, has the floating `dtype`."""
    if isinstance(type_, TupleType):
        return any(_has_floats(t, dtype) for t in type_.fields)
    return isinstance(type_, TensorType) and isinstance(type_.dtype, DataType) and type_.dtype == dtype
