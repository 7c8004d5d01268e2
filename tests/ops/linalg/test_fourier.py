"""The operator fourier against NumPy: by its kernel, matrices, or shorter transforms; Relay's dft and stft by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, relay
from baton._src.ops.builders import RELAX
from baton._src.ops.linalg.fourier_kernel.plan import LARGEST_PRIME, is_planned, plan, radices
from baton._src.ops.linalg.fourier_transform import FOURIER_TRANSFORM, FourierAttrs, reference
from baton._src.ops.samples import Arr, Sample
from tests.ops.sampled_calls import SampledCall

KINDS: tuple[tuple[int, bool, dict[str, Any]], ...] = (
    (2, False, {}),
    (2, False, {"sign": 1, "scale": 0.5, "kept": 3}),
    (1, False, {}),
    (1, False, {"sign": 1, "kept": 3}),
    (2, True, {"sign": 1, "scale": 0.25}),
    (2, True, {"sign": -1}),
)
"""Parts, whether reals are made of half a spectrum, and the other attributes."""


def found_and_expected(length: int, dtype: str, rows: tuple[int, ...] = (3,)) -> Any:
    """Every kind of transform in one program, beside the reference."""
    draw = np.random.default_rng(length)
    whole = [draw.standard_normal((*rows, length)).astype(dtype) for _ in range(2)]
    half = [np.ascontiguousarray(w[..., : length // 2 + 1]) for w in whole]
    params = [relax.Var(f"x{n}", relax.TensorStructInfo(x.shape, dtype)) for n, x in enumerate((*whole, *half))]
    builder, expected = relax.BlockBuilder(), []
    with builder.function("main", params):
        made = []
        for count, to_real, attrs in KINDS:
            attrs = {**attrs, "kept": min(attrs.get("kept", 0), length)}
            operands = relax.Tuple(params[2:] if to_real else params[:count])
            call = builder.emit(RELAX.find("fourier")(operands, length=length, to_real=to_real, **attrs))
            made += [call] if to_real else [relax.TupleGetItem(call, n) for n in (0, 1)]
            given = half if to_real else whole[:count]
            wanted = reference([given], FourierAttrs(length, to_real=to_real, **attrs))
            expected += [wanted] if to_real else list(wanted)
        builder.emit_func_output(relax.Tuple(made))
    return baton.compile(builder.get(), num_threads=1)(*whole, *half), expected


@pytest.mark.parametrize("length", [1, 12, 65, 90, 128, 143, 250, 1155])
def test_lengths_with_small_factors(length: int) -> None:
    """Whole vectors and parts of them, odd and even, one pass and many, all radices."""
    for own, wanted in zip(*found_and_expected(length, "float32"), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-6 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("length", [67, 94, 131, 134])
def test_lengths_with_large_factors(length: int) -> None:
    for own, wanted in zip(*found_and_expected(length, "float32"), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-6 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-14), ("float16", 2e-3)])
def test_dtypes(dtype: str, tolerance: float) -> None:
    """Double precision in vectors of half as many, sixteen bits through float32."""
    for own, wanted in zip(*found_and_expected(72, dtype, (2, 2)), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=0, atol=tolerance * (1 + np.abs(wanted).max()))


def test_the_longest() -> None:
    """Longer rows than a kernel holds are made of two shorter transforms."""
    assert is_planned(1 << 15)
    assert not is_planned(1 << 16)
    for own, wanted in zip(*found_and_expected(1 << 16, "float32", (1,)), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-6 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("length", [1, 2, 16, 360, 1000, 4096, 11 * 13 * 7])
def test_plans_multiply_to_the_length(length: int) -> None:
    found = plan(length, 16)
    assert found.a * found.b == length
    assert max((*found.rows, *found.columns, 1)) <= LARGEST_PRIME
    assert radices(17 * length) is None


def test_lines_of_a_tensor_of_open_size() -> None:
    n = baton.tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, 2, 96), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(RELAX.find("fourier")(relax.Tuple([x]), length=96, kept=49)))
    program = baton.compile(builder.get(), num_threads=1)
    for rows in (0, 1, 5):
        data = np.random.default_rng(rows).standard_normal((rows, 2, 96)).astype("float32")
        re, im = (np.asarray(f) for f in program(data))
        np.testing.assert_allclose(re + 1j * im, np.fft.rfft(data) if rows else np.zeros((0, 2, 49)), atol=2e-5)


def test_what_is_refused() -> None:
    """Rows of another length than the transform's, and half a spectrum of reals alone."""
    x = relax.Var("x", relax.TensorStructInfo((2, 9), "float32"))
    for operands, attrs in (([x], {"length": 8}), ([x], {"length": 16, "to_real": True}), ([x], {"length": 0})):
        builder = relax.BlockBuilder()
        with pytest.raises(baton.DiagnosticError, match="fourier"), builder.function("main", [x]):
            builder.emit(RELAX.find("fourier")(relax.Tuple(operands), **attrs))


