"""What used to get lost between printing and reading: annotations of branches, derivations of users, attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.ir.target import Target
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Call, Function, If, Var
from baton._src.relax.struct_info import FuncStructInfo, StructInfo
from baton._src.relax.text.printer import script
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton._src.values.tensor import NDArray
from tests.relax.build import RELAX, Ob, Ts, load


@pytest.mark.rule("RELAX-SCRIPT-07")
def test_the_annotation_of_what_a_branch_gives() -> None:
    """It stands by itself before the if, where it says something else than the branches' join."""
    text = """
@R.function
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")) -> R.Object:
    y: R.Object
    if c:
        y = R.exp(x)
    else:
        y: R.Tensor(ndim=1)
        if c:
            y = R.add(x, x)
        else:
            y = x
    return y
"""
    found: Any = load(text)
    binding = found.body.blocks[0].bindings[0]
    assert isinstance(binding.value, If)
    assert_structural_equal(binding.var.struct_info, Ob)
    printed = script(found)
    assert "y: R.Tensor(ndim=1)\n" in printed
    assert_structural_equal(load(printed), found)


@pytest.mark.rule("RELAX-SCRIPT-07", rejects=True)
@pytest.mark.parametrize("rest", ["z = x", "pass", "if c:\n        z = x\n    else:\n        z = x"])
def test_an_annotation_without_value_needs_its_if(rest: str) -> None:
    text = '@R.function\ndef main(x: R.Tensor((3,)), c: R.Tensor((), "bool")):\n    y: R.Object\n'
    with pytest.raises(DiagnosticError, match="y is annotated but gets no value") as error:
        load(f"{text}    {rest}\n    return x\n")
    assert error.value.diagnostics[0].span is not None
    assert error.value.diagnostics[0].span.line == 3


@pytest.fixture
def derivation() -> Iterator[str]:
    """A registered derivation: the result is like the first argument."""
    name = "test.like_first"

    def like_first(call: Call, context: Any) -> StructInfo:
        found: StructInfo = call.args[0].struct_info
        return found

    PROCESS_FUNCTIONS.register(name, like_first)
    yield name
    PROCESS_FUNCTIONS.remove(name)


def test_derivations_are_found_by_their_registered_name(derivation: str) -> None:
    text = f"""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), f: R.Callable(derive_func="{derivation}")) -> R.Tensor((3,), "float32"):
    y = f(x)
    return y
"""
    found: Any = load(text)
    assert isinstance(found.params[1].struct_info, FuncStructInfo)
    assert_structural_equal(found.body.body.struct_info, Ts((3,), "float32"))
    printed = script(found)
    assert f'derive_func="{derivation}"' in printed
    assert_structural_equal(load(printed), found)


def test_results_of_casts_do_not_leak_into_the_builder_s_functions() -> None:
    """Criterion 4: what is deduced of the result mentions no variable that a cast inside has bound."""
    builder = BlockBuilder()
    x, y = Var("x", Ts(ndim=1, dtype="float32")), Var("y", Ts((4,), "float32"))
    q = (
        load('@R.function\ndef f(a: R.Tensor(("q",), "float32")):\n    return a\n')
        .params[0]
        .struct_info.shape.values[0]
    )
    with builder.function("main", [x, y]):
        cast = builder.match_cast(x, Ts((q,), "float32"))
        builder.emit_func_output(builder.emit(RELAX["exp"](cast)))
    found = builder.get()["main"]
    assert isinstance(found, Function)
    assert_structural_equal(found.ret_struct_info, Ts(ndim=1, dtype="float32"))


def test_attributes_that_are_relay_s_are_said() -> None:
    """A module that came from Relay prints what only Relay's calls have, and reads it back; wrong names are refused."""
    text = """
@R.function
def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
    y = R.nn.conv2d(x, w, padding=[1, 1, 1, 1], relay_attrs={"channels": 4, "kernel_size": [3, 3]})
    z = R.log2(y)
    return z
"""
    found: Any = load(text)
    assert found.body.blocks[0].bindings[0].value.attrs.channels == 4
    printed = script(found)
    assert 'relay_attrs={"channels": 4, "kernel_size": [3, 3]}' in printed
    assert "R.log2(y)" in printed
    assert_structural_equal(load(printed), found)
    plain = load("@R.function\ndef main(x: R.Tensor((3,))):\n    return R.expand_dims(x, axis=[0])\n")
    assert "R.expand_dims(x, axis=[0])" in script(plain)  # what is Relay's has its default, and is not said
    padded = load("@R.function\ndef main(x: R.Tensor((3, 4))):\n    return R.nn.pad(x, (0, 1, 2, 0))\n")
    assert "pad_width=[0, 1, 2, 0]," in script(padded)  # Relay's are pairs
    assert_structural_equal(load(script(padded)), padded)
    with pytest.raises(DiagnosticError, match="no Relay attribute 'chanels'"):
        load(text.replace("channels", "chanels"))


