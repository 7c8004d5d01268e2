"""If.

Exporters write branches for sizes that never occur: a branch whose shapes do not fit, while those of the other one do,
fails only in a run that takes it. A branch returns the items of a sequence; if the other branch has a different number
of them, one stacked tensor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import islice

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.control.stacks import stack_of
from baton._src.frontends.onnx.node import NOTHING, Converter, DynamicValueError, OnnxNode
from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.meaning import Meaning

Finish = Callable[[list[Value]], list[Value]]
FAULTS_OF_MODELS = frozenset({"onnx-attribute", "onnx-dtype", "onnx-external", "onnx-file", "onnx-graph"})
"""Errors in a branch that do not depend on sizes."""
STACK = -1
"""Stands for the number of items of a sequence that a run makes, which is one tensor."""
ABSENT = -2
"""Stands for the number of items of an optional without a value."""


def if_(node: OnnxNode) -> Sequence[Value]:
    if node[0].array is not None:
        chosen = "then_branch" if node[0].array.reshape(-1)[0] else "else_branch"
        found = list(node.run_graph(node.attr(chosen), {}))
    else:
        try:
            found = _branched(node, lambda results: results)
        except _UnlikePresence:
            found = [Value(TensorInfo()) for _ in node.outputs]  # of no rank: what follows is part of each arm
    if len(node.outputs) > len(found):
        node.fail(f"it has {len(node.outputs)} outputs, its branches have {len(found)}", code="onnx-graph")
    return found


def arms_disagree(node: OnnxNode, found: Sequence[Value]) -> bool:
    """Whether the rank of a result of an If depends on its condition, or whether there is one."""
    return node.op_type == "If" and any(v.rank < 0 and not v.is_sequence for v in found)


def forked(node: OnnxNode, finish: Finish) -> list[Value]:
    """What `finish` makes of the results of the arm that is chosen."""
    meanings: list[Meaning] = []

    def finished(results: list[Value]) -> list[Value]:
        found = finish(results)
        meanings[:] = [v.meaning for v in found]
        return found

    try:
        found = _branched(node, finished)
    except _UnlikePresence:
        help = "whether an optional has a value must follow from the model: export one for each of both cases"
        node.fail("one of its branches ends in an optional without a value, the other one in a value", help=help)
    return [replace(v, meaning=meaning) for v, meaning in zip(found, meanings, strict=True)]


@dataclass(slots=True)
class _Arm:
    """One arm of an If; `counts` says how many items each of its results has, None of a tensor."""

    node: OnnxNode
    name: str
    finish: Finish
    counts: list[int | None] = field(default_factory=list)
    stacked: frozenset[int] = frozenset()
    """The sequences among its results that are to be one tensor each, since the other arm's are of other lengths."""

    def write(self) -> list[Value]:
        """The tensors that the branch returns."""
        found = self.finish(self.node.run_graph(self.node.needed(self.name), {}))
        found = [self._in_one(v) if k in self.stacked else v for k, v in enumerate(found)]
        self.counts = [_item_count(v) for v in found]
        return [part for v in found for part in _tensors(v)]

    def _in_one(self, sequence: Value) -> Value:
        if sequence.stack is not None:
            return sequence
        if not sequence.items:
            self.node.fail("one of its branches produces an empty sequence, the other one does not")
        stack = stack_of(self.node, sequence.items, "its branches produce sequences of different lengths")
        return Value(TensorInfo(), stack=stack)

    def rehearsed(self) -> list[TensorInfo] | None:
        """The infos of its tensors; None if it cannot be imported."""
        try:
            return [v.info for v in self.node.graph.rehearse([], lambda _: self.write())]
        except DiagnosticError:
            return None


def _item_count(value: Value) -> int | None:
    if value is NOTHING:
        return ABSENT
    if value.stack is not None:
        return STACK
    return None if value.items is None else len(value.items)


def _tensors(value: Value) -> tuple[Value, ...]:
    if value is NOTHING:
        return ()
    if value.stack is not None:
        return (value.stack,)
    return (value,) if value.items is None else value.items


def _result(tensors: Iterator[Value], count: int | None) -> Value:
    if count is None:
        return next(tensors)
    if count == ABSENT:
        return NOTHING
    if count == STACK:
        return Value(TensorInfo(), stack=next(tensors))
    return Value(TensorInfo(), items=tuple(islice(tensors, count)))


def _with_one_arm(condition: Value, then: _Arm, otherwise: _Arm, error: DiagnosticError) -> list[Value]:
    """The If, of which one arm cannot be imported: what went wrong is said by the run that takes it."""
    node, g = then.node, then.node.graph
    infos = {arm.name: arm.rehearsed() for arm in (then, otherwise)}
    broken = [arm for arm in (then, otherwise) if infos[arm.name] is None]
    of_sizes = not isinstance(error, DynamicValueError) and not any(
        d.code in FAULTS_OF_MODELS for d in error.diagnostics
    )
    if len(broken) != 1 or not of_sizes or g.language.name != "relax":
        raise error
    (arm,) = broken
    other = otherwise if arm is then else then
    warnings.warn(f"{node.title}: a run that takes its {arm.name} fails: {error.diagnostics[0].message}", stacklevel=2)
    # Sizes that the other arm computes have no names here.
    results = [i if g.knows_sizes(i) else TensorInfo(None, i.dtype, i.ndim) for i in infos[other.name] or ()]

    def refuse() -> list[Value]:
        arm.counts = other.counts
        return list(g.packed("vm.builtin.refuse", str(error), results=results))

    return g.branch(condition, *(refuse if a is arm else a.write for a in (then, otherwise)))


def _branched(node: OnnxNode, finish: Finish) -> list[Value]:
    then, otherwise = _Arm(node, "then_branch", finish), _Arm(node, "else_branch", finish)
    condition = node.graph.reshape(node[0], ())

    def write_alike() -> list[Value]:
        found = otherwise.write()
        if len(then.counts) != len(otherwise.counts):
            node.fail(f"its then_branch gives {len(then.counts)} outputs, its else_branch {len(otherwise.counts)}")
        if unlike := _of_unlike_lengths(node, then.counts, otherwise.counts):
            raise _UnlikeLengths(unlike)
        return found

    while True:
        try:
            found = node.graph.branch(condition, then.write, write_alike)
            break
        except _UnlikeLengths as error:
            then.stacked = otherwise.stacked = error.places
        except DiagnosticError as error:
            found = _with_one_arm(condition, then, otherwise, error)
            break
    left = iter(found)
    return [_result(left, count) for count in then.counts]


class _UnlikePresence(Exception):
    """An optional among the results has a value in one arm only."""


class _UnlikeLengths(Exception):
    """Sequences at these places of the results have other lengths in the other arm."""

    def __init__(self, places: frozenset[int]) -> None:
        super().__init__(places)
        self.places = places


def _of_unlike_lengths(node: OnnxNode, counts: list[int | None], others: list[int | None]) -> frozenset[int]:
    unlike = frozenset(k for k, (a, b) in enumerate(zip(counts, others, strict=True)) if a != b)
    if any(ABSENT in (counts[k], others[k]) for k in unlike):
        raise _UnlikePresence
    if any(counts[k] is None or others[k] is None for k in unlike):
        node.fail("one of its branches produces a sequence, the other one a tensor", code="onnx-graph")
    return unlike


BRANCHES: dict[str, Converter] = {"If": if_}
