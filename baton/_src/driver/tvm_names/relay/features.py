"""`relay.analysis`: kinds of expressions, depth, computations on fake-quantised data, values of subexpressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import is_call
from baton._src.passes.relay.forms.to_basic_block_normal_form import lifted_expressions
from baton._src.relay.analysis import expression_features
from baton._src.relay.expressions import parts, walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.memory_calls import flat
from baton._src.relay.nodes import Call, Constant, Function, Tuple, TupleGetItem
from baton._src.support.diagnostics import fail


class Feature(IntEnum):
    """Language features of a program (`tvm.relay.analysis.feature.Feature`; the numbers are public)."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    """A node is used several times."""
    fLetRec = 16
    """A let whose function calls itself."""


def detect_feature(a: Any, b: Any = None) -> set[Feature]:
    """The kinds of expressions in an expression, a module, or both."""
    found = {name for program in (a, b) if program is not None for name in expression_features(program)}
    return {feature for feature in Feature if feature.name[1:] in found}


def check_basic_block_normal_form(expr: Any) -> bool:
    """Whether what several scopes use is bound by lets: whether ToBasicBlockNormalForm would change nothing."""
    return not lifted_expressions(expr if isinstance(expr, Function) else Function([], expr))


def count_layers(expr: Any, valid_ops: Sequence[str] = ("nn.conv2d", "nn.dense")) -> int:
    """The most calls of the operators in `valid_ops` on any path through `expr` (a function, or a module's `main`)."""
    root = expr["main"] if isinstance(expr, IRModule) else expr
    depth: dict[Any, int] = {}
    for node in walk(root):
        below = max((depth[p] for p in parts(node)), default=0)
        depth[node] = below + (isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in valid_ops)
    return depth[root]


class LayerCounter:
    """Counts as `count_layers` does, over several expressions: the most on any path of any of them."""

    def __init__(self, valid_ops: Sequence[str]) -> None:
        self.valid_ops = list(valid_ops)
        self.deepest_count = 0

    def visit(self, expr: Any) -> None:
        """Look at another expression."""
        self.deepest_count = max(self.deepest_count, count_layers(expr, self.valid_ops))

    def count(self) -> int:
        """The most so far."""
        return self.deepest_count


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """How often each operator of `main` is computed on dequantised numbers whose result is quantised again: what
    FakeQuantizationToInteger looks at. What several `qnn.quantize`s need counts for each of them."""
    wire()
    quantized = [node.args[0] for node in walk(mod["main"]) if is_call(node, "quantize")]
    return dict(Counter(call.op.name for root in quantized for call in _fake_quantized(root)))


def _fake_quantized(root: Any) -> list[Any]:
    """The calls between a `qnn.quantize` and the `qnn.dequantize`s it gets its data from; none if it gets others."""
    inside: list[Any] = []
    seen: set[Any] = set()
    work = [root]
    while work:
        node = work.pop()
        if node in seen or is_call(node, "dequantize") or isinstance(node, Constant):
            continue
        seen.add(node)
        if isinstance(node, Call) and isinstance(node.op, Op):
            inside.append(node)
            work.extend(node.args)
        elif isinstance(node, (Tuple, TupleGetItem)):
            work.extend(parts(node))
        else:
            return []
    return inside


def get_calibration_data(mod: IRModule, data: Mapping[str, Any]) -> dict[GlobalVar, dict[str, list[Any]]]:
    """What goes into and comes out of each function for an external compiler that `main` calls, when it runs on `data`
    (by parameter). `main` must be straight; error `api` if it calls such a function twice."""
    wire()
    calls: dict[GlobalVar, Call] = {}
    for node in walk(mod["main"]):
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            function = mod[node.op]
            if isinstance(function, Function) and "Compiler" in function.attrs:
                if node.op in calls:
                    raise fail(
                        "api", f"main calls @{node.op.name_hint} twice, so its input is ambiguous", span=node.span
                    )
                calls[node.op] = node
    main = mod["main"]
    missing = [p.name_hint for p in main.params if p.name_hint not in data]
    if missing:
        raise fail("api", f"no data is given for {', '.join(missing)} of main", help="pass an array for each parameter")
    watched = Tuple([Tuple([Tuple(call.args), call]) for call in calls.values()])
    run = Interpreter(mod).evaluate(Function(main.params, watched))
    results = run(*[data[p.name_hint] for p in main.params])
    return {var: {"inputs": list(given), "outputs": flat(made)} for var, (given, made) in zip(calls, results)}
