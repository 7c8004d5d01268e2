"""Rotary position embeddings as expressions and kernels (`tvm.relax.frontend.nn.llm.position_embedding`).

A function of frequencies gives, for a position `s` and an element `d` of `d_range`, the cosine and the sine that the
element is rotated by, and what the variables in them stand for. What rotation does: `runtime/vm/builtins/rotary`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from baton._src.frontends.nn.kernel_ops import tensor_expr_op
from baton._src.frontends.nn.tensor import Tensor
from baton._src.support.diagnostics import fail
from baton._src.te import tensor as te
from baton._src.te.computation import compute, placeholder, var
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators, scalar_functions
from baton._src.tir.expr import Let, Var
from baton._src.tir.operators import const
from baton._src.tir.prim_func import PrimFunc

Frequency = tuple[Any, Any, dict[Var, Any]]


def _exponent(d: Any, d_range: int) -> Any:
    """2 d / d_range of the pair that element `d` belongs to, pairs being d_range / 2 apart."""
    return operators.cast("float32", d * 2 % d_range) / const(d_range, "float32")


def _waves(frequency: Any, dtype: str, factor: float = 1.0) -> Frequency:
    name = Var("freq", "float32")
    cos, sin = scalar_functions.cos(name), scalar_functions.sin(name)
    if factor != 1.0:
        cos, sin = cos * const(factor, "float32"), sin * const(factor, "float32")
    return cos.astype(dtype), sin.astype(dtype), {name: frequency}


def rope_freq_default(s: Any, d: Any, d_range: int, theta: float, dtype: str) -> Frequency:
    """s / theta^(2 d / d_range)"""
    return _waves(s / operators.power(const(theta, "float32"), _exponent(d, d_range)), dtype)


def rope_freq_gptj(s: Any, d: Any, d_range: int, theta: float, dtype: str) -> Frequency:
    """The same for pairs of neighbours."""
    exponent = operators.cast("float32", 2 * (d // 2) % d_range) / const(d_range, "float32")
    return _waves(s / operators.power(const(theta, "float32"), exponent), dtype)


def rope_freq_llama3(
    s: Any, d: Any, d_range: int, theta: float, dtype: str, factor: float, low_freq_factor: float,
    high_freq_factor: float, original_max_position_embeddings: float,
) -> Frequency:  # fmt: skip
    """Low frequencies are divided by `factor`, high ones stay, those between are mixed."""
    plain = Var("orig_freq", "float32")
    width = high_freq_factor - low_freq_factor
    slope = const(original_max_position_embeddings / (2 * math.pi) / width, "float32")
    share = plain * slope - const(low_freq_factor / width, "float32")
    zero, one = const(0, "float32"), const(1, "float32")
    kept = operators.max(zero, operators.min(one, share))
    mixed = (one - kept) * plain * const(1 / factor, "float32") + kept * plain
    cos, sin, held = _waves(s * mixed, dtype)
    # The variables are bound one around the other, the last outermost: frequencies mention `plain`.
    return cos, sin, {**held, plain: one / operators.power(const(theta, "float32"), _exponent(d, d_range))}


def rope_freq_longrope(
    s: Any, d: Any, d_range: int, theta: float, dtype: str, max_position_embeddings: int,
    original_max_position_embeddings: int, ext_factors: Any = None,
) -> Frequency:  # fmt: skip
    """Each frequency divided by its own of `ext_factors`; waves are higher the longer sequences may be."""
    ratio = max_position_embeddings / original_max_position_embeddings
    height = math.sqrt(1 + math.log(ratio) / math.log(original_max_position_embeddings)) if ratio > 1 else 1.0
    divisor = operators.power(const(theta, "float32"), _exponent(d, d_range))
    if ext_factors is not None:
        divisor = ext_factors[d % (d_range // 2)] * divisor
    return _waves(s / divisor, dtype, height)


_SCALED: Mapping[str, tuple[Callable[..., Frequency], tuple[str, ...]]] = {
    "gptj": (rope_freq_gptj, ()),
    "llama3": (
        rope_freq_llama3,
        ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    ),
    "longrope": (rope_freq_longrope, ("max_position_embeddings", "original_max_position_embeddings")),
}


def switch_rope_freq_func(rope_scaling: Mapping[str, Any]) -> Callable[..., Frequency]:
    """The function of frequencies that a model's configuration asks for. Errors: `ValueError`: no such `rope_type`."""
    if "rope_type" not in rope_scaling:
        return rope_freq_default
    kind = rope_scaling["rope_type"]
    if kind not in _SCALED:
        raise fail("api", f"there is no rope_type {kind!r}", help=f"one of {', '.join(_SCALED)}", kind=ValueError)
    function, wanted = _SCALED[kind]
    return partial(function, **{name: rope_scaling[name] for name in wanted})


