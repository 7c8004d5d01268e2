"""`tvm.ir.supply`: names and global variables that are unique."""

from __future__ import annotations

import pytest

import baton as tvm
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.ir import GlobalVar
from baton.ir.supply import GlobalVarSupply, NameSupply


def test_names() -> None:
    """Numbers go on where they were, skip what is reserved, and dots of given names become underscores."""
    names = NameSupply("lib")
    assert [names.fresh_name("f") for _ in range(3)] == ["lib_f", "lib_f_1", "lib_f_2"]
    assert names.fresh_name("f", add_underscore=False) == "lib_f3"
    assert names.fresh_name("f", add_prefix=False) == "f"
    assert names.reserve_name("g_1") == "lib_g_1"
    assert [names.fresh_name("g") for _ in range(2)] == ["lib_g", "lib_g_2"]
    assert names.fresh_name("a.b", add_prefix=False) == "a_b"
    assert names.reserve_name("a.c", add_prefix=False) == "a.c"
    assert [names.contains_name(name) for name in "fgh"] == [True, True, False]
    assert [names.contains_name(name, add_prefix=False) for name in "fgh"] == [True, False, False]
    assert names.reserve_name("f") == "lib_f"
    assert names.fresh_name("f") == "lib_f_4"


def test_global_variables() -> None:
    """A name has one variable; new ones begin with the module's name."""
    x = relay.var("x", shape=(2,))
    module = tvm.IRModule.from_expr(relay.Function([x], x)).with_attr("mod_name", "net")
    main = module.get_global_var("main")
    for supply in (GlobalVarSupply(module), GlobalVarSupply([module])):
        assert supply.unique_global_for("main", add_prefix=False) is main
        first = supply.fresh_global("f")
        assert first.name_hint == "net_f"
        assert supply.unique_global_for("f") is first
        assert supply.fresh_global("f").name_hint == "net_f_1"
        assert supply.fresh_global("main", False).name_hint == "main_1"
        with pytest.raises(DiagnosticError, match="@main already"):
            supply.reserve_global(GlobalVar("main"))
        other = GlobalVar("main")
        supply.reserve_global(other, allow_conflict=True)
        assert supply.unique_global_for("main", add_prefix=False) is other
    names = NameSupply("p")
    assert GlobalVarSupply(names).fresh_global("f").name_hint == "p_f"
    assert GlobalVarSupply(names).fresh_global("f").name_hint == "p_f_1"
    assert GlobalVarSupply().fresh_global("f").name_hint == GlobalVarSupply([]).fresh_global("f").name_hint == "f"
    assert GlobalVarSupply(tvm.IRModule()).fresh_global("f").name_hint == "tvmgen_default_f"
    with pytest.raises(TypeError, match="not str"):
        GlobalVarSupply("names")  # type: ignore[arg-type]
