"""Layers of networks: convolutions, norms, pools, attention, resizing, recurrences."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tests.frontends.torch.cases.inputs import BETA, GAMMA, IMAGE, MEAN, VARIANCE, Case, X, floats, ints

KERNEL, FILTERS = floats(6, 4, 3, 2), floats(6, 2, 3, 3)


def narrow_batch_norm(x: Any, *given: Any) -> Any:
    """Of floats of 16 bits, as PyTorch's own operator; the statistics that it leaves out have a dtype, too."""
    halves = torch.native_batch_norm(x.half(), *(g.half() for g in given), False, 0.1, 1e-5)
    mixed = torch.native_batch_norm(x.half(), *given, False, 0.1, 1e-5)
    return halves[0], mixed[0]


LAYERS: list[Case] = [
    (lambda x: (functional.rms_norm(x * 300, (4,)), functional.rms_norm(x * 1e-3, (4,))), (X.half(),)),
    (lambda x, w: (functional.conv2d(x, w, stride=2, padding=1), functional.conv2d(x[0], w)), (IMAGE, KERNEL)),
    (lambda x, w, b: functional.conv2d(x, w, b, (1, 2), (2, 0), (2, 1), 2), (IMAGE, FILTERS, floats(6))),
    (lambda x, w: (functional.conv2d(x, w, padding="same"), functional.conv2d(x, w, padding="valid")), (IMAGE, KERNEL)),
    (lambda x, w: (functional.conv1d(x, w, padding=1), functional.conv1d(x[0], w)), (floats(2, 3, 7), floats(5, 3, 3))),
    (lambda x, w: functional.conv3d(x, w, padding=1), (floats(1, 2, 4, 4, 4), floats(3, 2, 2, 2, 2))),
    (lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1), (IMAGE, floats(4, 3, 3, 3))),
    (lambda x, w, b: functional.conv_transpose1d(x, w, b, 2), (floats(2, 3, 7), floats(3, 2, 3), floats(2))),
    (lambda x, g, b, m, v: functional.batch_norm(x, m, v, g, b), (IMAGE, GAMMA, BETA, MEAN, VARIANCE)),
    (lambda x, m, v: functional.batch_norm(x, m, v), (floats(3, 4), MEAN, VARIANCE)),
    (narrow_batch_norm, (IMAGE, GAMMA, BETA, MEAN, VARIANCE)),
    (lambda x, g, b: functional.batch_norm(x, None, None, g, b, training=True), (IMAGE, GAMMA, BETA)),
    (lambda x: functional.batch_norm(x, None, None, training=True), (floats(3, 4),)),
    (lambda x, g, b: (functional.layer_norm(x, (4,), g, b), functional.layer_norm(x, (3, 4))), (X, GAMMA, BETA)),
    (  # as autocast has it: weights are wider than inputs
        lambda x, g, b: (
            functional.layer_norm(x[..., 0, :4].half(), (4,), g, b),
            functional.group_norm(x.half(), 2, g, b),
            torch.native_layer_norm(x[..., 0, :4].half(), (4,), g, b, 1e-5)[0],
        ),
        (IMAGE, GAMMA, BETA),
    ),
    (  # squares of which narrow floats do not hold
        lambda x, g, b: (
            functional.group_norm(x, 2, g, b),
            functional.instance_norm(x, None, None, g, b),
            functional.batch_norm(x, None, None, g, b, training=True),
            functional.normalize(x),
        ),
        (IMAGE.half() * 300, GAMMA.half(), BETA.half()),
    ),
    (lambda x, g: (functional.rms_norm(x, (4,), g), functional.rms_norm(x, (4,), None, 1e-3)), (X, GAMMA)),
    (
        lambda x, g, b: (functional.group_norm(x, 2, g, b), functional.instance_norm(x, None, None, g, b)),
        (IMAGE, GAMMA, BETA),
    ),
    (lambda x, g, b: torch.ops.aten.native_group_norm(x, g, b, 2, 4, 72, 2, 1e-5)[0], (IMAGE, GAMMA, BETA)),
    (lambda n, w: functional.embedding(n, w), (ints(2, 3, low=0, high=5), floats(5, 4))),
]

