"""`RelaxGraph`: a model's graph becomes one Relax function `main`, built through a BlockBuilder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Self

from baton._src.frontends.graph_builder.language import Arm, State
from baton._src.frontends.graph_builder.operands import Scalars
from baton._src.frontends.graph_builder.relax_rewrites import REWRITES
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.tensor_info import Dim, ShapeInfo, TensorInfo
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.info import from_info, to_info
from baton._src.relax.nodes import (
    Call,
    Constant,
    ExternFunc,
    Function,
    If,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import FuncStructInfo, ShapeStructInfo, TupleStructInfo
from baton._src.support.spans import node_place
from baton._src.tir.expr import AnyDim
from baton._src.tir.expr import Var as ShapeVar
from baton._src.values.dtype import BOOL
from baton._src.values.tensor import AnyArray, NDArray, array


class RelaxGraph:
    """Emits bindings. Arguments and results are Relax variables and constants."""

    name = "relax"

    def __init__(self, dataflow: bool) -> None:
        self.builder = BlockBuilder()
        self.params: list[Var] = []
        self.function = ExitStack()
        self.block = ExitStack()
        self.dataflow = dataflow
        self.sizes = 0
        """The number of run-time sizes that have been named."""

    def input(self, name: str, info: TensorInfo) -> Var:
        var = Var(name, from_info(info))
        self.params.append(var)
        return var

    def start(self) -> None:
        """Open the function once all inputs are known."""
        self.function.enter_context(self.builder.function("main", self.params))
        if self.dataflow:
            self.block.enter_context(self.builder.dataflow())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Close what an invalid model left open, so that later programs are not built inside this function."""
        self.block.__exit__(*error)
        self.function.__exit__(*error)

    def constant(self, content: AnyArray) -> Constant:
        own = (
            content.flags.writeable and content.flags.c_contiguous
        )  # read-only: somebody else's, a parser's or a user's
        return Constant(NDArray(content) if own else array(content))

    def call(self, definition: OpDef[Any], args: list[Any], attrs: Any, count: int, hint: str) -> Sequence[Any]:
        made = [_argument(a) for a in args]
        span = node_place(hint) if hint else None
        result = self.builder.emit(Call(definition.relax_op, made, attrs.in_relax(), span=span), span=span)
        if not count:
            return [result]
        return [self.builder.emit(TupleGetItem(result, i)) for i in range(count)]

    def packed(self, name: str, args: Sequence[Any], infos: Sequence[TensorInfo]) -> Sequence[Any]:
        given = [StringImm(a) if isinstance(a, str) else PrimValue(a) if isinstance(a, int) else a for a in args]
        results = [from_info(i) for i in infos]
        info = results[0] if len(results) == 1 else TupleStructInfo(results)
        call = Call(special_op("call_pure_packed"), [ExternFunc(name), *given], None, (info,))
        result = self.builder.emit(call)
        return (
            [result] if len(results) == 1 else [self.builder.emit(TupleGetItem(result, i)) for i in range(len(results))]
        )

    def demand(self, condition: Any, told: str) -> None:
        kept = TensorInfo((AnyDim(),), BOOL)  # of a size that a run is to name: unused results are not computed
        (result,) = self.packed("vm.builtin.asserted", (condition, told), (kept,))
        self.named(result, kept)

    def shape_tensor(self, dims: Sequence[Dim]) -> Any:
        return self.builder.emit(Call(special_op("shape_to_tensor"), [ShapeExpr(dims)]))

    def branch(self, condition: Any, arms: Sequence[Arm]) -> Sequence[tuple[Any, TensorInfo]]:
        result = self.builder.emit(If(condition, self._sequence(arms[0]), self._sequence(arms[1])))
        fields = [self.builder.emit(TupleGetItem(result, i)) for i in range(len(result.struct_info.fields))]
        return [(f, _tensor_info(f)) for f in fields]

    def loop(
        self, start: Sequence[Any], infos: Sequence[TensorInfo], step: Callable[[State], list[Any]]
    ) -> Sequence[Any]:
        known = [self._with_names(i) for i in infos]
        params = [Var(f"state_{k}", from_info(i)) for k, i in enumerate(known)]
        annotations = [from_info(i) for i in infos]
        result = TupleStructInfo(annotations)
        function = Var("loop", FuncStructInfo(annotations, result))
        state = list(zip(params, known, strict=True))
        body = self._function_body(params, lambda: self._iterate(function, params, lambda: step(state)))
        self.builder.emit_normalized(VarBinding(function, Function(params, body, result)))
        found = self.builder.emit(Call(function, start))
        return [self.builder.emit(TupleGetItem(found, k)) for k in range(len(params))]

    def _iterate(self, function: Var, params: list[Var], step: Callable[[], list[Any]]) -> Any:
        again = self._body(lambda: self.builder.emit(Call(function, step())))
        done = self._body(lambda: self.builder.emit(Tuple(params)))
        return self.builder.emit(If(params[0], again, done))

    def _function_body(self, params: list[Var], write: Callable[[], Any]) -> SeqExpr:
        self.builder.begin_scope(params)
        try:
            return self._body(write)
        finally:
            self.builder.end_scope()

    def in_scope(self, dims: Sequence[Dim]) -> bool:
        variables = {v for d in dims if isinstance(d, PrimExpr) for v in prim_vars(d)}
        return variables <= self.builder.context.shape_scope and not any(isinstance(d, AnyDim) for d in dims)

    def rehearse(self, infos: Sequence[TensorInfo], run: Callable[[list[Any]], None]) -> None:
        params = [Var(f"state_{k}", from_info(i)) for k, i in enumerate(infos)]

        def write() -> Tuple:
            run(list(params))
            return Tuple([])

        self._function_body(params, write)

    def _body(self, write: Callable[[], Any]) -> SeqExpr:
        """The bindings that `write` emits, and its result. If it fails, its bindings are discarded."""
        self.builder.begin_binding_block()
        try:
            result = write()
        finally:
            block = self.builder.end_block()
        return SeqExpr([block], result)

    def _sequence(self, arm: Arm) -> SeqExpr:
        return self._function_body([], lambda: self.builder.emit(Tuple([expr for expr, _ in arm()])))

    def match(self, expr: Any, info: TensorInfo, hint: str, doubtful: Sequence[int] = ()) -> Any:
        name = re.sub(r"\W+", "_", hint).strip("_")
        return self.builder.match_cast(expr, from_info(info), name and f"operand_of_{name}")

    def named(self, expr: Any, info: TensorInfo) -> tuple[Any, TensorInfo]:
        dims = (AnyDim(),) * info.ndim if info.shape is None else info.shape
        if info.ndim < 0 or not any(isinstance(d, AnyDim) for d in dims):
            return expr, info
        named = self._with_names(TensorInfo(dims, info.dtype))
        return self.builder.match_cast(expr, from_info(named)), named

    def _with_names(self, info: TensorInfo) -> TensorInfo:
        """The info with a new name for each size that is `AnyDim`."""
        if info.shape is None or not any(isinstance(d, AnyDim) for d in info.shape):
            return info
        return TensorInfo(tuple(self._new_sizes(1)[0] if isinstance(d, AnyDim) else d for d in info.shape), info.dtype)

    def numbers(self, expr: Any, count: int) -> list[ShapeVar]:
        sizes = self._new_sizes(count)
        shape = self.builder.emit(Call(special_op("tensor_to_shape"), [expr]))
        self.builder.match_cast(shape, ShapeStructInfo(sizes))
        return list(sizes)

    def _new_sizes(self, count: int) -> tuple[ShapeVar, ...]:
        self.sizes += count
        return tuple(ShapeVar(f"size_{k}", "int64") for k in range(self.sizes - count, self.sizes))

    def rewrite(self, name: str) -> Callable[..., Value] | None:
        return REWRITES.get(name)

    def finish(
        self, outputs: Sequence[Any], num_input: int | None, wrap: bool | None = None, bind: bool = True
    ) -> IRModule:
        """The module, with the outputs as a tuple if `wrap` (None: unless there is one), with a name if `bind`."""
        if not (len(outputs) > 1 if wrap is None else wrap):
            result = self._visible(outputs[0])
        elif bind:
            result = self._visible(Tuple(outputs))
        else:
            result = Tuple([self._visible(o) for o in outputs])
        self.block.close()
        self.builder.emit_func_output(result)
        self.function.close()
        module: IRModule = self.builder.get()
        if num_input is None:
            return module
        var = module.get_global_var("main")
        return module.with_function(var, module[var].with_attr("num_input", num_input))

    def _visible(self, result: Any) -> Any:
        return self.builder.emit_output(result) if self.dataflow else result


def _tensor_info(expr: Any) -> TensorInfo:
    info = to_info(expr.struct_info)
    return info if isinstance(info, TensorInfo) else TensorInfo()


def _argument(arg: Any) -> Any:
    if isinstance(arg, ShapeInfo):
        return ShapeExpr(arg.values or ())
    if isinstance(arg, Scalars):
        return (
            Tuple([PrimValue(v) for v in arg.values])
            if isinstance(arg.values, (tuple, list))
            else PrimValue(arg.values)
        )
    return Tuple(arg) if isinstance(arg, tuple) else arg
