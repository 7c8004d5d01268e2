"""How long IR work takes as programs grow: DAGs and let-chains of 1k, 10k and 100k nodes.

    python -m bench.compile_time.scale [sizes...]

Each line is one graph: microseconds a node for building, hashing, comparing with an independent copy, rewriting (one
leaf replaced, so that every node is rebuilt), walking, and printing. Linear means: the columns do not grow
downwards. The recursion limit stays what Python sets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from baton._src.driver.wiring import wire
from baton._src.ir.expr import Op
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.relay import nodes as relay
from baton._src.transform.collector import rarely_collecting

SIZES = (1_000, 10_000, 100_000)
ADD = Op("add")


def dag(size: int) -> relay.Function:
    """Every node uses the one before twice: 2**size paths."""
    x = relay.Var("x")
    expr: Any = x
    for _ in range(size):
        expr = relay.Call(ADD, (expr, expr))
    return relay.Function([x], expr)


def let_chain(size: int) -> relay.Function:
    """let v0 = x + x; let v1 = v0 + x; ..."""
    x = relay.Var("x")
    names = [relay.Var(f"v{i}") for i in range(size)]
    body: Any = names[-1]
    for i in reversed(range(size)):
        body = relay.Let(names[i], relay.Call(ADD, (names[i - 1] if i else x, x)), body)
    return relay.Function([x], body)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def replaced(function: relay.Function) -> relay.Function:
    """The function with its parameter renamed: every node is new."""
    found: relay.Function = substitute(function, {function.params[0]: relay.Var("y")})
    return found


def printed(function: relay.Function) -> str:
    """Its text, in the language's notation if a printer is bound (`driver.wiring`)."""
    text = type(function).text
    return "" if text is None else text(function)


def measure(make: Callable[[int], relay.Function], size: int) -> dict[str, float]:
    """Microseconds a node by kind of work."""
    seconds: dict[str, float] = {}
    seconds["build"], function = timed(lambda: make(size))
    copy = make(size)
    seconds["walk"], order = timed(lambda: post_order(function))
    seconds["hash"], ours = timed(lambda: structural_hash(function))
    seconds["equal"], same = timed(lambda: structural_equal(function, copy))
    seconds["keep"], kept = timed(lambda: rewrite(function, lambda node: None))
    seconds["rewrite"], renamed = timed(lambda: replaced(function))
    assert same
    assert kept is function
    assert ours == structural_hash(copy)
    assert renamed is not function
    if type(function).text is not None:
        seconds["print"], text = timed(lambda: printed(function))
        assert text
    return {name: 1e6 * found / len(order) for name, found in seconds.items()}


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the table."""
    wire()
    limit = sys.getrecursionlimit()
    first = True
    for name, make in (("dag", dag), ("let", let_chain)):
        for size in sizes:
            with rarely_collecting():
                found = measure(make, size)
            if first:
                print("us a node".ljust(16) + "".join(column.rjust(9) for column in found))
                first = False
            print(f"{name} {size}".ljust(16) + "".join(f"{value:9.2f}" for value in found.values()))
    assert sys.getrecursionlimit() == limit


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
