"""The generator behind random numbers: known answers, independence of splits, distributions."""

from __future__ import annotations

import numpy as np

from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.random.threefry_bits import block, threefry_key


def draw(name: str, key: object, *scalars: float, **attributes: object) -> tuple[object, np.ndarray]:
    definition = CATALOGUE.get(name)
    operands = [np.asarray(s, "float32") for s in scalars]
    found = definition.reference([key, *operands], definition.attrs(**attributes))
    return found[0], found[1]


def test_known_answer() -> None:
    """Guards the bits: Threefry-4x64 with 20 rounds of a zero key and counter, as its authors publish them."""
    found = block([0] * 4, [0] * 4)
    assert found == [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B]


def test_keys_go_on_and_repeat() -> None:
    """Guards that the same key gives the same numbers and the next key others."""
    key = threefry_key(7)
    following, first = draw("random.uniform", key, 0.0, 1.0, out_shape=(5,))
    _, again = draw("random.uniform", key, 0.0, 1.0, out_shape=(5,))
    _, later = draw("random.uniform", following, 0.0, 1.0, out_shape=(5,))
    np.testing.assert_array_equal(first, again)
    assert not np.intersect1d(first, later).size


def test_splits_are_different_keys() -> None:
    """Guards that neither half of a split is the key itself or the other half."""
    key = threefry_key(7)
    definition = CATALOGUE.get("random.threefry_split")
    left, right = definition.reference([key], None)
    assert len({tuple(k[:4].tolist()) for k in (key, left, right)}) == 3


def test_moments() -> None:
    """Guards scale and shift of both distributions."""
    key = threefry_key(1)
    _, even = draw("random.uniform", key, -1.0, 3.0, out_shape=(4000,))
    assert -1 <= even.min() < -0.95
    assert 2.95 < even.max() < 3
    assert abs(even.mean() - 1) < 0.08
    _, bell = draw("random.normal", key, 2.0, 0.5, out_shape=(4000,))
    assert abs(bell.mean() - 2) < 0.03
    assert abs(bell.std() - 0.5) < 0.03
