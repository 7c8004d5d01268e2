"""ToMixedPrecision: heavy operators get float16 operands; their sums and results have `out_dtype`.

    lv = R.matmul(x, w)      ->      lv = R.astype(x, "float16"); lv1 = R.astype(w, "float16")
                                     gv = R.matmul(lv, lv1, out_dtype="float32")

ALWAYS operators (products and convolutions) compute so; operators that only move or combine elements FOLLOW: they
compute in float16 where all their floating operands are there in float16; the rest gets float32. The function's results
keep their dtype. `fp16_input_names`: parameters that come in as float16 (their annotation changes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion, OpDef
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    Function,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.dtype import DataType

R: Any = RELAX
ALWAYS = ("matmul", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose")
NEVER = ("exp", "log", "erf", "power", "astype", "sinh", "cosh", "tan", "square", "sqrt", "rsqrt")
"""Elementwise operators whose results suffer, and casts, which say themselves what they want."""
_WIDE, _NARROW = DataType("float32"), DataType("float16")


@dataclass(frozen=True)
class ToMixedPrecision(FunctionPass):
    """See the module. Error `api` for an `out_dtype` that is neither float32 nor float16."""

    function_class = Function
    out_dtype: str = "float32"
    fp16_input_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if DataType(self.out_dtype) not in (_WIDE, _NARROW):
            raise fail("api", f"ToMixedPrecision: out_dtype {self.out_dtype}", help='give "float32" or "float16"')

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        rewriter = _Narrower(module, DataType(self.out_dtype))
        narrow = set(self.fp16_input_names or ())
        prepared = _with_narrow_params(function, narrow) if narrow else function
        found = rewriter.function(prepared)
        if found is function:
            return function
        if narrow:
            found = BlockBuilder(module).normalize(found.with_fields(struct_info_=None))
        return remove_all_unused(found)


def _with_narrow_params(function: Function, names: set[str]) -> Function:
    """The function with some parameters in float16; its body starts by casting them."""
    params, made = [], []
    for param in function.params:
        info = param.struct_info_
        if param.name_hint not in names or not _is_wide(info):
            params.append(param)
            continue
        narrow = Var(param.name_hint, info.with_fields(dtype=_NARROW))
        params.append(narrow)
        cast: Any = R.astype(narrow, _WIDE)
        made.append(VarBinding(param, cast.with_fields(struct_info_=info)))
    body = function.body
    if not made or not isinstance(body, SeqExpr):
        return function
    return function.with_fields(params=tuple(params), body=body.with_fields(blocks=(BindingBlock(made), *body.blocks)))


class _Narrower(BindingRewriter):
    """`narrow[var]` is the variable that has the value of `var` in float16."""

    def __init__(self, module: IRModule, out_dtype: DataType) -> None:
        super().__init__(module)
        self.out_dtype = out_dtype
        self.narrow: dict[Any, Any] = {}

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if isinstance(block, DataflowBlock):
            self.narrow = {}  # what the block does not give out is gone with it
        return super().leave_block(block, bindings)

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        definition = value.op.definition if isinstance(value, Call) and isinstance(value.op, Op) else None
        if not isinstance(definition, OpDef) or not _is_wide(binding.var.struct_info_):
            if isinstance(value, Call) and _widens(value):
                self.narrow[binding.var] = value.args[0]
            self.keep(binding)
        elif definition.name in ALWAYS:
            self._always(binding, value)
        elif self._follows(definition, value):
            self._follow(binding, value)
        else:
            if isinstance(value, Call) and _widens(value):
                self.narrow[binding.var] = value.args[0]
            self.keep(binding)

    def _narrowed(self, arg: Any) -> Any:
        """The operand in float16."""
        if isinstance(arg, Tuple):
            return Tuple([self._narrowed(f) for f in arg.fields])
        if not _is_wide(arg.struct_info_):
            return arg
        if isinstance(arg, Constant):
            return Constant(arg.data.data.astype("float16"))
        if arg not in self.narrow:
            self.narrow[arg] = self.emit(R.astype(arg, _NARROW))
        return self.narrow[arg]

    def _always(self, binding: Any, value: Any) -> None:
        args = [self._narrowed(a) for a in value.args]
        attrs = value.attrs.with_attrs(out_dtype=self.out_dtype)
        made = Call(value.op, args, attrs, span=value.span)
        if self.out_dtype == _WIDE:
            self.keep(VarBinding(binding.var, self.normalized(made), binding.span))
        else:
            self._keep_narrow(binding, made)

    def _follows(self, definition: OpDef[Any], value: Any) -> bool:
        """Whether the operator takes the dtype of its operands, which are there in float16 (one at least made)."""
        kinds = (Fusion.ELEMWISE, Fusion.BROADCAST, Fusion.INJECTIVE)
        if definition.fusion not in kinds or definition.name in NEVER or "dtype" in definition.attrs.names:
            return False
        floats = [a for a in _leaves(value.args) if _is_wide(a.struct_info_)]
        ready = [a for a in floats if a in self.narrow]
        return bool(ready) and all(a in self.narrow or isinstance(a, Constant) for a in floats)

    def _follow(self, binding: Any, value: Any) -> None:
        made = Call(value.op, [self._narrowed(a) for a in value.args], value.attrs, span=value.span)
        self._keep_narrow(binding, made)

    def _keep_narrow(self, binding: Any, made: Call) -> None:
        """Bind the float16 value to a new variable, and the old one to its cast (dropped where nobody needs it)."""
        var = self.emit(made, binding.var.name_hint)
        self.keep(VarBinding(binding.var, self.normalized(R.astype(var, _WIDE)), binding.span))
        self.narrow[binding.var] = var


def _leaves(args: Sequence[Any]) -> list[Any]:
    return [f for a in args for f in (a.fields if isinstance(a, Tuple) else (a,))]


def _is_wide(info: Any) -> bool:
    if isinstance(info, TupleStructInfo):
        return False
    return isinstance(info, TensorStructInfo) and info.dtype == _WIDE


def _widens(call: Call) -> bool:
    """Whether the call casts a float16 tensor to float32."""
    if getattr(call.op, "name", "") != "relax.astype":
        return False
    info = call.args[0].struct_info_
    return isinstance(info, TensorStructInfo) and info.dtype == _NARROW and _is_wide(call.struct_info_)
