"""Python's operators on expressions of every language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Operand = TypeVar("Operand", contravariant=True)
Result = TypeVar("Result", covariant=True)


class Operators(Generic[Operand, Result]):
    """Python operators on expressions.

    What `a + b` builds is decided by the language of `a`: `build(name, a, b)` is bound once per language
    (`tir.operators` for PrimExprs, `ops.syntax` for Relay and Relax), since the builders live in later layers.
    Names: add subtract multiply divide floor_divide floor_mod power negative less less_equal greater greater_equal
    left_shift right_shift bitwise_and bitwise_or bitwise_xor bitwise_not; for PrimExprs also equal not_equal cast.
    `==` stays identity except for PrimExprs. `build` answers `NotImplemented` for operands of another language.
    """

    __slots__ = ()
    build: Callable[..., Result]
    """One for all expressions of a language; no `ClassVar` only because such a one cannot be of type `Result`."""

    def __add__(self, other: Operand) -> Result:
        return self.build("add", self, other)

    def __radd__(self, other: Operand) -> Result:
        return self.build("add", other, self)

    def __sub__(self, other: Operand) -> Result:
        return self.build("subtract", self, other)

    def __rsub__(self, other: Operand) -> Result:
        return self.build("subtract", other, self)

    def __mul__(self, other: Operand) -> Result:
        return self.build("multiply", self, other)

    def __rmul__(self, other: Operand) -> Result:
        return self.build("multiply", other, self)

    def __truediv__(self, other: Operand) -> Result:
        return self.build("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Result:
        return self.build("divide", other, self)

    def __floordiv__(self, other: Operand) -> Result:
        return self.build("floor_divide", self, other)

    def __rfloordiv__(self, other: Operand) -> Result:
        return self.build("floor_divide", other, self)

    def __mod__(self, other: Operand) -> Result:
        return self.build("floor_mod", self, other)

    def __rmod__(self, other: Operand) -> Result:
        return self.build("floor_mod", other, self)

    def __pow__(self, other: Operand) -> Result:
        return self.build("power", self, other)

    def __rpow__(self, other: Operand) -> Result:
        return self.build("power", other, self)

    def __neg__(self) -> Result:
        return self.build("negative", self)

    def astype(self, dtype: object) -> Result:
        """Every element converted to `dtype`."""
        return self.build("cast", self, dtype)

    def __lt__(self, other: Operand) -> Result:
        return self.build("less", self, other)

    def __le__(self, other: Operand) -> Result:
        return self.build("less_equal", self, other)

    def __gt__(self, other: Operand) -> Result:
        return self.build("greater", self, other)

    def __ge__(self, other: Operand) -> Result:
        return self.build("greater_equal", self, other)

    def __lshift__(self, other: Operand) -> Result:
        return self.build("left_shift", self, other)

    def __rshift__(self, other: Operand) -> Result:
        return self.build("right_shift", self, other)

    def __and__(self, other: Operand) -> Result:
        return self.build("bitwise_and", self, other)

    def __or__(self, other: Operand) -> Result:
        return self.build("bitwise_or", self, other)

    def __xor__(self, other: Operand) -> Result:
        return self.build("bitwise_xor", self, other)

    def __rlshift__(self, other: Operand) -> Result:
        return self.build("left_shift", other, self)

    def __rrshift__(self, other: Operand) -> Result:
        return self.build("right_shift", other, self)

    def __rand__(self, other: Operand) -> Result:
        return self.build("bitwise_and", other, self)

    def __ror__(self, other: Operand) -> Result:
        return self.build("bitwise_or", other, self)

    def __rxor__(self, other: Operand) -> Result:
        return self.build("bitwise_xor", other, self)

    def __invert__(self) -> Result:
        return self.build("bitwise_not", self)