def _rotated(x: te.Tensor, place: Sequence[Any], position: Any, waves: Callable[..., Frequency], pairs: Any) -> Any:
    """Element `place` of `x` (.., head, d), rotated if it is of the first; `pairs`: how many, whether neighbours."""
    *before, d = place
    dim, neighbours = pairs
    cos, sin, held = waves(position, d)
    step = 1 if neighbours else dim // 2
    is_first = d % 2 == 0 if neighbours else d < dim // 2
    partner = scalar_functions.if_then_else(is_first, -x(*before, d + step), x(*before, d - step))
    value = cos * x(*before, d) + sin * partner
    for name, content in held.items():
        value = Let(name, content, value)
    return scalar_functions.if_then_else(d < dim, value, x(*before, d))


def _split(
    qkv: te.Tensor, heads: tuple[int, int], position: Callable[..., Any], waves: Callable[..., Frequency], pairs: Any,
    applied: Any = None,
) -> list[te.Tensor]:  # fmt: skip
    """Queries and keys rotated, and values as they are; with `applied` queries and keys are rotated if it is not 0."""
    *outer, _, size = qkv.shape
    queries, keys = heads

    def part(first: int, count: int, name: str, rotates: bool) -> te.Tensor:
        def element(*place: Any) -> Any:
            *before, head, d = place
            plain = qkv(*before, head + first, d)
            if not rotates:
                return plain
            found = _rotated(qkv, (*before, head + first, d), position(*before), waves, pairs)
            return found if applied is None else scalar_functions.if_then_else(applied != 0, found, plain)

        made: te.Tensor = compute((*outer, count, size), element, name)
        return made

    return [part(0, queries, "q", True), part(queries, keys, "k", True), part(queries + keys, keys, "v", False)]


def llama_rope(
    qkv: Tensor, total_seq_len: Any, theta: float, scale: float, num_q_heads: int, num_kv_heads: int,
    rope_scaling: Mapping[str, Any], rotary_dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries and keys of `qkv` (batch, length, heads, size) rotated, and its values.

    The tokens are the last ones of sequences of `total_seq_len`. Errors: `ValueError` if the heads do not add up.
    """
    *_, fused, size = qkv.shape
    if fused != num_q_heads + 2 * num_kv_heads:
        message = f"{fused} heads are not {num_q_heads} of queries and {num_kv_heads} each of keys and values"
        raise fail("nn-tensor", message, kind=ValueError)
    dim, dtype = rotary_dim or size, qkv.dtype
    frequencies = switch_rope_freq_func(rope_scaling)

    def waves(position: Any, d: Any) -> Frequency:
        return frequencies(operators.cast("float32", position) * const(scale, "float32"), d, dim, theta, dtype)

    def fused_rope(x: te.Tensor, total: Any) -> list[te.Tensor]:
        def position(b: Any, s: Any) -> Any:
            return s + total - x.shape[1]

        return _split(x, (num_q_heads, num_kv_heads), position, waves, (dim, _are_neighbours(rope_scaling)))

    q, k, v = tensor_expr_op(fused_rope, "llama_rope", [qkv, total_seq_len])
    return q, k, v


def llama_rope_with_position_map(
    theta: float, scale: float, head_dim: int, num_q_heads: int, num_kv_heads: int, dtype: str,
    rope_scaling: Mapping[str, Any], rotary_dim: int | None = None,
) -> PrimFunc:  # fmt: skip
    """The kernel (qkv, position_map, q, k, v, apply_rope) on tokens: qkv (tokens, heads, size), int32 positions.

    Queries and keys are rotated where `apply_rope` is not 0; values are copied.
    """
    dim, tokens = rotary_dim or head_dim, var("seq_len", "int64")
    qkv = placeholder((tokens, num_q_heads + 2 * num_kv_heads, head_dim), dtype, "qkv")
    positions, applied = placeholder((tokens,), "int32", "position_map"), var("apply_rope", "int64")
    frequencies = switch_rope_freq_func(rope_scaling)

    def waves(position: Any, d: Any) -> Frequency:
        return frequencies(operators.cast("float32", position) * const(scale, "float32"), d, dim, theta, dtype)

    heads, pairs = (num_q_heads, num_kv_heads), (dim, _are_neighbours(rope_scaling))
    made = _split(qkv, heads, lambda s: positions(s), waves, pairs, applied)
    return create_prim_func([qkv, positions, *made, applied], name="fused_rope", attrs={"op_pattern": 8})


def _are_neighbours(rope_scaling: Mapping[str, Any]) -> bool:
    return rope_scaling.get("rope_type") == "gptj"
