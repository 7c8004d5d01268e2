"""ConvertLayout: operators work in the desired layouts; transposes remain only where layouts meet.

    ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})

    gv = R.nn.relu(R.nn.conv2d(x, w))    ->    lv = R.permute_dims(x, [0, 2, 3, 1]); lv1 = R.permute_dims(w, ...)
                                               lv2 = R.nn.conv2d(lv, lv1, data_layout="NHWC", kernel_layout="OHWI")
                                               lv3 = R.nn.relu(lv2);  gv = R.permute_dims(lv3, [0, 3, 1, 2])

Works in dataflow blocks. Elementwise operators follow their operand's layout (operands of lower rank are given axes
first), and so do those whose attributes can name the axes anew (`followed_axes`: normalisations, softmax, concat,
split, slices, borders, reductions, pooling, resizing, transposes), casts and tuples. Values needed in the old layout
are transposed back right before each use; outputs of blocks keep theirs. Weights that are constants are transposed by
FoldConstant. Error `pass-layout` for an operator without layouts, or a layout with other axes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion, OpDef
from baton._src.ops.builders import RELAX
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.layouts import Anchor, FollowsInput
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.layouts.followed_axes import Made, Order, followed
from baton._src.passes.relax.leaves_of_values import with_leaves
from baton._src.relax.nodes import (
    Binding,
    Call,
    DataflowVar,
    Function,
    MatchCast,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    definition_of,
)
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX


@dataclass(frozen=True)
class ConvertLayout(FunctionPass):
    """See the module. `desired_layouts`: by operator the layouts of data, kernel and result (if need be)."""

    function_class = Function
    desired_layouts: Mapping[str, Sequence[str]]

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return converted(function, module, self.desired_layouts)


def converted(
    function: Function, module: IRModule, desired_layouts: Mapping[str, Sequence[str]], stay: Container[str] = ()
) -> Function:
    """The function in the desired layouts; `stay` names operators that get their operands in the old ones."""
    desired = {CATALOGUE.relax(name).name: layouts for name, layouts in desired_layouts.items()}
    return _Converter(module, desired, stay).function(function)


class _Converter(BindingRewriter):
    """`moved[var]` stands for a DataflowVar: the same value, or tuple of values, with its axes in another order."""

    def __init__(self, module: IRModule, desired: Mapping[str, Sequence[str]], stay: Container[str]) -> None:
        super().__init__(module)
        self.desired, self.stay = desired, stay
        self.moved: dict[Any, Made] = {}

    def visit_binding(self, binding: Binding) -> None:
        assert isinstance(binding, (VarBinding, MatchCast))
        made = self._made_otherwise(binding) if self.in_dataflow else None
        if made is None:
            value = with_leaves(binding.value, self._back)
            self.keep(binding if value is binding.value else binding.with_fields(value=value))
            return
        value, orders = made
        if _is_as_before(orders):  # a reduction may leave the axes in their old order
            self.keep(VarBinding(binding.var, self.normalized(value), binding.span))
            return
        held = value if isinstance(value, Var) else self.emit(value, binding.var.name_hint)
        self.moved[binding.var] = held, orders
        if not isinstance(binding.var, DataflowVar):
            self.keep(VarBinding(binding.var, self.normalized(self._as_before(binding.var)), binding.span))
            del self.moved[binding.var]

    def _made_otherwise(self, binding: Any) -> Made | None:
        """The value with its axes in another order, and this order; None if it does not change."""
        value = binding.value
        if isinstance(binding, MatchCast):
            return self._cast(binding) if isinstance(binding.var, DataflowVar) and value in self.moved else None
        if isinstance(value, TupleGetItem) and value.tuple_value in self.moved:
            whole, orders = self.moved[value.tuple_value]
            return TupleGetItem(whole, value.index), orders[value.index]
        if isinstance(value, Tuple) and isinstance(binding.var, DataflowVar):
            fields = [self.moved.get(field, (field, None)) for field in value.fields]
            if all(orders is None for _, orders in fields):
                return None
            return Tuple([field for field, _ in fields]), [orders for _, orders in fields]
        definition = definition_of(value)
        if not isinstance(definition, OpDef) or value.op.name in self.stay:
            return None
        if value.op.name in self.desired:
            return self._converted(value, definition, self.desired[value.op.name])
        return self._following(value, definition)

    def _cast(self, binding: MatchCast) -> Made | None:
        """A cast of a converted tensor: the sizes that it names are those of the axes in their order."""
        (held, order), info = self.moved[binding.value], binding.struct_info
        if isinstance(order, list) or not isinstance(info, TensorStructInfo) or info.ndim != len(order):
            return None
        if isinstance(info.shape, ShapeExpr):
            info = info.with_fields(shape=ShapeExpr([info.shape.values[axis] for axis in order]))
        elif info.shape is not None:
            return None
        var = DataflowVar(binding.var.name_hint, info)
        self.keep(MatchCast(var, held, info, binding.span))
        return var, order

    def _back(self, var: Any) -> Any:
        """The value in its old layout, for a use that needs it."""
        return self.emit(self._as_before(var), var.name_hint) if var in self.moved else var

    def _as_before(self, var: Any) -> Any:
        """The value of a converted variable, in its old layout."""
        return self._transposed_back(*self.moved[var])

    def _transposed_back(self, value: GraphExpr, orders: Any) -> Any:
        if orders is None:
            return value
        if not isinstance(orders, list):
            return R.permute_dims(value, axes=list(_inverse(orders)))
        items = [self.emit(TupleGetItem(value, n)) for n in range(len(orders))]
        return Tuple([i if o is None else self.emit(self._transposed_back(i, o)) for i, o in zip(items, orders)])

    def _in_order(self, arg: Any, order: Order) -> Any:
        """The operand with its axes in the given order."""
        if arg in self.moved and self.moved[arg][1] == order:
            return self.moved[arg][0]
        return self._transposed(self._back(arg), order)

    def _transposed(self, arg: Any, order: Order) -> Any:
        rank = arg.struct_info.ndim
        if rank < len(order):
            arg = self.emit(R.expand_dims(arg, axis=list(range(len(order) - rank)))) if rank else arg
        return arg if rank == 0 else self.emit(R.permute_dims(arg, axes=list(order)))

    def _converted(self, call: Call, definition: OpDef[Any], wanted: Sequence[str]) -> tuple[Call, Order] | None:
        facet = definition.layout
        if not isinstance(facet, Anchor):
            raise fail("pass-layout", f"{definition.name} has no layout to convert", span=call.span)
        if any(arg.struct_info.ndim < 0 for arg in call.args[: 1 if facet.kernel is None else 2]):
            return None
        data = getattr(call.attrs, facet.data)
        out = (getattr(call.attrs, facet.out) if facet.out else "") or data
        target, result = wanted[0], wanted[2] if len(wanted) > 2 and facet.out else wanted[0]
        args = list(call.args)
        args[0] = self._in_order(args[0], _order(call, data, target))
        changes: dict[str, Any] = {facet.data: target}
        if facet.kernel is not None:
            kernel = getattr(call.attrs, facet.kernel)
            chosen = wanted[1] if len(wanted) > 1 else kernel
            if chosen != kernel:
                args[1] = self._in_order(args[1], _order(call, kernel, chosen))
                changes[facet.kernel] = chosen
        if facet.out is not None:
            changes[facet.out] = result
        if (target, result) == (data, out) and len(changes) == (1 if facet.out is None else 2):
            return None
        return Call(call.op, args, call.attrs.with_attrs(**changes), span=call.span), _order(call, out, result)

    def _following(self, call: Call, definition: OpDef[Any]) -> Made | None:
        """An operator that works in any layout, if one of its operands was converted."""
        if not call.args or not _is_tensors(call.struct_info_):
            return None
        if definition.fusion in (Fusion.ELEMWISE, Fusion.BROADCAST) and not definition.attrs.names:
            return self._elementwise(call)
        if isinstance(call.args[0], Tuple):
            return self._joining(call, definition)
        value, order = self.moved.get(call.args[0], (None, None))
        return None if order is None or isinstance(order, list) else followed(call, value, order)

    def _joining(self, call: Call, definition: OpDef[Any]) -> tuple[Call, Order] | None:
        """Concatenation of tensors of equal rank along an axis."""
        fields = call.args[0].fields
        orders = [self.moved[f][1] for f in fields if f in self.moved]
        if not orders or not isinstance(definition.layout, FollowsInput) or len(call.args) > 1:
            return None
        order = orders[0]
        attrs = _renumbered(call.attrs, definition.layout.axis, order)
        if attrs is None or any(getattr(f.struct_info_, "ndim", -1) != len(order) for f in fields):
            return None
        return Call(call.op, [Tuple([self._in_order(f, order) for f in fields])], attrs, span=call.span), order

    def _elementwise(self, call: Call) -> tuple[Call, Order] | None:
        orders = [self.moved[a][1] for a in call.args if a in self.moved]
        infos = [a.struct_info_ for a in call.args]
        if not orders or any(not isinstance(i, TensorStructInfo) or i.ndim == -1 for i in infos):
            return None
        order = orders[0]
        if any(i.ndim > len(order) for i in infos):
            return None
        return Call(call.op, [self._in_order(a, order) for a in call.args], call.attrs, span=call.span), order


def _is_tensors(info: StructInfo) -> bool:
    fields = info.fields if isinstance(info, TupleStructInfo) else (info,)
    return all(isinstance(f, TensorStructInfo) for f in fields)


def _renumbered(attrs: Any, axis: str | None, order: Order) -> Any:
    """The attributes with the axis's new number; None if they do not name a single axis."""
    if axis is None:
        return attrs
    named = getattr(attrs, axis)
    return attrs.with_attrs(**{axis: order.index(named % len(order))}) if isinstance(named, int) else None


def _is_as_before(orders: Any) -> bool:
    if isinstance(orders, list):
        return all(map(_is_as_before, orders))
    return orders is None or orders == tuple(range(len(orders)))


def _order(call: Call, old: str, new: str) -> Order:
    """For each axis of the new layout, its number in the old one."""
    if sorted(old) != sorted(new) or len(set(old)) != len(old):
        raise fail("pass-layout", f"{call.op.name}: a layout {old} cannot become {new}", span=call.span)
    return tuple(old.index(axis) for axis in new)


def _inverse(order: Order) -> Order:
    return tuple(order.index(n) for n in range(len(order)))
