"""`tvm.relay.transform.mixed_precision`: rules for several operators at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from baton._src.driver.tvm_names.relay.user_operators import register_mixed_precision_conversion

Rule = Callable[..., list[object]]


def register_func_to_op_list(list_ops: Iterable[str]) -> Callable[[Rule], Rule]:
    """A decorator that makes a function the rule of every operator named."""

    def register(func: Rule) -> Rule:
        for name in list_ops:
            register_mixed_precision_conversion(name, func)
        return func

    return register