@pytest.mark.parametrize(
    ("dims", "target", "printed"),
    [("(3, 4)", "(2, -1)", "[2, 6]"), ('("n", 4)', "(-1, 2)", "[n * 2, 2]"), ('("n", 4)', "(-1, 3)", "[-1, 3]")],
)
def test_targets_of_reshape_are_dims(dims: str, target: str, printed: str) -> None:
    """As in TVM, a call of known dims holds what -1 stands for; where that may leave a remainder, -1 stays."""
    text = f"@R.function\ndef main(x: R.Tensor({dims})):\n    return R.reshape(x, {target})\n"
    assert f"R.reshape(x, R.shape({printed}))" in script(load(text))


@pytest.mark.rule("RELAX-SCRIPT-12")
def test_the_declared_type_of_a_packed_function() -> None:
    """It was left out, so that what is bound to it, or to its result, no longer had the type the text said."""
    text = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")) -> R.Object:
    bound = R.ExternFunc("a.f", R.Callable([R.Tensor], R.Tensor))
    y = bound(x)
    z = R.ExternFunc("a.g", R.Callable([R.Tensor], R.Tensor(ndim=1)))(x)
    w = R.call_pure_packed("a.h", x, sinfo_args=R.Tensor(ndim=2))
    return (bound, y, z, w)
"""
    found: Any = load(text)
    printed = script(found)
    assert 'R.ExternFunc("a.g", R.Callable((R.Tensor,), R.Tensor(ndim=1), True))(x)' in printed
    assert 'R.call_pure_packed("a.h", x, ' in printed
    assert_structural_equal(load(printed), found)


@pytest.mark.rule("RELAX-SCRIPT-12")
@pytest.mark.parametrize(
    "value",
    [np.float32(2.5), np.int64(3), np.bool_(True), {"a": [np.float64(0.5)]}, Target("llvm -mcpu=generic", "llvm")],
    ids=lambda value: type(value).__name__,
)
def test_attributes_of_numpy_s_numbers_and_of_targets(value: Any) -> None:
    """Their Python representation was printed, which is no text of the script."""
    function = load("@R.function\ndef main(x: R.Tensor):\n    return x\n").with_attr("note", value)
    found = load(script(function)).attrs["note"]
    assert found == value
    assert not isinstance(found, np.generic)


@pytest.mark.rule("RELAX-SCRIPT-12")
def test_tensors_in_attributes() -> None:
    """They stand in the metadata section, like the program's constants, but are data when they are read."""
    text = "@R.function\ndef main(x: R.Tensor):\n    return x\n"
    function = load(text).with_attr("note", [NDArray(np.arange(3, dtype="float32"))])
    found = load(script(function, show_meta=True))
    assert_structural_equal(found, function)
    assert isinstance(found.attrs["note"][0], NDArray)


def test_variables_that_are_sizes() -> None:
    """What is known of their sign was lost: in parameters, casts and local functions."""
    text = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Object):
    n, m = T.int64(is_size_var=True), T.int64()
    k = T.int64(is_size_var=True)
    z = R.match_cast(y, R.Tensor((k,), "float32"))
    @R.function
    def inner(a: R.Tensor(("q",), "float32")):
        q = T.int64(is_size_var=True)
        return R.reshape(a, R.shape([q, 1]))
    return (inner(z), R.shape([n + m]))
"""
    found: Any = load(text)
    kinds = [type(d).__name__ for d in found.params[0].struct_info.shape.values]
    assert kinds == ["SizeVar", "Var"]
    assert script(found).count("T.int64(is_size_var=True)") == 3
    assert_structural_equal(load(script(found)), found)
