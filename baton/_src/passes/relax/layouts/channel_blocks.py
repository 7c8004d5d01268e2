"""Which values of a binding block are worth keeping with their channels in blocks, and constants in that layout.

The plan is made before anything changes: convolutions start groups, and followers join the group of their operand. Only
groups with at least two convolutions are chosen, or with one that has many terms per element to convert: for any other
single convolution, converting its result back would cost more than blocks gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, OpDef
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.layout_names import parse_layout
from baton._src.ops.layouts import Anchor, FollowsInput
from baton._src.ops.nn.convolution.convolution import Conv2DAttrs
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Constant,
    PrimValue,
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
    definition_of,
)
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.tir.operators import is_const
from baton._src.values.tensor import AnyArray

WORTHWHILE = 2
"""Least number of convolutions in a group."""
FEWEST = 32
"""Least number of channels for which Winograd's algorithm is considered."""
BY_WINOGRAD, DIRECTLY = 0.5, 0.08
"""Fraction of the time of a convolution's multiply-adds that blocks save, with Winograd's algorithm and without."""
MOVING = 25
"""Cost of converting an element to or from blocks, in multiply-adds."""
NOMINAL = 56
"""Assumed extent where it is known only at run time."""
MAP_AXES = (2, 3)
WORD = 4
"""Bytes that a dot instruction reduces at once: neighbouring input channels."""


class Role(Enum):
    """What a call does in a group."""

    CONVOLUTION = auto()
    POOLING = auto()
    JOINING = auto()
    FOLDING = auto()
    PADDING = auto()
    SCALING = auto()
    FOLLOWING = auto()


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """The role of every value that could be in blocks, and those that are to be."""

    roles: Mapping[Var, Role]
    chosen: frozenset[Var]


def plan_block(block: BindingBlock, lanes: int, bytewise: bool = False, winograd: bool = False) -> BlockPlan:
    """The plan for one binding block; `bytewise`: convolutions of bytes are worth blocks, too; `winograd`: that
    algorithm may be used.
    """
    found = _Planner(lanes, bytewise, winograd)
    for binding in block.bindings:
        if isinstance(binding, VarBinding) and isinstance(binding.value, Call):
            found.consider(binding.var, binding.value)
    chosen = frozenset(v for v in found.roles if found.convolutions[found.leader(v)] >= WORTHWHILE)
    return BlockPlan(found.roles, chosen)


