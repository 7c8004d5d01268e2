"""ToMixedPrecision: heavy operators compute in a narrow floating dtype, delicate ones in float32, the rest follows.

    conv2d(%x, %w)      becomes      conv2d(cast(%x, "float16"), cast(%w, "float16"))

ALWAYS operators get narrow operands; NEVER operators get float32; FOLLOW operators are narrow where all their floating
operands are. `register_mixed_precision_conversion(name, rule)` says otherwise: `rule(call, dtype)` gives
`[category, accumulation dtype, result dtype]`, category 0 for ALWAYS, 1 for FOLLOW, 2 for NEVER. The results keep
the types the program had with `keep_orig_output_dtype` (a context setting).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.ir.types import TensorType
from baton._src.passes.relay.building import Build, dtype_of
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import Call, Function, Tuple, TupleGetItem
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.values.dtype import DataType

ALWAYS, FOLLOW, NEVER_NARROW = 0, 1, 2
"""TVM's categories."""

NEVER = frozenset(
    (
        *("exp", "log", "log2", "log10", "erf", "power", "tan", "sinh", "cosh"),
        *("nn.softmax", "nn.log_softmax", "nn.batch_norm", "nn.layer_norm", "nn.group_norm", "nn.instance_norm"),
        *("nn.l2_normalize", "variance", "std", "mean", "sum", "prod", "cast", "cast_like"),
    )
)
"""Their results suffer from a narrow dtype; casts say themselves what they want."""


@dataclass(frozen=True)
class ToMixedPrecision(RelayFunctionPass):
    """`missing_op_mode` is what happens to operators of no list: 0 error, 1 warn and keep float32, 2 keep float32."""

    opt_level: ClassVar[int] = 0
    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        narrow = DataType(self.mixed_precision_type)
        if not narrow.is_float or narrow.bits >= 32:
            raise fail("api", f"mixed precision with {narrow}", help='give "float16" or "bfloat16"')
        keep = bool(ctx.setting("relay.ToMixedPrecision.keep_orig_output_dtype"))
        return _Narrowing(narrow, keep).run(function)


class _Narrowing:
    """One function; `_dtype[node]` is the floating dtype its value has now, if that changed."""

    def __init__(self, narrow: DataType, keep_output: bool) -> None:
        self._narrow = narrow
        self._keep_output = keep_output
        self._build = Build()
        self._done: dict[Any, Any] = {}
        self._is_narrow: set[Any] = set()
        self._casts: dict[tuple[Any, str], Any] = {}

    def run(self, function: Function) -> Function:
        for node in walk(function):
            made = self._call(node) if isinstance(node, Call) and isinstance(node.op, Op) else self._other(node)
            if made is not node:
                self._done[node] = made
        body = self._done.get(function.body, function.body)
        if not self._keep_output:
            ret = None if function.body in self._is_narrow else function.ret_annotation
            return function if body is function.body else function.with_fields(body=body, ret_annotation=ret)
        return function.with_fields(body=self._as(function.body, DataType("float32")))

    def _as(self, node: Any, dtype: DataType) -> Any:
        """The rewritten node as `dtype`, cast at most once."""
        made = self._done.get(node, node)
        if not _is_float(node) or (node in self._is_narrow) == (dtype == self._narrow):
            return made
        key = (node, str(dtype))
        if key not in self._casts:
            self._casts[key] = self._build.op("cast", made, dtype=dtype)
        return self._casts[key]

    def _call(self, node: Call) -> Any:
        floats = [a for a in node.args if _is_float(a)]
        category, sums, result = self._conversion(node)
        follows = category == FOLLOW and all(a in self._is_narrow or _is_literal(a) for a in floats)
        becomes_narrow = bool(floats) and (
            category == ALWAYS or (follows and any(a in self._is_narrow for a in floats))
        )
        target = self._narrow if becomes_narrow else DataType("float32")
        args = tuple(self._as(a, target) for a in node.args)
        made = node if all(x is y for x, y in zip(args, node.args)) else node.with_fields(args=args)
        if becomes_narrow and "out_dtype" in getattr(made.attrs, "names", ()):
            made = made.with_fields(attrs=replace(made.attrs, out_dtype=sums))
        made = self._build.call(made) if made is not node else made
        if becomes_narrow and _is_float(node):
            if dtype_of(made) != result:
                made = self._build.op("cast", made, dtype=result)
            if result == self._narrow:
                self._is_narrow.add(node)
        return made

    def _conversion(self, node: Call) -> tuple[int, DataType, DataType]:
        """The category of an operator, the dtype it sums in, and that of its result, if it becomes narrow."""
        user = node.op.get_attr("FTVMMixedPrecisionConversionType")
        if user is not None:
            category, sums, result = user(node, str(self._narrow))
            if category not in (ALWAYS, FOLLOW, NEVER_NARROW):
                help = "it is 0 (always), 1 (follow) or 2 (never)"
                raise fail("api", f"{node.op.name}: mixed precision category {category!r}", help=help)
            return category, DataType(sums or self._narrow), DataType(result or self._narrow)
        definition = node.op.definition
        if definition.fusion is Fusion.OUT_EWISE_FUSABLE and _is_heavy(node.op.name):
            return ALWAYS, self._narrow, self._narrow
        light = definition.fusion in (Fusion.ELEMWISE, Fusion.BROADCAST, Fusion.INJECTIVE)
        return (FOLLOW if light and node.op.name not in NEVER else NEVER_NARROW), self._narrow, self._narrow

    def _other(self, node: Any) -> Any:
        """Tuples and projections pass dtypes on; everything else gets what it had."""
        if isinstance(node, TupleGetItem):
            return with_parts(node, self._done)
        if isinstance(node, Tuple):
            wide = DataType("float32")
            return with_parts(node, {f: self._as(f, wide) for f in node.fields})
        wide = DataType("float32")
        return with_parts(node, {p: self._as(p, wide) for p in parts(node)}) if not isinstance(node, Function) else node


def _is_heavy(name: str) -> bool:
    return any(word in name for word in ("conv", "dense", "matmul"))


def _is_float(node: Any) -> bool:
    type_ = getattr(node, "checked_type_", None)
    return isinstance(type_, TensorType) and isinstance(type_.dtype, DataType) and type_.dtype == "float32"


def _is_literal(node: Any) -> bool:
    return type(node).__name__ == "Constant"
