"""Python's operators on expressions of every language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Operators:
    """Python operators on expressions.

    What `a + b` builds is decided by the language of `a`: `build(name, a, b)` is bound once per language
    (`tir.operators` for PrimExprs, `ops.syntax` for Relay and Relax), since the builders live in later layers.
    Names: add subtract multiply divide floor_divide floor_mod power negative less less_equal greater greater_equal
    left_shift right_shift bitwise_and bitwise_or bitwise_xor bitwise_not; for PrimExprs also equal not_equal cast.
    `==` stays identity except for PrimExprs. `build` answers `NotImplemented` for operands of another language.
    """

    __slots__ = ()
    build: ClassVar[Callable[..., Any]]

    def __add__(self, other: Any) -> Any:
        return type(self).build("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return type(self).build("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return type(self).build("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return type(self).build("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return type(self).build("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return type(self).build("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return type(self).build("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return type(self).build("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return type(self).build("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return type(self).build("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return type(self).build("floor_mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return type(self).build("floor_mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return type(self).build("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return type(self).build("power", other, self)

    def __neg__(self) -> Any:
        return type(self).build("negative", self)

    def astype(self, dtype: object) -> Any:
        """Every element converted to `dtype`."""
        return type(self).build("cast", self, dtype)

    def __lt__(self, other: Any) -> Any:
        return type(self).build("less", self, other)

    def __le__(self, other: Any) -> Any:
        return type(self).build("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return type(self).build("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return type(self).build("greater_equal", self, other)

    def __lshift__(self, other: Any) -> Any:
        return type(self).build("left_shift", self, other)

    def __rshift__(self, other: Any) -> Any:
        return type(self).build("right_shift", self, other)

    def __and__(self, other: Any) -> Any:
        return type(self).build("bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return type(self).build("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return type(self).build("bitwise_xor", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return type(self).build("left_shift", other, self)

    def __rrshift__(self, other: Any) -> Any:
        return type(self).build("right_shift", other, self)

    def __rand__(self, other: Any) -> Any:
        return type(self).build("bitwise_and", other, self)

    def __ror__(self, other: Any) -> Any:
        return type(self).build("bitwise_or", other, self)

    def __rxor__(self, other: Any) -> Any:
        return type(self).build("bitwise_xor", other, self)

    def __invert__(self) -> Any:
        return type(self).build("bitwise_not", self)
