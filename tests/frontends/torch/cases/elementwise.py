"""Operators of single elements: arithmetic, activations, numbers at the edges."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.frontends.torch.cases.inputs import DIVISOR, INF, NAN, POSITIVE, UNIT, B, Case, M, N, X, Y

UNARY: list[Case] = [
    *((f, (UNIT,)) for f in (torch.acos, torch.asin, torch.atan, torch.atanh, torch.cos, torch.cosh, torch.erf)),
    *((f, (UNIT,)) for f in (torch.exp, torch.neg, torch.sigmoid, torch.sign, torch.sin, torch.sinh, torch.tan)),
    *((f, (UNIT,)) for f in (torch.tanh, torch.asinh, torch.expm1, torch.log1p, torch.erfc, torch.square, torch.abs)),
    *((f, (POSITIVE,)) for f in (torch.log, torch.log2, torch.log10, torch.sqrt, torch.rsqrt, torch.reciprocal)),
    *((f, (X * 3,)) for f in (torch.floor, torch.ceil, torch.round, torch.trunc)),
    *((f, (torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),)) for f in (torch.isnan, torch.isinf)),
    (lambda x: torch.acosh(x + 1), (POSITIVE,)),
    (torch.isfinite, (torch.tensor([1.0, float("nan"), float("inf")]),)),
    (torch.nan_to_num, (torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),)),
    (lambda n: (torch.sqrt(n.abs()), torch.abs(n), torch.floor(n), torch.neg(n), ~n), (N,)),
    (lambda b: (~b, torch.logical_not(b), b.to(torch.float32), b.int()), (B,)),
    (lambda x: (x.to(torch.int32), x.bool(), x.double(), x.half().float()), (X,)),
    (lambda x: x.clone().contiguous().detach(), (X,)),
]

BINARY: list[Case] = [
    (lambda x, y: (x + y, x - y, x * y, x / y, y - x), (X, Y)),
    (lambda x: (x + 1, 1 - x, 2 * x, x / 3, 1 / (x + 5), x.add(x, alpha=2), x.sub(x, alpha=0.5)), (X,)),
    (lambda n, m: (n + m, n * m, n / m, n // m, n % m, torch.fmod(n, m), n - 2, n * 1.5), (N, M)),
    (lambda n, x: (n + x, n * x, n > x, torch.maximum(n.float(), x)), (N, UNIT)),
    (
        lambda n: (n // -2, n % -2, torch.div(n, 2, rounding_mode="trunc"), torch.div(n, 2), -7 // n.abs().clamp(1)),
        (N,),
    ),
    (lambda x, d: (torch.div(x, d, rounding_mode="floor"), torch.div(x, d, rounding_mode="trunc")), (X * 4, DIVISOR)),
    (lambda x, d: (torch.remainder(x, d), torch.fmod(x, d), x // 0.7, x % -1.5), (X * 4, DIVISOR)),
    (lambda b, n: (b + n, b * b, b & b, b | ~b, b ^ b, b == n, b < ~b, b + b), (B, N)),
    (lambda n, m: (n & m, n | m, n ^ m, n << m, n >> m, n & 3, torch.bitwise_left_shift(3, m)), (N, M)),
    (lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y, x > 0, x == 1), (X, Y)),
    (lambda n: (n > 0.5, n == 1, n <= 2.5, n != -1), (N,)),
    (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), torch.max(x, y), torch.min(x, y)), (X, Y)),
    (lambda x: (x**2, x**3, x**0.5, x**-0.5, 2.0**x, x**x, x**1), (POSITIVE,)),
    (lambda n: (n**2, n**0, 2.0**n, n.abs() ** n.abs()), (N,)),
    (lambda x: (x.clamp(-1, 1), x.clamp(min=0.5), x.clamp(max=0.5), x.clamp_min(0), x.clamp_max(0.1)), (X,)),
    (lambda x, y: x.clamp(y, y + 1), (X, Y)),
    (lambda n: (n.clamp(-1, 2), n.clamp(min=0.5)), (N,)),
    (lambda b, x: (torch.where(b, x, 0.0), torch.where(b, x, x + 1), x.masked_fill(b, -1e9)), (B, UNIT)),
    (lambda b, n: (torch.where(b, n, 1.5), torch.where(b, 1, 2), n.masked_fill(b, torch.tensor(7))), (B, N)),
    (lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, x)), (X, Y)),
    (lambda x: (torch.addcmul(x, x, x, value=0.5), torch.addcdiv(x, x, x + 9, value=2), x.lerp(x * 2, 0.3)), (X,)),
    (  # products that overflow in another order, and ends that are reached exactly
        lambda x: (
            torch.addcmul(x, x, x, value=1e-30),
            torch.addcdiv(x, x * 1e18, x * 1e-12, value=1e-20),
            x.half().addcmul(x.half() * 300, x.half() * 300, value=0.001),
            torch.lerp(x, x * 0 + 1, 1.0),
            torch.lerp(x, x * 0 + 1, torch.tensor([1.0, 0.25])),
        ),
        (torch.tensor([1e8, 1e20]),),
    ),
    (lambda x, y: (torch.atan2(x, y), torch.atan2(-x, -y), torch.angle(x), torch.angle((x * 4).int())), (X, Y)),
    (lambda h, x: (h + 1, h * x, (h + 1.5).dtype == torch.float16 and h), (X.half(), torch.tensor(2.0))),
    (  # numbers that narrow floats do not hold
        lambda h: ((1 - h) * -1e9, h / 1e5, h * torch.tensor(1e5), (h.bfloat16() / 1e39).float(), 70000 - h),
        (B.half(),),
    ),
    (lambda x: (x.type_as(x), x + torch.tensor([1.0, 2, 3, 4])), (X,)),
]

FAR, APART = torch.linspace(-16, -2, 15), torch.linspace(0, 4, 9)

ACTIVATIONS: list[Case] = [
    (lambda x: (functional.softplus(x) * torch.exp(-x), functional.mish(x) * torch.exp(-x)), (FAR,)),
    (lambda x: (functional.logsigmoid(-x) * torch.exp(-x), functional.softplus(x, 2) * torch.exp(-2 * x)), (FAR,)),
    (lambda x: torch.erfc(x) * torch.exp(x * x), (torch.cat((APART, torch.arange(5.0, 10))),)),
    (lambda x: (functional.elu(x) / x, functional.selu(x) / x, torch.expm1(x) / x), (-(10.0 ** -torch.arange(9.0)),)),
    *((f, (X * 3,)) for f in (functional.relu, functional.relu6, functional.silu, functional.hardsigmoid)),
    *((f, (X * 3,)) for f in (functional.hardswish, functional.softplus, functional.mish, functional.logsigmoid)),
    *((f, (X * 3,)) for f in (functional.elu, functional.selu, functional.celu, functional.gelu, functional.hardtanh)),
    *((f, (X,)) for f in (functional.softshrink, functional.hardshrink, functional.tanhshrink, functional.softsign)),
    (lambda x: (functional.leaky_relu(x, 0.2), functional.elu(x, 0.5), functional.celu(x, 0.5)), (X,)),
    (lambda x: (functional.gelu(x, approximate="tanh"), functional.hardtanh(x, -0.5, 0.7)), (X,)),
    (lambda x: (functional.hardshrink(x * NAN), functional.threshold(x * NAN, 0, 1)), (X,)),
    (lambda x: (functional.softplus(x * 9, 2, 5), functional.threshold(x, 0.1, 20), functional.glu(x)), (X,)),
    (lambda x, w: (functional.prelu(x, w), functional.prelu(x[0, 0], w[:1])), (X, torch.tensor([0.1, 0.2, 0.3]))),
    (lambda x: (x.softmax(1), x.log_softmax(-1), x[0, 0, 0].softmax(0), torch.softmax(x, 0, torch.float64)), (X,)),
    (lambda x: functional.dropout(x, 0.5, False), (X,)),
    (lambda n: (functional.relu(n), functional.relu6(n), functional.hardtanh(n, -2, 2)), (N,)),
]

SPECIAL_NUMBERS = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e38, -200.0])

SPECIALS: list[Case] = [
    (
        lambda a, b: (torch.atan2(a, b), torch.hypot(a, b), torch.fmax(a, b), torch.fmin(a, b)),
        (SPECIAL_NUMBERS.repeat(9, 1).T, SPECIAL_NUMBERS),
    ),
    (
        lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.copysign(a, b), a**b),
        (SPECIAL_NUMBERS.repeat(9, 1).T, SPECIAL_NUMBERS),
    ),
    (
        lambda a: (torch.sign(a), torch.sgn(a), torch.signbit(a), torch.expm1(a), torch.log1p(a), torch.exp2(a)),
        (SPECIAL_NUMBERS,),
    ),
    (lambda a: (a.median(), a.median(0)[0], a.sort()[0], a.argmax(), a.max(), a.topk(2)[0]), (SPECIAL_NUMBERS,)),
    (lambda b: (b.sign(), b.square(), functional.pad(b[None], (1, 2), "circular"), torch.signbit(b)), (B,)),
    (lambda a: functional.hardswish(a), (SPECIAL_NUMBERS,)),
    (lambda x: (x.round(decimals=1), torch.exp2(x), (x * 30).round(decimals=-1)), (UNIT,)),
    (
        lambda n: (torch.arange(-0.9, 2.1, 2.0, dtype=torch.int64) + n[:1, 0], torch.arange(3.1, dtype=torch.int64)),
        (N,),
    ),
    (lambda u: (u == 3, u - 1, u * 2, u // 2, u.clamp(1, 200), -u), (torch.tensor([0, 3, 255], dtype=torch.uint8),)),
]
"""Zeros with signs, infinities, NaN, numbers beyond a dtype; floats as bounds of whole numbers."""
