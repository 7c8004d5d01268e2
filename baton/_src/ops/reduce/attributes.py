"""Attributes of operators that fold axes or search them, and the axes they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ops.axes import as_axes, from_front


@attrs
class ReduceAttrs(Attrs):
    """Which axes are folded."""

    axis: tuple[int, ...] | None = attr(None, "the axis or axes to fold; None: all")
    keepdims: bool = attr(False, "keep folded axes with extent 1")
    exclude: bool = attr(False, "fold all axes but those named", relay_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "axis", as_axes(self.axis))
        set_attr(self, "keepdims", bool(self.keepdims))
        set_attr(self, "exclude", bool(self.exclude and self.axis is not None))

    @classmethod
    def said_in_relay(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Relay folds all axes where the list of them is empty; Relax and NumPy none."""
        is_empty = isinstance(given.get("axis"), Sequence) and not given["axis"]
        return {**given, "axis": None} if is_empty else given


@attrs
class ArgAttrs(Attrs):
    """The axis: a number, as in TVM; several of them only where several are searched."""

    axis: int | tuple[int, ...] | None = attr(None, "the axis to search; None: all elements")
    keepdims: bool = attr(False, "keep searched axes with extent 1")
    exclude: ClassVar[bool] = False
    select_last_index: ClassVar[bool] = False

    def __post_init__(self) -> None:
        axes = as_axes(self.axis)
        set_attr(self, "axis", axes[0] if axes is not None and len(axes) == 1 else axes)


@attrs
class RelayArgAttrs(Attrs):
    """The axes, and which of equal elements wins."""

    axis: tuple[int, ...] | None = attr(None, "the axes to search; None: all elements")
    keepdims: bool = attr(False, "keep searched axes with extent 1")
    exclude: bool = attr(False, "search all axes but those named")
    select_last_index: bool = attr(False, "the last of equal elements wins")

    def __post_init__(self) -> None:
        set_attr(self, "axis", as_axes(self.axis) or None)
        set_attr(self, "exclude", bool(self.exclude and self.axis))


Folding = ReduceAttrs | ArgAttrs | RelayArgAttrs


def folded_axes(ndim: int, attributes: Folding) -> tuple[int, ...]:
    """The axes that are folded, in order."""
    if attributes.axis is None:
        return tuple(range(ndim))
    named = tuple(from_front(a, ndim) for a in as_axes(attributes.axis) or ())
    if attributes.exclude:
        return tuple(a for a in range(ndim) if a not in named)
    return tuple(sorted(named))
