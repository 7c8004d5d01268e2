"""All builtins of the VM by name: the place to look up what bytecode may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.runtime.vm.builtins import (
    caches,
    checks,
    complex_matrices,
    data_dependent,
    functions,
    growing,
    matrices,
    matrix_products,
    memory,
    named_params,
    paged_cache_calls,
    random_numbers,
    reflectors,
    relay,
    sampling,
    shapes,
    sorting,
    strings,
    structures,
    symmetric_factors,
    threads,
)

BUILTINS: Mapping[str, Callable[..., Any]] = {
    **caches.TABLE,
    **checks.TABLE,
    **complex_matrices.TABLE,
    **data_dependent.TABLE,
    **functions.TABLE,
    **functions.MACHINE_TABLE,
    **growing.TABLE,
    **matrices.TABLE,
    **matrix_products.TABLE,
    **memory.TABLE,
    **named_params.TABLE,
    **paged_cache_calls.TABLE,
    **random_numbers.TABLE,
    **reflectors.TABLE,
    **relay.TABLE,
    **sampling.TABLE,
    **shapes.TABLE,
    **sorting.TABLE,
    **structures.TABLE,
    **strings.TABLE,
    **symmetric_factors.TABLE,
    **threads.TABLE,
}
"""Functions of run-time values. Those that need the VM take it first: bytecode passes `%vm`."""
