"""Structural equality as scripts know it (`tvm.ir.structural_equal`): numbers may differ a little.

TVM takes numbers for equal that differ by less than 1e-9: what is read back from a float32 array is the number that it
was made of. The compiler itself compares exactly (`structural`).
"""

from __future__ import annotations

from baton._src.ir import structural

WITHIN = 1e-9


def structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> bool:
    """Whether two nodes (or tuples, dicts of nodes) mean the same up to renaming of bound variables and numbers that
    differ by less than 1e-9.

    `map_free_vars` also pairs variables that neither side defines, by order of first use.
    """
    return structural.structural_equal(lhs, rhs, map_free_vars, within=WITHIN)


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Raise `StructuralMismatchError`, a `ValueError`, unless equal: the path to the first difference, and both sides
    printed with the differing term underlined.
    """
    structural.assert_structural_equal(lhs, rhs, map_free_vars, within=WITHIN)


def get_first_structural_mismatch(lhs: object, rhs: object, map_free_vars: bool = False) -> tuple[str, str] | None:
    """The paths to the first difference, one in each side; None if the sides are equal."""
    return structural.get_first_structural_mismatch(lhs, rhs, map_free_vars, within=WITHIN)