POOLS: list[Case] = [
    (  # places within the image where its elements are as little as the border
        lambda x: (
            functional.max_pool2d(x, 3, 2, 1, return_indices=True)[1],
            functional.max_pool2d(x, 2, 1, 1, 3, return_indices=True)[1],
        ),
        (torch.full((1, 1, 5, 5), -torch.inf),),
    ),
    (lambda x: (functional.avg_pool3d(x, 2), functional.adaptive_avg_pool3d(x, 3)), (floats(0, 1, 4, 5, 4),)),
    (lambda x: functional.avg_pool2d(x, (2, 3), (3, 2), 1, True, True), (IMAGE,)),
    (
        lambda x: (functional.avg_pool2d(x, 3, 2, 1, True, True), functional.avg_pool2d(x, 2, divisor_override=3)),
        (ints(1, 3, 9, 8),),
    ),
    (
        lambda x: (functional.avg_pool2d(x, 3, 2, 1, True, False, 5), functional.avg_pool2d(x, 2, 3, 0, True, True, 3)),
        (IMAGE,),
    ),
    (lambda x: functional.max_pool2d(x, 2, 3, 1, (1, 2), True, return_indices=True), (IMAGE,)),
    (lambda x: functional.max_pool2d((x * 5).int(), 3, 2, 1, 1, True, return_indices=True), (IMAGE,)),
    (lambda x: functional.max_pool1d(x[0], 3, 2, 1, 1, True, return_indices=True), (IMAGE,)),
    (lambda x: functional.adaptive_max_pool2d(x, (3, 2), return_indices=True), (IMAGE,)),
    (lambda x: functional.adaptive_max_pool2d(x, (4, 3), return_indices=True), (IMAGE,)),
    (lambda x: functional.adaptive_max_pool1d((x[0, :, 0] * 2).round(), 5, return_indices=True), (IMAGE,)),
    (lambda x: functional.max_pool3d(x, 2, 2, 1, 1, True, return_indices=True), (floats(1, 2, 4, 5, 4),)),
    (lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), (IMAGE,)),
    (lambda x: functional.max_pool2d(x[0].relu(), 2, (2, 1), dilation=(1, 2), return_indices=True), (IMAGE,)),
    (lambda x: (functional.max_pool2d(x, 3, 2, 1), functional.max_pool2d(x, 2, ceil_mode=True)), (IMAGE,)),
    (lambda x: (functional.max_pool2d(x[0], 2, 1, dilation=2), functional.max_pool1d(x[0], 3)), (IMAGE,)),
    (lambda x: (functional.avg_pool2d(x, 3, 2, 1), functional.avg_pool2d(x, 3, 2, 1, False, False)), (IMAGE,)),
    (lambda x: (functional.avg_pool2d(x, 2, ceil_mode=True), functional.avg_pool1d(x[0], 3)), (IMAGE,)),
    (lambda x: (functional.adaptive_avg_pool2d(x, 1), functional.adaptive_avg_pool2d(x, (3, None))), (IMAGE,)),
    (lambda x: (functional.adaptive_avg_pool1d(x[0], 5), functional.adaptive_avg_pool2d(x[0], (4, 5))), (IMAGE,)),
    (lambda x: (functional.adaptive_max_pool2d(x, (2, 3)), functional.adaptive_max_pool1d(x[0], 1)), (IMAGE,)),
    (lambda x: (functional.max_pool3d(x, 2), functional.avg_pool3d(x, 2)), (floats(1, 2, 4, 4, 4),)),
]

QUERY, KEYS, VALUES = floats(2, 4, 5, 8), floats(2, 4, 6, 8, seed=1), floats(2, 4, 6, 3, seed=2)

SEEN = torch.tensor([[1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]]).bool()

ATTENTIONS: list[Case] = [
    (functional.scaled_dot_product_attention, (QUERY, KEYS, VALUES)),
    (lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True), (QUERY, KEYS, VALUES)),
    (lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m), (QUERY, KEYS, VALUES, SEEN)),
    (
        lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m, scale=0.3),
        (QUERY, KEYS, VALUES, floats(5, 6)),
    ),
    (  # queries that see nothing give 0, and NaN stays
        lambda q, k, v, m: (
            functional.scaled_dot_product_attention(q, k, v, torch.where(m, 0.5, -torch.inf)),
            functional.scaled_dot_product_attention(q + torch.where(m.sum(1, True) == 1, torch.nan, 0), k, v, m),
        ),
        (QUERY, KEYS, VALUES, SEEN),
    ),
    (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
        (QUERY, KEYS, VALUES),
    ),
    (  # of which narrow floats lose so much that softmax chooses other values
        lambda q, k, v: functional.scaled_dot_product_attention((q * 9).half(), (k * 9).half(), v.half()),
        (QUERY, KEYS, VALUES),
    ),
    (lambda q, k, v: functional.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0]), (QUERY, KEYS, VALUES)),
]


