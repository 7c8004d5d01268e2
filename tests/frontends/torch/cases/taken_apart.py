"""What PyTorch keeps whole and `programs/decompositions.py` takes apart; complex tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tests.frontends.torch.cases.inputs import GAMMA, IMAGE, UNIT, Case, N, X, floats, ints

PADDED = torch.zeros(2, 5)
PADDED[0, 3:] = -float("inf")


def encoded(x: Any, mask: Any, mask_type: int | None, norm_first: bool, *weights: Any) -> Any:
    """What `nn.TransformerEncoderLayer` calls where no gradients are wanted."""
    attention, norms, hidden = weights[:4], weights[4:8], weights[8:]
    layer = torch.ops.aten._transformer_encoder_layer_fwd
    return layer(x, 8, 2, *attention, norm_first, norm_first, 1e-5, *norms, *hidden, mask, mask_type)


ENCODER = [
    *(floats(24, 8), floats(24), floats(8, 8), floats(8), floats(8, seed=1), floats(8, seed=2)),
    *(floats(8, seed=3), floats(8, seed=4), floats(6, 8), floats(6), floats(8, 6), floats(8, seed=5)),
]


LABELS = torch.tensor([[0, -1, 2, 3], [1, 2, 3, 0], [2, 0, -1, -1], [-1, 0, 0, 0]])


def margins(x: Any, labels: Any) -> Any:
    """Labels behind a -1 are none."""
    ways = ("none", "mean", "sum")
    found = [functional.multilabel_margin_loss(x, labels, reduction=way) for way in ways]
    return *found, functional.multilabel_margin_loss(x[0], labels[2])


def bags(weight: Any, words: Any, starts: Any, counts: Any) -> Any:
    """The ways of `nn.EmbeddingBag`; the second of the bags is empty."""
    modes = [functional.embedding_bag(words, weight, starts, mode=m, padding_idx=2) for m in ("sum", "mean", "max")]
    rows = functional.embedding_bag(words.view(2, 3), weight)
    ends = torch.tensor([0, 4, 6])
    last = functional.embedding_bag(words, weight, ends, mode="sum", include_last_offset=True)
    return *modes, rows, last, functional.embedding_bag(words, weight, starts, mode="sum", per_sample_weights=counts)


def strided(x: Any) -> Any:
    """Overlapping windows, the whole in another order, and what lies in columns."""
    y = x * 2
    turned = x.transpose(0, 1).contiguous().transpose(0, 1)
    return x.as_strided((3, 4), (2, 1), 1), y.as_strided((4, 3, 2), (1, 4, 12)), turned.as_strided((6,), (2,))


TIES = torch.tensor([[1.0, 3, 3, float("nan"), 9, 2], [2, 2, 1, 0, 2, 0.5]])

WHOLE_IN_PYTORCH: list[Case] = [
    (lambda x, *w: encoded(x, None, None, True, *w), (floats(2, 5, 8), *ENCODER)),
    (lambda x, m, *w: encoded(x, m, 1, False, *w), (floats(2, 5, 8), PADDED, *ENCODER)),
    (
        lambda x, k, m, *w: torch.ops.aten._native_multi_head_attention(x, k, k, 8, 2, *w, m, True, True, 0),
        (floats(2, 5, 8), floats(2, 5, 8, seed=1), torch.ones(5, 5).triu(1).bool(), *ENCODER[:4]),
    ),
    (bags, (floats(5, 3), torch.tensor([0, 2, 4, 4, 1, 3]), torch.tensor([0, 3, 3]), floats(6))),
    (lambda x: tuple(functional.pdist(x, p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))), (floats(4, 3),)),
    (margins, (floats(4, 4), LABELS)),
    (lambda a, b: tuple(torch.cdist(a, b, p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))), (X, floats(2, 5, 4))),
    (lambda x: (*x.cummax(1), *x.cummin(1), *x.cummax(0), *(x > 1).int().cummax(1)), (TIES,)),
    (lambda x: (x.logcumsumexp(1), (x * 50).logcumsumexp(-1)), (X,)),
    (strided, (X,)),
    (lambda x, w: torch.ops.aten._native_batch_norm_legit.no_stats(x, w, w, True, 0.1, 1e-5)[0], (IMAGE, GAMMA)),
]
"""What is taken apart by `programs/decompositions.py`, in terms of PyTorch."""


def drawn_windows(image: Any, volume: Any, samples: Any) -> Any:
    """Pools whose windows lie where samples say, and what becomes of a gradient."""
    aten = torch.ops.aten
    flat, places = aten.fractional_max_pool2d(image, [2, 3], [4, 3], samples[:, :, :2])
    single = aten.fractional_max_pool2d(image[0], [2, 2], [1, 5], samples[:1, :, :2])
    deep = aten.fractional_max_pool3d(volume, [2, 3, 2], [2, 3, 1], samples)
    return flat, places, *single, *deep, aten.fractional_max_pool2d_backward(flat * 2, image, [2, 3], [4, 3], places)


def windows(x: Any) -> Any:
    """Of a length, of one element, of none; the second half of an even and of an odd number of frequencies."""
    plain = (torch.bartlett_window, torch.blackman_window, torch.hamming_window, torch.kaiser_window)
    found = [window(n) * x for window in plain for n in (7, 1)]
    whole = [window(7, periodic=False, dtype=torch.float64) for window in plain] + [window(0) for window in plain]
    hamming = torch.hamming_window(7, True, 0.6), torch.hamming_window(7, False, 0.6, 0.3)
    frequencies = [f(n, 0.5) for f in (torch.fft.fftfreq, torch.fft.rfftfreq) for n in (7, 8, 1)]
    return (
        *found,
        *whole,
        *hamming,
        torch.kaiser_window(7, True, 5),
        *frequencies,
        torch.fft.fftfreq(4, dtype=torch.float64),
    )


MORE_IN_TERMS_OF_PYTORCH: list[Case] = [
    (windows, (floats(7),)),
    (drawn_windows, (IMAGE, floats(2, 4, 5, 7, 4), floats(2, 4, 3, low=0.0, high=1.0))),
    (lambda x: (x.unfold(1, 2, 1), x.unfold(0, 2, 2), torch.diagonal_scatter(x, x[:, 0] * 9, 1)), (UNIT,)),
    (lambda x: (x.index_reduce(0, torch.tensor([1, 1]), x, "amax"), torch.dist(x, x * 2, 1)), (UNIT,)),
    (
        lambda a, b: torch.addbmm(a[0].T[:, :1], a.transpose(1, 2), b, beta=0.5, alpha=2),
        (floats(2, 3, 4), floats(2, 3, 5)),
    ),
    (torch.nn.Bilinear(3, 4, 2), (floats(5, 3), floats(5, 4))),
    (
        functional.bilinear,
        (ints(5, 3, dtype=torch.int32), ints(5, 4, dtype=torch.int32), ints(2, 3, 4, dtype=torch.int32)),
    ),
    (lambda e, x: (torch.searchsorted(e, x), torch.searchsorted(e[0], x, right=True)), (UNIT.sort()[0], UNIT)),
    (lambda e, x: (torch.searchsorted(e, x / 0), torch.searchsorted(e, x / 0, right=True)), (UNIT.sort()[0], UNIT * 0)),
    (lambda e: (torch.searchsorted(e, 0.1), torch.bucketize(0, e, right=True)), (UNIT[0].sort()[0],)),
    (lambda x: x.scatter(1, torch.tensor([[0], [1]]), 2.0, reduce="add"), (UNIT,)),
    (functional.rrelu, (X,)),
    (lambda n: (torch.einsum("ij->i", n), torch.einsum("ij,kj->ik", n, n)), (N.to(torch.uint8),)),
]

SIGNAL = floats(2, 5, 12)

COMPLEX: list[Case] = [
    (lambda x: (torch.fft.rfft(x).abs(), torch.fft.rfft(x, 9, 1, "ortho").angle(), torch.fft.fft2(x).real), (SIGNAL,)),
    (lambda x: (torch.fft.irfft(torch.fft.rfft(x), 12), torch.fft.irfft(torch.fft.rfft(x, 11), 11)), (SIGNAL,)),
    (lambda x: (torch.fft.ifft(torch.fft.fft(x, norm="forward"), 7, 1).imag, torch.fft.hfft(x[0]).sum()), (SIGNAL,)),
    (lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * torch.fft.rfft2(x.flip(2)), s=(5, 12)), (SIGNAL,)),
    (lambda x: torch.view_as_real(torch.fft.fftshift(torch.fft.fftn(x), (1, 2))), (SIGNAL,)),
    (
        lambda x: torch.istft(torch.stft(x[:, 0].repeat(1, 4), 8, 3, window=torch.ones(8), return_complex=True), 8, 3),
        (SIGNAL,),
    ),
    (
        lambda x: [
            torch.view_as_real(z)
            for c in [torch.view_as_complex(x.view(2, 5, 6, 2))]
            for z in (
                c * c,
                c / (c + 2),
                c * 1j - 1,
                c @ c.mT,
                c.conj().exp(),
                torch.cat([c, c * 2], 1)[:, 1:7:2],
                -c,
                c.sum(1),
                c * x[:, :, :6],
                x[:, :, :6] / c,
                torch.polar(c.abs(), c.angle()),
                c.to(torch.complex128),
            )
        ],
        (SIGNAL,),
    ),
]
"""Complex tensors within a program."""
