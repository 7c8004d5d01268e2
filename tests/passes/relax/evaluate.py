"""A small evaluator of Relax modules over NumPy, so that passes can be checked for what programs compute.

Operators mean their `OpDef.reference`, kernels run in TIR's interpreter. Shape variables are matched from parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.traverse import substitute
from baton._src.relax.nodes import (
    Call,
    Constant,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc


def evaluate(module: IRModule, name: str, *args: Any) -> Any:
    """What the function gives for these arguments."""
    return _Evaluator(module).call(module[name], args, {}, {})


class _Closure:
    def __init__(self, function: Function, env: dict[Any, Any], dims: dict[Any, int]) -> None:
        self.function, self.env, self.dims = function, env, dims


class _Evaluator:
    def __init__(self, module: IRModule) -> None:
        self.module = module
        self.effects: list[Any] = []

    def call(self, function: Any, args: Any, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        if isinstance(function, PrimFunc):
            run_prim_func(function, list(args))
            return ()
        env, dims = dict(env), dict(dims)
        for param, arg in zip(function.params, args, strict=True):
            env[param] = arg
            self._match(param.struct_info, arg, dims)
        return self.sequence(function.body, env, dims)

    def _match(self, info: Any, value: Any, dims: dict[Any, int]) -> None:
        shape: Any = ()
        if isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr):
            shape, value = info.shape.values, np.shape(value)
        elif isinstance(info, ShapeStructInfo) and info.values is not None:
            shape = info.values
        for dim, size in zip(shape, value):
            if isinstance(dim, TirVar):
                assert dims.setdefault(dim, int(size)) == size
            elif isinstance(dim, IntImm):
                assert dim.value == size

    def sequence(self, seq: Any, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        if not isinstance(seq, SeqExpr):
            return self.value(seq, env, dims)
        for block in seq.blocks:
            for binding in block.bindings:
                env[binding.var] = self.value(binding.value, env, dims)
                if isinstance(binding, MatchCast):
                    self._match(binding.struct_info, env[binding.var], dims)
        return self.value(seq.body, env, dims)

    def value(self, expr: Any, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        match expr:
            case Var():
                return env[expr]
            case Constant():
                return expr.data.data
            case Tuple():
                return tuple(self.value(f, env, dims) for f in expr.fields)
            case TupleGetItem():
                return self.value(expr.tuple_value, env, dims)[expr.index]
            case ShapeExpr():
                return tuple(_number(v, dims) for v in expr.values)
            case PrimValue():
                return _number(expr.value, dims)
            case StringImm():
                return expr.value
            case GlobalVar():
                return _Closure(self.module[expr], {}, {})
            case Function():
                return _Closure(expr, env, dims)
            case If():
                chosen = expr.true_branch if self.value(expr.cond, env, dims) else expr.false_branch
                return self.sequence(chosen, dict(env), dict(dims))
            case Call():
                return self._call(expr, env, dims)
        raise NotImplementedError(type(expr).__name__)

    def _call(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        if not isinstance(call.op, Op):
            callee = self.value(call.op, env, dims)
            return self.call(callee.function, [self.value(a, env, dims) for a in call.args], callee.env, callee.dims)
        if isinstance(call.op.definition, OpDef):
            attrs = NO_ATTRS if call.attrs is None else call.attrs
            args = tuple(self.value(a, env, dims) for a in call.args)
            found = call.op.definition.reference(args, attrs)
            return found if isinstance(found, tuple) else np.asarray(found)
        return getattr(self, "_" + call.op.name.removeprefix("relax.").replace(".", "_"))(call, env, dims)

    def _call_tir_with_grad(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        return self._call_tir(call, env, dims)

    def _call_tir(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        info = call.sinfo_args[0]
        infos = [info] if isinstance(info, TensorStructInfo) else list(info.fields)
        outputs = [self._empty(i, dims) for i in infos]
        ints = list(self.value(call.args[2], env, dims)) if len(call.args) > 2 else []
        inputs = [np.asarray(a, order="C") for a in self.value(call.args[1], env, dims)]
        run_prim_func(self.module[call.args[0]], [*inputs, *outputs, *ints])
        return outputs[0] if isinstance(info, TensorStructInfo) else tuple(outputs)

    def _empty(self, info: Any, dims: dict[Any, int]) -> Any:
        return np.zeros([_number(d, dims) for d in info.shape.values], info.dtype.numpy)

    def _builtin_alloc_tensor(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        return np.zeros(self.value(call.args[0], env, dims), call.args[1].value.numpy)

    def _vm_call_tir_dyn(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        *tensors, ints = self.value(call.args[1], env, dims)
        run_prim_func(self.module[call.args[0]], [*tensors, *ints])
        return ()

    def _hint_on_device(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        return self.value(call.args[0], env, dims)

    _to_vdevice = _hint_on_device  # one memory

    def _tensor_to_shape(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        return tuple(self.value(call.args[0], env, dims).tolist())

    def _memory_kill_tensor(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        env[call.args[0]] = None
        return ()

    def _make_closure(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        return (self.module[call.args[0]], self.value(call.args[1], env, dims))

    def _invoke_closure(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        function, captured = self.value(call.args[0], env, dims)
        return self.call(function, (*self.value(call.args[1], env, dims), *captured), {}, {})

    _invoke_pure_closure = _invoke_closure

    def _print(self, call: Call, env: dict[Any, Any], dims: dict[Any, int]) -> Any:
        self.effects.append([self.value(a, env, dims) for a in call.args])
        return ()


def _number(dim: PrimExpr, dims: dict[Any, int]) -> Any:
    if hasattr(dim, "value"):
        return dim.value
    found = Analyzer().simplify(substitute(dim, {v: IntImm(v.dtype, n) for v, n in dims.items()}))
    return found.value
