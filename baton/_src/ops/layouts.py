"""The effect of operators on layouts, for layout passes.

`Anchor(...)`: has layout attributes of its own and decides (convolution, pooling). The others take their first operand
in any layout; what they say of its axes is renumbered, which tells how: elementwise or along one axis
(`FollowsInput`), folding axes (`Folds`), with an entry for every axis (`PerAxis`), cutting some (`CutsAxes`) or
only naming them in another order (`Permutes`).
"""

from __future__ import annotations

from baton._src.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FollowsInput:
    """Elementwise in all but the axes named by attributes (`axis`: the attribute's name, or None).

    `operands`: how many operands share the layout, the others being of one element; None: all.
    `batch_first`: axis 0 is another matter than those not named: it has to stay where it is.
    """

    axis: str | None = None
    operands: int | None = None
    batch_first: bool = False


@dataclass(frozen=True, slots=True)
class Folds:
    """The attributes `axis`, `keepdims` and perhaps `exclude` say which axes are folded. `numbered`: the result counts
    along the folded axes, so their order matters.
    """

    numbered: bool = False


@dataclass(frozen=True, slots=True)
class PerAxis:
    """`entries` names an attribute with an entry for every axis; further operands have no layout."""

    entries: str


@dataclass(frozen=True, slots=True)
class CutsAxes:
    """The attribute `axes` names the axes that entries of the attribute `begin` are for; None: the first ones."""


@dataclass(frozen=True, slots=True)
class Permutes:
    """The attribute `axes` is the new order of the axes; None: the reverse."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """An operator with layout attributes: `data` names that of operand 0, `kernel` that of operand 1, `out` the
    result's. Unless it takes `blocks`, axes are whole (no NCHW8c). `only`: the layouts it has; empty: any.
    """

    data: str
    kernel: str | None = None
    out: str | None = None
    blocks: bool = True
    only: tuple[str, ...] = ()
