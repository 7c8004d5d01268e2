"""Operators whose operands do not fit at sizes that only a run tells: refused compiled as by Relay's interpreter.

Beside each refusal stands a run that is right, and equal in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array
from tests.relax.machines import everywhere, fails_everywhere


def _rows(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def _at(*values: int) -> Any:
    return np.array(values, "int64")


BUILDERS: dict[str, Callable[..., Any]] = {
    "slice_like": lambda x, y: relay.slice_like(relay.exp(x), y),
    "unravel_index": lambda x: relay.unravel_index(x, relay.const(_at(2, 3))),
    "unravel_index of any rank": relay.unravel_index,
    "invert_permutation": relay.invert_permutation,
    "strided_set": lambda x, v: relay.strided_set(x, v, *(relay.const(_at(n)) for n in (0, 3, 1))),
    "sequence_mask": lambda x, lengths: relay.sequence_mask(x, lengths),
    "matrix_set_diag": lambda x, diagonal: relay.matrix_set_diag(x, diagonal),
    "several diagonals": lambda x, diagonals: relay.matrix_set_diag(x, diagonals, k=(-1, 1)),
    "stft": lambda x: relay.stft(x, 4, 2),
    "a key": lambda key: relay.random.uniform(key, (2,))[1],
    "fifo_buffer": lambda x, buffer: relay.nn.fifo_buffer(x, buffer, 0),
    "bitpack": lambda x: relay.nn.bitpack(x, 2, 0, 1, "uint8"),
    "correlation": relay.nn.correlation,
    "deformable_conv2d": relay.nn.deformable_conv2d,
}
CASES = [
    ("slice_like", (_rows(2, 3), _rows(1, 3)), [(_rows(2, 3), _rows(2, 4)), (_rows(1, 3), _rows(2, 1))]),
    ("unravel_index", (_at(0, 5),), [(_at(0, 6),), (_at(-1),)]),
    ("unravel_index of any rank", (_at(0, 5), _at(2, 3)), [(_at(6), _at(2, 3)), (_at(-1), _at(2, 3))]),
    ("invert_permutation", (_at(2, 0, 1),), [(_at(0, 3),), (_at(1, 1, 0),), (_at(0, 0),)]),
    ("sequence_mask", (_rows(3, 4), _at(0, 1, 2, 3)), [(_rows(3, 4), _at(0, 1, 2)), (_rows(3, 4), _at(1))]),
    ("matrix_set_diag", (_rows(3, 4), _rows(3)), [(_rows(3, 4), _rows(2)), (_rows(3, 4), _rows(4))]),
    (
        "several diagonals",
        (_rows(4, 5), _rows(3, 4)),
        [(_rows(4, 5), _rows(3, 3)), (_rows(4, 5), _rows(2, 4))],
    ),
    ("strided_set", (_rows(4), _rows(3)), [(_rows(4), _rows(2)), (_rows(4), _rows(1)), (_rows(2), _rows(3))]),
    ("stft", (_rows(1, 8),), [(_rows(1, 3),), (_rows(1, 1),)]),
    ("a key", (_rows(10).astype("uint64"),), [(_rows(9).astype("uint64"),)]),
    ("fifo_buffer", (_rows(2), _rows(5)), [(_rows(6), _rows(5))]),
    ("bitpack", (_at(*range(4), *range(4)),), [(_at(*range(9)),)]),
    ("correlation", (_rows(1, 1, 3, 4),) * 2, [(_rows(1, 1, 2, 4),) * 2]),
    (
        "deformable_conv2d",
        (_rows(1, 1, 3, 4), 0 * _rows(1, 18, 1, 2), _rows(1, 1, 3, 3)),
        [(_rows(1, 1, 2, 4), _rows(1, 18, 0, 2), _rows(1, 1, 3, 3))],
    ),
]


@pytest.mark.parametrize(("name", "good", "wrong"), CASES, ids=lambda c: c if isinstance(c, str) else "")
def test_what_does_not_fit_is_refused(name: str, good: Any, wrong: list[Any]) -> None:
    """Guards answers that were made up: a position beyond a shape began anew, a longer pattern cut nothing off, numbers
    that stand twice left a place unwritten, values too few for a cut left the rest as it was.
    """
    params = [relay.var(f"x{n}", shape=(relay.Any(),) * x.ndim, dtype=str(x.dtype)) for n, x in enumerate(good)]
    module = baton.IRModule.from_expr(relay.Function(params, BUILDERS[name](*params)))
    interpreted, compiled = (relay.create_executor(k, mod=module, target="llvm").evaluate() for k in ("debug", "vm"))
    np.testing.assert_allclose(compiled(*good).numpy(), interpreted(*good).numpy(), rtol=1e-6, atol=1e-9)
    for operands in wrong:
        for program in (interpreted, compiled):
            with pytest.raises(DiagnosticError):
                program(*operands)


@pytest.mark.parametrize("name", ["global_max_pool2d", "lrn"])
def test_nothing_at_all_is_the_same_everywhere(name: str) -> None:
    """Guards meanings that NumPy refuses for no elements, where kernels have an answer."""
    x = relay.var("x", shape=(1, relay.Any(), relay.Any(), 2), dtype="float32")
    module = baton.IRModule.from_expr(relay.Function([x], getattr(relay.nn, name)(x)))
    data = np.zeros((1, 0, 3, 2) if name == "lrn" else (1, 2, 0, 2), "float32")
    found = [relay.create_executor(k, mod=module, target="llvm").evaluate()(data).numpy() for k in ("debug", "vm")]
    np.testing.assert_array_equal(*found)
    assert found[0].shape == ((1, 0, 3, 2) if name == "lrn" else (1, 2, 1, 1))


SPLIT = """
@R.function
def main(x: R.Tensor(("n", 2), "float32")):
    return R.split(x, 3, axis=0)
"""


def test_parts_that_do_not_fill_an_axis() -> None:
    """Guards splits of which the last part would be empty: an error where the size is known, and so in a run."""
    for size in (1, 2, 4):
        fails_everywhere(SPLIT, array(np.zeros((size, 2), "float32")))
    for size in (0, 3, 5):
        parts = everywhere(SPLIT, array(_rows(size, 2)))
        assert [len(p.numpy()) for p in parts] == {0: [0, 0, 0], 3: [1, 1, 1], 5: [2, 2, 1]}[size]


ATTENTION = """
@R.function
def main(q: R.Tensor((1, 8, 2, 16), "float32"), k: R.Tensor((1, {}, 2, 16), "float32")):
    return R.nn.attention(q, k, k)
"""


@pytest.mark.parametrize("keys", ['"n"', "0"])
def test_attention_to_no_keys_is_zero(keys: str) -> None:
    """Guards a sum of no powers: what was weighed by none of them was divided by it, 0 / 0."""
    query = array(np.ones((1, 8, 2, 16), "float32"))
    found = everywhere(ATTENTION.replace("{}", keys), query, array(np.zeros((1, 0, 2, 16), "float32")))
    np.testing.assert_array_equal(found.numpy(), np.zeros((1, 8, 2, 16), "float32"))
    if keys == '"n"':
        everywhere(ATTENTION.replace("{}", keys), query, array(np.ones((1, 3, 2, 16), "float32")))
