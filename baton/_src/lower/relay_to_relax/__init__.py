"""Typed Relay to Relax; `module` is the entry point.

`scope_lowering` walks the scopes of one function, `calls` and `match_lowering` lower calls and matches; all of them
emit through `binding_emitter`. `types` converts types to StructInfo.
"""
