"""The names left out of `relax`."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.driver.tvm_names.left_out.reasons import BYOC, ONE_PROCESS

RELAX_NAMES: Mapping[str, Mapping[str, str]] = {
    "it looks into TVM's own passes": {"relax.testing": "transform"},
    BYOC: {
        "relax.backend": "contrib cuda",
        "relax.transform": "SplitCallTIRByPattern",
        "relax": "backend_tir",
    },
    ONE_PROCESS: {
        "relax": "distributed",
        "relax.op": "ccl distributed",
        "relax.frontend.nn.op": "ccl_allreduce ccl_allgather ccl_broadcast_from_worker0",
    },
    "caches of keys and values attend in NumPy, to trees of tokens as well: there are no kernels for them": {
        "relax.frontend.nn.llm": "tree_attn",
    },
}
"""Why: below what, which names."""
