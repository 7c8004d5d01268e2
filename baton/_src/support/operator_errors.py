"""Errors about operators, with the names and bases that `tvm.error` gives them; importers and scripts raise them.

`except tvm.error.OpNotImplemented` (or `NotImplementedError`) around an import catches unsupported operators and
nothing else.
"""

from __future__ import annotations

from typing import Any

from baton._src.support.diagnostics import BatonError, DiagnosticError


class OpError(BatonError):
    """An error about an operator."""


class OpNotImplemented(OpError, NotImplementedError):
    """An operator that is not supported."""


class OpNotInstalled(OpError):
    """An operator of a library that is not installed."""


class OpAttributeRequired(OpError, AttributeError):
    """An attribute that is missing."""


class OpAttributeInvalid(OpError, AttributeError):
    """An attribute whose value makes no sense."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """A value of an attribute that is not supported."""


class UnsupportedOperatorError(DiagnosticError, OpNotImplemented):
    """Operators of a model that the importer has no converter for, all of them."""


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """TVM's registration of an error class, as a decorator or called with a name and a class. It gives the class back:
    errors of packed functions arrive as they were raised, of whichever class."""
    if isinstance(func_name, str):
        return cls if cls is not None else lambda given: given
    return func_name
