"""Passes, one per file: `relay/`, `relax/`, `tir/`; `shared/` is used by several languages. Start with `pipelines`."""
