"""Training (`tvm.relax.training`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.training.append_loss", "AppendLoss"),
        **names("driver.training.setup_trainer", "SetupTrainer"),
        **names("driver.training.trainer", "Trainer"),
        **submodules("baton.relax.training", "loss optimizer setup_trainer trainer utils"),
    },
    before=wire,
)
