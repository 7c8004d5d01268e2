"""`RelayGraph`: a model's graph becomes one Relay function `main`, a DAG of calls.

A Relay function contains only what its result needs, so a run-time check becomes part of a result:

    %out  ->  take(expand_dims(%out, 0), take([0], condition ? 0 : 1))

`take` in mode "fast" raises an error for an index out of range, which names the source position of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import zip_longest
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.language import Arm, State
from baton._src.frontends.graph_builder.operands import Scalars
from baton._src.frontends.graph_builder.relay_dims import OpenSizes
from baton._src.frontends.graph_builder.relay_rewrites import REWRITES
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import OpDef
from baton._src.ir.tensor_info import Dim, ShapeInfo, TensorInfo
from baton._src.ir.types import TensorType
from baton._src.ops.arguments import relay_constant
from baton._src.ops.builders import RELAY
from baton._src.relay.info import type_dim
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Tuple, TupleGetItem, Var
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Source, Span, node_place
from baton._src.tir.expr import AnyDim
from baton._src.tir.expr import Var as ShapeVar
from baton._src.values.tensor import AnyArray, array

R: Any = RELAY


class RelayGraph:
    """Builds calls. Symbolic dims become `?`."""

    name = "relay"

    def __init__(self) -> None:
        self.params: list[Var] = []
        self._sizes = OpenSizes()
        self._demands: list[tuple[Any, str]] = []

    def input(self, name: str, info: TensorInfo) -> Var:
        if info.shape is None:
            raise fail("import-input", f"the rank of input {name!r} is not known", help="give it in shape={...}")
        dims = tuple(AnyDim() if isinstance(d, PrimExpr) else type_dim(d) for d in info.shape)
        var = Var(name, TensorType(dims, info.dtype))
        self.params.append(var)
        self._sizes.note(var, info.shape)
        return var

    def start(self) -> None:
        """Nothing to do: a function is built from its result."""

    def constant(self, content: AnyArray) -> Constant:
        return Constant(array(content))

    def call(self, definition: OpDef[Any], args: list[Any], attrs: Any, count: int, hint: str) -> Sequence[Any]:
        if definition.relay_op is None:
            raise fail("import-relay", f"{hint}: Relay has no operator for {definition.name}")
        kept, attrs = _relay_arguments(definition, args, attrs)
        kept = [self._sizes.scalar(a.values) if isinstance(a, Scalars) else a for a in kept]
        call = self._sizes.settled(Call(definition.relay_op, kept, attrs), hint)
        if hint:
            call = _placed(call, hint)
        return [TupleGetItem(call, i) for i in range(count)] if count else [call]

    def demand(self, condition: Any, told: str) -> None:
        self._demands.append((condition, told))

    def guarded(self, exprs: Sequence[Any], since: int = 0) -> list[Any]:
        """Results that are computed only if all checks added `since` that many hold."""
        own = self._demands[since:]
        del self._demands[since:]
        if not own or not exprs:
            return list(exprs)
        indices = [_zero_or_error(condition, told) for condition, told in own]
        index = reduce(lambda a, b: R.add(a, b), indices)
        return [R.take(R.expand_dims(exprs[0], axis=0), index, axis=0, mode="fast"), *exprs[1:]]

    def packed(self, name: str, args: Sequence[Any], infos: Sequence[TensorInfo]) -> Sequence[Any]:
        raise fail("import-relay", f"Relay cannot call the builtin {name}", help="import it with relax.frontend")

    def shape_tensor(self, dims: Sequence[Dim]) -> Any:
        return self._sizes.tensor(dims)

    def branch(self, condition: Any, arms: Sequence[Arm]) -> Sequence[tuple[Any, TensorInfo]]:
        then, otherwise = (self._guarded_arm(arm) for arm in arms)
        first, second = (Tuple([expr for expr, _ in results]) for results in (then, otherwise))
        result = If(condition, first, second)
        infos = [_either(a, b) for (_, a), (_, b) in zip(then, otherwise, strict=True)]
        return [(TupleGetItem(result, k), info) for k, info in enumerate(infos)]

    def loop(
        self, start: Sequence[Any], infos: Sequence[TensorInfo], step: Callable[[State], list[Any]]
    ) -> Sequence[Any]:
        """let loop = fn(state) { if (state.0) { loop(step(state)) } else { state } }; loop(start)"""
        for place, info in enumerate(infos):
            check_rank(f"value {place} that a loop carries", info)
        params = [Var(f"state_{k}", TensorType(_dims(i), i.dtype)) for k, i in enumerate(infos)]
        function = Var("loop")
        since = len(self._demands)
        state = [self.named(p, i) if i.shape is not None else (p, i) for p, i in zip(params, infos, strict=True)]
        body = If(params[0], Call(function, self.guarded(step(state), since)), Tuple(params))
        result = Let(function, Function(params, body), Call(function, start))
        return [TupleGetItem(result, k) for k in range(len(params))]

    def in_scope(self, dims: Sequence[Dim]) -> bool:
        return not any(isinstance(d, AnyDim) for d in dims)

    def rehearse(self, infos: Sequence[TensorInfo], run: Callable[[list[Any]], None]) -> None:
        since = len(self._demands)
        run([Var(f"state_{k}", TensorType(_dims(i), i.dtype)) for k, i in enumerate(infos)])
        del self._demands[since:]

    def _guarded_arm(self, arm: Arm) -> list[tuple[Any, TensorInfo]]:
        since = len(self._demands)
        results = list(arm())
        exprs = self.guarded([expr for expr, _ in results], since)
        return [(expr, info) for expr, (_, info) in zip(exprs, results, strict=True)]

    def match(self, expr: Any, info: TensorInfo, hint: str, doubtful: Sequence[int] = ()) -> Any:
        for axis in doubtful:
            wanted = (info.shape or ())[axis]
            if not isinstance(wanted, AnyDim):
                told = f"node {hint!r}: axis {axis} of an operand must be of size {wanted}"
                self.demand(self._sizes.holds(expr, axis, wanted), told)
        return expr

    def named(self, expr: Any, info: TensorInfo) -> tuple[Any, TensorInfo]:
        dims = (AnyDim(),) * info.ndim if info.shape is None else info.shape
        if info.ndim < 0 or not any(isinstance(d, AnyDim) for d in dims):
            return expr, info
        known = tuple(ShapeVar("size", "int64") if isinstance(d, AnyDim) else d for d in dims)
        self._sizes.note(expr, known)
        return expr, TensorInfo(known, info.dtype)

    def numbers(self, expr: Any, count: int) -> list[ShapeVar]:
        names = [ShapeVar("number", "int64") for _ in range(count)]
        self._sizes.note_elements(expr, names)
        return names

    def rewrite(self, name: str) -> Callable[..., Value] | None:
        return REWRITES.get(name)


def _zero_or_error(condition: Any, told: str) -> Any:
    """0 if the condition holds; otherwise an error that names `told`."""
    index = R.where(condition, relay_constant(np.int64(0)), relay_constant(np.int64(1)))
    taken = R.take(relay_constant(np.zeros(1, "int64")), index, axis=0, mode="fast")
    return Call(taken.op, taken.args, taken.attrs, span=Span(Source(told), 0, 0, 0, 0))


def _placed(call: Call, node: str) -> Call:
    """A call made for `node` of the model: run-time errors name it."""
    return Call(call.op, call.args, call.attrs, span=node_place(node))


def _either(a: TensorInfo, b: TensorInfo) -> TensorInfo:
    """The info of a tensor that is one of two. Relay cannot say it where ranks differ (`check_rank`)."""
    if a.dtype != b.dtype:
        shown = [f"{i.dtype} of rank {i.ndim}" if i.ndim >= 0 else f"{i.dtype} of open rank" for i in (a, b)]
        message = f"the branches of a conditional return {' and '.join(shown)}; Relay needs the same dtype"
        raise fail("import-relay", message, help="import it with relax.frontend")
    if a.ndim != b.ndim:
        return TensorInfo(None, a.dtype)
    return a if a.shape is not None and a.shape == b.shape else TensorInfo(None, a.dtype, a.ndim)


def check_rank(name: str, info: TensorInfo) -> None:
    """Refuse (`import-relay`) a value whose rank only a run tells."""
    if info.ndim < 0:
        message = f"the rank of {name} is known only when it runs; Relay needs to know it"
        raise fail("import-relay", message, help="import it with relax.frontend")


def _dims(info: TensorInfo) -> tuple[PrimExpr, ...]:
    dims = info.shape if info.shape is not None else tuple(AnyDim() for _ in range(max(info.ndim, 0)))
    return tuple(AnyDim() if isinstance(d, PrimExpr) else type_dim(d) for d in dims)


def _relay_arguments(definition: OpDef[Any], args: list[Any], attrs: Any) -> tuple[list[Any], Any]:
    """Arguments and attributes in Relay's form: operands that only Relax takes become attributes."""
    kept = []
    for operand, arg in zip_longest(definition.inputs, args):
        if isinstance(arg, (ShapeInfo, Scalars)) and operand is not None and "relay" not in operand.languages:
            attrs = attrs.with_attrs(**{operand.named("relay"): arg.values})
        elif arg is not None:
            kept.append(Tuple(arg) if isinstance(arg, tuple) else arg)
    return kept, attrs if attrs.names else None
