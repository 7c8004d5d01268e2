"""Check whether the expressions of a PrimFunc are well-formed in their context; `check` traverses the statements."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import Diagnostic
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, Call, Var
from baton._src.tir.intrinsics import Result, definition, misfit, result_dtype


class ExpressionChecker:
    """The errors found, and the variables defined at the current point."""

    def __init__(self) -> None:
        self.crumbs: list[str] = []
        self.findings: list[Diagnostic] = []
        self.defined: set[Any] = set()
        self.log: list[Any] = []
        """The definitions in order: the end of a scope undoes them."""
        self.ever: set[Any] = set()
        """All variables defined so far, in scope or not: each may be defined only once."""
        self.lets: set[tir.Let] = set()
        """Expressions that define a variable: statements may share one."""
        self.hidden_loop_vars: set[Any] = set()
        """Loop variables outside the innermost block with axes."""

    def report(self, code: str, node: Node, message: str, help: str | None = None) -> None:
        """Record an error at `node`."""
        crumbs = tuple(reversed(self.crumbs))
        span = getattr(node, "span", None)
        self.findings.append(Diagnostic(code, message, span=span, breadcrumbs=crumbs, help=help))

    def define(self, var: Any, node: Any) -> None:
        """Record a definition."""
        if var in self.ever and node not in self.lets:
            self.report("tir-redefined", node, f"the variable {var.name} is defined twice", "make a new Var each time")
        self.ever.add(var)
        if isinstance(node, tir.Let):
            self.lets.add(node)
        if var not in self.defined:
            self.defined.add(var)
            self.log.append(var)

    def expr(self, *roots: Any) -> None:
        """Check expressions."""
        for node in post_order([r for r in roots if isinstance(r, PrimExpr)], below=_parts):
            match node:
                case tir.Let():
                    self.define(node.var, node)
                case Var():
                    pass
                case tir.BinaryOp() | tir.CompareOp() | tir.LogicalOp():
                    self.operands(node)
                case BufferLoad():
                    self.access(node, node.buffer, node.indices, "read")
                case tir.Select():
                    self.condition(node.condition, "Select")
                case Call():
                    self.call(node)
                case tir.ProducerLoad() | tir.Reduce():
                    self.report("tir-te", node, "te expressions are not allowed in a PrimFunc", "use create_prim_func")
                case _:
                    pass
        for root in roots:
            if isinstance(root, PrimExpr):
                self.uses(root)

    def uses(self, root: PrimExpr) -> None:
        """Every variable in an expression is defined here."""
        for node in post_order(root, below=_parts):
            if not isinstance(node, Var):
                continue
            if node in self.hidden_loop_vars:
                message = f"the block uses {node.name}, the variable of a loop around it"
                self.report("tir-block-loop", root, message, "bind it to an axis of the block and use the axis")
            if node in self.defined:
                continue
            where = "is used outside of its scope" if node in self.ever else "is not defined"
            self.report("tir-undefined", root, f"the variable {node.name} {where}")
            self.defined.add(node)  # one finding a variable is enough

    def operands(self, node: Any) -> None:
        if node.a.dtype != node.b.dtype:
            kind = type(node).__name__
            self.report("tir-dtype", node, f"{kind} of {node.a.dtype} and {node.b.dtype}: operands must agree")
        if isinstance(node, tir.LogicalOp) and not node.a.dtype.is_bool:
            self.report("tir-dtype", node, f"{type(node).__name__} takes conditions (bool), got {node.a.dtype}")

    def condition(self, node: PrimExpr, what: str) -> None:
        if not node.dtype.is_bool:
            self.report("tir-dtype", node, f"the condition of {what} must be bool, got {node.dtype}")

    def call(self, node: Call) -> None:
        row = definition(node.op)
        if row is None:
            return
        if row.arity not in (-1, len(node.args)):
            self.report("tir-call", node, f"{row.name} takes {row.arity} operands, got {len(node.args)}")
            return
        wrong = misfit(row, node.args)
        if wrong is not None:
            self.report("tir-dtype", node, wrong, "convert it first: x.astype(dtype)")
        elif row.result is not Result.GIVEN and node.dtype != result_dtype(row, node.args):
            message = f"the call of {row.name} says {node.dtype}; of these operands it is"
            self.report("tir-dtype", node, f"{message} {result_dtype(row, node.args)}")
        if row.lazy:
            self.condition(node.args[0], row.name)
            if node.args[1].dtype != node.args[2].dtype:
                kinds = f"{node.args[1].dtype} and {node.args[2].dtype}"
                self.report("tir-dtype", node, f"{row.name} takes values of one dtype, got {kinds}")

    def access(self, node: Node, buffer: Buffer, indices: tuple[PrimExpr, ...], what: str) -> None:
        """One read or write of an element."""
        if len(indices) != buffer.ndim:
            self.report("tir-indices", node, f"{buffer.name} has {buffer.ndim} dims, got {len(indices)} indices")
        for index in indices:
            if not index.dtype.is_int:
                self.report("tir-index", node, f"an index of {buffer.name} is {index.dtype}; indices are integers")
        if buffer.data not in self.defined:
            help_text = "declare it: alloc_buffers of a block, Allocate, or a parameter"
            self.report("tir-undefined", node, f"the {what} buffer {buffer.name} is not allocated here", help_text)
            self.defined.add(buffer.data)


def _parts(node: Node) -> list[Any]:
    """The expressions directly below one: not the shapes of buffers, which are checked where they are declared."""
    if isinstance(node, BufferLoad):
        return list(node.indices)
    found: list[Any] = []
    for spec in type(node).specs:
        content = getattr(node, spec.name)
        if isinstance(content, PrimExpr):
            found.append(content)
        elif isinstance(content, tuple):
            found += [c for c in content if isinstance(c, PrimExpr)]
    return found