def shrunk(x: Any, mode: str, align: bool) -> Any:
    """Sizes, and factors, where one axis shrinks and the other grows."""
    by_factor = functional.interpolate(x, scale_factor=(0.6, 1.3), mode=mode, align_corners=align, antialias=True)
    return by_factor, functional.interpolate(x, (4, 13), mode=mode, align_corners=align, antialias=True)


def fine(x: Any, size: tuple[int, ...], mode: str) -> Any:
    """What float64 tells apart, and float32 does not."""
    return (functional.interpolate(1 + 1e-7 * x.double(), size, mode=mode) - 1) * 1e7


BYTES = ints(1, 2, 4, 4, low=0, high=256, dtype=torch.uint8)

RESIZES: list[Case] = [
    *((lambda x, m=m, a=a: shrunk(x, m, a), (IMAGE,)) for m in ("bilinear", "bicubic") for a in (False, True)),
    (lambda u: functional.interpolate(u, scale_factor=1.7, mode="bilinear"), (BYTES,)),
    (lambda u: functional.interpolate(u, size=(3, 7), mode="bicubic"), (BYTES,)),
    (lambda u: functional.interpolate(u, size=(3, 7), mode="nearest"), (BYTES,)),
    (lambda x: (functional.interpolate(x, scale_factor=2), functional.interpolate(x, (5, 13))), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"), (IMAGE,)),
    (lambda x: functional.interpolate(x, (7, 4), mode="bilinear", align_corners=True), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=(1.3, 0.7), mode="bilinear"), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=1.7, mode="nearest"), (IMAGE,)),
    (lambda x: functional.interpolate(x, (5, 11), mode="nearest-exact"), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=1.3, mode="bicubic"), (IMAGE,)),
    (lambda x: functional.interpolate(x, (11, 5), mode="bicubic"), (IMAGE,)),
    *((lambda x, m=m: fine(x, (4, 13), m), (IMAGE,)) for m in ("bilinear", "bicubic")),
    (lambda x: (functional.interpolate(x[0], 6), functional.interpolate(x[0], 6, mode="linear")), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=2, mode="trilinear"), (floats(1, 2, 3, 4, 3),)),
    (lambda x, p: functional.grid_sample(x, p, align_corners=False), (IMAGE, floats(2, 3, 5, 2))),
    (lambda x, p: functional.grid_sample(x, p, "nearest", "border", True), (IMAGE, floats(2, 3, 5, 2))),
    (lambda x: (functional.pixel_shuffle(x, 2), functional.pixel_unshuffle(x[:, :, :8], 2)), (IMAGE,)),
]


def cells(kind: Any, weights: list[Any], states: list[Any], both: bool) -> Case:
    """A recurrent layer called as `torch.nn` calls it."""
    count = len(states)

    def run(x: Any, *tensors: Any) -> Any:
        start = tensors[:count] if count > 1 else tensors[0]
        return kind(x, start, list(tensors[count:]), True, 1, 0.0, False, both, False)

    return run, (floats(4, 2, 3), *states, *weights)


def gates(count: int, both: bool, projected: int = 0) -> list[Any]:
    """Weights for states of 2 numbers (which may be projected) and inputs of 3, of one direction or two."""
    shapes: list[tuple[int, ...]] = [(2 * count, 3), (2 * count, projected or 2), (2 * count,), (2 * count,)]
    if projected:
        shapes.append((projected, 2))
    return [floats(*shape, seed=seed) for seed in range(1 + both) for shape in shapes]


RECURRENCES: list[Case] = [
    cells(torch.lstm, gates(4, True), [floats(2, 2, 2), floats(2, 2, 2, seed=1)], True),
    cells(torch.lstm, gates(4, True, projected=1), [floats(2, 2, 1), floats(2, 2, 2, seed=1)], True),
    cells(torch.gru, gates(3, False), [floats(1, 2, 2)], False),
    cells(torch.rnn_tanh, gates(1, True), [floats(2, 2, 2)], True),
    cells(torch.rnn_relu, gates(1, False), [floats(1, 2, 2)], False),
]
