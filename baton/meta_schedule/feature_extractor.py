"""Feature extractors for cost models (`tvm.meta_schedule.feature_extractor`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.feature_extractors", "FeatureExtractor"),
        **renamed(
            "driver.tvm_names.tuning.meta_schedule.feature_extractors",
            PyFeatureExtractor="FeatureExtractor",
            create="FeatureExtractor.create",
        ),
    },
    before=wire,
)
