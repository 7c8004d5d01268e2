"""What goes wrong with other machines."""

from __future__ import annotations

from baton._src.support.diagnostics import BatonError


class RPCError(BatonError):
    """A session's other side raised an error, is not there, or went away."""


class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A session that its server ended, since it had lasted as long as was asked for."""
