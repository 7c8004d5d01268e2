"""The variables in scope at a point of a function, and the criteria on their definitions and uses.

Well-formedness criteria 1, 2, 3, 11, 24 and RELAX-SCOPE-3 (seed 001); `scope_walk` says where scopes begin and end.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.traverse import post_order
from baton._src.relax.check.findings import Findings
from baton._src.relax.nodes import Binding, DataflowVar, Function, Var
from baton._src.support.spans import Span
from baton._src.tir.expr import Var as TirVar


class VariableScope:
    """The scope at one point; variables, unique in the module, are kept across functions."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._defined: dict[Var, str] = {}
        """Every variable defined so far, with the global function it belongs to."""
        self._shape_owner: dict[TirVar, str] = {}
        self.visible: set[Var] = set()
        self.shape_vars: set[TirVar] = set()
        self._trail: list[Var] = []
        self.shape_trail: list[TirVar] = []
        """Shape variables in the order they came into scope: leaving a scope removes them back to a mark."""
        self.hidden_dataflow: dict[DataflowVar, None] = {}
        """DataflowVars of blocks that enclose the function literal being walked."""
        self.own: Var | None = None
        """The variable whose value is being walked."""
        self._function: Function | None = None
        self._bound: set[Any] | None = None
        """What bindings anywhere in the function define; collected when an error is to be told from another."""

    def begin(self, function: Function) -> None:
        """Start a new function of the module, with nothing in scope."""
        self.leave((0, 0))
        self._function, self._bound = function, None

    def define(self, var: Var, span: Span | None, *, param: bool = False) -> None:
        """Add a variable to the scope; it must be new in the whole module."""
        if var in self._defined:
            elsewhere = self._defined[var] != self._findings.function
            self._findings.add(
                "RELAX-WF-24" if elsewhere and param else "RELAX-WF-2",
                f"variable {var.name_hint} is bound a second time"
                + (f" (it belongs to function {self._defined[var]})" if elsewhere else ""),
                span=span or var.span,
                help="make a new variable for each binding; only names may be repeated",
            )
        self._defined[var] = self._findings.function
        self.visible.add(var)
        self._trail.append(var)

    def add_shape_var(self, var: TirVar) -> None:
        """Add a shape variable to the scope if it is not in it."""
        if var not in self.shape_vars:
            self.shape_vars.add(var)
            self.shape_trail.append(var)

    def marks(self) -> tuple[int, int]:
        """The marks of a scope's start, for `leave`."""
        return len(self._trail), len(self.shape_trail)

    def leave(self, marks: tuple[int, int]) -> None:
        """Remove everything that came into scope since `marks`."""
        trail, shapes = marks
        self.visible.difference_update(self._trail[trail:])
        self.shape_vars.difference_update(self.shape_trail[shapes:])
        del self._trail[trail:], self.shape_trail[shapes:]

    def namesake(self, var: TirVar) -> str:
        """A hint that tells an unbound shape variable from a variable in scope with the same name; empty if there is
        none.
        """
        name = var.name
        if any(other.name == name for other in self.shape_vars):
            return (
                f"the {name} that is bound is another variable, hidden when this one was made: if a parameter hides "
                f"it, rename the parameter, as in size: R.Prim(value={name!r})"
            )
        if any(other.name_hint == name for other in self.visible):
            return (
                f"the value {name} in scope is not this shape variable: rename one of the two, and bind the shape "
                f"variable, as in size: R.Prim(value={name!r}) or alone in a dimension"
            )
        return ""

    def claim_shape_vars(self, variables: list[TirVar], span: Span | None) -> None:
        """Check that the shape variables belong to one function of the module only."""
        for var in variables:
            owner = self._shape_owner.setdefault(var, self._findings.function)
            if owner != self._findings.function:
                self._findings.add(
                    "RELAX-WF-24", f"shape variable {var.name} belongs to function {owner} already", span=span,
                    help="each function has its own shape variables",
                )  # fmt: skip

    def use(self, var: Var, span: Span | None) -> None:
        """Check a use of a variable; report it, with the reason, if it is not in scope."""
        if var in self.visible:
            return
        name, at = var.name_hint, span or var.span
        if isinstance(var, DataflowVar) and var in self.hidden_dataflow:
            self._findings.add(
                "RELAX-WF-11", f"a function defined in a DataflowBlock uses the block's variable {name}", span=at,
                help="bind what it captures to an ordinary variable (R.output)",
            )  # fmt: skip
        elif var is self.own:
            self._findings.add(
                "RELAX-WF-2b", f"variable {name} occurs in its own definition", span=at,
                help="only a function may refer to itself",
            )  # fmt: skip
        elif var in self._defined and isinstance(var, DataflowVar):
            self._findings.add(
                "RELAX-WF-1b", f"dataflow variable {name} is used outside of its DataflowBlock", span=at,
                help="list it in R.output",
            )  # fmt: skip
        elif var in self._defined:
            self._findings.add("RELAX-SCOPE-3", f"variable {name} is used where it has left scope", span=at)
        elif self._is_bound_later(var):
            self._findings.add("RELAX-WF-3", f"variable {name} is used before it is bound", span=at)
        else:
            self._findings.add("RELAX-WF-2", f"variable {name} is bound nowhere", span=at)

    def _is_bound_later(self, var: Var) -> bool:
        if self._bound is None:
            self._bound = {node.var for node in post_order(self._function) if isinstance(node, Binding)}
        return var in self._bound
