"""Where effects are looked for."""

from __future__ import annotations

from typing import Any

import pytest

from baton import relay
from baton._src.passes.relay import effects
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.forms.to_graph_normal_form import ToGraphNormalForm

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
