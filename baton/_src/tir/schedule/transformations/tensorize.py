"""Tensorize: compute a block by a registered intrinsic.

    TensorIntrin.register("dot4", description, implementation)

Both are PrimFuncs of the same buffer parameters. The description is one nest of loops around one block; the tile to be
replaced must be the same computation: loops of the same extents, the same statement, each buffer accessed as the
description accesses its parameter, from some corner on. The implementation's body replaces it, with each parameter
denoting the region of the tile. A description with `T.init` represents whole reductions, including their
initialisation.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute, with_fresh_binders
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.transformations.dot_products import DOT_PRODUCTS, dot_product
from baton._src.tir.schedule.tree import find_block, is_equal, refuse, replace, simplify, without_blocks
from baton._src.tir.schedule.views import of_buffers


class TensorIntrin:
    """A description and an implementation. Registered ones are found by name, as are those of `dot_products`."""

    registered: ClassVar[dict[str, TensorIntrin]] = {}
    """What the program has registered; only users fill it."""

    def __init__(self, desc: PrimFunc, impl: PrimFunc) -> None:
        for func in (desc, impl):
            if len(func.params) != len(func.buffer_map):
                raise refuse("an intrinsic consists of two PrimFuncs whose parameters are buffers")
        if len(desc.params) != len(impl.params):
            raise refuse(f"the description has {len(desc.params)} parameters, the implementation {len(impl.params)}")
        self.desc, self.impl = desc, impl

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """Register an intrinsic under a name; an existing name only with `override`."""
        if name in TensorIntrin.registered and not override:
            raise fail("schedule", f"a tensor intrinsic {name!r} is registered already", help="pass override=True")
        found = TensorIntrin.registered[name] = TensorIntrin(desc, impl)
        return found

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of this name."""
        found, shipped = TensorIntrin.registered.get(name), dot_product(name)
        if found is None and shipped is not None:
            return TensorIntrin(*shipped)
        if found is None and not allow_missing:
            known = ", ".join(sorted({*TensorIntrin.registered, *DOT_PRODUCTS}))
            raise fail("schedule", f"there is no tensor intrinsic {name!r}", help=f"there are: {known}")
        return found


def tensorize(root: st.Stmt, name: str, intrinsic: TensorIntrin) -> st.Stmt:
    """Replace the body of the block `name`, which is the tile, by the implementation."""
    realize = find_block(root, name)
    block = realize.block
    match = _Match(name)
    start, rest = parts(_inner(intrinsic.desc)[0])
    match.nests(without_blocks(of_buffers(block, block.body)), rest)
    if start is not None:
        match.start(block, start)
    impl = with_fresh_binders(intrinsic.impl)
    body, allocated = _inner(impl)
    bound = []
    opened: dict[Any, Any] = {}
    for described, param in zip(intrinsic.desc.params, impl.params):
        region = match.region(intrinsic.desc.buffer_map[described])
        if region is not None:
            given = impl.buffer_map[param]
            _require_strides(given, region.buffer)
            left_open = (v for v in (*given.strides, given.elem_offset) if isinstance(v, tir.Var))
            opened |= {v: tir.Var(v.name, v.dtype) for v in left_open}
            bound.append(st.MatchBufferRegion(given, source=region))
    made = block.with_fields(
        init=block.init if start is None else None,
        body=body,
        match_buffers=(*block.match_buffers, *bound),
        alloc_buffers=(*block.alloc_buffers, *allocated),
    )
    return replace(root, {realize: realize.with_fields(block=substitute(made, opened))})


def parts(described: st.Stmt) -> tuple[st.Stmt | None, st.Stmt]:
    """A description's initialisation over its loops that do not reduce (None: it has none), and its nest without it;
    neither has blocks.
    """
    loops: list[st.For] = []
    inner = described
    while isinstance(inner, st.For):
        loops.append(inner)
        inner = inner.body
    if not isinstance(inner, st.BlockRealize) or inner.block.init is None:
        return None, without_blocks(described)
    block = inner.block
    start, rest = (
        without_blocks(inner.with_fields(block=block.with_fields(init=None, body=part)))
        for part in (block.init, block.body)
    )
    used = set(post_order(start))
    for loop in reversed(loops):
        start = loop.with_fields(body=start) if loop.loop_var in used else start
        rest = loop.with_fields(body=rest)
    return start, rest


def _require_strides(view: Buffer, source: Buffer) -> None:
    """A stride that a view states as a number is that of `source`; variables become what it is there."""
    actual: list[PrimExpr] = list(source.strides)
    if not actual:
        step: PrimExpr = tir.IntImm(source.shape[0].dtype if source.shape else "int64", 1)
        for dim in reversed(source.shape):
            actual.insert(0, step)
            step = simplify(ops.multiply(step, dim))
    for said, stride in zip(view.strides, actual[len(actual) - view.ndim :]):
        if not isinstance(said, tir.Var) and not is_equal(said, stride):
            raise refuse(f"the implementation takes {view.name} with stride {said!r}, {source.name} has {stride!r}")


def _inner(func: PrimFunc) -> tuple[st.Stmt, tuple[Buffer, ...]]:
    """What the function does, without the blocks of no axes around it, and the buffers these allocate."""
    body = func.body
    allocated: tuple[Buffer, ...] = ()
    while isinstance(body, st.BlockRealize) and not body.block.iter_vars and body.block.init is None:
        allocated = (*allocated, *body.block.alloc_buffers)
        body = body.block.body
    return body, allocated


