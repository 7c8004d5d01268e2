"""Where effects are looked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.passes.relay import effects
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm
from baton._src.passes.relay.forms.to_graph_normal_form import ToGraphNormalForm
from baton._src.relay.check.infer_type import infer_type

MANY = '#[version = "0.0.5"]\n' + "\n".join(
    f"def @f{i}(%x: float32) -> float32 {{ let %u = add(%x, 1f); let %v = add(%x, 2f); %v }}" for i in range(20)
)


@pytest.mark.parametrize("step", [DeadCodeElimination(), ToGraphNormalForm()])
def test_effects_are_looked_for_once(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards time in proportion to the functions of a module: every one was walked for every other."""
    walked: list[Any] = []
    plain = effects.walk
    monkeypatch.setattr(effects, "walk", lambda root: (walked.append(root), plain(root))[1])
    done = step(relay.fromtext(MANY))
    assert len(walked) == 20
    assert "let %u" not in str(done)


HIGHER_ORDER = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn(A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
def @length[A](%l: List[A]) -> int32 { match (%l) { Cons(_, %t) => 1 + @length(%t), Nil => 0 } }
def @call[A](%f: fn(int32) -> A) -> A { %f(1) }
def @main(%x: int32) {
  let %r = ref(0);
  let %count = fn(%v: int32) -> int32 { let %u = ref_write(%r, ref_read(%r) * 10 + %v); ref_read(%r) };
  let %l = @map(%count, Cons(%x, Cons(%x + 1, Nil)));
  let %unused = @call(%count);
  let %one = @call(%count);
  (@length(%l), %one, ref_read(%r))
}"""
FORMS = [ToANormalForm(), ToBasicBlockNormalForm(), ToGraphNormalForm(), EliminateCommonSubexpr(), FoldConstant()]
DEAD = [DeadCodeElimination(), DeadCodeElimination(inline_once=True)]


@pytest.mark.rule("RELAY-IMPURE-1")
@pytest.mark.parametrize("last", [*FORMS, *DEAD], ids=repr)
@pytest.mark.parametrize("first", [*FORMS, *DEAD], ids=repr)
def test_a_global_does_what_the_functions_do_that_it_is_given(first: Any, last: Any) -> None:
    """@map(%count, ...) counted as pure, since @map itself touches no reference."""
    module = relay.fromtext(HIGHER_ORDER)
    for step in (first, last):
        module = infer_type(step(module))
    found = [v.numpy().item() for v in relay.create_executor("debug", module).evaluate()(np.int32(3))]
    assert found == [2, 3411, 3411]
