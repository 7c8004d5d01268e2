"""Helpers for the virtual machine (`tvm.relax.testing.vm`). Importing it registers the packed functions `test.vm...`."""

from __future__ import annotations

from baton._src.driver.tvm_names.relax.testing import register_packed
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

register_packed()
__getattr__, __dir__, __all__ = attach(
    __name__,
    names(
        "driver.tvm_names.relax.testing",
        "check_saved_func move add mul equal_zero subtract_one identity_packed tile_packed add_scalar get_device_id "
        "check_if_defined",
    ),
    before=wire,
)
