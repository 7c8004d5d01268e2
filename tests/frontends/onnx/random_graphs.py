"""Random ONNX graphs of all groups of operators, with what onnxruntime or ONNX's reference evaluator computes.

A graph grows a node at a time. What each name stands for is kept for every run there will be (a run has sizes of its
own), so a node is drawn to suit the shapes there are, and what its oracle refuses is drawn again. Operators that jump
(comparisons, roundings, sorts) are only given exact numbers: small integers and halves that nothing has rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
LARGEST = 1e4
MOST_ELEMENTS = 4000
SIZES = ({"n": 2, "m": 3, "h": 6, "w": 5}, {"n": 4, "m": 5, "h": 4, "w": 8}, {"n": 1, "m": 6, "h": 5, "w": 4})
"""The open sizes of each run."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A name and what it stands for in each run."""

    name: str
    arrays: tuple[Any, ...]
    exact: bool = True

    @property
    def dtype(self) -> Any:
        return self.arrays[0].dtype

    @property
    def rank(self) -> int:
        return int(self.arrays[0].ndim)

    def least(self, axis: int) -> int:
        """The smallest size of an axis in any run."""
        return min(int(a.shape[axis]) for a in self.arrays)

    def has_one_size(self, axis: int) -> bool:
        return len({a.shape[axis] for a in self.arrays}) == 1