class _Match:
    """A tile compared with a description: loops by position, buffers by corners."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.loops: dict[Any, Any] = {}
        self.inner: dict[tir.Var, Range] = {}
        """The loops of the tile, and where they run."""
        self.corners: dict[Buffer, tuple[Buffer, tuple[PrimExpr, ...]]] = {}

    def start(self, block: st.Block, described: st.Stmt) -> None:
        """The initialisation of reductions that end within the tile."""
        if block.init is None:
            raise self._differs("the description has an initialisation, the block none (any more)")
        reduced = [axis.dom.extent for axis in block.iter_vars if axis.iter_type == "reduce" and axis.dom is not None]
        if not all(_same_number(extent, tir.IntImm("int64", 1)) for extent in reduced):
            raise self._differs(
                "loops outside of the tile go on with its reductions, which the description begins anew",
                "decompose_reduction first, and describe the update without T.init",
            )
        self.nests(without_blocks(of_buffers(block, block.init)), described)

    def nests(self, tile: st.Stmt, described: st.Stmt) -> None:
        """Loops one by one, those of one iteration left out; then the statements."""
        described = self._without_unit_loops(described)
        while isinstance(described, st.For):
            tile = self._without_unit_loops(tile)
            if not isinstance(tile, st.For):
                raise self._differs(f"the description has a loop over {described.loop_var.name} more")
            if not _same_number(tile.extent, described.extent):
                raise self._differs(f"a loop of {tile.extent!r} stands for one of {described.extent!r}")
            self.loops[described.loop_var] = tile.loop_var
            self.inner[tile.loop_var] = Range(tile.min, tile.extent)
            tile, described = tile.body, self._without_unit_loops(described.body)
        self._same(self._without_unit_loops(tile), described)

    def _without_unit_loops(self, nest: st.Stmt) -> st.Stmt:
        while isinstance(nest, st.For) and _same_number(nest.extent, tir.IntImm("int64", 1)):
            nest = substitute(nest.body, {nest.loop_var: nest.min})
        return nest

    def _same(self, tile: Any, described: Any) -> None:
        todo = [(tile, described)]
        while todo:
            one, other = todo.pop()
            if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
                todo.extend(zip(one, other))
            elif isinstance(one, (tir.BufferLoad, st.BufferStore)) and type(one) is type(other):
                self._access(one, other)
                if isinstance(one, st.BufferStore) and isinstance(other, st.BufferStore):
                    todo.append((one.value, other.value))
            elif isinstance(other, tir.Var):
                wanted = self.loops.get(other)
                if wanted is None or not is_equal(one, wanted):
                    raise self._differs(f"{one!r} stands for {other!r}")
            elif isinstance(one, Node) and type(one) is type(other):
                fields = [s.name for s in type(one).specs if s.name not in ("span", "definition")]
                todo.extend((getattr(one, f), getattr(other, f)) for f in fields)
            elif one != other or type(one) is not type(other):
                raise self._differs(f"{one!r} stands for {other!r}")

    def _access(self, one: Any, other: Any) -> None:
        """An access of the tile's buffer at a corner and the place in the description."""
        more = len(one.indices) - len(other.indices)
        if one.buffer.dtype != other.buffer.dtype or more < 0:
            raise self._differs(f"{one.buffer.name} is {one.buffer.dtype} of {one.buffer.ndim} dims, "
                                f"{other.buffer.name} {other.buffer.dtype} of {other.buffer.ndim}")  # fmt: skip
        places = [self._retyped(i) for i in other.indices]
        corner = [simplify(index, self.inner) for index in one.indices[:more]]
        for index, place in zip(one.indices[more:], places):
            corner.append(simplify(ops.subtract(index, ops.cast(index.dtype, place)), self.inner))
        if any(n in self.inner for part in corner for n in post_order(part)):
            raise self._differs(f"{one.buffer.name} is accessed in another order than {other.buffer.name}")
        known = self.corners.setdefault(other.buffer, (one.buffer, tuple(corner)))
        same = known[0] is one.buffer and len(known[1]) == len(corner)
        if not same or not all(map(is_equal, known[1], corner)):
            raise self._differs(f"{one.buffer.name} is accessed at several places")

    def _retyped(self, index: PrimExpr) -> PrimExpr:
        """An index of the description over the loops of the tile, in their dtype."""

        def rule(node: Any) -> Any:
            match node:
                case tir.Var():
                    return self.loops.get(node, node)
                case tir.IntImm(value=value):
                    return tir.IntImm(next(iter(self.inner)).dtype if self.inner else node.dtype, value)
                case tir.Add(a=a, b=b):
                    return ops.add(a, b)
                case tir.Sub(a=a, b=b):
                    return ops.subtract(a, b)
                case tir.Mul(a=a, b=b):
                    return ops.multiply(a, b)
                case _:
                    return None

        found: PrimExpr = rewrite(index, rule)
        return found

    def region(self, described: Buffer) -> BufferRegion | None:
        """The region of the tile that a parameter of the description stands for."""
        found = self.corners.get(described)
        if found is None:
            return None
        buffer, corner = found
        more = len(corner) - described.ndim
        sizes: list[PrimExpr] = [tir.IntImm(c.dtype, 1) for c in corner[:more]]
        sizes += [ops.cast(c.dtype, d) for c, d in zip(corner[more:], described.shape)]
        return BufferRegion(buffer, tuple(Range(c, s) for c, s in zip(corner, sizes)))

    def _differs(self, why: str, help: str | None = None) -> Exception:
        return refuse(f"block {self.name} does not match the intrinsic's description: {why}", help)


def _same_number(one: PrimExpr, other: PrimExpr) -> bool:
    return isinstance(one, tir.IntImm) and isinstance(other, tir.IntImm) and one.value == other.value
