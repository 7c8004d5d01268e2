"""Recursion without the Python stack: a recursive function is written as a generator that yields its sub-tasks.

    def depth(tree: Tree) -> Task[int]:
        deepest = 0
        for child in tree.children:
            deepest = max(deepest, (yield depth(child)))
        return deepest + 1

    run(depth(tree))        # as deep as memory goes

An exception raised by a sub-task is thrown into the task that waits for it, so `try` and `with` work as in plain code.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")

Task = Generator[Any, Any, T]


def run(task: Task[T]) -> T:
    """The value of `task`, running every sub-task it yields on an explicit stack."""
    stack: list[Task[Any]] = [task]
    value: Any = None
    error: BaseException | None = None
    while stack:
        top = stack[-1]
        try:
            if error is None:
                child = top.send(value)
            else:
                thrown, error = error, None
                child = top.throw(thrown)
        except StopIteration as done:
            stack.pop()
            value = done.value
            continue
        except BaseException as raised:
            stack.pop()
            if not stack:
                raise
            error = raised
            continue
        stack.append(child)
        value = None
    found: T = value
    return found
