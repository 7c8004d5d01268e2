"""The frames of TIR under a builder: functions, blocks, loops, branches, and statements that enclose others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Type
from baton._src.script.ir_builder.base import IRBuilder, IRBuilderFrame
from baton._src.script.ir_builder.module_frames import IRModuleFrame
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Var, literal
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, Evaluate, For, IfThenElse, Stmt, stmt_seq
from baton._src.tir.text.read_blocks import close_block
from baton._src.tir.text.scope import BlockFrame as BlockHead
from baton._src.values.dtype import BOOL


class TIRFrame(IRBuilderFrame):
    """Collects statements."""

    def __init__(self) -> None:
        super().__init__()
        self.stmts: list[Stmt] = []

    def body(self) -> Stmt:
        """The collected statements as one; without any, a statement that does nothing."""
        return stmt_seq(*self.stmts) if self.stmts else Evaluate(literal(0))


def current_function(word: str) -> PrimFuncFrame:
    """The function being built; an error, naming the word that needs one, where there is none."""
    found: PrimFuncFrame = innermost(PrimFuncFrame, f"T.{word}", "a function: with T.prim_func():")
    return found


def innermost(kind: type[Any], word: str, place: str) -> Any:
    """The innermost open frame of a class."""
    found = IRBuilder.current().innermost(kind)
    if found is None:
        raise fail("ir-builder", f"{word} belongs in {place}")
    return found


def add_statement(builder: IRBuilder, made: Stmt) -> None:
    """A statement at the end of the innermost scope; outside of all it is the result."""
    if not builder.frames:
        builder.finish(made)
        return
    around = builder.frames[-1]
    if not isinstance(around, TIRFrame) or isinstance(around, IfFrame):
        raise fail("ir-builder", f"no statement is allowed directly in a {type(around).__name__}")
    around.stmts.append(made)


class PrimFuncFrame(TIRFrame):
    """A function: its parameters, buffers and attributes, and the memory of its root block."""

    def __init__(self, is_private: bool) -> None:
        super().__init__()
        self.name: str | None = None
        self.is_private = is_private
        self.args: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: dict[str, Any] = {}
        self.ret_type: Type | None = None
        self.root_alloc_buffers: list[Buffer] = []

    def close(self, builder: IRBuilder) -> None:
        attrs = dict(self.attrs)
        if self.name is not None and not self.is_private:
            attrs = {"global_symbol": self.name, **attrs}
        made = PrimFunc(self.args, self._rooted(self.body()), self.ret_type, self.buffer_map, attrs)
        if not builder.frames:
            builder.finish(made)
            return
        around = builder.frames[-1]
        if not isinstance(around, IRModuleFrame):
            raise fail("ir-builder", "a function belongs in a module, or stands alone")
        if self.name is None:
            raise fail("ir-builder", "a function of a module has a name", help='give it: T.func_name("main")')
        around.define(self.name, made)

    def _rooted(self, body: Stmt) -> Stmt:
        if isinstance(body, BlockRealize) and body.block.name_hint == "root" and not body.block.iter_vars:
            return body
        if not self.root_alloc_buffers and not any(isinstance(n, BlockRealize) for n in post_order(body)):
            return body
        root = Block((), (), (), "root", body, alloc_buffers=self.root_alloc_buffers)
        return BlockRealize((), IntImm(BOOL, 1), root)


def _buffers_in(builder: IRBuilder) -> list[Buffer]:
    """The buffers of the parameters, and those that open blocks allocate or view."""
    found: list[Buffer] = []
    for frame in builder.frames:
        if isinstance(frame, PrimFuncFrame):
            found += [*frame.buffer_map.values(), *frame.root_alloc_buffers]
        elif isinstance(frame, BlockFrame):
            found += [*frame.head.alloc_buffers, *(view.buffer for view in frame.head.match_buffers)]
    return found


class BlockFrame(TIRFrame):
    """A block: its head is what `T.axis`, `T.reads`, ... write; regions not written are inferred."""

    def __init__(self, name: str, no_realize: bool) -> None:
        super().__init__()
        self.head = BlockHead(name)
        self.no_realize = no_realize

    def close(self, builder: IRBuilder) -> None:
        block = close_block(self.head, self.body(), _buffers_in(builder))
        if self.no_realize:
            if self.head.iter_values or self.head.predicate is not None:
                raise fail("ir-builder", "a block that is not realized binds no axes and has no predicate")
            add_statement(builder, block)
            return
        holds = IntImm(BOOL, 1) if self.head.predicate is None else self.head.predicate
        add_statement(builder, BlockRealize(tuple(self.head.iter_values), holds, block))


class BlockBeingRead(BlockFrame):
    """The block of a script that calls a function of Python."""

    def __init__(self, head: BlockHead) -> None:
        super().__init__(head.name, no_realize=False)
        self.head = head

    def close(self, builder: IRBuilder) -> None:
        """Nothing: who reads the script takes the statements."""


@contextmanager
def statements_for(head: BlockHead) -> Iterator[list[Stmt]]:
    """The statements that a builder's words make meanwhile, and memory they allocate, for the block of this head."""
    with IRBuilder(), BlockBeingRead(head) as frame:
        yield frame.stmts


