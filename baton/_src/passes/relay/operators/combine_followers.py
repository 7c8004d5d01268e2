"""Combine the operators that follow siblings in the same way (biases, scales, activations, ...) along with the
siblings.

    relu(conv2d(%x, %w1) + %b1), relu(conv2d(%x, %w2) + %b2), ...     one convolution, one addition, one relu, then cut

A level of followers is one call after each sibling: the same elementwise operator with equal attributes, with the
sibling at the same position and not used elsewhere; its other operands are parameters or constants, either shared by
all, or as long as the sibling along the axis of the outputs and alike along all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.op_def import Fusion
from baton._src.ir.structural import structural_equal
from baton._src.ops.layouts import FollowsInput
from baton._src.passes.relay.building import Build, shape_of
from baton._src.passes.relay.operators.channel_scales import dims_of
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, Constant, Function
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True)
class Level:
    """One call after each sibling; `position` is the sibling's position among the arguments."""

    calls: tuple[Call, ...]
    position: int


class Followers:
    """The users of every node of a function."""

    def __init__(self, function: Function) -> None:
        self._params = set(function.params)
        self._users: dict[Any, list[Any]] = {}
        for node in walk(function):
            for part in parts(node):
                self._users.setdefault(part, []).append(node)

    def levels(self, members: list[Call], axis: int) -> list[Level]:
        """The levels after siblings whose results differ in extent along `axis` only."""
        found: list[Level] = []
        current = members
        while True:
            level = self._level(current, axis)
            if level is None:
                return found
            found.append(level)
            current = list(level.calls)

    def _level(self, current: list[Call], axis: int) -> Level | None:
        calls = []
        for node in current:
            users = self._users.get(node, [])
            if len(users) != 1 or not isinstance(users[0], Call) or not isinstance(users[0].op, Op):
                return None
            calls.append(users[0])
        first = calls[0]
        position = next((i for i, a in enumerate(first.args) if a is current[0]), -1)
        if len(set(calls)) != len(calls) or position < 0:
            return None
        if not _is_elementwise(first.op.definition):
            return None
        for call, node in zip(calls, current):
            same = call.op is first.op and len(call.args) == len(first.args)
            if (
                not same
                or not structural_equal(call.attrs, first.attrs)
                or call.args[position] is not node
                or dims_of(call) != dims_of(node)
            ):
                return None
        level = Level(tuple(calls), position)
        others = [i for i in range(len(first.args)) if i != position]
        return level if all(self._joins(level, i, axis) for i in others) else None

    def _joins(self, level: Level, index: int, axis: int) -> bool:
        operands = [c.args[index] for c in level.calls]
        if any(o not in self._params and not isinstance(o, Constant) for o in operands):
            return False
        return is_shared(level, index) or joining_axis(level, index, axis) is not None


def _is_elementwise(definition: Any) -> bool:
    """Whether an element of the result depends on one of each operand. What a triangle keeps (`trilu`), or a shape in
    the attributes, depends on where it stands."""
    light = definition.fusion in (Fusion.ELEMWISE, Fusion.BROADCAST) and isinstance(definition.layout, FollowsInput)
    return light and not definition.stateful


def _axis_of_vectors(call: Call) -> int | None:
    """The axis that an attribute names, along which the operator takes vectors (`nn.bias_add`); None: it broadcasts."""
    name = call.op.definition.layout.axis
    return None if name is None else getattr(call.attrs, name) % len(dims_of(call))


def is_shared(level: Level, index: int) -> bool:
    """Whether the operands of this index are one node, or equal scalars, for all siblings together as for each."""
    operands = [c.args[index] for c in level.calls]
    shape, broadcasts = shape_of(operands[0]), _axis_of_vectors(level.calls[0]) is None
    if shape is None or any(d != 1 for d in shape) or (shape and not broadcasts):
        return False
    arrays = {(a.shape, a.tobytes()) for a in (o.data.data for o in operands if isinstance(o, Constant))}
    return len(set(operands)) == 1 or (len(arrays) == 1 and all(isinstance(o, Constant) for o in operands))


def joining_axis(level: Level, index: int, axis: int) -> int | None:
    """The axis along which the operands of this index are as long as the siblings' outputs; None if they are not, or
    differ along another one."""
    found: set[tuple[int, tuple[int, ...]]] = set()
    for call in level.calls:
        shape, whole, own = shape_of(call.args[index]), shape_of(call), _axis_of_vectors(call)
        if shape is None or whole is None or own not in (None, axis):
            return None
        at = axis - (len(whole) - len(shape)) if own is None else 0
        if not 0 <= at < len(shape) or shape[at] != whole[axis]:
            return None
        found.add((at, (*shape[:at], *shape[at + 1 :])))
    return found.pop()[0] if len(found) == 1 else None


def joined(build: Build, value: GraphExpr, level: Level, axis: int) -> Call:
    """The level's operator applied to all joined siblings at once."""

    def together(index: int, operands: list[Any]) -> Any:
        at = joining_axis(level, index, axis)
        assert at is not None
        return build.op("concatenate", tuple(operands), axis=at)

    return _at_once(build, value, level, together)


def _at_once(build: Build, value: GraphExpr, level: Level, together: Callable[[int, list[Any]], Any]) -> Call:
    """The level's operator on `value` and the siblings' other operands: the shared one, or all `together`."""
    args = []
    for index in range(len(level.calls[0].args)):
        operands = [c.args[index] for c in level.calls]
        if index == level.position:
            args.append(value)
        else:
            args.append(operands[0] if is_shared(level, index) else together(index, operands))
    return build.call(Call(level.calls[0].op, args, level.calls[0].attrs))


def can_stack(level: Level) -> bool:
    """Whether the level works on stacked siblings: with a row for each, or the same scalar for all."""
    broadcasts = _axis_of_vectors(level.calls[0]) is None
    others = [i for i in range(len(level.calls[0].args)) if i != level.position]
    return all(
        is_shared(level, i) or (broadcasts and all(len(shape_of(c.args[i]) or ()) in (1, 2) for c in level.calls))
        for i in others
    )


def stacked(build: Build, value: GraphExpr, level: Level) -> Call:
    """The level's operator on siblings that are stacked along a new first axis."""

    def together(index: int, operands: list[Any]) -> Any:
        rows = (
            build.op("expand_dims", o, axis=0, num_newaxis=1) if len(shape_of(o) or ()) == 1 else o for o in operands
        )
        return build.op("stack", tuple(rows), axis=0)

    return _at_once(build, value, level, together)
