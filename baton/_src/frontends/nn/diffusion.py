"""Layers of diffusion models (`nn.TimestepEmbedding`, `nn.Timesteps`, `nn.Attention`)."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.nn import op
from baton._src.frontends.nn.image_ops import get_timestep_embedding
from baton._src.frontends.nn.layers import GroupNorm, Linear, SiLU
from baton._src.frontends.nn.module import Module, ModuleList
from baton._src.frontends.nn.tensor import Tensor
from baton._src.support.diagnostics import fail


class TimestepEmbedding(Module):
    """Two linear layers with SiLU between them."""

    def __init__(
        self, in_channels: int, time_embed_dim: int, act_fn: str = "silu", out_dim: int | None = None,
        post_act_fn: str | None = None, cond_proj_dim: int | None = None,
    ) -> None:  # fmt: skip
        if act_fn != "silu" or post_act_fn not in (None, "silu"):
            raise fail(
                "nn-tensor",
                f"only the activation 'silu' is supported, got {act_fn!r} and {post_act_fn!r}",
                kind=ValueError,
            )
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, time_embed_dim if out_dim is None else out_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Any:
        """Embeddings of time steps through two linear layers; `condition` is projected and added before."""
        if condition is not None and self.cond_proj is not None:
            sample = sample + self.cond_proj(condition)
        found = self.linear_2(self.act(self.linear_1(sample)))
        return found if self.post_act is None else self.post_act(found)


class Timesteps(Module):
    """Sines and cosines of steps."""

    def __init__(self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1) -> None:
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Any:
        """(steps,) -> (steps, num_channels): sines and cosines of the steps."""
        return get_timestep_embedding(x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift)


class Attention(Module):
    """Attention over the rows of another input (or its own), with projections before and after."""

    def __init__(
        self, query_dim: int, cross_attention_dim: int | None = None, heads: int = 8, dim_head: int = 64,
        bias: bool = False, norm_num_groups: int | None = None, out_bias: bool = True, scale_qk: bool = True,
    ) -> None:  # fmt: skip
        self.query_dim, self.cross_attention_dim = query_dim, cross_attention_dim or query_dim
        self.heads, self.dim_head, self.bias, self.out_bias = heads, dim_head, bias, out_bias
        self.norm_num_groups, self.scale_qk = norm_num_groups, scale_qk
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        self.inner_dim = dim_head * heads
        self.to_q = Linear(query_dim, self.inner_dim, bias=bias)
        self.to_k = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.to_v = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.group_norm = None if norm_num_groups is None else GroupNorm(norm_num_groups, query_dim)
        self.to_out = ModuleList([Linear(self.inner_dim, query_dim, bias=out_bias)])

    def forward(
        self, hidden_states: Tensor, encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None, **cross_attention_kwargs: Any,
    ) -> Any:  # fmt: skip
        """Attention of `hidden_states` (batch, tokens, channels) to `encoder_hidden_states`, or to themselves."""
        if attention_mask is not None:
            raise fail("nn-tensor", "Attention takes no mask", kind=ValueError)
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        beside = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        split = [0, -1, self.heads, self.dim_head]
        parts = [op.reshape(found, split) for found in (self.to_q(hidden_states), self.to_k(beside), self.to_v(beside))]
        found = op.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        return self.to_out[0](op.reshape(found, (0, -1, self.inner_dim)))
