"""Functions of mathematics, and quantised tensors, taken apart in terms of PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.ao.quantization.fx._decomposed

from tests.frontends.torch.cases.inputs import INF, UNIT, Case, N, floats, ints

NAN = float("nan")
EDGES = torch.tensor([0.5, 1, 2, 3.3, -0.5, -1, 0, 1e5, INF, -INF, NAN, 1e-6, -2.7, 1.999, 171.5])
WITHIN_ONE = torch.tensor([0.0, 1, -1, 0.5, -0.999999, 0.999, 1.5, 1e-8, NAN, -0.3])
HOLES = torch.tensor([[NAN, 3.0, 1, 2], [NAN] * 4, [5, 6, NAN, 4]])
COUNTS, DIVISORS = ints(4, 5, low=-50, high=50), torch.tensor([0, 6, -8, 45, 7])

SPREAD = torch.tensor([0.0, 0.3, -0.7, 5, -19.9, 20.1, 60, -60, INF, NAN, 1e-6])
MATRIX, POWERS, PAIR = floats(4, 4), ints(4, low=-3, high=4), floats(2, 4, 4)

ORTHOGONAL = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]


def orthogonal(x: Any, n: Any) -> Any:
    """Polynomials of several degrees, one of them less than none."""
    found = [getattr(torch.special, name)(x, degree) for name in ORTHOGONAL for degree in (-1, 0, 1, 5)]
    return *found, torch.special.legendre_polynomial_p(n, 2), torch.special.shifted_chebyshev_polynomial_w(x / 2, 20)


FUNCTIONS: list[Case] = [
    (lambda x: (torch.lgamma(x), torch.lgamma(x.double())), (EDGES,)),
    (lambda x: (torch.erfinv(x), torch.erfinv(x.double())), (WITHIN_ONE,)),
    (lambda a, b: (torch.gcd(a, b), torch.lcm(a, b), torch.gcd(a[0, 0] * 0, b)), (COUNTS, DIVISORS)),
    (lambda a, b: (torch.gcd(a, b), torch.lcm(a, b)), (COUNTS.to(torch.int8), DIVISORS.to(torch.int8))),
    (
        torch.gcd,
        (torch.tensor([-128, -128, 0, -128], dtype=torch.int8), torch.tensor([6, 0, 0, 127], dtype=torch.int8)),
    ),
    (lambda x: (x.nanmedian(), x.nanmedian(1, True)[0], x[::2].nanmedian(1)[1], x.nanmedian(0)[0]), (HOLES,)),
    (lambda n: (*n.mode(1), *n.mode(0, True), n.float().mode(1)[0]), (ints(5, 9, low=0, high=4),)),
    (lambda x: (torch.histc(x, 5, -1, 1), torch.histc(x, 4, 0, 9), x.histc(7), (x * 0).histc(3)), (floats(4, 6),)),
    (lambda x: (torch.digamma(x), torch.digamma(x.double())), (EDGES,)),
    (lambda x: (torch.i0(x), torch.special.i1(x), torch.special.i0e(x), torch.special.i1e(x.double())), (SPREAD,)),
    (lambda x, n: (torch.ldexp(x, n), x.put(n.abs(), x[0] * 2), x.put(n[:2] * 0, x[0, :2], True)), (MATRIX, POWERS)),
    (lambda x: (torch.nonzero_static(x > 0, size=4), torch.nonzero_static(x > 0, size=40, fill_value=-7)), (MATRIX,)),
    (lambda x: (*x.frexp(), *x.half().frexp(), *x.double().frexp()), (EDGES,)),
    (torch.frexp, (torch.tensor([5e-324, 1.7e308, -1e-310, 2.0**-1000, 0.1, -(2.0**1023)], dtype=torch.float64),)),
    (torch.linalg.det, (PAIR,)),
    (lambda a, b, c: torch.addbmm(a, b, c, beta=0.6, alpha=1.2), (ints(5, 3), ints(2, 5, 4), ints(2, 4, 3))),
]

LINE = torch.tensor([0.0, 0.2, 0.7, 1.9, 2.1, 5.5, 14, 24.9, 25.1, 90])
SIGNED = torch.cat([LINE, -LINE[1:6], torch.tensor([NAN])])
SHARES = torch.tensor([0.0, 1e-30, 0.01, 0.3, 0.5, 0.75, 0.999, 1, 1.5, -0.1, NAN])
ROOTS = torch.tensor([0.1, 0.49, 0.5, 3, 40, -0.3, -2.6, -7.25, NAN, -INF])

FUNCTIONS += [
    (
        lambda x: (torch.special.bessel_j0(x), torch.special.bessel_j1(x), torch.special.spherical_bessel_j0(x)),
        (SIGNED,),
    ),
    (lambda x: (torch.special.modified_bessel_i0(x), torch.special.modified_bessel_i1(x)), (SPREAD,)),
    (lambda x: (torch.special.erfcx(x), torch.special.erfcx(x.double()), torch.special.log_ndtr(x)), (SIGNED,)),
    (lambda p: (torch.special.ndtri(p), torch.special.ndtri(p.double()), torch.special.ndtri(p > 0)), (SHARES,)),
    (lambda x: tuple(torch.polygamma(n, x) for n in (0, 1, 2, 3, 5)), (ROOTS,)),
    (lambda x: torch.as_strided_copy(x, (2, 3), (4, 1), 1), (MATRIX,)),
    (
        lambda x, i: [x.index_reduce(0, i, x * 3, way) for way in ("amax", "mean", "prod")],
        (torch.tensor(2.0), torch.tensor([0])),
    ),
]

SHAPES = torch.tensor([0.0, 1e-6, 0.4, 1, 3.5, 19.9, 20.1, 300, 5e4, -1, INF])
AREAS = torch.tensor([0.0, 1e-3, 0.9, 2.5, 18, 22, 290, 5.01e4, -2, INF, NAN])
EXPONENTS = torch.tensor([2.0, 3, 1, 1.5, 60, 300, 0.5, NAN])
STEPS = torch.tensor([0.0, -0.0, 1, -1, 1.5, 3e38, -3e38, 1e-45, -1.5e-38, 1.2e-38, INF, -INF, NAN, 1 + 2**-23])


def neighbours(x: Any, found: Any) -> Any:
    """Whether they are those found: neighbours are closer than what outputs are compared by."""
    next_ones = torch.nextafter(x[:, None], x)
    return (next_ones == found) | (next_ones.isnan() & found.isnan())


FUNCTIONS += [
    (
        lambda x: (torch.special.bessel_y0(x), torch.special.bessel_y1(x), torch.special.bessel_y1(x.double())),
        (SIGNED,),
    ),
    (lambda x: (torch.special.modified_bessel_k0(x), torch.special.modified_bessel_k1(x.double())), (SIGNED,)),
    (
        lambda x: (torch.special.scaled_modified_bessel_k0(x), torch.special.scaled_modified_bessel_k1(x)),
        (torch.cat([SIGNED, SPREAD]),),
    ),
    (lambda a, x: (torch.igamma(a, x), torch.igammac(a.double(), x.double())), (SHAPES[:, None], AREAS)),
    (
        lambda s, q: (torch.special.zeta(s, q), torch.special.zeta(s, 2.0), torch.special.zeta(3, q.double())),
        (EXPONENTS[:, None], ROOTS[:-1]),
    ),
    *((neighbours, (x, torch.nextafter(x[:, None], x))) for x in (STEPS, STEPS.double())),
    (
        lambda x, found: neighbours(x.bfloat16(), found.bfloat16()),
        (STEPS, torch.nextafter(STEPS.bfloat16()[:, None], STEPS.bfloat16()).float()),
    ),
]

NUMBERS, WEIGHTS, TABLE = floats(40, 3), floats(40, low=0.1), floats(5, 4)
SEGMENTS, OFFSETS = torch.tensor([2, 0, 3, 1]), torch.tensor([[0, 2, 2, 6], [1, 2, 5, 5]])


def segments(data: Any, lengths: Any, offsets: Any) -> list[Any]:
    """Of every kind, empty ones too; elements that no segment has are left out."""
    kinds = ("sum", "mean", "max", "min", "prod")
    found = [torch.segment_reduce(data[0], kind, lengths=lengths) for kind in kinds]
    found += [torch.segment_reduce(data, kind, offsets=offsets, axis=1, initial=2.0) for kind in kinds]
    return [*found, torch.segment_reduce(data[0], "sum", lengths=lengths[:3], unsafe=True)]


def looked_up(table: Any, rows: Any) -> tuple[Any, ...]:
    """Tables whose rows are made shorter when they are looked up."""
    own = table.clone()
    found = torch.nn.functional.embedding(rows, own, max_norm=1.0)
    return found, torch.nn.functional.embedding_bag(rows, own * 3, max_norm=2.0, norm_type=1.0, mode="sum"), own


FUNCTIONS += [
    (
        lambda x, w: (
            *torch.histogram(x, 7),
            *torch.histogram(x[:, 0], 5, range=(-1.0, 1.5), weight=w, density=True),
            *torch.histogram(x, torch.tensor([-1.0, 0, 0.3, 2]), density=True),
            *torch.histogram(x[:0], 3),
            *torch.histogram(x * 0, 3),
        ),
        (NUMBERS, WEIGHTS),
    ),
    (
        lambda x, w: [
            part
            for hist, edges in (
                torch.histogramdd(x, [3, 2, 4]),
                torch.histogramdd(x[:, 1:], [3, 2], range=[-1.0, 1.0, -2.0, 2.0], weight=w, density=True),
                torch.histogramdd(x[:, :2], [torch.tensor([-1.0, 0, 1]), torch.tensor([-2.0, 0, 0.5])], weight=w),
            )
            for part in (hist, *edges)
        ],
        (NUMBERS, WEIGHTS),
    ),
    (segments, (floats(2, 6, 3), SEGMENTS, OFFSETS)),
    (looked_up, (TABLE, torch.tensor([[1, 3], [3, 3]]))),
    (
        lambda a, b: (
            torch.linspace(a, b, 5),
            torch.linspace(a, 3, 4),
            torch.linspace(1, b, 1),
            torch.linspace(a, 7.8, 4, dtype=torch.int64),
            torch.linspace(a * 0, b.double(), 0),
        ),
        (torch.tensor(-1.0), torch.tensor(0.7)),
    ),
    (lambda x: (x.clone().resize_(2, 3), x[0].clone().resize_as_(x[0, :2])), (TABLE,)),
    (lambda x: torch.nonzero_static(x, size=2), (torch.tensor(3.0),)),
    (orthogonal, (UNIT * 1.5, N)),
]

WEIGHT = ints(5, 6, low=-127, high=128, dtype=torch.int8)
SCALES, STARTS = floats(5, low=0.1), ints(5)


def quantised_layer(x: Any, weight: Any, scales: Any, starts: Any) -> Any:
    """A layer as PT2E leaves it: whole numbers in and out, a scale for every row of the weight."""
    whole = torch.ops.quantized_decomposed
    kept = whole.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
    wide = whole.dequantize_per_tensor(kept, 0.05, 3, -128, 127, torch.int8)
    found = torch.nn.functional.linear(
        wide, whole.dequantize_per_channel(weight, scales, starts, 0, -127, 127, torch.int8)
    )
    out = whole.quantize_per_tensor(found, 0.7, 128, 0, 255, torch.uint8)
    return kept, out, whole.quantize_per_channel(found, scales, starts, 1, -128, 127, torch.int8)


def found_scale(x: Any) -> Any:
    """Scales from the elements, as dynamic quantisation takes them."""
    whole = torch.ops.quantized_decomposed
    scale, start = whole.choose_qparams.tensor(x, -128, 127, 1e-7, torch.int8)
    kept = whole.quantize_per_tensor.tensor(x, scale, start, -128, 127, torch.int8)
    return scale, start, kept, whole.dequantize_per_tensor.tensor(kept, scale, start, -128, 127, torch.int8)


def scales_of_rows(x: Any) -> Any:
    """Dynamic quantisation of every row, with zero points and without, and of a whole tensor around zero."""
    whole = torch.ops.quantized_decomposed
    scales, starts = whole.choose_qparams_per_token(x, torch.int8)
    kept = whole.quantize_per_token(x, scales, starts, -127, 127, torch.int8)
    back = whole.dequantize_per_token(kept, scales, starts, -127, 127, torch.int8, torch.float32)
    uneven = whole.choose_qparams_per_token_asymmetric(x + 3, torch.int8)
    scale, start = whole.choose_qparams_symmetric.tensor(x, -127, 127, 1e-7, torch.int8)
    return kept, back, *uneven, scale, start, torch._int_mm(kept, kept.T)


def groups_of_rows(x: Any, scales: Any) -> Any:
    """Weights with a scale for every three elements of a row."""
    whole, starts = torch.ops.quantized_decomposed, torch.zeros_like(scales)
    kept = whole.quantize_per_channel_group(x, scales, starts, -8, 7, torch.int8, 3)
    return kept, whole.dequantize_per_channel_group(kept, scales, starts, -8, 7, torch.int8, 3, torch.float32)


QUANTISED: list[Case] = [
    (scales_of_rows, (floats(18, 8, low=-9, high=9),)),
    (groups_of_rows, (floats(4, 6), floats(4, 2, low=0.1))),
    (quantised_layer, (floats(4, 6, low=-9, high=9), WEIGHT, SCALES, STARTS)),
    (found_scale, (floats(4, 6),)),
]
