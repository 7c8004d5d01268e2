"""`relay.transform.recast`: compute some operators of a program in another dtype, keeping the program's own types.

    nn.conv2d(%x, %w)
becomes
    cast(nn.conv2d(cast(%x, "int8"), cast(%w, "int8"), out_dtype="int32"), "float32")

It is meant for measuring the speed of operators; values are cast, not scaled, so results differ.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ops.catalogue import CATALOGUE, unknown_op
from baton._src.passes.relay.building import Build
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import rewrite, walk
from baton._src.relay.nodes import Call, Tuple

DEFAULT = ("nn.conv2d",)


def recast(
    expr: Any,
    dtype: str,
    out_dtype: str,
    ops: Collection[str] | None = None,
    skip_layers: Collection[int] | None = None,
) -> Any:
    """`expr` with calls of `ops` (convolutions, if None) on operands of `dtype`, giving `out_dtype`.

    `skip_layers` are numbers of such calls, in order, that stay; negative ones count from the last. Error `op-unknown`:
    one of `ops` that there is not.
    """
    typed = infer_expr(expr)
    wanted = DEFAULT if ops is None else tuple(ops)
    calls = [n for n in walk(typed) if isinstance(n, Call) and isinstance(n.op, Op)]
    layers = [n for n in calls if n.op.name in wanted]
    for name in wanted:
        if name not in CATALOGUE and all(n.op.name != name for n in layers):
            raise unknown_op(name, CATALOGUE.relay_names(), "Relay ")
    skipped = {layers[i] for i in skip_layers or () if -len(layers) <= i < len(layers)}
    chosen = set(layers) - skipped
    build = Build()

    def rule(old: Any, new: Any) -> Any:
        if old not in chosen:
            return None
        attrs = new.attrs
        if attrs is not None and "out_dtype" in attrs.names:
            attrs = attrs.with_attrs(out_dtype=out_dtype)
        args = [_cast(build, given, had, dtype) for given, had in zip(new.args, old.args)]
        made = infer_expr(new.with_fields(args=tuple(args), attrs=attrs))
        return build.op("astype", made, dtype=str(old.checked_type.dtype))

    return infer_expr(rewrite(typed, rule))


def _cast(build: Build, given: Any, had: Any, dtype: str) -> Any:
    if isinstance(had, Tuple):
        return build.tuple(*(_cast(build, g, h, dtype) for g, h in zip(given.fields, had.fields)))
    return build.op("astype", given, dtype=dtype)


__all__ = ["recast"]
