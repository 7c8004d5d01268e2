"""Complex tensors: functions of their parts, operators within programs, inputs and results of `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import linalg, nn
from torch.nn import functional

import baton
from baton._src.frontends.torch.complex.decompositions import OF_ONE
from baton._src.frontends.torch.complex.functions import of_parts
from baton._src.frontends.torch.programs.tracing import export
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.frontend.torch import from_exported_program
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.factors import linear_algebra
from tests.frontends.torch.cases.inputs import NAN, Case, floats
from tests.frontends.torch.comparing import Many, assert_same, check, exported_cases

_ENDS = torch.tensor([0.0, -0.0, 0.5, -0.5, 1, -1, 2, -2, 1e-8, 30, -30, 1e3, -1e3, 1e10])
POINTS = torch.complex(*(part.reshape(-1) for part in torch.meshgrid(_ENDS, _ENDS, indexing="ij")))
"""Around zero, on both sides of the lines where functions jump, and far away."""


def numbers(*shape: int, seed: int = 0) -> Any:
    return torch.complex(*floats(*shape, 2, seed=seed).unbind(-1))


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_complex_numbers(name: str) -> None:
    """As PyTorch computes them in complex128; where it has NaN (far left of sigmoid, 1 / 0) ours may be a number."""
    function = getattr(torch, name, None) or getattr(functional, name)
    points = torch.cat((POINTS, numbers(200) * 2))
    found = torch.view_as_real(of_parts(OF_ONE[name])(points))
    expected = torch.view_as_real(function(points.to(torch.complex128)).to(torch.complex64))
    found = torch.where(expected.isnan(), NAN, found)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7, equal_nan=True)


def of_parts_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of complex tensors, given and returned as reals."""

    def applied(*tensors: Any) -> Any:
        found = function(*(torch.view_as_complex(t) if t.is_floating_point() else t for t in tensors))
        found = found if isinstance(found, tuple) else (found,)
        return tuple(torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in found)

    return applied


def lengths(z: Any) -> Any:
    norms = (torch.linalg.vector_norm(z, ord, 1) for ord in (1, 2, float("inf")))
    return *norms, z.std(1), z.var(), functional.normalize(z, dim=0), z.logsumexp(1)


def questions(z: Any) -> Any:
    w = torch.where(z.real > 0, z, 0)
    truths = (w.any(1), w.all(), w.logical_not(), torch.logical_and(w, z))
    return z == z.conj(), z != w, z == 1j, z.isnan(), (z / 0).isinf(), z.isfinite(), z.isreal(), *truths


def mended(z: Any) -> Any:
    broken = torch.where(z.real > 0, torch.complex(z.real / 0, z.imag), torch.complex(z.real, z.imag * NAN))
    return broken.nan_to_num(), broken.nan_to_num(1, 2, 3)


def written(z: Any, places: Any) -> Any:
    w = z.clone()
    w[:, 1:] = 2 - 1j
    w[0] += z[1]
    added = torch.zeros_like(z).index_add(0, places, z), z.index_put((places,), z * 2, accumulate=True)
    multiples = [z.index_add(0, places, z, alpha=alpha) for alpha in (2, 0.5 - 2j)]
    numbers = [z.scatter(1, places[:, None], number) for number in (2, 1j)]
    copied = z.index_copy(0, places, z.conj()), z.masked_fill(z.real > 0, 1j)
    return w, *added, *multiples, *numbers, *copied, torch.diag_embed(z).tril()


def made(z: Any) -> Any:
    filled = torch.full((2, 3), 1 - 2j), torch.full_like(z, 2), z.new_zeros(2), torch.ones(2, dtype=z.dtype)
    rows = torch.vander(z[0]), functional.embedding(torch.tensor([[2, 0]]), z)
    return *filled, *rows, torch.eye(2, dtype=z.dtype), torch.block_diag(z, z), z + torch.tensor(1 + 1j), z.roll(1, 1)


