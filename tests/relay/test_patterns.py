"""The pattern language: matching, dominators, rewriting to a fixpoint, partitioning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Constant, Function
from baton._src.relay.pattern_match import match
from baton._src.relay.pattern_rewrite import DFPatternCallback, partition, rewrite
from baton._src.relay.patterns import (
    FunctionPattern,
    has_dtype,
    has_shape,
    is_constant,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from baton._src.support.diagnostics import DiagnosticError
from tests.relay.programs import error_of, plain, read

BODY = "fn(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {{ {} }}"


def body(text: str) -> Any:
    return read(BODY.format(text)).body


@pytest.mark.rule("RELAY-DFP-1")
def test_matching() -> None:
    add = is_op("add")(wildcard(), is_constant())
    assert match(add, body("%x + 1f"))
    assert match(add, body("1f + %x"))  # addition commutes
    assert match(is_tuple([is_var("x"), is_var()]), body("(%x, %y)"))
    assert match(is_tuple_get_item(wildcard(), 1), body("(%x, %y).1"))
    assert match(is_if(is_constant(), is_var("x"), wildcard()), body("if (True) { %x } else { %y }"))
    assert match(is_let(is_var("z"), is_op("exp")(wildcard()), wildcard()), body("let %z = exp(%x); %z"))
    assert match(is_op("nn.softmax")(wildcard()).has_attr({"axis": 1}), body("nn.softmax(%x, axis=1)"))
    assert match(has_dtype("float32", has_shape((2, 3))), body("exp(%x)"))
    assert match(FunctionPattern((is_var("x"), is_var("y")), is_op("exp")(wildcard())), read(BODY.format("exp(%x)")))
    assert match(is_op("exp")(None), body("exp(%x)"))
    assert match(is_op("exp")(wildcard()).optional(lambda p: is_op("log")(p)), body("log(exp(%x))"))


@pytest.mark.rule("RELAY-DFP-1", rejects=True)
def test_not_matching() -> None:
    assert not match(is_op("add")(wildcard(), is_constant()), body("%x + %y"))
    assert not match(is_op("nn.softmax")(wildcard()).has_attr({"axis": 0}), body("nn.softmax(%x, axis=1)"))
    assert not match(has_dtype("float16"), body("exp(%x)"))
    x = wildcard()
    assert match(x * x, body("%x * %x"))
    assert not match(x * x, body("%x * %y"))


@pytest.mark.rule("RELAY-DFP-2")
def test_domination() -> None:
    elementwise = wildcard().has_attr({"TOpPattern": 0}) | wildcard().has_attr({"TOpPattern": 1})
    pattern = is_op("nn.relu")(wildcard()).dominates(is_op("nn.softmax")(wildcard()), elementwise)
    assert match(pattern, body("nn.relu(exp(nn.softmax(%x)) + 1f)"))


@pytest.mark.rule("RELAY-DFP-2", rejects=True)
def test_a_path_around() -> None:
    pattern = is_op("nn.relu")(wildcard()).dominates(is_op("nn.softmax")(wildcard()), wildcard())
    whole = body("%1 = nn.softmax(%x); (nn.relu(exp(%1)), %1)")
    assert not match(pattern, whole.fields[0], whole)


@pytest.mark.rule("RELAY-DFP-2", rejects=True)
def test_an_operand_that_does_not_come_from_the_parent() -> None:
    """A bias of what takes the parent itself is no path around it, whatever else joins the path is."""
    path = (wildcard().has_attr({"TOpPattern": 0}) | wildcard().has_attr({"TOpPattern": 1}))(None)
    pattern = is_op("add")(wildcard(), wildcard()).dominates(is_op("nn.softmax")(wildcard()), path)
    assert match(pattern, body("exp(nn.softmax(%x)) + nn.relu(nn.softmax(%y) + %x)"))
    assert match(pattern, body("%1 = nn.softmax(%x); exp(%1 + %y) + nn.relu(%1)"))
    assert not match(pattern, body("nn.relu(exp(%x)) + nn.softmax(%x)"))
    assert not match(pattern, body("exp(nn.softmax(%x)) + nn.relu(%y)"))


class _AddZero(DFPatternCallback):
    """x + 0 is x."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.zero = wildcard(), is_constant()
        self.pattern = self.x + self.zero

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        constant: Constant = node_map[self.zero][0]
        return node_map[self.x][0] if not constant.data.data.any() else post


