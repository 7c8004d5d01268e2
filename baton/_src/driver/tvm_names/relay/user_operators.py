"""Operators that scripts register (`tvm.relay.op.op.register`, `tvm.ir.register_op_attr`), as in TVM's registry.

    register("my.scale")                       a new operator, or the one there is
    get("my.scale").set_num_inputs(1)          what follows completes its definition
    get("my.scale").add_type_rel("Identity")
    register_compute("my.scale", lambda attrs, inputs, out_type: [te.compute(...)])

Each piece makes a new `OpDef` behind the same `Op`, so that calls made before see it too: the checker, the passes, and
every executor. A compute function gives tensor expressions, among them `te.extern`, which may call packed functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any

from baton._src.driver.intrinsic_rules import register_intrinsic_attr
from baton._src.driver.relax.operator_compiler import OperatorCompiler
from baton._src.driver.tvm_names.relax.operator_columns import fill_relax_column
from baton._src.ir.attrs import OpenAttrs
from baton._src.ir.expr import Op
from baton._src.ir.node import set_note
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.target import Target
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ir.types import TensorType
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.check.relations import STANDARD_RELATIONS
from baton._src.relay.check.show import show_type
from baton._src.relay.info import from_info, to_info
from baton._src.support.diagnostics import BatonError, fail
from baton._src.te.tensor import Tensor
from baton._src.values.convert import to_numpy
from baton._src.values.dtype import BOOL
from baton._src.values.tensor import NDArray, array

_UNKNOWN = "its type relation is not registered: Op.add_type_rel(name, function)"


def register(op_name: str, describe: str = "") -> Op:
    """The operator of this name; a new one of Relay if there is none yet (Relax has none of scripts' own)."""
    if op_name.startswith("relax."):
        return CATALOGUE.relax(op_name)
    if op_name in CATALOGUE.relay_names():
        return CATALOGUE.relay(op_name)
    definition: OpDef[Any] = OpDef(
        op_name,
        OpenAttrs,
        infer=_undefined,
        compute=NotApplicable("no compute function is registered: relay.op.op.register_compute"),
        reference=NotApplicable("no compute function is registered: relay.op.op.register_compute"),
        fusion=Fusion.OPAQUE,
        in_relax=False,
        summary=describe or "An operator that a script registered.",
    )
    CATALOGUE.register(definition)
    return CATALOGUE.relay(op_name)


def _undefined(call: OpCall[Any]) -> Info:
    call.fail(_UNKNOWN, code="op-registered")


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Fill a column of the registry; without `value`, a decorator. Relay's passes read the columns of baton's own
    operators, too; what says how an operator is computed, fused or whether it has effects becomes part of its
    definition, if it is a registered one. Intrinsics of TIR (`tir.exp`) take rules that lower them (`intrinsic_rules`),
    operators of Relax kernels (`operator_columns`)."""
    if op_name.startswith("tir."):
        return register_intrinsic_attr(op_name, attr_key, value, level)

    def put(content: Any) -> Any:
        if op_name.startswith("relax."):
            fill_relax_column(op_name, attr_key, content, level)
            return content
        op = register(op_name)
        op.set_attr(attr_key, content, level)
        facets = _FACETS.get(attr_key)
        if facets is not None and CATALOGUE.is_registered(op_name):
            redefine(op, **facets(op, content))
        return content

    return put if value is None else put(value)


def column(attr_key: str, value_name: str = "func") -> Callable[..., Any]:
    """The function `register_<column>(op_name, <value_name>=None, level=10)` of one column."""

    def fill(op_name: str, *given: Any, **named: Any) -> Any:
        arguments = signature.bind(op_name, *given, **named).arguments
        return register_op_attr(op_name, attr_key, arguments.get(value_name), arguments.get("level", 10))

    parameters = [("op_name", Parameter.empty), (value_name, None), ("level", 10)]
    signature = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, default=d) for n, d in parameters])
    vars(fill)["__signature__"] = signature
    fill.__doc__ = f"Register an operator's {attr_key}; without a value, a decorator."
    return fill


register_compute = column("FTVMCompute", "compute")
register_pattern = column("TOpPattern", "pattern")
register_stateful = column("TOpIsStateful", "stateful")
register_gradient = column("FPrimalGradient", "fgradient")
register_legalize = column("FTVMLegalize", "legal_op")
register_qnn_legalize = column("FTVMQnnLegalize", "legal_op")
register_alter_op_layout = column("FTVMAlterOpLayout", "alter_layout")
register_convert_op_layout = column("FTVMConvertOpLayout", "convert_layout")
register_infer_correct_layout = column("FInferCorrectLayout", "infer_layout")
register_external_compiler = column("TExternalCompiler", "fexternal")
register_fake_quantization_to_integer = column("FTVMFakeQuantizationToInteger")
register_optional_fake_quantization_to_integer = column("FTVMOptionalFakeQuantizationToInteger")
register_mixed_precision_conversion = column("FTVMMixedPrecisionConversionType")
register_schedule = column("FTVMSchedule", "schedule")


def register_injective_schedule(op_name: str, level: int = 10) -> Op:
    """Accepted: kernels get their schedule by rules from what they compute."""
    return register(op_name)


register_broadcast_schedule = register_reduce_schedule = register_injective_schedule


def register_shape_func(op_name: str, data_dependent: Any, shape_func: Any = None, level: int = 10) -> Any:
    """Note a shape function. Shapes of results follow from the type relation, whose dims may be expressions."""

    def put(function: Any) -> Any:
        register(op_name).set_attr("TShapeDataDependent", data_dependent, level)
        return register_op_attr(op_name, "FShapeFunc", function, level)

    return put if shape_func is None else put(shape_func)


# ---- the methods of Op that complete a definition


class Registration:
    """What `Op.set_num_inputs(...)` and its kin do; `Op.registration` is bound to it by `driver.wiring`."""

    def __init__(self, op: Op) -> None:
        if not CATALOGUE.is_registered(op.name):
            message = f"{op.name} is one of baton's own operators: its definition is not changed"
            raise fail("op-registered", message, help="register an operator of your own")
        self.op = op

    def set_num_inputs(self, n: int) -> None:
        """Set the number of operands; those without a name get one."""
        known = self.op.definition.inputs
        more = tuple(Input(f"x{i + 1}") for i in range(len(known), n))
        redefine(self.op, inputs=(*known[:n], *more))

    def add_argument(self, name: str, type: str = "Tensor", description: str = "") -> None:
        """Name the next operand."""
        inputs = list(self.op.definition.inputs)
        position = next((i for i, known in enumerate(inputs) if known.name == f"x{i + 1}"), len(inputs))
        inputs[position : position + 1] = [Input(name, description)]
        redefine(self.op, inputs=tuple(inputs))

    def add_type_rel(self, rel_name: str, type_rel_func: Any = None) -> None:
        """The rule of types: `function(types of the arguments, attrs) -> type of the result` (None: not decided), or
        one of the standard relations by name."""
        redefine(self.op, infer=_standard(rel_name) if type_rel_func is None else _inferring(type_rel_func))

    def set_attrs_type_key(self, key: str) -> None:
        """Accepted: calls take the attributes they are given."""

    def set_support_level(self, level: int) -> None:
        self.op.set_attr("support_level", level, 20)


def redefine(op: Op, **facets: Any) -> None:
    """Give the operator a definition with some facets changed; the `Op` of each language stays the same object."""
    old = op.definition
    kept = {name: getattr(old, name) for name in ("inputs", "infer", "compute", "reference", "fusion", "gradient")}
    kept |= {name: getattr(old, name) for name in ("decompose", "pure", "stateful", "summary")}
    new: OpDef[Any] = OpDef(old.name, OpenAttrs, in_relax=False, **{**kept, **facets})
    for language in ("relay_op", "relax_op"):
        object.__setattr__(new, language, getattr(old, language))
        set_note(getattr(old, language), "definition", new)
    CATALOGUE.register(new)


# ---- facets from columns


def _computing(op: Op, function: Callable[..., Any]) -> dict[str, Any]:
    """The computation of the operator, as a kernel."""

    def compute(inputs: Any, attrs: Any, out: Info) -> Any:
        return _single(_outputs(op.name, function, attrs, list(inputs), out))

    return {"compute": compute, "reference": _running(op.name)}


def _outputs(name: str, function: Callable[..., Any], attrs: Any, inputs: list[Tensor], out: Info) -> list[Tensor]:
    with _blaming(f"{name}: the function registered to compute it failed on", inputs):
        found = function(attrs if attrs is not None else OpenAttrs(), inputs, from_info(out))
    return list(found) if isinstance(found, (list, tuple)) else [found]


@contextmanager
def _blaming(what: str, given: Sequence[Any]) -> Iterator[None]:
    """An error in a function of the user's, told as one of the program's, with what the function was given."""
    try:
        yield
    except BatonError:
        raise
    except Exception as error:
        types = (TensorType(tuple(g.shape), g.dtype) if isinstance(g, Tensor) else g for g in given)
        shown = ", ".join(show_type(t) for t in types) or "no operands"
        message = f"{what} {shown}: {type(error).__name__}: {error}"
        raise fail("op-registered", message, help="the traceback above shows where") from error


def _single(outputs: list[Tensor]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _running(name: str) -> Callable[..., Any]:
    """The operator's meaning where nothing else says it: what it computes, compiled by itself."""
    compilers: list[OperatorCompiler] = []

    def reference(inputs: Any, attrs: Any) -> Any:
        if not compilers:
            compilers.append(OperatorCompiler(Target.host()))
        found = compilers[0](name, dict(attrs.items()) if attrs else {}, [array(x) for x in inputs])
        return to_numpy(found) if isinstance(found, NDArray) else tuple(to_numpy(f) for f in found)

    return reference


def _choosing(op: Op, choose: Callable[..., Any]) -> dict[str, Any]:
    """The computation of the operator: that of the best implementation of a strategy."""

    def compute(attrs: Any, inputs: Any, out_type: Any) -> Any:
        target = Target.current() or Target.host()
        return choose(attrs, inputs, out_type, target).best().compute(attrs, inputs, out_type)

    return _computing(op, compute)


_FACETS: dict[str, Callable[[Op, Any], dict[str, Any]]] = {
    "FTVMCompute": lambda op, function: {} if op.has_attr("FTVMStrategy") else _computing(op, function),
    "FTVMStrategy": _choosing,
    "TOpPattern": lambda op, pattern: {"fusion": Fusion(int(pattern))},
    "TOpIsStateful": lambda op, stateful: {"stateful": bool(stateful), "pure": not stateful},
}


# ---- type rules


def _inferring(function: Callable[..., Any]) -> Callable[[OpCall[Any]], Info]:
    def infer(call: OpCall[Any]) -> Info:
        types = [from_info(a) for a in call.args]
        with _blaming(f"{call.op.name}: the type relation registered for it failed on", types):
            found = function(types, call.attrs)
        if found is None:
            call.fail("its type relation yields no type for these arguments", code="op-registered")
        return to_info(found)

    return infer


def _standard(name: str) -> Callable[[OpCall[Any]], Info]:
    """One of the relations that need no function."""
    relation = STANDARD_RELATIONS.get(name) or STANDARD_RELATIONS.get(name.removesuffix("Rel"))
    if relation is None:
        help = f"give a function, or one of {', '.join(STANDARD_RELATIONS)}"
        raise fail("op-registered", f"there is no type relation {name}", help=help)
    model = CATALOGUE.get({"Broadcast": "add", "BroadcastComp": "less"}.get(relation.name, "copy"))

    def infer(call: OpCall[Any]) -> Info:
        found = model.infer(OpCall(call.op, call.args, call.attrs, call.prover, call.values, call.span))
        if relation.name == "IdentityComp" and isinstance(found, TensorInfo):
            return TensorInfo(found.shape, BOOL)
        return found

    return infer