def products(a: Any, b: Any) -> Any:
    x, y = a[0], b[0, :, :3]
    sums = torch.addmm(y[0], x, y, beta=2, alpha=0.5 + 1j), torch.baddbmm(b[:, :1], a, b), torch.addmv(x[:, 0], x, y[0])
    sums += torch.addbmm(y[0], a, b[:, :, :3], beta=0.6 - 1j, alpha=0.2), torch.addbmm(y[0], a, b[:, :, :3], beta=0)
    return *sums, torch.dot(x[0], x[1]), torch.vdot(x[0], x[1]), torch.outer(x[0], y[0]), functional.linear(x, y)


def reinterpreted(z: Any) -> Any:
    whole = torch.view_as_real(z).flatten(1).view(z.dtype), z.view(torch.complex128)
    return z.view(torch.float32), z.view(torch.int16), *whole


def chained(z: Any) -> Any:
    return z.prod(), z.prod(1, keepdim=True), z[:0].prod(0), z.cumprod(1)


def powers(z: Any) -> Any:
    return (
        z**2,
        z**-1.5,
        z ** (1 + 2j),
        2**z,
        z**z,
        (z * 0) ** 0.5,
        z**0,
        z.square(),
        z.rsqrt(),
        z.tanh(),
        1 / z,
        z / (z * 0),
        torch.complex(torch.tensor([100.0, 100.0]), torch.tensor([0.0, 1e-20])).exp().imag + z.real[:, :2] * 0,
        torch.sub(z, 1j, alpha=2 + 1j),
    )


PLAIN = (lengths, questions, mended, made, powers, reinterpreted)
CASES: list[Case] = [
    *((of_parts_of(function), (floats(3, 4, 2),)) for function in PLAIN),
    (of_parts_of(chained), (floats(3, 3, 2),)),
    (of_parts_of(written), (floats(3, 4, 2), torch.tensor([2, 0, 1]))),
    (of_parts_of(products), (floats(2, 3, 3, 2), floats(2, 3, 3, 2, seed=1))),
    (
        of_parts_of(lambda x, w, b: (functional.conv2d(x, w, b, 2, 1), functional.conv_transpose2d(x, w))),
        (floats(2, 3, 5, 5, 2), floats(3, 3, 2, 2, 2), floats(3, 2)),
    ),
]


def test_operators_in_programs() -> None:
    exported, inputs, expected = exported_cases(CASES)
    check(exported, inputs, expected, "complex", level=0)


def test_products_of_open_length() -> None:
    """Of more elements than the program was exported for, and of none; determinants are such."""
    module = Many([(of_parts_of(lambda z: (*chained(z), linalg.det(z))), ())])
    size = torch.export.Dim("size")
    exported = export(module, (((floats(4, 4, 2),),),), ((({0: size, 1: size},),),))
    model = baton.compile(exported)
    for count in (4, 7):
        given = floats(count, count, 2)
        assert_same(model(given.numpy()), module(((given,),))[0], f"{count} elements")
    assert np.asarray(model(np.zeros((0, 0, 2), "float32"))[0]).tolist() == [1, 0]


def test_linear_algebra() -> None:
    """What real matrices have, and whether adjoints are conjugated. By the machine, which Relay does not call."""
    cases: list[Case] = [
        (of_parts_of(function), tuple(torch.view_as_real(z.resolve_conj()).contiguous() for z in given))
        for function, given in linear_algebra(numbers)
    ]
    exported, inputs, expected = exported_cases(cases)
    check(exported, inputs, expected, "linear algebra", level=0, relay=False)


def test_linear_algebra_in_double_precision() -> None:
    def found(z: Any) -> Any:
        x = z.to(torch.complex128)
        return linalg.inv(x), linalg.solve(x, x.mH), *linalg.qr(x), linalg.eigvalsh(x), linalg.svdvals(x)

    exported, inputs, expected = exported_cases([(of_parts_of(found), (floats(2, 3, 3, 2),))])
    check(exported, inputs, expected, "complex128", level=0, relay=False)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda z: linalg.inv(z - z), "matrix 0 of the batch: pivot 1 is zero"),
        (lambda z: linalg.solve(z - z, z), "pivot 1 is zero"),
        (lambda z: linalg.cholesky(z.mH @ z - 1e3 * torch.eye(3)), "leading minor 1 is not positive"),
    ],
    ids=["inverse", "solution", "factor"],
)
def test_complex_matrices_without_factors_are_errors(function: Any, told: str) -> None:
    matrices = floats(2, 3, 3, 2)
    exported = export(Many([(of_parts_of(function), (matrices,))]), (((matrices,),),))
    with pytest.raises(DiagnosticError, match=told):
        baton.compile(exported)(matrices.numpy())


