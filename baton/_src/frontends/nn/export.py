"""From a module and what its inputs look like to an IRModule: one function a method, inputs first, then parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from baton._src.frontends.nn import spec as specs
from baton._src.frontends.nn.tensor import Parameter, Tensor, emit, unwrap
from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import PrimStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir

if TYPE_CHECKING:
    from baton._src.frontends.nn.module import Module

Parameters = list[tuple[str, Parameter]]


def export(model: Module, spec: Any) -> tuple[IRModule, Parameters]:
    """See `Module.export_tvm`."""
    parameters = list(model.named_parameters())
    builder = BlockBuilder()
    for name, inputs in dict(spec).items():
        method = getattr(model, name, None)
        if method is None:
            raise fail("nn-export", f"{type(model).__name__} has no method {name!r}")
        _export_method(builder, name, method, dict(inputs), parameters)
    return builder.get(), parameters


def _export_method(builder: BlockBuilder, name: str, method: Any, inputs: dict[str, Any], weights: Parameters) -> None:
    inputs.pop("$", None)  # how parameters are packed; they are plain here
    expected = [p for p in inspect.signature(method).parameters if p not in inputs]
    missing = [p for p in expected if inspect.signature(method).parameters[p].default is inspect.Parameter.empty]
    if missing:
        raise fail("nn-export", f"the spec of {name} lacks {', '.join(missing)}", help=f"it has: {', '.join(inputs)}")
    dims: dict[str, tir.Var] = {}
    given = [Var(n, _struct_info(s, dims)) for n, s in inputs.items()]
    before = [parameter._expr for _, parameter in weights]
    made = [Var(path, parameter.struct_info) for path, parameter in weights]
    try:
        for (_, parameter), var in zip(weights, made, strict=True):
            parameter._expr = var
        with builder.function(name, [*given, *made], attrs={"num_input": len(given)}):
            with builder.dataflow():
                arguments = {n: _argument(v, s) for v, (n, s) in zip(given, inputs.items(), strict=True)}
                output = builder.emit_output(_result(method(**arguments)))
            builder.emit_func_output(output)
    finally:
        for (_, parameter), expr in zip(weights, before, strict=True):
            parameter._expr = expr


def _struct_info(spec: Any, dims: dict[str, tir.Var]) -> StructInfo:
    if isinstance(spec, specs.Tensor):
        found = [dims.setdefault(d, tir.Var(d, "int64")) if isinstance(d, str) else d for d in spec.shape]
        return TensorStructInfo(found, spec.dtype)
    if isinstance(spec, specs.Tuple):
        return TupleStructInfo([_struct_info(e, dims) for e in spec.elements])
    if spec is int or isinstance(spec, specs.Int):
        return PrimStructInfo("int64")
    raise fail(
        "nn-export", f"{spec!r} does not say what an input looks like", help="nn.spec.Tensor((1, 'n'), 'float32')"
    )


def _argument(var: Any, spec: Any) -> Any:
    """What the method gets for an input."""
    if isinstance(spec, specs.Tensor):
        return Tensor(_expr=var)
    if isinstance(spec, specs.Tuple):
        return tuple(_argument(_item(var, i), e) for i, e in enumerate(spec.elements))
    return var


def _item(var: Any, index: int) -> Any:
    """A field of a tuple, bound."""
    return unwrap(emit(TupleGetItem(var, index), "item"))


def _result(value: Any) -> Any:
    """The expression a method returns: a tensor, or nested tuples of them."""
    if isinstance(value, (list, tuple)):
        return Tuple([_result(item) for item in value])
    if not isinstance(value, Tensor):
        raise fail("nn-export", f"a method returns tensors, got a {type(value).__name__}")
    return value._expr
