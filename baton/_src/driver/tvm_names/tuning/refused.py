"""Parameters of TVM's signatures that stand for what is not there: passing one is an error, never ignored."""

from __future__ import annotations

from baton._src.support.diagnostics import fail


def refuse_given(**options: object) -> None:
    """Error `api` for the first option that is not None."""
    for name, given in options.items():
        if given is not None:
            raise fail("api", f"{name} is not implemented", help="leave it out", kind=NotImplementedError)