class _Planner:
    """Groups of values, as a union of sets."""

    def __init__(self, lanes: int, bytewise: bool, winograd: bool) -> None:
        self.lanes, self.bytewise, self.winograd = lanes, bytewise, winograd
        self.roles: dict[Var, Role] = {}
        self.maps: set[Var] = set()
        """Values with four axes that can be in blocks."""
        self.parents: dict[Var, Var] = {}
        self.convolutions: dict[Var, int] = {}

    def consider(self, var: Var, call: Call) -> None:
        """Determine the role of the value of `var`."""
        role = self._role(call)
        if role is None:
            return
        self.roles[var] = role
        self.parents[var] = var
        self.convolutions[var] = self._worth(call) if role is Role.CONVOLUTION else 0
        if block_of_channels(_channels(var), self.lanes) is not None:
            self.maps.add(var)
        read = call.args[0].fields if role is Role.JOINING else call.args
        for arg in read:
            if isinstance(arg, Var) and arg in self.maps:
                self._join(var, arg)

    def _worth(self, call: Call) -> int:
        """How many convolutions one counts as: enough to be chosen alone if blocks save more than the conversions
        cost.
        """
        shape = call.args[1].data.shape
        sizes = [map_shape(v.struct_info) for v in (call.args[0], call)]
        if _dtype(call.struct_info) != "float32":
            return 1
        points = [_points(sizes[0], call.attrs.strides), _points(sizes[1], (1, 1))]
        if shape[1] == 1 and call.attrs.groups > 1 and not _is_known(sizes[1]):
            return WORTHWHILE  # on plain lines of unknown length, taps of depthwise ones share no loads
        moved = sizes[0][1] * points[0] + sizes[1][1] * points[1]
        share = BY_WINOGRAD if self.winograd and _has_unit_steps(call) and min(shape[:2]) >= FEWEST else DIRECTLY
        return WORTHWHILE if share * int(np.prod(shape)) * points[1] > MOVING * moved else 1

    def leader(self, var: Var) -> Var:
        """The representative of the group of `var`."""
        while self.parents[var] is not var:
            self.parents[var] = self.parents[self.parents[var]]
            var = self.parents[var]
        return var

    def _join(self, a: Var, b: Var) -> None:
        first, second = self.leader(a), self.leader(b)
        if first is not second:
            self.parents[second] = first
            self.convolutions[first] += self.convolutions[second]

    def _role(self, call: Call) -> Role | None:
        definition = definition_of(call)
        if not isinstance(definition, OpDef) or not call.args:
            return None
        first: Any = call.args[0]
        if isinstance(call.attrs, Conv2DAttrs) and definition is CATALOGUE.get("nn.conv2d"):
            return Role.CONVOLUTION if self._is_convolution(call) else None
        if definition is CATALOGUE.get("nn.pad"):
            return Role.PADDING if first in self.maps and len(call.args) == 1 and _widens_map(call.attrs) else None
        if definition in (CATALOGUE.get("quantize"), CATALOGUE.get("dequantize")):
            return Role.SCALING if first in self.maps and all(_is_single(a) for a in call.args[1:]) else None
        if definition is CATALOGUE.get("concat"):
            return Role.JOINING if self._joins(call) else None
        layout = definition.layout
        if isinstance(layout, Anchor):
            plain = layout.kernel is None and layout.data == "layout" and layout.out == "out_layout"
            known = plain and call.attrs.layout == "NCHW" and call.attrs.out_layout in ("", "NCHW")
            return Role.POOLING if known and len(call.args) == 1 and first in self.maps else None
        if definition.fusion is Fusion.COMM_REDUCE:
            return Role.FOLDING if first in self.maps and len(call.args) == 1 and _folds_map(call.attrs) else None
        if isinstance(layout, FollowsInput) and layout.axis is None:
            return Role.FOLLOWING if self._follows(call) else None
        return None

    def _is_convolution(self, call: Call) -> bool:
        a, weight = call.attrs, call.args[1]
        x = map_shape(call.args[0].struct_info)
        if x is None or not isinstance(call.args[0], Var) or not isinstance(weight, Constant):
            return False
        if (a.data_layout, a.kernel_layout) != ("NCHW", "OIHW") or a.out_layout not in ("", "NCHW"):
            return False
        dtypes = tuple(_dtype(v.struct_info) for v in (call.args[0], weight, call))
        if dtypes != ("float32",) * 3 and not (self.bytewise and dtypes == ("uint8", "int8", "int32")):
            return False
        outputs, inputs = weight.data.shape[:2]
        depthwise = inputs == 1 and a.groups == outputs == x[1]
        # Groups of whole blocks; smaller ones would leave lanes empty.
        apart = a.groups > 1 and inputs % self.lanes == 0 and outputs // a.groups % self.lanes == 0
        whole = _is_known(map_shape(call.struct_info)) or dtypes == ("float32",) * 3
        known = whole and (a.groups == 1 or depthwise or apart) and block_of_channels(outputs, self.lanes) is not None
        return known and (depthwise or not self._wastes_lanes(call))

    def _wastes_lanes(self, call: Call) -> bool:
        """Whether blocks fill half of each vector, and no cheaper algorithm makes up for it. Vectors of points, in the
        plain layout, are full; for maps of unknown extents only blocks have a schedule.
        """
        if block_of_channels(call.args[1].data.shape[0], self.lanes) == self.lanes:
            return False
        known = _is_known(map_shape(call.struct_info)) and _dtype(call.struct_info) == "float32"
        return known and not (self.winograd and _has_unit_steps(call))

    def _joins(self, call: Call) -> bool:
        fields = call.args[0].fields if isinstance(call.args[0], Tuple) else ()
        if call.attrs.axis not in (1, -3) or not fields or not all(f in self.maps for f in fields):
            return False
        blocks = {block_of_channels(_channels(f), self.lanes) for f in fields}
        # The whole may divide into larger blocks than its parts.
        blocks.add(block_of_channels(_channels_of(call.struct_info), self.lanes))
        return len(blocks) == 1

    def _follows(self, call: Call) -> bool:
        inside = [a for a in call.args if a in self.maps]
        channels = _channels_of(call.struct_info)
        if not inside or channels is None or map_shape(call.struct_info) is None:
            return False
        for arg in call.args:
            if isinstance(arg, (PrimValue, ShapeExpr)):
                continue
            if isinstance(arg, Constant):
                shape = arg.data.shape
                if len(shape) > 4 or (len(shape) >= 3 and shape[-3] not in (1, channels)):
                    return False
            elif not isinstance(arg, Var) or map_shape(arg.struct_info) is None or _channels(arg) != channels:
                return False
        return all(_channels(a) == channels for a in inside)