GRADIENTS: dict[str, Callable[..., Any]] = {
    "inverse": lambda z: linalg.inv(z),
    "solution": lambda z: linalg.solve(z, z[..., :2] * 2),
    "cholesky": lambda z: linalg.cholesky(z @ z.mH + 4 * torch.eye(4)),
    "determinant": lambda z: linalg.det(z),
    "spectrum": lambda z: linalg.eigh(z + z.mH)[0],
    "singular values": lambda z: linalg.svd(z)[1].pow(3),
    "exponential": lambda z: linalg.matrix_exp(z),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_linear_algebra(name: str) -> None:
    def loss(z: Any) -> Any:
        return GRADIENTS[name](z).abs().square().sum()

    found = []
    torch._dynamo.reset()
    for used in (loss, torch.compile(loss, backend="baton")):
        z = numbers(2, 4, 4).requires_grad_()
        value = used(z)
        found.append((value, *torch.autograd.grad(value, z)))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-3)


def test_numbers_that_a_mask_picks() -> None:
    """Both parts of a result have one length, which a run finds."""
    picked = of_parts_of(lambda z: (z[z.real > 0] * 2, z.masked_select(z.imag > 0), (z * z.real.relu()).nonzero()))
    exported, inputs, expected = exported_cases([(picked, (floats(3, 4, 2),))])
    check(exported, inputs, expected, "picked", level=0)


class Rotary(nn.Module):
    """Positions are complex numbers in a buffer, as models of language keep them."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(16.0), 10000.0 ** (-torch.arange(4) / 4))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns[: x.shape[1]]).flatten(-2)


@pytest.mark.parametrize("options", [{}, {"freeze": True}], ids=["input", "frozen"])
def test_complex_buffers_of_compiled_modules(options: dict[str, bool]) -> None:
    module = Rotary()
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="baton", options=options, dynamic=True)
    with torch.no_grad():
        for length in (5, 7):
            x = floats(2, length, 8)
            torch.testing.assert_close(compiled(x), module(x))
        module.turns.mul_(2)
        torch.testing.assert_close(compiled(x), module(x))


def test_complex_weights_are_constants() -> None:
    """Where weights are parameters of a function, which takes no complex tensors, these stay within it."""
    x = floats(2, 5, 8)
    layers = nn.Sequential(Rotary(), nn.Linear(8, 2))
    exported = torch.export.export(layers, (x,))
    module = from_exported_program(exported, keep_params_as_input=True)
    assert [v.name_hint for v in module["main"].params] == ["input", "p_1_weight", "p_1_bias"]
    weights = [p.detach().numpy() for p in layers.parameters()]
    assert_same(baton.compile(module)(x.numpy(), *weights), [layers(x)], "Relax")
    mod, params = from_pytorch(torch.jit.trace(layers, x), [("input", tuple(x.shape))])
    assert list(params) == ["1.weight", "1.bias"]
    assert_same(baton.compile(mod, params=params)(x.numpy()), [layers(x)], "Relay")


class Summed(nn.Module):
    """A complex buffer that every call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3, dtype=torch.complex64))

    def forward(self, x: Any) -> Any:
        self.total += torch.view_as_complex(x)
        return self.total.abs()


def test_complex_state() -> None:
    """`torch.compile` keeps it; a function would have to take it."""
    with pytest.raises(DiagnosticError, match="changes 'b_total', which is complex"):
        baton.compile(torch.export.export(Summed(), (floats(3, 2),)))
    torch._dynamo.reset()
    plain, kept = Summed(), Summed()
    compiled = torch.compile(kept, backend="baton")
    for seed in range(2):
        x = floats(3, 2, seed=seed)
        torch.testing.assert_close(compiled(x), plain(x))
        torch.testing.assert_close(kept.total, plain.total)


