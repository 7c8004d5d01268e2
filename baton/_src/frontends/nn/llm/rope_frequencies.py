"""Frequencies of rotary position embeddings, one function per kind of scaling.

Each gives, for a position `s` and an element `d` of `d_range`, the cosine and sine of its rotation, and the values of
the variables in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.tir import operators
from baton._src.tir.builders import scalar_functions
from baton._src.tir.expr import Var
from baton._src.tir.operators import const

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
    """The frequency function for a model's configuration. Errors: `ValueError`: unknown `rope_type`."""
    if "rope_type" not in rope_scaling:
        return rope_freq_default
    kind = rope_scaling["rope_type"]
    if kind not in _SCALED:
        raise fail("api", f"there is no rope_type {kind!r}", help=f"one of {', '.join(_SCALED)}", kind=ValueError)
    function, wanted = _SCALED[kind]
    return partial(function, **{name: rope_scaling[name] for name in wanted})
