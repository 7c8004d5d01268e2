"""Relay's type system: `infer_type` (the traversal), `unify`, `relations`, `solver`, `kinds`, `exhaustiveness`."""
