"""SplitLayoutRewritePreproc: split the part of a kernel that rearranges its weights into a kernel of its own.

    gv = R.call_tir(cls.k, (x, w), ...)       ->      lv = R.call_tir(cls.k_weight_prepack, (w,), ...)
                                                      lv1 = R.call_tir(cls.k_prepacked, (x, lv), ...)
                                                      gv = lv1

Blocks marked `meta_schedule.layout_rewrite_preproc` copy a parameter into a buffer of the kernel, in the layout that
the rest reads. Once split off, the copy depends on weights alone, so LiftTransformParams or FoldConstant can move it
out of inference.

Error `pass-layout-rewrite`: a marked block that does anything else, a layout of unknown size, or a buffer that the rest
writes as well.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, TypeVar

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, with_fresh_binders
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.passes.shared.kernel_stages import root_block
from baton._src.relax.nodes import Call, Tuple, TupleGetItem, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.analysis.written_buffers import written_params
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import BufferLoad, IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BufferStore, SeqStmt, Stmt, stmt_list
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import HANDLE

_T = TypeVar("_T")
_MARK = "meta_schedule.layout_rewrite_preproc"


@dataclass(frozen=True)
class SplitLayoutRewritePreproc(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        split = {
            var: found
            for var, function in module.functions.items()
            if isinstance(function, PrimFunc) and (found := _split(var.name_hint, function)) is not None
        }
        if not split:
            return module
        caller = _Caller(module, split)
        return DeadCodeElimination().run(caller.rewritten(), ctx)


@dataclass(frozen=True)
class _Places:
    """`sources` are the places of the parameters that are prepared, `results` the prepared buffers, each with the place
    of its parameter, and `dropped` the parameters that the rest needs no longer.
    """

    sources: Sequence[int]
    results: Sequence[tuple[int, Buffer]]
    dropped: Set[int]

    def operands(self, given: Sequence[_T], prepared: Sequence[_T]) -> list[_T]:
        """What the rest takes: of each parameter what was prepared from it, and itself unless it is dropped."""
        found: list[_T] = []
        for place, one in enumerate(given):
            found += [new for new, (source, _) in zip(prepared, self.results) if source == place]
            found += [] if place in self.dropped else [one]
        return found


@dataclass(frozen=True)
class _Split:
    """The two kernels, and what they take."""

    prepare: PrimFunc
    compute: PrimFunc
    places: _Places


def _split(name: str, function: PrimFunc) -> _Split | None:
    """The kernel in two; None where nothing in it is marked."""
    root = root_block(function)
    steps = stmt_list(root.body) if root is not None else ()
    marked = [s for s in steps if _is_marked(name, s)]
    if root is None or not marked:
        return None
    copies = [_copy(name, function, root, n) for s in marked for n in post_order(s) if isinstance(n, Block)]
    results = {result: place for place, result in copies}
    buffers = {place: function.buffer_map[function.params[place]] for place, _ in copies}
    handles = [TirVar(f"var_{b.name}", HANDLE) for b in (*buffers.values(), *results)]
    mapping = dict(zip(handles, (*buffers.values(), *results)))
    inner = root.with_fields(body=_sequence([_unmarked(s) for s in marked]), alloc_buffers=())
    prepare = PrimFunc(handles, _around(function, inner), None, mapping, _attrs(function, "_weight_prepack"))

    kept = tuple(b for b in root.alloc_buffers if b not in results)
    rest = root.with_fields(body=_sequence([s for s in steps if s not in marked]), alloc_buffers=kept)
    if any(isinstance(n, BufferStore) and n.buffer in results for n in post_order(rest.body)):
        raise fail("pass-layout-rewrite", f"{name} writes to a buffer whose layout it changed")
    used = {n.buffer for n in post_order(rest.body) if isinstance(n, (BufferLoad, BufferStore, BufferRegion))}
    dropped = {p for p, buffer in buffers.items() if buffer not in used}
    places = _Places(tuple(buffers), [(p, b) for b, p in results.items()], dropped)
    params = places.operands(function.params, handles[len(buffers) :])
    given = {**function.buffer_map, **mapping}
    mapping = {p: given[p] for p in params if p in given}
    compute = PrimFunc(params, _around(function, rest), function.ret_type, mapping, _attrs(function, "_prepacked"))
    return _Split(with_fresh_binders(prepare), with_fresh_binders(compute), places)


def _is_marked(name: str, statement: Stmt) -> bool:
    marks = {bool(n.annotations.get(_MARK)) for n in post_order(statement) if isinstance(n, Block)}
    if len(marks) > 1:
        raise fail("pass-layout-rewrite", f"{name} changes a layout and computes in one loop")
    return True in marks


def _copy(name: str, function: PrimFunc, root: Block, block: Block) -> tuple[int, Buffer]:
    """The number of the parameter that a marked block reads, and the buffer that it writes."""
    plain = len(block.reads) == len(block.writes) == 1 and not block.alloc_buffers and not block.match_buffers
    written = written_params(function)
    sources = [None if p in written else function.buffer_map.get(p) for p in function.params]
    if not plain or block.reads[0].buffer not in sources or block.writes[0].buffer not in root.alloc_buffers:
        message = f"block {block.name_hint} of {name} does more than copy a parameter into a buffer of the kernel"
        raise fail("pass-layout-rewrite", message)
    result = block.writes[0].buffer
    if not all(isinstance(dim, IntImm) for dim in result.shape):
        raise fail("pass-layout-rewrite", f"block {block.name_hint} of {name} writes a buffer of unknown size")
    return sources.index(block.reads[0].buffer), result


def _unmarked(statement: Stmt) -> Stmt:
    def rule(node: Any) -> Node | None:
        if not isinstance(node, Block) or _MARK not in node.annotations:
            return None
        return node.with_fields(annotations={k: v for k, v in node.annotations.items() if k != _MARK})

    found: Stmt = rewrite(statement, rule)
    return found


def _sequence(steps: Sequence[Stmt]) -> Stmt:
    return steps[0] if len(steps) == 1 else SeqStmt(tuple(steps))


def _around(function: PrimFunc, root: Block) -> Stmt:
    body: Any = function.body
    found: Stmt = body.with_fields(block=root)
    return found


def _attrs(function: PrimFunc, suffix: str) -> dict[str, Any]:
    kept = {k: v for k, v in function.attrs.items() if k != "layout_free_buffers"}
    return {k: f"{v}{suffix}" if k == "global_symbol" else v for k, v in kept.items()}


class _Caller(ModuleRewriter):
    """Calls of kernels that were split as two calls."""

    def __init__(self, module: IRModule, split: dict[GlobalVar, _Split]) -> None:
        super().__init__(module)
        self.split = split
        self.names: dict[GlobalVar, tuple[GlobalVar, GlobalVar]] = {}

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        call_tir = isinstance(value, Call) and value.op is special_op("call_tir")
        split = self.split.get(value.args[0]) if call_tir and isinstance(value.args[1], Tuple) else None
        if split is None:
            return value
        prepare, compute = self._kernels(value.args[0], split)
        args = value.args[1].fields
        sizes = [(b, [d.value for d in b.shape if isinstance(d, IntImm)]) for _, b in split.places.results]
        infos = [TensorStructInfo(shape, b.dtype) for b, shape in sizes]
        info = infos[0] if len(infos) == 1 else TupleStructInfo(infos)
        weights = Tuple([args[place] for place in split.places.sources])
        prepared = self.emit(Call(special_op("call_tir"), [prepare, weights], None, (info,)))
        parts = [prepared] if len(infos) == 1 else [self.emit(TupleGetItem(prepared, n)) for n in range(len(infos))]
        operands = (compute, Tuple(split.places.operands(args, parts)), *value.args[2:])
        return self.emit(Call(value.op, operands, value.attrs, value.sinfo_args, value.span))

    def _kernels(self, var: GlobalVar, split: _Split) -> tuple[GlobalVar, GlobalVar]:
        if var not in self.names:
            prepare = self.add(self.unique_var(f"{var.name_hint}_weight_prepack"), split.prepare)
            self.names[var] = prepare, self.add(self.unique_var(f"{var.name_hint}_prepacked"), split.compute)
        return self.names[var]
