"""Paged KV caches for models (`tvm.relax.frontend.nn.llm.kv_cache`).

    def create(self, max_batch_size: tir.Var, ..., page_size: tir.Var) -> PagedKVCache:
        return TIRPagedKVCache(max_batch_size, ..., rope_mode=RopeMode.NORMAL, ..., dtype="float32", target=target)

    def forward(self, x: Tensor, cache: PagedKVCache) -> Tensor:
        return cache.attention_with_fused_qkv(layer, qkv(x), heads)

The cache is an object of the virtual machine (`runtime/vm/builtins/paged_cache`). Its constructor adds the kernels it
calls (`paged_kernels`) to the module. Scripts manage its sequences by
`get_global_func("vm.builtin.kv_state_add_sequence")` and the like.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.nn.llm.paged_kernels import Heads, cache_kernels
from baton._src.frontends.nn.tensor import Object, Tensor, builder_for
from baton._src.ir.expr import GraphExpr
from baton._src.relax.call_builders import call_dps_packed, call_pure_packed
from baton._src.relax.nodes import PrimValue, ShapeExpr, StringImm
from baton._src.relax.struct_info import ObjectStructInfo, TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm, Var

Size = int | Var
"""A number that is known, or a dim of the function at work."""
_NAME = "attention_with_fused_qkv"


class RopeMode(enum.IntEnum):
    """Where position embeddings are applied: not at all, before keys are stored, or during attention.

    The last two are the same here: keys are stored with their positions, except in caches whose sequences may slide.
    """

    NONE = 0
    NORMAL = 1
    INLINE = 2


class PagedKVCache(Object):
    """A cache that a function takes as an argument, or creates."""

    def attention_with_fused_qkv(
        self, layer_id: int, qkv: Tensor, num_qo_heads: int, attn_score_scaling_factor: float = 1.0,
        sm_scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        """Append the keys and values of new tokens, and compute the attention of the queries to their whole sequences.

        qkv (batch, length, queries + 2 keys, size) -> (batch, length, num_qo_heads, size). Scores are multiplied by
        `attn_score_scaling_factor` / sqrt(size), or by `sm_scale` instead.
        """
        batch, length, fused, size = qkv.shape
        factor = attn_score_scaling_factor if sm_scale is None else sm_scale * math.sqrt(size)
        tokens = qkv.reshape(batch * length, fused, size)
        call = call_dps_packed(
            "vm.builtin.attention_kv_cache_attention_with_fused_qkv",
            [self._expr, PrimValue(layer_id), PrimValue(float(factor)), tokens._expr],
            TensorStructInfo((batch * length, num_qo_heads, size), qkv.dtype),
        )
        return Tensor(_expr=builder_for(_NAME).emit(call, _NAME)).reshape(batch, length, num_qo_heads, size)

    def get_query_positions(self, total_length: Size) -> Tensor:
        """The positions of the new tokens in their sequences: int32 (total_length,)."""
        info = TensorStructInfo((total_length,), "int32")
        call = call_pure_packed("vm.builtin.attention_kv_cache_get_query_positions", self._expr, sinfo_args=[info])
        return Tensor(_expr=builder_for("get_query_positions").emit(call, "query_positions"))


class TIRPagedKVCache(PagedKVCache):
    """A new cache of `layer_partition[-1] - layer_partition[0]` layers, which are `num_hidden_layers`.

    Sizes may be dims of the function that makes it. `rope_scaling` is what models' configurations say (`rope_type` and
    its numbers), `rope_ext_factors` a float tensor for "longrope". `target` changes nothing: the CPU runs it.
    `mla_original_*` describe another kind of attention and are not read.

    Errors: `NotImplementedError` for attention other than "mha" (`attn_kind`), heads of two sizes and caches split over
    machines (`enable_disaggregation`); `ValueError` if the layers do not fit.
    """

    def __init__(
        self, *, max_batch_size: Size, max_total_seq_len: Size, prefill_chunk_size: Size, page_size: Size,
        support_sliding_window: Size, layer_partition: ShapeExpr | Sequence[int], num_hidden_layers: int,
        num_attention_heads: int, num_key_value_heads: int, rope_mode: RopeMode, rope_scale: float, rope_theta: float,
        rope_scaling: Mapping[str, Any], rotary_dim: int, dtype: str, target: Any = None, head_dim: int | None = None,
        rope_ext_factors: GraphExpr | None = None, attn_kind: str = "mha", qk_head_dim: int | None = None,
        v_head_dim: int | None = None, mla_original_qk_head_dim: int = 0, mla_original_v_head_dim: int = 0,
        enable_disaggregation: bool = False, name: str = "paged_kv_cache",
    ) -> None:  # fmt: skip
        size = qk_head_dim if head_dim is None else head_dim
        if attn_kind != "mha" or size is None or (v_head_dim or size) != size:
            raise fail(
                "nn-cache",
                "KV caches need query, key and value heads of the same size",
                help='use attn_kind="mha"',
                kind=NotImplementedError,
            )
        if enable_disaggregation:
            message = "enable_disaggregation distributes the cache over several machines, which is not supported"
            raise fail("nn-cache", message, help="leave it out", kind=NotImplementedError)
        partition = _partition(layer_partition, num_hidden_layers)
        neighbours = rope_scaling.get("rope_type") == "gptj"
        heads = Heads(
            num_attention_heads, num_key_value_heads, size, str(dtype), rotary_dim if rope_mode else 0, neighbours
        )
        call = call_pure_packed(
            "vm.builtin.paged_attention_kv_cache_create",
            ShapeExpr([max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window]),
            partition,
            *(PrimValue(number) for number in (num_attention_heads, num_key_value_heads, size, int(rope_mode))),
            *(PrimValue(float(number)) for number in (rope_scale, rope_theta)),
            StringImm(json.dumps(dict(rope_scaling))),
            PrimValue(0) if rope_ext_factors is None else rope_ext_factors,
            PrimValue(rotary_dim),
            StringImm(str(dtype)),
            *(builder_for(name).add_func(kernel, name) for name, kernel in cache_kernels(heads).items()),
            sinfo_args=[ObjectStructInfo()],
        )
        super().__init__(_expr=call, _name=name)


def _partition(layers: ShapeExpr | Sequence[int], count: int) -> ShapeExpr:
    """The boundaries between groups of layers, `count` layers in total."""
    found = layers if isinstance(layers, ShapeExpr) else ShapeExpr(list(layers))
    first, last = found.values[0], found.values[-1]
    if isinstance(first, IntImm) and isinstance(last, IntImm) and last.value - first.value != count:
        message = f"layer_partition has {last.value - first.value} layers, num_hidden_layers is {count}"
        raise fail("nn-cache", message, help="e.g. ShapeExpr([0, num_hidden_layers])", kind=ValueError)
    return found


class FlashInferPagedKVCache(PagedKVCache):
    """A cache for FlashInfer, a GPU library: refused, whatever its arguments."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise fail("nn-cache", "FlashInfer is for GPUs", help="use TIRPagedKVCache", kind=NotImplementedError)
