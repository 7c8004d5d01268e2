"""Analyses under TVM's longer path (`tvm.relay.analysis.analysis`)."""

from __future__ import annotations

import baton.relay.analysis as _analyses

__all__ = _analyses.__all__
__getattr__, __dir__ = _analyses.__getattr__, _analyses.__dir__