class _Forever(DFPatternCallback):
    """Gives more of the same every time."""

    def __init__(self) -> None:
        super().__init__()
        self.pattern = is_op("exp")(is_var())

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return Call(post.op, [post])


class _Anew(_Forever):
    """Gives an equal node every time."""

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        assert node_map[self.pattern] == [post]
        return Call(post.op, post.args)


@pytest.mark.rule("RELAY-DFP-3")
def test_rewriting() -> None:
    function = read(BODY.format("exp(%x + 0f + 0f) + (%y + 0f)"))
    assert structural_equal(rewrite(_AddZero(), function), read(BODY.format("exp(%x) + %y")))


@pytest.mark.rule("RELAY-DFP-3")
def test_what_is_no_expression_does_not_become_one() -> None:
    """A number that a callback gave was the rewritten program."""
    function = read(BODY.format("exp(%x)"))
    pattern = is_op("exp")(wildcard())
    for given in (5, None, np.ones(3)):
        assert error_of(lambda given=given: pattern.rewrite(lambda *_: given, function)).code == "relay-node"
    assert error_of(lambda: rewrite(5, function)).code == "api"


@pytest.mark.rule("RELAY-DFP-3")
def test_partitioning() -> None:
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    function = read(BODY.format("exp(nn.relu(%x + %y))"))
    made = partition(pattern, function, {"Composite": "add_relu"})
    call = made.body.args[0]
    assert isinstance(call.op, Function)
    assert call.op.attrs == {"PartitionedFromPattern": "add_nn.relu_", "Composite": "add_relu"}
    arg = [[1.0, -2.0, 3.0]] * 2
    given = np.float32(arg)
    assert plain(Interpreter().evaluate(made)(given, given)) == plain(Interpreter().evaluate(function)(given, given))


def test_what_is_used_outside_of_a_match_is_not_rewritten() -> None:
    """As in TVM: a rewritten match would compute the inner value twice."""
    pattern, done = is_op("nn.relu")(is_op("exp")(wildcard())), []
    shared = read(BODY.format("nn.relu(exp(%x)) + exp(%x)"))
    pattern.rewrite(lambda pre, post, node_map: done.append(pre) or post, shared)
    assert len(done) == 1  # two different nodes: no sharing
    inner = read(BODY.format("%0 = exp(%x); nn.relu(%0) + %0"))
    assert structural_equal(pattern.rewrite(lambda pre, post, node_map: node_map[pattern][0].args[0], inner), inner)


def test_partitions_hold_paths_and_the_constants_asked_for() -> None:
    """Constants that a wildcard stands for are arguments; partitioned functions are left alone afterwards."""
    function = read(BODY.format("nn.relu(exp(%x) * 2f) + 3f"))
    asked = partition(is_op("add")(wildcard(), is_constant()), function).body
    assert (len(asked.args), asked.op.body.args[1].data.numpy()) == (1, 3.0)
    given = partition(is_op("add")(wildcard(), wildcard()), function).body
    assert len(given.args) == 2
    assert len(given.op.params) == 2
    path = (is_op("nn.relu") | is_op("multiply"))(None)
    whole = partition(is_op("add")(wildcard(), wildcard()).dominates(is_op("exp")(None), path), function).body
    assert whole.op.attrs["PartitionedFromPattern"] == "exp_multiply_nn.relu_add_"
    assert partition(is_op("exp")(None), whole) is whole


def test_what_an_alternative_stands_for_is_an_input_if_a_wildcard_matched_it() -> None:
    """`is_constant() | wildcard()` says that weights may be given: then they are a parameter of the partition."""
    expr = read("fn (%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.relu(nn.dense(%x, %w)) }")
    pattern = is_op("nn.relu")(is_op("nn.dense")(wildcard(), is_constant() | wildcard()))
    call = partition(pattern, expr.body)
    assert [v.name_hint for v in call.args] == ["x", "w"]
    assert len(call.op.params) == 2


def test_an_endless_rewrite_is_an_error() -> None:
    once = body("exp(%x)")
    assert structural_equal(rewrite(_Anew(), once), once)
    assert error_of(lambda: rewrite(_Forever(), body("exp(%x)"))).code == "relay-pattern"


