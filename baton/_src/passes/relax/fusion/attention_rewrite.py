"""Attention written out as products of three axes, matched and rewritten as `R.nn.attention`.

    pattern, rewriter = make_attention_rewrite_pattern("BSNH", "BSNH", with_bias=True, with_cast=False)
    rewrite_call(pattern, rewriter, function)

    q: (b, s, n, h) -> permute_dims [0, 2, 1, 3] -> reshape (b n, s, h)      k and v alike, k transposed behind it
    matmul(softmax(matmul(q, k) * scale + bias), v) -> reshape (b, n, s, h) -> permute_dims    (layout BSNH)

With the layout BSH queries, keys, values or the result are (b, s, h) as they are: one head. A match whose axes, shapes
or bias are not those of attention stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.ops.builders import RELAX
from baton._src.relax.nodes import Expr, ShapeExpr
from baton._src.relax.patterns.builders import is_const, is_op, wildcard
from baton._src.relax.patterns.nodes import DFPattern
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer

R: Any = RELAX
Found = Mapping[DFPattern, Any]
LAYOUTS = ("BSNH", "BSH")


@dataclass(frozen=True)
class _Side:
    """How one tensor comes to the products, or leaves them: `outer` is what attention sees, `inner` what they see."""

    outer: DFPattern
    inner: DFPattern
    axes: tuple[tuple[DFPattern, tuple[int, ...]], ...]
    """The permutations between the two, and what they have to be."""

    def is_meant(self, found: Found) -> bool:
        """Whether the axes are moved as attention does."""
        return all(tuple(found[pattern].attrs.axes or ()) == axes for pattern, axes in self.axes)


def make_attention_rewrite_pattern(
    qkv_layout: str, out_layout: str, with_bias: bool, with_cast: bool, with_kv_repeat: bool = False
) -> tuple[DFPattern, Callable[[Expr, Found], Expr]]:
    """The pattern, and what `rewrite_call` takes to rewrite it. `with_cast`: the scores are computed in another dtype
    than the operands; `with_kv_repeat`: keys and values are repeated for groups of heads.

    Errors: `NotImplementedError` for a layout that is neither BSNH nor BSH.
    """
    for layout in (qkv_layout, out_layout):
        if layout not in LAYOUTS:
            raise fail("api", f"there is no layout {layout!r}", help="BSNH or BSH", kind=NotImplementedError)
    heads = qkv_layout == "BSNH"
    q, k, v = (
        _input(wildcard(), heads, name == "k", with_kv_repeat and name != "q") for name in ("q", "k", "v")
    )  # fmt: skip

    def cast(pattern: DFPattern) -> DFPattern:
        return is_op("relax.astype")(pattern) if with_cast else pattern

    scale, bias = is_const(), wildcard()
    products = is_op("relax.matmul")(q.inner, k.inner)
    scaled = is_op("relax.multiply")(products, cast(scale))
    softmax = is_op("relax.nn.softmax")(cast(is_op("relax.add")(scaled, bias) if with_bias else scaled))
    weighed = is_op("relax.matmul")(cast(softmax), v.inner)
    out = _output(weighed, out_layout == "BSNH")

    def rewriter(original: Expr, found: Found) -> Expr:
        operands = [_with_heads(found[side.outer]) for side in (q, k, v)]
        if any(o is None for o in operands) or not all(side.is_meant(found) for side in (q, k, v, out)):
            return original
        (b, s, n, h), (_, keys, _, _), (*_, size) = (o for o in operands if o is not None)
        extra = _bias(found[bias], (b, n, s, keys)) if with_bias else None
        wanted = (
            (q.inner, (b * n, s, h)),
            (products, (b * n, s, keys)),
            (weighed, (b * n, s, size)),
            (out.outer, (b, s, n, size) if out_layout == "BSNH" else (b, s, size)),
        )
        number = found[scale].data.numpy()
        if number.size != 1 or found[softmax].attrs.axis not in (-1, 2) or (with_bias and extra is None):
            return original
        if not all(_same(_shape(found[pattern]), shape) for pattern, shape in wanted):
            return original
        given = [found[side.outer] for side in (q, k, v)]
        if not heads:
            given = [R.reshape(value, shape) for value, shape in zip(given, operands, strict=True)]
        made = R.nn.attention(*given, extra, number.item())
        rewritten: Expr = made if out_layout == "BSNH" else R.reshape(made, (b, s, size))
        return rewritten

    return out.outer, rewriter


def _input(raw: DFPattern, heads: bool, transposed: bool, repeated: bool) -> _Side:
    outer = inner = is_op("relax.repeat")(raw) if repeated else raw
    axes: list[tuple[DFPattern, tuple[int, ...]]] = []
    if heads:
        inner = is_op("relax.permute_dims")(outer)
        axes.append((inner, (0, 2, 1, 3)))
        inner = is_op("relax.reshape")(inner, wildcard())
    if transposed:
        inner = is_op("relax.permute_dims")(inner)
        axes.append((inner, (0, 2, 1)))
    return _Side(outer, inner, tuple(axes))


def _output(weighed: DFPattern, heads: bool) -> _Side:
    if not heads:
        return _Side(weighed, weighed, ())
    outer = is_op("relax.permute_dims")(is_op("relax.reshape")(weighed, wildcard()))
    return _Side(outer, weighed, ((outer, (0, 2, 1, 3)),))


def _shape(value: Any) -> tuple[Any, ...] | None:
    shape = getattr(value.struct_info, "shape", None)
    return shape.values if isinstance(shape, ShapeExpr) else None


def _with_heads(value: Any) -> tuple[Any, ...] | None:
    """The shape (b, s, n, h) of a tensor with heads, or of one without: n is 1."""
    shape = _shape(value)
    if shape is None or len(shape) not in (3, 4):
        return None
    return shape if len(shape) == 4 else (shape[0], shape[1], 1, shape[2])


def _same(shape: Sequence[Any] | None, wanted: Sequence[Any]) -> bool:
    """Whether two shapes are the same whatever the sizes are."""
    if shape is None or len(shape) != len(wanted):
        return False
    analyzer = Analyzer()
    return all(analyzer.equal(a, b) is True for a, b in zip(shape, wanted, strict=True))


def _bias(value: Any, scores: tuple[Any, Any, Any, Any]) -> Any:
    """What is added to scores (b n, s, keys) as attention's bias, (b, n, s, keys); None if it cannot be told."""
    shape = _shape(value)
    if shape is None or len(shape) > 3:
        return None
    b, n, _, _ = scores
    first, *last = [1] * (3 - len(shape)) + list(shape)
    if _same((first,), (1,)):
        return R.reshape(value, (1, 1, *last))
    return R.reshape(value, (b, n, *last)) if _same((first,), (b * n,)) else None
