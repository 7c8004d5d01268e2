"""Rotary position embeddings as operators and kernels (`tvm.relax.frontend.nn.llm.position_embedding`).

What rotation does: `runtime/vm/builtins/rotary`; by which angles: `rope_frequencies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.frontends.nn.kernel_ops import tensor_expr_op
from baton._src.frontends.nn.llm.rope_frequencies import Frequency, switch_rope_freq_func
from baton._src.frontends.nn.tensor import Tensor
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.te import tensor as te
from baton._src.te.computation import compute, placeholder, var
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators
from baton._src.tir.builders import scalar_functions
from baton._src.tir.expr import Let
from baton._src.tir.operators import const
from baton._src.tir.prim_func import PrimFunc


@dataclass(frozen=True)
class _Rotation:
    """How the first `dim` elements of a head are rotated."""

    scaling: Mapping[str, Any]
    dim: int
    theta: float
    scale: float
    dtype: str

    def waves(self, position: Any, d: Any) -> Frequency:
        """Cosine and sine for element `d` at a position."""
        scaled = operators.cast("float32", position) * const(self.scale, "float32")
        return switch_rope_freq_func(self.scaling)(scaled, d, self.dim, self.theta, self.dtype)

    def rotated(self, x: te.Tensor, place: Sequence[Any], position: Any) -> Any:
        """Element `place` (.., head, d) of `x`: rotated with its partner, or as it is from `dim` on."""
        *before, d = place
        pairs_are_neighbours = self.scaling.get("rope_type") == "gptj"
        cos, sin, held = self.waves(position, d)
        step = 1 if pairs_are_neighbours else self.dim // 2
        is_first = d % 2 == 0 if pairs_are_neighbours else d < self.dim // 2
        partner = scalar_functions.if_then_else(is_first, -x(*before, d + step), x(*before, d - step))
        value = cos * x(*before, d) + sin * partner
        for name, content in held.items():
            value = Let(name, content, value)
        return scalar_functions.if_then_else(d < self.dim, value, x(*before, d))


def _split(
    qkv: te.Tensor, heads: tuple[int, int], position: Callable[..., Any], rotation: _Rotation, applied: Any = None
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
            found = rotation.rotated(qkv, (*before, head + first, d), position(*before))
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
    rotation = _Rotation(rope_scaling, rotary_dim or size, theta, scale, qkv.dtype)

    def fused_rope(x: te.Tensor, total: Any) -> list[te.Tensor]:
        def position(b: Any, s: Any) -> Any:
            return s + total - x.shape[1]

        return _split(x, (num_q_heads, num_kv_heads), position, rotation)

    q, k, v = tensor_expr_op(fused_rope, "llama_rope", [qkv, total_seq_len])
    return q, k, v


def llama_rope_with_position_map(
    theta: float, scale: float, head_dim: int, num_q_heads: int, num_kv_heads: int, dtype: str,
    rope_scaling: Mapping[str, Any], rotary_dim: int | None = None,
) -> PrimFunc:  # fmt: skip
    """The kernel (qkv, position_map, q, k, v, apply_rope) on tokens: qkv (tokens, heads, size), int32 positions.

    Queries and keys are rotated where `apply_rope` is not 0; values are copied.
    """
    tokens = var("seq_len", "int64")
    qkv = placeholder((tokens, num_q_heads + 2 * num_kv_heads, head_dim), dtype, "qkv")
    positions, applied = placeholder((tokens,), "int32", "position_map"), var("apply_rope", "int64")
    rotation = _Rotation(rope_scaling, rotary_dim or head_dim, theta, scale, dtype)
    made = _split(qkv, (num_q_heads, num_kv_heads), lambda s: positions(s), rotation, applied)
    return create_prim_func([qkv, positions, *made, applied], name="fused_rope", attrs={"op_pattern": 8})