def _has_unit_steps(call: Call) -> bool:
    """Whether a convolution is one that Winograd's algorithm computes."""
    steps = (*call.attrs.strides, *call.attrs.dilation)
    return call.args[1].data.shape[2:] == (3, 3) and call.attrs.groups == 1 and all(s == 1 for s in steps)


def _folds_map(attrs: Any) -> bool:
    """Whether an operator reduces exactly the two axes of the map."""
    axis = attrs.get("axis")
    named = isinstance(axis, tuple) and tuple(sorted(a % 4 for a in axis)) == MAP_AXES
    return named and not attrs.get("exclude", False)


def _widens_map(attrs: Any) -> bool:
    """Whether a border lies around the two axes of the map only, and holds one number."""
    pairs = attrs.pairs
    return len(pairs) == 4 and pairs[:2] == ((0, 0), (0, 0)) and attrs.pad_mode == "constant"


def _is_single(value: GraphExpr) -> bool:
    """Whether a scale or zero point is one number."""
    shape = getattr(value.struct_info_, "shape", None)
    dims = shape.values if isinstance(shape, ShapeExpr) else None
    return dims is not None and all(is_const(d, 1) for d in dims)


def _dtype(info: StructInfo) -> str:
    return str(info.dtype) if isinstance(info, TensorStructInfo) else ""


def _is_known(size: Any) -> bool:
    """Whether the extents of a map are."""
    return all(isinstance(d, IntImm) for d in size[2:])


def _points(size: Any, scale: Any) -> int:
    """Points of a map; unknown extents are `NOMINAL` times `scale`."""
    down, wide = (d.value if isinstance(d, IntImm) else NOMINAL * by for d, by in zip(size[2:], scale))
    return int(down * wide)


def _channels(value: GraphExpr) -> int | None:
    return _channels_of(value.struct_info)


def _channels_of(info: StructInfo) -> int | None:
    shape = map_shape(info)
    return None if shape is None else shape[1]


def map_shape(info: StructInfo) -> Any:
    """(batch, channels, height, width) of a tensor with known channels; None for other values."""
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    dims = info.shape.values
    if len(dims) != 4 or not isinstance(dims[1], IntImm):
        return None
    return (dims[0], dims[1].value, dims[2], dims[3])


def block_of_channels(channels: int | None, lanes: int) -> int | None:
    """The block size for that many channels: a vector, or the smallest useful part of one; None if they do not
    divide.
    """
    if channels is None:
        return None
    return next((block for block in (lanes, 8) if channels and channels % block == 0), None)


def in_whole_words(weight: AnyArray, layout: str) -> AnyArray:
    """A kernel (O, I, H, W) padded with zeros to the input channels of the layout's whole words."""
    missing = -weight.shape[1] % parse_layout(layout, nested=True).block("I")
    return np.pad(weight, ((0, 0), (0, missing), (0, 0), (0, 0))) if missing else weight


def pack_weight(weight: AnyArray, layout: str) -> AnyArray:
    """A kernel (O, I, H, W) in a layout such as OIHW16i16o: a view of it."""
    order = parse_layout(layout, nested=True)
    shape: list[int] = []
    where: list[int] = []
    for letter, size in zip("OIHW", weight.shape):
        own = [place for place, (axis, _) in enumerate(order.axes) if axis == letter]
        own.sort(key=lambda place: order.axes[place][1] > 0)
        where += own
        shape += [size // order.block(letter), *(order.axes[place][1] for place in own[1:])]
    return weight.reshape(shape).transpose(np.argsort(where))


def blocked_constant(array: AnyArray, block: int) -> AnyArray:
    """A constant that broadcasts against (N, C, H, W), for (N, C / block, H, W, block)."""
    if array.ndim == 0:
        return array
    n, c, h, w = (1,) * (4 - array.ndim) + array.shape
    if c == 1:
        return array.reshape(n, 1, h, w, 1)
    return np.ascontiguousarray(array.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))