@pytest.mark.rule("RELAY-DFP-1")
def test_products_and_quotients_match_however_they_are_grouped() -> None:
    """As in TVM: models write a normalisation as g * (x / s), as (g * x) / s or as (g / s) * x."""
    g, x, s = is_var("x"), is_op("exp")(wildcard()), is_op("sqrt")(wildcard())
    product, left, right = "%x * exp(%y) / sqrt(%y)", "%x / sqrt(%y) * exp(%y)", "%x * (exp(%y) / sqrt(%y))"
    patterns = [(g * x / s, (product, left, right)), (g * (x / s), (product, right)), ((g / s) * x, (product, left))]
    for pattern, texts in patterns:
        assert all(match(pattern, body(text)) for text in texts)
        assert not match(pattern, body("%y * exp(%y) / sqrt(%y)"))
        assert not match(pattern, body("%x / exp(%y) * sqrt(%y)"))


def test_only_sums_and_products_commute() -> None:
    """Callbacks rely on the order of other operators' operands; alternatives of operators do not commute, either."""
    assert match(is_constant() * wildcard(), body("%x * 1f"))
    assert not match(is_op("maximum")(is_constant(), wildcard()), body("maximum(%x, 1f)"))
    assert not match((is_op("add") | is_op("subtract"))(is_constant(), wildcard()), body("%x + 1f"))


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="no Relay operator named 'nope'"):
        is_op("nope")
    recursive = wildcard()
    for wrong in (
        lambda: is_op("add")(wildcard(), 1),
        lambda: wildcard() | 1,
        lambda: is_tuple([1]),
        lambda: recursive.redirect_to(1),
    ):
        with pytest.raises(TypeError, match="takes patterns, got int"):
            wrong()
    with pytest.raises(TypeError, match="takes a type, got int"):
        wildcard().has_type(1)


def test_what_is_no_expression_is_refused() -> None:
    """A module came back unchanged."""
    module = IRModule.from_expr(body("exp(%x)"))
    with pytest.raises(TypeError, match="got IRModule"):
        partition(is_op("exp")(wildcard()), module)
    with pytest.raises(TypeError, match="got IRModule"):
        is_op("exp")(wildcard()).rewrite(lambda pre, post, found: post, module)
    with pytest.raises(DiagnosticError, match="has no pattern"):
        rewrite(DFPatternCallback(), body("exp(%x)"))


def test_an_optional_user_is_tried_after_what_it_uses() -> None:
    plus = is_op("add")(wildcard(), wildcard())
    outer = partition(plus.optional(lambda sum: sum + wildcard()), body("%x + %y + %x"))
    assert outer.op.attrs["PartitionedFromPattern"] == "add_"


def test_inputs_come_in_the_order_of_their_first_mention() -> None:
    pattern = is_op("add")(is_op("add")(wildcard(), wildcard()), wildcard())
    made = partition(pattern, body("%x + %y + %x"))
    assert [a.name_hint for a in made.args] == ["x", "y"]


def test_callbacks_get_what_is_on_a_path() -> None:
    """Every expression between the parent and the child, in order."""
    inner = wildcard()
    path = is_op("exp")(inner) | is_op("log")(inner)
    pattern = is_op("nn.relu")(wildcard()).dominates(is_op("nn.softmax")(wildcard()), path)
    seen: list[list[str]] = []

    def callback(pre: Any, post: Any, found: Any) -> Any:
        seen.append([m.op.name for m in found[path]])
        return found[inner][0]

    made = pattern.rewrite(callback, body("nn.relu(exp(log(nn.softmax(%x))))"))
    assert seen == [["log", "exp"]]
    assert made.op.name == "nn.softmax"


def test_functions_that_are_not_called_are_not_partitioned() -> None:
    function = read(BODY.format("exp(%x)"))
    assert partition(FunctionPattern(None, wildcard()), function) is function


def test_columns_of_operators_that_users_registered() -> None:
    op = is_op("exp").expr
    op.set_attr("tests.favourite", 3)
    try:
        assert match(is_op("exp").has_attr({"tests.favourite": 3})(wildcard()), body("exp(%x)"))
        assert not match(is_op("exp").has_attr({"tests.favourite": 4})(wildcard()), body("exp(%x)"))
    finally:
        op.reset_attr("tests.favourite")


class OneMore(DFPatternCallback):
    """exp around every exp: their number doubles in each round."""

    def __init__(self) -> None:
        super().__init__()
        self.pattern = is_op("exp")(wildcard())

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return Call(post.op, [post])


def test_a_rewrite_that_doubles_the_program_comes_to_an_end() -> None:
    """A hundred rounds of it would not."""
    error = error_of(lambda: rewrite(OneMore(), read("fn (%x: float32) { exp(%x) }")))
    assert "OneMore never comes to an end" in str(error)
