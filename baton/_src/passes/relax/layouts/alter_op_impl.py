"""AlterOpImpl: replace an operator's kernels by given ones, whose tensors may be in another layout.

    cls.add has the attribute "operator_name": "relax.add"

    lv = R.call_tir(cls.add, (x, y),                      lx = R.layout_transform(x, m);  ly = R.layout_transform(y, m)
        out_sinfo=R.Tensor((16,), "float32"))     ->      l = R.call_tir(cls.relax_add_replacement, (lx, ly),
                                                              out_sinfo=R.Tensor((4, 4), "float32"))
                                                          lv = R.layout_transform(l, inverse of m)

The replacement has that attribute, too, for passes that look for the operator.
`op_buffer_transforms` gives for each operator the transform of each of its tensors, operands first: an `IndexMap` (also
in a tuple with axis separators), a function of the indices, or None. Padding that a layout adds is filled with zeros,
and the padding of results is cut off. Errors `pass-alter`: a replacement or a list of transforms that does not fit the
kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.nodes import Call, ShapeExpr, Tuple, TupleGetItem, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

OPERATOR_NAME = "operator_name"
R: Any = RELAX
_Separators = Mapping[str, Sequence[Any] | None] | None


@dataclass(frozen=True)
class AlterOpImpl(Pass):
    """See the module. Axis separators are kept in the transforms' attributes, by operator and tensor; None for an
    operator stands for none of its tensors."""

    op_impl_map: Mapping[str, PrimFunc]
    op_buffer_transforms: Mapping[str, Sequence[Any] | None]
    op_buffer_axis_separators: _Separators = None
    op_buffer_input_axis_separators: _Separators = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        rewriter = _Alterer(module, self)
        made = rewriter.rewritten()
        if made is module:
            return module
        return remove_unreachable(made, tuple(v.name_hint for v in module.functions if v not in rewriter.altered))


class _Alterer(ModuleRewriter):
    def __init__(self, module: IRModule, wanted: AlterOpImpl) -> None:
        super().__init__(module)
        self.wanted = wanted
        self.made: dict[str, GlobalVar] = {}
        self.altered: set[GlobalVar] = set()

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or value.op is not special_op("call_tir"):
            return value
        kernel = self.context.functions.get(value.args[0])
        name = str(kernel.attrs.get(OPERATOR_NAME, "")) if isinstance(kernel, PrimFunc) else ""
        if name not in self.wanted.op_impl_map or self._is_made(value.args[0], name):
            return value
        self.altered.add(value.args[0])
        return self._altered(value, name)

    def _is_made(self, var: GlobalVar, name: str) -> bool:
        """Whether a kernel is the replacement of an operator's kernels already."""
        same = self.context.functions[var].body is self.wanted.op_impl_map[name].body
        return same and var.name_hint.startswith(_made_name(name))

    def _altered(self, call: Call, name: str) -> Any:
        operands = call.args[1].fields if isinstance(call.args[1], Tuple) else (call.args[1],)
        said = call.sinfo_args[0]
        outputs = said.fields if isinstance(said, TupleStructInfo) else (said,)
        maps = self._maps(name, [o.struct_info for o in operands], outputs)
        seps = self._separators(self.wanted.op_buffer_axis_separators, name, len(maps))
        ins = self._separators(self.wanted.op_buffer_input_axis_separators, name, len(maps))
        count = len(operands)
        given = [self._there(o, m, s, i) for o, m, s, i in zip(operands, maps, seps, ins)]
        infos = [_moved(info, m) for info, m in zip(outputs, maps[count:])]
        info = TupleStructInfo(infos) if isinstance(said, TupleStructInfo) else infos[0]
        args = (self._replacement(name, len(maps)), Tuple(given), *call.args[2:])
        made = Call(special_op("call_tir"), args, None, (info,), call.span)
        if not isinstance(said, TupleStructInfo):
            return self._back(made, said, maps[-1], seps[-1], ins[-1])
        whole = self.emit(made)
        parts = [
            self.emit(self._back(TupleGetItem(whole, n), o, m, s, i))
            for n, (o, m, s, i) in enumerate(zip(outputs, maps[count:], seps[count:], ins[count:]))
        ]
        return self.normalized(Tuple(parts))

    def _maps(self, name: str, infos: Sequence[Any], outputs: Sequence[Any]) -> list[IndexMap | None]:
        """The transforms of an operator's tensors; the identity is None."""
        known = [*infos, *outputs]
        given = list(self.wanted.op_buffer_transforms.get(name) or [None] * len(known))
        if len(given) != len(known):
            raise fail("pass-alter", f"{name} has {len(known)} tensors, but {len(given)} transforms are given")
        return [_index_map(m, getattr(info, "ndim", None)) for m, info in zip(given, known)]

    def _separators(
        self, said: Mapping[str, Sequence[Any] | None] | None, name: str, count: int
    ) -> list[tuple[int, ...]]:
        given = list((said or {}).get(name) or [()] * count)
        if len(given) != count:
            raise fail("pass-alter", f"{name} has {count} tensors, but separators of {len(given)} are given")
        return [tuple(int(s) for s in part or ()) for part in given]

    def _replacement(self, name: str, count: int) -> GlobalVar:
        function = self.wanted.op_impl_map[name]
        if name not in self.made:
            if len(function.buffer_map) != count:
                message = f"the replacement of {name} takes {len(function.buffer_map)} tensors instead of {count}"
                raise fail("pass-alter", message)
            own = function.with_attr(OPERATOR_NAME, name).without_attr("global_symbol")
            self.made[name] = self.add(self.unique_var(_made_name(name)), own)
        return self.made[name]

    def _there(self, value: GraphExpr, index_map: IndexMap | None, separators: Any, inputs: Any) -> Any:
        """An operand in the layout of the replacement."""
        if index_map is None:
            return value
        padded = _is_padded(value.struct_info, index_map)
        made = R.layout_transform(
            value,
            index_map,
            pad_value=0 if padded else None,
            axis_separators=separators,
            input_axis_separators=inputs,
        )
        return self.emit(made)

    def _back(self, value: Any, info: Any, index_map: IndexMap | None, separators: Any, inputs: Any) -> Any:
        """A result in the layout of the program; the last operator is not bound yet."""
        if index_map is None:
            return self.normalized(value)
        shape = list(info.shape.values)
        inverse, _ = index_map.non_surjective_inverse(shape)
        there = self.emit(value)
        back = R.layout_transform(there, inverse, axis_separators=inputs, input_axis_separators=separators)
        if not _is_padded(info, index_map):
            return self.normalized(back)
        whole = self.emit(back)
        axes = list(range(len(shape)))
        return self.normalized(R.strided_slice(whole, axes, [0] * len(shape), shape, [1] * len(shape)))


