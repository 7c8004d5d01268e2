"""Typed Relay to Relax. `module` is the entrance; `types`, `scope_lowering`, `calls` and `match_lowering` its parts."""
