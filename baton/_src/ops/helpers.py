"""Functions that users call like operators, but that only compose them: no `OpDef`, no name of their own in a program.

Relax: linear, masked_fill. Relay: mean_variance, mean_std. Each takes the namespace of its language first.
Source: facts relax-ops-passes-vm §1, relay-language §6 level 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.support.diagnostics import fail


def linear(op: Any, data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    """data wᵀ (+ bias): weight is (out_features, in_features)."""
    found = op.matmul(data, op.permute_dims(weight), out_dtype=out_dtype)
    return found if bias is None else op.add(found, bias)


def masked_fill(op: Any, x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask holds, `x` elsewhere."""
    return op.where(mask, op.full_like(x, value), x)


def eye_like(op: Any, x: Any, k: Any = 0, dtype: Any = None) -> Any:
    """Ones on diagonal `k`, zeros elsewhere, in the shape of the matrix `x`, whose dims are known (maybe symbolic)."""
    info = x.struct_info_
    values = getattr(getattr(info, "shape", None), "values", None)
    if values is None or len(values) != 2:
        raise fail("op-shape", f"eye_like takes a matrix of known shape, got {info!r}", help="match_cast it first")
    kind = dtype if dtype is not None else info.dtype
    return op.eye(values[0], values[1], k, dtype=kind)


def mean_variance(op: Any, data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Any:
    """(mean, variance) over axes."""
    options = {"axis": axis, "keepdims": keepdims, "exclude": exclude}
    return op.mean(data, **options), op.variance(data, **options)


def mean_std(op: Any, data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Any:
    """(mean, standard deviation) over axes."""
    options = {"axis": axis, "keepdims": keepdims, "exclude": exclude}
    return op.mean(data, **options), op.std(data, **options)


RELAX_HELPERS: Mapping[str, Callable[..., Any]] = {"linear": linear, "masked_fill": masked_fill, "eye_like": eye_like}
RELAY_HELPERS: Mapping[str, Callable[..., Any]] = {"mean_variance": mean_variance, "mean_std": mean_std}