def _made_name(name: str) -> str:
    return f"{name.replace('.', '_')}_replacement"


def _index_map(given: Any, ndim: int | None) -> IndexMap | None:
    """A transform as users write it: a map, one with its axis separators, or a function; None is the identity.

    Separators are given separately, by operator, so those that come with a map are redundant.
    """
    if given is None or isinstance(given, IndexMap):
        return given
    if isinstance(given, (tuple, list)):
        return _index_map(given[0], ndim)
    return IndexMap.from_func_with_separators(given, ndim)[0]


def _moved(info: TensorStructInfo, index_map: IndexMap | None) -> TensorStructInfo:
    if index_map is None:
        return info
    return TensorStructInfo(index_map.map_shape(_dims(info)), info.dtype, info.vdevice)


def _dims(info: TensorStructInfo) -> tuple[Any, ...]:
    if not isinstance(info.shape, ShapeExpr):
        raise fail("pass-alter", f"the layout of a tensor of unknown shape ({info}) cannot be changed")
    return info.shape.values


def _is_padded(info: TensorStructInfo, index_map: IndexMap) -> bool:
    """Whether the new layout has padding: positions without an element."""
    before: Any = 1
    after: Any = 1
    for dim in _dims(info):
        before = dim * before
    for dim in index_map.map_shape(_dims(info)):
        after = dim * after
    return Analyzer().equal(before, after) is not True
