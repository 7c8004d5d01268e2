"""Regions of interest (`tvm.topi.vision.rcnn`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.topi.names import topi_functions
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, {}, before=wire, more=partial(topi_functions, "vision.rcnn"))