@pytest.mark.parametrize("inverse", [False, True])
def test_dft_of_relay(inverse: bool) -> None:
    parts = [np.random.default_rng(n).standard_normal((2, 3, 100)).astype("float32") for n in range(2)]
    params = [relay.var(f"x{n}", shape=p.shape, dtype="float32") for n, p in enumerate(parts)]
    made = relay.op.dft(*params, inverse=inverse)
    program = baton.compile(baton.IRModule.from_expr(relay.Function(params, made.astuple())), num_threads=1)
    re, im = (np.asarray(f) for f in program(*parts))
    transform = np.fft.ifft if inverse else np.fft.fft
    np.testing.assert_allclose(re + 1j * im, transform(parts[0] + 1j * parts[1]), atol=2e-5)


@pytest.mark.parametrize(("normalized", "onesided"), [(False, True), (True, False)])
def test_stft_of_relay(normalized: bool, onesided: bool) -> None:
    draw = np.random.default_rng(0)
    x, window = (draw.standard_normal(s).astype("float32") for s in ((2, 500), (100,)))
    params = [relay.var(name, shape=p.shape, dtype="float32") for name, p in (("x", x), ("window", window))]
    made = relay.op.stft(params[0], 100, 30, 100, params[1], normalized, onesided)
    program = baton.compile(baton.IRModule.from_expr(relay.Function(params, made)), num_threads=1)
    frames = np.stack([x[:, s : s + 100] * window for s in range(0, 401, 30)], axis=1)
    wanted = np.fft.fft(frames)[..., : 51 if onesided else 100].transpose(0, 2, 1) / (10 if normalized else 1)
    found = np.asarray(program(x, window)[0])
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=5e-5)


@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((3, 128, 65), {}),
        ((2, 2, 14, 16), {"kept": 8, "scale": 0.5, "sign": 1}),
        ((2, 17, 40), {}),
        ((2, 64, 5), {"kept": 4}),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_columns(shape: tuple[int, ...], attrs: dict[str, Any], count: int) -> None:
    """Blocks of columns, the last one beginning within the one before; large primes and few columns as rows."""
    parts = [np.random.default_rng(n).standard_normal(shape).astype("float32") for n in range(count)]
    params = [relax.Var(f"x{n}", relax.TensorStructInfo(shape, "float32")) for n in range(count)]
    options = {"length": shape[-2], "columns": True, **attrs}
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(RELAX.find("fourier")(relax.Tuple(params), **options)))
    found = baton.compile(builder.get(), num_threads=1)(*parts)
    for own, wanted in zip(found, reference([parts], FourierAttrs(**options)), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-6 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("width", [0, 1, 3])
def test_kernels_of_columns_fewer_than_lanes(width: int) -> None:
    """Where they are not written as rows, by who asks for the kernel alone: it divided by no blocks."""
    shape = (2, 6, width)
    sample = Sample(((Arr(shape), Arr(shape)),), FourierAttrs(6, columns=True))
    call = SampledCall(FOURIER_TRANSFORM, sample, symbolic=False)
    for found, wanted in zip(call.run_compute(call.infer()), call.reference(), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_reference_has_no_noise_where_spectra_of_reals_are_real(sign: int) -> None:
    """Its sign would decide between angles of pi and of minus pi."""
    for length in range(1, 40):
        x = np.random.default_rng(length).standard_normal((3, length)).astype("float32")
        real, imag = reference([(x,)], FourierAttrs(length, sign))
        expected = np.fft.fft(x) if sign < 0 else np.fft.ifft(x) * length
        np.testing.assert_allclose(real + 1j * imag, expected, rtol=1e-5, atol=1e-5)
        ends = imag[:, [0, length // 2] if length % 2 == 0 else [0]]
        assert not ends.any()
        assert not np.signbit(ends).any()
