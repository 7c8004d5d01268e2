"""Typed Relay to Relax: `module` is the entrance; `types`, `scope_lowering` (expressions), `calls`, `match_lowering`."""
