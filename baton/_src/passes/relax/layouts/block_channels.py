"""BlockChannels: chains of convolutions keep their channels in blocks of a vector (NCHW16c) from end to end.

    lv = R.nn.conv2d(x, W)        lv_b = R.nn.conv2d(x, W', data_layout="NCHW", kernel_layout="OHWI16o",
    lv1 = R.nn.relu(lv)                              out_layout="NCHW16c")
    lv2 = R.nn.conv2d(lv1, V) ->  lv1_b = R.nn.relu(lv_b)
                                  lv2_b = R.nn.conv2d(lv1_b, V', data_layout="NCHW16c", kernel_layout="OIHW16i16o")
                                  lv2 = R.reshape(R.permute_dims(lv2_b, ...), ...)

Constant weights are converted here. Elementwise operators, pooling, concatenation along the channels and means over the
map adopt the layout; any other reader gets the value in its original layout (DeadCodeElimination removes unused
conversions). Convolutions of bytes (uint8 by int8) have words of four input channels innermost in their weights,
borders and scaling follow. Left alone are most lone convolutions, groups smaller than a block, channels that do not
divide into blocks, convolutions of bytes over symbolic maps, and weights that are not constants. Batch and map may be
symbolic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.cpu import has_byte_dots
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.layouts.channel_blocks import (
    MAP_AXES,
    WORD,
    BlockPlan,
    Role,
    block_of_channels,
    blocked_constant,
    in_whole_words,
    map_shape,
    pack_weight,
    plan_block,
)
from baton._src.passes.shared.filled_arrays import Filling, filling
from baton._src.relax.nodes import Binding, BindingBlock, Call, Constant, Function, SeqExpr, Tuple, Var, VarBinding
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.filled_tensor import unfinished
from baton._src.values.tensor import AnyArray


@dataclass(frozen=True)
class BlockChannels(FunctionPass):
    """See the module."""

    opt_level = 2
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        target = Target.current(allow_none=True) or Target("llvm")
        with filling() as tensors:
            lanes = max(8, target.lanes(32))
            bytewise = all(has_byte_dots(target.features, n) for n in {8, lanes})
            kinds = (bytewise, bool(ctx.setting("baton.winograd")))
            return _Blocker(module, lanes, kinds, tensors).function(function)


class _Blocker(BindingRewriter):
    def __init__(self, module: IRModule, lanes: int, kinds: tuple[bool, bool], tensors: Filling) -> None:
        super().__init__(module)
        self.lanes, self.kinds = lanes, kinds
        self.tensors = tensors
        self.plan = BlockPlan({}, frozenset())
        self.packed: dict[tuple[int, str], tuple[Constant, Constant]] = {}
        """Converted weights by identity (kept alive here) and layout."""
        self.blocked: dict[Any, Var] = {}
        """Variables of the current block, and the variables that hold their values in blocks."""

    def enter_block(self, block: BindingBlock) -> None:
        # What one block's dataflow variables hold, another cannot use.
        self.blocked = {}
        self.plan = plan_block(block, self.lanes, *self.kinds)

    def enter_sequence(self, seq: SeqExpr) -> None:
        self.blocked, self.plan = {}, BlockPlan({}, frozenset())

    def leave_sequence(self, seq: SeqExpr) -> None:
        self.blocked, self.plan = {}, BlockPlan({}, frozenset())

    def visit_binding(self, binding: Binding) -> None:
        var = binding.var
        if not isinstance(binding, VarBinding) or var not in self.plan.chosen:
            self.keep(binding)
            return
        call = binding.value
        match self.plan.roles[var]:
            case Role.CONVOLUTION:
                new = self._convolution(call)
            case Role.POOLING:
                data = self._in_blocks(call.args[0])
                layout = f"NCHW{block_of(data)}c"
                new = Call(call.op, (data,), call.attrs.with_attrs(layout=layout, out_layout=""), span=call.span)
            case Role.JOINING:
                fields = [self._in_blocks(f) for f in call.args[0].fields]
                new = Call(call.op, (Tuple(fields),), call.attrs.with_attrs(axis=1), span=call.span)
            case Role.FOLDING:
                attrs = call.attrs.with_attrs(axis=MAP_AXES)  # they may be counted from an end that moves
                new = Call(call.op, (self._in_blocks(call.args[0]),), attrs, span=call.span)
            case Role.PADDING:
                width = [n for pair in (*call.attrs.pairs, (0, 0)) for n in pair]
                attrs = call.attrs.with_attrs(pad_width=width)
                new = Call(call.op, (self._in_blocks(call.args[0]),), attrs, span=call.span)
            case Role.SCALING:
                new = Call(call.op, (self._in_blocks(call.args[0]), *call.args[1:]), call.attrs, span=call.span)
            case Role.FOLLOWING:
                new = self._following(call)
        result = self.emit(new, f"{var.name_hint}_blocked")
        if len(result.struct_info.shape.values) == 5:
            self.blocked[var] = result
        self.keep(VarBinding(var, self.normalized(self._plain(result, var)), binding.span))

    def _convolution(self, call: Call) -> Call:
        weight: Any = call.args[1]
        outputs, inputs = weight.data.shape[:2]
        out = block_of_channels(outputs, self.lanes)
        assert out is not None
        attrs, out_layout = call.attrs, f"NCHW{out}c"
        data: Any = call.args[0]
        if attrs.groups > 1 and inputs == 1:
            data, data_layout, kernel_layout = self._in_blocks(data), out_layout, f"OIHW{out}o"
        elif weight.struct_info.dtype == "int8":
            data = self._in_blocks(data) if block_of_channels(inputs, self.lanes) else self._in_words(data)
            block = block_of(data)
            words = "" if block == WORD else f"{block // WORD}i"
            data_layout, kernel_layout = f"NCHW{block}c", f"OIHW{words}{out}o{WORD}i"
        elif data not in self.blocked and (inputs < 16 or block_of_channels(inputs, self.lanes) is None):
            data_layout, kernel_layout = "NCHW", f"OHWI{out}o"
        else:
            data = self._in_blocks(data)
            data_layout, kernel_layout = f"NCHW{block_of(data)}c", f"OIHW{block_of(data)}i{out}o"
        packed = self._packed(weight, kernel_layout)
        attrs = attrs.with_attrs(data_layout=data_layout, kernel_layout=kernel_layout, out_layout=out_layout)
        return Call(call.op, (data, packed), attrs, call.sinfo_args, call.span)

    def _packed(self, weight: Constant, layout: str) -> Constant:
        """A weight in the given layout; convolutions that share a weight share the constant."""
        key = (id(weight), layout)
        if key not in self.packed:
            view = pack_weight(in_whole_words(unfinished(weight.data), layout), layout)
            packed = self.tensors.fill(view.shape, view.dtype, _write_packed, weight.data, layout)
            self.packed[key] = (weight, Constant(packed))
        return self.packed[key][1]

    def _in_words(self, value: Any) -> Var:
        """The bytes of a plain variable with channels in words; the last word is padded with zeros."""
        make = RelaxMaker(CATALOGUE.get("reshape"), CATALOGUE)
        n, c, h, w = map_shape(value.struct_info)
        whole = -(-c // WORD) * WORD
        full = make.op("nn.pad", value, pad_width=(0, 0, 0, whole - c, 0, 0, 0, 0)) if whole > c else value
        apart = make(full, make.shape((n, whole // WORD, WORD, h, w)))
        return self.emit(make.op("permute_dims", apart, axes=(0, 1, 3, 4, 2)), f"{value.name_hint}_words")

    def _following(self, call: Call) -> Call:
        block = next(block_of(self.blocked[a]) for a in call.args if a in self.blocked)
        args: list[Any] = []
        for arg in call.args:
            if isinstance(arg, Constant):
                args.append(Constant(blocked_constant(arg.data.data, block)))
            else:
                args.append(self._in_blocks(arg) if isinstance(arg, Var) else arg)
        return Call(call.op, tuple(args), call.attrs, call.sinfo_args, call.span)

    def _in_blocks(self, value: Any) -> Var:
        """The value of a plain variable in blocks."""
        if value in self.blocked:
            return self.blocked[value]
        make = RelaxMaker(CATALOGUE.get("reshape"), CATALOGUE)
        n, c, h, w = map_shape(value.struct_info)
        block = block_of_channels(c, self.lanes)
        assert block is not None
        apart = make(value, make.shape((n, c // block, block, h, w)))
        found = self.emit(make.op("permute_dims", apart, axes=(0, 1, 3, 4, 2)), f"{value.name_hint}_blocked")
        self.blocked[value] = found
        return found

    def _plain(self, value: Var, like: Var) -> Any:
        """A blocked value in the layout of the variable it stands for."""
        make = RelaxMaker(CATALOGUE.get("reshape"), CATALOGUE)
        found: Any = value
        shape = value.struct_info.shape.values
        if len(shape) == 5 and not all(getattr(d, "value", 0) == 1 for d in shape[2:4]):
            found = make.op("permute_dims", found, axes=(0, 1, 4, 2, 3))
        return make(found, make.shape(like.struct_info.shape.values))


def block_of(value: Var) -> int:
    """The block size of a variable in blocks."""
    return int(value.struct_info.shape.values[-1].value)


def _write_packed(into: AnyArray, weight: AnyArray, layout: str) -> None:
    np.copyto(into, pack_weight(in_whole_words(weight, layout), layout))
