"""Typed Relay to Relax; `module` is the entrance.

`scope_lowering` walks the scopes of one function, `calls` and `match_lowering` lower what their names say, all of them
emit through `binding_emitter`; `types` gives StructInfo for types.
"""
