"""CombineParallelConv2D, -Dense, -BatchMatmul: siblings on one input become one operator whose result is cut up again.

    conv2d(%x, %w1), conv2d(%x, %w2), conv2d(%x, %w3)
becomes
    %1 = conv2d(%x, concatenate((%w1, %w2, %w3)));   three slices of %1

At least `min_num_branches` siblings with equal attributes, whose weights are parameters or constants and differ only in
the number of outputs. Operators that follow all of them in the same way are combined, too (`combine_followers`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.channel_scales import data_axis, dims_of, weight_axis
from baton._src.passes.relay.operators.combine_followers import Followers, Level, can_stack, joined, stacked
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite, walk
from baton._src.relay.nodes import Call, Constant, Function
from baton._src.relay.scopes import Scopes
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential

_OPS: Any = RELAY
OUTPUTS = ("channels", "units")
"""Attributes that give the number of outputs."""


@dataclass(frozen=True)
class _CombineParallel(RelayFunctionPass):
    """The common part of the three: find siblings, join their weights, split the result."""

    opt_level: ClassVar[int] = 4
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    operator: ClassVar[str] = ""
    min_num_branches: int = 3

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()
        groups = self._siblings(function)
        if not groups:
            return function
        followers = Followers(function)
        levels = [self._levels(followers, members) for members in groups]
        first = {member: i for i, members in enumerate(groups) for member in members}
        last = {
            node: (i, j)
            for i, members in enumerate(groups)
            for j, node in enumerate(levels[i][-1].calls if levels[i] else members)
        }
        data: dict[int, Any] = {}
        pieces: dict[int, list[Any]] = {}

        def rule(old: Any, new: Any) -> Any:
            if old in first:
                data.setdefault(first[old], new.args[0])  # rewritten by now
            if old not in last:
                return None
            group, position = last[old]
            if group not in pieces:
                pieces[group] = self._combined(build, groups[group], levels[group], data[group])
            return pieces[group][position]

        return rewrite(function, rule)

    def _levels(self, followers: Followers, members: list[Call]) -> list[Level]:
        axes = self._axes(members[0])
        assert axes is not None
        return followers.levels(members, axes[0])

    def _siblings(self, function: Function) -> list[list[Call]]:
        scopes = Scopes(function)
        found: dict[Any, list[Call]] = {}
        params = set(function.params)
        for node in walk(function):
            if is_call(node, self.operator) and self._axes(node) is not None:
                data, weight = node.args[:2]
                shape = shape_of(weight)
                if shape is None or not (weight in params or isinstance(weight, Constant)) or len(node.args) != 2:
                    continue
                out = self._axes(node)
                rest = tuple(d for i, d in enumerate(shape) if out is None or i != out[1])
                key = (data, scopes.of[node], rest, _attributes(node))
                found.setdefault(key, []).append(node)
        return [members for members in found.values() if len(members) >= self.min_num_branches]

    def _axes(self, node: Call) -> tuple[int, int] | None:
        """The axes of the result and of the weight over the outputs."""
        axis, position = data_axis(node), weight_axis(node, "O")
        if axis is None or position is None or getattr(node.attrs, "groups", 1) != 1:
            return None
        return axis, position

    def _combined(self, build: Build, members: list[Call], levels: list[Level], data: Any) -> list[Any]:
        first = members[0]
        axes = self._axes(first)
        assert axes is not None
        axis, position = axes
        sizes = [(shape_of(m.args[1]) or ())[position] for m in members]
        weight = build.op("concatenate", tuple(m.args[1] for m in members), axis=position)
        changes = {name: sum(sizes) for name in OUTPUTS if name in first.attrs.names}
        attrs = replace(first.attrs, **changes) if changes else first.attrs
        value = build.call(Call(first.op, (data, weight), attrs))
        for level in levels:
            value = joined(build, value, level, axis)
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [_cut(build, value, axis, start, size) for start, size in zip(starts, sizes)]


def _cut(build: Build, value: GraphExpr, axis: int, start: int, size: int) -> Call:
    """`size` elements of `value` from `start` along `axis`; the axes before it are whole."""
    begin, extent = [0] * axis + [start], [-1] * axis + [size]
    made: Call = _OPS.strided_slice(value, begin=begin, end=extent, strides=[1] * (axis + 1), slice_mode="size")
    return build.call(made)


def _attributes(node: Call) -> Any:
    """The attributes without the number of outputs."""
    if node.attrs is None:
        return None
    return tuple((k, v) for k, v in node.attrs.items() if k not in OUTPUTS)


@dataclass(frozen=True)
class CombineParallelConv2D(_CombineParallel):
    """Convolutions of one input."""

    operator: ClassVar[str] = "nn.conv2d"


@dataclass(frozen=True)
class CombineParallelDense(_CombineParallel):
    """Dense layers of one input: with `to_batch`, those with weights of one shape as one batched product (as TVM does
    unless told otherwise); else as one layer of all the outputs."""

    operator: ClassVar[str] = "nn.dense"
    to_batch: bool = True

    def _siblings(self, function: Function) -> list[list[Call]]:
        found = super()._siblings(function)
        if not self.to_batch:
            return found
        alike: dict[Any, list[Call]] = {}
        for number, members in enumerate(found):
            for member in members:
                if len(dims_of(member)) == 2:  # a batch of products of matrices
                    alike.setdefault((number, shape_of(member.args[1])), []).append(member)
        return [members for members in alike.values() if len(members) >= self.min_num_branches]

    def _levels(self, followers: Followers, members: list[Call]) -> list[Level]:
        levels = super()._levels(followers, members)
        return list(takewhile(can_stack, levels)) if self.to_batch else levels

    def _combined(self, build: Build, members: list[Call], levels: list[Level], data: Any) -> list[Any]:
        if not self.to_batch:
            return super()._combined(build, members, levels, data)
        count = len(members)
        left = build.op("stack", (data,) * count, axis=0)
        right = build.op("stack", tuple(m.args[1] for m in members), axis=0)
        options = {"out_dtype": members[0].attrs.out_dtype, "transpose_a": False, "transpose_b": True}
        value = build.op("nn.batch_matmul", left, right, **options)
        for level in levels:
            value = stacked(build, value, level)
        pieces = build.op("split", value, indices_or_sections=count, axis=0)
        return [build.op("squeeze", build.item(pieces, i), axis=(0,)) for i in range(count)]


@dataclass(frozen=True)
class CombineParallelBatchMatmul(_CombineParallel):
    """Batched products of one left operand."""

    operator: ClassVar[str] = "nn.batch_matmul"

    def _axes(self, node: Call) -> tuple[int, int] | None:
        transposed = getattr(node.attrs, "transpose_b", True)
        return 2, 1 if transposed else 2


class BatchingOps(Sequential):
    """All three passes."""

    def __init__(self) -> None:
        steps = (CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul())
        super().__init__(steps, name="BatchingOps")
