"""How to draw a step of each kind that suits the values there are: `STEPS`, for `random_expressions`."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.frontends.torch.random_expressions import Draw, Scope, Step
from tests.frontends.torch.random_places import cut, pad, pick_elements, view, write

EXACT = ("abs", "neg", "relu", "sign", "floor", "ceil", "square", "trunc", "zeros_like", "ones_like", "clone")
SMOOTH = (
    "sin", "cos", "sigmoid", "tanh", "erf", "atan", "asinh", "expm1", "exp", "sinh", "softmax0", "log1p", "rsqrt",
    "sqrt", "log2", "logit", "i0", "erfc", "sinc", "digamma",
)  # fmt: skip
REDUCTIONS = ("sum", "amax", "amin", "prod", "mean", "var", "std", "logsumexp", "norm", "any", "count_nonzero", "all")


def smooth(s: Scope) -> Step:
    """Of what is positive where the function needs it."""
    x, name = s.pick(), s.draw.choice(SMOOTH)
    if name == "softmax0":
        axis = s.axis(x)
        return Step(lambda x: torch.softmax(x, axis), f"softmax {axis}", False)
    if name in ("log1p", "rsqrt", "sqrt", "log2", "digamma"):
        return Step(lambda x: getattr(torch, name)(x.abs() + 0.5), name, False)
    if name == "logit":
        return Step(lambda x: torch.logit(x, eps=0.1), name, False)
    return Step(getattr(torch, name), name, False)


def exact(s: Scope) -> Step:
    """Also of integers."""
    name = s.draw.choice(EXACT)
    s.pick("fi", exact=name in ("sign", "floor", "ceil", "trunc"))
    return Step(getattr(torch, name), name)


def binary(s: Scope) -> Step:
    """Of two values, of other dtypes and ranks too, or one and a number."""
    name = s.draw.choice(["add", "sub", "mul", "maximum", "minimum", "add", "mul", "sub", "hypot"])
    x = s.pick("fi")
    if s.draw.random() < 0.3:
        number = s.draw.choice([2, -1, 0.5, True, -3])
        if name in ("maximum", "minimum", "hypot"):
            return Step(lambda x: x.clamp(min=number), f"clamp {number}")
        return Step(lambda x: getattr(torch, name)(x, number), f"{name} {number}")
    s.pick("f" if name == "hypot" else "fi")
    if name in ("add", "sub") and s.draw.random() < 0.2:
        return Step(lambda x, y: getattr(torch, name)(x, y, alpha=2), f"{name} alpha 2")
    return Step(getattr(torch, name), name, name != "hypot")


def divide(s: Scope) -> Step:
    """With each way of rounding, and remainders."""
    name = s.draw.choice(["floor", "trunc", "remainder", "fmod", "true"])
    s.pick("fi", exact=name != "true")
    number = s.draw.choice([2, -3, 0.5, 4])
    if s.draw.random() < 0.5:
        if name == "true":
            return Step(lambda x: x / number, f"divide {number}", False)
        if name in ("floor", "trunc"):
            return Step(lambda x: torch.div(x, number, rounding_mode=name), f"divide {name} {number}")
        return Step(lambda x: getattr(torch, name)(x, number), f"{name} {number}")
    s.pick("fi", exact=name != "true")
    if name == "true":
        return Step(lambda x, y: x / (y.abs() + 1), "divide", False)
    if name in ("floor", "trunc"):
        return Step(lambda x, y: torch.div(x, y.abs() + 1, rounding_mode=name), f"divide {name}")
    return Step(lambda x, y: getattr(torch, name)(x, y.abs() + 1), name)


def whole(s: Scope) -> Step:
    """Bits and shifts."""
    s.pick("i")
    name = s.draw.choice(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift", "gcd"])
    if name == "bitwise_not":
        return Step(torch.bitwise_not, name)
    if name == "shift":
        return Step(lambda x: (x << 2) >> 1, name)
    s.pick("i")
    return Step(getattr(torch, name), name)


def compare(s: Scope) -> Step:
    """Comparisons, and what is made of them."""
    name = s.draw.choice(["lt", "ge", "eq", "ne", "isin"])
    s.pick("fi", exact=True)
    if name == "isin":
        return Step(lambda x: torch.isin(x, torch.tensor([0.5, 1.0, -2.0]).to(x.dtype)), name)
    if s.draw.random() < 0.5:
        return Step(lambda x: getattr(torch, name)(x, 0), f"{name} 0")
    s.pick("fi", exact=True)
    return Step(getattr(torch, name), name)


def choose(s: Scope) -> Step:
    """By truths."""
    s.pick("b")
    name = s.draw.choice(["where", "masked_fill", "and", "not", "where number"])
    if name == "not":
        return Step(torch.logical_not, name)
    if name == "and":
        s.pick("b")
        return Step(s.draw.choice([torch.logical_and, torch.logical_xor, torch.bitwise_or]), name)
    s.pick("fi")
    if name == "masked_fill":
        return Step(lambda b, x: x.masked_fill(b, 2), name)
    if name == "where number":
        return Step(lambda b, x: torch.where(b, x, -1.5), name)
    s.pick("fi")
    return Step(torch.where, name)


def convert(s: Scope) -> Step:
    """To another dtype."""
    dtype = s.draw.choice([torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8])
    x = s.pick("fib", exact=not dtype.is_floating_point)
    if dtype == torch.uint8:
        return Step(lambda x: x.abs().to(dtype), "to uint8")
    return Step(lambda x: x.to(dtype), f"{x.dtype} to {dtype}")


def reduce(s: Scope) -> Step:
    """Along one axis, several, or all."""
    name = s.draw.choice(REDUCTIONS)
    x = s.pick("fi" if name in ("sum", "amax", "amin", "any", "all", "count_nonzero") else "f", ranks=(1, 2, 3),
               exact=name in ("any", "all", "count_nonzero"))  # fmt: skip
    axis, keep = s.axis(x), s.draw.random() < 0.4
    inexact = name in ("mean", "var", "std", "logsumexp", "norm", "prod")
    if name == "norm":
        order = s.draw.choice([1, 2, float("inf")])
        return Step(lambda x: torch.linalg.vector_norm(x, order, axis, keep), f"norm {order} {axis} {keep}", False)
    if name == "count_nonzero":
        return Step(lambda x: torch.count_nonzero(x, axis), f"count_nonzero {axis}")
    if name in ("var", "std"):
        return Step(lambda x: getattr(torch, name)(x, axis, correction=0, keepdim=keep), f"{name} {axis} {keep}", False)
    if name in ("sum", "amax", "mean") and x.ndim > 1 and s.draw.random() < 0.3:
        axes = s.draw.sample(range(x.ndim), 2)
        return Step(lambda x: getattr(torch, name)(x, axes, keep), f"{name} {axes} {keep}", not inexact)
    return Step(lambda x: getattr(torch, name)(x, axis, keepdim=keep), f"{name} {axis} {keep}", not inexact)


def ordered(s: Scope) -> Step:
    """Values in order, places of the largest, and running results."""
    x = s.pick("fi", ranks=(1, 2, 3), exact=True)
    axis, down = s.axis(x), s.draw.random() < 0.5
    return Step(*s.draw.choice([
        (lambda x: x.sort(axis, descending=down).values, f"sort {axis} {down}"),
        (lambda x: x.sort(axis, descending=down, stable=True).indices, f"stable places {axis} {down}"),
        (lambda x: x.topk(2, axis, largest=down).values, f"topk {axis} {down}"),
        (lambda x: x.argmax(axis, keepdim=down), f"argmax {axis} {down}"),
        (lambda x: x.argmin(axis, keepdim=down), f"argmin {axis} {down}"),
        (lambda x: x.cumsum(axis), f"cumsum {axis}"),
        (lambda x: x.median(axis).values, f"median {axis}"),
        (lambda x: x.kthvalue(1, axis).values, f"kthvalue {axis}"),
        (lambda x: torch.searchsorted(torch.tensor([-1.0, 0.0, 1.5]), x.float(), right=down), f"searchsorted {down}"),
        (lambda x: torch.bucketize(x, torch.tensor([-1, 0, 1]), right=down), f"bucketize {down}"),
    ]))  # fmt: skip


def product(s: Scope) -> Step:
    """Of matrices and vectors, in the ways there are to write them."""
    x, _ = s.pick("f", ranks=(1, 2, 3)), s.pick("f", ranks=(1, 2, 3))
    run, name = s.draw.choice([
        (torch.matmul, "matmul"),
        (lambda x, y: x @ y.mT, "matmul transposed"),
        (lambda x, y: x.mT @ y, "transposed matmul"),
        (lambda x, y: torch.einsum("ij,kj->ik", x, y), "einsum rows"),
        (lambda x, y: torch.einsum("...ij,...ij->...i", x, y), "einsum batch"),
        (lambda x, y: torch.einsum("bij,jk->kbi", x, y), "einsum moved"),
        (lambda x, y: torch.tensordot(x, y, dims=([-1], [-1])), "tensordot"),
        (lambda x, y: functional.linear(x, y), "linear"),
        (lambda x, y: torch.outer(x.flatten()[:5], y.flatten()[:6]), "outer"),
        (lambda x, y: torch.cdist(x, y), "cdist"),
        (lambda x, y: torch.addmm(x, x, y, beta=2, alpha=0.5), "addmm"),
        (lambda x, y: functional.cosine_similarity(x, y, dim=-1), "cosine_similarity"),
    ])  # fmt: skip
    return Step(run, name, False)


def made(s: Scope) -> Step:
    """New tensors by the sizes of others."""
    x = s.pick("fi", ranks=(1, 2, 3))
    return Step(*s.draw.choice([
        (lambda x: torch.arange(x.shape[0]), "arange"),
        (lambda x: torch.arange(x.shape[0], 0, -1) * 0.5, "arange down"),
        (lambda x: torch.full((x.shape[0], 2), 1.5), "full"),
        (lambda x: x.new_zeros(2, x.shape[0]), "new_zeros"),
        (lambda x: torch.eye(x.shape[0], 4), "eye"),
        (lambda x: x * x.shape[0], "times size"),
        (lambda x: x + x.numel() / 2, "plus half the elements"),
        (lambda x: torch.ones(x.shape[0] + 1, x.shape[-1] * 2), "ones of other sizes"),
        (lambda x: torch.arange(x.shape[0]).unsqueeze(1) < torch.arange(3), "mask"),
        (lambda x: torch.linspace(0, 1, x.shape[-1]), "linspace"),
    ]))  # fmt: skip


def branch(s: Scope) -> Step:
    """torch.cond, whose arms compute other things."""
    s.pick("fi", exact=True)
    s.pick("f")
    return Step(
        lambda p, x: torch.cond(p.sum() > 0, lambda x: x.sin() + 1, lambda x: x * 2, (x,)), "cond", is_exact=False
    )


STEPS: tuple[Draw, ...] = (
    smooth, exact, binary, binary, binary, divide, whole, compare, compare, choose, choose, convert, view, view, view,
    cut, cut, pad, reduce, reduce, ordered, pick_elements, pick_elements, write, product, made, branch,
)  # fmt: skip
