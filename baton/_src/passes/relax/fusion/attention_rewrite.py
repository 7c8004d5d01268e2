"""Match attention written as matrix products over three axes, and rewrite it as `R.nn.attention`.

    pattern, rewriter = make_attention_rewrite_pattern("BSNH", "BSNH", with_bias=True, with_cast=False)
    rewrite_call(pattern, rewriter, function)

    q: (b, s, n, h) -> permute_dims [0, 2, 1, 3] -> reshape (b n, s, h)      k and v alike, k transposed behind it
    matmul(softmax(matmul(q, k) * scale + bias), v) -> reshape (b, n, s, h) -> permute_dims    (layout BSNH)

With the layout BSH queries, keys, values or the result are (b, s, h) directly: one head. A match whose axes, shapes or
bias are not those of attention is left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ops.builders import RELAX
from baton._src.relax.nodes import Expr, ShapeExpr
from baton._src.relax.patterns.builders import is_const, is_op, wildcard
from baton._src.relax.patterns.nodes import DFPattern
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer

R: Any = RELAX
Found = Mapping[DFPattern, Any]
Shape = tuple[Any, ...]
LAYOUTS = ("BSNH", "BSH")


@dataclass(frozen=True)
class _Side:
    """How one tensor enters or leaves the products: `outer` is its form for attention, `inner` its form in the
    products.
    """

    outer: DFPattern
    inner: DFPattern
    axes: tuple[tuple[DFPattern, tuple[int, ...]], ...] = ()
    """The permutations between the two forms, and their required values."""

    def moves_heads(self, found: Found) -> bool:
        """Whether the axes are permuted as attention does."""
        return all(tuple(found[pattern].attrs.axes or ()) == axes for pattern, axes in self.axes)


@dataclass(frozen=True)
class _Attention:
    """The patterns of the parts of attention that is written out."""

    operands: tuple[_Side, _Side, _Side]
    """Queries, keys, values."""
    scale: DFPattern
    bias: DFPattern | None
    products: DFPattern
    softmax: DFPattern
    out: _Side
    qkv_layout: str
    out_layout: str

    def rewritten(self, original: Expr, found: Found) -> Expr:
        """The call of the operator for a match; `original` where the match is something else."""
        shapes = [_with_heads(found[side.outer]) for side in self.operands]
        q, k, v = shapes
        if q is None or k is None or v is None or not self._computes_attention(found, q, k, v):
            return original
        b, s, n, _ = q
        bias = None if self.bias is None else _bias(found[self.bias], (b, n, s, k[1]))
        if self.bias is not None and bias is None:
            return original
        given = [found[side.outer] for side in self.operands]
        if self.qkv_layout == "BSH":
            given = [R.reshape(value, shape) for value, shape in zip(given, shapes, strict=True)]
        made: Expr = R.nn.attention(*given, bias, found[self.scale].data.numpy().item())
        return made if self.out_layout == "BSNH" else R.reshape(made, (b, s, v[3]))

    def _computes_attention(self, found: Found, q: Shape, k: Shape, v: Shape) -> bool:
        """Whether the axes, the scale and the intermediate shapes are those of attention over tensors of these shapes
        (b, s, n, h).
        """
        (b, s, n, h), keys, size = q, k[1], v[3]
        if not (_same(k, (b, keys, n, h)) and _same(v, (b, keys, n, size))):
            return False  # heads of other sizes, as many elements as these
        shapes = (
            (self.operands[0].inner, (b * n, s, h)),
            (self.products, (b * n, s, keys)),
            (self.out.inner, (b * n, s, size)),
            (self.out.outer, (b, s, n, size) if self.out_layout == "BSNH" else (b, s, size)),
        )
        return (
            all(side.moves_heads(found) for side in (*self.operands, self.out))
            and found[self.scale].data.numpy().size == 1
            and found[self.softmax].attrs.axis in (-1, 2)
            and all(_same(_shape(found[pattern]), shape) for pattern, shape in shapes)
        )


def make_attention_rewrite_pattern(
    qkv_layout: str, out_layout: str, with_bias: bool, with_cast: bool, with_kv_repeat: bool = False
) -> tuple[DFPattern, Callable[[Expr, Found], Expr]]:
    """The pattern, and what `rewrite_call` takes to rewrite it. `with_cast`: the scores are computed in a different
    dtype than the operands; `with_kv_repeat`: keys and values are repeated for groups of heads.

    Errors: `NotImplementedError` for a layout that is neither BSNH nor BSH.
    """
    for layout in (qkv_layout, out_layout):
        if layout not in LAYOUTS:
            raise fail("api", f"there is no layout {layout!r}", help="BSNH or BSH", kind=NotImplementedError)

    def cast(pattern: DFPattern) -> DFPattern:
        return is_op("relax.astype")(pattern) if with_cast else pattern

    has_heads = qkv_layout == "BSNH"
    q = _input(has_heads)
    k = _input(has_heads, transposed=True, repeated=with_kv_repeat)
    v = _input(has_heads, repeated=with_kv_repeat)
    scale, bias = is_const(), wildcard() if with_bias else None
    products = is_op("relax.matmul")(q.inner, k.inner)
    scores = is_op("relax.multiply")(products, cast(scale))
    softmax = is_op("relax.nn.softmax")(cast(scores if bias is None else is_op("relax.add")(scores, bias)))
    out = _output(is_op("relax.matmul")(cast(softmax), v.inner), out_layout == "BSNH")
    attention = _Attention((q, k, v), scale, bias, products, softmax, out, qkv_layout, out_layout)
    return out.outer, attention.rewritten


def _input(has_heads: bool, transposed: bool = False, repeated: bool = False) -> _Side:
    """The path of queries, keys or values to the products; keys are `transposed` at its end."""
    outer = inner = is_op("relax.repeat")(wildcard()) if repeated else wildcard()
    axes: list[tuple[DFPattern, tuple[int, ...]]] = []
    if has_heads:
        inner = is_op("relax.permute_dims")(outer)
        axes.append((inner, (0, 2, 1, 3)))
        inner = is_op("relax.reshape")(inner, wildcard())
    if transposed:
        inner = is_op("relax.permute_dims")(inner)
        axes.append((inner, (0, 2, 1)))
    return _Side(outer, inner, tuple(axes))


def _output(weighed: DFPattern, has_heads: bool) -> _Side:
    """The path of the weighted values to the result."""
    if not has_heads:
        return _Side(weighed, weighed)
    outer = is_op("relax.permute_dims")(is_op("relax.reshape")(weighed, wildcard()))
    return _Side(outer, weighed, ((outer, (0, 2, 1, 3)),))


def _shape(value: GraphExpr) -> Shape | None:
    shape = getattr(value.struct_info, "shape", None)
    return shape.values if isinstance(shape, ShapeExpr) else None


def _with_heads(value: GraphExpr) -> Shape | None:
    """The shape (b, s, n, h) of a tensor with heads, or of one without: n is 1."""
    shape = _shape(value)
    if shape is None or len(shape) not in (3, 4):
        return None
    return shape if len(shape) == 4 else (shape[0], shape[1], 1, shape[2])


def _same(shape: Sequence[Any] | None, wanted: Sequence[Any]) -> bool:
    """Whether two shapes are equal for all values of their variables."""
    if shape is None or len(shape) != len(wanted):
        return False
    analyzer = Analyzer()
    return all(analyzer.equal(a, b) is True for a, b in zip(shape, wanted, strict=True))


def _bias(value: GraphExpr, scores: tuple[Any, Any, Any, Any]) -> Any:
    """What is added to the scores (b n, s, keys), as the bias of attention, (b, n, s, keys); None if it cannot be
    expressed so.
    """
    shape = _shape(value)
    if shape is None or len(shape) > 3:
        return None
    b, n, _, _ = scores
    first, *last = [1] * (3 - len(shape)) + list(shape)
    if _same((first,), (1,)):
        return R.reshape(value, (1, 1, *last))
    return R.reshape(value, (b, n, *last)) if _same((first,), (b * n,)) else None