class BlockInitFrame(TIRFrame):
    """A block's initialisation of its reductions."""

    def open(self, builder: IRBuilder) -> None:
        if not builder.frames or not isinstance(builder.frames[-1], BlockFrame):
            raise fail("ir-builder", "T.init belongs directly in a block")

    def close(self, builder: IRBuilder) -> None:
        block = builder.frames[-1]
        assert isinstance(block, BlockFrame)
        if block.head.init is not None:
            raise fail("ir-builder", "the block has a T.init already")
        block.head.init = self.body()


class ForFrame(TIRFrame):
    """One loop or several; `with ... as` gives their variables."""

    def __init__(self, loops: Sequence[For]) -> None:
        super().__init__()
        self.loops = list(loops)

    @property
    def vars(self) -> list[Var]:
        return [loop.loop_var for loop in self.loops]

    def entered(self) -> Any:
        return self.vars if len(self.loops) > 1 else self.vars[0]

    def close(self, builder: IRBuilder) -> None:
        body = self.body()
        for loop in reversed(self.loops):
            body = loop.with_fields(body=body)
        add_statement(builder, body)


class WrapFrame(TIRFrame):
    """A statement that encloses the scope: an attribute, an assertion, an allocation, a let, a while loop."""

    def __init__(self, wrap: Callable[[Stmt], Stmt], gives: Any = None) -> None:
        super().__init__()
        self.wrap = wrap
        self.gives = gives

    def entered(self) -> Any:
        return self if self.gives is None else self.gives

    def close(self, builder: IRBuilder) -> None:
        add_statement(builder, self.wrap(self.body()))


class AssertFrame(WrapFrame):
    """The scope of an assertion."""


class LetFrame(WrapFrame):
    """The scope of a let."""


class AttrFrame(WrapFrame):
    """The scope of an attribute."""


class AllocateFrame(WrapFrame):
    """The scope of an allocation."""


class AllocateConstFrame(WrapFrame):
    """The scope of constant memory."""


class DeclBufferFrame(WrapFrame):
    """The scope of a buffer declaration."""


class WhileFrame(WrapFrame):
    """A while loop."""


class LaunchThreadFrame(WrapFrame):
    """The scope of a thread axis."""


class IfFrame(TIRFrame):
    """A branch: it holds a `T.Then()`, and perhaps a `T.Else()`."""

    def __init__(self, condition: PrimExpr) -> None:
        super().__init__()
        self.condition = condition
        self.branches: dict[str, Stmt] = {}

    def close(self, builder: IRBuilder) -> None:
        if "then" not in self.branches:
            raise fail("ir-builder", "T.If has no branch", help="write the branch under `with T.Then():`")
        add_statement(builder, IfThenElse(self.condition, self.branches["then"], self.branches.get("else")))


class BranchFrame(TIRFrame):
    """One branch of the `T.If` around it."""

    branch: ClassVar[str]

    def open(self, builder: IRBuilder) -> None:
        self._choice(builder)

    def close(self, builder: IRBuilder) -> None:
        self._choice(builder).branches[self.branch] = self.body()

    def _choice(self, builder: IRBuilder) -> IfFrame:
        around = builder.frames[-1] if builder.frames else None
        if not isinstance(around, IfFrame):
            raise self._misplaced(f"T.{self.branch.capitalize()} belongs directly into T.If")
        if self.branch in around.branches:
            raise self._misplaced(f"T.If has a T.{self.branch.capitalize()} already")
        if self.branch == "else" and "then" not in around.branches:
            raise self._misplaced("T.Else follows T.Then")
        return around

    def _misplaced(self, message: str) -> DiagnosticError:
        return fail("ir-builder", message)


class ThenFrame(BranchFrame):
    """The branch for a true condition."""

    branch = "then"


class ElseFrame(BranchFrame):
    """The branch for a false condition."""

    branch = "else"
