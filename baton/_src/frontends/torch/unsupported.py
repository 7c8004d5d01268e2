"""The error for an operator without a converter: where it is used, and alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from baton._src.support.diagnostics import Diagnostic

_DRAWING = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "multinomial",
    "normal", "normal_functional", "uniform", "exponential", "poisson", "geometric", "cauchy", "log_normal", "random",
    "native_dropout", "rrelu_with_noise", "rrelu_with_noise_functional", "binomial", "_standard_gamma",
    "_sample_dirichlet",
}  # fmt: skip
"""Operators that use PyTorch's random generator, which has state."""


_BY_PYTORCH = ", or use torch.compile(model, backend='baton'), where PyTorch runs it"


def unsupported(name: str, sources: Sequence[str], known: Iterable[str], writes: bool = False) -> Diagnostic:
    """The error for an operator used in these lines, where operators `known` are supported. `writes`: into inputs."""
    places = list(dict.fromkeys(sources))
    listed = "; ".join(places[:5]) + (f"; and {len(places) - 5} more" if len(places) > 5 else "")
    if name.split(".")[1] in _DRAWING:
        return Diagnostic(
            "torch-random",
            f"{name} draws random numbers (used {len(sources)}x: {listed}); a compiled function has no seed",
            help="draw them before and pass them as an input, or use torch.compile(model, backend='baton'), where "
            "PyTorch draws them, so that torch.manual_seed decides",
        )
    return Diagnostic(
        "torch-unsupported-op",
        f"operator {name} is not supported (used {len(sources)}x: {listed})",
        help=f"let it return what it writes{_BY_PYTORCH}" if writes else _way_around(name, known),
    )


def _way_around(name: str, known: Iterable[str]) -> str:
    """The suggested alternative to an operator; names of aten operators may be misspelt."""
    space, *rest = name.split(".")
    if len(rest) == 2 and space not in ("aten", "torch"):
        return f"say it in terms of PyTorch: exported.run_decompositions({{torch.ops.{name}: function}}){_BY_PYTORCH}"
    near = get_close_matches(name, known, n=1)
    return f"{f'did you mean {near[0]}? ' if near else ''}The table of supported operators is in docs/torch.md"