@dataclass(slots=True)
class Scope:
    """The graph so far: what later nodes may use, and the operands that are given rather than computed."""

    random: np.random.Generator
    values: list[Drawn] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, tuple[Drawn, tuple[Any, ...]]] = field(default_factory=dict)
    """Each with its declared shape."""
    count: list[int] = field(default_factory=lambda: [0])
    depth: int = 0

    def name(self, kind: str) -> str:
        self.count[0] += 1
        return f"{kind}_{self.count[0]}"

    def choice(self, options: Sequence[Any]) -> Any:
        return options[int(self.random.integers(len(options)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def numbers(self, *dims: int, dtype: Any = np.float32, low: int = -4, high: int = 5) -> Any:
        """Exact numbers: integers, or halves."""
        found = self.random.integers(low, high, dims)
        return (found / 2).astype(dtype) if np.dtype(dtype).kind == "f" else found.astype(dtype)

    def given(self, array: Any) -> Drawn:
        """An operand of the same value in every run: an initialiser, or an input of the model."""
        array = np.asarray(array)
        drawn = Drawn(self.name("w"), (array,) * len(SIZES))
        if self.depth == 0 and self.chance(0.08):
            self.inputs[drawn.name] = (drawn, array.shape)
        else:
            self.weights[drawn.name] = array
        return drawn

    def pick(self, kinds: str = "f", ranks: Sequence[int] = (0, 1, 2, 3, 4), exact: bool = False) -> Drawn:
        """A value of a kind of dtype and one of these ranks; later ones are likelier. Raises Unsuited without one."""
        fitting = [
            v for v in self.values if v.dtype.kind in kinds and v.rank in ranks and (v.exact or not exact)
            and all(a.size for a in v.arrays)
        ]  # fmt: skip
        if not fitting:
            raise Unsuited
        return fitting[max(self.random.integers(len(fitting)), self.random.integers(len(fitting)))]


class Unsuited(Exception):
    """No value there is suits the operator."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A node to be: operands ("" where left out), attributes, and whether its results are as exact as the operands."""

    op: str
    operands: Sequence[Drawn | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    results: int = 1
    exact: bool = True
    captured: tuple[Drawn, ...] = ()
    """What its subgraphs use of the graph around it."""
    domain: str = ""


Draw = Callable[[Scope], Plan]


def grown(random: np.random.Generator, draws: Sequence[Draw], length: int) -> Scope:
    """A graph of about `length` nodes."""
    scope = Scope(random)
    for dims, dtype in ((("n", 4), "f4"), (("n", "m"), "f4"), ((1, 4, "h", "w"), "f4"), (("m",), "i8"), ((3, 4), "f4")):
        runs = [[d if isinstance(d, int) else s[d] for d in dims] for s in SIZES]
        arrays = tuple(scope.numbers(*run, dtype=dtype) for run in runs)
        drawn = Drawn(scope.name("x"), arrays)
        scope.values.append(drawn)
        scope.inputs[drawn.name] = (drawn, dims)
    grow(scope, draws, length)
    return scope


def grow(scope: Scope, draws: Sequence[Draw], length: int) -> None:
    wanted, tries = len(scope.nodes) + length, 0
    while len(scope.nodes) < wanted and tries < 20 * length:
        tries += 1
        before = list(scope.values), list(scope.nodes), dict(scope.weights), dict(scope.inputs)
        try:
            accepted = _append(scope, scope.choice(draws)(scope))
        except (Unsuited, IndexError, ValueError):
            accepted = False
        if not accepted:
            scope.values, scope.nodes, scope.weights, scope.inputs = before


def appended(scope: Scope, plan: Plan) -> Drawn:
    """The first result of a node that others are drawn for. Raises Unsuited if the oracle refuses it."""
    before = len(scope.values)
    if not _append(scope, plan):
        raise Unsuited
    return scope.values[before]


def _append(scope: Scope, plan: Plan) -> bool:
    names = [scope.name("v") for _ in range(plan.results)]
    operands = [o.name if o is not None else "" for o in plan.operands]
    name = f"/{plan.op}_{scope.count[0]}"
    node = helper.make_node(plan.op, operands, names, name=name, domain=plan.domain, **plan.attributes)
    used = {o.name: o for o in (*plan.operands, *plan.captured) if o is not None}
    runs = [computed(node, {n: o.arrays[k] for n, o in used.items()}) for k in range(len(SIZES))]
    if any(r is None for r in runs):
        return False
    exact = plan.exact and all(o.exact for o in used.values())
    found = [Drawn(n, a, exact or a[0].dtype.kind in "iub") for n, a in zip(names, zip(*runs), strict=True)]
    if any(not _is_usable(a) or a.ndim != v.rank for v in found for a in v.arrays):
        return False
    scope.values += found
    scope.nodes.append(node)
    return True


def _is_usable(array: Any) -> bool:
    if array.size > MOST_ELEMENTS:
        return False
    return array.dtype.kind == "b" or not array.size or bool(np.abs(array.astype("f8")).max() < LARGEST)


def computed(node: Any, feed: dict[str, Any]) -> list[Any] | None:
    """What one node computes; None if its oracle refuses it."""
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feed.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in node.output]
    graph = helper.make_graph([node], "one", declared, outputs)
    model = helper.make_model(graph, opset_imports=OPSETS, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        found = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feed)
    except Exception:  # of many classes, none with a common base
        return None
    return [np.asarray(f) for f in found] if all(isinstance(f, (np.ndarray, np.generic)) for f in found) else None


def model_of_scope(scope: Scope) -> tuple[Any, list[dict[str, Any]], list[Drawn]]:
    """(model, a feed for each run, the outputs): all that no other node uses."""
    used = {name for node in scope.nodes for name in _uses(node)}
    made = {name for node in scope.nodes for name in node.output}
    outputs = [v for v in scope.values if v.name in made and v.name not in used]
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), dims)
        for n, (v, dims) in scope.inputs.items()
    ]
    graph = helper.make_graph(
        scope.nodes, "random", declared, [helper.make_empty_tensor_value_info(v.name) for v in outputs],
        [numpy_helper.from_array(a, n) for n, a in scope.weights.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=OPSETS, ir_version=8)
    return model, [{n: v.arrays[k] for n, (v, _) in scope.inputs.items()} for k in range(len(SIZES))], outputs


def _uses(node: Any) -> list[str]:
    """The names that a node uses, those in its subgraphs among them."""
    bodies = [a.g for a in node.attribute if a.HasField("g")]
    inner = [name for body in bodies for other in body.node for name in _uses(other)]
    return [*node.input, *inner, *(o.name for body in bodies for o in body.output)]
