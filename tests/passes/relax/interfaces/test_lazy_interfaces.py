"""LazyGetInput and LazySetOutput: what is asked for and given when, and that results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.passes.relax.interfaces.lazy_interfaces import LazyGetInput, LazySetOutput
from baton._src.passes.relax.interfaces.lazy_transform_params import LazyTransformParams
from baton._src.passes.relax.interfaces.lift_transform_params import LiftTransformParams
from baton._src.relax.nodes import StringImm
from baton._src.relax.well_formed import well_formed
from tests.passes.relax.programs import bindings
from tests.relax.build import module

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "k"), "float32"), b: R.Tensor(("k",), "float32")):
    R.func_attr({"num_input": 1})
    k = T.int64()
    with R.dataflow():
        z = R.zeros(R.shape([k]), "float32")
        y = R.matmul(x, w)
        o = R.add(y, b)
        p = R.add(b, z)
        R.output(o, p)
    return (o, p, x)

@R.function(private=True)
def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return x
"""
X, W, B = np.full((2, 4), 2, "float32"), np.ones((4, 3), "float32"), np.arange(3, dtype="float32")


def names(found: IRModule) -> list[str]:
    return [b.var.name_hint for b in bindings(found)]


def run(found: IRModule, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(found, "llvm"), baton.cpu())["main"](*args)


def test_parameters_are_asked_for_where_they_are_needed() -> None:
    """`z` needs only the shape that comes with `w`; private functions and inputs stay."""
    before = module(PROGRAM)
    after = LazyGetInput()(before)
    assert well_formed(after) == []
    assert [p.name_hint for p in after["main"].params] == ["x", "fget_param"]
    assert after["main"].attrs["num_input"] == 2
    assert names(after) == ["w_untyped", "w", "z", "y", "b_untyped", "b", "o", "p"]
    assert after["helper"] is before["helper"]
    assert len(after.functions) == len(before.functions)  # nobody calls `main`: it is not kept
    asked: list[tuple[int, str]] = []

    def get(number: int, name: str) -> Any:
        asked.append((int(number), str(name)))
        return baton.nd.array((W, B)[int(number)])

    out = run(after, X, get)
    assert asked == [(0, "w"), (1, "b")]
    np.testing.assert_allclose(out[0].numpy(), X @ W + B)
    np.testing.assert_allclose(out[1].numpy(), B)
    with pytest.raises(baton.TVMError, match="dimension 0 is 4, expected 3"):
        run(after, X, lambda number, name: baton.nd.array((W, np.zeros(4, "float32"))[int(number)]))


def test_parameters_of_branches_are_asked_for_before_them() -> None:
    after = LazyGetInput()(
        module("""
@R.function
def main(c: R.Tensor((), "bool"), w: R.Tensor((2,), "float32"), o: R.Object) -> R.Tensor((2,), "float32"):
    R.func_attr({"num_input": 1})
    if c:
        y = R.exp(w)
    else:
        y = w
    z = R.add(y, w)
    return z
""")
    )
    assert well_formed(after) == []
    assert names(after) == ["w_untyped", "w", "y", "z"]  # and `o`, which nobody needs, is not asked for


def test_results_are_given_when_they_are_there() -> None:
    after = LazySetOutput()(module(PROGRAM))
    assert well_formed(after) == []
    assert [p.name_hint for p in after["main"].params] == ["x", "fset_output", "w", "b"]
    assert after["main"].attrs["num_input"] == 2
    assert not after["main"].is_pure
    given: dict[int, Any] = {}
    assert len(run(after, X, lambda number, value: given.update({int(number): value.numpy()}), W, B)) == 0
    assert list(given) == [2, 0, 1]
    np.testing.assert_allclose(given[0], X @ W + B)
    np.testing.assert_allclose(given[2], X)


def test_one_result_and_one_given_twice() -> None:
    single = "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    y = R.exp(x)\n    return y\n"
    given: list[tuple[int, Any]] = []
    for text in (single, single.replace("return y", "z = (y, R.const(1.0), y)\n    return z")):
        after = LazySetOutput()(module(text.replace("'", '"')))
        assert well_formed(after) == []
        run(after, np.zeros(2, "float32"), lambda number, value: given.append((int(number), value.numpy().sum())))
    assert given == [(0, 2.0), (0, 2.0), (2, 2.0), (1, 1.0)]


def test_weights_are_prepared_one_by_one() -> None:
    """What LiftTransformParams made: each weight is loaded before its first use, each result stored behind it."""
    lifted = LiftTransformParams()(
        module("""
@R.function
def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((3, 4), "float32"), u: R.Tensor((3, 3), "float32")):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        a = R.permute_dims(w)
        y = R.matmul(x, a)
        b = R.permute_dims(u)
        z = R.matmul(y, b)
        R.output(z)
    return z
""")
    )
    after = LazyTransformParams(extra_get_item_params=[StringImm("here")])(lifted)
    assert well_formed(after) == []
    log: list[Any] = []
    weights = [np.ones((3, 4), "float32"), np.full((3, 3), 2, "float32")]

    def get(place: Any, number: Any) -> Any:
        log.append((str(place), int(number)))
        return baton.nd.array(weights[int(number)])

    def put(number: Any, value: Any) -> None:
        log.append((int(number), value.shape))

    baton.register_func("get_item", get, override=True)
    baton.register_func("set_item", put, override=True)
    relax.VirtualMachine(relax.build(after, "llvm"), baton.cpu())["main_transform_params"]()
    assert log == [("here", 0), (0, (4, 3)), ("here", 1), (1, (3, 3))]
    kept = LazyTransformParams(fset_item=None, extra_get_item_params=[StringImm("here")])(lifted)
    out = relax.VirtualMachine(relax.build(kept, "llvm"), baton.cpu())["main_transform_params"]()
    assert [v.shape for v in out] == [(4, 3), (3, 3)]


def test_a_parameter_that_binds_a_size_comes_before_those_whose_sizes_are_computed_from_it() -> None:
    """The size `n` of `n * 2` was bound nowhere."""
    before = module(
        """
        @R.function
        def main(x: R.Tensor((4,), "float32"), u: R.Tensor(("n * 2",), "float32"), w: R.Tensor(("n",), "float32")):
            R.func_attr({"num_input": 1})
            a = R.exp(u)
            return (x, a, w)
        """
    )
    after = LazyGetInput()(before)
    assert well_formed(after) == []
    assert names(after) == ["w_untyped", "w", "u_untyped", "u", "a"]


def test_results_without_a_binding_wait_for_the_last() -> None:
    """A cast without a variable gave the tuple, of which it is no part, before its field `b` was bound."""
    before = module(
        """
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor("float32", ndim=1)):
            R.match_cast(y, R.Tensor((4,), "float32"))
            b = R.exp(x)
            return ((x, b), b)
        """
    )
    cast = before["main"].body.blocks[0].bindings[0]
    main = substitute(before["main"], {cast: cast.with_fields(var=None)})
    bare = before.with_function(before.get_global_var("main"), main)
    assert well_formed(LazySetOutput()(bare)) == []


def test_weights_may_be_used_as_a_whole() -> None:
    """The tuple was left in place, though its parameter was gone."""
    before = module(
        """
        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = params[0]
            b = R.exp(a)
            return (b, params)
        """
    )
    after = LazyTransformParams()(before)
    assert well_formed(after) == []
    given = [b.var.name_hint for b in bindings(after, "main_transform_params")]
    assert given[:3] == ["a_untyped", "a", "b"]
    assert given[4:6] == ["param_1_untyped", "param_1"]
