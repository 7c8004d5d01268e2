"""`attrs.pad_width` as scripts read it, in each language."""

from __future__ import annotations

import baton
from baton import relax, relay
from baton.script import from_source


def test_widths_are_pairs_in_relay_and_a_flat_list_in_relax() -> None:
    """Guards the form of the attribute, which was nested in Relax, too; also after text, JSON, and translation."""
    x, y = relay.var("x", shape=(2, 3)), relax.Var("y", relax.TensorStructInfo((2, 3), "float32"))
    assert relay.nn.pad(x, ((0, 0), (1, 2))).attrs.pad_width == ((0, 0), (1, 2))
    builder = relax.BlockBuilder()
    with builder.function("main", [y]):
        builder.emit_func_output(builder.emit(relax.op.nn.pad(y, (0, 0, 1, 2), pad_value=1.0)))
    module = builder.get()
    translated = relax.from_relay(baton.IRModule.from_expr(relay.Function([x], relay.nn.pad(x, ((0, 0), (1, 2)), 1.0))))
    again = from_source(module.script())
    loaded = baton.ir.load_json(baton.ir.save_json(module))
    for program in (module, again, loaded, translated):
        call = program["main"].body.blocks[0].bindings[0].value
        assert call.attrs.pad_width == (0, 0, 1, 2)
        assert call.attrs.with_attrs(pad_width=(1, 1, 0, 0)).pad_width == (1, 1, 0, 0)
    baton.ir.assert_structural_equal(module, again)