def views(z: Any) -> Any:
    w = z * z
    return w, w[0], w.real, torch.view_as_real(w), w.conj(), w.mT, z, z.T, (z.mT * 2).contiguous(), z.abs()


def in_place(z: Any) -> Any:
    z.mul_(2j)
    return z.imag + 1, torch.fft.fft(z)


@pytest.mark.parametrize("function", [views, in_place])
@pytest.mark.parametrize("given", [numbers(3, 4), numbers(3, 4).conj()], ids=["plain", "conjugate"])
def test_complex_inputs_and_results_of_compiled_functions(function: Any, given: Any) -> None:
    torch._dynamo.reset()
    found = []
    for used in (function, torch.compile(function, backend="baton")):
        z = given.clone()
        tensors = [*used(z), z]
        shared = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for a in tensors] for b in tensors]
        found.append((tensors, [t.stride() for t in tensors], shared))
    torch.testing.assert_close(found[1][0], found[0][0])
    assert found[1][1:] == found[0][1:]


def test_gradients_of_complex_weights() -> None:
    x = numbers(3, 4)

    def loss(w: Any) -> Any:
        return (torch.exp(x @ w) * w.sum().sqrt()).abs().square().mean()

    found = []
    torch._dynamo.reset()
    for used in (loss, torch.compile(loss, backend="baton")):
        w = numbers(4, 2, seed=1).requires_grad_()
        value = used(w)
        found.append((value, *torch.autograd.grad(value, w)))
    torch.testing.assert_close(found[1], found[0])


def growing(w: Any) -> Any:
    """Of a factor that is a number, as in state spaces: the conjugate of 1j is asked for."""
    return ((w[..., 0].neg() + 1j * w[..., 1])[..., None] * torch.arange(5)).exp().real.sum(0)


def filtered(w: Any) -> Any:
    """A part of a spectrum of zeros is written, as in Fourier operators: its gradient begins as memory with strides."""
    spectrum = torch.zeros(4, 9, dtype=torch.complex64)
    spectrum[:, :3] = torch.view_as_complex(w)
    spectrum[:, -3:] = torch.view_as_complex(w * 2)
    return torch.fft.irfft(spectrum).square()


@pytest.mark.parametrize("function", [growing, filtered])
def test_gradients_of_parts(function: Callable[[Any], Any]) -> None:
    found = []
    torch._dynamo.reset()
    for used in (function, torch.compile(function, backend="baton")):
        w = floats(4, 3, 2).requires_grad_()
        value = used(w)
        found.append((value, *torch.autograd.grad(value.sum(), w)))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 7, 8, 10, 12])
def test_spectra_of_reals_are_real_at_the_ends(length: int) -> None:
    """Without noise in the imaginary part, whose sign would decide between angles of pi and of minus pi."""

    def angles(x: Any) -> Any:
        ends = [0, length // 2] if length % 2 == 0 else [0]
        plane = torch.fft.fft2(x.expand(2, 3, length))
        return torch.fft.rfft(x)[:, ends].angle(), torch.fft.fft(x)[:, ends].angle(), plane[:, 0][:, ends].angle()

    exported, inputs, expected = exported_cases([(angles, (floats(3, length),)), (angles, (-floats(3, length).abs(),))])
    check(exported, inputs, expected, "angles", level=0)


def test_real_tensors_made_like_complex_ones() -> None:
    def made(x: Any) -> Any:
        z = torch.view_as_complex(x)
        real = [f(z, dtype=torch.float32) for f in (torch.zeros_like, torch.ones_like)]
        news = z.new_zeros(3, dtype=torch.float32), z.new_full((3,), 2.0, dtype=torch.float64)
        return *real, *news, torch.full_like(z, 3.0, dtype=torch.float32)

    exported, inputs, expected = exported_cases([(made, (floats(3, 2),))])
    check(exported, inputs, expected, "made", level=0)
