"""Rules of passes: what each leaves alone, and what happens to a pass's own leftovers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.node import node
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ir.structural import structural_equal
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.first_order.lambda_lift import LambdaLift
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.first_order.to_cps import ToCPS
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.forms.inlining import Inline
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm
from baton._src.passes.relay.forms.to_graph_normal_form import ToGraphNormalForm
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.dynamic_to_static import DynamicToStatic
from baton._src.passes.relay.partial_evaluation.partial_evaluate import PartialEvaluate
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Constant, Function, If, Let, TempExpr, Tuple, Var
from baton._src.relay.scopes import Scopes
from baton._src.relay.text.parser import parse
from baton._src.transform.context import PassContext
from tests.relay.programs import error_of, plain, read, read_module

X = "%x: Tensor[(2, 3), float32], %c: bool"
STATEFUL = CATALOGUE.with_op(
    OpDef(
        "tick",
        inputs=(Input("x"),),
        infer=lambda call: call.tensor(0),
        compute=NotApplicable("for tests"),
        reference=lambda inputs, attrs: inputs[0],
        fusion=Fusion.OPAQUE,
        stateful=True,
    )
)


def main(params: str, body: str, before: str = "") -> IRModule:
    return parse(f"{before}\ndef @main({params}) {{ {body} }}", STATEFUL)


def calls(module: IRModule, name: str) -> int:
    """How many call nodes of an operator or function main has."""
    called = (n.op for n in walk(module["main"]) if isinstance(n, Call))
    return sum(getattr(op, "name", getattr(op, "name_hint", "")) == name for op in called)


STAYS = [
    ("RELAY-PASS-12", EliminateCommonSubexpr(), X, "(%x + exp(%x), exp(%x) + %x)", "add", 2),
    ("RELAY-PASS-13", EliminateCommonSubexpr(), X, "(sum(%x, axis=[0]), sum(%x, axis=[1]))", "sum", 2),
    (
        "RELAY-PASS-13",
        EliminateCommonSubexpr(),
        X,
        "(clip(%x, a_min=0f, a_max=1f), clip(%x, a_min=-0f, a_max=1f))",
        "clip",
        2,
    ),
    ("RELAY-PASS-14", EliminateCommonSubexpr(), X, "(@f(%x), @f(%x))", "f", 2),
    ("RELAY-PASS-16", EliminateCommonSubexpr(), X, "let %t = (%x, exp(%x)); (%t.0 + %x, %t.1 + %x)", "add", 2),
    ("RELAY-PASS-19", DeadCodeElimination(), X, "let %r = ref(%x); let %u = ref_write(%r, tick(%x)); %x", "tick", 1),
    ("RELAY-PASS-20", FoldConstant(), X, "tick(1f) + %x", "tick", 1),
    ("RELAY-PASS-20", FoldConstant(), X, "(tick(2f), %x)", "tick", 1),
    ("RELAY-PASS-30", DynamicToStatic(), f"{X}, %s: Tensor[(1), int64]", "dyn.reshape(%x, %s)", "dyn.reshape", 1),
]


@pytest.mark.parametrize(
    ("step", "params", "body", "name", "count"),
    [pytest.param(*case[1:], marks=pytest.mark.rule(case[0], rejects=True)) for case in STAYS],
)
def test_what_stays(step: Any, params: str, body: str, name: str, count: int) -> None:
    found = step(main(params, body, "def @f(%y: Tensor[(2, 3), float32]) { exp(%y) }"))
    assert calls(found, name) == count


@pytest.mark.rule("RELAY-PASS-14")
def test_stateful_calls_are_not_shared() -> None:
    assert calls(EliminateCommonSubexpr()(main(X, "(tick(%x), tick(%x))")), "tick") == 2


@pytest.mark.rule("RELAY-PASS-18", rejects=True)
def test_ill_typed_modules_are_refused() -> None:
    wrong = Function([], Call(CATALOGUE.relay("add"), (Tuple((read("1"), read("2"))), read("1"))))
    assert error_of(lambda: InferType()(IRModule({"main": wrong}))).code


@pytest.mark.rule("RELAY-PASS-08", rejects=True)
def test_what_one_branch_needs_stays_in_it() -> None:
    found = ToBasicBlockNormalForm()(main(X, "if (%c) { %1 = log(%x); %1 + %1 } else { %x }"))
    assert isinstance(found["main"].body, If)


@pytest.mark.rule("RELAY-PASS-09")
def test_scopes_of_a_function_with_an_if() -> None:
    function = read("fn(%x: float32, %c: bool) { if (%c) { %x } else { %x + 1f } }")
    scopes = Scopes(function)
    body = scopes.of[function.body]
    branches = [scopes.of[b] for b in (function.body.true_branch, function.body.false_branch)]
    assert scopes.outermost.parent is None
    assert body.parent is scopes.outermost
    assert scopes.inner[(function.body, 1)].parent is body
    assert scopes.inner[(function.body, 2)].parent is body
    assert branches[1] is scopes.inner[(function.body, 2)]


@pytest.mark.rule("RELAY-PASS-11")
@pytest.mark.rule("RELAY-GRAPH-6")
@pytest.mark.parametrize("step", [ToBasicBlockNormalForm(), ToANormalForm(), ToGraphNormalForm()])
def test_normal_forms_keep_the_value(step: Any) -> None:
    module = main(X, "%1 = log(%x + 3f); if (%c) { %1 + 1f } else { %1 * %1 }")
    argument = np.float32([[1, 2, 3], [4, 5, 6]])
    for flag in (True, False):
        values = [plain(Interpreter(m).evaluate(m["main"])(argument, flag)) for m in (module, step(module))]
        assert values[0] == values[1]


@pytest.mark.rule("RELAY-GRAPH-6")
@pytest.mark.rule("RELAY-GRAPH-9")
@pytest.mark.rule("RELAY-GRAPH-11")
def test_graph_form_and_normal_form_are_different_trees() -> None:
    module = main("%x: float32, %y: float32", "add(log(%x), %y)")
    made = ToANormalForm()(module)
    body = module["main"].body
    assert body.args[0].op.name == "log"  # an argument is there to be looked at ...
    assert isinstance(made["main"].body, Let)
    lets = {n.var: n.value for n in walk(made["main"]) if isinstance(n, Let)}
    call = next(v for v in lets.values() if v.op.name == "add")
    assert isinstance(call.args[0], Var)
    assert lets[call.args[0]].op.name == "log"
    assert not structural_equal(module["main"], made["main"])
    assert structural_equal(module["main"], ToGraphNormalForm()(made)["main"])


@pytest.mark.rule("RELAY-PASS-22", rejects=True)
def test_opaque_operators_are_fused_with_nothing() -> None:
    found = FuseOps(fuse_opt_level=2)(main(X, "exp(tick(exp(%x)))"))
    groups = [n for n in walk(found["main"]) if isinstance(n, Function) and n.attrs.get("Primitive")]
    inside = [[c.op.name for c in walk(g.body) if isinstance(c, Call)] for g in groups]
    assert ["tick"] in inside
    assert all("tick" not in names or names == ["tick"] for names in inside)


HIGHER_ORDER = """
type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil, }
}
def @main() { let %k = 1; @map(fn(%x: int32) -> int32 { %x + %k }, Cons(1, Cons(2, Nil))) }
"""


@pytest.mark.rule("RELAY-PASS-28")
@pytest.mark.parametrize("step", [LambdaLift(), Inline(), Specialize()], ids=lambda s: s.name)
def test_higher_order_programs_keep_their_meaning(step: Any) -> None:
    made = step(read_module(HIGHER_ORDER))
    assert plain(Interpreter(made).evaluate(made["main"])()) == ("Cons", 2, ("Cons", 3, ("Nil",)))


GENERAL = """
def @sq(%x) { %x * %x }   def @id(%x) { %x }   def @call(%f, %x) { %f(%x) }
def @main() {
  let %f = fn(%x) { @id(%x) };   let %p = (%f, 1);   let %r = ref(%f);
  let %unused = if (True) { fn(%x) { 1 } } else { fn(%x: int32) { %x } };
  (@call(@sq, 2), @call(@sq, 3f), %p.0(4), %p.0(5f), ref_read(%r)(6), ref_read(%r)(7f), @call(negative, 8))
}
"""


@pytest.mark.parametrize(
    "step",
    [
        *(ToANormalForm(), ToGraphNormalForm(), FoldConstant(), EtaExpand(True, True), PartialEvaluate(), ToCPS()),
        *(DeadCodeElimination(), DeadCodeElimination(inline_once=True)),
    ],
    ids=repr,
)
def test_programs_that_inference_generalises_keep_their_meaning(step: Any) -> None:
    """A function that lost its name, its use or the code that decided its type was of one type, or of none."""
    made = InferType()(step(read_module(GENERAL)))
    assert plain(Interpreter(made).evaluate(made["main"])()) == (4, 9, 4, 5, 6, 7, -8)


@node
class Scaled(TempExpr):
    """`value` times `scale`."""

    value: Any
    scale: Any

    def realize(self) -> Any:
        return Call(CATALOGUE.relay("multiply"), (self.value, self.scale))


class PlainlyScaled(TempExpr):
    """The same without `@node`, as Python classes are written: it could not be made."""

    def __init__(self, value: Any, scale: Any) -> None:
        self.value, self.scale = value, scale

    def realize(self) -> Any:
        return Call(CATALOGUE.relay("multiply"), (self.value, self.scale))


@dataclass(frozen=True)
class LeavesOne(RelayFunctionPass):
    """A pass that forgets its temporary expression."""

    opt_level: ClassVar[int] = 0

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return function.with_fields(body=Scaled(function.body, read("2f")))


@pytest.mark.rule("RELAY-TEMP-2", rejects=True)
def test_a_leftover_is_an_error() -> None:
    assert error_of(lambda: LeavesOne()(main("%x: float32", "%x"))).code == "RELAY-TEMP-1"


@pytest.mark.rule("RELAY-TEMP-1")
@pytest.mark.rule("RELAY-TEMP-3")
@pytest.mark.parametrize("kind", [Scaled, PlainlyScaled])
def test_a_temporary_expression_is_realised_by_its_pass(kind: Any) -> None:
    module = main("%x: float32", "%x")
    held = kind(module["main"].body, read("2f"))
    made = held.realize()
    assert made.op.name == "multiply"
    assert isinstance(made.args[1], Constant)
    assert plain(Interpreter().evaluate(module["main"].with_fields(body=made))(3.0)) == 6.0
