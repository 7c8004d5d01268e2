"""What is said about wrong calls of the special operators."""

from __future__ import annotations

from baton._src.relax.check.report import STRUCT_INFO
from baton._src.relax.nodes import Call
from baton._src.support.diagnostics import DiagnosticError, fail


def call_name(call: Call) -> str:
    """The operator's name, for messages."""
    return str(call.op.name).removeprefix("relax.")


def wrong_call(call: Call, message: str) -> DiagnosticError:
    """The error of a call whose arguments the operator does not take."""
    return fail(STRUCT_INFO, f"{call_name(call)}: {message}", span=call.span)
