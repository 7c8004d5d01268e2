"""ONNX to Relay: the graph becomes one function `main`, a DAG of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from baton._src.frontends.onnx.graph import GraphBuilder, Scalars
from baton._src.frontends.onnx.importer import Importer
from baton._src.frontends.onnx.reader import read_model
from baton._src.frontends.onnx.value import Value
from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.tensor_info import Dim, ShapeInfo, TensorInfo
from baton._src.ir.types import TensorType
from baton._src.relay.info import type_dim
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Tuple, TupleGetItem, Var
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim
from baton._src.values.tensor import AnyArray, NDArray, array


class RelayGraph:
    """Builds calls. Symbolic dims become `?`."""

    name = "relay"

    def __init__(self) -> None:
        self.params: list[Var] = []

    def input(self, name: str, info: TensorInfo) -> Var:
        if info.shape is None:
            raise fail("onnx-input", f"the rank of input {name!r} is not known", help="give it in shape={...}")
        dims = tuple(AnyDim() if isinstance(d, PrimExpr) else type_dim(d) for d in info.shape)
        var = Var(name, TensorType(dims, info.dtype))
        self.params.append(var)
        return var

    def start(self) -> None:
        """Nothing to open: a function is made of its result."""

    def constant(self, content: AnyArray) -> Constant:
        return Constant(array(content))

    def call(self, definition: OpDef[Any], args: list[Any], attrs: Any, count: int, hint: str) -> Sequence[Any]:
        if definition.relay_op is None:
            raise fail("onnx-relay", f"{hint}: Relay has no operator for {definition.name}")
        call = Call(definition.relay_op, *_relay_arguments(definition, args, attrs))
        return [TupleGetItem(call, i) for i in range(count)] if count else [call]

    def shape_tensor(self, dims: Sequence[Dim]) -> Any:
        raise fail("onnx-relay", "computing with symbolic shapes needs Relax", help="use relax.frontend.onnx.from_onnx")

    def branch(self, condition: Any, arms: Sequence[Callable[[], list[Any]]]) -> Sequence[tuple[Any, TensorInfo]]:
        raise fail("onnx-relay", "ONNX's If needs Relax", help="use relax.frontend.onnx.from_onnx")

    def loop(
        self, start: Sequence[Any], infos: Sequence[TensorInfo], step: Callable[[list[Any]], list[Any]]
    ) -> Sequence[Any]:
        """let loop = fn(state) { if (state.0) { loop(step(state)) } else { state } }; loop(start)"""
        params = [Var(f"state_{k}", TensorType(_dims(i), i.dtype)) for k, i in enumerate(infos)]
        function = Var("loop")
        body = If(params[0], Call(function, step(list(params))), Tuple(params))
        result = Let(function, Function(params, body), Call(function, start))
        return [TupleGetItem(result, k) for k in range(len(params))]

    def rehearse(self, infos: Sequence[TensorInfo], run: Callable[[list[Any]], None]) -> None:
        run([Var(f"state_{k}", TensorType(_dims(i), i.dtype)) for k, i in enumerate(infos)])

    def match(self, expr: Any, info: TensorInfo) -> Any:
        return expr

    def rewrite(self, name: str) -> Callable[..., Value] | None:
        return REWRITES.get(name)


def _dims(info: TensorInfo) -> tuple[PrimExpr, ...]:
    dims = info.shape if info.shape is not None else tuple(AnyDim() for _ in range(max(info.ndim, 0)))
    return tuple(AnyDim() if isinstance(d, PrimExpr) else type_dim(d) for d in dims)


def _relay_arguments(definition: OpDef[Any], args: list[Any], attrs: Any) -> tuple[list[Any], Any]:
    """Arguments and attributes as Relay has them: operands that only Relax passes become attributes."""
    kept = []
    for operand, arg in zip_longest(definition.inputs, args):
        if isinstance(arg, (ShapeInfo, Scalars)) and operand is not None and "relay" not in operand.languages:
            attrs = attrs.with_attrs(**{operand.named("relay"): arg.values})
        elif arg is not None:
            kept.append(Tuple(arg) if isinstance(arg, tuple) else arg)
    return kept, attrs if attrs.names else None


def _matmul(g: GraphBuilder, a: Value, b: Value) -> Value:
    """Relay has a product of matrices and one of equal batches of them; everything else is reshaped to these."""
    if a.shape is None or b.shape is None:
        raise fail("onnx-relay", f"{g.hint}: a matrix product needs operands of known rank")
    if len(a.shape) == 1:
        return g.call("squeeze", _matmul(g, g.reshape(a, (1, *a.shape)), b), axis=(-2,))
    if len(b.shape) == 1:
        return g.call("squeeze", _matmul(g, a, g.reshape(b, (*b.shape, 1))), axis=(-1,))
    if len(b.shape) == 2:
        flat = g.reshape(a, (-1, a.shape[-1])) if len(a.shape) > 2 else a
        product = g.call("nn.dense", flat, g.transpose(b, (1, 0)))
        return g.reshape(product, (*a.shape[:-1], b.shape[-1])) if len(a.shape) > 2 else product
    batch = _batch(g, a.shape[:-2], b.shape[:-2])
    left = g.reshape(g.broadcast_to(a, (*batch, *a.shape[-2:])), (-1, *a.shape[-2:]))
    right = g.reshape(g.broadcast_to(b, (*batch, *b.shape[-2:])), (-1, *b.shape[-2:]))
    product = g.call("nn.batch_matmul", left, right, transpose_a=False, transpose_b=False)
    return g.reshape(product, (*batch, a.shape[-2], b.shape[-1]))


def _batch(g: GraphBuilder, a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The broadcast of two batch shapes."""
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return tuple(q if isinstance(p, int) and p == 1 else p for p, q in zip(left, right, strict=True))


REWRITES: dict[str, Callable[..., Value]] = {"matmul": _matmul}
"""Neutral operators that Relay lacks, in terms of those it has."""


def from_onnx(
    model: object,
    shape: Mapping[str, Sequence[Any]] | None = None,
    dtype: Mapping[str, object] | object = None,
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Any = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import an ONNX model (`ModelProto`, bytes or path) as a Relay module with a function `main`, and its parameters.

    With `freeze_params` weights are constants of the module and the parameters are empty; otherwise they are arguments
    behind the inputs, by their names in the model. `convert_config` is accepted for scripts written for TVM; there is
    one way to convert an operator. Errors as for `relax.frontend.onnx.from_onnx`.
    """
    proto, folder = read_model(model)
    language = RelayGraph()
    importer = Importer(proto, folder, language, shape, dtype, opset)
    _, outputs, weights = importer.run(keep_weights=not freeze_params)
    exprs = [importer.builder.expr(value) for _, value in outputs]
    body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
    module = IRModule({"main": Function(language.params, body)})
    return module, {} if freeze_params else {name: array(content) for name, content in weights.items()}
