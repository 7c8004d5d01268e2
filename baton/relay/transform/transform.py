"""Passes under TVM's longer path (`tvm.relay.transform.transform`)."""

from __future__ import annotations

import baton.relay.transform as _passes

__all__ = _passes.__all__
__getattr__, __dir__ = _passes.__getattr__, _passes.__dir__
