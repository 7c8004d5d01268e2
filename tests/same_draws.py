"""What hypothesis draws, made a matter of the test alone.

With `derandomize` its draws still differ from process to process, in two ways that no setting turns off: it mixes in
constants found in the source of whatever modules are loaded by then, and it copies parts of earlier examples by labels
that hash the values to choose from, strings and objects without a hash of their own included. Neither is wanted: which
process runs which test, and after which others, is left to chance by `pytest -n`.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies._internal.strategies import SampledFromStrategy


def draw_the_same_everywhere() -> None:
    """Have hypothesis draw from the seed alone, in this process, from now on."""
    none_found = Constants()
    assert callable(providers._get_local_constants)
    assert callable(SampledFromStrategy.calc_label)
    providers._get_local_constants = lambda: none_found
    SampledFromStrategy.calc_label = lambda self: self.class_label
