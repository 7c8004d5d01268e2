"""CombineParallelConv2D, -Dense, -BatchMatmul: siblings on one input become one operator whose result is cut up again.

    conv2d(%x, %w1), conv2d(%x, %w2), conv2d(%x, %w3)
becomes
    %1 = conv2d(%x, concatenate((%w1, %w2, %w3)));   three slices of %1

At least `min_num_branches` siblings with equal attributes, whose weights are parameters or constants and differ only in
the number of outputs. What follows all of them in the same way is combined, too (`combine_followers`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.passes.relay.channel_scales import data_axis, weight_axis
from baton._src.passes.relay.combine_followers import Followers, Level, joined
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite, walk
from baton._src.relay.nodes import Call, Constant
from baton._src.relay.scopes import Scopes
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential


@dataclass(frozen=True)
class _CombineParallel(RelayFunctionPass):
    """What the three have in common: find siblings, join their weights, cut the result."""

    opt_level: ClassVar[int] = 4
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    operator: ClassVar[str] = ""
    min_num_branches: int = 3

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()
        groups = self._siblings(function)
        if not groups:
            return function
        followers = Followers(function)
        levels = [followers.levels(members, self._output_axis(members[0])) for members in groups]
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

    def _output_axis(self, node: Call) -> int:
        axes = self._axes(node)
        assert axes is not None
        return axes[0]

    def _siblings(self, function: Any) -> list[list[Call]]:
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
        """The result's axis and the weight's axis over the outputs."""
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
        changes = {n: sum(sizes) for n in ("channels", "units") if getattr(first.attrs, n, None) is not None}
        attrs = replace(first.attrs, **changes) if changes else first.attrs
        value = build.call(Call(first.op, (data, weight), attrs))
        for level in levels:
            value = joined(build, value, level, axis)
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
        pieces = build.op("split", value, indices_or_sections=tuple(ends), axis=axis)
        return [build.item(pieces, i) for i in range(len(members))]


def _attributes(node: Call) -> Any:
    """The attributes without the number of outputs."""
    if node.attrs is None:
        return None
    return tuple((k, v) for k, v in node.attrs.items() if k not in ("channels", "units"))


@dataclass(frozen=True)
class CombineParallelConv2D(_CombineParallel):
    """Convolutions of one input."""

    operator: ClassVar[str] = "nn.conv2d"


@dataclass(frozen=True)
class CombineParallelDense(_CombineParallel):
    """Dense layers of one input."""

    operator: ClassVar[str] = "nn.dense"


@dataclass(frozen=True)
class CombineParallelBatchMatmul(_CombineParallel):
    """Batched products of one left operand."""

    operator: ClassVar[str] = "nn.batch_matmul"

    def _axes(self, node: Call) -> tuple[int, int] | None:
        transposed = getattr(node.attrs, "transpose_b", True)
        return 2, 1 if transposed else 2


class BatchingOps(Sequential):
    """The three together."""

    def __init__(self) -> None:
        steps = (CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul())
        super().__init__(steps, name="BatchingOps")
