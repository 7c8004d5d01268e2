"""Random number operators (`tvm.relay.op.random`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, {}, before=wire, more=partial(relay_builders, "random"))
