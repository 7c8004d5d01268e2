"""Parameters as bytes (`tvm.relay.param_dict`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("runtime.param_dict", "load_param_dict save_param_dict"),
    },
    before=wire,
)
